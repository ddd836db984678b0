"""Area under the left part of the ROC curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats
from sklearn_rank._validation import Number, check_parameters
from sklearn_rank.grouping import Groups
from sklearn_rank.metrics._ranked import average_queries, check_options, rank_rows
from sklearn_rank.metrics._scored_rows import ScoredRows


def partial_auc_score(
    y_true: Any,
    y_score: Any,
    *,
    max_fpr: float = 0.1,
    qid: Any = None,
    sample_weight: Any = None,
    average: str | None = "mean",
    empty: str | int = "skip",
) -> float | Floats:
    r"""Compute the mean height of the ROC curve up to a false positive rate.

    .. math:: \mathrm{pAUC} = \frac{1}{a} \int_0^a \mathrm{TPR}(x) \, dx

    where a is `max_fpr` and :math:`\mathrm{TPR}(x)` the true positive rate of a query at a false
    positive rate of x. The curve joins tied rows by a straight line. At a = 1 it is the AUC of
    relevant rows against the others. scikit-learn's ``roc_auc_score(max_fpr=a)`` is
    :math:`\tfrac12 \bigl(1 + (a\,\mathrm{pAUC} - a^2/2) / (a - a^2/2)\bigr)`: one half for
    random order.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance; rows above 0 are relevant.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better. Infinite scores are allowed, NaN is not.
    max_fpr : float in (0, 1], default=0.1
        Right end of the part of the ROC curve that counts.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Multiplicities, non-negative.
    average : {"mean"} or None, default="mean"
        "mean": the mean over queries, each counting once. None: one value for each query.
    empty : {"skip", 0, 1}, default="skip"
        Value of queries with relevant rows only, or without any: left out (NaN with
        ``average=None``), 0 or 1.

    Returns
    -------
    float or ndarray of shape (n_queries,)
        Between 0 and 1, greater is better; random order has ``max_fpr / 2`` on average.
        With ``average=None`` one value for each query in the order of the sorted ids.

    Raises
    ------
    ValueError
        When a parameter is not allowed, scores are NaN, or every query is skipped.

    References
    ----------
    McClish1989 (the area, and the form of scikit-learn).

    Examples
    --------
    >>> from sklearn_rank.metrics import partial_auc_score
    >>> partial_auc_score([1, 0, 1, 0], [4, 3, 2, 1], max_fpr=0.5)
    0.5
    >>> partial_auc_score([1, 0, 1, 0], [4, 3, 2, 1], max_fpr=1)
    0.75
    """
    check_options("partial_auc_score", average, empty)
    allowed = {"max_fpr": Number(0, 1, closed="right")}
    check_parameters("partial_auc_score", {"max_fpr": max_fpr}, allowed)
    rows = ScoredRows.with_relevance(y_true, y_score, qid, sample_weight)
    ranked = rank_rows(rows.with_moderate_weights())
    relevant, weight = ranked.relevance > 0, ranked.rows.weight[ranked.order]
    found = ranked.ties.reduce(np.add, np.where(relevant, weight, 0.0))
    other = ranked.ties.reduce(np.add, np.where(relevant, 0.0, weight))
    share = _mean_height(ranked.queries, found, other, float(max_fpr))
    values = np.full(ranked.rows.n_queries, np.nan)
    # A query whose rows all weigh nothing is absent: it is not even empty.
    kept = ranked.rows.query[ranked.order[ranked.query_rows.start]]
    values[kept] = average_queries(share, ~np.isnan(share), None, empty)
    return average_queries(values, ~np.isnan(values), average, "skip")


def _mean_height(queries: Groups, found: Floats, other: Floats, max_fpr: float) -> Floats:
    """Integrate the curve of each query over its tie groups; NaN in queries of one class.

    `found` and `other` are the weights of the relevant rows and of the others in each group.
    """
    upto_found, upto_other = queries.cumsum(found), queries.cumsum(other)
    n_found, n_other = upto_found[queries.end - 1], upto_other[queries.end - 1]
    limit = max_fpr * n_other
    passed = np.clip(queries.spread(limit) - queries.shift(upto_other, 0.0), 0.0, other)
    height = queries.shift(upto_found, 0.0)
    height += found * passed / np.maximum(2 * other, np.finfo(float).tiny)
    area = queries.reduce(np.add, passed * height)
    has_both = (n_found > 0) & (n_other > 0)
    share = np.full(queries.n_groups, np.nan)
    share[has_both] = area[has_both] / (limit * n_found)[has_both]
    return np.asarray(np.minimum(share, 1.0))
