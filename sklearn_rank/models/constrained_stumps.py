"""Weak rankers of a table of points: thresholds, subsets of categories, single bins, constrained.

A feature has bins of values, one for each special code and one of missing values
(`FeatureBins`). The weak rankers are ``1[x > t]``, 0 where x is missing or a special code;
``1[x == code]`` for each special code; ``1[x is missing]``; and for categories ``1[x in S]``
with any subset S of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from sklearn_rank._protocols import Candidate, FitRows, Floats, Gain, Indices, Mask, RowGradient
from sklearn_rank.models._binned_columns import (
    BinnedColumns,
    as_candidate,
    find_bins,
    smaller_side,
)
from sklearn_rank.models._histogram import BinnedRows
from sklearn_rank.models._ties import first_largest
from sklearn_rank.models.feature_bins import FeatureBins
from sklearn_rank.models.stump_constraints import ROUNDING, StumpConstraints
from sklearn_rank.models.table_rules import TableRules

_ALL_BUT_ONE = 2
"""The side of `_TableSearch` where h is 1 for all categories but one."""


@dataclass(frozen=True, eq=False)
class TableGrid:
    """The bins of all features, and those of the training rows.

    Attributes
    ----------
    bins : list of FeatureBins
        The bins of each feature.
    codes : ndarray of shape (n_features, n_rows)
        The bin of each value, in fit order.
    is_usable : ndarray of shape (n_features, n_bins)
        The bins that are large enough, padded to one number of bins.
    """

    bins: list[FeatureBins]
    codes: Indices
    is_usable: Mask

    @classmethod
    def of(cls, rows: FitRows, constraints: StumpConstraints) -> TableGrid:
        """Find the bins, and merge those that are too small."""
        codes, bins = _all_bins(rows, constraints)
        sizes = _BinSizes.of(rows, constraints)
        merged = [sizes.merge(one, code) for one, code in zip(bins, codes, strict=True)]
        bins = [one for one, _ in merged]
        is_usable = np.zeros((len(bins), max(one.n_bins for one in bins)), dtype=bool)
        for j, (one, new_code) in enumerate(merged):
            codes[j] = new_code.take(codes[j])
            is_usable[j, : one.n_bins] = sizes.are_enough(codes[j], one.n_bins)
            is_usable[j, : one.n_values] = True
        return cls(bins, codes, is_usable)


def _all_bins(rows: FitRows, constraints: StumpConstraints) -> tuple[Indices, list[FeatureBins]]:
    """Return the bin of every value, however small, one line for each feature, and the bins."""
    X = rows.X
    given = {
        **{j: FeatureBins(thresholds) for j, thresholds in constraints.thresholds.items()},
        **{j: FeatureBins(categories=np.arange(n)) for j, n in constraints.n_categories.items()},
    }
    if given or constraints.special:
        X = X.copy()
        X[:, list(given)] = 0.0
        for j, special in constraints.special.items():
            X[np.isin(X[:, j], special), j] = np.nan
    codes, quantiles = find_bins(X, rows.order, rows.weight, rows.max_bins, rows.threads)
    # The last threshold is the largest value where some are missing: none exceeds it.
    bins = [
        FeatureBins(one.thresholds[:-1] if one.has_missing else one.thresholds) for one in quantiles
    ]
    for j in range(len(bins)):
        special = constraints.special.get(j, np.zeros(0))
        one = given.get(j, bins[j])
        bins[j] = FeatureBins(one.thresholds, special, one.categories)
    largest = max(one.n_bins for one in bins)
    codes = codes.astype(np.promote_types(codes.dtype, np.min_scalar_type(largest)), copy=False)
    for j, one in enumerate(bins):
        if j in given or j in constraints.special:
            codes[j] = one(rows.X[rows.order, j])
        elif quantiles[j].has_missing:
            codes[j][codes[j] == len(quantiles[j].thresholds) + 1] = one.missing
    return codes, bins


@dataclass(frozen=True, eq=False)
class _BinSizes:
    """What a bin must weigh.

    Attributes
    ----------
    weight, events : ndarray of shape (n_rows,) or None
        Weight of each row, and of each row of the upper class; None where a bin may have any.
    least_weight, least_events : float
        The least that a bin must have of each.
    """

    weight: Floats | None
    events: Floats | None
    least_weight: float
    least_events: float

    @classmethod
    def of(cls, rows: FitRows, constraints: StumpConstraints) -> _BinSizes:
        share, least = constraints.min_bin_size, constraints.min_bin_events
        upper = np.zeros(len(rows.weight), dtype=bool) if rows.upper is None else rows.upper
        return cls(
            rows.weight if share > 0 else None,
            rows.weight * upper if least > 0 else None,
            share * rows.weight.sum() * (1 - ROUNDING),
            least * (1 - ROUNDING),
        )

    def are_enough(self, code: Indices, n_bins: int) -> Mask:
        """Return which bins weigh enough."""
        return np.asarray(self._are_enough(*self._by_bin(code, n_bins)))

    def _by_bin(self, code: Indices, n_bins: int) -> Floats:
        """Return weight and events of each bin, shape (2, n_bins)."""
        sums = np.zeros((2, n_bins))
        for row, values in enumerate((self.weight, self.events)):
            if values is not None:
                sums[row] = np.bincount(code, values, n_bins)
        return sums

    def _are_enough(self, weight: Any, events: Any) -> Any:
        return (weight >= self.least_weight) & (events >= self.least_events)

    def merge(self, bins: FeatureBins, code: Indices) -> tuple[FeatureBins, Indices]:
        """Return the bins after merging, and the new number of each bin."""
        sums = self._by_bin(code, bins.n_bins)[:, : bins.n_values]
        if bins.categories is None:
            group = self._neighbours(sums)
            last = np.flatnonzero(np.diff(group))  # bins with a threshold above them
            merged = FeatureBins(bins.thresholds[last], bins.special)
        else:
            seen = np.bincount(code, minlength=bins.n_bins)[: bins.n_values] > 0
            group = self._categories(sums, seen)
            merged = FeatureBins(special=bins.special, categories=group)
            group = np.where(group < 0, merged.missing, group)
        others = merged.n_values + np.arange(bins.n_bins - bins.n_values)
        return merged, np.concatenate([group, others])

    def _neighbours(self, sums: Floats) -> Indices:
        """Return the number of the bin of each bin of values, merged from below.

        A bin ends where it weighs enough; what is left over above belongs to the last one.
        """
        if self.weight is None and self.events is None:
            return np.arange(sums.shape[1])
        group = np.zeros(sums.shape[1], dtype=np.intp)
        so_far, number = np.zeros(2), 0
        for place, one in enumerate(sums.T):
            group[place] = number
            so_far = so_far + one
            if self._are_enough(*so_far):
                so_far, number = np.zeros(2), number + 1
        return np.minimum(group, max(0, number - 1))

    def _categories(self, sums: Floats, seen: Mask) -> Indices:
        """Return the bin of each category: of its own, that of all rare ones, or -1."""
        is_large = self._are_enough(*sums) & seen
        group = np.where(is_large, np.cumsum(is_large) - 1, -1)
        rare = seen & ~is_large
        if rare.any() and self._are_enough(*sums[:, rare].sum(axis=1)):
            group[rare] = np.count_nonzero(is_large)
        return group


class TableColumns(BinnedColumns):
    r"""All weak rankers of a table on the training rows, within constraints.

    The coordinate of ``1[x_j > t]``, of a single bin of x_j: the number of the first bin with
    h = 1, in a matrix of features and bins. A subset of categories gets the next coordinate
    after these when it is first chosen.

    The best subset. The gain of h is a convex function of two sums over the rows with h = 1:
    of the shares of both sides (two groups), or of gradient and curvature (one group). The
    decrease at a fixed step is convex in them, and the gain is the maximum of these over the
    allowed steps; the steepest edge is the absolute value of a linear function. With
    :math:`v_c` the pair of sums over the rows of category c, the pairs
    :math:`\sum_{c \in S} v_c` of all subsets span a zonotope, and a convex function is largest
    at a vertex: where a linear function u is, so that S holds the categories with
    :math:`u \cdot v_c > 0`. One coordinate of every :math:`v_c` is never negative, so
    these are the first or the last ones when the categories are sorted by the ratio of the
    two sums. Only these are tried. With one group and no curvature the gain is that of all
    categories of one sign. The set of all categories is left out: up to a constant it is
    ``1[x is missing]``. Where u is positive for every category and missing values are too few
    for a weak ranker, the best of the other sets lacks one category: these are tried too.

    Parameters
    ----------
    grid : TableGrid
        Bins of the training rows.
    rows : FitRows
        The training rows, of which only the weights are used.
    constraints : StumpConstraints
        What the table may look like.
    subsets : list of (int, ndarray)
        Feature and members of the subsets that already have coordinates.
    """

    def __init__(
        self,
        grid: TableGrid,
        rows: FitRows,
        constraints: StumpConstraints,
        subsets: list[tuple[int, Mask]],
    ) -> None:
        self.grid = grid
        self._limits = constraints
        self._shape = grid.is_usable.shape
        n_features, depth = self._shape
        n_values = np.array([one.n_values for one in grid.bins])
        self._is_value = np.arange(depth) < n_values[:, np.newaxis]
        self._is_valid = grid.is_usable.copy()
        # No threshold lies below the first bin.
        self._is_valid[n_values > 0, 0] = False
        self._categorical = np.array(sorted(constraints.n_categories), dtype=np.intp)
        self._is_subset = np.zeros(self._shape, dtype=bool)
        self._is_subset[self._categorical] = self._is_value[self._categorical]
        self._sign = np.zeros(n_features)
        self._sign[list(constraints.monotonic)] = list(constraints.monotonic.values())
        self._net = np.zeros(self._shape)
        self._net_of_subset = [0.0] * len(subsets)
        self._subsets = list(subsets)
        self._number_of = {_key(*one): number for number, one in enumerate(subsets)}
        self._earlier: list[int] = []
        super().__init__(BinnedRows(grid.codes, depth, rows.threads), rows.weight)

    def at_rows(
        self, rows: Indices, weight: Floats, earlier: Sequence[int] = (), share: float = 1.0
    ) -> Self:
        """Return the same weak rankers, without coefficients, on some of the training rows.

        Both have one list of subsets, so that a coordinate means the same to both.
        """
        part = super().at_rows(rows, weight)
        part.grid = replace(self.grid, codes=part._rows.codes)
        part._earlier = list(earlier)
        part._limits = self._limits.shared(share)
        part._net = np.zeros(self._shape)
        part._net_of_subset = [0.0] * len(self._subsets)
        return part

    # The coefficients so far --------------------------------------------------------------

    @property
    def n_coordinates(self) -> int:
        """Number of weak rankers so far: thresholds and single bins, padded, and subsets."""
        return self._net.size + len(self._subsets)

    def step_limits(self, candidate: Candidate) -> tuple[float, float]:
        """Return the smallest and the largest step that the constraints allow."""
        if candidate.index >= self._net.size:
            return -np.inf, np.inf
        feature, first = divmod(candidate.index, self._shape[1])
        sign = self._sign[feature] if self._is_value[feature, first] else 0.0
        back = -float(self._net[feature, first])
        return back if sign > 0 else -np.inf, back if sign < 0 else np.inf

    def coefficient_limits(self, indices: Indices) -> tuple[Floats, Floats]:
        """Return the smallest and the largest net coefficient of some weak rankers."""
        sign = np.zeros(self.n_coordinates)
        sign[: self._net.size] = self._signs().ravel()
        return np.where(sign > 0, 0.0, -np.inf)[indices], np.where(sign < 0, 0.0, np.inf)[indices]

    def take(self, candidate: Candidate, step: float) -> None:
        """Add a step to the net coefficient of a weak ranker."""
        if candidate.index < self._net.size:
            self._net.flat[candidate.index] += step
        else:
            self._net_of_subset[candidate.index - self._net.size] += step

    def set_coefficients(self, coefficients: Mapping[int, float]) -> None:
        """Replace all net coefficients; those not given are zero."""
        self._net[:] = 0.0
        self._net_of_subset = [0.0] * len(self._subsets)
        for index, value in coefficients.items():
            self.take(Candidate(index, 0.0), value)

    def step_limits_of(self, indices: Indices) -> tuple[Floats, Floats]:
        """Return the smallest and the largest step of some weak rankers."""
        free = np.full(len(self._subsets), np.inf)
        low, high = (one.ravel() for one in self._step_limits())
        return np.append(low, -free)[indices], np.append(high, free)[indices]

    def _signs(self) -> Floats:
        """Return the sign that the net coefficient of each threshold must have; 0: any."""
        return np.where(self._is_value, self._sign[:, np.newaxis], 0.0)

    def _step_limits(self) -> tuple[Floats, Floats]:
        sign = self._signs()
        return np.where(sign > 0, -self._net, -np.inf), np.where(sign < 0, -self._net, np.inf)

    @property
    def _in_model(self) -> list[int]:
        """The weak rankers with a net coefficient other than zero, here or in other parts."""
        subsets = np.flatnonzero(self._net_of_subset) + self._net.size
        return sorted({*np.flatnonzero(self._net).tolist(), *subsets.tolist(), *self._earlier})

    # The choice ---------------------------------------------------------------------------

    def choose(
        self,
        histogram: Floats,
        gain: Gain,
        curvature_histogram: Floats | None = None,
        size: float = 0.0,
        excluded: Sequence[int] = (),
    ) -> Candidate | None:
        """Return the allowed weak ranker with the largest gain; ties go to the first."""
        search = _TableSearch(self, histogram, gain, curvature_histogram)
        in_model, most = self._in_model, self._limits.max_thresholds
        if most is not None and len(in_model) >= most:
            index = search.best_among([one for one in in_model if one not in excluded])
        else:
            index = search.best_of_all(self._allowed_features(), excluded)
        if index is None:
            return None
        feature, h = self.feature_and_members(index)
        of_bin = None if curvature_histogram is None else curvature_histogram[feature]
        return as_candidate(index, h, histogram[:, feature], of_bin, size)

    def _allowed_features(self) -> Mask:
        """Return the features that the next weak ranker may look at."""
        most, used = self._limits.max_features, np.asarray(self._net.any(axis=1))
        for (feature, _), coefficient in zip(self._subsets, self._net_of_subset, strict=True):
            used[feature] |= coefficient != 0
        used[[self.feature_and_members(index)[0] for index in self._earlier]] = True
        if most is None or np.count_nonzero(used) < most:
            used[:] = True
        return used

    def coordinate_of(self, feature: int, members: Mask) -> int:
        """Return the coordinate of a subset of the categories of a feature, new or not."""
        members = members[: self.grid.bins[feature].n_values]
        key = _key(feature, members)
        if key not in self._number_of:
            self._number_of[key] = len(self._subsets)
            self._subsets.append((feature, members.copy()))
            self._net_of_subset.append(0.0)
        return self._net.size + self._number_of[key]

    def feature_and_members(self, index: int) -> tuple[int, Mask]:
        """Return the feature of a weak ranker and its value in each bin."""
        h = np.zeros(self._shape[1], dtype=bool)
        if index >= self._net.size:
            feature, members = self._subsets[index - self._net.size]
            h[: len(members)] = members
            return feature, h
        feature, first = divmod(index, self._shape[1])
        if self._is_value[feature, first]:
            h[first : self.grid.bins[feature].n_values] = True
        else:
            h[first] = True
        return feature, h

    # On the training rows -----------------------------------------------------------------

    def values(self, candidate: Candidate) -> Mask:
        """Return h on the training rows."""
        feature, h = self.feature_and_members(candidate.index)
        return np.asarray(h.take(self.grid.codes[feature]))

    def pull_back(self, gradient: Floats) -> Floats:
        """Return the gradient by the coefficients."""
        by_bin = self.histogram(RowGradient.signed(gradient))[0]
        rest = [by_bin[j, : len(members)] @ members for j, members in self._subsets]
        is_valid = self._is_valid & ~self._is_subset
        above = np.where(is_valid, self._sums_above(by_bin), 0.0)
        return np.append(above.ravel(), rest)

    def _sums_above(self, by_bin: Floats) -> Floats:
        """Return the sums where h = 1: of values, from each bin on; of other bins, in it."""
        of_values = np.where(self._is_value, by_bin, 0.0)
        from_bin = np.cumsum(of_values[..., ::-1], axis=-1)[..., ::-1]
        return np.where(self._is_value, from_bin, by_bin)

    def sums(self, by_bin: Floats, indices: Indices) -> Floats:
        """Return the sums where some weak rankers are 1, shape (n_groups, n_indices)."""
        by_bin = np.asarray(by_bin)
        is_subset = indices >= self._net.size
        sums = self._sums_above(by_bin).reshape(len(by_bin), -1)
        sums = sums[:, np.where(is_subset, 0, indices)]
        for place in np.flatnonzero(is_subset):
            feature, members = self._subsets[indices[place] - self._net.size]
            sums[:, place] = by_bin[:, feature, : len(members)] @ members
        return sums

    def _values_by_bin(self, coefficients: Floats) -> Floats:
        """Return the step function of each feature, shape (n_features, n_bins)."""
        steps = np.asarray(coefficients[: self._net.size]).reshape(self._shape)
        upto = np.cumsum(np.where(self._is_value, steps, 0.0), axis=1)
        tables = np.where(self._is_value, upto, steps)
        for (feature, members), step in zip(
            self._subsets, coefficients[self._net.size :], strict=True
        ):
            tables[feature, : len(members)] += step * members
        return tables

    def rules(self, indices: Indices) -> TableRules:
        """Return the weak rankers of some coordinates, ready for new rows."""
        indices = np.asarray(indices, dtype=np.intp)
        subset = np.where(indices >= self._net.size, indices - self._net.size, -1)
        of_subset = np.array([j for j, _ in self._subsets], dtype=np.intp)
        feature, first = np.divmod(indices, self._shape[1])
        feature[subset >= 0] = of_subset[subset[subset >= 0]]
        first[subset >= 0] = -1
        members = np.zeros((len(self._subsets), max((len(m) for _, m in self._subsets), default=0)))
        for row, (_, one) in zip(members, self._subsets, strict=True):
            row[: len(one)] = one
        bins = {j: self.grid.bins[j] for j in np.unique(feature).tolist()}
        return TableRules(feature, first, subset, members.astype(bool), of_subset, bins)


class _TableSearch:
    """The gains of the weak rankers of a table, for one gradient.

    Parameters
    ----------
    columns : TableColumns
        The weak rankers.
    by_bin : ndarray of shape (n_groups, n_features, n_bins)
        Histogram of the gradient.
    gain : Gain
        What is maximised.
    curvature : ndarray of shape (n_features, n_bins) or None
        Histogram of the curvature.
    """

    def __init__(
        self, columns: TableColumns, by_bin: Floats, gain: Gain, curvature: Floats | None
    ) -> None:
        self._columns = columns
        self._by_bin = by_bin
        self._gain = gain
        self._curvature = curvature
        self._totals = by_bin[:, 0].sum(axis=-1)

    def best_among(self, indices: list[int]) -> int | None:
        """Return the best of some weak rankers."""
        columns = self._columns
        if not indices:
            return None
        wanted = np.array(indices)
        one = columns.sums(self._by_bin, wanted)
        curvature = self._curvature
        if curvature is not None:
            curvature = columns.sums(curvature[np.newaxis], wanted)[0]
        best = first_positive(self._gains(one, curvature, columns.step_limits_of(wanted)))
        return None if best is None else indices[best]

    def best_of_all(self, is_allowed: Mask, excluded: Sequence[int] = ()) -> int | None:
        """Return the best weak ranker of some features, with all subsets of categories."""
        columns, order = self._columns, self._order()
        one = self._above(self._by_bin, order)
        curvature = self._curvature
        if curvature is not None:
            curvature = self._above(curvature[np.newaxis], order)[0]
        limits = None
        if columns._sign.any():
            low, high = columns._step_limits()
            limits = low[..., np.newaxis], high[..., np.newaxis]
        gains = self._gains(one, curvature, limits)
        is_valid = columns._is_valid & is_allowed[:, np.newaxis]
        gains[~is_valid] = -np.inf
        if order is not None:  # further sides are for subsets only
            gains[~columns._is_subset, 1:] = -np.inf
        while True:
            best = first_positive(gains.ravel())
            if best is None:
                return None
            index = self._coordinate(best, gains.shape, order)
            if index not in excluded:
                return index
            gains.flat[best] = -np.inf

    def _coordinate(
        self, best: int, shape: tuple[int, ...], order: dict[int, Indices] | None
    ) -> int:
        """Return the coordinate of an entry of the gains."""
        columns = self._columns
        feature, place, side = (int(one) for one in np.unravel_index(best, shape))
        if order is None or not columns._is_subset[feature, place]:
            return feature * shape[1] + place
        n_values = columns.grid.bins[feature].n_values
        sorted_bins = order[feature]
        members = np.full(n_values, side == _ALL_BUT_ONE)
        if side == _ALL_BUT_ONE:
            members[sorted_bins[place]] = False
        else:
            members[sorted_bins[:place] if side else sorted_bins[place:n_values]] = True
        return columns.coordinate_of(feature, members)

    def _gains(
        self, one: Floats, curvature: Floats | None, limits: tuple[Floats, Floats] | None
    ) -> Floats:
        bounds = None
        if curvature is not None and self._curvature is not None:
            bounds = smaller_side(curvature, self._curvature[0].sum())
        return np.array(self._gain(one, self._totals, bounds, limits))

    def _order(self) -> dict[int, Indices] | None:
        """Return the bins of each categorical feature, values sorted by ratio; None without."""
        columns = self._columns
        if not len(columns._categorical):
            return None
        sums = self._by_bin[:, columns._categorical]
        with np.errstate(divide="ignore", invalid="ignore"):
            if len(sums) == 2:
                ratio = (sums[0] / self._totals[0]) / (sums[1] / self._totals[1])
            elif self._curvature is not None:
                ratio = sums[0] / self._curvature[columns._categorical]
            else:
                ratio = sums[0].copy()
        ratio[np.isnan(ratio)] = 0.0
        order = {}
        for j, line in zip(columns._categorical.tolist(), ratio, strict=True):
            n_values = columns.grid.bins[j].n_values
            rest = np.arange(n_values, len(line))
            order[j] = np.append(np.argsort(line[:n_values], kind="stable"), rest)
        return order

    def _above(self, by_bin: Floats, order: dict[int, Indices] | None) -> Floats:
        """Return the sums where h = 1, of shape (n_groups, n_features, n_bins, n_sides).

        The bins of categories are taken in order; further sides have what lies below, and all
        categories but one.
        """
        columns = self._columns
        if order is None:
            return columns._sums_above(by_bin)[..., np.newaxis]
        by_bin = by_bin.copy()
        for j, bins in order.items():
            by_bin[:, j] = by_bin[:, j, bins]
        of_values = np.where(columns._is_value, by_bin, 0.0)
        below = np.cumsum(of_values, axis=-1) - of_values
        others = of_values.sum(axis=-1, keepdims=True) - of_values
        return np.stack([columns._sums_above(by_bin), below, others], axis=-1)


def first_positive(gains: Floats) -> int | None:
    """Return the first index whose gain is the largest; None when none is positive."""
    if not gains.size or not gains.max() > 0:
        return None
    return first_largest(gains)


def _key(feature: int, members: Mask) -> tuple[int, bytes]:
    """Return what is equal for equal subsets."""
    return feature, members.tobytes()


def subsets_of(rules: Any, grid: TableGrid) -> list[tuple[int, Mask]]:
    """Return the subsets of earlier rules, if any, in the order of their coordinates."""
    if rules is None:
        return []
    return [
        (j, members[: grid.bins[j].n_values])
        for j, members in zip(rules.subset_feature.tolist(), rules.subsets, strict=True)
    ]
