"""Points for values that training has not seen, which leave the mean risk as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank.scorecard.card import Card
from sklearn_rank.scorecard.fitting._scaling import nearest
from sklearn_rank.scorecard.risk._risk import RiskCurve

_HALVINGS = 40


def neutral_points(
    card: Card,
    curve: RiskCurve,
    totals: Floats,
    weight: Floats,
    points: Mapping[tuple[int, ...], Indices],
) -> list[int | None]:
    r"""Return the neutral points of each term, None where training has seen all bins.

    If all training rows had them in place of their own points of the term, the mean risk would
    stay:

    .. math:: \sum_i w_i \, r(T_i - s_i + v) = \sum_i w_i \, r(T_i)

    where T is the total of a row, s its points of the term, w its weight, r the curve of risk
    and v the neutral points. The mean of the points would not do: risk is no straight line of
    the total. What rounding leaves over is added to the next term, in the order of the ranges of
    points, so that the errors of several missing values cancel out.

    Parameters
    ----------
    card : Card
        The points.
    curve : RiskCurve
        Of its totals.
    totals, weight : ndarray of shape (n_rows,)
        The training rows.
    points : dict of tuple to ndarray of shape (n_rows,)
        The points of each row by the columns of the term.

    References
    ----------
    Defined here.
    """
    of_rows = [points[term.columns] for term in card.terms]
    found: list[int | None] = [None] * len(of_rows)
    mean_risk = float(np.average(curve.chance(totals), weights=weight))
    left = 0.0
    for number in sorted(range(len(of_rows)), key=lambda one: -int(np.ptp(of_rows[one]))):
        own = of_rows[number]
        if card.terms[number].unseen_bins():
            exact = _neutral(curve, totals - own, weight, own, mean_risk)
            rounded = int(np.clip(nearest(exact + left), own.min(), own.max()))
            found[number], left = rounded, left + exact - rounded
    return found


def with_unseen(card: Card, points: list[int | None]) -> Card:
    """Return a card with these points in the bins that training has not seen."""
    terms = []
    for term, neutral in zip(card.terms, points, strict=True):
        table = np.array(term.points)
        if neutral is not None:
            table[term.unseen_bins()] = neutral
        terms.append(replace(term, points=tuple(table.tolist())))
    return card.with_terms(terms)


def _neutral(
    curve: RiskCurve, others: Floats, weight: Floats, own: Indices, mean_risk: float
) -> float:
    """Return the points in place of those of a term that keep the mean risk, by bisection."""
    totals, place = np.unique(others, return_inverse=True)
    share = np.bincount(place.ravel(), weight) / weight.sum()
    low, high = float(own.min()), float(own.max())
    middle = float(np.average(own, weights=weight))
    for _ in range(_HALVINGS):
        excess = float(share @ curve.chance(totals + middle)) - mean_risk
        if abs(excess) <= 1e-12:
            break
        low, high = (low, middle) if excess > 0 else (middle, high)
        middle = (low + high) / 2
    return middle
