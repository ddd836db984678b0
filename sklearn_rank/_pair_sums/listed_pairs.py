"""Losses of pairs that are listed one by one: O(pairs), whatever their graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.given_pairs import GivenPairs
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Floats, PairShares, Values, require
from sklearn_rank._pair_sums._exponential_sums import growing_powers, log_sum_exp, safe_log
from sklearn_rank._pair_sums._pair_loss import PairLoss, Push, loss_has, side_weights
from sklearn_rank._pair_sums.margin_losses import MarginLoss, as_margin_loss


@dataclass(eq=False)
class ListedPairLoss(Push):
    r"""Mean loss of the margins of listed pairs; for p > 1 the p-norm of the losses of each row.

    .. math:: L(f) = \Bigl( \frac{\sum_k H_k^p}{\sum_k N_k^p} \Bigr)^{1/p}, \qquad
        H_k = \sum_{j : k_j = k} w_j \, \phi(f_{i_j} - f_k), \quad N_k = \sum_{j : k_j = k} w_j

    where f are scores, of shape (n_rows,), w the weights of the pairs, :math:`i_j` the row above
    and :math:`k_j` the row below in pair j, and :math:`\phi` is one of ``MARGIN_LOSSES``, or your
    own `MarginLoss`. H is the *height* of a row among those that it loses to. At p = 1 L is the
    mean loss of a pair. A sum by row adds the pairs up: with A the sparse matrix of shape (n_pairs,
    n_rows) that has 1 at :math:`i_j` and -1 at :math:`k_j` in row j, the margins are ``A @ f`` and
    the gradient is ``A.T @ slopes``.

    Parameters
    ----------
    preferences : GivenPairs
        The pairs.
    loss : str or MarginLoss, default="logistic"
        The loss of a margin.
    p : float in [1, inf), default=1.0
        How strongly the sum concentrates on the rows with the largest H.
    push : {"top", "bottom", "both"}, default="top"
        "top": as above. "bottom": H and N are sums over the pairs in which a row is above. "both":
        sums of both are added, those of the bottom times `bottom_weight`.
    bottom_weight : float in [0, inf), default=1.0
        Weight of the bottom with ``push="both"``.

    References
    ----------
    Freund2003, sec. 2 (weights of single pairs). Rudin2009, sec. 7 (the sum of the p-th powers).
    The quotient, its root and the sums by row are defined here.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.objectives import GivenPairs, ListedPairLoss
    >>> pairs = GivenPairs(3, np.array([0, 2]), np.array([1, 1]), np.array([1.0, 3.0]))
    >>> loss = ListedPairLoss(pairs, "hinge")
    >>> loss.value_and_gradient(np.array([4.0, 2.0, 2.5]))  # margins 2 and 0.5
    (0.375, array([ 0.  ,  0.75, -0.75]))
    """

    preferences: GivenPairs
    loss: Any = "logistic"
    p: float = 1.0
    push: str = "top"
    bottom_weight: float = 1.0

    def __post_init__(self) -> None:
        self.loss = as_margin_loss(self.loss, "ListedPairLoss")
        self._total_weight = self.preferences.total_pair_weight or 1.0
        self._log_norm = self._log_powers(self.preferences.pair_weight)[0] if self.p > 1 else 0.0

    @property
    def is_smooth(self) -> bool:
        """Whether L is differentiable everywhere."""
        return bool(self.loss.is_smooth)

    def value_and_gradient(self, scores: Floats) -> tuple[float, Floats]:
        """Return L and its gradient with respect to the scores (at a kink, the left one)."""
        value, slope = self._weighted(self.preferences.differences(scores))
        return value, self._sums(slope, -1)

    @available_if(loss_has("second_derivative"))
    def value_gradient_curvature(self, scores: Floats) -> tuple[float, Floats, Floats]:
        r"""Return L, its gradient, and the diagonal of its Hessian; at p > 1 of a bound of it.

        That is the Laplacian with an edge for each pair, as of `MarginPush`: of weight :math:`u_j
        (\phi'' + (p - 1) |\phi'| \sum_l w_l |\phi'_l| / H_k)`, with :math:`u_j` the derivative of
        L by the loss of pair j and l the pairs with its k.
        """
        margin = self.preferences.differences(scores)
        value, slope = self._weighted(margin, second := np.empty_like(margin))
        return value, self._sums(slope, -1), self._sums(second, 1)

    def value_gradient_slopes(self, scores: Floats) -> tuple[float, Floats, Floats]:
        """Return L, its gradient, and the absolute slopes instead of the curvature.

        The slopes, multiplied by p, replace the curvature of a loss without second derivatives. For
        the exponential loss, whose second derivative is minus its first, they equal it.
        """
        value, slope = self._weighted(self.preferences.differences(scores))
        return value, self._sums(slope, -1), self._sums(self.p * np.abs(slope), 1)

    @available_if(loss_has("rounded"))
    def rounded(self, width: float) -> ListedPairLoss:
        """Return a smooth objective that is lower by at most ``width / 2``."""
        loss = require(self.loss, "rounded", "ListedPairLoss.rounded")(width)
        return replace(self, loss=loss)

    def slope(self, scores: Floats, h: Values) -> Callable[[float], float]:
        """Return the derivative of ``value(scores + a * h)`` as a function of a."""
        margin, margin_change = (self.preferences.differences(values) for values in (scores, h))
        return lambda a: float(self._weighted(margin + a * margin_change)[1] @ margin_change)

    def _weighted(self, margin: Floats, second: Floats | None = None) -> tuple[float, Floats]:
        """Return L and its derivative with respect to the margin of each pair, in place.

        `second` is set to the weights of the edges of its curvature.
        """
        if self.p > 1:
            return self._pushed(margin, second)
        value = 0.0
        for pairs in blocks(len(margin)):
            share = self.preferences.pair_weight[pairs] / self._total_weight
            if second is not None:
                np.multiply(self.loss.second_derivative(margin[pairs]), share, out=second[pairs])
            loss, slope = self.loss.value_and_derivative(margin[pairs])
            value += float(share @ loss)
            np.multiply(slope, share, out=margin[pairs])
        if value == 0:  # no pair has any loss, though some may be at a kink
            margin[:] = 0.0
        return value, margin

    def _pushed(self, margin: Floats, second: Floats | None) -> tuple[float, Floats]:
        """Return the same at p > 1."""
        pairs, (loss, slope) = self.preferences, self.loss.value_and_derivative(margin)
        log_sum, sides = self._log_powers(pairs.pair_weight * loss)
        value = float(np.exp((log_sum - self._log_norm) / self.p))
        slope, share, bend = slope * pairs.pair_weight, np.zeros_like(margin), 0.0
        for role, height, log_power in sides if value > 0 else ():
            # dL/dH is the share of a row in the sum over its height: the power could overflow.
            per_height = _ratio(value * np.exp(log_power - log_sum), height)[getattr(pairs, role)]
            share += per_height
            if second is not None:
                steepness = _ratio(pairs.sum_by_row(np.abs(slope), role), height)
                bend += (self.p - 1) * per_height * np.abs(slope) * steepness[getattr(pairs, role)]
        if second is not None:
            second[:] = pairs.pair_weight * self.loss.second_derivative(margin) * share + bend
        return value, np.multiply(slope, share, out=margin)

    def _log_powers(self, losses: Floats) -> tuple[float, list[tuple[str, Floats, Floats]]]:
        """Return the log of the sum of the powers, and of each side its rows, H and log powers."""
        sides = []
        for side, weight in side_weights(self.push, self.bottom_weight).items():
            role = "below" if side == "top" else "above"
            height = self.preferences.sum_by_row(losses, role)
            sides.append((role, height, np.log(weight) + self.p * safe_log(height)))
        return log_sum_exp(np.concatenate([log_power for *_, log_power in sides])), sides

    def _sums(self, values: Floats, sign: float) -> Floats:
        """Return ``A.T @ values`` with sign -1 of the rows below, ``abs(A).T @ values`` with +1."""
        pairs = self.preferences
        return pairs.sum_by_row(values, "above") + sign * pairs.sum_by_row(values, "below")


def _ratio(values: Floats, height: Floats) -> Floats:
    """Return values divided by heights, and 0 where the height is 0."""
    return np.divide(values, height, out=np.zeros_like(height), where=height > 0)


class ListedExponential(Push):
    r"""P-norm push of the exponential losses of listed pairs; at p = 1 the loss of RankBoost.

    .. math:: J_p(f) = \frac1p \log \sum_k \Bigl(
        \sum_{j : k_j = k} w_j \, e^{-(f_{i_j} - f_k)} \Bigr)^p

    where f are scores, w the weights of the pairs, :math:`i_j` the row above and :math:`k_j` the
    row below in pair j. The bracket is the *height* of row k among those that it loses to. A row
    that loses more often has more of it: for the factor of `SidePush` divide the weights of the
    pairs of row k by :math:`N_k^{(p-1)/p}`, with :math:`N_k` their sum.

    Parameters
    ----------
    preferences : GivenPairs
        The pairs.
    p : float in [1, inf], default=1.0
        How strongly the sum concentrates on the rows with the largest height. ``p=inf``: the
        logarithm of the largest.
    side : {"top", "bottom"}, default="top"
        "bottom": the heights are sums over the pairs in which a row is above.

    References
    ----------
    Freund2003, Figure 1 and sec. 3.2 (the shares of a 0/1 weak ranker). Rudin2009, sec. 7 (the sum
    of the p-th powers over crucial pairs; the bottom), sec. 9.2 (``p = inf``).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.objectives import GivenPairs, ListedExponential
    >>> pairs = GivenPairs(3, np.array([0, 2]), np.array([1, 1]), np.array([1.0, 3.0]))
    >>> push = ListedExponential(pairs)
    >>> push.pair_shares(np.zeros(3), np.array([True, False, False]))
    PairShares(right=0.25, wrong=0.0, tied=0.7...)
    """

    side_exponents = None
    """No masses by row: as of `SidePush` with queries."""

    def __init__(self, preferences: GivenPairs, p: float = 1.0, side: str = "top") -> None:
        self.preferences = preferences
        self.p = p
        self.side = side
        self._inner, self._outer = ("above", "below") if side == "top" else ("below", "above")
        self._sign = 1.0 if side == "top" else -1.0
        self._log_weight = np.log(preferences.pair_weight)

    def value_and_gradient(self, scores: Floats) -> tuple[float, Floats]:
        """Return J_p and its gradient, at ``p=inf`` a subgradient."""
        value, inner, outer = self.row_masses(scores)
        return value, self._sign * (outer - inner)

    @available_if(lambda push: np.isfinite(push.p))
    def value_gradient_curvature(self, scores: Floats) -> tuple[float, Floats, Floats]:
        r"""Return J_p, its gradient, and a bound c on its second derivatives; p is finite.

        .. math:: h^\top \nabla^2 J_p(f) \, h \le \min(c^\top h, \; c^\top (1 - h))
            \quad \text{for } h \in [0, 1]^n

        where :math:`c_n` is p times the sum of the absolute derivatives with respect to the margins
        of the pairs of row n.
        """
        value, inner, outer = self.row_masses(scores)
        return value, self._sign * (outer - inner), self.p * (inner + outer)

    @available_if(lambda push: np.isinf(push.p))
    def smooth_path(self) -> Iterator[ListedExponential]:
        """Yield the pushes at growing p; at the last one J_p is close to J_inf."""
        for p in growing_powers(self.preferences.n_rows):
            yield ListedExponential(self.preferences, p, self.side)

    def pair_shares(self, scores: Floats, h: Values) -> PairShares | None:
        """Return the shares of the pairs for a 0/1 weak ranker h; None where p > 1 has none."""
        if self.p != 1:
            return None
        share = self._shares(self.preferences.differences(scores))[1]
        margin_change = self.preferences.differences(h)
        right, wrong, tied = (float(share[margin_change == sign].sum()) for sign in (1, -1, 0))
        return PairShares(right, wrong, tied)

    def slope(self, scores: Floats, h: Values) -> Callable[[float], float]:
        """Return the derivative of ``value(scores + a * h)`` as a function of a."""
        margin, margin_change = (self.preferences.differences(values) for values in (scores, h))
        return lambda a: -float(self._shares(margin + a * margin_change)[1] @ margin_change)

    def row_masses(self, scores: Floats) -> tuple[float, Floats, Floats]:
        """Return J_p and the mass of each row inside the heights of others, and in its own.

        The masses are sums, over the pairs of the row, of minus the derivatives with respect to
        the margins: the d~ of Rudin2009, Figure 2, divided by their total.
        """
        value, share = self._shares(self.preferences.differences(scores))
        inner, outer = (self.preferences.sum_by_row(share, n) for n in (self._inner, self._outer))
        return value, inner, outer

    def _shares(self, margin: Floats) -> tuple[float, Floats]:
        """Return J_p, and minus its derivatives with respect to the margins, in place."""
        log_loss = np.subtract(self._log_weight, margin, out=margin)
        if self.p > 1:
            return self._pushed(log_loss)
        max_log_loss = log_loss.max()
        log_loss -= max_log_loss
        share = np.exp(log_loss, out=log_loss)
        total = share.sum()
        share /= total
        return float(max_log_loss + np.log(total)), share

    def _pushed(self, log_loss: Floats) -> tuple[float, Floats]:
        """Return the same at p > 1, from the logarithms of the losses."""
        row_of_pair = getattr(self.preferences, self._outer)
        max_log_loss = np.full(self.preferences.n_rows, -np.inf)
        np.maximum.at(max_log_loss, row_of_pair, log_loss)
        log_loss -= max_log_loss[row_of_pair]
        height = self.preferences.sum_by_row(np.exp(log_loss, out=log_loss), self._outer)
        log_height = max_log_loss + safe_log(height)
        highest = log_height.max()
        # Infinity times a difference of zero would be NaN.
        power = np.exp(min(self.p, 1e200) * (log_height - highest))
        log_loss *= _ratio(power / power.sum(), height)[row_of_pair]
        return float(highest + np.log(power.sum()) / self.p), log_loss


def mean_loss(preferences: Preferences, loss: str | MarginLoss) -> PairLoss | ListedPairLoss:
    """Return the mean loss over all comparable pairs, or over those of a list."""
    if isinstance(preferences, GivenPairs):
        return ListedPairLoss(preferences, loss)
    return PairLoss(preferences, loss, mean=True)


def mean_of_larger(values: Floats, pairs: GivenPairs) -> float:
    """Return the weighted mean over listed pairs of the larger of two values of rows."""
    larger = np.maximum(values[pairs.above], values[pairs.below])
    return float(pairs.pair_weight @ larger) / pairs.total_pair_weight
