"""Folds that hold out whole queries, or rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import PredefinedSplit

from sklearn_rank._core.protocols import Indices, Mask, Values
from sklearn_rank._core.rows import Lots, Rows, distinct_rows, hash_rows
from sklearn_rank._core.warnings import warn
from sklearn_rank.ensemble.members import Splits, given_rows
from sklearn_rank.metrics.intervals import fold_of_queries
from sklearn_rank.model_selection import QueryKFold, split_queries


def make_folds(owner: str, data: Rows, cv: Any, seed: int) -> tuple[Rows, Splits, Indices]:
    """Divide rows into folds.

    Splitters see the rows of positive weight. Row numbers, and `PredefinedSplit`, which ignores
    what it sees, are those of the rows passed.

    Returns
    -------
    rows : Rows
        The rows, of which a number of folds may have divided some by their weight.
    splits : list of (ndarray of int, ndarray of int)
        The rows to fit and those held out, of each fold that holds out rows.
    fold : ndarray of int of shape (n_rows,)
        The fold that held out each row, -1 for none.
    """
    place = np.arange(len(data.y))
    if isinstance(cv, int | np.integer):
        data, fold = _assign_folds(owner, data, int(cv), seed)
        place, cv = np.arange(len(fold)), _masks_of(fold)
    elif hasattr(cv, "split") and not isinstance(cv, PredefinedSplit):
        given = {"qid": data.qid, "groups": data.qid}
        cv = list(split_queries(cv, given_rows(data.X), data.labels, **given))
    else:
        cv = _masks_of(cv.test_fold) if isinstance(cv, PredefinedSplit) else list(cv)
        place = np.full(data.n_passed, -1)
        place[data.position] = np.arange(len(data.y))
    try:
        splits = [(place[np.asarray(train)], place[np.asarray(test)]) for train, test in cv]
    except (IndexError, TypeError, ValueError) as error:
        raise ValueError(
            f"cv of {owner} must yield (train, test) arrays with numbers of the {len(place)} rows, "
            f"or masks of them. {error}"
        ) from error
    splits = [(train[train >= 0], test[test >= 0]) for train, test in splits]
    splits = [(train, test) for train, test in splits if len(test)]
    if len(splits) < 2 or not all(len(train) for train, _ in splits):
        raise ValueError(
            f"cv of {owner} must hold out rows in at least two folds, and leave rows to learn from "
            f"in each. Got {[(len(train), len(test)) for train, test in splits]} of them."
        )
    return data, splits, _fold_of_rows(owner, data, splits)


def _masks_of(fold: Indices) -> list[tuple[Mask, Mask]]:
    """Return the rows to fit and those held out, by the fold of each row."""
    return [(fold != one, fold == one) for one in np.unique(fold[fold >= 0])]


def _fold_of_rows(owner: str, data: Rows, splits: Splits) -> Indices:
    """Return the fold that held out each row, -1 for none; each row and query has one."""
    fold = np.full(len(data.y), -1)
    for number, (_, test) in enumerate(splits):
        again = data.position[test[fold[test] >= 0]]
        if len(again):
            raise ValueError(f"cv of {owner} must hold out a row at most once, not row {again[0]}.")
        fold[test] = number
    if data.qid is not None:
        fold_of_queries(fold, data.qid)  # raises an error where a query lies in several
    return fold


def rows_fitted_to(splits: Splits, fold: Indices) -> dict[int, Mask]:
    """Return which of the rows held out each fold learns from."""
    rows = np.flatnonzero(fold >= 0)
    return {k: np.isin(rows, train) & (fold[rows] != k) for k, (train, _) in enumerate(splits)}


def _assign_folds(owner: str, data: Rows, n_folds: int, seed: int) -> tuple[Rows, Indices]:
    """Return the rows, some in parts, and the fold of each; -1 for queries without a pair.

    Queries are whole. In one list folds are stratified by class or grade, and rows with the same
    features are dealt as `Lots` says. The order of the rows has no part in it, and weight 2 is
    the row twice.
    """
    code = hash_rows(getattr(data.X, "numbers", data.X))
    if data.qid is not None:
        rows, _, qid, place = distinct_rows(code, data.y, data.qid, data.weight)
        return data, _folds_of_queries(owner, data.y[rows], qid, n_folds, seed)[place]
    lots = Lots(data, code)
    n_of_level = lots.count_by_level()
    # Rows of the rarer class, or other than the most frequent grade.
    n_lists = int(n_of_level.sum() - n_of_level.max())
    return lots.folds(_at_most(owner, n_folds, n_lists, "distinct rows"), seed)


def _folds_of_queries(owner: str, y: Values, qid: Any, n_folds: int, seed: int) -> Indices:
    """Return the fold of each row, that of its query; -1 for queries without a pair."""
    kept = Rows(None, y, qid, np.ones(len(y))).paired_rows()
    n_folds = _at_most(owner, n_folds, len(np.unique(qid[kept])), "queries with a pair")
    fold = np.full(len(y), -1)
    splitter = QueryKFold(n_folds, shuffle=True, random_state=seed)
    for number, (_, test) in enumerate(splitter.split(kept, y[kept], qid=qid[kept])):
        fold[kept[test]] = number
    return fold


def _at_most(owner: str, n_folds: int, n_lists: int, unit: str) -> int:
    """Return the number of folds that there can be; warn if they are fewer than asked for."""
    if n_lists < 2:
        raise ValueError(
            f"{owner} needs at least two {unit} of each class or relevance, to hold some out. "
            f"Got {n_lists}."
        )
    if n_lists < n_folds:
        warn(
            f"{owner} uses {n_lists} folds, not cv={n_folds}: the rarer class has only so many "
            f"{unit}.",
            UserWarning,
        )
    return min(n_folds, n_lists)
