"""Threads: a pool that stays with one fit, and BLAS held to one thread meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import cache
from queue import Empty, SimpleQueue
from threading import Lock
from typing import TypeVar

from joblib import cpu_count, effective_n_jobs
from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")


_MIN_PARALLEL_VALUES = 2_000_000
"""Number of values read by a fit or a prediction from which several threads save time."""


class ThreadPool:
    """The calling thread and its workers, which share the tasks of `map`.

    The workers stay alive, because a call of ``joblib.Parallel`` costs more than a boosting round.
    Each worker, and the calling thread, takes the next task that is left.

    Parameters
    ----------
    n_jobs : int or None
        Number of threads, with joblib's meaning.
    n_values : int, default=None
        Number of values that the tasks read. With few values one thread is faster than several,
        which must start and wait for each other; with many there is at most one thread a core.
    """

    def __init__(self, n_jobs: int | None = None, n_values: int | None = None) -> None:
        self.size = effective_n_jobs(n_jobs)
        if n_values is not None:
            self.size = min(self.size, cpu_count()) if n_values >= _MIN_PARALLEL_VALUES else 1
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
            return [task(index) for index in range(n_tasks)]
        queue, results = SimpleQueue[int](), dict[int, Result]()
        for index in range(n_tasks):
            queue.put(index)

        def work() -> None:
            with suppress(Empty):
                while True:
                    number = queue.get_nowait()
                    results[number] = task(number)

        futures = [self._workers.submit(work) for _ in range(min(self.size, n_tasks) - 1)]
        try:
            work()
        finally:
            wait(futures)
        for future in futures:
            future.result()  # raises the error of a worker
        return [results[index] for index in range(n_tasks)]


@cache  # finding the loaded libraries takes milliseconds
def _libraries() -> ThreadpoolController:
    """Return the loaded libraries that have threads, those of NumPy and SciPy among them."""
    return ThreadpoolController()


_LOCK, _BLOCKS, _LIMITERS = Lock(), set[object](), list[ThreadpoolController]()
"""The blocks that hold BLAS to one thread, and the limit while there are any."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread while any such block runs, in any thread.

    The number of BLAS threads belongs to the process. If each block restored the number that it
    found, a block that began inside another would restore the limit.
    """
    block = object()
    try:  # from before the limit is set: Ctrl-C may come anywhere
        with _LOCK:
            _BLOCKS.add(block)
            if not _LIMITERS:
                _LIMITERS.append(_libraries().limit(limits=1, user_api="blas"))
        yield
    finally:
        with _LOCK:
            _BLOCKS.discard(block)
            if not _BLOCKS and _LIMITERS:
                _LIMITERS.pop().restore_original_limits()
