"""Boosting with every loss and push, against the stumps of XGBoost and LightGBM.

    python benchmarks/bench_boosting.py                  # 1e6 rows, half an hour
    python benchmarks/bench_boosting.py --quick
    python benchmarks/bench_boosting.py --only list --repeats 3

Each part has a process of its own, in which whole fits of 100 rounds take turns:

- ``list``: one list of two classes, against the log-loss of XGBoost and LightGBM and XGBoost's
  rank:pairwise, which is fitted once;
- ``queries``: queries of 100 rows with grades 0 to 3, against LightGBM's lambdarank, at a tenth of
  the rows and at all of them;
- ``few``, ``wide``: one list of a hundredth of the rows, and one of all rows with 100 features.

Ours have a learning rate of 1 and tol=0, so all rounds are run. The others have their own default
rates, so AUC and NDCG@10 on new rows say how far each got, not which method is better.
"""

import argparse
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from _data import draw_two_classes
from _harness import timed
from _lists_systems import BINS, ROUNDS, SYSTEMS
from _parts import TENTH, Lines, Medians, Part, ratio, run_parts, with_tenth
from _report import Verdict
from _systems import System, build, by_qid, no_queries, scores_of

TEST_ROWS, WARM_ROWS = 100_000, 1_000
FEATURES, MANY_FEATURES, QUERY, GRADES = 20, 100, 100, 4

LOGISTIC, LOGISTIC_4, HINGE = "logistic, p=1", "logistic, p=4", "hinge, p=1"
PLAIN, TOP, STEEP = "exponential, p=1", "exponential, p=4", "exponential, p=64"
IR, BOTH = "exponential, IR push", "exponential, p=4, both ends"
SQUARED_HINGE, SQUARES = "squared hinge, p=1", "least squares, p=1"
RANK_BOOST = "RankBoost"

ON_LIST: dict[str, dict[str, Any]] = {
    LOGISTIC: {"loss": "logistic", "p": 1},
    LOGISTIC_4: {"loss": "logistic", "p": 4},
    SQUARED_HINGE: {"loss": "squared_hinge", "p": 1},
    HINGE: {"loss": "hinge", "p": 1},
    SQUARES: {"loss": "least_squares", "p": 1},
    PLAIN: {"p": 1},
    TOP: {"p": 4},
    STEEP: {"p": 64},
    IR: {"push": "ir"},
    BOTH: {"push": "both", "p": 4},
}
"""Parameters of `PNormPushRanker`, by the name of the line."""

BINARY, THEIRS = "XGBoost binary:logistic", "LightGBM binary"
PAIRWISE, LAMBDARANK = "XGBoost rank:pairwise", "LightGBM lambdarank"
LOG_LOSSES = {BINARY: SYSTEMS["xgboost"], THEIRS: SYSTEMS["lightgbm"]}

LIST_TARGETS = (
    *((LOGISTIC, BINARY, 1.2), (LOGISTIC_4, BINARY, 2.5), (HINGE, BINARY, 1.5)),
    *((SQUARED_HINGE, BINARY, 1.5), (SQUARES, BINARY, 0.6), (LOGISTIC, PAIRWISE, 0.15)),
    *((STEEP, PLAIN, 1.05), (IR, TOP, 1.8), (BOTH, TOP, 1.8)),
)
QUERY_TARGETS = ((LOGISTIC, 0.8), (LOGISTIC_4, 1.2), (RANK_BOOST, 0.2))
"""Most times what another one takes: of queries, LightGBM's lambdarank."""

GROWTH_LIMIT = 10.5
"""Most times that queries take longer with all rows than with a tenth of them."""

Rows = tuple[Any, Any, Any]
"""Features, labels and query ids, the rows of a query together."""


def ours(names: Mapping[str, Mapping[str, Any]], **more: Any) -> dict[str, System]:
    """Return our boosters by name: those of the parameters, and `RankBoost`."""
    fixed = {"max_bins": BINS, "tol": 0, "learning_rate": 1, **more}
    builds = {
        name: build("sklearn_rank", "PNormPushRanker", "n_jobs", **fixed, **parameters)
        for name, parameters in names.items()
    }
    builds[RANK_BOOST] = build("sklearn_rank", RANK_BOOST, "n_jobs", **fixed)
    queries = by_qid if more else no_queries
    return {name: System(of, queries) for name, of in builds.items()}


