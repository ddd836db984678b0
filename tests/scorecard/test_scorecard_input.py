"""Tables to score need the columns of the card, and no others; errors name what is wrong."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sklearn_rank import PNormPushRanker
from sklearn_rank.datasets import make_credit
from sklearn_rank.scorecard import Scorecard

CREDIT = make_credit(400, random_state=0)
X, Y = CREDIT.data, CREDIT.target
NUMBERS = X.select_dtypes("number")
DATES = pd.date_range("2020", periods=len(X))


def unfitted(**parameters):
    return Scorecard(PNormPushRanker(n_estimators=3, **parameters), cv=2)


@pytest.fixture(params=[NUMBERS, X], ids=["numbers", "categories"], scope="module")
def frame(request):
    return request.param


@pytest.fixture(scope="module")
def card(frame):
    return unfitted().fit(frame, Y)


@pytest.fixture(scope="module")
def number_card():
    return unfitted().fit(NUMBERS, Y)


def refuses(call, *words):
    with pytest.raises(ValueError) as caught:
        call()
    for word in words:
        assert word in str(caught.value), (word, str(caught.value))


@pytest.mark.parametrize("of", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])
@pytest.mark.parametrize("method", ["decision_function", "predict_proba", "points_of"])
def test_only_the_columns_of_the_card_are_needed(card, frame, of, method):
    assert 0 < len(card.variables_) < frame.shape[1]
    wanted = getattr(card, method)(frame)
    own, text = frame[card.variables_], np.array(["a", "b"])[Y]
    unused = next(name for name in frame if name not in card.variables_)
    for table in (
        *(own, own[own.columns[::-1]], own.assign(name=text), frame.assign(**{"name": text})),
        *(frame.assign(**{unused: text}), frame.assign(**{unused: np.inf})),
        frame.assign(day=DATES),
    ):
        np.testing.assert_array_equal(getattr(card, method)(of(table)), wanted)


def test_text_on_the_card_is_categories_where_it_was_in_training():
    text = X.assign(housing=X["housing"].astype(object))[["housing", "income"]]
    ranker = PNormPushRanker(n_estimators=20, categorical_features=[0])
    card = Scorecard(ranker, cv=2).fit(text, Y)
    assert "housing" in card.variables_
    np.testing.assert_array_equal(card.predict(text.assign(x="a")), card.predict(text))


def test_a_card_of_json_reads_the_same_tables(card, frame):
    again = Scorecard.from_json(card.to_json())
    for rows in (frame, frame[card.variables_]):
        np.testing.assert_array_equal(again.predict_proba(rows), card.predict_proba(rows))
    refuses(lambda: again.predict(frame.drop(columns=card.variables_[0])), card.variables_[0])


def test_a_lacking_column_is_named_with_those_that_the_card_needs(card, frame):
    needed = card.variables_[0]
    rows = frame.drop(columns=needed)
    words = "yet now missing:\n", f"- {needed}\n", f"The scorecard needs {card.variables_}"
    refuses(lambda: card.predict(rows), *words)
    refuses(lambda: card.predict(rows.assign(other="abc")), f"- {needed}\n")


def test_columns_that_are_twice_there_or_in_another_order_are_refused(number_card):
    twice = pd.concat([NUMBERS, NUMBERS[number_card.variables_[:1]]], axis=1)
    refuses(lambda: number_card.predict(twice), "unique column names")
    refuses(lambda: number_card.predict(NUMBERS[NUMBERS.columns[::-1]]), "same order")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_table_that_shares_no_column_is_refused_even_by_a_card_without_terms():
    card = Scorecard(cv=2).fit(pd.DataFrame({"a": np.zeros(len(Y))}), Y)
    assert not card.variables_
    refuses(lambda: card.predict(pd.DataFrame({"b": [1.0]})), "unseen at fit time:\n- b")


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_arrays_keep_their_number_of_columns(number_card):
    rows = NUMBERS.to_numpy()
    np.testing.assert_array_equal(number_card.predict(rows), number_card.predict(NUMBERS))
    with pytest.raises(ValueError, match="features as input") as caught:
        number_card.predict(rows[:, :-1])
    assert "The scorecard needs" not in str(caught.value)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (np.array(["no", "yes"])[Y], ("'extra'", "could not convert")),
        (DATES, ("'extra'", "datetime64", "days")),
        (DATES.to_period("D"), ("'extra'", "period")),
    ],
    ids=["text", "dates", "periods"],
)
def test_a_column_of_no_numbers_is_named_by_fit(column, words):
    refuses(lambda: unfitted().fit(NUMBERS.assign(extra=column), Y), *words)


def test_a_column_of_text_beside_categories_is_named():
    wrong = X.astype({"housing": object})
    refuses(lambda: unfitted().fit(wrong, Y), "'housing'", "categorical_features")


@pytest.mark.parametrize("value", ["abc", pd.Timestamp("2020-01-01")], ids=["text", "date"])
def test_a_column_of_no_numbers_is_named_by_scoring(card, frame, value):
    name = card.variables_[0]
    refuses(lambda: card.predict(frame.assign(**{name: value})), repr(name), "must hold numbers")
