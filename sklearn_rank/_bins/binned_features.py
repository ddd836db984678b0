"""The bins of features: thresholds, the bin of each value, and the merging of small bins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from sklearn_rank._bins.digitizer import Digitizer
from sklearn_rank._core.arrays import SMALL_BLOCK
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.sums import ALL_HERE, Sums, starts_run

__all__ = ["BinSizes", "BinnedFeatures", "Binning", "FeatureBins", "encode"]

_GATHERED = 1024
"""Rows gathered and transposed at a time: they stay in the cache."""

_MANY_VALUES = 4096
"""Values from which on the lookup table of `Digitizer` is worth building."""

SIZE_ROUNDING = 1e-9
"""How much less, relatively, sums of weights and shares of a size may be than they should."""

MOST_ROWS = 1 << 17
"""Distinct rows from which quantiles are found at most."""


def rows_for_thresholds(rows: Rows) -> tuple[Indices | slice, Floats]:
    r"""Return the rows that tell the quantiles of every feature, and the weights they stand for.

    These are all rows, or of more than 2^17 distinct rows the m = 2^17 with the smallest hashes,
    which are the same in any order and on several processes. The share of the weight up to a
    threshold is then off by an error whose standard deviation is at most about
    :math:`1 / (2 \sqrt m)`, .14 % of the weight, where weights are equal.
    """
    if rows.total(float(len(rows.weight))) <= MOST_ROWS:
        return slice(None), rows.weight
    return rows.sample(MOST_ROWS)


@dataclass(frozen=True, eq=False)
class SortedValues:
    """Values of one feature in order, none missing, with their weights.

    Attributes
    ----------
    values : ndarray of shape (n,)
        Increasing.
    weight : ndarray of shape (n,) or None
        Multiplicities in the same order; None when all are equal.
    """

    values: Floats
    weight: Floats | None

    @classmethod
    def of(cls, x: Floats, weight: Floats, sums: Sums = ALL_HERE) -> SortedValues:
        """Sort a feature of the rows of all processes, leaving missing values out."""
        x, weight = sums.concat(x), sums.concat(weight)
        missing = np.isnan(x)
        if missing.any():
            x, weight = x[~missing], weight[~missing]
        if np.all(weight == weight[:1]):
            return cls(np.sort(x), None)
        order = np.argsort(x)
        return cls(x[order], weight[order])

    @cached_property
    def distinct(self) -> Floats:
        """Distinct values, increasing."""
        return self.values[starts_run(self.values)]

    def thresholds(self, max_bins: int) -> Floats:
        """Return increasing thresholds t, for weak rankers ``1[x > t]``.

        Each is halfway between a value and the next distinct one, or the lower value where the
        middle rounds to the upper one. The lower values are all distinct ones but the largest when
        there are at most `max_bins`, else weighted quantiles by the inverted distribution
        function. A monotone map of a feature changes no score of these rows.
        """
        lower = self._quantiles(max_bins)
        upper = self.values[np.searchsorted(self.values, lower, side="right")]
        with np.errstate(invalid="ignore"):  # infinite in single precision: no middle
            middle = lower / 2 + upper / 2
        return np.where(middle < upper, middle, lower)

    def _quantiles(self, max_bins: int) -> Floats:
        """Return the values that thresholds follow."""
        if len(self.distinct) <= max_bins:
            return self.distinct[:-1]
        quantiles = np.unique(self.at(np.arange(1, max_bins) / max_bins))
        return quantiles[quantiles < self.values[-1]]

    def at(self, share: Floats) -> Floats:
        """Return the weighted quantiles of some shares."""
        # A hair lower: sums of weights round differently from counts, and in another order.
        share = share * (1 - 1e-12)
        if self.weight is None:
            place = np.ceil(share * len(self.values)).astype(np.intp) - 1
        else:
            cumulative = np.cumsum(self.weight)
            place = np.searchsorted(cumulative, share * cumulative[-1])
        return self.values[place]


@dataclass(frozen=True, eq=False)
class FeatureBins:
    """A map of the values of a feature to the numbers of its bins.

    Bins are numbered: first those of ordinary values, then one for each special code, last
    that of missing values. Ordinary values are ranges ``(-inf, t_1], (t_1, t_2], ...,
    (t_n, inf)`` or, of a categorical feature, groups of category codes.

    Attributes
    ----------
    thresholds : ndarray of shape (n_thresholds,)
        Increasing; empty for categories.
    special : ndarray of shape (n_special,)
        Values with a bin of their own, of no order.
    categories : ndarray of shape (n_categories,) or None
        The bin of each category code 0, 1, ...; None for numbers. Bins are 0, 1, ..., without
        gaps; -1 for a category that counts as missing, as do codes outside the range.
    ordered : bool
        Whether the bins of categories have an order: they are ranges of levels.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.models import FeatureBins
    >>> bins = FeatureBins(np.array([1.5, 3.0]), special=np.array([-99.0]))
    >>> bins.n_bins
    5
    >>> bins(np.array([1.0, 3.0, 9.0, -99.0, np.nan]))
    array([0, 1, 2, 3, 4])
    """

    thresholds: Floats = field(default_factory=lambda: np.zeros(0))
    special: Floats = field(default_factory=lambda: np.zeros(0))
    categories: Indices | None = None
    ordered: bool = False

    @property
    def has_order(self) -> bool:
        """Whether the bins of ordinary values are ranges: of numbers, or of ordered levels."""
        return self.categories is None or self.ordered

    @property
    def n_values(self) -> int:
        """Number of bins of ordinary values."""
        if self.categories is None:
            return len(self.thresholds) + 1
        return int(self.categories.max(initial=-1)) + 1

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return self.n_values + len(self.special) + 1

    @property
    def missing(self) -> int:
        """The bin of missing values."""
        return self.n_bins - 1

    def __call__(self, x: Floats) -> Indices:
        """Return the bin of each value."""
        return self.encode(x).astype(np.intp)

    def of_rows(self, X: Floats, feature: int) -> Indices:
        """Return the bin of each row of X, by its value of a feature."""
        return self.encode(X[:, feature])

    def encode(self, x: Floats) -> Indices:
        """Return the bin of each value, as integers of few bits where there are many values."""
        if self.categories is not None:
            bins = self._categories_of(x)
        elif len(x) < _MANY_VALUES:
            bins = np.searchsorted(self.thresholds, x)
        else:
            bins = self._digitizer(x)
        for number, code in enumerate(self.special):
            bins[x == code] = self.n_values + number
        if len(x) and np.isnan(x.min()):  # one pass, and no mask where nothing is missing
            bins[np.isnan(x)] = self.missing
        return bins

    @cached_property
    def _digitizer(self) -> Digitizer:
        return Digitizer(self.thresholds, self.n_bins)

    def _categories_of(self, x: Floats) -> Indices:
        assert self.categories is not None
        known = np.append(
            np.where(self.categories < 0, self.missing, self.categories), self.missing
        )
        code = np.nan_to_num(x, nan=-1.0, posinf=-1.0, neginf=-1.0).astype(np.intp)
        is_known = (code == x) & (code >= 0) & (code < len(self.categories))
        return known[np.where(is_known, code, -1)]

    def equal(self, other: object) -> bool:
        """Whether two maps are equal."""
        names = ("thresholds", "special", "categories", "ordered")  # None equals None alone
        return isinstance(other, FeatureBins) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in names
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields."""
        return {name: value for name, value in vars(self).items() if name != "_digitizer"}


