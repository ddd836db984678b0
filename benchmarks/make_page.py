"""Generate the benchmark pages from the reports that the scripts have written with --json.

    python benchmarks/make_page.py            # of the reports in docs/benchmarks/
    python benchmarks/make_page.py --draw     # and their figures, where no script draws them

The folder holds a JSON file, a page and pictures for each report, and tables that other pages take;
docs/benchmarks.md has a line for each page. Their text is in `pages.toml`.
"""

import argparse
import tomllib
from html import escape
from pathlib import Path

from _report import Cell, Report, Table, machine_line, table_in_pipes

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "benchmarks"
WORDS = tomllib.loads(Path(__file__).with_name("pages.toml").read_text(encoding="utf-8"))
GROUPS = WORDS["group"]
PAGES = {name: words for pages in GROUPS.values() for name, words in pages.items()}


def page(words: dict, report: Report) -> str:
    """Return the page of a report: an opening, figures, and tables that open on demand."""
    pictures = words.get("pictures", {}).items()
    first, *others = report.all_tables()
    parts = [
        f"# {words['title']}",
        words["opening"].strip(),
        *(f"![{about.strip()}.]({name}.png)" for name, about in pictures),
        report.settings,
        folded(first, opened=not pictures),
        *map(folded, others),
        *report.notes,
        machine_line(report.machine),
    ]
    return "\n\n".join(parts) + "\n"


def folded(table: Table, *, opened: bool = False) -> str:
    """Return a table that a click on its title opens or closes."""
    title = escape(table.title, quote=False)
    head = f"<details{' open' * opened}><summary>{title}</summary>"
    return "\n\n".join([head, table_in_pipes(table), *filter(None, [table.note]), "</details>"])


def index(reports: dict[str, Report]) -> str:
    """Return the page with a line for each report, and the order of the pages."""
    verdicts = [verdict for report in reports.values() for verdict in report.verdicts]
    n_reached = sum(verdict.words == "reached" for verdict in verdicts)
    parts = [WORDS["introduction"].strip().format(n_reached=n_reached, n_targets=len(verdicts))]
    for group, pages in GROUPS.items():
        lines = (
            f"- [{words['title']}](benchmarks/{name}.md): {words['line'].strip()}"
            for name, words in pages.items()
        )
        parts += [f"## {group}", "\n".join(lines)]
    order = [f"benchmarks/{name}" for name in PAGES]
    parts.append("\n".join(["```{toctree}", ":hidden:", "", *order, "```"]))
    return "\n\n".join(parts) + "\n"


# --- tables that other pages take ----------------------------------------------------------------


def defaults(report: Report) -> str:
    """Return AUC, partial AUC and time of every system, without counts: for narrow screens."""
    table = report.tables[0]
    columns = [name for name in table.columns if name not in ("first 5 %", "AP")]
    at = [table.columns.index(name) for name in columns]
    rows: list[list[Cell]] = [[str(row[n]).partition(" (")[0] for n in at] for row in table.rows]
    note, settings = table.note.partition(". ")[0], report.settings.partition("; significance")[0]
    return f"{table_in_pipes(Table('', columns, rows))}\n\n{note}. {settings}.\n"


def powers(report: Report) -> str:
    """Return what p does to boosted trees and to a linear model."""
    found = next(table for table in report.tables if table.title.startswith("What p does"))
    engine = found.title.rpartition(", ")[2]
    return table_in_pipes(found) + f"\n\nTrees of {engine}. {report.settings}\n"


def sizes(report: Report) -> str:
    """Return what p does to models of different sizes, all data sets in one table."""
    rows = [[found.title, *row] for found in report.tables for row in found.rows]
    joined = Table("", ["data", *report.tables[0].columns], rows)
    return table_in_pipes(joined) + f"\n\n{report.settings}\n"


def counts(report: Report) -> str:
    """Return what the cases of a fuzzing script gave."""
    return table_in_pipes(report.tables[0]) + f"\n\n{report.settings}\n"


EXCERPTS = {
    "choosing.md": ("lists", defaults),
    "trees_p.md": ("trees_lists", powers),
    "limited_classes_table.md": ("limited_classes", sizes),
    "fuzz_readers_table.md": ("fuzz_readers", counts),
    "fuzz_models_table.md": ("fuzz_models", counts),
}
"""Each file with its report, and what makes it."""


def main() -> None:
    """Write the pages, and the tables that other pages take from the reports."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draw", action="store_true", help="draw figures (needs matplotlib)")
    options = parser.parse_args()
    reports = {name: Report.load(FOLDER / f"{name}.json") for name in PAGES}
    if options.draw:
        from _page_figures import FIGURES

        for name, (report, figure) in FIGURES.items():
            figure(reports[report], FOLDER / f"{name}.png")
    texts = {f"{name}.md": page(PAGES[name], report) for name, report in reports.items()}
    texts["../benchmarks.md"] = index(reports)
    for name, (report, text_of) in EXCERPTS.items():
        texts[name] = text_of(Report.load(FOLDER / f"{report}.json"))
    for name, text in texts.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
