"""Sorting that is faster than NumPy's for scores."""

from __future__ import annotations

import numpy as np

from sklearn_rank._protocols import Floats, Indices

MANY_VALUES, N_BUCKETS = 50_000, 1 << 16
MATRIX_ENTRIES = 1 << 12
"""Entries that a matrix of queries may have beyond twice the number of rows."""


def sort_values(values: Floats) -> Floats:
    """Sort floats; two to three times as fast as NumPy for many spread-out values.

    A counting sort puts them into narrow buckets. The result is nearly sorted, which a merge
    sort that detects runs finishes quickly.
    """
    if len(values) < MANY_VALUES:
        return np.sort(values)
    sample = np.sort(values[:: len(values) // 1000])
    low, high = sample[len(sample) // 50], sample[-1 - len(sample) // 50]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        scale = np.float64(N_BUCKETS - 1) / (high - low)
        if not (np.isfinite(low) and np.isfinite(scale) and scale > 0):
            return np.sort(values)
        bucket = values - low
        bucket *= scale
        bucket = np.clip(bucket, 0, N_BUCKETS - 1, out=bucket).astype(np.uint16)
    if np.bincount(bucket).max() > len(values) // 16:
        return np.sort(values)
    return np.sort(values[np.argsort(bucket, kind="stable")], kind="stable")


def order_by_score(scores: Floats, query: Indices | None) -> Indices:
    """Return the order of the rows by query code and descending score.

    Queries of similar length are sorted as the rows of one matrix: short sorts are fast.
    """
    if query is None:
        return np.argsort(-scores)
    size = np.bincount(query)
    n_queries, longest = len(size), int(size.max())
    # Short integers are sorted by counting.
    short = query.astype(np.uint16) if n_queries <= 1 << 16 else query
    if n_queries * longest > 2 * len(query) + MATRIX_ENTRIES:
        order = np.argsort(-scores)
        return order[np.argsort(short[order], kind="stable")]
    by_query = np.argsort(short, kind="stable")
    is_row = np.arange(longest) < size[:, np.newaxis]
    matrix = np.full(is_row.shape, np.nan)  # NaN is sorted behind all scores
    matrix[is_row] = -scores[by_query]
    start = np.cumsum(size) - size
    places = np.argsort(matrix, axis=1) + start[:, np.newaxis]
    return by_query[places[is_row]]
