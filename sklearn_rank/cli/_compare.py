"""The commands ``compare`` and ``evaluate``: measure rankers by folds, or a stored model."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

import sklearn_rank
from sklearn_rank._protocols import Floats
from sklearn_rank.cli import _metrics, _rankers
from sklearn_rank.cli._crossval import Candidate, FoldResult, cross_validate
from sklearn_rank.cli._dataset import Dataset, model_data, training_data
from sklearn_rank.cli._errors import InputError, show_notes, split
from sklearn_rank.cli._metrics import LabelledRows, Measured, heading
from sklearn_rank.cli._output import optional_output, print_table, progress, write_json
from sklearn_rank.cli._plots import PLOT_SUFFIXES, plot_comparison, plot_evaluation
from sklearn_rank.cli._store import load_model, model_scores

Table = dict[str, dict[str, Measured]]


def compare(options: Any) -> None:
    """Cross-validate rankers beside the baselines and print a table."""
    notes: list[str] = []
    named = _rankers.choose_rankers(split(options.rankers))
    rankers, grids = _rankers.make_rankers(named or sklearn_rank.__all__, options)
    if named:
        _rankers.check_engine(rankers)
    json_path, plot_path = _outputs(options)
    data = training_data(options.table, notes)
    metrics = _metrics.choose_metrics(options.metrics, data)
    n_rows = len(data.y) * (options.cv - 1) // options.cv
    if not named:
        has_grades = _metrics.has_grades(data)
        left_out = _rankers.left_out_by_default(options, n_rows, has_grades=has_grades)
        notes += [f"no {name}: {reason}" for name, reason in left_out.items() if reason]
        rankers = {name: one for name, one in rankers.items() if name not in left_out}
    _rankers.stop_early(rankers, options, n_rows)
    models = {**rankers, **_rankers.baselines(data, options.seed, notes)}
    top = _metrics.top_metric(metrics)
    results = _cross_validate(models, grids, data, top, options)
    counts = Counter((one.name, message) for one in results for message in one.warnings)
    notes += [
        f"{name}, {count} of {options.cv} folds: {message.removeprefix(f'{name}: ')}"
        for (name, message), count in counts.items()
    ]
    rows, scores = _held_out(results, data)
    table = _metrics.compare_with_best(metrics, rows, scores)
    sentence = _sentence(top, table, rows, scores, list(rankers))
    if plot_path is not None:
        plot_comparison(plot_path, rows, scores, table, data.summary(), force=options.force)
    show_notes(notes)
    searched = Counter((one.name, one.chosen) for one in results if one.chosen)
    seconds = {
        name: Measured(float(np.mean(one)), None, one)
        for name in models
        if (one := [result.seconds for result in results if result.name == name])
    }
    columns = {heading(name): _metrics.cells(column) for name, column in table.items()}
    columns["fit s"] = {name: f"{one.mean:.2g}" for name, one in seconds.items()}
    print_table(data.summary(), columns, _footnotes(table, searched, data, options), sentence)
    if json_path is not None:
        table["seconds"] = seconds
        content = {**_summary(data), "cv": options.cv, "seed": options.seed}
        content |= {"params": _rankers.parse_params(options.param), "best_at_the_top": sentence}
        content["searched"] = [[*setting, n] for setting, n in searched.items()]
        content["results"] = {
            name: {key: column[name].as_json() for key, column in table.items()} for name in models
        }
        write_json(json_path, content, force=options.force)


def evaluate(options: Any) -> None:
    """Evaluate a stored model on rows with a target."""
    notes: list[str] = []
    json_path, plot_path = _outputs(options)
    model = load_model(options.model, notes)
    data = model_data(options.data, model.schema, options.table, notes, labelled=True)
    with progress("evaluating"):
        rows = LabelledRows(data.y.astype(float), data.qid)
        scores = model_scores(model, data.X, options.model)
        names = _metrics.choose_metrics(options.metrics, data)
        found = {name: _metrics.measure(name, rows, scores) for name in names}
    if plot_path is not None and not (rows.y > 0).any():
        raise InputError(f"{data.name}: --plot needs a row with a relevance above 0")
    show_notes(notes)
    title = f"{model.ranker} on {data.summary()}"
    column = _metrics.cells({heading(name): one for name, one in found.items()})
    about = _metrics.about_intervals(data, found.values()) + _metrics.about_names(found)
    print_table(title, {"": column}, about)
    if json_path is not None:
        content = {**_summary(data), "model": options.model, "ranker": model.ranker}
        content["results"] = {name: one.as_json() for name, one in found.items()}
        write_json(json_path, content, force=options.force)
    if plot_path is not None:
        plot_evaluation(plot_path, rows, scores, title, force=options.force)


def _outputs(options: Any) -> tuple[Any, Any]:
    """Return the paths of --json and --plot; check these and --metrics before a file is read."""
    _metrics.choose_metrics(options.metrics, None)
    json_path = optional_output(options.json, (".json",), options)
    return json_path, optional_output(options.plot, PLOT_SUFFIXES, options)


def _summary(data: Dataset) -> dict[str, Any]:
    """Return what JSON says about a data set."""
    return {
        "version": sklearn_rank.__version__,
        "data": data.name,
        "n_rows": len(data.y),
        "n_columns": int(data.X.shape[1]),
        "n_queries": 1 if data.qid is None else int(data.qid.max()) + 1,
    } | {
        key: getattr(data.schema, key)
        for key in ("target", "qid", "weight", "relevance", "positive")
    }


def _cross_validate(
    models: dict[str, Any], grids: dict[str, Any], data: Dataset, top: str, options: Any
) -> list[FoldResult]:
    candidates = [
        Candidate(name, _rankers.pipeline_for(model, data.schema), grids.get(name, {}))
        for name, model in models.items()
    ]
    try:
        return cross_validate(candidates, data, top, options)
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
    found = _metrics.difference(metric, rows, scores[first], scores[second])
    sure = "" if found.low > 0 else ", which may be chance"
    ends = f"95 % interval of the difference: {found.low:.3f} to {found.high:.3f}"
    return f"{start}, {gap}{sure} ({ends})."


def _footnotes(table: Table, searched: Any, data: Dataset, options: Any) -> str:
    found = [one for column in table.values() for one in column.values()]
    about = f"Rows held out in {options.cv} folds. {_metrics.about_intervals(data, found)}"
    if any(one.below_best for one in found):
        about += " *: worse than the best; stars hold the family-wise error at 5 %."
    about += _metrics.about_names(table)
    if data.schema.weight is not None:
        about += f" Column {data.schema.weight!r} weighs rows in fitting, not in metrics."
    if searched:
        chosen = ", ".join(f"{name} {one} ({n})" for (name, one), n in searched.most_common())
        about += f" Chosen in the training rows of each fold: {chosen}."
    return about
