"""What an analyst can get wrong with a scorecard: a sentence that says what is allowed."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sklearn_rank import ListNetLinear, PNormPushRanker
from sklearn_rank.datasets import make_credit
from sklearn_rank.models import Stumps
from sklearn_rank.scorecard import (
    Card,
    Scorecard,
    Variable,
    card_from_json,
    card_to_json,
    report,
    to_html,
    to_pmml,
    to_sql,
    to_text,
)

CREDIT = make_credit(300, random_state=0)
X, Y = CREDIT.data, CREDIT.target
NUMBERS = X[["age", "income", "loan_amount"]]
DATES = pd.date_range("2020", periods=len(X))


def ranker(**parameters):
    return PNormPushRanker(n_estimators=3, **parameters)


def card(**parameters):
    return Scorecard(ranker(), p=None, **parameters)


AGE = Variable("age", 0, points=(-1, 2, 0), thresholds=(29.5,))
PLAIN = Card((AGE,), 1, 0, ("bad", "good"), 1, ("age",))
CODES = Card((Variable("age", 0, (-1, 2, 0), special=(-99.0,)),), 1, 0, (0, 1), 1, ("age",))


def refuses(call, *words):
    with pytest.raises(ValueError) as caught:
        call()
    for word in words:
        assert word in str(caught.value), (word, str(caught.value))


@pytest.mark.parametrize("model", [ranker(), card(), ListNetLinear()], ids=repr)
@pytest.mark.parametrize(
    ("column", "words"),
    [
        (np.array(["no", "yes"])[Y], ("'extra'", "could not convert")),
        (DATES, ("'extra'", "datetime64", "days")),
        (DATES.to_period("D"), ("'extra'", "period")),
    ],
    ids=["text", "dates", "periods"],
)
def test_a_column_of_no_numbers_is_named_by_fit(model, column, words):
    refuses(lambda: model.fit(NUMBERS.fillna(0).assign(extra=column), Y), *words)


def test_a_column_of_text_beside_categories_is_named():
    wrong = X.astype({"housing": object})
    refuses(lambda: card().fit(wrong, Y), "'housing'", "PNormPushRanker", "categorical_features")


@pytest.mark.parametrize("model", [ranker(), card()], ids=["ranker", "card"])
@pytest.mark.parametrize("frame", [NUMBERS, X], ids=["numbers", "categories"])
@pytest.mark.parametrize("value", ["abc", pd.Timestamp("2020-01-01")], ids=["text", "date"])
def test_a_column_of_no_numbers_is_named_by_scoring(model, frame, value):
    model.fit(frame, Y)
    name = getattr(model, "variables_", ["income"])[0]  # a card reads its own variables only
    refuses(lambda: model.predict(frame.assign(**{name: value})), repr(name), "must hold numbers")
    without = frame.drop(columns=name).assign(other=value)
    refuses(lambda: model.predict(without), f"- {name}\n")


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_names_are_asked_for_where_rows_have_names():
    """An array without them gets scikit-learn's own sentence."""
    fitted = card().fit(NUMBERS, Y)
    with pytest.raises(ValueError, match="X has 2 features") as few:
        fitted.predict(NUMBERS.to_numpy()[:, :2])
    assert "The scorecard needs" not in str(few.value)
    refuses(lambda: fitted.predict(NUMBERS[["age"]]), "The scorecard needs [")


@pytest.mark.parametrize("model", [ranker(), card()], ids=["ranker", "card"])
@pytest.mark.parametrize("frame", [NUMBERS, X], ids=["numbers", "categories"])
@pytest.mark.parametrize("of", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])
def test_dates_are_not_taken_for_numbers(model, frame, of):
    dated = of(frame.assign(day=DATES))
    refuses(lambda: model.fit(dated, Y), "'day'", "must hold numbers", "such as days")
    model.fit(of(frame), Y)
    has_names = hasattr(model, "feature_names_in_")
    if isinstance(model, Scorecard) and has_names:  # which reads its own columns only
        np.testing.assert_array_equal(model.predict(dated), model.predict(of(frame)))
        return
    # Old releases of scikit-learn count the columns of polars, but don't know their names.
    with pytest.raises(ValueError, match=r"feature names[\s\S]*- day|features as input"):
        model.predict(dated)


def test_dates_alone():
    refuses(lambda: card().fit(pd.DataFrame({"day": DATES}), Y), "'day'", "such as days")


@pytest.mark.parametrize("rows", [[1, 2], [(np.arange(300), np.arange(300, 400))]])
def test_folds_that_are_no_pairs_of_rows(rows):
    refuses(lambda: Scorecard(ranker(), cv=rows).fit(NUMBERS, Y), "cv of Scorecard", "300 rows")


def test_a_series_in_place_of_a_table():
    refuses(lambda: ranker().fit(NUMBERS["age"], Y), "2-dimensional")


