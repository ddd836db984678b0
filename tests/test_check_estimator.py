"""scikit-learn's own checks, with no expected failure."""

from itertools import product

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import sklearn_rank
from sklearn_rank import PNormPushRanker, RankBoost

RANKERS = [getattr(sklearn_rank, name) for name in sklearn_rank.__all__]
RELEVANCES = ["binary", "graded"]

EVERY_RANKER = [
    ranker(relevance=relevance, weak_ranker=weak_ranker)
    for ranker, relevance, weak_ranker in product(RANKERS, RELEVANCES, ["stump", "feature"])
]
SPECIAL = [
    PNormPushRanker(solver="lbfgs", alpha=0.1, n_estimators=20),
    PNormPushRanker(solver="lbfgs", alpha=0.1, weak_ranker="feature", relevance="graded"),
    PNormPushRanker(solver="lbfgs", alpha=0.1, weak_ranker="feature", p=np.inf, n_estimators=5),
    *(PNormPushRanker(push=push, n_estimators=20) for push in ("bottom", "both", "ir")),
    RankBoost(selection="optimal", n_estimators=20),
    RankBoost(weak_ranker=DecisionTreeRegressor(max_depth=2, random_state=0), n_estimators=5),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([*EVERY_RANKER, *SPECIAL])
def test_scikit_learn_check(estimator, check):
    check(estimator)
