"""Bins of all rows of a cluster: exact thresholds, then the bins of each partition.

The workers read each partition twice: for some values of each feature, which enclose the
quantiles in narrow ranges, and for all values in these; the other values have their bins then.
Rarely, where too many values are in the ranges, they read once more. They never hold the values of
more partitions than they work on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from dask import delayed

from sklearn_rank._protocols import Floats, Indices, Values
from sklearn_rank.dask._partitions import Partitions, Rows, Tasks, release
from sklearn_rank.models._binning import Digitizer
from sklearn_rank.models._cells import Bins
from sklearn_rank.models._quantile_bounds import Enclosures, WeightBounds

_FEW_ROWS = 1024
"""Rows that are copied at a time."""

_MANY_ROWS = 8192
"""Rows that are coded at a time: arrays of so many numbers take no new pages of memory."""

_POINTS = 4096
"""Values of each feature, at least, that a partition tells first."""

_MOST_VALUES = 1 << 22
"""Most values near the quantiles, of all features, that are merged on one worker."""

_MOST_PASSES = 4
"""Passes after which all values near the quantiles are merged, however many there are."""


@dataclass(frozen=True, eq=False)
class Counts:
    """What is known of the values of each feature.

    Attributes
    ----------
    bounds : list of WeightBounds or None
        The values that are not missing; None for features of which more is known elsewhere.
    has_missing : ndarray of shape (n_features,)
        Whether some are.
    """

    bounds: list[WeightBounds | None]
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


@dataclass(frozen=True, eq=False)
class CodedPart:
    """The rows of a partition, each value as the number of edges below it.

    Attributes
    ----------
    codes : ndarray of shape (n_features, n_rows)
        Numbers of edges; that of a missing value is two more than the number of all edges.
    near : list of tuple of two ndarray
        Of each feature the rows with values in a range, and those values.
    outside : list of tuple of two ndarray of shape (n_ranges + 1,)
        Of each feature the weight and the number of the rows before each range, and after the
        last.
    y, qid, weight : ndarray of shape (n_rows,)
        As in `Rows`.
    """

    codes: Indices
    near: list[tuple[Indices, Floats]]
    outside: list[tuple[Floats, Floats]]
    y: Values
    qid: Values | None
    weight: Floats


@dataclass(frozen=True, eq=False)
class Pass:
    """What the workers look for in a pass over the rows.

    Attributes
    ----------
    ranges : list of Enclosures or None
        Where the quantiles of each feature are; None where they are known.
    edges : list of ndarray
        Ends of the ranges, or the thresholds where these are known.
    n_points : int or None
        Most values that a partition tells of each feature; None for all in the ranges.
    is_weighted : bool
        Whether some weights differ.
    """

    ranges: list[Enclosures | None]
    edges: list[Floats]
    n_points: int | None
    is_weighted: bool


def bin_partitions(
    tasks: Tasks,
    partitions: Partitions,
    max_bins: int,
    is_weighted: bool,
) -> tuple[list[Any], list[Bins]]:
    """Return futures of each partition with its bins, and the bins.

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
    n_points = max(_POINTS, 2 * max_bins)
    counts = tasks.keep(
        tasks.tree(Merge(4 * n_points), partitions.map(count_values, n_points, is_weighted))
    )
    near = delayed(count_near_quantiles, pure=False)
    parts: list[Any] = []
    for number in range(_MOST_PASSES):
        most_values = _MOST_VALUES if number < _MOST_PASSES - 1 else np.inf
        options = n_points, most_values, is_weighted
        plan = tasks.result(plan_pass, counts, max_bins, *options)
        shared = delayed(plan, traverse=False)
        release(parts)
        parts = tasks.start(partitions.map(code_partition, shared))
        merge = Merge(None if plan.n_points is None else 4 * n_points)
        found = tasks.tree(merge, [near(part, shared) for part in parts])
        former, counts = [counts], tasks.keep(found, replace_counts, counts)
        release(former)
        if plan.n_points is None:
            break
    bins = tasks.result(find_all_bins, counts, max_bins)
    finish, shared_bins = delayed(finish_codes, pure=False), delayed(bins, traverse=False)
    finished = tasks.start([finish(part, shared, shared_bins) for part in parts])
    release([counts, *parts])
    return finished, bins


