"""Tables along the score: gains by band, and calibration by band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.validation import check_parameters
from sklearn_rank.metrics.intervals import CONFIDENCE, wilson
from sklearn_rank.metrics.scored_rows import ScoredRows
from sklearn_rank.scorecard._card_checks import check_weight_range
from sklearn_rank.scorecard.monitoring._bands import (
    FiguresTable,
    band_of,
    band_sums,
    cuts_of,
    lowest_and_highest,
    ratio,
)


@dataclass(frozen=True, eq=False)
class GainsTable(FiguresTable):
    """Gains by band of the score, the highest band first.

    Attributes
    ----------
    low, high : ndarray of shape (n_bands,)
        Lowest and highest score in the band; NaN in a band without a row.
    count, events : ndarray of shape (n_bands,)
        Weight of the rows, and of those with an event.
    rate : ndarray of shape (n_bands,)
        Share of the band's rows with an event.
    share : ndarray of shape (n_bands,)
        Share of all rows down to the band's end.
    found : ndarray of shape (n_bands,)
        Share of all events down to the band's end.
    taken : ndarray of shape (n_bands,)
        Share of all rows without an event down to the band's end.
    lift : ndarray of shape (n_bands,)
        Rate of the band by the rate of all rows.
    cumulative_lift : ndarray of shape (n_bands,)
        Rate of the rows down to the band's end by the rate of all rows.
    ks : ndarray of shape (n_bands,)
        ``found - taken``; the Kolmogorov-Smirnov distance is at least its maximum.
    rate_of_all : float
        Share of all rows with an event.

    Examples
    --------
    >>> from sklearn_rank.scorecard.monitoring import gains_table
    >>> gains_table([1, 0, 1, 0], [4, 3, 2, 1], bands=2).found
    array([0.5, 1. ])
    """

    low: Floats
    high: Floats
    count: Floats
    events: Floats
    rate: Floats
    share: Floats
    found: Floats
    taken: Floats
    lift: Floats
    cumulative_lift: Floats
    ks: Floats
    rate_of_all: float


def gains_table(
    y_true: Any, y_score: Any, *, bands: Any = 10, sample_weight: Any = None
) -> GainsTable:
    r"""Return counts, event rates and gains by band of the score, the highest band first.

    .. math:: \mathrm{lift}_b = \frac{e_b / n_b}{E / N}, \qquad
        \mathrm{found}_b = \frac{1}{E} \sum_{a \le b} e_a, \qquad
        \mathrm{taken}_b = \frac{1}{N - E} \sum_{a \le b} (n_a - e_a)

    where :math:`n_b` and :math:`e_b` are the weights of the rows and of the events in band b, N and
    E those of all bands. Found minus taken is the Kolmogorov-Smirnov distance at the band's end.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance; rows above 0 are events.
    y_score : array-like of shape (n_samples,)
        Scores; a high score should mean an event. Infinite scores are allowed, NaN is not.
    bands : int or array-like, default=10
        A number: bands of nearly equal share, tied scores in one band. An array: the increasing
        scores that divide the bands, each belonging to the band below it.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Multiplicities, non-negative.

    Returns
    -------
    GainsTable
        An array for each column, ``rate_of_all``, and ``to_frame()``.

    Raises
    ------
    ValueError
        When there are no events, or nothing else, or a parameter is not allowed.

    References
    ----------
    Siddiqi2006 (gains tables of scorecards).

    Examples
    --------
    >>> from sklearn_rank.scorecard.monitoring import gains_table
    >>> found = gains_table([1, 1, 0, 1, 0, 0, 0, 0], [8, 7, 6, 5, 4, 3, 2, 1], bands=4)
    >>> found.low, found.high
    (array([7., 5., 3., 1.]), array([8., 6., 4., 2.]))
    >>> found.events
    array([2., 1., 0., 0.])
    >>> found.ks.round(2)
    array([0.67, 0.8 , 0.4 , 0.  ])
    """
    rows = ScoredRows.with_relevance(y_true, y_score, None, sample_weight)
    event, weight = (rows.y > 0).astype(np.float64), rows.weight
    check_weight_range("gains_table", weight)
    n, n_events = float(weight.sum()), float(weight @ event)
    if not 0 < event.sum() < len(event):
        raise ValueError(
            "gains_table needs rows with an event (relevance above 0) and rows without. "
            f"Got {int(event.sum())} of {len(event)} rows with one."
        )
    cuts = cuts_of("gains_table", "bands", bands, rows.score, weight)
    band, n_bands = band_of(rows.score, cuts), len(cuts) + 1
    low, high = (one[::-1] for one in lowest_and_highest(rows.score, band, n_bands))
    count = band_sums(band, weight, n_bands)[::-1]
    events = band_sums(band, weight * event, n_bands)[::-1]
    upto, upto_events = np.cumsum(count), np.cumsum(events)
    rate, rate_of_all = ratio(events, count), n_events / n
    found, taken = upto_events / n_events, np.cumsum(count - events) / (n - n_events)
    return GainsTable(
        *(low, high, count, events, rate, upto / n, found, taken, rate / rate_of_all),
        ratio(upto_events, upto) / rate_of_all,
        found - taken,
        rate_of_all,
    )


@dataclass(frozen=True, eq=False)
class CalibrationTable(FiguresTable):
    """Predicted and observed probabilities by band of the prediction, the lowest band first.

    Attributes
    ----------
    low, high : ndarray of shape (n_bands,)
        Lowest and highest prediction in the band; NaN in a band without a row.
    count, events : ndarray of shape (n_bands,)
        Weight of the rows, and of those with an event.
    predicted : ndarray of shape (n_bands,)
        Mean prediction.
    observed : ndarray of shape (n_bands,)
        Share of the rows with an event.
    observed_low, observed_high : ndarray of shape (n_bands,)
        Confidence interval of that share.

    Examples
    --------
    >>> from sklearn_rank.scorecard.monitoring import calibration_table
    >>> calibration_table([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], bands=2).observed
    array([0., 1.])
    """

    low: Floats
    high: Floats
    count: Floats
    events: Floats
    predicted: Floats
    observed: Floats
    observed_low: Floats
    observed_high: Floats


def calibration_table(
    y_true: Any,
    y_prob: Any,
    *,
    bands: Any = 10,
    sample_weight: Any = None,
    confidence: float = 0.95,
) -> CalibrationTable:
    r"""Compare predicted probabilities with observed shares, by band of the prediction.

    .. math:: \frac{1}{1 + z^2 / n} \biggl(r + \frac{z^2}{2n}
        \pm z \sqrt{\frac{r (1 - r)}{n} + \frac{z^2}{4 n^2}}\biggr)

    is the interval of the share r of n rows with an event (Wilson's), where z is a quantile of the
    normal distribution. Where it does not hold the mean prediction the probabilities are probably
    wrong; of twenty bands one is so by chance at a confidence of 0.95, where bands hold a few
    expected events or more. With fewer, a single event may put a band outside.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance; rows above 0 are events.
    y_prob : array-like of shape (n_samples,)
        Predicted probabilities of an event, between 0 and 1.
    bands : int or array-like, default=10
        A number: bands of nearly equal share, tied predictions in one band. An array: the
        increasing probabilities that divide the bands, each belonging to the band below it.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Multiplicities, non-negative.
    confidence : float in (0, 1), default=0.95
        Confidence level of each interval.

    Returns
    -------
    CalibrationTable
        An array for each column, and ``to_frame()``.

    Raises
    ------
    ValueError
        When a prediction is not between 0 and 1, or a parameter is not allowed.

    References
    ----------
    Wilson1927 (the interval).

    Examples
    --------
    >>> from sklearn_rank.scorecard.monitoring import calibration_table
    >>> found = calibration_table([0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.8, 0.9], bands=2)
    >>> found.predicted.round(2), found.observed
    (array([0.2, 0.7]), array([0., 1.]))
    >>> found.observed_low.round(2), found.observed_high.round(2)
    (array([0.  , 0.44]), array([0.56, 1.  ]))
    """
    check_parameters("calibration_table", {"confidence": confidence}, {"confidence": CONFIDENCE})
    rows = ScoredRows.with_relevance(y_true, y_prob, None, sample_weight, "y_prob")
    if rows.score.min() < 0 or rows.score.max() > 1:
        raise ValueError(
            "y_prob of calibration_table must hold probabilities, between 0 and 1. Got values from "
            f"{rows.score.min():g} to {rows.score.max():g}."
        )
    weight = rows.weight
    check_weight_range("calibration_table", weight)
    cuts = cuts_of("calibration_table", "bands", bands, rows.score, weight)
    band, n_bands = band_of(rows.score, cuts), len(cuts) + 1
    count = band_sums(band, weight, n_bands)
    events = band_sums(band, weight * (rows.y > 0), n_bands)
    predicted = ratio(band_sums(band, weight * rows.score, n_bands), count)
    observed = ratio(events, count)
    return CalibrationTable(
        *lowest_and_highest(rows.score, band, n_bands),
        *(count, events, predicted, observed),
        *wilson(observed, count, confidence),
    )
