"""Losses of Rudin2009 that emphasise errors at the top of the list."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.validation import FLAG, Choice, Constraint, Number, check_parameters
from sklearn_rank._pair_sums import MARGIN_LOSSES, MarginLoss
from sklearn_rank.metrics._push_sums import push_sums
from sklearn_rank.metrics.pair_counts import count_pairs
from sklearn_rank.metrics.scored_rows import ScoredRows

_PARAMETERS: dict[str, Constraint] = {
    "p": Number(1),
    "loss": Choice(("zero_one", *MARGIN_LOSSES), "a MarginLoss", MarginLoss),
    "margin": Number(-np.inf, closed="neither"),
    "normalize": FLAG,
}


def p_norm_push_loss(
    y_true: Any,
    y_score: Any,
    *,
    p: float,
    loss: str | MarginLoss = "zero_one",
    margin: float = 0.0,
    normalize: bool = True,
    qid: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Compute the p-norm push loss, by default normalised and with the zero-one loss.

    .. math:: R_{p,\ell} = \Bigl(\frac{\sum_k w_k s_k^p}{\sum_k w_k}\Bigr)^{1/p},
        \qquad s_k = \frac{\sum_{i \text{ above } k} w_i \, \ell(f_i - f_k - \theta)}
        {\sum_{i \text{ above } k} w_i}

    where k runs over the rows that have a row above them in their query, :math:`\ell` is the
    `loss` of a margin and :math:`\theta` the required `margin`. With the zero-one loss
    :math:`s_k` is the share of the rows above k that are not scored above it. The larger p, the
    more weight the largest :math:`s_k` have: those of rows near the top of the list.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance: numbers or booleans, greater is better. Two values or many.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better. Infinite ones only with the zero-one loss.
    p : float in [1, inf]
        The power. At p = inf the loss is the maximum of :math:`s_k`.
    loss : str or MarginLoss, default="zero_one"
        "zero_one", :math:`1[m \le 0]`, or a loss of `PNormPushRanker`: "exponential",
        :math:`e^{-m}`; "logistic", :math:`\ln(1 + e^{-m})`; "hinge", :math:`\max(0, 1 - m)`;
        "squared_hinge"; "least_squares"; or one of your own.
        The logistic loss has the natural logarithm, as in the paper's Tables 1 and 2 and in
        the objectives; to bound the zero-one loss (Theorem 1) divide it by ln 2 (sec. 3.1).
    margin : float, default=0.0
        The required margin :math:`\theta`. With the zero-one loss a pair is an error
        when :math:`f_i \le f_k + \theta`.
    normalize : bool, default=True
        False: the raw sum of the paper,
        :math:`\sum_k w_k (\sum_i w_i \ell(f_i - f_k - \theta))^p`; finite p only.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Multiplicities, non-negative.

    Returns
    -------
    float
        Smaller is better; infinite where it overflows. With the zero-one loss and
        ``normalize=True`` it is between 0 and 1. Ties are errors; without ties it equals
        ``1 - auc_score`` at p = 1 in one bipartite list.

    Raises
    ------
    ValueError
        When no query has rows of different relevance, or a parameter is not allowed.

    Notes
    -----
    Pairs are not enumerated: a long list of n rows costs O(n) (exponential and logistic loss) or
    O(n log n), times the logarithm of the number of levels. For the logistic loss the absolute
    error of :math:`s_k` is then at most 1e-12, so that far smaller values have no correct digits;
    short lists, and the other losses, are exact up to rounding.

    References
    ----------
    Rudin2009, sec. 2 (the sum), Theorem 1 (the bound), sec. 4 (margin, normalised to [0, 1]),
    sec. 7 (the raw sum over graded pairs).

    Examples
    --------
    >>> from sklearn_rank.metrics import p_norm_push_loss
    >>> p_norm_push_loss([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], p=1)
    0.25
    >>> round(p_norm_push_loss([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], p=8), 3)
    0.459
    >>> p_norm_push_loss([0, 0, 1, 1], [1, 3, 2, 4], p=2, loss="hinge", normalize=False)
    4.0
    """
    values = {"p": p, "loss": loss, "margin": margin, "normalize": normalize}
    check_parameters("p_norm_push_loss", values, _PARAMETERS)
    if not normalize and np.isinf(p):
        raise ValueError(
            "p_norm_push_loss: the raw sum (normalize=False) has no limit at p=inf. "
            "max_height_loss is the largest of its terms."
        )
    rows = ScoredRows.with_relevance(y_true, y_score, qid, sample_weight)
    with np.errstate(over="ignore", invalid="ignore"):
        widest = rows.score.max() - rows.score.min()
    if loss != "zero_one" and not np.isfinite(widest):
        raise ValueError(
            f"y_score contains infinity, or scores too far apart: the {loss!r} loss of "
            "p_norm_push_loss needs finite scores and differences."
        )
    if normalize:
        return push_sums(loss, rows.with_moderate_weights(), float(margin)).norm(p)
    return push_sums(loss, rows, float(margin)).power_sum(p)


