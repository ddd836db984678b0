"""Least squares of all pairs of two groups of rows, by the moments of their scores."""

from __future__ import annotations

import numpy as np

from sklearn_rank._protocols import Floats
from sklearn_rank.pair_sums._pair_sums import PairSums


def least_squares_sums(f: Floats, a: Floats, g: Floats, b: Floats) -> PairSums:
    """Return the sums for upper rows with scores f, weights a and lower rows with g, b."""
    lack, score, mass, other = _centred(f, a, g, b)
    # A pair lacks 1 - (f - g): the upper row's lack plus the lower row's score.
    lack_sum, score_sum = float(a @ lack), float(b @ score)
    value = other * float(a @ lack**2) + 2 * lack_sum * score_sum + mass * float(b @ score**2)
    return PairSums(value, -2.0 * (other * lack + score_sum), -2.0 * (lack_sum + mass * score))


def least_squares_heights(f: Floats, a: Floats, g: Floats) -> Floats:
    """Return the sum over the upper rows of a * (1 - (f - g))^2, for each lower row."""
    lack, score, mass, _ = _centred(f, a, g, np.ones(len(g)))
    mean = float(a @ lack) / mass
    return mass * (mean + score) ** 2 + float(a @ (lack - mean) ** 2)


def _centred(f: Floats, a: Floats, g: Floats, b: Floats) -> tuple[Floats, Floats, float, float]:
    """Return 1 - f and g, both from the middle of the scores, and the total weights.

    The median: outliers would move a mean so far that the other rows lost their digits.
    """
    mass, other = float(a.sum()), float(b.sum())
    middle = float(np.median(np.concatenate([f, g])))
    return 1.0 - (f - middle), g - middle, mass, other
