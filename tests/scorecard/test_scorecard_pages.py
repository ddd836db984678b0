"""Cards as text, HTML and data frames: complete, and read as a person reads them."""

import math
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from cards import cards
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from test_scorecard_json import AGE, CARD, JOB

from sklearn_rank.datasets import make_credit
from sklearn_rank.metrics import auc_score
from sklearn_rank.scorecard import Card, Scorecard, Variable, to_frame, to_html, to_text
from sklearn_rank.scorecard._text import count_text

# Data frames -----------------------------------------------------------------------------


def test_frame():
    frame = to_frame(CARD)
    assert list(frame.columns) == ["variable", "bin", "points", "count", "event_rate"]
    assert frame["points"].tolist() == [4, -2, 0, 3, 1, -1, 2, -1, 0, 0]
    assert frame["points"].dtype == np.int64
    assert frame["variable"].tolist() == ["intercept"] + 5 * ["age"] + 4 * ["job"]
    assert frame["count"].tolist() == [40, 10, 20, 5, 5, 0, 20, 15, 5, 0]
    assert_array_equal(frame["event_rate"][:6], [15 / 40, 0.1, 0.3, 0.6, 1.0, np.nan])


@pytest.mark.parametrize(
    ("function", "package", "extra"), [(to_frame, "pandas", "cli"), (to_html, "jinja2", "html")]
)
def test_absent_packages_are_named_with_their_extra(monkeypatch, function, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf'requires {package}.*"sklearn-rank\[{extra}\]"'):
        function(CARD)


# Text ------------------------------------------------------------------------------------


@given(cards(), st.integers(50, 120))
def test_text_fits_and_is_complete(card, width):
    bare = replace(
        card, variables=tuple(replace(one, counts=(), events=()) for one in card.variables)
    )
    for shown in (card, bare):
        text = to_text(shown, width)
        assert max(map(len, text.splitlines())) <= width
        assert all(line.isprintable() for line in text.split("\n"))
    written = re.sub(r"\s", "", to_text(bare, 75))
    for variable in bare.variables:
        for label, points in zip(variable.labels(), variable.points, strict=True):
            number = f"{points:+d}" if points else "0"
            assert number + re.sub(r"\s", "", label) in written


def test_counts_have_all_digits_up_to_ten_billion():
    found = [count_text(one) for one in (999_999.5, 1e6, 1234567.8, 9e9, 1e10)]
    assert found == ["1e+06", "1,000,000", "1,234,568", "9,000,000,000", "1e+10"]


def test_text_has_room_for_bins_beside_huge_numbers():
    variable = replace(AGE, points=(-(10**9), 0, 3, 1, -1), counts=(1e300, 9e9, 5, 5, 0))
    text = to_text(replace(CARD, variables=(variable,)), 50)
    assert max(map(len, text.splitlines())) <= 50
    assert "-1000000000  <= 25.5" in text
    assert "1e+300" in text


def test_text_states_direction_cut_risk_and_details():
    details = {"rows": 30_000.0, "loss": 0.123456, "p": math.inf, "queries": False, "x": "\x1b[1m"}
    for width in (50, 80, 120):
        text = " ".join(to_text(replace(CARD, details=details), width).split())
        for part in (
            "a high total means bad",
            "A total above 1 means bad",
            "+4 intercept: every row",
            "4 75.0 % (40.0 % to 90.0 %)",
            "rows: 30,000",
            "loss: 0.1235",
            "p: inf",
            "compared within queries only: no",
            "x: \ufffd[1m",
        ):
            assert part in text


def test_text_thins_a_long_risk_table():
    risk = tuple((total, total / 1000, 0.0, 1.0) for total in range(1000))
    text = to_text(replace(CARD, risk=risk), 80)
    assert "(15 of 1000 totals)" in text
    assert "\n       0     0.0 %" in text
    assert "\n     999    99.9 %" in text


def test_text_takes_the_width_of_the_terminal(monkeypatch):
    for columns, width in (("70", 70), ("20", 50), ("500", 120)):
        monkeypatch.setenv("COLUMNS", columns)
        assert to_text(CARD) == to_text(CARD, width)
    for wrong in ("a", 60.5, -1, True):
        with pytest.raises(ValueError, match="'width' parameter of to_text"):
            to_text(CARD, wrong)


def test_special_codes_are_explained_where_there_are_any():
    without = replace(CARD, variables=(JOB,))
    for write in (lambda card: " ".join(to_text(card, 60).split()), to_html):
        assert "line with 'is'" in write(CARD)
        assert "line with 'is'" not in write(without)


# HTML, by a reader who knows the texts of paragraphs, captions and cells alone -------------------


