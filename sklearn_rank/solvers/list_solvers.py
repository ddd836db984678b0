"""Solvers of a listwise loss of linear scores: all queries at once, or one after the other."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from sklearn_rank._core.protocols import Floats, Indices, Solution
from sklearn_rank.solvers._solver import STOPPED, Solver
from sklearn_rank.solvers.regularisers import RegularisedProblem, Regulariser


class LinearSolver(Solver):
    """Base class of solvers that find coefficients of the features.

    Attributes
    ----------
    is_online : bool
        Whether it takes one step for each query, so that there are `eta0` and `partial_fit`,
        which needs ``take_pass(problem, order)``.

    Examples
    --------
    >>> from sklearn_rank.solvers import SOLVERS
    >>> [name for name, solver in SOLVERS["linear"].items() if solver.is_online]
    ['ogd']
    """

    is_online: ClassVar[bool] = False

    @abstractmethod
    def solve(self, problem: Any) -> Solution:
        """Return the coefficients; the message says how far they are from the tolerance.

        Parameters
        ----------
        problem : ListProblem
            `function`, the mean loss of coefficients, with `variance`, the mean curvature of each,
            and `query_gradient`; `regulariser`, penalty and ball; `start`, `max_iter`, `tol` and
            `on_iterate`; `rows`, the sums over all rows.
        """


class RegularisedLBFGS(LinearSolver):
    """L-BFGS over all queries, with a ball or kinks projected gradients; Newton for few features.

    Examples
    --------
    >>> from sklearn_rank import ListNetLinear
    >>> from sklearn_rank.datasets import make_queries
    >>> from sklearn_rank.solvers import RegularisedLBFGS
    >>> data = make_queries(random_state=0)
    >>> ranker = ListNetLinear(solver=RegularisedLBFGS(), max_norm=0.5)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> round(float((ranker.coef_**2).sum() ** 0.5), 6)
    0.5
    """

    on_cluster = True

    def solve(self, problem: Any) -> Solution:
        """Return the minimum; of several processes the first finds it."""
        function = problem.function
        curvature = function.variance() / problem.scale**2

        def solve(served: Mapping[str, Any]) -> Solution:
            settings = problem.regulariser, curvature, problem.max_iter, problem.tol
            return RegularisedProblem(*settings, **served).minimise(problem.start)

        functions: dict[str, Any] = {"objective": function, "on_iterate": problem.on_iterate}
        if function.is_twice_differentiable:
            functions["hessian"] = function.hessian
        found = problem.rows.lead(solve, functions)
        if found.message in ("", STOPPED):
            return found
        return replace(
            found, message=f"its error is {found.residual:.3g} times that of zero coefficients"
        )


@dataclass(eq=False)
class OnlineDescent:
    r"""Averaged online gradient descent: one loss a step.

    .. math:: w_{t+1} = \operatorname{prox}_{\eta_t \Omega}(w_t - \eta_t \nabla \ell_t(w_t)),
        \qquad \bar w = \frac1T \sum_{t=1}^T w_t

    with :math:`\Omega` the penalty and the ball of a `Regulariser`.

    Attributes
    ----------
    coefficients : ndarray of shape (n_features,)
        :math:`w_{T+1}`, at which the next gradient is taken.
    total : ndarray of shape (n_features,)
        :math:`\sum_t w_t`.
    n_steps : int
        T.
    """

    coefficients: Floats
    total: Floats
    n_steps: int = 0

    @property
    def average(self) -> Floats:
        r"""The averaged iterate :math:`\bar w`."""
        return self.total / max(self.n_steps, 1)

    def step(self, gradient: Floats, rate: float, regulariser: Regulariser) -> None:
        """Take a step of size `rate`, given the gradient of the next loss at `coefficients`."""
        self.total = self.total + self.coefficients
        self.n_steps += 1
        moved = self.coefficients - rate * gradient
        self.coefficients = regulariser.proximal(moved, rate)


class OnlineGradientDescent(LinearSolver):
    """Averaged online gradient descent, one query a step.

    Examples
    --------
    >>> from sklearn_rank import ListNetLinear
    >>> from sklearn_rank.datasets import make_queries
    >>> from sklearn_rank.solvers import OnlineGradientDescent
    >>> data = make_queries(n_queries=40, random_state=0)
    >>> ranker = ListNetLinear(solver=OnlineGradientDescent(), eta0=0.1, max_iter=1)
    >>> ranker.fit(data.data, data.target, qid=data.qid).t_
    40
    """

    is_online = True

    def solve(self, problem: Any) -> Solution:
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
    def take_pass(problem: Any, order: Indices) -> tuple[Floats, float]:
        """Take one step for each query; return the averaged iterate and its objective."""
        function, descent, regulariser = problem.function, problem.descent, problem.regulariser
        assert descent is not None
        for query in order:
            gradient = function.query_gradient(int(query), descent.coefficients)
            descent.step(gradient, problem.rate(descent.n_steps + 1), regulariser)
        x = descent.average
        return x, function(x)[0] + regulariser.penalty(x)
