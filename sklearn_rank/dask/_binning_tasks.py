"""Bins of all rows of a cluster: thresholds of a sample, then the bins of each partition.

The workers read each partition twice, and never hold the values of more partitions than they
work on: first for its part of the sample, then for its bins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from dask import delayed

from sklearn_rank._protocols import Codes, Floats
from sklearn_rank.bins.binned_features import MOST_ROWS, Binning, FeatureBins
from sklearn_rank.dask._partitions import Partition, Partitions
from sklearn_rank.dask._tasks import Tasks, release
from sklearn_rank.rows.distinct import hash_rows
from sklearn_rank.rows.sample import priority_sample

_FEW_ROWS = 1024
"""Rows that are copied at a time."""

_MANY_ROWS = 8192
"""Rows that are coded at a time: arrays of so many numbers take no new pages of memory."""


@dataclass(frozen=True, eq=False)
class WeightedCodes:
    """Distinct rows, by their hashes.

    Attributes
    ----------
    code : ndarray of shape (n_distinct,)
        The hash of each, increasing.
    weight : ndarray of shape (n_distinct,)
        The weight of all rows that are equal to it.
    """

    code: Codes
    weight: Floats

    @classmethod
    def of(cls, code: Codes, weight: Floats) -> WeightedCodes:
        """Merge equal rows."""
        rows, total = priority_sample(code, weight, len(code))
        return cls(code[rows], total)

    def some(self, size: int) -> WeightedCodes:
        """Return those that a sample of this size takes, with their own weights."""
        rows, _ = priority_sample(self.code, self.weight, size)
        return WeightedCodes(self.code[rows], self.weight[rows])

    def weights_of(self, code: Codes) -> Floats:
        """Return the weight of each of some rows; zero where there is none."""
        place = np.minimum(np.searchsorted(self.code, code), len(self.code) - 1)
        return np.where(self.code[place] == code, self.weight[place], 0.0)


@dataclass(frozen=True, eq=False)
class SampledPart:
    """What is kept of a partition until the thresholds are known.

    Attributes
    ----------
    rows : WeightedCodes
        All distinct rows.
    code : ndarray of shape (n_sampled,)
        The hashes of rows that may be in the sample, increasing.
    X : ndarray of shape (n_sampled, n_features)
        Their features.
    """

    rows: WeightedCodes
    code: Codes
    X: Floats


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
    sampled = tasks.start(partitions.map(sample_partition))
    smallest, total, values = (
        delayed(one, pure=False) for one in (light_rows, weights_of, sampled_rows)
    )
    known = tasks.keep(tasks.tree(merge_codes, [smallest(part) for part in sampled]))
    weight = tasks.keep(tasks.tree(sum, [total(part, known) for part in sampled]))
    chosen = tasks.keep(delayed(choose_rows, pure=False)(known, weight))
    rows = tasks.keep(tasks.tree(merge_rows, [values(part, chosen) for part in sampled]))
    bins = tasks.result(find_in_sample, binning, rows, chosen)
    release([known, weight, chosen, rows, *sampled])
    return tasks.start(partitions.map(bin_partition, bins)), bins


def sample_partition(rows: Partition) -> SampledPart:
    """Return the part of a partition that is kept until the thresholds are known."""
    code = hash_rows(rows.X)
    some, _ = priority_sample(code, rows.weight, 2 * MOST_ROWS)
    return SampledPart(WeightedCodes.of(code, rows.weight), code[some], rows.X[some])


def light_rows(part: SampledPart) -> WeightedCodes:
    """Return the rows of a partition that may be in the sample."""
    return WeightedCodes(part.code, part.rows.weights_of(part.code))


def merge_codes(parts: list[WeightedCodes]) -> WeightedCodes:
    """Return the rows of several partitions that may be in the sample."""
    code = np.concatenate([part.code for part in parts])
    weight = np.concatenate([part.weight for part in parts])
    return WeightedCodes.of(code, weight).some(2 * MOST_ROWS)


def weights_of(part: SampledPart, known: WeightedCodes) -> Floats:
    """Return the weights in a partition of the rows that may be in the sample."""
    return part.rows.weights_of(known.code)


def choose_rows(known: WeightedCodes, weight: Floats) -> WeightedCodes:
    """Return the sample, with the weights that its rows stand for."""
    rows, stands_for = priority_sample(known.code, weight, MOST_ROWS)
    return WeightedCodes(known.code[rows], stands_for)


def sampled_rows(part: SampledPart, chosen: WeightedCodes) -> tuple[Codes, Floats]:
    """Return the rows of a partition that are in the sample, by their hashes."""
    is_chosen = np.isin(part.code, chosen.code)
    return part.code[is_chosen], part.X[is_chosen]


def merge_rows(parts: list[tuple[Codes, Floats]]) -> tuple[Codes, Floats]:
    """Return the distinct rows of several partitions."""
    code, first = np.unique(np.concatenate([code for code, _ in parts]), return_index=True)
    return code, np.concatenate([X for _, X in parts])[first]


def find_in_sample(
    binning: Binning, rows: tuple[Codes, Floats], chosen: WeightedCodes
) -> list[FeatureBins]:
    """Return the bins, given the rows of the sample."""
    code, X = rows
    return binning.of_sample(X, chosen.weights_of(code))


def bin_partition(rows: Partition, bins: list[FeatureBins]) -> Partition:
    """Return a partition with its bins, of shape (n_features, n_rows), in place of X."""
    codes = np.empty(rows.X.shape[::-1], dtype=np.min_scalar_type(max(one.n_bins for one in bins)))
    buffer = np.empty((len(bins), _MANY_ROWS))
    for start in range(0, rows.n_rows, _MANY_ROWS):
        some = slice(start, min(start + _MANY_ROWS, rows.n_rows))
        lines = by_feature(rows.X[some], buffer[:, : some.stop - start])
        for one, x, code in zip(bins, lines, codes[:, some], strict=True):
            code[:] = one.encode(x)
    weight = rows.weight
    if not (weight != 1).any():
        weight = np.broadcast_to(1.0, len(weight))
    return replace(rows, X=codes, weight=weight)


def by_feature(X: Floats, lines: Floats) -> Floats:
    """Set lines to the features of rows, copied a few rows at a time, and return them.

    A block of rows stays in the cache: this takes a third of the time of one copy.
    """
    for start in range(0, len(X), _FEW_ROWS):
        lines[:, start : start + _FEW_ROWS] = X[start : start + _FEW_ROWS].T
    return lines
