"""Labels of the boosters: the offset, and that of each stage from a sample of the rows."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import definitions as oracles
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeRegressor
from tiers import crossed

from sklearn_rank import BoostedTreesRanker, PNormPushRanker, RankBoost
from sklearn_rank.estimators._boosting import record as _record
from sklearn_rank.objectives import PUSHES

RANDOM = np.random.default_rng(0)
WEAK_RANKERS = {"stump": "stump", "feature": "feature", "tree": DecisionTreeRegressor(max_depth=2)}
X = RANDOM.integers(0, 6, (150, 3)).astype(float)
Y = X[:, 0] + 2 * RANDOM.normal(size=150) > 3.5
WEIGHT = RANDOM.integers(1, 4, 150).astype(float)
QID = np.arange(150) % 4
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fit(X=X, y=Y, weight=WEIGHT, qid=None, **parameters):
    model = PNormPushRanker(**{"n_estimators": 8, "tol": 0, **parameters})
    return model.fit(X, y, qid=qid, sample_weight=weight)


def fewest_errors(scores, y, weight):
    """Smallest weighted error of all cuts, those below and above all scores included."""
    best = oracles.error_cut(np.round(scores, 9), y, weight)
    return min(weight[y].sum(), weight[~y].sum(), *(best or ())[1:])


def error(decision, y=Y, weight=WEIGHT):
    return oracles.cut_error(0.0, decision, y, weight)


def sampling(n_rows):
    """At most `n_rows` of the rows give the cuts of stages."""
    return patch.object(_record, "_MOST_ROWS", n_rows)


@crossed(
    push=list(PUSHES),
    p=[2, 4, 64],
    solver=["coordinate", "lbfgs", "corrective"],
    qid={"list": None, "queries": QID},
)
def test_above_p_1_the_offset_is_the_cut_with_the_fewest_errors(push, p, solver, qid):
    alpha = 1e-3 if solver == "lbfgs" else 0.0
    model = fit(qid=qid, push=push, p=p, solver=solver, alpha=alpha)
    decision = model.decision_function(X)
    assert error(decision) == fewest_errors(decision - model.offset_, Y, WEIGHT)
    if solver == "coordinate":
        for stage in model.staged_decision_function(X):
            assert error(stage) <= min(WEIGHT[Y].sum(), WEIGHT[~Y].sum())


@pytest.mark.parametrize("p", [1, 4])
def test_the_ir_push_has_one_offset_at_any_p(p):
    """It does not depend on p, so that its labels must not either."""
    model = fit(push="ir", p=p)
    decision = model.decision_function(X)
    assert error(decision) == fewest_errors(decision - model.offset_, Y, WEIGHT)


@pytest.mark.parametrize("push", ["top", "bottom"])
def test_at_p_1_labels_are_those_of_rankboost(push):
    model, rankboost = fit(push=push, p=1), RankBoost(n_estimators=8, tol=0)
    rankboost.fit(X, Y, sample_weight=WEIGHT)
    np.testing.assert_allclose(model.staged_offsets_, rankboost.staged_offsets_, rtol=1e-9)


@crossed(
    weak_ranker=WEAK_RANKERS, loss=["exponential", "logistic"], qid={"list": None, "queries": QID}
)
def test_stages_of_few_rows_have_the_fewest_errors(weak_ranker, loss, qid):
    model = fit(qid=qid, weak_ranker=weak_ranker, loss=loss)
    for stage, offset in zip(model.staged_decision_function(X), model.staged_offsets_, strict=True):
        assert error(stage) == fewest_errors(stage - offset, Y, WEIGHT)


@crossed(weak_ranker=WEAK_RANKERS, loss=["exponential", "logistic"], patience=[None, 2])
def test_the_last_of_many_rows_has_the_fewest_errors(weak_ranker, loss, patience):
    """Of all rows that were learnt from, also where early stopping keeps an earlier round."""
    options = {"n_iter_no_change": patience, "validation_fraction": 0.2, "random_state": 0}
    options |= {"refit_stopped": False, "scoring": "auc"}
    fits = []
    make = PNormPushRanker._make_problem

    def spy(ranker, data, history, threads):
        fits.append(data)
        return make(ranker, data, history, threads)

    with sampling(40), patch.object(PNormPushRanker, "_make_problem", spy):
        model = fit(weak_ranker=weak_ranker, loss=loss, n_estimators=120, **options)
    if patience:
        assert len(model.validation_scores_) > model.n_iter_
    (rows,) = fits
    decision = model.decision_function(rows.X)
    expected = fewest_errors(decision - model.offset_, rows.y, rows.weight)
    assert error(decision, rows.y, rows.weight) == expected
    assert model.staged_offsets_[-1] == model.offset_


@given(seed=st.integers(0, 1000), n_rows=st.sampled_from([5, 30, 60]))
def test_stages_know_the_rows_and_not_their_order(seed, n_rows):
    """Weight 2 is the row twice, also in what a sample of the rows sees."""
    copies = np.repeat(np.arange(150), WEIGHT.astype(int))
    shuffled = np.random.default_rng(seed).permutation(copies)
    with sampling(n_rows):
        expected = fit(n_estimators=4).staged_offsets_
        found = fit(X[shuffled], Y[shuffled], None, n_estimators=4).staged_offsets_
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_rows", [40, 1000])
def test_a_warm_start_has_the_offsets_of_one_fit(n_rows):
    with sampling(n_rows):
        whole = fit(n_estimators=9)
        warm = fit(n_estimators=4, warm_start=True)
        warm.set_params(n_estimators=9).fit(X, Y, sample_weight=WEIGHT)
    np.testing.assert_allclose(warm.staged_offsets_, whole.staged_offsets_, rtol=1e-9)


@pytest.mark.parametrize("engine", ["lightgbm", "xgboost", "symmetric"])
def test_trees_above_p_1_have_the_cut_with_the_fewest_errors(engine):
    model = BoostedTreesRanker(engine=engine, p=4, n_estimators=5).fit(X, Y, sample_weight=WEIGHT)
    decision = model.decision_function(X)
    assert error(decision) == fewest_errors(decision - model.offset_, Y, WEIGHT)


@crossed(p=[2, 4, 16, 64], push=["top", "bottom", "both", "ir"])
def test_labels_are_at_least_as_good_as_one_class(p, push):
    X, y = make_classification(3000, 10, n_informative=6, weights=[0.9], random_state=1)
    model = PNormPushRanker(p=p, push=push, n_estimators=30).fit(X[::2], y[::2])
    majority = max(np.mean(y[1::2]), 1 - np.mean(y[1::2]))
    assert np.mean(model.predict(X[1::2]) == y[1::2]) > majority - 0.005


def test_rare_positives_are_predicted():
    X, y = make_classification(8000, 20, n_informative=6, weights=[0.95], random_state=0)
    model = PNormPushRanker().fit(X[::2], y[::2])
    assert 0.3 < np.mean(model.predict(X[1::2])) / np.mean(y[1::2]) < 2
