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
from sklearn_rank._pair_sums._logistic._logistic_sums import REACH, Sums
from sklearn_rank._pair_sums._sorted_sides import integral, sort_sides
from sklearn_rank._pair_sums.group_sums import EMPTY

_RATE = float(np.log(3.0 + np.sqrt(8.0)))
"""Logarithm of rho."""

_TAILS = 3.2
"""Bound of the sum of t over rows spread evenly on both sides, one in each unit of length."""

_LARGEST = 2.0**50
"""Largest score from which whole numbers are taken away exactly."""

_EXTRA = (1.0, 1.0, 100.0)
"""How much more exact the sums of t / (1 + t)^2 need the others to be, by the number of orders."""

_MOST_LANES = 1024
"""The sums of so many lanes stay in the second-level cache."""


def scan_sums(rows: SortedRows, allowed: float, n_orders: int) -> Sums:
    """Return the sums of any scores, at a price that does not depend on them."""
    kernels = _kernels(_degree(rows, allowed / _EXTRA[n_orders]))[: n_orders + 1]
    rest = _rest_sums(rows, kernels)
    heights = rows.sides.split(integral(rows.sides.gap, rows.behind) + rest[0])[1]
    value = float(rows.b @ heights)
    if not n_orders:
        return Sums(value, heights, EMPTY, EMPTY)
    # Of upper rows the later pairs are out of order, of lower rows the earlier ones.
    np.negative(rest[1], out=rest[1], where=~rows.sides.is_upper)
    rest[1] += np.where(rows.sides.is_upper, rows.ahead, rows.behind)
    np.maximum(rest, 0.0, out=rest)  # rounding where no row is near
    upper, lower = zip(*map(rows.sides.split, rest[1:]), strict=True)
    return Sums(value, EMPTY, np.stack(upper), np.stack(lower))


class SortedRows:
    """Upper rows with scores f, weights a and lower rows with g, b, sorted together.

    Attributes
    ----------
    x : ndarray of shape (n_rows,)
        Scores, rising.
    sides : SortedSides
        The order.
    masses : tuple of two ndarrays of shape (n_rows,)
        Weights as upper and as lower rows.
    behind, ahead : ndarray of shape (n_rows,)
        Weight of the upper rows up to each row, and of the lower rows from it on.
    """

    def __init__(self, f: Floats, a: Floats, g: Floats, b: Floats) -> None:
        self.a, self.b = a, b
        self.x, self.sides = sort_sides(np.concatenate([f, g]), len(f))
        self.masses = self.sides.weights(a, b)
        self.behind, self.ahead = self.sides.masses(a, b)

        self._taken = np.floor(np.maximum(self.sides.gap - REACH, 0.0))

    @property
    def length(self) -> float:
        """Length of the axis without gaps; infinite where they can't be taken away exactly."""
        if max(-self.x[0], self.x[-1]) > _LARGEST:
            return np.inf
        return float(self.x[-1] - self.x[0] - self._taken.sum())

    def without_gaps(self) -> tuple[Floats, Floats, Floats]:
        """Shorten stretches without rows to little more than `REACH`; return both sides' scores.

        Pairs across such a stretch count fully or not at all, so that their sigmoids stay as they
        are. The last are the heights that the lower rows lose: log(1 + exp(z)) loses exactly the
        length taken away, of whole numbers, which rounds nothing.
        """
        x = self.x - np.cumsum(np.append(np.floor(self.x[0]), self._taken))
        return *self.sides.split(x), self.sides.split(integral(self._taken, self.behind))[1]


def _degree(rows: SortedRows, allowed: float) -> int:
    """Return the degree of polynomials that are wrong by the share `allowed` of a row's pairs."""
    # The errors decay as t does: only near rows have a part in them.
    some = np.arange(0, len(rows.x), 8)
    crowd = int(np.max(np.searchsorted(rows.x, rows.x[some] + 1.0) - some)) + 8
    heaviest = max(float(side.max()) / (float(side.sum()) or 1.0) for side in (rows.a, rows.b))
    share = min(_TAILS * crowd * heaviest, 1.0)
    return max(int(np.ceil(np.log(max(share / allowed, 1.0)) / _RATE)), 4)


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


def _rest_sums(rows: SortedRows, kernels: Floats) -> Floats:
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
    weight = np.stack([in_lanes(mass) for mass in rows.masses], axis=1)
    is_upper = in_lanes(rows.sides.is_upper) > 0
    starts = np.arange(length, n, length)
    near = [np.searchsorted(rows.x, rows.x[starts - k] + z) for k, z in ((0, -REACH), (1, REACH))]
    n_near = int(np.max(np.abs(near - starts), initial=0))
    found = np.zeros((length, len(kernels), n_lanes))
    sums, powers = np.empty((degree, 2, n_lanes)), np.empty((degree, 1, n_lanes))
    both = np.empty((len(kernels), 2, n_lanes))

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
            np.dot(kernels, sums.reshape(degree, -1), out=both.reshape(len(kernels), -1))
            found[step] += np.where(is_upper[step], both[:, 1], both[:, 0])
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
