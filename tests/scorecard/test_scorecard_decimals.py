"""Thresholds with few digits that separate the same training rows."""

from decimal import Decimal
from math import inf, nextafter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_rank.scorecard.fitting._variables import short_thresholds, shortest_decimal

TINY = 5e-324
HUGE = 1.7976931348623157e308

finite = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1e6, 1e6),
    st.integers(-1000, 1000).map(float),
    st.sampled_from([0.0, -0.0, TINY, -TINY, HUGE, -HUGE, 0.1, 0.1 + 0.2]),
)


def n_digits(value):
    """Return the number of significant digits of the shortest decimal of a float."""
    return len(Decimal(repr(value)).normalize().as_tuple().digits) if value else 0


@given(finite, st.one_of(finite, st.just(inf), st.integers(1, 5)))
def test_decimals_lie_between_and_have_no_more_digits(low, high):
    if isinstance(high, int):  # that many floats further
        steps, high = high, low
        for _ in range(steps):
            high = nextafter(high, inf)
    low, high = min(low, high), max(low, high)
    if low in (high, inf):
        return
    found = shortest_decimal(low, high)
    assert low <= found < high
    assert n_digits(found) <= n_digits(low)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (12.3, 12.9, 12.3),  # 12.3 is the least of those with one digit after the point
        (12.34, 12.9, 12.4),
        (12.34, 17.0, 13.0),
        (12.34, 97.0, 20.0),
        (95.0, 105.0, 100.0),
        (-3.7, 2.0, 0.0),
        (-3.7, -1.2, -3.0),
        (0.0, 1.0, 0.0),
        (1e-300, 1.0, 0.1),
        (TINY, 2 * TINY, TINY),
        (7.3, inf, 10.0),
        (HUGE, inf, HUGE),
        (nextafter(40, 50), 41.0, 40.1),
        (0.1 + 0.2, 0.5, 0.4),
        (123456.0, 123457.0, 123456.0),
    ],
)
def test_examples(low, high, expected):
    assert shortest_decimal(low, high) == expected


@given(st.lists(finite, min_size=1, max_size=12), st.lists(finite, max_size=5, unique=True))
def test_thresholds_divide_the_same_values(values, thresholds):
    values = np.array([*values, np.nan])
    thresholds = np.unique(np.array(thresholds, dtype=float))
    found = short_thresholds(thresholds, values)
    assert (found[1:] > found[:-1]).all()
    np.testing.assert_array_equal(values > found[:, None], values > thresholds[:, None])
