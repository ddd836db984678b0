"""Stumps on the training rows: all of them, and the search for the best."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from sklearn_rank._bins.binned_features import BinnedFeatures, FeatureBins
from sklearn_rank._core.protocols import Candidate, Floats, Gain, Indices, Mask, RowGradient
from sklearn_rank._core.rows import FitRows
from sklearn_rank._core.sums import Sums, shared_property
from sklearn_rank._core.tolerances import EDGE_ROUNDING
from sklearn_rank.models.bin_sums import BinSums, first_positive
from sklearn_rank.models.stump_rules import StumpRules

_BELOW, _ALL_BUT_ONE = 1, 2
"""Sides of a position in sorted categories: h is 1 below it, or everywhere but there. On side 0
it is 1 from there on."""


class Subsets:
    r"""The subsets of categories chosen so far by any bag of a model.

    Few subsets can be the best. The gain of h is a convex function of two sums over the rows with
    h = 1: of the shares of both sides (two groups), or of gradient and curvature (one group). For
    the decrease at a fixed step is convex in them, and the gain is its maximum over the allowed
    steps; the steepest edge is the absolute value of a linear function. With :math:`v_c` the pair
    of sums over the rows of category c, the pairs :math:`\sum_{c \in S} v_c` of all subsets S span
    a zonotope. A convex function is largest at a vertex, where some linear function u is largest:
    S holds the categories with :math:`u \cdot v_c > 0`. One coordinate of every :math:`v_c` is
    never negative, so that these are the first or the last categories in the order of the ratio
    of the two sums. Only these are tried; with one group and no curvature, all categories of one
    sign. The set of all categories is left out: up to a constant it is ``1[x is missing]``. Where
    u is positive for every category and missing values are too few for a weak ranker, the best of
    the other sets lacks one category: these are tried, too.

    Parameters
    ----------
    members : list of (int, ndarray)
        The feature of each, and which of its bins belong to it.
    """

    def __init__(self, members: list[tuple[int, Mask]]) -> None:
        self.members = members
        self._index = {(j, mask.tobytes()): index for index, (j, mask) in enumerate(members)}

    @classmethod
    def of(cls, rules: StumpRules | None, bins: Sequence[FeatureBins]) -> Subsets:
        """Return the subsets of earlier rules in the order of their coordinates."""
        if rules is None:
            return cls([])
        subsets = zip(rules.subset_feature.tolist(), rules.subsets, strict=True)
        return cls([(j, members[: bins[j].n_values]) for j, members in subsets])

    def index_of(self, feature: int, members: Mask) -> int:
        """Return the index of a subset; add the subset if it is new."""
        index = self._index.setdefault((feature, members.tobytes()), len(self.members))
        if index == len(self.members):
            self.members.append((feature, members))
        return index

    def agree(self, rows: Sums) -> None:
        """Use the subsets of the first process; rounding may lead others to different ones."""
        agreed = rows.agree(self.members)
        if agreed is not self.members:
            self.members, self._index = [], {}
            for feature, members in agreed:
                self.index_of(feature, members)

    def table(self) -> tuple[Indices, Mask]:
        """Return the feature of each subset, and the members, padded with False."""
        longest = max((len(members) for _, members in self.members), default=0)
        table = np.zeros((len(self.members), longest), dtype=bool)
        for row, (_, members) in zip(table, self.members, strict=True):
            row[: len(members)] = members
        return np.array([j for j, _ in self.members], dtype=np.intp), table


class StumpColumns:
    r"""All stumps on the training rows: 0/1 functions of the bins of one feature.

    The coordinate of ``1[x_j > t]``, or of a single bin of x_j (a special code, or missing values),
    is the position of the first bin with h = 1 in a matrix of features and bins. Where thresholds
    may have missing values on either side, the matrix has a third axis: h is 0 on side 0 and 1 on
    side 1 where x is missing. A subset of categories gets the next coordinate after these when it
    is first chosen.

    Parameters
    ----------
    binned : BinnedFeatures
        Bins of the training rows.
    rows : FitRows
        The training rows; only their weights and sums are used.
    both_sides : bool
        Whether a threshold may have missing values on its upper side.
    subsets : Subsets
        The subsets of categories that have coordinates.
    """

    is_two_sided = True
    sums_curvature = True

    def __init__(
        self,
        binned: BinnedFeatures,
        rows: FitRows,
        *,
        both_sides: bool,
        subsets: Subsets,
    ) -> None:
        bins, is_usable = binned.bins, binned.is_usable
        n_features, depth = is_usable.shape
        self.bins: list[Any] = list(bins)
        self._sums = BinSums(binned.codes, depth, rows.threads)
        self._weight = rows.weight
        self._rows = rows
        self._n_values = [feature.n_values for feature in bins]
        n_values = np.array(self._n_values)
        self._is_value = np.arange(depth) < n_values[:, np.newaxis]
        is_valid = is_usable.copy()
        is_valid[n_values > 0, 0] = False  # no threshold lies below the first bin
        self._categorical = [j for j, f in enumerate(bins) if not f.has_order and f.n_values]
        self._is_subset = np.zeros(is_usable.shape, dtype=bool)
        self._is_subset[self._categorical] = self._is_value[self._categorical]
        # Features whose missing values may have a stump of their own, or both sides of thresholds.
        self._missing_bin = missing_bin = np.array([feature.missing for feature in bins])
        is_separable = missing_bin < depth  # a last bin without rows may be beyond `depth`
        is_separable[is_separable] = is_usable[is_separable, missing_bin[is_separable]]
        self._separates_missing, has_both = is_separable, both_sides & is_separable
        # -1, a bin whose sums are never used, where they have one side only.
        self._shared_missing = np.where(has_both, missing_bin, -1)
        n_sides = 2 if has_both.any() else 1
        self._shape = (n_features, depth, n_sides)
        self._is_valid = np.repeat(is_valid[..., np.newaxis], n_sides, axis=2)
        if n_sides == 2:
            self._is_valid[..., 1] &= self._is_value & has_both[:, np.newaxis]
        self._n_fixed = int(np.prod(self._shape))
        self._subsets = subsets

    def at_rows(self, rows: Indices, weight: Floats) -> Self:
        """Return the same stumps on some of the training rows.

        Both have one list of subsets, so that a coordinate means the same to both.

        Parameters
        ----------
        rows : ndarray of shape (n_some,)
            The rows, in fit order.
        weight : ndarray of shape (n_some,)
            Their weights.
        """
        stumps = copy(self)
        stumps._sums, stumps._weight = self._sums.at(rows), weight
        vars(stumps).pop("_share_by_bin", None)
        return stumps

    @property
    def n_coordinates(self) -> int:
        """Number of stumps so far: thresholds and single bins, padded, and subsets."""
        return self._n_fixed + len(self._subsets.members)

    # The search ---------------------------------------------------------------------------

    def search(
        self, gradient: RowGradient, gain: Gain, excluded: Sequence[int] = ()
    ) -> Candidate | None:
        """Return the stump with the largest gain that is not excluded; ties go to the first."""
        bin_sums, curvature = self._sums.sum_by_bin(gradient), None
        has_shares = len(bin_sums) == 2  # edges are differences of shares, or sums
        size = 1.0 if has_shares else float(np.abs(gradient.data).sum())
        if gradient.curvature is None:
            bin_sums, size = self._rows.totals(bin_sums, size)
        else:
            curvature = self._sums.sum_by_bin(RowGradient.signed(gradient.curvature))[0]
            bin_sums, curvature, size = self._rows.totals(bin_sums, curvature, size)
        index = self._best(bin_sums, gain, curvature, excluded)
        if self._categorical:
            self._subsets.agree(self._rows)
        if index is None:
            return None
        feature, h = self.feature_and_members(index)
        ones, zeros = bin_sums[:, feature] @ h, bin_sums[:, feature] @ ~h
        edge = np.subtract(*(ones / (ones + zeros))) if has_shares else -ones[0]
        if abs(edge) <= EDGE_ROUNDING * (1.0 if has_shares else size):
            return None
        bound = None
        if curvature is not None:
            bound = float(min(curvature[feature] @ h, curvature[feature] @ ~h))
        return Candidate(index, float(edge), ones, zeros, bound)

    def _best(
        self, bin_sums: Floats, gain: Gain, curvature: Floats | None, excluded: Sequence[int]
    ) -> int | None:
        """Return the coordinate of the best stump, subsets of categories included."""
        # Categories are sorted by the ratio of their sums: the best subset is a range (`Subsets`).
        order = self._order(bin_sums, curvature) if self._categorical else {}
        totals, bounds = bin_sums[:, 0].sum(axis=-1), None
        if curvature is not None:
            total = curvature.sum(axis=-1)[:, np.newaxis, np.newaxis]
            bounds = smaller_side(self._sums_at_one(curvature[np.newaxis], order)[0], total)
        is_candidate, limits = self._allowed()
        gains = np.array(gain(self._sums_at_one(bin_sums, order), totals, bounds, limits))
        gains[~is_candidate] = -np.inf
        # An excluded stump gives way to the next best one.
        while (best_entry := first_positive(gains.ravel())) is not None:
            index = self._coordinate(best_entry, gains.shape, order)
            if index not in excluded:
                return index
            gains.flat[best_entry] = -np.inf
        return None

    def _allowed(self) -> tuple[Mask, tuple[Floats, Floats] | None]:
        """Return a mask of the allowed stumps, and the smallest and the largest step of each.

        Masks of shape (n_features, n_bins, n_sides); None where all steps are allowed.
        """
        if not self._categorical:
            return self._is_valid, None
        is_valid_subset = np.repeat(self._is_valid & self._is_subset[..., np.newaxis], 2, axis=2)
        return np.concatenate([self._is_valid, is_valid_subset], axis=2), None

    def _sums_at_one(self, bin_sums: Floats, order: dict[int, Indices]) -> Floats:
        """Return the sums where h = 1, of shape (n_groups, n_features, n_bins, n_sides).

        Bins of categories are taken in their order, with two more sides: the sums of the categories
        below, and of all but one.
        """
        if not order:
            return self._sums_above(bin_sums)
        bin_sums = bin_sums.copy()
        for j, sorted_bins in order.items():
            bin_sums[:, j] = bin_sums[:, j, sorted_bins]
        value_sums = np.where(self._is_value, bin_sums, 0.0)
        below = np.cumsum(value_sums, axis=-1) - value_sums
        all_but_one = value_sums.sum(axis=-1, keepdims=True) - value_sums
        sides = [self._sums_above(bin_sums), below[..., np.newaxis], all_but_one[..., np.newaxis]]
        return np.concatenate(sides, axis=-1)

    def _sums_above(self, bin_sums: Floats) -> Floats:
        """Return the sums where h = 1: of value bins from each one up, of other bins in each."""
        values = bin_sums * self._is_value
        above = values[..., ::-1].cumsum(axis=-1)[..., ::-1]
        above += bin_sums - values  # other bins come after the values: nothing is above them
        if self._shape[2] == 1:
            return above[..., np.newaxis]
        missing_sums = bin_sums[:, np.arange(len(self._shared_missing)), self._shared_missing]
        two_sides = np.repeat(above[..., np.newaxis], 2, axis=-1)
        two_sides[..., 1] += missing_sums[..., np.newaxis]
        return two_sides

    def _order(self, bin_sums: Floats, curvature: Floats | None) -> dict[int, Indices]:
        """Return the bins of each categorical feature, values sorted by ratio."""
        curvature = None if curvature is None else curvature[self._categorical]
        ratio = _ratios(bin_sums[:, self._categorical], bin_sums[:, 0].sum(axis=-1), curvature)
        ratio[~self._is_value[self._categorical]] = np.inf
        sorted_bins = np.argsort(ratio, axis=1, kind="stable")
        return dict(zip(self._categorical, sorted_bins, strict=True))

    def _coordinate(self, best: int, shape: tuple[int, ...], order: dict[int, Indices]) -> int:
        """Return the coordinate of an entry of the gains."""
        if not order:
            return best
        feature, position, side = map(int, np.unravel_index(best, shape))
        if not self._is_subset[feature, position]:
            return feature * shape[1] + position
        values = order[feature][: self._n_values[feature]]
        members = np.full(len(values), side == _ALL_BUT_ONE)
        if side == _ALL_BUT_ONE:
            members[values[position]] = False
        else:
            members[values[:position] if side == _BELOW else values[position:]] = True
        return self._n_fixed + self._subsets.index_of(feature, members)

    def feature_and_members(self, index: int) -> tuple[int, Mask]:
        """Return the feature of a stump and its value in each bin."""
        h = np.zeros(self._shape[1], dtype=bool)
        if index >= self._n_fixed:
            feature, members = self._subsets.members[index - self._n_fixed]
            h[: len(members)] = members
            return feature, h
        feature, first_bin, end = self._range(index)
        h[first_bin:end] = True
        return feature, h

    def _range(self, index: int) -> tuple[int, int, int]:
        """Return the feature of a stump other than a subset, and the range of bins with h = 1."""
        position, side = divmod(index, self._shape[2])
        feature, first_bin = divmod(position, self._shape[1])
        n_values = self._n_values[feature]
        # With two sides there are no special codes: missing values are the next bin after values.
        return feature, first_bin, n_values + side if first_bin < n_values else first_bin + 1

    # On the training rows -----------------------------------------------------------------

    def values(self, candidate: Candidate) -> Mask:
        """Return h on the training rows."""
        if candidate.index >= self._n_fixed:
            feature, h = self.feature_and_members(candidate.index)
            return np.asarray(h.take(self._sums.codes[feature]))
        feature, first_bin, end = self._range(candidate.index)  # comparisons are the fastest
        codes = self._sums.codes[feature]
        above: Mask = codes >= first_bin
        return above if end == self._shape[1] else above & (codes < end)

    def scores(self, coefficients: Floats) -> Floats:
        """Return the scores of the training rows."""
        return self._sums.look_up(self._values_by_bin(coefficients))

    def pull_back(self, gradient: Floats) -> Floats:
        """Return the gradient with respect to the coefficients."""
        bin_sums = self._rows.total(self._sums.sum_by_bin(RowGradient.signed(gradient)))
        above = np.where(self._is_valid, self._sums_above(bin_sums)[0], 0.0)
        if self._categorical:
            above[self._is_subset] = 0.0
        subsets = [bin_sums[0, j, : len(members)] @ members for j, members in self._subsets.members]
        return np.append(above.ravel(), subsets)

    def _values_by_bin(self, coefficients: Floats) -> Floats:
        """Return the step function of each feature, shape (n_features, n_bins)."""
        steps = np.asarray(coefficients[: self._n_fixed]).reshape(self._shape)
        step = steps.sum(axis=2)
        tables = np.where(
            self._is_value, np.cumsum(np.where(self._is_value, step, 0.0), axis=1), step
        )
        for j in np.flatnonzero(self._shared_missing >= 0):  # only with two sides
            tables[j, self._shared_missing[j]] += steps[j, :, 1].sum()
        subset_steps = zip(self._subsets.members, coefficients[self._n_fixed :], strict=True)
        for (feature, members), value in subset_steps:
            tables[feature, : len(members)] += value * members
        return tables

    def mean_contributions(self, indices: Indices, weights: Floats) -> Floats:
        """Return the mean over the training rows of the sum of the rules on each feature."""
        coefficients = np.bincount(indices, weights, self.n_coordinates).astype(np.float64)
        values = self._values_by_bin(coefficients)
        return np.asarray(np.einsum("jb,jb->j", values, self._share_by_bin))

    @shared_property
    def _share_by_bin(self) -> Floats:
        """Share of the weight of the training rows in each bin, shape (n_features, n_bins).

        Missing values that no stump can tell are left out: they get the mean of the others.
        """
        one_group = np.array([0, len(self._weight)])
        bin_weight = self._sums.sum_by_bin(RowGradient(self._weight, one_group))[0]
        bin_weight = np.array(self._rows.total(bin_weight))
        is_excluded = ~self._separates_missing & (self._missing_bin < self._shape[1])
        bin_weight[is_excluded, self._missing_bin[is_excluded]] = 0.0
        feature_weight = bin_weight.sum(axis=1, keepdims=True)
        return np.divide(bin_weight, feature_weight, out=bin_weight, where=feature_weight > 0)

    def rules(self, indices: Indices) -> StumpRules:
        """Return the stumps of some coordinates, ready for new rows."""
        indices = np.asarray(indices, dtype=np.intp)
        subset = np.maximum(indices - self._n_fixed, -1)
        is_subset = subset >= 0
        feature, first_bin, side = np.unravel_index(np.where(is_subset, 0, indices), self._shape)
        subset_feature, subsets = self._subsets.table()
        feature[is_subset], first_bin[is_subset] = subset_feature[subset[is_subset]], -1
        bins = {j: self.bins[j] for j in np.unique(feature).tolist()}
        right = (side == 1) | (first_bin == self._missing_bin[feature])
        # h of a missing value that no stump can tell: its mean over the other rows.
        neutral = self._sums_above(self._share_by_bin[np.newaxis])[0, feature, first_bin, 0]
        for rule in np.flatnonzero(is_subset).tolist():
            members = subsets[subset[rule]]
            neutral[rule] = self._share_by_bin[feature[rule], : len(members)] @ members
        neutral[self._separates_missing[feature]] = np.nan
        return StumpRules(feature, first_bin, right, subset, subsets, subset_feature, bins, neutral)


def smaller_side(ones: Floats, total: Any) -> Floats:
    """Return ``min(c @ h, c @ (1 - h))`` of each weak ranker, given ``c @ h``."""
    # Differences of sums: smaller ones may be rounding alone.
    return np.maximum(np.minimum(ones, total - ones), EDGE_ROUNDING * total)


def _ratios(sums: Floats, totals: Floats, curvature: Floats | None) -> Floats:
    """Return the ratio of the two sums of each category, the sort key of categories.

    `sums` have shape (n_groups, n_features, n_bins), `totals` are those of the groups.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        if len(sums) == 2:
            ratio = (sums[0] / totals[0]) / (sums[1] / totals[1])
        else:
            ratio = sums[0].copy() if curvature is None else sums[0] / curvature
    ratio[np.isnan(ratio)] = 0.0
    return np.asarray(ratio)


