"""Means of paired differences with their intervals; nothing large is imported."""

import math
import sys
from collections.abc import Sequence
from statistics import mean, stdev

# Two-sided 95 % points of Student's t, by degrees of freedom.
T_95 = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179)


def say(words: str) -> None:
    """Print progress."""
    print(words, file=sys.stderr, flush=True)


def standard_error(values: Sequence[float], ratio: float = 0.0) -> float:
    """Return the standard error of a mean, the root of the variance times 1 / n + ratio.

    Of random splits that share rows, `ratio` is that of rows tested to rows trained on (Nadeau and
    Bengio, 2003).
    """
    return stdev(values) * math.sqrt(1 / len(values) + ratio)


def interval(differences: Sequence[float], ratio: float = 0.0) -> tuple[float, float] | None:
    """Return a 95 % interval for the mean of paired differences, by Student's t.

    `ratio` is that of `standard_error`.
    """
    n = len(differences)
    if n < 2:
        return None
    point = T_95[n - 2] if n - 2 < len(T_95) else 1.96 + 2.6 / (n - 1)
    half = point * standard_error(differences, ratio)
    return mean(differences) - half, mean(differences) + half


def signed(differences: Sequence[float], ratio: float = 0.0) -> str:
    """Return a mean difference and its `interval`, as text."""
    between = interval(differences, ratio)
    words = f"{mean(differences):+.4f}"
    return words if between is None else f"{words} ({between[0]:+.4f} to {between[1]:+.4f})"
