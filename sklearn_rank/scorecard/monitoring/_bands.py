"""Bands of values: cuts at quantiles or given ones, weights per band, tables of figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_rank._core.imports import import_extra
from sklearn_rank._core.protocols import Floats, Indices, Values
from sklearn_rank._core.validation import Number, check_floats
from sklearn_rank.models import FeatureBins

N_BANDS = Number(2, integer=True)
_ROUNDING = 1e-12
"""Shares that differ by less are taken as equal."""


@dataclass(frozen=True, eq=False)
class FiguresTable:
    """Columns of figures, which are arrays over the rows of the table, and single figures."""

    def to_dict(self) -> dict[str, Values]:
        """Return the columns by name.

        Returns
        -------
        dict of str to ndarray
            A column each.
        """
        return {name: one for name, one in vars(self).items() if isinstance(one, np.ndarray)}

    def to_frame(self) -> Any:
        """Return the columns as a data frame.

        Returns
        -------
        pandas DataFrame
            A row for each row of the table.

        Raises
        ------
        ImportError
            Without pandas.
        """
        owner = f"{type(self).__name__}.to_frame, unlike to_dict,"
        pandas = import_extra("pandas", "cli", owner)
        return pandas.DataFrame(self.to_dict())


def cuts_of(owner: str, name: str, bands: Any, values: Floats, weight: Floats) -> Floats:
    """Return increasing cuts: the given ones, or quantiles for a number of bands.

    The cuts are values; bands are ``(-inf, c_1], (c_1, c_2], ..., (c_n, inf)``. Tied values are
    in one band, so that there may be fewer bands than asked for. NaN has no place.
    """
    if N_BANDS.allows(bands):
        there = ~np.isnan(values)
        return _quantile_cuts(values[there], weight[there], int(bands))
    if np.ndim(bands) == 0:
        raise ValueError(
            f"The {name!r} parameter of {owner} must be {N_BANDS}, the number of bands of equal "
            f"size, or the increasing values that divide them. Got {bands!r} instead."
        )
    cuts = check_floats(bands, name)
    if np.isnan(cuts).any() or not (np.diff(cuts) > 0).all():
        raise ValueError(f"{name} of {owner} must be increasing. Got {cuts.tolist()}.")
    return cuts


def _quantile_cuts(values: Floats, weight: Floats, n_bands: int) -> Floats:
    """Return the values up to which the share of the weight is nearest to 1/n, 2/n, ...

    Of two that are as near the lower one. The greatest value is no cut.
    """
    distinct, place = np.unique(values, return_inverse=True)
    if len(distinct) < 2:
        return np.empty(0)
    share = np.cumsum(np.bincount(place.ravel(), weight)) / weight.sum()
    wanted = np.arange(1, n_bands) / n_bands
    above = np.minimum(np.searchsorted(share, wanted), len(share) - 2)
    below = np.maximum(above - 1, 0)
    is_nearer = wanted - share[below] <= share[above] - wanted + _ROUNDING
    return np.asarray(distinct[np.unique(np.where(is_nearer, below, above))])


def band_of(values: Floats, cuts: Floats) -> Indices:
    """Return the number of each value's band; that of NaN is ``len(cuts) + 1``."""
    return FeatureBins(cuts)(values)


def band_sums(band: Indices, weight: Floats, n_bands: int) -> Floats:
    """Return the sum of the weights in each band."""
    return np.asarray(np.bincount(band, weight, n_bands), dtype=np.float64)


def ratio(numerator: Floats, denominator: Floats | float) -> Floats:
    """Divide; 0 / 0 is NaN, and what is too large for a float infinite."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return np.asarray(np.divide(numerator, denominator))


def lowest_and_highest(values: Floats, band: Indices, n_bands: int) -> tuple[Floats, Floats]:
    """Return the least and the greatest value of each band; NaN in bands without a row."""
    low, high = np.full(n_bands, np.inf), np.full(n_bands, -np.inf)
    np.minimum.at(low, band, values)
    np.maximum.at(high, band, values)
    empty = np.bincount(band, minlength=n_bands) == 0
    low[empty], high[empty] = np.nan, np.nan
    return low, high
