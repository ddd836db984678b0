"""Steps along one weak ranker: in closed form, or the root of a derivative."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from sklearn_rank._protocols import PairShares

_TOLERANCE = 4 * np.finfo(float).eps


def closed_form_step(shares: PairShares, p: float, smoothing: float) -> float:
    r"""Return the step that minimises the p-norm push along a 0/1 weak ranker.

    .. math:: \alpha = \frac{1}{p + 1} \ln\frac{d_+ + e}{d_- + e}

    where :math:`d_\pm` are the shares of pair mass that the weak ranker orders rightly
    and wrongly and e is `smoothing`. For p = 1 this is RankBoost's step (Freund2003,
    sec. 3.2); e > 0 keeps it finite when nothing is ordered wrongly.
    """
    ratio = np.log(shares.right + smoothing) - np.log(shares.wrong + smoothing)
    return float(ratio / (p + 1))


def longest_step(p: float, smoothing: float) -> float:
    """Return the closed-form step at d+ = 1, d- = 0: the bound of every other step."""
    return float((np.log1p(smoothing) - np.log(smoothing)) / (p + 1))


def step_to_slope(slope: Callable[[float], float], target: float, bound: float) -> float:
    """Return a in [-bound, bound] where an increasing `slope` reaches `target`.

    With target 0 this minimises a convex function along a line. Where the slope does
    not reach the target inside the bounds, the nearer bound is the answer.
    """
    gap = slope(0.0) - target
    if gap == 0:
        return 0.0
    end = -np.copysign(bound, gap)
    if (slope(end) - target) * gap >= 0:
        return float(end)
    root = brentq(
        lambda a: slope(a) - target,
        0.0,
        end,
        xtol=_TOLERANCE * bound,
        rtol=_TOLERANCE,
        maxiter=200,
    )
    return float(root)
