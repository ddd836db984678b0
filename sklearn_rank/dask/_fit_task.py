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
from sklearn_rank._core.warnings import IS_TAKEN
from sklearn_rank.dask._mailbox import Mailbox, News, mailbox
from sklearn_rank.dask._partitioned_matrix import BinnedX, PartitionedMatrix
from sklearn_rank.dask._xgboost_collective import (
    TIMEOUT,
    PeerLostError,
    XGBoostCollective,
    joined,
    losses_among_trees,
)
from sklearn_rank.estimators.boosted_trees import BoostedTreesRanker

Attributes = dict[str, Any]
Result = TypeVar("Result")

_LOOK = 0.2
"""Seconds between two looks at whether the fit is to be left."""

_GRACE = 10.0
"""Seconds for the thread of a fit that is to be left: it looks before each message."""


@dataclass(frozen=True, eq=False)
class FitPlan:
    """What each worker needs besides its rows.

    Attributes
    ----------
    estimator : estimator
        The ranker, unfitted, with what validation of X has told it.
    classes : ndarray of shape (2,) or None
        The two classes.
    bins : list of FeatureBins or None
        The bins of the features, where their values are not held.
    waits : bool
        Whether the client answers after each round.
    is_whole : bool
        Whether the features of a worker are to be one array.
    fit : str
        Name of the fit.
    tracker : dict
        Where XGBoost's tracker listens.
    earlier : dict or None
        Fitted attributes from which the fit goes on.
    """

    estimator: Any
    classes: Values | None
    bins: list[FeatureBins] | None
    waits: bool
    is_whole: bool
    fit: str = ""
    tracker: dict[str, Any] = field(default_factory=dict)
    earlier: Attributes | None = None


Outcome = tuple[Attributes | None, str, list[News], list[Any]]
"""Fitted attributes, from the first worker, their digest, news that were not taken, warnings.

Of a warning it is the message and the category.
"""


def run_fit(plan: FitPlan, rank: int, *parts: Any) -> Outcome:
    """Fit the ranker to the rows of this worker, in lock-step with the others."""
    n_threads = get_worker().state.nthreads
    with mailbox(plan.fit, rank, plan.waits) as box:
        fit = partial(_fit, plan, box, n_threads)
        try:
            return run_in_thread(plan.tracker, rank, box, fit, parts)
        finally:
            release_unused_memory()


def run_in_thread(
    tracker: dict[str, Any],
    rank: int,
    box: Mailbox,
    fit: Callable[[Sequence[Any], int], Result],
    parts: Sequence[Any],
) -> Result:
    """Return ``fit(parts, rank)``, called when all workers have joined.

    Where a worker is lost, XGBoost may have another one wait without a limit of time: for the one
    before it, while they join, or for the end of a message. So a worker joins in a thread of its
    own, in which XGBoost wants the fit to run as well, and this one looks whether the fit is to be
    left.

    Raises
    ------
    FitStoppedError, PeerLostError
        Where the fit is left. A thread that waits in XGBoost stays behind; if it had joined, with
        its rows.
    """
    kept, has_joined, found = [parts], Event(), [Future[Result]()]

    def run() -> None:
        try:
            with joined(tracker, rank):
                has_joined.set()
                result = fit(kept.pop(), rank)
            found[0].set_result(result)
        except BaseException as error:  # raised again in the thread of the task
            found[0].set_exception(error)

    Thread(target=run, name=f"sklearn_rank-fit-{rank}", daemon=True).start()
    end = time.monotonic() + TIMEOUT
    try:
        while not wait(found, _LOOK).done:
            box.check()
            if time.monotonic() > end and not has_joined.is_set():
                raise PeerLostError(f"The workers have not joined the fit in {TIMEOUT} s.")
    except BaseException:
        box.is_stopped = True
        kept.clear()
        if has_joined.is_set():
            wait(found, _GRACE)
        raise
    # Left in the list, the error would have its traceback, and so the partitions, in a cycle.
    return found.pop().result()


def _fit(plan: FitPlan, box: Mailbox, n_threads: int, parts: Sequence[Any], rank: int) -> Outcome:
    """Fit the ranker, in the thread that has joined the others."""
    collective = XGBoostCollective(box.check)
    if collective.rank != rank:
        raise PeerLostError(f"Worker {rank} of the fit has joined as {collective.rank}.")
    box.agree = collective.agree
    estimator = estimator_on(plan.estimator, n_threads)
    rows = worker_rows(parts, plan)
    release_unused_memory()
    notes: dict[Any, bool] = {}
    IS_TAKEN.set(lambda *note: notes.setdefault(note, True))  # in this thread, of this fit alone
    with losses_among_trees():
        attributes = fit_rows(estimator, rows, collective, box, plan.earlier)
    return attributes if rank == 0 else None, digest_of(attributes), box.news(), [*notes]


def release_unused_memory() -> None:
    """Return to the system what is free: of pyarrow, after Parquet files, and of the C library."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    if sys.platform.startswith("linux"):
        c_library = ctypes.CDLL(None)
        if hasattr(c_library, "malloc_trim"):  # glibc keeps what is free between blocks in use
            c_library.malloc_trim(0)


def estimator_on(estimator: Any, n_threads: int) -> Any:
    """Return the ranker for this worker: with its threads, unless it has a number of its own."""
    own = deepcopy(estimator)
    if getattr(own, "n_jobs", 1) is None:
        own.n_jobs = n_threads
    return own


def worker_rows(parts: Sequence[Any], plan: FitPlan) -> Rows:
    """Return the rows of several partitions together."""
    X: Any
    if plan.bins is not None:
        X = BinnedX([part.X for part in parts], plan.bins)
    elif plan.is_whole:
        X = np.concatenate([part.X for part in parts])
    else:
        X = PartitionedMatrix([part.X for part in parts])
    y = np.concatenate([part.y for part in parts])
    weight, qid = joined_weights([part.weight for part in parts]), None
    if parts[0].qid is not None:
        ids = np.concatenate([part.qid for part in parts])
        qid = np.unique(ids, return_inverse=True)[1].ravel()
    return Rows(X, y, qid, weight, plan.classes)


def joined_weights(parts: Sequence[Floats]) -> Floats:
    """Return the weights of several partitions; weights of one take no memory."""
    # Dask holds equal numbers as one, whatever their value.
    if all(not len(part) or (part.strides == (0,) and part[0] == 1) for part in parts):
        return np.broadcast_to(1.0, sum(map(len, parts)))
    return np.concatenate(parts)


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
    earlier: Attributes | None = None,
) -> Attributes:
    """Fit a ranker to the rows of all processes and return its fitted attributes.

    Parameters
    ----------
    estimator : estimator
        The ranker, unfitted, with parameters that were checked; changed by the call.
    rows : Rows
        The rows of this process.
    collective : Collective
        The processes.
    observer : Observer or None
        Told of each round, in every process; it returns the same in all. Its method `begin` gets
        a function that returns the fitted attributes so far, which all processes call at once.
    earlier : dict or None
        Fitted attributes of a fit to the same rows that was interrupted: it goes on there.
    """
    data = replace(rows, collective=collective if collective.size > 1 else None)
    estimator.n_features_in_ = rows.X.shape[1]
    if earlier is not None:
        estimator.set_fitted(dict(earlier))
        # Trees begin again: further ones would have other bins.
        estimator.warm_start = not isinstance(estimator, BoostedTreesRanker)
    with observed(estimator, observer):
        estimator.check_training(data)
        fitted: Attributes = estimator.fit_rows(data)
    return fitted
