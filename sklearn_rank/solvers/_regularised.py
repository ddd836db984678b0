"""The minimum of a smooth function plus a penalty, in a ball."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from sklearn_rank._protocols import Floats, Indices, IterateHook, Solution
from sklearn_rank.solvers._lbfgs import Function
from sklearn_rank.solvers._messages import OUT_OF_ITERATIONS, STOPPED
from sklearn_rank.solvers._regularisers import Regulariser, roots

_NEWTON_STEPS, _NEWTON_ENOUGH, _NEWTON_ROUNDING = 8, 1e-4, 1e-9
"""Newton's method: maximum of steps, residual relative to the limit, growth allowed."""

_MEMORY, _SLOPE, _SHORTEST, _LONGEST = 10, 1e-4, 1e-10, 100.0
"""Projected gradients: objectives compared, sufficient decrease, step sizes in radii."""

_PRECISE = 1e-3
"""Residual of projected gradients, relative to the limit: they end far inside it."""

_FIRST_STEPS, _DAMPINGS = 20, 6
"""Projected gradients before Newton's method; how often one of its steps is halved."""

_FAR_OUT = 4.0
"""Radii from zero at which an iterate shows that the constraint is active."""


@dataclass(eq=False)
class _Search:
    """The coefficients so far."""

    objective: Function
    regulariser: Regulariser
    x: Floats
    curvature: Floats
    max_iter: int
    tol: float
    on_iterate: IterateHook
    hessian: Callable[[Floats, Indices], Floats] | None
    n_iter: int = 0
    values: list[float] = field(default_factory=list)
    is_stopped: bool = False

    @property
    def is_over(self) -> bool:
        """Whether no iterations are left, or an observer ended the fit."""
        return self.is_stopped or self.n_iter >= self.max_iter

    def note(self, w: Floats, value: float) -> bool:
        """Count an iteration; return whether `on_iterate` ends the fit."""
        self.n_iter += 1
        self.values.append(value)
        self.is_stopped |= bool(self.on_iterate(w, self.values))
        return self.is_stopped

    def without_ball(self) -> None:
        """Minimise without the ball; end where an iterate is far outside."""
        guard = _FAR_OUT * self.regulariser.radius

        def on_iterate(w: Floats, value: float) -> bool:
            return self.note(w, value) or self.regulariser.norm(w) > guard

        self.x = self.regulariser.solve(
            self.objective,
            self.x,
            self.curvature,
            max_iter=self.max_iter,
            tol=self.tol,
            on_iterate=on_iterate,
        ).x
        if not self.is_over and self.regulariser.norm(self.x) <= self.regulariser.radius:
            self.newton()

    def newton(self) -> float:
        """Take Newton steps while they halve the residual, and return it.

        Rounding hides the decrease of the objective, on which a line search depends, long
        before it hides the gradient. These steps make the coefficients as exact as the
        gradient, so that the order of the rows, or copies in place of weights, change
        them by rounding only.
        """
        regulariser = self.regulariser.lagrangian(0.0)
        value, gradient = self.objective(self.x)
        value += regulariser.penalty(self.x)
        residual = regulariser.residual(self.x, gradient)
        for _ in range(_NEWTON_STEPS):
            if self.hessian is None or residual <= _NEWTON_ENOUGH * self.tol:
                break
            moved = regulariser.newton_step(self.x, gradient, self.hessian)
            if moved is None:
                break
            height, slope = self.objective(moved)
            height += regulariser.penalty(moved)
            reached = regulariser.residual(moved, slope)
            if not reached <= residual / 2 or height > value + _NEWTON_ROUNDING * abs(value):
                break
            self.x, value, gradient, residual = moved, height, slope, reached
        return residual

    def newton_in_ball(self, limit: float) -> None:
        """Take damped Newton steps in the ball, which is convex: a share of a step stays in it."""
        regulariser = self.regulariser
        value, gradient = self.objective(self.x)
        value += regulariser.penalty(self.x)
        while self.hessian is not None and not self.is_over:
            residual = regulariser.residual(self.x, gradient)
            moved = regulariser.newton_step(self.x, gradient, self.hessian)
            if moved is None or residual <= _PRECISE * limit:
                return
            step = moved - self.x
            for _ in range(_DAMPINGS):
                x = self.x + step
                height, slope = self.objective(x)
                height += regulariser.penalty(x)
                is_nearer = regulariser.residual(x, slope) <= residual / 2
                if height < value or (is_nearer and height <= value + 1e-12 * abs(value)):
                    break
                step = step / 2
            else:
                return
            self.x, value, gradient = x, height, slope
            self.note(x, value)


