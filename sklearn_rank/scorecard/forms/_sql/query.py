"""A scorecard as an expression or a query of SQL."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sklearn_rank.scorecard._adverse import adverse_end, best_points, points_lost
from sklearn_rank.scorecard._texts import Texts
from sklearn_rank.scorecard.card import Card, known_risk
from sklearn_rank.scorecard.forms._sql.dialects import DIALECTS, Sqlite
from sklearn_rank.scorecard.terms import Pair, Variable

_MOST_REASONS = 4
_MOST_VALUES = 1000
"""Values of a list: Oracle takes no more."""


def to_sql(
    card: Card,
    dialect: str = "sqlite",
    *,
    table: str | Sequence[str] | None = None,
    name: str = "score",
    keep: Sequence[str] = (),
    points: bool = False,
    risk: bool = False,
    reasons: bool = False,
    texts: Any = None,
) -> str:
    """Return SQL that computes the total of each row.

    NULL is missing, and so is NaN where the database has it. Columns are named after the features,
    or x0, x1, ...; columns of numbers must have a numeric type. Thresholds are exactly
    those of the card, which compares doubles: a column of integers beyond 2^53 must be cast to
    them. Infinity lies in the outermost range. A row with a value that ``unseen="refuse"``
    refuses has a total, points and a risk that are NULL.

    Categories are compared exactly, with these exceptions. SQL Server ignores spaces at the end of
    a string. MySQL and MariaDB must be connected with utf8mb4 and read backslashes as escapes,
    Oracle must compare strings by their bytes (``NLS_COMP=BINARY``), and Spark must not have
    ``escapedStringLiterals``: their defaults. Oracle has no empty strings, which are missing there,
    and no truth values before release 23, whose columns hold 1 and 0. Names are quoted, so that
    Oracle and Snowflake compare their case. SQLite treats a quoted name that is not a column of the
    table as a string, without an error.

    The tests run the SQL for SQLite and, where they are installed, for PostgreSQL, DuckDB and
    MariaDB. That for the others is only parsed.

    Parameters
    ----------
    card : Card
        The scorecard.
    dialect : {"sqlite", "postgresql", "duckdb", "mysql", "mariadb", "tsql", "bigquery", \
"snowflake", "oracle", "spark"}, default="sqlite"
        The database; "tsql" is SQL Server.
    table : str or sequence of str, default=None
        The table to score, or its name after those of its schema. None: only the expression.
    name : str, default="score"
        Name of the column of totals in the result. Not used without `table`.
    keep : sequence of str, default=()
        Columns of the table to copy into the result, in front, such as the number of an
        application. None may be called as the total, `name`.
    points : bool, default=False
        Whether the result has a column of points for each term after the total: ``points_age``, or
        ``points_age_x_debt`` of a pair.
    risk : bool, default=False
        Whether the result has a column ``risk``, the probability of ``classes[1]``. Totals of the
        risk table get its doubles; those between are interpolated, in double precision. The totals
        decide nothing else: no row is rounded.
    reasons : bool, default=False
        Whether the result has columns ``reason_1`` to ``reason_4``: the terms that lose the row
        most points compared with the best attainable ones, as `Scorecard.reasons` names them, ties
        in the order of the card; NULL where no more terms lose points. A card has at most as many
        as it has terms that can lose points.
    texts : dict, default=None
        With `reasons`: sentences by term, or by (term, label of the bin that the row is in), in
        place of the terms' names. What is named by term and by bin has the text of the bin.

    Returns
    -------
    str
        An expression in parentheses, or ``SELECT <expression> AS "score" FROM "table"``.

    Raises
    ------
    ValueError
        When the card, or a name, cannot be written in the dialect; when a column of `keep` has the
        name of the total; when columns are asked for without a table, the risk of a card whose risk
        table is missing or for other points, or reasons while it is unknown which end of the totals
        is bad.

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
    kept = [keep] if isinstance(keep, str) else list(keep)
    if texts is not None and not reasons:
        raise ValueError("texts of to_sql are for reasons: they need reasons=True.")
    asked = {"keep": kept, "points": points, "risk": risk, "reasons": reasons}
    _check(card, table, name, asked)
    result = quoted(sql, name)
    source = "" if table is None else ".".join(quoted(sql, part) for part in _parts(table))
    if points or risk or reasons:
        return _query(sql, card, source, name, asked, Texts("to_sql", card, texts))
    cases = [_points_of(sql, card, term) for term in card.terms]
    expression = "(\n  " + "\n  + ".join([str(int(card.intercept)), *cases]) + "\n)"
    if table is None:
        return expression
    columns = [*(quoted(sql, one) for one in kept), f"{expression} AS {result}"]
    return f"SELECT {', '.join(columns)} FROM {source}"


