"""Terms of a card: pairs, values that training has not seen, and the bad end of the totals."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cards import cards, rows_of
from hypothesis import given
from hypothesis import strategies as st

from sklearn_rank._core.validation import is_missing
from sklearn_rank.datasets import make_credit
from sklearn_rank.scorecard import (
    Axis,
    Card,
    Pair,
    Scorecard,
    Variable,
    card_from_json,
    card_to_json,
)
from sklearn_rank.scorecard._adverse import inferred_end
from sklearn_rank.scorecard.fitting._variables import points_with_unseen

AGE = Axis("age", 0, (29.5,), special=(-99.0,))
JOB = Axis("job", 2, groups=(("clerk",), ("smith", "cook")))
PAIR = Pair(AGE, JOB, tuple(range(16)))


def slow_bin(axis, value):
    """Return the bin of a value of an axis, by the definition."""
    if is_missing(value):
        return axis.n_values + len(axis.special)
    if value in axis.special:
        return axis.n_values + axis.special.index(value)
    if axis.groups is None:
        return sum(value > one for one in axis.thresholds)
    found = [number for number, group in enumerate(axis.groups) if value in group]
    return found[0] if found else axis.n_bins - 1


def slow_total(card, row):
    """Return the total of a row, term by term."""
    total = card.intercept
    for term in card.terms:
        table = np.reshape(term.points, [axis.n_bins for axis in term.axes])
        total += table[tuple(slow_bin(axis, row[axis.column]) for axis in term.axes)]
    return total


def test_a_category_that_reads_like_another_bin_is_in_quotes():
    """What fillna("missing") leaves had the label of missing values."""
    groups = (("clerk",), ("missing",), ("cook", "any other"), ("clerk (not seen in training)",))
    job = Variable("job", 0, (3, 1, 2, 4, 5, 6), groups=groups)
    expected = ["clerk", '"missing"', 'cook, "any other"', '"clerk (not seen in training)"']
    assert job.labels() == [*expected, "missing", "any other"]
    card = Card((job,), 0, 0, (0, 1), 1, ("job",), adverse="low")
    scorecard = Scorecard.from_json(card_to_json(card))
    signed = {"who": "A. Smith", "why": "policy 7"}
    for number, label in enumerate(job.labels()):
        found = scorecard.edited("job", points={label: -4}, **signed).card_
        assert [one == -4 for one in found.terms[0].points] == [k == number for k in range(6)]
    edited = scorecard.edited("job", category=("missing", 0), **signed).card_
    assert edited.details["edits"][0]["change"].startswith('"missing" from \'"missing"\' to')
    rows = pd.DataFrame({"job": ["missing", None, "clerk"]})
    texts = {("job", "missing"): "No record of your job", ("job", '"missing"'): "Your job"}
    names = scorecard.reasons(rows, k=1, texts=texts)[:, 0].tolist()
    assert names == ["Your job", "No record of your job", "job"]


@given(cards(with_pairs=True), st.integers(0, 99))
def test_totals_are_the_sum_of_the_terms(card, seed):
    X = rows_of(card, seed)
    expected = [slow_total(card, row) for row in X.tolist()]
    assert card.totals(X).tolist() == expected
    read = card_from_json(card_to_json(card))
    assert read.totals(X).tolist() == expected
    assert card_to_json(read) == card_to_json(card)


def test_a_pair_reads_as_a_grid():
    assert PAIR.name == "age × job"
    assert PAIR.columns == (0, 2)
    assert PAIR.n_bins == 16
    assert PAIR.grid == ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11), (12, 13, 14, 15))
    labels = PAIR.labels()
    assert labels[0] == "age: <= 29.5; job: clerk"
    assert labels[-1] == "age: missing; job: any other"
    cell = PAIR.listed()[6]
    assert [(one.kind, one.label) for one in cell.parts] == [
        ("range", "> 29.5"),
        ("missing", "missing"),
    ]
    card = Card((), 0, 0, (0, 1), 3, ("age", "id", "job"), pairs=(PAIR,))
    frame = pd.DataFrame({"job": ["cook", None], "age": [40.0, -99.0]})
    assert card.totals(frame).tolist() == [5, 10]
    assert card.features == {0: "age", 2: "job"}


def test_codes_beside_categories_have_bins_of_their_own():
    grade = Variable("grade", 0, (1, 2, 9, 3, 4), special=(-99.0,), groups=((1.0,), (2.0,)))
    card = Card((grade,), 0, 0, (0, 1), 1)
    assert card.totals([[1.0], [2.0], [-99.0], [np.nan], [7.0]]).tolist() == [1, 2, 9, 3, 4]


@pytest.mark.parametrize(
    ("message", "change"),
    {
        "pair 'age × age' must have two features": {"pairs": (Pair(AGE, AGE, (0,) * 16),)},
        "columns of pairs must be distinct": {
            "pairs": (PAIR, Pair(JOB, AGE, PAIR.points)),
        },
        "points of 'age × job' must be 16: 2 of .* times 2 of": {
            "pairs": (replace(PAIR, points=(1,)),)
        },
        "'job' must be numbers or categories in all terms": {
            "variables": (Variable("job", 2, (1, 2)),),
            "pairs": (PAIR,),
        },
        "the column of 'job' must be below 2": {"n_features": 2, "feature_names": None},
        "adverse of the document must be one of 'high', 'low'. Got 'up'": {"adverse": "up"},
        "unseen of the document must be one of 'neutral'": {"unseen": None},
    }.items(),
)
def test_a_card_with_a_wrong_pair_is_not_stored(message, change):
    card = Card((), 0, 0, (0, 1), 3, ("age", "id", "job"), pairs=(PAIR,))
    with pytest.raises(ValueError, match=message):
        card_to_json(replace(card, **change))


def test_a_card_of_the_first_version_is_read():
    job = Variable("job", 0, (1, 2, 3), groups=(("a",), ("b",)))
    text = card_to_json(Card((job,), 0, 0, (0, 1), 1))
    for new in ('  "pairs": [],\n', '  "adverse": null,\n', '  "unseen": "neutral",\n'):
        assert new in text
        text = text.replace(new, "")
    card = card_from_json(text.replace('"version": 2', '"version": 1'))
    assert card.totals([["b"], [None], ["c"]]).tolist() == [2, 3, 3]


# Values that training has not seen -----------------------------------------------------


def test_unseen_cells_of_a_pair_are_whole_rows_and_columns():
    counts = np.zeros((4, 4))
    counts[:3, :2] = [[5, 0], [1, 2], [0, 3]]
    pair = replace(PAIR, counts=tuple(counts.ravel()), events=(0.0,) * 16)
    unseen = np.zeros((4, 4), dtype=bool)
    unseen[3], unseen[:, 2:] = True, True
    assert pair.unseen_bins() == np.flatnonzero(unseen).tolist()
    assert pair.labels()[-1].endswith("any other (not seen in training)")
    mean = (0 * 5 + 4 * 1 + 5 * 2 + 9 * 3) / 11
    points = points_with_unseen(pair, None)
    assert {points[cell] for cell in pair.unseen_bins()} == {round(mean)}
    assert {points_with_unseen(pair, max)[cell] for cell in pair.unseen_bins()} == {9}
    assert PAIR.unseen_bins() == []


@pytest.mark.parametrize("worst", [None, min, max])
def test_neutral_points_are_the_mean_and_the_worst_the_worst(worst):
    one = Variable("x", 0, (4, 0, -2, 7), (1.0,), (-9.0,), None, (3.0, 6.0, 0.0, 0.0), (0.0,) * 4)
    expected = {None: 1, min: 0, max: 4}[worst]  # mean 12/9
    assert points_with_unseen(one, worst) == (4, 0, expected, expected)
    seen = replace(one, counts=(1.0,) * 4)
    assert points_with_unseen(seen, worst) == seen.points


@pytest.fixture(scope="module")
def credit():
    found = make_credit(1500, random_state=0)
    return found.data, found.target


def fit(X, y, **parameters):
    options = {"p": 1, "cv": 2, "random_state": 0, **parameters}
    return Scorecard(**options).fit(X, y)


def blank(X):
    """Return rows with all cells emptied."""
    return X.mask(np.ones(X.shape, dtype=bool))


def test_a_row_of_which_nothing_is_known_has_about_the_mean_risk(credit):
    X, y = credit
    known = X.dropna(axis=1)
    card = fit(known, y)
    assert abs(card.predict_risk(blank(known))[0] - y.mean()) < 0.1


def test_refused_values_are_named(credit):
    X, y = credit
    known = X.dropna(axis=1).select_dtypes("number")
    card = fit(known, y, unseen="refuse")
    assert card.points_of(known).shape == (len(X), len(card.terms_))
    name = card.variables_[0]
    rows = known.copy()
    rows.loc[rows.index[3], name] = np.nan
    message = rf"Row 3 of X has '{name}': missing \(not seen in training\); rows like it: 1\."
    with pytest.raises(ValueError, match=message):
        card.predict(rows)


@pytest.mark.parametrize(("adverse", "worst"), [("high", max), ("low", min)])
def test_the_worst_points_follow_the_bad_end(credit, adverse, worst):
    X, y = credit
    card = fit(X, y, unseen="worst", adverse=adverse).card_
    assert card.adverse == adverse
    unseen = {one.name: one.unseen_bins() for one in card.terms if one.unseen_bins()}
    assert unseen
    for term in card.terms:
        seen = [one for k, one in enumerate(term.points) if k not in term.unseen_bins()]
        assert {term.points[k] for k in term.unseen_bins()} <= {worst(seen)}


def test_levels_that_no_row_has_are_other_categories(credit):
    """Neither a level of the column that is empty nor a missing one is in a group."""
    X, y = credit
    names = X["purpose"].cat.categories
    X = X.assign(purpose=X["purpose"].cat.add_categories(["moon"]))
    X.loc[X.index[::11], "purpose"] = np.nan
    card = fit(X, y, max_terms=20, alpha=1e-3, max_pairs=0).card_
    purpose = next(one for one in card.variables if one.name == "purpose")
    assert sorted(sum(purpose.groups, ())) == sorted(names)
    assert purpose.bins(np.array(["moon", np.nan], dtype=object)).tolist() == [
        purpose.other,
        purpose.missing,
    ]


def test_the_worst_points_need_the_bad_end(credit):
    X, y = credit
    with pytest.raises(ValueError, match="adverse='high' if high totals are bad, or adverse='low'"):
        fit(X, y, unseen="worst")


@pytest.mark.parametrize(
    ("classes", "expected"),
    {
        ("good", "bad"): "high",
        ("bad", "good"): "low",
        ("Fully Paid", "charged_off"): "high",
        ("other", "fraud"): "high",
        ("default", "no-default"): "low",
        (0, 1): None,
        ("no", "yes"): None,
        ("bad", "fraud"): None,
        ("good", "paid"): None,
    }.items(),
)
def test_the_bad_end_follows_from_certain_names_only(classes, expected):
    assert inferred_end("auto", classes) == expected
    assert inferred_end("low", classes) == "low"
