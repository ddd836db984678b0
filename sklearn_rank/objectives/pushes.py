r"""Objectives of the exponentials of all pairs' margins, at a cost that grows with the rows.

Each is a function of the scores alone, with the methods of `Push`. Second derivatives and
closed-form steps are methods of those that have them. ``PUSHES`` lists the pushes by the name that
users pass as ``push``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from sklearn_rank._core.given_pairs import GivenPairs
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Floats, PairShares, Values
from sklearn_rank._pair_sums._exponential_sums import (
    ExponentialSums,
    SegmentSums,
    growing_powers,
    log_sum_exp,
    safe_log,
)
from sklearn_rank._pair_sums._pair_loss import Push
from sklearn_rank._pair_sums.listed_pairs import ListedExponential, ListedPairLoss
from sklearn_rank._pair_sums.margin_losses import MarginLoss, as_margin_loss
from sklearn_rank.objectives._information_retrieval_push import InformationRetrievalPush
from sklearn_rank.objectives._margin_push import MarginPush
from sklearn_rank.objectives._moving_masses import BothState, ExponentialState


class SidePush(ExponentialSums, Push):
    r"""P-norm push from one side of the list.

    .. math:: J_p(f) = \frac1p \log \sum_k w_k \Bigl(\frac{N_k}{\max_l N_l}\Bigr)^{1-p}
        \Bigl(\sum_{i \text{ above } k} w_i e^{-(f_i - f_k)}\Bigr)^p,
        \qquad N_k = \sum_{i \text{ above } k} w_i

    where f are scores, w row weights, i runs over the rows above row k. This is ``side="top"``: the
    larger p, the more the highest-ranked rows k count. ``side="bottom"`` is its mirror image, with
    the roles of i and k exchanged; p = 1 is RankBoost's objective from either side, and ``p = inf``
    the limit, the largest logarithm of a bracket times :math:`\max_l N_l / N_k`.

    Up to a constant the terms are :math:`w_k N_k (H_k / N_k)^p` with :math:`H_k` the bracket: row k
    weighs as much as its pairs, and their mean loss is raised to the power p. At equal scores a
    query counts by its number of pairs, at every p. On one
    bipartite list all :math:`N_k` are equal and the factor is 1.

    The rows inside the bracket are called *inner* and carry exp(-s f), the others
    *outer* and carry exp(s p f), where s is +1 at the top and -1 at the bottom.

    Parameters
    ----------
    preferences : Preferences
        The comparable pairs.
    p : float in [1, inf]
        How strongly the sum focuses on that end of the list.
    side : {"top", "bottom"}, default="top"
        Which end.
    is_relative : bool, default=True
        Whether there is the factor of :math:`N_k`. False: the plain sum of Rudin2009, sec. 7.

    References
    ----------
    Rudin2009, sec. 2 (the sum), sec. 7 (the bottom; crucial pairs, without the factor), sec. 9.2
    (``p = inf``). Freund2003, Figure 1 (p = 1). The factor of queries and grades is defined here.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.objectives import Preferences, SidePush
    >>> preferences = Preferences.from_labels(np.array([1, 1, 0, 0]), None, np.ones(4))
    >>> first_is_wrong = np.array([3.0, 2.0, 4.0, 1.0])
    >>> last_is_wrong = np.array([4.0, 1.0, 3.0, 2.0])
    >>> for p, side in [(1, "top"), (4, "top"), (4, "bottom")]:
    ...     push = SidePush(preferences, p, side)
    ...     print(round(push.value(first_is_wrong), 2), round(push.value(last_is_wrong), 2))
    2.36 2.36
    2.31 2.05
    2.05 2.31
    """

    @property
    def side_exponents(self) -> tuple[float, float] | None:
        """On one bipartite list, c in the masses ``w exp(c f)`` above and below; otherwise None."""
        if not self.preferences.is_bipartite_list:
            return None
        return (-1.0, self.p) if self.side == "top" else (-self.p, 1.0)

    @available_if(lambda push: push.preferences.is_bipartite_list)
    def state(self, scores: Floats, threads: ThreadPool) -> ExponentialState:
        """Return the state, on one bipartite list, that is moved in place."""
        return ExponentialState(self, scores, threads)

    def value(self, scores: Floats) -> float:
        """Return J_p = ln(R_{p,exp}) / p, with R_{p,exp} of Rudin2009, sec. 5; p may be infinite.

        R_{p,exp} is the R_{g,l} of its sec. 2 with the loss l(m) = e^-m and the price g(r) = r^p.
        """
        # 1. log sum_i w_i e^{-f_i} of each segment; a scan adds those of the rows above. One sum
        # does for all rows k of a segment: e^{-(f_i - f_k)} is a product, e^{-f_i} e^{f_k}.
        inner = self._inner_sums(scores)[0]
        # 2. p = inf: the largest height, R_max,exp (sec. 2; sec. 9.2 discusses its use). A height
        # here is sum_i w_i e^{-(f_i - f_k)}, which is the paper's Height(k) with this loss.
        if np.isinf(self.p):
            outer = self.preferences.reduce(np.maximum, self.sign * scores)
            max_log = float(np.max(outer + self._inner_scan(inner) - self._log_pairs))
            return float(self.preferences.lists.largest(max_log))
        # 3. log sum_k w_k (N_k / max N)^(1-p) e^{p f_k} of each segment; in the paper, which has
        # one list of two classes and no weights, only the exponential is not 1.
        outer = self._outer_sums(scores)[0]
        # 4. The inner sums to the power p times the outer ones, their sum over k, its logarithm
        # over p. With side="bottom" the roles of i and k change places.
        return self._segment_masses(inner, outer)[0]

    @available_if(lambda push: np.isfinite(push.p))
    def value_gradient_curvature(
        self, scores: Floats, sums: SegmentSums | None = None
    ) -> tuple[float, Floats, Floats]:
        r"""Return J_p, its gradient, and a bound c on its second derivatives; p is finite.

        .. math:: h^\top \nabla^2 J_p(f) \, h \le \min(c^\top h, \; c^\top (1 - h))
            \quad \text{for } h \in [0, 1]^n, \qquad
            c_n = p \sum_k s_k \pi_{nk} + p \, s_n

        where :math:`\pi_{ik}` is the share of row i in the bracket of row k and
        :math:`s_k` that of row k in the outer sum. In one bipartite list the first term
        needs no factor p.
        """
        value, inner, outer = self.row_masses(scores, sums)
        gradient = self.sign * (outer - inner)
        if self.preferences.bipartite_segments is None:
            inner *= self.p
        return value, gradient, inner + self.p * outer

    @available_if(lambda push: np.isinf(push.p))
    def smooth_path(self) -> Iterator[SidePush]:
        """Yield the pushes at growing p; at the last one J_p is close to J_inf."""
        total = self.preferences.total(self.preferences.weight.sum())
        for p in growing_powers(float(total)):
            yield replace(self, p=p)

    def pair_shares(
        self, scores: Floats, h: Values, sums: SegmentSums | None = None
    ) -> PairShares | None:
        """Return the shares of the pairs for a 0/1 weak ranker h; None where p > 1 has none.

        At p = 1 the sum over pairs is linear in the masses of either role, so that the
        pairs with ``h_i = 1, h_k = 0`` weigh what the sum over those rows alone is; in
        one bipartite list the share is a product of two row shares at every p.
        """
        bipartite = self.preferences.bipartite_segments
        if self.p != 1 and bipartite is None:
            return None
        sums = sums or self.segment_sums(scores)
        # Shares of the rows with h = 0 and with h = 1 in the mass of each segment.
        inner_split = self.preferences.split(sums.inner_share, h)
        outer_split = self.preferences.split(sums.outer_share, h)
        # share[a][b] is that of the pairs whose inner row has h = a and whose outer row h = b.
        if bipartite is not None:
            i, o = bipartite if self.side == "top" else bipartite[::-1]
            share = [[float(inner[i] * outer[o]) for outer in outer_split] for inner in inner_split]
        else:
            value = self._segment_masses(sums.log_inner, sums.log_outer)[0]
            inner_sums = [self._inner_scan(sums.log_inner + safe_log(part)) for part in inner_split]
            outer_sums = [sums.log_outer + safe_log(part) for part in outer_split]
            logs = np.array([[log_sum_exp(i + o) for o in outer_sums] for i in inner_sums])
            share = np.exp(np.minimum(self.preferences.lists.log_total(logs) - value, 0.0)).tolist()
        right, wrong = share[1][0], share[0][1]
        if self.side == "bottom":
            right, wrong = wrong, right
        return PairShares(right, wrong, share[0][0] + share[1][1])

    def slope(self, scores: Floats, h: Values) -> Callable[[float], float]:
        """Return the derivative of ``value(scores + a * h)`` as a function of a.

        A 0/1 weak ranker multiplies the masses of its rows by one factor, so that two
        numbers for each segment are enough.
        """
        if h.dtype != np.bool_:
            if self.preferences.bipartite_segments is not None:
                return self._bipartite_slope(scores, h)
            return super().slope(scores, h)
        sums = self.segment_sums(scores)
        inner_zero, inner_one = map(safe_log, self.preferences.split(sums.inner_share, h))
        outer_zero, outer_one = map(safe_log, self.preferences.split(sums.outer_share, h))

        def derivative(a: float) -> float:
            inner_step, outer_step = -self.sign * a, self.sign * self.p * a
            inner_a = np.logaddexp(inner_one + inner_step, inner_zero)
            outer_a = np.logaddexp(outer_one + outer_step, outer_zero)
            masses = self._segment_masses(sums.log_inner + inner_a, sums.log_outer + outer_a)
            _, inner_mass, outer_mass = masses
            inner_mean = inner_mass @ np.exp(inner_one + inner_step - inner_a)
            outer_mean = outer_mass @ np.exp(outer_one + outer_step - outer_a)
            return float(self.preferences.lists.total(self.sign * (outer_mean - inner_mean)))

        return derivative

    def _bipartite_slope(self, scores: Floats, h: Floats) -> Callable[[float], float]:
        """Return the slope on one bipartite list: the difference of two means of h."""
        above, below = self.preferences.bipartite_segments or (0, 0)
        inner, outer = (above, below) if self.side == "top" else (below, above)
        inner_mean = self._weighted_mean(scores, h, inner, -self.sign)
        outer_mean = self._weighted_mean(scores, h, outer, self.sign * self.p)
        return lambda a: self.sign * (outer_mean(a) - inner_mean(a))

    def _weighted_mean(
        self, scores: Floats, h: Floats, segment: int, rate: float
    ) -> Callable[[float], float]:
        """Return the mean of h over a segment, weighted by w exp(rate (f + a h)), as of a."""
        segment_start = self.preferences.segments.start[segment]
        rows = slice(segment_start, segment_start + self.preferences.segments.length[segment])
        log_mass, h = self.preferences.log_weight[rows] + rate * scores[rows], h[rows]

        def mean(a: float) -> float:
            exponent = h * (rate * a)
            exponent += log_mass
            exponent -= self.preferences.largest(float(np.max(exponent, initial=-np.inf)))
            mass = np.exp(exponent, out=exponent)
            weighted_sum, total = self.preferences.totals(mass @ h, mass.sum())
            return float(weighted_sum) / float(total)

        return mean


class BothPush(Push):
    r"""Push at the top and at the bottom.

    .. math:: J(f) = \log(R_\text{top}(f) + b \, R_\text{bottom}(f))

    where :math:`R = e^{p J_p}` of `SidePush` for each side and b is `bottom_weight`. At
    equal scores the bottom counts :math:`b (\max_i N_i / \max_k N_k)^{p-1}` times the top,
    where :math:`N_i` is the weight of the rows below row i, :math:`N_k` that above row k.

    Parameters
    ----------
    preferences : Preferences
        The comparable pairs.
    p : float in [1, inf)
        Power of both sides.
    bottom_weight : float in [0, inf)
        Weight of the bottom side.

    References
    ----------
    Rudin2009, sec. 2 (the sum for the top), sec. 7 (that for the bottom, and for both).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.objectives import BothPush, Preferences
    >>> preferences = Preferences.from_labels(np.array([1, 1, 0, 0]), None, np.ones(4))
    >>> first_is_wrong = np.array([3.0, 2.0, 4.0, 1.0])
    >>> last_is_wrong = np.array([4.0, 1.0, 3.0, 2.0])
    >>> for bottom_weight in (0.0, 1.0):
    ...     push = BothPush(preferences, 4, bottom_weight)
    ...     print(round(push.value(first_is_wrong), 2), round(push.value(last_is_wrong), 2))
    9.25 8.21
    9.56 9.56
    """

    def __init__(self, preferences: Preferences, p: float, bottom_weight: float = 1.0) -> None:
        self.preferences = preferences
        self.p = p
        self.top, self.bottom = (_side(preferences, p, side) for side in ("top", "bottom"))
        self.log_bottom_weight = np.log(bottom_weight) if bottom_weight else -np.inf

    @available_if(lambda push: push.preferences.is_bipartite_list)
    def state(self, scores: Floats, threads: ThreadPool) -> BothState:
        """Return the state, on one bipartite list, that is moved in place."""
        return BothState(self, scores, threads)

    def value_and_gradient(self, scores: Floats) -> tuple[float, Floats]:
        """Return J and its gradient."""
        value, sides = self._sides(scores)
        return value, self._gradient(sides)

    def value_gradient_curvature(self, scores: Floats) -> tuple[float, Floats, Floats]:
        r"""Return J, its gradient, and a bound c on its second derivatives.

        .. math:: h^\top \nabla^2 J(f) \, h \le \min(c^\top h, \; c^\top (1 - h))
            \quad \text{for } h \in [0, 1]^n, \qquad
            c_n = p^2 \sum_s r_s \, (\text{inner}_{sn} + \text{outer}_{sn})

        where :math:`r_s` is the share of side s in the sum of both risks, and inner and
        outer are the masses of row n at that side. The second derivative is the variance
        of a difference that is at most p.
        """
        value, sides = self._sides(scores)
        masses = [share * (inner + outer) for share, inner, outer in sides]
        return value, self._gradient(sides), self.p**2 * (masses[0] + masses[1])

    def _gradient(self, sides: list[tuple[float, Floats, Floats]]) -> Floats:
        (top, inner, outer), (bottom, bottom_inner, bottom_outer) = sides
        return self.p * (top * (outer - inner) + bottom * (bottom_inner - bottom_outer))

    def _sides(self, scores: Floats) -> tuple[float, list[tuple[float, Floats, Floats]]]:
        """Return J and, for each side, its share in the sum and its inner and outer masses."""
        top, *top_masses = self.top.row_masses(scores)
        bottom, *bottom_masses = self.bottom.row_masses(scores)
        log_risks = np.array([self.p * top, self.p * bottom + self.log_bottom_weight])
        value = float(np.logaddexp(*log_risks))
        shares = np.exp(log_risks - value).tolist()
        return value, [(shares[0], *top_masses), (shares[1], *bottom_masses)]


def _side(preferences: Preferences, p: float, side: str, is_relative: bool = True) -> Any:
    """Return the push from one side, of rows or of listed pairs."""
    if isinstance(preferences, GivenPairs):
        return ListedExponential(preferences, p, side)
    return SidePush(preferences, p, side, is_relative)


PUSHES: dict[str, Callable[[Preferences, float, float], Push]] = {
    "top": lambda preferences, p, _: _side(preferences, p, "top"),
    "crucial_pairs": lambda preferences, p, _: _side(preferences, p, "top", is_relative=False),
    "bottom": lambda preferences, p, _: _side(preferences, p, "bottom"),
    "both": BothPush,
    "ir": lambda preferences, _, __: InformationRetrievalPush(preferences),
}
"""Makers of each push by the name that `PNormPushRanker` takes as ``push``.

