"""The axis of scores: gaps are shortened, and rows counted along it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sklearn_rank._protocols import Floats, Indices, Mask
from sklearn_rank.objectives._logistic._kernel import REACH
from sklearn_rank.objectives._logistic._rows import Histogram

_SHORT = 512.0
"""On an axis no longer than this the cells of the finest grid cost less than 1e5 rows."""

_BINS = 1 << 17
"""Bins in which empty stretches of the axis are looked for."""


@dataclass(frozen=True, eq=False)
class Axis:
    """Scores after shortening gaps, and where on the axis the rows are.

    Attributes
    ----------
    f, g : ndarray
        Scores of the upper and of the lower rows.
    low, high : float
        Smallest and largest of them.
    ramp : ndarray of shape (n_lower,) or None
        What shortening took from the sum of max(z, 0) of each lower row.
    bin_width : float
        Width of the bins of the last look at the axis; 0 without one.
    upper, lower : ndarray of shape (n_bins,) or None
        Shares of the weights in the bins.
    upper_bin, lower_bin : ndarray of int or None
        Bins of the rows.
    """

    f: Floats
    g: Floats
    low: float
    high: float
    ramp: Floats | None = None
    bin_width: float = 0.0
    upper: Floats | None = None
    lower: Floats | None = None
    upper_bin: Indices | None = None
    lower_bin: Indices | None = None

    @property
    def density(self) -> float:
        """Bound of the share of a side's weight in any stretch of length one."""
        if self.upper is None or self.lower is None:
            return 1.0
        bins = 1 + int(np.ceil(1 / self.bin_width))
        return min(1.0, bins * float(max(self.upper.max(), self.lower.max())))

    def near(self, shares: Floats, length: float) -> Floats:
        """Return, for each bin, the share that lies within a stretch of `length` around it."""
        size = length / self.bin_width
        if size < 2:
            return min(size, 1.0) * shares
        half = int(size / 2)
        upto = np.cumsum(np.pad(shares, (half + 1, half)))
        return upto[2 * half + 1 :] - upto[: len(shares)]


def shorten_gaps(f: Floats, a: Floats, g: Floats, b: Floats) -> Axis:
    """Shorten stretches without rows to little more than `REACH`, and survey the axis.

    Pairs across such a stretch count fully or not at all, so that their sigmoids stay as
    they are, and log(1 + exp(z)) loses exactly the length taken away. Bins are powers of
    two wide and begin at multiples of their width: moving rows by bins rounds nothing.
    """
    axis = Axis(f, g, float(min(f.min(), g.min())), float(max(f.max(), g.max())))
    while (axis := _recentred(axis)).high - axis.low > _SHORT:
        step = float(2.0 ** np.ceil(np.log2((axis.high - axis.low) / _BINS)))
        first = np.floor(axis.low / step)
        upper, lower = ((np.floor(x / step) - first).astype(np.int32) for x in (axis.f, axis.g))
        n = int(np.floor(axis.high / step) - first) + 1
        mass, other = Histogram(upper, n)(a), Histogram(lower, n)(b)
        empty = _removable((mass > 0) | (other > 0))
        taken = np.maximum(empty - np.ceil(REACH / step), 0.0)
        if not taken.any():
            shares = (one / max(float(one.sum()), np.finfo(float).tiny) for one in (mass, other))
            return replace(
                axis,
                bin_width=step,
                upper=next(shares),
                lower=next(shares),
                upper_bin=upper,
                lower_bin=lower,
            )
        removed = np.cumsum(taken)
        ramp = (step * np.cumsum(taken * (np.cumsum(mass) - mass)))[lower]
        # Towards zero, where floats are dense: the other way digits would be lost.
        shift = (removed - removed[int(np.clip(-first, 0, n - 1))]) * step
        axis = Axis(
            axis.f - shift[upper],
            axis.g - shift[lower],
            axis.low - float(shift[0]),
            axis.high - float(shift[-1]),
            ramp if axis.ramp is None else axis.ramp + ramp,
        )
    return axis


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


def _removable(is_occupied: Mask) -> Floats:
    """Return, for each bin, the number of empty bins just before it."""
    occupied = np.flatnonzero(is_occupied)
    empty = np.zeros(len(is_occupied))
    empty[occupied[1:]] = np.diff(occupied) - 1
    return empty
