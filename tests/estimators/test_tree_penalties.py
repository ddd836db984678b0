"""The unit of the trees' penalties, and the loss and the penalties that "auto" is."""

import numpy as np
import pytest
from hypothesis import given
from oracles import definitions as oracles
from sklearn.base import clone
from strategies import problems
from test_engines import OBJECTIVES, expected, slow

from sklearn_rank import BoostedTreesRanker
from sklearn_rank._core.rows import Rows
from sklearn_rank.engines.posed_objective import PosedObjective
from sklearn_rank.estimators._tree_fit import units_of
from sklearn_rank.objectives import MARGIN_LOSSES, MarginLoss

LIBRARIES = ["xgboost", "lightgbm"]
every_library = pytest.mark.parametrize("engine", LIBRARIES)
every_engine = pytest.mark.parametrize("engine", [*LIBRARIES, "symmetric"])

RANDOM = np.random.default_rng(0)

OF_PAIRS = [name for name in OBJECTIVES if not name.startswith(("cross", "smoothed"))]
QUICK = ["exponential-3.5-bottom", "hinge-1-top", "logistic-3.5-both"]


def unit(rows, loss="logistic", p=1.0, push="top"):
    return PosedObjective.pose(loss, p, push, rows).unit(rows)


def rows_of(y, qid=None, w=None):
    weight = oracles.row_weights(y, w)
    codes = None if qid is None else np.unique(qid, return_inverse=True)[1]
    return Rows(None, np.asarray(y), codes, weight).take(np.flatnonzero(weight > 0))


# The unit --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name if name in QUICK else slow(name) for name in OF_PAIRS])
@given(problem=problems())
def test_the_unit_is_the_mean_over_pairs(name, problem):
    """Of the larger curvature per unit of weight of both rows, at equal scores."""
    _, y, qid, w, _ = problem
    objective = OBJECTIVES[name]
    curvature = expected(np.zeros(len(y)), y, qid, w, **objective)[1]
    weight = oracles.row_weights(y, w)
    per_weight = np.divide(curvature, weight, out=np.zeros(len(y)), where=weight > 0)
    wanted = oracles.mean_larger(per_weight, y, qid, w)
    assert unit(rows_of(y, qid, w), **objective) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("loss", ["cross_entropy", "smoothed_dcg"])
@given(problem=problems(queries=("integers",), weights=("none",)))
def test_the_unit_of_a_loss_of_lists(loss, problem):
    _, y, qid, _, _ = problem
    curvature = expected(np.zeros(len(y)), y, qid, None, loss=loss, p=1.0, push="top")[1]
    level = [
        curvature[(y == one) & (qid == query)].mean() for one, query in zip(y, qid, strict=True)
    ]
    wanted = oracles.mean_larger(np.array(level), y, qid)
    assert unit(rows_of(y, qid), loss) == pytest.approx(wanted, rel=1e-6)


# The law ---------------------------------------------------------------------------------------


@every_library
@pytest.mark.parametrize("loss", ["exponential", "logistic"])
@pytest.mark.parametrize("n_above", [40, 300])
def test_the_first_step_of_a_leaf_of_the_rarer_class(engine, loss, n_above):
    """With a rows of curvature u and no others, reg_lambda = c u multiplies it by a / (a + c)."""
    n, a = 400, 10
    y = np.arange(n) < n_above
    leaf = np.arange(n) < a if n_above < 200 else np.arange(n) >= n - a
    X = np.column_stack([leaf, RANDOM.random(n)])  # noise, without which many rows would be one

    one_split = {"n_estimators": 1, "max_depth": 1, "min_child_weight": 0}
    one_split |= {"engine": engine, "loss": loss, "subsample": 1, "colsample": 1}

    def step(reg_lambda):
        ranker = BoostedTreesRanker(reg_lambda=reg_lambda, **one_split).fit(X, y)
        assert ranker.feature_importances_[0] == 1
        return ranker.score_rows(X[leaf])[0], ranker.reg_lambda_

    (plain, _), (shrunk, reg_lambda) = step(0), step("auto")
    c = reg_lambda / (n / (8 * min(n_above, n - n_above)))
    assert c == pytest.approx(units_of(loss)["reg_lambda"])
    assert shrunk / plain == pytest.approx(a / (a + c), rel=1e-5)


# What "auto" is --------------------------------------------------------------------------------

X = RANDOM.normal(size=(60, 3))
Y = X[:, 0] + RANDOM.normal(size=60) > 0.5
QID = RANDOM.integers(0, 6, 60)


class Steep(MarginLoss):
    """A loss of one's own."""

    def value_and_derivative(self, margin):
        value, slope = MARGIN_LOSSES["logistic"].value_and_derivative(2 * margin)
        return value, 2 * slope


def fit(qid=None, **parameters):
    return BoostedTreesRanker(n_estimators=2, **parameters).fit(X, Y, qid=qid)


