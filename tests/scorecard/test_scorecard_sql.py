"""SQL of a card: each dialect quotes as it does, and the totals are exact."""

import contextlib
import math
import re
import sqlite3
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from cards import AWKWARD, cards, rows_of
from databases import DATABASES
from hypothesis import given, settings
from hypothesis import strategies as st
from test_scorecard_json import CARD

from sklearn_rank.scorecard import Card, Variable, to_sql
from sklearn_rank.scorecard._sql_dialects import DIALECTS

MANY = settings(max_examples=5 * settings.default.max_examples)


def in_database(database, card, X):
    """Return the card and the rows as a database can have them."""
    if database.dialect == "sqlite":
        return card, X
    X = X.copy()
    for variable in card.variables:  # a column has one type
        if variable.kind != "str":
            j = variable.column
            X[[isinstance(value, str) for value in X[:, j]], j] = None
    if database.dialect == "mariadb":  # names without emojis and spaces at their ends
        card = replace(card, feature_names=None)
        is_infinite = [[isinstance(x, float) and math.isinf(x) for x in row] for row in X.tolist()]
        X = np.where(is_infinite, None, X)
    return card, X


def assert_right(database, card, X):
    """Check total and risk of each row."""
    card, X = in_database(database, card, X)
    totals = card.totals(X).tolist()
    assert [row[0] for row in database.answers(card, X)[1]] == totals
    if card.risk:
        titles, rows = database.answers(card, X, risk=True)
        assert titles == ["score", "risk"]
        assert [row[0] for row in rows] == totals
        assert [row[1] for row in rows] == card.probability(totals).tolist()


@MANY
@given(cards(), st.integers(0, 99))
def test_sqlite_gives_totals_and_risk(card, seed):
    with DATABASES["sqlite"]() as database:
        assert_right(database, card, rows_of(card, seed))


@pytest.fixture(scope="module", params=[name for name in DATABASES if name != "sqlite"])
def database(request):
    with DATABASES[request.param]() as connected:
        yield connected


@pytest.mark.nightly
@settings(max_examples=400)
@given(card=cards(), seed=st.integers(0, 99))
def test_databases_give_totals_and_risk(database, card, seed):
    """Those that are installed."""
    assert_right(database, card, rows_of(card, seed))


def test_sql_as_it_is_written():
    expression = (
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
    assert to_sql(CARD) == expression
    sql = to_sql(CARD, table='a "b"', name='my "score"')
    assert sql == f'SELECT {expression} AS "my ""score""" FROM "a ""b"""'
    assert to_sql(CARD, "tsql", table=["dbo", "t"]).endswith(" AS [score] FROM [dbo].[t]")
    kept = to_sql(CARD, table="t", keep=["id", "age"], risk=True)
    assert kept.startswith('SELECT "id", "age", "score", CASE WHEN "score" <= -3 THEN 0.1')


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


def test_a_decimal_is_no_double_in_postgresql():
    number = DIALECTS["postgresql"].number
    assert [number(value) for value in (3.0, -2147483647.0)] == ["3", "-2147483647"]
    assert number(2147483648.0) == "double precision '2147483648.0'"  # no integer of 32 bits
    assert number(0.5) == "double precision '0.5'"


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


@given(card=cards())
def test_every_dialect_can_be_parsed(card):
    sqlglot = pytest.importorskip("sqlglot")
    for dialect in DIALECTS:
        sql = to_sql(card, dialect, table="t", keep="id", name="total", risk=bool(card.risk))
        parsed = sqlglot.parse_one(sql, read=SQLGLOT.get(dialect, dialect))
        assert len(parsed.expressions) == 2 + bool(card.risk)


def category(*values):
    return Card((Variable("a", 0, (1, 2), groups=(values,)),), 0, 0, (0, 1), 1, ("a",))


INFINITE = Card((Variable("x0", 0, (1, 2, 3), (math.inf,)),), 0, 0, (0, 1), 1)


@pytest.mark.parametrize(
    ("message", "card", "options"),
    [
        ("dialect of to_sql must be one of sqlite, .*'db2'", CARD, {"dialect": "db2"}),
        ("without the character NUL", CARD, {"table": "a\0b"}),
        ("no strings with the character NUL", category("a\0"), {}),
        (r"must be finite in SQL\. 'x0' has inf", INFINITE, {}),
        (r"all strings or all numbers\. Got int, str", category("a", 1), {}),
        ("must be a string with at least one .* Got 3", CARD, {"table": 3}),
        ("must have a name. Got an empty sequence", CARD, {"table": []}),
        ("must be a string with at least one .* Got ''", CARD, {"table": "t", "name": ""}),
        ("needs the name of the table", CARD, {"risk": True}),
        ("needs the name of the table", CARD, {"keep": "id"}),
        ("no risk table", replace(CARD, risk=()), {"table": "t", "risk": True}),
        (r"columns \['id', 'Score', 'score'\]", CARD, {"table": "t", "keep": ["id", "Score"]}),
        (r"columns \['RISK', 'score', 'risk'\]", CARD, {"table": "t", "keep": "RISK", "risk": 1}),
    ],
)
def test_what_cannot_be_written_is_refused(message, card, options):
    with pytest.raises(ValueError, match=message):
        to_sql(card, **options)


def test_risk_between_totals_of_the_table_is_that_of_python():
    risk = ((-7, 0.1, 0.0, 1.0), (-5, 1 / 3, 0.0, 1.0), (-4, 0.35, 0.0, 1.0), (11, 1.0, 0.0, 1.0))
    variable = Variable("x", 0, tuple(range(-9, 13)), tuple(map(float, range(20))))
    card = Card((variable,), 0, 0, (0, 1), 1, ("x",), risk)
    with DATABASES["sqlite"]() as database:
        assert_right(database, card, np.arange(-0.5, 21)[:, None].astype(object))


def test_long_lists_of_categories_are_divided():
    card = category(*range(2500))
    assert to_sql(card).count('"a" IN (') == 3
    with DATABASES["sqlite"]() as database:
        assert_right(database, card, np.array([[0], [1999], [2499], [2500]], dtype=object))
