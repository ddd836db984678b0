"""Normalised discounted cumulative gain."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Unpack

import numpy as np

from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.sums import Groups
from sklearn_rank._core.validation import Choice, check_floats, check_parameters
from sklearn_rank.metrics._ranked import (
    OverQueries,
    RankedQueries,
    divide,
    order_by_score,
    over_queries,
    rank_queries,
)

_GAIN = Choice(
    ("exponential", "linear"), "a function, or the gains of levels 0, 1, ...", (Callable, Iterable)
)


@over_queries
def ndcg_score(
    y_true: Any,
    y_score: Any,
    *,
    k: int | None = None,
    gain: Any = "exponential",
    **over: Unpack[OverQueries],
) -> float | Floats:
    r"""Compute the normalised discounted cumulative gain (NDCG), averaged over queries.

    .. math:: \mathrm{NDCG}_k = \frac{\mathrm{DCG}_k}{\max \mathrm{DCG}_k}, \qquad
        \mathrm{DCG}_k = \sum_{t \le k} d(t) \, g(y_{(t)}), \qquad
        d(t) = \frac{1}{\log_2(1 + t)}

    where :math:`y_{(t)}` is the relevance of the row at rank t of its query, g the gain, and the
    maximum is over all orders. Ties are handled by averaging over all orderings of the tied rows.
    With the linear gain it equals scikit-learn's ``ndcg_score`` of each query.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance, non-negative; rows above 0 are relevant.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better. Infinite scores are allowed, NaN is not.
    k : int >= 1 or None, default=None
        Cut-off: only the first k ranks count, also in the ideal order. None: all.
    gain : {"exponential", "linear"}, callable or array-like, default="exponential"
        :math:`g(y) = 2^y - 1` or :math:`g(y) = y`; a function, called with an array of relevances;
        or the gains of the levels 0, 1, ..., for relevance in whole numbers (LightGBM's
        ``label_gain``). Finite and non-negative; a greater relevance may have a smaller gain.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    query_weight : dict, array-like of shape (n_samples,) or None, default=None
        Weight of each query in the mean, with ``average="mean"``: a dict with query ids as keys, or
        one number per row, constant within each query. None: 1 for all.
    average : {"mean"} or None, default="mean"
        "mean": the mean over queries. None: one value per query.
    empty : {"skip", 0, 1}, default="skip"
        Value of queries without a relevant row that has a gain: left out (NaN with
        ``average=None``), 0 or 1.

    Returns
    -------
    float or ndarray of shape (n_queries,)
        Between 0 and 1, greater is better. With ``average=None``, one value per query in the order
        of the sorted ids.

    Raises
    ------
    ValueError
        If a parameter is invalid, scores are NaN, or every query is skipped.

    References
    ----------
    Jarvelin2002 (the idea). Burges2005 (exponential gain).
    McSherry2008 (tied rows).

    Examples
    --------
    >>> from sklearn_rank.metrics import ndcg_score
    >>> ndcg_score([2, 1, 0], [3, 2, 1])
    1.0
    >>> round(ndcg_score([0, 1, 2], [3, 2, 1]), 3)
    0.587

    Gains by level:

    >>> round(ndcg_score([0, 1, 2], [3, 2, 1], gain=[0, 1, 10]), 3)
    0.53
    """
    check_parameters("ndcg_score", {"gain": gain}, {"gain": _GAIN})
    query_mean, ranked = rank_queries("ndcg_score", y_true, y_score, k, has_gains=True, **over)
    discounts: Floats = 1.0 / np.log2(2.0 + np.arange(ranked.depth(k)))
    is_named = isinstance(gain, str)
    gains = (_named_gains if is_named else _user_gains)(ranked.relevance, gain)
    gains = gains / (gains.max() or 1.0)  # so that sums can't overflow
    # At most 1: rounding may put the DCG of a best order above the maximum.
    best_dcg = _best_dcg(ranked, gains, discounts)
    values = np.minimum(divide(_expected_dcg(ranked, gains, discounts), best_dcg), 1.0)
    return query_mean.of(values, (ranked.n_relevant > 0) & (is_named | (best_dcg > 0)))


def _named_gains(relevance: Floats, gain: str) -> Floats:
    highest = float(relevance.max())
    if gain == "linear" or highest == 0:
        return relevance
    with np.errstate(over="ignore"):
        gains = np.expm1(relevance * np.log(2.0))
    if not np.isfinite(gains.max()):
        raise ValueError(
            f"y_true of ndcg_score is too large for gain='exponential': 2**{highest:g} "
            "overflows. Use gain='linear'."
        )
    return np.asarray(gains)


def _user_gains(relevance: Floats, gain: Any) -> Floats:
    """Return gains from a user's function of the levels, or from a list with one gain per level."""
    levels, level_of_row = np.unique(relevance, return_inverse=True)
    gains = check_floats(gain(levels) if callable(gain) else gain, "gain")
    if not (np.isfinite(gains) & (gains >= 0)).all():
        raise ValueError(f"gain of ndcg_score must be finite and not negative. Got {gains}.")
    if callable(gain):
        return np.broadcast_to(gains, levels.shape)[level_of_row]
    if (levels % 1 != 0).any() or levels[-1] >= len(gains):
        raise ValueError(
            f"gain of ndcg_score lists {len(gains)} gains, of the levels 0, 1, ..., so that y_true "
            f"must hold whole numbers below {len(gains)}. Got {levels}."
        )
    return gains[levels.astype(np.intp)][level_of_row]


def _expected_dcg(ranked: RankedQueries, gains: Floats, discount: Floats) -> Floats:
    """Sum, over tie groups, the mean gain times the sum of the discounts of the ranks."""
    k, ties = len(discount), ranked.ties
    in_top = ranked.n_before < k
    size, n_before = ties.length[in_top], ranked.n_before[in_top]
    # Most tie groups are single rows, which need no mean and no cumulated discounts.
    mean_gain, discounts = gains[ties.start[in_top]], discount[n_before]
    is_tied = size > 1
    if is_tied.any():
        discount_sums = np.concatenate([[0.0], np.cumsum(discount)])
        last = np.minimum(n_before + size, k)[is_tied]
        discounts[is_tied] = discount_sums[last] - discount_sums[n_before[is_tied]]
        mean_gain[is_tied] = (ties.reduce(np.add, gains) / ties.length)[in_top][is_tied]
    query_start = np.searchsorted(np.flatnonzero(in_top), ranked.queries.start)
    return Groups(query_start, len(size)).reduce(np.add, mean_gain * discounts)


def _best_dcg(ranked: RankedQueries, gains: Floats, discount: Floats) -> Floats:
    """Return the maximum of the DCG of each query over all orders."""
    query = ranked.query_rows.spread(np.arange(ranked.query_rows.n_groups))
    gains = gains[order_by_score(gains, query)]
    rank = ranked.query_rows.positions  # from 0
    top_rows = np.flatnonzero(rank < len(discount))
    start = np.searchsorted(top_rows, ranked.query_rows.start)
    return Groups(start, len(top_rows)).reduce(np.add, gains[top_rows] * discount[rank[top_rows]])
