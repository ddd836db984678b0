"""A scorecard as an expression of SQL."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from sklearn_rank.scorecard.card import Card, variables_alone
from sklearn_rank.scorecard.terms import Variable

_EXACT, _DIGITS, _POWER = 2**53, 15, 22
"""Integers up to here are doubles; so are those of 15 digits, and 10^22."""


class _Sqlite:
    """How SQLite writes names, strings and numbers; the other dialects differ in some."""

    def name(self, text: str) -> str:
        """Return a quoted identifier."""
        return '"' + text.replace('"', '""') + '"'

    def text(self, text: str) -> str:
        """Return a string."""
        return "'" + text.replace("'", "''") + "'"

    def real(self, digits: str) -> str:
        """Return a literal of type double."""
        return digits if set(digits) & set(".e") else f"{digits}.0"

    def number(self, value: float) -> str:
        """Return an expression that has exactly this value.

        A database may misread a decimal by one unit in the last place, but none whose digits, as
        an integer, and power of ten are doubles; nor an integer, or a product with powers of two.
        """
        if value.is_integer() and abs(value) <= _EXACT:
            return str(int(value))
        _, digits, exponent = Decimal(repr(value)).as_tuple()
        if len(digits) <= _DIGITS and abs(int(exponent)) <= _POWER:
            return self.real(repr(value))
        fraction, exponent = math.frexp(value)
        integer, exponent = int(fraction * _EXACT), exponent - 53
        while integer % 2 == 0:
            integer, exponent = integer // 2, exponent + 1
        operator, left, factors = "*" if exponent > 0 else "/", abs(exponent), ""
        while left:
            power = min(left, 52)
            factors, left = f"{factors} {operator} {self.real(str(2**power))}", left - power
        return self.real(str(integer)) + factors

    def truth(self, value: bool) -> str:
        """Return a truth value."""
        return str(int(value))

    def is_missing(self, column: str) -> str:
        """Return the condition that a number is missing; SQLite stores NaN as NULL."""
        return f"{column} IS NULL"

    def exact_text(self, column: str) -> str:
        """Return a column of strings that compares case, and accents."""
        return f"{column} COLLATE BINARY"


class _Postgresql(_Sqlite):
    def number(self, value: float) -> str:
        """Return a double; a string is read correctly, a decimal would be of type numeric."""
        if value.is_integer() and abs(value) < 2**31:
            return str(int(value))
        return f"double precision '{value!r}'"

    def truth(self, value: bool) -> str:
        return str(value).upper()

    def is_missing(self, column: str) -> str:
        return f"{column} IS NULL OR {column} = double precision 'NaN'"

    def exact_text(self, column: str) -> str:
        """Return the column: equality is exact in every deterministic collation."""
        return column


class _Mysql(_Sqlite):
    def name(self, text: str) -> str:
        return "`" + text.replace("`", "``") + "`"

    def text(self, text: str) -> str:
        return super().text(text.replace("\\", "\\\\"))

    def real(self, digits: str) -> str:
        """Return a number with an exponent; without one it would be a DECIMAL."""
        return digits if "e" in digits else f"{digits}e0"

    def exact_text(self, column: str) -> str:
        return f"CAST(CONVERT({column} USING utf8mb4) AS BINARY)"


class _Tsql(_Sqlite):
    def name(self, text: str) -> str:
        return "[" + text.replace("]", "]]") + "]"

    def text(self, text: str) -> str:
        return "N" + super().text(text)

    real = _Mysql.real

    def exact_text(self, column: str) -> str:
        return f"{column} COLLATE Latin1_General_100_BIN2"


class _Bigquery(_Sqlite):
    def name(self, text: str) -> str:
        return "`" + _escaped(text, "`") + "`"

    def text(self, text: str) -> str:
        return "'" + _escaped(text, "'") + "'"

    truth = _Postgresql.truth
    exact_text = _Postgresql.exact_text

    def is_missing(self, column: str) -> str:
        return f"{column} IS NULL OR IS_NAN(CAST({column} AS FLOAT64))"


def _escaped(text: str, quote: str) -> str:
    """Return a text with backslashes before what cannot stand between these quotes."""
    special = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", quote: "\\" + quote}
    return "".join(special.get(one, one) for one in text)


_DIALECTS = {
    "sqlite": _Sqlite(),
    "postgresql": _Postgresql(),
    "mysql": _Mysql(),
    "tsql": _Tsql(),
    "bigquery": _Bigquery(),
}


def to_sql(
    card: Card,
    dialect: str = "sqlite",
    *,
    table: str | Sequence[str] | None = None,
    name: str = "score",
) -> str:
    """Return SQL that computes the total of each row.

    NULL is missing, and so is NaN in PostgreSQL and BigQuery. Columns are named after the features,
    or x0, x1, ...; columns of numbers must have a numeric type. Thresholds are exactly
    those of the card, which compares doubles: a column of integers beyond 2^53 must be cast to
    them. Categories are compared exactly, but SQL Server ignores spaces at the end of a string,
    and MySQL must be connected with utf8mb4 and read backslashes as escapes, which are its
    defaults. SQLite treats a quoted name that is not a column of the table as a string, without an
    error. The tests run only the SQL for SQLite.

    Parameters
    ----------
    card : Card
        The scorecard.
    dialect : {"sqlite", "postgresql", "mysql", "tsql", "bigquery"}, default="sqlite"
        The database; "tsql" is SQL Server.
    table : str or sequence of str, default=None
        The table to score, or its name after those of its schema. None: only the expression.
    name : str, default="score"
        Name of the column of totals in the result. Not used without `table`.

    Returns
    -------
    str
        An expression in parentheses, or ``SELECT <expression> AS "score" FROM "table"``.

    Examples
    --------
    >>> from sklearn_rank.scorecard import Card, Variable, to_sql
    >>> age = Variable("age", 0, points=(-1, 2, 0), thresholds=(29.5,))
    >>> card = Card((age,), 1, 0, ("bad", "good"), 1, ("age",))
    >>> print(to_sql(card))
    (
      1
      + CASE WHEN "age" IS NULL THEN 0
             WHEN "age" <= 29.5 THEN -1
             ELSE 2 END
    )
    """
    if dialect not in _DIALECTS:
        raise ValueError(
            f"The dialect of to_sql must be one of {', '.join(_DIALECTS)}. Got {dialect!r}."
        )
    sql = _DIALECTS[dialect]
    result = _quoted(sql, name)
    source = "" if table is None else ".".join(_quoted(sql, part) for part in _parts(table))
    terms = [str(int(card.intercept))]
    for term in variables_alone(card, "to_sql"):
        terms.append(_case(sql, term, _quoted(sql, card.column_name(term))))
    expression = "(\n  " + "\n  + ".join(terms) + "\n)"
    if table is None:
        return expression
    return f"SELECT {expression} AS {result} FROM {source}"


def _parts(table: Any) -> list[Any]:
    """Return the name of a table after those of its schema."""
    parts = [table] if isinstance(table, str) or not np.iterable(table) else list(table)
    if not parts:
        raise ValueError("The table of to_sql must have a name. Got an empty sequence.")
    return parts


def _quoted(sql: _Sqlite, name: Any) -> str:
    """Return a quoted identifier."""
    if not isinstance(name, str) or not name or "\0" in name:
        raise ValueError(
            f"The name of a table or a column in SQL must be a string with at least one "
            f"character and without the character NUL. Got {name!r}."
        )
    return sql.name(name)


def _case(sql: _Sqlite, variable: Variable, column: str) -> str:
    """Return the points of a variable."""
    kind, (cases, other) = variable.kind, variable.cases()
    lines, compared = [], sql.exact_text(column) if kind == "str" else column
    missing = int(variable.points[variable.missing])
    if kind == "number":
        lines.append(f"WHEN {sql.is_missing(column)} THEN {missing}")
    elif missing != other:
        is_missing = sql.is_missing(column) if kind == "float" else f"{column} IS NULL"
        lines.append(f"WHEN {is_missing} THEN {missing}")
    for operator, values, points in cases:
        listed = ", ".join(_literal(sql, one, kind, variable.name) for one in values)
        condition = f"{operator} {listed}" if kind == "number" else f"IN ({listed})"
        lines.append(f"WHEN {compared} {condition} THEN {points}")
    if not lines:
        return str(other)
    return "CASE " + "\n         ".join([*lines, f"ELSE {other} END"])


def _literal(sql: _Sqlite, value: Any, kind: str, name: str) -> str:
    """Return a threshold, a code or a category as a literal."""
    if kind == "str":
        if "\0" in value:
            raise ValueError(f"SQL has no strings with the character NUL. Got {value!r}.")
        return sql.text(value)
    if kind == "bool":
        return sql.truth(value)
    if not math.isfinite(value):
        raise ValueError(
            f"Thresholds and special codes must be finite in SQL. {name!r} has {value!r}."
        )
    return str(int(value)) if kind == "int" else sql.number(float(value))
