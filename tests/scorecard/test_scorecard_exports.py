"""Exports of a card: each gives every row's integer total exactly, or says what is wrong."""

import csv
import importlib
import inspect
import io
import json
import math
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from cards import cards, column_names, refusing, rows_of, totals_or_none, values_of
from databases import DATABASES
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from levels import with_levels
from numpy.testing import assert_array_equal
from test_scorecard_page import by_hand

from sklearn_rank import PNormPushRanker, RankBoost
from sklearn_rank._core.validation import is_missing
from sklearn_rank.datasets import make_credit
from sklearn_rank.models import Stumps
from sklearn_rank.scorecard import (
    Axis,
    Card,
    Pair,
    Scorecard,
    Variable,
    card_from_json,
    card_to_json,
    to_csv,
    to_excel,
    to_frame,
    to_html,
    to_pmml,
    to_sql,
    to_text,
)
from sklearn_rank.scorecard._adverse import best_points
from sklearn_rank.scorecard.exports import EXPORTS
from sklearn_rank.scorecard.forms._text import count_text

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


def numbers_card(*thresholds, **fields):
    n_points = len(thresholds) + 2 + len(fields.get("special", ()))
    variable = Variable("x0", 0, tuple(range(n_points)), thresholds, **fields)
    return Card((variable,), 0, 0, (0, 1), 1)


def categories_card(*categories):
    variable = Variable("x0", 0, (5, -7), groups=(categories,))
    return Card((variable,), 0, 0, (0, 1), 1)


