"""Solvers of a listwise loss of linear scores: all queries at once, or one after the other."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from sklearn_rank._protocols import Floats, Indices, IterateHook, Solution
from sklearn_rank.rows import ALL_HERE, Sums
from sklearn_rank.solvers._composition import BlockwiseObjective
from sklearn_rank.solvers._messages import STOPPED
from sklearn_rank.solvers._online import OnlineDescent
from sklearn_rank.solvers._regularised import minimise_regularised
from sklearn_rank.solvers._regularisers import Regulariser
from sklearn_rank.solvers._solver import Solver


@dataclass(eq=False)
class ListProblem:
    """A mean listwise loss of linear scores, plus a penalty, in a ball.

    Attributes
    ----------
    function : BlockwiseObjective
        The loss.
    regulariser : Regulariser
        Penalty and ball.
    start : ndarray of shape (n_features,)
        The first coefficients.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Tolerance.
    on_iterate : IterateHook
        Called after each iteration.
    scale : float
        By which the scores are divided in the loss.
    descent : OnlineDescent or None
        The state of online descent, which is moved.
    rate : callable
        Maps the number of a step of online descent to its size.
    random_state : int, RandomState or None
        Seed for the order of the queries.
    rows : Sums
        Sums over all rows, if they are not all here.
    """

    function: BlockwiseObjective
    regulariser: Regulariser
    start: Floats
    max_iter: int
    tol: float
    on_iterate: IterateHook
    scale: float = 1.0
    descent: OnlineDescent | None = None
    rate: Callable[[int], float] = float
    random_state: Any = None
    rows: Sums = ALL_HERE


class LinearSolver(Solver):
    """Base class of solvers that find coefficients of the features.

    Attributes
    ----------
    is_online : bool
        Whether it takes one step for each query, so that there are `eta0` and `partial_fit`,
        which needs ``take_pass(problem, order)``.
    """

    is_online: ClassVar[bool] = False

    @abstractmethod
    def solve(self, problem: ListProblem) -> Solution:
        """Return the coefficients; the message says how far they are from the tolerance."""


class RegularisedLBFGS(LinearSolver):
    """L-BFGS over all queries, in a ball projected gradients; Newton steps for few features."""

    on_cluster = True

    def solve(self, problem: ListProblem) -> Solution:
        """Return the minimum; of several processes the first finds it."""
        function = problem.function
        curvature = function.variance() / problem.scale**2

        def solve(served: Mapping[str, Callable[..., Any]]) -> Solution:
            return minimise_regularised(
                served["objective"],
                problem.regulariser,
                problem.start,
                curvature=curvature,
                max_iter=problem.max_iter,
                tol=problem.tol,
                on_iterate=served["on_iterate"],
                hessian=served.get("hessian"),
            )

        functions: dict[str, Callable[..., Any]] = {
            "objective": function,
            "on_iterate": problem.on_iterate,
        }
        if function.is_twice_differentiable:
            functions["hessian"] = function.hessian
        found = problem.rows.lead(solve, functions)
        if found.message in ("", STOPPED):
            return found
        return replace(
            found, message=f"its error is {found.residual:.3g} times that of zero coefficients"
        )


class OnlineGradientDescent(LinearSolver):
    """Averaged online gradient descent, one query a step."""

    is_online = True

    def solve(self, problem: ListProblem) -> Solution:
        """Take passes over the queries until one hardly changes the objective."""
        random, values, change = check_random_state(problem.random_state), [np.inf], np.inf
        n_queries = problem.function.n_queries
        # One pass is learning from a stream, which has no convergence to reach.
        message = "the last pass changed the objective by {:.3g}" if problem.max_iter > 1 else ""
        for number in range(problem.max_iter):
            order = random.permutation(n_queries) if number else np.arange(n_queries)
            x, value = self.take_pass(problem, order)
            change = abs(values[-1] - value)
            values.append(value)
            if problem.on_iterate(x, values[1:]) or change <= problem.tol * abs(value):
                message = ""
                break
        return Solution(x, values[1:], len(values) - 1, message.format(change))

    @staticmethod
    def take_pass(problem: ListProblem, order: Indices) -> tuple[Floats, float]:
        """Take one step for each query; return the averaged iterate and its objective."""
        function, descent, regulariser = problem.function, problem.descent, problem.regulariser
        assert descent is not None
        for query in order:
            gradient = function.query_gradient(int(query), descent.coefficients)
            descent.step(gradient, problem.rate(descent.n_steps + 1), regulariser)
        x = descent.average
        return x, function(x)[0] + regulariser.penalty(x)
