"""Steps from second derivatives: the literal algorithm, and that the objective never rises."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import definitions as oracles
from scipy.sparse import csr_matrix
from strategies import one_list, problems
from test_boosting import WHOLE_STEPS, check_rounds
from test_objectives import SPLIT_H, prepare
from tiers import crossed

from sklearn_rank import PNormPushRanker, RankBoost, objectives
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Candidate, RowGradient
from sklearn_rank.datasets import make_queries
from sklearn_rank.models.linear import LinearModel
from sklearn_rank.objectives._margin_push import MARGIN_PUSHES
from sklearn_rank.solvers.coordinate_descent import PushStep, QuadraticGain, second_order_step

pytestmark = pytest.mark.filterwarnings("ignore:.*no weak ranker")
LOSSES = [loss for loss in objectives.MARGIN_LOSSES if loss != "exponential"]
SCALES = st.sampled_from([0.1, 1.0, 10.0, 100.0])


def push_of(name, preferences, p):
    """An exponential push, or that of a margin loss as boosting takes it."""
    if name in objectives.PUSHES:
        return objectives.PUSHES[name](preferences, float(p), 1.0)
    loss = objectives.MARGIN_LOSSES[name]
    loss = loss.with_curvature() if hasattr(loss, "with_curvature") else loss
    return objectives.MarginPush(preferences, loss, float(p))


@crossed(loss=LOSSES, p=[1, 4], push=MARGIN_PUSHES)
@given(problem=problems())
def test_rounds_equal_the_literal_algorithm(loss, p, push, problem):
    ranker = PNormPushRanker(loss=loss, p=p, push=push, **WHOLE_STEPS)
    check_rounds(ranker, problem, p=p, push=push, loss=loss)


@given(problem=problems())
def test_steepest_selection(problem):
    ranker = PNormPushRanker(loss="logistic", p=1, selection="steepest", **WHOLE_STEPS)
    check_rounds(ranker, problem, loss="logistic", selection="steepest")


@crossed(name=[*objectives.PUSHES, *LOSSES], p=[1, 4, 64])
@given(problem=problems(), h=SPLIT_H, scale=SCALES, real=st.booleans())
def test_the_objective_never_rises(name, p, problem, h, scale, real):
    """At any scores, weights and grades, along 0/1 and real-valued weak rankers."""
    preferences, rows = prepare(problem)
    h = h[: len(problem.y)][rows]
    h = h * np.linspace(0.5, 2.0, len(h)) if real else h
    push = push_of(name, preferences, p)
    state = objectives.SecondOrderState(push, preferences, scale * problem.f[rows])
    before, start = state.value, state.scores.copy()
    candidate = Candidate(0, -float(state.gradient.data @ h))
    power, smoothing = 1.0 if name == "ir" else p, 1 / (2 * preferences.total_pair_weight)
    rule = PushStep(power, smoothing, preferences.largest_difference)
    step = state.advance(candidate, h, rule(state, candidate, h))
    rounding = 1e-15 * np.abs(state.gradient.data).sum()
    assert step * candidate.edge >= 0 or abs(candidate.edge) <= rounding
    if step:
        assert state.value <= before
        np.testing.assert_allclose(state.scores, start + step * h, rtol=1e-12, atol=1e-12 * scale)


@crossed(name=["logistic", "squared_hinge", "ir", "both"], p=[1, 4, 16])
@given(problem=problems(), h=SPLIT_H, scale=SCALES)
def test_the_step_alone_does_not_raise_the_objective(name, p, problem, h, scale):
    """Without any halving: the step gets shorter as it gets long."""
    preferences, rows = prepare(problem)
    h, power = h[: len(problem.y)][rows], 1.0 if name == "ir" else p
    objective, scores = push_of(name, preferences, p), scale * problem.f[rows]
    value, gradient, c = objective.value_gradient_curvature(scores)
    slope, bound = float(gradient @ h), min(float(c[h].sum()), float(c[~h].sum()))
    if bound > 1e-300 and abs(slope) > 1e-14 * np.abs(gradient).sum():  # else it is rounding
        after = objective.value(scores + second_order_step(slope, bound, power) * h)
        assert after <= value + 1e-12 * max(1.0, abs(value))


def state_of_queries():
    """Return a push, its state at scores of zero, and a weak ranker."""
    data = make_queries(random_state=0)
    preferences = Preferences.from_labels(data.target, data.qid, np.ones(len(data.target)))
    push = objectives.MarginPush(preferences, "logistic", 1.0)
    state = objectives.SecondOrderState(push, preferences, np.zeros(preferences.n_rows))
    return push, state, data.data[preferences.order, 0] > 0


def test_a_step_that_is_too_long_is_halved():
    push, state, h = state_of_queries()
    candidate, before = Candidate(0, -float(state.gradient.data @ h)), state.value
    long = np.sign(candidate.edge) * 2.0**20
    step = state.advance(candidate, h, long)
    assert 0 < step / long < 1
    assert np.log2(step / long) == round(np.log2(step / long))
    assert state.value <= before < push.value(2 * step * h)
    assert second_order_step(-1.0, np.float64(5e-324), 1.0) == np.inf  # and no warning


def test_a_step_against_the_slope_is_not_taken():
    _, state, h = state_of_queries()
    slope = float(state.gradient.data @ h)
    before = state.value
    assert state.advance(Candidate(0, -slope), h, np.sign(slope)) == 0
    assert state.value == pytest.approx(before, rel=1e-14)


@given(problem=problems(), h=SPLIT_H, scale=SCALES)
def test_curvature_along_a_real_valued_weak_ranker(problem, h, scale):
    preferences, rows = prepare(problem)
    h = (3.0 * h[: len(problem.y)] + np.linspace(-1, 1, len(problem.y)))[rows]
    push = objectives.MarginPush(preferences, "logistic", 1.0)
    state = objectives.SecondOrderState(push, preferences, scale * problem.f[rows])
    found = state.curvature(Candidate(0, 0.0), h)
    assert found == pytest.approx(oracles.curvature_bound(h, state.gradient.curvature), rel=1e-9)
    assert state.curvature(Candidate(0, 0.0), np.full(len(rows), 0.7)) == 0


@given(problem=one_list(max_rows=12), sparse=st.booleans(), shift=st.sampled_from([0.0, 1e3]))
def test_bounds_of_features_from_sums(problem, sparse, shift):
    """What the search finds for all features at once is the bound along each."""
    preferences, rows = prepare(problem)
    X = problem.X[np.sort(rows)] + (0 if sparse else shift)
    model = LinearModel(csr_matrix(X) if sparse else X, preferences.order)
    c = np.linspace(0.0, 1.0, preferences.n_rows)
    found = []

    def gain(above, totals, curvature=None):
        found.append(curvature)
        return np.abs(above[0])

    model.search(RowGradient.signed(np.linspace(-1, 1, len(c)), c), gain)
    expected = [oracles.curvature_bound(column, c) for column in X[preferences.order].T]
    np.testing.assert_allclose(found[0], expected, rtol=1e-6, atol=1e-9)


@given(
    problem=one_list(), h=SPLIT_H, p=st.sampled_from([1, 4, 64]), bottom=st.sampled_from([0, 0.5])
)
def test_both_ends_moved_in_place(problem, h, p, bottom):
    """Value, gradient, slope, offset and margin are those of the objective at the scores."""
    preferences, rows = prepare(problem)
    h, f = h[: len(problem.y)][rows], problem.f[rows]
    push = objectives.BothPush(preferences, float(p), bottom)
    state = objectives.BothState(push, f, ThreadPool())
    slope = state.slope(Candidate(0, 0.0), h)
    np.testing.assert_allclose(slope(0.3), push.slope(f, h)(0.3), atol=1e-9)
    for step in (0.3, -0.7):
        f = f + step * h
        state.advance(Candidate(0, 0.0), h, step)
        value, gradient = push.value_and_gradient(f)
        assert state.value == pytest.approx(value, rel=1e-10, abs=1e-10)
        n_above = state.gradient.pointer[1]
        signed = np.where(np.arange(len(f)) < n_above, -p, p) * state.gradient.data
        np.testing.assert_allclose(signed, gradient, rtol=1e-8, atol=1e-10)
        assert state.smallest_margin() == pytest.approx(preferences.smallest_difference(f, f))


def test_gain_is_the_decrease_of_the_quadratic_bound():
    gain = QuadraticGain(p=1.0, longest=2.0)
    slopes, bounds = np.array([[3.0, -3.0, 1.0, 1.0]]), np.array([6.0, 6.0, 0.1, 0.0])
    found = gain(slopes, np.zeros(1), bounds)
    np.testing.assert_allclose(found, [0.75, 0.75, 1.8, 2.0])  # the last two: the longest step
    np.testing.assert_array_equal(gain(slopes, np.zeros(1)), np.abs(slopes[0]))


@pytest.mark.parametrize(
    ("ranker", "expected"),
    [
        (RankBoost(), "steepest"),
        (PNormPushRanker(p=4), "steepest"),
        (PNormPushRanker(push="both"), "steepest"),
        (PNormPushRanker(push="ir"), "optimal"),
        (PNormPushRanker(loss="logistic", p=1), "optimal"),
        (PNormPushRanker(loss="hinge", p=4), "optimal"),
    ],
    ids=str,
)
def test_what_auto_means(ranker, expected):
    data = make_queries(random_state=0)
    ranker.set_params(relevance="graded", n_estimators=20)
    auto, optimal, steepest = (
        ranker.set_params(selection=selection)
        .fit(data.data, data.target, qid=data.qid)
        .objective_curve_
        for selection in ("auto", "optimal", "steepest")
    )
    assert not np.array_equal(optimal, steepest)
    np.testing.assert_array_equal(auto, optimal if expected == "optimal" else steepest)


@pytest.mark.slow
@given(problem=problems())
def test_optimal_with_queries_and_grades(problem):
    check_rounds(RankBoost(selection="optimal", **WHOLE_STEPS), problem, selection="optimal")


def test_optimal_where_no_decrease_is_known_is_an_error():
    data = make_queries(random_state=0)
    X, y = data.data, data.target > 0
    with pytest.raises(ValueError, match="selection='optimal' of RankBoost needs the decrease"):
        RankBoost(selection="optimal", weak_ranker="feature").fit(X, y)
    steepest = RankBoost(selection="steepest", weak_ranker="feature").fit(X, y)
    auto = RankBoost(weak_ranker="feature").fit(X, y)
    np.testing.assert_array_equal(auto.coef_, steepest.coef_)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("n_above", [1, 3_000, 40_000])
def test_sums_in_threads_are_those_of_one_thread(loss, n_above):
    """Also where one class is far smaller than the other, and has fewer rows than threads."""
    rng = np.random.default_rng(0)
    y, weight = np.arange(50_000) < n_above, rng.uniform(0.5, 2.0, 50_000)
    scores = rng.normal(size=50_000)
    preferences = Preferences.from_labels(y, None, weight)
    with ThreadPool(3).running() as threads:
        for p in (1, 4):
            push = push_of(loss, preferences, p)
            shared = objectives.MarginPush(preferences, push.loss.in_threads(threads), push.p)
            found = [each.value_gradient_curvature(scores) for each in (push, shared)]
            for one, other in zip(*found, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12 * np.abs(one).max())
