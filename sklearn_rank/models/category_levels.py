"""Categories in an order, or in groups of the user's own, as bins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sklearn_rank._bins.binned_features import FeatureBins
from sklearn_rank._core.protocols import Values
from sklearn_rank._core.validation import is_missing


def category_bins(
    owner: str, parameter: str, called: str, given: Any, categories: Values
) -> FeatureBins:
    """Return the first bins of a categorical feature: one for each entry of a list.

    Categories that an order does not name are refused; those that are in no group are bins of
    their own.

    Parameters
    ----------
    owner, parameter, called : str
        Whose parameter it is, "category_order" or "category_groups", and the feature's name.
    given : list
        The entries: levels, or lists of levels that are one bin.
    categories : ndarray of shape (n_categories,)
        The categories by their codes.
    """
    is_ordered = parameter == "category_order"
    bin_of: dict[Any, int] = {}
    for number, entry in enumerate(_entries(owner, parameter, called, given)):
        for level in entry:
            if level in bin_of:
                raise ValueError(
                    f"{parameter} of {owner} must have each level once. Feature {called} has "
                    f"{level!r} twice."
                )
            bin_of[level] = number
    known = [None if is_missing(one) else one for one in categories.tolist()]
    left = [one for one in known if one is not None and one not in bin_of]
    if left and is_ordered:
        raise ValueError(
            f"{parameter} of {owner} must name all levels of a feature. Feature {called} also has "
            f"{left}."
        )
    bin_of |= {level: len(bin_of) + number for number, level in enumerate(left)}
    bins = np.array([-1 if one is None else bin_of[one] for one in known], dtype=np.intp)
    used = bins >= 0
    bins[used] = np.unique(bins[used], return_inverse=True)[1].ravel()  # no gaps
    return FeatureBins(categories=bins, ordered=is_ordered)


def _entries(owner: str, parameter: str, called: str, given: Any) -> Iterable[list[Any]]:
    """Yield the levels of each entry of a list."""
    if not _is_list(given) or isinstance(given, Mapping):
        raise ValueError(
            f"{parameter} of {owner} must have a list of levels, or of lists of levels, for each "
            f"feature. Feature {called} has {given!r}."
        )
    for entry in given:
        is_list = _is_list(entry)
        if not is_list and parameter == "category_groups":
            raise ValueError(
                f"category_groups of {owner} must have lists of levels for each feature. "
                f"Feature {called} has {entry!r}."
            )
        levels = list(entry) if is_list else [entry]
        wrong = [one for one in levels if _is_list(one) or is_missing(one)]
        if wrong:
            raise ValueError(
                f"{parameter} of {owner} must have single levels, none missing. Feature {called} "
                f"has {wrong[0]!r}."
            )
        yield levels


def _is_list(one: Any) -> bool:
    """Whether something has entries, and is no text."""
    return bool(np.iterable(one)) and not isinstance(one, (str, bytes))
