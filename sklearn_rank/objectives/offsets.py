"""Offsets between the scores of two classes."""

from __future__ import annotations

import numpy as np

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank._core.sums import ALL_HERE, Sums
from sklearn_rank._core.tolerances import SCORE_PRECISION, SCORE_ROUNDING
from sklearn_rank._pair_sums._exponential_sums import log_sum_exp

_MANY_ROWS = 1 << 15
"""Rows above which bins are faster than a sort of all scores."""

_N_BINS = 1 << 14
"""Bins of scores; their sums stay in the second-level cache."""

_BLOCK_ROWS = 1 << 20
"""Scores in one array, of all processes or of this one: an array of all takes much memory."""


def balancing_offset(
    scores: Floats, positive: Mask, log_weight: Floats, rows: Sums = ALL_HERE
) -> float:
    r"""Return the offset at which both classes have the same exponential mass.

    .. math:: b = \tfrac12 \Bigl(\log \sum_{i \in +} w_i e^{-f_i}
        - \log \sum_{k \in -} w_k e^{f_k}\Bigr)

    where f are the scores and w the weights. With it the F-skew of f + b is zero, and
    RankBoost makes as many errors as AdaBoost in the limit of many rounds.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Scores f.
    positive : ndarray of bool of shape (n_rows,)
        True for rows of the class that belongs above.
    log_weight : ndarray of shape (n_rows,)
        Logarithms of the weights w.
    rows : Sums
        Sums over all rows, if they are not all here.

    Returns
    -------
    float
        The offset b; without rows of one class it is infinite.

    References
    ----------
    RudinSchapire2009, sec. 5 (F-skew).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.objectives import balancing_offset
    >>> scores, positive = np.array([3.0, 1.0, 2.0]), np.array([True, False, False])
    >>> offset = balancing_offset(scores, positive, np.zeros(3))
    >>> round(offset, 3)
    -2.657
    >>> mass = np.exp(-np.where(positive, 1, -1) * (scores + offset))
    >>> [round(float(mass[rows].sum()), 3) for rows in (positive, ~positive)]
    [0.709, 0.709]
    """
    exponents = (log_weight - scores)[positive], (log_weight + scores)[~positive]
    local_sums = np.array([log_sum_exp(exponent) for exponent in exponents])
    positives, negatives = rows.log_total(local_sums).tolist()
    return float(positives - negatives) / 2


def _rounding(lowest: float, highest: float) -> float:
    """Return the difference up to which scores in this range count as equal."""
    # Products before the difference, which could overflow.
    range_rounding = SCORE_PRECISION * highest - SCORE_PRECISION * lowest
    return max(SCORE_ROUNDING * max(-lowest, highest), range_rounding)


def error_cut(scores: Floats, positive: Mask, weight: Floats, rows: Sums = ALL_HERE) -> float:
    r"""Return the cut with the smallest weighted training error.

    .. math:: \operatorname*{arg\,min}_c \sum_i w_i \, 1[\, (f_i > c) \ne (y_i = +) \,]

    where f are the scores, y the classes and w the weights. The cut is halfway between neighbouring
    scores, the lowest of equally good cuts. If all rows belong on one side, it lies outside the
    scores by half the smallest gap between them, or by 1. Scores that differ by at most a
    billionth of their range are the same.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Scores f, finite.
    positive : ndarray of shape (n_rows,)
        True for rows of the class that belongs above the cut.
    weight : ndarray of shape (n_rows,)
        Positive weights w.
    rows : Sums
        Sums over all rows, if they are not all here.

    Returns
    -------
    float
        The cut: rows above it count as positive. 0 without rows.

    References
    ----------
    Defined here.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.objectives import error_cut
    >>> scores, positive = np.array([1.0, 2.0, 4.0, 5.0]), np.array([False, True, False, True])
    >>> error_cut(scores, positive, np.ones(4))
    1.5
    >>> error_cut(scores, positive, np.array([1.0, 1.0, 3.0, 1.0]))
    4.5
    """
    signed_weight = np.where(positive, weight, -weight)
    limits = np.min(scores, initial=np.inf), np.min(-scores, initial=np.inf)
    lowest, highest = rows.smallest(np.array(limits)) * (1, -1)
    n_rows, total_weight = rows.totals(len(scores), float(np.abs(signed_weight).sum()))
    if not n_rows:
        return 0.0
    rounding = _rounding(lowest, highest)
    tolerance = SCORE_ROUNDING * total_weight
    cut = None
    if n_rows > _MANY_ROWS:
        cut = _cut_by_bins(scores, signed_weight, (lowest, highest), rounding, tolerance, rows)
    if cut is None:
        cut = rising_cut(*_gathered(scores, signed_weight, rows))
    return float(rows.agree(cut))


def rising_cut(scores: Floats, signed_weight: Floats) -> float:
    """Return the error cut of rows sorted by increasing score.

    `signed_weight` is the weight of a positive row and minus that of a negative one.
    """
    lowest, highest = float(scores[0]), float(scores[-1])
    rounding = _rounding(lowest, highest)
    tolerance = SCORE_ROUNDING * float(np.abs(signed_weight).sum())
    error, cut = _sorted_cut(scores, signed_weight, rounding, tolerance)
    return _outside_cut(scores, error, rounding) if cut is None else cut


