"""L-BFGS in a space of functions, whose inner product it uses: SciPy's knows only R^n."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import line_search

from sklearn_rank._protocols import Floats, FunctionSpace
from sklearn_rank.solvers._functional_gd import Loss

_MEMORY = 20


@dataclass(frozen=True)
class Found:
    """Where L-BFGS ended.

    Attributes
    ----------
    f : ndarray
        The function: an element of the space.
    converged : bool
        Whether `tol` was reached, or rounding.
    n_iter : int
        Number of iterations.
    """

    f: Floats
    converged: bool
    n_iter: int


def functional_lbfgs(
    space: FunctionSpace,
    loss: Loss,
    start: Floats,
    *,
    alpha: float,
    max_iter: int,
    threshold: float,
    on_iterate: Callable[[Floats], None],
) -> Found:
    """Minimise ``loss(scores(f)) + alpha / 2 * ||f||^2``, a smooth convex function.

    In the coefficients of a kernel the problem is as ill-conditioned as the square of
    the kernel matrix; in the inner product of the function space it is not. An
    iteration costs one product with the kernel matrix: scores are linear in f, so that
    the line search needs none. Ends when the norm of the gradient is at most
    `threshold`, or after `max_iter` iterations.
    """
    f = start.copy()
    scores = space.scores(f)
    gradient = space.representer(loss(scores)[1])
    gradient += alpha * f
    memory: deque[tuple[Floats, Floats, float]] = deque(maxlen=_MEMORY)
    for number in range(max_iter):
        if gradient[0] @ gradient[1] <= threshold**2:
            return Found(f, True, number)
        direction = -_preconditioned(gradient, memory)
        direction_scores = space.scores(direction)
        line = _Line(loss, alpha, f, direction, scores, direction_scores)
        step = line.search(
            1.0 if memory else min(1.0, 1.0 / float(gradient[0] @ gradient[1]) ** 0.5)
        )
        if step is None:
            if not memory:  # even along the gradient nothing is lower: rounding
                return Found(f, True, number)
            memory.clear()
            continue
        move = step * direction
        f = f + move
        scores = scores + step * direction_scores
        previous, gradient = gradient, space.representer(loss(scores)[1])
        gradient += alpha * f
        change = gradient - previous
        curvature = float(move[0] @ change[1])
        if curvature > 0:
            memory.append((move, change, curvature))
        on_iterate(f)
    return Found(f, bool(gradient[0] @ gradient[1] <= threshold**2), max_iter)


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
    """The objective along a direction, from scores alone."""

    def __init__(
        self,
        loss: Loss,
        alpha: float,
        f: Floats,
        direction: Floats,
        scores: Floats,
        direction_scores: Floats,
    ) -> None:
        self._loss = loss
        self._scores, self._along = scores, direction_scores
        # alpha / 2 * ||f + a d||^2 is a parabola in a.
        self._ridge = (
            alpha
            / 2
            * np.array([direction[0] @ direction[1], 2 * (f[0] @ direction[1]), f[0] @ f[1]])
        )
        self._known: dict[float, tuple[float, float]] = {}

    def search(self, first: float) -> float | None:
        """Return a step that satisfies the strong Wolfe conditions, None without one."""
        along = np.array([first])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SciPy's word for None
            share = line_search(self._value, self._slope, np.zeros(1), along, maxiter=30)[0]
        return None if share is None else float(share * first)

    def _value(self, a: Floats) -> float:
        return self._at(float(a[0]))[0]

    def _slope(self, a: Floats) -> Floats:
        return np.array([self._at(float(a[0]))[1]])

    def _at(self, a: float) -> tuple[float, float]:
        if a not in self._known:
            value, gradient = self._loss(self._scores + a * self._along)
            slope = float(gradient @ self._along) + float(np.polyval(np.polyder(self._ridge), a))
            self._known[a] = value + float(np.polyval(self._ridge, a)), slope
        return self._known[a]
