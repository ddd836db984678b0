"""Metrics of the ranks of relevant rows: precision, recall, average precision, MRR and ERR."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.sums import Groups
from sklearn_rank._core.validation import Choice, Constraint, Number, check_parameters
from sklearn_rank.metrics._ranked import (
    OverQueries,
    RankedQueries,
    divide,
    over_queries,
    rank_queries,
)

_K = Number(1, integer=True)


def _hits(ranked: RankedQueries, k: Indices) -> Floats:
    """Return the expected number of relevant rows among the first k of each query."""
    share = ranked.relevant / ranked.ties.length
    n_in_top = np.clip(ranked.queries.spread(k) - ranked.n_before, 0, ranked.ties.length)
    return ranked.queries.reduce(np.add, share * n_in_top)


@over_queries
def precision_at_k(
    y_true: Any, y_score: Any, *, k: int = 10, divide_by: str = "rows", **over: Unpack[OverQueries]
) -> float | Floats:
    r"""Compute precision at k: the relevant fraction of the first k rows, averaged over queries.

    .. math:: P_k = \frac{1}{\min(k, n)} \sum_{t \le k} 1[y_{(t)} > 0]

    where :math:`y_{(t)}` is the relevance of the row at rank t of its query, which has n rows. Ties
    are handled by averaging over all orderings of the tied rows. XGBoost uses the same divisor;
    trec_eval always divides by k: ``divide_by="k"``.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance; rows above 0 are relevant.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better. Infinite scores are allowed, NaN is not.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    k : int >= 1, default=10
        Cut-off.
    divide_by : {"rows", "k"}, default="rows"
        Divisor in a query with fewer than k rows: its number of "rows", or "k", which keeps the
        value below 1. Longer queries always divide by k.
    query_weight : dict, array-like of shape (n_samples,) or None, default=None
        Weight of each query in the mean, with ``average="mean"``: a dict with query ids as keys, or
        one number per row, constant within each query. None: 1 for all.
    average : {"mean"} or None, default="mean"
        "mean": the mean over queries. None: one value per query.
    empty : {"skip", 0, 1}, default="skip"
        Value of queries without a relevant row: left out (NaN with ``average=None``), 0 or 1.

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
    McSherry2008 (tied rows).

    Examples
    --------
    >>> from sklearn_rank.metrics import precision_at_k
    >>> precision_at_k([1, 0, 1, 0], [4, 3, 2, 1], k=2)
    0.5
    >>> precision_at_k([1, 0, 0, 0], [2, 1, 1, 2], k=1)
    0.5
    >>> precision_at_k([1, 1], [2, 1], k=4), precision_at_k([1, 1], [2, 1], k=4, divide_by="k")
    (1.0, 0.5)
    """
    allowed: dict[str, Constraint] = {"k": _K, "divide_by": Choice(("rows", "k"))}
    check_parameters("precision_at_k", {"k": k, "divide_by": divide_by}, allowed)
    query_mean, ranked = rank_queries("precision_at_k", y_true, y_score, **over)
    depth = np.minimum(k, ranked.query_rows.length)
    values = _hits(ranked, depth) / (depth if divide_by == "rows" else k)
    return query_mean.of(values, ranked.n_relevant > 0)


@over_queries
def recall_at_k(
    y_true: Any, y_score: Any, *, k: int = 10, **over: Unpack[OverQueries]
) -> float | Floats:
    r"""Compute recall at k: the fraction of relevant rows in the first k, averaged over queries.

    .. math:: \mathrm{recall}_k = \frac{1}{R} \sum_{t \le k} 1[y_{(t)} > 0]

    where :math:`y_{(t)}` is the relevance of the row at rank t of its query, which has R
    relevant rows. Ties are handled by averaging over all orderings of the tied rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance; rows above 0 are relevant.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better. Infinite scores are allowed, NaN is not.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    k : int >= 1, default=10
        Cut-off.
    query_weight : dict, array-like of shape (n_samples,) or None, default=None
        Weight of each query in the mean, with ``average="mean"``: a dict with query ids as keys, or
        one number per row, constant within each query. None: 1 for all.
    average : {"mean"} or None, default="mean"
        "mean": the mean over queries. None: one value per query.
    empty : {"skip", 0, 1}, default="skip"
        Value of queries without a relevant row: left out (NaN with ``average=None``), 0 or 1.

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
    McSherry2008 (tied rows).

    Examples
    --------
    >>> from sklearn_rank.metrics import recall_at_k
    >>> recall_at_k([1, 0, 1, 0], [4, 3, 2, 1], k=3)
    1.0
    """
    check_parameters("recall_at_k", {"k": k}, {"k": _K})
    query_mean, ranked = rank_queries("recall_at_k", y_true, y_score, **over)
    depth = np.minimum(k, ranked.query_rows.length)
    values = divide(_hits(ranked, depth), ranked.n_relevant)
    return query_mean.of(values, ranked.n_relevant > 0)


@over_queries
def r_precision(y_true: Any, y_score: Any, **over: Unpack[OverQueries]) -> float | Floats:
    r"""Compute the precision at R in queries with R relevant rows, averaged over queries.

    .. math:: \frac{1}{R} \sum_{t \le R} 1[y_{(t)} > 0]

    where :math:`y_{(t)}` is the relevance of the row at rank t. At this cut-off precision and
    recall are equal. Ties are handled by averaging over all orderings of the tied rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance; rows above 0 are relevant.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better. Infinite scores are allowed, NaN is not.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    query_weight : dict, array-like of shape (n_samples,) or None, default=None
        Weight of each query in the mean, with ``average="mean"``: a dict with query ids as keys, or
        one number per row, constant within each query. None: 1 for all.
    average : {"mean"} or None, default="mean"
        "mean": the mean over queries. None: one value per query.
    empty : {"skip", 0, 1}, default="skip"
        Value of queries without a relevant row: left out (NaN with ``average=None``), 0 or 1.

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
    McSherry2008 (tied rows).

    Examples
    --------
    >>> from sklearn_rank.metrics import r_precision
    >>> r_precision([1, 0, 1, 0], [4, 3, 2, 1])
    0.5
    """
    query_mean, ranked = rank_queries("r_precision", y_true, y_score, **over)
    values = divide(_hits(ranked, ranked.n_relevant), ranked.n_relevant)
    return query_mean.of(values, ranked.n_relevant > 0)


@over_queries
def average_precision(
    y_true: Any,
    y_score: Any,
    *,
    k: int | None = None,
    divide_by: str = "attainable",
    **over: Unpack[OverQueries],
) -> float | Floats:
    r"""Compute the average precision; its mean over queries is MAP.

    .. math:: \mathrm{AP}_k = \frac{1}{\min(R, k)} \sum_{t \le k: y_{(t)} > 0}
        \frac{1}{t} \sum_{s \le t} 1[y_{(s)} > 0]

    where :math:`y_{(t)}` is the relevance of the row at rank t of its query, which has R
    relevant rows; without a cut-off the sum is divided by R. Ties are handled by averaging over all
    orderings: of n tied rows, r of them relevant, after N rows with :math:`R_N` relevant ones, the
    one at rank N + t adds

    .. math:: \frac{r}{n} \, \frac{R_N + 1 + (t - 1) (r - 1) / (n - 1)}{N + t}.

    Without ties and cut-off it equals scikit-learn's ``average_precision_score``, which treats tied
    rows as one step of the curve. At a cut-off it divides by the smaller of R and k, as XGBoost and
    LightGBM do, so that the best list scores 1; trec_eval's ``map_cut`` divides by R.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance; rows above 0 are relevant.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better. Infinite scores are allowed, NaN is not.
    k : int >= 1 or None, default=None
        Cut-off: relevant rows beyond rank k do not count. None: no cut-off.
    divide_by : {"attainable", "relevant"}, default="attainable"
        "attainable": the smaller of R and k, the number of relevant rows that k ranks can hold.
        "relevant": R, as in trec_eval. Without `k` both are the same.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    query_weight : dict, array-like of shape (n_samples,) or None, default=None
        Weight of each query in the mean, with ``average="mean"``: a dict with query ids as keys, or
        one number per row, constant within each query. None: 1 for all.
    average : {"mean"} or None, default="mean"
        "mean": the mean over queries. None: one value per query.
    empty : {"skip", 0, 1}, default="skip"
        Value of queries without a relevant row: left out (NaN with ``average=None``), 0 or 1.

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
    query_mean, ranked = rank_queries("average_precision", y_true, y_score, k, **over)
    ties, r = ranked.ties, ranked.relevant
    cumulative = np.cumsum(r) - r
    relevant_before = cumulative - ranked.queries.spread(cumulative[ranked.queries.start])  # R_N
    t = ties.positions  # t - 1 of the formula: 0, 1, ... in each tie group
    # The numerator R_N + 1 + (t - 1) (r - 1) / (n - 1), then the other factors, in place.
    precision: Floats = ties.spread((r - 1) / np.maximum(ties.length - 1, 1)) * t
    precision += ties.spread(relevant_before + 1)
    rank = ties.spread(ranked.n_before + 1) + t
    precision /= rank
    precision *= ties.spread(r / ties.length)
    n_relevant = ranked.n_relevant
    if k is not None:
        precision[rank > k] = 0.0
        n_relevant = np.minimum(n_relevant, k) if divide_by == "attainable" else n_relevant
    precision_sum = ranked.query_rows.reduce(np.add, precision)
    values = np.minimum(divide(precision_sum, n_relevant), 1.0)
    return query_mean.of(values, ranked.n_relevant > 0)


