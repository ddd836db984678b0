"""JSON of a card: there and back without a loss, or a sentence that says what is wrong."""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cards import cards, rows_of
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sklearn_rank.scorecard import (
    Card,
    Scorecard,
    Variable,
    card_from_json,
    card_to_json,
    to_html,
    to_sql,
    to_text,
)

AGE = Variable(
    "age", 0, (-2, 0, 3, 1, -1), (25.5, 40.0), (-99.0,), None, (10, 20, 5, 5, 0), (1, 6, 3, 5, 0)
)
JOB = Variable(
    "job", 2, (2, -1, 0), groups=(("clerk", "smith, black"), ("<none>",)),
    counts=(20, 15, 5), events=(9, 3, 3),
)  # fmt: skip
NAMES = ("age", "rate", "job")
RISK = ((-3, 0.1, 0.05, 0.2), (4, 0.75, 0.4, 0.9))
CARD = Card((AGE, JOB), 4, 1, ("good", "bad"), 3, NAMES, RISK, {"p": 4.0, "training_loss": 0.25})
MANY = settings(max_examples=5 * settings.default.max_examples)


@MANY
@given(cards())
def test_json_round_trip(card):
    text = card_to_json(card)
    for again in (card_from_json(text), card_from_json(text.encode())):
        assert repr(again) == repr(card)
    X = rows_of(card)
    assert_array_equal(again.totals(X), card.totals(X))


def test_json_takes_scalars_of_numpy():
    variable = replace(JOB, points=tuple(np.array(JOB.points)), groups=((np.str_("a"),), ("b",)))
    card = replace(CARD, variables=(variable,), classes=tuple(np.array([3, 5])))
    again = card_from_json(card_to_json(card))
    assert again.classes == (3, 5)
    assert again.variables[0].groups == (("a",), ("b",))
    assert type(again.variables[0].points[0]) is int


def test_classes_of_two_kinds_stay_what_they_are():
    card = Card((Variable("age", 0, (-1, 2, 0), (29.5,)),), 1, 0, ("bad", 1), 1, ("age",))
    scorecard = Scorecard.from_json(card_to_json(card))
    rows = pd.DataFrame({"age": [20.0, 40.0]})
    assert scorecard.predict(rows).tolist() == ["bad", 1]
    assert scorecard.score(rows, np.array(["bad", 1], dtype=object)) == 1


def edited(**changes):
    """Return the JSON of CARD with some fields replaced; those of the first variable by age_..."""
    document = json.loads(card_to_json(CARD))
    for key, value in changes.items():
        place = document["variables"][0] if key.startswith("age_") else document
        place = document["variables"][1] if key.startswith("job_") else place
        place[key.removeprefix("age_").removeprefix("job_")] = value
    return json.dumps(document)


def without(key, *path):
    document = json.loads(card_to_json(CARD))
    place = document
    for step in path:
        place = place[step]
    del place[key]
    return json.dumps(document)


def risk(**changes):
    row = {"total": 1, "probability": 0.1, "low": 0, "high": 1}
    return edited(risk=[row, {**row, "total": 2, **changes}])


