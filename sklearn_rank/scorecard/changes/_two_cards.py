"""Two cards on the same rows: who moves, whose decision changes, and which card orders better."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_rank._core.protocols import Floats, Indices, Mask, Values
from sklearn_rank._core.validation import (
    Number,
    check_lengths,
    check_parameters,
    check_weight,
    is_upper_label,
)
from sklearn_rank.metrics import compare_auc
from sklearn_rank.scorecard.monitoring._bands import (
    FiguresTable,
    band_of,
    band_sums,
    cuts_of,
    ratio,
)
from sklearn_rank.scorecard.monitoring._group_figures import auc_with_interval
from sklearn_rank.scorecard.monitoring._stability import stability_in_tenths
from sklearn_rank.scorecard.pages._report_figures import Estimate
from sklearn_rank.scorecard.terms import class_label

SIDES = ("above both", "above a only", "above b only", "above neither")
"""The parts of a swap table; the second and the third are the swap set."""

_CUT = Number(-np.inf, closed="neither", other=(None,))


@dataclass(frozen=True, eq=False)
class SwapTable(FiguresTable):
    """Rows by the side of the cut that each of two cards puts them on.

    Attributes
    ----------
    side : ndarray of str of shape (4,)
        "above both", "above a only", "above b only" and "above neither".
    count, events : ndarray of shape (4,)
        Weight of the rows, and of those with the event.
    share : ndarray of shape (4,)
        Share of all rows.
    rate : ndarray of shape (4,)
        Share of the rows with the event; NaN without rows.
    """

    side: Values
    count: Floats
    events: Floats
    share: Floats
    rate: Floats


@dataclass(frozen=True, eq=False)
class MovesTable(FiguresTable):
    """Rows by their band of the total of each of two cards, bands without rows left out.

    Attributes
    ----------
    band_a, band_b : ndarray of int of shape (n_lines,)
        Number of the band of each card, from 0, the band of the lowest totals.
    count, events : ndarray of shape (n_lines,)
        Weight of the rows, and of those with the event.
    rate : ndarray of shape (n_lines,)
        Share of the rows with the event.
    """

    band_a: Indices
    band_b: Indices
    count: Floats
    events: Floats
    rate: Floats


@dataclass(frozen=True, eq=False)
class CardComparison:
    """What `compare_cards` finds.

    Attributes
    ----------
    event : str
        What counts as the event: the class of high totals.
    n_rows : float
        Weight of the rows.
    changed : float
        Share of the rows with another total.
    moved : float
        Share of the rows in another band.
    cut_a, cut_b : float
        The cuts of both cards.
    auc_a, auc_b : Estimate
        With ``value``, ``low`` and ``high``.
    auc_difference : Estimate
        AUC of b less that of a, with the interval of the paired difference; NaN with weights other
        than 0 and 1.
    psi : float
        Population stability index of the totals of b against those of a.
    swaps : SwapTable
        Rows by their sides of the cuts.
    moves : MovesTable
        Rows by their bands.

    Examples
    --------
    >>> from sklearn_rank.scorecard import Card, Scorecard, Variable, card_to_json, compare_cards
    >>> cards = [
    ...     Card((Variable("age", 0, (0, 1, 0), (end,)),), 0, 0, (0, 1), 1) for end in (2.5, 1.5)
    ... ]
    >>> a, b = (Scorecard.from_json(card_to_json(one)) for one in cards)
    >>> found = compare_cards(a, b, [[1], [2], [3], [4]], [0, 0, 1, 1], bands=[0])
    >>> found.changed, found.swaps.count
    (0.25, array([2., 0., 1., 1.]))
    """

    event: str
    n_rows: float
    changed: float
    moved: float
    cut_a: float
    cut_b: float
    auc_a: Estimate
    auc_b: Estimate
    auc_difference: Estimate
    psi: float
    swaps: SwapTable
    moves: MovesTable

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain values: numbers, texts, lists and dicts.

        Returns
        -------
        dict of str to object
            By the names of the attributes.
        """
        found: dict[str, Any] = {}
        for name, one in vars(self).items():
            if isinstance(one, FiguresTable):
                found[name] = {key: column.tolist() for key, column in one.to_dict().items()}
            else:
                found[name] = asdict(one) if isinstance(one, Estimate) else one
        return found

    def to_frame(self) -> Any:
        """Return the rows by their sides of the cuts as a data frame, as ``swaps.to_frame()``.

        Returns
        -------
        pandas DataFrame
            Columns side, count, events, share and rate.
        """
        return self.swaps.to_frame()

    def to_text(self) -> str:
        """Return the comparison in words.

        Returns
        -------
        str
            Lines.
        """
        gain = self.auc_difference
        interval = "" if np.isnan(gain.low) else f" (95 %: {gain.low:+.4f} to {gain.high:+.4f})"
        lines = [
            f"COMPARISON OF TWO CARDS on {self.n_rows:,.6g} rows; the event is {self.event}",
            f"AUC: a {self.auc_a.value:.4f}, b {self.auc_b.value:.4f}, "
            f"b less a {gain.value:+.4f}{interval}",
            f"Another total: {_percent(self.changed)}; another band: {_percent(self.moved)}; "
            f"PSI of the totals {self.psi:.4f}",
            f"Cuts: above {self.cut_a:g} (a) and above {self.cut_b:g} (b)",
        ]
        table = self.swaps
        columns = (table.side.tolist(), table.count, table.share, table.rate)
        for side, count, share, rate in zip(*columns, strict=True):
            text = "-" if np.isnan(rate) else _percent(rate)
            lines.append(
                f"  {side:<14} {count:>12,.6g} rows  {_percent(share):>8}  event rate {text:>8}"
            )
        return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def compare_cards(
    a: Any,
    b: Any,
    X: Any,
    y: Any,
    *,
    cut_a: float | None = None,
    cut_b: float | None = None,
    bands: Any = 10,
    sample_weight: Any = None,
) -> CardComparison:
    r"""Compare two scorecards on the same rows, such as the present one and its successor.

    .. math:: \text{swap set} = \{i : (T^a_i > c_a) \neq (T^b_i > c_b)\}, \qquad
        \Delta = \mathrm{AUC}_b - \mathrm{AUC}_a

    where :math:`T^a_i` and :math:`T^b_i` are the totals of row i and :math:`c_a`, :math:`c_b` the
    cuts. The interval of the difference is that of a paired comparison (see `compare_auc`).

    Parameters
    ----------
    a, b : Scorecard
        Fitted, with the same classes.
    X : {array-like, data frame} of shape (n_samples, n_features)
        Rows with the columns of both cards; best neither was fitted to them.
    y : array-like of shape (n_samples,)
        Their classes.
    cut_a, cut_b : float, default=None
        The totals above which the decision of each card changes. None: the `cut_` of the card.
    bands : int in [2, inf) or increasing array-like, default=10
        Number of bands of nearly equal size, or the totals that divide them.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Multiplicities.

    Returns
    -------
    CardComparison
        ``auc_a``, ``auc_b``, ``auc_difference``, ``psi``, ``swaps``, ``moves`` and more;
        ``to_text()``, ``to_frame()`` and ``to_dict()``.

    Raises
    ------
    ValueError
        When the cards have other classes, or the rows are of one class or don't fit the cards.

    References
    ----------
    DeLong1988 (the paired difference). Siddiqi2006 (swap sets, population stability).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_rank.scorecard import Scorecard, compare_cards
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> a, b = (Scorecard(p=1, max_terms=n).fit(X[::2], y[::2]) for n in (2, 6))
    >>> found = compare_cards(a, b, X[1::2], y[1::2])
    >>> found.auc_difference.value > 0, int(found.swaps.count.sum())
    (True, 284)
    """
    check_parameters(
        "compare_cards", {"cut_a": cut_a, "cut_b": cut_b}, {"cut_a": _CUT, "cut_b": _CUT}
    )
    for one in (a, b):
        check_is_fitted(one)
    if a.classes_.tolist() != b.classes_.tolist():
        raise ValueError(
            "compare_cards compares cards with the same classes, in the same order. "
            f"Got {a.classes_.tolist()} and {b.classes_.tolist()}."
        )
    event = is_upper_label("compare_cards", y, a.classes_, sample_weight)
    totals = [one.decision_function(X) + one.cut_ for one in (a, b)]
    check_lengths(X=totals[0], y=event)
    weight = check_weight(sample_weight, len(event))
    kept = weight > 0
    if len(np.unique(event[kept])) < 2:
        raise ValueError("compare_cards needs rows of both classes. All rows of y are of one.")
    cuts = [float(one.cut_ if cut is None else cut) for one, cut in ((a, cut_a), (b, cut_b))]
    totals = [one[kept] for one in totals]
    return _comparison(class_label(a.classes_[1]), totals, cuts, event[kept], weight[kept], bands)


