"""From a kernel problem to its solution: descent, random pairs, or L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats, Indices
from sklearn_rank.estimators._function_spaces import KernelSpace, LinearSpace
from sklearn_rank.objectives import MarginLoss, PairLoss
from sklearn_rank.preferences import Preferences
from sklearn_rank.solvers import (
    OUT_OF_ITERATIONS,
    Descended,
    functional_lbfgs,
    gradient_descent,
    stochastic_descent,
)

_ROUNDEST, _SHARPEST, _SHARPENING = 0.1, 1e-8, 0.1
"""First and last width of the rounded kink of the hinge loss, and their ratio."""


@dataclass
class Progress:
    """What the steps so far have done; a warm start continues it.

    Attributes
    ----------
    settings : dict
        What a warm start can't change.
    coefficients : ndarray
        Of the last function, in the order of the training data; empty before a fit.
    mean : ndarray
        Mean of the functions after each gradient step, in preference order.
    n_averaged : int
        Number of these functions.
    values : list of float
        The objective after each step.
    """

    settings: dict[str, Any]
    coefficients: Floats = field(default_factory=lambda: np.zeros(0))
    mean: Floats | None = None
    n_averaged: int = 0
    values: list[float] = field(default_factory=list)

    def continued(self) -> Progress:
        """Return a copy to go on with."""
        return replace(self, values=list(self.values))


@dataclass(frozen=True, eq=False)
class Outcome:
    """A solution.

    Attributes
    ----------
    f : ndarray
        The function, an element of the space.
    last : ndarray
        Coefficients of the last function, which differs from f when f is a mean.
    reason : str
        Why it ended before `tol` was reached; empty otherwise.
    """

    f: Floats
    last: Floats
    reason: str


@dataclass(frozen=True, eq=False)
class KernelProblem:
    """What is minimised, and with which parameters.

    Attributes
    ----------
    space : LinearSpace or KernelSpace
        The functions, over rows in preference order.
    preferences : Preferences
        The comparable pairs.
    loss : MarginLoss
        The loss of a margin.
    parameters : KernelPairwiseSGDRanker
        Supplies the parameters.
    """

    space: LinearSpace | KernelSpace
    preferences: Preferences
    loss: MarginLoss
    parameters: Any

    def mean_loss(self, name: str) -> Callable[[Floats], tuple[float, Floats]]:
        """Return the mean loss over all pairs, and its gradient, as a function of scores."""
        pair_loss, total = PairLoss(self.preferences, name), self.preferences.total_pair_weight

        def mean(scores: Floats) -> tuple[float, Floats]:
            value, gradient = pair_loss.value_and_gradient(scores)
            return value / total, gradient / total

        return mean

    def report(self, values: list[float]) -> None:
        """Print a line about the last iteration, ten a fit with verbose=1."""
        options, number = self.parameters, len(values)
        every = 1 if options.verbose > 1 else max(1, options.max_iter // 10)
        if options.verbose and (number % every == 0 or number == 1):
            print(f"[{type(options).__name__}] iteration {number}: objective {values[-1]:.6g}")


def descend(
    problem: KernelProblem, start: Floats, progress: Progress, eta0: float, seed: int
) -> Outcome:
    """Take gradient steps over all pairs, or over random ones."""
    options, before = problem.parameters, len(progress.values)
    common = {
        "alpha": options.alpha,
        "step_size": lambda number: eta0 * (before + number + 1.0) ** -options.theta,
        "max_iter": options.max_iter,
        "tol": options.tol,
        "report": problem.report,
    }
    space = problem.space
    if options.batch_size is None:
        loss = problem.mean_loss(options.loss)
        done = gradient_descent(space, loss, space.element(start), **common)
        f, mean = done.f, done.mean
    else:
        rng = np.random.RandomState([seed, before])
        draw = PairSampler(problem, options.batch_size, rng)
        done = stochastic_descent(space, problem.loss.value_and_derivative, draw, start, **common)
        f, mean = space.element(done.f), space.element(done.mean)
    return _outcome(problem, progress, done, f, mean)


def _outcome(
    problem: KernelProblem, progress: Progress, done: Descended, f: Floats, mean: Floats
) -> Outcome:
    """Join this fit's steps with those before a warm start."""
    if progress.mean is not None:
        share = len(done.values) / (len(done.values) + progress.n_averaged)
        mean = share * mean + (1 - share) * progress.mean
    progress.mean = mean
    progress.n_averaged += len(done.values)
    progress.values += done.values
    result = mean if problem.parameters.average else f
    return Outcome(result, f[0], done.reason)


