"""Summaries of columns that come from a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

_MOST_ROWS = 2**53
"""Larger counts are no exact floats."""


def check_summaries(summaries: Mapping[Any, Mapping[str, Any]]) -> None:
    """Raise ValueError for summaries that `column_summaries` does not make; a file holds any."""
    for name, one in summaries.items():
        if not (isinstance(one, Mapping) and _is_summary(one)):
            raise ValueError(f"the summary of column {name!r} is damaged")


def _is_summary(one: Mapping[str, Any]) -> bool:
    bounds, counts = one.get("cuts", one.get("texts")), one.get("counts")
    if not isinstance(bounds, list) or not isinstance(counts, list):
        return False
    if "cuts" in one:
        are_floats = all(isinstance(one, float) for one in bounds)
        are_bounds = are_floats and bool((np.diff(bounds) > 0).all())
    else:
        are_bounds = all(isinstance(text, str) for text in bounds)
    are_counts = all(isinstance(n, int) and 0 <= n <= _MOST_ROWS for n in counts)
    return are_bounds and are_counts and len(counts) == len(bounds) + 2
