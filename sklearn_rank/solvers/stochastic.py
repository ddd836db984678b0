"""Steps along the gradient of a few pairs, drawn at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices, RowSpace, Solution
from sklearn_rank.solvers._function_space_descent import Path
from sklearn_rank.solvers._solver import OUT_OF_ITERATIONS

_WINDOW = 100
"""Stochastic steps whose mean objective is compared with that of the steps before."""


def stochastic_descent(
    problem: Any, start: Floats, step_size: Callable[[int], float], rng: np.random.RandomState
) -> Solution:
    """Take steps along the mean gradient of the `batch_size` pairs that are drawn for each.

    `problem` is a `KernelProblem`; `start` and the solution are coefficients. The objective
    before a step is estimated from its pairs. Ends after `max_iter` steps, or when the mean
    estimate of a hundred steps is lower than that of the hundred before by at most `tol` times
    its size; not with ``tol=0``.
    """
    space: RowSpace = problem.model
    draw, alpha, tol = PairSampler(problem, rng), problem.alpha, problem.tol
    path = Path(start, problem.on_iterate)
    square = float(space.element(start)[0] @ space.element(start)[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for number in range(problem.max_iter):
            rows, place = np.unique(np.concatenate(draw()), return_inverse=True)
            upper, lower = place.ravel()[: len(place) // 2], place.ravel()[len(place) // 2 :]
            view = space.at_rows(rows)
            scores = view.scores(path.f)
            losses, slopes = problem.loss.value_and_derivative(scores[upper] - scores[lower])
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


class PairSampler:
    """Draws pairs with probability proportional to their weight.

    Equal rows are neighbours, so that a row of weight 2 is drawn exactly as the row twice would be.
    """

    def __init__(self, problem: Any, rng: np.random.RandomState) -> None:
        rows = problem.preferences
        segment = rows.spread(np.arange(rows.segments.n_groups))
        # Equal rows have the same score by any element of the space, as by this one.
        scores = problem.model.element_scores(problem.model.representer(rows.weight))
        self._draws = rows.draws(np.lexsort((scores, segment)))
        self._size, self._rng = problem.batch_size, rng

    def __call__(self) -> tuple[Indices, Indices]:
        """Return the upper and the lower rows of some pairs, in fit order."""
        return self._draws(self._size, self._rng)
