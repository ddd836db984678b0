"""The points of a scorecard, with counts and event rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sklearn_rank._core.protocols import Floats, Values
from sklearn_rank.plotting._predictions import ranker_and_rows
from sklearn_rank.plotting.drawing import COLOURS, check_count, import_matplotlib, panels, shortened

_BAR = 0.21
"""Height of a bin in inches."""

_FONT = 8.0
_TITLE_ROOM = 0.62
_LONGEST_LABEL, _LONGEST_TITLE = 34, 48
_LONGEST_COLUMN, _COLUMN_ROOM = 30, 1.3
"""Of the labels above a grid: characters, and height in inches."""

_COUNT_PLACE, _RATE_PLACE = 42, 98
"""Right ends of the columns of text, in points to the right of the axes."""


@dataclass(kw_only=True, eq=False, repr=False)
class ScorecardDisplay:
    """Plot the points of a scorecard, with counts and event rates of the bins.

    A pair of variables is a grid of its cells, coloured by their points, which stand in them.

    Parameters
    ----------
    names : sequence of str
        The variables.
    labels : sequence of list of str
        Labels of the bins of each variable.
    points : sequence of ndarray
        Points of the bins of each variable.
    counts, event_rates : sequence of ndarray
        Weight of the training rows in each bin, and share of ``classes_[1]`` among them. NaN
        where unknown.
    grids : sequence of tuple or None, default=()
        Of each pair the labels of its rows and of its columns; None for a variable. Empty: no
        pairs.

    Attributes
    ----------
    bars_ : list of matplotlib BarContainer or AxesImage
        One for each variable: bars; of a pair the image.
    axes_ : ndarray of matplotlib Axes
        One for each variable.
    ax_, figure_ : matplotlib Axes and Figure
        The first of them, and their figure.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.plotting import ScorecardDisplay
    >>> display = ScorecardDisplay(
    ...     names=["age"],
    ...     labels=[["<= 29.5", "> 29.5", "missing"]],
    ...     points=[np.array([-1, 2, 0])],
    ...     counts=[np.array([40, 50, 10])],
    ...     event_rates=[np.array([0.1, 0.6, 0.3])],
    ... )
    >>> len(display.plot().bars_[0])
    3
    """

    names: Sequence[str]
    labels: Sequence[list[str]]
    points: Sequence[Values]
    counts: Sequence[Floats]
    event_rates: Sequence[Floats]
    grids: Sequence[tuple[list[str], list[str]] | None] = ()

    @classmethod
    def from_estimator(
        cls,
        scorecard: Any,
        *,
        variables: Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw a fitted scorecard.

        Parameters
        ----------
        scorecard : object
            An object with a `card_`, such as a fitted Scorecard, or a pipeline or search that ends
            in one. Where the card has no names of its own, those of the transformers are drawn.
        variables : sequence of str, default=None
            Names of the variables to draw. None: all, in the order of the card.
        ax : matplotlib Axes or array of them, default=None
            One for each variable, or one to divide. None: a new figure.
        **options : Any
            For `plot`.

        Returns
        -------
        self : ScorecardDisplay
            Drawn.

        Raises
        ------
        ValueError
            When the card has none of the variables, or has no variable.
        """
        import_matplotlib(cls.__name__)
        names = None
        if not hasattr(scorecard, "card_"):
            scorecard, _, names = ranker_and_rows(scorecard)
        if not hasattr(scorecard, "card_"):
            raise ValueError(
                f"{cls.__name__} draws a fitted Scorecard. Got {type(scorecard).__name__}."
            )
        if scorecard.card_.feature_names is not None:
            names = None
        known = {
            one.name if names is None else " × ".join(str(names[j]) for j in one.columns): one
            for one in scorecard.card_.terms
        }
        wanted = list(known) if variables is None else list(variables)
        if not wanted or not set(wanted) <= set(known):
            raise ValueError(
                f"{cls.__name__} draws variables of the card, at least one of {list(known)}. "
                f"Got {wanted}."
            )
        bins = [known[name].listed() for name in wanted]
        display = cls(
            names=wanted,
            labels=[[one.label for one in of_one] for of_one in bins],
            points=[np.array([one.points for one in of_one]) for of_one in bins],
            counts=[np.array([one.count for one in of_one]) for of_one in bins],
            event_rates=[np.array([one.event_rate for one in of_one]) for of_one in bins],
            grids=[known[name].line_labels() for name in wanted],
        )
        return display.plot(ax, **options)

    def plot(self, ax: Any = None, *, n_columns: int = 2, **bar_options: Any) -> Self:
        """Draw a panel for each variable, all with one scale of points.

        Parameters
        ----------
        ax : matplotlib Axes or array of them, default=None
            One for each variable, or one to divide, about 5 inches wide for each column, on a
            figure with ``layout="constrained"``. None: a new figure.
        n_columns : int in [1, inf), default=2
            Panels side by side.
        **bar_options : Any
            For matplotlib's ``barh``.

        Returns
        -------
        self : ScorecardDisplay
            With `axes_`, `ax_`, `figure_` and `bars_` set.
        """
        check_count(type(self).__name__, n_columns=n_columns)
        grids = list(self.grids) or [None] * len(self.points)
        n_lines = [
            len(points) if grid is None else len(grid[0])
            for points, grid in zip(self.points, grids, strict=True)
        ]
        starts = range(0, len(n_lines), n_columns)
        tallest = [max(n_lines[start : start + n_columns]) for start in starts]
        has_grid = [any(grids[start : start + n_columns]) for start in starts]
        self.axes_ = panels(
            type(self).__name__,
            ax,
            len(n_lines),
            n_columns=n_columns,
            size=(5.2, 0.0),
            row_heights=[
                _TITLE_ROOM + _BAR * number + _COLUMN_ROOM * is_grid
                for number, is_grid in zip(tallest, has_grid, strict=True)
            ],
        )
        self.bars_: list[Any] = []
        ends = np.concatenate([[0], *self.points])
        room = 0.17 * (np.ptp(ends) or 1)
        for number, panel in enumerate(self.axes_):
            # Without given axes every panel of a row is as tall as the longest of them.
            n_shown = n_lines[number] if ax is not None else tallest[number // n_columns]
            grid = grids[number]
            if grid is not None:
                self._draw_grid(panel, number, *grid, np.abs(ends).max())
            else:
                step = 1 if ax is None else _label_step(panel, n_shown)
                self._draw_variable(panel, number, step, bar_options)
                panel.set_xlim(ends.min() - room, ends.max() + room)
            panel.set_ylim(n_shown - 0.4, -0.6)
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        return self

    def _draw_grid(
        self, panel: Any, number: int, rows: list[str], columns: list[str], largest: float
    ) -> None:
        """Draw the cells of a pair, with their points inside."""
        colours = import_matplotlib(type(self).__name__, "colors")
        scale = colours.LinearSegmentedColormap.from_list("", [COLOURS[1], "white", COLOURS[0]])
        cells = np.reshape(self.points[number], (len(rows), len(columns)))
        largest = largest or 1.0
        image = panel.imshow(cells, cmap=scale, vmin=-largest, vmax=largest, aspect="auto")
        self.bars_.append(image)
        for (i, j), one in np.ndenumerate(cells):
            text = f"{one:+d}" if one else "0"
            colour = "white" if abs(one) > 0.6 * largest else "black"
            panel.text(j, i, text, ha="center", va="center", fontsize=_FONT, color=colour)
        labels = [shortened(one, _LONGEST_LABEL) for one in rows]
        panel.set_yticks(range(len(rows)), labels, fontsize=_FONT, parse_math=False)
        labels = [shortened(one, _LONGEST_COLUMN) for one in columns]
        panel.xaxis.tick_top()
        style = {"rotation": 35, "ha": "left", "rotation_mode": "anchor", "parse_math": False}
        panel.set_xticks(range(len(columns)), labels, fontsize=_FONT, **style)
        self._write_title(panel, number)
        panel.tick_params(left=False, top=False)
        panel.spines[:].set_visible(False)

    def _write_title(self, panel: Any, number: int) -> None:
        title = shortened(self.names[number], _LONGEST_TITLE)
        panel.set_title(title, fontsize=_FONT + 2, loc="left", pad=14, parse_math=False)

    def _draw_variable(
        self, panel: Any, number: int, step: int, bar_options: dict[str, Any]
    ) -> None:
        points = np.asarray(self.points[number])
        places = np.arange(len(points))
        colours = [COLOURS[0] if one >= 0 else COLOURS[1] for one in points]
        style = {"height": 0.72, "color": colours, **bar_options}
        bars = panel.barh(places, points, **style)
        texts = [f"{one:+d}" if one else "0" for one in points]
        shown = [text if place % step == 0 else "" for place, text in enumerate(texts)]
        panel.bar_label(bars, shown, padding=3, fontsize=_FONT)
        self.bars_.append(bars)
        panel.axvline(0.0, color="0.4", linewidth=1.0)
        labels = [shortened(one, _LONGEST_LABEL) for one in self.labels[number]]
        panel.set_yticks(places[::step], labels[::step], fontsize=_FONT, parse_math=False)
        self._write_title(panel, number)
        panel.tick_params(left=False, bottom=False, labelbottom=False)
        panel.spines[:].set_visible(False)
        for place in places[::step]:
            self._write_numbers(panel, number, int(place))
        if np.isfinite(self.counts[number]).any():
            _write_beside(panel, _COUNT_PLACE, "count")
            _write_beside(panel, _RATE_PLACE, "event rate")

    def _write_numbers(self, panel: Any, number: int, place: int) -> None:
        """Write count and event rate to the right of a bar."""
        count, rate = self.counts[number][place], self.event_rates[number][place]
        if np.isfinite(count):
            text = f"{count:,.6g}" if count < 1e6 else f"{count:.3g}"
            _write_beside(panel, _COUNT_PLACE, text, place)
        if np.isfinite(rate):
            _write_beside(panel, _RATE_PLACE, f"{100 * rate:.1f} %", place)


def _write_beside(panel: Any, right: int, text: str, place: int | None = None) -> None:
    """Write a text to the right of the axes, beside a bin or above the first one."""
    where = (1.0, 1.0) if place is None else (1.0, place)
    panel.annotate(
        text,
        where,
        (right, 2 if place is None else 0),
        xycoords="axes fraction" if place is None else panel.get_yaxis_transform(),
        textcoords="offset points",
        ha="right",
        va="bottom" if place is None else "center_baseline",
        fontsize=_FONT,
        color="0.4" if place is None else "black",
        annotation_clip=False,
    )


def _label_step(panel: Any, n_lines: int) -> int:
    """Return how many bins of given axes share one label, so that labels do not overlap."""
    height = panel.get_position().height * panel.figure.get_figheight() * 72
    return max(1, math.ceil(1.3 * _FONT * n_lines / max(height, 1.0)))
