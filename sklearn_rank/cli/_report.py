"""Results as tables on the terminal and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_rank.cli._errors import import_extra
from sklearn_rank.cli._intervals import ComparedInterval, Interval, IntervalTable
from sklearn_rank.cli._metrics import METRICS, Metric
from sklearn_rank.cli._output import write_atomically

FIT_TIME = Metric("fit_seconds", "fit s", "seconds to fit", greater_is_better=False)
COLUMNS = (*METRICS, FIT_TIME)


@dataclass(frozen=True)
class Summary:
    """Mean and standard deviation of one metric over the folds where it is defined."""

    mean: float
    deviation: float
    folds: list[float]

    @classmethod
    def of(cls, folds: Sequence[float]) -> Summary:
        """Return the summary of the values of the folds."""
        defined = [value for value in folds if math.isfinite(value)]
        mean = float(np.mean(defined)) if defined else math.nan
        deviation = float(np.std(defined, ddof=1)) if len(defined) > 1 else math.nan
        return cls(mean, deviation, list(folds))


Comparison = dict[str, dict[str, Summary]]
"""Summaries by candidate and by key of the metric."""


def conventions(*, graded: bool, n_queries: int | None, n_skipped: int) -> str:
    """Return a sentence on the definitions of the metrics that differ between packages."""
    sentences = [
        "R_4: p-norm push loss (p=4), smaller is better. NDCG: gain 2^y - 1. AP: average "
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
    results: Comparison, interval_table: IntervalTable, title: str, footnotes: Sequence[str]
) -> None:
    """Print one candidate per row: mean and standard deviation, then the intervals."""
    console = import_extra("rich.console").Console(highlight=False)
    is_utf = console.encoding.lower().startswith("utf")
    console.print(title, style="bold", markup=False)
    columns = [
        (metric.heading, _mean_cells(results, metric, "±" if is_utf else "+-"))
        for metric in COLUMNS
    ]
    _print_columns(console, "", list(results), columns)
    console.print(footnotes[0], style="dim", markup=False)
    columns = [
        (
            f"{metric.heading} ",
            [
                _interval_cell(compared, metric, "–" if is_utf else "-")
                for compared in interval_table[metric.key].values()
            ],
        )
        for metric in METRICS
        if metric.key in interval_table
    ]
    _print_columns(console, "95 % interval", list(results), columns)
    console.print(*footnotes[1:], style="dim", markup=False)


def _print_columns(
    console: Any, corner: str, names: list[str], columns: list[tuple[str, list[str]]]
) -> None:
    """Print a table, in several parts if the terminal is too narrow."""
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


def _mean_cells(results: Comparison, metric: Metric, plus_minus: str) -> list[str]:
    """Return the mean of each candidate and, below it, the standard deviation."""
    best, cells = _best(results, metric), []
    for summaries in results.values():
        summary = summaries[metric.key]
        mean = _number(summary.mean, metric)
        if summary.mean == best:
            mean = f"[bold green]{mean}[/]"
        # Without the leading zero the table fits into 80 columns, also with "+-".
        deviation = _number(summary.deviation, metric).removeprefix("0")
        cells.append(f"{mean}\n[dim]{plus_minus}{deviation}[/]" if deviation != "-" else mean)
    return cells


def _interval_cell(compared: ComparedInterval, metric: Metric, dash: str) -> str:
    """Return the two ends, and a star if the candidate is significantly worse than the best."""
    ends = (compared.interval.low, compared.interval.high)
    # Without the leading zeros four of them fit into 80 columns.
    text = dash.join(_number(end, metric).removeprefix("0") for end in ends)
    mark = "*" if compared.is_worse else " "
    return f"[bold green]{text}[/]{mark}" if compared.below_best is None else f"{text}{mark}"


def print_evaluation(
    metrics: dict[str, float], intervals: Mapping[str, Interval], title: str, footnote: str
) -> None:
    """Print the metrics of one model, one per line, with their intervals."""
    console = import_extra("rich.console").Console(highlight=False)
    table = import_extra("rich.table").Table(box=import_extra("rich.box").SIMPLE, show_header=False)
    for metric in METRICS:
        cells = [metric.heading, _number(metrics[metric.key], metric)]
        if intervals:
            found = intervals.get(metric.key)
            ends = (
                [] if found is None else [_number(end, metric) for end in (found.low, found.high)]
            )
            cells.append(f"[{', '.join(ends)}]" if ends else "")
        table.add_row(*cells, metric.meaning)
    console.print(title, style="bold", markup=False)
    console.print(table)
    console.print(footnote, style="dim", markup=False)


def evaluation_as_json(
    metrics: dict[str, float], intervals: Mapping[str, Interval]
) -> dict[str, Any]:
    """Return the metrics, and the intervals with keys of their own."""
    ends = {f"{key}_interval": [found.low, found.high] for key, found in intervals.items()}
    return {**metrics, **ends}


def write_json(path: Path, content: dict[str, Any], *, force: bool) -> None:
    """Write results as JSON; undefined metrics become null."""
    with write_atomically(path, force=force) as temporary:
        text = json.dumps(_without_nan(content), indent=2, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")


def as_json(results: Comparison, interval_table: IntervalTable) -> dict[str, Any]:
    """Return a comparison as nested dictionaries."""
    content: dict[str, Any] = {
        name: {key: dict(vars(summary)) for key, summary in summaries.items()}
        for name, summaries in results.items()
    }
    for key, column in interval_table.items():
        for name, compared in column.items():
            content[name][key].update(compared.as_json())
    return content


def _best(results: Comparison, metric: Metric) -> float:
    means = [summaries[metric.key].mean for summaries in results.values()]
    defined = [mean for mean in means if math.isfinite(mean)]
    if not defined:
        return math.nan
    return max(defined) if metric.greater_is_better else min(defined)


def _number(value: float, metric: Metric) -> str:
    if not math.isfinite(value):
        return "-"
    if metric is FIT_TIME:
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
