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

from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.sums import Sums
from sklearn_rank._pair_sums._logistic._cheapest import cheapest, shared_grid
from sklearn_rank._pair_sums._logistic._grid import ListOnGrid
from sklearn_rank._pair_sums._logistic._row_exponentials import RowExponentials
from sklearn_rank._pair_sums._logistic._scan import SortedRows
from sklearn_rank._pair_sums.group_sums import PartSums

__all__ = ["RowExponentials", "logistic_sums"]


def logistic_sums(
    f: Floats,
    g: Floats,
    error: float = 1e-12,
    threads: ThreadPool | None = None,
    rows: Sums | None = None,
) -> PartSums:
    """Return the sums over the pairs of upper rows with scores f and lower rows with scores g.

    `error` is the share of a row's pairs by which its sums may be wrong. `threads` share
    the rows of a grid. With `rows` those here are a part of the upper and of the lower ones.
    """
    threads = threads or ThreadPool()
    if rows is not None:
        return ListOnGrid(f, g, shared_grid(f, g, rows, error), threads, rows)
    low, high = float(min(f.min(), g.min())), float(max(f.max(), g.max()))
    grid = cheapest(low, high, len(f) + len(g), error)
    if grid is not None:
        return ListOnGrid(f, g, grid, threads)
    in_order = SortedRows(f, g, error)
    grid = cheapest(0.0, in_order.length + 1.0, len(f) + len(g), error)
    if grid is None:
        return in_order
    return ListOnGrid(*in_order.without_gaps(), grid, threads, gaps=in_order)
