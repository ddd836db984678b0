"""Sums of a margin loss over all pairs, against the explicit pairs."""

from functools import cache
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import definitions as oracles
from scipy import special
from strategies import problems
from test_objectives import oracle_of, prepare
from tiers import crossed

from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import require
from sklearn_rank._core.validation import check_qid
from sklearn_rank._pair_sums._exponential_sums import ExponentialSums
from sklearn_rank._pair_sums._logistic._list_in_cells import logistic_sums
from sklearn_rank._pair_sums._logistic._scan import SortedRows
from sklearn_rank._pair_sums._moment_sums import least_squares_sums
from sklearn_rank._pair_sums.margin_losses import as_margin_loss
from sklearn_rank.objectives import (
    MARGIN_LOSSES,
    MarginLoss,
    MarginPush,
    PairLoss,
    pair_loss_and_gradient,
)
from sklearn_rank.objectives._margin_push import MARGIN_PUSHES

LOSSES = list(MARGIN_LOSSES)
# Numeric differences need a second derivative too, which the squared hinge lacks at its kink.
SMOOTH = [name for name in LOSSES if MARGIN_LOSSES[name].is_smooth and name != "squared_hinge"]
METHODS = ["dense", "fast", "auto"]
CURVED = [name for name, law in MARGIN_LOSSES.items() if hasattr(law, "second_derivative")]
PUSH_LOSSES = [name for name in LOSSES if name != "exponential"]
POWERS = [1, 2, 4, 16, 64]

every_loss = pytest.mark.parametrize("loss", LOSSES)
every_curved_loss = pytest.mark.parametrize("loss", CURVED)
every_method = pytest.mark.parametrize("method", METHODS)

SEVERAL_PIECES = patch("sklearn_rank._pair_sums._block_sums.BLOCK_PAIRS", 5)
"""Pairs enough for a block of its own, and for several pieces of it."""

# Multiples of 0.2425, or 2.91 apart from those: no margin is nearer to 1 than 0.03.
OFF_THE_KINK = 0.97


# The oracles, by hand and by numeric differences --------------------------------------------


def test_losses_by_hand():
    m = [-1.0, 0.0, 1.0, 2.0]
    expected = {
        "exponential": np.exp([1, 0, -1, -2]),
        "least_squares": [4, 1, 0, 1],
        "hinge": [2, 1, 0, 0],
        "squared_hinge": [4, 1, 0, 0],
        "logistic": np.log1p(np.exp([1, 0, -1, -2])),
    }
    assert expected.keys() == MARGIN_LOSSES.keys()
    slopes = {"least_squares": [-4, -2, 0, 2], "hinge": [-1, -1, -1, 0]}
    for loss, values in expected.items():
        np.testing.assert_allclose(oracles.phi(loss, m), values, rtol=1e-15)
        apart = np.array(m) - 0.5 if loss == "hinge" else np.array(m)
        numeric = [
            oracles.numeric_gradient(lambda x, L=loss: oracles.phi(L, x[0]), [x]) for x in apart
        ]
        tolerance = 2e-3 if loss == "squared_hinge" else 1e-10
        found = oracles.phi_derivative(loss, apart)
        np.testing.assert_allclose(found, np.ravel(numeric), atol=tolerance)
        if loss in slopes:
            np.testing.assert_array_equal(oracles.phi_derivative(loss, m), slopes[loss])


@crossed(loss=LOSSES, push=[None, *MARGIN_PUSHES])
@given(problem=problems(spread=1.5), p=st.sampled_from([1, 3, 16]))
def test_gradients_of_the_oracles_are_numeric_gradients(loss, push, problem, p):
    f, options = problem.f * OFF_THE_KINK, (*oracle_of(problem), loss)

    def value_and_gradient(f):
        if push is None:
            return oracles.pair_sum(f, *options), oracles.pair_sum_gradient(f, *options)
        return oracles.margin_push(f, *options, p, push, 0.7)

    value, gradient = value_and_gradient(f)
    numeric = oracles.numeric_gradient(lambda f: value_and_gradient(f)[0], f, 1e-5)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-7 * max(1, value))


def test_the_push_of_the_oracle_by_hand():
    """Rows 1, 1, 0, 0 of least squares: heights of the lower rows 4 + 1 and 0 + 1."""
    f, y, w = [0.0, 1.0, 1.0, 0.0], [1, 1, 0, 0], [1, 1, 1, 3]
    top, _ = oracles.margin_push(f, y, None, w, "least_squares", 2, "top")
    assert top == pytest.approx(np.sqrt((25 + 3 * 1) / (4 + 3 * 4)))
    bottom, _ = oracles.margin_push(f, y, None, w, "least_squares", 2, "bottom")
    assert bottom == pytest.approx(np.sqrt((7**2 + 1**2) / (2 * 4**2)))
    both, _ = oracles.margin_push(f, y, None, w, "least_squares", 2, "both", 0.5)
    assert both == pytest.approx(np.sqrt((28 + 0.5 * 50) / (16 + 0.5 * 32)))


def test_the_push_of_the_oracle_by_hand_with_queries():
    """Least squares: two rows above one, heights 4 + 1, and one above another, height 4."""
    f, y, qid = [0.0, 1.0, 1.0, 0.0, 1.0], [1, 1, 0, 1, 0], ["a", "a", "a", "b", "b"]
    top, _ = oracles.margin_push(f, y, qid, None, "least_squares", 3)
    assert top == pytest.approx(((2 * (5 / 2) ** 3 + 1 * (4 / 1) ** 3) / (2 + 1)) ** (1 / 3))


# The losses ---------------------------------------------------------------------------------


