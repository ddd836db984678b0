"""scikit-learn's own checks, with no expected failure."""

from itertools import product

import numpy as np
import pytest
from rankers import BOOSTERS
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_rank import ListNetLinear, PNormPushRanker, RankBoost
from sklearn_rank.preprocessing import QueryMinMaxScaler

RELEVANCES = ["binary", "graded"]

EVERY_RANKER = [
    ranker(relevance=relevance, weak_ranker=weak_ranker)
    for ranker, relevance, weak_ranker in product(BOOSTERS, RELEVANCES, ["stump", "feature"])
]
SPECIAL = [
    PNormPushRanker(solver="lbfgs", alpha=0.1, n_estimators=20),
    PNormPushRanker(solver="lbfgs", alpha=0.1, weak_ranker="feature", relevance="graded"),
    PNormPushRanker(solver="lbfgs", alpha=0.1, weak_ranker="feature", p=np.inf, n_estimators=5),
    *(PNormPushRanker(push=push, n_estimators=20) for push in ("bottom", "both", "ir")),
    RankBoost(selection="optimal", n_estimators=20),
    RankBoost(weak_ranker=DecisionTreeRegressor(max_depth=2, random_state=0), n_estimators=5),
]
LINEAR = [
    *(ListNetLinear(relevance=r, penalty=p) for r, p in product(RELEVANCES, ["l1", "l2"])),
    *(ListNetLinear(penalty=p, max_norm=1.0, relevance="binary") for p in ["l1", "l2", None]),
    ListNetLinear(loss="smoothed_dcg", alpha=0.1),
    *(ListNetLinear(solver="ogd", eta0=0.1, max_iter=20, relevance=r) for r in RELEVANCES),
    ListNetLinear(solver="ogd", max_norm=3.0, max_iter=20),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([*EVERY_RANKER, *SPECIAL, *LINEAR, QueryMinMaxScaler()])
def test_scikit_learn_check(estimator, check):
    check(estimator)
