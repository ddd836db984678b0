"""Rankers of queries, each tuned on the validation queries of a fold; test queries are used once.

Every search runs in its own process, in `choose`.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from _harness import Record, in_processes
from _real_data import LIGHTGBM, MQ2008, OHSUMED, load_lightgbm, load_mq2008, load_ohsumed, select
from _report import Cell, PartResult, Table, judged
from _stats import say
from _systems import System, scores_of

FOLDS = {MQ2008: 5, OHSUMED: 3, LIGHTGBM: 1}
TITLES = {MQ2008: "MQ2008", OHSUMED: "OHSUMED", LIGHTGBM: "LightGBM's example"}
MAIN = "NDCG@10"
METRICS = ("NDCG@1", "NDCG@5", MAIN, "MAP")
OURS, OTHERS = "ours (best on validation)", "others (best on validation)"
HELD_OUT = 0.25

Folds = list[dict[str, Record]]
"""For each fold of a data set: what each system chose, and how it ranks."""


def candidates(system: System, part: Any) -> Iterator[tuple[Record, Callable[[Any], Any]]]:
    """Yield each configuration and the function of features that gives its scores."""
    labels = (part.target > 0).astype(int) if system.binary_labels else part.target
    for values in product(*system.grid.values()):
        setting = dict(zip(system.grid, values, strict=True))
        most = {system.rounds_name: max(system.rounds)} if system.rounds else {}
        model = system.build(1, **setting, **most)
        model.fit(part.data, labels, **system.queries(part.qid))
        for rounds in system.rounds or [None]:
            words = {system.rounds_name: rounds} if rounds else {}
            yield {**setting, **words}, partial(scores_of, model, rounds=rounds)


# --- in the child --------------------------------------------------------------------------------


def load_fold(folder: str, name: str, number: int) -> list[Any]:
    """Return train, valid and test of a fold: dense, queries numbered as they appear.

    Where there is no validation file it is a quarter of the training queries, drawn once.
    OHSUMED's features are scaled inside queries, as those of MQ2008 are.
    """
    if name == MQ2008:
        parts = load_mq2008(folder)[number]
    else:
        train, test = load_ohsumed(folder)[number] if name == OHSUMED else load_lightgbm(folder)
        parts = (*_hold_out(train), test)
    return [_prepared(part, scaled=name == OHSUMED) for part in parts]


def _hold_out(train: Any) -> list[Any]:
    from sklearn_rank.model_selection import QueryShuffleSplit

    splitter = QueryShuffleSplit(n_splits=1, test_size=HELD_OUT, random_state=0)
    (split,) = splitter.split(train.target, train.target, qid=train.qid)
    return [select(train, rows) for rows in split]


def _prepared(part: Any, *, scaled: bool) -> Any:
    import numpy as np

    from sklearn_rank.preprocessing import QueryMinMaxScaler

    if scaled:
        part.data = QueryMinMaxScaler().fit_transform(part.data, qid=part.qid)
    part.qid = np.cumsum(part.qid != np.roll(part.qid, 1))  # XGBoost wants them to grow
    return part


def figures(part: Any, scores: Any) -> dict[str, list[float]]:
    """Return each metric for each query; NaN where a query has no relevant row."""
    from sklearn_rank.metrics import average_precision, ndcg_score

    metrics = {name: partial(ndcg_score, k=int(name[5:])) for name in METRICS if "@" in name}
    return {
        name: metric(part.target, scores, qid=part.qid, average=None).tolist()
        for name, metric in {**metrics, "MAP": average_precision}.items()
    }


def choose(module: str, folder: str, data: str, number: int, label: str) -> Record:
    """Return the configuration of the highest validation NDCG@10, and its test figures.

    The first of equal ones is taken. Test rows are scored once, by what was chosen.
    """
    from sklearn_rank.metrics import ndcg_score

    train, valid, test = load_fold(folder, data, number)
    system, best = import_module(module).SYSTEMS[label], -1.0
    for parameters, scores in candidates(system, train):
        found = float(ndcg_score(valid.target, scores(valid.data), k=10, qid=valid.qid))
        if found > best:
            best, chosen, its_scores = found, parameters, scores
    test_figures = figures(test, its_scores(test.data))
    return {"parameters": chosen, "validation": best, "test": test_figures}


# --- in the parent -------------------------------------------------------------------------------


def choose_all(module: str, systems: Mapping[str, System], options: Any) -> dict[str, Folds]:
    """Let every system choose in every fold, several at a time."""
    there = [data for data in FOLDS if (Path(options.data) / data).is_dir()]
    folds = [(data, number) for data in there for number in range(FOLDS[data])]
    folds = folds[:1] if options.quick else folds
    # The longest first: LightGBM's example has the most features.
    tasks = sorted(product(folds, systems), key=lambda task: task[0][0] != LIGHTGBM)
    say(f"queries: {len(tasks)} searches")

    cases = ([module, options.data, *fold, label] for fold, label in tasks)
    records = in_processes("_queries:choose", cases, options.threads)
    done = dict(zip(tasks, records, strict=True))
    found: dict[str, Folds] = {}
    for fold in folds:
        records = {label: done[fold, label] for label in systems}
        for best, ours in ((OURS, True), (OTHERS, False)):
            of = [label for label, system in systems.items() if system.ours == ours]
            records[best] = best_on_validation(records, of)
        found.setdefault(fold[0], []).append(records)
    return found


def best_on_validation(records: Mapping[str, Record], labels: Sequence[str]) -> Record:
    """Return the record of the system that ranks the validation queries best."""
    able = [label for label in labels if "error" not in records[label]]
    if not able:
        return {"error": "no system ran"}
    best = max(able, key=lambda label: records[label]["validation"])
    return {**records[best], "system": best}


def pooled(folds: Folds, label: str, metric: str = MAIN) -> list[Any]:
    """Return a system's values of all test queries; KeyError where it failed in a fold."""
    return [value for records in folds for value in records[label]["test"][metric]]


