"""The pictures of a report on a scorecard, as SVG that a page holds itself."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats
from sklearn_rank.plotting import TopROCDisplay
from sklearn_rank.plotting.drawing import (
    COLOURS,
    import_matplotlib,
    legend_above,
    show_percent,
    use_light_frame,
)
from sklearn_rank.scorecard.monitoring import (
    CalibrationTable,
    GainsTable,
    GroupReport,
    PeriodTable,
    StabilityTable,
)
from sklearn_rank.scorecard.pages._report_figures import ReportFigures, cumulative_shares

_EVENT, _OTHER = COLOURS[:2]
"""Blue is towards the event, as on the card, and orange away from it."""

_ROWS = "0.3"
"""Of figures of both classes."""

_MANY_TOTALS = 40
_SLANTED: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
"""How long labels stand below an axis."""


@dataclass(frozen=True)
class Picture:
    """A picture as the address of an image, and what it shows in words."""

    source: str
    description: str


def _new_axes(n_columns: int = 1, height: float = 3.3) -> Any:
    """Return the axes of a figure that no window shows."""
    size = (4.6, height)
    figure = import_matplotlib("report", "figure").Figure(figsize=size, layout="constrained")
    return figure.subplots(1, n_columns, sharey=True)


def picture_style() -> Any:
    """Return the context to draw in: the same figure gives the same text, and $ is no formula."""
    style = {"svg.hashsalt": "report", "font.size": 10, "text.parse_math": False}
    return import_matplotlib("report", "style").context(style)


def _picture(ax: Any, description: str) -> Picture:
    """Return the figure of some axes as a picture."""
    file = io.BytesIO()
    ax.figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    encoded = base64.b64encode(file.getvalue()).decode("ascii")
    return Picture(f"data:image/svg+xml;base64,{encoded}", description)


def _finished(ax: Any, x: str, y: str, description: str, **legend: Any) -> Picture:
    """Return axes with labels, shares as percentages and a legend as a picture."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    show_percent(ax.yaxis, "report")
    use_light_frame(ax)
    legend_above(ax, **legend)
    return _picture(ax, description)


def distribution(figures: ReportFigures, names: tuple[str, str]) -> Picture:
    """Draw the shares of the two classes by total."""
    ax = _new_axes()
    low, high = figures.totals.min(), figures.totals.max()
    step = max(1, int(np.ceil((high - low + 1) / _MANY_TOTALS)))
    edges = np.arange(low, high + step + 1, step) - 0.5
    classes = ((~figures.event, _OTHER, names[0]), (figures.event, _EVENT, names[1]))
    for mask, colour, name in classes:
        weight = figures.weight[mask] / figures.weight[mask].sum()
        share, _ = np.histogram(figures.totals[mask], edges, weights=weight)
        ax.stairs(share, edges, fill=True, color=colour, alpha=0.35)
        ax.stairs(share, edges, color=colour, linewidth=1.5, label=_short(name, 40))
    cut = figures.cut
    ax.axvline(np.floor(cut) + 0.5, color="0.3", linestyle=":", label=f"cut: above {cut:g}")
    x = "total" if step == 1 else f"total, {step} in a bar"
    said = f"Totals of both classes, from {low:g} to {high:g}"
    is_long = len("".join(names)) + len(f"{cut:g}") > 18
    legend = {"n_columns": 1 if is_long else 3, "handlelength": 1.2, "columnspacing": 1.0}
    return _finished(ax, x, "share of the class", said, **legend)


def roc(figures: ReportFigures, max_fpr: float) -> Picture:
    """Draw the left part of the ROC curve."""
    ax = _new_axes()
    TopROCDisplay.from_predictions(
        figures.event,
        figures.totals,
        sample_weight=figures.weight,
        ax=ax,
        max_fpr=max_fpr,
        plot_chance_level=True,
    )
    part = "ROC curve" if max_fpr == 1 else f"ROC curve up to {100 * max_fpr:g} % of the negatives"
    return _picture(ax, f"{part}; AUC {figures.auc.value:.3f}")


def distance(figures: ReportFigures, names: tuple[str, str]) -> Picture:
    """Draw the cumulative shares of both classes, and the largest distance."""
    ax = _new_axes()
    cuts, tpr, fpr = cumulative_shares(figures.totals, figures.event, figures.weight)
    # The totals fall: the share of one holds down to the next.
    for share, colour, name in ((fpr, _OTHER, names[0]), (tpr, _EVENT, names[1])):
        ax.plot(
            cuts, share, drawstyle="steps-post", color=colour, linewidth=2, label=_short(name, 40)
        )
    at = int(np.flatnonzero(cuts == figures.ks_total)[0])
    ax.vlines(cuts[at], fpr[at], tpr[at], color="0.2", linewidth=2)
    ax.annotate(
        f"KS {figures.ks.value:.3f}",
        (cuts[at], (fpr[at] + tpr[at]) / 2),
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        bbox={"boxstyle": "square,pad=0.2", "facecolor": "white", "edgecolor": "none"},
    )
    said = f"Cumulative shares of both classes; largest distance {figures.ks.value:.3f}"
    n_columns = 2 if len("".join(names)) < 30 else 1
    y = "share with at least this total"
    return _finished(ax, "total", y, said, n_columns=n_columns, handlelength=1.5)


