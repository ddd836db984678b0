"""P-norm push with any margin loss but the exponential, for which sums over pairs factorise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np
from sklearn.utils.metaestimators import available_if

from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Floats, require
from sklearn_rank._core.validation import Choice, check_parameters
from sklearn_rank._pair_sums._exponential_sums import log_sum_exp, safe_log
from sklearn_rank._pair_sums._pair_loss import PairLoss, Push, side_weights
from sklearn_rank._pair_sums.group_sums import PairSums, PartSums, by_role, by_row
from sklearn_rank._pair_sums.margin_losses import MarginLoss, as_margin_loss

MARGIN_PUSHES = ("top", "crucial_pairs", "bottom", "both")

_LARGE_MARGIN = 1e20
"""A margin at which a loss that ever rises does."""

_LARGEST_EXPONENT = 600.0
"""Exponentials up to it, and products of a few numbers with them, are far from overflow."""


@dataclass(frozen=True, eq=False)
class _Side:
    """One side of the push.

    Attributes
    ----------
    name : {"top", "bottom"}
        Which end of the list.
    log_weight : ndarray of shape (n_rows,)
        Logarithm of the weight of each row's height in the sum of this side.
    log_pairs : ndarray of shape (n_rows,)
        Logarithm of the weight of the rows that each row is compared with (N).
    p : float
        The power of the heights.
    """

    name: str
    log_weight: Floats
    log_pairs: Floats
    p: float

    def by_role(self, inner: Floats, outer: Floats) -> tuple[Floats, Floats]:
        """Return the weights of the upper and of the lower rows of pairs."""
        return (inner, outer) if self.name == "top" else (outer, inner)


@dataclass(frozen=True, eq=False)
class _SideSums:
    """The sums over pairs of one side, for a part of the rows.

    Attributes
    ----------
    side : _Side
        The side.
    part : PartSums
        The rows.
    height : ndarray of shape (n_outer,)
        The heights H.
    above, below : ndarray of shape (n_upper,) and (n_lower,)
        Weights of the upper and the lower rows: w of the rows inside the height, and the
        derivative of J_p with respect to the height for the others, up to a factor.
    sums : PairSums
        The sums with these weights.
    """

    side: _Side
    part: PartSums
    height: Floats
    above: Floats
    below: Floats
    sums: PairSums

    @property
    def gradient(self) -> Floats:
        """The contribution of this side to the gradient of J_p."""
        upper, lower = self.above * self.sums.upper, -self.below * self.sums.lower
        return by_row(upper, lower, self.part.n_upper)

    @property
    def slopes(self) -> Floats:
        """The absolute derivatives of J_p in both roles, multiplied by p for outer rows."""
        upper, lower = np.abs(self.above * self.sums.upper), np.abs(self.below * self.sums.lower)
        _, outer = self.side.by_role(upper, lower)
        outer *= self.side.p
        return by_row(upper, lower, self.part.n_upper)


def _has_curvature(push: MarginPush) -> bool:
    """Whether the loss has second derivatives, with a bound for p > 1."""
    loss = push.loss
    if not hasattr(loss, "second_derivative"):
        return False
    # A convex loss never rises if it does not at the far end.
    never_rises = float(loss.derivative(np.array([_LARGE_MARGIN]))[0]) <= 0
    return push.p == 1 or never_rises or hasattr(loss, "self_bound")


class MarginPush(Push):
    r"""P-norm push with a margin loss, relative to its pairs.

    .. math:: J_p(f) = \Bigl( \frac{\sum_k w_k N_k (H_k / N_k)^p}{\sum_k w_k N_k} \Bigr)^{1/p},
        \qquad H_k = \sum_{i \text{ above } k} w_i \phi(f_i - f_k),
        \quad N_k = \sum_{i \text{ above } k} w_i

    where f are scores, w row weights and :math:`\phi` the loss of a margin: a norm of the
    *heights* H, hence convex, which is :math:`\phi(0)` when all scores are equal and the
    mean loss of a pair at p = 1. Row k weighs as much as its pairs, :math:`w_k N_k`, and their mean
    loss, :math:`H_k / N_k`, is raised to the power p. This is ``push="top"``;
    "bottom" is its mirror image, with sums over the rows below i; "both" adds the sums
    :math:`\sum_k w_k (N_k / \max_l N_l)^{1-p} H_k^p` of both sides, the bottom one times
    `bottom_weight`, and divides by their value when every pair has a loss of one. "crucial_pairs"
    is "top" without the factors of N, :math:`(\sum_k w_k H_k^p / \sum_k w_k N_k^p)^{1/p}`.

    Parameters
    ----------
    preferences : Preferences
        The comparable pairs.
    loss : {"least_squares", "hinge", "squared_hinge", "logistic"} or MarginLoss
        The loss of a margin.
    p : float in [1, inf)
        How strongly the sum focuses on that end of the list.
    push : {"top", "crucial_pairs", "bottom", "both"}, default="top"
        Which end.
    bottom_weight : float in [0, inf), default=1.0
        Weight of the bottom side with ``push="both"``.

    Raises
    ------
    ValueError
        If `loss` or `push` is not one of these. The exponential loss is refused: see
        ``PUSHES``.

    References
    ----------
    Rudin2009, sec. 2 (the sum of the p-th powers in one list of two classes), sec. 7 (the bottom;
    graded pairs). The factors of queries and grades, the quotient and its root are defined here.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.objectives import MarginPush, Preferences
    >>> preferences = Preferences.from_labels(np.array([1, 1, 0, 0]), None, np.ones(4))
    >>> first_is_wrong = np.array([3.0, 2.0, 4.0, 1.0])
    >>> last_is_wrong = np.array([4.0, 1.0, 3.0, 2.0])
    >>> for p in (1, 8):
    ...     push = MarginPush(preferences, "hinge", p)
    ...     print(round(push.value(first_is_wrong), 2), round(push.value(last_is_wrong), 2))
    1.25 1.25
    2.29 1.38
    """

    def __init__(
        self,
        preferences: Preferences,
        loss: str | MarginLoss,
        p: float,
        push: str = "top",
        bottom_weight: float = 1.0,
    ) -> None:
        check_parameters("MarginPush", {"push": push}, {"push": Choice(MARGIN_PUSHES)})
        self.loss = as_margin_loss(loss, "MarginPush")
        if self.loss.factorises:
            raise ValueError(
                "The 'loss' parameter of MarginPush must be a loss other than the exponential, "
                f"for which PUSHES has the objectives. Got {loss!r} instead."
            )
        self.preferences = preferences
        self.p = p
        self.push = push
        self.bottom_weight = bottom_weight
        self._pair_loss = PairLoss(preferences, loss, mean=True)
        self._sides: list[_Side] = []
        power = 0.0 if push == "crucial_pairs" else 1 - p
        for name, factor in side_weights(push, bottom_weight).items():
            log_relative = preferences.spread(preferences.log_relative_pairs(name))
            log_weight = np.log(factor) + preferences.log_weight + power * log_relative
            log_pairs = safe_log(preferences.paired_weight(name))
            self._sides.append(_Side(name, log_weight, log_pairs, p))
        # The denominator: the sum of the powers when every pair has a loss of one, H = N.
        log_sums = [log_sum_exp(side.log_weight + p * side.log_pairs) for side in self._sides]
        self._log_norm = float(preferences.log_total(log_sum_exp(np.array(log_sums))))

    @property
    def is_smooth(self) -> bool:
        """Whether the loss is differentiable everywhere."""
        return self.loss.is_smooth

    @available_if(lambda push: hasattr(push.loss, "rounded"))
    def rounded(self, width: float) -> MarginPush:
        """Return the push with a loss whose kink is rounded over `width`; it is smooth."""
        loss = require(self.loss, "rounded", "MarginPush.rounded")(width)
        return MarginPush(self.preferences, loss, self.p, self.push, self.bottom_weight)

    def value_and_gradient(self, scores: Floats) -> tuple[float, Floats]:
        """Return J_p and its gradient."""
        if self.p == 1:  # every side is one sum over the same pairs
            value, gradient = self._pair_loss.value_and_gradient(scores)
            # Where no pair has any loss, some may be at a kink.
            return value, gradient if value else np.zeros(len(scores))
        value, (gradient,) = self._by_height(scores, lambda side: [side.gradient])
        return value, gradient

    @available_if(_has_curvature)
    def value_gradient_curvature(self, scores: Floats) -> tuple[float, Floats, Floats]:
        r"""Return J_p, its gradient, and a bound c on its second derivatives.

        .. math:: h^\top \nabla^2 J_p(f) \, h \le \min(c^\top h, \; c^\top (1 - h))
            \quad \text{for } h \in [0, 1]^n

        c is the diagonal of the Laplacian of the graph whose edges are the pairs, with weights

        .. math:: J_p \, s_k w_i \Bigl(\frac{\phi''(m_{ik})}{H_k} + (p - 1) \, b_{ik}\Bigr),
            \quad s_k = \frac{w_k N_k^{1-p} H_k^p}{\sum_l w_l N_l^{1-p} H_l^p}, \quad
            b_{ik} = \frac{|\phi'(m_{ik})|}{H_k^2} \sum_{j \text{ above } k} w_j |\phi'(m_{jk})|

        which follows from the inequality of Cauchy and Schwarz. At p = 1 it is the Hessian
        itself. A loss that rises somewhere states :math:`\kappa` (``self_bound``) with
        :math:`\phi'^2 \le \kappa \phi \phi''`; for it
        :math:`b_{ik} = \kappa \phi''(m_{ik}) / H_k`.
        """
        if self.p == 1:
            return self._pair_loss.value_gradient_curvature(scores)
        value, (gradient, curvature) = self._by_height(
            scores, lambda side: [side.gradient, self._curvature_of(side)], with_second=True
        )
        return value, gradient, np.maximum(curvature, 0.0)

    def value_gradient_slopes(self, scores: Floats) -> tuple[float, Floats, Floats]:
        r"""Return J_p, its gradient, and the slopes of its pairs instead of the curvature.

        .. math:: c_n = \text{inner}_n + p \, \text{outer}_n

        where inner and outer are the absolute derivatives of J_p with respect to the score of
        row n in its two roles. For a loss without second derivatives: the exponential loss, whose
        second derivative is minus its first, has this curvature. Never below the absolute
        gradient.
        """
        if self.p == 1:
            weight, total = self.preferences.weight, self.preferences.total_pair_weight
            sums = self._pair_loss.sums(scores, weight, weight)
            if sums.value == 0:  # no pair has any loss, though some may be at a kink
                return 0.0, np.zeros(len(scores)), np.zeros(len(scores))
            slopes = weight * (np.abs(sums.upper) + np.abs(sums.lower))
            return sums.value / total, weight * (sums.upper - sums.lower) / total, slopes / total
        value, (gradient, slopes) = self._by_height(
            scores, lambda side: [side.gradient, side.slopes]
        )
        return value, gradient, slopes

    def _by_height(
        self,
        scores: Floats,
        arrays_of: Callable[[_SideSums], list[Floats]],
        with_second: bool = False,
    ) -> tuple[float, list[Floats]]:
        """Return J_p at p > 1, and the sums over both sides of arrays, linear in dJ_p/dH."""
        results = self._pair_loss.in_parts(
            scores, lambda part: self._part_sums(part, arrays_of, with_second)
        )
        log_scales, sums, arrays = zip(*results, strict=True)
        # J_p = (S / S_1)^(1/p), with S the sum of powers and S_1 its value at losses of one.
        log_sums = np.array(log_scales) + safe_log(sums)
        log_sum = float(self.preferences.log_total(log_sum_exp(log_sums)))
        if log_sum == -np.inf:  # no pair has any loss
            return 0.0, [np.zeros(len(scores)) for _ in arrays[0]]
        log_value = (log_sum - self._log_norm) / self.p
        # dJ_p/dH = J_p / S w N^(1-p) H^(p-1): each part has the last factors over its own scale.
        log_factors = [top - self._log_unit(top) + (log_value - log_sum) for top in log_scales]
        joined = []
        for part_arrays in zip(*arrays, strict=True):
            for array, log_factor in zip(part_arrays, log_factors, strict=True):
                np.multiply(array, np.exp(log_factor), out=array)
            joined.append(part_arrays[0] if len(part_arrays) == 1 else np.concatenate(part_arrays))
        return float(np.exp(log_value)), joined

    def _part_sums(
        self, part: PartSums, arrays_of: Callable[[_SideSums], list[Floats]], with_second: bool
    ) -> tuple[float, float, list[Floats]]:
        """Return the log of a scale, and the sum of powers and the arrays divided by this scale."""
        # 1. The heights H (Rudin2009, sec. 2) and the terms w N^(1-p) H^p of each side, as
        # logarithms.
        weights = by_role(self.preferences.weight[part.rows], part.n_upper)
        heights, log_terms = [], []
        for side in self._sides:
            inner, _ = side.by_role(*weights)
            _, log_weight = side.by_role(*by_role(side.log_weight[part.rows], part.n_upper))
            heights.append(part.heights(inner, side.name))
            log_terms.append(log_weight + self.p * safe_log(heights[-1]))
        # 2. The largest term is the scale: no power of another height divided by it overflows.
        max_log = max(float(np.max(log_term, initial=-np.inf)) for log_term in log_terms)
        log_scale = self.preferences.parts.largest(max_log)
        log_scale = log_scale if np.isfinite(log_scale) else 0.0
        total, side_arrays = 0.0, []
        for side, height, log_term in zip(self._sides, heights, log_terms, strict=True):
            power = np.exp(log_term - log_scale)
            total += float(power.sum())
            # 3. dS/dH: the power p - 1 of each height is its term over the height.
            unit = np.exp(self._log_unit(log_scale))
            outer = np.divide(power, height / unit, out=np.zeros_like(power), where=height > 0)
            inner, _ = side.by_role(*weights)
            above, below = side.by_role(inner, outer)
            # 4. The chain rule: sums over pairs with the weights of both roles.
            sums = part.sums(above, below, with_second, with_value=False)
            side_arrays.append(arrays_of(_SideSums(side, part, height, above, below, sums)))
        return log_scale, total, [reduce(np.add, sides) for sides in zip(*side_arrays, strict=True)]

    def _log_unit(self, log_scale: float) -> float:
        """Return about the log of the largest height; heights divided by it do not overflow."""
        return float(np.clip(log_scale / self.p, -_LARGEST_EXPONENT, _LARGEST_EXPONENT))

    def _curvature_of(self, terms: _SideSums) -> Floats:
        """Return the diagonal of the Laplacian of one side."""
        upper, lower = terms.above * terms.sums.second_upper, terms.below * terms.sums.second_lower
        n_upper = terms.part.n_upper
        if hasattr(self.loss, "self_bound"):
            return (1 + (self.p - 1) * self.loss.self_bound) * by_row(upper, lower, n_upper)
        inner, outer = terms.side.by_role(terms.above, terms.below)
        _, slope = terms.side.by_role(terms.sums.upper, terms.sums.lower)
        # b of a pair is a product of its slope and the sum of all slopes of the outer row: the sums
        # of first derivatives, with other weights, give it.
        slope = (1 - self.p) * slope
        ratio = np.divide(slope, terms.height, out=np.zeros_like(slope), where=outer > 0)
        above, below = terms.side.by_role(inner, outer * ratio)
        sums = terms.part.sums(above, below, with_value=False)
        upper -= above * sums.upper
        lower -= below * sums.lower
        return by_row(upper, lower, n_upper)
