"""Sums over rows that several processes hold: what one process sums, these reduce.

Processes that fit one model together run the same code in lock-step, each on the rows that it
holds. Whoever sums over rows says so by a method of `Sums`, which `Rows`, `Preferences` and
`FitRows` are: on one process it returns what it is given, on several it sends messages. Nobody
else asks how many processes there are.

A decision that rounding could turn, on processors of different kinds, is made by the first
process, and the others take it (`Sums.agree`, `Sums.lead`): otherwise they would wait for
messages that never come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np

from sklearn_rank._arrays import Floats, Values

Value = TypeVar("Value")
Result = TypeVar("Result")
Functions = Mapping[str, Callable[..., Any]]

_NOTHING: dict[np.ufunc, float] = {np.add: 0.0, np.maximum: -np.inf, np.minimum: np.inf}


class shared_property(cached_property[Value]):  # noqa: N801
    """A cached property that several processes may compute together.

    Up to Python 3.11 a cached property has one lock for all objects of its class: where the
    processes are threads of one interpreter, each would wait for the others in it.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        super().__init__(function)
        vars(self)["lock"] = nullcontext()


class Collective(Protocol):
    """The processes of a fit. All call the same methods, in the same order.

    Attributes
    ----------
    rank : int
        Number of this process, from 0 on.
    size : int
        Number of processes.
    """

    rank: int
    size: int

    def reduce(self, ufunc: np.ufunc, values: Any) -> Any:
        """Return the sum (np.add), maximum or minimum over the processes, item by item.

        `values`, a number or an array of floats, has one shape on all; the result has the same
        bits on all.
        """

    def gather(self, values: Floats) -> list[Floats]:
        """Return the one-dimensional arrays of all processes, by rank; lengths may differ."""

    def agree(self, value: Value) -> Value:
        """Return the value of the first process."""


