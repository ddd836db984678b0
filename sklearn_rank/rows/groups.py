"""Consecutive groups of items: reductions, scans and blocks, without a loop over groups.

Items are rows, or levels of relevance; groups are queries, levels or runs of tied scores.
Nothing here knows labels, scores or weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sklearn_rank._arrays import Floats, Indices, Mask, Values

__all__ = ["Block", "Groups", "Queries"]

_MANY_ITEMS = 32
"""Groups with more items are scanned one by one, the others side by side."""


def starts_run(values: Values) -> Mask:
    """Mark the first of each run of equal values; a difference could overflow."""
    return np.concatenate([[True], values[1:] != values[:-1]])[: len(values)]


@dataclass(frozen=True, eq=False)
class Groups:
    """Items 0, 1, ..., divided into consecutive groups.

    Attributes
    ----------
    start : ndarray of shape (n_groups,)
        First item of each group, increasing from 0: no group is empty.
    n_items : int
        Number of items.

    Examples
    --------
    Two groups, of three and two items:

    >>> import numpy as np
    >>> from sklearn_rank.rows.groups import Groups
    >>> groups = Groups.of_runs(np.array([7, 7, 7, 4, 4]))
    >>> values = np.array([2.0, 1.0, 3.0, 5.0, 4.0])
    >>> groups.reduce(np.maximum, values)
    array([3., 5.])
    >>> groups.spread(np.array([10.0, 20.0]))
    array([10., 10., 10., 20., 20.])
    >>> groups.scan(np.add, values, 0.0)  # the sum of the items before each
    array([0., 2., 3., 0., 5.])
    """

    start: Indices
    n_items: int

    @classmethod
    def of_runs(cls, values: Values) -> Groups:
        """Return the runs of equal values."""
        return cls(np.flatnonzero(starts_run(values)), len(values))

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.start)

    @cached_property
    def end(self) -> Indices:
        """One past the last item of each group."""
        return np.append(self.start[1:], self.n_items)

    @cached_property
    def length(self) -> Indices:
        """Number of items of each group."""
        return np.diff(self.start, append=self.n_items)

    @property
    def positions(self) -> Indices:
        """The place of each item in its group, from 0 on."""
        return np.arange(self.n_items) - self.spread(self.start)

    def reduce(self, ufunc: np.ufunc, values: Values) -> Values:
        """Reduce item values, along the first axis, to one value for each group."""
        return np.asarray(ufunc.reduceat(values, self.start, axis=0))

    def spread(self, group_values: Values) -> Values:
        """Repeat group values to their items."""
        return np.repeat(group_values, self.length, axis=0)

    def scan(
        self, ufunc: np.ufunc, values: Floats, identity: float, *, reverse: bool = False
    ) -> Floats:
        """Combine, for each item, the items before it in its group (`reverse`: after it)."""
        out = np.full(len(values), identity)
        if reverse:
            for items in reversed(self._by_position):
                out[items - 1] = ufunc(out[items], values[items])
            for first, last in self._long_groups:
                out[first : last - 1] = ufunc.accumulate(values[last - 1 : first : -1])[::-1]
            return out
        for items in self._by_position:
            out[items] = ufunc(out[items - 1], values[items - 1])
        for first, last in self._long_groups:
            out[first + 1 : last] = ufunc.accumulate(values[first : last - 1])
        return out

    def shift(self, values: Values, first: float) -> Values:
        """Return, for each item, the value of the item before it in its group, or `first`."""
        out = np.empty_like(values)
        out[1:] = values[:-1]
        out[self.start] = first
        return out

    def cumsum(self, values: Floats) -> Floats:
        """Cumulate non-negative values inside the groups.

        The sums are differences of one running sum. Scaled by powers of two every group
        weighs about one, so that a light group loses nothing beside a heavy one.
        """
        exponent = self.spread(np.frexp(self.reduce(np.add, values))[1])
        running = np.concatenate([[0.0], np.cumsum(np.ldexp(values, -exponent))])
        return np.asarray(np.ldexp(running[1:] - self.spread(running[self.start]), exponent))

    def block(self, first: int, last: int) -> Block:
        """Return the groups from `first` to before `last` as a block."""
        start, end = self.start[first:last], self.end[first:last]
        return Block(start - start[0], int(end[-1] - start[0]), int(start[0]))

    def blocks(self, n_items: int) -> list[Block]:
        """Return all groups in blocks of at most `n_items` items, or of one longer group."""
        blocks, first = [], 0
        while first < self.n_groups:
            limit = self.start[first] + n_items
            last = max(int(np.searchsorted(self.end, limit, side="right")), first + 1)
            blocks.append(self.block(first, last))
            first = last
        return blocks

    @cached_property
    def _by_position(self) -> list[Indices]:
        """The second, third, ... items of the short groups."""
        short = self.length <= _MANY_ITEMS
        first, last = self.start[short], self.end[short]
        longest = int(np.max(last - first, initial=1))
        return [(first + place)[first + place < last] for place in range(1, longest)]

    @cached_property
    def _long_groups(self) -> list[tuple[int, int]]:
        """First and past-the-end item of the long groups."""
        long = np.flatnonzero(self.length > _MANY_ITEMS)
        return [(int(self.start[g]), int(self.end[g])) for g in long]


def nested_runs(outer: Values, inner: Values) -> tuple[Groups, Groups]:
    """Return the runs of equal pairs, over items, and of equal `outer`, over these runs."""
    is_first = starts_run(outer)
    runs = Groups(np.flatnonzero(is_first | starts_run(inner)), len(outer))
    return runs, Groups(np.flatnonzero(is_first[runs.start]), runs.n_groups)


@dataclass(frozen=True, eq=False)
class Block(Groups):
    """Some consecutive groups of a larger division, with items counted from their first.

    Attributes
    ----------
    offset : int
        The block's first item in the larger division.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.rows.groups import Groups
    >>> block = Groups.of_runs(np.array([7, 7, 7, 4, 4])).block(1, 2)
    >>> block.items, block.start
    (slice(3, 5, None), array([0]))
    """

    offset: int

    @property
    def items(self) -> slice:
        """The block's items in the larger division."""
        return slice(self.offset, self.offset + self.n_items)


