"""Sums over sorted rows: near pairs are visited, far ones count fully or not at all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank._pair_sums._logistic._axis import Axis, density
from sklearn_rank._pair_sums._logistic._cheapest import cheapest_grid
from sklearn_rank._pair_sums._logistic._grid import grid_sums
from sklearn_rank._pair_sums._logistic._logistic_sums import Sums
from sklearn_rank._pair_sums._logistic._swept_pairs import NearPairs
from sklearn_rank._pair_sums._sorted_sides import SortedSides, integral, running_masses, sort_sides
from sklearn_rank._pair_sums.group_sums import EMPTY

_MANY = 24
"""A row with more rows than this within reach lies in a crowd: a grid costs less."""

_LARGE = 64
"""Smaller crowds are not worth the intervals around them."""

_TAILS = 3.2
"""Bound of the tails of exp(-|z|) beyond panels of the width of the reach, on both sides."""


class SortedScores:
    """Rows of both sides, sorted by score.

    Attributes
    ----------
    sides : SortedSides
        The rows.
    x, weight : ndarray of shape (n_rows,)
        Their scores, rising, and their weights.
    masses : tuple of two ndarrays of shape (n_rows,)
        Weights as upper and as lower rows, until they are summed up in place.
    total : tuple of two floats
        Weight of the upper and of the lower rows.
    reach, margin : float
        Distance beyond which pairs count fully or not at all: of rows outside crowds, and of
        any rows.
    in_crowd, in_grid : ndarray of shape (n_rows,), or None
        Which rows lie in a crowd, and which of them there or within the margin of one; None
        where there is no crowd. The pairs of two rows of `in_grid` are left to a grid.
    """

    def __init__(self, f: Floats, a: Floats, g: Floats, b: Floats, allowed: float) -> None:
        self.x, self.sides = sort_sides(np.concatenate([f, g]), len(f))
        self.masses = self.sides.weights(a, b)
        self.weight = self.masses[0] + self.masses[1]
        # Rows further away than this would add less than the error, were all weight there. A row
        # outside crowds has few rows at any distance, which makes its reach shorter.
        self.margin = float(np.log(_TAILS / allowed))
        self.total = float(a.sum()), float(b.sum())
        shares = [x.max() / total for x, total in zip((a, b), self.total, strict=True) if total]
        share = min(1.0, _MANY * float(max(shares, default=1.0)))
        self.reach = max(float(np.log(_TAILS * share / allowed)), 4.0)
        self.in_crowd, self.in_grid = _crowds(self.x, self.reach, self.margin)


def _crowds(x: Floats, reach: float, margin: float) -> tuple[Mask | None, Mask | None]:
    """Return which rows lie in a crowd, and which within the margin of one; None without."""
    # A crowd begins at each row that has so many others after it within reach; those that
    # overlap are one.
    is_first = x[_MANY:] - x[:-_MANY] < reach
    if not is_first.any():
        return None, None
    change = np.flatnonzero(np.diff(is_first, prepend=False, append=False))
    first, stop = change[::2], change[1::2] + _MANY
    is_new = first[1:] > stop[:-1]
    first, stop = first[np.append(True, is_new)], stop[np.append(is_new, True)]
    is_large = stop - first >= _LARGE
    first, stop = first[is_large], stop[is_large]
    if not len(first):
        return None, None
    before, after = x[first] - margin, x[stop - 1] + margin
    around = np.searchsorted(x, before), np.searchsorted(x, after, "right")
    return _covered(len(x), first, stop), _covered(len(x), *around)


def _covered(n: int, first: Indices, stop: Indices) -> Mask:
    """Return which of n places lie in one of the stretches, which may overlap."""
    change = np.zeros(n + 1, dtype=np.int32)
    np.add.at(change, first, 1)
    np.add.at(change, stop, -1)
    return np.cumsum(change, out=change)[:-1] > 0


def _far_sums(sides: SortedSides, above: Floats, below: Floats) -> tuple[Floats, Floats]:
    """Return each row's weight of pairs out of order, and of lower rows their distances."""
    behind, far = running_masses(above, below)
    np.copyto(far, behind, where=~sides.is_upper)
    return far, integral(sides.gap, behind)


