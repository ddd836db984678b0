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
    with ``relevance="graded"``, by decreasing ``predict(X)``. If rows belong to queries, pass
    ``fit(X, y, qid=...)``: rows are then compared only within their query.

    It minimises, by coordinate descent over weak rankers,

    .. math:: J(f) = \log \sum_{i \text{ above } k} w_i w_k \, e^{-(f_i - f_k)},
        \qquad f(x) = \sum_t \alpha_t h_t(x)

    where

    - f are the scores, of shape (n_samples,), i above k the pairs of rows with
      :math:`y_i > y_k` in one query, and w the sample weights;
    - :math:`h_t` is the weak ranker of round t, a simple score such as 1 where a feature
      exceeds a threshold and 0 elsewhere (a stump);
    - :math:`\alpha_t = \frac12 \ln\frac{d_+ + e}{d_- + e}` is its step, with
      :math:`d_\pm` the shares of J's pair sum on pairs that h orders correctly and
      incorrectly and e a smoothing term, see Notes. For real-valued weak rankers the step
      comes from a line search, or with queries and grades from second derivatives.

    Sums over pairs are computed from sums over rows: a round takes one pass over the
    data, however many pairs there are.

    Parameters
    ----------
    n_estimators : int in [1, inf), default=200
        Maximum number of rounds. More rounds fit the training data better and may overfit.
    weak_ranker : {"stump", "feature"}, estimator or model, default="stump"
        "stump": h is 1 where a feature exceeds a threshold; missing values (NaN) go to the better
        side, or are separated from all others. `models.Stumps` is an object with parameters for
        stumps: constraints, special codes, size of the model. "feature": h is a raw feature, not
        rescaled: bring features to one scale first, or those in small units are found late or
        not at all; X may be sparse. An estimator is cloned in each round and fitted to minus the
        sign of the gradient of J with respect to the scores, weighted by its absolute value; its
        prediction, mapped to [0, 1] on the training rows, is h. A model of your own needs
        ``on_rows``: see "Extending".
    selection : {"auto", "steepest", "optimal"}, default="auto"
        Which weak ranker each round adds. "steepest": the one along which the objective
        falls most steeply. "optimal": the one whose step lowers the objective most. For stumps
        in one list of two classes this is known in closed form; for features, and with queries or
        grades, it is the one that lowers a quadratic bound from second derivatives most, which is
        often another. "auto": "steepest",
        because "optimal" prefers weak rankers that single out a few rows: with few positives
        it lowers the objective faster but ranks new rows worse.
    learning_rate : float in (0, 1], default=0.3
        Factor of every step. Smaller values need more rounds and often generalise better. 1 is
        the algorithm of the paper, whose theorems are about whole steps.
    max_bins : int in [2, 65535], default=64
        Maximum number of bins per feature. Thresholds are halfway between neighbouring
        values: all of them if a feature has few, otherwise weighted quantiles, of a sample where
        there are more than 131,072 distinct rows (they are then off by about .1 % of the weight).
        Fewer bins are coarser but not faster; memory grows with the number of features times the
        largest number of bins used.
    monotonic_cst : array-like of int of shape (n_features,), dict or None, default=None
        1: the score never falls as the feature grows; -1: it never rises; 0: no constraint. A
        dict maps names or indices of features to these. Holds exactly, for every value that is
        not missing.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Which features are categories: "from_dtype", those of a categorical type in a pandas or
        polars data frame; or indices, names, or True and False for each feature. h is then 1 in a
        subset of the categories, the best of all subsets. Of an ordered column of pandas, such
        as ``pd.cut`` makes, h is 1 in a range of the order; for subsets pass
        ``X["c"].cat.as_unordered()``, or ``weak_ranker=Stumps(category_groups={"c": []})`` with
        `models.Stumps`. A category not seen in training counts as missing. One of
        few rows counts as missing too, or is pooled: see `min_bin_size` of `models.Stumps`.
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
        Whether `fit` adds rounds to the last fit, on the same data. A fit
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
    classes_ : ndarray of shape (2,)
        Binary mode: the classes; the second belongs at the top.
    offset_ : float
        Binary mode: added to the scores by `decision_function`. It gives both classes
        the same exponential mass, with which RankBoost makes as many errors as AdaBoost in the
        limit of many rounds.
    staged_offsets_ : ndarray of shape (n_iter_,)
        Binary mode: the offset after each round.
    weak_rankers_ : object
        The weak rankers, one per round.
    estimator_weights_ : ndarray of shape (n_iter_,)
        The coefficients of the weak rankers.
    objective_curve_ : ndarray of shape (n_iter_,)
        J after each round.
    margin_curve_, smooth_margin_curve_ : ndarray of shape (n_iter_,)
        Smallest margin over pairs, and smooth margin, after each round; both are divided
        by the l1 norm of the net coefficients (RudinSchapire2009, sec. 4).
    bag_weights_ : ndarray of shape (n_bags, n_weak_rankers)
        With ``n_bags > 1``: the coefficients of each bag. `estimator_weights_` are then their
        means, for each weak ranker that any bag uses; `objective_curve_` is the mean over the
        bags of the bag's objective after each round (a bag that has stopped keeps its last
        value), and `n_iter_` the largest number of rounds. The offset and `margin_` belong to
        the mean scores of all rows. There are no stages and no margin curves.
    margin_ : float
        The margin of the final model.
    validation_scores_ : ndarray of shape (n_rounds_run,)
        With early stopping or `X_val`: the metric (`scoring`; None: `score`) on the held-out rows
        after each round that was run.
    validation_losses_ : ndarray of shape (n_rounds_run,)
        The same of the loss that early stopping watches with ``scoring=None``.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each feature in the decrease of J; sums to 1.
    coef_ : ndarray of shape (n_features_in_,)
        With ``weak_ranker="feature"``: the coefficients of the features.
    n_iter_ : int
        Number of rounds.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if all are strings.

    See Also
    --------
    PNormPushRanker : Gives more weight to the top of the list.
    SmoothMarginRanker : Maximises the smallest margin.

    Notes
    -----
    The smoothing term :math:`e = 1 / (2 \max(N, N_\text{eff}))` keeps steps finite. N is
    the total weight of the pairs and :math:`N_\text{eff} = N^2 / \sum (w_i w_k)^2` their
    effective number, so that equal weights that sum to one give the same model as weights of
    one. If all weights are integers, :math:`N_\text{eff} \le N`, and a row of weight 2 is the
    row twice. A row of weight 1/2 twice equals a row of weight 1 except for e.

    Any constraint, category or special code makes the model a table, built from the weak
    rankers ``1[x > t]``, which is 0 where x is missing or a special code, ``1[x is missing]``,
    ``1[x == code]``, and ``1[x in S]`` with S a subset of categories. A monotonic constraint
    determines the sign of the net coefficient of each ``1[x > t]``: a step that would change
    the sign stops at zero. Missing values and special codes have no place in the order and are
    not constrained. In a model without constraints, categories and special codes, each
    threshold puts missing values on its better side.

    The step of a real-valued weak ranker is limited, so that it is finite even if h orders
    every pair correctly. The limit is the closed form at :math:`d_+ = 1, d_- = 0`, divided
    by the range of h over pairs,
    :math:`\frac12 \ln\frac{1 + e}{e} \big/ \max_{i \text{ above } k} |h_i - h_k|`.

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

    Queries, graded relevance:

    >>> from sklearn_rank.datasets import make_queries
    >>> data = make_queries(random_state=0)
    >>> ranker = RankBoost(relevance="graded").fit(data.data, data.target, qid=data.qid)
    >>> ranker.predict(data.data[:3]).shape
    (3,)

    As many rounds as rank held-out queries best by NDCG:

    >>> ranker.set_params(n_iter_no_change=10, scoring="ndcg@10", random_state=0)
    RankBoost(...)
    >>> ranker.fit(data.data, data.target, qid=data.qid).n_iter_ < 200
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
