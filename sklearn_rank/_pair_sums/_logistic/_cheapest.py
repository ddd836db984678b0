"""The choice of the cheapest method for the sums."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.sums import Sums
from sklearn_rank._pair_sums._logistic._grid import REACH, Grid


class _Fineness(NamedTuple):
    """Width and degree of the intervals, and the largest error for one pair (measured).

    The error of the sums of the sigmoid; that of its derivative is up to a thousand times it.
    """

    step: float
    degree: int
    error: float


_FINENESSES = (
    _Fineness(1 / 128, 6, 1e-14),
    _Fineness(1 / 32, 8, 1e-14),
    _Fineness(1 / 8, 12, 3e-14),
    _Fineness(1 / 8, 10, 7e-13),
)

# Nanoseconds on one machine. Only their ratios matter, and only roughly.
_PER_ROW_AND_DEGREE, _PER_INTERVAL_AND_DEGREE, _PER_UNCACHED_ROW = 2.8, 8.0, 25.0
_PER_KERNEL_INTERVAL = 100.0
_PER_SCANNED_ROW, _SCAN = 250.0, 300e3

_MOST_CACHED = 1 << 14
"""Intervals whose polynomials stay in the second-level cache."""

_LONGEST = 131072.0
"""Longest axis of a grid: the weights of its nodes, in messages between processes, are 16 MB."""


def cheapest(low: float, high: float, n_rows: int, allowed: float) -> Grid | None:
    """Return the cheapest grid, or None where scans of sorted rows cost less.

    `allowed` is the share of a row's pairs by which its sums may be wrong.
    """
    if not high - low < _LONGEST:
        return None
    cost, grid = _cheapest_grid(low, high, n_rows, allowed)
    return grid if cost <= _SCAN + _PER_SCANNED_ROW * n_rows else None


def shared_grid(f: Floats, g: Floats, rows: Sums, allowed: float) -> Grid:
    """Return the cheapest grid for rows of several processes.

    Raises
    ------
    ValueError
        When their scores are spread too widely.
    """
    low = min((float(x.min()) for x in (f, g) if len(x)), default=np.inf)
    high = max((float(x.max()) for x in (f, g) if len(x)), default=-np.inf)
    low, high, n_rows = rows.smallest(np.array([low, -high, -(len(f) + len(g))])) * [1, -1, -1]
    if not high - low <= _LONGEST:
        raise ValueError(
            "The logistic loss of one list on several processes needs scores that differ by at "
            f"most {_LONGEST:g}. Got scores from {low:g} to {high:g}: bring the features "
            "to similar ranges, or use another loss."
        )
    return _cheapest_grid(float(low), float(high), int(n_rows), allowed)[1]


def _cheapest_grid(low: float, high: float, n_rows: int, allowed: float) -> tuple[float, Grid]:
    """Return the cost of the cheapest grid, and the grid."""
    best: list[tuple[float, Grid]] = []
    for step, degree, error in _FINENESSES:
        n_intervals = (high - low) / step + 1
        if error * 8 <= allowed:
            cost = _PER_ROW_AND_DEGREE * n_rows + _PER_INTERVAL_AND_DEGREE * n_intervals
            cost = degree * cost + _PER_UNCACHED_ROW * n_rows * (n_intervals > _MOST_CACHED)
            cost += _PER_KERNEL_INTERVAL * min(2 * REACH / step, 2 * n_intervals)
            origin = float(np.floor(low / step) * step)
            best.append((cost, Grid(origin, step, int((high - origin) / step) + 1, degree)))
    return min(best, key=lambda found: found[0])
