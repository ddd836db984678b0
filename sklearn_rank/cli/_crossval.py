"""Cross-validation by whole queries."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed

from sklearn_rank._protocols import Floats, Indices
from sklearn_rank.cli._dataset import Dataset
from sklearn_rank.cli._errors import InputError
from sklearn_rank.cli._intervals import LabelledRows
from sklearn_rank.cli._metrics import compute_metrics
from sklearn_rank.cli._progress import progress
from sklearn_rank.cli._rankers import fit_pipeline, scores_of

_MAX_LEVELS = 10
"""Maximum number of relevance levels for stratified folds."""

_MAX_STRATIFIED_GROUPS = 10_000
"""Maximum number of groups to stratify: scikit-learn assigns them in a Python loop."""

Fold = tuple[Indices, Indices]


@dataclass(frozen=True)
class Candidate:
    """A ranker or a baseline: a row of the table.

    Attributes
    ----------
    name : str
        Name in the table.
    pipeline : Pipeline
        Unfitted.
    is_baseline : bool
        Whether it is a classifier: it learns ``relevance > 0`` and ignores queries.
    """

    name: str
    pipeline: Pipeline
    is_baseline: bool = False


@dataclass(frozen=True)
class FoldResult:
    """The scores and metrics of one candidate on one fold, and the warnings it gave."""

    name: str
    fold: int
    metrics: dict[str, float]
    warnings: list[str]
    scores: Floats


def make_folds(data: Dataset, n_folds: int, seed: int) -> list[Fold]:
    """Split into folds of whole queries."""
    levels, level, count = np.unique(data.y, return_inverse=True, return_counts=True)
    few_levels = len(levels) <= _MAX_LEVELS
    shuffled = {"n_splits": n_folds, "shuffle": True, "random_state": seed}
    if data.qid is not None:
        n_queries = int(data.qid.max()) + 1
        if n_queries < n_folds:
            raise InputError(f"--cv {n_folds} needs as many queries; there are {n_queries}")
        stratify = few_levels and count.min() >= n_folds and n_queries <= _MAX_STRATIFIED_GROUPS
        splitter = (StratifiedGroupKFold if stratify else GroupKFold)(**shuffled)
    else:
        if data.schema.relevance == "binary" and count.min() < n_folds:
            raise InputError(
                f"--cv {n_folds} needs as many rows of each class; the rarer has {count.min()}"
            )
        if len(data.y) < n_folds:
            raise InputError(f"--cv {n_folds} needs as many rows; there are {len(data.y)}")
        stratify = few_levels and count.min() >= n_folds
        splitter = (StratifiedKFold if stratify else KFold)(**shuffled)
    return list(splitter.split(data.X, level, groups=data.qid))


def cross_validate(
    candidates: list[Candidate], data: Dataset, folds: list[Fold], n_jobs: int | None
) -> list[FoldResult]:
    """Fit and measure each candidate on each fold."""
    tasks = [
        delayed(_run_fold)(candidate, data, number, fold)
        for candidate in candidates
        for number, fold in enumerate(folds)
    ]
    results = []
    with progress("cross-validating", total=len(tasks)) as advance:
        for result in Parallel(n_jobs=n_jobs, return_as="generator")(tasks):
            results.append(result)
            advance()
    return results


def _run_fold(candidate: Candidate, data: Dataset, number: int, fold: Fold) -> FoldResult:
    train, test = fold
    y, qid = data.y[train], None if data.qid is None else data.qid[train]
    weight = None if data.weight is None else data.weight[train]
    if candidate.is_baseline:
        y, qid = (y > 0).astype(int), None
    pipeline = clone(candidate.pipeline)
    start = time.perf_counter()
    warnings = fit_pipeline(
        pipeline, data.X.iloc[train], y, qid, weight, f"{candidate.name}, fold {number + 1}"
    )
    seconds = time.perf_counter() - start
    scores = scores_of(pipeline, data.X.iloc[test])
    metrics = compute_metrics(
        data.y[test].astype(float), scores, None if data.qid is None else data.qid[test]
    )
    metrics["fit_seconds"] = seconds
    return FoldResult(candidate.name, number, metrics, warnings, scores)


def held_out(
    results: list[FoldResult], data: Dataset, folds: list[Fold]
) -> tuple[LabelledRows, dict[str, Floats]]:
    """Return all rows with their folds, and the held-out scores of each candidate."""
    number = np.empty(len(data.y), dtype=np.intp)
    for fold, (_, test) in enumerate(folds):
        number[test] = fold
    scores: dict[str, Floats] = {result.name: np.empty(len(data.y)) for result in results}
    for result in results:
        scores[result.name][folds[result.fold][1]] = result.scores
    return LabelledRows(data.y.astype(float), data.qid, number), scores
