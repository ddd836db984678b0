"""A soak: hours of fits on a cluster whose workers are killed, added and paused meanwhile.

From the folder `benchmarks`:

    python -m robustness.soak --json ../docs/benchmarks/soak.json
    python -m robustness.soak --minutes 3

A scheduler and workers of one thread, each a process of its own as ``dask scheduler`` and ``dask
worker`` start it. Every fit must give the model of one process, or say in an error why it can't go
on; L-BFGS, which starts anew where it was interrupted, another one as close to the minimum. One
worker is never killed, only paused: its memory, that of the scheduler and that of the client must
be as high at the end as after the first tenth of the time. Dask's own logs are short here, so that
what a fit leaves behind shows, and freed memory is given back as the workers of a nanny do.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from _data import draw_two_classes
from _harness import describe_machine, resident_bytes, with_scripts
from _report import Cell, Report, Table, Verdict

N_BLOCKS, BLOCK, N_FEATURES = 6, 2_000, 12
QUERIES = np.arange(N_BLOCKS * BLOCK) // 100

LEAST, MOST = 2, 3
"""Workers between fits."""

FIRST = "first"
"""Name of the worker that is never killed."""

PAUSE = 6.0
"""Most seconds for which a worker is paused."""

SLOW, STUCK = 60.0, 900.0
"""Seconds after which a fit counts as slow, and as stuck, which ends the soak."""

EVENTS = ("none", "kill", "add", "pause")
OUTCOMES = ("same model", "same minimum", "another model", "refused", "stuck")
MINIMUM = 1e-6
"""By what share of it an objective may be above that of one process."""

PROCESSES = ("scheduler", "worker", "client")
TENTHS = 10
MEMORY_LIMIT = 30.0
"""Megabytes by which a process may grow after the first tenth."""

SHORT_LOGS = {
    "DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH": "100",
    "DASK_DISTRIBUTED__ADMIN__LOG_LENGTH": "100",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__LOG_LENGTH": "100",
    "DASK_DISTRIBUTED__DIAGNOSTICS__COMPUTATIONS__MAX_HISTORY": "10",
    "DASK_DISTRIBUTED__SCHEDULER__EVENTS_CLEANUP_DELAY": "1 minute",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
}
"""Settings of Dask."""

TRIM = {"MALLOC_TRIM_THRESHOLD_": "65536"}
"""Dask's default for the workers of a nanny, in its setting ``nanny.pre-spawn-environ``."""


