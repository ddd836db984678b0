"""The report of every benchmark: tables, targets with their verdicts, and the machine.

A report prints itself for a terminal, and goes to a JSON file from which `make_page.py` makes a
page of the documentation.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

Cell = str | float | int | None


@dataclass
class Table:
    """Rows of cells below a title; a note says what is not in the column heads."""

    title: str
    columns: list[str]
    rows: list[list[Cell]]
    note: str = ""


@dataclass
class Verdict:
    """A figure to reach, and what was measured; None where it could not be.

    `measured` is to be at most `limit` or, with ``at_least=True``, no less.
    """

    label: str
    limit: float
    measured: float | None
    unit: str = ""
    at_least: bool = False

    @property
    def words(self) -> str:
        """Say whether the figure was reached."""
        if self.measured is None:
            return "not measured"
        sign = -1 if self.at_least else 1
        return "reached" if sign * self.measured <= sign * self.limit else "falls short"


@dataclass
class PartResult:
    """What one part of a benchmark found; a report joins several."""

    tables: list[Table]
    verdicts: list[Verdict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass
class Report:
    """All that one run of one benchmark found.

    `settings` is a line of what was run, `curves` what a figure shows beyond the tables.
    """

    name: str
    settings: str
    machine: dict[str, Any]
    tables: list[Table]
    verdicts: list[Verdict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    curves: Any = None

    def publish(self, path: Path | None) -> None:
        """Print the report and, where a path is given, write it to a JSON file."""
        print(self.text())
        if path is not None:
            # Six digits of each float: tables show three.
            exact = json.dumps(asdict(self))
            rounded = json.loads(exact, parse_float=lambda text: float(f"{float(text):.6g}"))
            text = json.dumps(rounded, ensure_ascii=False, separators=(",", ":"))
            path.write_text(text.replace('],["', '],\n["') + "\n", encoding="utf-8")

    @classmethod
    def of_parts(
        cls, name: str, settings: str, machine: dict[str, Any], parts: Iterable[PartResult]
    ) -> "Report":
        """Join what the parts of a benchmark found."""
        report = cls(name, settings, machine, [])
        for part in parts:
            report.tables += part.tables
            report.verdicts += part.verdicts
            report.notes += part.notes
        return report

    @classmethod
    def load(cls, path: Path) -> "Report":
        """Read a report that `publish` has written."""
        found = json.loads(path.read_text(encoding="utf-8"))
        found["tables"] = [Table(**table) for table in found["tables"]]
        found["verdicts"] = [Verdict(**verdict) for verdict in found["verdicts"]]
        return cls(**found)

    def text(self) -> str:
        """Return the report for a terminal."""
        parts = [self.settings]
        for table in self.all_tables():
            parts += [table.title, table_in_pipes(table), *filter(None, [table.note])]
        return "\n\n".join([*parts, *self.notes, machine_line(self.machine)])

    def all_tables(self) -> list[Table]:
        """Return the tables, and that of the targets if there are any."""
        return [*self.tables, targets_table(self.verdicts)] if self.verdicts else self.tables


def times_table(
    title: str, lines: Mapping[str, Mapping[str, Any]], beside: str | None = None, note: str = ""
) -> Table:
    """Return what `medians` found for each line, with its time as a multiple of one of them.

    Whatever a line has to tell besides rows, seconds and their spread gets a column too.
    """
    known = ("rows", "s", "s_min", "s_max", "runs")
    more = list(dict.fromkeys(key for found in lines.values() for key in found if key not in known))
    columns = ["case", "rows", "seconds", "fastest", "slowest", "runs"]
    reference = lines.get(beside or "")
    rows: list[list[Cell]] = []
    for name, found in lines.items():
        ratio = [found["s"] / reference["s"]] if reference else []
        rows.append([name, *(found.get(key) for key in known), *ratio, *map(found.get, more)])
    return Table(title, [*columns, *([f"/ {beside}"] if reference else []), *more], rows, note)


def judged(
    label: str,
    limit: float,
    measure: Callable[[], float | None],
    *,
    unit: str = "",
    at_least: bool = False,
) -> Verdict:
    """Return a verdict; what `measure` needs and does not find (KeyError) was not measured."""
    try:
        measured = measure()
    except KeyError:
        measured = None
    return Verdict(label, limit, measured, unit, at_least)


def targets_table(verdicts: Iterable[Verdict]) -> Table:
    """Return targets beside what was measured."""
    rows: list[list[Cell]] = []
    for one in verdicts:
        limit = f"{'≥' if one.at_least else '≤'} {one.limit:g} {one.unit}".strip()
        rows.append([one.label, limit, one.measured, one.words])
    return Table("Targets", ["target", "limit", "measured", "verdict"], rows)


def machine_line(machine: dict[str, Any]) -> str:
    """Return processor, load and versions in one line."""
    versions = ", ".join(f"{name} {of}" for name, of in machine["versions"].items())
    return (
        f"{machine['processor']}, {machine['cpu_count']} CPUs, {machine['system']}; "
        f"load average before the run {machine['load_before']:.2f}; {versions}."
    )


def shown(cell: Cell) -> str:
    """Return a cell as text: three significant digits for a float, thousands apart for an int."""
    if cell is None:
        return "–"
    if isinstance(cell, float):
        return f"{cell:.0f}" if 1000 <= abs(cell) < 1e6 else f"{cell:.3g}"
    return f"{cell:,}" if isinstance(cell, int) else cell


def table_in_pipes(table: Table) -> str:
    """Return a table as Markdown."""
    body = [[shown(cell) for cell in row] for row in table.rows]
    columns = [all(row[k][:1] in "0123456789-–" for row in body) for k in range(len(table.columns))]
    rule = ["---:" if number and numeric else "---" for number, numeric in enumerate(columns)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [table.columns, rule, *body])
