"""The processes that fit one model together.

They run the same code in lock-step, each on the rows that it holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

import numpy as np

from sklearn_rank._arrays import Floats

Value = TypeVar("Value")


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
