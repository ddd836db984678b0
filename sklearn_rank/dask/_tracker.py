"""XGBoost's tracker in a process of its own: the program is this file.

A tracker that loses a joining worker may abort its process, which must not be the scheduler. It
ends with the process that started it.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from typing import Any

_SPARED_IMPORTS = ("sklearn", "pandas", "pyarrow")
"""Imports of XGBoost that take three quarters of its loading time, and that a tracker can spare."""

_GRACE = 10
"""Seconds for a tracker to end after its wait for the workers."""


class TrackerProcess:
    """A process for a tracker; it starts immediately and imports XGBoost in the background."""

    def __init__(self) -> None:
        # -P: no module is imported from the folder of this file.
        command = [sys.executable, "-P", __file__]
        self._process = Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)

    def start(self, n_workers: int, host: str, timeout: int) -> dict[str, Any]:
        """Start the tracker and return what workers need to join.

        Parameters
        ----------
        n_workers : int
            Number of workers.
        host : str
            Address at which it listens.
        timeout : int
            Seconds for all workers to join.

        Raises
        ------
        RuntimeError
            Where it does not start.
        """
        stdin, stdout, answer = self._process.stdin, self._process.stdout, b""
        assert stdin is not None and stdout is not None  # for type checkers: both are pipes
        with suppress(OSError, ValueError):  # the process has ended
            stdin.write(json.dumps([n_workers, host, timeout]).encode() + b"\n")
            stdin.flush()
            answer = stdout.readline()
        address: dict[str, Any] = (
            json.loads(answer) if answer else {"error": "its process has ended"}
        )
        if "error" in address:
            raise RuntimeError(f"XGBoost's tracker does not start: {address['error']}")
        return address

    def stop(self, patience: int = 0) -> None:
        """Stop after some seconds, or as soon as all workers have left.

        Workers that are about to join get an error.
        """
        process = self._process
        if patience and process.poll() is None:
            with suppress(OSError, TimeoutExpired):
                process.communicate(f"{patience}\n".encode(), timeout=patience + _GRACE)
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]  # both are pipes


def serve() -> None:
    """Start a tracker, print its address, and stop at a line or the end of standard input."""
    for name in _SPARED_IMPORTS:  # None, unknown to typeshed, forbids an import
        sys.modules[name] = None  # type: ignore[assignment]
    from xgboost.tracker import RabitTracker

    request = sys.stdin.readline()
    if not request:
        return
    n_workers, host, timeout = json.loads(request)
    tracker = RabitTracker(n_workers, host, sortby="task", timeout=timeout)
    tracker.start()
    print(json.dumps(tracker.worker_args()), flush=True)
    patience = sys.stdin.readline()
    with suppress(Exception):  # a timeout, or a lost worker
        if patience:
            tracker.wait_for(int(patience))
        tracker.free()  # it may still wait for workers


def main() -> None:
    """Serve, or print the error."""
    try:
        serve()
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)


if __name__ == "__main__":
    main()