class Cluster:
    """A scheduler and its workers, in processes that signals reach.

    The first worker stays; `kill` and `pause` choose among the others and all.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "scheduler.json"
        self._folder, self._lock = folder, threading.Lock()
        self.scheduler = self._start("dask_scheduler", "--port", "0", "--no-dashboard")
        self.workers = [self._worker("--name", FIRST), *(self._worker() for _ in range(1, LEAST))]

    def _start(self, module: str, *words: str) -> subprocess.Popen[bytes]:
        file = ["--scheduler-file", str(self._file)]
        environment = with_scripts(OMP_NUM_THREADS="1", **SHORT_LOGS, **TRIM)
        with (self._folder / f"{module}.log").open("a") as log:
            return subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{module}", *file, *words],
                stdout=log,
                stderr=log,
                env=environment,
            )

    def _worker(self, *more: str) -> subprocess.Popen[bytes]:
        words = ["--no-nanny", "--nthreads", "1", "--memory-limit", "2GiB", "--no-dashboard"]
        return self._start("dask_worker", *words, "--local-directory", str(self._folder), *more)

    def client(self) -> Any:
        """Return a client, when the scheduler has told its address."""
        from distributed import Client

        end = time.monotonic() + 60
        while not self._file.exists() and time.monotonic() < end:
            time.sleep(0.1)
        return Client(scheduler_file=str(self._file))

    def happen(self, event: str, rng: np.random.Generator) -> None:
        """Let an event happen to a worker."""
        with self._lock:
            if event == "add" or len(self.workers) < LEAST:
                self.workers.append(self._worker())
            elif event == "kill":
                self.workers.pop(int(rng.integers(1, len(self.workers)))).kill()
            elif event == "pause":
                one = self.workers[int(rng.integers(len(self.workers)))]
                one.send_signal(signal.SIGSTOP)
                time.sleep(rng.uniform(0.1, PAUSE))
                one.send_signal(signal.SIGCONT)

    def level(self, rng: np.random.Generator) -> None:
        """Bring the number of workers back between `LEAST` and `MOST`."""
        while len(self.workers) > MOST:
            self.happen("kill", rng)
        while len(self.workers) < LEAST:
            self.happen("add", rng)

    def megabytes(self) -> dict[str, float]:
        """Return the resident memory of the processes that live all the time."""
        pids = {"scheduler": self.scheduler.pid, "worker": self.workers[0].pid, "client": None}
        return {name: (resident_bytes(pid) or 0) / 1e6 for name, pid in pids.items()}

    def close(self) -> None:
        """End all processes."""
        for one in (*self.workers, self.scheduler):
            one.kill()
            one.wait()


def block(number: int) -> np.ndarray:
    """Return the features and, last, the class of a block of rows."""
    return np.column_stack(draw_two_classes(BLOCK, n_features=N_FEATURES, seed=number))


def collections(has_queries: bool) -> tuple[Any, Any, Any]:
    """Return dask arrays of features, classes and queries, which workers make when they need them.

    Without queries the last is None.
    """
    import dask.array as da
    from dask import delayed

    parts = [
        da.from_delayed(delayed(block)(number), (BLOCK, N_FEATURES + 1), float)
        for number in range(N_BLOCKS)
    ]
    both = da.concatenate(parts)
    qid = da.from_array(QUERIES, chunks=BLOCK) if has_queries else None
    return both[:, :-1], both[:, -1], qid


def rankers() -> list[Any]:
    """Return what is fitted in turn."""
    from sklearn_rank import (
        BoostedTreesRanker,
        KernelPairwiseSGDRanker,
        ListNetLinear,
        PNormPushRanker,
        RankBoost,
        SmoothMarginRanker,
    )

    return [
        RankBoost(n_estimators=150, tol=0),
        PNormPushRanker(n_estimators=100, loss="logistic", p=4),
        ListNetLinear(solver="lbfgs", relevance="binary"),
        PNormPushRanker(n_estimators=100),
        KernelPairwiseSGDRanker(kernel="linear"),
        SmoothMarginRanker(n_estimators=100),
        BoostedTreesRanker(engine="xgboost", n_estimators=20, n_jobs=1, subsample=1, colsample=1),
    ]


BY_LBFGS = {2, 4}
"""Which of the rankers L-BFGS fits."""


class Soak:
    """Fits one after the other, each with an event at a random moment.

    Attributes
    ----------
    log : list of dict
        Of each fit the ranker, the event, what came of it, seconds and memory.
    """

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.log: list[dict[str, Any]] = []
        self._cluster, self._rng = cluster, np.random.default_rng(seed)
        self._rankers, self._client = rankers(), cluster.client()
        rows = [block(number) for number in range(N_BLOCKS)]
        self._rows = np.concatenate(rows)
        self._expected: dict[int, Any] = {}

    def run(self, minutes: float, after: Callable[["Soak"], None]) -> None:
        """Fit for some minutes; `after` is called after each fit."""
        begin = time.monotonic()
        while (now := time.monotonic() - begin) < 60 * minutes:
            self._cluster.level(self._rng)
            self._client.wait_for_workers(LEAST, timeout=120)
            event, delay = str(self._rng.choice(EVENTS)), self._rng.uniform(0, 4)
            timer = threading.Timer(delay, self._cluster.happen, (event, self._rng))
            number = len(self.log) % len(self._rankers)
            timer.start()
            outcome, detail = self._fit(number)
            seconds = time.monotonic() - begin - now
            timer.join()
            name = type(self._rankers[number]).__name__
            found = {"ranker": name, "event": event, "outcome": outcome, "detail": detail}
            found |= {"minute": now / 60, "seconds": seconds, **self._cluster.megabytes()}
            found["scheduler_ended"] = self._cluster.scheduler.poll() is not None
            self.log.append(found)
            after(self)
            if outcome == "stuck" or found["scheduler_ended"]:
                return

    def _fit(self, number: int) -> tuple[str, str]:
        """Fit a ranker in a thread, which may be left behind when it is stuck."""
        found: list[tuple[str, str]] = []
        thread = threading.Thread(target=lambda: found.append(self._outcome(number)), daemon=True)
        thread.start()
        thread.join(STUCK)
        return found[0] if found else ("stuck", "")

    def _outcome(self, number: int) -> tuple[str, str]:
        from sklearn_rank.dask import DaskRanker

        ranker = self._rankers[number]
        X, y, qid = collections(self._has_queries(number))
        try:
            fitted = DaskRanker(ranker, client=self._client).fit(X, y, qid=qid)
        except Exception as error:
            return "refused", f"{type(error).__name__}: {error}"
        known = self._of_one_process(number)
        scores, expected = (
            one.decision_function(self._rows[:, :-1]) for one in (fitted.estimator_, known)
        )
        off = float(np.abs(scores - expected).max() / np.abs(expected).max())
        if off < 1e-6:
            return "same model", f"{off:.1e}"
        if number not in BY_LBFGS:
            return "another model", f"{off:.1e}"
        value, least = (one.objective_curve_[-1] for one in (fitted.estimator_, known))
        above = float(value / least - 1)
        outcome = "same minimum" if above <= MINIMUM else "another model"
        return outcome, f"{off:.1e}, objective {above:+.1e}"

    def _of_one_process(self, number: int) -> Any:
        """Return the model of one process, fitted once."""
        if number not in self._expected:
            from sklearn.base import clone

            qid = QUERIES if self._has_queries(number) else None
            X, y = self._rows[:, :-1], self._rows[:, -1]
            self._expected[number] = clone(self._rankers[number]).fit(X, y, qid=qid)
        return self._expected[number]

    def _has_queries(self, number: int) -> bool:
        return type(self._rankers[number]).__name__ == "ListNetLinear"


def table_of_outcomes(log: list[dict[str, Any]]) -> Table:
    """Return what came of the fits, by what happened to a worker."""
    counts = Counter((one["event"], one["outcome"]) for one in log)
    rows: list[list[Cell]] = []
    for event in EVENTS:
        seconds = [one["seconds"] for one in log if one["event"] == event]
        if seconds:
            slow = sum(one > SLOW for one in seconds)
            cells: list[Cell] = [counts[event, outcome] for outcome in OUTCOMES]
            rows.append([event, *cells, slow, median(seconds), max(seconds)])
    columns = [*OUTCOMES, f"over {SLOW:g} s", "median, s", "slowest, s"]
    return Table("What came of the fits", ["what happened to a worker", *columns], rows)


def table_of_memory(log: list[dict[str, Any]], minutes: float) -> Table:
    """Return the most memory of each process in each tenth of the time."""
    rows: list[list[Cell]] = []
    for tenth in range(TENTHS):
        part = [one for one in log if int(one["minute"] * TENTHS / minutes) == tenth]
        if part:
            highest = [max(one[name] for one in part) for name in PROCESSES]
            rows.append([tenth + 1, len(part), *highest])
    return Table("Most resident memory, MB", ["tenth", "fits", *PROCESSES], rows)


def report_of(log: list[dict[str, Any]], minutes: float, seed: int) -> Report:
    """Return the report on all fits so far."""
    found = Counter(one["outcome"] for one in log)
    verdicts = [
        Verdict("fits with another model", 0, found["another model"]),
        Verdict("fits that were stuck", 0, found["stuck"]),
        Verdict("schedulers that ended", 0, sum(one["scheduler_ended"] for one in log)),
    ]
    memory = table_of_memory(log, minutes)
    if len(memory.rows) == TENTHS:
        for place, name in enumerate(PROCESSES, start=2):
            more = memory.rows[-1][place] - memory.rows[0][place]
            verdicts.append(Verdict(f"{name}: megabytes more", MEMORY_LIMIT, more, "MB"))
    return Report(
        "soak",
        f"{minutes:g} minutes of fits on a cluster of {LEAST} to {MOST} workers. Seed {seed}.",
        describe_machine("dask", "distributed", "xgboost", "xgboost-cpu"),
        [table_of_outcomes(log), memory],
        verdicts,
    )


def main() -> None:
    """Soak, and report after each fit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the report there after each fit")
    options = parser.parse_args()
    warnings.simplefilter("ignore")

    def after(soak: Soak) -> None:
        if options.json is not None:
            report_of(soak.log, options.minutes, options.seed).save(options.json)

    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder))
        try:
            soak = Soak(cluster, options.seed)
            soak.run(options.minutes, after)
        finally:
            cluster.close()
    report_of(soak.log, options.minutes, options.seed).publish(options.json)
    sys.stdout.flush()
    os._exit(0)  # the client would wait for the scheduler


if __name__ == "__main__":
    main()
