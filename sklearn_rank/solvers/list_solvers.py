"""Solvers of a listwise loss of linear scores: all queries at once, or one after the other."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from sklearn.utils import check_random_state

from sklearn_rank._core.arrays import Floats, Function, Indices, Setting
from sklearn_rank._core.protocols import IterateHook, Solution
from sklearn_rank._core.sums import ALL_HERE, Functions, Sums
from sklearn_rank.solvers._solver import STOPPED, Solver, SolverTraits
from sklearn_rank.solvers.regularisers import RegularisedProblem, Regulariser


class QueryLoss(Protocol):
    """The mean over queries of a loss of linear scores, as a function of the coefficients."""

    @property
    def n_queries(self) -> int:
        """Number of queries."""

    @property
    def is_twice_differentiable(self) -> bool:
        """Whether there is a `hessian`."""

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Return value and gradient."""

    def hessian(self, w: Floats, columns: Indices) -> Floats:
        """Return the second derivatives with respect to the coefficients `columns`."""

    def query_gradient(self, query: int, w: Floats) -> Floats:
        """Return the gradient of the loss of one query alone."""

    def variance(self) -> Floats:
        """Return the mean curvature in each coefficient at w = 0."""


@dataclass(eq=False)
class OnlineDescent:
    r"""The state of averaged online gradient descent: one loss per step.

    .. math:: w_{t+1} = \operatorname{prox}_{\eta_t \Omega}(w_t - \eta_t \nabla f_t(w_t)),
        \qquad \bar w = \frac1T \sum_{t=1}^T w_t

    with :math:`f_t` the loss of the query of step t, and :math:`\Omega` the penalty and the ball of
    a `Regulariser`. Tewari2015 has neither, and steps of one size.

    Attributes
    ----------
    coefficients : ndarray of shape (n_features,)
        :math:`w_{T+1}`, at which the next gradient is taken.
    total : ndarray of shape (n_features,)
        :math:`\sum_t w_t`.
    n_steps : int
        T.

    References
    ----------
    Tewari2015, sec. 5 (the step), Theorem 5 (the average).
    """

    coefficients: Floats
    total: Floats
    n_steps: int = 0

    @property
    def average(self) -> Floats:
        r"""The averaged iterate :math:`\bar w`."""
        return self.total / max(self.n_steps, 1)


@dataclass(eq=False)
class ListProblem:
    """What a `LinearSolver` minimises: a mean listwise loss plus a penalty, over a ball.

    Attributes
    ----------
    function : QueryLoss
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
        The number by which the loss divides the scores.
    descent : OnlineDescent or None
        The state of online descent, which a solver changes.
    rate : callable
        Maps the number of a step of online descent, counted from 1, to its size.
    random_state : int, RandomState or None
        Seed for the order of the queries.
    rows : Sums
        Sums over all rows, if they are not all here.
    """

    function: QueryLoss
    regulariser: Regulariser
    start: Floats
    max_iter: int
    tol: float
    on_iterate: IterateHook
    scale: float = 1.0
    descent: OnlineDescent | None = None
    rate: Callable[[int], float] = float
    random_state: Setting = None
    rows: Sums = ALL_HERE


class LinearSolver(Solver):
    """Base class of solvers that find coefficients of the features.

    Examples
    --------
    >>> from sklearn_rank.solvers import SOLVERS
    >>> [name for name, solver in SOLVERS["linear"].items() if solver.traits.is_online]
    ['ogd']
    """

    @abstractmethod
    def solve(self, problem: ListProblem) -> Solution:
        """Return the coefficients; the message says how far they are from the tolerance.

        Parameters
        ----------
        problem : ListProblem
            Loss, penalty, ball and settings.
        """


class RegularisedLBFGS(LinearSolver):
    """L-BFGS; projected gradients for a norm constraint or l1; Newton's method for few features.

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

    traits = SolverTraits(on_cluster=True)

    def solve(self, problem: ListProblem) -> Solution:
        """Return the minimum; with several processes, the first one finds it."""
        objective = problem.function
        curvature = objective.variance() / problem.scale**2

        def minimise_here(functions: Functions) -> Solution:
            callables = functions["objective"], functions["on_iterate"], functions.get("hessian")
            settings = problem.regulariser, curvature, problem.max_iter, problem.tol
            return RegularisedProblem(*settings, *callables).minimise(problem.start)

        functions: dict[str, Function] = {"objective": objective, "on_iterate": problem.on_iterate}
        if objective.is_twice_differentiable:
            functions["hessian"] = objective.hessian
        solution = problem.rows.lead(minimise_here, functions)
        if solution.message in ("", STOPPED):
            return solution
        error = f"its error is {solution.residual:.3g} times that of zero coefficients"
        return replace(solution, message=error)


class OnlineGradientDescent(LinearSolver):
    """Averaged online gradient descent, one query per step.

    The first pass is the algorithm of Tewari2015, sec. 5.

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

    traits = SolverTraits(is_online=True)

    def solve(self, problem: ListProblem) -> Solution:
        """Take passes over the queries until one changes the objective by at most `tol`.

        The first pass is the algorithm of Tewari2015, sec. 5. Further ones, each in a random order,
        go beyond it.
        """
        rng, values, value_change = check_random_state(problem.random_state), [np.inf], np.inf
        n_queries = problem.function.n_queries
        # One pass is learning from a stream, which has no convergence to reach.
        message = "the last pass changed the objective by {:.3g}" if problem.max_iter > 1 else ""
        for pass_index in range(problem.max_iter):
            order = rng.permutation(n_queries) if pass_index else np.arange(n_queries)
            x, value = self.take_pass(problem, order)
            value_change = abs(values[-1] - value)
            values.append(value)
            if problem.on_iterate(x, values[1:]) or value_change <= problem.tol * abs(value):
                message = ""
                break
        return Solution(x, values[1:], len(values) - 1, message.format(value_change))

    @staticmethod
    def take_pass(problem: ListProblem, order: Indices) -> tuple[Floats, float]:
        """Take one step for each query; return the averaged iterate and its objective."""
        objective, descent, regulariser = problem.function, problem.descent, problem.regulariser
        assert descent is not None
        # t is the i of sec. 5, and T its n, over all passes.
        for query in order:
            # 1. The gradient at w_t of f_t(w) = phi(X w, y), one query: X' grad_s phi.
            w_t = descent.coefficients
            gradient = objective.query_gradient(int(query), w_t)
            # 2. w_t joins the average.
            descent.total, descent.n_steps = descent.total + w_t, descent.n_steps + 1
            # 3. w_{t+1} = w_t - eta_t gradient. Beyond the paper: the penalty and the ball, and an
            # eta_t that may change; there it is constant (Theorem 5, eq. 7).
            eta_t = problem.rate(descent.n_steps)
            descent.coefficients = regulariser.proximal(w_t - eta_t * gradient, eta_t)
        # 4. The average of w_1 to w_T (Theorem 5); beyond the paper, its objective.
        x = descent.average
        return x, objective(x)[0] + regulariser.penalty(x)
