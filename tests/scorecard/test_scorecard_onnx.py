"""ONNX graphs of cards, and all forms of fitted cards: each gives every row's total exactly."""

import importlib

import numpy as np
import pytest
from cards import cards, column_names, rows_of
from databases import DATABASES
from hypothesis import assume, given
from hypothesis import strategies as st
from levels import with_levels
from numpy.testing import assert_array_equal
from test_scorecard_json import CARD
from test_scorecard_pages import by_hand

from sklearn_rank import PNormPushRanker, RankBoost
from sklearn_rank._core.validation import is_missing
from sklearn_rank.datasets import make_credit
from sklearn_rank.models import Stumps
from sklearn_rank.scorecard import Scorecard, card_from_json


@pytest.fixture(scope="module")
def to_onnx():
    pytest.importorskip("onnx")
    return importlib.import_module("sklearn_rank.export.onnx").to_onnx


@pytest.fixture(scope="module")
def onnx_scores(to_onnx):
    """A function that gives the totals of an ONNX graph for rows, objects or floats."""
    runtime = pytest.importorskip("onnxruntime")

    def scores(card, X):
        model = to_onnx(card)
        session = runtime.InferenceSession(model.SerializeToString())
        names = column_names(card)
        if [one.name for one in session.get_inputs()] == ["X"] and "X" not in names:
            return session.run(["score"], {"X": X.astype(float)})[0]
        feed = {
            names[one.column]: onnx_column(one.kind, X[:, [one.column]]) for one in card.variables
        }
        return session.run(["score"], feed)[0]

    return scores


def onnx_column(kind, values):
    """Return a column as its input has it; a missing category is an empty string."""
    if kind == "str":
        return np.where(values == np.array(None), "", values).astype(object)
    return values.astype(np.int64 if kind in ("int", "bool") else float)


def as_onnx_can_have_it(card, X):
    """Return rows without missing categories in columns that have no form for them."""
    X = X.copy()
    for variable in card.variables:
        has_empty = any("" in group for group in variable.groups or ())
        if variable.kind in ("int", "bool") or has_empty:
            other = "no such category" if has_empty else 12345
            X[X[:, variable.column] == np.array(None), variable.column] = other
    return X


@given(card=cards(), seed=st.integers(0, 99))
def test_onnx_gives_the_totals(onnx_scores, card, seed):
    assume("score" not in column_names(card))
    X = as_onnx_can_have_it(card, rows_of(card, seed))
    found = onnx_scores(card, X)
    assert found.dtype == np.int64
    assert_array_equal(found, card.totals(X))


@given(card=cards(kinds=("number",)), seed=st.integers(0, 99))
def test_onnx_of_numbers_takes_one_table(onnx_scores, card, seed):
    X = rows_of(card, seed).astype(float)
    assert_array_equal(onnx_scores(card, X), card.totals(X))


def test_names_of_inputs_and_output_differ(to_onnx):
    with pytest.raises(ValueError, match=r"different names, none empty. Got the output 'job'"):
        to_onnx(CARD, name="job")


def test_other_rankers_are_sent_to_skl2onnx(to_onnx):
    with pytest.raises(TypeError, match=r"a Card .* Got RankBoost: for .* use skl2onnx\.to_onnx"):
        to_onnx(RankBoost())


# All forms of fitted cards ---------------------------------------------------------------


def check_all_forms(scorecard, frame, onnx_scores):
    """Check the totals that other systems read, of training rows and of every bin."""
    card = scorecard.card_
    X = np.vstack([frame.astype(object).to_numpy(), rows_of(card)])
    expected = card.totals(X).tolist()
    totals = scorecard.decision_function(frame) + scorecard.cut_
    assert_array_equal(totals, expected[: len(frame)])
    with DATABASES["sqlite"]() as database:
        assert [total for (total,) in database.answers(card, X)[1]] == expected
    assert card_from_json(scorecard.to_json()).totals(X).tolist() == expected
    missing = np.array([[is_missing(value) for value in row] for row in X])
    assert onnx_scores(card, np.where(missing, None, X)).tolist() == expected


def test_every_form_of_a_fitted_scorecard_gives_its_totals(onnx_scores, to_onnx):
    """Applications with categories, missing values and special codes, scaled to odds."""
    data = make_credit(1_500, random_state=0)
    special = {"debt_to_income": [-998.0], "utilisation": [-999.0]}
    ranker = PNormPushRanker(n_estimators=60, weak_ranker=Stumps(special_values=special))
    scaling = {"pdo": 20, "score": 600, "odds": 50}
    scorecard = Scorecard(ranker, max_terms=None, scaling=scaling, cv=2)
    card = scorecard.fit(data.data, data.target).card_
    assert {variable.groups is None for variable in card.variables} == {True, False}
    assert any(variable.special for variable in card.variables)
    check_all_forms(scorecard, data.data, onnx_scores)
    assert to_onnx(scorecard) == to_onnx(card)


def test_every_form_of_ordered_and_grouped_categories_gives_its_totals(onnx_scores):
    X, y = with_levels(1200)
    stumps = Stumps(
        category_order={"grade": ["low", "middle", ["upper", "high"], "top"]},
        category_groups={"home": [["own", "other"]]},
    )
    ranker = PNormPushRanker(loss="logistic", solver="corrective", weak_ranker=stumps)
    scorecard = Scorecard(ranker, monotonic_cst={"grade": 1}, cv=2).fit(X, y)
    assert {"grade", "home"} <= {*scorecard.variables_}
    check_all_forms(scorecard, X, onnx_scores)
    rows = X.astype({"grade": object, "home": object})
    assert_array_equal(by_hand(scorecard.to_html(), rows), scorecard.card_.totals(X))


def test_infinity_lies_in_the_outermost_range(onnx_scores):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    X[:20, 0] = np.nan
    y = X[:, 1] > rng.normal(size=300)
    scorecard = Scorecard(RankBoost(n_estimators=20), max_terms=None, cv=2).fit(X, y)
    ends = np.array([[-np.inf, np.inf], [np.inf, -np.inf], [np.inf, np.nan], [0.0, -np.inf]])
    huge = np.nan_to_num(ends, nan=np.nan, posinf=1e300, neginf=-1e300)
    card, rows = scorecard.card_, ends.astype(object)
    expected = card.totals(huge).tolist()
    assert (scorecard.decision_function(ends) + scorecard.cut_).tolist() == expected
    assert scorecard.predict_proba(ends).shape == (4, 2)
    assert onnx_scores(card, rows).tolist() == expected
    with DATABASES["sqlite"]() as database:
        assert [total for (total,) in database.answers(card, rows)[1]] == expected
    with pytest.raises(ValueError, match="infinity"):
        Scorecard(RankBoost()).fit(np.where(np.isnan(X), np.inf, X), y)
