"""Symmetric trees as arrays: how they are stored, and what they compute."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
from scipy.sparse import issparse

from sklearn_rank._bins.binned_features import FeatureBins
from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.protocols import Floats, Indices, Mask

_BLOCK_ROWS = 1 << 13
"""Rows that are scored at a time."""

_BLOCK_SUMS = 1 << 22
"""Expected scores of trees, sets of features and leaves in memory at a time: 32 MiB."""


@dataclass(frozen=True, eq=False)
class SymmetricTrees:
    """Trees that use the same split for all leaves of a level.

    The number of a leaf has a bit for each level, the root's first: 1 where a row goes right. Trees
    of fewer levels than the deepest one are filled up with levels that send every row left.

    Attributes
    ----------
    feature : ndarray of shape (n_trees, depth)
        The feature of each level; -1 where it splits nothing.
    threshold : ndarray of shape (n_trees, depth)
        Numbers up to it go left; NaN for a split of categories.
    missing_right : ndarray of shape (n_trees, depth)
        Whether missing values, and categories that training had not, go right.
    is_neutral : ndarray of shape (n_trees, depth)
        Whether no training row misses the feature, so that no missing value chose that side.
    goes_right : ndarray of shape (n_trees, depth, n_categories)
        Whether a category goes right.
    gain : ndarray of shape (n_trees, depth)
        By how much the split raised the sum of ``G ** 2 / (N + 3)`` over the leaves.
    weight, value : ndarray of shape (n_trees, 2 ** depth)
        Weight of the training rows in each leaf, and its addition to the score.
    """

    feature: Indices
    threshold: Floats
    missing_right: Mask
    is_neutral: Mask
    goes_right: Mask
    gain: Floats
    weight: Floats
    value: Floats

    def __len__(self) -> int:
        """Return the number of trees."""
        return len(self.feature)

    def __getitem__(self, rounds: slice) -> SymmetricTrees:
        """Return some of the trees."""
        return SymmetricTrees(*(getattr(self, field.name)[rounds] for field in fields(self)))

    @classmethod
    def joined(cls, forests: Sequence[SymmetricTrees]) -> SymmetricTrees:
        """Return the trees of several fits, one after the other."""
        depth = max(trees.feature.shape[1] for trees in forests)
        n_categories = max(trees.goes_right.shape[2] for trees in forests)
        padded = [trees._padded(depth, n_categories) for trees in forests]
        return cls(*(np.concatenate(arrays) for arrays in zip(*padded, strict=True)))

    def _padded(self, depth: int, n_categories: int) -> list[Any]:
        """Return the arrays of trees padded to the same depth; the added levels are the lowest."""
        n_added = depth - self.feature.shape[1]
        padding, n_copies = ((0, 0), (0, n_added)), 1 << n_added
        return [
            np.pad(self.feature, padding, constant_values=-1),
            np.pad(self.threshold, padding, constant_values=np.nan),
            np.pad(self.missing_right, padding),
            np.pad(self.is_neutral, padding),
            np.pad(self.goes_right, (*padding, (0, n_categories - self.goes_right.shape[2]))),
            np.pad(self.gain, padding),
            np.kron(self.weight, np.eye(1, n_copies)),  # all rows go left
            self.value.repeat(n_copies, axis=1),
        ]

    def to_bytes(self) -> bytes:
        """Return the arrays as a NumPy archive, where categories have a bit each."""
        file = io.BytesIO()
        arrays = {field.name: getattr(self, field.name) for field in fields(self)}
        arrays["goes_right"] = np.packbits(self.goes_right, axis=2)
        np.savez(file, **arrays)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, stored: bytes) -> SymmetricTrees:
        """Read a NumPy archive, in which nothing is pickled or compressed.

        Bits of categories fill whole bytes: there may be up to seven categories that never occur.
        """
        with np.load(io.BytesIO(stored), allow_pickle=False) as archive:
            if any(member.compress_type for member in archive.zip.infolist()):
                raise ValueError("Arrays of symmetric trees are not compressed.")
            arrays = {field.name: archive[field.name] for field in fields(cls)}
        arrays["goes_right"] = np.unpackbits(arrays["goes_right"], axis=2).astype(bool)
        return cls(**arrays)

    @cached_property
    def _bins(self) -> dict[int, FeatureBins]:
        """The bins of each feature in use, between the thresholds of all trees."""
        bins = {}
        for j in np.unique(self.feature[self.feature >= 0]).tolist():
            thresholds = np.unique(self.threshold[self.feature == j])
            if np.isnan(thresholds).any():
                bins[j] = FeatureBins(categories=np.arange(self.goes_right.shape[2]))
            else:
                bins[j] = FeatureBins(thresholds)
        return bins

    def _sides(self, tree: int) -> Iterator[tuple[int, Mask]]:
        """Yield the feature of each level, and which of its bins go right."""
        for level, j in enumerate(self.feature[tree].tolist()):
            if j < 0:
                yield j, np.zeros(1, dtype=bool)
                continue
            is_right, threshold = self.goes_right[tree, level], self.threshold[tree, level]
            if not np.isnan(threshold):
                is_right = np.append(self._bins[j].thresholds, np.inf) > threshold
            yield j, np.append(is_right, self.missing_right[tree, level])

    def leaves(self, X: Any, first: int, last: int) -> Iterator[tuple[slice, int, Indices]]:
        """Yield blocks of rows, and the leaf of each row in each of some trees."""
        tree_sides = [list(self._sides(tree)) for tree in range(first, last)]
        used = {j for levels in tree_sides for j, _ in levels if j >= 0}
        for rows in blocks(X.shape[0], _BLOCK_ROWS):
            block = X[rows].toarray() if issparse(X) else np.asarray(X[rows], dtype=np.float64)
            codes = {j: self._bins[j].encode(np.ascontiguousarray(block[:, j])) for j in used}
            for tree, levels in enumerate(tree_sides, first):
                leaf = np.zeros(len(block), dtype=np.uint8)
                for j, right in levels:
                    leaf <<= 1
                    if j >= 0:
                        leaf |= right[codes[j]]
                yield rows, tree, leaf

    def scores(self, X: Any, first: int, last: int) -> Floats:
        """Return the sum of the values of some trees for each row."""
        scores = np.zeros(X.shape[0])
        for rows, tree, leaf in self.leaves(X, first, last):
            scores[rows] += self.value[tree][leaf]
        return scores

    def contributions(self, X: Any) -> Floats:
        """Return path-dependent Shapley values of each feature, the constant last."""
        n_rows, n_features = X.shape
        contributions = np.zeros((n_rows, n_features + 1))
        n_trees = max(1, _BLOCK_SUMS >> 2 * self.feature.shape[1])
        for block in blocks(len(self), n_trees):
            trees = self[block]
            tables, constant = trees._shapley_tables()
            contributions[:, -1] += constant
            for rows, tree, leaf in trees.leaves(X, 0, len(trees)):
                for level, j in enumerate(trees.feature[tree].tolist()):
                    if j >= 0:
                        contributions[rows, j] += tables[tree, level][leaf]
        return contributions

    def _shapley_tables(self) -> tuple[Floats, float]:
        r"""Return the Shapley value of each level for a row in each leaf, and the constant.

        .. math:: \phi_j = \sum_{S \not\ni j} \frac{|S|! \, (d - 1 - |S|)!}{d!}
            \bigl( v(S \cup j) - v(S) \bigr)

        where d is the depth, S are sets of levels, and v(S) is the expected value of a tree: at the
        levels in S the path follows the row; at other levels both branches are averaged, weighted
        by training rows. Levels that split on the same feature count as a single player,
        represented by the first.
        """
        n_trees, depth = self.feature.shape
        sets = np.arange(1 << depth)
        # 1. v[tree, S, node of the level, path of the row below], from the leaves upwards.
        expected = np.broadcast_to(
            self.value[:, None, :, None], (n_trees, 1 << depth, 1 << depth, 1)
        )
        weight = self.weight
        player = np.array([[row.index(j) for j in row] for row in self.feature.tolist()], dtype=int)
        for level in range(depth - 1, -1, -1):
            child_weight = weight.reshape(n_trees, -1, 2)
            weight = child_weight.sum(axis=2)
            share = np.full(child_weight.shape, 0.5)
            np.divide(child_weight, weight[:, :, None], out=share, where=weight[:, :, None] > 0)
            child_value = expected.reshape(n_trees, 1 << depth, 1 << level, 2, -1)
            mean = np.einsum("tnb,tsnbr->tsnr", share, child_value)
            is_in_set = (sets >> player[:, [level]] & 1).astype(bool)[:, :, None, None, None]
            expected = np.where(is_in_set, child_value, mean[:, :, :, None])
            expected = expected.reshape(n_trees, 1 << depth, 1 << level, -1)
        expected = expected[:, :, 0]
        # 2. The mean gain of a level over the sets without it, those of each size together alike.
        tables = np.zeros((n_trees, depth, 1 << depth))
        for level in range(depth):
            sets_without = sets[sets >> level & 1 == 0]
            sizes = [members.bit_count() for members in sets_without.tolist()]
            shares = 1 / (depth * np.array([comb(depth - 1, size) for size in sizes]))
            gain = expected[:, sets_without | 1 << level] - expected[:, sets_without]
            tables[:, level] = np.einsum("s,tsl->tl", shares, gain)
        return tables, float(expected[:, 0, 0].sum())

    def importances(self, n_features: int) -> Floats:
        """Return the total gain of the splits of each feature."""
        is_split = self.feature >= 0
        gain = np.bincount(self.feature[is_split], self.gain[is_split], n_features)
        return np.asarray(gain, dtype=np.float64)
