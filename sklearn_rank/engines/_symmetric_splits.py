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
"""Rows added to each side of a split: it shrinks the means of sides that few rows tell."""

SINGLE_LEVELS = 64
"""Features of at most so many categories are split level by level, others in an order: that of the
smoothed mean gradients of the rows which are not drawn, if there are any."""

HEAVY = 0.01
"""Share of the weight above which a merged row is always drawn, with a share of its weight."""

_TABLE_ENTRIES = 1 << 16
"""Sums of a block of features at the lowest level: half a MiB, for the second-level cache."""

_FLAT_ENTRIES = 1 << 18
"""Bins of rows up to which the features of a block are summed in one matrix."""

Noise = Callable[[int], Floats]
"""Returns so many independent standard normal numbers."""


@dataclass(frozen=True, eq=False)
class Split:
    """One split of all leaves of a level.

    Attributes
    ----------
    feature : int
        Number of the feature.
    goes_right : ndarray of shape (n_bins,)
        Whether each bin goes right; missing values are the last one.
    is_taught : bool
        Whether training rows have decided where missing values go.
    """

    feature: int
    goes_right: Mask
    is_taught: bool


@dataclass(frozen=True, eq=False)
class Level:
    """What the blocks of features need to know of a level.

    Attributes
    ----------
    rows : ndarray of shape (n_summed,)
        Rows whose sums are made, by leaf: those of the smaller child of each leaf above.
    pointer : ndarray of shape (n_smaller + 1,)
        Where the rows of each of these children begin.
    values : ndarray of shape (2, n_summed)
        Gradient and weight of these rows.
    smaller : ndarray of shape (n_smaller,) or None
        The numbers of these leaves; None at the root.
    is_open : ndarray of shape (n_leaves,)
        Whether a leaf has two rows or more. Others are the same whatever the cut.
    share : float
        Share of the rows that was drawn.
    """

    rows: Indices
    pointer: Indices
    values: Floats
    smaller: Indices | None
    is_open: Mask
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
    first : int
        Number of the first of them.
    """

    def __init__(self, codes: Indices, bins: Sequence[FeatureBins], first: int) -> None:
        self.codes, self.bins, self.first = codes, bins, first
        self.n_bins = np.array([feature.n_bins for feature in bins])
        self.start = np.append(0, np.cumsum(self.n_bins))
        self.owner = np.repeat(np.arange(len(bins)), self.n_bins)
        self.missing = self.start[1:] - 1
        self.has_missing = np.array(
            [
                bool((line == feature.missing).any())
                for line, feature in zip(codes, bins, strict=True)
            ]
        )
        is_category = np.array([feature.categories is not None for feature in bins])
        is_single = is_category & (self.n_bins - 1 <= SINGLE_LEVELS)
        self.ordered = np.flatnonzero(is_category & ~is_single)
        self.single = np.flatnonzero(is_single[self.owner])
        # The last bin is that of missing values: a cut before it tells them from all others.
        from_end = self.start[1:][self.owner] - np.arange(self.start[-1])
        is_cut = from_end > np.where(is_single, 1, 2)[self.owner] - self.has_missing[self.owner]
        is_double = (from_end > 2) & (self.has_missing & ~is_single)[self.owner]
        self.doubled = np.flatnonzero(is_double)
        columns = np.concatenate(
            [np.flatnonzero(is_cut), self.start[-1] + np.arange(is_double.sum())]
        )
        owner = np.append(self.owner, self.owner[self.doubled])[columns]
        by_feature = np.argsort(owner, kind="stable")
        self.cuts, self.cut_owner = columns[by_feature], owner[by_feature]
        self.order = np.arange(self.start[-1])
        self._cells: Indices | None = None
        self._matrices: dict[tuple[int, int], csr_array] = {}
        self._sums: Floats = np.zeros(0)

    def begin(self, rows: Indices, gradient: Floats, weight: Floats) -> None:
        """Forget the sums of the last tree, and order many categories by the mean of some rows."""
        self._sums = np.zeros(0)
        for j in self.ordered:
            codes, bins = self.codes[j][rows], slice(self.start[j], self.missing[j])
            sums = [np.bincount(codes, of[rows], self.n_bins[j])[:-1] for of in (gradient, weight)]
            mean = sums[0] / (sums[1] + PRIOR_ROWS)
            self.order[bins] = self.start[j] + np.argsort(mean, kind="stable")

    def sum_by_bin(self, rows: Indices, pointer: Indices, values: Floats) -> Floats:
        """Return sums of two values of rows by leaf and bin, shape (2, n_leaves, n_columns).

        A CSR matrix whose column indices are bins and whose rows are leaves is a histogram; making
        it dense needs no interpreter, so that threads work side by side.
        """
        sums = np.empty((2, len(pointer) - 1, self.start[-1]))
        if self.codes.size <= _FLAT_ENTRIES:
            if self._cells is None:
                self._cells = (self.codes.T + self.start[:-1]).astype(np.int32)
            width = len(self.codes)
            columns = self._cells[rows].ravel()
            for out, value in zip(sums, values, strict=True):
                out[:] = self._histograms(
                    columns, pointer * width, value.repeat(width), out.shape[1]
                )
            return sums
        for line, first, last in zip(self.codes, self.start, self.start[1:], strict=False):
            columns = line[rows].astype(np.int32)
            for out, value in zip(sums, values, strict=True):
                out[:, first:last] = self._histograms(columns, pointer, value, last - first)
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
        """Make the sums of a level: those of smaller children, and what is left of the parents."""
        if level.smaller is None:
            self._sums = self.sum_by_bin(level.rows, level.pointer, level.values)
            return
        parents, sums = self._sums, np.empty((2, 2 * self._sums.shape[1], self._sums.shape[2]))
        sums[:, level.smaller] = self.sum_by_bin(level.rows, level.pointer, level.values)
        sums[:, level.smaller ^ 1] = parents - sums[:, level.smaller]
        self._sums = sums

    def scores(self, level: Level, sign: Indices) -> Floats:
        r"""Return the score of each cut: the cosine of the gradient and the tree with this split.

        .. math:: \frac{\sum_l G_l^2 / (N_l + q)}{\sqrt{\sum_l N_l G_l^2 / (N_l + q)^2}}

        over the leaves l after the split, with gradients and weights divided by the share drawn.
        `sign` is the constraint of each feature: children in the wrong order are pooled.
        """
        prior = PRIOR_ROWS * level.share
        sums = self._sums[:, level.is_open]
        total = sums[:, :, : self.start[1]].sum(axis=2, keepdims=True)
        left = sums[:, :, self.order] if len(self.ordered) else sums.copy()
        left[:, :, self.start[1:-1]] -= total  # where a feature begins, the sum does
        np.cumsum(left, axis=2, out=left)
        if len(self.single):
            left[:, :, self.single] = total - sums[:, :, self.single]
        if len(self.doubled):
            missing = sums[:, :, self.missing[self.owner[self.doubled]]]
            left = np.concatenate([left, left[:, :, self.doubled] + missing], axis=2)
        right = total - left
        low, high = left[0] / (left[1] + prior), right[0] / (right[1] + prior)
        if sign.any():
            signs = sign[np.append(self.owner, self.owner[self.doubled])]
            signs[self.missing - 1] = 0  # to tell missing values from all others is no order
            pooled = np.broadcast_to(total[0] / (total[1] + prior), low.shape)
            is_wrong = signs * (low - high) < 0  # values are minus these means
            low, high = (np.where(is_wrong, pooled, side) for side in (low, high))
        closed = self._sums[:, ~level.is_open, : self.start[1]].sum(axis=2)
        mean = closed[0] / (closed[1] + prior)
        product = _column_sums(left[0], low) + _column_sums(right[0], high) + closed[0] @ mean
        low *= low
        high *= high
        square = _column_sums(left[1], low) + _column_sums(right[1], high) + closed[1] @ mean**2
        product, square = product[self.cuts], square[self.cuts]
        return np.divide(
            product,
            np.sqrt(level.share * square),
            out=np.zeros(len(product)),
            where=square > 0,
        )

    def split_at(self, cut: int, weight: Floats) -> Split:
        """Return the split of a cut; `weight` is that of each bin of its feature."""
        j, column = int(self.cut_owner[cut]), int(self.cuts[cut])
        is_double = column >= self.start[-1]
        column = int(self.doubled[column - self.start[-1]]) if is_double else column
        place, n_bins = column - self.start[j], self.n_bins[j]
        if column in self.single:
            goes_right = np.arange(n_bins) == place
        else:
            goes_right = np.empty(n_bins, dtype=bool)
            goes_right[self.order[self.start[j] : self.start[j + 1]] - self.start[j]] = (
                np.arange(n_bins) > place
            )
        if is_double:
            goes_right[-1] = False
        elif not self.has_missing[j]:  # to the side of the weighted median
            goes_right[-1] = weight[goes_right].sum() > weight[~goes_right].sum()
        return Split(self.first + j, goes_right, bool(self.has_missing[j]))


class SplitSearch:
    """Grows symmetric trees on the bins of training rows.

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
        Number of splits of a tree.
    threads : ThreadPool
        Threads that share the blocks of features.
    """

    def __init__(
        self,
        codes: Indices,
        bins: Sequence[FeatureBins],
        weight: Floats,
        monotonic_cst: Sequence[int] | None,
        max_depth: int,
        threads: ThreadPool,
    ) -> None:
        self.codes, self.bins, self.weight, self.max_depth = codes, bins, weight, max_depth
        self.sign = np.array(monotonic_cst or np.zeros(len(bins)), dtype=np.intp)
        self._threads, self._is_heavy = threads, weight > HEAVY * weight.sum()
        n_entries = sum(feature.n_bins for feature in bins) << max(max_depth - 1, 0)
        # A multiple of the threads, each of which then has as many features.
        n_blocks = min(threads.size * -(-n_entries // (_TABLE_ENTRIES * threads.size)), len(bins))
        edges = [len(bins) * number // n_blocks for number in range(n_blocks + 1)]
        self.blocks = [
            FeatureBlock(codes[first:last], bins[first:last], first)
            for first, last in pairwise(edges)
        ]
        self._bin_weight: list[Any] = [
            np.bincount(line, weight, feature.n_bins)
            for line, feature in zip(codes, bins, strict=True)
        ]
        self.owner = np.concatenate([block.cut_owner + block.first for block in self.blocks])
        self._is_first = np.append(True, np.diff(self.owner) != 0)[: len(self.owner)]

    def draw(self, share: float, uniform: Floats) -> Indices:
        """Return the rows that choose the splits of a tree, given a uniform number for each."""
        return np.flatnonzero((uniform < share) | self._is_heavy)

    def grow(
        self,
        gradient: Floats,
        drawn: Indices,
        share: float,
        is_open: Mask,
        scale: float,
        noise: Noise,
    ) -> tuple[list[Split], Indices]:
        """Return the splits of a tree, and the leaf of each row.

        Parameters
        ----------
        gradient : ndarray of shape (n_rows,)
            Gradient of each row.
        drawn : ndarray of shape (n_drawn,)
            Rows that choose the splits.
        share : float
            The share that they are.
        is_open : ndarray of shape (n_features,)
            Features that may be split on.
        scale : float
            Standard deviation of the noise in the scores.
        noise : callable
            Returns standard normal numbers.
        """
        leaf: Indices = np.zeros(len(self.weight), dtype=np.uint8)
        part = np.where(self._is_heavy[drawn], share, 1.0)
        exact = [as_exact_sums(of[drawn] * part, dtype=float) for of in (gradient, self.weight)]
        values = np.stack(exact)
        splits: list[Split] = []
        order = np.arange(len(drawn))  # of the drawn rows, by leaf
        pointer, smaller = np.array([0, len(drawn)]), None
        # Rows that choose the splits would take an order of their own noise for a good feature.
        is_drawn = np.zeros(len(leaf), dtype=bool)
        is_drawn[drawn] = True
        others = drawn if is_drawn.all() else np.flatnonzero(~is_drawn)
        for block in self.blocks:
            block.begin(others, gradient, self.weight)
        while len(splits) < self.max_depth and len(self.owner):
            n_rows = np.diff(pointer)
            if smaller is None:
                summed = order
            else:
                is_summed = np.zeros(len(n_rows), dtype=bool)
                is_summed[smaller] = True
                summed = order[is_summed.repeat(n_rows)]
            bounds = np.append(0, np.cumsum(n_rows if smaller is None else n_rows[smaller]))
            level = Level(
                drawn[summed],
                bounds.astype(np.int32),
                values[:, summed],
                smaller,
                n_rows >= 2,
                share,
            )
            score = self._scores(level)
            score[~is_open[self.owner]] = -np.inf
            cut = self._best(score, scale, noise)
            if cut is None:
                break
            splits.append(self._split_at(cut))
            # The leaves of a level are numbered by their bits: left children are even.
            leaf = leaf_of(splits[-1:], self.codes, leaf)
            in_leaf = leaf[drawn[order]]
            order = order[np.argsort(in_leaf, kind="stable")]
            pointer = np.append(0, np.cumsum(np.bincount(in_leaf, minlength=1 << len(splits))))
            children = np.diff(pointer).reshape(-1, 2)
            smaller = 2 * np.arange(len(children)) + (children[:, 1] < children[:, 0])
        return splits, leaf

    def _scores(self, level: Level) -> Floats:
        def score(number: int) -> Floats:
            block = self.blocks[number]
            block.descend(level)
            return block.scores(level, self.sign[block.first :][: len(block.bins)])

        return np.concatenate(self._threads.map(score, len(self.blocks)))

    def _best(self, score: Floats, scale: float, noise: Noise) -> int | None:
        """Return the best cut: that of each feature by one draw, the feature by a fresh one.

        One draw for all cuts would favour features with many.
        """
        noisy = score + scale * noise(len(score))
        starts = np.flatnonzero(self._is_first)
        largest = np.maximum.reduceat(noisy, starts)
        at_largest = np.flatnonzero(noisy == largest.repeat(np.diff(np.append(starts, len(score)))))
        best = at_largest[np.searchsorted(at_largest, starts)]
        fresh = score[best] + scale * noise(len(best))
        chosen = int(np.argmax(fresh))
        return int(best[chosen]) if fresh[chosen] > -np.inf else None

    def _split_at(self, cut: int) -> Split:
        feature = int(self.owner[cut])
        before = 0
        for block in self.blocks:
            if feature < block.first + len(block.bins):
                break
            before += len(block.cuts)
        return block.split_at(cut - before, self._bin_weight[feature])


def leaf_of(splits: Sequence[Split], codes: Indices, leaf: Any = 0) -> Indices:
    """Return the leaf of each row below some splits, given its leaf above them."""
    for split in splits:
        leaf = np.left_shift(leaf, 1, dtype=np.uint8) | split.goes_right[codes[split.feature]]
    return leaf


def _column_sums(left: Floats, right: Floats) -> Any:
    """Return the sum of the products in each column."""
    return np.einsum("ij,ij->j", left, right)
