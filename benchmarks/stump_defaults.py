"""The defaults of boosted stumps: learning rate and rounds, and the ridge of all stumps at once.

    python benchmarks/stump_defaults.py --data DIR --store stumps.jsonl
    python benchmarks/stump_defaults.py --quick                       # seconds

Parts: `steps`, each loss at each rate for the most rounds, with the scores of its stages, on ten
tables; `queries`, the same on three query sets; `ridge`, multiples of the unit of
``alpha="auto"``. `steps` also chooses the setting on all tables but one, judges it on that one, and
takes processor time in turns with the paper's setting (learning_rate=1, 100 rounds).
"""

import argparse
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import mean, median, stdev
from time import process_time
from typing import Any

from _harness import describe_machine, take_turns
from _list_tables import METRICS, TABLES, figures_of, measure_all, scores_of, split_of
from _real_data import (
    DataNotFoundError,
    add_data_option,
    load_lightgbm,
    load_mq2008,
    load_ohsumed,
)
from _report import Cell, PartResult, Report, Table

LOSSES = {
    f"{loss} p={p}": {"loss": loss, "p": p} for loss in ("exponential", "logistic") for p in (1, 4)
}
RATES = (1.0, 0.5, 0.3, 0.1)
ROUNDS = (50, 100, 200, 300)
STUMPS_OF_PEER = "HistGradientBoosting, depth 1, rate .1"

PAPER, CHOSEN = (1.0, 100), (0.3, 200)
"""Rate and rounds of the paper and of the rankers as they come."""

TIMED = ("wine_quality", "credit", "cancer")
REPEATS = 9
MOST_ROWS = 8_000
"""Training rows of a larger table that are used."""

NOTE = "Mean over the tables ± its standard error (number of tables that are better)."
RIDGE_SPLIT = 0
UNITS = (0.0, 0.3, 1.0, 3.0, 10.0, 20.0, 60.0, 200.0)
RIDGES: dict[str, dict[str, Any]] = {
    **LOSSES,
    "exponential p=16": {"p": 16},
    "squared hinge p=2": {"loss": "squared_hinge", "p": 2},
    'push="ir"': {"push": "ir"},
    "features, exponential p=4": {"p": 4, "weak_ranker": "feature"},
    "features, logistic p=1": {"p": 1, "loss": "logistic", "weak_ranker": "feature"},
}

Setting = tuple[float, int]


# --- fits ----------------------------------------------------------------------------------------


def stages(model, X) -> Iterator[tuple[int, Any]]:
    """Yield the scores after each number of ROUNDS; a model that stopped earlier keeps its last."""
    find = "staged_decision_function" if hasattr(model, "classes_") else "staged_predict"
    found = list(getattr(model, find)(X))
    for rounds in ROUNDS:
        yield rounds, found[min(rounds, len(found)) - 1]


def rows_of(table: str, split: int, folder: Path | None):
    """Return a split with at most so many training rows, which are in random order."""
    X, X_test, y, y_test = split_of(table, folder, split)
    return X[:MOST_ROWS], X_test, y[:MOST_ROWS], y_test


def fit_steps(table: str, split: int, loss: str, *, folder: Path | None):
    """Return the figures by rate and rounds, as text."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    from sklearn_rank import PNormPushRanker

    X, X_test, y, y_test = rows_of(table, split, folder)
    if loss == STUMPS_OF_PEER:
        options = {"max_depth": 1, "max_iter": ROUNDS[-1], "early_stopping": False}
        models = {0.1: HistGradientBoostingClassifier(**options)}
    else:
        options = {**LOSSES[loss], "n_estimators": ROUNDS[-1]}
        models = {rate: PNormPushRanker(**options, learning_rate=rate) for rate in RATES}
    return {
        f"{rate} {rounds}": figures_of(y_test, scores)
        for rate, model in models.items()
        for rounds, scores in stages(model.fit(X, y), X_test)
    }


def fit_queries(name: str, fold: int, ranker: str, *, folder: Path):
    """Return the NDCG@10 by rate and rounds, as text."""
    import sklearn_rank
    from sklearn_rank.metrics import ndcg_score

    train, test = QUERY_SETS[name](folder)[fold]
    X, X_test = (
        getattr(part.data, "toarray", lambda part=part: part.data)() for part in (train, test)
    )
    found = {}
    for rate in RATES:
        model = getattr(sklearn_rank, ranker)(
            relevance="graded", learning_rate=rate, n_estimators=ROUNDS[-1]
        ).fit(X, train.target, qid=train.qid)
        for rounds, scores in stages(model, X_test):
            value = ndcg_score(test.target, scores, qid=test.qid, k=10)
            found[f"{rate} {rounds}"] = {"NDCG@10": float(value)}
    return found


def joined_mq2008(folder: Path):
    """Return training and test rows of the folds; validation rows are not used."""
    return [(train, test) for train, _, test in load_mq2008(folder)]


QUERY_SETS = {
    "MQ2008": joined_mq2008,
    "OHSUMED": load_ohsumed,
    "LightGBM's example": lambda folder: [load_lightgbm(folder)],
}
FOLDS = {"MQ2008": 5, "OHSUMED": 3, "LightGBM's example": 1}


def fit_ridges(table: str, name: str, *, folder: Path | None):
    """Return the figures by the ridge in its unit, as text."""
    from sklearn_rank import PNormPushRanker

    X, X_test, y, y_test = (numbers(part) for part in rows_of(table, RIDGE_SPLIT, folder))
    if "features" in name:
        X, X_test = scaled(X, X_test)
    model = PNormPushRanker(solver="lbfgs", **RIDGES[name])
    default = model.set_params(n_estimators=1).fit(X, y).alpha_
    unit = default if "features" in name else default / 20
    found = {}
    for multiple in UNITS:
        model.set_params(alpha=multiple * unit, n_estimators=200).fit(X, y)
        found[f"{multiple}"] = figures_of(y_test, scores_of(model, X_test))
    return found


def numbers(table):
    """Return a table with the codes of categories; all stumps at once know no categories."""
    if not hasattr(table, "columns"):
        return table
    texts = table.select_dtypes(include="category").columns
    return table.assign(**{name: table[name].cat.codes for name in texts}).astype(float)


def scaled(X, X_test):
    """Return features without gaps, of mean 0 and deviation 1."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    scale = make_pipeline(SimpleImputer(strategy="median"), StandardScaler()).fit(X)
    return scale.transform(X), scale.transform(X_test)


