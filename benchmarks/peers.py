"""Our rankers against what a user would pick instead: time, memory and quality, in one run.

Parts:

- ``generated``: depth-1 boosting and linear models on 1e4, 1e5 and 1e6 generated rows, one list;
- ``search``: AUC at equal rounds, each system with the same search of its parameters;
- ``queries``: query data, each system with the same number of configurations.

Every timed fit has a process of its own, and the systems take turns. Targets are printed beside the
measured values, reached or not.

    python benchmarks/peers.py --data DIR
    python benchmarks/peers.py --quick               # a few minutes
    python benchmarks/peers.py --only generated --rows 10000
"""

from typing import Any

from _harness import command_line, describe_machine
from _one_list import part_generated, part_search
from _queries import OURS, run
from _report import PartResult, Report

ROWS = (10_000, 100_000, 1_000_000)
PACKAGES = ("lightgbm", "xgboost", "xgboost-cpu", "catboost", "scikit-survival")

NOTE = (
    "Query data: every system has twelve configurations, listed in `_query_systems.py`; those that "
    "go round by round have four settings and three numbers of rounds. The one of the highest mean "
    "NDCG@10 on the validation queries is taken, without another fit, and scores the test queries "
    "once. (Best on validation) is, in each fold, the system whose chosen configuration has the "
    "highest validation NDCG@10. Gains are 2^y - 1, tied rows count as the mean over their orders, "
    "queries without a relevant row are skipped; MAP takes every grade above 0 as relevant. "
    "Differences are paired query by query, with 95 % BCa bootstrap intervals over queries; these "
    "do not count that the choices themselves vary."
)


def part_queries(options: Any) -> PartResult:
    """Compare rankers of queries."""
    beside = {"ours (best) minus it, NDCG@10": (OURS, "it")}
    return run("_query_systems", options, beside, NOTE)


PARTS = {"generated": part_generated, "search": part_search, "queries": part_queries}


def main() -> None:
    """Run the parts and print the report."""
    quick = "10,000 rows, one fit, two splits, one fold"
    parser = command_line(__doc__, quick=quick, data=True)
    add = parser.add_argument
    add("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART")
    add("--rows", nargs="+", type=int, default=ROWS, help="generated rows (default 1e4 1e5 1e6)")
    add("--repeats", type=int, default=3, help="fits of each system (default 3)")
    add("--splits", type=int, default=6, help="data sets of a kind in searches (default 6)")
    add("--seconds", type=float, default=120, help="limit for one fit's process (default 120)")
    add("--threads", type=int, default=2, help="threads of a fit (default 2)")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.repeats, options.splits = (10_000,), 1, 2
    settings = (
        f"{options.threads} threads, {options.repeats} repeats, {options.splits} splits; at most "
        f"{options.seconds:g} s for a fit's process. top: mean share of the positives found up to "
        "5 % of the negatives. / fastest: fit time over that of the fastest of XGBoost, LightGBM "
        "and HistGradientBoosting with two classes."
    )
    machine = describe_machine(*PACKAGES)
    parts = [PARTS[name](options) for name in options.only]
    Report.of_parts("peers", settings, machine, parts).publish(options.json)


if __name__ == "__main__":
    main()