@over_queries
def reciprocal_rank(
    y_true: Any, y_score: Any, *, k: int | None = None, **over: Unpack[OverQueries]
) -> float | Floats:
    r"""Compute the reciprocal rank of the first relevant row; its mean over queries is MRR.

    .. math:: \mathrm{RR} = 1 / \min \{t : y_{(t)} > 0\}

    where :math:`y_{(t)}` is the relevance of the row at rank t of its query. Ties are
    handled by averaging over all orderings: among n tied rows, r of them relevant, the first
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
        one number per row, constant within each query. None: 1 for all.
    average : {"mean"} or None, default="mean"
        "mean": the mean over queries. None: one value per query.
    empty : {"skip", 0, 1}, default="skip"
        Value of queries without a relevant row: left out (NaN with ``average=None``), 0 or 1.

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
    McSherry2008 (tied rows).

    Examples
    --------
    >>> from sklearn_rank.metrics import reciprocal_rank
    >>> reciprocal_rank([0, 1, 0, 1], [4, 3, 2, 1])
    0.5
    >>> reciprocal_rank([0, 1], [1, 1])
    0.75
    """
    query_mean, ranked = rank_queries("reciprocal_rank", y_true, y_score, k, **over)
    has_relevant = ranked.n_relevant > 0
    relevant_ties = np.flatnonzero(ranked.relevant)
    # The first tie group of each query that holds relevant rows.
    first_hit = relevant_ties[np.searchsorted(relevant_ties, ranked.queries.start[has_relevant])]
    values = np.zeros(len(has_relevant))
    if len(first_hit):
        values[has_relevant] = _expected_reciprocal(
            ranked.n_before[first_hit], ranked.ties.length[first_hit], ranked.relevant[first_hit], k
        )
    return query_mean.of(values, has_relevant)


