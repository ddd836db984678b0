"""Which end of the totals is bad, and what follows from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank.scorecard.card import Card
from sklearn_rank.scorecard.terms import class_label

_BAD = "bad|default|defaulted|delinquent|(charged|written) off|not paid|fraud|fraudulent|churn"
_BAD += "|churned|failed|failure|fail|rejected|refused|declined|defective"
_GOOD = "good|paid|repaid|fully paid|(no|non) default|current|performing|(no|not) fraud|legitimate"
_GOOD += "|genuine|not churned|healthy|approved|accepted"

_SPECIAL = ("special", "missing", "other")


def inferred_end(given: str, classes: tuple[Any, Any]) -> str | None:
    """Return the bad end of the totals, "high" or "low"; None if it is unknown.

    Parameters
    ----------
    given : {"auto", "high", "low"}
        What the user says. "auto": it follows from the names of the classes, where one of them is
        a common name of a good or a bad outcome, and the other does not contradict.
    classes : tuple
        The two classes; high totals mean the second.
    """
    if given != "auto":
        return given
    lower, upper = (_side(one) for one in classes)
    if {lower, upper} == {None} or lower == upper:
        return None
    return "high" if upper == "bad" or lower == "good" else "low"


def _side(value: Any) -> str | None:
    """Return whether a class is certainly "good" or "bad"; None where it is not."""
    if not isinstance(value, str):
        return None
    words = " ".join(value.casefold().replace("_", " ").replace("-", " ").split())
    sides = (("bad", _BAD), ("good", _GOOD))
    return next((side for side, names in sides if re.fullmatch(names, words)), None)


def worst_points(
    owner: str, unseen: str, adverse: str | None
) -> Callable[[Iterable[int]], int] | None:
    """Return `max` or `min`, which of some points is the worst; None where it is not wanted."""
    if unseen != "worst":
        return None
    if adverse is None:
        raise ValueError(
            f"unseen='worst' of {owner} needs to know which end of the totals is bad, and the "
            "classes do not tell. Use adverse='high' if high totals are bad, or adverse='low'."
        )
    return max if adverse == "high" else min


def adverse_end(card: Card, owner: str) -> str:
    """Return the bad end of the totals of a card, "high" or "low".

    Raises
    ------
    ValueError
        When it is unknown; `owner`, what needs to know it, is named.
    """
    if card.adverse is None:
        raise ValueError(
            f"{owner} of a scorecard needs to know which end of the totals is bad: high totals "
            f"mean {class_label(card.classes[1])}, and the classes do not tell whether it is bad. "
            "Use Scorecard(adverse='high') if it is, or adverse='low' if it is good; in a card "
            f'in JSON, "adverse": "high" or "low". Got adverse={card.adverse!r}.'
        )
    return card.adverse


def best_bins(card: Card, owner: str) -> list[int]:
    """Return the best bin of each term that a row can be in.

    It has the smallest points of the term where high totals are bad, else the largest. Bins that
    no training row was in don't count, be it a range or a cell; where the counts are unknown all
    do. Among equal ones the first of ordinary values is named.

    Raises
    ------
    ValueError
        When it is unknown which end of the totals is bad.
    """
    sign = -1 if adverse_end(card, owner) == "high" else 1
    found = []
    for term in card.terms:
        bins = range(term.n_bins)
        seen = [one for one in bins if not term.counts or term.counts[one]] or bins
        special = {
            number
            for number, place in enumerate(term.listed())
            if any(part.kind in _SPECIAL for part in place.parts or (place,))
        }
        found.append(max(seen, key=lambda one: (sign * term.points[one], one not in special, -one)))
    return found


def best_points(card: Card, owner: str) -> Indices:
    """Return the points of `best_bins`."""
    best = zip(card.terms, best_bins(card, owner), strict=True)
    return np.array([term.points[one] for term, one in best], dtype=np.intp)


def points_lost(card: Card, points: Any, reference: Any, owner: str) -> Floats:
    """Return how much worse points are than those of reference, negative where they are better.

    Parameters
    ----------
    card : Card
        The scorecard, which says which end of its totals is bad.
    points, reference : array-like
        Points of terms; `best_points` are the reference of the best that is attainable.
    owner : str
        What is named if the end is unknown.

    Returns
    -------
    ndarray of float
        ``points - reference`` where high totals are bad, else ``reference - points``.
    """
    difference = np.subtract(points, reference, dtype=np.float64)
    return difference if adverse_end(card, owner) == "high" else -difference
