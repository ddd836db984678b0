"""RankBoost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from sklearn_rank._protocols import Gain
from sklearn_rank._validation import Choice, Constraint
from sklearn_rank.estimators._bags import BagsMixin
from sklearn_rank.estimators._boosting_problem import SELECTIONS, BoostingProblem
from sklearn_rank.estimators._boosting_ranker import BoostingRanker


class RankBoost(BagsMixin, BoostingRanker):
    r"""RankBoost: boosting on the exponential loss of all pairs.

    For the order of the whole list: every pair of rows, one of which belongs above the
    other, counts the same, as in the AUC.

    To use it: ``fit(X, y)``; then sort rows by falling ``decision_function(X)`` (two classes)
    or, with ``relevance="graded"``, by falling ``predict(X)``. Rows of different queries are
    told apart by ``fit(X, y, qid=...)``.

    It minimises, by coordinate descent over weak rankers,

    .. math:: J(f) = \log \sum_{i \text{ above } k} w_i w_k \, e^{-(f_i - f_k)},
        \qquad f(x) = \sum_t \alpha_t h_t(x)

    where

    - f are the scores, of shape (n_samples,), i above k the pairs of rows with
      :math:`y_i > y_k` in one query, and w the sample weights;
    - :math:`h_t` is the weak ranker of round t, a simple score such as 1 where a feature
      exceeds a threshold and 0 elsewhere (a stump);
    - :math:`\alpha_t = \frac12 \ln\frac{d_+ + e}{d_- + e}` is its step, with
      :math:`d_\pm` the shares of J's pair sum on pairs that h orders rightly and wrongly
      and e a smoothing term, see Notes. Real-valued weak rankers take a
      line search, or with queries and grades a step from second derivatives.

    A sum over pairs is computed from sums over rows: a round costs one pass over the
    data, whatever the number of pairs.

    Parameters
    ----------
    n_estimators : int in [1, inf), default=100
        Maximum number of rounds. More fit the training data better, and may overfit.
    weak_ranker : {"stump", "feature"}, estimator or model, default="stump"
        "stump": h is 1 where a feature exceeds a threshold; missing values (NaN) go to
        the better side, or are told from all others. "feature": h is a raw feature, never
        rescaled; X may be sparse. An estimator is cloned each round and fitted to minus the
        sign of the gradient of J by the scores, weighted by its absolute value; its prediction,
        mapped to [0, 1] on the training rows, is h. A model of your own has ``on_rows``: see
        "Extending".
    selection : {"auto", "steepest", "optimal"}, default="auto"
        Which weak ranker a round takes. "steepest": the one along which the objective
        falls most steeply. "optimal": the one whose step lowers it most; of stumps in one
        bipartite list that is known in closed form, elsewhere, and for features with
        queries or grades, a bound from second derivatives is lowered. "auto": "steepest",
        since "optimal" takes weak rankers that single out a few rows: with few positives
        it lowers the objective faster and the AUC of new rows.
    learning_rate : float in (0, 1], default=1.0
        Multiplies every step. Smaller needs more rounds and often generalises better.
    max_bins : int in [2, 65535], default=64
        Maximum number of bins of a feature. Thresholds are observed values: all of them
        where a feature has few, else weighted quantiles. Fewer are coarser, not faster;
        memory grows with the number of features times the maximum number of bins used.
    monotonic_cst : array-like of int of shape (n_features,), dict or None, default=None
        1: the score never falls when the feature grows; -1: it never rises; 0: no constraint. A
        dict has names or indices of features as keys. Exact, at any value that is not missing.
    max_features_used : int in [1, inf) or None, default=None
        Maximum number of features in the model.
    max_thresholds : int in [1, inf) or None, default=None
        Maximum number of different weak rankers with a net coefficient other than zero: a
        threshold, a subset of categories, missing, and each special code is one. When there are
        as many, further rounds change their coefficients.
    thresholds : dict or None, default=None
        The only thresholds of some features, increasing, by name or index.
    min_bin_size : float in [0, 0.5], default=0.0
        Share of the weight of the training rows that every bin of a feature must have.
        Neighbouring bins that are smaller are merged, rare categories pooled, or counted as
        missing where all of them together are too few. Missing values and special codes that
        are too few have no weak ranker.
    min_bin_events : float in [0, inf), default=0
        Weight of the rows of ``classes_[1]`` that every bin must have, in the same way. Only with
        ``relevance="binary"``.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Which features are categories, without order: "from_dtype", those of a categorical
        type in a pandas or polars data frame; or indices, names, or True and False for each
        feature. h is then 1 in a subset of the categories, the best of all. A category that
        training has not seen is missing.
    special_values : dict or None, default=None
        Values of some features that are codes, such as -99, not amounts: a list for each
        feature, by name or index. Each has a weak ranker of its own.
    n_bags : int in [1, inf), default=1
        1: one fit. More: the mean of fits to that many bootstrap samples of the rows (with
        `qid` of whole queries; in one list of each class as many as it has, a row of weight 2
        counting as the row twice), all with the thresholds of all rows, so that the mean is one
        sum of stumps. It helps most on sets of some hundred rows. Only for stumps, and not
        with `warm_start` and `n_iter_no_change`. With `max_thresholds` or `max_features_used`
        all bags may use the stumps of a fit to all rows, and bag b of B may add others
        while all so far are fewer than b / B of the bound.
    tol : float in [0, inf), default=1e-9
        Stop when the relative decrease of the objective in a round is at most `tol`;
        0 means never.
    warm_start : bool, default=False
        Whether `fit` adds rounds to the last fit, on the same data. A fit
        that fails or is interrupted leaves the last one as it was.
    validation_fraction : float in (0, 1), default=0.1
        Share of the queries (or rows, stratified) held out for early stopping; not used when
        `fit` gets `X_val`.
    n_iter_no_change : int in [1, inf) or None, default=None
        Stop when the score of the held-out rows has not grown by more than `tol` for that
        many rounds, and keep the rounds up to the best. None: no early stopping. Held out are
        the `X_val` of `fit`, or rows of `X`.
    scoring : str, scorer or None, default=None
        What is measured on the held-out rows, of early stopping or of `X_val`. None: `score`.
        Else a name that `metrics.ranking_scorer` takes, such as "ndcg@10", "pauc@0.05" or
        "push@4", or what it returned. Metrics of places in the list (all but "auc", "push@p",
        "pauc@a" and "tpr@a") have no row weights: with them every weight of these rows must be
        0 or 1.
    relevance : {"binary", "graded"}, default="binary"
        "binary": two classes, a scikit-learn classifier. "graded": numbers.
    n_jobs : int or None, default=None
        Threads that search for stumps and score rows, with joblib's meaning.
    random_state : int, RandomState or None, default=None
        Draws the held-out rows, the bags and the seeds of an estimator as weak ranker.
    verbose : int, default=0
        1 prints ten lines a fit, 2 one a round.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Binary mode: the classes; the second belongs at the top.
    offset_ : float
        Binary mode: what `decision_function` adds to the scores. It gives both classes
        one exponential mass, so that RankBoost classifies as AdaBoost does.
    staged_offsets_ : ndarray of shape (n_iter_,)
        Binary mode: the offset after each round.
    weak_rankers_ : object
        The weak rankers, one a round.
    estimator_weights_ : ndarray of shape (n_iter_,)
        Their coefficients.
    objective_curve_ : ndarray of shape (n_iter_,)
        J after each round.
    margin_curve_, smooth_margin_curve_ : ndarray of shape (n_iter_,)
        Smallest margin over pairs and smooth margin, each over the l1 norm of the net
        coefficients (RudinSchapire2009).
    bag_weights_ : ndarray of shape (n_bags, n_weak_rankers)
        With ``n_bags > 1``: the coefficients of each bag. `estimator_weights_` are their means,
        of each weak ranker that any bag uses, `objective_curve_` is the mean over the bags of the
        objective on the bag after each round (a bag that has ended keeps its last), and `n_iter_`
        the largest number of rounds. The offset and `margin_` are those of the mean scores
        of all rows. There are no stages and no curves of margins.
    margin_ : float
        The last margin.
    validation_scores_ : ndarray
        With early stopping or `X_val`, the score of the held-out rows, or the metric that
        `scoring` names, after each round tried.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Decrease of J credited to each feature, summing to 1.
    coef_ : ndarray of shape (n_features_in_,)
        With ``weak_ranker="feature"``.
    n_iter_ : int
        Number of rounds.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when all are strings.

    See Also
    --------
    PNormPushRanker : Puts the weight on the top of the list.
    SmoothMarginRanker : Maximises the smallest margin.

    Notes
    -----
    The smoothing term :math:`e = 1 / (2 \max(N, N_\text{eff}))` keeps steps finite. N is
    the total weight of the pairs and :math:`N_\text{eff} = N^2 / \sum (w_i w_k)^2` their
    effective number, so that weights that sum to one give the model of weights of one.
    Where all weights are integers, :math:`N_\text{eff} \le N`, and a row of weight 2 is the
    row twice. A row of weight 1/2 twice is a row of weight 1 but for e.

    Any constraint, category or special code makes the model a table: of the weak rankers
    ``1[x > t]``, 0 where x is missing or a special code, ``1[x is missing]``, ``1[x == code]``,
    and ``1[x in S]`` with S a subset of categories. A monotonic constraint gives the net
    coefficient of each ``1[x > t]`` its sign: a step against it ends at zero. Missing values
    and special codes have no place in the order and are free. Without any of these a missing
    value goes with large or with small values, threshold by threshold.

    The longest step of a real-valued weak ranker is finite where h orders every pair
    rightly: the closed form at :math:`d_+ = 1, d_- = 0`, divided
    by the range of h over pairs,
    :math:`\frac12 \ln\frac{1 + e}{e} \big/ \max_{i \text{ above } k} |h_i - h_k|`. Where
    the minimum along h lies beyond, that is the step.

    References
    ----------
    Freund2003, Figure 1 (algorithm), sec. 3.2 (step, ``selection="optimal"``).
    RudinSchapire2009, no number at hand (margins, the offset).
    The best subset of categories: derived in `models.TableColumns`.

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

    Rounds until the NDCG of held-out queries no longer grows:

    >>> ranker.set_params(n_iter_no_change=10, scoring="ndcg@10", random_state=0)
    RankBoost(...)
    >>> ranker.fit(data.data, data.target, qid=data.qid).n_iter_ < 100
    True
    """

    _allowed: ClassVar[dict[str, Constraint]] = {
        **BoostingRanker._allowed,
        **BagsMixin._bags_allowed,
        "selection": Choice(SELECTIONS),
    }

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        weak_ranker: Any = "stump",
        selection: str = "auto",
        learning_rate: float = 1.0,
        max_bins: int = 64,
        monotonic_cst: Any = None,
        max_features_used: int | None = None,
        max_thresholds: int | None = None,
        thresholds: Mapping[Any, Any] | None = None,
        min_bin_size: float = 0.0,
        min_bin_events: float = 0,
        categorical_features: Any = "from_dtype",
        special_values: Mapping[Any, Any] | None = None,
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
            max_features_used=max_features_used,
            max_thresholds=max_thresholds,
            thresholds=thresholds,
            min_bin_size=min_bin_size,
            min_bin_events=min_bin_events,
            categorical_features=categorical_features,
            special_values=special_values,
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
        self.selection = selection
        self.n_bags = n_bags

    def _make_gain(self, problem: BoostingProblem) -> Gain:
        selection = "steepest" if self.selection == "auto" else self.selection
        return problem.make_gain(type(self).__name__, selection, 1.0)
