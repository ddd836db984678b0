"""For engines of trees: the lower end of each bin of a feature, and medians."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_rank._bins.binned_features import SortedValues, rows_for_thresholds
from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.selected import SelectedRows

__all__ = ["bin_starts", "complete_medians"]


def complete_medians(data: Rows) -> Floats:
    """Return the weighted median of each feature; NaN if it is missing in some row."""
    column, weight = _columns(data)
    n_missing = np.zeros(data.X.shape[1])
    for block in SelectedRows.of(data.X).parts():
        n_missing += np.isnan(np.ravel(block.sum(axis=0, dtype=np.float64)))
    medians = np.full(len(n_missing), np.nan)
    for j in np.flatnonzero(data.total(n_missing) == 0).tolist():
        medians[j] = SortedValues.of(column(j), weight, data).at(np.array([0.5]))[0]
    return medians


def _columns(data: Rows) -> tuple[Callable[[int], Floats], Floats]:
    """Return a function of j that gives feature j of the rows for quantiles, and their weights."""
    sample, weight = rows_for_thresholds(data)
    rows: Any = SelectedRows.of(data.X)[sample]  # of which only columns are copied
    if not rows.is_sparse:
        return lambda j: rows[:, j], weight
    matrix = rows.copied().astype(np.float32).tocsc()
    return lambda j: matrix[:, [j]].toarray().ravel(), weight


def bin_starts(data: Rows, max_bins: int, categorical: tuple[int, ...]) -> Floats:
    """Return the smallest value of each bin of each feature, shape (n_bins, n_features).

    Bins end at weighted quantiles of the rows that `rows_for_thresholds` chooses; every code of a
    categorical feature has a bin. Columns are filled up with NaN. XGBoost's own bins take several
    times as long, and know no weights. Numbers have 32 bits, as the engine compares values.
    """
    column, weight = _columns(data)
    columns = []
    for j in range(data.X.shape[1]):
        if j in categorical:
            max_code = float(np.fmax.reduce(data.X[:, j], initial=0.0))
            columns.append(np.arange(1 + data.largest(max_code)))
            continue
        sample = SortedValues.of(column(j).astype(np.float32), weight, data)
        if not len(sample.values):
            columns.append(np.zeros(1))
            continue
        thresholds = sample.thresholds(max_bins)
        stops = np.searchsorted(sample.values, thresholds, side="right")
        # A bin begins between two values, or at the upper one where no number is between them.
        later = np.where(thresholds > sample.values[stops - 1], thresholds, sample.values[stops])
        columns.append(np.append(sample.values[0], later))
    starts = np.full((max(map(len, columns)), len(columns)), np.nan, dtype=np.float32)
    for j, column_starts in enumerate(columns):
        starts[: len(column_starts), j] = column_starts
    return starts
