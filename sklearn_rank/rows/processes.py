"""Sums over rows that several processes hold: what one process sums, these reduce.

Processes that fit one model together run the same code in lock-step, each on the rows that it
holds. Wherever one process sums over rows, the sum goes through a `Collective`. Alone, a
process has `ONE_PROCESS`, which returns what it is given.

A decision that rounding could turn, on processors of different kinds, is made by the first
process, and the others take it (`Collective.agree`, `led`): otherwise they would wait for
messages that never come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np

from sklearn_rank._protocols import Floats, Values

Value = TypeVar("Value")
Result = TypeVar("Result")

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


class OneProcess:
    """A process that has all rows."""

    rank = 0
    size = 1

    def reduce(self, ufunc: np.ufunc, values: Any) -> Any:
        """Return the values."""
        return values

    def gather(self, values: Floats) -> list[Floats]:
        """Return the values, as the only ones."""
        return [values]

    def agree(self, value: Value) -> Value:
        """Return the value."""
        return value


ONE_PROCESS = OneProcess()


def identity_of(ufunc: np.ufunc) -> float:
    """Return what leaves the result of np.add, np.maximum or np.minimum as it is."""
    return _NOTHING[ufunc]


def log_add_exp(collective: Collective, values: Any) -> Any:
    """Return the logarithm of the sum, over the processes, of the exponentials of values."""
    if collective.size == 1:
        return values
    parts = collective.gather(np.atleast_1d(np.asarray(values, dtype=np.float64)))
    total = np.logaddexp.reduce(np.stack(parts), axis=0)
    return total if np.ndim(values) else float(total[0])


def concat(collective: Collective, values: Values) -> Values:
    """Return the one-dimensional arrays of all processes, of one type, one after the other.

    Masks travel as bits, and codes of 64 bits as halves, which floats hold.
    """
    if collective.size == 1:
        return values
    if values.dtype == np.bool_:
        bits = np.append(np.packbits(values).astype(np.float64), len(values))
        parts = [
            np.unpackbits(part[:-1].astype(np.uint8), count=int(part[-1])).astype(bool)
            for part in collective.gather(bits)
        ]
    elif values.dtype == np.uint64:
        halves = np.ascontiguousarray(values).view(np.uint32).astype(np.float64)
        parts = [part.astype(np.uint32).view(np.uint64) for part in collective.gather(halves)]
    else:
        parts = collective.gather(values)
    return np.concatenate(parts)


def led(
    collective: Collective,
    solve: Callable[[Mapping[str, Callable[..., Any]]], Result],
    functions: Mapping[str, Callable[..., Any]],
) -> Result:
    """Return ``solve(functions)``, run by the first process alone.

    Parameters
    ----------
    collective : Collective
        The processes.
    solve : callable
        Takes the functions by name and returns anything that can be pickled. It may call them
        as often as it likes.
    functions : mapping of str to callable
        Functions that need all processes. Where the first process calls one, all the others do,
        with the same arguments.
    """
    if collective.size == 1:
        return solve(functions)
    if collective.rank == 0:
        return _lead(collective, solve, functions)
    while True:
        asked: tuple[str, tuple[Any, ...]] = ("", ())
        name, arguments = collective.agree(asked)
        if name == "raise":
            raise arguments[0]
        if name == "return":
            result: Result = arguments[0]
            return result
        functions[name.removeprefix(".")](*arguments)


def _lead(
    collective: Collective,
    solve: Callable[[Mapping[str, Callable[..., Any]]], Result],
    functions: Mapping[str, Callable[..., Any]],
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
