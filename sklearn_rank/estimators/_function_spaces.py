"""Where kernel models live: linear functions, or combinations of kernel functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn

from sklearn_rank._protocols import Floats, Indices, RowView

Kernel = Callable[[Any, Any], Floats]
"""Maps two sets of rows to the matrix of their kernel values."""

_MEBIBYTE = 1 << 20
_PARTS = 16
"""A block takes this part of the working memory: kernels need room beside the result."""


def working_rows(n_columns: int, parts: int = _PARTS) -> int:
    """Return how many rows of so many floats fit into a part of the working memory."""
    budget = sklearn.get_config()["working_memory"] * _MEBIBYTE
    return max(1, int(budget / parts / (8 * max(n_columns, 1))))


def row_blocks(n_rows: int, size: int) -> Iterator[slice]:
    """Yield consecutive slices of at most `size` rows."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


@dataclass(frozen=True, eq=False)
class LinearSpace:
    r"""Functions :math:`f(x) = w \cdot x`, with the inner product of their weights.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_rows, n_features)
        The training rows.
    """

    X: Any

    @property
    def n_coefficients(self) -> int:
        """Number of weights."""
        return int(self.X.shape[1])

    def square_norms(self) -> Floats:
        """Return the kernel of each row with itself."""
        if isinstance(self.X, np.ndarray):
            return np.einsum("nj,nj->n", self.X, self.X)
        return np.asarray(self.X.multiply(self.X).sum(axis=1)).ravel()

    def element(self, coefficients: Floats) -> Floats:
        """Return the weights, which are their own dual."""
        return np.stack([coefficients, coefficients])

    def scores(self, element: Floats) -> Floats:
        """Return the scores of the training rows."""
        return np.asarray(self.X @ element[0])

    def representer(self, gradient: Floats) -> Floats:
        """Return the gradient by the weights."""
        return self.element(np.asarray(self.X.T @ gradient))

    def at_rows(self, rows: Indices) -> RowView:
        """Return the view from some training rows."""
        return _LinearView(self.X[rows])

    def places(self, weight: Floats) -> Floats:
        """Return a number for each row, equal for equal rows."""
        return np.asarray(self.X @ (self.X.T @ weight))


@dataclass(frozen=True, eq=False)
class _LinearView:
    X: Any

    def scores(self, coefficients: Floats) -> Floats:
        return np.asarray(self.X @ coefficients)

    def add_representer(self, coefficients: Floats, gradient: Floats) -> None:
        coefficients += self.X.T @ gradient

    def square(self, gradient: Floats) -> float:
        weights = self.X.T @ gradient
        return float(weights @ weights)


class KernelSpace:
    r"""Functions :math:`f(x) = \sum_n c_n K(x_n, x)` of the training rows.

    The kernel matrix is kept where it fits into the working memory. Where it does not,
    the blocks of its lower triangle that fit are kept, and the others computed each
    time they are needed.

    Parameters
    ----------
    kernel : callable
        Maps two sets of rows to their kernel values.
    X : {ndarray, sparse matrix} of shape (n_rows, n_features)
        The training rows.
    matrix : ndarray of shape (n_rows, n_rows) or None
        The kernel matrix where it is known.
    """

    def __init__(self, kernel: Kernel, X: Any, matrix: Floats | None = None) -> None:
        self._kernel, self._X = kernel, X
        self.n_coefficients = int(X.shape[0])
        if matrix is None and working_rows(self.n_coefficients, 1) >= self.n_coefficients:
            matrix = kernel(X, X)
        self._matrix = matrix
        self._block_rows = working_rows(self.n_coefficients)
        self._kept: dict[int, Floats] = {}
        self._diagonal = self._survey() if matrix is None else np.diagonal(matrix)

    def _survey(self) -> Floats:
        """Look at every block once, keep the largest that fit, and return the diagonal."""
        diagonal = np.empty(self.n_coefficients)
        # One block is held beside those kept, and the kernel may take twice its size.
        room = working_rows(1, 1) - 3 * working_rows(1)
        for rows in reversed(list(self._blocks())):
            block = self._kernel(self._X[rows], self._X[: rows.stop])
            diagonal[rows] = np.diagonal(block, offset=rows.start)
            if block.size <= room:
                room -= block.size
                self._kept[rows.start] = block
        return diagonal

    def _blocks(self) -> Iterator[slice]:
        return row_blocks(self.n_coefficients, self._block_rows)

    def square_norms(self) -> Floats:
        """Return the kernel of each row with itself."""
        return self._diagonal

    def element(self, coefficients: Floats) -> Floats:
        """Return coefficients and scores, their dual."""
        return np.stack([coefficients, self._product(coefficients)])

    def scores(self, element: Floats) -> Floats:
        """Return the scores of the training rows."""
        return element[1]

    def representer(self, gradient: Floats) -> Floats:
        """Return the gradient in the space: its coefficients are those by the scores."""
        return self.element(gradient)

    def at_rows(self, rows: Indices) -> RowView:
        """Return the view from some training rows."""
        if self._matrix is not None:
            return _KernelView(self._matrix[rows], rows)
        return _KernelView(self._kernel(self._X[rows], self._X), rows)

    def places(self, weight: Floats) -> Floats:
        """Return a number for each row, equal for equal rows."""
        return self._product(weight)

    def _product(self, coefficients: Floats) -> Floats:
        """Return the kernel matrix times a vector."""
        if self._matrix is not None:
            return np.asarray(self._matrix @ coefficients)
        out = np.zeros(self.n_coefficients)
        for rows in self._blocks():
            block = self._kept.get(rows.start)
            if block is None:
                block = self._kernel(self._X[rows], self._X[: rows.stop])
            out[rows] += block @ coefficients[: rows.stop]
            out[: rows.start] += block[:, : rows.start].T @ coefficients[rows]
        return out


@dataclass(frozen=True, eq=False)
class _KernelView:
    block: Floats
    rows: Indices

    def scores(self, coefficients: Floats) -> Floats:
        return np.asarray(self.block @ coefficients)

    def add_representer(self, coefficients: Floats, gradient: Floats) -> None:
        coefficients[self.rows] += gradient

    def square(self, gradient: Floats) -> float:
        return float(gradient @ self.block[:, self.rows] @ gradient)
