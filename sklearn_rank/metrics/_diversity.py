"""Metrics of lists that serve several intents of a query."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.validation import Number, check_finite, check_parameters
from sklearn_rank.metrics._discounts import discounts_of
from sklearn_rank.metrics._err import check_top, expected_reciprocal_stop, symmetric_means
from sklearn_rank.metrics._ranked import QueryMean, RankedQueries, divide, rank_queries

_ROUNDING = 1e-12
"""Relative difference below which two rows add equally."""


def alpha_ndcg_score(
    y_true: Any,
    y_score: Any,
    *,
    alpha: float = 0.5,
    k: int | None = None,
    qid: Any = None,
    query_weight: Any = None,
    average: str | None = "mean",
    empty: str | int = "skip",
) -> float | Floats:
    r"""Compute the alpha-NDCG, a gain that falls when an intent is served again.

    .. math:: \alpha\text{-}\mathrm{DCG}_k = \sum_{t \le k} \frac{1}{\log_2(1 + t)}
        \sum_j J_j(t) \, (1 - \alpha)^{r_j(t - 1)}, \qquad r_j(t) = \sum_{s \le t} J_j(s)

    where :math:`J_j(t)` is 1 if the row at rank t of the query serves intent j and 0 if not, so
    that :math:`r_j(t)` of the first t rows serve it. It is divided by that of the greedy order:
    each rank gets the row that adds most. The best order of all is NP-hard to find, and may have
    slightly more; values above 1 are returned as 1. Among rows that add equally, the greedy order
    takes the one that serves the first intent, then the second, and so on, so that the order of the
    rows does not matter. Tied rows count as the mean over their orders, which is exact: after
    :math:`r_j` rows that serve intent j, of n tied rows c of which do, place t of the tie adds

    .. math:: \frac{c}{n} (1 - \alpha)^{r_j} \, \mathrm{E} \, (1 - \alpha)^H

    with H the number of rows that serve j among t - 1 drawn from n - 1 of which c - 1 do.

    Parameters
    ----------
    y_true : array-like of shape (n_samples, n_intents)
        Which intents a row serves: above 0. Intent j of one query has nothing to do with intent j
        of another; an intent that no row of a query serves does not count there.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better. Infinite scores are allowed, NaN is not.
    alpha : float in [0, 1], default=0.5
        The chance that a row that serves an intent leaves nothing to gain for it. 0: repetition
        costs nothing.
    k : int >= 1 or None, default=None
        Cut-off: only the first k ranks count, in the greedy order too. None: all.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    query_weight : dict, array-like of shape (n_samples,) or None, default=None
        Weight of each query in the mean, with ``average="mean"``: a dict with query ids as keys, or
        one number for each row, the same in all rows of a query. None: 1 for all.
    average : {"mean"} or None, default="mean"
        "mean": the mean over queries. None: one value for each query.
    empty : {"skip", 0, 1}, default="skip"
        Value of queries without a row that serves an intent: left out (NaN with ``average=None``),
        0 or 1.

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
    The greedy order takes O(n k m) time for a query of n rows with m intents, a tie of n rows
    O(n min(n, k) m): set `k` for long lists.

    References
    ----------
    Clarke2008 (gain and greedy ideal). McSherry2008 (tied rows); the mean for this gain is derived
    here.

    Examples
    --------
    Two rows serve the first intent, one the second:

    >>> from sklearn_rank.metrics import alpha_ndcg_score
    >>> intents = [[1, 0], [1, 0], [0, 1]]
    >>> alpha_ndcg_score(intents, [3, 1, 2])
    1.0
    >>> round(alpha_ndcg_score(intents, [3, 2, 1]), 3)
    0.965
    """
    owner = "alpha_ndcg_score"
    check_parameters(owner, {"alpha": alpha}, {"alpha": Number(0, 1)})
    served = _intents(owner, y_true) > 0
    mean = QueryMean.checked(owner, average, empty, query_weight, qid, served[:, 0], k=k)
    ranked = rank_queries(served.any(axis=1), y_score, qid)
    discount = discounts_of(owner, None, ranked.depth(k))
    sorted_rows = served[ranked.order].astype(np.float64)
    dcg = _expected_alpha_dcg(ranked, sorted_rows, float(alpha), discount)
    queries = np.split(sorted_rows, ranked.query_rows.start[1:])
    best = np.array([_greedy_alpha_dcg(rows, float(alpha), discount) for rows in queries])
    values = np.minimum(divide(dcg, best), 1.0)
    return mean.of(values, ranked.n_relevant > 0)


def intent_aware_err_score(
    y_true: Any,
    y_score: Any,
    *,
    intent_probability: Any = None,
    k: int | None = None,
    max_relevance: float | None = None,
    qid: Any = None,
    query_weight: Any = None,
    average: str | None = "mean",
    empty: str | int = "skip",
) -> float | Floats:
    r"""Compute the intent-aware expected reciprocal rank, the mean of the ERR over intents.

    .. math:: \text{ERR-IA} = \sum_j P(j) \sum_{t \le k} \frac{1}{t} \, q_j(t)
        \prod_{s < t} \bigl(1 - q_j(s)\bigr), \qquad q_j = \frac{2^{y_j} - 1}{2^{y_{\max}}}

    where :math:`P(j)` is the probability that the reader of the query has intent j, and
    :math:`q_j(t)` that the row at rank t satisfies such a reader. Tied rows count as the mean over
    their orders.

    Parameters
    ----------
    y_true : array-like of shape (n_samples, n_intents)
        Relevance of each row for each intent, non-negative.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better. Infinite scores are allowed, NaN is not.
    intent_probability : array-like of shape (n_intents,) or (n_queries, n_intents), default=None
        Probability of each intent, in all queries or in each (in the order of the sorted ids).
        Non-negative; rows are divided by their sums. None: in each query equal for the intents that
        have a relevant row.
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

    See Also
    --------
    err_score : The same of one intent, with the cost of tied rows.

    References
    ----------
    Agrawal2009 (the mean of a metric over intents). Chapelle2009 (ERR).

    Examples
    --------
    >>> from sklearn_rank.metrics import intent_aware_err_score
    >>> intents = [[1, 0], [1, 0], [0, 1]]
    >>> intent_aware_err_score(intents, [3, 1, 2]) == (1 / 2 + 1 / 12 + 1 / 4) / 2
    True
    """
    owner = "intent_aware_err_score"
    relevance = _intents(owner, y_true)
    mean = QueryMean.checked(owner, average, empty, query_weight, qid, relevance[:, 0], k=k)
    top = check_top(owner, float(relevance.max()), max_relevance)
    ranked = rank_queries(relevance.max(axis=1), y_score, qid)
    sorted_rows = relevance[ranked.order]
    probability = _probabilities(ranked, sorted_rows, intent_probability)
    unsatisfied = 1.0 - (np.exp2(sorted_rows - top) - np.exp2(-top))
    k = ranked.depth(k)
    of_intents = [
        expected_reciprocal_stop(ranked, np.ascontiguousarray(one), k) for one in unsatisfied.T
    ]
    values = np.einsum("qj,jq->q", probability, np.array(of_intents))
    return mean.of(values, ranked.n_relevant > 0)


def _intents(owner: str, y_true: Any) -> Floats:
    """Return the relevance of each row for each intent."""
    relevance = check_finite(y_true, "y_true")
    if relevance.ndim != 2:
        raise ValueError(
            f"y_true of {owner} must have shape (n_samples, n_intents), one column for each "
            f"intent. Got shape {relevance.shape}."
        )
    if relevance.min() < 0:
        raise ValueError(f"y_true of {owner} must not be negative. Got {relevance.min():g}.")
    return relevance


def _probabilities(ranked: RankedQueries, relevance: Floats, given: Any) -> Floats:
    """Return the probability of each intent in each query."""
    if given is None:
        highest = ranked.query_rows.reduce(np.maximum, relevance)
        found: Floats = np.asarray(highest > 0, dtype=np.float64)
    else:
        found = check_finite(given, "intent_probability")
        shape = (ranked.query_rows.n_groups, relevance.shape[1])
        if found.shape not in (shape, shape[1:]):
            raise ValueError(
                f"intent_probability of intent_aware_err_score must have shape {shape[1:]} or "
                f"{shape}, the queries in the order of their ids. Got shape {found.shape}."
            )
        found = np.broadcast_to(found, shape)
        if found.min() < 0 or not found.any(axis=1).all():
            raise ValueError(
                "intent_probability of intent_aware_err_score must not be negative, and positive "
                "for an intent of each query."
            )
    found = found / (found.max(axis=1, keepdims=True) + (found.max(axis=1, keepdims=True) == 0))
    return np.asarray(found / np.maximum(found.sum(axis=1, keepdims=True), 1.0))


def _expected_alpha_dcg(
    ranked: RankedQueries, served: Floats, alpha: float, discount: Floats
) -> Floats:
    """Return the mean over tied orders of each query."""
    n, before, k = ranked.ties.length, ranked.before, len(discount)
    serving = ranked.ties.reduce(np.add, served)
    running = np.cumsum(serving, axis=0) - serving
    running -= ranked.queries.spread(running[ranked.queries.start])
    share = serving / n[:, np.newaxis] * (1.0 - alpha) ** running
    gains = np.zeros(len(n))
    alone = (n == 1) & (before < k)
    gains[alone] = share[alone].sum(axis=1) * discount[before[alone]]
    # Tie groups of one size, and their intents, are the columns of one matrix.
    for size in np.unique(n[(n > 1) & (before < k)]):
        groups = np.flatnonzero((n == size) & (before < k))
        number, intent = np.nonzero(serving[groups])
        group = groups[number]
        others = np.arange(size - 1)[:, np.newaxis] < serving[group, intent] - 1
        means = symmetric_means(np.where(others, 1.0 - alpha, 1.0), min(int(size), k) - 1)
        place = before[group] + np.arange(len(means))[:, np.newaxis]
        seen = np.where(place < k, discount[np.minimum(place, k - 1)], 0.0)
        np.add.at(gains, group, share[group, intent] * (means * seen).sum(axis=0))
    return np.asarray(ranked.queries.reduce(np.add, gains))


def _greedy_alpha_dcg(served: Floats, alpha: float, discount: Floats) -> float:
    """Return the alpha-DCG of the order in which each row adds most."""
    left = served[np.lexsort(-served.T[::-1])]
    left = left[left.any(axis=1)]
    value, worth = 0.0, np.ones(served.shape[1])
    for seen in discount[: len(left)]:
        gains = left @ worth
        best = int(np.argmax(gains >= gains.max() * (1.0 - _ROUNDING)))
        value += float(seen * gains[best])
        worth[left[best] > 0] *= 1.0 - alpha
        left = np.delete(left, best, axis=0)
    return value
