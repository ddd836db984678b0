"""Bootstrap intervals of the share of relevant rows found at a false positive rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank._core.validation import check_parameters, check_qid
from sklearn_rank.metrics._auc_interval import fold_of_queries
from sklearn_rank.metrics._comparison import (
    BootstrapInterval,
    RankingComparison,
    bootstrap_interval,
    check_resampling,
    compare_rankings,
)
from sklearn_rank.metrics._partial_auc import MAX_FPR, tpr_at_fpr_score
from sklearn_rank.metrics.curve_terms import RocSteps
from sklearn_rank.metrics.scored_rows import ScoredRows

_ROUNDING = 1e-12
_BATCH_VALUES = 1 << 18
"""Counts that are held at a time, few enough for the cache."""

_HEAD_DEVIATIONS = 8
"""Standard deviations beyond the false positive rate up to which negatives are drawn one by one;
the probability that a bootstrap sample needs more of them is below 1e-14."""


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
    (share,), (resampled,) = _shares(y_true, {"y_score": y_score}, fold, max_fpr, settings)
    low, high = _quantiles(resampled, confidence)
    return BootstrapInterval(share, low, high, 1)


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
    low, high = _quantiles(difference, confidence)
    fewer = min((difference <= _ROUNDING).sum(), (difference >= -_ROUNDING).sum())
    p_value = min(1.0, 2 * (1 + int(fewer)) / (len(difference) + 1))
    return RankingComparison(shares[0] - shares[1], low, high, p_value, 1)


def _in_queries(y_true: Any, scores: dict[str, Any], qid: Any, fold: Any, max_fpr: float) -> Any:
    """Return the shares of rankings in each query."""
    if fold is not None:
        folds, query = (check_qid(one, len(y_true), n) for n, one in (("fold", fold), ("qid", qid)))
        fold_of_queries(folds, query)
    options = {"max_fpr": max_fpr, "qid": qid, "average": None}
    return [tpr_at_fpr_score(y_true, score, **options) for score in scores.values()]


def _quantiles(values: Floats, confidence: float) -> Iterator[float]:
    return map(float, np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2]))


def _shares(
    y_true: Any, scores: dict[str, Any], fold: Any, max_fpr: float, settings: dict[str, Any]
) -> tuple[list[float], Floats]:
    """Return the shares of rankings, and those in each bootstrap sample, a row for a ranking."""
    checked = [ScoredRows.with_relevance(y_true, s, None, name=n) for n, s in scores.items()]
    is_relevant, score = checked[0].y > 0, np.stack([rows.score for rows in checked])
    n_rows = len(is_relevant)
    folds = np.zeros(n_rows, dtype=np.intp) if fold is None else check_qid(fold, n_rows, "fold")
    parts = list(with_both_classes(is_relevant, folds))
    if not parts:
        raise ValueError("No fold holds both relevant and other rows: there is no share to find.")
    rng, n_resamples = check_random_state(settings["random_state"]), settings["n_resamples"]
    resampled = np.zeros((len(score), n_resamples))
    shares = np.zeros(len(score))
    for part in parts:
        resampled += _resample(score[:, part], is_relevant[part], max_fpr, n_resamples, rng)
        curves = [RocSteps.of(is_relevant[part], s[part]) for s in score]
        shares += np.array([one.found @ one.before(max_fpr) for one in curves])
    return list(map(float, shares / len(parts))), resampled / len(parts)


def with_both_classes(is_relevant: Mask, folds: Indices) -> Iterator[Indices]:
    """Yield the rows of each fold that holds both classes."""
    for number in range(int(folds.max()) + 1):
        rows = np.flatnonzero(folds == number)
        if 0 < is_relevant[rows].sum() < len(rows):
            yield rows


def _resample(
    score: Floats, is_relevant: Mask, max_fpr: float, n_resamples: int, rng: Any
) -> Floats:
    """Return the shares of rankings of one list in each bootstrap sample."""
    found, other = score[:, is_relevant], score[:, ~is_relevant]
    n_found, n_other = found.shape[1], other.shape[1]
    limit = max_fpr * n_other
    other = other[:, _near_the_top(other, limit)]
    rankings = [_Ranking.of(one, rest) for one, rest in zip(found, other, strict=True)]
    shares = np.empty((len(score), n_resamples))
    step = max(1, _BATCH_VALUES // (n_found + other.shape[1]))
    for start in range(0, n_resamples, step):
        size = min(step, n_resamples - start)
        # How many of all draws fall into the head; the others lie beyond the limit.
        n_drawn = rng.binomial(n_other, other.shape[1] / n_other, size)
        counts = draw_counts(other.shape[1], n_drawn, rng)
        found_counts = draw_counts(n_found, np.full(size, n_found), rng)
        for share, ranking in zip(shares, rankings, strict=True):
            share[start : start + size] = ranking.heights(found_counts, counts, limit)
    return shares


def _near_the_top(other: Floats, limit: float) -> Mask:
    """Return a mask of the columns that are near the top of any of the rankings."""
    n_other = other.shape[1]
    n_head = int(limit + _HEAD_DEVIATIONS * (np.sqrt(limit) + 1)) + 1
    if 2 * n_head >= n_other:
        return np.ones(n_other, dtype=bool)
    lowest = np.partition(other, n_other - n_head, axis=1)[:, [n_other - n_head]]
    return np.asarray((other >= lowest).any(axis=0))


def draw_counts(n_rows: int, n_drawn: Indices, rng: Any) -> Indices:
    """Return how often each row is drawn in each sample."""
    sample = np.repeat(np.arange(len(n_drawn)), n_drawn)
    row = rng.randint(n_rows, size=len(sample))
    return np.bincount(sample * n_rows + row, minlength=len(n_drawn) * n_rows).reshape(-1, n_rows)


@dataclass(frozen=True, eq=False)
class _Ranking:
    """One list: relevant rows and groups of tied other rows, in descending order of score.

    Attributes
    ----------
    found_order, order : ndarray
        The relevant rows and the others, sorted.
    start : ndarray of shape (n_groups,)
        Where the groups of tied other rows begin, in that order.
    above, level : ndarray of shape (n_groups + 1,)
        Number of relevant rows above each group, and of those not below it; at the end all.
    """

    found_order: Indices
    order: Indices
    start: Indices
    above: Indices
    level: Indices

    @classmethod
    def of(cls, found: Floats, other: Floats) -> _Ranking:
        """Sort the scores."""
        found_order, order = np.argsort(-found), np.argsort(-other)
        rising, ordered = -found[found_order], -other[order]
        start = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        ends: Sequence[Any] = ("left", "right")
        above, level = (np.searchsorted(rising, ordered[start], side=side) for side in ends)
        return cls(
            found_order, order, start, np.append(above, len(found)), np.append(level, len(found))
        )

    def heights(self, found_counts: Indices, counts: Indices, limit: float) -> Floats:
        """Return the height of the ROC curve in each sample, before `limit` other rows."""
        samples = np.arange(len(counts))
        before = np.zeros((len(counts), len(self.start) + 1), dtype=np.intp)
        grouped = np.add.reduceat(counts[:, self.order], self.start, axis=1)
        np.cumsum(grouped, axis=1, out=before[:, 1:])
        # The limit may be rounded to less than the whole number that it is.
        group = (before[:, 1:] <= limit * (1 + _ROUNDING)).sum(axis=1)
        upto = np.zeros((len(counts), found_counts.shape[1] + 1), dtype=np.intp)
        np.cumsum(found_counts[:, self.found_order], axis=1, out=upto[:, 1:])
        height = upto[samples, self.above[group]].astype(np.float64)
        # In the group that crosses the limit the curve is a straight line.
        crossing = np.minimum(group, len(self.start) - 1)
        taken = (limit - before[samples, group]) / np.maximum(grouped[samples, crossing], 1)
        tied = upto[samples, self.level[group]] - height
        return np.asarray((height + np.clip(taken, 0.0, 1.0) * tied) / upto[:, -1])
