"""A soak: hours of fits on a cluster whose workers are killed, added and paused meanwhile.

From the folder `benchmarks`:

    python -m robustness.soak --json ../docs/benchmarks/soak.json
    python -m robustness.soak --minutes 3

Workers of one thread are processes of their own, which their nannies start again. Every fit must
give the model of one process, or say in an error why it can't go on; L-BFGS, which starts anew
where it was interrupted, another one as close to the minimum.
"""

import os
import signal
import threading
import time
from collections import Counter
from functools import cache
from statistics import median
from typing import Any

import numpy as np
from _data import draw_two_classes
from _harness import command_line, describe_machine
from _report import Cell, Report, Table, Verdict

N_BLOCKS, BLOCK, N_FEATURES = 6, 2_000, 12
QUERIES = np.arange(N_BLOCKS * BLOCK) // 100
LEAST, MOST = 2, 3
"""Workers between fits, and after one was added."""

PAUSE = 6.0
"""Most seconds for which a worker is paused."""

SLOW, STUCK = 60.0, 900.0
"""Seconds after which a fit counts as slow, and as stuck, which ends the soak."""

EVENTS = ("none", "kill", "add", "pause")
OUTCOMES = ("same model", "same minimum", "another model", "refused", "stuck")
MINIMUM = 1e-6
"""By what share of it an objective may be above that of one process."""

Log = list[tuple[str, str, float]]
"""Of each fit the event, the outcome and the seconds."""


@cache
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

WITH_QUERIES = 2
"""Which of them gets queries."""


def block(number: int) -> np.ndarray:
    """Return the features and, last, the class of a block of rows."""
    return np.column_stack(draw_two_classes(BLOCK, n_features=N_FEATURES, seed=number))


@cache
def rows() -> np.ndarray:
    """Return all rows."""
    return np.concatenate([block(number) for number in range(N_BLOCKS)])


@cache
def of_one_process(number: int) -> Any:
    """Return the model of one process."""
    from sklearn.base import clone

    qid = QUERIES if number == WITH_QUERIES else None
    return clone(rankers()[number]).fit(rows()[:, :-1], rows()[:, -1], qid=qid)


def fit(client: Any, number: int) -> str:
    """Fit a ranker to blocks that workers make when they need them; return what came of it."""
    import dask.array as da
    from dask import delayed

    from sklearn_rank.dask import DaskRanker

    blocks = (delayed(block)(number) for number in range(N_BLOCKS))
    shape = (BLOCK, N_FEATURES + 1)
    both = da.concatenate([da.from_delayed(one, shape, float) for one in blocks])
    qid = da.from_array(QUERIES, chunks=BLOCK) if number == WITH_QUERIES else None
    try:
        ranker = DaskRanker(rankers()[number], client=client)
        fitted = ranker.fit(both[:, :-1], both[:, -1], qid=qid).estimator_
    except Exception as error:
        print(f"refused: {error}", flush=True)
        return "refused"
    known = of_one_process(number)
    scores, expected = (one.decision_function(rows()[:, :-1]) for one in (fitted, known))
    if np.abs(scores - expected).max() < 1e-6 * np.abs(expected).max():
        return "same model"
    if number in BY_LBFGS:
        value, least = (one.objective_curve_[-1] for one in (fitted, known))
        return "same minimum" if value <= least * (1 + MINIMUM) else "another model"
    return "another model"


def happen(event: str, cluster: Any, client: Any, rng: np.random.Generator) -> None:
    """Let an event happen to a worker."""
    if event == "add":
        cluster.scale(MOST)
    elif event != "none":
        pid = int(rng.choice(list(client.run(os.getpid).values())))
        os.kill(pid, signal.SIGKILL if event == "kill" else signal.SIGSTOP)
        if event == "pause":
            time.sleep(rng.uniform(0.1, PAUSE))
            os.kill(pid, signal.SIGCONT)


def soak(minutes: float, seed: int) -> Log:
    """Fit for some minutes, each fit with an event at a random moment."""
    from distributed import Client, LocalCluster

    log: Log = []
    rng, end = np.random.default_rng(seed), time.monotonic() + 60 * minutes
    options = {"threads_per_worker": 1, "memory_limit": "2GiB", "dashboard_address": None}
    with LocalCluster(n_workers=LEAST, **options) as cluster, Client(cluster) as client:
        while time.monotonic() < end and (not log or log[-1][1] != "stuck"):
            cluster.scale(LEAST)
            client.wait_for_workers(LEAST, timeout=120)
            event, number = str(rng.choice(EVENTS)), len(log) % len(rankers())
            timer = threading.Timer(rng.uniform(0, 4), happen, (event, cluster, client, rng))
            found: list[str] = []
            thread = threading.Thread(
                target=lambda found=found, number=number: found.append(fit(client, number)),
                daemon=True,  # it may be left behind when it is stuck
            )
            print(type(rankers()[number]).__name__, event, end=" ", flush=True)
            began = time.monotonic()
            timer.start()
            thread.start()
            thread.join(STUCK)
            log.append((event, found[0] if found else "stuck", time.monotonic() - began))
            print(*log[-1][1:], flush=True)
            timer.join()
    return log


def report_of(log: Log, minutes: float, seed: int) -> Report:
    """Return what came of the fits, by what happened to a worker."""
    table: list[list[Cell]] = []
    counts = Counter((event, outcome) for event, outcome, _ in log)
    for event in EVENTS:
        seconds = [one[2] for one in log if one[0] == event]
        if seconds:
            cells: list[Cell] = [counts[event, outcome] for outcome in OUTCOMES]
            slow = sum(one > SLOW for one in seconds)
            table.append([event, *cells, slow, median(seconds), max(seconds)])
    columns = [*OUTCOMES, f"over {SLOW:g} s", "median, s", "slowest, s"]
    columns = ["what happened to a worker", *columns]
    verdicts = [
        Verdict(f"fits: {outcome}", 0, sum(one[1] == outcome for one in log))
        for outcome in ("another model", "stuck")
    ]
    settings = f"{minutes:g} minutes of fits on a cluster of {LEAST} to {MOST} workers."
    machine = describe_machine("dask", "distributed", "xgboost", "xgboost-cpu")
    tables = [Table("What came of the fits", columns, table)]
    return Report("soak", f"{settings} Seed {seed}.", machine, tables, verdicts)


def main() -> None:
    """Soak and report."""
    parser = command_line(__doc__)
    parser.add_argument("--minutes", type=float, default=120.0, help="default: 120")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    log = soak(options.minutes, options.seed)
    report_of(log, options.minutes, options.seed).publish(options.json)


if __name__ == "__main__":
    main()
