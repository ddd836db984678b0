"""Who must rank above whom: the one definition of a comparable pair."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sklearn_rank._protocols import Floats, Indices, Mask, Values

__all__ = ["Preferences"]

_MANY_LEVELS = 32
"""Queries with more levels are scanned one by one, the others side by side."""


def differs(values: Values) -> Mask:
    """Mark the first of each run of equal values; a difference could overflow."""
    return np.concatenate([[True], values[1:] != values[:-1]])


@dataclass(frozen=True, eq=False)
class Preferences:
    r"""Rows grouped by query and relevance, with their weights.

    Row i is *above* row k when both belong to one query and ``y_i > y_k``. The rows are
    kept in *preference order*: by query, and inside a query by falling relevance. A
    *segment* is a maximal run of rows of one query with one relevance (a *level*), so
    that every row of a segment has the same rows above it and the same rows below it,
    and sums over all pairs become sums over rows followed by scans over segments.

    Attributes
    ----------
    order : ndarray of shape (n_rows,)
        Positions in the caller's arrays: ``y[order]`` is in preference order.
    weight : ndarray of shape (n_rows,)
        Multiplicities of the rows, positive, in preference order.
    segment_start : ndarray of shape (n_segments,)
        First row of each segment.
    query_start : ndarray of shape (n_queries,)
        First segment of each query.

    Examples
    --------
    Four rows of two queries:

    >>> import numpy as np
    >>> from sklearn_rank.preferences import Preferences
    >>> y, qid = np.array([0, 1, 2, 0]), np.array([0, 0, 1, 1])
    >>> preferences = Preferences.from_labels(y, qid, np.ones(4))
    >>> preferences.order
    array([1, 0, 2, 3])
    >>> preferences.total_pair_weight
    2.0
    >>> scores = np.array([3.0, 1.0, 5.0, 4.0])[preferences.order]
    >>> preferences.smallest_difference(scores, scores)  # the smallest margin
    -2.0
    """

    order: Indices
    weight: Floats
    segment_start: Indices
    query_start: Indices

    @classmethod
    def from_labels(cls, y: Values, qid: Indices | None, weight: Floats) -> Preferences:
        """Sort rows with relevance `y`, query codes `qid` and positive weights."""
        if qid is None and y.dtype != np.bool_:
            low, high = y.min(), y.max()
            if ((y == low) | (y == high)).all():
                y = y == high
        if qid is None and y.dtype == np.bool_:
            # Two stable selections: ten times cheaper than a sort.
            order = np.concatenate([np.flatnonzero(y), np.flatnonzero(~y)])
            n_above = int(np.count_nonzero(y))
            starts = np.array([0, n_above] if 0 < n_above < len(y) else [0])
            return cls(order, weight[order], starts, np.zeros(1, dtype=np.intp))
        level = np.unique(y, return_inverse=True)[1].ravel()
        query = np.zeros_like(level) if qid is None else qid
        order = np.lexsort((-level, query))
        query, level = query[order], level[order]
        new_query = differs(query)
        new_segment = new_query | differs(level)
        segment_start = np.flatnonzero(new_segment)
        query_start = np.flatnonzero(new_query[segment_start])
        return cls(order, weight[order], segment_start, query_start)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.order)

    @property
    def is_bipartite_list(self) -> bool:
        """Whether there is one query with two levels and nothing else."""
        return len(self.segment_start) == 2 and len(self.query_start) == 1

    @cached_property
    def bipartite_segments(self) -> tuple[int, int] | None:
        """The segments above and below, when all pairs are between two segments."""
        levels = np.diff(self.query_start, append=len(self.segment_start))
        paired = np.flatnonzero(levels > 1)
        if len(paired) != 1 or levels[paired[0]] != 2:
            return None
        first = int(self.query_start[paired[0]])
        return first, first + 1

    @cached_property
    def segment_length(self) -> Indices:
        """Rows in each segment."""
        return np.diff(self.segment_start, append=self.n_rows)

    @cached_property
    def log_weight(self) -> Floats:
        """Logarithm of the weights."""
        return np.log(self.weight)

    @cached_property
    def is_paired(self) -> Mask:
        """Mask of the rows (preference order) that belong to at least one pair."""
        levels = np.diff(self.query_start, append=len(self.segment_start))
        return np.repeat(np.repeat(levels > 1, levels), self.segment_length)

    @cached_property
    def total_pair_weight(self) -> float:
        """Sum of ``w_i * w_k`` over all comparable pairs."""
        per_segment = self.reduce(np.add, self.weight)
        return float(per_segment @ self.scan_above(np.add, per_segment, 0.0))

    @cached_property
    def blocks(self) -> Indices:
        """Rows (first above, first below, past the end) of blocks that hold each pair once.

        In a block every row of [first above, first below) is above every row of [first
        below, end). A query of L levels is halved again and again: a row is in at most
        log2(L) + 1 blocks. Array of shape (n_blocks, 3).
        """
        bounds = np.append(self.segment_start, self.n_rows)
        first, last = self._levels
        found = [np.empty((0, 3), dtype=np.intp)]
        while len(first):
            first, last = first[last - first > 1], last[last - first > 1]
            middle = (first + last) // 2
            found.append(np.column_stack([bounds[first], bounds[middle], bounds[last]]))
            first, last = np.concatenate([first, middle]), np.concatenate([middle, last])
        return np.concatenate(found)

    def reduce(self, ufunc: np.ufunc, values: Floats) -> Floats:
        """Reduce row values to one value for each segment."""
        return np.asarray(ufunc.reduceat(values, self.segment_start))

    def spread(self, segment_values: Floats) -> Floats:
        """Repeat segment values to their rows."""
        return np.repeat(segment_values, self.segment_length)

    def scan_above(self, ufunc: np.ufunc, values: Floats, identity: float) -> Floats:
        """Combine, for each segment, the values of the segments above it."""
        out = np.full(len(values), identity)
        for segments in self._side_by_side:
            out[segments] = ufunc(out[segments - 1], values[segments - 1])
        for first, last in self._one_by_one:
            out[first + 1 : last] = ufunc.accumulate(values[first : last - 1])
        return out

    def scan_below(self, ufunc: np.ufunc, values: Floats, identity: float) -> Floats:
        """Combine, for each segment, the values of the segments below it."""
        out = np.full(len(values), identity)
        for segments in reversed(self._side_by_side):
            out[segments - 1] = ufunc(out[segments], values[segments])
        for first, last in self._one_by_one:
            backwards = ufunc.accumulate(values[last - 1 : first : -1])
            out[first : last - 1] = backwards[::-1]
        return out

    def paired_weight(self, side: str = "top") -> Floats:
        """Return the weight of the rows above each row ("top"), or below it ("bottom")."""
        scan = self.scan_above if side == "top" else self.scan_below
        return self.spread(scan(np.add, self.reduce(np.add, self.weight), 0.0))

    def smallest_difference(self, above: Floats, below: Floats) -> float:
        """Return the minimum of ``above[i] - below[k]`` over pairs; inf without pairs."""
        lowest = self.reduce(np.minimum, above)
        highest = self.scan_below(np.maximum, self.reduce(np.maximum, below), -np.inf)
        return float(np.min(lowest - highest))

    def largest_gap(self, values: Values) -> float:
        """Return the maximum of ``|values[i] - values[k]|`` over comparable pairs."""
        values = values.astype(np.float64)
        upward = -self.smallest_difference(-values, -values)
        return max(upward, -self.smallest_difference(values, values))

    @cached_property
    def _levels(self) -> tuple[Indices, Indices]:
        """First and past-the-end segment of each query."""
        return self.query_start, np.append(self.query_start[1:], len(self.segment_start))

    @cached_property
    def _side_by_side(self) -> list[Indices]:
        """Segments that are 1st, 2nd, ... below the top, in queries of few levels."""
        first, last = self._levels
        few = last - first <= _MANY_LEVELS
        first, last = first[few], last[few]
        depth = int(np.max(last - first, initial=1))
        return [(first + rank)[first + rank < last] for rank in range(1, depth)]

    @cached_property
    def _one_by_one(self) -> list[tuple[int, int]]:
        """Queries of many levels."""
        first, last = self._levels
        many = np.flatnonzero(last - first > _MANY_LEVELS)
        return [(int(first[q]), int(last[q])) for q in many]
