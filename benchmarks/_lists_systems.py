"""Who ranks one list of two classes: our rankers and what a user would pick instead.

Boosting takes the same rounds, bins and threads everywhere, and each library's own learning rate
unless one is given. Linear and kernel models standardise the features first, inside their fit.
"""

from functools import partial
from typing import Any

from _systems import (
    System,
    by_group_id,
    by_group_sizes,
    by_qid,
    decision,
    lightgbm_raw,
    prediction,
    xgboost_margin,
)

ROUNDS = 100
BINS = 64

RATES = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
"""Learning rates to search: ours takes none above 1, nor does XGBoost."""

BIN_COUNTS = (32, 64, 255)
"""Numbers of bins to search; 255 is the most that scikit-learn takes."""

GRID = {"learning_rate": RATES, "bins": BIN_COUNTS}


def _given(**parameters: Any) -> dict[str, Any]:
    """Return the parameters that are not None: the others keep the library's own value."""
    return {name: value for name, value in parameters.items() if value is not None}


# --- ours ----------------------------------------------------------------------------------------


def _boosted(name, n_threads, *, bins=BINS, learning_rate=1.0, **parameters):
    import sklearn_rank

    options = {"max_bins": bins, "n_jobs": n_threads, "tol": 0, "learning_rate": learning_rate}
    return getattr(sklearn_rank, name)(n_estimators=ROUNDS, **options, **parameters)


def _standardised(model):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), model)


def _kernel(kernel, n_threads):
    from sklearn_rank import KernelPairwiseSGDRanker

    del n_threads  # the BLAS takes its own from the environment
    return _standardised(KernelPairwiseSGDRanker(kernel=kernel, solver="lbfgs"))


def _list_net(n_threads):
    from sklearn_rank import ListNetLinear

    del n_threads
    return _standardised(ListNetLinear(relevance="binary"))


# --- peers ---------------------------------------------------------------------------------------


def _xgboost(name, n_threads, *, bins=BINS, learning_rate=None, **parameters):
    import xgboost

    return getattr(xgboost, name)(
        n_estimators=ROUNDS,
        tree_method="hist",
        max_depth=1,
        max_bin=bins,
        n_jobs=n_threads,
        **_given(learning_rate=learning_rate),
        **parameters,
    )


def _lightgbm(name, n_threads, *, bins=BINS, learning_rate=None):
    import lightgbm

    return getattr(lightgbm, name)(
        n_estimators=ROUNDS,
        num_leaves=2,
        max_depth=1,
        max_bin=bins - 1,  # LightGBM keeps one more bin for missing values
        n_jobs=n_threads,
        verbosity=-1,
        **_given(learning_rate=learning_rate),
    )


def _catboost(n_threads):
    from catboost import CatBoostRanker

    return CatBoostRanker(
        loss_function="YetiRank",
        iterations=ROUNDS,
        depth=1,
        border_count=BINS - 1,  # borders, not bins
        thread_count=n_threads,
        verbose=0,
        allow_writing_files=False,
    )


def _hist_gradient_boosting(n_threads, *, bins=BINS, learning_rate=None):
    from sklearn.ensemble import HistGradientBoostingClassifier

    del n_threads  # OMP_NUM_THREADS
    return HistGradientBoostingClassifier(
        max_iter=ROUNDS,
        max_depth=1,
        max_bins=bins,
        early_stopping=False,
        **_given(learning_rate=learning_rate),
    )


def _ada_boost(n_threads):
    from sklearn.ensemble import AdaBoostClassifier

    del n_threads  # it has none
    return AdaBoostClassifier(n_estimators=ROUNDS)


def _logistic_regression(n_threads):
    from sklearn.linear_model import LogisticRegression

    del n_threads
    return _standardised(LogisticRegression())


