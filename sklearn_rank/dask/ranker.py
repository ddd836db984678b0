"""Rankers fitted on a Dask cluster."""

from __future__ import annotations

from typing import Any, Self

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import get_client
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_rank._core.callbacks import end_fit_task, has_callbacks, make_observer, with_callbacks
from sklearn_rank._core.protocols import Observer, Values
from sklearn_rank._core.validation import check_qid_given, find_classes
from sklearn_rank.base import DESCRIBED, is_binary
from sklearn_rank.dask._binning_tasks import bin_partitions
from sklearn_rank.dask._cluster_auc import cluster_auc, queries_auc
from sklearn_rank.dask._cluster_fit import ClusterFit
from sklearn_rank.dask._fit_task import FitPlan
from sklearn_rank.dask._partitions import Partition, Partitions, RowChecks, divide, n_features_of
from sklearn_rank.dask._summaries import Summary, find_categories, summarise, with_whole_queries
from sklearn_rank.dask._supported import check_supported, check_workers
from sklearn_rank.dask._tasks import Tasks
from sklearn_rank.estimators.boosted_trees import BoostedTreesRanker


class DaskRanker(BaseEstimator):
    """Fit a ranker to rows on a Dask cluster; the model equals that of one process.

    The exception is `BoostedTreesRanker` with ``subsample`` or ``colsample`` below 1: each worker
    draws its own rows.

    Parameters
    ----------
    estimator : estimator
        A ranker of this package, unfitted.
    client : distributed.Client, default=None
        The cluster. None: the client that ``distributed.get_client()`` returns.
    shuffle_queries : bool, default=False
        Whether to bring each query into one partition first. Otherwise a query in several
        partitions raises an error.

    Attributes
    ----------
    estimator_ : estimator
        The fitted ranker, which works and unpickles without Dask.
    partial_estimator_ : estimator
        After an interrupted fit: the ranker with the rounds so far, if any.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client, LocalCluster
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_rank import RankBoost
    >>> from sklearn_rank.dask import DaskRanker
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> options = {"n_workers": 1, "processes": False, "dashboard_address": ":0"}
    >>> with LocalCluster(**options) as cluster, Client(cluster) as client:
    ...     rows = da.from_array(X, (200, 30)), da.from_array(y, 200)
    ...     ranker = DaskRanker(RankBoost(n_estimators=10), client=client).fit(*rows)
    >>> ranker.estimator_.score(X, y) > 0.98
    True
    """

    def __init__(
        self, estimator: Any, *, client: Any = None, shuffle_queries: bool = False
    ) -> None:
        self.estimator = estimator
        self.client = client
        self.shuffle_queries = shuffle_queries

    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Fit the ranker.

        Parameters
        ----------
        X : dask array or dask data frame of shape (n_samples, n_features)
            Features.
        y : dask array or dask series of shape (n_samples,)
            Classes or relevance, as for the ranker, with the same partitions as X.
        qid : dask array or dask series of shape (n_samples,), default=None
            Query of each row. None means one list.
        sample_weight : float, dask array or dask series of shape (n_samples,), default=None
            Multiplicities.

        Returns
        -------
        self : object
            With the fitted ranker in ``estimator_``.

        Raises
        ------
        TypeError, ValueError
            If a cluster cannot fit the ranker or its parameters, if partitions do not match or a
            query is split, and if `fit` of the ranker would raise it.
        RuntimeError
            If workers have other package versions or are lost repeatedly.
        """
        estimator = clone(self.estimator)
        check_supported(estimator, qid is not None)
        partitions = _partitions_of(estimator, X, y, qid, sample_weight)
        client = self._client()
        check_workers(client)
        with client.as_current():  # functions of Dask take the default client
            self.estimator_ = _fit_on_client(estimator, self, client, partitions, (X, y))
        return self

    def predict(self, X: Any) -> Any:
        """Predict labels (binary mode) or scores (graded mode).

        Parameters
        ----------
        X : dask array, dask data frame or array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        dask array, dask series or ndarray of shape (n_samples,)
            As for the fitted ranker; lazy for dask collections.
        """
        check_is_fitted(self)
        return _blockwise(self.estimator_, "predict", X)

    @available_if(lambda ranker: is_binary(ranker.estimator))
    def decision_function(self, X: Any) -> Any:
        """Return scores plus ``estimator_.offset_``. Only in binary mode.

        Parameters
        ----------
        X : dask array, dask data frame or array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        dask array, dask series or ndarray of shape (n_samples,)
            Higher for rows that rank higher; lazy for dask collections.
        """
        check_is_fitted(self)
        return _blockwise(self.estimator_, "decision_function", X)

    def score(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> float:
        """Return the exact area under the ROC curve, computed on the cluster.

        Parameters
        ----------
        X : dask array or dask data frame of shape (n_samples, n_features)
            Features.
        y : dask array or dask series of shape (n_samples,)
            Classes (binary mode) or relevance (graded mode).
        qid : dask array or dask series of shape (n_samples,), default=None
            Query of each row; required if the ranker was fitted with `qid`.
        sample_weight : float, dask array or dask series of shape (n_samples,), default=None
            Multiplicities.

        Returns
        -------
        float
            Between 0 and 1, greater is better; ties count one half. Pairs within queries are
            pooled.
        """
        check_is_fitted(self)
        estimator = self.estimator_
        if getattr(estimator, "score_p", None) is not None:
            raise ValueError(
                f"score of DaskRanker is the AUC: score_p={estimator.score_p!r} of "
                f"{type(estimator).__name__} must be None."
            )
        check_qid_given(estimator, qid)
        partitions = _partitions_of(estimator, X, y, qid, sample_weight, fitted=True)
        client = self._client()
        with client.as_current():
            return _auc_on(client, partitions, estimator, self.shuffle_queries)

    @property
    def classes_(self) -> Values:
        """The two classes of the fitted ranker, in binary mode."""
        return np.asarray(self.estimator_.classes_)

    def _client(self) -> Any:
        """Return the client; raise ValueError if there is none."""
        if self.client is not None:
            return self.client
        try:
            return get_client()
        except ValueError as error:
            raise ValueError(
                "DaskRanker has no client, and none can be found: pass "
                "client=distributed.Client(...), or create one first."
            ) from error

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy with the same client."""
        return type(self)(
            clone(self.estimator), client=self.client, shuffle_queries=self.shuffle_queries
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without the client."""
        return {**super().__getstate__(), "client": None}

    def __sklearn_is_fitted__(self) -> bool:
        """Whether a fit has ended."""
        return hasattr(self, "estimator_")


def _blockwise(estimator: Any, method: str, X: Any) -> Any:
    """Return the predictions of a method of a fitted ranker; lazily for dask collections."""
    is_label = method == "predict" and estimator.relevance == "binary"
    empty = np.zeros(0, dtype=estimator.classes_.dtype if is_label else np.float64)
    if isinstance(X, da.Array):
        kwargs = {"drop_axis": 1, "dtype": empty.dtype, "meta": empty}
        return X.rechunk({1: -1}).map_blocks(_predict_block, estimator, method, empty, **kwargs)
    if isinstance(X, dd.DataFrame):
        meta = pd.Series(empty)
        return X.map_partitions(_predict_block, estimator, method, empty, meta=meta)
    return getattr(estimator, method)(X)


def _predict_block(X: Any, estimator: Any, method: str, empty: Values) -> Any:
    """Return the predictions of a block, with the index of a data frame."""
    values = np.asarray(getattr(estimator, method)(X)) if len(X) else empty
    return pd.Series(values, index=X.index) if hasattr(X, "index") else values


def _partitions_of(
    estimator: Any, X: Any, y: Any, qid: Any, weight: Any, *, fitted: bool = False
) -> Partitions:
    """Return the partitions after all checks that need no rows."""
    owner = type(estimator).__name__
    n_features = n_features_of(X, owner)
    table = X._meta_nonempty if hasattr(X, "columns") else np.empty((1, n_features))
    if not fitted and hasattr(estimator, "find_categories"):
        estimator.find_categories(table)
    estimator.check_columns(table, reset=not fitted)
    validate_data(estimator, table, reset=not fitted, skip_check_array=True)
    checks = RowChecks(
        owner,
        estimator.relevance == "graded",
        estimator.__sklearn_tags__().input_tags.allow_nan,
        n_features,
        codes=getattr(estimator, "category_codes_", None),
    )
    return divide(owner, X, y, qid, weight, checks)


def _auc_on(client: Any, partitions: Partitions, estimator: Any, shuffle_queries: bool) -> float:
    """Return the AUC of the rows on a cluster."""
    tasks = Tasks(client)
    partitions = with_whole_queries(tasks, partitions, "score", shuffles=shuffle_queries)
    summaries = tasks.results(partitions.map(summarise, True))
    heaviest = max(summary.heaviest for summary in summaries)
    if partitions.has_queries:
        return queries_auc(tasks, partitions, estimator, heaviest)
    n_ranges = min(len(partitions.chunks), 4 * len(client.nthreads()))
    return cluster_auc(tasks, partitions, estimator, heaviest, n_ranges)


def _classes_on_cluster(estimator: Any, summaries: list[Summary]) -> Values | None:
    """Return the two classes on the cluster; None with graded relevance."""
    if estimator.relevance == "graded":
        return None
    labels = [summary.labels for summary in summaries if summary.labels is not None]
    labels = [values for values in labels if len(values)]  # an empty array may have another type
    return np.asarray(find_classes(type(estimator).__name__, np.concatenate(labels)))


@with_callbacks
def _fit_on_client(
    estimator: Any, owner: DaskRanker, client: Any, partitions: Partitions, data: tuple[Any, Any]
) -> Any:
    """Fit the estimator to the collections X and y in `data`, and return the estimator."""
    plan, futures, sizes = _planned(estimator, owner.shuffle_queries, Tasks(client), partitions)
    # Not earlier: a refused fit must leave the last model as it is.
    for name in ("estimator_", "partial_estimator_"):
        owner.__dict__.pop(name, None)
    fit = ClusterFit(client, plan, futures, sizes)
    fit.observe = _client_observer(estimator, fit, data)
    try:
        estimator.set_fitted(fit.run())
    except BaseException:
        if fit.attributes is not None:
            owner.partial_estimator_ = _described(clone(estimator), estimator)
            owner.partial_estimator_.set_fitted(dict(fit.attributes))
        raise
    end_fit_task(estimator, X=data[0], y=data[1])
    return estimator


def _described(other: Any, estimator: Any) -> Any:
    """Copy the attributes that describe X to another estimator, and return it."""
    attributes = vars(estimator)
    vars(other).update({name: attributes[name] for name in DESCRIBED if name in attributes})
    return other


def _planned(
    estimator: Any, shuffle_queries: bool, tasks: Tasks, partitions: Partitions
) -> tuple[FitPlan, list[Any], list[int]]:
    """Return the plan of a fit, futures of the partitions that have rows, and their sizes."""
    name, is_graded = type(estimator).__name__, estimator.relevance == "graded"
    # 1) A first look at all rows: categories, whole queries, classes and numbers of rows.
    if partitions.checks.codes is not None:
        codes = find_categories(tasks, partitions, partitions.checks.codes.positions)
        estimator.category_codes_, partitions = codes, partitions.with_checks(codes=codes)
    partitions = with_whole_queries(tasks, partitions, name, shuffles=shuffle_queries)
    # Not earlier: a piece of a split query may have no pair of its own.
    partitions = partitions.with_checks(only_paired=is_graded and hasattr(estimator, "binning"))
    summaries = tasks.results(partitions.map(summarise, is_graded))
    has_rows = [summary.n_rows > 0 for summary in summaries]
    if not any(has_rows):
        raise ValueError(f"{name} has no row of positive weight to learn from.")
    classes = _classes_on_cluster(estimator, summaries)
    partitions = partitions.with_checks(classes=classes).where(has_rows)
    # 2) A second look, which reads features: the workers keep their values or their bins.
    bins, binning = None, estimator.binning() if hasattr(estimator, "binning") else None
    if binning is None:
        futures = tasks.start(partitions.map(Partition.take, slice(None)))
    else:
        futures, bins = bin_partitions(tasks, partitions, binning)
    plan = FitPlan(
        _described(_for_workers(estimator), estimator),
        classes,
        bins,
        waits=has_callbacks(estimator),
        is_whole=isinstance(estimator, BoostedTreesRanker),
    )
    return plan, futures, [summary.n_rows for summary in summaries if summary.n_rows]


def _for_workers(estimator: Any) -> Any:
    """Return the estimator without callbacks, with one seed for all workers."""
    parameters = estimator.get_params(deep=False) | {"verbose": 0}
    if parameters.get("random_state", 0) is None:
        parameters["random_state"] = int(check_random_state(None).randint(2**31 - 1))
    return type(estimator)(**parameters)


def _client_observer(estimator: Any, fit: ClusterFit, data: tuple[Any, Any]) -> Observer:
    """Return the observer of rounds at the client: `verbose` and callbacks of the estimator."""
    parameters = estimator.get_params(deep=False)
    unit = "round" if "n_estimators" in parameters else "iteration"
    total = parameters.get("n_estimators", parameters.get("max_iter"))
    return make_observer(
        estimator,
        unit,
        total,
        lambda: dict(fit.attributes or {}),
        {"X": lambda: data[0], "y": lambda: data[1], "metadata": None},
    )
