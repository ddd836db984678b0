"""A scorecard as an expression or a query of SQL."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sklearn_rank.scorecard._sql_dialects import DIALECTS, Sqlite
from sklearn_rank.scorecard.card import Card, Variable

_MOST_VALUES = 1000
"""Greatest number of values in a list: databases limit the length of IN (...)."""


def to_sql(
    card: Card,
    dialect: str = "sqlite",
    *,
    table: str | Sequence[str] | None = None,
    name: str = "score",
    keep: Sequence[str] = (),
    risk: bool = False,
) -> str:
    """Return SQL that computes the total of each row.

    NULL is missing, and so is NaN if the database supports it. Columns are named after the
    features, or x0, x1, ...; columns of numbers must have a numeric type. Thresholds are exactly
    those of the card, which compares doubles: cast a column of integers beyond 2^53 to double.
    Infinity lies in the outermost range.

    Categories are compared exactly, with these exceptions. SQL Server ignores trailing spaces.
    MySQL and MariaDB must be connected with utf8mb4 and read backslashes as escapes, their default.
    Names are quoted. SQLite treats a quoted name that is not a column of the table as a string,
    without an error.

    The tests run the SQL in SQLite and, if installed, in PostgreSQL, DuckDB and MariaDB. The SQL
    for the others is only parsed.

    Parameters
    ----------
    card : Card
        The scorecard.
    dialect : {"sqlite", "postgresql", "duckdb", "mysql", "mariadb", "tsql", "bigquery"}, \
default="sqlite"
        The database; "tsql" is SQL Server.
    table : str or sequence of str, default=None
        The table to score, or its name after those of its schema. None: only the expression.
    name : str, default="score"
        Name of the column of totals in the result. Not used without `table`.
    keep : sequence of str, default=()
        Columns of the table to copy to the front of the result, such as an application number. None
        of them may be named like the total (`name`) or, with `risk`, "risk".
    risk : bool, default=False
        Whether the result has a column ``risk``, the probability of ``classes[1]``. Totals in the
        risk table get its exact values; those between are interpolated, in double precision.

    Returns
    -------
    str
        An expression in parentheses, or ``SELECT <expression> AS "score" FROM "table"``.

    Raises
    ------
    ValueError
        If the card, or a name, cannot be written in the dialect; if two columns of the result have
        the same name; if columns are requested without a table, or the risk of a card without a
        risk table.

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
    if dialect not in DIALECTS:
        raise ValueError(
            f"The dialect of to_sql must be one of {', '.join(DIALECTS)}. Got {dialect!r}."
        )
    sql = DIALECTS[dialect]
    cases = [_points_of(sql, card, variable) for variable in card.variables]
    expression = "(\n  " + "\n  + ".join([str(int(card.intercept)), *cases]) + "\n)"
    kept_columns = [keep] if isinstance(keep, str) else list(keep)
    if table is None:
        if kept_columns or risk:
            raise ValueError(
                "to_sql with keep or risk writes a query: it needs the name of the table."
            )
        return expression
    names = [*kept_columns, name, *(["risk"] if risk else [])]
    if len({str(column).casefold() for column in names}) < len(names):
        raise ValueError(
            f"to_sql has the columns {names}, which must differ, whatever the case. Pass another "
            "name, or keep other columns."
        )
    columns = [_quoted(sql, column) for column in kept_columns]
    total = _quoted(sql, name)
    path = [table] if isinstance(table, str) or not np.iterable(table) else list(table)
    if not path:
        raise ValueError("The table of to_sql must have a name. Got an empty sequence.")
    source = ".".join(_quoted(sql, identifier) for identifier in path)
    query = f"SELECT {', '.join([*columns, f'{expression} AS {total}'])} FROM {source}"
    if not risk:
        return query
    selected = [*columns, total, f"{_risk(sql, card, total)} AS {sql.name('risk')}"]
    return f"SELECT {', '.join(selected)}\nFROM (\n{query}\n) {sql.name('totals')}"


def _quoted(sql: Sqlite, name: Any) -> str:
    """Return a quoted identifier."""
    if not isinstance(name, str) or not name or "\0" in name:
        raise ValueError(
            f"The name of a table or a column in SQL must be a string with at least one "
            f"character and without the character NUL. Got {name!r}."
        )
    return sql.name(name)


def _risk(sql: Sqlite, card: Card, total: str) -> str:
    """Return the probability of a total: interpolated in the table, as by NumPy."""
    rows = card.risk_table()[:, :2].tolist()
    lines = [f"WHEN {total} <= {sql.number(rows[0][0])} THEN {sql.double(rows[0][1])}"]
    for (low, low_risk), (high, end) in pairwise(rows):
        if math.floor(low) + 1 < high:
            slope, distance = (end - low_risk) / (high - low), f"({total} - {sql.number(low)})"
            interpolated = f"{sql.double(slope)} * {distance} + {sql.double(low_risk)}"
            lines.append(f"WHEN {total} < {sql.number(high)} THEN {interpolated}")
        lines.append(f"WHEN {total} <= {sql.number(high)} THEN {sql.double(end)}")
    return "CASE " + "\n    ".join([*lines, f"ELSE {sql.double(rows[-1][1])} END"])


def _points_of(sql: Sqlite, card: Card, variable: Variable) -> str:
    """Return the points of the bin that holds the value of a variable."""
    points, lines = variable.points, variable.listed()
    if len(set(points)) == 1:
        return str(int(points[0]))
    column, kind = _quoted(sql, card.column_name(variable)), variable.kind
    operand = sql.exact_text(column) if kind == "str" else column
    # ELSE is the bin for which no condition holds: the last range, or any other category.
    default_bin = variable.n_values - 1 if kind == "number" else variable.n_bins - 1
    missing, cases = points[variable.missing], []
    if kind == "number" or missing != points[default_bin]:
        has_nan = kind in ("number", "float")
        is_missing = sql.is_missing(column) if has_nan else f"{column} IS NULL"
        cases.append((is_missing, missing))
    for line in lines:
        literals = [_literal(sql, value, kind, variable.name) for value in line.values]
        if literals:
            cases.append((_is_in(operand, literals, kind), line.points))
    for line in lines[:default_bin] if kind == "number" else ():
        upper_bound = _literal(sql, line.up_to, kind, variable.name)
        cases.append((f"{operand} <= {upper_bound}", line.points))
    whens = [f"WHEN {condition} THEN {int(value)}" for condition, value in cases]
    return "CASE " + "\n         ".join([*whens, f"ELSE {int(points[default_bin])} END"])


def _is_in(column: str, literals: list[str], kind: str) -> str:
    """Return the condition that a value is in a list."""
    if kind == "number":
        return f"{column} = {literals[0]}"
    starts = range(0, len(literals), _MOST_VALUES)
    chunks = [", ".join(literals[start : start + _MOST_VALUES]) for start in starts]
    return " OR ".join(f"{column} IN ({chunk})" for chunk in chunks)


def _literal(sql: Sqlite, value: Any, kind: str, name: str) -> str:
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
