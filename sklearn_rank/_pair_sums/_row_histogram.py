"""Sums of rows by bin."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from sklearn_rank._core.protocols import Floats, Indices


def scattered(values: Floats, order: Indices) -> Floats:
    """Return the array that ``array[order] = values`` makes of an order of all its rows.

    As a histogram with one row in each bin: faster than the assignment.
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
