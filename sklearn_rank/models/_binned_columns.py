"""What weak rankers that are functions of the bins of one feature share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sklearn_rank._parallel import ThreadPool
from sklearn_rank._protocols import Candidate, Floats, Gain, Indices, Mask, RowGradient
from sklearn_rank.models._cells import MISSING_CELL, Bins, CellGrid, Column
from sklearn_rank.models._histogram import BinnedRows
from sklearn_rank.models._ties import ROUNDING
from sklearn_rank.rows.processes import ONE_PROCESS, Collective, shared_property

_CHUNK = 65_536
_SAMPLE = 8192
"""Rows, at most twice as many, from which the ends of the cells of a feature are taken."""


class BinnedColumns(ABC):
    """Base class of 0/1 weak rankers that are chosen from histograms of the gradient.

    A subclass chooses in `choose`, and gives in `_values_by_bin` the step function of each
    feature for some coefficients.

    Parameters
    ----------
    rows : BinnedRows
        Bins of the training rows.
    weight : ndarray of shape (n_rows,)
        Their weights.
    collective : Collective or None
        The processes that hold the training rows; None stands for this one.
    """

    is_two_sided = True
    sums_curvature = True

    def __init__(
        self, rows: BinnedRows, weight: Floats, collective: Collective | None = None
    ) -> None:
        self._rows = rows
        self._weight = weight
        self._collective = collective or ONE_PROCESS

    @property
    @abstractmethod
    def n_coordinates(self) -> int:
        """Number of weak rankers, padding included."""

    def at_rows(
        self, rows: Indices, weight: Floats, earlier: Sequence[int] = (), share: float = 1.0
    ) -> Self:
        """Return the same weak rankers on some of the training rows.

        Parameters
        ----------
        rows : ndarray of shape (n_some,)
            The rows, in fit order.
        weight : ndarray of shape (n_some,)
            Their weights.
        earlier : sequence of int
            Coordinates in other parts of one model. Where a model is bounded in size, they count
            as in this one.
        share : float
            Share of that bound which this part and `earlier` may fill.
        """
        part = copy(self)
        part._rows, part._weight = self._rows.at(rows), weight
        for known in ("_weight_by_bin", "_total_weight"):
            vars(part).pop(known, None)
        return part

    def search(
        self, gradient: RowGradient, gain: Gain, excluded: Sequence[int] = ()
    ) -> Candidate | None:
        """Return the weak ranker with the largest gain; ties go to the first.

        Those with an `excluded` coordinate are left out.
        """
        of_groups, of_curvature = self.histogram(gradient), gradient.curvature
        by_bin = None if of_curvature is None else self.curvature_histogram(of_curvature)
        size = 1.0 if gradient.n_groups == 2 else float(np.abs(gradient.data).sum())
        if self._collective.size > 1:
            of_groups, by_bin, size = self._summed(of_groups, by_bin, size)
            size = 1.0 if gradient.n_groups == 2 else size
        return self.choose(of_groups, gain, by_bin, size, excluded)

    def _summed(
        self, of_groups: Floats, by_bin: Floats | None, size: float
    ) -> tuple[Floats, Floats | None, float]:
        """Return what a search needs of the rows of all processes, with one message."""
        here = of_groups if by_bin is None else np.concatenate([of_groups, by_bin[None]])
        numbers = self._collective.reduce(np.add, np.append(here.ravel(), size))
        everywhere = numbers[:-1].reshape(here.shape)
        if by_bin is None:
            return everywhere, None, float(numbers[-1])
        return everywhere[:-1], everywhere[-1], float(numbers[-1])

    def histogram(self, gradient: RowGradient) -> Floats:
        """Return the gradient summed by bin, shape (n_groups, n_features, n_bins)."""
        return self._rows.sum_by_bin(gradient)

    def curvature_histogram(self, curvature: Floats) -> Floats:
        """Return the curvature summed by bin, shape (n_features, n_bins)."""
        return np.asarray(self.histogram(RowGradient.signed(curvature))[0])

    @abstractmethod
    def choose(
        self,
        histogram: Floats,
        gain: Gain,
        curvature_histogram: Floats | None = None,
        size: float = 0.0,
        excluded: Sequence[int] = (),
    ) -> Candidate | None:
        """Return the weak ranker with the largest gain; ties go to the first.

        `size` is what edges are compared with: one where they are differences of shares, and
        else the sum of the absolute gradient. None is found where an edge is mere rounding.
        """

    def scores(self, coefficients: Floats) -> Floats:
        """Return the scores of the training rows."""
        return self._rows.look_up(self._values_by_bin(coefficients))

    def mean_contributions(self, indices: Indices, weights: Floats) -> Floats:
        """Return the mean over the training rows of the sum of the rules on each feature."""
        coefficients = np.bincount(indices, weights, self.n_coordinates).astype(np.float64)
        values = self._values_by_bin(coefficients)
        return np.einsum("jb,jb->j", values, self._weight_by_bin) / self._total_weight

    @shared_property
    def _weight_by_bin(self) -> Floats:
        """Weight of the training rows in each bin, shape (n_features, n_bins)."""
        by_bin = self.histogram(RowGradient.signed(self._weight))[0]
        return np.asarray(self._collective.reduce(np.add, by_bin))

    @shared_property
    def _total_weight(self) -> float:
        """Weight of the training rows."""
        return float(self._collective.reduce(np.add, float(self._weight.sum())))

    @abstractmethod
    def _values_by_bin(self, coefficients: Floats) -> Floats:
        """Return the step function of each feature, shape (n_features, n_bins)."""


def as_candidate(
    index: int, h: Mask, by_bin: Floats, curvature: Floats | None, size: float
) -> Candidate | None:
    """Return a chosen weak ranker, None where its edge is mere rounding.

    `h` is its value in each bin of its feature, `by_bin` and `curvature` are the histograms
    of that feature, of shape (n_groups, n_bins) and (n_bins,).
    """
    one, zero = by_bin @ h, by_bin @ ~h
    edge = np.subtract(*(one / (one + zero))) if len(by_bin) == 2 else -one[0]
    if abs(edge) <= ROUNDING * size:
        return None
    bound = None if curvature is None else float(min(curvature @ h, curvature @ ~h))
    return Candidate(index, float(edge), one, zero, bound)


def smaller_side(one: Floats, totals: Floats) -> Floats:
    """Return ``min(c @ h, c @ (1 - h))`` of each weak ranker, given ``c @ h``."""
    # Differences of sums: below this they may be rounding alone.
    return np.maximum(np.minimum(one, totals - one), ROUNDING * totals)


@dataclass(frozen=True, eq=False)
class BinnedX:
    """Features of which only the bins are known: stands for X where its values are elsewhere.

    Attributes
    ----------
    parts : sequence of ndarray of shape (n_features, n_part_rows)
        Rows, part after part: the number of thresholds below each value; that of a missing
        value is one more than the number of thresholds.
    bins : list of Bins
        The bins of each feature.
    """

    parts: Sequence[Indices]
    bins: list[Bins]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features."""
        return sum(part.shape[1] for part in self.parts), len(self.bins)

    def __getitem__(self, rows: Any) -> BinnedX:
        """Return some of the rows."""
        return BinnedX([self.codes(rows)], self.bins)

    def codes(self, rows: Any) -> Indices:
        """Return the bins of some rows, one line for each feature."""
        lines = self.by_feature()
        first = next(lines)[rows]
        codes = np.empty((len(self.bins), len(first)), dtype=first.dtype)
        codes[0] = first
        for number, line in enumerate(lines, 1):  # one at a time: all together would be a copy
            codes[number] = line[rows]
        return codes

    def by_feature(self) -> Iterator[Indices]:
        """Yield the bins of all rows, feature by feature."""
        for number in range(len(self.bins)):
            yield np.concatenate([part[number] for part in self.parts])


