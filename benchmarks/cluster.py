"""A Dask cluster on one machine beside one process: time, overhead, growth and memory.

    python benchmarks/cluster.py
    python benchmarks/cluster.py --only overhead --json cluster.json

Two workers of one thread each, beside one process with two threads. The rows are in the workers'
memory before the clock starts, but for the part `memory`, which reads Parquet files.
"""

import argparse
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _data import draw_two_classes
from _harness import describe_machine, growth, peak_bytes, take_turns, timed
from _report import PartResult, Report, Table, Verdict

N_FEATURES, N_ROUNDS, N_WORKERS = 20, 100, 2
BLOCK = 250_000
_FEW_ROUNDS, _MANY_ROUNDS = 50, 250
MEMORY_LIMIT, MOST_OTHERS = "1.2GiB", 400e6


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
    X, y = draw_two_classes(n_rows, n_features=N_FEATURES, seed=number)
    return np.column_stack([X, y])


def rows_on_workers(client: Any, n_rows: int, n_blocks: int) -> tuple[Any, Any]:
    """Return dask arrays of features and classes that the workers hold."""
    import dask.array as da
    from dask import delayed
    from distributed import wait

    size = n_rows // n_blocks
    parts = [
        da.from_delayed(delayed(block)(number, size), (size, N_FEATURES + 1), float)
        for number in range(n_blocks)
    ]
    both = client.persist(da.concatenate(parts))
    wait(both)
    X, y = client.persist((both[:, :-1], both[:, -1].astype(bool)))
    wait([X, y])
    return X, y


def rankers(n_rounds: int = N_ROUNDS) -> dict[str, Any]:
    """Return the rankers by the names of their losses."""
    from sklearn_rank import PNormPushRanker, RankBoost

    return {
        "exponential, p = 1": RankBoost(n_estimators=n_rounds, tol=0),
        "exponential, p = 4": PNormPushRanker(n_estimators=n_rounds, tol=0),
        "logistic": PNormPushRanker(p=1, loss="logistic", n_estimators=n_rounds, tol=0),
    }


def fit_on(client: Any, ranker: Any, X: Any, y: Any) -> Callable[[], Any]:
    """Return what fits a ranker on the cluster."""
    from sklearn.base import clone

    from sklearn_rank.dask import DaskRanker

    return lambda: DaskRanker(clone(ranker), client=client).fit(X, y)


def stumps_of_xgboost(client: Any, X: Any, y: Any) -> Callable[[], Any]:
    """Return what fits XGBoost's logistic stumps on the cluster."""
    import xgboost.dask as xgb

    settings = {
        "objective": "binary:logistic",
        "max_depth": 1,
        "max_bin": 64,
        "tree_method": "hist",
        "nthread": 1,
    }

    def fit() -> Any:
        rows = xgb.DaskQuantileDMatrix(client, X, y, max_bin=64)
        return xgb.train(client, settings, rows, num_boost_round=N_ROUNDS)

    return fit


