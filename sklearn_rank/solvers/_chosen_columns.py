"""The columns that a small model has chosen, on the rows that they tell apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Floats, Indices, Mask, RowGradient
from sklearn_rank._core.sums import shared_property

_DENSE = 2**23
"""Entries of a matrix of columns up to which it is kept as floats; larger ones go by blocks."""


class Cells:
    """Sets of rows of one segment that no chosen column tells apart, and their objective.

    Rows of a cell have equal scores and are in the same pairs, so that an objective of the
    cells, which weigh as much as their rows, is that of the rows: a weight is a multiplicity.

    Parameters
    ----------
    problem : BoostingProblem
        The problem of all rows.
    number : ndarray of shape (n_rows,)
        The cell of each row. Their numbers rise with the segment.
    """

    def __init__(self, problem: Any, number: Indices) -> None:
        self.number = number
        self.of_rows = problem

    @shared_property
    def preferences(self) -> Preferences:
        """The comparable pairs of the cells."""
        return self.of_rows.preferences.merged(self.number)

    @shared_property
    def problem(self) -> Any:
        """The problem of the cells."""
        return self.of_rows.at(self.preferences)


@dataclass(frozen=True, eq=False)
class ChosenColumns:
    """0/1 columns on the cells that they, or more columns, tell apart.

    Attributes
    ----------
    cells : Cells
        The cells.
    values : ndarray of shape (n_cells, n_chosen)
        The columns.
    """

    cells: Cells
    values: Mask

    @classmethod
    def none(cls, problem: Any) -> ChosenColumns:
        """Return no columns: each segment is a cell."""
        rows = problem.preferences
        n_segments = rows.segments.n_groups
        cells = Cells(problem, rows.spread(np.arange(n_segments)))
        return cls(cells, np.zeros((n_segments, 0), dtype=bool))

    @property
    def cell(self) -> Indices:
        """The cell of each row."""
        return self.cells.number

    def with_column(self, h: Mask) -> ChosenColumns:
        """Return the columns and one more, given on all rows."""
        key = 2 * self.cell + h
        counts = np.bincount(key, minlength=2 * len(self.values)).astype(np.float64)
        used = np.flatnonzero(self.cells.of_rows.preferences.parts.total(counts))
        number = np.empty(2 * len(self.values), dtype=np.intp)
        number[used] = np.arange(len(used))
        values = np.column_stack([self.values[used // 2], used % 2 == 1])
        return ChosenColumns(Cells(self.cells.of_rows, number[key]), values)

    def keep(self, columns: Indices) -> ChosenColumns:
        """Return some of the columns, on the same cells."""
        return ChosenColumns(self.cells, self.values[:, columns])

    def merged(self) -> ChosenColumns:
        """Return the same columns on as few cells as tell them apart."""
        cells = self.cells.preferences
        key = cells.spread(np.arange(cells.segments.n_groups))
        for column in self.values.T:
            key = np.unique(2 * key + column, return_inverse=True)[1].ravel()
        first = np.unique(key, return_index=True)[1]
        return ChosenColumns(Cells(self.cells.of_rows, key[self.cell]), self.values[first])

    def is_chosen(self, h: Mask) -> bool:
        """Whether a column, given on all rows, is a chosen one, or one minus it."""
        one = np.bincount(self.cell, h, len(self.values))
        size = np.bincount(self.cell, minlength=len(self.values))
        inside, is_whole = one == size, bool(((one == size) | (one == 0)).all())
        same = (self.values == inside[:, None])[size > 0]  # cells may have their rows elsewhere
        is_equal = is_whole & np.stack([same.all(axis=0), ~same.any(axis=0)])
        rows = self.cells.of_rows.preferences
        return bool(rows.smallest(is_equal.astype(np.float64)).any())

    def scores(self, coefficients: Floats) -> Floats:
        """Return the scores of the cells."""
        return np.concatenate([part @ coefficients for part in self._blocks()])

    def pull_back(self, gradient: Floats) -> Floats:
        """Return the gradient by the coefficients."""
        slopes, first = np.zeros(self.values.shape[1]), 0
        for part in self._blocks():
            slopes += gradient[first : first + len(part)] @ part
            first += len(part)
        return np.asarray(self.cells.preferences.total(slopes))

    def to_rows(self, gradient: RowGradient) -> RowGradient:
        """Return a gradient by the scores of the cells as that by the scores of the rows."""
        rows = self.cells.of_rows.preferences
        inner = rows.segments.start[1 : len(gradient.pointer) - 1]
        pointer = np.concatenate([[0], inner, [rows.n_rows]])
        curvature = gradient.curvature
        spread = None if curvature is None else self._share_out(curvature)
        return RowGradient(self._share_out(gradient.data), pointer, spread)

    def _share_out(self, values: Floats) -> Floats:
        """Return sums over the cells as shares of the rows."""
        rows = self.cells.of_rows.preferences
        shares: Floats = (values / self.cells.preferences.weight).take(self.cell)
        return shares if rows.has_unit_weights else shares * rows.weight

    @property
    def is_dense(self) -> bool:
        """Whether the columns are kept as one matrix of floats."""
        return self.values.size <= _DENSE

    @cached_property
    def dense(self) -> Floats:
        """The columns as floats."""
        return self.values.astype(np.float64)

    def _blocks(self) -> Iterator[Floats]:
        if self.is_dense:
            yield self.dense
            return
        length = max(1, _DENSE // self.values.shape[1])
        for start in range(0, len(self.values), length):
            yield self.values[start : start + length].astype(np.float64)
