"""Base class of the boosting rankers: from validated data to a fitted model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sklearn_rank._core.parallel import ThreadPool, one_blas_thread
from sklearn_rank._core.protocols import Floats, Objective, WeakRankers
from sklearn_rank._core.rows import FitRows, Rows
from sklearn_rank._core.validation import FLAG, Constraint, Number, check_same
from sklearn_rank._core.warnings import warn
from sklearn_rank.estimators._boosting.bags import Bags
from sklearn_rank.estimators._boosting.problem import BoostingConfig, BoostingProblem, History
from sklearn_rank.estimators._boosting.record import FitRecord, Stopping, class_offset
from sklearn_rank.estimators._boosting.rounds_ranker import Phase
from sklearn_rank.estimators._boosting.weak_ranker_checks import WeakRankerChecks
from sklearn_rank.metrics.scorers import as_scorer
from sklearn_rank.models import StepFunction
from sklearn_rank.objectives import make_push
from sklearn_rank.solvers import BoostingSolver, Coordinate
from sklearn_rank.solvers._solver import StepRule

SELECTIONS = ("auto", "steepest", "optimal")
"""Values of the parameter `selection`."""


class BoostingRanker(WeakRankerChecks):
    """Base class of the boosting rankers.

    A subclass chooses its objective and gain (`_config`), and may change the step
    (`_make_step_rule`) or the solver (`solver_in_use`). The configuration is all that problems and
    records know of the ranker.
    """

    _tracks_margin: ClassVar[bool] = True

    _allowed: ClassVar[dict[str, Constraint]] = {
        **WeakRankerChecks._allowed,
        "tol": Number(0, closed="left"),
        "warm_start": FLAG,
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
        refit_stopped: bool = True,
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
        self.refit_stopped = refit_stopped
        self.scoring = scoring
        self.relevance = relevance
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _staged_scores(self, X: Any) -> Iterator[Floats]:
        yield from self.weak_rankers_.staged_scores(X, self.estimator_weights_)

    def score_rows(self, X: Any) -> Floats:
        """Return scores, without offset, of checked rows."""
        with ThreadPool(self.n_jobs, X.shape[0] * X.shape[1]).running() as threads:
            return self.weak_rankers_.scores(X, self.estimator_weights_, threads)

    # What a subclass decides -------------------------------------------------------

    @property
    def solver_in_use(self) -> BoostingSolver:
        """The solver."""
        return Coordinate()

    def _config(self, threads: ThreadPool) -> BoostingConfig:
        """Return the settings of a fit; the defaults are those of RankBoost."""
        return BoostingConfig(
            owner=type(self).__name__,
            make_objective=partial(make_push, loss="exponential", p=1.0, push="top"),
            make_step_rule=self._make_step_rule,
            learning_rate=self.learning_rate,
            tol=self.tol,
            has_stages=self.solver_in_use.traits.has_stages,
            tracks_margin=self._tracks_margin,
            balances_classes=self._balances_classes,
        )

    def _make_step_rule(self, problem: BoostingProblem, coefficients: Any) -> StepRule:
        return problem.push_step()

    @property
    def _balances_classes(self) -> bool:
        """Whether the offset balances the classes; otherwise it is the error cut."""
        return True

    # For scorecards ------------------------------------------------------------------

    def objective_of(self, data: Rows) -> Objective:
        """Return the objective of the ranker on some rows, as a function of their scores.

        Parameters
        ----------
        data : Rows
            Checked rows.

        Returns
        -------
        Objective
            Scores are in the order of ``data.preferences.order``.
        """
        return self._config(ThreadPool(1)).make_objective(data.preferences)

    def offset_of(self, data: Rows, scores: Floats) -> float:
        """Return the offset between the two classes, given the scores of some rows.

        Parameters
        ----------
        data : Rows
            Checked rows of two classes.
        scores : ndarray of shape (n_rows,)
            Their scores, in the order of ``data.preferences.order``.

        Returns
        -------
        float
            Scores above minus this number mean the upper class.
        """
        return class_offset(data, scores, self._balances_classes)

    @property
    def step_functions_(self) -> list[StepFunction]:
        """The fitted model of stumps as a step function for each feature that it uses."""
        return self.weak_rankers_.step_functions(self.estimator_weights_)

    # Fitting -------------------------------------------------------------------------

    def _fit(self, data: Rows) -> dict[str, Any]:
        history = self._open_history(data)
        n_rows, n_features = data.X.shape
        # BLAS threads beside those of the fit would wait for a core.
        with one_blas_thread(), ThreadPool(self.n_jobs, n_rows * n_features).running() as threads:
            if getattr(self, "n_bags", 1) > 1:
                return self._fit_bags(data.distinct(), history, threads)
            return self._fit_phases(
                data, history.seed, lambda phase: self._fit_phase(phase, history, threads)
            )

    def _fit_phase(
        self, phase: Phase, history: History, threads: ThreadPool
    ) -> tuple[dict[str, Any], bool]:
        """Return the fitted attributes of a phase, and whether an observer ended it."""
        history = deepcopy(history) if phase.is_search else history
        problem = self._make_problem(phase.rows, history, threads)
        stopping = self._make_stopping(phase, history, threads)
        record = FitRecord(problem, history, phase, stopping)
        is_one_run = not (phase.is_search or self._counts_each_power)
        record.observe = self._make_observer(
            problem.data,
            phase.unit,
            phase.n_rounds,
            lambda: record.attributes(deepcopy(history)),
            n_iter_before=len(history.objective) if is_one_run else None,
        )
        self.solver_in_use.solve(problem, record)
        fitted = record.end()
        if not self.solver_in_use.traits.moves_all:  # a search may find nothing
            self._warn_if_empty(history.steps)
        return fitted, record.was_ended

    @property
    def _counts_each_power(self) -> bool:
        """Whether `n_estimators` limits the iterations of each power of a path separately."""
        return bool(np.isinf(getattr(self, "p", 1.0)))

    def _make_stopping(self, phase: Phase, history: History, threads: ThreadPool) -> Stopping:
        """Return the early-stopping rule for the held-out rows of a phase, if there are any."""
        rows, n_rounds = phase.held_out, len(history.steps)
        if rows is None:
            return None
        # The last fit has measured rounds that its model does not keep.
        del history.validation[n_rounds:], history.losses[n_rounds:]
        stopping = self.stopping_on(rows, history.losses, history.validation, self.tol)
        if n_rounds:  # of a warm start
            weights = self.estimator_weights_
            best_weights = weights * (np.arange(n_rounds) < stopping.smallest_loss)
            stopping.scores, stopping.best_scores = (
                self.weak_rankers_.scores(rows.X, w, threads) for w in (weights, best_weights)
            )
        return stopping

    def _fit_bags(self, data: Rows, history: History, threads: ThreadPool) -> dict[str, Any]:
        """Fit bag after bag and return the fitted attributes of their mean."""
        problem = self._make_problem(data, history, threads)
        bags, n_bags = Bags(problem, history), self.n_bags
        observe = self._make_observer(problem.data, "bag", n_bags, bags.attributes)
        for bag in range(1, n_bags + 1):
            if observe(bag, bags.fit_next(self.solver_in_use, self.n_estimators)):
                break
        self._warn_if_empty(bags.coordinates)
        return bags.attributes()

    @property
    def _is_continued(self) -> bool:
        """Whether the next fit continues an earlier one."""
        return self.warm_start and hasattr(self, "_history_")

    def _open_history(self, data: Rows) -> History:
        """Return the earlier rounds of a warm start, or an empty history."""
        if self._is_continued:
            return History(**deepcopy(self._history_))
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        return History(int(seed), self._fixed_settings(data))

    def _fixed_settings(self, data: Rows) -> dict[str, Any]:
        """Return the settings that a warm start must not change."""
        is_split = self.n_iter_no_change is not None and data.held_out is None
        has_metric = self._has_validation(data) and self.scoring is not None
        fraction = self.validation_fraction if is_split else None
        validation_shape = None if data.held_out is None else data.held_out.X.shape
        return {
            "shape of X": data.shape,
            "names of features": [*getattr(self, "feature_names_in_", ())],
            "relevance": self.relevance,
            "weak_ranker": self._model.name,
            "validation_fraction (None: no early stopping)": fraction,
            "shape of X_val (None: not given)": validation_shape,
            "refit after early stopping": is_split and self.is_refitted,
            "scoring": as_scorer(self.scoring).label if has_metric else None,
            **self.stump_settings(),
        }

    def check_training(self, data: Rows) -> None:
        """Raise ValueError if nothing can be learned from the rows with these settings."""
        super().check_training(data)
        n_bags = getattr(self, "n_bags", 1)
        if n_bags > 1 and data.held_out is not None:
            raise ValueError(
                f"n_bags={n_bags} of {type(self).__name__} is the mean of several fits and "
                "has no rounds: it can't be used with X_val."
            )
        if not self._is_continued:
            return
        name = f"{type(self).__name__} with warm_start=True"
        check_same(name, self._history_["settings"], self._fixed_settings(data))
        if not self._counts_each_power and self.n_estimators < self.n_iter_:
            raise ValueError(
                f"{name} can only add rounds: n_estimators="
                f"{self.n_estimators} is less than the {self.n_iter_} rounds fitted."
            )

    def _make_problem(self, data: Rows, history: History, threads: ThreadPool) -> BoostingProblem:
        """Return the problem of rows, with their weak rankers."""
        # Rows in no pair would only change the bins of the others.
        if self.relevance == "graded":
            paired = data.paired_rows()
            if len(paired) < len(data.y):
                data = data.take(paired)
        # A warm start passes its rules, so that estimators as weak rankers are not fitted again.
        earlier_rules = getattr(self, "weak_rankers_", None) if history.steps else None
        constraints = self._constraints() if self._has_stumps else None
        rows = FitRows(data, threads, self.max_bins, history.seed, earlier_rules, constraints)
        weak_rankers = self._model.on_rows(rows)
        if history.steps:
            self._check_same_weak_rankers(weak_rankers, history)
        return BoostingProblem.of_rows(data, weak_rankers, threads, self._config(threads))

    def _check_same_weak_rankers(self, weak_rankers: WeakRankers, history: History) -> None:
        """Raise ValueError if a warm start finds other weak rankers than the last fit."""
        try:
            is_equal = weak_rankers.rules(np.array(history.coordinates)).equal(self.weak_rankers_)
        except (IndexError, ValueError):  # there are fewer weak rankers
            is_equal = False
        if not is_equal:
            raise ValueError(
                f"{type(self).__name__} with warm_start=True needs the same data as before: these "
                "rows do not have the weak rankers of the last fit."
            )

    def _warn_if_empty(self, weak_rankers: Sequence[float]) -> None:
        """Warn when a search has found no weak ranker."""
        if not weak_rankers:
            warn(
                f"{type(self).__name__} found no weak ranker that orders the training pairs "
                "better than chance: all scores are equal.",
                ConvergenceWarning,
            )

    def _check_combination(self) -> None:
        super()._check_combination()
        if getattr(self, "n_bags", 1) > 1:
            self._check_bags()

    def _check_bags(self) -> None:
        """Raise ValueError for settings that cannot be averaged over bags."""
        model = self._model
        limits = [getattr(model, name, None) for name in ("max_thresholds", "max_features_used")]
        refused = {
            f"weak_ranker={self.weak_ranker!r}": not self._has_stumps or limits != [None, None],
            f"solver={getattr(self, 'solver', '')!r}": not self.solver_in_use.traits.fits_bags,
            "warm_start=True": self.warm_start,
            f"n_iter_no_change={self.n_iter_no_change}": self.n_iter_no_change is not None,
        }
        for setting, is_set in refused.items():
            if is_set:
                raise ValueError(
                    f"n_bags={self.n_bags} of {type(self).__name__} is the mean of fits to "
                    "bootstrap samples, each with any number of stumps, chosen one by one: "
                    f"it can't be used with {setting}."
                )
