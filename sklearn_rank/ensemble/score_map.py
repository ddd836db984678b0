"""Maps that bring the scores of different models to a common scale, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logit, ndtri

from sklearn_rank._core.protocols import Floats, Indices

_LEVELS = np.arange(1, 200) / 200
"""Levels of the quantiles that a map goes through."""

_OUTER = 0.05
"""Share of the rows at each end whose slope continues the map."""

BEYOND_FLOATS, LONG = 750.0, 37.0
"""Size of the log-odds of the probabilities 0 and 1, more than any other; and the size from which
they grow slowly: there probabilities round to 1."""


def log_odds(probability: Floats) -> Floats:
    """Return the log-odds of probabilities, finite and rising for 0 and 1 too.

    Beyond 37 they grow by the logarithm of the excess, so that no probability below 1e-16 is an
    outlier.
    """
    logits = logit(probability)
    size = np.minimum(np.abs(logits), BEYOND_FLOATS)
    excess = np.log1p(np.maximum(size - LONG, 0.0))
    return np.asarray(np.copysign(np.minimum(size, LONG) + excess, logits))


def normal_scores(scores: Floats, fold: Indices, weight: Floats) -> Floats:
    r"""Return the normal scores of rows within their folds.

    .. math:: z_i = \Phi^{-1}(u_i), \qquad u_i = \frac{1}{W} \Bigl( \sum_{f_j < f_i} w_j
        + \tfrac12 \sum_{f_j = f_i} w_j \Bigr)

    where the sums run over the rows j of the fold of row i, f are scores, w weights with sum W,
    and :math:`\Phi` the distribution function of the standard normal distribution.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Scores.
    fold : ndarray of shape (n_rows,)
        Fold of each row.
    weight : ndarray of shape (n_rows,)
        Positive multiplicities.

    Returns
    -------
    ndarray of shape (n_rows,)
        Finite numbers; equal scores of a fold have equal ones.

    References
    ----------
    Defined here: the quantiles of van der Waerden's test, with weights and ties.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.ensemble import normal_scores
    >>> normal_scores(np.array([3.0, 1.0, 2.0]), np.zeros(3, int), np.ones(3)).round(2)
    array([ 0.97, -0.97,  0.  ])
    """
    normal = np.empty(len(scores))
    for k in np.unique(fold):
        rows = fold == k
        _, level, row_level = _levels(scores[rows], weight[rows])
        normal[rows] = ndtri(level)[row_level]
    return normal


def _levels(scores: Floats, weight: Floats) -> tuple[Floats, Floats, Indices]:
    """Return the distinct scores, their levels u (`normal_scores`), and the level of each row."""
    distinct, index = np.unique(scores, return_inverse=True)
    share = np.bincount(index, weight) / weight.sum()
    level = np.cumsum(share) - share / 2
    return distinct, np.clip(level, np.finfo(float).tiny, 1 - np.finfo(float).epsneg), index


@dataclass(frozen=True, eq=False)
class ScoreMap:
    r"""A strictly increasing, piecewise linear function of the scores of a model.

    It brings models to a common scale, so that their scores can be averaged. The value of a row
    does not depend on other rows. `fit` learns the function from scores of held-out rows.

    *One list*: the function passes through the points

    .. math:: \Bigl( \frac1K \sum_{k=1}^K Q_k(u), \; \Phi^{-1}(u) \Bigr), \qquad
        u = \tfrac{1}{200}, \dots, \tfrac{199}{200}

    where :math:`Q_k(u)` is the weighted quantile of the scores of fold k at level u, linear between
    the levels of `normal_scores`, and u is limited to the levels that all of the K folds reach. It
    is linear between the points, and beyond both ends with the mean slope of the outer twentieth of
    the rows. Folds in which all scores are equal do not count.

    *Queries*: scores are divided by their pooled standard deviation within queries, in which the
    offset of a query cancels,

    .. math:: \sqrt{\sum_q \sum_{i \in q} w_i (f_i - \bar f_q)^2 \Big/ \sum_i w_i}

    A model that is later fitted to all rows keeps the function of its folds, because its scores on
    its training rows say nothing about new rows.

    Attributes
    ----------
    score : ndarray of shape (n_points,)
        Scores of the points, strictly increasing; log-odds for probabilities.
    value : ndarray of shape (n_points,)
        Their values, strictly increasing.
    of_probability : bool
        Whether scores are probabilities, whose log-odds are mapped.

    Notes
    -----
    The order of scores is preserved; scores that differ by a rounding error may become equal.

    References
    ----------
    Defined here, for the selection of Caruana2004.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.ensemble import ScoreMap
    >>> scores, fold = np.array([1.0, 2.0, 4.0, 11.0, 12.0, 14.0]), np.repeat([0, 1], 3)
    >>> to_normal = ScoreMap.fit(scores, fold)
    >>> to_normal(np.array([6.0, 7.0, 9.0])).round(2)
    array([-0.97,  0.  ,  0.97])
    """

    score: Floats
    value: Floats
    of_probability: bool = False

    @classmethod
    def fit(
        cls,
        scores: Any,
        fold: Any,
        *,
        weight: Any = None,
        qid: Any = None,
        of_probability: bool = False,
    ) -> ScoreMap:
        """Learn the map from scores of held-out rows.

        Parameters
        ----------
        scores : array-like of shape (n_rows,)
            Finite scores.
        fold : array-like of shape (n_rows,)
            Fold that held out each row.
        weight : array-like of shape (n_rows,), default=None
            Positive multiplicities.
        qid : ndarray of int of shape (n_rows,), default=None
            Query codes 0, 1, ...; None means one list.
        of_probability : bool, default=False
            Whether scores are probabilities: their log-odds are mapped.

        Returns
        -------
        ScoreMap
            The map.
        """
        scores = np.asarray(scores, dtype=np.float64)
        weight = np.ones(len(scores)) if weight is None else np.asarray(weight, dtype=np.float64)
        scores = log_odds(scores) if of_probability else scores
        points = _mean_quantiles(scores, np.asarray(fold), weight) if qid is None else None
        return cls(*(points or _deviation(scores, np.asarray(qid), weight)), of_probability)

    def __call__(self, scores: Any) -> Floats:
        """Map scores.

        Parameters
        ----------
        scores : array-like of shape (n_rows,)
            Scores; probabilities without conversion.

        Returns
        -------
        ndarray of shape (n_rows,)
            Values on the common scale.
        """
        scores = np.asarray(scores, dtype=np.float64)
        scores = log_odds(scores) if self.of_probability else scores
        start, length, start_value, rise, lowest, highest = self.pieces
        piece = np.searchsorted(self.score, scores, side="right")
        with np.errstate(over="ignore"):
            # Halves, so that the distance of the largest floats is finite.
            fraction = (scores / 2 - start[piece]) / length[piece]
            value = start_value[piece] + fraction * rise[piece]
        return np.clip(value, lowest[piece], highest[piece])

    def secant(self, constant: float, scores: Any) -> Floats:
        r"""Return the slope of the map between a constant and scores.

        .. math:: \frac{m(f) - m(c)}{f - c}

        where m is the map, f a score and c the constant: the factor that converts a part of f - c
        to the common scale. At f = c it is the limit from above, the slope of the map at c.

        Parameters
        ----------
        constant : float
            A score, such as the mean score of the training rows.
        scores : array-like of shape (n_rows,)
            Scores; probabilities without conversion.

        Returns
        -------
        ndarray of shape (n_rows,)
            Slopes, not negative.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_rank.ensemble import ScoreMap
        >>> half = ScoreMap(score=np.array([0.0, 2.0]), value=np.array([0.0, 1.0]))
        >>> half.secant(1.0, [5.0, 1.0])
        array([0.5, 0.5])
        """
        scores, point, d_logit = np.asarray(scores, dtype=np.float64), np.asarray(constant), 1.0
        if self.of_probability:  # the chain rule: d log-odds / dp = 1 / (p (1 - p))
            # At 0 and 1, where log-odds have no slope, the slope of the next float.
            probability = np.clip(point, np.finfo(float).eps, 1 - np.finfo(float).eps)
            point, d_logit = log_odds(probability), 1 / (probability * (1 - probability))
        _, length, _, rise, _, _ = self.pieces
        piece = np.searchsorted(self.score, point, side="right")
        derivative = np.full(scores.shape, d_logit * rise[piece] / (2 * length[piece]))
        half = scores / 2 - constant / 2  # the distance of the largest floats is infinite
        return np.divide((self(scores) - self(constant)) / 2, half, out=derivative, where=half != 0)

    @property
    def pieces(self) -> tuple[Floats, ...]:
        """Half the start, half the length, value at the start, rise and limits of linear pieces.

        The first and the last piece are beyond the points.
        """
        half, value, last = self.score / 2, self.value, len(self.score) - 1
        level = ndtri(_OUTER)
        tail_low = int(np.clip(np.searchsorted(value, level), 1, last))
        tail_high = int(np.clip(np.searchsorted(value, -level, "right") - 1, 0, last - 1))
        left, right = [0, *range(last), tail_high], [tail_low, *range(1, last + 1), last]
        length, rise = (x[right] - x[left] for x in (half, value))
        start, largest = [0, *range(last + 1)], np.finfo(np.float64).max
        limits = np.append(-largest, value), np.append(value, largest)
        return half[start], length, value[start], rise, *limits


def _mean_quantiles(scores: Floats, fold: Indices, weight: Floats) -> tuple[Floats, Floats]:
    """Return the points of a map of one list."""
    folds = [_levels(scores[fold == k], weight[fold == k])[:2] for k in np.unique(fold)]
    varying = [(distinct, level) for distinct, level in folds if len(distinct) > 1]
    if not varying:
        centre = 2 * float(np.mean([distinct[0] / 2 for distinct, _ in folds]))
        return np.array([centre, centre + max(1.0, abs(centre) / 8)]), np.array([0.0, 1.0])
    # The lowest level is below 1/2 and the highest above, in every fold.
    lowest = max(level[0] for _, level in varying)
    highest = min(level[-1] for _, level in varying)
    levels = np.unique(np.clip(_LEVELS, lowest, highest))
    points = sum(np.interp(levels, level, distinct / len(varying)) for distinct, level in varying)
    # Rounding of a long piece may bring a point above the next one.
    score, first_index = np.unique(np.maximum.accumulate(points), return_index=True)
    return score, ndtri(levels)[first_index]


def _deviation(scores: Floats, qid: Indices, weight: Floats) -> tuple[Floats, Floats]:
    """Return the points of a map that divides by the standard deviation within queries."""
    max_abs = float(np.abs(scores).max(initial=0.0)) or 1.0
    scores = scores / max_abs  # so that squares neither underflow nor overflow
    mean = np.bincount(qid, weight * scores) / np.maximum(np.bincount(qid, weight), 1e-300)
    deviation = np.sqrt(weight @ (scores - mean[qid]) ** 2 / weight.sum())
    scale = float(deviation) * max_abs
    return np.array([0.0, scale if scale > 1e-12 * max_abs else max_abs]), np.array([0.0, 1.0])
