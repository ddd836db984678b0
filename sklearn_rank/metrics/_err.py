"""Expected reciprocal rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.validation import Number, check_parameters
from sklearn_rank.metrics._ranked import QueryMean, RankedQueries, check_not_negative, rank_queries


def err_score(
    y_true: Any,
    y_score: Any,
    *,
    k: int | None = None,
    max_relevance: float | None = None,
    qid: Any = None,
    query_weight: Any = None,
    average: str | None = "mean",
    empty: str | int = "skip",
) -> float | Floats:
    r"""Compute the expected reciprocal rank (ERR), the mean over queries.

    .. math:: \mathrm{ERR} = \sum_{t \le k} \frac{1}{t} \, q_{(t)}
        \prod_{s < t} \bigl(1 - q_{(s)}\bigr), \qquad
        q = \frac{2^y - 1}{2^{y_{\max}}}

    where :math:`q_{(t)}` is the probability that the row at rank t of its query satisfies
    the reader, who stops at the first such row. Tied rows count as the mean over their orders.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance, non-negative; rows above 0 are relevant.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better. Infinite scores are allowed, NaN is not.
    k : int >= 1 or None, default=None
        Cut-off: only the first k ranks count. None: all.
    max_relevance : float > 0 or None, default=None
        Highest possible grade :math:`y_{\max}`. None: the highest of `y_true` over all
        queries; give a number to compare parts of a data set.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    query_weight : dict, array-like of shape (n_samples,) or None, default=None
        Weight of each query in the mean, with ``average="mean"``: a dict with query ids as keys, or
        one number for each row, the same in all rows of a query. None: 1 for all.
    average : {"mean"} or None, default="mean"
        "mean": the mean over queries. None: one value for each query.
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

    Notes
    -----
    The probability that none of the first t of n tied rows satisfies the reader is an elementary
    symmetric mean of their :math:`1 - q`. A tie group takes O(n min(n, k)) time: set `k` when
    tens of thousands of rows are tied.

    References
    ----------
    Chapelle2009 (the measure).

    Examples
    --------
    >>> from sklearn_rank.metrics import err_score
    >>> err_score([1, 0, 1], [3, 2, 1]) == 1 / 2 + 1 / 3 / 4
    True
    """
    allowed = {"max_relevance": Number(0, closed="neither", other=(None,))}
    check_parameters("err_score", {"max_relevance": max_relevance}, allowed)
    mean = QueryMean.checked("err_score", average, empty, query_weight, qid, y_true, k=k)
    ranked = rank_queries(y_true, y_score, qid)
    check_not_negative("err_score", ranked.relevance)
    highest = float(ranked.relevance.max())
    top = highest if max_relevance is None else float(max_relevance)
    if highest > top:
        raise ValueError(f"y_true of err_score exceeds max_relevance={top:g}. Got {highest:g}.")
    unsatisfied = 1.0 - (np.exp2(ranked.relevance - top) - np.exp2(-top))
    values = _expected_reciprocal_stop(ranked, unsatisfied, ranked.depth(k))
    return mean.of(values, ranked.n_relevant > 0)


def _expected_reciprocal_stop(ranked: RankedQueries, unsatisfied: Floats, k: int) -> Floats:
    """Return the expected reciprocal place of the stop, 0 after place k, over all tied orders.

    The stop is in place t of a tie group with probability ``M_(t-1) - M_t``, M_t being the
    mean over orders of the product of the first t of `unsatisfied`.
    """
    start, n, before = ranked.ties.start, ranked.ties.length, ranked.before
    inside = 1.0 - unsatisfied[start]
    inside /= before + 1
    inside[before >= k] = 0.0
    none_satisfies = ranked.ties.reduce(np.multiply, unsatisfied)
    # Tie groups of one size are the columns of one matrix: few sizes occur, but many groups.
    for size in np.unique(n[(n > 1) & (before < k)]):
        groups = np.flatnonzero((n == size) & (before < k))
        rows = unsatisfied[start[groups] + np.arange(size)[:, np.newaxis]]
        means = _symmetric_means(rows, min(int(size), k))
        place = before[groups] + np.arange(1, len(means))[:, np.newaxis]
        stops = np.where(place <= k, (means[:-1] - means[1:]) / place, 0.0)
        inside[groups] = stops.sum(axis=0)
    reached = ranked.queries.scan(np.multiply, none_satisfies, 1.0)
    return ranked.queries.reduce(np.add, reached * inside)


def _symmetric_means(values: Floats, degree: int) -> Floats:
    """Return the elementary symmetric means of degree t = 0, ..., degree of each column.

    The mean of degree t is that of the products of t of the values. With each further value it
    becomes a convex combination of two earlier means, without cancellation.
    """
    means = np.zeros((degree + 1, values.shape[1]))
    means[0] = 1.0
    t = np.arange(1, degree + 1)[:, np.newaxis]
    for count, value in enumerate(values, start=1):
        share = np.minimum(t / count, 1.0)
        means[1:] = (1.0 - share) * means[1:] + share * value * means[:-1]
    return means
