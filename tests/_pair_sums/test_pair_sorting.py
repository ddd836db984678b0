"""Sorting with the order, by packed integers, against NumPy's."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import definitions as oracles
from strategies import one_list
from test_objectives import oracle_of, prepare

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._pair_sums._moving_order import MovingOrder
from sklearn_rank._pair_sums._packed_sort import sort_with_order
from sklearn_rank._pair_sums._row_histogram import scattered
from sklearn_rank.objectives import MARGIN_LOSSES, MarginPush, PairLoss

ALWAYS_PACKED = patch("sklearn_rank._pair_sums._packed_sort._FEW", 1)
SHORT_BLOCKS = patch("sklearn_rank._core.arrays._BLOCK", 3)

# Ties, neighbouring floats, subnormal gaps, numbers beside which the others share one bucket.
_NUMBERS = st.sampled_from(
    [0.0, -0.0, 1.0, np.nextafter(1, 2), np.nextafter(1, 0), -3.5, 5e-324, 1e-310, 1e15, -1e300]
)


def assert_sorts(x):
    with ALWAYS_PACKED, SHORT_BLOCKS:
        found, order = sort_with_order(x)
    np.testing.assert_array_equal(found, np.sort(x))
    np.testing.assert_array_equal(found, x[order])
    np.testing.assert_array_equal(np.sort(order), np.arange(len(x)))


@given(x=st.lists(st.one_of(_NUMBERS, st.floats(-8, 8)), min_size=1, max_size=40))
def test_numbers_of_every_size(x):
    assert_sorts(np.array(x))


@pytest.mark.parametrize(
    "name",
    [
        "normal",
        "far from zero",
        "outliers",
        "a crowd",
        "all equal",
        "two floats",
        "beyond the floats",
    ],
)
def test_many_numbers(name):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(20_000)
    assert_sorts(
        {
            "normal": x,
            "far from zero": 1e12 + np.round(x, 3),
            "outliers": np.r_[-1e13, 1e18, np.round(x, 2), x / 1e9],
            # Cells that several of them share, none of which is the first.
            "a crowd": np.r_[x, 1e-12 * rng.random(8_000)],
            "all equal": np.full(20_000, 0.3),
            "two floats": np.where(x > 0, 1.0, np.nextafter(1, 2)),
            "beyond the floats": 1e308 * np.clip(x, -1.7, 1.7),
        }[name]
    )


def test_values_return_to_their_rows():
    rng = np.random.default_rng(0)
    x, expected = rng.standard_normal(1000), np.empty(1000)
    order = np.argsort(x)
    expected[order] = x
    np.testing.assert_array_equal(scattered(x, order), expected)


@given(n=st.integers(0, 10))
def test_blocks_hold_each_number_once(n):
    with SHORT_BLOCKS:
        assert [place for some in blocks(n) for place in range(n)[some]] == list(range(n))
        assert all(some.stop <= n for some in blocks(n))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@given(problem=one_list(max_rows=30), shift=st.sampled_from([0.0, 0.1, 1e9 + 0.1]))
def test_sums_of_packed_places(loss, problem, shift):
    """As exact as the scores: margins of exactly 1 are common, and so are ties."""
    preferences, rows = prepare(problem)
    f = problem.f + shift
    with ALWAYS_PACKED, SHORT_BLOCKS:
        value, gradient = PairLoss(preferences, loss, method="fast").value_and_gradient(f[rows])
    with patch("sklearn_rank._pair_sums._packed_sort._FEW", 100):
        same, slopes = PairLoss(preferences, loss, method="fast").value_and_gradient(f[rows])
    total = preferences.total_pair_weight
    expected = oracles.pair_sum(f, *oracle_of(problem), loss)
    assert value == pytest.approx(same, rel=1e-13, abs=1e-13 * total)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-13, atol=1e-13 * total)
    assert value == pytest.approx(expected, rel=1e-6, abs=1e-6 * total)


# Rows that move ------------------------------------------------------------------------------


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@given(
    x=st.lists(st.one_of(_NUMBERS.filter(lambda v: abs(v) < 1e20), st.floats(-8, 8)), min_size=1),
    moves=st.lists(st.tuples(st.floats(-2, 2), st.integers(0, 2**40)), min_size=1, max_size=4),
)
def test_rows_that_move_are_in_order(n_threads, x, moves):
    sort, x = MovingOrder(ThreadPool(n_threads)), np.array(x)
    sort(x)
    for step, seed in moves:
        x = x + step * (np.random.default_rng(seed).random(len(x)) < 0.5)
        found, order = sort(x)
        np.testing.assert_array_equal(found, np.sort(x))
        np.testing.assert_array_equal(found, x[order])
        np.testing.assert_array_equal(np.sort(order), np.arange(len(x)))


def test_the_order_of_moved_rows_is_merged():
    rng = np.random.default_rng(0)
    x, h = rng.standard_normal(2_000), rng.random(2_000) < 0.3
    sort = MovingOrder()
    first = sort(x)
    with patch("sklearn_rank._pair_sums._moving_order.sort_with_order") as anew:
        assert sort(x.copy()) == first  # the same arrays: nothing moved
        found, order = sort(x - 0.7 * h)
        anew.assert_not_called()
    np.testing.assert_array_equal(found, np.sort(x - 0.7 * h))
    np.testing.assert_array_equal(found, (x - 0.7 * h)[order])


@pytest.mark.parametrize("name", ["other rows", "three steps", "fewer rows"])
def test_other_numbers_are_sorted_anew(name):
    rng = np.random.default_rng(1)
    x = rng.standard_normal(2_000)
    other = {
        "other rows": rng.standard_normal(2_000),
        "three steps": x + rng.integers(0, 3, 2_000),
        "fewer rows": x[:1_500],
    }[name]
    sort = MovingOrder()
    sort(x)
    found, order = sort(other)
    np.testing.assert_array_equal(found, np.sort(other))
    np.testing.assert_array_equal(found, other[order])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("p", [1, 3])
def test_a_loss_that_keeps_the_order_equals_one_that_does_not(loss, p):
    rng = np.random.default_rng(2)
    y, w = rng.random(3_000) < 0.3, rng.integers(1, 3, 3_000).astype(float)
    preferences = Preferences.from_labels(y, None, w)
    plain = MARGIN_LOSSES[loss]
    plain = plain.with_curvature() if loss == "hinge" else plain
    kept = MarginPush(preferences, plain.in_threads(ThreadPool(2)), p)
    anew, scores = MarginPush(preferences, plain, p), np.zeros(3_000)
    for _ in range(5):
        scores += rng.normal() * (rng.random(3_000) < 0.5)
        for found, wanted in zip(
            kept.value_gradient_curvature(scores),
            anew.value_gradient_curvature(scores),
            strict=True,
        ):
            np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)
