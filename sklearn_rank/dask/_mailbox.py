"""News from the first worker of a fit to the client, and the client's answers.

The client calls these functions on a worker by ``client.run``: they run on the worker's event
loop, beside the thread of the fit. Nothing is stored on the scheduler.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from sklearn_rank.dask._xgboost_collective import PeerLostError

_CLIENT_SILENCE = 120.0
"""Seconds without a call of the client after which a worker leaves the fit."""

_PAUSE = 0.01
"""Seconds between two looks for news, where a round waits for an answer."""

_LONG_PAUSE = 0.05
"""The same where none does."""


class FitStoppedError(RuntimeError):
    """The client has ended the fit."""


@dataclass
class News:
    """What the first worker tells of a round.

    Attributes
    ----------
    number : int
        Number of the round.
    objective : float
        The objective after it.
    attributes : dict or None
        Fitted attributes after this round; None where they were not asked for.
    """

    number: int
    objective: float
    attributes: dict[str, Any] | None = None


@dataclass
class Mailbox:
    """What a fit on this worker and the client tell each other."""

    news: deque[News] = field(default_factory=deque)
    answers: SimpleQueue[bool] = field(default_factory=SimpleQueue)
    stopped: threading.Event = field(default_factory=threading.Event)
    is_running: bool = False
    is_over: bool = False
    last_call: float = field(default_factory=time.monotonic)

    def check(self) -> None:
        """Raise where the fit is to be left."""
        if self.stopped.is_set():
            raise FitStoppedError("The client has ended the fit.")

    def answer(self) -> bool:
        """Wait for the client's answer: whether the fit ends."""
        while True:
            self.check()
            if time.monotonic() - self.last_call > _CLIENT_SILENCE:
                raise PeerLostError("The client of the fit does not answer.")
            try:
                return self.answers.get(timeout=1.0)
            except Empty:
                continue


_BOXES: dict[tuple[str, int], Mailbox] = {}
_LOCK = threading.Lock()


def mailbox(fit: str, rank: int) -> Mailbox:
    """Return the mailbox of a fit, made if there is none."""
    with _LOCK:
        return _BOXES.setdefault((fit, rank), Mailbox())


async def collect_news(
    fit: str, answer: bool | None, patience: float, pause: float = 0.0
) -> list[News]:
    """Hand an answer over, wait for news, and return them.

    It takes at least `pause` seconds, unless the fit is over, so that short rounds come together,
    and then at most `patience` seconds.
    """
    box = mailbox(fit, 0)
    box.last_call = time.monotonic()
    if answer is not None:
        box.answers.put(answer)
    start = time.monotonic()
    while time.monotonic() < start + pause and not box.is_over:
        await asyncio.sleep(_LONG_PAUSE)
    end = time.monotonic() + patience
    while not box.news and not box.is_over and time.monotonic() < end:
        await asyncio.sleep(_LONG_PAUSE if pause else _PAUSE)
    return [box.news.popleft() for _ in range(len(box.news))]


def stop_fit(fit: str) -> bool:
    """Let the processes of a fit on this worker leave it; return whether some still run."""
    with _LOCK:
        boxes = [box for key, box in _BOXES.items() if key[0] == fit]
    for box in boxes:
        box.stopped.set()
    return any(box.is_running for box in boxes)


def forget_fit(fit: str) -> None:
    """Remove the mailboxes of a fit."""
    with _LOCK:
        for key in [key for key in _BOXES if key[0] == fit]:
            del _BOXES[key]
