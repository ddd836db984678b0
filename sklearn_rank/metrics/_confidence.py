"""Confidence intervals of metrics, and of the difference of two rankings."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import special, stats
from sklearn.utils import check_random_state

from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.tolerances import METRIC_ROUNDING
from sklearn_rank._core.validation import check_floats, check_parameters, check_qid
from sklearn_rank.metrics._partial_auc import MAX_FPR, tpr_at_fpr_score
from sklearn_rank.metrics.intervals import (
    BATCH_VALUES,
    CONFIDENCE,
    Influence,
    MetricInterval,
    RankingComparison,
    around,
    auc_influence,
    check_resampling,
    curve_influence,
    fold_of_queries,
    with_both_classes,
)
from sklearn_rank.metrics.scored_rows import ScoredRows

MANY_VALUES = 5_000
"""Up to this number of values the interval is BCa. For a skewness of 2 the correction then moves
an end by a (2 + z^2) = 0.028 standard errors, with the acceleration a = 2 / (6 sqrt(n)): the Monte
Carlo error of 9,999 resamples. Its time is quadratic in the number of values."""

_ENOUGH = 100
"""Least number of samples for BCa: fewer may all lie on one side of the mean, where it fails."""


# Means over queries ------------------------------------------------------------


def _check_finite(values: Any, name: str) -> Floats:
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
) -> MetricInterval:
    """Bootstrap the mean of a metric over queries.

    Queries are drawn with replacement. The interval is bias-corrected and accelerated (BCa), or the
    percentile interval in two cases: with more than 5,000 values, where the corrections take
    quadratic time and are no larger than the Monte Carlo error, and with fewer than 100 samples,
    which are too few to estimate them.

    Parameters
    ----------
    values : array-like of shape (n_queries,)
        One value per query, as metrics return with ``average=None``; NaN for skipped queries.
    confidence : float in (0, 1), default=0.95
        Confidence level.
    n_resamples : int >= 1, default=9999
        Number of bootstrap samples.
    random_state : int, RandomState or None, default=None
        Random seed.

    Returns
    -------
    MetricInterval
        ``mean``, ``low``, ``high``, ``n_queries``.

    Raises
    ------
    ValueError
        With fewer than two values, or an invalid parameter.

    Notes
    -----
    With few values, the interval is too narrow, especially if some are far from the others. If all
    values are equal, its width is zero, although new queries may differ.

    References
    ----------
    Efron1993 (both intervals).

    Examples
    --------
    >>> from sklearn_rank.metrics import bootstrap_interval
    >>> interval = bootstrap_interval([0.2, 0.9, 0.4, 0.7, 0.8], random_state=0)
    >>> interval.mean, interval.low < 0.6 < interval.high
    (0.6, True)
    """
    check_resampling("bootstrap_interval", confidence, n_resamples, random_state)
    values = _check_finite(values, "values")
    values = values[~np.isnan(values)]
    _check_enough(values)
    settings = _settings(values, n_resamples, check_random_state(random_state))
    low, high = _bootstrap(values, confidence, settings)
    return MetricInterval(float(values.mean()), low, high, len(values))


def _settings(values: Floats, n_resamples: int, rng: np.random.RandomState) -> dict[str, Any]:
    """Return the common settings for resampling in SciPy."""
    batch = max(1, BATCH_VALUES // len(values))
    return {"n_resamples": n_resamples, "batch": batch, "random_state": rng}


def _bootstrap(values: Floats, confidence: float, settings: dict[str, Any]) -> tuple[float, float]:
    """Return the ends of the interval; both are the mean when all values are equal."""
    if np.ptp(values) <= METRIC_ROUNDING * np.abs(values).max():
        return float(values.mean()), float(values.mean())
    use_bca = settings["n_resamples"] >= _ENOUGH and len(values) <= MANY_VALUES
    options = {"confidence_level": confidence, "method": "BCa" if use_bca else "percentile"}
    interval = stats.bootstrap((values,), np.mean, **options, **settings).confidence_interval
    return float(interval.low), float(interval.high)


def compare_rankings(
    values_a: Any,
    values_b: Any,
    *,
    confidence: float = 0.95,
    n_resamples: int = 9999,
    random_state: Any = None,
) -> RankingComparison:
    """Compare two rankings of the same queries by their paired differences.

    The interval of the mean difference is that of `bootstrap_interval`. The p-value comes from the
    permutation test that exchanges the two values of a query: exact up to `n_resamples`
    permutations, otherwise with random ones. Values with a relative difference of at most 1e-12
    count as equal.

    Parameters
    ----------
    values_a, values_b : array-like of shape (n_queries,)
        One value per query, in the same order, as metrics return with ``average=None``; NaN in both
        for skipped queries.
    confidence : float in (0, 1), default=0.95
        Confidence level.
    n_resamples : int >= 1, default=9999
        Number of bootstrap samples, and of random permutations.
    random_state : int, RandomState or None, default=None
        Random seed.

    Returns
    -------
    RankingComparison
        ``difference`` (a minus b), ``low``, ``high``, ``p_value``, ``n_queries``.

    Raises
    ------
    ValueError
        If the values belong to different queries, with fewer than two queries, or with a
        parameter that is not allowed.

    References
    ----------
    Smucker2007 (the permutation test).

    Examples
    --------
    >>> from sklearn_rank.metrics import compare_rankings
    >>> result = compare_rankings([0.5, 0.9, 0.4, 0.7], [0.4, 0.7, 0.1, 0.3], random_state=0)
    >>> round(result.difference, 3), result.p_value
    (0.25, 0.125)
    """
    check_resampling("compare_rankings", confidence, n_resamples, random_state)
    a, b = _check_finite(values_a, "values_a"), _check_finite(values_b, "values_b")
    if a.shape != b.shape or not np.array_equal(np.isnan(a), np.isnan(b)):
        raise ValueError(
            "compare_rankings: both rankings need values of the same queries, with NaN for the "
            f"same ones. Got {len(a)} and {len(b)} values, {int(np.isnan(a).sum())} and "
            f"{int(np.isnan(b).sum())} of them NaN."
        )
    a, b = a[~np.isnan(a)], b[~np.isnan(a)]
    # Equal values of two rankings may differ by rounding, which the test must not count.
    is_rounding = np.abs(a - b) <= METRIC_ROUNDING * np.maximum(np.abs(a), np.abs(b))
    difference = np.where(is_rounding, 0.0, a - b)
    _check_enough(difference)
    settings = _settings(difference, n_resamples, check_random_state(random_state))
    low, high = _bootstrap(difference, confidence, settings)
    p_value = 1.0
    if difference.any():  # the test flips the sign of each difference
        options: dict[str, Any] = {"permutation_type": "samples", "vectorized": True, **settings}
        p_value = float(stats.permutation_test((difference,), np.mean, **options).pvalue)
    return RankingComparison(float(difference.mean()), low, high, p_value, len(difference))


# The AUC -----------------------------------------------------------------------


def auc_interval(
    y_true: Any, y_score: Any, *, qid: Any = None, fold: Any = None, confidence: float = 0.95
) -> MetricInterval:
    r"""Return the AUC with a confidence interval, for rows or whole queries drawn at random.

    .. math:: \widehat{\mathrm{var}} = \sum_r \frac{n_r}{n_r - 1} d_r^2, \qquad
        d_r = \frac{1}{V P_v} \sum_{(i, k) \ni r} (h_{ik} - \mathrm{AUC}_v), \qquad
        h_{ik} = 1[f_i > f_k] + \tfrac12 1[f_i = f_k]

    where the sum of d runs over the pairs that row r belongs to, v is its fold, V the number of
    folds that have a pair, :math:`P_v` the pairs in fold v and :math:`n_r` the rows of fold v
    that are of the class of row r. With one fold this is DeLong's estimator. In a fold with more
    than two relevance levels, where one row may be above some rows and below others,
    :math:`n_r` counts all its rows.

    With queries, a whole query is one draw, and the variance is the jackknife variance,

    .. math:: \widehat{\mathrm{var}} = \frac{1}{V^2} \sum_v \frac{n_v - 1}{n_v} \sum_q
        (\mathrm{AUC}_{v,-q} - \mathrm{AUC}_v)^2

    where q runs over the :math:`n_v` queries of fold v that have a pair, and
    :math:`\mathrm{AUC}_{v,-q}` is the AUC of the fold without query q. For queries with equal
    numbers of pairs this is the sum above, with a query for r. A query with many pairs pulls the
    AUC towards its own AUC; leaving it out shows how far.

    The interval is symmetric on the logit scale, so it stays between 0 and 1. In one list it uses
    quantiles of the normal distribution, and with queries those of the t distribution with
    :math:`\max(1, \sum_v (1 / \sum_q w_q^2 - 1))` degrees of freedom, where :math:`w_q` is the
    share of query q in the pairs of fold v: an effective number of queries with equal numbers of
    pairs.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance: numbers or booleans, greater is better. Two values or many.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better. Infinite scores are allowed, NaN is not.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; pairs are compared within a query. None means one list, from which rows
        are drawn.
    fold : array-like of shape (n_samples,), default=None
        Fold of a cross-validation in which each row was held out. Scores of different folds come
        from different models and are not compared; the AUC is the mean over folds. A query
        belongs to one fold.
    confidence : float in (0, 1), default=0.95
        Confidence level.

    Returns
    -------
    MetricInterval
        ``mean`` (the AUC), ``low``, ``high``, ``n_queries``.

    Raises
    ------
    ValueError
        If there is no pair of different relevance; if a fold with pairs has a single row of a
        class or, with `qid`, a single query with a pair, so that its variance cannot be estimated;
        if a query lies in several folds; or if a parameter is invalid.

    Notes
    -----
    The interval is for these models on new rows; it does not include the variation of models with
    their training rows. With few rows or an AUC near 1, it is too narrow. Its width is zero if no
    pair is wrong or all rows or queries contribute equally.

    The number of pairs in a query grows with the square of its rows. If one query has most of the
    pairs, the AUC is nearly that of this query, and the interval is wide.

    References
    ----------
    DeLong1988 (one list). LeDell2015 (folds). Obuchowski1997 (rows that are drawn together).
    EfronStein1981 (the jackknife). BellMcCaffrey2002 (why leaving out corrects for the leverage of
    a unit). Kish1965 (the effective number of units).

    Examples
    --------
    >>> from sklearn_rank.metrics import auc_interval
    >>> interval = auc_interval([0, 0, 0, 1, 1, 1], [0.1, 0.4, 0.6, 0.35, 0.8, 0.9])
    >>> round(interval.mean, 3), interval.low < 0.7, interval.high < 1
    (0.778, True, True)
    """
    check_parameters("auc_interval", {"confidence": confidence}, {"confidence": CONFIDENCE})
    auc = auc_influence(y_true, y_score, qid, fold, "y_score")
    return interval_within_unit(auc, confidence)


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

    with d and n as in `auc_interval`: errors that both rankings share cancel. With queries, it is
    the jackknife variance of the difference. Interval and p-value come from the normal distribution
    or, with queries, from the t distribution of `auc_interval`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance: numbers or booleans, greater is better. Two values or many.
    y_score_a, y_score_b : array-like of shape (n_samples,)
        Scores of the two rankings, greater is better.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; pairs are compared within a query. None means one list, from which rows
        are drawn.
    fold : array-like of shape (n_samples,), default=None
        Fold of a cross-validation in which each row was held out. Scores of different folds come
        from different models and are not compared; the AUC is the mean over folds. A query
        belongs to one fold.
    confidence : float in (0, 1), default=0.95
        Confidence level.

    Returns
    -------
    RankingComparison
        ``difference`` (a minus b), ``low``, ``high``, ``p_value``, and ``n_queries``, 1 for one
        list. When the AUCs differ but all rows or queries contribute equally, the variance can't
        be estimated: ``low``, ``high`` and ``p_value`` are NaN.

    Raises
    ------
    ValueError
        If there is no pair of different relevance; if a fold with pairs has a single row of
        a class or, with `qid`, a single query with a pair; if a query lies in several folds;
        or if a parameter is invalid.

    References
    ----------
    DeLong1988 (one list: its test). EfronStein1981 and LeDell2015 (queries and folds).

    Examples
    --------
    >>> from sklearn_rank.metrics import compare_auc
    >>> result = compare_auc([0, 0, 1, 1, 1], [1, 3, 2, 4, 5], [3, 1, 5, 2, 4])
    >>> round(result.difference, 3), result.p_value > 0.05
    (0.0, True)
    """
    check_parameters("compare_auc", {"confidence": confidence}, {"confidence": CONFIDENCE})
    a = auc_influence(y_true, y_score_a, qid, fold, "y_score_a")
    b = auc_influence(y_true, y_score_b, qid, fold, "y_score_b")
    return comparison(a - b, confidence)


