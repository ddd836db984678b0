"""Rankers and classifiers as they come, and searched: the whole list and its top, held-out rows.

    python benchmarks/as_they_come.py --data DIR --json docs/benchmarks/as_they_come.json
    python benchmarks/as_they_come.py --quick                         # half a minute

Every model is fitted to the same splits with the defaults of its library, so that differences are
paired; a "searched" one chooses two parameters by folds of the training rows. "First 5 %" is the
share of the positives that are found before 5 % of the negatives.
"""

import argparse
import warnings
from pathlib import Path
from statistics import mean
from time import perf_counter
from typing import Any

from _harness import describe_machine
from _real_data import DataNotFoundError, add_data_option, load_two_classes
from _report import Cell, Report, Table
from _stats import interval

TITLES = {
    "credit": "make_credit, 5,000 loan applications",
    "magic": "MAGIC, 9,510 events",
    "cancer": "breast cancer, 284 tumours",
    "ionosphere": "Ionosphere, 175 echoes",
}
"""Each data set, with the number of its training rows."""

SPLITS = {"credit": 10, "magic": 5, "cancer": 10, "ionosphere": 10}
BESIDE = "HistGradientBoosting"
MAX_FPR = 0.05
CREDIT_ROWS, CREDIT_TEST_ROWS = 5_000, 20_000
TEST_SHARE = 0.5
KERNEL_ROWS = 10_000

SEARCHED = {
    "HistGradientBoosting": {"max_leaf_nodes": [2, 4, 8, 31], "learning_rate": [0.05, 0.1]},
    "PNormPushRanker": {"p": [1, 4, 16], "learning_rate": [0.1, 0.3]},
}
"""The settings among which three folds choose by the partial AUC up to 5 % of the negatives."""

Run = tuple[float, float, float]
"""AUC, first 5 % and seconds of one fit."""


def splits_of(name: str, folder: Path | None, n_splits: int):
    """Yield training rows, test rows and their labels; made tables are new each time."""
    import pandas as pd
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    from sklearn_rank.datasets import make_credit

    if name == "credit":
        for seed in range(n_splits):
            table = make_credit(CREDIT_ROWS + CREDIT_TEST_ROWS, random_state=seed)
            yield train_test_split(table.data, table.target, train_size=CREDIT_ROWS, shuffle=False)
        return
    if name == "cancer":
        X, y = load_breast_cancer(return_X_y=True)
        y = (y == 0).astype(int)
    else:
        X, y = load_two_classes(name, folder)
    X = pd.DataFrame(X).add_prefix("x")
    for seed in range(n_splits):
        yield train_test_split(X, y, test_size=TEST_SHARE, stratify=y, random_state=seed)