# --- what comes out ------------------------------------------------------------------------------


def words(values: Sequence[float]) -> str:
    """Return a mean with its standard error over the tables, and how many tables are better."""
    error = stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{mean(values):+.4f} ± {error:.4f} ({sum(value > 0 for value in values)})"


def key(setting: Setting) -> str:
    """Return a setting as it stands in the results."""
    return f"{setting[0]} {setting[1]}"


def above(runs, table: str, system: str, one: str, other: str, metric: str) -> float:
    """Return by how much one setting is above another on a table, the mean over its splits."""
    found = [
        result for (name, _, *rest), result in runs.items() if [name, *rest] == [table, system]
    ]
    return mean(result[one][metric] - result[other][metric] for result in found)


def by_setting(runs, title: str, metrics: Sequence[str], note: str) -> Table:
    """Return the mean difference of every system and setting to the paper's of that system."""
    rows: list[list[Cell]] = []
    tables = list(dict.fromkeys(task[0] for task in runs))
    for system in dict.fromkeys(task[2] for task in runs):
        for setting in ((rate, rounds) for rate in RATES for rounds in ROUNDS):
            if system == STUMPS_OF_PEER or setting == PAPER:
                continue
            cells = [
                words(
                    [above(runs, table, system, key(setting), key(PAPER), one) for table in tables]
                )
                for one in metrics
            ]
            rows.append([system, f"{setting[0]:g}", setting[1], *cells])
    return Table(title, ["system", "rate", "rounds", *metrics], rows, note)


def beside_the_peer(runs, options) -> Table:
    """Return the rankers as they come minus the stumps of scikit-learn."""
    rows: list[list[Cell]] = []
    for loss in LOSSES:
        cells = []
        for metric in METRICS:
            values = []
            for table in options.tables:
                pairs = [
                    (runs[table, split, loss], runs[table, split, STUMPS_OF_PEER])
                    for split in range(options.splits)
                ]
                last = key((0.1, ROUNDS[-1]))
                values.append(mean(a[key(CHOSEN)][metric] - b[last][metric] for a, b in pairs))
            cells.append(words(values))
        rows.append([loss, *cells])
    return Table(f"As they come minus {STUMPS_OF_PEER}", ["loss", *METRICS], rows)


def chosen_elsewhere(runs, tables: Sequence[str], loss: str) -> Table:
    """Return, for every table, the setting that is best on the others, and what it gains there."""

    def gain(setting: Setting, table: str) -> float:
        return sum(
            above(runs, table, loss, key(setting), key(PAPER), metric)
            for metric in ("AUC", "pauc@0.05")
        )

    settings = [(rate, rounds) for rate in RATES for rounds in ROUNDS]
    gains = {(one, table): gain(one, table) for one in settings for table in tables}
    rows: list[list[Cell]] = []
    for left in tables:
        best = max(settings, key=lambda one: sum(gains[one, t] for t in tables if t != left))
        line = f"rate {best[0]:g}, {best[1]} rounds"
        rows.append([left, line, f"{gains[best, left]:+.4f}", f"{gains[CHOSEN, left]:+.4f}"])
    columns = ["left out", "best on the others", "its gain here", "gain of the default"]
    return Table(f"{loss}: a setting chosen on other tables (gain: AUC + pAUC)", columns, rows)


