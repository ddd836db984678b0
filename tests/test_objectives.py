"""Objectives and steps against the O(n^2) definitions."""

from dataclasses import replace

import numpy as np
import oracles
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import bipartite, problems
from tiers import crossed

from sklearn_rank._parallel import ThreadPool
from sklearn_rank._protocols import Candidate
from sklearn_rank._validation import check_qid
from sklearn_rank.objectives import PUSHES, ExponentialState, ScoreState, SidePush, balancing_offset
from sklearn_rank.preferences import Preferences
from sklearn_rank.solvers import PushStep

POWERS = [1, 2, 4, 16, 64]
SIDES = ["top", "bottom"]
SPLIT_H = st.lists(st.booleans(), min_size=9, max_size=9).map(np.array)


def prepare(problem):
    """Return preferences, and the rows that weigh something in their order."""
    keep = np.ones(len(problem.y), dtype=bool) if problem.w is None else problem.w > 0
    rows = np.flatnonzero(keep)
    weight = np.ones(len(rows)) if problem.w is None else problem.w[rows]
    qid = None if problem.qid is None else check_qid(problem.qid[rows], len(rows))
    preferences = Preferences.from_labels(problem.y[rows], qid, weight)
    return preferences, rows[preferences.order]


def oracle_of(problem):
    return (problem.y, problem.qid, problem.w)


@crossed(push=list(PUSHES), p=POWERS)
@given(problem=problems(), bottom_weight=st.sampled_from([0.0, 0.3, 2.0]))
def test_value_and_gradient_equal_the_definition(push, p, problem, bottom_weight):
    preferences, rows = prepare(problem)
    objective = PUSHES[push](preferences, float(p), bottom_weight)
    options = (*oracle_of(problem), p, push, bottom_weight)
    value, gradient = objective.value_and_gradient(problem.f[rows])
    expected = oracles.log_push(problem.f, *options)
    assert value == pytest.approx(expected, rel=1e-11, abs=1e-11)
    assert objective.value(problem.f[rows]) == pytest.approx(value, rel=1e-13, abs=1e-13)
    np.testing.assert_allclose(
        gradient, -oracles.row_masses(problem.f, *options)[rows], rtol=1e-9, atol=1e-11 * p
    )
    assert gradient.sum() == pytest.approx(0, abs=1e-11 * max(1, np.abs(gradient).sum()))


@pytest.mark.parametrize("push", PUSHES)
@pytest.mark.parametrize("p", [1.0, 3.5])
@given(problem=problems(spread=2.0))
def test_gradients_are_derivatives(push, p, problem):
    preferences, rows = prepare(problem)
    objective = PUSHES[push](preferences, p, 0.7)
    gradient = objective.value_and_gradient(problem.f[rows])[1]
    numeric = oracles.numeric_gradient(objective.value, problem.f[rows])
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("side", SIDES)
@given(problem=problems())
def test_infinite_p_is_the_largest_height(side, problem):
    preferences, rows = prepare(problem)
    value = SidePush(preferences, np.inf, side).value(problem.f[rows])
    expected = oracles.log_push(problem.f, *oracle_of(problem), np.inf, side)
    assert value == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("side", SIDES)
@given(problem=problems())
def test_the_path_to_infinite_p_ends_close_to_it(side, problem):
    preferences, rows = prepare(problem)
    objective = SidePush(preferences, np.inf, side)
    path = list(objective.smooth_path())
    total = preferences.weight.sum()
    assert [push.p for push in path] == [64.0 * 4**j for j in range(len(path))]
    assert np.log(total + 1) / path[-1].p <= 1e-4
    assert all(np.log(total + 1) / push.p > 1e-4 for push in path[:-1])
    f, limit = problem.f[rows], objective.value(problem.f[rows])
    for push in path:
        assert push.side == side
        assert push.value(f) - limit <= np.log(total) / push.p + 1e-12
        assert push.value(f) - limit >= np.log(preferences.weight.min()) / push.p - 1e-12


# --------------------------------------------------------------------------------------
# Second derivatives
# --------------------------------------------------------------------------------------


def hessian(objective, f):
    """Second derivatives by differences of the gradient."""
    return oracles.numeric_gradient(lambda x: objective.value_and_gradient(x)[1], f)


def assert_bounds(curvature, matrix, h, tolerance):
    """The second derivative along h in [0, 1] is at most c @ h and c @ (1 - h)."""
    for direction in (h[: len(curvature)], h[: len(curvature)].round()):
        along = direction @ matrix @ direction
        assert along <= curvature @ direction + tolerance
        assert along <= curvature @ (1 - direction) + tolerance


UNIT_H = st.lists(st.floats(0, 1), min_size=9, max_size=9).map(np.array)


