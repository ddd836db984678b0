"""Fitted weak rankers: what `weak_rankers_` of a boosting ranker holds.

Rule t of a ranker has the weight ``estimator_weights_[t]``. All fields are plain arrays (or lists
of fitted estimators), so that a stored model depends on nothing else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Floats, Indices, Values

__all__ = ["EstimatorRules", "FeatureRules"]


@dataclass(frozen=True, eq=False)
class FeatureRules:
    """Features used as weak rankers, h(x) = x_j; together, they form a linear model.

    Attributes
    ----------
    feature : ndarray of shape (n_rules,)
        Column that each rule returns.

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
    """Fitted estimators, and the affine maps of their predictions to [0, 1].

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

    def equal(self, other: object) -> bool:
        """Whether these are the same weak rankers in the same order."""
        return isinstance(other, EstimatorRules) and self.estimators == other.estimators

    def importances(self, credit: Floats, n_features: int) -> Floats | None:
        """Return the credit of each feature, given that of each rule.

        A rule divides its credit by its `feature_importances_`; None if an estimator has none.
        """
        if not all(hasattr(e, "feature_importances_") for e in self.estimators):
            return None
        shares = zip(credit, self.estimators, strict=True)
        return sum((share * e.feature_importances_ for share, e in shares), np.zeros(n_features))

    def scores(self, X: Any, weights: Floats, threads: ThreadPool | None = None) -> Floats:
        """Return ``sum_t weights[t] * h_t(x)`` for each row of X."""
        last_scores = deque(self.staged_scores(X, weights), maxlen=1)
        return last_scores.pop() if last_scores else np.zeros(X.shape[0])

    def staged_scores(self, X: Any, weights: Floats) -> Iterator[Floats]:
        """Yield the scores after each rule."""
        scores = np.zeros(X.shape[0])
        rules = zip(weights, self.estimators, self.low, self.width, strict=False)
        for weight, estimator, low, width in rules:
            scores = scores + weight / width * (predictions(estimator, X) - low)
            yield scores


def linear_contributions(X: Any, coefficients: Floats) -> Floats:
    """Return the dense products of the features of each row and their coefficients."""
    return np.asarray(X.multiply(coefficients).toarray() if issparse(X) else X * coefficients)


def predictions(estimator: Any, X: Any) -> Values:
    """Return the predictions of an estimator as floats."""
    return np.asarray(estimator.predict(X), dtype=float).ravel()
