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
from sklearn_rank.pair_sums._pair_sums import PairSums


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
        place = np.concatenate([f - 1.0, g])
        order = np.argsort(place)
        return cls(order, order < len(f), np.diff(place[order]), len(f))

    def masses(self, a: Floats, b: Floats) -> tuple[Floats, Floats]:
        """Return A up to each place and B from each place on."""
        below = np.concatenate([a, b])[self.order]
        above = below * self.is_upper
        below *= ~self.is_upper
        # In place: pages of fresh arrays cost more than the sums.
        np.cumsum(above, out=above)
        np.cumsum(below[::-1], out=below[::-1])
        return above, below

    def split(self, upper: Floats, lower: Floats) -> tuple[Floats, Floats]:
        """Return values at places, separate ones for the two sides, to their rows."""
        rows = np.empty(len(self.order))
        rows[self.order] = np.where(self.is_upper, upper, lower)
        return rows[: self.n_upper], rows[self.n_upper :]

    def at_ties(self, above: Floats, below: Floats) -> tuple[Floats, Floats]:
        """Let all rows of one place have its last A, and its first B."""
        is_new = self.gap != 0
        if is_new.all():
            return above, below
        first = np.flatnonzero(np.concatenate([[True], is_new]))
        length = np.diff(first, append=len(self.order))
        return np.repeat(above[first + length - 1], length), np.repeat(below[first], length)


def hinge_sums(f: Floats, a: Floats, g: Floats, b: Floats) -> PairSums:
    """Return the sums for upper rows with scores f, weights a and lower rows with g, b."""
    line = _Line.of(f, g)
    above, below = line.masses(a, b)
    value = float(line.gap @ (above[:-1] * below[1:]))
    above, below = line.at_ties(above, below)
    upper, lower = line.split(below, above)
    return PairSums(value, -upper, -lower)


def hinge_heights(f: Floats, a: Floats, g: Floats) -> Floats:
    """Return the sum over the upper rows of a * (1 - (f - g))_+, for each lower row."""
    line = _Line.of(f, g)
    height = _integral(line.gap, line.masses(a, np.zeros(len(g)))[0])
    return line.split(height, height)[1]


def squared_hinge_sums(f: Floats, a: Floats, g: Floats, b: Floats) -> PairSums:
    """Return the sums for upper rows with scores f, weights a and lower rows with g, b."""
    line = _Line.of(f, g)
    above, below = line.masses(a, b)
    behind = _integral(line.gap, above)
    ahead = _integral(line.gap[::-1], below[::-1])[::-1]
    value = float(_growth(line.gap, above, behind) @ below[1:])
    upper, lower = line.split(ahead, behind)
    return PairSums(value, -2.0 * upper, -2.0 * lower)


def squared_hinge_heights(f: Floats, a: Floats, g: Floats) -> Floats:
    """Return the sum over the upper rows of a * (1 - (f - g))_+^2, for each lower row."""
    line = _Line.of(f, g)
    above = line.masses(a, np.zeros(len(g)))[0]
    height = np.zeros(len(above))
    height[1:] = np.cumsum(_growth(line.gap, above, _integral(line.gap, above)))
    return line.split(height, height)[1]


def _integral(gap: Floats, mass: Floats) -> Floats:
    """Return the integral, up to each place, of a mass constant from place to place."""
    out = np.zeros(len(mass))
    np.cumsum(gap * mass[:-1], out=out[1:])
    return out


def _growth(gap: Floats, mass: Floats, integral: Floats) -> Floats:
    """Return twice the integral of the integral, from each place to the next."""
    return gap * (2.0 * integral[:-1] + gap * mass[:-1])