def difference(folds: Folds, one: str, other: str) -> Any:
    """Return the mean difference in NDCG@10 of test queries, with its interval."""
    import numpy as np

    from sklearn_rank.metrics import compare_rankings

    pair = (np.array(pooled(folds, label)) for label in (one, other))
    return compare_rankings(*pair, random_state=0)


def quality_table(data: str, folds: Folds, beside: Mapping[str, tuple[str, str]]) -> Table:
    """Return the means over all test queries of a data set.

    `beside` has the systems of a difference by the head of its column; "it" is that of the line.
    """
    rows: list[list[Cell]] = []
    for label in folds[0]:
        errors = [records[label]["error"] for records in folds if "error" in records[label]]
        if errors:
            rows.append([label, *[None] * (len(METRICS) + len(beside)), errors[0]])
            continue
        means = (
            fmean(value for value in pooled(folds, label, metric) if not math.isnan(value))
            for metric in METRICS
        )
        validation = fmean(records[label]["validation"] for records in folds)
        cells: list[Cell] = [label, *(f"{value:.4f}" for value in (*means, validation))]
        for pair in beside.values():
            one, other = (label if name == "it" else name for name in pair)
            cells.append("–" if one == other else in_words(difference(folds, one, other)))
        rows.append(cells)
    best = " ".join(
        f"{name}: {'; '.join(records[name].get('system', 'none') for records in folds)}."
        for name in (OURS, OTHERS)
    )
    title = f"{TITLES[data]}, {len(folds)} fold{'s' * (len(folds) > 1)}"
    return Table(title, ["system", *METRICS, f"validation {MAIN}", *beside], rows, best)


def in_words(found: Any) -> str:
    """Return a difference with its interval."""
    return f"{found.difference:+.4f} [{found.low:+.4f}, {found.high:+.4f}]"


def run(module: str, options: Any, beside: Mapping[str, tuple[str, str]], note: str) -> PartResult:
    """Search on every data set that is there; judge the best of ours beside each other system."""
    if options.data is None:
        return PartResult([], notes=["Queries: not measured, no folder was given (--data DIR)."])
    systems = import_module(module).SYSTEMS
    if options.quick:
        mine = next(label for label, system in systems.items() if system.ours)
        others = [label for label, system in systems.items() if not system.ours]
        systems = {label: systems[label] for label in (mine, others[-1])}
    found = choose_all(module, systems, options)
    result = PartResult([], notes=[note])
    for data, folds in found.items():
        result.tables.append(quality_table(data, folds, beside))
        result.verdicts += [
            judged(
                f"{TITLES[data]} {MAIN}, {OURS} - {label}: upper end of the interval",
                0.0,
                lambda label=label, folds=folds: float(difference(folds, OURS, label).high),
                at_least=True,
            )
            for label, system in systems.items()
            if not system.ours
        ]
    return result
