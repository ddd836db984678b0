"""The package shap gives the numbers of `contributions`, by the recipes of "Explaining a row"."""

import importlib
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_rank import (
    BoostedTreesRanker,
    KernelPairwiseSGDRanker,
    ListNetLinear,
    PNormPushRanker,
    RankBoost,
)
from sklearn_rank.models import Stumps

pytestmark = [
    pytest.mark.slow,  # shap compiles itself at the first call
    pytest.mark.filterwarnings("ignore"),  # of shap and of what it imports
]
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    shap = pytest.importorskip("shap")

random = np.random.default_rng(0)
X = random.normal(size=(40, 3)).round(1)
Y = X @ [1.0, -1.0, 0.5] + random.normal(size=40) > 0
ADDITIVE = {
    "stumps": RankBoost(n_estimators=10),
    "features": PNormPushRanker(n_estimators=10, weak_ranker="feature"),
    "table": PNormPushRanker(n_estimators=10, weak_ranker=Stumps(max_thresholds=5)),
    "lists": ListNetLinear(relevance="binary"),
    "kernel": KernelPairwiseSGDRanker(kernel="linear"),
}


@pytest.mark.parametrize("name", ADDITIVE)
def test_contributions_are_exact_shapley_values_over_the_training_rows(name):
    ranker = ADDITIVE[name].fit(X, Y)
    background = shap.maskers.Independent(X, max_samples=len(X))
    found = shap.explainers.Exact(ranker.decision_function, background)(X[:3])
    parts = ranker.contributions(X[:3])
    assert_allclose(found.values, parts[:, :-1], atol=1e-10)
    assert_allclose(found.base_values, parts[:, -1], atol=1e-10)


@pytest.mark.parametrize("engine", ["xgboost", "lightgbm"])
def test_the_explainer_of_trees_gives_the_contributions(engine):
    ranker = BoostedTreesRanker(engine=engine, n_estimators=5, min_child_weight=0.0).fit(X, Y)
    found = shap.TreeExplainer(ranker.booster_)(X)
    parts = ranker.contributions(X)
    assert_allclose(found.values, parts[:, :-1], atol=1e-6)
    assert_allclose(found.base_values + ranker.offset_, parts[:, -1], atol=1e-6)


def test_the_explainer_of_any_ranker():
    ranker = KernelPairwiseSGDRanker(max_iter=20).fit(X, Y)
    found = shap.Explainer(ranker.decision_function, shap.maskers.Independent(X))(X[:3])
    total = found.values.sum(axis=1) + found.base_values
    assert_allclose(total, ranker.decision_function(X[:3]), atol=1e-10)


def test_contributions_as_an_explanation():
    parts = ADDITIVE["stumps"].fit(X, Y).contributions(X)
    found = shap.Explanation(parts[:, :-1], base_values=parts[:, -1], data=X)
    assert found.shape == X.shape
    pyplot = importlib.import_module("matplotlib.pyplot")
    shap.plots.waterfall(found[0], show=False)
    pyplot.close("all")
