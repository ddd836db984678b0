"""Linear rankers beside logistic regression, dense and sparse: time to the minimum, and growth.

    python benchmarks/linear.py                  # 1e6 rows, ten minutes
    python benchmarks/linear.py --rows 50000     # a quick look

Everybody minimises an objective of its own, a mean loss plus the same ridge, on the same features.
A tolerance means something else to each solver: counted is the loosest of a ladder at which the
objective is within a millionth of its own minimum.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from _harness import Record, describe_machine, growth, medians, run_in_process
from _report import Report, Verdict, times_table

FULL_ROWS, QUERY = 1_000_000, 100
N_DENSE, N_SPARSE, N_STORED = 20, 1000, 20
ALPHA, NEAR = 1e-3, 1e-6
LADDER = tuple(10 ** (-step / 2) for step in range(2, 21))
"""Tolerances, two a decade. The last one's objective is taken for the minimum."""

KINDS = {
    "dense": f"{N_DENSE} dense features",
    "correlated": f"{N_DENSE} dense features correlated at .9",
    "sparse": f"{N_SPARSE} features, {N_STORED} a row stored",
}
PEER = "LogisticRegression"
OURS = ("KernelPairwiseSGDRanker", "ListNetLinear")
LIMIT, GROWTH = 1.2, 1.05
TENTH = ", a tenth"

Fit = Callable[[float], Any]
"""Fits to a tolerance and returns the model."""

# --- in the child --------------------------------------------------------------------------------


def features(n_rows: int, kind: str) -> Any:
    """Return X: standard normal, an autoregression along the features, or sparse.

    A sparse row has `N_STORED` numbers from .5 to 1.5; the first columns are used most.
    """
    import numpy as np
    from scipy import sparse

    rng = np.random.default_rng(0)
    if kind == "sparse":
        columns = (N_SPARSE * rng.random((n_rows, N_STORED)) ** 2).astype(np.int32)
        start = np.arange(0, n_rows * N_STORED + 1, N_STORED)
        values = rng.random(n_rows * N_STORED) + 0.5
        X = sparse.csr_matrix((values, columns.ravel(), start), shape=(n_rows, N_SPARSE))
        X.sum_duplicates()
        return X
    X = rng.standard_normal((n_rows, N_DENSE))
    if kind == "correlated":
        for column in range(1, N_DENSE):
            X[:, column] = 0.9 * X[:, column - 1] + np.sqrt(1 - 0.81) * X[:, column]
    return X


def systems(n_rows: int, kind: str, threads: int) -> dict[str, tuple[Fit, Callable[[Any], float]]]:
    """Return the fit of each system, and its objective as a function of the model."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    from sklearn_rank import KernelPairwiseSGDRanker, ListNetLinear
    from sklearn_rank.objectives import pair_loss_and_gradient

    X, rng = features(n_rows, kind), np.random.default_rng(1)
    w = rng.standard_normal(X.shape[1]) * (1.5 / np.sqrt(N_DENSE))
    utility = X @ w + rng.logistic(size=n_rows)
    grades = np.searchsorted(np.quantile(utility, [0.5, 0.75, 0.9, 0.97]), utility)
    y, qid = (grades >= 2).astype(int), np.arange(n_rows) // QUERY
    n_pairs, start = float(y.sum()) * float((1 - y).sum()), np.arange(0, n_rows, QUERY)

    def ridge(model: Any) -> float:
        return ALPHA / 2 * float(np.square(model.coef_).sum())

    def pairs(model: Any) -> float:
        return pair_loss_and_gradient(y, X @ model.coef_)[0] / n_pairs + ridge(model)

    def lists(model: Any) -> float:
        scores, gain = X @ model.coef_, np.exp(grades)
        shifted = np.exp(scores - scores.max())
        log_sum = np.log(np.add.reduceat(shifted, start)) + scores.max()
        target = np.add.reduceat(gain * scores, start) / np.add.reduceat(gain, start)
        return float((log_sum - target).mean()) + ridge(model)

    def rows(model: Any) -> float:
        margin = (2 * y - 1) * (X @ model.coef_[0] + model.intercept_)
        return float(np.logaddexp(0.0, -margin).mean()) + ridge(model)

    ours = {"alpha": ALPHA, "n_jobs": threads, "max_iter": 1000}
    return {
        PEER: (
            lambda tol: LogisticRegression(C=1 / (ALPHA * n_rows), tol=tol, max_iter=1000).fit(
                X, y
            ),
            rows,
        ),
        OURS[0]: (
            lambda tol: KernelPairwiseSGDRanker(kernel="linear", tol=tol, **ours).fit(X, y),
            pairs,
        ),
        OURS[1]: (lambda tol: ListNetLinear(tol=tol, **ours).fit(X, grades, qid=qid), lists),
    }


def loosest(fit: Fit, value: Callable[[Any], float]) -> Record:
    """Return the loosest tolerance whose objective is near the minimum."""
    lowest = value(fit(LADDER[-1]))
    for tol in LADDER:
        model = fit(tol)
        excess = value(model) / lowest - 1
        if excess <= NEAR:
            break
    n_iter = int(model.n_iter_[0] if hasattr(model.n_iter_, "__len__") else model.n_iter_)
    return {"tol": tol, "iterations": n_iter, "excess": excess}


def time_fits(n_rows: int, kind: str, repeats: int, threads: int) -> Record:
    """Time all fits in turns, each at its loosest tolerance: of the clock and of the processor."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    warnings.simplefilter("ignore", ConvergenceWarning)  # of the tightest tolerance
    known = systems(n_rows, kind, threads)
    found = {name: loosest(fit, value) for name, (fit, value) in known.items()}
    lines: Record = {name: [] for name in known}
    for _ in range(repeats):
        for name, (fit, _) in known.items():
            wall, busy = time.perf_counter(), time.process_time()
            fit(found[name]["tol"])
            wall, busy = time.perf_counter() - wall, time.process_time() - busy
            lines[name].append({"rows": n_rows, "s": wall, "processor s": busy, **found[name]})
    return lines