@pytest.mark.parametrize("push", ["top", "bottom", "both", "ir"])
@pytest.mark.parametrize("p", [1, 4, 64])
@given(problem=problems())
def test_curvature_equals_the_definition(push, p, problem):
    preferences, rows = prepare(problem)
    objective, f = PUSHES[push](preferences, float(p), 1.0), problem.f[rows]
    value, gradient, curvature = objective.value_gradient_curvature(f)
    assert value == objective.value_and_gradient(f)[0]
    np.testing.assert_array_equal(gradient, objective.value_and_gradient(f)[1])
    expected = oracles.curvature(problem.f, *oracle_of(problem), p, push)[rows]
    np.testing.assert_allclose(curvature, expected, rtol=1e-9, atol=1e-13 * p)
    assert (curvature >= 0).all()


@pytest.mark.parametrize("push", ["top", "bottom", "both", "ir"])
@pytest.mark.parametrize("p", [1.0, 3.5])
@given(problem=problems(spread=2.0), h=UNIT_H)
def test_curvature_bounds_the_second_derivatives(push, p, problem, h):
    preferences, rows = prepare(problem)
    objective, f = PUSHES[push](preferences, p, 1.0), problem.f[rows]
    curvature, matrix = objective.value_gradient_curvature(f)[2], hessian(objective, f)
    assert_bounds(curvature, matrix, h, 1e-6 * p**2)
    if push == "ir":  # the diagonal itself
        np.testing.assert_allclose(curvature, np.diag(matrix), atol=1e-7)
    elif push != "both" and preferences.bipartite_segments is not None:
        # The diagonal but for the square of the gradient.
        square = objective.value_and_gradient(f)[1] ** 2
        inner = np.arange(len(f)) < preferences.segments.start[preferences.bipartite_segments[1]]
        factor = np.where(inner == (push == "top"), 1.0, p)
        np.testing.assert_allclose(curvature - factor * square, np.diag(matrix), atol=1e-6 * p**2)


def test_ir_curvature_of_upper_rows_keeps_its_digits():
    """s (1 - s) with 1 - s as a difference would be zero."""
    preferences = Preferences.from_labels(np.array([1.0, 1.0, 0.0]), None, np.ones(3))
    push, each = PUSHES["ir"](preferences, 1.0, 1.0), np.exp(-300) / (1 + np.exp(-300)) ** 2
    for f in (np.array([0.0, 0.0, 300.0]), np.array([300.0, 300.0, 0.0])):
        curvature = push.value_gradient_curvature(f)[2]
        np.testing.assert_allclose(curvature[:2], each, rtol=1e-12)
        assert curvature[2] == pytest.approx(2 * each, rel=1e-12, abs=1e-12)


def test_abilities_are_methods_that_the_others_do_not_have():
    preferences = Preferences.from_labels(np.array([1.0, 0.0]), None, np.ones(2))
    made = {name: make(preferences, 4.0, 1.0) for name, make in PUSHES.items()}
    assert [name for name, push in made.items() if hasattr(push, "pair_shares")] == SIDES
    assert all(hasattr(push, "value_gradient_curvature") for push in made.values())
    assert not any(hasattr(push, "smooth_path") for push in made.values())
    infinite = SidePush(preferences, np.inf, "top")
    assert hasattr(infinite, "smooth_path")
    assert not hasattr(infinite, "value_gradient_curvature")


@crossed(push=list(PUSHES), p=[1, 4, 64])
@given(problem=problems(), h=SPLIT_H, real=st.booleans())
def test_slope_is_the_derivative_along_h(push, p, problem, h, real):
    preferences, rows = prepare(problem)
    h = h[: len(problem.y)]
    objective = PUSHES[push](preferences, float(p), 1.0)
    direction = h[rows] * 0.5 if real else h[rows]
    slope = objective.slope(problem.f[rows], direction)
    for a in (-0.7, 0.0, 0.3):
        moved = problem.f + a * (h * 0.5 if real else h)
        expected = -oracles.edge(h * (0.5 if real else 1.0), moved, *oracle_of(problem), p, push)
        assert slope(a) == pytest.approx(expected, rel=1e-9, abs=1e-10 * p)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("p", [1, 4, 64])
@given(problem=problems(), h=SPLIT_H)
def test_pair_shares_equal_the_pair_masses(side, p, problem, h):
    preferences, rows = prepare(problem)
    h = h[: len(problem.y)]
    shares = SidePush(preferences, float(p), side).pair_shares(problem.f[rows], h[rows])
    if p > 1 and not oracles.is_one_bipartite_list(*oracle_of(problem)):
        assert shares is None
        return
    expected = oracles.pair_masses(h, problem.f, *oracle_of(problem), p, side)
    np.testing.assert_allclose(
        (shares.right, shares.wrong, shares.tied), expected, rtol=1e-9, atol=1e-12
    )


