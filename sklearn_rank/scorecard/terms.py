"""The terms of a scorecard as plain data: variables, pairs of variables, and their bins."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices, Values
from sklearn_rank._core.validation import is_missing

NOT_SEEN = " (not seen in training)"
"""End of the label of a bin that no training row was in."""

TIMES = "\u00d7"
"""The sign between the names of a pair."""


@dataclass(frozen=True)
class Bin:
    """A bin of a variable, or a cell of a pair, as a line of the card.

    Attributes
    ----------
    label : str
        How it reads.
    points : int
        Points that it adds to the total.
    count, events : float
        Weight of the training rows in it, and of those in ``classes[1]``; NaN if unknown.
    kind : str
        "range", "categories", "special", "missing" or "other" (any other category); "cell" of a
        pair; "intercept" for all rows.
    above, up_to : float or None
        Bounds of a range; None for infinity.
    values : tuple
        The categories or the special code.
    parts : tuple of Bin
        Of a cell: its bin of each variable, without points; else empty.
    is_refused : bool
        Whether rows in it are not scored.
    """

    label: str
    points: int
    count: float
    events: float
    kind: str
    above: float | None = None
    up_to: float | None = None
    values: tuple[Any, ...] = ()
    parts: tuple[Bin, ...] = ()
    is_refused: bool = False

    @property
    def event_rate(self) -> float:
        """Share of ``classes[1]`` among the training rows; NaN if unknown."""
        return self.events / self.count if self.count else math.nan


def _place(label: str, kind: str, **fields: Any) -> Bin:
    """Return a bin without points and counts."""
    return Bin(label, 0, math.nan, math.nan, kind, **fields)


class _Binned:
    """What has the bins of one feature.

    Bins are numbered: first those of ordinary values, then one for each special code, then that
    of missing values; of categories the last one is that of any category that is not named.
    """

    name: str
    column: int
    thresholds: tuple[float, ...]
    special: tuple[float, ...]
    groups: tuple[tuple[Any, ...], ...] | None

    @property
    def n_values(self) -> int:
        """Number of bins of ordinary values."""
        return len(self.thresholds) + 1 if self.groups is None else len(self.groups)

    @property
    def missing(self) -> int:
        """The bin of missing values."""
        return self.n_values + len(self.special)

    @property
    def other(self) -> int | None:
        """The bin of categories that are not named; None for numbers."""
        return None if self.groups is None else self.missing + 1

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return self.missing + (1 if self.groups is None else 2)

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

    def places(self) -> list[Bin]:
        """Return the bins in their order, without points and counts."""
        if self.groups is None:
            labels = _range_labels(self.thresholds)
            if self.special and not self.thresholds:
                labels = ["any other value"]
            ends = pairwise([None, *self.thresholds, None])
            found = [
                _place(label, "range", above=low, up_to=high)
                for label, (low, high) in zip(labels, ends, strict=True)
            ]
        else:
            found = [
                _place(
                    ", ".join(map(label_of, group)), "categories", values=tuple(map(plain, group))
                )
                for group in self.groups
            ]
        for code in self.special:
            found.append(_place(f"is {number_text(code)}", "special", values=(plain(code),)))
        found.append(_place("missing", "missing"))
        if self.groups is not None:
            found.append(_place("any other", "other"))
        return found

    def cases(self) -> tuple[list[tuple[str, tuple[Any, ...], int]], int]:
        """Return cases in their order, each with its bin, and the bin of all other values.

        A case is "=" with several values or "<=" with one. Missing values, which come first, are
        none.
        """
        bins = list(enumerate(self.places()))
        ranges = [(number, one) for number, one in bins if one.kind == "range"]
        cases = [("=", one.values, number) for number, one in bins if one.values]
        cases += [("<=", (one.up_to,), number) for number, one in ranges[:-1]]
        return cases, (ranges or bins)[-1][0]

    def bins(self, x: Values) -> Indices:
        """Return the bin of each value, numbers or categories; NaN and None are missing."""
        if self.groups is not None:
            return self._bins_of_categories(x)
        values = _as_floats(x, self.name)
        bins = np.searchsorted(np.array(self.thresholds, dtype=np.float64), values)
        for number, code in enumerate(self.special):
            bins[values == code] = self.n_values + number
        bins[np.isnan(values)] = self.missing
        return bins

    def _bins_of_categories(self, x: Values) -> Indices:
        assert self.groups is not None
        bin_of = {one: number for number, group in enumerate(self.groups) for one in group}
        for number, code in enumerate(self.special):
            bin_of[code] = self.n_values + number
        missing, other = self.missing, self.missing + 1
        values = np.asarray(x).tolist()
        found = (
            bin_of[one] if one in bin_of else missing if is_missing(one) else other
            for one in values
        )
        return np.fromiter(found, np.intp, len(values))


@dataclass(frozen=True, eq=False)
class Axis(_Binned):
    """The bins of one variable of a pair.

    Attributes
    ----------
    name : str
        Name of the feature.
    column : int
        Its position in X.
    thresholds, special, groups : tuple
        As of `Variable`.

    Examples
    --------
    >>> from sklearn_rank.scorecard import Axis
    >>> [one.label for one in Axis("age", 0, (29.5,)).places()]
    ['<= 29.5', '> 29.5', 'missing']
    """

    name: str
    column: int
    thresholds: tuple[float, ...] = ()
    special: tuple[float, ...] = ()
    groups: tuple[tuple[Any, ...], ...] | None = None


class Term(ABC):
    """What adds points to a total: a variable or a pair."""

    points: tuple[int, ...]
    counts: tuple[float, ...]
    events: tuple[float, ...]

    @property
    @abstractmethod
    def axes(self) -> tuple[_Binned, ...]:
        """The bins of each feature of the term."""

    @property
    def columns(self) -> tuple[int, ...]:
        """The positions in X of its features."""
        return tuple(one.column for one in self.axes)

    def listed(self) -> list[Bin]:
        """Return the bins in their order."""
        places = self._places()
        unknown = (math.nan,) * len(places)
        counts, events = self.counts or unknown, self.events or unknown
        unseen = set(self.unseen_bins())
        return [
            replace(
                place,
                label=place.label + (NOT_SEEN if number in unseen else ""),
                points=int(self.points[number]) if self.points else 0,
                count=float(counts[number]),
                events=float(events[number]),
            )
            for number, place in enumerate(places)
        ]

    def labels(self) -> list[str]:
        """Return how each bin reads on the card."""
        return [one.label for one in self.listed()]

    def line_labels(self) -> tuple[list[str], list[str]] | None:
        """Return how the rows and the columns of a grid read; None for a variable."""
        return None

    @abstractmethod
    def unseen_bins(self) -> list[int]:
        """Return the bins of values that no training row has.

        They are those of a special code, a missing value or a category that is not named whose
        count is known and zero; of a pair, the cells of such values.
        """

    @abstractmethod
    def _places(self) -> list[Bin]:
        """Return the bins without points and counts."""


@dataclass(frozen=True, eq=False)
class Variable(_Binned, Term):
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
        """Add what may be left out of the bin of categories that are not named."""
        if self.groups is None:
            return
        for field, last in (("points", self.points[-1:]), ("counts", (0.0,)), ("events", (0.0,))):
            given = getattr(self, field)
            if given and len(given) == self.n_bins - 1:
                object.__setattr__(self, field, (*given, *last))

    @property
    def axes(self) -> tuple[_Binned, ...]:
        """The variable itself."""
        return (self,)

    def unseen_bins(self) -> list[int]:
        """Return the bins of special codes, missing and other values that no training row has."""
        others = range(self.n_values, self.n_bins)
        return [one for one in others if self.counts and self.counts[one] == 0]

    def _places(self) -> list[Bin]:
        return self.places()


@dataclass(frozen=True, eq=False)
class Pair(Term):
    """Two features on the card as one term: a grid of their bins.

    Attributes
    ----------
    first, second : Axis
        The bins of each feature: those of the first are the rows of the grid.
    points : tuple of int
        Points of each cell, row by row: that of the bins i and j is
        ``points[i * second.n_bins + j]``.
    counts, events : tuple of float
        Weight of the training rows in each cell, and of those in ``classes[1]``; empty if unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.scorecard import Axis, Pair
    >>> age, debt = Axis("age", 0, (29.5,)), Axis("debt", 1, (1000.0,))
    >>> pair = Pair(age, debt, points=(0, -2, 0, 3, 1, 0, 0, 0, 0))
    >>> pair.name, pair.grid[1]
    ('age × debt', (3, 1, 0))
    >>> pair.bins(np.array([20.0, 40.0]), np.array([5000.0, 0.0]))
    array([1, 3])
    """

    first: Axis
    second: Axis
    points: tuple[int, ...]
    counts: tuple[float, ...] = ()
    events: tuple[float, ...] = ()

    @property
    def name(self) -> str:
        """Both names."""
        return f"{self.first.name} {TIMES} {self.second.name}"

    @property
    def axes(self) -> tuple[_Binned, ...]:
        """Both axes."""
        return (self.first, self.second)

    @property
    def n_bins(self) -> int:
        """Number of cells."""
        return self.first.n_bins * self.second.n_bins

    @property
    def grid(self) -> tuple[tuple[int, ...], ...]:
        """The points of each row of cells."""
        width = self.second.n_bins
        starts = range(0, self.n_bins, width)
        return tuple(tuple(self.points[start : start + width]) for start in starts)

    def line_labels(self) -> tuple[list[str], list[str]]:
        """Return how the rows and the columns of the grid read."""
        is_unseen = np.isin(np.arange(self.n_bins), self.unseen_bins())
        cells = is_unseen.reshape(self.first.n_bins, self.second.n_bins)
        rows, columns = (
            [
                place.label + (NOT_SEEN if line.all() else "")
                for place, line in zip(axis.places(), lines, strict=True)
            ]
            for axis, lines in ((self.first, cells), (self.second, cells.T))
        )
        return rows, columns

    def bins(self, x: Values, z: Values) -> Indices:
        """Return the cell of each row, given the values of both features."""
        return np.asarray(self.first.bins(x) * self.second.n_bins + self.second.bins(z))

    def unseen_bins(self) -> list[int]:
        """Return the cells of values that no training row has."""
        if not self.counts:
            return []
        counts = np.reshape(self.counts, (self.first.n_bins, self.second.n_bins))
        is_unseen = np.zeros(counts.shape, dtype=bool)
        for axis, one in enumerate(self.axes):
            lines = np.moveaxis(is_unseen, axis, 0)
            empty = counts.sum(axis=1 - axis) == 0
            lines[np.flatnonzero(empty & (np.arange(one.n_bins) >= one.n_values))] = True
        return [int(cell) for cell in np.flatnonzero(is_unseen)]

    def _places(self) -> list[Bin]:
        return [
            _place(
                f"{self.first.name}: {row.label}; {self.second.name}: {column.label}",
                "cell",
                parts=(row, column),
            )
            for row in self.first.places()
            for column in self.second.places()
        ]


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
    is_taken = category in ("missing", "any other") or category.endswith(NOT_SEEN)
    is_clear = is_plain and not is_taken and not set(category) & set(',"')
    return category if is_clear else json.dumps(category)


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
