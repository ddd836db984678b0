"""Gradient descent in a function space: over all pairs, or over pairs drawn at random."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sklearn_rank._protocols import (
    Floats,
    FunctionSpace,
    Indices,
    IterateHook,
    Objective,
    RowSpace,
    Solution,
)
from sklearn_rank.rows import ALL_HERE, Sums
from sklearn_rank.solvers._messages import DIVERGED, INDEFINITE, OUT_OF_ITERATIONS, STOPPED

PairDraw = Callable[[], tuple[Indices, Indices]]
"""Draws the upper and the lower rows of some pairs."""

PairLossOf = Callable[[Floats], tuple[Floats, Floats]]
"""Maps margins to losses and their left derivatives."""

ROUNDING = 1e-10
"""Relative to a squared norm at zero, a negative one that rounding can explain."""

_NOISE = 1e-13
"""Squared norm of a gradient, relative to the sizes of its terms, that rounding can explain."""

_WINDOW = 100
"""Stochastic steps whose mean objective is compared with that of the steps before."""


class _Path:
    """The iterates of a descent: their objectives and their average."""

    def __init__(self, start: Floats, on_iterate: IterateHook) -> None:
        self.f = start.copy()
        self.average = np.zeros_like(start)
        self.values: list[float] = []
        self._on_iterate = on_iterate

    def moves_to(self, f: Floats, value: float) -> str:
        """Accept the next iterate; return why the descent ends here, or an empty string."""
        if not (np.isfinite(value) and np.isfinite(f).all()):
            return DIVERGED
        self.f = f
        self.values.append(value)
        self.average += (f - self.average) / len(self.values)
        return STOPPED if self._on_iterate(f, self.values) else ""

    def ends(self, message: str, value: float | None = None) -> Solution:
        """Return the solution; without a step, `value` is the objective."""
        average = self.average if self.values else self.f
        values = self.values or ([] if value is None else [value])
        return Solution(self.f, values, len(values), message, average=average)


def gradient_descent(
    space: FunctionSpace,
    objective: Objective,
    start: Floats,
    *,
    alpha: float,
    step_size: Callable[[int], float],
    max_iter: int,
    tol: float,
    on_iterate: IterateHook,
    rows: Sums = ALL_HERE,
) -> Solution:
    r"""Minimise ``objective(scores(f)) + alpha / 2 * ||f||^2`` by gradient steps.

    .. math:: f_{t+1} = (1 - \eta_t \alpha) f_t - \eta_t \sum_n g_n K_{x_n}

    with g the gradient of the objective by the scores (Chen2012, eq. 1.5). `step_size` maps
    the number of the step, from 0 on, to :math:`\eta`. Ends after `max_iter` steps, when
    the norm of the gradient is at most `tol` times that at zero, or when the next
    function is not finite. `x` and `average` of the solution are elements of the space. Of
    several processes the first decides when it ends.
    """
    path = _Path(start, on_iterate)
    with np.errstate(over="ignore", invalid="ignore"):
        value, slopes = objective.value_and_gradient(space.element_scores(path.f))
        gradient = space.representer(slopes)
        at_zero = square_at_zero(space, objective, path.f, gradient)
        noise = rounding_of_square(space, slopes, rows)
        for number in range(max_iter):
            if number > 0:
                gradient = space.representer(slopes)
            gradient += alpha * path.f
            square = float(gradient[0] @ gradient[1])
            is_indefinite = square < -max(ROUNDING * abs(at_zero), noise)
            is_met = tol > 0 and (square <= tol**2 * at_zero or abs(at_zero) <= noise)
            is_indefinite, is_met = rows.agree((is_indefinite, is_met))
            if is_indefinite or is_met:
                return path.ends(INDEFINITE if is_indefinite else "", value)
            f = path.f - step_size(number) * gradient
            loss, slopes = objective.value_and_gradient(space.element_scores(f))
            message = path.moves_to(f, loss + alpha / 2 * float(f[0] @ f[1]))
            if message:
                return path.ends(message, value)
    return path.ends(OUT_OF_ITERATIONS if tol > 0 else "")


def square_at_zero(
    space: FunctionSpace, objective: Objective, f: Floats, gradient: Floats
) -> float:
    """Return the squared norm of the objective's gradient at zero; `gradient` is that at f."""
    if f.any():
        slopes = objective.value_and_gradient(space.element_scores(0.0 * f))[1]
        gradient = space.representer(slopes)
    return float(gradient[0] @ gradient[1])


def rounding_of_square(space: FunctionSpace, slopes: Floats, rows: Sums = ALL_HERE) -> float:
    """Return which squared norm of a gradient may be rounding, given that by the scores.

    The squared norm is a sum of ``slopes[i] * slopes[j] * K(x_i, x_j)``, which cancels where
    all rows are equal: then every function has the same order, and zero is the minimum.
    """
    largest = rows.largest(np.max(space.square_norms(), initial=0.0))
    return _NOISE * float(largest) * float(rows.total(np.abs(slopes).sum())) ** 2


def stochastic_descent(
    space: RowSpace,
    loss: PairLossOf,
    draw: PairDraw,
    start: Floats,
    *,
    alpha: float,
    step_size: Callable[[int], float],
    max_iter: int,
    tol: float,
    on_iterate: IterateHook,
) -> Solution:
    """Take steps along the mean gradient of a few pairs, which `draw` draws.

    `start` and the solution are coefficients. The objective before a step is estimated
    from its pairs. Ends after `max_iter` steps, or when the mean estimate of a hundred
    steps is lower than that of the hundred before by at most `tol` times its size; not
    with ``tol=0``.
    """
    path = _Path(start, on_iterate)
    square = float(space.element(start)[0] @ space.element(start)[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for number in range(max_iter):
            rows, place = np.unique(np.concatenate(draw()), return_inverse=True)
            upper, lower = place.ravel()[: len(place) // 2], place.ravel()[len(place) // 2 :]
            view = space.at_rows(rows)
            scores = view.scores(path.f)
            losses, slopes = loss(scores[upper] - scores[lower])
            by_upper, by_lower = (np.bincount(side, slopes, len(rows)) for side in (upper, lower))
            gradient: Floats = (by_upper - by_lower) / len(upper)
            value = float(losses.mean()) + alpha / 2 * square
            eta = step_size(number)
            shrink = 1 - eta * alpha
            f = shrink * path.f
            view.add_representer(f, -eta * gradient)
            # The norm of the next function, from what is known at these rows.
            square = shrink**2 * square - 2 * eta * shrink * float(gradient @ scores)
            square += eta**2 * view.square(gradient)
            message = path.moves_to(f, value)
            if message:
                return path.ends(message, value)
            if tol > 0 and _is_level(path.values, tol):
                return path.ends("")
    return path.ends(OUT_OF_ITERATIONS if tol > 0 else "")


def _is_level(values: list[float], tol: float) -> bool:
    """Whether the mean of the last window is hardly lower than that of the one before."""
    if len(values) % _WINDOW or len(values) < 2 * _WINDOW:
        return False
    before = float(np.mean(values[-2 * _WINDOW : -_WINDOW]))
    return before - float(np.mean(values[-_WINDOW:])) <= tol * abs(before)
