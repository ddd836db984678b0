"""L-BFGS over all coefficients: SciPy's with a record, and the solver for weak rankers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from sklearn.exceptions import ConvergenceWarning

from sklearn_rank._core.arrays import Ability, Floats
from sklearn_rank._core.callbacks import no_hook
from sklearn_rank._core.protocols import IterateHook, LinearScores, Objective, Solution, require
from sklearn_rank._core.sums import Functions
from sklearn_rank._core.tolerances import FLAT_SLOPE, RUNAWAY
from sklearn_rank._core.warnings import warn
from sklearn_rank.solvers._solver import STOPPED, BoostingSolver, Problem, Record, SolverTraits

_NO_STEP = 2
"""SciPy's status when its line search fails."""

ValueAndGradient = Callable[[Floats], tuple[float, Floats]]
"""Maps coefficients to a value and its gradient."""

IsMinimum = Callable[[Floats, Floats], bool] | None
"""Whether coefficients, with this gradient, are a minimum; None: the decrease decides."""

Residual = Callable[[Floats, Floats], float]
"""Distance of coefficients, with this gradient, from meeting the conditions of a minimum."""


class CoefficientObjective:
    r"""The objective as a function of the coefficients, with a ridge.

    .. math:: F(w) = L(H w) + \frac\alpha2 \|w\|^2, \qquad
        \nabla F(w) = H^\top \nabla L(H w) + \alpha w

    where L is the objective, of scores, and ``H @ w`` are the scores of the model.

    Parameters
    ----------
    objective : Objective
        L.
    model : LinearScores
        H: `scores` and `pull_back` are its products.
    alpha : float, default=0.0
        Strength of the ridge.
    """

    def __init__(self, objective: Objective, model: LinearScores, alpha: float = 0.0) -> None:
        self.objective = objective
        self.model = model
        self.alpha = alpha

    def __call__(self, coefficients: Floats) -> tuple[float, Floats]:
        """Return value and gradient."""
        value, gradient = self.objective.value_and_gradient(self.model.scores(coefficients))
        slopes = self.alpha * coefficients + self.model.pull_back(gradient)
        return value + self._ridge(coefficients), slopes

    def value(self, coefficients: Floats) -> float:
        """Return the value; the objective need not be smooth."""
        return self.objective.value(self.model.scores(coefficients)) + self._ridge(coefficients)

    def _ridge(self, coefficients: Floats) -> float:
        return self.alpha / 2 * float(coefficients @ coefficients)


def credit_of(old_gradient: Floats, new_gradient: Floats, step: Floats, decrease: float) -> Floats:
    """Divide the decrease of an iteration among the coefficients.

    As the path integral of minus the gradient, by the trapezoidal rule, of the gradients
    at its ends. After a step so long that the rule has the wrong sign, by that at its start.
    """
    share: Floats = -(old_gradient + new_gradient) / 2 * step
    if share.sum() <= 0:
        share = -old_gradient * step
    share_sum = share.sum()
    return share * (decrease / share_sum) if share_sum > 0 else np.zeros_like(share)


