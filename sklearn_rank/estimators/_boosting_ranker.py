"""Base class of the boosting rankers: from validated data to a fitted model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_rank._parallel import ThreadPool
from sklearn_rank._protocols import (
    Candidate,
    FitRows,
    Floats,
    Gain,
    Objective,
    ObjectiveState,
    WeakRankers,
)
from sklearn_rank._validation import Constraint, Flag, Number, largest_size
from sklearn_rank._warnings import warn
from sklearn_rank.base import BaseRanker, TrainingData
from sklearn_rank.estimators._boosting_problem import BoostingProblem, History
from sklearn_rank.estimators._early_stopping import (
    EarlyStopping,
    StopsEarlyMixin,
    split_validation,
)
from sklearn_rank.estimators._stage_offsets import MOST_ROWS, StageBalances, StageCuts
from sklearn_rank.estimators._stages import StagedMixin
from sklearn_rank.estimators._stump_constraints import ConstrainedMixin
from sklearn_rank.metrics.scorers import as_scorer
from sklearn_rank.models import StepFunction, WeakRankerChoice, as_model
from sklearn_rank.objectives import SidePush, balancing_offset, error_cut
from sklearn_rank.objectives._states import make_state
from sklearn_rank.rows.preferences import Preferences
from sklearn_rank.solvers import Coefficients, Round, coordinate_descent

_GIVEN = "shape of X_val (None: not given)"


class BoostingRanker(StagedMixin, StopsEarlyMixin, ConstrainedMixin, BaseRanker):
    """Base class of the boosting rankers.

    A subclass names its objective (`_make_objective`) and may change the step
    (`_make_step_rule`), the choice of the weak ranker (`_make_gain`) or the solver
    (`_solve`).
    """

    _tracks_margin: ClassVar[bool] = True

    _allowed: ClassVar[dict[str, Constraint]] = {
        **BaseRanker._allowed,
        "n_estimators": Number(1, integer=True),
        "weak_ranker": WeakRankerChoice(),
        "learning_rate": Number(0, 1, "right"),
        "tol": Number(0, closed="left"),
        "warm_start": Flag(),
        **StopsEarlyMixin._stopping_allowed,
        **ConstrainedMixin._constraints_allowed,
    }

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        weak_ranker: Any = "stump",
        learning_rate: float = 1.0,
        max_bins: int = 64,
        monotonic_cst: Any = None,
        categorical_features: Any = "from_dtype",
        tol: float = 1e-9,
        warm_start: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        scoring: Any = None,
        relevance: str = "binary",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.weak_ranker = weak_ranker
        self.learning_rate = learning_rate
        self.max_bins = max_bins
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.tol = tol
        self.warm_start = warm_start
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.scoring = scoring
        self.relevance = relevance
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _stages(self, X: Any) -> Iterator[Floats]:
        check_is_fitted(self)
        X = self._validate_features(X, reset=False)
        yield from self.weak_rankers_.staged_scores(X, self.estimator_weights_)

    def _score_rows(self, X: Any) -> Floats:
        with ThreadPool(self.n_jobs, X.shape[0] * X.shape[1]).running() as threads:
            scores: Floats = self.weak_rankers_.scores(X, self.estimator_weights_, threads)
        return scores

    def _not_additive(self) -> str:
        if hasattr(self, "weak_rankers_"):
            is_additive = hasattr(self.weak_rankers_, "contributions")
        else:  # whether a model of the user's own is one, its rules will tell
            is_allowed = self._allowed["weak_ranker"].allows(self.weak_ranker)
            is_additive = is_allowed and as_model(self.weak_ranker).name != "estimator"
        allowed = "with weak_ranker='stump', 'feature' or a model whose rules have contributions"
        return "" if is_additive else f"{allowed}. Got weak_ranker={self.weak_ranker!r}"

    def _sum_by_feature(self, X: Any) -> Floats:
        parts: Floats = self.weak_rankers_.contributions(X, self.estimator_weights_, X.shape[1])
        return parts

    # What a subclass decides -------------------------------------------------------

    def _make_objective(self, preferences: Preferences, threads: ThreadPool) -> Objective:
        return SidePush(preferences, 1.0)

    def _make_gain(self, problem: BoostingProblem) -> Gain:
        return problem.make_gain(type(self).__name__, "steepest", 1.0)

    def _is_second_order(self, problem: BoostingProblem, gain: Gain) -> bool:
        return problem.is_second_order(gain)

    def _make_step_rule(self, problem: BoostingProblem, coefficients: Coefficients) -> Any:
        return problem.push_step(1.0)

    @property
    def _balances(self) -> bool:
        """Whether the offset balances the classes; else it is the error cut."""
        return True

    # For scorecards ------------------------------------------------------------------

    def objective_of(self, data: TrainingData) -> Objective:
        """Return the objective of the ranker on some rows, as a function of their scores.

        Parameters
        ----------
        data : TrainingData
            Checked rows.

        Returns
        -------
        Objective
            Scores are in the order of ``data.preferences.order``.
        """
        return self._make_objective(data.preferences, ThreadPool(1))

    def offset_of(self, data: TrainingData, scores: Floats) -> float:
        """Return the offset between the two classes for scores of some rows.

        Parameters
        ----------
        data : TrainingData
            Checked rows of two classes.
        scores : ndarray of shape (n_rows,)
            Their scores, in the order of ``data.preferences.order``.

        Returns
        -------
        float
            Scores above minus this number mean the upper class.
        """
        pairs = data.preferences
        positive = data.y[pairs.order]
        if self._balances:
            return balancing_offset(scores, positive, pairs.log_weight, pairs.collective)
        return -error_cut(scores, positive, pairs.weight, pairs.collective)

    @property
    def step_functions_(self) -> list[StepFunction]:
        """The fitted model of stumps as a step function for each feature that it uses."""
        found: list[StepFunction] = self.weak_rankers_.step_functions(self.estimator_weights_)
        return found

    # Fitting -------------------------------------------------------------------------

    def _fit(self, data: TrainingData) -> dict[str, Any]:
        history = self._open_history(data)
        n_rows, n_features = data.X.shape
        with ThreadPool(self.n_jobs, n_rows * n_features).running() as threads:
            held_out = data.held_out
            if held_out is None and self.n_iter_no_change is not None:
                data, held_out = split_validation(data, self.validation_fraction, history.seed)
            problem = self._make_problem(data, history, threads)
            return self._solve(problem, history, held_out)

    @property
    def _is_continued(self) -> bool:
        """Whether the next fit continues an earlier one."""
        return self.warm_start and hasattr(self, "_history_")

    def _open_history(self, data: TrainingData) -> History:
        """Return the earlier rounds of a warm start, or an empty history."""
        if self._is_continued:
            return History(**deepcopy(self._history_))
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        return History(data.shape, int(seed), self._fixed_settings(data))

    def _fixed_settings(self, data: TrainingData) -> dict[str, Any]:
        """Return the settings that a warm start must not change."""
        splits = self.n_iter_no_change is not None and data.held_out is None
        measures = self._watches(data) and self.scoring is not None
        return {
            "relevance": self.relevance,
            "weak_ranker": as_model(self.weak_ranker).name,
            "validation_fraction (None: no early stopping)": (
                self.validation_fraction if splits else None
            ),
            _GIVEN: None if data.held_out is None else data.held_out.X.shape,
            "scoring": as_scorer(self.scoring).label if measures else None,
            **self.stump_settings(),
        }

    def _check_training(self, data: TrainingData) -> None:
        super()._check_training(data)
        if not self._is_continued:
            return
        name, history = type(self).__name__, History(**self._history_)
        if history.shape != data.shape:
            raise ValueError(
                f"{name} with warm_start=True continues on the same data: X had shape "
                f"{history.shape} and now has {data.shape}."
            )
        known = history.settings
        for setting, value in self._fixed_settings(data).items():
            if known[setting] != value:
                raise ValueError(
                    f"{name} with warm_start=True continues with the same {setting}: it was "
                    f"fitted with {known[setting]!r}. Got {value!r}."
                )
        at_each_power = np.isinf(getattr(self, "p", 1.0))  # what n_estimators then counts
        if not at_each_power and self.n_estimators < self.n_iter_:
            raise ValueError(
                f"{name} with warm_start=True can only add rounds: n_estimators="
                f"{self.n_estimators} is less than the {self.n_iter_} rounds fitted."
            )

    def _make_problem(
        self, data: TrainingData, history: History, threads: ThreadPool
    ) -> BoostingProblem:
        """Bring the parts together."""
        if self.relevance == "graded":
            paired = data.paired_rows()
            if len(paired) < len(data.y) and (len(paired) or data.collective.size > 1):
                data = data.take(paired)
        preferences = data.preferences
        rows = FitRows(
            data.X,
            preferences.order,
            preferences.weight,
            threads,
            max_bins=self._most_bins,
            seed=history.seed,
            earlier=getattr(self, "weak_rankers_", None) if history.steps else None,
            upper=data.y[preferences.order] if self.relevance == "binary" else None,
            collective=data.collective,
        )
        model: Any = as_model(self.weak_ranker)
        constraints = self._constraints()
        known = () if constraints is None else (constraints,)
        weak_rankers = model.on_rows(rows, *known)
        if history.steps:
            self._check_same_weak_rankers(weak_rankers, history)
        objective = self._make_objective(preferences, threads)
        return BoostingProblem(data, preferences, objective, weak_rankers, threads)

    def _check_same_weak_rankers(self, weak_rankers: WeakRankers, history: History) -> None:
        """Raise ValueError when a warm start would give old coefficients a new meaning."""
        try:
            rules = weak_rankers.rules(np.array(history.coordinates))
            is_same = rules.equal(self.weak_rankers_)
        except (IndexError, ValueError):  # fewer weak rankers
            is_same = False
        if not is_same:
            raise ValueError(
                f"{type(self).__name__} with warm_start=True continues on the same data: the "
                "weak rankers of the last fit are not among those of this one."
            )

    def _solve(
        self, problem: BoostingProblem, history: History, held_out: TrainingData | None
    ) -> dict[str, Any]:
        """Run the rounds and return the fitted attributes."""
        coefficients, scores = self._restore(problem, history)
        gain = self._make_gain(problem)
        state = self._make_state(problem, scores, gain)
        stopping = self._make_stopping(problem, history, held_out)
        offsets = self._make_offsets(problem, scores)
        del scores  # the state has its own
        problem.share_totals()
        observer = self._make_observer(
            problem.data,
            "round",
            self.n_estimators,
            lambda: self._collect(problem, deepcopy(history), state, is_whole=False),
            n_before=len(history.steps),
        )
        rounds = self._descend(problem, state, coefficients, gain)
        while len(history.steps) < self.n_estimators:
            done = next(rounds, None)
            if done is None:
                break
            history.add(done, state)
            if offsets is not None:
                history.offsets.append(offsets.after_round(done, state))
            if self._tracks_margin:
                history.add_margins(state, coefficients, problem.log_scale)
            validation = None
            if stopping is not None:
                validation = stopping.score(self._change(problem, held_out, done))
            is_ended = observer(len(history.steps), state.value, validation)
            if is_ended or (stopping is not None and stopping.is_over):
                break
        is_last = True
        if stopping is not None:
            is_last = stopping.best_round == len(history.steps)
            history.truncate(stopping.best_round)
        self._warn_if_empty(history.steps)
        return self._collect(problem, history, state if is_last else None)

    def _warn_if_empty(self, found: Sequence[float]) -> None:
        """Warn when no weak ranker was found."""
        if not found:
            warn(
                f"{type(self).__name__} found no weak ranker that orders the training pairs "
                "better than chance: all scores are equal.",
                ConvergenceWarning,
            )

    def _descend(
        self,
        problem: BoostingProblem,
        state: ObjectiveState,
        coefficients: Coefficients,
        gain: Gain,
    ) -> Iterator[Round]:
        """Return an iterator of rounds, which moves the state and the coefficients."""
        return coordinate_descent(
            problem.weak_rankers,
            state,
            coefficients,
            gain=gain,
            step_rule=self._make_step_rule(problem, coefficients),
            learning_rate=self.learning_rate,
            tol=self.tol,
            collective=problem.preferences.collective,
        )

    def _restore(self, problem: BoostingProblem, history: History) -> tuple[Coefficients, Floats]:
        """Return coefficients and training scores of the rounds so far."""
        coefficients = Coefficients()
        take = getattr(problem.weak_rankers, "take", None)
        for index, step in zip(history.coordinates, history.steps, strict=True):
            coefficients.add(index, step)
            if take is not None:
                take(Candidate(index, 0.0), step)
        if not history.steps:
            return coefficients, np.zeros(problem.preferences.n_rows)
        return coefficients, problem.scores(history.coordinates, history.steps)

    def _make_state(self, problem: BoostingProblem, scores: Floats, gain: Gain) -> ObjectiveState:
        return make_state(
            problem.objective,
            problem.preferences,
            scores,
            threads=problem.threads,
            is_two_sided=problem.is_two_sided,
            with_curvature=self._is_second_order(problem, gain),
        )

    def _make_offsets(
        self, problem: BoostingProblem, scores: Floats
    ) -> StageBalances | StageCuts | None:
        """Return what finds the offset after each round; None in graded mode."""
        if problem.positive is None:
            return None
        if self._balances:
            return StageBalances(problem.positive, problem.preferences)
        return StageCuts.of_sample(problem.data, problem.preferences, scores)

    def _last_offset(
        self, problem: BoostingProblem, history: History, state: ObjectiveState | None
    ) -> float:
        """Return the offset of all rounds, of all rows; `state` is at the last one or None."""
        if not history.steps:
            return self.offset_of(problem.data, np.zeros(problem.preferences.n_rows))
        if self._balances or problem.n_rows <= MOST_ROWS:
            return history.offsets[-1]
        scores = getattr(state, "scores", None)
        if scores is None:
            scores = problem.scores(history.coordinates, history.steps)
        return self.offset_of(problem.data, scores)

    def _make_stopping(
        self, problem: BoostingProblem, history: History, held_out: TrainingData | None
    ) -> EarlyStopping | None:
        if held_out is None:
            return None
        scores = np.zeros(len(held_out.y))
        if history.steps:
            scores = self.weak_rankers_.scores(held_out.X, self.estimator_weights_, problem.threads)
            del history.validation[len(history.steps) :]
        return EarlyStopping(
            scores,
            self._metric_of(held_out),
            history.validation,
            self.n_iter_no_change,
            self.tol,
        )

    @staticmethod
    def _change(problem: BoostingProblem, rows: TrainingData | None, done: Round) -> Floats:
        """Return what one round adds to the scores of some rows."""
        assert rows is not None
        rule = problem.weak_rankers.rules(np.array([done.index]))
        change: Floats = rule.scores(rows.X, np.array([done.step]), problem.threads)
        return change

    def _collect(
        self,
        problem: BoostingProblem,
        history: History,
        state: ObjectiveState | None,
        *,
        is_whole: bool = True,
    ) -> dict[str, Any]:
        """Return the fitted attributes of a model built round by round.

        `state` is at the last round of the history, or None. Where several processes hold the
        rows only those of a `is_whole` fit have the offset of all rows.
        """
        weights = np.array(history.steps)
        coordinates = np.array(history.coordinates, dtype=np.intp)
        fitted: dict[str, Any] = {
            **problem.model_attributes(coordinates, weights, np.array(history.decreases)),
            "objective_curve_": np.array(history.objective),
            "n_iter_": len(weights),
            "_history_": vars(history),
        }
        if self.relevance == "binary":
            is_early = problem.preferences.collective.size > 1 and not is_whole
            offset = history.offsets[-1] if is_early else self._last_offset(problem, history, state)
            fitted["offset_"] = offset
            fitted["staged_offsets_"] = np.array(history.offsets)
            fitted["staged_offsets_"][-1:] = offset
        if self._tracks_margin:
            fitted["margin_curve_"] = np.array(history.margins)
            fitted["smooth_margin_curve_"] = np.array(history.smooth_margins)
            fitted["margin_"] = history.margins[-1] if history.margins else 0.0
        if history.validation:
            fitted["validation_scores_"] = np.array(history.validation)
        return fitted

    def __sklearn_tags__(self) -> Tags:
        """Return the tags; missing and sparse input depend on the weak ranker."""
        tags = super().__sklearn_tags__()
        if self._allowed["weak_ranker"].allows(self.weak_ranker):
            model = as_model(self.weak_ranker)
            tags.input_tags.allow_nan = model.allow_nan
            tags.input_tags.sparse = model.sparse
        return tags

    def _check_features(self, X: Any) -> None:
        super()._check_features(X)
        allowed = getattr(as_model(self.weak_ranker), "largest_value", np.inf)
        largest = 0.0 if allowed == np.inf else largest_size(X)
        if largest > allowed:
            raise ValueError(
                f"X has values as large as {largest:.0e}, whose squares overflow in "
                f"{type(self).__name__} with weak_ranker={self.weak_ranker!r}: at most "
                f"{allowed:g} is allowed. Scale the features, with StandardScaler for example."
            )

    def _check_combination(self) -> None:
        super()._check_combination()
        reason = getattr(as_model(self.weak_ranker), "refusal", None)
        if reason:
            name = type(self).__name__
            raise ValueError(f"weak_ranker={self.weak_ranker!r} of {name} can't be used: {reason}.")
