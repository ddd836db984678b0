"""Rows with the totals of cards that were made without them."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.rows import DistinctRows, Rows
from sklearn_rank._core.validation import check_column
from sklearn_rank._core.warnings import warn
from sklearn_rank.model_selection import Fold, QueryKFold, checked_folds, split_queries
from sklearn_rank.scorecard._risk_curve import moments
from sklearn_rank.scorecard._rounding import BinnedTraining, round_steps, with_mean_points


def make_folds(data: Rows, n_folds: int, random_state: Any) -> tuple[Rows, list[Fold]]:
    """Divide heavy rows; return the rows and their folds, or none if there are too few rows.

    Without queries the folds are stratified by class, and rows with the same features are dealt
    as `DistinctRows` says; else they are of whole queries. There are no more folds than rows of the
    rarer class, or queries.

    Parameters
    ----------
    data : Rows
        The rows, equal ones as one.
    n_folds : int
        Number of folds.
    random_state : int, RandomState or None
        Divides the rows.
    """
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    folds: list[Fold] = []
    if data.qid is None:
        distinct = DistinctRows(data)
        n_folds = int(min(n_folds, distinct.count_by_level().min()))
    else:
        n_folds = int(min(n_folds, data.qid.max() + 1))
    if n_folds < 2:
        return data, folds
    if data.qid is None:
        rows, fold = distinct.folds(n_folds, seed)
        folds = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]
    else:
        splitter = QueryKFold(n_folds, shuffle=True, random_state=seed)
        rows, folds = data, list(splitter.split(data.y, data.y, qid=data.qid))
    return rows, [fold for fold in folds if _has_pairs(rows, *fold)]


def split_rows(data: Rows, cv: Any, y: Any, qid: Any) -> list[Fold]:
    """Return the folds of a splitter or an iterable, without rows of weight zero."""
    y = check_column(y, "y")
    if hasattr(cv, "split"):
        cv = list(split_queries(cv, np.zeros((len(y), 1)), y, qid=qid, groups=qid))
    row_index = np.full(len(y), -1)  # in `data`, by the index in y; -1 for weight zero
    row_index[data.position] = np.arange(len(data.position))
    folds = checked_folds("Scorecard", cv, row_index)
    return [fold for fold in folds if _has_pairs(data, *fold)]


def _has_pairs(data: Rows, train: Indices, test: Indices) -> bool:
    """Whether the rows to fit and those held out have a comparable pair each."""
    return all(len(rows) and data.take(rows).preferences.is_paired.any() for rows in (train, test))


def held_out_totals(
    ranker: Any, data: Rows, folds: list[Fold], points: tuple[int, int] | None, n_jobs: Any
) -> Rows | None:
    """Return rows whose single feature is their standardised total on a card made without them.

    Totals are standardised by their mean and standard deviation over the training rows of that
    card. A row held out by several folds has the total of the first. None without folds.

    Parameters
    ----------
    ranker : ranker
        It has validated the data.
    data : Rows
        The rows.
    folds : list of (ndarray, ndarray)
        The rows to fit and those held out.
    points : (int, int) or None
        Least and greatest points of a bin.
    n_jobs : int or None
        Processes.
    """
    if not folds:
        warn(
            "cv of Scorecard gives no fold with comparable rows both for training and for test: "
            "the probabilities are computed on the training rows."
        )
        return None
    totals = Parallel(n_jobs=n_jobs)(
        delayed(_totals_of_fold)(ranker, data, *fold, points) for fold in folds
    )
    rows, first_index = np.unique(np.concatenate([test for _, test in folds]), return_index=True)
    return replace(data.take(rows), X=np.concatenate(totals)[first_index, np.newaxis])


def _totals_of_fold(
    ranker: Any, data: Rows, train: Indices, test: Indices, points: tuple[int, int] | None
) -> Floats:
    """Return standardised totals of test rows on the card of a ranker fitted to other rows."""
    rows, model = data.take(train).with_moderate_weights(), copy(ranker)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.set_fitted(model.fit_rows(rows))
    training = BinnedTraining.of(model, rows)
    tables = training.centred if points is None else round_steps(training, points).tables
    tables = with_mean_points(training, tables)

    def totals(of_rows: Indices) -> Floats:
        X, sums = data.X[of_rows], np.zeros(len(of_rows))
        for step, table in zip(training.steps, tables, strict=True):
            sums += np.asarray(table)[step.bins_of_rows(X)]
        return sums

    mean, deviation = moments(totals(train), data.weight[train])
    return (totals(test) - mean) / deviation