@dataclass(frozen=True)
class Merge:
    """Merges the counts of several partitions.

    Attributes
    ----------
    n_points : int or None
        About the most points of a feature; None for no limit.
    """

    n_points: int | None

    def __call__(self, parts: list[Counts]) -> Counts:
        """Return the counts of all parts together."""
        merged = [
            None if each[0] is None else WeightBounds.merged(each, self.n_points)
            for each in zip(*(part.bounds for part in parts), strict=True)
        ]
        return Counts(merged, np.any([part.has_missing for part in parts], axis=0))


def sorted_features(rows: Rows, is_weighted: bool) -> Iterator[tuple[Floats, Floats | None, int]]:
    """Yield of each feature the values in order, their weights, and how many are missing."""
    for x in by_feature(rows.X, np.empty(rows.X.shape[::-1])):
        order = np.argsort(x) if is_weighted else None
        if order is None:
            x.sort()
        else:
            x[:] = x[order]
        n_values = int(np.searchsorted(x, np.nan))  # missing values are last
        weight = None if order is None else rows.weight[order[:n_values]]
        yield x[:n_values], weight, len(x) - n_values


def count_values(rows: Rows, n_points: int, is_weighted: bool) -> Counts:
    """Return some values of each feature of a partition, and the weights between them."""
    bounds: list[WeightBounds | None] = []
    n_missing = []
    for x, weight, missing in sorted_features(rows, is_weighted):
        bounds.append(WeightBounds.of(x, weight, n_points))
        n_missing.append(missing)
    return Counts(bounds, np.array(n_missing) > 0)


def plan_pass(
    counts: Counts, max_bins: int, n_points: int, most_values: float, is_weighted: bool
) -> Pass:
    """Return what is looked for next: all values near the quantiles, unless they are too many."""
    pairs = list(zip(_known(counts), counts.has_missing.tolist(), strict=True))
    ranges = [None if one.is_exact else one.enclosures(max_bins) for one, _ in pairs]
    edges = [
        one.bins(max_bins, has_missing).thresholds if enclosed is None else enclosed.edges
        for enclosed, (one, has_missing) in zip(ranges, pairs, strict=True)
    ]
    n_values = sum(one.n_rows for one in ranges if one is not None)
    return Pass(ranges, edges, None if n_values <= most_values else n_points, is_weighted)


def code_partition(rows: Rows, plan: Pass) -> CodedPart:
    """Return a partition with the number of edges below each value in place of the value."""
    codes = np.empty(rows.X.shape[::-1], dtype=np.min_scalar_type(max(map(len, plan.edges)) + 2))
    coders = [Coder(*of_feature) for of_feature in zip(plan.edges, plan.ranges, strict=True)]
    buffer = np.empty((len(coders), _MANY_ROWS))
    for start in range(0, rows.n_rows, _MANY_ROWS):
        some = slice(start, min(start + _MANY_ROWS, rows.n_rows))
        lines = by_feature(rows.X[some], buffer[:, : some.stop - start])
        weight = rows.weight[some] if plan.is_weighted else None
        for coder, x, code in zip(coders, lines, codes[:, some], strict=True):
            coder(x, weight, start, code)
    near, outside = [one.near for one in coders], [one.outside for one in coders]
    return CodedPart(codes, near, outside, rows.y, rows.qid, rows.weight)


