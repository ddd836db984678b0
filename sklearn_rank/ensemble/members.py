"""Members of an ensemble: the list "auto", folds, fits and scores."""

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
from sklearn_rank._core.rows import DistinctRows, Rows, distinct_rows, hash_rows, number_of_rows
from sklearn_rank._core.validation import categorical_positions
from sklearn_rank._core.warnings import warn
from sklearn_rank.engines.registry import get_engine
from sklearn_rank.estimators.boosted_trees import BoostedTreesRanker
from sklearn_rank.estimators.kernel_pairwise import KernelPairwiseSGDRanker
from sklearn_rank.estimators.p_norm_push import PNormPushRanker
from sklearn_rank.metrics.intervals import fold_of_queries
from sklearn_rank.metrics.scorers import scores_of
from sklearn_rank.model_selection import Fold, QueryKFold, checked_folds, split_queries

_MANY_CATEGORIES = 255
"""Maximum number of categories of a feature that HistGradientBoosting accepts."""

_FEWEST_ROWS = 200
"""Minimum number of rows for HistGradientBoosting as a member: its leaves have 20 rows."""

_FEWEST_VALUES = 20
"""Values that each column needs for HistGradientBoosting, which fails on an empty column."""

_FOREST = 150
"""Number of extra trees: 300 order no better and take twice as long."""

_MOST_KERNEL_ROWS = 5000
"""Rows up to which a kernel is a member: its time is quadratic."""

HIGHEST_GRADE = 31
"""Highest relevance that the engines take for their own objective."""


class FrameRows:
    """The rows of a data frame, indexed as an array is.

    Parameters
    ----------
    frame : DataFrame
        A data frame of pandas or polars.
    """

    def __init__(self, frame: Any) -> None:
        self.frame, self.shape = frame, frame.shape

    def __getitem__(self, rows: Indices) -> FrameRows:
        """Return some of the rows."""
        return FrameRows(self.frame.iloc[rows] if hasattr(self.frame, "iloc") else self.frame[rows])

    @cached_property
    def numbers(self) -> Floats:
        """The values as numbers; text is replaced by its rank among the distinct texts."""
        columns = [column_of(self.frame, j).ravel() for j in range(self.shape[1])]
        numbers = [
            x if x.dtype.kind in "biuf" else np.unique(x.astype(str), return_inverse=True)[1]
            for x in columns
        ]
        return np.column_stack(numbers).astype(np.float64)


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
        model_class = HistGradientBoostingRegressor if is_graded else HistGradientBoostingClassifier
        members["hist_gradient_boosting"] = model_class(random_state=seed)
    if is_dense:
        forest_class = ExtraTreesRegressor if is_graded else ExtraTreesClassifier
        extra_trees = forest_class(_FOREST, max_features="sqrt", random_state=seed)
        members["extra_trees"] = _scaled(data.X, extra_trees)
    members["trees"] = trees = BoostedTreesRanker(relevance=relevance, random_state=seed)
    # NDCG has no weights, and the engines take small whole grades only.
    has_grades = (data.weight == 1).all() and np.isin(data.y, range(HIGHEST_GRADE + 1)).all()
    if has_queries and has_grades:
        with suppress(ImportError):  # of a library, which need not be there
            get_engine("auto", "RankingEnsemble", needs_library=True)
            members["trees_ndcg"] = clone(trees).set_params(loss="ndcg")
    if n_rows <= _MOST_KERNEL_ROWS and not has_queries:
        members["rbf_kernel"] = _scaled(data.X, KernelPairwiseSGDRanker(relevance=relevance))
    return members


def _scaled(X: Any, model: Any) -> Any:
    """Return a pipeline that encodes, scales and fills features before the model.

    With categories, columns of 0 and 1 are not scaled.
    """
    positions = categorical_positions(given_rows(X))
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoder = make_column_transformer((one_hot, list(positions)), remainder="passthrough")
    # Scaled features have mean 0, the constant that fills numbers.
    imputer = SimpleImputer(strategy="constant", add_indicator=True, keep_empty_features=True)
    if positions:
        return make_pipeline(encoder, NumberScaler(), imputer, model)
    return make_pipeline(MaxAbsScaler() if issparse(X) else StandardScaler(), imputer, model)