def test_labels_of_two_kinds():
    mixed = np.array([1, "a"], dtype=object)[Y]
    refuses(lambda: card().fit(NUMBERS, mixed), "PNormPushRanker", "labels of one kind")


@pytest.mark.parametrize("name", ["thresholds", "special_values"])
@pytest.mark.parametrize("model", [ranker(), card()], ids=["ranker", "card"])
def test_a_list_in_place_of_a_dict(model, name):
    wrong = ranker(weak_ranker=Stumps(**{name: [1, 2]}))
    model = wrong if isinstance(model, PNormPushRanker) else model.set_params(ranker=wrong)
    refuses(lambda: model.fit(NUMBERS, Y), name, "dict", "Got [1, 2]")


def test_parameters_of_the_ranker_are_checked_first():
    wrong = Scorecard(ranker(weak_ranker=Stumps(min_bin_size="a")), p=None)
    refuses(lambda: wrong.fit(NUMBERS, Y), "'min_bin_size' parameter of Stumps", "'a'")


def test_errors_name_the_feature():
    wrong = ranker(weak_ranker=Stumps(thresholds={1: [3, 2]}))
    refuses(lambda: wrong.fit(NUMBERS, Y), "feature 'income'")
    refuses(lambda: wrong.fit(NUMBERS.to_numpy(), Y), "feature 1 ")


@pytest.mark.parametrize("points", [(-(10**30), 10**30), (-(10**7), 1)])
def test_points_that_no_card_could_store(points):
    refuses(lambda: card(points=points).fit(NUMBERS, Y), "neither beyond 1000000", str(points))


@pytest.mark.parametrize("wrong", [{"score": 1e300}, {"score": -1e10}, {"pdo": 1e300}])
def test_scaling_that_no_card_could_store(wrong):
    scaling = {"pdo": 20, "score": 600, "odds": 50, **wrong}
    refuses(lambda: card(scaling=scaling).fit(NUMBERS, Y), "1e6", "1e9", str(scaling))


@pytest.mark.parametrize("frame", [NUMBERS, X], ids=["numbers", "categories"])
def test_a_reference_without_rows(frame):
    fitted = card().fit(frame, Y)
    refuses(lambda: report(fitted, frame, Y, reference=frame[:0]), "reference of report")


@pytest.mark.parametrize("options", [{"table": 3}, {"table": []}, {"name": ""}, {"name": None}])
def test_names_in_sql(options):
    refuses(lambda: to_sql(PLAIN, **options), "name", "Got")


@pytest.mark.parametrize("name", ["", None])
def test_names_in_pmml(name):
    refuses(lambda: to_pmml(PLAIN, name=name), "name of to_pmml", repr(name))


@pytest.mark.parametrize("width", ["a", 60.5, -1, True])
def test_a_width_of_text_that_is_no_integer(width):
    refuses(lambda: to_text(PLAIN, width), "'width' parameter of to_text", repr(width))


@pytest.mark.parametrize("text", [3, None, ["{}"]])
def test_json_that_is_no_text(text):
    refuses(lambda: card_from_json(text), "JSON as a string", type(text).__name__)


def test_json_with_an_integer_that_python_does_not_read():
    text = card_to_json(PLAIN).replace('"n_features": 1', f'"n_features": {"9" * 5000}')
    refuses(lambda: card_from_json(text), "The scorecard is not valid", "an integer of 5000 digits")


def test_classes_of_two_kinds_stay_what_they_are():
    text = card_to_json(PLAIN).replace('"good"', "1")
    scorecard, rows = Scorecard.from_json(text), pd.DataFrame({"age": [20.0, 40.0]})
    assert scorecard.predict(rows).tolist() == ["bad", 1]
    assert scorecard.score(rows, np.array(["bad", 1], dtype=object)) == 1


def test_special_codes_are_explained_where_there_are_any():
    assert "line with 'is'" in " ".join(to_text(CODES, 60).split())
    assert "line with 'is'" in to_html(CODES)
    assert "line with 'is'" not in " ".join(to_text(PLAIN, 60).split())
    assert "line with 'is'" not in to_html(PLAIN)


def test_values_beside_special_codes_are_other_values():
    assert CODES.variables[0].labels() == ["any other value", "is -99", "missing"]


def test_details_are_written_in_words():
    text = card().fit(NUMBERS, Y).to_text(width=80)
    assert "made by: sklearn_rank " in text
    assert "compared within queries only: no\n" in text and "scaling: none" in text


def test_the_example_of_the_html_is_a_sum():
    zero = Variable("age", 0, points=(0, 2, 0), thresholds=(29.5,))
    page = to_html(Card((zero,), 1, 0, (0, 1), 1, ("age",)))
    assert "has the total +1 +0 (age) = <strong>1</strong>" in page


def test_a_small_shift_has_no_negative_zero():
    rows = X.iloc[np.r_[0:300, 0:299]]
    fitted = card().fit(X, Y)
    assert "-0.00" not in report(fitted, rows, Y[np.r_[0:300, 0:299]], reference=X)
