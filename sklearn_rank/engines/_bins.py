"""Bins of the features, from weighted quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from sklearn_rank._protocols import Floats
from sklearn_rank.models._binning import SortedValues

_MOST_ROWS = 200_000
"""Rows from which quantiles are found: they are off by a tenth of a percent of the rows."""


def bin_starts(X: Any, weight: Floats, max_bins: int, categorical: tuple[int, ...]) -> Floats:
    """Return the smallest value of each bin of each feature, a column each, NaN below the last.

    Weighted quantiles, of all rows or of 200,000 drawn with a fixed seed; every code of a
    categorical feature has a bin. XGBoost's own take several times as long, and know no
    weights. Shape (n_bins, n_features), of 32 bits, as the engine compares values.
    """
    rows = X
    if X.shape[0] > _MOST_ROWS:
        # At even distances they could be one relevance of queries as long as the distance.
        sample = np.random.default_rng(0).choice(X.shape[0], _MOST_ROWS, replace=False)
        sample.sort()
        rows, weight = X[sample], weight[sample]
    rows = rows.astype(np.float32).tocsc() if issparse(rows) else rows.astype(np.float32)
    columns = []
    for number in range(X.shape[1]):
        column = rows[:, [number]].toarray().ravel() if issparse(rows) else rows[:, number]
        columns.append(
            _codes(X[:, number]) if number in categorical else _starts(column, weight, max_bins)
        )
    starts = np.full((max(map(len, columns)), len(columns)), np.nan, dtype=np.float32)
    for number, column in enumerate(columns):
        starts[: len(column), number] = column
    return starts


def _starts(x: Floats, weight: Floats, max_bins: int) -> Floats:
    known = SortedValues.of(x, weight)
    if not len(known.values):
        return np.zeros(1, dtype=np.float32)
    # Thresholds are the largest values of bins: the next value begins the next bin.
    ends = known.thresholds(max_bins)
    following = np.searchsorted(known.values, ends, side="right")
    return known.values[np.concatenate([[0], following])]


def _codes(x: Floats) -> Floats:
    known = x[~np.isnan(x)]
    return np.arange(1 + known.max(initial=0.0), dtype=np.float32)
