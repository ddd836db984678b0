"""Features as the numbers of their bins, for rows whose values are not held."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Codes, Floats

__all__ = ["StoredBins"]


class StoredBins:
    """Rows of which only the bin of each value is held; a value is read as the start of its bin.

    Trees that split at starts of bins send each row the way of its values. A bin takes one byte,
    two with more than 255 bins.

    Parameters
    ----------
    row_codes : ndarray of shape (n_rows,)
        A hash of the values of each row, as `hash_rows` returns it.
    n_features : int
        Number of features.

    Attributes
    ----------
    shape : tuple of int
        Numbers of rows and of features.
    """

    def __init__(self, row_codes: Codes, n_features: int) -> None:
        self.row_codes = row_codes
        self.shape = len(row_codes), n_features

    def fill(self, starts: Floats, blocks: Iterable[tuple[int, Floats]]) -> None:
        """Store the bins of all rows.

        Values below the first start are in the first bin: starts may come from a sample.

        Parameters
        ----------
        starts : ndarray of shape (n_bins, n_features)
            The smallest value of each bin of each feature, rising, and NaN below the last, as
            `bin_starts` returns them.
        blocks : iterable of (int, ndarray of shape (n_in_block, n_features))
            The number of the first row of each block, and its values.
        """
        missing = len(starts)
        self._value = np.vstack([starts, np.full(starts.shape[1], np.nan, starts.dtype)])
        self._bin = np.empty(self.shape, dtype=np.min_scalar_type(missing))
        for first, values in blocks:
            for j, x in enumerate(values.astype(starts.dtype).T):
                place = np.searchsorted(starts[:, j], x, side="right")
                found = np.where(np.isnan(x), missing, np.maximum(place - 1, 0))
                self._bin[first : first + len(x), j] = found

    def __getitem__(self, key: Any) -> Floats:
        """Return rows, or of ``[rows, j]`` the values of a feature."""
        if isinstance(key, tuple):
            rows, j = key
            return self._value[:, j][self._bin[rows, j]]
        return self._value[self._bin[key], np.arange(self.shape[1])]
