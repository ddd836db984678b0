"""A Dask cluster on one machine against one process: time, overhead, growth and memory.

    python benchmarks/cluster.py                       # 1e7 rows, a quarter of an hour
    python benchmarks/cluster.py --quick
    python benchmarks/cluster.py --only overhead

Two workers of one thread each, against one process with two threads. The rows are in the workers'
memory before the clock starts, but for the part `memory`, which reads Parquet files.
"""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _data import draw_two_classes
from _harness import peak_bytes, timed
from _parts import Lines, Medians, Part, exponent, in_turns, ratio, run_parts, with_tenth
from _report import Verdict

N_FEATURES, N_ROUNDS, N_WORKERS = 20, 100, 2
BLOCK = 250_000
FEW_ROWS, FEW_ROUNDS, MANY_ROUNDS = 4_096, 50, 250
MEMORY_LIMIT = "1.2GiB"
PLAIN, TOP, LOGISTIC = "exponential, p = 1", "exponential, p = 4", "logistic"
CLUSTER, XGBOOST = ", cluster", "XGBoost's logistic stumps, cluster"
MOST_MILLISECONDS = {PLAIN: 8.0, TOP: 20.0, LOGISTIC: 20.0}


@contextmanager
def cluster(memory_limit: Any = 0) -> Iterator[Any]:
    """Yield a client of a local cluster, which is closed afterwards."""
    from distributed import Client, LocalCluster

    options = {"host": "127.0.0.1", "dashboard_address": None, "memory_limit": memory_limit}
    with (
        LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, **options) as workers,
        Client(workers) as client,
    ):
        yield client


def block(number: int, n_rows: int) -> Any:
    """Return features and, last, the class of one block of rows."""
    return np.column_stack(draw_two_classes(n_rows, n_features=N_FEATURES, seed=number))


