"""The processes that fit one model together.

They run the same code in lock-step, each on the rows that it holds.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np

from sklearn_rank._core.arrays import Floats

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