@pytest.mark.parametrize(
    ("parameters", "qid", "loss"),
    [
        ({}, None, "exponential"),
        ({"engine": "lightgbm"}, None, "logistic"),
        ({"engine": "xgboost", "p": 4, "push": "both"}, QID, "logistic"),
        ({"push": "ir"}, None, "exponential"),
        ({"loss": "exponential"}, QID, "exponential"),
    ],
)
def test_the_loss_that_auto_is(parameters, qid, loss):
    found, named = fit(qid, **parameters), fit(qid, **{**parameters, "loss": loss})
    assert found.loss_ == named.loss_ == loss
    np.testing.assert_array_equal(found.decision_function(X), named.decision_function(X))


@every_engine
@pytest.mark.parametrize("loss", ["auto", "hinge", "cross_entropy", Steep()])
def test_auto_is_a_multiple_of_the_unit(engine, loss):
    found = fit(QID, engine=engine, loss=loss, relevance="graded")
    rows = Rows(None, Y.astype(float), QID, np.ones(60))
    wanted = unit(rows, found.loss_)
    units = units_of(found.loss_)
    assert units["reg_lambda"] == (2 if found.loss_ == "logistic" else 4)
    assert found.reg_lambda_ == pytest.approx(units["reg_lambda"] * wanted)
    assert found.min_child_weight_ == units["min_child_weight"] == 0
    numbers = {"reg_lambda": found.reg_lambda_, "min_child_weight": found.min_child_weight_}
    named = fit(QID, engine=engine, loss=found.loss_, relevance="graded", **numbers)
    np.testing.assert_array_equal(found.predict(X), named.predict(X))


@pytest.mark.parametrize(("engine", "ours"), [("xgboost", (1.0, 1.0)), ("lightgbm", (0.0, 1e-3))])
def test_none_and_ndcg_are_the_engine_s_defaults(engine, ours):
    none = {"reg_lambda": None, "min_child_weight": None}
    numbers = dict(zip(none, ours, strict=True))
    for loss in ("logistic", "ndcg"):
        own = {"loss": loss, "relevance": "graded", "engine": engine}
        found, named = fit(QID, **own, **none), fit(QID, **own, **numbers)
        assert (found.reg_lambda_, found.min_child_weight_) == ours
        np.testing.assert_array_equal(found.predict(X), named.predict(X))
    of_engine = fit(QID, loss="ndcg", relevance="graded", engine=engine)
    assert (of_engine.loss_, of_engine.reg_lambda_) == ("ndcg", ours[0])
    np.testing.assert_array_equal(of_engine.predict(X), found.predict(X))


@pytest.mark.parametrize("size", [1 / 300, 1e-9, 1e-60])
@pytest.mark.parametrize(
    "parameters", [{}, {"reg_lambda": 1, "min_child_weight": None}, {"p": 2, "push": "both"}]
)
@every_engine
def test_small_equal_weights_give_the_trees_of_weights_of_one(engine, parameters, size):
    """With categories, too, of which LightGBM has a penalty in the unit of a row."""
    random = np.random.default_rng(0)
    X = np.column_stack([random.integers(0, 8, 300), random.normal(size=(300, 2))])
    y = random.normal(size=8)[X[:, 0].astype(int)] + X[:, 1] + random.normal(size=300) > 0
    own = {"categorical_features": [0], "n_estimators": 5, **parameters}
    ranker = BoostedTreesRanker(engine=engine, **own)
    found = clone(ranker).fit(X, y, sample_weight=size).decision_function(X)
    np.testing.assert_allclose(found, ranker.fit(X, y).decision_function(X), rtol=1e-6)
    assert np.ptp(found) > 0.1


def table_with_noise(n=1500, seed=0):
    """Two numbers that tell, and a category of many levels that tells nothing."""
    random = np.random.default_rng(seed)
    numbers = random.normal(size=(n, 2))
    y = random.random(n) < 1 / (1 + np.exp(2 - numbers[:, 0] + numbers[:, 1]))
    return np.column_stack([numbers, random.integers(0, 300, n)]), y.astype(int)


@every_engine
def test_categories_of_noise_cost_little(engine):
    """A set of many levels that is chosen for its noise costs more than it gains."""
    (rows, y), (new, truth) = table_with_noise(), table_with_noise(4000, 1)
    own = {"engine": engine, "n_estimators": 100, "learning_rate": 0.05}
    whole = BoostedTreesRanker(categorical_features=[2], **own).fit(rows, y)
    without = BoostedTreesRanker(**own).fit(rows[:, :2], y)
    assert whole.score(new, truth) > without.score(new[:, :2], truth) - 0.04
    u = unit(rows_of(y)) if engine in LIBRARIES else 0
    assert (whole.min_child_weight_, without.min_child_weight_) == (pytest.approx(u), 0)
