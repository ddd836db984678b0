"""PNormPushRanker with a loss other than the exponential."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import definitions as oracles
from strategies import problems
from test_kernel_ranker import raw_scores
from test_objectives import UNIT_H, assert_bounds, hessian, oracle_of, prepare
from tiers import crossed

from sklearn_rank import KernelPairwiseSGDRanker, PNormPushRanker
from sklearn_rank._core.preferences import Preferences
from sklearn_rank.datasets import make_queries
from sklearn_rank.objectives import MARGIN_LOSSES, MarginLoss, MarginPush
from sklearn_rank.objectives._margin_push import MARGIN_PUSHES

LOSSES = [loss for loss in MARGIN_LOSSES if loss != "exponential"]
QUERIES = make_queries(n_queries=8, rows_per_query=9, n_features=4, random_state=3)
X, QID, GRADES = QUERIES.data, QUERIES.qid, QUERIES.target.astype(float)
LABELS = GRADES > 0
WEIGHT = np.random.default_rng(0).integers(1, 4, len(QID)).astype(float)

every_loss = pytest.mark.parametrize("loss", LOSSES)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fit(y, **parameters):
    relevance = "binary" if y.dtype == bool else "graded"
    model = PNormPushRanker(relevance=relevance, **{"n_estimators": 12, "tol": 0, **parameters})
    return model.fit(X, y, qid=QID, sample_weight=WEIGHT)


@crossed(loss=LOSSES, p=[1, 4, 64], push=MARGIN_PUSHES, y={"binary": LABELS, "graded": GRADES})
def test_each_round_lowers_the_objective_of_the_definition(loss, p, push, y):
    model = fit(y, loss=loss, p=p, push=push, bottom_weight=0.4)
    assert np.all(np.diff(model.objective_curve_) <= 0)
    bottom_weight = 0.4 if push == "both" else 1.0
    rows = raw_scores(model, X), y.astype(float), QID, WEIGHT
    expected = oracles.margin_push(*rows, loss, p, push, bottom_weight)
    expected = expected[0] if isinstance(expected, tuple) else expected
    assert model.objective_curve_[-1] == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if MARGIN_LOSSES[loss].is_smooth])
def test_at_p_1_it_is_the_linear_kernel_ranker(loss):
    """Two estimators, two solvers, one problem: the mean pair loss with a ridge."""
    own = {"loss": loss, "alpha": 0.3, "solver": "lbfgs"}
    push = fit(GRADES, p=1, weak_ranker="feature", n_estimators=1000, tol=1e-15, **own)
    kernel = KernelPairwiseSGDRanker(kernel="linear", tol=1e-9, relevance="graded", **own)
    kernel.fit(X, GRADES, qid=QID, sample_weight=WEIGHT)
    np.testing.assert_allclose(push.coef_, kernel.coef_, rtol=1e-4, atol=1e-6)
    assert push.objective_curve_[-1] == pytest.approx(kernel.objective_curve_[-1], rel=1e-9)


@every_loss
@pytest.mark.parametrize("solver", ["coordinate", "lbfgs"])
def test_the_offset_is_the_cut_with_the_fewest_errors(loss, solver):
    model = fit(LABELS, loss=loss, solver=solver)
    scores = raw_scores(model, X)
    wrong = WEIGHT @ ((scores + model.offset_ > 0) != LABELS)
    cuts = np.concatenate([[-np.inf], np.unique(scores)])
    assert wrong == min(WEIGHT @ ((scores > cut) != LABELS) for cut in cuts)


@pytest.mark.parametrize(
    ("parameters", "setting"),
    [({"p": np.inf, "solver": "lbfgs"}, "p=inf"), ({"push": "ir"}, "push='ir'")],
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
    value, gradient = both.value_and_gradient(scores)
    assert value == top.value_and_gradient(scores)[0] > 0
    np.testing.assert_array_equal(gradient, top.value_and_gradient(scores)[1])


@pytest.mark.parametrize("push", MARGIN_PUSHES)
def test_no_gradient_where_no_pair_has_any_loss(push):
    """Both margins are 1, the kink of the hinge loss, where its left derivative is -1."""
    preferences = Preferences.from_labels(np.array([1.0, 0.0, 0.0]), None, np.ones(3))
    scores = np.array([1.0, 0.0, 0.0])[preferences.order]
    value, gradient = MarginPush(preferences, "hinge", 1, push).value_and_gradient(scores)
    assert value == 0
    assert not gradient.any()


# What only some losses have -----------------------------------------------------------------

every_push = pytest.mark.parametrize("push", MARGIN_PUSHES)
curved_losses = pytest.mark.parametrize("loss", ["least_squares", "squared_hinge", "logistic"])


@curved_losses
@every_push
@pytest.mark.parametrize("p", [1, 4, 64])
@given(problem=problems())
def test_curvature_equals_the_definition(loss, push, p, problem):
    preferences, rows = prepare(problem)
    objective, f = MarginPush(preferences, loss, float(p), push, 0.4), problem.f[rows]
    value, gradient, curvature = objective.value_gradient_curvature(f)
    assert value == objective.value_and_gradient(f)[0]
    np.testing.assert_array_equal(gradient, objective.value_and_gradient(f)[1])
    options = (*oracle_of(problem), loss, p, push, 0.4)
    expected = oracles.margin_push_curvature(problem.f, *options)[rows]
    if value > 0 or p == 1:
        np.testing.assert_allclose(curvature, expected, rtol=1e-8, atol=1e-9 * expected.max())
    assert (curvature >= 0).all()


@pytest.mark.slow
@curved_losses
@every_push
@pytest.mark.parametrize("p", [1.0, 3.5])
@given(problem=problems(spread=2.0), h=UNIT_H)
def test_curvature_bounds_the_second_derivatives(loss, push, p, problem, h):
    preferences, rows = prepare(problem)
    objective = MarginPush(preferences, loss, p, push, 0.4)
    f = 0.97 * problem.f[rows]  # off the kinks
    value, _, curvature = objective.value_gradient_curvature(f)
    if value == 0:
        return
    matrix = hessian(objective, f)
    assert_bounds(curvature, matrix, h, 1e-5 * max(1, np.abs(matrix).max()))
    if p == 1 and loss != "squared_hinge":
        np.testing.assert_allclose(curvature, np.diag(matrix), atol=1e-7)


@curved_losses
@every_push
@pytest.mark.parametrize("p", [1.0, 64.0])
@pytest.mark.parametrize("spread", [1e4, 1e20])
def test_curvature_at_extreme_scores(loss, push, p, spread):
    rng = np.random.default_rng(0)
    preferences = Preferences.from_labels(rng.integers(0, 3, 40), None, np.ones(40))
    f = np.linspace(-spread, spread, 40)[rng.permutation(40)]
    curvature = MarginPush(preferences, loss, p, push).value_gradient_curvature(f)[2]
    assert np.isfinite(curvature).all()
    assert (curvature >= 0).all()


class Valley(MarginLoss):
    """A loss of one's own that rises beyond 1, without saying how steeply."""

    slope_at_zero = 4.0

    def value_and_derivative(self, margin):
        return (1 - margin) ** 4, -4 * (1 - margin) ** 3

    def second_derivative(self, margin):
        return 12 * (1 - margin) ** 2

    def local_lipschitz(self, radius):
        return 12 * (1 + radius) ** 2