def _check(card: Card, table: Any, name: Any, asked: dict[str, Any]) -> None:
    """Raise ValueError for what does not fit together."""
    named = " and ".join(key for key, value in asked.items() if value)
    if table is None and named:
        raise ValueError(f"to_sql with {named} writes a query: it needs the name of the table.")
    if str(name).casefold() in [str(one).casefold() for one in asked["keep"]]:
        raise ValueError(
            f"to_sql keeps {asked['keep']} and calls the total {name!r}, which must differ, "
            "whatever the case. Pass another name."
        )
    if asked["risk"]:
        known_risk(card)  # raises an error where it has none, or one of other points


def _parts(table: Any) -> list[Any]:
    """Return the name of a table after those of its schema."""
    parts = [table] if isinstance(table, str) or not np.iterable(table) else list(table)
    if not parts:
        raise ValueError("The table of to_sql must have a name. Got an empty sequence.")
    return parts


def quoted(sql: Sqlite, name: Any) -> str:
    """Return a quoted identifier."""
    if not isinstance(name, str) or not name or "\0" in name:
        raise ValueError(
            f"The name of a table or a column in SQL must be a string with at least one "
            f"character and without the character NUL. Got {name!r}."
        )
    return sql.name(name)


# Queries -----------------------------------------------------------------------------------


def _query(
    sql: Sqlite, card: Card, source: str, name: str, asked: dict[str, Any], known: Texts
) -> str:
    """Return a query with more columns than the total: points first, then what needs them."""
    kept, cases = asked["keep"], [_points_of(sql, card, term) for term in card.terms]
    lost = _points_lost(card) if asked["reasons"] else []
    terms = [sql.name(f"points_{number}") for number in range(1, len(cases) + 1)]
    keys = [sql.name(f"key_{number}") for number in range(1, len(kept) + 1)]
    total = sql.name("total")
    inner = [f"{quoted(sql, old)} AS {new}" for old, new in zip(kept, keys, strict=True)]
    inner += [f"{case} AS {term}" for case, term in zip(cases, terms, strict=True)]
    texts = {number: sql.name(f"text_{number + 1}") for number, _ in lost}
    inner += [f"{_said(sql, card, card.terms[one], known)} AS {new}" for one, new in texts.items()]
    sum_of_points = " + ".join([str(int(card.intercept)), *terms])
    middle = [*keys, *terms, *texts.values(), f"{sum_of_points} AS {total}"]
    of_terms = [(terms[number], texts[number], formula) for number, formula in lost]
    middle += _ranks(sql, of_terms)
    shown = [*zip(keys, kept, strict=True), (total, name)]
    if asked["points"]:
        names = ["points_" + "_x_".join(map(card.column_name, one.axes)) for one in card.terms]
        shown += zip(terms, names, strict=True)
    if asked["risk"]:
        shown.append((_risk(sql, card, total), "risk"))
    shown += _reasons(sql, of_terms, total)
    names = _distinct([called for _, called in shown])
    outer = [f"{one} AS {quoted(sql, new)}" for (one, _), new in zip(shown, names, strict=True)]
    below = f"SELECT {_listed(inner)}\nFROM {source}" if inner else f"SELECT 1 AS x FROM {source}"
    for columns, alias in ((middle, "terms"), (outer, "totals")):
        below = f"SELECT {_listed(columns)}\nFROM (\n{below}\n) {sql.name(alias)}"
    return below


def _listed(columns: list[str]) -> str:
    return ",\n  ".join(columns)


def _distinct(names: list[str]) -> list[str]:
    """Return names that differ, whatever their case, by a number after those that do not."""
    found: list[str] = []
    taken = {name.casefold() for name in names}
    for name in names:
        new, number = name, 2
        while new.casefold() in {one.casefold() for one in found} or (
            new != name and new.casefold() in taken
        ):
            new, number = f"{name}_{number}", number + 1
        found.append(new)
    return found


def _risk(sql: Sqlite, card: Card, total: str) -> str:
    """Return the probability of a total: that of the table, interpolated as NumPy does."""
    rows = known_risk(card)[:, :2].tolist()
    lines = [
        f"WHEN {total} IS NULL THEN NULL",
        f"WHEN {total} <= {sql.number(rows[0][0])} THEN {sql.double(rows[0][1])}",
    ]
    for (low, start), (high, end) in pairwise(rows):
        if math.floor(low) + 1 < high:
            slope, rest = (end - start) / (high - low), f"({total} - {sql.number(low)})"
            between = f"{sql.double(slope)} * {rest} + {sql.double(start)}"
            lines.append(f"WHEN {total} < {sql.number(high)} THEN {between}")
        lines.append(f"WHEN {total} <= {sql.number(high)} THEN {sql.double(end)}")
    return "CASE " + "\n    ".join([*lines, f"ELSE {sql.double(rows[-1][1])} END"])


# Reasons ---------------------------------------------------------------------------------


