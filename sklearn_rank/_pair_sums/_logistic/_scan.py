r"""Logistic loss of all pairs of two groups of rows, by one sort and scans over the sorted rows.

With :math:`t = e^{-|z|}`, which is in [0, 1], the remainders of the kernels are

.. math:: \frac{t}{1 + t}, \qquad \frac{t}{(1 + t)^2}, \qquad \log(1 + t)

Each is analytic but for t = -1, so that polynomials in t of degree d have the error
:math:`\varrho^{-d}`, :math:`\varrho = 3 + \sqrt 8`. A power of t is an exponential of a distance,
:math:`t^j = e^{-j (x_i - x_k)}`. Its sum over the earlier rows follows from that of the row before:
it decays by the distance of both, and the weight of that row is added. No term is negative, so that
nothing cancels for any scores.

The sorted rows are divided into *lanes* of one length, which are scanned side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial

from sklearn_rank._core.protocols import Floats, Mask
from sklearn_rank._pair_sums._sorted_sides import integral, sort_sides
from sklearn_rank._pair_sums.group_sums import PairSums

REACH = 40.0
"""Beyond it exp(-z) is below a rounding error of one."""

_RATE = float(np.log(3.0 + np.sqrt(8.0)))
"""Logarithm of rho."""

_EXTRA = 100.0
"""Factor by which polynomials must be more exact for sums of t / (1 + t)^2, too."""

_MOST_LANES = 1024
"""Lanes whose sums stay in the second-level cache."""


class SortedRows:
    """Upper rows with scores f and lower rows with scores g, sorted together.

    The time of their sums over the pairs, see `PartSums`, does not depend on the scores.

    Parameters
    ----------
    f, g : ndarray of shape (n_upper,) and (n_lower,)
        Scores.
    error : float
        The share of a row's pairs by which its sums may be wrong.
    """

    rows = slice(None)

    def __init__(self, f: Floats, g: Floats, error: float) -> None:
        self.n_upper: int | None = len(f)
        self._error = error
        self.x, self.sides = sort_sides(np.concatenate([f, g]), len(f))

    def heights(self, weight: Floats, side: str) -> Floats:
        """Return the loss of each row's pairs."""
        role = "lower" if side == "top" else "upper"
        remainder = self._remainders(self._weights(role, weight), 1, self._error)
        upper, lower = self.sides.split(remainder[0])
        return (lower if role == "lower" else upper) + self._ramp(role, weight)

    def sums(
        self, w_upper: Floats, w_lower: Floats, with_second: bool = False, with_value: bool = True
    ) -> PairSums:
        """Return the sums with separate weights for the two roles of a row."""
        remainders = self._remainders((w_upper, w_lower), 2 + with_second, self._error / _EXTRA)
        heights = self.sides.split(remainders[0])[1] + self._ramp("lower", w_upper)
        # Pairs of an upper row with later rows are out of order, of a lower row with earlier rows.
        np.negative(remainders[1], out=remainders[1], where=~self.sides.is_upper)
        remainders[1] += np.where(self.sides.is_upper, *self.sides.masses(w_upper, w_lower)[::-1])
        np.maximum(remainders, 0.0, out=remainders)  # sums near zero may be rounding
        upper, lower, *second = [x for row in remainders[1:] for x in self.sides.split(row)]
        for slopes in (upper, lower):
            np.negative(slopes, out=slopes)
        return PairSums(float(w_lower @ heights), upper, lower, *second)

    def _weights(self, role: str, weight: Floats) -> tuple[Floats, Floats]:
        """Return the weights of both sides, 0 for the rows in the role itself."""
        n_others = len(self.x) - len(weight)
        return (weight, np.zeros(n_others)) if role == "lower" else (np.zeros(n_others), weight)

    def _ramp(self, role: str, weight: Floats) -> Floats:
        """Return the sums of max(z, 0) for rows in a role."""
        distance = self.sides.spacing
        mass_behind, mass_ahead = self.sides.masses(*self._weights(role, weight))
        if role == "lower":
            return self.sides.split(integral(distance, mass_behind))[1]
        return self.sides.split(integral(distance[::-1], mass_ahead[::-1])[::-1])[0]

    def _remainders(self, weights: tuple[Floats, Floats], n_kernels: int, error: float) -> Floats:
        """Return the sums of the remainders, up to an error: see `_scanned`."""
        degree = int(np.ceil(-np.log(error) / _RATE))
        return _scanned(self, weights, _kernels(degree)[:n_kernels])


