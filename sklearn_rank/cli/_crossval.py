"""Folds of whole queries, cross-validation, and the choice of parameters in training rows."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

import sklearn_rank
from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank.cli._output import progress
from sklearn_rank.cli._rankers import has_rounds
from sklearn_rank.cli._tables.dataset import Dataset
from sklearn_rank.cli._tables.errors import InputError, noting
from sklearn_rank.cli._tables.options import Folds
from sklearn_rank.metrics.held_out import Labels, have_pair, value
from sklearn_rank.metrics.scorers import scores_of
from sklearn_rank.model_selection import QueryKFold, RollingOriginSplit

_MAX_LEVELS = 10
"""Maximum number of relevance levels for stratified folds."""

_TENTHS = 10
"""Folds, of which the last chooses the rounds of boosting, as the rankers hold out a tenth."""

Fold = tuple[Indices, Indices]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores of rows by models that were fitted without them, and how the fits went, by name."""

    rows: Labels
    place: Indices  # of each in the table
    training: list[Indices]  # places of the rows that each fold learned from
    scores: dict[str, Floats] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    warnings: Counter[tuple[str, str]] = field(default_factory=Counter)  # number of folds with each
    chosen: Counter[tuple[str, str]] = field(default_factory=Counter)  # of folds, by a search
    # Of boosters, after which the mean loss of the folds was smallest.
    rounds: dict[str, int] = field(default_factory=dict)


def make_folds(data: Dataset, n_folds: int, seed: int) -> list[Fold]:
    """Split into folds of whole queries and groups, or into periods where rows have a time."""
    _, level, count = np.unique(data.y, return_inverse=True, return_counts=True)
    ids = data.qid if data.group is None else data.group
    n_lists = len(data.y) if ids is None else len(np.unique(ids))
    needs = f"--cv {n_folds} needs as many"
    if n_lists < n_folds:
        unit = "rows" if ids is None else "queries" if ids is data.qid else "groups"
        raise InputError(f"{needs} {unit}; there are {n_lists}")
    if data.schema.relevance == "binary" and data.qid is None and count.min() < n_folds:
        raise InputError(f"{needs} rows of each class; the rarer has {count.min()}")
    how: dict[str, Any] = {"n_splits": n_folds, "shuffle": True, "random_state": seed}
    if data.time is None and ids is None:
        is_even = len(count) <= _MAX_LEVELS and count.min() >= n_folds
        return list((StratifiedKFold if is_even else KFold)(**how).split(data.X, level))
    splitter: Any = QueryKFold(**how)
    given = {"qid": ids}
    if data.time is not None:
        splitter = RollingOriginSplit(n_folds, embargo=data.embargo)
        given = {"qid": data.qid, "groups": data.group, "time": data.time}
    elif data.qid is not None and len(np.unique([data.qid, ids], axis=1).T) > data.qid.max() + 1:
        raise InputError("--group: a query lies in several groups; both can't be kept whole")
    try:
        folds = list(splitter.split(data.X, data.y, **given))
    except ValueError as error:
        raise InputError(f"--cv {n_folds}: {str(error).partition(' Got ')[0]}") from error
    sides = [data.y[rows] for fold in folds for rows in fold]
    if data.qid is None and any(len(np.unique(side)) < 2 for side in sides):
        raise InputError("--time or --group leaves one class in a part of the rows; lower --cv")
    return folds


def most_folds(data: Dataset, most: int, seed: int) -> list[Fold]:
    """Return so many folds, or as many as there are rows, queries or groups for."""
    for number in range(most, 2, -1):
        with suppress(InputError):
            return make_folds(data, number, seed)
    return make_folds(data, 2, seed)


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