EMPTY_CARD = Card((), 3, 0, (0, 1), 2)
NOT_WRITTEN = {
    "dialect of to_sql must be one of sqlite, .*'db2'": (to_sql, CARD, {"dialect": "db2"}),
    "without the character NUL": (to_sql, CARD, {"table": "a\0b"}),
    "no strings with the character NUL": (to_sql, categories_card("a\0"), {}),
    r"must be finite in SQL\. 'x0' has inf": (to_sql, numbers_card(math.inf), {}),
    r"all strings or all numbers\. Got int, str": (to_sql, categories_card("a", 1), {}),
    r"'x0' must be all strings or all numbers\. Got Interval": (
        card_to_json,
        categories_card(pd.Interval(0, 1)),
        {},
    ),
    r"'x0' must be strings and numbers in CSV\. .*Timestamp": (
        to_csv,
        categories_card(pd.Timestamp("2020-01-01")),
        {},
    ),
    "classes and details must be texts and numbers.*Timestamp": (
        card_to_json,
        replace(CARD, classes=(pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01"))),
        {},
    ),
    "which end of the totals is bad": (to_pmml, CARD, {}),
    "needs a variable": (to_pmml, EMPTY_CARD, {}),
    "XML cannot hold": (to_pmml, replace(categories_card("a\x01"), adverse="low"), {}),
}


@pytest.mark.parametrize("message", NOT_WRITTEN)
def test_what_cannot_be_written_is_refused(message):
    export, card, options = NOT_WRITTEN[message]
    with pytest.raises(ValueError, match=message):
        export(card, **options)


# PMML ----------------------------------------------------------------------------------

SPACE = "{http://www.dmg.org/PMML-4_4}"
READ = {"double": float, "integer": int, "boolean": lambda text: text == "true", "string": str}


def holds(predicate, row, read):
    """Whether a predicate of PMML holds; None if that is unknown."""
    kind = predicate.tag.removeprefix(SPACE)
    if kind in ("True", "False"):
        return kind == "True"
    if kind == "CompoundPredicate":
        found = [holds(one, row, read) for one in predicate]
        if predicate.get("booleanOperator") == "or":
            return True if True in found else None if None in found else False
        assert predicate.get("booleanOperator") == "and"
        return False if False in found else None if None in found else True
    value = row[predicate.get("field")]
    missing, operator = is_missing(value), predicate.get("operator")
    if operator in ("isMissing", "isNotMissing"):
        return missing == (operator == "isMissing")
    if missing:
        return None  # unknown
    wanted = read[predicate.get("field")](predicate.get("value"))
    if operator == "lessOrEqual":
        return value <= wanted
    return (value == wanted) == (operator == "equal")


def pmml_scores(text, names, X):
    """Return the totals of a PMML scorecard by the words of its definition."""
    root = ElementTree.fromstring(text)
    types = {one.get("name"): one.get("dataType") for one in root.iter(f"{SPACE}DataField")}
    model = root.find(f"{SPACE}Scorecard")
    schema = {one.get("name") for one in model.iter(f"{SPACE}MiningField")}
    assert schema == set(types)
    read = {name: READ[kind] for name, kind in types.items()}
    for values in X.tolist():
        row, total = dict(zip(names, values, strict=True)), int(model.get("initialScore"))
        for one in model.iter(f"{SPACE}Characteristic"):
            found = [
                int(attribute.get("partialScore"))
                for attribute in one
                if holds(attribute[0], row, read)
            ]
            # If no attribute holds the result is invalid.
            total = total + found[0] if found and total is not None else None
        yield total


@given(cards(with_pairs=True), st.booleans(), st.integers(0, 99))
def test_pmml_gives_the_totals(card, is_refusing, seed):
    assume(card.terms)
    card = refusing(card, seed) if is_refusing else card
    X = rows_of(card)
    names = list(column_names(card))
    card = replace(card, adverse="low" if seed % 2 else "high")
    assert list(pmml_scores(to_pmml(card), names, X)) == totals_or_none(card, X)


def test_pmml_gives_the_totals_beside_codes_that_no_training_row_had():
    bins = {"thresholds": (1.5, 3.0), "special": (-98.0, -99.0), "counts": (1, 1, 1, 0, 1, 1)}
    x = Variable("x", 0, points=(-1, 2, 3, 4, 5, 6), events=(0,) * 6, **bins)
    card = Card((x,), 0, 0, (0, 1), 1, ("x",), adverse="high", unseen="refuse")
    X = np.array([[1.0], [2], [9], [-98], [-99], [np.nan]])
    expected = [-1, 2, 3, None, 5, 6]
    assert totals_or_none(card, X) == expected
    assert list(pmml_scores(to_pmml(card), ["x"], X)) == expected


@pytest.mark.parametrize("adverse", ["high", "low"])
def test_pmml_reasons_go_to_the_bad_end(adverse):
    """Differences of partial and baseline scores, by the words of PMML, are points lost."""
    card = replace(CARD, adverse=adverse)
    root = ElementTree.fromstring(to_pmml(card))
    model = root.find(f"{SPACE}Scorecard")
    sign = {"pointsAbove": 1, "pointsBelow": -1}[model.get("reasonCodeAlgorithm")]
    assert sign == (1 if adverse == "high" else -1)
    best = best_points(card, "this").tolist()
    found = list(model.iter(f"{SPACE}Characteristic"))
    assert [int(one.get("baselineScore")) for one in found] == best
    assert [one.get("reasonCode") for one in found] == ["age", "job"]


@pytest.mark.parametrize("n_terms", [2, 4, 5])
def test_pmml_tells_four_reasons_at_most(n_terms):
    variables = tuple(Variable(f"v{j}", j, (0, 2, 0), (0.5,)) for j in range(n_terms))
    card = Card(variables, 0, 0, (0, 1), n_terms, adverse="low")
    fields = ElementTree.fromstring(to_pmml(card)).iter(f"{SPACE}OutputField")
    ranks = [one.get("rank") for one in fields if one.get("feature") == "reasonCode"]
    assert ranks == [str(rank) for rank in range(1, min(4, n_terms) + 1)]


@pytest.fixture(scope="module")
def pmml_reader():
    pypmml = pytest.importorskip("pypmml")
    try:
        yield pypmml.Model
    finally:
        pypmml.Model.close()


def as_pypmml_has_it(value):
    return None if is_missing(value) else value


@pytest.mark.slow
@settings(max_examples=settings.default.max_examples)
@given(card=cards(with_pairs=True), is_refusing=st.booleans(), seed=st.integers(0, 99))
def test_pypmml_gives_the_totals(pmml_reader, card, is_refusing, seed):
    assume(card.terms)
    card = refusing(card, seed) if is_refusing else card
    X = rows_of(card, seed)
    model = pmml_reader.fromString(to_pmml(replace(card, adverse="low")))
    names = column_names(card)
    rows = [dict(zip(names, map(as_pypmml_has_it, row), strict=True)) for row in X.tolist()]
    used = {names[column] for column in card.features}
    for row, total in zip(rows, totals_or_none(card, X), strict=True):
        given = {name: value for name, value in row.items() if name in used}
        if total is None:
            with pytest.raises(Exception, match="NoSuchElement"):
                model.predict(given)
        else:
            assert model.predict(given)["score"] == total


# Tables --------------------------------------------------------------------------------


def csv_scores(text, names, X):
    """Return the totals by adding the lines of the CSV that fit each row, as its words say."""
    first, *lines = csv.DictReader(io.StringIO(text))
    blocks = {}
    for line in lines:
        features = json.loads(line["features"])
        blocks.setdefault(tuple(features), []).append(line)
    for row in X.tolist():
        value, total = dict(zip(names, row, strict=True)), int(first["points"])
        for features, block in blocks.items():
            lines = block
            for feature, end in zip(features, ("", "2"), strict=False):
                lines = fitting(lines, value[feature], end)
            (line,) = lines
            total = None if total is None or not line["points"] else total + int(line["points"])
        yield total


def fitting(block, value, end):
    """Return the lines whose bin of a feature holds a value."""
    kinds = {line["kind" + end] for line in block}
    if is_missing(value):
        return [line for line in block if line["kind" + end] == "missing"]
    listed = [line for line in block if line["values" + end]]
    found = [line for line in listed if value in json.loads(line["values" + end])]
    if found:
        return found
    if "range" not in kinds:
        return [line for line in block if line["kind" + end] == "other"]
    return [
        line
        for line in block
        if line["kind" + end] == "range"
        and (not line["above" + end] or value > float(line["above" + end]))
        and (not line["up_to" + end] or value <= float(line["up_to" + end]))
    ]


@given(cards(with_pairs=True), st.booleans(), st.integers(0, 99))
def test_csv_can_be_added_by_hand(card, is_refusing, seed):
    card = refusing(card, seed) if is_refusing else card
    X = rows_of(card)
    names = list(column_names(card))
    assert list(csv_scores(to_csv(card), names, X)) == totals_or_none(card, X)


@given(cards(with_pairs=True), st.booleans())
def test_csv_and_frame_agree(card, is_refusing):
    card = refusing(card) if is_refusing else card
    frame, lines = to_frame(card), list(csv.DictReader(io.StringIO(to_csv(card))))
    assert list(frame.columns) == ["variable", "bin", "points", "count", "event_rate"]
    for name in ("variable", "bin"):
        assert frame[name].tolist() == [line[name].removeprefix("'") for line in lines]
    for name in ("points", "count", "event_rate"):
        expected = [float(line[name] or "nan") for line in lines]
        assert_array_equal(frame[name].to_numpy(float, na_value=np.nan), expected)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\n", "'"])
def test_csv_has_no_formulas(start):
    """Of what a spreadsheet would compute no cell is left but numbers."""
    category = f"{start}HYPERLINK(1)"
    variable = Variable(
        f"{start}1+1", 0, (-1, 2, 1, 0), special=(-9.0,), groups=((category,), ("b",))
    )
    card = Card((variable,), -1, 0, ("bad", "good"), 1, (f"{start}1+1",))
    lines = list(csv.reader(io.StringIO(to_csv(card))))
    for cell in (cell for line in lines for cell in line if cell and cell[0] in "=+-@\t\n"):
        float(cell)
    assert {line[0] for line in lines[2:]} == {f"'{start}1+1"}
    assert lines[4][1] == "is -9"
    assert json.loads(lines[2][lines[0].index("values")]) == [category]


def test_csv_keeps_letters_of_any_language():
    variable = replace(JOB, name="Größe", groups=(("größer",), ("größte", "小")))
    names = ("age", "rate", "Größe")
    lines = to_csv(replace(CARD, variables=(variable,), feature_names=names)).splitlines()[2:]
    assert all(line.count("Größe") == 2 for line in lines)  # the name, and the features
    assert "größer" in lines[0]
    assert "小" in lines[1]


def test_frame():
    frame = to_frame(CARD)
    assert frame["points"].tolist() == [4, -2, 0, 3, 1, -1, 2, -1, 0, 0]
    assert frame["points"].dtype == np.int64
    assert frame["variable"].tolist() == ["intercept"] + 5 * ["age"] + 4 * ["job"]
    assert frame["count"].tolist() == [40, 10, 20, 5, 5, 0, 20, 15, 5, 0]
    assert_array_equal(frame["event_rate"][:6], [15 / 40, 0.1, 0.3, 0.6, 1.0, np.nan])


PACKAGES = {"xlsx": "openpyxl", "onnx": "onnx", "html": "jinja2"}


@pytest.mark.parametrize("form", [form for form, one in EXPORTS.items() if one.extra])
def test_absent_packages_are_named_with_their_extra(monkeypatch, form):
    monkeypatch.setitem(sys.modules, PACKAGES[form], None)
    extra = EXPORTS[form].extra
    with pytest.raises(ImportError, match=rf'needs {PACKAGES[form]}.*"sklearn-rank\[{extra}\]"'):
        EXPORTS[form].content(CARD)


@pytest.mark.parametrize("form", EXPORTS)
def test_every_form_is_a_method(form, monkeypatch):
    """With the options of the function, and without its first argument in the docstring."""
    function = EXPORTS[form].function
    method = getattr(Scorecard, function.__name__)
    options = list(inspect.signature(function).parameters.values())[1:]
    assert list(inspect.signature(method).parameters.values())[1:] == options
    assert "card :" not in method.__doc__
    assert method.__doc__.startswith(inspect.getdoc(function).partition("\n")[0])


def test_excel(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    formula = replace(JOB, groups=(("=1+1", "b\x01"), ("<none>",)))
    card = replace(CARD, variables=(AGE, formula), details={"p": math.inf, "rows": 3, "x": None})
    to_excel(card, tmp_path / "card.xlsx")
    book = openpyxl.load_workbook(tmp_path / "card.xlsx")
    assert book.sheetnames == ["points", "risk", "about"]
    rows = list(book["points"].iter_rows(values_only=True))
    assert rows[0] == ("variable", "bin", "points", "count", "event_rate")
    assert rows[2] == ("age", "<= 25.5", -2, 10, 0.1)
    assert rows[6] == ("age", "missing (not seen in training)", -1, 0, None)
    assert [row[2] for row in rows[1:]] == to_frame(card)["points"].tolist()
    assert all(cell.data_type != "f" for row in book["points"].iter_rows() for cell in row)
    assert list(book["risk"].iter_rows(values_only=True, min_row=2)) == list(RISK)
    about = dict(book["about"].iter_rows(values_only=True))
    assert about["a high total means"] == "bad"
    assert "a row whose points are 'none'" not in about
    assert about["p"] == "inf"
    to_excel(refusing(CARD, 0), tmp_path / "refusing.xlsx")
    refused = openpyxl.load_workbook(tmp_path / "refusing.xlsx")
    assert ("a row whose points are 'none'", "is not scored") in refused["about"].values
    cells = refused["points"].iter_rows(values_only=True)
    assert "none" in [row[2] for row in cells]


# Text and HTML -------------------------------------------------------------------------


@given(cards(with_pairs=True), st.booleans(), st.integers(50, 120))
def test_text_fits_and_is_complete(card, is_refusing, width):
    variables, pairs = (
        tuple(replace(one, counts=(), events=()) for one in terms)
        for terms in (card.variables, card.pairs)
    )
    bare = replace(card, variables=variables, pairs=pairs)
    for one in (card, bare, refusing(card) if is_refusing else card):
        text = to_text(one, width)
        assert max(map(len, text.splitlines())) <= width
        assert all(line.isprintable() for line in text.split("\n"))
    written = re.sub(r"\s", "", to_text(bare, 75))
    for variable in bare.variables:
        for label, points in zip(variable.labels(), variable.points, strict=True):
            number = f"{points:+d}" if points else "0"
            assert number + re.sub(r"\s", "", label) in written


def test_a_pair_is_printed_as_a_grid():
    """Long names fit, refused cells have no points, and wide grids are divided."""
    age = Axis("age", 0, (25.5, 40.0))
    job = Axis("job", 1, groups=(("a category that is long",) * 3, ("clerk",)))
    counts = (5, 5, 0, 0) * 3 + (0,) * 4
    pair = Pair(age, job, tuple(range(-8, 8)), tuple(map(float, counts)), (0.0,) * 16)
    card = Card((), 1, 0, (0, 1), 2, ("age", "job"), pairs=(pair,), unseen="refuse")
    lines = to_text(card, 50).split("\n")
    start = lines.index("age \u00d7 job")
    assert lines[start + 1] == "  column 1: a category that is long, a category"
    assert lines[start + 3] == "  column 2: clerk"
    assert lines[start + 4] == "  column 3: missing (not seen in training)"
    head, *rows = lines[start + 6 :]
    assert head.split() == ["1", "2", "3", "4"]
    assert rows[0].split() == ["<=", "25.5", "-8", "-7", "none", "none"]
    assert rows[1].split()[-4:] == ["-4", "-3", "none", "none"]
    assert " ".join(rows[3:][0].split()[-4:]) == "none none none none"
    huge = replace(pair, points=tuple(10**9 + one for one in range(16)))
    divided = to_text(replace(card, pairs=(huge,)), 50).split("\n")
    assert sum(line.split()[:1] == ["<="] for line in divided) == 2
    assert max(map(len, divided)) <= 50


def test_bars_are_as_long_as_points_are_large():
    card = replace(CARD, variables=(replace(AGE, points=(-20, 13, 3, 0, 1)),), pairs=())
    ends = {line.split()[0]: line.split()[-1] for line in to_text(card, 120).split("\n") if line}
    assert (ends["-20"], ends["+13"], ends["+3"]) == (10 * "-", 6 * "+", 2 * "+")  # 6.5 and 1.5
    assert not set(ends[f"{card.intercept:+d}"]) <= {"+", "-"}
    assert "+++" not in to_text(card, 60)  # no room


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
    for width in (50, 80, 120):
        text = " ".join(to_text(CARD, width).split())
        assert "a high total means bad" in text
        assert "A total above 1 means bad" in text
        assert "+4 intercept: every row" in text
        assert "4 75.0 % (40.0 % to 90.0 %)" in text
        assert "training loss: 0.25" in text
    assert "+++" in to_text(CARD, 80)
    assert "+++" not in to_text(CARD, 60)


def test_details_are_readable():
    details = {"rows": 30_000.0, "loss": 0.123456, "p": math.inf, "queries": False, "x": "\x1b[1m"}
    text = to_text(replace(CARD, details=details), 80)
    for line in (
        "rows: 30,000",
        "loss: 0.1235",
        "p: inf",
        "compared within queries only: no",
        "x: \ufffd[1m",
    ):
        assert f"\n{line}" in text


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


class Cells(HTMLParser):
    """Collects the tags and the cells of tables of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.cells, self.open = set(), [], False

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag in ("td", "caption"):
            self.cells.append("")
        self.open = tag in ("td", "caption")

    def handle_endtag(self, tag):
        self.open = False

    def handle_data(self, data):
        if self.open:
            self.cells[-1] += data


@given(cards())
def test_html_has_every_bin_and_escapes_everything(card):
    page = to_html(card, title="<script>")
    reader, fragment = Cells(), to_html(card, page=False)
    reader.feed(page)
    reader.close()
    assert "script" not in reader.tags
    assert "<i>" not in page
    assert page.count("<!DOCTYPE") == 1
    assert "<html" not in fragment
    expected = []
    for variable in card.variables:
        expected.append(variable.name)
        for label, points in zip(variable.labels(), variable.points, strict=True):
            expected += [label, f"{points:+d}" if points else "0"]
    cells = iter(reader.cells)
    for one in expected:  # in this order
        clean = "".join(c if c.isprintable() else "\ufffd" for c in one)
        assert any(cell == clean for cell in cells), one


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


# JSON ----------------------------------------------------------------------------------


@MANY
@given(cards())
def test_json_round_trip(card):
    again = card_from_json(card_to_json(card))
    assert repr(again) == repr(card)
    X = rows_of(card)
    assert_array_equal(again.totals(X), card.totals(X))
    assert repr(card_from_json(card_to_json(card).encode())) == repr(card)


def test_json_takes_scalars_of_numpy():
    variable = replace(JOB, points=tuple(np.array(JOB.points)), groups=((np.str_("a"),), ("b",)))
    card = replace(CARD, variables=(variable,), classes=tuple(np.array([3, 5])))
    again = card_from_json(card_to_json(card))
    assert again.classes == (3, 5)
    assert again.variables[0].groups == (("a",), ("b",))
    assert type(again.variables[0].points[0]) is int


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


WRONG = {
    "not valid JSON: .*line 1": "{",
    "not valid JSON": "",
    "must be an object with": "[1]",
    "nested too deeply": '{"a":' * 100_000,
    "must be of version 1 to 2, .*a newer release wrote it. Got version 3": edited(version=3),
    "must be of version 1 to 2, which this release reads. Got version 0": edited(version=0),
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
    "cut of the document must be an integer .* Got None": edited(cut=None),
    "variables of the document must be a list. Got 3": edited(variables=3),
    "item 0 of variables of the document must be an object. Got 3": edited(variables=[3]),
    "thresholds of 'age' must increase": edited(age_thresholds=[40.0, 25.5]),
    "must increase": edited(age_thresholds=[40.0, 40.0]),
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
    "totals of risk must increase": edited(
        risk=[{"total": 1, "probability": 0.1, "low": 0, "high": 1}] * 2
    ),
    "must have numbers from 0 to 1": edited(
        risk=[{"total": 1, "probability": 1.1, "low": 0, "high": 1}]
    ),
    "details of the document must be an object": edited(details=[]),
    "must be one of inf, -inf and nan": edited(details={"p": {"float": "many"}}),
    "has half a character": edited(details={"p": "\ud800"}),
}


@pytest.mark.parametrize("message", WRONG)
def test_json_says_what_is_wrong(message):
    with pytest.raises(ValueError, match=message) as caught:
        card_from_json(WRONG[message])
    assert str(caught.value).endswith((".", "twice"))


def test_json_that_is_not_text():
    with pytest.raises(ValueError, match="not text in UTF-8"):
        card_from_json(b'{"\xff": 1}')


def test_an_inconsistent_card_is_not_stored():
    with pytest.raises(ValueError, match="item 0 of classes of the document must be a string"):
        card_to_json(replace(CARD, classes=((1, 2), (3, 4))))
    with pytest.raises(ValueError, match="points of 'age' must be 5"):
        card_to_json(replace(CARD, variables=(replace(AGE, points=(1, 2)),)))


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


@MANY
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


@MANY
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
    assert list(csv_scores(to_csv(card), list(column_names(card)), X)) == card.totals(X).tolist()
    try:
        to_sql(card), to_pmml(replace(card, adverse="low"))
    except ValueError as error:  # characters that neither can hold
        assert "character" in str(error) or "needs a variable" in str(error)


# ONNX ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def onnx_scores():
    """A function that gives the totals of an ONNX graph for rows, objects or floats."""
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    to_onnx = importlib.import_module("sklearn_rank.export.onnx").to_onnx

    def scores(card, X, dtype="float64"):
        model = to_onnx(card, dtype=dtype)
        session = runtime.InferenceSession(model.SerializeToString())
        names = column_names(card)
        if [one.name for one in session.get_inputs()] == ["X"] and "X" not in names:
            return session.run(["score"], {"X": X.astype(dtype)})[0]
        feed = {names[j]: onnx_column(card.kind_of(j), X[:, [j]], dtype) for j in card.features}
        return session.run(["score"], feed)[0]

    return scores


def onnx_column(kind, values, dtype):
    """Return a column as its input has it; a missing category is an empty string."""
    if kind == "str":
        return np.where(values == np.array(None), "", values).astype(object)
    return values.astype(np.int64 if kind in ("int", "bool") else dtype)


def as_onnx_can_have_it(card, X):
    """Return rows without missing categories in columns that have no form for them."""
    X = X.copy()
    for column in card.features:
        axes = card.axes_of(column)
        has_empty = any("" in group for one in axes for group in one.groups or ())
        if card.kind_of(column) in ("int", "bool") or has_empty:
            other = "no such category" if has_empty else 12345
            X[X[:, column] == np.array(None), column] = other
    return X


@given(card=cards(with_pairs=True), is_refusing=st.booleans(), seed=st.integers(0, 99))
def test_onnx_gives_the_totals(onnx_scores, card, is_refusing, seed):
    assume("score" not in column_names(card))
    card = refusing(card, seed) if is_refusing else card
    X = as_onnx_can_have_it(card, rows_of(card, seed))
    found = onnx_scores(card, X)
    assert found.dtype == (np.float64 if is_refusing else np.int64)
    assert_array_equal(found.astype(float), np.array(totals_or_none(card, X), dtype=float))


def test_onnx_an_empty_string_that_is_a_category_of_any_term_is_not_missing(onnx_scores):
    none = {"thresholds": (), "special": ()}
    variable = Variable("x1", 1, (0, 0, 0), groups=(("",),), counts=(), events=(), **none)
    axes = Axis("x0", 0, groups=None, **none), Axis("x1", 1, groups=(), **none)
    pair = Pair(*axes, points=(0, 1, 2, 3), counts=(), events=())
    card = replace(CARD, variables=(variable,), pairs=(pair,), n_features=2, feature_names=None)
    X = np.array([[0.0, ""], [1.0, "a"], [np.nan, ""]], dtype=object)
    assert_array_equal(onnx_scores(card, X), card.totals(X))


@given(card=cards(kinds=("number",), with_pairs=True), seed=st.integers(0, 99))
def test_onnx_of_numbers_takes_one_table_of_either_float(onnx_scores, card, seed):
    X = rows_of(card, seed).astype(float)
    assert_array_equal(onnx_scores(card, X), card.totals(X))
    with np.errstate(over="ignore"):
        X = X.astype(np.float32)
    assert_array_equal(onnx_scores(card, X, "float32"), card.totals(X))


def test_onnx_refuses_what_it_cannot_write():
    pytest.importorskip("onnx")
    to_onnx = importlib.import_module("sklearn_rank.export.onnx").to_onnx
    with pytest.raises(ValueError, match=r"must be 'float64' or 'float32'\. Got 'int8'"):
        to_onnx(CARD, dtype="int8")
    with pytest.raises(ValueError, match=r"which differ: .*'job'"):
        to_onnx(CARD, name="job")


SEARCHED = {"alpha": 0.001, "min_bin_size": 0.02, "cv": 2, "n_repeats": 1}


def test_every_export_of_a_fitted_scorecard_gives_its_totals(onnx_scores):
    """Applications with categories, missing values and special codes, scaled to odds."""
    data = make_credit(1_500, random_state=0)
    special = {"debt_to_income": [-998.0], "utilisation": [-999.0]}
    ranker = PNormPushRanker(n_estimators=60, weak_ranker=Stumps(special_values=special))
    scaling = {"pdo": 20, "score": 600, "odds": 50}
    scorecard = Scorecard(ranker, p=None, max_terms=None, scaling=scaling, adverse="high")
    card = scorecard.fit(data.data, data.target).card_
    assert {one.groups is None for one in card.variables} == {True, False}
    assert any(one.special for one in card.variables)
    check_all_forms(scorecard, data.data, onnx_scores)


def check_all_forms(scorecard, frame, onnx_scores):
    """Check the totals that other systems read, of training rows and of every bin."""
    card = scorecard.card_
    X = frame.astype(object).to_numpy()
    X = np.vstack([X, rows_of(card)])
    expected = card.totals(X).tolist()
    names = list(card.feature_names)
    totals = scorecard.decision_function(frame) + scorecard.cut_
    assert_array_equal(totals, expected[: len(frame)])
    with DATABASES["sqlite"]() as database:
        assert [total for (total,) in database.answers(card, X)[1]] == expected
    assert list(csv_scores(scorecard.to_csv(), names, X)) == expected
    assert list(pmml_scores(scorecard.to_pmml(), names, X)) == expected
    assert card_from_json(scorecard.to_json()).totals(X).tolist() == expected
    missing = np.array([[is_missing(one) for one in row] for row in X])
    assert onnx_scores(card, np.where(missing, None, X)).tolist() == expected


@pytest.mark.parametrize("max_pairs", [0, 2])
def test_every_export_of_ordered_and_grouped_categories_gives_its_totals(onnx_scores, max_pairs):
    X, y = with_levels(1200)
    stumps = Stumps(
        category_order={"grade": ["low", "middle", ["upper", "high"], "top"]},
        category_groups={"home": [["own", "other"]]},
        monotonic_cst={"grade": 1},
    )
    ranker = PNormPushRanker(loss="logistic", solver="corrective", weak_ranker=stumps)
    scorecard = Scorecard(ranker, p=1, adverse="high", max_pairs=max_pairs, **SEARCHED).fit(X, y)
    card = scorecard.card_
    assert bool(card.pairs) == (max_pairs > 0)
    assert {"grade", "home"} <= {*card.features.values()}
    check_all_forms(scorecard, X, onnx_scores)
    rows = X.astype({"grade": object, "home": object})
    assert_array_equal(by_hand(scorecard.to_html(), rows), card.totals(X))
    reasons = scorecard.reasons(X.head(50), texts={"grade": "The grade"}, form="table")
    assert len(reasons)


def test_infinity_lies_in_the_outermost_range(onnx_scores):
    """One law for the fitted card, the card from JSON, SQL, PMML, ONNX and CSV."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    X[:20, 0] = np.nan
    y = X[:, 1] > rng.normal(size=300)
    scorecard = Scorecard(RankBoost(n_estimators=20), p=None, max_terms=None, adverse="low")
    scorecard.fit(X, y)
    ends = np.array([[-np.inf, np.inf], [np.inf, -np.inf], [np.inf, np.nan], [0.0, -np.inf]])
    huge = np.nan_to_num(ends, nan=np.nan, posinf=1e300, neginf=-1e300)
    card, rows = scorecard.card_, ends.astype(object)
    expected = scorecard.card_.totals(huge).tolist()
    assert (scorecard.decision_function(ends) + scorecard.cut_).tolist() == expected
    assert scorecard.predict_proba(ends).shape == (4, 2)
    assert Scorecard.from_json(scorecard.to_json()).card_.totals(ends).tolist() == expected
    assert list(pmml_scores(scorecard.to_pmml(), list(column_names(card)), rows)) == expected
    assert list(csv_scores(scorecard.to_csv(), list(column_names(card)), rows)) == expected
    assert onnx_scores(card, rows).tolist() == expected
    with DATABASES["sqlite"]() as database:
        assert [total for (total,) in database.answers(card, rows)[1]] == expected
    with pytest.raises(ValueError, match="infinity"):
        Scorecard(RankBoost()).fit(np.where(np.isnan(X), np.inf, X), y)


def test_values_of_reach_every_bin():
    """Guard against a generator of rows that leaves bins out."""
    for variable in CARD.variables:
        x = np.array(values_of(variable), dtype=object)
        assert set(variable.bins(x).tolist()) == set(range(len(variable.points)))
