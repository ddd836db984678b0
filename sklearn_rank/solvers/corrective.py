"""Fully corrective boosting: after each choice the coefficients of all chosen columns move."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from sklearn_rank._core.arrays import Ability, Floats, Indices, Mask, blocks
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Candidate, RowGradient, Solution
from sklearn_rank._core.sums import Functions, shared_property
from sklearn_rank.solvers._lbfgs import CoefficientObjective, minimise
from sklearn_rank.solvers._solver import BoostingSolver, Problem, Record, SolverTraits

_REFIT_ITERATIONS, _REFIT_TOL = 200, 1e-10
"""Maximum of iterations of a refit; relative decrease of the objective in the last one."""

_BLOCK = 2**14
"""Cells whose columns are copied as floats at a time."""


class Corrective(BoostingSolver):
    """Greedy choice of stumps, with a refit of all chosen ones after each choice.

    For small models. A refit minimises by L-BFGS-B over the coefficients of the chosen stumps, each
    bounded by the longest step of boosting. At the kinks of the hinge loss it may end above the
    minimum; the next choice then depends on rounding, and so on the order of the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_rank import PNormPushRanker
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> once = PNormPushRanker(solver="corrective", n_estimators=5).fit(X, y)
    >>> steps = PNormPushRanker(n_estimators=5).fit(X, y)
    >>> bool(once.objective_curve_[-1] < steps.objective_curve_[-1])
    True
    """

    traits = SolverTraits(
        on_cluster=True, fits_bags=True, has_ridge=True, has_selection=True, needs_stumps=True
    )

    def solve(self, problem: Problem, record: Record) -> None:
        """Choose a stump and refit the coefficients of all chosen stumps, round by round."""
        # A warm start takes the coefficients of the last fit, and refits them with the next stump.
        descent, tol = _Descent(problem), problem.tol
        coordinates, coefficients, credit = record.model()
        if coordinates:
            descent.start_from(coordinates, coefficients, credit)
        for _ in range(record.n_left):
            # 1. The stump of largest gain, and the refit of all chosen ones.
            decrease = descent.add()
            if decrease is None:
                break
            # 2. The model so far is reported as a whole: every coefficient may have moved.
            value = descent.model.value
            if record.replace(*descent.model.parts, value):
                return
            if tol > 0 and decrease <= tol * max(abs(value + decrease), abs(value), 1.0):
                break
        # Without a value, so that no iteration is counted.
        record.replace(*descent.model.parts)


@dataclass(frozen=True, eq=False)
class _Model:
    """Chosen weak rankers and their coefficients.

    Attributes
    ----------
    coordinates : ndarray of shape (n_chosen,)
        Their coordinates.
    coefficients : ndarray of shape (n_chosen,)
        Their coefficients.
    credit : ndarray of shape (n_chosen,)
        Decrease of the objective credited to each.
    columns : ChosenColumns
        Their values.
    value : float
        The objective, with the ridge.
    """

    coordinates: Indices
    coefficients: Floats
    credit: Floats
    columns: ChosenColumns
    value: float

    @property
    def parts(self) -> tuple[Indices, Floats, Floats]:
        """Coordinates, coefficients and credit."""
        return self.coordinates, self.coefficients, self.credit

    def keep(self, indices: Indices) -> _Model:
        """Return some of the weak rankers, with the objective of all of them."""
        w, credit = self.coefficients[indices], self.credit[indices]
        return _Model(self.coordinates[indices], w, credit, self.columns.keep(indices), self.value)

    def extended(self, coordinate: int, h: Mask) -> _Model:
        """Return the model with one more weak ranker, whose coefficient is 0."""
        coordinates = np.append(self.coordinates, coordinate)
        w, credit = np.append(self.coefficients, 0.0), np.append(self.credit, 0.0)
        return _Model(coordinates, w, credit, self.columns.with_column(h), self.value)


class _Descent:
    """The model so far, which grows by one column at a time.

    Parameters
    ----------
    problem : Problem
        The problem, of weak rankers with ``search(gradient, gain, excluded)``, which leaves
        coordinates out.

    Attributes
    ----------
    model : _Model
        The chosen weak rankers.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._weak_rankers: Ability = problem.weak_rankers
        columns, empty = ChosenColumns.none(problem), np.zeros(0)
        no_indices = np.zeros(0, dtype=np.intp)
        self.model = _Model(no_indices, empty, empty, columns, self._value(columns, empty))

    def start_from(self, coordinates: list[int], coefficients: Floats, credit: Floats) -> None:
        """Take the model of an earlier fit."""
        model = self.model
        for coordinate in coordinates:
            h = self._weak_rankers.values(Candidate(coordinate, 0.0))
            model = model.extended(coordinate, h)
        value = self._value(model.columns, coefficients)
        self._set_model(replace(model, coefficients=coefficients, credit=credit, value=value))

    def add(self) -> float | None:
        """Choose another weak ranker; return the decrease, None if nothing lowers the objective."""
        old_model = self.model
        candidate = self._search()
        if candidate is None:
            return None
        h = self._weak_rankers.values(candidate)
        new_model = self._refit(old_model.extended(candidate.index, h))
        # A refit that lowers nothing is rounding, or a kink at which L-BFGS-B can't move.
        if not new_model.value < old_model.value:
            return None
        self._set_model(new_model)
        return old_model.value - new_model.value

    def _search(self) -> Candidate | None:
        """Return the best weak ranker that is neither chosen nor equal to a chosen one."""
        columns, c = self.model.columns, self.model.coefficients
        gradient = columns.to_rows(columns.problem.state(columns.scores(c)).gradient)
        excluded = list(self.model.coordinates)
        # Another threshold can give the same column of 0 and 1 on these rows: a second copy of a
        # chosen column would make the Hessian of a refit singular.
        while True:
            candidate: Candidate | None = self._problem.preferences.agree(
                self._weak_rankers.search(gradient, self._problem.gain, excluded)
            )
            if candidate is None or not columns.is_chosen(self._weak_rankers.values(candidate)):
                return candidate
            excluded.append(candidate.index)

    def _refit(self, model: _Model) -> _Model:
        """Return the model at the minimum over its coefficients, without zero coefficients.

        With several processes, the first one finds the minimum.
        """
        if not len(model.coordinates):
            return model
        bounds = self._bounds(model.coordinates)

        def refit(functions: Functions) -> Solution:
            start, limits = model.coefficients, (_REFIT_ITERATIONS, _REFIT_TOL)
            return minimise(functions["objective"], start, *limits, bounds=bounds)

        objective = self._function(model.columns)
        solution = self._problem.preferences.lead(refit, {"objective": objective})
        assert solution.credit is not None
        w, credit = solution.x, model.credit + solution.credit
        refitted = replace(model, coefficients=w, credit=credit, value=solution.values[-1])
        nonzero = np.flatnonzero(w)
        return refitted if len(nonzero) == len(w) else refitted.keep(nonzero)

    def _set_model(self, model: _Model) -> None:
        """Set the model, and inform weak rankers whose constraints depend on the coefficients."""
        if hasattr(self._weak_rankers, "set_coefficients"):
            items = zip(model.coordinates.tolist(), model.coefficients.tolist(), strict=True)
            self._weak_rankers.set_coefficients(dict(items))
        self.model = model

    def _bounds(self, coordinates: Indices) -> list[tuple[float, float]]:
        """Return the bounds of the coefficients of some weak rankers."""
        low, high = np.full((2, len(coordinates)), [[-np.inf], [np.inf]])
        if hasattr(self._weak_rankers, "coefficient_limits"):
            low, high = self._weak_rankers.coefficient_limits(coordinates)
        longest = self._problem.longest_step
        return list(zip(np.maximum(low, -longest), np.minimum(high, longest), strict=True))

    def _value(self, columns: ChosenColumns, c: Floats) -> float:
        """Return the objective at given coefficients; every process gets the same value."""
        return float(self._problem.preferences.agree(self._function(columns).value(c)))

    def _function(self, columns: ChosenColumns) -> CoefficientObjective:
        """Return the objective plus the ridge as a function of the coefficients of some columns."""
        return CoefficientObjective(columns.problem.objective, columns, self._problem.alpha)


