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
"""Values of a feature for which the lookup table of `Digitizer` is worth building."""

MOST_ROWS = 1 << 17
"""Most distinct rows for quantiles."""


def rows_for_thresholds(rows: Rows) -> tuple[Indices | slice, Floats]:
    r"""Return the rows whose quantiles become thresholds, with weights that represent all rows.

    These are all rows, or of more than 2^17 distinct rows the m = 2^17 with the smallest hashes,
    which are the same in any order and on several processes. For equal weights the share of the
    weight up to a threshold then has a standard error of at most about :math:`1 / (2 \sqrt m)`,
    .14 % of the weight.
    """
    if rows.total(float(len(rows.weight))) <= MOST_ROWS:
        return slice(None), rows.weight
    return rows.sample(MOST_ROWS)


@dataclass(frozen=True, eq=False)
class SortedValues:
    """Sorted values of one feature, none missing, with their weights.

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
    def of(cls, x: Floats, weight: Floats, rows: Sums = ALL_HERE) -> SortedValues:
        """Sort a feature of the rows of all processes, leaving missing values out."""
        x, weight = rows.concat(x), rows.concat(weight)
        is_nan = np.isnan(x)
        if is_nan.any():
            x, weight = x[~is_nan], weight[~is_nan]
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
        lower_values = self._quantiles(max_bins)
        next_values = self.values[np.searchsorted(self.values, lower_values, side="right")]
        with np.errstate(invalid="ignore"):  # infinite in single precision: no middle
            midpoint = lower_values / 2 + next_values / 2
        return np.where(midpoint < next_values, midpoint, lower_values)

    def _quantiles(self, max_bins: int) -> Floats:
        """Return the values below the thresholds."""
        if len(self.distinct) <= max_bins:
            return self.distinct[:-1]
        quantiles = np.unique(self.at(np.arange(1, max_bins) / max_bins))
        return quantiles[quantiles < self.values[-1]]

    def at(self, share: Floats) -> Floats:
        """Return the weighted quantiles of some shares."""
        # A hair lower, so that rounding of the sums can't skip a value: weights and counts then
        # have the same quantiles, in any order of the rows.
        share = share * (1 - 1e-12)
        if self.weight is None:
            index = np.ceil(share * len(self.values)).astype(np.intp) - 1
        else:
            cumulative = np.cumsum(self.weight)
            index = np.searchsorted(cumulative, share * cumulative[-1])
        return self.values[index]


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
        Codes with a bin of their own, without an order.
    categories : ndarray of shape (n_categories,) or None
        The bin of each category code 0, 1, ...; None for numbers. Bins are 0, 1, ..., without
        gaps; -1 for a category that counts as missing, as do codes outside the range.
    ordered : bool
        Whether the bins of categories are ranges of ordered levels.

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
        for index, code in enumerate(self.special):
            bins[x == code] = self.n_values + index
        if len(x) and np.isnan(x.min()):  # one pass, and no mask where nothing is missing
            bins[np.isnan(x)] = self.missing
        return bins

    @cached_property
    def _digitizer(self) -> Digitizer:
        return Digitizer(self.thresholds, self.n_bins)

    def _categories_of(self, x: Floats) -> Indices:
        assert self.categories is not None
        bins = np.append(self.categories, -1)  # the last for values that are no code
        bins = np.where(bins < 0, self.missing, bins)
        code = np.nan_to_num(x, nan=-1.0, posinf=-1.0, neginf=-1.0).astype(np.intp)
        is_code = (code == x) & (code >= 0) & (code < len(self.categories))
        return bins[np.where(is_code, code, -1)]

    def equal(self, other: object) -> bool:
        """Whether two maps are equal."""
        names = ("thresholds", "special", "categories", "ordered")
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
        Thresholds of some features; the others get quantiles.
    special : dict of int to ndarray
        Special codes of some features, increasing.
    n_categories : dict of int to int
        Number of codes of each categorical feature.
    category_bins : dict of int to FeatureBins
        First bins of categorical features in an order or in groups; the others have a bin for each
        code.
    """

    max_bins: int
    thresholds: Mapping[int, Floats] = field(default_factory=dict)
    special: Mapping[int, Floats] = field(default_factory=dict)
    n_categories: Mapping[int, int] = field(default_factory=dict)
    category_bins: Mapping[int, FeatureBins] = field(default_factory=dict)

    def find(self, rows: Rows, threads: ThreadPool | None = None) -> list[FeatureBins]:
        """Return the bins of each feature, given the rows of this process."""
        sample, weight = rows_for_thresholds(rows)
        return self.of_sample(rows.X[sample], weight, threads, rows)

    def of_sample(
        self, X: Floats, weight: Floats, threads: ThreadPool | None = None, rows: Sums = ALL_HERE
    ) -> list[FeatureBins]:
        """Return the bins of each feature, given the rows for quantiles."""
        columns = np.ascontiguousarray(X.T)

        def find(j: int) -> FeatureBins:
            if j in self.category_bins:
                return self.category_bins[j]
            if j in self.n_categories:
                return FeatureBins(categories=np.arange(self.n_categories[j]))
            special = self.special.get(j, np.zeros(0))
            if j in self.thresholds:
                return FeatureBins(self.thresholds[j], special)
            x = columns[j]
            if len(special):
                x = np.where(np.isin(x, special), np.nan, x)
            values = SortedValues.of(x, weight, rows)
            return FeatureBins(values.thresholds(self.max_bins), special)

        if threads is None or rows.collective is not None:  # messages come in one order
            return [find(j) for j in range(len(columns))]
        return threads.map(find, len(columns))


