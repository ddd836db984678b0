"""The long task of a fit on each worker."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event, Thread
from typing import Any, TypeVar

import joblib
import numpy as np
from distributed import get_worker

from sklearn_rank._bins.binned_features import FeatureBins
from sklearn_rank._core.callbacks import observed
from sklearn_rank._core.protocols import Floats, Values
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.sums import Collective
from sklearn_rank._core.warnings import IS_MUTED
from sklearn_rank.dask._mailbox import Mailbox, RoundMessage, mailbox
from sklearn_rank.dask._partitioned_matrix import BinnedX, PartitionedMatrix
from sklearn_rank.dask._partitions import Partition
from sklearn_rank.dask._xgboost_collective import (
    TIMEOUT,
    PeerLostError,
    XGBoostCollective,
    joined,
    peer_lost_in_trees,
)
from sklearn_rank.estimators.boosted_trees import BoostedTreesRanker

Attributes = dict[str, Any]
Result = TypeVar("Result")

_LOOK = 0.2
"""Seconds between two checks whether the worker must leave the fit."""

_GRACE = 10.0
"""Seconds for the thread of a fit to end: it checks before each message whether it must."""


@dataclass(frozen=True, eq=False)
class FitPlan:
    """All that a worker needs for a fit, apart from its rows.

    Attributes
    ----------
    estimator : estimator
        The ranker, unfitted, with the attributes that describe X.
    classes : ndarray of shape (2,) or None
        The two classes.
    bins : list of FeatureBins or None
        The bins of the features, where the workers hold no values.
    waits : bool
        Whether each round waits for an answer from the client.
    is_whole : bool
        Whether the features of a worker must be one array.
    fit : str
        Name of the fit.
    tracker : dict
        Address of XGBoost's tracker.
    last_attributes : dict or None
        Fitted attributes from which the fit continues.
    """

    estimator: Any
    classes: Values | None
    bins: list[FeatureBins] | None
    waits: bool
    is_whole: bool
    fit: str = ""
    tracker: dict[str, Any] = field(default_factory=dict)
    last_attributes: Attributes | None = None


Outcome = tuple[Attributes | None, str, list[RoundMessage], list[Any]]
"""Fitted attributes (of the first worker only), their digest, pending messages, and warnings, each
a message and a category.
"""


def run_fit(plan: FitPlan, rank: int, *partitions: Partition) -> Outcome:
    """Fit the ranker to the rows of this worker, in lock-step with the others."""
    n_threads = get_worker().state.nthreads
    with mailbox(plan.fit, rank, plan.waits) as box:
        fit = partial(_fit, plan, box, n_threads)
        try:
            return run_in_thread(plan.tracker, rank, box, fit, partitions)
        finally:
            release_unused_memory()


def run_in_thread(
    tracker: dict[str, Any],
    rank: int,
    box: Mailbox,
    fit: Callable[[Sequence[Partition], int], Result],
    partitions: Sequence[Partition],
) -> Result:
    """Return ``fit(partitions, rank)``, called when all workers have joined.

    If a worker is lost, XGBoost may leave the others waiting indefinitely, either to join or for a
    message to complete. So a worker joins and fits in a second thread (XGBoost binds its collective
    to a thread), while the calling thread checks whether the worker must leave the fit.

    Raises
    ------
    FitStoppedError, PeerLostError
        If the worker leaves the fit. A thread blocked in XGBoost is abandoned; if it had already
        joined, its rows stay in memory with it.
    """
    # Lists, so that this thread can drop its references.
    rows_left, has_joined, futures = [partitions], Event(), [Future[Result]()]

    def run() -> None:
        try:
            with joined(tracker, rank):
                has_joined.set()
                result = fit(rows_left.pop(), rank)
            futures[0].set_result(result)
        except BaseException as error:  # raised again in the thread of the task
            futures[0].set_exception(error)

    Thread(target=run, name=f"sklearn_rank-fit-{rank}", daemon=True).start()
    deadline = time.monotonic() + TIMEOUT
    try:
        while not wait(futures, _LOOK).done:
            box.check()
            if time.monotonic() > deadline and not has_joined.is_set():
                raise PeerLostError(f"The workers did not join the fit within {TIMEOUT} s.")
    except BaseException:
        box.is_stopped = True
        rows_left.clear()
        if has_joined.is_set():
            wait(futures, _GRACE)
        raise
    # Popped: else the error's traceback, and with it the partitions, would be in a cycle.
    return futures.pop().result()


def _fit(
    plan: FitPlan, box: Mailbox, n_threads: int, partitions: Sequence[Partition], rank: int
) -> Outcome:
    """Fit the ranker, in the thread that has joined the others."""
    collective = XGBoostCollective(box.check)
    if collective.rank != rank:
        raise PeerLostError(f"Worker {rank} of the fit has joined as {collective.rank}.")
    box.agree = collective.agree
    estimator = estimator_on(plan.estimator, n_threads)
    rows = worker_rows(partitions, plan)
    release_unused_memory()
    warnings: dict[Any, bool] = {}  # without repeats, in order; of this thread, and so this fit
    IS_MUTED.set(lambda *warning: warnings.setdefault(warning, True))
    with peer_lost_in_trees():
        attributes = fit_rows(estimator, rows, collective, box, plan.last_attributes)
    return attributes if rank == 0 else None, digest_of(attributes), box.pending(), [*warnings]


def release_unused_memory() -> None:
    """Return free memory of pyarrow (after Parquet files) and of the C library to the system."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    if sys.platform.startswith("linux"):
        c_library = ctypes.CDLL(None)
        if hasattr(c_library, "malloc_trim"):  # glibc keeps free memory between blocks in use
            c_library.malloc_trim(0)


