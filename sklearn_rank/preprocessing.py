"""Scaling of features within queries."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_rank._callbacks import CallbacksMixin, end_fit_task, with_callbacks
from sklearn_rank._protocols import Floats
from sklearn_rank._validation import check_qid
from sklearn_rank._versions import VersionedMixin
from sklearn_rank.grouping import GroupedRows

__all__ = ["QueryMinMaxScaler"]


class QueryMinMaxScaler(
    OneToOneFeatureMixin, TransformerMixin, VersionedMixin, CallbacksMixin, BaseEstimator
):
    r"""Scale every feature of every query to [0, 1].

    .. math:: x'_{ij} = \frac{x_{ij} - \min_{l \in q} x_{lj}}
        {\max_{l \in q} x_{lj} - \min_{l \in q} x_{lj}}

    where

    - :math:`x_{ij}` is feature j of row i, and q the query of the row;
    - a feature that is constant in a query becomes 0 there.

    This is the query-level normalisation of the LETOR data sets: rows are compared
    within a query only, and the scale of a feature may differ between queries.

    With ``qid``, `fit` learns nothing: `transform` scales each query by its own rows, which must
    all be passed in one call. Without ``qid`` all rows are one list, and `fit` learns its minimum
    and maximum: new rows can then lie outside [0, 1], as with scikit-learn's ``MinMaxScaler``. Pass
    ``qid`` to both `fit` and `transform`, or to neither.

    Attributes
    ----------
    data_min_, data_max_ : ndarray of shape (n_features_in_,)
        Minimum and maximum of each feature in `fit`, all queries together.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when all are strings.

    See Also
    --------
    sklearn_rank.ListNetLinear : A linear ranker, which depends on the scales of features.

    References
    ----------
    Qin2013 (features scaled query by query).

    Examples
    --------
    >>> from sklearn_rank.preprocessing import QueryMinMaxScaler
    >>> X = [[1.0, 5.0], [3.0, 5.0], [10.0, 2.0], [30.0, 4.0], [20.0, 3.0]]
    >>> QueryMinMaxScaler().fit_transform(X, qid=["a", "a", "b", "b", "b"])
    array([[0. , 0. ],
           [1. , 0. ],
           [0. , 0. ],
           [1. , 1. ],
           [0.5, 0.5]])

    In a pipeline, with metadata routing, ``qid`` is passed once:

    >>> import sklearn
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_rank import ListNetLinear
    >>> from sklearn_rank.datasets import make_queries
    >>> data = make_queries(random_state=0)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     model = make_pipeline(QueryMinMaxScaler(), ListNetLinear())
    ...     model = model.fit(data.data, data.target, qid=data.qid)
    ...     scores = model.predict(data.data, qid=data.qid)
    >>> scores.shape
    (1000,)
    """

    # Requested by default, so that with metadata routing `qid` is passed only once.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"qid": True}
    __metadata_request__transform: ClassVar[dict[str, bool]] = {"qid": True}

    @with_callbacks
    def fit(self, X: Any, y: Any = None, *, qid: Any = None) -> Self:
        """Check the features and store their ranges.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : None
            Not used; a pipeline passes it.
        qid : array-like of shape (n_samples,), default=None
            Query of each row, in any order. None means one list.

        Returns
        -------
        self : object
            The fitted scaler.

        Raises
        ------
        ValueError
            When X or qid is not as described.
        """
        known = dict(vars(self))
        try:
            X = validate_data(self, X, dtype=np.float64)
            if qid is not None:
                check_qid(qid, X.shape[0])
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(known)
            raise
        self.data_min_ = X.min(axis=0)
        self.data_max_ = X.max(axis=0)
        self._has_qid_ = qid is not None
        end_fit_task(self, X=X, y=y)
        return self

    def transform(self, X: Any, *, qid: Any = None) -> Floats:
        """Scale rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        qid : array-like of shape (n_samples,), default=None
            Query of each row; required when the scaler was fitted with `qid`, and an error
            when it was not.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The scaled features.

        Raises
        ------
        ValueError
            When X or qid is not as described.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if self._has_qid_ != (qid is not None):
            had, has = ("with", "without") if self._has_qid_ else ("without", "with")
            raise ValueError(
                f"This QueryMinMaxScaler was fitted {had} qid and can't transform {has} it. Pass "
                "qid to both or to neither. Inside a Pipeline, switch routing on with "
                "sklearn.set_config(enable_metadata_routing=True) and pass qid once to fit, "
                "predict and score."
            )
        if qid is None:
            return _scale(X, self.data_min_, self.data_max_)
        rows = GroupedRows.from_codes(check_qid(qid, X.shape[0]), X.shape[0])
        X, queries = rows.sort(X), rows.queries
        low, high = (queries.spread(queries.reduce(ufunc, X)) for ufunc in (np.minimum, np.maximum))
        return rows.unsort(_scale(X, low, high))

    def fit_transform(self, X: Any, y: Any = None, *, qid: Any = None) -> Floats:
        """Fit, then scale the same rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : None
            Not used.
        qid : array-like of shape (n_samples,), default=None
            Query of each row.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The scaled features.

        Raises
        ------
        ValueError
            When X or qid is not as described.
        """
        return self.fit(X, y, qid=qid).transform(X, qid=qid)


def _scale(X: Floats, low: Floats, high: Floats) -> Floats:
    # Halves, because the difference of two finite numbers can overflow.
    width = high / 2 - low / 2
    is_constant = width == 0
    return np.where(is_constant, 0.0, (X / 2 - low / 2) / np.where(is_constant, 1.0, width))
