"""Sums over all pairs: time beside a sort, growth, error, and distributions of scores.

    python benchmarks/bench_pairs.py                       # 1e6 rows, a minute
    python benchmarks/bench_pairs.py --only sums scores    # some of the parts
    python benchmarks/bench_pairs.py --rows 50000 --repeats 2    # a quick look

Each part has a process of its own, in which the things compared take turns:

- ``sums``: value and gradient of each loss over all pairs, beside a stable argsort of the scores;
- ``error``: the logistic sums beside the same sums taken pair by pair;
- ``scores``: the logistic sums for scores of different distributions.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from _harness import Record, describe_machine, growth, medians, run_in_process, take_turns, timed
from _report import Report, Table, Verdict, judged, times_table

FULL_ROWS, ERROR_ROWS = 1_000_000, 10_000
POSITIVE_SHARE = 0.3
TENTH = ", a tenth"
SPREAD_OUT = "normal, sd 30"
OTHER_SCORES = (
    "normal, sd 3",
    "one outlier at 1e6",
    "clusters at 0 and 1e6",
    "uniform +- 1e3",
    "uniform +- 1e4",
    "uniform +- 1e5",
    "uniform +- 1e6",
    "cauchy cubed",
)

Lines = Mapping[str, Record]
"""The medians of each line of a table."""


# --- in the child --------------------------------------------------------------------------------


def draw_labels(n_rows: int) -> Any:
    """Return random labels."""
    import numpy as np

    return np.random.default_rng(0).random(n_rows) < POSITIVE_SHARE


def draw_scores(name: str, n_rows: int) -> Any:
    """Return scores of one of the distributions, without regard to the labels."""
    import numpy as np

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
    import numpy as np

    from sklearn_rank._core.preferences import Preferences
    from sklearn_rank.objectives import PairLoss

    preferences = Preferences.from_labels(y.astype(float), None, np.ones(len(y)))
    pair_loss, scores = PairLoss(preferences, loss), scores[preferences.order]
    return lambda: pair_loss.value_and_gradient(scores)


def in_turns(
    calls: Mapping[str, Callable[[], Any]], repeats: int, n_rows: int
) -> dict[str, list[Record]]:
    """Time the calls; return the records of each."""
    seconds = take_turns(calls, repeats)
    return {name: [{"rows": n_rows, "s": s} for s in found] for name, found in seconds.items()}


def run_sums(options: argparse.Namespace) -> Record:
    """Time the sums of each loss at all rows and at a tenth of them."""
    import numpy as np

    from sklearn_rank.objectives import MARGIN_LOSSES, pair_loss_and_gradient

    lines: Record = {}
    for suffix, n_rows in (("", options.rows), (TENTH, options.rows // 10)):
        y, scores = draw_labels(n_rows), draw_scores("normal, sd 3", n_rows)
        calls = {"argsort": partial(np.argsort, scores, kind="stable")}
        calls |= {loss: pair_sum(loss, y, scores) for loss in MARGIN_LOSSES}
        calls["pair_loss_and_gradient, logistic"] = partial(pair_loss_and_gradient, y, scores)
        found = in_turns(calls, options.repeats, n_rows)
        lines |= {name + suffix: records for name, records in found.items()}
    return lines


def run_scores(options: argparse.Namespace) -> Record:
    """Time the logistic sums for each distribution of scores."""
    y = draw_labels(options.rows)
    calls = {
        name: pair_sum("logistic", y, draw_scores(name, options.rows))
        for name in (SPREAD_OUT, *OTHER_SCORES)
    }
    return in_turns(calls, options.repeats, options.rows)


def pair_by_pair(y: Any, scores: Any) -> tuple[float, Any]:
    """Return the logistic loss of all pairs and its gradient, visiting every pair."""
    import numpy as np
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


def run_error(_options: argparse.Namespace) -> Record:
    """Compare the logistic sums with those taken pair by pair."""
    import numpy as np

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


PARTS = {"sums": run_sums, "error": run_error, "scores": run_scores}


# --- in the parent -------------------------------------------------------------------------------


def judge_sums(found: Lines) -> list[Verdict]:
    """Return the targets of the sums: beside a sort, and their growth."""

    def exponent(loss: str) -> float:
        both = (found[loss + TENTH], found[loss])
        return growth([one["rows"] for one in both], [one["s"] for one in both])

    def ratio(loss: str) -> Callable[[], float]:
        return lambda: found[loss]["s"] / found["argsort"]["s"]

    losses = [name.removesuffix(TENTH) for name in found if name.endswith(TENTH)]
    return [
        judged("logistic sums / argsort", 0.4, ratio("logistic"), unit="x"),
        judged("hinge sums / argsort", 1.0, ratio("hinge"), unit="x"),
        *(
            judged(f"growth exponent, {loss}", 1.1, partial(exponent, loss))
            for loss in losses
            if loss != "argsort" and "," not in loss
        ),
    ]


def judge_error(found: Lines) -> list[Verdict]:
    """Return the targets of the error, as a share of the total pair weight."""
    return [
        judged(f"error of the {of}", 1e-12, lambda of=of: found["logistic"][of])
        for of in ("value", "gradient")
    ]


def judge_scores(found: Lines) -> list[Verdict]:
    """Return the targets of the distributions: none costs much more than the spread-out one."""
    return [
        judged(
            f"{name} / {SPREAD_OUT}",
            3,
            lambda name=name: found[name]["s"] / found[SPREAD_OUT]["s"],
            unit="x",
        )
        for name in OTHER_SCORES
    ]


TABLES = {
    "sums": ("value and gradient over all pairs, normal scores of sd 3", "argsort", judge_sums),
    "error": (
        "error beside the sums pair by pair, share of the total pair weight",
        None,
        judge_error,
    ),
    "scores": ("logistic sums by distribution of scores", SPREAD_OUT, judge_scores),
}


def measure(options: argparse.Namespace, arguments: list[str]) -> Report:
    """Run the parts, each in a process of its own."""
    machine = describe_machine()
    tables: list[Table] = []
    verdicts: list[Verdict] = []
    notes: list[str] = []
    runs: Record = {}
    for part in options.only:
        print(part, file=sys.stderr, flush=True)
        runs[part] = run_in_process(
            __file__, [*arguments, "--child", part], threads=options.threads
        )
        if "error" in runs[part]:
            notes.append(f"{part}: {runs[part]['error']}")
            continue
        found = {line: medians(records) for line, records in runs[part].items()}
        title, beside, judge = TABLES[part]
        tables.append(times_table(title, found, beside))
        verdicts += judge(found)
    if options.rows != FULL_ROWS:
        notes.append(f"The targets are stated for {FULL_ROWS:,} rows.")
    settings = f"{options.rows:,} rows; threads of linear algebra: {options.threads}."
    return Report("pairs", settings, machine, tables, verdicts, notes, runs)


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--rows", type=int, default=FULL_ROWS, help="most rows (default 1e6)")
    add("--repeats", type=int, default=15, help="runs of each (default 15)")
    add("--threads", type=int, default=2, help="threads of linear algebra (default 2)")
    add("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help="some parts")
    add("--json", type=Path, metavar="FILE", help="write the report there as well")
    add("--child", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.rows < 10_000 or min(options.repeats, options.threads) < 1:
        parser.error("at least 10000 rows, one repeat and one thread are needed")
    return options


def main() -> None:
    """Run the benchmark, or one part of it."""
    options = parse_arguments(sys.argv[1:])
    if options.child:
        print(json.dumps(PARTS[options.child](options)))
    else:
        measure(options, sys.argv[1:]).publish(options.json)


if __name__ == "__main__":
    main()
