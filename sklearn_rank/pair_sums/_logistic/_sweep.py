"""Sums over sorted rows: near pairs are visited, far ones count fully or not at all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sklearn_rank._parallel import ThreadPool
from sklearn_rank._protocols import Floats, Indices, Mask
from sklearn_rank.pair_sums._logistic._axis import Axis, density
from sklearn_rank.pair_sums._logistic._cheapest import cheapest_grid
from sklearn_rank.pair_sums._logistic._grid import grid_sums
from sklearn_rank.pair_sums._logistic._logistic_sums import Sums
from sklearn_rank.pair_sums._logistic._swept_pairs import NearPairs
from sklearn_rank.pair_sums._packed_sort import sort_with_order
from sklearn_rank.pair_sums._row_histogram import blocks, scattered
from sklearn_rank.pair_sums.group_sums import EMPTY

_MANY = 24
"""A row with more rows than this within reach lies in a crowd: a grid costs less."""

_LARGE = 64
"""Smaller crowds are not worth the cells around them."""

_TAILS = 3.2
"""Bound of the tails of exp(-|z|) beyond panels of the width of the reach, on both sides."""


class SortedScores:
    """Rows of both sides, sorted by score.

    Attributes
    ----------
    x, weight : ndarray of shape (n_rows,)
        Scores and weights.
    is_upper : ndarray of shape (n_rows,)
        Which of them are upper rows.
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
        self._n_upper = len(f)
        self.x, self._order = sort_with_order(np.concatenate([f, g]))
        self.is_upper = self._order < len(f)
        if (a == a[0]).all() and (b == a[0]).all():
            self.weight: Floats = np.full(len(self.x), a[0])
        else:
            self.weight = np.concatenate([a, b]).take(self._order, mode="clip")
        self.total = float(a.sum()), float(b.sum())
        self.margin = float(np.log(_TAILS / allowed))
        shares = [x.max() / total for x, total in zip((a, b), self.total, strict=True) if total]
        share = min(1.0, _MANY * float(max(shares, default=1.0)))
        self.reach = max(float(np.log(_TAILS * share / allowed)), 4.0)
        self.in_crowd, self.in_grid = _crowds(self.x, self.reach, self.margin)

    def split(self, values: Floats) -> tuple[Floats, Floats]:
        """Return values of the sorted rows to the upper and to the lower rows."""
        rows = scattered(values, self._order)
        return rows[: self._n_upper], rows[self._n_upper :]


def _crowds(x: Floats, reach: float, margin: float) -> tuple[Mask | None, Mask | None]:
    """Return which rows lie in a crowd, and which within the margin of one; None without."""
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
    """Return which of n places lie in one of the stretches."""
    change = np.zeros(n + 1, dtype=np.int32)
    np.add.at(change, first, 1)
    np.add.at(change, stop, -1)
    return np.cumsum(change, out=change)[:-1] > 0


class _Running:
    """A running sum over blocks of numbers."""

    def __init__(self) -> None:
        self.last = 0.0

    def add(self, values: Floats) -> Floats:
        """Return the sums up to each of some more numbers."""
        sums = np.cumsum(values)
        sums += self.last
        self.last = sums[-1]
        return sums


def _far_behind(rows: SortedScores) -> tuple[Floats, Floats]:
    """Return the weight of the upper rows behind each row, and the sum of their distances.

    For a row of `in_grid`, of the upper rows elsewhere.
    """
    weights, heights = np.empty((2, len(rows.x)))
    everyone, others = (_Running(), _Running()), (_Running(), _Running())
    for some in blocks(len(rows.x)):
        mass = rows.weight[some] * rows.is_upper[some]
        gap = np.diff(rows.x[some], prepend=rows.x[max(some.start - 1, 0)])
        weights[some], heights[some] = _behind(mass, gap, *everyone)
        if rows.in_grid is not None:
            inside = rows.in_grid[some]
            found = _behind(mass * ~inside, gap, *others)
            np.copyto(weights[some], found[0], where=inside)
            np.copyto(heights[some], found[1], where=inside)
    return weights, heights


