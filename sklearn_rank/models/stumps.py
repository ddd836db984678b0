"""Threshold weak rankers: h(x) = 1 when a feature exceeds a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

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
from sklearn_rank.models._cells import MISSING_CELL, Bins, CellGrid, Column
from sklearn_rank.models._histogram import BinnedRows
from sklearn_rank.models._ties import ROUNDING, first_largest
from sklearn_rank.models.rules import StumpRules

_CHUNK = 65_536
_SAMPLE = 8192
"""Rows, at most twice as many, from which the ends of the cells of a feature are taken."""


def _columns(X: Floats, rows: Indices | slice) -> Floats:
    """Return some rows of X, one contiguous line for each feature."""
    return np.ascontiguousarray(X[rows].T)


class Stumps:
    """The model ``weak_ranker="stump"``: h is 1 where a feature exceeds a threshold."""

    name = "stump"
    allow_nan = True
    sparse = False

    def on_rows(self, rows: FitRows) -> StumpColumns:
        """Return the stumps on the training rows."""
        return StumpColumns(rows)


class StumpColumns:
    """All threshold weak rankers on the training rows, h(x) = 1[x_j > t].

    A row whose feature is missing has h = 0 or, in a second weak ranker, h = 1
    (Freund2003 calls this value q_def). Coordinates are ordered by feature,
    threshold and side of the missing values, padded to one number of thresholds.

    Parameters
    ----------
    rows : FitRows
        Training rows, NaN for missing values. `max_bins` does not count the bin of missing
        values.
    """

    is_two_sided = True
    sums_curvature = True

    def __init__(self, rows: FitRows) -> None:
        self._threads = rows.threads
        self._weight = rows.weight
        codes, bins = self._find_bins(rows)
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
        self._rows = BinnedRows(codes, depth + 1 + (n_sides == 2), rows.threads)

    @property
    def n_coordinates(self) -> int:
        """Number of weak rankers, padding included."""
        return int(np.prod(self._shape))

    def search(
        self, gradient: RowGradient, gain: Gain, excluded: Sequence[int] = ()
    ) -> Candidate | None:
        """Return the weak ranker with the largest gain; ties go to the first.

        Those with an `excluded` coordinate are left out.
        """
        curvature = gradient.curvature
        by_bin = None if curvature is None else self.curvature_histogram(curvature)
        size = 1.0 if gradient.n_groups == 2 else float(np.abs(gradient.data).sum())
        return self.choose(self.histogram(gradient), gain, by_bin, size, excluded)

    def histogram(self, gradient: RowGradient) -> Floats:
        """Return the gradient summed by bin, shape (n_groups, n_features, n_bins)."""
        return self._rows.sum_by_bin(gradient)

    def curvature_histogram(self, curvature: Floats) -> Floats:
        """Return the curvature summed by bin, shape (n_features, n_bins)."""
        return np.asarray(self.histogram(RowGradient.signed(curvature))[0])

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
        by_bin = histogram
        totals = by_bin[:, 0].sum(axis=-1)
        bounds = None if curvature_histogram is None else self._bounds(curvature_histogram)
        gains = gain(self._sums_above(by_bin, totals), totals, bounds)
        gains = np.where(self._is_valid, gains, -np.inf).ravel()
        gains[list(excluded)] = -np.inf
        index = first_largest(gains)
        if gains[index] == -np.inf:
            return None
        feature, h = self._by_code(index)
        one = by_bin[:, feature] @ h
        zero = by_bin[:, feature] @ ~h
        edge = np.subtract(*(one / (one + zero))) if len(by_bin) == 2 else -one[0]
        if abs(edge) <= ROUNDING * size:
            return None
        bound = None
        if curvature_histogram is not None:
            of_bin = curvature_histogram[feature]
            bound = float(min(of_bin @ h, of_bin @ ~h))
        return Candidate(index, float(edge), one, zero, bound)

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
        return np.where(self._is_valid, above, 0.0).ravel()

    def scores(self, coefficients: Floats) -> Floats:
        """Return the scores of the training rows."""
        return self._rows.look_up(self._values_by_bin(coefficients))

    def mean_contributions(self, indices: Indices, weights: Floats) -> Floats:
        """Return the mean over the training rows of the sum of the rules on each feature."""
        coefficients = np.bincount(indices, weights, self.n_coordinates).astype(np.float64)
        values = self._values_by_bin(coefficients)
        return np.einsum("jb,jb->j", values, self._weight_by_bin) / self._weight.sum()

    @cached_property
    def _weight_by_bin(self) -> Floats:
        """Weight of the training rows in each bin, shape (n_features, n_bins)."""
        return np.asarray(self.histogram(RowGradient.signed(self._weight))[0])

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

    def _find_bins(self, rows: FitRows) -> tuple[Indices, list[Bins]]:
        """Return the bin of every value, one line for each feature, and the bins."""
        X, order = rows.X, rows.order
        n_rows, n_features = len(order), X.shape[1]
        sample = _columns(X, order[:: 1 + n_rows // _SAMPLE])
        grids = self._threads.map(lambda j: CellGrid(sample[j]), n_features)
        largest = max(MISSING_CELL, rows.max_bins + 1)
        cells = np.empty((n_features, n_rows), dtype=np.min_scalar_type(largest))

        def find_cells(number: int) -> None:
            chunk = slice(number * _CHUNK, (number + 1) * _CHUNK)
            for j, x in enumerate(_columns(X, order[chunk])):
                cells[j, chunk] = grids[j](x)

        self._threads.map(find_cells, -(-n_rows // _CHUNK))
        weight = None if np.all(rows.weight == rows.weight[0]) else rows.weight

        def encode(j: int) -> Bins:
            column = Column(grids[j], cells[j], lambda chosen: X[order[chosen], j], weight)
            return column.encode(rows.max_bins)

        bins = self._threads.map(encode, n_features)
        most = max(len(one.thresholds) for one in bins) + 1
        return cells.astype(np.min_scalar_type(most), copy=False), bins

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
        one = self._sums_above(curvature[None], totals)[0]
        # Differences of sums: below this they may be rounding alone.
        return np.maximum(np.minimum(one, totals - one), ROUNDING * totals)

    def _by_code(self, index: int) -> tuple[int, Mask]:
        """Return the feature of a weak ranker and its value in each bin."""
        feature, threshold, side = np.unravel_index(index, self._shape)
        h = np.arange(self._rows.n_bins) > threshold
        if side == 0 and self.has_missing[feature]:
            h[self._missing_code[feature]] = False
        return int(feature), h
