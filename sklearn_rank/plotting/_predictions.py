"""Base class of displays of labels and scores, with checks of labels and rows of pipelines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_rank._core.protocols import Indices, Mask, Values
from sklearn_rank._core.sums import Queries
from sklearn_rank._core.validation import check_column, check_qid_given, is_missing, is_upper_label
from sklearn_rank.metrics.scored_rows import ScoredRows
from sklearn_rank.metrics.scorers import last_step, requested, routed_scores
from sklearn_rank.plotting.drawing import import_matplotlib


class PredictionsDisplay(ABC):
    """A display of labels and scores; an estimator may compute the scores."""

    @classmethod
    @abstractmethod
    def from_predictions(cls, *args: Any, **options: Any) -> Self:
        """Draw labels and scores."""

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, **options: Any
    ) -> Self:
        """Score rows with a fitted estimator, and draw.

        Parameters
        ----------
        estimator : object
            A fitted ranker or any other scikit-learn estimator, also a pipeline or a search. The
            score is its ``decision_function``, else the probability of ``classes_[1]``, else
            ``predict``.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Relevance, or two classes; ``classes_[1]`` should rank first.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Multiplicities.
        **options : Any
            For `from_predictions`. With metadata routing steps of a pipeline that request `qid`
            get it, too. Without a `name` the legend shows the class of the estimator, or of the
            ranker at the end of a pipeline or search.

        Returns
        -------
        self : object
            The drawn display.

        Raises
        ------
        ValueError
            If the ranker was fitted with `qid`, and `qid` is not passed.
        """
        import_matplotlib(cls.__name__)
        qid = options.get("qid")
        check_qid_given(last_step(estimator), qid, cls.__name__)
        label = _labels(estimator, y, sample_weight)
        score = routed_scores(cls.__name__, estimator, X, qid)
        if options.get("name") is None:
            options["name"] = type(ranker_and_rows(estimator)[0]).__name__
        return cls.from_predictions(label, score, sample_weight=sample_weight, **options)


def rows_of_queries(rows: ScoredRows) -> list[Indices]:
    """Return the rows of each query."""
    grouped = Queries.from_codes(rows.qid, len(rows.score))
    return np.split(grouped.sort(np.arange(len(rows.score))), grouped.queries.start[1:])


def classes_of(owner: str, labels: Values) -> Values:
    """Return the sorted classes among labels; the error names the display."""
    try:
        classes: Values = np.unique(labels)
    except TypeError as error:
        raise ValueError(f"{owner} needs labels of one kind that can be sorted. {error}") from error
    if any(map(is_missing, classes)):
        raise ValueError(f"{owner} needs a label for each row. Some are missing.")
    return classes


def is_upper_class(owner: str, labels: Values) -> Mask:
    """Return a mask of the greater of two classes; the error names the display."""
    classes = classes_of(owner, labels)
    if len(classes) > 2:
        raise ValueError(
            f"{owner} needs two classes. The labels have {len(classes)} values: for graded "
            "relevance pass a condition, for example y > 0."
        )
    if len(classes) < 2:
        raise ValueError(
            f"{owner} needs rows of both classes. All rows are of one class: "
            f"{classes.tolist()[0]!r}."
        )
    return np.asarray(labels == classes[1])


def _labels(estimator: Any, y: Any, sample_weight: Any) -> Values:
    """Return labels; for a classifier, as a mask of `classes_[1]`."""
    check_is_fitted(estimator)
    if not hasattr(estimator, "classes_"):
        return check_column(y, "y")
    owner, classes = type(estimator).__name__, estimator.classes_
    if len(classes) != 2:
        raise ValueError(
            f"{owner} was fitted with {len(classes)} classes; a list needs the score of one class "
            "against one other."
        )
    return is_upper_label(owner, y, classes, sample_weight)


def ranker_and_rows(estimator: Any, X: Any = None, qid: Any = None) -> tuple[Any, Any, Any]:
    """Return the ranker at the end of a search or pipeline, its rows, and their feature names.

    Transformers that request `qid` get it. The names are those of the ranker's training rows, else
    those of the transformers before it, else None.
    """
    check_is_fitted(estimator)
    names = None
    while hasattr(estimator, "best_estimator_") or hasattr(estimator, "steps"):
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
            continue
        if len(estimator.steps) > 1:
            if X is not None:
                X = estimator[:-1].transform(X, **requested(estimator[:-1], "transform", qid))
            try:
                names = estimator[:-1].get_feature_names_out(names)
            except (AttributeError, ValueError):  # a transformer without names
                names = None
        estimator = estimator.steps[-1][1]
    return estimator, X, getattr(estimator, "feature_names_in_", names)
