"""Bags: the mean of fits to bootstrap samples, which is one model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Floats, Indices, require
from sklearn_rank._core.rows import Rows, number_of_rows
from sklearn_rank.estimators._boosting.problem import BoostingProblem, History
from sklearn_rank.estimators._boosting.record import Record

_MOST_DRAWS = 2**53


def fit_bags(ranker: Any, data: Rows, history: History, threads: ThreadPool) -> dict[str, Any]:
    """Fit bag after bag and return the fitted attributes of their mean."""
    data = data.distinct()
    problem = ranker._make_problem(data, history, threads)
    bags = Bags()
    observer = ranker._make_observer(
        problem.data, "bag", ranker.n_bags, lambda: _collect(ranker, problem, bags)
    )
    for number in range(ranker.n_bags):
        rng = np.random.default_rng([history.seed, number])
        bag = _bag_of(problem, draw_weights(problem, rng))
        bags.fits.append(_fit_bag(ranker, bag, history))
        value = bags.fits[-1].objective[-1:] or [bag.objective.value(np.zeros(len(bag.data.y)))]
        if observer(number + 1, value[0]):
            break
    ranker._warn_if_empty(bags.coordinates)
    return _collect(ranker, problem, bags)


@dataclass
class Bags:
    """The bags so far.

    Attributes
    ----------
    fits : list of History
        Their iterations.
    """

    fits: list[History] = field(default_factory=list)

    @property
    def coordinates(self) -> list[int]:
        """The weak rankers that some bag uses, in the order of the first use."""
        used = [j for bag in self.fits for j, c in _net(bag, bag.steps).items() if c != 0]
        return list(dict.fromkeys(used))

    def weights(self) -> Floats:
        """Return the coefficients, shape (n_bags, n_weak_rankers)."""
        return self._table([_net(bag, bag.steps) for bag in self.fits])

    def credit(self) -> Floats:
        """Return the mean credit of each weak ranker."""
        return np.mean(self._table([_net(bag, bag.decreases) for bag in self.fits]), axis=0)

    def curve(self) -> Floats:
        """Return the mean objective after each round; a bag that has ended keeps its last."""
        curves = [bag.objective for bag in self.fits]
        n_rounds = max(map(len, curves))
        rows = [curve + curve[-1:] * (n_rounds - len(curve)) for curve in curves]
        return np.mean([row for row in rows if row] or np.zeros((1, 0)), axis=0)

    def _table(self, by_bag: list[dict[int, float]]) -> Floats:
        coordinates = self.coordinates
        rows = [[one.get(j, 0.0) for j in coordinates] for one in by_bag]
        return np.reshape(np.array(rows), (len(rows), len(coordinates)))


def _net(bag: History, values: list[float]) -> dict[int, float]:
    """Return the sum of values of rounds, for each weak ranker."""
    sums = dict.fromkeys(bag.coordinates, 0.0)
    for index, value in zip(bag.coordinates, values, strict=True):
        sums[index] += value
    return sums


def _bag_of(problem: BoostingProblem, weight: Floats) -> BoostingProblem:
    """Return the problem of a bag whose rows have these weights, in fit order."""
    drawn = np.flatnonzero(weight)
    rows = problem.preferences.order[drawn]
    data = problem.data.take(rows, weight[drawn])
    preferences = data.preferences
    at_rows = require(problem.weak_rankers, "at_rows", "n_bags")
    stumps = at_rows(drawn[preferences.order], preferences.weight)
    return BoostingProblem.pose(data, stumps, problem.threads, problem.posing)


def _fit_bag(ranker: Any, problem: BoostingProblem, history: History) -> History:
    """Return the iterations of a fit to a bag."""
    bag = History(history.seed, history.settings)
    record = Record(problem, bag, ranker.n_estimators)
    record.step_rule = ranker._make_step_rule(problem, record.coefficients)
    ranker.solver_in_use.solve(problem, record)
    return bag


def _collect(ranker: Any, problem: BoostingProblem, bags: Bags) -> dict[str, Any]:
    """Return the fitted attributes of the mean of the bags."""
    indices, by_bag = np.array(bags.coordinates, dtype=np.intp), bags.weights()
    weights = by_bag.mean(axis=0)
    fitted: dict[str, Any] = {
        **problem.model_attributes(indices, weights, bags.credit()),
        "bag_weights_": by_bag,
        "objective_curve_": bags.curve(),
        "n_iter_": len(bags.curve()),
    }
    scores = problem.scores(indices.tolist(), weights.tolist())
    if problem.positive is not None:
        fitted["offset_"] = ranker.offset_of(problem.data, scores)
    if ranker._tracks_margin:
        margin, size = problem.preferences.smallest_difference(scores, scores), abs(weights)
        fitted["margin_"] = margin / size.sum() if size.any() else 0.0
    return fitted


def draw_weights(problem: BoostingProblem, rng: np.random.Generator) -> Floats:
    """Return the weights of the rows in a bootstrap sample, in fit order.

    With queries whole queries are drawn, of those that have a pair. In one list rows are drawn,
    of each class as many as it has (with graded relevance of the lowest grade and of the
    others), so that a bag always has a pair; a weight is a multiplicity, so that a row of
    weight 2 is drawn as the row twice would be.
    """
    pairs, data = problem.preferences, problem.data
    if data.qid is None:
        relevance = data.y[pairs.order]
        is_lowest = relevance == relevance.min()
        weight = np.zeros(pairs.n_rows)
        for rows in (np.flatnonzero(is_lowest), np.flatnonzero(~is_lowest)):
            weight[rows] = _draw_rows(pairs.weight[rows], rng)
        return weight
    n_levels = pairs.queries.length
    paired = np.flatnonzero(n_levels > 1)
    drawn = np.bincount(rng.choice(paired, len(paired)), minlength=len(n_levels))
    by_row: Floats = pairs.spread(pairs.queries.spread(drawn))
    return pairs.weight * by_row


def _draw_rows(weight: Floats, rng: np.random.Generator) -> Floats:
    """Return weights of rows in a sample of as many rows as they stand for, of one sum.

    See `number_of_rows`.
    """
    total = float(weight.sum())
    n_draws = int(min(round(number_of_rows(weight)), _MOST_DRAWS))
    drawn: Indices = rng.multinomial(n_draws, weight / total)
    return drawn * (total / n_draws)
