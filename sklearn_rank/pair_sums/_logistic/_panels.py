"""Sums by panels of the axis: near pairs are visited, far ones count fully or not at all."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from sklearn_rank._protocols import Floats
from sklearn_rank.pair_sums._logistic._logistic_sums import Sums
from sklearn_rank.pair_sums._logistic._sorted_rows import BLOCK, Rows

_LARGEST = 700.0
"""Largest exponent of a float, rounded down."""


def by_panels(f: Floats, a: Floats, g: Floats, b: Floats, width: float, n_orders: int = 1) -> Sums:
    """Visit the pairs of one panel or of two neighbours; others count fully or not at all."""
    low, high = min(f.min(), g.min()), max(f.max(), g.max())
    width = float(np.ceil(16 * width) / 16)  # so that multiples are not rounded
    origin = float(np.floor(16 * low) / 16)
    n = int((high - origin) / width) + 1
    upper, lower = Rows(f, a, origin, width, n), Rows(g, b, origin, width, n)
    edge = width * np.arange(n)
    heights, upper_sums, lower_sums = _near_pairs(upper, lower, n_orders)
    mass, far = upper.sums(upper.weight), np.zeros(n)
    far[2:] = np.cumsum(mass[:-2])
    # Distances from upper rows, two panels on, to the edge of the panel: all positive.
    distance = 2 * width * mass
    distance -= upper.sums(upper.weight * (upper.x - origin - upper.spread(edge)))
    ramp = np.zeros(n)
    ramp[2:] = np.cumsum(width * far[1:-1] + distance[:-2])
    heights += lower.spread(ramp)
    heights += lower.spread(far) * (lower.x - origin - lower.spread(edge))
    lower_sums[:1] += lower.spread(far)
    ahead = np.zeros(n)
    ahead[:-2] = np.cumsum(lower.sums(lower.weight)[:1:-1])[::-1]
    upper_sums[:1] += upper.spread(ahead)
    heights = lower.restored(heights)
    return Sums(float(b @ heights), heights, upper.restored(upper_sums), lower.restored(lower_sums))


def _near_pairs(upper: Rows, lower: Rows, n_orders: int) -> tuple[Floats, Floats, Floats]:
    """Sum over the pairs of one panel and of neighbouring panels.

    The pairs of a block of rows are the entries of a sparse matrix: its products with
    the weights are the sums.
    """
    number = np.arange(upper.n_panels)
    begin = upper.spread(lower.first[np.maximum(number - 1, 0)])
    end = upper.spread(lower.first[np.minimum(number + 2, upper.n_panels)])
    heights, lower_sums = np.zeros(len(lower.x)), np.zeros((n_orders, len(lower.x)))
    upper_sums = np.zeros((n_orders, len(upper.x)))
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
        margin = np.repeat(upper.x[rows], length)
        margin -= lower.x[columns][pairs.indices]
        np.minimum(margin, _LARGEST, out=margin)
        softplus, *sigmoids = _kernels(margin, n_orders)
        for order, sigmoid in enumerate(sigmoids):
            pairs.data = sigmoid
            upper_sums[order, rows] = pairs @ lower.weight[columns]
            lower_sums[order, columns] += pairs.T @ upper.weight[rows]
        pairs.data = softplus
        heights[columns] += pairs.T @ upper.weight[rows]
        start = stop
    return heights, upper_sums, lower_sums


def _kernels(margin: Floats, n_orders: int) -> list[Floats]:
    """Return log(1 + exp(-m)), then the first `n_orders` of s(-m) and s(-m) s(m).

    Here s is the sigmoid; s(m) is not taken as 1 - s(-m), which would round to 0.
    """
    odds = np.exp(margin)
    total = odds + 1.0 if n_orders > 1 else np.add(odds, 1.0, out=odds)
    kernels = [1.0 / total] if n_orders else []
    if n_orders > 1:
        odds *= kernels[0]
        odds *= kernels[0]
        kernels.append(odds)
    softplus = np.log(total, out=total)
    softplus -= margin
    return [softplus, *kernels]
