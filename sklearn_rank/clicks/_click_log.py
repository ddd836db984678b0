"""Checks of the columns of a click log, and ranks of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank._core.validation import check_finite, check_floats


def check_clicks(owner: str, clicks: Any) -> Mask:
    """Return the mask of clicked rows; ValueError for values other than 0, 1 and booleans."""
    values = check_floats(clicks, "clicks")
    is_invalid = ~np.isin(values, (0.0, 1.0))
    if is_invalid.any():
        row = int(np.argmax(is_invalid))
        raise ValueError(
            f"clicks of {owner} must be 0 or 1 in each row, one row for each shown item. Got "
            f"{values[row]:g} in row {row}."
        )
    return values == 1


def check_rows(rows: Any, allowed: str, end: int = 2**53, name: str = "row") -> Indices:
    """Return whole numbers from 0 to before `end`; errors say `allowed` after the name."""
    values = check_floats(rows, name)
    is_invalid = ~((values >= 0) & (values < end) & (values == np.floor(values)))
    if is_invalid.any():
        raise ValueError(f"{name} of {allowed}. Got {values[np.argmax(is_invalid)]:g}.")
    return values.astype(np.intp)


def check_probabilities(
    owner: str, values: Any, name: str, n_least: int, *, positive: bool = False
) -> Floats:
    """Return checked probabilities, at least `n_least` of them."""
    probabilities = check_finite(values, name)
    is_low = probabilities <= 0 if positive else probabilities < 0
    invalid = probabilities[is_low | (probabilities > 1)]
    if probabilities.ndim != 1 or len(probabilities) < n_least or len(invalid):
        bound = "above 0" if positive else "at least 0"
        found = f"{invalid[0]:g}" if len(invalid) else f"shape {probabilities.shape}"
        raise ValueError(
            f"{name} of {owner} must have one dimension and {n_least} numbers, {bound} and at most "
            f"1. Got {found}."
        )
    return probabilities


def propensity_of_rows(owner: str, propensity: Any, position: Indices) -> Floats:
    """Return the propensity of the position of each row; positions begin at 1."""
    n_positions = int(position.max())
    theta = check_probabilities(owner, propensity, "propensity", n_positions, positive=True)
    return np.asarray(theta[position - 1])


def ranks_in_queries(scores: Floats, code: Indices) -> Indices:
    """Return the rank of each row in its query, from 0; ties in the order of the rows."""
    order, length = np.lexsort((-scores, code)), np.bincount(code)
    rank = np.empty(len(code), dtype=np.intp)
    rank[order] = np.arange(len(code)) - np.repeat(np.cumsum(length) - length, length)
    return rank
