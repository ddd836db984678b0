"""Scores of rows by rankers fitted without them, and the search for p."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.parallel import Parallel, delayed

from sklearn_rank._protocols import Floats, Indices
from sklearn_rank.base import TrainingData
from sklearn_rank.estimators._distinct_rows import distinct_rows
from sklearn_rank.metrics._scorers import RankingScorer
from sklearn_rank.model_selection import QueryKFold

POWERS = (1.0, 2.0, 4.0, 8.0, 16.0)


def merged_rows(data: TrainingData) -> TrainingData:
    """Return rows of which equal ones are one, in an order that the input has no part in."""
    rows, weight, qid = distinct_rows(data.X, data.y, data.qid, data.weight)
    return replace(data.take(rows, weight), qid=qid)


def make_folds(data: TrainingData, cv: int, n_repeats: int, random: Any) -> list[Indices]:
    """Return the test rows of each fold, repeat by repeat; none where there are too few rows.

    Without queries the folds are stratified by class; else they are of whole queries. There are
    no more folds than rows of the rarer class, or queries. Folds without a comparable pair on
    one of both sides are left out.
    """
    smallest = np.bincount(data.y.astype(np.intp)).min()
    n_splits = int(min(cv, smallest if data.qid is None else data.qid.max() + 1))
    if n_splits < 2:
        return []
    tests: list[Indices] = []
    for _ in range(n_repeats):
        seed = int(random.randint(2**31 - 1))
        if data.qid is None:
            folds = StratifiedKFold(n_splits, shuffle=True, random_state=seed)
            tests += [test for _, test in folds.split(data.y, data.y)]
        else:
            queries = QueryKFold(n_splits, shuffle=True, random_state=seed)
            tests += [test for _, test in queries.split(data.y, data.y, qid=data.qid)]
    return [test for test in tests if _has_pairs(data, test)]


def _has_pairs(data: TrainingData, test: Indices) -> bool:
    train = np.setdiff1d(np.arange(len(data.y)), test)
    return all(data.take(rows).preferences.is_paired.any() for rows in (train, test))


@dataclass(frozen=True, eq=False)
class FoldFit:
    """What a ranker fitted without the rows of a fold says about them.

    Attributes
    ----------
    test : ndarray of int
        The rows of the fold.
    score : float
        The metric, on these rows.
    standardised : ndarray
        Their scores less the mean over the other rows, by the standard deviation.
    """

    test: Indices
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
        The distinct rows among them.
    tests : list of ndarray
        The rows of each fold, as positions in `data`.
    scorer : RankingScorer
        The metric.
    n_jobs : int or None
        Processes.
    """

    X: Any
    y: Any
    qid: Any
    data: TrainingData
    tests: Sequence[Indices]
    scorer: RankingScorer
    n_jobs: int | None

    def run(self, rankers: Sequence[Any]) -> list[list[FoldFit]]:
        """Return the fits of each ranker without each fold."""
        tasks = [(ranker, test) for ranker in rankers for test in self.tests]
        found = Parallel(n_jobs=self.n_jobs)(delayed(self._one)(*task) for task in tasks)
        width = len(self.tests)
        return [found[n * width : (n + 1) * width] for n in range(len(rankers))]

    def _one(self, ranker: Any, test: Indices) -> FoldFit:
        data = self.data
        in_train = np.ones(len(data.y), dtype=bool)
        in_train[test] = False
        weight = np.zeros(len(self.X))
        weight[data.rows[in_train]] = data.weight[in_train]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            ranker = clone(ranker).fit(self.X, self.y, qid=self.qid, sample_weight=weight)
        scores = ranker.decision_function(self.X)[data.rows]
        mean, deviation = moments(scores[in_train], data.weight[in_train])
        measured = measure(self.scorer, data.take(test), scores[test])
        return FoldFit(test, measured, (scores[test] - mean) / deviation)


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
