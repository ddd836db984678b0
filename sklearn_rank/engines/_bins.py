"""Bins of the features, from weighted quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from sklearn_rank._protocols import Floats
from sklearn_rank.models._binning import SortedValues
from sklearn_rank.rows.processes import ONE_PROCESS, Collective

_MOST_ROWS = 200_000
"""Rows from which quantiles are found: they are off by a tenth of a percent of the rows."""


def bin_starts(
    X: Any,
    weight: Floats,
    max_bins: int,
    categorical: tuple[int, ...],
    collective: Collective = ONE_PROCESS,
) -> Floats:
    """Return the smallest value of each bin of each feature, a column each, NaN below the last.

    Weighted quantiles, of all rows or of 200,000 drawn with a fixed seed; every code of a
    categorical feature has a bin. XGBoost's own take several times as long, and know no
    weights. Shape (n_bins, n_features), of 32 bits, as the engine compares values. Where
    several processes hold the rows, all of them get the rows that are drawn.
    """
    rows, most = X, _MOST_ROWS
    if collective.size > 1:
        n_rows = collective.reduce(np.add, float(X.shape[0]))
        most = int(np.ceil(_MOST_ROWS * X.shape[0] / n_rows))
    if X.shape[0] > most:
        # At even distances they could be one relevance of queries as long as the distance.
        sample = np.random.default_rng(0).choice(X.shape[0], most, replace=False)
        sample.sort()
        rows, weight = X[sample], weight[sample]
    rows = rows.astype(np.float32).tocsc() if issparse(rows) else rows.astype(np.float32)
    if collective.size > 1:
        weight = np.concatenate(collective.gather(weight))
    columns = []
    for number in range(X.shape[1]):
        column = rows[:, [number]].toarray().ravel() if issparse(rows) else rows[:, number]
        if collective.size > 1:
            every = np.concatenate(collective.gather(column.astype(np.float64)))
            column = every.astype(np.float32)
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
