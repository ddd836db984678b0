"""XGBoost's collective as the `Collective` of a fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import numpy as np
from xgboost import collective
from xgboost.core import XGBoostError

from sklearn_rank._core.protocols import Floats

Value = TypeVar("Value")

TIMEOUT = 300
"""Seconds that workers wait for each other: until all have joined a fit, and for a message."""

_FIRST_VALUES = 16
"""Values of each process in the first message of `gather`: short arrays need no second one."""

_MESSAGE_SOURCES = re.compile(r"[/\\]collective[/\\]")
"""The folder of XGBoost's sources that send messages."""

_OPERATIONS: dict[np.ufunc, collective.Op] = {
    np.add: collective.Op.SUM,
    np.maximum: collective.Op.MAX,
    np.minimum: collective.Op.MIN,
}


class PeerLostError(ConnectionError):
    """Another process of the fit does not answer."""


class XGBoostCollective:
    """The processes that have joined XGBoost's collective, in the thread of the constructor.

    Parameters
    ----------
    check : callable
        Called before each message; raises to leave the fit.
    """

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check
        self.rank = int(collective.get_rank())
        self.size = int(collective.get_world_size())

    def reduce(self, ufunc: np.ufunc, values: Any) -> Any:
        """Return the sum, maximum or minimum over the processes, item by item."""
        array = np.ascontiguousarray(values, dtype=np.float64)
        self._check()
        if self.size == 1 or not array.size:
            return values
        with peer_lost():
            total = collective.allreduce(array.reshape(-1), _OPERATIONS[ufunc])
        return total.reshape(np.shape(values)) if np.ndim(values) else float(total[0])

    def gather(self, values: Floats) -> list[Floats]:
        """Return the one-dimensional arrays of all processes, by rank."""
        values = np.asarray(values, dtype=np.float64)
        if self.size == 1:
            return [values]
        # A sum in which each process fills a row of its own: the length, and the first values.
        message = np.zeros((self.size, 1 + _FIRST_VALUES))
        message[self.rank, 0] = len(values)
        message[self.rank, 1 : 1 + len(values[:_FIRST_VALUES])] = values[:_FIRST_VALUES]
        message = self.reduce(np.add, message)
        lengths = message[:, 0].astype(np.intp)
        if lengths.max() <= _FIRST_VALUES:
            return [row[1 : 1 + n] for row, n in zip(message, lengths, strict=True)]
        ends = np.cumsum(lengths)
        gathered = np.zeros(ends[-1])
        gathered[ends[self.rank] - len(values) : ends[self.rank]] = values
        return np.split(self.reduce(np.add, gathered), ends[:-1])

    def agree(self, value: Value) -> Value:
        """Return the value of the first process."""
        self._check()
        if self.size == 1:
            return value
        with peer_lost():
            # XGBoost can't send None, but a tuple of it.
            return collective.broadcast((value,), 0)[0]


@contextmanager
def peer_lost() -> Iterator[None]:
    """Raise PeerLostError for an error of XGBoost, inside the block."""
    try:
        yield
    except XGBoostError as error:
        raise _peer_lost_error(error) from error


@contextmanager
def peer_lost_in_trees() -> Iterator[None]:
    """Raise PeerLostError if trees cannot be grown because a process is lost.

    XGBoost sends messages of its own while it grows trees; its error names their source file.
    """
    try:
        yield
    except ValueError as error:
        cause = error.__cause__
        if isinstance(cause, XGBoostError) and _MESSAGE_SOURCES.search(str(cause)):
            raise _peer_lost_error(cause) from error
        raise


def _peer_lost_error(error: XGBoostError) -> PeerLostError:
    return PeerLostError(f"A worker of the fit was lost: {str(error).splitlines()[0]}")


@contextmanager
def joined(arguments: dict[str, Any], rank: int) -> Iterator[None]:
    """Join the collective of a tracker as process `rank` while the block runs.

    Without arguments the process is alone.
    """
    if not arguments:
        yield
        return
    with peer_lost():
        collective.init(**arguments, dmlc_task_id=f"{rank:08d}", dmlc_timeout=TIMEOUT, dmlc_retry=3)
    try:
        yield
    finally:
        # After an error in the block the others may be gone, and can't be told.
        with suppress(XGBoostError):
            collective.finalize()
