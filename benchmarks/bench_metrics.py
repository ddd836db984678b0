"""Ranking metrics on a million rows: time beside scikit-learn and beside a sort.

The things compared take turns, so that a slow minute of the machine hits them all, and medians over
the repeats are reported. Targets are printed beside what was measured, reached or not.

    python benchmarks/bench_metrics.py                                # 1e6 rows, 1e4 queries
    python benchmarks/bench_metrics.py --rows 50000 --queries 500     # a quick look
"""

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from bench_boosting import describe_machine
from sklearn.metrics import ndcg_score as sklearn_ndcg_score

from sklearn_rank import metrics

FULL_ROWS, FULL_QUERIES = 1_000_000, 10_000
POSITIVE_SHARE = 0.3
LOOP = "loop over scikit-learn's ndcg_score"
STABLE = "stable argsort of the scores"

Calls = dict[str, Callable[[], Any]]


def take_turns(calls: Calls, repeats: int) -> dict[str, list[float]]:
    """Time the calls in turns, after one of each that does not count."""
    for call in calls.values():
        call()
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            started = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - started)
    return seconds


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


def print_table(title: str, seconds: dict[str, list[float]], beside: str) -> None:
    """Print medians, the fastest and slowest run, and ratios."""
    print(f"\n{title}")
    for name, runs in seconds.items():
        spread = f"({min(runs):.4f} - {max(runs):.4f})"
        ratio = median(runs) / median(seconds[beside])
        print(f"  {name:42} {median(runs):9.4f} s {spread:>19} {ratio:8.3f}")


def print_target(label: str, limit: float, measured: float, is_met: bool) -> None:
    """Print one target."""
    verdict = "reached" if is_met else "falls short"
    print(f"  {label:52} {limit:7g} {measured:9.3g}  {verdict}")


def main(arguments: list[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=FULL_ROWS)
    parser.add_argument("--queries", type=int, default=FULL_QUERIES)
    parser.add_argument("--repeats", type=int, default=7, help="runs of each (default 7)")
    parser.add_argument("--slow-repeats", type=int, default=1, help="runs of the loop (default 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every run there as well")
    options = parser.parse_args(arguments)
    if min(options.rows, options.queries, options.repeats, options.slow_repeats) < 1:
        parser.error("at least one row, one query and one repeat are needed")

    machine = describe_machine()
    calls, difference = query_calls(options.rows, options.queries)
    loop = {LOOP: calls.pop(LOOP)}
    queries = take_turns(loop, options.slow_repeats) | take_turns(calls, options.repeats)
    one_list = take_turns(list_calls(options.rows), options.repeats)

    size = f"{options.rows:,} rows"
    print_table(f"{size} in {options.queries:,} queries (last column: / the loop)", queries, LOOP)
    print_table(f"{size} in one list (last column: / the sort)", one_list, STABLE)
    print("\ntarget")
    speed_up = median(queries[LOOP]) / median(queries["ndcg_score, k=10"])
    print_target("NDCG@10, times faster than the loop, at least", 20, speed_up, speed_up >= 20)
    share = median(one_list["p_norm_push_loss, p=4"]) / median(one_list[STABLE])
    print_target("p_norm_push_loss / stable argsort, at most", 0.5, share, share <= 0.5)
    print_target("largest difference to scikit-learn", 1e-12, difference, difference <= 1e-12)
    print(f"\n{machine['processor']}, {machine['cpu_count']} CPUs, {machine['system']}")
    if machine["load_before"] is not None:
        print(f"load average before the run: {machine['load_before']:.2f}")
    if options.json:
        runs = {"queries": queries, "one list": one_list, "machine": machine}
        options.json.write_text(json.dumps(runs, indent=2) + "\n")


if __name__ == "__main__":
    main()
