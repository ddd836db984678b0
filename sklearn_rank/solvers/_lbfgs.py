"""L-BFGS over all coefficients at once (SciPy's), with a trace of its iterations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from sklearn_rank._protocols import Floats

_NO_LOWER_POINT, _FLAT = 2, 1e-6
"""SciPy's status of a line search without result; slope, relative to the first, of a minimum."""

_RUNAWAY = -1e8
"""An objective this low has no minimum: stop before its scores overflow."""

Objective = Callable[[Floats], tuple[float, Floats]]
Watcher = Callable[[Floats, list[float]], None]
Residual = Callable[[Floats, Floats], float]
"""Distance of coefficients, with this gradient, from meeting the conditions of a minimum."""


@dataclass(frozen=True)
class Minimum:
    """Where L-BFGS ended.

    Attributes
    ----------
    x : ndarray
        The coefficients.
    values : list of float
        The objective after each iteration; one value when the start was the minimum.
    credit : ndarray
        Decrease of the objective credited to each coordinate: that of an iteration is
        divided as the path integral of minus the gradient, by the trapezoidal rule.
    converged : bool
        Whether `tol` was reached.
    message : str
        SciPy's reason to stop.
    """

    x: Floats
    values: list[float]
    credit: Floats
    converged: bool
    message: str


class _Trace:
    """Follows the iterations: values, and who gets the credit for their decrease."""

    def __init__(
        self,
        objective: Objective,
        start: Floats,
        watch: Watcher | None,
        is_minimum: Callable[[Floats, Floats], bool] | None,
    ) -> None:
        self._objective = objective
        self._watch = watch
        self._is_minimum = is_minimum
        self._x = start.copy()
        self._value, self._gradient = objective(start)
        self._latest = start, self._gradient
        self.steepest = float(np.max(np.abs(self._gradient)))
        self.values: list[float] = []
        self.credit = np.zeros_like(start)
        self.is_met = is_minimum is not None and is_minimum(start, self._gradient)

    def evaluate(self, x: Floats) -> tuple[float, Floats]:
        """Return value and gradient, and remember them for `note`."""
        value, gradient = self._objective(x)
        self._latest = x.copy(), gradient
        return value, gradient

    def note(self, intermediate_result: OptimizeResult) -> None:
        """Take note of an iteration; SciPy asks for this parameter's name."""
        x, (seen, gradient) = intermediate_result.x.copy(), self._latest
        if not np.array_equal(x, seen):  # the accepted point was not the last one tried
            gradient = self._objective(x)[1]
        value = float(intermediate_result.fun)
        share = -(self._gradient + gradient) / 2 * (x - self._x)
        if share.sum() > 0:
            self.credit += share * ((self._value - value) / share.sum())
        self._x, self._value, self._gradient = x, value, gradient
        self.values.append(value)
        if self._watch is not None:
            self._watch(x, self.values)
        if self._is_minimum is not None:
            self.is_met = self._is_minimum(x, gradient)
        if self.is_met or (self._is_minimum is None and value < _RUNAWAY):
            raise StopIteration


def minimise(
    objective: Objective,
    start: Floats,
    *,
    max_iter: int,
    tol: float,
    on_iterate: Watcher | None = None,
    residual: Residual | None = None,
    bounds: list[tuple[float | None, float | None]] | None = None,
) -> Minimum:
    """Minimise a smooth function from `start`, within bounds if there are any.

    Ends when the relative decrease of an iteration is at most `tol` or, with a
    `residual`, when that is at most `tol`; or after `max_iter` iterations.
    `on_iterate` sees the coefficients and the values so far after each, and may raise
    StopIteration.
    """
    is_minimum = None if residual is None else lambda x, gradient: residual(x, gradient) <= tol
    trace = _Trace(objective, start, on_iterate, is_minimum)
    if trace.is_met or max_iter < 1:  # SciPy would do one
        message = "the start is a minimum" if trace.is_met else "no iterations left"
        return Minimum(start.copy(), [], trace.credit, trace.is_met, message)
    options = {
        "maxiter": max_iter,
        "maxfun": 20 * max_iter,
        "maxcor": 20,
        "ftol": tol if residual is None else 0.0,
        "gtol": tol * 1e-3 if residual is None else 0.0,
    }
    result = minimize(
        trace.evaluate,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        callback=trace.note,
        options=options,
    )
    # A line search that finds nothing lower at a flat point has met rounding, not failed.
    is_flat = bool(np.max(np.abs(result.jac)) <= _FLAT * max(1.0, trace.steepest))
    converged = result.status == 0 or (result.status == _NO_LOWER_POINT and is_flat)
    if residual is not None:
        converged = trace.is_met
    values = trace.values or [float(result.fun)]
    return Minimum(result.x, values, trace.credit, converged, str(result.message))
