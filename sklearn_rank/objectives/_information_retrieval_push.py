"""The IR push: each row above counts by the logarithm of its losses."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TypeVar

import numpy as np

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Floats
from sklearn_rank._pair_sums._exponential_sums import safe_log
from sklearn_rank._pair_sums._pair_loss import Push

Result = TypeVar("Result")


class InformationRetrievalPush(Push):
    r"""Push with a concave function of the losses of each row above, the IR push.

    .. math:: J(f) = \sum_i w_i \ln\Bigl(1 +
        \sum_{k \text{ below } i} w_k e^{-(f_i - f_k)}\Bigr)

    where f are scores and w row weights. The loss of a relevant row far down the list grows only
    linearly in its score, so no such row outweighs all the others.

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
    >>> from sklearn_rank.objectives import InformationRetrievalPush, Preferences
    >>> preferences = Preferences.from_labels(np.array([1, 1, 0, 0]), None, np.ones(4))
    >>> push = InformationRetrievalPush(preferences)
    >>> [round(push.value(np.array([9.0, low, 1.0, 0.0])), 2) for low in (-10, -20, -30)]
    [11.31, 21.31, 31.31]
    """

    def __init__(self, preferences: Preferences) -> None:
        self.preferences = preferences
        self._threads = ThreadPool(1)

    def in_threads(self, threads: ThreadPool) -> InformationRetrievalPush:
        """Return the push with sums over one list, shared among threads."""
        push = copy(self)
        push._threads = threads
        return push

    def value_and_gradient(self, scores: Floats) -> tuple[float, Floats]:
        """Return J and its gradient."""
        return self.value_gradient_curvature(scores)[:2]

    def value_gradient_curvature(self, scores: Floats) -> tuple[float, Floats, Floats]:
        r"""Return J, its gradient, and a bound c on its second derivatives.

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
        rows = self.preferences
        # ln B_i, the same for all rows of a segment, and w_i pi_i from ln B_i - f_i.
        log_mass, share = rows.normalised(scores)
        log_below = rows.scan_below(np.logaddexp, log_mass, -np.inf)
        value, upper, curvature = _terms(rows.spread(log_below) - scores, rows.weight)
        # sum_i w_i pi_i q_ik over the rows i above k, as shares of sum_i w_i pi_i / B_i of all
        # segments above. Shares are at most one, but for rounding.
        log_below = np.where(np.isfinite(log_below), log_below, 0.0)  # avoid -inf - (-inf)
        log_upper, log_total = safe_log(rows.reduce(np.add, upper)), safe_log(upper.sum())
        log_sum = rows.scan_above(np.logaddexp, log_upper - log_below, -np.inf) + log_mass
        lower = share * rows.spread(np.exp(np.minimum(log_sum, rows.log_total(log_total))))
        return rows.total(value), lower - upper, curvature + lower

    def _bipartite(self, scores: Floats) -> tuple[float, Floats, Floats]:
        """Do the same on one list of two levels, where all rows above share the same B."""
        pairs, middle = self.preferences, int(self.preferences.segments.start[1])
        max_score = float(pairs.largest(np.max(scores[middle:], initial=-np.inf)))
        gradient, curvature = np.empty((2, len(scores)))

        def masses_of(rows: slice) -> float:
            share = np.subtract(scores[rows], max_score, out=gradient[rows])
            np.exp(share, out=share)
            share *= pairs.weight[rows]
            return float(share.sum())

        def terms_of(rows: slice) -> tuple[float, float]:
            value, upper, curvature[rows] = _terms(log_below - scores[rows], pairs.weight[rows])
            np.negative(upper, out=gradient[rows])
            return value, float(upper.sum())

        mass_sum = float(pairs.total(sum(self._in_blocks(masses_of, middle, len(scores)))))
        log_below = max_score + float(np.log(mass_sum))
        terms = np.array(self._in_blocks(terms_of, 0, middle)).reshape(-1, 2)
        value, push = pairs.totals(*terms.sum(axis=0).tolist())
        gradient[middle:] *= push / mass_sum
        curvature[middle:] = gradient[middle:]
        return value, gradient, curvature

    def _in_blocks(self, task: Callable[[slice], Result], first: int, last: int) -> list[Result]:
        """Return the results of a function for blocks of the rows ``first``, ..., ``last - 1``."""
        slices = list(blocks(last, start=first))
        return self._threads.map(lambda index: task(slices[index]), len(slices))


def _terms(log_odds: Floats, weight: Floats) -> tuple[float, Floats, Floats]:
    r"""Return the sum of :math:`w \ln(1 + e^z)`, and its first and second derivatives in z.

    From one exponential of -\|z\|, which keeps all digits of the probabilities and of their
    complements.
    """
    decay = np.exp(-np.abs(log_odds))
    value = np.maximum(log_odds, 0.0)
    value += np.log1p(decay)
    sigmoid = 1.0 / (1.0 + decay)
    complement = decay * sigmoid
    upper = weight * np.where(log_odds > 0, sigmoid, complement)
    # In this thread: those of a BLAS would wait for one another.
    return float(np.einsum("i,i->", weight, value)), upper, weight * sigmoid * complement
