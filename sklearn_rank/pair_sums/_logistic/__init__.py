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
  of the polynomials. The cost is that of the rows and of the cells.
- *panels*: where rows are so far apart that most cells would be empty, each row is
  compared with the rows of its own panel of the axis and of the two beside it.

Before either, stretches without any row are shortened, exactly (`shorten_gaps`). The
cheaper method is taken; where the density of the rows varies much, crowded panels get a
grid and the others are treated as panels.
"""

from __future__ import annotations

import numpy as np

from sklearn_rank._protocols import Floats
from sklearn_rank.pair_sums._logistic._axis import Axis, shorten_gaps
from sklearn_rank.pair_sums._logistic._cheapest import Split, cheapest
from sklearn_rank.pair_sums._logistic._grid import Grid
from sklearn_rank.pair_sums._logistic._logistic_sums import ERROR, Sums
from sklearn_rank.pair_sums._logistic._panels import by_panels
from sklearn_rank.pair_sums._logistic._row_exponentials import RowExponentials
from sklearn_rank.pair_sums._pair_sums import EMPTY, PairSums

__all__ = ["RowExponentials", "logistic_heights", "logistic_sums"]


def logistic_sums(
    f: Floats,
    a: Floats,
    g: Floats,
    b: Floats,
    with_second: bool = False,
    error: float = ERROR,
) -> PairSums:
    """Return the sums for upper rows with scores f, weights a and lower rows with g, b.

    `error` is the share of a row's pairs by which its sums may be wrong.
    """
    value, _, upper, lower = _evaluate(f, a, g, b, 2 if with_second else 1, error)
    for slopes in (upper[0], lower[0]):
        np.negative(slopes, out=slopes)
    return PairSums(value, upper[0], lower[0], *upper[1:], *lower[1:])


def logistic_heights(f: Floats, a: Floats, g: Floats, error: float = ERROR) -> Floats:
    """Return the sum over the upper rows of a * log(1 + exp(g - f)), for each lower row."""
    return _evaluate(f, a, g, np.ones(len(g)), 0, error).heights


def _evaluate(f: Floats, a: Floats, g: Floats, b: Floats, n_orders: int, error: float) -> Sums:
    """Return the sums of the sigmoid and its derivative (`n_orders` of them), or heights (0)."""
    axis = shorten_gaps(f, a, g, b)
    method = cheapest(axis, error)
    if isinstance(method, Grid):
        sums = _by_grid(axis, a, b, method, n_orders)
    elif isinstance(method, Split):
        sums = _by_density(axis, a, b, method, n_orders, error)
    else:
        sums = by_panels(axis.f, a, axis.g, b, method, n_orders)
    if axis.ramp is None:
        return sums
    heights = sums.heights if n_orders else sums.heights + axis.ramp
    return sums._replace(value=sums.value + float(b @ axis.ramp), heights=heights)


def _by_grid(axis: Axis, a: Floats, b: Floats, grid: Grid, n_orders: int) -> Sums:
    above, below = grid.arrange(axis.f, a), grid.arrange(axis.g, b)
    upper = grid.to_nodes(above)
    if not n_orders:
        heights = grid.interpolate(below, grid.softplus_sums(upper))[0]
        np.maximum(heights, 0.0, out=heights)  # rounding where all is in order
        return Sums(float(b @ heights), heights, EMPTY, EMPTY)
    lower = grid.to_nodes(below)
    # Seen from an upper row, the lower rows out of order lie above: mirror the axis.
    upper_sums = grid.interpolate(above, grid.sigmoid_sums(lower[::-1])[::-1], n_orders)
    lower_sums = grid.interpolate(below, grid.sigmoid_sums(upper), n_orders)
    upper_sums[1:] *= -1.0  # z falls with the upper row's score
    for slopes in (upper_sums[1:], lower_sums[1:]):
        np.maximum(slopes, 0.0, out=slopes)  # rounding where no row is near
    return Sums(float(lower @ grid.softplus_sums(upper)), EMPTY, upper_sums, lower_sums)


def _by_density(
    axis: Axis, a: Floats, b: Floats, split: Split, n_orders: int, error: float
) -> Sums:
    """Take the rows of crowded panels among themselves on their own, and the others by panels."""
    few, many = (np.flatnonzero(split.upper == crowded) for crowded in (False, True))
    sparse, dense = (np.flatnonzero(split.lower == crowded) for crowded in (False, True))
    everything = np.arange(len(b))
    value, heights = 0.0, np.zeros(len(b))
    upper_sums, lower_sums = np.zeros((n_orders, len(a))), np.zeros((n_orders, len(b)))
    for i, k, is_crowded in ((few, everything, False), (many, sparse, False), (many, dense, True)):
        if not (len(i) and len(k)):
            continue
        if is_crowded:
            part = _evaluate(axis.f[i], a[i], axis.g[k], b[k], n_orders, error)
        else:
            part = by_panels(axis.f[i], a[i], axis.g[k], b[k], split.width, n_orders)
        value += part.value
        if n_orders:
            upper_sums[:, i] += part.upper_sums
            lower_sums[:, k] += part.lower_sums
        else:
            heights[k] += part.heights
    return Sums(value, heights, upper_sums, lower_sums)
