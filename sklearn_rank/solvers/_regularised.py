"""The minimum of a smooth function plus a penalty, in a ball."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices, IterateHook, Mask, Solution
from sklearn_rank.solvers._lbfgs import Function, minimise
from sklearn_rank.solvers.messages import OUT_OF_ITERATIONS, STOPPED
from sklearn_rank.solvers.regularisers import Regulariser, without_zeros

_NEWTON_STEPS, _NEWTON_ENOUGH, _DAMPINGS, _ROUNDING = 8, 1e-4, 6, 1e-9
"""Newton's method: maximum of steps, error relative to the limit, trials of a step, growth."""

_NEWTON_FEATURES = 200
"""Maximum number of coefficients that one step of Newton's method moves."""

_BEFORE_NEWTON = 50
"""Iterations of L-BFGS after which Newton's method is tried."""

_FIRST_ORDER_STEPS = 5
"""Projected gradients before each attempt of Newton's method."""

_MEMORY, _SLOPE, _SHORTEST, _LONGEST = 10, 1e-4, 1e-10, 100.0
"""Projected gradients: objectives compared, sufficient decrease, step sizes in radii."""

_NOISE = 1e-14
"""Relative growth of the objective, and slope beside the root of the curvature, of rounding."""

Hessian = Callable[[Floats, Indices], Floats]
"""Maps coefficients and indices to the second derivatives by the coefficients of these indices."""


def _remembered(function: Function, depends: Mask) -> Function:
    """Return the function, which knows its last values: solvers ask for some of them again.

    Slopes of coefficients on which it does not depend are rounding, and become zero.
    """

    @lru_cache(maxsize=2)
    def evaluate(coefficients: bytes) -> tuple[float, Floats]:
        value, slopes = function(np.frombuffer(coefficients))
        return value, np.where(depends, slopes, 0.0)

    return lambda x: evaluate(x.tobytes())


@dataclass(frozen=True, eq=False)
class _Point:
    """Coefficients, the gradient of the function there, function plus penalty, and the error."""

    x: Floats
    gradient: Floats
    value: float
    error: float


