"""Threads that stay with one fit: joblib dispatches once, not once per round."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar, cast

from joblib import Parallel, delayed, effective_n_jobs

Result = TypeVar("Result")
Task = tuple[Callable[[int], object], int]
Outcome = tuple[int, object, BaseException | None]


_WORTHWHILE = 2_000_000
"""Values a fit or a prediction must go through for helpers to pay."""


class Crew:
    """The fitting thread and its helpers, which share the tasks that it hands out.

    ``joblib.Parallel`` costs about 10 ms a call, more than a whole boosting round, so
    the helpers are dispatched once and then wait for tasks. The leader works too and
    never waits for a helper to begin: where joblib gives fewer threads than asked for,
    it does everything alone.

    Parameters
    ----------
    n_jobs : int or None
        Number of threads, with joblib's meaning.
    n_values : int, default=None
        Values to go through: too few are not worth the time that threads take to start
        and to wait for each other each round.
    """

    def __init__(self, n_jobs: int | None = None, n_values: int | None = None) -> None:
        self.size = effective_n_jobs(n_jobs)
        if n_values is not None and n_values < _WORTHWHILE:
            self.size = 1
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._outcomes: SimpleQueue[Outcome] = SimpleQueue()
        self._has_helpers = False

    @contextmanager
    def at_work(self) -> Iterator[Crew]:
        """Keep the helpers while the block runs."""
        n_helpers = self.size - 1
        if n_helpers == 0:
            yield self
            return
        dispatcher = Thread(target=self._dispatch, args=(n_helpers,), daemon=True)
        dispatcher.start()
        self._has_helpers = True
        try:
            yield self
        finally:
            self._has_helpers = False
            for _ in range(n_helpers):
                self._tasks.put(None)
            dispatcher.join()

    def map(self, task: Callable[[int], Result], n_tasks: int) -> list[Result]:
        """Return ``[task(0), ..., task(n_tasks - 1)]``, shared among the threads."""
        if not self._has_helpers or n_tasks < 2:
            return [task(number) for number in range(n_tasks)]
        for number in range(n_tasks):
            self._tasks.put((task, number))
        while True:
            try:
                self._run(self._tasks.get_nowait())
            except Empty:
                break
        outcomes = sorted((self._outcomes.get() for _ in range(n_tasks)), key=lambda o: o[0])
        for _, _, error in outcomes:
            if error is not None:
                raise error
        return cast("list[Result]", [result for _, result, _ in outcomes])

    def _dispatch(self, n_helpers: int) -> None:
        threads = Parallel(n_jobs=n_helpers, require="sharedmem", pre_dispatch="all")
        threads(delayed(self._help)() for _ in range(n_helpers))

    def _help(self) -> None:
        while self._run(self._tasks.get()):
            pass

    def _run(self, task: Task | None) -> bool:
        """Run one task and hand in its outcome; False when dismissed."""
        if task is None:
            return False
        function, number = task
        result, error = None, None
        try:
            result = function(number)
        except BaseException as failure:  # handed to the leader, who raises it
            error = failure
        self._outcomes.put((number, result, error))
        return True
