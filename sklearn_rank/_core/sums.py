"""Sums over consecutive groups of items, and over the processes that hold them.

Items are rows or levels of relevance; groups are queries, levels or runs of tied scores. Their
reductions, scans and blocks need no loop over groups. Nothing here knows labels, scores or weights.

All reductions over rows go through `Sums`, of which `Rows`, `Preferences` and `FitRows` are
subclasses: one process returns its own value, several exchange messages. No other code depends on
the number of processes.

A decision that rounding could change on another kind of processor is made by the first process
(`Sums.agree`, `Sums.lead`): processes that decide differently would wait for each other forever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np

from sklearn_rank._core.arrays import Floats, Function, Indices, Mask, Numbers, Setting, Values

Value = TypeVar("Value")
Result = TypeVar("Result")
Functions = Mapping[str, Function]
"""Functions by name that all processes call together: see `Sums.lead`."""

IDENTITY: dict[np.ufunc, float] = {np.add: 0.0, np.maximum: -np.inf, np.minimum: np.inf}
"""The neutral elements of reductions."""

_MANY_ITEMS = 32
"""Longest group that is scanned item by item, together with the others; longer ones one by one."""


def starts_run(values: Values) -> Mask:
    """Mark the first of each run of equal values, without differences, which could overflow."""
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
    >>> from sklearn_rank._core.sums import Groups
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
        """The position of each item in its group, counted from 0."""
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
        # Short groups together: the second items of all, then the third ones, and so on. Each long
        # group alone, since few groups would be left for its last items.
        out = np.full(values.shape, identity)
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

        The sums are differences of one running sum. Powers of two scale each group to about one,
        so that a light group keeps its precision beside a heavy one.
        """
        # Powers of two change no digit.
        exponent = self.spread(np.frexp(self.reduce(np.add, values))[1])
        running = np.concatenate([[0.0], np.cumsum(np.ldexp(values, -exponent))])
        return np.asarray(np.ldexp(running[1:] - self.spread(running[self.start]), exponent))

    def block(self, first: int, last: int) -> Block:
        """Return the groups from `first` to before `last` as a block."""
        start, end = self.start[first:last], self.end[first:last]
        n_items, groups = int(end[-1] - start[0]), slice(first, first + len(start))
        return Block(start - start[0], n_items, int(start[0]), groups)

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
        is_short = self.length <= _MANY_ITEMS
        first, last = self.start[is_short], self.end[is_short]
        longest = int(np.max(last - first, initial=1))
        return [(first + k)[first + k < last] for k in range(1, longest)]

    @cached_property
    def _long_groups(self) -> list[tuple[int, int]]:
        """First and past-the-end item of the long groups."""
        long_groups = np.flatnonzero(self.length > _MANY_ITEMS)
        return [(int(self.start[g]), int(self.end[g])) for g in long_groups]


def nested_runs(outer_codes: Values, inner_codes: Values) -> tuple[Groups, Groups]:
    """Return the runs of equal pairs, over items, and of equal `outer_codes`, over these runs."""
    is_first = starts_run(outer_codes)
    runs = Groups(np.flatnonzero(is_first | starts_run(inner_codes)), len(outer_codes))
    return runs, Groups(np.flatnonzero(is_first[runs.start]), runs.n_groups)


@dataclass(frozen=True, eq=False)
class Block(Groups):
    """Some consecutive groups of a larger division, with items counted from their first.

    Attributes
    ----------
    offset : int
        The block's first item in the larger division.
    groups : slice
        The block's groups in the larger division.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank._core.sums import Groups
    >>> block = Groups.of_runs(np.array([7, 7, 7, 4, 4])).block(1, 2)
    >>> block.items, block.start
    (slice(3, 5, None), array([0]))
    """

    offset: int
    groups: slice[int, int, None]

    @property
    def items(self) -> slice[int, int, None]:
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
    >>> from sklearn_rank.objectives import Queries
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
        first_row = np.full(int(qid.max()) + 1, n_rows)
        np.minimum.at(first_row, qid[runs.start], runs.start)
        order = np.argsort(first_row[qid], kind="stable")
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


class shared_property(cached_property[Value]):  # noqa: N801
    """A cached property that several processes may compute together.

    In Python 3.11 a cached property has one lock for all objects of its class. Processes that are
    threads of one interpreter, as in tests, would wait for each other in it forever.
    """

    def __init__(self, function: Callable[[Setting], Value]) -> None:
        super().__init__(function)
        vars(self)["lock"] = nullcontext()


