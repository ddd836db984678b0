"""A smooth function plus a penalty on the coefficients, in a ball."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path_gram

from sklearn_rank._protocols import Floats, Indices
from sklearn_rank.solvers._lbfgs import Minimum, Objective, minimise

_FAR_OUT = 4.0
"""An iterate so many radii from zero: the minimum is taken to be outside the ball."""

_NEWTON_STEPS, _NEWTON_FEATURES, _NEWTON_ENOUGH = 4, 200, 1e-4
"""Of the polish: largest number of steps and of coefficients, residual relative to the limit."""

_FLAT = 1e-10
"""Curvature, relative to the largest, of directions in which Newton's method does not move."""

_ON_BOUNDARY = 1e-6
"""Relative distance from the boundary of the ball at which it is felt."""


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
    def gap(self, w: Floats, gradient: Floats) -> Floats:
        """Return the shortest subgradient of function and penalty together at w.

        `gradient` is the function's own.
        """

    @abstractmethod
    def largest_multiplier(self, gradient: Floats) -> float:
        """Return a multiplier that keeps a minimum in the ball; `gradient` is that at 0."""

    @abstractmethod
    def solve(
        self,
        objective: Objective,
        start: Floats,
        scale: Floats,
        *,
        max_iter: int,
        tol: float,
        on_iterate: Callable[[Floats, float], None],
    ) -> Minimum:
        """Minimise function plus penalty, without the ball, by L-BFGS on ``w * scale``."""

    @abstractmethod
    def newton_step(
        self, w: Floats, gradient: Floats, hessian: Callable[[Floats, Indices], Floats]
    ) -> Floats | None:
        """Return where Newton's method goes from w, or None when it can't tell."""

    @abstractmethod
    def pull(self, w: Floats, gradient: Floats) -> float:
        """Return how hard function and penalty pull outwards: the ball's multiplier."""

    def tightened(self, multiplier: float) -> Regulariser:
        """Return the penalty that has the same minimum without the ball."""
        return replace(self, alpha=self.alpha + multiplier, radius=np.inf)

    def residual(self, w: Floats, gradient: Floats) -> float:
        """Return the distance from meeting the conditions of a minimum in the ball."""
        feels_ball = self.norm(w) >= (1 - _ON_BOUNDARY) * self.radius
        multiplier = max(self.pull(w, gradient), 0.0) if feels_ball else 0.0
        return float(np.linalg.norm(self.tightened(multiplier).gap(w, gradient)))


