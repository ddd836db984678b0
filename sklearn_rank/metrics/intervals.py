"""Confidence intervals of shares and of means over folds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.validation import Number

CONFIDENCE = Number(0, 1, closed="neither")
_ROUNDING = 1e-12
"""Means and standard errors up to this are taken as zero."""


def wilson(share: Floats | float, n: Floats | int, confidence: float) -> tuple[Floats, Floats]:
    """Return Wilson's score interval of a share of n rows; NaN for no rows."""
    z = float(stats.norm.ppf((1 + confidence) / 2))
    n = np.where(np.asarray(n) > 0, n, np.nan)
    middle = (share * n + z * z / 2) / (n + z * z)
    half = z * np.sqrt(share * (1 - share) * n + z * z / 4) / (n + z * z)
    return np.clip(middle - half, 0.0, share), np.clip(middle + half, share, 1.0)


def of_difference(a: float, ends_a: Any, b: float, ends_b: Any) -> tuple[float, float]:
    """Return the interval of a - b for independent estimates with intervals (ZouDonner2008)."""
    low = np.hypot(a - ends_a[0], ends_b[1] - b)
    return a - b - float(low), a - b + float(np.hypot(ends_a[1] - a, b - ends_b[0]))


def error_over_folds(values: Floats, ratio: float) -> float:
    """Return the standard error of a mean over folds that share training rows.

    The variance of the mean of n values is theirs times 1/n + `ratio`, that of rows tested to rows
    trained on (NadeauBengio2003); n counts all folds of repeated cross-validation
    (BouckaertFrank2004).
    """
    return float(np.std(values, ddof=1) * np.sqrt(1 / len(values) + ratio))


def over_folds(
    values: Floats, ratio: float, confidence: float = 0.95
) -> tuple[float, float, float]:
    """Return the interval of a mean over folds that share training rows, and its p-value for zero.

    The standard error is that of `error_over_folds`. Values that are the same in all folds don't
    tell it, so that all three are NaN, as of `compare_auc`; of zeros the p-value is 1.
    """
    n, mean = len(values), float(np.mean(values))
    error = error_over_folds(values, ratio)
    if np.isnan(error):
        raise ValueError("A fold has no value, or folds are not alike.")
    if error <= _ROUNDING:
        return (mean, mean, 1.0) if abs(mean) <= _ROUNDING else (np.nan, np.nan, np.nan)
    half = error * float(stats.t.ppf((1 + confidence) / 2, n - 1))
    p_value = 2 * float(stats.t.sf(abs(mean) / error, n - 1))
    return mean - half, mean + half, p_value
