"""Reasons: the terms that lose most points, in the direction that is bad."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cards import cards, rows_of
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_rank.datasets import make_credit
from sklearn_rank.scorecard import Axis, Card, Pair, Scorecard, Variable, to_pmml, to_sql
from sklearn_rank.scorecard._adverse import adverse_end, best_bins, best_points, points_lost

QUICK = {"p": 1, "alpha": 0.005, "cv": 2, "max_terms": 8, "random_state": 0}


@pytest.fixture(scope="module")
def credit():
    return make_credit(2000, random_state=0)


def scorecard_of(card):
    """A fitted scorecard of a card."""
    return Scorecard()._set_card(card, np.array(card.classes, dtype=object), False)


def slow_best(term, adverse):
    """The best points of the bins that training rows were in (all if none), bin by bin."""
    best = None
    for number in range(term.n_bins):
        if any(term.counts) and term.counts[number] == 0:
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
    ordinary = replace(age, counts=(5.0, 0.0, 0.0), events=(1.0, 0.0, 0.0))
    assert best_bins(replace(card, variables=(ordinary,)), "x") == [0]


def test_a_cell_without_training_rows_costs_no_row_a_reason():
    """A row in the best cell that exists heard that it could be in a better one."""
    pair = Pair(
        *(Axis("a", 0, (0.0,)), Axis("b", 1, (0.0,))),
        (0, 5, 0, 1, 2, 0, 0, 0, 0),
        counts=(9.0, 0.0, 0.0, 9.0, 9.0, 0.0, 0.0, 0.0, 0.0),
        events=(1.0, 0.0, 0.0, 4.0, 5.0, 0.0, 0.0, 0.0, 0.0),
    )
    card = Card((), 0, 0, (0, 1), 2, pairs=(pair,), adverse="low")
    rows = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]
    table = scorecard_of(card).reasons(rows, form="table")
    assert table["row"].tolist() == [0, 1] and table["points_lost"].tolist() == [2, 1]
    assert set(table["best_bin"]) == {"a: > 0; b: > 0"}
    assert set(table["best_points"]) == {2}
    assert 'baselineScore="2"' in to_pmml(card)
    assert "(2 - " in to_sql(card, table="t", reasons=True)


def test_of_equal_best_bins_one_of_ordinary_values_is_named():
    first, second = Axis("a", 0, (0.0,)), Axis("b", 1)
    pair = Pair(first, second, (0, 4, 1, 2, 4, 4))  # cells: a's three bins by b's two
    card = Card((), 0, 0, (0, 1), 2, pairs=(pair,), adverse="low")
    assert [pair.labels()[one] for one in best_bins(card, "x")] == ["a: <= 0; b: missing"]
    pair = replace(pair, points=(0, 4, 4, 2, 4, 4))
    card = replace(card, pairs=(pair,))
    assert [pair.labels()[one] for one in best_bins(card, "x")] == ["a: > 0; b: any value"]


# Texts, table, JSON ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted(credit):
    return Scorecard(adverse="high", **QUICK).fit(credit.data, credit.target)


@settings(max_examples=40, deadline=None)
@given(cards(with_pairs=True), st.sampled_from(["high", "low"]), st.integers(1, 5))
def test_all_forms_say_the_same(card, adverse, k):
    card = replace(card, adverse=adverse, feature_names=None)
    scorecard, X = scorecard_of(card), rows_of(card)
    names = scorecard.reasons(X, k=k)
    table = scorecard.reasons(X, k=k, form="table")
    document = json.loads(scorecard.reasons(X, k=k, form="json"))
    assert len(document["rows"]) == len(X)
    totals, bins = card.totals(X), card.bins(X)
    position = {term.name: j for j, term in enumerate(card.terms)}
    for row, one in enumerate(document["rows"]):
        lines = table[table["row"] == row]
        expected = [name for name in names[row] if name is not None]
        assert lines["term"].tolist() == lines["text"].tolist() == expected
        assert lines["rank"].tolist() == list(range(1, len(expected) + 1))
        assert (one["row"], one["total"]) == (row, totals[row])
        assert document["lowest_total"] <= one["total"] <= document["highest_total"]
        for reason, (_, line) in zip(one["reasons"], lines.iterrows(), strict=True):
            j = position[reason["term"]]
            term, own = card.terms[j], bins[row, j]
            best = slow_best(term, adverse)
            assert reason["points"] == line["points"] == term.points[own]
            assert reason["points_lost"] == line["points_lost"] == abs(term.points[own] - best)
            assert (reason["bin"], reason["best_points"]) == (term.labels()[own], best)
            assert best in [
                points
                for points, label in zip(term.points, term.labels(), strict=True)
                if label == reason["best_bin"]
            ]
            assert list(reason["values"]) == list(line["values"])
            assert list(reason["values"]) == [axis.name for axis in term.axes]
            for axis in term.axes:
                value = line["values"][axis.name]
                given = X[row, axis.column]
                assert value == given or (value is None and (given is None or np.isnan(given)))


def test_texts_of_a_bin_come_before_those_of_its_term(fitted, credit):
    rows = credit.data.iloc[:200]
    table = fitted.reasons(rows, form="table")
    term, label = table.loc[0, "term"], table.loc[0, "bin"]
    unused = next(name for name in credit.data if name not in fitted.variables_)
    texts = {term: "of the term", (term, label): "of the bin", unused: "not on the card"}
    found = fitted.reasons(rows, form="table", texts=texts)
    is_term, is_bin = table["term"] == term, (table["term"] == term) & (table["bin"] == label)
    assert (found.loc[is_bin, "text"] == "of the bin").all()
    assert (found.loc[is_term & ~is_bin, "text"] == "of the term").all()
    assert (found.loc[~is_term, "text"] == found.loc[~is_term, "term"]).all()
    names = fitted.reasons(rows, texts=texts)
    assert [one for one in names.ravel() if one is not None] == found["text"].tolist()


def test_a_pair_names_both_variables_and_their_values():
    pair = Pair(Axis("age", 0, (30.0,)), Axis("debt", 1, (9.0,)), (0, 3, 3, 1, 1, 1, 2, 2, 2))
    card = Card((), 0, 0, (0, 1), 2, ("age", "debt"), pairs=(pair,), adverse="high")
    rows = pd.DataFrame({"debt": [20.0, np.nan], "age": [25, 40], "new": "text"})
    document = json.loads(scorecard_of(card).reasons(rows, form="json"))
    first, second = (one["reasons"][0] for one in document["rows"])
    assert (first["term"], first["values"]) == ("age \u00d7 debt", {"age": 25, "debt": 20.0})
    assert (first["bin"], first["best_bin"]) == ("age: <= 30; debt: > 9", "age: <= 30; debt: <= 9")
    assert (second["values"], second["points_lost"]) == ({"age": 40, "debt": None}, 1)
    infinite = json.loads(scorecard_of(card).reasons(rows.replace(20.0, np.inf), form="json"))
    assert infinite["rows"][0]["reasons"][0]["values"]["debt"] == "inf"


def test_the_document_has_the_score_its_range_and_the_risk(fitted, credit):
    document = json.loads(fitted.reasons(credit.data.iloc[:3], k=2, form="json", against="mean"))
    head = {key: one for key, one in document.items() if key != "rows"}
    least = sum(min(one.points) for one in fitted.card_.terms) + fitted.card_.intercept
    most = sum(max(one.points) for one in fitted.card_.terms) + fitted.card_.intercept
    assert head == {
        "format": "sklearn_rank.reasons",
        "version": 1,
        "adverse": "high",
        "upper_class": 1,
        "lowest_total": least,
        "highest_total": most,
        "against": "mean",
    }
    risk = [one["risk"] for one in document["rows"]]
    np.testing.assert_allclose(risk, fitted.predict_risk(credit.data.iloc[:3]))
    assert all(len(one["reasons"]) <= 2 for one in document["rows"])
    assert set(document["rows"][0]) == {"row", "total", "risk", "reasons"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"form": "letter"}, "'form' parameter of reasons"),
        ({"texts": ["a"]}, "texts of reasons must be a dict"),
        ({"texts": {"no such term": "a"}}, "must have keys that are terms of the card"),
        ({"texts": {("utilisation", "no such bin"): "a"}}, "the bins of 'utilisation' are"),
        ({"texts": {("a", "b", "c"): "a"}}, "pairs of a term and the label of a bin"),
        ({"texts": {"utilisation": " "}}, "strings that are not empty. Got ' '"),
        ({"texts": {"utilisation": 3}}, "strings that are not empty. Got 3"),
        ({"against": "worst"}, "against must be"),
        ({"against": [0.0]}, "against must be 'best', 'mean', a finite float or"),
        ({"against": np.inf}, "against must be"),
    ],
)
def test_what_reasons_refuses(fitted, credit, options, message):
    assert "utilisation" in fitted.terms_
    with pytest.raises(ValueError, match=message):
        fitted.reasons(credit.data, **options)


def test_an_empty_table_needs_no_reasons(fitted, credit):
    table = fitted.reasons(credit.data.iloc[:0], form="table")
    assert (len(table), list(table)[:3]) == (0, ["row", "rank", "term"])


def test_points_may_be_compared_with_those_of_other_rows(fitted, credit):
    """One of the methods of Regulation B: the mean of applicants who have just passed."""
    totals = fitted.card_.totals(credit.data)
    passed = credit.data[(totals <= fitted.cut_) & (totals >= fitted.cut_ - 2)]
    means = fitted.points_of(passed).mean(axis=0)
    rows = credit.data.iloc[:50]
    points, found = fitted.points_of(rows), fitted.reasons(rows, against=means)
    for row in range(50):
        lost = sorted((m - p, j) for j, (p, m) in enumerate(zip(points[row], means, strict=True)))
        expected = [fitted.terms_[j] for difference, j in lost[:4] if difference < -1e-9]
        assert [one for one in found[row] if one is not None] == expected
    document = json.loads(fitted.reasons(rows, against=means, form="json"))
    assert document["against"] == means.tolist()


def test_reasons_of_an_edited_card_have_no_risk(credit):
    scorecard = Scorecard(**QUICK, adverse="high").fit(credit.data, credit.target)
    edited = scorecard.edited(scorecard.terms_[0], points={0: 3}, who="A. Smith", why="policy 7")
    rows = json.loads(edited.reasons(credit.data[:2], k=2, form="json"))["rows"]
    assert [one["risk"] for one in rows] == [None, None]
    totals = edited.points_of(credit.data[:2]).sum(axis=1) + edited.card_.intercept
    assert [one["total"] for one in rows] == totals.tolist()
