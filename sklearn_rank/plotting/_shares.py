"""The terms of the p-norm push risk, one for each negative."""

from __future__ import annotations

import numpy as np

from sklearn_rank._protocols import Floats, Mask
from sklearn_rank.objectives import MARGIN_LOSSES

LOSSES = ("zero_one", *MARGIN_LOSSES)
_PAIRS = 1 << 20
"""Number of pairs computed at a time."""


def shares_and_risks(
    score: Floats, weight: Floats, positive: Mask, loss: str, powers: list[float]
) -> tuple[Floats, list[float]]:
    """Return the shares of the rows in the risk, and the risk, for each p."""
    f_pos, w_pos = score[positive], weight[positive]
    f_neg, w_neg = score[~positive], weight[~positive]
    # Shifted, the exponential loss is at most 1 and does not overflow.
    shift = float(f_neg.max() - f_pos.min()) if loss == "exponential" else 0.0
    block = max(1, _PAIRS // len(f_pos))
    inner = np.concatenate(
        [
            _loss(f_pos - f_neg[start : start + block, None] + shift, loss) @ w_pos
            for start in range(0, len(f_neg), block)
        ]
    )
    largest = float(inner.max())
    share, risk = np.zeros((len(powers), len(score))), []
    for index, p in enumerate(powers):
        if largest == 0:
            risk.append(0.0)
            continue
        relative = inner / largest
        term = w_neg * (relative**p if np.isfinite(p) else relative == 1)
        share[index, ~positive] = term / term.sum()
        with np.errstate(over="ignore"):
            log_largest = np.log(largest) + shift
            risk.append(
                float(np.exp(p * log_largest) * term.sum())
                if np.isfinite(p)
                else float(np.exp(log_largest))
            )
    return share, risk


def _loss(margin: Floats, name: str) -> Floats:
    if name == "zero_one":
        return (margin <= 0).astype(np.float64)
    return MARGIN_LOSSES[name].value(margin)
