"""Categories in an order, or in groups of the user's own, as bins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sklearn_rank._bins.binned_features import FeatureBins
from sklearn_rank._core.protocols import Values
from sklearn_rank._core.validation import is_missing


def category_bins(
    owner: str, parameter: str, feature: str, entries: Any, categories: Values
) -> FeatureBins:
    """Return the initial bins of a categorical feature: one for each entry of a list.

    An order must name all categories; those in no group are bins of their own.

    Parameters
    ----------
    owner : str
        The class with the parameter, for messages.
    parameter : {"category_order", "category_groups"}
        Its name.
    feature : str
        Name of the feature.
    entries : list
        Levels, or lists of levels that share a bin.
    categories : ndarray of shape (n_categories,)
        The categories by their codes.
    """
    is_ordered = parameter == "category_order"
    bin_of: dict[Any, int] = {}
    for index, levels in enumerate(_levels_of_entries(owner, parameter, feature, entries)):
        for level in levels:
            if level in bin_of:
                raise ValueError(
                    f"{parameter} of {owner} must have each level once. Feature {feature} has "
                    f"{level!r} twice."
                )
            bin_of[level] = index
    levels = [None if is_missing(level) else level for level in categories.tolist()]
    unnamed = [level for level in levels if level is not None and level not in bin_of]
    if unnamed and is_ordered:
        raise ValueError(
            f"{parameter} of {owner} must name all levels of a feature. Feature {feature} also has "
            f"{unnamed}."
        )
    bin_of |= {level: len(bin_of) + index for index, level in enumerate(unnamed)}
    bins = np.array([-1 if level is None else bin_of[level] for level in levels], dtype=np.intp)
    is_present = bins >= 0
    bins[is_present] = np.unique(bins[is_present], return_inverse=True)[1].ravel()  # no gaps
    return FeatureBins(categories=bins, ordered=is_ordered)


def _levels_of_entries(
    owner: str, parameter: str, feature: str, entries: Any
) -> Iterable[list[Any]]:
    """Yield the levels of each entry of a list."""
    if not _is_list(entries) or isinstance(entries, Mapping):
        raise ValueError(
            f"{parameter} of {owner} must have a list of levels, or of lists of levels, for each "
            f"feature. Feature {feature} has {entries!r}."
        )
    for entry in entries:
        is_list = _is_list(entry)
        if not is_list and parameter == "category_groups":
            raise ValueError(
                f"category_groups of {owner} must have lists of levels for each feature. "
                f"Feature {feature} has {entry!r}."
            )
        levels = list(entry) if is_list else [entry]
        invalid = [level for level in levels if _is_list(level) or is_missing(level)]
        if invalid:
            raise ValueError(
                f"{parameter} of {owner} must have single levels, none missing. Feature {feature} "
                f"has {invalid[0]!r}."
            )
        yield levels


def _is_list(value: Any) -> bool:
    """Whether a value has entries and is not a string."""
    return bool(np.iterable(value)) and not isinstance(value, (str, bytes))
