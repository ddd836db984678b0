"""The variables of a scorecard as plain data, and their bins."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices, Values
from sklearn_rank._core.validation import is_missing

NOT_SEEN = " (not seen in training)"
"""End of the label of a bin that no training row was in."""


@dataclass(frozen=True)
class Bin:
    """A bin of a variable as a line of the card.

    Attributes
    ----------
    label : str
        How it reads.
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
        """Add what may be left out of the bin of categories that are not named."""
        if self.groups is None:
            return
        for field, last in (("points", self.points[-1:]), ("counts", (0.0,)), ("events", (0.0,))):
            values = getattr(self, field)
            if values and len(values) == self.n_bins - 1:
                object.__setattr__(self, field, (*values, *last))

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
        """The kind of values: "number", or of categories "str", "bool", "int" or "float"."""
        if self.groups is None:
            return "number"
        values = map(plain, chain(*self.groups, self.special))
        kinds = {type(value).__name__ for value in values} or {"str"}
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

    def bins(self, x: Values) -> Indices:
        """Return the bin of each value, numbers or categories; NaN and None are missing."""
        if self.groups is None:
            values = _as_floats(x, self.name)
            bins = np.searchsorted(np.array(self.thresholds, dtype=np.float64), values)
            for number, code in enumerate(self.special, start=self.n_values):
                bins[values == code] = number
            bins[np.isnan(values)] = self.missing
            return bins
        bin_of = {value: number for number, group in enumerate(self.groups) for value in group}
        bin_of |= {code: number for number, code in enumerate(self.special, start=self.n_values)}
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
                label + NOT_SEEN * (number in unseen),
                kind,
                **fields,
                points=int(self.points[number]),
                count=float(counts[number]),
                events=float(events[number]),
            )
            for number, (label, kind, fields) in enumerate(self._descriptions())
        ]

    def labels(self) -> list[str]:
        """Return how each bin reads on the card."""
        return [line.label for line in self.listed()]

    def unseen_bins(self) -> list[int]:
        """Return the bins of special codes, missing and other values that no training row has."""
        others = range(self.n_values, self.n_bins)
        return [number for number in others if self.counts and self.counts[number] == 0]

    def _descriptions(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Return the label, the kind and the values of each bin."""
        bins: list[tuple[str, str, dict[str, Any]]] = []
        if self.groups is None:
            labels = _range_labels(self.thresholds)
            if self.special and not self.thresholds:
                labels = ["any other value"]
            ends = [*self.thresholds, None]
            bins += [
                (label, "range", {"up_to": end}) for label, end in zip(labels, ends, strict=True)
            ]
        for group in self.groups or ():
            label = ", ".join(map(label_of, group))
            bins.append((label, "categories", {"values": tuple(map(plain, group))}))
        for code in self.special:
            bins.append((f"is {number_text(code)}", "special", {"values": (plain(code),)}))
        bins.append(("missing", "missing", {}))
        return bins if self.groups is None else [*bins, ("any other", "other", {})]


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
    ends = [number_text(threshold) for threshold in thresholds]
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
        values = np.array([np.nan if is_missing(value) else value for value in values], object)
    if values.dtype.kind in "mM":
        raise ValueError(
            f"The column {name!r} of X must hold numbers. Its dtype is {values.dtype}."
        )
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"The column {name!r} of X must hold numbers. {error}") from error