# --- in the parent -------------------------------------------------------------------------------


def measure_kind(kind: str, options: argparse.Namespace) -> Record:
    """Return the records of each line: all rows, and a tenth of them."""
    lines: Record = {}
    for suffix, n_rows in (("", options.rows), (TENTH, options.rows // 10)):
        print(f"{KINDS[kind]}, {n_rows:,} rows", file=sys.stderr, flush=True)
        child = ["--child", n_rows, kind, options.repeats, options.threads]
        found = run_in_process(__file__, child, threads=options.threads)
        if "error" in found:
            raise SystemExit(f"{KINDS[kind]}, {n_rows:,} rows: {found['error']}")
        lines |= {name + suffix: records for name, records in found.items()}
    return lines


def judge(kind: str, runs: Mapping[str, Any], clock: str) -> Iterator[Verdict]:
    """Yield the targets of one kind of features: medians of the ratios of each turn, and growth."""

    def seconds(name: str) -> list[float]:
        return [one[clock] for one in runs[name]]

    for name in OURS:
        ratios = [a / b for a, b in zip(seconds(name), seconds(PEER), strict=True)]
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        label = f"{name} / {PEER}, {KINDS[kind]} ({spread})"
        yield Verdict(label, LIMIT, median(ratios), "x")
    for name in OURS:
        both = [name + TENTH, name]
        rows = [runs[one][0]["rows"] for one in both]
        exponent = growth(rows, [median(seconds(one)) for one in both])
        yield Verdict(f"growth exponent, {name}, {KINDS[kind]}", GROWTH, exponent)


def measure(options: argparse.Namespace) -> Report:
    """Run all cases; return tables and targets."""
    machine = describe_machine()
    runs = {kind: measure_kind(kind, options) for kind in options.only}
    tables, verdicts = [], []
    for kind, lines in runs.items():
        found = {line: medians(records) for line, records in lines.items()}
        tables.append(times_table(KINDS[kind], found, PEER))
        verdicts += judge(kind, lines, options.clock)
    notes = [f"Ratios and growth are of {'processor s' if options.clock != 's' else 'seconds'}."]
    if options.rows != FULL_ROWS:
        notes.append(f"The targets are stated for {FULL_ROWS:,} rows.")
    settings = (
        f"{options.rows:,} rows; ridge {ALPHA:g} on the mean loss; to within {NEAR:g} of the own "
        f"minimum; threads: {options.threads}."
    )
    return Report("linear", settings, machine, tables, verdicts, notes, runs)


def main() -> None:
    """Run the benchmark, or one case of it."""
    if sys.argv[1:2] == ["--child"]:
        n_rows, kind, repeats, threads = sys.argv[2:]
        print(json.dumps(time_fits(int(n_rows), kind, int(repeats), int(threads))))
        return
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--rows", type=int, default=FULL_ROWS, help="rows (default 1e6)")
    add("--repeats", type=int, default=5, help="fits of each (default 5)")
    add("--threads", type=int, default=2, help="threads (default 2)")
    add("--only", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND", help="some kinds")
    add(
        "--clock",
        choices=("s", "processor s"),
        default="s",
        help="what is judged: seconds, or those of the processor where others use it too",
    )
    add("--json", type=Path, metavar="FILE", help="write the report there as well")
    options = parser.parse_args()
    if options.rows < 10_000 or min(options.repeats, options.threads) < 1:
        parser.error("at least 10,000 rows, one repeat and one thread are needed")
    measure(options).publish(options.json)


if __name__ == "__main__":
    main()
