"""The model that a solver has found so far, and what is noted of it after each iteration."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import (
    Candidate,
    Floats,
    Indices,
    Mask,
    ObjectiveState,
    Observer,
    Values,
    require,
)
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.sums import Sums
from sklearn_rank.estimators._boosting.early_stopping import EarlyStopping
from sklearn_rank.estimators._boosting.problem import BoostingProblem, History
from sklearn_rank.estimators._boosting.rounds_ranker import Phase
from sklearn_rank.objectives import balancing_offset
from sklearn_rank.objectives.offsets import rising_cut
from sklearn_rank.solvers import Round

_MOST_ROWS = 1 << 13
"""Rows from which the cuts of stages are found; that of the last has them all."""


@dataclass
class Coefficients:
    """Net coefficients of the weak rankers so far, and their l1 norm."""

    values: dict[int, float] = field(default_factory=dict)
    l1_norm: float = 0.0

    def add(self, index: int, step: float) -> None:
        """Add a step to a coefficient."""
        old = self.values.get(index, 0.0)
        self.values[index] = old + step
        self.l1_norm += abs(old + step) - abs(old)

    def dense(self, length: int) -> Floats:
        """Return the coefficients as an array."""
        out = np.zeros(length)
        out[list(self.values)] = list(self.values.values())
        return out


class Record:
    """A record of the iterations of a solver, as for a bag.

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
    step_rule : StepRule
        The step of boosting.
    """

    step_rule: Any

    def __init__(self, problem: BoostingProblem, history: History, n_iterations: int) -> None:
        self.problem, self.history, self.n_iterations = problem, history, n_iterations
        self.coefficients = Coefficients()
        self._take = getattr(problem.weak_rankers, "take", None)
        for index, step in zip(history.coordinates, history.steps, strict=True):
            self._move(index, step)

    @property
    def n_left(self) -> int:
        """Number of iterations to go."""
        return self.n_iterations - len(self.history.objective)

    def scores(self) -> Floats:
        """Return the scores of the training rows, in fit order."""
        history = self.history
        if not history.steps:
            return np.zeros(self.problem.preferences.n_rows)
        return self.problem.scores(history.coordinates, history.steps)

    def step(self, state: ObjectiveState, candidate: Candidate, h: Values) -> tuple[float, bool]:
        """Return a step along h, and whether what limits the weak rankers cut it short."""
        rate = self.problem.posing.learning_rate
        wanted: float = self.problem.preferences.agree(rate * self.step_rule(state, candidate, h))
        find_limits = getattr(self.problem.weak_rankers, "step_limits", None)
        if find_limits is None:
            return wanted, False
        low, high = find_limits(candidate)
        step = min(max(wanted, low), high)
        return step, step != wanted

    def add(self, done: Round, state: ObjectiveState) -> bool:
        """Note a step of one coefficient; return whether the fit ends."""
        self._move(done.index, done.step)
        self.history.add(done, state.value)
        return self.n_left <= 0

    def replace(
        self, coordinates: Any, coefficients: Floats, credit: Floats, value: float | None = None
    ) -> bool:
        """Note a model as a whole, after an iteration if there is a value.

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
        if self._take is not None:
            self._take(Candidate(index, 0.0), step)


