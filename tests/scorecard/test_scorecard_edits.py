"""Changes by hand: what the card is afterwards, and the log that every form shows."""

import io
import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sklearn_rank.datasets import make_credit
from sklearn_rank.scorecard import Axis, Card, Pair, Scorecard, Variable, card_to_json
from sklearn_rank.scorecard.card import known_risk

AGE = Variable(
    "age",
    0,
    (-1, 2, 5, 0),
    (29.5, 40.0),
    counts=(10.0, 20.0, 30.0, 0.0),
    events=(1.0, 4.0, 9.0, 0.0),
)
JOB = Variable(
    *("job", 1, (3, 1, 0, -2)),
    groups=(("clerk", "smith"), ("cook",)),
    counts=(40.0, 15.0, 5.0, 0.0),
    events=(4.0, 3.0, 1.0, 0.0),
)
BOTH = Pair(Axis("age", 0, (40.0,)), Axis("debt", 2, (1e3, 5e3)), tuple(range(12)))
RISK = ((-3.0, 0.1, 0.05, 0.2), (9.0, 0.6, 0.5, 0.7))
CARD = Card((AGE, JOB), 1, 0, (0, 1), 3, ("age", "job", "debt"), RISK, pairs=(BOTH,))
ROWS = pd.DataFrame(
    {
        "age": [20.0, 35.0, 38.0, 50.0, np.nan],
        "job": ["cook", "clerk", "smith", "none", "cook"],
        "debt": [0.0, 2e3, 9e3, 5e3, 1.0],
    }
)
SIGNED = {"who": "A. Smith", "why": "policy 7"}


def scorecard(card=CARD):
    return Scorecard.from_json(card_to_json(card))


def points(found):
    return found.points_of(ROWS).T.tolist()


def test_points_by_number_label_and_cell():
    before, one = scorecard(), scorecard()
    edits = {"age": {0: -4, "> 40": 1}, "age × debt": {(0, 1): 30, 11: -5}}
    for term, given in edits.items():
        one = one.edited(term, points=given, **SIGNED)
    assert one.card_.variables[0].points == (-4, 2, 1, 0)
    assert one.card_.pairs[0].points == (0, 30, *range(2, 11), -5)
    assert points(one)[1] == points(before)[1]
    assert before.card_.variables[0].points == AGE.points
    assert [edit["term"] for edit in one.card_.details["edits"]] == ["age", "age × debt"]
    assert "points of '<= 29.5' from -1 to -4" in one.card_.details["edits"][0]["change"]


def test_ranges_are_merged_with_the_mean_of_their_points():
    age = scorecard().edited("age", merge=(1, 2), **SIGNED).card_.variables[0]
    assert age.thresholds == (29.5,) and age.points == (-1, 4, 0)  # (20 * 2 + 30 * 5) / 50
    assert age.counts == (10, 50, 0) and age.events == (1, 13, 0)


def test_groups_are_merged():
    found = scorecard().edited("job", merge=("clerk, smith", "cook"), **SIGNED)
    job = found.card_.variables[1]
    assert job.groups == (("clerk", "smith", "cook"),) and job.points == (2, 0, -2)
    assert job.counts == (55, 5, 0)
    assert points(found)[1] == [2, 2, 2, -2, 2]


def test_the_groups_beside_those_that_are_merged_stay():
    groups = (("a",), ("b",), ("c",), ("d",))
    kind = Variable("job", 1, (4, 3, 2, 1, 0, 0), groups=groups)
    card = replace(CARD, variables=(AGE, kind), risk=(), pairs=())
    found = scorecard(card).edited("job", merge=("b", "d"), **SIGNED).card_.variables[1]
    assert found.groups == (("a",), ("b", "d"), ("c",))
    assert found.points == (4, 2, 2, 0, 0)


def test_the_table_of_points_has_the_count_of_all_rows_where_a_later_term_has_lost_its_own():
    two = scorecard(replace(CARD, pairs=()))
    found = two.edited("job", category=("smith", "cook"), **SIGNED)
    assert [one.counts for one in found.card_.variables] == [AGE.counts, ()]
    frame = found.to_frame()
    assert frame["count"][0] == 60 and frame["event_rate"][0] == pytest.approx(14 / 60)


