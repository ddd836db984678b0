"""The bins of a feature: ranges between thresholds, categories, special codes, missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats, Indices
from sklearn_rank.bins.digitizer import Digitizer

__all__ = ["FeatureBins", "StepFunction"]


_MANY_VALUES = 4096
"""Values from which on the lookup table of `Digitizer` is worth building."""


def _no_values() -> Floats:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class FeatureBins:
    """A map of the values of a feature to the numbers of its bins.

    Bins are numbered: first those of ordinary values, then one for each special code, last
    that of missing values. Ordinary values are ranges ``(-inf, t_1], (t_1, t_2], ...,
    (t_n, inf)`` or, of a categorical feature, groups of category codes.

    Attributes
    ----------
    thresholds : ndarray of shape (n_thresholds,)
        Increasing; empty for categories.
    special : ndarray of shape (n_special,)
        Values with a bin of their own, of no order.
    categories : ndarray of shape (n_categories,) or None
        The bin of each category code 0, 1, ...; None for numbers. Bins are 0, 1, ..., without
        gaps; -1 for a category that counts as missing, as do codes outside the range.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.models import FeatureBins
    >>> bins = FeatureBins(np.array([1.5, 3.0]), special=np.array([-99.0]))
    >>> bins.n_bins
    5
    >>> bins(np.array([1.0, 3.0, 9.0, -99.0, np.nan]))
    array([0, 1, 2, 3, 4])
    """

    thresholds: Floats = field(default_factory=_no_values)
    special: Floats = field(default_factory=_no_values)
    categories: Indices | None = None

    @property
    def n_values(self) -> int:
        """Number of bins of ordinary values."""
        if self.categories is None:
            return len(self.thresholds) + 1
        return int(self.categories.max(initial=-1)) + 1

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return self.n_values + len(self.special) + 1

    @property
    def missing(self) -> int:
        """The bin of missing values."""
        return self.n_bins - 1

    def __call__(self, x: Floats) -> Indices:
        """Return the bin of each value."""
        return self.encode(x).astype(np.intp)

    def encode(self, x: Floats) -> Indices:
        """Return the bin of each value, as integers of few bits where there are many values."""
        if self.categories is not None:
            bins = self._categories_of(x)
        elif len(x) < _MANY_VALUES:
            bins = np.searchsorted(self.thresholds, x)
        else:
            bins = self._digitizer(x)
        for number, code in enumerate(self.special):
            bins[x == code] = self.n_values + number
        bins[np.isnan(x)] = self.missing
        return bins

    @cached_property
    def _digitizer(self) -> Digitizer:
        return Digitizer(self.thresholds, self.n_bins)

    def _categories_of(self, x: Floats) -> Indices:
        assert self.categories is not None
        known = np.append(
            np.where(self.categories < 0, self.missing, self.categories), self.missing
        )
        code = np.nan_to_num(x, nan=-1.0, posinf=-1.0, neginf=-1.0).astype(np.intp)
        is_known = (code == x) & (code >= 0) & (code < len(self.categories))
        return known[np.where(is_known, code, -1)]

    def equal(self, other: FeatureBins) -> bool:
        """Whether two maps are equal."""
        if (self.categories is None) != (other.categories is None):
            return False
        return all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("thresholds", "special", "categories")
            if getattr(self, name) is not None
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields."""
        return {name: value for name, value in vars(self).items() if name != "_digitizer"}


@dataclass(frozen=True, eq=False)
class StepFunction:
    """What a model adds to the score for each bin of a feature.

    Attributes
    ----------
    feature : int
        The column.
    bins : FeatureBins
        Its bins.
    values : ndarray of shape (n_bins,)
        What each adds.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.models import FeatureBins, StepFunction
    >>> step = StepFunction(0, FeatureBins(np.array([1.5])), np.array([0.0, 0.7, -0.2]))
    >>> step(np.array([1.0, 2.0, np.nan]))
    array([ 0. ,  0.7, -0.2])
    """

    feature: int
    bins: FeatureBins
    values: Floats

    def __call__(self, x: Floats) -> Floats:
        """Return the addition to the score of each value."""
        return self.values.take(self.bins.encode(x))