def encode(X: Floats, order: Indices, bins: Sequence[FeatureBins], threads: ThreadPool) -> Indices:
    """Return the bin of each value of ``X[order]``, shape (n_features, n_rows)."""
    most_bins = max(feature.n_bins for feature in bins)
    codes = np.empty((len(bins), len(order)), dtype=np.min_scalar_type(most_bins))

    def fill(block: int) -> None:
        chunk = slice(block * SMALL_BLOCK, (block + 1) * SMALL_BLOCK)
        rows = order[chunk]
        columns = np.empty((len(bins), len(rows)), dtype=X.dtype)
        for start in range(0, len(rows), _GATHERED):
            batch = slice(start, start + _GATHERED)
            columns[:, batch] = X[rows[batch]].T
        for feature, x, code in zip(bins, columns, codes[:, chunk], strict=True):
            code[:] = feature.encode(x)

    threads.map(fill, -(-len(order) // SMALL_BLOCK))
    return codes


@dataclass(frozen=True, eq=False)
class BinSizes:
    """The minimum weight of a bin.

    Attributes
    ----------
    weight : ndarray of shape (n_rows,)
        Weight of each row.
    events : ndarray of shape (n_rows,)
        Weight of each row of the upper class.
    least_weight, least_events : float
        The least sum of each in a bin; 0 for any.
    rows : Sums
        Sums over the rows of all processes.
    least_level : float
        The least weight of a category, times the number of categories of its feature if
        `least_weight` is positive. If it is 0, missing values and all rare levels together need
        `least_level`, too.
    """

    weight: Floats
    events: Floats
    least_weight: float = 0.0
    least_events: float = 0.0
    rows: Sums = ALL_HERE
    least_level: float = 0.0

    @property
    def are_any(self) -> bool:
        """Whether bins may have any size."""
        return self.least_weight == 0 and self.least_events == 0

    def by_bin(self, codes: Indices, n_bins: int) -> Floats:
        """Return weight and events of each bin, shape (n_features, 2, n_bins)."""
        sums = np.zeros((len(codes), 2, n_bins))
        for (weight, events), code in zip(sums, codes, strict=True):
            weight[:] = np.bincount(code, self.weight, n_bins)
            if self.least_events > 0:
                events[:] = np.bincount(code, self.events, n_bins)
        return np.asarray(self.rows.total(sums))

    def are_enough(self, sums: Floats) -> Any:
        """Return which bins weigh enough, given sums of shape (2, ...)."""
        return (sums[0] >= self.least_weight) & (sums[1] >= self.least_events)

    def is_large_remainder(self, weight: Any) -> Any:
        """Return whether missing values, or all rare levels, of this weight may have a bin."""
        return (weight > 0) & ((self.least_weight > 0) | (weight >= self.least_level))

    def merge(self, bins: FeatureBins, sums: Floats) -> tuple[FeatureBins, Indices]:
        """Return the bins after merging, and the new bin of each former one."""
        sums = sums[:, : bins.n_values]
        group = self._neighbours(sums) if bins.has_order else self._categories(sums)
        if bins.categories is None:
            last_bins = np.flatnonzero(np.diff(group))  # bins with a threshold above them
            merged = FeatureBins(bins.thresholds[last_bins], bins.special)
        else:
            merged = replace(bins, categories=np.append(group, -1)[bins.categories])
            group = np.where(group < 0, merged.missing, group)
        other_bins = merged.n_values + np.arange(bins.n_bins - bins.n_values)
        return merged, np.concatenate([group, other_bins])

    def _neighbours(self, sums: Floats) -> Indices:
        """Return the new bin of each bin of values, merged from below.

        A bin ends where it weighs enough; a light remainder at the top joins the last one.
        """
        if self.are_any:
            return np.arange(sums.shape[1])
        group = np.zeros(sums.shape[1], dtype=np.intp)
        group_sums, n_groups = np.zeros(2), 0
        for index, weight_and_events in enumerate(sums.T):
            group[index] = n_groups
            group_sums = group_sums + weight_and_events
            if self.are_enough(group_sums):
                group_sums, n_groups = np.zeros(2), n_groups + 1
        return np.minimum(group, max(0, n_groups - 1))

    def _categories(self, sums: Floats) -> Indices:
        """Return the new bin of each category: its own, that of all rare ones, or -1.

        Rare categories have no bins of their own: the best set of many fits their noise.
        """
        occurs = sums[0] > 0
        min_weight = self.least_level * (np.count_nonzero(occurs) if self.least_weight > 0 else 1)
        is_large = self.are_enough(sums) & (sums[0] >= min_weight) & occurs
        group = np.where(is_large, np.cumsum(is_large) - 1, -1)
        is_rare = occurs & ~is_large
        rare_sums = sums[:, is_rare].sum(axis=1)
        if is_rare.any() and self.are_enough(rare_sums) and self.is_large_remainder(rare_sums[0]):
            group[is_rare] = np.count_nonzero(is_large)
        return group


@dataclass(frozen=True, eq=False)
class BinnedFeatures:
    """The bins of all features, and the bin of each value of the training rows.

    Attributes
    ----------
    bins : list of FeatureBins
        The bins of each feature.
    codes : ndarray of shape (n_features, n_rows)
        The bin of each value, in fit order.
    is_usable : ndarray of shape (n_features, n_bins)
        The bins that are large enough, padded to the number of the feature with most; the bin of
        missing values only if enough training rows are in it.
    """

    bins: list[FeatureBins]
    codes: Indices
    is_usable: Mask

    @classmethod
    def of(cls, bins: list[FeatureBins], codes: Indices, sizes: BinSizes) -> BinnedFeatures:
        """Merge bins that are too small; `codes`, those of the rows before, are overwritten."""
        n_bins = max(feature.n_bins for feature in bins)
        sums = sizes.by_bin(codes, n_bins)
        # Before rare levels join the bin of missing values: they must not speak for these.
        missing_weight = [sums[j, 0, feature.missing] for j, feature in enumerate(bins)]
        if not sizes.are_any or any(feature.categories is not None for feature in bins):
            merged = [sizes.merge(*pair) for pair in zip(bins, sums, strict=True)]
            old_sums, sums = sums, np.zeros_like(sums)
            for j, (_, new_bin) in enumerate(merged):
                codes[j] = new_bin.astype(codes.dtype).take(codes[j])
                for row, old in zip(sums[j], old_sums[j], strict=True):
                    row[:] = np.bincount(new_bin, old[: len(new_bin)], n_bins)
            bins = [feature for feature, _ in merged]
        # The tables of sums need no column for missing values that do not occur.
        depth = max(f.n_bins - (sums[j, 0, f.missing] == 0) for j, f in enumerate(bins))
        is_usable = np.zeros((len(bins), depth), dtype=bool)
        for j, feature in enumerate(bins):
            is_enough = sizes.are_enough(sums[j]) & (sums[j, 0] > 0)
            is_enough[feature.missing] &= sizes.is_large_remainder(missing_weight[j])
            is_usable[j, : feature.n_bins] = is_enough[: min(feature.n_bins, depth)]
            is_usable[j, : feature.n_values] = True
        return cls(bins, codes, is_usable)
