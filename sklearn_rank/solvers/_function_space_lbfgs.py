"""L-BFGS with the inner product of a function space: SciPy's has only that of R^n."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import line_search

from sklearn_rank._protocols import Floats, FunctionSpace, IterateHook, Objective, Solution
from sklearn_rank.rows import ALL_HERE, Sums
from sklearn_rank.solvers._function_space_descent import (
    ROUNDING,
    rounding_of_square,
    square_at_zero,
)
from sklearn_rank.solvers._messages import INDEFINITE, OUT_OF_ITERATIONS, STOPPED

_MEMORY = 20


def function_space_lbfgs(
    space: FunctionSpace,
    objective: Objective,
    start: Floats,
    *,
    alpha: float,
    max_iter: int,
    threshold: float,
    relative: bool,
    on_iterate: IterateHook,
    rows: Sums = ALL_HERE,
) -> Solution:
    """Minimise ``objective(scores(f)) + alpha / 2 * ||f||^2``, a smooth convex function.

    In the coefficients of a kernel the problem is as ill-conditioned as the square of
    the kernel matrix; in the inner product of the function space it is not. An
    iteration costs one product with the kernel matrix: scores are linear in f, so that
    the line search needs none. Ends when the norm of the gradient is at most
    `threshold`, if `relative` times what it is at zero, or after `max_iter` iterations.
    The solution's `x` is an element of the space. Of several processes the first chooses
    directions and steps, and decides when it ends.
    """
    f = start.copy()
    scores = space.element_scores(f)
    value, slopes = objective.value_and_gradient(scores)
    gradient = space.representer(slopes)
    rounding = rounding_of_square(space, slopes, rows)
    is_rounding = not f.any() and abs(float(gradient[0] @ gradient[1])) <= rounding
    if rows.agree(is_rounding):
        return Solution(f, [], 0)
    if relative:
        threshold *= max(square_at_zero(space, objective, f, gradient), 0.0) ** 0.5
    gradient += alpha * f
    at_start = float(gradient[0] @ gradient[1])
    values: list[float] = []
    memory: deque[tuple[Floats, Floats, float]] = deque(maxlen=_MEMORY)
    for number in range(max_iter):
        square = float(gradient[0] @ gradient[1])
        is_rounding = square >= -ROUNDING * abs(at_start)
        direction = -_preconditioned(gradient, memory)
        known = square <= threshold**2, is_rounding, direction, bool(memory)
        is_met, is_rounding, direction, has_memory = rows.agree(known)
        if is_met:
            return Solution(f, values, number, "" if is_rounding else INDEFINITE)
        direction_scores = space.element_scores(direction)
        elements, of_rows = (f, direction), (scores, direction_scores)
        line = _Line(objective, alpha, elements, of_rows, (value, slopes), rows)
        step = line.search(1.0 if memory else min(1.0, square**-0.5))
        if step is None:
            if not has_memory:  # even along the gradient nothing is lower: rounding
                return Solution(f, values, number)
            memory.clear()
            continue
        move = step * direction
        f = f + move
        scores = scores + step * direction_scores
        value, slopes = line.objective_at(step)
        previous, gradient = gradient, space.representer(slopes)
        gradient += alpha * f
        change = gradient - previous
        curvature = float(move[0] @ change[1])
        if curvature > 0 and change[0] @ change[1] > 0:  # rounding can make either zero
            memory.append((move, change, curvature))
        values.append(value + alpha / 2 * float(f[0] @ f[1]))
        if on_iterate(f, values):
            return Solution(f, values, number + 1, STOPPED)
    return Solution(f, values, max_iter, OUT_OF_ITERATIONS)


def _preconditioned(gradient: Floats, memory: deque[tuple[Floats, Floats, float]]) -> Floats:
    """Return the inverse Hessian, as far as the last moves tell, times the gradient."""
    out = gradient.copy()
    shares = []
    for move, change, curvature in reversed(memory):
        share = float(move[0] @ out[1]) / curvature
        out -= share * change
        shares.append(share)
    if memory:
        _, change, curvature = memory[-1]
        out *= curvature / float(change[0] @ change[1])
    for (move, change, curvature), share in zip(memory, reversed(shares), strict=True):
        out += (share - float(change[0] @ out[1]) / curvature) * move
    return out


class _Line:
    """The objective along a direction, from scores alone.

    Parameters
    ----------
    objective : Objective
        The objective without the ridge.
    alpha : float
        The ridge.
    elements, scores : pair
        Start and direction of the line: elements of the space, and their scores.
    start : tuple
        The objective, and its gradient, at the start.
    rows : Sums
        Sums over all rows; of several processes the first searches.
    """

    def __init__(
        self,
        objective: Objective,
        alpha: float,
        elements: tuple[Floats, Floats],
        scores: tuple[Floats, Floats],
        start: tuple[float, Floats],
        rows: Sums,
    ) -> None:
        self._objective, self._rows = objective, rows
        self._scores, self._along = scores
        f, direction = elements
        # alpha / 2 * ||f + a d||^2 is a parabola in a.
        self._ridge = (alpha / 2) * np.array(
            [direction[0] @ direction[1], 2 * (f[0] @ direction[1]), f[0] @ f[1]]
        )
        self._known = {0.0: start}

    def search(self, first: float) -> float | None:
        """Return a step that satisfies the strong Wolfe conditions, None without one."""

        def search(functions: Mapping[str, Callable[..., Any]]) -> float | None:
            return self._search(first, cache(functions["evaluate"]))

        return self._rows.lead(search, {"evaluate": self._evaluate})

    def _search(self, first: float, evaluate: Callable[[float], Any]) -> float | None:
        """Return the step, given the objective and its slope at any step."""

        def value(a: Floats) -> float:
            step = first * float(a[0])
            return float(evaluate(step)[0]) + float(np.polyval(self._ridge, step))

        def slope(a: Floats) -> Floats:
            step = first * float(a[0])
            ridge = float(np.polyval(np.polyder(self._ridge), step))
            return np.array([first * (evaluate(step)[1] + ridge)])

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SciPy warns where it returns None
            share = line_search(value, slope, np.zeros(1), np.ones(1), maxiter=30)[0]
        return None if share is None else first * float(share)

    def objective_at(self, a: float) -> tuple[float, Floats]:
        """Return the objective, and its gradient by the scores, at a step."""
        if a not in self._known:
            self._known[a] = self._objective.value_and_gradient(self._scores + a * self._along)
        return self._known[a]

    def _evaluate(self, a: float) -> tuple[float, float]:
        """Return the objective and its slope at a step."""
        value, slopes = self.objective_at(a)
        return value, float(self._rows.total(slopes @ self._along))
