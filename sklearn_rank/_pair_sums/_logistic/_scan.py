r"""Logistic loss of all pairs of two groups of rows, by one sort and scans over the sorted rows.

With :math:`t = e^{-|z|}`, which is in [0, 1], the remainders of the kernels are

.. math:: \frac{t}{1 + t}, \qquad \frac{t}{(1 + t)^2}, \qquad \log(1 + t)

Each is analytic but for t = -1, so that polynomials in t of degree d are exact to
:math:`\varrho^{-d}`, :math:`\varrho = 3 + \sqrt 8`. A power of t is an exponential of a distance,
:math:`t^j = e^{-j (x_i - x_k)}`, and the sum of these over the earlier rows is found from that of
the row before: it decays by the distance of both, and the weight of that row is added. No term is
negative, so nothing cancels, wherever the scores lie.

The sorted rows are divided into *lanes* of one length, whose scans are made side by side.
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
"""How much more exact polynomials must be for the sums of t / (1 + t)^2 too."""

_MOST_LANES = 1024
"""The sums of so many lanes stay in the second-level cache."""


class SortedRows:
    """Upper rows with scores f and lower rows with scores g, sorted together.

    Their sums over the pairs, see `PartSums`, have a price that does not depend on the scores.

    Parameters
    ----------
    f, g : ndarray of shape (n_upper,) and (n_lower,)
        Scores.
    allowed : float
        The share of a row's pairs by which its sums may be wrong.
    """

    rows = slice(None)

    def __init__(self, f: Floats, g: Floats, allowed: float) -> None:
        self.n_upper: int | None = len(f)
        self._allowed = allowed
        self.x, self.sides = sort_sides(np.concatenate([f, g]), len(f))

    def heights(self, weight: Floats, side: str) -> Floats:
        """Return the loss of each row's pairs."""
        role = "lower" if side == "top" else "upper"
        weights = self._weights(role, weight)
        rest = self._rest(weights, 1, self._allowed)
        found = self.sides.split(rest[0])[role == "lower"]
        return found + self._ramp(role, weight)

    def sums(
        self, above: Floats, below: Floats, with_second: bool = False, with_value: bool = True
    ) -> PairSums:
        """Return the sums with separate weights for the two roles of a row."""
        rest = self._rest((above, below), 2 + with_second, self._allowed / _EXTRA)
        heights = self.sides.split(rest[0])[1] + self._ramp("lower", above)
        # Of upper rows the later pairs are out of order, of lower rows the earlier ones.
        np.negative(rest[1], out=rest[1], where=~self.sides.is_upper)
        rest[1] += np.where(self.sides.is_upper, *self.sides.masses(above, below)[::-1])
        np.maximum(rest, 0.0, out=rest)  # rounding where no row is near
        found = [part for each in rest[1:] for part in self.sides.split(each)]
        for slopes in found[:2]:
            np.negative(slopes, out=slopes)
        return PairSums(float(below @ heights), *found)

    def _weights(self, role: str, weight: Floats) -> tuple[Floats, Floats]:
        """Return weights of both sides, of which those of the rows in a role are not needed."""
        n_others = len(self.x) - len(weight)
        return (weight, np.zeros(n_others)) if role == "lower" else (np.zeros(n_others), weight)

    def _ramp(self, role: str, weight: Floats) -> Floats:
        """Return the sums of max(z, 0) for rows in a role."""
        gap = self.sides.gap
        behind, ahead = self.sides.masses(*self._weights(role, weight))
        if role == "lower":
            return self.sides.split(integral(gap, behind))[1]
        return self.sides.split(integral(gap[::-1], ahead[::-1])[::-1])[0]

    def _rest(self, weights: tuple[Floats, Floats], n_kernels: int, allowed: float) -> Floats:
        """Return the sums of the remainders, wrong by the allowed share: see `_scanned`."""
        degree = int(np.ceil(-np.log(allowed) / _RATE))
        return _scanned(self, weights, _kernels(degree)[:n_kernels])


@cache
def _kernels(degree: int) -> Floats:
    """Return coefficients of t, ..., t^degree: of log(1 + t), t / (1 + t) and t / (1 + t)^2."""

    def coefficients(kernel: Callable[[Floats], Floats]) -> Floats:
        series = Chebyshev.interpolate(kernel, degree - 1, [0.0, 1.0])
        powers = series.convert(kind=Polynomial, domain=[-1.0, 1.0]).coef
        return np.pad(powers, (0, degree - len(powers)))

    # Of the kernels over t: all are 0 at t = 0.
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

    gap = np.append(np.inf, rows.sides.gap)
    decay = in_lanes(np.where(gap < REACH, np.exp(-gap), 0.0))  # tiny products would be slow
    weight = np.stack([in_lanes(mass) for mass in rows.sides.weights(*weights)], axis=1)
    is_upper = in_lanes(rows.sides.is_upper) > 0
    starts = np.arange(length, n, length)
    near = [np.searchsorted(rows.x, rows.x[starts - k] + z) for k, z in ((0, -REACH), (1, REACH))]
    n_near = int(np.max(np.abs(near - starts), initial=0))
    found = np.zeros((length, len(kernels), n_lanes))
    sums, powers = np.empty((degree, 2, n_lanes)), np.empty((degree, 1, n_lanes))
    flat = np.empty((len(kernels), 2 * n_lanes))

    def move(decay: Floats) -> None:
        """Let the sums decay by the distance from the last row to this."""
        powers[0], known = decay, 1
        while known < degree:
            more = min(known, degree - known)
            np.multiply(powers[:more], powers[known - 1], out=powers[known : known + more])
            known += more
        np.multiply(sums, powers, out=sums)

    for way in (1, -1):
        steps, in_order = range(length)[::way], sums[:, :, ::way]
        # First the sums at the ends of the lanes, from which the next ones begin.
        sums[:] = 0.0
        for step in steps[max(length - n_near, 0) :]:
            move(decay[step])
            np.add(sums, weight[step], out=sums)
        if n_near > length:
            edges = np.arange(n_lanes) * length + (length - 1 if way == 1 else 0)
            _carry(in_order, rows.x[np.minimum(edges, n - 1)][::way])
        in_order[:, :, 1:] = in_order[:, :, :-1]
        in_order[:, :, 0] = 0.0
        for step in steps:
            move(decay[step])
            # The first two apart: they round alike whether or not the third is wanted.
            for some in (slice(2), slice(2, None)):
                np.dot(kernels[some], sums.reshape(degree, -1), out=flat[some])
            found[step] += np.where(is_upper[step], flat[:, n_lanes:], flat[:, :n_lanes])
            np.add(sums, weight[step], out=sums)
        # The other way the distances are those to the later rows.
        decay = np.vstack([decay[1:], np.append(decay[:1, 1:], [[0.0]], axis=1)])
        kernels = kernels * np.array([1.0, -1.0, 1.0])[: len(kernels), np.newaxis]
    return found.transpose(1, 2, 0).reshape(len(kernels), -1)[:, :n]


def _carry(sums: Floats, x: Floats) -> None:
    """Add to the sums at the ends of the lanes, at scores x, those of all the lanes before."""
    powers = np.arange(1, len(sums) + 1)[:, np.newaxis]
    decay = np.exp(-np.minimum(np.abs(np.diff(x)), REACH)) ** powers
    for lane in range(1, len(x)):
        sums[:, :, lane] += sums[:, :, lane - 1] * decay[:, lane - 1, np.newaxis]
