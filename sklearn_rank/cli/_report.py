"""Show results: tables on the terminal, JSON, a plot."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_rank.cli._errors import import_extra
from sklearn_rank.cli._metrics import FIGURES, Figure
from sklearn_rank.cli._output import complete_or_not_at_all

PLOT_SUFFIXES = (".png", ".pdf", ".svg")
FIT_TIME = Figure("fit_seconds", "fit s", "seconds to fit", greater_is_better=False)
COLUMNS = (*FIGURES, FIT_TIME)


@dataclass(frozen=True)
class Summary:
    """Mean and standard deviation of one figure over the folds where it is defined."""

    mean: float
    deviation: float
    folds: list[float]

    @classmethod
    def of(cls, folds: Sequence[float]) -> Summary:
        """Summarise the values of the folds."""
        defined = [value for value in folds if math.isfinite(value)]
        mean = float(np.mean(defined)) if defined else math.nan
        deviation = float(np.std(defined, ddof=1)) if len(defined) > 1 else math.nan
        return cls(mean, deviation, list(folds))


Comparison = dict[str, dict[str, Summary]]
"""Summaries by candidate and by key of the figure."""

Intervals = dict[str, tuple[float, float]]
"""Low and high by key of the figure."""


def conventions(*, graded: bool, n_queries: int | None, n_skipped: int) -> str:
    """Say how the figures are defined where more than one definition is in use."""
    sentences = [
        "R_4: p-norm push loss (p=4), smaller is better. NDCG: linear gain. AP: average "
        "precision. P@: precision in the first 10, or 1%. Ties: one half in AUC, errors in "
        "R_4, elsewhere as if shuffled.",
    ]
    if graded:
        sentences.append("Relevant, in AP and P@: above 0.")
    if n_queries is not None:
        sentences.append(
            f"NDCG, AP and P@: means over queries; {n_skipped} of {n_queries} are skipped, "
            "having no relevant row, or a single row."
        )
    return " ".join(sentences)


def print_comparison(results: Comparison, title: str, footnote: str) -> None:
    """Print one candidate per row: the mean, and below it the deviation."""
    console = import_extra("rich.console").Console(highlight=False)
    table = import_extra("rich.table").Table(box=import_extra("rich.box").SIMPLE, padding=(0, 0))
    table.add_column("", no_wrap=True)
    for figure in COLUMNS:
        table.add_column(figure.heading, justify="right", no_wrap=True)
    best = {figure.key: _best(results, figure) for figure in COLUMNS}
    plus_minus = "±" if console.encoding.lower().startswith("utf") else "+-"
    for name, summaries in results.items():
        cells = []
        for figure in COLUMNS:
            summary = summaries[figure.key]
            mean = _number(summary.mean, figure)
            if summary.mean == best[figure.key]:
                mean = f"[bold green]{mean}[/]"
            # Without the leading zero the table fits 80 columns, with "+-" too.
            deviation = _number(summary.deviation, figure).removeprefix("0")
            cells.append(f"{mean}\n[dim]{plus_minus}{deviation}[/]" if deviation != "-" else mean)
        table.add_row(name, *cells)
    console.print(title, style="bold", markup=False)
    console.print(table)
    console.print(footnote, style="dim", markup=False)


def print_evaluation(
    figures: dict[str, float], intervals: Intervals, title: str, footnote: str
) -> None:
    """Print the figures of one model below each other, with the intervals there are."""
    console = import_extra("rich.console").Console(highlight=False)
    table = import_extra("rich.table").Table(box=import_extra("rich.box").SIMPLE, show_header=False)
    for figure in FIGURES:
        cells = [figure.heading, _number(figures[figure.key], figure)]
        if intervals:
            ends = [_number(end, figure) for end in intervals.get(figure.key, ())]
            cells.append(f"[{', '.join(ends)}]" if ends else "")
        table.add_row(*cells, figure.meaning)
    if intervals:
        footnote += " [low, high]: 95 % bootstrap interval over queries."
    console.print(title, style="bold", markup=False)
    console.print(table)
    console.print(footnote, style="dim", markup=False)


def evaluation_as_json(figures: dict[str, float], intervals: Intervals) -> dict[str, Any]:
    """Put the intervals behind the figures, with keys of their own."""
    return {**figures, **{f"{key}_interval": list(ends) for key, ends in intervals.items()}}


def write_json(path: Path, content: dict[str, Any], *, force: bool) -> None:
    """Write results; figures that are not defined become null."""
    with complete_or_not_at_all(path, force=force) as temporary:
        text = json.dumps(_without_nan(content), indent=2, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")


def as_json(results: Comparison) -> dict[str, Any]:
    """Turn a comparison into nested dictionaries."""
    return {
        name: {key: vars(summary) for key, summary in summaries.items()}
        for name, summaries in results.items()
    }


def write_plot(path: Path, results: Comparison, title: str, *, force: bool) -> None:
    """Draw one panel per figure: mean and deviation of every candidate."""
    # A Figure of its own, not pyplot: no window system is needed and no state is left.
    drawing = import_extra("matplotlib.figure").Figure(figsize=(10, 5.5), layout="constrained")
    drawing.suptitle(title, fontsize="medium")
    names = list(results)
    places = range(len(names))
    panels = drawing.subplots(2, 3, sharey=True)
    for panel, figure in zip(panels.flat, FIGURES, strict=True):
        summaries = [results[name][figure.key] for name in names]
        panel.errorbar(
            [summary.mean for summary in summaries],
            places,
            xerr=[0.0 if math.isnan(s.deviation) else s.deviation for s in summaries],
            fmt="o",
            capsize=3,
        )
        better = "greater" if figure.greater_is_better else "smaller"
        panel.set_title(f"{figure.heading} ({better} is better)", fontsize="small")
        panel.grid(axis="x", alpha=0.3)
    panels[0, 0].set_yticks(places, names)
    panels[0, 0].set_ylim(len(names) - 0.5, -0.5)
    with complete_or_not_at_all(path, force=force) as temporary:
        drawing.savefig(temporary)


def _best(results: Comparison, figure: Figure) -> float:
    means = [summaries[figure.key].mean for summaries in results.values()]
    defined = [mean for mean in means if math.isfinite(mean)]
    if not defined:
        return math.nan
    return max(defined) if figure.greater_is_better else min(defined)


def _number(value: float, figure: Figure) -> str:
    if not math.isfinite(value):
        return "-"
    if figure is FIT_TIME:
        return f"{value:.3f}" if value < 10 else f"{value:.0f}"
    return f"{value:.4f}"


def _without_nan(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _without_nan(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_without_nan(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content
