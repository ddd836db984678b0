"""L-BFGS over all coefficients at once (SciPy's), with a trace of its iterations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from sklearn_rank._protocols import Floats

Objective = Callable[[Floats], tuple[float, Floats]]


@dataclass(frozen=True)
class Minimum:
    """Where L-BFGS ended.

    Attributes
    ----------
    x : ndarray
        The coefficients.
    values : list of float
        The objective after each iteration.
    credit : ndarray
        Decrease of the objective along each coordinate: the path integral of minus the
        gradient, by the trapezoidal rule over iterations.
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
    on_iterate: Callable[[Floats], None] | None = None,
) -> Minimum:
    """Minimise a smooth function from `start`.

    Ends when the relative decrease of an iteration is at most `tol`, or after
    `max_iter` iterations. `on_iterate` sees the coefficients after each.
    """
    values: list[float] = []
    credit = np.zeros_like(start)
    x, gradient = start.copy(), objective(start)[1]
    latest: dict[bytes, Floats] = {}

    def evaluate(point: Floats) -> tuple[float, Floats]:
        value, slope = objective(point)
        latest.clear()
        latest[point.tobytes()] = slope
        return value, slope

    def note(intermediate_result: OptimizeResult) -> None:
        nonlocal x, gradient
        new = intermediate_result.x.copy()
        slope = latest.get(new.tobytes())
        if slope is None:  # the accepted point was not the last one tried
            slope = objective(new)[1]
        credit[:] -= (gradient + slope) / 2 * (new - x)
        x, gradient = new, slope
        values.append(float(intermediate_result.fun))
        if on_iterate is not None:
            on_iterate(new)

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
    return Minimum(result.x, values, credit, result.status == 0, str(result.message))
