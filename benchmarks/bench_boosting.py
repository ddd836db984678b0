"""Boosting with every loss and push, beside the stumps of XGBoost and LightGBM.

    python benchmarks/bench_boosting.py                          # 1e6 rows, half an hour
    python benchmarks/bench_boosting.py --quick                  # a minute at most
    python benchmarks/bench_boosting.py --only list --pairwise-repeats 0

Each part has a process of its own, in which whole fits take turns:

- ``list``: one list of two classes, beside the log-loss of XGBoost and LightGBM and XGBoost's
  rank:pairwise;
- ``queries``: queries of 100 rows with grades 0 to 3, beside LightGBM's lambdarank, at a tenth of
  the rows and at all of them;
- ``sizes``: one list of a hundredth of the rows, and one of all rows with 100 features.

Targets are printed beside what was measured, reached or not.
"""

import argparse
import importlib.util
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from _harness import Record, describe_machine, run_in_process, turn_ratios
from _lists_systems import BINS, ROUNDS, SYSTEMS
from _report import Cell, Report, Table, Verdict, judged, ratios_in_words
from _systems import System, by_qid, decision, prediction

FULL_ROWS, TEST_ROWS, WARM_ROWS = 1_000_000, 100_000, 1_000
FEATURES, QUERY, GRADES = 20, 100, 4
MANY_FEATURES = 100
TRAIN_SEED, TEST_SEED = 1, 0
TENTH, SOME = ", a tenth", ", three tenths"
FEW, WIDE = ", a hundredth of the rows", f", {MANY_FEATURES} features"

LOGISTIC, LOGISTIC_4 = "logistic, p=1", "logistic, p=4"
SQUARED_HINGE, HINGE = "squared hinge, p=1", "hinge, p=1"
HINGE_4, SQUARED_HINGE_4 = "hinge, p=4", "squared hinge, p=4"
SQUARES = "least squares, p=1"
TOP, IR, BOTH = "exponential, p=4", "exponential, IR push", "exponential, p=4, both ends"
PLAIN, STEEP = "exponential, p=1", "exponential, p=64"
RANK_BOOST = "RankBoost"

ON_LIST: dict[str, dict[str, Any]] = {
    LOGISTIC: {"loss": "logistic", "p": 1},
    LOGISTIC_4: {"loss": "logistic", "p": 4},
    SQUARED_HINGE: {"loss": "squared_hinge", "p": 1},
    HINGE: {"loss": "hinge", "p": 1},
    HINGE_4: {"loss": "hinge", "p": 4},
    SQUARED_HINGE_4: {"loss": "squared_hinge", "p": 4},
    SQUARES: {"loss": "least_squares", "p": 1},
    PLAIN: {"p": 1},
    TOP: {"p": 4},
    STEEP: {"p": 64},
    IR: {"push": "ir"},
    BOTH: {"push": "both", "p": 4},
}
"""Parameters of `PNormPushRanker`, by the name of the line."""

ON_QUERIES = {name: ON_LIST[name] for name in (LOGISTIC, LOGISTIC_4, TOP, IR)}

BINARY, THEIRS, PAIRWISE, LAMBDARANK = (
    "XGBoost binary:logistic",
    "LightGBM binary",
    "XGBoost rank:pairwise",
    "LightGBM lambdarank",
)
FASTER = "the faster log-loss"
PEERS = {
    BINARY: SYSTEMS["xgboost"],
    THEIRS: SYSTEMS["lightgbm"],
    PAIRWISE: SYSTEMS["xgboost_mean"],
    LAMBDARANK: SYSTEMS["lambdarank"],
}

LIST_TARGETS = (
    (RANK_BOOST, FASTER, 0.3),
    (TOP, FASTER, 0.3),
    (STEEP, PLAIN, 1.05),
    (LOGISTIC, BINARY, 1.2),
    (LOGISTIC_4, BINARY, 2.5),
    (HINGE, BINARY, 1.5),
    (SQUARED_HINGE, BINARY, 1.5),
    (SQUARES, BINARY, 0.6),
    (LOGISTIC, PAIRWISE, 0.15),
    (IR, TOP, 1.8),
    (BOTH, TOP, 1.8),
)
SIZE_TARGETS = (
    (RANK_BOOST, FEW, 0.7),
    (TOP, FEW, 0.7),
    (RANK_BOOST, WIDE, 0.3),
    (TOP, WIDE, 0.3),
)
"""Most times what the faster log-loss takes."""

