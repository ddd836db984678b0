"""The p-norm push."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from inspect import signature
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np

from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Objective
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.validation import Choice, Constraint, Number
from sklearn_rank._pair_sums.margin_losses import MARGIN_LOSS_CHOICE, as_margin_loss
from sklearn_rank.estimators._boosting.boosting_ranker import SELECTIONS, BoostingRanker
from sklearn_rank.estimators._boosting.problem import BoostingConfig, BoostingProblem, History
from sklearn_rank.models import as_model
from sklearn_rank.objectives import PUSHES, make_push
from sklearn_rank.solvers import BOOSTING_SOLVERS, BoostingSolver, SolverTraits


class PNormPushRanker(BoostingRanker):
    r"""P-norm push: boosting that focuses on the top of the list; p sets how strongly.

    Use it when the top of the list matters most: fraud queues, triage, search. A larger p moves
    errors away from the top at the expense of some of the AUC.

    Call ``fit(X, y)``, then sort rows by decreasing ``decision_function(X)`` (two classes) or,
    with ``relevance="graded"``, by decreasing ``predict(X)``. With ``fit(X, y, qid=...)`` rows
    are compared only within their query. Guide: :doc:`/guide/p_norm_push`.

    It minimises

    .. math:: J_p(f) = \frac1p \log \sum_k w_k \Bigl( \frac{N_k}{\max_l N_l} \Bigr)^{1-p}
        \Bigl( \sum_{i \text{ above } k} w_i e^{-(f_i - f_k)} \Bigr)^p,
        \qquad f(x) = \sum_j \lambda_j h_j(x)

    where

    - f are the scores, of shape (n_samples,), i above k the pairs of rows with
      :math:`y_i > y_k` in one query, and w the sample weights;
    - the inner sum is the *height* of row k in exponential units; the p-th power makes large
      heights cost most: p = 1 is RankBoost, p = inf the height of the single worst row;
    - :math:`N_k = \sum_{i \text{ above } k} w_i`; in one list of two classes its factor is 1;
    - :math:`h_j` are the weak rankers and :math:`\lambda_j` their coefficients.

    Parameters
    ----------
    p : float in [1, inf], default=4.0
        How strongly the loss focuses on the top of the list. 1 treats all pairs alike; 4 to 16 are
        usual when the top matters; with a larger p the model depends on the few highest-ranked
        rows.
    push : {"top", "crucial_pairs", "bottom", "both", "ir"}, default="top"
        Which end of the list p emphasises; "crucial_pairs": the top, without the factor of
        :math:`N_k`; "ir": no p, a logarithm for each row above (:doc:`/guide/p_norm_push`).
    bottom_weight : float in [0, inf), default=1.0
        Weight of the bottom risk with ``push="both"``.
    loss : str or MarginLoss, default="exponential"
        "exponential" (steps in closed form), "least_squares", "hinge", "squared_hinge", "logistic"
        or your own `MarginLoss`; all but the first make J a p-norm (:doc:`/guide/p_norm_push`).
    solver : {"coordinate", "corrective", "lbfgs"} or BoostingSolver, default="coordinate"
        "coordinate": boosting. "corrective": all coefficients are refitted after each new stump,
        for small models. "lbfgs": all at once. Your own: :doc:`/guide/extending`.
    alpha : float in [0, inf) or "auto", default="auto"
        Ridge penalty :math:`\frac{\alpha}{2} \|\lambda\|_2^2` of "corrective" and "lbfgs". "auto":
        scaled to the objective with "lbfgs" and finite p (:doc:`/guide/p_norm_push`), otherwise 0.
    score_p : float in [1, inf] or None, default=None
        What `score` returns. None: the AUC. A number: ``1 - R``, with R the normalised zero-one
        p-norm push loss at this power, so that a search over p compares all candidates by one
        metric.
    n_estimators : int in [1, inf), default=200
        Maximum number of rounds ("coordinate"), stumps ("corrective") or iterations ("lbfgs").
    weak_ranker : {"stump", "feature"}, estimator or model, default="stump"
        The kind of h: a stump (`models.Stumps` has constraints and special codes), a raw feature,
        the prediction of an estimator (only with "coordinate"), or your own model
        (:doc:`/guide/rank_boost`). "corrective" takes only stumps.
    selection : {"auto", "steepest", "optimal"}, default="auto"
        Which weak ranker a round adds: the one along which J falls most steeply ("auto" with the
        exponential loss, not with "ir"), or the one whose step lowers it most. Not with "lbfgs".
    learning_rate : float in (0, 1], default=0.3
        Factor applied to every step of "coordinate"; 1 is the algorithm of the paper. Other solvers
        ignore 1 and the default and raise an error for other values.
    max_bins : int in [2, 65535], default=64
        Maximum number of bins per feature. Fewer bins are coarser, but not faster.
    monotonic_cst : array-like of int of shape (n_features,), dict or None, default=None
        1: the score never falls as the feature grows; -1: it never rises; 0: no constraint. A dict
        maps feature names or indices to these values. Not with "lbfgs".
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Categorical features (:doc:`/guide/conventions`): "from_dtype", those of a categorical type
        in a data frame; or indices, names, or a mask. Not with "lbfgs".
    n_bags : int in [1, inf), default=1
        Number of bootstrap samples whose fits are averaged; 1: a single fit to all rows. Only for
        stumps (:doc:`/guide/p_norm_push`).
    tol : float in [0, inf), default=1e-9
        Stop when the relative decrease of J in a round is at most `tol`; 0: never. "lbfgs" issues a
        `ConvergenceWarning` if it stops earlier.
    warm_start : bool, default=False
        Whether `fit` adds rounds to the last fit, on the same data. A fit that fails or is
        interrupted leaves the previous model unchanged.
    validation_fraction : float in (0, 1), default=0.1
        Share of the queries (or rows, stratified) held out for early stopping without `X_val`.
    n_iter_no_change : int in [1, inf) or None, default=None
        Early stopping (:doc:`/guide/tuning`): stop once the best round is at least this many rounds
        back and the held-out rows have become worse by more than the standard error. None: run all
        rounds.
    refit_stopped : bool, default=True
        Whether to refit on all rows with the best number of rounds; not with `X_val` or
        `warm_start`.
    scoring : str, scorer or None, default=None
        What early stopping monitors: a name that `metrics.ranking_scorer` accepts, such as
        "ndcg@10", or its scorer. None: the logistic loss of the pairs.
    relevance : {"binary", "graded"}, default="binary"
        "binary": two classes; the ranker is a scikit-learn classifier. "graded": numbers.
    n_jobs : int or None, default=None
        Number of threads; None means 1, -1 all processors, as in joblib.
    random_state : int, RandomState or None, default=None
        Seed for the held-out rows, the bags and an estimator as weak ranker.
    verbose : int, default=0
        1 prints ten lines per fit, 2 one line per round.

    Attributes
    ----------
    objective_curve_ : ndarray of shape (n_iter_,)
        The objective after each round, with the ridge `alpha_`. With ``p=inf``: the lowest so far.
    weak_rankers_, estimator_weights_ : object, ndarray of shape (n_weak_rankers,)
        The weak rankers, one per round, and their coefficients; with other solvers, those with
        nonzero coefficients.
    offset_, staged_offsets_ : float, ndarray of shape (n_iter_,)
        Binary mode: the constant that `decision_function` adds to the scores, and its value after
        each "coordinate" round, computed on at most 8,192 distinct rows. It is minus the threshold
        with the smallest weighted training error, or RankBoost's offset if the objective is
        RankBoost's.
    bag_weights_ : ndarray of shape (n_bags, n_weak_rankers)
        With ``n_bags > 1``: the coefficients of each bag.
    validation_scores_, validation_losses_ : ndarray of shape (n_rounds_run,)
        With held-out rows: the metric (`scoring`, or by default `score`) and the loss after each
        round.
    feature_importances_, coef_ : ndarray of shape (n_features_in_,)
        Share of each feature in the decrease of J; the coefficients of raw features.
    classes_, n_iter_, n_features_in_, feature_names_in_
        The classes (binary mode), the second of which belongs at the top; the numbers of rounds and
        of features, and the feature names, if all are strings.

    References
    ----------
    Rudin2009, sec. 2 (objective), sec. 4 (the normalised loss of `score_p`), sec. 5 (coordinate
    descent), sec. 7 (the bottom, both ends, the IR push, graded pairs), sec. 9.2 (p = inf).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_rank import PNormPushRanker
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> ranker = PNormPushRanker(p=8, n_estimators=50).fit(X, y)
    >>> ranker.score(X, y) > 0.99
    True
    """

    _tracks_margin: ClassVar[bool] = False

    _allowed: ClassVar[dict[str, Constraint]] = {
        **BoostingRanker._allowed,
        "n_bags": Number(1, integer=True),
        "selection": Choice(SELECTIONS),
        "p": Number(1),
        "push": Choice(tuple(PUSHES)),
        "bottom_weight": Number(0, closed="left"),
        "loss": MARGIN_LOSS_CHOICE,
        "solver": BOOSTING_SOLVERS,
        "alpha": Number(0, closed="left", other=("auto",)),
        "score_p": Number(1, other=(None,)),
    }

    def __init__(
        self,
        *,
        p: float = 4.0,
        push: str = "top",
        bottom_weight: float = 1.0,
        loss: Any = "exponential",
        solver: Any = "coordinate",
        alpha: float | str = "auto",
        score_p: float | None = None,
        n_estimators: int = 200,
        weak_ranker: Any = "stump",
        selection: str = "auto",
        learning_rate: float = 0.3,
        max_bins: int = 64,
        monotonic_cst: Any = None,
        categorical_features: Any = "from_dtype",
        n_bags: int = 1,
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
        super().__init__(
            n_estimators=n_estimators,
            weak_ranker=weak_ranker,
            learning_rate=learning_rate,
            max_bins=max_bins,
            monotonic_cst=monotonic_cst,
            categorical_features=categorical_features,
            tol=tol,
            warm_start=warm_start,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            refit_stopped=refit_stopped,
            scoring=scoring,
            relevance=relevance,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.p = p
        self.push = push
        self.bottom_weight = bottom_weight
        self.loss = loss
        self.solver = solver
        self.alpha = alpha
        self.score_p = score_p
        self.selection = selection
        self.n_bags = n_bags

    @property
    def _is_exponential(self) -> bool:
        return bool(as_margin_loss(self.loss).factorises)

    @property
    def solver_in_use(self) -> BoostingSolver:
        """The solver that the parameter `solver` stands for."""
        return BOOSTING_SOLVERS.resolve(self.solver)

    def _config(self, threads: ThreadPool) -> BoostingConfig:
        loss: Any = as_margin_loss(self.loss)
        traits = self.solver_in_use.traits
        if not traits.needs_smooth and hasattr(loss, "with_curvature"):
            loss = loss.with_curvature()
        if hasattr(loss, "in_threads"):
            loss = loss.in_threads(threads)
        # "optimal" prefers weak rankers that single out a few rows, which ranks new rows worse.
        is_steep = self.selection == "auto" and self._is_exponential and self.push != "ir"
        return replace(
            super()._config(threads),
            make_objective=partial(self._objective, loss=loss, threads=threads),
            power=1.0 if self.push == "ir" else float(self.p),  # the IR push has no power
            selection="steepest" if is_steep else self.selection,
            learning_rate=self.learning_rate if traits.has_learning_rate else 1.0,
            alpha=0.0 if self.alpha == "auto" else float(self.alpha),
        )

    def _make_problem(self, data: Rows, history: History, threads: ThreadPool) -> BoostingProblem:
        problem = super()._make_problem(data, history, threads)
        traits = self.solver_in_use.traits
        if self.alpha != "auto" or np.isinf(self.p) or not (traits.has_ridge and traits.moves_all):
            return problem
        loss: Any = as_margin_loss(self.loss)
        loss = loss.with_curvature() if hasattr(loss, "with_curvature") else loss
        objective = self._objective(problem.preferences, loss)
        if not hasattr(objective, "value_gradient_curvature"):
            raise ValueError(
                f"alpha='auto' of {type(self).__name__} needs a loss with second_derivative, which "
                f"{type(loss).__name__} lacks. Use a number."
            )
        alpha = problem.auto_ridge(objective)
        return replace(problem, config=replace(problem.config, alpha=alpha))

    def _objective(
        self, preferences: Preferences, loss: Any, threads: ThreadPool | None = None
    ) -> Objective:
        push: Any = make_push(
            preferences, loss=loss, p=self.p, push=self.push, bottom_weight=self.bottom_weight
        )
        return push.in_threads(threads) if threads and hasattr(push, "in_threads") else push

    @property
    def _balances_classes(self) -> bool:
        return self._is_exponential and self.p == 1 and self.push != "ir"  # RankBoost's scores

    def _check_combination(self) -> None:
        super()._check_combination()
        self._check_solver()
        needs_exponential = {"p=inf": np.isinf(self.p), "push='ir'": self.push == "ir"}
        for setting, is_set in needs_exponential.items():
            if is_set and not self._is_exponential:
                raise ValueError(
                    f"{setting} of PNormPushRanker needs loss='exponential'. Got "
                    f"loss={self.loss!r}."
                )
        loss = as_margin_loss(self.loss)
        needs_smooth = self.solver_in_use.traits.needs_smooth
        if needs_smooth and not (loss.is_smooth or hasattr(loss, "rounded")):
            raise ValueError(
                f"solver={self.solver!r} of PNormPushRanker needs a smooth loss, or one with "
                f"rounded(width), which {type(loss).__name__} is not. Use solver='coordinate'."
            )
        if np.isinf(self.p) and self.push in ("both", "ir"):
            raise ValueError(
                "p=inf of PNormPushRanker is for push='top' or push='bottom'. Got "
                f"push={self.push!r}."
            )

    def _check_solver(self) -> None:
        """Raise ValueError for settings that only other solvers take."""
        model_name = as_model(self.weak_ranker).name
        rate, patience = self.learning_rate, self.n_iter_no_change
        has_rate = rate not in (1, signature(type(self)).parameters["learning_rate"].default)

        def takes_model(traits: SolverTraits) -> bool:
            needs_columns = traits.moves_all and model_name == "estimator"
            return self._has_stumps or not (traits.needs_stumps or needs_columns)

        checks: dict[str, tuple[Callable[[SolverTraits], bool], bool]] = {
            "p=inf": (attrgetter("has_path"), np.isinf(self.p)),
            f"alpha={self.alpha}": (attrgetter("has_ridge"), self.alpha not in ("auto", 0)),
            "selection='optimal'": (attrgetter("has_selection"), self.selection == "optimal"),
            f"learning_rate={rate:g}": (attrgetter("has_learning_rate"), has_rate),
            f"n_iter_no_change={patience}": (attrgetter("has_stages"), patience is not None),
            f"weak_ranker={self.weak_ranker!r}": (takes_model, True),
        }
        for setting, (accepts, is_set) in checks.items():
            if is_set and not accepts(self.solver_in_use.traits):
                solvers = BOOSTING_SOLVERS.named.items()
                names = [repr(name) for name, solver in solvers if accepts(solver.traits)]
                raise ValueError(
                    f"{setting} of PNormPushRanker needs solver={' or '.join(names)}. Got "
                    f"solver={self.solver!r}."
                )

    def _refused_by(self) -> str:
        return super()._refused_by() or (
            f"solver={self.solver!r}" if self.solver_in_use.traits.moves_all else ""
        )

    def _fixed_settings(self, data: Rows) -> dict[str, Any]:
        uses_score = self._has_validation(data) and self.scoring is None
        return {
            **super()._fixed_settings(data),
            "solver": BOOSTING_SOLVERS.name_of(self.solver),
            "score_p": self.score_p if uses_score else None,
        }

    def check_training(self, data: Rows) -> None:
        """Raise ValueError if nothing can be learned from the rows."""
        super().check_training(data)
        if data.held_out is not None and not self.solver_in_use.traits.has_stages:
            raise ValueError(
                "X_val of PNormPushRanker needs solver='coordinate', which has a model after each "
                f"round. Got solver={self.solver!r}."
            )
