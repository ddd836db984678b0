"""Scaling of features within queries, and weights of queries."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_rank._core.callbacks import (
    CallbackSupportMixin,
    end_fit_task,
    stamped_state,
    take_state,
    with_callbacks,
)
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.sums import Queries
from sklearn_rank._core.validation import (
    Choice,
    check_column,
    check_parameters,
    check_qid,
    check_query_weight,
    check_weight,
    sort_unique,
    unchanged_on_error,
)

__all__ = ["QueryMinMaxScaler", "query_sample_weight"]


def query_sample_weight(
    y: Any, qid: Any, query_weight: Any = None, *, per: str = "query", sample_weight: Any = None
) -> Floats:
    r"""Compute row weights that give each query the weight you choose.

    Pass the result as `sample_weight` to a ranker with a pairwise loss, or to `auc_score`. The
    weight of a pair is the product of its rows' weights, so the rows of query q get

    .. math:: w_i \sqrt{v_q} \quad (\text{per="pair"}), \qquad
        w_i \sqrt{v_q \Big/ \sum_{(i, k) \in q} w_i w_k} \quad (\text{per="query"})

    where

    - :math:`v_q` is the weight of the query and :math:`w_i` the `sample_weight` of the row;
    - the sum is over the comparable pairs of the query: rows of different y.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Classes or relevance.
    qid : array-like of shape (n_samples,)
        Query of each row: ints, strings or other sortable values, in any order.
    query_weight : dict, array-like of shape (n_samples,) or None, default=None
        Weight of each query: a dict with query ids as keys, or one number per row, constant within
        each query. None: 1 for all.
    per : {"query", "pair"}, default="query"
        "query": all pairs of a query together weigh `query_weight`, so with None, long and short
        queries count the same. "pair": the weight of each pair is multiplied by it; with 2, a query
        counts as two copies.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Multiplicities of the rows, combined with the query weights.

    Returns
    -------
    ndarray of shape (n_samples,)
        Weights of the rows. With ``per="query"``, 0 in a query without a comparable pair.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    sklearn_rank.ListNetLinear : Counts each query once, whatever its weights.

    Notes
    -----
    All pairwise losses, and the pushes "top" and "bottom" at every p, are exactly proportional to
    the weight of a query; with ``push="both"``, each of the two parts is. Other losses are not:
    ``push="ir"``, ``push="crucial_pairs"`` at p > 1, and listwise losses ("cross_entropy",
    "smoothed_dcg"), in which a constant weight within a query changes nothing. With these, pass the
    rows of a query twice, under two ids, to count it twice. Binning treats row weights as
    multiplicities.

    References
    ----------
    Derived here.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.metrics import auc_score
    >>> from sklearn_rank.preprocessing import query_sample_weight
    >>> y, qid = np.array([1, 0, 1, 0, 0, 0]), np.array(["a", "a", "b", "b", "b", "b"])
    >>> scores = np.array([1, 2, 9, 3, 4, 5])  # query a is wrong, query b is right
    >>> auc_score(y, scores, qid=qid)  # b has three of the four pairs
    0.75
    >>> equal = query_sample_weight(y, qid)
    >>> round(auc_score(y, scores, qid=qid, sample_weight=equal), 3)
    0.5
    >>> more = query_sample_weight(y, qid, {"a": 3, "b": 1})
    >>> round(auc_score(y, scores, qid=qid, sample_weight=more), 3)
    0.25
    """
    check_parameters("query_sample_weight", {"per": per}, {"per": Choice(("query", "pair"))})
    y = check_column(y, "y")
    code = check_qid(qid, len(y))
    weight = check_weight(sample_weight, len(y))
    factor = check_query_weight(query_weight, qid, code)
    if per == "query":
        pair_sums = _pair_weights(y, code, weight)
        factor = np.divide(factor, pair_sums, out=np.zeros_like(pair_sums), where=pair_sums > 0)
    return np.asarray(weight * np.sqrt(factor)[code])


def _pair_weights(y: Any, code: Indices, weight: Floats) -> Floats:
    """Return the total weight of the comparable pairs of each query, by code."""
    level = sort_unique(y, "y must hold values")[1]
    preferences = Preferences.from_labels(level, code, weight)
    level_weight = preferences.reduce(np.add, preferences.weight)
    upper_weight = preferences.scan_above(np.add, level_weight, 0.0)
    return np.asarray(preferences.queries.reduce(np.add, level_weight * upper_weight))


class QueryMinMaxScaler(
    OneToOneFeatureMixin, TransformerMixin, CallbackSupportMixin, BaseEstimator
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
    all be passed in one call. Without ``qid``, all rows are one list, and `fit` learns its minimum
    and maximum: new rows can then lie outside [0, 1], as with scikit-learn's ``MinMaxScaler``. A
    feature that is constant in `fit` becomes 0 in all new rows, whatever its value there. Pass
    ``qid`` to both `fit` and `transform`, or to neither.

    Attributes
    ----------
    data_min_, data_max_ : ndarray of shape (n_features_in_,)
        Minimum and maximum of each feature in `fit`, all queries together.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are strings.

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

    __getstate__, __setstate__ = stamped_state, take_state

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
            Ignored; present for compatibility with pipelines.
        qid : array-like of shape (n_samples,), default=None
            Query of each row, in any order. None means one list.

        Returns
        -------
        self : object
            The fitted scaler.

        Raises
        ------
        ValueError
            If X or qid is invalid.
        """
        with unchanged_on_error(self):
            X = validate_data(self, X, dtype=np.float64)
            if qid is not None:
                check_qid(qid, X.shape[0])
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
            Query of each row; required if the scaler was fitted with `qid`, and an error otherwise.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The scaled features.

        Raises
        ------
        ValueError
            If X or qid is invalid.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if self._has_qid_ != (qid is not None):
            was, has = ("with", "without") if self._has_qid_ else ("without", "with")
            raise ValueError(
                f"This QueryMinMaxScaler was fitted {was} qid and can't transform {has} it. Pass "
                "qid to both or to neither. Inside a Pipeline, enable routing with "
                "sklearn.set_config(enable_metadata_routing=True) and pass qid once to fit, "
                "predict and score."
            )
        if qid is None:
            return _scale(X, self.data_min_, self.data_max_)
        rows = Queries.from_codes(check_qid(qid, X.shape[0]), X.shape[0])
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
            If X or qid is invalid.
        """
        return self.fit(X, y, qid=qid).transform(X, qid=qid)


def _scale(X: Floats, low: Floats, high: Floats) -> Floats:
    """Return X minus `low`, divided by the width of the range; 0 where the width is 0."""
    # The difference of the halves of two finite numbers can't overflow.
    width = high / 2 - low / 2
    is_constant = width == 0
    return np.where(is_constant, 0.0, (X / 2 - low / 2) / np.where(is_constant, 1.0, width))
