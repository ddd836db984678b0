"""SQL of a card: each dialect quotes as it does, and the totals are exact."""

import contextlib
import math
import re
import sqlite3
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from cards import AWKWARD, cards, column_names, refusing, rows_of, totals_or_none
from databases import DATABASES
from hypothesis import given, settings
from hypothesis import strategies as st
from levels import with_levels
from test_scorecard_exports import CARD

from sklearn_rank.datasets import make_credit
from sklearn_rank.scorecard import Card, Scorecard, Variable, to_sql
from sklearn_rank.scorecard._adverse import best_points
from sklearn_rank.scorecard.card import probability
from sklearn_rank.scorecard.forms._sql.dialects import DIALECTS
from sklearn_rank.scorecard.forms._sql.query import _distinct

MANY = settings(max_examples=5 * settings.default.max_examples)


def in_database(database, card, X):
    """Return the card and the rows as a database can have them."""
    if database.dialect == "sqlite":
        return card, X
    X = X.copy()
    for j in card.features:  # a column has one type
        if card.kind_of(j) != "str":
            X[[isinstance(one, str) for one in X[:, j]], j] = None
    if database.dialect == "mariadb":  # names without emojis and spaces at their ends
        card = replace(card, feature_names=None)
        is_infinite = [[isinstance(x, float) and math.isinf(x) for x in row] for row in X.tolist()]
        X = np.where(is_infinite, None, X)
    return card, X


def assert_right(database, card, X):
    """Check total, points and risk of each row; return the number of rows."""
    card, X = in_database(database, card, X)
    expected = totals_or_none(card, X)
    _, found = database.answers(card, X)
    assert [total for (total,) in found] == expected
    card = replace(card, adverse="low" if card.intercept % 2 else "high")
    options = {"risk": bool(card.risk), "reasons": True}
    titles, found = database.answers(card, X, points=True, **options)
    assert [row[0] for row in found] == expected
    n_before = 1 + len(card.terms) + bool(card.risk)
    assert titles[n_before:] == [f"reason_{k + 1}" for k in range(len(titles) - n_before)]
    assert [row[n_before:] for row in found] == reasons_of(card, found, len(titles) - n_before)
    found = [row[:n_before] for row in found]
    points = replace(card, unseen="neutral").points(X).tolist()
    bins = replace(card, unseen="neutral").bins(X).tolist()
    refused = [set(card.refused_bins(term)) for term in card.terms]
    for row, of_row, in_bins in zip(found, points, bins, strict=True):
        cells = zip(of_row, in_bins, refused, strict=True)
        wanted = [None if place in no else one for one, place, no in cells]
        assert list(row[1 : 1 + len(wanted)]) == wanted
        if card.risk:
            assert row[-1] == (None if row[0] is None else probability(card, [row[0]])[0])
    return len(found)


def reasons_of(card, found, k):
    """Return the names of the terms that lose most, given the total and the points of each row."""
    best, reasons = best_points(card, "this"), []
    for total, *others in found:
        points = np.array(others[: len(card.terms)], dtype=float)
        lost = (points - best) * (1 if card.adverse == "high" else -1)
        order = sorted(range(len(best)), key=lambda j: (-lost[j], j))
        names = [] if total is None else [card.terms[j].name for j in order if lost[j] > 0]
        reasons.append((*names, *[None] * 4)[:k])
    return reasons


@MANY
@given(cards(with_pairs=True), st.booleans(), st.integers(0, 99))
def test_sqlite_gives_totals_points_and_risk(card, is_refusing, seed):
    card = refusing(card, seed) if is_refusing else card
    with DATABASES["sqlite"]() as database:
        assert_right(database, card, rows_of(card, seed))


@pytest.fixture(scope="module", params=[name for name in DATABASES if name != "sqlite"])
def database(request):
    with DATABASES[request.param]() as found:
        yield found


@pytest.mark.nightly
@settings(max_examples=400)
@given(card=cards(with_pairs=True), is_refusing=st.booleans(), seed=st.integers(0, 99))
def test_databases_give_totals_points_and_risk(database, card, is_refusing, seed):
    """Those that are installed."""
    card = refusing(card, seed) if is_refusing else card
    assert_right(database, card, rows_of(card, seed))


