"""The minimum of a smooth function plus a penalty, in a ball."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from sklearn_rank._protocols import Floats, Indices
from sklearn_rank.solvers._lbfgs import Objective
from sklearn_rank.solvers._regularisers import Regulariser

_NEWTON_STEPS, _NEWTON_ENOUGH, _NEWTON_ROUNDING = 8, 1e-4, 1e-9
"""Of the polish: largest number of steps, residual relative to the limit, growth allowed."""

_COARSE = 1e3
"""Residual, relative to the limit, at which a trial in a ball first turns to Newton's method."""

_MEMORY, _SLOPE, _SHORTEST, _LONGEST = 10, 1e-4, 1e-10, 100.0
"""Of the projected descent: objectives looked back on, decrease asked for, steps in radii."""

_FAR_OUT = 4.0
"""An iterate so many radii from zero: the minimum is taken to be outside the ball."""


@dataclass(frozen=True)
class RegularisedMinimum:
    """Where the search for a minimum in a ball ended.

    Attributes
    ----------
    x : ndarray
        The coefficients.
    values : list of float
        Function plus penalty after each iteration; when the ball is felt, in the ball at
        the end of each trial of its multiplier.
    n_iter : int
        Number of iterations, of all trials.
    residual : float
        Distance from meeting the conditions of a minimum.
    converged : bool
        Whether that is at most the tolerance.
    """

    x: Floats
    values: list[float]
    n_iter: int
    residual: float
    converged: bool


class _Search:
    """Trials of a multiplier for the ball, each from where the last one ended."""

    def __init__(
        self,
        objective: Objective,
        regulariser: Regulariser,
        start: Floats,
        curvature: Floats,
        max_iter: int,
        tol: float,
        report: Callable[[int, float], None],
        hessian: Callable[[Floats, Indices], Floats],
    ) -> None:
        self.objective, self.regulariser, self.hessian = objective, regulariser, hessian
        self.x, self.curvature = start, curvature
        self.max_iter, self.tol, self._report = max_iter, tol, report
        self.n_iter = 0
        self.iterates: list[float] = []
        self.values: list[float] = []

    def note(self, value: float) -> None:
        """Count an iteration."""
        self.n_iter += 1
        self.iterates.append(value)
        self._report(self.n_iter, value)

    def trial(self, multiplier: float, guard: float = np.inf) -> Floats:
        """Minimise with a multiplier in place of the ball; end beyond `guard`."""
        regulariser = self.regulariser.tightened(multiplier)

        def see(w: Floats, value: float) -> None:
            self.note(value)
            if self.regulariser.norm(w) > guard:
                raise StopIteration

        # In a ball there are many trials from good starts, which suit Newton's method.
        in_ball = np.isfinite(self.regulariser.radius)
        for factor in (_COARSE, 1.0) if in_ball else (1.0,):
            found = regulariser.solve(
                self.objective,
                self.x,
                self.curvature,
                max_iter=self.max_iter - self.n_iter,
                tol=factor * self.tol,
                on_iterate=see,
            )
            self.x = found.x
            if self.n_iter >= self.max_iter or regulariser.norm(self.x) > guard:
                break
            if self._polish(regulariser) <= self.tol:
                break
        return self.x

    def excess(self, multiplier: float) -> float:
        """Return how far outside the ball a trial ends: between -1 and 1, 0 on the boundary."""
        x = self.trial(multiplier)
        self._note_inside(x)
        norm, radius = self.regulariser.norm(x), self.regulariser.radius
        return (norm - radius) / (norm + radius)

    def _note_inside(self, x: Floats) -> None:
        """Note the objective of coefficients, brought into the ball."""
        x = replace(self.regulariser, alpha=0.0).proximal(x, 0.0)
        self.values.append(self.objective(x)[0] + self.regulariser.penalty(x))

    def _polish(self, regulariser: Regulariser) -> float:
        """Improve a minimum by Newton's method, as far as it halves the residual.

        The decrease of the objective that a line search looks for is lost in rounding
        long before the gradient is: this makes the coefficients as exact as the
        gradient, so that neither the order of the rows nor weights spelled out as
        copies show in them. Returns the residual.
        """
        value, gradient = self.objective(self.x)
        value += regulariser.penalty(self.x)
        residual = regulariser.residual(self.x, gradient)
        for _ in range(_NEWTON_STEPS):
            if residual <= _NEWTON_ENOUGH * self.tol:
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
    objective: Objective,
    regulariser: Regulariser,
    start: Floats,
    *,
    curvature: Floats,
    max_iter: int,
    tol: float,
    report: Callable[[int, float], None],
    hessian: Callable[[Floats, Indices], Floats],
) -> RegularisedMinimum:
    r"""Minimise a smooth function plus a penalty in a ball.

    A ball that is felt is replaced by more of the penalty: its multiplier m is the root
    of ``norm(w(m)) = radius``, with w(m) the minimum at strength ``alpha + m``.

    Parameters
    ----------
    objective : callable
        The function: coefficients to value and gradient.
    regulariser : Regulariser
        Penalty and ball.
    start : ndarray of shape (n_features,)
        Where to begin.
    curvature : ndarray of shape (n_features,)
        Rough second derivatives of the function, by which coefficients are scaled; 0 is
        not known.
    max_iter : int
        Largest number of L-BFGS iterations, of all trials together.
    tol : float
        Ends when the residual is at most `tol` times that of zero coefficients.
    report : callable
        Sees the number of each iteration and its value.
    hessian : callable
        Coefficients and indices to the second derivatives of the function with respect
        to the coefficients of these indices.
    """
    gradient = objective(np.zeros_like(start))[1]
    free = replace(regulariser, radius=np.inf)
    limit = tol * free.residual(np.zeros_like(start), gradient)
    # In a ball the multiplier adds an error of its own: the trials leave room for it.
    trial_limit = limit if np.isinf(regulariser.radius) else limit / 2
    search = _Search(
        objective, regulariser, start, curvature, max_iter, trial_limit, report, hessian
    )
    x = search.trial(0.0, guard=_FAR_OUT * regulariser.radius)
    values = search.iterates
    if regulariser.norm(x) > regulariser.radius:
        x = _find_boundary(search, regulariser.largest_multiplier(gradient))
        if regulariser.residual(x, objective(x)[1]) > limit:
            x = _descend(search, x, limit)
        values = search.values
    value, gradient = objective(x)
    residual = regulariser.residual(x, gradient)
    values = values or [value + regulariser.penalty(x)]
    return RegularisedMinimum(x, values, max(search.n_iter, 1), residual, residual <= limit)


