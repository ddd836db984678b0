"""Long runs: does a process keep threads, files or memory, and does a late batch cost more?

    python benchmarks/long_runs.py --json docs/benchmarks/long_runs.json
    python benchmarks/long_runs.py --quick

Three loops in one process each: fits of every ranker in turn, `partial_fit` of `ListNetLinear` with
one query a batch, and the commands train and rank in process. Threads and open files are counted
before and after; memory is the resident size after the first tenth of the loop and at its end.
"""

import argparse
import contextlib
import gc
import io
import os
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from _harness import describe_machine, resident_bytes
from _report import Report, Table, Verdict

MEGABYTE = 1e6
MEMORY_LIMIT = 30.0
"""Megabytes by which a loop may grow after its first tenth."""


def open_files() -> int:
    """Return how many files this process holds open; 0 where the system does not tell."""
    return len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0


def watch_loop(step: Callable[[int], object], n_steps: int) -> dict[str, Any]:
    """Call a step many times; return what the process holds besides, and the times."""
    first = max(1, n_steps // 10)
    seconds = np.empty(n_steps)
    threads, files, early = 0, 0, 0
    for number in range(n_steps):
        start = perf_counter()
        step(number)
        seconds[number] = perf_counter() - start
        if number + 1 == first:
            gc.collect()
            threads, files = threading.active_count(), open_files()
            early = resident_bytes() or 0
    gc.collect()
    return {
        "steps": n_steps,
        "threads more": threading.active_count() - threads,
        "files more": open_files() - files,
        "megabytes more": ((resident_bytes() or 0) - early) / MEGABYTE,
        "last by first": float(median(seconds[-first:]) / median(seconds[:first])),
    }


def fits(n_steps: int) -> dict[str, Any]:
    """Fit every ranker in turn."""
    import sklearn_rank
    from sklearn_rank._core import parallel as _parallel

    _parallel._WORTHWHILE = 0  # threads even for few rows
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    rankers = [getattr(sklearn_rank, name) for name in sklearn_rank.__all__]

    def step(number: int) -> None:
        ranker = rankers[number % len(rankers)]
        rounds = {"n_estimators": 5} if "n_estimators" in ranker._get_param_names() else {}
        model = ranker(relevance="binary", n_jobs=2, **rounds).fit(X, y)
        model.decision_function(X)

    return watch_loop(step, n_steps)


def batches(n_steps: int) -> dict[str, Any]:
    """Learn from one query after the other."""
    from sklearn_rank import ListNetLinear

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 20, 5)), rng.integers(0, 3, (1000, 20))
    qid = np.zeros(20, dtype=int)
    model = ListNetLinear(solver="ogd", eta0=0.1)
    return watch_loop(
        lambda number: model.partial_fit(X[number % 1000], y[number % 1000], qid=qid), n_steps
    )


def commands(n_steps: int) -> dict[str, Any]:
    """Run train and rank, one after the other, in this process."""
    import pandas as pd

    from sklearn_rank.cli import main

    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        table, model, out = (str(Path(name) / one) for one in ("t.csv", "m.skops", "o.csv"))
        X = rng.normal(size=(200, 4))
        frame = pd.DataFrame(X, columns=list("abcd"))
        frame.assign(y=(X[:, 0] > 0).astype(int)).to_csv(table, index=False)
        train = ["train", table, "--target", "y", "-o", model, "--force", "--ranker", "RankBoost"]
        argv = [[*train, "--param", "n_estimators=5"], ["rank", model, table, "-o", out, "--force"]]

        def step(number: int) -> None:
            said = io.StringIO()
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                code = main(argv[number % 2])
            if code:
                raise RuntimeError(said.getvalue())

        return watch_loop(step, n_steps)


LOOPS: dict[str, tuple[Callable[[int], dict[str, Any]], int, int]] = {
    "fits": (fits, 10_000, 60),
    "batches": (batches, 1_000_000, 2000),
    "commands": (commands, 2000, 10),
}
"""Each loop with its number of steps, in full and quick."""


def report_of(found: dict[str, dict[str, Any]]) -> Report:
    columns = ["steps", "threads more", "files more", "megabytes more", "last by first"]
    rows = [[name, *(loop[key] for key in columns)] for name, loop in found.items()]
    verdicts = []
    for name, loop in found.items():
        verdicts.append(Verdict(f"{name}: threads more", 0, loop["threads more"]))
        verdicts.append(Verdict(f"{name}: open files more", 0, loop["files more"]))
        verdicts.append(
            Verdict(f"{name}: megabytes more", MEMORY_LIMIT, loop["megabytes more"], "MB")
        )
    if "batches" in found:
        ratio = found["batches"]["last by first"]
        verdicts.append(Verdict("a late batch by an early one", 1.3, ratio))
    return Report(
        "long_runs",
        "Loops in one process, compared with themselves after a tenth of their steps.",
        describe_machine(),
        [Table("Long runs", ["loop", *columns], rows)],
        verdicts,
        runs=found,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=LOOPS, nargs="*", default=list(LOOPS))
    parser.add_argument("--quick", action="store_true", help="a few steps of each loop")
    parser.add_argument("--steps", type=int, help="steps of each loop, in place of the full number")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = {}
    for name in options.only:
        loop, full, quick = LOOPS[name]
        found[name] = loop(options.steps or (quick if options.quick else full))
    report_of(found).publish(options.json)


if __name__ == "__main__":
    main()
