r"""Logistic loss of all pairs of two groups of rows, in time linear in the rows.

With z = g_k - f_i, the amount by which a pair is out of order, both kernels are a step
or a ramp, which sums of weights handle exactly over any distance, and a remainder that
decays:

    sigmoid(z)      = [z > 0] + s(z)      |s(z)| <= exp(-|z|), odd
    log(1 + exp(z)) = max(z, 0) + l(z)     l(z)  <= exp(-|z|), even

The derivative of the sigmoid, sigmoid(z) sigmoid(-z), has a remainder only. There are two
methods, of which the cheaper is taken:

- *grid*: the rows become weights on a uniform grid, by local polynomial interpolation,
  and the remainder is a convolution. The sums of sigmoid derivatives are the derivatives
  of the polynomials. The cost is that of the rows and of the intervals.
- *scan*: the rows are sorted, and the remainder is a sum of exponentials, which scans sum up. The
  cost is that of the rows, wherever they lie.

Rows of several processes are summed by one grid, as it is: the weights of the nodes are added up
over the processes, and each interpolates at its own rows.
"""

from __future__ import annotations

import numpy as np

from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.sums import ALL_HERE
from sklearn_rank._core.sums import Sums as RowSums
from sklearn_rank._pair_sums._logistic._cheapest import cheapest, shared_grid
from sklearn_rank._pair_sums._logistic._grid import Grid, ListOnGrid, grid_sums
from sklearn_rank._pair_sums._logistic._logistic_sums import ERROR, Sums
from sklearn_rank._pair_sums._logistic._row_exponentials import RowExponentials
from sklearn_rank._pair_sums._logistic._scan import SortedRows, scan_sums
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
    """Return the sums of sigmoid'(z): of each upper row, times b, and of each lower, times a."""
    sums = _evaluate(f, a, g, b, 2, error, threads, None)
    return sums.upper_sums[1], sums.lower_sums[1]


def logistic_part(
    f: Floats, g: Floats, error: float = ERROR, threads: ThreadPool | None = None
) -> ListOnGrid | None:
    """Return several sums by one grid; None where there is none."""
    grid = _grid_of(f, g, error)
    return None if grid is None else ListOnGrid(f, g, grid, threads or ThreadPool())


def _grid_of(f: Floats, g: Floats, error: float) -> Grid | None:
    low, high = min(f.min(), g.min()), max(f.max(), g.max())
    return cheapest(float(low), float(high), len(f) + len(g), error)


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
    threads = threads or ThreadPool()
    grid = shared_grid(f, g, rows, error) if rows else _grid_of(f, g, error)
    if grid is not None:
        return grid_sums(f, a, g, b, grid, n_orders, threads, rows or ALL_HERE)
    in_order = SortedRows(f, a, g, b)
    grid = cheapest(0.0, in_order.length + 1.0, len(f) + len(g), error)
    if grid is None:
        return scan_sums(in_order, error, n_orders)
    f, g, ramp = in_order.without_gaps()
    sums = grid_sums(f, a, g, b, grid, n_orders, threads)
    heights = sums.heights if n_orders else sums.heights + ramp
    return sums._replace(value=sums.value + float(b @ ramp), heights=heights)
