"""The choice of the cheapest method for the sums."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_rank._protocols import Floats, Mask, Values
from sklearn_rank.pair_sums._logistic._axis import Axis
from sklearn_rank.pair_sums._logistic._grid import TILE, Grid
from sklearn_rank.pair_sums._logistic._logistic_sums import REACH

_MOST_CELLS = 1 << 24
"""More than these would not fit into memory beside the rows."""

_SPLIT_ROW = 60.0
"""Rows are divided only where one method for all costs more than this for each."""

_MANY_ROWS = 40
"""A panel with more rows than this is crowded: a grid, or narrower panels, cost less."""


class _Fineness(NamedTuple):
    """Width and degree of the cells, and the largest error for one pair (measured).

    The error of the sums of the sigmoid; that of its derivative is up to a thousand times it.
    """

    step: float
    degree: int
    error: float


_FINENESSES = (
    _Fineness(1 / 128, 4, 2.2e-11),
    _Fineness(1 / 32, 8, 1e-14),
    _Fineness(1 / 8, 12, 3e-14),
    _Fineness(1 / 4, 14, 2e-11),
    _Fineness(1 / 2, 16, 4e-8),
)

# Nanoseconds on one machine. Only their ratios matter, and only roughly.
_PER_ROW_AND_DEGREE, _PER_CELL_AND_DEGREE, _PER_SORTED_ROW = 2.8, 8.0, 25.0
_PER_KERNEL_CELL = 100.0
_PER_ROW_IN_PANELS, _PER_PANEL, _PER_PAIR, _PER_CROWDED_ROW = 35.0, 30.0, 9.0, 100.0


class Split(NamedTuple):
    """Which rows have many neighbours, and the width of the panels for the others."""

    upper: Mask
    lower: Mask
    width: float


def cheapest(axis: Axis, allowed: float) -> Grid | Split | float:
    """Return the cheapest method: a grid, panels of some width, or both.

    `allowed` is the share of a row's pairs by which its sums may be wrong.
    """
    length, n_rows = axis.high - axis.low, len(axis.f) + len(axis.g)
    by_grid, grid = _cheapest_grid(axis, length, n_rows, allowed)
    if grid is not None and by_grid <= _SPLIT_ROW * n_rows:
        return grid
    # The tails of exp(-|z|) beyond the panels, both sides: 2 / (1 - 1/e) times a unit.
    width = float(np.clip(np.log(3.2 * axis.density / allowed), 4.0, REACH))
    width = max(width, length / n_rows)
    upper, lower = (((x - axis.low) / width).astype(np.intp) for x in (axis.f, axis.g))
    n = int(length / width) + 1
    n_upper, n_lower = np.bincount(upper, minlength=n), np.bincount(lower, minlength=n)
    near = _with_neighbours(n_lower)
    by_panels = _panel_cost(n_rows, n, float(n_upper @ near))
    is_crowded = n_upper + n_lower > _MANY_ROWS
    n_crowded = int((n_upper + n_lower)[is_crowded].sum())
    few = _with_neighbours(np.where(is_crowded, 0, n_lower))
    by_both = _panel_cost(2 * n_rows, 2 * n, float(n_upper @ np.where(is_crowded, few, near)))
    by_both += _PER_CROWDED_ROW * n_crowded
    if by_both < min(by_grid, by_panels) and n_crowded < n_rows:
        return Split(is_crowded[upper], is_crowded[lower], width)
    return width if by_panels < by_grid or grid is None else grid


def _with_neighbours(count: Values) -> Floats:
    """Return the rows of each panel and of the two beside it."""
    padded = np.pad(count.astype(np.float64), 1)
    return padded[:-2] + padded[1:-1] + padded[2:]


def _panel_cost(n_rows: int, n_panels: int, n_pairs: float) -> float:
    return _PER_ROW_IN_PANELS * n_rows + _PER_PANEL * n_panels + _PER_PAIR * n_pairs


def _cheapest_grid(
    axis: Axis, length: float, n_rows: int, allowed: float
) -> tuple[float, Grid | None]:
    """Return the cost of the cheapest grid, and the grid."""
    best: tuple[float, Grid | None] = (np.inf, None)
    for step, degree, error in _FINENESSES:
        n_cells = length / step + 1
        # The error of a pair decays with its distance as the kernel does.
        if n_cells < _MOST_CELLS and error * 4 * axis.density <= allowed:
            cost = degree * (_PER_ROW_AND_DEGREE * n_rows + _PER_CELL_AND_DEGREE * n_cells)
            cost += _PER_KERNEL_CELL * min(2 * REACH / step, 2 * n_cells)
            cost += _PER_SORTED_ROW * n_rows if n_cells > TILE else 0.0
            if cost < best[0]:
                origin = float(np.floor(axis.low / step) * step)
                size = int((axis.high - origin) / step) + 1
                best = cost, Grid(origin, step, size, degree)
    return best
