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

    With 0/1 weak rankers and the exponential loss at one end of the list, each step has a
    closed form in one list of two classes at every finite p,
    :math:`\alpha = \frac{1}{p+1} \ln\frac{d_+ + e}{d_- + e}`, so that p = 64 costs no
    more than p = 1. With queries or grades it has one at p = 1.

    Parameters
    ----------
    p : float in [1, inf], default=4.0
        How much more the top of the list counts. 1 treats all pairs alike; 4 to 16 are usual
        when the top matters; above that the model depends on the few highest-ranked rows,
        even if these are noise or wrongly labelled. ``p=inf`` needs ``solver="lbfgs"``.
    push : {"top", "crucial_pairs", "bottom", "both", "ir"}, default="top"
        "top": as above. "crucial_pairs": the same without the factor of :math:`N_k`, the plain sum
        of Rudin2009, sec. 7; with queries and grades a row counts more the more rows belong above
        it. "bottom": the mirror image, in which the lowest of the rows that
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
        ``solver="lbfgs"`` may stop early. So may a refit of ``solver="corrective"``, and which
        stump it takes next depends on where: with the hinge loss its model depends on the order of
        the rows, and weight 2 need not be exactly the row twice.
    solver : {"coordinate", "corrective", "lbfgs"} or BoostingSolver, default="coordinate"
        "coordinate": boosting, one weak ranker per round. "corrective", for small models:
        each round chooses one more stump and then minimises over the coefficients of all
        chosen ones. "lbfgs": all coefficients of all stumps or features at once. Or a solver of
        your own: see "Extending".
    alpha : float in [0, inf) or "auto", default="auto"
        Ridge penalty: adds :math:`\frac{\alpha}{2} \|\lambda\|_2^2` to the objective. Only with
        ``solver="corrective"`` and ``"lbfgs"``. Data that can be ranked without error need it
        with "lbfgs": without it the coefficients grow without bound, with a
        ConvergenceWarning. With "corrective" no coefficient exceeds the limit of a step (Notes).
        "auto": with "lbfgs" and finite p a number in the unit of the objective (Notes), 0
        otherwise.
    score_p : float in [1, inf] or None, default=None
        What `score` returns. None: the AUC. A number: ``1 - R``, with R the normalised
        zero-one p-norm push loss at this power. With a number, a search over p scores all
        candidates by the same metric.
    n_estimators : int in [1, inf), default=200
        Maximum number of rounds; with "corrective", of stumps; with "lbfgs", of iterations
        (with ``p=inf``, for each of the growing powers).
    weak_ranker : {"stump", "feature"}, estimator or model, default="stump"
        "stump": h is 1 where a feature exceeds a threshold; missing values (NaN) go to the better
        side, or are separated from all others. `models.Stumps` is an object with parameters for
        stumps: constraints, special codes, size of the model. "feature": h is a raw feature, not
        rescaled: bring features to one scale first, or those in small units are found late or
        not at all; X may be sparse; not with "corrective". An estimator is cloned in each round and
        fitted to minus the sign of the gradient of the objective with respect to the scores,
        weighted by its absolute value; its prediction, mapped to [0, 1] on the training rows, is h;
        only with ``solver="coordinate"``. A model of your own needs ``on_rows`` and, with "lbfgs",
        `n_coordinates`, `scores` and `pull_back`: see "Extending"; not with "corrective".
    selection : {"auto", "steepest", "optimal"}, default="auto"
        Which weak ranker each round adds. "steepest": the one along which the objective
        falls most steeply. "optimal": the one whose step lowers the objective most, for stumps,
        the exponential loss and a push at one end of one list of two classes; otherwise, as with
        queries, the one that lowers a quadratic bound most (Notes), which is often another. Not
        with ``solver="lbfgs"``. "auto": "steepest" with
        the exponential loss, because "optimal" prefers weak rankers that single out a few
        rows; "optimal", where available, with other losses and with ``push="ir"``.
    learning_rate : float in (0, 1], default=0.3
        Factor of every step. Smaller values need more rounds. 1 is the algorithm of the paper.
        The other solvers have no such factor: the default has no effect there, and any other
        value than 1 is refused.
    max_bins : int in [2, 65535], default=64
        Maximum number of bins per feature.
    monotonic_cst : array-like of int of shape (n_features,), dict or None, default=None
        1: the score never falls as the feature grows; -1: it never rises; 0: no constraint. A
        dict maps names or indices of features to these. Holds exactly, for every value that is
        not missing. Not with ``solver="lbfgs"``.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Which features are categories: "from_dtype", those of a categorical type in a pandas or
        polars data frame; or indices, names, or True and False for each feature. h is then 1 in a
        subset of the categories, the best of all subsets. Of an ordered column of pandas, such
        as ``pd.cut`` makes, h is 1 in a range of the order; for subsets pass
        ``X["c"].cat.as_unordered()``, or ``weak_ranker=Stumps(category_groups={"c": []})`` with
        `models.Stumps`. A category not seen in training counts as missing. One of
        few rows counts as missing too, or is pooled: see `min_bin_size` of `models.Stumps`. Not
        with ``solver="lbfgs"``.
    n_bags : int in [1, inf), default=1
        1: one fit. More: the mean of fits to that many bootstrap samples of the rows (of whole
        queries with `qid`; in one list, each class keeps its number of rows, and a row of weight 2
        counts as the row twice). All fits use the thresholds of all rows, so that the mean is one
        sum of stumps. It helps most with a few hundred rows. Only for stumps, and not with
        `warm_start`, `n_iter_no_change`, or the `max_thresholds` or `max_features_used` of
        `models.Stumps`.
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
        Early stopping: with b the round of the smallest loss L of the held-out rows (by more than
        `tol`), stop at the first round t >= b + `n_iter_no_change` at which :math:`L_t - L_b`
        exceeds the standard error of this paired difference, and keep b rounds. The held-out rows
        are the `X_val` passed to `fit`, otherwise rows of `X`. With fewer than 10 of them in the
        rarer class all rounds are run, with a warning. None: no early stopping.
    refit_stopped : bool, default=True
        Whether all rows are fitted for b rounds once held-out rows of `X` have chosen b; not with
        `X_val` or `warm_start`. False: the model is that of the rows that were not held out.
    scoring : str, scorer or None, default=None
        What early stopping watches. None: L is the mean over pairs, i above k, of :math:`\ln(1 +
        e^{-(f_i - f_k) / 2})`, whatever the ranker minimises; its standard error is that of a
        two-sample U-statistic or, with queries, of a jackknife that leaves out one. Otherwise L is
        minus the metric, with the standard error of a jackknife over 20 groups of rows or queries:
        a name that `metrics.ranking_scorer` accepts, such as "ndcg@10", "pauc@0.05" or "push@4", or
        a scorer that it returned. Metrics based on ranks (all but "auc", "push@p", "pauc@a" and
        "tpr@a") have no row weights: with them every weight of these rows must be 0 or 1.
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
        The objective after each round (of "both" the logarithm of the summed risks, of "ir" the sum
        itself, of other pushes :math:`J_p`; with another loss the norm), including the ridge
        penalty. With ``p=inf``: the lowest :math:`J_\infty` so far.
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
    alpha_ : float
        The ridge penalty that was used.
    weak_rankers_ : object
        The weak rankers, in the order of `estimator_weights_`.
    validation_scores_ : ndarray of shape (n_rounds_run,)
        With early stopping or `X_val`: the metric (`scoring`; None: `score`) on the held-out rows
        after each round that was run.
    validation_losses_ : ndarray of shape (n_rounds_run,)
        The same of the loss that early stopping watches with ``scoring=None``.
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
    with the exponential loss in one list of two classes, need a line search.

    Steps not in closed form are limited, so that they are finite even if h orders every pair
    correctly. The limit is the closed form at :math:`d_+ = 1, d_- = 0`, divided by the range of
    h over pairs,
    :math:`\frac{1}{p+1} \ln\frac{1 + e}{e} \big/ \max_{i \text{ above } k} |h_i - h_k|`,
    with p = 1 for ``push="ir"``.

    ``alpha="auto"`` is :math:`20 \kappa / n` for stumps and :math:`\kappa / n` for other weak
    rankers. :math:`\kappa` is the sum over the rows of the curvature of the objective at equal
    scores (`objectives.SidePush.value_gradient_curvature`), for example 1 + p for the exponential
    loss in one list of two classes, and 1/2 for the logistic one at p = 1. n is the number of
    rows, by weight, that have rows below them, or above them if those are fewer: the rarer class.
    So weight 2 is the row twice, and equal weights that sum to one give the same model as weights
    of one. Coefficients of raw features depend on their units, and so does a ridge: scale them.

    `predict` uses the threshold with the fewest errors on the training rows. A model that
    separates these, as ``solver="lbfgs"`` does with many stumps and a small ridge penalty,
    predicts too many new rows as the rarer class: raise `alpha`, or choose the threshold with
    scikit-learn's ``TunedThresholdClassifierCV``.

    ``solver="corrective"`` works on the distinct rows of the chosen columns: rows of the same
    query and relevance that no chosen stump separates are merged and their weights summed, so
    that a refit, by L-BFGS-B, is cheap for any number of rows. The bound on the coefficients keeps
    them finite if a stump orders all its pairs correctly. `feature_importances_` credit a stump
    with the decrease due to its own coefficient over all refits.

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
    def _balances(self) -> bool:
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
        model = as_model(self.weak_ranker).name
        rate, patience = self.learning_rate, self.n_iter_no_change
        is_given = rate not in (1, signature(type(self)).parameters["learning_rate"].default)
        abilities = {
            "p=inf": ("has_path", np.isinf(self.p)),
            f"alpha={self.alpha}": ("has_ridge", self.alpha not in ("auto", 0)),
            "selection='optimal'": ("has_selection", self.selection == "optimal"),
            f"learning_rate={rate:g}": ("has_learning_rate", is_given),
            f"n_iter_no_change={patience}": ("has_stages", patience is not None),
        }
        for setting, (ability, is_set) in abilities.items():
            if is_set:
                self._require_solver(setting, attrgetter(ability))
        self._require_solver(
            f"weak_ranker={self.weak_ranker!r}",
            lambda traits: (
                self._has_stumps
                or not (traits.needs_stumps or (traits.moves_all and model == "estimator"))
            ),
        )

    def _require_solver(self, setting: str, is_able: Callable[[SolverTraits], bool]) -> None:
        """Raise ValueError if the solver lacks what a setting needs; name those that have it."""
        if is_able(self.solver_in_use.traits):
            return
        solvers = BOOSTING_SOLVERS.named.items()
        names = [repr(name) for name, solver in solvers if is_able(solver.traits)]
        raise ValueError(
            f"{setting} of PNormPushRanker needs solver={' or '.join(names)}. Got "
            f"solver={self.solver!r}."
        )

    def _refused_by(self) -> str:
        known = super()._refused_by()
        return known or (f"solver={self.solver!r}" if self.solver_in_use.traits.moves_all else "")

    def _fixed_settings(self, data: Rows) -> dict[str, Any]:
        uses_score = self._watches(data) and self.scoring is None
        return {
            **super()._fixed_settings(data),
            "solver": BOOSTING_SOLVERS.name_of(self.solver),
            "score_p": self.score_p if uses_score else None,
        }

    def check_training(self, data: Rows) -> None:
        """Raise ValueError for rows that nothing can be learned from."""
        super().check_training(data)
        if data.held_out is not None and not self.solver_in_use.traits.has_stages:
            raise ValueError(
                "X_val of PNormPushRanker needs solver='coordinate', which has a model after each "
                f"round. Got solver={self.solver!r}."
            )
