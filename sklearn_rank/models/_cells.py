"""Exact weighted quantiles of features, and the bin of every value, without a sort of all rows.

The values of a feature are counted in a few thousand cells. Only the rows of the cells that hold
a quantile are sorted; the others have the bin of their cell. The cells change the time that it
takes and never the result, which is a function of the values and their weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sklearn_rank._protocols import Floats, Indices
from sklearn_rank.models._binning import SortedValues, quantile_levels

_OCTAVE = 128
"""Cells between a distance from the centre and its double."""

_NEAREST, _FARTHEST = -8, 16
"""Distances that have cells of their own: powers of two of the spread of the feature."""

_FREQUENT = 1 / 64
"""Share of a sample from which on a value is frequent."""

_SIDE = (_FARTHEST - _NEAREST) * _OCTAVE

_CENTRE_CELL = _SIDE
"""The cell of a single value, the centre of the grid."""

MISSING_CELL = 2 * _SIDE + 1
"""The cell of missing values."""


class CellGrid:
    """A monotone map of the values of a feature to cells.

    Cells are narrow near the centre and wide far from it: the exponent and the first digits of
    the distance, as a float of 32 bits has them. The centre is the most frequent value, or the
    median where no value is frequent. It has a cell of its own.

    Parameters
    ----------
    sample : ndarray of shape (n,)
        Some values of the feature, from which centre and spread are taken.
    """

    def __init__(self, sample: Floats) -> None:
        distinct, count = np.unique(sample[~np.isnan(sample)], return_counts=True)
        self.centre = 0.0
        if len(distinct):
            is_frequent = count.max() > _FREQUENT * count.sum()
            self.centre = distinct[np.argmax(count) if is_frequent else len(distinct) // 2]
        with np.errstate(over="ignore", divide="ignore"):
            quarter = len(distinct) // 4
            spread = distinct[-1 - quarter] - distinct[quarter] if len(distinct) > 1 else 0.0
            # The exponent of the nearest distance becomes that of the smallest normal float.
            self._scale = 2.0 ** (-126 - _NEAREST) / spread if spread > 0 else 0.0
        if not 0 < self._scale < np.inf:
            self._scale = 1.0

    def __call__(self, x: Floats) -> Indices:
        """Return the cell of each value."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            distance = x - self.centre
            distance *= self._scale
            bits = distance.astype(np.float32).view(np.int32)
        cell = bits & 0x7FFFFFFF
        cell >>= 16
        cell -= _OCTAVE  # the nearest distance
        np.clip(cell, 1, _SIDE, out=cell)
        sign = np.right_shift(bits, 31, out=bits)  # 0 or -1
        cell ^= sign
        cell -= sign
        cell *= x != self.centre
        cell += _CENTRE_CELL
        is_missing = np.isnan(x)
        if is_missing.any():
            cell[is_missing] = MISSING_CELL
        return cell.astype(np.uint16)


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of a feature.

    Attributes
    ----------
    thresholds : ndarray of shape (n_thresholds,)
        Increasing. The last is the largest value where some are missing, else less.
    has_missing : bool
        Whether some values are missing.
    """

    thresholds: Floats
    has_missing: bool


@dataclass(frozen=True, eq=False)
class Column:
    """A feature by cells.

    Attributes
    ----------
    grid : CellGrid
        Its cells.
    cells : ndarray of shape (n_rows,)
        The cell of each row; replaced by the number of its bin.
    values_of : callable
        Returns the values of some rows.
    weight : ndarray of shape (n_rows,) or None
        Multiplicities; None when all are equal.
    """

    grid: CellGrid
    cells: Indices
    values_of: Callable[[Indices], Floats]
    weight: Floats | None

    def encode(self, max_bins: int) -> Bins:
        """Find the bins, and replace each cell by the number of thresholds below the value.

        Missing values have the number of thresholds plus one.
        """
        mass = np.bincount(self.cells, self.weight, MISSING_CELL + 1).astype(np.float64)
        occupied, has_missing = np.flatnonzero(mass[:-1]), bool(mass[-1] > 0)
        if len(occupied) > max_bins:
            thresholds, mixed = self._quantiles(mass[:-1], int(occupied[-1]), max_bins)
        else:
            thresholds, mixed = self._few_cells(max_bins)
        if not has_missing:
            thresholds = thresholds[:-1]
        self._replace_cells(thresholds, mixed)
        return Bins(thresholds, has_missing)

    def _few_cells(self, max_bins: int) -> tuple[Floats, _Rows]:
        """Return thresholds and the largest value, and the rows of cells with several values."""
        mixed, one_each = self._look_into(np.arange(MISSING_CELL))
        if not len(mixed.x):
            return one_each[~np.isnan(one_each)], mixed
        place = np.flatnonzero(self.cells != MISSING_CELL)
        x = self.values_of(place)
        observed = SortedValues(np.sort(x), None)
        if self.weight is not None and len(observed.distinct) > max_bins:
            observed = SortedValues.of(x, self.weight[place])
        return np.append(observed.thresholds(max_bins), observed.values[-1:]), mixed

    def _quantiles(self, mass: Floats, last: int, max_bins: int) -> tuple[Floats, _Rows]:
        """Return the quantiles and the largest value, and the rows of their mixed cells."""
        upto = np.cumsum(mass)
        target = quantile_levels(max_bins) * upto[-1]
        cell = np.searchsorted(upto, target)
        mixed, one_each = self._look_into(np.append(cell, last))
        chosen, largest = one_each[cell], one_each[last]
        among = np.isin(cell, mixed.cell)
        # What a quantile needs beyond the weight of the cells before its own.
        needed = (target - (upto[cell] - mass[cell]))[among]
        chosen[among] = mixed.quantiles(self.weight, cell[among], needed)
        if len(mixed.x):
            largest = max(largest, mixed.x.max())
        quantiles = np.unique(chosen)
        return np.append(quantiles[quantiles < largest], largest), mixed

    def _look_into(self, cells: Indices) -> tuple[_Rows, Floats]:
        """Return the rows of those cells that have several values, and a value of each cell.

        NaN for cells without a row.
        """
        wanted = np.zeros(MISSING_CELL + 1, dtype=bool)
        wanted[cells] = True
        wanted[_CENTRE_CELL] = False
        place = np.flatnonzero(wanted.take(self.cells))
        rows = _Rows(place, self.values_of(place), self.cells[place])
        one_each = np.full(MISSING_CELL, np.nan)
        one_each[rows.cell] = rows.x
        if _CENTRE_CELL in cells and (self.cells == _CENTRE_CELL).any():
            one_each[_CENTRE_CELL] = self.grid.centre
        is_mixed = np.zeros(MISSING_CELL, dtype=bool)
        is_mixed[rows.cell[one_each.take(rows.cell) != rows.x]] = True
        return rows.take(np.flatnonzero(is_mixed.take(rows.cell))), one_each

    def _replace_cells(self, thresholds: Floats, mixed: _Rows) -> None:
        """Replace cells by numbers of bins; rows of `mixed` cells are compared with thresholds."""
        cell = self.grid(thresholds)
        below = np.searchsorted(cell, np.arange(MISSING_CELL + 1)).astype(self.cells.dtype)
        below[MISSING_CELL] = len(thresholds) + 1
        self.cells[:] = below.take(self.cells)
        inside = np.full(MISSING_CELL + 1, np.inf)
        inside[cell] = thresholds
        code = below.take(mixed.cell) + (mixed.x > inside.take(mixed.cell))
        several = np.bincount(cell, minlength=MISSING_CELL + 1) > 1
        rest = np.flatnonzero(several.take(mixed.cell))
        code[rest] = np.searchsorted(thresholds, mixed.x[rest])
        self.cells[mixed.place] = code


@dataclass(frozen=True, eq=False)
class _Rows:
    """Some rows of a feature.

    Attributes
    ----------
    place, x, cell : ndarray of shape (n,)
        Their positions among all rows, their values and their cells.
    """

    place: Indices
    x: Floats
    cell: Indices

    def take(self, some: Indices) -> _Rows:
        """Return some of the rows."""
        return _Rows(self.place[some], self.x[some], self.cell[some])

    def quantiles(self, weight: Floats | None, cell: Indices, needed: Floats) -> Floats:
        """Return, for each `cell`, its smallest value up to which it weighs what is needed."""
        if weight is None:
            x, inside, below = np.sort(self.x), np.sort(self.cell), np.arange(len(self.x) + 1.0)
        else:
            order = np.argsort(self.x)
            x, inside = self.x[order], self.cell[order]
            below = np.concatenate([[0.0], np.cumsum(weight[self.place[order]])])
        first, end = np.searchsorted(inside, cell), np.searchsorted(inside, cell, side="right")
        place = np.searchsorted(below[1:], needed + below[first])
        return x[np.clip(place, first, end - 1)]
