"""Solvers in a function space: gradient descent, over all or random pairs, and L-BFGS."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from sklearn_rank._protocols import Floats, Indices, Solution, require
from sklearn_rank.solvers._function_space_descent import gradient_descent, stochastic_descent
from sklearn_rank.solvers._function_space_lbfgs import function_space_lbfgs
from sklearn_rank.solvers._messages import OUT_OF_ITERATIONS
from sklearn_rank.solvers._solver import Solver

_WIDEST, _NARROWEST, _RATIO = 0.1, 1e-8, 0.1
"""First and last width over which a kink is rounded, and their ratio."""

_LARGEST_WIDTH = 0.5
"""However large `tol` times the objective: the hinge loss is rounded over less than one."""


class KernelSolver(Solver):
    """Base class of solvers that find a function of a Hilbert space.

    Attributes
    ----------
    has_steps : bool
        Whether it takes `eta0`, `theta`, `batch_size` and `average`.
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


class GradientDescent(KernelSolver):
    """Gradient steps over all pairs or, with `batch_size`, over random ones."""

    on_cluster = True
    has_steps = True

    def solve(self, problem: Any, start: Floats, progress: Any) -> tuple[Solution, Floats]:
        """Take the steps."""
        model, before = problem.model, len(progress.values)
        common = {
            "alpha": problem.alpha,
            "step_size": lambda number: problem.eta0 * (before + number + 1.0) ** -problem.theta,
            "max_iter": problem.max_iter,
            "tol": problem.tol,
            "on_iterate": problem.on_iterate,
        }
        if problem.batch_size is None:
            rows = problem.preferences
            solution = gradient_descent(
                model, problem.mean_loss(), model.element(start), **common, rows=rows
            )
        else:
            draw = _PairSampler(problem, np.random.RandomState([problem.seed, before]))
            drawn = stochastic_descent(
                model, problem.loss.value_and_derivative, draw, start, **common
            )
            assert drawn.average is not None
            average = model.element(drawn.average)
            solution = replace(drawn, x=model.element(drawn.x), average=average)
        last, average = solution.x[0], progress.add(solution)
        return replace(solution, x=average) if problem.average else solution, last


class FunctionSpaceLBFGS(KernelSolver):
    """L-BFGS in the inner product of the space; kinks are rounded over ever smaller widths."""

    on_cluster = True
    needs_smooth = True

    def solve(self, problem: Any, start: Floats, progress: Any) -> tuple[Solution, Floats]:
        """Find the minimum."""
        fit = _LbfgsFit(problem, start, progress)
        progress.average, progress.n_averaged = None, 0
        if problem.loss.is_smooth:
            message = fit.solve(fit.loss, problem.tol, relative=True)
        else:
            message = fit.solve_rounded()
        if not progress.values:
            progress.values.append(fit.objective(fit.f))
        if problem.tol == 0 and message == OUT_OF_ITERATIONS:
            message = ""
        return Solution(fit.f, progress.values, len(progress.values), message), fit.f[0]


class _LbfgsFit:
    """A sequence of L-BFGS fits, each from the last iterate of the one before."""

    def __init__(self, problem: Any, start: Floats, progress: Any) -> None:
        self.f = problem.model.element(start)
        self._problem = problem
        self.loss = problem.mean_loss()
        self._values = progress.values
        self._left = problem.max_iter

    def objective(self, f: Floats) -> float:
        """Return mean pair loss plus ridge of an element."""
        ridge = self._problem.alpha / 2 * float(f[0] @ f[1])
        return self.loss.value(self._problem.model.element_scores(f)) + ridge

    def solve(self, loss: Any, threshold: float, relative: bool = False) -> str:
        """Minimise with a smooth loss, and return why the fit ended early."""
        solution = function_space_lbfgs(
            self._problem.model,
            loss,
            self.f,
            alpha=self._problem.alpha,
            max_iter=self._left,
            threshold=threshold,
            relative=relative,
            on_iterate=self._note,
            rows=self._problem.preferences,
        )
        self.f, self._left = solution.x, self._left - solution.n_iter
        return solution.message

    def solve_rounded(self) -> str:
        """Minimise with the kinks of the loss rounded over a width that shrinks.

        A rounded loss is at most half the width below the loss, and the objective at most
        ||gradient||^2 / (2 alpha) above its minimum: the last width bounds the excess.
        """
        user = "solver='lbfgs' of KernelPairwiseSGDRanker"
        alpha, tol = self._problem.alpha, self._problem.tol
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


class _PairSampler:
    """Draws pairs with probability proportional to their weight.

    First the upper row is drawn, by the weight of its pairs, then a row below it, by its
    weight. Equal rows are neighbours, so that a row of weight 2 is drawn exactly as the
    row twice would be.
    """

    def __init__(self, problem: Any, rng: np.random.RandomState) -> None:
        rows = problem.preferences
        segment = rows.spread(np.arange(rows.segments.n_groups))
        # Equal rows have the same score by any element of the space, as by this one.
        scores = problem.model.element_scores(problem.model.representer(rows.weight))
        self._order = np.lexsort((scores, segment))
        weight = rows.weight[self._order]
        below = rows.scan_below(np.add, rows.reduce(np.add, weight), 0.0)
        self._pairs = np.cumsum(weight * rows.spread(below))
        self._upto = np.concatenate([[0.0], np.cumsum(weight)])
        # The rows below a row: from the end of its segment to the end of its query.
        self._begin = rows.spread(rows.segments.end)
        self._end = rows.spread(rows.queries.spread(rows.segments.end[rows.queries.end - 1]))
        self._size, self._rng = problem.batch_size, rng

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
