"""Linear ListNet: speed beside the two BLAS passes it can't do without, growth and memory.

python benchmarks/bench_listnet.py                   # 1e6 x 46 rows, about a minute
python benchmarks/bench_listnet.py --rows 20000      # a quick look
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from _harness import Record, describe_machine, growth, medians, run_in_process, timed, watch
from _report import Report, Verdict, times_table

FULL_ROWS, N_FEATURES = 1_000_000, 46
KINDS = {"many": "queries of 50 to 150 rows", "one": "one query"}
GRADIENT, PASSES, FIT = "value and gradient", "two BLAS passes", "fit"
TENTH = ", a tenth"

Lines = Mapping[str, Record]
"""The medians of each line of a table."""


# --- in the child --------------------------------------------------------------------------------


def generate(n_rows: int, kind: str, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return X, y and qid: grades 0 to 4 that follow a linear score with noise."""
    import numpy as np

    rng = np.random.default_rng(seed)
    if kind == "one":
        qid = np.zeros(n_rows, dtype=np.int64)
    else:
        lengths = rng.integers(50, 151, n_rows // 50 + 1)
        lengths = lengths[: int(np.searchsorted(lengths.cumsum(), n_rows)) + 1]
        qid = np.repeat(np.arange(len(lengths)), lengths)[:n_rows]
    X = np.empty((n_rows, N_FEATURES))
    for start in range(0, n_rows, 100_000):
        X[start : start + 100_000] = rng.standard_normal(X[start : start + 100_000].shape)
    utility = X @ np.linspace(0.5, -0.5, N_FEATURES) + 2 * rng.standard_normal(n_rows)
    return X, np.searchsorted([0, 2, 3, 4], utility).astype(float), qid


def gradient_calls(n_rows: int, kind: str) -> dict[str, Callable[[], Any]]:
    """Return the two passes, and value and gradient of the loss."""
    import numpy as np

    from sklearn_rank._core.parallel import ThreadPool
    from sklearn_rank._core.sums import Queries
    from sklearn_rank.estimators._list_problem import BlockwiseObjective
    from sklearn_rank.models import LinearModel
    from sklearn_rank.objectives import CrossEntropy, ListLoss

    X, y, qid = generate(n_rows, kind)
    lists = Queries.from_codes(qid, n_rows)
    loss = ListLoss(lists, CrossEntropy(), y, np.ones(n_rows))
    objective = BlockwiseObjective(loss, LinearModel(X), ThreadPool(1))
    w, g = np.linspace(-0.1, 0.1, N_FEATURES), np.linspace(-1, 1, n_rows)
    return {PASSES: lambda: (X @ w, X.T @ g), GRADIENT: partial(objective, w)}


def time_gradient(n_rows: int, kind: str, repeats: int) -> Record:
    """Time value and gradient, on one thread, and the two passes, on all, in turns."""
    from threadpoolctl import threadpool_limits

    calls = gradient_calls(n_rows, kind)
    lines: Record = {name: [] for name in calls}
    for _ in range(repeats + 1):
        lines[PASSES].append({"rows": n_rows, "s": timed(calls[PASSES])})
        with threadpool_limits(limits=1, user_api="blas"):  # as in a fit
            lines[GRADIENT].append({"rows": n_rows, "s": timed(calls[GRADIENT])})
    return {name: records[1:] for name, records in lines.items()}  # the first round warms up


def time_fit(n_rows: int, kind: str, repeats: int) -> Record:
    """Time fits to a gradient of 1e-6 of its start; memory of the first."""
    from sklearn_rank import ListNetLinear

    X, y, qid = generate(n_rows, kind)
    ListNetLinear().fit(X[:1000], y[:1000], qid=qid[:1000])
    records = []
    for _ in range(max(repeats // 3, 1)):
        model = ListNetLinear(tol=1e-6)
        found = watch(lambda model=model: model.fit(X, y, qid=qid))
        extra = records[0]["extra MB"] if records else found["extra_mb"]  # later ones: already held
        about = {"extra MB": extra, "data MB": X.nbytes / 1e6, "iterations": model.n_iter_}
        records.append({"rows": n_rows, "s": found["s"], **about})
    auc = model.score(X, y, qid=qid)
    return {FIT: [{**record, "AUC": auc} for record in records]}


CHILDREN = {"gradient": time_gradient, "fit": time_fit}


# --- in the parent -------------------------------------------------------------------------------


def measure_kind(kind: str, options: argparse.Namespace) -> Record:
    """Return the records of each line: all rows and a tenth of them."""
    lines: Record = {}
    for suffix, n_rows in (("", options.rows), (TENTH, options.rows // 10)):
        for task in CHILDREN:
            print(f"{KINDS[kind]}, {n_rows:,} rows: {task}", file=sys.stderr, flush=True)
            child = ["--child", task, n_rows, kind, options.repeats]
            found = run_in_process(__file__, child, threads=options.threads)
            if "error" in found:
                raise SystemExit(f"{task} of {KINDS[kind]}, {n_rows:,} rows: {found['error']}")
            lines |= {name + suffix: records for name, records in found.items()}
    return lines


def judge(kind: str, found: Lines) -> Iterator[Verdict]:
    """Yield the targets of one kind of lists."""
    if kind == "many":  # one query fits no cache, so it is read twice as the passes do
        ratio = found[GRADIENT]["s"] / found[PASSES]["s"]
        yield Verdict(f"{GRADIENT} / {PASSES}, {KINDS[kind]}", 1.1, ratio, "x")
    for line in (GRADIENT, FIT):
        both = (found[line + TENTH], found[line])
        exponent = growth([one["rows"] for one in both], [one["s"] for one in both])
        yield Verdict(f"growth exponent, {line}, {KINDS[kind]}", 1.05, exponent)


def measure(options: argparse.Namespace) -> Report:
    """Run all cases; return tables and targets."""
    machine = describe_machine()
    runs = {kind: measure_kind(kind, options) for kind in KINDS}
    tables, verdicts = [], []
    for kind, lines in runs.items():
        found = {line: medians(records) for line, records in lines.items()}
        tables.append(times_table(KINDS[kind], found, PASSES))
        verdicts += judge(kind, found)
    notes = []
    if options.rows != FULL_ROWS:
        notes.append(f"The targets are stated for {FULL_ROWS:,} rows.")
    settings = (
        f"{options.rows:,} rows x {N_FEATURES} features; threads of linear algebra: "
        f"{options.threads}, of value and gradient: 1."
    )
    return Report("listnet", settings, machine, tables, verdicts, notes, runs)


def main() -> None:
    """Run the benchmark, or one case of it."""
    if sys.argv[1:2] == ["--child"]:
        task, n_rows, kind, repeats = sys.argv[2:]
        print(json.dumps(CHILDREN[task](int(n_rows), kind, int(repeats))))
        return
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--rows", type=int, default=FULL_ROWS, help="rows (default 1e6)")
    add("--repeats", type=int, default=9, help="gradients (default 9); a third as many fits")
    add("--threads", type=int, default=os.cpu_count(), help="threads of the BLAS (default: all)")
    add("--json", type=Path, metavar="FILE", help="write the report there as well")
    options = parser.parse_args()
    if options.rows < 1000 or min(options.repeats, options.threads) < 1:
        parser.error("at least 1000 rows, one repeat and one thread are needed")
    measure(options).publish(options.json)


if __name__ == "__main__":
    main()
