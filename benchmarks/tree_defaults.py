"""Which loss, penalties and rounds BoostedTreesRanker has by default, by nested evaluation.

    python benchmarks/tree_defaults.py --data DIR --store fits        # an hour
    python benchmarks/tree_defaults.py --quick                        # breast cancer, two splits

Parts: `lists`, ten tables of two classes beside LightGBM as it comes; `queries`, three sets with
grades. `reg_lambda` and `min_child_weight` are multiples of the unit of curvature. For each table
the setting is chosen that is best on the other tables: how often the choice is the same, and what
it is worth on the table left out, say how sure it is. Of large tables 8,000 rows are learnt from.
"""

import argparse
import math
import warnings
from collections import Counter
from functools import partial
from itertools import product
from pathlib import Path
from statistics import mean, stdev
from types import SimpleNamespace

from _harness import describe_machine
from _list_tables import METRICS, TABLES, figures_of, load_table, measure_all, split_of
from _real_data import DataNotFoundError, add_data_option, load_lightgbm, load_mq2008, load_ohsumed
from _report import PartResult, Report, Table

EXPONENTIAL, LOGISTIC, THEIRS = "exponential", "logistic", "LightGBM"
LOSSES = (EXPONENTIAL, LOGISTIC)
ROUNDS = (50, 100, 200, 300, 600)
MOST_ROWS = 8_000
LARGE = ("adult", "magic")
QUERY_SETS = ("MQ2008", "OHSUMED", "LightGBM's example")
AT = 10
"""Rank at which the NDCG is measured."""

Setting = tuple[str, int, int, int, float, float, int]
"""Loss or THEIRS, p, units in reg_lambda and in min_child_weight, learning rate, share of rows and
columns, rounds."""

Scores = dict[Setting, dict[str, dict[str, float]]]
"""The mean of each metric over the splits of each table."""

AS_IT_COMES: Setting = (THEIRS, 1, 0, 0, 0.1, 1.0, 100)
CHOSEN: Setting = (LOGISTIC, 1, 2, 0, 0.05, 0.7, 200)
"""What BoostedTreesRanker has by default."""

RIDGES: list[Setting] = [
    *((loss, 1, c, 0, 0.1, 1.0, 300) for loss, c in product(LOSSES, (0, 1, 4, 16))),
    *((loss, 1, c, 0, 0.1, 0.7, 100) for loss, c in ((EXPONENTIAL, 4), (EXPONENTIAL, 16))),
    *((LOGISTIC, 1, c, 0, 0.1, 0.7, 100) for c in (1, 4)),
    *((LOGISTIC, 1, c, 0, 0.05, 0.7, 200) for c in (1, 2, 4)),
]
LONG: list[Setting] = [
    (EXPONENTIAL, 1, 4, 0, 0.05, 0.7, 600),
    (THEIRS, 1, 0, 0, 0.05, 1.0, 600),
]
"""Settings that are measured after many rounds, too, but not on the largest tables."""

FIRST_SPLIT: list[Setting] = [
    *((loss, p, c, 0, 0.1, 1.0, 300) for loss, p, c in product(LOSSES, (2, 4), (0, 4, 16))),
    *((EXPONENTIAL, 1, c, m, 0.1, 1.0, 300) for c, m in ((4, 1), (4, 4), (16, 4))),
]
"""Settings that are measured on one split only."""

OF_QUERIES = [
    *product((LOGISTIC,), (0, 1, 4, 16)),
    *product((EXPONENTIAL, "cross_entropy"), (0, 4)),
    ("ndcg", None),
]


# --- fits ----------------------------------------------------------------------------------------


def unit_of(y, loss: str, p: int) -> float:
    """Return the unit of curvature of two classes in one list."""
    n, above = len(y), sum(y)
    if loss == LOGISTIC:
        return n / (8 * min(above, n - above))
    return max(n / (4 * (1 + p) * above), p * n / (4 * (1 + p) * (n - above)))


