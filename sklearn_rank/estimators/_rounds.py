"""The parts that a fit brings together, and what it remembers of its rounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sklearn_rank._parallel import ThreadPool
from sklearn_rank._protocols import Descent, Floats, Mask
from sklearn_rank.base import TrainingData
from sklearn_rank.models import Family
from sklearn_rank.objectives import Push
from sklearn_rank.preferences import Preferences
from sklearn_rank.solvers import Ledger, PushStep


@dataclass
class History:
    """What the rounds so far have done; a warm start continues it.

    Attributes
    ----------
    shape : tuple of int
        Shape of the training X.
    seed : int
        Seed of everything random in the fit.
    settings : dict
        Parameters that a warm start can't change.
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

    def truncate(self, n_rounds: int) -> None:
        """Forget later rounds; the validation curve stays whole."""
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
class Problem:
    """The parts that a fit brings together.

    Attributes
    ----------
    data : TrainingData
        Rows to learn from.
    preferences : Preferences
        Who must rank above whom.
    objective : Push
        What is minimised.
    family : Family
        The weak rankers.
    threads : ThreadPool
        Threads.
    """

    data: TrainingData
    preferences: Preferences
    objective: Push
    family: Family
    threads: ThreadPool

    @property
    def positive(self) -> Mask | None:
        """Mask of the upper class in preference order; None in graded mode."""
        y = self.data.y
        return y[self.preferences.order] if y.dtype == np.bool_ else None

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


def note_margins(history: History, problem: Problem, ledger: Ledger, descent: Descent) -> None:
    """Extend the curves of the margin and of the smooth margin."""
    margin, smooth_margin = descent.smallest_margin(), -descent.value - problem.log_scale
    if ledger.l1_norm > 0:
        margin, smooth_margin = margin / ledger.l1_norm, smooth_margin / ledger.l1_norm
    history.margins.append(margin)
    history.smooth_margins.append(smooth_margin)


def describe(rules: Any, weights: Floats, credit: Floats, n_features: int) -> dict[str, Any]:
    """Return `coef_` and `feature_importances_` where the weak rankers have them.

    `credit` is the decrease of the objective that each weak ranker brought.
    """
    fitted: dict[str, Any] = {}
    if hasattr(rules, "coefficients"):
        fitted["coef_"] = rules.coefficients(weights, n_features)
    importance = rules.importances(credit, n_features)
    if importance is None:
        return fitted
    importance = np.maximum(importance, 0.0)
    total = importance.sum()
    fitted["feature_importances_"] = importance / total if total > 0 else importance
    return fitted
