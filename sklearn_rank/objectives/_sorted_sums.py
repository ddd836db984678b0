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

from sklearn_rank._protocols import Floats, Indices
from sklearn_rank.objectives._pair_sums import PairSums


@dataclass(frozen=True, eq=False)
class _Line:
    """Keys of the upper rows and scores of the lower rows, sorted together.

    Attributes
    ----------
    order : ndarray of shape (n_rows,)
        Rows, the upper ones first, by rising place.
    place : ndarray of shape (n_rows,)
        Sorted keys and scores.
    n_upper : int
        Number of upper rows.
    """

    order: Indices
    place: Floats
    n_upper: int

    @classmethod
    def of(cls, f: Floats, g: Floats) -> _Line:
        """Sort."""
        place = np.concatenate([f - 1.0, g])
        order = np.argsort(place)
        return cls(order, place[order], len(f))

    @property
    def gap(self) -> Floats:
        """Distance to the next place, of all but the last."""
        return np.diff(self.place)

    def laid_out(self, upper: Floats | None, lower: Floats | None) -> Floats:
        """Return values of one side at their places, zero at those of the other."""
        values = np.zeros(len(self.order))
        if upper is not None:
            values[: self.n_upper] = upper
        if lower is not None:
            values[self.n_upper :] = lower
        return values[self.order]

    def split(self, values: Floats) -> tuple[Floats, Floats]:
        """Return values at places to the rows of the two sides."""
        rows = np.empty_like(values)
        rows[self.order] = values
        return rows[: self.n_upper], rows[self.n_upper :]

    def at_ties(self, upto: Floats, onwards: Floats) -> tuple[Floats, Floats]:
        """Let rows of one place share what the last, or first, of them has."""
        is_new = np.diff(self.place) != 0
        if is_new.all():
            return upto, onwards
        first = np.flatnonzero(np.concatenate([[True], is_new]))
        length = np.diff(first, append=len(self.place))
        last = first + length - 1
        return np.repeat(upto[last], length), np.repeat(onwards[first], length)


def _upto(values: Floats) -> Floats:
    return np.cumsum(values)


def _onwards(values: Floats) -> Floats:
    return np.cumsum(values[::-1])[::-1]


def hinge_sums(f: Floats, a: Floats, g: Floats, b: Floats) -> PairSums:
    """Return the sums for upper rows with scores f, weights a and lower rows with g, b."""
    line = _Line.of(f, g)
    above, below = _upto(line.laid_out(a, None)), _onwards(line.laid_out(None, b))
    value = float(line.gap @ (above[:-1] * below[1:]))
    above, below = line.at_ties(above, below)
    return PairSums(value, -line.split(below)[0], -line.split(above)[1])


def hinge_heights(f: Floats, a: Floats, g: Floats) -> Floats:
    """Return the sum over the upper rows of a * (1 - (f - g))_+, for each lower row."""
    line = _Line.of(f, g)
    return line.split(_first_integral(line, a))[1]


def squared_hinge_sums(f: Floats, a: Floats, g: Floats, b: Floats) -> PairSums:
    """Return the sums for upper rows with scores f, weights a and lower rows with g, b."""
    line = _Line.of(f, g)
    below = _onwards(line.laid_out(None, b))
    ahead = np.zeros(len(below))
    ahead[:-1] = _onwards(line.gap * below[1:])
    behind = _first_integral(line, a)
    value = float(_second_steps(line, a, behind) @ below[1:])
    return PairSums(value, -2.0 * line.split(ahead)[0], -2.0 * line.split(behind)[1])


def squared_hinge_heights(f: Floats, a: Floats, g: Floats) -> Floats:
    """Return the sum over the upper rows of a * (1 - (f - g))_+^2, for each lower row."""
    line = _Line.of(f, g)
    heights = np.zeros(len(line.place))
    heights[1:] = _upto(_second_steps(line, a, _first_integral(line, a)))
    return line.split(heights)[1]


def _first_integral(line: _Line, a: Floats) -> Floats:
    """Return the integral of A up to each place."""
    out = np.zeros(len(line.place))
    out[1:] = _upto(line.gap * _upto(line.laid_out(a, None))[:-1])
    return out


def _second_steps(line: _Line, a: Floats, first: Floats) -> Floats:
    """Return twice the integral of that integral, from each place to the next."""
    gap = line.gap
    return gap * (2.0 * first[:-1] + gap * _upto(line.laid_out(a, None))[:-1])
