"""A comparison: models on the same folds, the ensemble of them, and which of all is first."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
import joblib
import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier
from sklearn.model_selection import PredefinedSplit
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

import sklearn_rank
from sklearn_rank._core.protocols import Codes, Floats, Indices
from sklearn_rank._core.rows import MAX_LIGHT_SHARE, DistinctRows, Rows
from sklearn_rank.cli import _rankers
from sklearn_rank.cli._tables.dataset import Dataset, training_data
from sklearn_rank.cli._tables.inputs import InputError, noting
from sklearn_rank.cli._tables.options import Folds, TableOptions
from sklearn_rank.ensemble import HeldOutLabels, RankingEnsemble, Selection, select_members
from sklearn_rank.metrics import RankingChoice, choose_ranking, ranking_scorer
from sklearn_rank.metrics.held_out import Comparison, Labels, Measured, compare_with_best
from sklearn_rank.metrics.scorers import scores_of, scoring_method
from sklearn_rank.model_selection import QueryKFold, RollingOriginSplit

ENSEMBLE = "ensemble of these"
RANK_SCORE = "rank score"
"""The criterion of two classes in one list, by which the table is sorted."""

_FORMAT = "sklearn-rank comparison"
_AT_THE_TOP = ("tpr", "pauc", "ndcg", "precision", "err", "mrr", "push", "map", "recall")
_NEAR = 0.8
"""The p-value of a difference of a quarter of a standard error."""

Fold = tuple[Indices, Indices]


# Metrics -----------------------------------------------------------------------------------------


def choose_metrics(names: Iterable[str], data: Dataset, n_folds: int = 1) -> list[str]:
    """Return the metrics of an option, checked, or those that are shown by default.

    Precision and recall are those of the first twentieth of the rows of a fold.
    """
    chosen = list(dict.fromkeys(names))
    for name in chosen:
        try:
            ranking_scorer(name)
        except ValueError as error:
            what = re.sub(r".* (must be .*), or a function.*", r"\1", str(error))
            raise InputError(f"--metrics {name}: {what}") from error
    if chosen or data.has_grades:
        return chosen or ["auc", "ndcg@10"]
    k = max(10, len(data.y) // (20 * n_folds))
    return ["auc", "tpr@0.05", f"precision@{k}", f"recall@{k}"]


def top_metric(names: list[str]) -> str:
    """Return the metric that says which ranking is best at the top."""
    at_top = (name for start in _AT_THE_TOP for name in names if name.startswith(start))
    return next(at_top, names[0])


def is_near_best(name: str, table: Comparison) -> bool:
    """Whether a ranking is at most 1/4 standard error below the best in each metric."""
    gaps = [column[name].below_best for column in table.values() if name in column]
    return bool(gaps) and not any(gap is not None and gap.p_value < _NEAR for gap in gaps)


# Rows held out -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores of rows by models that were fitted without them, and how the fits went, by name."""

    rows: Labels
    place: Indices  # of each row in the table
    folds: list[Fold]
    scores: dict[str, Floats] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    # Of all folds; those that differ in numbers only are together.
    warnings: dict[str, list[str]] = field(default_factory=dict)


def make_folds(data: Dataset, n_folds: int, seed: int) -> list[Fold]:
    """Split into folds of whole queries and groups, or into periods where rows have a time.

    In one list equal rows are held out together, as `DistinctRows` says.
    """
    ids = data.qid if data.group is None else data.group
    splitter: Any = QueryKFold(n_folds, shuffle=True, random_state=seed)
    metadata: dict[str, Any] = {"qid": ids}
    if data.time is not None:
        splitter = RollingOriginSplit(n_folds, embargo=data.embargo)
        metadata = {"qid": data.qid, "groups": data.group, "time": data.time}
    elif ids is None:
        distinct = DistinctRows(Rows(None, data.y, None, np.ones(len(data.y))), _hashes(data))
        splitter, metadata = PredefinedSplit(distinct.folds(n_folds, seed)[1]), {}
    elif data.qid is not None and len(np.unique([data.qid, ids], axis=1).T) > data.qid.max() + 1:
        raise InputError("--group: a query has rows in several groups; both cannot stay whole")
    with noting([], f"--cv {n_folds}"):
        folds = list(splitter.split(data.X, data.y, **metadata))
    sides = [data.y[rows] for fold in folds for rows in fold]
    is_poor = len(folds) < n_folds or any(len(np.unique(side)) < 2 for side in sides)
    if data.qid is None and is_poor:
        raise InputError(f"--cv {n_folds} leaves only one target value in a fold; use fewer folds")
    return folds


