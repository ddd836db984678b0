"""Figures by group of people: selection, error rates and order within each group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from sklearn_rank._core.protocols import Floats, Mask, Values
from sklearn_rank._core.validation import (
    Choice,
    Constraint,
    Number,
    check_column,
    check_parameters,
    check_qid,
)
from sklearn_rank.metrics import auc_interval, auc_score
from sklearn_rank.metrics.intervals import CONFIDENCE
from sklearn_rank.metrics.scored_rows import ScoredRows
from sklearn_rank.scorecard._card_checks import check_weight_range
from sklearn_rank.scorecard.monitoring._bands import FiguresTable, band_sums, ratio

_ALLOWED: dict[str, Constraint] = {
    "cut": Number(-np.inf, closed="neither"),
    "selected": Choice(("above", "below")),
    "confidence": CONFIDENCE,
}


@dataclass(frozen=True, eq=False)
class GroupReport(FiguresTable):
    """Selection rates, error rates and AUC of a score by group.

    Attributes
    ----------
    group : ndarray of shape (n_groups,)
        The groups, sorted.
    count, events : ndarray of shape (n_groups,)
        Weight of the rows, and of those with an event.
    rate : ndarray of shape (n_groups,)
        Share of the rows with an event.
    selection_rate : ndarray of shape (n_groups,)
        Share of the rows that are selected.
    impact_ratio : ndarray of shape (n_groups,)
        Selection rate by that of the reference group.
    impact_low, impact_high : ndarray of shape (n_groups,)
        Confidence interval of that ratio; NaN for the reference, where nobody of the group or of
        the reference is selected, and where all rows of both are.
    tpr, fpr : ndarray of shape (n_groups,)
        Share of the events, and of the other rows, with a score above the cut.
    auc, auc_low, auc_high : ndarray of shape (n_groups,)
        AUC within the group, with its interval; NaN where there are too few rows of a class, and
        the interval also with weights other than 0 and 1.
    reference : object
        The reference group.

    Examples
    --------
    >>> from sklearn_rank.scorecard.monitoring import group_report
    >>> group_report([1, 0, 1, 0], [2, -1, 1, 3], list("aabb")).fpr
    array([0., 1.])
    """

    group: Values
    count: Floats
    events: Floats
    rate: Floats
    selection_rate: Floats
    impact_ratio: Floats
    impact_low: Floats
    impact_high: Floats
    tpr: Floats
    fpr: Floats
    auc: Floats
    auc_low: Floats
    auc_high: Floats
    reference: Any


def group_report(
    y_true: Any,
    y_score: Any,
    group: Any,
    *,
    cut: float = 0.0,
    selected: str = "above",
    reference: Any = None,
    sample_weight: Any = None,
    confidence: float = 0.95,
) -> GroupReport:
    r"""Compare groups: the share selected, and how well the score ranks the rows of each group.

    .. math:: \text{impact ratio}_g = \frac{P(\text{selected} \mid g)}{P(\text{selected} \mid r)},
        \qquad \mathrm{TPR}_g = P(f > c \mid y = 1, g),
        \qquad \mathrm{FPR}_g = P(f > c \mid y = 0, g)

    where f is the score, c the cut, y = 1 an event and r the reference group. The interval of the
    ratio of two selection rates s of n rows is

    .. math:: \frac{s_g}{s_r} \exp\Biggl(\pm z
        \sqrt{\frac{1 - s_g}{n_g s_g} + \frac{1 - s_r}{n_r s_r}}\Biggr)

    where z is the quantile of the normal distribution at (1 + confidence) / 2 for a `reference`
    that is given. Without one it is that at 1 - (1 - confidence) / (G (G - 1)) for G groups
    (Bonferroni's bound over all pairs of them): the group with the highest of several rates is
    partly so by chance, and an interval that took it as given would too often find the others at a
    disadvantage.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance; rows above 0 are events.
    y_score : array-like of shape (n_samples,)
        Scores. Infinite scores are allowed, NaN is not.
    group : array-like of shape (n_samples,)
        Group of each row; any sortable kind, without missing values.
    cut : float, default=0
        Rows with a greater score are above the cut.
    selected : {"above", "below"}, default="above"
        On which side of the cut the favourable decision is: "below" (up to the cut) where a high
        score means a risk that is refused.
    reference : object, default=None
        The group that the others are compared with. None: the one with the highest selection rate,
        with wider intervals where there are more than two groups.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Multiplicities, non-negative. Groups without a row of positive weight are left out.
    confidence : float in (0, 1), default=0.95
        Confidence level of the intervals. Those of the impact ratio without a `reference` hold the
        true ratios of all groups at once with this probability at least, in large groups.

    Returns
    -------
    GroupReport
        An array for each column, ``reference``, and ``to_frame()``.

    Raises
    ------
    ValueError
        When the reference is not among the groups, or a parameter is not allowed.

    Notes
    -----
    The "four-fifths rule" of the Uniform Guidelines on Employee Selection Procedures (29 CFR
    1607.4 D, United States, 1978) generally regards a selection rate of less than 4/5 of that of
    the group with the highest rate as evidence of adverse impact. It is no test: with few rows
    such a ratio arises by chance, as the interval shows, and a ratio above 4/5 proves nothing.

    Where all rows of both groups are selected, their rates show no error: the ratio is 1, and its
    interval is not known.

    References
    ----------
    UGESP1978 (the ratio and the rule). Katz1978 (its interval, for one pair of groups).
    DeLong1988 (that of the AUC).

    Examples
    --------
    Scores above 0 are refused; of group "a" three of four are accepted, of "b" two of four:

    >>> from sklearn_rank.scorecard.monitoring import group_report
    >>> y = [0, 0, 0, 1, 0, 1, 0, 1]
    >>> score = [-3, -2, -1, 2, -2, -1, 1, 3]
    >>> found = group_report(y, score, list("aaaabbbb"), selected="below")
    >>> found.group, found.selection_rate
    (array(['a', 'b'], dtype='<U1'), array([0.75, 0.5 ]))
    >>> found.impact_ratio.round(2), found.reference
    (array([1.  , 0.67]), 'a')
    """
    values = {"cut": cut, "selected": selected, "confidence": confidence}
    check_parameters("group_report", values, _ALLOWED)
    rows = ScoredRows.with_relevance(y_true, y_score, None, sample_weight)
    codes = check_qid(group, len(rows.is_kept), "group")[rows.is_kept]
    kept, codes = np.unique(codes, return_inverse=True)
    labels = np.unique(check_column(group, "group"))[kept]
    event, above, weight = rows.y > 0, rows.score > cut, rows.weight
    check_weight_range("group_report", weight)

    def sums(mask: Mask) -> Floats:
        return band_sums(codes, weight * mask, len(labels))

    count, events = sums(np.ones_like(event)), sums(event)
    selection_rate = sums(above if selected == "above" else ~above) / count
    n_pairs = max(1, len(labels) * (len(labels) - 1) // 2) if reference is None else 1
    if reference is None:
        reference = labels.tolist()[int(np.argmax(selection_rate))]
    found = np.flatnonzero(labels == reference)
    if not len(found):
        raise ValueError(
            f"The 'reference' parameter of group_report must be one of the groups, "
            f"{labels.tolist()}. Got {reference!r} instead."
        )
    of_groups = (codes == code for code in range(len(labels)))
    aucs = [
        auc_with_interval(event[own], rows.score[own], weight[own], confidence) for own in of_groups
    ]
    auc, auc_low, auc_high = np.array(aucs).T
    return GroupReport(
        *(labels, count, events, events / count, selection_rate),
        *_impact(selection_rate, count, int(found[0]), (1 - confidence) / n_pairs),
        ratio(sums(event & above), events),
        ratio(sums(~event & above), count - events),
        *(auc, auc_low, auc_high),
        reference,
    )


def _impact(
    rate: Floats, count: Floats, reference: int, error_rate: float
) -> tuple[Floats, Floats, Floats]:
    """Return the ratios of selection rates and their intervals."""
    z = float(stats.norm.isf(error_rate / 2))
    ratios, variance = ratio(rate, float(rate[reference])), ratio(1 - rate, count * rate)
    half = z * np.sqrt(variance + variance[reference])
    half[(np.minimum(rate, rate[reference]) == 0) | (half == 0)] = half[reference] = np.nan
    with np.errstate(over="ignore"):  # weights far below one leave the ratio unknown
        return ratios, ratios * np.exp(-half), ratios * np.exp(half)


def auc_with_interval(
    event: Mask, score: Floats, weight: Floats, confidence: float = 0.95
) -> tuple[float, float, float]:
    """Return an AUC and its interval; NaN where rows are too few or weighted for one."""
    fewest = min(int(event.sum()), int((~event).sum()))
    if not fewest:
        return np.nan, np.nan, np.nan
    if fewest > 1 and (weight == 1).all():
        found = auc_interval(event, score, confidence=confidence)
        if found.low < found.high:  # without a wrong pair their errors are not known
            return found.auc, found.low, found.high
    return float(auc_score(event, score, sample_weight=weight)), np.nan, np.nan
