"""Confidence intervals of shares, and the levels of confidence that are allowed."""

from __future__ import annotations

import numpy as np
from scipy import stats

from sklearn_rank._protocols import Floats
from sklearn_rank._validation import Number

CONFIDENCE = Number(0, 1, closed="neither")


def wilson(share: Floats, n: Floats | int, confidence: float) -> tuple[Floats, Floats]:
    """Return Wilson's score interval of a share of n rows; NaN for no rows."""
    z = float(stats.norm.ppf((1 + confidence) / 2))
    n = np.where(np.asarray(n) > 0, n, np.nan)
    middle = (share * n + z * z / 2) / (n + z * z)
    half = z * np.sqrt(share * (1 - share) * n + z * z / 4) / (n + z * z)
    return np.clip(middle - half, 0.0, share), np.clip(middle + half, share, 1.0)