@dataclass(frozen=True, eq=False)
class Binning:
    """How the values of features become bins.

    Attributes
    ----------
    max_bins : int
        Maximum number of bins of the values of a feature.
    thresholds : dict of int to ndarray
        Those of some features; the others get quantiles.
    special : dict of int to ndarray
        Special codes of some features, increasing.
    n_categories : dict of int to int
        Number of codes of each categorical feature.
    category_bins : dict of int to FeatureBins
        First bins of categorical features in an order, or in groups; others have one for each code.
    """

    max_bins: int
    thresholds: Mapping[int, Floats] = field(default_factory=dict)
    special: Mapping[int, Floats] = field(default_factory=dict)
    n_categories: Mapping[int, int] = field(default_factory=dict)
    category_bins: Mapping[int, FeatureBins] = field(default_factory=dict)

    def find(self, rows: Rows, threads: ThreadPool | None = None) -> list[FeatureBins]:
        """Return the bins of each feature, given the rows of this process."""
        chosen, weight = rows_for_thresholds(rows)
        return self.of_sample(rows.X[chosen], weight, threads, rows)

    def of_sample(
        self, X: Floats, weight: Floats, threads: ThreadPool | None = None, sums: Sums = ALL_HERE
    ) -> list[FeatureBins]:
        """Return the bins of each feature, given the rows that tell the quantiles."""
        lines = np.ascontiguousarray(X.T)

        def find(j: int) -> FeatureBins:
            if j in self.category_bins:
                return self.category_bins[j]
            if j in self.n_categories:
                return FeatureBins(categories=np.arange(self.n_categories[j]))
            special = self.special.get(j, np.zeros(0))
            if j in self.thresholds:
                return FeatureBins(self.thresholds[j], special)
            x = lines[j]
            if len(special):
                x = np.where(np.isin(x, special), np.nan, x)
            values = SortedValues.of(x, weight, sums)
            return FeatureBins(values.thresholds(self.max_bins), special)

        if threads is None or sums.collective is not None:  # messages come in one order
            return [find(j) for j in range(len(lines))]
        return threads.map(find, len(lines))


