"""Stumps within constraints: signs of their coefficients, and the size of the model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from sklearn_rank._bins.binned_features import BinnedFeatures
from sklearn_rank._core.protocols import Candidate, Floats, Gain, Indices, Mask
from sklearn_rank._core.rows import FitRows
from sklearn_rank.models.bin_sums import first_positive
from sklearn_rank.models.stump_columns import StumpColumns, Subsets, smaller_side


class BoundedStumps(StumpColumns):
    """Stumps of which a model may have so many, with coefficients of given signs.

    They know the net coefficients so far: `take` is told of each step.

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
        largest: list[int | None],
    ) -> None:
        super().__init__(binned, rows, both_sides=False, subsets=subsets)
        self._largest = largest
        sign = np.zeros(self._shape[0])
        sign[list(signs)] = list(signs.values())
        # The sign that the net coefficient of each threshold must have; 0: any.
        self._sign = np.where(self._is_value, sign[:, np.newaxis], 0.0)
        self._net: defaultdict[int, float] = defaultdict(float)

    def at_rows(self, rows: Indices, weight: Floats) -> Self:
        """Return the same stumps, without coefficients, on some of the training rows."""
        part = super().at_rows(rows, weight)
        part._net = defaultdict(float)
        return part

    # The coefficients so far --------------------------------------------------------------

    def take(self, candidate: Candidate, step: float) -> None:
        """Add a step to the net coefficient of a stump."""
        self._net[candidate.index] += step

    def set_coefficients(self, coefficients: Mapping[int, float]) -> None:
        """Replace all net coefficients; those not given are zero."""
        self._net = defaultdict(float, coefficients)

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
        """The stumps with a net coefficient other than zero."""
        return sorted(index for index, value in self._net.items() if value)

    # The choice ---------------------------------------------------------------------------

    def _allowed(self) -> tuple[Mask, tuple[Floats, Floats] | None]:
        most, (is_tried, _) = self._largest[0], super()._allowed()
        if most is not None:
            used = np.zeros(self._shape[0], dtype=bool)
            used[[self.feature_and_members(index)[0] for index in self._in_model]] = True
            if np.count_nonzero(used) >= most:  # the model has all its features
                is_tried = is_tried & used[:, np.newaxis, np.newaxis]
        if not self._sign.any():
            return is_tried, None
        low, high = self._step_limits(np.arange(self._n_fixed))
        return is_tried, (low.reshape(self._shape), high.reshape(self._shape))

    def _best(
        self, by_bin: Floats, gain: Gain, curvature: Floats | None, excluded: Sequence[int]
    ) -> int | None:
        in_model, most = self._in_model, self._largest[1]
        if most is None or len(in_model) < most:
            return super()._best(by_bin, gain, curvature, excluded)
        left = [index for index in in_model if index not in excluded]
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
