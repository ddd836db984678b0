"""Options and figures shared by the scripts that test claims of the papers."""

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from _harness import command_line
from _report import Report
from _stats import half_width

COLORS = ("#0072b2", "#d55e00", "#000000", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
LOOKS = [{"color": c, "marker": m} for c, m in zip(COLORS, "os^vD*<", strict=True)]
STYLE = Path(__file__).resolve().parents[1] / "docs" / "gallery.mplstyle"


def parse_claim(about: str, repeats: int, *, data: bool = False) -> argparse.Namespace:
    """Read the command line: repeats, --quick, --json, --plot and, with data, --data."""
    parser = command_line(about, quick="two repeats of the small cases", data=data)
    add = parser.add_argument
    add("--repeats", type=int, default=repeats, help=f"repeats, from 2 (default {repeats})")
    add("--plot", type=Path, metavar="FILE", help="draw the figure (needs matplotlib)")
    options = parser.parse_args()
    if options.quick:
        options.repeats = 2
    return options


def conclude(options: argparse.Namespace, report: Report, draw: Callable[[Path], None]) -> None:
    """Publish a report and, where it is asked for, draw the figure."""
    report.publish(options.json)
    if options.plot is not None:
        draw(options.plot)


def bars(axes: Any, x: Iterable[float], columns: Sequence[Sequence[float]], **style: Any) -> Any:
    """Draw the means of columns of repeats with their 95 % intervals; return the artist.

    The scale of the axes is to be set before.
    """
    means, halves = [mean(of) for of in columns], [half_width(of) for of in columns]
    below = halves
    if axes.get_yscale() == "log":  # where an interval may reach below zero
        below = [min(half, abs(middle) * 0.9) for middle, half in zip(means, halves, strict=True)]
    known = {"marker": "o", "markersize": 4, "capsize": 2, "linewidth": 1.5}
    return axes.errorbar(list(x), means, yerr=[below, halves], **{**known, **style})


def new_figure(n_columns: int, height: float, n_rows: int = 1, **given: Any) -> Any:
    """Return a figure in the style of the gallery, and its panels.

    Five inches wide: labels stay legible on a page of 400 pixels.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.style.use(STYLE)
    return plt.subplots(n_rows, n_columns, figsize=(5.0, height), squeeze=False, **given)


def legend_below(figure: Any, axes: Any, n_columns: int) -> None:
    """Put the legend of one panel below all."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=n_columns, fontsize="small")


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure at the size that the pages show, and forget it."""
    import matplotlib.pyplot as plt

    figure.savefig(path, dpi=120)
    plt.close(figure)
