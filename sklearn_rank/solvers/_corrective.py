"""Fully corrective boosting: after each choice the coefficients of all chosen columns move."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sklearn_rank._protocols import (
    Candidate,
    Floats,
    Gain,
    Indices,
    Mask,
    Objective,
    ObjectiveState,
    RowGradient,
    Solution,
)
from sklearn_rank.preferences import Preferences
from sklearn_rank.solvers._bounded_newton import SideFunction, bounded_newton
from sklearn_rank.solvers._composition import CoefficientObjective
from sklearn_rank.solvers._coordinate_descent import StepRule
from sklearn_rank.solvers._lbfgs import minimise

__all__ = ["ChosenColumns", "CorrectiveDescent", "Refit"]

_DENSE = 2**23
"""Entries of a matrix of columns up to which it is kept as floats; larger ones go by blocks."""

_ITERATIONS, _REFIT_TOL = 200, 1e-10
"""Iterations of a refit at most; relative decrease in one of them that ends it."""


@dataclass(frozen=True, eq=False)
class ChosenColumns:
    """0/1 columns on *cells*: sets of rows of one segment that no chosen column tells apart.

    Rows of a cell have equal scores and are in the same pairs, so that an objective of the
    cells, which weigh as much as their rows, is that of the rows: a weight is a multiplicity.

    Attributes
    ----------
    rows : Preferences
        The comparable pairs of all rows.
    cell : ndarray of shape (n_rows,)
        The cell of each row. Their numbers rise with the segment.
    values : ndarray of shape (n_cells, n_chosen)
        The columns.
    """

    rows: Preferences
    cell: Indices
    values: Mask

    @classmethod
    def none(cls, rows: Preferences) -> ChosenColumns:
        """Return no columns: each segment is a cell."""
        n_segments = rows.segments.n_groups
        return cls(rows, rows.spread(np.arange(n_segments)), np.zeros((n_segments, 0), dtype=bool))

    @cached_property
    def cells(self) -> Preferences:
        """The comparable pairs of the cells."""
        return self.rows.merged(self.cell)

    def with_column(self, h: Mask) -> ChosenColumns:
        """Return the columns and one more, given on all rows."""
        key = 2 * self.cell + h
        used = np.flatnonzero(np.bincount(key))
        number = np.empty(2 * len(self.values), dtype=np.intp)
        number[used] = np.arange(len(used))
        values = np.column_stack([self.values[used // 2], used % 2 == 1])
        return ChosenColumns(self.rows, number[key], values)

    def keep(self, columns: Indices) -> ChosenColumns:
        """Return some of the columns, on the same cells."""
        return ChosenColumns(self.rows, self.cell, self.values[:, columns])

    def merged(self) -> ChosenColumns:
        """Return the same columns on as few cells as tell them apart."""
        key = self.cells.spread(np.arange(self.cells.segments.n_groups))
        for column in self.values.T:
            key = np.unique(2 * key + column, return_inverse=True)[1].ravel()
        first = np.unique(key, return_index=True)[1]
        return ChosenColumns(self.rows, key[self.cell], self.values[first])

    def is_chosen(self, h: Mask) -> bool:
        """Whether a column, given on all rows, is a chosen one, or one minus it."""
        one = np.bincount(self.cell, h, len(self.values))
        inside = one == np.bincount(self.cell, minlength=len(self.values))
        if not np.all(inside | (one == 0)):
            return False
        same = self.values == inside[:, None]
        return bool((same.all(axis=0) | ~same.any(axis=0)).any())

    def scores(self, coefficients: Floats) -> Floats:
        """Return the scores of the cells."""
        return np.concatenate([part @ coefficients for part in self._blocks()])

    def pull_back(self, gradient: Floats) -> Floats:
        """Return the gradient by the coefficients."""
        slopes, first = np.zeros(self.values.shape[1]), 0
        for part in self._blocks():
            slopes += gradient[first : first + len(part)] @ part
            first += len(part)
        return slopes

    def sides(self) -> tuple[list[Floats], list[Floats]]:
        """Return columns and logarithms of weights of the cells above and those below."""
        n_above = int(self.cells.segments.start[1])
        dense, log_weight = self._dense, self.cells.log_weight
        return [dense[:n_above], dense[n_above:]], [log_weight[:n_above], log_weight[n_above:]]

    def to_rows(self, gradient: RowGradient) -> RowGradient:
        """Return a gradient by the scores of the cells as that by the scores of the rows."""
        pointer = gradient.pointer
        if gradient.n_groups == 2:
            pointer = np.array([0, self.rows.segments.start[1], self.rows.n_rows])
        else:
            pointer = np.array([0, self.rows.n_rows])
        curvature = gradient.curvature
        spread = None if curvature is None else self._share_out(curvature)
        return RowGradient(self._share_out(gradient.data), pointer, spread)

    def _share_out(self, values: Floats) -> Floats:
        """Return sums over the cells as shares of the rows."""
        shares = (values / self.cells.weight).take(self.cell)
        return shares if self.rows.has_unit_weights else shares * self.rows.weight

    @cached_property
    def _dense(self) -> Floats:
        return self.values.astype(np.float64)

    def _blocks(self) -> Iterator[Floats]:
        if self.values.size <= _DENSE:
            yield self._dense
            return
        length = max(1, _DENSE // self.values.shape[1])
        for start in range(0, len(self.values), length):
            yield self.values[start : start + length].astype(np.float64)


@dataclass(frozen=True, eq=False)
class Refit:
    """Chosen weak rankers and their coefficients.

    Attributes
    ----------
    coordinates : list of int
        Their coordinates.
    coefficients : ndarray of shape (n_chosen,)
        Their coefficients.
    bounds : list of (float, float)
        The least and the largest that each coefficient may be.
    credit : ndarray of shape (n_chosen,)
        Decrease of the objective credited to each.
    columns : ChosenColumns
        Their values.
    value : float
        The objective, with the ridge.
    """

    coordinates: list[int]
    coefficients: Floats
    bounds: list[tuple[float, float]]
    credit: Floats
    columns: ChosenColumns
    value: float

    def keep(self, places: Indices) -> Refit:
        """Return some of the weak rankers, with the value of all of them."""
        return Refit(
            [self.coordinates[place] for place in places],
            self.coefficients[places],
            [self.bounds[place] for place in places],
            self.credit[places],
            self.columns.keep(places),
            self.value,
        )

    def extended(self, coordinate: int, h: Mask, bounds: tuple[float, float]) -> Refit:
        """Return the model with one more weak ranker, whose coefficient is 0."""
        return Refit(
            [*self.coordinates, coordinate],
            np.append(self.coefficients, 0.0),
            [*self.bounds, bounds],
            np.append(self.credit, 0.0),
            self.columns.with_column(h),
            self.value,
        )


class CorrectiveDescent:
    """Greedy choice of 0/1 weak rankers, with a refit of all chosen ones after each choice.

    Parameters
    ----------
    weak_rankers : WeakRankers
        With ``search(gradient, gain, excluded)``, which leaves coordinates out.
    preferences : Preferences
        The comparable pairs.
    pose : callable
        Returns the objective of some preferences: those of the rows or of their cells.
    make_state : callable
        Returns the state of an objective, of preferences, at scores.
    gain : Gain
        What the search maximises.
    step_rule : callable
        Returns, for some preferences, the rule of the step from which a refit starts along the
        weak ranker just chosen.
    longest : float
        Bound of the absolute coefficients.
    alpha : float
        Ridge.
    tol : float
        Relative decrease of the objective below which a swap is not made.

    Attributes
    ----------
    model : Refit
        What has been chosen.
    """

    def __init__(
        self,
        weak_rankers: Any,
        preferences: Preferences,
        *,
        pose: Callable[[Preferences], Objective],
        make_state: Callable[[Objective, Preferences, Floats], ObjectiveState],
        gain: Gain,
        step_rule: Callable[[Preferences], StepRule],
        longest: float,
        alpha: float,
        tol: float,
    ) -> None:
        self._weak_rankers = weak_rankers
        self._pose = pose
        self._make_state = make_state
        self._gain = gain
        self._step_rule = step_rule
        self._longest = longest
        self._alpha = alpha
        self._tol = tol
        columns = ChosenColumns.none(preferences)
        self.model = Refit([], np.zeros(0), [], np.zeros(0), columns, 0.0)
        self.model = replace(self.model, value=self._value(self.model))

    def start_from(self, coordinates: list[int], coefficients: Floats, credit: Floats) -> None:
        """Take the model of an earlier fit."""
        model = self.model
        for coordinate in coordinates:
            model = model.extended(coordinate, self._values(coordinate), self._bounds(coordinate))
        model = replace(model, coefficients=coefficients, credit=credit)
        self._become(replace(model, value=self._value(model)))

    def add(self) -> float | None:
        """Choose one more weak ranker; return the decrease, None when nothing lowers it."""
        before = self.model
        state = self._state(before)
        candidate = self._search(before.columns, state, before)
        after = None if candidate is None else self._with(before, candidate)
        if after is None or not after.value < before.value:
            return None
        self._become(after)
        return before.value - after.value

    def sweep(self) -> float:
        """Try to replace each chosen weak ranker by a better one; return the decrease.

        Each in turn is left out, the others are refitted, the best of those not chosen is put
        in, and all are refitted. The new model is kept if the objective falls.
        """
        start = self.model.value
        for coordinate in list(self.model.coordinates):
            if coordinate in self.model.coordinates:
                self._swap(coordinate)
        return start - self.model.value

    def _swap(self, coordinate: int) -> None:
        """Replace a weak ranker by a better one, if there is one."""
        before = self.model
        place = before.coordinates.index(coordinate)
        rest = before.keep(np.delete(np.arange(len(before.coordinates)), place))
        rest = replace(rest, value=self._value(rest))
        # What the one left out loses and has been credited, its successor will have.
        credit = before.credit[place] - (rest.value - before.value)
        rest = self._refit(rest)
        self._become(rest)
        candidate = self._search(rest.columns, self._state(rest), before)
        after = None if candidate is None else self._with(rest, candidate)
        if after is not None:
            fall = before.value - after.value
            if fall > self._tol * max(abs(before.value), abs(after.value), 1.0):
                after.credit[-1] += credit
                self._become(replace(after, columns=after.columns.merged()))
                return
        self._become(before)

    def _search(
        self, columns: ChosenColumns, state: ObjectiveState, chosen: Refit
    ) -> Candidate | None:
        """Return the best weak ranker that is none of those chosen, nor equal to one."""
        gradient, excluded = columns.to_rows(state.gradient), list(chosen.coordinates)
        while True:
            found: Candidate | None = self._weak_rankers.search(gradient, self._gain, excluded)
            if found is None or not chosen.columns.is_chosen(self._weak_rankers.values(found)):
                return found
            excluded.append(found.index)

    def _with(self, before: Refit, candidate: Candidate) -> Refit:
        """Return the refitted model with one more weak ranker."""
        h = self._weak_rankers.values(candidate)
        model = before.extended(candidate.index, h, self._bounds(candidate.index))
        step_rule = self._step_rule(model.columns.cells)
        step = step_rule(self._state(model), candidate, model.columns.values[:, -1])
        low, high = model.bounds[-1]
        model.coefficients[-1] = min(max(step, low), high)
        return self._refit(model)

    def _refit(self, model: Refit) -> Refit:
        """Return the model at the minimum over its coefficients, without those that are 0."""
        if not model.coordinates:
            return model
        found = self._minimise(model)
        assert found.credit is not None
        credit = model.credit + found.credit
        # What the step to the start of the refit brought, along the last one alone.
        credit[-1] += model.value - found.values[-1] - found.credit.sum()
        model = replace(model, coefficients=found.x, credit=credit, value=found.values[-1])
        used = np.flatnonzero(found.x)
        return model if len(used) == len(found.x) else model.keep(used)

    def _minimise(self, model: Refit) -> Solution:
        """Return the minimum over the coefficients, from those of the model."""
        columns, objective = model.columns, self._pose(model.columns.cells)
        options: dict[str, Any] = {"max_iter": _ITERATIONS, "tol": _REFIT_TOL}
        exponents = getattr(objective, "side_exponents", None)
        if exponents is None or columns.values.size > _DENSE:
            function = CoefficientObjective(objective, columns, self._alpha)
            return minimise(function, model.coefficients, bounds=model.bounds, **options)
        side = SideFunction(*columns.sides(), exponents, self._alpha)
        return bounded_newton(side, model.coefficients, model.bounds, **options)

    def _become(self, model: Refit) -> None:
        """Make a model the present one, and tell weak rankers that keep count of it."""
        if hasattr(self._weak_rankers, "set_coefficients"):
            pairs = zip(model.coordinates, model.coefficients.tolist(), strict=True)
            self._weak_rankers.set_coefficients(dict(pairs))
        self.model = model

    def _bounds(self, coordinate: int) -> tuple[float, float]:
        """Return the bounds of the coefficient of a weak ranker."""
        low, high = -self._longest, self._longest
        if hasattr(self._weak_rankers, "coefficient_limits"):
            least, most = self._weak_rankers.coefficient_limits(np.array([coordinate]))
            low, high = max(low, float(least[0])), min(high, float(most[0]))
        return low, high

    def _values(self, coordinate: int) -> Mask:
        return self._weak_rankers.values(Candidate(coordinate, 0.0))

    def _state(self, model: Refit) -> ObjectiveState:
        """Return the objective of the cells at the scores of a model."""
        cells, columns = model.columns.cells, model.columns
        return self._make_state(self._pose(cells), cells, columns.scores(model.coefficients))

    def _value(self, model: Refit) -> float:
        """Return the objective with the ridge."""
        objective = self._pose(model.columns.cells)
        function = CoefficientObjective(objective, model.columns, self._alpha)
        return function.value(model.coefficients)
