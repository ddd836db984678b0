"""How time grows with the rows: every estimator, every sum over pairs or lists, every metric.

    python benchmarks/scaling.py --json FILE       # up to 1e7 rows, about ten minutes
    python benchmarks/scaling.py --max-rows 100000          # a quick look
    python benchmarks/scaling.py --only sums metrics        # some of the groups

Each group has a process of its own for each number of rows. A call is timed up to five times, but
no more once the runs have taken two seconds, and the median counts; the first run is left out
where there are more. The exponent is the slope of log time over log rows, by least squares, over
the sizes of the last two decades at which a call takes at least five times what it takes at the
smallest size: below, what a call costs whatever the rows would hide the growth. What ends early
begins at a hundred rows.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from _harness import Record, command_line, describe_machine, growth, in_process, timed
from _report import Cell, Report, Table, Verdict
from _stats import say
from _workloads import workloads

SMALLEST, LARGEST = 1000, 10_000_000
SHORT_SMALLEST = 100
"""The smallest size of what ends early."""

GROUPS = {
    "estimators": "estimators, 20 features",
    "sums": "value and gradient of sums over pairs and lists, prepared as in a fit",
    "metrics": "metrics",
}
MOST_RUNS, BUDGET = 5, 2.0
DECADES, OVERHEAD = 100, 5.0
LIMITS = {"estimators": 1.05, "sums": 1.1, "metrics": 1.2}
"""Targets. A metric sorts: rows log rows alone is 1.07 between 1e5 and 1e7 rows."""

Curve = dict[str, Any]
"""A line of a workload: "group", "what" and "of", and by "rows" the median "s" and the "runs"."""


# --- in the child --------------------------------------------------------------------------------


def run_times(call: Callable[[], Any]) -> list[float]:
    """Return the seconds of the runs of a call that count."""
    seconds: list[float] = []
    started = time.perf_counter()
    while len(seconds) <= MOST_RUNS and time.perf_counter() - started < BUDGET:
        seconds.append(timed(call))
    return seconds[1:] or seconds


def run_group(group: str, n_rows: int) -> Record:
    """Time one group at one number of rows."""
    lines = []
    for work in workloads():
        least_rows = SHORT_SMALLEST if work.why else SMALLEST
        if work.group != group or not least_rows <= n_rows <= work.most_rows:
            continue
        for line, call in work.prepare(n_rows).items():
            lines.append([work.name, line, run_times(call)])
    return {"lines": lines}


# --- in the parent -------------------------------------------------------------------------------


def sizes(largest: int) -> list[int]:
    """Return one and three times each power of ten, from the smallest size to the largest."""
    found = [factor * 10**power for power in range(2, 9) for factor in (1, 3)]
    return [n_rows for n_rows in found if SHORT_SMALLEST <= n_rows <= largest]


def exponent(curve: Curve) -> tuple[float | None, int | None]:
    """Return the exponent of growth, where the curve says enough, and its first number of rows."""
    rows, seconds = curve["rows"], curve["s"]
    kept = [
        (n, s)
        for n, s in zip(rows, seconds, strict=True)
        if n >= rows[-1] / DECADES and s >= OVERHEAD * seconds[0]
    ]
    if len(kept) < 2:
        return None, None
    return growth([n for n, _ in kept], [s for _, s in kept]), int(kept[0][0])


def measure(options: argparse.Namespace) -> tuple[list[Curve], list[str]]:
    """Run all groups at all sizes; return their curves, and what went wrong."""
    curves: dict[Any, Curve] = {}
    problems: list[str] = []
    for n_rows in sizes(options.max_rows):
        for group in options.only:
            say(f"{n_rows:,} rows: {group}")
            found = in_process("scaling:run_group", group, n_rows, threads=options.threads)
            if "error" in found:
                problems.append(f"{group}, {n_rows:,} rows: {found['error']}")
                continue
            for name, line, seconds in found["lines"]:
                names = {"group": group, "what": name, "of": line}
                empty: Curve = {**names, "rows": [], "s": [], "runs": []}
                curve = curves.setdefault((group, name, line), empty)
                curve["rows"].append(n_rows)
                curve["s"].append(median(seconds))
                curve["runs"].append(len(seconds))
    return list(curves.values()), problems


def tabulate(group: str, curves: Sequence[Curve]) -> Table:
    """Return for each line the largest size, the time there, and the growth."""
    columns = ["what", "of", "most rows", "seconds", "runs", "ns a row", "exponent", "from rows"]
    rows: list[list[Cell]] = []
    for curve in curves:
        n_rows, seconds, runs = (curve[key][-1] for key in ("rows", "s", "runs"))
        cost = 1e9 * seconds / n_rows
        rows.append([curve["what"], curve["of"], n_rows, seconds, runs, cost, *exponent(curve)])
    return Table(GROUPS[group], columns, rows)


def judge(group: str, curves: Sequence[Curve], ends: Mapping[str, Any]) -> Iterator[Verdict]:
    """Yield the largest exponent of a group, of what is not known to grow faster."""
    found = {
        f"{curve['what']}, {curve['of']}": slope
        for curve in curves
        if curve["what"] not in ends and (slope := exponent(curve)[0]) is not None
    }
    if found:
        worst = max(found, key=found.__getitem__)
        yield Verdict(f"largest exponent of {group}: {worst}", LIMITS[group], found[worst])


# --- the command line ----------------------------------------------------------------------------


def make_report(options: argparse.Namespace) -> Report:
    """Measure, and return the report with the curves that it rests on."""
    machine = describe_machine()
    ends = {work.name: (work.most_rows, work.why) for work in workloads() if work.why}
    curves, notes = measure(options)
    tables, verdicts = [], []
    for group in options.only:
        lines = [curve for curve in curves if curve["group"] == group]
        tables.append(tabulate(group, lines))
        verdicts += judge(group, lines, ends)
    shorter = (f"{name} at {most:,} rows ({why})" for name, (most, why) in ends.items())
    notes.append(f"Ends earlier: {'; '.join(shorter)}.")
    if options.max_rows < LARGEST:
        notes.append(f"The limits are stated for {LARGEST:,} rows.")
    settings = (
        f"{SMALLEST:,} to {options.max_rows:,} rows; medians of up to {MOST_RUNS} runs; threads "
        f"of linear algebra: {options.threads}, of the estimators: 1. The exponent is the slope of "
        "log time over log rows over the last two decades, where a call takes at least "
        f"{OVERHEAD:g} times what it takes at {SMALLEST:,} rows ({SHORT_SMALLEST} where the range "
        "ends early)."
    )
    return Report("scaling", settings, machine, tables, verdicts, notes, curves)


def main() -> None:
    """Run the benchmark."""
    parser = command_line(__doc__)
    add = parser.add_argument
    add("--max-rows", type=int, default=LARGEST, help="most rows, from 10,000 (default 1e7)")
    add("--threads", type=int, default=2, help="threads of linear algebra (default 2)")
    add("--only", nargs="+", choices=GROUPS, default=list(GROUPS), metavar="GROUP")
    options = parser.parse_args()
    make_report(options).publish(options.json)


if __name__ == "__main__":
    main()
