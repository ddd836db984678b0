"""Gradient descent in a space of functions: all pairs a step, or a few drawn at random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sklearn_rank._protocols import Floats, FunctionSpace, Indices, RowSpace

Loss = Callable[[Floats], tuple[float, Floats]]
"""Maps scores to a value and its gradient."""

PairDraw = Callable[[], tuple[Indices, Indices]]
"""Draws the upper and the lower rows of some pairs."""

PairLossOf = Callable[[Floats], tuple[Floats, Floats]]
"""Maps margins to losses and their left derivatives."""

OUT_OF_ITERATIONS = "max_iter came before tol"
DIVERGED = "the steps diverge"
INDEFINITE = "the kernel is not positive semi-definite"

ROUNDING = 1e-10
"""Share of what it was at zero by which rounding may carry a squared norm below zero."""

_WINDOW = 100
"""Stochastic steps whose mean objective is compared with that of the steps before."""


@dataclass(frozen=True)
class Descended:
    """Where a descent ended.

    Attributes
    ----------
    f : ndarray
        The function: an element of the space, or coefficients after stochastic steps.
    mean : ndarray
        The mean of the functions after each step.
    values : list of float
        The objective after each step; of stochastic steps an estimate, before the step.
    reason : str
        Why it ended before `tol` was reached: one of the constants above, or empty.
    """

    f: Floats
    mean: Floats
    values: list[float]
    reason: str


def gradient_descent(
    space: FunctionSpace,
    loss: Loss,
    start: Floats,
    *,
    alpha: float,
    step_size: Callable[[int], float],
    max_iter: int,
    tol: float,
    report: Callable[[list[float]], None],
) -> Descended:
    r"""Minimise ``loss(scores(f)) + alpha / 2 * ||f||^2`` by steps along the gradient.

    .. math:: f_{t+1} = (1 - \eta_t \alpha) f_t - \eta_t \sum_n g_n K_{x_n}

    with g the gradient of the loss by the scores (Chen2012, eq. 1.5). `step_size` maps
    the number of the step, from 0 on, to :math:`\eta`. Ends after `max_iter` steps, when
    the norm of the gradient is at most `tol` times that at zero, or when the next
    function is not finite.
    """
    f, mean = start.copy(), np.zeros_like(start)
    values: list[float] = []
    with np.errstate(over="ignore", invalid="ignore"):
        value, gradient = loss(space.scores(f))
        ascent = space.representer(gradient)
        at_zero = square_at_zero(space, loss, f, ascent)
        for number in range(max_iter):
            if number > 0:
                ascent = space.representer(gradient)
            ascent += alpha * f
            square = float(ascent[0] @ ascent[1])
            is_sound = square >= -ROUNDING * abs(at_zero)
            if not is_sound or (tol > 0 and square <= tol**2 * at_zero):
                reason = "" if is_sound else INDEFINITE
                return Descended(f, mean if values else f, values or [value], reason)
            following = f - step_size(number) * ascent
            value, gradient = loss(space.scores(following))
            value += alpha / 2 * float(following[0] @ following[1])
            if not (np.isfinite(value) and np.isfinite(following).all()):
                return Descended(f, mean if values else f, values or [value], DIVERGED)
            f = following
            values.append(value)
            mean += (f - mean) / len(values)
            report(values)
    return Descended(f, mean, values, OUT_OF_ITERATIONS if tol > 0 else "")


def square_at_zero(space: FunctionSpace, loss: Loss, f: Floats, gradient: Floats) -> float:
    """Return the squared norm of the gradient of the loss at zero; `gradient` is that at f."""
    if f.any():
        gradient = space.representer(loss(space.scores(0.0 * f))[1])
    return float(gradient[0] @ gradient[1])


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
    report: Callable[[list[float]], None],
) -> Descended:
    """Take steps along the mean gradient of a few pairs, which `draw` draws.

    `start` and the result are coefficients. The objective before a step is estimated
    from its pairs. Ends after `max_iter` steps, or when the mean estimate of a hundred
    steps is lower than that of the hundred before by at most `tol` times its size; not
    with ``tol=0``.
    """
    f, mean = start.copy(), np.zeros_like(start)
    square = float(space.element(f)[0] @ space.element(f)[1])
    values: list[float] = []
    with np.errstate(over="ignore", invalid="ignore"):
        for number in range(max_iter):
            rows, place = np.unique(np.concatenate(draw()), return_inverse=True)
            upper, lower = place.ravel()[: len(place) // 2], place.ravel()[len(place) // 2 :]
            near = space.at_rows(rows)
            scores = near.scores(f)
            losses, slopes = loss(scores[upper] - scores[lower])
            pulled, pushed = (np.bincount(side, slopes, len(rows)) for side in (upper, lower))
            gradient: Floats = (pulled - pushed) / len(upper)
            value = float(losses.mean()) + alpha / 2 * square
            eta = step_size(number)
            shrink = 1 - eta * alpha
            following = shrink * f
            near.add_representer(following, -eta * gradient)
            # The norm of the next function, from what is known at these rows.
            square = shrink**2 * square - 2 * eta * shrink * float(gradient @ scores)
            square += eta**2 * near.square(gradient)
            if not (np.isfinite(value) and np.isfinite(following).all()):
                return Descended(f, mean if values else f, values or [value], DIVERGED)
            f = following
            values.append(value)
            mean += (f - mean) / len(values)
            report(values)
            if tol > 0 and _is_level(values, tol):
                return Descended(f, mean, values, "")
    return Descended(f, mean, values, OUT_OF_ITERATIONS if tol > 0 else "")


def _is_level(values: list[float], tol: float) -> bool:
    """Whether the last window is hardly lower than the one before."""
    if len(values) % _WINDOW or len(values) < 2 * _WINDOW:
        return False
    before = float(np.mean(values[-2 * _WINDOW : -_WINDOW]))
    return before - float(np.mean(values[-_WINDOW:])) <= tol * abs(before)
