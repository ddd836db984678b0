"""Fitted weak rankers: what `weak_rankers_` of a boosting ranker holds.

The rule number t of a ranker has the weight ``estimator_weights_[t]``. All fields are plain
arrays (or lists of fitted estimators), so that a stored model depends on nothing else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import issparse

from sklearn_rank._parallel import ThreadPool
from sklearn_rank._protocols import Floats, Indices, Mask, Values
from sklearn_rank.models._binning import Digitizer
from sklearn_rank.models.feature_bins import FeatureBins, StepFunction

__all__ = ["EstimatorRules", "FeatureRules", "StumpRules"]

_Made = TypeVar("_Made")
_MADE = "_made"
_CHUNK = 65_536
_FEW_COMPARISONS = 2_048
"""Comparisons for each feature up to which it is fastest to make all of them at once."""

_MANY_ROWS = 4_096
"""Rows from which on the lookup tables of `Digitizer` are worth building."""


@dataclass(frozen=True, eq=False)
class StumpRules:
    """Threshold weak rankers: h(x) = 1 when a feature exceeds a threshold, else 0.

    Attributes
    ----------
    feature : ndarray of shape (n_rules,)
        Column that each looks at.
    threshold : ndarray of shape (n_rules,)
        The value that must be exceeded for h = 1; infinity where only a missing one gives it.
    missing_right : ndarray of shape (n_rules,)
        Whether a missing value gives h = 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.models import StumpRules
    >>> rules = StumpRules(np.array([0, 1]), np.array([2.5, 0.0]), np.array([False, True]))
    >>> X = np.array([[3.0, -1.0], [3.0, np.nan], [2.5, 1.0]])
    >>> rules.scores(X, np.array([10.0, 1.0]))
    array([10., 11.,  1.])
    """

    feature: Indices
    threshold: Floats
    missing_right: Mask

    def equal(self, other: object) -> bool:
        """Whether these are the same weak rankers in the same order."""
        return (
            isinstance(other, StumpRules)
            and np.array_equal(self.feature, other.feature)
            and np.array_equal(self.threshold, other.threshold)
            and np.array_equal(self.missing_right, other.missing_right)
        )

    def importances(self, credit: Floats, n_features: int) -> Floats:
        """Return the credit of each feature, given that of each rule."""
        return np.bincount(self.feature, credit, n_features).astype(np.float64)

    def scores(self, X: Floats, weights: Floats, threads: ThreadPool | None = None) -> Floats:
        """Return ``sum_t weights[t] * h_t(x)`` for each row of X.

        The score of a row is the same to the last bit, however many rows are scored: there
        are several ways to find the bin of a value, but one order in which weights are added.
        """
        tables = self._tables(weights)
        if X.shape[0] * len(tables.thresholds) <= _FEW_COMPARISONS * len(tables.features):
            return tables.score_few(X)
        return tables.score_many(X, ThreadPool(1) if threads is None else threads)

    def contributions(self, X: Floats, weights: Floats, n_features: int) -> Floats:
        """Return the sum of the rules on each feature, for each row of X."""
        return self._tables(weights).by_feature(X, n_features)

    def step_functions(self, weights: Floats) -> list[StepFunction]:
        """Return the sum of the rules on each feature that has some, by feature."""
        return self._tables(weights).step_functions()

    def values(self, X: Floats, number: int) -> Mask:
        """Return h of one rule for each row of X."""
        x = X[:, self.feature[number]]
        h = x > self.threshold[number]
        return h | np.isnan(x) if self.missing_right[number] else h

    def staged_scores(self, X: Floats, weights: Floats) -> Iterator[Floats]:
        """Yield the scores after each rule."""
        out = np.zeros(X.shape[0])
        for number, weight in enumerate(weights):
            out = out + weight * self.values(X, number)
            yield out

    def _tables(self, weights: Floats) -> StepTables:
        return remembered(self, weights, lambda: StepTables.of(self, weights))

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields."""
        return fields_only(self)


def remembered(rules: Any, weights: Floats, make: Callable[[], _Made]) -> _Made:
    """Return what is made of rules and their weights, once for the same weights in a row.

    To make it takes longer than to score a single row.
    """
    last: tuple[Floats, _Made] | None = vars(rules).get(_MADE)
    if last is None or not np.array_equal(last[0], weights):
        last = weights.copy(), make()
        vars(rules)[_MADE] = last
    return last[1]


def fields_only(rules: Any) -> dict[str, Any]:
    """Return the attributes of rules that are stored: without what `remembered` keeps."""
    return {name: value for name, value in vars(rules).items() if name != _MADE}


