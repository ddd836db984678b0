"""The card as plain data: bins, labels, points and totals."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_rank.scorecard.card import Card, _shortened, probability
from sklearn_rank.scorecard.terms import Variable, number_text

AGE = Variable("age", 1, (-2, 0, 3, 1, -1), thresholds=(25.5, 40.0), special=(-99.0,))
JOB = Variable("job", 3, (2, -1, 0), groups=(("clerk", "smith, black"), ("none",)))
NAMES = ("id", "age", "rate", "job")
CARD = Card((AGE, JOB), 4, 0, ("good", "bad"), 4, NAMES)


def slow_bin(variable, value):
    """Return the bin of a value, by the definition."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return variable.n_values + len(variable.special)
    if value in variable.special:
        return variable.n_values + variable.special.index(value)
    if variable.groups is not None:
        found = [number for number, group in enumerate(variable.groups) if value in group]
        return found[0] if found else variable.n_bins - 1
    return sum(value > one for one in variable.thresholds)


numbers = st.one_of(
    st.sampled_from([-99.0, 25.5, 40.0, np.nextafter(40, 0), np.nextafter(40, 50), np.nan, np.inf]),
    st.floats(),
)


@given(
    st.lists(numbers, max_size=20), st.lists(st.floats(allow_nan=False), max_size=3, unique=True)
)
def test_bins_of_numbers(values, thresholds):
    thresholds = tuple(sorted(thresholds))
    variable = Variable("x", 0, (), thresholds=thresholds, special=(-99.0, 40.0))
    x = np.array([*values, *thresholds], dtype=float)
    assert variable.bins(x).tolist() == [slow_bin(variable, one) for one in x.tolist()]
    objects = np.array([None if np.isnan(one) else one for one in x] + [pd.NA], dtype=object)
    expected = [slow_bin(variable, one) for one in x.tolist()] + [variable.n_bins - 1]
    assert variable.bins(objects).tolist() == expected


@pytest.mark.parametrize(
    "groups", [(("a", "b"), ("c",)), ((1, 2), (3,)), ((1.5, 2.0), (3.0,)), ((True,), (False,))]
)
def test_bins_of_categories(groups):
    variable = Variable("x", 0, (), groups=groups)
    values = [*groups[0], *groups[1], None, np.nan, "unseen", 77]
    x = np.array(values, dtype=object)
    assert variable.bins(x).tolist() == [slow_bin(variable, one) for one in values]


def test_labels():
    assert AGE.labels() == ["<= 25.5", "> 25.5 and <= 40", "> 40", "is -99", "missing"]
    assert JOB.labels() == ['clerk, "smith, black"', "none", "missing", "any other"]
    assert Variable("x", 0, (1, 0)).labels() == ["any value", "missing"]


@pytest.mark.parametrize("value", [1e22, 1e-300, 0.1 + 0.2, -5.0, 123456789.0, 2.0**60])
def test_a_number_reads_as_itself(value):
    assert float(number_text(value)) == value


def test_points_and_totals():
    X = pd.DataFrame(
        {
            "id": [1, 2, 3, 4],
            "age": [25.5, 41.0, -99.0, np.nan],
            "rate": [0.0, 1.0, 2.0, 3.0],
            "job": ["clerk", "none", None, "pilot"],
        }
    )
    expected = [[-2, 2], [3, -1], [1, 0], [-1, 0]]
    assert CARD.points(X).tolist() == expected
    assert CARD.totals(X).tolist() == [4 + sum(row) for row in expected]
    for same in (
        X[["job", "age"]],
        X.to_numpy(),
        X.to_numpy().tolist(),
        X.astype({"job": "category"}),
    ):
        assert CARD.points(same).tolist() == expected


def test_tables_that_cannot_be_scored():
    X = pd.DataFrame({"id": [1], "age": [3.0], "rate": [1.0]})
    with pytest.raises(ValueError, match=r"needs the columns \['job'\], which X lacks"):
        CARD.points(X)
    with pytest.raises(ValueError, match="X has 3 features, but the scorecard is expecting 4"):
        CARD.points(X.to_numpy())
    with pytest.raises(ValueError, match="two dimensions"):
        CARD.points([1.0, 2.0])
    with pytest.raises(ValueError, match=r"column 'age' of X must hold numbers.*old"):
        CARD.points([[1, "old", 3, "none"]])


def test_a_card_without_variables():
    card = Card((), 7, 0, (0, 1), 3)
    assert card.totals(np.zeros((2, 3))).tolist() == [7, 7]


def test_probability_is_interpolated_and_clamped():
    risk = ((0.0, 0.1, 0.0, 0.2), (2.0, 0.3, 0.2, 0.4), (5.0, 0.9, 0.8, 1.0))
    card = Card((), 0, 0, (0, 1), 1, risk=risk)
    assert probability(card, [-9, 0, 1, 2, 5, 99]) == pytest.approx([0.1, 0.1, 0.2, 0.3, 0.9, 0.9])
    with pytest.raises(ValueError, match="no risk table"):
        probability(CARD, [0])


def test_long_lists_of_names_are_cut_in_messages():
    names = [f"x{number}" for number in range(23)]
    assert _shortened(names) == f"{names[:20]} and 3 more"
    assert _shortened(names[:20]) == f"{names[:20]}"
    assert _shortened(names, 22) == f"{names[:22]} and 1 more"
