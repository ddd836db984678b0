"""Margin and smooth margin over the rounds of boosting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sklearn_rank._core.protocols import Floats
from sklearn_rank.plotting import drawing
from sklearn_rank.plotting._predictions import ranker_and_rows


@dataclass(kw_only=True, eq=False, repr=False)
class MarginDisplay:
    r"""Plot margin and smooth margin after each round of `RankBoost` or `SmoothMarginRanker`.

    .. math:: \mu = \min_{i \text{ above } k} \frac{f_i - f_k}{\|\lambda\|_1}, \qquad
        G = \frac{-\ln \sum_{i \text{ above } k} w_i w_k e^{-(f_i - f_k)}}{\|\lambda\|_1}

    where f are the scores of the training rows, :math:`\lambda` the net coefficients and w the
    weights. A positive margin means that every training pair is in the right order. G is at most
    the margin.

    Parameters
    ----------
    margin, smooth_margin : ndarray of shape (n_rounds,)
        The margin and the smooth margin after each round.
    name : str or None, default=None
        Name in the legend.

    Attributes
    ----------
    margin_line_, smooth_margin_line_ : matplotlib Line2D
        The curves.
    ax_, figure_ : matplotlib Axes and Figure
        Where they were drawn.

    References
    ----------
    RudinSchapire2009, sec. 4 (the smooth margin), Theorem 7 (by the steps of
    `SmoothMarginRanker` G does not decrease).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_rank import SmoothMarginRanker
    >>> from sklearn_rank.plotting import MarginDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> ranker = SmoothMarginRanker(n_estimators=20).fit(X, y > 0)
    >>> _ = MarginDisplay.from_estimator(ranker)
    """

    margin: Floats
    smooth_margin: Floats
    name: str | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, name: str | None = None, **options: Any
    ) -> Self:
        """Draw the curves of a fitted ranker.

        Parameters
        ----------
        estimator : object
            A fitted `RankBoost` or `SmoothMarginRanker`, or a pipeline or search that ends in one.
        ax : matplotlib Axes, default=None
            Where to draw. None: a new figure.
        name : str, default=None
            Name in the legend. None: the class of the ranker.
        **options : Any
            For `plot`.

        Returns
        -------
        self : MarginDisplay
            Drawn.

        Raises
        ------
        ValueError
            When the ranker has no margins.
        """
        drawing.import_matplotlib(cls.__name__)
        ranker = ranker_and_rows(estimator)[0]
        if not hasattr(ranker, "margin_curve_"):
            raise ValueError(
                f"{cls.__name__} needs margin_curve_ and smooth_margin_curve_, which RankBoost and "
                f"SmoothMarginRanker have. {type(ranker).__name__} has none."
            )
        if len(ranker.margin_curve_) == 0:
            raise ValueError(f"{cls.__name__}: the ranker has no rounds to draw.")
        display = cls(
            margin=ranker.margin_curve_,
            smooth_margin=ranker.smooth_margin_curve_,
            name=type(ranker).__name__ if name is None else name,
        )
        return display.plot(ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        xscale: str = "linear",
        **line_options: Any,
    ) -> Self:
        """Draw both curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes, which several displays may share. None: a new figure.
        name : str, default=None
            Name in the legend, instead of the display's own.
        xscale : {"linear", "log"}, default="linear"
            Scale of the rounds.
        **line_options : Any
            For matplotlib's ``plot``.

        Returns
        -------
        self : MarginDisplay
            With `ax_`, `figure_`, `margin_line_` and `smooth_margin_line_` set.
        """
        owner = type(self).__name__
        if xscale not in ("linear", "log"):
            raise ValueError(f"{owner}: xscale must be 'linear' or 'log'. Got {xscale!r}.")
        ax = drawing.one_axes(owner, ax, (6.4, 4.8))
        name = self.name if name is None else name
        prefix = "" if name is None else f"{name}: "
        rounds = np.arange(1, len(self.margin) + 1)
        number = drawing.n_named_lines(ax)
        if number == 0:
            ax.axhline(0.0, color="0.5", linewidth=1.0, zorder=1)
        lines = []
        for offset, attribute in enumerate(("margin", "smooth_margin")):
            style = {
                "color": drawing.COLOURS[number // 2 % len(drawing.COLOURS)],
                "linestyle": drawing.DASHES[(number + offset) % len(drawing.DASHES)],
                "linewidth": 2.0,
                "label": prefix + attribute.replace("_", " "),
                "marker": "o" if len(rounds) == 1 else None,
            }
            lines += ax.plot(rounds, getattr(self, attribute), **{**style, **line_options})
        self.margin_line_, self.smooth_margin_line_ = lines
        ax.set_xscale(xscale)
        _set_limits(ax)
        ax.set_xlabel("round")
        ax.set_ylabel("margin (score over $\\|\\lambda\\|_1$)")
        drawing.use_light_frame(ax)
        if ax.get_legend_handles_labels()[0]:
            drawing.legend_above(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _set_limits(ax: Any) -> None:
    """Set the vertical limits without the lowest tenth of a curve, often far below the rest.

    Lines whose heights are not margins, such as those of ``axvline``, have no part.
    """
    ends = [0.0]
    for line in ax.get_lines():
        heights = line.get_ydata(orig=False)
        heights = heights[np.isfinite(heights)]
        # The method is spelled so in all versions of Matplotlib.
        if line.get_transform().contains_branch_seperately(ax.transData)[1] and len(heights):
            ends += [float(heights.max()), float(np.quantile(heights, 0.1))]
    room = 0.06 * max(max(ends) - min(ends), 1e-12)
    ax.set_ylim(min(ends) - room, max(ends) + room)
