"""The parts of a boosting fit: the posed problem, its history, and fitted attributes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import (
    Candidate,
    Floats,
    Gain,
    Indices,
    Mask,
    Objective,
    ObjectiveState,
)
from sklearn_rank._core.rows import Rows, number_of_rows
from sklearn_rank._core.sums import shared_property
from sklearn_rank.models.kernel import working_rows
from sklearn_rank.objectives import ScoreState, SecondOrderState
from sklearn_rank.solvers import Round
from sklearn_rank.solvers.coordinate_descent import OptimalGain, PushStep, QuadraticGain, steepest

_LARGEST_LOG_SIZE = 700.0
"""Logarithm of the largest number of pairs: e of more would be zero."""

SELECTIONS = ("auto", "steepest", "optimal")

_RIDGE_OF_STUMPS = 20.0
"""Ridge of stumps in its unit: some sixty thresholds share what one coefficient is for others."""


@dataclass
class History:
    """The rounds so far. A warm start continues them; stored as a plain dict.

    Attributes
    ----------
    seed : int
        Seed of everything random in the fit.
    settings : dict
        Parameters that a warm start must not change.
    coordinates, steps, decreases : list
        Weak ranker, step and decrease of the objective of each round; of a model that was
        found as a whole, its weak rankers, coefficients and the decrease credited to each.
    objective, offsets, margins, smooth_margins, validation, losses : list of float
        Curves over rounds; the last two are of validation rows.
    """

    seed: int
    settings: dict[str, Any]
    coordinates: list[int] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    decreases: list[float] = field(default_factory=list)
    objective: list[float] = field(default_factory=list)
    offsets: list[float] = field(default_factory=list)
    margins: list[float] = field(default_factory=list)
    smooth_margins: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)

    def add(self, done: Round, value: float) -> None:
        """Add a round, after which the objective has this value."""
        self.coordinates.append(done.index)
        self.steps.append(done.step)
        self.decreases.append(done.decrease)
        self.objective.append(value)

    def truncate(self, n_rounds: int) -> None:
        """Remove later rounds; the curves of validation rows stay whole."""
        found = (self.coordinates, self.steps, self.decreases)
        for curve in (*found, self.objective, self.offsets, self.margins, self.smooth_margins):
            del curve[n_rounds:]


@dataclass(frozen=True, eq=False)
class Posing:
    """The settings from which a boosting ranker poses its problem.

    Attributes
    ----------
    owner : str
        Class of the ranker, for messages.
    make_objective : callable
        Returns the objective of some preferences.
    learning_rate, tol : float
        The ranker's parameters.
    alpha : float or None
        Strength of the ridge; None for rankers without one.
    power : float
        Power of the push, 1 for objectives without one.
    selection : {"auto", "steepest", "optimal"}
        What the search maximises.
    is_first_order : bool
        Whether the steps need the whole slope along h.
    """

    owner: str
    make_objective: Callable[[Preferences], Objective]
    learning_rate: float
    tol: float
    alpha: float | None = None
    power: float = 1.0
    selection: str = "steepest"
    is_first_order: bool = False


@dataclass(frozen=True, eq=False)
class BoostingProblem:
    """The parts of a boosting fit, as a `BoostingSolver` sees them.

    Attributes
    ----------
    data : Rows
        Rows to learn from.
    preferences : Preferences
        The comparable pairs.
    objective : Objective
        What is minimised.
    weak_rankers : WeakRankers
        The weak rankers on the training rows.
    threads : ThreadPool
        Threads.
    posing : Posing
        The settings.
    gain : Gain
        What a search maximises.
    """

    data: Rows
    preferences: Preferences
    objective: Objective
    weak_rankers: Any
    threads: ThreadPool
    posing: Posing
    gain: Gain = steepest

    @classmethod
    def pose(
        cls, data: Rows, weak_rankers: Any, threads: ThreadPool, posing: Posing
    ) -> BoostingProblem:
        """Pose the problem of some rows."""
        preferences = data.preferences
        objective = posing.make_objective(preferences)
        found = cls(data, preferences, objective, weak_rankers, threads, posing)
        return replace(found, gain=found._find_gain())

    @property
    def alpha(self) -> float:
        """Strength of the ridge."""
        return self.posing.alpha or 0.0

    @property
    def tol(self) -> float:
        """Relative decrease of the objective at which a fit ends."""
        return self.posing.tol

    def at(self, preferences: Preferences) -> BoostingProblem:
        """Return the problem of other rows, with the weak rankers and the gain of these."""
        objective = self.posing.make_objective(preferences)
        return replace(self, preferences=preferences, objective=objective)

    def state(self, scores: Floats) -> ObjectiveState:
        """Return the objective at some scores, in the form that is cheapest to move."""
        make: Callable[..., ObjectiveState] | None = getattr(self.objective, "state", None)
        if self.is_two_sided and make is not None:
            return make(scores, self.threads)
        kind = SecondOrderState if self._is_second_order else ScoreState
        return kind(self.objective, self.preferences, scores)

    def search(self, state: ObjectiveState) -> Candidate | None:
        """Return the weak ranker with the largest gain, the same in all processes."""
        found: Candidate | None = self.weak_rankers.search(state.gradient, self.gain)
        return self.preferences.agree(found)

    @property
    def positive(self) -> Mask | None:
        """Mask of the upper class in fit order; None in graded mode."""
        y = self.data.y
        return y[self.preferences.order] if y.dtype == np.bool_ else None

    @shared_property
    def n_rows(self) -> int:
        """Number of rows, of all processes."""
        return int(self.preferences.total(float(self.preferences.n_rows)))

    @property
    def is_two_sided(self) -> bool:
        """Whether the weak rankers are 0/1 and searched on a gradient in two groups."""
        return bool(getattr(self.weak_rankers, "is_two_sided", False))

    @property
    def has_curvature(self) -> bool:
        """Whether second derivatives are known."""
        return hasattr(self.objective, "value_gradient_curvature")

    @property
    def has_exact_steps(self) -> bool:
        """Whether steps of an exponential push are exact at little cost.

        They are where all pairs are of two segments, and of 0/1 weak rankers at p = 1.
        """
        objective: Any = self.objective
        if not hasattr(objective, "side_exponents"):
            return False
        is_linear = objective.p == 1 and self.is_two_sided
        return is_linear or self.preferences.bipartite_segments is not None

    @property
    def _is_second_order(self) -> bool:
        """Whether the steps or the gain need second derivatives."""
        needs_them = not (self.gain is steepest and self.has_exact_steps)
        return self.has_curvature and needs_them and not self.posing.is_first_order

    @shared_property
    def smoothing(self) -> float:
        r"""The e of the closed-form step, :math:`1 / (2 \max(N, N_\text{eff}))`.

        N is the total weight of the pairs and :math:`N_\text{eff} = N^2 / \sum (w_i w_k)^2`
        their effective number, which only weights below one make larger than N.
        """
        return self._smoothing_at(0.0)

    def auto_ridge(self, objective: Any) -> float:
        r"""Return a ridge in the unit :math:`\kappa / n` of the objective, given with curvature.

        :math:`\kappa` is the sum of its curvature over the rows at equal scores, a scale of the
        second derivatives along weak rankers. n counts the rows that have rows below them, or
        above them if those are fewer: of two classes the rarer one.
        """
        pairs = self.preferences
        curvature = objective.value_gradient_curvature(np.zeros(pairs.n_rows))[2]
        n = min(number_of_rows(pairs.role_weights(side), pairs) for side in ("top", "bottom"))
        unit = float(pairs.total(float(curvature.sum()))) / n
        return _RIDGE_OF_STUMPS * unit if self.is_two_sided else unit

    def scores(self, coordinates: list[int], steps: list[float]) -> Floats:
        """Return the scores of the training rows after some rounds, in fit order."""
        if hasattr(self.weak_rankers, "scores"):
            coefficients = np.zeros(self.weak_rankers.n_coordinates)
            np.add.at(coefficients, coordinates, steps)
            return np.asarray(self.weak_rankers.scores(coefficients))
        rules = self.weak_rankers.rules(np.array(coordinates, dtype=np.intp))
        rows = self.data.X[self.preferences.order]
        return np.asarray(rules.scores(rows, np.array(steps), self.threads))

    @shared_property
    def log_scale(self) -> float:
        """Logarithm of the factor that makes every pair weight at least one."""
        if self._has_unit_weights:
            return 0.0
        log_weight = self.preferences.log_weight
        return max(0.0, -self.preferences.smallest_difference(log_weight, -log_weight))

    @shared_property
    def _has_unit_weights(self) -> bool:
        """Whether the weights of all rows, of all processes, are one."""
        pairs = self.preferences
        return bool(pairs.smallest(float(pairs.has_unit_weights)))

    def push_step(self, log_scale: float = 0.0) -> PushStep:
        """Return the rule for steps on a p-norm push, pair weights times exp(log_scale)."""
        smoothing = self._smoothing_at(log_scale) if log_scale else self.smoothing
        pairs = self.preferences
        return PushStep(self.posing.power, smoothing, pairs.largest_difference, pairs)

    def _smoothing_at(self, log_scale: float) -> float:
        """Return e with the pair weights multiplied by exp(log_scale)."""
        pairs = self.preferences
        if self._has_unit_weights and log_scale == 0:
            return 1.0 / (2.0 * pairs.total_pair_weight)
        # ln max(N, N_eff), since the weights of pairs can leave the range of floats.
        log_total = pairs.log_pair_weight()
        log_size = max(log_total + log_scale, 2.0 * log_total - pairs.log_pair_weight(2.0))
        return float(np.exp(-min(log_size, _LARGEST_LOG_SIZE))) / 2.0

    def _find_gain(self) -> Gain:
        """Return the gain that a search maximises."""
        selection = self.posing.selection
        if selection == "steepest":
            return steepest
        exponents = getattr(self.objective, "side_exponents", None)
        if self.is_two_sided and exponents is not None:
            above, below = exponents
            return OptimalGain(above, below, self.smoothing)
        is_summed = self.has_curvature and getattr(self.weak_rankers, "sums_curvature", False)
        # Real-valued weak rankers of exact steps take a line search, which needs no curvature.
        if is_summed and (self.is_two_sided or not self.has_exact_steps):
            return QuadraticGain(self.posing.power, self.push_step().longest)
        if selection == "auto":
            return steepest
        raise ValueError(
            f"selection='optimal' of {self.posing.owner} needs the decrease of the objective along "
            "every weak ranker: in closed form (stumps and the exponential loss in one list of two "
            "levels, pushed at one end), or from second derivatives, which the loss and the weak "
            "rankers must have. Use selection='steepest' or 'auto'."
        )

    def model_attributes(self, indices: Indices, weights: Floats, credit: Floats) -> dict[str, Any]:
        """Return the fitted attributes of a sum of weak rankers.

        `indices` are their coordinates, `weights` their coefficients, and `credit` is the
        decrease of the objective that each brought. What only some weak rankers have,
        such as `coef_`, is left out for the others.
        """
        rules, n_features = self.weak_rankers.rules(indices), self.data.X.shape[1]
        fitted: dict[str, Any] = {"weak_rankers_": rules, "estimator_weights_": weights}
        if self.posing.alpha is not None:
            fitted["alpha_"] = self.posing.alpha
        if hasattr(rules, "coefficients"):
            fitted["coef_"] = rules.coefficients(weights, n_features)
        if hasattr(rules, "contributions"):
            fitted["_mean_contributions_"] = self._mean_contributions(rules, indices, weights)
        importance: Floats | None = None
        if hasattr(rules, "feature"):
            importance = np.bincount(rules.feature, credit, n_features).astype(np.float64)
        elif hasattr(rules, "importances"):
            importance = rules.importances(credit, n_features)
        if importance is not None:
            importance = np.maximum(importance, 0.0)
            total = importance.sum()
            fitted["feature_importances_"] = importance / total if total > 0 else importance
        return fitted

    def _mean_contributions(self, rules: Any, indices: Indices, weights: Floats) -> Floats:
        """Return the weighted mean over the training rows of the contributions of rules."""
        data, n_features = self.data, self.data.X.shape[1]
        if hasattr(self.weak_rankers, "mean_contributions"):
            return np.asarray(self.weak_rankers.mean_contributions(indices, weights))
        if hasattr(rules, "coefficients"):
            return np.asarray(rules.coefficients(weights, n_features) * data.feature_means)
        total = np.zeros(n_features)
        for rows in blocks(len(data.weight), working_rows(n_features)):
            total += data.weight[rows] @ rules.contributions(data.X[rows], weights, n_features)
        return total / data.weight.sum()
