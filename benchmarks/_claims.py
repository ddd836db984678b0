"""What the scripts that try a claim of a paper share: options, means with intervals, figures."""

import argparse
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from _stats import interval

STYLE = Path(__file__).resolve().parents[1] / "docs" / "gallery.mplstyle"


def parse_claim(
    description: str, repeats: int, arguments: list[str] | None, *, with_data: bool = False
) -> argparse.Namespace:
    """Read the command line: repeats, --quick, --json, --plot and, with data, --data."""
    from _real_data import add_data_option

    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    add = parser.add_argument
    add("--repeats", type=int, default=repeats, help=f"repeats (default {repeats})")
    add("--quick", action="store_true", help="two repeats of the small cases")
    add("--json", type=Path, metavar="FILE", help="write the report there as well")
    add("--plot", type=Path, metavar="FILE", help="draw the figure (needs matplotlib)")
    if with_data:
        add_data_option(parser)
    options = parser.parse_args(arguments)
    if options.quick:
        options.repeats = 2
    if options.repeats < 2:
        parser.error("at least two repeats are needed")
    return options


def half_width(values: Sequence[float]) -> float:
    """Return half of the 95 % interval of a mean, NaN for a single value."""
    between = interval(values)
    return math.nan if between is None else (between[1] - between[0]) / 2


def with_half(values: Sequence[float], form: str = ".4f") -> str:
    """Return a mean and half of its 95 % interval, as text."""
    return f"{mean(values):{form}} ± {half_width(values):{form.lstrip('+')}}"


def upper(values: Sequence[float]) -> float:
    """Return the upper end of the 95 % interval of a mean."""
    return mean(values) + half_width(values)


def lower(values: Sequence[float]) -> float:
    """Return the lower end of the 95 % interval of a mean."""
    return mean(values) - half_width(values)


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


def new_figure(
    n_columns: int, width: float = 8.0, height: float = 4.2, n_rows: int = 1, **given: Any
) -> Any:
    """Return a figure in the style of the gallery, and its panels."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.style.use(STYLE)
    return plt.subplots(n_rows, n_columns, figsize=(width, height), squeeze=False, **given)


def legend_below(figure: Any, axes: Any, n_columns: int) -> None:
    """Put the legend of one panel below all."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=n_columns, fontsize="small")


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure at the size that the pages show, and forget it."""
    import matplotlib.pyplot as plt

    figure.savefig(path, dpi=120)
    plt.close(figure)