def fit_in_turns(
    systems: Mapping[str, System],
    rows: Rows,
    test: Rows,
    repeats: int,
    threads: int,
    rounds: int = ROUNDS,
) -> Lines:
    """Time whole fits in turns, after one of each to few rows; also judge the first model.

    XGBoost's rank:pairwise is slow, and fitted once.
    """
    from sklearn_rank.metrics import auc_score, ndcg_score

    def fit(system: System, n_rows: int) -> tuple[Any, float]:
        model = system.build(threads).set_params(n_estimators=rounds)
        X, y, qid = (one[:n_rows] for one in rows)
        queries = system.queries(qid)
        return model, timed(lambda: model.fit(X, y, **queries))

    n_rows, lines, quality = len(rows[1]), {}, {}
    for system in systems.values():
        fit(system, WARM_ROWS)
    for turn in range(repeats):
        for name, system in systems.items():
            if turn and name.endswith("rank:pairwise"):
                continue
            model, seconds = fit(system, n_rows)
            if turn == 0:
                scores = scores_of(model, test[0])
                if test[1].max() > 1:
                    found = {"test NDCG@10": ndcg_score(test[1], scores, k=10, qid=test[2])}
                else:
                    found = {"test AUC": auc_score(test[1], scores)}
                quality[name] = {metric: float(value) for metric, value in found.items()}
            record = {"rows": n_rows, "s": seconds, **quality[name]}
            lines.setdefault(name, []).append(record)
    return lines


def in_one_list(X: Any, y: Any) -> Rows:
    """Return rows with the id of their only query."""
    return X, y, y * 0


def run_list(share: int, n_features: int, options: argparse.Namespace) -> Lines:
    """Time fits on one list; beside all losses only with the usual number of rows and features."""
    is_main = share == 1 and n_features == FEATURES
    names = ON_LIST if is_main else {name: ON_LIST[name] for name in (PLAIN, TOP)}
    systems = ours(names) | LOG_LOSSES
    if is_main:
        systems[PAIRWISE] = SYSTEMS["xgboost_mean"]
    rows, test = (
        in_one_list(*draw_two_classes(n_rows, n_features=n_features, seed=seed))
        for seed, n_rows in ((1, options.rows // share), (0, TEST_ROWS))
    )
    return fit_in_turns(systems, rows, test, options.repeats, options.threads)


def run_queries(options: argparse.Namespace) -> Lines:
    """Time fits on queries, at a tenth of the rows and at all of them."""
    from sklearn_rank.datasets import make_queries

    every, test = (
        make_queries(n_rows // QUERY, QUERY, FEATURES, GRADES, random_state=seed)
        for seed, n_rows in ((1, options.rows), (0, TEST_ROWS))
    )
    names = {name: ON_LIST[name] for name in (LOGISTIC, LOGISTIC_4, TOP, IR)}
    systems = ours(names, relevance="graded") | {LAMBDARANK: SYSTEMS["lambdarank"]}

    def run(n_rows: int) -> Lines:
        rows = every.data[:n_rows], every.target[:n_rows], every.qid[:n_rows]
        new = test.data, test.target, test.qid
        return fit_in_turns(systems, rows, new, options.repeats, options.threads)

    return with_tenth(run, options.rows)


def judge_list(limit: float, about: str, found: Medians) -> Iterator[Verdict]:
    """Yield the targets on one list: the exponential loss beside the faster log-loss."""
    faster = min(LOG_LOSSES, key=lambda name: found[name]["s"])
    for name in (RANK_BOOST, TOP):
        yield ratio(found, name, faster, limit, about)
    for name, other, most in LIST_TARGETS:
        if name in found and other in found:
            yield ratio(found, name, other, most, about)


def judge_queries(found: Medians) -> Iterator[Verdict]:
    """Yield the targets on queries."""
    for name, limit in QUERY_TARGETS:
        yield ratio(found, name, LAMBDARANK, limit, ", queries")
    for name in found:
        if name + TENTH in found and name != LAMBDARANK:
            yield ratio(found, name, name + TENTH, GROWTH_LIMIT)


PARTS = {
    "list": Part(
        f"One list, {FEATURES} features, {ROUNDS} rounds of stumps",
        partial(run_list, 1, FEATURES),
        BINARY,
        partial(judge_list, 0.3, ""),
    ),
    "queries": Part(
        f"Queries of {QUERY} rows, {FEATURES} features, grades 0 to {GRADES - 1}",
        run_queries,
        LAMBDARANK,
        judge_queries,
    ),
    "few": Part(
        "A hundredth of the rows",
        partial(run_list, 100, FEATURES),
        BINARY,
        partial(judge_list, 0.7, ", few rows"),
    ),
    "wide": Part(
        f"{MANY_FEATURES} features",
        partial(run_list, 1, MANY_FEATURES),
        BINARY,
        partial(judge_list, 0.3, f", {MANY_FEATURES} features"),
    ),
}

if __name__ == "__main__":
    packages = ("xgboost", "xgboost-cpu", "lightgbm")
    run_parts(__file__, __doc__, PARTS, rows=1_000_000, repeats=5, packages=packages)