class Reader(HTMLParser):
    """Collects captions, each with the lines of cells below it, and the other texts."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.tables, self.texts, self.place = set(), [], [""], None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "table":
            self.tables.append(["", []])
        if tag == "tr" and self.tables:
            self.tables[-1][1].append([])
        if tag in ("td", "th") and self.tables and self.tables[-1][1]:
            self.tables[-1][1][-1].append("")
        self.place = tag if tag in ("caption", "td", "th") else self.place
        if tag in ("p", "li", "h2"):
            self.place = None
            self.texts.append("")

    def handle_endtag(self, tag):
        if tag in ("caption", "td", "th"):
            self.place = None

    def handle_data(self, data):
        if self.place == "caption":
            self.tables[-1][0] += data
        elif self.place and self.tables and self.tables[-1][1]:
            self.tables[-1][1][-1][-1] += data
        else:
            self.texts[-1] += data


def fits(label, value):
    """Whether a value is in a bin that reads like this."""
    label = label.removesuffix(" (not seen in training)")
    if label == "missing" or pd.isna(value):
        return label == "missing" and pd.isna(value)
    if label == "any value":
        return True
    if isinstance(value, str):
        return value in label.split(", ")
    parts = [part.split() for part in label.split(" and ")]
    return all({">": value > float(n), "<=": value <= float(n)}[sign] for sign, n in parts)


def only(labels, value):
    found = [number for number, label in enumerate(labels) if fits(label, value)]
    if not found and isinstance(value, str):
        found = [n for n, label in enumerate(labels) if label.startswith("any other")]
    assert len(found) == 1, (labels, value)
    return found[0]


def by_hand(page, frame):
    """Return the totals of rows, from the text of a page."""
    reader = Reader(page)
    start = next(int(t.split(",")[1].strip(" .\n")) for t in reader.texts if "Start with" in t)
    totals = np.full(len(frame), start)
    for caption, lines in reader.tables:
        if caption:
            labels, points = zip(*((line[0], int(line[1])) for line in lines[1:]), strict=True)
            totals += [points[only(labels, value)] for value in frame[caption]]
    return totals


@pytest.fixture(scope="module")
def credit():
    return make_credit(900, random_state=0)


@pytest.fixture(scope="module")
def fitted(credit):
    return Scorecard(cv=3, random_state=0).fit(credit.data, credit.target)


def test_a_reader_of_the_page_scores_rows_exactly(credit, fitted):
    rows = credit.data.astype({"housing": object, "purpose": object}).copy()
    rows.iloc[::7, 1], rows.loc[::5, "purpose"] = np.nan, "none of these"
    assert_array_equal(by_hand(fitted.to_html(), rows), fitted.card_.totals(rows))


@given(cards())
def test_html_has_every_bin_and_escapes_everything(card):
    page = to_html(card, title="<script>")
    fragment, reader = to_html(card, page=False), Reader(page)
    assert "script" not in reader.tags
    assert "<i>" not in page
    assert page.count("<!DOCTYPE") == 1
    assert "<html" not in fragment
    tables = iter(reader.tables)
    for variable in card.variables:
        caption, (_, *lines) = next(tables)
        assert caption == printable(card.column_name(variable))
        for line, label, points in zip(lines, variable.labels(), variable.points, strict=True):
            assert line[:2] == [printable(label), f"{points:+d}" if points else "0"]


def printable(text):
    return "".join(one if one.isprintable() else "\ufffd" for one in text)


def test_html_states_direction_and_risk():
    page = to_html(CARD)
    for part in (
        "A high total means <strong>bad</strong>",
        "A total above 1 means",
        "intercept, <strong>+4</strong>",
        "+4 -2 (age) +2 (job) = <strong>4</strong>, above 1",
        "<td>4</td><td>75.0 %</td><td>40.0 % to 90.0 %</td>",
        "<dt>training loss</dt><dd>0.25</dd>",
        "&lt;none&gt;",
        "Signature",
    ):
        assert part in page
    assert "http" not in page
    zero = Variable("age", 0, points=(0, 2, 0), thresholds=(29.5,))
    page = to_html(Card((zero,), 1, 0, (0, 1), 1, ("age",)))
    assert "has the total +1 +0 (age) = <strong>1</strong>" in page


def test_a_range_without_training_rows_is_grey():
    age = Variable("age", 0, (-1, 2, 7), (29.5,), counts=(9.0, 0.0, 1.0), events=(1.0, 0.0, 0.0))
    page = to_html(Card((age,), 1, 0, (0, 1), 2, ("age", "debt")))
    assert '<tr class="unseen"><td class="bin">&gt; 29.5</td>' in page
    assert page.count('class="unseen"') == 1


def test_the_event_has_a_name():
    card = Card((), 1, 0, (0, 1), 1)
    page = to_html(card, event="default within <12> months")
    assert "A high total means <strong>default within &lt;12&gt; months (class 1)</strong>" in page
    assert "A total above 0 means <strong>class 1</strong>" in page
    for wrong in ("", 3):
        with pytest.raises(ValueError, match="'event' parameter of to_html"):
            to_html(card, event=wrong)


def test_the_page_states_how_good_the_card_is(credit, fitted):
    details, page = fitted.card_.details, fitted.to_html()
    for key in ("held_out_auc", "held_out_pauc_5"):
        assert 0 < details[key] < 1
        assert f"<b>{details[key]:.3f}</b>" in page
    own = auc_score(credit.target, fitted.decision_function(credit.data))
    assert details["held_out_auc"] < own
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", details["made_on"])
    assert f"<dt>made on</dt><dd>{details['made_on']}</dd>" in page


@pytest.mark.parametrize(("n_totals", "n_lines"), [(90, 90), (91, 90), (500, 90)])
def test_the_page_has_ninety_lines_of_risks_at_most(n_totals, n_lines):
    risk = tuple((total, 0.5, 0.4, 0.6) for total in range(n_totals))
    tables = Reader(to_html(Card((), 0, 0, (0, 1), 1, risk=risk))).tables  # side by side
    totals = [int(line[0]) for _, lines in tables for line in lines if line[0].isdigit()]
    assert len(totals) == n_lines
    assert (totals[0], totals[-1]) == (0, n_totals - 1)
