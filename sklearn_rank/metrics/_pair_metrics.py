"""Metrics of pairs: the AUC, the losses of Rudin2009 for the top of the list, and its sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.sums import Groups
from sklearn_rank._core.validation import FLAG, Choice, Constraint, Number, check_parameters
from sklearn_rank._pair_sums._exponential_sums import ExponentialSums
from sklearn_rank._pair_sums._pair_loss import PairLoss
from sklearn_rank._pair_sums.margin_losses import MARGIN_LOSSES, MarginLoss, as_margin_loss
from sklearn_rank.metrics.scored_rows import (
    LIGHTEST_PAIRS,
    NO_PAIR,
    TOO_LIGHT,
    ScoredRows,
    count_pairs,
)

_PARAMETERS: dict[str, Constraint] = {
    "p": Number(1),
    "loss": Choice(("zero_one", *MARGIN_LOSSES), "a MarginLoss", MarginLoss),
    "margin": Number(-np.inf, closed="neither"),
    "normalize": FLAG,
}


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
        "pooled": both sums run over the pairs of all queries. "queries": the mean of the AUCs of
        queries that have a pair, each counting once. None: one AUC per query.

    Returns
    -------
    float or ndarray of shape (n_queries,)
        Between 0 and 1, greater is better. Ties count one half. With two relevances and one list it
        equals scikit-learn's ``roc_auc_score``. With ``average=None``, one value per query in the
        order of the sorted ids, NaN without a pair.

    Raises
    ------
    ValueError
        If no query has rows of different relevance, unless ``average=None``. (For a single
        class scikit-learn's ``roc_auc_score`` warns and returns NaN.)

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
    wrong = counts.outscored + counts.tied / 2
    if is_pooled:
        return 1.0 - float(weight @ wrong) / counts.pair_weight(weight)
    pair_weight = np.bincount(rows.query, weight * counts.total, rows.n_queries)
    has_pair, values = pair_weight > 0, np.full(rows.n_queries, np.nan)
    wrong_pairs = np.bincount(rows.query, weight * wrong, rows.n_queries)
    values[has_pair] = 1.0 - np.minimum(wrong_pairs[has_pair] / pair_weight[has_pair], 1.0)
    if average is None:
        return values
    if not has_pair.any():
        raise ValueError(NO_PAIR)
    return float(values[has_pair].mean())


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

    where k runs over the rows that have a row above them in their query, :math:`\ell` is the `loss`
    of a margin and :math:`\theta` the required `margin`. With the zero-one loss, :math:`s_k` is the
    share of the rows above k that do not score higher. A larger p gives more weight to the largest
    :math:`s_k`: those of rows near the top of the list.

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
        "squared_hinge"; "least_squares"; or your own loss. The logistic loss has the natural
        logarithm, as in the paper's Tables 1 and 2 and in the objectives; to bound the zero-one
        loss (Theorem 1) divide it by ln 2 (sec. 3.1).
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
        Smaller is better; infinite on overflow. With the zero-one loss and ``normalize=True`` it is
        between 0 and 1. Ties are errors; without ties it equals ``1 - auc_score`` at p = 1 in one
        bipartite list.

    Raises
    ------
    ValueError
        If no query has rows of different relevance, or a parameter is invalid.

    Notes
    -----
    Pairs are not enumerated: a long list of n rows takes O(n) (exponential and logistic loss) or
    O(n log n) time, times the logarithm of the number of levels. With the logistic loss,
    :math:`s_k` then has an absolute error of up to 1e-12, so much smaller values have no correct
    digits. Short lists and the other losses are exact up to rounding.

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
    parameters = {"p": p, "loss": loss, "margin": margin, "normalize": normalize}
    check_parameters("p_norm_push_loss", parameters, _PARAMETERS)
    if not normalize and np.isinf(p):
        raise ValueError(
            "p_norm_push_loss: the raw sum (normalize=False) has no limit at p=inf. "
            "max_height_loss is the largest of its terms."
        )
    rows = ScoredRows.with_relevance(y_true, y_score, qid, sample_weight)
    with np.errstate(over="ignore", invalid="ignore"):
        score_range = rows.score.max() - rows.score.min()
    if loss != "zero_one" and not np.isfinite(score_range):
        raise ValueError(
            f"y_score contains infinity, or scores too far apart: the {loss!r} loss of "
            "p_norm_push_loss needs finite scores and differences."
        )
    if normalize:
        return push_sums(loss, rows.with_moderate_weights(), float(margin)).norm(p)
    return push_sums(loss, rows, float(margin)).power_sum(p)


def heights(y_true: Any, y_score: Any, *, qid: Any = None, sample_weight: Any = None) -> Floats:
    r"""Count, for each row, the rows of higher relevance without a higher score.

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
        If an input is invalid.

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
    r"""Count, for each row, the rows of lower relevance without a lower score.

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
        If an input is invalid.

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
    row_heights = np.full(len(rows.is_kept), np.nan)
    row_heights[rows.is_kept] = np.where(counts.total > 0, counts.outscored + counts.tied, np.nan)
    return row_heights


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
        If no query has rows of different relevance.

    References
    ----------
    Rudin2009, sec. 2 (the maximum of the heights).

    Examples
    --------
    >>> from sklearn_rank.metrics import max_height_loss
    >>> max_height_loss([0, 0, 1, 1], [0.1, 0.9, 0.35, 0.8])
    2.0
    """
    counts = count_pairs(ScoredRows.with_relevance(y_true, y_score, qid, sample_weight))
    counts.require_pairs()
    return float((counts.outscored + counts.tied).max())


