"""A listwise loss of linear scores, walked so that the features are read once a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sklearn_rank._parallel import ThreadPool
from sklearn_rank._protocols import Floats, Indices
from sklearn_rank.grouping import Block
from sklearn_rank.objectives import ListwiseLoss

_FEW_ROWS = 16_384
"""Rows of which a copy is no burden."""

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
    threads : ThreadPool
        Threads that share the blocks.
    """

    def __init__(self, X: Any, loss: ListwiseLoss, threads: ThreadPool) -> None:
        self._X = X
        self._loss = loss
        self._threads = threads
        # Slices of a sparse matrix are copies: it is taken whole.
        is_sparse = sparse.issparse(X)
        self._blocks = [loss.rows.queries.block(0, loss.n_queries)] if is_sparse else loss.blocks

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Return value and gradient."""

        def part(number: int) -> tuple[float, Floats]:
            block = self._blocks[number]
            rows = self._rows(block)
            value, slopes = self._loss.on_block(block, rows @ w)
            return value, rows.T @ slopes

        parts = self._threads.map(part, len(self._blocks))
        return sum(value for value, _ in parts), np.sum([slopes for _, slopes in parts], axis=0)

    def hessian(self, w: Floats, used: Indices) -> Floats:
        """Return the second derivatives with respect to the coefficients `used`."""
        matrix = np.zeros((len(used), len(used)))
        for block in self._blocks:
            rows = self._rows(block)
            c, b, p = self._loss.curvature(block, rows @ w)
            cross = self._sums(block, b, rows, used).T @ self._sums(block, p, rows, used)
            matrix += _weighted_products(rows, c, used) - cross - cross.T
        return matrix

    def query_gradient(self, number: int, w: Floats) -> Floats:
        """Return the gradient of the loss of one query alone."""
        queries = self._loss.rows.queries
        rows = self._X[queries.start[number] : queries.end[number]]
        return np.asarray(rows.T @ self._loss.query_gradient(number, rows @ w))

    def spread(self) -> Floats:
        """Return the variance of each feature inside the queries: mean curvature at w = 0."""
        variance = np.zeros(self._X.shape[1])
        square = np.zeros(self._X.shape[1])
        for block in self._blocks:
            rows, share = self._rows(block), self._loss.shares(block)
            mean = self._sums(block, share, rows)
            mean_square = _squares(rows, share)
            square += mean_square
            variance += mean_square - self._loss.n_queries * (mean * mean).sum(axis=0)
        return np.where(variance > _NO_SPREAD * square, variance, 0.0)

    @staticmethod
    def _sums(block: Block, shares: Floats, rows: Any, used: Any = slice(None)) -> Floats:
        """Return ``sum_j shares_j x_j`` of each query, for some of the features."""
        pointer = np.append(block.start, block.n_items)
        sums = sparse.csr_array((shares, np.arange(block.n_items), pointer)) @ rows
        return np.asarray((sums.toarray() if sparse.issparse(sums) else sums)[:, used])

    def _rows(self, block: Block) -> Any:
        return self._X if len(self._blocks) == 1 else self._X[block.items]


def largest_row(X: Any) -> float:
    """Return the largest l2 norm of a row."""
    squares = X.multiply(X).sum(axis=1) if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)
    return float(np.sqrt(np.max(squares)))


def _squares(rows: Any, weight: Floats) -> Floats:
    """Return the weighted sum of squares of each feature."""
    if sparse.issparse(rows):
        return np.asarray(rows.multiply(rows).T @ weight)
    return np.asarray(np.einsum("i,ij,ij->j", weight, rows, rows))


def _weighted_products(rows: Any, weight: Floats, used: Indices) -> Floats:
    """Return ``rows' diag(weight) rows`` for some of the features."""
    if sparse.issparse(rows):
        some = rows[:, used]
        return np.asarray((some.multiply(weight[:, None]).T @ some).toarray())
    products = np.zeros((len(used), len(used)))
    for first in range(0, len(weight), _FEW_ROWS):
        some = rows[first : first + _FEW_ROWS][:, used]
        products += (some * weight[first : first + _FEW_ROWS, None]).T @ some
    return products