def interval_within_unit(estimate: Influence, confidence: float = 0.95) -> MetricInterval:
    """Return an estimate between 0 and 1 with its interval, symmetric for the logit."""
    value, error = estimate.value, estimate.standard_error()
    low = high = value
    # At 0 and 1 the logit is infinite, and no row contributes to the variance.
    if error > 0 and 0 < value < 1:
        logit_error = error / (value * (1 - value))  # delta method
        limits = around(special.logit(value), logit_error, estimate.distribution(), confidence)[:2]
        low, high = map(float, special.expit(limits))
    return MetricInterval(value, low, high, estimate.n_queries)


def comparison(estimate: Influence, confidence: float = 0.95) -> RankingComparison:
    """Return an estimated difference with its interval and p-value."""
    difference = estimate.value if abs(estimate.value) > METRIC_ROUNDING else 0.0
    limits = around(difference, estimate.standard_error(), estimate.distribution(), confidence)
    return RankingComparison(difference, *limits, estimate.n_queries)


# The true positive rate at a false positive rate --------------------------------


def tpr_at_fpr_interval(
    y_true: Any,
    y_score: Any,
    *,
    max_fpr: float = 0.05,
    qid: Any = None,
    fold: Any = None,
    confidence: float = 0.95,
) -> MetricInterval:
    r"""Return `tpr_at_fpr_score` with a confidence interval.

    The variance is that of `auc_interval`, with the influence of each row for d. For a relevant
    row, the influence is whether it is found; other rows move the threshold, by the slope of the
    ROC curve between 0.5 and 1.5 times `max_fpr`. With queries, a whole query is one draw, and the
    interval is that of the mean over queries, from the t distribution. It is symmetric on the logit
    scale.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance: rows above 0 are relevant.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better.
    max_fpr : float in (0, 1], default=0.05
        False positive rate: the share of the other rows that may rank above.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    fold : array-like of shape (n_samples,), default=None
        Fold of a cross-validation in which each row was held out. Scores of different folds come
        from different models and are not compared; the share is the mean over the folds that hold
        both classes. Not needed with `qid`: a query belongs to one fold.
    confidence : float in (0, 1), default=0.95
        Confidence level.

    Returns
    -------
    MetricInterval
        ``mean`` (the share), ``low``, ``high``, and ``n_queries``, 1 for one list.

    Raises
    ------
    ValueError
        If no fold holds both classes, if a fold holds a single row of one, with fewer than two
        queries that hold both, if a query lies in several folds, or if a parameter is not
        allowed.

    See Also
    --------
    compare_tpr_at_fpr : Interval of the difference of two rankings.

    Notes
    -----
    The interval is for this model on new rows; it does not include the variation of a model with
    its training rows. With few relevant rows or a share near 1, it is too narrow; at 0 and 1 its
    width is zero.

    References
    ----------
    HsiehTurnbull1996 (the variance of a point of the ROC curve).

    Examples
    --------
    >>> from sklearn_rank.metrics import tpr_at_fpr_interval
    >>> y_true, y_score = [0, 1, 0, 1, 0, 1, 0, 1], [1, 8, 2, 7, 6, 5, 3, 4]
    >>> interval = tpr_at_fpr_interval(y_true, y_score, max_fpr=0.2)
    >>> interval.low < interval.mean < interval.high
    True
    """
    settings = max_fpr, qid, fold, confidence
    tpr = _tpr_influence("tpr_at_fpr_interval", y_true, y_score, *settings)
    return interval_within_unit(tpr, confidence)