def _expected_reciprocal(n_before: Indices, n: Indices, r: Indices, k: int | None) -> Floats:
    """Return the expected reciprocal rank of the first of r relevant rows among n tied rows.

    The probability of the t-th place is a product of ratios of successive probabilities:
    ``P(1) = r / n``, ``P(t + 1) / P(t) = 1 - (r - 1) / (n - t)``.
    """
    length = n - r + 1  # the last possible place of the first of r relevant rows
    lists = Groups(np.cumsum(length) - length, int(length.sum()))
    t = lists.positions
    ratio = 1.0 - lists.spread(r - 1) / (lists.spread(n) - t)
    ratio[lists.start] = r / n
    rank = lists.spread(n_before + 1) + t
    terms = lists.scan(np.multiply, ratio, 1.0) * ratio / rank
    if k is not None:
        terms[rank > k] = 0.0
    return lists.reduce(np.add, terms)


@over_queries
def err_score(
    y_true: Any,
    y_score: Any,
    *,
    k: int | None = None,
    max_relevance: float | None = None,
    **over: Unpack[OverQueries],
) -> float | Floats:
    r"""Compute the expected reciprocal rank (ERR), averaged over queries.

    .. math:: \mathrm{ERR} = \sum_{t \le k} \frac{1}{t} \, q_{(t)}
        \prod_{s < t} \bigl(1 - q_{(s)}\bigr), \qquad
        q = \frac{2^y - 1}{2^{y_{\max}}}

    where :math:`q_{(t)}` is the probability that the row at rank t of its query satisfies the
    reader, who stops at the first such row. Ties are handled by averaging over all orderings.

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
        one number per row, constant within each query. None: 1 for all.
    average : {"mean"} or None, default="mean"
        "mean": the mean over queries. None: one value per query.
    empty : {"skip", 0, 1}, default="skip"
        Value of queries without a relevant row: left out (NaN with ``average=None``), 0 or 1.

    Returns
    -------
    float or ndarray of shape (n_queries,)
        Between 0 and 1, greater is better. With ``average=None``, one value per query in the order
        of the sorted ids.

    Raises
    ------
    ValueError
        If a parameter is invalid, scores are NaN, or every query is skipped.

    Notes
    -----
    The probability that none of the first t of n tied rows satisfies the reader is an elementary
    symmetric mean of their :math:`1 - q`. A group of ties takes O(n min(n, k)) time: set `k` if
    tens of thousands of rows are tied.

    References
    ----------
    Chapelle2009 (the metric).

    Examples
    --------
    >>> from sklearn_rank.metrics import err_score
    >>> err_score([1, 0, 1], [3, 2, 1]) == 1 / 2 + 1 / 3 / 4
    True
    """
    allowed = {"max_relevance": Number(0, closed="neither", other=(None,))}
    check_parameters("err_score", {"max_relevance": max_relevance}, allowed)
    query_mean, ranked = rank_queries("err_score", y_true, y_score, k, has_gains=True, **over)
    highest = float(ranked.relevance.max())
    limit = highest if max_relevance is None else float(max_relevance)
    if highest > limit:
        raise ValueError(f"y_true of err_score exceeds max_relevance={limit:g}. Got {highest:g}.")
    # 1 - q, with 2^y and 1 both divided by 2^max: neither overflows.
    unsatisfied = 1.0 - (np.exp2(ranked.relevance - limit) - np.exp2(-limit))
    values = _expected_reciprocal_stop(ranked, unsatisfied, ranked.depth(k))
    return query_mean.of(values, ranked.n_relevant > 0)


