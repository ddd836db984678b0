"""The four commands."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

import sklearn_rank
from sklearn_rank._observers import observed
from sklearn_rank.cli._crossval import (
    Candidate,
    FoldResult,
    cross_validate,
    held_out,
    make_folds,
)
from sklearn_rank.cli._dataset import Dataset, model_data, training_data
from sklearn_rank.cli._errors import InputError, count, show_notes, split
from sklearn_rank.cli._intervals import (
    LabelledRows,
    compare_with_best,
    compute_intervals,
    interval_footnote,
)
from sklearn_rank.cli._metrics import JSON_ONLY, compute_metrics, skipped_queries
from sklearn_rank.cli._output import check_output, optional_output
from sklearn_rank.cli._plots import PLOT_SUFFIXES, check_drawable, plot_comparison, plot_evaluation
from sklearn_rank.cli._progress import progress
from sklearn_rank.cli._rank import calibration, hold_out
from sklearn_rank.cli._rankers import (
    baseline_pipelines,
    choose_rankers,
    fit_pipeline,
    leave_out_slow,
    make_rankers,
    parse_params,
    ranker_pipeline,
    scores_of,
    with_name,
)
from sklearn_rank.cli._report import (
    COLUMNS,
    Comparison,
    Summary,
    as_json,
    conventions,
    evaluation_as_json,
    print_comparison,
    print_evaluation,
    write_json,
)
from sklearn_rank.cli._store import MODEL_SUFFIXES, Model, load_model, save_model
from sklearn_rank.cli._trees import check_engines, leave_out_trees

_TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".csv.gz", ".tsv.gz")


def compare(options: Any) -> None:
    """Cross-validate rankers beside the baselines and print a table."""
    notes: list[str] = []
    names = choose_rankers(split(options.rankers) or None)
    params = parse_params(split(options.param))
    rankers = make_rankers(names, options.relevance, options.seed, params)
    if options.rankers:
        check_engines(rankers)
    json_path = optional_output(options.json, (".json",), options)
    plot_path = optional_output(options.plot, PLOT_SUFFIXES, options)
    data = training_data(options.table, notes)
    if not options.rankers:
        n_training = len(data.y) * (options.cv - 1) // options.cv
        rankers = leave_out_slow(leave_out_trees(rankers, notes), n_training, notes)
    candidates = _candidates(rankers, data, notes)
    folds = make_folds(data, options.cv, options.seed)
    try:
        results = cross_validate(candidates, data, folds, options.n_jobs)
    except InputError as error:
        if not params or len(rankers) == 1:
            raise
        hint = "--param goes to every ranker that has it, --rankers chooses the rankers"
        raise InputError(f"{str(error).removesuffix('.')}; {hint}") from error
    notes += _warnings_by_fold(results, options.cv)
    comparison = _summarise(results)
    rows, scores = held_out(results, data, folds)
    interval_table = compare_with_best(rows, scores)
    if plot_path is not None:
        check_drawable(rows, interval_table, data.name)
    title = data.summary()
    footnotes = [
        _compare_footnote(options, data, candidates),
        interval_footnote(rows, interval_table, is_comparison=True),
    ]
    show_notes(notes)
    print_comparison(comparison, interval_table, title, footnotes)
    if json_path is not None:
        content = {**_data_summary(data), "cv": options.cv, "seed": options.seed, "params": params}
        content["results"] = as_json(comparison, interval_table)
        write_json(json_path, content, force=options.force)
    if plot_path is not None:
        plot_comparison(plot_path, rows, scores, interval_table, title, force=options.force)


def train(options: Any) -> None:
    """Fit one ranker to all rows and store it."""
    notes: list[str] = []
    (name,) = choose_rankers([options.ranker])
    params = parse_params(split(options.param))
    ranker = make_rankers([name], options.relevance, options.seed, params)[name]
    check_engines({name: ranker})
    path = check_output(
        options.output, force=options.force, suffixes=MODEL_SUFFIXES, inputs=(options.data,)
    )
    data = training_data(options.table, notes)
    held_out = None
    if options.calibrate is not None:
        data, held_out = hold_out(data, options.calibrate, options.seed)
    pipeline = ranker_pipeline(ranker, data.schema)
    n_iter = ranker.get_params().get("n_estimators", getattr(ranker, "max_iter", None))
    with (
        progress(f"fitting {name}", total=n_iter) as advance,
        observed(ranker, lambda *_: advance() is not None),
    ):
        warnings = fit_pipeline(pipeline, data.X, data.y, data.qid, data.weight, name)
    notes += [with_name(name, message) for message in warnings]
    stored = None if held_out is None else calibration(pipeline, held_out)
    save_model(Model(pipeline, name, data.schema, stored), path, force=options.force)
    show_notes(notes)
    print(f"{path}: {name} fitted on {data.summary()}")
    if held_out is not None:
        print(f"{count(len(held_out.y), 'row')} held out for rank --fdr")


def evaluate(options: Any) -> None:
    """Evaluate a stored model on rows with a target."""
    notes: list[str] = []
    json_path = optional_output(options.json, (".json",), options)
    plot_path = optional_output(options.plot, PLOT_SUFFIXES, options)
    model = load_model(options.model, notes)
    data = model_data(options.data, model.schema, options.table, notes, labelled=True)
    with progress("evaluating"):
        scores = scores_of(model.pipeline, data.X)
        rows = LabelledRows(data.y.astype(float), data.qid)
        metrics = compute_metrics(rows.y, scores, rows.qid)
        intervals = compute_intervals(rows, scores)
    if plot_path is not None and not (rows.y > 0).any():
        raise InputError(f"{data.name}: --plot needs a row with a relevance above 0")
    show_notes(notes)
    title = f"{model.ranker} on {data.summary()}"
    about = interval_footnote(rows, intervals, is_comparison=False)
    print_evaluation(metrics, intervals, title, f"{_conventions(data)} {about}")
    if json_path is not None:
        content = {**_data_summary(data), "model": options.model, "ranker": model.ranker}
        content["results"] = evaluation_as_json(metrics, intervals)
        write_json(json_path, content, force=options.force)
    if plot_path is not None:
        plot_evaluation(plot_path, rows, scores, model.ranker, title, force=options.force)


def _candidates(rankers: dict[str, Any], data: Dataset, notes: list[str]) -> list[Candidate]:
    candidates = [
        Candidate(name, ranker_pipeline(ranker, data.schema)) for name, ranker in rankers.items()
    ]
    baselines = baseline_pipelines(rankers, data.schema)
    if np.unique(data.y > 0).size == 2:
        candidates += [Candidate(*one, is_baseline=True) for one in baselines.items()]
    else:
        notes += [
            f"no {name}: it needs rows with a relevance above 0, and others" for name in baselines
        ]
    return candidates


def _summarise(results: list[FoldResult]) -> Comparison:
    names = dict.fromkeys(result.name for result in results)
    return {
        name: {
            metric.key: Summary.of([r.metrics[metric.key] for r in results if r.name == name])
            for metric in (*COLUMNS, *JSON_ONLY)
        }
        for name in names
    }


def _warnings_by_fold(results: list[FoldResult], n_folds: int) -> list[str]:
    counts = Counter((r.name, message) for r in results for message in r.warnings)
    return [
        f"{name}, {count} of {n_folds} folds: {message.removeprefix(f'{name}: ')}"
        for (name, message), count in counts.items()
    ]


def _compare_footnote(options: Any, data: Dataset, candidates: list[Candidate]) -> str:
    folds = "folds of whole queries" if data.qid is not None else "folds"
    sentences = [
        f"Mean and standard deviation over {options.cv} {folds} (seed {options.seed}).",
        _conventions(data),
    ]
    if data.weight is not None:
        sentences.append(f"Column {data.schema.weight!r} weighs rows in fitting, not in metrics.")
    scaled = [one.name for one in candidates if "scale" in one.pipeline.named_steps]
    if scaled:
        sentences.append(f"On filled and scaled columns: {', '.join(scaled)}.")
    limits = ["on relevance > 0"] if data.schema.relevance == "graded" else []
    limits += ["without queries"] if data.qid is not None else []
    for one in candidates:
        if one.is_baseline:
            about = [text for text in (getattr(one.pipeline[-1], "about", ""), *limits) if text]
            name = one.name[0].upper() + one.name[1:]
            sentences += [f"{name}: {', '.join(about)}."] if about else []
    return " ".join(sentences)


def _conventions(data: Dataset) -> str:
    graded = data.schema.relevance == "graded"
    n_queries = None if data.qid is None else int(data.qid.max()) + 1
    return conventions(graded=graded, n_queries=n_queries, n_skipped=_n_skipped(data))


def _n_skipped(data: Dataset) -> int:
    return skipped_queries(data.y.astype(float), data.qid)


def _data_summary(data: Dataset) -> dict[str, Any]:
    return {
        "version": getattr(sklearn_rank, "__version__", "unknown"),
        "data": data.name,
        "n_rows": len(data.y),
        "n_columns": int(data.X.shape[1]),
        "n_queries": 1 if data.qid is None else int(data.qid.max()) + 1,
        "n_queries_skipped": _n_skipped(data),
        "target": data.schema.target,
        "qid": data.schema.qid,
        "weight": data.schema.weight,
        "relevance": data.schema.relevance,
        "positive": data.schema.positive,
    }
