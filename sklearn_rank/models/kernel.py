"""Kernel models: weighted sums of the kernel functions of the training rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Floats, Indices, RowView

Kernel = Callable[[Any, Any], Floats]
"""Maps two sets of rows to the matrix of their kernel values."""

_MEBIBYTE = 1 << 20
_STRIPES, _PIECES = 16, 4
"""Stripes of rows of a matrix, and pieces of a block of it, that threads share."""

_BLOCKS_IN_MEMORY = 16
"""Blocks that would fill the working memory: kernels need more memory than their result."""


def working_rows(n_columns: int, divisor: int = _BLOCKS_IN_MEMORY) -> int:
    """Return how many rows of `n_columns` floats fit into the working memory / `divisor`."""
    n_bytes = sklearn.get_config()["working_memory"] * _MEBIBYTE
    return max(1, int(n_bytes / divisor / (8 * max(n_columns, 1))))


class KernelModel:
    r"""Functions :math:`f(x) = \sum_n c_n K(x_n, x)` of the training rows.

    The kernel matrix is kept where it fits into the working memory. Else the blocks of its lower
    triangle that fit are kept, and the others are computed whenever they are needed.

    Parameters
    ----------
    kernel : callable
        Maps two sets of rows to their kernel values.
    X : {ndarray, sparse matrix} of shape (n_rows, n_features)
        The training rows.
    matrix : ndarray of shape (n_rows, n_rows) or None
        The kernel matrix; None to compute it.
    threads : ThreadPool or None
        Threads that compute rows of it.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        matrix: Floats | None = None,
        threads: ThreadPool | None = None,
    ) -> None:
        self._kernel, self._X, self._threads = kernel, X, threads or ThreadPool(1)
        self.n_coordinates = int(X.shape[0])
        if matrix is None and working_rows(self.n_coordinates, 1) >= self.n_coordinates:
            matrix = self._whole_matrix()
        self._matrix = matrix
        self._block_rows = working_rows(self.n_coordinates)
        self._kept_blocks: dict[int, Floats] = {}
        self._diagonal = self._keep_blocks() if matrix is None else np.diagonal(matrix)

    def _whole_matrix(self) -> Floats:
        """Compute the stripes of the lower triangle and mirror them."""
        matrix = np.empty((self.n_coordinates, self.n_coordinates))
        # The longest first, so that threads end at about the same time.
        stripes = list(blocks(self.n_coordinates, -(-self.n_coordinates // _STRIPES)))[::-1]

        def fill(index: int) -> None:
            rows = stripes[index]
            stripe = self._kernel(self._X[rows], self._X[: rows.stop])
            matrix[rows, : rows.stop] = stripe
            matrix[: rows.start, rows] = stripe[:, : rows.start].T

        self._threads.map(fill, len(stripes))
        return matrix

    def _block(self, rows: slice) -> Floats:
        """Compute the kernel of some rows with themselves and all earlier rows."""
        n_rows = rows.stop - rows.start
        block = np.empty((n_rows, rows.stop))
        pieces = list(blocks(n_rows, -(-n_rows // _PIECES)))

        def fill(index: int) -> None:
            piece = pieces[index]
            X = self._X[rows.start + piece.start : rows.start + piece.stop]
            block[piece] = self._kernel(X, self._X[: rows.stop])

        self._threads.map(fill, len(pieces))
        return block

    def _keep_blocks(self) -> Floats:
        """Compute each block once, keep the largest blocks that fit, and return the diagonal."""
        diagonal = np.empty(self.n_coordinates)
        # Beside the kept blocks there is one more, whose kernel may need twice its size.
        free_values = working_rows(1, 1) - 3 * working_rows(1)
        for rows in reversed(list(self._blocks())):
            block = self._block(rows)
            diagonal[rows] = np.diagonal(block, offset=rows.start)
            if block.size <= free_values:
                free_values -= block.size
                self._kept_blocks[rows.start] = block
        return diagonal

    def _blocks(self) -> Iterator[slice]:
        return blocks(self.n_coordinates, self._block_rows)

    def square_norms(self) -> Floats:
        """Return the kernel of each row with itself."""
        return self._diagonal

    def element(self, coefficients: Floats) -> Floats:
        """Return coefficients and scores, their dual."""
        return np.stack([coefficients, self._product(coefficients)])

    def element_scores(self, element: Floats) -> Floats:
        """Return the scores of the training rows, which are the dual of the coefficients."""
        return element[1]

    def representer(self, gradient: Floats) -> Floats:
        """Return the gradient in the space.

        Its coefficients are the gradient with respect to the scores.
        """
        return self.element(gradient)

    def at_rows(self, rows: Indices) -> RowView:
        """Return the view of some training rows."""
        if self._matrix is not None:
            return _KernelView(self._matrix[rows], rows)
        return _KernelView(self._kernel(self._X[rows], self._X), rows)

    def _product(self, coefficients: Floats) -> Floats:
        """Return the kernel matrix times a vector."""
        if self._matrix is not None:
            return np.asarray(self._matrix @ coefficients)
        product = np.zeros(self.n_coordinates)
        for rows in self._blocks():
            block = self._kept_blocks.get(rows.start)
            if block is None:
                block = self._block(rows)
            product[rows] += block @ coefficients[: rows.stop]
            product[: rows.start] += block[:, : rows.start].T @ coefficients[rows]
        return product


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
