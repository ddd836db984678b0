"""Normalised discounted cumulative gain."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats, Indices
from sklearn_rank._validation import Choice, check_parameters
from sklearn_rank.metrics._ranked import (
    RankedQueries,
    average_queries,
    check_not_negative,
    check_options,
    divide,
    rank_queries,
)
from sklearn_rank.rows import Groups

FEW_GRADES = 64
MAX_INT32_QUERIES = (1 << 31) // FEW_GRADES - 1


def _gains(relevance: Floats, gain: str) -> Floats:
    """Return gains divided by the largest, so that sums can't overflow."""
    highest = float(relevance.max())
    if highest == 0:
        return relevance
    if gain == "linear":
        return relevance / highest
    with np.errstate(over="ignore"):
        gains = np.expm1(relevance * np.log(2.0))
    if not np.isfinite(gains.max()):
        raise ValueError(
            f"y_true of ndcg_score is too large for gain='exponential': 2**{highest:g} "
            "overflows. gain='linear' takes it."
        )
    return np.asarray(gains / gains.max())


def ndcg_score(
    y_true: Any,
    y_score: Any,
    *,
    k: int | None = None,
    gain: str = "exponential",
    qid: Any = None,
    average: str | None = "mean",
    empty: str | int = "skip",
) -> float | Floats:
    r"""Compute the normalised discounted cumulative gain (NDCG), the mean over queries.

    .. math:: \mathrm{NDCG}_k = \frac{\mathrm{DCG}_k}{\max \mathrm{DCG}_k}, \qquad
        \mathrm{DCG}_k = \sum_{t \le k} \frac{g(y_{(t)})}{\log_2(1 + t)}

    where :math:`y_{(t)}` is the relevance of the row at rank t of its query, g the gain,
    and the maximum is over all orders. Tied rows count as the mean over their orders.
    With the linear gain it equals scikit-learn's ``ndcg_score`` of each query.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance, non-negative; rows above 0 are relevant.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better. Infinite scores are allowed, NaN is not.
    k : int >= 1 or None, default=None
        Cut-off: only the first k ranks count, in the best order too. None: all.
    gain : {"exponential", "linear"}, default="exponential"
        :math:`g(y) = 2^y - 1` or :math:`g(y) = y`.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    average : {"mean"} or None, default="mean"
        "mean": the mean over queries, each counting once. None: one value for each query.
    empty : {"skip", 0, 1}, default="skip"
        Value of queries without a relevant row: left out (NaN with ``average=None``), 0 or 1.

    Returns
    -------
    float or ndarray of shape (n_queries,)
        Between 0 and 1, greater is better. With ``average=None`` one value for each
        query in the order of the sorted ids.

    Raises
    ------
    ValueError
        When a parameter is not allowed, scores are NaN, or every query is skipped.

    References
    ----------
    Jarvelin2002 (the idea). Burges2005 (exponential gain). McSherry2008 (tied rows).

    Examples
    --------
    >>> from sklearn_rank.metrics import ndcg_score
    >>> ndcg_score([2, 1, 0], [3, 2, 1])
    1.0
    >>> round(ndcg_score([0, 1, 2], [3, 2, 1]), 3)
    0.587
    """
    allowed = {"gain": Choice(("exponential", "linear"))}
    check_options("ndcg_score", average, empty, k=k)
    check_parameters("ndcg_score", {"gain": gain}, allowed)
    ranked = rank_queries(y_true, y_score, qid)
    check_not_negative("ndcg_score", ranked.relevance)
    longest = int(ranked.query_rows.length.max())
    k = longest if k is None else min(k, longest)
    discount = 1.0 / np.log2(2.0 + np.arange(k))
    best = _best_dcg(ranked, gain, discount)
    values = np.minimum(divide(_expected_dcg(ranked, gain, discount), best), 1.0)
    return average_queries(values, ranked.n_relevant > 0, average, empty)


def _expected_dcg(ranked: RankedQueries, gain: str, discount: Floats) -> Floats:
    """Sum the mean gain of each tie group times the discounts of the places it takes."""
    k, ties = len(discount), ranked.ties
    shown = ranked.before < k
    n, before = ties.length[shown], ranked.before[shown]
    gains = _gains(ranked.relevance, gain)
    mean, discounts = gains[ties.start[shown]], discount[before]
    tied = n > 1
    if tied.any():
        upto = np.concatenate([[0.0], np.cumsum(discount)])
        last = np.minimum(before + n, k)[tied]
        discounts[tied] = upto[last] - upto[before[tied]]
        mean[tied] = (ties.reduce(np.add, gains) / ties.length)[shown][tied]
    first = np.searchsorted(np.flatnonzero(shown), ranked.queries.start)
    return Groups(first, len(n)).reduce(np.add, mean * discounts)


def _best_dcg(ranked: RankedQueries, gain: str, discount: Floats) -> Floats:
    """Return the maximum of the DCG of each query over all orders."""
    gains = _gains(_descending_relevance(ranked), gain)
    place = ranked.query_rows.positions
    shown = np.flatnonzero(place < len(discount))
    first = np.searchsorted(shown, ranked.query_rows.start)
    return Groups(first, len(shown)).reduce(np.add, gains[shown] * discount[place[shown]])


def _descending_relevance(ranked: RankedQueries) -> Floats:
    """Return the relevances of each query in descending order."""
    n_queries = ranked.query_rows.n_groups
    query = ranked.query_rows.spread(np.arange(n_queries))
    highest = ranked.relevance.max()
    if highest < FEW_GRADES and np.array_equal(ranked.relevance, np.floor(ranked.relevance)):
        # A few integer grades: one sort of integers that encode query and grade.
        kind: type[np.signedinteger[Any]] = np.int32 if n_queries < MAX_INT32_QUERIES else np.int64
        grade = ranked.relevance.astype(kind)
        key: Indices = (query.astype(kind) + 1) * FEW_GRADES - 1 - grade
        key.sort()
        return np.asarray(FEW_GRADES - 1 - (key & (FEW_GRADES - 1)), dtype=np.float64)
    return ranked.relevance[np.lexsort((-ranked.relevance, query))]
