"""The axis of scores: gaps are shortened, and the density of rows is bounded."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.sums import Sums as RowSums
from sklearn_rank._pair_sums._logistic._logistic_sums import REACH
from sklearn_rank._pair_sums._row_histogram import Histogram

_SHORT = 512.0
"""On an axis no longer than this the intervals of the finest grid cost less than 1e5 rows."""

_MOST_LENGTH = 0.4
"""Length for each row of an axis beyond which no grid is the cheapest method."""

_BINS = 1 << 17
"""Bins in which empty stretches of the axis are looked for."""


@dataclass(frozen=True, eq=False)
class Axis:
    """Scores after shortening gaps.

    Attributes
    ----------
    f, g : ndarray
        Scores of the upper and of the lower rows.
    low, high : float
        Smallest and largest of them.
    ramp : ndarray of shape (n_lower,) or None
        What shortening took from the sum of max(z, 0) of each lower row.
    density : float
        About the largest share of a side's weight in a stretch of length one.
    """

    f: Floats
    g: Floats
    low: float
    high: float
    ramp: Floats | None = None
    density: float = 1.0


def shorten_gaps(f: Floats, a: Floats, g: Floats, b: Floats) -> Axis:
    """Shorten stretches without rows to little more than `REACH`.

    Pairs across such a stretch count fully or not at all, so that their sigmoids stay as
    they are, and log(1 + exp(z)) loses exactly the length taken away. Bins are powers of
    two wide and begin at multiples of their width: moving rows by bins rounds nothing.
    Ends when a pass would shorten the axis by less than a quarter, or leave it too
    long for a grid.
    """
    axis = recentred_axis(f, g)
    while (axis := _recentred(axis)).high - axis.low > _SHORT:
        length = axis.high - axis.low
        step = float(2.0 ** np.ceil(np.log2(length / _BINS)))
        first = np.floor(axis.low / step)
        upper, lower = (_bins(x, step, first) for x in (axis.f, axis.g))
        n = int(np.floor(axis.high / step) - first) + 1
        empty = _empty_before(n, upper, lower)
        removed = np.cumsum(np.maximum(empty - np.ceil(REACH / step), 0.0))
        # No grid will be taken: the density, for which histograms are made, is not needed.
        if length - removed[-1] * step > _MOST_LENGTH * (len(f) + len(g)):
            return axis
        mass, other = Histogram(upper, n)(a), Histogram(lower, n)(b)
        if removed[-1] * step >= length / 4:
            axis = _without(axis, step, first, removed, upper, lower, mass)
        else:
            sides = ((mass, a), (other, b))
            return replace(axis, density=max(_density(m, step, float(w.sum())) for m, w in sides))
    return axis


def recentred_axis(f: Floats, g: Floats) -> Axis:
    """Return the axis with all its gaps."""
    return _recentred(Axis(f, g, float(min(f.min(), g.min())), float(max(f.max(), g.max()))))


def short_axis(f: Floats, g: Floats) -> Axis | None:
    """Return the axis where it is so short that it stays as it is, whatever the rows weigh."""
    axis = recentred_axis(f, g)
    return axis if axis.high - axis.low <= _SHORT else None


def shared_axis(f: Floats, g: Floats, rows: RowSums) -> tuple[Axis, int]:
    """Return the axis of the rows of all processes, and the most rows that one of them has."""
    low = min((float(x.min()) for x in (f, g) if len(x)), default=np.inf)
    high = max((float(x.max()) for x in (f, g) if len(x)), default=-np.inf)
    ends = rows.smallest(np.array([low, -high, -(len(f) + len(g))]))
    return Axis(f, g, float(ends[0]), -float(ends[1])), -int(ends[2])


def density(axis: Axis, a: Floats, b: Floats, total: tuple[float, float]) -> float:
    """Return the density of rows that are a part of both sides, whose weights are `total`."""
    step = max((axis.high - axis.low) / _BINS, 1.0)
    first = np.floor(axis.low / step)
    n = int(np.floor(axis.high / step) - first) + 1
    return max(
        _density(Histogram(_bins(x, step, first), n)(weight), step, whole)
        for x, weight, whole in zip((axis.f, axis.g), (a, b), total, strict=True)
    )


def _bins(x: Floats, step: float, first: float) -> Indices:
    """Return the numbers of bins, counted from `first`."""
    bins = np.empty(len(x), dtype=np.int32)
    for some in blocks(len(x)):
        place = x[some] / step
        np.floor(place, out=place)
        place -= first
        bins[some] = place
    return bins


def _without(
    axis: Axis,
    step: float,
    first: float,
    removed: Floats,
    upper: Indices,
    lower: Indices,
    mass: Floats,
) -> Axis:
    """Take away as many bins below each bin as `removed` says; `mass` is the upper rows'."""
    taken = np.diff(removed, prepend=0.0)
    # A lower row loses the length of each gap below it once for each upper row below the gap.
    ramp = (step * np.cumsum(taken * (np.cumsum(mass) - mass)))[lower]
    # Towards zero, where floats are dense: moving away from it would lose digits.
    shift = (removed - removed[int(np.clip(-first, 0, len(removed) - 1))]) * step
    return Axis(
        axis.f - shift[upper],
        axis.g - shift[lower],
        axis.low - float(shift[0]),
        axis.high - float(shift[-1]),
        ramp if axis.ramp is None else axis.ramp + ramp,
    )


def _density(mass: Floats, step: float, total: float) -> float:
    """Return a bound of the share of the mass in a unit of length.

    The mean over a few units, where bins allow it: so far do errors of single rows cancel.
    """
    # A stretch of length one touches so many bins, each of which holds at most the fullest one's.
    bins = 1 + int(np.ceil(1 / step))
    length = float(np.clip(bins * step, 1.0, 4.0))
    return min(1.0, bins * float(mass.max()) / (length * total)) if total > 0 else 1.0


def _recentred(axis: Axis) -> Axis:
    """Move scores far from zero, compared with their differences, there: exactly."""
    if axis.low > 0 and axis.high <= 2 * axis.low:
        nearest = axis.low
    elif axis.high < 0 and axis.low >= 2 * axis.high:
        nearest = axis.high
    else:
        return axis
    return replace(
        axis,
        f=axis.f - nearest,
        g=axis.g - nearest,
        low=axis.low - nearest,
        high=axis.high - nearest,
    )


def _empty_before(n: int, upper: Indices, lower: Indices) -> Floats:
    """Return, for each of n bins, the number of bins without any row just before it.

    Rows of weight zero count: their sums are wanted too.
    """
    is_occupied = np.zeros(n, dtype=np.bool_)
    is_occupied[upper] = is_occupied[lower] = True
    occupied, empty = np.flatnonzero(is_occupied), np.zeros(n)
    empty[occupied[1:]] = np.diff(occupied) - 1
    return empty
