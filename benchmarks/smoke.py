"""A quick check that nothing has become slow or memory-hungry: ratios only, with generous limits.

    python benchmarks/smoke.py                    # a minute; fails with what is beyond its limit
    python benchmarks/smoke.py --only growth      # some of the checks

It needs no other packages than the tests do. The limits are twice the targets of the benchmarks,
or more: a sum that has become quadratic, or a copy of all rows in each round, is far beyond them, a
busy machine is not. Every check has a process of its own with one thread, in which what is compared
takes turns; what counts is the least time of the processor, which other programs hardly touch, over
the repeats. A check beyond its limit is measured once more before it counts.
"""

import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from _harness import (
    Record,
    command_line,
    describe_machine,
    growth,
    in_process,
    take_turns,
    timed,
    watch,
)
from _report import Report, Verdict
from _stats import say

FEW, MANY = 10_000, 100_000
"""Rows between which growth is measured: at a million, what is quadratic takes hours to fail."""

EXPONENT = 1.5
ENOUGH = 1.0
"""Seconds after which a call is not repeated."""

ROUNDS, BINS = 100, 64
TIMEOUT = 100.0

Found = Iterator[tuple[str, float, float]]
"""What was compared, what was measured, and the most it may be."""

SUM_LIMITS = {"logistic": 0.8, "exponential": 0.8, "least_squares": 0.8}
SORTING_SUMS = 2.0

LOSSES: dict[str, tuple[Record, float]] = {
    "fit of the logistic loss": ({"loss": "logistic", "p": 1}, 8.0),
    "fit of the IR push": ({"push": "ir"}, 4.0),
    "fit of both pushes": ({"push": "both"}, 4.0),
}
"""What is boosted, and the most times what the exponential loss may take."""


def ratios(
    calls: Mapping[str, Callable[[], Any]], beside: str, limits: Mapping[str, float], repeats: int
) -> Found:
    """Compare the least time of each call with that of one of them."""
    least = {name: min(s) for name, s in take_turns(calls, repeats, time.process_time).items()}
    for name, limit in limits.items():
        yield f"{name} / {beside}", least[name] / least[beside], limit


# --- in the child --------------------------------------------------------------------------------


def least_time(call: Callable[[], Any]) -> float:
    """Return the least of three times, or the only one of what takes long."""
    first = timed(call, time.process_time)
    return first if first > ENOUGH else min(first, *(timed(call, time.process_time) for _ in "12"))


def check_growth() -> Found:
    """Growth of every estimator, sum and metric that is meant to be nearly proportional."""
    from _workloads import workloads

    for work in workloads():
        if work.most_rows < MANY:
            continue
        few, many = (
            {line: least_time(call) for line, call in work.prepare(n_rows).items()}
            for n_rows in (FEW, MANY)
        )
        for line, seconds in many.items():
            exponent = growth([FEW, MANY], [few[line], seconds])
            yield f"growth exponent of {work.name}, {line}", exponent, EXPONENT


def check_sums() -> Found:
    """Sums over all pairs of a million rows beside a stable sort of the scores."""
    import numpy as np
    from bench_pairs import draw_labels, draw_scores, pair_sum

    from sklearn_rank.objectives import MARGIN_LOSSES

    y, scores = draw_labels(1_000_000), draw_scores("normal, sd 3", 1_000_000)
    calls = {"stable argsort": partial(np.argsort, scores, kind="stable")}
    calls |= {f"{loss} sums": pair_sum(loss, y, scores) for loss in MARGIN_LOSSES}
    limits = {f"{loss} sums": SUM_LIMITS.get(loss, SORTING_SUMS) for loss in MARGIN_LOSSES}
    return ratios(calls, "stable argsort", limits, 5)


def check_boosting() -> Found:
    """RankBoost beside scikit-learn's histogram boosting of depth one: fit and scores."""
    from _data import draw_two_classes
    from sklearn.ensemble import HistGradientBoostingClassifier

    from sklearn_rank import RankBoost

    X, y = draw_two_classes(100_000)
    ours = RankBoost(n_estimators=ROUNDS, max_bins=BINS, tol=0)
    theirs = HistGradientBoostingClassifier(
        max_iter=ROUNDS, max_depth=1, max_bins=BINS, early_stopping=False
    )
    fits = {"RankBoost's fit": partial(ours.fit, X, y), "scikit-learn's": partial(theirs.fit, X, y)}
    yield from ratios(fits, "scikit-learn's", {"RankBoost's fit": 0.9}, 3)
    scores = {
        "RankBoost's scores": partial(ours.decision_function, X),
        "scikit-learn's": partial(theirs.decision_function, X),
    }
    yield from ratios(scores, "scikit-learn's", {"RankBoost's scores": 0.5}, 5)


def check_losses() -> Found:
    """Rounds of other losses and pushes beside those of the exponential loss at p = 1."""
    from _data import draw_two_classes

    from sklearn_rank.datasets import make_queries

    X, y = draw_two_classes(50_000)
    yield from few_rounds(LOSSES, X, y)
    rows = make_queries(500, 100, 20, 4, random_state=0)
    limits = {"fit of the logistic loss to queries": ({"loss": "logistic", "p": 1}, 6.0)}
    yield from few_rounds(limits, rows.data, rows.target, qid=rows.qid, relevance="graded")