class Coder:
    """Finds the number of edges below each value of a feature, and the values in its ranges.

    Parameters
    ----------
    edges : ndarray of shape (n_edges,)
        Increasing.
    ranges : Enclosures or None
        The ranges whose ends the edges are, if they are.
    """

    def __init__(self, edges: Floats, ranges: Enclosures | None) -> None:
        self._first = int(np.isneginf(edges[:1]).sum())  # an edge below every value
        self._digitize = Digitizer(edges[self._first :])
        self._missing = len(edges) + 2 - self._first
        self._has_ranges = ranges is not None
        self._mass, self._count = np.zeros((2, len(edges) + 3))
        self._places: list[Indices] = []
        self._values: list[Floats] = []

    def __call__(self, x: Floats, weight: Floats | None, start: int, code: Indices) -> None:
        """Set the codes of some rows, the first of which has the number `start`."""
        code[:] = self._digitize(x, self._missing)
        code += self._first
        if not self._has_ranges:
            return
        self._count += np.bincount(code, minlength=len(self._count))
        if weight is not None:
            self._mass += np.bincount(code, weight, len(self._mass))
        place = np.flatnonzero(code & 1)
        self._places.append(place + start)
        self._values.append(x[place])

    @property
    def near(self) -> tuple[Indices, Floats]:
        """The rows with values in a range, and those values."""
        nothing = np.zeros(0)
        places = [nothing.astype(np.intp), *self._places]
        return np.concatenate(places), np.concatenate([nothing, *self._values])

    @property
    def outside(self) -> tuple[Floats, Floats]:
        """Weight and number of the rows before each range, and after the last."""
        count, mass = self._count[:-2:2], self._mass[:-2:2]
        return (mass if mass.any() else count), count


def count_near_quantiles(part: CodedPart, plan: Pass) -> Counts:
    """Return values of a partition in the ranges of a pass, and the weights between them."""
    bounds: list[WeightBounds | None] = []
    for ranges, (place, x), outside in zip(plan.ranges, part.near, part.outside, strict=True):
        if ranges is None:
            bounds.append(None)
            continue
        order = np.argsort(x)
        weight = part.weight[place[order]] if plan.is_weighted else None
        bounds.append(WeightBounds.inside(x[order], weight, ranges, outside, plan.n_points))
    return Counts(bounds, np.zeros(len(bounds), dtype=bool))


def replace_counts(found: Counts, counts: Counts) -> Counts:
    """Return the counts with what a pass has found in place of what was known."""
    pairs = zip(found.bounds, counts.bounds, strict=True)
    return Counts([new or old for new, old in pairs], counts.has_missing)


def find_all_bins(counts: Counts, max_bins: int) -> list[Bins]:
    """Return the bins of each feature."""
    pairs = zip(_known(counts), counts.has_missing.tolist(), strict=True)
    return [one.bins(max_bins, has_missing) for one, has_missing in pairs]


def _known(counts: Counts) -> list[WeightBounds]:
    """Return the bounds of the features, each of which has some."""
    return [one for one in counts.bounds if one is not None]


def by_feature(X: Floats, lines: Floats) -> Floats:
    """Set lines to the features of rows, copied a few rows at a time, and return them.

    A block of rows stays in the cache: this takes a third of the time of one copy.
    """
    for start in range(0, len(X), _FEW_ROWS):
        lines[:, start : start + _FEW_ROWS] = X[start : start + _FEW_ROWS].T
    return lines


def finish_codes(part: CodedPart, plan: Pass, bins: list[Bins]) -> BinnedPart:
    """Return a partition with the number of the bin of each value in place of the value."""
    most = max(len(one.thresholds) for one in bins) + 1
    codes = np.empty(part.codes.shape, dtype=np.min_scalar_type(most))
    for number, (ranges, edges, one) in enumerate(zip(plan.ranges, plan.edges, bins, strict=True)):
        below = np.arange(len(edges) + 3)
        if ranges is not None:
            below[1:-2] = np.searchsorted(one.thresholds, edges, side="right")
        below[-1] = len(one.thresholds) + 1  # missing
        below.astype(codes.dtype).take(part.codes[number], out=codes[number], mode="clip")
        place, x = part.near[number]
        codes[number, place] = np.searchsorted(one.thresholds, x)
    weight = part.weight
    if not (weight != 1).any():
        weight = np.broadcast_to(1.0, len(weight))
    return BinnedPart(codes, part.y, part.qid, weight)
