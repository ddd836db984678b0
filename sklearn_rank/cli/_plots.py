"""Pictures of a comparison and of an evaluation, drawn by the displays of the package."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats
from sklearn_rank.cli._errors import InputError, import_extra
from sklearn_rank.cli._metrics import Comparison, Labels, heading
from sklearn_rank.cli._output import Output


def plot_comparison(
    output: Output, rows: Labels, scores: Mapping[str, Floats], table: Comparison, title: str
) -> None:
    """Draw the left end of the ROC curves of two classes, else the metrics with intervals."""
    shown = {
        name: column
        for name, column in table.items()
        if all(one.interval is not None for one in column.values())
    }
    if rows.qid is None and np.unique(rows.y).size == 2:
        from sklearn_rank.plotting import TopROCDisplay

        figure = _new_figure(title, 6.5, 5.5)
        axes = figure.subplots()
        for name, one in scores.items():
            # Different models scored the folds: the curve is the mean over folds.
            display = TopROCDisplay.from_predictions
            display(rows.y == rows.y.max(), one, qid=rows.fold, name=name, max_fpr=0.1, ax=axes)
    elif shown:
        figure = _new_figure(title, 2.4 + 2.4 * len(shown), 1.6 + 0.32 * len(scores))
        _draw_intervals(figure.subplots(1, len(shown), sharey=True, squeeze=False)[0], shown)
    else:
        raise InputError("--plot needs two classes in one list, or metrics with intervals")
    _save(figure, output)


def plot_evaluation(output: Output, rows: Labels, scores: Floats, title: str) -> None:
    """Draw the labels down the ranked list, with precision and recall."""
    from sklearn_rank.plotting import RankedListDisplay

    figure = _new_figure(title, 8.5, 4.4)
    RankedListDisplay.from_predictions(
        rows.y, scores, qid=rows.qid, relevant_above=0, ax=figure.subplots()
    )
    _save(figure, output)


def _new_figure(title: str, width: float, height: float) -> Any:
    # Not created by pyplot, which needs a window system and keeps the figure.
    figure = import_extra("matplotlib.figure").Figure((width, height), 150, layout="constrained")
    # A file may be called a$b$c.csv.
    figure.suptitle(textwrap.fill(title, int(11 * width)), fontsize="medium", parse_math=False)
    return figure


def _save(figure: Any, output: Output) -> None:
    with output.writing() as temporary:
        figure.savefig(temporary)


def _draw_intervals(panels: Any, table: Comparison) -> None:
    """Draw one panel for each metric; open circles are significantly worse than the best."""
    for panel, (key, column) in zip(panels, table.items(), strict=True):
        for place, one in enumerate(column.values()):
            panel.plot(one.interval, [place, place], color="C0")
            panel.plot(one.mean, place, "o", color="C0", mfc="white" if one.is_worse else "C0")
        panel.axvline(max(one.mean for one in column.values()), color="0.6", linewidth=1, zorder=1)
        panel.set_title(heading(key), fontsize="medium")
        panel.locator_params(axis="x", nbins=4)
    names = list(next(iter(table.values())))
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    panels[0].figure.supxlabel(
        "Lines: 95 % intervals. Open: worse than the best.", fontsize="medium"
    )
