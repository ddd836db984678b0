"""Which random growth ranks queries better: parameters of the engines, beside CatBoost's YetiRank.

    python benchmarks/query_growth.py --data DIR --store runs.jsonl   # an hour
    python benchmarks/query_growth.py --data DIR --quick              # one part of one set

Three sets of queries, five parts, each tested once: three parts are learnt from, and on one the
number of rounds is chosen by NDCG@10. `BoostedTreesRanker(relevance="graded")` keeps its defaults
but for what a line names. For each set the transfer is chosen that is best on the other two.
"""

import argparse
import warnings
from functools import cache, partial
from math import isnan, sqrt
from pathlib import Path
from statistics import mean, variance
from typing import Any

from _harness import describe_machine
from _list_tables import measure_all
from _real_data import add_data_option, load_lightgbm, load_mq2008, load_ohsumed
from _report import Report, Table

SETS = ("OHSUMED", "LightGBM's example", "MQ2008")
N_PARTS, AT = 5, 10
ROUNDS = tuple(range(10, 401, 10))
ANY = tuple(range(20, 151, 10))
"""Rounds whose mean has no noise from choosing; with a learning rate of .05, twice as many."""

YETI, PLAIN = "CatBoost YetiRank", "best thresholds"

Values = dict[str, list[float]]
"""By query: the NDCG at the chosen number of rounds, and the mean of those at any number."""


# --- systems -------------------------------------------------------------------------------------


OURS: dict[str, dict[str, Any]] = {
    PLAIN: {"engine": "lightgbm", "engine_params": {"extra_trees": False}},
    "extra_trees": {"engine": "lightgbm", "engine_params": {"extra_trees": True}},
    "colsample_bynode=.5, XGBoost": {
        "engine": "xgboost",
        "colsample": 1.0,
        "engine_params": {"colsample_bynode": 0.5},
    },
    "16 leaves, extra_trees": {
        "engine": "lightgbm",
        "max_leaf_nodes": 16,
        "engine_params": {"extra_trees": True},
    },
}
"""Parameters of `BoostedTreesRanker` by the name of a system."""


def stages_of_ours(name: str, train, X, seed: int):
    """Return the scores after each of ROUNDS."""
    from sklearn_rank import BoostedTreesRanker

    given = {"relevance": "graded", "n_estimators": ROUNDS[-1], "random_state": seed, "n_jobs": 1}
    ranker = BoostedTreesRanker(**given, **OURS[name])
    ranker.fit(train["X"], train["y"], qid=train["qid"])
    stages = enumerate(ranker.staged_predict(X), start=1)
    kept = {number: scores for number, scores in stages if number in {*ROUNDS, ranker.n_iter_}}
    return [kept[min(number, ranker.n_iter_)] for number in ROUNDS]


def stages_of_yeti(train, X, seed: int):
    """Return the scores after each of ROUNDS."""
    from catboost import CatBoost, Pool

    given = {"loss_function": "YetiRank", "learning_rate": 0.1, "depth": 4, "random_seed": seed}
    quiet = {"verbose": 0, "thread_count": 1, "allow_writing_files": False}
    model = CatBoost({**given, **quiet, "iterations": ROUNDS[-1]})
    model.fit(Pool(train["X"], train["y"], group_id=train["qid"]))
    return [model.predict(X, ntree_end=number) for number in ROUNDS]


# --- rows ----------------------------------------------------------------------------------------


@cache
def load(name: str, folder: Path | None):
    """Return features, relevance and the number of the query of all rows, sorted by query."""
    import numpy as np
    from scipy.sparse import issparse

    sets = {"OHSUMED": load_ohsumed, "MQ2008": load_mq2008}
    if name in sets:
        parts, marks = sets[name](folder)[0], ("",) * 3
    else:  # queries are numbered anew in each file
        parts, marks = load_lightgbm(folder), ("train", "test")
    X = np.concatenate(
        [part.data.toarray() if issparse(part.data) else part.data for part in parts]
    )
    y = np.concatenate([part.target for part in parts])
    named = [f"{m}{q}" for part, m in zip(parts, marks, strict=False) for q in part.qid]
    qid = np.unique(named, return_inverse=True)[1]
    order = np.argsort(qid, kind="stable")
    return X[order], y[order].astype(int), qid[order]


def ndcg_of_queries(y, scores, qid) -> dict[int, float]:
    """Return the NDCG of each query with a relevant row; gains are 2^y - 1."""
    import numpy as np

    from sklearn_rank.metrics import ndcg_score

    found = ndcg_score(y, scores, k=AT, qid=qid, average=None, empty="skip")
    pairs = zip(np.unique(qid).tolist(), found.tolist(), strict=True)
    return {query: value for query, value in pairs if not isnan(value)}


