r"""Exponentials of the margins of all pairs, summed in time linear in the rows.

An exponential of a margin factorises, ``exp(-(f_i - f_k)) = exp(-f_i) * exp(f_k)``, so
a sum over the pairs of a segment with the segments above it needs only one number for
each segment. Everything is kept in the log domain: no score overflows, at any power.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.sums import shared_property
from sklearn_rank._pair_sums.group_sums import EMPTY, PairSums

_WIDEST = 600.0
"""Range of exponents whose exponentials, shifted together, are all far from underflow."""


_FIRST_POWER, _POWER_RATIO = 64.0, 4.0
_POWER_GAP = 1e-4
"""``p = inf`` is reached when J_p can exceed its objective by no more than this."""


def growing_powers(weight: float) -> Iterator[float]:
    """Yield p = 64, 256, 1024, ...; at the last the J_p of a push is close to J_inf.

    It exceeds J_inf by at most ``log(weight) / p``, with `weight` that of all heights.
    """
    p, log_weight = _FIRST_POWER, float(np.log(weight + 1))
    yield p
    while log_weight / p > _POWER_GAP:
        p *= _POWER_RATIO
        yield p


def safe_log(values: Any) -> Floats:
    """Return logarithms, without a warning for the logarithm of zero (-inf)."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


def log_sum_exp(values: Floats) -> float:
    """Return log(sum(exp(values))); SciPy's function is far slower on two numbers."""
    high = float(np.max(values, initial=-np.inf))
    return high + float(np.log(np.sum(np.exp(values - high)))) if high > -np.inf else high


class SegmentSums(NamedTuple):
    """Exponential masses of the segments in their two roles, at given scores.

    Attributes
    ----------
    log_inner, log_outer : ndarray of shape (n_segments,)
        Logarithms of the sums over the rows of each segment.
    inner_share, outer_share : ndarray of shape (n_rows,)
        Share of each row in its segment.
    """

    log_inner: Floats
    inner_share: Floats
    log_outer: Floats
    outer_share: Floats


