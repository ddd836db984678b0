"""The card as plain data: bins, labels, points and totals; thresholds with few digits."""

from decimal import Decimal
from fractions import Fraction
from math import inf, nextafter

import numpy as np
import pandas as pd
import pytest
from cards import cards, rows_of, values_of
from hypothesis import given
from hypothesis import strategies as st

from sklearn_rank._bins.binned_features import SortedValues
from sklearn_rank._core.validation import is_missing
from sklearn_rank.scorecard import Card, Variable
from sklearn_rank.scorecard._build import short_thresholds, shortest_decimal
from sklearn_rank.scorecard.card import number_text

AGE = Variable("age", 1, (-2, 0, 3, 1, -1), thresholds=(25.5, 40.0), special=(-99.0,))
JOB = Variable("job", 3, (2, -1, 0), groups=(("clerk", "smith, black"), ("none",)))
NAMES = ("id", "age", "rate", "job")
CARD = Card((AGE, JOB), 4, 0, ("good", "bad"), 4, NAMES)


def slow_bin(variable, value):
    """Return the bin of a value, by the definition."""
    if is_missing(value):
        return variable.n_values + len(variable.special)
    if value in variable.special:
        return variable.n_values + variable.special.index(value)
    if variable.groups is not None:
        found = [number for number, group in enumerate(variable.groups) if value in group]
        return found[0] if found else variable.n_bins - 1
    return sum(value > threshold for threshold in variable.thresholds)


@given(cards(), st.integers(0, 99))
def test_totals_are_the_sum_of_the_points_of_the_bins(card, seed):
    X = rows_of(card, seed)
    expected = [
        card.intercept + sum(one.points[slow_bin(one, row[one.column])] for one in card.variables)
        for row in X.tolist()
    ]
    assert card.totals(X).tolist() == expected


@pytest.mark.parametrize("variable", CARD.variables)
def test_values_of_reach_every_bin(variable):
    """Guard against a generator of rows that leaves bins out."""
    x = np.array(values_of(variable), dtype=object)
    assert set(variable.bins(x).tolist()) == set(range(len(variable.points)))


def test_missing_values_of_pandas_are_missing():
    x = np.array([41.0, None, np.nan, pd.NA], dtype=object)
    assert AGE.bins(x).tolist() == [2, 4, 4, 4]


def test_codes_beside_categories_have_bins_of_their_own():
    grade = Variable("grade", 0, (1, 2, 9, 3, 4), special=(-99.0,), groups=((1.0,), (2.0,)))
    card = Card((grade,), 0, 0, (0, 1), 1)
    assert card.totals([[1.0], [2.0], [-99.0], [np.nan], [7.0]]).tolist() == [1, 2, 9, 3, 4]


def test_labels():
    assert AGE.labels() == ["<= 25.5", "> 25.5 and <= 40", "> 40", "is -99", "missing"]
    assert JOB.labels() == ['clerk, "smith, black"', "none", "missing", "any other"]
    assert Variable("x", 0, (1, 0)).labels() == ["any value", "missing"]
    codes = Variable("x", 0, (-1, 2, 0), special=(-99.0,))
    assert codes.labels() == ["any other value", "is -99", "missing"]
    unseen = Variable("x", 0, (1, 0), counts=(3.0, 0.0), events=(1.0, 0.0))
    assert unseen.labels() == ["any value", "missing (not seen in training)"]


def test_a_category_that_reads_like_another_bin_is_in_quotes():
    groups = (("clerk",), ("missing",), ("cook", "any other"), ("clerk (not seen in training)",))
    job = Variable("job", 0, (3, 1, 2, 4, 5, 6), groups=groups)
    expected = ["clerk", '"missing"', 'cook, "any other"', '"clerk (not seen in training)"']
    assert job.labels() == [*expected, "missing", "any other"]


@pytest.mark.parametrize(
    ("groups", "kind"),
    [
        *((None, "number"), ((("a",), ("b",)), "str"), (((True,), (False,)), "bool")),
        *((((True,), (3,)), "int"), (((1,), (2,)), "int"), (((1,), (2.5,)), "float")),
    ],
)
def test_the_kind_of_the_values_of_a_variable(groups, kind):
    bins = {"thresholds": (1.5,)} if groups is None else {"groups": groups}
    assert Variable("x", 0, points=(1, 2, 0), **bins).kind == kind


@pytest.mark.parametrize("value", [1e22, 1e-300, 0.1 + 0.2, -5.0, 123456789.0, 2.0**60])
def test_a_number_reads_as_itself(value):
    assert float(number_text(value)) == value


