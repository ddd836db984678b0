"""Confidence intervals of the AUC, and of the difference of two AUCs, without resampling."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special, stats

from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank._core.validation import check_parameters, check_qid
from sklearn_rank.metrics._comparison import RankingComparison
from sklearn_rank.metrics.intervals import CONFIDENCE
from sklearn_rank.metrics.pair_counts import count_pairs
from sklearn_rank.metrics.scored_rows import ScoredRows

_TWO_QUERIES = "queries with rows of different relevance are needed, in every fold that has one"
_TWO_ROWS = "rows of each class are needed, in every fold that has both"
_ROUNDING = 1e-12
"""Standard errors up to this are taken as zero."""


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


@dataclass(frozen=True, eq=False)
class _Units:
    """The AUC and its error: a term for each independent draw (a row or a query).

    Attributes
    ----------
    auc : float
        The estimate.
    deviation : ndarray of shape (n_rows,) or (n_queries,)
        Contribution of each row or query to the error of the estimate, scaled so that the
        sum of squares is the estimated variance.
    n_queries : int
        Number of queries with a pair; 1 for one list.
    freedom : float or None
        Degrees of freedom of that sum over queries; None for one list.
    """

    auc: float
    deviation: Floats
    n_queries: int
    freedom: float | None

    def standard_error(self) -> float:
        error = float(np.sqrt(self.deviation @ self.deviation))
        return error if error > _ROUNDING else 0.0

    def distribution(self) -> Any:
        """Return the distribution of the error divided by its standard error."""
        return stats.norm() if self.freedom is None else stats.t(self.freedom)


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
    units = _units(y_true, y_score, qid, fold)
    error = units.standard_error()
    # The logit has no value at 0 and 1, where no pair says how wide the interval should be.
    if error == 0 or not 0 < units.auc < 1:
        return AUCInterval(units.auc, units.auc, units.auc, units.n_queries)
    half_width = _half_width(units, confidence) / (units.auc * (1 - units.auc))
    low, high = special.expit(special.logit(units.auc) + np.array([-half_width, half_width]))
    return AUCInterval(units.auc, float(low), float(high), units.n_queries)


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
    a = _units(y_true, y_score_a, qid, fold, "y_score_a")
    b = _units(y_true, y_score_b, qid, fold, "y_score_b")
    both = replace(a, auc=a.auc - b.auc, deviation=a.deviation - b.deviation)
    error = both.standard_error()
    if abs(both.auc) <= _ROUNDING:
        difference, p_value = 0.0, 1.0
    else:
        ratio = abs(both.auc) / error if error > 0 else np.nan
        difference, p_value = both.auc, 2 * float(both.distribution().sf(ratio))
    half_width = np.nan if np.isnan(p_value) else _half_width(both, confidence)
    return RankingComparison(
        difference, difference - half_width, difference + half_width, p_value, a.n_queries
    )


def _half_width(units: _Units, confidence: float) -> float:
    """Return half the width of an interval that is symmetric around the estimate."""
    return units.standard_error() * float(units.distribution().ppf((1 + confidence) / 2))


def _units(y_true: Any, y_score: Any, qid: Any, fold: Any, name: str = "y_score") -> _Units:
    """Return the terms of the AUC, over rows, or over queries if there are any."""
    rows = ScoredRows.with_relevance(y_true, y_score, qid, name=name)
    folds = 0 * rows.query if fold is None else check_qid(fold, len(rows.score), "fold")
    if rows.qid is not None:
        auc, _, deviation, drawn, freedom = _without_each_query(rows, folds)
        return _Units(auc, _unbiased(deviation, drawn, _TWO_QUERIES), len(drawn), freedom)
    auc, deviation, is_above, is_below, has_auc = _linearised(rows, folds)
    # A fold without a pair has no AUC, and its rows have no part in the mean.
    # A graded fold, where a row may be above some rows and below others, counts as one class.
    is_graded = np.bincount(folds, is_above & is_below)[folds] > 0
    drawn = (2 * folds + (is_below & ~is_graded))[has_auc]
    return _Units(auc, _unbiased(deviation[has_auc], drawn, _TWO_ROWS), 1, None)


def auc_deviations(y: Any, score: Any, qid: Indices | None, folds: Indices) -> tuple[float, Floats]:
    """Return the mean AUC of the folds, and its derivatives by the weights of rows.

    With queries the latter are what `_without_each_query` says of each, zero without a pair.
    """
    rows = ScoredRows.with_relevance(y, score, qid, name="scores")
    if qid is None:
        return _linearised(rows, folds)[:2]
    auc, number, deviation, *_ = _without_each_query(rows, folds)
    return auc, np.bincount(number, deviation, rows.n_queries).astype(np.float64)


def _without_each_query(
    rows: ScoredRows, folds: Indices
) -> tuple[float, Indices, Floats, Indices, float]:
    """Return the AUC, and of each query with a pair its number, what it adds to the AUC, its fold.

    That is (n - 1) / n of the difference to the AUC without the query: of queries with as many
    pairs as the others the derivative by their weight, but a query with most of the pairs can't
    hide that the others differ from it. At the end come the degrees of freedom.
    """
    below = count_pairs(rows)
    below.require_pairs()
    pairs = np.bincount(rows.query, below.total)
    wrong = np.bincount(rows.query, below.lower + below.tied / 2)
    number = np.flatnonzero(pairs)
    pairs, wrong, fold = pairs[number], wrong[number], fold_of_queries(folds, rows.query)[number]
    fold = np.unique(fold, return_inverse=True)[1].ravel()
    n, all_pairs, all_wrong = (np.bincount(fold, one) for one in (None, pairs, wrong))
    error = all_wrong / all_pairs
    # A fold's only query leaves no pair, and n - 1 = 0.
    without = (all_wrong[fold] - wrong) / np.maximum(all_pairs[fold] - pairs, 1)
    deviation = (1 - 1 / n[fold]) * (without - error[fold]) / len(n)
    n_equal = 1 / np.bincount(fold, (pairs / all_pairs[fold]) ** 2)
    return 1 - float(error.mean()), number, deviation, fold, max(1.0, float((n_equal - 1).sum()))


def _linearised(rows: ScoredRows, folds: Indices) -> tuple[float, Floats, Mask, Mask, Mask]:
    """Return the AUC, the derivatives by the weights of rows, and masks of rows.

    The masks are of the rows that are the upper one of a pair, the lower one, and in a fold with
    pairs.
    """
    in_fold = replace(rows, qid=folds)  # rows of two folds are not compared
    below, above = count_pairs(in_fold), count_pairs(in_fold.reversed())
    below.require_pairs()
    wrong_below, wrong_above = below.lower + below.tied / 2, above.lower + above.tied / 2
    pairs = np.bincount(folds, below.total)
    has_auc = pairs > 0
    wrong = np.bincount(folds, wrong_below) / np.maximum(pairs, 1)
    excess = wrong[folds] * (below.total + above.total) - wrong_below - wrong_above
    deviation = excess / np.maximum(pairs * has_auc.sum(), 1)[folds]
    auc = 1 - float(wrong[has_auc].mean())
    return auc, deviation, below.total > 0, above.total > 0, has_auc[folds]


def fold_of_queries(folds: Indices, query: Indices) -> Indices:
    """Return the fold of each query; ValueError where one lies in several."""
    found = np.zeros(query.max() + 1, dtype=np.intp)
    found[query] = folds
    if (found[query] != folds).any():
        raise ValueError(
            "With qid a fold must hold whole queries: a query is one draw. Got "
            f"{len(np.unique(query[found[query] != folds]))} queries in several folds."
        )
    return found


def _unbiased(deviation: Floats, group: Indices, needed: str) -> Floats:
    """Scale the deviations of independent draws so that their squares sum to the variance.

    A sum of squares around the mean of n draws is too small by (n - 1) / n.
    """
    n = np.bincount(group)[group]
    if (n == 1).any():
        raise ValueError(f"At least two {needed}, to tell how much they differ. Got one.")
    return deviation * np.sqrt(n / (n - 1))
