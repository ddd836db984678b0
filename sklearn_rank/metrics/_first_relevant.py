"""Average precision and reciprocal rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.sums import Groups
from sklearn_rank._core.validation import Choice, check_parameters
from sklearn_rank.metrics._ranked import QueryMean, divide, rank_queries


def average_precision(
    y_true: Any,
    y_score: Any,
    *,
    k: int | None = None,
    divide_by: str = "attainable",
    qid: Any = None,
    query_weight: Any = None,
    average: str | None = "mean",
    empty: str | int = "skip",
) -> float | Floats:
    r"""Compute the average precision; its mean over queries is MAP.

    .. math:: \mathrm{AP}_k = \frac{1}{\min(R, k)} \sum_{t \le k: y_{(t)} > 0}
        \frac{1}{t} \sum_{s \le t} 1[y_{(s)} > 0]

    where :math:`y_{(t)}` is the relevance of the row at rank t of its query, which has R
    relevant rows; without a cut-off the sum is divided by R. Tied rows count as the mean over their
    orders: of n tied rows, r of them relevant, after N rows with :math:`R_N` relevant ones, the one
    at rank N + t adds

    .. math:: \frac{r}{n} \, \frac{R_N + 1 + (t - 1) (r - 1) / (n - 1)}{N + t}.

    Without ties and cut-off it equals scikit-learn's ``average_precision_score``, which treats tied
    rows as one step of the curve. At a cut-off XGBoost and LightGBM divide by the smaller of R and
    k, as by default here, so that the best list has 1; trec_eval's ``map_cut`` divides by R.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance; rows above 0 are relevant.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better. Infinite scores are allowed, NaN is not.
    k : int >= 1 or None, default=None
        Cut-off: relevant rows after rank k add nothing. None: no cut-off.
    divide_by : {"attainable", "relevant"}, default="attainable"
        "attainable": the number of relevant rows that k ranks can hold, the smaller of R and k.
        "relevant": R, as trec_eval does. The same without `k`.
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

    References
    ----------
    McSherry2008 (tied rows).

    Examples
    --------
    >>> from sklearn_rank.metrics import average_precision
    >>> average_precision([1, 0, 0, 1], [4, 3, 2, 1])
    0.75
    >>> average_precision([1, 0], [1, 1])
    0.75
    >>> average_precision([1, 0, 0, 1], [4, 3, 2, 1], k=1)
    1.0
    >>> average_precision([1, 0, 0, 1], [4, 3, 2, 1], k=1, divide_by="relevant")
    0.5
    """
    allowed = {"divide_by": Choice(("attainable", "relevant"))}
    check_parameters("average_precision", {"divide_by": divide_by}, allowed)
    mean = QueryMean.checked("average_precision", average, empty, query_weight, qid, y_true, k=k)
    ranked = rank_queries(y_true, y_score, qid)
    ties, r = ranked.ties, ranked.relevant
    running = np.cumsum(r) - r
    relevant_before = running - ranked.queries.spread(running[ranked.queries.start])
    t = ties.positions  # 0, 1, ... in each tie group
    precision: Floats = ties.spread((r - 1) / np.maximum(ties.length - 1, 1)) * t
    precision += ties.spread(relevant_before + 1)
    place = ties.spread(ranked.before + 1) + t
    precision /= place
    precision *= ties.spread(r / ties.length)
    n_relevant = ranked.n_relevant
    if k is not None:
        precision[place > k] = 0.0
        n_relevant = np.minimum(n_relevant, k) if divide_by == "attainable" else n_relevant
    total = ranked.query_rows.reduce(np.add, precision)
    values = np.minimum(divide(total, n_relevant), 1.0)
    return mean.of(values, ranked.n_relevant > 0)


def reciprocal_rank(
    y_true: Any,
    y_score: Any,
    *,
    k: int | None = None,
    qid: Any = None,
    query_weight: Any = None,
    average: str | None = "mean",
    empty: str | int = "skip",
) -> float | Floats:
    r"""Compute the reciprocal rank of the first relevant row; its mean over queries is MRR.

    .. math:: \mathrm{RR} = 1 / \min \{t : y_{(t)} > 0\}

    where :math:`y_{(t)}` is the relevance of the row at rank t of its query. Tied rows
    count as the mean over their orders: among n tied rows, r of them relevant, the first
    relevant one comes at rank t with probability
    :math:`\binom{n - t}{r - 1} / \binom{n}{r}`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance; rows above 0 are relevant.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better. Infinite scores are allowed, NaN is not.
    k : int >= 1 or None, default=None
        Cut-off: 0 when the first relevant row comes after rank k. None: no cut-off.
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

    References
    ----------
    McSherry2008 (tied rows).

    Examples
    --------
    >>> from sklearn_rank.metrics import reciprocal_rank
    >>> reciprocal_rank([0, 1, 0, 1], [4, 3, 2, 1])
    0.5
    >>> reciprocal_rank([0, 1], [1, 1])
    0.75
    """
    mean = QueryMean.checked("reciprocal_rank", average, empty, query_weight, qid, y_true, k=k)
    ranked = rank_queries(y_true, y_score, qid)
    has_relevant = ranked.n_relevant > 0
    relevant_ties = np.flatnonzero(ranked.relevant)
    first = relevant_ties[np.searchsorted(relevant_ties, ranked.queries.start[has_relevant])]
    values = np.zeros(len(has_relevant))
    if len(first):
        values[has_relevant] = _expected_reciprocal(
            ranked.before[first], ranked.ties.length[first], ranked.relevant[first], k
        )
    return mean.of(values, has_relevant)


def _expected_reciprocal(before: Indices, n: Indices, r: Indices, k: int | None) -> Floats:
    """Return the expected reciprocal place of the first of r relevant among n tied rows.

    The probability that it comes in place t is a product of ratios of neighbouring
    probabilities, ``P(1) = r / n``, ``P(t + 1) / P(t) = 1 - (r - 1) / (n - t)``.
    """
    length = n - r + 1  # later than that the first of r relevant rows can't come
    lists = Groups(np.cumsum(length) - length, int(length.sum()))
    t = lists.positions
    ratio = 1.0 - lists.spread(r - 1) / (lists.spread(n) - t)
    ratio[lists.start] = r / n
    place = lists.spread(before + 1) + t
    terms = lists.scan(np.multiply, ratio, 1.0) * ratio / place
    if k is not None:
        terms[place > k] = 0.0
    return lists.reduce(np.add, terms)
