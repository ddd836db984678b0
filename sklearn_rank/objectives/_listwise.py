"""Listwise losses: a query at a time, in blocks of whole queries."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from sklearn_rank._protocols import Floats
from sklearn_rank.grouping import Block, GroupedRows

_BLOCK_ROWS = 16_384
"""Rows of a block: small enough for scores and features to stay in the cache between uses."""


def softmax(block: Block, scores: Floats, weight: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Return ``w e^s / Z``, ``s - max s`` and ``log Z - max s``, query by query.

    The maximum is subtracted first, so that no score is too large.
    """
    shifted = scores - block.spread(block.reduce(np.maximum, scores))
    share = np.exp(shifted)
    if weight is not None:
        share *= weight[block.items]
    total = block.reduce(np.add, share)
    share *= block.spread(1.0 / total)
    return share, shifted, np.log(total)


class ListwiseLoss(ABC):
    r"""Mean over the queries of a loss of the scores of one query.

    A weight is a multiplicity, inside every sum over the rows of a query; a constant
    weight of all rows of a query changes nothing but a constant.

    Parameters
    ----------
    rows : GroupedRows
        The queries.
    relevance : ndarray of shape (n_rows,)
        Relevance y, in list order.
    weight : ndarray of shape (n_rows,)
        Positive multiplicities w, in list order.
    sigma : float
        Unit of the scores, for losses that have one.

    Examples
    --------
    A loss of your own: half the squared errors, whose second derivatives are 1.

    >>> import numpy as np
    >>> from sklearn_rank.grouping import GroupedRows
    >>> from sklearn_rank.objectives import ListwiseLoss
    >>> class SquaredError(ListwiseLoss):
    ...     def _prepare(self, relevance):
    ...         self._target = relevance
    ...
    ...     def _sum(self, block, scores):
    ...         error = scores - self._target[block.items]
    ...         return float(error @ error) / 2, error
    ...
    ...     def _second(self, block, scores):
    ...         return np.ones_like(scores), np.zeros_like(scores), np.zeros_like(scores)
    >>> lists = GroupedRows.from_codes(np.array([0, 0, 1, 1]), 4)
    >>> loss = SquaredError(lists, np.array([1.0, 0.0, 2.0, 1.0]), np.ones(4))
    >>> loss.value_and_gradient(np.array([1.0, 2.0, 2.0, 1.0]))
    (1.0, array([0., 1., 0., 0.]))
    """

    def __init__(
        self, rows: GroupedRows, relevance: Floats, weight: Floats, sigma: float = 1.0
    ) -> None:
        self.rows = rows
        self.n_queries = rows.queries.n_groups
        self.blocks = rows.queries.blocks(_BLOCK_ROWS)
        self._weight = None if (weight == 1).all() else weight
        self._sigma = sigma
        self._prepare(relevance)

    @abstractmethod
    def _prepare(self, relevance: Floats) -> None:
        """Compute what depends on the relevance alone."""

    @abstractmethod
    def _sum(self, block: Block, scores: Floats) -> tuple[float, Floats]:
        """Return the sum of the losses of a block's queries, and its gradient."""

    @abstractmethod
    def _second(self, block: Block, scores: Floats) -> tuple[Floats, Floats, Floats]:
        """Return c, b, p of the second derivatives ``diag(c) - b p' - p b'`` of the sum."""

    def on_block(self, block: Block, scores: Floats) -> tuple[float, Floats]:
        """Return a block's part of the mean, and the gradient on its rows.

        Parameters
        ----------
        block : Block
            Some of the queries.
        scores : ndarray of shape (n_rows_in_block,)
            Their scores.
        """
        value, gradient = self._sum(block, scores)
        gradient *= 1.0 / self.n_queries
        return value / self.n_queries, gradient

    def curvature(self, block: Block, scores: Floats) -> tuple[Floats, Floats, Floats]:
        """Return c, b and p, of which the second derivatives of each query are made.

        Those of the mean, between two rows of one query, are ``diag(c) - b p' - p b'``.
        """
        c, b, p = self._second(block, scores)
        return c / self.n_queries, b / self.n_queries, p

    def query_gradient(self, number: int, scores: Floats) -> Floats:
        """Return the gradient of the loss of one query alone."""
        return self._sum(self.rows.queries.block(number, number + 1), scores)[1]

    def shares(self, block: Block) -> Floats:
        """Return a block's top-one probabilities of equal scores, divided by all queries."""
        share = softmax(block, np.zeros(block.n_items), self._weight)[0]
        return share / self.n_queries

    def value_and_gradient(self, scores: Floats) -> tuple[float, Floats]:
        """Return the mean loss of scores in list order, and its gradient."""
        gradient = np.empty_like(scores)
        value = 0.0
        for block in self.blocks:
            part, gradient[block.items] = self.on_block(block, scores[block.items])
            value += part
        return value, gradient


