"""Penalties on coefficients, balls, and the minimum of a smooth function with these."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path_gram

from sklearn_rank._core import tolerances
from sklearn_rank._core.protocols import Floats, Indices, IterateHook, Mask, Solution
from sklearn_rank.solvers._lbfgs import ValueAndGradient, minimise
from sklearn_rank.solvers._solver import OUT_OF_ITERATIONS, STOPPED

_NEWTON_STEPS, _DAMPINGS, _NEWTON_ENOUGH, _GROWTH = 8, 6, 1e-4, 1e-9
"""Newton's method: maximum of steps and of halvings of a step, error relative to the tolerance at
which it ends, and relative growth of the value that a step with half the error may bring."""

_NEWTON_FEATURES = 200
"""Maximum number of coefficients that a Newton step moves: its cost grows with their cube."""

_BEFORE_NEWTON = 50
"""Iterations of L-BFGS after which Newton's method is tried."""

_FIRST_ORDER_STEPS = 5
"""Steps along projected gradients before each attempt of Newton's method."""

_MEMORY, _SLOPE, _SHORTEST, _LONGEST = 10, 1e-4, 1e-10, 100.0
"""Projected gradients: values that the next may not exceed, sufficient decrease (as c1 of Wolfe's
conditions), shortest step in units of the first, and longest step."""

Hessian = Callable[[Floats, Indices], Floats]
"""Maps coefficients and indices to second derivatives with respect to those coefficients."""


@dataclass(frozen=True)
class Regulariser(ABC):
    r"""A penalty :math:`\Omega(w)` with strength `alpha` and a ball of the same norm.

    Attributes
    ----------
    alpha : float
        Strength, not negative.
    radius : float
        Largest norm of the coefficients; inf for no ball.
    is_smooth : bool
        Whether the penalty has a gradient everywhere.
    """

    alpha: float
    radius: float = np.inf

    is_smooth: ClassVar[bool] = True

    @abstractmethod
    def norm(self, w: Floats) -> float:
        """Return the norm that the ball bounds."""

    @abstractmethod
    def penalty(self, w: Floats) -> float:
        r"""Return :math:`\Omega(w)`."""

    @abstractmethod
    def shrunk(self, z: Floats, strength: Floats | float) -> Floats:
        """Return the minimiser of ``(w - z)**2 / 2 + strength * penalty(w) / alpha``."""

    def projected(self, w: Floats) -> Floats:
        """Return the nearest coefficients in the ball."""
        return self.inside(w)

    def proximal(self, z: Floats, step: float) -> Floats:
        r"""Return the minimiser of ``||w - z||^2 / 2 + step * penalty(w)`` in the ball."""
        return self.projected(self.shrunk(z, step * self.alpha))

    def proximal_in(self, z: Floats, step: float, metric: Floats) -> Floats:
        """Return `proximal`, with the squared distance weighted by a metric.

        The multiplier of the ball is the root of a decreasing function of one number.
        """
        w = self.shrunk(z, step * self.alpha / metric)
        if self.norm(w) <= self.radius:
            return w
        highest = metric.max() * max(self.norm(z) / self.radius, float(np.abs(z).max()))

        def excess(multiplier: float) -> float:
            strength = (step * self.alpha + multiplier) / metric
            return self.norm(self.shrunk(z, strength)) - self.radius

        root = brentq(excess, 0.0, highest, xtol=1e-300, rtol=1e-14, disp=False)
        w = self.shrunk(z, (step * self.alpha + float(root)) / metric)
        return w * (self.radius / self.norm(w))

    def inside(self, w: Floats) -> Floats:
        """Return w, made shorter where it is outside the ball."""
        norm = self.norm(w)
        return w * (self.radius / norm) if norm > self.radius else w

    @abstractmethod
    def subgradient(self, w: Floats, gradient: Floats) -> Floats:
        """Return the subgradient of least norm of function plus penalty at w.

        `gradient` is that of the function alone.
        """

    @abstractmethod
    def highest(self, gradient: Floats) -> float:
        r"""Return the maximum of :math:`-g^\top v - \Omega(v)` over v in the ball."""

    def gap(self, w: Floats, gradient: Floats) -> float:
        r"""Return the duality gap of w in the ball, given the gradient g of the function there.

        .. math:: g^\top w + \Omega(w) + \max_{\|v\| \le W} \bigl(-g^\top v - \Omega(v)\bigr)

        By the first-order condition of convexity, function plus penalty are at most this much
        above their minimum in the ball. Zero means that w is stationary, convex or not.
        """
        value_at_w, highest = float(gradient @ w) + self.penalty(w), self.highest(gradient)
        gap = value_at_w + highest
        return gap if gap > tolerances.GAP_ROUNDING * (abs(value_at_w) + highest) else 0.0

    @abstractmethod
    def newton(self, w: Floats, gradient: Floats, matrix: Floats, metric: Floats) -> Floats:
        """Return the end of a Newton step from w.

        `gradient` and `matrix` are first and second derivatives of the function at w; `metric`
        scales the coefficients.
        """


