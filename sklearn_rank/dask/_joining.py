"""The thread in which a worker joins a fit, and which it can leave behind."""

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


def run_joined(
    tracker: dict[str, Any],
    rank: int,
    box: Mailbox,
    fit: Callable[[Sequence[Any], int], Result],
    parts: Sequence[Any],
) -> Result:
    """Return ``fit(parts, rank)``, called when all workers have joined.

    A worker that joins waits for the one before it, inside XGBoost and without a limit of time: for
    ever, if that one is lost meanwhile. So it joins in a thread of its own, in which XGBoost wants
    the fit to run as well. Until it has joined, this thread looks whether the fit is to be left.

    Raises
    ------
    FitStoppedError, PeerLostError
        Where the fit is left while workers join. The thread stays behind, without the partitions.
    """
    thread = _Joining(tracker, rank, fit, parts)
    thread.start()
    end = time.monotonic() + TIMEOUT
    try:
        while not thread.is_settled.wait(_LOOK):
            box.check()
            if time.monotonic() > end:
                raise PeerLostError(f"The workers have not joined the fit in {TIMEOUT} s.")
    except BaseException:
        box.is_stopped = True  # should it go on after all
        thread.parts.clear()
        raise
    thread.join()
    error, results = thread.error, thread.results
    try:
        if error is not None:
            raise error
        return results[0]
    finally:
        del error, thread  # a cycle with the traceback would keep the partitions


class _Joining(Thread):
    """Joins the other workers, and calls the fit.

    Attributes
    ----------
    is_settled : Event
        Set when the workers have joined, or can't.
    """

    def __init__(
        self,
        tracker: dict[str, Any],
        rank: int,
        fit: Callable[[Sequence[Any], int], Any],
        parts: Sequence[Any],
    ) -> None:
        super().__init__(name=f"sklearn_rank-fit-{rank}", daemon=True)
        self.is_settled = Event()
        self.error: BaseException | None = None
        self.parts: list[Sequence[Any]] = [parts]
        self.results: list[Any] = []
        self._tracker, self._rank, self._fit = tracker, rank, fit

    def run(self) -> None:
        """Join, and fit."""
        try:
            with joined(self._tracker, self._rank):
                self.is_settled.set()
                self.results.append(self._fit(self.parts.pop(), self._rank))
        except BaseException as error:  # raised again in the thread of the task
            self.error = error
        finally:
            self.is_settled.set()