class CrossEntropy(ListwiseLoss):
    r"""Cross-entropy of top-one probabilities.

    .. math:: \phi(s, y) = -\sum_j P_y(j) \, (s_j - \log Z_s), \qquad
        P_y(j) = \frac{w_j e^{y_j}}{\sum_l w_l e^{y_l}}, \qquad Z_s = \sum_l w_l e^{s_l}

    where s are the scores of a query, y its relevance and w its row weights. Convex; the
    gradient is :math:`P_s - P_y`. Parameters as in `ListwiseLoss`.

    References
    ----------
    Cao2007 (top-one probabilities). Tewari2015, sec. 3.1 (the loss).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.grouping import GroupedRows
    >>> from sklearn_rank.objectives import CrossEntropy
    >>> relevance = np.array([2.0, 0.0, 1.0, 1.0])
    >>> loss = CrossEntropy(
    ...     GroupedRows.from_codes(np.array([0, 0, 1, 1]), 4), relevance, np.ones(4)
    ... )
    >>> value, gradient = loss.value_and_gradient(np.zeros(4))
    >>> gradient.round(2)  # the mean over two queries: the second one is as it should be
    array([-0.19,  0.19,  0.  ,  0.  ])
    >>> best, _ = loss.value_and_gradient(relevance)
    >>> round(value, 3), round(best, 3)
    (0.693, 0.529)
    """

    def _prepare(self, relevance: Floats) -> None:
        self._target = np.empty(len(relevance))
        with np.errstate(over="ignore"):  # relevances 1e308 apart: the lower one has no share
            for block in self.blocks:
                share = softmax(block, relevance[block.items], self._weight)[0]
                self._target[block.items] = share

    def _sum(self, block: Block, scores: Floats) -> tuple[float, Floats]:
        share, shifted, log_total = softmax(block, scores, self._weight)
        target = self._target[block.items]
        # Both terms are relative to the largest score: neither is a difference of large sums.
        value = float(log_total.sum()) - float(target @ shifted)
        share -= target
        return value, share

    def _second(self, block: Block, scores: Floats) -> tuple[Floats, Floats, Floats]:
        share = softmax(block, scores, self._weight)[0]
        return share, share / 2, share


class SmoothedDcg(ListwiseLoss):
    r"""Minus the smoothed DCG.

    .. math:: \phi(s, y) = -D(1) \sum_i G(y_i) \, P_{s / \sigma}(i), \qquad
        G(y) = 2^y - 1, \qquad D(1) = \frac{1}{\log_2 2} = 1

    where s are the scores of a query, y its relevance, :math:`\sigma` is `sigma` and P are
    the top-one probabilities of `CrossEntropy`. Not convex; the gradient is
    :math:`-P_{s/\sigma}(i) \, (G(y_i) - \bar G) / \sigma`, with :math:`\bar G` the mean
    gain under P. Parameters as in `ListwiseLoss`.

    References
    ----------
    Tewari2015, sec. 3.2 (the gain of which this is the negative).

    Examples
    --------
    The smaller `sigma`, the nearer to minus the gain of the first row:

    >>> import numpy as np
    >>> from sklearn_rank.grouping import GroupedRows
    >>> from sklearn_rank.objectives import SmoothedDcg
    >>> lists, relevance = GroupedRows.from_codes(None, 3), np.array([0.0, 2.0, 1.0])
    >>> for sigma in (1.0, 0.1):
    ...     loss = SmoothedDcg(lists, relevance, np.ones(3), sigma)
    ...     value, _ = loss.value_and_gradient(np.array([1.0, 2.0, 0.0]))
    ...     print(round(value, 3))
    -2.086
    -3.0
    """

    def _prepare(self, relevance: Floats) -> None:
        self._gain = np.exp2(relevance) - 1.0

    def _sum(self, block: Block, scores: Floats) -> tuple[float, Floats]:
        share = softmax(block, scores / self._sigma, self._weight)[0]
        gain = self._gain[block.items]
        mean = block.reduce(np.add, share * gain)
        share *= block.spread(mean) - gain
        share *= 1.0 / self._sigma
        return -float(mean.sum()), share

    def _second(self, block: Block, scores: Floats) -> tuple[Floats, Floats, Floats]:
        share = softmax(block, scores / self._sigma, self._weight)[0]
        slopes = self._sum(block, scores)[1] / self._sigma
        return slopes, slopes, share


LISTWISE_LOSSES: dict[str, type[ListwiseLoss]] = {
    "cross_entropy": CrossEntropy,
    "smoothed_dcg": SmoothedDcg,
}
"""The classes of `ListwiseLoss` by the names that `ListNetLinear` takes as ``loss``."""
