"""Least squares of all pairs of two groups of rows, by the moments of their scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_rank._protocols import Floats
from sklearn_rank.pair_sums._row_histogram import blocks
from sklearn_rank.pair_sums.group_sums import PairSums
from sklearn_rank.rows import Sums

_SAMPLE = 1 << 12
"""Rows of a side whose median is taken."""


def least_squares_sums(
    f: Floats,
    a: Floats,
    g: Floats,
    b: Floats,
    with_second: bool = False,
    rows: Sums | None = None,
) -> PairSums:
    """Return the sums for upper rows with scores f, weights a and lower rows with g, b.

    With `rows` those here are a part of the upper and of the lower ones.
    """
    if rows is not None:
        return _shared_sums(f, a, g, b, with_second, rows)
    residual, score, mass, other = _centred(f, a, g, b)
    # The residual of a pair, 1 - (f - g), is that of the upper row plus the lower row's score.
    total, score_sum = float(a @ residual), float(b @ score)
    value = other * _square_sum(a, residual) + 2 * total * score_sum + mass * _square_sum(b, score)
    # In place: pages of fresh arrays cost more than the sums.
    residual *= -2.0 * other
    residual -= 2.0 * score_sum
    score *= -2.0 * mass
    score -= 2.0 * total
    sums = PairSums(value, residual, score)
    return with_constant_second(sums, a, b) if with_second else sums


def least_squares_heights(f: Floats, a: Floats, g: Floats, rows: Sums | None = None) -> Floats:
    """Return the sum over the upper rows of a * (1 - (f - g))^2, for each lower row."""
    if rows is not None:
        _, score, upper, _ = _shared_moments(f, a, g, np.ones(len(g)), rows)
        return upper.mass * (upper.mean + score) ** 2 + upper.spread
    residual, score, mass, _ = _centred(f, a, g, np.ones(len(g)))
    mean = float(a @ residual) / mass
    return mass * (mean + score) ** 2 + float(a @ (residual - mean) ** 2)


def with_constant_second(sums: PairSums, a: Floats, b: Floats) -> PairSums:
    """Add the sums of second derivatives that are 2 for every pair."""
    upper = np.broadcast_to(2.0 * b.sum(), a.shape)
    lower = np.broadcast_to(2.0 * a.sum(), b.shape)
    return sums._replace(second_upper=upper, second_lower=lower)


def _centred(f: Floats, a: Floats, g: Floats, b: Floats) -> tuple[Floats, Floats, float, float]:
    """Return 1 - f and g, both from the middle of the scores, and the total weights.

    The median of some rows: outliers would move a mean so far that the others lost their digits.
    """
    mass, other = float(a.sum()), float(b.sum())
    middle = _middle(f, g)
    residual = f - (middle + 1.0)
    return np.negative(residual, out=residual), g - middle, mass, other


def _middle(f: Floats, g: Floats) -> float:
    """Return the median of some scores."""
    return float(np.median(np.concatenate([x[:: max(-(-len(x) // _SAMPLE), 1)] for x in (f, g)])))


class _Moments(NamedTuple):
    """Total weight, mean, and weighted sum of squared deviations from the mean."""

    mass: float
    mean: float
    spread: float

    @classmethod
    def of(cls, weight: Floats, x: Floats) -> _Moments:
        """Return those of some rows."""
        mass = float(weight.sum())
        mean = float(weight @ x) / mass if mass > 0 else 0.0
        return cls(mass, mean, _square_sum(weight, x - mean))

    @classmethod
    def of_parts(cls, mass: Floats, mean: Floats, spread: Floats) -> _Moments:
        """Return those of all rows, given those of each part."""
        total = float(mass.sum())
        whole = float(mass @ mean) / total if total > 0 else 0.0
        return cls(total, whole, float(spread.sum() + mass @ (mean - whole) ** 2))


def _shared_moments(
    f: Floats, a: Floats, g: Floats, b: Floats, rows: Sums
) -> tuple[Floats, Floats, _Moments, _Moments]:
    """Return the rows of `_centred`, and the moments of both for the rows of all processes.

    One message: each process sums from a middle of its own, and the sums are then moved to
    the median of these.
    """
    middle = _middle(f, g) if len(f) + len(g) else 0.0
    residual, score = (middle + 1.0) - f, g - middle
    here = (middle, len(f) + len(g), *_Moments.of(a, residual), *_Moments.of(b, score))
    known = rows.concat(np.array(here)).reshape(-1, 8)
    middles = known[:, 0]
    centre = float(np.median(middles[known[:, 1] > 0]))
    residual -= middle - centre
    score += middle - centre
    shift = middles - centre
    (mass, mean, spread), (other, other_mean, other_spread) = known[:, 2:5].T, known[:, 5:].T
    upper = _Moments.of_parts(mass, mean - shift, spread)
    lower = _Moments.of_parts(other, other_mean + shift, other_spread)
    return residual, score, upper, lower


def _shared_sums(
    f: Floats, a: Floats, g: Floats, b: Floats, with_second: bool, rows: Sums
) -> PairSums:
    """Return the sums over the pairs of the rows of all processes."""
    residual, score, upper, lower = _shared_moments(f, a, g, b, rows)
    value = upper.mass * lower.mass * (upper.mean + lower.mean) ** 2
    value += lower.mass * upper.spread + upper.mass * lower.spread
    residual += lower.mean
    residual *= -2.0 * lower.mass
    score += upper.mean
    score *= -2.0 * upper.mass
    if not with_second:
        return PairSums(value, residual, score)
    second = np.full(len(f), 2.0 * lower.mass), np.full(len(g), 2.0 * upper.mass)
    return PairSums(value, residual, score, *second)


def _square_sum(weight: Floats, x: Floats) -> float:
    """Return the weighted sum of squares."""
    return sum(float((weight[some] * x[some]) @ x[some]) for some in blocks(len(x)))
