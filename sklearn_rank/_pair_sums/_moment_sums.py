"""Least squares of all pairs of two groups of rows, by the moments of their scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.sums import ALL_HERE, Sums
from sklearn_rank._pair_sums.group_sums import PairSums

_SAMPLE = 1 << 12
"""Rows of a side for the median."""


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
    value += lower.mass * upper.scatter + upper.mass * lower.scatter
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
    return upper.mass * (upper.mean + score) ** 2 + upper.scatter


def with_constant_second(sums: PairSums, mass_upper: float, mass_lower: float) -> PairSums:
    """Add the sums of second derivatives that are 2 for every pair, given the weights."""
    upper = np.broadcast_to(2.0 * mass_lower, sums.upper.shape)
    lower = np.broadcast_to(2.0 * mass_upper, sums.lower.shape)
    return sums._replace(second_upper=upper, second_lower=lower)


class _Moments(NamedTuple):
    """Total weight, mean, and weighted sum of squared deviations from the mean."""

    mass: float
    mean: float
    scatter: float

    @classmethod
    def of(cls, weight: Floats, x: Floats, rows: Sums) -> _Moments:
        """Return the moments of the rows of all processes."""
        mass, moment = rows.totals(float(weight.sum()), float(weight @ x))
        mean, scatter = moment / mass if mass > 0 else 0.0, 0.0
        for block in blocks(len(x)):
            deviation = x[block] - mean
            scatter += float((weight[block] * deviation) @ deviation)
        return cls(mass, mean, float(rows.total(scatter)))


def _moments(
    f: Floats, a: Floats, g: Floats, b: Floats, rows: Sums
) -> tuple[Floats, Floats, _Moments, _Moments]:
    """Return 1 - f and g, both relative to the middle of the scores, and the moments of both.

    The middle is a median: a mean would move so far with outliers that other scores lost digits. On
    several processes it is the median of their medians.
    """
    sample = np.concatenate([x[:: max(-(-len(x) // _SAMPLE), 1)] for x in (f, g)])
    medians = rows.concat(np.array([np.median(sample)] if len(sample) else []))
    median = float(np.median(medians)) if len(medians) else 0.0
    residual, score = 1.0 - (f - median), g - median
    return residual, score, _Moments.of(a, residual, rows), _Moments.of(b, score, rows)
