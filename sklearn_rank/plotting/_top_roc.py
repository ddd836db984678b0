"""The left end of the ROC curve."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.metrics import auc, roc_curve

from sklearn_rank._core.protocols import Floats
from sklearn_rank.metrics.scored_rows import ScoredRows
from sklearn_rank.plotting import drawing
from sklearn_rank.plotting._predictions import PredictionsDisplay, is_upper_class, rows_of_queries


@dataclass(kw_only=True, eq=False, repr=False)
class TopROCDisplay(PredictionsDisplay):
    r"""Plot the left end of the ROC curve: the top of the list.

    Each cut-off of the list is a point of the curve: the shares of the negatives and of the
    positives above it. With queries the curve is the mean of their curves,

    .. math:: \mathrm{TPR}(x) = \frac{\sum_q m_q \mathrm{TPR}_q(x)}{\sum_q m_q}

    where x is the share of the negatives and :math:`m_q` the weight of the pairs of query q: the
    area under it is `sklearn_rank.metrics.auc_score`. Queries of one class have no curve and are
    ignored.

    Parameters
    ----------
    fpr, tpr : ndarray of shape (n_points,)
        Share of the negatives and of the positives above each cut-off, non-decreasing.
    roc_auc : float or None, default=None
        Area under the whole curve, for the legend.
    name : str or None, default=None
        Name in the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.

    References
    ----------
    Defined here: the curve of queries whose area is that of `sklearn_rank.metrics.auc_score`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_rank import PNormPushRanker, RankBoost
    >>> from sklearn_rank.plotting import TopROCDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> ranker = RankBoost(n_estimators=5).fit(X[::2], y[::2])
    >>> display = TopROCDisplay.from_estimator(ranker, X[1::2], y[1::2], max_fpr=0.2)

    A second curve on the same axes:

    >>> push = PNormPushRanker(n_estimators=5).fit(X[::2], y[::2])
    >>> scores = push.decision_function(X[1::2])
    >>> _ = TopROCDisplay.from_predictions(
    ...     y[1::2], scores, name="p = 4", max_fpr=0.2, ax=display.ax_
    ... )
    """

    fpr: Floats
    tpr: Floats
    roc_auc: float | None = None
    name: str | None = None

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        ax: Any = None,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Draw the curve of labels and scores.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Two classes; the greater one should rank first.
        y_score : array-like of shape (n_samples,)
            Scores, greater is better. Infinite scores are allowed, NaN is not.
        qid : array-like of shape (n_samples,), default=None
            Query of each row; None means one list.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Multiplicities.
        ax : matplotlib Axes, default=None
            Where to draw. None: a new figure.
        name : str, default=None
            Name in the legend.
        **options : Any
            For `plot`.

        Returns
        -------
        self : TopROCDisplay
            Drawn.
        """
        rows = ScoredRows.check(y_true, y_score, qid, sample_weight)
        rows = replace(rows, y=is_upper_class(cls.__name__, rows.y))
        fpr, tpr = _mean_roc_curve(cls.__name__, rows.with_moderate_weights())
        display = cls(fpr=fpr, tpr=tpr, roc_auc=float(auc(fpr, tpr)), name=name)
        return display.plot(ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        max_fpr: float = 0.1,
        xscale: str = "linear",
        **line_options: Any,
    ) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes; several displays may share them. None: a new figure.
        name : str, default=None
            Name in the legend, instead of the display's.
        max_fpr : float in (0, 1], default=0.1
            Right end of the axis, as a share of the negatives.
        xscale : {"linear", "log"}, default="linear"
            "log" starts at the first negative and gives each decade the same width. Several
            displays on the same axes start at the smallest of their first negatives.
        **line_options : Any
            For matplotlib's ``plot``.

        Returns
        -------
        self : TopROCDisplay
            With `ax_`, `figure_` and `line_` set.
        """
        owner = type(self).__name__
        if not 0 < max_fpr <= 1:
            raise ValueError(f"{owner}: max_fpr must be a float in (0, 1]. Got {max_fpr!r}.")
        if xscale not in ("linear", "log"):
            raise ValueError(f"{owner}: xscale must be 'linear' or 'log'. Got {xscale!r}.")
        low = 0.0 if xscale == "linear" else float(np.min(self.fpr[self.fpr > 0]))
        if low >= max_fpr:
            raise ValueError(
                f"{owner}: on a log axis the first negative is at {low:g}, beyond max_fpr="
                f"{max_fpr:g}. Use xscale='linear' or a larger max_fpr."
            )
        ax = drawing.single_axes(owner, ax)
        name = self.name if name is None else name
        area = None if self.roc_auc is None else f"AUC {self.roc_auc:.3f}"
        label = f"{name} ({area})" if name and area else name or area or "_curve"
        style = {**drawing.next_style(ax), "linewidth": 2.0, "label": label}
        points = _visible(self.fpr, self.tpr, low, max_fpr)
        (self.line_,) = ax.plot(*points, **{**style, **line_options})
        if xscale == ax.get_xscale() == "log" and not ax.get_autoscalex_on():
            low = min(low, ax.get_xlim()[0])  # of an earlier curve
        self._format_axes(ax, low, max_fpr, xscale)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _format_axes(self, ax: Any, low: float, max_fpr: float, xscale: str) -> None:
        ax.set(xscale=xscale, xlim=(low, max_fpr))
        ax.autoscale(axis="y")
        ax.set_ylim(bottom=0.0)
        shares = "share of negatives above the cut", "share of positives above the cut"
        ax.set(xlabel=shares[0], ylabel=shares[1])
        for axis in (ax.xaxis, ax.yaxis):
            drawing.show_percent(axis, type(self).__name__)
        drawing.use_light_frame(ax)
        if ax.get_legend_handles_labels()[0]:
            drawing.legend_above(ax)


def _visible(fpr: Floats, tpr: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Return the points of a curve between two rates, dense enough for a log axis."""
    # On a log axis a straight part of the curve is bent: 200 points draw it.
    extra_x = np.array([high]) if low == 0 else np.geomspace(low, high, 200)
    extra_x = extra_x[~np.isin(extra_x, fpr)]
    x, y = np.append(fpr, extra_x), np.append(tpr, np.interp(extra_x, fpr, tpr))
    order = np.argsort(x, kind="stable")
    order = order[(x[order] >= low) & (x[order] <= high)]
    return x[order], y[order]


