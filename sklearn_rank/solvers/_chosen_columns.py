"""The columns that a small model has chosen, on the rows that they tell apart."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Floats, Indices, Mask, RowGradient
from sklearn_rank._core.sums import shared_property

_BLOCK = 2**14
"""Cells whose columns are copied as floats at a time."""


class ChosenColumns:
    """0/1 columns on cells: sets of rows of one segment that they, or more columns, tell apart.

    Rows of a cell have equal scores and are in the same pairs, so that an objective of the
    cells, which weigh as much as their rows, is that of the rows: a weight is a multiplicity.

    Parameters
    ----------
    problem : BoostingProblem
        The problem of all rows.
    cell : ndarray of shape (n_rows,)
        The cell of each row. Their numbers rise with the segment.
    values : ndarray of shape (n_cells, n_chosen)
        The columns.
    """

    def __init__(self, problem: Any, cell: Indices, values: Mask) -> None:
        self.of_rows, self.cell, self.values = problem, cell, values

    @classmethod
    def none(cls, problem: Any) -> ChosenColumns:
        """Return no columns: each segment is a cell."""
        rows = problem.preferences
        n_segments = rows.segments.n_groups
        return cls(problem, rows.spread(np.arange(n_segments)), np.zeros((n_segments, 0), bool))

    @shared_property
    def preferences(self) -> Preferences:
        """The comparable pairs of the cells."""
        return self.of_rows.preferences.merged(self.cell)

    @shared_property
    def problem(self) -> Any:
        """The problem of the cells."""
        return self.of_rows.at(self.preferences)

    def with_column(self, h: Mask) -> ChosenColumns:
        """Return the columns and one more, given on all rows."""
        key = 2 * self.cell + h
        counts = np.bincount(key, minlength=2 * len(self.values)).astype(np.float64)
        used = np.flatnonzero(self.of_rows.preferences.parts.total(counts))
        cell = np.empty(2 * len(self.values), dtype=np.intp)
        cell[used] = np.arange(len(used))
        values = np.column_stack([self.values[used // 2], used % 2 == 1])
        return ChosenColumns(self.of_rows, cell[key], values)

    def keep(self, columns: Indices) -> ChosenColumns:
        """Return some of the columns, on the same cells."""
        found = copy(self)
        found.values = self.values[:, columns]
        return found

    def is_chosen(self, h: Mask) -> bool:
        """Whether a column, given on all rows, is a chosen one, or one minus it."""
        one = np.bincount(self.cell, h, len(self.values))
        size = np.bincount(self.cell, minlength=len(self.values))
        inside, is_whole = one == size, bool(((one == size) | (one == 0)).all())
        same = (self.values == inside[:, None])[size > 0]  # cells may have their rows elsewhere
        is_equal = is_whole & np.stack([same.all(axis=0), ~same.any(axis=0)])
        return bool(self.of_rows.preferences.smallest(is_equal.astype(np.float64)).any())

    def scores(self, coefficients: Floats) -> Floats:
        """Return the scores of the cells."""
        return np.concatenate([columns @ coefficients for _, columns in self._blocks()])

    def pull_back(self, gradient: Floats) -> Floats:
        """Return the gradient by the coefficients."""
        slopes = np.zeros(self.values.shape[1])
        for cells, columns in self._blocks():
            slopes += gradient[cells] @ columns
        return np.asarray(self.preferences.total(slopes))

    def to_rows(self, gradient: RowGradient) -> RowGradient:
        """Return a gradient by the scores of the cells as that by the scores of the rows."""
        rows = self.of_rows.preferences
        inner = rows.segments.start[1 : len(gradient.pointer) - 1]
        pointer = np.concatenate([[0], inner, [rows.n_rows]])
        curvature = gradient.curvature
        spread = None if curvature is None else self._share_out(curvature)
        return RowGradient(self._share_out(gradient.data), pointer, spread)

    def _share_out(self, values: Floats) -> Floats:
        """Return sums over the cells as shares of the rows."""
        rows = self.of_rows.preferences
        shares: Floats = (values / self.preferences.weight).take(self.cell)
        return shares if rows.has_unit_weights else shares * rows.weight

    def _blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Yield cells and their columns as floats."""
        for cells in blocks(len(self.values), _BLOCK):
            yield cells, self.values[cells].astype(np.float64)