def test_a_threshold_moves_and_counts_follow_given_rows():
    found = scorecard().edited("age", threshold=(40.0, 36), **SIGNED)
    age = found.card_.variables[0]
    assert age.thresholds == (29.5, 36.0) and age.counts == ()
    assert points(found)[0] == [-1, 2, 5, 5, 0]
    y = [0, 1, 1, 1, 0]
    counted = scorecard().edited("age", threshold=(40.0, 36), X=ROWS, y=y, **SIGNED)
    age = counted.card_.variables[0]
    assert age.counts == (1, 1, 2, 1) and age.events == (0, 1, 2, 0)
    weighed = {"X": ROWS, "y": y, "sample_weight": [2, 0.5, 0, 3, 1]}
    age = scorecard().edited("age", threshold=(40.0, 36), **weighed, **SIGNED).card_.variables[0]
    assert age.counts == (2, 0.5, 3, 1) and age.events == (0, 0.5, 3, 0)


@pytest.mark.parametrize("how", [{"threshold": (40.0, 36)}, {"points": {0: 7}}])
def test_the_rows_to_count_have_a_class_each(how):
    with pytest.raises(ValueError, match="inconsistent numbers of samples: X has 5, y has 4"):
        scorecard().edited("age", **how, X=ROWS, y=[0, 1, 1, 1], **SIGNED)
    for given, alone in (({"X": ROWS}, "X"), ({"y": [0, 1, 1, 1, 0]}, "y")):
        with pytest.raises(ValueError, match=f"pass X and y, or neither. Got {alone} alone"):
            scorecard().edited("age", **how, **given, **SIGNED)


def test_terms_have_their_own_names_where_tables_have_none():
    one = scorecard(replace(CARD, feature_names=None))
    for number, name in enumerate(one.terms_):
        found = one.edited(name, points={0: -9}, **SIGNED).card_
        assert [term.points[0] == -9 for term in found.terms] == [k == number for k in range(3)]
        assert found.details["edits"][0]["term"] == name


def test_a_category_moves():
    found = scorecard().edited("job", category=("smith", 1), **SIGNED)
    assert found.card_.variables[1].groups == (("clerk",), ("cook", "smith"))
    assert points(found)[1] == [1, 3, 1, -2, 1]
    # A group without categories is gone, and so are its points.
    job = scorecard().edited("job", category=("cook", 0), **SIGNED).card_.variables[1]
    assert job.groups == (("clerk", "smith", "cook"),) and job.points == (3, 0, -2)


def test_a_card_that_refuses_must_know_what_is_not_seen():
    card = scorecard(replace(CARD, unseen="refuse", pairs=()))
    with pytest.raises(ValueError, match="Pass the training rows as X and y"):
        card.edited("age", threshold=(40.0, 36), **SIGNED)
    rows = ROWS[["age", "job"]].assign(debt=0).iloc[:3]
    found = card.edited("age", threshold=(40.0, 36), X=rows, y=[0, 1, 1], **SIGNED)
    assert found.card_.variables[0].unseen_bins() == [3]


@pytest.mark.parametrize("how", [{"points": {0: 0}}, {"merge": (0, 1)}])
def test_former_probabilities_are_gone(how):
    found = scorecard().edited("age", **how, **SIGNED)
    assert found.card_.is_edited
    with pytest.raises(ValueError, match="the card was edited"):
        known_risk(found.card_)
    # The change back brings them back: the points are those that the table was made for.
    again = scorecard().edited("age", points={0: 7}, **SIGNED)
    assert not again.edited("age", points={0: -1}, **SIGNED).card_.is_edited