def _relevant_ranks(y_true: Any, y_score: Any, qid: Any) -> Floats:
    """Return the ranks of the relevant rows in their queries, placed last among tied rows."""
    rows = ScoredRows.with_relevance(y_true, y_score, qid)
    is_relevant = rows.y > 0
    if not is_relevant.any():
        raise ValueError("y_true has no relevant row: none is above 0.")
    order = np.lexsort((is_relevant, -rows.score, rows.query))
    rank = 1.0 + Groups.of_runs(rows.query[order]).positions
    return np.asarray(rank[is_relevant[order]])


def reciprocal_rank_sum(y_true: Any, y_score: Any, *, qid: Any = None) -> float:
    r"""Compute the sum of the reciprocal ranks of the relevant rows.

    .. math:: \sum_{i: y_i > 0} \frac{1}{\mathrm{rank}_i}

    where :math:`\mathrm{rank}_i` is the rank of row i in its query; the best rank is 1. Among tied
    rows, relevant ones come last.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance; rows above 0 are relevant.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list. The sum runs over all queries.

    Returns
    -------
    float
        Greater is better. Ranks are integers, so rows have no weights.

    Raises
    ------
    ValueError
        If no row is relevant.

    References
    ----------
    Rudin2009, sec. 7 (AveR). There tied relevant rows share the last of their ranks; here they
    have successive ranks.

    Examples
    --------
    >>> from sklearn_rank.metrics import reciprocal_rank_sum
    >>> reciprocal_rank_sum([1, 0, 1, 0], [4, 3, 2, 1]) == 1 / 1 + 1 / 3
    True
    """
    return float(np.sum(1.0 / _relevant_ranks(y_true, y_score, qid)))


