"""Descent in a function space: gradient steps of fixed sizes, or L-BFGS in its inner product."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import line_search

from sklearn_rank._core.protocols import Floats, FunctionSpace, IterateHook, Objective, Solution
from sklearn_rank._core.sums import Functions, Sums
from sklearn_rank._core.tolerances import INDEFINITE_NORM, NORM_ROUNDING, STALLED_NORM
from sklearn_rank.solvers._solver import DIVERGED, INDEFINITE, NO_STEP, OUT_OF_ITERATIONS, STOPPED

_MEMORY = 20
"""Moves from which L-BFGS estimates curvature, and steps without decrease that end a descent."""

_BISECTIONS, _DECREASE, _FLATTER = 100, 1e-4, 0.9
"""Of a line search: maximum of steps, and SciPy's c1 and c2 of the Wolfe conditions."""


@dataclass(frozen=True, eq=False)
class SpaceFunction:
    r"""The function ``objective(scores(f)) + alpha / 2 * ||f||^2`` of elements of a space.

    Attributes
    ----------
    space : FunctionSpace
        The space.
    objective : Objective
        The objective, of scores.
    alpha : float
        The ridge.
    rows : Sums
        Sums over all rows. With several processes, the first one chooses directions and steps.
    """

    space: FunctionSpace
    objective: Objective
    alpha: float
    rows: Sums

    def value(self, f: Floats) -> float:
        """Return the value at an element; the objective need not be smooth."""
        return self.objective.value(self.space.element_scores(f)) + self.ridge(f)

    def ridge(self, f: Floats) -> float:
        """Return the last term."""
        return self.alpha / 2 * float(f[0] @ f[1])


@dataclass(frozen=True, eq=False)
class Iterate:
    """An element of the space, its scores, and the objective there without the ridge.

    `slopes` is the gradient of the objective with respect to the scores.
    """

    f: Floats
    scores: Floats
    value: float
    slopes: Floats

    @classmethod
    def at(cls, function: SpaceFunction, f: Floats) -> Iterate:
        """Evaluate an element."""
        scores = function.space.element_scores(f)
        return cls(f, scores, *function.objective.value_and_gradient(scores))


Direction = tuple[Floats, bool]
"""A direction, and whether it is more than minus the gradient."""


class GivenSteps:
    """Steps along minus the gradient, of sizes eta_1, eta_2, ... (Chen2012, eq. 1.5)."""

    def __init__(self, sizes: Iterator[float]) -> None:
        self._sizes = sizes

    def direction(self, gradient: Floats) -> None:
        """Return None, since processes have nothing to agree on."""

    def move(
        self, function: SpaceFunction, at: Iterate, gradient: Floats, direction: Direction | None
    ) -> Iterate:
        """Return f_{t+1} = f_t - eta_t gradient."""
        return Iterate.at(function, at.f - next(self._sizes) * gradient)


class QuasiNewtonSteps:
    """L-BFGS in the inner product of the function space; SciPy's has only that of R^n.

    In the coefficients of a kernel the problem is as ill-conditioned as the square of the kernel
    matrix; in the inner product of the function space it is not. A step costs one product with the
    kernel matrix, and a line search none: scores are linear in f.

    Parameters
    ----------
    solve : callable or None
        Maps an element by the inverse of the initial Hessian; None: a multiple of the identity.
    """

    def __init__(self, solve: Callable[[Floats], Floats] | None = None) -> None:
        self._has_guide, self._solve = solve is not None, solve or (lambda element: element)
        self._memory: deque[tuple[Floats, Floats, float]] = deque(maxlen=_MEMORY)
        self._last: tuple[Floats, Floats] | None = None  # the last move, and the gradient before it

    def direction(self, gradient: Floats) -> Direction:
        """Add the last move to the memory, and return the direction."""
        if self._last is not None:
            move, d_gradient = self._last[0], gradient - self._last[1]
            curvature = float(move[0] @ d_gradient[1])
            if curvature > 0 and d_gradient[0] @ d_gradient[1] > 0:  # rounding can make either zero
                self._memory.append((move, d_gradient, curvature))
            self._last = None
        return -self._preconditioned(gradient), bool(self._memory) or self._has_guide

    def move(
        self, function: SpaceFunction, at: Iterate, gradient: Floats, direction: Direction | None
    ) -> Iterate | None:
        """Return the end of a line search; if it fails, of one along minus the gradient."""
        assert direction is not None
        search_direction, is_quasi_newton = direction
        line = _Line(function, at, search_direction)
        # A kernel of large values moves the scores much further than the function.
        step = line.search(1.0 if is_quasi_newton else 1 / max(1.0, line.longest()))
        if step is not None:
            self._last = step * search_direction, gradient
            return line.at(step)
        self._memory.clear()
        restart = function.rows.agree((-gradient, False))
        return self.move(function, at, gradient, restart) if is_quasi_newton else None

    def _preconditioned(self, gradient: Floats) -> Floats:
        """Return the inverse Hessian, estimated from the memory, times the gradient.

        The two loops over the memory are Algorithm 7.4 of Nocedal and Wright (2006).
        """
        element, weights = gradient.copy(), []
        for move, delta, curvature in reversed(self._memory):
            weight = float(move[0] @ element[1]) / curvature
            element -= weight * delta
            weights.append(weight)
        element = self._solve(element)
        if self._memory:
            _, delta, curvature = self._memory[-1]
            element *= curvature / float(delta[0] @ self._solve(delta)[1])
        for (move, delta, curvature), weight in zip(self._memory, reversed(weights), strict=True):
            element += (weight - float(delta[0] @ element[1]) / curvature) * move
        return element


