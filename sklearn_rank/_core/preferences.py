"""Comparable pairs: the one definition of "row i belongs above row k"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sklearn_rank._core.arrays import Ability, Floats, Indices, Mask, Values, require
from sklearn_rank._core.sums import (
    ALL_HERE,
    IDENTITY,
    Block,
    Collective,
    Groups,
    Sums,
    nested_runs,
    shared_property,
)

Draws = Callable[[int, np.random.RandomState], tuple[Indices, Indices]]
"""Returns the upper and the lower rows of a number of pairs, drawn by their weight."""

_CACHED_ROWS = 16_384
"""Rows of a block: a few arrays of this length fit into the second-level cache."""

_SMALL = 1000
"""Largest absolute value of relevance that is sorted as an integer of 16 bits."""

_WIDEST = 600.0
"""Range of exponents that do not underflow (at -708) once the largest is shifted to 0."""


@dataclass(frozen=True, eq=False)
class Preferences(Sums):
    r"""Rows grouped by query and relevance, with their weights.

    Row i is *above* row k when both belong to one query and ``y_i > y_k``. The rows are kept in
    *preference order*: by query, and within a query by decreasing relevance. A *segment* is a
    maximal run of rows of one query with one relevance (a *level*), so all rows of a segment have
    the same rows above and below them, and sums over all pairs become sums over rows followed by
    scans over the segments of each query.

    Attributes
    ----------
    order : ndarray of shape (n_rows,)
        Positions in the caller's arrays: ``y[order]`` is in preference order.
    weight : ndarray of shape (n_rows,)
        Multiplicities of the rows, positive, in preference order.
    segments : Groups
        The segments, over rows.
    queries : Groups
        The queries, over segments.
    collective : Collective or None
        The processes that hold the rows, None where all are here: the queries of each are its
        own or, without queries, all rows are one list.
    is_shared_list : bool
        Whether the rows here are a part of one list. The segments are then those of the whole
        list, and may have no rows here.

    Examples
    --------
    Four rows of two queries:

    >>> import numpy as np
    >>> from sklearn_rank._core.preferences import Preferences
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
    segments: Groups
    queries: Groups
    collective: Collective | None = None
    is_shared_list: bool = False

    @classmethod
    def from_labels(
        cls, y: Values, qid: Indices | None, weight: Floats, sums: Sums = ALL_HERE
    ) -> Preferences:
        """Sort rows with relevance `y`, query codes `qid` and positive weights.

        `sums` are those over all rows, if they are not all here.
        """
        collective = sums.collective
        if qid is None and collective is not None:
            return cls._of_shared_list(y, weight, collective)
        if qid is None and y.dtype != np.bool_:
            low, high = y.min(), y.max()
            if ((y == low) | (y == high)).all():
                y = y == high
        if qid is None and y.dtype == np.bool_:
            # Two stable selections: ten times cheaper than a sort.
            order = np.concatenate([np.flatnonzero(y), np.flatnonzero(~y)])
            n_above = int(np.count_nonzero(y))
            starts = np.array([0, n_above] if 0 < n_above < len(y) else [0])
            queries = Groups(np.zeros(1, dtype=np.intp), len(starts))
            return cls(order, weight[order], Groups(starts, len(y)), queries)
        level = _levels(y)
        query = np.zeros_like(level) if qid is None else qid
        order = np.lexsort((-level, query))
        return cls(order, weight[order], *nested_runs(query[order], level[order]), collective)

    @classmethod
    def _of_shared_list(cls, y: Values, weight: Floats, collective: Collective) -> Preferences:
        """Sort rows that are a part of one list by the levels of the whole list."""
        local_levels = np.unique(y).astype(np.float64)
        levels = np.unique(np.concatenate(collective.gather(local_levels)))[::-1]
        if len(levels) == 2:
            order = np.concatenate([np.flatnonzero(y == level) for level in levels])
        else:
            order = np.argsort(-y.astype(np.float64), kind="stable")
        starts = np.searchsorted(-y[order].astype(np.float64), -levels)
        queries = Groups(np.zeros(1, dtype=np.intp), len(levels))
        return cls(order, weight[order], Groups(starts, len(y)), queries, collective, True)

    def merged(self, cell: Indices) -> Preferences:
        """Return the preferences of *cells*: rows of one segment that are put together.

        Parameters
        ----------
        cell : ndarray of shape (n_rows,)
            The cell of each row, in preference order. Cells are numbered without gaps, those of
            a segment before those of the next one; in a shared list those of all processes, each
            of which then gets all cells.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_rank._core.preferences import Preferences
        >>> rows = Preferences.from_labels(np.array([1, 1, 0, 0, 0]), None, np.ones(5))
        >>> rows.merged(np.array([0, 0, 1, 2, 1])).weight
        array([2., 2., 1.])
        """
        n_cells = int(self.parts.largest(float(cell.max(initial=-1)))) + 1
        weight = self.parts.total(np.bincount(cell, self.weight, n_cells).astype(np.float64))
        start = self.reduce(np.minimum, cell.astype(np.float64)).astype(np.intp)
        collective = None if self.is_shared_list else self.collective
        groups = Groups(start, n_cells), self.queries
        return Preferences(np.arange(n_cells), weight, *groups, collective)

    @shared_property
    def lists(self) -> Sums:
        """Sums over lists, of all processes; a shared list is counted once."""
        return ALL_HERE if self.is_shared_list else self

    @shared_property
    def parts(self) -> Sums:
        """Sums over the parts of a segment; only shared lists have divided segments."""
        return self if self.is_shared_list else ALL_HERE

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.order)

    @property
    def is_bipartite_list(self) -> bool:
        """Whether there is one query with two levels and nothing else."""
        is_list = self.is_shared_list or self.collective is None
        return is_list and self.segments.n_groups == 2 and self.queries.n_groups == 1

    @shared_property
    def bipartite_segments(self) -> tuple[int, int] | None:
        """The segments above and below, if all pairs are between two segments."""
        n_levels = self.queries.length
        if self.collective is not None and not self.is_shared_list:
            return None  # the queries of other processes have pairs too
        paired = np.flatnonzero(n_levels > 1)
        if len(paired) != 1 or n_levels[paired[0]] != 2:
            return None
        first = int(self.queries.start[paired[0]])
        return first, first + 1

    @shared_property
    def log_weight(self) -> Floats:
        """Logarithm of the weights."""
        return np.log(self.weight)

    @shared_property
    def has_unit_weights(self) -> bool:
        """Whether all weights of the rows here are one."""
        return bool((self.weight == 1).all())

    @shared_property
    def is_paired(self) -> Mask:
        """Mask of the rows (preference order) that belong to at least one pair."""
        return self.spread(self.queries.spread(self.queries.length > 1))

    @shared_property
    def total_pair_weight(self) -> float:
        """Sum of ``w_i * w_k`` over all comparable pairs."""
        weight_sums = self.reduce(np.add, self.weight)
        return self.lists.total(float(weight_sums @ self.scan_above(np.add, weight_sums, 0.0)))

    def log_pair_weight(self, power: float = 1.0) -> float:
        """Return the logarithm of the sum of ``(w_i * w_k) ** power`` over comparable pairs.

        No weight is too small or too large for it; without pairs it is -inf.
        """
        log_weight = power * self.log_weight
        max_log = self.reduce(np.maximum, log_weight)
        # The logarithm of a sum of exponentials, shifted by the largest in each segment.
        relative_sums = self.reduce(np.add, np.exp(log_weight - self.spread(max_log)))
        log_sum = max_log + np.log(relative_sums)
        above = self.scan_above(np.logaddexp, log_sum, -np.inf)
        return self.lists.log_total(float(np.logaddexp.reduce(log_sum + above)))

    def log_smallest_weight(self) -> float:
        """Return the logarithm of the smallest weight of a pair."""
        return self.smallest_difference(self.log_weight, -self.log_weight)

    @shared_property
    def segment_blocks(self) -> list[Block]:
        """Whole segments in blocks whose rows fit into the cache."""
        return self.segments.blocks(_CACHED_ROWS)

    @shared_property
    def blocks(self) -> Indices:
        """Rows (first above, first below, past the end) of blocks that contain each pair once.

        In a block every row of [first above, first below) is above every row of [first
        below, end). A query of L levels is halved again and again: a row is in at most
        log2(L) + 1 blocks. Array of shape (n_blocks, 3).
        """
        # Runs [first, last) of segments: halve each that has two or more, and pair its halves.
        bounds = np.append(self.segments.start, self.n_rows)
        first, last = self.queries.start, self.queries.end
        blocks = [np.empty((0, 3), dtype=np.intp)]
        while len(first):
            first, last = first[last - first > 1], last[last - first > 1]
            middle = (first + last) // 2
            blocks.append(np.column_stack([bounds[first], bounds[middle], bounds[last]]))
            first, last = np.concatenate([first, middle]), np.concatenate([middle, last])
        return np.concatenate(blocks)

    def reduce(self, ufunc: np.ufunc, values: Floats) -> Floats:
        """Reduce row values to one value for each segment, of all processes' rows."""
        if not self.is_shared_list:
            return self.segments.reduce(ufunc, values)
        # `reduceat` has no value for segments without rows here.
        local_values = np.full(self.segments.n_groups, IDENTITY[ufunc])
        has_rows = self.segments.length > 0
        local_values[has_rows] = ufunc.reduceat(values, self.segments.start[has_rows])
        assert self.collective is not None
        return np.asarray(self.collective.reduce(ufunc, local_values))

    def normalised(self, scores: Floats, rate: float = 1.0) -> tuple[Floats, Floats]:
        """Return the log of each segment's sum of w exp(rate f), and each row's share of it."""
        if self.is_shared_list:
            return self._normalised_list(scores, rate)
        share, log_total = np.empty(len(scores)), np.empty(self.segments.n_groups)
        for block in self.segment_blocks:
            mass = np.multiply(scores[block.items], rate, out=share[block.items])
            if not self.has_unit_weights:
                mass += self.log_weight[block.items]
            # One shift for the whole block is faster, unless the smallest mass would underflow.
            shift: float | Floats = mass.max()
            if shift - mass.min() < _WIDEST:
                mass -= shift
            else:
                shift = block.reduce(np.maximum, mass)
                mass -= block.spread(shift)
            np.exp(mass, out=mass)
            total = block.reduce(np.add, mass)
            mass *= block.spread(1.0 / total)
            log_total[block.groups] = shift + np.log(total)
        return log_total, share

    def _normalised_list(self, scores: Floats, rate: float) -> tuple[Floats, Floats]:
        """Return the same for this process's rows of a list shared among several processes."""
        mass = rate * scores + self.log_weight
        shift = self.reduce(np.maximum, mass)
        mass -= self.spread(shift)
        np.exp(mass, out=mass)
        total = self.reduce(np.add, mass)
        mass *= self.spread(1.0 / total)
        return shift + np.log(total), mass

    def split(self, share: Floats, h: Mask) -> tuple[Floats, Floats]:
        """Return the sums of shares over each segment where h is 0, and where it is 1.

        Both are computed: the difference of a total and a large sum would be rounding.
        """
        if self.is_shared_list:
            return self.reduce(np.add, share * ~h), self.reduce(np.add, share * h)
        sum_zero, sum_one = np.empty((2, self.segments.n_groups))
        for block in self.segment_blocks:
            mass = share[block.items] * h[block.items]
            sum_one[block.groups] = block.reduce(np.add, mass)
            np.subtract(share[block.items], mass, out=mass)
            sum_zero[block.groups] = block.reduce(np.add, mass)
        return sum_zero, sum_one

    def over_processes(self, loss: Ability, method: str) -> tuple[Ability, str]:
        """Return a margin loss whose sums are over all rows, and the method of its sums."""
        if not self.is_shared_list:
            return loss, method
        # The pairs with rows of other processes can't be visited one by one.
        return require(loss, "in_processes", "One list on several processes")(self), "fast"

    def spread(self, segment_values: Values) -> Values:
        """Repeat segment values to their rows."""
        return self.segments.spread(segment_values)

    def scan_above(self, ufunc: np.ufunc, values: Floats, identity: float) -> Floats:
        """Combine, for each segment, the values of the segments above it."""
        return self.queries.scan(ufunc, values, identity)

    def scan_below(self, ufunc: np.ufunc, values: Floats, identity: float) -> Floats:
        """Combine, for each segment, the values of the segments below it."""
        return self.queries.scan(ufunc, values, identity, reverse=True)

    def paired_weight(self, side: str = "top") -> Floats:
        """Return the weight of the rows above each row ("top"), or below it ("bottom")."""
        return self.spread(self._paired_weight(side))

    def role_weights(self, side: str) -> Floats:
        """Return the weights of the rows that have a row above ("top") or below ("bottom") them."""
        return np.where(self.paired_weight(side) > 0, self.weight, 0.0)

    def _paired_weight(self, side: str) -> Floats:
        """Return the same for each segment."""
        scan = self.scan_above if side == "top" else self.scan_below
        return scan(np.add, self.reduce(np.add, self.weight), 0.0)

    def log_relative_pairs(self, side: str = "top") -> Floats:
        """Return, for each segment, the log of `paired_weight` divided by its maximum.

        0 on one bipartite list, and for segments with no such row.
        """
        paired = self._paired_weight(side)
        has_pair = paired > 0
        max_paired = self.lists.largest(float(np.max(paired, initial=0.0)))
        return np.log(np.divide(paired, max_paired, out=np.ones_like(paired), where=has_pair))

    def draws(self, order: Indices | None = None) -> Draws:
        """Return a function that draws pairs of the rows here, see `PairDraws`."""
        return PairDraws(self, order)

    def smallest_difference(self, above: Floats, below: Floats) -> float:
        """Return the minimum of ``above[i] - below[k]`` over pairs; inf without pairs."""
        lowest = self.reduce(np.minimum, above)
        highest = self.scan_below(np.maximum, self.reduce(np.maximum, below), -np.inf)
        return float(self.lists.smallest(float(np.min(lowest - highest, initial=np.inf))))

    def largest_difference(self, values: Values) -> float:
        """Return the maximum of ``|values[i] - values[k]|`` over comparable pairs."""
        values = values.astype(np.float64)
        upward = -self.smallest_difference(-values, -values)
        return max(upward, -self.smallest_difference(values, values))


