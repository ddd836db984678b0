"""Our objectives in the trees of XGBoost and LightGBM, against the engines' own objectives.

    python benchmarks/bench_trees.py --data DIR
    python benchmarks/bench_trees.py --quick                          # some minutes
    python benchmarks/bench_trees.py --only speed --rows 10000
    python benchmarks/bench_trees.py --only lists queries --data DIR --threads 16

Parts:

- ``speed``: whole fits on one long list, against the engine's log-loss and XGBoost's rank:pairwise;
- ``lists``: AUC and the top of the list after the same search, and what p does;
- ``queries``: NDCG@10 after the same search, against LightGBM's lambdarank and XGBoost's rank:ndcg.

Targets are printed beside the measured values, reached or not.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from _data import draw_interactions
from _harness import command_line, describe_machine, in_process, medians
from _lists_systems import ROUNDS
from _parts import Lines, Medians, ratio
from _queries import run as run_queries
from _report import PartResult, Report, Verdict, times_table
from _stats import say
from _systems import System, by_qid
from _trees_lists import run as run_lists
from _trees_systems import (
    ENGINE_TITLES,
    LAMBDARANK,
    LOG_LOSS,
    QUERY_GRID,
    RANK_NDCG,
    list_model,
    xgboost_pairwise,
)
from bench_boosting import TEST_ROWS, fit_in_turns, in_one_list

FEW_ROWS, FULL_ROWS = 10_000, 1_000_000
FEATURES = 20
PAIRWISE = "rank:pairwise"
OURS = ("exponential", "logistic")

BESIDE_LOG_LOSS = {FEW_ROWS: (2.0, 2.0), FULL_ROWS: (1.3, 1.7)}
"""Most times the log-loss's time that ours may take, at depth 6."""

BESIDE_PAIRWISE = {6: (1 / 4, 1 / 3), 1: (0.1, 0.1)}
"""Most times what rank:pairwise takes that ours may take, with `FULL_ROWS` rows, by depth."""


# --- speed ---------------------------------------------------------------------------------------


def time_fits(rows: int, depth: int, engine: str, repeats: int, threads: int) -> Lines:
    """Time whole fits in turns, after one of each to few rows; rank:pairwise once."""
    parameters = {"learning_rate": 0.1, "max_depth": depth}
    systems = {
        name: System(partial(list_model, name, engine=engine, **parameters))
        for name in (LOG_LOSS, *OURS)
    }
    if engine == "xgboost":
        systems[PAIRWISE] = System(partial(xgboost_pairwise, **parameters), by_qid)
    train = in_one_list(*draw_interactions(rows, seed=1))
    test = in_one_list(*draw_interactions(TEST_ROWS, seed=0))
    return fit_in_turns(systems, train, test, repeats, threads)


def judge_speed(found: Medians, rows: int, depth: int, about: str) -> Iterator[Verdict]:
    """Yield the targets that are stated for this size."""
    for number, name in enumerate(OURS):
        if depth == 6 and rows in BESIDE_LOG_LOSS:
            yield ratio(found, name, LOG_LOSS, BESIDE_LOG_LOSS[rows][number], about)
        if rows == FULL_ROWS and PAIRWISE in found:
            yield ratio(found, name, PAIRWISE, BESIDE_PAIRWISE[depth][number], about)
            gain = found[name]["test AUC"] - found[PAIRWISE]["test AUC"]
            label = f"test AUC, {name} - {PAIRWISE}{about}"
            yield Verdict(label, -0.002, gain, at_least=True)


def part_speed(options: Any) -> PartResult:
    """Time every size, one process after the other."""
    result = PartResult([], notes=[SPEED])
    sizes = [(rows, depth) for rows in options.rows for depth in (6, 1)]
    for rows, depth in sizes[:1] if options.quick else sizes:
        for engine, words in ENGINE_TITLES.items():
            title = f"{words}, {rows:,} x {FEATURES}, {ROUNDS} rounds of depth {depth}"
            say(f"speed: {title}")
            case = rows, depth, engine, options.repeats, options.threads
            found = in_process("bench_trees:time_fits", *case, threads=options.threads)
            if "error" in found:
                result.notes.append(f"{title}: {found['error']}")
                continue
            lines = {name: medians(records) for name, records in found.items()}
            result.tables.append(times_table(title, lines, LOG_LOSS))
            result.verdicts += judge_speed(lines, rows, depth, f": {title}")
    return result


SPEED = (
    "Speed: whole fits from arrays to the model, in turns in one process, after a fit of each to a "
    "thousand rows; medians. The log-loss is the engine's own classifier with the same parameters; "
    f'{PAIRWISE} is XGBoost\'s with lambdarank_pair_method="mean" and all rows one query, fitted '
    "once. The test AUC is that of the first fit on 100,000 fresh rows."
)


# --- queries -------------------------------------------------------------------------------------


def part_queries(options: Any) -> PartResult:
    """Compare objectives on queries, in the same trees."""
    peers = (RANK_NDCG,) if options.quick else (LAMBDARANK, RANK_NDCG)
    beside = {f"it minus {peer}, NDCG@10": ("it", peer) for peer in peers}
    return run_queries("_trees_systems", options, beside, QUERIES)


QUERIES = (
    f"Queries: every system has the same candidates ({QUERY_GRID.words}); the highest mean NDCG@10 "
    "of the validation queries decides, and what is chosen, without another fit, scores the test "
    "queries once. The libraries' rankers keep what else they have by default; LightGBM gets all "
    'leaves that a depth allows. "Queries alike" gives each row one over its query\'s number of '
    "rows as weight. Folds, validation queries and metrics are those of the part `queries` of "
    "peers.py: MQ2008's five folds are cut from the files of its first one. Differences are paired "
    "query by query, with 95 % BCa bootstrap intervals over queries."
)


PARTS = {"speed": part_speed, "lists": run_lists, "queries": part_queries}


def main() -> None:
    """Run the parts and print the report."""
    quick = "10,000 rows, few candidates, two splits, one fold"
    parser = command_line(__doc__, quick=quick, data=True)
    add = parser.add_argument
    add("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help="some parts")
    add("--rows", nargs="+", type=int, default=(FEW_ROWS, FULL_ROWS), help="speed: rows")
    add("--repeats", type=int, default=5, help="speed: fits of each (default 5)")
    add("--splits", type=int, default=10, help="lists: splits of each data set (default 10)")
    add("--threads", type=int, default=2, help="of a fit, or searches at a time (default 2)")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.repeats, options.splits = (FEW_ROWS,), 2, 2
    settings = (
        f"{options.threads} threads, {options.repeats} fits; {options.splits} splits of each list."
    )
    machine = describe_machine("xgboost", "xgboost-cpu", "lightgbm")
    parts = [PARTS[name](options) for name in options.only]
    Report.of_parts("trees", settings, machine, parts).publish(options.json)


if __name__ == "__main__":
    main()