def encode(X: Floats, order: Indices, bins: Sequence[FeatureBins], threads: ThreadPool) -> Indices:
    """Return the bin of each value of ``X[order]``, one line for each feature."""
    largest = max(one.n_bins for one in bins)
    codes = np.empty((len(bins), len(order)), dtype=np.min_scalar_type(largest))

    def find(number: int) -> None:
        chunk = slice(number * SMALL_BLOCK, (number + 1) * SMALL_BLOCK)
        rows = order[chunk]
        lines = np.empty((len(bins), len(rows)), dtype=X.dtype)
        for start in range(0, len(rows), _GATHERED):
            some = slice(start, start + _GATHERED)
            lines[:, some] = X[rows[some]].T
        for one, x, code in zip(bins, lines, codes[:, chunk], strict=True):
            code[:] = one.encode(x)

    threads.map(find, -(-len(order) // SMALL_BLOCK))
    return codes


@dataclass(frozen=True, eq=False)
class BinSizes:
    """The least that a bin must weigh.

    Attributes
    ----------
    weight : ndarray of shape (n_rows,)
        Weight of each row.
    events : ndarray of shape (n_rows,)
        Weight of each row of the upper class.
    least_weight, least_events : float
        The least that a bin must have of each; 0 for any.
    rows : Sums
        Sums over all rows, if they are not all here.
    least_level : float
        The least that a category must weigh; where bins have a smallest weight, for each category
        of its feature. Where they have none, missing values and all rare levels need it too.
    """

    weight: Floats
    events: Floats
    least_weight: float = 0.0
    least_events: float = 0.0
    rows: Sums = ALL_HERE
    least_level: float = 0.0

    @property
    def are_any(self) -> bool:
        """Whether bins may be of any size."""
        return self.least_weight == 0 and self.least_events == 0

    def by_bin(self, codes: Indices, n_bins: int) -> Floats:
        """Return weight and events of each bin, shape (n_features, 2, n_bins)."""
        sums = np.zeros((len(codes), 2, n_bins))
        for line, code in zip(sums, codes, strict=True):
            line[0] = np.bincount(code, self.weight, n_bins)
            if self.least_events > 0:
                line[1] = np.bincount(code, self.events, n_bins)
        return np.asarray(self.rows.total(sums))

    def are_enough(self, sums: Floats) -> Any:
        """Return which bins weigh enough, of sums of shape (2, ...)."""
        return (sums[0] >= self.least_weight) & (sums[1] >= self.least_events)

    def are_taught(self, weight: Any) -> Any:
        """Return whether missing values, or all rare levels, of a weight are enough for a bin."""
        return (weight > 0) & ((self.least_weight > 0) | (weight >= self.least_level))

    def merge(self, bins: FeatureBins, sums: Floats) -> tuple[FeatureBins, Indices]:
        """Return the bins after merging, and the new number of each bin."""
        sums = sums[:, : bins.n_values]
        group = self._neighbours(sums) if bins.has_order else self._categories(sums)
        if bins.categories is None:
            last = np.flatnonzero(np.diff(group))  # bins with a threshold above them
            merged = FeatureBins(bins.thresholds[last], bins.special)
        else:
            merged = replace(bins, categories=np.append(group, -1)[bins.categories])
            group = np.where(group < 0, merged.missing, group)
        others = merged.n_values + np.arange(bins.n_bins - bins.n_values)
        return merged, np.concatenate([group, others])

    def _neighbours(self, sums: Floats) -> Indices:
        """Return the number of the bin of each bin of values, merged from below.

        A bin ends where it weighs enough; what is left over above belongs to the last one.
        """
        if self.are_any:
            return np.arange(sums.shape[1])
        group = np.zeros(sums.shape[1], dtype=np.intp)
        so_far, number = np.zeros(2), 0
        for place, one in enumerate(sums.T):
            group[place] = number
            so_far = so_far + one
            if self.are_enough(so_far):
                so_far, number = np.zeros(2), number + 1
        return np.minimum(group, max(0, number - 1))

    def _categories(self, sums: Floats) -> Indices:
        """Return the bin of each category: of its own, that of all rare ones, or -1.

        The best set of many categories that tell nothing fits their noise.
        """
        seen = sums[0] > 0
        least = self.least_level * (np.count_nonzero(seen) if self.least_weight > 0 else 1)
        is_large = self.are_enough(sums) & (sums[0] >= least) & seen
        group = np.where(is_large, np.cumsum(is_large) - 1, -1)
        rare = seen & ~is_large
        pooled = sums[:, rare].sum(axis=1)
        if rare.any() and self.are_enough(pooled) and self.are_taught(pooled[0]):
            group[rare] = np.count_nonzero(is_large)
        return group


@dataclass(frozen=True, eq=False)
class BinnedFeatures:
    """The bins of all features, and those of the training rows.

    Attributes
    ----------
    bins : list of FeatureBins
        The bins of each feature.
    codes : ndarray of shape (n_features, n_rows)
        The bin of each value, in fit order.
    is_usable : ndarray of shape (n_features, n_bins)
        The bins that are large enough, padded to one number of bins; that of missing values only
        if it holds some, in enough rows.
    """

    bins: list[FeatureBins]
    codes: Indices
    is_usable: Mask

    @classmethod
    def of(cls, bins: list[FeatureBins], codes: Indices, sizes: BinSizes) -> BinnedFeatures:
        """Merge bins that are too small; `codes` are those of the rows before."""
        most = max(one.n_bins for one in bins)
        sums = sizes.by_bin(codes, most)
        # Rare levels that count as missing do not tell what missing values do.
        is_taught = [sizes.are_taught(sums[j, 0, one.missing]) for j, one in enumerate(bins)]
        if not sizes.are_any or any(one.categories is not None for one in bins):
            merged = [sizes.merge(one, line) for one, line in zip(bins, sums, strict=True)]
            former, sums = sums, np.zeros_like(sums)
            for j, (_, number) in enumerate(merged):
                codes[j] = number.astype(codes.dtype).take(codes[j])
                for side in range(2):
                    sums[j, side] = np.bincount(number, former[j, side, : len(number)], most)
            bins = [one for one, _ in merged]
        # Where no value is missing, that bin needs no place in the tables of sums.
        depth = max(one.n_bins - (sums[j, 0, one.missing] == 0) for j, one in enumerate(bins))
        is_usable = np.zeros((len(bins), depth), dtype=bool)
        for j, one in enumerate(bins):
            enough = sizes.are_enough(sums[j]) & (sums[j, 0] > 0)
            enough[one.missing] &= is_taught[j]
            is_usable[j, : one.n_bins] = enough[: min(one.n_bins, depth)]
            is_usable[j, : one.n_values] = True
        return cls(bins, codes, is_usable)