class Ridge(Regulariser):
    r"""The penalty :math:`\frac\alpha2 \|w\|_2^2` and the ball :math:`\|w\|_2 \le W`."""

    def norm(self, w: Floats) -> float:
        """Return the l2 norm."""
        return float(np.linalg.norm(w))

    def penalty(self, w: Floats) -> float:
        """Return half of alpha times the squared norm."""
        return self.alpha / 2 * float(w @ w)

    def shrunk(self, z: Floats, strength: Floats | float) -> Floats:
        """Divide."""
        return z / (1 + strength)

    def subgradient(self, w: Floats, gradient: Floats) -> Floats:
        """Return the gradient of the sum."""
        return gradient + self.alpha * w

    def highest(self, gradient: Floats) -> float:
        """Return the maximum, which lies along minus the gradient."""
        slope = self.norm(gradient)
        length = min(self.radius, slope / self.alpha) if self.alpha else self.radius
        return length * slope - self.alpha / 2 * length**2

    def newton(self, w: Floats, gradient: Floats, matrix: Floats, metric: Floats) -> Floats:
        """Solve the equations of a minimum; those on the boundary have its multiplier, too."""
        scale, strength, square = np.sqrt(metric), self.alpha, float(w @ w)
        if square and self.norm(w) >= (1 - tolerances.ACTIVE_BALL) * self.radius:
            strength = max(self.alpha, -float(gradient @ w) / square)
        matrix = (matrix + strength * np.eye(len(w))) / np.outer(scale, scale)
        slope = (gradient + strength * w) / scale
        if strength > self.alpha:  # the constraint is active: the step stays tangential
            border = (w / scale)[:, None]
            border *= np.sqrt(np.trace(matrix) / len(w)) / np.linalg.norm(border)
            matrix = np.block([[matrix, border], [border.T, np.zeros((1, 1))]])
            slope = np.append(slope, 0.0)
        step = np.linalg.lstsq(matrix, slope, rcond=tolerances.FLAT_CURVATURE)[0][: len(w)]
        return w - step / scale


class Lasso(Regulariser):
    r"""The penalty :math:`\alpha \|w\|_1` and the ball :math:`\|w\|_1 \le W`."""

    is_smooth = False

    def norm(self, w: Floats) -> float:
        """Return the l1 norm."""
        return float(np.abs(w).sum())

    def penalty(self, w: Floats) -> float:
        """Return alpha times the norm."""
        return self.alpha * self.norm(w)

    def projected(self, w: Floats) -> Floats:
        """Soft-threshold by the excess over the radius, found from the sorted sizes."""
        if self.norm(w) <= self.radius:
            return w
        size = np.sort(np.abs(w))[::-1]
        excess = (np.cumsum(size) - self.radius) / np.arange(1, len(size) + 1)
        return self.shrunk(w, float(excess[np.flatnonzero(size > excess)[-1]]))

    def shrunk(self, z: Floats, strength: Floats | float) -> Floats:
        """Soft-threshold: move every number towards zero."""
        return np.asarray(np.sign(z) * np.maximum(np.abs(z) - strength, 0.0))

    def subgradient(self, w: Floats, gradient: Floats) -> Floats:
        """Return the subgradient of least norm."""
        slope = gradient + self.alpha * np.sign(w)
        return np.where(w != 0, slope, self.shrunk(gradient, self.alpha))

    def highest(self, gradient: Floats) -> float:
        """Return the maximum, which lies at zero or a corner of the ball."""
        return self.radius * max(float(np.abs(gradient).max(initial=0.0)) - self.alpha, 0.0)

    def newton(self, w: Floats, gradient: Floats, matrix: Floats, metric: Floats) -> Floats:
        """Return the minimum in the ball of quadratic model plus penalty, by its lasso path."""
        # Least-angle regression has absolute tolerances, which suit numbers near 1.
        scale = float(np.sqrt(np.abs(matrix).max())) or 1.0
        xy, gram = (matrix @ w - gradient) / scale, matrix / scale / scale
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of linearly dependent features
            lars_path = lars_path_gram(
                xy, gram, n_samples=1, alpha_min=self.alpha / scale, method="lasso"
            )
        knots = np.asarray(lars_path[2]) / scale  # between them the path is linear
        size = np.abs(knots)
        # Rounding leaves a number near zero where a coefficient leaves the path.
        knots[size <= tolerances.LASSO_ROUNDING * size.max(axis=1, keepdims=True)] = 0.0
        return np.array([np.interp(self.radius, size.sum(axis=0), knot) for knot in knots])


