"""The smooth margin ranker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Candidate, ObjectiveState, Values
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.warnings import warn
from sklearn_rank.estimators._boosting.boosting_ranker import BoostingRanker
from sklearn_rank.estimators._boosting.problem import BoostingConfig, BoostingProblem, Coefficients
from sklearn_rank.solvers.coordinate_descent import PushStep, smooth_margin_root


@dataclass
class SmoothMarginStep:
    r"""The step of coordinate ascent on the smooth margin G (RudinSchapire2009, sec. 4).

    RankBoost's step until 0 < G < edge with a non-zero model, then a step that never lowers G. In
    Figure 1 there it is (3b) and (3c), the latter replaced by eq. 12. `Coordinate.solve` has the
    step numbers of Rudin2009, whose 3(a) is (3a), 3(c) is (3e), and 3(d) with 3(e) is (3d).

    Parameters
    ----------
    rankboost : PushStep
        The step at p = 1.
    coefficients : Coefficients
        Net coefficients.
    log_scale : float
        Logarithm of the factor that makes every pair weight at least one.
    smallest_difference : callable
        Maps h to the minimum of ``h_i - h_k`` over pairs: where it is at least g the
        slope is never reached, and the step is bounded as `rankboost` is.
    """

    rankboost: PushStep
    coefficients: Coefficients
    log_scale: float
    smallest_difference: Callable[[Values], float]

    def smooth_margin(self, value: float) -> float:
        r"""Return :math:`G = -\ln F / \|\lambda\|_1`, given ``value = ln F``."""
        if self.coefficients.l1_norm == 0:
            return -np.inf
        return -(value + self.log_scale) / self.coefficients.l1_norm

    def __call__(self, state: ObjectiveState, candidate: Candidate, h: Values) -> float:
        """Return the signed step along h."""
        # 1. g_t = G(lambda_t) = -ln F(lambda_t) / s_t with s_t = ||lambda_t||_1. Scaling
        # the weights in F is ours.
        g = self.smooth_margin(state.value)
        # 2. The edge is r_t = d+ - d-. Outside 0 < g_t < r_t the step is RankBoost's. The guard
        # g_t < r_t is ours: without it the root in 3 would not be positive.
        if not self.rankboost.rows.agree(0 < g < abs(candidate.edge)):
            return self.rankboost(state, candidate, h)
        # 3. Along e_j (h), F changes by the factor tau(alpha) = F(lambda_t + alpha e_j) /
        # F(lambda_t). alpha_t is the root of (11), -tau'(alpha) = g_t tau(alpha). An h with a
        # negative edge is turned round.
        sign = float(np.sign(candidate.edge))
        shares = state.pair_shares(candidate, h)
        if shares is not None:
            # 0/1 weak rankers: tau = d+ e^-alpha + d- e^alpha + d0, and the root is (12), rewritten
            # in `smooth_margin_root`. Ours: with d- = d0 = 0 there is none, and the step is the
            # longest.
            step = smooth_margin_root(shares if sign > 0 else shares.flipped(), g)
            return sign * (self.rankboost.bound(h) if np.isinf(step) else step)
        # Beyond the closed form, other weak rankers: -tau' / tau falls from r_t to the smallest
        # difference of h over pairs. With g_t at or below that difference there is no root;
        # otherwise a line search finds it.
        bound = self.rankboost.bound(h)
        if self.rankboost.rows.agree(self.smallest_difference(sign * h) >= g):
            return sign * bound
        slope = state.slope(candidate, h)
        while self.rankboost.rows.agree(sign * slope(sign * bound) < -g):
            bound *= 2
        return self.rankboost.to_slope(slope, -sign * g, bound)


class SmoothMarginRanker(BoostingRanker):
    r"""Coordinate ascent on the smooth margin: boosting that reaches the largest margin.

    Use it for data that can be ranked without error, when the smallest margin matters: it maximises
    that margin. On other data, its model equals that of `RankBoost`.

    Call ``fit(X, y)``, then sort rows by decreasing ``decision_function(X)`` (two classes) or,
    with ``relevance="graded"``, by decreasing ``predict(X)``. With ``fit(X, y, qid=...)`` rows
    are compared only within their query. Guide: :doc:`/guide/smooth_margin`.

    It maximises, weak ranker by weak ranker,

    .. math:: G(\lambda) = \frac{-\ln F(\lambda)}{\|\lambda\|_1}, \qquad
        F(\lambda) = \sum_{i \text{ above } k} w_i w_k \, e^{-(f_i - f_k)}, \qquad
        f(x) = \sum_j \lambda_j h_j(x)

    where

    - f are the scores, of shape (n_samples,), i above k the pairs of rows with
      :math:`y_i > y_k` in one query, and w the sample weights;
    - :math:`h_j` are the weak rankers and :math:`\lambda_j` their net coefficients.

    G is a lower bound on the margin :math:`\min_{ik} (f_i - f_k) / \|\lambda\|_1` and converges to
    the largest margin, which RankBoost can miss. Steps are RankBoost's until 0 < G < edge; from
    then on, each step moves to where the slope of -ln F along the weak ranker has fallen to G. For
    stumps it is

    .. math:: \alpha = \ln \frac{2 (1 - g) d_+}
        {g d_0 + \sqrt{g^2 d_0^2 + 4 (1 - g^2) d_+ d_-}}

    with g the value of G before the step and :math:`d_+, d_-, d_0` the shares of pair mass
    that h orders correctly, incorrectly and not at all.

    Parameters
    ----------
    n_estimators : int in [1, inf), default=100
        Maximum number of rounds. The margin grows slowly, so thousands are usual.
    weak_ranker : {"stump", "feature"}, estimator or model, default="stump"
        The kind of h: a stump (`models.Stumps` has constraints and special codes), a raw feature,
        the prediction of an estimator, or your own model (:doc:`/guide/rank_boost`).
    learning_rate : float in (0, 1], default=1.0
        Factor applied to every step.
    max_bins : int in [2, 65535], default=64
        Maximum number of bins per feature. Fewer bins are coarser, but not faster.
    monotonic_cst : array-like of int of shape (n_features,), dict or None, default=None
        1: the score never falls as the feature grows; -1: it never rises; 0: no constraint. A dict
        maps feature names or indices to these values. Missing values are unconstrained.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Categorical features (:doc:`/guide/conventions`): "from_dtype", those of a categorical type
        in a data frame; or indices, names, or a mask. h is the best subset of the categories.
    tol : float in [0, inf), default=1e-9
        Stop when the relative decrease of ln F in a round is at most `tol`; 0: never.
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
        Seed for the held-out rows and an estimator as weak ranker.
    verbose : int, default=0
        1 prints ten lines per fit, 2 one line per round.

    Attributes
    ----------
    margin_ : float
        Smallest margin over pairs, divided by the l1 norm of the net coefficients.
    margin_curve_, smooth_margin_curve_ : ndarray of shape (n_iter_,)
        The margin and G after each round. Pair weights below 1 are scaled up in G, so that it
        remains a lower bound on the margin; so are those in the smoothing term of RankBoost's step.
    offset_ : float
        Binary mode: the constant that `decision_function` adds to the scores. It gives both
        classes the same exponential mass.
    staged_offsets_, objective_curve_ : ndarray of shape (n_iter_,)
        The offset (binary mode) and ln F after each round.
    weak_rankers_, estimator_weights_ : object, ndarray of shape (n_iter_,)
        The weak rankers, one per round, and their coefficients.
    validation_scores_, validation_losses_ : ndarray of shape (n_rounds_run,)
        With held-out rows: the metric (`scoring`, or by default `score`) and the loss after each
        round.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each feature in the decrease of ln F; sums to 1.
    coef_ : ndarray of shape (n_features_in_,)
        With ``weak_ranker="feature"``: the coefficients of the features.
    classes_, n_iter_, n_features_in_, feature_names_in_
        The classes (binary mode), the second of which belongs at the top; the numbers of rounds and
        of features, and the feature names, if all are strings.

    Warns
    -----
    ConvergenceWarning
        If G never became positive, so all steps were RankBoost's.

    See Also
    --------
    RankBoost : For data that can't be ranked without error.

    References
    ----------
    RudinSchapire2009, sec. 4 (the smooth margin), eq. 12 (step), Theorem 6 (RankBoost can miss the
    largest margin), Theorem 7 (how much G rises), Theorem 8 (G tends to the largest margin),
    both under a condition on the pairs that a weak ranker ties.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank import SmoothMarginRanker
    >>> X = np.array([[0.0, 2.0], [1.0, 0.0], [2.0, 3.0], [3.0, 1.0]])
    >>> ranker = SmoothMarginRanker(n_estimators=10).fit(X, [0, 0, 1, 1])
    >>> ranker.margin_ > 0
    True
    """

    def _config(self, threads: ThreadPool) -> BoostingConfig:
        # The step needs the whole slope along h.
        return replace(super()._config(threads), is_first_order=True)

    def _make_step_rule(
        self, problem: BoostingProblem, coefficients: Coefficients
    ) -> SmoothMarginStep:
        return SmoothMarginStep(
            # Scaled weights count more pairs, so that less smoothing is needed.
            problem.push_step(problem.log_scale),
            coefficients,
            problem.log_scale,
            lambda h: problem.preferences.smallest_difference(h, h),
        )

    def _fit(self, data: Rows) -> dict[str, Any]:
        fitted = super()._fit(data)
        if not (fitted["smooth_margin_curve_"] > 0).any():
            warn(
                f"The smooth margin stayed negative for {fitted['n_iter_']} rounds, so "
                "every step was RankBoost's: the weak rankers can't order the "
                "training pairs without error, or need more rounds (n_estimators).",
                ConvergenceWarning,
            )
        return fitted