Each is called with the preferences, p and the bottom weight.
"""


def make_push(
    preferences: Preferences,
    loss: str | MarginLoss,
    p: float,
    push: str,
    bottom_weight: float = 1.0,
) -> Push:
    """Return the push with a margin loss: one of ``PUSHES`` for the exponential loss.

    Raises
    ------
    ValueError
        If `push` is "ir" for pairs that are listed one by one.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.objectives import Preferences, make_push
    >>> preferences = Preferences.from_labels(np.array([1, 1, 0, 0]), None, np.ones(4))
    >>> for loss in ("exponential", "logistic"):
    ...     push = make_push(preferences, loss, 1.0, "top")
    ...     print(type(push).__name__, round(push.value(np.zeros(4)), 2))
    SidePush 1.39
    MarginPush 0.69
    """
    loss = as_margin_loss(loss, "make_push")
    if isinstance(preferences, GivenPairs) and push == "ir":
        raise ValueError("Pairs that are listed one by one have no push='ir'. Use push='bottom'.")
    if loss.factorises:
        return PUSHES[push](preferences, float(p), bottom_weight)
    if isinstance(preferences, GivenPairs):
        return ListedPairLoss(preferences, loss, float(p), push, bottom_weight)
    return MarginPush(preferences, loss, float(p), push, bottom_weight)