def _points_lost(card: Card) -> list[tuple[int, str]]:
    """Return of each term that can lose points its number, and a formula of them."""
    owner = "to_sql(reasons=True)"
    best = best_points(card, owner).tolist()
    is_high = adverse_end(card, owner) == "high"
    return [
        (number, f"({{0}} - {one})" if is_high else f"({one} - {{0}})")
        for number, (term, one) in enumerate(zip(card.terms, best, strict=True))
        if points_lost(card, term.points, one, owner).max() > 0
    ]


def _ranks(sql: Sqlite, terms: list[tuple[str, str, str]]) -> list[str]:
    """Return columns with the number of terms that lose more than each, or as much before it."""
    lost = [formula.format(column) for column, _, formula in terms]
    ranks = []
    for number, own in enumerate(lost):
        more = [f"{one} >= {own}" for one in lost[:number]]
        more += [f"{one} > {own}" for one in lost[number + 1 :]]
        counted = [f"CASE WHEN {one} THEN 1 ELSE 0 END" for one in more]
        ranks.append(f"{' + '.join(counted) or '0'} AS {sql.name(f'rank_{number + 1}')}")
    return ranks


def _reasons(sql: Sqlite, terms: list[tuple[str, str, str]], total: str) -> list[tuple[str, str]]:
    """Return the names of the terms that lose most points, with the names of their columns."""
    shown = []
    for rank in range(min(_MOST_REASONS, len(terms))):
        lines = [f"WHEN {total} IS NULL THEN NULL"]
        for number, (column, text, formula) in enumerate(terms, start=1):
            is_here = f"{sql.name(f'rank_{number}')} = {rank} AND {formula.format(column)} > 0"
            lines.append(f"WHEN {is_here} THEN {text}")
        shown.append(("CASE " + "\n    ".join([*lines, "ELSE NULL END"]), f"reason_{rank + 1}"))
    return shown


# Points ------------------------------------------------------------------------------------


def _points_of(sql: Sqlite, card: Card, term: Variable | Pair) -> str:
    """Return the points of a term: NULL where the card refuses a row."""
    refused = set(card.refused_bins(term))
    results = ["NULL" if j in refused else str(int(one)) for j, one in enumerate(term.points)]
    if set(results) == {"NULL"}:
        return "NULLIF(0, 0)"  # NULL alone has no type
    return _by_bin(sql, card, term, results)


def _said(sql: Sqlite, card: Card, term: Variable | Pair, texts: Texts) -> str:
    """Return the text of the bin that holds the row, as a reason."""
    labels = term.labels()
    return _by_bin(sql, card, term, [_text(sql, texts.of(term.name, one)) for one in labels])


def _by_bin(sql: Sqlite, card: Card, term: Variable | Pair, results: list[str]) -> str:
    """Return the result of the bin that holds the row."""
    first, *others = term.axes
    if others:
        width = others[0].n_bins
        rows = [results[start : start + width] for start in range(0, len(results), width)]
        results = [_case(sql, card, others[0], row, " " * 11) for row in rows]
    return _case(sql, card, first, results, " " * 9)


def _case(sql: Sqlite, card: Card, axis: Any, results: list[str], indent: str) -> str:
    """Return the result of the bin that holds the value of a feature."""
    cases, other = axis.cases()
    if len(set(results)) == 1:
        return results[0]
    column = quoted(sql, card.column_name(axis))
    kind = "number" if axis.groups is None else card.kind_of(axis.column)
    compared = sql.exact_text(column) if kind == "str" else column
    lines, missing = [], results[axis.missing]
    if kind == "number" or missing != results[other]:
        has_nan = kind in ("number", "float")
        is_missing = sql.is_missing(column) if has_nan else f"{column} IS NULL"
        lines.append(f"WHEN {is_missing} THEN {missing}")
    for operator, values, number in cases:
        listed = [_literal(sql, one, kind, axis.name) for one in values]
        if kind == "number":
            condition = f"{compared} {operator} {listed[0]}"
        else:
            condition = _is_in(compared, listed)
        lines.append(f"WHEN {condition} THEN {results[number]}")
    return "CASE " + f"\n{indent}".join([*lines, f"ELSE {results[other]} END"])


def _is_in(column: str, listed: list[str]) -> str:
    """Return the condition that a value is one of a list."""
    starts = range(0, len(listed), _MOST_VALUES)
    parts = [", ".join(listed[start : start + _MOST_VALUES]) for start in starts]
    return " OR ".join(f"{column} IN ({part})" for part in parts)


def _text(sql: Sqlite, value: str) -> str:
    """Return a string as a literal."""
    if "\0" in value:
        raise ValueError(f"SQL has no strings with the character NUL. Got {value!r}.")
    return sql.text(value)


def _literal(sql: Sqlite, value: Any, kind: str, name: str) -> str:
    """Return a threshold, a code or a category as a literal."""
    if kind == "str":
        return _text(sql, value)
    if kind == "bool":
        return sql.truth(value)
    if not math.isfinite(value):
        raise ValueError(
            f"Thresholds and special codes must be finite in SQL. {name!r} has {value!r}."
        )
    return str(int(value)) if kind == "int" else sql.number(float(value))
