"""Bins of all rows of a cluster: exact thresholds, then the bins of each partition.

The workers read each partition three times, or four where much lies close to the quantiles: for
a sample, for counts of values in ranges, for the values near the quantiles, and for the bins. They
never hold the values of more partitions than they work on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats, Indices, Values
from sklearn_rank.dask._partitions import Partitions, Rows, Tasks
from sklearn_rank.models._binned_columns import _SAMPLE
from sklearn_rank.models._binning import Digitizer
from sklearn_rank.models._cells import Bins, CellGrid
from sklearn_rank.models._value_ranges import Division, Ranges

_FEW_ROWS = 1024
"""Rows that are copied at a time."""

_MOST_VALUES = 1 << 22
"""Values near the quantiles, of all features, that are merged on one worker."""


@dataclass(frozen=True, eq=False)
class Counts:
    """What is known of the values of each feature.

    Attributes
    ----------
    ranges : list of Ranges
        The values that are not missing.
    has_missing : ndarray of shape (n_features,)
        Whether some are.
    """

    ranges: list[Ranges]
    has_missing: Values


@dataclass(frozen=True, eq=False)
class BinnedPart:
    """The rows of a partition, the features as bins.

    Attributes
    ----------
    codes : ndarray of shape (n_features, n_rows)
        Bins.
    y, qid, weight : ndarray of shape (n_rows,)
        As in `Rows`.
    """

    codes: Indices
    y: Values
    qid: Values | None
    weight: Floats

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.y)


def bin_partitions(
    tasks: Tasks, partitions: Partitions, max_bins: int, is_weighted: bool
) -> tuple[list[Any], list[Bins]]:
    """Return the tasks that find the bins of each partition, and the bins.

    Parameters
    ----------
    tasks : Tasks
        What runs them.
    partitions : Partitions
        The rows.
    max_bins : int
        Most bins of a feature.
    is_weighted : bool
        Whether some weights differ.
    """
    size = max(64, -(-2 * _SAMPLE // max(1, partitions.n_partitions)))
    sample = tasks.keep(tasks.tree(merge_samples, partitions.map(sample_rows, size)))
    grids = tasks.result(make_grids, sample)
    counts = tasks.keep(
        tasks.tree(merge_counts, partitions.map(count_in_cells, grids, is_weighted))
    )
    while True:
        divisions = tasks.result(plan_divisions, counts, max_bins, _MOST_VALUES)
        if divisions is None:
            break
        parts = partitions.map(count_in_parts, divisions, is_weighted)
        counts = tasks.keep(tasks.tree(merge_counts, parts), replace_ranges, counts, max_bins)
    bins = tasks.result(find_all_bins, counts, max_bins)
    return partitions.map(encode_partition, bins), bins


def sample_rows(rows: Rows, size: int) -> Floats:
    """Return about `size` rows of a partition, evenly spaced."""
    return rows.X[:: 1 + rows.n_rows // size]


def merge_samples(parts: list[Floats]) -> Floats:
    """Return one sample, half of the rows where there are too many."""
    sample = np.concatenate(parts)
    return sample[:: 1 + len(sample) // (4 * _SAMPLE)]


def make_grids(sample: Floats) -> list[CellGrid]:
    """Return the grid of each feature."""
    return [CellGrid(x) for x in np.ascontiguousarray(sample.T)]


def by_feature(X: Floats) -> Floats:
    """Return the features of rows as contiguous lines, copied a few rows at a time.

    A block of rows stays in the cache: this takes a third of the time of one copy.
    """
    lines = np.empty(X.shape[::-1])
    for start in range(0, len(X), _FEW_ROWS):
        lines[:, start : start + _FEW_ROWS] = X[start : start + _FEW_ROWS].T
    return lines


def _each_feature(rows: Rows, is_weighted: bool) -> Any:
    """Yield the values of each feature that are not missing, and their weights."""
    for x in by_feature(rows.X):
        weight = rows.weight if is_weighted else None
        missing = np.isnan(x)
        if missing.any():
            weight = None if weight is None else weight[~missing]
            yield x[~missing], weight
        else:
            yield x, weight


def count_in_cells(rows: Rows, grids: list[CellGrid], is_weighted: bool) -> Counts:
    """Count the values of a partition in the cells of the grids."""
    features = zip(grids, _each_feature(rows, is_weighted), strict=True)
    ranges = [Ranges.in_cells(grid, x, weight) for grid, (x, weight) in features]
    return Counts(ranges, np.asarray(np.isnan(rows.X).any(axis=0)))


def count_in_parts(rows: Rows, divisions: list[Division | None], is_weighted: bool) -> Counts:
    """Count the values of a partition in the parts of some ranges."""
    nothing = Ranges(*(np.zeros(0) for _ in range(5)))
    ranges = [
        nothing if divide is None else divide(x, weight)
        for divide, (x, weight) in zip(divisions, _each_feature(rows, is_weighted), strict=True)
    ]
    return Counts(ranges, np.zeros(len(ranges), dtype=bool))


def merge_counts(parts: list[Counts]) -> Counts:
    """Return the counts of several partitions together."""
    each = zip(*(part.ranges for part in parts), strict=True)
    has_missing = [part.has_missing for part in parts]
    merged = [Ranges.merged(one) for one in each]
    return Counts(merged, np.asarray(np.any(has_missing, axis=0)))


def plan_divisions(counts: Counts, max_bins: int, most_values: int) -> list[Division | None] | None:
    """Return how the ranges of each feature are divided next; None when nothing is left to do."""
    unresolved = [one.take(one.unresolved(max_bins)) for one in counts.ranges]
    n_values = sum(one.count.sum() for one in unresolved)
    if n_values == 0:
        return None
    is_last = bool(n_values <= most_values)
    return [Division(one.low, one.high, is_last) if len(one.low) else None for one in unresolved]


def replace_ranges(parts: Counts, counts: Counts, max_bins: int) -> Counts:
    """Return the counts with the parts in place of the ranges that were divided."""
    pairs = zip(counts.ranges, parts.ranges, strict=True)
    ranges = [one.replaced(one.unresolved(max_bins), part) for one, part in pairs]
    return Counts(ranges, counts.has_missing)


def find_all_bins(counts: Counts, max_bins: int) -> list[Bins]:
    """Return the bins of each feature."""
    pairs = zip(counts.ranges, counts.has_missing.tolist(), strict=True)
    return [ranges.bins(max_bins, has_missing) for ranges, has_missing in pairs]


def encode_partition(rows: Rows, bins: list[Bins]) -> BinnedPart:
    """Return a partition with the number of the bin of each value in place of the value."""
    most = max(len(one.thresholds) for one in bins) + 1
    codes = np.empty(rows.X.shape[::-1], dtype=np.min_scalar_type(most))
    for code, one, x in zip(codes, bins, by_feature(rows.X), strict=True):
        code[:] = Digitizer(one.thresholds)(x, len(one.thresholds) + 1)
    has_weights = bool((rows.weight != 1).any())
    weight = rows.weight if has_weights else np.broadcast_to(1.0, rows.n_rows)
    return BinnedPart(codes, rows.y, rows.qid, weight)
