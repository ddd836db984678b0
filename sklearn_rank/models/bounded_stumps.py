"""Stumps within constraints: signs of their coefficients, and the size of the model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Self

import numpy as np

from sklearn_rank._bins.binned_features import BinnedFeatures
from sklearn_rank._bins.pair_bins import PairBins
from sklearn_rank._core.protocols import Candidate, Floats, Gain, Indices, Mask
from sklearn_rank._core.rows import FitRows
from sklearn_rank.models.bin_sums import first_positive
from sklearn_rank.models.cell_order import CellOrder
from sklearn_rank.models.stump_columns import (
    SIZE_ROUNDING,
    StumpColumns,
    StumpConstraints,
    Subset,
    SubsetKey,
    smaller_side,
    subset_key,
)

if TYPE_CHECKING:
    from sklearn_rank.models.pair_columns import PairColumns


class BoundedStumps(StumpColumns):
    """Stumps of which a model may have so many, with coefficients of given signs.

    They know the net coefficients so far: `take` is told of each step.

    Parameters
    ----------
    binned, rows, subsets, pairs
        As for `StumpColumns`; thresholds have missing values below.
    constraints : StumpConstraints
        The signs, and the largest number of features and of stumps with a net coefficient other
        than zero.
    """

    def __init__(
        self,
        binned: BinnedFeatures,
        rows: FitRows,
        constraints: StumpConstraints,
        subsets: Sequence[Subset],
        pairs: PairColumns | None = None,
    ) -> None:
        self._monotonic = constraints.monotonic
        self._largest = [constraints.max_features, constraints.max_thresholds]
        # Of each pair with a constrained feature the sets of its cells; those sets whose
        # coefficients are not negative; and the coordinates that `search` tries one by one.
        self._sets: dict[int, Mask] = {}
        self._rising: set[SubsetKey] = set()
        self._tried: list[int] = []
        super().__init__(binned, rows, both_sides=False, subsets=subsets, pairs=pairs)
        signs = np.zeros(self._shape[0])
        signs[list(constraints.monotonic)] = list(constraints.monotonic.values())
        # The sign that the net coefficient of each threshold must have; 0: any.
        self._sign = np.where(self._is_value, signs[:, np.newaxis], 0.0)
        self._net: defaultdict[int, float] = defaultdict(float)
        self._earlier: list[int] = []

    def at_rows(
        self, rows: Indices, weight: Floats, earlier: Sequence[int] = (), share: float = 1.0
    ) -> Self:
        """Return the same stumps, without coefficients, on some of the training rows."""
        part = super().at_rows(rows, weight)
        part._earlier, part._net = list(earlier), defaultdict(float)
        share *= 1 - SIZE_ROUNDING
        part._largest = [None if most is None else ceil(most * share) for most in self._largest]
        return part

    @property
    def limits_size(self) -> bool:
        """Whether the number of stumps or of features in the model is limited."""
        return self._largest != [None, None]

    # The coefficients so far --------------------------------------------------------------

    def take(self, candidate: Candidate, step: float) -> None:
        """Add a step to the net coefficient of a stump."""
        self._net[candidate.index] += step

    def set_coefficients(self, coefficients: Mapping[int, float]) -> None:
        """Replace all net coefficients; those not given are zero."""
        self._net = defaultdict(float, coefficients)

    def coefficient_limits(self, indices: Indices) -> tuple[Floats, Floats]:
        """Return the smallest and the largest net coefficient of some stumps."""
        of_subsets = [float(subset_key(*one) in self._rising) for one in self._subsets]
        sign = np.append(self._sign.ravel(), of_subsets)[indices]
        return np.where(sign > 0, 0.0, -np.inf), np.where(sign < 0, 0.0, np.inf)

    def step_limits(self, candidate: Candidate) -> tuple[float, float]:
        """Return the smallest and the largest step that the constraints allow."""
        low, high = self._step_limits(np.array([candidate.index]))
        return float(low[0]), float(high[0])

    def _step_limits(self, indices: Indices) -> tuple[Floats, Floats]:
        """Return the smallest and the largest step of some stumps."""
        (low, high), net = self.coefficient_limits(indices), self._all_net[indices]
        return low - net, high - net

    @property
    def _all_net(self) -> Floats:
        """The net coefficients of all stumps."""
        net = np.zeros(self.n_coordinates)
        net[list(self._net)] = list(self._net.values())
        return net

    @property
    def _in_model(self) -> list[int]:
        """The stumps with a net coefficient other than zero, here or in other parts."""
        return sorted({*(index for index, value in self._net.items() if value), *self._earlier})

    def _best_of_pairs(
        self, by_bin: Floats, gain: Gain, curvature: Floats | None, excluded: Sequence[int]
    ) -> int | None:
        """Return the best set of cells of the pairs, none of other stumps."""
        assert self._pairs is not None
        is_valid = self._is_valid
        self._is_valid = is_valid.copy()
        self._is_valid[: self._pairs.n_features] = False
        found = super()._best(by_bin, gain, curvature, excluded)
        self._is_valid = is_valid
        return found

    # Pairs ----------------------------------------------------------------------------------

    def _used_features(self) -> set[int]:
        """Return the features that the model looks at, or may look at by its pairs."""
        numbers = {self.feature_and_members(index)[0] for index in self._in_model}
        pairs = self._used_pairs(self._in_model)
        return numbers.difference(pairs).union(*(self.bins[one].features for one in pairs))

    def _used_pairs(self, indices: Sequence[int]) -> set[int]:
        """Return the pairs of some stumps, and all that a search may choose from."""
        if self._pairs is None:
            return set()
        numbers = {self.feature_and_members(index)[0] for index in indices}
        found = {number for number in numbers if number >= self._pairs.n_features}
        return found.union(self._pairs.known) if self._searches_pairs else found

    def _n_terms(self, indices: Sequence[int]) -> int:
        """Return the number of stumps, of which all those of one pair count as one."""
        n_singles = sum(not self.is_of_pair(index) for index in indices)
        return n_singles + len(self._used_pairs(indices))

    @property
    def _known_pairs_left(self) -> list[int]:
        """The pairs that are yet to be used in a bag and that the model has already."""
        used = self._used_pairs(self._in_model)
        return [number for number in self._unused_pairs if number in used]

    @property
    def _n_new_pairs(self) -> int:
        """Number of pairs for which the model keeps a place."""
        n_new, most = super().n_pairs_left - len(self._known_pairs_left), self._largest[1]
        return n_new if most is None else max(0, min(n_new, most - self._n_terms(self._in_model)))

    @property
    def n_pairs_left(self) -> int:
        """Number of pairs that may still be found, or, of a bag, used."""
        return self._n_new_pairs + len(self._known_pairs_left)

    def _next_known_pair(self) -> int | None:
        left = self._known_pairs_left
        if left:
            self._unused_pairs.remove(left[0])
        return left[0] if left else super()._next_known_pair()

    def _may_pair(self, pair: tuple[int, int]) -> bool:
        most = self._largest[0]
        return most is None or len(self._used_features().union(pair)) <= most

    # Pairs of constrained features ----------------------------------------------------------

    def _take_pair(self, number: int, bins: PairBins, codes: Indices) -> None:
        signs = self._monotonic.get(bins.features[0], 0), self._monotonic.get(bins.features[1], 0)
        if any(signs):
            n_values = bins.first.n_values, bins.second.n_values
            order = CellOrder.of_grid(bins.shape, n_values, signs).of_groups(bins.categories)
            self._sets[number], is_part = order.sets()
            self._rising.update(subset_key(number, one) for one in self._sets[number][~is_part])
        super()._take_pair(number, bins, codes)

    @property
    def _levels(self) -> Floats | None:
        return self._values_by_bin(self._all_net) if self._monotonic else None

    def _sets_of_pair(self, number: int) -> Mask:
        return self._sets[number] if number in self._sets else super()._sets_of_pair(number)

    def _open_pair(self, number: int) -> None:
        if number not in self._sets:
            super()._open_pair(number)
            return
        found = {self._subset(number, members) for members in self._sets[number]}
        self._tried = sorted(found.union(self._tried))  # a new list: bags share the old one

    # The choice ---------------------------------------------------------------------------

    def _allowed(self) -> tuple[Mask, tuple[Floats, Floats] | None]:
        most, (is_tried, _) = self._largest[0], super()._allowed()
        if most is not None:
            used = np.zeros(self._shape[0], dtype=bool)
            used[list(self._used_features())] = True
            if np.count_nonzero(used) >= most:  # the model has all its features
                if self._pairs is not None:
                    used[self._pairs.n_features :] = True  # theirs are among them
                is_tried = is_tried & used[:, np.newaxis, np.newaxis]
        if not self._sign.any():
            return is_tried, None
        low, high = self._step_limits(np.arange(self._n_fixed))
        return is_tried, (low.reshape(self._shape), high.reshape(self._shape))

    def _best(
        self, by_bin: Floats, gain: Gain, curvature: Floats | None, excluded: Sequence[int]
    ) -> int | None:
        in_model, most = self._in_model, self._largest[1]
        further = [index for index in self._tried if index not in excluded]
        if most is None or self._n_terms(in_model) + self._n_new_pairs < most:
            best = super()._best(by_bin, gain, curvature, excluded)
            if not further:
                return best
            left = [] if best is None else [best]
        else:
            left = [index for index in in_model if index not in excluded]
            if self._searches_pairs:  # further sets of cells are no further terms
                of_pairs = self._best_of_pairs(by_bin, gain, curvature, excluded)
                further += [] if of_pairs is None else [of_pairs]
        left = list(dict.fromkeys([*left, *further]))
        return self._best_of(left, by_bin, gain, curvature) if left else None

    def _best_of(
        self, left: Sequence[int], by_bin: Floats, gain: Gain, curvature: Floats | None
    ) -> int | None:
        """Return the first of the best of some stumps."""
        members = [self.feature_and_members(index) for index in left]
        feature, h = np.array([j for j, _ in members]), np.array([one for _, one in members])
        bounds = None
        if curvature is not None:
            of_feature = curvature[feature]
            bounds = smaller_side((of_feature * h).sum(axis=-1), of_feature.sum(axis=-1))
        one, totals = (by_bin[:, feature] * h).sum(axis=-1), by_bin[:, 0].sum(axis=-1)
        best = first_positive(gain(one, totals, bounds, self._step_limits(np.array(left))))
        return None if best is None else left[best]