def _sorted_cut(
    scores: Floats, signed_weight: Floats, rounding: float, tolerance: float
) -> tuple[float, float | None]:
    """Return the smallest error and its cut between increasing scores; None for a cut outside.

    The error is the weight on the wrong side less that of all rows below the cut at -inf.
    No cut goes between neighbours that differ by at most `rounding`, as scores of rows that are
    equal, or are so at the minimum, can. Errors that differ by at most `tolerance` are the same.
    """
    # Raising the cut past a row loses a positive and saves a negative.
    errors = np.concatenate([[0.0], np.cumsum(signed_weight)])
    is_cut = np.concatenate([[True], scores[1:] - scores[:-1] > rounding, [True]])
    errors[~is_cut] = np.inf
    min_error = float(errors.min())
    best_index = int(np.argmax(errors <= min_error + tolerance))
    if best_index in (0, len(scores)):
        return float(errors[best_index]), None
    lower, upper = float(scores[best_index - 1]), float(scores[best_index])
    halfway = lower + (upper - lower) / 2
    return float(errors[best_index]), halfway if halfway < upper else lower


def _outside_cut(scores: Floats, error: float, rounding: float) -> float:
    """Return the cut below all of some increasing scores or, if `error` < 0, above all.

    It is as far outside as half the smallest gap inside, or 1 without gaps.
    """
    gaps = scores[1:] - scores[:-1]
    gaps = gaps[gaps > rounding]
    distance = float(gaps.min()) / 2 if len(gaps) else 1.0
    return float(scores[0]) - distance if error == 0 else float(scores[-1]) + distance


def _cut_by_bins(
    scores: Floats,
    signed_weight: Floats,
    score_range: tuple[float, float],
    rounding: float,
    tolerance: float,
    rows: Sums,
) -> float | None:
    """Return the error cut without a sort of all rows, or None where a sort is as fast.

    The scores are summed into bins of one width. In a bin the error is at least that at its
    lower end less the weight of its negatives: where this is above the smallest error at an
    end of a bin no cut in it is the best, and the rows of the bin count as one.
    """
    # 1. The net weight, the weight of negatives and the number of rows of each bin.
    lowest, highest = score_range
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        scale = float(np.divide(_N_BINS, np.subtract(highest, lowest)))
        if not 0 < scale * rounding < 1:  # all scores are equal, or their range overflows
            return None
    bins, sums = np.empty(len(scores), np.min_scalar_type(_N_BINS)), np.zeros((3, _N_BINS))
    for block in blocks(len(scores), _BLOCK_ROWS):
        bins[block] = np.minimum((scores[block] - lowest) * scale, _N_BINS - 1)
        weights = signed_weight[block], np.minimum(signed_weight[block], 0.0), None
        sums += [np.bincount(bins[block], weight, _N_BINS) for weight in weights]
    net_weight, negative_weight, bin_counts = rows.total(sums)
    # 2. The bins that may hold the cut: the smallest possible error in them is small enough.
    errors = np.concatenate([[0.0], np.cumsum(net_weight)])
    error_bound = errors[:-1] + negative_weight
    is_near = error_bound <= errors.min() + 2 * tolerance
    near_rows, far_bins = np.flatnonzero(is_near[bins]), np.flatnonzero(~is_near & (bin_counts > 0))
    if rows.agree(bin_counts[is_near].sum() > bin_counts.sum() / 2):
        return None
    # 3. The cut of their rows, between which each other bin is one row at its middle.
    cut_scores, weights_near = _gathered(scores[near_rows], signed_weight[near_rows], rows)
    cut_scores = np.concatenate([cut_scores, lowest + (far_bins + 0.5) / scale])
    order = np.argsort(cut_scores)
    net_weights = np.concatenate([weights_near, net_weight[far_bins]])[order]
    error, cut = _sorted_cut(cut_scores[order], net_weights, rounding, tolerance)
    # A bin may end inside a run of scores that differ by rounding.
    is_certain = np.min(error_bound[far_bins], initial=np.inf) > error + tolerance
    is_certain, cut = rows.agree((is_certain, cut))
    if not is_certain or cut is not None:
        return cut if is_certain else None
    distance = _smallest_gap(scores, bins, bin_counts, rounding, rows) / 2
    return lowest - distance if error == 0 else highest + distance


def _gathered(scores: Floats, signed_weight: Floats, rows: Sums) -> tuple[Floats, Floats]:
    """Return the distinct scores of all rows in increasing order, and their signed weights."""
    merged = _merge_equal(scores, signed_weight)
    gathered = tuple(map(rows.concat, merged))
    return merged if gathered[0] is merged[0] else _merge_equal(*gathered)


def _merge_equal(scores: Floats, signed_weight: Floats) -> tuple[Floats, Floats]:
    """Return the distinct scores in increasing order, with summed weights."""
    unique, inverse = np.unique(scores, return_inverse=True)
    return unique, np.bincount(inverse.ravel(), signed_weight, len(unique)).astype(np.float64)


def _smallest_gap(
    scores: Floats, bins: Indices, bin_counts: Floats, rounding: float, rows: Sums
) -> float:
    """Return the smallest distance above rounding of different scores, 2 where there is none.

    Every process sees all scores, a group of bins at a time.
    """
    bin_group = np.cumsum(bin_counts) // _BLOCK_ROWS
    smallest_gap, last_score = np.inf, -np.inf
    for index in np.unique(bin_group[bin_counts > 0]).tolist():
        local_scores = np.unique(scores[bin_group[bins] == index])
        unique_scores = np.unique(np.append(rows.concat(local_scores), last_score))
        gaps = np.diff(unique_scores)  # infinite after the first score, which has none before it
        smallest_gap = float(np.min(gaps[gaps > rounding], initial=smallest_gap))
        last_score = float(unique_scores[-1])
    return smallest_gap if np.isfinite(smallest_gap) else 2.0