def costs(options) -> Table:
    """Return the processor time of the default over that of the paper's setting."""
    from sklearn_rank import PNormPushRanker, RankBoost

    rows: list[list[Cell]] = []
    for table in (name for name in TIMED if name in options.tables):
        X, _, y, _ = rows_of(table, 0, options.data)
        for kind in (RankBoost, PNormPushRanker):
            calls = {
                key(one): partial(kind(learning_rate=one[0], n_estimators=one[1]).fit, X, y)
                for one in (PAPER, CHOSEN)
            }
            seconds = take_turns(calls, REPEATS, process_time)
            ratios = [new / old for old, new in zip(*seconds.values(), strict=True)]
            rows.append([table, kind.__name__, median(ratios), min(ratios), max(ratios)])
    columns = ["table", "ranker", "median", "smallest", "largest"]
    return Table("Processor time of the default over the paper's setting", columns, rows)


# --- parts ---------------------------------------------------------------------------------------


def run(fit, name: str, tasks, options):
    """Measure the tasks of a part, or read what is stored of them."""
    path = options.store and options.store.with_suffix(f".{name}.jsonl")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return measure_all(partial(fit, folder=options.data), tasks, path, 1)


def steps(options) -> PartResult:
    """Compare rates and rounds on the tables."""
    systems = [*LOSSES, STUMPS_OF_PEER]
    tasks = [
        (t, s, loss) for t in options.tables for s in range(options.splits) for loss in systems
    ]
    runs = run(fit_steps, "steps", tasks, options)
    title = "Above whole steps (rate 1, 100 rounds) of the same loss"
    tables = [by_setting(runs, title, METRICS, NOTE), beside_the_peer(runs, options)]
    tables += [chosen_elsewhere(runs, options.tables, loss) for loss in list(LOSSES)[:2]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PartResult([*tables, costs(options)])


def queries(options) -> PartResult:
    """Compare rates and rounds on query sets."""
    if options.data is None:
        return PartResult([], notes=["queries: no data folder was given"])
    rankers = ("RankBoost", "PNormPushRanker")
    tasks = [(name, k, one) for name in FOLDS for k in range(FOLDS[name]) for one in rankers]
    runs = run(fit_queries, "queries", tasks, options)
    note = "Grades; mean over three sets ± its standard error (number of sets that are better)."
    title = "NDCG@10 above whole steps (rate 1, 100 rounds)"
    return PartResult([by_setting(runs, title, ["NDCG@10"], note)])


def ridge(options) -> PartResult:
    """Compare ridges."""
    tasks = [(table, name) for table in options.tables for name in RIDGES]
    runs = run(fit_ridges, "ridge", tasks, options)
    rows: list[list[Cell]] = []
    for name in RIDGES:
        for multiple in UNITS[1:]:
            cells = []
            for metric in METRICS:
                found = (runs[table, name] for table in options.tables)
                cells.append(
                    words([one[f"{multiple}"][metric] - one["0.0"][metric] for one in found])
                )
            rows.append([name, f"{multiple:g}", *cells])
    note = f"One split. As it comes: 20 for stumps, 1 for features. {NOTE}"
    columns = ["objective", "ridge n / κ", *METRICS]
    return PartResult([Table("Ridge of all weak rankers at once, above none", columns, rows, note)])


PARTS = {"steps": steps, "queries": queries, "ridge": ridge}


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts (default: all)")
    add("--tables", nargs="+", choices=TABLES, default=list(TABLES), help="tables (default: all)")
    add("--splits", type=int, default=3, help="splits of each table (default: 3)")
    add("--store", type=Path, metavar="FILE", help="JSON lines that keep every fit, by part")
    add("--quick", action="store_true", help="breast cancer, one split")
    add("--json", type=Path, metavar="FILE", help="write the report there as well")
    add_data_option(parser)
    options = parser.parse_args(arguments)
    if options.quick:
        options.tables, options.splits, options.only = ["cancer"], 1, ["steps", "ridge"]
    return options


def main(arguments: list[str] | None = None) -> None:
    """Measure and report."""
    options = parse_arguments(arguments)
    notes = []
    for name in list(options.tables):
        try:
            split_of(name, options.data, 0)
        except DataNotFoundError as error:
            options.tables.remove(name)
            notes.append(f"{name}: {error}")
    results = [PARTS[name](options) for name in options.only]
    line = f"Held-out 40 % of {len(options.tables)} tables, {options.splits} splits."
    tables = [table for result in results for table in result.tables]
    notes += [note for result in results for note in result.notes]
    Report("stump_defaults", line, describe_machine(), tables, notes=notes).publish(options.json)


if __name__ == "__main__":
    main()