def _hashes(data: Dataset) -> Codes:
    """Return a code of the features of each row."""
    return np.asarray(pd.util.hash_pandas_object(data.X, index=False))


def repeats(data: Dataset, notes: list[str]) -> Indices | None:
    """Return one number per set of equal rows of a list, or None if all differ; note how many.

    Equal rows of different relevance, or in all folds since they are many, were drawn one by one.
    """
    if not (data.qid is data.group is data.time is None):
        return None
    rows = pd.Series(data.y).groupby(_hashes(data))
    n_same, own = rows.transform("size").to_numpy(), np.arange(len(data.y))
    n_repeated = len(own) - rows.ngroups
    if n_repeated:
        what = "equal rows are held out together, and count once in intervals"
        notes.append(f"{n_repeated} of {len(own)} rows repeat another: {what}")
    is_drawn_once = (rows.transform("nunique") == 1) & (n_same <= MAX_LIGHT_SHARE * len(own))
    draws = np.where(is_drawn_once, rows.ngroup(), len(own) + own)
    return np.unique(draws, return_inverse=True)[1] if n_repeated else None


def held_out_rows(data: Dataset, n_folds: int) -> HeldOut:
    """Return the folds, and the held-out rows in the order of the table, without scores."""
    folds = make_folds(data, n_folds, data.seed)
    fold, ratio = np.full(len(data.y), -1), None
    for k, (_, test) in enumerate(folds):
        fold[test] = k
    place = np.flatnonzero(fold >= 0)
    if data.group is not None:  # rows of a group are not independent; neither are periods
        ratio = 1 / (n_folds - 1) if data.time is None else np.nan
    tested = data.take(place)
    rows = Labels(tested.y.astype(float), tested.qid, fold[place], ratio, repeats(tested, []))
    return HeldOut(rows, place, folds)


def cross_validate(pipelines: Mapping[str, Pipeline], data: Dataset, options: Folds) -> HeldOut:
    """Fit each pipeline on each fold and score the held-out rows."""
    results = held_out_rows(data, options.cv)
    fold = np.asarray(results.rows.fold)
    runs = [(name, k) for name in pipelines for k in range(options.cv)]
    tasks = [delayed(_run_fold)(pipelines[name], data, results.folds[k], name) for name, k in runs]
    runs_done = zip(runs, Parallel(options.n_jobs, return_as="generator")(tasks), strict=True)
    bar: Any = {"length": len(tasks), "file": sys.stderr, "hidden": not sys.stderr.isatty()}
    with click.progressbar(runs_done, label="cross-validating", **bar) as shown:
        for (name, k), (scores, seconds, lines) in shown:
            results.scores.setdefault(name, np.empty(len(fold)))[fold == k] = scores
            results.seconds.setdefault(name, []).append(seconds)
            for line in lines:
                form = re.sub(r"\d[\d.e+-]*", "0", line)
                results.warnings.setdefault(form, []).append(line)
    return results


def _run_fold(
    pipeline: Pipeline, data: Dataset, fold: Fold, name: str
) -> tuple[Floats, float, list[str]]:
    """Return scores of the held-out rows, seconds and warnings."""
    pipeline, start = clone(pipeline), time.perf_counter()
    with threadpool_limits(1):  # so that seconds can be compared, and --n-jobs shares the cores
        warnings = fit_pipeline(pipeline, data.take(fold[0]), name)
    seconds = time.perf_counter() - start
    return scores_of(pipeline, data.X.iloc[fold[1]]), seconds, warnings


