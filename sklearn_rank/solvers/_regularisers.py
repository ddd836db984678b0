"""Penalties on coefficients, and the balls that go with them."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path_gram

from sklearn_rank._protocols import Floats, Indices, Solution
from sklearn_rank.solvers._lbfgs import Function, minimise

_NEWTON_FEATURES = 200
"""Maximum number of coefficients for Newton's method."""

_FLAT = 1e-10
"""Curvature, relative to the largest, of directions in which Newton's method does not move."""

_MODERATE = 50
"""Binary exponent of a feature's size up to which it is taken as it is."""

_ON_BOUNDARY = 1e-6
"""Relative distance from the boundary of the ball within which the constraint is active."""


@dataclass(frozen=True)
class Regulariser(ABC):
    r"""A penalty :math:`\Omega(w)` with strength `alpha` and a ball of the same norm.

    Attributes
    ----------
    alpha : float
        Strength, not negative.
    radius : float
        Largest norm of the coefficients; inf for no ball.
    """

    alpha: float
    radius: float = np.inf

    @abstractmethod
    def norm(self, w: Floats) -> float:
        """Return the norm that the ball bounds."""

    @abstractmethod
    def penalty(self, w: Floats) -> float:
        r"""Return :math:`\Omega(w)`."""

    @abstractmethod
    def proximal(self, z: Floats, step: float) -> Floats:
        r"""Return the minimiser of ``||w - z||^2 / 2 + step * penalty(w)`` in the ball."""

    @abstractmethod
    def shrunk(self, z: Floats, strength: Floats) -> Floats:
        """Return the minimiser of ``(w - z)**2 / 2 + strength * penalty(w) / alpha``."""

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

    @abstractmethod
    def subgradient(self, w: Floats, gradient: Floats) -> Floats:
        """Return the subgradient of least norm of function plus penalty at w.

        `gradient` is the function's own.
        """

    @abstractmethod
    def solve(
        self,
        objective: Function,
        start: Floats,
        curvature: Floats,
        *,
        max_iter: int,
        tol: float,
        on_iterate: Callable[[Floats, float], bool],
    ) -> Solution:
        """Minimise function plus penalty, without the ball, by L-BFGS.

        `curvature` is the function's, for each coefficient: coefficients are scaled by
        its square root.
        """

    @abstractmethod
    def newton_step(
        self, w: Floats, gradient: Floats, hessian: Callable[[Floats, Indices], Floats]
    ) -> Floats | None:
        """Return the minimum of the quadratic model in the ball, None for too many coefficients."""

    @abstractmethod
    def multiplier(self, w: Floats, gradient: Floats) -> float:
        """Return the Lagrange multiplier of the ball at a point on its boundary."""

    def lagrangian(self, multiplier: float) -> Regulariser:
        """Return the Lagrangian: the penalty with `multiplier` added to alpha, without the ball."""
        return replace(self, alpha=self.alpha + multiplier, radius=np.inf)

    def residual(self, w: Floats, gradient: Floats) -> float:
        """Return the distance from meeting the conditions of a minimum in the ball."""
        is_active = self.norm(w) >= (1 - _ON_BOUNDARY) * self.radius
        multiplier = max(self.multiplier(w, gradient), 0.0) if is_active else 0.0
        return float(np.linalg.norm(self.lagrangian(multiplier).subgradient(w, gradient)))


class Ridge(Regulariser):
    r"""The penalty :math:`\frac\alpha2 \|w\|_2^2` and the ball :math:`\|w\|_2 \le W`."""

    def norm(self, w: Floats) -> float:
        """Return the l2 norm."""
        return float(np.linalg.norm(w))

    def penalty(self, w: Floats) -> float:
        """Return half of alpha times the squared norm."""
        return self.alpha / 2 * float(w @ w)

    def proximal(self, z: Floats, step: float) -> Floats:
        """Shrink, then project onto the ball."""
        w = z / (1 + step * self.alpha)
        norm = self.norm(w)
        return w * (self.radius / norm) if norm > self.radius else w

    def shrunk(self, z: Floats, strength: Floats) -> Floats:
        """Divide."""
        return z / (1 + strength)

    def subgradient(self, w: Floats, gradient: Floats) -> Floats:
        """Return the gradient of the sum."""
        return gradient + self.alpha * w

    def newton_step(
        self, w: Floats, gradient: Floats, hessian: Callable[[Floats, Indices], Floats]
    ) -> Floats | None:
        """Solve for all coefficients."""
        if len(w) > _NEWTON_FEATURES:
            return None
        matrix = hessian(w, np.arange(len(w))) + self.alpha * np.eye(len(w))
        slope = self.subgradient(w, gradient)
        moved: Floats = w - np.linalg.lstsq(matrix, slope, rcond=_FLAT)[0]
        if self.norm(moved) <= self.radius:
            return moved
        bend, vectors = np.linalg.eigh(matrix)
        bend, target = np.maximum(bend, 0.0), vectors.T @ (matrix @ w - slope)

        def excess(multiplier: float) -> float:
            return self.norm(target / (bend + multiplier)) - self.radius

        highest = self.norm(target) / self.radius
        root = brentq(excess, 1e-14 * highest, highest, xtol=1e-300, rtol=1e-14, disp=False)
        return np.asarray(vectors @ (target / (bend + float(root))))

    def multiplier(self, w: Floats, gradient: Floats) -> float:
        """Return m with ``gradient + (alpha + m) w`` orthogonal to w."""
        squared = float(w @ w)
        return -float(gradient @ w) / squared - self.alpha if squared else 0.0

    def solve(
        self,
        objective: Function,
        start: Floats,
        curvature: Floats,
        *,
        max_iter: int,
        tol: float,
        on_iterate: Callable[[Floats, float], bool],
    ) -> Solution:
        """Minimise the sum, which is smooth."""
        scale = roots(curvature + self.alpha)

        def scaled(v: Floats) -> tuple[float, Floats]:
            w = v / scale
            value, gradient = objective(w)
            return value + self.penalty(w), self.subgradient(w, gradient) / scale

        found = minimise(
            scaled,
            start * scale,
            max_iter=max_iter,
            tol=tol,
            on_iterate=lambda v, values: on_iterate(v / scale, values[-1]),
            residual=lambda _, gradient: float(np.linalg.norm(gradient * scale)),
        )
        return replace(found, x=found.x / scale)


