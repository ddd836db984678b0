"""A listwise loss of linear scores, walked so that the features are read once a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sklearn_rank._parallel import Crew
from sklearn_rank._protocols import Floats, Indices
from sklearn_rank.objectives import Block, ListwiseLoss

_NO_SPREAD = 1e-12
"""Variance inside the queries, relative to the mean square, that is only rounding."""


class LinearListwise:
    r"""The loss :math:`L(Xw)` as a function of w, with gradient ``X.T @ dL/ds``.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_rows, n_features)
        Features, in list order.
    loss : ListwiseLoss
        L, a function of the scores.
    crew : Crew
        Threads that share the blocks.
    """

    def __init__(self, X: Any, loss: ListwiseLoss, crew: Crew) -> None:
        self._X = X
        self._loss = loss
        self._crew = crew
        lists = loss.lists
        # Slices of a sparse matrix are copies: it is taken whole.
        is_sparse = sparse.issparse(X)
        self._blocks = [lists.block(0, lists.n_queries)] if is_sparse else lists.blocks

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Return value and gradient."""

        def part(number: int) -> tuple[float, Floats]:
            block = self._blocks[number]
            rows = self._rows(block)
            value, slopes = self._loss.on_block(block, rows @ w)
            return value, rows.T @ slopes

        parts = self._crew.map(part, len(self._blocks))
        return sum(value for value, _ in parts), np.sum([slopes for _, slopes in parts], axis=0)

    def hessian(self, w: Floats, used: Indices) -> Floats:
        """Return the second derivatives with respect to the coefficients `used`."""
        matrix = np.zeros((len(used), len(used)))
        for block in self._blocks:
            rows = self._rows(block)
            c, b, p = self._loss.curvature(block, rows @ w)
            rows = rows[:, used]
            weighted = rows.multiply(c[:, None]) if sparse.issparse(rows) else rows * c[:, None]
            cross = _dense(self._sums(block, b, rows)).T @ _dense(self._sums(block, p, rows))
            matrix += _dense(weighted.T @ rows) - cross - cross.T
        return matrix

    def query_gradient(self, number: int, w: Floats) -> Floats:
        """Return the gradient of the loss of one query alone."""
        lists = self._loss.lists
        rows = self._X[lists.start[number] : lists.end[number]]
        return np.asarray(rows.T @ self._loss.query_gradient(number, rows @ w))

    def spread(self) -> Floats:
        """Return the variance of each feature inside the queries: mean curvature at w = 0."""
        variance = np.zeros(self._X.shape[1])
        square = np.zeros(self._X.shape[1])
        for block in self._blocks:
            rows, share = self._rows(block), self._loss.shares(block)
            mean = self._sums(block, share, rows)
            mean_square = _squares(rows).T @ share
            square += mean_square
            variance += mean_square - self._loss.lists.n_queries * _squares(mean).sum(axis=0)
        return np.where(variance > _NO_SPREAD * square, variance, 0.0)

    @staticmethod
    def _sums(block: Block, shares: Floats, rows: Any) -> Any:
        """Return ``sum_j shares_j x_j`` of each query."""
        pointer = np.append(block.start, block.n_rows)
        return sparse.csr_array((shares, np.arange(block.n_rows), pointer)) @ rows

    def _rows(self, block: Block) -> Any:
        return self._X if len(self._blocks) == 1 else self._X[block.rows]


def largest_row(X: Any) -> float:
    """Return the largest l2 norm of a row."""
    squares = X.multiply(X).sum(axis=1) if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)
    return float(np.sqrt(np.max(squares)))


def _squares(matrix: Any) -> Any:
    return matrix.multiply(matrix) if sparse.issparse(matrix) else matrix * matrix


def _dense(matrix: Any) -> Floats:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)