class Corner(MarginLoss):
    """A loss of one's own that can be rounded."""

    slope_at_zero, is_smooth = 1.0, False

    def value_and_derivative(self, margin):
        return np.maximum(-margin, 0), np.where(margin <= 0, -1.0, 0.0)

    def local_lipschitz(self, radius):
        return 1.0

    def rounded(self, width):
        return Parabola(width)


class Parabola(MarginLoss):
    def __init__(self, width):
        self.width = width

    def value_and_derivative(self, margin):
        lower, beyond = np.clip(-margin, 0, self.width), np.maximum(-margin - self.width, 0)
        return lower**2 / (2 * self.width) + beyond, -lower / self.width


def test_a_loss_without_curvature_or_bound_offers_none():
    preferences = Preferences.from_labels(np.array([1.0, 0.0]), None, np.ones(2))
    assert not hasattr(MarginPush(preferences, "hinge", 1.0), "value_gradient_curvature")
    assert hasattr(MarginPush(preferences, Valley(), 1.0), "value_gradient_curvature")
    assert not hasattr(MarginPush(preferences, Valley(), 2.0), "value_gradient_curvature")


@every_push
@given(problem=problems(), p=st.sampled_from([1.0, 4.0]))
def test_a_rounded_push_is_smooth_and_little_below(push, p, problem):
    preferences, rows = prepare(problem)
    sharp = MarginPush(preferences, Corner(), p, push, 0.4)
    smooth = sharp.rounded(0.5)
    assert (sharp.is_smooth, smooth.is_smooth) == (False, True)
    below = sharp.value(problem.f[rows]) - smooth.value(problem.f[rows])
    assert -1e-12 <= below <= 0.25 + 1e-12
    assert not hasattr(MarginPush(preferences, "logistic", p), "rounded")


@pytest.mark.parametrize("loss", ["exponential", MARGIN_LOSSES["exponential"]])
def test_a_loss_that_factorises_is_refused(loss):
    preferences = Preferences.from_labels(np.array([1.0, 0.0]), None, np.ones(2))
    with pytest.raises(ValueError, match=r"'loss' parameter of MarginPush .* Got"):
        MarginPush(preferences, loss, 2.0)