@every_loss
def test_losses_equal_their_definition(loss):
    m = np.concatenate([np.linspace(-40, 40, 321), [1, np.nextafter(1, 2), np.nextafter(1, 0)]])
    law = MARGIN_LOSSES[loss]
    np.testing.assert_allclose(law.value(m), oracles.phi(loss, m), rtol=1e-14)
    np.testing.assert_allclose(law.derivative(m), oracles.phi_derivative(loss, m), rtol=1e-14)
    assert law.slope_at_zero == abs(oracles.phi_derivative(loss, 0.0))


@every_loss
@pytest.mark.parametrize("radius", [0.01, 0.5, 1, 4, 30])
def test_local_lipschitz_constants(loss, radius):
    """The supremum of (3.7) of Chen2012, never below it and never above the global one."""
    m = np.linspace(-radius, radius, 2001)
    m = m[m != 0]
    slopes = oracles.phi_derivative(loss, m) - oracles.phi_derivative(loss, 0.0)
    found = MARGIN_LOSSES[loss].local_lipschitz(radius)
    assert found >= np.max(np.abs(slopes / m)) * (1 - 1e-9)
    assert found <= oracles.local_lipschitz(loss, radius) * (1 + 1e-12)


# Sums over pairs: small problems, every kind ------------------------------------------------


def assert_are_those_of_oracle(value, gradient, problem, f, loss, tolerance=1e-10):
    """The value, and the gradient of the rows in their order in the problem."""
    total = oracles.total_pair_weight(*oracle_of(problem))
    expected = oracles.pair_sum(f, *oracle_of(problem), loss)
    assert value == pytest.approx(expected, rel=0, abs=tolerance * max(total, abs(expected)))
    scale = oracles.pair_sum_absolute(f, *oracle_of(problem), loss)
    error = gradient - oracles.pair_sum_gradient(f, *oracle_of(problem), loss)
    assert np.all(np.abs(error) <= tolerance * scale)


def in_order_of_problem(gradient, rows, problem):
    """Entries of rows that are not there are zero."""
    found = np.zeros(len(problem.y))
    found[rows] = gradient
    return found


def assert_equals_oracle(problem, f, loss, method):
    preferences, rows = prepare(problem)
    sums = PairLoss(preferences, loss, method=method)
    value, gradient = sums.value_and_gradient(f[rows])
    found = in_order_of_problem(gradient, rows, problem)
    assert_are_those_of_oracle(value, found, problem, f, loss)
    total = oracles.total_pair_weight(*oracle_of(problem))
    assert sums.value(f[rows]) == pytest.approx(value, rel=1e-12, abs=1e-12 * total)
    scale = oracles.pair_sum_absolute(f, *oracle_of(problem), loss)
    assert abs(gradient.sum()) <= 1e-10 * scale.sum()


@every_loss
@every_method
@given(problem=problems(), stretch=st.sampled_from([1.0, 0.37, 11.0, 0.0]))
def test_value_and_gradient_equal_the_definition(loss, method, problem, stretch):
    """Scores on quarters, so that margins of exactly 1 are common; then others."""
    assert_equals_oracle(problem, stretch * problem.f, loss, method)


@every_loss
@given(problem=problems())
def test_value_and_gradient_equal_the_definition_in_pieces(loss, problem):
    with SEVERAL_PIECES:
        assert_equals_oracle(problem, problem.f, loss, "dense")


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@every_method
@given(problem=problems(), shift=st.sampled_from([0.1, 1e3 + 0.1, -0.3, 1e9 + 0.1]))
def test_ties_at_the_kink_are_cut_by_one_key(loss, method, problem, shift):
    """A pair is active when the float ``f_i - f_k`` is at most 1, whatever ``f_i - 1`` is."""
    preferences, rows = prepare(problem)
    f = problem.f + shift
    gradient = PairLoss(preferences, loss, method=method).value_and_gradient(f[rows])[1]
    i, k, v = oracles.weighted_pairs(*oracle_of(problem))
    assert abs(gradient.sum()) <= 1e-10 * v.sum() * max(1, np.ptp(f))
    if loss == "hinge":
        active = v * (f[i] - f[k] <= 1)
        expected = np.bincount(k, active, len(f)) - np.bincount(i, active, len(f))
        np.testing.assert_allclose(gradient, expected[rows], rtol=0, atol=1e-10 * v.sum())


@crossed(loss=LOSSES, method=METHODS)
@given(problem=problems(), data=st.data())
def test_margins_as_large_as_they_get(loss, method, problem, data):
    """Finite at margins of +-1e20, and as exact as scores of this size allow.

    Sums of moments, and the key f_i - 1, know a margin up to a rounding of the scores;
    the logistic loss is bounded by its ends. The exponential's value may be infinite.
    """
    spread = data.draw(st.sampled_from([1e3, 1e10, 1e20]))
    preferences, rows = prepare(problem)
    f = problem.f * spread
    value, gradient = PairLoss(preferences, loss, method=method).value_and_gradient(f[rows])
    expected = oracles.pair_sum(f, *oracle_of(problem), loss)
    if loss == "exponential" and not np.isfinite(expected):
        assert method == "dense" or (value == np.inf and not np.isnan(gradient).any())
        return
    assert np.isfinite(gradient).all()
    tolerance = 1e-10 + (0.0 if loss == "logistic" else 1e-15 * np.abs(f).max())
    found = in_order_of_problem(gradient, rows, problem)
    assert_are_those_of_oracle(value, found, problem, f, loss, tolerance)


