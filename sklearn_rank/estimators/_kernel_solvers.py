"""The solvers of KernelPairwiseSGDRanker: gradient descent, random pairs, or L-BFGS."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats, Indices, IterateHook, Solution, require
from sklearn_rank.models import KernelModel, LinearModel
from sklearn_rank.objectives import MarginLoss, PairLoss
from sklearn_rank.rows.preferences import Preferences
from sklearn_rank.solvers import (
    OUT_OF_ITERATIONS,
    function_space_lbfgs,
    gradient_descent,
    stochastic_descent,
)

_WIDEST, _NARROWEST, _RATIO = 0.1, 1e-8, 0.1
"""First and last width over which a kink is rounded, and their ratio."""

_LARGEST_WIDTH = 0.5
"""However large `tol` times the objective: the hinge loss is rounded over less than one."""


@dataclass
class Progress:
    """The steps so far. A warm start continues them; stored as a plain dict.

    Attributes
    ----------
    settings : dict
        Settings that a warm start must not change.
    coefficients : ndarray
        Of the last function, in the order of the training data; empty before a fit.
    average : ndarray or None
        The averaged iterate, in fit order.
    n_averaged : int
        Number of iterates in it.
    values : list of float
        The objective after each step.
    """

    settings: dict[str, Any]
    coefficients: Floats = field(default_factory=lambda: np.zeros(0))
    average: Floats | None = None
    n_averaged: int = 0
    values: list[float] = field(default_factory=list)

    def add(self, solution: Solution) -> Floats:
        """Add the steps of gradient descent; return the average with those before."""
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
    r"""The minimisation problem, mean pair loss plus ridge.

    Attributes
    ----------
    model : LinearModel or KernelModel
        The functions, over rows in fit order.
    preferences : Preferences
        The comparable pairs.
    loss : MarginLoss
        The loss of a margin.
    parameters : KernelPairwiseSGDRanker
        Supplies the parameters.
    on_iterate : IterateHook
        Called after each iteration.
    """

    model: LinearModel | KernelModel
    preferences: Preferences
    loss: MarginLoss
    parameters: Any
    on_iterate: IterateHook

    def mean_loss(self) -> PairLoss:
        """Return the mean loss over all pairs, a function of scores."""
        return PairLoss(self.preferences, self.loss, mean=True)


def fit_gradient_descent(
    problem: KernelProblem, start: Floats, progress: Progress, eta0: float, seed: int
) -> tuple[Solution, Floats]:
    """Take gradient steps over all pairs, or over random ones.

    Returns the solution, of which `x` is an element, and the coefficients of the last
    iterate, from which `x` differs when it is the average.
    """
    options, before = problem.parameters, len(progress.values)
    common = {
        "alpha": options.alpha,
        "step_size": lambda number: eta0 * (before + number + 1.0) ** -options.theta,
        "max_iter": options.max_iter,
        "tol": options.tol,
        "on_iterate": problem.on_iterate,
    }
    model = problem.model
    if options.batch_size is None:
        loss = problem.mean_loss()
        collective = problem.preferences.collective
        begin = model.element(start)
        solution = gradient_descent(model, loss, begin, **common, collective=collective)
    else:
        rng = np.random.RandomState([seed, before])
        draw = PairSampler(problem, options.batch_size, rng)
        pair_loss = problem.loss.value_and_derivative
        drawn = stochastic_descent(model, pair_loss, draw, start, **common)
        assert drawn.average is not None
        average = model.element(drawn.average)
        solution = replace(drawn, x=model.element(drawn.x), average=average)
    last, average = solution.x[0], progress.add(solution)
    return replace(solution, x=average) if options.average else solution, last


def fit_lbfgs(problem: KernelProblem, start: Floats, progress: Progress) -> tuple[Solution, Floats]:
    """Find the minimum by L-BFGS; kinks of the loss are rounded over ever smaller widths.

    Returns as `fit_gradient_descent`.
    """
    fit = _LbfgsFit(problem, start, progress)
    progress.average, progress.n_averaged = None, 0
    if problem.loss.is_smooth:
        message = fit.solve(fit.loss, problem.parameters.tol, relative=True)
    else:
        message = fit.solve_rounded()
    if not progress.values:
        progress.values.append(fit.objective(fit.f))
    if problem.parameters.tol == 0 and message == OUT_OF_ITERATIONS:
        message = ""
    return Solution(fit.f, progress.values, len(progress.values), message), fit.f[0]


class _LbfgsFit:
    """A sequence of L-BFGS fits, each from the last iterate of the one before."""

    def __init__(self, problem: KernelProblem, start: Floats, progress: Progress) -> None:
        self.f = problem.model.element(start)
        self._problem = problem
        self.loss = problem.mean_loss()
        self._values = progress.values
        self._left = problem.parameters.max_iter

    def objective(self, f: Floats) -> float:
        """Return mean pair loss plus ridge of an element."""
        ridge = self._problem.parameters.alpha / 2 * float(f[0] @ f[1])
        return self.loss.value(self._problem.model.element_scores(f)) + ridge

    def solve(self, loss: Any, threshold: float, relative: bool = False) -> str:
        """Minimise with a smooth loss, and return why the fit ended early."""
        solution = function_space_lbfgs(
            self._problem.model,
            loss,
            self.f,
            alpha=self._problem.parameters.alpha,
            max_iter=self._left,
            threshold=threshold,
            relative=relative,
            on_iterate=self._note,
            collective=self._problem.preferences.collective,
        )
        self.f, self._left = solution.x, self._left - solution.n_iter
        return solution.message

    def solve_rounded(self) -> str:
        """Minimise with the kinks of the loss rounded over a width that shrinks.

        A rounded loss is at most half the width below the loss, and the objective at most
        ||gradient||^2 / (2 alpha) above its minimum: the last width bounds the excess.
        """
        user = "solver='lbfgs' of KernelPairwiseSGDRanker"
        alpha, tol = self._problem.parameters.alpha, self._problem.parameters.tol
        rounded = require(self.loss, "rounded", user)
        width = _WIDEST
        while True:
            target = min(max(tol * self.objective(self.f), _NARROWEST), _LARGEST_WIDTH)
            width = max(width, target)
            message = self.solve(rounded(width), (alpha * width / 2) ** 0.5)
            if message or width <= target:
                return message
            width *= _RATIO

    def _note(self, f: Floats, values: list[float]) -> bool:
        """Record an iteration, with the objective of the loss that the user asked for."""
        self._values.append(values[-1] if self._problem.loss.is_smooth else self.objective(f))
        return self._problem.on_iterate(f, self._values)


class PairSampler:
    """Draws pairs with probability proportional to their weight.

    First the upper row is drawn, by the weight of its pairs, then a row below it, by its
    weight. Equal rows are neighbours, so that a row of weight 2 is drawn exactly as the
    row twice would be.
    """

    def __init__(self, problem: KernelProblem, size: int, rng: np.random.RandomState) -> None:
        rows = problem.preferences
        segment = rows.spread(np.arange(rows.segments.n_groups))
        self._order = np.lexsort((problem.model.row_keys(rows.weight), segment))
        weight = rows.weight[self._order]
        below = rows.scan_below(np.add, rows.reduce(np.add, weight), 0.0)
        self._pairs = np.cumsum(weight * rows.spread(below))
        self._upto = np.concatenate([[0.0], np.cumsum(weight)])
        # The rows below a row: from the end of its segment to the end of its query.
        self._begin = rows.spread(rows.segments.end)
        self._end = rows.spread(rows.queries.spread(rows.segments.end[rows.queries.end - 1]))
        self._size, self._rng = size, rng

    def __call__(self) -> tuple[Indices, Indices]:
        """Return the upper and the lower rows of some pairs, in fit order."""
        first, second = self._rng.random_sample((2, self._size))
        upper = np.searchsorted(self._pairs, first * self._pairs[-1], "right")
        upper = np.minimum(upper, len(self._pairs) - 1)
        begin, end = self._begin[upper], self._end[upper]
        start = self._upto[begin]
        place = start + second * (self._upto[end] - start)
        lower = np.clip(np.searchsorted(self._upto, place, "right") - 1, begin, end - 1)
        return self._order[upper], self._order[lower]