def sqlite_scores(card, X, table):
    """Return the totals of a table with the rows of X, by the expression and the query."""
    names = ['"' + name.replace('"', '""') + '"' for name in column_names(card)]
    source = '"' + table.replace('"', '""') + '"'
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE {source} ({', '.join(names)})")
        places = ", ".join("?" * len(names))
        connection.executemany(f"INSERT INTO {source} VALUES ({places})", X.tolist())
        whole = connection.execute(to_sql(card, table=table)).fetchall()
        assert connection.execute(f"SELECT {to_sql(card)} FROM {source}").fetchall() == whole
    return [total for (total,) in whole]


def test_sqlite_reads_a_named_table():
    X = rows_of(CARD)
    expected = CARD.totals(X).tolist()
    assert sqlite_scores(CARD, X, table='a "b"') == expected
    assert len(set(expected)) > 3
    sql = to_sql(CARD, table="t", name='my "score"')
    assert sql == f'SELECT {to_sql(CARD)} AS "my ""score""" FROM "t"'
    assert to_sql(CARD, "tsql", table=["dbo", "t"]).endswith(" AS [score] FROM [dbo].[t]")


def test_sql_as_it_is_written():
    assert to_sql(CARD) == (
        "(\n"
        "  4\n"
        '  + CASE WHEN "age" IS NULL THEN -1\n'
        '         WHEN "age" = -99 THEN 1\n'
        '         WHEN "age" <= 25.5 THEN -2\n'
        '         WHEN "age" <= 40 THEN 0\n'
        "         ELSE 3 END\n"
        "  + CASE WHEN \"job\" COLLATE BINARY IN ('clerk', 'smith, black') THEN 2\n"
        "         WHEN \"job\" COLLATE BINARY IN ('<none>') THEN -1\n"
        "         ELSE 0 END\n"
        ")"
    )


EXACT = st.one_of(st.sampled_from(AWKWARD), st.floats(allow_nan=False, allow_infinity=False))


@MANY
@given(EXACT)
def test_numbers_of_sql_are_exact(x):
    """Decimals are of few digits; of quotients and products every part is an exact double."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        read = connection.execute(f"SELECT {DIALECTS['sqlite'].number(x)}")
        assert float(read.fetchone()[0]) == x
    for name in ("sqlite", "bigquery", "mysql", "tsql"):
        text = DIALECTS[name].number(x)
        assert float(eval(text)) == x
        parts = [Decimal(part) for part in re.split(" [*/] ", text)]
        is_whole = [part == part.to_integral_value() for part in parts]
        if len(parts) > 1 or (is_whole[0] and abs(parts[0]) <= 2**53):
            assert all(abs(part) <= 2**53 for part in parts) and all(is_whole)
        else:  # the digits as an integer, and the power of ten, are exact doubles
            _, digits, exponent = parts[0].as_tuple()
            assert len(digits) <= 15 and abs(exponent) <= 22
    assert float(DIALECTS["postgresql"].number(x).removeprefix("double precision").strip(" '")) == x


@pytest.mark.parametrize(
    ("dialect", "parts"),
    {
        "sqlite": ['"a""`]b" IS NULL', "<= 0.1", r"IN ('it''s \', 'B')", "IN (1)"],
        "postgresql": [
            '"a""`]b" IS NULL OR "a""`]b" = double precision \'NaN\'',
            "<= double precision '0.1'",
            r""""s" IN ('it''s \', 'B')""",
            "IN (TRUE)",
        ],
        "mysql": [
            '`a"``]b` IS NULL THEN',
            "<= 0.1e0",
            r"CAST(CONVERT(`s` USING utf8mb4) AS BINARY) IN ('it''s \\', 'B')",
            "IN (1)",
        ],
        "tsql": [
            '[a"`]]b] IS NULL THEN',
            "<= 0.1e0",
            r"[s] COLLATE Latin1_General_100_BIN2 IN (N'it''s \', N'B')",
            "IN (1)",
        ],
        "bigquery": [
            r'`a"\`]b` IS NULL OR IS_NAN(CAST(`a"\`]b` AS FLOAT64))',
            "<= 0.1",
            r"`s` IN ('it\'s \\', 'B')",
            "IN (TRUE)",
        ],
    }.items(),
)
def test_dialects_quote_as_they_do(dialect, parts):
    number = Variable('a"`]b', 0, (1, 2, 3), (0.1,))
    text = Variable("s", 1, (1, 2), groups=(("it's \\", "B"),))
    truth = Variable("t", 2, (1, 2), groups=((True,),))
    names = (number.name, "s", "t")
    sql = to_sql(Card((number, text, truth), 0, 0, (0, 1), 3, names), dialect)
    for part in parts:
        assert part in sql, sql


