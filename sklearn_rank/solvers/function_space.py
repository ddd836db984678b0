"""Solvers in a function space: gradient descent, over all or random pairs, and L-BFGS."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices, RowSpace, Solution, require
from sklearn_rank.solvers._drawn_guide import drawn_guide
from sklearn_rank.solvers._function_space_descent import (
    GivenSteps,
    Path,
    QuasiNewtonSteps,
    SpaceFunction,
    minimise_in_space,
)
from sklearn_rank.solvers._solver import OUT_OF_ITERATIONS, Solver

_WIDEST, _NARROWEST, _RATIO = 0.1, (1e-9, 1e-8), 0.1
"""First width over which a kink is rounded, limits of the last one, and the ratio of two."""

_LARGEST_WIDTH = 0.5
"""However large `tol` times the objective: the hinge loss is rounded over less than one."""

_WINDOW = 100
"""Stochastic steps whose mean objective is compared with that of the steps before."""


class KernelSolver(Solver):
    """Base class of solvers that find a function of a Hilbert space.

    Attributes
    ----------
    has_steps : bool
        Whether it takes `eta0`, `theta`, `batch_size` and `average`.

    Examples
    --------
    >>> from sklearn_rank.solvers import SOLVERS
    >>> [name for name, solver in SOLVERS["kernel"].items() if solver.has_steps]
    ['gd']
    """

    has_steps: ClassVar[bool] = False

    @abstractmethod
    def solve(self, problem: Any, start: Floats, progress: Any) -> tuple[Solution, Floats]:
        """Minimise mean pair loss plus ridge.

        Parameters
        ----------
        problem : KernelProblem
            The problem.
        start : ndarray
            Coefficients.
        progress : Progress
            The steps so far, extended here.

        Returns
        -------
        solution : Solution
            `x` is an element of the space.
        last : ndarray
            The coefficients of the last iterate, from which `x` differs when it is the average.
        """


def _function(problem: Any, loss: Any) -> SpaceFunction:
    """Return mean pair loss plus ridge, with a loss in place of that of the problem."""
    return SpaceFunction(problem.model, loss, problem.alpha, problem.preferences)


class GradientDescent(KernelSolver):
    """Gradient steps over all pairs or, with `batch_size`, over random ones.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from sklearn_rank import KernelPairwiseSGDRanker
    >>> from sklearn_rank.solvers import GradientDescent
    >>> X, y = make_circles(100, factor=0.5, noise=0.1, random_state=0)
    >>> ranker = KernelPairwiseSGDRanker(solver=GradientDescent(), max_iter=20, tol=0).fit(X, y)
    >>> ranker.n_iter_
    20
    """

    on_cluster = True
    has_steps = True

    def solve(self, problem: Any, start: Floats, progress: Any) -> tuple[Solution, Floats]:
        """Take the steps."""
        model, before = problem.model, len(progress.values)

        def step_size(number: int) -> float:
            return float(problem.eta0 * (before + number + 1.0) ** -problem.theta)

        if problem.batch_size is None:
            solution = minimise_in_space(
                _function(problem, problem.mean_loss()),
                model.element(start),
                GivenSteps(step_size),
                max_iter=problem.max_iter,
                tol=problem.tol,
                on_iterate=problem.on_iterate,
            )
        else:
            rng = np.random.RandomState([problem.seed, before])
            drawn = stochastic_descent(problem, start, step_size, rng)
            assert drawn.average is not None
            average = model.element(drawn.average)
            solution = replace(drawn, x=model.element(drawn.x), average=average)
        last, average = solution.x[0], progress.add(solution)
        return replace(solution, x=average) if problem.average else solution, last


class FunctionSpaceLBFGS(KernelSolver):
    """L-BFGS in the inner product of the space; kinks are rounded over ever smaller widths.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from sklearn_rank import KernelPairwiseSGDRanker
    >>> from sklearn_rank.solvers import FunctionSpaceLBFGS
    >>> X, y = make_circles(100, factor=0.5, noise=0.1, random_state=0)
    >>> ranker = KernelPairwiseSGDRanker(loss="hinge", solver=FunctionSpaceLBFGS()).fit(X, y)
    >>> ranker.score(X, y) > 0.99
    True
    """

    on_cluster = True
    needs_smooth = True

    def solve(self, problem: Any, start: Floats, progress: Any) -> tuple[Solution, Floats]:
        """Find the minimum, or those of smooth losses that approach it, one from the other."""
        exact, is_smooth = _function(problem, problem.mean_loss()), problem.loss.is_smooth
        progress.average, progress.n_averaged = None, 0

        def on_iterate(f: Floats, values: list[float]) -> bool:
            progress.values.append(values[-1] if is_smooth else exact.value(f))
            return bool(problem.on_iterate(f, progress.values))

        f, left, message = problem.model.element(start), problem.max_iter, ""
        minimum, solve = drawn_guide(problem) or (None, None)
        if minimum is not None:
            f = min(problem.model.element(minimum), f, key=exact.value)
        for function, tol in self._path(problem, exact, f, progress.values):
            solution = minimise_in_space(
                function,
                f,
                QuasiNewtonSteps(solve),
                max_iter=left,
                tol=tol,
                is_relative=is_smooth,
                on_iterate=on_iterate,
            )
            f, left, message = solution.x, left - solution.n_iter, solution.message
            if message:
                break
        if not progress.values:
            progress.values.append(exact.value(f))
        if problem.tol == 0 and message == OUT_OF_ITERATIONS:
            message = ""
        return Solution(f, progress.values, len(progress.values), message), f[0]

    @staticmethod
    def _path(
        problem: Any, exact: SpaceFunction, f: Floats, values: list[float]
    ) -> Iterator[tuple[SpaceFunction, float]]:
        """Yield the function and its tolerance or, one by one, smooth ones that approach it.

        Kinks are rounded over a width that shrinks: a rounded loss is at most half the width
        below the loss, and the objective at most ||gradient||^2 / (2 alpha) above its minimum.
        The last width bounds the excess.
        """
        if problem.loss.is_smooth:
            yield exact, problem.tol
            return
        user = "solver='lbfgs' of KernelPairwiseSGDRanker"
        rounded, width = require(exact.objective, "rounded", user), _WIDEST
        while True:
            value = values[-1] if values else exact.value(f)
            least = np.clip(value / 1000, *_NARROWEST)
            target = min(max(problem.tol * value, least), _LARGEST_WIDTH)
            width = max(width, target)
            yield _function(problem, rounded(width)), (problem.alpha * width / 2) ** 0.5
            if width <= target:
                return
            width *= _RATIO


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
