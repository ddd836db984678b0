"""Listwise losses: a query at a time, in blocks of whole queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sklearn_rank._protocols import Floats, Indices
from sklearn_rank.preferences import differs

_BLOCK_ROWS = 16_384
"""Rows of a block: small enough for scores and features to stay in the cache between uses."""


@dataclass(frozen=True, eq=False)
class Block:
    """Some whole queries, one after the other.

    Attributes
    ----------
    rows : slice
        Their rows in list order.
    start : ndarray of shape (n_queries_in_block,)
        First row of each query, counted from the block's first.
    length : ndarray of shape (n_queries_in_block,)
        Rows of each query.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.objectives import Lists
    >>> lists = Lists.from_codes(np.array([0, 0, 0, 1, 1]), 5)
    >>> block = lists.block(0, 2)
    >>> scores = np.array([2.0, 1.0, 3.0, 5.0, 5.0])
    >>> block.reduce(np.maximum, scores)  # the best of each query
    array([3., 5.])
    >>> block.softmax(scores, None)[0].round(2)  # top-one probabilities
    array([0.24, 0.09, 0.67, 0.5 , 0.5 ])
    """

    rows: slice
    start: Indices
    length: Indices

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.stop - self.rows.start

    def reduce(self, ufunc: np.ufunc, values: Floats) -> Floats:
        """Reduce row values to one value for each query."""
        return np.asarray(ufunc.reduceat(values, self.start))

    def spread(self, query_values: Floats) -> Floats:
        """Repeat query values to their rows."""
        return np.repeat(query_values, self.length)

    def softmax(self, scores: Floats, weight: Floats | None) -> tuple[Floats, Floats, Floats]:
        """Return ``w e^s / Z``, ``s - max s`` and ``log Z - max s``, query by query.

        The maximum is subtracted first, so that no score is too large.
        """
        shifted = scores - self.spread(self.reduce(np.maximum, scores))
        share = np.exp(shifted)
        if weight is not None:
            share *= weight[self.rows]
        total = self.reduce(np.add, share)
        share *= self.spread(1.0 / total)
        return share, shifted, np.log(total)


@dataclass(frozen=True, eq=False)
class Lists:
    """Rows grouped into queries, which keep the order in which they first appear.

    Attributes
    ----------
    order : ndarray of shape (n_rows,) or None
        ``array[order]`` is in list order; None when the rows already are.
    start : ndarray of shape (n_queries,)
        First row of each query in list order.
    n_rows : int
        Number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.objectives import Lists
    >>> lists = Lists.from_codes(np.array([1, 0, 1, 0]), 4)  # queries that come in pieces
    >>> lists.order, lists.start
    (array([0, 2, 1, 3]), array([0, 2]))
    """

    order: Indices | None
    start: Indices
    n_rows: int

    @classmethod
    def from_codes(cls, qid: Indices | None, n_rows: int) -> Lists:
        """Group rows with query codes 0, 1, ... (gaps allowed); None means one query."""
        if qid is None:
            return cls(None, np.zeros(1, dtype=np.intp), n_rows)
        order = None
        start = np.flatnonzero(differs(qid))
        if len(start) > np.count_nonzero(np.bincount(qid)):  # some query comes in pieces
            first = np.full(int(qid.max()) + 1, n_rows)
            np.minimum.at(first, qid[start], start)
            order = np.argsort(first[qid], kind="stable")
            start = np.flatnonzero(differs(qid[order]))
        return cls(order, start, n_rows)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.start)

    @cached_property
    def end(self) -> Indices:
        """One past the last row of each query."""
        return np.append(self.start[1:], self.n_rows)

    @cached_property
    def blocks(self) -> list[Block]:
        """All rows, in blocks of whole queries."""
        blocks, first = [], 0
        while first < self.n_queries:
            limit = self.start[first] + _BLOCK_ROWS
            last = max(int(np.searchsorted(self.end, limit, side="right")), first + 1)
            blocks.append(self.block(first, last))
            first = last
        return blocks

    def block(self, first: int, last: int) -> Block:
        """Return the queries from `first` to before `last` as a block."""
        start, end = self.start[first:last], self.end[first:last]
        return Block(slice(int(start[0]), int(end[-1])), start - start[0], end - start)


class ListwiseLoss(ABC):
    r"""Mean over the queries of a loss of the scores of one query.

    A weight is a multiplicity, inside every sum over the rows of a query; a constant
    weight of all rows of a query changes nothing but a constant.

    Parameters
    ----------
    lists : Lists
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
    >>> from sklearn_rank.objectives import Lists, ListwiseLoss
    >>> class SquaredError(ListwiseLoss):
    ...     def _prepare(self, relevance):
    ...         self._target = relevance
    ...
    ...     def _sum(self, block, scores):
    ...         error = scores - self._target[block.rows]
    ...         return float(error @ error) / 2, error
    ...
    ...     def _second(self, block, scores):
    ...         return np.ones_like(scores), np.zeros_like(scores), np.zeros_like(scores)
    >>> lists = Lists.from_codes(np.array([0, 0, 1, 1]), 4)
    >>> loss = SquaredError(lists, np.array([1.0, 0.0, 2.0, 1.0]), np.ones(4))
    >>> loss.value_and_gradient(np.array([1.0, 2.0, 2.0, 1.0]))
    (1.0, array([0., 1., 0., 0.]))
    """

    def __init__(self, lists: Lists, relevance: Floats, weight: Floats, sigma: float = 1.0) -> None:
        self.lists = lists
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
        gradient *= 1.0 / self.lists.n_queries
        return value / self.lists.n_queries, gradient

    def curvature(self, block: Block, scores: Floats) -> tuple[Floats, Floats, Floats]:
        """Return c, b and p, of which the second derivatives of each query are made.

        Those of the mean, between two rows of one query, are ``diag(c) - b p' - p b'``.
        """
        c, b, p = self._second(block, scores)
        return c / self.lists.n_queries, b / self.lists.n_queries, p

    def query_gradient(self, number: int, scores: Floats) -> Floats:
        """Return the gradient of the loss of one query alone."""
        return self._sum(self.lists.block(number, number + 1), scores)[1]

    def shares(self, block: Block) -> Floats:
        """Return a block's top-one probabilities of equal scores, divided by all queries."""
        share = block.softmax(np.zeros(block.n_rows), self._weight)[0]
        return share / self.lists.n_queries

    def value_and_gradient(self, scores: Floats) -> tuple[float, Floats]:
        """Return the mean loss of scores in list order, and its gradient."""
        gradient = np.empty_like(scores)
        value = 0.0
        for block in self.lists.blocks:
            part, gradient[block.rows] = self.on_block(block, scores[block.rows])
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
    >>> from sklearn_rank.objectives import CrossEntropy, Lists
    >>> relevance = np.array([2.0, 0.0, 1.0, 1.0])
    >>> loss = CrossEntropy(Lists.from_codes(np.array([0, 0, 1, 1]), 4), relevance, np.ones(4))
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
            for block in self.lists.blocks:
                share = block.softmax(relevance[block.rows], self._weight)[0]
                self._target[block.rows] = share

    def _sum(self, block: Block, scores: Floats) -> tuple[float, Floats]:
        share, shifted, log_total = block.softmax(scores, self._weight)
        target = self._target[block.rows]
        # Both terms are relative to the largest score: neither is a difference of large sums.
        value = float(log_total.sum()) - float(target @ shifted)
        share -= target
        return value, share

    def _second(self, block: Block, scores: Floats) -> tuple[Floats, Floats, Floats]:
        share = block.softmax(scores, self._weight)[0]
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
    >>> from sklearn_rank.objectives import Lists, SmoothedDcg
    >>> lists, relevance = Lists.from_codes(None, 3), np.array([0.0, 2.0, 1.0])
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
        share = block.softmax(scores / self._sigma, self._weight)[0]
        gain = self._gain[block.rows]
        mean = block.reduce(np.add, share * gain)
        share *= block.spread(mean) - gain
        share *= 1.0 / self._sigma
        return -float(mean.sum()), share

    def _second(self, block: Block, scores: Floats) -> tuple[Floats, Floats, Floats]:
        share = block.softmax(scores / self._sigma, self._weight)[0]
        slopes = self._sum(block, scores)[1] / self._sigma
        return slopes, slopes, share


LISTWISE_LOSSES: dict[str, type[ListwiseLoss]] = {
    "cross_entropy": CrossEntropy,
    "smoothed_dcg": SmoothedDcg,
}
"""The classes of `ListwiseLoss` by the names that `ListNetLinear` takes as ``loss``."""
