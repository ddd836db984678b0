"""Ranking metrics on a million rows: time against scikit-learn and against a sort.

python benchmarks/bench_metrics.py             # 1e6 rows, 1e4 queries
python benchmarks/bench_metrics.py --quick
"""

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from _parts import Lines, Medians, Part, in_turns, ratio, run_parts
from _report import Verdict

POSITIVE_SHARE = 0.3
QUERY = 100
"""Rows of a query, on the mean."""

LOOP = "loop over scikit-learn's ndcg_score"
STABLE = "stable argsort of the scores"
NDCG = "ndcg_score, k=10"

Calls = dict[str, Callable[[], Any]]


def query_calls(n_rows: int, n_queries: int) -> tuple[Calls, float]:
    """Return metrics of many queries, and the largest difference to scikit-learn."""
    from sklearn.metrics import ndcg_score as sklearn_ndcg_score

    from sklearn_rank import metrics

    rng = np.random.default_rng(0)
    y = rng.choice(5, n_rows, p=[0.6, 0.2, 0.1, 0.06, 0.04]).astype(float)
    scores = y + 2 * rng.standard_normal(n_rows)
    qid = np.sort(rng.integers(0, n_queries, n_rows))
    shuffled = rng.permutation(n_rows)
    in_disorder = y[shuffled], scores[shuffled]
    borders = np.flatnonzero(np.diff(qid)) + 1
    queries = list(zip(np.split(y, borders), np.split(scores, borders), strict=True))

    def loop() -> Any:
        return [sklearn_ndcg_score(one[None], s[None], k=10) for one, s in queries if len(one) > 1]

    linear = partial(metrics.ndcg_score, y, scores, k=10, gain="linear", qid=qid, empty=0)
    longer = np.diff(np.concatenate([[0], borders, [n_rows]])) > 1
    difference = float(np.abs(linear(average=None)[longer] - loop()).max())
    calls: Calls = {
        LOOP: loop,
        NDCG: partial(metrics.ndcg_score, y, scores, k=10, qid=qid),
        f"{NDCG}, linear gain": linear,
        f"{NDCG}, shuffled rows": partial(
            metrics.ndcg_score, *in_disorder, k=10, qid=qid[shuffled]
        ),
    }
    for name in ("average_precision", "err_score", "reciprocal_rank", "precision_at_k"):
        calls[name] = partial(getattr(metrics, name), y, scores, qid=qid)
    for name in ("average_precision", "err_score"):
        ties = partial(getattr(metrics, name), y, np.round(scores), qid=qid)
        calls[f"{name}, many ties"] = ties
    return calls, difference


def list_calls(n_rows: int) -> Calls:
    """Return metrics of one list with two relevances."""

    from sklearn_rank import metrics

    rng = np.random.default_rng(1)
    y = (rng.random(n_rows) < POSITIVE_SHARE).astype(float)
    scores = 3 * rng.standard_normal(n_rows)
    calls: Calls = {STABLE: partial(np.argsort, scores, kind="stable")}
    for p in (1, 4, np.inf):
        calls[f"p_norm_push_loss, p={p:g}"] = partial(metrics.p_norm_push_loss, y, scores, p=p)
    for loss in ("exponential", "hinge", "logistic"):
        name = f"p_norm_push_loss, p=4, {loss}"
        calls[name] = partial(metrics.p_norm_push_loss, y, scores, p=4, loss=loss)
    calls["auc_score"] = partial(metrics.auc_score, y, scores)
    return calls


def run_queries(options: argparse.Namespace) -> Lines:
    """Time metrics of many queries; the loop once."""
    calls, difference = query_calls(options.rows, options.rows // QUERY)
    loop = in_turns({LOOP: calls.pop(LOOP)}, 1, options.rows)
    lines = loop | in_turns(calls, options.repeats, options.rows)
    for name, records in lines.items():
        for one in records:
            one["off scikit-learn"] = difference if name.endswith("linear gain") else None
    return lines


def judge_queries(found: Medians) -> Iterator[Verdict]:
    """Yield the targets of many queries."""
    yield ratio(found, NDCG, LOOP, 0.05)
    difference = found[f"{NDCG}, linear gain"]["off scikit-learn"]
    yield Verdict("largest difference to scikit-learn", 1e-12, difference)


PARTS = {
    "queries": Part("metrics of many queries", run_queries, LOOP, judge_queries),
    "list": Part(
        "metrics of one list",
        lambda options: in_turns(list_calls(options.rows), options.repeats, options.rows),
        STABLE,
        lambda found: [ratio(found, "p_norm_push_loss, p=4", STABLE, 0.5)],
    ),
}

if __name__ == "__main__":
    run_parts(__file__, __doc__, PARTS, rows=1_000_000, repeats=7)