def speed(n_rows: int, repeats: int) -> PartResult:
    """Compare two workers of one thread with one process of two."""
    from sklearn.base import clone

    rows: list[list[Any]] = []
    verdicts = []
    with cluster() as client:
        X, y = rows_on_workers(client, n_rows, max(N_WORKERS, n_rows // BLOCK))
        here = X.compute(), y.compute()
        for name, ranker in rankers().items():
            alone = clone(ranker).set_params(n_jobs=2)
            calls = {
                "cluster": fit_on(client, ranker, X, y),
                "process": lambda alone=alone: clone(alone).fit(*here),
            }
            if name.startswith("exponential, p = 1"):
                calls["XGBoost"] = stumps_of_xgboost(client, X, y)
            seconds = {who: float(np.median(s)) for who, s in take_turns(calls, repeats).items()}
            ratio = seconds["cluster"] / seconds["process"]
            rows.append([name, seconds["cluster"], seconds["process"], ratio])
            verdicts.append(
                Verdict(f"{name}: two workers / one process of two threads", 1.4, ratio)
            )
            if "XGBoost" in seconds:
                beside = seconds["cluster"] / seconds["XGBoost"]
                rows.append(["XGBoost's logistic stumps on the cluster", seconds["XGBoost"]])
                label = f"{name}: ours / XGBoost's stumps on the same cluster"
                verdicts.append(Verdict(label, 0.5, beside))
    rows = [[*row, *[None] * (4 - len(row))] for row in rows]
    title = f"Fits of {N_ROUNDS} rounds to {n_rows:,} rows of {N_FEATURES} features, seconds"
    return PartResult([Table(title, ["loss", "cluster", "process", "ratio"], rows)], verdicts)


def overhead(n_rows: int, repeats: int) -> PartResult:
    """Measure what a round takes on so few rows that only messages count."""
    limits = {"exponential, p = 1": 8.0, "exponential, p = 4": 20.0, "logistic": 20.0}
    table, verdicts = [], []
    with cluster() as client:
        for n_blocks in (4, 64):
            X, y = rows_on_workers(client, n_rows, n_blocks)
            for name, long in rankers(_MANY_ROUNDS).items():
                calls = {
                    "short": fit_on(client, rankers(_FEW_ROUNDS)[name], X, y),
                    "long": fit_on(client, long, X, y),
                }
                least = {who: min(s) for who, s in take_turns(calls, repeats).items()}
                a_round = 1e3 * (least["long"] - least["short"]) / (_MANY_ROUNDS - _FEW_ROUNDS)
                table.append([name, n_blocks, a_round, least["short"]])
                label = f"{name}: milliseconds a round, {n_blocks} partitions"
                verdicts.append(Verdict(label, limits[name], a_round, " ms"))
    columns = ["loss", "partitions", "ms a round", f"s, {_FEW_ROUNDS} rounds"]
    return PartResult([Table(f"Overhead on {n_rows:,} rows", columns, table)], verdicts)


def scaling(most_rows: int, repeats: int) -> PartResult:
    """Measure how time grows with the rows."""
    sizes = [most_rows // 10, most_rows * 3 // 10, most_rows]
    found: dict[str, list[float]] = {name: [] for name in rankers()}
    for n_rows in sizes:
        with cluster() as client:
            X, y = rows_on_workers(client, n_rows, max(N_WORKERS, n_rows // BLOCK))
            calls = {name: fit_on(client, one, X, y) for name, one in rankers().items()}
            for name, seconds in take_turns(calls, repeats).items():
                found[name].append(min(seconds))
    exponents = {name: growth(sizes, seconds) for name, seconds in found.items()}
    rows = [[name, *seconds, exponents[name]] for name, seconds in found.items()]
    columns = ["loss", *(f"{n:,} rows" for n in sizes), "exponent"]
    verdicts = [Verdict(f"{name}: growth exponent", 1.05, one) for name, one in exponents.items()]
    return PartResult([Table("Seconds by rows", columns, rows)], verdicts)


def write_parquet(folder: Path, n_rows: int) -> None:
    """Write the rows, block by block."""
    import pandas as pd

    for number in range(n_rows // BLOCK):
        names = [*(f"x{j}" for j in range(N_FEATURES)), "y"]
        frame = pd.DataFrame(block(number, BLOCK), columns=names)
        frame.to_parquet(folder / f"part-{number:04d}.parquet")


def memory(n_rows: int) -> PartResult:
    """Fit from Parquet files on workers with little memory."""
    import dask.dataframe as dd

    from sklearn_rank import KernelPairwiseSGDRanker

    boosters = {name: (1, one) for name, one in rankers().items() if name != "logistic"}
    linear = KernelPairwiseSGDRanker(kernel="linear", loss="least_squares", tol=1e-3)
    table, peaks = [], []
    with TemporaryDirectory(prefix="cluster_") as scratch:
        with ProcessPoolExecutor(1) as other:  # what that takes is not the client's
            other.submit(write_parquet, Path(scratch), n_rows).result()
        for name, (share, ranker) in {**boosters, "linear, half the rows": (2, linear)}.items():
            with cluster(MEMORY_LIMIT) as client:
                frame = dd.read_parquet(scratch)
                frame = frame.partitions[: frame.npartitions // share]
                X, y = frame[list(frame.columns[:-1])], frame["y"].astype(bool)
                seconds = timed(fit_on(client, ranker, X, y))
                workers = list(client.run(peak_bytes).values())
                table.append([name, seconds, *(peak / 1e6 for peak in workers)])
        peaks.append(peak_bytes() / 1e6)
    columns = ["loss", "seconds", *(f"MB, worker {k}" for k in range(N_WORKERS))]
    label = "client and scheduler, one process here, megabytes"
    note = f"Workers limited to {MEMORY_LIMIT} each; the features take {n_rows * 160 / 1e6:.0f} MB."
    title = f"Fits to {n_rows:,} rows in Parquet files"
    return PartResult(
        [Table(title, columns, table, note)], [Verdict(label, MOST_OTHERS / 1e6, max(peaks), " MB")]
    )


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    parts = ["speed", "overhead", "scaling", "memory"]
    add("--only", nargs="+", choices=parts, default=parts, help="parts to run (default: all)")
    add("--rows", type=int, default=4_000_000, help="rows of `speed` (default: 4,000,000)")
    add("--most-rows", type=int, default=10_000_000, help="rows of the largest fits")
    add("--repeats", type=int, default=3, help="repeats of each fit (default: 3)")
    add("--json", type=Path, metavar="FILE", help="write the report there as well")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    """Measure and report."""
    options = parse_arguments(arguments)
    machine = describe_machine("dask", "distributed", "xgboost", "xgboost-cpu")
    parts = {
        "memory": lambda: memory(options.most_rows),  # first: a peak is that of the whole run
        "overhead": lambda: overhead(4_096, options.repeats),
        "speed": lambda: speed(options.rows, options.repeats),
        "scaling": lambda: scaling(options.most_rows, max(1, options.repeats - 1)),
    }
    found = [run() for name, run in parts.items() if name in options.only]
    settings = (
        f"Two workers of one thread each on one machine, {N_FEATURES} features, 64 bins. Rows of "
        "two classes, three in ten positive."
    )
    Report(
        "cluster",
        settings,
        machine,
        [table for part in found for table in part.tables],
        [verdict for part in found for verdict in part.verdicts],
    ).publish(options.json)


if __name__ == "__main__":
    main()
