"""What `sklearn-rank compare` puts first, beside HistGradientBoosting as it comes.

    python benchmarks/compare_first.py --data DIR
    python benchmarks/compare_first.py --quick                        # breast cancer, two splits

`compare` reads the training rows as a CSV file. The ranker with the greatest share of the positives
before 5 % of the negatives (`tpr@0.05`, by its own folds) is trained by `train` and scores the
held-out rows through `rank`, with no option but those that name the column and the ranker.
HistGradientBoostingClassifier is fitted to the same rows, with the categories as they are.
"""

import argparse
import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

from _harness import describe_machine
from _lists_fits import say
from _real_data import DataNotFoundError, add_data_option
from _report import Cell, Report, Table, Verdict
from as_they_come import BESIDE, MAX_FPR, TITLES, splits_of

SPLITS = {"credit": 3, "cancer": 5, "magic": 3}
METRIC = f"tpr@{MAX_FPR:g}"
TARGET, NUMBER = "on_top", "number_of_row"


@dataclass
class Split:
    """The ranker that `compare` put first, and both scores of the held-out rows."""

    ranker: str
    y: Any
    ours: Any
    theirs: Any


def run(*arguments: object) -> None:
    """Run a command of the command line; what it prints is shown when it fails."""
    from sklearn_rank.cli import main

    printed = StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        code = main([str(one) for one in arguments])
    if code != 0:
        raise RuntimeError(printed.getvalue())


def first_of(results: dict[str, Any]) -> str:
    """Return the ranker of this package with the greatest share, as `compare` measured it."""
    import sklearn_rank

    ours = [name for name in results if name in sklearn_rank.__all__]
    return max(ours, key=lambda name: results[name][METRIC]["mean"])


def chosen_and_scores(X, y, X_test) -> tuple[str, Any]:
    """Let the command line compare, train the first ranker, and score the held-out rows."""
    import pandas as pd

    with TemporaryDirectory(prefix="compare_first_") as scratch:
        folder = Path(scratch)
        train, test, found = folder / "train.csv", folder / "test.csv", folder / "found.json"
        model, ranked = folder / "model.skops", folder / "ranked.csv"
        X.assign(**{TARGET: y}).to_csv(train, index=False)
        X_test.assign(**{NUMBER: range(len(X_test))}).to_csv(test, index=False)
        run("compare", train, "--target", TARGET, "--json", found)
        ranker = first_of(json.loads(found.read_text(encoding="utf-8"))["results"])
        run("train", train, "--target", TARGET, "--ranker", ranker, "-o", model)
        run("rank", model, test, "-o", ranked)
        scores = pd.read_csv(ranked).set_index(NUMBER)["score"]
        return ranker, scores.loc[range(len(X_test))].to_numpy()


def measure(name: str, folder: Path | None, n_splits: int) -> list[Split]:
    """Fit and score both models on every split."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    found = []
    for X, X_test, y, y_test in splits_of(name, folder, n_splits):
        ranker, ours = chosen_and_scores(X, y, X_test)
        other = HistGradientBoostingClassifier(random_state=0).fit(X, y)
        found.append(Split(ranker, y_test, ours, other.decision_function(X_test)))
        say(f"{name} {' | '.join(map(str, row_of(str(len(found)), found[-1:])))}")
    return found


def comparison(splits: list[Split]):
    """Return the paired comparison on the held-out rows, each split a fold of its own."""
    import numpy as np

    from sklearn_rank.metrics import compare_tpr_at_fpr

    y, ours, theirs = (
        np.concatenate([getattr(one, part) for one in splits]) for part in ("y", "ours", "theirs")
    )
    fold = np.repeat(range(len(splits)), [len(one.y) for one in splits])
    return compare_tpr_at_fpr(y, ours, theirs, max_fpr=MAX_FPR, fold=fold, random_state=0)


def row_of(label: str, splits: list[Split]) -> list[Cell]:
    """Return the shares that both find, and the difference in points with its interval."""
    from sklearn_rank.metrics import tpr_at_fpr_score

    ours, theirs = (
        mean(tpr_at_fpr_score(one.y, getattr(one, part), max_fpr=MAX_FPR) for one in splits)
        for part in ("ours", "theirs")
    )
    found = comparison(splits)
    points = [100 * one for one in (found.difference, found.low, found.high)]
    rankers = ", ".join(dict.fromkeys(one.ranker for one in splits))
    words = "{:+.1f} [{:+.1f}, {:+.1f}]".format(*points)
    return [label, rankers, f"{ours:.3f}", f"{theirs:.3f}", words]


def table_of(name: str, splits: list[Split]) -> Table:
    """Return a row for each split, and one for all."""
    rows = [row_of(str(number), [one]) for number, one in enumerate(splits, 1)]
    columns = ["split", "first of compare", "first 5 %", BESIDE, "points more"]
    return Table(TITLES[name], columns, [*rows, row_of("all", splits)])


def verdict_of(name: str, splits: list[Split]) -> Verdict:
    """Return whether the interval over all splits reaches 0."""
    label = f"{TITLES[name]}: upper end of the interval of the points more than {BESIDE}"
    return Verdict(label, 0.0, 100 * comparison(splits).high, at_least=True)


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--sets", nargs="+", choices=SPLITS, default=list(SPLITS), help="data sets (default: all)")
    add("--splits", type=int, help="splits of each data set (default: 3, breast cancer 5)")
    add("--quick", action="store_true", help="breast cancer, two splits")
    add("--json", type=Path, metavar="FILE", help="write the report there as well")
    add_data_option(parser)
    options = parser.parse_args(arguments)
    if options.quick:
        options.sets, options.splits = ["cancer"], 2
    return options


def main(arguments: list[str] | None = None) -> None:
    """Measure and report."""
    options = parse_arguments(arguments)
    found: dict[str, list[Split]] = {}
    notes = []
    for name in options.sets:
        try:
            found[name] = measure(name, options.data, options.splits or SPLITS[name])
        except DataNotFoundError as error:
            notes.append(f"{TITLES[name]}: {error}")
    settings = (
        f"The ranker that `sklearn-rank compare` puts first on the training rows, and {BESIDE} as "
        "it comes: share of the positives found before 5 % of the negatives, held-out rows. "
        "Intervals: 95 %, bootstrap over held-out rows, paired. Splits of one data set share rows; "
        "the interval over all splits treats the splits as independent."
    )
    Report(
        "compare_first",
        settings,
        describe_machine("xgboost", "xgboost-cpu", "lightgbm"),
        [table_of(name, splits) for name, splits in found.items()],
        [verdict_of(name, splits) for name, splits in found.items()],
        notes,
    ).publish(options.json)


if __name__ == "__main__":
    main()
