"""Our rankers beside what a user would pick instead: time, memory and quality, in one run.

Parts:

- ``generated``: depth-1 boosting and linear models on 1e4, 1e5 and 1e6 generated rows, one list;
- ``search``: AUC at equal rounds, each system with the same search of its parameters;
- ``trees``: trees of depth 3 as weak rankers;
- ``magic``: the systems of ``generated`` on real data, random halves of MAGIC;
- ``letor``: query data.

Every timed fit has a process of its own. What is compared takes turns, so that a slow minute of
the machine hits it all. Targets are printed beside what was measured, reached or not.

    python benchmarks/peers.py --data DIR
    python benchmarks/peers.py --quick               # a minute or two
    python benchmarks/peers.py --only generated --rows 10000
"""

import argparse
import importlib
from pathlib import Path

from _harness import describe_machine
from _real_data import add_data_option
from _report import PartResult, Report

PARTS = ("generated", "search", "trees", "magic", "letor")
"""Each is a module `_peers_PART` with a function `run(options) -> PartResult`."""

ROWS = (10_000, 100_000, 1_000_000)
PACKAGES = ("lightgbm", "xgboost", "xgboost-cpu", "catboost", "scikit-survival")


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART")
    parser.add_argument(
        "--rows", nargs="+", type=int, default=ROWS, help="generated rows (default 1e4 1e5 1e6)"
    )
    parser.add_argument("--repeats", type=int, default=3, help="fits of each system (default 3)")
    parser.add_argument(
        "--splits", type=int, default=6, help="data sets of a kind in searches (default 6)"
    )
    parser.add_argument(
        "--seconds", type=float, default=120, help="limit for one fit's process (default 120)"
    )
    parser.add_argument("--threads", type=int, default=2, help="threads of a fit (default 2)")
    parser.add_argument("--quick", action="store_true", help="10,000 rows, one fit, two splits")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report there as well")
    add_data_option(parser)
    options = parser.parse_args(arguments)
    if options.quick:
        options.rows, options.repeats, options.splits = (10_000,), 1, 2
    if min(options.rows) < 1000 or min(options.repeats, options.splits, options.threads) < 1:
        parser.error("at least 1000 rows, one repeat, one split and one thread are needed")
    return options


def main(arguments: list[str] | None = None) -> None:
    """Run the parts and print the report."""
    options = parse_arguments(arguments)
    machine = describe_machine(*PACKAGES)
    parts: dict[str, PartResult] = {}
    for part in PARTS:
        if part in options.only:
            parts[part] = importlib.import_module(f"_peers_{part}").run(options)
    report = Report(
        "peers",
        f"{options.threads} threads, {options.repeats} repeats, {options.splits} splits; at most "
        f"{options.seconds:g} s for a fit's process. top: mean share of the positives found up to "
        "5 % of the negatives. / fastest: fit time over that of the fastest of XGBoost, LightGBM "
        "and HistGradientBoosting with two classes.",
        machine,
        [table for part in parts.values() for table in part.tables],
        [verdict for part in parts.values() for verdict in part.verdicts],
        [note for part in parts.values() for note in part.notes],
        {name: part.runs for name, part in parts.items()},
    )
    print(report.text())
    if options.json:
        report.save(options.json)


if __name__ == "__main__":
    main()
