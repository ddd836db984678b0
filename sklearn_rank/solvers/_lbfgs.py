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


@dataclass(frozen=True)
class Minimum:
    """Where L-BFGS ended.

    Attributes
    ----------
    x : ndarray
        The coefficients.
    values : list of float
        The objective after each iteration, at least one value.
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


def minimise(
    objective: Objective,
    start: Floats,
    *,
    max_iter: int,
    tol: float,
    on_iterate: Callable[[Floats, list[float]], None] | None = None,
) -> Minimum:
    """Minimise a smooth function from `start`.

    Ends when the relative decrease of an iteration is at most `tol`, or after
    `max_iter` iterations. `on_iterate` sees the coefficients and the values so far after each.
    """
    values: list[float] = []
    credit = np.zeros_like(start)
    x = start.copy()
    value, gradient = objective(start)
    steepest = float(np.max(np.abs(gradient)))
    latest: dict[bytes, Floats] = {}

    def evaluate(point: Floats) -> tuple[float, Floats]:
        found, slope = objective(point)
        latest.clear()
        latest[point.tobytes()] = slope
        return found, slope

    def note(intermediate_result: OptimizeResult) -> None:
        nonlocal x, gradient, value
        new = intermediate_result.x.copy()
        slope = latest.get(new.tobytes())
        if slope is None:  # the accepted point was not the last one tried
            slope = objective(new)[1]
        share = -(gradient + slope) / 2 * (new - x)
        values.append(float(intermediate_result.fun))
        if share.sum() > 0:
            credit[:] += share * ((value - values[-1]) / share.sum())
        x, gradient, value = new, slope, values[-1]
        if on_iterate is not None:
            on_iterate(new, values)
        if values[-1] < _RUNAWAY:
            raise StopIteration

    result = minimize(
        evaluate,
        start,
        jac=True,
        method="L-BFGS-B",
        callback=note,
        options={
            "maxiter": max_iter,
            "maxfun": 20 * max_iter,
            "ftol": tol,
            "gtol": tol * 1e-3,
            "maxcor": 20,
        },
    )
    if not values:  # the start was the minimum
        values.append(float(result.fun))
    # A line search that finds nothing lower at a flat point has met rounding, not failed.
    is_flat = np.max(np.abs(result.jac)) <= _FLAT * max(1.0, steepest)
    converged = result.status == 0 or (result.status == _NO_LOWER_POINT and bool(is_flat))
    return Minimum(result.x, values, credit, converged, str(result.message))
