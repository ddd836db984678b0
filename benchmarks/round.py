"""Where the time of a boosting round goes, part by part, beside what the machine allows.

    python benchmarks/round.py                   # to a million rows, a tenth of them in queries
    python benchmarks/round.py --rows 10000      # a quick look

A fit of stumps is taken apart by clocks around its parts; what one part calls of another counts
for the other alone. Beside it stand, measured in the same run, the scatter of a gradient into the
bins of two features at a time, which every round needs once, and copies and exponentials of rows.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from _harness import Record, describe_machine, run_in_process
from _report import Cell, Report, Table

FULL_ROWS, SIZES = 1_000_000, (10_000, 100_000, 1_000_000)
FEATURES, BINS, ROUNDS, QUERY, GRADES = 20, 64, 100, 100, 4
REPEATS = 2

ON_LIST: dict[str, dict[str, Any]] = {
    "exponential, p=1": {"p": 1},
    "exponential, p=4": {"p": 4},
    "least squares, p=1": {"loss": "least_squares", "p": 1},
    "logistic, p=1": {"loss": "logistic", "p": 1},
    "logistic, p=4": {"loss": "logistic", "p": 4},
    "squared hinge, p=1": {"loss": "squared_hinge", "p": 1},
    "squared hinge, p=4": {"loss": "squared_hinge", "p": 4},
    "hinge, p=1": {"loss": "hinge", "p": 1},
    "hinge, p=4": {"loss": "hinge", "p": 4},
}
ON_QUERIES: dict[str, dict[str, Any]] = {
    "exponential, p=1": {"p": 1},
    "exponential, p=4": {"p": 4},
    "logistic, p=1": {"loss": "logistic", "p": 1},
    "logistic, p=4": {"loss": "logistic", "p": 4},
}
"""Parameters of `PNormPushRanker`, by the name of the line."""

PARTS = ("scatter", "choice", "stump", "objective", "step", "record", "loop")
LIMITS = ("scatter of two features at a time", "copy", "exp")


# --- in the child --------------------------------------------------------------------------------


class Clocks:
    """Time by part, each exclusive of the parts that it calls."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._running: list[str] = []
        self._since = 0.0

    def _switch(self) -> None:
        now = time.perf_counter()
        if self._running:
            self.seconds[self._running[-1]] += now - self._since
        self._since = now

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Count the time of a block for one part."""
        self._switch()
        self._running.append(name)
        try:
            yield
        finally:
            self._switch()
            self._running.pop()

    def around(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Return a function whose time counts for one part."""

        def timed(*arguments: Any, **options: Any) -> Any:
            with self.part(name):
                return function(*arguments, **options)

        return timed


@contextmanager
def clocks_in_fits() -> Iterator[Clocks]:
    """Put clocks around the parts of a fit while the block runs."""
    from sklearn_rank.estimators._boosting.record import FitRecord, Record
    from sklearn_rank.models.bin_sums import BinSums
    from sklearn_rank.models.stump_columns import StumpColumns
    from sklearn_rank.objectives._moving_masses import ExponentialState
    from sklearn_rank.objectives.states import ScoreState, SecondOrderState
    from sklearn_rank.solvers.coordinate_descent import Coordinate

    clocks = Clocks()
    places: list[tuple[type, str, str]] = [
        (BinSums, "sum_by_bin", "scatter"),
        (StumpColumns, "search", "choice"),
        (StumpColumns, "values", "stump"),
        (ExponentialState, "advance", "objective"),
        (ScoreState, "advance", "objective"),
        (SecondOrderState, "advance", "objective"),
        (Record, "step", "step"),
        (FitRecord, "add", "record"),
        (Coordinate, "solve", "loop"),
    ]
    before = [(owner, name, vars(owner)[name]) for owner, name, _ in places]
    for owner, name, part in places:
        setattr(owner, name, clocks.around(vars(owner)[name], part))
    try:
        yield clocks
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)


def time_parts(kind: str, n_rows: int, threads: int) -> dict[str, list[Record]]:
    """Return the nanoseconds of each part, for a row and a round, of each fit."""
    from sklearn_rank import PNormPushRanker

    X, y, queries = draw(kind, n_rows)
    shared = {"n_estimators": ROUNDS, "max_bins": BINS, "n_jobs": threads, "tol": 0}
    if kind == "queries":
        shared["relevance"] = "graded"
    lines = ON_QUERIES if kind == "queries" else ON_LIST
    found: dict[str, list[Record]] = {line: [] for line in lines}
    for repeat in range(REPEATS + 1):
        for line, given in lines.items():
            ranker = PNormPushRanker(**shared, learning_rate=1, **given)
            started = time.perf_counter()
            with clocks_in_fits() as clocks:
                ranker.fit(X, y, **queries)
            whole = time.perf_counter() - started
            scale = 1e9 / (n_rows * ranker.n_iter_)
            record = {part: clocks.seconds[part] * scale for part in PARTS}
            record["once"] = (whole - clocks.seconds.total()) * 1e9 / n_rows
            if repeat:  # the first loads code and pages
                found[line].append(record)
    return found