class _Line:
    """The function along a direction from an iterate, from scores alone."""

    def __init__(self, function: SpaceFunction, iterate: Iterate, direction: Floats) -> None:
        self._function, self._start, self._direction = function, iterate, direction
        self._score_change = function.space.element_scores(direction)
        # alpha / 2 * ||f + a d||^2 is a parabola in a.
        f = iterate.f
        self._ridge = (function.alpha / 2) * np.array(
            [direction[0] @ direction[1], 2 * (f[0] @ direction[1]), f[0] @ f[1]]
        )
        # No cache of a method: a circle of references would keep all lines and their scores.
        self._iterates: dict[float, Iterate] = {}

    def longest(self) -> float:
        """Return the largest change in a score for a step of 1."""
        return float(self._function.rows.largest(np.abs(self._score_change).max(initial=0.0)))

    def at(self, step: float) -> Iterate:
        """Return the iterate at a step."""
        if step not in self._iterates:
            scores = self._start.scores + step * self._score_change
            f = self._start.f + step * self._direction
            value_and_slopes = self._function.objective.value_and_gradient(scores)
            self._iterates[step] = Iterate(f, scores, *value_and_slopes)
        return self._iterates[step]

    def search(self, first_step: float) -> float | None:
        """Return a step that satisfies the strong Wolfe conditions; None if none is found.

        The first step that is tried is `first_step`.
        """
        functions = {"evaluate": self._evaluate}
        return self._function.rows.lead(lambda remote: self._search(first_step, remote), functions)

    def _search(self, first_step: float, functions: Functions) -> float | None:
        """Return the step, given a function that maps a step to the objective and its slope."""
        evaluate = cache(functions["evaluate"])

        def on_line(share: float) -> tuple[float, float]:
            step = first_step * share
            value, slope = evaluate(step)
            ridge = np.polyval(self._ridge, step)
            ridge_slope = np.polyval(np.polyder(self._ridge), step)
            return float(value + ridge), float(first_step * (slope + ridge_slope))

        if on_line(0.0)[1] >= 0:  # rounding: no descent
            return None
        curve = (lambda a: on_line(float(a[0]))[0]), (lambda a: np.array([on_line(float(a[0]))[1]]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SciPy warns where it finds no step or no slope
            fraction, *_, slope = line_search(*curve, np.zeros(1), np.ones(1), maxiter=30)
            fraction = _past_a_kink(on_line) if slope is None else fraction
        return None if fraction is None else first_step * float(fraction)

    def _evaluate(self, step: float) -> tuple[float, float]:
        """Return the objective and its slope at a step."""
        iterate = self._start if step == 0 else self.at(step)
        return iterate.value, float(self._function.rows.total(iterate.slopes @ self._score_change))


def _past_a_kink(on_line: Callable[[float], tuple[float, float]]) -> float | None:
    """Bisect to a step with the weak Wolfe conditions; None if rounding errors prevent it.

    Near a narrowly rounded kink SciPy does not find the small slopes that it requires. `on_line`
    returns value and slope at a step.
    """
    (start_value, start_slope), low, high, step = on_line(0.0), 0.0, np.inf, 1.0
    for _ in range(_BISECTIONS):
        value, slope = on_line(step)
        is_too_long = not value <= start_value + _DECREASE * step * start_slope  # so is NaN
        if not is_too_long and slope >= _FLATTER * start_slope:
            return step
        low, high = (low, step) if is_too_long else (step, high)
        step = min((low + high) / 2, 2 * step)
    return None


class Path:
    """The iterates of a descent: their objectives and their average."""

    def __init__(self, start: Floats, on_iterate: IterateHook) -> None:
        self.f = start.copy()
        self.average = np.zeros_like(start)
        self.values: list[float] = []
        self._on_iterate = on_iterate

    def accept(self, f: Floats, value: float) -> str:
        """Accept the next iterate; return why the descent ends, or an empty string."""
        if not (np.isfinite(value) and np.isfinite(f).all()):
            return DIVERGED
        self.f = f
        self.values.append(value)
        self.average += (f - self.average) / len(self.values)
        return STOPPED if self._on_iterate(f, self.values) else ""

    def is_stalled(self) -> bool:
        """Whether the last steps have not lowered the objective."""
        last_values = self.values[-1 - _MEMORY :]
        return len(last_values) > _MEMORY and last_values[-1] >= last_values[0]

    def ends(self, message: str, value: float | None = None) -> Solution:
        """Return the solution; without a step, `value` is the objective."""
        average = self.average if self.values else self.f
        values = self.values or ([] if value is None else [value])
        return Solution(self.f, values, len(values), message, average=average)


def minimise_in_space(
    function: SpaceFunction,
    start: Floats,
    steps: GivenSteps | QuasiNewtonSteps,
    max_iter: int,
    tol: float,
    on_iterate: IterateHook,
    is_relative: bool = True,
) -> Solution:
    r"""Minimise a convex function in a function space.

    `GivenSteps` are those of Chen2012, eq. 1.5,

    .. math:: f_{t+1} = (1 - \eta_t \alpha) f_t - \eta_t \sum_r g_r K_{x_r}

    where r are rows, :math:`\alpha` is its lambda (eq. 1.3 has no half before it) and g the
    gradient of the objective with respect to the scores: its double sum over pairs, with
    :math:`\phi'_- / (m n)`, by row. A start other than 0, weights, the end and the average go
    beyond it.

    Ends after `max_iter` steps, when the norm of the gradient is at most `tol` (if `is_relative`,
    times that at zero), or when the next function is not finite. `x` and `average` of the solution
    are elements of the space. With several processes, the first decides when it ends.
    """
    path, rows, space = Path(start, on_iterate), function.rows, function.space
    with np.errstate(over="ignore", invalid="ignore"):
        # f_1 = `start`, which is 0 in the paper, and the sum of step 1 for t = 1.
        iterate = Iterate.at(function, path.f)
        value, gradient = iterate.value, space.representer(iterate.slopes)
        # The squared norm of the gradient at zero, which is that at the start if f_1 = 0.
        gradient_at_zero = gradient
        if path.f.any():
            gradient_at_zero = space.representer(Iterate.at(function, 0.0 * path.f).slopes)
        scale = float(gradient_at_zero[0] @ gradient_at_zero[1])
        max_square = tol**2 * (max(scale, 0.0) if is_relative else 1.0)
        noise = _rounding_of_square(function, iterate.slopes, gradient)
        for iteration in range(max_iter):
            # 1. The gradient in the space, f_t^lambda of eq. 3.2: alpha f_t + sum_r g_r K_{x_r},
            # where g is `slopes`.
            if iteration > 0:
                gradient = space.representer(iterate.slopes)
            gradient += function.alpha * iterate.f
            # Beyond the paper: its squared norm, by which the descent ends. A kernel that is not
            # positive semi-definite makes it negative.
            square = float(gradient[0] @ gradient[1])
            # Near a narrowly rounded kink the gradient stays large.
            is_stalled = not is_relative and path.is_stalled()
            is_converged = square <= max_square or abs(scale) <= noise or is_stalled
            is_indefinite = square < -max(INDEFINITE_NORM * abs(scale), noise)
            is_converged, is_indefinite, direction = rows.agree(
                (is_converged, is_indefinite, steps.direction(gradient))
            )
            if is_converged or is_indefinite:
                return path.ends(INDEFINITE if is_indefinite else "", value)
            # 2. f_{t+1} of eq. 3.2, which is eq. 1.5: f_t - eta_t f_t^lambda (`GivenSteps.move`);
            # or the end of a line search.
            next_iterate = steps.move(function, iterate, gradient, direction)
            if next_iterate is None:
                is_far = is_relative and square > STALLED_NORM * abs(scale)
                return path.ends(NO_STEP if is_far else "", value)
            iterate = next_iterate
            message = path.accept(iterate.f, iterate.value + function.ridge(iterate.f))
            if message:
                return path.ends(message, value)
    return path.ends(OUT_OF_ITERATIONS if tol > 0 else "")


def _rounding_of_square(function: SpaceFunction, slopes: Floats, gradient: Floats) -> float:
    """Return a bound on the rounding error of the squared norm of a gradient, from its slopes.

    The squared norm is a sum of ``slopes[i] * slopes[j] * K(x_i, x_j)``. It cancels where all rows
    are equal: then all functions order them alike, and zero is the minimum. With a linear kernel
    it is a sum of squares, each with the rounding of its root.
    """
    rows = function.rows
    max_square = rows.largest(np.max(function.space.square_norms(), initial=0.0))
    l1_norm = float(rows.total(np.abs(slopes).sum()))
    rounding = NORM_ROUNDING**2 if np.array_equal(*gradient) else NORM_ROUNDING
    return rounding * float(max_square) * (l1_norm * l1_norm)