@cache
def _kernels(degree: int) -> Floats:
    """Return coefficients of t, ..., t^degree: of log(1 + t), t / (1 + t) and t / (1 + t)^2."""

    def coefficients(kernel: Callable[[Floats], Floats]) -> Floats:
        series = Chebyshev.interpolate(kernel, degree - 1, [0.0, 1.0])
        powers = series.convert(kind=Polynomial, domain=[-1.0, 1.0]).coef
        return np.pad(powers, (0, degree - len(powers)))

    # Of the kernels divided by t: all are 0 at t = 0.
    over_t = (lambda t: np.log1p(t) / t, lambda t: 1 / (1 + t), lambda t: 1 / (1 + t) ** 2)
    return np.array([coefficients(kernel) for kernel in over_t])


def _scanned(rows: SortedRows, weights: tuple[Floats, Floats], kernels: Floats) -> Floats:
    """Return each row's sums of the remainders over the rows of the other side.

    Of t / (1 + t) that over the earlier rows less that over the later ones.
    Shape (n_kernels, n_rows).
    """
    n, degree = len(rows.x), kernels.shape[1]
    n_lanes = int(np.clip(4 * np.sqrt(n), 1, _MOST_LANES))
    length = -(-n // n_lanes)

    def in_lanes(values: Floats | Mask) -> Floats:
        padded = np.zeros(n_lanes * length)
        padded[: len(values)] = values
        return padded.reshape(n_lanes, length).T.copy()

    gap = np.append(np.inf, rows.sides.spacing)
    decay = in_lanes(np.where(gap < REACH, np.exp(-gap), 0.0))  # subnormal products are slow
    weight = np.stack([in_lanes(mass) for mass in rows.sides.weights(*weights)], axis=1)
    is_upper = in_lanes(rows.sides.is_upper) > 0
    # The most rows within reach of the ends of the lanes.
    starts = np.arange(length, n, length)
    ends = [np.searchsorted(rows.x, rows.x[starts - k] + z) for k, z in ((0, -REACH), (1, REACH))]
    n_in_reach = int(np.max(np.abs(ends - starts), initial=0))
    out = np.zeros((length, len(kernels), n_lanes))
    sums, powers = np.empty((degree, 2, n_lanes)), np.empty((degree, 1, n_lanes))
    products = np.empty((len(kernels), 2 * n_lanes))

    def decay_sums(decay: Floats) -> None:
        """Let the sums decay by the distance from the previous row to this one."""
        powers[0], n_powers = decay, 1
        while n_powers < degree:  # doubles their number
            n_new = min(n_powers, degree - n_powers)
            last_power, n_powers = n_powers - 1, n_powers + n_new
            np.multiply(powers[:n_new], powers[last_power], out=powers[last_power + 1 : n_powers])
        np.multiply(sums, powers, out=sums)

    for direction in (1, -1):
        steps, ordered_sums = range(length)[::direction], sums[:, :, ::direction]
        # 1. The sums at the ends of the lanes, with which the next lanes begin.
        sums[:] = 0.0
        for step in steps[max(length - n_in_reach, 0) :]:
            decay_sums(decay[step])
            np.add(sums, weight[step], out=sums)
        if n_in_reach > length:
            lane_ends = np.arange(n_lanes) * length + (length - 1 if direction == 1 else 0)
            _carry(ordered_sums, rows.x[np.minimum(lane_ends, n - 1)][::direction])
        ordered_sums[:, :, 1:] = ordered_sums[:, :, :-1]
        ordered_sums[:, :, 0] = 0.0
        # 2. The scan of all lanes side by side.
        for step in steps:
            decay_sums(decay[step])
            # The first two apart: they round alike with and without the third.
            for orders in (slice(2), slice(2, None)):
                np.dot(kernels[orders], sums.reshape(degree, -1), out=products[orders])
            out[step] += np.where(is_upper[step], products[:, n_lanes:], products[:, :n_lanes])
            np.add(sums, weight[step], out=sums)
        # In the other direction distances are those to the later rows.
        decay = np.vstack([decay[1:], np.append(decay[:1, 1:], [[0.0]], axis=1)])
        kernels = kernels * np.array([1.0, -1.0, 1.0])[: len(kernels), np.newaxis]
    return out.transpose(1, 2, 0).reshape(len(kernels), -1)[:, :n]


def _carry(sums: Floats, x: Floats) -> None:
    """Add the sums of all earlier lanes to the sums at the ends of the lanes, at scores x."""
    powers = np.arange(1, len(sums) + 1)[:, np.newaxis]
    decay = np.exp(-np.minimum(np.abs(np.diff(x)), REACH)) ** powers
    for lane in range(1, len(x)):
        sums[:, :, lane] += sums[:, :, lane - 1] * decay[:, lane - 1, np.newaxis]
