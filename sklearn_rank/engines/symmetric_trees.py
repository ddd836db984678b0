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
"""Expected scores, by tree, set of features and leaf, that are kept at a time: 32 MiB."""


@dataclass(frozen=True, eq=False)
class SymmetricTrees:
    """Trees of which each splits all leaves of a level alike.

    The number of a leaf has a bit for each level, that of the root first: 1 where a row has gone
    right. A tree with fewer levels than others has more that split nothing, which send all left.

    Attributes
    ----------
    feature : ndarray of shape (n_trees, depth)
        The feature of each level; -1 where it splits nothing.
    threshold : ndarray of shape (n_trees, depth)
        Numbers up to it go left; NaN for a split of categories.
    missing_right : ndarray of shape (n_trees, depth)
        Whether missing values, and categories that training had not, go right.
    is_neutral : ndarray of shape (n_trees, depth)
        Whether no missing value of the training rows decided that.
    goes_right : ndarray of shape (n_trees, depth, n_categories)
        Whether a category goes right.
    gain : ndarray of shape (n_trees, depth)
        By how much the split raised the sum of ``G ** 2 / (N + 3)`` over the leaves.
    weight, value : ndarray of shape (n_trees, 2 ** depth)
        Weight of the training rows in each leaf, and what a leaf adds to the score.
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
    def joined(cls, parts: Sequence[SymmetricTrees]) -> SymmetricTrees:
        """Return the trees of several fits, one after the other."""
        depth = max(part.feature.shape[1] for part in parts)
        n_categories = max(part.goes_right.shape[2] for part in parts)
        padded = [part._padded(depth, n_categories) for part in parts]
        columns = zip(*padded, strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    def _padded(self, depth: int, n_categories: int) -> list[Any]:
        """Return the arrays with as many levels; those that are added come last."""
        more = ((0, 0), (0, depth - self.feature.shape[1]))
        n_copies = 1 << more[1][1]
        weight = np.kron(self.weight, np.eye(1, n_copies))
        return [
            np.pad(self.feature, more, constant_values=-1),
            np.pad(self.threshold, more, constant_values=np.nan),
            np.pad(self.missing_right, more),
            np.pad(self.is_neutral, more),
            np.pad(self.goes_right, (*more, (0, n_categories - self.goes_right.shape[2]))),
            np.pad(self.gain, more),
            weight,
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

        The bits fill whole bytes: there may be categories that never occur.
        """
        with np.load(io.BytesIO(stored), allow_pickle=False) as archive:
            if any(member.compress_type for member in archive.zip.infolist()):
                raise ValueError("Arrays of symmetric trees are not compressed.")
            arrays = {field.name: archive[field.name] for field in fields(cls)}
        arrays["goes_right"] = np.unpackbits(arrays["goes_right"], axis=2).astype(bool)
        return cls(**arrays)

    @cached_property
    def _bins(self) -> dict[int, FeatureBins]:
        """The bins of each feature in use: those that some split tells apart."""
        is_category = np.isnan(self.threshold) & (self.feature >= 0)
        bins = {}
        for j in np.unique(self.feature[self.feature >= 0]).tolist():
            of_feature = self.feature == j
            if (is_category & of_feature).any():
                bins[j] = FeatureBins(categories=np.arange(self.goes_right.shape[2]))
            else:
                bins[j] = FeatureBins(np.unique(self.threshold[of_feature]))
        return bins

    def _sides(self, tree: int) -> Iterator[tuple[int, Mask]]:
        """Yield the feature of each level, and which of its bins go right."""
        for level, j in enumerate(self.feature[tree].tolist()):
            if j < 0:
                yield j, np.zeros(1, dtype=bool)
                continue
            bins, threshold = self._bins[j], self.threshold[tree, level]
            right = (
                self.goes_right[tree, level]
                if np.isnan(threshold)
                else np.append(bins.thresholds, np.inf) > threshold
            )
            yield j, np.append(right, self.missing_right[tree, level])

    def leaves(self, X: Any, first: int, last: int) -> Iterator[tuple[slice, int, Indices]]:
        """Yield blocks of rows, and the leaf of each row in each of some trees."""
        sides = [list(self._sides(tree)) for tree in range(first, last)]
        used = {j for tree in sides for j, _ in tree if j >= 0}
        for rows in blocks(X.shape[0], _BLOCK_ROWS):
            part = X[rows].toarray() if issparse(X) else np.asarray(X[rows], dtype=np.float64)
            codes = {j: self._bins[j].encode(np.ascontiguousarray(part[:, j])) for j in used}
            for tree, levels in enumerate(sides, first):
                leaf = np.zeros(len(part), dtype=np.uint8)
                for j, right in levels:
                    leaf <<= 1
                    if j >= 0:
                        leaf |= right[codes[j]]
                yield rows, tree, leaf

    def scores(self, X: Any, first: int, last: int) -> Floats:
        """Return the sum of the values of some trees for each row."""
        out = np.zeros(X.shape[0])
        for rows, tree, leaf in self.leaves(X, first, last):
            out[rows] += self.value[tree][leaf]
        return out

    def contributions(self, X: Any) -> Floats:
        """Return path-dependent Shapley values of each feature, the constant last."""
        n_rows, n_features = X.shape
        out = np.zeros((n_rows, n_features + 1))
        step = max(1, _BLOCK_SUMS >> 2 * self.feature.shape[1])
        for trees in blocks(len(self), step):
            part = self[trees]
            tables, constant = part._shapley_tables()
            out[:, -1] += constant
            for rows, tree, leaf in part.leaves(X, 0, len(part)):
                for level, j in enumerate(part.feature[tree].tolist()):
                    if j >= 0:
                        out[rows, j] += tables[tree, level][leaf]
        return out

    def _shapley_tables(self) -> tuple[Floats, float]:
        """Return what each level adds for a row in each leaf, and the sum of all expectations.

        The expected value given the features of a set S follows the row at levels of S, and
        elsewhere goes both ways by the weights of the training rows. Levels that split on one
        feature are one player: the first of them; the others add nothing.
        """
        n_trees, depth = self.feature.shape
        sets = np.arange(1 << depth)
        # expected[tree, S, node of the level, what the row does below], from the leaves upwards
        expected = np.broadcast_to(
            self.value[:, None, :, None], (n_trees, 1 << depth, 1 << depth, 1)
        )
        weight = self.weight
        player = np.array([[row.index(j) for j in row] for row in self.feature.tolist()], dtype=int)
        for level in range(depth - 1, -1, -1):
            pairs = weight.reshape(n_trees, -1, 2)
            weight = pairs.sum(axis=2)
            share = np.full(pairs.shape, 0.5)
            np.divide(pairs, weight[:, :, None], out=share, where=weight[:, :, None] > 0)
            below = expected.reshape(n_trees, 1 << depth, 1 << level, 2, -1)
            mean = np.einsum("tnb,tsnbr->tsnr", share, below)
            follows = (sets >> player[:, [level]] & 1).astype(bool)[:, :, None, None, None]
            chosen = np.where(follows, below, mean[:, :, :, None])
            expected = chosen.reshape(n_trees, 1 << depth, 1 << level, -1)
        expected = expected[:, :, 0]
        tables = np.zeros((n_trees, depth, 1 << depth))
        for level in range(depth):
            without = sets[sets >> level & 1 == 0]
            size = np.array([int(number).bit_count() for number in without])
            shares = 1 / (depth * np.array([comb(depth - 1, k) for k in size.tolist()]))
            gain = expected[:, without | 1 << level] - expected[:, without]
            tables[:, level] = np.einsum("s,tsl->tl", shares, gain)
        return tables, float(expected[:, 0, 0].sum())

    def importances(self, n_features: int) -> Floats:
        """Return the total gain of the splits of each feature."""
        is_split = self.feature >= 0
        gain = np.bincount(self.feature[is_split], self.gain[is_split], n_features)
        return np.asarray(gain, dtype=np.float64)
