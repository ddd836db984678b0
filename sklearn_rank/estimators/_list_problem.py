"""The problem of ListNetLinear: a listwise loss of linear scores, plus a penalty, in a ball."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Floats, Indices, IterateHook
from sklearn_rank._core.sums import ALL_HERE, Sums
from sklearn_rank.solvers.list_solvers import OnlineDescent
from sklearn_rank.solvers.regularisers import Regulariser

_NO_VARIANCE = 1e-12
"""Variance inside the queries, relative to the mean square, that rounding explains."""


class BlockwiseObjective:
    """A listwise objective of linear scores, block by block: X is read once a gradient.

    Parameters
    ----------
    objective : Objective
        Has ``blocks``, ``by_block`` and, for the second derivatives, ``second_derivatives``.
    model : LinearModel
        Linear scores, in the row order of the objective.
    threads : ThreadPool
        Threads that share the blocks.
    """

    def __init__(self, objective: Any, model: Any, threads: ThreadPool) -> None:
        self._objective = objective
        self._model = model
        self._threads = threads
        # Slices of a sparse matrix are copies: it is read as one block.
        queries = objective.rows.queries
        is_one = sparse.issparse(model.X) and queries.n_groups > 0
        self._blocks = [queries.block(0, queries.n_groups)] if is_one else objective.blocks

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self._objective.n_queries)

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Return value and gradient."""

        def part(number: int) -> tuple[float, Floats]:
            block = self._blocks[number]
            model = self._model.at_rows(block.items)
            value, gradient = self._objective.by_block(block, model.scores(w))
            return value, model.pull_back(gradient)

        parts = self._threads.map(part, len(self._blocks))
        value = sum(value for value, _ in parts)
        slopes = np.sum([slopes for _, slopes in parts], axis=0) if parts else np.zeros_like(w)
        value, slopes = self._objective.sums.totals(value, slopes)
        return float(value), np.asarray(slopes)

    def _sum_of_blocks(self, part: Callable[[Any, Any], Floats], zero: Floats) -> Floats:
        """Return the sum, over blocks and processes, of a function of a block and its model."""

        def at(number: int) -> Floats:
            block = self._blocks[number]
            return part(block, self._model.at_rows(block.items))

        here = sum(self._threads.map(at, len(self._blocks)), start=zero)
        return np.asarray(self._objective.sums.total(here))

    @property
    def is_twice_differentiable(self) -> bool:
        """Whether the objective has second derivatives."""
        return hasattr(self._objective, "second_derivatives")

    def hessian(self, w: Floats, used: Indices) -> Floats:
        """Return the second derivatives by the coefficients `used`."""

        def part(block: Any, model: Any) -> Floats:
            c, b, p = self._objective.second_derivatives(block, model.scores(w))
            cross = model.group_sums(block, b, used).T @ model.group_sums(block, p, used)
            return np.asarray(model.weighted_products(c, used) - cross - cross.T)

        return self._sum_of_blocks(part, np.zeros((len(used), len(used))))

    def query_gradient(self, number: int, w: Floats) -> Floats:
        """Return the gradient of the loss of one query alone."""
        queries = self._objective.rows.queries
        model = self._model.at_rows(slice(queries.start[number], queries.end[number]))
        return np.asarray(model.pull_back(self._objective.query_gradient(number, model.scores(w))))

    def variance(self) -> Floats:
        """Return the variance of each feature inside the queries: mean curvature at w = 0.

        It is 0 for features that are constant in each query, on which the loss does not depend.
        """

        def part(block: Any, model: Any) -> Floats:
            share = self._objective.shares(block)
            mean, square = model.group_sums(block, share), model.square_sums(share)
            within = square - self._objective.n_queries * (mean * mean).sum(axis=0)
            return np.stack([within, square])

        def changes(block: Any, model: Any) -> Floats:
            X = model.X[:, unsure]
            return np.asarray((X[1:] != X[:-1])[block.positions[1:] > 0].sum(axis=0)).ravel()

        variance, square = self._sum_of_blocks(part, np.zeros((2, self._model.n_coordinates)))
        least = _NO_VARIANCE * square
        unsure = np.flatnonzero(variance <= least)
        varies = self._sum_of_blocks(changes, np.zeros(len(unsure))) > 0
        variance[unsure] = np.where(varies, least[unsure], 0.0)
        return variance


@dataclass(eq=False)
class ListProblem:
    """A mean listwise loss of linear scores, plus a penalty, in a ball.

    Attributes
    ----------
    function : BlockwiseObjective
        The loss.
    regulariser : Regulariser
        Penalty and ball.
    start : ndarray of shape (n_features,)
        The first coefficients.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Tolerance.
    on_iterate : IterateHook
        Called after each iteration.
    scale : float
        By which the scores are divided in the loss.
    descent : OnlineDescent or None
        The state of online descent, which is moved.
    rate : callable
        Maps the number of a step of online descent to its size.
    random_state : int, RandomState or None
        Seed for the order of the queries.
    rows : Sums
        Sums over all rows, if they are not all here.
    """

    function: BlockwiseObjective
    regulariser: Regulariser
    start: Floats
    max_iter: int
    tol: float
    on_iterate: IterateHook
    scale: float = 1.0
    descent: OnlineDescent | None = None
    rate: Callable[[int], float] = float
    random_state: Any = None
    rows: Sums = ALL_HERE
