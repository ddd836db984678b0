"""A non-smooth objective, minimised along smooth ones that approach it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from sklearn_rank._protocols import Floats, Solution
from sklearn_rank.solvers._lbfgs import Function, minimise
from sklearn_rank.solvers._messages import STOPPED


def minimise_along(
    path: Iterable[Function],
    target: Callable[[Floats], float],
    start: Floats,
    *,
    max_iter: int,
    tol: float,
    on_iterate: Callable[[Floats, list[float]], bool],
) -> Solution:
    """Minimise smooth functions one after the other; keep the best iterate of the target.

    Each is minimised from the last iterate of the one before, in at most `max_iter`
    iterations, so that the solution is never worse than that of the first. `values` are
    the lowest values of the target so far, which `on_iterate` is given after each
    iteration.
    """
    best, least = start, target(start)
    values: list[float] = []

    def keep_best(coefficients: Floats, _: list[float]) -> bool:
        nonlocal best, least
        value = target(coefficients)
        if value < least:
            best, least = coefficients, value
        values.append(least)
        return on_iterate(coefficients, values)

    x, credit, message = start, np.zeros_like(start), ""
    for function in path:
        stage = minimise(function, x, max_iter=max_iter, tol=tol, on_iterate=keep_best)
        assert stage.credit is not None
        x, credit, message = stage.x, credit + stage.credit, stage.message
        if message == STOPPED:
            break
    return Solution(best, values or [least], len(values), message, credit=credit)
