r"""Hinge and squared hinge loss of all pairs of two groups of rows, by one sort.

A pair is active where the *key* of its upper row, ``f_i - 1`` but for rounding, is at most the
score g_k of its lower row. With A(t) the weight of the upper rows with keys up to t, and B(t) that
of the lower rows with scores from t on,

    sum of the hinge losses    = integral A(t) B(t) dt

and likewise for everything below: sums of products of lengths and weights, none of them
negative, so that nothing cancels.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.protocols import Floats
from sklearn_rank._pair_sums._moment_sums import with_constant_second
from sklearn_rank._pair_sums._sorted_sides import SortedSides, integral, sort_sides
from sklearn_rank._pair_sums.group_sums import OnePart, PairSums

_CLOSE = 2.0**-51
"""Distance, relative to places above 1, at which rounding decides which of two is the lower."""


def _sort(f: Floats, g: Floats) -> SortedSides:
    """Sort the keys of the upper rows together with the scores of the lower rows."""
    points = np.concatenate([f, g])
    points[: len(f)] -= 1.0
    x, sides = sort_sides(points, len(f))
    tied = sides.spacing <= _CLOSE * max(1.0, x[-1], -x[0])
    tied &= sides.is_upper[1:] != sides.is_upper[:-1]
    if tied.any() and np.min(sides.spacing[tied] / np.maximum(1.0, np.abs(x[1:][tied]))) <= _CLOSE:
        points[: len(f)] = _exact_keys(f)
        sides = sort_sides(points, len(f))[1]
    return sides


def _exact_keys(f: Floats) -> Floats:
    """Return the lowest scores g at which the margins ``f - g``, which are rounded, are at most 1.

    ``f - 1`` is rounded too: 1.1 - 1 is above 0.1, but 1.1 - 0.1 is 1.
    """
    key = f - 1.0 - 2.0**-53  # exact margins up to 1 + 2^-53 are rounded to 1
    lower = np.nextafter(key, -np.inf)
    key = np.where(f - lower <= 1.0, lower, key)
    return np.where(f - key <= 1.0, key, np.nextafter(key, np.inf))


def _split(sides: SortedSides, upper: Floats, lower: Floats) -> tuple[Floats, Floats]:
    """Map sorted values, separate ones per side, back to the upper and the lower rows."""
    return sides.split(np.where(sides.is_upper, upper, lower))


def _active(sides: SortedSides, mass_above: Floats, mass_below: Floats) -> tuple[Floats, Floats]:
    """Return the weight of each row's active pairs: of upper rows, and of lower rows.

    All rows of one point have its last A and its first B, which they already have where the upper
    rows of the point come first.
    """
    is_new = sides.spacing != 0
    if (~is_new & (sides.is_upper[1:] > sides.is_upper[:-1])).any():
        run_start = np.flatnonzero(np.concatenate([[True], is_new]))
        run_length = np.diff(run_start, append=len(sides.order))
        mass_above = np.repeat(mass_above[run_start + run_length - 1], run_length)
        mass_below = np.repeat(mass_below[run_start], run_length)
    return _split(sides, mass_below, mass_above)


def sorted_list(
    sums: Callable[..., PairSums], heights: Callable[..., Floats], f: Floats, g: Floats
) -> OnePart:
    """Return the sums over one bipartite list by one sort, given functions of the sorted rows."""
    sides = _sort(f, g)

    def heights_of(weight: Floats, side: str) -> Floats:
        return heights(sides if side == "top" else _sort(-g, -f), weight)

    def sums_of(w_upper: Floats, w_lower: Floats, with_second: bool = False, **_: bool) -> PairSums:
        return sums(sides, w_upper, w_lower, *[True] * with_second)

    return OnePart(heights_of, sums_of, len(f))


def hinge_sums(sides: SortedSides, a: Floats, b: Floats) -> PairSums:
    """Return the sums for upper rows with weights a and lower rows with weights b."""
    mass_above, mass_below = sides.masses(a, b)
    value = sum(
        float(sides.spacing[block] @ (mass_above[block] * mass_below[1:][block]))
        for block in blocks(len(sides.spacing))
    )
    upper, lower = _active(sides, mass_above, mass_below)
    return PairSums(value, np.negative(upper, out=upper), np.negative(lower, out=lower))


def hinge_heights(sides: SortedSides, a: Floats) -> Floats:
    """Return the sum over the upper rows of a * (1 - (f - g))_+, for each lower row."""
    return sides.split(integral(sides.spacing, sides.weight_before(a)))[1]


def squared_hinge_sums(
    sides: SortedSides, a: Floats, b: Floats, with_second: bool = False
) -> PairSums:
    """Return the sums for upper rows with weights a and lower rows with weights b."""
    sums = _squared(sides, *sides.masses(a, b))
    return with_constant_second(sums, float(a.sum()), float(b.sum())) if with_second else sums


def squared_hinge_heights(sides: SortedSides, a: Floats) -> Floats:
    """Return the sum over the upper rows of a * (1 - (f - g))_+^2, for each lower row."""
    above = sides.weight_before(a)
    growth = _growth(sides.spacing, above[:-1], integral(sides.spacing, above)[:-1])
    return sides.split(integral(growth, np.ones(len(above))))[1]


def rounded_hinge_sums(
    width: float, f: Floats, a: Floats, g: Floats, b: Floats, with_second: bool = False
) -> PairSums:
    r"""Return the sums of the hinge loss with a parabola over `width` instead of the kink.

    .. math:: \phi(m) = \frac{(1 - m)_+^2 - (1 - d - m)_+^2}{2 d}, \qquad
        (1 - d - m)_+^2 = (1 - d)^2 \Bigl(1 - \frac{m}{1 - d}\Bigr)_+^2

    where m are margins and d is `width`. The second derivative counts pairs between the
    two kinks: those active at the margin 1 less those active at 1 - d.
    """
    scale = 1.0 - width
    kinks = _sort(f, g), _sort(f / scale, g / scale)  # at the margins 1 and 1 - d
    masses = [sides.masses(a, b) for sides in kinks]
    outer, inner = (_squared(sides, *mass) for sides, mass in zip(kinks, masses, strict=True))
    sums = PairSums(
        (outer.value - scale**2 * inner.value) / (2 * width),
        (outer.upper - scale * inner.upper) / (2 * width),
        (outer.lower - scale * inner.lower) / (2 * width),
    )
    if not with_second:
        return sums
    active, beyond = (_active(sides, *mass) for sides, mass in zip(kinks, masses, strict=True))
    # Rounding of the running sums must not leave a negative count.
    upper, lower = (np.maximum(active[n] - beyond[n], 0.0) / width for n in (0, 1))
    return sums._replace(second_upper=upper, second_lower=lower)


def rounded_hinge_heights(width: float, f: Floats, a: Floats, g: Floats) -> Floats:
    """Return the sum over the upper rows of a * phi(f - g), for each lower row."""
    scale = 1.0 - width
    inner = squared_hinge_heights(_sort(f / scale, g / scale), a)
    height = squared_hinge_heights(_sort(f, g), a) - scale**2 * inner
    return np.maximum(height, 0.0) / (2 * width)


def _squared(sides: SortedSides, above: Floats, below: Floats) -> PairSums:
    """Return the sums of the squared hinge loss, given A and B at each point."""
    # The derivative of a row is the integral of the weight on the other side: its active pairs,
    # each times its residual.
    behind = integral(sides.spacing, above)
    ahead = integral(sides.spacing[::-1], below[::-1])[::-1]
    upper, lower = _split(sides, ahead, behind)
    upper *= -2.0
    lower *= -2.0
    value = sum(
        float(_growth(sides.spacing[block], above[block], behind[block]) @ below[1:][block])
        for block in blocks(len(sides.spacing))
    )
    return PairSums(value, upper, lower)


def _growth(spacing: Floats, mass: Floats, integral: Floats) -> Floats:
    """Return twice the integral of the integral, from each point to the next."""
    growth = spacing * mass
    growth += integral
    growth += integral
    growth *= spacing
    return growth
