"""The mean of a listwise loss over the queries."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.sums import ALL_HERE, Block, Queries, Sums
from sklearn_rank.objectives.listwise import ListwiseLoss, softmax

_BLOCK_ROWS = 16_384
"""Rows of a block: small enough for scores and features to stay in the cache between uses."""


class ListLoss:
    r"""Mean over the queries of a listwise loss, as an objective.

    .. math:: L(s) = \frac1n \sum_{q=1}^n \phi(s_q, y_q)

    where q runs over the n queries, of which :math:`s_q` are the scores and :math:`y_q`
    the relevance, and :math:`\phi` is the loss.

    Parameters
    ----------
    rows : Queries
        The queries.
    loss : ListwiseLoss
        The loss of a query.
    relevance : ndarray of shape (n_rows,)
        Relevance y, in the order of `rows`.
    weight : ndarray of shape (n_rows,)
        Positive multiplicities, in the order of `rows`.
    sums : Sums, default=ALL_HERE
        Sums over all queries: values are means over them, gradients are those of the rows here.

    Attributes
    ----------
    n_queries : int
        Number of queries, of all processes.
    blocks : list of Block
        All queries, in blocks that fit the cache.

    References
    ----------
    Tewari2015, sec. 2 (the mean over queries).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.objectives import CrossEntropy, ListLoss, Queries
    >>> rows = Queries.from_codes(np.array([0, 0, 1, 1, 1]), 5)
    >>> relevance = np.array([2.0, 0.0, 1.0, 1.0, 0.0])
    >>> objective = ListLoss(rows, CrossEntropy(), relevance, np.ones(5))
    >>> value, gradient, curvature = objective.value_gradient_curvature(np.zeros(5))
    >>> curvature.round(3)  # P (1 - P) / 2
    array([0.125, 0.125, 0.111, 0.111, 0.111])
    """

    def __init__(
        self,
        rows: Queries,
        loss: ListwiseLoss,
        relevance: Floats,
        weight: Floats,
        sums: Sums = ALL_HERE,
    ) -> None:
        self.rows = rows
        self.loss: Any = loss  # its optional methods are looked up by name
        self.sums = sums
        self.n_queries = int(sums.total(rows.queries.n_groups))
        self.blocks = rows.queries.blocks(_BLOCK_ROWS)
        self._weight = None if (weight == 1).all() else weight
        targets = (
            loss.target(block, relevance[block.items], self._weight_of(block))
            for block in self.blocks
        )
        self._target = np.concatenate([np.empty(0), *targets])

    def value(self, scores: Floats) -> float:
        """Return the mean loss."""
        return self.value_and_gradient(scores)[0]

    def value_and_gradient(self, scores: Floats) -> tuple[float, Floats]:
        """Return the mean loss and its gradient."""
        gradient, value = np.empty_like(scores), 0.0
        for block in self.blocks:
            block_value, gradient[block.items] = self.by_block(block, scores[block.items])
            value += block_value
        return float(self.sums.total(value)), gradient

    @available_if(lambda objective: hasattr(objective.loss, "curvature"))
    def value_gradient_curvature(self, scores: Floats) -> tuple[float, Floats, Floats]:
        """Return the mean loss, its gradient, and its second derivatives or their bound."""
        value, gradient = self.value_and_gradient(scores)
        curvature = np.empty_like(scores)
        for block in self.blocks:
            args = self._arguments(block, scores[block.items])
            curvature[block.items] = self.loss.curvature(*args)
        return value, gradient, curvature / self.n_queries

    def by_block(self, block: Block, scores: Floats) -> tuple[float, Floats]:
        """Return a block's term of the mean, and the gradient with respect to its scores."""
        value, gradient = self.loss.value_and_gradient(*self._arguments(block, scores))
        return float(value) / self.n_queries, gradient * (1.0 / self.n_queries)

    @available_if(lambda objective: hasattr(objective.loss, "second_derivatives"))
    def second_derivatives(self, block: Block, scores: Floats) -> tuple[Floats, Floats, Floats]:
        """Return c, b and p of the second derivatives of the mean, ``diag(c) - b p' - p b'``.

        They are those between rows of one query; between queries they are zero.
        """
        c, b, p = self.loss.second_derivatives(*self._arguments(block, scores))
        return c / self.n_queries, b / self.n_queries, p

    def query_gradient(self, query: int, scores: Floats) -> Floats:
        """Return the gradient of the loss of one query, not divided by the number of queries."""
        block = self.rows.queries.block(query, query + 1)
        return self.loss.value_and_gradient(*self._arguments(block, scores))[1]

    def shares(self, block: Block) -> Floats:
        """Return top-one probabilities at equal scores, divided by the number of queries."""
        share = softmax(block, np.zeros(block.n_items), self._weight_of(block))[0]
        return share / self.n_queries

    def _arguments(
        self, block: Block, scores: Floats
    ) -> tuple[Block, Floats, Floats, Floats | None]:
        """Return the arguments of the methods of a loss."""
        return block, scores, self._target[block.items], self._weight_of(block)

    def _weight_of(self, block: Block) -> Floats | None:
        return None if self._weight is None else self._weight[block.items]
