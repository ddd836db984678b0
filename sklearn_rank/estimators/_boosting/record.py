"""The records that solvers report to: the model so far, and its curves over the iterations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from sklearn_rank._core.arrays import Floats, Indices, Mask, Values
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Candidate, ObjectiveState, Observer, require
from sklearn_rank._core.rows import Rows
from sklearn_rank.estimators._boosting.early_stopping import EarlyStopping
from sklearn_rank.estimators._boosting.problem import BoostingProblem, Coefficients, History
from sklearn_rank.estimators._boosting.rounds_ranker import Phase
from sklearn_rank.objectives import balancing_offset, error_cut
from sklearn_rank.objectives.offsets import rising_cut
from sklearn_rank.solvers import Round

Stopping = EarlyStopping | None

_MOST_ROWS = 1 << 13
"""Maximum of rows for the error cuts of stages; that of the last stage takes them all."""


class IterationRecord:
    """The iterations of a solver (of a bag, for example): the `Record` of a `BoostingSolver`.

    Parameters
    ----------
    problem : BoostingProblem
        The problem.
    history : History
        The iterations so far.
    n_iterations : int
        Maximum number of iterations.

    Attributes
    ----------
    n_iterations : int
        Maximum number of iterations.
    coefficients : Coefficients
        Net coefficients of the weak rankers so far.
    """

    def __init__(self, problem: BoostingProblem, history: History, n_iterations: int) -> None:
        self.problem, self.history, self.n_iterations = problem, history, n_iterations
        self.coefficients = Coefficients()
        self._step_rule = problem.config.make_step_rule(problem, self.coefficients)
        self._take_step = getattr(problem.weak_rankers, "take", None)
        for index, step in zip(history.coordinates, history.steps, strict=True):
            self._move(index, step)

    @property
    def objective(self) -> list[float]:
        """The objective after each iteration so far."""
        return self.history.objective

    @property
    def n_left(self) -> int:
        """Number of remaining iterations."""
        return self.n_iterations - len(self.objective)

    def model(self) -> tuple[list[int], Floats, Floats]:
        """Return the model so far: coordinates, steps or coefficients, and credit."""
        history = self.history
        return history.coordinates, np.array(history.steps), np.array(history.decreases)

    def scores(self) -> Floats:
        """Return the scores of the training rows, in fit order."""
        history = self.history
        if not history.steps:
            return np.zeros(self.problem.preferences.n_rows)
        return self.problem.scores(history.coordinates, history.steps)

    def step(self, state: ObjectiveState, candidate: Candidate, h: Values) -> tuple[float, bool]:
        """Return the step along h, and whether constraints have shortened it."""
        # One process decides the step: rounding elsewhere must not give another model.
        rate = self.problem.config.learning_rate
        full_step = self.problem.preferences.agree(rate * self._step_rule(state, candidate, h))
        if not hasattr(self.problem.weak_rankers, "step_limits"):
            return full_step, False
        lower, upper = self.problem.weak_rankers.step_limits(candidate)
        step = min(max(full_step, lower), upper)
        return step, step != full_step

    def add(self, last_round: Round, state: ObjectiveState) -> bool:
        """Add a step of one coefficient; return whether the fit ends."""
        self._move(last_round.index, last_round.step)
        self.history.add(last_round, state.value)
        return self.n_left <= 0

    def replace(
        self, coordinates: Indices, coefficients: Floats, credit: Floats, value: float | None = None
    ) -> bool:
        """Replace the whole model; with an objective `value`, this ends an iteration.

        `credit` is the decrease of the objective that each weak ranker brought.
        """
        history = self.history
        history.coordinates = np.asarray(coordinates, dtype=np.intp).tolist()
        history.steps, history.decreases = coefficients.tolist(), credit.tolist()
        if value is not None:
            history.objective.append(value)
        return False

    def _move(self, index: int, step: float) -> None:
        self.coefficients.add(index, step)
        if self._take_step is not None:
            self._take_step(Candidate(index, 0.0), step)


class FitRecord(IterationRecord):
    """The record of a ranker's fit: offsets, margins, validation rows and an observer.

    Parameters
    ----------
    problem : BoostingProblem
        The problem.
    history : History
        The iterations so far.
    phase : Phase
        The phase of the fit; its held-out rows are scored after each iteration.
    stopping : EarlyStopping or None
        The rule of early stopping on the held-out rows.

    Attributes
    ----------
    observe : Observer
        Called after each iteration; set before the first.
    was_ended : bool
        Whether the observer has ended the fit.
    """

    observe: Observer

    def __init__(
        self, problem: BoostingProblem, history: History, phase: Phase, stopping: Stopping
    ) -> None:
        super().__init__(problem, history, phase.n_rounds)
        self.was_ended, self._stopping, self._held_out = False, stopping, phase.held_out
        self._state: ObjectiveState | None = None
        self._offsets = self._make_offsets() if problem.config.has_stages else None

    def add(self, last_round: Round, state: ObjectiveState) -> bool:
        """Add a step of one coefficient; return whether the fit ends."""
        is_full = super().add(last_round, state)
        self._state = state
        if self._offsets is not None:
            self.history.offsets.append(self._offsets(last_round, state))
        if self.problem.config.tracks_margin:
            l1_norm = self.coefficients.l1_norm or 1.0
            self.history.margins.append(state.smallest_margin() / l1_norm)
            # G is of scaled weights, and their factor adds its logarithm to ln F.
            self.history.smooth_margins.append((-state.value - self.problem.log_scale) / l1_norm)
        val_score = None
        if self._stopping is not None and self._held_out is not None:
            # Only the new rule is applied to the held-out rows.
            rule = self.problem.weak_rankers.rules(np.array([last_round.index]))
            delta = rule.scores(self._held_out.X, np.array([last_round.step]), self.problem.threads)
            val_score = self._stopping.measure(self._stopping.scores + delta)
        self.was_ended = self.observe(len(self.history.steps), state.value, val_score)
        is_over = self._stopping is not None and self._stopping.is_over
        return is_full or self.was_ended or is_over

    def replace(
        self, coordinates: Indices, coefficients: Floats, credit: Floats, value: float | None = None
    ) -> bool:
        """Replace the whole model; return whether the fit ends."""
        super().replace(coordinates, coefficients, credit, value)
        return value is not None and self.observe(len(self.objective), value)

    def end(self) -> dict[str, Any]:
        """Return the fitted attributes of the fit, up to the best round."""
        if self._stopping is not None:
            best_round = self._stopping.best_round
            if best_round < len(self.history.steps):  # the state is that of a later round
                self._state = None
            self.history.truncate(best_round)
        return self.attributes(self.history)

    def attributes(self, history: History) -> dict[str, Any]:
        """Return the fitted attributes, which keep this history."""
        weights = np.array(history.steps)
        coordinates = np.array(history.coordinates, dtype=np.intp)
        fitted: dict[str, Any] = {
            **self.problem.model_attributes(coordinates, weights, np.array(history.decreases)),
            "objective_curve_": np.array(history.objective),
            "n_iter_": len(history.objective),
            "_history_": vars(history),
        }
        if self.problem.positive is not None:
            fitted["offset_"] = self._offset()
            if self._offsets is not None:
                fitted["staged_offsets_"] = np.array(history.offsets)
                fitted["staged_offsets_"][-1:] = fitted["offset_"]
        if self.problem.config.tracks_margin:
            fitted["margin_curve_"] = np.array(history.margins)
            fitted["smooth_margin_curve_"] = np.array(history.smooth_margins)
            fitted["margin_"] = history.margins[-1] if history.margins else 0.0
        if self._stopping is not None and history.validation:
            fitted |= self._stopping.curves()
        return fitted

    def _make_offsets(self) -> Callable[[Round, ObjectiveState], float] | None:
        """Return a function that computes the offset after a round; None in graded mode."""
        positive, preferences = self.problem.positive, self.problem.preferences
        if positive is None:
            return None
        if self.problem.config.balances_classes:
            return partial(stage_balance, positive, preferences)
        return StageCuts(self.problem.data, preferences, self.scores).after_round

    def _offset(self) -> float:
        """Return the offset of the model so far."""
        history, balances_classes = self.history, self.problem.config.balances_classes
        has_offset = self._offsets is not None and bool(history.steps)
        # The error cuts of stages are of a sample.
        if has_offset and (balances_classes or self.problem.n_rows <= _MOST_ROWS):
            return history.offsets[-1]
        data, scores = self.problem.data, getattr(self._state, "scores", None)
        return class_offset(data, self.scores() if scores is None else scores, balances_classes)


def class_offset(data: Rows, scores: Floats, balances_classes: bool) -> float:
    """Return the offset between the two classes for scores in the order of the preferences.

    It balances the exponential masses of the classes, or makes the fewest errors.
    """
    preferences = data.preferences
    positive = data.y[preferences.order]
    if balances_classes:
        return balancing_offset(scores, positive, preferences.log_weight, preferences)
    return -error_cut(scores, positive, preferences.weight, preferences)


def stage_balance(positive: Mask, rows: Preferences, _: Round, state: ObjectiveState) -> float:
    """Return the balancing offset of all rows after a round; `positive` marks the upper class."""
    if hasattr(state, "balancing_offset"):
        return float(state.balancing_offset())
    scores = require(state, "scores", "The offset of a round")
    return balancing_offset(scores, positive, rows.log_weight, rows)


class StageCuts:
    """The error cut after each round, of sampled rows that are kept in the order of their scores.

    Parameters
    ----------
    data : Rows
        The training rows; of many a sample of distinct ones.
    pairs : Preferences
        Their comparable pairs. Each process keeps the sampled rows of all processes.
    scores : callable
        Returns the scores of all rows so far; called once the sample is drawn.
    """

    def __init__(self, data: Rows, preferences: Preferences, scores: Callable[[], Floats]) -> None:
        if data.shape[0] > _MOST_ROWS:
            sampled, weight = data.sample(_MOST_ROWS, by_class=True)
            fit_index = np.empty(preferences.n_rows, dtype=np.intp)
            fit_index[preferences.order] = np.arange(preferences.n_rows)
            rows = fit_index[sampled]
        else:
            rows, weight = np.arange(preferences.n_rows), preferences.weight
        self._rows, self._sums = rows, preferences
        sampled_scores = preferences.concat(scores()[rows])
        # Weights are negative in the lower class.
        weights = preferences.concat(np.where(data.y[preferences.order[rows]], weight, -weight))
        self._order = np.argsort(sampled_scores, kind="stable")
        self._scores, self._signed_weight = sampled_scores[self._order], weights[self._order]

    def after_round(self, last_round: Round, state: ObjectiveState) -> float:
        """Return the offset: minus the cut."""
        h = self._sums.concat(last_round.h[self._rows])[self._order]
        self._scores += last_round.step * h
        if h.dtype == np.bool_:  # two sorted runs, which a stable sort merges in linear time
            runs = np.concatenate([np.flatnonzero(~h), np.flatnonzero(h)])
            order = runs[np.argsort(self._scores[runs], kind="stable")]
        else:
            order = np.argsort(self._scores, kind="stable")
        self._order, self._scores = self._order[order], self._scores[order]
        self._signed_weight = self._signed_weight[order]
        return -rising_cut(self._scores, self._signed_weight)
