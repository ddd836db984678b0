"""Part `speed` of `bench_trees.py`: whole fits beside the engine's own log-loss."""

import json
from pathlib import Path
from statistics import median
from typing import Any

from _harness import Record, run_in_process, turn_ratios
from _lists_fits import say
from _report import Cell, PartResult, Table, Verdict, judged, ratios_in_words
from _trees_systems import ENGINE_TITLES, EXPONENTIAL, LOG_LOSS, LOGISTIC

CHILD = Path(__file__).with_name("_trees_child.py")
PAIRWISE = "rank:pairwise"
FEATURES, ROUNDS = 20, 100
FULL_ROWS, FEW_ROWS = 1_000_000, 10_000

BESIDE_LOG_LOSS = {
    (FULL_ROWS, EXPONENTIAL): 1.3,
    (FULL_ROWS, LOGISTIC): 1.7,
    (FEW_ROWS, EXPONENTIAL): 2.0,
    (FEW_ROWS, LOGISTIC): 2.0,
}
"""Most times the log-loss's time, at depth 6."""

BESIDE_PAIRWISE = {(6, EXPONENTIAL): 4, (6, LOGISTIC): 3, (1, EXPONENTIAL): 10, (1, LOGISTIC): 10}
"""Least times that rank:pairwise takes longer, with `FULL_ROWS` rows."""

SAME_AUC = 0.002

Found = dict[tuple[int, int, str], Record]
"""What was measured for each number of rows, depth and engine."""


def table_of(rows: int, depth: int, engine: str, found: Record) -> Table:
    """Return a line for each objective."""
    lines: list[list[Cell]] = []
    for name, one in found.items():
        if not one["s"]:
            lines.append([name, *[None] * 6])
            continue
        beside = "–" if PAIRWISE not in found or not found[PAIRWISE]["s"] else None
        if beside is None:
            beside = (
                "1" if name == PAIRWISE else ratios_in_words(turn_ratios(found, PAIRWISE, name))
            )
        spread = f"{min(one['s']):.3g} to {max(one['s']):.3g}"
        ratio = "1" if name == LOG_LOSS else ratios_in_words(turn_ratios(found, name, LOG_LOSS))
        line = [name, median(one["s"]), spread, len(one["s"]), ratio, beside, f"{one['auc']:.4f}"]
        lines.append(line)
    columns = ["objective", "seconds", "fastest to slowest", "fits", "/ log-loss"]
    columns += ["rank:pairwise / it", "test AUC"]
    title = f"{ENGINE_TITLES[engine]}, {rows:,} x {FEATURES}, {ROUNDS} rounds of depth {depth}"
    return Table(title, columns, lines)


def verdicts_of(rows: int, depth: int, engine: str, found: Record) -> list[Verdict]:
    """Return the targets that are stated for this size."""
    where = f"{ENGINE_TITLES[engine]}, {rows:,} rows, depth {depth}"
    verdicts = []
    for name in (EXPONENTIAL, LOGISTIC):
        limit = BESIDE_LOG_LOSS.get((rows, name))
        if limit is not None and depth == 6:
            verdicts.append(
                judged(
                    f"{where}: {name} / log-loss",
                    limit,
                    lambda name=name: median(turn_ratios(found, name, LOG_LOSS)),
                    unit="x",
                )
            )
        least = BESIDE_PAIRWISE.get((depth, name))
        if least is None or rows != FULL_ROWS or engine != "xgboost":
            continue
        verdicts += [
            judged(
                f"{where}: {PAIRWISE} / {name}",
                least,
                lambda name=name: median(turn_ratios(found, PAIRWISE, name)),
                unit="x",
                at_least=True,
            ),
            judged(
                f"{where}: test AUC, {name} - {PAIRWISE}",
                -SAME_AUC,
                lambda name=name: auc_difference(found, name),
                at_least=True,
            ),
        ]
    return verdicts


def auc_difference(found: Record, name: str) -> float:
    """Return by how much the test AUC is above that of rank:pairwise."""
    if PAIRWISE not in found or found[PAIRWISE]["auc"] is None:
        raise KeyError(PAIRWISE)
    return found[name]["auc"] - found[PAIRWISE]["auc"]


def run(options: Any) -> PartResult:
    """Time every size, one process after the other."""
    given = {
        "rounds": ROUNDS,
        "repeats": options.repeats,
        "pairwise_repeats": options.pairwise_repeats,
        "threads": options.threads,
    }
    result = PartResult([], notes=[NOTE], runs={})
    for rows in options.rows:
        for depth in options.depths:
            for engine in options.engine:
                say(f"speed: {rows:,} rows, depth {depth}, {ENGINE_TITLES[engine]}")
                task = ["speed", rows, depth, engine, json.dumps(given)]
                found = run_in_process(CHILD, task, threads=options.threads)
                result.runs[f"{rows}/{depth}/{engine}"] = found
                if "error" in found:
                    title = f"{ENGINE_TITLES[engine]}, {rows:,} rows, depth {depth}"
                    result.notes.append(f"{title}: {found['error']}")
                    continue
                result.tables.append(table_of(rows, depth, engine, found))
                result.verdicts += verdicts_of(rows, depth, engine, found)
    return result


NOTE = (
    "Speed: whole fits from arrays to the model, in turns in one process, after a fit of each to a "
    "thousand rows; medians. A ratio is the median of the ratios within a turn, with the smallest "
    "and the largest. The log-loss is the engine's own classifier with the same parameters; "
    f'{PAIRWISE} is XGBoost\'s with lambdarank_pair_method="mean" and all rows one query. '
    "The test AUC is that of the first fit on 100,000 fresh rows."
)
