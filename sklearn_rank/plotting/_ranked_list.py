"""A ranked list as a strip of its labels, with precision and recall at each cut-off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank._core.sums import Groups
from sklearn_rank._core.tolerances import SAME_CUT
from sklearn_rank._core.validation import check_relevance
from sklearn_rank.metrics.scored_rows import ScoredRows
from sklearn_rank.plotting import drawing
from sklearn_rank.plotting._predictions import (
    PredictionsDisplay,
    classes_of,
    is_upper_class,
    rows_of_queries,
)

_MOST_CELLS = 800
"""Cells of the strip: more than a screen shows. A longer list is averaged."""


@dataclass(kw_only=True, eq=False, repr=False)
class RankedListDisplay(PredictionsDisplay):
    r"""Plot the labels of a ranked list, and precision and recall at each cut-off.

    .. math:: \mathrm{precision}(k) = \frac{R(k)}{\min(k, n)}, \qquad
        \mathrm{recall}(k) = \frac{R(k)}{R(n)}

    where R(k) is the weight (multiplicity) of the relevant rows among the first k, and n that of
    all rows. Ties are handled by averaging over all orderings. With queries, all curves are means
    over the queries with a relevant row, like `sklearn_rank.metrics.precision_at_k` and
    `sklearn_rank.metrics.recall_at_k`; after the end of a query its values stay constant.

    Parameters
    ----------
    k : ndarray of shape (n_cuts,)
        Cut-offs, increasing: 1, 2, ... or, with weights, the weight up to each row.
    precision, recall : ndarray of shape (n_cuts,)
        At each cut-off.
    grade : ndarray of shape (n_cuts,)
        Mean relevance of the rows between the previous cut-off and this one.
    levels : tuple of two floats, default=(0.0, 1.0)
        Minimum and maximum relevance, drawn in the lightest and the darkest shade.
    name : str or None, default=None
        Title of the legend.

    Attributes
    ----------
    precision_line_, recall_line_ : matplotlib Line2D
        The curves.
    strip_ : matplotlib QuadMesh
        The strip.
    ax_, figure_ : matplotlib Axes and Figure
        Where they were drawn.

    References
    ----------
    McSherry2008 (tied rows).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_rank import RankBoost
    >>> from sklearn_rank.plotting import RankedListDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> ranker = RankBoost(n_estimators=5).fit(X[::2], y[::2])
    >>> _ = RankedListDisplay.from_estimator(ranker, X[1::2], y[1::2])

    Grades; rows of grade 2 and higher are relevant:

    >>> display = RankedListDisplay.from_predictions(
    ...     [0, 3, 1, 2], [0.1, 0.9, 0.5, 0.5], relevant_above=1
    ... )
    >>> display.precision
    array([1.        , 0.75      , 0.66666667, 0.5       ])
    """

    k: Floats
    precision: Floats
    recall: Floats
    grade: Floats
    levels: tuple[float, float] = (0.0, 1.0)
    name: str | None = None

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        relevant_above: float | None = None,
        qid: Any = None,
        sample_weight: Any = None,
        ax: Any = None,
        name: str | None = None,
        max_k: float | None = None,
    ) -> Self:
        """Draw labels and scores.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Classes or relevance.
        y_score : array-like of shape (n_samples,)
            Scores, greater is better.
        relevant_above : float, default=None
            Rows with a greater label are relevant. None: 0, or with two classes, the rows of the
            greater one.
        qid : array-like of shape (n_samples,), default=None
            Query of each row.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Multiplicities.
        ax : matplotlib Axes, default=None
            Where to draw. None: a new figure.
        name : str, default=None
            Title of the legend.
        max_k : float, default=None
            Largest cut-off to draw. None: all.

        Returns
        -------
        self : RankedListDisplay
            Drawn.
        """
        rows = ScoredRows.check(y_true, y_score, qid, sample_weight)
        if relevant_above is None and len(classes_of(cls.__name__, rows.y)) <= 2:
            is_relevant = is_upper_class(cls.__name__, rows.y)
            grade = check_relevance(is_relevant)
        else:
            grade = check_relevance(rows.y, name="y_true")
            is_relevant = grade > (relevant_above or 0.0)
        if not is_relevant.any():
            raise ValueError(
                f"{cls.__name__} needs a relevant row: no label is above {relevant_above or 0.0:g}."
            )
        levels = float(grade.min()), float(grade.max())
        curves = _mean_over_queries(rows, grade, is_relevant)
        return cls(**curves, levels=levels, name=name).plot(ax, max_k=max_k)

    def plot(self, ax: Any = None, *, name: str | None = None, max_k: float | None = None) -> Self:
        """Draw the strip and the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None: a new figure.
        name : str, default=None
            Title of the legend, instead of the display's.
        max_k : float, default=None
            Largest cut-off to draw. None: all.

        Returns
        -------
        self : RankedListDisplay
            With `ax_`, `figure_`, `precision_line_`, `recall_line_` and `strip_` set.
        """
        if max_k is not None and not max_k > 0:
            raise ValueError(f"{type(self).__name__}: max_k must be above 0. Got {max_k!r}.")
        ax = drawing.single_axes(type(self).__name__, ax, (7.0, 4.0))
        max_cut_off = float(self.k[-1]) if max_k is None else min(float(max_k), float(self.k[-1]))
        lines = []
        styles = drawing.COLOURS[1:], drawing.DASHES  # the first colour is that of the strip
        for label, colour, dashes in zip(("precision", "recall"), *styles, strict=False):
            style = {"color": colour, "linestyle": dashes, "linewidth": 2.0}
            lines += ax.plot(self.k, getattr(self, label), label=label, **style)
        self.precision_line_, self.recall_line_ = lines
        self._draw_strip(ax, max_cut_off)
        ax.set(xlim=(0, max_cut_off), ylim=(-0.17, 1.03), yticks=[0, 0.25, 0.5, 0.75, 1])
        drawing.show_percent(ax.yaxis, type(self).__name__)
        ax.set_xlabel("cut-off k: rows from the top of the list")
        ax.set_ylabel("precision and recall at k")
        drawing.use_light_frame(ax)
        self._draw_legend(ax, self.name if name is None else name)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_strip(self, ax: Any, max_cut_off: float) -> None:
        colours = drawing.import_matplotlib(type(self).__name__, "colors")
        edges, grade = np.append(0.0, self.k), self.grade
        n_visible = int(np.searchsorted(self.k, max_cut_off)) + 1
        edges, grade = edges[: n_visible + 1], grade[:n_visible]
        if len(grade) > _MOST_CELLS:
            cumulative = np.append(0.0, np.cumsum(grade * np.diff(edges)))
            wide = np.linspace(0.0, edges[-1], _MOST_CELLS + 1)
            edges, grade = wide, np.diff(np.interp(wide, edges, cumulative)) / np.diff(wide)
        palette = [drawing.LIGHT, drawing.DARK]
        shades = colours.LinearSegmentedColormap.from_list("relevance", palette)
        self.strip_ = ax.pcolormesh(
            edges,
            [-0.13, -0.04],
            grade[None, :],
            cmap=shades,
            vmin=self.levels[0],
            vmax=max(self.levels[1], np.nextafter(self.levels[0], np.inf)),
            rasterized=True,
        )

    def _draw_legend(self, ax: Any, name: str | None) -> None:
        patches = drawing.import_matplotlib(type(self).__name__, "patches")
        low, high = (f"{level:g}" for level in self.levels)
        shades = [
            patches.Patch(facecolor=drawing.DARK, edgecolor="0.6", label=f"relevance {high}"),
            patches.Patch(facecolor=drawing.LIGHT, edgecolor="0.6", label=f"relevance {low}"),
        ]
        handles = [self.precision_line_, self.recall_line_, *shades]
        drawing.legend_above(ax, 4, handles=handles, title=name, alignment="left", handlelength=2.6)


def _mean_over_queries(rows: ScoredRows, grade: Floats, is_relevant: Mask) -> dict[str, Floats]:
    """Return cut-offs with the precision, recall and grade there, averaged over queries."""
    queries = [query_rows for query_rows in rows_of_queries(rows) if is_relevant[query_rows].any()]
    lists = [_running_sums(rows, query_rows, grade, is_relevant) for query_rows in queries]
    # The cut-offs of all queries, without those that differ only by rounding.
    k = np.unique(np.concatenate([cuts for cuts, *_ in lists]))
    k = k[np.append(np.diff(k) > SAME_CUT * k[-1], True)]
    precision, recall, grades, weight = (np.zeros(len(k)) for _ in range(4))
    # Sums over queries at each cut-off; after its end a query keeps its last value.
    for _, cut_offs, relevant_sums, grade_sums in lists:
        n_relevant = np.interp(k, cut_offs, relevant_sums)
        precision += n_relevant / np.minimum(k, cut_offs[-1])
        recall += n_relevant / relevant_sums[-1]
        grades += np.diff(np.interp(k, cut_offs, grade_sums), prepend=0.0)
        weight += np.diff(np.minimum(k, cut_offs[-1]), prepend=0.0)
    return {
        "k": k,
        "precision": np.minimum(precision / len(lists), 1.0),
        "recall": np.minimum(recall / len(lists), 1.0),
        "grade": np.clip(grades / weight, grade.min(), grade.max()),
    }


def _running_sums(
    rows: ScoredRows, query_rows: Indices, grade: Floats, is_relevant: Mask
) -> list[Floats]:
    """Return the cut-offs of a list, and running sums from 0 at the ends of its tie groups.

    Within a tie group the expected sums are linear in the cumulative weight.
    """
    order = query_rows[np.argsort(-rows.score[query_rows], kind="stable")]
    score, weight = rows.score[order], rows.weight[order]
    last_rows, cuts = Groups.of_runs(score).end - 1, np.cumsum(weight)
    sums = (cuts, np.cumsum(weight * is_relevant[order]), np.cumsum(weight * grade[order]))
    return [cuts, *(np.append(0.0, cumulative[last_rows]) for cumulative in sums)]