def fit_pipeline(pipeline: Pipeline, data: Dataset, name: str) -> list[str]:
    """Fit to a data set, with queries and weights; return the distinct warnings, with the name."""
    model = pipeline[-1]
    is_ranker = type(model).__name__ in sklearn_rank.__all__
    y = (data.y > 0).astype(int) if is_classifier(model) and not is_ranker else data.y
    query = {"ranker__qid": data.qid} if is_ranker else {}
    lines: list[str] = []
    with noting(lines, name):
        pipeline.fit(data.X, y, ranker__sample_weight=data.weight, **query)
    return [line if name in line else f"{name}: {line}" for line in lines]


# The comparison ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Contest:
    """Models, their metrics on held-out rows, and the ensemble, by weights of other folds."""

    folds: Folds
    data: Dataset
    top: str  # the metric that the sentence names
    order: list[str]  # the names, the best first
    scoring: str | None  # of choice and ensemble; None: the top of one list, and a little of all
    pipelines: dict[str, Pipeline]  # unfitted
    results: HeldOut
    weights: dict[str, float]  # of the members of the ensemble, the largest first
    choice: RankingChoice | None  # None where bootstrap samples can't repeat it
    table: Comparison  # the metrics of each model, the best first


def hold(options: TableOptions, folds: Folds, notes: list[str], stored: str = "") -> Contest:
    """Cross-validate models, or read stored results; select an ensemble and the first model."""
    rankers = _rankers.rankers_of(options, folds, folds.rankers)
    data = training_data(options, notes)
    metrics = choose_metrics(folds.metrics, data, folds.cv)
    repeats(data, notes)
    if not folds.rankers:
        _rankers.leave_out(rankers, notes, folds, data)
    models = {**_rankers.baselines(data, notes), **rankers}
    pipelines = {name: _rankers.pipeline_for(model, data.schema) for name, model in models.items()}
    results = _read(stored, folds, data) if stored else cross_validate(pipelines, data, folds)
    top, weights, scores = top_metric(metrics), {}, dict(results.scores)
    scoring = top if folds.metrics or data.qid is not None else None
    selection = _select(data, scoring, pipelines, results)
    if selection and max(selection.weights.values()) < 1:  # of one member it is that member
        members = pd.Series(selection.weights).sort_values(ascending=False, kind="stable")
        weights = members[members > 0].to_dict()
        scores[ENSEMBLE] = selection.nearly_honest_scores
    table = compare_with_best(metrics, results.rows, scores)
    tied = [name for name in _rankers.SIMPLEST_FIRST if is_near_best(name, table)]
    choice = _choose(data, top, scoring, results, scores, [*tied, *scores.keys() & {ENSEMBLE}])
    means = pd.Series({name: measured.mean for name, measured in table[top].items()})
    # NaN comes last.
    order = choice.names if choice else [*means.sort_values(ascending=False, kind="stable").index]
    if choice and scoring is None and data.schema.relevance == "binary":
        rank_scores = zip(order, map(Measured, choice.criterion[0].tolist()), strict=True)
        table = {RANK_SCORE: dict(rank_scores)} | table
    table = {metric: {name: column[name] for name in order} for metric, column in table.items()}
    return Contest(folds, data, top, order, scoring, pipelines, results, weights, choice, table)


def _select(
    data: Dataset, scoring: str | None, pipelines: dict[str, Pipeline], results: HeldOut
) -> Selection | None:
    rows, place, scores = results.rows, results.place, results.scores
    y = rows.y > 0 if data.schema.relevance == "binary" else rows.y
    weight = np.ones(len(y)) if data.weight is None else data.weight[place]
    labels = HeldOutLabels(y, np.asarray(rows.fold), weight, rows.qid)
    proba = {name: scoring_method(model) == "predict_proba" for name, model in pipelines.items()}
    # Folds that are periods, with an embargo, learn from fewer rows than all others.
    fits = {fold: np.isin(place, train) for fold, (train, _) in enumerate(results.folds)}
    with suppress(ValueError):  # such as a metric that a fold lacks
        return select_members(scores, labels, of_probability=proba, scoring=scoring, fitted_to=fits)
    return None


