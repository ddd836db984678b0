"""Boosted trees that `bench_trees.py` compares, all with the same parameters.

Both libraries get the parameters of `BoostedTreesRanker`, so that only the objective differs. The
rankers of the libraries keep what else they have by default. Packages are imported when a model is
built.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from _systems import System, build, by_group_sizes, by_qid, by_qid_alike

ENGINE_TITLES = {"xgboost": "XGBoost", "lightgbm": "LightGBM"}

POWERS = (1, 2, 4, 8)
"""Values of p that are compared, and chosen from."""

RATES = (0.03, 0.1, 0.3)


@dataclass(frozen=True)
class Grid:
    """Parameters to search: each fit is judged after several numbers of rounds."""

    rates: Sequence[float]
    depths: Sequence[int]
    rounds: Sequence[int]

    def settings(self) -> list[dict[str, Any]]:
        """Return what is fitted, the shallow and the slow first."""
        return [
            {"learning_rate": rate, "max_depth": depth, "n_estimators": max(self.rounds)}
            for depth in self.depths
            for rate in self.rates
        ]

    @property
    def words(self) -> str:
        """Describe the candidates."""
        values = (self.rates, self.depths, self.rounds)
        rates, depths, rounds = (" ".join(f"{value:g}" for value in row) for row in values)
        return f"learning rates {rates}, depths {depths}, numbers of rounds {rounds}"


LIST_GRID = Grid(RATES, (2, 4, 6), (10, 20, 30, 50, 100, 200, 300, 500))
QUERY_GRID = Grid(RATES, (1, 2, 4, 6), (10, 30, 100, 300))
QUICK_GRID = Grid((0.1,), (2, 4), (30, 100))


SHARED = {"min_child_weight": 1.0, "reg_lambda": 1.0}
"""What the leaves of all are limited by."""


# --- models --------------------------------------------------------------------------------------


def ours(n_threads: int, *, engine: str, loss: str, p: int = 1, **parameters: Any) -> Any:
    from sklearn_rank import BoostedTreesRanker

    # As deep trees as those of the others, whose leaves are not limited by other means.
    least = 1 if engine == "lightgbm" else None
    limits = {"max_leaf_nodes": None, "min_samples_leaf": least}
    limits |= {"subsample": 1.0, "colsample": 1.0, **SHARED, **parameters}
    return BoostedTreesRanker(engine=engine, loss=loss, p=p, n_jobs=n_threads, **limits)


def log_loss(n_threads: int, *, engine: str, **parameters: Any) -> Any:
    """Return the engine's own classifier with the parameters of `BoostedTreesRanker`."""
    shared = {"max_bin": 255, "n_jobs": n_threads, **SHARED}
    if engine == "xgboost":
        from xgboost import XGBClassifier

        return XGBClassifier(tree_method="hist", **shared, **parameters)
    from lightgbm import LGBMClassifier

    leaves = {"num_leaves": 2 ** parameters["max_depth"], "min_child_samples": 0}
    return LGBMClassifier(verbosity=-1, **leaves, **shared, **parameters)


XGBOOST = {"tree_method": "hist", "random_state": 0}
xgboost_ranker = build("xgboost", "XGBRanker", "n_jobs", objective="rank:ndcg", **XGBOOST)
PAIRWISE = {"lambdarank_pair_method": "mean", "max_bin": 255, **SHARED, **XGBOOST}
xgboost_pairwise = build("xgboost", "XGBRanker", "n_jobs", objective="rank:pairwise", **PAIRWISE)


def lightgbm_ranker(n_threads: int, *, max_depth: int, **parameters: Any) -> Any:
    from lightgbm import LGBMRanker

    size = {"max_depth": max_depth, "num_leaves": 2**max_depth}
    fixed = {"objective": "lambdarank", "n_jobs": n_threads, "random_state": 0, "verbosity": -1}
    return LGBMRanker(**fixed, **size, **parameters)


def linear_push(X: Any, y: Any, p: int) -> Callable[[Any], Any]:
    """Fit a p-norm push with one coefficient for each feature; return its scores of rows."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler

    from sklearn_rank import PNormPushRanker

    whole_steps = {"learning_rate": 1, "n_estimators": 100}
    ranker = PNormPushRanker(p=p, weak_ranker="feature", **whole_steps)
    return make_pipeline(MinMaxScaler(), ranker).fit(X, y).decision_function


# --- on one list ---------------------------------------------------------------------------------

LOG_LOSS, LOGISTIC, EXPONENTIAL, LINEAR = "log-loss", "logistic", "exponential", "linear"
CHOSEN_P = "logistic, p chosen"


PUSH_POWERS = {LOGISTIC if p == 1 else f"{LOGISTIC} p={p}": p for p in POWERS}

LIST_SYSTEMS = (LOG_LOSS, *PUSH_POWERS, EXPONENTIAL)
"""What is searched with each engine, by name."""


def list_model(name: str, n_threads: int, engine: str, **parameters: Any) -> Any:
    """Return the model of a name of `LIST_SYSTEMS`."""
    if name == LOG_LOSS:
        return log_loss(n_threads, engine=engine, **parameters)
    if name == EXPONENTIAL:
        return ours(n_threads, engine=engine, loss=EXPONENTIAL, **parameters)
    return ours(n_threads, engine=engine, loss=LOGISTIC, p=PUSH_POWERS[name], **parameters)


# --- on queries ----------------------------------------------------------------------------------

QUERY_LOSSES = {
    "logistic": ("logistic", by_qid),
    "logistic, queries alike": ("logistic", by_qid_alike),
    "cross_entropy": ("cross_entropy", by_qid),
    "ndcg": ("ndcg", by_qid),
}
LAMBDARANK, RANK_NDCG = "LightGBM lambdarank", "XGBoost rank:ndcg"


def of_queries(
    build: Callable[..., Any], queries: Callable[[Any], dict[str, Any]], **more: Any
) -> System:
    """Return a ranker of queries with the grid that all have."""
    grid = {"max_depth": QUERY_GRID.depths, "learning_rate": QUERY_GRID.rates}
    return System(build, queries, grid, rounds=QUERY_GRID.rounds, **more)


SYSTEMS = {
    **{
        f"ours, {ENGINE_TITLES[engine]}, {name}": of_queries(
            partial(ours, engine=engine, loss=loss, relevance="graded"), queries
        )
        for engine in ENGINE_TITLES
        for name, (loss, queries) in QUERY_LOSSES.items()
    },
    LAMBDARANK: of_queries(lightgbm_ranker, by_group_sizes, module="lightgbm"),
    RANK_NDCG: of_queries(xgboost_ranker, by_qid, module="xgboost"),
}
