"""Fully corrective boosting: after each choice the coefficients of all chosen columns move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Candidate, Floats, Indices, Mask, Solution
from sklearn_rank._core.validation import Number
from sklearn_rank.solvers._chosen_columns import ChosenColumns
from sklearn_rank.solvers._lbfgs import CoefficientObjective, minimise
from sklearn_rank.solvers._solver import BoostingSolver

__all__ = ["Corrective"]

_OPTIONS: dict[str, Any] = {"max_iter": 200, "tol": 1e-10}
"""Iterations of a refit at most; relative decrease in one of them that ends it."""


class Corrective(BoostingSolver):
    """Greedy choice of stumps, with a refit of all chosen ones after each choice.

    For small models. A refit is the minimum over the coefficients of the chosen stumps, none of
    which exceeds the longest step of boosting, by L-BFGS-B. At the kinks of the hinge loss it may
    end above the minimum: the choice of the next stump then depends on rounding, and so on the
    order of the rows.

    Parameters
    ----------
    n_swaps : int in [0, inf), default=0
        Maximum number of sweeps after the last round. A sweep removes each chosen stump in
        turn, refits the others, adds the best stump that is not in the model, refits, and
        keeps the swap if the objective falls. Sweeps stop when one changes nothing.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_rank import PNormPushRanker
    >>> from sklearn_rank.solvers import Corrective
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> once = PNormPushRanker(solver="corrective", n_estimators=5).fit(X, y)
    >>> swapped = PNormPushRanker(solver=Corrective(n_swaps=5), n_estimators=5).fit(X, y)
    >>> bool(swapped.objective_curve_[-1] < once.objective_curve_[-1])
    True
    """

    on_cluster = True
    fits_bags = True
    has_ridge = True
    has_selection = True
    needs_stumps = True

    _allowed = {"n_swaps": Number(0, integer=True)}  # noqa: RUF012

    def __init__(self, n_swaps: int = 0) -> None:
        self.n_swaps = n_swaps

    def solve(self, problem: Any, record: Any) -> None:
        """Choose stumps, round by round, and then swap some of them."""
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
        for _ in range(self.n_swaps):
            if not descent.sweep() > 0:
                break
            history.objective[-1] = descent.model.value
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
        self._kept: set[int] = set()  # coordinates that no swap of the model replaces
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
        candidate = self._search(before, before)
        after = None if candidate is None else self._with(before, candidate)
        if after is None or not after.value < before.value:
            return None
        self._become(after)
        self._kept.clear()
        return before.value - after.value

    def sweep(self) -> float:
        """Try to replace each chosen weak ranker by a better one; return the decrease.

        Each in turn is left out, the others are refitted, the best of those not chosen is put
        in, and all are refitted. The new model is kept if the objective falls.
        """
        start = self.model.value
        for coordinate in list(self.model.coordinates):
            if coordinate in self._kept or coordinate not in self.model.coordinates:
                continue
            value = self.model.value
            self._swap(coordinate)
            if self.model.value < value:
                self._kept.clear()
            else:
                self._kept.add(coordinate)
        return start - self.model.value

    def _swap(self, coordinate: int) -> None:
        """Replace a weak ranker by a better one, if there is one."""
        before = self.model
        place = before.coordinates.index(coordinate)
        rest = before.keep(np.delete(np.arange(len(before.coordinates)), place))
        rest = replace(rest, value=self._value(rest.columns, rest.coefficients))
        # What the one left out loses and has been credited, its successor will have.
        credit = before.credit[place] - (rest.value - before.value)
        rest = self._refit(rest)
        self._become(rest)
        candidate = self._search(rest, before)
        after = None if candidate is None else self._with(rest, candidate)
        if after is not None:
            fall = before.value - after.value
            if fall > self._problem.tol * max(abs(before.value), abs(after.value), 1.0):
                after.credit[-1] += credit
                self._become(replace(after, columns=after.columns.merged()))
                return
        self._become(before)

    def _search(self, at: _Model, chosen: _Model) -> Candidate | None:
        """Return the best weak ranker at a model that is none of those chosen, nor equal to one."""
        gradient = at.columns.to_rows(self._state(at).gradient)
        excluded = list(chosen.coordinates)
        while True:
            best = self._weak_rankers.search(gradient, self._problem.gain, excluded)
            found: Candidate | None = self._problem.preferences.agree(best)
            if found is None or not chosen.columns.is_chosen(self._weak_rankers.values(found)):
                return found
            excluded.append(found.index)

    def _with(self, before: _Model, candidate: Candidate) -> _Model:
        """Return the refitted model with one more weak ranker."""
        return self._refit(before.extended(candidate.index, self._weak_rankers.values(candidate)))

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

    def _state(self, model: _Model) -> Any:
        """Return the objective of the cells at the scores of a model."""
        columns = model.columns
        return columns.problem.state(columns.scores(model.coefficients))

    def _value(self, columns: ChosenColumns, c: Floats) -> float:
        """Return the objective at some coefficients, the same in all processes."""
        return float(self._problem.preferences.agree(self._function(columns).value(c)))

    def _function(self, columns: ChosenColumns) -> CoefficientObjective:
        """Return the objective of some columns, with the ridge, as a function of coefficients."""
        return CoefficientObjective(columns.problem.objective, columns, self._problem.alpha)