class Collective(Protocol):
    """The processes that fit one model together, each on the rows that it holds.

    They run the same code in lock-step: all call the same methods, in the same order.

    Attributes
    ----------
    rank : int
        Number of this process, counted from 0.
    size : int
        Number of processes.
    """

    rank: int
    size: int

    def reduce(self, ufunc: np.ufunc, values: Numbers) -> Numbers:
        """Return the sum (np.add), maximum or minimum over the processes, item by item.

        `values`, a number or an array of floats, has one shape on all; the result has the same
        bits on all.
        """

    def gather(self, values: Floats) -> list[Floats]:
        """Return the one-dimensional arrays of all processes, by rank; lengths may differ."""

    def agree(self, value: Value) -> Value:
        """Return the value of the first process."""


class Sums:
    """Sums over all rows, of which this process may have only a part.

    Parameters
    ----------
    collective : Collective or None
        The processes that hold the rows; None where all rows are here.
    """

    collective: Collective | None = None

    def __init__(self, collective: Collective | None = None) -> None:
        self.collective = collective

    def total(self, values: Numbers) -> Numbers:
        """Return the sum over all rows, item by item, given that over the rows here."""
        return values if self.collective is None else self.collective.reduce(np.add, values)

    def totals(self, *values: Numbers) -> tuple[Numbers, ...]:
        """Return `total` of several numbers and arrays, with one message."""
        if self.collective is None:
            return values
        offsets = np.cumsum([np.size(value) for value in values])
        flat_sums = self.collective.reduce(np.add, np.concatenate([np.ravel(v) for v in values]))
        return tuple(
            total.reshape(np.shape(value)) if np.ndim(value) else float(total[0])
            for total, value in zip(np.split(flat_sums, offsets[:-1]), values, strict=True)
        )

    def largest(self, values: Numbers) -> Numbers:
        """Return the maximum over all rows, item by item, given that over the rows here."""
        return values if self.collective is None else self.collective.reduce(np.maximum, values)

    def smallest(self, values: Numbers) -> Numbers:
        """Return the minimum over all rows, item by item, given that over the rows here."""
        return values if self.collective is None else self.collective.reduce(np.minimum, values)

    def log_total(self, values: Numbers) -> Numbers:
        """Return `total` for logarithms: the logarithm of the sum of the exponentials."""
        if self.collective is None:
            return values
        logs = self.collective.gather(np.asarray(values, dtype=np.float64).ravel())
        total = np.logaddexp.reduce(np.stack(logs), axis=0)
        return total.reshape(np.shape(values)) if np.ndim(values) else float(total[0])

    def concat(self, values: Values) -> Values:
        """Return the one-dimensional arrays of all processes, one after the other.

        Masks are sent as bits, and integers as floats, which must hold them exactly.
        """
        if self.collective is None:
            return values
        if values.dtype == np.bool_:
            bits = np.append(np.packbits(values).astype(np.float64), len(values))
            packed = self.collective.gather(bits)
            masks = [np.unpackbits(p[:-1].astype(np.uint8), count=int(p[-1])) for p in packed]
            return np.concatenate(masks).astype(np.bool_)
        arrays = self.collective.gather(values.astype(np.float64, copy=False))
        return np.concatenate(arrays).astype(values.dtype, copy=False)

    def agree(self, value: Value) -> Value:
        """Return the value of the first process."""
        return value if self.collective is None else self.collective.agree(value)

    def lead(self, solve: Callable[[Functions], Result], functions: Functions) -> Result:
        """Return ``solve(functions)``, run by the first process only.

        Parameters
        ----------
        solve : callable
            Gets functions by these names, which it may call any number of times; its result must
            be picklable.
        functions : mapping of str to callable
            Functions that need all processes: when the first process calls one, all the others
            call it with the same arguments.
        """
        if self.collective is None:
            return solve(functions)
        if self.collective.rank == 0:
            return _lead(self.collective, solve, functions)
        # The other processes wait for the name of a function, marked by a dot, and its arguments,
        # until the first one returns or raises.
        while True:
            no_call: tuple[str, tuple[Setting, ...]] = ("", ())
            name, arguments = self.collective.agree(no_call)
            if name == "raise":
                raise arguments[0]
            if name == "return":
                result: Result = arguments[0]
                return result
            functions[name.removeprefix(".")](*arguments)


ALL_HERE = Sums()
"""Sums where all rows are here."""


def _lead(
    collective: Collective, solve: Callable[[Functions], Result], functions: Functions
) -> Result:
    """Run `solve`, and send every call of a function to the other processes."""
    shared_errors: list[Exception] = []

    def shared_call(name: str) -> Function:
        def call(*arguments: Setting) -> Setting:
            collective.agree((f".{name}", arguments))
            try:
                return functions[name](*arguments)
            except Exception as error:
                shared_errors.append(error)
                raise

        return call

    try:
        result = solve({name: shared_call(name) for name in functions})
    except Exception as error:
        # An error of a function has ended `lead` in all processes already.
        if not shared_errors:
            collective.agree(("raise", (error,)))
        raise
    collective.agree(("return", (result,)))
    return result
