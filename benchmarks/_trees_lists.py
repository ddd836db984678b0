"""Part `lists` of `bench_trees.py`: quality on one list after the same search for all."""

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from statistics import mean
from typing import Any

from _harness import Record, run_in_process
from _lists_fits import say, signed
from _report import Cell, PartResult, Table, Verdict, judged
from _trees_systems import (
    CHOSEN_P,
    ENGINE_TITLES,
    EXPONENTIAL,
    LINEAR,
    LIST_GRID,
    LIST_SYSTEMS,
    LOG_LOSS,
    LOGISTIC,
    POWERS,
    PUSH_POWERS,
    QUICK_GRID,
    push_name,
)

CHILD = Path(__file__).with_name("_trees_child.py")

DATA_TITLES = {
    "magic": "MAGIC",
    "cancer": "breast cancer",
    "digit3": "digits, 3 against the rest",
    "digit8": "digits, 8 against the rest",
    "generated": "generated rows",
}

OURS = (LOGISTIC, EXPONENTIAL, CHOSEN_P)
MEASURES = {"auc": "AUC", "top": "top"}
AUC_MARGIN = 0.001

Runs = dict[str, list[Record]]
"""For each system of one data set and engine: the record of each split."""


def tasks_of(options: Any) -> Iterator[tuple[str, str, str, int]]:
    """Yield data set, engine, system and split; the longest searches first."""
    for data in options.sets:
        for engine in options.engine:
            for name in sorted(LIST_SYSTEMS, key=lambda name: PUSH_POWERS.get(name, 0) < 2):
                for split in range(options.splits):
                    yield data, engine, name, split
    for data in options.sets:
        for p in POWERS:
            for split in range(options.splits):
                yield data, LINEAR, f"{LINEAR} p={p}", split


def search_all(options: Any) -> dict[tuple[str, str], Runs]:
    """Return what every search found, by data set and engine."""
    grid = QUICK_GRID if options.quick else LIST_GRID.within(options)
    folder = None if options.data is None else str(options.data)
    given = json.dumps({"folder": folder, "grid": asdict(grid)})

    def search(task: tuple[str, str, str, int]) -> Record:
        data, engine, name, split = task
        return run_in_process(CHILD, ["list", data, split, engine, name, given], threads=1)

    tasks = list(tasks_of(options))
    say(f"lists: {len(tasks)} searches")
    found: dict[tuple[str, str], Runs] = {}
    with ThreadPoolExecutor(options.processes) as pool:
        for number, (task, record) in enumerate(zip(tasks, pool.map(search, tasks), strict=True)):
            data, engine, name, _ = task
            found.setdefault((data, engine), {}).setdefault(name, []).append(record)
            if number % 50 == 49:
                say(f"  {number + 1} done")
    return found


def first_error(runs: Runs) -> str | None:
    """Return why a search has no figures."""
    return next(
        (record["error"] for records in runs.values() for record in records if "error" in record),
        None,
    )


def with_chosen_p(runs: Runs) -> Runs:
    """Add, split by split, the power that ranks the validation rows best."""
    chosen: list[Record] = []
    for split in range(len(runs[LOGISTIC])):
        of_powers = {p: runs[name][split] for name, p in PUSH_POWERS.items()}
        record: Record = {"validation": {}, "chosen": {}, "test": {}}
        for criterion in MEASURES:
            p = max(POWERS, key=lambda p: of_powers[p]["validation"][criterion])
            best = of_powers[p]
            record["validation"][criterion] = best["validation"][criterion]
            record["chosen"][criterion] = {"p": p, **best["chosen"][criterion]}
            record["test"][criterion] = best["test"][criterion]
        chosen.append(record)
    return {**runs, CHOSEN_P: chosen}


def values_of(runs: Runs, name: str, criterion: str, measure: str) -> list[float]:
    """Return the test figures of all splits."""
    return [record["test"][criterion][measure] for record in runs[name]]


def lead(runs: Runs, name: str, measure: str, criterion: str = "auc") -> list[float]:
    """Return by how much a system is above the log-loss on each split."""
    pairs = zip(
        *(values_of(runs, one, criterion, measure) for one in (name, LOG_LOSS)), strict=True
    )
    return [mine - theirs for mine, theirs in pairs]


def chosen_values(runs: Runs, name: str, criterion: str) -> str:
    """Return the values chosen, each with the number of splits, for each parameter."""
    parts = []
    for key in runs[name][0]["chosen"][criterion]:
        values = [record["chosen"][criterion][key] for record in runs[name]]
        counts = (f"{value:g} ({values.count(value)})" for value in sorted(set(values)))
        parts.append(f"{SHORT.get(key, key)} {' '.join(counts)}")
    return "; ".join(parts)


