"""The figures of a report on a scorecard: order, calibration, stability, groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import roc_curve

from sklearn_rank._core.protocols import Floats, Mask
from sklearn_rank._core.validation import (
    Number,
    check_column,
    check_lengths,
    check_parameters,
    check_weight,
    is_upper_label,
)
from sklearn_rank.metrics import ks_interval, partial_auc_score, tpr_at_fpr_score
from sklearn_rank.scorecard.monitoring import (
    CalibrationTable,
    CutoffTable,
    GainsTable,
    GroupReport,
    PeriodTable,
    StabilityTable,
    VintageTable,
    calibration_table,
    cutoff_table,
    gains_table,
    group_report,
    period_table,
    stability_table,
    vintage_table,
)
from sklearn_rank.scorecard.monitoring._group_figures import auc_with_interval
from sklearn_rank.scorecard.monitoring._stability import stability_in_tenths

TOP = 0.05
"""False positive rate up to which the top of the list goes."""

_CUT = Number(-np.inf, closed="neither", other=(None,))
MANY = 20
"""Groups of one attribute, at most."""


@dataclass(frozen=True)
class Estimate:
    """A figure and its interval; NaN where there is none."""

    value: float
    low: float = np.nan
    high: float = np.nan


@dataclass(frozen=True, eq=False)
class VariableShift:
    """How far a variable has moved: its bins, and by how much the mean points changed."""

    name: str
    labels: list[str]
    table: StabilityTable
    shift: float

    @property
    def largest_change(self) -> tuple[str, float, float]:
        """The bin whose share changed most, and from what to what."""
        before, after = self.table.reference, self.table.current
        most = int(np.argmax(np.abs(after - before)))
        return self.labels[most], float(before[most]), float(after[most])


@dataclass(frozen=True, eq=False)
class ReportFigures:
    """The figures of a report.

    Attributes
    ----------
    totals, event, weight : ndarray of shape (n_rows,)
        The rows of positive weight: total, whether of ``classes_[1]``, multiplicity.
    is_weighted : bool
        Whether there are weights other than 1, for which there are no intervals.
    cut : float
        Rows with a greater total are above the cut.
    auc, ks : Estimate
        Of the totals.
    ks_total : float
        The total at which the distance is reached.
    top_area, top_share : float
        ``partial_auc_score`` and ``tpr_at_fpr_score`` at `TOP`.
    gains : GainsTable
        Ten bands.
    calibration : CalibrationTable or None
        None for a card without probabilities.
    stability : StabilityTable or None
        Of the total; None without a reference.
    variables : list of VariableShift
        Empty where neither a reference nor counts of training rows are known.
    groups : dict of str to GroupReport
        By attribute.
    cutoffs : CutoffTable
        What each of up to twenty cuts would select.
    periods : PeriodTable or None
        By period; None without times.
    vintages : VintageTable or None
        By period, in five bands.
    """

    totals: Floats
    event: Mask
    weight: Floats
    is_weighted: bool
    cut: float
    auc: Estimate
    ks: Estimate
    ks_total: float
    top_area: float
    top_share: float
    gains: GainsTable
    calibration: CalibrationTable | None
    stability: StabilityTable | None
    variables: list[VariableShift]
    groups: dict[str, GroupReport]
    cutoffs: CutoffTable
    periods: PeriodTable | None
    vintages: VintageTable | None

    @property
    def vintage_lines(self) -> tuple[list[str], list[tuple[Any, Floats]]]:
        """How the bands of the vintages read, and each period with its rates by band."""
        found = self.vintages
        assert found is not None
        periods = list(dict.fromkeys(found.period.tolist()))
        rates = found.rate.reshape(len(periods), -1)
        n_bands = rates.shape[1]
        ends = zip(found.above[:n_bands], found.up_to[:n_bands], strict=True)
        return [_band(*one) for one in ends], list(zip(periods, rates, strict=True))

    @property
    def gini(self) -> Estimate:
        """Of the totals, with the interval of the AUC."""
        return Estimate(*(2 * one - 1 for one in (self.auc.value, self.auc.low, self.auc.high)))

    @property
    def event_rate(self) -> float:
        """Share of the events."""
        return float(self.weight[self.event].sum() / self.weight.sum())

    @property
    def share_above(self) -> float:
        """Share of the rows above the cut."""
        return float(self.weight[self.totals > self.cut].sum() / self.weight.sum())

    @property
    def n_calibrated(self) -> int:
        """Number of bands whose predicted probability is inside the interval of the observed."""
        found = self.calibration
        assert found is not None
        inside = (found.observed_low <= found.predicted) & (found.predicted <= found.observed_high)
        return int(inside.sum())


def figures_of(
    scorecard: Any,
    X: Any,
    y: Any,
    *,
    reference: Any,
    groups: Any,
    cut: float | None,
    selected: str,
    sample_weight: Any,
    time: Any = None,
) -> ReportFigures:
    """Check the rows and compute the figures."""
    check_parameters("report", {"cut": cut}, {"cut": _CUT})
    cut = float(scorecard.cut_ if cut is None else cut)
    event = is_upper_label("report", y, scorecard.classes_, sample_weight)
    totals = scorecard.decision_function(X) + scorecard.cut_
    check_lengths(X=totals, y=event)
    weight = check_weight(sample_weight, len(totals))
    kept = weight > 0
    if len(np.unique(event[kept])) < 2:
        classes = scorecard.classes_.tolist()
        raise ValueError(f"report compares two classes, {classes}. All rows of y are of one class.")
    auc, ks, ks_total = _order(totals[kept], event[kept], weight[kept])
    card = scorecard.card_
    risk = scorecard.predict_risk(X) if card.risk and not card.is_edited else None
    weighted: dict[str, Any] = {"sample_weight": weight}
    return ReportFigures(
        totals=totals[kept],
        event=event[kept],
        weight=weight[kept],
        is_weighted=bool((weight[kept] != 1).any()),
        cut=cut,
        auc=auc,
        ks=ks,
        ks_total=ks_total,
        top_area=float(partial_auc_score(event, totals, max_fpr=TOP, **weighted)),
        top_share=float(tpr_at_fpr_score(event, totals, max_fpr=TOP, **weighted)),
        gains=gains_table(event, totals, **weighted),
        calibration=None if risk is None else calibration_table(event, risk, **weighted),
        stability=_total_stability(scorecard, reference, totals, weight),
        variables=_variable_shifts(scorecard, reference, X, weight),
        groups=_group_reports(groups, event, totals, cut=cut, selected=selected, **weighted),
        cutoffs=cutoff_table(event, totals, selected=selected, **weighted),
        periods=None
        if time is None
        else period_table(
            *(event, totals, time),
            reference=None
            if reference is None
            else scorecard.decision_function(reference) + scorecard.cut_,
            cut=cut,
            **weighted,
        ),
        vintages=None if time is None else vintage_table(event, totals, time, **weighted),
    )


def _band(above: float, up_to: float) -> str:
    """Return how a band of totals reads."""
    if np.isinf(above):
        return "all" if np.isinf(up_to) else f"up to {up_to:g}"
    return f"above {above:g}" if np.isinf(up_to) else f"above {above:g} up to {up_to:g}"


def _group_reports(
    groups: Any, event: Mask, totals: Floats, **options: Any
) -> dict[str, GroupReport]:
    """Return the figures of the groups by the name of the attribute."""
    reports = {}
    if groups is None:
        return {}
    if hasattr(groups, "columns"):  # a data frame
        groups = {name: groups[name] for name in groups.columns}
    named = groups if isinstance(groups, Mapping) else {"group": groups}
    for name, one in named.items():
        column = check_column(one, "groups")
        if len(column) != len(totals):
            raise ValueError(
                f"groups must hold one group for each of the {len(totals)} rows. {name} has "
                f"{len(column)}."
            )
        n_groups = len(set(column.tolist()))
        if n_groups > MANY:
            raise ValueError(
                f"groups of a report may have {MANY} values each: with few rows in a group its "
                f"figures are meaningless. {name} has {n_groups}."
            )
        reports[str(name)] = group_report(event, totals, column, **options)
    return reports


def _order(totals: Floats, event: Mask, weight: Floats) -> tuple[Estimate, Estimate, float]:
    """Return AUC and Kolmogorov-Smirnov distance, and where that is reached."""
    auc = Estimate(*auc_with_interval(event, totals, weight))
    if (weight == 1).all():
        found = ks_interval(event, totals)
        return auc, Estimate(found.ks, found.low, found.high), found.cut
    cuts, tpr, fpr = cumulative_shares(totals, event, weight)
    most = int(np.argmax(tpr - fpr))
    return auc, Estimate(float(tpr[most] - fpr[most])), float(cuts[most])


def cumulative_shares(totals: Floats, event: Mask, weight: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the totals from high to low, and the shares of events and others at least as high."""
    fpr, tpr, cuts = roc_curve(event, totals, sample_weight=weight, drop_intermediate=False)
    return cuts[1:], tpr[1:], fpr[1:]


