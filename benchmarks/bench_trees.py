"""Our objectives in the trees of XGBoost and LightGBM, beside the engines' own objectives.

    python benchmarks/bench_trees.py --data DIR
    python benchmarks/bench_trees.py --quick                          # a minute
    python benchmarks/bench_trees.py --only speed --rows 10000 --depths 6
    python benchmarks/bench_trees.py --only lists --sets cancer magic --data DIR
    python benchmarks/bench_trees.py --only lists queries --data DIR --processes 16

Parts:

- ``speed``: whole fits on one long list, beside the engine's log-loss and XGBoost's rank:pairwise;
- ``lists``: AUC and the top of the list after the same search, and what p does;
- ``queries``: NDCG@10 after the same search, beside LightGBM's lambdarank and XGBoost's rank:ndcg.

Targets are printed beside what was measured, reached or not.
"""

import argparse
import importlib
from pathlib import Path

from _harness import describe_machine
from _real_data import add_data_option
from _report import PartResult, Report
from _trees_lists import DATA_TITLES
from _trees_systems import ENGINES, RATES

PARTS = ("speed", "lists", "queries")
"""Each is a module `_trees_PART` with a function `run(options) -> PartResult`."""

ROWS, DEPTHS = (10_000, 1_000_000), (6, 1)
PACKAGES = ("xgboost", "xgboost-cpu", "lightgbm")


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help="some parts")
    add("--engine", nargs="+", choices=ENGINES, default=ENGINES, help="default: both")
    add("--rows", nargs="+", type=int, default=ROWS, help="speed: rows (default 1e4 1e6)")
    add("--depths", nargs="+", type=int, default=DEPTHS, help="speed: depths (default 6 1)")
    add("--repeats", type=int, default=5, help="speed: fits of each (default 5)")
    add("--pairwise-repeats", type=int, help="speed: fits of rank:pairwise (default: --repeats)")
    add("--threads", type=int, default=2, help="speed: threads of a fit (default 2)")
    add(
        "--sets", nargs="+", choices=DATA_TITLES, default=list(DATA_TITLES), help="lists: data sets"
    )
    add("--splits", type=int, default=10, help="lists: splits of each data set (default 10)")
    add("--rates", nargs="+", type=float, default=RATES, help="learning rates of the searches")
    add("--rounds", type=int, default=500, help="most rounds of the searches (default 500)")
    add("--processes", type=int, default=2, help="lists, queries: searches at a time (default 2)")
    add("--quick", action="store_true", help="10,000 rows, few candidates, two splits, one fold")
    add("--json", type=Path, metavar="FILE", help="write the report there as well")
    add_data_option(parser)
    options = parser.parse_args(arguments)
    if options.quick:
        options.rows, options.repeats, options.splits = (10_000,), 2, 2
        options.depths, options.pairwise_repeats, options.sets = (6,), 1, ["cancer"]
    if options.pairwise_repeats is None:
        options.pairwise_repeats = options.repeats
    least = (options.repeats, options.splits, options.threads, options.processes)
    if min(options.rows) < 1000 or min(least) < 1 or options.pairwise_repeats < 0:
        parser.error("at least 1000 rows, one repeat, split, thread and process are needed")
    if options.data is not None:
        options.data = Path(options.data)
    return options


def settings_in_words(options: argparse.Namespace) -> str:
    """Say what was run, for the parts that were."""
    parts = {
        "speed": f"{options.threads} threads, {options.repeats} fits of each objective, "
        f"{options.pairwise_repeats} of rank:pairwise.",
        "lists": f"{options.splits} splits of each list.",
        "queries": "One search for each fold of queries.",
    }
    return " ".join(words for part, words in parts.items() if part in options.only)


def main(arguments: list[str] | None = None) -> None:
    """Run the parts and print the report."""
    options = parse_arguments(arguments)
    machine = describe_machine(*PACKAGES)
    parts: dict[str, PartResult] = {}
    for part in PARTS:
        if part in options.only:
            parts[part] = importlib.import_module(f"_trees_{part}").run(options)
    report = Report(
        "trees",
        settings_in_words(options),
        machine,
        [table for part in parts.values() for table in part.tables],
        [verdict for part in parts.values() for verdict in part.verdicts],
        [note for part in parts.values() for note in part.notes],
        {name: part.runs for name, part in parts.items()},
    )
    report.publish(options.json)


if __name__ == "__main__":
    main()