def reciprocal_log_rank_sum(y_true: Any, y_score: Any, *, qid: Any = None) -> float:
    r"""Compute the sum of the reciprocal log ranks of the relevant rows.

    .. math:: \sum_{i: y_i > 0} \frac{1}{\ln(1 + \mathrm{rank}_i)}

    where :math:`\mathrm{rank}_i` is the rank of row i in its query; the best rank is 1. Among tied
    rows, relevant ones come last.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance; rows above 0 are relevant.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list. The sum runs over all queries.

    Returns
    -------
    float
        Greater is better. Ranks are integers, so rows have no weights.

    Raises
    ------
    ValueError
        If no row is relevant.

    References
    ----------
    Rudin2009, sec. 7 (DCG). There tied relevant rows share the last of their ranks; here they have
    successive ranks. `ndcg_score` uses another logarithm, gains, and the expected value over ties.

    Examples
    --------
    >>> from math import log
    >>> from sklearn_rank.metrics import reciprocal_log_rank_sum
    >>> reciprocal_log_rank_sum([1, 0, 1, 0], [4, 3, 2, 1]) == 1 / log(2) + 1 / log(4)
    True
    """
    return float(np.sum(1.0 / np.log1p(_relevant_ranks(y_true, y_score, qid))))


def ranking_margin(
    y_true: Any, y_score: Any, *, qid: Any = None, sample_weight: Any = None
) -> float:
    r"""Return the smallest margin over all pairs.

    .. math:: \min_{i \text{ above } k} (f_i - f_k)

    where i is above k when :math:`y_i > y_k` in one query. It is positive if and only if every pair
    is ordered correctly. For a combination of weak rankers, dividing it by the sum of the absolute
    coefficients gives the normalised margin.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance: numbers or booleans, greater is better. Two values or many.
    y_score : array-like of shape (n_samples,)
        Finite scores, greater is better.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Multiplicities, non-negative; rows of weight zero are ignored, and other values make no
        difference.

    Returns
    -------
    float
        Greater is better.

    Raises
    ------
    ValueError
        If no query has rows of different relevance, or a score is infinite.

    References
    ----------
    RudinSchapire2009, text not at hand (the margin, before it is normalised).

    Examples
    --------
    >>> from sklearn_rank.metrics import ranking_margin
    >>> ranking_margin([0, 1, 1, 2], [1, 3, 4, 4.5])
    0.5
    """
    rows = ScoredRows.with_relevance(y_true, y_score, qid, sample_weight)
    if not np.isfinite(rows.score).all():
        raise ValueError("y_score contains infinity: ranking_margin needs finite scores.")
    preferences = Preferences.from_labels(rows.y, rows.qid, rows.weight)
    if not len(preferences.blocks):
        raise ValueError(NO_PAIR)
    scores = rows.score[preferences.order]
    with np.errstate(over="ignore"):
        return preferences.smallest_difference(scores, scores)


@dataclass(frozen=True, eq=False)
class PushSums:
    """The inner sums of the p-norm push for the rows k that have a row above them.

    Attributes
    ----------
    total : ndarray
        Weight of the rows above k.
    wrong : ndarray
        Weighted sum of the losses of these pairs, divided by ``exp(log_scale)``.
    weight : ndarray
        Weight of k, or of all rows with the same sum.
    log_scale : float
        Logarithm of a common factor: large exponentials would overflow.
    """

    total: Floats
    wrong: Floats
    weight: Floats
    log_scale: float = 0.0

    def norm(self, p: float) -> float:
        """Return ``(sum_k w_k share_k^p / sum_k w_k)^(1/p)``; the maximum share at p = inf."""
        if float(self.weight @ self.total) < LIGHTEST_PAIRS:
            raise ValueError(TOO_LIGHT)
        share = self.wrong / self.total
        max_share = float(share.max())
        if max_share == 0 or np.isinf(max(max_share, p)):
            return max_share * self._scale(1.0)
        # Relative to the largest share, so that its power can't underflow.
        mean = np.average((share / max_share) ** p, weights=self.weight)
        return max_share * float(mean) ** (1 / p) * self._scale(1.0)

    def power_sum(self, p: float) -> float:
        """Return ``sum_k w_k sum_k^p``; infinite where it overflows."""
        has_weight = self.weight > 0  # 0 times infinity is NaN
        with np.errstate(over="ignore"):
            power_sum = float(self.weight[has_weight] @ self.wrong[has_weight] ** p)
        return power_sum * self._scale(p) if power_sum else 0.0

    def _scale(self, p: float) -> float:
        with np.errstate(over="ignore"):
            return float(np.exp(p * self.log_scale))


