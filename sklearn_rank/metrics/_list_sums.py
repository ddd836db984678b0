"""Sums over the relevant rows of a list, as Rudin2009 reports them, and the ranking margin."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.sums import Groups
from sklearn_rank.metrics.pair_counts import NO_PAIR
from sklearn_rank.metrics.scored_rows import ScoredRows


def _relevant_ranks(y_true: Any, y_score: Any, qid: Any) -> Floats:
    """Return the ranks of the relevant rows in their queries, last among tied rows."""
    rows = ScoredRows.with_relevance(y_true, y_score, qid)
    relevant = rows.y > 0
    if not relevant.any():
        raise ValueError("y_true has no relevant row: none is above 0.")
    order = np.lexsort((relevant, -rows.score, rows.query))
    rank = 1.0 + Groups.of_runs(rows.query[order]).positions
    return np.asarray(rank[relevant[order]])


def reciprocal_rank_sum(y_true: Any, y_score: Any, *, qid: Any = None) -> float:
    r"""Compute the sum of the reciprocal ranks of the relevant rows.

    .. math:: \sum_{i: y_i > 0} \frac{1}{\mathrm{rank}_i}

    where :math:`\mathrm{rank}_i` is the place of row i in its query, the best being 1.
    Among tied rows those that are not relevant come first.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance; rows above 0 are relevant.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list. The sum runs over all queries.

    Returns
    -------
    float
        Greater is better. Ranks are integers, so rows have no weights.

    Raises
    ------
    ValueError
        When no row is relevant.

    References
    ----------
    Rudin2009, sec. 7 (AveR). There all relevant rows that tie have the last of their ranks; here
    they have successive ranks.

    Examples
    --------
    >>> from sklearn_rank.metrics import reciprocal_rank_sum
    >>> reciprocal_rank_sum([1, 0, 1, 0], [4, 3, 2, 1]) == 1 / 1 + 1 / 3
    True
    """
    return float(np.sum(1.0 / _relevant_ranks(y_true, y_score, qid)))


def reciprocal_log_rank_sum(y_true: Any, y_score: Any, *, qid: Any = None) -> float:
    r"""Compute the sum of the reciprocal log ranks of the relevant rows.

    .. math:: \sum_{i: y_i > 0} \frac{1}{\ln(1 + \mathrm{rank}_i)}

    where :math:`\mathrm{rank}_i` is the place of row i in its query, the best being 1.
    Among tied rows those that are not relevant come first.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance; rows above 0 are relevant.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list. The sum runs over all queries.

    Returns
    -------
    float
        Greater is better. Ranks are integers, so rows have no weights.

    Raises
    ------
    ValueError
        When no row is relevant.

    References
    ----------
    Rudin2009, sec. 7 (DCG). There all relevant rows that tie have the last of their ranks; here
    they have successive ranks. `ndcg_score` has another logarithm, gains, and the expected value
    over ties.

    Examples
    --------
    >>> from math import log
    >>> from sklearn_rank.metrics import reciprocal_log_rank_sum
    >>> reciprocal_log_rank_sum([1, 0, 1, 0], [4, 3, 2, 1]) == 1 / log(2) + 1 / log(4)
    True
    """
    return float(np.sum(1.0 / np.log1p(_relevant_ranks(y_true, y_score, qid))))


def ranking_margin(
    y_true: Any, y_score: Any, *, qid: Any = None, sample_weight: Any = None
) -> float:
    r"""Return the smallest margin over all pairs.

    .. math:: \min_{i \text{ above } k} (f_i - f_k)

    where i is above k when :math:`y_i > y_k` in one query. It is positive exactly when
    every pair is in the right order. For the normalised margin of a combination of weak rankers
    divide it by the sum of their absolute coefficients.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance: numbers or booleans, greater is better. Two values or many.
    y_score : array-like of shape (n_samples,)
        Finite scores, greater is better.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Multiplicities, non-negative; only whether a weight is zero matters.

    Returns
    -------
    float
        Greater is better.

    Raises
    ------
    ValueError
        When no query has rows of different relevance, or a score is infinite.

    References
    ----------
    RudinSchapire2009, text not at hand (the margin, before it is normalised).

    Examples
    --------
    >>> from sklearn_rank.metrics import ranking_margin
    >>> ranking_margin([0, 1, 1, 2], [1, 3, 4, 4.5])
    0.5
    """
    rows = ScoredRows.with_relevance(y_true, y_score, qid, sample_weight)
    if not np.isfinite(rows.score).all():
        raise ValueError("y_score contains infinity: ranking_margin needs finite scores.")
    preferences = Preferences.from_labels(rows.y, rows.qid, rows.weight)
    if not len(preferences.blocks):
        raise ValueError(NO_PAIR)
    scores = rows.score[preferences.order]
    with np.errstate(over="ignore"):
        return preferences.smallest_difference(scores, scores)