def model_of(setting: Setting, unit: float, seed: int):
    """Return a model that is not fitted."""
    loss, p, c, m, rate, share, rounds = setting
    if loss == THEIRS:
        from lightgbm import LGBMClassifier

        return LGBMClassifier(learning_rate=rate, n_estimators=rounds, n_jobs=1, verbosity=-1)
    from sklearn_rank import BoostedTreesRanker

    drawn = {"subsample": share, "colsample": share, "random_state": seed}
    penalties = {"reg_lambda": c * unit, "min_child_weight": m * unit}
    sizes = {"learning_rate": rate, "n_estimators": rounds, "n_jobs": 1}
    return BoostedTreesRanker(engine="lightgbm", loss=loss, p=p, **sizes, **drawn, **penalties)


def fit_list(table: str, split: int, *setting, folder: Path | None):
    """Return the figures of held-out rows after each number of rounds."""
    X, X_test, y, y_test = split_of(table, folder, split)
    X, y = X[:MOST_ROWS], y[:MOST_ROWS]
    loss, p, *_, rounds = setting
    model = model_of(setting, unit_of(y, loss, p), split)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    wanted = [number for number in ROUNDS if number <= rounds]
    if loss == THEIRS:
        at = {n: model.predict(X_test, raw_score=True, num_iteration=n) for n in wanted}
    else:
        stages = enumerate(model.staged_decision_function(X_test), start=1)
        kept = {number: scores for number, scores in stages if number in {*wanted, model.n_iter_}}
        at = {number: kept[min(number, model.n_iter_)] for number in wanted}
    return {str(number): figures_of(y_test, scores) for number, scores in at.items()}


def joined(one, other):
    """Return the rows of two parts."""
    import numpy as np

    names = ("data", "target", "qid")
    return SimpleNamespace(**{n: np.concatenate([one[n], other[n]]) for n in names})


def query_folds(name: str, folder: Path | None):
    """Return training and test rows of the folds of a set with queries."""
    if name == "MQ2008":
        folds = load_mq2008(folder)[:2]
        return [(joined(train, valid), test) for train, valid, test in folds]
    return load_ohsumed(folder) if name == "OHSUMED" else [load_lightgbm(folder)]


def fit_queries(name: str, fold: int, loss: str, c: int | None, *, folder: Path | None):
    """Return the NDCG of held-out queries after each number of rounds."""
    from sklearn_rank import BoostedTreesRanker
    from sklearn_rank.metrics import ndcg_score

    train, test = query_folds(name, folder)[fold]
    ranker = BoostedTreesRanker(
        engine="lightgbm", loss=loss, relevance="graded", learning_rate=0.1, n_estimators=1
    ).set_params(subsample=1, colsample=1, n_jobs=1)
    rows = {"X": train.data, "y": train.target, "qid": train.qid}
    if c is not None:  # four units, or two: the penalty of one round says what the unit is
        four = ranker.fit(**rows).reg_lambda_ * (2 if loss == LOGISTIC else 1)
        ranker.set_params(reg_lambda=c * four / 4)
    ranker.set_params(n_estimators=300).fit(**rows)
    stages = enumerate(ranker.staged_predict(test.data), start=1)
    kept = {number: scores for number, scores in stages if number in {*ROUNDS, ranker.n_iter_}}
    at = {n: kept[min(n, ranker.n_iter_)] for n in ROUNDS if n <= 300}
    return {str(n): ndcg_score(test.target, f, qid=test.qid, k=AT) for n, f in at.items()}


# --- tables --------------------------------------------------------------------------------------


def means_of(runs) -> Scores:
    """Return the mean over the splits of each table, of settings with their rounds."""
    splits: dict[Setting, dict[str, list[dict[str, float]]]] = {}
    for (table, _, *setting), by_rounds in runs.items():
        for rounds, figures in by_rounds.items():
            key: Setting = (*setting[:-1], int(rounds))
            splits.setdefault(key, {}).setdefault(table, []).append(figures)
    return {
        key: {
            table: {metric: mean(one[metric] for one in figures) for metric in METRICS}
            for table, figures in by_table.items()
        }
        for key, by_table in splits.items()
    }


