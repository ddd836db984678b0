"""Confidence intervals of metrics, and of the difference of two rankings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special, stats
from sklearn.utils import check_random_state

from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank._core.validation import check_floats, check_parameters, check_qid
from sklearn_rank.metrics._partial_auc import MAX_FPR, tpr_at_fpr_score
from sklearn_rank.metrics.curve_terms import part_before
from sklearn_rank.metrics.intervals import (
    BATCH_VALUES,
    CONFIDENCE,
    ROUNDING,
    BootstrapInterval,
    Influence,
    RankingComparison,
    around,
    auc_influence,
    batches,
    check_resampling,
    draw_counts,
    fold_of_queries,
    quantiles,
    with_both_classes,
)
from sklearn_rank.metrics.scored_rows import ScoredRows

MANY_VALUES = 5_000
"""Up to this number of values the interval is BCa. For a skewness of 2 the correction then moves
an end by a (2 + z^2) = 0.028 standard errors, with the acceleration a = 2 / (6 sqrt(n)): the Monte
Carlo error of 9,999 resamples. Its time is quadratic in the number of values."""

_ENOUGH = 100
"""With fewer samples all may lie on one side of the mean, which BCa can't correct."""

_CACHED_VALUES = 1 << 18
"""Counts that are held at a time, few enough for the cache."""

_HEAD_DEVIATIONS = 8
"""Standard deviations beyond the false positive rate up to which negatives are drawn one by one;
the probability that a bootstrap sample needs more of them is below 1e-14."""


# Means over queries ------------------------------------------------------------


def _values(values: Any, name: str) -> Floats:
    values = check_floats(values, name)
    if np.isinf(values).any():
        raise ValueError(f"{name} contains infinity.")
    return np.asarray(values)


def _check_enough(values: Floats) -> None:
    if len(values) < 2:
        raise ValueError(
            f"At least two queries with a value are needed to resample them. Got {len(values)}."
        )


def bootstrap_interval(
    values: Any, *, confidence: float = 0.95, n_resamples: int = 9999, random_state: Any = None
) -> BootstrapInterval:
    """Bootstrap the mean of a metric over queries: queries are drawn with replacement.

    The interval is bias-corrected and accelerated (BCa) up to 5,000 values. For more values the
    corrections are as small as the Monte Carlo error and take quadratic time, and fewer than 100
    samples do not tell them: the interval is then the percentile interval.

    Parameters
    ----------
    values : array-like of shape (n_queries,)
        One value for each query, as the metrics return with ``average=None``. NaN marks
        queries that were skipped.
    confidence : float in (0, 1), default=0.95
        Confidence level: nominal coverage of the true mean.
    n_resamples : int >= 1, default=9999
        Number of bootstrap samples.
    random_state : int, RandomState or None, default=None
        Seed of the draws.

    Returns
    -------
    BootstrapInterval
        ``mean``, ``low``, ``high``, ``n_queries``.

    Raises
    ------
    ValueError
        With fewer than two values, or a parameter that is not allowed.

    Notes
    -----
    With few values the interval is too narrow, most of all if a few of them are far from the
    others. Where all values are equal its width is zero: no sample differs from them, although new
    queries may.

    References
    ----------
    Efron1993 (both intervals).

    Examples
    --------
    >>> from sklearn_rank.metrics import bootstrap_interval
    >>> found = bootstrap_interval([0.2, 0.9, 0.4, 0.7, 0.8], random_state=0)
    >>> found.mean, found.low < 0.6 < found.high
    (0.6, True)
    """
    check_resampling("bootstrap_interval", confidence, n_resamples, random_state)
    values = _values(values, "values")
    values = values[~np.isnan(values)]
    _check_enough(values)
    low, high = _interval(values, confidence, n_resamples, check_random_state(random_state))
    return BootstrapInterval(float(values.mean()), low, high, len(values))


