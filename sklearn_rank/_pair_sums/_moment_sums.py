"""Least squares of all pairs of two groups of rows, by the moments of their scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.sums import ALL_HERE, Sums
from sklearn_rank._pair_sums.group_sums import PairSums

_SAMPLE = 1 << 12
"""Rows of a side whose median is taken."""


def least_squares_sums(
    f: Floats, a: Floats, g: Floats, b: Floats, with_second: bool = False, rows: Sums = ALL_HERE
) -> PairSums:
    """Return the sums for upper rows with scores f, weights a and lower rows with g, b.

    With `rows` those here are a part of the upper and of the lower ones.
    """
    residual, score, upper, lower = _moments(f, a, g, b, rows)
    # The residual of a pair, 1 - (f - g), is that of the upper row plus the lower row's score.
    mean = upper.mean + lower.mean  # of residuals; a power of a float raises where it overflows
    value = upper.mass * lower.mass * (mean * mean)
    value += lower.mass * upper.spread + upper.mass * lower.spread
    # In place: pages of fresh arrays cost more than the sums.
    residual += lower.mean
    residual *= -2.0 * lower.mass
    score += upper.mean
    score *= -2.0 * upper.mass
    sums = PairSums(value, residual, score)
    return with_constant_second(sums, upper.mass, lower.mass) if with_second else sums


def least_squares_heights(f: Floats, a: Floats, g: Floats, rows: Sums = ALL_HERE) -> Floats:
    """Return the sum over the upper rows of a * (1 - (f - g))^2, for each lower row."""
    _, score, upper, _ = _moments(f, a, g, np.ones(len(g)), rows)
    return upper.mass * (upper.mean + score) ** 2 + upper.spread


def with_constant_second(sums: PairSums, above: float, below: float) -> PairSums:
    """Add the sums of second derivatives that are 2 for every pair, given the weights."""
    upper = np.broadcast_to(2.0 * below, sums.upper.shape)
    lower = np.broadcast_to(2.0 * above, sums.lower.shape)
    return sums._replace(second_upper=upper, second_lower=lower)


class _Moments(NamedTuple):
    """Total weight, mean, and weighted sum of squared deviations from the mean."""

    mass: float
    mean: float
    spread: float

    @classmethod
    def of(cls, weight: Floats, x: Floats) -> _Moments:
        """Return those of some rows."""
        mass, spread = float(weight.sum()), 0.0
        mean = float(weight @ x) / mass if mass > 0 else 0.0
        for some in blocks(len(x)):
            deviation = x[some] - mean
            spread += float((weight[some] * deviation) @ deviation)
        return cls(mass, mean, spread)

    @classmethod
    def of_parts(cls, mass: Floats, mean: Floats, spread: Floats) -> _Moments:
        """Return those of all rows, given those of each part."""
        total = float(mass.sum())
        whole = float(mass @ mean) / total if total > 0 else 0.0
        return cls(total, whole, float(spread.sum() + mass @ (mean - whole) ** 2))


def _moments(
    f: Floats, a: Floats, g: Floats, b: Floats, rows: Sums
) -> tuple[Floats, Floats, _Moments, _Moments]:
    """Return 1 - f and g, both from the middle of the scores, and the moments of both.

    The middle is a median: outliers would move a mean so far that the others lost their digits.
    One message: each process sums from a middle of its own, and the sums are then moved to
    the median of these.
    """
    sample = [x[:: max(-(-len(x) // _SAMPLE), 1)] for x in (f, g)]
    middle = float(np.median(np.concatenate(sample))) if len(f) + len(g) else 0.0
    residual, score = 1.0 - (f - middle), g - middle
    upper, lower = _Moments.of(a, residual), _Moments.of(b, score)
    known = rows.concat(np.array([middle, len(f) + len(g), *upper, *lower])).reshape(-1, 8)
    if len(known) == 1:
        return residual, score, upper, lower
    middles = known[:, 0]
    centre = float(np.median(middles[known[:, 1] > 0]))
    residual -= middle - centre
    score += middle - centre
    shift = middles - centre
    (mass, mean, spread), (other, other_mean, other_spread) = known[:, 2:5].T, known[:, 5:].T
    upper = _Moments.of_parts(mass, mean - shift, spread)
    lower = _Moments.of_parts(other, other_mean + shift, other_spread)
    return residual, score, upper, lower