QUERY_TARGETS = (
    (LOGISTIC, LAMBDARANK, 0.8),
    (LOGISTIC_4, LAMBDARANK, 1.2),
    (RANK_BOOST, LAMBDARANK, 0.2),
)
"""Most times what the second one takes; on queries at both sizes."""

GROWTH_LIMIT = 10.5
"""Most times that queries take longer with all rows than with a tenth of them."""


# --- in the child --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """Features, labels and query ids, the rows of a query together."""

    X: Any
    y: Any
    qid: Any

    def first(self, n_rows: int) -> "Rows":
        """Return the first rows."""
        return Rows(self.X[:n_rows], self.y[:n_rows], self.qid[:n_rows])


@dataclass(frozen=True)
class Case:
    """One line of a table: what is fitted to which rows, and how often."""

    system: System
    rows: Rows
    repeats: int


def ours(name: str, parameters: Mapping[str, Any]) -> System:
    """Return one of our boosters for one list."""

    def build(n_threads: int) -> Any:
        import sklearn_rank

        return getattr(sklearn_rank, name)(
            max_bins=BINS, n_jobs=n_threads, tol=0, learning_rate=1, **parameters
        )

    return System(name, "sklearn_rank", build, decision, ours=True)


def ours_on_queries(name: str, parameters: Mapping[str, Any]) -> System:
    """Return one of our boosters for queries with grades."""
    graded = ours(name, {**parameters, "relevance": "graded"})
    return replace(graded, scores=prediction, queries=by_qid)


def timed_fit(system: System, rows: Rows, options: argparse.Namespace) -> tuple[Any, float]:
    """Fit once; return the model and the seconds from arrays to it."""
    model = system.build(options.threads).set_params(n_estimators=options.rounds)
    queries = system.queries(rows.qid)
    started = time.perf_counter()
    model.fit(rows.X, rows.y, **queries)
    return model, time.perf_counter() - started


def fit_in_turns(
    cases: Mapping[str, Case], quality: Callable[[System, Any], float], options: Any
) -> Record:
    """Time whole fits in turns, after one of each to few rows; also judge the first model."""
    found: Record = {}
    for line, case in cases.items():
        if importlib.util.find_spec(case.system.module) is None:
            found[line] = {"error": f"{case.system.module} is not installed"}
        elif case.repeats:
            timed_fit(case.system, case.rows.first(WARM_ROWS), options)
            found[line] = {"rows": len(case.rows.y), "s": [], "quality": None}
    for turn in range(max(case.repeats for case in cases.values())):
        for line, case in cases.items():
            record = found.get(line, {"error": "left out"})
            if "error" in record or turn >= case.repeats:
                continue
            model, seconds = timed_fit(case.system, case.rows, options)
            record["s"].append(seconds)
            if record["quality"] is None:
                record["quality"] = quality(case.system, model)
    return found


