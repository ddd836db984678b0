"""How much each negative of a list contributes to the p-norm push risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank._pair_sums import ExponentialSums
from sklearn_rank.metrics import heights
from sklearn_rank.objectives import MARGIN_LOSSES, PairLoss
from sklearn_rank.plotting import drawing
from sklearn_rank.plotting._predictions import PredictionsDisplay, rows_of_two_classes

_LOSSES = ("zero_one", *MARGIN_LOSSES)


@dataclass(kw_only=True, eq=False, repr=False)
class PairContributionDisplay(PredictionsDisplay):
    r"""Plot the share of each row in the p-norm push risk, for several p and losses.

    .. math:: R_{p,\ell} = \sum_k w_k \Bigl( \sum_i w_i \, \ell(f_i - f_k) \Bigr)^p

    where f are the scores, i runs over the positives, k over the negatives and w are the
    weights. The share of row k is its term divided by the sum. With p = inf only the rows with
    the maximum inner sum have a share.

    Parameters
    ----------
    score : ndarray of shape (n_rows,)
        Scores in descending order.
    is_positive : ndarray of shape (n_rows,)
        The class of each row.
    share : ndarray of shape (n_losses, n_powers, n_rows)
        Share of each row, summing to one over the rows; zero for positives.
    risk : ndarray of shape (n_losses, n_powers)
        R, inf where it overflows; at p = inf the maximum inner sum.
    losses : sequence of str
        Names of the losses.
    powers : sequence of float
        The values of p.

    Attributes
    ----------
    bars_ : list of list of matplotlib BarContainer
        For each loss and each p.
    axes_ : ndarray of matplotlib Axes
        One for each loss.
    ax_, figure_ : matplotlib Axes and Figure
        The first of them, and their figure.

    References
    ----------
    Rudin2009, sec. 2 (the sum), Figure 1 and Figure 4 (similar figures), Table 1 (valid for
    half the scores).

    Examples
    --------
    >>> from sklearn_rank.plotting import PairContributionDisplay
    >>> y, scores = [-1, 1, -1, 1, -1, -1, 1, 1], [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4]
    >>> display = PairContributionDisplay.from_predictions(
    ...     y, scores, p=4, losses=("zero_one", "exponential", "logistic")
    ... )
    >>> display.risk.round(2).ravel()
    array([   33.  , 17160.17,   430.79])
    """

    score: Floats
    is_positive: Mask
    share: Floats
    risk: Floats
    losses: Sequence[str]
    powers: Sequence[float]

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        p: float | Sequence[float] = (1.0, 4.0),
        losses: str | Sequence[str] = ("exponential", "logistic"),
        sample_weight: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw labels of two classes and scores, of one list.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Two classes.
        y_score : array-like of shape (n_samples,)
            Finite scores, greater is better.
        p : float or sequence of float in [1, inf], default=(1.0, 4.0)
            The powers.
        losses : str or sequence of str, default=("exponential", "logistic")
            "zero_one", which counts ties as errors, or a loss of `PNormPushRanker`.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Multiplicities.
        ax : matplotlib Axes or array of them, default=None
            One for each loss, or one to divide. None: a new figure.
        **options : Any
            For `plot`.

        Returns
        -------
        self : PairContributionDisplay
            Drawn.
        """
        owner = cls.__name__
        powers = [float(one) for one in np.atleast_1d(np.asarray(p, dtype=np.float64))]
        names = [losses] if isinstance(losses, str) else list(losses)
        if not powers or not all(one >= 1 for one in powers):
            raise ValueError(f"{owner}: p must be floats in [1, inf]. Got {p!r}.")
        if not names or not set(names) <= set(_LOSSES):
            raise ValueError(f"{owner}: losses must be among {_LOSSES}. Got {losses!r}.")
        rows = rows_of_two_classes(owner, y_true, y_score, None, sample_weight)
        if not np.isfinite(rows.score).all():
            raise ValueError(f"{owner}: y_score must be finite, for losses of differences.")
        order = np.argsort(-rows.score, kind="stable")
        positive = rows.y[order]
        score, weight = rows.score[order], rows.weight[order]
        terms = [shares_and_risks(score, weight, positive, name, powers) for name in names]
        display = cls(
            score=score,
            is_positive=positive,
            share=np.array([share for share, _ in terms]),
            risk=np.array([risk for _, risk in terms]),
            losses=names,
            powers=powers,
        )
        return display.plot(ax, **options)

    def plot(self, ax: Any = None, *, max_rows: int = 25, **bar_options: Any) -> Self:
        """Draw a panel for each loss, with a bar for each row and p.

        Parameters
        ----------
        ax : matplotlib Axes or array of them, default=None
            One for each loss, or one to divide. None: a new figure.
        max_rows : int in [1, inf), default=25
            Number of rows shown. Of a longer list they are those with the largest share, at
            any loss and p, in the order of the list; a dotted line stands for the rows left out
            between two of them. Shares are those in the whole list.
        **bar_options : Any
            For matplotlib's ``barh``.

        Returns
        -------
        self : PairContributionDisplay
            With `axes_`, `ax_`, `figure_` and `bars_` set.
        """
        owner, n_losses = type(self).__name__, len(self.losses)
        drawing.check_count(owner, max_rows=max_rows)
        rows = self._largest_rows(max_rows)
        size = (3.2, 1.4 + 0.3 * len(rows))
        self.axes_ = drawing.panels(owner, ax, n_losses, n_columns=n_losses, size=size)
        self.bars_ = [
            self._draw_loss(panel, number, rows, bar_options)
            for number, panel in enumerate(self.axes_)
        ]
        first = self.axes_[0]
        first.set_ylabel("place in the list (+ positive, − negative)")
        signs = np.where(self.is_positive[rows], "+", "−")
        labels = [f"{row + 1}  {sign}" for row, sign in zip(rows, signs, strict=True)]
        first.set_yticks(np.arange(1, len(rows) + 1), labels)
        self.axes_[-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        self.ax_, self.figure_ = first, first.figure
        return self

    def _largest_rows(self, max_rows: int) -> Indices:
        """Return the rows to show, by place; of equal shares those further up."""
        largest = self.share.reshape(-1, len(self.score)).max(axis=0)
        return np.sort(np.argsort(-largest, kind="stable")[:max_rows])

    def _draw_loss(
        self, panel: Any, number: int, rows: Indices, bar_options: dict[str, Any]
    ) -> list[Any]:
        places, height = np.arange(1, len(rows) + 1), 0.8 / len(self.powers)
        for place in places[self.is_positive[rows]]:
            panel.axhspan(place - 0.5, place + 0.5, color="0.94", zorder=0)
        for place in places[1:][np.diff(rows) > 1]:
            panel.axhline(place - 0.5, color="0.6", linewidth=1.0, linestyle=":", zorder=0)
        bars = []
        for index, p in enumerate(self.powers):
            style = {
                "height": height,
                "facecolor": drawing.COLOURS[index % len(drawing.COLOURS)],
                "hatch": drawing.HATCHES[index % len(drawing.HATCHES)],
                "edgecolor": "white",
                "linewidth": 0.5,
                "label": f"p = {p:g}",
            }
            at = places - 0.4 + (index + 0.5) * height
            share = self.share[number, index, rows]
            bars.append(panel.barh(at, share, **{**style, **bar_options}))
        panel.set_ylim(len(rows) + 0.5, 0.5)
        panel.set_xlim(0.0, 1.05 * max(float(self.share[..., rows].max()), 0.01))
        panel.set_xlabel("share of the risk")
        panel.set_title(f"{self.losses[number].replace('_', '-')} loss", fontsize="medium")
        drawing.show_percent(panel.xaxis, type(self).__name__)
        drawing.use_light_frame(panel)
        panel.grid(visible=False, axis="y")
        return bars


def shares_and_risks(
    score: Floats, weight: Floats, positive: Mask, loss: str, powers: list[float]
) -> tuple[Floats, Floats]:
    """Return the shares of the rows in the risk, and the risk, for each p."""
    log_inner = _log_inner_sums(score, weight, positive, loss)
    largest = log_inner.max()
    share, risk = np.zeros((len(powers), len(score))), np.zeros(len(powers))
    if largest == -np.inf:
        return share, risk
    for index, p in enumerate(powers):
        is_finite = np.isfinite(p)
        relative = np.exp(p * (log_inner - largest)) if is_finite else log_inner == largest
        term = weight[~positive] * relative
        share[index, ~positive] = term / term.sum()
        with np.errstate(over="ignore"):
            risk[index] = np.exp(p * largest) * term.sum() if is_finite else np.exp(largest)
    return share, risk


def _log_inner_sums(score: Floats, weight: Floats, positive: Mask, loss: str) -> Floats:
    """Return the logarithm of the inner sum of each negative."""
    preferences = Preferences.from_labels(positive, None, weight)
    scores, n_pos = score[preferences.order], int(np.count_nonzero(positive))
    if loss == "exponential":  # may overflow
        return ExponentialSums(preferences, 1.0).log_heights(scores)[n_pos:]
    if loss == "zero_one":
        inner = heights(positive, score, sample_weight=weight)[~positive]
    else:
        inner = PairLoss(preferences, loss).heights(scores, preferences.weight)[n_pos:]
    with np.errstate(divide="ignore"):
        return np.log(inner)
