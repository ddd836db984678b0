r"""Exponential pair objectives: sums over all pairs at the price of the rows.

Each objective is a function of the scores alone and has three methods: ``value``,
``value_and_masses`` (masses are minus the gradient) and ``slope``, its derivative along
a direction. ``PUSHES`` collects them by the name users pass as ``push``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

from sklearn_rank._protocols import Floats, PairShares, Values
from sklearn_rank.pair_sums import ExponentialSums, log_sum_exp, normalised
from sklearn_rank.preferences import Preferences

Parts = tuple[Floats, Floats]


def _log(values: Any) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


class SidePush(ExponentialSums):
    r"""P-norm push from one side of the list.

    .. math:: J_p(f) = \frac1p \log \sum_k w_k
        \Bigl(\sum_{i \text{ above } k} w_i e^{-(f_i - f_k)}\Bigr)^p

    where f are scores, w row weights, i runs over the rows above row k. This is
    ``side="top"``: rows below are pushed away from the top. ``side="bottom"`` is its
    mirror image, with the roles of i and k exchanged; p = 1 is RankBoost's objective from
    either side, and ``p = inf`` the maximum over k.

    The rows inside the bracket are called *inner* and carry exp(-s f), the others
    *outer* and carry exp(s p f), where s is +1 at the top and -1 at the bottom.

    Parameters
    ----------
    preferences : Preferences
        The comparable pairs.
    p : float in [1, inf]
        How strongly the sum concentrates on the end of the list.
    side : {"top", "bottom"}
        Which end.

    References
    ----------
    Rudin2009, sec. 2 (the sum), sec. 9.2 (``p = inf``). Freund2003, Figure 1 (p = 1).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.objectives import SidePush
    >>> from sklearn_rank.preferences import Preferences
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

    def value_and_masses(self, scores: Floats) -> tuple[float, Floats]:
        """Return J_p and minus its gradient; p must be finite."""
        value, gradient = self.value_and_gradient(scores)
        return value, -gradient

    def value(self, scores: Floats) -> float:
        """Return J_p; p may be infinite."""
        inner = normalised(self.preferences, self._log_inner(scores))[0]
        if np.isinf(self.p):
            outer = self.preferences.reduce(np.maximum, self.sign * scores)
            return float(np.max(outer + self._inner_scan(inner)))
        outer = normalised(self.preferences, self._log_outer(scores))[0]
        return self._segment_masses(inner, outer)[0]

    def pair_shares(self, scores: Floats, h: Values) -> PairShares | None:
        """Divide the pair masses by a 0/1 weak ranker h, where p or the list allows it.

        At p = 1 the objective is bilinear in the two sides, so the mass of the pairs
        with ``h_i = 1, h_k = 0`` is the objective of those rows alone; in one
        bipartite list it is a product of two row shares at every p.
        """
        bipartite = self.preferences.bipartite_segments
        if self.p != 1 and bipartite is None:
            return None
        inner, outer, inner_parts, outer_parts = self._split(scores, h)
        value = self._segment_masses(inner, outer)[0]

        def share(inner_h: int, outer_h: int) -> float:
            one, other = inner_parts[inner_h], outer_parts[outer_h]
            if bipartite is not None:
                i, o = bipartite if self.side == "top" else bipartite[::-1]
                return float(one[i] * other[o])
            pairs = outer + _log(other) + self._inner_scan(inner + _log(one))
            return float(np.exp(min(log_sum_exp(pairs) - value, 0.0)))

        above_only, below_only = share(1, 0), share(0, 1)
        if self.side == "bottom":
            above_only, below_only = below_only, above_only
        return PairShares(above_only, below_only, share(0, 0) + share(1, 1))

    def slope(self, scores: Floats, h: Values) -> Callable[[float], float]:
        """Return a -> derivative of J_p(scores + a h).

        A 0/1 weak ranker moves every segment sum as a whole, so that the line search
        touches two numbers for each segment instead of the rows.
        """
        if h.dtype != np.bool_:
            if self.preferences.bipartite_segments is not None:
                return self._bipartite_slope(scores, h)
            return lambda a: -float(self.value_and_masses(scores + a * h)[1] @ h)
        inner, outer, inner_parts, outer_parts = self._split(scores, h)
        inner_zero, inner_one = (_log(part) for part in inner_parts)
        outer_zero, outer_one = (_log(part) for part in outer_parts)

        def derivative(a: float) -> float:
            inner_step, outer_step = -self.sign * a, self.sign * self.p * a
            inner_a = np.logaddexp(inner_one + inner_step, inner_zero)
            outer_a = np.logaddexp(outer_one + outer_step, outer_zero)
            _, pull, push = self._segment_masses(inner + inner_a, outer + outer_a)
            pull = pull @ np.exp(inner_one + inner_step - inner_a)
            push = push @ np.exp(outer_one + outer_step - outer_a)
            return float(self.sign * (push - pull))

        return derivative

    def _bipartite_slope(self, scores: Floats, h: Floats) -> Callable[[float], float]:
        """Return the slope on one bipartite list: two means of h, under tilted masses."""
        inner, outer = self.preferences.bipartite_segments or (0, 0)
        if self.side == "bottom":
            inner, outer = outer, inner
        means = [
            self._tilted_mean(self._log_inner(scores), h, inner, -self.sign),
            self._tilted_mean(self._log_outer(scores), h, outer, self.sign * self.p),
        ]
        return lambda a: self.sign * (means[1](a) - means[0](a))

    def _tilted_mean(
        self, log_mass: Floats, h: Floats, segment: int, rate: float
    ) -> Callable[[float], float]:
        """Return a -> mean of h over a segment, with masses times exp(rate a h)."""
        first = self.preferences.segments.start[segment]
        rows = slice(first, first + self.preferences.segments.length[segment])
        log_mass, h = log_mass[rows], h[rows]

        def mean(a: float) -> float:
            exponent = h * (rate * a)
            exponent += log_mass
            exponent -= exponent.max()
            mass = np.exp(exponent, out=exponent)
            return float(mass @ h) / float(mass.sum())

        return mean

    def _split(self, scores: Floats, h: Values) -> tuple[Floats, Floats, Parts, Parts]:
        """Segment sums of both sides, and their shares with h = 0 and with h = 1.

        Both shares are sums: one minus the other would lose a small share to rounding.
        """
        inner, inner_share = normalised(self.preferences, self._log_inner(scores))
        outer, outer_share = normalised(self.preferences, self._log_outer(scores))
        reduce = self.preferences.reduce
        inner_parts = reduce(np.add, inner_share * ~h), reduce(np.add, inner_share * h)
        outer_parts = reduce(np.add, outer_share * ~h), reduce(np.add, outer_share * h)
        return inner, outer, inner_parts, outer_parts