class _Trace:
    """The iterations: their values, and the decrease credited to each coefficient."""

    def __init__(
        self, objective: ValueAndGradient, start: Floats, hook: IterateHook, is_minimum: IsMinimum
    ) -> None:
        self._objective, self._on_iterate, self._is_minimum = objective, hook, is_minimum
        self.x = start.copy()
        self.value, self.gradient = objective(start)
        self._last_point = self._lowest_point = start, self.value, self.gradient
        self.flat = FLAT_SLOPE * max(1.0, float(np.max(np.abs(self.gradient))))
        self.values: list[float] = []
        self.credit = np.zeros_like(start)
        self.is_stopped = self.is_unbounded = False
        self.is_converged = is_minimum is not None and is_minimum(start, self.gradient)

    def evaluate(self, x: Floats) -> tuple[float, Floats]:
        """Return value and gradient, and keep them for `record`."""
        value, gradient = self._objective(x)
        self._last_point = x.copy(), value, gradient
        if value < self._lowest_point[1]:
            self._lowest_point = self._last_point
        return value, gradient

    def record(self, intermediate_result: OptimizeResult) -> None:
        """Record an iteration; SciPy requires this name of the parameter."""
        x, (last_tried, _, gradient) = intermediate_result.x.copy(), self._last_point
        if not np.array_equal(x, last_tried):
            gradient = self._objective(x)[1]
        self._move(x, float(intermediate_result.fun), gradient)
        if self.is_over:
            raise StopIteration

    def take_lowest(self) -> None:
        """Go to the lowest point found by a failed line search, if it is lower."""
        if self._lowest_point[1] < self.value:
            self._move(*self._lowest_point)

    @property
    def is_over(self) -> bool:
        """Whether the conditions of a minimum are met, or no iteration may follow."""
        return self.is_converged or self.is_stopped or self.is_unbounded

    def _move(self, x: Floats, value: float, gradient: Floats) -> None:
        self.credit += credit_of(self.gradient, gradient, x - self.x, self.value - value)
        self.x, self.value, self.gradient = self._lowest_point = x, value, gradient
        self.values.append(value)
        self.is_stopped = self._on_iterate(x, self.values)
        if self._is_minimum is not None:
            self.is_converged = self._is_minimum(x, gradient)
        self.is_unbounded = self._is_minimum is None and value < RUNAWAY


def _is_early(result: OptimizeResult, flat_slope: float, may_restart: bool) -> bool:
    """Whether a run has ended where another, from a fresh start, may continue.

    At a flat point a line search without a step has met rounding; elsewhere it has failed. A near
    bound or bend can leave it no room: then the run ends too early with status 0.
    """
    is_steep = bool(np.max(np.abs(result.jac)) > flat_slope)
    return is_steep if result.status == _NO_STEP else result.status == 0 and may_restart


def minimise(
    objective: ValueAndGradient,
    start: Floats,
    max_iter: int,
    tol: float,
    on_iterate: IterateHook = no_hook,
    residual: Residual | None = None,
    bounds: Sequence[tuple[float | None, float | None]] | None = None,
) -> Solution:
    """Minimise a smooth function from `start`, within bounds if there are any.

    Ends when the relative decrease of an iteration, or the `residual` if there is one, is at most
    `tol`, or after `max_iter` iterations. `on_iterate` is called after each; a solution that it
    stopped has the message `STOPPED`.
    """
    is_minimum = None if residual is None else lambda x, gradient: residual(x, gradient) <= tol
    trace = _Trace(objective, start, on_iterate, is_minimum)
    if trace.is_converged or max_iter < 1:  # SciPy would do one iteration
        message = "" if trace.is_converged else "no iterations left"
        return Solution(start.copy(), [], 0, message, credit=trace.credit)
    # With a residual SciPy's own conditions are switched off.
    options = {
        "maxfun": 20 * max_iter,
        "maxcor": 20,
        "ftol": tol if residual is None else 0.0,
        "gtol": tol * 1e-3 if residual is None else 0.0,
    }

    def run(x: Floats) -> OptimizeResult:
        settings = {"jac": True, "method": "L-BFGS-B", "bounds": bounds, "callback": trace.record}
        limits = {"maxiter": max_iter - len(trace.values)}
        return minimize(trace.evaluate, x, **settings, options=options | limits)

    # Restart from the last point, with an empty memory, until that brings no decrease.
    result, may_restart, settled = run(start), bounds is not None, False
    while (
        not settled and len(trace.values) < max_iter and _is_early(result, trace.flat, may_restart)
    ):
        old_value, may_restart = trace.value, True
        trace.take_lowest()
        if trace.is_over or len(trace.values) >= max_iter:
            break
        result = run(trace.x)
        settled = not old_value - trace.value > tol * abs(old_value)  # also where the value is NaN
    is_end = (settled and bounds is not None) or not _is_early(result, trace.flat, may_restart)
    at_minimum = result.status == 0 or (result.status == _NO_STEP and is_end)
    converged = at_minimum if residual is None else trace.is_converged
    reason = "it is unbounded below" if trace.is_unbounded else str(result.message)
    message = "" if converged else STOPPED if trace.is_stopped else reason
    values = trace.values or [trace.value]
    return Solution(trace.x, values, len(trace.values), message, credit=trace.credit)