SHORT = {"learning_rate": "rate", "max_depth": "depth", "n_estimators": "rounds"}


def quality_table(title: str, runs: Runs, criterion: str, ratio: float) -> Table:
    """Return a line for each system, chosen by one criterion; `ratio` is that of `interval`."""
    lines: list[list[Cell]] = []
    for name in (LOG_LOSS, *OURS):
        line: list[Cell] = [name]
        line += [f"{mean(values_of(runs, name, criterion, measure)):.4f}" for measure in MEASURES]
        for measure in MEASURES:
            line.append(
                "" if name == LOG_LOSS else signed(lead(runs, name, measure, criterion), ratio)
            )
        lines.append([*line, chosen_values(runs, name, criterion)])
    heads = ["objective", *MEASURES.values()]
    heads += [f"{word}, it - log-loss" for word in MEASURES.values()]
    words = f"chosen by the validation rows' {MEASURES[criterion]}"
    return Table(f"{title}: {words}", [*heads, "chosen (splits)"], lines)


def powers_table(engine: str, found: Mapping[tuple[str, str], Runs]) -> Table:
    """Return what each p reaches, beside a linear model."""
    lines: list[list[Cell]] = []
    for (data, of), runs in found.items():
        if of != engine:
            continue
        linear = found.get((data, LINEAR), {})
        for measure, word in MEASURES.items():
            line: list[Cell] = [DATA_TITLES[data], "boosted trees", word]
            for p in POWERS:
                line.append(f"{mean(values_of(runs, push_name(p), 'auc', measure)):.4f}")
            lines.append([*line, f"{mean(values_of(runs, CHOSEN_P, 'auc', measure)):.4f}"])
            if not linear or first_error(linear) is not None:
                continue
            line = [DATA_TITLES[data], "one coefficient a feature", word]
            for p in POWERS:
                line.append(f"{mean(values_of(linear, f'{LINEAR} p={p}', 'auc', measure)):.4f}")
            lines.append([*line, None])
    title = f"What p does, {ENGINE_TITLES[engine]}"
    return Table(title, ["data", "model", "", *(f"p={p}" for p in POWERS), "p chosen"], lines)


def verdicts_of(title: str, runs: Runs | None) -> list[Verdict]:
    """Return the targets of one data set and engine."""
    limits = {"auc": -AUC_MARGIN, "top": 0.0}

    def measured(name: str, measure: str) -> float:
        if runs is None:
            raise KeyError(name)
        return mean(lead(runs, name, measure))

    return [
        judged(
            f"{title}: {word}, {name} - log-loss",
            limits[measure],
            lambda name=name, measure=measure: measured(name, measure),
            at_least=True,
        )
        for name in OURS
        for measure, word in MEASURES.items()
    ]


def run(options: Any) -> PartResult:
    """Search on every data set with every engine."""
    grid = QUICK_GRID if options.quick else LIST_GRID.within(options)
    found = search_all(options)
    notes = [NOTE.format(grid=grid.words, splits=options.splits)]
    result = PartResult([], notes=notes, runs={})
    for (data, engine), runs in found.items():
        result.runs[f"{data}/{engine}"] = runs
        if engine == LINEAR:
            continue
        title, error = f"{DATA_TITLES[data]}, {ENGINE_TITLES[engine]}", first_error(runs)
        if error is not None:
            result.notes.append(f"{title}: {error}")
            result.verdicts += verdicts_of(title, None)
            continue
        found[data, engine] = complete = with_chosen_p(runs)
        ratio = 0.0 if data == "generated" else 1.0  # halves of the same rows
        result.tables += [quality_table(title, complete, one, ratio) for one in MEASURES]
        result.verdicts += verdicts_of(title, complete)
    able = {key: runs for key, runs in found.items() if key[1] == LINEAR or CHOSEN_P in runs}
    result.tables += [powers_table(engine, able) for engine in options.engine]
    return result


NOTE = (
    "Lists: {splits} splits, random halves of each class; of generated data 10,000 rows of as many "
    "seeds, and the same 50,000 test rows. Every objective has the same candidates ({grid}), and "
    "all else equal. The mean over the validation rows of four folds decides; above 5,000 training "
    "rows the first fold alone. What is chosen is fitted to all training rows, and scores the test "
    "rows once. p chosen: also p = 1, 2, 4 or 8 by these folds. top: mean share of the positives "
    "found up to 5 % of the negatives. Differences are paired, with 95 % intervals (Student's t) "
    "over the splits, which allow for rows that halves of one set share (Nadeau and Bengio, 2003). "
    "Targets are judged by the mean difference, with what is chosen by AUC."
)
