"""Sums of any margin loss over all comparable pairs, block by block.

A block is two groups of rows, every row of one above every row of the other. Large blocks are
summed one by one, small ones many at a time in batches.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.sums import Groups
from sklearn_rank._pair_sums._batches import Batch, EachPair, batches, derivatives
from sklearn_rank._pair_sums.group_sums import (
    EMPTY,
    BatchSums,
    PairSums,
    PartSums,
    WeightedScores,
    by_role,
    one_list,
)
from sklearn_rank._pair_sums.margin_losses import MarginLoss

BLOCK_PAIRS = 1 << 15
"""Pairs visited at a time: their temporaries stay in the second-level cache."""

_PER_PAIR = 8.0
"""Cost of a pair summed on its own, in the nanoseconds of `FastSums`."""


class BlockSums:
    """Sums of a margin loss over all comparable pairs.

    Parameters
    ----------
    preferences : Preferences
        The comparable pairs.
    loss : MarginLoss
        The loss of a margin.
    method : {"auto", "dense", "fast"}
        See `PairLoss`.
    """

    def __init__(self, preferences: Preferences, loss: MarginLoss, method: str) -> None:
        loss, method = preferences.over_processes(loss, method)
        self.preferences, self.loss = preferences, loss
        self._fast = None if method == "dense" else loss.fast_sums
        self._large, small_blocks = self._divide(preferences.blocks, method)
        first_rows = preferences.segments.start[preferences.queries.start]
        self._queries = Groups(first_rows, preferences.n_rows)
        self._batches = list(batches(small_blocks, self._queries))

    def _divide(self, blocks: Indices, method: str) -> tuple[Indices, Indices]:
        """Return the blocks to sum one by one, and those to sum in batches."""
        n_pairs = (blocks[:, 1] - blocks[:, 0]) * (blocks[:, 2] - blocks[:, 1])
        small_sums = self.loss.small_sums
        cost = n_pairs * (_PER_PAIR if small_sums is None else small_sums.per_pair)
        if self._fast is None:
            is_large = n_pairs > BLOCK_PAIRS
        else:
            fast_cost = self._fast.overhead + self._fast.per_row * (blocks[:, 2] - blocks[:, 0])
            is_large = (cost > fast_cost) | (method == "fast")
            cost = np.where(is_large, fast_cost, cost)
        self.cost = float(cost.sum())
        return blocks[is_large], blocks[~is_large]

    def derivatives(
        self, scores: Floats, scale: float, with_second: bool = False
    ) -> tuple[float, Floats, Floats]:
        """Return the sum over all pairs, its gradient and curvature, divided by `scale`.

        The value is that of all processes; gradient and curvature are those of the rows here.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # exponentials, pair by pair
            value, gradient, curvature = self._both_roles(scores, with_second)
            for row_sums in [gradient, curvature][: 1 + with_second]:
                if not self.preferences.has_unit_weights:
                    np.multiply(row_sums, self.preferences.weight, out=row_sums)
                if scale != 1:
                    np.divide(row_sums, scale, out=row_sums)
            return value / scale, gradient, curvature

    def _both_roles(self, scores: Floats, with_second: bool) -> tuple[float, Floats, Floats]:
        """Return the value, and for each row the sums of phi' and phi'' in both its roles."""
        weight = self.preferences.weight
        if len(self._large) == 1 and not self._batches and self.preferences.is_bipartite_list:
            middle = int(self._large[0, 1])
            value, upper, lower, *second = self._sums_of(
                scores[:middle], weight[:middle], scores[middle:], weight[middle:], with_second
            )
            # Each row has one role: there is nothing to add up over blocks.
            curvature = np.concatenate(second) if with_second else EMPTY
            return value, np.concatenate([upper, -lower]), curvature
        sums = self.sums(scores, weight, weight, with_second)
        gradient, curvature = sums.upper, sums.second_upper
        gradient -= sums.lower
        if with_second:
            curvature += sums.second_lower
        return sums.value, gradient, curvature

    def part(self, scores: Floats) -> PartSums | None:
        """Return the rows of one bipartite list as one part; None for other rows."""
        rows = self.preferences
        if not (rows.is_bipartite_list and rows.collective is None and len(self._large) == 1):
            return None
        return self._sums_at(*by_role(scores, int(self._large[0, 1])))

    def _sums_at(self, f: Floats, g: Floats) -> PartSums:
        """Return the sums over the pairs of one block."""
        if self._fast is not None:
            return self._fast.at(f, g)
        return one_list(self._sums_pair_by_pair, self._heights_pair_by_pair, f, g)

    def sums(
        self,
        scores: Floats,
        w_upper: Floats,
        w_lower: Floats,
        with_second: bool = False,
        with_value: bool = True,
    ) -> PairSums:
        """Return the sums with separate weights for the two roles of a row."""
        n_rows = self.preferences.n_rows
        # Arrays of their own: a caller may add one to another in place.
        value, row_sums = 0.0, [np.zeros(n_rows) for _ in range(4 if with_second else 2)]
        for first, middle, last in self._large:
            i, k = slice(first, middle), slice(middle, last)
            block = self._sums_of(scores[i], w_upper[i], scores[k], w_lower[k], with_second)
            value += block.value
            for out, role_rows, sums in zip(row_sums, (i, k, i, k), block[1:], strict=False):
                out[role_rows] += sums
        if self._batches:
            batch_method = self._method(WeightedScores(scores, w_upper, w_lower))
            for batch in self._batches:
                batch_value, *batch_sums = batch_method.sums(batch, with_second, with_value)
                value += batch_value
                for out, role, sums in zip(row_sums, (0, 1, 0, 1), batch_sums, strict=False):
                    _add(out, batch, role, sums)
        # Without a value there is no message: other processes send none either.
        return PairSums(self.preferences.lists.total(value) if with_value else value, *row_sums)

    def heights(self, scores: Floats, weight: Floats, side: str, margin: float) -> Floats:
        """Return the loss of each row's pairs, each with the required `margin`."""
        out, is_top = np.zeros(self.preferences.n_rows), side == "top"
        if not is_top:
            scores = -scores  # a mirror image: inner rows are those below
        shifted = scores + margin if margin else scores
        for first, middle, last in self._large:
            inner_rows, outer_rows = slice(first, middle), slice(middle, last)
            if not is_top:
                inner_rows, outer_rows = outer_rows, inner_rows
            part = self._sums_at(scores[inner_rows], shifted[outer_rows])
            out[outer_rows] += part.heights(weight[inner_rows], "top")
        if self._batches:
            batch_method = self._method(WeightedScores(scores, weight, EMPTY, margin))
            for batch in self._batches:
                heights = batch_method.heights(batch if is_top else batch.mirrored())
                _add(out, batch, 1 if is_top else 0, heights)
        return out

    def _method(self, rows: WeightedScores) -> BatchSums:
        """Return the method that sums the batches."""
        pair_by_pair, small_sums = EachPair(self.loss, rows), self.loss.small_sums
        if small_sums is None:
            return pair_by_pair
        n_pairs = max(batch.n_pairs for batch in self._batches)
        return small_sums.at(rows, self._queries, n_pairs, pair_by_pair)

    def _sums_of(self, f: Floats, a: Floats, g: Floats, b: Floats, with_second: bool) -> PairSums:
        """Return the sums of one block."""
        if self.preferences.collective is None and _are_zero(f, g):
            return self._sums_at_zero(a, b, with_second)
        return self._sums_at(f, g).sums(a, b, with_second)

    def _sums_pair_by_pair(
        self, f: Floats, a: Floats, g: Floats, b: Floats, with_second: bool = False
    ) -> PairSums:
        """Return the sums of one block, pair by pair."""
        n_orders = 2 if with_second else 1
        value, upper, lower = (0.0, np.empty((n_orders, len(f))), np.zeros((n_orders, len(g))))
        for piece in _pieces(len(f), len(g)):
            loss, *slopes = derivatives(self.loss, f[piece, np.newaxis] - g, with_second)
            value += float(a[piece] @ (loss @ b))
            for order, slope in enumerate(slopes):
                upper[order, piece] = slope @ b
                lower[order] += a[piece] @ slope
        return PairSums(value, upper[0], lower[0], *upper[1:], *lower[1:])

    def _sums_at_zero(self, a: Floats, b: Floats, with_second: bool) -> PairSums:
        """Return the sums of one block at scores of zero, where every fit begins."""
        loss, *slopes = (float(x[0]) for x in derivatives(self.loss, np.zeros(1), with_second))
        mass_upper, mass_lower = float(a.sum()), float(b.sum())
        upper = [np.full(len(a), slope * mass_lower) for slope in slopes]
        lower = [np.full(len(b), slope * mass_upper) for slope in slopes]
        return PairSums(loss * mass_upper * mass_lower, upper[0], lower[0], *upper[1:], *lower[1:])

    def _heights_pair_by_pair(self, f: Floats, a: Floats, g: Floats) -> Floats:
        """Return the heights of the lower rows of one block, pair by pair."""
        pieces = _pieces(len(f), len(g))
        heights = (a[rows] @ self.loss.value(f[rows, np.newaxis] - g) for rows in pieces)
        return np.asarray(sum(heights, start=np.zeros_like(g)))


def _are_zero(f: Floats, g: Floats) -> bool:
    """Whether all scores of a block are zero; most other blocks show it by one score."""
    return bool(f[0] == 0 and g[0] == 0 and not f.any() and not g.any())


def _add(out: Floats, batch: Batch, role: int, sums: Floats) -> None:
    """Add sums of the upper (0) or lower (1) rows of a batch, which may hold a row twice."""
    np.add.at(out, batch.rows[role].ravel(), sums.ravel())


def _pieces(n_upper: int, n_lower: int) -> Iterator[slice]:
    """Return slices of the upper rows of a block with about `BLOCK_PAIRS` pairs each."""
    return blocks(n_upper, max(1, BLOCK_PAIRS // max(n_lower, 1)))