WRONG = {
    "not valid JSON: .*line 1": "{",
    "not valid JSON": "",
    "not text in UTF-8": b'{"\xff": 1}',
    "JSON as a string or bytes. Got list": ["{}"],
    "must be an object with": "[1]",
    "nested too deeply": '{"a":' * 100_000,
    "an integer of 5000 digits": f'{{"a": {"9" * 5000}}}',
    "must be of version 3, which this release reads. Got version 4": edited(version=4),
    "Got version None": without("version"),
    "Got version True": edited(version=True),
    "document lacks 'intercept'": without("intercept"),
    "item 0 of variables of the document lacks 'thresholds'": without("thresholds", "variables", 0),
    "item 1 of risk of the document lacks 'low'": without("low", "risk", 1),
    "unknown key 'threshold'; known are name": edited(age_threshold=[1.0]),
    "the key 'a' twice": '{"a": 1, "a": 2}',
    "finite numbers only. Got NaN": edited(intercept=math.nan),
    "finite numbers only. Got -Infinity": edited(age_special=[-math.inf]),
    "intercept of the document must be an integer .* Got 1.5": edited(intercept=1.5),
    "intercept of the document must be an integer .* Got True": edited(intercept=True),
    "cut of the document must be an integer .* Got '1'": edited(cut="1"),
    "variables of the document must be a list. Got 3": edited(variables=3),
    "item 0 of variables of the document must be an object. Got 3": edited(variables=[3]),
    "thresholds of 'age' must increase": edited(age_thresholds=[40.0, 40.0]),
    "item 0 of thresholds of 'age' must be a finite number. Got '3'": edited(age_thresholds=["3"]),
    "item 0 of thresholds of 'age' must be a finite number. Got 1000": edited(
        age_thresholds=[10**400]
    ),
    "points of 'age' must be 5: 3 of bins of values, 1 of special codes, 1 of .* Got 4": edited(
        age_points=[1, 2, 3, 4]
    ),
    "item 4 of points of 'age' must be an integer .* Got 1.5": edited(age_points=[1, 2, 3, 4, 1.5]),
    "sum of the largest points": edited(age_points=[2**31 - 1] * 5),
    "special codes and categories of 'age' must be distinct. -99.0": edited(
        age_special=[-99, -99.0], age_points=[0] * 6
    ),
    "special codes and categories of 'job' must be distinct. 'a'": edited(
        job_groups=[["a"], ["b", "a"]]
    ),
    "all strings or all numbers": edited(job_groups=[["a"], [1]]),
    "item 0 of item 1 of groups of 'job' must be a string, a number": edited(
        job_groups=[["a"], [None]]
    ),
    "of groups of 'job' must be a string, a number of at most 64 bits, true": edited(
        job_groups=[[2**63], [1]]
    ),
    "a group of 'job' must have a category": edited(job_groups=[["a"], []]),
    "item 0 of groups of 'job' must be a list. Got 'a'": edited(job_groups=["a", "b"]),
    "thresholds or groups of categories, not both": edited(job_thresholds=[1.0]),
    "the column of 'age' must be below 3": edited(age_column=3),
    "column of 'age' must be an integer from 0": edited(age_column=-1),
    "column 1 is 'rate' in feature_names, not 'age'": edited(age_column=1),
    "columns of variables must be distinct": edited(feature_names=None, age_column=2),
    "names of variables must be distinct": edited(feature_names=None, age_name="job"),
    "name of item 0 of variables of the document must be a string that is not empty": edited(
        age_name=""
    ),
    "feature_names must be 3": edited(feature_names=["age"]),
    "feature_names must be distinct. 'age'": edited(feature_names=["age", "age", "job"]),
    "n_features of the document must be an integer from 1": edited(n_features=0),
    "classes must be two. Got 3": edited(classes=[1, 2, 3]),
    "classes must be distinct": edited(classes=["a", "a"]),
    "item 0 of classes of the document must be a string": edited(classes=[None, 1]),
    "counts of 'age' must be 5 or none. Got 1": edited(age_counts=[1]),
    "events of 'age' must be 5 or none. Got 0": edited(age_events=[]),
    "counts of 'age' must not be negative": edited(age_counts=[-1, 1, 1, 1, 1]),
    "events of 'age' must not exceed counts": edited(age_counts=[0.5, 20, 5, 5, 0]),
    "totals of risk must increase": risk(total=1),
    "must have numbers from 0 to 1": risk(high=1.1),
    "total 2 must be from low to high. Got 0.1, 0.2 and 1": risk(low=0.2),
    "total 2 must not be below that of the total before. Got 0.05 after 0.1": risk(
        probability=0.05
    ),
    "risk table was made for other points or bins": edited(details={"risk_of_points": "0" * 16}),
    "details of the document must be an object": edited(details=[]),
    "must be one of inf, -inf and nan": edited(details={"p": {"float": "many"}}),
    "contains an unpaired surrogate": edited(details={"p": "\ud800"}),
}


@pytest.mark.parametrize("message", WRONG)
def test_json_says_what_is_wrong(message):
    with pytest.raises(ValueError, match=message):
        card_from_json(WRONG[message])


@pytest.mark.parametrize(
    ("message", "changes"),
    {
        "item 0 of classes of the document must be a string": {"classes": ((1, 2), (3, 4))},
        "classes and details must be texts and numbers.*Timestamp": {
            "classes": (pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01"))
        },
        "points of 'age' must be 5": {"variables": (replace(AGE, points=(1, 2)),)},
        "must be texts and numbers.*Interval": {
            "variables": (replace(JOB, groups=((pd.Interval(0, 1),), ("a",))),)
        },
    }.items(),
)
def test_an_inconsistent_card_is_not_stored(message, changes):
    with pytest.raises(ValueError, match=message):
        card_to_json(replace(CARD, **changes))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
    | st.sampled_from(["age", "job", "str", -99.0, 10**400]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip


def places(node, path=()):
    """Yield the path of everything in a document."""
    for key in node if isinstance(node, dict) else range(len(node)):
        yield (*path, key)
        if isinstance(node[key], dict | list):
            yield from places(node[key], (*path, key))


@given(st.data())
def test_an_edited_file_loads_or_says_what_is_wrong(data):
    document = json.loads(card_to_json(CARD))
    for _ in range(data.draw(st.integers(1, 2))):
        *path, last = data.draw(st.sampled_from(list(places(document))))
        node = document
        for step in path:
            node = node[step]
        if data.draw(st.booleans()):
            node[last] = data.draw(JSON)
        else:
            del node[last]
    check_loads_or_says(json.dumps(document))


@given(st.integers(0, 2_000), st.text(max_size=3), st.integers(0, 5))
def test_an_edited_text_loads_or_says_what_is_wrong(place, added, removed):
    text = card_to_json(CARD)
    check_loads_or_says(text[:place] + added + text[place + removed :])


def check_loads_or_says(text):
    try:
        card = card_from_json(text)
    except ValueError as error:
        assert len(str(error)) > 20
        return
    X = rows_of(card)
    assert_array_equal(card_from_json(card_to_json(card)).totals(X), card.totals(X))
    assert to_text(card, 60)
    assert to_html(card)
    try:
        to_sql(card)
    except ValueError as error:  # a character that it can't hold
        assert "character" in str(error)