def _levels(y: Values) -> Indices:
    """Return integers in the order of y: small integers themselves, ranks of other values.

    Integers of 16 bits are sorted by radix, which is faster than ranking.
    """
    if float(np.abs(y).max(initial=0)) <= _SMALL:
        level = y.astype(np.int16)
        if np.array_equal(level, y):
            return level
    return np.unique(y, return_inverse=True)[1].ravel()


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
    >>> from sklearn_rank._core.preferences import PairDraws
    >>> from sklearn_rank.objectives import Preferences
    >>> rows = Preferences.from_labels(np.array([0, 1, 0, 1]), None, np.array([1.0, 2.0, 1.0, 3.0]))
    >>> upper, lower = PairDraws(rows)(10_000, np.random.RandomState(0))
    >>> (np.bincount(rows.order[upper]) / 10_000).round(1)  # rows 1 and 3 weigh 2 and 3
    array([0. , 0.4, 0. , 0.6])
    """

    def __init__(self, rows: Preferences, order: Indices | None = None) -> None:
        self._order = order
        weight = rows.weight if order is None else rows.weight[order]
        below = rows.scan_below(np.add, rows.reduce(np.add, weight), 0.0)
        self._pair_cumsum = np.cumsum(weight * rows.spread(below))
        self._cumsum = np.concatenate([[0.0], np.cumsum(weight)])
        # The rows below a row: from the end of its segment to the end of its query.
        self._segment_end = rows.segments.end
        self._query_end = rows.queries.spread(rows.segments.end[rows.queries.end - 1])

    def __call__(self, size: int, rng: np.random.RandomState) -> tuple[Indices, Indices]:
        """Return the upper and the lower rows of some pairs, in fit order."""
        # 1. The upper row, by the weight of its pairs.
        upper_draw, lower_draw = rng.random_sample((2, size))
        upper = np.searchsorted(self._pair_cumsum, upper_draw * self._pair_cumsum[-1], "right")
        upper = np.minimum(upper, len(self._pair_cumsum) - 1)
        # 2. The lower row, by its weight, among the rows after the segment in the query.
        segment = np.searchsorted(self._segment_end, upper, "right")
        begin, end = self._segment_end[segment], self._query_end[segment]
        start = self._cumsum[begin]
        target = start + lower_draw * (self._cumsum[end] - start)
        lower = np.clip(np.searchsorted(self._cumsum, target, "right") - 1, begin, end - 1)
        return (upper, lower) if self._order is None else (self._order[upper], self._order[lower])
