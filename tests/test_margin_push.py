"""PNormPushRanker with a loss other than the exponential."""

import warnings

import numpy as np
import oracles
import pytest
from sklearn.exceptions import ConvergenceWarning
from tiers import crossed

from sklearn_rank import KernelPairwiseSGDRanker, PNormPushRanker
from sklearn_rank.datasets import make_queries
from sklearn_rank.objectives import MARGIN_LOSSES, MarginPush
from sklearn_rank.objectives._margin_push import MARGIN_PUSHES
from sklearn_rank.preferences import Preferences

LOSSES = [loss for loss in MARGIN_LOSSES if loss != "exponential"]
QUERIES = make_queries(n_queries=8, rows_per_query=9, n_features=4, random_state=3)
X, QID, GRADES = QUERIES.data, QUERIES.qid, QUERIES.target.astype(float)
LABELS = GRADES > 0
WEIGHT = np.random.default_rng(0).integers(1, 4, len(QID)).astype(float)

every_loss = pytest.mark.parametrize("loss", LOSSES)


def fit(y, **parameters):
    relevance = "binary" if y.dtype == bool else "graded"
    model = PNormPushRanker(relevance=relevance, **{"n_estimators": 12, "tol": 0, **parameters})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, qid=QID, sample_weight=WEIGHT)


def scores_of(model):
    if model.relevance == "graded":
        return model.predict(X)
    return model.decision_function(X) - model.offset_


@crossed(loss=LOSSES, p=[1, 4, 64], push=MARGIN_PUSHES, y={"binary": LABELS, "graded": GRADES})
def test_each_round_lowers_the_objective_of_the_definition(loss, p, push, y):
    model = fit(y, loss=loss, p=p, push=push, bottom_weight=0.4)
    assert np.all(np.diff(model.objective_curve_) <= 0)
    bottom_weight = 0.4 if push == "both" else 1.0
    expected = oracles.margin_push(
        scores_of(model), y.astype(float), QID, WEIGHT, loss, p, push, bottom_weight
    )
    expected = expected[0] if isinstance(expected, tuple) else expected
    assert model.objective_curve_[-1] == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if MARGIN_LOSSES[loss].is_smooth])
def test_at_p_1_it_is_the_linear_kernel_ranker(loss):
    """Two estimators, two solvers, one problem: the mean pair loss with a ridge."""
    push = fit(
        GRADES,
        loss=loss,
        p=1,
        solver="lbfgs",
        weak_ranker="feature",
        alpha=0.3,
        n_estimators=1000,
        tol=1e-15,
    )
    kernel = KernelPairwiseSGDRanker(
        loss=loss, kernel="linear", alpha=0.3, solver="lbfgs", tol=1e-9, relevance="graded"
    ).fit(X, GRADES, qid=QID, sample_weight=WEIGHT)
    np.testing.assert_allclose(push.coef_, kernel.coef_, rtol=1e-4, atol=1e-6)
    assert push.objective_curve_[-1] == pytest.approx(kernel.objective_curve_[-1], rel=1e-9)


@every_loss
@pytest.mark.parametrize("solver", ["coordinate", "lbfgs"])
def test_the_offset_is_the_cut_with_the_fewest_errors(loss, solver):
    model = fit(LABELS, loss=loss, solver=solver)
    scores = scores_of(model)
    wrong = WEIGHT @ ((scores + model.offset_ > 0) != LABELS)
    cuts = np.concatenate([[-np.inf], np.unique(scores)])
    assert wrong == min(WEIGHT @ ((scores > cut) != LABELS) for cut in cuts)


@every_loss
def test_the_last_stage_is_the_model(loss):
    model = fit(LABELS, loss=loss)
    *_, last = model.staged_decision_function(X)
    np.testing.assert_allclose(last, model.decision_function(X), rtol=1e-12)


def test_a_wrong_label_moves_the_logistic_loss_less():
    """One row at the far end of a feature, with the wrong label, among many right ones."""
    x = np.concatenate([np.linspace(-1, 1, 60), [30.0]])[:, np.newaxis]
    y = np.concatenate([np.linspace(-1, 1, 60) > 0, [False]])
    options = {"p": 1, "weak_ranker": "feature", "solver": "lbfgs", "alpha": 1e-6}
    exponential = PNormPushRanker(**options).fit(x, y)
    logistic = PNormPushRanker(loss="logistic", **options).fit(x, y)
    assert abs(exponential.coef_[0]) < abs(logistic.coef_[0])


@pytest.mark.parametrize(
    ("parameters", "setting"),
    [
        ({"p": np.inf, "solver": "lbfgs"}, "p=inf"),
        ({"push": "ir"}, "push='ir'"),
        ({"selection": "optimal"}, "selection='optimal'"),
    ],
)
def test_what_only_the_exponential_loss_has(parameters, setting):
    with pytest.raises(ValueError, match="needs loss='exponential'") as caught:
        PNormPushRanker(loss="logistic", **parameters).fit(X, LABELS)
    assert setting in str(caught.value)
    assert "logistic" in str(caught.value)


def test_a_bottom_without_weight_is_not_looked_at():
    """One positive among 10^5 negatives: the bottom's powers underflow at p = 65."""
    y = np.zeros(100_001)
    y[0] = 1.0
    preferences = Preferences.from_labels(y, None, np.ones(len(y)))
    scores = np.random.default_rng(0).normal(size=len(y))
    both = MarginPush(preferences, "logistic", 65, "both", bottom_weight=0.0)
    top = MarginPush(preferences, "logistic", 65, "top")
    value, masses = both.value_and_masses(scores)
    assert value == top.value_and_masses(scores)[0] > 0
    np.testing.assert_array_equal(masses, top.value_and_masses(scores)[1])


@pytest.mark.parametrize("push", MARGIN_PUSHES)
def test_no_masses_where_no_pair_has_any_loss(push):
    """Both margins are 1, the kink of the hinge loss, where its left derivative is -1."""
    preferences = Preferences.from_labels(np.array([1.0, 0.0, 0.0]), None, np.ones(3))
    value, masses = MarginPush(preferences, "hinge", 1, push).value_and_masses(
        np.array([1.0, 0.0, 0.0])[preferences.order]
    )
    assert value == 0
    assert not masses.any()
