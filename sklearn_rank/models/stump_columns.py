"""Threshold weak rankers: h(x) = 1 when a feature exceeds a threshold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sklearn_rank._protocols import (
    Candidate,
    FitRows,
    Floats,
    Gain,
    Indices,
    Mask,
    RowGradient,
    Values,
)
from sklearn_rank.models._binned_columns import (
    BinnedColumns,
    as_candidate,
    find_bins,
    smaller_side,
)
from sklearn_rank.models._histogram import BinnedRows
from sklearn_rank.models._ties import first_largest
from sklearn_rank.models.rules import StumpRules


class StumpColumns(BinnedColumns):
    """All threshold weak rankers on the training rows, h(x) = 1[x_j > t].

    A row whose feature is missing has h = 0 or, in a second weak ranker, h = 1
    (Freund2003 calls this value q_def). Coordinates are ordered by feature,
    threshold and side of the missing values, padded to one number of thresholds. The last
    one of a feature with missing values is 1[x_j is missing], with the threshold infinity.

    Parameters
    ----------
    rows : FitRows
        Training rows, NaN for missing values. `max_bins` does not count the bin of missing
        values.
    """

    def __init__(self, rows: FitRows) -> None:
        codes, bins = find_bins(rows.X, rows.order, rows.weight, rows.max_bins, rows.threads)
        self.thresholds = [one.thresholds for one in bins]
        self.has_missing = np.array([one.has_missing for one in bins])
        self._n_thresholds = np.array([len(t) for t in self.thresholds])
        # The missing bin comes after the last one: codes 0 ... n_thresholds are values.
        self._missing_code = self._n_thresholds + 1
        depth = max(1, int(self._n_thresholds.max()))
        n_sides = 2 if self.has_missing.any() else 1
        self._shape = (len(bins), depth, n_sides)
        self._is_valid = np.zeros(self._shape, dtype=bool)
        self._is_valid[:, :, 0] = np.arange(depth) < self._n_thresholds[:, None]
        if n_sides == 2:
            self._is_valid[:, :, 1] = self._is_valid[:, :, 0]
            self._is_valid[~self.has_missing, :, 1] = False
            # The last threshold is the largest value: only missing rows exceed it.
            with_missing = np.flatnonzero(self.has_missing)
            self._is_valid[with_missing, self._n_thresholds[with_missing] - 1, 0] = False
        self._name_missing(rows.earlier)
        binned = BinnedRows(codes, depth + 1 + (n_sides == 2), rows.threads)
        super().__init__(binned, rows.weight, rows.collective)

    def _name_missing(self, earlier: StumpRules | None) -> None:
        """Make infinity the threshold of 1[x is missing].

        In models of version 0.1.0 it is the largest value, which a warm start keeps.
        """
        for j in np.flatnonzero(self.has_missing & (self._n_thresholds > 0)):
            largest = self.thresholds[j][-1]
            if earlier is not None:
                named = earlier.threshold[(earlier.feature == j) & earlier.missing_right]
                if (named == largest).any():
                    continue
            self.thresholds[j] = np.append(self.thresholds[j][:-1], np.inf)

    @property
    def n_coordinates(self) -> int:
        """Number of weak rankers, padding included."""
        return int(np.prod(self._shape))

    def choose(
        self,
        histogram: Floats,
        gain: Gain,
        curvature_histogram: Floats | None = None,
        size: float = 0.0,
        excluded: Sequence[int] = (),
    ) -> Candidate | None:
        """Return the weak ranker with the largest gain; ties go to the first.

        `size` is what edges are compared with: one where they are differences of shares, and
        else the sum of the absolute gradient. None is found where an edge is mere rounding.
        """
        if not self._is_valid.any():
            return None
        totals = histogram[:, 0].sum(axis=-1)
        of_bin = curvature_histogram
        bounds = None if of_bin is None else self._bounds(of_bin)
        gains = gain(self._sums_above(histogram, totals), totals, bounds)
        gains = np.where(self._is_valid, gains, -np.inf).ravel()
        gains[list(excluded)] = -np.inf
        index = first_largest(gains)
        if gains[index] == -np.inf:
            return None
        feature, h = self._by_code(index)
        of_feature = None if of_bin is None else of_bin[feature]
        return as_candidate(index, h, histogram[:, feature], of_feature, size)

    def values(self, candidate: Candidate) -> Values:
        """Return h on the training rows."""
        feature, h = self._by_code(candidate.index)
        codes = self._rows.codes[feature]
        first = int(np.argmax(h))
        above: Mask = codes >= first
        if self.has_missing[feature] and not h[self._missing_code[feature]]:
            above &= codes != self._missing_code[feature]
        return above

    def pull_back(self, gradient: Floats) -> Floats:
        """Return the gradient by the coefficients."""
        by_bin = self.histogram(RowGradient.signed(gradient))
        above = self._sums_above(by_bin, by_bin[:, 0].sum(axis=-1))[0]
        by_coefficient = np.where(self._is_valid, above, 0.0).ravel()
        return np.asarray(self._collective.reduce(np.add, by_coefficient))

    def _values_by_bin(self, coefficients: Floats) -> Floats:
        """Return the step function of each feature, shape (n_features, n_bins)."""
        steps = np.asarray(coefficients).reshape(self._shape)
        tables = np.zeros((self._shape[0], self._rows.n_bins))
        np.cumsum(steps.sum(axis=2), axis=1, out=tables[:, 1 : self._shape[1] + 1])
        for feature in np.flatnonzero(self.has_missing):
            tables[feature, self._missing_code[feature]] = steps[feature, :, 1].sum()
        return tables

    def rules(self, indices: Indices) -> StumpRules:
        """Return the weak rankers of some coordinates, ready for new rows."""
        feature, place, side = np.unravel_index(indices, self._shape)
        threshold = [self.thresholds[j][b] for j, b in zip(feature, place, strict=True)]
        return StumpRules(feature.astype(np.intp), np.array(threshold, dtype=float), side == 1)

    def _sums_above(self, by_bin: Floats, totals: Floats) -> Floats:
        """Return the sums where h = 1, for each group, feature, threshold and side."""
        up_to = np.cumsum(by_bin[:, :, : self._shape[1]], axis=2)
        above = totals[:, None, None] - up_to
        if self._shape[2] == 1:
            return above[..., None]
        features = np.arange(self._shape[0])
        last = np.minimum(self._missing_code, self._rows.n_bins - 1)
        missing = np.where(self.has_missing, by_bin[:, features, last], 0.0)
        return np.stack([above - missing[..., None], above], axis=-1)

    def _bounds(self, curvature: Floats) -> Floats:
        """Return ``min(c @ h, c @ (1 - h))`` of each weak ranker, given c by bin."""
        totals = curvature[:1].sum(axis=-1)
        return smaller_side(self._sums_above(curvature[None], totals)[0], totals)

    def _by_code(self, index: int) -> tuple[int, Mask]:
        """Return the feature of a weak ranker and its value in each bin."""
        feature, threshold, side = np.unravel_index(index, self._shape)
        h = np.arange(self._rows.n_bins) > threshold
        if side == 0 and self.has_missing[feature]:
            h[self._missing_code[feature]] = False
        return int(feature), h
