"""All coefficients of a bounded family at once, by L-BFGS; p = inf through growing p."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from sklearn_rank._protocols import Floats, LinearFamily
from sklearn_rank.objectives import Push, SidePush
from sklearn_rank.solvers import Minimum, minimise

_FIRST_POWER, _POWER_RATIO = 64.0, 4.0
_POWER_GAP = 1e-4
"""p = inf is reached when no J_p can be further from it than this."""


@dataclass(frozen=True, eq=False)
class RidgedObjective:
    r"""The objective of the coefficients, :math:`J(H\lambda) + \frac\alpha2\|\lambda\|^2`.

    Parameters
    ----------
    objective : Push
        J, a function of the scores.
    family : LinearFamily
        H, the weak rankers on the training rows.
    alpha : float
        The ridge.
    """

    objective: Push
    family: LinearFamily
    alpha: float

    def __call__(self, coefficients: Floats) -> tuple[float, Floats]:
        """Return value and gradient."""
        scores = self.family.scores(coefficients)
        value, masses = self.objective.value_and_masses(scores)
        gradient = self.alpha * coefficients - self.family.edges(masses)
        return value + self.ridge(coefficients), gradient

    def value(self, coefficients: Floats) -> float:
        """Return the value; the objective need not be smooth."""
        scores = self.family.scores(coefficients)
        return self.objective.value(scores) + self.ridge(coefficients)

    def ridge(self, coefficients: Floats) -> float:
        """Return the penalty."""
        return self.alpha / 2 * float(coefficients @ coefficients)


def fit_at_once(
    objective: Push,
    family: LinearFamily,
    start: Floats,
    *,
    alpha: float,
    max_iter: int,
    tol: float,
    report: Callable[[list[float]], None],
) -> Minimum:
    """Minimise the ridged objective over all coefficients of a family.

    `report` sees the values so far after each iteration.
    """
    solve = partial(minimise, max_iter=max_iter, tol=tol)
    if isinstance(objective, SidePush) and np.isinf(objective.p):
        return _approach_infinity(objective, family, start, alpha, solve, report)
    return solve(
        RidgedObjective(objective, family, alpha),
        start,
        on_iterate=lambda _, values: report(values),
    )


def _approach_infinity(
    objective: SidePush,
    family: LinearFamily,
    start: Floats,
    alpha: float,
    solve: Callable[..., Minimum],
    report: Callable[[list[float]], None],
) -> Minimum:
    """Follow the minimisers of J_p to p = inf and keep the iterate with the least J_inf.

    J_inf is a maximum, on which coordinate descent stalls. J_p exceeds it by at most
    the logarithm of the outer weight over p. The first power starts where a fit at
    that power would, so that p = inf is never worse than it.
    """
    target = RidgedObjective(objective, family, alpha)
    best, least = start, target.value(start)
    values: list[float] = []
    credit = np.zeros_like(start)

    def keep_best(coefficients: Floats, _: list[float]) -> None:
        nonlocal best, least
        value = target.value(coefficients)
        if value < least:
            best, least = coefficients, value
        values.append(least)
        report(values)

    p, x = _FIRST_POWER, start
    while True:
        finite = SidePush(objective.preferences, p, objective.side)
        stage = solve(RidgedObjective(finite, family, alpha), x, on_iterate=keep_best)
        x, credit = stage.x, credit + stage.credit
        if np.log(objective.preferences.weight.sum() + 1) / p <= _POWER_GAP:
            values = values or [least]
            return Minimum(best, values, credit, stage.converged, stage.message)
        p *= _POWER_RATIO
