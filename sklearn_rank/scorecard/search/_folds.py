"""Scores of rows by rankers fitted without them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import copy_context
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils.parallel import Parallel, delayed

from sklearn_rank._bins.binned_features import BinnedFeatures
from sklearn_rank._core.distinct import Dealing
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.rows import FitRows, Rows
from sklearn_rank._core.sums import ALL_HERE, Sums, shared_property
from sklearn_rank._core.validation import check_column
from sklearn_rank._core.warnings import IS_TAKEN
from sklearn_rank.metrics.scorers import RankingScorer
from sklearn_rank.model_selection import QueryKFold, split_queries
from sklearn_rank.models import StumpConstraints, Stumps, as_model

Fold = tuple[Indices, Indices]

CardTotals = Callable[[Any, Rows], Callable[[Floats], Floats]]
"""From a fitted ranker and its training rows to the totals of its card, a function of features."""


def make_folds(data: Rows, cv: int, n_repeats: int, random: Any) -> list[tuple[Rows, list[Fold]]]:
    """Return the rows to fit and to score, and the folds of them, of each repeat.

    None where there are too few rows. Without queries the folds are stratified by class, and rows
    with the same features are dealt as `Dealing` says; else they are of whole queries. There are
    no more folds than rows of the rarer class, or queries.

    Parameters
    ----------
    data : Rows
        The rows of this process, equal ones as one.
    cv : int
        Number of folds.
    n_repeats : int
        Number of repeats.
    random : RandomState
        Divides the rows.
    """
    known, place, before = data.everywhere(with_features=False)
    codes = known.code if known.qid is None else np.arange(len(known.y), dtype=np.uint64)
    dealt = known.weight, Dealing.of(codes, known.y, known.weight)
    y = np.repeat(known.y, dealt[1].copies)
    n_lists = np.bincount(y.astype(np.intp)).min() if known.qid is None else known.qid.max() + 1
    n_splits = int(min(cv, n_lists))
    repeats = []
    for _ in range(n_repeats if n_splits > 1 else 0):
        splitter: Any = StratifiedKFold if known.qid is None else QueryKFold
        splits = splitter(n_splits, shuffle=True, random_state=int(random.randint(2**31 - 1)))
        fold = np.empty(len(y), dtype=np.intp)
        tests = split_queries(splits, y, y, qid=known.qid, groups=None)
        for number, (_, test) in enumerate(tests):
            fold[test] = number
        parts, of_part = known.divided(np.arange(len(known.y)), *dealt, fold)
        used = [one for one in range(n_splits) if _has_pairs(parts, *_fold(of_part, one))]
        if known is not data:  # several processes
            parts, of_part = data.divided(place, *dealt, fold, before)
        if len(used) > 1:
            repeats.append((parts, [_fold(of_part, one) for one in used]))
    return repeats


def _fold(fold: Indices, number: int) -> Fold:
    """Return the rows to fit and those to score of one fold, given the fold of each row."""
    return np.flatnonzero(fold != number), np.flatnonzero(fold == number)


def given_folds(data: Rows, cv: Any, y: Any, qid: Any) -> list[list[Fold]]:
    """Return the folds of a splitter, or given ones, as one repeat, without rows of weight zero."""
    y = check_column(y, "y")
    splitter = check_cv(cv, y, classifier=True)
    splits = split_queries(splitter, np.zeros((len(y), 1)), y, qid=qid, groups=qid)
    place = np.full(len(y), -1)
    place[data.position] = np.arange(len(data.position))
    try:
        folds = [(place[train], place[test]) for train, test in splits]
    except (IndexError, TypeError) as error:
        raise ValueError(
            f"cv of Scorecard must yield pairs of arrays with indices of the {len(y)} rows, for "
            f"training and for test. {error}"
        ) from error
    folds = [(train[train >= 0], test[test >= 0]) for train, test in folds]
    found = [fold for fold in folds if _has_pairs(data, *fold)]
    return [found] if found else []


def _has_pairs(data: Rows, *fold: Indices) -> bool:
    """Whether the rows to fit and those to score have a comparable pair each."""
    return all(len(rows) and data.take(rows).preferences.is_paired.any() for rows in fold)


@dataclass(frozen=True, eq=False)
class FoldFit:
    """A ranker fitted without the rows of a fold.

    Attributes
    ----------
    score : float
        The metric, on these rows.
    fitted : dict of str to object
        Its fitted attributes.
    """

    score: float
    fitted: dict[str, Any]


@dataclass(frozen=True, eq=False)
class FoldFits:
    """Fits of a ranker without the rows of each fold.

    Attributes
    ----------
    data : Rows
        The rows to fit and to score.
    folds : list of (ndarray, ndarray)
        The rows to fit and those to score, as positions in `data`.
    scorer : RankingScorer
        The metric.
    n_jobs : int or None
        Processes.
    """

    data: Rows
    folds: Sequence[Fold]
    scorer: RankingScorer
    n_jobs: int | None

    @shared_property
    def ratio(self) -> float:
        """Weight of the rows to score by that of the rows to fit, over all folds."""
        weights = [[float(self.data.weight[rows].sum()) for rows in fold] for fold in self.folds]
        train, test = self.data.total(np.array(weights).sum(axis=0))
        return float(test / train)

    def run(self, rankers: Sequence[Any]) -> list[list[FoldFit]]:
        """Return the fits of each ranker, which has validated the data, without each fold."""
        found = Parallel(n_jobs=self.n_jobs)(
            delayed(self._without_a_fold)(rankers, *fold) for fold in self.folds
        )
        return [list(fits) for fits in zip(*found, strict=True)]

    def _without_a_fold(
        self, rankers: Sequence[Any], train: Indices, test: Indices
    ) -> list[FoldFit]:
        """Return the fits of each ranker to some rows, of which all use the same bins."""
        rows = self.data.take(train).with_moderate_weights()  # once for all
        shared: dict[float, BinnedFeatures] = {}
        return [self._one(_sharing(ranker, shared), rows, train, test) for ranker in rankers]

    def _one(self, ranker: Any, rows: Rows, train: Indices, test: Indices) -> FoldFit:
        data = self.data
        context, others = copy_context(), IS_TAKEN.get()
        context.run(IS_TAKEN.set, lambda *note: note[1] is ConvergenceWarning or others(*note))
        fitted = context.run(ranker.fit_rows, rows)
        rules, weights = fitted["weak_rankers_"], fitted["estimator_weights_"]
        scores = rules.scores(data.X, weights, ThreadPool(1))
        return FoldFit(data.agree(measure(self.scorer, data.take(test), scores[test])), fitted)

    def held_out(self, fits: Sequence[FoldFit], ranker: Any, card_totals: CardTotals) -> Rows:
        """Return rows whose one feature is their standardised total by a card made without them.

        It is the total less the mean over the training rows of that card, by their standard
        deviation. Of several such cards it is the first.

        Parameters
        ----------
        fits : list of FoldFit
            Those of a ranker, one for each fold.
        ranker : ranker
            That ranker; not fitted, it has validated the data.
        card_totals : callable
            Takes a fitted ranker and its training rows, and returns a function from features of
            rows to the totals of the card that is made of it.
        """
        found = []
        for (train, test), fit in zip(self.folds, fits, strict=True):
            fitted = copy(ranker)
            fitted.set_fitted(fit.fitted)
            totals = card_totals(fitted, self.data.take(train).with_moderate_weights())
            weight, X = self.data.weight[train], self.data.X
            mean, deviation = moments(totals(X[train]), weight, self.data)
            found.append((totals(X[test]) - mean) / deviation)
        rows = np.concatenate([test for _, test in self.folds])
        rows, first = np.unique(rows, return_index=True)
        return _scored(replace(self.data.take(rows), qid=None), np.concatenate(found)[first])


class _SharedBins(Stumps):
    """The stumps of several fits to the same rows, whose bins of one size are found once."""

    shared: dict[float, BinnedFeatures]

    def _binned(self, rows: FitRows, constraints: StumpConstraints) -> BinnedFeatures:
        size = constraints.min_bin_size
        if size not in self.shared:
            self.shared[size] = super()._binned(rows, constraints)
        return self.shared[size]


def _sharing(ranker: Any, shared: dict[float, BinnedFeatures]) -> Any:
    """Return a ranker that has validated its parameters, with bins that may be known."""
    ranker = copy(ranker)
    stumps: Any = as_model(ranker.weak_ranker)
    ranker.weak_ranker = _SharedBins(**stumps.get_params(deep=False))
    ranker.weak_ranker.shared = shared
    return ranker


def moments(values: Floats, weight: Floats, sums: Sums = ALL_HERE) -> tuple[float, float]:
    """Return the weighted mean and standard deviation; 1 in place of a deviation of 0."""
    total, first = sums.totals(float(weight.sum()), float((values * weight).sum()))
    mean = float(first / total)
    variance = sums.total(float(((values - mean) ** 2 * weight).sum())) / total
    return mean, float(np.sqrt(variance)) if variance > 0 else 1.0


def _scored(data: Rows, scores: Floats) -> Rows:
    """Return the rows of all processes with their scores as X, those that are equal as one."""
    return replace(data, X=scores[:, np.newaxis]).everywhere()[0]


def measure(scorer: RankingScorer, data: Rows, scores: Floats) -> float:
    """Return a metric; a row of weight 2 counts twice, also in metrics that know no weights."""
    data = _scored(data, scores)
    scores, weight = data.X[:, 0], data.weight
    if scorer.takes("sample_weight"):
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
