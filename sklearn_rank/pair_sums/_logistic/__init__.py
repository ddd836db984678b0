r"""Logistic loss of all pairs of two groups of rows, in time linear in the rows.

With z = g_k - f_i, the amount by which a pair is out of order, both kernels are a step
or a ramp, which sums of weights handle exactly over any distance, and a rest that fades:

    sigmoid(z)      = [z > 0] + s(z)      |s(z)| <= exp(-|z|), odd
    log(1 + exp(z)) = max(z, 0) + l(z)     l(z)  <= exp(-|z|), even

Two ways lead to the sums:

- *grid*: the rows become weights on a uniform grid, by local polynomial interpolation,
  and the rest is a convolution. The cost is that of the rows and of the cells.
- *panels*: where rows are so far apart that most cells would be empty, each row is
  compared with the rows of its own panel of the axis and of the two beside it.

Before either, stretches without any row are shortened, exactly (`shorten_gaps`). The
cheaper way is taken; where crowds of rows and lonely rows mix, each for its own.
"""

from __future__ import annotations

import numpy as np

from sklearn_rank._protocols import Floats
from sklearn_rank.pair_sums._logistic._axis import Axis, shorten_gaps
from sklearn_rank.pair_sums._logistic._cheapest import Split, cheapest
from sklearn_rank.pair_sums._logistic._grid import Grid
from sklearn_rank.pair_sums._logistic._logistic_sums import Sums
from sklearn_rank.pair_sums._logistic._panels import by_panels
from sklearn_rank.pair_sums._pair_sums import PairSums


def logistic_sums(f: Floats, a: Floats, g: Floats, b: Floats) -> PairSums:
    """Return the sums for upper rows with scores f, weights a and lower rows with g, b."""
    sums = _evaluate(f, a, g, b, with_heights=False)
    return PairSums(sums.value, -sums.pushed, -sums.pulled)


def logistic_heights(f: Floats, a: Floats, g: Floats) -> Floats:
    """Return the sum over the upper rows of a * log(1 + exp(g - f)), for each lower row."""
    return _evaluate(f, a, g, np.ones(len(g)), with_heights=True).heights


def _evaluate(f: Floats, a: Floats, g: Floats, b: Floats, with_heights: bool) -> Sums:
    axis = shorten_gaps(f, a, g, b)
    way = cheapest(axis)
    if isinstance(way, Grid):
        sums = _by_grid(axis, a, b, way, with_heights)
    elif isinstance(way, Split):
        sums = _by_density(axis, a, b, way, with_heights)
    else:
        sums = by_panels(axis.f, a, axis.g, b, way)
    if axis.ramp is None:
        return sums
    heights = sums.heights + axis.ramp if with_heights else sums.heights
    return sums._replace(value=sums.value + float(b @ axis.ramp), heights=heights)


def _by_grid(axis: Axis, a: Floats, b: Floats, grid: Grid, with_heights: bool) -> Sums:
    above, below = grid.arrange(axis.f, a), grid.arrange(axis.g, b)
    upper, none = grid.spread(above), np.empty(0)
    if with_heights:
        heights = grid.interpolate(below, grid.softplus_sums(upper))
        np.maximum(heights, 0.0, out=heights)  # rounding where all is in order
        return Sums(float(b @ heights), heights, none, none)
    lower = grid.spread(below)
    # Seen from an upper row, the lower rows out of order lie above: mirror the axis.
    pushed = grid.interpolate(above, grid.sigmoid_sums(lower[::-1])[::-1])
    pulled = grid.interpolate(below, grid.sigmoid_sums(upper))
    return Sums(float(lower @ grid.softplus_sums(upper)), none, pushed, pulled)


def _by_density(axis: Axis, a: Floats, b: Floats, split: Split, with_heights: bool) -> Sums:
    """Take the crowded rows among themselves on their own, and the others by panels."""
    few, many = (np.flatnonzero(split.upper == crowd) for crowd in (False, True))
    sparse, dense = (np.flatnonzero(split.lower == crowd) for crowd in (False, True))
    everything = np.arange(len(b))
    value, heights, pulled = 0.0, np.zeros(len(b)), np.zeros(len(b))
    pushed = np.zeros(len(a))
    for i, k, is_crowded in ((few, everything, False), (many, sparse, False), (many, dense, True)):
        if not (len(i) and len(k)):
            continue
        if is_crowded:
            part = _evaluate(axis.f[i], a[i], axis.g[k], b[k], with_heights)
        else:
            part = by_panels(axis.f[i], a[i], axis.g[k], b[k], split.width)
        value += part.value
        if with_heights:
            heights[k] += part.heights
        else:
            pushed[i] += part.pushed
            pulled[k] += part.pulled
    return Sums(value, heights, pushed, pulled)
