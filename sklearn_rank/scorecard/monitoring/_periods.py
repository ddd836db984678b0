"""Tables over time and over cuts: figures by period, vintages by band, and cut-offs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices, Values
from sklearn_rank._core.validation import (
    Choice,
    Number,
    check_column,
    check_lengths,
    check_parameters,
    is_missing,
)
from sklearn_rank.metrics.scored_rows import ScoredRows
from sklearn_rank.scorecard._card_checks import check_weight_range
from sklearn_rank.scorecard.monitoring._bands import (
    FiguresTable,
    band_of,
    band_sums,
    cuts_of,
    ratio,
)
from sklearn_rank.scorecard.monitoring._group_figures import auc_with_interval
from sklearn_rank.scorecard.monitoring._stability import stability_in_tenths

_CUT = Number(-np.inf, closed="neither", other=(None,))
SELECTED = Choice(("above", "below"))


@dataclass(frozen=True, eq=False)
class PeriodTable(FiguresTable):
    """Figures by period, the earliest first.

    Attributes
    ----------
    period : ndarray of shape (n_periods,)
        The periods: months as "2026-11", or what `time` holds.
    count, events : ndarray of shape (n_periods,)
        Weight of the rows, and of those with an event.
    rate : ndarray of shape (n_periods,)
        Share of the rows with an event.
    mean : ndarray of shape (n_periods,)
        Mean score.
    above : ndarray of shape (n_periods,)
        Share of the rows with a score above the cut; NaN without a cut.
    auc, auc_low, auc_high : ndarray of shape (n_periods,)
        AUC within the period and its 95 % interval; NaN where there are too few rows, or weights,
        for one.
    psi, expected : ndarray of shape (n_periods,)
        Population stability index against the reference, and its mean without any change; NaN
        for the period that is the reference.

    Examples
    --------
    >>> from sklearn_rank.scorecard.monitoring import period_table
    >>> period_table([0, 1, 0, 1], [1, 2, 3, 4], [2025, 2025, 2026, 2026]).mean
    array([1.5, 3.5])
    """

    period: Values
    count: Floats
    events: Floats
    rate: Floats
    mean: Floats
    above: Floats
    auc: Floats
    auc_low: Floats
    auc_high: Floats
    psi: Floats
    expected: Floats


@dataclass(frozen=True, eq=False)
class VintageTable(FiguresTable):
    """Event rates by period and band of the score, a line each.

    Attributes
    ----------
    period : ndarray of shape (n_lines,)
        The period of the rows.
    above, up_to : ndarray of shape (n_lines,)
        The scores s of the band: above < s <= up_to.
    count, events : ndarray of shape (n_lines,)
        Weight of the rows, and of those with an event.
    rate : ndarray of shape (n_lines,)
        Share of the rows with an event; NaN without rows.

    Examples
    --------
    >>> from sklearn_rank.scorecard.monitoring import vintage_table
    >>> vintage_table([0, 1, 0, 1], [1, 2, 1, 2], [2025, 2025, 2026, 2026], bands=[1]).up_to
    array([ 1., inf,  1., inf])
    """

    period: Values
    above: Floats
    up_to: Floats
    count: Floats
    events: Floats
    rate: Floats


@dataclass(frozen=True, eq=False)
class CutoffTable(FiguresTable):
    """What each cut would select, the lowest cut first.

    Attributes
    ----------
    cut : ndarray of shape (n_cuts,)
        The cut: scores above it are on one side, others on the other.
    selected : ndarray of shape (n_cuts,)
        Share of the rows that are selected: the approval rate.
    selected_rate, other_rate : ndarray of shape (n_cuts,)
        Share of the selected rows, and of all others, with an event; NaN without rows.
    events_selected : ndarray of shape (n_cuts,)
        Share of all events that are among the selected rows.

    Examples
    --------
    >>> from sklearn_rank.scorecard.monitoring import cutoff_table
    >>> cutoff_table([0, 0, 1, 1], [1, 2, 3, 4], cuts=[1, 2, 3]).events_selected
    array([1. , 1. , 0.5])
    """

    cut: Floats
    selected: Floats
    selected_rate: Floats
    other_rate: Floats
    events_selected: Floats


def periods_of(time: Any, n_rows: int) -> tuple[Values, Indices]:
    """Return the distinct periods in their order, and that of each row; dates become months."""
    dtype: Any = getattr(time, "dtype", None)
    if hasattr(dtype, "tz"):  # the months of their own clock, not of UTC
        time = getattr(time, "dt", time).tz_localize(None)
    elif getattr(dtype, "time_zone", None):  # of polars
        time = time.dt.replace_time_zone(None)
    elif hasattr(dtype, "freq"):  # periods of pandas
        time = time.astype(str)
    values = check_column(time, "time")
    check_lengths(y_true=np.empty(n_rows), time=values)
    lacking = [number for number, one in enumerate(values.tolist()) if is_missing(one)]
    if values.dtype.kind == "M":
        lacking = np.flatnonzero(np.isnat(values)).tolist()
    if lacking:
        raise ValueError(f"time must not have missing values. Row {lacking[0]} has one.")
    if values.dtype.kind == "O" and all(hasattr(one, "year") for one in values):
        clocks = [one.replace(tzinfo=None) if hasattr(one, "tzinfo") else one for one in values]
        values = np.array(clocks, dtype="datetime64[us]")
    if values.dtype.kind == "M":
        values, dtype = values.astype("datetime64[M]").astype(str), None
    if getattr(dtype, "ordered", False):  # categories of pandas
        found, place = np.unique(getattr(time, "cat", time).codes, return_inverse=True)
        return np.asarray(dtype.categories)[found], place.ravel()
    try:
        found, place = np.unique(values, return_inverse=True)
    except TypeError as error:
        raise ValueError(f"time must hold dates, or values of one kind. {error}") from error
    return found, place.ravel()


def _rows(owner: str, y_true: Any, y_score: Any, sample_weight: Any) -> tuple[ScoredRows, Floats]:
    """Return checked rows and the weight of the events among them."""
    rows = ScoredRows.with_relevance(y_true, y_score, None, sample_weight)
    check_weight_range(owner, rows.weight)
    return rows, rows.weight * (rows.y > 0)


def period_table(
    y_true: Any,
    y_score: Any,
    time: Any,
    *,
    reference: Any = None,
    cut: float | None = None,
    sample_weight: Any = None,
) -> PeriodTable:
    r"""Compute event rate, AUC and stability of the scores by period.

    .. math:: r_t = \frac{e_t}{n_t}, \qquad
        \mathrm{PSI}_t = \sum_b (q_{tb} - p_b) \ln \frac{q_{tb}}{p_b}

    where :math:`n_t` and :math:`e_t` are the weights of the rows and of the events of period t,
    :math:`q_{tb}` the share of its rows in band b of the scores and :math:`p_b` that of the
    reference; bands are the tenths of the reference (see `population_stability_index`).

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance; rows above 0 are events.
    y_score : array-like of shape (n_samples,)
        Scores; a high score should mean an event.
    time : array-like of shape (n_samples,)
        Dates, of which the months are the periods, those of their own clock where they have a time
        zone; or the periods: numbers or text that sorts, or ordered categories.
    reference : array-like of shape (n_reference,), default=None
        Scores to compare the distributions with. None: those of the earliest period.
    cut : float, default=None
        The score above which `above` counts rows.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Multiplicities, non-negative.

    Returns
    -------
    PeriodTable
        An array for each column, and ``to_frame()``.

    Raises
    ------
    ValueError
        When a time is missing, or a parameter is not allowed.

    References
    ----------
    Siddiqi2006 (reports on the stability of scorecards). DeLong1988 (the interval of the AUC).

    Examples
    --------
    >>> from sklearn_rank.scorecard.monitoring import period_table
    >>> months = ["2026-01"] * 4 + ["2026-02"] * 4
    >>> found = period_table([0, 1, 0, 1, 0, 1, 1, 1], [1, 2, 3, 4, 1, 2, 4, 4], months)
    >>> found.period.tolist(), found.rate
    (['2026-01', '2026-02'], array([0.5 , 0.75]))
    """
    check_parameters("period_table", {"cut": cut}, {"cut": _CUT})
    rows, events = _rows("period_table", y_true, y_score, sample_weight)
    names, place = periods_of(time, len(rows.is_kept))
    kept, place = np.unique(place[rows.is_kept], return_inverse=True)
    score, weight = rows.score, rows.weight
    first = place == 0
    base, base_weight = (score[first], weight[first]) if reference is None else (reference, None)

    def sums(values: Floats) -> Floats:
        return band_sums(place, values, len(kept))

    figures = np.empty((len(kept), 5))
    for number in range(len(kept)):
        own = place == number
        figures[number, :3] = auc_with_interval(rows.y[own] > 0, score[own], weight[own])
        found = stability_in_tenths(base, score[own], base_weight, weight[own])
        is_base = reference is None and number == 0
        figures[number, 3:] = (np.nan, np.nan) if is_base else (found.psi, found.expected)
    count, n_events = sums(weight), sums(events)
    above = np.full(len(kept), np.nan) if cut is None else sums(weight * (score > cut)) / count
    with np.errstate(over="ignore", invalid="ignore"):  # a mean of infinite scores
        mean = sums(weight * score) / count
    return PeriodTable(*(names[kept], count, n_events, n_events / count, mean, above), *figures.T)


def vintage_table(
    y_true: Any, y_score: Any, time: Any, *, bands: Any = 5, sample_weight: Any = None
) -> VintageTable:
    """Compute event rates by period and band of the score.

    A card that keeps its meaning has, in each band, the same rate in all periods; one that keeps
    its order has rates that rise with the band in each.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance; rows above 0 are events.
    y_score : array-like of shape (n_samples,)
        Scores; a high score should mean an event.
    time : array-like of shape (n_samples,)
        Dates, of which the months are the periods, those of their own clock where they have a time
        zone; or the periods: numbers or text that sorts, or ordered categories.
    bands : int or array-like, default=5
        A number: bands of nearly equal share of all rows. An array: the increasing scores that
        divide the bands, each belonging to the band below it.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Multiplicities, non-negative.

    Returns
    -------
    VintageTable
        A line for each period and band, and ``to_frame()``.

    Raises
    ------
    ValueError
        When a time is missing, or a parameter is not allowed.

    References
    ----------
    Siddiqi2006 (vintages of accounts).

    Examples
    --------
    >>> from sklearn_rank.scorecard.monitoring import vintage_table
    >>> found = vintage_table([0, 1, 0, 1], [1, 2, 1, 2], [2025, 2025, 2026, 2026], bands=[1])
    >>> found.period.tolist(), found.rate
    ([2025, 2025, 2026, 2026], array([0., 1., 0., 1.]))
    """
    rows, events = _rows("vintage_table", y_true, y_score, sample_weight)
    names, place = periods_of(time, len(rows.is_kept))
    kept, place = np.unique(place[rows.is_kept], return_inverse=True)
    cuts = cuts_of("vintage_table", "bands", bands, rows.score, rows.weight)
    n_bands = len(cuts) + 1
    line = place * n_bands + band_of(rows.score, cuts)
    size = len(kept) * n_bands
    count, n_events = (band_sums(line, one, size) for one in (rows.weight, events))
    above, up_to = np.append(-np.inf, cuts), np.append(cuts, np.inf)
    return VintageTable(
        np.repeat(names[kept], n_bands),
        np.tile(above, len(kept)),
        np.tile(up_to, len(kept)),
        *(count, n_events, ratio(n_events, count)),
    )


def cutoff_table(
    y_true: Any, y_score: Any, *, cuts: Any = 20, selected: str = "above", sample_weight: Any = None
) -> CutoffTable:
    r"""Compute what each cut would select: the approval rate and the event rates on both sides.

    .. math:: \mathrm{selected}_c = \frac{1}{N} \sum_{i \in S_c} w_i, \qquad
        \mathrm{rate}_c = \frac{\sum_{i \in S_c} w_i y_i}{\sum_{i \in S_c} w_i}

    where :math:`S_c` are the rows with a score above c, or of at most c, :math:`w_i` their weights
    with the sum N over all rows, and :math:`y_i` is 1 for an event.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance; rows above 0 are events.
    y_score : array-like of shape (n_samples,)
        Scores.
    cuts : int in [2, inf) or array-like, default=20
        The increasing cuts, or a number: those that divide the rows into so many nearly equal
        parts.
    selected : {"above", "below"}, default="above"
        Which rows are selected: those above the cut, or those of at most the cut.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Multiplicities, non-negative.

    Returns
    -------
    CutoffTable
        An array for each column, and ``to_frame()``.

    Raises
    ------
    ValueError
        When a parameter is not allowed.

    References
    ----------
    Siddiqi2006 (trade-off of approval rate and bad rate).

    Examples
    --------
    >>> from sklearn_rank.scorecard.monitoring import cutoff_table
    >>> found = cutoff_table([0, 0, 1, 1], [1, 2, 3, 4], cuts=[1, 2, 3], selected="below")
    >>> found.selected, found.selected_rate.round(2)
    (array([0.25, 0.5 , 0.75]), array([0.  , 0.  , 0.33]))
    """
    check_parameters("cutoff_table", {"selected": selected}, {"selected": SELECTED})
    rows, events = _rows("cutoff_table", y_true, y_score, sample_weight)
    limits = cuts_of("cutoff_table", "cuts", cuts, rows.score, rows.weight)
    band, n_bands = band_of(rows.score, limits), len(limits) + 1
    bands = [band_sums(band, one, n_bands) for one in (rows.weight, events)]
    total, n_events = float(rows.weight.sum()), float(events.sum())
    # A difference from the total would leave rounding where no row is.
    sides = [
        [np.cumsum(one[::-1])[-2::-1] for one in bands],
        [np.cumsum(one)[:-1] for one in bands],
    ]
    (count, of_count), (others, of_others) = sides if selected == "above" else sides[::-1]
    return CutoffTable(
        limits,
        count / total,
        ratio(of_count, count),
        ratio(of_others, others),
        ratio(of_count, n_events),
    )
