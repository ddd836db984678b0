"""Means of paired differences with their intervals; nothing large is imported."""

import math
import sys
from collections.abc import Sequence
from statistics import mean, stdev


def say(words: str) -> None:
    """Print progress."""
    print(words, file=sys.stderr, flush=True)


def standard_error(values: Sequence[float], ratio: float = 0.0) -> float:
    """Return the standard error of a mean, the root of the variance times 1 / n + ratio.

    Of random splits that share rows, `ratio` is that of rows tested to rows trained on (Nadeau and
    Bengio, 2003).
    """
    return stdev(values) * math.sqrt(1 / len(values) + ratio)


def half_width(values: Sequence[float], ratio: float = 0.0) -> float:
    """Return half of the 95 % interval of a mean by Student's t, NaN for a single value.

    `ratio` is that of `standard_error`.
    """
    from scipy.stats import t

    if len(values) < 2:
        return math.nan
    return float(t.ppf(0.975, len(values) - 1)) * standard_error(values, ratio)


def lower(values: Sequence[float], ratio: float = 0.0) -> float:
    """Return the lower end of the 95 % interval of a mean."""
    return mean(values) - half_width(values, ratio)


def upper(values: Sequence[float], ratio: float = 0.0) -> float:
    """Return the upper end of the 95 % interval of a mean."""
    return mean(values) + half_width(values, ratio)


def with_half(values: Sequence[float], form: str = ".4f", ratio: float = 0.0) -> str:
    """Return a mean and half of its 95 % interval, as text."""
    return f"{mean(values):{form}} ± {half_width(values, ratio):{form.lstrip('+')}}"


def signed(values: Sequence[float], ratio: float = 0.0) -> str:
    """Return a mean difference and its 95 % interval, as text."""
    words = f"{mean(values):+.4f}"
    if len(values) < 2:
        return words
    return f"{words} ({lower(values, ratio):+.4f} to {upper(values, ratio):+.4f})"
