"""The ROC curve up to a false positive rate: its mean height, and its height at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.sums import Groups
from sklearn_rank._core.validation import Number, check_parameters
from sklearn_rank._core.warnings import warn
from sklearn_rank.metrics._ranked import OverQueries, QueryMean, divide, over_queries, rank_rows
from sklearn_rank.metrics.intervals import fraction_before
from sklearn_rank.metrics.scored_rows import ScoredRows

MAX_FPR = Number(0, 1, closed="right")
_Curve = Callable[[Groups, Floats, Floats, float], tuple[Floats, Floats]]


@over_queries
def partial_auc_score(
    y_true: Any,
    y_score: Any,
    *,
    max_fpr: float = 0.1,
    sample_weight: Any = None,
    **over: Unpack[OverQueries],
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
        Largest false positive rate that counts.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Multiplicities, non-negative.
    query_weight : dict, array-like of shape (n_samples,) or None, default=None
        Weight of each query in the mean, with ``average="mean"``: a dict with query ids as keys, or
        one number per row, constant within each query. None: 1 for all.
    average : {"mean"} or None, default="mean"
        "mean": the mean over queries. None: one value per query.
    empty : {"skip", 0, 1}, default="skip"
        Value of queries with relevant rows only, or without any: left out (NaN with
        ``average=None``), 0 or 1.

    Returns
    -------
    float or ndarray of shape (n_queries,)
        Between 0 and 1, greater is better; equal scores give ``max_fpr / 2``, the mean of a random
        order in long lists. In short lists a random order has more: one half for two rows. With
        ``average=None``, one value per query in the order of the sorted ids.

    Raises
    ------
    ValueError
        If a parameter is invalid, scores are NaN, or every query is skipped.

    Warns
    -----
    UserWarning
        If the arguments look swapped: scores are 0 and 1, and the relevance has fractions.

    See Also
    --------
    tpr_at_fpr_score : The share at one false positive rate.

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
    arrays = y_true, y_score, sample_weight
    return _measure("partial_auc_score", _mean_height, max_fpr, arrays, **over)


@over_queries
def tpr_at_fpr_score(
    y_true: Any,
    y_score: Any,
    *,
    max_fpr: float = 0.1,
    sample_weight: Any = None,
    **over: Unpack[OverQueries],
) -> float | Floats:
    r"""Compute the share of the relevant rows found at a false positive rate.

    .. math:: \mathrm{TPR}(a) = \frac{1}{P} \sum_{i} w_i \,
        \min\Bigl(1, \frac{(aN - N_i^+)_+}{N_i^=}\Bigr)

    where the sum runs over the relevant rows i of a query, of total weight P, a is `max_fpr`, N
    the weight of the other rows, :math:`N_i^+` that of the others scored higher than i and
    :math:`N_i^=` that of the others tied with i; without a tie the fraction is 1 for
    :math:`N_i^+ \le aN`, else 0. It is the height of the ROC curve at a, at the upper end where
    the curve is vertical; tied rows are joined by a straight line.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance; rows above 0 are relevant.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better. Infinite scores are allowed, NaN is not.
    max_fpr : float in (0, 1], default=0.1
        False positive rate a: the share of the other rows that may rank above.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Multiplicities, non-negative.
    query_weight : dict, array-like of shape (n_samples,) or None, default=None
        Weight of each query in the mean, with ``average="mean"``: a dict with query ids as keys, or
        one number per row, constant within each query. None: 1 for all.
    average : {"mean"} or None, default="mean"
        "mean": the mean over queries. None: one value per query.
    empty : {"skip", 0, 1}, default="skip"
        Value of queries with relevant rows only, or without any: left out (NaN with
        ``average=None``), 0 or 1.

    Returns
    -------
    float or ndarray of shape (n_queries,)
        Between 0 and 1, greater is better; a random order has ``max_fpr`` on average in long lists.
        With ``average=None``, one value per query in the order of the sorted ids.

    Raises
    ------
    ValueError
        If a parameter is invalid, scores are NaN, or every query is skipped.

    Warns
    -----
    UserWarning
        If the arguments look swapped: scores are 0 and 1, and the relevance has fractions.

    See Also
    --------
    partial_auc_score : The mean of these shares over all smaller false positive rates.

    References
    ----------
    Fawcett2006 (the ROC curve, ties joined by a straight line).

    Examples
    --------
    Half of the two others may be taken, so the relevant row between them counts as found:

    >>> from sklearn_rank.metrics import tpr_at_fpr_score
    >>> tpr_at_fpr_score([1, 0, 1, 0], [4, 3, 2, 1], max_fpr=0.5)
    1.0
    >>> tpr_at_fpr_score([1, 0, 1, 0], [4, 3, 2, 1], max_fpr=0.4)
    0.5
    """
    arrays = y_true, y_score, sample_weight
    return _measure("tpr_at_fpr_score", _height_at, max_fpr, arrays, **over)


def _measure(
    owner: str,
    measure: _Curve,
    max_fpr: float,
    arrays: tuple[Any, ...],
    **over: Unpack[OverQueries],
) -> float | Floats:
    """Evaluate a measure of each query's ROC curve up to `max_fpr`; average over queries.

    `measure` takes the queries (groups of tie groups by descending score), and the weights of the
    relevant rows and of the others in each tie group. It returns a value for each query and the
    largest one possible, 0 in queries of one class: they have no curve.
    """
    check_parameters(owner, {"max_fpr": max_fpr}, {"max_fpr": MAX_FPR})
    y_true, y_score, sample_weight = arrays
    query_mean = QueryMean.checked(owner, y_true, **over)
    rows = ScoredRows.with_relevance(y_true, y_score, over.get("qid"), sample_weight)
    are_classes = np.isin(rows.score, (0, 1)).all() and np.ptp(rows.score) == 1
    if are_classes and (rows.y % 1 != 0).any():
        warn(f"y_score of {owner} holds classes and y_true scores: y_true comes first.")
    # A curve depends on the shares of each class alone.
    ranked = rank_rows(rows.with_moderate_weights_in(2 * rows.query + (rows.y > 0)))
    is_relevant, weight = ranked.relevance > 0, ranked.rows.weight[ranked.order]
    relevant = ranked.ties.reduce(np.add, np.where(is_relevant, weight, 0.0))
    other = ranked.ties.reduce(np.add, np.where(is_relevant, 0.0, weight))
    measured, maximum = measure(ranked.queries, relevant, other, float(max_fpr))
    share = np.minimum(divide(measured, maximum), 1.0)
    values = np.full(ranked.rows.n_queries, np.nan)
    # A query whose rows all have weight zero is absent: `empty` does not apply to it.
    query_codes = ranked.rows.query[ranked.order[ranked.query_rows.start]]
    values[query_codes] = replace(query_mean, average=None).of(share, maximum > 0)
    return replace(query_mean, empty="skip").of(values, ~np.isnan(values))


def _height_at(
    queries: Groups, relevant: Floats, other: Floats, max_fpr: float
) -> tuple[Floats, Floats]:
    """Return the height of each query's curve at `max_fpr`, and at its end."""
    n_relevant, n_other = queries.reduce(np.add, relevant), queries.reduce(np.add, other)
    remaining = queries.spread(max_fpr * n_other) - queries.shift(queries.cumsum(other), 0.0)
    fraction = fraction_before(remaining, other, queries.spread(n_other))
    return queries.reduce(np.add, relevant * fraction), np.where(n_other > 0, n_relevant, 0.0)


def _mean_height(
    queries: Groups, relevant: Floats, other: Floats, max_fpr: float
) -> tuple[Floats, Floats]:
    """Return the area under each query's curve up to `max_fpr`, and the largest possible area."""
    upto_relevant, upto_other = queries.cumsum(relevant), queries.cumsum(other)
    n_relevant, n_other = upto_relevant[queries.end - 1], upto_other[queries.end - 1]
    limit = max_fpr * n_other
    width = np.clip(queries.spread(limit) - queries.shift(upto_other, 0.0), 0.0, other)
    height = queries.shift(upto_relevant, 0.0)
    # A straight line joins tied rows: its mean height over the width is that of its middle.
    height += relevant * width / np.maximum(2 * other, np.finfo(float).tiny)
    return queries.reduce(np.add, width * height), limit * n_relevant
