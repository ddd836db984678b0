"""The fewest changes that reach a total, against all combinations of values."""

import math
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from cards import cards, rows_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sklearn_rank.scorecard import (
    Axis,
    Card,
    Change,
    Pair,
    Scorecard,
    Variable,
    card_to_json,
    counterfactuals,
)

AGE = Variable("age", 0, (-1, 2, 5, 0), (29.5, 40.0))
JOB = Variable("job", 1, (3, 1, 0, -2), groups=(("clerk", "smith"), ("cook",)))
BOTH = Pair(
    Axis("age", 0, (35.0,)), Axis("debt", 2, (1e3, 5e3)), (0, 1, 2, 0, 6, 4, -3, 0, 0, 0, 0, 0)
)
CARD = Card((AGE, JOB), 1, 0, (0, 1), 3, ("age", "job", "debt"), pairs=(BOTH,))
ROW = pd.DataFrame({"age": [38.0], "job": ["cook"], "debt": [9e3]})


def scorecard(card=CARD):
    return Scorecard.from_json(card_to_json(card))


def candidates(card, column):
    """Return ordinary values of a feature, some in each bin that it can be in."""
    axes = card.axes_of(column)
    if axes[0].groups is not None:
        return list(dict.fromkeys(v for axis in axes for group in axis.groups for v in group))
    ends = sorted({one for axis in axes for one in axis.thresholds})
    middle = [a / 2 + b / 2 for a, b in pairwise(ends)]
    beside = [math.nextafter(one, to) for one in ends for to in (-math.inf, math.inf)]
    values = [*ends, *middle, *beside, -1.75e308, 1.75e308, 12.5]
    special = {one for axis in axes for one in axis.special}
    return [one for one in values if one not in special]


def bins_of(card, column, value):
    values = np.array([value], dtype=object)
    return tuple(int(axis.bins(values)[0]) for axis in card.axes_of(column))


def brute_force(card, row, columns, target, sign):
    """Return the least number of changes and the nearest total, of all combinations."""
    best = None
    choices = []
    for column in columns:
        one_of_each = {bins_of(card, column, v): v for v in candidates(card, column)}
        one_of_each[bins_of(card, column, row[column])] = row[column]
        choices.append(list(one_of_each.items()))
    for chosen in product(*choices):
        changed = row.copy()
        n_changes = 0
        for column, (bins, value) in zip(columns, chosen, strict=True):
            n_changes += bins != bins_of(card, column, row[column])
            changed[column] = value
        total = int(card.totals(changed[None])[0])
        over = sign * (total - target)
        if over >= 0 and (best is None or (n_changes, over) < best):
            best = n_changes, over
    return best


@settings(max_examples=60)
@given(cards(with_pairs=True), st.data())
def test_they_are_the_fewest_and_the_nearest(card, data):
    assume(card.features)
    columns = sorted(data.draw(st.sets(st.sampled_from(sorted(card.features)), max_size=3)))
    row = rows_of(card)[data.draw(st.integers(0, 1))]
    target = data.draw(st.integers(-2000, 2000))
    sign = data.draw(st.sampled_from([1, -1]))
    names = [card.column_name(card.axes_of(j)[0]) for j in columns]
    table = pd.DataFrame([row], columns=card.feature_names or None, dtype=object)
    X = table if card.feature_names else row[None]
    found = counterfactuals(
        scorecard(card), X, names, total=target, end="high" if sign > 0 else "low"
    )[0]
    wanted = brute_force(card, row, columns, target, sign)
    if wanted is None:
        assert found is None
    else:
        assert (len(found.changes), sign * (found.reached - target)) == wanted
        assert found.total == card.totals(row[None])[0]
        assert {one.variable for one in found.changes} <= set(names)


def test_the_bins_to_move_to_are_named():
    assert CARD.totals(ROW).tolist() == [1 + 2 + 1 - 3]
    found = counterfactuals(scorecard(), ROW, ["debt", "job"], total=9, end="high")[0]
    assert (found.reached, found.changes) == (10, (Change("debt", "> 5000", "<= 1000"),))
    # Thresholds of the variable and of the pair both count.
    for total, reached, label in ((4, 4, "> 40"), (5, 6, "> 29.5 and <= 35")):
        found = counterfactuals(scorecard(), ROW, ["age"], total=total, end="high")[0]
        assert found.reached == reached
        assert found.changes == (Change("age", "> 35 and <= 40", label),)
    rich = ROW.assign(debt=0.0)
    found = counterfactuals(scorecard(), rich, ["debt"], total=2, end="low")[0]
    assert (found.reached, found.changes) == (1, (Change("debt", "<= 1000", "> 5000"),))


def test_no_change_and_no_way():
    found = counterfactuals(scorecard(), ROW, ["age"], total=-5, end="high")[0]
    assert found.changes == () and found.reached == found.total
    assert counterfactuals(scorecard(), ROW, [], total=99, end="high") == [None]
    rows = pd.concat([ROW, ROW.assign(age=np.nan)])
    assert len(counterfactuals(scorecard(), rows, ["age", "debt"], total=12, end="high")) == 2


def test_names_may_come_from_a_generator():
    """The second reading found it empty: nothing seemed to be allowed to change."""
    names = ["debt", "job"]
    given = (one for one in names)
    found = counterfactuals(scorecard(), ROW, given, total=9, end="high")
    assert found == counterfactuals(scorecard(), ROW, names, total=9, end="high") != [None]


def test_names_are_those_of_the_variables_where_tables_have_none():
    card = scorecard(replace(CARD, feature_names=None))
    assert card.variables_ == scorecard().variables_
    row, options = ROW.to_numpy(dtype=object), {"total": 9, "end": "high"}
    found = counterfactuals(card, row, card.variables_, **options)
    assert found == counterfactuals(scorecard(), ROW, card.variables_, **options)


def test_a_limit_of_changes():
    args = (scorecard(), ROW, ["age", "job", "debt"])
    best = counterfactuals(*args, total=15, end="high")[0]
    assert len(best.changes) == 3
    assert counterfactuals(*args, total=15, end="high", max_changes=2) == [None]


def test_the_good_end_is_that_of_the_card():
    bad_is_high = scorecard(replace(CARD, adverse="high"))
    found = counterfactuals(bad_is_high, ROW, ["age", "debt"], total=4)[0]
    assert found.reached <= 4
    bad_is_low = scorecard(replace(CARD, adverse="low"))
    found = counterfactuals(bad_is_low, ROW, ["age", "job", "debt"], total=9)
    assert found == counterfactuals(bad_is_low, ROW, ["age", "job", "debt"], total=9, end="high")
    assert found[0].reached >= 9 > found[0].total
    with pytest.raises(ValueError, match="counterfactuals of a scorecard needs to know which end"):
        counterfactuals(scorecard(), ROW, ["age"], total=4)


@pytest.mark.parametrize("names", [["income"], "age", ["age", "x"]])
def test_what_is_refused(names):
    with pytest.raises(ValueError, match="may_change of counterfactuals"):
        counterfactuals(scorecard(), ROW, names, total=1, end="high")
    with pytest.raises(ValueError, match="'total' parameter"):
        counterfactuals(scorecard(), ROW, ["age"], total=None)
    with pytest.raises(ValueError, match="'max_changes' parameter"):
        counterfactuals(scorecard(), ROW, ["age"], total=1, end="high", max_changes=0)
