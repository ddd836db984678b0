"""News from the first worker of a fit to the client, and the client's answers.

The client calls these functions on a worker by ``client.run``: they run on the worker's event
loop, beside the thread of the fit. A call or its reply may be lost on the way. So the worker keeps
its news until the client says that it has taken them, and the client says with each call up to
which round it has taken them and whether the fit ends.
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
"""Seconds without a call of the client after which a worker leaves the fit."""

_MOST_NEWS = 10_000
"""Rounds that are kept for a client that does not call; the oldest are dropped."""

_PAUSE = 0.01
"""Seconds between two looks for news, where a round waits for an answer."""

_LONG_PAUSE = 0.05
"""The same where none does."""

_SHARE = 0.05
"""Share of the time of a fit that checkpoints may take."""

_BETWEEN_CHECKPOINTS = 0.5
"""Seconds between two checkpoints, at least."""


class FitStoppedError(RuntimeError):
    """The client has ended the fit."""


@dataclass(frozen=True)
class News:
    """What the first worker tells of a round.

    Attributes
    ----------
    number : int
        Number of the round; they rise.
    objective : float
        The objective after it.
    attributes : dict or None
        Fitted attributes after this round; None where they were not asked for.
    """

    number: int
    objective: float
    attributes: dict[str, Any] | None = None


class Mailbox:
    """Observes a fit on one worker; the first worker tells the client of each round.

    Parameters
    ----------
    rank : int
        Number of the worker.
    waits : bool
        Whether each round waits until the client has answered.
    """

    def __init__(self, rank: int, waits: bool) -> None:
        self.agree: Callable[[Any], Any] = lambda value: value
        """Returns what the first worker passes; set when the workers have joined."""
        self._rank, self._waits = rank, waits
        self._attributes: Callable[[], dict[str, Any]] = dict
        self._news: deque[News] = deque(maxlen=_MOST_NEWS)
        self._n_taken = 0
        self._ends = self.is_stopped = False
        self._next_checkpoint = 0.0
        self._last_call = time.monotonic()
        self._changed = threading.Condition()

    # Called by the fit -----------------------------------------------------------------------

    def begin(self, attributes: Callable[[], dict[str, Any]]) -> None:
        """Take what returns the fitted attributes so far."""
        self._attributes = attributes

    def __call__(self, number: int, objective: float, validation: float | None = None) -> bool:
        """Tell the client of a round; return whether the fit ends, the same on all workers."""
        begin = time.monotonic()
        wants_model = self._waits or begin >= self._next_checkpoint
        wants_model, ends = self.agree((wants_model, self._ends))
        attributes = None
        if wants_model:  # by all workers: it may need sums over all rows
            attributes, end = self._attributes(), time.monotonic()
            self._next_checkpoint = end + max(_BETWEEN_CHECKPOINTS, (end - begin) / _SHARE)
        if self._rank == 0:
            self._tell(News(number, objective, attributes))
        return bool(self.agree(self._ends) if self._waits else ends)

    def check(self) -> None:
        """Raise where the fit is to be left."""
        if self.is_stopped:
            raise FitStoppedError("The client has ended the fit.")
        # The client calls the first worker only: the others lose it, and leave as well.
        if self._rank == 0 and time.monotonic() - self._last_call > _CLIENT_SILENCE:
            raise PeerLostError("The client of the fit does not answer.")

    def _tell(self, news: News) -> None:
        """Add the news of a round, and wait for the answer if rounds do."""
        with self._changed:
            if news.attributes is not None:  # the last checkpoint is the only one that counts
                kept = [replace(one, attributes=None) for one in self._news]
                self._news = deque(kept, _MOST_NEWS)
            self._news.append(news)
        is_taken = False
        while self._waits and not is_taken:
            self.check()
            with self._changed:
                is_taken = self._changed.wait_for(lambda: self._n_taken >= news.number, 1.0)

    # Called for the client -------------------------------------------------------------------

    def hear(self, n_taken: int, ends: bool) -> None:
        """Take an answer: up to which round the client has taken news, and whether the fit ends."""
        with self._changed:
            self._last_call = time.monotonic()
            self._n_taken = max(self._n_taken, n_taken)
            self._ends |= ends
            while self._news and self._news[0].number <= self._n_taken:
                self._news.popleft()
            self._changed.notify_all()

    def news(self) -> list[News]:
        """Return the news that the client has not taken."""
        with self._changed:
            return list(self._news)


_BOXES: dict[tuple[str, int], Mailbox] = {}


@contextmanager
def mailbox(fit: str, rank: int, waits: bool) -> Iterator[Mailbox]:
    """Yield the mailbox of a fit on this worker, which is there while the block runs."""
    _BOXES[fit, rank] = Mailbox(rank, waits)
    try:
        yield _BOXES[fit, rank]
    finally:
        del _BOXES[fit, rank]


async def exchange(fit: str, n_taken: int, ends: bool, patience: float, pause: float) -> list[News]:
    """Hand an answer over, wait for news, and return all that the client has not taken.

    It takes at least `pause` seconds, so that short rounds come together, and then at most
    `patience` seconds; where no fit runs only a moment.
    """
    begin, box = time.monotonic(), _BOXES.get((fit, 0))
    if box is None:
        await asyncio.sleep(_LONG_PAUSE)
        return []
    box.hear(n_taken, ends)
    while (fit, 0) in _BOXES:
        seconds = time.monotonic() - begin
        if seconds >= pause and (box.news() or seconds >= pause + patience):
            break
        await asyncio.sleep(_LONG_PAUSE if pause else _PAUSE)
    return box.news()


def stop_fit(fit: str) -> bool:
    """Let the processes of a fit on this worker leave it; return whether some still run."""
    boxes = [box for key, box in list(_BOXES.items()) if key[0] == fit]
    for box in boxes:
        box.is_stopped = True
    return bool(boxes)
