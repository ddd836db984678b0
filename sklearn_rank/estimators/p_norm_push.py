"""The p-norm push."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklearn_rank._observers import Follower
from sklearn_rank._parallel import ThreadPool
from sklearn_rank._protocols import (
    Floats,
    Gain,
    IterateHook,
    Objective,
    ObjectiveState,
    Solution,
    require,
)
from sklearn_rank._validation import Choice, Constraint, Number
from sklearn_rank._warnings import warn
from sklearn_rank.base import TrainingData
from sklearn_rank.estimators._bags import BagFit, BagsMixin
from sklearn_rank.estimators._boosting_problem import SELECTIONS, BoostingProblem, History
from sklearn_rank.estimators._boosting_ranker import BoostingRanker
from sklearn_rank.estimators._push_score import PushScoreMixin
from sklearn_rank.models import as_model
from sklearn_rank.objectives import PUSHES, make_push
from sklearn_rank.objectives._offsets import provisional_cut
from sklearn_rank.pair_sums import MARGIN_LOSS_CHOICE, as_margin_loss
from sklearn_rank.rows.preferences import Preferences
from sklearn_rank.rows.processes import led
from sklearn_rank.solvers import (
    STOPPED,
    CoefficientObjective,
    Coefficients,
    CorrectiveDescent,
    PosedCells,
    minimise,
    minimise_along,
)


class PNormPushRanker(PushScoreMixin, BagsMixin, BoostingRanker):
    r"""P-norm push: one number, p, says how much more the top of the list matters.

    Use it when only the top of the list is used: fraud queues, triage, search. A larger p
    moves errors away from the top at the expense of some of the AUC.

    Call ``fit(X, y)``, then sort rows by decreasing ``decision_function(X)`` (two classes) or,
    with ``relevance="graded"``, by decreasing ``predict(X)``. If rows belong to queries, pass
    ``fit(X, y, qid=...)``: rows are then compared only within their query.

    It minimises

    .. math:: J_p(f) = \frac1p \log \sum_k w_k \Bigl( \frac{N_k}{\max_l N_l} \Bigr)^{1-p}
        \Bigl( \sum_{i \text{ above } k} w_i e^{-(f_i - f_k)} \Bigr)^p,
        \qquad f(x) = \sum_j \lambda_j h_j(x)

    where

    - f are the scores, of shape (n_samples,), i above k the pairs of rows with
      :math:`y_i > y_k` in one query, and w the sample weights;
    - the inner sum is the *height* of row k in the list, in exponential units, and the
      p-th power makes large heights cost most: p = 1 is RankBoost (every pair counts
      the same, as in the AUC), p = inf the height of the single worst row;
    - :math:`N_k = \sum_{i \text{ above } k} w_i` is the weight of the rows above row k. In
      one list of two classes all :math:`N_k` are equal and the factor is 1; queries and
      grades: see Notes;
    - :math:`h_j` are the weak rankers and :math:`\lambda_j` their coefficients.

    With 0/1 weak rankers each step has a closed form at every p,
    :math:`\alpha = \frac{1}{p+1} \ln\frac{d_+ + e}{d_- + e}`, so that p = 64 costs no
    more than p = 1.

    Parameters
    ----------
    p : float in [1, inf], default=4.0
        How much more the top of the list counts. 1 treats all pairs alike; 4 to 16 are usual
        when the top matters; above that the model depends on the few highest-ranked rows,
        even if these are noise or wrongly labelled. ``p=inf`` needs ``solver="lbfgs"``.
    push : {"top", "bottom", "both", "ir"}, default="top"
        "top": as above. "bottom": the mirror image, in which the lowest of the rows that
        belong at the top cost most (:math:`N_i` is then the weight of the rows below row i).
        "both": the logarithm of the sum of both risks (the p-th
        powers). "ir": :math:`\sum_i w_i \ln(1 + \sum_k w_k e^{-(f_i - f_k)})`, which
        does not depend on p.
    bottom_weight : float in [0, inf), default=1.0
        Weight of the bottom risk with ``push="both"``.
    loss : str or MarginLoss, default="exponential"
        Loss of a margin: "exponential", "least_squares", "hinge", "squared_hinge" or
        "logistic", or a `MarginLoss` of your own (from `sklearn_rank.objectives`). The
        exponential loss has steps in closed form and is the fastest. "logistic" and
        "hinge" grow only linearly for pairs that are out of order, so that single wrong labels
        affect the model less. With a loss other than the exponential the objective is the
        p-norm itself, divided by its value when every pair has a loss of one:
        :math:`(\sum_k w_k N_k (H_k / N_k)^p / \sum_k w_k N_k)^{1/p}` with :math:`H_k =
        \sum_i w_i \phi(f_i - f_k)` over the rows i above k. The hinge loss has a kink, at which
        ``solver="lbfgs"`` may stop early.
    solver : {"coordinate", "corrective", "lbfgs"}, default="coordinate"
        "coordinate": boosting, one weak ranker per round. "corrective", for small models:
        each round chooses one more stump and then minimises over the coefficients of all
        chosen ones. "lbfgs": all coefficients of all stumps or features at once.
    n_swaps : int in [0, inf), default=0
        Maximum number of sweeps after the last round, with ``solver="corrective"``. A sweep
        removes each chosen stump in turn, refits the others, adds the best stump that is not
        in the model, refits, and keeps the swap if the objective falls. Sweeps stop when one
        changes nothing.
    alpha : float in [0, inf), default=0.0
        Ridge penalty: adds :math:`\frac{\alpha}{2} \|\lambda\|_2^2` to the objective. Only with
        ``solver="corrective"`` and ``"lbfgs"``. Data that can be ranked without error need it
        with "lbfgs": without it the coefficients grow without bound, with a
        ConvergenceWarning. With "corrective" no coefficient exceeds the limit of a step (Notes).
    score_p : float in [1, inf] or None, default=None
        What `score` returns. None: the AUC. A number: ``1 - R``, with R the normalised
        zero-one p-norm push loss at this power. With a number, a search over p scores all
        candidates by the same metric.
    n_estimators : int in [1, inf), default=100
        Maximum number of rounds; with "corrective", of stumps; with "lbfgs", of iterations
        (with ``p=inf``, for each of the growing powers).
    weak_ranker : {"stump", "feature"}, estimator or model, default="stump"
        "stump": h is 1 where a feature exceeds a threshold; missing values (NaN) go to the better
        side, or are separated from all others. `models.Stumps` is an object with parameters for
        stumps: constraints, special codes, size of the model. "feature": h is a raw feature, not
        rescaled; X may be sparse; not with "corrective". An estimator is cloned in each round and
        fitted to minus the sign of the gradient of the objective with respect to the scores,
        weighted by its absolute value; its prediction, mapped to [0, 1] on the training rows, is h;
        only with ``solver="coordinate"``. A model of your own needs ``on_rows`` and, with "lbfgs",
        `n_coordinates`, `scores` and `pull_back`: see "Extending"; not with "corrective".
    selection : {"auto", "steepest", "optimal"}, default="auto"
        Which weak ranker each round adds. "steepest": the one along which the objective
        falls most steeply. "optimal": the one whose step lowers the objective, or a bound on
        it from second derivatives, most; not with ``solver="lbfgs"``. "auto": "steepest" with
        the exponential loss, because "optimal" prefers weak rankers that single out a few
        rows; "optimal", where available, with other losses and with ``push="ir"``.
    learning_rate : float in (0, 1], default=1.0
        Factor of every step; must be 1 with the other solvers. Smaller values need more
        rounds.
    max_bins : int in [2, 65535], default=64
        Maximum number of bins per feature.
    monotonic_cst : array-like of int of shape (n_features,), dict or None, default=None
        1: the score never falls as the feature grows; -1: it never rises; 0: no constraint. A
        dict maps names or indices of features to these. Holds exactly, for every value that is
        not missing. Not with ``solver="lbfgs"``.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Which features are categories, without order: "from_dtype", those of a categorical
        type in a pandas or polars data frame; or indices, names, or True and False for each
        feature. h is then 1 in a subset of the categories, the best of all subsets. A category
        not seen in training counts as missing. Not with ``solver="lbfgs"``.
    n_bags : int in [1, inf), default=1
        1: one fit. More: the mean of fits to that many bootstrap samples of the rows (of whole
        queries with `qid`; in one list, each class keeps its number of rows, and a row of weight 2
        counts as the row twice). All fits use the thresholds of all rows, so that the mean is one
        sum of stumps. It helps most with a few hundred rows. Only for stumps, and not with
        `warm_start` or `n_iter_no_change`. With the `max_thresholds` or `max_features_used` of
        `models.Stumps` all bags may use the stumps of a fit to all rows, and bag b of B may add
        others while there are fewer than a share b / B of the maximum.
    tol : float in [0, inf), default=1e-9
        Stop when the relative decrease of the objective in a round is at most `tol`;
        0 means never.
    warm_start : bool, default=False
        Whether `fit` continues the last fit, on the same data. A fit
        that fails or is interrupted leaves the previous model unchanged.
    validation_fraction : float in (0, 1), default=0.1
        Share of the queries (or rows, stratified) held out for early stopping; not used when
        `fit` gets `X_val`.
    n_iter_no_change : int in [1, inf) or None, default=None
        Stop when the score of the held-out rows has not improved by more than `tol` for that
        many rounds, and keep the rounds up to the best one. None: no early stopping. The
        held-out rows are the `X_val` passed to `fit`, otherwise rows of `X`.
    scoring : str, scorer or None, default=None
        Metric on the held-out rows, for early stopping or with `X_val`. None: `score`, with its
        `score_p`.
        Otherwise a name that `metrics.ranking_scorer` accepts, such as "ndcg@10", "pauc@0.05"
        or "push@4", or a scorer that it returned. Metrics based on ranks (all but "auc",
        "push@p", "pauc@a" and "tpr@a") have no row weights: with them every weight of these
        rows must be 0 or 1.
    relevance : {"binary", "graded"}, default="binary"
        "binary": two classes; the ranker is a scikit-learn classifier. "graded": numbers.
    n_jobs : int or None, default=None
        Number of threads for the search for stumps and for scoring; None means 1, -1 all
        processors, as in joblib.
    random_state : int, RandomState or None, default=None
        Seed for the held-out rows, the bags and an estimator as weak ranker.
    verbose : int, default=0
        1 prints ten lines per fit, 2 one line per round.

    Attributes
    ----------
    objective_curve_ : ndarray of shape (n_iter_,)
        The objective after each round ("top" and "bottom": :math:`J_p`; "both": the logarithm
        of the summed risks; "ir": the sum itself; with another loss: the norm), including the
        ridge penalty. With ``p=inf``: the lowest :math:`J_\infty` so far. With swaps the last
        value is the one after the swaps.
    estimator_weights_ : ndarray of shape (n_weak_rankers,)
        The coefficients, one per round; with the other solvers the nonzero ones.
    offset_ : float
        Binary mode: added to the scores by `decision_function`. It is minus the threshold with
        the smallest weighted training error. With the exponential loss and p = 1, unless
        ``push="ir"``, it gives both classes the same exponential mass instead.
    staged_offsets_ : ndarray of shape (n_iter_,)
        Binary mode with ``solver="coordinate"``: the offset after each round. The last is
        `offset_`. The others are computed from at most 8,192 distinct rows: if there are
        more, from those with the smallest hash of features and class, so that the order of
        the rows has no effect.
    bag_weights_ : ndarray of shape (n_bags, n_weak_rankers)
        With ``n_bags > 1``: the coefficients of each bag. `estimator_weights_` are then their
        means, for each weak ranker that any bag uses; `objective_curve_` is the mean over the
        bags of the bag's objective after each round (a bag that has stopped keeps its last
        value), and `n_iter_` the largest number of rounds. The offset belongs to the mean
        scores of all rows. There are no stages.
    classes_ : ndarray of shape (2,)
        Binary mode: the classes; the second belongs at the top.
    weak_rankers_ : object
        The weak rankers, in the order of `estimator_weights_`.
    validation_scores_ : ndarray
        With early stopping or `X_val`: the metric (`scoring`) on the held-out rows after each
        round that was run.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each feature in the decrease of the objective; sums to 1.
    coef_ : ndarray of shape (n_features_in_,)
        With ``weak_ranker="feature"``: the coefficients of the features.
    n_iter_ : int
        Number of rounds or iterations.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if all are strings.

    Warns
    -----
    ConvergenceWarning
        When lbfgs stops before `tol` is reached.

    See Also
    --------
    RankBoost : The case p = 1, with margins.

    Notes
    -----
    With queries or grades the sum is over every row k that has rows above it. Up to a
    constant its terms are :math:`w_k N_k (H_k / N_k)^p` with :math:`H_k` the height: a row
    weighs as much as its pairs, and their mean loss is raised to the power p. At equal
    scores a query therefore counts by its number of pairs at every p, as in `RankBoost`,
    and a large p does not favour queries with many relevant rows.

    Steps without a closed form come from second derivatives, all from one pass over the
    rows: :math:`\frac1p \ln(1 + p |g| / B)` with g the slope along h and B a bound on the
    second derivative (`objectives.SecondOrderState`), halved until the objective does not
    rise. A loss of your own without ``second_derivative``, and real-valued weak rankers
    with the exponential loss in one list, need a line search.

    Steps not in closed form are limited, so that they are finite even if h orders every pair
    correctly. The limit is the closed form at :math:`d_+ = 1, d_- = 0`, divided by the range of
    h over pairs,
    :math:`\frac{1}{p+1} \ln\frac{1 + e}{e} \big/ \max_{i \text{ above } k} |h_i - h_k|`,
    with p = 1 for ``push="ir"``.

    `predict` uses the threshold with the fewest errors on the training rows. A model that
    separates these, as ``solver="lbfgs"`` does with many stumps and a small ridge penalty,
    predicts too many new rows as the rarer class: raise `alpha`, or choose the threshold with
    scikit-learn's ``TunedThresholdClassifierCV``.

    ``solver="corrective"`` works on the distinct rows of the chosen columns: rows of the same
    query and relevance that no chosen stump separates are merged and their weights summed, so
    that a refit is cheap for any number of rows. In one list of two classes, with the
    exponential loss and the push at one end, it takes projected Newton steps, otherwise
    L-BFGS-B. The bound on the coefficients keeps them finite if a stump orders all its pairs
    correctly. `feature_importances_` credit a stump with the decrease due to its own
    coefficient over all refits.

    The smoothing term e is defined as in `RankBoost`: equal weights that sum to one give the
    same model as weights of one.

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
        **BagsMixin._bags_allowed,
        "selection": Choice(SELECTIONS),
        "p": Number(1),
        "push": Choice(tuple(PUSHES)),
        "bottom_weight": Number(0, closed="left"),
        "loss": MARGIN_LOSS_CHOICE,
        "solver": Choice(("coordinate", "corrective", "lbfgs")),
        "n_swaps": Number(0, integer=True),
        "alpha": Number(0, closed="left"),
        **PushScoreMixin._score_allowed,
    }

    def __init__(
        self,
        *,
        p: float = 4.0,
        push: str = "top",
        bottom_weight: float = 1.0,
        loss: Any = "exponential",
        solver: str = "coordinate",
        n_swaps: int = 0,
        alpha: float = 0.0,
        score_p: float | None = None,
        n_estimators: int = 100,
        weak_ranker: Any = "stump",
        selection: str = "auto",
        learning_rate: float = 1.0,
        max_bins: int = 64,
        monotonic_cst: Any = None,
        categorical_features: Any = "from_dtype",
        n_bags: int = 1,
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
        self.n_swaps = n_swaps
        self.alpha = alpha
        self.score_p = score_p
        self.selection = selection
        self.n_bags = n_bags

    @property
    def _is_exponential(self) -> bool:
        return bool(as_margin_loss(self.loss).factorises)

    @property
    def _power(self) -> float:
        """p, or 1 for the IR push, which has no power."""
        return 1.0 if self.push == "ir" else float(self.p)

    def _make_objective(self, preferences: Preferences, threads: ThreadPool) -> Objective:
        loss: Any = as_margin_loss(self.loss)
        if self.solver != "lbfgs" and hasattr(loss, "with_curvature"):
            loss = loss.with_curvature()
        if hasattr(loss, "in_threads"):
            loss = loss.in_threads(threads)
        return make_push(preferences, loss, self.p, self.push, self.bottom_weight)

    @property
    def _balances(self) -> bool:
        return self._is_exponential and self.p == 1 and self.push != "ir"  # RankBoost's scores

    def _make_gain(self, problem: BoostingProblem) -> Gain:
        is_steep = self.selection == "auto" and self._is_exponential and self.push != "ir"
        selection = "steepest" if is_steep else self.selection
        return problem.make_gain(type(self).__name__, selection, self._power)

    def _make_step_rule(self, problem: BoostingProblem, coefficients: Coefficients) -> Any:
        return problem.push_step(self._power)

    def _check_combination(self) -> None:
        super()._check_combination()
        self._check_solver()
        needs_exponential = {
            "p=inf": np.isinf(self.p),
            "push='ir'": self.push == "ir",
        }
        for setting, is_set in needs_exponential.items():
            if is_set and not self._is_exponential:
                raise ValueError(
                    f"{setting} of PNormPushRanker needs loss='exponential'. Got "
                    f"loss={self.loss!r}."
                )
        loss = as_margin_loss(self.loss)
        if self.solver == "lbfgs" and not (loss.is_smooth or hasattr(loss, "rounded")):
            raise ValueError(
                "solver='lbfgs' of PNormPushRanker needs a smooth loss, or one with "
                f"rounded(width), which {type(loss).__name__} is not. Use solver='coordinate'."
            )
        if np.isinf(self.p) and self.push in ("both", "ir"):
            raise ValueError(
                "p=inf of PNormPushRanker is for push='top' or push='bottom'. Got "
                f"push={self.push!r}."
            )

    def _check_solver(self) -> None:
        """Raise ValueError for settings that only other solvers take."""
        model = as_model(self.weak_ranker).name
        settings = {
            "p=inf": (np.isinf(self.p), ("lbfgs",)),
            f"alpha={self.alpha:g}": (self.alpha > 0, ("corrective", "lbfgs")),
            f"n_swaps={self.n_swaps}": (self.n_swaps > 0, ("corrective",)),
            f"weak_ranker={self.weak_ranker!r}": (
                model != "stump",
                ("coordinate",) if model == "estimator" else ("coordinate", "lbfgs"),
            ),
            "selection='optimal'": (self.selection == "optimal", ("coordinate", "corrective")),
            f"learning_rate={self.learning_rate:g}": (self.learning_rate != 1, ("coordinate",)),
            f"n_iter_no_change={self.n_iter_no_change}": (
                self.n_iter_no_change is not None,
                ("coordinate",),
            ),
        }
        for setting, (is_set, solvers) in settings.items():
            if is_set and self.solver not in solvers:
                raise ValueError(
                    f"{setting} of PNormPushRanker needs solver="
                    f"{' or '.join(map(repr, solvers))}. Got solver={self.solver!r}."
                )

    def _refused_by(self) -> str:
        return super()._refused_by() or ("solver='lbfgs'" if self.solver == "lbfgs" else "")

    def _fixed_settings(self, data: TrainingData) -> dict[str, Any]:
        uses_score = self._watches(data) and self.scoring is None
        return {**super()._fixed_settings(data), "score_p": self.score_p if uses_score else None}

    def _check_training(self, data: TrainingData) -> None:
        super()._check_training(data)
        if data.held_out is not None and self.solver != "coordinate":
            raise ValueError(
                "X_val of PNormPushRanker needs solver='coordinate', which has a model after each "
                f"round. Got solver={self.solver!r}."
            )
        if self.warm_start and getattr(self, "_solver_", self.solver) != self.solver:
            raise ValueError(
                "PNormPushRanker with warm_start=True continues with the same solver: it "
                f"was fitted with {self._solver_!r}. Got solver={self.solver!r}."
            )

    def _solve(
        self, problem: BoostingProblem, history: History, held_out: TrainingData | None
    ) -> dict[str, Any]:
        if self.solver == "coordinate":
            fitted = super()._solve(problem, history, held_out)
        elif self.solver == "corrective":
            fitted = self._solve_corrective(problem, history)
        else:
            fitted = self._solve_lbfgs(problem, history)
        fitted["_solver_"] = self.solver
        return fitted

    def _solve_corrective(self, problem: BoostingProblem, history: History) -> dict[str, Any]:
        """Return the fitted attributes of a model that is refitted after each choice."""
        descent = self._make_corrective(problem)
        if history.steps:
            known = np.array(history.steps), np.array(history.decreases)
            descent.start_from(history.coordinates, *known)
        observer = self._make_observer(
            problem.data,
            "round",
            self.n_estimators,
            lambda: self._collect_corrective(problem, deepcopy(history), descent),
            n_before=len(history.objective),
        )
        for value in self._corrective_rounds(descent, self.n_estimators - len(history.objective)):
            history.objective.append(value)
            if observer(len(history.objective), value):
                break
        else:
            self._swap(descent, history.objective)
        fitted = self._collect_corrective(problem, history, descent)
        self._warn_if_empty(history.steps)
        return fitted

    def _fit_bag(self, problem: BoostingProblem) -> BagFit:
        if self.solver == "coordinate":
            return super()._fit_bag(problem)
        descent = self._make_corrective(problem)
        curve = list(self._corrective_rounds(descent, self.n_estimators))
        self._swap(descent, curve)
        model = descent.model
        return BagFit(
            dict(zip(model.coordinates, model.coefficients.tolist(), strict=True)),
            dict(zip(model.coordinates, model.credit.tolist(), strict=True)),
            curve,
        )

    def _make_corrective(self, problem: BoostingProblem) -> CorrectiveDescent:
        gain = self._make_gain(problem)
        step = problem.push_step(self._power)

        def state_of(objective: Objective, cells: Preferences, scores: Floats) -> ObjectiveState:
            of_cells = replace(problem, objective=objective, preferences=cells)
            return self._make_state(of_cells, scores, gain)

        posed = PosedCells(
            pose=lambda cells: self._make_objective(cells, problem.threads),
            make_state=state_of,
            step_rule=lambda cells: replace(step, largest_difference=cells.largest_difference),
            alpha=self.alpha,
        )
        return CorrectiveDescent(
            problem.weak_rankers,
            problem.preferences,
            posed=posed,
            exponents=getattr(problem.objective, "side_exponents", None),
            gain=gain,
            longest=step.longest,
            tol=self.tol,
        )

    def _corrective_rounds(self, descent: CorrectiveDescent, n_rounds: int) -> Iterator[float]:
        """Yield the objective after each round."""
        for _ in range(n_rounds):
            decrease = descent.add()
            if decrease is None:
                return
            value = descent.model.value
            yield value
            if self.tol > 0 and decrease <= self.tol * max(abs(value + decrease), abs(value), 1.0):
                return

    def _swap(self, descent: CorrectiveDescent, curve: list[float]) -> None:
        """Sweep over the chosen stumps, until a sweep changes nothing."""
        for _ in range(self.n_swaps):
            if not descent.sweep() > 0:
                break
            curve[-1] = descent.model.value

    def _collect_corrective(
        self, problem: BoostingProblem, history: History, descent: CorrectiveDescent
    ) -> dict[str, Any]:
        """Return the fitted attributes of the present model."""
        model = descent.model
        used = np.array(model.coordinates, dtype=np.intp)
        history.coordinates, history.steps = model.coordinates, model.coefficients.tolist()
        history.decreases = model.credit.tolist()
        fitted: dict[str, Any] = {
            **problem.model_attributes(used, model.coefficients, model.credit),
            "objective_curve_": np.array(history.objective),
            "n_iter_": len(history.objective),
            "_history_": vars(history),
        }
        if problem.positive is not None:
            scores = model.columns.scores(model.coefficients).take(model.columns.cell)
            fitted["offset_"] = self.offset_of(problem.data, scores)
        return fitted

    def _solve_lbfgs(self, problem: BoostingProblem, history: History) -> dict[str, Any]:
        """Return the fitted attributes of a model whose coefficients move together."""
        weak_rankers = problem.weak_rankers
        for ability in ("n_coordinates", "scores", "pull_back"):
            require(weak_rankers, ability, "solver='lbfgs' of PNormPushRanker")
        start = np.zeros(weak_rankers.n_coordinates)
        start[history.coordinates] = history.steps
        before = len(history.objective)
        function = CoefficientObjective(problem.objective, weak_rankers, self.alpha)
        problem.share_totals()

        def reconstruct() -> dict[str, Any]:
            now = deepcopy(history)
            credit = np.zeros_like(start)
            return self._collect_lbfgs(problem, now, follower.x, credit, is_whole=False)

        n_before = None if np.isinf(self.p) else before  # p = inf has as many for each power
        follower = Follower(
            self._make_observer(
                problem.data, "round", self.n_estimators, reconstruct, n_before=n_before
            )
        )
        options = {"max_iter": self.n_estimators - (n_before or 0), "tol": self.tol}
        solution = _minimise(problem, function, start, follower, options)
        if solution.message not in ("", STOPPED):
            warn(
                f"PNormPushRanker with solver='lbfgs' stopped before tol={self.tol:g} was "
                f"reached ({solution.message}). Data that can be ranked without error need "
                "alpha > 0; otherwise raise n_estimators.",
                ConvergenceWarning,
            )
        history.objective += solution.values
        assert solution.credit is not None
        return self._collect_lbfgs(problem, history, solution.x, solution.credit)

    def _collect_lbfgs(
        self,
        problem: BoostingProblem,
        history: History,
        coefficients: Floats,
        credit: Floats,
        *,
        is_whole: bool = True,
    ) -> dict[str, Any]:
        """Return the fitted attributes; `credit` is that of each coordinate in this fit.

        Where several processes hold the rows only those of a `is_whole` fit have the offset of
        all rows.
        """
        used = np.flatnonzero(coefficients)
        weights = coefficients[used]
        history.coordinates, history.steps = used.tolist(), weights.tolist()
        history.credit = credit + history.credit
        fitted: dict[str, Any] = {
            **problem.model_attributes(used, weights, np.asarray(history.credit)[used]),
            "objective_curve_": np.array(history.objective),
            "n_iter_": len(history.objective),
            "_history_": vars(history),
        }
        if problem.positive is not None:
            scores, pairs = problem.weak_rankers.scores(coefficients), problem.preferences
            if pairs.collective.size > 1 and not is_whole:
                cut = provisional_cut(scores, problem.positive, pairs.weight)
                return {**fitted, "offset_": -cut}
            fitted["offset_"] = self.offset_of(problem.data, scores)
        return fitted


def _minimise(
    problem: BoostingProblem,
    function: CoefficientObjective,
    start: Floats,
    on_iterate: IterateHook,
    options: Mapping[str, Any],
) -> Solution:
    """Minimise a function, or smooth ones that approach it; of several processes, the first does.

    The others take part in each evaluation.
    """
    make_path = getattr(problem.objective, "smooth_path", None)
    path = [function] if make_path is None else list(map(function.with_objective, make_path()))

    def at_stage(number: int, coefficients: Floats) -> tuple[float, Floats]:
        return path[number](coefficients)

    def solve(served: Mapping[str, Callable[..., Any]]) -> Solution:
        stages = [partial(served["stage"], number) for number in range(len(path))]
        given = {**options, "on_iterate": served["on_iterate"]}
        if make_path is None:
            return minimise(stages[0], start, **given)
        return minimise_along(stages, served["target"], start, **given)

    functions: dict[str, Callable[..., Any]] = {
        "stage": at_stage,
        "target": function.value,
        "on_iterate": on_iterate,
    }
    return led(problem.preferences.collective, solve, functions)