def measure(name: str, seed: int, part: int, system: str, *, folder: Path | None) -> Values:
    """Return the figures of the test queries of one part."""
    import numpy as np

    X, y, qid = load(name, folder)
    n_queries = qid[-1] + 1
    of_query = np.random.default_rng(seed).permutation(n_queries) % N_PARTS
    distance = (of_query[qid] - part) % N_PARTS
    test, valid, learnt = distance == 0, distance == 1, distance > 1
    train = {"X": X[learnt], "y": y[learnt], "qid": qid[learnt]}
    stages_of = stages_of_yeti if system == YETI else partial(stages_of_ours, system)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stages = stages_of(train, X[test | valid], seed)
    is_test = test[test | valid]

    def figures(scores, rows, among):
        return ndcg_of_queries(y[rows], scores[among], qid[rows])

    on_valid = [mean(figures(scores, valid, ~is_test).values()) for scores in stages]
    chosen = int(np.argmax(on_valid))
    factor = 1 if system == YETI else 2
    looked_at = {ROUNDS.index(factor * number) for number in ANY} | {chosen}
    of = {number: figures(stages[number], test, is_test) for number in looked_at}
    some = [number for number in looked_at if ROUNDS[number] // factor in ANY]
    return {
        str(query): [value, mean(of[number][query] for number in some)]
        for query, value in of[chosen].items()
    }


# --- tables --------------------------------------------------------------------------------------

ByQuery = dict[str, dict[str, list[float]]]
"""The two figures of each query of each set, means over the seeds."""


def by_system(runs) -> dict[str, ByQuery]:
    """Return the figures of each system, averaged over the seeds."""
    found: dict[str, dict[str, dict[str, list[list[float]]]]] = {}
    for (name, _, _, system), values in runs.items():
        of = found.setdefault(system, {}).setdefault(name, {})
        for query, figures in values.items():
            of.setdefault(query, []).append(figures)
    return {
        system: {
            name: {
                q: [mean(column) for column in zip(*rows, strict=True)] for q, rows in of.items()
            }
            for name, of in sets.items()
        }
        for system, sets in found.items()
    }


def level(found: ByQuery, name: str, figure: int = 0) -> float:
    """Return the mean of a set."""
    return mean(values[figure] for values in found[name].values())


def above(one: ByQuery, other: ByQuery, figure: int = 0) -> tuple[float, float]:
    """Return the mean difference over the sets and half its interval, paired by query."""
    means, squares = [], []
    for name, of in one.items():
        gaps = [values[figure] - other[name][query][figure] for query, values in of.items()]
        means.append(mean(gaps))
        squares.append(variance(gaps) / len(gaps))
    return mean(means), 1.96 * sqrt(sum(squares)) / len(means)


def words(difference: tuple[float, float]) -> str:
    """Write a difference with its interval."""
    return f"{difference[0]:+.4f} ± {difference[1]:.4f}"


def main_table(found: dict[str, ByQuery]) -> Table:
    """Return the level of each system on each set, and the differences from two of them."""
    sets = list(found[YETI])
    columns = ["system", *sets, f"minus {YETI}", f"minus {PLAIN}", "any round: minus YetiRank"]
    rows: list[list[Any]] = []
    for system, figures in found.items():
        levels = [f"{level(figures, name):.4f}" for name in sets]
        gaps = [above(figures, found[YETI]), above(figures, found[PLAIN])]
        rows.append([system, *levels, *map(words, [*gaps, above(figures, found[YETI], 1)])])
    return Table(f"NDCG@{AT} of the test queries", columns, rows)


def left_out_table(found: dict[str, ByQuery]) -> Table:
    """Return what is chosen on all sets but one, and what it is worth on that one."""
    rows: list[list[Any]] = []
    judged: ByQuery = {}
    for name in found[YETI]:
        others = [one for one in found[YETI] if one != name]
        ours = {system: found[system] for system in found if system != YETI}
        best = max(ours, key=lambda system: mean(level(ours[system], one) for one in others))
        judged[name] = found[best][name]
        gaps = [above({name: found[best][name]}, found[one]) for one in (PLAIN, YETI)]
        rows.append([name, best, *map(words, gaps)])
    rows.append(["mean", "", *(words(above(judged, found[one])) for one in (PLAIN, YETI))])
    columns = ["set left out", "chosen on the others", f"minus {PLAIN}", f"minus {YETI}"]
    return Table("Each set left out once", columns, rows)


# --- command line --------------------------------------------------------------------------------


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--seeds", type=int, default=3, help="divisions of each set into parts (default: 3)")
    add("--systems", nargs="+", choices=OURS, default=list(OURS), help="ours (default: all)")
    add("--processes", type=int, default=1, help="fits at a time (default: 1)")
    add("--quick", action="store_true", help="one part of the smallest set, three systems")
    add("--store", type=Path, metavar="FILE", help="keep fits there, and go on from them")
    add("--json", type=Path, metavar="FILE", help="write the report there as well")
    add_data_option(parser)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    """Measure and report."""
    options = parse_arguments(arguments)
    if options.data is None:
        print("Not measured: no folder was given (--data DIR).")
        return
    sets, seeds, parts, systems = SETS, options.seeds, N_PARTS, (PLAIN, YETI, *options.systems)
    if options.quick:
        sets, seeds, parts, systems = SETS[:1], 1, 1, (PLAIN, YETI, "extra_trees")
    tasks = [
        (name, seed, part, system)
        for seed in range(seeds)
        for name in sets
        for part in range(parts)
        for system in dict.fromkeys(systems)
    ]
    runs = measure_all(
        partial(measure, folder=options.data), tasks, options.store, options.processes
    )
    found = by_system(runs)
    tables = [main_table(found), *([] if options.quick else [left_out_table(found)])]
    settings = (
        f"{parts} parts of the queries, {seeds} seeds: three parts to learn, one to choose from "
        f"{ROUNDS[0]} to {ROUNDS[-1]} rounds, one to test. BoostedTreesRanker with its defaults "
        "and what is named (extra_trees is one); YetiRank with depth 4 and rate .1. Means over "
        "the sets with 95 % intervals, paired by query. Any round: the mean over 20 to 150 "
        "rounds, with ours of rate .05 over twice as many."
    )
    machine = describe_machine("xgboost", "xgboost-cpu", "lightgbm", "catboost")
    Report("query_growth", settings, machine, tables).publish(options.json)


if __name__ == "__main__":
    main()
