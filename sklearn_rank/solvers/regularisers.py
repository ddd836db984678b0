"""Penalties on coefficients, and the balls that go with them."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path_gram

from sklearn_rank._core.protocols import Floats

_FLAT = 1e-10
"""Curvature, relative to the largest, of directions in which Newton's method does not move."""

_ON_BOUNDARY = 1e-9
"""Relative distance from the boundary of the ball within which the constraint is active."""

_LEFT_OVER = 1e-14
"""Size of a coefficient, relative to its largest on the lasso path, that rounding explains."""

_ROUNDING = 1e-15
"""Gap, relative to the sizes of its terms, that rounding explains."""


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

    @abstractmethod
    def projected(self, w: Floats) -> Floats:
        """Return the nearest coefficients in the ball."""

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

        `gradient` is the function's own.
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
        slope, highest = float(gradient @ w) + self.penalty(w), self.highest(gradient)
        gap = slope + highest
        return gap if gap > _ROUNDING * (abs(slope) + highest) else 0.0

    @abstractmethod
    def newton(self, w: Floats, gradient: Floats, matrix: Floats, metric: Floats) -> Floats:
        """Return where Newton's method goes from w.

        `gradient` and `matrix` are first and second derivatives of the function at w, which
        `metric` scales.
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

    def projected(self, w: Floats) -> Floats:
        """Shorten."""
        return self.inside(w)

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
        if square and self.norm(w) >= (1 - _ON_BOUNDARY) * self.radius:
            strength = max(self.alpha, -float(gradient @ w) / square)
        matrix = (matrix + strength * np.eye(len(w))) / np.outer(scale, scale)
        slope = (gradient + strength * w) / scale
        if strength > self.alpha:  # the constraint is active: the step stays tangential
            border = (w / scale)[:, None]
            border *= np.sqrt(np.trace(matrix) / len(w)) / np.linalg.norm(border)
            matrix = np.block([[matrix, border], [border.T, np.zeros((1, 1))]])
            slope = np.append(slope, 0.0)
        step = np.linalg.lstsq(matrix, slope, rcond=_FLAT)[0][: len(w)]
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
        """Soft-threshold by what is too much."""
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
        moving = gradient + self.alpha * np.sign(w)
        return np.where(w != 0, moving, self.shrunk(gradient, self.alpha))

    def highest(self, gradient: Floats) -> float:
        """Return the maximum, which lies at zero or a corner of the ball."""
        return self.radius * max(float(np.abs(gradient).max(initial=0.0)) - self.alpha, 0.0)

    def newton(self, w: Floats, gradient: Floats, matrix: Floats, metric: Floats) -> Floats:
        """Return the minimum in the ball of quadratic model plus penalty, by its lasso path."""
        # Least-angle regression has absolute tolerances, which suit numbers near 1.
        scale = float(np.sqrt(np.abs(matrix).max())) or 1.0
        pull, gram = (matrix @ w - gradient) / scale, matrix / scale / scale
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of linearly dependent features
            path = lars_path_gram(
                pull, gram, n_samples=1, alpha_min=self.alpha / scale, method="lasso"
            )
        knots = np.asarray(path[2]) / scale  # between them the path is linear
        size = np.abs(knots)
        # Rounding leaves a number near zero where a coefficient leaves the path.
        knots[size <= _LEFT_OVER * size.max(axis=1, keepdims=True)] = 0.0
        return np.array([np.interp(self.radius, size.sum(axis=0), knot) for knot in knots])


def without_zeros(curvature: Floats) -> Floats:
    """Return the curvature, with its largest in place of zeros."""
    return np.where(curvature > 0, curvature, curvature.max() or 1.0)


REGULARISERS: dict[str | None, type[Regulariser]] = {"l2": Ridge, "l1": Lasso, None: Ridge}
