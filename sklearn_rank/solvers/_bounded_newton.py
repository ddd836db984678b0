"""Newton's method within bounds, for few coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from sklearn_rank._core.protocols import Floats, Solution
from sklearn_rank.solvers._lbfgs import credit_of

_JITTER = 1e-12
"""Added to the diagonal, relative to its largest entry: columns may depend on each other."""

_SUFFICIENT, _HALVINGS = 1e-4, 40
"""Share of the predicted decrease that a step must bring; how often it is halved at most."""


class TwiceDifferentiable(Protocol):
    """A convex function of few coefficients with exact second derivatives."""

    def value(self, c: Floats) -> tuple[float, Any]:
        """Return the value, and what `derivatives` needs."""

    def derivatives(self, c: Floats, found: Any) -> tuple[Floats, Floats]:
        """Return gradient and second derivatives."""


def bounded_newton(
    function: TwiceDifferentiable,
    start: Floats,
    bounds: Sequence[tuple[float, float]],
    *,
    max_iter: int,
    tol: float,
) -> Solution:
    """Minimise a convex function within bounds by projected Newton steps.

    Coefficients at a bound that the gradient presses against stay there in a step; a step is
    halved until the decrease is a share of the predicted one. Ends when the predicted decrease
    is at most ``tol * max(|value|, 1)``.
    """
    low, high = np.array(bounds).reshape(-1, 2).T
    x = np.clip(start, low, high)
    value, shares = function.value(x)
    gradient, hessian = function.derivatives(x, shares)
    values, credit, message = [value], np.zeros_like(x), "no iterations left"
    for _ in range(max_iter):
        step = _newton_step(x, gradient, hessian, low, high)
        slope = float(gradient @ step)
        if -slope <= tol * max(abs(value), 1.0):
            message = ""
            break
        for _ in range(_HALVINGS):
            new = np.clip(x + step, low, high)
            new_value, shares = function.value(new)
            if new_value <= value + _SUFFICIENT * float(gradient @ (new - x)):
                break
            step /= 2
        else:
            message = ""  # nothing lower: rounding
            break
        new_gradient, hessian = function.derivatives(new, shares)
        credit += credit_of(gradient, new_gradient, new - x, value - new_value)
        x, value, gradient = new, new_value, new_gradient
        values.append(value)
    return Solution(x, values, len(values) - 1, message, credit=credit)


def _newton_step(x: Floats, gradient: Floats, hessian: Floats, low: Floats, high: Floats) -> Floats:
    """Return Newton's step of the coefficients that are free to move."""
    is_free = ~(((x <= low) & (gradient > 0)) | ((x >= high) & (gradient < 0)))
    free, step = np.flatnonzero(is_free), np.zeros_like(x)
    if len(free):
        matrix = hessian[np.ix_(free, free)]
        matrix[np.diag_indices_from(matrix)] += _JITTER * max(float(np.trace(matrix)), 1e-300)
        step[free] = np.linalg.solve(matrix, -gradient[free])
    return step