def find_bins(
    X: Any, order: Indices, weight: Floats, max_bins: int, threads: ThreadPool
) -> tuple[Indices, list[Bins]]:
    """Return the bin of every value of ``X[order]``, one line for each feature, and the bins."""
    if hasattr(X, "bins"):
        return X.codes(order), X.bins
    n_rows, n_features = len(order), X.shape[1]
    sample = _columns(X, order[:: 1 + n_rows // _SAMPLE])
    grids = threads.map(lambda j: CellGrid(sample[j]), n_features)
    largest = max(MISSING_CELL, max_bins + 1)
    cells = np.empty((n_features, n_rows), dtype=np.min_scalar_type(largest))

    def find_cells(number: int) -> None:
        chunk = slice(number * _CHUNK, (number + 1) * _CHUNK)
        for j, x in enumerate(_columns(X, order[chunk])):
            cells[j, chunk] = grids[j](x)

    threads.map(find_cells, -(-n_rows // _CHUNK))
    weights = None if np.all(weight == weight[0]) else weight

    def encode(j: int) -> Bins:
        column = Column(grids[j], cells[j], lambda chosen: X[order[chosen], j], weights)
        return column.encode(max_bins)

    bins = threads.map(encode, n_features)
    most = max(len(one.thresholds) for one in bins) + 1
    return cells.astype(np.min_scalar_type(most), copy=False), bins


def _columns(X: Floats, rows: Indices | slice) -> Floats:
    """Return some rows of X, one contiguous line for each feature."""
    return np.ascontiguousarray(X[rows].T)