class BoundedStumps(StumpColumns):
    """Stumps for models with a limited size or with constraints on the signs of coefficients.

    They keep the net coefficients so far: `take` adds each step.

    Parameters
    ----------
    binned, rows, subsets
        As for `StumpColumns`; thresholds have missing values below.
    signs : dict of int to int
        1 where the score must not fall with a feature, -1 where it must not rise.
    largest : list of int or None
        Largest number of features, and of stumps with a net coefficient other than zero.
    """

    def __init__(
        self,
        binned: BinnedFeatures,
        rows: FitRows,
        subsets: Subsets,
        signs: Mapping[int, int],
        max_sizes: list[int | None],
    ) -> None:
        super().__init__(binned, rows, both_sides=False, subsets=subsets)
        self._max_sizes = max_sizes
        sign = np.zeros(self._shape[0])
        sign[list(signs)] = list(signs.values())
        # The sign that the net coefficient of each threshold must have; 0: any.
        self._sign = np.where(self._is_value, sign[:, np.newaxis], 0.0)
        self._coefficients: defaultdict[int, float] = defaultdict(float)

    def at_rows(self, rows: Indices, weight: Floats) -> Self:
        """Return the same stumps, without coefficients, on some of the training rows."""
        stumps = super().at_rows(rows, weight)
        stumps._coefficients = defaultdict(float)
        return stumps

    # The coefficients so far --------------------------------------------------------------

    def take(self, candidate: Candidate, step: float) -> None:
        """Add a step to the net coefficient of a stump."""
        self._coefficients[candidate.index] += step

    def set_coefficients(self, coefficients: Mapping[int, float]) -> None:
        """Replace all net coefficients; the others are zero."""
        self._coefficients = defaultdict(float, coefficients)

    def coefficient_limits(self, indices: Indices) -> tuple[Floats, Floats]:
        """Return the smallest and the largest net coefficient of some stumps."""
        sign = np.append(self._sign.ravel(), np.zeros(len(self._subsets.members)))[indices]
        return np.where(sign > 0, 0.0, -np.inf), np.where(sign < 0, 0.0, np.inf)

    def step_limits(self, candidate: Candidate) -> tuple[float, float]:
        """Return the smallest and the largest step that the constraints allow."""
        low, high = self._step_limits(np.array([candidate.index]))
        return float(low[0]), float(high[0])

    def _step_limits(self, indices: Indices) -> tuple[Floats, Floats]:
        """Return the smallest and the largest step of some stumps."""
        (low, high), coefficient = self.coefficient_limits(indices), self._net_coefficients[indices]
        return low - coefficient, high - coefficient

    @property
    def _net_coefficients(self) -> Floats:
        """The net coefficients of all stumps."""
        net = np.zeros(self.n_coordinates)
        net[list(self._coefficients)] = list(self._coefficients.values())
        return net

    @property
    def _in_model(self) -> list[int]:
        """The stumps with a nonzero net coefficient."""
        return sorted(index for index, value in self._coefficients.items() if value)

    # The choice ---------------------------------------------------------------------------

    def _allowed(self) -> tuple[Mask, tuple[Floats, Floats] | None]:
        max_features, (is_candidate, _) = self._max_sizes[0], super()._allowed()
        if max_features is not None:
            is_used = np.zeros(self._shape[0], dtype=bool)
            is_used[[self.feature_and_members(index)[0] for index in self._in_model]] = True
            if np.count_nonzero(is_used) >= max_features:
                is_candidate = is_candidate & is_used[:, np.newaxis, np.newaxis]
        if not self._sign.any():
            return is_candidate, None
        low, high = self._step_limits(np.arange(self._n_fixed))
        return is_candidate, (low.reshape(self._shape), high.reshape(self._shape))

    def _best(
        self, bin_sums: Floats, gain: Gain, curvature: Floats | None, excluded: Sequence[int]
    ) -> int | None:
        in_model, max_stumps = self._in_model, self._max_sizes[1]
        if max_stumps is None or len(in_model) < max_stumps:
            return super()._best(bin_sums, gain, curvature, excluded)
        # The model has all its stumps: the step changes the coefficient of one of them.
        candidates = [index for index in in_model if index not in excluded]
        if not candidates:
            return None
        features, members = zip(*map(self.feature_and_members, candidates), strict=True)
        feature, h, bounds = np.array(features), np.array(members), None
        if curvature is not None:
            bin_curvature = curvature[feature]
            bounds = smaller_side((bin_curvature * h).sum(axis=-1), bin_curvature.sum(axis=-1))
        ones, totals = (bin_sums[:, feature] * h).sum(axis=-1), bin_sums[:, 0].sum(axis=-1)
        entry = first_positive(gain(ones, totals, bounds, self._step_limits(np.array(candidates))))
        return None if entry is None else candidates[entry]