def minimise_regularised(
    objective: Function,
    regulariser: Regulariser,
    start: Floats,
    *,
    curvature: Floats,
    max_iter: int,
    tol: float,
    on_iterate: IterateHook,
    hessian: Callable[[Floats, Indices], Floats] | None = None,
) -> Solution:
    r"""Minimise a smooth function plus a penalty in a ball.

    Without a ball, and where the minimum lies inside it, by L-BFGS. With an active constraint by
    projected gradients, a first-order method, with spectral step sizes, and Newton's method in
    the ball for few coefficients. A residual of zero is the condition of a minimum, and for a
    convex function there is no other.

    Parameters
    ----------
    objective : callable
        The function: coefficients to value and gradient.
    regulariser : Regulariser
        Penalty and ball.
    start : ndarray of shape (n_features,)
        The first iterate.
    curvature : ndarray of shape (n_features,)
        Approximate second derivatives of the function, by which coefficients are scaled; 0
        where unknown.
    max_iter : int
        Maximum of iterations.
    tol : float
        Ends when the residual is at most `tol` times that of zero coefficients.
    on_iterate : IterateHook
        Called after each iteration, with the coefficients and function plus penalty.
    hessian : callable or None
        Maps coefficients and indices to the second derivatives of the function by the
        coefficients of these indices. None: no Newton steps.

    Returns
    -------
    Solution
        `values` are function plus penalty after each iteration, with an active constraint
        of those in the ball.
    """
    zero = np.zeros_like(start)
    free = replace(regulariser, radius=np.inf)
    limit = tol * free.residual(zero, objective(zero)[1])
    search = _Search(objective, regulariser, start, curvature, max_iter, limit, on_iterate, hessian)
    search.without_ball()
    x, n_outside = search.x, 0
    if regulariser.norm(x) > regulariser.radius:
        n_outside = len(search.values)
        x = replace(regulariser, alpha=0.0).proximal(x, 0.0)
        search.x = _projected_gradient(search, x, _PRECISE * limit, _FIRST_STEPS)
        search.newton_in_ball(limit)
        x = _projected_gradient(search, search.x, _PRECISE * limit, max_iter)
    value, gradient = objective(x)
    residual = regulariser.residual(x, gradient)
    values = search.values[n_outside:] or [value + regulariser.penalty(x)]
    message = STOPPED if search.is_stopped else OUT_OF_ITERATIONS
    message = "" if residual <= limit else message
    return Solution(x, values, max(search.n_iter, 1), message, residual)


def _projected_gradient(search: _Search, x: Floats, limit: float, n_steps: int) -> Floats:
    """Return a minimum in the ball, by projected gradients with spectral step sizes.

    In the metric of the curvature, so that the scales of the features matter little.

    The step size is the inverse of the curvature along the last step (Barzilai and Borwein), so
    that the objective may rise in some steps; it never exceeds the largest of the last ten.
    """
    regulariser, metric = search.regulariser, roots(search.curvature) ** 2
    value, gradient = search.objective(x)
    recent = [value + regulariser.penalty(x)]
    unit = regulariser.radius / max(regulariser.norm(gradient / metric), 1e-300)
    rate = unit
    last = search.n_iter + n_steps
    while regulariser.residual(x, gradient) > limit and not search.is_over:
        if search.n_iter >= last:
            break
        moved = regulariser.proximal_in(x - rate * gradient / metric, rate, metric)
        step = moved - x
        square = float(step @ (metric * step))
        value, slope = search.objective(moved)
        reached = value + regulariser.penalty(moved)
        if reached > max(recent[-_MEMORY:]) - _SLOPE / (2 * rate) * square:
            rate /= 4
            if rate < _SHORTEST * unit:
                break
            continue
        bend = float(step @ (slope - gradient)) / max(square, 1e-300)
        x, gradient = moved, slope
        longest = _LONGEST * unit
        rate = min(max(1 / bend, _SHORTEST * unit), longest) if bend > 1 / longest else longest
        recent.append(reached)
        search.note(x, reached)
    return x