class NumberScaler(StandardScaler):
    """A `StandardScaler` that leaves columns of 0 and 1 unchanged.

    Divided by its standard deviation, the column of a rare category would have large values in a
    few rows: a penalty of coefficients would hardly shrink it, and a kernel would depend on little
    else. Such a column has the variance m (1 - m) of its mean m.
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the means and deviations of the columns."""
        super().fit(X, y, sample_weight)
        is_binary = np.isclose(self.var_, self.mean_ * (1 - self.mean_), rtol=1e-6, atol=0)
        self.mean_[is_binary], self.scale_[is_binary] = 0.0, 1.0
        return self


def _suits_histograms(X: Any) -> bool:
    """Whether no categorical column has too many values, and no column too few for the folds."""
    numbers, positions = getattr(X, "numbers", X), categorical_positions(given_rows(X))
    n_values = (~np.isnan(numbers)).sum(axis=0)
    n_levels = [len(np.unique(numbers[:, j])) for j in positions]
    return n_values.min() >= _FEWEST_VALUES and max(n_levels, default=0) <= _MANY_CATEGORIES


# Folds ----------------------------------------------------------------------------------------


def make_folds(owner: str, data: Rows, cv: Any, seed: int) -> tuple[Rows, list[Fold], Indices]:
    """Divide rows into folds.

    Splitters see the rows of positive weight. Row indices, and `PredefinedSplit`, which ignores its
    arguments, mean the rows passed.

    Returns
    -------
    rows : Rows
        The rows; with a number of folds heavy ones may be divided among the folds.
    splits : list of (ndarray of int, ndarray of int)
        The rows to fit and those held out, of each fold that holds out rows.
    fold : ndarray of int of shape (n_rows,)
        The fold that held out each row, -1 for none.
    """
    index = np.arange(len(data.y))  # among the rows of positive weight; -1 for others
    if isinstance(cv, int | np.integer):
        data, fold = _assign_folds(owner, data, int(cv), seed)
        index, cv = np.arange(len(fold)), _masks_of(fold)
    elif hasattr(cv, "split") and not isinstance(cv, PredefinedSplit):
        queries = {"qid": data.qid, "groups": data.qid}
        cv = list(split_queries(cv, given_rows(data.X), data.labels, **queries))
    else:
        cv = _masks_of(cv.test_fold) if isinstance(cv, PredefinedSplit) else list(cv)
        index = np.full(data.n_passed, -1)
        index[data.position] = np.arange(len(data.y))
    splits = [split for split in checked_folds(owner, cv, index) if len(split[1])]
    if len(splits) < 2 or not all(len(train) for train, _ in splits):
        raise ValueError(
            f"cv of {owner} must hold out rows in at least two folds, and leave rows to fit in "
            f"each. Got {[(len(train), len(test)) for train, test in splits]} rows."
        )
    fold = np.full(len(data.y), -1)
    for k, (_, test) in enumerate(splits):
        twice = data.position[test[fold[test] >= 0]]
        if len(twice):
            raise ValueError(f"cv of {owner} must hold out a row at most once, not row {twice[0]}.")
        fold[test] = k
    if data.qid is not None:
        fold_of_queries(fold, data.qid)  # raises an error where a query lies in several
    return data, splits, fold


def _masks_of(fold: Indices) -> list[tuple[Mask, Mask]]:
    """Return the rows to fit and the held-out rows of each fold, given the fold of each row."""
    return [(fold != k, fold == k) for k in np.unique(fold[fold >= 0])]


def rows_fitted_to(splits: list[Fold], fold: Indices) -> dict[int, Mask]:
    """Return, for each fold, which held-out rows its members are fitted to."""
    rows = np.flatnonzero(fold >= 0)
    return {k: np.isin(rows, train) & (fold[rows] != k) for k, (train, _) in enumerate(splits)}


