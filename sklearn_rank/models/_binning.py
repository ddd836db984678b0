"""Thresholds of a feature, and the number of the bin a value falls into."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sklearn_rank._protocols import Floats, Indices

_CELLS = 4096
"""Cells of a lookup table: small enough for the first-level cache."""


def quantile_levels(max_bins: int) -> Floats:
    """Return the levels of the quantiles between bins of equal weight.

    They are a hair lower than that: sums of weights round differently from counts, and in
    another order of the rows.
    """
    return np.arange(1, max_bins) / max_bins * (1 - 1e-12)


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
    def of(cls, x: Floats, weight: Floats) -> SortedValues:
        """Sort a feature, leaving missing values out."""
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
        is_new = np.ones(len(self.values), dtype=bool)
        np.not_equal(self.values[1:], self.values[:-1], out=is_new[1:])
        return self.values[is_new]

    def thresholds(self, max_bins: int) -> Floats:
        """Return increasing thresholds t, for weak rankers ``1[x > t]``.

        All distinct values but the largest when there are at most `max_bins`, else
        weighted quantiles by the inverted distribution function. Only observed values
        are thresholds, so that a monotone map of a feature changes no model.
        """
        if len(self.distinct) <= max_bins:
            return self.distinct[:-1]
        share = quantile_levels(max_bins)
        if self.weight is None:
            place = np.ceil(share * len(self.values)).astype(np.intp) - 1
        else:
            cumulative = np.cumsum(self.weight)
            place = np.searchsorted(cumulative, share * cumulative[-1])
        quantiles = np.unique(self.values[place])
        return quantiles[quantiles < self.values[-1]]


class Digitizer:
    """Exact ``np.searchsorted(thresholds, x)`` at a few nanoseconds a value.

    A uniform grid of cells gives the number of thresholds before the cell; one
    comparison with the only threshold inside it does the rest. A cell that holds many
    thresholds, as the body of a heavy-tailed feature does, has a digitizer of its own;
    values in other cells with several thresholds are searched for.

    Parameters
    ----------
    thresholds : ndarray of shape (n_thresholds,)
        Increasing.
    """

    def __init__(self, thresholds: Floats) -> None:
        self.thresholds = thresholds
        # Two more codes than thresholds: the last bin and the missing one.
        self.dtype = np.min_scalar_type(len(thresholds) + 1)
        with np.errstate(over="ignore", divide="ignore"):
            width = thresholds[-1] - thresholds[0] if len(thresholds) > 1 else 0.0
            self._cells_per_unit = _CELLS / width if width > 0 else np.inf
        if np.isfinite(self._cells_per_unit) and self._cells_per_unit > 0:
            self._build()
        else:
            self._cells_per_unit = np.inf

    def __call__(self, x: Floats, missing: int) -> Indices:
        """Return the number of thresholds below each value, `missing` for NaN."""
        is_missing = np.isnan(x)
        if is_missing.any():
            code = np.full(x.shape, missing, dtype=self.dtype)
            code[~is_missing] = self._search(x[~is_missing])
            return code
        return self._search(x)

    def _search(self, x: Floats) -> Indices:
        if np.isinf(self._cells_per_unit) or len(x) < _CELLS:
            return np.searchsorted(self.thresholds, x).astype(self.dtype)
        cell = self._cell(x)
        code = np.asarray(self._before.take(cell))
        code += (x > self._inside.take(cell)).view(np.uint8)
        for number, (before, finer) in self._finer.items():
            inside = np.flatnonzero(cell == number)
            code[inside] = finer._search(x[inside]).astype(self.dtype) + before
        if self._is_crowded:
            search = np.flatnonzero(code == self._unknown)
            code[search] = np.searchsorted(self.thresholds, x[search])
        return code

    def _cell(self, x: Floats) -> Indices:
        with np.errstate(over="ignore"):
            place = x - self.thresholds[0]
            place *= self._cells_per_unit
        # Truncation towards zero is monotone: (-1, 1) all lands in one cell.
        np.clip(place, -1, _CELLS, out=place)
        cell = place.astype(np.int32)
        cell += 1
        return cell

    def _build(self) -> None:
        cell = self._cell(self.thresholds)
        count = np.bincount(cell, minlength=_CELLS + 2)
        self._before = (np.cumsum(count) - count).astype(self.dtype)
        self._inside = np.full(_CELLS + 2, np.inf)
        self._inside[cell[::-1]] = self.thresholds[::-1]
        crowded = count > 1
        self._finer = {}
        for number in np.flatnonzero(count >= max(4, len(cell) // 8)):
            thresholds = self.thresholds[cell == number]
            self._finer[int(number)] = self._before[number], Digitizer(thresholds)
        crowded[list(self._finer)] = False
        self._is_crowded = bool(crowded.any())
        self._unknown = len(self.thresholds) + 1  # more than any code
        self._before[crowded] = self._unknown
        self._inside[crowded] = np.inf
