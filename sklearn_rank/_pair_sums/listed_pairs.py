"""Losses of pairs that are listed one by one: O(pairs), whatever their graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.utils.metaestimators import available_if

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.given_pairs import GivenPairs
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Floats, PairShares, Values, require
from sklearn_rank._pair_sums._pair_loss import PairLoss, Push, loss_has
from sklearn_rank._pair_sums.margin_losses import MarginLoss, as_margin_loss


class ListedPairLoss(Push):
    r"""Mean loss of the margins of listed pairs.

    .. math:: L(f) = \frac1W \sum_j w_j \, \phi(f_{i_j} - f_{k_j}), \qquad W = \sum_j w_j

    where f are scores, of shape (n_rows,), w the weights of the pairs, :math:`i_j` the row above
    and :math:`k_j` the row below in pair j, and :math:`\phi` is one of ``MARGIN_LOSSES``, or a
    `MarginLoss` of your own. A sum by row adds the pairs up: with A the sparse matrix of shape
    (n_pairs, n_rows) that has 1 at :math:`i_j` and -1 at :math:`k_j` in row j, the margins are
    ``A @ f`` and the gradient is ``A.T @ slopes``.

    Parameters
    ----------
    preferences : GivenPairs
        The pairs.
    loss : str or MarginLoss, default="logistic"
        The loss of a margin.

    References
    ----------
    Freund2003, sec. 2 (weights of single pairs). Sums by row derived here.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.objectives import GivenPairs, ListedPairLoss
    >>> pairs = GivenPairs(3, np.array([0, 2]), np.array([1, 1]), np.array([1.0, 3.0]))
    >>> loss = ListedPairLoss(pairs, "hinge")
    >>> loss.value_and_gradient(np.array([4.0, 2.0, 2.5]))  # margins 2 and 0.5
    (0.375, array([ 0.  ,  0.75, -0.75]))
    """

    def __init__(self, preferences: GivenPairs, loss: str | MarginLoss = "logistic") -> None:
        self.preferences = preferences
        self.loss = as_margin_loss(loss, "ListedPairLoss")
        self._total = preferences.total_pair_weight or 1.0

    @property
    def is_smooth(self) -> bool:
        """Whether L has a derivative everywhere."""
        return self.loss.is_smooth

    def value_and_gradient(self, scores: Floats) -> tuple[float, Floats]:
        """Return L and its gradient by the scores; at a kink the left derivative counts."""
        value, slope = self._weighted(self.preferences.differences(scores))
        return value, self._sums(slope, -1)

    @available_if(loss_has("second_derivative"))
    def value_gradient_curvature(self, scores: Floats) -> tuple[float, Floats, Floats]:
        """Return L, its gradient, and the diagonal of its Hessian."""
        margin = self.preferences.differences(scores)
        second = self._second(margin)
        value, slope = self._weighted(margin)
        return value, self._sums(slope, -1), self._sums(second, 1)

    def value_gradient_slopes(self, scores: Floats) -> tuple[float, Floats, Floats]:
        """Return L, its gradient, and the absolute slopes in place of the curvature.

        For a loss without second derivatives: the exponential loss, whose second derivative is
        minus its first, has this curvature.
        """
        value, slope = self._weighted(self.preferences.differences(scores))
        return value, self._sums(slope, -1), self._sums(np.abs(slope), 1)

    @available_if(loss_has("rounded"))
    def rounded(self, width: float) -> ListedPairLoss:
        """Return a smooth objective, at most ``width / 2`` below."""
        loss = require(self.loss, "rounded", "ListedPairLoss.rounded")(width)
        return ListedPairLoss(self.preferences, loss)

    def slope(self, scores: Floats, h: Values) -> Callable[[float], float]:
        """Return the derivative of ``value(scores + a * h)`` as a function of a."""
        margin, change = (self.preferences.differences(values) for values in (scores, h))
        return lambda a: float(self._weighted(margin + a * change)[1] @ change)

    def _weighted(self, margin: Floats) -> tuple[float, Floats]:
        """Return L, and the slope of each pair times its share of the weight; in place."""
        value = 0.0
        for pairs in blocks(len(margin)):
            share = self.preferences.pair_weight[pairs] / self._total
            loss, slope = self.loss.value_and_derivative(margin[pairs])
            value += float(share @ loss)
            np.multiply(slope, share, out=margin[pairs])
        if value == 0:  # no pair has any loss, though some may be at a kink
            margin[:] = 0.0
        return value, margin

    def _second(self, margin: Floats) -> Floats:
        """Return the second derivative of each pair times its share of the weight."""
        find = require(self.loss, "second_derivative", "ListedPairLoss")
        second = np.empty_like(margin)
        for pairs in blocks(len(margin)):
            share = self.preferences.pair_weight[pairs] / self._total
            np.multiply(find(margin[pairs]), share, out=second[pairs])
        return second

    def _sums(self, values: Floats, sign: float) -> Floats:
        """Return ``A.T @ values`` with sign -1 of the rows below, ``abs(A).T @ values`` with +1."""
        pairs = self.preferences
        return pairs.sum_by_row(values, "above") + sign * pairs.sum_by_row(values, "below")


class ListedExponential(Push):
    r"""Logarithm of the sum of the exponential losses of listed pairs, that of RankBoost.

    .. math:: J(f) = \log \sum_j w_j \, e^{-(f_{i_j} - f_{k_j})}

    where f are scores, w the weights of the pairs, :math:`i_j` the row above and :math:`k_j` the
    row below in pair j.

    Parameters
    ----------
    preferences : GivenPairs
        The pairs.

    References
    ----------
    Freund2003, Figure 1 and sec. 3.2 (the shares of a 0/1 weak ranker).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.objectives import GivenPairs, ListedExponential
    >>> pairs = GivenPairs(3, np.array([0, 2]), np.array([1, 1]), np.array([1.0, 3.0]))
    >>> push = ListedExponential(pairs)
    >>> push.pair_shares(np.zeros(3), np.array([True, False, False]))
    PairShares(right=0.25, wrong=0.0, tied=0.7...)
    """

    p = 1.0
    side_exponents = None
    """No masses by row: as of `SidePush` with queries."""

    def __init__(self, preferences: GivenPairs) -> None:
        self.preferences = preferences
        self._log_weight = np.log(preferences.pair_weight)

    def value_and_gradient(self, scores: Floats) -> tuple[float, Floats]:
        """Return J and its gradient."""
        value, above, below = self._masses(scores)
        return value, below - above

    def value_gradient_curvature(self, scores: Floats) -> tuple[float, Floats, Floats]:
        r"""Return J, its gradient and a bound c of its second derivatives.

        .. math:: h^\top \nabla^2 J(f) \, h \le \min(c^\top h, \; c^\top (1 - h))
            \quad \text{for } h \in [0, 1]^n

        where :math:`c_n` is the share of the pairs of row n in the sum.
        """
        value, above, below = self._masses(scores)
        return value, below - above, above + below

    def pair_shares(self, scores: Floats, h: Values) -> PairShares:
        """Return the shares of the pairs by a 0/1 weak ranker h."""
        share = self._shares(self.preferences.differences(scores))[1]
        change = self.preferences.differences(h)
        right, wrong, tied = (float(share[change == sign].sum()) for sign in (1, -1, 0))
        return PairShares(right, wrong, tied)

    def slope(self, scores: Floats, h: Values) -> Callable[[float], float]:
        """Return the derivative of ``value(scores + a * h)`` as a function of a."""
        margin, change = (self.preferences.differences(values) for values in (scores, h))
        return lambda a: -float(self._shares(margin + a * change)[1] @ change)

    def _shares(self, margin: Floats) -> tuple[float, Floats]:
        """Return J, and the share of each pair in its sum; in place."""
        np.subtract(self._log_weight, margin, out=margin)
        top = margin.max()
        margin -= top
        np.exp(margin, out=margin)
        total = margin.sum()
        margin /= total
        return float(top + np.log(total)), margin

    def _masses(self, scores: Floats) -> tuple[float, Floats, Floats]:
        """Return J, and the share of each row as the one above and as the one below."""
        value, share = self._shares(self.preferences.differences(scores))
        above, below = (self.preferences.sum_by_row(share, side) for side in ("above", "below"))
        return value, above, below


def mean_loss(preferences: Preferences, loss: str | MarginLoss) -> PairLoss | ListedPairLoss:
    """Return the mean loss over all comparable pairs, or over those of a list."""
    if isinstance(preferences, GivenPairs):
        return ListedPairLoss(preferences, loss)
    return PairLoss(preferences, loss, mean=True)


def mean_of_larger(values: Floats, pairs: GivenPairs) -> float:
    """Return the weighted mean over listed pairs of the larger of two values of rows."""
    larger = np.maximum(values[pairs.above], values[pairs.below])
    return float(pairs.pair_weight @ larger) / pairs.total_pair_weight