def _paired_sums(total: Floats, wrong: Floats, weight: Floats, log_scale: float = 0.0) -> PushSums:
    """Return the sums of the rows that have a row above them; raise ValueError if none has."""
    has_pair = total > 0
    if not has_pair.any():
        raise ValueError(NO_PAIR)
    return PushSums(total[has_pair], wrong[has_pair], weight[has_pair], log_scale)


def _zero_one_sums(rows: ScoredRows, margin: float) -> PushSums:
    """Return the sums of ``1[f_i <= f_k + margin]``."""
    y, scores = rows.y, rows.score
    low, high = y.min(), y.max()
    is_high = y == high
    is_unweighted = rows.qid is None and low < high and bool(np.all(rows.weight == 1))
    if is_unweighted and np.count_nonzero(y == low) + np.count_nonzero(is_high) == len(y):
        # Indices select faster than a mask with short runs.
        above, below = scores[np.flatnonzero(is_high)], scores[np.flatnonzero(~is_high)]
        return _bipartite_sums(above, below + margin if margin else below)
    counts = count_pairs(rows, margin)
    wrong = np.minimum(counts.outscored + counts.tied, counts.total)
    return _paired_sums(counts.total, wrong, rows.weight)


def _bipartite_sums(above: Floats, below: Floats) -> PushSums:
    """Return the sums of one unweighted bipartite list, by merging the sorted classes.

    The smaller class is searched in the larger one. If it is that of the rows above, the sums are
    0, 1, ... up to the maximum, each with the number of rows below as its weight. Otherwise there
    is one sum for each row below.
    """
    above, below = np.sort(above), np.sort(below)
    if len(above) <= len(below):
        n_lower = np.searchsorted(below, above, side="left")
        weight = np.empty(len(above) + 1)
        np.subtract(n_lower[1:], n_lower[:-1], out=weight[1:-1])
        weight[0], weight[-1] = n_lower[0], len(below) - n_lower[-1]
        n_sums = len(weight) - int(np.argmax(weight[::-1] > 0))  # up to the largest that occurs
        wrong, weight = np.arange(float(n_sums)), weight[:n_sums]
    else:
        wrong = np.searchsorted(above, below, side="right").astype(np.float64)
        weight = np.ones(len(below))
    return PushSums(np.full(len(wrong), float(len(above))), wrong, weight)


def _exponential_sums(rows: ScoredRows, margin: float) -> PushSums:
    """Return the sums of ``exp(margin - (f_i - f_k))``, computed in the log domain."""
    preferences = Preferences.from_labels(rows.y, rows.qid, rows.weight)
    scores = rows.score[preferences.order]
    log_sums = ExponentialSums(preferences, 1.0).log_heights(scores) + margin
    log_scale = float(log_sums.max())
    if np.isneginf(log_scale):
        raise ValueError(NO_PAIR)
    wrong = np.exp(log_sums - log_scale)
    return _paired_sums(preferences.paired_weight(), wrong, preferences.weight, log_scale)


def push_sums(loss: str | MarginLoss, rows: ScoredRows, margin: float) -> PushSums:
    """Return the sums of the zero-one loss, or of a margin loss, of ``f_i - f_k - margin``."""
    if loss == "zero_one":
        return _zero_one_sums(rows, margin)
    # A loss that factorises: exp(-(f_i - f_k)) is a product of a term of each row.
    if as_margin_loss(loss).factorises:
        return _exponential_sums(rows, margin)
    # Any other loss: the sums of the objectives, exact for short lists.
    preferences = Preferences.from_labels(rows.y, rows.qid, rows.weight)
    pair_loss = PairLoss(preferences, loss)
    f, w = rows.score[preferences.order], preferences.weight
    return _paired_sums(preferences.paired_weight(), pair_loss.heights(f, w, margin=margin), w)
