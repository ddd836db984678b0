"""Tables to score need the columns of the card, and no others."""

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


def fitted(frame, n_rules=3):
    ranker = PNormPushRanker(n_estimators=n_rules)
    return Scorecard(ranker, p=None, adverse="high").fit(frame, Y)


@pytest.fixture(params=[NUMBERS, X], ids=["numbers", "categories"])
def frame(request):
    return request.param


@pytest.mark.parametrize("of", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])
@pytest.mark.parametrize("method", ["decision_function", "predict", "points_of", "reasons"])
def test_only_the_columns_of_the_card_are_needed(frame, of, method):
    card = fitted(frame)
    assert 0 < len(card.variables_) < frame.shape[1]
    wanted = getattr(card, method)(frame)
    own = frame[card.variables_]
    text = np.array(["a", "b"])[Y]
    tables = [own, own[own.columns[::-1]], own.assign(name=text), frame.assign(**{"name": text})]
    unused = next(name for name in frame if name not in card.variables_)
    tables.append(frame.assign(**{unused: text}))
    tables.append(frame.assign(**{unused: np.inf}))
    for table in tables:
        np.testing.assert_array_equal(getattr(card, method)(of(table)), wanted)


def test_text_on_the_card_is_categories_where_it_was_in_training():
    text = X.assign(housing=X["housing"].astype(object))[["housing", "income"]]
    ranker = PNormPushRanker(n_estimators=20, categorical_features=[0])
    card = Scorecard(ranker, p=None).fit(text, Y)
    assert "housing" in card.variables_
    np.testing.assert_array_equal(card.predict(text.assign(x="a")), card.predict(text))


def test_rows_that_the_ranker_has_checked_have_the_totals_of_the_table(frame):
    card = fitted(frame)
    checked = card.ranker_.check_rows(frame)
    np.testing.assert_array_equal(card.score_rows(checked), card.decision_function(frame))


def test_a_lacking_column_is_named_with_those_that_the_card_needs(frame):
    card = fitted(frame)
    needed = card.variables_[0]
    with pytest.raises(ValueError, match=r"yet now missing:\n") as caught:
        card.predict(frame.drop(columns=needed))
    assert f"- {needed}\n" in str(caught.value)
    assert f"The scorecard needs {card.variables_}" in str(caught.value)


def test_a_column_that_is_there_twice_is_refused():
    card = fitted(NUMBERS)
    twice = pd.concat([NUMBERS, NUMBERS[card.variables_[:1]]], axis=1)
    with pytest.raises(ValueError, match="unique column names"):
        card.predict(twice)


def test_all_columns_of_training_come_in_their_order():
    card = fitted(NUMBERS)
    with pytest.raises(ValueError, match="same order"):
        card.predict(NUMBERS[NUMBERS.columns[::-1]])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_table_that_shares_no_column_is_refused_even_by_a_card_without_terms():
    card = Scorecard(p=None).fit(pd.DataFrame({"a": np.zeros(len(Y))}), Y)
    assert not card.terms_
    with pytest.raises(ValueError, match="unseen at fit time:\n- b"):
        card.predict(pd.DataFrame({"b": [1.0]}))


def test_arrays_keep_their_number_of_columns(frame):
    card = fitted(NUMBERS)
    rows = NUMBERS.to_numpy()
    with pytest.warns(UserWarning, match="feature names"):
        np.testing.assert_array_equal(card.predict(rows), card.predict(NUMBERS))
    with (
        pytest.warns(UserWarning, match="feature names"),
        pytest.raises(ValueError, match="features as input"),
    ):
        card.predict(rows[:, :-1])
