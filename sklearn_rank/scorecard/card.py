"""A scorecard as plain data: its variables and their bins, and how it scores rows."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain, pairwise
from typing import Any

import numpy as np

from sklearn_rank._bins.categories import column_of
from sklearn_rank._core.protocols import Floats, Indices, Values
from sklearn_rank._core.validation import is_data_frame, is_missing

MADE_FOR = "risk_of_points"
"""The detail with the fingerprint of the points that the risk table was made for."""

NOT_SEEN = " (not seen in training)"
"""End of the label of a bin that no training row was in."""


@dataclass(frozen=True)
class Bin:
    """A bin of a variable as a line of the card.

    Attributes
    ----------
    label : str
        Display text.
    kind : str
        "range", "categories", "special", "missing" or "other" (any other category); "intercept"
        for all rows.
    up_to : float or None
        The upper end of a range; None for infinity.
    values : tuple
        The categories or the special code.
    points : int
        Points that it adds to the total.
    count, events : float
        Weight of the training rows in it, and of those in ``classes[1]``; NaN if unknown.
    """

    label: str
    kind: str
    up_to: float | None = None
    values: tuple[Any, ...] = ()
    points: int = 0
    count: float = math.nan
    events: float = math.nan

    @property
    def event_rate(self) -> float:
        """Share of ``classes[1]`` among the training rows; NaN if unknown."""
        return self.events / self.count if self.count else math.nan


@dataclass(frozen=True, eq=False)
class Variable:
    """A feature on the card, its bins and their points.

    Bins are numbered: first those of ordinary values, then one for each special code, then that
    of missing values; of categories the last one is that of any category that is not named.

    Attributes
    ----------
    name : str
        Name of the feature.
    column : int
        Its position in X.
    points : tuple of int
        Points of each bin. Those of the last bin of categories may be left out: they are then
        those of missing values.
    thresholds : tuple of float
        Increasing; bins are ``(-inf, t_1], (t_1, t_2], ..., (t_n, inf)``. Empty for
        categories.
    special : tuple of float
        Values with a bin of their own.
    groups : tuple of tuple or None
        The categories (str, int, float or bool) of each bin; None for numbers.
    counts, events : tuple of float
        Weight of the training rows in each bin, and of those in ``classes[1]``; empty if unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.scorecard import Variable
    >>> age = Variable("age", 0, points=(-1, 2, 3, 0), thresholds=(29.5,), special=(-99.0,))
    >>> age.labels()
    ['<= 29.5', '> 29.5', 'is -99', 'missing']
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

    def __post_init__(self) -> None:
        """Complete the fields that may omit the bin of categories that are not named."""
        if self.groups is None:
            return
        for name, default in (("points", self.points[-1:]), ("counts", (0.0,)), ("events", (0.0,))):
            values = getattr(self, name)
            if values and len(values) == self.n_bins - 1:
                object.__setattr__(self, name, (*values, *default))

    @property
    def n_values(self) -> int:
        """Number of bins of ordinary values."""
        return len(self.thresholds) + 1 if self.groups is None else len(self.groups)

    @property
    def missing(self) -> int:
        """The bin of missing values."""
        return self.n_values + len(self.special)

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return self.missing + (1 if self.groups is None else 2)

    @property
    def kind(self) -> str:
        """The kind of values: "number" or, for categories, "str", "bool", "int" or "float"."""
        if self.groups is None:
            return "number"
        values = map(plain, chain(*self.groups, self.special))
        kinds = {type(value).__name__ for value in values} or {"str"}
        # The narrowest kind that holds all values; strings do not mix with numbers.
        for allowed in (("str",), ("bool",), ("bool", "int"), ("bool", "int", "float")):
            if kinds <= set(allowed):
                return allowed[-1]
        raise ValueError(
            f"The categories of {self.name!r} must be all strings or all numbers. "
            f"Got {', '.join(sorted(kinds))}."
        )

    def bins(self, x: Values) -> Indices:
        """Return the bin of each value, numbers or categories; NaN and None are missing."""
        if self.groups is None:
            values = _as_floats(x, self.name)
            bins = np.searchsorted(np.array(self.thresholds, dtype=np.float64), values)
            for special_bin, code in enumerate(self.special, start=self.n_values):
                bins[values == code] = special_bin
            bins[np.isnan(values)] = self.missing
            return bins
        groups = [*self.groups, *((code,) for code in self.special)]
        bin_of = {value: group_bin for group_bin, group in enumerate(groups) for value in group}
        other = self.n_bins - 1
        bins_of_values = (
            bin_of[value] if value in bin_of else self.missing if is_missing(value) else other
            for value in np.asarray(x).tolist()
        )
        return np.fromiter(bins_of_values, np.intp, len(x))

    def listed(self) -> list[Bin]:
        """Return the bins in their order."""
        counts = self.counts or (math.nan,) * self.n_bins
        events = self.events or (math.nan,) * self.n_bins
        unseen = self.unseen_bins()
        return [
            Bin(
                label + NOT_SEEN if index in unseen else label,
                kind,
                **fields,
                points=int(self.points[index]),
                count=float(counts[index]),
                events=float(events[index]),
            )
            for index, (label, kind, fields) in enumerate(self._descriptions())
        ]

    def labels(self) -> list[str]:
        """Return the text of each bin on the card."""
        return [card_bin.label for card_bin in self.listed()]

    def unseen_bins(self) -> list[int]:
        """Return the bins of special codes, missing and other values without training rows."""
        extra_bins = range(self.n_values, self.n_bins)
        return [index for index in extra_bins if self.counts and self.counts[index] == 0]

    def _descriptions(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Yield the label, the kind and the values of each bin."""
        if self.groups is None:
            only = "any other value" if self.special else "any value"
            labels = _range_labels(self.thresholds) if self.thresholds else [only]
            for label, end in zip(labels, [*self.thresholds, None], strict=True):
                yield label, "range", {"up_to": end}
        for group in self.groups or ():
            label = ", ".join(map(label_of, group))
            yield label, "categories", {"values": tuple(map(plain, group))}
        for code in self.special:
            yield f"is {number_text(code)}", "special", {"values": (plain(code),)}
        yield "missing", "missing", {}
        if self.groups is not None:
            yield "any other", "other", {}


def plain(value: Any) -> Any:
    """Return a Python object instead of a scalar of NumPy."""
    return value.item() if isinstance(value, np.generic) else value


def number_text(value: float) -> str:
    """Return the shortest decimal that parses as this number, without a trailing ".0"."""
    return repr(float(value)).removesuffix(".0")


def _range_labels(thresholds: Sequence[float]) -> list[str]:
    """Return the labels of the bins between thresholds, of which there is at least one."""
    ends = [number_text(threshold) for threshold in thresholds]
    inside = [f"> {low} and <= {high}" for low, high in pairwise(ends)]
    return [f"<= {ends[0]}", *inside, f"> {ends[-1]}"]


def label_of(category: Any) -> str:
    """Return the text of a category, with quotes if it could be misread."""
    if not isinstance(category, str):
        return number_text(category) if isinstance(category, float) else str(category)
    is_plain = category.isprintable() and category == category.strip() and category
    is_reserved = category in ("missing", "any other") or category.endswith(NOT_SEEN)
    is_clear = is_plain and not is_reserved and not set(category) & set(',"')
    return category if is_clear else json.dumps(category, ensure_ascii=False)


def class_label(value: Any) -> str:
    """Return the text of a class in a sentence."""
    return label_of(value) if isinstance(value, str) else f"class {label_of(value)}"


def _as_floats(x: Values, name: str) -> Floats:
    """Return numbers as floats, with NaN for what is missing."""
    values = np.asarray(x)
    if values.dtype.kind == "O":
        values = np.array([np.nan if is_missing(value) else value for value in values], object)
    try:
        if values.dtype.kind in "mM":
            raise TypeError(f"Its dtype is {values.dtype}.")
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"The column {name!r} of X must hold numbers. {error}") from error


@dataclass(frozen=True, eq=False)
class Card:
    """A table of integer points.

    The total of a row is `intercept` plus the points of its bin for each variable. A total above
    `cut` means ``classes[1]``.

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

    def bins(self, X: Any) -> Indices:
        """Return the bin of each row and variable, shape (n_rows, n_variables).

        X is an array or a list of rows with the columns of training, or a data frame: where
        the card has names it looks the columns up by them, in any order, and needs only those
        of its variables. ValueError when X lacks a column.
        """
        columns, n_rows = self._columns_of(X)
        bins = np.zeros((n_rows, len(self.variables)), dtype=np.intp)
        for index, (variable, values) in enumerate(zip(self.variables, columns, strict=True)):
            bins[:, index] = variable.bins(values)
        return bins

    def points(self, X: Any) -> Indices:
        """Return the points of each row and variable, shape (n_rows, n_variables)."""
        bins = self.bins(X)
        for index, variable in enumerate(self.variables):
            bins[:, index] = np.array(variable.points, dtype=np.intp)[bins[:, index]]
        return bins

    def totals(self, X: Any) -> Indices:
        """Return the total of each row."""
        return self.intercept + self.points(X).sum(axis=1)

    def probability(self, totals: Sequence[int] | Indices) -> Floats:
        """Return the calibrated probability of ``classes[1]`` at each total.

        Between the totals of the risk table it is interpolated, and beyond them it is that of
        the nearest one. ValueError when the card has no risk table.
        """
        table = self.risk_table()
        return np.interp(np.asarray(totals, dtype=np.float64), table[:, 0], table[:, 1])

    def risk_table(self) -> Floats:
        """Return the risk table, with the columns total, probability, low and high."""
        if not self.risk:
            raise ValueError("This scorecard has no risk table, and so no probabilities.")
        return np.array(self.risk, dtype=np.float64)

    def column_name(self, variable: Variable) -> str:
        """Return the name of the column of a variable in tables to score."""
        return f"x{variable.column}" if self.feature_names is None else variable.name

    def lines(self) -> list[tuple[str, list[Bin]]]:
        """Return the intercept and the bins of each variable, with their names."""
        first = self.variables[0] if self.variables else None
        count = float(sum(first.counts)) if first and first.counts else np.nan
        events = float(sum(first.events)) if first and first.counts else np.nan
        intercept = Bin("", "intercept", points=int(self.intercept), count=count, events=events)
        return [
            ("intercept", [intercept]),
            *((self.column_name(variable), variable.listed()) for variable in self.variables),
        ]

    def fingerprint(self) -> str:
        """Return a hash of the intercept, the points and the bins: 16 hexadecimal digits.

        Cards store that of the points which their risk table was made for.
        """
        bins = []
        for variable in self.variables:
            edges = [list(map(float, edges)) for edges in (variable.thresholds, variable.special)]
            groups = [list(map(plain, group)) for group in variable.groups or ()]
            bins.append([variable.column, edges, groups, list(map(int, variable.points))])
        return sha256(repr([int(self.intercept), bins]).encode()).hexdigest()[:16]

    def _columns_of(self, X: Any) -> tuple[list[Values], int]:
        """Return the values of each variable, and the number of rows."""
        names = [str(name) for name in getattr(X, "columns", ())]
        columns = [variable.column for variable in self.variables]
        is_by_name = bool(names) and self.feature_names is not None
        if is_by_name:
            card_names = [variable.name for variable in self.variables]
            absent_names = [name for name in card_names if name not in names]
            if absent_names:
                raise ValueError(
                    f"The scorecard needs the columns {absent_names}, which X lacks. "
                    f"X has {_shortened(names)}."
                )
            columns = [names.index(name) for name in card_names]
        if not is_data_frame(X):
            X = np.asarray(X, dtype=None if hasattr(X, "dtype") else object)
        if len(X.shape) != 2:
            raise ValueError(f"X must be a table of two dimensions. Got shape {X.shape}.")
        if not is_by_name and X.shape[1] != self.n_features:
            raise ValueError(
                f"X has {X.shape[1]} features, but the scorecard is expecting {self.n_features} "
                "features as input."
            )
        return [column_of(X, column)[:, 0] for column in columns], int(X.shape[0])


def _shortened(names: Sequence[str], limit: int = 20) -> str:
    """Return the first names of a list, and the number of others, for an error."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return f"{list(names[:limit])}{more}"