def _find_boundary(search: _Search, largest: float) -> Floats:
    """Return the minimum on the boundary of the ball, by the root of its multiplier."""
    regulariser = search.regulariser
    known = {0.0: 1.0}  # the trial that ended outside, perhaps for good

    def excess(multiplier: float) -> float:
        if multiplier not in known:
            known[multiplier] = search.excess(multiplier)
        return known[multiplier]

    search.x = replace(regulariser, alpha=0.0).proximal(search.x, 0.0)
    largest *= 1 + 1e-6
    while excess(largest) > 0 and search.n_iter < search.max_iter:  # not convex
        largest *= 4
    if excess(largest) < 0:
        root = brentq(excess, 0.0, largest, xtol=1e-14 * largest, rtol=1e-10, disp=False)
        search.excess(float(root))
    return replace(regulariser, alpha=0.0).proximal(search.x, 0.0)


def _descend(search: _Search, x: Floats, limit: float) -> Floats:
    """Return a minimum in the ball, by projected gradients with spectral step sizes.

    For functions that are not convex, of which the minimum may jump with the multiplier,
    from inside the ball to outside.
    """
    regulariser = search.regulariser
    value, gradient = search.objective(x)
    recent = [value + regulariser.penalty(x)]
    unit = regulariser.radius / max(float(np.linalg.norm(gradient)), 1e-300)
    rate = unit
    while regulariser.residual(x, gradient) > limit and search.n_iter < search.max_iter:
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
        search.note(reached)
        search.values.append(reached)
    return x