class LBFGS(BoostingSolver):
    """All coefficients of all weak rankers at once.

    A non-smooth objective with `smooth_path` is minimised along smooth ones that approach it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_rank import PNormPushRanker
    >>> from sklearn_rank.solvers import LBFGS
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> ranker = PNormPushRanker(solver=LBFGS(), alpha=1.0, tol=1e-3).fit(X, y)
    >>> ranker.score(X, y) > 0.99
    True
    """

    traits = SolverTraits(
        on_cluster=True, needs_smooth=True, has_ridge=True, has_path=True, moves_all=True
    )

    def solve(self, problem: Problem, record: Record) -> None:
        """Minimise; with several processes, the first one decides and all evaluate."""
        H: Ability = problem.weak_rankers
        for ability in ("n_coordinates", "scores", "pull_back"):
            require(H, ability, f"solver='lbfgs' of {problem.owner}")
        start, earlier_credit = np.zeros((2, H.n_coordinates))
        coordinates, start[coordinates], earlier_credit[coordinates] = record.model()
        n_earlier = len(record.objective)

        def report(w: Floats, credit: Floats, value: float | None = None) -> bool:
            nonzero = np.flatnonzero(w)
            return record.replace(nonzero, w[nonzero], credit[nonzero], value)

        def with_ridge(objective: Objective) -> CoefficientObjective:
            return CoefficientObjective(objective, H, problem.alpha)

        # A non-smooth objective, such as the push at p = inf, has a path of smooth ones.
        make_path: Ability = getattr(problem.objective, "smooth_path", None)
        path = [problem.objective] if make_path is None else make_path()
        stages = [with_ridge(objective) for objective in path]

        def minimise_here(functions: Functions) -> Solution:
            stage_calls = [partial(functions["stage"], number) for number in range(len(stages))]
            tol, hook = problem.tol, functions["on_iterate"]
            if make_path is None:
                return minimise(stage_calls[0], start, record.n_left, tol, hook)
            n_iterations = record.n_iterations
            return minimise_along(stage_calls, functions["exact"], start, n_iterations, tol, hook)

        functions: Functions = {
            "stage": lambda number, w: stages[number](w),
            "exact": with_ridge(problem.objective).value,
            "on_iterate": lambda w, values: report(w, earlier_credit, values[-1]),
        }
        solution = problem.preferences.lead(minimise_here, functions)
        if solution.message not in ("", STOPPED):
            warn(
                f"{problem.owner} with solver='lbfgs' stopped before tol={problem.tol:g} was "
                f"reached ({solution.message}). Data that can be ranked without error need "
                "alpha > 0; otherwise raise n_estimators.",
                ConvergenceWarning,
            )
        # Of a path the values are those of the iterate with the lowest exact objective so far.
        record.objective[n_earlier:] = solution.values
        assert solution.credit is not None
        report(solution.x, earlier_credit + solution.credit)


def minimise_along(
    path: Iterable[ValueAndGradient],
    exact_objective: Callable[[Floats], float],
    start: Floats,
    max_iter: int,
    tol: float,
    on_iterate: IterateHook,
) -> Solution:
    """Minimise smooth functions one after the other; keep the best iterate of the exact one.

    Each starts at the last iterate of the one before and takes at most `max_iter` iterations. The
    solution is the iterate with the lowest exact objective, never worse than `start`; its `values`
    are the lowest so far, which `on_iterate` gets after each iteration.
    """
    best_x, min_value = start, exact_objective(start)
    values: list[float] = []

    def keep_best(coefficients: Floats, _: list[float]) -> bool:
        nonlocal best_x, min_value
        value = exact_objective(coefficients)
        if value < min_value:
            best_x, min_value = coefficients, value
        values.append(min_value)
        return on_iterate(coefficients, values)

    x, credit, message = start, np.zeros_like(start), ""
    for function in path:
        stage = minimise(function, x, max_iter, tol, keep_best)
        assert stage.credit is not None
        x, credit, message = stage.x, credit + stage.credit, stage.message
        if message == STOPPED:
            break
    return Solution(best_x, values or [min_value], len(values), message, credit=credit)
