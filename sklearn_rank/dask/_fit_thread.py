"""The thread of a fit on a worker, which can be left behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import Event, Thread
from typing import Any, TypeVar

from sklearn_rank.dask._mailbox import Mailbox
from sklearn_rank.dask._xgboost_collective import TIMEOUT, PeerLostError, joined

Result = TypeVar("Result")

_LOOK = 0.2
"""Seconds between two looks at whether the fit is to be left."""

_GRACE = 10.0
"""Seconds for the thread of a fit that is to be left: it looks before each message."""


def run_in_thread(
    tracker: dict[str, Any],
    rank: int,
    box: Mailbox,
    fit: Callable[[Sequence[Any], int], Result],
    parts: Sequence[Any],
) -> Result:
    """Return ``fit(parts, rank)``, called when all workers have joined.

    Where a worker is lost, XGBoost may have another one wait without a limit of time: for the one
    before it, while they join, or for the end of a message. So a worker joins in a thread of its
    own, in which XGBoost wants the fit to run as well, and this one looks whether the fit is to be
    left.

    Raises
    ------
    FitStoppedError, PeerLostError
        Where the fit is left. A thread that waits in XGBoost stays behind; if it had joined, with
        its rows.
    """
    thread = _FitThread(tracker, rank, fit, parts)
    thread.start()
    end = time.monotonic() + TIMEOUT
    try:
        while not thread.has_ended.wait(_LOOK):
            box.check()
            if time.monotonic() > end and not thread.has_joined:
                raise PeerLostError(f"The workers have not joined the fit in {TIMEOUT} s.")
    except BaseException:
        box.is_stopped = True
        thread.parts.clear()
        if thread.has_joined:
            thread.has_ended.wait(_GRACE)
        raise
    error, results = thread.error, thread.results
    try:
        if error is not None:
            raise error
        return results[0]
    finally:
        del error, thread  # a cycle with the traceback would keep the partitions


class _FitThread(Thread):
    """Joins the other workers, and calls the fit."""

    def __init__(
        self,
        tracker: dict[str, Any],
        rank: int,
        fit: Callable[[Sequence[Any], int], Any],
        parts: Sequence[Any],
    ) -> None:
        super().__init__(name=f"sklearn_rank-fit-{rank}", daemon=True)
        self.has_joined, self.has_ended = False, Event()
        self.error: BaseException | None = None
        self.parts: list[Sequence[Any]] = [parts]
        self.results: list[Any] = []
        self._tracker, self._rank, self._fit = tracker, rank, fit

    def run(self) -> None:
        """Join, and fit."""
        try:
            with joined(self._tracker, self._rank):
                self.has_joined = True
                self.results.append(self._fit(self.parts.pop(), self._rank))
        except BaseException as error:  # raised again in the thread of the task
            self.error = error
        finally:
            self.has_ended.set()