@crossed(loss=LOSSES, method=METHODS, side=["top", "bottom"])
@given(problem=problems(), margin=st.sampled_from([0.0, 0.5, -2.0]))
def test_heights_equal_the_definition(loss, method, side, problem, margin):
    preferences, rows = prepare(problem)
    with SEVERAL_PIECES:
        sums = PairLoss(preferences, loss, method=method)
        found = sums.heights(problem.f[rows], preferences.weight, side, margin)
    i, k, _ = oracles.weighted_pairs(*oracle_of(problem))
    weight, n = oracles.row_weights(problem.y, problem.w), len(problem.y)
    inner, outer = (i, k) if side == "top" else (k, i)
    losses = weight[inner] * oracles.phi(loss, problem.f[i] - problem.f[k] - margin)
    expected, total = (np.bincount(outer, each, n)[rows] for each in (losses, weight[inner]))
    np.testing.assert_allclose(preferences.paired_weight(side), total, rtol=1e-14)
    error = np.abs(found - expected)
    assert np.all(error <= 1e-10 * np.maximum(total, expected))
    if loss == "exponential":
        logs = ExponentialSums(preferences, 1.0, side).log_heights(problem.f[rows])
        np.testing.assert_allclose(np.exp(logs + margin), expected, rtol=1e-12)


@pytest.mark.parametrize("side", ["top", "bottom"])
@pytest.mark.parametrize("n_wide", [1, 3, 40])
def test_logistic_sums_where_some_of_many_small_queries_are_wide(n_wide, side):
    rng = np.random.default_rng(n_wide)
    f, qid = rng.normal(size=(40, 4)), np.repeat(np.arange(40), 4)
    f[:n_wide] *= 1e4  # their exponentials are beyond the floats
    y = np.tile([0, 1, 0, 1], 40)
    preferences = Preferences.from_labels(y, check_qid(qid, len(y)), np.ones(len(y)))
    f, dense = f.ravel()[preferences.order], PairLoss(preferences, "logistic", method="dense")
    found = PairLoss(preferences, "logistic")
    assert found.value(f) == pytest.approx(dense.value(f), rel=1e-12)
    gradients = [one.value_gradient_curvature(f)[1] for one in (found, dense)]
    np.testing.assert_allclose(*gradients, rtol=1e-9, atol=1e-12)
    heights = [one.heights(f, preferences.weight, side) for one in (found, dense)]
    np.testing.assert_allclose(*heights, rtol=1e-9)


@every_loss
@given(problem=problems())
def test_pair_loss_of_rows_in_any_order(loss, problem):
    value, gradient = pair_loss_and_gradient(
        problem.y, problem.f, loss=loss, qid=problem.qid, sample_weight=problem.w
    )
    assert_are_those_of_oracle(value, gradient, problem, problem.f, loss)
    if problem.w is not None:
        np.testing.assert_array_equal(gradient[problem.w == 0], 0)


def test_names_that_are_not_known():
    preferences = Preferences.from_labels(np.array([1.0, 0.0]), None, np.ones(2))
    for loss in ("nope", None, 3):
        for call in (
            lambda loss=loss: PairLoss(preferences, loss),
            lambda loss=loss: pair_loss_and_gradient([1, 0], [0.0, 1.0], loss=loss),
            lambda loss=loss: MarginPush(preferences, loss, 2.0),
        ):
            with pytest.raises(ValueError) as caught:
                call()
            assert repr(loss) in str(caught.value)
            assert all(repr(name) in str(caught.value) for name in PUSH_LOSSES)
    for call, names in (
        (lambda: PairLoss(preferences, "logistic", method="nope"), METHODS),
        (lambda: MarginPush(preferences, "logistic", 2.0, push="nope"), MARGIN_PUSHES),
    ):
        with pytest.raises(ValueError) as caught:
            call()
        assert all(repr(name) in str(caught.value) for name in [*names, "nope"])


# Sums over pairs: thousands of rows of every shape ------------------------------------------

N = 3000


def _scores():
    """Score distributions, by name."""
    rng = np.random.default_rng(0)
    normal = rng.normal(size=N)
    far = 1e6 * rng.integers(0, 2, N)
    outlier = normal.copy()
    outlier[7] = 1e6
    scores = {f"normal {scale}": scale * normal for scale in (0.1, 1, 5, 30)}
    scores |= {
        f"uniform {spread:g}": spread * rng.uniform(-1, 1, N) for spread in (300, 3e3, 3e4, 1e6)
    }
    return scores | {
        "two far clusters": far + rng.normal(size=N),
        "two far points": far,
        "one outlier": outlier,
        "all equal": np.full(N, 0.3),
        "integers": rng.integers(-4, 5, N).astype(float),
        "heavy tails": rng.standard_cauchy(N) ** 3,
    }


def _cases():
    """(y, qid, w, f) by name: distributions of scores, then of everything else."""
    rng = np.random.default_rng(1)
    binary = (rng.random(N) < 0.4).astype(float)
    scores = _scores()
    cases = {name: (binary, None, None, f) for name, f in scores.items()}
    weight = 10 ** rng.uniform(-3, 3, N)
    rare = (rng.random(N) < 0.01).astype(float)
    five, many = rng.integers(0, 5, N).astype(float), rng.integers(0, 500, N).astype(float)
    qid = rng.permutation(
        np.concatenate([np.zeros(2000, int), 1 + rng.geometric(0.01, N - 2000) % 300])
    )
    high = np.where(binary > 0, 1e6, 0) + scores["normal 1"]
    cases |= {
        "separated clusters": (binary, None, None, high),
        "inverted clusters": (1 - binary, None, None, high),
        "queries apart": (binary, qid, None, scores["normal 1"] + 1e4 * (qid % 7)),
    }
    for name in ("normal 1", "uniform 3000", "heavy tails"):
        f = scores[name]
        cases |= {
            f"weights, {name}": (binary, None, weight, f),
            f"few positives, {name}": (rare, None, None, f),
            f"5 levels, {name}": (five, None, weight, f),
            f"500 levels, {name}": (many, None, None, f),
            f"300 queries, {name}": (binary, qid, None, f),
        }
    return cases | {"300 graded queries": (five, qid, weight, scores["normal 5"])}


