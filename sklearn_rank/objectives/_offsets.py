"""The cut between two classes for scores that are not on the exponential scale."""

from __future__ import annotations

import numpy as np

from sklearn_rank._protocols import Floats, Mask

_SAME = 1e-12
"""Scores closer than this, relative to the largest, are tied; so are errors."""


def error_cut(scores: Floats, positive: Mask, weight: Floats) -> float:
    """Return the offset with the smallest weighted error of ``scores + offset > 0``.

    The cut lies halfway between two neighbouring scores or, where one class is best for
    all rows, one beyond the last. The lowest of equally good cuts is taken.
    """
    order = np.argsort(scores)
    place, gain = scores[order], np.where(positive, weight, -weight)[order]
    tolerance = _SAME * float(np.max(np.abs(place)))
    last = np.flatnonzero(np.append(np.diff(place) > tolerance, True))
    # Cut above the first j places: positives below it are wrong, negatives right.
    error = np.concatenate([[0.0], np.cumsum(gain)[last]])
    best = int(np.argmax(error <= error.min() + _SAME * float(weight.sum())))
    ends = np.concatenate([[place[0] - 2.0], place[last], [place[-1] + 2.0]])
    first = np.concatenate([[place[0]], place[last[:-1] + 1], [place[-1] + 2.0]])
    return -float(ends[best] + first[best]) / 2