REGULARISERS: dict[str | None, type[Regulariser]] = {"l2": Ridge, "l1": Lasso, None: Ridge}


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
        Where features of very different scales dominate the subgradient at zero, the first
        condition can hold on the boundary, too, at a larger gap.
    objective : callable
        The function: coefficients to value and gradient.
    on_iterate : IterateHook
        Called after each iteration, with the coefficients and function plus penalty.
    hessian : Hessian or None
        Second derivatives of the function. None: no Newton steps.
    """

    regulariser: Regulariser
    curvature: Floats
    max_iter: int
    tol: float
    objective: ValueAndGradient
    on_iterate: IterateHook
    hessian: Hessian | None = None
    values: list[float] = field(default_factory=list)
    is_stopped: bool = False

    def __post_init__(self) -> None:
        """Compute the metric, and the errors at zero coefficients."""
        self.objective = _cached(self.objective, self.curvature > 0)
        # In this metric the scales of the features matter little.
        self._metric = without_zeros(self.curvature)
        zero = np.zeros_like(self.curvature)
        # Where zero is the minimum its error is rounding: no smaller one can be required.
        rounding = tolerances.VALUE_ROUNDING * float(np.linalg.norm(np.sqrt(self.curvature)))
        least = max(rounding / self.tol, 1e-300) if self.tol > tolerances.VALUE_ROUNDING else 1e-300
        self._zero_errors = np.maximum(self._errors(zero, self.objective(zero)[1]), least)

    def minimise(self, start: Floats) -> Solution:
        """Find the minimum.

        A smooth problem without a ball takes L-BFGS, others projected gradients with spectral step
        sizes; Newton's method polishes both. `values` of the solution are function plus penalty
        after each iteration.
        """
        regulariser = self.regulariser
        if regulariser.is_smooth and np.isinf(regulariser.radius):
            point = self._point(start)
            # Newton's method is tried early: near the minimum it saves most iterations.
            for max_iter in (_BEFORE_NEWTON, self.max_iter):
                point = self._newton(self._point(self._lbfgs(point.x, max_iter)))
                if point.error <= self.tol or self._is_over:
                    break
        else:
            point = self._newton(self._point(self._first_order(regulariser.projected(start))))
        early_end = STOPPED if self.is_stopped else OUT_OF_ITERATIONS
        message = "" if point.error <= self.tol else early_end
        values = [*self.values[:-1], point.value]  # Newton's steps count with the last
        return Solution(point.x, values, max(len(self.values), 1), message, point.error)

    @property
    def _is_over(self) -> bool:
        """Whether no iterations are left, or an observer ended the fit."""
        return self.is_stopped or len(self.values) >= self.max_iter

    def _errors(self, x: Floats, gradient: Floats) -> Floats:
        """Return the length of the subgradient and, with a ball, the root of the duality gap.

        The length falls with the distance from a minimum inside the ball, the root of the gap with
        that from a minimum on its boundary.
        """
        errors = [np.linalg.norm(self.regulariser.subgradient(x, gradient))]
        if np.isfinite(self.regulariser.radius):
            errors.append(self.regulariser.gap(x, gradient) ** 0.5)
        return np.array(errors)

    def _point(self, x: Floats) -> _Point:
        """Evaluate some coefficients; the error is relative to that at zero."""
        value, gradient = self.objective(x)
        error = float(np.min(self._errors(x, gradient) / self._zero_errors))
        return _Point(x, gradient, value + self.regulariser.penalty(x), error)

    def _note(self, x: Floats, value: float) -> bool:
        """Count an iteration; return whether `on_iterate` ends the fit."""
        self.values.append(value)
        self.is_stopped = bool(self.on_iterate(x, self.values))
        return self.is_stopped

    def _newton(self, point: _Point) -> _Point:
        """Take Newton steps while each helps; of many coefficients only nonzero ones move.

        Rounding hides the decrease of the objective, on which a line search depends, long before
        it hides the gradient. These steps make the coefficients as exact as the gradient: another
        order of the rows, or copies instead of weights, changes them by rounding only.
        """
        for _ in range(_NEWTON_STEPS):
            free = np.flatnonzero(self.curvature if len(point.x) <= _NEWTON_FEATURES else point.x)
            is_possible = self.hessian is not None and 0 < len(free) <= _NEWTON_FEATURES
            if self._is_over or not is_possible or point.error <= _NEWTON_ENOUGH * self.tol:
                break
            assert self.hessian is not None
            target = np.zeros_like(point.x)
            target[free] = self.regulariser.newton(
                point.x[free], point.gradient[free], self.hessian(point.x, free), self._metric[free]
            )
            next_point = self._damped(point, target)
            if next_point is None:
                break
            point = next_point
        return point

    def _damped(self, point: _Point, target: Floats) -> _Point | None:
        """Return the longest of the halved steps that lowers value or error; None without one."""
        # Near the minimum rounding may hide a decrease; then the error must be halved.
        highest = point.value + _GROWTH * abs(point.value)
        for fraction in 0.5 ** np.arange(_DAMPINGS):
            trial = fraction * target + (1 - fraction) * point.x
            end = self._point(self.regulariser.inside(trial))
            if end.value < point.value or (end.error <= point.error / 2 and end.value <= highest):
                return end
        return None

    def _first_order(self, x: Floats) -> Floats:
        """Take projected gradient steps, and Newton's after every five.

        The step size is the inverse of the curvature along the last step (Barzilai and Borwein).
        The objective may rise in a step, but never above the largest of the last ten values.
        """
        point, regulariser, metric = self._point(x), self.regulariser, self._metric
        recent_values = deque([point.value], _MEMORY)
        # The metric is the curvature: a step of 1 is a natural one, however steep the start is.
        gradient_norm = max(regulariser.norm(point.gradient / metric), 1e-300)
        rate = first_rate = min(regulariser.radius / gradient_norm, 1.0)
        shortest, longest = _SHORTEST * first_rate, _LONGEST
        while point.error > self.tol and rate >= shortest and not self._is_over:
            # 1. A step along minus the gradient, shrunk by the penalty and projected.
            target = point.x - rate * point.gradient / metric
            new_point = self._point(regulariser.proximal_in(target, rate, metric))
            # 2. Accept it if it is below the largest of the last values by a sufficient decrease.
            step, highest = new_point.x - point.x, max(recent_values)
            squared_step = float(step @ (metric * step))
            rounding = tolerances.VALUE_ROUNDING * abs(highest)
            if new_point.value > highest - _SLOPE / (2 * rate) * squared_step + rounding:
                rate /= 4
                continue
            # 3. The next step size: the inverse of the curvature along this step, in the metric.
            bend = float(step @ (new_point.gradient - point.gradient))
            rate = float(np.clip(squared_step / bend, shortest, longest)) if bend > 0 else longest
            is_last = len(self.values) % _FIRST_ORDER_STEPS == _FIRST_ORDER_STEPS - 1
            point = self._newton(new_point) if is_last else new_point
            recent_values.append(point.value)
            self._note(point.x, point.value)
        return point.x

    def _lbfgs(self, start: Floats, max_iter: int) -> Floats:
        """Return the minimum of a smooth function by L-BFGS."""
        regulariser = self.regulariser
        scale = np.sqrt(without_zeros(self.curvature + regulariser.alpha))

        def function(v: Floats) -> tuple[float, Floats]:
            value, gradient = self.objective(v / scale)
            slopes = regulariser.subgradient(v / scale, gradient)
            return value + regulariser.penalty(v / scale), slopes / scale

        solution = minimise(
            function,
            start * scale,
            min(max_iter, self.max_iter - len(self.values)),
            self.tol * float(self._zero_errors[0]),
            lambda v, values: self._note(v / scale, values[-1]),
            residual=lambda _, slopes: float(np.linalg.norm(slopes * scale)),
        )
        return solution.x / scale


def without_zeros(curvature: Floats) -> Floats:
    """Return the curvature, with zeros replaced by the largest value."""
    return np.where(curvature > 0, curvature, curvature.max() or 1.0)


def _cached(function: ValueAndGradient, has_slope: Mask) -> ValueAndGradient:
    """Return the function with a cache of its last two values: solvers ask for some of them again.

    Slopes of coefficients on which it does not depend are rounding, and become zero.
    """

    @lru_cache(maxsize=2)
    def evaluate(coefficients: bytes) -> tuple[float, Floats]:
        value, slopes = function(np.frombuffer(coefficients))
        return value, np.where(has_slope, slopes, 0.0)

    return lambda x: evaluate(x.tobytes())
