"""Threads: a pool that stays with one fit, and BLAS held to one thread meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import cache
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any, TypeVar

from joblib import cpu_count, effective_n_jobs
from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")


_WORTHWHILE = 2_000_000
"""Values that a fit or a prediction must read before more than one thread saves time."""


class ThreadPool:
    """The calling thread and its workers, which share the tasks of `map`.

    ``joblib.Parallel`` costs more a call than a whole boosting round, so the workers stay. The
    calling thread works too: of a call it hands out one task a worker, each of which takes the
    next number that is left.

    Parameters
    ----------
    n_jobs : int or None
        Number of threads, with joblib's meaning.
    n_values : int, default=None
        Number of values that the tasks read. Below a limit one thread is faster than
        several, which must start and wait for each other; above it there are at most as
        many as cores.
    """

    def __init__(self, n_jobs: int | None = None, n_values: int | None = None) -> None:
        self.size = effective_n_jobs(n_jobs)
        if n_values is not None:  # more threads than cores would only wait for each other
            self.size = min(self.size, cpu_count()) if n_values >= _WORTHWHILE else 1
        self._workers: ThreadPoolExecutor | None = None

    @contextmanager
    def running(self) -> Iterator[ThreadPool]:
        """Keep the workers while the block runs."""
        if self.size == 1:
            yield self
            return
        with ThreadPoolExecutor(self.size - 1) as workers:
            self._workers = workers
            try:
                yield self
            finally:
                self._workers = None

    def map(self, task: Callable[[int], Result], n_tasks: int) -> list[Result]:
        """Return ``[task(0), ..., task(n_tasks - 1)]``, shared among the threads."""
        if self._workers is None or n_tasks < 2:
            return [task(number) for number in range(n_tasks)]
        left, results = SimpleQueue[int](), dict[int, Result]()
        for number in range(n_tasks):
            left.put(number)

        def work() -> None:
            with suppress(Empty):
                while True:
                    number = left.get_nowait()
                    results[number] = task(number)

        others = [self._workers.submit(work) for _ in range(min(self.size, n_tasks) - 1)]
        try:
            work()
        finally:
            wait(others)
        for one in others:
            one.result()  # raises what was raised there
        return [results[number] for number in range(n_tasks)]


@cache  # the search reads the list of all that the process has loaded: milliseconds
def _libraries() -> ThreadpoolController:
    """Return the loaded libraries that have threads; NumPy and SciPy have loaded theirs."""
    return ThreadpoolController()


class _SharedLimit:
    """One thread for BLAS, from when the first block asks for it until the last is done.

    The number of BLAS threads belongs to the process. Of blocks in threads that overlap, one that
    comes later would take the limit for what was there before, and restore that.
    """

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), set[object]()
        self._limiter: Any = None

    def enter(self, block: object) -> None:
        """Set the limit for a block, unless it is set."""
        with self._lock:
            self._inside.add(block)
            if self._limiter is None:
                self._limiter = _libraries().limit(limits=1, user_api="blas")

    def leave(self, block: object) -> None:
        """Undo it, unless another block still needs it."""
        with self._lock:
            self._inside.discard(block)
            if not self._inside and self._limiter is not None:
                self._limiter.restore_original_limits()
                self._limiter = None


_BLAS_LIMIT = _SharedLimit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread while any such block runs, in whichever thread."""
    block = object()
    try:  # from before the limit is set: Ctrl-C may come anywhere
        _BLAS_LIMIT.enter(block)
        yield
    finally:
        _BLAS_LIMIT.leave(block)