class FitRecord(Record):
    """The record of a ranker's fit: offsets, margins, validation rows and observers.

    Parameters
    ----------
    ranker : BoostingRanker
        The ranker.
    problem : BoostingProblem
        The problem.
    history : History
        The iterations so far.
    phase : Phase
        Which fit of the rounds this is; its held-out rows are scored after each iteration.

    Attributes
    ----------
    was_ended : bool
        Whether an observer has ended the fit.
    """

    def __init__(
        self, ranker: Any, problem: BoostingProblem, history: History, phase: Phase
    ) -> None:
        super().__init__(problem, history, phase.n_rounds)
        self._ranker, self.was_ended = ranker, False
        self._held_out: Any = phase.held_out
        self._has_stages = ranker.solver_in_use.has_stages
        self._state: ObjectiveState | None = None
        self._stopping = self._make_stopping()
        self._offsets = self._make_offsets() if self._has_stages else None
        is_one_run = not (phase.is_search or ranker._counts_each_power)
        self._observe: Observer = ranker._make_observer(
            problem.data,
            phase.unit,
            phase.n_rounds,
            lambda: self.attributes(deepcopy(self.history)),
            n_before=len(history.objective) if is_one_run else None,
        )

    def add(self, done: Round, state: ObjectiveState) -> bool:
        """Note a step of one coefficient; return whether the fit ends."""
        is_full = super().add(done, state)
        self._state = state
        if self._offsets is not None:
            self.history.offsets.append(self._offsets(done, state))
        if self._ranker._tracks_margin:
            self._add_margins(state)
        validation = None
        if self._stopping is not None:
            rule = self.problem.weak_rankers.rules(np.array([done.index]))
            change = rule.scores(self._held_out.X, np.array([done.step]), self.problem.threads)
            validation = self._stopping.measure(self._stopping.scores + change)
        self.was_ended = self._observe(len(self.history.steps), state.value, validation)
        is_over = self._stopping is not None and self._stopping.is_over
        return is_full or self.was_ended or is_over

    def replace(
        self, coordinates: Any, coefficients: Floats, credit: Floats, value: float | None = None
    ) -> bool:
        """Note a model as a whole; return whether the fit ends."""
        super().replace(coordinates, coefficients, credit, value)
        return value is not None and self._observe(len(self.history.objective), value)

    def end(self) -> dict[str, Any]:
        """Return the fitted attributes of the fit, up to the best round."""
        if self._stopping is not None:
            best = self._stopping.best_round
            if best < len(self.history.steps):
                self._state = None
            self.history.truncate(best)
        if not self._ranker.solver_in_use.moves_all:  # then there is a choice that can fail
            self._ranker._warn_if_empty(self.history.steps)
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
        if self._ranker._tracks_margin:
            fitted["margin_curve_"] = np.array(history.margins)
            fitted["smooth_margin_curve_"] = np.array(history.smooth_margins)
            fitted["margin_"] = history.margins[-1] if history.margins else 0.0
        if history.validation:
            fitted |= self._ranker.validation_curves(history.validation, history.losses)
        return fitted

    def _add_margins(self, state: ObjectiveState) -> None:
        """Add the margin and the smooth margin of the last round."""
        size = self.coefficients.l1_norm or 1.0
        self.history.margins.append(state.smallest_margin() / size)
        # G is of scaled weights, and their factor adds its logarithm to ln F.
        self.history.smooth_margins.append((-state.value - self.problem.log_scale) / size)

    def _make_offsets(self) -> Callable[[Round, ObjectiveState], float] | None:
        """Return the function that finds the offset after each round; None in graded mode."""
        positive, pairs = self.problem.positive, self.problem.preferences
        if positive is None:
            return None
        if self._ranker._balances:
            return partial(balance_of_stage, positive, pairs)
        return StageCuts.of_sample(self.problem.data, pairs, self.scores).after_round

    def _offset(self) -> float:
        """Return the offset of the model so far."""
        problem, history = self.problem, self.history
        is_noted = self._offsets is not None and bool(history.steps)
        if is_noted and (self._ranker._balances or problem.n_rows <= _MOST_ROWS):
            return history.offsets[-1]
        scores = getattr(self._state, "scores", None)
        scores = self.scores() if scores is None else scores
        return float(self._ranker.offset_of(problem.data, scores))

    def _make_stopping(self) -> EarlyStopping | None:
        rows: Rows | None = self._held_out
        if rows is None:
            return None
        ranker, history, n_rounds = self._ranker, self.history, len(self.history.steps)
        del history.validation[n_rounds:], history.losses[n_rounds:]
        stopping: EarlyStopping
        stopping = ranker.stopping_on(rows, history.losses, history.validation, ranker.tol)
        if n_rounds:  # of a warm start
            weights = ranker.estimator_weights_
            earlier = np.arange(n_rounds) < stopping.smallest_loss
            stopping.scores, stopping.best_scores = (
                ranker.weak_rankers_.scores(rows.X, known, self.problem.threads)
                for known in (weights, weights * earlier)
            )
        return stopping


def balance_of_stage(
    positive: Mask, rows: Preferences, done: Round, state: ObjectiveState
) -> float:
    """Return the balancing offset after a round, of all rows; `positive` is the upper class."""
    find: Any = getattr(state, "balancing_offset", None)
    if find is not None:
        return float(find())
    scores = require(state, "scores", "The offset of a round")
    return balancing_offset(scores, positive, rows.log_weight, rows)


class StageCuts:
    """The error cut after each round, of some rows that are kept in the order of their scores.

    Parameters
    ----------
    rows : ndarray of shape (n_some,)
        The rows, in fit order.
    signed : ndarray of shape (n_some,)
        Their weights, negative in the lower class.
    scores : ndarray of shape (n_rows,)
        Scores of all rows so far.
    sums : Sums
        Sums over all rows, if they are not all here: the rows that are kept are.
    """

    def __init__(self, rows: Indices, signed: Floats, scores: Floats, sums: Sums) -> None:
        self._here, self._sums = rows, sums
        scores, signed = sums.concat(scores[rows]), sums.concat(signed)
        self._order = np.argsort(scores, kind="stable")
        self._scores, self._signed = scores[self._order], signed[self._order]

    @classmethod
    def of_sample(cls, data: Rows, pairs: Preferences, scores: Callable[[], Floats]) -> StageCuts:
        """Take all rows, or a sample of distinct ones, before there are arrays of all rows."""
        if data.shape[0] > _MOST_ROWS:
            sampled, weight = data.sample(_MOST_ROWS, by_class=True)
            place = np.empty(pairs.n_rows, dtype=np.intp)
            place[pairs.order] = np.arange(pairs.n_rows)
            rows = place[sampled]
        else:
            rows, weight = np.arange(pairs.n_rows), pairs.weight
        signed = np.where(data.y[pairs.order[rows]], weight, -weight)
        return cls(rows, signed, scores(), pairs)

    def after_round(self, done: Round, state: ObjectiveState) -> float:
        """Return the offset: minus the cut."""
        h = self._sums.concat(done.h[self._here])[self._order]
        self._scores += done.step * h
        if h.dtype == np.bool_:  # two runs in order, which a stable sort merges in linear time
            runs = np.concatenate([np.flatnonzero(~h), np.flatnonzero(h)])
            order = runs[np.argsort(self._scores[runs], kind="stable")]
        else:
            order = np.argsort(self._scores, kind="stable")
        self._order, self._scores = self._order[order], self._scores[order]
        self._signed = self._signed[order]
        return -rising_cut(self._scores, self._signed)