CASES = _cases()


def preferences_of(case):
    """The preferences of a case, and the scores in their order."""
    y, qid, w, f = CASES[case]
    codes = None if qid is None else check_qid(qid, len(y))
    preferences = Preferences.from_labels(y, codes, oracles.row_weights(y, w))
    return preferences, f[preferences.order]


@cache
@np.errstate(over="ignore", invalid="ignore")  # exponentials may be infinite
def summed_in_blocks(case, loss):
    """(value, gradient, scale of each entry, total weight) by blocks of explicit pairs."""
    y, qid, w, f = CASES[case]
    weight = oracles.row_weights(y, w)
    value = total = 0.0
    gradient, scale = np.zeros(len(y)), np.zeros(len(y))
    query = np.zeros(len(y), int) if qid is None else qid
    for q in np.unique(query):
        rows = np.flatnonzero(query == q)
        rows = rows[np.argsort(-y[rows], kind="stable")]
        for first in range(0, len(rows), 200):
            i = rows[first : first + 200]
            k = rows[np.searchsorted(-y[rows], -y[i[0]], side="right") :]
            v = weight[i][:, None] * weight[k] * (y[i][:, None] > y[k])
            margin = np.where(v > 0, f[i][:, None] - f[k], 0.0)
            slope = oracles.phi_derivative(loss, margin)
            value += float(np.sum(v * oracles.phi(loss, margin)))
            moved = v * slope
            size = v * np.maximum(1, np.abs(slope))
            total += float(v.sum())
            gradient[i] += moved.sum(axis=1)
            gradient[k] -= moved.sum(axis=0)
            scale[i] += size.sum(axis=1)
            scale[k] += size.sum(axis=0)
    return value, gradient, scale, total


@crossed(tiers=("slow", "nightly", "nightly"), case=list(CASES), loss=LOSSES)
def test_many_rows_of_every_shape(case, loss):
    value, gradient, scale, total = summed_in_blocks(case, loss)
    preferences, scores = preferences_of(case)
    order = preferences.order
    assert preferences.total_pair_weight == pytest.approx(total, rel=1e-12)
    for method in ("auto", "fast"):
        found, slopes = PairLoss(preferences, loss, method=method).value_and_gradient(scores)
        if not np.isfinite(value):
            assert found == np.inf, method
            continue
        assert abs(found - value) <= 1e-10 * total + 1e-12 * abs(value), method
        error = np.abs(slopes - gradient[order])
        worst = np.max(error / np.maximum(scale[order], 1e-300))
        assert worst <= 1e-10, (method, worst)
        assert abs(slopes.sum()) <= 1e-10 * scale.sum(), method


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.5, 3.0, 50.0, 1e4, 1e5, 3e5, 1e6])
def test_logistic_sums_of_a_million_scores(spread):
    """Every fineness of the grid; far apart, crowds in the middle, and none further out."""
    rng = np.random.default_rng(1)
    y, f = rng.random(10**6) < 0.5, spread * rng.standard_normal(10**6)
    preferences = Preferences.from_labels(y, None, np.ones(len(y)))
    order = preferences.order
    _, gradient, curvature = PairLoss(preferences).value_gradient_curvature(f[order])
    assert abs(gradient.sum()) <= 1e-12 * y.sum() * (~y).sum()
    for place in (*range(5), *range(len(y) - 5, len(y))):
        row = order[place]
        margin = f[row] - f[y != y[row]] if y[row] else f[y != y[row]] - f[row]
        slope = oracles.phi_derivative("logistic", margin).sum() * (1 if y[row] else -1)
        assert gradient[place] == pytest.approx(slope, abs=2e-12 * len(margin))
        second = oracles.phi_second("logistic", margin).sum()
        assert curvature[place] == pytest.approx(second, abs=1e-11 * len(margin))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "fast"])
@pytest.mark.parametrize("origin", [0, 1e10, 1e15, 1e18, -1e20])
def test_a_logistic_gap_far_from_zero(method, origin):
    """Both classes at two points: the far one may lose no margin to the nearer one."""
    y = (np.arange(N) % 3 == 0).astype(float)
    f = origin + np.where(np.arange(N) % 2, 1.0, 0.0) * max(1e6, abs(origin))
    preferences = Preferences.from_labels(y, None, np.ones(N))
    order = preferences.order
    value, gradient = PairLoss(preferences, "logistic", method=method).value_and_gradient(f[order])
    margin = np.subtract.outer(f[y == 1], f[y == 0])
    expected, slope = oracles.phi("logistic", margin), oracles.phi_derivative("logistic", margin)
    assert value == pytest.approx(expected.sum(), rel=1e-11)
    slopes = np.empty(N)
    slopes[y == 1], slopes[y == 0] = slope.sum(axis=1), -slope.sum(axis=0)
    np.testing.assert_allclose(gradient, slopes[order], rtol=0, atol=1e-10 * N)


# Second derivatives -------------------------------------------------------------------------


@every_curved_loss
def test_second_derivatives_equal_their_definition(loss):
    m = np.linspace(-40, 40, 321)
    found = MARGIN_LOSSES[loss].second_derivative(m)
    np.testing.assert_allclose(found, oracles.phi_second(loss, m), rtol=1e-12)
    if loss in SMOOTH:
        m = np.linspace(-4, 4, 30)
        numeric = [
            oracles.numeric_gradient(lambda x: oracles.phi_derivative(loss, x[0]), [x])[0]
            for x in m
        ]
        np.testing.assert_allclose(MARGIN_LOSSES[loss].second_derivative(m), numeric, rtol=1e-9)


