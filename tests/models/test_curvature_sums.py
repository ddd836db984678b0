"""Sums of the curvature that a search leaves out: the stumps are those of a search by all."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import definitions as oracles

from sklearn_rank import PNormPushRanker
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import RowGradient
from sklearn_rank.models import Stumps
from sklearn_rank.models.bin_sums import BinSums
from sklearn_rank.objectives import MARGIN_LOSSES

LIMIT = "sklearn_rank.models.curvature_sums._WORTHWHILE"
RATES = {
    "logistic": MARGIN_LOSSES["logistic"],
    "hinge": MARGIN_LOSSES["hinge"].with_curvature(),
    "squared_hinge": MARGIN_LOSSES["squared_hinge"],
    "least_squares": MARGIN_LOSSES["least_squares"],
}


@given(loss=st.sampled_from(sorted(RATES)), m=st.floats(-30, 30), step=st.floats(-3, 3))
def test_second_derivatives_change_by_no_more_than_their_rate(loss, m, step):
    before, after = (oracles.phi_second(loss, np.array([at]))[0] for at in (m, m + step))
    assert abs(np.log(after / before)) <= RATES[loss].second_rate * abs(step) + 1e-9


def draw(seed=0, n=1_500):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 7))
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) ** 2 + np.nan_to_num(X[:, 1]) + rng.standard_normal(n) > 1
    return X, y, rng.integers(1, 4, n).astype(float)


MODELS = {
    "stumps": Stumps(max_bins=30),
    "monotone": Stumps(max_bins=30, monotonic_cst={0: 1, 1: -1}),
    "two features": Stumps(max_bins=30, max_features_used=2),
    "five thresholds": Stumps(max_bins=30, max_thresholds=5),
    "a pair": Stumps(max_bins=30, max_pairs=1),
    "categories": Stumps(max_bins=30, categorical_features=[6]),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("loss", sorted(RATES))
def test_the_stumps_are_those_of_a_search_by_all_sums(loss, name):
    X, y, w = draw()
    if name == "categories":
        X[:, 6] = np.nan_to_num(np.clip(np.round(X[:, 6]), 0, 3))

    def fit(least):
        ranker = PNormPushRanker(
            loss=loss, p=1, weak_ranker=MODELS[name], n_estimators=40, learning_rate=0.7, tol=0
        )
        with patch(LIMIT, least):
            return ranker.fit(X, y, sample_weight=w)

    found, wanted = fit(0), fit(np.inf)
    np.testing.assert_array_equal(found.estimator_weights_, wanted.estimator_weights_)
    np.testing.assert_array_equal(found.decision_function(X), wanted.decision_function(X))


@pytest.mark.parametrize(("loss", "most"), [("logistic", 0.7), ("least_squares", 0.05)])
def test_most_sums_are_left_out(loss, most):
    X, y, _ = draw(n=4_000)
    X = np.hstack([X, np.random.default_rng(1).standard_normal((4_000, 23))])
    n_of = {"all": 0, "some": 0}
    sum_by_bin = BinSums.sum_by_bin

    def counted(self, gradient, matrices=None):
        n_of["all" if matrices is None else "some"] += (
            len(np.unique(self.matrix_of_feature)) if matrices is None else len(matrices)
        )
        return sum_by_bin(self, gradient, matrices)

    ranker = PNormPushRanker(loss=loss, p=1, n_estimators=50, tol=0)
    with patch(LIMIT, 0), patch.object(BinSums, "sum_by_bin", counted):
        ranker.fit(X, y)
    gradients = n_of["all"] * 50 / 52  # the first curvature and the weights take two of these
    assert n_of["some"] < most * gradients


def test_some_features_are_summed_as_all_are():
    """Those of a joint code together, the others not at all."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (7, 200))
    sums = BinSums(codes, 3, ThreadPool(1))
    matrix = sums.matrix_of_feature
    assert 1 < len(np.unique(matrix)) < 7
    gradient = RowGradient.signed(rng.normal(size=200))
    wanted = sums.sum_by_bin(gradient)
    for number in np.unique(matrix):
        found = sums.sum_by_bin(gradient, np.array([number]))
        own = matrix == number
        np.testing.assert_allclose(found[:, own], wanted[:, own], atol=1e-12)
