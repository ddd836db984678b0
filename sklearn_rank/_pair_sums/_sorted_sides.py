"""Upper and lower rows sorted together along one axis, and running sums over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank._pair_sums._moving_order import MovingOrder
from sklearn_rank._pair_sums._row_histogram import scattered


@dataclass(frozen=True, eq=False)
class SortedSides:
    """Places of the upper and of the lower rows, sorted together.

    Attributes
    ----------
    order : ndarray of shape (n_rows,)
        Rows, the upper ones first, by rising place.
    is_upper : ndarray of shape (n_rows,)
        Which of them are upper rows.
    gap : ndarray of shape (n_rows - 1,)
        Distance from each place to the next.
    n_upper : int
        Number of upper rows.
    threads : ThreadPool
        Threads that may share the work.
    """

    order: Indices
    is_upper: Mask
    gap: Floats
    n_upper: int
    threads: ThreadPool

    def weights(self, a: Floats, b: Floats) -> tuple[Floats, Floats]:
        """Return the weights of the sorted upper rows and of the sorted lower ones, else 0."""
        # In place: pages of fresh arrays cost more than the sums.
        above, below = np.empty((2, len(self.order)))
        if (a == a[0]).all() and (b == b[0]).all():
            np.multiply(self.is_upper, a[0], out=above)
            np.multiply(~self.is_upper, b[0], out=below)
        else:
            np.concatenate([a, b]).take(self.order, out=below, mode="clip")
            np.multiply(below, self.is_upper, out=above)
            below -= above
        return above, below

    def masses(self, a: Floats, b: Floats) -> tuple[Floats, Floats]:
        """Return the weight of the upper rows up to each place, and of the lower from it on."""
        if (a == a[0]).all() and (b == b[0]).all():
            n_above = np.cumsum(self.is_upper, dtype=np.int32)  # counts are summed faster
            above = n_above * float(a[0])
            n_above -= self.is_upper
            n_above += len(self.order) - self.n_upper
            n_above -= np.arange(len(self.order), dtype=np.int32)
            return above, n_above * float(b[0])
        above, below = self.weights(a, b)
        return np.cumsum(above, out=above), np.cumsum(below[::-1], out=below[::-1])[::-1]

    def split(self, values: Floats) -> tuple[Floats, Floats]:
        """Return values of the sorted rows to the upper and to the lower rows."""
        rows = scattered(values, self.order)
        return rows[: self.n_upper], rows[self.n_upper :]


def sort_sides(
    places: Floats, n_upper: int, sort: MovingOrder | None = None
) -> tuple[Floats, SortedSides]:
    """Return places sorted, and the rows in this order; those of the upper rows come first."""
    sort = sort or MovingOrder()
    x, order = sort(places)
    return x, SortedSides(order, order < n_upper, np.diff(x), n_upper, sort.threads)


def integral(gap: Floats, mass: Floats) -> Floats:
    """Return the integral, up to each place, of a mass constant from place to place."""
    out = np.zeros(len(mass))
    np.multiply(gap, mass[:-1], out=out[1:])
    return np.cumsum(out, out=out)