@every_curved_loss
def test_second_derivatives_far_out(loss):
    m = np.array([-1e20, -800.0, -40.0, 40.0, 800.0, 1e20])
    found = MARGIN_LOSSES[loss].second_derivative(m)
    assert np.isfinite(found).tolist() == [loss != "exponential"] * 2 + [True] * 4
    assert np.all(found >= 0)
    if loss == "logistic":
        np.testing.assert_allclose(found[[2, 3]], np.exp(-40), rtol=1e-15)
        assert found[[0, 1, 4, 5]].tolist() == [0.0] * 4


def curvature_of(problem, f, loss, method, **options):
    preferences, rows = prepare(problem)
    sums = PairLoss(preferences, loss, method=method, **options)
    return sums.value_gradient_curvature(f[rows]), sums.value_and_gradient(f[rows]), rows


@every_curved_loss
@every_method
@given(problem=problems(max_rows=20), stretch=st.sampled_from([1.0, 0.37, 11.0, 0.0]))
def test_curvature_equals_the_definition(loss, method, problem, stretch):
    f = stretch * problem.f
    (value, gradient, curvature), (same, slopes), rows = curvature_of(problem, f, loss, method)
    np.testing.assert_allclose(value, same, rtol=1e-12)
    np.testing.assert_allclose(gradient, slopes, rtol=0, atol=1e-12 * max(1, np.abs(slopes).max()))
    expected = oracles.pair_sum_curvature(f, *oracle_of(problem), loss)[rows]
    scale = max(oracles.total_pair_weight(*oracle_of(problem)), expected.max())
    np.testing.assert_allclose(curvature, expected, rtol=0, atol=1e-10 * scale)
    assert np.all(curvature >= 0)


@every_curved_loss
@every_method
@given(problem=problems())
def test_mean_divides_by_the_total_pair_weight(loss, method, problem):
    means, (mean, slopes), _ = curvature_of(problem, problem.f, loss, method, mean=True)
    sums, _, _ = curvature_of(problem, problem.f, loss, method)
    total = oracles.total_pair_weight(*oracle_of(problem))
    for found, whole in zip((*means, mean, slopes), (*sums, *sums[:2]), strict=True):
        np.testing.assert_allclose(found, whole / total, rtol=1e-12, atol=1e-14)


def test_the_mean_without_pairs_and_beyond_the_floats():
    alone = Preferences.from_labels(np.ones(3), None, np.ones(3))
    for loss in LOSSES:
        value, gradient = PairLoss(alone, loss, mean=True).value_and_gradient(np.arange(3.0))
        assert value == 0
        np.testing.assert_array_equal(gradient, 0)
    heavy = Preferences.from_labels(np.array([1, 0]), None, np.array([1e9, 1e9]))
    scores = np.array([-700.0, 0.0])
    assert PairLoss(heavy, "exponential").value(scores) == np.inf
    mean = PairLoss(heavy, "exponential", mean=True).value(scores)
    assert mean == pytest.approx(np.exp(700), rel=1e-12)


@every_method
@given(problem=problems(spread=2.0), data=st.data())
def test_the_curvature_of_the_squared_hinge_bounds_every_step(method, problem, data):
    """The gradient's difference quotient along h, which is h'Hh of a mean Hessian."""
    (_, gradient, curvature), _, rows = curvature_of(problem, problem.f, "squared_hinge", method)
    h = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    step = data.draw(st.sampled_from([1e-3, 0.5, -3.0]))
    sums = PairLoss(prepare(problem)[0], "squared_hinge", method=method)
    moved = sums.value_and_gradient(problem.f[rows] + step * h)[1]
    quotient = float((moved - gradient) @ h) / step
    slack = 1e-9 * max(1, np.abs(gradient).max()) / abs(step)
    assert -slack <= quotient <= min(curvature @ h, curvature @ ~h) + slack


@every_curved_loss
@given(problem=problems(spread=2.0), data=st.data())
def test_the_curvature_bounds_the_hessian(loss, problem, data):
    hessian = oracles.pair_sum_hessian(problem.f, *oracle_of(problem), loss)
    (_, _, c), _, rows = curvature_of(problem, problem.f, loss, "auto")
    hessian = hessian[np.ix_(rows, rows)]
    np.testing.assert_allclose(hessian.sum(axis=1), 0, atol=1e-12 * hessian.max())
    unit = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1))
    h = np.array(data.draw(st.lists(unit, min_size=len(rows), max_size=len(rows))))
    slack = 1e-12 * c.sum()
    assert h @ hessian @ h <= min(c @ h, c @ (1 - h)) + slack
    h = 7 * h - 2
    for a in (0.0, h.mean(), 3.0):
        assert h @ hessian @ h <= 2 * c @ (h - a) ** 2 + slack


