"""Histograms of a gradient over every feature's bins, and the choice among equally good gains."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Floats, Indices, RowGradient
from sklearn_rank._core.tolerances import GAIN_TIE

_MOST_ENTRIES = 4356
"""Entries of a joint table, of two features with 66 bins each: for the first-level cache."""


def first_positive(gains: Floats) -> int | None:
    """Return the first index of the largest gain, up to rounding; None if no gain is positive."""
    max_gain = float(gains.max(initial=0.0))
    return int((gains >= max_gain - GAIN_TIE * max_gain).argmax()) if max_gain > 0 else None


class BinSums:
    """Sums of a gradient over every feature's bins, by SciPy's sparse matrices.

    A CSR matrix whose column indices are bin codes *is* a weighted histogram: row g of its dense
    form (``toarray``) has the sums of group g by bin. Two or three features share a matrix by a
    joint code, so that one pass serves them all; the joint table is then reduced to one table a
    feature. The gradient is the ``data`` of all matrices, so that nothing is copied in a round.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_rows)
        Bin of each value, below `n_bins`.
    n_bins : int
        Number of bins of the feature with most bins.
    threads : ThreadPool
        Threads that share the matrices.
    """

    def __init__(self, codes: Indices, n_bins: int, threads: ThreadPool) -> None:
        n_features, n_rows = codes.shape
        self.codes = codes
        self.n_bins = n_bins
        self._threads = threads
        max_entries = min(_MOST_ENTRIES, max(n_rows // 2, n_bins))
        self._n_joined = 1  # features in one joint code
        while self._n_joined < n_features and n_bins ** (self._n_joined + 1) <= max_entries:
            self._n_joined += 1
        n_matrices = -(-n_features // self._n_joined)
        # One array, not one a matrix: the system gives memory for it in fewer, larger pages.
        self._joint = np.empty((n_matrices, n_rows), dtype=np.int32)
        threads.map(self._join_codes, n_matrices)
        self._matrices: list[csr_matrix] = []
        self._tables = np.zeros((n_matrices, 0, 0))

    def _join_codes(self, index: int) -> None:
        first_feature, joint_code = index * self._n_joined, self._joint[index]
        joint_code[:] = self.codes[first_feature]
        for feature in range(first_feature + 1, first_feature + self._n_joined):
            joint_code *= self.n_bins
            if feature < len(self.codes):  # the last matrix may have fewer features
                joint_code += self.codes[feature]

    def at(self, rows: Indices) -> BinSums:
        """Return some of the rows."""
        return BinSums(self.codes[:, rows], self.n_bins, self._threads)

    def sum_by_bin(self, gradient: RowGradient) -> Floats:
        """Return the sum in each bin, shape (n_groups, n_features, n_bins)."""
        n_groups = len(gradient.pointer) - 1
        if self._tables.shape[1] != n_groups:
            self._prepare(n_groups)
        pointer = gradient.pointer.astype(np.int32)

        def sum_matrix(index: int) -> None:
            matrix = self._matrices[index]
            matrix.data, matrix.indptr = gradient.data, pointer
            matrix.toarray(out=self._tables[index])

        self._threads.map(sum_matrix, len(self._matrices))
        return self._sum_out(n_groups)

    def _prepare(self, n_groups: int) -> None:
        """Build the matrices and their tables, once per fit."""
        n_entries = self.n_bins**self._n_joined
        self._tables = np.zeros((len(self._joint), n_groups, n_entries))
        self._matrices = [csr_matrix((n_groups, n_entries)) for _ in self._joint]
        for matrix, joint in zip(self._matrices, self._joint, strict=True):
            # An attribute, not the constructor, which would scan and copy the indices.
            matrix.indices = joint

    def _sum_out(self, n_groups: int) -> Floats:
        """Reduce joint tables to one histogram for each feature."""
        n_bins, width = self.n_bins, self._n_joined
        sums = np.empty((n_groups, len(self._joint), width, n_bins))
        tables = self._tables
        for position in range(width - 1):
            tables = tables.reshape(len(tables), n_groups, n_bins, -1)
            sums[:, :, position] = tables.sum(axis=-1).transpose(1, 0, 2)
            tables = tables.sum(axis=2)
        sums[:, :, -1] = tables.reshape(len(tables), n_groups, n_bins).transpose(1, 0, 2)
        by_feature = sums.reshape(n_groups, -1, n_bins)
        return by_feature[:, : len(self.codes)]

    def look_up(self, tables: Floats) -> Floats:
        """Return ``sum_j tables[j, code_j]`` for each row."""
        scores = np.zeros(self.codes.shape[1])
        for index, joint_code in enumerate(self._joint):
            first_feature = index * self._n_joined
            feature_tables = tables[first_feature : first_feature + self._n_joined]
            if not feature_tables.any():
                continue
            # The last matrix may have fewer features.
            padding = np.zeros((self._n_joined - len(feature_tables), self.n_bins))
            sums = np.zeros(1)
            for table in (*feature_tables, *padding):
                sums = (sums[:, np.newaxis] + table).ravel()
            scores += sums.take(joint_code)
        return scores
