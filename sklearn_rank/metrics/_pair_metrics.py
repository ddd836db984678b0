"""Rows and pairs that the metrics count, in O(n log n)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d

from sklearn_rank._protocols import Floats, Indices
from sklearn_rank._validation import (
    Choice,
    check_parameters,
    check_qid,
    check_relevance,
    check_weight,
)
from sklearn_rank.grouping import starts_run


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


@dataclass(frozen=True)
class Digit:
    """Rows sorted by group and key; in each group the rows with a 1 must rank above the others.

    Attributes
    ----------
    order : ndarray of shape (n_rows,)
        The rows in sorted order; the other arrays follow it.
    group : ndarray of shape (n_rows,)
        Rows of one query whose relevances agree in all higher digits.
    is_above : ndarray of shape (n_rows,)
        The digit: 0 or 1.
    key : ndarray of shape (n_rows,)
        The score of a row that must rank above, score + margin of one below.
    """

    order: Indices
    group: Indices
    is_above: Indices
    key: Floats


def digits(
    relevance: Floats, scores: Floats, qid: Indices | None, margin: float = 0.0
) -> Iterator[Digit]:
    """Split the comparable pairs into bipartite ones.

    Two relevances differ first in one binary digit of their ranks. For each digit the
    rows that agree in all higher digits form a group, in which a 1 must rank above a 0.
    So L levels cost log2(L) sorts, and each pair is met exactly once.
    """
    level = np.unique(relevance, return_inverse=True)[1].ravel()
    query = np.zeros_like(level) if qid is None else qid
    by_key = np.argsort(scores, kind="stable")
    n_digits = max(1, int(level.max()).bit_length())
    for digit in range(n_digits):
        is_above, key = (level >> digit) & 1, scores
        if margin:
            key = np.where(is_above == 1, scores, scores + margin)
            by_key = np.argsort(key, kind="stable")
        group = (query << (n_digits - digit - 1)) + (level >> (digit + 1))
        order = by_key[np.argsort(group[by_key], kind="stable")]
        yield Digit(order, group[order], is_above[order], key[order])


def count_above(
    relevance: Floats,
    scores: Floats,
    qid: Indices | None,
    weight: Floats,
    margin: float = 0.0,
) -> AboveCounts:
    """Count, for each row k, the rows that must rank above it by their score.

    Lower and tied compare with the score of k plus the margin.
    """
    counts = AboveCounts(*(np.zeros(len(scores)) for _ in range(3)))
    for digit in digits(relevance, scores, qid, margin):
        _count_digit(counts, digit, weight)
    return counts


def _count_digit(counts: AboveCounts, digit: Digit, weight: Floats) -> None:
    """Add the pairs of one digit.

    Counts are differences of one running sum over all groups. Scaled by powers of two
    every group weighs about one, so that a light group loses nothing beside a heavy one.
    """
    new_group = starts_run(digit.group)
    above = weight[digit.order] * digit.is_above
    first = np.flatnonzero(new_group)
    length = np.diff(first, append=len(above))
    exponent = np.repeat(np.frexp(np.add.reduceat(above, first))[1], length)
    upto = np.concatenate([[0.0], np.cumsum(np.ldexp(above, -exponent))])
    ends = []
    for is_new in (new_group, new_group | starts_run(digit.key)):
        first = np.flatnonzero(is_new)
        last = np.append(first[1:], len(above))
        length = last - first
        ends.append((np.repeat(upto[first], length), np.repeat(upto[last], length)))
    (group_first, group_last), (run_first, run_last) = ends
    below = digit.is_above == 0
    rows, exponent = digit.order[below], exponent[below]
    counts.total[rows] += np.ldexp((group_last - group_first)[below], exponent)
    counts.lower[rows] += np.ldexp((run_first - group_first)[below], exponent)
    counts.tied[rows] += np.ldexp((run_last - run_first)[below], exponent)


def validated(
    y_true: Any, y_score: Any, qid: Any, sample_weight: Any
) -> tuple[Floats, Floats, Indices | None, Floats]:
    """Return checked arrays without rows of weight zero."""
    relevance = check_relevance(y_true, name="y_true")
    scores = column_or_1d(y_score).astype(np.float64, copy=False)
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


def pairs_of(counts: AboveCounts, weight: Floats) -> float:
    pairs = float(weight @ counts.total)
    if pairs == 0:
        raise ValueError(NO_PAIR)
    return pairs


NO_PAIR = (
    "There is no comparable pair: no query has rows of different relevance, so that no order "
    "is better than another."
)


@overload
def auc_score(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    sample_weight: Any = None,
    average: Literal["pooled", "queries"] = "pooled",
) -> float: ...


@overload
def auc_score(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    sample_weight: Any = None,
    average: None,
) -> Floats: ...


def auc_score(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    sample_weight: Any = None,
    average: Literal["pooled", "queries"] | None = "pooled",
) -> float | Floats:
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
    average : {"pooled", "queries"} or None, default="pooled"
        "pooled": both sums run over the pairs of all queries. "queries": the mean of the
        AUCs of the queries that have a pair, each counting once. None: these AUCs.

    Returns
    -------
    float or ndarray of shape (n_queries,)
        Between 0 and 1, greater is better. Ties count one half. With two relevances
        and one list it is scikit-learn's ``roc_auc_score``. With ``average=None`` one
        value for each query in the order of the sorted ids, NaN without a pair.

    Raises
    ------
    ValueError
        When no query has rows of different relevance and an average is wanted.

    References
    ----------
    Freund2003, no number at hand (one minus the ranking loss, with ties counted one half).

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
    relevance, scores, codes, weight = validated(y_true, y_score, qid, sample_weight)
    counts = count_above(relevance, scores, codes, weight)
    wrong = counts.lower + counts.tied / 2
    if average == "pooled":
        return 1.0 - float(weight @ wrong) / pairs_of(counts, weight)
    n_queries = 1 if qid is None else int(check_qid(qid, len(y_true)).max()) + 1
    query = np.zeros(len(scores), dtype=np.intp) if codes is None else codes
    pairs = np.bincount(query, weight * counts.total, n_queries)
    has_pair = pairs > 0
    values = np.full(n_queries, np.nan)
    lost = np.bincount(query, weight * wrong, n_queries)[has_pair]
    values[has_pair] = 1.0 - np.minimum(lost / pairs[has_pair], 1.0)
    if average is None:
        return values
    if not has_pair.any():
        raise ValueError(NO_PAIR)
    return float(values[has_pair].mean())
