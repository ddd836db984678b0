"""What a refit needs of an objective, in general and for an exponential push of one list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from sklearn_rank._protocols import (
    Candidate,
    Floats,
    Objective,
    ObjectiveState,
    RowGradient,
    Solution,
)
from sklearn_rank.rows.preferences import Preferences
from sklearn_rank.solvers._bounded_newton import SideFunction, TwiceDifferentiable, bounded_newton
from sklearn_rank.solvers._chosen_columns import ChosenColumns
from sklearn_rank.solvers._composition import CoefficientObjective
from sklearn_rank.solvers._coordinate_descent import StepRule
from sklearn_rank.solvers._lbfgs import minimise

__all__ = ["CellObjective", "PosedCells", "SideCells"]

_ITERATIONS, _TOL = 200, 1e-10
"""Iterations of a refit at most; relative decrease in one of them that ends it."""

Bounds = Sequence[tuple[float, float]]


class CellObjective(Protocol):
    """An objective with a ridge, of coefficients c of columns given on cells."""

    def value(self, columns: ChosenColumns, c: Floats) -> float:
        """Return the value."""

    def gradient(self, columns: ChosenColumns, c: Floats) -> RowGradient:
        """Return the gradient by the scores of the cells, without the ridge."""

    def start(self, columns: ChosenColumns, c: Floats, candidate: Candidate) -> float:
        """Return where the coefficient of the last column, which is 0 in c, may start."""

    def minimise(self, columns: ChosenColumns, c: Floats, bounds: Bounds) -> Solution:
        """Return the minimum within bounds, from c."""


@dataclass(frozen=True)
class PosedCells:
    """Any objective: posed anew on the cells, and minimised by L-BFGS-B or Newton steps.

    Parameters
    ----------
    pose : callable
        Returns the objective of some preferences.
    make_state : callable
        Returns the state of an objective, of preferences, at scores.
    step_rule : callable
        Returns, for some preferences, the rule of the step from which a refit starts.
    alpha : float
        Ridge.
    """

    pose: Callable[[Preferences], Objective]
    make_state: Callable[[Objective, Preferences, Floats], ObjectiveState]
    step_rule: Callable[[Preferences], StepRule]
    alpha: float
    _posed: dict[str, Any] = field(default_factory=dict)

    def value(self, columns: ChosenColumns, c: Floats) -> float:
        """Return the value."""
        return self._function(columns).value(c)

    def gradient(self, columns: ChosenColumns, c: Floats) -> RowGradient:
        """Return the gradient by the scores of the cells, without the ridge."""
        return self._state(columns, c).gradient

    def start(self, columns: ChosenColumns, c: Floats, candidate: Candidate) -> float:
        """Return the step of boosting; 0 where a Newton step finds as much."""
        if self._by_coefficients(columns) is not None:
            return 0.0
        step = self.step_rule(columns.cells)
        return step(self._state(columns, c), candidate, columns.values[:, -1])

    def minimise(self, columns: ChosenColumns, c: Floats, bounds: Bounds) -> Solution:
        """Return the minimum within bounds, from c."""
        options: dict[str, Any] = {"max_iter": _ITERATIONS, "tol": _TOL}
        known = self._by_coefficients(columns)
        if known is not None:
            return bounded_newton(known, c, bounds, **options)
        return minimise(self._function(columns), c, bounds=bounds, **options)

    def _function(self, columns: ChosenColumns) -> CoefficientObjective:
        return CoefficientObjective(self._objective(columns), columns, self.alpha)

    def _objective(self, columns: ChosenColumns) -> Objective:
        """Return the objective of the cells, posed once for the columns last asked for."""
        if self._posed.get("columns") is not columns:
            self._posed.update(columns=columns, objective=self.pose(columns.cells))
        objective: Objective = self._posed["objective"]
        return objective

    def _by_coefficients(self, columns: ChosenColumns) -> TwiceDifferentiable | None:
        """Return the function with its second derivatives, where they are known and cheap."""
        find: Any = getattr(self._objective(columns), "by_coefficients", None)
        known: TwiceDifferentiable | None = None
        if find is not None and columns.is_dense:
            known = find(columns.dense, self.alpha)
        return known

    def _state(self, columns: ChosenColumns, c: Floats) -> ObjectiveState:
        return self.make_state(self._objective(columns), columns.cells, columns.scores(c))


@dataclass(frozen=True)
class SideCells:
    """The p-norm push of one bipartite list, minimised by projected Newton steps.

    Parameters
    ----------
    exponents : tuple of float
        `SidePush.side_exponents`.
    alpha : float
        Ridge.
    """

    exponents: tuple[float, float]
    alpha: float

    def value(self, columns: ChosenColumns, c: Floats) -> float:
        """Return the value."""
        return self._function(columns).value(c)[0]

    def gradient(self, columns: ChosenColumns, c: Floats) -> RowGradient:
        """Return the gradient by the scores of the cells, without the ridge."""
        shares = self._function(columns).value(c)[1]
        return RowGradient(np.concatenate(shares), np.cumsum([0, *map(len, shares)]))

    def start(self, columns: ChosenColumns, c: Floats, candidate: Candidate) -> float:
        """Return 0: the first Newton step finds as much as boosting would."""
        return 0.0

    def minimise(self, columns: ChosenColumns, c: Floats, bounds: Bounds) -> Solution:
        """Return the minimum within bounds, from c."""
        function = self._function(columns)
        return bounded_newton(function, c, bounds, max_iter=_ITERATIONS, tol=_TOL)

    def _function(self, columns: ChosenColumns) -> SideFunction:
        return SideFunction(*columns.sides(), self.exponents, self.alpha)
