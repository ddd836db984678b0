"""Stored models: stamps and warnings, copies without any."""

import copy
import io
import pickle
from importlib.util import find_spec

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from boosters import rules_of
from rankers import RANKERS, cheap
from sklearn.base import clone
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.linear_model import LinearRegression

import sklearn_rank
from sklearn_rank import (
    BoostedTreesRanker,
    KernelPairwiseSGDRanker,
    ListNetLinear,
    PNormPushRanker,
    RankBoost,
    SmoothMarginRanker,
)
from sklearn_rank._core import callbacks
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._pair_sums.margin_losses import MARGIN_LOSSES
from sklearn_rank.metrics import ranking_scorer
from sklearn_rank.models import WEAK_RANKERS, Stumps
from sklearn_rank.objectives import SmoothedDcg
from sklearn_rank.preprocessing import QueryMinMaxScaler
from sklearn_rank.scorecard import Scorecard
from sklearn_rank.solvers import Corrective

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
RANDOM = np.random.RandomState(0)
ROWS = pd.DataFrame(RANDOM.normal(size=(30, 3)).round(2), columns=list("abc"))
ROWS["grade"] = np.digitize(ROWS["a"] - ROWS["b"] + RANDOM.normal(size=30), [-0.5, 0.8])
ROWS["upper"] = np.where(ROWS["grade"] > 0, "y", "n")
ROWS["query"] = np.arange(30) // 5
X, QUERY = ROWS[["a", "b", "c"]].to_numpy(), ROWS["query"].to_numpy()


def scores(ranker, rows):
    graded = ranker.relevance == "graded"
    return ranker.predict(rows) if graded else ranker.decision_function(rows)


def fit(ranker, rows):
    graded = ranker.relevance == "graded"
    y = ROWS["grade"] if graded else ROWS["upper"] == "y"
    return ranker.fit(rows, y.to_numpy(), qid=QUERY if graded else None)


# Stamps ----------------------------------------------------------------------------------


@pytest.fixture(params=[*RANKERS, QueryMinMaxScaler], ids=lambda one: one.__name__)
def fitted(request):
    """One of every estimator."""
    if request.param is QueryMinMaxScaler:
        return QueryMinMaxScaler().fit(X)
    ranker = request.param(relevance="graded", **cheap(request.param, 3))
    return fit(ranker, X)


def results(estimator):
    names = ("transform", "predict", "contributions")
    methods = [getattr(estimator, name) for name in names if hasattr(estimator, name)]
    return np.column_stack([method(X) for method in methods])


def through_joblib(estimator):
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    return joblib.load(file)


def through_skops(estimator):
    data = skops.io.dumps(estimator)
    return skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))