def heights(y_true: Any, y_score: Any, *, qid: Any = None, sample_weight: Any = None) -> Floats:
    r"""Count, for each row, the rows of higher relevance that are not scored above it.

    .. math:: h_k = \sum_{i \text{ above } k} w_i 1[f_i \le f_k]

    where i is above k when :math:`y_i > y_k` in one query. In one bipartite list the height of a
    negative is the number of positives at or below it. Ties are errors.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance: numbers or booleans, greater is better. Two values or many.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Multiplicities, non-negative.

    Returns
    -------
    ndarray of shape (n_samples,)
        The heights; NaN for rows without a row above them, and for rows of weight zero.

    Raises
    ------
    ValueError
        When an input is not allowed.

    References
    ----------
    Rudin2009, sec. 2 (the height of a negative).

    Examples
    --------
    >>> from sklearn_rank.metrics import heights
    >>> heights([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    array([ 0.,  1., nan, nan])
    """
    return _heights(ScoredRows.with_relevance(y_true, y_score, qid, sample_weight))


def reverse_heights(
    y_true: Any, y_score: Any, *, qid: Any = None, sample_weight: Any = None
) -> Floats:
    r"""Count, for each row, the rows of lower relevance that are not scored below it.

    .. math:: r_i = \sum_{k \text{ below } i} w_k 1[f_k \ge f_i]

    where k is below i when :math:`y_k < y_i` in one query. In one bipartite list the reverse
    height of a positive is the number of negatives at or above it. Ties are errors.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance: numbers or booleans, greater is better. Two values or many.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Multiplicities, non-negative.

    Returns
    -------
    ndarray of shape (n_samples,)
        The reverse heights; NaN for rows without a row below them, and for rows of weight zero.

    Raises
    ------
    ValueError
        When an input is not allowed.

    References
    ----------
    Rudin2009, sec. 7 (the reverse height of a positive).

    Examples
    --------
    >>> from sklearn_rank.metrics import reverse_heights
    >>> reverse_heights([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    array([nan, nan,  1.,  0.])
    """
    return _heights(ScoredRows.with_relevance(y_true, y_score, qid, sample_weight).reversed())


def _heights(rows: ScoredRows) -> Floats:
    """Return the height of each of the caller's rows; NaN without a pair."""
    counts = count_pairs(rows)
    result = np.full(len(rows.is_kept), np.nan)
    result[rows.is_kept] = np.where(counts.total > 0, counts.lower + counts.tied, np.nan)
    return result


def max_height_loss(
    y_true: Any, y_score: Any, *, qid: Any = None, sample_weight: Any = None
) -> float:
    r"""Return the maximum of the heights, :math:`R_{\max}`.

    .. math:: R_{\max} = \max_k \sum_{i \text{ above } k} w_i 1[f_i \le f_k]

    where k runs over the rows that have a row above them in their query. The maximum of the
    heights divided by the weight of the rows above k is ``p_norm_push_loss(p=inf)``.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance: numbers or booleans, greater is better. Two values or many.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Multiplicities, non-negative.

    Returns
    -------
    float
        Smaller is better; 0 when no row ranks too high. Ties are errors.

    Raises
    ------
    ValueError
        When no query has rows of different relevance.

    References
    ----------
    Rudin2009, sec. 2 (the maximum of the heights).

    Examples
    --------
    >>> from sklearn_rank.metrics import max_height_loss
    >>> max_height_loss([0, 0, 1, 1], [0.1, 0.9, 0.35, 0.8])
    2.0
    """
    rows = ScoredRows.with_relevance(y_true, y_score, qid, sample_weight)
    counts = count_pairs(rows)
    counts.require_pairs()
    return float((counts.lower + counts.tied).max())
