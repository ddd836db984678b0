"""Part `lists` of `bench_trees.py`: quality on one list after the same search for all.

A search on one split of a data set has a process of its own, in which `search_list` runs.
"""

from collections.abc import Iterator, Mapping
from statistics import mean
from typing import Any

from _harness import Record, in_processes
from _one_list import quality
from _real_data import load_table
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
    X, y = load_table(data, folder)
    y = (y != (data == "cancer")).astype(int)  # of which the benign are on top here
    return tuple(train_test_split(X, y, test_size=0.5, stratify=y, random_state=split))


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
        for data in ["cancer"] if options.quick else DATA_TITLES:
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
    errors = (one["error"] for records in runs.values() for one in records if "error" in one)
    return next(errors, None)


def with_chosen_p(runs: Runs) -> Runs:
    """Add, split by split, the power that ranks the validation rows best."""
    chosen: list[Record] = []
    for split in range(len(runs[LOGISTIC])):
        record: Record = {"chosen": {}, "test": {}}
        for criterion in MEASURES:
            best = max(PUSH_POWERS, key=lambda name: runs[name][split]["validation"][criterion])
            of_best = runs[best][split]
            record["chosen"][criterion] = {"p": PUSH_POWERS[best], **of_best["chosen"][criterion]}
            record["test"][criterion] = of_best["test"][criterion]
        chosen.append(record)
    return {**runs, CHOSEN_P: chosen}


def values_of(runs: Runs, name: str, criterion: str, measure: str) -> list[float]:
    """Return the test figures of all splits."""
    return [record["test"][criterion][measure] for record in runs[name]]


def lead(runs: Runs, name: str, measure: str, criterion: str = "auc") -> list[float]:
    """Return by how much a system is above the log-loss on each split."""
    both = (values_of(runs, system, criterion, measure) for system in (name, LOG_LOSS))
    return [mine - theirs for mine, theirs in zip(*both, strict=True)]


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
        means = [mean(values_of(runs, name, criterion, measure)) for measure in MEASURES]
        leads = [signed(lead(runs, name, measure, criterion), ratio) for measure in MEASURES]
        leads = [""] * len(leads) if name == LOG_LOSS else leads
        cells = [f"{value:.4f}" for value in means]
        lines.append([name, *cells, *leads, chosen_values(runs, name, criterion)])
    heads = ["objective", *MEASURES.values()]
    heads += [f"{word}, it - log-loss" for word in MEASURES.values()]
    words = f"chosen by the validation rows' {MEASURES[criterion]}"
    return Table(f"{title}: {words}", [*heads, "chosen (splits)"], lines)


def powers_table(engine: str, found: Mapping[tuple[str, str], Runs]) -> Table:
    """Return what each p reaches, beside a linear model."""
    lines: list[list[Cell]] = []
    for data in dict.fromkeys(data for data, of in found if of == engine):
        models = {"boosted trees": (engine, [*PUSH_POWERS, CHOSEN_P])}
        if (data, LINEAR) in found:
            models["one coefficient a feature"] = LINEAR, [f"{LINEAR} p={p}" for p in POWERS]
        for measure, word in MEASURES.items():
            for model, (of, names) in models.items():
                means = [mean(values_of(found[data, of], name, "auc", measure)) for name in names]
                cells: list[Cell] = [*(f"{value:.4f}" for value in means), None]
                lines.append([DATA_TITLES[data], model, word, *cells[: len(POWERS) + 1]])
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