def _expected_reciprocal_stop(ranked: RankedQueries, unsatisfied: Floats, k: int) -> Floats:
    """Return the expected reciprocal rank of the stop, 0 after rank k, over all tied orders.

    The stop is at the t-th row of a tie group with probability ``M_(t-1) - M_t``, where M_t is
    the mean over orders of the product of the first t of `unsatisfied`.
    """
    start, n, n_before = ranked.ties.start, ranked.ties.length, ranked.n_before
    # 1) The terms of a reader who reaches a tie group: in the group of a single row ...
    terms = 1.0 - unsatisfied[start]
    terms /= n_before + 1
    terms[n_before >= k] = 0.0
    # ... and in larger ones. Groups of equal size are columns of one matrix: sizes are few.
    for size in np.unique(n[(n > 1) & (n_before < k)]):
        groups = np.flatnonzero((n == size) & (n_before < k))
        rows = unsatisfied[start[groups] + np.arange(size)[:, np.newaxis]]
        means = _symmetric_means(rows, min(int(size), k))
        rank = n_before[groups] + np.arange(1, len(means))[:, np.newaxis]
        stops = np.where(rank <= k, (means[:-1] - means[1:]) / rank, 0.0)
        terms[groups] = stops.sum(axis=0)
    # 2) The probability of reaching the group.
    none_satisfies = ranked.ties.reduce(np.multiply, unsatisfied)
    p_reached = ranked.queries.scan(np.multiply, none_satisfies, 1.0)
    return ranked.queries.reduce(np.add, p_reached * terms)


def _symmetric_means(values: Floats, degree: int) -> Floats:
    """Return the elementary symmetric means of degrees t = 0, ..., degree of each column.

    The mean of degree t is the mean product of t of the values. Each further value turns it into
    a convex combination of two earlier means, so that nothing cancels.
    """
    means = np.zeros((degree + 1, values.shape[1]))
    means[0] = 1.0
    t = np.arange(1, degree + 1)[:, np.newaxis]
    for count, value in enumerate(values, start=1):
        share = np.minimum(t / count, 1.0)
        means[1:] = (1.0 - share) * means[1:] + share * value * means[:-1]
    return means
