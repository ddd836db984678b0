"""Delayed functions run on the workers of a cluster, and waiting with a limit of time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dask import delayed
from distributed import wait

_LOOK = 1.0
"""Seconds between two looks at tasks that run."""

_PATIENCE = 60.0
"""Seconds that a cluster may be without workers."""

_MOST_SECONDS = 60.0
"""Seconds that running tasks are waited for when one has failed."""


class Tasks:
    """Runs delayed functions on the workers of a client."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def tree(self, merge: Callable[[list[Any]], Any], items: list[Any], width: int = 4) -> Any:
        """Return the delayed merger of items, a few at a time; `merge` takes a list."""
        step = delayed(merge, pure=False)
        while len(items) > 1:
            items = [step(items[k : k + width]) for k in range(0, len(items), width)]
        return items[0] if items else step([])

    def keep(self, value: Any) -> Any:
        """Compute a delayed value and leave it on its worker."""
        return self._finish([self.client.compute(value)])[0]

    def result(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return ``function(*arguments)``, computed where the arguments are."""
        future = self.client.submit(function, *arguments, pure=False)
        return self._gathered(self._finish([future]))[0]

    def start(self, items: list[Any]) -> list[Any]:
        """Return futures of delayed items, which stay on the workers that compute them.

        No worker is prescribed: Dask does not give tasks of a worker that is lost to those that
        come later.
        """
        return list(self.client.compute(items))

    def results(self, items: list[Any]) -> list[Any]:
        """Return the values of delayed items."""
        return self._gathered(self._finish(self.client.compute(items)))

    def _gathered(self, futures: list[Any]) -> list[Any]:
        """Return the values of futures, which the workers need not keep."""
        values = list(self.client.gather(futures))
        release(futures)
        return values

    def _finish(self, futures: list[Any]) -> list[Any]:
        """Wait for futures; where one fails, the others are cancelled and the error raised."""
        try:
            wait_for_tasks(self.client, futures)
            return futures
        except BaseException:
            self.client.cancel(futures)
            wait_until(lambda: not self._is_running(futures), _MOST_SECONDS)
            raise

    def _is_running(self, futures: list[Any]) -> bool:
        """Whether a worker still computes one of the futures."""
        keys = {future.key for future in futures}
        return any(keys & set(some) for some in self.client.processing().values())


def release(futures: list[Any]) -> None:
    """Let the workers forget what no other task needs.

    Not left to the garbage collector, which comes late: where waiting ends with an exception,
    its traceback holds the futures.
    """
    for future in futures:
        future.release()
    futures.clear()


def wait_for_tasks(client: Any, futures: list[Any], patience: float = _PATIENCE) -> None:
    """Wait until all tasks are done; those of workers that are lost run anew on others.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    futures : list of Future
        The tasks.
    patience : float
        Seconds that the cluster may be without workers, or without work while it waits.

    Raises
    ------
    Exception
        What a task has raised.
    RuntimeError
        Where no worker has taken work for too long.
    """
    last_seen = time.monotonic()
    while True:
        with suppress(TimeoutError, asyncio.TimeoutError):
            wait(futures, timeout=_LOOK)
        for future in futures:
            if future.status in ("error", "cancelled"):
                future.result()  # raises what has happened
        if all(future.status == "finished" for future in futures):
            return
        if any(client.processing().values()):
            last_seen = time.monotonic()
        if time.monotonic() - last_seen > patience:
            raise RuntimeError(
                f"The rows can't be read: for {patience:g} seconds the cluster has had no workers, "
                "or none that takes work. Workers pause when they are short of memory."
            )


def wait_until(is_so: Callable[[], bool], timeout: float) -> bool:
    """Wait for a condition; return whether it has come true in time."""
    end = time.monotonic() + timeout
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True
