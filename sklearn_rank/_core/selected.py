"""Rows of a matrix, selected and ordered, that are copied only where they are read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import issparse

from sklearn_rank._core.arrays import Indices, Matrix, Setting, blocks

__all__ = ["SelectedRows", "as_matrix"]

_BLOCK_VALUES = 1 << 20
"""Values of a block: 8 MiB of floats."""


class SelectedRows:
    """Selected rows of a matrix, which are copied in blocks only when they are read.

    A fit drops rows, sorts them and merges equal ones: each step would copy all features. Indexing
    a selection composes the positions instead.

    Parameters
    ----------
    matrix : {ndarray, sparse matrix} of shape (n_all, n_features)
        All rows.
    rows : ndarray of shape (n_rows,) or None
        Positions of the selected rows, in their order; None for all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank._core.selected import SelectedRows
    >>> X = SelectedRows(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    >>> rows = X[np.array([2, 0, 1])][:2]
    >>> rows.shape
    (2, 2)
    >>> rows.copied()
    array([[5., 6.],
           [1., 2.]])
    >>> rows[:, 1]  # a column
    array([6., 2.])
    """

    def __init__(self, matrix: Matrix, rows: Indices | None = None) -> None:
        self.matrix, self.rows = matrix, rows
        n_rows = matrix.shape[0] if rows is None else len(rows)
        self.shape: tuple[int, int] = (n_rows, matrix.shape[1])

    def __getitem__(self, key: Setting) -> Matrix:
        """Return a selection of these rows or, for ``[:, j]``, the values of feature j."""
        if isinstance(key, tuple):
            column = self.matrix[key]
            return column if self.rows is None else column[self.rows]
        if self.rows is not None:
            return SelectedRows(self.matrix, self.rows[key])
        if isinstance(key, slice) and key.step in (None, 1):  # a view
            return SelectedRows(self.matrix[key])
        return SelectedRows(self.matrix, np.arange(self.shape[0])[key])

    @classmethod
    def of(cls, X: Matrix) -> SelectedRows:
        """Return a selection itself, and the selection of all rows of a matrix."""
        return X if isinstance(X, SelectedRows) else cls(X)

    @property
    def is_sparse(self) -> bool:
        """Whether the matrix is sparse."""
        return bool(issparse(self.matrix))

    def copied(self) -> Matrix:
        """Return the rows as a matrix; without a selection the matrix itself."""
        return self.matrix if self.rows is None else self.matrix[self.rows]

    def parts(self) -> Iterator[Matrix]:
        """Yield matrices of consecutive rows, each at most 8 MiB."""
        for rows in blocks(self.shape[0], self.rows_in_part):
            yield self[rows].copied()

    @property
    def rows_in_part(self) -> int:
        """Number of rows of each matrix that `parts` yields."""
        return max(1, _BLOCK_VALUES // max(self.shape[1], 1))


def as_matrix(X: Matrix) -> Matrix:
    """Return selected rows as a matrix; return a matrix unchanged."""
    return X.copied() if isinstance(X, SelectedRows) else X
