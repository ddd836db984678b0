"""What a boosting fit consists of: the posed problem, its history, and fitted attributes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sklearn_rank._parallel import ThreadPool
from sklearn_rank._protocols import Floats, Gain, Mask, Objective, ObjectiveState, Rules
from sklearn_rank.base import TrainingData
from sklearn_rank.preferences import Preferences
from sklearn_rank.solvers import Coefficients, OptimalGain, PushStep, Round, steepest

SELECTIONS = ("steepest", "optimal")


@dataclass
class History:
    """The rounds so far. A warm start continues them; stored as a plain dict.

    Attributes
    ----------
    shape : tuple of int
        Shape of the training X.
    seed : int
        Seed of everything random in the fit.
    settings : dict
        Parameters that a warm start must not change.
    coordinates, steps, decreases : list
        Weak ranker, step and decrease of the objective of each round.
    credit : ndarray or float
        With lbfgs, the decrease credited to each coordinate.
    objective, offsets, margins, smooth_margins, validation : list of float
        Curves over rounds.
    """

    shape: tuple[int, int]
    seed: int
    settings: dict[str, Any]
    coordinates: list[int] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    decreases: list[float] = field(default_factory=list)
    credit: Floats | float = 0.0
    objective: list[float] = field(default_factory=list)
    offsets: list[float] = field(default_factory=list)
    margins: list[float] = field(default_factory=list)
    smooth_margins: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)

    def add(self, done: Round, state: ObjectiveState, with_offset: bool) -> None:
        """Add a round."""
        self.coordinates.append(done.index)
        self.steps.append(done.step)
        self.decreases.append(done.decrease)
        self.objective.append(state.value)
        if with_offset:
            self.offsets.append(state.offset())

    def add_margins(
        self, state: ObjectiveState, coefficients: Coefficients, log_scale: float
    ) -> None:
        """Add the margin and the smooth margin of the last round."""
        margin, smooth_margin = state.smallest_margin(), -state.value - log_scale
        if coefficients.l1_norm > 0:
            margin, smooth_margin = (
                margin / coefficients.l1_norm,
                smooth_margin / coefficients.l1_norm,
            )
        self.margins.append(margin)
        self.smooth_margins.append(smooth_margin)

    def truncate(self, n_rounds: int) -> None:
        """Remove later rounds; the validation curve stays whole."""
        for curve in (
            self.coordinates,
            self.steps,
            self.decreases,
            self.objective,
            self.offsets,
            self.margins,
            self.smooth_margins,
        ):
            del curve[n_rounds:]


@dataclass(frozen=True, eq=False)
class BoostingProblem:
    """The parts of a boosting fit.

    Attributes
    ----------
    data : TrainingData
        Rows to learn from.
    preferences : Preferences
        The comparable pairs.
    objective : Objective
        What is minimised.
    weak_rankers : WeakRankers
        The weak rankers on the training rows.
    threads : ThreadPool
        Threads.
    """

    data: TrainingData
    preferences: Preferences
    objective: Objective
    weak_rankers: Any
    threads: ThreadPool

    @property
    def positive(self) -> Mask | None:
        """Mask of the upper class in fit order; None in graded mode."""
        y = self.data.y
        return y[self.preferences.order] if y.dtype == np.bool_ else None

    @property
    def is_two_sided(self) -> bool:
        """Whether the weak rankers are 0/1 and searched on a gradient in two groups."""
        return bool(getattr(self.weak_rankers, "is_two_sided", False))

    @property
    def smoothing(self) -> float:
        """The e of the closed-form step: half a pair of unit weight."""
        return 1.0 / (2.0 * self.preferences.total_pair_weight)

    @cached_property
    def log_scale(self) -> float:
        """Logarithm of the factor that makes every pair weight at least one."""
        log_weight = self.preferences.log_weight
        return max(0.0, -self.preferences.smallest_difference(log_weight, -log_weight))

    def push_step(self, p: float, log_scale: float = 0.0) -> PushStep:
        """Return the rule for steps on a p-norm push, pair weights times exp(log_scale)."""
        smoothing = self.smoothing * float(np.exp(-log_scale))
        return PushStep(p, smoothing, self.preferences.largest_difference)

    def make_gain(self, owner: str, selection: str, p: float) -> Gain:
        """Return what the `selection` parameter of the ranker `owner` maximises."""
        if selection == "steepest":
            return steepest
        is_top = getattr(self.objective, "side", None) == "top"
        if is_top and self.is_two_sided and self.preferences.is_bipartite_list:
            return OptimalGain(p, self.smoothing)
        raise ValueError(
            f"selection='optimal' of {owner} is for weak_ranker='stump' and one list with two "
            "levels of relevance, pushed at the top: elsewhere the decrease of every weak "
            "ranker would need a table for each query. Use selection='steepest'."
        )


def model_attributes(
    rules: Rules, weights: Floats, credit: Floats, n_features: int
) -> dict[str, Any]:
    """Return `coef_` and `feature_importances_` where the weak rankers have them.

    `credit` is the decrease of the objective that each weak ranker brought.
    """
    fitted: dict[str, Any] = {}
    coefficients = getattr(rules, "coefficients", None)
    if coefficients is not None:
        fitted["coef_"] = coefficients(weights, n_features)
    importance = rules.importances(credit, n_features)
    if importance is not None:
        importance = np.maximum(importance, 0.0)
        total = importance.sum()
        fitted["feature_importances_"] = importance / total if total > 0 else importance
    return fitted