@dataclass(frozen=True, eq=False)
class ExponentialSums:
    r"""Logarithm of the sum, over rows, of a power of the exponentials of their pairs.

    .. math:: J_p(f) = \frac1p \log \sum_k w_k \Bigl(\frac{N_k}{\max_l N_l}\Bigr)^{1-p}
        \Bigl(\sum_{i \text{ above } k} w_i e^{-(f_i - f_k)}\Bigr)^p,
        \qquad N_k = \sum_{i \text{ above } k} w_i

    where f are scores, w row weights, i runs over the rows above row k. This is
    ``side="top"``; ``side="bottom"`` is its mirror image, with the roles of i and k
    exchanged. At p = 1 both are the logarithm of the sum over all pairs; on one bipartite
    list all :math:`N_k` are equal.

    The rows inside the bracket are called *inner* and carry exp(-s f), the others
    *outer* and carry exp(s p f), where s is +1 at the top and -1 at the bottom.

    Parameters
    ----------
    preferences : Preferences
        The comparable pairs.
    p : float in [1, inf]
        The power.
    side : {"top", "bottom"}
        Which rows are the outer ones: those below, or those above.
    is_relative : bool, default=True
        Whether there is the factor of :math:`N_k`; otherwise it is 1.
    """

    preferences: Preferences
    p: float
    side: str = "top"
    is_relative: bool = True

    @property
    def sign(self) -> float:
        """+1 at the top, -1 at the bottom."""
        return 1.0 if self.side == "top" else -1.0

    def value_and_gradient(
        self, scores: Floats, sums: SegmentSums | None = None
    ) -> tuple[float, Floats]:
        """Return J_p and its gradient with respect to the scores; p must be finite."""
        if self.preferences.is_bipartite_list:
            value, share = self.bipartite_shares(scores)
            upper = share[: self.preferences.segments.start[1]]
            np.negative(upper, out=upper)
            return value, share
        value, inner, outer = self.row_masses(scores, sums)
        outer -= inner
        outer *= self.sign
        return value, outer

    def segment_sums(self, scores: Floats) -> SegmentSums:
        """Return the masses of the segments, from which everything else is found."""
        return SegmentSums(*self._inner_sums(scores), *self._outer_sums(scores))

    def row_masses(
        self, scores: Floats, sums: SegmentSums | None = None
    ) -> tuple[float, Floats, Floats]:
        """Return J_p and the mass of each row in its inner and its outer role.

        The mass of an inner row is minus s times the derivative of J_p with respect to the
        row's score inside the bracket, that of an outer row s times the one with respect to
        its score outside. They are sums, by row, of the d~ of Rudin2009, Figure 2, times the
        factor of N_k and divided by their total; at p = 1 d~ is the distribution d over pairs.
        `sums` are those of `segment_sums` at these scores, where they are known.
        """
        if self.preferences.is_bipartite_list:
            return self._bipartite_masses(scores)
        sums = sums or self.segment_sums(scores)
        value, inner_mass, outer_mass = self._segment_masses(sums.log_inner, sums.log_outer)
        inner, outer = np.empty((2, len(scores)))
        for block in self.preferences.segment_blocks:
            rows, segments = block.items, block.groups
            np.multiply(sums.inner_share[rows], block.spread(inner_mass[segments]), out=inner[rows])
            np.multiply(sums.outer_share[rows], block.spread(outer_mass[segments]), out=outer[rows])
        return value, inner, outer

    def _bipartite_masses(self, scores: Floats) -> tuple[float, Floats, Floats]:
        """Return the same on one list of two levels, where each row has one role."""
        middle = int(self.preferences.segments.start[1])
        value, share = self.bipartite_shares(scores)
        first, second = np.zeros_like(share), share
        first[:middle] = share[:middle]
        second[:middle] = 0.0
        return (value, first, second) if self.side == "top" else (value, second, first)

    def bipartite_shares(self, scores: Floats) -> tuple[float, Floats]:
        """Return J_p and each row's mass in its single role, on one list of two levels."""
        middle = int(self.preferences.segments.start[1])
        halves = slice(0, middle), slice(middle, len(scores))
        inner, outer = halves if self.side == "top" else halves[::-1]
        share = np.empty(len(scores))
        log_inner = self._share_out(scores, inner, -self.sign, share)
        return log_inner + self._share_out(scores, outer, self.sign * self.p, share) / self.p, share

    def _share_out(self, scores: Floats, rows: slice, exponent: float, share: Floats) -> float:
        """Set the shares of some rows in the sum of their exponentials; return its logarithm."""
        scores, share, shift = scores[rows], share[rows], -np.inf
        if self.preferences.has_unit_weights and len(scores):
            shift = exponent * float(scores.max() if exponent > 0 else scores.min())
        elif len(scores):
            np.multiply(scores, exponent, out=share)
            share += self.preferences.log_weight[rows]
            shift = float(share.max())
        # One shift for all processes; then some rows at a time, while they are in the cache.
        shift, total = float(self.preferences.largest(shift)), 0.0
        for block in blocks(len(share)):
            mass = share[block]
            if self.preferences.has_unit_weights:
                np.multiply(scores[block], exponent, out=mass)
            mass -= shift
            total += float(np.exp(mass, out=mass).sum())
        total = float(self.preferences.total(total))
        share *= 1.0 / total
        return shift + float(np.log(total))

    def log_heights(self, scores: Floats, weight: Floats | None = None) -> Floats:
        """Return the logarithm of each outer row's bracket; -inf where it is empty.

        The inner rows weigh `weight`, non-negative, or as much as the preferences say.
        """
        rows = self.preferences
        with np.errstate(divide="ignore"):  # weights of zero
            log_weight = rows.log_weight if weight is None else np.log(weight)
            log_mass = log_weight - self.sign * scores
            # Finite, where a segment has no weight at all: -inf - (-inf) would be NaN.
            shift = np.maximum(rows.reduce(np.maximum, log_mass), np.finfo(float).min)
            log_mass -= rows.spread(shift)
            inner = shift + np.log(rows.reduce(np.add, np.exp(log_mass, out=log_mass)))
        return self.sign * scores + rows.spread(self._inner_scan(inner))

    def _segment_masses(self, inner: Floats, outer: Floats) -> tuple[float, Floats, Floats]:
        """Return J_p and the mass of each segment in its inner and its outer role."""
        bracket = self._inner_scan(inner)
        # p J_p is the log of the sum of such terms: masses in the outer role are shares in it.
        log_terms = outer + self.p * bracket
        log_total = self.preferences.lists.log_total(log_sum_exp(log_terms))
        # Segments without inner rows (bracket = -inf) are never reached by the scan.
        finite = np.where(np.isfinite(bracket), bracket, 0.0)
        log_outside = self._inner_scan(outer + (self.p - 1) * finite, outwards=True)
        # Shares of one: at huge scores rounding must not carry them above it.
        inner_mass = np.exp(np.minimum(inner + log_outside - log_total, 0.0))
        return log_total / self.p, inner_mass, np.exp(log_terms - log_total)

    @shared_property
    def _log_pairs(self) -> Floats:
        """Logarithm of ``N_k / max N`` of each segment."""
        if not self.is_relative:
            return np.zeros(self.preferences.segments.n_groups)
        return self.preferences.log_relative_pairs(self.side)

    def _inner_sums(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return each segment's log mass in its inner role, and each row's share of it."""
        return self.preferences.normalised(scores, -self.sign)

    def _outer_sums(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return each segment's log mass in its outer role, and each row's share of it."""
        outer, share = self.preferences.normalised(scores, self.sign * self.p)
        if self.p != 1:  # at p = 1 every pair counts alike
            outer += (1 - self.p) * self._log_pairs
        return outer, share

    def _inner_scan(self, inner: Floats, *, outwards: bool = False) -> Floats:
        """Return, for each segment, the log sum of those with its inner rows.

        With `outwards` it is the log sum of those to which the segment is inner.
        """
        reverse = (self.side == "bottom") != outwards
        return self.preferences.queries.scan(np.logaddexp, inner, -np.inf, reverse=reverse)


class FactoredSums:
    """Sums of the exponential loss over all pairs, as products of sums over rows.

    Sums above the largest float are inf.

    Parameters
    ----------
    preferences : Preferences
        The comparable pairs.
    """

    def __init__(self, preferences: Preferences) -> None:
        self._sides = {side: ExponentialSums(preferences, 1.0, side) for side in ("top", "bottom")}

    def derivatives(
        self, scores: Floats, scale: float, with_second: bool = False
    ) -> tuple[float, Floats, Floats]:
        """Return the sum over all pairs, its gradient and curvature, divided by `scale`."""
        top = self._sides["top"]
        if top.preferences.is_bipartite_list:
            log_value, gradient = top.value_and_gradient(scores)
            curvature = np.abs(gradient) if with_second else EMPTY  # each row has one role
        else:
            log_value, inner, gradient = top.row_masses(scores)
            curvature = inner + gradient if with_second else EMPTY
            gradient -= inner
        # In logarithms: the sum may be infinite where its quotient by the scale is not.
        log_value -= float(np.log(scale))
        with np.errstate(over="ignore"):
            value = float(np.exp(log_value))
        return value, _unlogged(log_value, gradient), _unlogged(log_value, curvature)

    def sums(
        self, scores: Floats, w_upper: Floats, w_lower: Floats, with_second: bool, with_value: bool
    ) -> PairSums:
        """Return the sums with separate weights for the two roles of a row."""
        upper, lower = self.heights(scores, w_lower, "bottom"), self.heights(scores, w_upper)
        value = 0.0
        if with_value:
            local_value = float(w_upper @ np.where(w_upper > 0, upper, 0.0))
            value = self._sides["top"].preferences.total(local_value)
        return PairSums(value, -upper, -lower, *((upper, lower) if with_second else ()))

    def heights(
        self, scores: Floats, weight: Floats, side: str = "top", margin: float = 0.0
    ) -> Floats:
        """Return the loss of each row's pairs, each with the required `margin`."""
        with np.errstate(over="ignore"):
            return np.exp(self._sides[side].log_heights(scores, weight) + margin)


def _unlogged(log_value: float, shares: Floats) -> Floats:
    """Return ``exp(log_value) * shares``, for shares in [-1, 1], which may be overwritten."""
    with np.errstate(over="ignore", divide="ignore"):
        value = np.exp(log_value)
        if np.isfinite(value):
            return np.multiply(shares, value, out=shares)
        return np.copysign(np.exp(np.log(np.abs(shares)) + log_value), shares)
