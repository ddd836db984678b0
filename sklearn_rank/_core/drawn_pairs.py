"""Comparable pairs drawn at random, with probability proportional to their weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_rank._core.arrays import Floats, Indices

__all__ = ["ListedDraws", "PairDraws"]


class PairDraws:
    """Draws pairs with probability proportional to their weight.

    First the upper row is drawn, by the weight of its pairs, then a row below it, by its
    weight.

    Parameters
    ----------
    rows : Preferences
        The comparable pairs; at least one.
    order : ndarray of shape (n_rows,), default=None
        The order, inside the segments, in which the rows are laid out along [0, 1] for a random
        number to pick one. None: the fit order.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank._core.drawn_pairs import PairDraws
    >>> from sklearn_rank.objectives import Preferences
    >>> rows = Preferences.from_labels(np.array([0, 1, 0, 1]), None, np.array([1.0, 2.0, 1.0, 3.0]))
    >>> upper, lower = PairDraws(rows)(10_000, np.random.RandomState(0))
    >>> (np.bincount(rows.order[upper]) / 10_000).round(1)  # rows 1 and 3 weigh 2 and 3
    array([0. , 0.4, 0. , 0.6])
    """

    def __init__(self, rows: Any, order: Indices | None = None) -> None:
        self._order = order
        weight = rows.weight if order is None else rows.weight[order]
        below = rows.scan_below(np.add, rows.reduce(np.add, weight), 0.0)
        self._pairs = np.cumsum(weight * rows.spread(below))
        self._upto = np.concatenate([[0.0], np.cumsum(weight)])
        # The rows below a row: from the end of its segment to the end of its query.
        self._segment_end = rows.segments.end
        self._query_end = rows.queries.spread(rows.segments.end[rows.queries.end - 1])

    def __call__(self, size: int, rng: np.random.RandomState) -> tuple[Indices, Indices]:
        """Return the upper and the lower rows of some pairs, in fit order."""
        first, second = rng.random_sample((2, size))
        upper = np.searchsorted(self._pairs, first * self._pairs[-1], "right")
        upper = np.minimum(upper, len(self._pairs) - 1)
        segment = np.searchsorted(self._segment_end, upper, "right")
        begin, end = self._segment_end[segment], self._query_end[segment]
        start = self._upto[begin]
        place = start + second * (self._upto[end] - start)
        lower = np.clip(np.searchsorted(self._upto, place, "right") - 1, begin, end - 1)
        return (upper, lower) if self._order is None else (self._order[upper], self._order[lower])


class ListedDraws:
    """Draws pairs of a list with probability proportional to their weight.

    Parameters
    ----------
    above, below : ndarray of shape (n_pairs,)
        The rows of each pair.
    weight : ndarray of shape (n_pairs,)
        Weights, positive.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.objectives import GivenPairs
    >>> pairs = GivenPairs(3, np.array([0, 2]), np.array([1, 1]), np.array([1.0, 3.0]))
    >>> upper, lower = pairs.draws()(10_000, np.random.RandomState(0))
    >>> (np.bincount(upper) / 10_000).round(1)
    array([0.3, 0. , 0.7])
    """

    def __init__(self, above: Indices, below: Indices, weight: Floats) -> None:
        self._above, self._below = above, below
        self._upto = np.cumsum(weight)

    def __call__(self, size: int, rng: np.random.RandomState) -> tuple[Indices, Indices]:
        """Return the upper and the lower rows of some pairs."""
        place = rng.random_sample(size) * self._upto[-1]
        pairs = np.minimum(np.searchsorted(self._upto, place, "right"), len(self._upto) - 1)
        return self._above[pairs], self._below[pairs]
