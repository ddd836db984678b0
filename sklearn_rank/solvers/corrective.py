"""Fully corrective boosting: after each choice the coefficients of all chosen columns move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sklearn_rank._core.protocols import Candidate, Floats, Indices, Mask, Solution
from sklearn_rank._core.validation import Number
from sklearn_rank.solvers._bounded_newton import TwiceDifferentiable, bounded_newton
from sklearn_rank.solvers._lbfgs import CoefficientObjective, minimise
from sklearn_rank.solvers._solver import BoostingSolver

if TYPE_CHECKING:
    from sklearn_rank.solvers._chosen_columns import ChosenColumns

__all__ = ["Corrective"]

_ITERATIONS, _TOL = 200, 1e-10
"""Iterations of a refit at most; relative decrease in one of them that ends it."""


class Corrective(BoostingSolver):
    """Greedy choice of stumps, with a refit of all chosen ones after each choice.

    For small models. A refit is the minimum over the coefficients of the chosen stumps, none of
    which exceeds the longest step of boosting: by projected Newton steps where the second
    derivatives are known and cheap (one list of two levels with the exponential loss, or with
    few pairs), else by L-BFGS-B, which may end above the minimum at the kinks of the hinge loss:
    the choice of the next stump then depends on rounding, and so on the order of the rows.

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
            known = np.array(history.steps), np.array(history.decreases)
            descent.start_from(history.coordinates, *known)
        steps = [(descent.add, max(0, record.n_left - descent.n_pairs_left))]
        if descent.n_pairs_left:
            steps += [(descent.add_pair, record.n_left), (descent.add, record.n_left)]
        for add, most in steps:
            for _ in range(min(most, record.n_left)):
                decrease = add()
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
class _Refit:
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

    def keep(self, places: Indices) -> _Refit:
        """Return some of the weak rankers, with the value of all of them."""
        return _Refit(
            [self.coordinates[place] for place in places],
            self.coefficients[places],
            [self.bounds[place] for place in places],
            self.credit[places],
            self.columns.keep(places),
            self.value,
        )

    def extended(self, coordinate: int, h: Mask, bounds: tuple[float, float]) -> _Refit:
        """Return the model with one more weak ranker, whose coefficient is 0."""
        return _Refit(
            [*self.coordinates, coordinate],
            np.append(self.coefficients, 0.0),
            [*self.bounds, bounds],
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
    model : _Refit
        What has been chosen.
    """

    def __init__(self, problem: Any) -> None:
        self._problem = problem
        self._weak_rankers = problem.weak_rankers
        self._step_rule = problem.push_step()
        self._kept: set[int] = set()  # coordinates that no swap of the model replaces
        from sklearn_rank.solvers._chosen_columns import ChosenColumns

        none, empty = ChosenColumns.none(problem), np.zeros(0)
        self.model = _Refit([], empty, [], empty, none, self._value(none, empty))

    def start_from(self, coordinates: list[int], coefficients: Floats, credit: Floats) -> None:
        """Take the model of an earlier fit."""
        model = self.model
        for coordinate in coordinates:
            model = model.extended(coordinate, self._values(coordinate), self._bounds(coordinate))
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

    @property
    def n_pairs_left(self) -> int:
        """Number of pairs of features that may still be found."""
        return int(getattr(self._weak_rankers, "n_pairs_left", 0))

    def add_pair(self) -> float | None:
        """Choose one more pair, each cell a weak ranker; return the decrease, None without one.

        A pair with which the objective does not fall is left, and the next one is sought.
        """
        before, problem = self.model, self._problem
        gradient = before.columns.to_rows(self._state(before.columns, before.coefficients).gradient)
        while self.n_pairs_left:
            after = before
            for one in self._weak_rankers.next_pair(gradient, problem.posing.power, problem.alpha):
                after = after.extended(one, self._values(one), self._bounds(one))
            after = self._refit(after)
            if after.value < before.value:
                self._become(after)
                self._kept.clear()
                return before.value - after.value
        return None

    def sweep(self) -> float:
        """Try to replace each chosen weak ranker by a better one; return the decrease.

        Each in turn is left out, the others are refitted, the best of those not chosen is put
        in, and all are refitted. The new model is kept if the objective falls.
        """
        start = self.model.value
        is_cell = getattr(self._weak_rankers, "is_of_pair", lambda _: False)
        for coordinate in list(self.model.coordinates):
            if is_cell(coordinate):  # a pair stays as it is
                continue
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

    def _search(self, at: _Refit, chosen: _Refit) -> Candidate | None:
        """Return the best weak ranker at a model that is none of those chosen, nor equal to one."""
        columns = at.columns
        gradient = columns.to_rows(self._state(columns, at.coefficients).gradient)
        excluded = list(chosen.coordinates)
        while True:
            best = self._weak_rankers.search(gradient, self._problem.gain, excluded)
            found: Candidate | None = self._problem.preferences.agree(best)
            if found is None or not chosen.columns.is_chosen(self._weak_rankers.values(found)):
                return found
            excluded.append(found.index)

    def _with(self, before: _Refit, candidate: Candidate) -> _Refit:
        """Return the refitted model with one more weak ranker."""
        h = self._weak_rankers.values(candidate)
        model = before.extended(candidate.index, h, self._bounds(candidate.index))
        columns, c = model.columns, model.coefficients
        if self._with_hessian(columns) is None:  # a Newton step finds as much as boosting does
            cells = columns.cells.preferences
            longest = cells.largest_difference
            rule = replace(self._step_rule, largest_difference=longest, rows=cells)
            step = rule(self._state(columns, c), candidate, columns.values[:, -1])
            low, high = model.bounds[-1]
            model.coefficients[-1] = min(max(step, low), high)
        return self._refit(model)

    def _refit(self, model: _Refit) -> _Refit:
        """Return the model at the minimum over its coefficients, without those that are 0."""
        if not model.coordinates:
            return model
        found = self._minimum(model)
        assert found.credit is not None
        credit = model.credit + found.credit
        # What the step to the start of the refit brought, along the last one alone.
        credit[-1] += model.value - found.values[-1] - found.credit.sum()
        model = replace(model, coefficients=found.x, credit=credit, value=found.values[-1])
        used = np.flatnonzero(found.x)
        return model if len(used) == len(found.x) else model.keep(used)

    def _minimum(self, model: _Refit) -> Solution:
        """Return the minimum over the coefficients, from those of the model.

        Of several processes the first finds it.
        """
        start, options = model.coefficients, dict[str, Any](max_iter=_ITERATIONS, tol=_TOL)
        known = self._with_hessian(model.columns)

        def solve(functions: Mapping[str, Any]) -> Solution:
            if known is not None:  # the cells of one list, which each process has
                return bounded_newton(known, start, model.bounds, **options)
            return minimise(functions["objective"], start, bounds=model.bounds, **options)

        shared = {"objective": self._function(model.columns)}
        return self._problem.preferences.lead(solve, shared)

    def _become(self, model: _Refit) -> None:
        """Make a model the present one, and tell weak rankers that keep count of it."""
        if hasattr(self._weak_rankers, "set_coefficients"):
            pairs = zip(model.coordinates, model.coefficients.tolist(), strict=True)
            self._weak_rankers.set_coefficients(dict(pairs))
        self.model = model

    def _bounds(self, coordinate: int) -> tuple[float, float]:
        """Return the bounds of the coefficient of a weak ranker."""
        high = self._step_rule.longest
        low = -high
        if hasattr(self._weak_rankers, "coefficient_limits"):
            least, most = self._weak_rankers.coefficient_limits(np.array([coordinate]))
            low, high = max(low, float(least[0])), min(high, float(most[0]))
        return low, high

    def _values(self, coordinate: int) -> Mask:
        return self._weak_rankers.values(Candidate(coordinate, 0.0))

    def _state(self, columns: ChosenColumns, c: Floats) -> Any:
        """Return the objective of the cells at the scores of some coefficients."""
        return columns.cells.problem.state(columns.scores(c))

    def _value(self, columns: ChosenColumns, c: Floats) -> float:
        """Return the objective at some coefficients, the same in all processes."""
        return float(self._problem.preferences.agree(self._function(columns).value(c)))

    def _function(self, columns: ChosenColumns) -> CoefficientObjective:
        """Return the objective of some columns, with the ridge, as a function of coefficients."""
        objective = columns.cells.problem.objective
        return CoefficientObjective(objective, columns, self._problem.alpha)

    def _with_hessian(self, columns: ChosenColumns) -> TwiceDifferentiable | None:
        """Return the function with its second derivatives, where they are known and cheap."""
        if not columns.is_dense:
            return None
        find: Any = getattr(columns.cells.problem.objective, "by_coefficients", None)
        return None if find is None else find(columns.dense, self._problem.alpha)
