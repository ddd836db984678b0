"""The IR push: each row above counts by the logarithm of its losses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from sklearn_rank._protocols import Floats
from sklearn_rank.objectives._push import Push
from sklearn_rank.rows import Preferences

_BLOCK = 32_768
"""Rows taken at a time: their temporaries stay in the second-level cache."""


class InformationRetrievalPush(Push):
    r"""Push with a concave function of the losses of each row above, the IR push.

    .. math:: J(f) = \sum_i w_i \ln\Bigl(1 +
        \sum_{k \text{ below } i} w_k e^{-(f_i - f_k)}\Bigr)

    where f are scores and w row weights. The loss of a relevant row far down grows only
    linearly in its score, so that no such row outweighs all the others.

    Parameters
    ----------
    preferences : Preferences
        The comparable pairs.

    References
    ----------
    Rudin2009, eq. (2) (the IR push of one list of two classes).

    Examples
    --------
    A score lower by 10 adds 10, however low it is:

    >>> import numpy as np
    >>> from sklearn_rank.objectives import InformationRetrievalPush
    >>> from sklearn_rank.rows import Preferences
    >>> preferences = Preferences.from_labels(np.array([1, 1, 0, 0]), None, np.ones(4))
    >>> push = InformationRetrievalPush(preferences)
    >>> [round(push.value(np.array([9.0, low, 1.0, 0.0])), 2) for low in (-10, -20, -30)]
    [11.31, 21.31, 31.31]
    """

    def __init__(self, preferences: Preferences) -> None:
        self.preferences = preferences

    def value_and_gradient(self, scores: Floats) -> tuple[float, Floats]:
        """Return J and its gradient."""
        if self.preferences.is_bipartite_list:
            return self._bipartite(scores)[:2]
        shares = _LowerShares.of(self.preferences, scores)
        value, log_odds = self._value_and_log_odds(scores, shares)
        upper = self.preferences.weight * expit(log_odds)
        return value, shares.sums(upper) - upper

    def value_gradient_curvature(self, scores: Floats) -> tuple[float, Floats, Floats]:
        r"""Return J, its gradient and a bound c of its second derivatives.

        .. math:: h^\top \nabla^2 J(f) \, h \le \min(c^\top h, \; c^\top (1 - h))
            \quad \text{for } h \in [0, 1]^n

        With :math:`B_i = \sum_{k \text{ below } i} w_k e^{f_k}`,
        :math:`\pi_i = B_i / (e^{f_i} + B_i)` and :math:`q_{ik} = w_k e^{f_k} / B_i` the
        term of row i adds

        .. math:: w_i \pi_i (1 - \pi_i) \text{ to } c_i, \qquad
            w_i \pi_i q_{ik} \text{ to } c_k .

        The first is its second derivative by :math:`f_i`. That by :math:`f_k` has one more
        factor, :math:`1 - \pi_i q_{ik}`, with which c would not be the same for a row of
        weight 2 and for the row twice.
        """
        if self.preferences.is_bipartite_list:
            return self._bipartite(scores)
        shares = _LowerShares.of(self.preferences, scores)
        value, log_odds = self._value_and_log_odds(scores, shares)
        pi, weight = expit(log_odds), self.preferences.weight
        push = shares.sums(weight * pi)
        # expit(-log_odds) has all the digits of 1 - pi, which that difference has not.
        of_upper = weight * pi * expit(-log_odds)
        return value, push - weight * pi, of_upper + push

    def _bipartite(self, scores: Floats) -> tuple[float, Floats, Floats]:
        """Return the same on one list of two levels, where one B serves all rows above."""
        middle, weight = int(self.preferences.segments.start[1]), self.preferences.weight
        above, w, pairs = scores[:middle], weight[:middle], self.preferences
        top = float(pairs.largest(np.max(scores[middle:], initial=-np.inf)))
        share = np.exp(scores[middle:] - top)
        share *= weight[middle:]
        total = float(pairs.total(share.sum()))
        log_below = top + float(np.log(total))
        share /= total
        gradient, curvature = np.empty_like(scores), np.empty_like(scores)
        value = push = 0.0
        for start in range(0, middle, _BLOCK):
            rows = slice(start, min(start + _BLOCK, middle))
            log_odds = log_below - above[rows]
            decay = np.exp(-np.abs(log_odds))
            value += _product(w[rows], np.maximum(log_odds, 0.0) + np.log1p(decay))
            likely = 1.0 / (1.0 + decay)
            pi = np.where(log_odds > 0, likely, decay * likely)
            weighted = w[rows] * pi
            push += float(weighted.sum())
            np.negative(weighted, out=gradient[rows])
            np.multiply(w[rows] * (likely * likely), decay, out=curvature[rows])
        value, push = pairs.totals(value, push)
        np.multiply(share, push, out=gradient[middle:])
        curvature[middle:] = gradient[middle:]
        return value, gradient, curvature

    def _value_and_log_odds(self, scores: Floats, shares: _LowerShares) -> tuple[float, Floats]:
        """Return J and ``log B_i - f_i``, the log odds of pi, of each row."""
        log_odds = self.preferences.spread(shares.log_below) - scores
        value = float(self.preferences.weight @ np.logaddexp(0.0, log_odds))
        return self.preferences.total(value), log_odds


def _product(a: Floats, b: Floats) -> float:
    """Return the inner product in this thread: those of a BLAS would wait for one another."""
    return float(np.einsum("i,i->", a, b))


@dataclass(frozen=True, eq=False)
class _LowerShares:
    r"""The share of each row k in the sum over the rows below row i.

    .. math:: q_{ik} = \frac{w_k e^{f_k}}{B_i}, \qquad
        B_i = \sum_{l \text{ below } i} w_l e^{f_l}

    Attributes
    ----------
    preferences : Preferences
        The comparable pairs.
    log_mass : ndarray of shape (n_segments,)
        Logarithm of the sum of :math:`w_k e^{f_k}` over each segment.
    share : ndarray of shape (n_rows,)
        Share of each row in the sum over its segment.
    log_below : ndarray of shape (n_segments,)
        Logarithm of B for the rows of each segment, -inf where no row is below.
    """

    preferences: Preferences
    log_mass: Floats
    share: Floats
    log_below: Floats

    @classmethod
    def of(cls, preferences: Preferences, scores: Floats) -> _LowerShares:
        """Return the shares at some scores."""
        log_mass, share = preferences.normalised(scores)
        log_below = preferences.scan_below(np.logaddexp, log_mass, -np.inf)
        return cls(preferences, log_mass, share, log_below)

    def sums(self, upper: Floats) -> Floats:
        r"""Return :math:`\sum_{i \text{ above } k} a_i q_{ik}` for each row k.

        a is `upper`, of shape (n_rows,), and zero where no row is below.
        """
        rows = self.preferences
        # Where no row is below, a is zero: avoid -inf - (-inf).
        log_below = np.where(np.isfinite(self.log_below), self.log_below, 0.0)
        with np.errstate(divide="ignore"):
            log_upper = np.log(rows.reduce(np.add, upper))
            log_total = np.log(rows.total(upper.sum()))
        log_sum = rows.scan_above(np.logaddexp, log_upper - log_below, -np.inf) + self.log_mass
        # Shares are at most one, whatever rounding says.
        of_segment = np.exp(np.minimum(log_sum, log_total))
        return self.share * rows.spread(of_segment)