SQLGLOT = {"postgresql": "postgres", "mariadb": "mysql"}


@given(card=cards(with_pairs=True), is_refusing=st.booleans())
def test_every_dialect_can_be_parsed(card, is_refusing):
    sqlglot = pytest.importorskip("sqlglot")
    card = refusing(card) if is_refusing else card
    options = {"points": True, "risk": bool(card.risk), "reasons": True}
    for dialect in DIALECTS:
        try:
            sql = to_sql(replace(card, adverse="low"), dialect, table="t", keep="id", **options)
        except ValueError as error:
            assert "Oracle" in str(error)
            continue
        if dialect == "oracle":  # whose literals of BINARY_DOUBLE sqlglot does not know
            sql = re.sub(r"(\d)d\b", r"\1", sql)
        parsed = sqlglot.parse_one(sql, read=SQLGLOT.get(dialect, dialect))
        assert len(parsed.expressions) >= 2 + len(card.terms) + bool(card.risk)


def test_columns_beside_the_total_need_a_table_and_have_names_of_their_own():
    with pytest.raises(ValueError, match="with points and risk writes a query"):
        to_sql(CARD, points=True, risk=True)
    with pytest.raises(ValueError, match="no risk table"):
        to_sql(replace(CARD, risk=()), table="t", risk=True)
    sql = to_sql(CARD, table="t", keep=["RISK", "points_job"], points=True, risk=True)
    outer = sql[: sql.index("FROM")]
    names = ["RISK", "points_job", "score", "points_age", "points_job_2", "risk_2"]
    assert re.findall(r' AS "(\w+)"', outer) == names


@pytest.mark.parametrize("options", [{}, {"points": True}])
def test_the_total_has_a_name_of_its_own(options):
    with pytest.raises(ValueError, match=r"keeps \['id', 'Score'\] and calls the total 'score'"):
        to_sql(CARD, table="t", keep=["id", "Score"], **options)
    assert '"Score", ' in to_sql(CARD, table="t", keep="Score", name="total")


def test_a_name_that_comes_again_gets_a_number_that_no_other_has():
    assert _distinct(["a", "A", "a_2"]) == ["a", "A_3", "a_2"]
    assert _distinct(["b_2", "b", "b"]) == ["b_2", "b", "b_3"]


def test_reasons_are_asked_for_a_direction():
    with pytest.raises(ValueError, match="which end of the totals is bad"):
        to_sql(CARD, table="t", reasons=True)


@pytest.mark.parametrize("adverse", ["high", "low"])
def test_reasons_are_those_of_the_scorecard(adverse):
    data = make_credit(1_000, random_state=0)
    card = Scorecard(p=1, adverse=adverse, alpha=0.005, max_terms=6).fit(data.data, data.target)
    X, n = card.card_, min(4, len(card.terms_))
    rows = data.data.astype(object).to_numpy()[:200]
    with DATABASES["sqlite"]() as database:
        _, found = database.answers(X, rows, reasons=True)
    expected = card.reasons(data.data[:200], k=n)
    assert [row[1:] for row in found] == [tuple(row) for row in expected.tolist()]
    assert len({row[1] for row in found}) > 1


