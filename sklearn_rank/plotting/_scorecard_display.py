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

_BAR, _TITLE_ROOM = 0.21, 0.62
"""Heights of a bin and of a title in inches."""

_FONT = 8.0
"""Size of the font in points."""

_LONGEST_LABEL, _LONGEST_TITLE = 34, 48
"""Numbers of letters that fit beside the axes, and above them."""

_COUNT_END, _RATE_END = 42, 98
"""Right ends of the columns of text, in points to the right of the axes."""


@dataclass(kw_only=True, eq=False, repr=False)
class ScorecardDisplay:
    """Plot the points of a scorecard, with counts and event rates of the bins.

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

    Attributes
    ----------
    bars_ : list of matplotlib BarContainer
        One for each variable.
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
            in one. A card without feature names shows those of the transformers.
        variables : sequence of str, default=None
            Names of the variables to draw. None: all, in the order of the card.
        ax : array of matplotlib Axes, default=None
            One for each variable. None: a new figure.
        **options : Any
            For `plot`.

        Returns
        -------
        self : ScorecardDisplay
            Drawn.

        Raises
        ------
        ValueError
            If the card has none of the variables, or has no variable.
        """
        import_matplotlib(cls.__name__)
        names = None
        if not hasattr(scorecard, "card_"):
            scorecard, _, names = ranker_and_rows(scorecard)
        if not hasattr(scorecard, "card_"):
            raise ValueError(
                f"{cls.__name__} draws a fitted Scorecard. Got {type(scorecard).__name__}."
            )
        card = scorecard.card_
        if card.feature_names is not None:
            names = None
        bins_of = {
            variable.name if names is None else str(names[variable.column]): variable.listed()
            for variable in card.variables
        }
        shown = list(bins_of) if variables is None else list(variables)
        if not shown or not set(shown) <= set(bins_of):
            raise ValueError(
                f"{cls.__name__} draws variables of the card, at least one of {list(bins_of)}. "
                f"Got {shown}."
            )
        bins = [bins_of[name] for name in shown]
        display = cls(
            names=shown,
            labels=[[line.label for line in lines] for lines in bins],
            points=[np.array([line.points for line in lines]) for lines in bins],
            counts=[np.array([line.count for line in lines]) for lines in bins],
            event_rates=[np.array([line.event_rate for line in lines]) for lines in bins],
        )
        return display.plot(ax, **options)

    def plot(self, ax: Any = None, *, n_columns: int = 2, **bar_options: Any) -> Self:
        """Draw a panel for each variable, all with the same scale of points.

        Parameters
        ----------
        ax : array of matplotlib Axes, default=None
            One for each variable, about 5 inches wide, on a figure with
            ``layout="constrained"``. None: a new figure.
        n_columns : int in [1, inf), default=2
            Number of panels side by side.
        **bar_options : Any
            For matplotlib's ``barh``.

        Returns
        -------
        self : ScorecardDisplay
            With `axes_`, `ax_`, `figure_` and `bars_` set.
        """
        check_count(type(self).__name__, n_columns=n_columns)
        n_bins = list(map(len, self.points))
        starts = range(0, len(n_bins), n_columns)
        max_bins = [max(n_bins[start : start + n_columns]) for start in starts]
        self.axes_ = panels(
            type(self).__name__,
            ax,
            len(n_bins),
            n_columns=n_columns,
            size=(5.2, 0.0),
            row_heights=[_TITLE_ROOM + _BAR * n_bars for n_bars in max_bins],
        )
        ends = np.concatenate([[0], *self.points])
        margin = 0.17 * (np.ptp(ends) or 1)
        self.bars_: list[Any] = []
        for j, panel in enumerate(self.axes_):
            # New panels of a row are all as tall as the tallest of them.
            n_lines = n_bins[j] if ax is not None else max_bins[j // n_columns]
            label_step = 1 if ax is None else _label_step(panel, n_lines)
            self._draw_variable(panel, j, label_step, bar_options)
            panel.set(xlim=(ends.min() - margin, ends.max() + margin), ylim=(n_lines - 0.4, -0.6))
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        return self

    def _draw_variable(self, panel: Any, j: int, step: int, bar_options: dict[str, Any]) -> None:
        """Draw the bars of the j-th variable, with text beside each `step`-th one."""
        points = np.asarray(self.points[j])
        bins = np.arange(len(points))
        colours = [COLOURS[0] if value >= 0 else COLOURS[1] for value in points]
        bars = panel.barh(bins, points, **{"height": 0.72, "color": colours, **bar_options})
        texts = [f"{value:+d}" if value else "0" for value in points]
        texts = [text if index % step == 0 else "" for index, text in enumerate(texts)]
        panel.bar_label(bars, texts, padding=3, fontsize=_FONT)
        self.bars_.append(bars)
        panel.axvline(0.0, color="0.4", linewidth=1.0)
        labels = [shortened(label, _LONGEST_LABEL) for label in self.labels[j]]
        panel.set_yticks(bins[::step], labels[::step], fontsize=_FONT, parse_math=False)
        title = shortened(self.names[j], _LONGEST_TITLE)
        panel.set_title(title, fontsize=_FONT + 2, loc="left", pad=14, parse_math=False)
        panel.tick_params(left=False, bottom=False, labelbottom=False)
        panel.spines[:].set_visible(False)
        for index in bins[::step].tolist():
            count, rate = self.counts[j][index], self.event_rates[j][index]
            if np.isfinite(count):
                text = f"{count:,.6g}" if count < 1e6 else f"{count:.3g}"
                _write_beside(panel, _COUNT_END, text, index)
            if np.isfinite(rate):
                _write_beside(panel, _RATE_END, f"{100 * rate:.1f} %", index)
        if np.isfinite(self.counts[j]).any():
            _write_beside(panel, _COUNT_END, "count")
            _write_beside(panel, _RATE_END, "event rate")


def _write_beside(panel: Any, offset: int, text: str, index: int | None = None) -> None:
    """Write text to the right of the axes: next to a bin, or as a heading above the first bin."""
    placement: dict[str, Any] = {"xy": (1.0, 1.0), "xycoords": "axes fraction"}
    style: dict[str, Any] = {"xytext": (offset, 2), "va": "bottom", "color": "0.4"}
    if index is not None:
        placement = {"xy": (1.0, index), "xycoords": panel.get_yaxis_transform()}
        style = {"xytext": (offset, 0), "va": "center_baseline", "color": "black"}
    style |= {"textcoords": "offset points", "ha": "right", "annotation_clip": False}
    panel.annotate(text, **placement, **style, fontsize=_FONT)


def _label_step(panel: Any, n_lines: int) -> int:
    """Return the number of bins per label on the user's axes, so that labels do not overlap."""
    height = panel.get_position().height * panel.figure.get_figheight() * 72
    return max(1, math.ceil(1.3 * _FONT * n_lines / max(height, 1.0)))