@dataclass(frozen=True, eq=False)
class Queries:
    """Rows grouped by query; the queries keep the order in which they first appear.

    Attributes
    ----------
    order : ndarray of shape (n_rows,) or None
        ``values[order]`` is grouped; None when the rows already are.
    queries : Groups
        The queries, over the rows in this order.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.rows.groups import Queries
    >>> rows = Queries.from_codes(np.array([1, 0, 1, 0]), 4)  # queries that come in pieces
    >>> rows.order, rows.queries.start
    (array([0, 2, 1, 3]), array([0, 2]))
    """

    order: Indices | None
    queries: Groups

    @classmethod
    def from_codes(cls, qid: Indices | None, n_rows: int) -> Queries:
        """Group rows with query codes 0, 1, ... (gaps allowed); None means one query."""
        if qid is None:
            return cls(None, Groups(np.zeros(1, dtype=np.intp), n_rows))
        runs = Groups.of_runs(qid)
        if runs.n_groups == np.count_nonzero(np.bincount(qid)):
            return cls(None, runs)
        first = np.full(int(qid.max()) + 1, n_rows)
        np.minimum.at(first, qid[runs.start], runs.start)
        order = np.argsort(first[qid], kind="stable")
        return cls(order, Groups.of_runs(qid[order]))

    def sort(self, values: Values) -> Values:
        """Return values of the caller's rows in grouped order."""
        return values if self.order is None else values[self.order]

    def unsort(self, values: Values) -> Values:
        """Return values in grouped order in the order of the caller's rows."""
        if self.order is None:
            return values
        out = np.empty_like(values)
        out[self.order] = values
        return out
