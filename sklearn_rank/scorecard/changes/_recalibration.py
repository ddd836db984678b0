"""A new curve of risk for the points of a card, from rows of another time or place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklearn_rank._core.distinct import number_of_rows
from sklearn_rank._core.protocols import Floats, Mask
from sklearn_rank._core.warnings import warn
from sklearn_rank.scorecard.card import Card
from sklearn_rank.scorecard.risk._risk import RiskCurve, with_risk
from sklearn_rank.scorecard.search._folds import moments


def recalibrated(card: Card, totals: Floats, positive: Mask, weight: Floats) -> Card:
    r"""Return a card with the same points and a risk table for some rows.

    A card whose scale states odds has a curve of one slope, and its statements change with it:

    .. math:: \log\frac{p}{1 - p} = a + b T, \qquad \text{pdo} = \frac{\ln 2}{b}, \qquad
        \text{odds} = e^{a + b \, \text{score}}

    where T is the total and score stays as it is; other cards have at least two slopes.

    Parameters
    ----------
    card : Card
        The card.
    totals : ndarray of shape (n_rows,)
        Its totals of the rows.
    positive : ndarray of bool of shape (n_rows,)
        Whether each is of the upper class.
    weight : ndarray of shape (n_rows,)
        Multiplicities, greater than zero.
    """
    is_scaled = {"pdo", "score", "odds"} <= card.details.keys()
    mean, deviation = moments(totals, weight)
    size = number_of_rows(weight)
    curve = RiskCurve.fit(
        (totals - mean) / deviation,
        positive,
        weight * (size / weight.sum()),
        mean,
        deviation,
        1 if is_scaled else None,
    )
    details = {
        **card.details,
        **(_scale(card, curve) if is_scaled else {}),
        "risk_rows": "rows of a recalibration",
        "recalibration_rows": float(weight.sum()),
        "recalibration_rows_of_the_upper_class": float(weight[positive].sum()),
        "former_risk_curve": card.details.get("risk_curve"),
    }
    known = np.union1d([row[0] for row in card.risk], totals)
    return with_risk(replace(card, details=details), curve, known, keeps_points=True)


def _scale(card: Card, curve: RiskCurve) -> dict[str, Any]:
    """Return the points to double the odds, and the odds at the score, of a curve of one slope."""
    constant, slope = curve.line()
    if slope <= 0:
        warn(
            "recalibrate: the odds are the same at all totals, so that no number of points "
            "doubles them. The card does not order these rows better than chance.",
            ConvergenceWarning,
        )
    return {
        "pdo": float(np.log(2) / slope) if slope > 0 else float("inf"),
        "odds": float(np.exp(constant + slope * card.details["score"])),
    }
