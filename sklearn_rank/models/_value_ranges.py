"""Exact weighted quantiles of a feature whose rows are in several places.

The values are counted in ranges, which add up over the places; only the ranges that hold a
quantile are divided further, until each of them is a single value. The ranges change the time
that it takes and never the result, which is that of `_binned_columns.find_bins` on all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sklearn_rank._protocols import Floats, Indices, Mask
from sklearn_rank.models._binning import Digitizer, quantile_levels
from sklearn_rank.models._cells import MISSING_CELL, Bins, CellGrid

_PARTS = 256
"""Most parts into which a range is divided at once."""

_MOST_PARTS = 1 << 14
"""About the most parts of all ranges of a feature together."""


@dataclass(frozen=True, eq=False)
class Ranges:
    """Values of a feature, none missing, in disjoint ranges, increasing.

    Attributes
    ----------
    key : ndarray of shape (n_ranges,)
        Numbers, increasing, by which ranges from different rows are recognised as one.
    low, high : ndarray of shape (n_ranges,)
        Smallest and largest value in each range.
    mass : ndarray of shape (n_ranges,)
        Weight of its rows; their number where all weights are equal.
    count : ndarray of shape (n_ranges,)
        Number of its rows.
    """

    key: Floats
    low: Floats
    high: Floats
    mass: Floats
    count: Floats

    @classmethod
    def of(cls, number: Indices, n_ranges: int, x: Floats, weight: Floats | None) -> Ranges:
        """Count rows by the number of the range that each of them is in."""
        count = np.bincount(number, minlength=n_ranges).astype(np.float64)
        mass = _masses(number, n_ranges, weight, count)
        low, high = np.full(n_ranges, np.inf), np.full(n_ranges, -np.inf)
        np.minimum.at(low, number, x)
        np.maximum.at(high, number, x)
        some = np.flatnonzero(count)
        return cls(some.astype(np.float64), low[some], high[some], mass[some], count[some])

    @classmethod
    def in_cells(cls, grid: CellGrid, x: Floats, weight: Floats | None) -> Ranges:
        """Count the values in the cells of a grid."""
        return cls.of(grid(x), MISSING_CELL, x, weight)

    @classmethod
    def single(cls, x: Floats, weight: Floats | None) -> Ranges:
        """Count each distinct value."""
        values, number = np.unique(x, return_inverse=True)
        count = np.bincount(number, minlength=len(values)).astype(np.float64)
        mass = _masses(number, len(values), weight, count)
        return cls(values, values, values, mass, count)

    @classmethod
    def merged(cls, parts: Sequence[Ranges]) -> Ranges:
        """Return the same ranges with the rows of all parts."""
        key = np.concatenate([part.key for part in parts])
        order = np.argsort(key, kind="stable")
        key = key[order]
        first = np.flatnonzero(np.diff(key, prepend=np.nan) != 0)
        if not len(first):
            return parts[0]

        def joined(ufunc: np.ufunc, name: str) -> Floats:
            values = np.concatenate([getattr(part, name) for part in parts])
            return np.asarray(ufunc.reduceat(values[order], first))

        low, high = joined(np.minimum, "low"), joined(np.maximum, "high")
        return cls(key[first], low, high, joined(np.add, "mass"), joined(np.add, "count"))

    @property
    def is_mixed(self) -> Mask:
        """Whether a range has several values."""
        return self.low < self.high

    def take(self, some: Indices | Mask) -> Ranges:
        """Return some of the ranges."""
        names = ("key", "low", "high", "mass", "count")
        return Ranges(*(getattr(self, name)[some] for name in names))

    def unresolved(self, max_bins: int) -> Mask:
        """Return which ranges must be divided before `bins` knows the thresholds."""
        mixed = self.is_mixed
        if self._may_be_few(max_bins):
            return mixed
        with_quantile = np.zeros(len(mixed), dtype=bool)
        with_quantile[self._places(max_bins)] = True
        return mixed & with_quantile

    def replaced(self, divided: Mask, parts: Ranges) -> Ranges:
        """Return the ranges with the parts of some in place of those."""
        rest = self.take(~divided)
        names = ("low", "high", "mass", "count")
        low, high, mass, count = (
            np.concatenate([getattr(rest, name), getattr(parts, name)]) for name in names
        )
        order = np.argsort(low)
        key = np.arange(len(low), dtype=np.float64)
        return Ranges(key, low[order], high[order], mass[order], count[order])

    def bins(self, max_bins: int, has_missing: bool) -> Bins:
        """Return the bins, once no range that matters has several values."""
        if self._may_be_few(max_bins):  # then all distinct values are known
            thresholds = self.low
        else:
            quantiles, largest = np.unique(self.low[self._places(max_bins)]), self.high[-1]
            thresholds = np.append(quantiles[quantiles < largest], largest)
        return Bins(thresholds if has_missing else thresholds[:-1], has_missing)

    def _may_be_few(self, max_bins: int) -> bool:
        """Whether the distinct values, of a mixed range at least two, may be so few."""
        return bool(len(self.low) + self.is_mixed.sum() <= max_bins)

    def _places(self, max_bins: int) -> Indices:
        """Return the ranges that hold the quantiles."""
        upto = np.cumsum(self.mass)
        return np.searchsorted(upto, quantile_levels(max_bins) * upto[-1])


@dataclass(frozen=True, eq=False)
class Division:
    """How ranges of a feature are divided: each by itself into parts with equally many floats.

    Attributes
    ----------
    low, high : ndarray of shape (n_ranges,)
        Ends of the ranges, increasing; both belong to them.
    is_last : bool
        Whether the parts are single values.
    """

    low: Floats
    high: Floats
    is_last: bool

    def __call__(self, x: Floats, weight: Floats | None) -> Ranges:
        """Count the values in the parts; those in none of the ranges are left out."""
        number = Digitizer(self.high)(x, len(self.high))
        inside = np.flatnonzero(x >= np.append(self.low, np.inf).take(number))
        x, number = x[inside], number[inside].astype(np.intp)
        weight = None if weight is None else weight[inside]
        if self.is_last:
            return Ranges.single(x, weight)
        n_parts = min(_PARTS, max(2, _MOST_PARTS // max(1, len(self.low))))
        place = number * n_parts + self._part(x, number, n_parts)
        return Ranges.of(place, len(self.low) * n_parts, x, weight)

    def _part(self, x: Floats, number: Indices, n_parts: int) -> Indices:
        """Return the part of its range that each value is in, increasing with the value.

        The smallest value of a range is in the first part and the largest in another one.
        """
        low, high = _ordered_bits(self.low), _ordered_bits(self.high)
        width = (high - low) // np.uint64(n_parts) + np.uint64(1)
        return ((_ordered_bits(x) - low[number]) // width[number]).astype(np.intp)


def _masses(number: Indices, n_ranges: int, weight: Floats | None, count: Floats) -> Floats:
    """Return the weight in each range, or the number of rows."""
    return count if weight is None else np.bincount(number, weight, n_ranges).astype(np.float64)


def _ordered_bits(x: Floats) -> Indices:
    """Return integers in the order of the floats, as dense as these are."""
    bits = (x + 0.0).view(np.uint64)  # the two zeros are one value
    is_negative = bits >> np.uint64(63) == 1
    return np.where(is_negative, ~bits, bits | np.uint64(1 << 63))
