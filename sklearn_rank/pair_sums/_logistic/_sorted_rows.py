"""Rows sorted along the axis of scores."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_matrix

from sklearn_rank._protocols import Floats, Values
from sklearn_rank.pair_sums._row_histogram import Histogram

BLOCK = 1 << 16
"""Rows or pairs handled at a time: their temporaries stay in the second-level cache."""


class Rows:
    """Rows sorted into panels of one width along the axis of scores.

    Attributes
    ----------
    x, weight : ndarray of shape (n_rows,)
        Scores and weights, panel by panel.
    first : ndarray of shape (n_panels + 1,)
        First row of each panel.
    """

    def __init__(self, x: Floats, weight: Floats, origin: float, width: float, n: int) -> None:
        self.x, self.weight = x, weight
        self._order = None
        self.first = np.array([0, len(x)])
        if n > 1:
            rows = csr_matrix((len(x), n))
            rows.indices = ((x - origin) / width).astype(np.int32)
            rows.indptr = np.arange(len(x) + 1, dtype=np.int32)
            rows.data = x
            columns = rows.tocsc()  # a counting sort
            self._order, self.x, self.first = columns.indices, columns.data, columns.indptr
            self.weight = weight[self._order]

    @property
    def n_panels(self) -> int:
        """Number of panels."""
        return len(self.first) - 1

    def blocks(self, panel: int) -> Iterator[slice]:
        """Yield the rows of a panel, some at a time."""
        last = int(self.first[panel + 1])
        for start in range(int(self.first[panel]), last, BLOCK):
            yield slice(start, min(start + BLOCK, last))

    def spread(self, values: Values) -> Values:
        """Repeat values of panels to their rows."""
        return np.repeat(values, np.diff(self.first))

    def sums(self, values: Floats) -> Floats:
        """Return the sum of the rows of each panel."""
        panel = self.spread(np.arange(self.n_panels, dtype=np.int32))
        return Histogram(panel, self.n_panels)(values)

    def restored(self, values: Floats) -> Floats:
        """Return values of rows, along the last axis, in the caller's order."""
        if self._order is None:
            return values
        out = np.empty_like(values)
        out[..., self._order] = values
        return out