@every_curved_loss
@every_method
@given(problem=problems(), data=st.data())
def test_sums_with_two_weights(loss, method, problem, data):
    """Each role of a row has its own weight, zero included."""
    preferences, rows = prepare(problem)
    weights = st.lists(
        st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=len(rows), max_size=len(rows)
    )
    above, below = np.array(data.draw(weights)), np.array(data.draw(weights))
    place = np.full(len(problem.y), -1)
    place[rows] = np.arange(len(rows))
    i, k, _ = oracles.weighted_pairs(*oracle_of(problem))
    f, i, k = problem.f[rows], place[i], place[k]
    margin = f[i] - f[k]
    slope, second = oracles.phi_derivative(loss, margin), oracles.phi_second(loss, margin)
    sums = PairLoss(preferences, loss, method=method)
    value, upper, lower, second_upper, second_lower = sums.sums(f, above, below, with_second=True)
    expected = [
        np.bincount(i, below[k] * slope, len(f)),
        np.bincount(k, above[i] * slope, len(f)),
        np.bincount(i, below[k] * second, len(f)),
        np.bincount(k, above[i] * second, len(f)),
    ]
    scale = 1e-10 * max(1, *(np.abs(one).max() for one in expected))
    whole = float(np.sum(above[i] * below[k] * oracles.phi(loss, margin)))
    assert value == pytest.approx(whole, abs=1e-9 * max(1, whole))
    found = (upper, lower, second_upper, second_lower)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=scale)


WIDE = [name for name in CASES if any(w in name for w in ("far", "outl", "tail", "clust", "30"))]


@crossed(
    tiers=("slow", "nightly", "nightly"), case=[*WIDE, "uniform 1e+06"], method=["auto", "fast"]
)
def test_wide_scores_and_the_second_derivative(case, method):
    preferences, scores = preferences_of(case)
    total = preferences.total_pair_weight
    dense = PairLoss(preferences, "logistic", method="dense").value_gradient_curvature(scores)
    found = PairLoss(preferences, "logistic", method=method).value_gradient_curvature(scores)
    for one, other in zip(found, dense, strict=True):
        assert np.max(np.abs(one - other)) <= 1e-10 * total + 1e-12 * abs(dense[0])
    assert np.all(found[2] >= 0)
    same = PairLoss(preferences, "logistic", method=method).value_and_gradient(scores)
    assert found[0] == same[0]
    np.testing.assert_array_equal(found[1], same[1])


@pytest.mark.slow
@pytest.mark.parametrize("case", ["uniform 1e+06", "two far clusters", "heavy tails"])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5])
def test_wide_scores_with_weights_of_zero(case, share):
    """As a push has them whose powers underflow: the rows lie where no weight is."""
    preferences, scores = preferences_of(case)
    rng, ones = np.random.default_rng(4), np.ones(N)
    some = (rng.random(N) < share).astype(float)
    scores = scores - np.where(rng.random(N) < 0.1, 3e5, 0)
    for weights in ((ones, some), (some, ones), (some, some)):
        found, dense = (
            PairLoss(preferences, "logistic", method=method).sums(scores, *weights, True)
            for method in ("fast", "dense")
        )
        assert found.value == pytest.approx(dense.value, rel=1e-12, abs=1e-10 * N**2)
        for one, other in zip(found[1:], dense[1:], strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-10 * N)


@every_curved_loss
@every_method
@pytest.mark.parametrize("spread", [800.0, 1e20])
def test_curvature_at_margins_as_large_as_they_get(loss, method, spread):
    y, f = np.array([1, 1, 0, 0, 2]), spread * np.array([-1.0, 1.0, -1.0, 1.0, 0.0])
    preferences = Preferences.from_labels(y, None, np.ones(5))
    curvature = PairLoss(preferences, loss, method=method).value_gradient_curvature(
        f[preferences.order]
    )[2]
    assert not np.isnan(curvature).any()
    assert np.all(curvature >= 0)
    expected = oracles.pair_sum_curvature(f, y, None, None, loss)[preferences.order]
    if loss != "exponential":
        np.testing.assert_allclose(curvature, expected, atol=1e-12)


@every_loss
@given(problem=problems(spread=2.0), data=st.data())
def test_slope_is_the_derivative_along_h(loss, problem, data):
    preferences, rows = prepare(problem)
    f, sums = OFF_THE_KINK * problem.f[rows], PairLoss(preferences, loss, mean=True)
    h = data.draw(st.sampled_from([np.arange(len(rows)) % 2 == 0, np.arange(len(rows)) / 7]))
    a = 0.001
    numeric = oracles.numeric_gradient(lambda x: sums.value(f + x[0] * h), [a], 1e-4)[0]
    assert sums.slope(f, h)(a) == pytest.approx(numeric, rel=1e-5, abs=1e-5)


# Losses as objects --------------------------------------------------------------------------


class WideHinge(MarginLoss):
    """Only what a loss must have."""

    is_smooth = False

    def value_and_derivative(self, margin):
        return 2 * np.maximum(1.5 - margin, 0.0), np.where(margin <= 1.5, -2.0, 0.0)


class PairwiseHinge(MarginLoss):
    """The hinge loss, summed pair by pair."""

    is_smooth = False

    def value_and_derivative(self, margin):
        return MARGIN_LOSSES["hinge"].value_and_derivative(margin)


class PassingHinge(PairwiseHinge):
    """The same with the fast sums of the package's hinge loss."""

    fast_sums = MARGIN_LOSSES["hinge"].fast_sums


class NamedHinge(type(MARGIN_LOSSES["hinge"])):
    """The loss of its parent."""


ABILITIES = ["second_derivative", "rounded", "local_lipschitz"]


@given(problem=problems())
@every_method
def test_a_loss_with_only_value_and_derivative(method, problem):
    preferences, rows = prepare(problem)
    sums = PairLoss(preferences, WideHinge(), method=method)
    value, gradient = sums.value_and_gradient(problem.f[rows])
    i, k, v = oracles.weighted_pairs(*oracle_of(problem))
    margin = problem.f[i] - problem.f[k]
    assert value == pytest.approx(float(v @ WideHinge().value(margin)), rel=1e-12)
    slope = v * WideHinge().derivative(margin)
    expected = np.bincount(i, slope, len(problem.f)) - np.bincount(k, slope, len(problem.f))
    np.testing.assert_allclose(gradient, expected[rows], rtol=1e-12, atol=1e-12)
    assert not any(hasattr(WideHinge(), ability) for ability in ABILITIES)
    assert not sums.is_smooth
    assert WideHinge().slope_at_zero == 2.0