def run_list(options: argparse.Namespace) -> Record:
    """Time fits on one list of two classes."""
    import numpy as np
    from _data import draw_two_classes

    from sklearn_rank.metrics import auc_score

    X, y = draw_two_classes(options.rows, n_features=FEATURES, seed=TRAIN_SEED)
    X_test, y_test = draw_two_classes(TEST_ROWS, n_features=FEATURES, seed=TEST_SEED)
    rows = Rows(X, y, np.zeros(len(y), dtype=np.int64))
    systems = {name: ours("PNormPushRanker", given) for name, given in ON_LIST.items()}
    systems |= {RANK_BOOST: ours("RankBoost", {}), BINARY: PEERS[BINARY], THEIRS: PEERS[THEIRS]}
    some = rows.first(options.rows * 3 // 10)
    cases = {name + SOME: Case(system, some, options.repeats) for name, system in systems.items()}
    cases |= {name: Case(system, rows, options.repeats) for name, system in systems.items()}
    cases[PAIRWISE] = Case(PEERS[PAIRWISE], rows, options.pairwise_repeats)

    def quality(system: System, model: Any) -> float:
        return float(auc_score(y_test, system.scores(model, X_test)))

    return fit_in_turns(cases, quality, options)


def run_sizes(options: argparse.Namespace) -> Record:
    """Time fits with the exponential loss on few rows and with many features."""
    import numpy as np
    from _data import draw_two_classes

    from sklearn_rank.metrics import auc_score

    def draw(n_rows: int, seed: int) -> Rows:
        X, y = draw_two_classes(n_rows, n_features=MANY_FEATURES, seed=seed)
        return Rows(X, y, np.zeros(len(y), dtype=np.int64))

    every, test = draw(options.rows, TRAIN_SEED), draw(TEST_ROWS, TEST_SEED)
    few = every.first(options.rows // 100)
    few = replace(few, X=np.ascontiguousarray(few.X[:, :FEATURES]))
    systems = {name: ours("PNormPushRanker", ON_LIST[name]) for name in (PLAIN, TOP)}
    systems |= {RANK_BOOST: ours("RankBoost", {}), BINARY: PEERS[BINARY], THEIRS: PEERS[THEIRS]}
    cases = {name + FEW: Case(system, few, 3 * options.repeats) for name, system in systems.items()}
    cases |= {
        name + WIDE: Case(system, every, options.large_repeats) for name, system in systems.items()
    }

    def quality(system: System, model: Any) -> float:
        return float(auc_score(test.y, system.scores(model, test.X[:, : model.n_features_in_])))

    return fit_in_turns(cases, quality, options)


def run_queries(options: argparse.Namespace) -> Record:
    """Time fits on queries, at a tenth of the rows and at all of them."""
    from sklearn_rank.metrics import ndcg_score

    every, test = draw_queries(options.rows, TRAIN_SEED), draw_queries(TEST_ROWS, TEST_SEED)
    systems = {
        name: ours_on_queries("PNormPushRanker", given) for name, given in ON_QUERIES.items()
    }
    systems[RANK_BOOST] = ours_on_queries("RankBoost", {})
    systems[LAMBDARANK] = PEERS[LAMBDARANK]
    tenth = every.first(options.rows // 10)
    cases = {name + TENTH: Case(system, tenth, options.repeats) for name, system in systems.items()}
    cases |= {name: Case(system, every, options.large_repeats) for name, system in systems.items()}

    def quality(system: System, model: Any) -> float:
        scores = system.scores(model, test.X)
        return float(ndcg_score(test.y, scores, k=10, qid=test.qid))

    return fit_in_turns(cases, quality, options)


def draw_queries(n_rows: int, seed: int) -> Rows:
    """Return queries of `QUERY` rows with grades, the same utility for all seeds."""
    from sklearn_rank.datasets import make_queries

    found = make_queries(n_rows // QUERY, QUERY, FEATURES, GRADES, random_state=seed)
    return Rows(found.data, found.target, found.qid)


PARTS = {"list": run_list, "queries": run_queries, "sizes": run_sizes}


# --- in the parent -------------------------------------------------------------------------------


def beside(found: Record, name: str, other: str) -> str:
    """Return the ratio of two lines as a cell."""
    if name == other:
        return "1"
    try:
        return ratios_in_words(turn_ratios(found, name, other))
    except KeyError:
        return "–"


def times_of(found: Record, line: str) -> list[Cell]:
    """Return the seconds of a line, how they spread and how many they are."""
    seconds = found[line]["s"]
    return [median(seconds), f"{min(seconds):.3g} to {max(seconds):.3g}", len(seconds)]


def remarks(found: Record) -> list[str]:
    """Return why lines have no figures."""
    return [f"{line}: {record['error']}." for line, record in found.items() if "error" in record]


def measured(found: Record) -> list[str]:
    """Return the lines that have figures."""
    return [line for line, record in found.items() if "error" not in record]


def table_of_list(found: Record, rounds: int) -> Table:
    """Return a line for each model on one list."""
    others = {
        BINARY: "/ XGBoost's log-loss",
        THEIRS: "/ LightGBM's",
        PAIRWISE: "/ rank:pairwise",
        TOP: f"/ {TOP}",
    }
    columns = [
        "model",
        "rows",
        "seconds",
        "fastest to slowest",
        "fits",
        *others.values(),
        "test AUC",
    ]
    lines: list[list[Cell]] = []
    for line in measured(found):
        name = line.removesuffix(SOME)
        size = line[len(name) :]
        ratios = [beside(found, line, other + size) for other in others]
        lines.append(
            [
                name,
                found[line]["rows"],
                *times_of(found, line),
                *ratios,
                f"{found[line]['quality']:.4f}",
            ]
        )
    title = f"One list, {FEATURES} features, {rounds} rounds of stumps"
    return Table(title, columns, lines)


def table_of_queries(found: Record, rounds: int) -> Table:
    """Return a line for each model and number of rows."""
    columns = ["model", "rows", "seconds", "fastest to slowest", "fits", "/ lambdarank"]
    columns += ["/ a tenth of the rows", "test NDCG@10"]
    lines: list[list[Cell]] = []
    for line in measured(found):
        name = line.removesuffix(TENTH)
        is_tenth = name != line
        ratio = beside(found, line, LAMBDARANK + TENTH if is_tenth else LAMBDARANK)
        growth = None if is_tenth else beside(found, line, line + TENTH)
        cells = [name, found[line]["rows"], *times_of(found, line), ratio, growth]
        lines.append([*cells, f"{found[line]['quality']:.4f}"])
    title = f"Queries of {QUERY} rows, {FEATURES} features, grades 0 to {GRADES - 1}"
    return Table(f"{title}, {rounds} rounds of stumps", columns, lines)


def table_of_sizes(found: Record, rounds: int) -> Table:
    """Return a line for each model and size."""
    columns = ["model", "rows", "features", "seconds", "fastest to slowest", "fits"]
    lines: list[list[Cell]] = []
    for line in measured(found):
        name, size = next((line.removesuffix(one), one) for one in (FEW, WIDE) if one in line)
        features = MANY_FEATURES if size == WIDE else FEATURES
        ratios = [beside(found, line, other + size) for other in (BINARY, THEIRS)]
        cells = [name, found[line]["rows"], features, *times_of(found, line), *ratios]
        lines.append([*cells, f"{found[line]['quality']:.4f}"])
    columns += ["/ XGBoost's log-loss", "/ LightGBM's", "test AUC"]
    return Table(f"Few rows, and many features, {rounds} rounds of stumps", columns, lines)


def judged_ratio(found: Record, line: str, other: str, limit: float, label: str) -> Verdict:
    """Return a verdict on the median of the ratios within the turns."""
    return judged(label, limit, lambda: median(turn_ratios(found, line, other)), unit="x")


def faster(found: Record, size: str) -> str:
    """Return which of the two log-losses takes less at a size."""
    return min(BINARY, THEIRS, key=lambda one: median(found[one + size]["s"]))


def judge_sizes(found: Record) -> Iterator[Verdict]:
    """Yield the targets for few rows and for many features."""
    for name, size, limit in SIZE_TARGETS:
        label = f"one list{size}: {name} / {FASTER}"
        yield judged_ratio(found, name + size, faster(found, size) + size, limit, label)


def judge_list(found: Record) -> Iterator[Verdict]:
    """Yield the targets on one list."""
    for name, other, limit in LIST_TARGETS:
        for size in ("", SOME):
            beside = (faster(found, size) if other == FASTER else other) + size
            if beside in found:
                label = f"one list{size or ', all rows'}: {name} / {other}"
                yield judged_ratio(found, name + size, beside, limit, label)


def judge_queries(found: Record) -> Iterator[Verdict]:
    """Yield the targets on queries: beside lambdarank, and growth."""
    for name, other, limit in QUERY_TARGETS:
        for size in (TENTH, ""):
            label = f"queries{size or ', all'} of the rows: {name} / {other}"
            yield judged_ratio(found, name + size, other + size, limit, label)
    for name in (*ON_QUERIES, RANK_BOOST):
        label = f"queries: {name}, all rows / a tenth of them"
        yield judged_ratio(found, name, name + TENTH, GROWTH_LIMIT, label)


TABLES = {
    "list": (table_of_list, judge_list),
    "queries": (table_of_queries, judge_queries),
    "sizes": (table_of_sizes, judge_sizes),
}


def measure(options: argparse.Namespace, arguments: list[str]) -> Report:
    """Run the parts, each in a process of its own."""
    machine = describe_machine("xgboost", "xgboost-cpu", "lightgbm")
    report = Report("boosting", settings_in_words(options), machine, [], [], [NOTE], {})
    for part in options.only:
        print(part, file=sys.stderr, flush=True)
        task = [*arguments, "--child", part]
        found = run_in_process(__file__, task, threads=options.threads)
        report.runs[part] = found
        if "error" in found:
            report.notes.append(f"{part}: {found['error']}")
            continue
        tabulate, judge = TABLES[part]
        report.tables.append(tabulate(found, options.rounds))
        report.verdicts += judge(found)
        report.notes += remarks(found)
    if (options.rows, options.rounds) != (FULL_ROWS, ROUNDS):
        report.notes.append(f"The targets are stated for {FULL_ROWS:,} rows and {ROUNDS} rounds.")
    return report


def settings_in_words(options: argparse.Namespace) -> str:
    """Say what was run."""
    words = f"{options.threads} threads for each library, at most {BINS} bins."
    if "list" in options.only:
        words += f" One list: {options.repeats} fits, of rank:pairwise {options.pairwise_repeats}."
    if "queries" in options.only:
        words += f" Queries: {options.repeats} fits, with all rows {options.large_repeats}."
    if "sizes" in options.only:
        words += f" Few rows: {3 * options.repeats} fits; many features: {options.large_repeats}."
    return words


NOTE = (
    "Whole fits from arrays to the model, in turns in one process, after a fit of each to a "
    "thousand rows; medians. A ratio is the median of the ratios within a turn, with the smallest "
    "and the largest. Ours are PNormPushRanker and RankBoost with tol=0, so that all rounds are "
    'made, and a learning rate of 1. rank:pairwise has lambdarank_pair_method="mean" and all rows '
    "in one query. Each of the others has its own default learning rate, so the AUC and the "
    "NDCG@10, of the first model on 100,000 fresh rows, say how far each got, not which method is "
    "better."
)


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help="some parts")
    add("--rows", type=int, default=FULL_ROWS, help="most rows (default 1e6)")
    add("--rounds", type=int, default=ROUNDS, help=f"rounds of each fit (default {ROUNDS})")
    add("--repeats", type=int, default=5, help="fits of each (default 5)")
    add("--pairwise-repeats", type=int, default=1, help="list: fits of rank:pairwise (default 1)")
    add("--large-repeats", type=int, default=3, help="queries, sizes: fits to all rows (default 3)")
    add("--threads", type=int, default=2, help="threads of a fit (default 2)")
    add("--quick", action="store_true", help="20,000 rows, 20 rounds, two fits of each")
    add("--json", type=Path, metavar="FILE", help="write the report there as well")
    add("--child", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.quick:
        options.rows, options.rounds = 20_000, 20
        options.repeats, options.large_repeats = 2, 2
    if options.rows < 10 * WARM_ROWS or min(options.repeats, options.threads, options.rounds) < 1:
        parser.error(f"at least {10 * WARM_ROWS} rows, one repeat, thread and round are needed")
    if min(options.pairwise_repeats, options.large_repeats) < 0:
        parser.error("the number of repeats can't be negative")
    return options


def main() -> None:
    """Run the benchmark, or one part of it."""
    options = parse_arguments(sys.argv[1:])
    if options.child:
        warnings.simplefilter("ignore")  # libraries warn about few rounds or rows
        print(json.dumps(PARTS[options.child](options)))
    else:
        measure(options, sys.argv[1:]).publish(options.json)


if __name__ == "__main__":
    main()