def draw(kind: str, n_rows: int) -> tuple[Any, Any, dict[str, Any]]:
    """Return features, labels and what else `fit` takes: one list, or queries with grades."""
    from _data import draw_two_classes

    from sklearn_rank.datasets import make_queries

    if kind == "list":
        return (*draw_two_classes(n_rows, n_features=FEATURES, seed=1), {})
    found = make_queries(n_rows // QUERY, QUERY, FEATURES, GRADES, random_state=1)
    return found.data, found.target, {"qid": found.qid}


def time_limits(n_rows: int, threads: int) -> Record:
    """Return nanoseconds for a row: the scatter of all features, a copy and an exponential."""
    import numpy as np
    from scipy.sparse import csr_matrix

    from sklearn_rank._core.parallel import ThreadPool

    rng = np.random.default_rng(0)
    data, out, n_bins = rng.random(n_rows), np.empty(n_rows), BINS**2
    tables = np.zeros((FEATURES // 2, 1, n_bins))
    matrices = []
    for _ in tables:
        matrix = csr_matrix((1, n_bins))
        matrix.indices = rng.integers(n_bins, size=n_rows, dtype=np.int32)
        matrix.indptr, matrix.data = np.array([0, n_rows], dtype=np.int32), data
        matrices.append(matrix)
    calls: dict[str, Callable[[ThreadPool], Any]] = {
        LIMITS[0]: lambda pool: pool.map(
            lambda k: matrices[k].toarray(out=tables[k]) is None, len(matrices)
        ),
        LIMITS[1]: lambda _: np.copyto(out, data),
        LIMITS[2]: lambda _: np.exp(data, out=out),
    }
    found = {}
    with ThreadPool(threads).running() as pool:
        for name, call in calls.items():
            seconds = []
            for _ in range(21):
                started = time.perf_counter()
                call(pool)
                seconds.append(time.perf_counter() - started)
            found[name] = median(seconds) * 1e9 / n_rows
    return found


def run_child(kind: str, options: argparse.Namespace) -> Record:
    """Measure one kind of data at every size."""
    found: Record = {}
    for n_rows in options.sizes:
        lines = time_parts(kind, n_rows, options.threads)
        found[str(n_rows)] = {"lines": lines, "limits": time_limits(n_rows, options.threads)}
    return found


# --- in the parent -------------------------------------------------------------------------------


def table_of(kind: str, n_rows: str, found: Record) -> Table:
    """Return the parts of each objective at one size."""
    limits = found["limits"]
    rows: list[list[Cell]] = []
    for line, records in found["lines"].items():
        middle = {part: median(one[part] for one in records) for part in records[0]}
        sums = [sum(one[part] for part in PARTS) for one in records]
        scatters = middle["scatter"] / limits[LIMITS[0]]
        cells: list[Cell] = [f"{median(sums):.1f}", f"{min(sums):.1f} to {max(sums):.1f}"]
        cells += [f"{middle[part]:.1f}" for part in PARTS]
        rows.append([line, *cells, f"{scatters:.2f}", f"{middle['once']:.0f}"])
    what = "One list" if kind == "list" else f"Queries of {QUERY} rows, grades 0 to {GRADES - 1}"
    note = "In the same run: " + ", ".join(f"{name} {limits[name]:.2f} ns" for name in LIMITS) + "."
    columns = ["loss", "round", "fastest to slowest", *PARTS, "scatters", "once"]
    return Table(f"{what}, {int(n_rows):,} rows: nanoseconds a row", columns, rows, note)


NOTE = (
    f"Nanoseconds of the wall clock for each row and round, {FEATURES} features, means of "
    f"{REPEATS} fits of {ROUNDS} rounds. scatter: sums of the gradient, and of second derivatives, "
    "by bin; scatters: how many times the limit of one that is. choice: gains of all stumps. "
    "stump: the chosen one on the rows. objective: masses, or sums over pairs, after the step. "
    "step: its length. record: curves and offsets of each round. loop: the rest of a round. once: "
    "the rest of the fit, mostly bins, for each row."
)


def measure(options: argparse.Namespace, arguments: list[str]) -> Report:
    """Run both kinds of data, each in a process of its own."""
    settings = f"{options.threads} threads, at most {BINS} bins, learning rate 1."
    report = Report("round", settings, describe_machine(), [], [], [NOTE], {})
    for kind in ("list", "queries"):
        print(kind, file=sys.stderr, flush=True)
        found = run_in_process(__file__, [*arguments, "--child", kind], threads=options.threads)
        report.runs[kind] = found
        if "error" in found:
            report.notes.append(f"{kind}: {found['error']}")
            continue
        report.tables += [table_of(kind, n_rows, one) for n_rows, one in found.items()]
    return report


def main() -> None:
    """Run the benchmark, or one part of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--rows", type=int, default=FULL_ROWS, help="most rows (default 1e6)")
    add("--threads", type=int, default=2, help="threads of a fit (default 2)")
    add("--json", type=Path, metavar="FILE", help="write the report there as well")
    add("--child", choices=("list", "queries"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    most = options.rows // 10 if options.child == "queries" else options.rows
    options.sizes = [n for n in SIZES if n <= most] or [most]
    if options.child:
        print(json.dumps(run_child(options.child, options)))
    else:
        measure(options, sys.argv[1:]).publish(options.json)


if __name__ == "__main__":
    main()
