"""Summaries of columns that come in parts, or from a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sklearn_rank.inspection import N_BINS

_MOST_ROWS = 2**53
"""Larger counts are no exact floats."""


def pool_summaries(parts: Sequence[Mapping[Any, Mapping[str, Any]]]) -> dict[Any, dict[str, Any]]:
    """Return the summaries of rows from those of parts of them, which need many bins.

    Numbers in a bin of a part count as its upper end: with n bins the pooled shares up to a cut
    are too small by 1/n at most. Texts must have a bin each.
    """
    found: dict[Any, dict[str, Any]] = {}
    for name in parts[0] if parts else ():
        key = "cuts" if "cuts" in parts[0][name] else "texts"
        rows: Counter[Any] = Counter()
        for part in parts:
            ends = [*part[name][key], None]  # above the last, or other texts
            rows.update(dict(zip(ends, part[name]["counts"][:-1], strict=True)))
        missing = sum(part[name]["counts"][-1] for part in parts)
        rest = rows.pop(None)
        if key == "texts":
            bounds = [text for text, _ in rows.most_common(N_BINS - 1)]
            counts = [rows[text] for text in bounds]
        else:
            values = np.array(sorted(rows))
            below = np.cumsum([rows[one] for one in values.tolist()])
            n_known = rest + sum(rows.values())
            levels = np.arange(1, N_BINS) / N_BINS * n_known
            place = np.unique(np.searchsorted(below, levels))[: len(values)]
            bounds, counts = values[place].tolist(), np.diff(below[place], prepend=0).tolist()
        rest += sum(rows.values()) - sum(counts)
        found[name] = {key: bounds, "counts": [*map(int, counts), int(rest), int(missing)]}
    return found


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
