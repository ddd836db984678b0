"""Bins of all rows of a cluster: thresholds of a sample, then the bins of each partition.

The workers read each partition twice, and never hold the values of more partitions than they
work on: first for its part of the sample, then for its bins. Where most rows of the sample come
from few partitions, all are read once more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sklearn_rank._bins.binned_features import MOST_ROWS, Binning, FeatureBins
from sklearn_rank._core.arrays import SMALL_BLOCK, Codes, Floats, blocks
from sklearn_rank._core.rows import equal_as_one, hash_rows, least_codes
from sklearn_rank.dask._partitions import Partition, Partitions
from sklearn_rank.dask._tasks import Tasks, release

_SPARE = 4
"""Rows that are kept with their features until the sample is known, as a multiple of its own."""


class Sample(NamedTuple):
    """Distinct rows of the smallest hashes.

    Attributes
    ----------
    code : ndarray of shape (n_rows,)
        Their hashes, rising.
    X : ndarray of shape (n_rows, n_features)
        Their features.
    weight : ndarray of shape (n_rows,)
        Their weights.
    is_all : bool
        Whether no row is left out.
    """

    code: Codes
    X: Floats
    weight: Floats
    is_all: bool


def bin_partitions(
    tasks: Tasks, partitions: Partitions, binning: Binning
) -> tuple[list[Any], list[FeatureBins]]:
    """Return futures of each partition with its bins, and the bins.

    The sample is that of `rows_for_thresholds` on one process. Of each partition so many rows are
    kept as suffice where no partition has far more of them than others; else they are read again.

    Parameters
    ----------
    tasks : Tasks
        What runs them.
    partitions : Partitions
        The rows.
    binning : Binning
        How values become bins.
    """
    for n_kept in (-(-_SPARE * MOST_ROWS // len(partitions.chunks)), MOST_ROWS):
        parts = partitions.map(sample_partition, min(n_kept, MOST_ROWS))
        sample = tasks.keep(tasks.tree(merge_samples, parts))
        if tasks.result(is_enough, sample):
            break
    bins = tasks.result(find_in_sample, binning, sample)
    release([sample])
    return tasks.start(partitions.map(bin_partition, bins)), bins


def sample_partition(rows: Partition, n_kept: int) -> Sample:
    """Return the distinct rows of a partition with the smallest hashes."""
    return _sampled(hash_rows(rows.X), rows.X, rows.weight, n_kept)


def merge_samples(parts: list[Sample]) -> Sample:
    """Return the rows that surely have the smallest hashes of several partitions."""
    code, X, weight = (np.concatenate(some) for some in list(zip(*parts, strict=True))[:3])
    merged = _sampled(code, X, weight, MOST_ROWS)
    # Rows above the last of a part of which some are left out may be among these.
    last = [part.code[-1] for part in (*parts, merged) if not part.is_all]
    if not last:
        return merged
    n = int(np.searchsorted(merged.code, min(last), side="right"))
    return Sample(merged.code[:n], merged.X[:n], merged.weight[:n], False)


def _sampled(code: Codes, X: Floats, weight: Floats, size: int) -> Sample:
    """Return the distinct rows with the smallest codes."""
    least = least_codes(code, size + 1)
    some = np.flatnonzero(code <= least[:size].max(initial=0))
    rows, code, weight = equal_as_one(some, code, weight)
    return Sample(code, X[rows], weight, len(least) <= size)


def is_enough(sample: Sample) -> bool:
    """Whether a sample has as many rows as it needs."""
    return sample.is_all or len(sample.code) == MOST_ROWS


def find_in_sample(binning: Binning, sample: Sample) -> list[FeatureBins]:
    """Return the bins, given the rows of the sample."""
    return binning.of_sample(sample.X, sample.weight)


def bin_partition(rows: Partition, bins: list[FeatureBins]) -> Partition:
    """Return a partition with its bins, of shape (n_features, n_rows), in place of X."""
    codes = np.empty(rows.X.shape[::-1], dtype=np.min_scalar_type(max(one.n_bins for one in bins)))
    for some in blocks(rows.n_rows, SMALL_BLOCK):
        lines = np.ascontiguousarray(rows.X[some].T)
        for one, x, code in zip(bins, lines, codes[:, some], strict=True):
            code[:] = one.encode(x)
    weight = rows.weight if (rows.weight != 1).any() else np.broadcast_to(1.0, rows.n_rows)
    return replace(rows, X=codes, weight=weight)
