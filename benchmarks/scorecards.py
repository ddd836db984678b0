"""Scorecards on 13 tables beside those of other libraries, and what cards state on generated rows.

    python benchmarks/scorecards.py --data DIR
    python benchmarks/scorecards.py --data DIR --ours-only       # with the figures kept before
    python benchmarks/scorecards.py --quick                      # two splits of two tables, ours
    python benchmarks/scorecards.py --only cards --tables magic --others ebm --data DIR
    python benchmarks/scorecards.py --only noise times

Parts: `cards`, small and full cards beside optbinning, FasterRisk, toad, scorecardpy, interpret and
XGBoost; `noise`, what a category without signal costs; `intervals`, whether those of the risk table
hold true probabilities; `times`, of a default card.

Differences are paired over the splits, with the variance of Nadeau and Bengio (2003) and Holm's
procedure over the tables. The other libraries are installed in environments of their own
(`--environments`); FasterRisk needs Python 3.11. Their figures are kept in a file (`--kept`) and
not measured twice. Targets are printed beside what was measured, reached or not.
"""

import argparse
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from _harness import Record, describe_machine, run_in_process
from _list_tables import measure_all
from _real_data import DataNotFoundError, add_data_option
from _report import PartResult, Report
from _scorecards_checks import (
    SEEDS,
    TIMED,
    fit_intervals,
    fit_noise,
    fit_times,
    report_intervals,
    report_noise,
    report_times,
)
from _scorecards_data import DATA_TITLES, write_split
from _scorecards_others import OTHERS, Cache, fit_others
from _scorecards_tables import OF_XGBOOST, OURS, Runs, report_cards

CHILD = Path(__file__).with_name("_scorecards_ours.py")
KEPT = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "scorecards_others.json"
PACKAGES = ("xgboost", "xgboost-cpu")

GENERATED = {
    "noise": (fit_noise, SEEDS, report_noise),
    "intervals": (fit_intervals, SEEDS, report_intervals),
    "times": (fit_times, TIMED, report_times),
}
"""Parts on generated rows: what is fitted, to which tasks, and the report."""

PARTS = ("cards", *GENERATED)


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts (default: all)")
    add("--tables", nargs="+", choices=DATA_TITLES, default=list(DATA_TITLES), help="of `cards`")
    add("--splits", type=int, default=5, help="splits of each table (default 5)")
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
    add("--processes", type=int, default=1, help="fits at a time (default 1)")
    add("--store", type=Path, metavar="FILE", help="keep fits of ours there, and go on from them")
    add("--quick", action="store_true", help="two splits of the smallest tables, ours only")
    add("--json", type=Path, metavar="FILE", help="write the report there as well")
    add_data_option(parser)
    options = parser.parse_args(arguments)
    if options.quick:
        options.splits, options.ours_only, options.only = 2, True, ["cards"]
        options.tables = ["cancer", "digit8"]
    if options.splits < 2:
        parser.error("at least two splits are needed")
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
    for data in options.tables:
        try:
            rows(data, 0)
            found.append(data)
        except DataNotFoundError as error:
            notes.append(f"{DATA_TITLES[data]} is left out: {error}")
    return found, notes


def fit_ours(variant: str, data: str, split: int, *, rows: Rows) -> Record:
    """Return the figures of one of our cards, or why there are none."""
    return run_in_process(CHILD, [variant, rows(data, split), split], threads=1)


def measure_cards(options: argparse.Namespace, scratch: Path) -> PartResult | None:
    """Fit cards and compare; None where only the others are fitted."""
    rows, cache = Rows(scratch, options.data), Cache(options.kept)
    sets, notes = sets_at_hand(options, rows)
    if not options.ours_only:
        tasks = [(data, split) for data in sets for split in range(options.splits)]
        fit_others(options.others, tasks, rows, cache, options.environments, options.processes)
    if options.others_only:
        return None
    tasks = [
        (variant, data, split)
        for data in sets
        for split in range(options.splits)
        for variant in OURS
    ]
    runs = measure_all(
        partial(fit_ours, rows=rows), tasks, store_of(options, "cards"), options.processes
    )
    found: dict[str, Runs] = {data: {} for data in sets}
    for (variant, data, split), record in runs.items():
        if "error" in record:
            notes.append(f"{OURS[variant]}, {DATA_TITLES[data]}, split {split}: {record['error']}")
        else:
            found[data].setdefault(variant, {})[split] = record
    add_others(found, options, cache)
    result = report_cards(found)
    result.runs, result.notes = found, notes
    return result


def add_others(found: dict[str, Runs], options: argparse.Namespace, cache: Cache) -> None:
    """Add the kept figures of the other libraries."""
    for data, runs in found.items():
        for name in OTHERS:
            for split in range(options.splits):
                kept: Record = cache.get(name, data, split) or {}
                for criterion, record in kept.items():
                    label = OF_XGBOOST[criterion] if name == "xgboost" else name
                    runs.setdefault(label, {})[split] = record


def store_of(options: argparse.Namespace, part: str) -> Path | None:
    """Return the file of the fits of a part."""
    return options.store and options.store.with_suffix(f".{part}.jsonl")


def measure_generated(part: str, options: argparse.Namespace) -> PartResult:
    """Measure a part on generated rows."""
    fit, tasks, report = GENERATED[part]
    runs = measure_all(fit, tasks, store_of(options, part), options.processes)
    result = report(runs)
    result.runs = {" ".join(map(str, task)): found for task, found in runs.items()}
    return result


def main(arguments: list[str] | None = None) -> None:
    """Fit, compare, print the report."""
    options = parse_arguments(arguments)
    machine = describe_machine(*PACKAGES)
    parts: dict[str, PartResult] = {}
    if "cards" in options.only:
        with TemporaryDirectory(prefix="scorecards_") as scratch:
            cards = measure_cards(options, Path(scratch))
        if cards is None:
            return
        parts["cards"] = cards
    for part in options.only:
        if part in GENERATED:
            parts[part] = measure_generated(part, options)
    Report(
        "scorecards",
        f"{options.splits} splits of each table, 60 % of each class to train on.",
        machine,
        [table for part in parts.values() for table in part.tables],
        [verdict for part in parts.values() for verdict in part.verdicts],
        [*(note for part in parts.values() for note in part.notes), NOTE],
        {name: part.runs for name, part in parts.items()},
    ).publish(options.json)


NOTE = (
    "pAUC5: mean share of the positives found over the first 5 % of the negatives. Seconds are of "
    "processor time with one thread, from the rows to the card, choices by validation included; "
    "the median over the splits. Differences are paired over the splits, with 95 % intervals by "
    "the variance of Nadeau and Bengio (2003): splits of one table share rows. Significance is "
    "two-sided, at 5 %, by Holm's procedure over the tables. Small cards have the defaults of "
    "`Scorecard`: 10 terms, points in [-5, 5]; with pairs, their number is chosen, too. Full cards "
    "are the mean of 8 bags with the same settings on all tables, not rounded; with pairs, of at "
    "most ten. FasterRisk: 10 terms in [-5, 5], at most 99 quantiles "
    "of each feature as thresholds, the best of its pool. optbinning: its optimal bins and a "
    "logistic regression, unrounded; with ten steps: the 10, 5 or 3 variables of the largest "
    "information value with 2, 3 or 4 bins, chosen by inner folds. toad: bins by chi-squared with "
    "at least 5 % of the rows, unrounded; scorecardpy: its own bins and integer points. EBM: no "
    "interactions or ten, else its defaults. XGBoost: learning rate and rounds by inner folds."
)


if __name__ == "__main__":
    main()
