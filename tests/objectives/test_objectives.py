"""Objectives and steps against the O(n^2) definitions."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from oracles import definitions as oracles
from strategies import bipartite, one_list, problems
from tiers import crossed

from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Candidate
from sklearn_rank._core.validation import check_qid
from sklearn_rank.objectives import (
    PUSHES,
    ExponentialState,
    InformationRetrievalPush,
    ScoreState,
    SidePush,
    balancing_offset,
    make_push,
)
from sklearn_rank.solvers.coordinate_descent import PushStep

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
    pair_weight = preferences.weight * oracles.relative_pairs(*oracle_of(problem), side)[rows]
    for push in path:
        assert push.side == side
        assert push.value(f) - limit <= np.log(total) / push.p + 1e-12
        assert push.value(f) - limit >= np.log(pair_weight.min()) / push.p - 1e-12


# The weight of queries and grades -----------------------------------------------------

SIDED_LOSSES = ["exponential", "logistic", "squared_hinge"]


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("p", [4, 64, np.inf])
@given(problem=one_list())
def test_one_bipartite_list_has_the_plain_sum_of_the_paper(side, p, problem):
    preferences, rows = prepare(problem)
    value, plain = (
        SidePush(preferences, float(p), side, is_relative).value(problem.f[rows])
        for is_relative in (True, False)
    )
    assert value == plain


@crossed(side=SIDES, loss=SIDED_LOSSES)
@given(problem=problems(), p=st.sampled_from([2.0, 4.0, 64.0]))
def test_at_equal_scores_the_gradient_does_not_depend_on_p(side, loss, problem, p):
    """Every query counts by its number of pairs, however many rows of it are above."""
    preferences, _ = prepare(problem)
    zeros = np.zeros(preferences.n_rows)
    pushed, plain = (
        make_push(preferences, loss, power, side).value_and_gradient(zeros) for power in (p, 1.0)
    )
    np.testing.assert_allclose(pushed[1], plain[1], rtol=1e-10, atol=1e-13)
    if loss != "exponential":
        assert pushed[0] == pytest.approx(plain[0], rel=1e-12)


def mean_of_powers(f, y, qid, w, loss, p, side):
    """The p-mean of the rows' mean losses, each with the weight of the row's pairs."""
    i, k, v = oracles.weighted_pairs(y, qid, w)
    row, phi = k if side == "top" else i, oracles.phi(loss, oracles.pair_margins(f, y, qid, w))
    pairs, losses = np.bincount(row, v), np.bincount(row, v * phi)
    means = losses[pairs > 0] / pairs[pairs > 0]
    return np.average(means**p, weights=pairs[pairs > 0]) ** (1 / p)


@crossed(side=SIDES, loss=SIDED_LOSSES)
@given(problem=problems(), p=st.sampled_from([1.0, 4.0, 16.0]))
def test_the_push_is_the_mean_of_the_powers_of_mean_losses(side, loss, problem, p):
    preferences, rows = prepare(problem)
    value = make_push(preferences, loss, p, side).value(problem.f[rows])
    if loss == "exponential":  # the logarithm, but for a constant
        value = np.exp(value - make_push(preferences, loss, p, side).value(np.zeros(len(rows))))
    expected = mean_of_powers(problem.f, *oracle_of(problem), loss, p, side)
    assert value == pytest.approx(expected, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("push", ["top", "bottom", "both"])
@pytest.mark.parametrize("loss", SIDED_LOSSES)
@pytest.mark.parametrize("p", [4.0, 64.0])
def test_queries_of_one_and_of_many_rows_above(push, loss, p):
    """The factor ``(N_k / max N)^(1 - p)`` is 1e315 at p = 64: too large for a float."""
    y, qid = np.array([1.0, 0.0, 0.0] * 3), np.repeat([0, 1, 2], 3)
    w = np.array([1.0, 1, 2, 1e5, 1, 3, 1e5, 1e5, 1e5])
    f = np.array([0.0, 1.0, -1.0, 0.5, 0.25, 1.0, 0.0, 0.0, -0.5])
    preferences = Preferences.from_labels(y, qid, w)
    objective, rows = make_push(preferences, loss, p, push), preferences.order
    value, gradient = objective.value_and_gradient(f[rows])
    curvature = objective.value_gradient_curvature(f[rows])[2]
    assert all(np.isfinite(one).all() for one in (value, gradient, curvature))
    assert gradient.any()
    assert curvature.any()
    if loss == "exponential":
        assert value == pytest.approx(oracles.log_push(f, y, qid, w, p, push), rel=1e-12)
        expected = -oracles.row_masses(f, y, qid, w, p, push)
        np.testing.assert_allclose(gradient, expected[rows], rtol=1e-9, atol=1e-12)
    elif push != "both":
        assert value == pytest.approx(mean_of_powers(f, y, qid, w, loss, p, push), rel=1e-12)


# Second derivatives -------------------------------------------------------------------


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


@pytest.mark.parametrize("push", PUSHES)
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


@pytest.mark.parametrize("push", PUSHES)
@pytest.mark.parametrize("p", [1.0, 3.5])
@given(problem=problems(spread=2.0), h=UNIT_H)
def test_curvature_bounds_the_second_derivatives(push, p, problem, h):
    preferences, rows = prepare(problem)
    objective, f = PUSHES[push](preferences, p, 1.0), problem.f[rows]
    curvature, matrix = objective.value_gradient_curvature(f)[2], hessian(objective, f)
    assert_bounds(curvature, matrix, h, 1e-6 * p**2)
    if push == "ir":  # the diagonal, but of rows that are below others more
        assert np.all(curvature >= np.diag(matrix) - 1e-7)
        is_top = oracles.above(problem.y, problem.qid, problem.w).any(axis=0)[rows] == 0
        np.testing.assert_allclose(curvature[is_top], np.diag(matrix)[is_top], atol=1e-7)
    elif push != "both" and preferences.bipartite_segments is not None:
        # The diagonal but for the square of the gradient.
        square = objective.value_and_gradient(f)[1] ** 2
        inner = np.arange(len(f)) < preferences.segments.start[preferences.bipartite_segments[1]]
        factor = np.where(inner == (push != "bottom"), 1.0, p)
        np.testing.assert_allclose(curvature - factor * square, np.diag(matrix), atol=1e-6 * p**2)


def test_ir_curvature_of_upper_rows_keeps_its_digits():
    """s (1 - s) with 1 - s as a difference would be zero."""
    preferences = Preferences.from_labels(np.array([1.0, 1.0, 0.0]), None, np.ones(3))
    push, each = PUSHES["ir"](preferences, 1.0, 1.0), np.exp(-300) / (1 + np.exp(-300)) ** 2
    for f in (np.array([0.0, 0.0, 300.0]), np.array([300.0, 300.0, 0.0])):
        curvature = push.value_gradient_curvature(f)[2]
        np.testing.assert_allclose(curvature[:2], each, rtol=1e-12)


def test_abilities_are_methods_that_the_others_do_not_have():
    preferences = Preferences.from_labels(np.array([1.0, 0.0]), None, np.ones(2))
    made = {name: make(preferences, 4.0, 1.0) for name, make in PUSHES.items()}
    one_sided = ["top", "crucial_pairs", "bottom"]
    assert [name for name, push in made.items() if hasattr(push, "pair_shares")] == one_sided
    assert all(hasattr(push, "value_gradient_curvature") for push in made.values())
    assert not any(hasattr(push, "smooth_path") for push in made.values())
    infinite = SidePush(preferences, np.inf, "top")
    assert hasattr(infinite, "smooth_path")
    assert not hasattr(infinite, "value_gradient_curvature")


@crossed(push=list(PUSHES), p=[1, 4, 64])
@given(problem=problems(), h=SPLIT_H, real=st.booleans())
def test_slope_is_the_derivative_along_h(push, p, problem, h, real):
    preferences, rows = prepare(problem)
    h = h[: len(problem.y)] * 0.5 if real else h[: len(problem.y)]
    slope = PUSHES[push](preferences, float(p), 1.0).slope(problem.f[rows], h[rows])
    for a in (-0.7, 0.0, 0.3):
        expected = -oracles.edge(1.0 * h, problem.f + a * h, *oracle_of(problem), p, push)
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
    power, smoothing = 1.0 if push == "ir" else p, oracles.smoothing(*oracle_of(problem))
    rule = PushStep(power, smoothing, preferences.largest_difference)
    step = rule(descent, Candidate(0, 0.0), values[rows])
    values = values.astype(float)
    expected = oracles.exact_step(values, problem.f, *oracle_of(problem), p, push)
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
    state = ExponentialState(push, f, ThreadPool(1))
    for step in (-0.7, 0.0, 0.4):
        expected = push.slope(f, values)(step)
        assert state.slope(Candidate(0, 0.0), values)(step) == pytest.approx(
            expected, rel=1e-9, abs=1e-12
        )


def test_threads_share_the_ir_push_of_a_list():
    """Blocks of rows in any order: the same numbers to the last bit."""
    rng = np.random.default_rng(0)
    y, f, w = rng.random(150_000) < 0.4, rng.normal(size=150_000), rng.uniform(0.5, 2, 150_000)
    push = InformationRetrievalPush(Preferences.from_labels(y, None, w))
    alone = push.value_gradient_curvature(f)
    with ThreadPool(2).running() as threads:
        shared = push.in_threads(threads).value_gradient_curvature(f)
    for one, other in zip(alone, shared, strict=True):
        np.testing.assert_array_equal(one, other)
