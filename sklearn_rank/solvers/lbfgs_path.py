"""All coefficients at once, by L-BFGS: of an objective, or along smooth ones that approach it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklearn_rank._core.protocols import Floats, Solution, require
from sklearn_rank._core.warnings import warn
from sklearn_rank.solvers._lbfgs import CoefficientObjective, Function, minimise
from sklearn_rank.solvers._solver import STOPPED, BoostingSolver


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

    on_cluster = True
    needs_smooth = True
    has_ridge = True
    has_path = True
    moves_all = True

    def solve(self, problem: Any, record: Any) -> None:
        """Minimise; of several processes the first does, and the others evaluate with it."""
        weak_rankers, owner = problem.weak_rankers, problem.posing.owner
        for ability in ("n_coordinates", "scores", "pull_back"):
            require(weak_rankers, ability, f"solver='lbfgs' of {owner}")
        start = record.coefficients.dense(weak_rankers.n_coordinates)
        history, n_before = record.history, len(record.history.objective)
        earlier = np.zeros_like(start)
        earlier[history.coordinates] = history.decreases

        def on_iterate(x: Floats, values: list[float]) -> bool:
            return _replace(record, x, earlier, values[-1])

        solution = self._minimise(problem, start, record, on_iterate)
        if solution.message not in ("", STOPPED):
            warn(
                f"{owner} with solver='lbfgs' stopped before tol={problem.tol:g} was "
                f"reached ({solution.message}). Data that can be ranked without error need "
                "alpha > 0; otherwise raise n_estimators.",
                ConvergenceWarning,
            )
        history.objective[n_before:] = solution.values
        assert solution.credit is not None
        _replace(record, solution.x, earlier + solution.credit)

    @staticmethod
    def _minimise(
        problem: Any, start: Floats, record: Any, on_iterate: Callable[[Floats, list[float]], bool]
    ) -> Solution:
        """Minimise the objective, or the smooth ones of its path."""

        def function(objective: Any) -> CoefficientObjective:
            return CoefficientObjective(objective, problem.weak_rankers, problem.alpha)

        exact, make_path = problem.objective, getattr(problem.objective, "smooth_path", None)
        path = [function(one) for one in ([exact] if make_path is None else make_path())]

        def solve(served: Mapping[str, Callable[..., Any]]) -> Solution:
            stages = [partial(served["stage"], number) for number in range(len(path))]
            options = {"tol": problem.tol, "on_iterate": served["on_iterate"]}
            if make_path is None:
                return minimise(stages[0], start, max_iter=record.n_left, **options)
            n_iterations = record.n_iterations
            return minimise_along(stages, served["target"], start, max_iter=n_iterations, **options)

        functions: dict[str, Callable[..., Any]] = {
            "stage": lambda number, coefficients: path[number](coefficients),
            "target": function(exact).value,
            "on_iterate": on_iterate,
        }
        return problem.preferences.lead(solve, functions)


def _replace(record: Any, x: Floats, credit: Floats, value: float | None = None) -> bool:
    """Note the coefficients that are not zero; return whether the fit ends."""
    used = np.flatnonzero(x)
    return bool(record.replace(used, x[used], credit[used], value))


def minimise_along(
    path: Iterable[Function],
    target: Callable[[Floats], float],
    start: Floats,
    *,
    max_iter: int,
    tol: float,
    on_iterate: Callable[[Floats, list[float]], bool],
) -> Solution:
    """Minimise smooth functions one after the other; keep the best iterate of the target.

    Each is minimised from the last iterate of the
    one before, in at most `max_iter` iterations, so that the solution is never worse than that
    of the first. `values` are the lowest values of the target so far, which `on_iterate` is
    given after each iteration.
    """
    best, least = start, target(start)
    values: list[float] = []

    def keep_best(coefficients: Floats, _: list[float]) -> bool:
        nonlocal best, least
        value = target(coefficients)
        if value < least:
            best, least = coefficients, value
        values.append(least)
        return on_iterate(coefficients, values)

    x, credit, message = start, np.zeros_like(start), ""
    for function in path:
        stage = minimise(function, x, max_iter=max_iter, tol=tol, on_iterate=keep_best)
        assert stage.credit is not None
        x, credit, message = stage.x, credit + stage.credit, stage.message
        if message == STOPPED:
            break
    return Solution(best, values or [least], len(values), message, credit=credit)
