"""Part `queries` of `bench_trees.py`: ranked queries after the same search for each objective."""

import json
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any

from _harness import Record, run_in_process
from _letor_tables import MAIN, METRICS, TITLES, fixed, interval, mean, pooled
from _lists_fits import say
from _real_data import LIGHTGBM, MQ2008, OHSUMED
from _report import Cell, PartResult, Table, Verdict, judged
from _trees_systems import (
    ENGINE_TITLES,
    LAMBDARANK,
    QUERY_GRID,
    QUERY_SYSTEMS,
    QUICK_GRID,
    RANK_NDCG,
)

CHILD, LETOR_CHILD = (
    Path(__file__).with_name(name) for name in ("_trees_child.py", "_letor_child.py")
)
FOLDS = {MQ2008: 5, OHSUMED: 3, LIGHTGBM: 1}
PEERS = (LAMBDARANK, RANK_NDCG)
BEST = "ours (best on validation)"
QUICK_SYSTEMS = ("ours, XGBoost, logistic", *PEERS)

Folds = list[dict[str, Record]]
"""For each fold: the record of each system."""


def search_all(folds: Sequence[tuple[str, int]], names: Sequence[str], options: Any) -> Any:
    """Return the folds of each data set, each system with its choice."""
    grid = QUICK_GRID if options.quick else QUERY_GRID.within(options)
    given = json.dumps({"folder": str(options.data), "grid": asdict(grid)})

    def search(task: tuple[str, int, str]) -> Record:
        return run_in_process(CHILD, ["fold", *task, given], threads=1)

    tasks = [(data, number, name) for data, number in folds for name in names]
    # The longest first: LightGBM's example has the most features.
    tasks.sort(key=lambda task: task[0] != LIGHTGBM)
    say(f"queries: {len(tasks)} searches")
    with ThreadPoolExecutor(options.processes) as pool:
        done = dict(zip(tasks, pool.map(search, tasks), strict=True))
    found: dict[str, Folds] = {}
    for data, number in folds:
        records = {name: done[data, number, name] for name in names}
        records[BEST] = best_of(records)
        found.setdefault(data, []).append(records)
    return found


def best_of(records: dict[str, Record]) -> Record:
    """Return the record of the one of ours that ranks the validation queries best."""
    able = {
        name: record
        for name, record in records.items()
        if QUERY_SYSTEMS[name].is_ours and "error" not in record
    }
    if not able:
        return {"error": "none of ours ran"}
    name = max(able, key=lambda name: able[name]["validation"])
    return {**able[name], "system": name}


def compare(found: dict[str, Folds]) -> Record:
    """Return the differences of ours from the others, by data set and both names."""
    pairs = {}
    for data, folds in found.items():
        for name in folds[0]:
            for peer in PEERS:
                if name in PEERS:
                    continue
                try:
                    pairs[f"{data}/{name}/{peer}"] = [
                        pooled(folds, one, MAIN) for one in (name, peer)
                    ]
                except KeyError:
                    continue
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pairs.json"
        file.write_text(json.dumps(pairs), encoding="utf-8")
        return run_in_process(LETOR_CHILD, ["compare", file], threads=1)


def quality_table(data: str, folds: Folds, differences: Record) -> Table:
    """Return the means over all test queries of a data set."""
    lines: list[list[Cell]] = []
    for name in folds[0]:
        errors = [record[name]["error"] for record in folds if "error" in record[name]]
        if errors:
            lines.append([name, *[None] * (len(METRICS) + 1), errors[0]])
            continue
        figures = [mean(pooled(folds, name, metric)) for metric in METRICS]
        figures.append(fmean(record[name]["validation"] for record in folds))
        leads = [interval(differences.get(f"{data}/{name}/{peer}")) for peer in PEERS]
        lines.append([name, *map(fixed, figures), *leads])
    heads = [f"it minus {peer}, {MAIN}" for peer in PEERS]
    columns = ["system", *METRICS, f"validation {MAIN}", *heads]
    title = f"{TITLES[data]}, {len(folds)} fold{'s' * (len(folds) > 1)}"
    best = "; ".join(record[BEST].get("system", "none") for record in folds)
    return Table(title, columns, lines, f"{BEST}: {best}.")


def verdicts_of(data: str, folds: Folds, differences: Record) -> list[Verdict]:
    """Return, for each of ours, whether the interval of a difference reaches 0."""
    return [
        judged(
            f"{TITLES[data]} {MAIN}, {name} - {peer}: upper end of the interval",
            0.0,
            lambda key=f"{data}/{name}/{peer}": differences[key]["high"],
            at_least=True,
        )
        for name in folds[0]
        if name not in PEERS
        for peer in PEERS
    ]


def own_models(data: Sequence[str], options: Any) -> tuple[list[Verdict], Record]:
    """Compare the scores of loss="ndcg" with those of the engine's own call."""
    tasks = [(name, engine) for name in data for engine in options.engine]
    given = json.dumps({"folder": str(options.data)})
    with ThreadPoolExecutor(options.processes) as pool:
        done = pool.map(
            lambda task: run_in_process(CHILD, ["own", task[0], 0, task[1], given], threads=1),
            tasks,
        )
        found = dict(zip(tasks, done, strict=True))
    verdicts = [
        judged(
            f'{TITLES[name]}: largest difference of scores, loss="ndcg" and '
            f"{ENGINE_TITLES[engine]}'s own call",
            1e-6,
            lambda record=record: record["gap"],
        )
        for (name, engine), record in found.items()
    ]
    return verdicts, {f"{name}/{engine}": record for (name, engine), record in found.items()}


def run(options: Any) -> PartResult:
    """Search on every data set that is there."""
    if options.data is None:
        return PartResult([], notes=["Queries: not measured, no folder was given (--data DIR)."])
    there = [data for data in FOLDS if (Path(options.data) / data).is_dir()]
    notes = [
        f"{TITLES[data]}: not measured, {data} is not in the folder."
        for data in FOLDS
        if data not in there
    ]
    if not there:
        return PartResult([], notes=notes)
    folds = [(data, number) for data in there for number in range(FOLDS[data])]
    names = [
        name
        for name, system in QUERY_SYSTEMS.items()
        if not system.is_ours or system.keywords["engine"] in options.engine
    ]
    if options.quick:
        folds, names, there = folds[:1], list(QUICK_SYSTEMS), there[:1]
    found = search_all(folds, names, options)
    differences = compare(found)
    grid = QUICK_GRID if options.quick else QUERY_GRID.within(options)
    result = PartResult([], notes=[NOTE.format(grid=grid.words), *notes], runs={})
    for data, of in found.items():
        result.tables.append(quality_table(data, of, differences))
        result.verdicts += verdicts_of(data, of, differences)
    verdicts, gaps = own_models(there, options)
    result.verdicts += verdicts
    result.runs = {"found": found, "differences": differences, "own": gaps}
    return result


NOTE = (
    "Queries: every system has the same candidates ({grid}); the highest mean NDCG@10 of the "
    "validation queries decides, and what is chosen, without another fit, scores the test queries "
    "once. The libraries' rankers keep what else they have by default; LightGBM gets all leaves "
    'that a depth allows. "Queries alike" gives each row one over its query\'s number of rows as '
    "weight. Folds, validation queries and metrics are those of the part `letor` of peers.py: "
    "MQ2008's five folds are cut from the files of its first one. Differences are paired query by "
    "query, with 95 % BCa bootstrap intervals over queries."
)
