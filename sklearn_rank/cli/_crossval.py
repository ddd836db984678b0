"""Folds of whole queries, and cross-validation."""

from __future__ import annotations

import itertools
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import click
import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

import sklearn_rank
from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank.cli._tables.dataset import Dataset
from sklearn_rank.cli._tables.inputs import Folds, InputError, noting
from sklearn_rank.metrics.held_out import Labels
from sklearn_rank.metrics.scorers import scores_of
from sklearn_rank.model_selection import QueryKFold, RollingOriginSplit

_MAX_LEVELS = 10
"""Maximum number of relevance levels for stratified folds."""

Fold = tuple[Indices, Indices]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores of rows by models that were fitted without them, and how the fits went, by name."""

    rows: Labels
    place: Indices  # of each in the table
    training: list[Indices]  # places of the rows that each fold learned from
    scores: dict[str, Floats] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    # Of all folds; those of a model that differ in numbers only are together.
    warnings: dict[tuple[str, str], list[str]] = field(default_factory=dict)


def make_folds(data: Dataset, n_folds: int, seed: int) -> list[Fold]:
    """Split into folds of whole queries and groups, or into periods where rows have a time."""
    _, level, count = np.unique(data.y, return_inverse=True, return_counts=True)
    how: dict[str, Any] = {"n_splits": n_folds, "shuffle": True, "random_state": seed}
    is_even = len(count) <= _MAX_LEVELS and count.min() >= n_folds
    splitter: Any = (StratifiedKFold if is_even else KFold)(**how)
    given: dict[str, Any] = {}
    ids = data.qid if data.group is None else data.group
    if data.time is not None:
        splitter = RollingOriginSplit(n_folds, embargo=data.embargo)
        given = {"qid": data.qid, "groups": data.group, "time": data.time}
    elif ids is not None:
        splitter, given = QueryKFold(**how), {"qid": ids}
        if data.qid is not None and len(np.unique([data.qid, ids], axis=1).T) > data.qid.max() + 1:
            raise InputError("--group: a query lies in several groups; both can't be kept whole")
    try:
        folds = list(splitter.split(data.X, level, **given))
    except ValueError as error:
        raise InputError(f"--cv {n_folds}: {error}") from error
    sides = [data.y[rows] for fold in folds for rows in fold]
    if data.qid is None and any(len(np.unique(side)) < 2 for side in sides):
        raise InputError(f"--cv {n_folds} leaves rows of one value in a fold; lower it")
    return folds


def held_out_rows(data: Dataset, n_folds: int) -> tuple[list[Fold], HeldOut]:
    """Return the folds, and the rows held out in the order of the table, without scores."""
    folds = make_folds(data, n_folds, data.seed)
    place = np.concatenate([test for _, test in folds])
    fold = np.repeat(np.arange(n_folds), [len(test) for _, test in folds])
    order = np.argsort(place)
    place, fold, ratio = place[order], fold[order], None
    if data.group is not None:  # rows of a group are not independent; neither are periods
        ratio = 1 / (n_folds - 1) if data.time is None else np.nan
    tested = data.take(place)
    rows = Labels(tested.y.astype(float), tested.qid, fold, ratio)
    return folds, HeldOut(rows, place, [train for train, _ in folds])


def cross_validate(pipelines: Mapping[str, Pipeline], data: Dataset, options: Folds) -> HeldOut:
    """Fit each pipeline on each fold and score the rows held out."""
    folds, found = held_out_rows(data, options.cv)
    fold = np.asarray(found.rows.fold)
    runs = list(itertools.product(pipelines, range(len(folds))))
    tasks = [delayed(_run_fold)(pipelines[name], data, folds[k], name) for name, k in runs]
    results = Parallel(n_jobs=options.n_jobs, return_as="generator")(tasks)
    bar: Any = {"length": len(tasks), "file": sys.stderr, "hidden": not sys.stderr.isatty()}
    try:
        with click.progressbar(
            zip(runs, results, strict=True), label="cross-validating", **bar
        ) as shown:
            for (name, k), (scores, seconds, lines) in shown:
                found.scores.setdefault(name, np.empty(len(fold)))[fold == k] = scores
                found.seconds.setdefault(name, []).append(seconds)
                for line in lines:
                    form = name, re.sub(r"\d[\d.e+-]*", "0", line)
                    found.warnings.setdefault(form, []).append(line)
    except InputError as error:  # perhaps of a parameter that not all rankers take
        if not options.param or len(options.rankers) == 1:
            raise
        hint = "--param goes to every ranker that has it, --rankers chooses the rankers"
        raise InputError(f"{str(error).removesuffix('.')}; {hint}") from error
    return found


def _run_fold(
    pipeline: Pipeline, data: Dataset, fold: Fold, name: str
) -> tuple[Floats, float, list[str]]:
    """Return scores of the rows held out, seconds and warnings."""
    pipeline, start = clone(pipeline), time.perf_counter()
    with threadpool_limits(1):  # so that seconds can be compared, and --n-jobs shares the cores
        warnings = fit_pipeline(pipeline, data.take(fold[0]), name)
    seconds = time.perf_counter() - start
    return scores_of(pipeline, data.X.iloc[fold[1]]), seconds, warnings


def fit_pipeline(pipeline: Pipeline, data: Dataset, name: str) -> list[str]:
    """Fit to a data set, with queries and weights; return the distinct warnings."""
    model = pipeline[-1]
    is_ranker = type(model).__name__ in sklearn_rank.__all__
    y = (data.y > 0).astype(int) if is_classifier(model) and not is_ranker else data.y
    given = {"qid": data.qid if is_ranker else None, "sample_weight": data.weight}
    lines: list[str] = []
    with noting(lines, name):
        given = {f"ranker__{key}": one for key, one in given.items() if one is not None}
        pipeline.fit(data.X, y, **given)
    return lines
