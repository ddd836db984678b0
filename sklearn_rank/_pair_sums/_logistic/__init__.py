r"""Logistic loss of all pairs of two groups of rows, in time linear in the rows.

With z = g_k - f_i, the amount by which a pair is out of order, both kernels are a step
or a ramp, which sums of weights handle exactly over any distance, and a remainder that
decays:

    sigmoid(z)      = [z > 0] + s(z)      |s(z)| <= exp(-|z|), odd
    log(1 + exp(z)) = max(z, 0) + l(z)     l(z)  <= exp(-|z|), even

The derivative of the sigmoid, sigmoid(z) sigmoid(-z), has a remainder only. There are two
methods:

- *grid*: the rows become weights on a uniform grid, by local polynomial interpolation,
  and the remainder is a convolution. The sums of sigmoid derivatives are the derivatives
  of the polynomials. The cost is that of the rows and of the intervals.
- *sweep*: where rows are so far apart that most intervals would be empty, all rows are sorted,
  and each is compared with those after it until they are too far away. Crowded stretches of
  the axis are left to a grid.

Before either, stretches without any row are shortened, exactly (`shorten_gaps`). The
cheaper method is taken.

Rows of several processes are summed by one grid, as it is: the weights of the nodes are added up
over the processes, and each interpolates at its own rows.
"""

from __future__ import annotations

import numpy as np

from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.sums import Sums as RowSums
from sklearn_rank._pair_sums._logistic._axis import shared_axis, short_axis, shorten_gaps
from sklearn_rank._pair_sums._logistic._cheapest import cheapest, shared_grid
from sklearn_rank._pair_sums._logistic._grid import ListOnGrid, grid_curvatures, grid_sums
from sklearn_rank._pair_sums._logistic._logistic_sums import ERROR, Sums
from sklearn_rank._pair_sums._logistic._row_exponentials import RowExponentials
from sklearn_rank._pair_sums._logistic._sweep import by_sweep
from sklearn_rank._pair_sums.group_sums import PairSums

__all__ = [
    "RowExponentials",
    "logistic_curvatures",
    "logistic_heights",
    "logistic_part",
    "logistic_sums",
]


def logistic_sums(
    f: Floats,
    a: Floats,
    g: Floats,
    b: Floats,
    with_second: bool = False,
    error: float = ERROR,
    threads: ThreadPool | None = None,
    rows: RowSums | None = None,
) -> PairSums:
    """Return the sums for upper rows with scores f, weights a and lower rows with g, b.

    `error` is the share of a row's pairs by which its sums may be wrong. `threads` share
    the rows of a grid. With `rows` those here are a part of the upper and of the lower ones.
    """
    n_orders = 2 if with_second else 1
    value, _, upper, lower = _evaluate(f, a, g, b, n_orders, error, threads, rows)
    for slopes in (upper[0], lower[0]):
        np.negative(slopes, out=slopes)
    return PairSums(value, upper[0], lower[0], *upper[1:], *lower[1:])


def logistic_heights(
    f: Floats,
    a: Floats,
    g: Floats,
    error: float = ERROR,
    threads: ThreadPool | None = None,
    rows: RowSums | None = None,
) -> Floats:
    """Return the sum over the upper rows of a * log(1 + exp(g - f)), for each lower row."""
    return _evaluate(f, a, g, np.ones(len(g)), 0, error, threads, rows).heights


def logistic_curvatures(
    f: Floats,
    a: Floats,
    g: Floats,
    b: Floats,
    error: float = ERROR,
    threads: ThreadPool | None = None,
) -> tuple[Floats, Floats]:
    """Return the sums of sigmoid'(z) alone: of each upper row, times b, and of each lower, times a.

    On a grid they cost less than half of all sums, and are as exact as the others.
    """
    axis = shorten_gaps(f, a, g, b)
    grid = cheapest(axis, error)
    if grid is None:
        sums = by_sweep(axis, a, b, error, 2)
        return sums.upper_sums[1], sums.lower_sums[1]
    return grid_curvatures(axis, a, b, grid, threads or ThreadPool())


def logistic_part(
    f: Floats, g: Floats, error: float = ERROR, threads: ThreadPool | None = None
) -> ListOnGrid | None:
    """Return several sums by one grid; None where there is none, or the axis needs weights."""
    axis = short_axis(f, g)
    grid = None if axis is None else cheapest(axis, error)
    return None if axis is None or grid is None else ListOnGrid(axis, grid, threads or ThreadPool())


def _evaluate(
    f: Floats,
    a: Floats,
    g: Floats,
    b: Floats,
    n_orders: int,
    error: float,
    threads: ThreadPool | None,
    rows: RowSums | None,
) -> Sums:
    """Return the sums of the sigmoid and its derivative (`n_orders` of them), or heights (0)."""
    if rows is not None:
        axis, n_rows = shared_axis(f, g, rows)
        shared = shared_grid(axis, n_rows, error)
        return grid_sums(axis, a, b, shared, n_orders, threads or ThreadPool(), rows)
    axis = shorten_gaps(f, a, g, b)
    grid = cheapest(axis, error)
    if grid is None:
        sums = by_sweep(axis, a, b, error, n_orders)
    else:
        sums = grid_sums(axis, a, b, grid, n_orders, threads or ThreadPool())
    if axis.ramp is None:
        return sums
    heights = sums.heights if n_orders else sums.heights + axis.ramp
    return sums._replace(value=sums.value + float(b @ axis.ramp), heights=heights)
