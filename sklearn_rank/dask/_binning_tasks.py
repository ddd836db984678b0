"""Bins of all rows of a cluster: thresholds of a sample, then the bins of each partition.

The workers read each partition twice: for its rows of the sample, then for its bins. They hold
the values of only those partitions that they work on. Where most rows of the sample come from few
partitions, all are read once more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sklearn_rank._bins.binned_features import MOST_ROWS, Binning, FeatureBins
from sklearn_rank._core.arrays import SMALL_BLOCK, Codes, Floats, blocks
from sklearn_rank._core.rows import hash_rows, merge_equal_rows, smallest_codes
from sklearn_rank.dask._partitions import Partition, Partitions
from sklearn_rank.dask._tasks import Tasks, release

_SPARE = 4
"""Rows kept of all partitions together, as a multiple of the sample size."""


class Sample(NamedTuple):
    """Distinct rows of the smallest hashes.

    Attributes
    ----------
    code : ndarray of shape (n_rows,)
        Their hashes, in increasing order.
    X : ndarray of shape (n_rows, n_features)
        Their features.
    weight : ndarray of shape (n_rows,)
        Their weights.
    is_all : bool
        Whether these are all distinct rows.
    """

    code: Codes
    X: Floats
    weight: Floats
    is_all: bool


def bin_partitions(
    tasks: Tasks, partitions: Partitions, binning: Binning
) -> tuple[list[Any], list[FeatureBins]]:
    """Return a future of each partition with binned values, and the bins.

    The sample is that of `rows_for_thresholds` on one process. The rows kept of each partition
    suffice unless a few partitions have most of the sample; then all are read again.

    Parameters
    ----------
    tasks : Tasks
        Runs them.
    partitions : Partitions
        The rows.
    binning : Binning
        How values become bins.
    """
    # 1) A sample of few rows of each partition; if they don't suffice, of as many as there may be.
    for n_kept in (-(-_SPARE * MOST_ROWS // len(partitions.chunks)), MOST_ROWS):
        samples = partitions.map(sample_partition, min(n_kept, MOST_ROWS))
        sample = tasks.keep(tasks.tree(merge_samples, samples))
        if tasks.result(is_enough, sample):
            break
    # 2) Thresholds from the sample, then the bins of all rows.
    bins = tasks.result(find_in_sample, binning, sample)
    release([sample])
    return tasks.start(partitions.map(bin_partition, bins)), bins


def sample_partition(rows: Partition, n_kept: int) -> Sample:
    """Return the distinct rows of a partition with the smallest hashes."""
    return _sampled(hash_rows(rows.X), rows.X, rows.weight, n_kept)


def merge_samples(samples: list[Sample]) -> Sample:
    """Return the rows that certainly have the smallest hashes in several partitions."""
    code, X, weight = (np.concatenate(arrays) for arrays in list(zip(*samples, strict=True))[:3])
    merged = _sampled(code, X, weight, MOST_ROWS)
    # An incomplete sample has left out rows above its last hash: beyond the least of these last
    # hashes a smaller one may be missing.
    last_hashes = [sample.code[-1] for sample in (*samples, merged) if not sample.is_all]
    if not last_hashes:
        return merged
    n_kept = int(np.searchsorted(merged.code, min(last_hashes), side="right"))
    return Sample(merged.code[:n_kept], merged.X[:n_kept], merged.weight[:n_kept], False)


def _sampled(code: Codes, X: Floats, weight: Floats, max_rows: int) -> Sample:
    """Return the distinct rows with the smallest codes."""
    smallest = smallest_codes(code, max_rows + 1)
    sampled = np.flatnonzero(code <= smallest[:max_rows].max(initial=0))
    rows, code, weight = merge_equal_rows(sampled, code, weight)
    return Sample(code, X[rows], weight, len(smallest) <= max_rows)


def is_enough(sample: Sample) -> bool:
    """Whether a sample has enough rows."""
    return sample.is_all or len(sample.code) == MOST_ROWS


def find_in_sample(binning: Binning, sample: Sample) -> list[FeatureBins]:
    """Return the bins, given the rows of the sample."""
    return binning.of_sample(sample.X, sample.weight)


def bin_partition(rows: Partition, bins: list[FeatureBins]) -> Partition:
    """Return a partition with its bins, of shape (n_features, n_rows), instead of X."""
    most_bins = max(feature_bins.n_bins for feature_bins in bins)
    codes = np.empty(rows.X.shape[::-1], dtype=np.min_scalar_type(most_bins))
    for block in blocks(rows.n_rows, SMALL_BLOCK):
        columns = np.ascontiguousarray(rows.X[block].T)
        for feature_bins, column, column_codes in zip(bins, columns, codes[:, block], strict=True):
            column_codes[:] = feature_bins.encode(column)
    # Equal weights take no memory.
    weight = rows.weight if (rows.weight != 1).any() else np.broadcast_to(1.0, rows.n_rows)
    return replace(rows, X=codes, weight=weight)
