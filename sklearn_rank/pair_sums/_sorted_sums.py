r"""Hinge and squared hinge loss of all pairs of two groups of rows, by one sort.

A pair is active where the *key* ``f_i - 1`` of its upper row is at most the score g_k of
its lower row. With A(t) the weight of the upper rows with keys up to t, and B(t) that of
the lower rows with scores from t on,

    sum of the hinge losses    = integral A(t) B(t) dt

and likewise for everything below: sums of products of lengths and weights, none of them
negative, so that nothing cancels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_rank._protocols import Floats, Indices, Mask
from sklearn_rank.pair_sums._moment_sums import with_constant_second
from sklearn_rank.pair_sums._packed_sort import sort_with_order
from sklearn_rank.pair_sums._row_histogram import blocks, scattered
from sklearn_rank.pair_sums.group_sums import PairSums


@dataclass(frozen=True, eq=False)
class _Line:
    """Keys of the upper rows and scores of the lower rows, sorted together.

    Attributes
    ----------
    order : ndarray of shape (n_rows,)
        Rows, the upper ones first, by rising place.
    is_upper : ndarray of shape (n_rows,)
        Which of them are upper rows.
    gap : ndarray of shape (n_rows - 1,)
        Distance from each place to the next.
    n_upper : int
        Number of upper rows.
    """

    order: Indices
    is_upper: Mask
    gap: Floats
    n_upper: int

    @classmethod
    def of(cls, f: Floats, g: Floats) -> _Line:
        """Sort."""
        place: Floats = np.empty(len(f) + len(g))
        np.subtract(f, 1.0, out=place[: len(f)])
        place[len(f) :] = g
        place, order = sort_with_order(place)
        return cls(order, order < len(f), np.diff(place), len(f))

    def masses(self, a: Floats, b: Floats) -> tuple[Floats, Floats]:
        """Return A up to each place and B from each place on."""
        # In place: pages of fresh arrays cost more than the sums.
        above, below = np.empty((2, len(self.order)))
        if (a == a[0]).all() and (b == b[0]).all():
            np.multiply(self.is_upper, a[0], out=above)
            np.multiply(~self.is_upper, b[0], out=below)
        else:
            np.concatenate([a, b]).take(self.order, out=below, mode="clip")
            np.multiply(below, self.is_upper, out=above)
            below -= above
        np.cumsum(above, out=above)
        np.cumsum(below[::-1], out=below[::-1])
        return above, below

    def split(self, upper: Floats, lower: Floats) -> tuple[Floats, Floats]:
        """Return values at places, separate ones for the two sides, to their rows."""
        rows = scattered(np.where(self.is_upper, upper, lower), self.order)
        return rows[: self.n_upper], rows[self.n_upper :]

    def active(self, above: Floats, below: Floats) -> tuple[Floats, Floats]:
        """Return the weight of each row's active pairs: of upper rows, and of lower rows.

        All rows of one place take its last A and its first B.
        """
        is_new = self.gap != 0
        if not is_new.all():
            first = np.flatnonzero(np.concatenate([[True], is_new]))
            length = np.diff(first, append=len(self.order))
            above = np.repeat(above[first + length - 1], length)
            below = np.repeat(below[first], length)
        return self.split(below, above)


def hinge_sums(f: Floats, a: Floats, g: Floats, b: Floats) -> PairSums:
    """Return the sums for upper rows with scores f, weights a and lower rows with g, b."""
    line = _Line.of(f, g)
    masses = line.masses(a, b)
    value = sum(
        float(line.gap[some] @ (masses[0][some] * masses[1][1:][some]))
        for some in blocks(len(line.gap))
    )
    upper, lower = line.active(*masses)
    return PairSums(value, np.negative(upper, out=upper), np.negative(lower, out=lower))


def hinge_heights(f: Floats, a: Floats, g: Floats) -> Floats:
    """Return the sum over the upper rows of a * (1 - (f - g))_+, for each lower row."""
    line = _Line.of(f, g)
    height = _integral(line.gap, line.masses(a, np.zeros(len(g)))[0])
    return line.split(height, height)[1]


def squared_hinge_sums(
    f: Floats, a: Floats, g: Floats, b: Floats, with_second: bool = False
) -> PairSums:
    """Return the sums for upper rows with scores f, weights a and lower rows with g, b."""
    line = _Line.of(f, g)
    sums = _squared(line, *line.masses(a, b))
    return with_constant_second(sums, a, b) if with_second else sums


def squared_hinge_heights(f: Floats, a: Floats, g: Floats) -> Floats:
    """Return the sum over the upper rows of a * (1 - (f - g))_+^2, for each lower row."""
    line = _Line.of(f, g)
    above = line.masses(a, np.zeros(len(g)))[0]
    growth = _growth(line.gap, above[:-1], _integral(line.gap, above)[:-1])
    height = _integral(growth, np.ones(len(above)))
    return line.split(height, height)[1]


def rounded_hinge_sums(
    width: float, f: Floats, a: Floats, g: Floats, b: Floats, with_second: bool = False
) -> PairSums:
    r"""Return the sums of the hinge loss with a parabola over `width` in place of the kink.

    .. math:: \phi(m) = \frac{(1 - m)_+^2 - (1 - d - m)_+^2}{2 d}, \qquad
        (1 - d - m)_+^2 = (1 - d)^2 \Bigl(1 - \frac{m}{1 - d}\Bigr)_+^2

    where m are margins and d is `width`. The second derivative counts pairs between the
    two kinks: those active at the margin 1 less those active at 1 - d.
    """
    scale = 1.0 - width
    lines = _Line.of(f, g), _Line.of(f / scale, g / scale)
    masses = [line.masses(a, b) for line in lines]
    outer, inner = (_squared(line, *mass) for line, mass in zip(lines, masses, strict=True))
    sums = PairSums(
        (outer.value - scale**2 * inner.value) / (2 * width),
        (outer.upper - scale * inner.upper) / (2 * width),
        (outer.lower - scale * inner.lower) / (2 * width),
    )
    if not with_second:
        return sums
    active, beyond = (line.active(*mass) for line, mass in zip(lines, masses, strict=True))
    # Rounding of the running sums must not leave a negative count.
    upper, lower = (np.maximum(active[n] - beyond[n], 0.0) / width for n in (0, 1))
    return sums._replace(second_upper=upper, second_lower=lower)


def rounded_hinge_heights(width: float, f: Floats, a: Floats, g: Floats) -> Floats:
    """Return the sum over the upper rows of a * phi(f - g), for each lower row."""
    scale = 1.0 - width
    inner = squared_hinge_heights(f / scale, a, g / scale)
    height = squared_hinge_heights(f, a, g) - scale**2 * inner
    return np.maximum(height, 0.0) / (2 * width)


def _squared(line: _Line, above: Floats, below: Floats) -> PairSums:
    """Return the sums of the squared hinge loss, given A and B at each place."""
    behind = _integral(line.gap, above)
    ahead = _integral(line.gap[::-1], below[::-1])[::-1]
    upper, lower = line.split(ahead, behind)
    upper *= -2.0
    lower *= -2.0
    value = sum(
        float(_growth(line.gap[some], above[some], behind[some]) @ below[1:][some])
        for some in blocks(len(line.gap))
    )
    return PairSums(value, upper, lower)


def _integral(gap: Floats, mass: Floats) -> Floats:
    """Return the integral, up to each place, of a mass constant from place to place."""
    out = np.zeros(len(mass))
    np.multiply(gap, mass[:-1], out=out[1:])
    return np.cumsum(out, out=out)


def _growth(gap: Floats, mass: Floats, integral: Floats) -> Floats:
    """Return twice the integral of the integral, from each place to the next."""
    growth = gap * mass
    growth += integral
    growth += integral
    growth *= gap
    return growth