def cross_validate(
    pipelines: Mapping[str, Pipeline], data: Dataset, metric: str, options: Folds
) -> HeldOut:
    """Fit each pipeline on each fold and score the rows held out."""
    folds, found = held_out_rows(data, options.cv)
    fold = np.asarray(found.rows.fold)
    fits: dict[str, list[Pipeline]] = {}
    runs = list(itertools.product(pipelines, range(len(folds))))
    tasks = [
        delayed(_run_fold)(
            f"{name}, fold {k + 1}", pipelines[name], data, folds[k], metric, options
        )
        for name, k in runs
    ]
    try:
        with progress("cross-validating", total=len(tasks)) as advance:
            results = Parallel(n_jobs=options.n_jobs, return_as="generator")(tasks)
            for (name, k), (fitted, scores, seconds, lines, chosen) in zip(
                runs, results, strict=True
            ):
                if scores is not None:
                    found.scores.setdefault(name, np.empty(len(fold)))[fold == k] = scores
                found.seconds.setdefault(name, []).append(seconds)
                found.warnings.update((name, line) for line in lines)
                found.chosen.update([(name, chosen)] if chosen else [])
                fits.setdefault(name, []).append(fitted)
                advance()
    except InputError as error:  # perhaps of a parameter that not all rankers take
        if not options.param or len(options.rankers) == 1:
            raise
        hint = "--param goes to every ranker that has it, --rankers chooses the rankers"
        raise InputError(f"{str(error).removesuffix('.')}; {hint}") from error
    for name, of_folds in fits.items():
        curves = [_loss_curve(pipeline) for pipeline in of_folds]
        if all(map(len, curves)):
            found.rounds[name] = best_round(curves)
        scores = found.scores.setdefault(name, np.empty(len(fold)))
        for k, (pipeline, curve) in enumerate(zip(of_folds, curves, strict=True)):
            if len(curve):
                rows = data.X.iloc[folds[k][1]]
                scores[fold == k] = _scores_of_round(pipeline, rows, found.rounds.get(name))
    return found


def _loss_curve(pipeline: Pipeline) -> Floats:
    """Return the loss of the rows held out after each round of boosting; empty for others."""
    scores = getattr(pipeline[-1], "validation_scores_", np.zeros(0))
    return np.asarray(getattr(pipeline[-1], "validation_losses_", -scores))


def best_round(curves: Sequence[Floats]) -> int:
    """Return the number of rounds with the smallest mean; a curve that has ended stays there."""
    length = max(map(len, curves))
    padded = [np.pad(curve, (0, length - len(curve)), mode="edge") for curve in curves]
    return int(np.mean(padded, axis=0).argmin()) + 1


def _scores_of_round(pipeline: Pipeline, X: Any, n_rounds: int | None) -> Floats:
    """Return the scores of rows after some rounds; None: after all."""
    ranker: Any = pipeline[-1]
    has_grades = ranker.relevance == "graded"
    stages = ranker.staged_predict if has_grades else ranker.staged_decision_function
    *_, scores = itertools.islice(stages(pipeline[:-1].transform(X)), n_rounds)
    return np.asarray(scores)


def _run_fold(
    name: str, pipeline: Pipeline, data: Dataset, fold: Fold, metric: str, options: Folds
) -> tuple[Pipeline, Floats | None, float, list[str], str]:
    """Return the model, scores of the rows held out, seconds, warnings and chosen parameters.

    There are no scores of boosters that have a curve of their losses: all folds choose the round.
    """
    training, tested = data.take(fold[0]), data.take(fold[1])
    start = time.perf_counter()
    with threadpool_limits(1):  # so that seconds can be compared, and --n-jobs shares the cores
        pipeline, chosen = search(pipeline, training, metric, options)
        # What a search chose may differ between folds, and so do their rounds.
        can_watch = not chosen and has_rounds(pipeline[-1], options.param)
        watches = can_watch and have_pair(tested.y, tested.qid)
        warnings = fit_pipeline(pipeline, training, name, tested if watches else None)
    seconds = time.perf_counter() - start
    scores = None if len(_loss_curve(pipeline)) else scores_of(pipeline, tested.X)
    return pipeline, scores, seconds, warnings, chosen