def _comparison(
    name: str, totals: list[Floats], cuts: list[float], event: Mask, weight: Floats, bands: Any
) -> CardComparison:
    """Return the figures of two cards, from their totals of rows of positive weight."""
    first, second = totals
    limits = [cuts_of("compare_cards", "bands", bands, one, weight) for one in totals]
    band = [band_of(one, limit) for one, limit in zip(totals, limits, strict=True)]
    total = float(weight.sum())
    aucs = [Estimate(*auc_with_interval(event, one, weight)) for one in totals]
    gain = Estimate(aucs[1].value - aucs[0].value)
    if (weight == 1).all():
        paired = compare_auc(event, second, first)
        gain = Estimate(paired.difference, paired.low, paired.high)
    return CardComparison(
        event=name,
        n_rows=total,
        changed=float(weight[first != second].sum()) / total,
        moved=float(weight[band[0] != band[1]].sum()) / total,
        cut_a=cuts[0],
        cut_b=cuts[1],
        auc_a=aucs[0],
        auc_b=aucs[1],
        auc_difference=gain,
        psi=stability_in_tenths(first, second, weight, weight).psi,
        swaps=_swaps([one > cut for one, cut in zip(totals, cuts, strict=True)], event, weight),
        moves=_moves(band, event, weight),
    )


def _swaps(above: list[Mask], event: Mask, weight: Floats) -> SwapTable:
    """Return the rows by their sides."""
    side = 3 - 2 * above[0].astype(np.intp) - above[1]
    count, events = (band_sums(side, one, len(SIDES)) for one in (weight, weight * event))
    names = np.array(SIDES, dtype=object)
    return SwapTable(names, count, events, count / weight.sum(), ratio(events, count))


def _moves(band: list[Indices], event: Mask, weight: Floats) -> MovesTable:
    """Return the rows by their bands."""
    width = int(band[1].max()) + 1
    found, line = np.unique(band[0] * width + band[1], return_inverse=True)
    count, events = (band_sums(line.ravel(), one, len(found)) for one in (weight, weight * event))
    return MovesTable(found // width, found % width, count, events, ratio(events, count))
