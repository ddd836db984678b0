"""What linear rankers share that learn from rows as they arrive."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.validation import (
    check_relevance,
    check_weight,
    find_classes,
    unchanged_on_error,
)
from sklearn_rank.base import BaseRanker

RowsSeen = tuple[Floats, float]
"""The weighted mean of each feature over the rows learned from, and their total weight."""


def rows_of(data: Rows) -> RowsSeen:
    """Return the mean and the weight of some rows."""
    return data.feature_means, data.total_weight


def mean_attributes(coefficients: Floats, seen: RowsSeen) -> dict[str, Any]:
    """Return the attributes that `contributions` and the next call of `partial_fit` need."""
    return {"_mean_contributions_": coefficients * seen[0], "_seen_": seen}


def has_partial_fit(ranker: Any) -> bool:
    """Whether a ranker can learn from rows as they arrive; the error names the parameter."""
    reason = ranker._not_online()
    if reason:
        raise AttributeError(f"{type(ranker).__name__} has partial_fit only with {reason}")
    return True


class StreamRanker(BaseRanker):
    """Base class of the linear rankers, which have `partial_fit` with some parameters."""

    __metadata_request__partial_fit: ClassVar[dict[str, bool]] = {"qid": True}

    @abstractmethod
    def _fit_part(self, data: Rows) -> dict[str, Any]:
        """Learn from the rows of a call and return the fitted attributes; set none."""

    @abstractmethod
    def _not_online(self) -> str:
        """Return which parameter has to be what for `partial_fit`; empty when it is."""

    def _check_part(self, data: Rows) -> None:
        """Raise ValueError for rows of a call that can't be used."""

    def _learn_part(self, X: Any, y: Any, classes: Any, qid: Any, sample_weight: Any) -> Self:
        """Check parameters and arrays, and learn; a call that fails changes nothing."""
        with unchanged_on_error(self):
            self.check_parameters()
            data, fitted = self._validate_part(X, y, classes, qid, sample_weight)
            fitted |= self._fit_part(data)
        fitted["has_queries_"] = qid is not None or getattr(self, "has_queries_", False)
        self.__dict__.update(fitted)
        return self

    def _validate_part(
        self, X: Any, y: Any, classes: Any, qid: Any, sample_weight: Any
    ) -> tuple[Rows, dict[str, Any]]:
        """Return the rows of a call of `partial_fit`, and the classes when they are new."""
        is_first = not self.__sklearn_is_fitted__()
        graded = self.relevance == "graded"
        if graded:
            check_relevance(y)
        X, y = self._validate_features(X, y=y, y_numeric=graded, reset=is_first)
        weight = check_weight(sample_weight, X.shape[0])
        name, known = type(self).__name__, None if graded else getattr(self, "classes_", None)
        if not graded and (known is None or classes is not None):
            given = find_classes(name, y[weight > 0] if classes is None else classes)
            if known is not None and not np.array_equal(known, given):
                what = f"those of the first call, {known.tolist()}. Got {given.tolist()}."
                raise ValueError(f"classes of {name}.partial_fit must be {what}")
            known = given if known is None else known
        fitted = {} if graded else {"classes_": known}
        self._check_features(X)
        data = self._rows_of(X, y, qid, weight, known)
        self._check_part(data)
        return data, fitted

    def _rows_seen(self, data: Rows) -> RowsSeen:
        """Return the mean and the weight of the rows of all calls."""
        means, weight = rows_of(data)
        if not hasattr(self, "coef_"):
            return means, weight
        earlier_means, earlier_weight = self._seen_
        share = weight / (weight + earlier_weight)
        return share * means + (1 - share) * earlier_means, weight + earlier_weight

    def _extended_curve(self, value: float) -> dict[str, Any]:
        """Return the curve with one more value, as an attribute."""
        return {"objective_curve_": np.append(getattr(self, "objective_curve_", []), value)}

    def _offset_of_part(self, data: Rows, offset: Any) -> dict[str, float]:
        """Return the offset between the two classes; the last one where a call has one class."""
        if self.relevance != "binary":
            return {}
        if data.y.any() and not data.y.all():
            return {"offset_": float(offset())}
        return {"offset_": getattr(self, "offset_", 0.0)}
