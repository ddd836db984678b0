"""Results as tables on the terminal and as JSON."""

from __future__ import annotations

import json
import math
import shutil
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

import sklearn_rank
from sklearn_rank.cli._dataset import Dataset
from sklearn_rank.cli._errors import import_extra
from sklearn_rank.cli._metrics import Measured, heading
from sklearn_rank.cli._output import write_atomically


def print_table(
    title: str, columns: Mapping[str, Mapping[str, str]], about: str, sentence: str = ""
) -> None:
    """Print cells by column and row, between a title, a sentence and footnotes."""
    width = min(shutil.get_terminal_size().columns, 120)
    frame = import_extra("pandas").DataFrame(columns)
    click.secho(textwrap.fill(title, width), bold=True)
    if sentence:
        click.echo(textwrap.fill(sentence, width))
    click.echo(f"\n{frame.to_string(line_width=width)}\n")
    click.secho(textwrap.fill(about, width), dim=True)


def cells(column: Mapping[str, Measured]) -> dict[str, str]:
    """Return value, interval, and a star for what is significantly worse than the best."""
    texts = {}
    for name, one in column.items():
        text = f"{one.mean:.3f}" if math.isfinite(one.mean) else "-"
        if one.interval is not None:
            text += " [{:.3f}, {:.3f}]".format(*one.interval)
        texts[name] = text + ("*" if one.is_worse else " ")
    return texts


def about_intervals(data: Dataset, found: Iterable[Measured]) -> str:
    """Return a footnote on the intervals, or on why there are none."""
    drawn = "rows" if data.qid is None else "queries"
    if any(one.interval for one in found):
        return f"[low, high]: 95 % interval over {drawn}."
    return f"No intervals: too few {drawn}, or metrics that have none."


def about_metrics(names: Iterable[str]) -> str:
    """Return a footnote on the metrics whose name does not tell what they count."""
    share = "share of the positives found before that share of the negatives"
    return "".join(f" {heading(name).capitalize()}: {share}." for name in names if "tpr" in name)


def data_summary(data: Dataset) -> dict[str, Any]:
    """Return what JSON says about a data set."""
    keys = ("target", "qid", "weight", "relevance", "positive")
    return {
        "version": sklearn_rank.__version__,
        "data": data.name,
        "n_rows": len(data.y),
        "n_columns": int(data.X.shape[1]),
        "n_queries": 1 if data.qid is None else int(data.qid.max()) + 1,
        **{key: getattr(data.schema, key) for key in keys},
    }


def write_json(path: Path, content: dict[str, Any], *, force: bool) -> None:
    """Write results as JSON; undefined metrics become null."""
    with write_atomically(path, force=force) as temporary:
        text = json.dumps(_without_nan(content), indent=2, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")


def _without_nan(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _without_nan(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_without_nan(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