def _interval(values: Floats, confidence: float, n_resamples: int, rng: Any) -> tuple[float, float]:
    """Return the ends of the interval; both are the mean when all values are equal."""
    if np.ptp(values) <= ROUNDING * np.abs(values).max():
        return float(values.mean()), float(values.mean())
    found = stats.bootstrap(
        (values,),
        np.mean,
        confidence_level=confidence,
        n_resamples=n_resamples,
        batch=max(1, BATCH_VALUES // len(values)),
        method="BCa" if n_resamples >= _ENOUGH and len(values) <= MANY_VALUES else "percentile",
        random_state=rng,
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def compare_rankings(
    values_a: Any,
    values_b: Any,
    *,
    confidence: float = 0.95,
    n_resamples: int = 9999,
    random_state: Any = None,
) -> RankingComparison:
    """Compare two rankings of the same queries by their paired differences.

    The interval of the mean difference is that of `bootstrap_interval`. The p-value is that
    of the permutation test that exchanges the two values of a query: exact when there are at
    most `n_resamples` permutations, else over random ones. Values with a relative difference
    of at most 1e-12 count as equal.

    Parameters
    ----------
    values_a, values_b : array-like of shape (n_queries,)
        One value for each query, in the same order, as the metrics return with
        ``average=None``. Queries that were skipped are NaN in both.
    confidence : float in (0, 1), default=0.95
        Confidence level: nominal coverage of the true mean difference.
    n_resamples : int >= 1, default=9999
        Number of bootstrap samples, and of random permutations.
    random_state : int, RandomState or None, default=None
        Seed of the draws.

    Returns
    -------
    RankingComparison
        ``difference`` (a minus b), ``low``, ``high``, ``p_value``, ``n_queries``.

    Raises
    ------
    ValueError
        When the values belong to different queries, with fewer than two queries, or with a
        parameter that is not allowed.

    References
    ----------
    Smucker2007 (the permutation test).

    Examples
    --------
    >>> from sklearn_rank.metrics import compare_rankings
    >>> found = compare_rankings([0.5, 0.9, 0.4, 0.7], [0.4, 0.7, 0.1, 0.3], random_state=0)
    >>> round(found.difference, 3), found.p_value
    (0.25, 0.125)
    """
    check_resampling("compare_rankings", confidence, n_resamples, random_state)
    a, b = _values(values_a, "values_a"), _values(values_b, "values_b")
    if a.shape != b.shape or not np.array_equal(np.isnan(a), np.isnan(b)):
        raise ValueError(
            "compare_rankings: both rankings need values of the same queries, with NaN for the "
            f"same ones. Got {len(a)} and {len(b)} values, {int(np.isnan(a).sum())} and "
            f"{int(np.isnan(b).sum())} of them NaN."
        )
    a, b = a[~np.isnan(a)], b[~np.isnan(a)]
    is_rounding = np.abs(a - b) <= ROUNDING * np.maximum(np.abs(a), np.abs(b))
    difference = np.where(is_rounding, 0.0, a - b)
    _check_enough(difference)
    rng = check_random_state(random_state)
    low, high = _interval(difference, confidence, n_resamples, rng)
    p_value = _permutation_test(difference, n_resamples, rng)
    return RankingComparison(float(difference.mean()), low, high, p_value, len(difference))


def _permutation_test(difference: Floats, n_resamples: int, rng: Any) -> float:
    """Return the two-sided p-value of the sign-flip test of the mean difference."""
    if not difference.any():
        return 1.0
    found = stats.permutation_test(
        (difference,),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=n_resamples,
        batch=max(1, BATCH_VALUES // len(difference)),
        random_state=rng,
    )
    return float(found.pvalue)


# The AUC -----------------------------------------------------------------------


@dataclass(frozen=True)
class AUCInterval:
    """An AUC with a confidence interval.

    Attributes
    ----------
    auc : float
        Area under the ROC curve.
    low, high : float
        Ends of the interval, between 0 and 1.
    n_queries : int
        Number of queries with a pair; 1 for one list.

    Examples
    --------
    >>> from sklearn_rank.metrics import AUCInterval
    >>> AUCInterval(auc=0.8, low=0.7, high=0.9, n_queries=1).high
    0.9
    """

    auc: float
    low: float
    high: float
    n_queries: int


def auc_interval(
    y_true: Any, y_score: Any, *, qid: Any = None, fold: Any = None, confidence: float = 0.95
) -> AUCInterval:
    r"""Return the AUC with a confidence interval, for rows or whole queries drawn at random.

    .. math:: \widehat{\mathrm{var}} = \sum_r \frac{n_r}{n_r - 1} d_r^2, \qquad
        d_r = \frac{1}{V P_v} \sum_{(i, k) \ni r} (h_{ik} - \mathrm{AUC}_v), \qquad
        h_{ik} = 1[f_i > f_k] + \tfrac12 1[f_i = f_k]

    where the sum of d runs over the pairs that row r belongs to, v is its fold, V the number of
    folds that have a pair, :math:`P_v` the pairs in fold v and :math:`n_r` the rows of fold v
    that are of the class of row r. With one fold this is DeLong's estimator. In a fold with more
    than two relevance levels, where one row may be above some rows and below others,
    :math:`n_r` counts all its rows.

    With queries a whole query is one draw, and the variance is that of the jackknife,

    .. math:: \widehat{\mathrm{var}} = \frac{1}{V^2} \sum_v \frac{n_v - 1}{n_v} \sum_q
        (\mathrm{AUC}_{v,-q} - \mathrm{AUC}_v)^2

    where q runs over the :math:`n_v` queries of fold v that have a pair, and
    :math:`\mathrm{AUC}_{v,-q}` is the AUC of the fold without query q. For queries with equal
    numbers of pairs this is the sum above, with a query for r. A query with many pairs pulls the
    AUC towards its own; leaving it out shows how far.

    The interval is symmetric for the logit of the AUC, so that it stays between 0 and 1. It uses
    quantiles of the normal distribution in one list, and with queries those of the t
    distribution with :math:`\max(1, \sum_v (1 / \sum_q w_q^2 - 1))` degrees of freedom, where
    :math:`w_q` is the share of query q in the pairs of fold v: as many as so many queries with
    equal numbers of pairs have.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance: numbers or booleans, greater is better. Two values or many.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better. Infinite scores are allowed, NaN is not.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; pairs are compared within a query. None means one list, whose
        rows are the draws.
    fold : array-like of shape (n_samples,), default=None
        Fold of a cross-validation in which each row was held out. Scores of different folds come
        from different models and are not compared; the AUC is the mean over folds. A query
        belongs to one fold.
    confidence : float in (0, 1), default=0.95
        Confidence level: nominal coverage of the true AUC.

    Returns
    -------
    AUCInterval
        ``auc``, ``low``, ``high``, ``n_queries``.

    Raises
    ------
    ValueError
        When there is no pair of different relevance; when a fold with pairs has a single row of
        a class or, with `qid`, a single query with a pair, so that its variance can't be
        estimated; when a query lies in several folds; or when a parameter is not allowed.

    Notes
    -----
    The interval is for these models on new rows; it does not include the variation of a model with
    its training rows. With few rows, and near an AUC of 1, it is too narrow. Its width is zero when
    no pair is wrong, and when all rows or queries contribute equally.

    The pairs of a query grow with the square of its rows. Where one query has most of them, the
    AUC is nearly that of this query alone, and the interval is wide.

    References
    ----------
    DeLong1988 (one list). LeDell2015 (folds). Obuchowski1997 (rows that are drawn together).
    EfronStein1981 (the jackknife). BellMcCaffrey2002 (why leaving out corrects for the pull of a
    unit). Kish1965 (the number of equal units).

    Examples
    --------
    >>> from sklearn_rank.metrics import auc_interval
    >>> found = auc_interval([0, 0, 0, 1, 1, 1], [0.1, 0.4, 0.6, 0.35, 0.8, 0.9])
    >>> round(found.auc, 3), found.low < 0.7, found.high < 1
    (0.778, True, True)
    """
    check_parameters("auc_interval", {"confidence": confidence}, {"confidence": CONFIDENCE})
    found = auc_influence(y_true, y_score, qid, fold, "y_score")
    auc, error = found.value, found.standard_error()
    low = high = auc
    # The logit has no value at 0 and 1, where no pair says how wide the interval should be.
    if error > 0 and 0 < auc < 1:
        scaled = error / (auc * (1 - auc))
        ends = around(special.logit(auc), scaled, found.distribution(), confidence)[:2]
        low, high = map(float, special.expit(ends))
    return AUCInterval(auc, low, high, _n_queries(found))


def compare_auc(
    y_true: Any,
    y_score_a: Any,
    y_score_b: Any,
    *,
    qid: Any = None,
    fold: Any = None,
    confidence: float = 0.95,
) -> RankingComparison:
    r"""Compare the AUCs of two rankings of the same rows.

    .. math:: \widehat{\mathrm{var}} = \sum_r \frac{n_r}{n_r - 1} (d_r^a - d_r^b)^2

    with d and n as in `auc_interval`: errors that both rankings share cancel. With queries it is
    the jackknife's, of the difference. Interval and p-value come from the normal distribution or,
    with queries, from the t distribution, as there.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance: numbers or booleans, greater is better. Two values or many.
    y_score_a, y_score_b : array-like of shape (n_samples,)
        Scores of the two rankings, greater is better.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; pairs are compared within a query. None means one list, whose
        rows are the draws.
    fold : array-like of shape (n_samples,), default=None
        Fold of a cross-validation in which each row was held out. Scores of different folds come
        from different models and are not compared; the AUC is the mean over folds. A query
        belongs to one fold.
    confidence : float in (0, 1), default=0.95
        Confidence level: nominal coverage of the true difference.

    Returns
    -------
    RankingComparison
        ``difference`` (a minus b), ``low``, ``high``, ``p_value``, and ``n_queries``, 1 for one
        list. When the AUCs differ but all rows or queries contribute equally, the variance can't
        be estimated: ``low``, ``high`` and ``p_value`` are NaN.

    Raises
    ------
    ValueError
        When there is no pair of different relevance; when a fold with pairs has a single row of
        a class or, with `qid`, a single query with a pair; when a query lies in several folds;
        or when a parameter is not allowed.

    References
    ----------
    DeLong1988 (one list: its test). EfronStein1981 and LeDell2015 (queries and folds).

    Examples
    --------
    >>> from sklearn_rank.metrics import compare_auc
    >>> found = compare_auc([0, 0, 1, 1, 1], [1, 3, 2, 4, 5], [3, 1, 5, 2, 4])
    >>> round(found.difference, 3), found.p_value > 0.05
    (0.0, True)
    """
    check_parameters("compare_auc", {"confidence": confidence}, {"confidence": CONFIDENCE})
    both = auc_influence(y_true, y_score_a, qid, fold, "y_score_a") - auc_influence(
        y_true, y_score_b, qid, fold, "y_score_b"
    )
    difference = both.value if abs(both.value) > ROUNDING else 0.0
    ends = around(difference, both.standard_error(), both.distribution(), confidence)
    return RankingComparison(difference, *ends, _n_queries(both))


def _n_queries(found: Influence) -> int:
    """Return the number of queries with a pair; 1 for one list."""
    return 1 if found.freedom is None else int(np.sum(found.stratum >= 0))


# The share found at a false positive rate --------------------------------------


def tpr_at_fpr_interval(
    y_true: Any,
    y_score: Any,
    *,
    max_fpr: float = 0.05,
    qid: Any = None,
    fold: Any = None,
    confidence: float = 0.95,
    n_resamples: int = 999,
    random_state: Any = None,
) -> BootstrapInterval:
    """Return `tpr_at_fpr_score` with a bootstrap interval.

    In one list the rows of each class and fold are drawn with replacement; the interval lies
    between two quantiles of the resampled shares. With queries whole queries are drawn, as in
    `bootstrap_interval`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance: rows above 0 are relevant.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better.
    max_fpr : float in (0, 1], default=0.05
        False positive rate: the share of the other rows that may stand above.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    fold : array-like of shape (n_samples,), default=None
        Fold of a cross-validation in which each row was held out. Scores of different folds come
        from different models and are not compared; the share is the mean over the folds that hold
        both classes. Not needed with `qid`: a query belongs to one fold.
    confidence : float in (0, 1), default=0.95
        Confidence level: nominal coverage of the true share.
    n_resamples : int >= 1, default=999
        Number of bootstrap samples.
    random_state : int, RandomState or None, default=None
        Seed of the draws.

    Returns
    -------
    BootstrapInterval
        ``mean`` (the share), ``low``, ``high``, and ``n_queries``, 1 for one list.

    Raises
    ------
    ValueError
        When no fold holds both classes, with fewer than two queries that do, when a query lies in
        several folds, or when a parameter is not allowed.

    See Also
    --------
    compare_tpr_at_fpr : Interval of the difference of two rankings.

    Notes
    -----
    The interval is for this model on new rows; it does not include the variation of a model with
    its training rows. With few relevant rows, and near a share of 1, it is too narrow: no sample
    misses a row where none is missed, so that its width is zero.

    Time: a sort, and for each bootstrap sample a draw of the relevant rows and of the others near
    the top.

    References
    ----------
    Efron1993 (percentile intervals).

    Examples
    --------
    >>> from sklearn_rank.metrics import tpr_at_fpr_interval
    >>> y_true, y_score = [0, 1, 0, 1, 0, 1, 0, 1], [1, 8, 2, 7, 6, 5, 3, 4]
    >>> found = tpr_at_fpr_interval(y_true, y_score, max_fpr=0.25, random_state=0)
    >>> found.mean, found.low <= 1.0 <= found.high
    (1.0, True)
    """
    owner = "tpr_at_fpr_interval"
    check_parameters(owner, {"max_fpr": max_fpr}, {"max_fpr": MAX_FPR})
    settings = check_resampling(owner, confidence, n_resamples, random_state)
    if qid is not None:
        values = _in_queries(y_true, {"y_score": y_score}, qid, fold, max_fpr)
        return bootstrap_interval(*values, **settings)
    shares, resampled = _shares(y_true, {"y_score": y_score}, fold, max_fpr, settings)
    return BootstrapInterval(float(shares[0]), *quantiles(resampled[0], confidence), 1)


def compare_tpr_at_fpr(
    y_true: Any,
    y_score_a: Any,
    y_score_b: Any,
    *,
    max_fpr: float = 0.05,
    qid: Any = None,
    fold: Any = None,
    confidence: float = 0.95,
    n_resamples: int = 999,
    random_state: Any = None,
) -> RankingComparison:
    r"""Compare the shares of relevant rows that two rankings find at a false positive rate.

    The rankings are measured on the same bootstrap samples, drawn as in `tpr_at_fpr_interval`, so
    that what both share cancels. The p-value in one list is

    .. math:: p = \min\Bigl(1, \frac{2}{B + 1} \bigl(1 + \min(\#\{b : d_b \le 0\},
        \#\{b : d_b \ge 0\})\bigr)\Bigr)

    for the differences :math:`d_b` in B bootstrap samples: the smallest error rate at which the
    percentile interval leaves out 0. With queries it is that of `compare_rankings`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance: rows above 0 are relevant.
    y_score_a, y_score_b : array-like of shape (n_samples,)
        Scores of the two rankings, greater is better.
    max_fpr : float in (0, 1], default=0.05
        False positive rate: the share of the other rows that may stand above.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    fold : array-like of shape (n_samples,), default=None
        Fold of a cross-validation in which each row was held out. Scores of different folds come
        from different models and are not compared; the share is the mean over the folds that hold
        both classes. Not needed with `qid`: a query belongs to one fold.
    confidence : float in (0, 1), default=0.95
        Confidence level: nominal coverage of the true difference.
    n_resamples : int >= 1, default=999
        Number of bootstrap samples.
    random_state : int, RandomState or None, default=None
        Seed of the draws.

    Returns
    -------
    RankingComparison
        ``difference`` (a minus b), ``low``, ``high``, ``p_value``, and ``n_queries``, 1 for one
        list.

    Raises
    ------
    ValueError
        When no fold holds both classes, with fewer than two queries that do, when a query lies in
        several folds, or when a parameter is not allowed.

    References
    ----------
    Efron1993 (percentile intervals).

    Examples
    --------
    >>> from sklearn_rank.metrics import compare_tpr_at_fpr
    >>> y_true, y_score = [0, 1, 0, 1, 0, 1, 0, 1], [1, 8, 2, 7, 6, 5, 3, 4]
    >>> compare_tpr_at_fpr(y_true, y_score, y_score, random_state=0).difference
    0.0
    """
    owner = "compare_tpr_at_fpr"
    check_parameters(owner, {"max_fpr": max_fpr}, {"max_fpr": MAX_FPR})
    settings = check_resampling(owner, confidence, n_resamples, random_state)
    scores = {"y_score_a": y_score_a, "y_score_b": y_score_b}
    if qid is not None:
        return compare_rankings(*_in_queries(y_true, scores, qid, fold, max_fpr), **settings)
    shares, resampled = _shares(y_true, scores, fold, max_fpr, settings)
    difference = resampled[0] - resampled[1]
    fewer = min((difference <= ROUNDING).sum(), (difference >= -ROUNDING).sum())
    p_value = min(1.0, 2 * (1 + int(fewer)) / (len(difference) + 1))
    ends = quantiles(difference, confidence)
    return RankingComparison(float(shares[0] - shares[1]), *ends, p_value, 1)


def _in_queries(y_true: Any, scores: dict[str, Any], qid: Any, fold: Any, max_fpr: float) -> Any:
    """Return the shares of rankings in each query."""
    if fold is not None:
        folds, query = (check_qid(one, len(y_true), n) for n, one in (("fold", fold), ("qid", qid)))
        fold_of_queries(folds, query)
    return [
        tpr_at_fpr_score(y_true, score, max_fpr=max_fpr, qid=qid, average=None)
        for score in scores.values()
    ]


def _shares(
    y_true: Any, scores: dict[str, Any], fold: Any, max_fpr: float, settings: dict[str, Any]
) -> tuple[Floats, Floats]:
    """Return the shares of rankings, and those in each bootstrap sample, a row for a ranking."""
    checked = [ScoredRows.with_relevance(y_true, s, None, name=n) for n, s in scores.items()]
    y, score = checked[0].y, np.stack([rows.score for rows in checked])
    folds = 0 * checked[0].query if fold is None else check_qid(fold, len(y), "fold")
    parts = list(with_both_classes(y > 0, folds))
    if not parts:
        raise ValueError("No fold holds both relevant and other rows: there is no share to find.")
    rng, n_resamples = check_random_state(settings["random_state"]), settings["n_resamples"]
    resampled = [
        _resample(score[:, part], y[part] > 0, max_fpr, n_resamples, rng) for part in parts
    ]
    shares = [tpr_at_fpr_score(y, one, max_fpr=max_fpr, qid=folds) for one in score]
    return np.array(shares), np.mean(resampled, axis=0)


def _resample(
    score: Floats, is_relevant: Mask, max_fpr: float, n_resamples: int, rng: Any
) -> Floats:
    """Return the shares of rankings of one list in each bootstrap sample."""
    n_found, n_other = int(is_relevant.sum()), int((~is_relevant).sum())
    limit = max_fpr * n_other
    found, other = score[:, is_relevant], score[:, ~is_relevant]
    other = other[:, _near_the_top(other, limit)]
    n_head = other.shape[1]
    rankings = np.hstack([found, other])
    shares = np.empty((len(score), n_resamples))
    for batch in batches(n_resamples, rankings.shape[1], _CACHED_VALUES):
        size = batch.stop - batch.start
        # How many of all draws fall into the head; the others lie beyond the limit.
        n_drawn = rng.binomial(n_other, n_head / n_other, size)
        of_other = draw_counts(n_head, n_drawn, rng)
        counts = np.hstack([draw_counts(n_found, np.full(size, n_found), rng), of_other])
        for share, ranking in zip(shares, rankings, strict=True):
            share[batch] = _heights(ranking, n_found, counts, limit)
    return shares


def _near_the_top(other: Floats, limit: float) -> Mask:
    """Return a mask of the columns that are near the top of any of the rankings."""
    n_other = other.shape[1]
    n_head = int(limit + _HEAD_DEVIATIONS * (np.sqrt(limit) + 1)) + 1
    if 2 * n_head >= n_other:
        return np.ones(n_other, dtype=bool)
    lowest = np.partition(other, n_other - n_head, axis=1)[:, [n_other - n_head]]
    return np.asarray((other >= lowest).any(axis=0))


def _heights(score: Floats, n_found: int, counts: Indices, limit: float) -> Floats:
    """Return the height of the ROC curve in each sample, before `limit` other rows.

    The first `n_found` rows are relevant; counts say how often each row is drawn in a sample.
    """
    order = np.argsort(-score)
    start = np.flatnonzero(np.append(True, score[order][1:] != score[order][:-1]))
    drawn = counts[:, order]
    found = np.add.reduceat(drawn * (order < n_found), start, axis=1)
    other = np.add.reduceat(drawn, start, axis=1) - found
    part = part_before(limit - (np.cumsum(other, axis=1) - other), other, limit)
    return np.asarray((found * part).sum(axis=1) / n_found)