def gains(found: Scores, setting: Setting, metric: str, other: Setting = AS_IT_COMES):
    """Return by how much a setting is above another one on each table."""
    of, beside = found[setting], found[other]
    return {table: of[table][metric] - beside[table][metric] for table in of}


def in_words(setting: Setting) -> str:
    """Return a setting as text."""
    loss, p, c, m, rate, share, rounds = setting
    penalty = "" if loss == THEIRS else f", {c} u" + (f", least {m} u" if m else "")
    power, drawn = f", p = {p}" * (p > 1), f", {share:g} of rows and columns" * (share < 1)
    return f"{loss}{power}{penalty}, rate {rate:g}{drawn}, {rounds} rounds"


def comparison(title: str, found: Scores, settings: list[Setting], note: str = "") -> Table:
    """Return mean differences to LightGBM as it comes, with the number of tables won."""
    rows = []
    for setting in settings:
        by_metric = [list(gains(found, setting, metric).values()) for metric in METRICS]
        cells = [f"{mean(ds):+.4f} ({sum(d > 0 for d in ds)})" for ds in by_metric]
        rows.append([in_words(setting), *cells])
    return Table(title, ["setting", *METRICS], rows, note)


def worth(found: Scores, setting: Setting, tables) -> float:
    """Return what is chosen by: the AUC, and a quarter of the mean of the others.

    Their differences are about four times as large, and as uncertain.
    """
    by_metric = [mean(gains(found, setting, m)[table] for table in tables) for m in METRICS]
    return by_metric[0] + mean(by_metric[1:]) / 4


def left_out(found: Scores, candidates: list[Setting]) -> list[Table]:
    """Return the settings that are best without each table, and what they are worth there."""
    tables = list(found[AS_IT_COMES])
    chosen = {
        table: max(candidates, key=lambda s: worth(found, s, [t for t in tables if t != table]))
        for table in tables
    }
    counts = Counter(chosen.values()).most_common()
    rows = [[in_words(setting), count] for setting, count in counts]
    there = [worth(found, chosen[table], [table]) for table in tables]
    default = [worth(found, CHOSEN, [table]) for table in tables]
    between = [one - other for one, other in zip(default, there, strict=True)]
    error = stdev(between) / math.sqrt(len(between))
    note = (
        f"Of {len(candidates)} settings with p = 1, by the AUC and a quarter of the mean of the "
        f"others. On the tables left out the choice is worth {mean(there):+.4f}, the default "
        f"{mean(default):+.4f}; difference {mean(between):+.4f}, standard error {error:.4f}."
    )
    return [Table("Best on the other tables", ["setting", "tables left out"], rows, note)]


def falls(found: Scores) -> Table:
    """Return the AUC that settings lose from 200 to 600 rounds."""
    rows = []
    for setting in LONG:
        few = (*setting[:-1], 200)
        lost = {table: -gain for table, gain in gains(found, setting, "AUC", few).items()}
        worst = max(lost, key=lambda table: lost[table])
        rows.append([in_words(few), f"{mean(lost.values()):+.4f}", f"{lost[worst]:+.4f}", worst])
    columns = ["setting", "AUC lost", "largest", "on"]
    title = f"AUC that 600 rounds lose of 200, tables other than {' and '.join(LARGE)}"
    return Table(title, columns, rows)


def report_lists(runs, *, quick: bool) -> PartResult:
    """Compare settings with LightGBM as it comes."""
    found = means_of(runs)
    ridges = [s for s in RIDGES if s in found and (not quick or s[4:6] == (0.1, 1.0))]
    at = [(*s[:-1], 100 if s[4] == 0.1 else 200) for s in ridges]
    tables = [comparison("Loss and reg_lambda, minus LightGBM as it comes", found, at)]
    if quick:
        return PartResult(tables)
    shorter = [(*s[:-1], rounds) for s in ridges for rounds in ROUNDS if rounds <= s[-1]]
    at_first = means_of({task: figures for task, figures in runs.items() if task[1] == 0})
    first = [(*s[:-1], 100) for s in [*RIDGES[:8], *FIRST_SPLIT]]
    tables += left_out(found, shorter)
    tables.append(falls(found))
    tables.append(comparison("Powers and min_child_weight, first split", at_first, first))
    return PartResult(tables)