@crossed(push=list(PUSHES), p=POWERS)
@given(problem=problems(), h=SPLIT_H, scale=st.sampled_from([None, 0.25, 3.0]))
def test_step_equals_the_oracles(push, p, problem, h, scale):
    """0/1 weak rankers and real-valued ones (0 or `scale`), separating ones included."""
    preferences, rows = prepare(problem)
    h = h[: len(problem.y)]
    values = h if scale is None else h * scale
    descent = ScoreState(PUSHES[push](preferences, float(p), 1.0), preferences, problem.f[rows])
    rule = PushStep(
        1.0 if push == "ir" else p,
        oracles.smoothing(*oracle_of(problem)),
        preferences.largest_difference,
    )
    step = rule(descent, Candidate(0, 0.0), values[rows])
    values = values.astype(float)
    expected = oracles.step(values, problem.f, *oracle_of(problem), p, push)
    if abs(oracles.edge(values, problem.f, *oracle_of(problem), p, push)) < 1e-8:
        assert np.isfinite(step)  # the edge is lost to rounding: no round would take it
        return
    assert step == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(problem=problems())
def test_offset_balances_the_exponential_masses(problem):
    positive = problem.y == problem.y.max()
    w = np.ones(len(positive)) if problem.w is None else problem.w
    positive, f, w = positive[w > 0], problem.f[w > 0], w[w > 0]
    offset = balancing_offset(f, positive, np.log(w))
    skew = w[positive] @ np.exp(-f[positive] - offset) - w[~positive] @ np.exp(
        f[~positive] + offset
    )
    assert skew == pytest.approx(0, abs=1e-10 * (w @ np.exp(np.abs(f))))
    assert offset == pytest.approx(oracles.f_skew_offset(f, positive.astype(float), w), abs=1e-12)


@pytest.mark.parametrize("push", PUSHES)
@pytest.mark.parametrize("p", [1.0, 64.0])
@pytest.mark.parametrize("spread", [1e4, 1e10, 1e20])
def test_extreme_scores_stay_finite(push, p, spread):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 40).astype(float)
    qid = rng.integers(0, 3, 40)
    scores = np.linspace(-spread, spread, 40)[rng.permutation(40)]
    preferences = Preferences.from_labels(y, qid, np.ones(40))
    objective, f = PUSHES[push](preferences, p, 1.0), scores[preferences.order]
    assert all(np.isfinite(part).all() for part in objective.value_and_gradient(f))
    if push != "both":
        curvature = objective.value_gradient_curvature(f)[2]
        assert np.isfinite(curvature).all()
        assert (curvature >= 0).all()


@given(problem=problems())
def test_margins_and_gaps_equal_the_loop_over_pairs(problem):
    preferences, rows = prepare(problem)
    is_pair = oracles.above(*oracle_of(problem))
    differences = np.subtract.outer(problem.f, problem.f)[is_pair]
    f = problem.f[rows]
    assert preferences.smallest_difference(f, f) == differences.min()
    assert preferences.largest_difference(f) == np.abs(differences).max()
    assert preferences.total_pair_weight == pytest.approx(
        oracles.total_pair_weight(*oracle_of(problem)), rel=1e-13
    )


@given(problem=problems(), scale=st.sampled_from([1e-170, 1e-3, 1.0, 1e3, 1e170]))
def test_logarithms_of_pair_weights_equal_the_loop_over_pairs(problem, scale):
    """At scales at which a product of two weights, or its square, is no float."""
    preferences, _ = prepare(problem)
    w = np.ones(len(problem.y)) if problem.w is None else problem.w
    scaled = replace(preferences, weight=scale * preferences.weight)
    for power in (1, 2):
        expected = np.log(oracles.total_pair_weight(problem.y, problem.qid, w**power))
        expected += 2 * power * np.log(scale)
        assert scaled.log_pair_weight(power) == pytest.approx(expected, rel=1e-13, abs=1e-12)


def test_many_levels_are_scanned_like_few():
    """Queries of many levels take another way through the scans."""
    rng = np.random.default_rng(1)
    y = np.concatenate([rng.permutation(80), rng.integers(0, 3, 20)]).astype(float)
    qid = np.repeat([5, 2], [80, 20])
    f = rng.standard_normal(100)
    preferences = Preferences.from_labels(y, check_qid(qid, 100), np.ones(100))
    value, gradient = SidePush(preferences, 4.0).value_and_gradient(f[preferences.order])
    assert value == pytest.approx(oracles.log_push(f, y, qid, None, 4), rel=1e-12)
    np.testing.assert_allclose(
        gradient, -oracles.row_masses(f, y, qid, None, 4)[preferences.order], atol=1e-12
    )


@pytest.mark.parametrize("side", SIDES)
@given(problem=bipartite(queries=("none",)), h=SPLIT_H)
def test_the_slope_of_masses_in_place_is_that_of_the_objective(side, problem, h):
    preferences, rows = prepare(problem)
    push, f = SidePush(preferences, 3.0, side), problem.f[rows]
    assume(push.side_exponents is not None)
    values = h[: len(f)]
    state = ExponentialState(push, f, ThreadPool(1), with_margin=False)
    for step in (-0.7, 0.0, 0.4):
        expected = push.slope(f, values)(step)
        assert state.slope(values)(step) == pytest.approx(expected, rel=1e-9, abs=1e-12)