@pytest.mark.parametrize("max_pairs", [0, 2])
def test_reasons_are_in_the_users_words(max_pairs):
    X, y = with_levels(800)
    card = Scorecard(
        p=1, alpha=0.005, adverse="high", max_terms=6, max_pairs=max_pairs, random_state=0
    )
    card.fit(X, y)
    term = card.card_.terms[-1]
    texts = {(term.name, one): f"It's bin {j}" for j, one in enumerate(term.labels())}
    texts[card.terms_[0]] = 'The "first" term'
    n = min(4, len(card.terms_))
    with DATABASES["sqlite"]() as database:
        rows = X.astype(object).to_numpy()[:200]
        _, found = database.answers(card.card_, rows, reasons=True, texts=texts)
    expected = card.reasons(X[:200], k=n, texts=texts)
    assert [row[1:] for row in found] == [tuple(row) for row in expected.tolist()]
    assert len({one for row in found for one in row[1:] if one and one.startswith("It's")}) > 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"texts": {"age": "Your age"}}, "need reasons=True"),
        ({"texts": {"agE": "Your age"}, "reasons": True}, "texts of to_sql must have keys"),
        ({"texts": {"age": ""}, "reasons": True}, "texts of to_sql must be strings"),
    ],
)
def test_texts_that_are_wrong(options, message):
    with pytest.raises(ValueError, match=message):
        to_sql(replace(CARD, adverse="low"), table="t", points=True, **options)


def test_risk_between_totals_of_the_table_is_that_of_python():
    risk = ((-7, 0.1, 0.0, 1.0), (-5, 1 / 3, 0.0, 1.0), (-4, 0.35, 0.0, 1.0), (11, 1.0, 0.0, 1.0))
    variable = Variable("x", 0, tuple(range(-9, 13)), tuple(map(float, range(20))))
    card = Card((variable,), 0, 0, (0, 1), 1, ("x",), risk)
    with DATABASES["sqlite"]() as database:
        X = np.arange(-0.5, 21)[:, None].astype(object)
        _, found = database.answers(card, X, risk=True)
    assert [row[1] for row in found] == probability(card, [row[0] for row in found]).tolist()


@pytest.mark.parametrize("dialect", ["oracle", "snowflake", "spark"])
def test_new_dialects_write_as_their_documentation_says(dialect):
    number = Variable("a`b", 0, (1, 2, 3), (0.1,))
    text = Variable("s", 1, (1, 2), groups=(("it's \\\n",),))
    truth = Variable("t", 2, (1, 2), groups=((True,),))
    card = Card((number, text, truth), 0, 0, (0, 1), 3, ("a`b", "s", "t"))
    parts = {
        "oracle": ['"a`b" IS NULL OR "a`b" IS NAN', "<= 0.1d", "\"s\" IN ('it''s \\\n')", "IN (1)"],
        "snowflake": [
            "\"a`b\" = CAST('NaN' AS DOUBLE)",
            "<= CAST(0.1 AS DOUBLE)",
            "COLLATE(\"s\", 'utf8') IN ('it''s \\\\\n')",
            "IN (TRUE)",
        ],
        "spark": ["ISNAN(CAST(`a``b` AS DOUBLE))", "<= 0.1D", r"`s` IN ('it\'s \\\n')", "(TRUE)"],
    }[dialect]
    sql = to_sql(card, dialect)
    for part in parts:
        assert part in sql, sql


def test_oracle_has_no_quotes_in_names_and_no_empty_strings():
    card = Card((Variable('a"', 0, (1, 2, 3), (0.5,)),), 0, 0, (0, 1), 1, ('a"',))
    with pytest.raises(ValueError, match="Names in Oracle"):
        to_sql(card, "oracle")
    card = Card((Variable("a", 0, (1, 2, 3), groups=(("",),)),), 0, 0, (0, 1), 1)
    with pytest.raises(ValueError, match="category ''"):
        to_sql(card, "oracle")


def test_long_lists_of_categories_are_divided():
    """Oracle takes a thousand values."""
    card = Card((Variable("a", 0, (1, 2), groups=(tuple(range(2500)),)),), 0, 0, (0, 1), 1, ("a",))
    assert to_sql(card, "oracle").count('"a" IN (') == 3
    with DATABASES["sqlite"]() as database:
        assert_right(database, card, np.array([[0], [1999], [2499], [2500]], dtype=object))


def test_a_decimal_is_no_double_in_postgresql():
    number = DIALECTS["postgresql"].number
    assert [number(one) for one in (3.0, -2147483647.0)] == ["3", "-2147483647"]
    assert number(2147483648.0) == "double precision '2147483648.0'"  # no integer of 32 bits
    assert number(0.5) == "double precision '0.5'"
