"""Sums over all pairs, and listed pairs: time against a sort and against logistic regression.

python benchmarks/bench_pairs.py                       # 1e6 rows, three minutes
python benchmarks/bench_pairs.py --only sums scores    # some of the parts
python benchmarks/bench_pairs.py --quick

Each part has a process of its own, in which the things compared take turns:

- ``sums``: value and gradient of each loss over all pairs, against a stable argsort of the scores;
- ``error``: the logistic sums against the same sums taken pair by pair;
- ``scores``: the logistic sums for scores of different distributions;
- ``independent``, ``correlated``: as many listed pairs as rows, of a tenth as many items with 50
  features. All minimise the mean logistic loss of the pairs with the same ridge penalty, to within
  1e-6 of the lowest value found, at the loosest of several tolerances; `LogisticRegression` gets
  the matrix of differences ready made, and its memory is compared.
"""

import argparse
import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from _harness import timed, watch
from _parts import (
    LADDER,
    TENTH,
    Lines,
    Medians,
    Part,
    exponent,
    in_turns,
    loosest,
    ratio,
    run_parts,
    with_tenth,
)
from _report import Verdict, judged

ERROR_ROWS = 10_000
POSITIVE_SHARE = 0.3
SPREAD_OUT = "normal, sd 30"
OTHER_SCORES = (
    *("normal, sd 3", "one outlier at 1e6", "clusters at 0 and 1e6", "uniform +- 1e3"),
    *("uniform +- 1e4", "uniform +- 1e5", "uniform +- 1e6", "cauchy cubed"),
)

# --- all pairs -----------------------------------------------------------------------------------


def draw_labels(n_rows: int) -> Any:
    """Return random labels."""
    return np.random.default_rng(0).random(n_rows) < POSITIVE_SHARE


def draw_scores(name: str, n_rows: int) -> Any:
    """Return scores of one of the distributions, without regard to the labels."""
    rng = np.random.default_rng(1)
    kind, _, size = name.rpartition(" ")
    if kind == "uniform +-":
        return rng.uniform(-float(size), float(size), n_rows)
    if kind == "normal, sd":
        return float(size) * rng.standard_normal(n_rows)
    if name == "cauchy cubed":
        return rng.standard_cauchy(n_rows) ** 3
    scores = 3 * rng.standard_normal(n_rows)
    if kind == "one outlier at":
        scores[0] = float(size)
    else:
        scores += float(size) * rng.integers(0, 2, n_rows)
    return scores


def pair_sum(loss: str, y: Any, scores: Any) -> Callable[[], Any]:
    """Return a call that sums over all pairs, prepared as in a fit: labels are sorted once."""

    from sklearn_rank._core.preferences import Preferences
    from sklearn_rank.objectives import PairLoss

    preferences = Preferences.from_labels(y.astype(float), None, np.ones(len(y)))
    pair_loss, scores = PairLoss(preferences, loss), scores[preferences.order]
    return lambda: pair_loss.value_and_gradient(scores)


def run_sums(options: argparse.Namespace) -> Lines:
    """Time the sums of each loss at all rows and at a tenth of them."""

    from sklearn_rank.objectives import MARGIN_LOSSES, pair_loss_and_gradient

    def run(n_rows: int) -> Lines:
        y, scores = draw_labels(n_rows), draw_scores("normal, sd 3", n_rows)
        calls = {"argsort": partial(np.argsort, scores, kind="stable")}
        calls |= {loss: pair_sum(loss, y, scores) for loss in MARGIN_LOSSES}
        calls["pair_loss_and_gradient, logistic"] = partial(pair_loss_and_gradient, y, scores)
        return in_turns(calls, options.repeats, n_rows)

    return with_tenth(run, options.rows)


def judge_sums(found: Medians) -> Iterator[Verdict]:
    """Yield the targets of the sums: beside a sort, and their growth."""
    yield ratio(found, "logistic", "argsort", 0.4)
    yield ratio(found, "hinge", "argsort", 1.0)
    for name in found:
        if name + TENTH in found and name != "argsort":
            yield exponent(found, name, 1.1)


def run_scores(options: argparse.Namespace) -> Lines:
    """Time the logistic sums for each distribution of scores."""
    y = draw_labels(options.rows)
    calls = {
        name: pair_sum("logistic", y, draw_scores(name, options.rows))
        for name in (SPREAD_OUT, *OTHER_SCORES)
    }
    return in_turns(calls, options.repeats, options.rows)


def pair_by_pair(y: Any, scores: Any) -> tuple[float, Any]:
    """Return the logistic loss of all pairs and its gradient, visiting every pair."""
    from scipy.special import expit

    f, g = scores[y], scores[~y]
    value, upper, lower = 0.0, np.empty_like(f), np.zeros_like(g)
    for start in range(0, len(f), 100):
        rows = slice(start, start + 100)
        margin = f[rows, np.newaxis] - g
        value += math.fsum(np.logaddexp(0.0, -margin).sum(axis=1))
        slope = -expit(-margin)
        upper[rows] = slope.sum(axis=1)
        lower -= slope.sum(axis=0)
    gradient = np.empty_like(scores)
    gradient[y], gradient[~y] = upper, lower
    return value, gradient


