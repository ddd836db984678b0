"""Base class of the displays of labels and scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from sklearn_rank.plotting._checked_rows import final_ranker, predictions
from sklearn_rank.plotting.drawing import import_matplotlib


class PredictionsDisplay(ABC):
    """A display of labels and scores, given directly or computed by an estimator."""

    _has_name: ClassVar[bool] = True
    """Whether there is a legend with the name of the estimator."""

    @classmethod
    @abstractmethod
    def from_predictions(cls, *args: Any, **options: Any) -> Self:
        """Draw labels and scores."""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        **options: Any,
    ) -> Self:
        """Score rows with a fitted estimator and draw.

        Parameters
        ----------
        estimator : object
            A fitted ranker or any other scikit-learn estimator, pipelines and searches included.
            The score is its ``decision_function``, else the probability of ``classes_[1]``, else
            ``predict``.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Relevance, or classes of which ``classes_[1]`` should rank first.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Multiplicities.
        **options : Any
            For `from_predictions`. Without a `name` the legend has the class of the estimator, of a
            pipeline or search that of the ranker at its end.

        Returns
        -------
        self : object
            The display, drawn.
        """
        import_matplotlib(cls.__name__)
        label, score = predictions(estimator, X, y, sample_weight)
        if cls._has_name and options.get("name") is None:
            options["name"] = type(final_ranker(estimator)).__name__
        return cls.from_predictions(label, score, sample_weight=sample_weight, **options)
