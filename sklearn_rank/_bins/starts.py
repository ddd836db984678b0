"""Bins as engines of trees take them: the smallest value of each."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from sklearn_rank._bins.binned_features import SortedValues, rows_for_thresholds
from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.selected import Selection

__all__ = ["bin_starts"]


def bin_starts(data: Rows, max_bins: int, categorical: tuple[int, ...]) -> Floats:
    """Return the smallest value of each bin of each feature, a column each, NaN below the last.

    Weighted quantiles of the rows that `rows_for_thresholds` chooses; every code of a categorical
    feature has a bin. XGBoost's own take several times as long, and know no weights. Shape
    (n_bins, n_features), of 32 bits, as the engine compares values.
    """
    chosen, weight = rows_for_thresholds(data)
    rows: Any = Selection.of(data.X)[chosen]  # of which only columns are copied
    if rows.is_sparse:
        rows = rows.copied().astype(np.float32).tocsc()
    columns = []
    for j in range(data.X.shape[1]):
        if j in categorical:
            largest = float(np.fmax.reduce(data.X[:, j], initial=0.0))
            columns.append(np.arange(1 + data.largest(largest)))
            continue
        x = rows[:, [j]].toarray().ravel() if issparse(rows) else rows[:, j]
        known = SortedValues.of(x.astype(np.float32), weight, data)
        # Thresholds are the largest values of bins: the next value begins the next bin.
        ends = known.thresholds(max_bins) if len(known.values) else known.values
        following = np.searchsorted(known.values, ends, side="right")
        values = known.values if len(known.values) else np.zeros(1)
        columns.append(values[np.concatenate([[0], following])])
    starts = np.full((max(map(len, columns)), len(columns)), np.nan, dtype=np.float32)
    for j, column in enumerate(columns):
        starts[: len(column), j] = column
    return starts