def test_recalibrate_makes_new_ones():
    credit = make_credit(800, random_state=0)
    card = Scorecard(p=1, cv=2, random_state=0).fit(credit.data, credit.target)
    found = card.edited(card.terms_[0], points={0: -5}, **SIGNED)
    with pytest.raises(ValueError, match="edited"):
        found.predict_risk(credit.data)
    new = found.recalibrate(credit.data, credit.target)
    assert new.card_.details["edits"] == found.card_.details["edits"]
    assert ((new.predict_risk(credit.data) > 0) & (new.predict_risk(credit.data) < 1)).all()


def test_figures_of_the_former_points_are_gone():
    figures = {"held_out_auc": 0.75, "held_out_ks": 0.4, "held_out_pauc_5": 0.1}
    details = {**figures, "training_loss_of_the_card": 0.5, "training_rows": 60}
    found = scorecard(replace(CARD, details=details)).edited("age", points={0: 7}, **SIGNED)
    assert set(found.card_.details) & set(details) == {"training_rows"}
    assert "held out" not in found.to_text()
    rows, y = pd.concat([ROWS] * 40), np.arange(200) % 2
    again = found.recalibrate(rows, y).card_.details
    assert set(again) & set(details) == {"training_rows"}


def test_every_form_shows_the_log():
    found = scorecard().edited("age", points={0: -4}, who="A. <Smith>", why="policy 7")
    found = found.edited("job", merge=(0, 1), who="B", why="few rows")
    again = Scorecard.from_json(found.to_json())
    assert again.card_.details["edits"] == found.card_.details["edits"]
    assert again.card_.is_edited
    record = json.loads(found.to_json())["details"]["edits"][0]
    assert {"who", "why", "when", "term", "change", "before", "after"} == set(record)
    assert record["after"] == json.loads(found.to_json())["details"]["edits"][1]["before"]
    page = found.to_html()
    assert "Changes by hand" in page and "A. &lt;Smith&gt;: age, points of" in page
    text = " ".join(found.to_text(100).split())
    assert "A. <Smith>: age, points of '<= 29.5' from -1 to -4 (policy 7)" in text
    openpyxl, file = pytest.importorskip("openpyxl"), io.BytesIO()
    found.to_excel(file)
    about = [row[1].value for row in openpyxl.load_workbook(file)["about"].iter_rows()]
    assert sum("policy 7" in str(one) or "few rows" in str(one) for one in about) == 2


@pytest.mark.parametrize(
    ("term", "how", "words"),
    [
        ("income", {"points": {0: 1}}, "term must be one of"),
        ("age", {}, "one change at a time"),
        ("age", {"points": {0: 1}, "merge": (0, 1)}, "one change at a time"),
        ("age", {"points": {9: 1}}, "has 4 bins"),
        ("age", {"points": {"young": 1}}, "has 4 bins"),
        ("age", {"points": {0: 1.5}}, "points must be integers"),
        ("age", {"points": {0: 2**40}}, "points must be integers"),
        ("age", {"points": {}}, "points must be a dict"),
        ("age", {"merge": (0, 2)}, "neighbouring"),
        ("age", {"merge": (2, 3)}, "neighbouring"),
        ("age", {"merge": 3}, "merge must be two bins"),
        ("age", {"threshold": (30, 31)}, "has the thresholds"),
        ("age", {"threshold": (29.5, 41)}, "can move between -inf and 40.0"),
        ("age", {"threshold": (29.5, math.nan)}, "can move between"),
        ("age", {"category": ("cook", 0)}, "category must be"),
        ("job", {"category": ("pilot", 0)}, "moves to another"),
        ("job", {"category": ("cook", 1)}, "moves to another"),
        ("age × debt", {"merge": (0, 1)}, "of a pair can't be changed"),
    ],
)
def test_what_is_refused(term, how, words):
    with pytest.raises(ValueError, match="The card can't be edited") as caught:
        scorecard().edited(term, **how, **SIGNED)
    assert words in str(caught.value)


@pytest.mark.parametrize("wrong", [{"who": " ", "why": "x"}, {"who": "A", "why": None}])
def test_changes_are_signed(wrong):
    with pytest.raises(ValueError, match="must be text that is not empty"):
        scorecard().edited("age", points={0: 1}, **wrong)