def rows_on_workers(client: Any, n_rows: int, n_blocks: int | None = None) -> tuple[Any, Any]:
    """Return dask arrays of features and classes that the workers hold."""
    import dask.array as da
    from dask import delayed
    from distributed import wait

    n_blocks = n_blocks or max(N_WORKERS, n_rows // BLOCK)
    size = n_rows // n_blocks
    parts = [
        da.from_delayed(delayed(block)(number, size), (size, N_FEATURES + 1), float)
        for number in range(n_blocks)
    ]
    both = client.persist(da.concatenate(parts))
    X, y = client.persist((both[:, :-1], both[:, -1].astype(bool)))
    wait([X, y])
    return X, y


def rankers(n_rounds: int = N_ROUNDS) -> dict[str, Any]:
    """Return the rankers by the names of their losses."""
    from sklearn_rank import PNormPushRanker, RankBoost

    return {
        PLAIN: RankBoost(n_estimators=n_rounds, tol=0),
        TOP: PNormPushRanker(n_estimators=n_rounds, tol=0),
        LOGISTIC: PNormPushRanker(p=1, loss="logistic", n_estimators=n_rounds, tol=0),
    }


def fit_on(client: Any, ranker: Any, X: Any, y: Any) -> Callable[[], Any]:
    """Return what fits a ranker on the cluster."""
    from sklearn_rank.dask import DaskRanker

    return partial(DaskRanker(ranker, client=client).fit, X, y)


def stumps_of_xgboost(client: Any, X: Any, y: Any) -> Any:
    """Fit XGBoost's logistic stumps on the cluster."""
    import xgboost.dask as xgb

    settings = {"objective": "binary:logistic", "max_depth": 1, "max_bin": 64}
    settings |= {"tree_method": "hist", "nthread": 1}
    rows = xgb.DaskQuantileDMatrix(client, X, y, max_bin=64)
    return xgb.train(client, settings, rows, num_boost_round=N_ROUNDS)


def run_speed(options: argparse.Namespace) -> Lines:
    """Compare two workers of one thread with one process of two, on two fifths of the rows."""
    from sklearn.base import clone

    n_rows = options.rows * 2 // 5
    with cluster() as client:
        X, y = rows_on_workers(client, n_rows)
        here = X.compute(), y.compute()
        calls: dict[str, Any] = {XGBOOST: partial(stumps_of_xgboost, client, X, y)}
        for name, ranker in rankers().items():
            calls[name + CLUSTER] = fit_on(client, ranker, X, y)
            calls[name] = partial(clone(ranker).set_params(n_jobs=2).fit, *here)
        return in_turns(calls, options.repeats, n_rows)


def judge_speed(found: Medians) -> Iterator[Verdict]:
    """Yield the targets of the times."""
    for name in rankers():
        yield ratio(found, name + CLUSTER, name, 1.4)
    yield ratio(found, PLAIN + CLUSTER, XGBOOST, 0.5)


def run_overhead(options: argparse.Namespace) -> Lines:
    """Measure what a round takes on so few rows that only messages count."""
    lines: Lines = {}
    with cluster() as client:
        for n_blocks in (4, 64):
            X, y = rows_on_workers(client, FEW_ROWS, n_blocks)
            for name, ranker in rankers(MANY_ROUNDS).items():
                few = fit_on(client, rankers(FEW_ROUNDS)[name], X, y)
                calls = {"few": few, "many": fit_on(client, ranker, X, y)}
                times = in_turns(calls, options.repeats, FEW_ROWS)
                least = {which: min(one["s"] for one in of) for which, of in times.items()}
                a_round = 1e3 * (least["many"] - least["few"]) / (MANY_ROUNDS - FEW_ROUNDS)
                line = f"{name}, {n_blocks} partitions"
                lines[line] = [{**one, "ms a round": a_round} for one in times["many"]]
    return lines


def judge_overhead(found: Medians) -> Iterator[Verdict]:
    """Yield the targets of a round."""
    for line, one in found.items():
        limit = MOST_MILLISECONDS[line.rpartition(", ")[0]]
        yield Verdict(f"a round, {line}", limit, one["ms a round"], "ms")


def run_growth(options: argparse.Namespace) -> Lines:
    """Time fits to all rows and to a tenth of them."""

    def run(n_rows: int) -> Lines:
        with cluster() as client:
            rows = rows_on_workers(client, n_rows)
            calls = {name: fit_on(client, one, *rows) for name, one in rankers().items()}
            return in_turns(calls, options.repeats, n_rows)

    return with_tenth(run, options.rows)


def run_memory(options: argparse.Namespace) -> Lines:
    """Fit once from Parquet files on workers with little memory."""
    import dask.dataframe as dd
    import pandas as pd

    lines: Lines = {}
    names = [*(f"x{j}" for j in range(N_FEATURES)), "y"]
    with TemporaryDirectory(prefix="cluster_") as scratch:
        for number in range(max(N_WORKERS, options.rows // BLOCK)):
            frame = pd.DataFrame(block(number, min(BLOCK, options.rows // 2)), columns=names)
            frame.to_parquet(Path(scratch, f"part-{number:04d}.parquet"))
        for name in (PLAIN, TOP):
            with cluster(MEMORY_LIMIT) as client:
                frame = dd.read_parquet(scratch)
                fit = fit_on(client, rankers()[name], frame[names[:-1]], frame["y"].astype(bool))
                record = {"rows": options.rows, "s": timed(fit)}
                peaks = client.run(peak_bytes).values()
                lines[name] = [{**record, "peak MB, worker": max(peaks) / 1e6}]
    return lines


PARTS = {
    "memory": Part(f"Parquet files, workers limited to {MEMORY_LIMIT} each", run_memory),
    "overhead": Part(f"Overhead, fits of {MANY_ROUNDS} rounds", run_overhead, None, judge_overhead),
    "speed": Part(
        f"Fits of {N_ROUNDS} rounds, {N_FEATURES} features, 64 bins", run_speed, PLAIN, judge_speed
    ),
    "growth": Part(
        "Growth with the rows",
        run_growth,
        judge=lambda found: [exponent(found, name, 1.05) for name in rankers()],
    ),
}

if __name__ == "__main__":
    packages = ("dask", "distributed", "xgboost", "xgboost-cpu")
    run_parts(__file__, __doc__, PARTS, rows=10_000_000, repeats=3, packages=packages)
