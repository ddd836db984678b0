"""Thresholds of a feature, and the number of the bin a value falls into."""

from __future__ import annotations

import numpy as np

from sklearn_rank._protocols import Floats, Indices

_CELLS = 4096
"""Cells of a lookup table: small enough for the first-level cache."""


def weighted_thresholds(values: Floats, weight: Floats, max_bins: int) -> Floats:
    """Return increasing thresholds t, for weak rankers ``1[x > t]``.

    All distinct values but the largest when there are at most `max_bins`, else weighted
    quantiles by the inverted distribution function. Only observed values are
    thresholds, so that a monotone map of a feature changes no model.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Values of one feature, none missing.
    weight : ndarray of shape (n,)
        Their multiplicities.
    max_bins : int
        Largest number of bins.
    """
    by_value = np.argsort(values) if np.ptp(weight) > 0 else None
    ordered = np.sort(values) if by_value is None else values[by_value]
    first = np.flatnonzero(np.diff(ordered, prepend=np.nan) != 0)
    if len(first) <= max_bins:
        return ordered[first[:-1]]
    share = np.arange(1, max_bins) / max_bins
    # A hair less than asked for: sums of weights round differently from counts.
    if by_value is None:
        place = np.ceil(share * len(ordered) * (1 - 1e-12)).astype(np.intp) - 1
    else:
        cumulative = np.cumsum(weight[by_value])
        place = np.searchsorted(cumulative, share * cumulative[-1] * (1 - 1e-12))
    quantiles = np.unique(ordered[place])
    return quantiles[quantiles < ordered[-1]]


class Digitizer:
    """Exact ``np.searchsorted(thresholds, x)`` at a few nanoseconds a value.

    A uniform grid of cells gives the number of thresholds before the cell; one
    comparison with the only threshold inside it does the rest. Values in a cell with
    several thresholds are searched for.

    Parameters
    ----------
    thresholds : ndarray of shape (n_thresholds,)
        Increasing.
    """

    def __init__(self, thresholds: Floats) -> None:
        self.thresholds = thresholds
        # Two more codes than thresholds: the last bin and the missing one.
        self.dtype = np.uint8 if len(thresholds) <= 254 else np.uint16
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
        if self._crowded.any():
            search = np.flatnonzero(self._crowded.take(cell))
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
        self._crowded = count > 1