def test_missing_abilities_are_one_sentence():
    preferences = Preferences.from_labels(np.array([1.0, 0.0]), None, np.ones(2))
    sums = PairLoss(preferences, WideHinge())
    for method in ("value_gradient_curvature", "rounded"):
        assert not hasattr(sums, method)
        with pytest.raises(AttributeError, match=f"'PairLoss' has no attribute '{method}'"):
            getattr(sums, method)
        with pytest.raises(ValueError, match=f"A solver needs {method}, which PairLoss lacks."):
            require(sums, method, "A solver")
    with pytest.raises(ValueError, match="second_derivative, which Hinge lacks"):
        PairLoss(preferences, "hinge").sums(np.zeros(2), np.ones(2), np.ones(2), with_second=True)
    assert hasattr(PairLoss(preferences, "hinge"), "rounded")
    assert not hasattr(PairLoss(preferences, "hinge"), "value_gradient_curvature")


def test_objects_and_names_are_the_same_loss():
    y, f = np.arange(400) % 2, np.random.default_rng(0).normal(size=400)
    preferences = Preferences.from_labels(y, None, np.ones(400))
    for name, law in MARGIN_LOSSES.items():
        assert as_margin_loss(name) is law
        assert as_margin_loss(law) is law
        for loss in (law, type(law)()):
            by_object, by_name = (
                PairLoss(preferences, one, method="fast").value_and_gradient(f)
                for one in (loss, name)
            )
            assert by_object[0] == by_name[0]  # to the last digit: the same method
            np.testing.assert_array_equal(by_object[1], by_name[1])
    with pytest.raises(ValueError, match=r"The 'loss' parameter of Someone .* or a MarginLoss\."):
        as_margin_loss(WideHinge, user="Someone")


@every_loss
def test_a_subclass_with_another_loss_is_refused(loss):
    """It would inherit the sums of its parent; one with the same loss does."""
    parent = type(MARGIN_LOSSES[loss])
    steep = {"value_and_derivative": WideHinge.value_and_derivative}
    for bases in ((parent,), (WideHinge, parent)):
        other = type("Other", bases, steep)()
        with pytest.raises(ValueError, match=r"of Someone must be one loss\. Other replaces the"):
            as_margin_loss(other, user="Someone")
    same = type("Same", (parent,), {})()
    assert as_margin_loss(same) is same
    assert same.fast_sums is MARGIN_LOSSES[loss].fast_sums
    assert same.factorises == MARGIN_LOSSES[loss].factorises


def test_a_base_class_of_several_losses_keeps_its_methods():
    class Family(MarginLoss):
        def second_derivative(self, margin):
            return np.ones_like(margin)

    class Half(Family):
        def value_and_derivative(self, margin):
            return (1 - margin) ** 2 / 2, margin - 1

    assert Half().second_derivative(np.zeros(2)).tolist() == [1.0, 1.0]


def test_sums_are_those_that_a_loss_passes_on():
    y, f = np.arange(400) % 2, np.random.default_rng(0).normal(size=400)
    preferences = Preferences.from_labels(y, None, np.ones(400))
    hinge, named, passed, pairs = (
        PairLoss(preferences, loss, method="fast").value_and_gradient(f)
        for loss in ("hinge", NamedHinge(), PassingHinge(), PairwiseHinge())
    )
    assert named[0] == passed[0] == hinge[0]
    assert pairs[0] == pytest.approx(hinge[0], rel=1e-12)
    np.testing.assert_allclose(pairs[1], hinge[1], rtol=1e-12)


@pytest.mark.parametrize("width", [0.3, 1e-4, 0.9])
@every_method
@given(problem=problems())
def test_the_rounded_hinge_equals_its_definition(method, width, problem):
    preferences, rows = prepare(problem)
    hinge = PairLoss(preferences, "hinge", method=method)
    rounded = hinge.rounded(width)
    assert rounded.is_smooth
    assert not hinge.is_smooth
    f, n = problem.f, len(problem.f)
    value, gradient, curvature = rounded.value_gradient_curvature(f[rows])
    i, k, v = oracles.weighted_pairs(*oracle_of(problem))
    phi, slope, second = (v * one for one in oracles.rounded_hinge(f[i] - f[k], width))
    total = preferences.total_pair_weight
    slack = 1e-11 * total * max(1, np.ptp(f)) / width
    assert value == pytest.approx(phi.sum(), rel=0, abs=slack)
    expected = np.bincount(i, slope, n) - np.bincount(k, slope, n)
    np.testing.assert_allclose(gradient, expected[rows], rtol=0, atol=slack)
    expected = np.bincount(i, second, n) + np.bincount(k, second, n)
    np.testing.assert_allclose(curvature, expected[rows], rtol=0, atol=slack)
    assert np.all(curvature >= 0)
    sharp = hinge.value(f[rows])
    assert sharp - width / 2 * total - slack <= value <= sharp + slack
    for side in ("top", "bottom"):
        outer, inner = (k, i) if side == "top" else (i, k)
        weight = oracles.row_weights(problem.y, problem.w)
        loss = weight[inner] * oracles.rounded_hinge(f[i] - f[k], width)[0]
        found = rounded.heights(f[rows], preferences.weight, side)
        np.testing.assert_allclose(found, np.bincount(outer, loss, n)[rows], rtol=0, atol=slack)
        assert np.all(found >= 0)


