"""A boosting fit: its configuration, the problem of some rows, and the history of its rounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sklearn_rank._core.arrays import Floats, Indices, Mask, blocks
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Candidate, Gain, Objective, ObjectiveState
from sklearn_rank._core.rows import Rows, number_of_rows
from sklearn_rank._core.sums import shared_property
from sklearn_rank.models.kernel import working_rows
from sklearn_rank.objectives import ScoreState, SecondOrderState
from sklearn_rank.solvers._solver import Round, StepRule
from sklearn_rank.solvers.coordinate_descent import OptimalGain, PushStep, QuadraticGain, steepest

_LARGEST_LOG_SIZE = 700.0
"""Logarithm of a number of pairs above which the e of a step, half its inverse, may underflow."""

_RIDGE_OF_STUMPS = 20.0
"""Default ridge of stumps, in the unit of `auto_ridge`: one feature has up to 63 coefficients."""


@dataclass
class Coefficients:
    """Net coefficients of the weak rankers so far, and their l1 norm."""

    values: dict[int, float] = field(default_factory=dict)
    l1_norm: float = 0.0

    def add(self, index: int, step: float) -> None:
        """Add a step to a coefficient."""
        old_value = self.values.get(index, 0.0)
        self.values[index] = old_value + step
        self.l1_norm += abs(old_value + step) - abs(old_value)


@dataclass
class History:
    """The rounds so far, which a warm start continues; stored as a plain dict.

    Attributes
    ----------
    seed : int
        Seed of everything random in the fit.
    settings : dict
        Parameters that a warm start must not change.
    coordinates, steps, decreases : list
        Weak ranker, step and decrease of the objective of each round; or the weak rankers of a
        model that was found as a whole, their coefficients and the decrease credited to each.
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

    def add(self, last_round: Round, value: float) -> None:
        """Add a round, after which the objective has this value."""
        self.coordinates.append(last_round.index)
        self.steps.append(last_round.step)
        self.decreases.append(last_round.decrease)
        self.objective.append(value)

    def truncate(self, n_rounds: int) -> None:
        """Remove later rounds; the curves of validation rows stay whole."""
        rounds = self.coordinates, self.steps, self.decreases, self.objective
        for curve in (*rounds, self.offsets, self.margins, self.smooth_margins):
            del curve[n_rounds:]


@dataclass(frozen=True, eq=False)
class BoostingConfig:
    """The settings of a boosting fit: all that the problem and the record know about the ranker.

    Attributes
    ----------
    owner : str
        Class of the ranker, for messages.
    make_objective : callable
        Returns the objective of some preferences.
    make_step_rule : callable
        Returns the step of boosting on a problem, given the net coefficients, which change.
    learning_rate, tol : float
        The ranker's parameters.
    has_stages : bool
        Whether there is a model after each iteration of the solver.
    tracks_margin : bool
        Whether the margin is recorded after each round.
    balances_classes : bool
        Whether the offset balances the classes; otherwise it is the error cut.
    alpha : float or None
        Strength of the ridge; None for rankers without one.
    power : float
        Power of the push, 1 for objectives without one.
    selection : {"auto", "steepest", "optimal"}
        The gain that a search maximises.
    is_first_order : bool
        Whether the steps need the whole slope along h.
    """

    owner: str
    make_objective: Callable[[Preferences], Objective]
    make_step_rule: Callable[[BoostingProblem, Coefficients], StepRule]
    learning_rate: float
    tol: float
    has_stages: bool
    tracks_margin: bool
    balances_classes: bool
    alpha: float | None = None
    power: float = 1.0
    selection: str = "steepest"
    is_first_order: bool = False


