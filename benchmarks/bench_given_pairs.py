"""Listed pairs: a linear ranker beside logistic regression of the differences, and its memory.

    python benchmarks/bench_given_pairs.py                  # 1e6 pairs of 1e5 items, two minutes
    python benchmarks/bench_given_pairs.py --pairs 20000    # a quick look

Everybody minimises the mean logistic loss of the pairs with one ridge. A tolerance means something
else to each solver: counted is the loosest of a ladder at which the objective is within 1e-6 of the
lowest that anybody has found. `LogisticRegression` gets the matrix of differences ready made.
Seconds are those of the processor.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from _harness import Record, describe_machine, medians, run_in_process, take_turns, watch
from _report import Report, Table, Verdict, times_table

FULL_PAIRS, PAIRS_PER_ITEM, N_FEATURES = 1_000_000, 10, 50
ALPHA, NEAR = 1e-6, 1e-6
KINDS = {"independent": "independent features", "correlated": "features correlated at .9"}
OURS = ("PNormPushRanker, lbfgs", "KernelPairwiseSGDRanker, linear")
PEERS = ("LogisticRegression, lbfgs", "LogisticRegression, newton-cholesky")
LADDER = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)

Fit = Callable[[float], tuple[Any, int]]
"""Fits to a tolerance; returns coefficients and the number of iterations."""


# --- in the child --------------------------------------------------------------------------------


def generate(n_pairs: int, kind: str, seed: int = 0) -> tuple[Any, Any]:
    """Return items, and pairs whose winners are drawn from a linear model of the items."""
    import numpy as np

    rng = np.random.default_rng(seed)
    n_items = n_pairs // PAIRS_PER_ITEM
    X = rng.standard_normal((n_items, N_FEATURES))
    if kind == "correlated":  # an autoregression along the features
        for column in range(1, N_FEATURES):
            X[:, column] = 0.9 * X[:, column - 1] + np.sqrt(1 - 0.81) * X[:, column]
    scores = X @ (rng.standard_normal(N_FEATURES) / np.sqrt(N_FEATURES) * 1.5)
    first = rng.integers(0, n_items, n_pairs)
    second = (first + rng.integers(1, n_items, n_pairs)) % n_items
    wins = rng.random(n_pairs) < 1 / (1 + np.exp(scores[second] - scores[first]))
    return X, np.where(wins[:, None], np.c_[first, second], np.c_[second, first])


def objective(X: Any, pairs: Any, w: Any) -> float:
    """Return the mean logistic loss of the pairs plus the ridge."""
    import numpy as np

    scores = X @ w
    margin = scores[pairs[:, 0]] - scores[pairs[:, 1]]
    return float(np.logaddexp(0.0, -margin).mean() + ALPHA / 2 * w @ w)


def our_fit(name: str, X: Any, pairs: Any, tol: float) -> tuple[Any, int]:
    """Fit one of our linear rankers to the pairs."""
    from sklearn_rank import KernelPairwiseSGDRanker, PNormPushRanker
    from sklearn_rank.pairs import PairRanker

    if name == OURS[0]:
        options = {"solver": "lbfgs", "weak_ranker": "feature", "tol": tol, "alpha": ALPHA}
        ranker = PNormPushRanker(p=1, loss="logistic", **options)
    else:
        ranker = KernelPairwiseSGDRanker(kernel="linear", alpha=ALPHA, tol=tol)
    fitted = PairRanker(ranker).fit(X, pairs).ranker_
    return fitted.coef_, fitted.n_iter_


def peer_fit(name: str, differences: Any, y: Any, tol: float) -> tuple[Any, int]:
    """Fit a logistic regression without intercept to the differences."""
    from sklearn.linear_model import LogisticRegression

    options = {"C": 1 / (ALPHA * len(y)), "fit_intercept": False, "max_iter": 1000}
    model = LogisticRegression(solver=name.partition(", ")[2], tol=tol, **options)
    return model.fit(differences, y).coef_[0], int(model.n_iter_[0])


def loosest(fits: Mapping[str, Fit], value: Callable[[Any], float]) -> dict[str, Record]:
    """Return the loosest tolerance of each fit whose objective is near the lowest of all."""
    tried: dict[str, list[Record]] = {name: [] for name in fits}
    lowest = min(value(fit(LADDER[-1])[0]) for fit in fits.values())
    for name, fit in fits.items():
        for tol in LADDER:
            w, n_iter = fit(tol)
            excess = value(w) / lowest - 1
            tried[name].append({"tol": tol, "iterations": n_iter, "excess": excess})
            if excess <= NEAR:
                break
        else:
            raise RuntimeError(f"{name} does not come near the lowest objective")
    return {name: found[-1] for name, found in tried.items()}


def time_fits(n_pairs: int, kind: str, repeats: int) -> Record:
    """Time all fits in turns, each at its loosest tolerance."""
    import warnings

    import numpy as np
    from sklearn.exceptions import ConvergenceWarning

    warnings.simplefilter("ignore", ConvergenceWarning)  # of the tightest tolerances
    X, pairs = generate(n_pairs, kind)
    sign = np.where(np.random.default_rng(1).random(n_pairs) < 0.5, 1.0, -1.0)
    differences = (X[pairs[:, 0]] - X[pairs[:, 1]]) * sign[:, None]
    fits: dict[str, Fit] = {name: partial(our_fit, name, X, pairs) for name in OURS}
    fits |= {name: partial(peer_fit, name, differences, sign > 0) for name in PEERS}
    found = loosest(fits, partial(objective, X, pairs))
    calls = {name: partial(fit, found[name]["tol"]) for name, fit in fits.items()}
    # Of the processor: others may share it, and one thread waits for none.
    seconds = take_turns(calls, repeats, time.process_time)
    return {
        name: [{"rows": n_pairs, "s": s, **found[name]} for s in times]
        for name, times in seconds.items()
    }


def measure_memory(n_pairs: int, name: str) -> Record:
    """Return the memory of a fit beyond items and pairs, and that of the differences."""
    X, pairs = generate(n_pairs, "independent")
    our_fit(name, X[:100], pairs[(pairs < 100).all(axis=1)], 1e-3)  # imports
    found = watch(lambda: our_fit(name, X, pairs, 1e-7))
    return {"extra MB": found["extra_mb"], "differences MB": 8 * n_pairs * N_FEATURES / 1e6}


# --- in the parent -------------------------------------------------------------------------------


def in_child(task: str, arguments: list[Any], threads: int) -> Record:
    """Run a task in a process of its own."""
    print(f"{task}: {arguments}", file=sys.stderr, flush=True)
    found = run_in_process(__file__, ["--child", task, *arguments], threads=threads)
    if "error" in found:
        raise SystemExit(f"{task}: {found['error']}")
    return found


def judge_times(kind: str, found: Mapping[str, Record]) -> Iterator[Verdict]:
    """Yield the targets of the times: beside the faster logistic regression."""
    fastest = min(found[name]["s"] for name in PEERS)
    for name in OURS:
        label = f"{name} / the faster LogisticRegression, {KINDS[kind]}"
        yield Verdict(label, 0.6, found[name]["s"] / fastest, "x")


def measure(options: argparse.Namespace) -> Report:
    """Run all cases; return tables and targets."""
    machine = describe_machine()
    tables, verdicts, runs = [], [], {}
    for kind, title in KINDS.items():
        runs[kind] = in_child("time", [options.pairs, kind, options.repeats], options.threads)
        found = {name: medians(records) for name, records in runs[kind].items()}
        tables.append(times_table(title, found, PEERS[0]))
        verdicts += judge_times(kind, found)
    rows = []
    for name in OURS:
        runs[name] = one = in_child("memory", [options.pairs, name], options.threads)
        share = None if one["extra MB"] is None else one["extra MB"] / one["differences MB"]
        rows.append([name, one["extra MB"], one["differences MB"], share])
        verdicts.append(Verdict(f"memory of {name} / that of the differences", 0.15, share))
    columns = ["case", "extra MB", "differences MB", "/ differences"]
    tables.append(Table("Memory above items and pairs", columns, rows))
    notes = []
    if options.pairs != FULL_PAIRS:
        notes.append(f"The targets are stated for {FULL_PAIRS:,} pairs.")
    settings = (
        f"{options.pairs:,} pairs of {options.pairs // PAIRS_PER_ITEM:,} items x {N_FEATURES} "
        f"features; threads: {options.threads}; ridge {ALPHA:g} on the mean loss."
    )
    return Report("given pairs", settings, machine, tables, verdicts, notes, runs)


def main() -> None:
    """Run the benchmark, or one case of it."""
    if sys.argv[1:2] == ["--child"]:
        task, n_pairs, *rest = sys.argv[2:]
        if task == "time":
            print(json.dumps(time_fits(int(n_pairs), rest[0], int(rest[1]))))
        else:
            print(json.dumps(measure_memory(int(n_pairs), rest[0])))
        return
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--pairs", type=int, default=FULL_PAIRS, help="pairs (default 1e6)")
    add("--repeats", type=int, default=5, help="fits of each (default 5)")
    add("--threads", type=int, default=1, help="threads of the BLAS (default 1)")
    add("--json", type=Path, metavar="FILE", help="write the report there as well")
    options = parser.parse_args()
    if options.pairs < 10_000 or min(options.repeats, options.threads) < 1:
        parser.error("at least 10,000 pairs, one repeat and one thread are needed")
    measure(options).publish(options.json)


if __name__ == "__main__":
    main()
