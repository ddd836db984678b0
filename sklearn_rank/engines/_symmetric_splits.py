"""The splits of a symmetric tree: histograms by leaf, feature and bin, and the best noisy cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sklearn_rank._bins.binned_features import FeatureBins
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank.engines.engine import as_exact_sums

PRIOR_ROWS = 3.0
"""Rows added to each side of a split: they shrink the mean gradient of a side with few rows."""

SINGLE_LEVELS = 64
"""Most categories of a feature for splits of one category from all others. With more, categories
are ordered by their smoothed mean gradients over the rows that are not drawn, if there are any."""

HEAVY_SHARE = 0.01
"""Share of the weight above which a merged row is always drawn, with a share of its weight."""

_TABLE_ENTRIES = 1 << 16
"""Sums of a block of features at the lowest level: half a MiB, for the second-level cache."""

_FLAT_ENTRIES = 1 << 18
"""Entries of `codes` up to which the features of a block are summed in one matrix."""

Noise = Callable[[int], Floats]
"""Maps a number n to n independent standard normal numbers."""


@dataclass(frozen=True, eq=False)
class LevelSplit:
    """One split of all leaves of a level.

    Attributes
    ----------
    feature : int
        Position of the feature.
    goes_right : ndarray of shape (n_bins,)
        Whether each bin goes right; missing values are the last one.
    saw_missing : bool
        Whether a training row misses the feature: then the split chose a side for missing values.
    """

    feature: int
    goes_right: Mask
    saw_missing: bool


@dataclass(frozen=True, eq=False)
class Level:
    """The drawn rows of a level, in the form in which feature blocks sum them.

    Attributes
    ----------
    rows : ndarray of shape (n_summed,)
        Rows that are summed, by leaf: those of the smaller child of each leaf above.
    pointer : ndarray of shape (n_smaller + 1,)
        Where the rows of each of these children begin.
    values : ndarray of shape (2, n_summed)
        Gradient and weight of these rows.
    smaller : ndarray of shape (n_smaller,)
        Positions of these children among the leaves; 0 at the root.
    is_divisible : ndarray of shape (n_leaves,)
        Whether a leaf has two rows or more. The others have the same score for every cut.
    share : float
        Share of the rows that was drawn.
    """

    rows: Indices
    pointer: Indices
    values: Floats
    smaller: Indices
    is_divisible: Mask
    share: float


class FeatureBlock:
    """Neighbouring features, the tables of their sums, and the cuts that they allow.

    The columns of a table are the bins of all features, one feature after the other; the last
    bin of a feature is that of missing values. A cut is named by the last column on its left side
    or, of a feature of few categories, by the one column on its right side. Where training rows
    miss a value, each cut comes twice: with missing values right, then with them left.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_rows)
        Bin of each value.
    bins : sequence of FeatureBins
        Bins of these features.
    first_feature : int
        Position of the first of them among all features.
    """

    def __init__(self, codes: Indices, bins: Sequence[FeatureBins], first_feature: int) -> None:
        self.codes, self.bins, self.first_feature = codes, bins, first_feature
        self.n_bins = np.array([feature.n_bins for feature in bins])
        self.start = np.append(0, np.cumsum(self.n_bins))
        self.feature = np.repeat(np.arange(len(bins)), self.n_bins)  # of each column
        self.missing = self.start[1:] - 1
        self.has_missing = (codes == self.n_bins[:, np.newaxis] - 1).any(axis=1)
        is_category = np.array([feature.categories is not None for feature in bins])
        is_single = is_category & (self.n_bins - 1 <= SINGLE_LEVELS)
        self.ordered = np.flatnonzero(is_category & ~is_single)
        self.single = np.flatnonzero(is_single[self.feature])
        # A cut before the last column, that of missing values, tells them from all others.
        n_columns_left = self.start[1:][self.feature] - np.arange(self.start[-1])
        min_left = np.where(is_single, 1, 2) - self.has_missing
        has_double = (n_columns_left > 2) & (self.has_missing & ~is_single)[self.feature]
        self.doubled = np.flatnonzero(has_double)
        # Doubled columns come after all others, with missing values left.
        self.feature_with_doubles = np.append(self.feature, self.feature[self.doubled])
        double_columns = self.start[-1] + np.arange(len(self.doubled))
        cuts = np.append(np.flatnonzero(n_columns_left > min_left[self.feature]), double_columns)
        feature_order = np.argsort(self.feature_with_doubles[cuts], kind="stable")
        self.cuts = cuts[feature_order]
        self.cut_feature = self.feature_with_doubles[self.cuts]
        self.column_order = np.arange(self.start[-1])
        self._bin_index: Indices | None = None
        self._matrices: dict[tuple[int, int], csr_array] = {}
        self._sums: Floats | None = None

    def begin(self, rows: Indices, gradient: Floats, weight: Floats) -> None:
        """Reset the sums; order categories, if many, by their mean gradient in the given rows."""
        self._sums = None
        for j in self.ordered:
            codes, columns = self.codes[j][rows], slice(self.start[j], self.missing[j])
            G, N = (np.bincount(codes, x[rows], self.n_bins[j])[:-1] for x in (gradient, weight))
            mean_gradient = G / (N + PRIOR_ROWS)
            self.column_order[columns] = self.start[j] + np.argsort(mean_gradient, kind="stable")

    def sum_by_bin(self, level: Level) -> Floats:
        """Return sums of gradient and weight by leaf and bin, shape (2, n_smaller, n_columns).

        A CSR matrix whose column indices are bins and whose rows are leaves is a histogram; making
        it dense needs no interpreter, so that threads work side by side.
        """
        rows, pointer = level.rows, level.pointer
        if self.codes.size <= _FLAT_ENTRIES:
            if self._bin_index is None:
                self._bin_index = (self.codes.T + self.start[:-1]).astype(np.int32)
            n_features = len(self.codes)
            columns, pointer = self._bin_index[rows].ravel(), pointer * n_features
            values = level.values.repeat(n_features, axis=1)
            return np.stack([self._histograms(columns, pointer, x, self.start[-1]) for x in values])
        sums = np.empty((2, len(pointer) - 1, self.start[-1]))
        for codes, (first, last) in zip(self.codes, pairwise(self.start), strict=True):
            columns = codes[rows].astype(np.int32)
            for leaf_sums, value in zip(sums, level.values, strict=True):
                leaf_sums[:, first:last] = self._histograms(columns, pointer, value, last - first)
        return sums

    def _histograms(
        self, columns: Indices, pointer: Indices, values: Floats, n_columns: int
    ) -> Floats:
        """Return the sums of values by leaf and column, of rows sorted by leaf."""
        shape = len(pointer) - 1, int(n_columns)
        if shape not in self._matrices:
            self._matrices[shape] = csr_array(shape)
        matrix = self._matrices[shape]
        # Attributes, not the constructor, which would scan and copy the indices.
        matrix.indices, matrix.indptr, matrix.data = columns, pointer, values
        return matrix.toarray()

    def descend(self, level: Level) -> None:
        """Sum the smaller children; the sums of the larger ones are differences to the parents."""
        smaller, parents = self.sum_by_bin(level), self._sums
        if parents is None:  # the root
            self._sums = smaller
            return
        self._sums = np.empty((2, 2 * parents.shape[1], parents.shape[2]))
        self._sums[:, level.smaller] = smaller
        self._sums[:, level.smaller ^ 1] = parents - smaller

    def scores(self, level: Level, sign: Indices) -> Floats:
        r"""Return the score of each cut: how similar the gradient and the tree with this split are.

        .. math:: \frac{\sum_l G_l^2 / (N_l + q)}{\sqrt{\sum_l N_l G_l^2 / (N_l + q)^2}}

        over the leaves l after the split, with gradients and weights divided by the share drawn;
        this is their cosine similarity times the norm of the gradient, which all cuts share. `sign`
        is the constraint of each feature: children in the wrong order are pooled.
        """
        assert self._sums is not None
        # Sums of drawn rows with a smaller prior, instead of larger sums: a quotient is the same.
        prior = PRIOR_ROWS * level.share
        sums = self._sums[:, level.is_divisible]
        total = sums[:, :, : self.start[1]].sum(axis=2, keepdims=True)
        left = sums[:, :, self.column_order] if len(self.ordered) else sums.copy()
        left[:, :, self.start[1:-1]] -= total  # the running sum begins anew with each feature
        np.cumsum(left, axis=2, out=left)
        if len(self.single):
            left[:, :, self.single] = total - sums[:, :, self.single]
        if len(self.doubled):
            missing_sums = sums[:, :, self.missing[self.feature[self.doubled]]]
            left = np.concatenate([left, left[:, :, self.doubled] + missing_sums], axis=2)
        right = total - left
        low, high = left[0] / (left[1] + prior), right[0] / (right[1] + prior)
        if sign.any():
            signs = sign[self.feature_with_doubles]
            signs[self.missing - 1] = 0  # a cut of missing values from all others has no order
            leaf_mean = np.broadcast_to(total[0] / (total[1] + prior), low.shape)
            is_violated = signs * (low - high) < 0  # values of leaves are minus these means
            low, high = (np.where(is_violated, leaf_mean, mean) for mean in (low, high))
        single_rows = self._sums[:, ~level.is_divisible, : self.start[1]].sum(axis=2)
        mean = single_rows[0] / (single_rows[1] + prior)
        dot = _column_sums(left[0], low) + _column_sums(right[0], high) + single_rows[0] @ mean
        low *= low
        high *= high
        square_norm = _column_sums(left[1], low) + _column_sums(right[1], high)
        square_norm += single_rows[1] @ mean**2
        dot, square_norm = dot[self.cuts], square_norm[self.cuts]
        cosine = np.zeros(len(dot))
        return np.divide(dot, np.sqrt(level.share * square_norm), out=cosine, where=square_norm > 0)

    def split_at(self, cut: int, weight: Floats) -> LevelSplit:
        """Return the split of a cut; `weight` is that of each bin of its feature."""
        j, column = int(self.cut_feature[cut]), int(self.cuts[cut])
        is_double = column >= self.start[-1]
        column = int(self.doubled[column - self.start[-1]]) if is_double else column
        position, bins = column - self.start[j], np.arange(self.n_bins[j])
        if column in self.single:
            goes_right = bins == position
        else:
            goes_right = np.empty(len(bins), dtype=bool)
            order = self.column_order[self.start[j] : self.start[j + 1]] - self.start[j]
            goes_right[order] = bins > position
        if is_double:
            goes_right[-1] = False
        elif not self.has_missing[j]:  # to the side of the weighted median
            goes_right[-1] = weight[goes_right].sum() > weight[~goes_right].sum()
        return LevelSplit(self.first_feature + j, goes_right, bool(self.has_missing[j]))


class SplitSearch:
    """Chooses the splits of symmetric trees, level by level, on the bins of training rows.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_rows)
        Bin of each value.
    bins : list of FeatureBins
        Bins of each feature.
    weight : ndarray of shape (n_rows,)
        Weight of each row.
    monotonic_cst : tuple of int or None
        1, 0 or -1 for each feature.
    max_depth : int
        Largest number of splits of a tree.
    threads : ThreadPool
        Threads that share the blocks of features.

    Attributes
    ----------
    leaf : ndarray of shape (n_rows,)
        The leaf of each row in the tree so far.
    cut_feature : ndarray of shape (n_cuts,)
        The feature of each cut; cuts of a feature are neighbours.
    """

    leaf: Indices

    def __init__(
        self,
        codes: Indices,
        bins: Sequence[FeatureBins],
        weight: Floats,
        monotonic_cst: Sequence[int] | None,
        max_depth: int,
        threads: ThreadPool,
    ) -> None:
        self.codes, self.bins, self.weight = codes, bins, weight
        self.sign = np.array(monotonic_cst or np.zeros(len(bins)), dtype=np.intp)
        self._threads, self._is_heavy = threads, weight > HEAVY_SHARE * weight.sum()
        n_entries = sum(feature.n_bins for feature in bins) << max(max_depth - 1, 0)
        # A multiple of the threads, each of which then has as many features.
        n_blocks = min(threads.size * -(-n_entries // (_TABLE_ENTRIES * threads.size)), len(bins))
        bounds = [len(bins) * block // n_blocks for block in range(n_blocks + 1)]
        self._blocks = [
            FeatureBlock(codes[first:last], bins[first:last], first)
            for first, last in pairwise(bounds)
        ]
        # The first cut of each block; blocks without cuts have that of the next.
        self._block_start = np.cumsum([0, *(len(block.cuts) for block in self._blocks[:-1])])
        self.cut_feature = np.concatenate(
            [block.cut_feature + block.first_feature for block in self._blocks]
        )
        self._bin_weight: list[Any] = [
            np.bincount(column, weight, feature.n_bins)
            for column, feature in zip(codes, bins, strict=True)
        ]
        # The first cut of each feature that has cuts, and the position of that feature by cut.
        _, self._feature_start, self._feature_position = np.unique(
            self.cut_feature, return_index=True, return_inverse=True
        )

    def draw(self, share: float, uniform: Floats) -> Indices:
        """Return the rows that choose the splits of a tree, given a uniform number for each."""
        return np.flatnonzero((uniform < share) | self._is_heavy)

    def begin(self, gradient: Floats, drawn: Indices, share: float) -> None:
        """Begin a tree.

        Parameters
        ----------
        gradient : ndarray of shape (n_rows,)
            Gradient of each row.
        drawn : ndarray of shape (n_drawn,)
            Rows that choose the splits.
        share : float
            The share of the rows that was drawn.
        """
        self.leaf = np.zeros(len(self.weight), dtype=np.uint8)
        self._drawn_rows, self._subsample = drawn, share
        factor = np.where(self._is_heavy[drawn], share, 1.0)
        exact = [as_exact_sums(x[drawn] * factor, dtype=float) for x in (gradient, self.weight)]
        self._values = np.stack(exact)
        self._order = np.arange(len(drawn))  # of the drawn rows, by leaf
        self._n_rows = np.array([len(drawn)])  # of these in each leaf
        self._smaller = np.array([0])
        # Ordered by the rows that choose the splits, categories of noise would look good.
        other_rows = np.delete(np.arange(len(self.weight)), drawn)
        for block in self._blocks:
            block.begin(other_rows if len(other_rows) else drawn, gradient, self.weight)

    def scores(self) -> Floats:
        """Return the score of each cut as the next split of all leaves."""
        is_smaller = np.zeros(len(self._n_rows), dtype=bool)
        is_smaller[self._smaller] = True
        summed_rows = self._order[is_smaller.repeat(self._n_rows)]
        level = Level(
            self._drawn_rows[summed_rows],
            np.append(0, np.cumsum(self._n_rows[is_smaller])).astype(np.int32),
            self._values[:, summed_rows],
            self._smaller,
            self._n_rows >= 2,
            self._subsample,
        )

        def score(index: int) -> Floats:
            block = self._blocks[index]
            block.descend(level)
            return block.scores(level, self.sign[block.first_feature :][: len(block.bins)])

        return np.concatenate(self._threads.map(score, len(self._blocks)))

    def choose(self, score: Floats, is_allowed: Mask, scale: float, noise: Noise) -> int | None:
        """Return the open features' cut with the best noisy score; None if they have no cut.

        Cuts of a feature compete first, then the best of each feature with fresh noise: one draw
        for all cuts would favour features with many.
        """
        score = np.where(is_allowed[self.cut_feature], score, -np.inf)
        noisy = score + scale * noise(len(score))
        feature_max = np.maximum.reduceat(noisy, self._feature_start)
        largest_cuts = np.flatnonzero(noisy == feature_max[self._feature_position])
        best_cuts = largest_cuts[np.searchsorted(largest_cuts, self._feature_start)]
        redrawn = score[best_cuts] + scale * noise(len(best_cuts))
        chosen = int(np.argmax(redrawn))
        return int(best_cuts[chosen]) if redrawn[chosen] > -np.inf else None

    def split_at(self, cut: int) -> LevelSplit:
        """Return the split of a cut."""
        block_index = int(np.searchsorted(self._block_start, cut, side="right")) - 1
        weight = self._bin_weight[self.cut_feature[cut]]
        return self._blocks[block_index].split_at(cut - self._block_start[block_index], weight)

    def divide(self, split: LevelSplit) -> None:
        """Split all leaves, which are numbered by their bits: left children are even."""
        self.leaf = leaf_of([split], self.codes, self.leaf)
        leaf = self.leaf[self._drawn_rows[self._order]]
        self._order = self._order[np.argsort(leaf, kind="stable")]
        self._n_rows = np.bincount(leaf, minlength=2 * len(self._n_rows))
        left, right = self._n_rows.reshape(-1, 2).T
        self._smaller = 2 * np.arange(len(left)) + (right < left)


def leaf_of(splits: Sequence[LevelSplit], codes: Indices, leaf: Any = 0) -> Indices:
    """Return the leaf of each row after some splits, given its leaf before them."""
    for split in splits:
        leaf = np.left_shift(leaf, 1, dtype=np.uint8) | split.goes_right[codes[split.feature]]
    return leaf


def _column_sums(factor_a: Floats, factor_b: Floats) -> Any:
    """Return the sum of the products in each column."""
    return np.einsum("ij,ij->j", factor_a, factor_b)
