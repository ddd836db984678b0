"""Bags: the mean of fits to bootstrap samples, which is one model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from sklearn_rank._parallel import ThreadPool
from sklearn_rank._protocols import Floats, Indices, require
from sklearn_rank._validation import Constraint, Number
from sklearn_rank.base import TrainingData
from sklearn_rank.estimators._boosting_problem import BoostingProblem, History
from sklearn_rank.models import as_model
from sklearn_rank.rows.distinct import distinct_rows, number_of_rows
from sklearn_rank.solvers import Coefficients

_MOST_DRAWS = 2**53


@dataclass
class BagFit:
    """The model of one bag.

    Attributes
    ----------
    coefficients : dict of int to float
        Net coefficient of each weak ranker, by coordinate.
    credit : dict of int to float
        Decrease of the objective credited to each.
    curve : list of float
        The objective after each round.
    """

    coefficients: dict[int, float]
    credit: dict[int, float]
    curve: list[float]


@dataclass
class Bags:
    """The bags so far.

    Attributes
    ----------
    fits : list of BagFit
        Their models.
    """

    fits: list[BagFit] = field(default_factory=list)

    @property
    def coordinates(self) -> list[int]:
        """The weak rankers that some bag uses, in the order of the first use."""
        used = [index for bag in self.fits for index, c in bag.coefficients.items() if c != 0]
        return list(dict.fromkeys(used))

    def weights(self) -> Floats:
        """Return the coefficients, shape (n_bags, n_weak_rankers)."""
        rows = [[bag.coefficients.get(j, 0.0) for j in self.coordinates] for bag in self.fits]
        return np.array(rows).reshape(len(self.fits), len(self.coordinates))

    def credit(self) -> Floats:
        """Return the mean credit of each weak ranker."""
        rows = [[bag.credit.get(j, 0.0) for j in self.coordinates] for bag in self.fits]
        return np.mean(np.reshape(rows, (len(self.fits), len(self.coordinates))), axis=0)

    def curve(self) -> Floats:
        """Return the mean objective after each round; a bag that has ended keeps its last."""
        n_rounds = max(len(bag.curve) for bag in self.fits)
        rows = [bag.curve + bag.curve[-1:] * (n_rounds - len(bag.curve)) for bag in self.fits]
        return np.mean([row for row in rows if row] or np.zeros((1, 0)), axis=0)


class BagsMixin:
    """The parameter `n_bags` of a boosting ranker, before `BoostingRanker` among the bases."""

    _bags_allowed: ClassVar[dict[str, Constraint]] = {"n_bags": Number(1, integer=True)}

    def _check_combination(self: Any) -> None:
        super()._check_combination()  # type: ignore[misc]
        refused = {
            f"weak_ranker={self.weak_ranker!r}": as_model(self.weak_ranker).name != "stump",
            "solver='lbfgs'": getattr(self, "solver", "") == "lbfgs",
            "warm_start=True": self.warm_start,
            f"n_iter_no_change={self.n_iter_no_change}": self.n_iter_no_change is not None,
        }
        for setting, is_set in refused.items():
            if self.n_bags > 1 and is_set:
                raise ValueError(
                    f"n_bags={self.n_bags} of {type(self).__name__} is the mean of fits to "
                    "bootstrap samples, each of stumps that are chosen one by one: it can't be "
                    f"used with {setting}."
                )

    def _check_training(self: Any, data: TrainingData) -> None:
        super()._check_training(data)  # type: ignore[misc]
        if self.n_bags > 1 and data.held_out is not None:
            raise ValueError(
                f"n_bags={self.n_bags} of {type(self).__name__} is the mean of several fits, which "
                "has no rounds: it can't be used with X_val."
            )

    def _fit(self: Any, data: TrainingData) -> dict[str, Any]:
        if self.n_bags == 1:
            fitted: dict[str, Any] = super()._fit(data)  # type: ignore[misc]
            return fitted
        history = self._open_history(data)
        rows, weight, qid = distinct_rows(data.X, data.y, data.qid, data.weight)
        data = replace(data.take(rows, weight), qid=qid)
        with ThreadPool(self.n_jobs, data.X.size).running() as threads:
            problem = self._make_problem(data, history, threads)
            return self._fit_bags(problem, history)

    def _fit_bags(self: Any, problem: BoostingProblem, history: History) -> dict[str, Any]:
        """Fit bag after bag and return the fitted attributes of their mean."""
        bags, known = Bags(), self._first_stumps(problem)
        observer = self._make_observer(
            problem.data, "bag", self.n_bags, lambda: self._collect_bags(problem, bags)
        )
        for number in range(self.n_bags):
            rng = np.random.default_rng([history.seed, number])
            share = (number + 1) / self.n_bags
            earlier = [*known, *bags.coordinates]
            bag = self._bag_of(problem, draw_weights(problem, rng), earlier, share)
            bags.fits.append(self._fit_bag(bag))
            value = bags.fits[-1].curve[-1:] or [bag.objective.value(np.zeros(len(bag.data.y)))]
            if observer(number + 1, value[0]):
                break
        self._warn_if_empty(bags.coordinates)
        return self._collect_bags(problem, bags)

    def _first_stumps(self: Any, problem: BoostingProblem) -> list[int]:
        """Return the stumps that bags of a model of bounded size may use from the start.

        Those of a fit to all rows: the first bags would fill the model with their own choices.
        """
        stumps = self._stumps
        if stumps.max_thresholds is None and stumps.max_features_used is None:
            return []
        whole = self._bag_of(problem, problem.preferences.weight, [], 1.0)
        return Bags([self._fit_bag(whole)]).coordinates

    def _bag_of(
        self: Any, problem: BoostingProblem, weight: Floats, earlier: list[int], share: float
    ) -> BoostingProblem:
        """Return the problem of a bag whose rows have these weights, in fit order."""
        drawn = np.flatnonzero(weight)
        rows = problem.preferences.order[drawn]
        data = problem.data.take(rows, weight[drawn])
        preferences = data.preferences
        at_rows = require(problem.weak_rankers, "at_rows", "n_bags")
        return BoostingProblem(
            data,
            preferences,
            self._make_objective(preferences, problem.threads),
            at_rows(drawn[preferences.order], preferences.weight, earlier, share),
            problem.threads,
        )

    def _fit_bag(self: Any, problem: BoostingProblem) -> BagFit:
        """Return the model of a bag, found round by round."""
        coefficients, gain = Coefficients(), self._make_gain(problem)
        state = self._make_state(problem, np.zeros(problem.preferences.n_rows), gain)
        fit = BagFit(coefficients.values, {}, [])
        rounds: Iterator[Any] = self._descend(problem, state, coefficients, gain)
        for done in islice(rounds, self.n_estimators):
            fit.credit[done.index] = fit.credit.get(done.index, 0.0) + done.decrease
            fit.curve.append(state.value)
        return fit

    def _collect_bags(self: Any, problem: BoostingProblem, bags: Bags) -> dict[str, Any]:
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
        if self.relevance == "binary":
            fitted["offset_"] = self.offset_of(problem.data, scores)
        if self._tracks_margin:
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
