"""Coordinate descent over weak rankers: the loop of all boosting rankers, steps and gains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from sklearn_rank._core.arrays import Floats, Values
from sklearn_rank._core.protocols import Candidate, Limits, ObjectiveState, PairShares
from sklearn_rank._core.sums import ALL_HERE, Sums
from sklearn_rank._core.tolerances import SHARE_ROUNDING, STEP_ERROR
from sklearn_rank.solvers._solver import BoostingSolver, Problem, Record, Round, SolverTraits

REFRESH_PERIOD = 50
"""Rounds after which a state that is moved in place is recomputed, as rounding adds up."""

_FIRST_BRACKET = 1 / 16
"""Share of the longest step that is tried first: most steps are far shorter."""

Slope = Callable[[float], float]
"""The derivative of the objective along a line, as a function of the step."""


def closed_form_step(shares: PairShares, p: float, smoothing: float) -> float:
    r"""Return the step that minimises the p-norm push along a 0/1 weak ranker.

    .. math:: \alpha = \frac{1}{p + 1} \ln\frac{d_+ + e}{d_- + e}

    where :math:`d_\pm` are the shares of the mass d~ (`Coordinate.solve`) that the weak ranker
    orders correctly and incorrectly, and e is `smoothing`. For p = 1 this is RankBoost's step
    (Freund2003, sec. 3.2, where :math:`d_+` is :math:`W_-`); e > 0 keeps it finite when no pair is
    ordered incorrectly.
    """
    ratio = np.log(shares.right + smoothing) - np.log(shares.wrong + smoothing)
    return float(ratio / (p + 1))


def longest_step(p: float, smoothing: float) -> float:
    """Return the closed-form step at d+ = 1, d- = 0, the bound of every step."""
    return float((np.log1p(smoothing) - np.log(smoothing)) / (p + 1))


def second_order_step(slope: float, curvature: float, p: float) -> float:
    r"""Return a descent step for an objective with slope g and curvature at most B.

    .. math:: \alpha = -\operatorname{sign}(g) \, \frac1p \ln\Bigl(1 + \frac{p |g|}{B}\Bigr)

    It minimises an upper bound of the objective, and so does not pass its minimum, where the third
    derivative is at most p times the second in absolute value, as of the logistic loss and of
    the exponential one along 0/1 weak rankers, and the second is at most B at the start:
    Newton's step g / B, made shorter as it gets long. With B = 0 it is infinite.
    """
    if slope == 0:
        return 0.0
    # Python's floats: beside a subnormal curvature NumPy's would warn of an infinite quotient.
    ratio = float(p * abs(slope)) / float(curvature) if curvature > 0 else np.inf
    return float(-np.sign(slope) * np.log1p(ratio) / p)


def step_to_slope(slope: Slope, target: float, bound: float) -> float:
    """Return a in [-bound, bound] where an increasing `slope` reaches `target`.

    With target 0 this minimises a convex function along a line. Where the slope does
    not reach the target inside the bounds, the nearer bound is the answer.
    """
    start_excess = slope(0.0) - target
    if start_excess == 0:
        return 0.0
    start, fraction = 0.0, _FIRST_BRACKET
    while True:
        end_step = -np.copysign(fraction * bound, start_excess)
        end_excess = slope(end_step) - target
        if end_excess == 0:
            return float(end_step)
        if np.sign(end_excess) != np.sign(start_excess):
            break
        if fraction == 1:
            return float(end_step)
        start, fraction = end_step, min(4 * fraction, 1.0)
    # Piecewise constant slopes, such as those of the hinge loss, need many halvings.
    options = {"xtol": STEP_ERROR * bound, "rtol": STEP_ERROR, "maxiter": 200}
    return float(brentq(lambda a: slope(a) - target, start, end_step, **options))


@dataclass(frozen=True, eq=False)
class PushStep:
    r"""The step that minimises the objective, or a bound on it; its length is limited.

    In closed form where the state knows how h divides the pairs, of second order where it
    knows the curvature, and by a line search elsewhere. A step is at most as long as the
    closed form at d+ = 1, d- = 0, divided by the range of h over pairs.

    Parameters
    ----------
    p : float
        Power of the push (1 for objectives without one).
    smoothing : float
        e of the closed form, which keeps steps finite.
    largest_difference : callable
        Maps h to the maximum of ``|h_i - h_k|`` over comparable pairs.
    rows : Sums
        Sums over all rows; of several processes the first searches along the line.
    """

    p: float
    smoothing: float
    largest_difference: Callable[[Values], float]
    rows: Sums = ALL_HERE

    def __call__(self, state: ObjectiveState, candidate: Candidate, h: Values) -> float:
        """Return the signed step along h."""
        shares = state.pair_shares(candidate, h)
        if shares is not None:
            return closed_form_step(shares, self.p, self.smoothing)
        curvature = state.curvature(candidate, h)
        if curvature is None:
            return self.to_slope(state.slope(candidate, h), 0.0, self.bound(h))
        step = second_order_step(-candidate.edge, curvature, self.p)
        bound = self.longest if h.dtype == np.bool_ else self.bound(h)
        return float(np.clip(step, -bound, bound))

    def to_slope(self, slope: Slope, target: float, bound: float) -> float:
        """Return the step at which a slope reaches a target, at most `bound` long."""
        return self.rows.lead(lambda f: step_to_slope(f["slope"], target, bound), {"slope": slope})

    @property
    def longest(self) -> float:
        """The largest absolute step along a 0/1 weak ranker."""
        return longest_step(self.p, self.smoothing)

    def bound(self, h: Values) -> float:
        """Return the largest absolute step along h."""
        difference = self.largest_difference(h)
        return self.longest / difference if difference > 0 else 0.0


def smooth_margin_root(shares: PairShares, g: float) -> float:
    r"""Return the step along a 0/1 weak ranker for the smooth margin g.

    .. math:: \alpha = \ln \frac{-g d_0 + r}{2 (1 + g) d_-} = \ln \frac{2 (1 - g) d_+}{g d_0 + r},
        \qquad r = \sqrt{g^2 d_0^2 + 4 (1 + g) (1 - g) d_+ d_-}

    The first form is RudinSchapire2009, eq. 12; the second is computed, as nothing cancels in it.
    Infinite if every pair is ordered correctly.
    """
    root = np.sqrt((g * shares.tied) ** 2 + 4 * (1 - g**2) * shares.right * shares.wrong)
    denominator = g * shares.tied + root
    if denominator == 0:
        return np.inf
    return float(np.log(2 * (1 - g) * shares.right / denominator))


class Coordinate(BoostingSolver):
    """Coordinate descent over weak rankers: boosting, one step of one coefficient per round.

    Each round takes the weak ranker with the largest gain and moves the scores along it, as far as
    the weak rankers allow. It ends when no weak ranker has an edge, or when the relative decrease
    ``(J_old - J_new) / max(|J_old|, |J_new|, 1)`` of a round is at most `tol` (0: never).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_rank import PNormPushRanker
    >>> from sklearn_rank.solvers import Coordinate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> ranker = PNormPushRanker(solver=Coordinate(), n_estimators=5).fit(X, y)
    >>> len(ranker.objective_curve_)
    5
    """

    traits = SolverTraits(
        on_cluster=True, has_stages=True, fits_bags=True, has_learning_rate=True, has_selection=True
    )

    def solve(self, problem: Problem, record: Record) -> None:
        """Run RankBoost (Freund2003, Figure 1) or, at p > 1, the push (Rudin2009, Figure 2).

        With i above k, d(i, k) ~ exp(-(f_i - f_k)) is the distribution over pairs, in which a row
        of weight w counts as w rows, and d~(i, k) = d(i, k) (sum_i' d(i', k))^(p - 1) that of
        Rudin2009, here times the factor of N_k of `SidePush` (1 in one list of two classes) and
        divided by its sum; at p = 1 they are equal. For other objectives d~ is minus the derivative
        with respect to the margin. Neither is built: `state` has the sums of d~ by row.

        Step numbers are those of Rudin2009, Figure 2, which writes M_ik for h_i - h_k and lambda
        for the coefficients of f. Freund2003 writes D(x0, x1) for d(i, k), with i = x1 above
        k = x0, H for f and Z for z.
        """
        # 1. Input: the rows, the weak rankers h_j and p are in `problem`; t_max is `n_left`.
        # 2. Initialise f = 0 or, beyond the papers, as an earlier fit has left it; d_1 = d(f).
        state = problem.state(record.scores())
        # 3. Loop for t = 1, ..., t_max (here from 0); beyond the papers, it may end earlier.
        for t in range(record.n_left):
            # Not a step of the papers: rounding adds up in a state that is moved in place.
            if t > 0 and t % REFRESH_PERIOD == 0 and state.needs_refresh:
                state.refresh(record.scores())
            # 3(a) Get the weak ranking h, h_j of the paper with j = `candidate.index`. It maximises
            # |r|, r = sum d~ (h_i - h_k), of either sign as in sec. 5 of Rudin2009, with
            # selection="steepest". With "auto" it has the largest decrease of the objective
            # (Freund2003, sec. 3.2) or of a bound of it, where the same sums give that.
            candidate = problem.search(state)
            if candidate is None:
                return
            h = problem.weak_rankers.values(candidate)
            # Not a step of the papers: sums over the rows that 3(b) and 3(d) share.
            if hasattr(state, "with_masses"):
                candidate = state.with_masses(candidate, h)
            # 3(b) Choose alpha_t, which solves (1) of Rudin2009: the minimum of sum_k (sum_i d
            # exp(-alpha (h_i - h_k)))^p. For a 0/1 h it is ln((d+ + e) / (d- + e)) / (p + 1), with
            # shares of d~ and e = 0: see `PushStep`. Beyond the papers: e > 0, a longest step, the
            # minimum of a bound where there is no closed form, the rule of `SmoothMarginRanker`,
            # and then the learning rate and the constraints.
            alpha, is_cut_short = record.step(state, candidate, h)
            # 3(d), 3(e) z_t = sum d_t exp(-alpha_t (h_i - h_k)), d_{t+1} = d_t exp(-alpha_t (h_i -
            # h_k)) / z_t, and d~ of it. Beyond the papers, `advance` may shorten the step.
            last_value = state.value
            alpha = state.advance(candidate, h, alpha) if alpha != 0 else 0.0
            if alpha == 0:
                return
            # 3(c) lambda_{t+1} = lambda_t + alpha_t e_j, in the record, last since `advance` may
            # change alpha_t. The record's f = sum alpha_t h_t is 4, the output.
            decrease = last_value - state.value
            if record.add(Round(candidate.index, alpha, decrease, h), state):
                return
            # After a step that constraints cut short the next one may be longer.
            is_converged = decrease <= problem.tol * max(abs(last_value), abs(state.value), 1.0)
            if problem.tol > 0 and not is_cut_short and problem.preferences.agree(is_converged):
                return


def _edges(above: Floats, totals: Floats) -> Floats:
    """Return minus the derivative of the objective along each h."""
    if len(above) == 1:
        return np.asarray(-above[0])
    return np.asarray(above[0] / totals[0] - above[1] / totals[1])


def steepest(
    above: Floats, totals: Floats, curvature: Floats | None = None, limits: Limits = None
) -> Floats:
    """Return the gain |edge|, the absolute slope of the objective along each h.

    Zero where no step in the direction of the edge is allowed.
    """
    edge = _edges(above, totals)
    if limits is None:
        return np.abs(edge)
    low, high = limits
    return np.where(edge > 0, high > 0, low < 0) * np.abs(edge)


@dataclass(frozen=True)
class QuadraticGain:
    r"""The largest decrease of a quadratic bound on the objective along h.

    .. math:: \max_{0 \le \alpha \le L} \; \alpha |g| - \tfrac12 \alpha^2 B

    where g is the slope along h, B the bound of its second derivative and L the longest
    step, or the longest that is allowed in the direction of -g if that is shorter;
    :math:`g^2 / (2 B)` where that is short enough. Weak rankers without B are compared
    by \|g\|. Of a gradient in two groups, that of a push at both ends, the shares a and b
    of the groups with h = 1 give :math:`g = b - a` and :math:`B = p \min(a + b, 2 - a - b)`.

    Parameters
    ----------
    p : float
        Power of the push.
    longest : float
        The longest step L.
    """

    p: float
    longest: float

    def __call__(
        self, above: Floats, totals: Floats, curvature: Floats | None = None, limits: Limits = None
    ) -> Floats:
        """Return the gain of each weak ranker."""
        slope = steepest(above, totals)
        if len(above) == 2:
            shares = above[0] / totals[0] + above[1] / totals[1]  # a + b
            curvature = self.p * np.maximum(np.minimum(shares, 2 - shares), SHARE_ROUNDING)
        if curvature is None:
            return steepest(above, totals, None, limits)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.fmin(slope / curvature, self.longest)
        if limits is not None:
            low, high = limits
            step = np.fmin(step, np.where(_edges(above, totals) > 0, high, -low))
        return np.asarray(step * (slope - 0.5 * curvature * step))


@dataclass(frozen=True)
class OptimalGain:
    r"""The decrease of the objective at the closed-form step (Freund2003, sec. 3.2).

    Where that is not allowed, at the nearest step that is.

    .. math:: -\frac{1}{|s|} \log(a e^{s \alpha} + 1 - a)
        - \frac{1}{t} \log(b e^{t \alpha} + 1 - b)

    where a and b are the shares of mass with h = 1 above and below.

    Parameters
    ----------
    above, below : float
        The exponents s < 0 and t > 0 of the masses: (-1, p) for the push at the top and
        (-p, 1) at the bottom.
    smoothing : float
        As in `PushStep`.
    """

    above: float
    below: float
    smoothing: float

    def __call__(
        self, above: Floats, totals: Floats, curvature: Floats | None = None, limits: Limits = None
    ) -> Floats:
        """Return the gain of each weak ranker."""
        # Rounding can leave a share just outside [0, 1].
        a = np.clip(above[0] / totals[0], 0.0, 1.0)
        b = np.clip(above[1] / totals[1], 0.0, 1.0)
        e, s, t = self.smoothing, self.above, self.below
        step = np.log((a * (1 - b) + e) / ((1 - a) * b + e)) / (t - s)
        if limits is not None:
            step = np.clip(step, *limits)
        upper = np.log(a * np.exp(s * step) + (1 - a))
        lower = np.log(b * np.exp(t * step) + (1 - b))
        gain = np.asarray(upper / s - lower / t)
        return gain if limits is None else np.where(step == 0, 0.0, gain)
