"""Bins as engines of trees take them: where each begins."""

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
    """Return where each bin of each feature begins, a column each, NaN below the last.

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
        if not len(known.values):
            columns.append(np.zeros(1))
            continue
        ends = known.thresholds(max_bins)
        place = np.searchsorted(known.values, ends, side="right")
        # A bin begins between two values, or at the upper one where no number is between them.
        following = np.where(ends > known.values[place - 1], ends, known.values[place])
        columns.append(np.append(known.values[0], following))
    starts = np.full((max(map(len, columns)), len(columns)), np.nan, dtype=np.float32)
    for j, column in enumerate(columns):
        starts[: len(column), j] = column
    return starts
