"""Plots of a comparison and of an evaluation, drawn by the displays of the package."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats, Mask
from sklearn_rank.cli._errors import InputError, import_extra
from sklearn_rank.cli._intervals import MIN_INTERVAL_QUERIES, IntervalTable, LabelledRows
from sklearn_rank.cli._metrics import METRICS
from sklearn_rank.cli._output import write_atomically

PLOT_SUFFIXES = (".png", ".pdf", ".svg")
_TOP = 0.1
"""Share of the negatives in the panel that enlarges the left end of the ROC curve."""


def plot_comparison(
    path: Path,
    rows: LabelledRows,
    scores: Mapping[str, Floats],
    interval_table: IntervalTable,
    title: str,
    *,
    force: bool,
) -> None:
    """Draw ROC curves of two classes in one list, else the metrics with their intervals."""
    if _has_curves(rows, interval_table):
        if np.unique(rows.y).size > 2:
            title += ". Positives: relevance above 0"
        figure = _new_figure(title, 9.5, 4.6 + 0.13 * len(scores))
        panels = figure.subplots(1, 2)
        lowest = min(_draw_roc(panels, rows, one, name) for name, one in scores.items())
        # Otherwise curves that start high would coincide at the upper edge.
        panels[0].set_ylim(bottom=np.floor(10 * lowest) / 10)
        _common_legend(figure, panels)
    else:
        figure = _new_figure(title, 2.4 + 2.4 * len(interval_table), 1.6 + 0.32 * len(scores))
        _draw_intervals(figure, interval_table)
    _save(figure, path, force)


def plot_evaluation(
    path: Path, rows: LabelledRows, scores: Floats, name: str, title: str, *, force: bool
) -> None:
    """Draw the ranked list and, of two classes, the ROC curve with its left end enlarged."""
    from sklearn_rank.plotting import RankedListDisplay

    has_curve = np.unique(rows.y).size == 2
    figure = _new_figure(title, 8.5, 8.0 if has_curve else 4.4)
    places = figure.subplot_mosaic([["list", "list"], ["top", "all"]] if has_curve else [["list"]])
    RankedListDisplay.from_predictions(
        rows.y, scores, qid=rows.qid, relevant_above=0, ax=places["list"]
    )
    if has_curve:
        panels = [places["top"], places["all"]]
        _draw_roc(panels, rows, scores, name)
        for panel in panels:
            panel.get_legend().remove()
    _save(figure, path, force)


def check_drawable(rows: LabelledRows, interval_table: IntervalTable, name: str) -> None:
    """Raise InputError for ROC curves of a single class."""
    if _has_curves(rows, interval_table) and np.unique(_is_positive(rows)).size < 2:
        raise InputError(
            f"{name}: --plot needs rows with a relevance above 0 and others, or at least "
            f"{MIN_INTERVAL_QUERIES} queries with a relevant row"
        )


def _has_curves(rows: LabelledRows, interval_table: IntervalTable) -> bool:
    return not interval_table or (rows.qid is None and np.unique(rows.y).size == 2)


def _is_positive(rows: LabelledRows) -> Mask:
    """Return a mask of the greater of two classes; of several grades those above 0."""
    levels = np.unique(rows.y)
    return rows.y == levels[-1] if levels.size == 2 else rows.y > 0


def _new_figure(title: str, width: float, height: float) -> Any:
    # Not created by pyplot, which needs a window system and keeps the figure.
    figure = import_extra("matplotlib.figure").Figure(
        figsize=(width, height), dpi=150, layout="constrained"
    )
    wrapped = textwrap.fill(title, int(11 * width))
    # A file may be called a$b$c.csv.
    figure.suptitle(wrapped, fontsize="medium", parse_math=False)
    return figure


def _save(figure: Any, path: Path, force: bool) -> None:
    with write_atomically(path, force=force) as temporary:
        figure.savefig(temporary)


def _draw_roc(panels: Any, rows: LabelledRows, scores: Floats, name: str) -> float:
    """Draw one curve in both panels; return its height before the first negative."""
    from sklearn_rank.plotting import TopROCDisplay

    # Different models scored the folds: the curve is the mean over folds.
    lists = rows.fold if rows.qid is None else rows.qid
    top, whole = panels
    display = TopROCDisplay.from_predictions(
        _is_positive(rows), scores, qid=lists, name=name, max_fpr=_TOP, ax=top
    )
    display.plot(whole, max_fpr=1.0)
    top.set_title(f"the first {100 * _TOP:g} % of the negatives", fontsize="medium")
    whole.set_title("the whole list", fontsize="medium")
    return float(display.tpr[display.fpr == 0].max())


def _common_legend(figure: Any, panels: Any) -> None:
    """Put a common legend below the panels."""
    handles, labels = panels[0].get_legend_handles_labels()
    for panel in panels:
        panel.get_legend().remove()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=2, frameon=False, handlelength=3.5
    )


def _draw_intervals(figure: Any, interval_table: IntervalTable) -> None:
    """Draw one panel per metric; open circles are significantly worse than the best."""
    from sklearn_rank.plotting._drawing import COLOURS, use_light_frame

    panels = figure.subplots(1, len(interval_table), sharey=True, squeeze=False)[0]
    headings = {metric.key: metric.heading for metric in METRICS}
    for panel, (key, column) in zip(panels, interval_table.items(), strict=True):
        for place, compared in enumerate(column.values()):
            interval = compared.interval
            panel.plot([interval.low, interval.high], [place, place], color=COLOURS[0], zorder=2)
            fill = "white" if compared.is_worse else COLOURS[0]
            marker = {"color": COLOURS[0], "markerfacecolor": fill, "markersize": 7}
            panel.plot(interval.estimate, place, "o", zorder=3, **marker)
        best = max(compared.interval.estimate for compared in column.values())
        panel.axvline(best, color="0.6", linewidth=1, linestyle=(0, (3, 2)), zorder=1)
        panel.set_title(headings[key], fontsize="medium")
        panel.locator_params(axis="x", nbins=4)
        use_light_frame(panel)
    names = list(next(iter(interval_table.values())))
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    figure.supxlabel(
        "Lines: 95 % intervals. Open circle: worse than the best (dashed) by more than noise.",
        fontsize="medium",
    )
