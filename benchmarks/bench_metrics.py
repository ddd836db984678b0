"""Ranking metrics on a million rows: time beside scikit-learn and beside a sort.

python benchmarks/bench_metrics.py                                # 1e6 rows, 1e4 queries
python benchmarks/bench_metrics.py --rows 50000 --queries 500     # a quick look
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _harness import Record, describe_machine, medians, take_turns
from _report import Report, Verdict, times_table
from sklearn.metrics import ndcg_score as sklearn_ndcg_score

from sklearn_rank import metrics

FULL_ROWS, FULL_QUERIES = 1_000_000, 10_000
POSITIVE_SHARE = 0.3
LOOP = "loop over scikit-learn's ndcg_score"
STABLE = "stable argsort of the scores"

Calls = dict[str, Callable[[], Any]]


def query_calls(n_rows: int, n_queries: int) -> tuple[Calls, float]:
    """Return metrics of many queries, and the largest difference to scikit-learn."""
    rng = np.random.default_rng(0)
    y = rng.choice(5, n_rows, p=[0.6, 0.2, 0.1, 0.06, 0.04]).astype(float)
    scores = y + 2 * rng.standard_normal(n_rows)
    qid = np.sort(rng.integers(0, n_queries, n_rows))
    shuffled = rng.permutation(n_rows)
    borders = np.flatnonzero(np.diff(qid)) + 1
    queries = list(zip(np.split(y, borders), np.split(scores, borders), strict=True))

    def loop():
        return [sklearn_ndcg_score(one[None], s[None], k=10) for one, s in queries if len(one) > 1]

    linear = partial(metrics.ndcg_score, y, scores, k=10, gain="linear", qid=qid, empty=0)
    values = linear(average=None)
    longer = np.diff(np.concatenate([[0], borders, [n_rows]])) > 1
    difference = float(np.abs(values[longer] - loop()).max())
    calls: Calls = {
        LOOP: loop,
        "ndcg_score, k=10": partial(metrics.ndcg_score, y, scores, k=10, qid=qid),
        "ndcg_score, k=10, linear gain": linear,
        "ndcg_score, k=10, shuffled rows": partial(
            metrics.ndcg_score, y[shuffled], scores[shuffled], k=10, qid=qid[shuffled]
        ),
    }
    for name in ("average_precision", "err_score", "reciprocal_rank", "precision_at_k"):
        calls[name] = partial(getattr(metrics, name), y, scores, qid=qid)
    coarse = np.round(scores)
    calls["average_precision, many ties"] = partial(metrics.average_precision, y, coarse, qid=qid)
    calls["err_score, many ties"] = partial(metrics.err_score, y, coarse, qid=qid)
    return calls, difference


def list_calls(n_rows: int) -> Calls:
    """Return metrics of one list with two relevances."""
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


def summarise(seconds: Mapping[str, list[float]], n_rows: int) -> dict[str, Record]:
    """Return the medians of each line."""
    return {
        name: medians([{"rows": n_rows, "s": s} for s in found]) for name, found in seconds.items()
    }


def measure(options: argparse.Namespace) -> Report:
    """Time the metrics of many queries and of one list."""
    machine = describe_machine()
    print("many queries", file=sys.stderr, flush=True)
    calls, difference = query_calls(options.rows, options.queries)
    loop = {LOOP: calls.pop(LOOP)}
    queries = take_turns(loop, options.slow_repeats) | take_turns(calls, options.repeats)
    print("one list", file=sys.stderr, flush=True)
    one_list = take_turns(list_calls(options.rows), options.repeats)

    of_queries, of_list = (summarise(one, options.rows) for one in (queries, one_list))
    speed_up = of_queries[LOOP]["s"] / of_queries["ndcg_score, k=10"]["s"]
    share = of_list["p_norm_push_loss, p=4"]["s"] / of_list[STABLE]["s"]
    size = f"{options.rows:,} rows in {options.queries:,} queries, and in one list."
    notes = []
    if (options.rows, options.queries) != (FULL_ROWS, FULL_QUERIES):
        notes.append(f"The targets are stated for {FULL_ROWS:,} rows in {FULL_QUERIES:,} queries.")
    return Report(
        "metrics",
        size,
        machine,
        [
            times_table("metrics of many queries", of_queries, LOOP),
            times_table("metrics of one list", of_list, STABLE),
        ],
        [
            Verdict("NDCG@10, times faster than the loop", 20, speed_up, "x", at_least=True),
            Verdict("p_norm_push_loss / stable argsort", 0.5, share, "x"),
            Verdict("largest difference to scikit-learn", 1e-12, difference),
        ],
        notes,
        {"queries": queries, "one list": one_list},
    )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=FULL_ROWS)
    parser.add_argument("--queries", type=int, default=FULL_QUERIES)
    parser.add_argument("--repeats", type=int, default=7, help="runs of each (default 7)")
    parser.add_argument("--slow-repeats", type=int, default=1, help="runs of the loop (default 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report there as well")
    options = parser.parse_args()
    if min(options.rows, options.queries, options.repeats, options.slow_repeats) < 1:
        parser.error("at least one row, one query and one repeat are needed")
    measure(options).publish(options.json)


if __name__ == "__main__":
    main()
