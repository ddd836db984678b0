"""The processes of a fit as its rows see them, also while one of them acts alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sklearn_rank._core.processes import Collective, Value
from sklearn_rank._core.protocols import Floats


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
