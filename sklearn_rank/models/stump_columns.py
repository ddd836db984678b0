"""Stumps on the training rows: all of them, and the search for the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sklearn_rank._bins.binned_features import BinnedFeatures, Binning, BinSizes, FeatureBins
from sklearn_rank._bins.pair_bins import PairBins
from sklearn_rank._core.distinct import number_of_rows
from sklearn_rank._core.protocols import Candidate, Floats, Gain, Indices, Mask, RowGradient
from sklearn_rank._core.rows import FitRows
from sklearn_rank._core.sums import shared_property
from sklearn_rank.models.bin_sums import ROUNDING, BinSums, first_positive
from sklearn_rank.models.stump_rules import StumpRules, shared_by_pairs

if TYPE_CHECKING:
    from sklearn_rank.models.pair_columns import PairColumns

_BELOW, _ALL_BUT_ONE = 1, 2
"""The sides of a subset of categories where h is 1 for those below a place, or all but one."""

Subset = tuple[int, Mask]
"""The feature of a subset of categories, and which of its bins are members."""

SubsetKey = tuple[int, bytes]
"""A name that equal subsets share."""


ROWS_BY_LEVEL = 3.0
"""Rows that a category needs for each category of its feature, where bins have a smallest size."""

ROWS_OF_LEVEL, SHARE_OF_LEVEL = 10.0, 0.02
"""Rows that a category needs where bins have none, or that share of all rows if it is less."""

SIZE_ROUNDING = 1e-9
"""How much less, relatively, sums of weights and shares of a size may be than they should."""


@dataclass(frozen=True, eq=False)
class StumpConstraints:
    """What stumps may be; features are column numbers.

    Attributes
    ----------
    monotonic : dict of int to int
        1 where the score must not fall with a feature, -1 where it must not rise.
    max_features, max_thresholds : int or None
        Largest number of features, and of weak rankers with a net coefficient other than zero.
    thresholds : dict of int to ndarray
        The only thresholds of some features, increasing.
    min_bin_size : float
        Share of the weight of the training rows that every bin must have.
    min_bin_events : float
        Weight of the rows of the upper class that every bin must have.
    n_categories : dict of int to int
        Number of codes 0, 1, ... of each categorical feature.
    special : dict of int to ndarray
        Special codes of some features, increasing.
    max_pairs : int
        Largest number of pairs of features.
    category_bins : dict of int to FeatureBins
        First bins of categorical features whose levels have an order, or are in groups.
    """

    monotonic: Mapping[int, int] = field(default_factory=dict)
    max_features: int | None = None
    max_thresholds: int | None = None
    thresholds: Mapping[int, Floats] = field(default_factory=dict)
    min_bin_size: float = 0.0
    min_bin_events: float = 0.0
    n_categories: Mapping[int, int] = field(default_factory=dict)
    special: Mapping[int, Floats] = field(default_factory=dict)
    max_pairs: int = 0
    category_bins: Mapping[int, FeatureBins] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Any]:
        """The constraints by parameter of `Stumps`, as plain values that can be compared."""

        def plain(given: Mapping[int, Floats]) -> dict[int, list[float]]:
            return {j: values.tolist() for j, values in sorted(given.items())}

        return {
            "monotonic_cst": dict(self.monotonic),
            "max_features_used": self.max_features,
            "max_thresholds": self.max_thresholds,
            "thresholds": plain(self.thresholds),
            "min_bin_size": self.min_bin_size,
            "min_bin_events": self.min_bin_events,
            "categorical_features": sorted(self.n_categories),
            "special_values": plain(self.special),
            "max_pairs": self.max_pairs,
            **{
                name: {
                    j: bins.categories.tolist()
                    for j, bins in sorted(self.category_bins.items())
                    if bins.ordered == is_ordered and bins.categories is not None
                }
                for name, is_ordered in (("category_order", True), ("category_groups", False))
            },
        }

    def binning(self, max_bins: int) -> Binning:
        """Return how values become bins, before small ones are merged."""
        return Binning(
            max_bins, self.thresholds, self.special, self.n_categories, self.category_bins
        )

    def bin_sizes(self, rows: FitRows) -> BinSizes:
        """Return the least that a bin must weigh, of these training rows."""
        weight = rows.weight
        events = weight * rows.rows.y[rows.order]
        least, of_level = self.min_bin_size, 0.0
        if least > 0 or self.n_categories:
            total = float(rows.total(float(weight.sum()))) * (1 - SIZE_ROUNDING)
            one_row = total / number_of_rows(weight, rows)
            of_level = ROWS_BY_LEVEL * one_row
            if least == 0:
                of_level = min(ROWS_OF_LEVEL * one_row, SHARE_OF_LEVEL * total)
            least *= total
        least_events = self.min_bin_events * (1 - SIZE_ROUNDING)
        return BinSizes(weight, events, least, least_events, rows, of_level)

    def pairs(self, binned: BinnedFeatures, rows: FitRows) -> PairColumns | None:
        """Return the pairs of a fit, none of them found; None if there are to be none."""
        if not self.max_pairs or len(binned.bins) < 2:
            return None
        from sklearn_rank.models.pair_columns import PairColumns  # few fits have pairs

        return PairColumns(binned, rows, self.bin_sizes(rows), self.max_pairs, self.monotonic)


class StumpColumns:
    r"""All stumps on the training rows: 0/1 functions of the bins of one feature.

    The coordinate of ``1[x_j > t]``, of a single bin of x_j (a special code, or missing values):
    the number of the first bin with h = 1, in a matrix of features and bins. Where thresholds
    have missing values on either side, each has two coordinates: 0, 0 where x is missing, and
    1, where h is 1 there too. A subset of categories gets the next coordinate after these when it
    is first chosen.

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
    binned : BinnedFeatures
        Bins of the training rows.
    rows : FitRows
        The training rows, of which only the weights are used.
    both_sides : bool
        Whether a threshold may have missing values on its upper side.
    subsets : list of (int, ndarray)
        Feature and members of the subsets that already have coordinates.
    pairs : PairColumns or None
        The pairs, which are features after the others: their cells are categories.
    """

    is_two_sided = True
    sums_curvature = True

    def __init__(
        self,
        binned: BinnedFeatures,
        rows: FitRows,
        *,
        both_sides: bool,
        subsets: Sequence[Subset] = (),
        pairs: PairColumns | None = None,
    ) -> None:
        if pairs is not None:
            binned = pairs.padded(binned)
        self._pairs = pairs
        bins, usable = binned.bins, binned.is_usable
        n_features, depth = usable.shape
        self.bins: list[Any] = list(bins)
        self._sums = BinSums(binned.codes, depth, rows.threads)
        self._weight = rows.weight
        self._rows = rows
        self._n_values = [one.n_values for one in bins]
        self._searches_pairs, self._unused_pairs = False, list[int]()
        n_values = np.array(self._n_values)
        self._is_value = np.arange(depth) < n_values[:, np.newaxis]
        is_valid = usable.copy()
        is_valid[n_values > 0, 0] = False  # no threshold lies below the first bin
        self._categorical = [j for j, one in enumerate(bins) if not one.has_order and one.n_values]
        self._is_subset = np.zeros(usable.shape, dtype=bool)
        self._is_subset[self._categorical] = self._is_value[self._categorical]
        # Missing values of features that have some and may have them on both sides of a threshold.
        self._missing_bin = missing = np.array([one.missing for one in bins])
        has_both = both_sides & (missing < depth)
        has_both[has_both] = usable[has_both, missing[has_both]]
        self._missing = np.where(has_both, missing, -1)
        n_sides = 2 if has_both.any() else 1
        self._shape = (n_features, depth, n_sides)
        self._is_valid = np.repeat(is_valid[..., np.newaxis], n_sides, axis=2)
        if n_sides == 2:
            self._is_valid[..., 1] &= self._is_value & has_both[:, np.newaxis]
        self._n_fixed = int(np.prod(self._shape))
        if pairs is not None:
            for number, one in pairs.known.items():
                self._take_pair(number, one, pairs.codes_of(one))
        self._subsets = list(subsets)
        self._number_of = {subset_key(*one): number for number, one in enumerate(subsets)}

    def at_rows(
        self, rows: Indices, weight: Floats, earlier: Sequence[int] = (), share: float = 1.0
    ) -> Self:
        """Return the same stumps on some of the training rows.

        Both have one list of subsets, so that a coordinate means the same to both.

        Parameters
        ----------
        rows : ndarray of shape (n_some,)
            The rows, in fit order.
        weight : ndarray of shape (n_some,)
            Their weights.
        earlier : sequence of int
            Coordinates in other parts of one model. Where a model is bounded in size, they count
            as in this one.
        share : float
            Share of that bound which this part and `earlier` may fill.
        """
        part = copy(self)
        part._sums, part._weight = self._sums.at(rows), weight
        vars(part).pop("_weight_by_bin", None)
        part._unused_pairs = [] if self._pairs is None else list(self._pairs.known)
        return part

    # Pairs ----------------------------------------------------------------------------------

    @property
    def n_pairs_left(self) -> int:
        """Number of pairs that may still be found, or, of a bag, used."""
        return 0 if self._pairs is None else self._pairs.n_left + len(self._unused_pairs)

    def next_pair(self, gradient: RowGradient, power: float, ridge: float) -> list[int]:
        """Find the pair with the largest gain; return the coordinates of its sets of cells.

        Without a pair that has a gain there are none, and none is sought any more. In a bag it is
        the next one of those that all rows have told.
        """
        assert self._pairs is not None
        number = self._next_known_pair()
        if number is None:
            from sklearn_rank.models.pair_search import Slopes

            slopes = Slopes.of(gradient, self._weight, self._rows, power, ridge)
            found = self._pairs.find(slopes, self._may_pair, self._levels)
            if found is None:
                return []
            number = found[0]
            self._take_pair(*found)
        return [self._subset(number, members) for members in self._sets_of_pair(number)]

    def _sets_of_pair(self, number: int) -> Mask:
        """Return the sets of bins of a pair that a refit gives coefficients: each bin."""
        return np.eye(self._n_values[number], dtype=bool)

    @property
    def _levels(self) -> Floats | None:
        """What the model adds so far for each feature and bin; None where it does not matter."""
        return None

    def _next_known_pair(self) -> int | None:
        """Return the next pair that a bag has not used, of those that are known."""
        return self._unused_pairs.pop(0) if self._unused_pairs else None

    def _may_pair(self, pair: tuple[int, int]) -> bool:
        """Whether two features may become a pair."""
        return True

    def close_pairs(self) -> None:
        """Let no more pairs be found."""
        if self._pairs is not None:
            self._pairs.n_left = 0

    def search_pairs(self) -> None:
        """Let `search` find sets of cells of pairs, those known and those still to be found."""
        if self._pairs is not None:
            self._searches_pairs, self._unused_pairs = True, []
            for number in self._pairs.known:
                self._open_pair(number)

    def is_of_pair(self, index: int) -> bool:
        """Whether a coordinate is that of cells of a pair."""
        if self._pairs is None or index < self._n_fixed:
            return False
        return self._subsets[index - self._n_fixed][0] >= self._pairs.n_features

    def _take_pair(self, number: int, bins: PairBins, codes: Indices) -> None:
        """Make a pair one of the features."""
        n_values = bins.n_values
        self._sums = self._sums.replaced(number, codes)
        self.bins[number] = bins
        self._n_values[number], self._missing_bin[number] = n_values, bins.missing
        self._is_value[number, :n_values] = True
        vars(self).pop("_weight_by_bin", None)
        if self._searches_pairs:
            self._open_pair(number)

    def _open_pair(self, number: int) -> None:
        """Let `search` find sets of cells of a pair."""
        n_values = self._n_values[number]
        self._is_subset[number, :n_values] = True
        self._is_valid[number, 1:n_values] = True
        if number not in self._categorical:
            self._categorical.append(number)

    @property
    def n_coordinates(self) -> int:
        """Number of stumps so far: thresholds and single bins, padded, and subsets."""
        return self._n_fixed + len(self._subsets)

    # The search ---------------------------------------------------------------------------

    def search(
        self, gradient: RowGradient, gain: Gain, excluded: Sequence[int] = ()
    ) -> Candidate | None:
        """Return the stump with the largest gain; ties go to the first.

        Those with an `excluded` coordinate are left out.
        """
        by_bin, curvature = self._sums.sum_by_bin(gradient), None
        has_shares = len(by_bin) == 2  # edges are differences of shares, or sums
        size = 1.0 if has_shares else float(np.abs(gradient.data).sum())
        if gradient.curvature is None:
            by_bin, size = self._rows.totals(by_bin, size)
        else:
            curvature = self._sums.sum_by_bin(RowGradient.signed(gradient.curvature))[0]
            by_bin, curvature, size = self._rows.totals(by_bin, curvature, size)
        index = self._best(by_bin, gain, curvature, excluded)
        # Rounding might find another subset elsewhere: all take those of the first process.
        agreed = self._rows.agree(self._subsets) if self._categorical else self._subsets
        if agreed is not self._subsets:
            self._subsets[:] = agreed
            self._number_of = {subset_key(*one): number for number, one in enumerate(self._subsets)}
        if index is None:
            return None
        feature, h = self.feature_and_members(index)
        one, zero = by_bin[:, feature] @ h, by_bin[:, feature] @ ~h
        edge = np.subtract(*(one / (one + zero))) if has_shares else -one[0]
        if abs(edge) <= ROUNDING * (1.0 if has_shares else size):
            return None
        bound = None
        if curvature is not None:
            bound = float(min(curvature[feature] @ h, curvature[feature] @ ~h))
        return Candidate(index, float(edge), one, zero, bound)

    def _best(
        self, by_bin: Floats, gain: Gain, curvature: Floats | None, excluded: Sequence[int]
    ) -> int | None:
        """Return the coordinate of the best stump, with all subsets of categories."""
        order = self._order(by_bin, curvature) if self._categorical else {}
        totals, bounds = by_bin[:, 0].sum(axis=-1), None
        if curvature is not None:
            bounds = self._smaller_sides(curvature, order)
        is_tried, limits = self._allowed()
        gains = np.array(gain(self._above(by_bin, order), totals, bounds, limits))
        gains[~is_tried] = -np.inf
        while (best := first_positive(gains.ravel())) is not None:
            index = self._coordinate(best, gains.shape, order)
            if index not in excluded:
                return index
            gains.flat[best] = -np.inf
        return None

    def _smaller_sides(self, curvature: Floats, order: dict[int, Indices]) -> Floats:
        """Return the bound of the second derivative along each stump, given its sums by bin."""
        total = curvature.sum(axis=-1)[:, np.newaxis, np.newaxis]
        return smaller_side(self._above(curvature[np.newaxis], order)[0], total)

    def _allowed(self) -> tuple[Mask, tuple[Floats, Floats] | None]:
        """Return the stumps that may be chosen, and the smallest and the largest step of each.

        Masks of shape (n_features, n_bins, n_sides); None where all steps are allowed.
        """
        if not self._categorical:
            return self._is_valid, None
        further = np.repeat(self._is_valid & self._is_subset[..., np.newaxis], 2, axis=2)
        return np.concatenate([self._is_valid, further], axis=2), None

    def _above(self, by_bin: Floats, order: dict[int, Indices]) -> Floats:
        """Return the sums where h = 1, of shape (n_groups, n_features, n_bins, n_sides).

        Bins of categories are taken in their order, and have two sides more: the sums of the
        categories below, and of all but one.
        """
        if not order:
            return self._sums_above(by_bin)
        by_bin = by_bin.copy()
        for j, places in order.items():
            by_bin[:, j] = by_bin[:, j, places]
        of_values = np.where(self._is_value, by_bin, 0.0)
        below = np.cumsum(of_values, axis=-1) - of_values
        others = of_values.sum(axis=-1, keepdims=True) - of_values
        sides = [self._sums_above(by_bin), below[..., np.newaxis], others[..., np.newaxis]]
        return np.concatenate(sides, axis=-1)

    def _sums_above(self, by_bin: Floats) -> Floats:
        """Return the sums where h = 1: of values, from each bin on; of other bins, in it."""
        of_values = by_bin * self._is_value
        above = of_values[..., ::-1].cumsum(axis=-1)[..., ::-1]
        above += by_bin - of_values  # other bins come after the values: nothing is above them
        if self._shape[2] == 1:
            return above[..., np.newaxis]
        both = np.empty((*above.shape, 2))
        both[..., 0] = above
        missing = by_bin[:, np.arange(len(self._missing)), self._missing]
        np.add(above, missing[..., np.newaxis], out=both[..., 1])
        return both

    def _order(self, by_bin: Floats, curvature: Floats | None) -> dict[int, Indices]:
        """Return the bins of each categorical feature, values sorted by ratio."""
        sums = by_bin[:, self._categorical]
        with np.errstate(divide="ignore", invalid="ignore"):
            if len(sums) == 2:
                totals = by_bin[:, 0].sum(axis=-1)
                ratio = (sums[0] / totals[0]) / (sums[1] / totals[1])
            elif curvature is not None:
                ratio = sums[0] / curvature[self._categorical]
            else:
                ratio = sums[0].copy()
        ratio[np.isnan(ratio)] = 0.0
        ratio[~self._is_value[self._categorical]] = np.inf
        places = np.argsort(ratio, axis=1, kind="stable")
        return dict(zip(self._categorical, places, strict=True))

    def _coordinate(self, best: int, shape: tuple[int, ...], order: dict[int, Indices]) -> int:
        """Return the coordinate of an entry of the gains."""
        if not order:
            return best
        feature, place, side = map(int, np.unravel_index(best, shape))
        if not self._is_subset[feature, place]:
            return feature * shape[1] + place
        n_values, places = self._n_values[feature], order[feature]
        members = np.full(n_values, side == _ALL_BUT_ONE)
        if side == _ALL_BUT_ONE:
            members[places[place]] = False
        else:
            members[places[:place] if side == _BELOW else places[place:n_values]] = True
        return self._subset(feature, members)

    def _subset(self, feature: int, members: Mask) -> int:
        """Return the coordinate of a subset of the bins of a feature."""
        number = self._number_of.setdefault(subset_key(feature, members), len(self._subsets))
        if number == len(self._subsets):  # a new one
            self._subsets.append((feature, members))
        return self._n_fixed + number

    def feature_and_members(self, index: int) -> tuple[int, Mask]:
        """Return the feature of a stump and its value in each bin."""
        h = np.zeros(self._shape[1], dtype=bool)
        if index >= self._n_fixed:
            feature, members = self._subsets[index - self._n_fixed]
            h[: len(members)] = members
            return feature, h
        feature, first, end = self._range(index)
        h[first:end] = True
        return feature, h

    def _range(self, index: int) -> tuple[int, int, int]:
        """Return the feature of a stump that is no subset, and the range of bins with h = 1."""
        place, side = divmod(index, self._shape[2])
        feature, first = divmod(place, self._shape[1])
        n_values = self._n_values[feature]
        # Where a threshold has missing values above, their bin is the next after the values.
        return feature, first, n_values + side if first < n_values else first + 1

    # On the training rows -----------------------------------------------------------------

    def values(self, candidate: Candidate) -> Mask:
        """Return h on the training rows."""
        if candidate.index >= self._n_fixed:
            feature, h = self.feature_and_members(candidate.index)
            return np.asarray(h.take(self._sums.codes[feature]))
        feature, first, end = self._range(candidate.index)  # comparisons are the fastest
        codes = self._sums.codes[feature]
        above: Mask = codes >= first
        return above if end == self._shape[1] else above & (codes < end)

    def scores(self, coefficients: Floats) -> Floats:
        """Return the scores of the training rows."""
        return self._sums.look_up(self._values_by_bin(coefficients))

    def pull_back(self, gradient: Floats) -> Floats:
        """Return the gradient by the coefficients."""
        by_bin = self._rows.total(self._sums.sum_by_bin(RowGradient.signed(gradient)))
        above = np.where(self._is_valid, self._sums_above(by_bin)[0], 0.0)
        if self._categorical:
            above[self._is_subset] = 0.0
        rest = [by_bin[0, j, : len(members)] @ members for j, members in self._subsets]
        return np.append(above.ravel(), rest)

    def _values_by_bin(self, coefficients: Floats) -> Floats:
        """Return the step function of each feature, shape (n_features, n_bins)."""
        steps = np.asarray(coefficients[: self._n_fixed]).reshape(self._shape)
        both = steps.sum(axis=2)
        upto = np.cumsum(np.where(self._is_value, both, 0.0), axis=1)
        tables = np.where(self._is_value, upto, both)
        for j in np.flatnonzero(self._missing >= 0) if self._shape[2] == 2 else ():
            tables[j, self._missing[j]] += steps[j, :, 1].sum()
        for (feature, members), step in zip(
            self._subsets, coefficients[self._n_fixed :], strict=True
        ):
            tables[feature, : len(members)] += step * members
        return tables

    def mean_contributions(self, indices: Indices, weights: Floats) -> Floats:
        """Return the mean over the training rows of the sum of the rules on each feature."""
        coefficients = np.bincount(indices, weights, self.n_coordinates).astype(np.float64)
        by_bin = self._weight_by_bin
        means = np.einsum("jb,jb->j", self._values_by_bin(coefficients), by_bin)
        means = np.asarray(means / by_bin[0].sum())
        if self._pairs is None:
            return means
        return shared_by_pairs(means, self._pairs.n_features, dict(enumerate(self.bins)))

    @shared_property
    def _weight_by_bin(self) -> Floats:
        """Weight of the training rows in each bin, shape (n_features, n_bins)."""
        one_group = np.array([0, len(self._weight)])
        by_bin = self._sums.sum_by_bin(RowGradient(self._weight, one_group))[0]
        return np.asarray(self._rows.total(by_bin))

    def rules(self, indices: Indices) -> StumpRules:
        """Return the stumps of some coordinates, ready for new rows."""
        indices = np.asarray(indices, dtype=np.intp)
        subset = np.maximum(indices - self._n_fixed, -1)
        is_subset = subset >= 0
        feature, first, side = np.unravel_index(np.where(is_subset, 0, indices), self._shape)
        of_subset = np.array([j for j, _ in self._subsets], dtype=np.intp)
        feature[is_subset], first[is_subset] = of_subset[subset[is_subset]], -1
        longest = max((len(m) for _, m in self._subsets), default=0)
        members = np.zeros((len(self._subsets), longest), dtype=bool)
        for row, (_, one) in zip(members, self._subsets, strict=True):
            row[: len(one)] = one
        used = {*feature.tolist()}
        if self._pairs is not None:
            used |= {*of_subset.tolist()}  # of earlier rules, pairs that they know are not sought
        bins = {j: self.bins[j] for j in sorted(used)}
        right = (side == 1) | (first == self._missing_bin[feature])
        return StumpRules(feature, first, right, subset, members, of_subset, bins)


def smaller_side(one: Floats, total: Any) -> Floats:
    """Return ``min(c @ h, c @ (1 - h))`` of each weak ranker, given ``c @ h``."""
    # Differences of sums: below this they may be rounding alone.
    return np.maximum(np.minimum(one, total - one), ROUNDING * total)


def subset_key(feature: int, members: Mask) -> SubsetKey:
    """Return a name that equal subsets share."""
    return feature, members.tobytes()


def subsets_of(rules: StumpRules, bins: Sequence[FeatureBins]) -> list[Subset]:
    """Return the subsets of earlier rules in the order of their coordinates."""
    pairs = rules.pairs
    return [
        (j, members[: (pairs[j] if j in pairs else bins[j]).n_values])
        for j, members in zip(rules.subset_feature.tolist(), rules.subsets, strict=True)
    ]
