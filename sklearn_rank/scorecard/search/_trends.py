"""The direction of each feature's marginal trend, where the data decide it."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_rank._parallel import ThreadPool
from sklearn_rank._protocols import Floats
from sklearn_rank.bins.binned_features import encode
from sklearn_rank.rows import Rows

DECIDED = 2.576
"""Standard errors from which a trend, or a step against it, is decided (1 %, two-sided)."""

N_RANGES = 5
"""Ranges of about equal weight that are compared with each other."""


def decided_directions(data: Rows, ranker: Any, scale: float) -> list[int]:
    """Return 1, -1 or 0 for each feature: the direction of its trend, 0 where it is undecided.

    See `direction` for the rule. Categories have none; missing values and special codes are left
    out.

    Parameters
    ----------
    data : Rows
        The training rows.
    ranker : ranker
        Of stumps, which has validated the rows.
    scale : float
        Number of rows that a weight of one stands for.
    """
    if hasattr(data.X, "bins"):
        bins, codes = data.X.bins, data.X.codes(slice(None))
    else:
        bins = ranker.binning().find(data)
        codes = encode(data.X, np.arange(len(data.y)), bins, ThreadPool(1))
    found = []
    for one, code in zip(bins, codes, strict=True):
        weight = data.weight * scale
        sums = np.array(
            [np.bincount(code, w, one.n_bins) for w in (weight * ~data.y, weight * data.y)]
        )
        sums = np.asarray(data.total(sums))[:, : one.n_values]
        found.append(direction(*sums) if one.has_order else 0)
    return list(data.agree(found))


def direction(below: Floats, above: Floats) -> int:
    r"""Return the direction of the event rate over ordered bins: 1, -1, or 0 if it is undecided.

    It is decided where both hold:

    1. the AUC of the bins' order differs from one half by more than 2.576 of its standard errors
       under no relation, :math:`\sqrt{(N + 1 - T) / (12 n_+ n_-)}` with
       :math:`T = \sum_b (t_b^3 - t_b) / (N (N - 1))` for ties;
    2. of five ranges of about equal weight no two have event rates that differ by more than 2.576
       standard errors against the direction.

    Parameters
    ----------
    below, above : ndarray of shape (n_bins,)
        Numbers of rows of the lower and the upper class.
    """
    n_below, n_above, by_bin = below.sum(), above.sum(), below + above
    n = n_below + n_above
    if n_below == 0 or n_above == 0 or n <= 2:
        return 0
    auc = above @ (np.cumsum(below) - below / 2) / (n_below * n_above)
    ties = (by_bin**3 - by_bin).clip(0).sum() / (n * (n - 1))
    variance = (n + 1 - ties) / (12 * n_below * n_above)
    if variance <= 1e-12 or abs(auc - 0.5) <= DECIDED * np.sqrt(variance):
        return 0
    sign = 1 if auc > 0.5 else -1
    middle = (np.cumsum(by_bin) - by_bin / 2) / n
    place = np.minimum((middle * N_RANGES).astype(np.intp), N_RANGES - 1)
    weight, events = (np.bincount(place, one, N_RANGES) for one in (by_bin, above))
    weight, events = weight[weight > 0], events[weight > 0]
    rate = events / weight
    spread = (rate * (1 - rate)) / weight
    for first in range(len(rate)):
        against = -sign * (rate[first + 1 :] - rate[first])
        error = np.sqrt(spread[first] + spread[first + 1 :])
        if (against > DECIDED * error + 1e-12).any():
            return 0
    return sign