def few_rounds(
    limits: Mapping[str, tuple[Record, float]], X: Any, y: Any, *, qid: Any = None, **shared: Any
) -> Found:
    """Compare fits of ten rounds with that of the exponential loss."""
    from sklearn_rank import PNormPushRanker

    def fit(given: Record) -> Callable[[], Any]:
        model = PNormPushRanker(n_estimators=10, max_bins=BINS, tol=0, **given, **shared)
        return partial(model.fit, X, y, qid=qid)

    beside = "the exponential one, p=1"
    fits = {beside: fit({"p": 1}), **{name: fit(given) for name, (given, _) in limits.items()}}
    return ratios(fits, beside, {name: limit for name, (_, limit) in limits.items()}, 3)


def check_rounds() -> Found:
    """Memory that a round of boosting takes for a moment: masses are moved in place."""
    from _data import draw_two_classes

    import sklearn_rank
    from sklearn_rank.objectives import ExponentialState

    X, y = draw_two_classes(1_000_000, n_features=5, n_informative=5)
    advance, taken, start = ExponentialState.advance, [], 0

    def watched(*arguments: Any) -> float:  # from one call to the next it is a round
        nonlocal start
        taken.append(tracemalloc.get_traced_memory()[1] - start)
        tracemalloc.reset_peak()
        start = tracemalloc.get_traced_memory()[0]
        return advance(*arguments)

    ExponentialState.advance = watched
    tracemalloc.start()
    for name in ("RankBoost", "PNormPushRanker", "SmoothMarginRanker"):
        taken.clear()
        getattr(sklearn_rank, name)(n_estimators=5, max_bins=BINS, tol=0).fit(X, y)
        # What comes before the third call is prepared once a fit.
        yield f"bytes a row that a round of {name} takes", max(taken[2:]) / len(y), 4.0


def check_memory(name: str, limit: float, **parameters: Any) -> Found:
    """Memory of a fit beyond the data."""
    from _data import draw_two_classes

    import sklearn_rank

    X, y = draw_two_classes(500_000)
    model = getattr(sklearn_rank, name)(**parameters)
    model.fit(X[:1000], y[:1000])  # what is imported and started late is no part of it
    extra = watch(partial(model.fit, X, y))["extra_mb"]
    yield f"memory of {name}'s fit / data", extra * 1e6 / X.nbytes, limit


def check_listnet() -> Found:
    """Value and gradient of linear ListNet beside two passes over the features."""
    from bench_listnet import GRADIENT, PASSES, gradient_calls

    return ratios(gradient_calls(200_000, "many"), PASSES, {GRADIENT: 2.2}, 9)


def check_metrics() -> Found:
    """NDCG beside a loop over scikit-learn's, the p-norm push beside a sort."""
    from bench_metrics import LOOP, STABLE, list_calls, query_calls

    yield from ratios(query_calls(10_000, 100)[0], LOOP, {"ndcg_score, k=10": 0.1}, 5)
    yield from ratios(list_calls(200_000), STABLE, {"p_norm_push_loss, p=4": 1.0}, 5)


CHECKS: dict[str, Callable[[], Found]] = {
    "growth": check_growth,
    "sums": check_sums,
    "boosting": check_boosting,
    "losses": check_losses,
    "rounds": check_rounds,
    "memory of RankBoost": partial(check_memory, "RankBoost", 1.9, n_estimators=10),
    "memory of PNormPushRanker": partial(
        check_memory, "PNormPushRanker", 1.9, p=64, n_estimators=10
    ),
    "memory of ListNetLinear": partial(check_memory, "ListNetLinear", 1.9),
    "memory of KernelPairwiseSGDRanker": partial(
        check_memory, "KernelPairwiseSGDRanker", 3.0, kernel="linear", solver="lbfgs"
    ),
    "listnet": check_listnet,
    "metrics": check_metrics,
}


# --- in the parent -------------------------------------------------------------------------------


def run_check(name: str) -> Record:
    """Run one check in this process; return the labels, what was measured, and the limits."""
    return {"checked": list(CHECKS[name]())}


def verdicts_of(name: str) -> tuple[list[Verdict], list[str]]:
    """Return the verdicts of one check, which has a process of its own, or why there are none."""
    record = in_process("smoke:run_check", name, threads=1, timeout=TIMEOUT)
    if "error" in record:
        return [], [f"{name}: {record['error']}"]
    return [Verdict(label, limit, measured) for label, measured, limit in record["checked"]], []


def measure(names: list[str]) -> tuple[list[Verdict], list[str]]:
    """Run the checks until one fails twice; return what is beyond its limit, and the errors."""
    verdicts: list[Verdict] = []
    for name in names:
        for _ in range(2):
            started = time.perf_counter()
            last, errors = verdicts_of(name)
            say(f"{name}: {time.perf_counter() - started:.0f} s")
            failed = errors or any(one.words != "reached" for one in last)
            if not failed:
                break
        verdicts += last
        if failed:  # what has become quadratic would hold up the checks to come
            return verdicts, errors
    return verdicts, []


def main() -> None:
    """Run the checks; leave with 1 when one is beyond its limit."""
    parser = command_line(__doc__)
    parser.add_argument("--only", nargs="+", choices=CHECKS, default=list(CHECKS), metavar="CHECK")
    options = parser.parse_args()
    machine = describe_machine()
    verdicts, errors = measure(options.only)
    settings = "Least time of the processor over the repeats; one thread."
    Report("smoke", settings, machine, [], verdicts, errors).publish(options.json)
    if errors or any(one.words != "reached" for one in verdicts):
        raise SystemExit("smoke: what falls short above is beyond its limit, twice")


if __name__ == "__main__":
    main()
