"""A fitted ranker: its scores, and their metric."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sklearn_rank._protocols import Floats, Values
from sklearn_rank._validation import (
    check_lengths,
    check_qid_given,
    check_relevance,
    is_upper_label,
    largest_size,
)
from sklearn_rank.metrics import auc_score, p_norm_push_loss


def is_binary(ranker: Any) -> bool:
    """Whether a ranker is in binary mode; the error names the parameter."""
    if ranker.relevance == "binary":
        return True
    raise AttributeError(
        f"{type(ranker).__name__} has no decision function with relevance='graded': "
        "predict returns the scores. Use relevance='binary' for two classes."
    )


def has_contributions(ranker: Any) -> bool:
    """Whether scores can be divided among the features; the error names the parameter."""
    setting = ranker._not_additive()
    if not setting:
        return True
    raise AttributeError(
        f"{type(ranker).__name__} has contributions only where its score is a sum of functions "
        f"of single features: {setting}."
    )


class Predictor(BaseEstimator):
    """Base class of what a fitted ranker does: scores of rows, labels, contributions, metric.

    A subclass checks rows in `_validate_features` and scores them in `_score_rows`.
    """

    relevance: str
    classes_: Values
    offset_: float

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

    @available_if(has_contributions)
    def contributions(self, X: Any) -> Floats:
        r"""Return the contribution of each feature to the score of each row.

        They are Shapley values. If the score is a sum of functions of single features, :math:`f(x)
        = \sum_j g_j(x_j)`, the contribution of feature j is

        .. math:: g_j(x_j) - \sum_n w_n \, g_j(x_{nj}) \Big/ \sum_n w_n

        where n runs over the training rows and w are their weights. A feature that the model does
        not use contributes zero. The training rows are those that the final model was fitted to:
        they exclude rows held out for early stopping and, in boosters with graded relevance, rows
        in no comparable pair.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, n_features + 1)
            The contribution of each feature to the score of the row. The last column is the
            constant, the mean score of the training rows, in binary mode plus `offset_`. Rows sum
            to ``decision_function(X)``, in graded mode to ``predict(X)``.

        See Also
        --------
        sklearn_rank.plotting.ShapeFunctionDisplay : Draws the functions of the features.

        References
        ----------
        Lundberg2017 (Shapley values of a prediction); for a sum of functions derived here.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_rank import ListNetLinear
        >>> from sklearn_rank.datasets import make_queries
        >>> data = make_queries(random_state=0)
        >>> ranker = ListNetLinear().fit(data.data, data.target, qid=data.qid)
        >>> parts = ranker.contributions(data.data)
        >>> np.allclose(parts.sum(axis=1), ranker.predict(data.data))
        True
        >>> np.allclose(parts[:, :-1].mean(axis=0), 0)
        True
        """
        check_is_fitted(self)
        parts, mean_score = self._divide_scores(self._validate_features(X, reset=False))
        offset = self.offset_ if self.relevance == "binary" else 0.0
        return np.column_stack([parts, np.full(len(parts), mean_score + offset)])

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

    def check_rows(self, X: Any) -> Any:
        """Return checked features of rows to score: floats, categories as their codes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_samples, n_features)
            Floats.
        """
        return self._validate_features(X, reset=False)

    def score_rows(self, X: Any) -> Floats:
        """Return scores, without offset, of checked rows.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_samples, n_features)
            Features, as `check_rows` returns them.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores, greater for rows that rank higher.
        """
        return self._score_rows(X)

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

    def _score_validated(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = self._validate_features(X, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self._score_rows(X)
        if not np.isfinite(scores).all():
            raise ValueError(
                f"The scores of {type(self).__name__} overflow: X must hold values of the size of "
                f"those of the training rows. Got values as large as {largest_size(X):.0e}."
            )
        return scores + self.offset_ if self.relevance == "binary" else scores

    def _label(self, scores: Floats) -> Values:
        return np.asarray(self.classes_[(scores > 0).astype(np.intp)])

    def _score_order(self, relevance: Floats, scores: Floats, qid: Any, weight: Any) -> float:
        """Return the metric of `score` for known scores."""
        p = getattr(self, "score_p", None)
        if p is None:
            return float(auc_score(relevance, scores, qid=qid, sample_weight=weight))
        return 1.0 - p_norm_push_loss(relevance, scores, p=p, qid=qid, sample_weight=weight)

    @abstractmethod
    def _score_rows(self, X: Any) -> Floats:
        """Return scores, without offset, of validated rows."""

    def _not_additive(self) -> str:
        """Return which parameter has to be what for `contributions`; empty when it is."""
        return ""

    def _divide_scores(self, X: Any) -> tuple[Floats, float]:
        """Return the contribution of each feature, and the mean score of the training rows."""
        means = self._mean_contributions_
        return self._sum_by_feature(X) - means, float(means.sum())

    def _sum_by_feature(self, X: Any) -> Floats:
        """Return the part of each feature in the scores of validated rows, as a sum."""
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` has come to its end."""
        return hasattr(self, "has_queries_")
