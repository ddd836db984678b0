"""Rows in several arrays, as one matrix that is never put together: of features, or of bins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sklearn_rank._bins.binned_features import FeatureBins
from sklearn_rank._core.protocols import Floats, Indices, Values


class PartitionedMatrix:
    """A matrix whose rows lie in several arrays, for linear models: products, and some rows.

    Parameters
    ----------
    parts : sequence of ndarray of shape (n, n_features)
        The rows, some in each; at least one array, which may have no rows.

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
        self._start = np.cumsum([0, *map(len, self.parts)])
        self.shape = int(self._start[-1]), int(self.parts[0].shape[1])
        self.dtype = self.parts[0].dtype

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def _pieces(self) -> Iterator[tuple[slice, Values]]:
        """Yield the parts, and which rows they are."""
        for start, part in zip(self._start[:-1].tolist(), self.parts, strict=True):
            yield slice(start, start + len(part)), part

    def __matmul__(self, other: Floats) -> Floats:
        """Return the product with coefficients."""
        return np.concatenate([part @ other for part in self.parts])

    def __rmatmul__(self, other: Any) -> Floats:
        """Return the product with values of the rows, from the left."""
        total = sum(other[..., rows] @ part for rows, part in self._pieces())
        return np.asarray(total)

    def __getitem__(self, key: Any) -> Values:
        """Return some rows, or columns of all rows; a view where the rows lie in one array."""
        if isinstance(key, tuple):
            rows, columns = key
            parts = self.parts if rows == slice(None) else [self[rows]]
            return np.concatenate([part[:, columns] for part in parts])
        if isinstance(key, slice) and key.step in (None, 1):
            return self._stretch(*key.indices(len(self))[:2])
        rows = np.arange(len(self))[key]
        number = np.searchsorted(self._start, rows, side="right") - 1
        found = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        for which in np.unique(number).tolist():
            here = number == which
            found[here] = self.parts[which][rows[here] - self._start[which]]
        return found

    def _stretch(self, first: int, last: int) -> Values:
        """Return the rows from `first` to before `last`."""
        some = [
            part[max(first - rows.start, 0) : last - rows.start]
            for rows, part in self._pieces()
            if first < rows.stop and rows.start < last
        ]
        return some[0] if len(some) == 1 else np.concatenate([self.parts[0][:0], *some])

    def min(self, axis: int | None = None) -> Any:
        """Return the smallest value, or that of each column; inf without rows."""
        return np.min([part.min(axis=axis, initial=np.inf) for part in self.parts], axis=0)

    def max(self, axis: int | None = None) -> Any:
        """Return the largest value, or that of each column; -inf without rows."""
        return np.max([part.max(axis=axis, initial=-np.inf) for part in self.parts], axis=0)


class BinnedX:
    """Features of which only the bins are known: stands for X where its values are elsewhere.

    Parameters
    ----------
    parts : sequence of ndarray of shape (n_features, n_part_rows)
        The bins of the rows, part after part.
    bins : list of FeatureBins
        The bins of each feature.
    """

    def __init__(self, parts: Sequence[Indices], bins: list[FeatureBins]) -> None:
        self.numbers = PartitionedMatrix([part.T for part in parts])
        self.bins, self.shape = bins, self.numbers.shape

    def __getitem__(self, rows: Any) -> BinnedX:
        """Return some of the rows."""
        return BinnedX([self.codes(rows)], self.bins)

    def codes(self, rows: Any) -> Indices:
        """Return the bins of some rows, one line for each feature."""
        codes: Indices = np.empty(
            (self.shape[1], len(np.arange(self.shape[0])[rows])), self.numbers.dtype
        )
        for number, line in enumerate(codes):  # one at a time: all together would be a copy
            line[:] = self.numbers[:, number][rows]
        return codes
