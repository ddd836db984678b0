"""Show results: tables on the terminal, JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_rank.cli._errors import import_extra
from sklearn_rank.cli._intervals import Interval, Standing, Standings
from sklearn_rank.cli._metrics import FIGURES, Figure
from sklearn_rank.cli._output import complete_or_not_at_all

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


def print_comparison(
    results: Comparison, standings: Standings, title: str, footnotes: Sequence[str]
) -> None:
    """Print one candidate per row: mean and deviation, then the intervals there are."""
    console = import_extra("rich.console").Console(highlight=False)
    is_utf = console.encoding.lower().startswith("utf")
    console.print(title, style="bold", markup=False)
    columns = [
        (figure.heading, _mean_cells(results, figure, "±" if is_utf else "+-"))
        for figure in COLUMNS
    ]
    _print_columns(console, "", list(results), columns)
    console.print(footnotes[0], style="dim", markup=False)
    columns = [
        (
            f"{figure.heading} ",
            [
                _interval_cell(standing, figure, "–" if is_utf else "-")
                for standing in standings[figure.key].values()
            ],
        )
        for figure in FIGURES
        if figure.key in standings
    ]
    _print_columns(console, "95 % interval", list(results), columns)
    console.print(*footnotes[1:], style="dim", markup=False)


def _print_columns(
    console: Any, corner: str, names: list[str], columns: list[tuple[str, list[str]]]
) -> None:
    """Print a table, in several parts below each other where the terminal is too narrow."""
    while columns:
        n_fitting = len(columns)
        while n_fitting > 1 and not _fits(console, _table(corner, names, columns[:n_fitting])):
            n_fitting -= 1
        console.print(_table(corner, names, columns[:n_fitting]))
        columns = columns[n_fitting:]


def _table(corner: str, names: list[str], columns: list[tuple[str, list[str]]]) -> Any:
    table = import_extra("rich.table").Table(box=import_extra("rich.box").SIMPLE, padding=(0, 0))
    table.add_column(corner, no_wrap=True)
    for heading, _ in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    for number, name in enumerate(names):
        table.add_row(name, *(cells[number] for _, cells in columns))
    return table


def _fits(console: Any, table: Any) -> bool:
    unlimited = console.options.update(max_width=1000)
    return bool(console.measure(table, options=unlimited).maximum <= console.width)


def _mean_cells(results: Comparison, figure: Figure, plus_minus: str) -> list[str]:
    """Return the mean of each candidate and, below it, the deviation."""
    best, cells = _best(results, figure), []
    for summaries in results.values():
        summary = summaries[figure.key]
        mean = _number(summary.mean, figure)
        if summary.mean == best:
            mean = f"[bold green]{mean}[/]"
        # Without the leading zero the table fits 80 columns, with "+-" too.
        deviation = _number(summary.deviation, figure).removeprefix("0")
        cells.append(f"{mean}\n[dim]{plus_minus}{deviation}[/]" if deviation != "-" else mean)
    return cells


def _interval_cell(standing: Standing, figure: Figure, dash: str) -> str:
    """Return the two ends, and a star if this is worse than the best."""
    ends = (standing.interval.low, standing.interval.high)
    # Without the leading zeros four of them fit 80 columns.
    text = dash.join(_number(end, figure).removeprefix("0") for end in ends)
    mark = "*" if standing.is_worse else " "
    return f"[bold green]{text}[/]{mark}" if standing.below_best is None else f"{text}{mark}"


def print_evaluation(
    figures: dict[str, float], intervals: Mapping[str, Interval], title: str, footnote: str
) -> None:
    """Print the figures of one model below each other, with the intervals there are."""
    console = import_extra("rich.console").Console(highlight=False)
    table = import_extra("rich.table").Table(box=import_extra("rich.box").SIMPLE, show_header=False)
    for figure in FIGURES:
        cells = [figure.heading, _number(figures[figure.key], figure)]
        if intervals:
            found = intervals.get(figure.key)
            ends = (
                [] if found is None else [_number(end, figure) for end in (found.low, found.high)]
            )
            cells.append(f"[{', '.join(ends)}]" if ends else "")
        table.add_row(*cells, figure.meaning)
    console.print(title, style="bold", markup=False)
    console.print(table)
    console.print(footnote, style="dim", markup=False)


def evaluation_as_json(
    figures: dict[str, float], intervals: Mapping[str, Interval]
) -> dict[str, Any]:
    """Put the intervals behind the figures, with keys of their own."""
    ends = {f"{key}_interval": [found.low, found.high] for key, found in intervals.items()}
    return {**figures, **ends}


def write_json(path: Path, content: dict[str, Any], *, force: bool) -> None:
    """Write results; figures that are not defined become null."""
    with complete_or_not_at_all(path, force=force) as temporary:
        text = json.dumps(_without_nan(content), indent=2, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")


def as_json(results: Comparison, standings: Standings) -> dict[str, Any]:
    """Turn a comparison into nested dictionaries."""
    content: dict[str, Any] = {
        name: {key: dict(vars(summary)) for key, summary in summaries.items()}
        for name, summaries in results.items()
    }
    for key, column in standings.items():
        for name, standing in column.items():
            content[name][key].update(standing.as_json())
    return content


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
