"""XGBoost's tracker, in a process of its own, which this file is as a program.

A tracker that loses a worker while that one joins may abort the process it is in, which must not be
the scheduler. It ends with the process that started it.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from typing import Any

_NOT_NEEDED = ("sklearn", "pandas", "pyarrow")
"""What XGBoost would import here: four times what it takes without them."""

_GRACE = 10
"""Seconds in which a tracker ends after it was to wait for the workers."""


class TrackerProcess:
    """A process that can be a tracker: it starts at once, and imports XGBoost meanwhile."""

    def __init__(self) -> None:
        # Without the folder of this file among those of modules.
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
        line = b""
        # To type checkers what `Popen` has for a pipe may be None.
        with suppress(OSError, ValueError):  # it has ended, or was stopped
            self._process.stdin.write(  # type: ignore[union-attr]
                json.dumps([n_workers, host, timeout]).encode() + b"\n"
            )
            self._process.stdin.flush()  # type: ignore[union-attr]
            line = self._process.stdout.readline()  # type: ignore[union-attr]
        found: dict[str, Any] = json.loads(line) if line else {"error": "its process has ended"}
        if "error" in found:
            raise RuntimeError(f"XGBoost's tracker does not start: {found['error']}")
        return found

    def stop(self, patience: int = 0) -> None:
        """Stop, after some seconds if the workers don't take leave of it earlier.

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
                pipe.close()  # type: ignore[union-attr]


def serve() -> None:
    """Start a tracker, tell how to join it, and end when standard input says so or ends."""
    for name in _NOT_NEEDED:  # None, which typeshed does not know, forbids an import
        sys.modules[name] = None  # type: ignore[assignment]
    from xgboost.tracker import RabitTracker

    line = sys.stdin.readline()
    if not line:
        return
    n_workers, host, timeout = json.loads(line)
    tracker = RabitTracker(n_workers, host, sortby="task", timeout=timeout)
    tracker.start()
    print(json.dumps(tracker.worker_args()), flush=True)
    patience = sys.stdin.readline()
    with suppress(Exception):  # the time is over, or a worker is lost
        if patience:
            tracker.wait_for(int(patience))
        tracker.free()  # it may still wait for workers


def main() -> None:
    """Serve, or tell why not."""
    try:
        serve()
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)


if __name__ == "__main__":
    main()
