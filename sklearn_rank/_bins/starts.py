"""What engines of trees need of features: where each bin begins, and medians."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_rank._bins.binned_features import SortedValues, rows_for_thresholds
from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.selected import Selection

__all__ = ["bin_starts", "complete_medians"]


def complete_medians(data: Rows) -> Floats:
    """Return the weighted median of each feature, NaN of those that are missing in some row."""
    column, weight = _columns(data)
    n_missing = np.zeros(data.X.shape[1])
    for part in Selection.of(data.X).parts():
        n_missing += np.isnan(np.ravel(part.sum(axis=0, dtype=np.float64)))
    medians = np.full(len(n_missing), np.nan)
    for j in np.flatnonzero(data.total(n_missing) == 0).tolist():
        medians[j] = SortedValues.of(column(j), weight, data).at(np.array([0.5]))[0]
    return medians


def _columns(data: Rows) -> tuple[Callable[[int], Floats], Floats]:
    """Return the values of a feature, by its number, of the rows for quantiles, and weights."""
    chosen, weight = rows_for_thresholds(data)
    rows: Any = Selection.of(data.X)[chosen]  # of which only columns are copied
    if not rows.is_sparse:
        return lambda j: rows[:, j], weight
    matrix = rows.copied().astype(np.float32).tocsc()
    return lambda j: matrix[:, [j]].toarray().ravel(), weight


def bin_starts(data: Rows, max_bins: int, categorical: tuple[int, ...]) -> Floats:
    """Return where each bin of each feature begins, a column each, NaN below the last.

    Weighted quantiles of the rows that `rows_for_thresholds` chooses; every code of a categorical
    feature has a bin. XGBoost's own take several times as long, and know no weights. Shape
    (n_bins, n_features), of 32 bits, as the engine compares values.
    """
    column, weight = _columns(data)
    columns = []
    for j in range(data.X.shape[1]):
        if j in categorical:
            largest = float(np.fmax.reduce(data.X[:, j], initial=0.0))
            columns.append(np.arange(1 + data.largest(largest)))
            continue
        known = SortedValues.of(column(j).astype(np.float32), weight, data)
        if not len(known.values):
            columns.append(np.zeros(1))
            continue
        ends = known.thresholds(max_bins)
        place = np.searchsorted(known.values, ends, side="right")
        # A bin begins between two values, or at the upper one where no number is between them.
        following = np.where(ends > known.values[place - 1], ends, known.values[place])
        columns.append(np.append(known.values[0], following))
    starts = np.full((max(map(len, columns)), len(columns)), np.nan, dtype=np.float32)
    for j, first in enumerate(columns):
        starts[: len(first), j] = first
    return starts
