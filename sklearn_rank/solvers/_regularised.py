"""The minimum of a smooth function plus a penalty, in a ball."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.optimize import brentq

from sklearn_rank._protocols import Floats, Indices, IterateHook, Solution
from sklearn_rank.solvers._lbfgs import Function
from sklearn_rank.solvers._messages import OUT_OF_ITERATIONS, STOPPED
from sklearn_rank.solvers._regularisers import Regulariser

_NEWTON_STEPS, _NEWTON_ENOUGH, _NEWTON_ROUNDING = 8, 1e-4, 1e-9
"""Newton's method: maximum of steps, residual relative to the limit, growth allowed."""

_COARSE = 1e3
"""Residual, relative to the limit, at which a fit in a ball first turns to Newton's method."""

_MEMORY, _SLOPE, _SHORTEST, _LONGEST = 10, 1e-4, 1e-10, 100.0
"""Projected gradients: objectives compared, sufficient decrease, step sizes in radii."""

_FAR_OUT = 4.0
"""Radii from zero at which an iterate shows that the constraint is active."""


class _Search:
    """Minima for trial values of the Lagrange multiplier, each found from the one before."""

    def __init__(
        self,
        objective: Function,
        regulariser: Regulariser,
        start: Floats,
        curvature: Floats,
        max_iter: int,
        tol: float,
        on_iterate: IterateHook,
        hessian: Callable[[Floats, Indices], Floats] | None,
    ) -> None:
        self.objective, self.regulariser, self.hessian = objective, regulariser, hessian
        self.x, self.curvature = start, curvature
        self.max_iter, self.tol, self._on_iterate = max_iter, tol, on_iterate
        self.n_iter = 0
        self.iterates: list[float] = []
        self.values: list[float] = []
        self.is_stopped = False

    @property
    def is_over(self) -> bool:
        """Whether no iterations are left, or an observer ended the fit."""
        return self.is_stopped or self.n_iter >= self.max_iter

    def note(self, w: Floats, value: float) -> bool:
        """Count an iteration; return whether `on_iterate` ends the fit."""
        self.n_iter += 1
        self.iterates.append(value)
        self.is_stopped |= bool(self._on_iterate(w, self.iterates))
        return self.is_stopped

    def trial(self, multiplier: float, guard: float = np.inf) -> Floats:
        """Minimise the Lagrangian; end where the norm exceeds `guard`."""
        regulariser = self.regulariser.lagrangian(multiplier)

        def on_iterate(w: Floats, value: float) -> bool:
            return self.note(w, value) or self.regulariser.norm(w) > guard

        # In a ball there are many minima to find from good starts, which suits Newton's method.
        in_ball = np.isfinite(self.regulariser.radius)
        for factor in (_COARSE, 1.0) if in_ball else (1.0,):
            found = regulariser.solve(
                self.objective,
                self.x,
                self.curvature,
                max_iter=self.max_iter - self.n_iter,
                tol=factor * self.tol,
                on_iterate=on_iterate,
            )
            self.x = found.x
            if self.is_over or regulariser.norm(self.x) > guard:
                break
            if self._newton(regulariser) <= self.tol:
                break
        return self.x

    def excess(self, multiplier: float) -> float:
        """Return (norm - radius) / (norm + radius) of the minimum: 0 on the boundary."""
        x = self.trial(multiplier)
        self._note_inside(x)
        norm, radius = self.regulariser.norm(x), self.regulariser.radius
        return (norm - radius) / (norm + radius)

    def _note_inside(self, x: Floats) -> None:
        """Record the objective of coefficients projected onto the ball."""
        x = replace(self.regulariser, alpha=0.0).proximal(x, 0.0)
        self.values.append(self.objective(x)[0] + self.regulariser.penalty(x))

    def _newton(self, regulariser: Regulariser) -> float:
        """Take Newton steps while they halve the residual, and return it.

        Rounding hides the decrease of the objective, on which a line search depends, long
        before it hides the gradient. These steps make the coefficients as exact as the
        gradient, so that the order of the rows, or copies in place of weights, change
        them by rounding only.
        """
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

    An active norm constraint is replaced by its Lagrangian term: the multiplier m is the
    root of ``norm(w(m)) = radius``, with w(m) the minimum at strength ``alpha + m``.

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
        Maximum of L-BFGS iterations, over all values of the multiplier.
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
        `values` are function plus penalty after each iteration or, with an active
        constraint, on the ball after each value of the multiplier.
    """
    gradient = objective(np.zeros_like(start))[1]
    free = replace(regulariser, radius=np.inf)
    limit = tol * free.residual(np.zeros_like(start), gradient)
    # The multiplier adds an error of its own, for which the minima leave room.
    trial_limit = limit if np.isinf(regulariser.radius) else limit / 2
    search = _Search(
        objective, regulariser, start, curvature, max_iter, trial_limit, on_iterate, hessian
    )
    x = search.trial(0.0, guard=_FAR_OUT * regulariser.radius)
    values = search.iterates
    if regulariser.norm(x) > regulariser.radius:
        x = _find_boundary(search, regulariser.largest_multiplier(gradient))
        if regulariser.residual(x, objective(x)[1]) > limit:
            x = _projected_gradient(search, x, limit)
        values = search.values
    value, gradient = objective(x)
    residual = regulariser.residual(x, gradient)
    values = values or [value + regulariser.penalty(x)]
    message = STOPPED if search.is_stopped else OUT_OF_ITERATIONS
    message = "" if residual <= limit else message
    return Solution(x, values, max(search.n_iter, 1), message, residual)


def _find_boundary(search: _Search, largest: float) -> Floats:
    """Return the minimum on the boundary of the ball, by the root of its excess."""
    regulariser = search.regulariser
    known = {0.0: 1.0}  # the unconstrained minimum is outside

    def excess(multiplier: float) -> float:
        if multiplier not in known:
            known[multiplier] = search.excess(multiplier)
        return known[multiplier]

    search.x = replace(regulariser, alpha=0.0).proximal(search.x, 0.0)
    largest *= 1 + 1e-6
    while excess(largest) > 0 and not search.is_over:  # not convex
        largest *= 4
    if excess(largest) < 0:
        root = brentq(excess, 0.0, largest, xtol=1e-14 * largest, rtol=1e-10, disp=False)
        search.excess(float(root))
    return replace(regulariser, alpha=0.0).proximal(search.x, 0.0)


def _projected_gradient(search: _Search, x: Floats, limit: float) -> Floats:
    """Return a minimum in the ball, by projected gradients with spectral step sizes.

    For functions that are not convex: their minimum can be a discontinuous function of the
    multiplier, inside the ball for one value and outside for the next.
    """
    regulariser = search.regulariser
    value, gradient = search.objective(x)
    recent = [value + regulariser.penalty(x)]
    unit = regulariser.radius / max(float(np.linalg.norm(gradient)), 1e-300)
    rate = unit
    while regulariser.residual(x, gradient) > limit and not search.is_over:
        moved = regulariser.proximal(x - rate * gradient, rate)
        step = moved - x
        value, slope = search.objective(moved)
        reached = value + regulariser.penalty(moved)
        if reached > max(recent[-_MEMORY:]) - _SLOPE / (2 * rate) * float(step @ step):
            rate /= 4
            if rate < _SHORTEST * unit:
                break
            continue
        bend = float(step @ (slope - gradient)) / max(float(step @ step), 1e-300)
        x, gradient = moved, slope
        longest = _LONGEST * unit
        rate = min(max(1 / bend, _SHORTEST * unit), longest) if bend > 1 / longest else longest
        recent.append(reached)
        search.note(x, reached)
        search.values.append(reached)
    return x
