"""The choice of the cheapest method for the sums."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_rank._pair_sums._logistic._axis import Axis
from sklearn_rank._pair_sums._logistic._grid import TILE, Grid
from sklearn_rank._pair_sums._logistic._logistic_sums import REACH


class _Fineness(NamedTuple):
    """Width and degree of the intervals, and the largest error for one pair (measured).

    The error of the sums of the sigmoid; that of its derivative is up to a thousand times it.
    """

    step: float
    degree: int
    error: float


_FINENESSES = (
    _Fineness(1 / 128, 4, 2.2e-11),
    _Fineness(1 / 128, 6, 1e-14),
    _Fineness(1 / 32, 8, 1e-14),
    _Fineness(1 / 8, 12, 3e-14),
    _Fineness(1 / 8, 10, 7e-13),
    _Fineness(1 / 8, 8, 2.2e-11),
    _Fineness(1 / 4, 10, 6e-10),
    _Fineness(1 / 4, 8, 5e-9),
    _Fineness(3 / 8, 10, 2.6e-8),
)

# Nanoseconds on one machine. Only their ratios matter, and only roughly.
_PER_ROW_AND_DEGREE, _PER_INTERVAL_AND_DEGREE, _PER_SORTED_ROW = 2.8, 8.0, 25.0
_PER_KERNEL_INTERVAL = 100.0
_PER_SWEPT_ROW = 140.0

_MOST_INTERVALS = 1 << 20
"""Intervals of a grid that processes share: the weights of their nodes are a message of 16 MB."""


def cheapest(axis: Axis, allowed: float) -> Grid | None:
    """Return the cheapest grid, or None where a sweep over sorted rows costs less.

    `allowed` is the share of a row's pairs by which its sums may be wrong.
    """
    cost, grid = cheapest_grid(axis, allowed)
    return grid if cost <= _PER_SWEPT_ROW * (len(axis.f) + len(axis.g)) else None


def shared_grid(axis: Axis, n_rows: int, allowed: float) -> Grid:
    """Return the cheapest grid for rows of several processes, of which one has `n_rows`.

    Raises
    ------
    ValueError
        When it has too many intervals.
    """
    widest = _MOST_INTERVALS * max(one.step for one in _FINENESSES if one.error * 8 <= allowed)
    if not axis.high - axis.low <= widest:
        raise ValueError(
            "The logistic loss of one list on several processes needs scores that differ by at "
            f"most {widest:g}. Got scores from {axis.low:g} to {axis.high:g}: bring the features "
            "to similar ranges, or use another loss."
        )
    return cheapest_grid(axis, allowed, n_rows)[1]


def cheapest_grid(axis: Axis, allowed: float, n_rows: int | None = None) -> tuple[float, Grid]:
    """Return the cost of the cheapest grid, and the grid; by default for the rows of the axis."""
    length = axis.high - axis.low
    n_rows = len(axis.f) + len(axis.g) if n_rows is None else n_rows
    best: list[tuple[float, Grid]] = []
    for step, degree, error in _FINENESSES:
        n_intervals = length / step + 1
        # The error of a pair decays with its distance as the kernel does.
        if error * 8 * axis.density <= allowed:
            cost = degree * (_PER_ROW_AND_DEGREE * n_rows + _PER_INTERVAL_AND_DEGREE * n_intervals)
            cost += _PER_KERNEL_INTERVAL * min(2 * REACH / step, 2 * n_intervals)
            cost += _PER_SORTED_ROW * n_rows if n_intervals > TILE else 0.0
            origin = float(np.floor(axis.low / step) * step)
            size = int((axis.high - origin) / step) + 1
            best.append((cost, Grid(origin, step, size, degree)))
    return min(best, key=lambda found: found[0])