def _total_stability(
    scorecard: Any, reference: Any, totals: Floats, weight: Floats
) -> StabilityTable | None:
    """Return how the totals have moved from those of the reference."""
    if reference is None:
        return None
    if not len(reference):
        raise ValueError("reference of report must have rows. Got a table without any.")
    before = scorecard.decision_function(reference) + scorecard.cut_
    return stability_in_tenths(before, totals, None, weight)


def _variable_shifts(scorecard: Any, reference: Any, X: Any, weight: Floats) -> list[VariableShift]:
    """Return how the variables have moved, from the reference or from the training rows."""
    card = scorecard.card_
    if not card.terms:
        return []
    now = scorecard.bins_of(X)
    before = None if reference is None else scorecard.bins_of(reference)
    shifts = []
    for number, variable in enumerate(card.terms):
        labels = variable.labels()
        if before is not None:
            old, old_weight = before[:, number], None
        elif any(variable.counts):
            old, old_weight = np.arange(len(labels)), np.array(variable.counts)
        else:
            continue
        table = stability_table(
            *(old, now[:, number]),
            bins=np.arange(len(labels) - 1),
            reference_weight=old_weight,
            sample_weight=weight,
        )
        shift = float((table.current - table.reference) @ np.array(variable.points))
        shifts.append(VariableShift(variable.name, labels, table, shift))
    return shifts
