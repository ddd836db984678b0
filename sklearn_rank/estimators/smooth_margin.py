"""The smooth margin ranker."""

from __future__ import annotations

from typing import Any

from sklearn.exceptions import ConvergenceWarning

from sklearn_rank._protocols import Gain
from sklearn_rank._warnings import warn
from sklearn_rank.base import TrainingData
from sklearn_rank.estimators._boosting_problem import BoostingProblem, History
from sklearn_rank.estimators._boosting_ranker import BoostingRanker
from sklearn_rank.solvers import Coefficients, SmoothMarginStep


class SmoothMarginRanker(BoostingRanker):
    r"""Coordinate ascent on the smooth margin: boosting that reaches the largest margin.

    For data that can be ranked without error, when the pair with the smallest margin
    matters: it maximises that margin. On other data it is `RankBoost`.

    To use it: ``fit(X, y)``; then sort rows by falling ``decision_function(X)`` (two classes)
    or, with ``relevance="graded"``, by falling ``predict(X)``. Rows of different queries are
    told apart by ``fit(X, y, qid=...)``.

    It maximises, weak ranker by weak ranker,

    .. math:: G(\lambda) = \frac{-\ln F(\lambda)}{\|\lambda\|_1}, \qquad
        F(\lambda) = \sum_{i \text{ above } k} w_i w_k \, e^{-(f_i - f_k)}, \qquad
        f(x) = \sum_j \lambda_j h_j(x)

    where

    - f are the scores, of shape (n_samples,), i above k the pairs of rows with
      :math:`y_i > y_k` in one query, and w the sample weights;
    - :math:`h_j` are the weak rankers and :math:`\lambda_j` their net coefficients.

    G is a lower bound of the margin :math:`\min_{ik} (f_i - f_k) / \|\lambda\|_1` and tends
    to the largest margin, which RankBoost can miss. RankBoost's step is taken until 0 < G < edge;
    then the step goes to where the slope of -ln F along the weak ranker has fallen to G, for
    stumps

    .. math:: \alpha = \ln \frac{2 (1 - g) d_+}
        {g d_0 + \sqrt{g^2 d_0^2 + 4 (1 - g^2) d_+ d_-}}

    with g = G now and :math:`d_+, d_-, d_0` the shares of pair mass that h orders
    rightly, wrongly and not at all. Data that can't be ranked without error leave it
    RankBoost, and a warning says so.

    Parameters
    ----------
    n_estimators : int in [1, inf), default=100
        Maximum number of rounds. The margin grows slowly: thousands are usual.
    weak_ranker : {"stump", "feature"}, estimator or model, default="stump"
        As in `RankBoost`.
    learning_rate : float in (0, 1], default=1.0
        Multiplies every step.
    max_bins : int in [2, 65535], default=64
        Maximum number of bins of a feature.
    monotonic_cst, max_features_used, max_thresholds, thresholds, min_bin_size, min_bin_events
        Constraints on stumps, as in `RankBoost`.
    categorical_features, special_values
        Features of categories and values that are codes, as in `RankBoost`.
    tol : float in [0, inf), default=1e-9
        Stop when the relative decrease of ln F in a round is at most `tol`; 0 means
        never.
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
        As in `RankBoost`: what early stopping measures. None: `score`.
    relevance : {"binary", "graded"}, default="binary"
        "binary": two classes, a scikit-learn classifier. "graded": numbers.
    n_jobs : int or None, default=None
        Threads that search for stumps and score rows, with joblib's meaning.
    random_state : int, RandomState or None, default=None
        As in `RankBoost`.
    verbose : int, default=0
        1 prints ten lines a fit, 2 one a round.

    Attributes
    ----------
    margin_ : float
        Smallest margin over pairs, over the l1 norm of the net coefficients.
    margin_curve_, smooth_margin_curve_ : ndarray of shape (n_iter_,)
        The margin and G after each round. Pair weights below 1 are scaled up in G, so
        that it stays below the margin.
    objective_curve_ : ndarray of shape (n_iter_,)
        ln F after each round.
    classes_, offset_, staged_offsets_, weak_rankers_, estimator_weights_
        As in `RankBoost`, as are `validation_scores_`, `feature_importances_`, `coef_`,
        `n_iter_`, `n_features_in_` and `feature_names_in_`.

    Warns
    -----
    ConvergenceWarning
        When G never became positive, so that every step was RankBoost's.

    See Also
    --------
    RankBoost : For data that can't be ranked without error.

    Notes
    -----
    While a step is RankBoost's, its smoothing term e is that of `RankBoost` for the pair
    weights as scaled in G.

    References
    ----------
    RudinSchapire2009, eq. 12 (step), Theorem 6 (RankBoost can miss the largest margin),
    Theorem 7 (G never falls).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank import SmoothMarginRanker
    >>> X = np.array([[0.0, 2.0], [1.0, 0.0], [2.0, 3.0], [3.0, 1.0]])
    >>> ranker = SmoothMarginRanker(n_estimators=10).fit(X, [0, 0, 1, 1])
    >>> ranker.margin_ > 0
    True
    """

    def _is_second_order(self, problem: BoostingProblem, gain: Gain) -> bool:
        return False  # the step needs the whole slope along h

    def _make_step_rule(
        self, problem: BoostingProblem, coefficients: Coefficients
    ) -> SmoothMarginStep:
        pairs = problem.preferences
        return SmoothMarginStep(
            # Scaled weights count more pairs, so that less smoothing is needed.
            problem.push_step(1.0, problem.log_scale),
            coefficients,
            problem.log_scale,
            lambda h: pairs.smallest_difference(h, h),
        )

    def _solve(
        self, problem: BoostingProblem, history: History, held_out: TrainingData | None
    ) -> dict[str, Any]:
        fitted = super()._solve(problem, history, held_out)
        if max(history.smooth_margins, default=-1.0) <= 0:
            warn(
                f"The smooth margin stayed negative for {len(history.steps)} rounds, so "
                "that every step was RankBoost's: the weak rankers can't order the "
                "training pairs without error, or need more rounds (n_estimators) to.",
                ConvergenceWarning,
            )
        return fitted
