"""Bags: the mean of fits to bootstrap samples, which is one model."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats, require
from sklearn_rank._core.rows import number_of_rows
from sklearn_rank.estimators._boosting.problem import BoostingProblem, History
from sklearn_rank.estimators._boosting.record import IterationRecord, class_offset
from sklearn_rank.solvers import BoostingSolver

_MOST_DRAWS = 2**53
"""Rows drawn for a bag at most: larger counts are no exact floats."""


class Bags:
    """The bags so far, of the distinct rows of a problem.

    Parameters
    ----------
    problem : BoostingProblem
        The problem of all rows.
    history : History
        Seed and settings of the fit.

    Attributes
    ----------
    fits : list of History
        The iterations of each bag.
    """

    def __init__(self, problem: BoostingProblem, history: History) -> None:
        self._problem, self._history = problem, history
        self.fits: list[History] = []

    def fit_next(self, solver: BoostingSolver, n_iterations: int) -> float:
        """Fit another bag and return its last objective."""
        problem, seed = self._problem, self._history.seed
        weight = draw_weights(problem, np.random.default_rng([seed, len(self.fits)]))
        drawn_rows = np.flatnonzero(weight)
        data = problem.data.take(problem.preferences.order[drawn_rows], weight[drawn_rows])
        at_rows = require(problem.weak_rankers, "at_rows", "n_bags")
        stumps = at_rows(drawn_rows[data.preferences.order], data.preferences.weight)
        bag = BoostingProblem.of_rows(data, stumps, problem.threads, problem.config)
        fit = History(seed, self._history.settings)
        solver.solve(bag, IterationRecord(bag, fit, n_iterations))
        self.fits.append(fit)
        if not fit.objective:  # no weak ranker has an edge
            return bag.objective.value(np.zeros(len(bag.data.y)))
        return fit.objective[-1]

    @property
    def coordinates(self) -> list[int]:
        """The weak rankers used by any bag, in the order of first use."""
        used = [j for fit in self.fits for j, weight in _net(fit, fit.steps).items() if weight != 0]
        return list(dict.fromkeys(used))

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes of the mean of the bags."""
        problem, coordinates, curve = self._problem, self.coordinates, self._mean_curve()
        bag_weights, bag_credit = np.zeros((2, len(self.fits), len(coordinates)))
        for row, fit in enumerate(self.fits):
            for table, values in ((bag_weights, fit.steps), (bag_credit, fit.decreases)):
                sums = _net(fit, values)
                table[row] = [sums.get(j, 0.0) for j in coordinates]
        # The mean of sums of weak rankers is the sum with the mean coefficients.
        weights, credit = bag_weights.mean(axis=0), bag_credit.mean(axis=0)
        indices = np.array(coordinates, dtype=np.intp)
        fitted: dict[str, Any] = {
            **problem.model_attributes(indices, weights, credit),
            "bag_weights_": bag_weights,
            "objective_curve_": curve,
            "n_iter_": len(curve),
        }
        scores = problem.scores(coordinates, weights.tolist())
        if problem.positive is not None:
            fitted["offset_"] = class_offset(problem.data, scores, problem.config.balances_classes)
        if problem.config.tracks_margin:
            margin, size = problem.preferences.smallest_difference(scores, scores), abs(weights)
            fitted["margin_"] = margin / size.sum() if size.any() else 0.0
        return fitted

    def _mean_curve(self) -> Floats:
        """Return the mean objective after each round; bags that have ended keep their last one."""
        curves = [fit.objective for fit in self.fits]
        n_rounds = max(map(len, curves))
        rows = [curve + curve[-1:] * (n_rounds - len(curve)) for curve in curves]
        return np.mean([row for row in rows if row] or np.zeros((1, 0)), axis=0)


def _net(fit: History, values: list[float]) -> dict[int, float]:
    """Return, for each weak ranker, the sum of the values of its rounds."""
    sums = dict.fromkeys(fit.coordinates, 0.0)
    for index, value in zip(fit.coordinates, values, strict=True):
        sums[index] += value
    return sums


def draw_weights(problem: BoostingProblem, rng: np.random.Generator) -> Floats:
    """Return the weights of the rows in a bootstrap sample, in fit order.

    With queries, queries that have a pair are drawn whole. In one list rows are drawn, from each
    class as many as it has (with graded relevance, from the lowest grade and from the others), so
    that a bag always has a pair. A weight is a multiplicity: a row of weight 2 is drawn as the row
    twice would be.
    """
    preferences, data = problem.preferences, problem.data
    if data.qid is None:
        relevance = data.y[preferences.order]
        is_lowest = relevance == relevance.min()
        weight = np.zeros(preferences.n_rows)
        for rows in (np.flatnonzero(is_lowest), np.flatnonzero(~is_lowest)):
            # As many draws as rows, with probability proportional to the weight; their sum stays.
            multiplicity = preferences.weight[rows]
            total, n_rows = float(multiplicity.sum()), number_of_rows(multiplicity)
            n_draws = int(min(round(n_rows), _MOST_DRAWS))
            weight[rows] = rng.multinomial(n_draws, multiplicity / total) * (total / n_draws)
        return weight
    n_levels = preferences.queries.length
    paired = np.flatnonzero(n_levels > 1)  # queries with a pair: others teach nothing
    query_draws = np.bincount(rng.choice(paired, len(paired)), minlength=len(n_levels))
    row_draws: Floats = preferences.spread(preferences.queries.spread(query_draws))
    return preferences.weight * row_draws
