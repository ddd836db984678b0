"""The bins of two features together: cells of a grid, some of which are one bin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_rank._bins.binned_features import FeatureBins
from sklearn_rank._core.protocols import Floats, Indices

__all__ = ["PairBins"]


@dataclass(frozen=True, eq=False)
class PairBins:
    """A map of the values of two features to the numbers of their bins.

    The bins of both features divide the rows into the cells of a grid. Bins are groups of cells,
    as those of categories are groups of codes; the last bin is that of cells which no training
    row was in, or too few.

    Attributes
    ----------
    first, second : FeatureBins
        The bins of each feature. The number of a cell is that of its bin of the first one, times
        the number of bins of the second one, plus that of its bin of the second one.
    features : (int, int)
        Their columns.
    categories : ndarray of shape (n_cells,)
        The bin of each cell: 0, 1, ..., without gaps; -1 for the last bin.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.models import FeatureBins, PairBins
    >>> one, other = FeatureBins(np.array([1.5])), FeatureBins(np.array([0.0]))
    >>> bins = PairBins(one, other, (0, 1), np.array([0, 1, -1, 1, 2, -1, -1, -1, -1]))
    >>> bins.n_bins
    4
    >>> bins(np.array([1.0, 2.0, np.nan]), np.array([5.0, 5.0, 5.0]))
    array([1, 2, 3])
    """

    first: FeatureBins
    second: FeatureBins
    features: tuple[int, int]
    categories: Indices

    @property
    def thresholds(self) -> Floats:
        """None: cells have no order."""
        return np.zeros(0)

    @property
    def special(self) -> Floats:
        """None: special codes have cells of their own."""
        return np.zeros(0)

    @property
    def has_order(self) -> bool:
        """Whether the bins are ranges."""
        return False

    @property
    def shape(self) -> tuple[int, int]:
        """Number of bins of each feature."""
        return self.first.n_bins, self.second.n_bins

    @property
    def n_values(self) -> int:
        """Number of bins but the last."""
        return int(self.categories.max(initial=-1)) + 1

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return self.n_values + 1

    @property
    def missing(self) -> int:
        """The last bin."""
        return self.n_bins - 1

    def cells(self, x: Floats, z: Floats) -> Indices:
        """Return the cell of each row, given the values of both features."""
        return np.asarray(self.first(x) * self.second.n_bins + self.second(z))

    def __call__(self, x: Floats, z: Floats) -> Indices:
        """Return the bin of each row, given the values of both features."""
        return self.bin_of_cell.take(self.cells(x, z))

    @property
    def bin_of_cell(self) -> Indices:
        """The bin of each cell, the last one in place of -1."""
        return np.where(self.categories < 0, self.missing, self.categories)

    def of_rows(self, X: Floats, feature: int) -> Indices:
        """Return the bin of each row of X; `feature`, the number of the pair, is not used."""
        one, other = self.features
        return self(X[:, one], X[:, other])

    def equal(self, other: object) -> bool:
        """Whether two maps are equal."""
        return (
            isinstance(other, PairBins)
            and self.features == other.features
            and self.first.equal(other.first)
            and self.second.equal(other.second)
            and np.array_equal(self.categories, other.categories)
        )
