"""Gradient boosted trees with ranking objectives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_rank._core.parallel import one_blas_thread
from sklearn_rank._core.protocols import Floats, Indices, Observer
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.selected import SelectedRows, as_matrix
from sklearn_rank._pair_sums.margin_losses import as_margin_loss
from sklearn_rank.base import DESCRIBED, naming_its_class
from sklearn_rank.engines.engine import Engine, TreeSettings
from sklearn_rank.engines.posed_objective import is_listwise
from sklearn_rank.engines.stored_booster import StoredBooster
from sklearn_rank.estimators._boosting.rounds_ranker import Phase
from sklearn_rank.estimators._tree_fit import (
    TreeDescent,
    TreeProblem,
    is_auto,
    n_rows_by_weight,
    penalties_of,
    smoothing_of,
)
from sklearn_rank.estimators._tree_parameters import TreeParameters
from sklearn_rank.objectives import balancing_offset, error_cut


class BoostedTreesRanker(TreeParameters):
    r"""Boosted trees for ranking, with a loss over all pairs.

    Use it when the order depends on interactions between features. This package grows symmetric
    trees; XGBoost or LightGBM (``pip install "sklearn-rank[xgboost]"`` or
    ``"sklearn-rank[lightgbm]"``) can grow theirs with the same objective.

    Call ``fit(X, y)``, then sort rows by decreasing ``decision_function(X)`` (two classes) or,
    with ``relevance="graded"``, by decreasing ``predict(X)``. With ``fit(X, y, qid=...)`` rows
    are compared only within their query. Guide: :doc:`/guide/boosted_trees`.

    It minimises, by Newton steps in the space of trees,

    .. math:: L(f), \qquad f(x) = \eta \sum_{t=1}^T h_t(x)

    where

    - L is the objective of `loss`, `p` and `push`: by default the mean over all comparable
      pairs, i above k, of :math:`\phi(f_i - f_k)`, weights as multiplicities;
    - f are the scores, of shape (n_samples,), :math:`h_t` the trees, T `n_estimators` and
      :math:`\eta` the `learning_rate`.

    Parameters
    ----------
    engine : {"auto", "symmetric", "lightgbm", "xgboost"}, default="auto"
        The implementation that grows the trees. "auto": "symmetric", unless ``loss="ndcg"`` or
        `engine_params` is given, which symmetric trees do not support; then LightGBM if installed,
        otherwise XGBoost.
    loss : str, MarginLoss or ListwiseLoss, default="auto"
        A loss of pairs or of lists, "ndcg" (the engine's own LambdaMART) or your own loss
        (:doc:`/guide/boosted_trees`). "auto": "exponential" in symmetric trees and with
        ``push="ir"``, otherwise "logistic".
    p : float in [1, inf), default=1.0
        How strongly the loss focuses on the top of the list; 1 treats all pairs alike. A flexible
        model seldom gains from p > 1: choose p by validation. Must be 1 for listwise losses.
    push : {"top", "crucial_pairs", "bottom", "both", "ir"}, default="top"
        Which end of the list p emphasises (:doc:`/guide/p_norm_push`). "ir" has no p and requires
        ``loss="exponential"``.
    n_estimators : int in [1, inf), default=200
        Number of trees, including those of earlier fits with `warm_start`.
    learning_rate : float in (0, 1] or "auto", default="auto"
        Factor applied to every tree. "auto": CatBoost's rate in symmetric trees, otherwise ``10 /
        n_estimators``, at most 0.3.
    max_leaf_nodes : int in [2, inf), "auto" or None, default="auto"
        Maximum number of leaves per tree; the leaf with the best split is split next. "auto": 31.
        None: no maximum. Symmetric trees have ``2 ** max_depth``, and accept "auto" and None.
    max_depth : int in [1, 30], "auto" or None, default="auto"
        Maximum depth. "auto": 6 in symmetric trees, otherwise None. None: 8 in these, otherwise 30.
    max_bins : int in [2, 65535] or "auto", default="auto"
        Maximum number of bins per feature. "auto": 128 in symmetric trees, otherwise 255.
    min_samples_leaf : int in [1, inf) or None, default=None
        Minimum number of distinct rows in a leaf of LightGBM. None: 20, or a twentieth of the rows
        if these are fewer than 400. The other engines accept only None.
    min_child_weight : float in [0, inf), "auto" or None, default="auto"
        Minimum sum of curvatures in a leaf; at the start a row has about 1/4. "auto": 0, or one
        unit where a feature has 4 or more categories. None: the engine's default.
    reg_lambda : float in [0, inf), "auto" or None, default="auto"
        Ridge penalty on the leaf values. "auto": 2 (logistic loss) or 4 (others) units of curvature
        (:doc:`/guide/boosted_trees`); with "ndcg", as None, the engine's default.
    subsample : float in (0, 1] or "auto", default="auto"
        Share of the rows drawn for each tree; symmetric trees choose their splits on these. "auto":
        0.7.
    colsample : float in (0, 1] or "auto", default="auto"
        Share of the features drawn for each tree. "auto": 1 in symmetric trees, otherwise 0.7.
    monotonic_cst : array-like of int of shape (n_features,), dict or None, default=None
        1: the score never falls as the feature grows; -1: it never rises; 0: no constraint. A dict
        maps feature names or indices to these values.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Categorical features (:doc:`/guide/conventions`): "from_dtype", those of a categorical type
        in a data frame; or indices, names, or a mask. X must be dense.
    engine_params : dict or None, default=None
        Further parameters of the library, by its own names: ``{"device": "cuda"}``.
    validation_fraction : float in (0, 1), default=0.1
        Share of the queries (or rows, stratified) held out for early stopping without `X_val`.
    n_iter_no_change : int in [1, inf) or None, default=None
        Early stopping (:doc:`/guide/tuning`): stop once the best round is at least this many rounds
        back and the held-out rows have become worse by more than the standard error. None: run all
        rounds.
    refit_stopped : bool, default=True
        Whether to refit on all rows with the best number of rounds; not with `X_val`.
    scoring : str, scorer or None, default=None
        What early stopping monitors: a name that `metrics.ranking_scorer` accepts, such as
        "ndcg@10", or its scorer. None: the logistic loss of the pairs.
    warm_start : bool, default=False
        Whether `fit` adds ``n_estimators - n_iter_`` trees, fitted to the same or to new rows with
        the same features and classes. A fit that fails or is interrupted leaves the model
        unchanged.
    score_p : float in [1, inf] or None, default=None
        What `score` returns. None: the AUC. A number: 1 - the normalised push loss at this power.
    relevance : {"binary", "graded"}, default="binary"
        "binary": two classes; the ranker is a scikit-learn classifier. "graded": numbers.
    n_jobs : int or None, default=None
        Number of threads; None means 1, -1 all processors, as in joblib.
    random_state : int, RandomState or None, default=0
        Seed for all random draws: rows, features, held-out rows, the noise of symmetric trees.
    verbose : int, default=0
        1 prints ten lines per fit, 2 one line per round.

    Attributes
    ----------
    engine_, loss_ : str, str or loss
        The engine that grew the trees, and the loss that was minimised.
    learning_rate_, reg_lambda_, min_child_weight_ : float
        The values in use.
    booster_ : xgboost.Booster, lightgbm.Booster or SymmetricTrees
        The trees. Copies and pickles of the ranker store them in the engine's format.
    offset_, staged_offsets_ : float, ndarray of shape (n_iter_,)
        Binary mode: the constant that `decision_function` adds to the scores, and its value after
        each round, computed on at most 4,096 rows. It is minus the threshold with the smallest
        weighted training error, or RankBoost's offset if the objective is RankBoost's.
    objective_curve_ : ndarray of shape (n_iter_,)
        The objective after each round, on the training rows of its fit; not with ``loss="ndcg"``.
    validation_scores_, validation_losses_ : ndarray of shape (n_rounds_run,)
        With held-out rows: the metric (`scoring`, or by default `score`) and the loss after each
        round.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each feature in the total gain of all splits.
    classes_, n_iter_, n_features_in_, feature_names_in_
        The classes (binary mode), the second of which belongs at the top; the numbers of rounds and
        of features, and the feature names, if all are strings.

    References
    ----------
    Rudin2009, sec. 2 (the push), sec. 9.1 (why a flexible model gains little from it);
    Prokhorenkova2018, sec. 5 (symmetric trees); noise, leaves and rate derived here.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_rank import BoostedTreesRanker
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> ranker = BoostedTreesRanker(n_estimators=20).fit(X, y)
    >>> ranker.score(X, y) > 0.99
    True
    """

    @naming_its_class
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        position: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        qid_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Fit the ranker.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Binary mode: two classes; the greater, ``classes_[1]``, belongs at the top (the order of
            a categorical dtype is ignored). Graded mode: numbers, larger for rows that should rank
            higher.
        qid : array-like of shape (n_samples,), default=None
            Query of each row: ints, strings or other sortable values, in any order. Only rows of
            the same query are compared. None: all rows are one list.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Multiplicities: a weight of 2 is equivalent to duplicating the row, 0 to removing it;
            the weight of a pair is the product of its rows' weights. A number applies to every row.
            With ``loss="ndcg"``, one weight per query, by which its gradient is multiplied.
        position : array-like of shape (n_samples,), default=None
            The position, from 1, at which each row was shown in its query when `y` (such as clicks)
            was observed. Only with ``loss="ndcg"``: LightGBM corrects for it with a bias per
            position, XGBoost, with ``engine_params={"lambdarank_unbiased": True}``, with
            propensities per position among the rows of a query. `predict` does not need positions.
        X_val : {array-like, sparse matrix} of shape (n_val, n_features), default=None
            Validation rows, which are scored after each round (`validation_scores_`). With
            `n_iter_no_change` they decide when to stop, instead of rows held out of `X`; without it
            all rounds are run.
        y_val : array-like of shape (n_val,), default=None
            Classes or relevance of the validation rows.
        qid_val : array-like of shape (n_val,), default=None
            Queries of the validation rows; required if `qid` is given.
        sample_weight_val : float or array-like of shape (n_val,), default=None
            Weights of the validation rows.

        Returns
        -------
        self : object
            The fitted ranker.

        Raises
        ------
        ValueError
            If a parameter or an array is invalid, if there is no comparable pair, or in binary mode
            if there are not exactly two classes.
        """
        validation = {"X_val": X_val, "y_val": y_val, "qid_val": qid_val}
        validation |= {"sample_weight_val": sample_weight_val}
        return self._learn(X, y, qid, sample_weight, validation, position)

    # Fitting -----------------------------------------------------------------------------

    def _fit(self, data: Rows) -> dict[str, Any]:
        engine = self.engine_in_use
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        data = data.uncopied()
        max_bins = engine.auto["max_bins"] if is_auto(self.max_bins) else int(self.max_bins)
        engine.check_features(type(self).__name__, data.X, max_bins)
        n_rows = n_rows_by_weight(data)
        return self._fit_phases(data, seed, lambda phase: self._grow(engine, seed, phase, n_rows))

    def _grow(
        self, engine: Engine, seed: int, phase: Phase, n_rows: float
    ) -> tuple[dict[str, Any], bool]:
        """Return fitted attributes, and whether an observer ended the fit."""
        # 1. The objective on the training rows, and the held-out rows.
        codes, stopping, held_out = self.category_codes_, None, None
        if codes is not None:
            codes.learn(phase.rows.X)
        problem = self._make_problem(phase.rows)
        if phase.held_out is not None:
            held_out = SelectedRows.of(phase.held_out.X)
            if codes is not None:
                held_out = SelectedRows(codes.forget_unknown(held_out.copied()))
            stopping = self.stopping_on(phase.held_out, [], [])
        # 2. The trees of the last fit, f_0; without them f_0 = 0.
        n_kept, start, booster = 0, None, None
        if self._is_continued:
            n_kept, booster = self.n_iter_, self._trees_.loaded(self._n_threads)[1]
            start = engine.scores_of(booster, problem.data.X, self._n_threads, 0, n_kept)
        # 3. Boosting, f_t = f_{t-1} + eta h_t. The seed differs from that of the trees before, so
        # that the engine draws other rows and features.
        settings = self._settings(engine, problem, (seed + n_kept) % (2**31 - 1), n_rows)
        settings = replace(settings, n_estimators=phase.n_rounds - n_kept)

        def observer_of(descent: TreeDescent) -> Observer:
            return self._make_observer(
                problem.data,
                phase.unit,
                phase.n_rounds,
                lambda: self._collect(engine, descent, descent.n_rounds, settings),
                n_iter_before=None if phase.is_search else n_kept,
            )

        offset = self._offset_of(problem)
        descent = TreeDescent(problem, offset, stopping, observer_of, start, n_kept)
        # Beside the engine's threads those of BLAS would wait for a core.
        with one_blas_thread(), engine.errors_named(type(self).__name__, self.engine_params or {}):
            engine.train(settings, problem.rows(held_out, booster), descent)
        if descent.last_round is None:  # no further tree could be split: the last model stays
            names = [name for name in vars(self) if name.endswith("_") and name not in DESCRIBED]
            return {name: getattr(self, name) for name in names}, False
        # 4. The model of the best round.
        fitted = self._collect(engine, descent, descent.best_round, settings)
        descent.end()
        return fitted, descent.was_ended

    def _rows_as_given(self, X: Any) -> Any:
        return super()._rows_as_given(as_matrix(X))

    def _make_problem(self, data: Rows) -> TreeProblem:
        if self._has_own_objective:
            return TreeProblem.of_engine(data)
        loss = self.loss_in_use
        if self.relevance == "graded" and not is_listwise(loss):
            # A pairwise loss depends only on the rows that are in some pair.
            rows = data.paired_rows()
            data = data if len(rows) == len(data.y) else data.take(rows)
        return TreeProblem.of_objective(data, loss, float(self.p), self.push)

    def _settings(
        self, engine: Engine, problem: TreeProblem, seed: int, n_rows: float
    ) -> TreeSettings:
        settings: dict[str, Any] = {
            **penalties_of(self, problem),
            "monotonic_cst": self._monotonic(problem.data.X.shape[1]),
            "categorical": self._categorical_positions,
            "cat_smooth": smoothing_of(self, problem),
            "engine_params": self.engine_params or {},
            "random_state": seed,
            "n_jobs": self._n_threads,
        }
        for name in vars(TreeSettings()):
            if name not in settings:
                # Python's own numbers: engines write them as text, NumPy's as "np.float64(...)".
                value = np.asarray(getattr(self, name)).item()
                settings[name] = engine.auto.get(name) if is_auto(value) else value
        if settings["learning_rate"] is None:
            n_rarer = n_rows * problem.share_of_rarer
            settings["learning_rate"] = engine.learning_rate(self.n_estimators, n_rows, n_rarer)
        if settings["max_depth"] is None:
            settings["max_depth"] = engine.max_depth
        return TreeSettings(**settings)

    def _offset_of(self, problem: TreeProblem) -> Callable[[Floats, Indices], float] | None:
        """Return the offset as a function of some rows and their scores."""
        if self.relevance == "graded":
            return None
        y, weight, data = problem.data.y, problem.data.weight, problem.data
        balances_classes = (
            not self._has_own_objective
            and not is_listwise(self.loss_in_use)
            and as_margin_loss(self.loss_in_use).factorises
            and self.p == 1
            and self.push != "ir"
        )

        def offset(scores: Floats, rows: Indices) -> float:
            if balances_classes:
                return balancing_offset(scores, y[rows], np.log(weight[rows]), data)
            return -error_cut(scores, y[rows], weight[rows], data)

        return offset

    def _collect(
        self, engine: Engine, descent: TreeDescent, n_rounds: int, settings: TreeSettings
    ) -> dict[str, Any]:
        """Return the fitted attributes of the first rounds, appended to those of earlier fits."""
        assert descent.last_round is not None
        n_kept = descent.n_kept
        medians, stored = descent.problem.medians, descent.last_round.stored(n_kept + n_rounds)
        trees = StoredBooster(engine.name, engine.with_neutral_sides(stored, medians, n_kept))
        X, booster = descent.problem.data.X, trees.loaded(self._n_threads)[1]
        importance = engine.importances(booster, X.shape[1])
        penalties = penalties_of(self, descent.problem).items()
        fitted: dict[str, Any] = {
            "engine_": engine.name,
            "loss_": self.loss_in_use,
            **{f"{name}_": engine.defaults[name] if v is None else v for name, v in penalties},
            "learning_rate_": settings.learning_rate,
            "n_iter_": n_kept + n_rounds,
            "feature_importances_": importance / (importance.sum() or 1.0),
            "_trees_": trees,
            "_neutral_": ~np.isnan(medians) & (not n_kept or self._neutral_),
            "_fixed_": self._fixed_settings(engine, descent.problem.data),
        }
        if descent.problem.objective is not None:
            objectives = np.array(descent.objectives[:n_rounds])
            fitted["objective_curve_"] = self._extended("objective_curve_", n_kept, objectives)
        if descent.stopping is not None:
            fitted |= descent.stopping.curves()
        if descent.offset is not None:
            scores = descent.scores
            if n_rounds < descent.n_rounds:
                scores = engine.scores_of(booster, X, self._n_threads, 0, n_rounds)
            offset = descent.offset(scores.astype(np.float64), np.arange(len(scores)))
            fitted["offset_"] = offset
            offsets = np.array([*descent.offsets[: n_rounds - 1], offset])
            fitted["staged_offsets_"] = self._extended("staged_offsets_", n_kept, offsets)
        return fitted

    def _extended(self, name: str, n_kept: int, values: Floats) -> Floats:
        """Return the curve of earlier fits (NaN if they have none), extended by this one."""
        return np.concatenate([getattr(self, name, np.full(n_kept, np.nan))[:n_kept], values])

    # The fitted trees --------------------------------------------------------------------

    @property
    def booster_(self) -> Any:
        """The trees, as an object of the engine."""
        check_is_fitted(self)
        return self._trees_.loaded(self._n_threads)[1]

    def _divide_scores(self, X: Any) -> tuple[Floats, float]:
        engine, booster = self._trees_.loaded(self._n_threads)
        with engine.errors_named(type(self).__name__, self.engine_params or {}):
            contributions = engine.contributions(booster, X, self._n_threads)
        return contributions[:, :-1], float(contributions[0, -1])

    def score_rows(self, X: Any) -> Floats:
        """Return scores, without offset, of checked rows."""
        engine, booster = self._trees_.loaded(self._n_threads)
        return engine.scores(booster, X, self._n_threads, 0, self.n_iter_).astype(np.float64)

    def _staged_scores(self, X: Any) -> Iterator[Floats]:
        engine, booster = self._trees_.loaded(self._n_threads)
        scores = 0
        for tree in range(self.n_iter_):
            # In the engine's own precision, so that the last stage is its sum, bit by bit.
            scores = scores + engine.scores(booster, X, self._n_threads, tree, tree + 1)
            yield scores.astype(np.float64)

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: missing values and sparse features are allowed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags
