"""What the three boosting rankers share: from validated data to a fitted model."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from sklearn_rank._observers import Printer
from sklearn_rank._parallel import ThreadPool
from sklearn_rank._protocols import Descent, Floats, Gain, Values
from sklearn_rank._validation import Constraint, Flag, Number, WeakRanker
from sklearn_rank.base import BaseRanker, TrainingData, is_binary
from sklearn_rank.estimators._early_stopping import (
    EarlyStopping,
    metric_of_rows,
    split_validation,
)
from sklearn_rank.estimators._rounds import (
    History,
    Problem,
    describe,
    note_margins,
)
from sklearn_rank.metrics._scorers import Scoring, as_scorer
from sklearn_rank.models import (
    WEAK_RANKERS,
    Family,
    StumpFamily,
    make_family,
)
from sklearn_rank.objectives import (
    BipartiteDescent,
    Push,
    ScoredDescent,
    SidePush,
    balancing_offset,
)
from sklearn_rank.preferences import Preferences
from sklearn_rank.solvers import (
    Ledger,
    Round,
    coordinate_descent,
    steepest,
)


def has_stages(ranker: Any) -> bool:
    """Whether the model was built weak ranker by weak ranker."""
    if getattr(ranker, "solver", "coordinate") == "coordinate":
        return True
    raise AttributeError(
        f"{type(ranker).__name__} has stages only with solver='coordinate': "
        f"solver={ranker.solver!r} moves all weights at once."
    )


def has_binary_stages(ranker: Any) -> bool:
    """Whether there is a decision function for each stage."""
    return is_binary(ranker) and has_stages(ranker)


class BoostingRanker(BaseRanker):
    """Base class of the boosting rankers.

    A subclass names its objective (`_make_objective`) and may change the step
    (`_make_step_rule`), the choice of the weak ranker (`_make_gain`) or the solver
    (`_solve`).
    """

    _tracks_margin: ClassVar[bool] = True

    _allowed: ClassVar[dict[str, Constraint]] = {
        **BaseRanker._allowed,
        "n_estimators": Number(1, integer=True),
        "weak_ranker": WeakRanker(WEAK_RANKERS),
        "learning_rate": Number(0, 1, "right"),
        "max_bins": Number(2, 65_535, integer=True),
        "tol": Number(0, closed="left"),
        "warm_start": Flag(),
        "validation_fraction": Number(0, 1, "neither"),
        "n_iter_no_change": Number(1, integer=True, other=(None,)),
        "scoring": Scoring(),
    }

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        weak_ranker: Any = "stump",
        learning_rate: float = 1.0,
        max_bins: int = 64,
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
        self.tol = tol
        self.warm_start = warm_start
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.scoring = scoring
        self.relevance = relevance
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @available_if(has_binary_stages)
    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Yield the decision function after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Yields
        ------
        ndarray of shape (n_samples,)
            Scores plus the offset of the stage; the last is `decision_function`.
        """
        check_is_fitted(self)
        for scores, offset in zip(self._stages(X), self.staged_offsets_, strict=True):
            yield scores + offset

    @available_if(has_stages)
    def staged_predict(self, X: Any) -> Iterator[Values]:
        """Yield what `predict` would return after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Yields
        ------
        ndarray of shape (n_samples,)
            Labels (binary mode) or scores (graded mode).
        """
        if self.relevance == "graded":
            yield from self._stages(X)
            return
        for decision in self.staged_decision_function(X):
            yield self._label(decision)

    def _stages(self, X: Any) -> Iterator[Floats]:
        check_is_fitted(self)
        X = self._validate_features(X, reset=False)
        yield from self.weak_rankers_.staged_scores(X, self.estimator_weights_)

    def _score_rows(self, X: Any) -> Floats:
        with ThreadPool(self.n_jobs, X.shape[0] * X.shape[1]).running() as threads:
            scores: Floats = self.weak_rankers_.scores(X, self.estimator_weights_, threads)
        return scores

    # What a subclass decides -------------------------------------------------------

    def _make_objective(self, preferences: Preferences) -> Push:
        return SidePush(preferences, 1.0)

    def _make_gain(self, problem: Problem) -> Gain:
        return steepest

    def _make_step_rule(self, problem: Problem, ledger: Ledger) -> Any:
        return problem.push_step(1.0)

    def _offset(self, problem: Problem, scores: Floats) -> float:
        """Return the offset between the two classes for scores of the training rows."""
        assert problem.positive is not None
        return balancing_offset(scores, problem.positive, problem.preferences.log_weight)

    # Fitting -------------------------------------------------------------------------

    def _fit(self, data: TrainingData) -> dict[str, Any]:
        history = self._open_history(data)
        n_rows, n_features = data.X.shape
        with ThreadPool(self.n_jobs, n_rows * n_features).running() as threads:
            held_out = None
            if self.n_iter_no_change is not None:
                data, held_out = split_validation(data, self.validation_fraction, history.seed)
            problem = self._pose(data, history, threads)
            return self._solve(problem, history, held_out)

    def _open_history(self, data: TrainingData) -> History:
        """Return the earlier rounds of a warm start, or an empty history."""
        if not (self.warm_start and hasattr(self, "_history_")):
            seed = check_random_state(self.random_state).randint(2**31 - 1)
            return History(data.X.shape, int(seed), self._lasting_settings())
        return History(**deepcopy(self._history_))

    def _lasting_settings(self) -> dict[str, Any]:
        """Return what gives the coordinates and the validation curve their meaning."""
        kind = self.weak_ranker if isinstance(self.weak_ranker, str) else "estimator"
        stops = self.n_iter_no_change is not None
        measures = stops and self.scoring is not None
        return {
            "relevance": self.relevance,
            "weak_ranker": kind,
            "max_bins": self.max_bins,
            "validation_fraction (None: no early stopping)": (
                self.validation_fraction if stops else None
            ),
            "scoring": as_scorer(self.scoring).name if measures else None,
        }

    def _check_training(self, data: TrainingData) -> None:
        super()._check_training(data)
        if self.n_iter_no_change is not None and self.scoring is not None:
            self._metric_of(data)(np.zeros(len(data.y)))
        if not (self.warm_start and hasattr(self, "_history_")):
            return
        name, history = type(self).__name__, self._history_
        if history["shape"] != data.X.shape:
            raise ValueError(
                f"{name} with warm_start=True continues on the same data: X had shape "
                f"{history['shape']} and now has {data.X.shape}."
            )
        for setting, value in self._lasting_settings().items():
            if history["settings"][setting] != value:
                raise ValueError(
                    f"{name} with warm_start=True continues with the same {setting}: it was "
                    f"fitted with {history['settings'][setting]!r}. Got {value!r}."
                )
        at_each_power = np.isinf(getattr(self, "p", 1.0))  # what n_estimators then counts
        if not at_each_power and self.n_estimators < self.n_iter_:
            raise ValueError(
                f"{name} with warm_start=True can only add rounds: n_estimators="
                f"{self.n_estimators} is less than the {self.n_iter_} rounds fitted."
            )

    def _pose(self, data: TrainingData, history: History, threads: ThreadPool) -> Problem:
        """Bring the parts together."""
        if self.relevance == "graded":
            paired = data.paired_rows()
            if 0 < len(paired) < len(data.y):
                data = data.take(paired)
        preferences = data.preferences
        family = make_family(
            self.weak_ranker,
            data.X,
            preferences,
            max_bins=self.max_bins,
            seed=history.seed,
            threads=threads,
            known=getattr(self, "weak_rankers_", None) if history.steps else None,
        )
        if history.steps:
            self._check_same_family(family, history)
        return Problem(data, preferences, self._make_objective(preferences), family, threads)

    def _check_same_family(self, family: Family, history: History) -> None:
        """Raise ValueError when a warm start would give old coefficients a new meaning."""
        try:
            rules = family.rules(np.array(history.coordinates))
            is_same = rules.equal(self.weak_rankers_)
        except (IndexError, ValueError):  # a smaller family
            is_same = False
        if not is_same:
            raise ValueError(
                f"{type(self).__name__} with warm_start=True continues on the same data: the "
                "weak rankers of the last fit are not among those of this one."
            )

    def _solve(
        self, problem: Problem, history: History, held_out: TrainingData | None
    ) -> dict[str, Any]:
        """Run the boosting loop and return the fitted attributes."""
        ledger, scores = self._restore(problem, history)
        descent = self._make_descent(problem, scores)
        stopping = self._make_stopping(problem, history, held_out)
        start_offset = descent.skew() if self.relevance == "binary" else 0.0
        rounds = coordinate_descent(
            problem.family,
            descent,
            ledger,
            gain=self._make_gain(problem),
            step_rule=self._make_step_rule(problem, ledger),
            learning_rate=self.learning_rate,
            tol=self.tol,
        )
        observe = self._observe(
            problem.data,
            "round",
            total=self.n_estimators - len(history.steps),
            reconstruct=lambda: self._fitted_so_far(problem, history),
            printer=Printer(type(self).__name__, "round", self.n_estimators, self.verbose),
        )
        while len(history.steps) < self.n_estimators:
            done = next(rounds, None)
            if done is None:
                break
            self._note_round(history, done, descent)
            if self._tracks_margin:
                note_margins(history, problem, ledger, descent)
            is_over = False
            if stopping is not None:
                is_over = stopping.is_over(self._change(problem, held_out, done.index, done.step))
            if observe(len(history.steps), history.objective[-1]) or is_over:
                break
        if stopping is not None:
            history.truncate(stopping.best_round)
        if not history.steps:
            warnings.warn(
                f"{type(self).__name__} found no weak ranker that orders the training pairs "
                "better than chance: all scores are equal.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self._collect(problem, history, start_offset)

    def _fitted_so_far(self, problem: Problem, history: History) -> dict[str, Any]:
        """Return what it takes to score rows as if the last round were the end."""
        fitted: dict[str, Any] = {
            "weak_rankers_": problem.family.rules(np.array(history.coordinates, dtype=np.intp)),
            "estimator_weights_": np.array(history.steps),
        }
        return {**fitted, "offset_": history.offsets[-1]} if history.offsets else fitted

    def _note_round(self, history: History, done: Round, descent: Descent) -> None:
        history.coordinates.append(done.index)
        history.steps.append(done.step)
        history.decreases.append(done.decrease)
        history.objective.append(descent.value)
        if self.relevance == "binary":
            history.offsets.append(descent.skew())

    def _restore(self, problem: Problem, history: History) -> tuple[Ledger, Floats]:
        """Return coefficients and training scores of the rounds so far."""
        ledger = Ledger()
        for index, step in zip(history.coordinates, history.steps, strict=True):
            ledger.add(index, step)
        scores = np.zeros(problem.preferences.n_rows)
        if history.steps:
            rows = problem.data.X[problem.preferences.order]
            scores = self.weak_rankers_.scores(rows, self.estimator_weights_, problem.threads)
        return ledger, scores

    def _make_descent(self, problem: Problem, scores: Floats) -> Descent:
        objective, preferences = problem.objective, problem.preferences
        if (
            isinstance(objective, SidePush)
            and preferences.is_bipartite_list
            and isinstance(problem.family, StumpFamily)
        ):
            return BipartiteDescent(
                objective,
                scores,
                problem.threads,
                with_skew=self.relevance == "binary",
                with_margin=self._tracks_margin,
            )
        return ScoredDescent(objective, preferences, scores, partial(self._offset, problem))

    def _make_stopping(
        self, problem: Problem, history: History, held_out: TrainingData | None
    ) -> EarlyStopping | None:
        if held_out is None or self.n_iter_no_change is None:
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

    def _metric_of(self, rows: TrainingData) -> Callable[[Floats], float]:
        """Return what early stopping watches, as a function of the scores of some rows."""
        if self.scoring is None:
            return lambda f: self._score_order(rows.y, f, rows.qid, rows.weight)
        return metric_of_rows(type(self).__name__, self.scoring, rows)

    @staticmethod
    def _change(problem: Problem, rows: TrainingData | None, index: int, step: float) -> Floats:
        """Return what one round adds to the scores of some rows."""
        assert rows is not None
        rule = problem.family.rules(np.array([index]))
        return rule.scores(rows.X, np.array([step]), problem.threads)

    def _report(self, objective: list[float]) -> None:
        """Print a line about the last round, ten a fit with verbose=1."""
        number = len(objective)
        every = 1 if self.verbose > 1 else max(1, self.n_estimators // 10)
        if self.verbose and (number % every == 0 or number == 1):
            print(
                f"[{type(self).__name__}] round {number}/{self.n_estimators}: "
                f"objective {objective[-1]:.6g}"
            )

    def _collect(self, problem: Problem, history: History, start_offset: float) -> dict[str, Any]:
        """Return the fitted attributes of a model built round by round."""
        weights = np.array(history.steps)
        coordinates = np.array(history.coordinates, dtype=np.intp)
        rules = problem.family.rules(coordinates)
        fitted: dict[str, Any] = {
            "weak_rankers_": rules,
            "estimator_weights_": weights,
            "objective_curve_": np.array(history.objective),
            "n_iter_": len(weights),
            "_history_": vars(history),
        }
        if self.relevance == "binary":
            fitted["staged_offsets_"] = np.array(history.offsets)
            fitted["offset_"] = history.offsets[-1] if history.offsets else start_offset
        if self._tracks_margin:
            fitted["margin_curve_"] = np.array(history.margins)
            fitted["smooth_margin_curve_"] = np.array(history.smooth_margins)
            fitted["margin_"] = history.margins[-1] if history.margins else 0.0
        if history.validation:
            fitted["validation_scores_"] = np.array(history.validation)
        n_features = problem.data.X.shape[1]
        fitted.update(describe(rules, weights, np.array(history.decreases), n_features))
        return fitted

    def __sklearn_tags__(self) -> Tags:
        """Return the tags; missing and sparse input depend on the weak ranker."""
        tags = super().__sklearn_tags__()
        if isinstance(self.weak_ranker, str):
            tags.input_tags.allow_nan = self.weak_ranker == "stump"
            tags.input_tags.sparse = self.weak_ranker == "feature"
        elif self._allowed["weak_ranker"].allows(self.weak_ranker):
            inner = get_tags(self.weak_ranker).input_tags
            tags.input_tags.allow_nan = inner.allow_nan
            tags.input_tags.sparse = inner.sparse
        return tags

    def _check_combination(self) -> None:
        if not isinstance(self.weak_ranker, str) and not has_fit_parameter(
            self.weak_ranker, "sample_weight"
        ):
            raise ValueError(
                f"weak_ranker={self.weak_ranker!r} of {type(self).__name__} can't be used: "
                "its fit takes no sample_weight."
            )
