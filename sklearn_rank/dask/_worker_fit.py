"""What every process of a shared fit runs: the ranker's own fit, in lock-step with the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_rank._observers import observed
from sklearn_rank._protocols import Floats, Indices, Observer, Values
from sklearn_rank.base import TrainingData
from sklearn_rank.rows.processes import Collective

Attributes = dict[str, Any]


@dataclass(frozen=True, eq=False)
class WorkerRows:
    """The rows that one process holds.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features), BinnedX or PartitionedRows
        Features, or what stands for them.
    y : ndarray of shape (n_rows,)
        True for the upper class (binary), or relevance (graded).
    qid : ndarray of shape (n_rows,) or None
        Query codes; each query is whole in one process.
    weight : ndarray of shape (n_rows,)
        Positive multiplicities.
    classes : ndarray of shape (2,) or None
        The two classes; None in graded mode.
    """

    X: Any
    y: Values
    qid: Indices | None
    weight: Floats
    classes: Values | None = None


def fit_rows(
    estimator: Any,
    rows: WorkerRows,
    collective: Collective,
    observer: Observer | None = None,
    earlier: Attributes | None = None,
) -> Attributes:
    """Fit a ranker to the rows of all processes and return its fitted attributes.

    Parameters
    ----------
    estimator : estimator
        The ranker, unfitted, with parameters that were checked; changed by the call.
    rows : WorkerRows
        The rows of this process.
    collective : Collective
        The processes.
    observer : Observer or None
        Told of each round, in every process; it returns the same in all. If it has a method
        `begin`, that gets a function that returns the fitted attributes so far.
    earlier : dict or None
        Fitted attributes of a fit to the same rows that was interrupted: it goes on there.
    """
    every_row: Any = np.arange(len(rows.y), dtype=np.min_scalar_type(-len(rows.y) - 1))
    data = TrainingData(
        rows.X, rows.y, rows.qid, rows.weight, every_row, rows.classes, None, collective
    )
    estimator.n_features_in_ = rows.X.shape[1]
    if earlier is not None:
        estimator.set_fitted(dict(earlier))
        estimator.warm_start = True
    with observed(estimator, observer):
        estimator.check_training(data)
        fitted: Attributes = estimator.fit_rows(data)
    return fitted
