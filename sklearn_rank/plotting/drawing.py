"""Axes, colours and number formats that the displays share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sklearn_rank._core.imports import import_extra
from sklearn_rank._core.validation import Number, check_parameters

# Okabe and Ito's colours, distinguishable with any colour vision, in descending order of contrast
# with white. Dashes distinguish lines printed in grey.
COLOURS = ("#0072b2", "#d55e00", "#000000", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
DASHES = ("-", (0, (6, 1.5)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (6, 1, 1, 1, 1, 1)))
LIGHT, DARK = "#f2f2f2", "#0072b2"


def import_matplotlib(owner: str, module: str = "pyplot") -> Any:
    """Import a module of matplotlib."""
    return import_extra(f"matplotlib.{module}", "plot", owner)


def check_count(owner: str, **counts: Any) -> None:
    """Raise ValueError where a number of columns, rows or features is no positive integer."""
    check_parameters(owner, counts, dict.fromkeys(counts, Number(1, integer=True)))


def single_axes(owner: str, ax: Any, figsize: tuple[float, float] = (6.4, 4.2)) -> Any:
    """Return `ax`, or the axes of a new figure."""
    pyplot = import_matplotlib(owner)
    return pyplot.subplots(figsize=figsize, layout="constrained")[1] if ax is None else ax


def panels(
    owner: str,
    ax: Any,
    n_panels: int,
    *,
    n_columns: int,
    size: tuple[float, float],
    row_heights: Sequence[float] | None = None,
) -> Any:
    """Return the axes `ax` as an array, or new axes, each of a width and a height `size`.

    With `row_heights` each row of the grid has its own height. Otherwise new axes share their
    vertical axis.
    """
    pyplot = import_matplotlib(owner)
    if ax is not None:
        axes = np.asarray(ax, dtype=object).ravel()
        if len(axes) != n_panels:
            raise ValueError(f"{owner} draws {n_panels} panels, each on axes. Got {len(axes)}.")
        return axes
    n_columns = min(n_columns, n_panels)
    n_rows = -(-n_panels // n_columns)
    heights = [size[1]] * n_rows if row_heights is None else list(row_heights)
    figure = pyplot.figure(figsize=(size[0] * n_columns, sum(heights)), layout="constrained")
    grid = figure.add_gridspec(n_rows, n_columns, height_ratios=heights)
    axes = grid.subplots(sharey=row_heights is None, squeeze=False).ravel()
    for panel in axes[n_panels:]:
        panel.remove()
    return axes[:n_panels]


def shortened(text: str, longest: int = 16) -> str:
    """Return a text on one line, with its middle removed if it is long."""
    text = "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
    half = (longest - 1) // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[-half:]}"


def next_style(ax: Any) -> dict[str, Any]:
    """Return a colour and dashes that differ from those of the lines in the legend."""
    n_lines = len(ax.get_legend_handles_labels()[0])
    return {"color": COLOURS[n_lines % len(COLOURS)], "linestyle": DASHES[n_lines % len(DASHES)]}


def use_light_frame(ax: Any) -> None:
    """Draw a light grid, without a frame at the top and on the right."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)


def legend_above(ax: Any, n_columns: int = 1, **options: Any) -> None:
    """Put the legend above the axes."""
    placement = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": n_columns}
    legend = ax.legend(**{**placement, "frameon": False, "handlelength": 3.5, **options})
    for text in (*legend.get_texts(), legend.get_title()):
        text.set_parse_math(False)  # matplotlib reads text between two dollar signs as mathematics


def show_percent(axis: Any, owner: str) -> None:
    """Label the ticks of an axis as percentages."""
    ticker = import_matplotlib(owner, "ticker")
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{100 * value:.6g} %"))
    axis.set_minor_formatter(ticker.NullFormatter())
