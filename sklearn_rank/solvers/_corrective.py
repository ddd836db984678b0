"""Fully corrective boosting: after each choice the coefficients of all chosen columns move."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sklearn_rank._protocols import Candidate, Floats, Gain, Indices, Mask, RowGradient
from sklearn_rank.rows.preferences import Preferences
from sklearn_rank.solvers._cell_objectives import CellObjective, PosedCells, SideCells
from sklearn_rank.solvers._chosen_columns import ChosenColumns

__all__ = ["CorrectiveDescent", "Refit"]


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
    posed : PosedCells
        The objective, on cells.
    exponents : tuple of float or None
        `SidePush.side_exponents` where the objective is such a push of one bipartite list.
    gain : Gain
        What the search maximises.
    longest : float
        Bound of the absolute coefficients.
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
        posed: PosedCells,
        exponents: tuple[float, float] | None,
        gain: Gain,
        longest: float,
        tol: float,
    ) -> None:
        self._weak_rankers = weak_rankers
        self._posed = posed
        self._sides = None if exponents is None else SideCells(exponents, posed.alpha)
        self._gain = gain
        self._longest = longest
        self._tol = tol
        self._n_kept = 0  # stumps, one after the other, that no swap of the model replaces
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
        candidate = self._search(self._gradient(before), before)
        after = None if candidate is None else self._with(before, candidate)
        if after is None or not after.value < before.value:
            return None
        self._become(after)
        self._n_kept = 0
        return before.value - after.value

    def sweep(self) -> float:
        """Try to replace each chosen weak ranker by a better one; return the decrease.

        Each in turn is left out, the others are refitted, the best of those not chosen is put
        in, and all are refitted. The new model is kept if the objective falls.
        """
        start = self.model.value
        for coordinate in list(self.model.coordinates):
            if self._n_kept >= len(self.model.coordinates):
                break
            if coordinate in self.model.coordinates:
                value = self.model.value
                self._swap(coordinate)
                self._n_kept = 0 if self.model.value < value else self._n_kept + 1
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
        candidate = self._search(self._gradient(rest), before)
        after = None if candidate is None else self._with(rest, candidate)
        if after is not None:
            fall = before.value - after.value
            if fall > self._tol * max(abs(before.value), abs(after.value), 1.0):
                after.credit[-1] += credit
                self._become(replace(after, columns=after.columns.merged()))
                return
        self._become(before)

    def _search(self, gradient: RowGradient, chosen: Refit) -> Candidate | None:
        """Return the best weak ranker that is none of those chosen, nor equal to one."""
        excluded = list(chosen.coordinates)
        while True:
            found: Candidate | None = self._weak_rankers.search(gradient, self._gain, excluded)
            if found is None or not chosen.columns.is_chosen(self._weak_rankers.values(found)):
                return found
            excluded.append(found.index)

    def _with(self, before: Refit, candidate: Candidate) -> Refit:
        """Return the refitted model with one more weak ranker."""
        h = self._weak_rankers.values(candidate)
        model = before.extended(candidate.index, h, self._bounds(candidate.index))
        columns, c = model.columns, model.coefficients
        step = self._objective(columns).start(columns, c, candidate)
        low, high = model.bounds[-1]
        model.coefficients[-1] = min(max(step, low), high)
        return self._refit(model)

    def _refit(self, model: Refit) -> Refit:
        """Return the model at the minimum over its coefficients, without those that are 0."""
        if not model.coordinates:
            return model
        columns = model.columns
        found = self._objective(columns).minimise(columns, model.coefficients, model.bounds)
        assert found.credit is not None
        credit = model.credit + found.credit
        # What the step to the start of the refit brought, along the last one alone.
        credit[-1] += model.value - found.values[-1] - found.credit.sum()
        model = replace(model, coefficients=found.x, credit=credit, value=found.values[-1])
        used = np.flatnonzero(found.x)
        return model if len(used) == len(found.x) else model.keep(used)

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

    def _objective(self, columns: ChosenColumns) -> CellObjective:
        """Return the objective of some columns, in its fastest form."""
        return self._posed if self._sides is None or not columns.is_dense else self._sides

    def _gradient(self, model: Refit) -> RowGradient:
        """Return the gradient by the scores of the rows."""
        columns = model.columns
        gradient = self._objective(columns).gradient(columns, model.coefficients)
        return columns.to_rows(gradient)

    def _value(self, model: Refit) -> float:
        """Return the objective with the ridge."""
        return self._objective(model.columns).value(model.columns, model.coefficients)
