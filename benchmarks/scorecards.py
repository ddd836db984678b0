"""Scorecards: full and small cards beside those of optbinning, FasterRisk, interpret and XGBoost.

    python benchmarks/scorecards.py --data DIR
    python benchmarks/scorecards.py --data DIR --ours-only       # with the figures kept before
    python benchmarks/scorecards.py --quick                      # two splits of two sets, ours
    python benchmarks/scorecards.py --only magic --others ebm --data DIR

The other libraries are installed in environments of their own (`--environments`); FasterRisk needs
Python 3.11. Their figures are kept in a file (`--kept`) and not measured twice. Targets are printed
beside what was measured, reached or not.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from _harness import Record, describe_machine, run_in_process
from _lists_fits import say
from _real_data import DataNotFoundError, add_data_option
from _report import Report
from _scorecards_data import DATA_TITLES, write_split
from _scorecards_others import OTHERS, Cache, fit_others
from _scorecards_tables import (
    OF_XGBOOST,
    OURS,
    Runs,
    differences_table,
    quality_table,
    verdicts_of,
)

CHILD = Path(__file__).with_name("_scorecards_ours.py")
KEPT = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "scorecards_others.json"
PACKAGES = ("xgboost", "xgboost-cpu")


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--only", nargs="+", choices=DATA_TITLES, default=list(DATA_TITLES), help="data sets")
    add("--splits", type=int, default=10, help="splits of each data set (default 10)")
    add("--others", nargs="+", choices=OTHERS, default=list(OTHERS), help="default: all")
    add("--ours-only", action="store_true", help="fit no other library; show what was kept")
    add("--others-only", action="store_true", help="fit the other libraries alone")
    add("--kept", type=Path, default=KEPT, metavar="FILE", help="figures of the others")
    add(
        "--environments",
        type=Path,
        default=Path(gettempdir()) / "sklearn_rank_scorecards",
        metavar="DIR",
        help="where the libraries are installed (default: a temporary folder)",
    )
    add("--quick", action="store_true", help="two splits of the smallest sets, ours only")
    add("--json", type=Path, metavar="FILE", help="write the report there as well")
    add_data_option(parser)
    options = parser.parse_args(arguments)
    if options.quick:
        options.splits, options.ours_only, options.only = 2, True, ["cancer", "digit8"]
    if options.splits < 1:
        parser.error("at least one split is needed")
    if options.data is not None:
        options.data = Path(options.data)
    return options


class Rows:
    """Files of the splits, each written when it is first needed."""

    def __init__(self, scratch: Path, data: Path | None) -> None:
        self.scratch, self.data = scratch, data

    def __call__(self, data: str, split: int) -> Path:
        """Return the file of a split."""
        path = self.scratch / f"{data}_{split}.npz"
        if not path.exists():
            write_split(path, data, split, self.data)
        return path


def sets_at_hand(options: argparse.Namespace, rows: Rows) -> tuple[list[str], list[str]]:
    """Return the data sets that can be had, and why others cannot."""
    found, notes = [], []
    for data in options.only:
        try:
            rows(data, 0)
            found.append(data)
        except DataNotFoundError as error:
            notes.append(f"{DATA_TITLES[data]} is left out: {error}")
    return found, notes


def fit_ours(options: argparse.Namespace, sets: list[str], rows: Rows) -> dict[str, Runs]:
    """Return the figures of our cards."""
    found: dict[str, Runs] = {}
    for data in sets:
        found[data] = {name: {} for name in OURS}
        for split in range(options.splits):
            done = run_in_process(CHILD, [rows(data, split), split], threads=1)
            if "error" in done:
                say(f"ours, {data}, split {split}: {done['error']}")
                continue
            for name in OURS:
                found[data][name][split] = done[name]
            say(f"ours, {data}, split {split}: done")
        found[data] = {name: runs for name, runs in found[data].items() if runs}
    return found


def add_others(found: dict[str, Runs], options: argparse.Namespace, cache: Cache) -> None:
    """Add the kept figures of the other libraries."""
    for data, runs in found.items():
        for name in OTHERS:
            for split in range(options.splits):
                kept: Record = cache.get(name, data, split) or {}
                for criterion, record in kept.items():
                    label = OF_XGBOOST[criterion] if name == "xgboost" else name
                    runs.setdefault(label, {})[split] = record


def main(arguments: list[str] | None = None) -> None:
    """Fit, compare, print the report."""
    options = parse_arguments(arguments)
    machine = describe_machine(*PACKAGES)
    cache = Cache(options.kept)
    with TemporaryDirectory(prefix="scorecards_") as scratch:
        rows = Rows(Path(scratch), options.data)
        sets, notes = sets_at_hand(options, rows)
        if not options.ours_only:
            tasks = [(data, split) for data in sets for split in range(options.splits)]
            fit_others(options.others, tasks, rows, cache, options.environments)
        if options.others_only:
            return
        found = fit_ours(options, sets, rows)
    add_others(found, options, cache)
    report = Report(
        "scorecards",
        f"{options.splits} splits of each data set, 60 % of each class to train on.",
        machine,
        [*(quality_table(data, runs) for data, runs in found.items()), differences_table(found)],
        [verdict for data, runs in found.items() for verdict in verdicts_of(data, runs)],
        [*notes, NOTE],
        found,
    )
    report.publish(options.json)


NOTE = (
    "pAUC5: mean share of the positives found over the first 5 % of the negatives. Seconds are of "
    "processor time with one thread, from the rows to the card, choices by validation included; "
    "the median over the splits. Differences are paired, with 95 % intervals (Student's t) over "
    "the splits; splits of one set share rows, so these are for this set. Full cards have at most "
    "150 thresholds and the same settings on all sets; below 1,000 rows the one with bags is "
    "judged. Small cards have 10 terms and points in [-5, 5]: their p is 1, or chosen by the "
    "card's own search. They must lead by .03 in pAUC5 where that choice gains .02 over p = 1 and "
    "the interval of the gain is above 0. FasterRisk: 10 terms in [-5, 5], at most 99 quantiles of "
    "each feature as thresholds, the "
    "best of its pool. optbinning: its optimal bins and a logistic regression, unrounded. EBM: no "
    "interactions, else its defaults. XGBoost: learning rate and rounds by inner folds."
)


if __name__ == "__main__":
    main()
