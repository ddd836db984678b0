"""Parts that all exports of a card share: columns, kinds of values, cases, sizes of points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn_rank.scorecard.card import Card, Variable

LARGEST_TOTAL = 2**31 - 1
"""Totals fit into the integers of every database."""


def column_name(card: Card, variable: Variable) -> str:
    """Return the name of the column of a variable in tables to score."""
    return f"x{variable.column}" if card.feature_names is None else variable.name


def cases_of(variable: Variable) -> tuple[list[tuple[str, tuple[Any, ...], int]], int]:
    """Return cases in their order, each with its points, and the points of all other values.

    A case is "=" with several values or "<=" with one. Missing values, which come first in a
    variable of numbers, are none.
    """
    bins = variable.listed()
    ranges = [one for one in bins if one.kind == "range"]
    cases = [("=", one.values, one.points) for one in bins if one.values]
    cases += [("<=", (one.up_to,), one.points) for one in ranges[:-1]]
    return cases, (ranges or bins)[-1].points


def kind_of(variable: Variable) -> str:
    """Return the kind of values: "number", or of categories "str", "bool", "int" or "float"."""
    if variable.groups is None:
        return "number"
    return common_kind([one for bin_ in variable.listed() for one in bin_.values], variable.name)


def common_kind(categories: Sequence[Any], name: str) -> str:
    """Return the type that holds all categories of a variable."""
    kinds = {type(one).__name__ for one in categories} or {"str"}
    if kinds in ({"str"}, {"bool"}):
        return kinds.pop()
    if kinds <= {"bool", "int"}:
        return "int"
    if kinds <= {"bool", "int", "float"}:
        return "float"
    raise ValueError(
        f"The categories of {name!r} must be all strings or all numbers. "
        f"Got {', '.join(sorted(kinds))}."
    )


def largest_points(card: Card) -> int:
    """Return the largest absolute points of a bin, 0 without variables."""
    return max((abs(one) for variable in card.variables for one in variable.points), default=0)


def largest_total(intercept: int, points: Sequence[Any]) -> int:
    """Return a bound on the absolute totals of a card and all their partial sums."""
    return abs(intercept) + sum(max(map(abs, of_one), default=0) for of_one in points)