def _behind(mass: Floats, gap: Floats, weight: _Running, height: _Running) -> tuple[Floats, Floats]:
    """Go on by some rows: the weight up to each, and the sum of its distances."""
    before = weight.last
    behind = weight.add(mass)
    growth = gap.copy()
    growth[0] *= before
    growth[1:] *= behind[:-1]
    return behind, height.add(growth)


def far_sums(rows: SortedScores) -> tuple[Floats, Floats]:
    """Return each row's weight of pairs out of order, and of lower rows their distances.

    The pairs of two rows of `in_grid` are left out.
    """
    weights, heights = _far_behind(rows)
    everyone, others = _Running(), _Running()
    for some in reversed(list(blocks(len(rows.x)))):
        mass = (rows.weight[some] * ~rows.is_upper[some])[::-1]
        ahead = everyone.add(mass)[::-1]
        if rows.in_grid is not None:
            inside = rows.in_grid[some]
            np.copyto(ahead, others.add(mass * ~inside[::-1])[::-1], where=inside)
        np.copyto(weights[some], ahead, where=rows.is_upper[some])
    return weights, heights


def by_sweep(axis: Axis, a: Floats, b: Floats, allowed: float, n_orders: int) -> Sums:
    """Sort all rows; near pairs are visited, or left to a grid where there are many of them."""
    rows = SortedScores(axis.f, a, axis.g, b, allowed)
    far, heights = far_sums(rows)
    value, sums = _near_sums(rows, n_orders)
    if n_orders:
        sums[0] += far
    else:
        heights += sums[0]
    if rows.in_grid is not None:
        value += _add_crowds(rows, rows.in_grid, allowed, sums if n_orders else sums[:0], heights)
    if not n_orders:
        heights = rows.split(heights)[1]
        return Sums(float(b @ heights), heights, EMPTY, EMPTY)
    value += _lower_sum(rows, heights)
    np.maximum(sums, 0.0, out=sums)  # rounding where no row is near
    upper, lower = zip(*map(rows.split, sums), strict=True)
    return Sums(value, EMPTY, np.stack(upper), np.stack(lower))


def _lower_sum(rows: SortedScores, values: Floats) -> float:
    """Return the sum of values by the weights of the lower rows."""
    return sum(
        float((rows.weight[some] * ~rows.is_upper[some]) @ values[some])
        for some in blocks(len(values))
    )


def _near_sums(rows: SortedScores, n_orders: int) -> tuple[float, Floats]:
    """Return the sums over near pairs; rows in crowds have none that are not left to the grid."""
    if rows.in_crowd is None or rows.in_grid is None:
        near = NearPairs(rows.x, rows.weight, rows.is_upper, None, n_orders)
        near.visit(rows.reach)
        return near.value, near.sums
    chosen = np.flatnonzero(~rows.in_crowd)
    sums = np.zeros((max(n_orders, 1), len(rows.x)))
    x, weight, is_upper = rows.x[chosen], rows.weight[chosen], rows.is_upper[chosen]
    near = NearPairs(x, weight, is_upper, rows.in_grid[chosen], n_orders)
    near.visit(rows.reach)
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
    is_upper = rows.is_upper[crowd]
    sides = crowd[is_upper], crowd[~is_upper]
    if not (len(sides[0]) and len(sides[1])):
        return 0.0
    x = _without_gaps(rows, crowd, is_upper, heights)
    f, g, a, b = x[is_upper], x[~is_upper], rows.weight[sides[0]], rows.weight[sides[1]]
    axis = Axis(f, g, 0.0, float(x[-1]))
    axis = replace(axis, density=density(axis, a, b, rows.total))
    part = grid_sums(axis, a, b, cheapest_grid(axis, allowed)[1], len(sums), ThreadPool())
    if not len(sums):
        heights[sides[1]] += part.heights
    for out, *both in zip(sums, part.upper_sums, part.lower_sums, strict=True):
        for side, values in zip(sides, both, strict=True):
            out[side] += values
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
