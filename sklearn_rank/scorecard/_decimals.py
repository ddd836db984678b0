"""Thresholds with few digits that separate the same training rows."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal

import numpy as np

from sklearn_rank._protocols import Floats
from sklearn_rank.rows import ALL_HERE, Sums

_EXACT = Context(prec=800)  # holds every float, from 5e-324 to 1.8e308


def shortest_decimal(low: float, high: float) -> float:
    """Return the number in ``[low, high)`` with the fewest digits after rounding.

    It is the smallest multiple of a power of ten that is at least `low`, for the greatest
    power with one below `high`. `low` is finite and below `high`.
    """
    start = Decimal(repr(low))
    end = abs(start) if np.isinf(high) else max(abs(start), abs(Decimal(repr(high))))
    last = start.as_tuple().exponent
    assert isinstance(last, int)
    for exponent in range(max(end.adjusted() + 1, last), last, -1):
        unit = Decimal(1).scaleb(exponent)
        found = float(start.quantize(unit, rounding=ROUND_CEILING, context=_EXACT))
        if low <= found < high:
            return found + 0.0  # 0 for -0
    return low + 0.0


def short_thresholds(thresholds: Floats, values: Floats, sums: Sums = ALL_HERE) -> Floats:
    """Return increasing thresholds with few digits that divide the same training values.

    Each is between the threshold and the next greater value of training, or the next
    threshold where that is nearer.
    """
    known = np.unique(values[~np.isnan(values)])
    after = np.append(known, np.inf)[np.searchsorted(known, thresholds, side="right")]
    high = np.minimum(sums.smallest(after), np.append(thresholds[1:], np.inf))
    pairs = zip(thresholds.tolist(), high.tolist(), strict=True)
    return np.array([shortest_decimal(low, end) for low, end in pairs], dtype=np.float64)
