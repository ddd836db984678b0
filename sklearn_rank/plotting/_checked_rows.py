"""From an estimator or from predictions to the checked rows that a display describes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from sklearn_rank._protocols import Floats, Indices, Values
from sklearn_rank._validation import check_qid, check_weight


@dataclass(frozen=True, eq=False)
class Rows:
    """Checked rows, without those of weight zero.

    Attributes
    ----------
    label : ndarray of shape (n_rows,)
        Class or relevance.
    score : ndarray of shape (n_rows,)
        Score, greater is better.
    query : ndarray of shape (n_rows,)
        Query code; all zero for one list.
    weight : ndarray of shape (n_rows,)
        Positive multiplicities.
    """

    label: Values
    score: Floats
    query: Indices
    weight: Floats

    @classmethod
    def check(cls, y_true: Any, y_score: Any, qid: Any, sample_weight: Any) -> Rows:
        """Check the arrays and drop rows of weight zero."""
        label = column_or_1d(y_true)
        score = column_or_1d(y_score).astype(np.float64)
        check_consistent_length(label, score)
        if np.isnan(score).any():
            raise ValueError("y_score contains NaN: an order needs comparable scores.")
        weight = check_weight(sample_weight, len(label))
        query = np.zeros(len(label), dtype=np.intp) if qid is None else check_qid(qid, len(label))
        keep = weight > 0
        return cls(label[keep], score[keep], query[keep], weight[keep])

    def two_classes(self, owner: str) -> Values:
        """Return True for the greater of two classes; the error names the display."""
        classes = np.unique(self.label)
        if len(classes) > 2:
            raise ValueError(
                f"{owner} needs two classes. The labels have {len(classes)} values: for graded "
                "relevance say what is relevant, for example y > 0."
            )
        if len(classes) < 2:
            raise ValueError(
                f"{owner} needs rows of both classes. All rows are of one class: "
                f"{classes.tolist()[0]!r}."
            )
        return np.asarray(self.label == classes[1])


def predictions(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Values, Floats]:
    """Return labels (True for the upper class of a classifier) and scores of an estimator."""
    check_is_fitted(estimator)
    if hasattr(estimator, "decision_function"):
        score = np.asarray(estimator.decision_function(X))
    elif hasattr(estimator, "predict_proba"):
        score = np.asarray(estimator.predict_proba(X))
    else:
        score = np.asarray(estimator.predict(X))
    label = column_or_1d(y)
    if not hasattr(estimator, "classes_"):
        return label, score
    classes = estimator.classes_
    if len(classes) != 2:
        raise ValueError(
            f"{type(estimator).__name__} was fitted with {len(classes)} classes; a list is "
            "ordered by the score of one class against one other."
        )
    is_unknown = ~np.isin(label, classes) & (check_weight(sample_weight, len(label)) > 0)
    if is_unknown.any():
        raise ValueError(
            f"y has labels that {type(estimator).__name__} was not fitted with: "
            f"{np.unique(label[is_unknown])!r}. Known: {classes!r}."
        )
    return label == classes[1], score if score.ndim == 1 else score[:, 1]


def ranker_within(estimator: Any) -> Any:
    """Return the fitted ranker at the end of a search or a pipeline."""
    check_is_fitted(estimator)
    while hasattr(estimator, "best_estimator_") or hasattr(estimator, "steps"):
        estimator = getattr(estimator, "best_estimator_", None) or estimator.steps[-1][1]
    return estimator