@dataclass(frozen=True, eq=False)
class StepTables:
    """The sum of the rules on each feature: a step function, as a table over its bins.

    Attributes
    ----------
    features : ndarray of shape (n_used,)
        Columns with a rule, increasing.
    thresholds : ndarray of shape (n_thresholds,)
        Distinct thresholds of the first column, increasing, then those of the next one.
    start : ndarray of shape (n_used + 1,)
        ``thresholds[start[u]:start[u + 1]]`` belong to column ``features[u]``.
    values : ndarray of shape (n_thresholds + 2 * n_used,)
        For each column the sum of its rules below the first threshold (zero), above each
        threshold, and for a missing value.
    """

    features: Indices
    thresholds: Floats
    start: Indices
    values: Floats

    @classmethod
    def of(cls, rules: StumpRules, weights: Floats) -> StepTables:
        """Add up the rules on each feature."""
        order = np.lexsort((rules.threshold, rules.feature))
        feature, threshold, weight = rules.feature[order], rules.threshold[order], weights[order]
        new_column = np.ones(len(order), dtype=bool)
        np.not_equal(feature[1:], feature[:-1], out=new_column[1:])
        new_step = new_column.copy()
        new_step[1:] |= threshold[1:] != threshold[:-1]
        column, step = np.cumsum(new_column) - 1, np.cumsum(new_step) - 1
        steps = np.bincount(step, weight).astype(np.float64)
        start = np.append(step[new_column], len(steps))
        of_step = column[new_step]
        values = np.zeros(len(steps) + 2 * (len(start) - 1))
        values[np.arange(1, len(steps) + 1) + 2 * of_step] = _running_sums(steps, of_step, start)
        missing = np.bincount(column, weight * rules.missing_right[order])
        values[start[1:] + 2 * np.arange(len(missing)) + 1] = missing
        return cls(feature[new_column], threshold[new_step], start, values)

    def score_few(self, X: Floats) -> Floats:
        """Return the scores, from all comparisons at once."""
        if not len(self.features):
            return np.zeros(X.shape[0])
        # A running sum adds one after the other, as `score_many` does; `sum` would not.
        return np.cumsum(self.look_up(X), axis=1)[:, -1] + 0.0

    def look_up(self, X: Floats) -> Floats:
        """Return the value of each column's step function, from all comparisons at once."""
        x, n_used = X[:, self.features], len(self.features)
        width = np.diff(self.start)
        above = np.repeat(x, width, axis=1) > self.thresholds
        bins = np.add.reduceat(above, self.start[:-1], axis=1, dtype=np.intp)
        bins = np.where(np.isnan(x), width + 1, bins)
        return self.values.take(bins + (self.start[:-1] + 2 * np.arange(n_used)))

    def score_many(self, X: Floats, threads: ThreadPool) -> Floats:
        """Return the scores, feature by feature."""
        out = np.zeros(X.shape[0])
        columns = self._columns(len(out))

        def score(number: int) -> None:
            rows = slice(number * _CHUNK, (number + 1) * _CHUNK)
            by_feature = np.ascontiguousarray(X[rows].T[self.features])
            for x, (find_bins, table) in zip(by_feature, columns, strict=True):
                out[rows] += table.take(find_bins(x, len(table) - 1))

        threads.map(score, -(-len(out) // _CHUNK))
        return out

    def by_feature(self, X: Floats, n_features: int) -> Floats:
        """Return the value of each feature's step function; zero for features without one."""
        out = np.zeros((X.shape[0], n_features))
        for feature, (find_bins, table) in zip(self.features, self._columns(len(out)), strict=True):
            x = np.ascontiguousarray(X[:, feature])
            out[:, feature] = table.take(find_bins(x, len(table) - 1))
        return out

    def step_functions(self) -> list[StepFunction]:
        """Return the step function of each feature."""
        columns = []
        for u, (begin, end) in enumerate(pairwise(self.start.tolist())):
            thresholds, values = self.thresholds[begin:end], self.values[begin + 2 * u :]
            values = values[: len(thresholds) + 2]
            if thresholds[-1] == np.inf:  # no value lies above
                thresholds, values = thresholds[:-1], np.delete(values, -2)
            columns.append(StepFunction(int(self.features[u]), FeatureBins(thresholds), values))
        return columns

    def _columns(self, n_rows: int) -> list[tuple[Callable[[Floats, int], Indices], Floats]]:
        """Return what finds the bins of each feature, and the values of these bins."""
        find = Digitizer if n_rows >= _MANY_ROWS else _Search
        return [(find(one.bins.thresholds), one.values) for one in self.step_functions()]


def _running_sums(values: Floats, segment: Indices, start: Indices) -> Floats:
    """Return the running sums within each segment, added one after the other.

    In one call when segments padded to one length don't take much more memory.
    """
    depth = int(np.diff(start).max(initial=0))
    if depth * (len(start) - 1) <= 8 * len(values):
        place = np.arange(len(values)) - start[segment]
        padded = np.zeros((len(start) - 1, depth))
        padded[segment, place] = values
        return np.cumsum(padded, axis=1)[segment, place]
    return np.concatenate([np.cumsum(values[one:other]) for one, other in pairwise(start.tolist())])


@dataclass(frozen=True, eq=False)
class _Search:
    """What `Digitizer` does, without its tables."""

    thresholds: Floats

    def __call__(self, x: Floats, missing: int) -> Indices:
        """Return the number of thresholds below each value, `missing` for NaN."""
        bins = np.searchsorted(self.thresholds, x)
        bins[np.isnan(x)] = missing
        return bins


@dataclass(frozen=True, eq=False)
class FeatureRules:
    """Features used as weak rankers, h(x) = x_j: together a linear model.

    Attributes
    ----------
    feature : ndarray of shape (n_rules,)
        Column that each returns.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.models import FeatureRules
    >>> rules = FeatureRules(np.array([2, 0, 2]))
    >>> rules.coefficients(np.array([1.0, 5.0, 0.5]), n_features=3)
    array([5. , 0. , 1.5])
    """

    feature: Indices

    def coefficients(self, weights: Floats, n_features: int) -> Floats:
        """Return one coefficient for each feature."""
        return np.bincount(self.feature, weights, n_features).astype(np.float64)

    def equal(self, other: object) -> bool:
        """Whether these are the same weak rankers in the same order."""
        return isinstance(other, FeatureRules) and np.array_equal(self.feature, other.feature)

    def importances(self, credit: Floats, n_features: int) -> Floats:
        """Return the credit of each feature, given that of each rule."""
        return np.bincount(self.feature, credit, n_features).astype(np.float64)

    def scores(self, X: Any, weights: Floats, threads: ThreadPool | None = None) -> Floats:
        """Return ``sum_t weights[t] * h_t(x)`` for each row of X."""
        return np.asarray(X @ self.coefficients(weights, X.shape[1]))

    def contributions(self, X: Any, weights: Floats, n_features: int) -> Floats:
        """Return the product of each feature and its coefficient, for each row of X."""
        return linear_contributions(X, self.coefficients(weights, n_features))

    def staged_scores(self, X: Any, weights: Floats) -> Iterator[Floats]:
        """Yield the scores after each rule."""
        coefficients = np.zeros(X.shape[1])
        for feature, weight in zip(self.feature, weights, strict=True):
            coefficients[feature] += weight
            yield np.asarray(X @ coefficients)


@dataclass(frozen=True, eq=False)
class EstimatorRules:
    """Fitted estimators and the affine maps that bring their predictions to [0, 1].

    Attributes
    ----------
    estimators : list of estimators
        One each round.
    low, width : list of float
        Smallest prediction on the training rows, and their range: rule t is
        ``h(x) = (estimators[t].predict(x) - low[t]) / width[t]``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn_rank.models import EstimatorRules
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> line = LinearRegression().fit(X, [4.0, 6.0, 8.0])
    >>> rules = EstimatorRules([line], low=[4.0], width=[4.0])
    >>> rules.scores(X, np.array([10.0])).round(6)
    array([ 0.,  5., 10.])
    """

    estimators: list[Any]
    low: list[float]
    width: list[float]

    def with_one_more(self, estimator: Any, low: float, width: float) -> EstimatorRules:
        """Return the rules and one more."""
        return EstimatorRules([*self.estimators, estimator], [*self.low, low], [*self.width, width])

    def equal(self, other: object) -> bool:
        """Whether these are the same weak rankers in the same order."""
        return isinstance(other, EstimatorRules) and self.estimators == other.estimators

    def importances(self, credit: Floats, n_features: int) -> Floats | None:
        """Return the credit of each feature, given that of each rule.

        A rule shares its credit as its `feature_importances_` say; None when one has none.
        """
        if not all(hasattr(one, "feature_importances_") for one in self.estimators):
            return None
        importances = np.zeros(n_features)
        for share, estimator in zip(credit, self.estimators, strict=True):
            importances += share * estimator.feature_importances_
        return importances

    def scores(self, X: Any, weights: Floats, threads: ThreadPool | None = None) -> Floats:
        """Return ``sum_t weights[t] * h_t(x)`` for each row of X."""
        last = deque(self.staged_scores(X, weights), maxlen=1)
        return last.pop() if last else np.zeros(X.shape[0])

    def staged_scores(self, X: Any, weights: Floats) -> Iterator[Floats]:
        """Yield the scores after each rule."""
        out = np.zeros(X.shape[0])
        for number, weight in enumerate(weights):
            h = predictions(self.estimators[number], X) - self.low[number]
            out = out + weight / self.width[number] * h
            yield out


def linear_contributions(X: Any, coefficients: Floats) -> Floats:
    """Return the dense products of the features of each row and their coefficients."""
    products = X.multiply(coefficients).toarray() if issparse(X) else X * coefficients
    return np.asarray(products)


def predictions(estimator: Any, X: Any) -> Values:
    """Return what an estimator predicts, as floats."""
    return np.asarray(estimator.predict(X), dtype=float).ravel()
