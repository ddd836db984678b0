"""Scores of rows by rankers fitted without them, and the search for p."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils.parallel import Parallel, delayed

from sklearn_rank._protocols import Floats, Indices, Mask
from sklearn_rank._validation import check_column
from sklearn_rank.base import TrainingData
from sklearn_rank.estimators._distinct_rows import distinct_rows
from sklearn_rank.metrics._scorers import RankingScorer
from sklearn_rank.model_selection import QueryKFold

Fold = tuple[Indices, Indices]

POWERS = (1.0, 2.0, 4.0, 8.0, 16.0)


def merged_rows(data: TrainingData) -> TrainingData:
    """Return rows of which equal ones are one, in an order that the input has no part in."""
    rows, weight, qid = distinct_rows(data.X, data.y, data.qid, data.weight)
    return replace(data.take(rows, weight), qid=qid)


def make_folds(data: TrainingData, cv: int, n_repeats: int, random: Any) -> list[Fold]:
    """Return folds of merged rows, repeat by repeat; none where there are too few rows.

    Without queries the folds are stratified by class; else they are of whole queries. There are
    no more folds than rows of the rarer class, or queries.
    """
    smallest = np.bincount(data.y.astype(np.intp)).min()
    n_splits = int(min(cv, smallest if data.qid is None else data.qid.max() + 1))
    if n_splits < 2:
        return []
    splitter: Any = StratifiedKFold if data.qid is None else QueryKFold
    folds: list[Fold] = []
    for _ in range(n_repeats):
        seed = int(random.randint(2**31 - 1))
        splits = splitter(n_splits, shuffle=True, random_state=seed)
        folds += splits.split(data.y, data.y, groups=data.qid)
    return _with_pairs(data, folds)


def given_folds(data: TrainingData, cv: Any, y: Any, qid: Any) -> list[Fold]:
    """Return the folds of a splitter, or given ones, without rows of weight zero."""
    y = check_column(y, "y")
    splits = check_cv(cv, y, classifier=True).split(np.zeros((len(y), 1)), y, groups=qid)
    place = np.full(len(y), -1)
    place[data.rows] = np.arange(len(data.rows))
    folds = [tuple(place[np.arange(len(y))[rows]] for rows in fold) for fold in splits]
    return _with_pairs(data, [(train[train >= 0], test[test >= 0]) for train, test in folds])


def _with_pairs(data: TrainingData, folds: Sequence[Fold]) -> list[Fold]:
    """Return the folds with a comparable pair on both sides."""
    return [
        fold
        for fold in folds
        if all(len(rows) and data.take(rows).preferences.is_paired.any() for rows in fold)
    ]


@dataclass(frozen=True, eq=False)
class FoldFit:
    """What a ranker fitted without the rows of a fold says about them.

    Attributes
    ----------
    score : float
        The metric, on these rows.
    standardised : ndarray
        Their scores less the mean over the other rows, by the standard deviation.
    """

    score: float
    standardised: Floats


@dataclass(frozen=True, eq=False)
class FoldFits:
    """Fits of a ranker without the rows of each fold.

    Attributes
    ----------
    X, y, qid : object
        What the caller passed to `fit`.
    data : TrainingData
        The rows to fit and to score.
    folds : list of (ndarray, ndarray)
        The rows to fit and those to score, as positions in `data`.
    scorer : RankingScorer
        The metric.
    n_jobs : int or None
        Processes.
    """

    X: Any
    y: Any
    qid: Any
    data: TrainingData
    folds: Sequence[Fold]
    scorer: RankingScorer
    n_jobs: int | None

    def run(self, rankers: Sequence[Any]) -> list[list[FoldFit]]:
        """Return the fits of each ranker without each fold."""
        tasks = [(ranker, *fold) for ranker in rankers for fold in self.folds]
        found = Parallel(n_jobs=self.n_jobs)(delayed(self._one)(*task) for task in tasks)
        width = len(self.folds)
        return [found[n * width : (n + 1) * width] for n in range(len(rankers))]

    def _one(self, ranker: Any, train: Indices, test: Indices) -> FoldFit:
        data = self.data
        weight = np.zeros(len(check_column(self.y, "y")))
        weight[data.rows[train]] = data.weight[train]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            ranker = clone(ranker).fit(self.X, self.y, qid=self.qid, sample_weight=weight)
        scores = ranker.decision_function(self.X)[data.rows]
        mean, deviation = moments(scores[train], data.weight[train])
        measured = measure(self.scorer, data.take(test), scores[test])
        return FoldFit(measured, (scores[test] - mean) / deviation)

    def held_out(self, fits: Sequence[FoldFit]) -> HeldOut | None:
        """Return rows and their scores by the first ranker fitted without each."""
        if not fits:
            return None
        rows = np.concatenate([test for _, test in self.folds])
        scores = np.concatenate([one.standardised for one in fits])
        rows, first = np.unique(rows, return_index=True)
        return HeldOut(np.asarray(self.data.y[rows]), self.data.weight[rows], scores[first])


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rows, and their scores by rankers fitted without them.

    Attributes
    ----------
    positive : ndarray of bool
        Whether each is of the upper class.
    weight : ndarray
        Their multiplicities.
    standardised : ndarray
        Scores less their mean over the rows of the fit, by the standard deviation.
    """

    positive: Mask
    weight: Floats
    standardised: Floats


def moments(values: Floats, weight: Floats) -> tuple[float, float]:
    """Return the weighted mean and standard deviation; 1 in place of a deviation of 0."""
    mean = float(np.average(values, weights=weight))
    deviation = float(np.sqrt(np.average((values - mean) ** 2, weights=weight)))
    return mean, deviation if deviation > 0 else 1.0


def measure(scorer: RankingScorer, data: TrainingData, scores: Floats) -> float:
    """Return a metric; a row of weight 2 counts twice, also in metrics that know no weights."""
    weight = data.weight
    if scorer._accept_sample_weight():
        return scorer.measure(data.y, scores, qid=data.qid, sample_weight=weight)
    if (weight == 1).all():
        return scorer.measure(data.y, scores, qid=data.qid)
    if (weight % 1 != 0).any():
        raise ValueError(
            f"scoring={scorer.label!r} of Scorecard has no sample weights, so that weights must "
            "be integers. Use 'auc' or 'pauc@0.05', or integers."
        )
    rows = np.repeat(np.arange(len(weight)), weight.astype(np.intp))
    qid = None if data.qid is None else data.qid[rows]
    return scorer.measure(data.y[rows], scores[rows], qid=qid)


def smallest_of_the_best(scores: dict[float, Floats]) -> float:
    r"""Return the smallest p whose mean score is within one standard error of the best.

    The standard error is that of the mean difference to the best p, fold by fold. Folds of
    repeated cross-validation overlap, so that it is
    :math:`\sigma \sqrt{1 / n + 1 / (k - 1)}` with n the number of folds of all repeats and k
    that of one.
    """
    means = {p: float(np.mean(values)) for p, values in scores.items()}
    best = max(means, key=lambda p: (round(means[p], 12), -p))
    for p in sorted(scores):
        difference = scores[best] - scores[p]
        error = float(np.std(difference, ddof=1) / np.sqrt(len(difference)))
        if difference.mean() <= error + 1e-12:
            return p
    return best
