"""Part `lists` of `bench_trees.py`: quality on one list after the same search for all.

A search on one split of a data set has a process of its own, in which `search_list` runs.
"""

from collections.abc import Iterator, Mapping
from statistics import mean
from typing import Any

from _harness import Record, in_processes
from _one_list import quality
from _report import Cell, PartResult, Table, Verdict
from _stats import say, signed
from _systems import scores_of
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
    Grid,
    linear_push,
    list_model,
    push_name,
)

DATA_TITLES = {
    "magic": "MAGIC",
    "cancer": "breast cancer",
    "digit3": "digits, 3 against the rest",
    "digit8": "digits, 8 against the rest",
    "generated": "generated rows",
}
OURS = (LOGISTIC, EXPONENTIAL, CHOSEN_P)
MEASURES = {"auc": "AUC", "top": "top"}
LIMITS = {"auc": -0.001, "top": 0.0}
LIST_ROWS, LIST_TEST_ROWS = 10_000, 50_000
SMALL, N_FOLDS = 5_000, 4
"""Below so many training rows a choice is made by cross-validation."""

TRAIN_SEED, TEST_SEED = 1, 0

Runs = dict[str, list[Record]]
"""For each system of one data set and engine: the record of each split."""


# --- in the child --------------------------------------------------------------------------------


def split_of(data: str, split: int, folder: str | None) -> tuple[Any, ...]:
    """Return training and test features and labels."""
    from sklearn.model_selection import train_test_split

    if data == "generated":
        from _data import draw_interactions

        train = draw_interactions(LIST_ROWS, seed=TRAIN_SEED + split)
        test = draw_interactions(LIST_TEST_ROWS, seed=TEST_SEED)
        return train[0], test[0], train[1], test[1]
    X, y = load_list(data, folder)
    return tuple(train_test_split(X, y, test_size=0.5, stratify=y, random_state=split))


def load_list(data: str, folder: str | None) -> tuple[Any, Any]:
    """Return the features and the labels of a data set."""
    from _real_data import load_two_classes
    from sklearn.datasets import load_breast_cancer, load_digits

    if data == "magic":
        return tuple(load_two_classes("magic", folder))
    if data == "cancer":
        return load_breast_cancer(return_X_y=True)
    X, digit = load_digits(return_X_y=True)
    return X, (digit == int(data.removeprefix("digit"))).astype(int)


def search_list(
    data: str, split: int, engine: str, name: str, quick: bool, folder: str | None
) -> Record:
    """Return the choice by the AUC of validation rows, and by their top, with test figures."""
    X, X_test, y, y_test = split_of(data, split, folder)
    if name.startswith(LINEAR):
        scores = linear_push(X, y, int(name.rpartition("=")[2]))
        return {"test": {"auc": quality(y_test, scores(X_test))}}
    tried = candidates(name, engine, X, y, QUICK_GRID if quick else LIST_GRID)
    found: Record = {"validation": {}, "chosen": {}, "test": {}}
    for criterion in MEASURES:
        best = max(tried, key=lambda one: one[criterion])
        chosen = {key: best[key] for key in ("learning_rate", "max_depth", "n_estimators")}
        model = list_model(name, 1, engine, **chosen).fit(X, y)
        scores = scores_of(model, X_test, chosen["n_estimators"])
        found["validation"][criterion] = best[criterion]
        found["chosen"][criterion] = chosen
        found["test"][criterion] = quality(y_test, scores)
    return found


def candidates(name: str, engine: str, X: Any, y: Any, grid: Grid) -> list[Record]:
    """Return all candidates with the AUC and the top of validation rows, means over folds."""
    import numpy as np
    from sklearn.model_selection import StratifiedKFold

    folds = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(X, y))
    folds = folds[:1] if len(y) >= SMALL else folds
    tried = []
    for setting in grid.settings():
        found = np.zeros((len(folds), len(grid.rounds), 2))
        for number, (train, valid) in enumerate(folds):
            model = list_model(name, 1, engine, **setting).fit(X[train], y[train])
            for place, rounds in enumerate(grid.rounds):
                one = quality(y[valid], scores_of(model, X[valid], rounds))
                found[number, place] = one["auc"], one["top"]
        for rounds, (auc, top) in zip(grid.rounds, found.mean(axis=0).tolist(), strict=True):
            tried.append({**setting, "n_estimators": rounds, "auc": auc, "top": top})
    return tried


# --- in the parent -------------------------------------------------------------------------------


def tasks_of(options: Any) -> Iterator[tuple[str, int, str, str]]:
    """Yield data set, split, engine and system; the longest searches first."""
    names = sorted(LIST_SYSTEMS, key=lambda name: PUSH_POWERS.get(name, 0) < 2)
    systems = [(engine, name) for engine in ENGINE_TITLES for name in names]
    systems += [(LINEAR, f"{LINEAR} p={p}") for p in POWERS]
    for engine, name in systems:
        for data in options.sets:
            for split in range(options.splits):
                yield data, split, engine, name


def search_all(options: Any) -> dict[tuple[str, str], Runs]:
    """Return what every search found, by data set and engine."""
    tasks = list(tasks_of(options))
    say(f"lists: {len(tasks)} searches")
    cases = ([*task, options.quick, options.data] for task in tasks)
    records = in_processes("_trees_lists:search_list", cases, options.threads)
    found: dict[tuple[str, str], Runs] = {}
    for (data, _, engine, name), record in zip(tasks, records, strict=True):
        found.setdefault((data, engine), {}).setdefault(name, []).append(record)
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


def run(options: Any) -> PartResult:
    """Search on every data set with every engine."""
    grid = QUICK_GRID if options.quick else LIST_GRID
    found = search_all(options)
    result = PartResult([], notes=[NOTE.format(grid=grid.words, splits=options.splits)])
    able: dict[tuple[str, str], Runs] = {}
    for (data, engine), runs in found.items():
        error = first_error(runs)
        if error is not None:
            result.notes.append(f"{DATA_TITLES[data]}, {engine}: {error}")
        elif engine == LINEAR:
            able[data, engine] = runs
        else:
            title = f"{DATA_TITLES[data]}, {ENGINE_TITLES[engine]}"
            able[data, engine] = complete = with_chosen_p(runs)
            ratio = 0.0 if data == "generated" else 1.0  # halves of the same rows
            result.tables += [quality_table(title, complete, one, ratio) for one in MEASURES]
            result.verdicts += [
                Verdict(
                    f"{title}: {word}, {name} - log-loss",
                    LIMITS[measure],
                    mean(lead(complete, name, measure)),
                    at_least=True,
                )
                for name in OURS
                for measure, word in MEASURES.items()
            ]
    result.tables += [powers_table(engine, able) for engine in ENGINE_TITLES]
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