class RowwiseLine(ABC):
    """Line search through the rows, for objectives without a shortcut."""

    @abstractmethod
    def value_and_masses(self, scores: Floats) -> tuple[float, Floats]:
        """Return the objective and minus its gradient."""

    def value(self, scores: Floats) -> float:
        """Return the objective."""
        return self.value_and_masses(scores)[0]

    def pair_shares(self, scores: Floats, h: Values) -> PairShares | None:
        """Return None: there is no closed-form step."""
        return None

    def slope(self, scores: Floats, h: Values) -> Callable[[float], float]:
        """Return a -> derivative of the objective at scores + a h."""
        return lambda a: -float(self.value_and_masses(scores + a * h)[1] @ h)


class BothPush(RowwiseLine):
    r"""Push at the top and at the bottom.

    .. math:: J(f) = \log(R_\text{top}(f) + b \, R_\text{bottom}(f))

    where :math:`R = e^{p J_p}` of `SidePush` for each side and b is `bottom_weight`.

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
    Rudin2009, sec. 2 (the sum for the top), no number at hand (both ends).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.objectives import BothPush
    >>> from sklearn_rank.preferences import Preferences
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
        self.p = p
        self.top = SidePush(preferences, p, "top")
        self.bottom = SidePush(preferences, p, "bottom")
        self.log_bottom_weight = np.log(bottom_weight) if bottom_weight else -np.inf

    def value_and_masses(self, scores: Floats) -> tuple[float, Floats]:
        """Return J and minus its gradient."""
        top, masses = self.top.value_and_masses(scores)
        bottom, bottom_masses = self.bottom.value_and_masses(scores)
        log_top, log_bottom = self.p * top, self.p * bottom + self.log_bottom_weight
        value = float(np.logaddexp(log_top, log_bottom))
        masses *= self.p * np.exp(log_top - value)
        masses += self.p * np.exp(log_bottom - value) * bottom_masses
        return value, masses


class InformationRetrievalPush(RowwiseLine):
    r"""Push with a concave price for each row above, the IR push.

    .. math:: J(f) = \sum_i w_i \ln\Bigl(1 +
        \sum_{k \text{ below } i} w_k e^{-(f_i - f_k)}\Bigr)

    where f are scores and w row weights. Unlike the other pushes it is not in the log
    domain: a relevant row far down costs no more than its own term, so that the
    objective concentrates on the rows that can still reach the top.

    Parameters
    ----------
    preferences : Preferences
        The comparable pairs.

    References
    ----------
    Rudin2009, no number at hand (the IR push).

    Examples
    --------
    A row that sinks by 10 costs 10 more, however deep it is:

    >>> import numpy as np
    >>> from sklearn_rank.objectives import InformationRetrievalPush
    >>> from sklearn_rank.preferences import Preferences
    >>> preferences = Preferences.from_labels(np.array([1, 1, 0, 0]), None, np.ones(4))
    >>> push = InformationRetrievalPush(preferences)
    >>> [round(push.value(np.array([9.0, low, 1.0, 0.0])), 2) for low in (-10, -20, -30)]
    [11.31, 21.31, 31.31]
    """

    def __init__(self, preferences: Preferences) -> None:
        self.preferences = preferences

    def value_and_masses(self, scores: Floats) -> tuple[float, Floats]:
        """Return J and minus its gradient."""
        rows = self.preferences
        segment, share = normalised(rows, rows.log_weight + scores)
        below = rows.scan_below(np.logaddexp, segment, -np.inf)
        excess = rows.spread(below) - scores
        value = float(rows.weight @ np.logaddexp(0.0, excess))
        masses = rows.weight * expit(excess)
        pull = _log(rows.reduce(np.add, masses))
        # A segment with nothing below pulls nothing: avoid -inf - (-inf).
        pull -= np.where(np.isfinite(below), below, 0.0)
        pull = rows.scan_above(np.logaddexp, pull, -np.inf)
        # No segment is pushed more than all rows are pulled, whatever rounding says.
        push = np.exp(np.minimum(pull + segment, _log(masses.sum())))
        masses -= share * rows.spread(push)
        return value, masses


Push = SidePush | RowwiseLine
"""Any push: a type for annotations."""

PUSHES: dict[str, Callable[[Preferences, float, float], Push]] = {
    "top": lambda preferences, p, _: SidePush(preferences, p, "top"),
    "bottom": lambda preferences, p, _: SidePush(preferences, p, "bottom"),
    "both": BothPush,
    "ir": lambda preferences, _, __: InformationRetrievalPush(preferences),
}
"""Makers of each push by the name that `PNormPushRanker` takes as ``push``.

Each is called with the preferences, p and the bottom weight.
"""