def _survival_svm(n_threads):
    """Return scikit-survival's ranking SVM for labels 0 and 1.

    Positives get the longer time, and its coefficients, unlike its `predict`, grow with time.
    """
    import numpy as np
    from sksurv.svm import FastSurvivalSVM
    from sksurv.util import Surv

    class OfLabels(FastSurvivalSVM):
        def fit(self, X, y):
            return super().fit(X, Surv.from_arrays(np.ones(len(y), dtype=bool), 1.0 + y))

        def decision_function(self, X):
            return X @ self.coef_

    del n_threads
    return _standardised(OfLabels(rank_ratio=1.0, random_state=0))


# --- the registries ------------------------------------------------------------------------------


def _ours(label, build, **rest):
    return System(label, "sklearn_rank", build, decision, ours=True, **rest)


def _xgboost_ranker(label, objective, pairs):
    build = partial(_xgboost, "XGBRanker", objective=objective, lambdarank_pair_method=pairs)
    return System(label, "xgboost", build, xgboost_margin, by_qid)


# Two variants of RankBoost were added after a first search had fallen short, on the strength of
# other data: selection="optimal", better on generated rows of other seeds, and the logistic loss
# (p = 1 of the push is RankBoost's problem), better on other halves of MAGIC.
SYSTEMS = {
    "rankboost": _ours("RankBoost", partial(_boosted, "RankBoost"), grid=GRID),
    "rankboost_optimal": _ours(
        "RankBoost optimal", partial(_boosted, "RankBoost", selection="optimal"), grid=GRID
    ),
    "rankboost_logistic": _ours(
        "PNormPushRanker p=1, logistic loss",
        partial(_boosted, "PNormPushRanker", p=1, loss="logistic"),
        grid=GRID,
    ),
    "pnorm4": _ours("PNormPushRanker p=4", partial(_boosted, "PNormPushRanker", p=4)),
    "pnorm64": _ours("PNormPushRanker p=64", partial(_boosted, "PNormPushRanker", p=64)),
    "smooth_margin": _ours("SmoothMarginRanker", partial(_boosted, "SmoothMarginRanker")),
    "linear": _ours("KernelPairwiseSGDRanker linear", partial(_kernel, "linear")),
    "rbf": _ours("KernelPairwiseSGDRanker rbf", partial(_kernel, "rbf")),
    "listnet": _ours("ListNetLinear", _list_net),
    "xgboost": System(
        "XGBoost binary", "xgboost", partial(_xgboost, "XGBClassifier"), xgboost_margin, grid=GRID
    ),
    "xgboost_mean": _xgboost_ranker("XGBoost rank:pairwise mean", "rank:pairwise", "mean"),
    "xgboost_topk": _xgboost_ranker("XGBoost rank:pairwise topk", "rank:pairwise", "topk"),
    "xgboost_ndcg": _xgboost_ranker("XGBoost rank:ndcg", "rank:ndcg", "topk"),
    "lightgbm": System(
        "LightGBM binary", "lightgbm", partial(_lightgbm, "LGBMClassifier"), lightgbm_raw, grid=GRID
    ),
    "lambdarank": System(
        "LightGBM lambdarank",
        "lightgbm",
        partial(_lightgbm, "LGBMRanker"),
        lightgbm_raw,
        by_group_sizes,
    ),
    "yetirank": System("CatBoost YetiRank", "catboost", _catboost, prediction, by_group_id),
    "hist_gb": System(
        "HistGradientBoosting", "sklearn", _hist_gradient_boosting, decision, grid=GRID
    ),
    "ada_boost": System("AdaBoost, stumps", "sklearn", _ada_boost, decision),
    "logistic": System("LogisticRegression", "sklearn", _logistic_regression, decision),
    "survival_svm": System("FastSurvivalSVM", "sksurv", _survival_svm, decision),
}
"""Of depth 1 where they boost."""

SEARCHED = tuple(name for name, system in SYSTEMS.items() if system.grid)
"""Those that the search compares."""


LARGEST = {"rbf": 10_000, "smooth_margin": 100_000}
"""Rows above which one of ours is left out."""