class Lasso(Regulariser):
    r"""The penalty :math:`\alpha \|w\|_1` and the ball :math:`\|w\|_1 \le W`."""

    def norm(self, w: Floats) -> float:
        """Return the l1 norm."""
        return float(np.abs(w).sum())

    def penalty(self, w: Floats) -> float:
        """Return alpha times the norm."""
        return self.alpha * self.norm(w)

    def proximal(self, z: Floats, step: float) -> Floats:
        """Soft-threshold, then project onto the ball."""
        w = _soft(z, step * self.alpha)
        if self.norm(w) <= self.radius:
            return w
        size = np.sort(np.abs(w))[::-1]
        excess = (np.cumsum(size) - self.radius) / np.arange(1, len(size) + 1)
        return _soft(w, float(excess[np.flatnonzero(size > excess)[-1]]))

    def shrunk(self, z: Floats, strength: Floats) -> Floats:
        """Soft-threshold."""
        return _soft(z, strength)

    def subgradient(self, w: Floats, gradient: Floats) -> Floats:
        """Return the subgradient of least norm."""
        moving = gradient + self.alpha * np.sign(w)
        return np.where(w != 0, moving, _soft(gradient, self.alpha))

    def newton_step(
        self, w: Floats, gradient: Floats, hessian: Callable[[Floats, Indices], Floats]
    ) -> Floats | None:
        """Minimise the quadratic model plus penalty exactly, along its lasso path."""
        if len(w) > _NEWTON_FEATURES:
            return None
        matrix = hessian(w, np.arange(len(w)))
        scale = _far_root(matrix)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of linearly dependent features
            path = lars_path_gram(
                (matrix @ w - gradient) / scale,
                matrix / scale / scale,
                n_samples=1,
                alpha_min=self.alpha / scale,
                method="lasso",
            )
        knots = np.asarray(path[2]) / scale
        norms = np.abs(knots).sum(axis=0)
        if norms[-1] <= self.radius:
            return np.asarray(knots[:, -1])
        last = int(np.argmax(norms > self.radius))  # the path is linear between its knots
        share = (self.radius - norms[last - 1]) / (norms[last] - norms[last - 1])
        return np.asarray((1 - share) * knots[:, last - 1] + share * knots[:, last])

    def multiplier(self, w: Floats, gradient: Floats) -> float:
        """Return the mean, over non-zero coefficients, of the slope that alpha does not balance."""
        used = w != 0
        if not used.any():
            return 0.0
        return float(np.mean(-np.sign(w[used]) * gradient[used])) - self.alpha

    def solve(
        self,
        objective: Function,
        start: Floats,
        curvature: Floats,
        *,
        max_iter: int,
        tol: float,
        on_iterate: Callable[[Floats, float], bool],
    ) -> Solution:
        """Minimise over positive and negative parts, of which the sum is a smooth function."""
        scales = np.tile(roots(curvature), 2)

        def joined(parts: Floats) -> Floats:
            positive, negative = np.split(parts / scales, 2)
            return np.asarray(positive - negative)

        def split(parts: Floats) -> tuple[float, Floats]:
            value, gradient = objective(joined(parts))
            slopes = np.concatenate([gradient, -gradient]) + self.alpha
            return value + self.alpha * float((parts / scales).sum()), slopes / scales

        def residual(parts: Floats, slopes: Floats) -> float:
            upward, downward = np.split(slopes * scales, 2)
            gradient = (upward - downward) / 2
            return float(np.linalg.norm(self.subgradient(joined(parts), gradient)))

        found = minimise(
            split,
            np.concatenate([np.maximum(start, 0), np.maximum(-start, 0)]) * scales,
            max_iter=max_iter,
            tol=tol,
            on_iterate=lambda parts, values: on_iterate(joined(parts), values[-1]),
            residual=residual,
            bounds=[(0.0, None)] * len(scales),
        )
        return replace(found, x=joined(found.x))


def roots(curvature: Floats) -> Floats:
    """Return the square roots; the largest replaces zeros."""
    return np.sqrt(np.where(curvature > 0, curvature, curvature.max() or 1.0))


def _far_root(matrix: Floats) -> float:
    """Return the root of the largest diagonal element, as a power of two; 1 where it is moderate.

    Divided by it, numbers far from 1 meet the absolute tolerances of least-angle regression.
    """
    exponent = int(np.frexp(np.diagonal(matrix).max())[1]) // 2
    return 2.0**exponent if abs(exponent) > _MODERATE else 1.0


def _soft(z: Floats, threshold: float | Floats) -> Floats:
    """Soft-threshold: move every number towards zero by `threshold`."""
    return np.asarray(np.sign(z) * np.maximum(np.abs(z) - threshold, 0.0))


REGULARISERS: dict[str | None, type[Regulariser]] = {"l2": Ridge, "l1": Lasso, None: Ridge}