class ChosenColumns:
    """0/1 columns on cells, that is, rows of one segment with equal values in all columns.

    Rows of a cell have equal scores and are in the same pairs, so that an objective of the
    cells, which weigh as much as their rows, is that of the rows: a weight is a multiplicity.

    Parameters
    ----------
    row_problem : Problem
        The problem of all rows.
    cell : ndarray of shape (n_rows,)
        The cell of each row. Their numbers rise with the segment.
    values : ndarray of shape (n_cells, n_chosen)
        The columns.
    """

    def __init__(self, row_problem: Problem, cell: Indices, values: Mask) -> None:
        self.row_problem, self.cell, self.values = row_problem, cell, values

    @classmethod
    def none(cls, problem: Problem) -> ChosenColumns:
        """Return no columns: each segment is a cell."""
        rows = problem.preferences
        n_segments = rows.segments.n_groups
        return cls(problem, rows.spread(np.arange(n_segments)), np.zeros((n_segments, 0), bool))

    @shared_property
    def preferences(self) -> Preferences:
        """The comparable pairs of the cells."""
        return self.row_problem.preferences.merged(self.cell)

    @shared_property
    def problem(self) -> Problem:
        """The problem of the cells."""
        return self.row_problem.at(self.preferences)

    def with_column(self, h: Mask) -> ChosenColumns:
        """Return the columns and one more, given on all rows."""
        # Each cell divides by h; empty halves get no number, in no process.
        half_cell = 2 * self.cell + h
        counts = np.bincount(half_cell, minlength=2 * len(self.values)).astype(np.float64)
        nonempty = np.flatnonzero(self.row_problem.preferences.parts.total(counts))
        cell = np.empty(2 * len(self.values), dtype=np.intp)
        cell[nonempty] = np.arange(len(nonempty))
        values = np.column_stack([self.values[nonempty // 2], nonempty % 2 == 1])
        return ChosenColumns(self.row_problem, cell[half_cell], values)

    def keep(self, columns: Indices) -> ChosenColumns:
        """Return some of the columns, on the same cells."""
        subset = copy(self)
        subset.values = self.values[:, columns]
        return subset

    def is_chosen(self, h: Mask) -> bool:
        """Whether a column, given on all rows, is a chosen column or the complement of one."""
        n_ones = np.bincount(self.cell, h, len(self.values))
        n_rows = np.bincount(self.cell, minlength=len(self.values))
        cell_h, is_whole = n_ones == n_rows, bool(((n_ones == n_rows) | (n_ones == 0)).all())
        # Cells without rows here have them in other processes.
        agrees = (self.values == cell_h[:, None])[n_rows > 0]
        is_equal = is_whole & np.stack([agrees.all(axis=0), ~agrees.any(axis=0)])
        return bool(self.row_problem.preferences.smallest(is_equal.astype(np.float64)).any())

    def scores(self, coefficients: Floats) -> Floats:
        """Return the scores of the cells."""
        return np.concatenate([columns @ coefficients for _, columns in self._blocks()])

    def pull_back(self, gradient: Floats) -> Floats:
        """Return the gradient with respect to the coefficients."""
        slopes = np.zeros(self.values.shape[1])
        for cells, columns in self._blocks():
            slopes += gradient[cells] @ columns
        return np.asarray(self.preferences.total(slopes))

    def to_rows(self, gradient: RowGradient) -> RowGradient:
        """Convert a gradient with respect to the cells' scores to one for the rows' scores."""
        rows = self.row_problem.preferences
        group_ends = rows.segments.start[1 : len(gradient.pointer) - 1]
        pointer = np.concatenate([[0], group_ends, [rows.n_rows]])
        curvature = gradient.curvature
        row_curvature = None if curvature is None else self._divide_among_rows(curvature)
        return RowGradient(self._divide_among_rows(gradient.data), pointer, row_curvature)

    def _divide_among_rows(self, values: Floats) -> Floats:
        """Divide sums over the cells among their rows."""
        rows = self.row_problem.preferences
        shares: Floats = (values / self.preferences.weight).take(self.cell)
        return shares if rows.has_unit_weights else shares * rows.weight

    def _blocks(self) -> Iterator[tuple[slice[int, int, None], Floats]]:
        """Yield cells and their columns as floats."""
        for cells in blocks(len(self.values), _BLOCK):
            yield cells, self.values[cells].astype(np.float64)
