"""Pictures of a comparison and of an evaluation, drawn by the displays of the package."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_rank.cli._errors import InputError, import_extra
from sklearn_rank.cli._intervals import MIN_INTERVAL_QUERIES, Known, Standings
from sklearn_rank.cli._metrics import FIGURES, Floats
from sklearn_rank.cli._output import complete_or_not_at_all

PLOT_SUFFIXES = (".png", ".pdf", ".svg")
_TOP = 0.1
"""Share of the negatives in the panel that enlarges the left end of the ROC curve."""


def plot_comparison(
    path: Path,
    known: Known,
    scores: Mapping[str, Floats],
    standings: Standings,
    title: str,
    *,
    force: bool,
) -> None:
    """Draw ROC curves of two classes in one list, else the figures with their intervals."""
    if _has_curves(known, standings):
        if np.unique(known.y).size > 2:
            title += ". Positives: relevance above 0"
        drawing = _new_figure(title, 9.5, 4.6 + 0.13 * len(scores))
        panels = drawing.subplots(1, 2)
        lowest = min(_draw_roc(panels, known, one, name) for name, one in scores.items())
        # Curves that begin high would all lie on one line at the upper edge.
        panels[0].set_ylim(bottom=np.floor(10 * lowest) / 10)
        _one_legend(drawing, panels)
    else:
        drawing = _new_figure(title, 2.4 + 2.4 * len(standings), 1.6 + 0.32 * len(scores))
        _draw_intervals(drawing, standings)
    _save(drawing, path, force)


def plot_evaluation(
    path: Path, known: Known, scores: Floats, name: str, title: str, *, force: bool
) -> None:
    """Draw the ranked list and, of two classes, the ROC curve with its left end enlarged."""
    from sklearn_rank.plotting import RankedListDisplay

    has_curve = np.unique(known.y).size == 2
    drawing = _new_figure(title, 8.5, 8.0 if has_curve else 4.4)
    places = drawing.subplot_mosaic([["list", "list"], ["top", "all"]] if has_curve else [["list"]])
    RankedListDisplay.from_predictions(
        known.y, scores, qid=known.qid, relevant_above=0, ax=places["list"]
    )
    if has_curve:
        panels = [places["top"], places["all"]]
        _draw_roc(panels, known, scores, name)
        for panel in panels:
            panel.get_legend().remove()
    _save(drawing, path, force)


def check_drawable(known: Known, standings: Standings, name: str) -> None:
    """Refuse to draw ROC curves of a single class."""
    if _has_curves(known, standings) and np.unique(_is_positive(known)).size < 2:
        raise InputError(
            f"{name}: --plot needs rows with a relevance above 0 and others, or at least "
            f"{MIN_INTERVAL_QUERIES} queries with a relevant row"
        )


def _has_curves(known: Known, standings: Standings) -> bool:
    return not standings or (known.qid is None and np.unique(known.y).size == 2)


def _is_positive(known: Known) -> NDArray[np.bool_]:
    """Return the greater of two classes; of several grades those above 0."""
    levels = np.unique(known.y)
    return known.y == levels[-1] if levels.size == 2 else known.y > 0


def _new_figure(title: str, width: float, height: float) -> Any:
    # A Figure of its own, not pyplot's: no window system is needed and no state is left.
    drawing = import_extra("matplotlib.figure").Figure(
        figsize=(width, height), dpi=150, layout="constrained"
    )
    wrapped = textwrap.fill(title, int(11 * width))
    # A file may be called a$b$c.csv.
    drawing.suptitle(wrapped, fontsize="medium", parse_math=False)
    return drawing


def _save(drawing: Any, path: Path, force: bool) -> None:
    with complete_or_not_at_all(path, force=force) as temporary:
        drawing.savefig(temporary)


def _draw_roc(panels: Any, known: Known, scores: Floats, name: str) -> float:
    """Draw one curve in both panels; return how high it is at its first step to the right."""
    from sklearn_rank.plotting import TopROCDisplay

    # Rows of two folds were scored by two models: the curve is the mean of the folds'.
    lists = known.fold if known.qid is None else known.qid
    top, whole = panels
    display = TopROCDisplay.from_predictions(
        _is_positive(known), scores, qid=lists, name=name, max_fpr=_TOP, ax=top
    )
    display.plot(whole, max_fpr=1.0)
    top.set_title(f"the first {100 * _TOP:g} % of the negatives", fontsize="medium")
    whole.set_title("the whole list", fontsize="medium")
    return float(display.tpr[display.fpr == 0].max())


def _one_legend(drawing: Any, panels: Any) -> None:
    """Put one legend below the panels, which share it."""
    handles, labels = panels[0].get_legend_handles_labels()
    for panel in panels:
        panel.get_legend().remove()
    drawing.legend(
        handles, labels, loc="outside lower center", ncols=2, frameon=False, handlelength=3.5
    )


def _draw_intervals(drawing: Any, standings: Standings) -> None:
    """Draw one panel per figure; open marks are worse than the best by more than noise."""
    from sklearn_rank.plotting._drawing import COLOURS, use_light_frame

    panels = drawing.subplots(1, len(standings), sharey=True, squeeze=False)[0]
    headings = {figure.key: figure.heading for figure in FIGURES}
    for panel, (key, column) in zip(panels, standings.items(), strict=True):
        for place, standing in enumerate(column.values()):
            interval = standing.interval
            panel.plot([interval.low, interval.high], [place, place], color=COLOURS[0], zorder=2)
            fill = "white" if standing.is_worse else COLOURS[0]
            marker = {"color": COLOURS[0], "markerfacecolor": fill, "markersize": 7}
            panel.plot(interval.estimate, place, "o", zorder=3, **marker)
        best = max(standing.interval.estimate for standing in column.values())
        panel.axvline(best, color="0.6", linewidth=1, linestyle=(0, (3, 2)), zorder=1)
        panel.set_title(headings[key], fontsize="medium")
        panel.locator_params(axis="x", nbins=4)
        use_light_frame(panel)
    names = list(next(iter(standings.values())))
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    drawing.supxlabel(
        "Lines: 95 % intervals. Open circle: worse than the best (dashed) by more than noise.",
        fontsize="medium",
    )
