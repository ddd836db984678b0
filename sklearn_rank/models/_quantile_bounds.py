"""Exact weighted quantiles of a feature whose rows are in several places.

Each place sorts its values and tells some of them, with the weight between them. Together they
bound the weight up to any value, and so enclose each quantile between two values. In a second
pass each place tells all its values between those. The points change the time that it takes and
never the result, which is that of `_binned_columns.find_bins` on all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sklearn_rank._protocols import Floats, Indices
from sklearn_rank.models._binning import quantile_levels
from sklearn_rank.models._cells import Bins


@dataclass(frozen=True, eq=False)
class Enclosures:
    """Where the quantiles of a feature are: in disjoint ranges ``(low, high]``, increasing.

    Attributes
    ----------
    low, high : ndarray of shape (n_ranges,)
        Ends of the ranges.
    largest : float
        Largest value of the feature.
    n_rows : float
        About the number of rows in the ranges.
    """

    low: Floats
    high: Floats
    largest: float
    n_rows: float

    @property
    def edges(self) -> Floats:
        """All ends in turn: those below a value are odd in number if it is in a range."""
        return np.stack([self.low, self.high], axis=1).ravel()


@dataclass(frozen=True, eq=False)
class WeightBounds:
    r"""Bounds of the weight :math:`W(t)` of the rows with values up to `t`, none missing.

    .. math:: \sum_{v_i \le t} l_i \le W(t) \le \sum_{v_i \le t} u_i

    Both sums add up over disjoint rows. Bounds that are not of all values hold in the ranges
    only that were asked for.

    Attributes
    ----------
    value : ndarray of shape (n_points,)
        The points v, increasing.
    lower, upper : ndarray of shape (n_points,)
        The weights l and u; one array where the bounds are equal.
    count : ndarray of shape (n_points,)
        Number of rows at each point, or between it and the one before; `lower` itself where
        all weights are equal.
    is_whole : bool
        Whether the bounds hold everywhere.
    """

    value: Floats
    lower: Floats
    upper: Floats
    count: Floats
    is_whole: bool

    @classmethod
    def of(cls, x: Floats, weight: Floats | None, n_points: int) -> WeightBounds:
        """Return the bounds of some rows, equal where they have at most `n_points` values.

        Parameters
        ----------
        x : ndarray of shape (n,)
            Values, increasing.
        weight : ndarray of shape (n,) or None
            Their weights; None when all are equal.
        n_points : int
            The most points.
        """
        is_last = np.ones(len(x), dtype=bool)
        np.not_equal(x[1:], x[:-1], out=is_last[:-1])
        is_exact = np.count_nonzero(is_last) <= n_points
        if is_exact:
            last = np.flatnonzero(is_last)
        else:
            value = x[np.arange(1, n_points + 1) * len(x) // n_points - 1]
            last = np.unique(np.searchsorted(x, value, side="right")) - 1
        count = np.diff(last, prepend=-1).astype(np.float64)
        mass = count
        if weight is not None and len(last):
            mass = np.add.reduceat(weight, np.append(0, last[:-1] + 1))
        value, lower = np.append(-np.inf, x[last]), np.append(0.0, mass)
        # What is between two points is above the first of them, perhaps at once.
        upper = lower if is_exact else np.append(mass, 0.0)
        return cls(value, lower, upper, lower if mass is count else np.append(0.0, count), True)

    @classmethod
    def inside(
        cls,
        x: Floats,
        weight: Floats | None,
        ranges: Enclosures,
        outside: tuple[Floats, Floats],
        n_points: int | None,
    ) -> WeightBounds:
        """Return the bounds in some ranges, equal where `n_points` is None.

        Parameters
        ----------
        x, weight, n_points
            As for `of`; only values in the ranges.
        ranges : Enclosures
            The ranges.
        outside : tuple of two ndarray of shape (n_ranges + 1,)
            Weight and number of the rows before each range, and after the last.
        """
        within = cls.of(x, weight, n_points or len(x))
        mass, count = outside
        ends = cls(np.append(ranges.low, ranges.largest), mass, mass, count, False)
        return replace(cls.merged([within, ends]), is_whole=False)

    @classmethod
    def merged(cls, parts: Sequence[WeightBounds], n_points: int | None = None) -> WeightBounds:
        """Return the bounds of the rows of all parts, with about `n_points` points."""
        value = np.concatenate([part.value for part in parts])
        order = np.argsort(value, kind="stable")
        value = value[order]
        first = np.flatnonzero(np.append(True, value[1:] != value[:-1]))

        def sums(name: str) -> Floats:
            numbers = np.concatenate([getattr(part, name) for part in parts])
            return np.asarray(np.add.reduceat(numbers[order], first))

        lower = sums("lower")
        upper = lower if all(part.is_exact for part in parts) else sums("upper")
        count = lower if all(part.count is part.lower for part in parts) else sums("count")
        both = cls(value[first], lower, upper, count, parts[0].is_whole)
        return both if n_points is None else both._thinned(n_points)

    def _thinned(self, n_points: int) -> WeightBounds:
        """Return weaker bounds with fewer points, about equally many rows between them."""
        if len(self.value) <= 2 * n_points:
            return self
        upto = np.cumsum(self.count)
        wanted = np.searchsorted(upto, np.linspace(0, upto[-1], n_points))
        kept = np.unique(np.concatenate([[0], wanted, [len(upto) - 1]]))
        before_next = np.append(kept[1:] - 1, kept[-1])

        def sums(numbers: Floats, last: Indices) -> Floats:
            return np.diff(np.cumsum(numbers)[last], prepend=0.0)

        lower, upper = sums(self.lower, kept), sums(self.upper, before_next)
        count = lower if self.count is self.lower else sums(self.count, kept)
        return WeightBounds(self.value[kept], lower, upper, count, self.is_whole)

    @property
    def is_exact(self) -> bool:
        """Whether the bounds are equal."""
        return np.array_equal(self.upper, self.lower)

    def enclosures(self, max_bins: int) -> Enclosures:
        """Return where the quantiles are."""
        low, high = self._ends(max_bins)
        is_new = np.append(True, low[1:] >= high[:-1])
        low, high = low[is_new], high[np.append(is_new[1:], True)]
        upto = np.cumsum(self.count)
        n_rows = float((upto[high] - upto[low]).sum())
        return Enclosures(self.value[low], self.value[high], float(self.value[-1]), n_rows)

    def _ends(self, max_bins: int) -> tuple[Indices, Indices]:
        """Return for each quantile the last point below it, and the first that is not."""
        most, least = np.cumsum(self.upper), np.cumsum(self.lower)
        target = quantile_levels(max_bins) * least[-1]
        return np.maximum(np.searchsorted(most, target) - 1, 0), np.searchsorted(least, target)

    def bins(self, max_bins: int, has_missing: bool) -> Bins:
        """Return the bins, once the bounds are equal."""
        if self.is_whole and len(self.value) <= max_bins + 1:
            thresholds = self.value[1:]
        else:
            quantiles = np.unique(self.value[self._ends(max_bins)[1]])
            largest = self.value[-1]
            thresholds = np.append(quantiles[quantiles < largest], largest)
        return Bins(thresholds if has_missing else thresholds[:-1], has_missing)