@every_method
@given(problem=problems(spread=2.0))
def test_the_gradient_of_the_rounded_hinge_is_continuous(method, problem):
    preferences, rows = prepare(problem)
    rounded = PairLoss(preferences, "hinge", method=method, mean=True).rounded(0.3)
    f = OFF_THE_KINK * problem.f[rows]
    numeric = oracles.numeric_gradient(rounded.value, f, 1e-4)
    np.testing.assert_allclose(rounded.value_and_gradient(f)[1], numeric, rtol=0, atol=1e-8)
    ends = np.array([1.0, np.nextafter(1, 2), 0.7, np.nextafter(0.7, 0)])
    slopes = rounded.loss.derivative(ends)
    np.testing.assert_allclose(slopes, [0, 0, -1, -1], atol=1e-14)


def test_a_hinge_cannot_be_rounded_over_more_than_its_margin():
    for width in (0.0, 1.0, -0.1, np.inf):
        with pytest.raises(ValueError, match=r"'width' .* must be a float in \(0, 1\)"):
            MARGIN_LOSSES["hinge"].rounded(width)


# The push with a margin loss ----------------------------------------------------------------

BOTTOM_WEIGHTS = st.sampled_from([0.3, 1.0, 2.0])


@crossed(loss=PUSH_LOSSES, push=MARGIN_PUSHES, p=POWERS)
@given(problem=problems(), bottom_weight=BOTTOM_WEIGHTS)
def test_push_equals_the_definition(loss, push, p, problem, bottom_weight):
    preferences, rows = prepare(problem)
    objective = MarginPush(preferences, loss, float(p), push=push, bottom_weight=bottom_weight)
    options = (*oracle_of(problem), loss, p, push, bottom_weight)
    expected, slopes = oracles.margin_push(problem.f, *options)
    value, gradient = objective.value_and_gradient(problem.f[rows])
    scale = 1e-10 * max(1, np.abs(slopes).max())
    assert value == pytest.approx(expected, rel=1e-10, abs=1e-11)
    assert objective.value(problem.f[rows]) == pytest.approx(value, rel=1e-12, abs=1e-12)
    assert np.isfinite(gradient).all()
    assert abs(gradient.sum()) <= p * scale
    np.testing.assert_allclose(gradient, slopes[rows], rtol=1e-9, atol=p * scale)


@crossed(loss=PUSH_LOSSES, push=MARGIN_PUSHES, p=[1.0, 64.0], spread=[1e3, 1e10, 1e20])
def test_push_at_extreme_scores_stays_finite(loss, push, p, spread):
    rng = np.random.default_rng(0)
    y, qid = rng.integers(0, 3, 40).astype(float), rng.integers(0, 3, 40)
    f = np.linspace(-spread, spread, 40)[rng.permutation(40)]
    preferences = Preferences.from_labels(y, qid, np.ones(40))
    objective = MarginPush(preferences, loss, p, push=push)
    value, gradient = objective.value_and_gradient(f[preferences.order])
    expected, slopes = oracles.margin_push(f, y, qid, None, loss, p, push)
    assert value == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(
        gradient, slopes[preferences.order], rtol=1e-6, atol=1e-9 * np.abs(slopes).max()
    )


# The axis of the logistic sums --------------------------------------------------------------


SCORES = {
    "near": lambda rng: 3 * rng.standard_normal(2500),
    "far apart": lambda rng: 1e4 * rng.standard_normal(2500),
    "in one place": lambda rng: np.round(rng.standard_normal(2500)),
    "outliers": lambda rng: rng.standard_normal(2500) + 1e9 * (np.arange(2500) % 400 == 0),
    "crowds": lambda rng: np.append(1e4 * rng.standard_normal(1500), rng.uniform(0, 20, 1000)),
    "few": lambda rng: 50 * rng.standard_normal(2),
}


@pytest.mark.parametrize("is_scanned", [False, True])
@pytest.mark.parametrize("name", SCORES)
def test_sums_of_scores_wherever_they_lie(name, is_scanned):
    """By the scan, and by what is cheapest: against the explicit pairs."""
    rng = np.random.default_rng(1)
    scores = SCORES[name](rng)
    is_upper = rng.random(len(scores)) < 0.4
    is_upper[:2] = True, False
    f, g = scores[is_upper], scores[~is_upper]
    a, b = (rng.random(len(x)) + 0.5 for x in (f, g))
    part = SortedRows(f, g, 1e-12) if is_scanned else logistic_sums(f, g)
    z = g - f[:, None]
    loss, slope = np.logaddexp(0, z), special.expit(z)
    second = slope * special.expit(-z)
    for with_second in (False, True):
        found = part.sums(a, b, with_second)
        assert found.value == pytest.approx(a @ loss @ b, rel=1e-11)
        for order, terms in enumerate([-slope, second][: 1 + with_second]):
            atol = 10.0**order * 1e-12
            np.testing.assert_allclose(found[1 + 2 * order], terms @ b, atol=atol * b.sum())
            np.testing.assert_allclose(found[2 + 2 * order], a @ terms, atol=atol * a.sum())
    for side, weight, expected in (("top", a, a @ loss), ("bottom", b, loss @ b)):
        atol = 1e-11 * weight.sum() + 1e-15 * np.abs(scores).max()
        np.testing.assert_allclose(part.heights(weight, side), expected, rtol=1e-11, atol=atol)


def test_least_squares_of_huge_scores_are_infinite():
    with np.errstate(over="ignore", invalid="ignore"):
        sums = least_squares_sums(*(np.array(one) for one in ([-1e200], [1.0], [1e200], [1.0])))
    assert sums.value == np.inf
