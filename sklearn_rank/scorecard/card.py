"""A scorecard as plain data: what it consists of, and how it scores rows."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats, Indices, Values
from sklearn_rank._validation import is_data_frame, is_missing
from sklearn_rank.bins.categories import column_of


@dataclass(frozen=True)
class Bin:
    """A bin of a variable as a line of the card.

    Attributes
    ----------
    label : str
        How it reads.
    points : int
        Points that it adds to the total.
    count, events : float
        Weight of the training rows in it, and of those in ``classes[1]``; NaN if unknown.
    kind : str
        "range", "categories", "special" or "missing"; "intercept" for all rows.
    above, up_to : float or None
        Bounds of a range; None for infinity.
    values : tuple
        The categories or the special code.
    """

    label: str
    points: int
    count: float
    events: float
    kind: str
    above: float | None = None
    up_to: float | None = None
    values: tuple[Any, ...] = ()

    @property
    def event_rate(self) -> float:
        """Share of ``classes[1]`` among the training rows; NaN if unknown."""
        return self.events / self.count if self.count else math.nan


@dataclass(frozen=True, eq=False)
class Variable:
    """A feature on the card, its bins and their points.

    Bins are numbered: first those of ordinary values, then one for each special code, last
    that of missing values, to which categories that the card doesn't name belong too.

    Attributes
    ----------
    name : str
        Name of the feature.
    column : int
        Its position in X.
    points : tuple of int
        Points of each bin.
    thresholds : tuple of float
        Increasing; bins are ``(-inf, t_1], (t_1, t_2], ..., (t_n, inf)``. Empty for
        categories.
    special : tuple of float
        Values with a bin of their own.
    groups : tuple of tuple or None
        The categories (str, int, float or bool) of each bin; None for numbers.
    counts, events : tuple of float
        Weight of the training rows in each bin, and of those in ``classes[1]``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.scorecard import Variable
    >>> age = Variable("age", 0, points=(-1, 2, 3, 0), thresholds=(29.5,), special=(-99.0,))
    >>> age.labels()
    ['<= 29.5', '> 29.5', '= -99', 'missing']
    >>> age.bins(np.array([29.5, 30.0, -99.0, np.nan]))
    array([0, 1, 2, 3])
    """

    name: str
    column: int
    points: tuple[int, ...]
    thresholds: tuple[float, ...] = ()
    special: tuple[float, ...] = ()
    groups: tuple[tuple[Any, ...], ...] | None = None
    counts: tuple[float, ...] = ()
    events: tuple[float, ...] = ()

    @property
    def n_values(self) -> int:
        """Number of bins of ordinary values."""
        return len(self.thresholds) + 1 if self.groups is None else len(self.groups)

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return self.n_values + len(self.special) + 1

    def labels(self) -> list[str]:
        """Return how each bin reads on the card."""
        if self.groups is None:
            values, missing = _range_labels(self.thresholds), "missing"
            if self.special and not self.thresholds:
                values = ["any other value"]
        else:
            values = [", ".join(map(label_of, group)) for group in self.groups]
            missing = "missing or other"
        return [*values, *(f"= {number_text(code)}" for code in self.special), missing]

    def listed(self) -> list[Bin]:
        """Return the bins in their order."""
        ends = [None, *self.thresholds, None]
        held: list[dict[str, Any]] = [
            {"kind": "range", "above": low, "up_to": high} for low, high in pairwise(ends)
        ]
        if self.groups is not None:
            held = [{"kind": "categories", "values": tuple(map(plain, g))} for g in self.groups]
        held += [{"kind": "special", "values": (plain(code),)} for code in self.special]
        held.append({"kind": "missing"})
        unknown = (math.nan,) * len(self.points)
        counts, events = self.counts or unknown, self.events or unknown
        columns = zip(self.labels(), self.points, counts, events, held, strict=True)
        return [
            Bin(label, int(points), float(count), float(of_them), **place)
            for label, points, count, of_them, place in columns
        ]

    @property
    def kind(self) -> str:
        """The kind of values: "number", or of categories "str", "bool", "int" or "float"."""
        if self.groups is None:
            return "number"
        values = map(plain, chain(*self.groups, self.special))
        kinds = {type(one).__name__ for one in values} or {"str"}
        if kinds in ({"str"}, {"bool"}):
            return kinds.pop()
        if kinds <= {"bool", "int"}:
            return "int"
        if kinds <= {"bool", "int", "float"}:
            return "float"
        raise ValueError(
            f"The categories of {self.name!r} must be all strings or all numbers. "
            f"Got {', '.join(sorted(kinds))}."
        )

    def cases(self) -> tuple[list[tuple[str, tuple[Any, ...], int]], int]:
        """Return cases in their order, each with its points, and the points of all other values.

        A case is "=" with several values or "<=" with one. Missing values, which come first in a
        variable of numbers, are none.
        """
        bins = self.listed()
        ranges = [one for one in bins if one.kind == "range"]
        cases = [("=", one.values, one.points) for one in bins if one.values]
        cases += [("<=", (one.up_to,), one.points) for one in ranges[:-1]]
        return cases, (ranges or bins)[-1].points

    def bins(self, x: Values) -> Indices:
        """Return the bin of each value, numbers or categories; NaN and None are missing."""
        if self.groups is not None:
            return self._bins_of_categories(x)
        values = _as_floats(x, self.name)
        bins = np.searchsorted(np.array(self.thresholds, dtype=np.float64), values)
        for number, code in enumerate(self.special):
            bins[values == code] = self.n_values + number
        bins[np.isnan(values)] = self.n_bins - 1
        return bins

    def _bins_of_categories(self, x: Values) -> Indices:
        assert self.groups is not None
        bin_of = {one: number for number, group in enumerate(self.groups) for one in group}
        for number, code in enumerate(self.special):
            bin_of[code] = self.n_values + number
        missing = self.n_bins - 1
        values = np.asarray(x).tolist()
        return np.fromiter((bin_of.get(one, missing) for one in values), np.intp, len(values))


@dataclass(frozen=True, eq=False)
class Card:
    """A table of integer points.

    The total of a row is `intercept` plus the points of the bins that its values are in. A
    total above `cut` means ``classes[1]``.

    Attributes
    ----------
    variables : tuple of Variable
        The features on the card.
    intercept : int
        Points of every row.
    cut : int
        A greater total means ``classes[1]``; 0 without scaling.
    classes : tuple
        The two classes; high totals mean the second.
    n_features : int
        Number of columns of the training X.
    feature_names : tuple of str or None
        All columns of the training X, where it had names.
    risk : tuple of tuple
        Rows ``(total, probability, low, high)`` of the risk table, by increasing total.
    details : dict
        Further statements of the card: training loss of the ranker and of the card, p, number
        of rows, scaling, version (numbers, strings and None only).

    Examples
    --------
    >>> from sklearn_rank.scorecard import Card, Variable
    >>> age = Variable("age", 0, points=(-1, 2, 0), thresholds=(29.5,))
    >>> job = Variable("job", 1, points=(3, 0), groups=(("clerk", "smith"),))
    >>> card = Card((age, job), 1, 0, ("bad", "good"), 2, ("age", "job"))
    >>> card.points([[40, "clerk"], [20, "pilot"]])
    array([[ 2,  3],
           [-1,  0]])
    >>> card.totals([[40, "clerk"], [20, "pilot"]])
    array([6, 0])
    """

    variables: tuple[Variable, ...]
    intercept: int
    cut: int
    classes: tuple[Any, Any]
    n_features: int
    feature_names: tuple[str, ...] | None = None
    risk: tuple[tuple[float, float, float, float], ...] = ()
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def largest_points(self) -> int:
        """The largest absolute points of a bin, 0 without variables."""
        return max((abs(one) for variable in self.variables for one in variable.points), default=0)

    def column_name(self, variable: Variable) -> str:
        """Return the name of the column of a variable in tables to score."""
        return f"x{variable.column}" if self.feature_names is None else variable.name

    def bins(self, X: Any) -> Indices:
        """Return the bin of each row and variable, shape (n_rows, n_variables).

        X is an array or a list of rows with the columns of training, or a data frame: where
        the card has names it looks the columns up by them, in any order, and needs only those
        of its variables.
        """
        columns, n_rows = self._columns(X)
        bins = np.zeros((n_rows, len(self.variables)), dtype=np.intp)
        for number, (variable, column) in enumerate(zip(self.variables, columns, strict=True)):
            bins[:, number] = variable.bins(column)
        return bins

    def points(self, X: Any) -> Indices:
        """Return the points of each row and variable, shape (n_rows, n_variables)."""
        bins = self.bins(X)
        points = np.zeros(bins.shape, dtype=np.intp)
        for number, variable in enumerate(self.variables):
            points[:, number] = np.array(variable.points, dtype=np.intp)[bins[:, number]]
        return points

    def totals(self, X: Any) -> Indices:
        """Return the total of each row."""
        return self.intercept + self.points(X).sum(axis=1)

    def _columns(self, X: Any) -> tuple[list[Values], int]:
        """Return the column of each variable, and the number of rows."""
        names = [str(name) for name in getattr(X, "columns", ())]
        is_by_name = bool(names) and self.feature_names is not None
        if is_by_name:
            lacking = [one.name for one in self.variables if one.name not in names]
            if lacking:
                raise ValueError(
                    f"The scorecard needs the columns {lacking}, which X lacks. "
                    f"X has {_shortened(names)}."
                )
            positions = [names.index(one.name) for one in self.variables]
        else:
            positions = [one.column for one in self.variables]
        if not is_data_frame(X):
            X = np.asarray(X, dtype=None if hasattr(X, "dtype") else object)
        if len(X.shape) != 2:
            raise ValueError(f"X must be a table of two dimensions. Got shape {X.shape}.")
        if not is_by_name and X.shape[1] != self.n_features:
            raise ValueError(
                f"X has {X.shape[1]} features, but the scorecard is expecting {self.n_features} "
                "features as input."
            )
        return [column_of(X, place)[:, 0] for place in positions], int(X.shape[0])


def probability(card: Card, totals: Sequence[int] | Indices) -> Floats:
    """Return the calibrated probability of ``classes[1]`` at each total.

    Between the totals of the risk table it is interpolated, and beyond them it is that of the
    nearest one.
    """
    if not card.risk:
        raise ValueError("This scorecard has no risk table, and so no probabilities.")
    table = np.array(card.risk, dtype=np.float64)
    return np.interp(np.asarray(totals, dtype=np.float64), table[:, 0], table[:, 1])


def plain(value: Any) -> Any:
    """Return a Python object in place of a scalar of NumPy."""
    return value.item() if isinstance(value, np.generic) else value


def number_text(value: float) -> str:
    """Return the shortest decimal that is read as this number, without a trailing ".0"."""
    return repr(float(value)).removesuffix(".0")


def _range_labels(thresholds: Sequence[float]) -> list[str]:
    """Return how the bins between thresholds read."""
    if not thresholds:
        return ["any value"]
    ends = [number_text(one) for one in thresholds]
    inside = [f"> {low} and <= {high}" for low, high in pairwise(ends)]
    return [f"<= {ends[0]}", *inside, f"> {ends[-1]}"]


def label_of(category: Any) -> str:
    """Return how a category reads; with quotes where it could be taken for something else."""
    if not isinstance(category, str):
        is_float = isinstance(category, float)
        return number_text(category) if is_float else str(category)
    is_plain = category.isprintable() and category == category.strip() and category
    return category if is_plain and not set(category) & set(',"') else json.dumps(category)


def class_label(value: Any) -> str:
    """Return how a class reads in a sentence."""
    return label_of(value) if isinstance(value, str) else f"class {label_of(value)}"


def _as_floats(x: Values, name: str) -> Floats:
    """Return numbers as floats, with NaN for what is missing."""
    values = np.asarray(x)
    if values.dtype.kind == "O":
        values = np.array([np.nan if is_missing(one) else one for one in values], dtype=object)
    if values.dtype.kind in "mM":
        raise ValueError(
            f"The column {name!r} of X must hold numbers. Its dtype is {values.dtype}."
        )
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"The column {name!r} of X must hold numbers. {error}") from error


def _shortened(names: Sequence[str], most: int = 20) -> str:
    """Return a list of names for a message, without those after the first ones."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{list(names[:most])}{more}"
