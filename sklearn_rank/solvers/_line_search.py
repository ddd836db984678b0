"""Steps along one weak ranker: in closed form, or the root of a derivative."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from sklearn_rank._protocols import PairShares

_TOLERANCE = 1e-12
"""Relative error of a step. An evaluation of the slope costs a pass over the rows."""

_FIRST_BRACKET = 1 / 16
"""Share of the longest step that is tried first: most steps are far shorter."""


def closed_form_step(shares: PairShares, p: float, smoothing: float) -> float:
    r"""Return the step that minimises the p-norm push along a 0/1 weak ranker.

    .. math:: \alpha = \frac{1}{p + 1} \ln\frac{d_+ + e}{d_- + e}

    where :math:`d_\pm` are the shares of pair mass that the weak ranker orders rightly
    and wrongly and e is `smoothing`. For p = 1 this is RankBoost's step (Freund2003,
    sec. 3.2); e > 0 keeps it finite when nothing is ordered wrongly.
    """
    ratio = np.log(shares.right + smoothing) - np.log(shares.wrong + smoothing)
    return float(ratio / (p + 1))


def smooth_margin_root(shares: PairShares, g: float) -> float:
    r"""Return the step along a 0/1 weak ranker for the smooth margin g.

    .. math:: \alpha = \ln \frac{2 (1 - g) d_+}{g d_0 + \sqrt{g^2 d_0^2 + 4 (1 - g^2) d_+ d_-}}

    This is RudinSchapire2009, eq. 12, without its cancellation; infinite when every pair is
    ordered rightly.
    """
    root = np.sqrt((g * shares.tied) ** 2 + 4 * (1 - g**2) * shares.right * shares.wrong)
    denominator = g * shares.tied + root
    if denominator == 0:
        return np.inf
    return float(np.log(2 * (1 - g) * shares.right / denominator))


def second_order_step(slope: float, curvature: float, p: float) -> float:
    r"""Return a step against the slope g of an objective with curvature at most B.

    .. math:: \alpha = -\operatorname{sign}(g) \, \frac1p \ln\Bigl(1 + \frac{p |g|}{B}\Bigr)

    It minimises the objective where the third derivative is at most p times the second in
    absolute value, as of the logistic loss and of the exponential one along 0/1 weak rankers,
    if the second is B at the start: Newton's step g / B, made shorter as it gets long. With
    B = 0 it is infinite.
    """
    if slope == 0:
        return 0.0
    ratio = np.divide(p * abs(slope), curvature) if curvature > 0 else np.inf
    return float(-np.sign(slope) * np.log1p(ratio) / p)


def longest_step(p: float, smoothing: float) -> float:
    """Return the closed-form step at d+ = 1, d- = 0, the bound of every step."""
    return float((np.log1p(smoothing) - np.log(smoothing)) / (p + 1))


def step_to_slope(slope: Callable[[float], float], target: float, bound: float) -> float:
    """Return a in [-bound, bound] where an increasing `slope` reaches `target`.

    With target 0 this minimises a convex function along a line. Where the slope does
    not reach the target inside the bounds, the nearer bound is the answer.
    """
    at_zero = slope(0.0) - target
    if at_zero == 0:
        return 0.0
    start, share = 0.0, _FIRST_BRACKET
    while True:
        end = -np.copysign(share * bound, at_zero)
        beyond = slope(end) - target
        if beyond == 0:
            return float(end)
        if np.sign(beyond) != np.sign(at_zero):
            break
        if share == 1:
            return float(end)
        start, share = end, min(4 * share, 1.0)
    root = brentq(
        lambda a: slope(a) - target,
        start,
        end,
        xtol=_TOLERANCE * bound,
        rtol=_TOLERANCE,
        maxiter=200,  # slopes in steps, such as the hinge loss has, need many halvings
    )
    return float(root)
