"""Reasons: the terms that lose most points, in the direction that is bad."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from cards import cards, rows_of
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_rank.datasets import make_credit
from sklearn_rank.scorecard import Axis, Card, Pair, Scorecard, Variable
from sklearn_rank.scorecard._adverse import adverse_end, best_bins, best_points, points_lost

QUICK = {"p": 1, "cv": 2, "max_terms": 8}


@pytest.fixture(scope="module")
def credit():
    return make_credit(2000, random_state=0)


def scorecard_of(card):
    """A fitted scorecard of a card."""
    return Scorecard()._set_card(card, np.array(card.classes, dtype=object), False)


def slow_best(term, adverse):
    """The best points of the bins that training rows were in (all if none), bin by bin."""
    best, unseen = None, term.unseen_bins()
    for number in range(term.n_bins):
        if number in unseen and len(unseen) < term.n_bins:
            continue
        points = term.points[number]
        if best is None or (points < best if adverse == "high" else points > best):
            best = points
    return best


def slow_reasons(card, points, k):
    """The names of the terms that lose most, by sorting."""
    lost = []
    for j, term in enumerate(card.terms):
        best = slow_best(term, card.adverse)
        is_worse = points[j] > best if card.adverse == "high" else points[j] < best
        if is_worse:
            lost.append((-abs(points[j] - best), j))
    return ([card.terms[j].name for _, j in sorted(lost)] + [None] * k)[:k]


@settings(max_examples=60, deadline=None)
@given(cards(with_pairs=True), st.sampled_from(["high", "low"]), st.integers(1, 5))
def test_reasons_are_the_points_lost_from_the_best_attainable_ones(card, adverse, k):
    card = replace(card, adverse=adverse, feature_names=None)
    assert best_points(card, "x").tolist() == [slow_best(one, adverse) for one in card.terms]
    X = rows_of(card)
    points = card.points(X)
    found = scorecard_of(card).reasons(X, k=k)
    for row in range(len(X)):
        assert found[row].tolist() == slow_reasons(card, points[row].tolist(), k)


@pytest.mark.parametrize("coding", ["bad is 1", "bad is 0", "names"])
def test_the_riskiest_row_hears_of_what_raised_its_risk(credit, coding):
    """D1: with bad = 1 the variables named had cost the row nothing."""
    y, options = credit.target, {"adverse": "high"}
    if coding == "bad is 0":
        y, options = 1 - y, {"adverse": "low"}
    elif coding == "names":
        y, options = np.where(y == 1, "bad", "good"), {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Scorecard ranks 'good' above 'bad'")
        scorecard = Scorecard(**QUICK, **options).fit(credit.data, y)
    card = scorecard.card_
    assert card.adverse == ("high" if coding == "bad is 1" else "low")
    totals = card.totals(credit.data)
    worst = np.argmax(totals) if card.adverse == "high" else np.argmin(totals)
    row = credit.data.iloc[[worst]]
    points = scorecard.points_of(row)[0]
    lost = points_lost(card, points, best_points(card, "x"), "x")
    named = [one for one in scorecard.reasons(row)[0] if one is not None]
    assert len(named) >= 3
    by_loss = sorted(zip(-lost, range(len(lost)), scorecard.terms_, strict=True))
    assert named == [name for _, _, name in by_loss[: len(named)]]
    assert min(lost[scorecard.terms_.index(one)] for one in named) > 0


def test_reasons_ask_which_end_is_bad(credit):
    scorecard = Scorecard(**QUICK).fit(credit.data, credit.target)
    for against in ("best", "mean", 0):
        with pytest.raises(ValueError, match="which end of the totals is bad") as caught:
            scorecard.reasons(credit.data, against=against)
        assert str(caught.value).startswith("reasons of a scorecard needs")
        for part in ("high totals mean class 1", "adverse='high'", "adverse='low'", "Got"):
            assert part in str(caught.value)


def test_both_ends_are_one_law_with_the_sign_turned():
    card = Card((Variable("a", 0, (3, -2, 1), (0.0,)),), 0, 0, (0, 1), 1, adverse="high")
    turned = Variable("a", 0, (-3, 2, -1), (0.0,))
    other = replace(card, variables=(turned,), adverse="low")
    rows = [[-1.0], [1.0], [np.nan]]
    for one in (card, other):
        lost = points_lost(one, one.points(rows), best_points(one, "x"), "x")
        assert lost.tolist() == [[5], [0], [3]]
        assert adverse_end(one, "x") == one.adverse


def test_a_bin_without_training_rows_is_not_attainable():
    age = Variable("age", 0, (1, 2, 9), (30.0,), counts=(5.0, 5.0, 0.0), events=(1.0, 2.0, 0.0))
    card = Card((age,), 0, 0, (0, 1), 1, adverse="low")
    assert (best_points(card, "x").tolist(), best_bins(card, "x")) == ([2], [1])
    known = replace(age, counts=(5.0, 4.0, 1.0), events=(1.0, 2.0, 0.0))
    assert best_points(replace(card, variables=(known,)), "x").tolist() == [9]


def test_of_equal_best_bins_one_of_ordinary_values_is_named():
    first, second = Axis("a", 0, (0.0,)), Axis("b", 1)
    pair = Pair(first, second, (0, 4, 1, 2, 4, 4))  # cells: a's three bins by b's two
    card = Card((), 0, 0, (0, 1), 2, pairs=(pair,), adverse="low")
    assert [pair.labels()[one] for one in best_bins(card, "x")] == ["a: <= 0; b: missing"]
    pair = replace(pair, points=(0, 4, 4, 2, 4, 4))
    card = replace(card, pairs=(pair,))
    assert [pair.labels()[one] for one in best_bins(card, "x")] == ["a: > 0; b: any value"]