class Together:
    """The processes of a fit, and whether this one acts alone for a while.

    Parameters
    ----------
    collective : Collective
        The processes.
    """

    def __init__(self, collective: Collective) -> None:
        self._collective = collective
        self.rank, self.size = collective.rank, collective.size
        self.is_alone = False

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let this process act alone while the block runs; messages are errors."""
        self.is_alone = True
        try:
            yield
        finally:
            self.is_alone = False

    def reduce(self, ufunc: np.ufunc, values: Any) -> Any:
        """Return the sum, maximum or minimum over the processes, item by item."""
        return self._reached.reduce(ufunc, values)

    def gather(self, values: Floats) -> list[Floats]:
        """Return the one-dimensional arrays of all processes, by rank."""
        return self._reached.gather(values)

    def agree(self, value: Value) -> Value:
        """Return the value of the first process."""
        return self._reached.agree(value)

    @property
    def _reached(self) -> Collective:
        """The processes; RuntimeError where no other takes part, which would wait for ever."""
        if self.is_alone:
            raise RuntimeError("A process that acts alone has asked for a sum over all of them.")
        return self._collective


class Sums:
    """Sums over all rows, of which this process may hold a part.

    Parameters
    ----------
    collective : Collective or None
        The processes that hold the rows; None where all rows are here.
    """

    collective: Any = None

    def __init__(self, collective: Collective | None = None) -> None:
        self.collective = collective

    def total(self, values: Any) -> Any:
        """Return the sum over all rows, item by item, given that over the rows here."""
        return values if self.collective is None else self.collective.reduce(np.add, values)

    def totals(self, *values: Any) -> tuple[Any, ...]:
        """Return `total` of several numbers and arrays, with one message."""
        if self.collective is None:
            return values
        sizes = np.cumsum([np.size(one) for one in values])
        flat = self.collective.reduce(np.add, np.concatenate([np.ravel(one) for one in values]))
        parts = np.split(flat, sizes[:-1])
        return tuple(
            part.reshape(np.shape(one)) if np.ndim(one) else float(part[0])
            for part, one in zip(parts, values, strict=True)
        )

    def largest(self, values: Any) -> Any:
        """Return the maximum over all rows, item by item, given that over the rows here."""
        return values if self.collective is None else self.collective.reduce(np.maximum, values)

    def smallest(self, values: Any) -> Any:
        """Return the minimum over all rows, item by item, given that over the rows here."""
        return values if self.collective is None else self.collective.reduce(np.minimum, values)

    def log_total(self, values: Any) -> Any:
        """Return `total` for logarithms: the logarithm of the sum of the exponentials."""
        if self.collective is None:
            return values
        parts = self.collective.gather(np.asarray(values, dtype=np.float64).ravel())
        total = np.logaddexp.reduce(np.stack(parts), axis=0)
        return total.reshape(np.shape(values)) if np.ndim(values) else float(total[0])

    def concat(self, values: Values) -> Values:
        """Return the one-dimensional arrays of all processes, one after the other.

        Masks travel as bits, and codes of 64 bits as halves, which floats hold.
        """
        if self.collective is None:
            return values
        if values.dtype == np.bool_:
            bits = np.append(np.packbits(values).astype(np.float64), len(values))
            parts = [
                np.unpackbits(part[:-1].astype(np.uint8), count=int(part[-1]))
                for part in self.collective.gather(bits)
            ]
        elif values.dtype == np.uint64:
            halves = np.ascontiguousarray(values).view(np.uint32).astype(np.float64)
            gathered = self.collective.gather(halves)
            parts = [part.astype(np.uint32).view(np.uint64) for part in gathered]
        else:
            parts = self.collective.gather(values.astype(np.float64, copy=False))
        return np.concatenate(parts).astype(values.dtype, copy=False)

    def agree(self, value: Value) -> Value:
        """Return the value of the first process."""
        return value if self.collective is None else self.collective.agree(value)

    def lead(self, solve: Callable[[Functions], Result], functions: Functions) -> Result:
        """Return ``solve(functions)``, run by the first process alone.

        Parameters
        ----------
        solve : callable
            Takes the functions by name and returns anything that can be pickled. It may call
            them as often as it likes.
        functions : mapping of str to callable
            Functions that need all processes. Where the first process calls one, all the others
            do, with the same arguments.
        """
        if self.collective is None:
            return solve(functions)
        if self.collective.rank == 0:
            return _lead(self.collective, solve, functions)
        while True:
            asked: tuple[str, tuple[Any, ...]] = ("", ())
            name, arguments = self.collective.agree(asked)
            if name == "raise":
                raise arguments[0]
            if name == "return":
                result: Result = arguments[0]
                return result
            functions[name.removeprefix(".")](*arguments)

    def map(self, function: Callable[[int], Result], n: int, threads: Any = None) -> list[Result]:
        """Return ``function(k)`` for each k < n; messages, if there are any, come in one order.

        Without them the threads, a `ThreadPool`, share the work.
        """
        if threads is None or self.collective is not None:
            return [function(k) for k in range(n)]
        found: list[Result] = threads.map(function, n)
        return found

    def ahead(self, compute: Callable[[], Any]) -> None:
        """Call a function now whose sums are kept, and asked for where a process acts alone."""
        if self.collective is not None:
            compute()

    def together(self, compute: Callable[[], Result], alone: Callable[[], Result]) -> Result:
        """Return ``compute()`` if all processes take part, ``alone()`` if this one acts alone."""
        return compute() if self.within_reach is self else alone()

    @property
    def within_reach(self) -> Sums:
        """These sums or, where this process acts alone, those of the rows here."""
        return ALL_HERE if getattr(self.collective, "is_alone", False) else self

    def refuse_parts(self, message: str) -> None:
        """Raise ValueError with a message where the rows here may be a part of all."""
        if self.collective is not None:
            raise ValueError(message)


ALL_HERE = Sums()
"""Sums where all rows are here."""


def identity_of(ufunc: np.ufunc) -> float:
    """Return the neutral element of np.add, np.maximum or np.minimum."""
    return _NOTHING[ufunc]


def _lead(
    collective: Collective, solve: Callable[[Functions], Result], functions: Functions
) -> Result:
    """Run `solve`, and tell the other processes of every call."""
    shared_errors: list[Exception] = []

    def called(name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            collective.agree((f".{name}", arguments))
            try:
                return functions[name](*arguments)
            except Exception as error:
                shared_errors.append(error)
                raise

        return call

    try:
        result = solve({name: called(name) for name in functions})
    except Exception as error:
        # The others have met an error of a function themselves, and have left.
        if not shared_errors:
            collective.agree(("raise", (error,)))
        raise
    collective.agree(("return", (result,)))
    return result