def by_sweep(axis: Axis, a: Floats, b: Floats, allowed: float, n_orders: int) -> Sums:
    """Sort all rows; near pairs are visited, or left to a grid where there are many of them."""
    rows = SortedScores(axis.f, a, axis.g, b, allowed)
    if rows.in_grid is None:
        far, heights = _far_sums(rows.sides, *rows.masses)
    else:
        # The grid counts the far pairs of its rows too: they get those with rows elsewhere alone.
        elsewhere = _far_sums(rows.sides, *(one * ~rows.in_grid for one in rows.masses))
        far, heights = _far_sums(rows.sides, *rows.masses)
        np.copyto(far, elsewhere[0], where=rows.in_grid)
        np.copyto(heights, elsewhere[1], where=rows.in_grid)
    value, sums = _near_sums(rows, n_orders)
    if n_orders:
        sums[0] += far
    else:
        heights += sums[0]
    if rows.in_grid is not None:
        value += _add_crowds(rows, rows.in_grid, allowed, sums if n_orders else sums[:0], heights)
    if not n_orders:
        heights = rows.sides.split(heights)[1]
        return Sums(float(b @ heights), heights, EMPTY, EMPTY)
    np.copyto(heights, 0.0, where=rows.sides.is_upper)
    value += float(rows.weight @ heights)
    np.maximum(sums, 0.0, out=sums)  # rounding where no row is near
    upper, lower = zip(*map(rows.sides.split, sums), strict=True)
    return Sums(value, EMPTY, np.stack(upper), np.stack(lower))


def _near_sums(rows: SortedScores, n_orders: int) -> tuple[float, Floats]:
    """Return the sums over near pairs; rows in crowds have none that are not left to the grid."""
    sides = rows.sides
    chosen: slice | Indices = slice(None)
    if rows.in_crowd is not None:
        chosen = np.flatnonzero(~rows.in_crowd)
    in_grid = None if rows.in_grid is None else rows.in_grid[chosen]
    x, weight, is_upper = rows.x[chosen], rows.weight[chosen], sides.is_upper[chosen]
    near = NearPairs(x, weight, is_upper, in_grid, n_orders)
    near.visit(rows.reach)
    sums = np.zeros((len(near.sums), len(rows.x)))
    sums[:, chosen] = near.sums
    return near.value, sums


def _add_crowds(
    rows: SortedScores, in_grid: Mask, allowed: float, sums: Floats, heights: Floats
) -> float:
    """Add the sums over pairs of rows near crowds, by a grid over an axis without gaps.

    Returns what these pairs add to the value besides that of the heights, to which is added
    what shortening the gaps took away, and without `sums` the rest too.
    """
    crowd = np.flatnonzero(in_grid)
    is_upper = rows.sides.is_upper[crowd]
    upper, lower = crowd[is_upper], crowd[~is_upper]
    if not (len(upper) and len(lower)):
        return 0.0
    x = _without_gaps(rows, crowd, is_upper, heights)
    f, g, a, b = x[is_upper], x[~is_upper], rows.weight[upper], rows.weight[lower]
    axis = Axis(f, g, 0.0, float(x[-1]))
    # Where crowds are thin and many, the coarser grids that this allows save most.
    axis = replace(axis, density=density(axis, a, b, rows.total))
    part = grid_sums(axis, a, b, cheapest_grid(axis, allowed)[1], len(sums), ThreadPool())
    if not len(sums):
        heights[lower] += part.heights
    else:
        for out, of_upper, of_lower in zip(sums, part.upper_sums, part.lower_sums, strict=True):
            out[upper] += of_upper
            out[lower] += of_lower
    return part.value


def _without_gaps(rows: SortedScores, crowd: Indices, is_upper: Mask, heights: Floats) -> Floats:
    """Return places of some rows with gaps shortened to the margin; add to heights what is lost."""
    x = rows.x[crowd]
    start = np.flatnonzero(np.diff(x, prepend=-np.inf) > rows.margin)
    if len(start) == 1:
        return x - x[0]
    length = np.diff(start, append=len(x))
    low, high = x[start], x[start + length - 1]
    # Each stretch from its own start: far from zero, floats are too coarse for the margin.
    begin = np.cumsum(np.append(0.0, (high - low)[:-1] + rows.margin))
    mass = np.cumsum(np.add.reduceat(rows.weight[crowd] * is_upper, start))
    lost = np.cumsum(np.append(0.0, (low[1:] - high[:-1] - rows.margin) * mass[:-1]))
    heights[crowd] += np.repeat(lost, length)
    x -= np.repeat(low, length)
    x += np.repeat(begin, length)
    return x
