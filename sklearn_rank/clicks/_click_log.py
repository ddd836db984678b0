"""Checks of the columns of a click log, and ranks of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank._core.validation import check_finite, check_floats


def check_clicks(owner: str, clicks: Any) -> Mask:
    """Return whether each row was clicked; raise ValueError for anything but 0, 1 and bools."""
    found = check_floats(clicks, "clicks")
    is_wrong = ~np.isin(found, (0.0, 1.0))
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        raise ValueError(
            f"clicks of {owner} must be 0 or 1 in each row, one row an item shown. Got "
            f"{found[row]:g} in row {row}."
        )
    return found == 1


def check_rows(rows: Any, allowed: str, end: int = 2**53, name: str = "row") -> Indices:
    """Return whole numbers from 0 to before `end`; `allowed` says it, after the name, in errors."""
    number = check_floats(rows, name)
    wrong = ~((number >= 0) & (number < end) & (number == np.floor(number)))
    if wrong.any():
        raise ValueError(f"{name} of {allowed}. Got {number[np.argmax(wrong)]:g}.")
    return number.astype(np.intp)


def check_chances(
    owner: str, values: Any, name: str, n_least: int, *, positive: bool = False
) -> Floats:
    """Return probabilities, at least so many."""
    found = check_finite(values, name)
    wrong = found[(found <= 0 if positive else found < 0) | (found > 1)]
    if found.ndim != 1 or len(found) < n_least or len(wrong):
        low = "above 0" if positive else "at least 0"
        got = f"{wrong[0]:g}" if len(wrong) else f"shape {found.shape}"
        raise ValueError(
            f"{name} of {owner} must have one dimension and {n_least} numbers, {low} and at most "
            f"1. Got {got}."
        )
    return found


def propensity_of_rows(owner: str, propensity: Any, position: Indices) -> Floats:
    """Return the propensity of the position, from 1, of each row."""
    n_positions = int(position.max())
    found = check_chances(owner, propensity, "propensity", n_positions, positive=True)
    return np.asarray(found[position - 1])


def ranks_in_queries(scores: Floats, code: Indices) -> Indices:
    """Return the rank of each row in its query, from 0; ties in the order of the rows."""
    order, length = np.lexsort((-scores, code)), np.bincount(code)
    rank = np.empty(len(code), dtype=np.intp)
    rank[order] = np.arange(len(code)) - np.repeat(np.cumsum(length) - length, length)
    return rank
