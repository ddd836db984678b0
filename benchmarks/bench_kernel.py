"""Linear and kernel rankers: time against logistic regression, a step, kernels beyond the memory.

python benchmarks/bench_kernel.py                         # 1e6 rows, a quarter of an hour
python benchmarks/bench_kernel.py --only step kernel      # some of the parts
python benchmarks/bench_kernel.py --quick

Each part has a process of its own:

- ``dense``, ``correlated``, ``sparse``: linear rankers against logistic regression on the same
  features. Each minimises its own objective, a mean loss plus the same ridge penalty, at the
  loosest of several tolerances that comes within a millionth of its own minimum;
- ``step``: a gradient step of a kernel ranker, against one product with the kernel matrix;
- ``kernel``: a kernel matrix several times larger than the memory it may take;
- ``nystroem``: a linear ranker after an approximation of the kernel.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

from _data import draw_two_classes
from _harness import Record, peak_bytes, timed
from _parts import LADDER, Lines, Medians, Part, exponent, loosest, ratio, run_parts, with_tenth
from _report import Verdict, judged

QUERY = 100
N_DENSE, N_SPARSE, N_STORED = 20, 1000, 20
ALPHA = 1e-3

KINDS = {
    "dense": f"{N_DENSE} dense features",
    "correlated": f"{N_DENSE} dense features correlated at .9",
    "sparse": f"{N_SPARSE} features, {N_STORED} a row stored",
}
PEER = "LogisticRegression"
OURS = ("KernelPairwiseSGDRanker", "ListNetLinear")
FEW_STEPS, MANY_STEPS, PRODUCTS = 10, 60, 20
WORKING_MEMORY = 1024
MIB = 1 << 20

Fit = Callable[[float], Any]
"""Fits to a tolerance and returns the model."""

# --- linear --------------------------------------------------------------------------------------


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
    peer = partial(LogisticRegression, C=1 / (ALPHA * n_rows), max_iter=1000)
    pairwise = partial(KernelPairwiseSGDRanker, kernel="linear", **ours)
    return {
        PEER: (lambda tol: peer(tol=tol).fit(X, y), rows),
        OURS[0]: (lambda tol: pairwise(tol=tol).fit(X, y), pairs),
        OURS[1]: (lambda tol: ListNetLinear(tol=tol, **ours).fit(X, grades, qid=qid), lists),
    }


def run_linear(kind: str, options: argparse.Namespace) -> Lines:
    """Time all fits in turns, each at its loosest tolerance, to all rows and to a tenth of them."""

    def run(n_rows: int) -> Lines:
        lines: Lines = {}
        fits = systems(n_rows, kind, options.threads)
        ends = {
            name: loosest(fit, value, value(fit(LADDER[-1]))) for name, (fit, value) in fits.items()
        }
        for _ in range(options.repeats):
            for name, (fit, _) in fits.items():
                busy = time.process_time()
                seconds = timed(partial(fit, ends[name]["tol"]))
                busy = time.process_time() - busy
                record = {"rows": n_rows, "s": seconds, "processor s": busy, **ends[name]}
                lines.setdefault(name, []).append(record)
        return lines

    return with_tenth(run, options.rows)


def judge_linear(kind: str, found: Medians) -> Iterator[Verdict]:
    """Yield the targets of linear rankers."""
    for name in OURS:
        yield ratio(found, name, PEER, 1.2, f", {kind}")
        yield exponent(found, name, 1.05, f", {kind}")


# --- kernels -------------------------------------------------------------------------------------


def fit_and_watch(model: Any, X: Any, y: Any) -> Record:
    """Fit a model; return time, and the largest resident memory of this process."""
    seconds = timed(lambda: model.fit(X, y))
    return {"rows": X.shape[0], "s": seconds, "peak MiB": peak_bytes() / MIB}


def run_step(options: argparse.Namespace) -> Lines:
    """Time a gradient step: the difference of fits with many and few steps on a known kernel."""
    import numpy as np
    from sklearn.metrics.pairwise import rbf_kernel

    from sklearn_rank import KernelPairwiseSGDRanker

    X, y = draw_two_classes(options.rows // 200)
    kernel, c = rbf_kernel(X), np.random.default_rng(0).standard_normal(len(y))

    ranker = KernelPairwiseSGDRanker(kernel="precomputed", solver="gd", alpha=ALPHA, tol=0)

    def fit(n_steps: int) -> None:
        ranker.set_params(max_iter=n_steps).fit(kernel, y)

    def products() -> list[float]:
        return [timed(lambda: kernel @ c) for _ in range(PRODUCTS)]

    fit(1)
    lines: Lines = {"K @ c": [], "step": []}
    for _ in range(3 * options.repeats):
        few, before = timed(lambda: fit(FEW_STEPS)), products()
        many, after = timed(lambda: fit(MANY_STEPS)), products()
        step = (many - few) / (MANY_STEPS - FEW_STEPS)
        lines["K @ c"].append({"rows": len(y), "s": median(before + after)})
        lines["step"].append({"rows": len(y), "s": step})
    return lines


def run_kernel(options: argparse.Namespace) -> Lines:
    """Fit a few iterations with a kernel matrix that does not fit into the working memory."""
    import sklearn

    from sklearn_rank import KernelPairwiseSGDRanker

    X, y = draw_two_classes(options.rows // 50)
    ranker = KernelPairwiseSGDRanker(kernel="rbf", solver="lbfgs", alpha=ALPHA, tol=0, max_iter=3)
    with sklearn.config_context(working_memory=WORKING_MEMORY):
        record = fit_and_watch(ranker, X, y)
    return {"kernel": [{**record, "iterations": ranker.n_iter_}]}


def run_nystroem(options: argparse.Namespace) -> Lines:
    """Fit a linear ranker on an approximation of the kernel."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline

    from sklearn_rank import KernelPairwiseSGDRanker

    X, y = draw_two_classes(options.rows)
    linear = KernelPairwiseSGDRanker(kernel="linear", solver="lbfgs", alpha=ALPHA)
    model = make_pipeline(Nystroem(n_components=100, random_state=0), linear)
    record = fit_and_watch(model, X, y)
    return {"nystroem": [{**record, "iterations": model[-1].n_iter_}]}


def judge_memory(found: Medians) -> Iterator[Verdict]:
    """Yield the target of the memory of a large kernel."""
    label = "peak memory of the kernel fit"
    yield judged(label, 2048, lambda: found["kernel"]["peak MiB"], unit="MiB")


PARTS = {
    **{
        kind: Part(title, partial(run_linear, kind), PEER, partial(judge_linear, kind))
        for kind, title in KINDS.items()
    },
    "step": Part(
        "a step of solver='gd', rbf kernel kept",
        run_step,
        "K @ c",
        lambda found: [ratio(found, "step", "K @ c", 1.3)],
    ),
    "kernel": Part(f"rbf kernel, working_memory={WORKING_MEMORY}", run_kernel, judge=judge_memory),
    "nystroem": Part("Nystroem(n_components=100), then a linear ranker", run_nystroem),
}

if __name__ == "__main__":
    run_parts(__file__, __doc__, PARTS, rows=1_000_000, repeats=5)
