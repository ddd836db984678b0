"""Which way to the sums is the cheapest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_rank._protocols import Floats, Mask
from sklearn_rank.objectives._logistic._axis import Axis
from sklearn_rank.objectives._logistic._grid import TILE, Grid
from sklearn_rank.objectives._logistic._kernel import ERROR, REACH

_MOST_CELLS = 1 << 24
"""More than these would not fit into memory beside the rows."""

_SPLIT_ROW = 60.0
"""Rows are divided only where the best way without costs more than this for each."""

_CROWDS = (0.3, 1.0, 3.0)
"""Rows per unit of the axis from which on they may count as crowded."""


class _Fineness(NamedTuple):
    """Width and degree of the cells, and the largest error for one pair (measured)."""

    step: float
    degree: int
    error: float


_FINENESSES = (
    _Fineness(1 / 32, 8, 1e-14),
    _Fineness(1 / 8, 12, 3e-14),
    _Fineness(1 / 4, 14, 2e-11),
    _Fineness(1 / 2, 16, 4e-8),
)

# Nanoseconds on one machine. Only their ratios matter, and only roughly.
_PER_ROW_AND_DEGREE, _PER_CELL_AND_DEGREE, _PER_SORTED_ROW = 2.8, 8.0, 25.0
_PER_ROW_IN_PANELS, _PER_PANEL, _PER_PAIR = 35.0, 30.0, 9.0


class Split(NamedTuple):
    """Which rows have many neighbours, and the width of the panels for the others."""

    upper: Mask
    lower: Mask
    width: float


def cheapest(axis: Axis) -> Grid | Split | float:
    """Return the cheapest way: a grid, panels of some width, or both."""
    length, n_rows = axis.high - axis.low, len(axis.f) + len(axis.g)
    cost, grid = _cheapest_grid(axis, length, n_rows)
    if axis.upper is None or axis.lower is None:
        assert grid is not None
        return grid
    # The tails of exp(-|z|) beyond the panels, both sides: 2 / (1 - 1/e) times a unit.
    width = float(np.clip(np.log(3.2 * axis.density / ERROR), 4.0, REACH))
    width = max(width, length / n_rows)
    near = axis.near(axis.lower, 3 * width)
    by_panels = _panel_cost(axis, n_rows, float(axis.upper @ near), length / width)
    if min(cost, by_panels) > _SPLIT_ROW * n_rows:
        split_cost, split = _cheapest_split(axis, n_rows, width, near)
        if split is not None and split_cost < min(cost, by_panels):
            return split
    return width if by_panels < cost or grid is None else grid


def _panel_cost(axis: Axis, n_rows: float, share: float, n_panels: float) -> float:
    """Return the cost of panels with a share of the pairs near."""
    pairs = len(axis.f) * len(axis.g) * share
    return _PER_ROW_IN_PANELS * n_rows + _PER_PAIR * pairs + _PER_PANEL * n_panels


def _cheapest_grid(axis: Axis, length: float, n_rows: float) -> tuple[float, Grid | None]:
    """Return the cheapest grid over a part of the axis and its cost."""
    best: tuple[float, Grid | None] = (np.inf, None)
    for step, degree, error in _FINENESSES:
        n_cells = length / step + 1
        # An error fades with the distance of a pair as the kernel does.
        if n_cells < _MOST_CELLS and error * 4 * axis.density <= ERROR:
            cost = degree * (_PER_ROW_AND_DEGREE * n_rows + _PER_CELL_AND_DEGREE * n_cells)
            cost += _PER_SORTED_ROW * n_rows if n_cells > TILE else 0.0
            if cost < best[0]:
                origin = float(np.floor(axis.low / step) * step)
                size = int((axis.high - origin) / step) + 1
                best = cost, Grid(origin, step, size, degree)
    return best


def _cheapest_split(
    axis: Axis, n_rows: int, width: float, near: Floats
) -> tuple[float, Split | None]:
    """Return the best division of the rows by how many neighbours they have."""
    assert axis.upper is not None and axis.lower is not None
    assert axis.upper_bin is not None and axis.lower_bin is not None
    rows = axis.upper * len(axis.f) + axis.lower * len(axis.g)
    best, is_crowded = np.inf, rows < 0
    for crowd in _CROWDS:
        is_dense = rows > crowd * axis.bin_width
        n_runs = np.count_nonzero(np.diff(is_dense)) / 2 + 1
        length = np.count_nonzero(is_dense) * axis.bin_width + n_runs * REACH
        cost = _cheapest_grid(axis, length, float(rows[is_dense].sum()))[0]
        few = axis.near(np.where(is_dense, 0.0, axis.lower), 3 * width)
        share = float(axis.upper @ np.where(is_dense, few, near))
        cost += _panel_cost(axis, 2 * n_rows, share, 2 * (axis.high - axis.low) / width)
        if cost < best and not is_dense.all():
            best, is_crowded = cost, is_dense
    if not is_crowded.any():
        return np.inf, None
    return best, Split(is_crowded[axis.upper_bin], is_crowded[axis.lower_bin], width)
