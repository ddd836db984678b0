"""The terms of the p-norm push risk, one for each negative."""

from __future__ import annotations

import numpy as np

from sklearn_rank._protocols import Floats, Mask
from sklearn_rank.objectives import MARGIN_LOSSES, PairLoss
from sklearn_rank.pair_sums import ExponentialSums
from sklearn_rank.rows import Preferences

LOSSES = ("zero_one", *MARGIN_LOSSES)


def shares_and_risks(
    score: Floats, weight: Floats, positive: Mask, loss: str, powers: list[float]
) -> tuple[Floats, list[float]]:
    """Return the shares of the rows in the risk, and the risk, for each p."""
    w_neg = weight[~positive]
    relative, log_largest = _inner_sums(score, weight, positive, loss)
    share, risk = np.zeros((len(powers), len(score))), []
    for index, p in enumerate(powers):
        if log_largest == -np.inf:
            risk.append(0.0)
            continue
        term = w_neg * (relative**p if np.isfinite(p) else relative == 1)
        share[index, ~positive] = term / term.sum()
        with np.errstate(over="ignore"):
            total = np.exp(p * log_largest) * term.sum() if np.isfinite(p) else np.exp(log_largest)
            risk.append(float(total))
    return share, risk


def _inner_sums(score: Floats, weight: Floats, positive: Mask, loss: str) -> tuple[Floats, float]:
    """Return the inner sum of each negative relative to the largest, and its logarithm."""
    preferences = Preferences.from_labels(positive, None, weight)
    scores, n_pos = score[preferences.order], int(np.count_nonzero(positive))
    if loss == "exponential":  # may overflow
        log_inner = ExponentialSums(preferences, 1.0).log_heights(scores)[n_pos:]
        largest = float(log_inner.max())
        return np.exp(log_inner - largest), largest
    if loss == "zero_one":
        order = np.argsort(scores[:n_pos])
        upto = np.concatenate([[0.0], np.cumsum(preferences.weight[:n_pos][order])])
        inner = upto[np.searchsorted(scores[:n_pos][order], scores[n_pos:], side="right")]
    else:
        inner = PairLoss(preferences, loss).heights(scores, preferences.weight)[n_pos:]
    largest = float(inner.max())
    return inner / (largest or 1.0), float(np.log(largest)) if largest > 0 else -np.inf