@dataclass(eq=False)
class RegularisedProblem:
    r"""A smooth function plus a penalty, in a ball.

    Parameters
    ----------
    objective : callable
        The function: coefficients to value and gradient.
    regulariser : Regulariser
        Penalty and ball.
    curvature : ndarray of shape (n_features,)
        Approximate second derivatives of the function, by which coefficients are scaled; 0
        for coefficients on which it does not depend.
    max_iter : int
        Maximum of iterations.
    tol : float
        Ends when the length of the subgradient is at most `tol` times that at zero coefficients
        or, in a ball, the duality gap at most ``tol**2`` times that at zero, whichever comes first.
        Where features of very different sizes dominate the subgradient at zero, the first can end
        it on the boundary, too, at a greater gap.
    on_iterate : IterateHook
        Called after each iteration, with the coefficients and function plus penalty.
    hessian : Hessian or None
        Second derivatives of the function. None: no Newton steps.
    """

    objective: Function
    regulariser: Regulariser
    curvature: Floats
    max_iter: int
    tol: float
    on_iterate: IterateHook
    hessian: Hessian | None = None
    values: list[float] = field(default_factory=list)
    is_stopped: bool = False

    def __post_init__(self) -> None:
        self.objective = _remembered(self.objective, self.curvature > 0)
        # In this metric the scales of the features matter little.
        self._metric = without_zeros(self.curvature)
        zero = np.zeros_like(self.curvature)
        # Where zero is the minimum its error is rounding, below which none can be asked for.
        noise = _NOISE * float(np.linalg.norm(np.sqrt(self.curvature)))
        least = max(noise / self.tol, 1e-300) if self.tol > _NOISE else 1e-300
        self._at_zero = np.maximum(self._errors(zero, self.objective(zero)[1]), least)

    def minimise(self, start: Floats) -> Solution:
        """Find the minimum.

        Without kinks and ball by L-BFGS, otherwise by projected gradients, a first-order method,
        with spectral step sizes. Both are helped by Newton's method. `values` of the solution are
        function plus penalty after each iteration.
        """
        regulariser = self.regulariser
        if regulariser.is_smooth and np.isinf(regulariser.radius):
            at = self._point(start)
            for most in (_BEFORE_NEWTON, self.max_iter):
                at = self._newton(self._point(self._lbfgs(at.x, most)))
                if at.error <= self.tol or self._is_over:
                    break
        else:
            at = self._newton(self._point(self._first_order(regulariser.projected(start))))
        missed = STOPPED if self.is_stopped else OUT_OF_ITERATIONS
        message = "" if at.error <= self.tol else missed
        values = [*self.values[:-1], at.value]  # Newton's steps count with the last
        return Solution(at.x, values, max(len(self.values), 1), message, at.error)

    @property
    def _is_over(self) -> bool:
        """Whether no iterations are left, or an observer ended the fit."""
        return self.is_stopped or len(self.values) >= self.max_iter

    def _errors(self, x: Floats, gradient: Floats) -> Floats:
        """Return the length of the subgradient and, with a ball, the root of the duality gap.

        The one falls with the distance from a minimum inside the ball, the other with that from
        one on its boundary.
        """
        errors = [np.linalg.norm(self.regulariser.subgradient(x, gradient))]
        if np.isfinite(self.regulariser.radius):
            errors.append(self.regulariser.gap(x, gradient) ** 0.5)
        return np.array(errors)

    def _point(self, x: Floats) -> _Point:
        """Evaluate some coefficients; the error is relative to that at zero."""
        value, gradient = self.objective(x)
        error = float(np.min(self._errors(x, gradient) / self._at_zero))
        return _Point(x, gradient, value + self.regulariser.penalty(x), error)

    def _note(self, x: Floats, value: float) -> bool:
        """Count an iteration; return whether `on_iterate` ends the fit."""
        self.values.append(value)
        self.is_stopped = bool(self.on_iterate(x, self.values))
        return self.is_stopped

    def _newton(self, at: _Point) -> _Point:
        """Take Newton steps while each helps; of many features those not zero move.

        Rounding hides the decrease of the objective, on which a line search depends, long
        before it hides the gradient. These steps make the coefficients as exact as the
        gradient, so that the order of the rows, or copies in place of weights, change
        them by rounding only.
        """
        for _ in range(_NEWTON_STEPS):
            is_small = len(at.x) <= _NEWTON_FEATURES
            free = np.flatnonzero(self.curvature if is_small else at.x)
            is_possible = self.hessian is not None and 0 < len(free) <= _NEWTON_FEATURES
            if self._is_over or not is_possible or at.error <= _NEWTON_ENOUGH * self.tol:
                break
            assert self.hessian is not None
            target = np.zeros_like(at.x)
            target[free] = self.regulariser.newton(
                at.x[free], at.gradient[free], self.hessian(at.x, free), self._metric[free]
            )
            new = self._damped(at, target)
            if new is None:
                break
            at = new
        return at

    def _damped(self, at: _Point, target: Floats) -> _Point | None:
        """Return the longest share of a step that brings the minimum nearer, None without one."""
        highest = at.value + _ROUNDING * abs(at.value)
        for share in 0.5 ** np.arange(_DAMPINGS):
            moved = share * target + (1 - share) * at.x
            new = self._point(self.regulariser.inside(moved))
            if new.value < at.value or (new.error <= at.error / 2 and new.value <= highest):
                return new
        return None

    def _first_order(self, x: Floats) -> Floats:
        """Take projected gradient steps, and now and then Newton's.

        The step size is the inverse of the curvature along the last step (Barzilai and Borwein),
        so that the objective may rise in some steps; it never exceeds the largest of the last
        ten.
        """
        at, regulariser, metric = self._point(x), self.regulariser, self._metric
        recent = deque([at.value], _MEMORY)
        # The metric is the curvature: a step of 1 is a natural one, however steep the start is.
        size = max(regulariser.norm(at.gradient / metric), 1e-300)
        rate = unit = min(regulariser.radius / size, 1.0)
        shortest, longest = _SHORTEST * unit, _LONGEST
        while at.error > self.tol and rate >= shortest and not self._is_over:
            target = at.x - rate * at.gradient / metric
            new = self._point(regulariser.proximal_in(target, rate, metric))
            step, highest = new.x - at.x, max(recent)
            square = float(step @ (metric * step))
            if new.value > highest - _SLOPE / (2 * rate) * square + _NOISE * abs(highest):
                rate /= 4
                continue
            bend = float(step @ (new.gradient - at.gradient))
            rate = float(np.clip(square / bend, shortest, longest)) if bend > 0 else longest
            is_last = len(self.values) % _FIRST_ORDER_STEPS == _FIRST_ORDER_STEPS - 1
            at = self._newton(new) if is_last else new
            recent.append(at.value)
            self._note(at.x, at.value)
        return at.x

    def _lbfgs(self, start: Floats, most: int) -> Floats:
        """Return the minimum of a smooth function, by at most so many iterations of L-BFGS."""
        regulariser = self.regulariser
        scale = np.sqrt(without_zeros(self.curvature + regulariser.alpha))

        def function(v: Floats) -> tuple[float, Floats]:
            value, gradient = self.objective(v / scale)
            slopes = regulariser.subgradient(v / scale, gradient)
            return value + regulariser.penalty(v / scale), slopes / scale

        found = minimise(
            function,
            start * scale,
            max_iter=min(most, self.max_iter - len(self.values)),
            tol=self.tol * float(self._at_zero[0]),
            on_iterate=lambda v, values: self._note(v / scale, values[-1]),
            residual=lambda _, slopes: float(np.linalg.norm(slopes * scale)),
        )
        return found.x / scale