def compare_tpr_at_fpr(
    y_true: Any,
    y_score_a: Any,
    y_score_b: Any,
    *,
    max_fpr: float = 0.05,
    qid: Any = None,
    fold: Any = None,
    confidence: float = 0.95,
) -> RankingComparison:
    r"""Compare the shares of relevant rows that two rankings find at a false positive rate.

    The variance uses the difference of the influences of each row, so errors that both rankings
    share cancel. The p-value comes from the difference divided by its standard error, as in
    `compare_auc`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance: rows above 0 are relevant.
    y_score_a, y_score_b : array-like of shape (n_samples,)
        Scores of the two rankings, greater is better.
    max_fpr : float in (0, 1], default=0.05
        False positive rate: the share of the other rows that may rank above.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    fold : array-like of shape (n_samples,), default=None
        Fold of a cross-validation in which each row was held out; each is one list.
    confidence : float in (0, 1), default=0.95
        Confidence level.

    Returns
    -------
    RankingComparison
        ``difference`` (a minus b), ``low``, ``high``, ``p_value``, and ``n_queries``, 1 for one
        list.

    Raises
    ------
    ValueError
        As `tpr_at_fpr_interval`.

    Examples
    --------
    >>> from sklearn_rank.metrics import compare_tpr_at_fpr
    >>> y_true, y_score = [0, 1, 0, 1, 0, 1, 0, 1], [1, 8, 2, 7, 6, 5, 3, 4]
    >>> compare_tpr_at_fpr(y_true, y_score, y_score).difference
    0.0
    """
    owner, settings = "compare_tpr_at_fpr", (max_fpr, qid, fold, confidence)
    a = _tpr_influence(owner, y_true, y_score_a, *settings, "y_score_a")
    b = _tpr_influence(owner, y_true, y_score_b, *settings, "y_score_b")
    return comparison(a - b, confidence)


