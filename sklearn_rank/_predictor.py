"""What predicts, a ranker or a scorecard: labels, and the metric of scores."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NoReturn

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if

from sklearn_rank._core.protocols import Floats, Values
from sklearn_rank._core.validation import (
    check_lengths,
    check_qid_given,
    check_relevance,
    is_upper_label,
)


def is_binary(ranker: Any) -> bool:
    """Whether a ranker is in binary mode; the error names the parameter."""
    if ranker.relevance == "binary":
        return True
    raise AttributeError(
        f"{type(ranker).__name__} has no decision function with relevance='graded': "
        "predict returns the scores. Use relevance='binary' for two classes."
    )


class Predictor(BaseEstimator):
    """Base class of what predicts, a ranker or a scorecard: labels and metric of its scores.

    A subclass checks and scores rows in `_score_validated`.
    """

    relevance: str
    classes_: Values

    def predict(self, X: Any) -> Values:
        """Return labels (binary mode) or scores (graded mode).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``classes_[1]`` where the decision function is positive, else
            ``classes_[0]``; in graded mode scores, greater for rows that rank higher.
            Scores of different queries are on one scale but were never compared in training.
        """
        scores = self._score_validated(X)
        return scores if self.relevance == "graded" else self._label(scores)

    @available_if(is_binary)
    def decision_function(self, X: Any) -> Floats:
        """Return scores plus `offset_`: positive where `predict` says ``classes_[1]``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Greater for rows that rank higher. Only in binary mode.
        """
        return self._score_validated(X)

    @property
    def predict_proba(self) -> NoReturn:
        """Raise AttributeError: scores rank, and are no probabilities until they are calibrated."""
        raise AttributeError(
            f"{type(self).__name__} has no predict_proba: its scores rank rows and are no "
            "probabilities. CalibratedClassifierCV of sklearn.calibration turns them into some."
        )

    def score(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> float:
        """Return the area under the ROC curve, within queries and pooled over pairs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Classes (binary mode) or relevance (graded mode).
        qid : array-like of shape (n_samples,), default=None
            Query of each row; required if the ranker was fitted with `qid`.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Multiplicities.

        Returns
        -------
        float
            Between 0 and 1, greater is better; ties count one half. With `score_p`, of rankers
            that have it: ``1 - p_norm_push_loss(..., p=score_p)``, where ties are errors; it is
            no AUC, and falls as `score_p` grows.

        Raises
        ------
        ValueError
            When the ranker was fitted with `qid` and is scored without, or when there
            is no comparable pair.
        """
        scores = self._score_validated(X)
        check_qid_given(self, qid)
        relevance = self.relevance_of(y, sample_weight)
        check_lengths(X=scores, y=relevance)
        return self._score_order(relevance, scores, qid, sample_weight)

    def relevance_of(self, y: Any, sample_weight: Any) -> Any:
        """Return relevance: for classes whether each is the upper one.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Classes of the fitted ranker (binary mode) or relevance (graded mode).
        sample_weight : float, array-like of shape (n_samples,) or None
            Multiplicities; rows of weight zero may have other classes.

        Returns
        -------
        ndarray of shape (n_samples,)
            Booleans or numbers.
        """
        if self.relevance == "graded":
            return check_relevance(y)
        return is_upper_label(type(self).__name__, y, self.classes_, sample_weight)

    @abstractmethod
    def _score_validated(self, X: Any) -> Floats:
        """Return scores, in binary mode with the offset, of rows as the user passed them."""

    def _label(self, scores: Floats) -> Values:
        return np.asarray(self.classes_[(scores > 0).astype(np.intp)])

    def _score_order(self, relevance: Floats, scores: Floats, qid: Any, weight: Any) -> float:
        """Return the metric of `score` for known scores."""
        # Metrics take a quarter of the import of a ranker, and a fit needs none.
        from sklearn_rank.metrics import auc_score, p_norm_push_loss

        p = getattr(self, "score_p", None)
        if p is None:
            return float(auc_score(relevance, scores, qid=qid, sample_weight=weight))
        return 1.0 - p_norm_push_loss(relevance, scores, p=p, qid=qid, sample_weight=weight)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` has come to its end."""
        return hasattr(self, "has_queries_")