@dataclass(frozen=True, eq=False)
class BoostingProblem:
    """The parts of a boosting fit: the `Problem` of a `BoostingSolver`.

    Attributes
    ----------
    data : Rows
        Rows to learn from.
    preferences : Preferences
        The comparable pairs.
    objective : Objective
        The function of scores that is minimised.
    weak_rankers : WeakRankers
        The weak rankers on the training rows.
    threads : ThreadPool
        Threads.
    config : BoostingConfig
        The settings.
    gain : Gain
        The quantity that a search maximises.
    """

    data: Rows
    preferences: Preferences
    objective: Objective
    weak_rankers: Any
    threads: ThreadPool
    config: BoostingConfig
    gain: Gain = steepest

    @classmethod
    def of_rows(
        cls, data: Rows, weak_rankers: Any, threads: ThreadPool, config: BoostingConfig
    ) -> BoostingProblem:
        """Return the problem of some rows."""
        preferences = data.preferences
        objective = config.make_objective(preferences)
        problem = cls(data, preferences, objective, weak_rankers, threads, config)
        return replace(problem, gain=problem._choose_gain())

    @property
    def owner(self) -> str:
        """Class of the ranker, for messages."""
        return self.config.owner

    @property
    def alpha(self) -> float:
        """Strength of the ridge."""
        return self.config.alpha or 0.0

    @property
    def tol(self) -> float:
        """Relative decrease of the objective at which a fit ends."""
        return self.config.tol

    @property
    def longest_step(self) -> float:
        """The largest absolute step of boosting along a 0/1 weak ranker."""
        return self.push_step().longest

    def at(self, preferences: Preferences) -> BoostingProblem:
        """Return the problem of other rows, with the weak rankers and the gain of these."""
        objective = self.config.make_objective(preferences)
        return replace(self, preferences=preferences, objective=objective)

    def state(self, scores: Floats) -> ObjectiveState:
        """Return the objective at given scores, as the state that is cheapest to update."""
        # Two groups of masses are updated in place; others recompute value and gradient by round.
        if self.is_two_sided and hasattr(self.objective, "state"):
            return self.objective.state(scores, self.threads)
        state_class = SecondOrderState if self._is_second_order else ScoreState
        return state_class(self.objective, self.preferences, scores)

    def search(self, state: ObjectiveState) -> Candidate | None:
        """Return the weak ranker with the largest gain, the same in all processes."""
        return self.preferences.agree(self.weak_rankers.search(state.gradient, self.gain))

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

        So they are if all pairs are between two segments, or with 0/1 weak rankers at p = 1.
        """
        objective: Any = self.objective
        if not hasattr(objective, "side_exponents"):
            return False
        # A plain sum over pairs at p = 1; between two segments the objective is a product of sums.
        is_linear = objective.p == 1 and self.is_two_sided
        return is_linear or self.preferences.bipartite_segments is not None

    @property
    def _is_second_order(self) -> bool:
        """Whether the steps or the gain need second derivatives."""
        # Steepest edges and exact steps need the first derivatives alone.
        needs_second = not (self.gain is steepest and self.has_exact_steps)
        return self.has_curvature and needs_second and not self.config.is_first_order

    @shared_property
    def smoothing(self) -> float:
        r"""The e of the closed-form step, :math:`1 / (2 \max(N, N_\text{eff}))`.

        N is the total weight of the pairs and :math:`N_\text{eff} = N^2 / \sum (w_i w_k)^2`
        their effective number, which only weights below one make larger than N.
        """
        return self._smoothing_at(0.0)

    def auto_ridge(self, objective: Any) -> float:
        r"""Return the default ridge for an objective that has a curvature.

        Its unit is :math:`\kappa / n`. The scale of second derivatives along weak rankers,
        :math:`\kappa`, is the sum of the curvature over the rows at equal scores; n is the number
        of rows with a row below them, or above them if those are fewer (of the rarer class).
        """
        rows = self.preferences
        curvature = objective.value_gradient_curvature(np.zeros(rows.n_rows))[2]
        n_rows = min(number_of_rows(rows.role_weights(side), rows) for side in ("top", "bottom"))
        mean_curvature = float(rows.total(float(curvature.sum()))) / n_rows
        return _RIDGE_OF_STUMPS * mean_curvature if self.is_two_sided else mean_curvature

    def scores(self, coordinates: list[int], steps: list[float]) -> Floats:
        """Return the scores of the training rows after some rounds, in fit order."""
        # For a warm start, a refresh or a bag; a state keeps its own scores.
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
        return max(0.0, -self.preferences.log_smallest_weight())

    @shared_property
    def _has_unit_weights(self) -> bool:
        """Whether the weights of all rows, of all processes, are one."""
        preferences = self.preferences
        return bool(preferences.smallest(float(preferences.has_unit_weights)))

    def push_step(self, log_scale: float = 0.0) -> PushStep:
        """Return the rule for steps on a p-norm push, pair weights times exp(log_scale)."""
        smoothing = self._smoothing_at(log_scale) if log_scale else self.smoothing
        preferences = self.preferences
        return PushStep(self.config.power, smoothing, preferences.largest_difference, preferences)

    def _smoothing_at(self, log_scale: float) -> float:
        """Return the smoothing e when pair weights are multiplied by exp(log_scale)."""
        preferences = self.preferences
        if self._has_unit_weights and log_scale == 0:  # exact, while logarithms round
            return 1.0 / (2.0 * preferences.total_pair_weight)
        # ln max(N, N_eff), since the weights of pairs can leave the range of floats.
        log_total = preferences.log_pair_weight()
        log_size = max(log_total + log_scale, 2.0 * log_total - preferences.log_pair_weight(2.0))
        return float(np.exp(-min(log_size, _LARGEST_LOG_SIZE))) / 2.0

    def _choose_gain(self) -> Gain:
        """Return the gain that a search maximises."""
        selection = self.config.selection
        if selection == "steepest":
            return steepest
        exponents = getattr(self.objective, "side_exponents", None)
        # 1. The exact decrease, in closed form.
        if self.is_two_sided and exponents is not None:
            above, below = exponents
            return OptimalGain(above, below, self.smoothing)
        # 2. The decrease of a quadratic bound, where the search can sum second derivatives.
        is_summed = self.has_curvature and getattr(self.weak_rankers, "sums_curvature", False)
        # Real-valued weak rankers of exact steps take a line search, which needs no curvature.
        if is_summed and (self.is_two_sided or not self.has_exact_steps):
            return QuadraticGain(self.config.power, self.longest_step)
        # 3. The absolute slope.
        if selection == "auto":
            return steepest
        raise ValueError(
            f"selection='optimal' of {self.owner} needs the decrease of the objective along "
            "every weak ranker: in closed form (stumps and the exponential loss in one list of two "
            "levels, pushed at one end), or from second derivatives, which the loss and the weak "
            "rankers must have. Use selection='steepest' or 'auto'."
        )

    def model_attributes(self, indices: Indices, weights: Floats, credit: Floats) -> dict[str, Any]:
        """Return the fitted attributes of a sum of weak rankers.

        `indices` are their coordinates, `weights` their coefficients, and `credit` is the
        decrease of the objective that each brought. Attributes of some weak rankers only, such as
        `coef_`, are set for these alone.
        """
        rules, n_features = self.weak_rankers.rules(indices), self.data.X.shape[1]
        fitted: dict[str, Any] = {"weak_rankers_": rules, "estimator_weights_": weights}
        if self.config.alpha is not None:
            fitted["alpha_"] = self.config.alpha
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
            # The decrease credited to a coefficient may be negative.
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
        sums = np.zeros(n_features)
        for rows in blocks(len(data.weight), working_rows(n_features)):
            sums += data.weight[rows] @ rules.contributions(data.X[rows], weights, n_features)
        return sums / data.weight.sum()
