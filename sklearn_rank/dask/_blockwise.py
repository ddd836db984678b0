"""Predictions of dask collections, lazy and a partition at a time."""

from __future__ import annotations

from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd

from sklearn_rank._core.protocols import Values


def blockwise(estimator: Any, method: str, X: Any) -> Any:
    """Return the predictions of a method of a fitted estimator.

    Parameters
    ----------
    estimator : estimator
        A fitted ranker.
    method : str
        "predict" or "decision_function".
    X : dask array, dask data frame or array-like of shape (n_samples, n_features)
        Features.
    """
    is_label = method == "predict" and estimator.relevance == "binary"
    nothing = np.zeros(0, dtype=estimator.classes_.dtype if is_label else np.float64)
    if isinstance(X, da.Array):
        options = {"drop_axis": 1, "dtype": nothing.dtype, "meta": nothing}
        return X.rechunk({1: -1}).map_blocks(predict_block, estimator, method, nothing, **options)
    if isinstance(X, dd.DataFrame):
        meta = pd.Series(nothing)
        return X.map_partitions(predict_part, estimator, method, nothing, meta=meta)
    return getattr(estimator, method)(X)


def predict_block(X: Values, estimator: Any, method: str, nothing: Values) -> Values:
    """Return the predictions of a block."""
    return np.asarray(getattr(estimator, method)(X)) if len(X) else nothing


def predict_part(X: pd.DataFrame, estimator: Any, method: str, nothing: Values) -> pd.Series:
    """Return the predictions of a partition, with its index."""
    return pd.Series(predict_block(X, estimator, method, nothing), index=X.index)