class Ridge(Regulariser):
    r"""The penalty :math:`\frac\alpha2 \|w\|_2^2` and the ball :math:`\|w\|_2 \le W`."""

    def norm(self, w: Floats) -> float:
        """Return the l2 norm."""
        return float(np.linalg.norm(w))

    def penalty(self, w: Floats) -> float:
        """Return half of alpha times the squared norm."""
        return self.alpha / 2 * float(w @ w)

    def proximal(self, z: Floats, step: float) -> Floats:
        """Shrink, then bring back into the ball."""
        w = z / (1 + step * self.alpha)
        norm = self.norm(w)
        return w * (self.radius / norm) if norm > self.radius else w

    def gap(self, w: Floats, gradient: Floats) -> Floats:
        """Return the gradient of the sum."""
        return gradient + self.alpha * w

    def newton_step(
        self, w: Floats, gradient: Floats, hessian: Callable[[Floats, Indices], Floats]
    ) -> Floats | None:
        """Solve for all coefficients."""
        if len(w) > _NEWTON_FEATURES:
            return None
        matrix = hessian(w, np.arange(len(w))) + self.alpha * np.eye(len(w))
        return w - np.linalg.lstsq(matrix, self.gap(w, gradient), rcond=_FLAT)[0]

    def pull(self, w: Floats, gradient: Floats) -> float:
        """Return m with ``gradient + (alpha + m) w`` orthogonal to w."""
        squared = float(w @ w)
        return -float(gradient @ w) / squared - self.alpha if squared else 0.0

    def largest_multiplier(self, gradient: Floats) -> float:
        """Return the length of the gradient over the radius."""
        return self.norm(gradient) / self.radius

    def solve(
        self,
        objective: Objective,
        start: Floats,
        scale: Floats,
        *,
        max_iter: int,
        tol: float,
        on_iterate: Callable[[Floats, float], None],
    ) -> Minimum:
        """Minimise the sum, which is smooth."""

        def scaled(v: Floats) -> tuple[float, Floats]:
            w = v / scale
            value, gradient = objective(w)
            return value + self.penalty(w), self.gap(w, gradient) / scale

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
        """Move every coefficient towards zero, in the ball by as much as it takes."""
        w = _soft(z, step * self.alpha)
        if self.norm(w) <= self.radius:
            return w
        size = np.sort(np.abs(w))[::-1]
        excess = (np.cumsum(size) - self.radius) / np.arange(1, len(size) + 1)
        return _soft(w, float(excess[np.flatnonzero(size > excess)[-1]]))

    def gap(self, w: Floats, gradient: Floats) -> Floats:
        """Return the shortest element of the subdifferential."""
        moving = gradient + self.alpha * np.sign(w)
        return np.where(w != 0, moving, _soft(gradient, self.alpha))

    def newton_step(
        self, w: Floats, gradient: Floats, hessian: Callable[[Floats, Indices], Floats]
    ) -> Floats | None:
        """Minimise the quadratic model plus penalty, exactly, by following its lasso path."""
        if len(w) > _NEWTON_FEATURES:
            return None
        matrix = hessian(w, np.arange(len(w)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of features that depend
            path = lars_path_gram(
                matrix @ w - gradient,
                matrix,
                n_samples=1,
                alpha_min=self.alpha,
                method="lasso",
                return_path=False,
            )
        return np.asarray(path[2])

    def pull(self, w: Floats, gradient: Floats) -> float:
        """Return the mean over the coefficients in use of what alpha lacks."""
        used = w != 0
        if not used.any():
            return 0.0
        return float(np.mean(-np.sign(w[used]) * gradient[used])) - self.alpha

    def largest_multiplier(self, gradient: Floats) -> float:
        """Return what makes zero the minimum."""
        return max(float(np.abs(gradient).max()) - self.alpha, 0.0)

    def solve(
        self,
        objective: Objective,
        start: Floats,
        scale: Floats,
        *,
        max_iter: int,
        tol: float,
        on_iterate: Callable[[Floats, float], None],
    ) -> Minimum:
        """Minimise over positive and negative parts, where the sum is smooth."""
        scales = np.concatenate([scale, scale])

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
            return float(np.linalg.norm(self.gap(joined(parts), gradient)))

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


def _soft(z: Floats, threshold: float) -> Floats:
    """Move every number towards zero by `threshold`."""
    return np.asarray(np.sign(z) * np.maximum(np.abs(z) - threshold, 0.0))


REGULARISERS: dict[str | None, type[Regulariser]] = {"l2": Ridge, "l1": Lasso, None: Ridge}


@dataclass(frozen=True)
class RegularisedMinimum:
    """Where the search for a minimum in a ball ended.

    Attributes
    ----------
    x : ndarray
        The coefficients.
    values : list of float
        Function plus penalty after each iteration; when the ball is felt, at the end of
        each trial of its multiplier.
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
        scale: Floats,
        max_iter: int,
        tol: float,
        report: Callable[[int, float], None],
        hessian: Callable[[Floats, Indices], Floats],
    ) -> None:
        self.objective, self.regulariser, self.hessian = objective, regulariser, hessian
        self.x, self.scale = start, scale
        self.max_iter, self.tol, self._report = max_iter, tol, report
        self.n_iter = 0
        self.values: list[float] = []

    def trial(self, multiplier: float, guard: float = np.inf) -> Floats:
        """Minimise with a multiplier in place of the ball; end beyond `guard`."""
        regulariser = self.regulariser.tightened(multiplier)

        def note(w: Floats, value: float) -> None:
            self.n_iter += 1
            self._report(self.n_iter, value)
            if self.regulariser.norm(w) > guard:
                raise StopIteration

        found = regulariser.solve(
            self.objective,
            self.x,
            self.scale,
            max_iter=self.max_iter - self.n_iter,
            tol=self.tol,
            on_iterate=note,
        )
        self.x = found.x
        if self.n_iter < self.max_iter and regulariser.norm(self.x) <= guard:
            self._polish(regulariser)
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

    def _polish(self, regulariser: Regulariser) -> None:
        """Improve a minimum by Newton's method, as far as it halves the residual.

        The decrease of the objective that a line search looks for is lost in rounding
        long before the gradient is: this makes the coefficients as exact as the
        gradient, so that neither the order of the rows nor weights spelled out as
        copies show in them.
        """
        gradient = self.objective(self.x)[1]
        residual = regulariser.residual(self.x, gradient)
        for _ in range(_NEWTON_STEPS):
            if residual <= _NEWTON_ENOUGH * self.tol:
                break
            moved = regulariser.newton_step(self.x, gradient, self.hessian)
            if moved is None:
                break
            slope = self.objective(moved)[1]
            reached = regulariser.residual(moved, slope)
            if not reached <= residual / 2:
                break
            self.x, gradient, residual = moved, slope, reached


def minimise_regularised(
    objective: Objective,
    regulariser: Regulariser,
    start: Floats,
    *,
    scale: Floats,
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
    scale : ndarray of shape (n_features,)
        L-BFGS works on ``w * scale``: the square root of the curvatures is a good choice.
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
    values: list[float] = []

    def note(number: int, value: float) -> None:
        values.append(value)
        report(number, value)

    # In a ball the multiplier adds an error of its own: the trials leave room for it.
    trial_limit = limit if np.isinf(regulariser.radius) else limit / 2
    search = _Search(objective, regulariser, start, scale, max_iter, trial_limit, note, hessian)
    x = search.trial(0.0, guard=_FAR_OUT * regulariser.radius)
    if regulariser.norm(x) > regulariser.radius:
        x = _find_boundary(search, regulariser.largest_multiplier(gradient))
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
