"""Precision and recall among the first rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.validation import Choice, Constraint, Number, check_parameters
from sklearn_rank.metrics._ranked import QueryMean, RankedQueries, divide, rank_queries

_K = Number(1, integer=True)


def _hits(ranked: RankedQueries, k: Indices) -> Floats:
    """Return the expected number of relevant rows among the first k of each query."""
    share = ranked.relevant / ranked.ties.length
    places = np.clip(ranked.queries.spread(k) - ranked.before, 0, ranked.ties.length)
    return ranked.queries.reduce(np.add, share * places)


def precision_at_k(
    y_true: Any,
    y_score: Any,
    *,
    k: int = 10,
    divide_by: str = "rows",
    qid: Any = None,
    query_weight: Any = None,
    average: str | None = "mean",
    empty: str | int = "skip",
) -> float | Floats:
    r"""Compute the share of relevant rows among the first k, the mean over queries.

    .. math:: P_k = \frac{1}{\min(k, n)} \sum_{t \le k} 1[y_{(t)} > 0]

    where :math:`y_{(t)}` is the relevance of the row at rank t of its query, which has n
    rows. Tied rows count as the mean over their orders. XGBoost divides as here; trec_eval divides
    by k in lists of fewer than k rows too: ``divide_by="k"``.

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
        What is divided by in a query with fewer than k rows: its number of "rows", or "k", so that
        the value stays below 1. The same in longer queries.
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
    mean = QueryMean.checked("precision_at_k", average, empty, query_weight, qid, y_true)
    ranked = rank_queries(y_true, y_score, qid)
    places = np.minimum(k, ranked.query_rows.length)
    values = _hits(ranked, places) / (places if divide_by == "rows" else k)
    return mean.of(values, ranked.n_relevant > 0)


def recall_at_k(
    y_true: Any,
    y_score: Any,
    *,
    k: int = 10,
    qid: Any = None,
    query_weight: Any = None,
    average: str | None = "mean",
    empty: str | int = "skip",
) -> float | Floats:
    r"""Compute the share of the relevant rows that are among the first k, the mean over queries.

    .. math:: \mathrm{recall}_k = \frac{1}{R} \sum_{t \le k} 1[y_{(t)} > 0]

    where :math:`y_{(t)}` is the relevance of the row at rank t of its query, which has R
    relevant rows. Tied rows count as the mean over their orders.

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
    >>> from sklearn_rank.metrics import recall_at_k
    >>> recall_at_k([1, 0, 1, 0], [4, 3, 2, 1], k=3)
    1.0
    """
    check_parameters("recall_at_k", {"k": k}, {"k": _K})
    mean = QueryMean.checked("recall_at_k", average, empty, query_weight, qid, y_true)
    ranked = rank_queries(y_true, y_score, qid)
    places = np.minimum(k, ranked.query_rows.length)
    values = divide(_hits(ranked, places), ranked.n_relevant)
    return mean.of(values, ranked.n_relevant > 0)


def r_precision(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    query_weight: Any = None,
    average: str | None = "mean",
    empty: str | int = "skip",
) -> float | Floats:
    r"""Compute the precision at R in queries with R relevant rows, the mean over queries.

    .. math:: \frac{1}{R} \sum_{t \le R} 1[y_{(t)} > 0]

    where :math:`y_{(t)}` is the relevance of the row at rank t. At this cut-off
    precision and recall are equal. Tied rows count as the mean over their orders.

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
    >>> from sklearn_rank.metrics import r_precision
    >>> r_precision([1, 0, 1, 0], [4, 3, 2, 1])
    0.5
    """
    mean = QueryMean.checked("r_precision", average, empty, query_weight, qid, y_true)
    ranked = rank_queries(y_true, y_score, qid)
    values = divide(_hits(ranked, ranked.n_relevant), ranked.n_relevant)
    return mean.of(values, ranked.n_relevant > 0)
