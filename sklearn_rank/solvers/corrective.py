"""Fully corrective boosting: after each choice the coefficients of all chosen columns move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Candidate, Floats, Indices, Mask, RowGradient, Solution
from sklearn_rank._core.sums import shared_property
from sklearn_rank.solvers._lbfgs import CoefficientObjective, minimise
from sklearn_rank.solvers._solver import BoostingSolver

_OPTIONS: dict[str, Any] = {"max_iter": 200, "tol": 1e-10}
"""Iterations of a refit at most; relative decrease in one of them that ends it."""

_BLOCK = 2**14
"""Cells whose columns are copied as floats at a time."""


class Corrective(BoostingSolver):
    """Greedy choice of stumps, with a refit of all chosen ones after each choice.

    For small models. A refit is the minimum over the coefficients of the chosen stumps, none of
    which exceeds the longest step of boosting, by L-BFGS-B. At the kinks of the hinge loss it may
    end above the minimum: the choice of the next stump then depends on rounding, and so on the
    order of the rows.

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

    on_cluster = True
    fits_bags = True
    has_ridge = True
    has_selection = True
    needs_stumps = True

    def solve(self, problem: Any, record: Any) -> None:
        """Choose stumps, round by round."""
        descent = _Descent(problem)
        history, tol = record.history, problem.tol
        if history.steps:
            credit = np.array(history.decreases)
            descent.start_from(history.coordinates, np.array(history.steps), credit)
        for _ in range(record.n_left):
            decrease = descent.add()
            if decrease is None:
                break
            model, value = descent.model, descent.model.value
            if record.replace(model.coordinates, model.coefficients, model.credit, value):
                return
            if tol > 0 and decrease <= tol * max(abs(value + decrease), abs(value), 1.0):
                break
        model = descent.model
        record.replace(model.coordinates, model.coefficients, model.credit)


@dataclass(frozen=True, eq=False)
class _Model:
    """Chosen weak rankers and their coefficients.

    Attributes
    ----------
    coordinates : list of int
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

    coordinates: list[int]
    coefficients: Floats
    credit: Floats
    columns: ChosenColumns
    value: float

    def keep(self, places: Indices) -> _Model:
        """Return some of the weak rankers, with the value of all of them."""
        return _Model(
            [self.coordinates[place] for place in places],
            self.coefficients[places],
            self.credit[places],
            self.columns.keep(places),
            self.value,
        )

    def extended(self, coordinate: int, h: Mask) -> _Model:
        """Return the model with one more weak ranker, whose coefficient is 0."""
        return _Model(
            [*self.coordinates, coordinate],
            np.append(self.coefficients, 0.0),
            np.append(self.credit, 0.0),
            self.columns.with_column(h),
            self.value,
        )


class _Descent:
    """The model so far, and what may be done to it.

    Parameters
    ----------
    problem : BoostingProblem
        The problem, of weak rankers with ``search(gradient, gain, excluded)``, which leaves
        coordinates out.

    Attributes
    ----------
    model : _Model
        What has been chosen.
    """

    def __init__(self, problem: Any) -> None:
        self._problem = problem
        self._weak_rankers = problem.weak_rankers
        self._longest = problem.push_step().longest
        none, empty = ChosenColumns.none(problem), np.zeros(0)
        self.model = _Model([], empty, empty, none, self._value(none, empty))

    def start_from(self, coordinates: list[int], coefficients: Floats, credit: Floats) -> None:
        """Take the model of an earlier fit."""
        model = self.model
        for coordinate in coordinates:
            model = model.extended(coordinate, self._values(coordinate))
        model = replace(model, coefficients=coefficients, credit=credit)
        self._become(replace(model, value=self._value(model.columns, coefficients)))

    def add(self) -> float | None:
        """Choose one more weak ranker; return the decrease, None when nothing lowers it."""
        before = self.model
        candidate = self._search()
        if candidate is None:
            return None
        h = self._weak_rankers.values(candidate)
        after = self._refit(before.extended(candidate.index, h))
        if not after.value < before.value:
            return None
        self._become(after)
        return before.value - after.value

    def _search(self) -> Candidate | None:
        """Return the best weak ranker that is none of those chosen, nor equal to one."""
        columns, c = self.model.columns, self.model.coefficients
        gradient = columns.to_rows(columns.problem.state(columns.scores(c)).gradient)
        excluded = list(self.model.coordinates)
        while True:
            best = self._weak_rankers.search(gradient, self._problem.gain, excluded)
            found: Candidate | None = self._problem.preferences.agree(best)
            if found is None or not columns.is_chosen(self._weak_rankers.values(found)):
                return found
            excluded.append(found.index)

    def _refit(self, model: _Model) -> _Model:
        """Return the model at the minimum over its coefficients, without those that are 0.

        Of several processes the first finds the minimum.
        """
        if not model.coordinates:
            return model
        start, bounds = model.coefficients, self._bounds(model.coordinates)

        def solve(functions: Mapping[str, Any]) -> Solution:
            return minimise(functions["objective"], start, bounds=bounds, **_OPTIONS)

        objective = self._function(model.columns)
        found: Solution = self._problem.preferences.lead(solve, {"objective": objective})
        assert found.credit is not None
        credit = model.credit + found.credit
        model = replace(model, coefficients=found.x, credit=credit, value=found.values[-1])
        used = np.flatnonzero(found.x)
        return model if len(used) == len(found.x) else model.keep(used)

    def _become(self, model: _Model) -> None:
        """Make a model the present one, and tell weak rankers that keep count of it."""
        if hasattr(self._weak_rankers, "set_coefficients"):
            pairs = zip(model.coordinates, model.coefficients.tolist(), strict=True)
            self._weak_rankers.set_coefficients(dict(pairs))
        self.model = model

    def _bounds(self, coordinates: list[int]) -> list[tuple[float, float]]:
        """Return the bounds of the coefficients of some weak rankers."""
        low, high = np.full((2, len(coordinates)), [[-np.inf], [np.inf]])
        if hasattr(self._weak_rankers, "coefficient_limits"):
            low, high = self._weak_rankers.coefficient_limits(np.array(coordinates))
        low, high = np.maximum(low, -self._longest), np.minimum(high, self._longest)
        return list(zip(low, high, strict=True))

    def _values(self, coordinate: int) -> Mask:
        return self._weak_rankers.values(Candidate(coordinate, 0.0))

    def _value(self, columns: ChosenColumns, c: Floats) -> float:
        """Return the objective at some coefficients, the same in all processes."""
        return float(self._problem.preferences.agree(self._function(columns).value(c)))

    def _function(self, columns: ChosenColumns) -> CoefficientObjective:
        """Return the objective of some columns, with the ridge, as a function of coefficients."""
        return CoefficientObjective(columns.problem.objective, columns, self._problem.alpha)


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
