"""The command ``compare``: cross-validate rankers beside the baselines."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

import sklearn_rank
from sklearn_rank._protocols import Floats
from sklearn_rank.cli._crossval import Candidate, FoldResult, cross_validate
from sklearn_rank.cli._dataset import Dataset, training_data
from sklearn_rank.cli._errors import InputError, show_notes, split
from sklearn_rank.cli._metrics import (
    LabelledRows,
    Measured,
    choose_metrics,
    compare_with_best,
    difference,
    has_grades,
    heading,
    top_metric,
)
from sklearn_rank.cli._output import optional_output
from sklearn_rank.cli._plots import PLOT_SUFFIXES, plot_comparison
from sklearn_rank.cli._rankers import (
    HISTOGRAMS,
    LOGISTIC,
    baselines,
    check_engine,
    choose_rankers,
    left_out_by_default,
    make_rankers,
    parse_params,
    pipeline_for,
    stop_early,
)
from sklearn_rank.cli._report import (
    about_intervals,
    about_metrics,
    cells,
    data_summary,
    print_table,
    write_json,
)

Table = dict[str, dict[str, Measured]]


def compare(options: Any) -> None:
    """Cross-validate rankers beside the baselines and print a table."""
    notes: list[str] = []
    named = choose_rankers(split(options.rankers))
    rankers, grids = make_rankers(named or sklearn_rank.__all__, options)
    if named:
        check_engine(rankers)
    json_path = optional_output(options.json, (".json",), options)
    plot_path = optional_output(options.plot, PLOT_SUFFIXES, options)
    choose_metrics(options.metrics, None)
    data = training_data(options.table, notes)
    metrics = choose_metrics(options.metrics, data)
    n_rows = len(data.y) * (options.cv - 1) // options.cv
    if not named:
        left_out = left_out_by_default(options, n_rows, has_grades=has_grades(data))
        notes += [f"no {name}: {reason}" for name, reason in left_out.items() if reason]
        rankers = {name: one for name, one in rankers.items() if name not in left_out}
    stop_early(rankers, options, n_rows)
    models = {**rankers, **baselines(data, options.seed)}
    results = _results(models, grids, metrics, data, options)
    notes += [*_warnings_by_fold(results, options.cv), *_about_baselines(data, models)]
    rows, scores = _held_out(results, data)
    table = compare_with_best(metrics, rows, scores)
    sentence = _sentence(top_metric(metrics), table, rows, scores, list(rankers))
    if plot_path is not None:
        plot_comparison(plot_path, rows, scores, table, data.summary(), force=options.force)
    show_notes(notes)
    seconds = {
        name: Measured(float(np.mean(one)), None, one)
        for name in models
        if (one := [result.seconds for result in results if result.name == name])
    }
    searched = Counter((one.name, one.chosen) for one in results if one.chosen)
    _print(table, seconds, searched, sentence, data, options)
    if json_path is not None:
        table["seconds"] = seconds
        content = {**data_summary(data), "cv": options.cv, "seed": options.seed}
        content |= {"params": parse_params(options.param), "best_at_the_top": sentence}
        content["searched"] = [[*setting, n] for setting, n in searched.items()]
        content["results"] = {
            name: {key: column[name].as_json() for key, column in table.items()} for name in models
        }
        write_json(json_path, content, force=options.force)


def _results(
    models: dict[str, Any], grids: dict[str, Any], metrics: list[str], data: Dataset, options: Any
) -> list[FoldResult]:
    candidates = [
        Candidate(name, pipeline_for(model, data.schema), grids.get(name, {}))
        for name, model in models.items()
    ]
    try:
        return cross_validate(candidates, data, top_metric(metrics), options)
    except InputError as error:
        if not options.param or len(options.rankers) == 1:
            raise
        hint = "--param goes to every ranker that has it, --rankers chooses the rankers"
        raise InputError(f"{str(error).removesuffix('.')}; {hint}") from error


def _held_out(results: list[FoldResult], data: Dataset) -> tuple[LabelledRows, dict[str, Floats]]:
    """Return all rows with their folds, and the held-out scores of each candidate."""
    fold = np.empty(len(data.y), dtype=np.intp)
    scores: dict[str, Floats] = {result.name: np.empty(len(data.y)) for result in results}
    for result in results:
        fold[result.rows] = result.fold
        scores[result.name][result.rows] = result.scores
    return LabelledRows(data.y.astype(float), data.qid, fold), scores


def _warnings_by_fold(results: list[FoldResult], n_folds: int) -> list[str]:
    counts = Counter((r.name, message) for r in results for message in r.warnings)
    return [
        f"{name}, {count} of {n_folds} folds: {message.removeprefix(f'{name}: ')}"
        for (name, message), count in counts.items()
    ]


def _about_baselines(data: Dataset, models: dict[str, Any]) -> list[str]:
    """Return notes on what the baselines learn of grades and queries."""
    if LOGISTIC not in models:
        return [f"no {LOGISTIC}: it needs rows with a relevance above 0, and others"]
    learns = [f"{LOGISTIC} learns relevance > 0, {HISTOGRAMS} the grades"]
    learns = learns if data.schema.relevance == "graded" else []
    return learns + ["the baselines do not see the queries"] * (data.qid is not None)


def _sentence(
    metric: str, table: Table, rows: LabelledRows, scores: dict[str, Floats], rankers: list[str]
) -> str:
    """Return who is best at the top, and how sure that is, beside the best of the other kind."""
    column = {name: one for name, one in table[metric].items() if np.isfinite(one.mean)}
    order = sorted(column, key=lambda name: -column[name].mean)
    if len(order) < 2:
        return ""
    first = order[0]
    others = [name for name in order if (name in rankers) != (first in rankers)]
    second = (others or order[1:])[0]
    kind = "the best ranker" if second in rankers else "the best baseline"
    start = f"Best at the top: {first}, {heading(metric)} {column[first].mean:.3f}"
    gap = f"{column[first].mean - column[second].mean:.3f} more than {second}, {kind}"
    if not (column[first].interval and column[second].interval):
        return f"{start}, {gap} (how sure that is can't be said)."
    found = difference(metric, rows, scores[first], scores[second])
    sure = "" if found.low > 0 else ", which may be chance"
    ends = f"95 % interval of the difference: {found.low:.3f} to {found.high:.3f}"
    return f"{start}, {gap}{sure} ({ends})."


def _print(
    table: Table,
    seconds: dict[str, Measured],
    searched: Counter[tuple[str, str]],
    sentence: str,
    data: Dataset,
    options: Any,
) -> None:
    columns = {heading(name): cells(column) for name, column in table.items()}
    columns["fit s"] = {name: f"{one.mean:.2g}" for name, one in seconds.items()}
    about = f"Rows held out in {options.cv} folds. "
    about += about_intervals(data, (one for column in table.values() for one in column.values()))
    if any(one.below_best for column in table.values() for one in column.values()):
        about += " *: worse than the best; stars hold the family-wise error at 5 %."
    about += about_metrics(table)
    if data.schema.weight is not None:
        about += f" Column {data.schema.weight!r} weighs rows in fitting, not in metrics."
    if searched:
        chosen = ", ".join(f"{name} {one} ({n})" for (name, one), n in searched.most_common())
        about += f" Chosen in the training rows of each fold: {chosen}."
    print_table(data.summary(), columns, about, sentence)
