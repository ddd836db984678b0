"""Rows sorted along the axis of scores."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

import numpy as np
from scipy.sparse import csr_matrix

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._pair_sums._row_histogram import scattered

_BLOCK = 1 << 17
"""Rows handled at a time. Half of them fit the second-level cache better, but threads wait for each
other between calls: longer ones are fewer."""

Memory = tuple[Indices, Floats]
"""Integers of the rows of a block, and lines of floats."""


class RowsByPanel:
    """Rows sorted into panels of one width along the axis of scores.

    Attributes
    ----------
    x, weight : ndarray of shape (n_rows,)
        Scores and weights, panel by panel.
    first : ndarray of shape (n + 1,)
        First row of each panel.
    """

    def __init__(self, x: Floats, weight: Floats, origin: float, width: float, n: int) -> None:
        self.x, self.weight = x, weight
        self._order = None
        self.first = np.array([0, len(x)])
        if n > 1:
            panel = ((x - origin) / width).astype(np.int32)
            if (panel[1:] >= panel[:-1]).all():
                self.first = np.searchsorted(panel, np.arange(n + 1))
                return
            rows = csr_matrix((len(x), n))
            rows.indices = panel
            rows.indptr = np.arange(len(x) + 1, dtype=np.int32)
            rows.data = x
            columns = rows.tocsc()  # a counting sort
            self._order, self.x, self.first = columns.indices, columns.data, columns.indptr
            self.weight = weight[self._order]

    def weighted(self, weight: Floats) -> RowsByPanel:
        """Return the rows with other weights."""
        rows = copy(self)
        rows.weight = weight if self._order is None else weight[self._order]
        return rows

    def memory(self, n_lines: int, integers: type) -> Memory:
        """Return memory for a block: one for all, since new pages cost more than the sums."""
        size = min(_BLOCK, len(self.x))
        return np.empty(size, dtype=integers), np.empty((n_lines, size))

    def blocks(self, panel: int) -> Iterator[slice]:
        """Yield the rows of a panel, some at a time."""
        return blocks(int(self.first[panel + 1]), _BLOCK, int(self.first[panel]))

    def restored(self, values: Floats) -> Floats:
        """Return rows of values, one for each of these, in the caller's order."""
        if self._order is None:
            return values
        return np.stack([scattered(each, self._order) for each in values])