def prepared(model):
    """Return a pipeline that imputes, scales and one-hot encodes for linear and kernel models."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    categories = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (categories, make_column_selector(dtype_include="category")),
    )
    return make_pipeline(columns, model)


def systems(n_rows: int):
    """Return each model by its name; trees and stumps take missing values and categories."""
    from lightgbm import LGBMClassifier
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from xgboost import XGBClassifier

    from sklearn_rank import BoostedTreesRanker, KernelPairwiseSGDRanker, PNormPushRanker, RankBoost
    from sklearn_rank.metrics import ranking_scorer

    top = ranking_scorer(f"pauc@{MAX_FPR}")
    bases = {
        BESIDE: HistGradientBoostingClassifier(random_state=0),
        "PNormPushRanker": PNormPushRanker(n_jobs=1),
    }
    found = {
        "LogisticRegression": prepared(LogisticRegression(max_iter=1000)),
        BESIDE: bases[BESIDE],
        f"{BESIDE}, depth 1": HistGradientBoostingClassifier(max_depth=1, random_state=0),
        "XGBClassifier": XGBClassifier(n_jobs=1, enable_categorical=True),
        "LGBMClassifier": LGBMClassifier(n_jobs=1, verbosity=-1),
        "RankBoost": RankBoost(n_jobs=1),
        "PNormPushRanker(p=4)": PNormPushRanker(p=4, n_jobs=1),
        "PNormPushRanker(p=16)": PNormPushRanker(p=16, n_jobs=1),
        "BoostedTreesRanker": BoostedTreesRanker(n_jobs=1, random_state=0),
    }
    for name, grid in SEARCHED.items():
        found[f"{name}, searched"] = GridSearchCV(bases[name], grid, scoring=top, cv=3)
    if n_rows <= KERNEL_ROWS:
        found['KernelPairwiseSGDRanker(kernel="rbf")'] = prepared(
            KernelPairwiseSGDRanker(kernel="rbf", random_state=0)
        )
    return found


def measure(name: str, folder: Path | None, n_splits: int) -> dict[str, list[Run]]:
    """Fit and score every model on every split."""
    from sklearn_rank.metrics import auc_score, tpr_at_fpr_score

    found: dict[str, list[Run]] = {}
    for X, X_test, y, y_test in splits_of(name, folder, n_splits):
        for system, model in systems(len(X)).items():
            start = perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X, y)
            seconds = perf_counter() - start
            if hasattr(model, "decision_function"):
                scores = model.decision_function(X_test)
            else:
                scores = model.predict_proba(X_test)[:, 1]
            first = tpr_at_fpr_score(y_test, scores, max_fpr=MAX_FPR)
            found.setdefault(system, []).append((auc_score(y_test, scores), first, seconds))
    return found


def column(runs: list[Run], number: int) -> list[float]:
    """Return one of the three figures of every run."""
    return [run[number] for run in runs]


def differences(found: dict[str, list[Run]], system: str) -> list[float]:
    """Return what a system finds more in the first 5 % than `BESIDE`, in points, by split."""
    pairs = zip(column(found[system], 1), column(found[BESIDE], 1), strict=True)
    return [100 * (one - other) for one, other in pairs]


def table_of(name: str, found: dict[str, list[Run]]) -> Table:
    """Return the means, and the paired difference to `BESIDE`; the best first 5 % comes first."""
    rows: list[list[Cell]] = []
    ratio = 0.0 if name == "credit" else TEST_SHARE / (1 - TEST_SHARE)
    for system in sorted(found, key=lambda one: -mean(column(found[one], 1))):
        between = interval(differences(found, system), ratio)
        words = "–"
        if system != BESIDE and between is not None:
            words = (
                f"{mean(differences(found, system)):+.1f} [{between[0]:+.1f}, {between[1]:+.1f}]"
            )
        auc, first = (f"{mean(column(found[system], number)):.3f}" for number in (0, 1))
        rows.append([system, first, words, auc])
    columns = ["model", "first 5 %", f"points more than {BESIDE}", "AUC"]
    return Table(f"{TITLES[name]}, {len(found[BESIDE])} splits", columns, rows)


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--sets", nargs="+", choices=TITLES, default=list(TITLES), help="data sets (default: all)")
    add("--splits", type=int, help="splits of each data set (default: as the table has)")
    add("--quick", action="store_true", help="breast cancer, two splits")
    add("--json", type=Path, metavar="FILE", help="write the report there as well")
    add_data_option(parser)
    options = parser.parse_args(arguments)
    if options.quick:
        options.sets, options.splits = ["cancer"], 2
    if options.splits is not None and options.splits < 2:
        parser.error("at least two splits are needed")
    return options


def main(arguments: list[str] | None = None) -> None:
    """Measure and report."""
    options = parse_arguments(arguments)
    found: dict[str, dict[str, list[Run]]] = {}
    notes = []
    for name in options.sets:
        try:
            found[name] = measure(name, options.data, options.splits or SPLITS[name])
        except DataNotFoundError as error:
            notes.append(f"{TITLES[name]}: {error}")
    machine = describe_machine("xgboost", "xgboost-cpu", "lightgbm")
    report_of(found, notes, machine).publish(options.json)


def report_of(
    found: dict[str, dict[str, list[Run]]], notes: list[str], machine: dict[str, Any]
) -> Report:
    """Return the report of all runs."""
    tables = [table_of(name, figures) for name, figures in found.items()]
    searched = "; ".join(
        f"{name}: " + ", ".join(f"{one} {values}" for one, values in grid.items())
        for name, grid in SEARCHED.items()
    )
    settings = (
        f"Defaults of each library; a searched model is the best of {searched} by the partial AUC "
        "of three folds. First 5 %: share of the positives found before 5 % of the negatives, "
        "held-out rows. Intervals: 95 %, over the splits, paired; but for make_credit, whose "
        "tables are new each time, they allow for rows that the splits share (Nadeau and Bengio, "
        "2003)."
    )
    return Report("as_they_come", settings, machine, tables, notes=notes)


if __name__ == "__main__":
    main()
