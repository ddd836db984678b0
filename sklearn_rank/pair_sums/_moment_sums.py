"""Least squares of all pairs of two groups of rows, by the moments of their scores."""

from __future__ import annotations

import numpy as np

from sklearn_rank._protocols import Floats
from sklearn_rank.pair_sums._pair_sums import PairSums
from sklearn_rank.pair_sums._row_histogram import blocks

_SAMPLE = 1 << 12
"""Rows of a side whose median is taken."""


def least_squares_sums(
    f: Floats, a: Floats, g: Floats, b: Floats, with_second: bool = False
) -> PairSums:
    """Return the sums for upper rows with scores f, weights a and lower rows with g, b."""
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


def least_squares_heights(f: Floats, a: Floats, g: Floats) -> Floats:
    """Return the sum over the upper rows of a * (1 - (f - g))^2, for each lower row."""
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
    middle = float(np.median(np.concatenate([x[:: -(-len(x) // _SAMPLE)] for x in (f, g)])))
    residual = f - (middle + 1.0)
    return np.negative(residual, out=residual), g - middle, mass, other


def _square_sum(weight: Floats, x: Floats) -> float:
    """Return the weighted sum of squares."""
    return sum(float((weight[some] * x[some]) @ x[some]) for some in blocks(len(x)))
