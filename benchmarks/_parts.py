"""Scripts of times in parts: the command line, a process for each part, tables, targets, report."""

from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from _harness import Record, command_line, describe_machine, growth, in_process, medians, take_turns
from _report import Report, Verdict, judged, times_table
from _stats import say

TENTH = ", a tenth"
"""How the name of a line of a tenth of the rows ends."""

QUICK = 20
"""What --quick divides the rows by."""

NEAR = 1e-6
LADDER = tuple(10 ** (-step / 2) for step in range(2, 21))
"""Tolerances, two a decade. The last one's objective is taken for the minimum."""

Lines = dict[str, list[Record]]
"""The records of each line of a table: "rows", seconds "s", and what else there is to tell."""

Medians = Mapping[str, Record]


@dataclass(frozen=True)
class Part:
    """A table: its title, what times it, the line that others are divided by, its targets."""

    title: str
    run: Callable[[Namespace], Lines]
    beside: str | None = None
    judge: Callable[[Medians], Iterable[Verdict]] = lambda _: ()


def in_turns(
    calls: Mapping[str, Callable[[], Any]], repeats: int, n_rows: int, **more: Any
) -> Lines:
    """Time calls in turns, by the clock of `take_turns`; return the records of each."""
    seconds = take_turns(calls, repeats, **more)
    return {name: [{"rows": n_rows, "s": s} for s in found] for name, found in seconds.items()}


def with_tenth(run: Callable[[int], Lines], rows: int) -> Lines:
    """Return the lines of all rows, and those of a tenth of them."""
    return run(rows) | {name + TENTH: records for name, records in run(rows // 10).items()}


def loosest(fit: Callable[[float], Any], value: Callable[[Any], float], lowest: float) -> Record:
    """Return the loosest tolerance whose model's objective is within `NEAR` of the lowest."""
    for tol in LADDER:
        model = fit(tol)
        excess = value(model) / lowest - 1
        if excess <= NEAR:
            n_iter = model.n_iter_[0] if hasattr(model.n_iter_, "__len__") else model.n_iter_
            return {"tol": tol, "iterations": int(n_iter), "excess": excess}
    raise RuntimeError(f"{fit} does not come near the lowest objective")


def ratio(found: Medians, line: str, other: str, limit: float, about: str = "") -> Verdict:
    """Return the verdict on the seconds of a line, divided by those of another one."""
    label = f"{line} / {other}{about}"
    return judged(label, limit, lambda: found[line]["s"] / found[other]["s"], unit="x")


def exponent(found: Medians, line: str, limit: float, about: str = "") -> Verdict:
    """Return the verdict on how a line grows from a tenth of the rows to all."""

    def measured() -> float:
        both = (found[line + TENTH], found[line])
        return growth([one["rows"] for one in both], [one["s"] for one in both])

    return judged(f"growth exponent, {line}{about}", limit, measured)


def run_part(script: str, name: str, options: Mapping[str, Any]) -> Lines:
    """Run one part of a script in this process."""
    return import_module(script).PARTS[name].run(Namespace(**options))


def run_parts(
    script: str,
    about: str,
    parts: Mapping[str, Part],
    *,
    rows: int,
    repeats: int,
    threads: int = 2,
    packages: Sequence[str] = (),
) -> None:
    """Run the parts that the command line asks for, each in a process of its own, and report."""
    parser = command_line(about, quick=f"a look: rows / {QUICK}, two runs")
    add = parser.add_argument
    add("--only", nargs="+", choices=parts, default=list(parts), metavar="PART", help="some parts")
    add("--rows", type=int, default=rows, help=f"most rows (default {rows:,})")
    add("--repeats", type=int, default=repeats, help=f"runs of each (default {repeats})")
    add("--threads", type=int, default=threads, help=f"threads (default {threads})")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.repeats = rows // QUICK, 2
    settings = f"{options.rows:,} rows; runs: {options.repeats}; threads: {options.threads}."
    report = Report(Path(script).stem, settings, describe_machine(*packages), [])
    for name in options.only:
        say(name)
        case = [report.name, name, vars(options)]
        found = in_process("_parts:run_part", *case, threads=options.threads)
        if "error" in found:
            report.notes.append(f"{name}: {found['error']}")
            continue
        lines = {line: medians(records) for line, records in found.items()}
        report.tables.append(times_table(parts[name].title, lines, parts[name].beside))
        report.verdicts += parts[name].judge(lines)
    if options.rows != rows:
        report.notes.append(f"The targets are stated for {rows:,} rows.")
    report.publish(options.json)