def fit_pipeline(
    pipeline: Pipeline, data: Dataset, name: str, validation: Dataset | None = None
) -> list[str]:
    """Fit to a data set, with queries and weights; return the distinct warnings.

    Rows that stop boosting are those of validation. Without these a ranker draws them at random:
    where rows have groups or a time, other groups or the last period choose the rounds here.
    """
    model = pipeline[-1]
    is_ranker = type(model).__name__ in sklearn_rank.__all__
    y = (data.y > 0).astype(int) if is_classifier(model) and not is_ranker else data.y
    given = {"qid": data.qid if is_ranker else None, "sample_weight": data.weight}
    lines: list[str] = []
    stops = is_ranker and getattr(model, "n_iter_no_change", None) is not None
    if stops and validation is None and data.has_own_folds:
        train, test = most_folds(data, _TENTHS, model.random_state or 0)[-1]
        first = clone(pipeline)
        lines += fit_pipeline(first, data.take(train), name, data.take(test))
        n_rounds, patience = max(1, first[-1].n_iter_), model.n_iter_no_change
        model.set_params(n_estimators=n_rounds, n_iter_no_change=None)
        lines += fit_pipeline(pipeline, data, name)
        model.set_params(n_iter_no_change=patience)
        return list(dict.fromkeys(lines))
    with noting(lines, name):
        X = pipeline[:-1].fit_transform(data.X, y)
        if validation is not None:
            given |= {"X_val": pipeline[:-1].transform(validation.X), "y_val": validation.y}
            given |= {"qid_val": validation.qid, "sample_weight_val": validation.weight}
        model.fit(X, y, **{key: one for key, one in given.items() if one is not None})
    short = "equals RankBoost here, having found no ranking without errors"
    return list(dict.fromkeys(short if "was RankBoost's" in line else line for line in lines))


def search(unfitted: Pipeline, data: Dataset, metric: str, options: Folds) -> tuple[Pipeline, str]:
    """Return a pipeline, unfitted, with parameters chosen in two times three folds, and these.

    Of the settings, in the order given, the first is taken whose metric is within one standard
    error of the best: the error, over folds, of the mean difference from the best.
    """
    pipelines, model = {}, unfitted[-1]
    name, names = type(model).__name__, model.get_params()
    grid = {key: values for key, values in options.search.items() if key in names}
    for values in itertools.product(*grid.values()):
        setting = dict(zip(grid, values, strict=True))
        given = {f"ranker__{key}": value for key, value in setting.items()}
        told = ", ".join(f"{key}={value}" for key, value in setting.items())
        pipelines[told] = clone(unfitted).set_params(**given)
    if len(pipelines) == 1:
        return next(iter(pipelines.values())), next(iter(pipelines))
    found = []
    seeds = (data.seed, data.seed + 1) if data.time is None else (data.seed,)
    for train, test in (fold for seed in seeds for fold in make_folds(data, 3, seed)):
        fitted, held_out = data.take(train), data.take(test)
        for told, pipeline in pipelines.items():
            one = clone(pipeline)
            fit_pipeline(one, fitted, f"{name} with {told}")
            scores = scores_of(one, held_out.X)
            found.append(value(metric, held_out.y.astype(float), scores, held_out.qid))
    told = list(pipelines)[_first_good(np.reshape(found, (-1, len(pipelines))))]
    return pipelines[told], told


def _first_good(found: Floats) -> int:
    """Return the first setting within one standard error of the best; a row is a fold."""
    found = found[~np.isnan(found).any(axis=1)]
    if len(found) < 2:
        return 0
    below = found[:, [found.mean(axis=0).argmax()]] - found
    return int(np.argmax(below.mean(axis=0) <= below.std(axis=0, ddof=1) / np.sqrt(len(found))))
