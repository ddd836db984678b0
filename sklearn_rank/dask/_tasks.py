"""Tasks on the workers of a cluster, and waiting with a time limit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dask import delayed
from distributed import wait

_LOOK = 1.0
"""Seconds between two looks at running tasks."""

_PATIENCE = 60.0
"""Seconds that a cluster may be without workers."""

_CANCELLATION = 60.0
"""Seconds for cancelled tasks to end."""


class Tasks:
    """Runs delayed functions on the workers of a client."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def tree(self, merge: Callable[[list[Any]], Any], items: list[Any], width: int = 4) -> Any:
        """Merge delayed items in a tree, `width` at a time; `merge` takes a list."""
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

        No worker is prescribed: Dask does not move the tasks of a lost worker to a later one.
        """
        return list(self.client.compute(items))

    def results(self, items: list[Any]) -> list[Any]:
        """Return the values of delayed items."""
        return self._gathered(self._finish(self.client.compute(items)))

    def _gathered(self, futures: list[Any]) -> list[Any]:
        """Return the values of futures and release them."""
        values = list(self.client.gather(futures))
        release(futures)
        return values

    def _finish(self, futures: list[Any]) -> list[Any]:
        """Wait for futures; after a failure cancel all, and raise it."""
        try:
            wait_for_tasks(self.client, futures)
            return futures
        except BaseException:
            self.client.cancel(futures)
            wait_until(lambda: not self._is_running(futures), _CANCELLATION)
            raise

    def _is_running(self, futures: list[Any]) -> bool:
        """Whether a worker still computes one of the futures."""
        keys = {future.key for future in futures}
        return any(keys & set(running) for running in self.client.processing().values())


def release(futures: list[Any]) -> None:
    """Release results on the workers that no other task needs.

    The garbage collector would come late: the traceback of an exception holds the futures.
    """
    for future in futures:
        future.release()
    futures.clear()


def wait_for_tasks(client: Any, futures: list[Any], patience: float = _PATIENCE) -> None:
    """Wait until all tasks are done; tasks of lost workers run again on others.

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
        The error of a task.
    RuntimeError
        Where no worker takes work for too long.
    """
    last_seen = time.monotonic()
    while True:
        with suppress(TimeoutError, asyncio.TimeoutError):
            wait(futures, timeout=_LOOK)
        for future in futures:
            if future.status in ("error", "cancelled"):
                future.result()  # raises its error
        if all(future.status == "finished" for future in futures):
            return
        if any(client.processing().values()):
            last_seen = time.monotonic()
        if time.monotonic() - last_seen > patience:
            raise RuntimeError(
                f"The rows can't be read: for {patience:g} seconds the cluster has had no workers, "
                "or none that accepts work. Workers pause when they run out of memory."
            )


def wait_until(condition: Callable[[], bool], timeout: float) -> bool:
    """Wait for a condition; return whether it came true in time."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True
