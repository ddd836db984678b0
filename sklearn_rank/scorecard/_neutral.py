"""Points where training has nothing to tell: of values it has not seen, or few rows have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank.scorecard._risk_curve import RiskCurve
from sklearn_rank.scorecard._scaling import nearest
from sklearn_rank.scorecard._training import BinnedTraining
from sklearn_rank.scorecard.card import Card

_HALVINGS = 40
_FEW = 0.02
"""Share of the rows below which missing values and special codes are no evidence."""


def with_mean_points(training: BinnedTraining, tables: Sequence[Any]) -> list[Any]:
    """Return points, the mean ones for missing values and codes of which no rule tells.

    Where these are enough rows for a bin, the ranker might have told them apart and did not.
    """
    completed = list(tables)
    for number, (step, weight) in enumerate(
        zip(training.steps, training.weight_by_bin, strict=True)
    ):
        is_untold = (step.values == 0) & (weight < _FEW * weight.sum())
        is_untold[: step.bins.n_values] = False
        if is_untold.any() and not is_untold.all() and weight[~is_untold].any():
            table = tables[number]
            mean = np.average(table[~is_untold], weights=weight[~is_untold])
            is_rounded = np.issubdtype(table.dtype, np.integer)
            completed[number] = np.where(is_untold, nearest(mean) if is_rounded else mean, table)
    return completed


def with_neutral_points(
    card: Card, curve: RiskCurve, totals: Floats, weight: Floats, points: dict[int, Indices]
) -> Card:
    r"""Return the card with neutral points in the bins that training has not seen.

    If all training rows had them in place of their own points of the variable, the mean risk
    would stay:

    .. math:: \sum_i w_i \, r(T_i - s_i + v) = \sum_i w_i \, r(T_i)

    where T is the total of a row, s its points of the variable, w its weight, r the curve of risk
    and v the neutral points. The mean of the points would not do: risk is no straight line of
    the total. What rounding leaves over is added to the next variable, in the order of the ranges
    of points, so that the errors of several missing values cancel out.

    Parameters
    ----------
    card : Card
        The points.
    curve : RiskCurve
        Of its totals.
    totals, weight : ndarray of shape (n_rows,)
        The training rows.
    points : dict of int to ndarray of shape (n_rows,)
        The points of each row by the column of the variable.

    References
    ----------
    Defined here.
    """
    variables = list(card.variables)
    mean_risk = float(np.average(curve.chance(totals), weights=weight))
    left = 0.0
    spans = [-int(np.ptp(points[variable.column])) for variable in variables]
    for number in np.argsort(spans, kind="stable"):
        variable = variables[number]
        unseen = variable.unseen_bins()
        if unseen:
            own = points[variable.column]
            exact = _neutral(curve, totals - own, weight, own, mean_risk)
            rounded = int(np.clip(nearest(exact + left), own.min(), own.max()))
            left += exact - rounded
            table = np.array(variable.points)
            table[unseen] = rounded
            variables[number] = replace(variable, points=tuple(table.tolist()))
    return replace(card, variables=tuple(variables))


def _neutral(
    curve: RiskCurve, others: Floats, weight: Floats, own: Indices, mean_risk: float
) -> float:
    """Return the points in place of those of a variable that keep the mean risk, by bisection."""
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
