"""Upper and lower rows sorted together along one axis, and running sums over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.protocols import Floats, Indices, Mask

_FEW = 1 << 14
"""Numbers up to which `numpy.argsort` is as fast."""

_TINY = 2.0**-20
"""Share of the range: if half of the numbers lie within it, most buckets would be empty."""


@dataclass(frozen=True, eq=False)
class SortedSides:
    """Points of the upper and of the lower rows on a line, sorted together.

    Attributes
    ----------
    order : ndarray of shape (n_rows,)
        Rows by increasing point; the numbers of upper rows come first.
    is_upper : ndarray of shape (n_rows,)
        Which of them are upper rows.
    spacing : ndarray of shape (n_rows - 1,)
        Distance from each point to the next.
    n_upper : int
        Number of upper rows.
    """

    order: Indices
    is_upper: Mask
    spacing: Floats
    n_upper: int

    def weights(self, a: Floats, b: Floats) -> tuple[Floats, Floats]:
        """Return the weights of the sorted upper and lower rows, 0 for rows of the other kind."""
        # In place: pages of fresh arrays cost more than the sums.
        w_upper, w_lower = np.empty((2, len(self.order)))
        if (a == a[0]).all() and (b == b[0]).all():
            np.multiply(self.is_upper, a[0], out=w_upper)
            np.multiply(~self.is_upper, b[0], out=w_lower)
        else:
            np.concatenate([a, b]).take(self.order, out=w_lower, mode="clip")
            np.multiply(w_lower, self.is_upper, out=w_upper)
            w_lower -= w_upper
        return w_upper, w_lower

    def masses(self, a: Floats, b: Floats) -> tuple[Floats, Floats]:
        """Return the weight of the upper rows up to, and of the lower rows from, each point."""
        if (a == a[0]).all() and (b == b[0]).all():
            n_above = np.cumsum(self.is_upper, dtype=np.int32)  # counts are summed faster
            above = n_above * float(a[0])
            n_above -= self.is_upper
            n_above += len(self.order) - self.n_upper
            n_above -= np.arange(len(self.order), dtype=np.int32)
            return above, n_above * float(b[0])
        above, below = self.weights(a, b)
        return np.cumsum(above, out=above), np.cumsum(below[::-1], out=below[::-1])[::-1]

    def weight_before(self, a: Floats) -> Floats:
        """Return the weight of the upper rows up to each point."""
        return self.masses(a, np.zeros(len(self.order) - self.n_upper))[0]

    def split(self, values: Floats) -> tuple[Floats, Floats]:
        """Return values of the sorted rows to the upper and to the lower rows."""
        rows = scattered(values, self.order)
        return rows[: self.n_upper], rows[self.n_upper :]


def sort_sides(points: Floats, n_upper: int) -> tuple[Floats, SortedSides]:
    """Sort points, of which those of the upper rows come first, and return the order, too."""
    x, order = sort_with_order(points)
    return x, SortedSides(order, order < n_upper, np.diff(x), n_upper)


def sort_with_order(x: Floats) -> tuple[Floats, Indices]:
    """Return finite numbers in sorted order, and the order that sorts them.

    Each number is rounded down to one of equal buckets; bucket and position are packed into one
    integer, since NumPy sorts integers faster than it finds an order. Where many numbers share a
    bucket, `numpy.argsort` is used.
    """
    with np.errstate(over="ignore"):
        length = float(x.max()) - (low := float(x.min()))
    sample = np.sort(x[:: max(1, len(x) // 1000)])
    is_narrow = sample[3 * len(sample) // 4] - sample[len(sample) // 4] <= _TINY * length
    if len(x) <= _FEW or is_narrow or not 2.0**-900 < length < np.inf:
        order = np.argsort(x)
        return x[order], order
    bits, packed = len(x).bit_length(), np.arange(len(x), dtype=np.uint64)
    # A little less than the number of buckets: rounding must not reach beyond the last.
    scale = 2.0 ** (64 - bits) * (1 - 2.0**-40) / length
    for block in blocks(len(x)):  # pages of fresh arrays cost more than the sums
        bucket = ((x[block] - low) * scale).astype(np.uint64)
        bucket <<= np.uint64(bits)
        packed[block] |= bucket
    packed.sort()
    packed &= np.uint64((1 << bits) - 1)
    order = packed.view(np.int64)
    values = x.take(order, mode="clip")  # the mode spares a check of the bounds, through a buffer
    if (values[1:] < values[:-1]).any():  # some share a bucket: nearly in order
        rank = values.argsort(kind="stable")
        values, order = values[rank], order[rank]
    return values, order


def integral(spacing: Floats, mass: Floats) -> Floats:
    """Return the integral, up to each point, of a mass that is constant between points."""
    out = np.zeros(len(mass))
    np.multiply(spacing, mass[:-1], out=out[1:])
    return np.cumsum(out, out=out)


def scattered(values: Floats, order: Indices) -> Floats:
    """Return the array that ``array[order] = values`` would give, for a permutation `order`.

    A histogram with one row in each bin is faster than the assignment.
    """
    return Histogram(order.astype(np.int32, copy=False), len(order))(values)


class Histogram:
    """Sums weights per bin, a row of a sparse matrix: faster than numpy.bincount."""

    def __init__(self, bin_of_row: Indices, n_bins: int) -> None:
        self._matrix = csr_matrix((1, n_bins))
        self._matrix.indices = bin_of_row
        self._matrix.indptr = np.array([0, len(bin_of_row)], dtype=np.int32)

    def __call__(self, weight: Floats) -> Floats:
        """Return the sums."""
        self._matrix.data = weight
        return np.asarray(self._matrix.toarray()[0])