def _mean_roc_curve(owner: str, rows: ScoredRows) -> tuple[Floats, Floats]:
    """Return the mean ROC curve of queries, weighted by pairs; `y` of the rows is a mask."""
    # Ranks instead of scores: scores may be infinite.
    rank = np.unique(rows.score, return_inverse=True)[1].ravel()
    curves, pair_counts = [], []
    for query_rows in rows_of_queries(rows):
        is_above, weight = rows.y[query_rows], rows.weight[query_rows]
        n_pairs = float(weight[is_above].sum() * weight[~is_above].sum())
        if n_pairs > 0:
            # All cut-offs: the parts between them may be straight, but not on a log axis.
            kwargs = {"sample_weight": weight, "drop_intermediate": False}
            curves.append(roc_curve(is_above, rank[query_rows], **kwargs)[:2])
            pair_counts.append(n_pairs)
    if not curves:
        raise ValueError(f"{owner} needs a query with rows of both classes.")
    if len(curves) == 1:
        return curves[0][0], curves[0][1]
    # The mean at the false positive rates of all curves: at each the limits from both sides.
    grid = np.unique(np.concatenate([fpr for fpr, _ in curves]))
    mean = np.zeros((len(grid), 2))
    for (fpr, tpr), share in zip(curves, np.array(pair_counts) / sum(pair_counts), strict=True):
        mean += share * _limits(fpr, tpr, grid)
    # Rounding must neither turn the curve down nor take it above 1.
    return np.repeat(grid, 2), np.minimum(np.maximum.accumulate(mean.ravel()), 1.0)


def _limits(fpr: Floats, tpr: Floats, x: Floats) -> Floats:
    """Return the left and right limits of a curve, which may jump."""
    interpolated = np.interp(x, fpr, tpr)
    indices = np.searchsorted(fpr, x, "left"), np.searchsorted(fpr, x, "right") - 1
    return np.column_stack([np.where(fpr[j] == x, tpr[j], interpolated) for j in indices])
