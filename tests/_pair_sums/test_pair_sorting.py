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
from sklearn_rank._pair_sums._sorted_sides import scattered, sort_with_order
from sklearn_rank.objectives import PairLoss

ALWAYS_PACKED = patch("sklearn_rank._pair_sums._sorted_sides._FEW", 1)
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


MANY = {  # of normal numbers
    "normal": lambda x: x,
    "far from zero": lambda x: 1e12 + np.round(x, 3),
    "outliers": lambda x: np.r_[-1e13, 1e18, np.round(x, 2), x / 1e9],
    # Cells that several of them share, none of which is the first.
    "a crowd": lambda x: np.r_[x, 1e-12 * np.random.default_rng(1).random(8_000)],
    "all equal": lambda x: np.full(20_000, 0.3),
    "two floats": lambda x: np.where(x > 0, 1.0, np.nextafter(1, 2)),
    "beyond the floats": lambda x: 1e308 * np.clip(x, -1.7, 1.7),
}


@pytest.mark.parametrize("name", MANY)
def test_many_numbers(name):
    assert_sorts(MANY[name](np.random.default_rng(0).standard_normal(20_000)))


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
    with patch("sklearn_rank._pair_sums._sorted_sides._FEW", 100):
        same, slopes = PairLoss(preferences, loss, method="fast").value_and_gradient(f[rows])
    total = preferences.total_pair_weight
    expected = oracles.pair_sum(f, *oracle_of(problem), loss)
    assert value == pytest.approx(same, rel=1e-13, abs=1e-13 * total)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-13, atol=1e-13 * total)
    assert value == pytest.approx(expected, rel=1e-6, abs=1e-6 * total)