def report_queries(runs) -> PartResult:
    """Compare losses and penalties by the NDCG within queries."""
    by: dict[tuple[str, int | None], dict[str, dict[str, list[float]]]] = {}
    for (name, _, loss, c), by_rounds in runs.items():
        for rounds, value in by_rounds.items():
            by.setdefault((loss, c), {}).setdefault(rounds, {}).setdefault(name, []).append(value)
    columns = [str(number) for number in ROUNDS if number <= 300]
    rows = []
    for (loss, c), at in by.items():
        means = [mean(mean(folds) for folds in at[rounds].values()) for rounds in columns]
        label = loss if c is None else f"{loss}, {c} u"
        rows.append([label, *(f"{value:.4f}" for value in means)])
    title = f"Queries: NDCG@{AT} after rounds of rate .1, mean over the sets"
    return PartResult([Table(title, ["loss", *columns], rows)])


# --- command line --------------------------------------------------------------------------------


def list_tasks(tables, splits: int, *, quick: bool):
    """Return the fits: a table, a split and a setting."""
    settings = [(THEIRS, 1, 0, 0, 0.1, 1.0, 600), *RIDGES]
    tasks = [(t, k, *s) for t in tables for k in range(splits) for s in settings]
    if quick:
        return tasks
    small = [table for table in tables if table not in LARGE]
    tasks += [(t, k, *s) for t in small for k in range(splits) for s in LONG]
    return tasks + [(t, 0, *s) for t in tables for s in FIRST_SPLIT]


def query_tasks(folder: Path | None):
    """Return the fits: a set, a fold, a loss and a multiple."""
    names = [(name, fold) for name in QUERY_SETS for fold in range(len(query_folds(name, folder)))]
    return [(*name, *setting) for name in names for setting in OF_QUERIES]


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--splits", type=int, default=3, help="splits of each table (default: 3)")
    add("--processes", type=int, default=1, help="fits at a time (default: 1)")
    add("--quick", action="store_true", help="breast cancer, two splits")
    add("--store", type=Path, metavar="FILE", help="keep fits there, and go on from them")
    add("--json", type=Path, metavar="FILE", help="write the report there as well")
    add_data_option(parser)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    """Measure and report."""
    options = parse_arguments(arguments)
    names, splits = (["cancer"], 2) if options.quick else (list(TABLES), options.splits)
    notes, folder = [], options.data
    for name in list(names):
        try:
            load_table(name, folder)
        except DataNotFoundError as error:
            names.remove(name)
            notes.append(f"{name}: {error}")

    def measured(part, fit, tasks):
        path = options.store and options.store.with_suffix(f".{part}.jsonl")
        return measure_all(partial(fit, folder=folder), tasks, path, options.processes)

    quick = options.quick
    runs = measured("lists", fit_list, list_tasks(names, splits, quick=quick))
    parts = [report_lists(runs, quick=quick)]
    if not quick and folder is not None:
        parts.append(report_queries(measured("queries", fit_queries, query_tasks(folder))))
    settings = (
        f"{splits} splits of 60 and 40 % of each table, at most {MOST_ROWS:,} training rows, trees "
        "of LightGBM; u is the unit of curvature. Means over the tables; in brackets the tables "
        "on which the setting is better."
    )
    tables = [table for part in parts for table in part.tables]
    machine = describe_machine("xgboost", "xgboost-cpu", "lightgbm")
    Report("tree_defaults", settings, machine, tables, notes=notes).publish(options.json)


if __name__ == "__main__":
    main()
