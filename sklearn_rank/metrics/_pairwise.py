"""Metrics over comparable pairs, counted in O(n log n)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d

from sklearn_rank._protocols import Floats, Indices, Mask, Values
from sklearn_rank._validation import check_qid, check_relevance, check_weight


@dataclass(frozen=True)
class AboveCounts:
    """For each row k, the weight of the rows i that must rank above it.

    Attributes
    ----------
    total : ndarray of shape (n_rows,)
        Weight of all comparable rows above k.
    lower : ndarray of shape (n_rows,)
        Part of it that is scored lower than k, although it should be higher.
    tied : ndarray of shape (n_rows,)
        Part of it that has the score of k.
    """

    total: Floats
    lower: Floats
    tied: Floats


def count_above(
    relevance: Floats, scores: Floats, qid: Indices | None, weight: Floats
) -> AboveCounts:
    """Count, for each row, how the rows that must rank above it are scored.

    Two relevances differ first in one binary digit of their ranks. For each digit the
    rows that agree in all higher digits form a group, in which a 1 must rank above a 0:
    a bipartite count by sorting. So L levels cost log2(L) sorts.
    """
    level = np.unique(relevance, return_inverse=True)[1].ravel()
    query = np.zeros_like(level) if qid is None else qid
    by_score = np.argsort(scores, kind="stable")
    counts = AboveCounts(*(np.zeros(len(level)) for _ in range(3)))
    n_digits = max(1, int(level.max()).bit_length())
    for digit in range(n_digits):
        group = (query << (n_digits - digit - 1)) + (level >> (digit + 1))
        order = by_score[np.argsort(group[by_score], kind="stable")]
        is_above = (level[order] >> digit) & 1
        _count_digit(counts, order, group[order], scores[order], is_above, weight)
    return counts


def _count_digit(
    counts: AboveCounts,
    order: Indices,
    group: Indices,
    scores: Floats,
    is_above: Indices,
    weight: Floats,
) -> None:
    """Add the pairs of one digit; rows come sorted by group and score.

    Counts are differences of one running sum over all groups. Scaled by powers of two
    every group weighs about one, so that a light group loses nothing beside a heavy one.
    """
    new_group = _differs(group)
    above = weight[order] * is_above
    first = np.flatnonzero(new_group)
    length = np.diff(first, append=len(group))
    exponent = np.repeat(np.frexp(np.add.reduceat(above, first))[1], length)
    upto = np.concatenate([[0.0], np.cumsum(np.ldexp(above, -exponent))])
    ends = []
    for is_new in (new_group, new_group | _differs(scores)):
        first = np.flatnonzero(is_new)
        last = np.append(first[1:], len(group))
        length = last - first
        ends.append((np.repeat(upto[first], length), np.repeat(upto[last], length)))
    (group_first, group_last), (run_first, run_last) = ends
    below = is_above == 0
    rows, exponent = order[below], exponent[below]
    counts.total[rows] += np.ldexp((group_last - group_first)[below], exponent)
    counts.lower[rows] += np.ldexp((run_first - group_first)[below], exponent)
    counts.tied[rows] += np.ldexp((run_last - run_first)[below], exponent)


def _differs(values: Values) -> Mask:
    """Mark where a sorted array has a new value; a difference could overflow."""
    return np.concatenate([[True], values[1:] != values[:-1]])


def _validated(
    y_true: Any, y_score: Any, qid: Any, sample_weight: Any
) -> tuple[Floats, Floats, Indices | None, Floats]:
    """Return checked arrays without rows of weight zero."""
    relevance = check_relevance(y_true, name="y_true")
    scores = column_or_1d(y_score).astype(np.float64)
    check_consistent_length(relevance, scores)
    if np.isnan(scores).any():
        raise ValueError("y_score contains NaN: an order needs comparable scores.")
    weight = check_weight(sample_weight, len(relevance))
    codes = None if qid is None else check_qid(qid, len(relevance))
    keep = weight > 0
    if not keep.all():
        relevance, scores, weight = relevance[keep], scores[keep], weight[keep]
        codes = None if codes is None else codes[keep]
    return relevance, scores, codes, weight


def _pairs_of(counts: AboveCounts, weight: Floats) -> float:
    pairs = float(weight @ counts.total)
    if pairs == 0:
        raise ValueError(
            "There is no comparable pair: no query has rows of different relevance, so "
            "that no order is better than another."
        )
    return pairs


def auc_score(y_true: Any, y_score: Any, *, qid: Any = None, sample_weight: Any = None) -> float:
    r"""Area under the ROC curve, within queries and pooled over their pairs.

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
    sample_weight : array-like of shape (n_samples,), default=None
        Multiplicities, non-negative.

    Returns
    -------
    float
        Between 0 and 1, greater is better. Ties count one half. With two relevances
        and one list it is scikit-learn's ``roc_auc_score``.

    Raises
    ------
    ValueError
        When no query has rows of different relevance.

    References
    ----------
    Freund2003 (one minus the ranking loss, with ties counted one half).

    Examples
    --------
    >>> from sklearn_rank.metrics import auc_score
    >>> auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    >>> auc_score([0, 1, 0, 1], [1, 2, 3, 4], qid=["a", "a", "b", "b"])
    1.0
    """
    relevance, scores, codes, weight = _validated(y_true, y_score, qid, sample_weight)
    counts = count_above(relevance, scores, codes, weight)
    pairs = _pairs_of(counts, weight)
    return 1.0 - float(weight @ (counts.lower + counts.tied / 2)) / pairs


def p_norm_push_loss(
    y_true: Any,
    y_score: Any,
    *,
    p: float,
    qid: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Normalised p-norm push loss :math:`R_{p,1}` with the zero-one loss.

    .. math:: R_{p,1} = \Bigl(\frac{\sum_k w_k s_k^p}{\sum_k w_k}\Bigr)^{1/p},
        \qquad s_k = \frac{\sum_{i \text{ above } k} w_i 1[f_i \le f_k]}
        {\sum_{i \text{ above } k} w_i}

    where k runs over the rows that have a row above them in their query: :math:`s_k` is
    the share of these that row k is not below. The larger p, the more the loss is that
    of the worst rows, those at the top of the list.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance: numbers or booleans, greater is better. Two values or many.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better.
    p : float in [1, inf]
        The power. At p = inf the loss is the largest share.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    sample_weight : array-like of shape (n_samples,), default=None
        Multiplicities, non-negative.

    Returns
    -------
    float
        Between 0 and 1, smaller is better. Ties are errors; without ties it is
        ``1 - auc_score`` at p = 1 in one bipartite list.

    Raises
    ------
    ValueError
        When no query has rows of different relevance, or p is below 1.

    References
    ----------
    Rudin2009, sec. 2 (the sum) and sec. 4 (normalised to [0, 1]).

    Examples
    --------
    >>> from sklearn_rank.metrics import p_norm_push_loss
    >>> p_norm_push_loss([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], p=1)
    0.25
    >>> round(p_norm_push_loss([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], p=8), 3)
    0.459
    """
    if not p >= 1:
        raise ValueError(f"p_norm_push_loss: p must be a float in [1, inf]. Got {p!r}.")
    relevance, scores, codes, weight = _validated(y_true, y_score, qid, sample_weight)
    counts = count_above(relevance, scores, codes, weight)
    _pairs_of(counts, weight)
    has_pair = counts.total > 0
    wrong = (counts.lower + counts.tied)[has_pair]
    share = np.minimum(wrong / counts.total[has_pair], 1.0)
    worst = float(share.max())
    if worst == 0 or np.isinf(p):
        return worst
    # Relative to the largest share: its power can't underflow.
    mean = np.average((share / worst) ** p, weights=weight[has_pair])
    return worst * float(mean) ** (1 / p)
