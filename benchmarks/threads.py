"""Where a fit of stumps stops scaling with cores: measured on two, on paper on 16 and 64.

    python benchmarks/threads.py --json docs/benchmarks/threads.json
    python benchmarks/threads.py --rows 10000
    python benchmarks/threads.py --measured    # where there are more cores

A round takes T(1) on one thread and T(2) on two. What it costs that threads wake up and wait for
each other, b(c), is measured with c threads and c equal tasks, less the tasks' own time on two
cores; tasks are handed out under the interpreter's lock, so that more cores do not shorten it. With
m such waits a round and P the part that threads share, T(c) = T(1) - P + P / c + m b(c), and T(2)
gives P. Below the time in which the memory delivers what a round reads no number of cores gets.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from _harness import describe_machine
from _report import Cell, Report, Table, Verdict
from round import BINS, FEATURES, ROUNDS, clocks_in_fits, draw

CORES = (1, 2, 4, 8, 16, 64)
SIZES = (10_000, 100_000, 1_000_000)
MORE = (2, 4, 16)
FITS = 3
LINES: dict[str, dict[str, Any]] = {
    "exponential, p=1": {"p": 1},
    "logistic, p=1": {"loss": "logistic", "p": 1},
    "hinge, p=1": {"loss": "hinge", "p": 1},
}
WORDS = {1: "one", 2: "two"}
TASK = 50_000
"""Numbers of a task, of which two cores hold theirs in their caches."""

BYTES = 12 * FEATURES // 2
"""Read for a row by one scatter: a code and a gradient for two features at a time."""


@contextmanager
def counted_waits() -> Iterator[list[int]]:
    """Count the calls of `ThreadPool.map` that threads share while the block runs."""
    from sklearn_rank._core.parallel import ThreadPool

    before, calls = ThreadPool.map, [0]

    def counted(pool: Any, task: Callable[[int], Any], n_tasks: int) -> Any:
        calls[0] += pool._has_workers and n_tasks > 1
        return before(pool, task, n_tasks)

    ThreadPool.map = counted
    try:
        yield calls
    finally:
        ThreadPool.map = before


def wait_of(n_threads: int) -> float:
    """Return the seconds that a map of equal tasks takes beside these, which two cores share."""
    from sklearn_rank._core.parallel import ThreadPool

    parts, out = np.ones((n_threads, TASK)), np.empty((n_threads, TASK))

    def task(number: int) -> None:
        np.exp(parts[number], out=out[number])

    seconds: dict[str, list[float]] = {"alone": [], "shared": []}
    with ThreadPool(n_threads).running() as pool:
        for _ in range(500):
            started = time.perf_counter()
            task(0)
            middle = time.perf_counter()
            pool.map(task, n_threads)
            seconds["alone"].append(middle - started)
            seconds["shared"].append(time.perf_counter() - middle)
    ideal = median(seconds["alone"]) * max(n_threads / 2, 1.0)
    return max(median(seconds["shared"]) - ideal, 0.0)


def bandwidth() -> float:
    """Return the bytes a second that a core reads and writes in a copy of large arrays."""
    data, out = np.ones(20_000_000), np.empty(20_000_000)
    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        np.copyto(out, data)
        seconds.append(time.perf_counter() - started)
    return 2 * data.nbytes / min(seconds)


def rounds_of(n_rows: int, threads: tuple[int, ...] = (1, 2)) -> dict[str, dict[str, float]]:
    """Return the seconds of a round by threads, and its waits on the most, for each loss.

    Keys are the threads, in words for one and two.
    """
    from sklearn_rank import PNormPushRanker

    X, y, _ = draw("list", n_rows)
    found: dict[str, dict[str, list[float]]] = {line: {} for line in LINES}
    for number in range(FITS + 1):
        for line, given in LINES.items():
            for count in threads:
                ranker = PNormPushRanker(
                    n_estimators=ROUNDS, max_bins=BINS, tol=0, learning_rate=1, **given
                )
                ranker.set_params(n_jobs=count)
                with clocks_in_fits() as clocks, counted_waits() as waits:
                    ranker.fit(X, y)
                one = {WORDS.get(count, str(count)): clocks.seconds.total(), "waits": waits[0]}
                if number:  # the first loads code and pages
                    for name, value in one.items():
                        found[line].setdefault(name, []).append(value / ranker.n_iter_)
    return {
        line: {
            name: values[-1] if name == "waits" else median(values) for name, values in one.items()
        }
        for line, one in found.items()
    }


def measure_cores(sizes: list[int]) -> Report:
    """Measure a round with as many threads as there are cores, and fewer."""
    threads = tuple(cores for cores in CORES if cores <= (os.cpu_count() or 1))
    rounds = {n_rows: rounds_of(n_rows, threads) for n_rows in sizes}
    names = [WORDS.get(count, str(count)) for count in threads]
    rows: list[list[Cell]] = [
        [line, n_rows, *(f"{1e3 * one[name]:.3g}" for name in names)]
        for n_rows, found in rounds.items()
        for line, one in found.items()
    ]
    table = Table("A round on one list, milliseconds", ["loss", "rows", *map(str, threads)], rows)
    settings = f"{FEATURES} features, at most {BINS} bins, {ROUNDS} rounds; medians of {FITS} fits."
    return Report("threads_measured", settings, describe_machine(), [table], runs=rounds)


def on_paper(one: dict[str, float], waits: dict[int, float], least: float) -> dict[int, float]:
    """Return the seconds of a round for each number of cores; without waits all take one."""
    if not one["waits"]:
        return dict.fromkeys(CORES, one["one"])
    shared = 2 * (one["one"] - one["two"] + one["waits"] * waits[2])
    shared = min(max(shared, 0.0), one["one"])
    alone = one["one"] - shared
    found = {1: one["one"], 2: one["two"]}
    for cores in CORES[2:]:
        found[cores] = max(alone + shared / cores + one["waits"] * waits[cores], least)
    return found


def beyond(n_rows: int) -> dict[int, float]:
    """Return the seconds of a fit with as many threads as cores and more, in turns."""
    from sklearn_rank import RankBoost

    X, y, _ = draw("list", n_rows)
    seconds: dict[int, list[float]] = {threads: [] for threads in MORE}
    for number in range(FITS + 1):
        for threads, times in seconds.items():
            started = time.perf_counter()
            RankBoost(n_estimators=ROUNDS, tol=0, n_jobs=threads).fit(X, y)
            if number:
                times.append(time.perf_counter() - started)
    return {threads: median(times) for threads, times in seconds.items()}


def line_of(
    line: str, n_rows: int, one: dict[str, float], waits: dict[int, float], speed: float
) -> list[Cell]:
    """Return the times of a loss at one size, for each number of cores, and the best of these."""
    times = on_paper(one, waits, BYTES * n_rows / speed)
    cells = [f"{times[cores] * 1e3:.3g}" for cores in CORES]
    best = min(times, key=lambda cores: times[cores])
    return [line, n_rows, f"{one['waits']:.1f}", *cells, best]


def measure(sizes: list[int]) -> Report:
    """Measure, and work out the rest."""
    waits, speed = {cores: wait_of(cores) for cores in CORES}, bandwidth()
    rounds = {n_rows: rounds_of(n_rows) for n_rows in sizes}
    fits = {n_rows: beyond(n_rows) for n_rows in sizes}
    cores = ["1 core", "2 cores", *(f"{one} on paper" for one in CORES[2:])]
    tables = [
        Table(
            "A round on one list, milliseconds",
            ["loss", "rows", "waits", *cores, "most useful cores"],
            [
                line_of(line, n_rows, one, waits, speed)
                for n_rows, found in rounds.items()
                for line, one in found.items()
            ],
        ),
        Table(
            "What a map costs beside its tasks, microseconds, by threads",
            ["", *map(str, CORES)],
            [["a wait", *(f"{waits[one] * 1e6:.3g}" for one in CORES)]],
        ),
        Table(
            "Seconds of fits on two cores by n_jobs",
            ["rows", *map(str, MORE)],
            [[n_rows, *found.values()] for n_rows, found in fits.items()],
        ),
    ]
    verdicts = [
        Verdict(f"RankBoost, {n_rows:,} rows: {LABEL}", 1.1, found[16] / found[2], "x")
        for n_rows, found in fits.items()
    ]
    settings = f"{FEATURES} features, at most {BINS} bins, {ROUNDS} rounds; medians of {FITS} fits."
    runs = {"waits": waits, "bandwidth": speed, "rounds": rounds, "beyond": fits}
    note = NOTE.format(speed / 1e9)
    return Report("threads", settings, describe_machine(), tables, verdicts, [note], runs)


LABEL = "n_jobs=16 / n_jobs=2, on two cores"
NOTE = (
    f"A core copies {{:.3g}} GB a second, and a scatter reads {BYTES} bytes a row: on paper no "
    "round takes less than that. Servers with more channels of memory are faster. T(2) includes "
    "what two cores of one machine take from each other."
)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=SIZES[-1], help="most rows (default 1e6)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report there as well")
    parser.add_argument(
        "--measured", action="store_true", help="rounds with up to as many threads as cores"
    )
    options = parser.parse_args()
    sizes = [n for n in SIZES if n <= options.rows] or [options.rows]
    (measure_cores if options.measured else measure)(sizes).publish(options.json)


if __name__ == "__main__":
    main()
