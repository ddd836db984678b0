"""What all exports of a card have in common: columns, kinds of values, sizes of points."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from sklearn_rank.scorecard.card import Card, Variable

LARGEST_TOTAL = 2**31 - 1
"""Totals fit into the integers of every database."""


def plain(value: Any) -> Any:
    """Return a Python object in place of a scalar of NumPy."""
    return value.item() if isinstance(value, np.generic) else value


def column_name(card: Card, variable: Variable) -> str:
    """Return the name of the column of a variable in tables to score."""
    return f"x{variable.column}" if card.feature_names is None else variable.name


def categories_and_points(variable: Variable) -> list[tuple[tuple[Any, ...], int]]:
    """Return the categories of each bin that has some, and its points.

    All other categories have the last points, those of missing values.
    """
    groups = [*(variable.groups or ()), *((code,) for code in variable.special)]
    pairs = zip(groups, variable.points[:-1], strict=True)
    return [(tuple(map(plain, group)), points) for group, points in pairs if len(group)]


def cases_of(variable: Variable) -> tuple[list[tuple[str, tuple[Any, ...], int]], int]:
    """Return cases in their order, each with its points, and the points of all other values.

    A case is "=" with several values or "<=" with one. Missing values, which come first in a
    variable of numbers, are none.
    """
    points, n_values = list(map(int, variable.points)), variable.n_values
    if variable.groups is not None:
        cases = [("=", group, int(of_it)) for group, of_it in categories_and_points(variable)]
        return cases, points[-1]
    codes = zip(variable.special, points[n_values:-1], strict=True)
    limits = zip(variable.thresholds, points, strict=False)
    cases = [("=", (float(one),), of_it) for one, of_it in codes]
    return cases + [("<=", (float(one),), of_it) for one, of_it in limits], points[n_values - 1]


def kind_of(variable: Variable) -> str:
    """Return the kind of values: "number", or of categories "str", "bool", "int" or "float"."""
    if variable.groups is None:
        return "number"
    found = chain.from_iterable(group for group, _ in categories_and_points(variable))
    return common_kind(list(found), variable.name)


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


def largest_total(intercept: int, points: Sequence[Any]) -> int:
    """Return a bound on the absolute totals of a card and all their partial sums."""
    return abs(intercept) + sum(max(map(abs, of_one), default=0) for of_one in points)
