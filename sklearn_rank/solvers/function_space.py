"""Solvers in a function space: gradient descent, over all or random pairs, and L-BFGS."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count, islice

import numpy as np

from sklearn_rank._core.arrays import Floats, Indices, Setting
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import IterateHook, Objective, RowSpace, Solution, require
from sklearn_rank._pair_sums.listed_pairs import mean_loss
from sklearn_rank._pair_sums.margin_losses import MarginLoss
from sklearn_rank.solvers._drawn_guide import drawn_guide
from sklearn_rank.solvers._function_space_descent import (
    GivenSteps,
    Path,
    QuasiNewtonSteps,
    SpaceFunction,
    minimise_in_space,
)
from sklearn_rank.solvers._solver import OUT_OF_ITERATIONS, Solver, SolverTraits

_WIDEST, _NARROWEST, _RATIO = 0.1, (1e-9, 1e-8), 0.1
"""Widths, in margins, over which a kink is rounded: first, limits of the last, ratio of two."""

_LARGEST_WIDTH = 0.5
"""Margin; however large `tol` times the objective, the hinge loss is rounded over less than one."""

KernelSolution = tuple[Solution, Floats]
"""A solution, and the coefficients of the last iterate: other ones if it is an average."""

_WINDOW = 100
"""Stochastic steps whose mean objective is compared with that of the steps before."""


@dataclass(eq=False)
class Progress:
    """The iterations so far, which a warm start continues; stored as a plain dict.

    Attributes
    ----------
    settings : dict
        Settings that a warm start must not change.
    coefficients : ndarray
        Those of the last function, in the order of the training data; empty before a fit.
    average : ndarray or None
        The averaged iterate, in fit order.
    n_averaged : int
        Number of iterates in it.
    values : list of float
        The objective after each iteration.
    """

    settings: dict[str, Setting]
    coefficients: Floats = field(default_factory=lambda: np.zeros(0))
    average: Floats | None = None
    n_averaged: int = 0
    values: list[float] = field(default_factory=list)

    def add(self, solution: Solution) -> Floats:
        """Add the steps of gradient descent; return the average including earlier steps."""
        average = solution.average
        assert average is not None
        n_steps = len(solution.values)
        if self.average is not None:
            share = n_steps / (n_steps + self.n_averaged)
            average = share * average + (1 - share) * self.average
        self.average = average
        self.n_averaged += n_steps
        self.values += solution.values
        return average


@dataclass(frozen=True, eq=False)
class KernelProblem:
    """What a `KernelSolver` minimises: the mean pair loss plus a ridge, over a function space.

    Attributes
    ----------
    model : RowSpace
        The functions, over rows in fit order.
    preferences : Preferences
        The comparable pairs.
    loss : MarginLoss
        The loss of a margin.
    alpha, tol : float
        Ridge, and tolerance.
    max_iter : int
        Maximum number of iterations.
    on_iterate : IterateHook
        Called after each iteration.
    eta0, theta : float
        Step t of gradient descent is ``eta0 * t**-theta``.
    batch_size : int or None
        Number of pairs drawn for a step; None for all.
    average : bool
        Whether the averaged iterate is the solution.
    seed : int
        Seed of the pairs.
    """

    model: RowSpace
    preferences: Preferences
    loss: MarginLoss
    alpha: float
    tol: float
    max_iter: int
    on_iterate: IterateHook
    eta0: float = 0.0
    theta: float = 0.5
    batch_size: int | None = None
    average: bool = False
    seed: int = 0

    def mean_loss(self) -> Objective:
        """Return the mean loss over all pairs, as a function of the scores."""
        return mean_loss(self.preferences, self.loss)


class KernelSolver(Solver):
    """Base class of solvers that find a function of a Hilbert space.

    Examples
    --------
    >>> from sklearn_rank.solvers import SOLVERS
    >>> [name for name, solver in SOLVERS["kernel"].items() if solver.traits.has_steps]
    ['gd']
    """

    @abstractmethod
    def solve(self, problem: KernelProblem, start: Floats, progress: Progress) -> KernelSolution:
        """Minimise the mean pair loss plus the ridge.

        Parameters
        ----------
        problem : KernelProblem
            Loss, ridge, function space and settings.
        start : ndarray
            Coefficients.
        progress : Progress
            The iterations so far, which the solver extends.

        Returns
        -------
        solution : Solution
            `x` is an element of the space.
        last : ndarray
            The coefficients of the last iterate, from which `x` differs when it is the average.
        """


def _with_ridge(problem: KernelProblem, mean_loss: Objective) -> SpaceFunction:
    """Return a mean loss plus the ridge, as a function of elements of the space."""
    return SpaceFunction(problem.model, mean_loss, problem.alpha, problem.preferences)


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

    traits = SolverTraits(on_cluster=True, has_steps=True)

    def solve(self, problem: KernelProblem, start: Floats, progress: Progress) -> KernelSolution:
        """Take the steps of Chen2012, eq. 1.5, of sizes eta_0 t^-theta (Prop. 3.8, its eta_1)."""
        # After an earlier fit, which goes beyond the paper, t continues.
        model, n_earlier = problem.model, len(progress.values)
        step_sizes = (float(problem.eta0 * t**-problem.theta) for t in count(n_earlier + 1.0))
        if problem.batch_size is None:
            function, steps = _with_ridge(problem, problem.mean_loss()), GivenSteps(step_sizes)
            limits = problem.max_iter, problem.tol, problem.on_iterate
            solution = minimise_in_space(function, model.element(start), steps, *limits)
        else:
            rng = np.random.RandomState([problem.seed, n_earlier])
            descent = stochastic_descent(problem, start, step_sizes, PairSampler(problem, rng))
            assert descent.average is not None
            average = model.element(descent.average)
            solution = replace(descent, x=model.element(descent.x), average=average)
        last_coefficients, average = solution.x[0], progress.add(solution)
        return replace(solution, x=average) if problem.average else solution, last_coefficients


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

    traits = SolverTraits(on_cluster=True, needs_smooth=True)

    def solve(self, problem: KernelProblem, start: Floats, progress: Progress) -> KernelSolution:
        """Minimise the loss or a sequence of smooth losses that approach it."""
        objective, is_smooth = _with_ridge(problem, problem.mean_loss()), problem.loss.is_smooth
        progress.average, progress.n_averaged = None, 0

        def on_iterate(f: Floats, values: list[float]) -> bool:
            progress.values.append(values[-1] if is_smooth else objective.value(f))
            return bool(problem.on_iterate(f, progress.values))

        f, n_left, message = problem.model.element(start), problem.max_iter, ""
        minimum, solve = drawn_guide(problem) or (None, None)
        if minimum is not None:
            f = min(problem.model.element(minimum), f, key=objective.value)
        for function, tol in self._path(problem, objective, f, progress.values):
            steps = QuasiNewtonSteps(solve)
            solution = minimise_in_space(
                function, f, steps, n_left, tol, on_iterate, is_relative=is_smooth
            )
            f, n_left, message = solution.x, n_left - solution.n_iter, solution.message
            if message:
                break
        if not progress.values:
            progress.values.append(objective.value(f))
        if problem.tol == 0 and message == OUT_OF_ITERATIONS:
            message = ""
        return Solution(f, progress.values, len(progress.values), message), f[0]

    @staticmethod
    def _path(
        problem: KernelProblem, objective: SpaceFunction, f: Floats, values: list[float]
    ) -> Iterator[tuple[SpaceFunction, float]]:
        """Yield the function, or smooth functions that approach it, each with its tolerance.

        Kinks are rounded over a shrinking width. The rounded loss is at most half the width below
        the loss, and an objective at most ||gradient||^2 / (2 alpha) above its minimum, so that
        the last width bounds the excess.
        """
        if problem.loss.is_smooth:
            yield objective, problem.tol
            return
        owner = "solver='lbfgs' of KernelPairwiseSGDRanker"
        rounded, width = require(objective.objective, "rounded", owner), _WIDEST
        while True:
            value = values[-1] if values else objective.value(f)
            min_width = np.clip(value / 1000, *_NARROWEST)
            final_width = min(max(problem.tol * value, min_width), _LARGEST_WIDTH)
            width = max(width, final_width)
            yield _with_ridge(problem, rounded(width)), (problem.alpha * width / 2) ** 0.5
            if width <= final_width:
                return
            width *= _RATIO


def stochastic_descent(
    problem: KernelProblem, start: Floats, step_sizes: Iterator[float], draw: PairSampler
) -> Solution:
    r"""Take gradient steps, each on `batch_size` randomly drawn pairs.

    These are the steps of Chen2012, eq. 1.5, with m sampled pairs (i_j above k_j) instead of all;
    m is the batch size, not its number of positives, and :math:`\alpha` its lambda (the paper calls
    its step over all pairs stochastic; here that means drawn pairs):

    .. math:: f_{t+1} = (1 - \eta_t \alpha) f_t - \frac{\eta_t}{m} \sum_j
        \phi'_-(f_t(x_{i_j}) - f_t(x_{k_j})) \, (K_{x_{i_j}} - K_{x_{k_j}})

    `start` and the solution are coefficients. The objective before a step is estimated from its
    pairs. Ends after `max_iter` steps, or when the mean estimate of a hundred steps is lower than
    that of the hundred before by at most `tol` times its size; with ``tol=0`` never.
    """
    space = problem.model
    alpha, tol, path = problem.alpha, problem.tol, Path(start, problem.on_iterate)
    square = float(space.element(start)[0] @ space.element(start)[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for eta in islice(step_sizes, problem.max_iter):
            # Beyond the paper: the drawn pairs, as positions among their distinct rows.
            rows, position = np.unique(np.concatenate(draw()), return_inverse=True)
            upper, lower = np.split(position.ravel(), 2)
            # 1. phi and phi'_- at their margins; g, the mean gradient with respect to the scores.
            view = space.at_rows(rows)
            scores = view.scores(path.f)
            losses, slopes = problem.loss.value_and_derivative(scores[upper] - scores[lower])
            by_upper, by_lower = (np.bincount(side, slopes, len(rows)) for side in (upper, lower))
            gradient: Floats = (by_upper - by_lower) / len(upper)
            value = float(losses.mean()) + alpha / 2 * square
            # 2. f_{t+1} = (1 - eta alpha) f_t - eta sum_r g_r K_{x_r}, added in place.
            decay = 1 - eta * alpha
            f = decay * path.f
            view.add_representer(f, -eta * gradient)
            # Beyond the paper: ||f_{t+1}||^2, from the scores of these rows alone, for the next
            # estimate of the objective.
            square = decay**2 * square - 2 * eta * decay * float(gradient @ scores)
            square += eta**2 * view.square(gradient)
            message = path.accept(f, value)
            if message:
                return path.ends(message, value)
            if tol > 0 and len(path.values) % _WINDOW == 0 and len(path.values) >= 2 * _WINDOW:
                before, last = np.reshape(path.values[-2 * _WINDOW :], (2, _WINDOW)).mean(axis=1)
                if before - last <= tol * abs(before):
                    return path.ends("")
    return path.ends(OUT_OF_ITERATIONS if tol > 0 else "")


class PairSampler:
    """Draws pairs with probability proportional to their weight.

    Equal rows are neighbours, so that a row of weight 2 is drawn exactly as the row twice would be.
    """

    def __init__(self, problem: KernelProblem, rng: np.random.RandomState) -> None:
        rows = problem.preferences
        segment_of_row = rows.spread(np.arange(rows.segments.n_groups))
        # Equal rows have the same score by any element of the space, as by this one.
        scores = problem.model.element_scores(problem.model.representer(rows.weight))
        self._draws = rows.draws(np.lexsort((scores, segment_of_row)))
        assert problem.batch_size is not None
        self._batch_size, self._rng = problem.batch_size, rng

    def __call__(self) -> tuple[Indices, Indices]:
        """Return the upper and the lower rows of some pairs, in fit order."""
        return self._draws(self._batch_size, self._rng)
