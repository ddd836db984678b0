"""Rows for the acceptance test of another system reach all bins, and their totals are exact."""

import contextlib
import csv
import io
import math
import sqlite3
from dataclasses import replace

import numpy as np
import pytest
from cards import cards
from hypothesis import given

from sklearn_rank.datasets import make_credit
from sklearn_rank.scorecard import Axis, Card, Pair, Scorecard, Variable, test_rows, to_sql

AGE = Variable("age", 0, (-1, 2, 7, 0), (29.5,), (-999.0,))
JOB = Variable("job", 1, (3, 1, 0, -2), groups=(("clerk", "smith"), ("cook",)))
BOTH = Pair(Axis("age", 0, (40.0,)), Axis("debt", 2, (1e3, 5e3)), tuple(range(12)))
CARD = Card((AGE, JOB), 1, 0, (0, 1), 3, ("age", "job", "debt"), pairs=(BOTH,))


def raw(card, frame):
    """Return the rows of a table as an array with all columns of the card."""
    rows = np.zeros((len(frame), card.n_features), dtype=object)
    for column in card.features:
        rows[:, column] = frame[card.column_name(card.axes_of(column)[0])].to_numpy()
    return rows


def possible(axis, card):
    """Return the bins that some value is in."""
    bins = list(range(axis.n_bins))
    groups = [one for other in card.axes_of(axis.column) for one in other.groups or ()]
    values = {one for group in groups for one in group}
    if values >= {True, False} and axis.kind == "bool" and card.kind_of(axis.column) == "bool":
        own = {one for group in axis.groups for one in group}
        return bins if own < {True, False} else bins[:-1]
    return bins


@given(cards(with_pairs=True))
def test_totals_are_those_of_the_card_and_all_bins_are_reached(card):
    frame = test_rows(card, infinite=True)
    rows = raw(card, frame)
    np.testing.assert_array_equal(frame["expected_total"], card.totals(rows))
    bins = card.bins(rows)
    for number, term in enumerate(card.terms):
        reached = set(bins[:, number].tolist())
        if isinstance(term, Variable) and not term.special:
            assert set(possible(term, card)) <= reached
        for axis in term.axes if term in card.variables else ():
            x = frame[card.column_name(axis)].tolist()
            for one in axis.thresholds:
                assert one in x and math.nextafter(one, math.inf) in x


def test_every_cell_of_a_pair_is_reached():
    bins = CARD.bins(raw(CARD, test_rows(CARD, n_typical=0)))
    assert set(bins[:, 2].tolist()) == set(range(12))


def test_another_system_reads_them_from_csv():
    credit = make_credit(500, random_state=0)
    card = Scorecard(p=1, cv=2, random_state=0).fit(credit.data, credit.target)
    text = card.test_rows().to_csv(index=False)
    categories = set(credit.data.select_dtypes("category"))
    header, *lines = csv.reader(io.StringIO(text))
    is_text = [name in {"test_case", *categories} for name in header]
    rows = [
        [
            None if not one else one if text else float(one)
            for one, text in zip(line, is_text, strict=True)
        ]
        for line in lines
    ]
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE t ({', '.join(header)})")
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(header))})", rows)
        found = connection.execute(f"SELECT {to_sql(card.card_)}, expected_total FROM t").fetchall()
    assert len(found) > 40
    assert all(one == total for one, total in found)
    risk = [row[header.index("expected_risk")] for row in rows]
    assert risk == card.test_rows()["expected_risk"].tolist()


def test_rows_that_the_card_refuses_have_no_total():
    counts = {"counts": (5.0, 5.0, 5.0, 0.0), "events": (1.0, 1.0, 1.0, 0.0)}
    card = replace(CARD, unseen="refuse", pairs=(), variables=(AGE, replace(JOB, **counts)))
    frame = test_rows(card)
    is_refused = frame["expected_total"].isna()
    assert frame["test_case"][is_refused].tolist() == ["job not seen"]
    rows = raw(card, frame)
    np.testing.assert_array_equal(
        frame["expected_total"][~is_refused], card.totals(rows[~is_refused])
    )
    with pytest.raises(ValueError, match="refuses values"):
        card.totals(rows[is_refused])


def test_cases_say_what_they_are_for():
    cases = test_rows(CARD, n_typical=2)["test_case"].tolist()
    for case in ("typical", "age at 29.5", "age above 29.5", "age is -999", "age missing"):
        assert cases.count(case) == 1
    assert {"job is cook", "job not seen", "drawn 1", "drawn 2"} <= set(cases)
    assert "age: <= 40; debt: > 1000 and <= 5000" in cases
    assert not any("infinite" in case for case in cases)
    assert test_rows(CARD).equals(test_rows(CARD))
    with pytest.raises(ValueError, match="'n_typical' parameter of test_rows"):
        test_rows(CARD, n_typical=-1)