def rates(gains: GainsTable, name: str) -> Picture:
    """Draw the event rates of the bands."""
    ax = _new_axes()
    place = np.arange(len(gains.rate))
    ax.bar(place, gains.rate, color=_EVENT)
    ax.axhline(gains.rate_of_all, color="0.2", linestyle="--", label="all rows")
    ax.set_xticks(place, list(map(band_label, gains.low, gains.high)), **_SLANTED)
    said = f"Share of {name} by band of the total"
    return _finished(ax, "total, highest first", f"share of {_short(name, 24)}", said)


def calibration(table: CalibrationTable) -> Picture:
    """Draw observed shares with intervals against predictions."""
    ax = _new_axes()
    top = 1.05 * max(np.nanmax(table.observed_high), np.nanmax(table.predicted))
    ax.plot([0, top], [0, top], color="0.6", linestyle="--", label="predicted = observed")
    ends = [table.observed - table.observed_low, table.observed_high - table.observed]
    ax.errorbar(
        *(table.predicted, table.observed, ends),
        fmt="o",
        markersize=4,
        color=_ROWS,
        capsize=2,
        label="band, 95 % interval",
    )
    ax.set_xlim(0, top)
    ax.set_ylim(0, top)
    show_percent(ax.xaxis, "report")
    said = "Observed shares against predicted probabilities"
    return _finished(ax, "predicted probability", "observed share", said, handlelength=1.8)


def stability(table: StabilityTable) -> Picture:
    """Draw the shares of two tables in bins of the total."""
    ax = _new_axes()
    place, width = np.arange(len(table.low)), 0.4
    ax.bar(place - width / 2, table.reference, width, color="0.7", label="reference")
    ax.bar(place + width / 2, table.current, width, color=_ROWS, label="these rows")
    ax.set_xticks(place, limit_labels(table.low, table.high), **_SLANTED)
    said = f"Shares of the reference and of these rows; PSI {table.psi:.3f}"
    return _finished(ax, "total", "share of the rows", said, n_columns=2, handlelength=1.5)


def periods(table: PeriodTable, name: str) -> Picture:
    """Draw AUC and event rate by period."""
    left, right = _new_axes(2, height=0.9 + 0.25 * len(table.period))
    place = np.arange(len(table.period))[::-1]
    ends = [table.auc - table.auc_low, table.auc_high - table.auc]
    left.errorbar(*(table.auc, place), xerr=np.nan_to_num(ends), fmt="o", color=_ROWS, capsize=3)
    left.set_yticks(place, [_short(str(one)) for one in table.period])
    left.set_ylim(-0.6, len(place) - 0.4)
    left.set_xlabel("AUC")
    right.barh(place, table.rate, height=0.6, color=_EVENT)
    right.set_xlabel(f"share of {_short(name, 24)}")
    show_percent(right.xaxis, "report")
    for ax in (left, right):
        use_light_frame(ax)
    return _picture(left, f"AUC and share of {name} by period")


def groups(name: str, table: GroupReport) -> Picture:
    """Draw selection rates and AUCs by group."""
    left, right = _new_axes(2, height=0.9 + 0.3 * len(table.group))
    place = np.arange(len(table.group))[::-1]
    left.barh(place, table.selection_rate, height=0.6, color="0.65")
    left.set_ylim(-0.6, len(place) - 0.4)
    left.set_yticks(place, [_short(str(one)) for one in table.group])
    left.set_xlabel("selected")
    left.set_xlim(0, 1)
    ends = [table.auc - table.auc_low, table.auc_high - table.auc]
    right.errorbar(*(table.auc, place), xerr=np.nan_to_num(ends), fmt="o", color=_ROWS, capsize=3)
    right.set_xlabel("AUC")
    show_percent(left.xaxis, "report")
    for ax in (left, right):
        use_light_frame(ax)
    left.set_xticks([0, 0.5, 1])
    return _picture(left, f"Selection rate and AUC by {name}")


def band_label(low: float, high: float) -> str:
    """Return how a band of totals reads, by its lowest and highest total."""
    return "none" if np.isnan(low) else f"{low:g}" if low == high else f"{low:g} to {high:g}"


def limit_labels(low: Floats, high: Floats) -> list[str]:
    """Return how bins of integer totals read, by their limits."""
    labels = []
    for a, b in zip(low, high, strict=True):
        if np.isinf(a):
            labels.append(f"up to {b:g}")
        elif np.isinf(b):
            labels.append(f"from {a + 1:g}")
        else:
            labels.append(f"{b:g}" if a + 1 == b else f"{a + 1:g} to {b:g}")
    return labels


def _short(text: str, most: int = 18) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