def _assign_folds(owner: str, data: Rows, n_folds: int, seed: int) -> tuple[Rows, Indices]:
    """Divide heavy rows; return the rows and their folds, -1 for queries without a pair.

    Queries are whole. In one list folds are stratified by class or grade, and rows with the
    same features stay together unless they carry more than 1 % of the weight (`DistinctRows`).
    Folds do not depend on the order of the rows; a row of weight 2 is the row twice.
    """
    row_hash = hash_rows(getattr(data.X, "numbers", data.X))
    if data.qid is None:
        distinct = DistinctRows(data, row_hash)
        n_of_level = distinct.count_by_level()
        # Rows of the rarer class, or other than the most frequent grade.
        n_rarer = int(n_of_level.sum() - n_of_level.max())
        return distinct.folds(_limited_folds(owner, n_folds, n_rarer, "distinct rows"), seed)
    rows, _, query_code, set_of_row = distinct_rows(row_hash, data.y, data.qid, data.weight)
    y, qid, fold = data.y[rows], np.asarray(query_code), np.full(len(rows), -1)
    paired = Rows(None, y, qid, np.ones(len(rows))).paired_rows()
    n_queries = len(np.unique(qid[paired]))
    n_folds = _limited_folds(owner, n_folds, n_queries, "queries with a pair")
    splitter = QueryKFold(n_folds, shuffle=True, random_state=seed)
    for k, (_, test) in enumerate(splitter.split(paired, y[paired], qid=qid[paired])):
        fold[paired[test]] = k
    return data, fold[set_of_row]


def _limited_folds(owner: str, n_folds: int, n_units: int, unit: str) -> int:
    """Return the number of folds, at most that of units; warn if units are too few."""
    if n_units < 2:
        raise ValueError(f"{owner} needs at least two {unit} per class or grade. Got {n_units}.")
    if n_units < n_folds:
        reason = f"the rarer class has only that many {unit}"
        warn(f"{owner} uses {n_units} folds, not cv={n_folds}: {reason}.", UserWarning)
    return min(n_folds, n_units)


# Fits and scores ------------------------------------------------------------------------------


def fit_keywords(estimator: Any, arrays: Iterable[str]) -> dict[str, str]:
    """Return the keyword arguments of `fit`, or of the steps, for arrays that they take."""
    if not hasattr(estimator, "steps"):
        has_fit = hasattr(estimator, "fit")  # which "passthrough" has not
        return {name: name for name in arrays if has_fit and has_fit_parameter(estimator, name)}
    return {
        f"{step_name}__{keyword}": array
        for step_name, step in estimator.steps
        for keyword, array in fit_keywords(step, arrays).items()
    }


def fit_member(estimator: Any, keywords: Mapping[str, str], data: Rows) -> Any:
    """Return a fitted clone: classifiers learn classes, others relevance.

    With grades a classifier learns which rows are relevant: those above 0, or if none or all are,
    those above the lowest relevance.
    """
    y, arrays = data.y, {"qid": data.qid, "sample_weight": data.weight}
    if is_classifier(estimator) and y.dtype != np.bool_:
        min_grade = float(y.min())
        y = y > (0.0 if min_grade <= 0 < y.max() else min_grade)
    y = y.astype(np.int64 if is_classifier(estimator) else np.float64)
    metadata = {keyword: arrays[array] for keyword, array in keywords.items()}
    with np.errstate(invalid="ignore"):  # the mean of a column without values
        return clone(estimator).fit(given_rows(data.X), y, **metadata)


def cross_fit(
    parallel: Any, fits: Mapping[str, Callable[[Rows], Any]], rows: Rows, splits: list[Fold]
) -> dict[str, Floats]:
    """Return each member's scores of held-out rows; NaN for rows that no fold holds out."""
    tasks = [(name, train, test) for name in fits for train, test in splits]
    held_out = parallel(delayed(_fit_and_score)(fits[run[0]], rows, *run) for run in tasks)
    scores = {name: np.full(len(rows.y), np.nan) for name in fits}
    for (name, _, test), values in zip(tasks, held_out, strict=True):
        scores[name][test] = values
    return scores


def _fit_and_score(fit: Any, rows: Rows, name: str, train: Indices, test: Indices) -> Floats:
    """Fit a member to the training rows; return its scores of the test rows."""
    return member_scores(name, fit(rows.take(train)), rows.X[test])


def member_scores(name: str, model: Any, X: Any) -> Floats:
    """Return a fitted member's scores of rows; raise ValueError if they are not finite."""
    scores = np.asarray(scores_of(model, given_rows(X)), dtype=np.float64)
    if scores.shape != (X.shape[0],) or not np.isfinite(scores).all():
        raise ValueError(
            f"Member {name!r} of RankingEnsemble must give one finite score to each row. Got an "
            f"array of shape {scores.shape} for {X.shape[0]} rows, {np.isnan(scores).sum()} of "
            "them NaN."
        )
    return scores
