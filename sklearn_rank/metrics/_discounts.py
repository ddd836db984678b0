"""Gains of relevances and discounts of ranks: those with a name, and a user's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.validation import Choice, check_floats

GAIN = Choice(
    ("exponential", "linear"), "a function, or the gains of levels 0, 1, ...", (Callable, Iterable)
)
DISCOUNT = Choice(
    (None,), "a function of the rank, or the discounts of ranks 1, 2, ...", (Callable, Iterable)
)


def gains_of(owner: str, relevance: Floats, gain: Any) -> Floats:
    """Return the gain of each relevance, divided by the largest, so that sums can't overflow."""
    named = isinstance(gain, str)
    gains = _named_gains(owner, relevance, gain) if named else _own(owner, relevance, gain)
    return np.asarray(gains / (gains.max() or 1.0))


def _named_gains(owner: str, relevance: Floats, gain: str) -> Floats:
    highest = float(relevance.max())
    if gain == "linear" or highest == 0:
        return relevance
    with np.errstate(over="ignore"):
        gains = np.expm1(relevance * np.log(2.0))
    if not np.isfinite(gains.max()):
        raise ValueError(
            f"y_true of {owner} is too large for gain='exponential': 2**{highest:g} "
            "overflows. gain='linear' takes it."
        )
    return np.asarray(gains)


def _own(owner: str, relevance: Floats, gain: Any) -> Floats:
    """Return a user's gains: a function of the levels that occur, or a list by level."""
    levels, level = np.unique(relevance, return_inverse=True)
    if callable(gain):
        found = _checked(owner, "gain", gain(levels), len(levels))
        return found[level]
    table = _checked(owner, "gain", gain)
    highest = len(table) - 1
    outside = (levels % 1 != 0) | (levels > highest)
    if outside.any():
        raise ValueError(
            f"gain of {owner} has the gains of the levels 0 to {highest}, so that y_true must hold "
            f"these whole numbers. Got {levels[outside][0]:g}."
        )
    return table[levels.astype(np.intp)][level]


def discounts_of(owner: str, discount: Any, k: int) -> Floats:
    """Return the discounts of ranks 1 to k, or to where a user's list of them ends."""
    if discount is None:
        return np.asarray(1.0 / np.log2(2.0 + np.arange(k)))
    if callable(discount):
        found = _checked(owner, "discount", discount(np.arange(1.0, k + 1)), k)
    else:
        found = _checked(owner, "discount", discount)[:k]
    if found[0] == 0 or (np.diff(found) > 0).any():
        raise ValueError(
            f"discount of {owner} must be positive at rank 1 and never grow with the rank. Got "
            f"{found[:5].tolist()} at the first ranks."
        )
    return found


def _checked(owner: str, name: str, values: Any, length: int | None = None) -> Floats:
    """Return gains or discounts: finite, not negative, as many as there should be."""
    if isinstance(values, Mapping | Set | Iterator):
        raise ValueError(f"{name} of {owner} must be a function or a list. Got {values!r}.")
    found = check_floats(values, name)
    if not len(found) or (length is not None and len(found) != length):
        wanted = "at least one number" if length is None else f"{length} numbers"
        raise ValueError(f"{name} of {owner} must give {wanted}. Got {len(found)}.")
    wrong = ~np.isfinite(found) | (found < 0)
    if wrong.any():
        raise ValueError(
            f"{name} of {owner} must be finite and not negative. Got {found[wrong][0]:g}."
        )
    return found
