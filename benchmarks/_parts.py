"""Scripts of times in parts: the command line, a process for each part, tables, targets, report."""

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _harness import Record, describe_machine, growth, medians, run_in_process, take_turns
from _report import Report, Verdict, judged, times_table

TENTH = ", a tenth"
"""How the name of a line of a tenth of the rows ends."""

QUICK = 20
"""What --quick divides the rows by."""

Lines = dict[str, list[Record]]
"""The records of each line of a table: "rows", seconds "s", and what else there is to tell."""

Medians = Mapping[str, Record]


@dataclass(frozen=True)
class Part:
    """A table: its title, what times it, the line that others are divided by, its targets."""

    title: str
    run: Callable[[argparse.Namespace], Lines]
    beside: str | None = None
    judge: Callable[[Medians], Iterable[Verdict]] = lambda _: ()


def in_turns(
    calls: Mapping[str, Callable[[], Any]], repeats: int, n_rows: int, **more: Any
) -> Lines:
    """Time calls in turns, by the clock of `take_turns`; return the records of each."""
    seconds = take_turns(calls, repeats, **more)
    return {name: [{"rows": n_rows, "s": s} for s in found] for name, found in seconds.items()}


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
    """Run the parts that the command line asks for, or in a process of its own one of them."""
    parser = argparse.ArgumentParser(description=about.partition("\n")[0])
    add = parser.add_argument
    add("--only", nargs="+", choices=parts, default=list(parts), metavar="PART", help="some parts")
    add("--rows", type=int, default=rows, help=f"most rows (default {rows:,})")
    add("--repeats", type=int, default=repeats, help=f"runs of each (default {repeats})")
    add("--threads", type=int, default=threads, help=f"threads (default {threads})")
    add("--quick", action="store_true", help=f"a look: rows / {QUICK}, two runs")
    add("--json", type=Path, metavar="FILE", help="write the report there as well")
    add("--child", choices=parts, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.quick:
        options.rows, options.repeats = rows // QUICK, 2
    if options.child:
        warnings.simplefilter("ignore")  # few rounds or iterations are no concern here
        print(json.dumps(parts[options.child].run(options)))
        return
    settings = f"{options.rows:,} rows; {options.repeats} runs; {options.threads} threads."
    report = Report(Path(script).stem, settings, describe_machine(*packages), [])
    for name in options.only:
        print(name, file=sys.stderr, flush=True)
        child = ["--child", name, "--rows", options.rows, "--repeats", options.repeats]
        child += ["--threads", options.threads]
        found = run_in_process(script, child, threads=options.threads)
        if "error" in found:
            report.notes.append(f"{name}: {found['error']}")
            continue
        lines = {line: medians(records) for line, records in found.items()}
        report.tables.append(times_table(parts[name].title, lines, parts[name].beside))
        report.verdicts += parts[name].judge(lines)
    if options.rows != rows:
        report.notes.append(f"The targets are stated for {rows:,} rows.")
    report.publish(options.json)
