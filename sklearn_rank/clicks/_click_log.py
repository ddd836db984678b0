"""Checks of the columns of a click log."""

from __future__ import annotations

from collections.abc import Mapping
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


def propensity_of_rows(owner: str, propensity: Any, position: Indices) -> Floats:
    """Return the propensity of the position of each row.

    Parameters
    ----------
    owner : str
        Whose argument it is, for messages.
    propensity : array-like or mapping
        Of positions 1, 2, ..., or by position.
    position : ndarray of shape (n_rows,)
        Positions from 1.
    """
    known, code = np.unique(position, return_inverse=True)
    if isinstance(propensity, Mapping):
        unknown = [one for one in known.tolist() if one not in propensity]
        values = [0.0 if one in unknown else propensity[one] for one in known.tolist()]
        of_known = check_finite(np.array(values, dtype=object), "propensity")
    else:
        listed = check_finite(propensity, "propensity")
        if listed.ndim != 1:
            raise ValueError(
                f"propensity of {owner} must have one dimension, one number for each of the "
                f"positions 1, 2, ... Got shape {listed.shape}."
            )
        unknown = known[known > len(listed)].tolist()
        of_known = listed[np.minimum(known, len(listed)) - 1]
    if unknown:
        raise ValueError(
            f"propensity of {owner} must have a number for every position. Not for {unknown}."
        )
    is_wrong = ~((of_known > 0) & (of_known <= 1))
    if is_wrong.any():
        number = int(np.argmax(is_wrong))
        raise ValueError(
            f"propensity of {owner} must be above 0 and at most 1. Got {of_known[number]:g} at "
            f"position {known[number]}. Divide those in proportion to a position by the largest."
        )
    return np.asarray(of_known[code.ravel()])
