"""Members of an ensemble: the list "auto", their folds, how each is fitted, how it scores rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import has_fit_parameter

from sklearn_rank._bins.categories import column_of
from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank._core.rows import Lots, Rows, distinct_rows, hash_rows, number_of_rows
from sklearn_rank._core.validation import categorical_positions
from sklearn_rank._core.warnings import warn
from sklearn_rank.engines.registry import get_engine
from sklearn_rank.estimators.boosted_trees import BoostedTreesRanker
from sklearn_rank.estimators.kernel_pairwise import KernelPairwiseSGDRanker
from sklearn_rank.estimators.p_norm_push import PNormPushRanker
from sklearn_rank.metrics.intervals import fold_of_queries
from sklearn_rank.metrics.scorers import scores_of
from sklearn_rank.model_selection import QueryKFold, split_queries

Splits = list[tuple[Indices, Indices]]
"""The rows to fit and those held out, of each fold."""

_MANY_CATEGORIES = 255
"""Categories of a feature up to which HistGradientBoosting takes it."""

_FEWEST_ROWS = 200
"""Rows from which on HistGradientBoosting is a member: its leaves have 20 rows."""

_FEWEST_VALUES = 20
"""Values that each column must have for HistGradientBoosting, which fails on an empty one."""

_FOREST = 150
"""Extra trees: 300 order no better and take twice as long."""

_MOST_KERNEL_ROWS = 5000
"""Rows up to which a kernel is a member: its time grows with their square."""

HIGHEST_GRADE = 31
"""Highest relevance that the engines take for their own objective."""


class Table:
    """The rows of a data frame, indexed as an array is.

    Parameters
    ----------
    frame : DataFrame
        A data frame of pandas or polars.
    """

    def __init__(self, frame: Any) -> None:
        self.frame, self.shape = frame, frame.shape

    def __getitem__(self, rows: Indices) -> Table:
        """Return some of the rows."""
        return Table(self.frame.iloc[rows] if hasattr(self.frame, "iloc") else self.frame[rows])

    @cached_property
    def numbers(self) -> Floats:
        """The values, those of columns without numbers by their place among them."""
        columns = [column_of(self.frame, number).ravel() for number in range(self.shape[1])]
        codes = [
            one if one.dtype.kind in "biuf" else np.unique(one.astype(str), return_inverse=True)[1]
            for one in columns
        ]
        return np.column_stack(codes).astype(np.float64)


def given_rows(X: Any) -> Any:
    """Return rows as the user passed them."""
    return getattr(X, "frame", X)


# The list "auto" ---------------------------------------------------------------------------


def auto_members(data: Rows, seed: int, relevance: str) -> dict[str, Any]:
    """Return the members of ``estimators="auto"`` by name, simple ones first."""
    n_rows, is_dense = number_of_rows(data.weight), not issparse(data.X)
    has_queries = data.qid is not None
    logistic = LogisticRegression(max_iter=1000)
    members: dict[str, Any] = {"logistic_regression": _scaled(data.X, logistic)}
    if has_queries:
        pairwise = KernelPairwiseSGDRanker(kernel="linear", relevance=relevance)
        members["linear"] = _scaled(data.X, pairwise)
    if is_dense:
        members["stumps"] = PNormPushRanker(relevance=relevance)
    is_graded = relevance == "graded"
    if is_dense and n_rows >= _FEWEST_ROWS and _suits_histograms(data.X):
        kind = HistGradientBoostingRegressor if is_graded else HistGradientBoostingClassifier
        members["hist_gradient_boosting"] = kind(random_state=seed)
    if is_dense:
        forest = ExtraTreesRegressor if is_graded else ExtraTreesClassifier
        extra_trees = forest(_FOREST, max_features="sqrt", random_state=seed)
        members["extra_trees"] = _scaled(data.X, extra_trees)
    members["trees"] = trees = BoostedTreesRanker(relevance=relevance, random_state=seed)
    has_grades = (data.weight == 1).all() and np.isin(data.y, range(HIGHEST_GRADE + 1)).all()
    if has_queries and has_grades:
        with suppress(ImportError):  # of a library, which need not be there
            get_engine("auto", "RankingEnsemble", needs_library=True)
            members["trees_ndcg"] = clone(trees).set_params(loss="ndcg")
    if n_rows <= _MOST_KERNEL_ROWS and not has_queries:
        members["rbf_kernel"] = _scaled(data.X, KernelPairwiseSGDRanker(relevance=relevance))
    return members


def _scaled(X: Any, model: Any) -> Any:
    """Return a pipeline that encodes, scales and fills features, with weights where they count.

    The levels of a category are not scaled, nor other columns of 0 and 1 beside them.
    """
    positions = categorical_positions(given_rows(X))
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoder = make_column_transformer((one_hot, list(positions)), remainder="passthrough")
    # Scaled features have the mean 0, which is the constant that fills numbers.
    fill = SimpleImputer(strategy="constant", add_indicator=True, keep_empty_features=True)
    if positions:
        return make_pipeline(encoder, NumberScaler(), fill, model)
    return make_pipeline(MaxAbsScaler() if issparse(X) else StandardScaler(), fill, model)


class NumberScaler(StandardScaler):
    """A `StandardScaler` that leaves columns of 0 and 1 as they are.

    Divided by its standard deviation the column of a rare category would have a large value in a
    few rows, which a penalty of weights hardly holds back, and a kernel would see little else. It
    knows such a column by its mean and its variance: of 0 and 1 alone the mean of the squares is
    the mean.
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the means and deviations of the columns."""
        super().fit(X, y, sample_weight)
        is_given = np.isclose(self.var_, self.mean_ * (1 - self.mean_), rtol=1e-6, atol=0)
        self.mean_[is_given], self.scale_[is_given] = 0.0, 1.0
        return self


def _suits_histograms(X: Any) -> bool:
    """Whether no categorical column has too many values, and none so few that a fold has none."""
    numbers, positions = getattr(X, "numbers", X), categorical_positions(given_rows(X))
    n_values = (~np.isnan(numbers)).sum(axis=0)
    n_levels = [len(np.unique(numbers[:, one])) for one in positions]
    return n_values.min() >= _FEWEST_VALUES and max(n_levels, default=0) <= _MANY_CATEGORIES


# Folds ----------------------------------------------------------------------------------------


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
    kept = [(train[train >= 0], test[test >= 0]) for train, test in splits]
    splits = [(train, test) for train, test in kept if len(test)]
    if len(splits) < 2 or not all(len(train) for train, _ in splits):
        raise ValueError(
            f"cv of {owner} must hold out rows in at least two folds, and leave rows to learn from "
            f"in each. Got {[(len(train), len(test)) for train, test in splits]} of them."
        )
    fold = np.full(len(data.y), -1)
    for number, (_, test) in enumerate(splits):
        again = data.position[test[fold[test] >= 0]]
        if len(again):
            raise ValueError(f"cv of {owner} must hold out a row at most once, not row {again[0]}.")
        fold[test] = number
    if data.qid is not None:
        fold_of_queries(fold, data.qid)  # raises an error where a query lies in several
    return data, splits, fold


def _masks_of(fold: Indices) -> list[tuple[Mask, Mask]]:
    """Return the rows to fit and those held out, by the fold of each row."""
    return [(fold != one, fold == one) for one in np.unique(fold[fold >= 0])]


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
    if data.qid is None:
        lots = Lots(data, code)
        n_of_level = lots.count_by_level()
        # Rows of the rarer class, or other than the most frequent grade.
        n_lists = int(n_of_level.sum() - n_of_level.max())
        return lots.folds(_at_most(owner, n_folds, n_lists, "distinct rows"), seed)
    rows, _, codes, place = distinct_rows(code, data.y, data.qid, data.weight)
    y, qid, fold = data.y[rows], np.asarray(codes), np.full(len(rows), -1)
    kept = Rows(None, y, qid, np.ones(len(rows))).paired_rows()
    n_folds = _at_most(owner, n_folds, len(np.unique(qid[kept])), "queries with a pair")
    splitter = QueryKFold(n_folds, shuffle=True, random_state=seed)
    for number, (_, test) in enumerate(splitter.split(kept, y[kept], qid=qid[kept])):
        fold[kept[test]] = number
    return data, fold[place]


def _at_most(owner: str, n_folds: int, n_lists: int, unit: str) -> int:
    """Return the number of folds that there can be; warn if they are fewer than asked for."""
    if n_lists < 2:
        raise ValueError(f"{owner} needs at least two {unit} per class or grade. Got {n_lists}.")
    if n_lists < n_folds:
        few = f"the rarer class has only so many {unit}"
        warn(f"{owner} uses {n_lists} folds, not cv={n_folds}: {few}.", UserWarning)
    return min(n_folds, n_lists)


# Fits and scores ------------------------------------------------------------------------------


def fit_keywords(estimator: Any, given: Iterable[str]) -> dict[str, str]:
    """Return which of the arrays given a `fit` takes: keyword to array, steps of pipelines too."""
    if not hasattr(estimator, "steps"):
        has_fit = hasattr(estimator, "fit")  # which "passthrough" has not
        return {one: one for one in given if has_fit and has_fit_parameter(estimator, one)}
    return {
        f"{name}__{keyword}": array
        for name, step in estimator.steps
        for keyword, array in fit_keywords(step, given).items()
    }


def fit_member(estimator: Any, keywords: Mapping[str, str], data: Rows) -> Any:
    """Return a fitted clone: classifiers learn classes, others relevance.

    A classifier of graded relevance learns which rows are relevant: those above 0, or where none
    or all are, above the lowest relevance.
    """
    y, arrays = data.y, {"qid": data.qid, "sample_weight": data.weight}
    if is_classifier(estimator) and y.dtype != np.bool_:
        lowest = float(y.min())
        y = y > (0.0 if lowest <= 0 < y.max() else lowest)
    y = y.astype(np.int64 if is_classifier(estimator) else np.float64)
    given = {keyword: arrays[array] for keyword, array in keywords.items()}
    with np.errstate(invalid="ignore"):  # the mean of a column without values
        return clone(estimator).fit(given_rows(data.X), y, **given)


def cross_fit(
    parallel: Any, fits: Mapping[str, Callable[[Rows], Any]], rows: Rows, splits: Splits
) -> dict[str, Floats]:
    """Return scores of the rows held out by each member; NaN for all others."""
    runs = [(name, train, test) for name in fits for train, test in splits]
    found = parallel(delayed(_fit_and_score)(fits[run[0]], rows, *run) for run in runs)
    scores = {name: np.full(len(rows.y), np.nan) for name in fits}
    for (name, _, test), values in zip(runs, found, strict=True):
        scores[name][test] = values
    return scores


def _fit_and_score(fit: Any, rows: Rows, name: str, train: Indices, test: Indices) -> Floats:
    """Return scores of the rows held out by a member fitted to others."""
    return member_scores(name, fit(rows.take(train)), rows.X[test])


def member_scores(name: str, model: Any, X: Any) -> Floats:
    """Return the scores of rows by a fitted member; ValueError if they are no finite numbers."""
    scores = np.asarray(scores_of(model, given_rows(X)), dtype=np.float64)
    if scores.shape != (X.shape[0],) or not np.isfinite(scores).all():
        raise ValueError(
            f"Member {name!r} of RankingEnsemble must give one finite score to each row. Got an "
            f"array of shape {scores.shape} for {X.shape[0]} rows, {np.isnan(scores).sum()} of "
            "them NaN."
        )
    return scores
