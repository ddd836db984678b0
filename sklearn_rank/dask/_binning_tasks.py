"""Bins of all rows of a cluster: thresholds of a sample, then the bins of each partition.

The workers read each partition twice, and never hold the values of more partitions than they
work on: first for its part of the sample, then for its bins. Where rows of the sample come from a
few partitions only, these are read once more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from dask import delayed

from sklearn_rank._bins.binned_features import MOST_ROWS, Binning, FeatureBins
from sklearn_rank._core.arrays import SMALL_BLOCK, blocks
from sklearn_rank._core.distinct import hash_rows
from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.sample import equal_as_one, priority_sample
from sklearn_rank.dask._partitions import Partition, Partitions
from sklearn_rank.dask._tasks import Tasks, release

_FEW_ROWS = 1024
"""Rows that are copied at a time."""

_SPARE = 4
"""Rows that are kept with their features until the sample is known, as a multiple of its own."""


class SampledPart(NamedTuple):
    """What is kept of a partition until the thresholds are known.

    Attributes
    ----------
    weight : Series
        The weights of all distinct rows, by their hashes.
    X : DataFrame
        The features of rows that are likely to be in the sample, by their hashes.
    """

    weight: pd.Series
    X: pd.DataFrame


def bin_partitions(
    tasks: Tasks, partitions: Partitions, binning: Binning
) -> tuple[list[Any], list[FeatureBins]]:
    """Return futures of each partition with its bins, and the bins.

    The sample is that of `rows_for_thresholds` on one process. Each partition, and each merger of
    some, goes on with twice as many rows as the sample has. A row of the sample is among them
    unless its weight is divided over partitions, most of it on those where it is light.

    Parameters
    ----------
    tasks : Tasks
        What runs them.
    partitions : Partitions
        The rows.
    binning : Binning
        How values become bins.
    """
    n_kept = -(-_SPARE * MOST_ROWS // len(partitions.chunks))
    sampled = tasks.start(partitions.map(sample_partition, n_kept))
    light, total, values, choose = (
        delayed(one, pure=False) for one in (light_rows, weights_of, sampled_rows, choose_rows)
    )
    known = tasks.keep(tasks.tree(merge_weights, [light(part) for part in sampled]))
    weight = tasks.keep(tasks.tree(sum, [total(part, known) for part in sampled]))
    chosen = tasks.keep(choose(weight))
    rows = tasks.keep(tasks.tree(merge_rows, [values(part, chosen) for part in sampled]))
    if tasks.result(len, rows) < tasks.result(len, chosen):
        rows = tasks.keep(tasks.tree(merge_rows, partitions.map(read_rows, chosen)))
    bins = tasks.result(find_in_sample, binning, rows, chosen)
    release([known, weight, chosen, rows, *sampled])
    return tasks.start(partitions.map(bin_partition, bins)), bins


def sample_partition(rows: Partition, n_kept: int) -> SampledPart:
    """Return the part of a partition that is kept until the thresholds are known."""
    first, code, weight = equal_as_one(np.arange(rows.n_rows), hash_rows(rows.X), rows.weight)
    some, _ = priority_sample(code, weight, n_kept)
    X = pd.DataFrame(rows.X[first[some]], index=code[some])
    return SampledPart(pd.Series(weight, index=code), X)


def light_rows(part: SampledPart) -> pd.Series:
    """Return the weights in a partition of its rows that may be in the sample."""
    return merge_weights([part.weight])


def merge_weights(parts: list[pd.Series]) -> pd.Series:
    """Return the weights in several partitions of rows that may be in the sample."""
    every = pd.concat(parts)
    _, code, weight = equal_as_one(np.arange(len(every)), every.index.to_numpy(), every.to_numpy())
    if len(code) > 2 * MOST_ROWS:
        some, _ = priority_sample(code, weight, 2 * MOST_ROWS)
        code, weight = code[some], weight[some]
    return pd.Series(weight, index=code)


def weights_of(part: SampledPart, known: pd.Series) -> pd.Series:
    """Return the weights in a partition of the rows that may be in the sample."""
    return part.weight.reindex(known.index, fill_value=0.0)


def choose_rows(weight: pd.Series) -> pd.Series:
    """Return the weights that the rows of the sample stand for, by their hashes."""
    code = weight.index.to_numpy()
    rows, stands_for = priority_sample(code, weight.to_numpy(), MOST_ROWS)
    return pd.Series(stands_for, index=code[rows])


def sampled_rows(part: SampledPart, chosen: pd.Series) -> pd.DataFrame:
    """Return the rows kept of a partition that are in the sample, by their hashes."""
    return part.X[part.X.index.isin(chosen.index)]


def read_rows(rows: Partition, chosen: pd.Series) -> pd.DataFrame:
    """Return the rows of a partition that are in the sample, by their hashes."""
    return sampled_rows(sample_partition(rows, rows.n_rows), chosen)


def merge_rows(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Return the distinct rows of several partitions."""
    rows = pd.concat(parts)
    return rows[~rows.index.duplicated()].sort_index()


def find_in_sample(binning: Binning, rows: pd.DataFrame, chosen: pd.Series) -> list[FeatureBins]:
    """Return the bins, given the rows of the sample."""
    return binning.of_sample(rows.to_numpy(), chosen.reindex(rows.index).to_numpy())


def bin_partition(rows: Partition, bins: list[FeatureBins]) -> Partition:
    """Return a partition with its bins, of shape (n_features, n_rows), in place of X."""
    codes = np.empty(rows.X.shape[::-1], dtype=np.min_scalar_type(max(one.n_bins for one in bins)))
    buffer = np.empty((len(bins), SMALL_BLOCK))
    for some in blocks(rows.n_rows, SMALL_BLOCK):
        lines = by_feature(rows.X[some], buffer[:, : some.stop - some.start])
        for one, x, code in zip(bins, lines, codes[:, some], strict=True):
            code[:] = one.encode(x)
    weight = rows.weight if (rows.weight != 1).any() else np.broadcast_to(1.0, rows.n_rows)
    return replace(rows, X=codes, weight=weight)


def by_feature(X: Floats, lines: Floats) -> Floats:
    """Set lines to the features of rows, copied a few rows at a time, and return them.

    A block of rows stays in the cache: this takes less time than one copy.
    """
    for start in range(0, len(X), _FEW_ROWS):
        lines[:, start : start + _FEW_ROWS] = X[start : start + _FEW_ROWS].T
    return lines
