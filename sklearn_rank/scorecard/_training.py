"""Training rows by the bins they are in, and the objective of a ranker as a function of totals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.rows import Rows
from sklearn_rank.models import StepFunction


@dataclass(frozen=True, eq=False)
class BinnedTraining:
    """Training rows, of which those with equal bins, class and query are one.

    Attributes
    ----------
    ranker : ranker
        The fitted ranker, whose objective is used.
    data : Rows
        One row for each set of equal ones, with their summed weight. `X` holds the bins, one
        column for each step function.
    """

    ranker: Any
    data: Rows

    @classmethod
    def of(cls, ranker: Any, data: Rows) -> BinnedTraining:
        """Sum up training rows by their bins."""
        steps = ranker.step_functions_
        bins = np.zeros((len(data.y), len(steps)))
        for column, step in enumerate(steps):
            bins[:, column] = step.bins_of_rows(data.X)
        summed = replace(data, X=bins).distinct().with_moderate_weights()
        return cls(ranker, replace(summed, X=summed.X.astype(np.intp)))

    @cached_property
    def steps(self) -> list[StepFunction]:
        """The step functions of the ranker."""
        return list(self.ranker.step_functions_)

    @cached_property
    def weight(self) -> Floats:
        """Weight of the rows, in fit order."""
        return self.data.preferences.weight

    @cached_property
    def is_upper(self) -> Any:
        """Whether each row is of the upper class, in fit order."""
        return self.data.y[self.data.preferences.order]

    @cached_property
    def bins(self) -> Indices:
        """The bins in fit order, shape (n_steps, n_rows)."""
        return np.ascontiguousarray(self.data.X[self.data.preferences.order].T)

    @cached_property
    def weight_by_bin(self) -> list[Floats]:
        """Weight of the rows in each bin of each step function."""
        return [
            np.bincount(bins, self.weight, step.bins.n_bins).astype(np.float64)
            for bins, step in zip(self.bins, self.steps, strict=True)
        ]

    @cached_property
    def centred(self) -> list[Floats]:
        """The values of each step function by bin, with 0 in the bin with most rows."""
        return [
            step.values - step.values[int(np.argmax(weight))]
            for step, weight in zip(self.steps, self.weight_by_bin, strict=True)
        ]

    @cached_property
    def _objective(self) -> Any:
        return self.ranker.objective_of(self.data)

    def totals(self, tables: Sequence[Floats | Indices]) -> Floats:
        """Return the sum over the step functions of the table entry of each row, in fit order."""
        totals = np.zeros(len(self.data.y))
        for bins, table in zip(self.bins, tables, strict=True):
            totals += np.asarray(table)[bins]
        return totals

    def objective(self, totals: Floats, multiplier: float) -> float:
        """Return the objective of the ranker at multiplied totals."""
        return float(self._objective.value(multiplier * totals))

    def best_multiplier(self, totals: Floats, near: float) -> tuple[float, float]:
        """Return the multiplier, from half to twice one, with the least objective; and that."""
        # In logarithms half and twice the multiplier are equally far.
        result = minimize_scalar(
            lambda log: self.objective(totals, float(np.exp(log))),
            bounds=(np.log(near / 2), np.log(near * 2)),
            method="bounded",
            options={"xatol": 1e-3},
        )
        return float(np.exp(result.x)), float(result.fun)
