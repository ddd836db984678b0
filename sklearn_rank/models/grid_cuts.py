"""The cuts of a grid of two features that gain most, on a table of sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank.models.cell_order import CellOrder

Side = tuple[int, Floats]
"""Number of places of ordinary values on an axis, and the weight of the rows at each place."""

_SWEEPS = 6
"""Sweeps over both axes at most."""


@dataclass(frozen=True, eq=False)
class MonotoneAxes:
    """The constraints of the axes of a grid.

    Attributes
    ----------
    signs : (int, int)
        For each axis 1 if a score must not fall along it, -1 if it must not rise, 0 otherwise.
    levels : (ndarray, ndarray)
        What the model adds so far at each place of both axes.
    """

    signs: tuple[int, int]
    levels: tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class GridGain:
    r"""The gain of second order of a grid, less what its cells cost.

    .. math:: \sum_c \Bigl( \frac{g_c^2}{h_c + \rho} - \nu \Bigr) - m \nu

    where :math:`g_c` and :math:`h_c` are the sums of first and second derivatives over the rows
    of cell c, :math:`\rho` is a ridge and :math:`\nu` the cost of a cell. It is twice
    the largest decrease of a quadratic bound of the objective. m is the number of categories of
    both features, which are sorted by what they gain.

    Attributes
    ----------
    sides : sequence of (int, ndarray)
        Of each axis the number of places of ordinary values, and the weight at each place.
    least : float
        The least weight of each group of places of ordinary values.
    ridge, noise : float
        :math:`\rho` and :math:`\nu`.
    n_sorted : int
        m.
    limits : MonotoneAxes or None
        The constraints of the axes.
    """

    sides: Sequence[Side]
    least: float
    ridge: float
    noise: float
    n_sorted: int = 0
    limits: MonotoneAxes | None = None

    def __call__(self, table: Floats, cuts: Sequence[Indices]) -> float:
        """Return the gain of a grid, given the sums of shape (2, n_places, n_places)."""
        return float(self.of_cells(self._cells(table, cuts)).sum()) - self.n_sorted * self.noise

    def monotone(self, table: Floats, cuts: Sequence[Indices]) -> float:
        r"""Return the gain of a grid within the constraints of its axes.

        With :math:`F_c` what the constrained features add in cell c so far and :math:`v_c` the
        monotone values nearest to :math:`F_c - g_c / (h_c + \rho)`, by the weights
        :math:`h_c + \rho`, each cell gains

        .. math:: -2 g_c (v_c - F_c) - (h_c + \rho) (v_c - F_c)^2 - \nu

        It need not be positive: v can't follow every cell.
        """
        assert self.limits is not None
        sums = self._cells(table, cuts)
        shape = (sums.shape[1], sums.shape[2])
        bins = [min(side[0], len(cut) + 1) for side, cut in zip(self.sides, cuts, strict=True)]
        order = CellOrder.of_grid(shape, (bins[0], bins[1]), self.limits.signs)
        one, other = map(self._level, (0, 1), cuts)
        levels = np.add.outer(one, other).ravel()
        first, second = sums.reshape(2, -1)
        weight = second + self.ridge
        step = order.nearest(levels - first / weight, weight) - levels
        gain = np.where(second > 0, -(2 * first + weight * step) * step - self.noise, 0.0)
        return float(gain.sum()) - self.n_sorted * self.noise

    def _level(self, axis: int, cuts: Indices) -> Floats:
        """Return, for each bin of an axis, what its constrained feature adds so far."""
        assert self.limits is not None
        n_values, weight = self.sides[axis]
        level = self.limits.levels[axis] * (self.limits.signs[axis] != 0)
        both = grouped(np.array([weight, weight * level])[np.newaxis], 2, cuts, n_values)[0]
        return np.divide(both[1], both[0], out=np.zeros(both.shape[1]), where=both[0] > 0)

    def _cells(self, table: Floats, cuts: Sequence[Indices]) -> Floats:
        """Return the sums by cell, of shape (2, n_bins, n_bins)."""
        for axis, cut in enumerate(cuts):
            table = grouped(table, axis + 1, cut, self.sides[axis][0])
        return table

    def of_cells(self, sums: Floats) -> Floats:
        """Return the gain of each cell, given sums of shape (2, ...); 0 of an empty one."""
        # `best_cuts` passes differences of both signs, and reads those of groups alone.
        gain: Floats = sums[0] ** 2 / np.where(sums[1] > 0, sums[1] + self.ridge, 1.0) - self.noise
        return np.where(sums[1] > 0, gain, 0.0)


def rounded(gain: Floats) -> Floats:
    """Return gains rounded to a billionth of the largest: equal ones differ by rounding errors.

    They are sums over rows, in an order that depends on the number of processes.
    """
    size = np.abs(gain, where=np.isfinite(gain), out=np.zeros_like(gain))
    unit = 1e-9 * float(size.max(initial=0))
    return np.asarray(np.round(gain / unit) * unit) if unit > 0 else gain


def grouped(sums: Floats, axis: int, cuts: Indices, n_values: int) -> Floats:
    """Return sums over groups of places of ordinary values; other places stay."""
    starts = np.concatenate([[0], cuts, np.arange(n_values, sums.shape[axis])]).astype(np.intp)
    if n_values == 0:
        starts = np.arange(sums.shape[axis])
    return np.asarray(np.add.reduceat(sums, starts, axis=axis))


def equal_cuts(n_values: int, weight: Floats, most: int) -> Indices:
    """Return cuts that divide the places of ordinary values into at most so many equal groups."""
    if n_values < 2:
        return np.zeros(0, dtype=np.intp)
    upto = np.cumsum(weight[:n_values])
    wanted = np.arange(1, most) / most * upto[-1]
    cuts = np.unique(np.searchsorted(upto, wanted * (1 - 1e-9)) + 1)
    return cuts[(cuts > 0) & (cuts < n_values)]


def best_grid(table: Floats, gain: GridGain, most: int) -> tuple[tuple[Indices, Indices], float]:
    """Return the cuts with the largest gain found, and that gain.

    From equal groups the cuts of one axis after the other are the best ones given those of the
    other, until none changes.
    """
    cuts = [equal_cuts(*side, most) for side in gain.sides]
    value = -np.inf
    for _ in range(_SWEEPS):
        for axis in (0, 1):
            sums = grouped(table, 2 - axis, cuts[1 - axis], gain.sides[1 - axis][0])
            line = sums if axis == 0 else sums.transpose(0, 2, 1)
            cuts[axis] = best_cuts(line, gain, gain.sides[axis], most)
        new = gain(table, cuts)
        if not new > value + 1e-12 * abs(new):
            break
        value = new
    return (cuts[0], cuts[1]), max(value, new)


def best_cuts(sums: Floats, gain: GridGain, side: Side, most: int) -> Indices:
    """Return the cuts of the places of ordinary values with the largest gain.

    By dynamic programming over the ends of the groups.

    Parameters
    ----------
    sums : ndarray of shape (2, n_places, n_groups)
        Sums by place and by group of the other axis.
    gain : GridGain
        What is largest.
    side : (int, ndarray)
        The axis.
    most : int
        Most groups.
    """
    n_values, weight = side
    if n_values < 2:
        return np.zeros(0, dtype=np.intp)
    upto = np.concatenate([np.zeros((2, 1, sums.shape[2])), sums[:, :n_values].cumsum(axis=1)], 1)
    heavy = np.append(0.0, weight[:n_values].cumsum())
    of_group = gain.of_cells(upto[:, np.newaxis] - upto[:, :, np.newaxis]).sum(axis=-1)
    is_enough = heavy - heavy[:, np.newaxis] >= gain.least * (1 - 1e-9)
    of_group = rounded(of_group)
    of_group[~(is_enough & np.triu(np.ones(is_enough.shape, dtype=bool), 1))] = -np.inf
    so_far, starts = [of_group[0]], []
    for _ in range(most - 1):
        through = so_far[-1][:, np.newaxis] + of_group
        starts.append(through.argmax(axis=0))
        so_far.append(through.max(axis=0))
    ends = np.array([one[-1] for one in so_far])
    if not np.isfinite(ends).any():
        return np.zeros(0, dtype=np.intp)
    cuts, end = [], n_values
    for number in range(int(ends.argmax()) - 1, -1, -1):
        end = int(starts[number][end])
        cuts.append(end)
    return np.array(cuts[::-1], dtype=np.intp)
