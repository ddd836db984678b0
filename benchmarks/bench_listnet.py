"""Linear ListNet: speed against the two BLAS passes that it needs, growth and memory.

python benchmarks/bench_listnet.py             # 1e6 x 46 rows, about a minute
python benchmarks/bench_listnet.py --quick
"""

import argparse
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from _harness import timed, watch
from _parts import Lines, Medians, Part, exponent, ratio, run_parts, with_tenth
from _report import Verdict

N_FEATURES = 46
GRADIENT, PASSES, FIT = "value and gradient", "two BLAS passes", "fit"


def generate(n_rows: int, kind: str, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return X, y and qid: grades 0 to 4 that follow a linear score with noise."""
    rng = np.random.default_rng(seed)
    if kind == "one":
        qid = np.zeros(n_rows, dtype=np.int64)
    else:
        lengths = rng.integers(50, 151, n_rows // 50 + 1)
        lengths = lengths[: int(np.searchsorted(lengths.cumsum(), n_rows)) + 1]
        qid = np.repeat(np.arange(len(lengths)), lengths)[:n_rows]
    X = rng.standard_normal((n_rows, N_FEATURES))
    utility = X @ np.linspace(0.5, -0.5, N_FEATURES) + 2 * rng.standard_normal(n_rows)
    return X, np.searchsorted([0, 2, 3, 4], utility).astype(float), qid


def gradient_calls(n_rows: int, kind: str) -> dict[str, Callable[[], Any]]:
    """Return the two passes, and value and gradient of the loss."""

    from sklearn_rank._core.parallel import ThreadPool
    from sklearn_rank._core.sums import Queries
    from sklearn_rank.estimators.list_net_linear import BlockwiseObjective
    from sklearn_rank.models import LinearModel
    from sklearn_rank.objectives import CrossEntropy, ListLoss

    X, y, qid = generate(n_rows, kind)
    loss = ListLoss(Queries.from_codes(qid, n_rows), CrossEntropy(), y, np.ones(n_rows))
    objective = BlockwiseObjective(loss, LinearModel(X), ThreadPool(1))
    w, g = np.linspace(-0.1, 0.1, N_FEATURES), np.linspace(-1, 1, n_rows)
    return {PASSES: lambda: (X @ w, X.T @ g), GRADIENT: partial(objective, w)}


def time_gradient(n_rows: int, kind: str, repeats: int) -> Lines:
    """Time value and gradient, on one thread, and the two passes, on all, in turns."""
    from threadpoolctl import threadpool_limits

    calls = gradient_calls(n_rows, kind)
    lines: Lines = {name: [] for name in calls}
    for _ in range(repeats + 1):
        lines[PASSES].append({"rows": n_rows, "s": timed(calls[PASSES])})
        with threadpool_limits(limits=1, user_api="blas"):  # as in a fit
            lines[GRADIENT].append({"rows": n_rows, "s": timed(calls[GRADIENT])})
    return {name: records[1:] for name, records in lines.items()}  # the first round warms up


def time_fit(n_rows: int, kind: str, repeats: int) -> Lines:
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


def run_kind(kind: str, options: argparse.Namespace) -> Lines:
    """Time gradients and fits, at a tenth of the rows and at all."""

    def run(n_rows: int) -> Lines:
        repeats = options.repeats
        return time_gradient(n_rows, kind, repeats) | time_fit(n_rows, kind, repeats)

    return with_tenth(run, options.rows)


def judge(kind: str, found: Medians) -> Iterator[Verdict]:
    """Yield the targets of one kind of lists."""
    if kind == "many":  # one query fits no cache, so it is read twice as the passes do
        yield ratio(found, GRADIENT, PASSES, 1.1)
    for line in (GRADIENT, FIT):
        yield exponent(found, line, 1.05, f", {kind}")


PARTS = {
    kind: Part(title, partial(run_kind, kind), PASSES, partial(judge, kind))
    for kind, title in (("many", "queries of 50 to 150 rows"), ("one", "one query"))
}

if __name__ == "__main__":
    run_parts(__file__, __doc__, PARTS, rows=1_000_000, repeats=9, threads=os.cpu_count() or 1)