COPIES = {
    "pickle": lambda one: pickle.loads(pickle.dumps(one)),
    "joblib": through_joblib,
    "skops": through_skops,
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


@pytest.mark.parametrize("kind", COPIES)
def test_copies_within_a_version_are_silent_and_equal(fitted, kind):
    found = COPIES[kind](fitted)
    np.testing.assert_array_equal(results(found), results(fitted))
    # Of what a split learned from only the ranker in memory knows.
    assert vars(found).keys() == vars(fitted).keys() - {callbacks.TRACE}
    assert not [name for name in vars(found) if "version" in name]


def test_clones_are_silent(fitted):
    assert vars(clone(fitted)) == fitted.get_params()
    assert vars(copy.deepcopy(clone(fitted))) == fitted.get_params()


@pytest.mark.parametrize("kind", ["pickle", "joblib", "skops"])
def test_a_file_of_another_version_warns(fitted, kind, monkeypatch):
    def stored_by_another(one):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(callbacks, "__version__", "9.9.9")
            return one.__getstate__()

    class Stored(type(fitted)):
        def __getstate__(self):
            return stored_by_another(super())

    Stored.__name__ = Stored.__qualname__ = "Stored"
    Stored.__module__ = __name__
    monkeypatch.setitem(globals(), "Stored", Stored)
    other = Stored(**fitted.get_params())
    vars(other).update(vars(fitted))
    with pytest.warns(
        InconsistentVersionWarning, match=r"Stored was stored by sklearn_rank 9\.9"
    ) as w:
        found = COPIES[kind](other)
    warning = w[0].message
    assert warning.estimator_name == "Stored"
    assert warning.original_sklearn_version == "9.9.9"
    assert warning.current_sklearn_version == sklearn_rank.__version__
    np.testing.assert_array_equal(results(found), results(fitted))


FEW = {"n_estimators": 3, "random_state": 0}
CODES = X.copy()
CODES[:, 2] = np.arange(len(X)) % 4
STORED = {
    "stumps": RankBoost(**FEW),
    "features": RankBoost(**FEW, weak_ranker="feature"),
    "estimators": RankBoost(**FEW, weak_ranker=LinearRegression()),
    "table": PNormPushRanker(**FEW, categorical_features=[2], weak_ranker=Stumps(max_thresholds=4)),
    "bags": RankBoost(**FEW, n_bags=2),
    "swaps": PNormPushRanker(**FEW, solver=Corrective()),
    "scorer": RankBoost(**FEW, scoring=ranking_scorer("ndcg@5")),
    "margin": SmoothMarginRanker(**FEW),
    "own weak ranker": RankBoost(**FEW, weak_ranker=WEAK_RANKERS["stump"]),
    "kernel": KernelPairwiseSGDRanker(max_iter=3),
    "linear kernel": KernelPairwiseSGDRanker(kernel="linear", loss=MARGIN_LOSSES["logistic"]),
    "lists": ListNetLinear(relevance="binary", loss=SmoothedDcg(sigma=2.0), max_iter=3),
    "scorecard": Scorecard(RankBoost(**FEW, categorical_features=[2]), cv=2),
    **{
        f"trees {engine}": BoostedTreesRanker(**FEW, engine=engine, categorical_features=[2])
        for engine in ("xgboost", "lightgbm")
        if find_spec(engine)
    },
}


@pytest.mark.parametrize("name", STORED)
def test_skops_files_load_with_the_types_of_this_package(name):
    ranker = clone(STORED[name]).fit(CODES, ROWS["upper"] == "y")
    data = skops.io.dumps(ranker)
    types = skops.io.get_untrusted_types(data=data)
    # Which the page "To production" tells to trust.
    trusted = [one for one in types if one.startswith("sklearn_rank.")]
    again = skops.io.loads(data, trusted=trusted)
    np.testing.assert_array_equal(again.decision_function(CODES), ranker.decision_function(CODES))


# Rules -----------------------------------------------------------------------------------

POOL = ThreadPool(1)


def random_stumps(n_rules, n_features, seed=0):
    random = np.random.default_rng(seed)
    grid = np.sort(random.normal(size=(n_features, 9)), axis=1)
    feature = random.integers(0, n_features, n_rules)
    threshold = grid[feature, random.integers(0, 9, n_rules)]
    return rules_of(feature, threshold, random.random(n_rules) < 0.4), grid


@pytest.mark.parametrize(("n_rules", "n_features"), [(0, 3), (1, 1), (40, 6), (300, 100)])
@pytest.mark.parametrize("n_rows", [1, 7, 3000, 9000])
def test_a_score_is_the_same_sum_however_many_rows(n_rules, n_features, n_rows):
    """Against the definition; and to the last bit against the same rows one by one."""
    rules, grid = random_stumps(n_rules, n_features)
    random = np.random.default_rng(1)
    rows = grid.T[random.integers(0, 9, (n_rows, n_features)), np.arange(n_features)]
    rows[random.random(rows.shape) < 0.2] = np.nan
    weights = random.normal(size=n_rules)
    h = [rules.values(rows, number) for number in range(n_rules)]
    expected = np.sum([w * one for w, one in zip(weights, h, strict=True)], axis=0)
    found = rules.scores(rows, weights, POOL)
    np.testing.assert_allclose(found, expected * np.ones(n_rows), rtol=1e-12, atol=1e-12)
    for row in range(0, n_rows, 1 + n_rows // 20):
        assert rules.scores(rows[row : row + 1], weights, POOL)[0] == found[row]


@pytest.mark.parametrize("special_values", [None, {1: [0.0]}, {0: [1.0], 1: [0.0, 2.0]}])
def test_a_score_of_a_table_is_the_same_sum_however_many_rows(special_values):
    random = np.random.default_rng(0)
    rows = random.integers(0, 5, (80, 4)).astype(float)
    rows[random.random(rows.shape) < 0.2] = np.nan
    y = np.nan_to_num(rows).sum(axis=1) + random.normal(size=80) > 8
    options = {"weak_ranker": Stumps(special_values=special_values), "categorical_features": [2]}
    ranker = PNormPushRanker(n_estimators=40, monotonic_cst=[1, 0, 0, 0], **options).fit(rows, y)
    rules, weights = ranker.weak_rankers_, ranker.estimator_weights_
    h = [rules.values(rows, number) for number in range(len(weights))]
    expected = rules.scores(np.tile(rows, (60, 1)), weights)[:80]
    np.testing.assert_allclose(expected, weights @ h, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(rules.scores(rows[:30], weights), expected[:30])
    for row in range(80):
        assert rules.scores(rows[row : row + 1], weights)[0] == expected[row]
    np.testing.assert_array_equal(rules.scores(rows[:0], weights), [])
