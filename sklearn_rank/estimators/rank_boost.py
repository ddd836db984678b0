"""RankBoost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.validation import Choice, Constraint, Number
from sklearn_rank.estimators._boosting.boosting_ranker import SELECTIONS, BoostingRanker
from sklearn_rank.estimators._boosting.problem import BoostingConfig


class RankBoost(BoostingRanker):
    r"""RankBoost: boosting that minimises the exponential loss over all pairs.

    Use it when the order of the whole list matters: every pair of rows of different
    relevance counts the same, as in the AUC.

    Call ``fit(X, y)``, then sort rows by decreasing ``decision_function(X)`` (two classes) or,
    with ``relevance="graded"``, by decreasing ``predict(X)``. With ``fit(X, y, qid=...)`` rows
    are compared only within their query. Guide: :doc:`/guide/rank_boost`.

    It minimises, by coordinate descent over weak rankers,

    .. math:: J(f) = \log \sum_{i \text{ above } k} w_i w_k \, e^{-(f_i - f_k)},
        \qquad f(x) = \sum_t \alpha_t h_t(x)

    where

    - f are the scores, of shape (n_samples,), i above k the pairs of rows with
      :math:`y_i > y_k` in one query, and w the sample weights;
    - :math:`h_t` is the weak ranker of round t, a simple score such as 1 where a feature
      exceeds a threshold and 0 elsewhere (a stump);
    - :math:`\alpha_t = \frac12 \ln\frac{d_+ + e}{d_- + e}` is its step, with :math:`d_\pm` the
      shares of J's pair sum on pairs that h orders correctly and incorrectly;
    - :math:`e = 1 / (2 \max(N, N_\text{eff}))` keeps the step finite, with N the total weight of
      the pairs and :math:`N_\text{eff} = N^2 / \sum (w_i w_k)^2` their effective number.

    A round takes one pass over the rows, however many pairs there are.

    Parameters
    ----------
    n_estimators : int in [1, inf), default=200
        Maximum number of rounds. More rounds fit the training data better and may overfit.
    weak_ranker : {"stump", "feature"}, estimator or model, default="stump"
        The kind of h: a stump (`models.Stumps` has constraints and special codes), a raw feature,
        the prediction of an estimator, or your own model (:doc:`/guide/rank_boost`).
    selection : {"auto", "steepest", "optimal"}, default="auto"
        Which weak ranker a round adds: the one along which J falls most steeply ("auto"), or the
        one whose step lowers J, or a bound of it, most (:doc:`/guide/rank_boost`).
    learning_rate : float in (0, 1], default=0.3
        Factor applied to every step. Smaller values need more rounds and often generalise better. 1
        is the algorithm of the paper, whose theorems are about full steps.
    max_bins : int in [2, 65535], default=64
        Maximum number of bins per feature. Fewer bins are coarser, but not faster.
    monotonic_cst : array-like of int of shape (n_features,), dict or None, default=None
        1: the score never falls as the feature grows; -1: it never rises; 0: no constraint. A dict
        maps feature names or indices to these values. Missing values are unconstrained.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Categorical features (:doc:`/guide/conventions`): "from_dtype", those of a categorical type
        in a data frame; or indices, names, or a mask. h is the best subset of the categories.
    n_bags : int in [1, inf), default=1
        Number of bootstrap samples whose fits are averaged; 1: a single fit to all rows. Only for
        stumps (:doc:`/guide/p_norm_push`).
    tol : float in [0, inf), default=1e-9
        Stop when the relative decrease of the objective in a round is at most `tol`; 0: never.
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
    weak_rankers_, estimator_weights_ : object, ndarray of shape (n_iter_,)
        The weak rankers, one per round, and their coefficients.
    offset_ : float
        Binary mode: the constant that `decision_function` adds to the scores. It gives both
        classes the same exponential mass.
    staged_offsets_, objective_curve_ : ndarray of shape (n_iter_,)
        The offset (binary mode) and J after each round.
    margin_ : float
        The smallest margin over pairs of the final model.
    margin_curve_, smooth_margin_curve_ : ndarray of shape (n_iter_,)
        Smallest margin, and smooth margin, after each round; both are divided by the l1 norm of
        the net coefficients (RudinSchapire2009, sec. 4).
    bag_weights_ : ndarray of shape (n_bags, n_weak_rankers)
        With ``n_bags > 1``: the coefficients of each bag.
    validation_scores_, validation_losses_ : ndarray of shape (n_rounds_run,)
        With held-out rows: the metric (`scoring`, or by default `score`) and the loss after each
        round.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each feature in the decrease of J; sums to 1.
    coef_ : ndarray of shape (n_features_in_,)
        With ``weak_ranker="feature"``: the coefficients of the features.
    classes_, n_iter_, n_features_in_, feature_names_in_
        The classes (binary mode), the second of which belongs at the top; the numbers of rounds and
        of features, and the feature names, if all are strings.

    See Also
    --------
    PNormPushRanker : Gives more weight to the top of the list.
    SmoothMarginRanker : Maximises the smallest margin.

    References
    ----------
    Freund2003, Figure 1 (algorithm), sec. 3.2 (step, ``selection="optimal"``).
    RudinSchapire2009, sec. 4 (the smooth margin), sec. 5 (the offset).
    The best subset of categories: derived in `models.StumpColumns`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_rank import RankBoost
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> ranker = RankBoost(n_estimators=50).fit(X, y)
    >>> ranker.score(X, y) > 0.99
    True
    """

    _allowed: ClassVar[dict[str, Constraint]] = {
        **BoostingRanker._allowed,
        "n_bags": Number(1, integer=True),
        "selection": Choice(SELECTIONS),
    }

    def __init__(
        self,
        *,
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
        self.selection = selection
        self.n_bags = n_bags

    def _config(self, threads: ThreadPool) -> BoostingConfig:
        selection = "steepest" if self.selection == "auto" else self.selection
        return replace(super()._config(threads), selection=selection)
