"""The rankers that `peers.py` compares on query data, and what is searched for each.

Every system has twelve configurations. One that goes round by round is fitted in four settings and
judged after three numbers of rounds, which is what twelve fits would give. The values are the usual
ones of each library, from few and shallow trees to its defaults, and strengths of a ridge over
five and a half powers of ten; they were written down before any test query was scored with them.
"""

from collections.abc import Callable
from typing import Any

from _systems import System, build, by_group_id, by_group_sizes, by_qid, by_qid_alike

ROUNDS = (30, 100, 300)
ROUNDS_OF_TREES = (10, 30, 100)
DEPTHS, LEAVES = [1, 2, 4, 6], [2, 4, 16, 31]
STEPS = {"learning_rate": [0.1, 1.0]}
BINS = {**STEPS, "max_bins": [16, 64]}


def powers(highest: float) -> list[float]:
    """Return twelve strengths of a ridge, half a power of ten apart, the strongest first."""
    return [10.0 ** (highest - k / 2) for k in range(12)]


def of_trees(n_threads: int, max_depth: int, **given: Any) -> Any:
    """Return RankBoost of scikit-learn's trees."""
    from sklearn.tree import DecisionTreeRegressor

    from sklearn_rank import RankBoost

    tree = DecisionTreeRegressor(max_depth=max_depth)
    options = {"weak_ranker": tree, "random_state": 0, "relevance": "graded", **given}
    return RankBoost(n_jobs=n_threads, **options)


def of_splines(n_threads: int, n_knots: int, **given: Any) -> Any:
    """Return ListNet of functions that are straight between the knots."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import SplineTransformer

    from sklearn_rank import ListNetLinear

    splines = SplineTransformer(n_knots=n_knots, degree=1, sparse_output=True)
    return make_pipeline(splines, ListNetLinear(max_iter=5000, n_jobs=n_threads, **given))


def ours(name: str | Callable[..., Any], grid: dict[str, Any], **more: Any) -> System:
    """Return one of our rankers."""
    fixed = more.pop("fixed", {})
    of = build("sklearn_rank", name, "n_jobs", **fixed) if isinstance(name, str) else name
    return System(of, grid=grid, **{"queries": by_qid, **more})


def boosted(name: str | Callable[..., Any], grid: dict[str, Any], **more: Any) -> System:
    """Return one of our boosters."""
    fixed = {"relevance": "graded", "learning_rate": 1.0}
    return ours(name, grid, fixed=fixed, **{"rounds": ROUNDS, **more})


def xgboost(name: str, grid: dict[str, Any], **more: Any) -> System:
    """Return an estimator of XGBoost."""
    of = build("xgboost", name, "n_jobs", learning_rate=0.1, random_state=0)
    return System(of, grid={**grid, "max_depth": DEPTHS}, module="xgboost", rounds=ROUNDS, **more)


def lightgbm(name: str, **more: Any) -> System:
    """Return an estimator of LightGBM."""
    of = build("lightgbm", name, "n_jobs", random_state=0, verbose=-1)
    return System(of, grid={"num_leaves": LEAVES}, module="lightgbm", rounds=ROUNDS, **more)


LIST_NET = {"max_iter": 5000}
PAIRWISE = {"relevance": "graded", "kernel": "linear", "solver": "lbfgs"}
YETI_RANK = {"loss_function": "YetiRank", "learning_rate": 0.1, "random_seed": 0}
YETI_RANK |= {"verbose": False, "allow_writing_files": False}
HISTOGRAMS = {"early_stopping": False, "random_state": 0}

SYSTEMS: dict[str, System] = {
    "RankBoost": boosted("RankBoost", BINS),
    "RankBoost, queries alike": boosted("RankBoost", BINS, queries=by_qid_alike),
    "RankBoost of trees, queries alike": boosted(
        of_trees, {**STEPS, "max_depth": [2, 4]}, queries=by_qid_alike, rounds=ROUNDS_OF_TREES
    ),
    "PNormPushRanker": boosted("PNormPushRanker", {"p": [2, 4], **STEPS}),
    'PNormPushRanker, push="ir"': boosted("PNormPushRanker", {"push": ["ir"], **BINS}),
    "ListNetLinear": ours("ListNetLinear", {"alpha": powers(0.5)}, fixed=LIST_NET),
    "ListNetLinear, smoothed DCG": ours(
        "ListNetLinear",
        {"loss": ["smoothed_dcg"], "sigma": [1.0, 0.3], "alpha": [10.0**-k for k in range(6)]},
        fixed=LIST_NET,
    ),
    "ListNetLinear of splines": ours(
        of_splines,
        {"n_knots": [3, 5, 9], "alpha": [10.0**-k for k in range(4)]},
        queries=lambda qid: {"listnetlinear__qid": qid},
    ),
    **{
        f"KernelPairwiseSGDRanker, linear, {loss}{words}": ours(
            "KernelPairwiseSGDRanker",
            {"loss": [loss], "alpha": powers(2.5)},
            fixed=PAIRWISE,
            queries=queries,
        )
        for words, queries in (("", by_qid), (", queries alike", by_qid_alike))
        for loss in ("logistic", "hinge", "squared_hinge")
    },
    **{
        f"XGBRanker {objective}, {method}": xgboost(
            "XGBRanker",
            {"objective": [objective], "lambdarank_pair_method": [method]},
            queries=by_qid,
        )
        for objective, method in (
            ("rank:pairwise", "mean"),
            ("rank:pairwise", "topk"),
            ("rank:ndcg", "topk"),
        )
    },
    "LGBMRanker lambdarank": lightgbm("LGBMRanker", queries=by_group_sizes),
    "CatBoostRanker YetiRank": System(
        build("catboost", "CatBoostRanker", "thread_count", **YETI_RANK),
        by_group_id,
        {"depth": DEPTHS},
        module="catboost",
        rounds=ROUNDS,
        rounds_name="iterations",
    ),
    "XGBClassifier": xgboost("XGBClassifier", {}, binary_labels=True),
    "LGBMClassifier": lightgbm("LGBMClassifier", binary_labels=True),
    "HistGradientBoostingClassifier": System(
        build("sklearn.ensemble", "HistGradientBoostingClassifier", None, **HISTOGRAMS),
        grid={"max_leaf_nodes": LEAVES},
        module="sklearn",
        binary_labels=True,
        rounds=ROUNDS,
        rounds_name="max_iter",
    ),
    "LogisticRegression": System(
        build("sklearn.linear_model", "LogisticRegression", None, max_iter=5000),
        grid={"C": [1.0 / ridge for ridge in powers(4.0)]},
        module="sklearn",
        binary_labels=True,
    ),
}