def _choose(
    data: Dataset, top: str, scoring: str | None, results: HeldOut, scores: Any, tied: list[str]
) -> RankingChoice | None:
    rows = results.rows
    group = rows.drawn_with if data.group is None else data.group[results.place]
    if group is not None and data.time is not None:
        return None
    how: dict[str, Any] = {"qid": rows.qid, "fold": rows.fold, "group": group, "random_state": 0}
    how |= {"criterion": scoring, "preferred": tied}
    for metric in (top, None):  # None: the criterion, where the metric can't be resampled
        with suppress(ValueError):
            return choose_ranking(rows.y, scores, metric=metric, n_resamples=499, **how)
    return None


def fit_first(contest: Contest, notes: list[str]) -> Pipeline:
    """Fit the first model to all rows.

    A model without contributions becomes the member of an ensemble, which has them for any.
    """
    data, results, name = contest.data, contest.results, contest.order[0]
    pipelines = contest.pipelines if name == ENSEMBLE else {name: contest.pipelines[name]}
    with noting(notes, name):
        if name != ENSEMBLE and hasattr(pipelines[name][-1], "contributions"):
            notes += fit_pipeline(pipelines[name], data, name)
            return pipelines[name]
        # Rows that no fold held out have the fold -1.
        rows = pd.DataFrame({"fold": results.rows.fold, **results.scores}, index=results.place)
        rows = rows.reindex(range(len(data.y)), fill_value=-1)
        scores = {name: rows[name].to_numpy() for name in pipelines}
        how: dict[str, Any] = {"scoring": contest.scoring, "relevance": data.schema.relevance}
        ensemble = RankingEnsemble([*pipelines.items()], random_state=data.seed, **how)
        metadata = {"qid": data.qid, "sample_weight": data.weight, "fold": rows["fold"].to_numpy()}
        ensemble.fit_selected(data.X, data.y, out_of_fold=scores, **metadata)
    return Pipeline([("ranker", ensemble)])


# Stored results ----------------------------------------------------------------------------------


def _key(folds: Folds, data: Dataset) -> dict[str, str]:
    """Return hashes of the rows, and of the options that the results depend on."""
    of_rows = _hashes(data), data.y, data.qid, data.weight, data.time, data.group
    options = {"rankers": folds.rankers, "param": folds.param, "cv": folds.cv}
    options |= {"seed": data.seed, "embargo": data.embargo}
    key = {option: json.dumps(value, default=str) for option, value in options.items()}
    rows = joblib.hash([repr(data.schema), *of_rows])
    return {"rows": rows, "version": sklearn_rank.__version__, **key}


def record(contest: Contest) -> dict[str, Any]:
    """Return the held-out scores and fit times of the models, for `hold` to read again."""
    seconds, key = contest.results.seconds, _key(contest.folds, contest.data)
    scores = {name: of_rows.tolist() for name, of_rows in contest.results.scores.items()}
    return {"format": _FORMAT, "key": key, "seconds": seconds, "scores": scores}


def _read(path: str, folds: Folds, data: Dataset) -> HeldOut:
    """Return the results of a stored run; InputError if rows or options differ."""
    results = held_out_rows(data, folds.cv)
    with noting([], f"{path}: is not a run saved by compare -o", (Exception,)):
        content = dict(json.loads(Path(path).read_text(encoding="utf-8")))
        if content.get("format") != _FORMAT:
            raise ValueError(f"its format must be {_FORMAT!r}")
        key = dict(content["key"])
        scores = {name: np.array(of_rows, float) for name, of_rows in content["scores"].items()}
        results = replace(results, scores=scores, seconds=dict(content["seconds"]))
    other = [option for option, value in _key(folds, data).items() if key.get(option) != value]
    if other:
        what = "rows or columns" if "rows" in other else ", ".join(f"--{name}" for name in other)
        raise InputError(f"{path}: was saved for other {what}; run compare again")
    return results