def estimator_on(estimator: Any, n_threads: int) -> Any:
    """Return a copy of the ranker for a worker; ``n_jobs=None`` becomes its number of threads."""
    ranker = deepcopy(estimator)
    if getattr(ranker, "n_jobs", 1) is None:
        ranker.n_jobs = n_threads
    return ranker


def worker_rows(partitions: Sequence[Partition], plan: FitPlan) -> Rows:
    """Return the rows of several partitions together."""
    X: Any
    arrays: list[Any] = [partition.X for partition in partitions]  # features, or bins
    if plan.bins is not None:
        X = BinnedX(arrays, plan.bins)
    else:
        X = np.concatenate(arrays) if plan.is_whole else PartitionedMatrix(arrays)
    y = np.concatenate([partition.y for partition in partitions])
    weight = joined_weights([partition.weight for partition in partitions])
    ids = [partition.qid for partition in partitions if partition.qid is not None]
    qid = np.unique(np.concatenate(ids), return_inverse=True)[1].ravel() if ids else None
    return Rows(X, y, qid, weight, plan.classes)


def joined_weights(weights: Sequence[Floats]) -> Floats:
    """Return the weights of several partitions; weights that are all 1 take no memory."""
    # Dask broadcasts equal numbers of any value: strides of zero.
    if all(not len(weight) or (weight.strides == (0,) and weight[0] == 1) for weight in weights):
        return np.broadcast_to(1.0, sum(map(len, weights)))
    return np.concatenate(weights)


def digest_of(attributes: Attributes) -> str:
    """Return a digest of the coordinates and steps of a model, or of its coefficients."""
    history = attributes.get("_history_")
    if history is not None:
        model: Any = [list(map(int, history["coordinates"])), list(map(float, history["steps"]))]
    else:
        model = attributes.get("coef_")
    return str(joblib.hash(model))


# The ranker's own fit, in lock-step with the others -----------------------------------------


def fit_rows(
    estimator: Any,
    rows: Rows,
    collective: Collective,
    observer: Any = None,
    last_attributes: Attributes | None = None,
) -> Attributes:
    """Fit a ranker to the rows of all processes and return its fitted attributes.

    Parameters
    ----------
    estimator : estimator
        The ranker, unfitted, with checked parameters; the call changes it.
    rows : Rows
        The rows of this process.
    collective : Collective
        The processes.
    observer : Observer or None
        Called after each round in every process; it returns the same in all. Its method `begin`
        gets a function that returns the fitted attributes so far, which all processes call at once.
    last_attributes : dict or None
        Fitted attributes of an interrupted fit to the same rows, which this one continues.
    """
    data = replace(rows, collective=collective if collective.size > 1 else None)
    estimator.n_features_in_ = rows.X.shape[1]
    if last_attributes is not None:
        estimator.set_fitted(dict(last_attributes))
        # Trees start anew: further ones would have other bins.
        estimator.warm_start = not isinstance(estimator, BoostedTreesRanker)
    with observed(estimator, observer):
        estimator.check_training(data)
        fitted: Attributes = estimator.fit_rows(data)
    return fitted