def _tpr_influence(
    owner: str,
    y_true: Any,
    y_score: Any,
    max_fpr: Any,
    qid: Any,
    fold: Any,
    confidence: Any,
    name: str = "y_score",
) -> Influence:
    """Return the true positive rate with the influence of each row or query."""
    settings = {"max_fpr": max_fpr, "confidence": confidence}
    check_parameters(owner, settings, {"max_fpr": MAX_FPR, "confidence": CONFIDENCE})
    rows = ScoredRows.with_relevance(y_true, y_score, qid, name=name)
    folds = 0 * rows.query if fold is None else check_qid(fold, len(rows.score), "fold")
    tpr: Any = partial(tpr_at_fpr_score, rows.y, rows.score, max_fpr=max_fpr)
    if qid is not None:
        fold_of_queries(folds, rows.query)  # raises an error where a query is in several folds
        values = np.asarray(tpr(qid=rows.query, average=None))
        has_value = ~np.isnan(values)
        n_queries = has_value.sum()
        _check_enough(values[has_value])
        mean = float(values[has_value].mean())
        of_queries = np.where(has_value, values - mean, 0.0) / n_queries
        return Influence(mean, of_queries, np.where(has_value, 0, -1), float(n_queries - 1))
    is_relevant, stratum = rows.y > 0, np.full(len(folds), -1)
    for fold_rows in with_both_classes(is_relevant, folds):
        stratum[fold_rows] = 2 * folds[fold_rows] + is_relevant[fold_rows]
    if (stratum < 0).all():
        raise ValueError("No fold holds both relevant and irrelevant rows: the rate is undefined.")
    of_rows = curve_influence("tpr", max_fpr, is_relevant, rows.score, folds)
    return Influence(float(tpr(qid=folds)), of_rows, stratum)
