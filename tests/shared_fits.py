"""Fits whose rows are divided among threads that act as the processes of a cluster."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sklearn_rank._core.rows import Rows

TIMEOUT = 60.0
"""Seconds after which a process that waits for the others gives up."""


@dataclass
class Board:
    """What the threads of one fit share.

    There are slots for two messages in turn: who writes the next but one has met the others at
    the barrier of the next, so that all of them have read this one.
    """

    size: int
    slots: list[list[Any]] = field(init=False)
    barrier: threading.Barrier = field(init=False)
    n_messages: int = 0

    def __post_init__(self) -> None:
        self.slots = [[None] * self.size for _ in range(2)]
        self.barrier = threading.Barrier(self.size, timeout=TIMEOUT)


class ThreadCollective:
    """One of several threads that each hold a part of the rows."""

    def __init__(self, board: Board, rank: int) -> None:
        self._board, self.rank, self.size = board, rank, board.size
        self._n_sent = 0

    def _exchange(self, kind: str, value: Any) -> list[Any]:
        slots = self._board.slots[self._n_sent % 2]
        self._n_sent += 1
        slots[self.rank] = (kind, value)
        self._board.barrier.wait()
        seen = list(slots)
        assert {one[0] for one in seen} == {kind}, f"not in lock-step: {[s[0] for s in seen]}"
        self._board.n_messages += self.rank == 0
        return [one[1] for one in seen]

    def reduce(self, ufunc: np.ufunc, values: Any) -> Any:
        parts = self._exchange(f"reduce {ufunc.__name__}", np.asarray(values, dtype=float))
        assert len({part.shape for part in parts}) == 1
        total = ufunc.reduce(np.stack(parts), axis=0)
        return total if np.ndim(values) else float(total)

    def gather(self, values: Any) -> list[Any]:
        assert np.ndim(values) == 1
        return self._exchange("gather", np.array(values, dtype=float))

    def agree(self, value: Any) -> Any:
        return self._exchange("agree", value)[0]


def unlabelled(X, weight, collective=None):
    """Return rows of which only features and weights matter."""
    return Rows(X, np.ones(len(X), dtype=bool), None, weight, collective=collective)


def make_model(number: int, objective: float, attributes: Any) -> bool:
    """Make the model of this round, and go on."""
    return not attributes()


class Observer:
    """Asks `tell`, in each process, whether the fit ends; the first one's answer counts."""

    def __init__(self, collective: Any, tell: Any = make_model) -> None:
        self._collective, self._tell = collective, tell

    def begin(self, attributes: Any) -> None:
        self._attributes = attributes

    def __call__(self, number: int, objective: float, validation: float | None = None) -> bool:
        return self._collective.agree(self._tell(number, objective, self._attributes))


def run_together(n_processes: int, task: Any) -> tuple[list[Any], int]:
    """Return ``task(collective)`` of each process, and the number of messages."""
    board = Board(n_processes)

    def run(rank: int) -> Any:
        try:
            return task(ThreadCollective(board, rank))
        except BaseException:
            board.barrier.abort()
            raise

    with ThreadPoolExecutor(n_processes) as pool:
        futures = [pool.submit(run, rank) for rank in range(n_processes)]
        errors = [future.exception() for future in futures]
        real = [e for e in errors if e and not isinstance(e, threading.BrokenBarrierError)]
        if real or any(errors):
            raise (real or [e for e in errors if e])[0]
        return [future.result() for future in futures], board.n_messages