def test_points_and_totals_of_tables():
    X = pd.DataFrame(
        {
            "id": [1, 2, 3, 4],
            "age": [25.5, 41.0, -99.0, np.nan],
            "rate": [0.0, 1.0, 2.0, 3.0],
            "job": ["clerk", "none", None, "pilot"],
        }
    )
    expected = [[-2, 2], [3, -1], [1, 0], [-1, 0]]
    array = X.to_numpy()
    for same in (X, X[["job", "age"]], array, array.tolist(), X.astype({"job": "category"})):
        assert CARD.points(same).tolist() == expected
    assert Card((), 7, 0, (0, 1), 3).totals(np.zeros((2, 3))).tolist() == [7, 7]


def test_tables_that_cannot_be_scored():
    X = pd.DataFrame({"id": [1], "age": [3.0], "rate": [1.0]})
    with pytest.raises(ValueError, match=r"needs the columns \['job'\], which X lacks"):
        CARD.points(X)
    wide = pd.DataFrame(np.zeros((1, 23)), columns=[f"c{j}" for j in range(23)])
    with pytest.raises(ValueError, match=r"'c19'\] and 3 more\."):
        CARD.points(wide)
    with pytest.raises(ValueError, match="X has 3 features, but the scorecard is expecting 4"):
        CARD.points(X.to_numpy())
    with pytest.raises(ValueError, match="two dimensions"):
        CARD.points([1.0, 2.0])
    with pytest.raises(ValueError, match=r"column 'age' of X must hold numbers.*old"):
        CARD.points([[1, "old", 3, "none"]])


def test_probability_is_interpolated_and_clamped():
    risk = ((0.0, 0.1, 0.0, 0.2), (2.0, 0.3, 0.2, 0.4), (5.0, 0.9, 0.8, 1.0))
    card = Card((), 0, 0, (0, 1), 1, risk=risk)
    assert card.probability([-9, 0, 1, 2, 5, 99]) == pytest.approx([0.1, 0.1, 0.2, 0.3, 0.9, 0.9])
    with pytest.raises(ValueError, match="no risk table"):
        CARD.probability([0])


# Thresholds ----------------------------------------------------------------------------

TINY = 5e-324
HUGE = 1.7976931348623157e308

finite = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1e6, 1e6),
    st.integers(-1000, 1000).map(float),
    st.sampled_from([0.0, -0.0, TINY, -TINY, HUGE, -HUGE, 0.1, 0.1 + 0.2]),
)


@given(finite, st.one_of(finite, st.integers(1, 5)))
def test_decimals_lie_between_and_have_the_fewest_digits(low, high):
    if isinstance(high, int):  # that many floats further
        steps, high = high, low
        for _ in range(steps):
            high = nextafter(high, inf)
    low, high = min(low, high), max(low, high)
    if low in (high, inf):
        return
    found = shortest_decimal(low, high)
    if high == nextafter(low, inf):
        assert found == low
        return
    assert low < found < high
    middle = (Fraction(repr(low)) + Fraction(repr(high))) / 2
    unit = Fraction(10) ** Decimal(repr(found)).normalize().as_tuple().exponent
    far = [abs(Fraction(repr(found)) + k * unit - middle) for k in (-1, 0, 1)]
    assert not found or far[1] == min(far)
    coarser = [k for k in (-1, 0, 1) if low < float(10 * unit * (middle // (10 * unit) + k)) < high]
    assert not found or not coarser


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (12.3, 12.9, 12.6),
        (12.34, 12.36, 12.35),
        (12.34, 97.0, 50.0),
        (95.0, 105.0, 100.0),
        (0.3, 0.4, 0.35),
        (-3.7, 2.0, 0.0),
        (-3.7, -1.2, -2.0),
        (1e-300, 1.0, 0.5),
        (TINY, 2 * TINY, TINY),
        (7.3, HUGE, 1e308),
        (nextafter(40, 50), 41.0, 40.5),
        (123456.5, 123457.0, 123456.8),
    ],
)
def test_shortest_decimals(low, high, expected):
    assert shortest_decimal(low, high) == expected


@given(st.lists(finite, min_size=1, max_size=12), st.integers(2, 12), st.booleans())
def test_thresholds_divide_the_same_values(values, max_bins, are_whole):
    values = np.array(values).round() if are_whole else np.array(values)
    thresholds = SortedValues.of(values, np.ones(len(values))).thresholds(max_bins)
    found = short_thresholds(thresholds, np.append(values, np.nan))
    assert (found[1:] > found[:-1]).all()
    np.testing.assert_array_equal(values > found[:, None], values > thresholds[:, None])
    assert not are_whole or np.isin(found, values).all()
