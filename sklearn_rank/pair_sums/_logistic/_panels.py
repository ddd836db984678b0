"""Sums by panels of the axis: near pairs are visited, far ones count fully or not at all."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from sklearn_rank._protocols import Floats
from sklearn_rank.pair_sums._logistic._logistic_sums import Sums
from sklearn_rank.pair_sums._logistic._sorted_rows import BLOCK, Rows

_LARGEST = 700.0
"""Largest exponent of a float, rounded down."""


def by_panels(f: Floats, a: Floats, g: Floats, b: Floats, width: float) -> Sums:
    """Visit the pairs of one panel or of two neighbours; others count fully or not at all."""
    low, high = min(f.min(), g.min()), max(f.max(), g.max())
    width = float(np.ceil(16 * width) / 16)  # so that multiples are not rounded
    origin = float(np.floor(16 * low) / 16)
    n = int((high - origin) / width) + 1
    upper, lower = Rows(f, a, origin, width, n), Rows(g, b, origin, width, n)
    edge = width * np.arange(n)
    heights, pushed, pulled = _near_pairs(upper, lower)
    mass, far = upper.sums(upper.weight), np.zeros(n)
    far[2:] = np.cumsum(mass[:-2])
    # Distances from upper rows, two panels on, to the edge of the panel: all positive.
    distance = 2 * width * mass
    distance -= upper.sums(upper.weight * (upper.x - origin - upper.spread(edge)))
    ramp = np.zeros(n)
    ramp[2:] = np.cumsum(width * far[1:-1] + distance[:-2])
    heights += lower.spread(ramp)
    heights += lower.spread(far) * (lower.x - origin - lower.spread(edge))
    pulled += lower.spread(far)
    ahead = np.zeros(n)
    ahead[:-2] = np.cumsum(lower.sums(lower.weight)[:1:-1])[::-1]
    pushed += upper.spread(ahead)
    heights = lower.restored(heights)
    return Sums(float(b @ heights), heights, upper.restored(pushed), lower.restored(pulled))


def _near_pairs(upper: Rows, lower: Rows) -> tuple[Floats, Floats, Floats]:
    """Sum over the pairs of one panel and of neighbouring panels.

    The pairs of a block of rows are the entries of a sparse matrix: its products with
    the weights are the sums.
    """
    number = np.arange(upper.n_panels)
    begin = upper.spread(lower.first[np.maximum(number - 1, 0)])
    end = upper.spread(lower.first[np.minimum(number + 2, upper.n_panels)])
    heights, pulled = np.zeros(len(lower.x)), np.zeros(len(lower.x))
    pushed = np.zeros(len(upper.x))
    upto = np.concatenate([[0], np.cumsum(end - begin, dtype=np.int64)])
    start = 0
    while start < len(begin):
        stop = max(int(np.searchsorted(upto, upto[start] + 2 * BLOCK, "right")) - 1, start + 1)
        rows, columns = slice(start, stop), slice(begin[start], end[stop - 1])
        pairs = csr_matrix((stop - start, columns.stop - columns.start))
        pairs.indptr = (upto[start : stop + 1] - upto[start]).astype(np.int32)
        length = np.diff(pairs.indptr)
        shift = begin[rows] - columns.start - pairs.indptr[:-1]
        pairs.indices = np.arange(pairs.indptr[-1], dtype=np.int32)
        pairs.indices += np.repeat(shift.astype(np.int32), length)
        order = np.repeat(upper.x[rows], length)  # by how much each pair is in order
        order -= lower.x[columns][pairs.indices]
        np.minimum(order, _LARGEST, out=order)
        odds = np.exp(order)
        odds += 1.0
        pairs.data = 1.0 / odds
        pushed[rows] = pairs @ lower.weight[columns]
        pulled[columns] += pairs.T @ upper.weight[rows]
        pairs.data = np.log(odds, out=odds)
        pairs.data -= order
        heights[columns] += pairs.T @ upper.weight[rows]
        start = stop
    return heights, pushed, pulled
