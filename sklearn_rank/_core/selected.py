"""Some rows of a matrix, in an order of their own, that are copied only where they are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse

from sklearn_rank._core.arrays import Indices, blocks

__all__ = ["Selection", "as_matrix"]

_BLOCK_VALUES = 1 << 20
"""Values of a block: 8 MiB of floats."""


class Selection:
    """Rows of a matrix that stay where they are until someone reads a block of them.

    A fit drops rows, sorts them, and makes equal ones one: each would copy all features. Indexing
    this composes the positions instead, and copies nothing.

    Parameters
    ----------
    matrix : {ndarray, sparse matrix} of shape (n_all, n_features)
        All rows.
    rows : ndarray of shape (n_rows,) or None
        Positions of the selected rows, in their order; None for all, as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank._core.selected import Selection
    >>> X = Selection(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    >>> some = X[np.array([2, 0, 1])][:2]
    >>> some.shape
    (2, 2)
    >>> some.copied()
    array([[5., 6.],
           [1., 2.]])
    >>> some[:, 1]  # a column
    array([6., 2.])
    """

    def __init__(self, matrix: Any, rows: Indices | None = None) -> None:
        self.matrix, self.rows = matrix, rows
        n_rows = matrix.shape[0] if rows is None else len(rows)
        self.shape: tuple[int, int] = (n_rows, matrix.shape[1])

    def __getitem__(self, key: Any) -> Any:
        """Return selected rows of these; of ``[:, j]`` the values of a feature."""
        if isinstance(key, tuple):
            every, feature = key
            column = self.matrix[every, feature]
            return column if self.rows is None else column[self.rows]
        if self.rows is not None:
            return Selection(self.matrix, self.rows[key])
        if isinstance(key, slice) and key.step in (None, 1):  # a view
            return Selection(self.matrix[key])
        return Selection(self.matrix, np.arange(self.shape[0])[key])

    @classmethod
    def of(cls, X: Any) -> Selection:
        """Return selected rows as they are, and all rows of a matrix."""
        return X if isinstance(X, Selection) else cls(X)

    @property
    def is_sparse(self) -> bool:
        """Whether values that are zero are not stored."""
        return bool(issparse(self.matrix))

    def copied(self) -> Any:
        """Return the rows as a matrix; without a selection the matrix itself."""
        return self.matrix if self.rows is None else self.matrix[self.rows]

    def parts(self) -> Iterator[Any]:
        """Yield matrices of consecutive rows, of a size that does not count beside the matrix."""
        for part in blocks(self.shape[0], self.rows_in_part):
            yield self[part].copied()

    @property
    def rows_in_part(self) -> int:
        """How many rows `parts` yields at a time."""
        return max(1, _BLOCK_VALUES // max(self.shape[1], 1))


def as_matrix(X: Any) -> Any:
    """Return selected rows as a matrix, and a matrix as it is."""
    return X.copied() if isinstance(X, Selection) else X
