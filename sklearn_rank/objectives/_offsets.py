"""Offsets between the scores of two classes."""

from __future__ import annotations

import numpy as np

from sklearn_rank._protocols import Floats, Mask
from sklearn_rank.pair_sums import log_sum_exp

_ROUNDING = 1e-12


def balancing_offset(scores: Floats, positive: Mask, log_weight: Floats) -> float:
    r"""Return the offset at which both classes have one exponential mass.

    .. math:: b = \tfrac12 \Bigl(\log \sum_{i \in +} w_i e^{-f_i}
        - \log \sum_{k \in -} w_k e^{f_k}\Bigr)

    where f are the scores and w the weights. With it the F-skew of f + b is zero, and
    RankBoost classifies as AdaBoost does.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Scores f.
    positive : ndarray of bool of shape (n_rows,)
        True for rows of the class that belongs above.
    log_weight : ndarray of shape (n_rows,)
        Logarithms of the weights w.

    Returns
    -------
    float
        The offset b; without rows of one class it is infinite.

    References
    ----------
    RudinSchapire2009, no number at hand (F-skew zero).

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
    positives = log_sum_exp((log_weight - scores)[positive])
    negatives = log_sum_exp((log_weight + scores)[~positive])
    return (positives - negatives) / 2


def error_cut(scores: Floats, positive: Mask, weight: Floats) -> float:
    r"""Return the cut with the smallest weighted training error.

    .. math:: \operatorname*{arg\,min}_c \sum_i w_i \, 1[\, (f_i > c) \ne (y_i = +) \,]

    where f are the scores, y the classes and w the weights. The cut is halfway between
    neighbouring scores, the lowest of equally good ones. Where all rows belong on one
    side it is as far outside the scores as half the smallest gap inside, or 1.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Scores f, finite.
    positive : ndarray of shape (n_rows,)
        True for rows of the class that belongs above the cut.
    weight : ndarray of shape (n_rows,)
        Positive weights w.

    Returns
    -------
    float
        The cut: rows above it count as positive.

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
    order = np.argsort(scores)
    values, signed = scores[order], np.where(positive, weight, -weight)[order]
    # Equal rows can have scores that differ by rounding: no cut goes between them.
    rounding = _ROUNDING * float(np.abs(values).max())
    start = np.flatnonzero(np.diff(values, prepend=-np.inf) > rounding)
    low, high = values[start], values[np.append(start[1:], len(values)) - 1]
    # Error of each cut but for a constant: raising it past a level loses the level's positives
    # and saves its negatives. Entry 0 is the cut below all.
    errors = np.concatenate([[0.0], np.cumsum(np.add.reduceat(signed, start))])
    tolerance = _ROUNDING * float(weight.sum())
    best = int(np.flatnonzero(errors <= errors.min() + tolerance)[0])
    gaps = low[1:] - high[:-1]
    outside = float(gaps.min()) / 2 if len(gaps) else 1.0
    if best == 0:
        return float(low[0]) - outside
    if best == len(low):
        return float(high[-1]) + outside
    halfway = float(high[best - 1] + gaps[best - 1] / 2)
    return halfway if halfway < low[best] else float(high[best - 1])
