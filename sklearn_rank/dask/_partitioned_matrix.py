"""A matrix of features, or of bins, whose rows stay in several arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sklearn_rank._bins.binned_features import FeatureBins
from sklearn_rank._core.protocols import Floats, Indices, Values


class PartitionedMatrix:
    """A matrix whose rows lie in several arrays: products with vectors, and slices.

    Parameters
    ----------
    parts : sequence of ndarray of shape (n, n_features)
        The rows. At least one array; arrays may be empty.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.dask._partitioned_matrix import PartitionedMatrix
    >>> X = PartitionedMatrix([np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [5.0, 6.0]])])
    >>> X.shape, len(X)
    ((3, 2), 3)
    >>> X @ np.array([1.0, -1.0]), np.array([1.0, 0.0, 1.0]) @ X
    (array([-1., -1., -1.]), array([6., 8.]))
    >>> X[1:3]
    array([[3., 4.],
           [5., 6.]])
    """

    __array_ufunc__ = None  # ``array @ rows`` comes here

    def __init__(self, parts: Sequence[Values]) -> None:
        self.parts = list(parts)
        self._start = np.cumsum([0, *map(len, self.parts)])  # first row of each part
        self.shape = int(self._start[-1]), int(self.parts[0].shape[1])
        self.dtype = self.parts[0].dtype

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def _slices(self) -> Iterator[tuple[slice, Values]]:
        """Yield the rows of each part, as a slice of the matrix, and the part."""
        for start, part in zip(self._start[:-1].tolist(), self.parts, strict=True):
            yield slice(start, start + len(part)), part

    def __matmul__(self, vector: Floats) -> Floats:
        """Return the product of the matrix and the coefficients."""
        return np.concatenate([part @ vector for part in self.parts])

    def __rmatmul__(self, vector: Any) -> Floats:
        """Return the product of values of the rows with the matrix."""
        total = sum(vector[..., rows] @ part for rows, part in self._slices())
        return np.asarray(total)

    def __getitem__(self, key: Any) -> Values:
        """Return rows, or columns of rows; a view if a slice of rows lies in one array."""
        if isinstance(key, tuple):
            rows, columns = key
            parts = self.parts if rows == slice(None) else [self[rows]]
            return np.concatenate([part[:, columns] for part in parts])
        if isinstance(key, slice) and key.step in (None, 1):
            first, last, _ = key.indices(len(self))
            overlaps = [
                part[max(first - rows.start, 0) : last - rows.start]
                for rows, part in self._slices()
                if first < rows.stop and rows.start < last
            ]
            if len(overlaps) == 1:
                return overlaps[0]
            return np.concatenate([self.parts[0][:0], *overlaps])
        rows = np.arange(len(self))[key]
        part_of_row = np.searchsorted(self._start, rows, side="right") - 1
        values = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        for j in np.unique(part_of_row).tolist():
            in_part = part_of_row == j
            values[in_part] = self.parts[j][rows[in_part] - self._start[j]]
        return values

    def min(self, axis: int | None = None) -> Any:
        """Return the smallest value, or that of each column; inf if there are no rows."""
        return np.min([part.min(axis=axis, initial=np.inf) for part in self.parts], axis=0)

    def max(self, axis: int | None = None) -> Any:
        """Return the largest value, or that of each column; -inf if there are no rows."""
        return np.max([part.max(axis=axis, initial=-np.inf) for part in self.parts], axis=0)


class BinnedX:
    """The bins of features, used instead of X if no process has its values.

    Parameters
    ----------
    parts : sequence of ndarray of shape (n_features, n_part_rows)
        The bins of the rows, part after part.
    bins : list of FeatureBins
        The bins of each feature.
    """

    def __init__(self, parts: Sequence[Indices], bins: list[FeatureBins]) -> None:
        self.numbers = PartitionedMatrix([part.T for part in parts])  # numbers of bins
        self.bins, self.shape = bins, self.numbers.shape

    def __getitem__(self, rows: Any) -> BinnedX:
        """Return some of the rows."""
        return BinnedX([self.codes(rows)], self.bins)

    def codes(self, rows: Any) -> Indices:
        """Return the bins of some rows, of shape (n_features, n_rows)."""
        codes: Indices = np.empty(
            (self.shape[1], len(np.arange(self.shape[0])[rows])), self.numbers.dtype
        )
        for j, code in enumerate(codes):  # a feature at a time: all at once would be a copy
            code[:] = self.numbers[:, j][rows]
        return codes