def settle(problem: KernelProblem, start: Floats, progress: Progress) -> Outcome:
    """Find the minimum by L-BFGS; a loss with kinks is rounded, ever less."""
    options, space = problem.parameters, problem.space
    f = space.element(start)
    loss = problem.mean_loss(options.loss)
    left = options.max_iter
    progress.mean, progress.n_averaged = None, 0

    def objective(f: Floats) -> float:
        return loss(space.scores(f))[0] + options.alpha / 2 * float(f[0] @ f[1])

    def note(f: Floats, value: float) -> None:
        progress.values.append(value if problem.loss.is_smooth else objective(f))
        problem.report(progress.values)

    def solve(
        rounded: Callable[[Floats], tuple[float, Floats]], threshold: float, relative: bool = False
    ) -> str:
        nonlocal f, left
        found = functional_lbfgs(
            space,
            rounded,
            f,
            alpha=options.alpha,
            max_iter=left,
            threshold=threshold,
            relative=relative,
            on_iterate=note,
        )
        f, left = found.f, left - found.n_iter
        return found.reason

    if problem.loss.is_smooth:
        reason = solve(loss, options.tol, relative=True)
    else:
        reason = _sharpen(problem, solve, lambda: objective(f))
    if not progress.values:
        progress.values.append(objective(f))
    if options.tol == 0 and reason == OUT_OF_ITERATIONS:
        reason = ""
    return Outcome(f, f[0], reason)


def _sharpen(
    problem: KernelProblem, solve: Callable[..., str], objective: Callable[[], float]
) -> str:
    """Minimise hinge losses with a kink rounded over a width that shrinks.

    A rounded loss is at most half the width below the hinge loss, and the objective at
    most ||gradient||^2 / (2 alpha) above its minimum: so the last width bounds the excess.
    """
    alpha, tol = problem.parameters.alpha, problem.parameters.tol
    squared = problem.mean_loss("squared_hinge")
    width = _ROUNDEST
    while True:
        target = max(tol * objective(), _SHARPEST)
        width = max(width, target)
        reason = solve(_rounded_hinge(squared, width), (alpha * width / 2) ** 0.5)
        if reason or width <= target:
            return reason
        width *= _SHARPENING


def _rounded_hinge(
    squared: Callable[[Floats], tuple[float, Floats]], width: float
) -> Callable[[Floats], tuple[float, Floats]]:
    r"""Return the mean hinge loss with a parabola in place of the kink.

    .. math:: \frac{(1 - m)_+^2 - (1 - \delta - m)_+^2}{2 \delta}
    """

    def loss(scores: Floats) -> tuple[float, Floats]:
        value, gradient = squared(scores)
        inner, inner_gradient = squared(scores / (1 - width))
        value -= (1 - width) ** 2 * inner
        gradient = gradient - (1 - width) * inner_gradient
        return value / (2 * width), gradient / (2 * width)

    return loss


class PairSampler:
    """Draws pairs with probability proportional to their weight.

    The upper row comes first, by the weight of its pairs, then a row below it, by its
    weight. Equal rows lie side by side, so that a weight of 2 draws what the row twice
    would.
    """

    def __init__(self, problem: KernelProblem, size: int, rng: np.random.RandomState) -> None:
        rows = problem.preferences
        segment = np.repeat(np.arange(rows.segments.n_groups), rows.segments.length)
        self._order = np.lexsort((problem.space.places(rows.weight), segment))
        weight = rows.weight[self._order]
        below = rows.scan_below(np.add, rows.reduce(np.add, weight), 0.0)
        self._pairs = np.cumsum(weight * rows.spread(below))
        self._upto = np.concatenate([[0.0], np.cumsum(weight)])
        # The rows below a row: from the end of its segment to the end of its query.
        self._begin = np.append(rows.segments.start[1:], rows.n_rows)[segment]
        ends = np.append(rows.segments.start[rows.queries.start][1:], rows.n_rows)
        n_segments = np.diff(rows.queries.start, append=rows.segments.n_groups)
        self._end = np.repeat(ends, n_segments)[segment]
        self._size, self._rng = size, rng

    def __call__(self) -> tuple[Indices, Indices]:
        """Return the upper and the lower rows of some pairs, in preference order."""
        first, second = self._rng.random_sample((2, self._size))
        upper = np.searchsorted(self._pairs, first * self._pairs[-1], "right")
        upper = np.minimum(upper, len(self._pairs) - 1)
        begin, end = self._begin[upper], self._end[upper]
        start = self._upto[begin]
        place = start + second * (self._upto[end] - start)
        lower = np.clip(np.searchsorted(self._upto, place, "right") - 1, begin, end - 1)
        return self._order[upper], self._order[lower]
