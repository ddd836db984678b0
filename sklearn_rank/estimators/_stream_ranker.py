"""Linear rankers that learn from rows as they arrive."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.validation import find_classes, unchanged_on_error
from sklearn_rank.base import BaseRanker
from sklearn_rank.models.rules import linear_contributions

Moments = tuple[Floats, float]
"""The weighted mean of each feature over the rows so far, and their total weight."""


def moments_of(data: Rows) -> Moments:
    """Return the mean and the weight of some rows."""
    return data.feature_means, data.total_weight


def mean_attributes(coefficients: Floats, moments: Moments) -> dict[str, Any]:
    """Return the attributes that `contributions` and the next call of `partial_fit` need."""
    return {"_mean_contributions_": coefficients * moments[0], "_seen_": moments}


def has_partial_fit(ranker: Any) -> bool:
    """Whether a ranker can learn from rows as they arrive; the error names the parameter."""
    reason = ranker._not_online()
    if reason:
        raise AttributeError(f"{type(ranker).__name__} has partial_fit only with {reason}")
    return True


class StreamRanker(BaseRanker):
    """Base class of the linear rankers, which have `partial_fit` with some parameters."""

    __metadata_request__partial_fit: ClassVar[dict[str, bool]] = {"qid": True}

    coef_: Floats

    def _sum_by_feature(self, X: Any) -> Floats:
        return linear_contributions(X, self.coef_)

    @abstractmethod
    def _fit_part(self, data: Rows) -> dict[str, Any]:
        """Learn from the rows of a call and return the fitted attributes without setting them."""

    @abstractmethod
    def _not_online(self) -> str:
        """Return the parameter and the value that `partial_fit` requires; empty if it is set."""

    def _check_part(self, data: Rows) -> None:
        """Raise ValueError for rows of a call that don't fit the ranker."""

    @available_if(has_partial_fit)
    def partial_fit(
        self, X: Any, y: Any, *, classes: Any = None, qid: Any = None, sample_weight: Any = None
    ) -> Self:
        r"""Learn from further rows by gradient descent.

        `ListNetLinear`, with ``solver="ogd"`` and a number as `eta0`, takes one step per query, in
        order of appearance.

        `KernelPairwiseSGDRanker`, with ``kernel="linear"`` and ``solver="gd"``, takes one step on
        the pairs among the rows. Call t takes step t,

        .. math:: w_{t+1} = (1 - \eta_t \alpha) w_t - \eta_t \nabla L_t(w_t), \qquad
            \eta_t = \eta_0 t^{-\theta}

        where :math:`L_t` is the mean loss of the comparable pairs among the rows of the call, or of
        a sample of `batch_size` of them. Rows of different calls are not compared, so pass whole
        queries, or enough rows of one list. T calls with the same rows are equivalent to `fit` with
        ``max_iter=T, tol=0``, except for the random draws of `batch_size`. A call without a
        comparable pair takes no step. After `fit`, calls continue from the fitted model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Relevance (graded mode), or one or both of the classes (binary mode).
        classes : array-like of shape (2,), default=None
            Binary mode: the two classes, in the first call; only needed when y does not
            have both.
        qid : array-like of shape (n_samples,), default=None
            Query of each row. None: the rows are one list.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Multiplicities.

        Returns
        -------
        self : object
            The ranker. For `ListNetLinear`, and with ``average=True``, `coef_` is the average over
            the steps of all calls. `offset_` is computed on the rows of this call if they have both
            classes. With ``eta0="auto"``, `eta0_` is that of the call with the longest row so far.

        Raises
        ------
        ValueError
            If a parameter or an array is invalid; the ranker is then unchanged.

        References
        ----------
        Chen2012, eq. (1.5) (the step).

        Examples
        --------
        >>> from sklearn_rank import ListNetLinear
        >>> from sklearn_rank.datasets import make_queries
        >>> data = make_queries(random_state=0)
        >>> stream = ListNetLinear(solver="ogd", eta0=0.1)
        >>> for query in range(40):
        ...     rows = data.qid == query
        ...     stream = stream.partial_fit(data.data[rows], data.target[rows])
        >>> stream.t_
        40
        """
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
        """Return the rows of a `partial_fit` call, and the classes if they are new."""
        name, is_first = type(self).__name__, not self.__sklearn_is_fitted__()
        is_graded = self.relevance == "graded"
        first_classes = None if is_graded else getattr(self, "classes_", None)
        if not is_graded and classes is not None:
            classes = find_classes(name, classes)
            if first_classes is not None and not np.array_equal(first_classes, classes):
                raise ValueError(
                    f"classes of {name}.partial_fit must be those of the first call, "
                    f"{first_classes.tolist()}. Got {classes.tolist()}."
                )
            first_classes = classes
        data = self._validated(X, y, qid, sample_weight, first_classes, reset=is_first)
        self._check_part(data)
        return data, {} if is_graded else {"classes_": data.classes}

    def _moments_so_far(self, data: Rows) -> Moments:
        """Return the mean and the total weight of the rows of all calls."""
        means, weight = moments_of(data)
        if not hasattr(self, "coef_"):
            return means, weight
        earlier_means, earlier_weight = self._seen_
        share = weight / (weight + earlier_weight)
        return share * means + (1 - share) * earlier_means, weight + earlier_weight

    def _extended_curve(self, value: float) -> dict[str, Any]:
        """Return the curve, a fitted attribute, with one more value."""
        return {"objective_curve_": np.append(getattr(self, "objective_curve_", []), value)}

    def _offset_of_part(self, data: Rows, offset: Callable[[], float]) -> dict[str, float]:
        """Return the offset between the two classes; the last one if a call has only one class."""
        if self.relevance != "binary":
            return {}
        has_both_classes = data.y.any() and not data.y.all()
        return {"offset_": offset() if has_both_classes else getattr(self, "offset_", 0.0)}
