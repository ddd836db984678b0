"""Why a total is not better: the terms that lose most points."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats, Values
from sklearn_rank._validation import Number
from sklearn_rank.scorecard._adverse import best_points
from sklearn_rank.scorecard.card import Card

OWNER = "reasons"
_ROUNDING = 1e-9


def reference_points(card: Card, against: Any) -> Floats:
    """Return the points that those of each term are compared with."""
    if isinstance(against, str) and against == "best":
        return best_points(card, OWNER).astype(np.float64)
    if isinstance(against, str) and against == "mean":
        if not all(sum(one.counts) > 0 for one in card.terms):
            raise ValueError("against='mean' needs the counts of the bins, which this card lacks.")
        means = [np.average(one.points, weights=one.counts) for one in card.terms]
        return np.array(means, dtype=np.float64)
    if not Number(-np.inf, closed="neither").allows(against):
        raise ValueError(f"against must be 'best', 'mean' or a finite float. Got {against!r}.")
    return np.full(len(card.terms), float(against))


def most_lost(lost: Floats, names: list[str], k: int) -> Values:
    """Return the names of the k terms that lose most, most first; None where none is left.

    Terms that lose the same come in the order of the card.
    """
    reasons = np.full((len(lost), k), None, dtype=object)
    order = np.argsort(-np.round(lost, 9), axis=1, kind="stable")[:, :k]
    is_lost = np.take_along_axis(lost, order, axis=1) > _ROUNDING
    found = np.array([*names, None], dtype=object)[np.where(is_lost, order, len(names))]
    reasons[:, : found.shape[1]] = found
    return reasons
