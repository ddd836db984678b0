"""Area under the ROC curve, over pairs within queries."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.validation import Choice, check_parameters
from sklearn_rank.metrics.pair_counts import NO_PAIR, count_pairs
from sklearn_rank.metrics.scored_rows import ScoredRows


def auc_score(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    sample_weight: Any = None,
    average: str | None = "pooled",
) -> float | Floats:
    r"""Compute the area under the ROC curve (AUC) over the pairs within queries.

    .. math:: \mathrm{AUC} = \frac{\sum_{ik} w_i w_k
        \bigl(1[f_i > f_k] + \tfrac12 1[f_i = f_k]\bigr)}{\sum_{ik} w_i w_k}

    where the sums run over the pairs of rows of one query with :math:`y_i > y_k`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance: numbers or booleans, greater is better. Two values or many.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better. Infinite scores are allowed, NaN is not.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Multiplicities, non-negative.
    average : {"pooled", "queries"} or None, default="pooled"
        "pooled": both sums run over the pairs of all queries. "queries": the mean of the
        AUCs of the queries that have a pair, each counting once. None: one AUC for each query.

    Returns
    -------
    float or ndarray of shape (n_queries,)
        Between 0 and 1, greater is better. Ties count one half. With two relevances
        and one list it equals scikit-learn's ``roc_auc_score``. With ``average=None`` one
        value for each query in the order of the sorted ids, NaN without a pair.

    Raises
    ------
    ValueError
        When no query has rows of different relevance, unless ``average=None``. (scikit-learn's
        ``roc_auc_score`` warns and returns NaN where there is one class only.)

    References
    ----------
    Freund2003, text not at hand (one minus the ranking loss, with ties counted one half).

    Examples
    --------
    >>> from sklearn_rank.metrics import auc_score
    >>> auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    >>> auc_score([0, 1, 0, 1], [1, 2, 3, 4], qid=["a", "a", "b", "b"])
    1.0
    >>> auc_score([0, 1, 0, 1], [1, 2, 4, 3], qid=["a", "a", "b", "b"], average=None)
    array([1., 0.])
    """
    allowed = {"average": Choice(("pooled", "queries", None))}
    check_parameters("auc_score", {"average": average}, allowed)
    rows = ScoredRows.with_relevance(y_true, y_score, qid, sample_weight)
    is_pooled = average == "pooled"
    rows = rows.with_moderate_weights() if is_pooled else rows.with_moderate_weights_in(rows.query)
    counts, weight = count_pairs(rows), rows.weight
    wrong = counts.lower + counts.tied / 2
    if is_pooled:
        return 1.0 - float(weight @ wrong) / counts.pair_weight(weight)
    pairs = np.bincount(rows.query, weight * counts.total, rows.n_queries)
    has_pair, values = pairs > 0, np.full(rows.n_queries, np.nan)
    lost = np.bincount(rows.query, weight * wrong, rows.n_queries)[has_pair]
    values[has_pair] = 1.0 - np.minimum(lost / pairs[has_pair], 1.0)
    if average is None:
        return values
    if not has_pair.any():
        raise ValueError(NO_PAIR)
    return float(values[has_pair].mean())
