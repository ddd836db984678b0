"""Messages on rounds from the first worker of a fit to the client, and the client's answers.

The client calls these functions by ``client.run``: they run on the event loop of the worker,
beside the thread of the fit. A call or its reply may be lost. So the worker keeps its messages
until the client has acknowledged them: each call says up to which round the client has them, and
whether the fit ends.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from sklearn_rank.dask._xgboost_collective import PeerLostError

_CLIENT_SILENCE = 120.0
"""Seconds without a call of the client after which a worker leaves the fit: it is gone."""

_MOST_MESSAGES = 10_000
"""Rounds kept for a client that does not call; the oldest are dropped."""

_PAUSE = 0.01
"""Seconds between two looks for messages where each round waits for its answer: short."""

_LONG_PAUSE = 0.05
"""Seconds between two looks for messages where no round waits."""

_CHECKPOINT_SHARE = 0.05
"""Share of the time of a fit that checkpoints may take."""

_BETWEEN_CHECKPOINTS = 0.5
"""Least seconds between two checkpoints: more would burden the network for little."""


class FitStoppedError(RuntimeError):
    """The client has ended the fit."""


@dataclass(frozen=True)
class RoundMessage:
    """A message of the first worker after a round.

    Attributes
    ----------
    round : int
        Number of the round, increasing.
    objective : float
        The objective after the round.
    attributes : dict or None
        Fitted attributes after the round, at checkpoints only.
    """

    round: int
    objective: float
    attributes: dict[str, Any] | None = None


class Mailbox:
    """Observes a fit on one worker; the first worker reports each round to the client.

    Parameters
    ----------
    rank : int
        Number of the worker.
    waits : bool
        Whether each round waits until the client has answered.
    """

    def __init__(self, rank: int, waits: bool) -> None:
        self.agree: Callable[[Any], Any] = lambda value: value
        """Returns the value of the first worker; set when the workers have joined."""
        self._rank, self._waits = rank, waits
        self._attributes: Callable[[], dict[str, Any]] = dict
        self._messages: deque[RoundMessage] = deque(maxlen=_MOST_MESSAGES)
        self._n_received = 0
        self._should_stop = self.is_stopped = False
        self._next_checkpoint = 0.0
        self._last_call = time.monotonic()
        self._changed = threading.Condition()

    # Called by the fit -----------------------------------------------------------------------

    def begin(self, attributes: Callable[[], dict[str, Any]]) -> None:
        """Take the function that returns the fitted attributes so far."""
        self._attributes = attributes

    def __call__(self, iteration: int, objective: float, val_score: float | None = None) -> bool:
        """Report a round to the client; return whether the fit ends, the same on all workers."""
        start_time = time.monotonic()
        is_checkpoint = self._waits or start_time >= self._next_checkpoint
        is_checkpoint, should_stop = self.agree((is_checkpoint, self._should_stop))
        attributes = None
        if is_checkpoint:  # on all workers: attributes may need sums over all rows
            attributes, end_time = self._attributes(), time.monotonic()
            pause = max(_BETWEEN_CHECKPOINTS, (end_time - start_time) / _CHECKPOINT_SHARE)
            self._next_checkpoint = end_time + pause
        if self._rank == 0:
            self._send(RoundMessage(iteration, objective, attributes))
        return bool(self.agree(self._should_stop) if self._waits else should_stop)

    def check(self) -> None:
        """Raise an error if the worker must leave the fit."""
        if self.is_stopped:
            raise FitStoppedError("The client has ended the fit.")
        # The client calls the first worker only: the others lose it, and leave as well.
        if self._rank == 0 and time.monotonic() - self._last_call > _CLIENT_SILENCE:
            raise PeerLostError("The client of the fit does not answer.")

    def _send(self, message: RoundMessage) -> None:
        """Add a message; wait for the answer if rounds wait for answers."""
        with self._changed:
            if message.attributes is not None:  # only the last checkpoint counts
                messages = [replace(old, attributes=None) for old in self._messages]
                self._messages = deque(messages, _MOST_MESSAGES)
            self._messages.append(message)
        is_received = False
        while self._waits and not is_received:
            self.check()
            with self._changed:
                is_received = self._changed.wait_for(lambda: self._n_received >= message.round, 1.0)

    # Called for the client -------------------------------------------------------------------

    def acknowledge(self, n_received: int, should_stop: bool) -> None:
        """Take an answer: the last round that the client has, and whether the fit ends."""
        with self._changed:
            self._last_call = time.monotonic()
            self._n_received = max(self._n_received, n_received)
            self._should_stop |= should_stop
            while self._messages and self._messages[0].round <= self._n_received:
                self._messages.popleft()
            self._changed.notify_all()

    def pending(self) -> list[RoundMessage]:
        """Return the messages that the client has not acknowledged."""
        with self._changed:
            return list(self._messages)


_BOXES: dict[tuple[str, int], Mailbox] = {}


@contextmanager
def mailbox(fit: str, rank: int, waits: bool) -> Iterator[Mailbox]:
    """Yield the mailbox of a fit on this worker; it exists while the block runs."""
    _BOXES[fit, rank] = Mailbox(rank, waits)
    try:
        yield _BOXES[fit, rank]
    finally:
        del _BOXES[fit, rank]


async def exchange(
    fit: str, n_received: int, should_stop: bool, patience: float, pause: float
) -> list[RoundMessage]:
    """Take an answer, wait for messages, and return all that are not acknowledged.

    The wait is at least `pause` seconds, so that short rounds share a reply, and then at most
    `patience` seconds. It is short where no fit runs.
    """
    start_time, box = time.monotonic(), _BOXES.get((fit, 0))
    if box is None:
        await asyncio.sleep(_LONG_PAUSE)
        return []
    box.acknowledge(n_received, should_stop)
    while (fit, 0) in _BOXES:
        seconds = time.monotonic() - start_time
        if seconds >= pause and (box.pending() or seconds >= pause + patience):
            break
        await asyncio.sleep(_LONG_PAUSE if pause else _PAUSE)
    return box.pending()


def stop_fit(fit: str) -> bool:
    """Ask the processes of a fit on this worker to leave it; return whether any still run."""
    boxes = [box for key, box in list(_BOXES.items()) if key[0] == fit]
    for box in boxes:
        box.is_stopped = True
    return bool(boxes)