def run_error(_options: argparse.Namespace) -> Lines:
    """Compare the logistic sums with those taken pair by pair."""

    from sklearn_rank.objectives import pair_loss_and_gradient

    y, scores = draw_labels(ERROR_ROWS), draw_scores("normal, sd 3", ERROR_ROWS)
    seconds = timed(lambda: pair_loss_and_gradient(y, scores))
    value, gradient = pair_loss_and_gradient(y, scores)
    exact_value, exact_gradient = pair_by_pair(y, scores)
    wrong = np.abs(gradient - exact_gradient)
    n_positive = int(y.sum())
    n_pairs = n_positive * (ERROR_ROWS - n_positive)
    of_row = np.where(y, ERROR_ROWS - n_positive, n_positive)
    record = {
        "rows": ERROR_ROWS,
        "s": seconds,
        "value": abs(value - exact_value) / n_pairs,
        "gradient": float(wrong.max()) / n_pairs,
        "gradient, of the row's pairs": float((wrong / of_row).max()),
    }
    return {"logistic": [record]}


# --- listed pairs --------------------------------------------------------------------------------

PAIRS_PER_ITEM, N_FEATURES = 10, 50
ALPHA = 1e-6
OURS = ("PNormPushRanker, lbfgs", "KernelPairwiseSGDRanker, linear")
PEERS = ("LogisticRegression, lbfgs", "LogisticRegression, newton-cholesky")


def draw_pairs(n_pairs: int, kind: str, seed: int = 0) -> tuple[Any, Any]:
    """Return items, and pairs whose winners are drawn from a linear model of the items."""
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


def objective(X: Any, pairs: Any, model: Any) -> float:
    """Return the mean logistic loss of the pairs plus the ridge."""
    w = model.coef_.ravel()
    scores = X @ w
    margin = scores[pairs[:, 0]] - scores[pairs[:, 1]]
    return float(np.logaddexp(0.0, -margin).mean() + ALPHA / 2 * w @ w)


def our_fit(name: str, X: Any, pairs: Any, tol: float) -> Any:
    """Fit one of our linear rankers to the pairs."""
    from sklearn_rank import KernelPairwiseSGDRanker, PNormPushRanker
    from sklearn_rank.pairs import PairRanker

    if name == OURS[0]:
        options = {"solver": "lbfgs", "weak_ranker": "feature", "tol": tol, "alpha": ALPHA}
        ranker = PNormPushRanker(p=1, loss="logistic", **options)
    else:
        ranker = KernelPairwiseSGDRanker(kernel="linear", alpha=ALPHA, tol=tol)
    return PairRanker(ranker).fit(X, pairs).ranker_


def peer_fit(name: str, differences: Any, y: Any, tol: float) -> Any:
    """Fit a logistic regression without intercept to the differences."""
    from sklearn.linear_model import LogisticRegression

    options = {"C": 1 / (ALPHA * len(y)), "fit_intercept": False, "max_iter": 1000}
    model = LogisticRegression(solver=name.partition(", ")[2], tol=tol, **options)
    return model.fit(differences, y)


def run_listed(kind: str, options: argparse.Namespace) -> Lines:
    """Time all fits in turns, each at its loosest tolerance; memory beside the differences."""
    n_pairs = options.rows
    X, pairs = draw_pairs(n_pairs, kind)
    our_fit(OURS[1], X[:100], pairs[(pairs < 100).all(axis=1)], 1e-3)  # imports
    watched = OURS[kind == "correlated"]  # one a process: a mark is that of all fits before
    memory = {watched: watch(partial(our_fit, watched, X, pairs, 1e-7))["extra_mb"]}
    sign = np.where(np.random.default_rng(1).random(n_pairs) < 0.5, 1.0, -1.0)
    differences = (X[pairs[:, 0]] - X[pairs[:, 1]]) * sign[:, None]
    memory[watched] *= 1e6 / differences.nbytes
    fits: dict[str, Any] = {name: partial(our_fit, name, X, pairs) for name in OURS}
    fits |= {name: partial(peer_fit, name, differences, sign > 0) for name in PEERS}
    value = partial(objective, X, pairs)
    lowest = min(value(fit(LADDER[-1])) for fit in fits.values())
    found = {name: loosest(fit, value, lowest) for name, fit in fits.items()}
    calls = {name: partial(fit, found[name]["tol"]) for name, fit in fits.items()}
    # Of the processor: others may share it, and one thread waits for none.
    lines = in_turns(calls, max(1, options.repeats // 3), n_pairs, clock=time.process_time)
    return {
        name: [{**one, **found[name], "MB / differences": memory.get(name)} for one in records]
        for name, records in lines.items()
    }


def judge_listed(kind: str, found: Medians) -> Iterator[Verdict]:
    """Yield the targets of listed pairs: beside the faster logistic regression."""
    fastest = min(PEERS, key=lambda name: found[name]["s"])
    for name in OURS:
        yield ratio(found, name, fastest, 0.6, f", {kind}")
        if (memory := found[name]["MB / differences"]) is not None:
            yield Verdict(f"memory of {name} / differences", 0.15, memory)


PARTS = {
    "sums": Part(
        "value and gradient over all pairs, normal scores of sd 3", run_sums, "argsort", judge_sums
    ),
    "error": Part(
        "error beside the sums pair by pair, share of the total pair weight",
        run_error,
        judge=lambda found: [
            judged(f"error of the {of}", 1e-12, lambda of=of: found["logistic"][of])
            for of in ("value", "gradient")
        ],
    ),
    "scores": Part(
        "logistic sums by distribution of scores",
        run_scores,
        SPREAD_OUT,
        lambda found: [ratio(found, name, SPREAD_OUT, 3) for name in OTHER_SCORES],
    ),
    **{
        kind: Part(title, partial(run_listed, kind), PEERS[0], partial(judge_listed, kind))
        for kind, title in (
            ("independent", "listed pairs, independent features"),
            ("correlated", "listed pairs, features correlated at .9"),
        )
    },
}

if __name__ == "__main__":
    run_parts(__file__, __doc__, PARTS, rows=1_000_000, repeats=15)
