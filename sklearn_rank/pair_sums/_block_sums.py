"""Sums of any margin loss over all comparable pairs, block by block.

A block is two groups of rows, every row of one above every row of the other. Large blocks
are taken one by one, and small ones, many at a time, in batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sklearn_rank._protocols import Floats, Indices, Mask, require
from sklearn_rank.pair_sums._margin_losses import MarginLoss
from sklearn_rank.pair_sums._pair_sums import EMPTY, PairSums
from sklearn_rank.preferences import Preferences

BLOCK_PAIRS = 1 << 15
"""Pairs visited at a time: their temporaries stay in the second-level cache."""

_PER_PAIR = 8.0
"""Cost of a pair visited on its own, in the nanoseconds of `FastSums`."""


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
        self.preferences, self.loss = preferences, loss
        self._fast = None if method == "dense" else loss.fast_sums
        self._large, small = self._divide(preferences.blocks, method)
        self._batches = list(_batches(small))

    def _divide(self, blocks: Indices, method: str) -> tuple[Indices, Indices]:
        """Return the blocks that are taken one by one, and those that go into batches."""
        n_pairs = (blocks[:, 1] - blocks[:, 0]) * (blocks[:, 2] - blocks[:, 1])
        if self._fast is None:
            is_large = n_pairs > BLOCK_PAIRS
        else:
            cost = self._fast.overhead + self._fast.per_row * (blocks[:, 2] - blocks[:, 0])
            is_large = (n_pairs * _PER_PAIR > cost) | (method == "fast")
        return blocks[is_large], blocks[~is_large]

    def derivatives(
        self, scores: Floats, scale: float, with_second: bool = False
    ) -> tuple[float, Floats, Floats]:
        """Return the sum over all pairs, its gradient and curvature, divided by `scale`."""
        with np.errstate(over="ignore", invalid="ignore"):  # exponentials, pair by pair
            value, gradient, curvature = self._by_row(scores, with_second)
            for rows in [gradient, curvature][: 1 + with_second]:
                if not self.preferences.has_unit_weights:
                    np.multiply(rows, self.preferences.weight, out=rows)
                if scale != 1:
                    np.divide(rows, scale, out=rows)
            return value / scale, gradient, curvature

    def _by_row(self, scores: Floats, with_second: bool) -> tuple[float, Floats, Floats]:
        """Return the value, and for each row the sums of phi' and phi'' in both its roles."""
        weight = self.preferences.weight
        if len(self._large) == 1 and not self._batches and self.preferences.is_bipartite_list:
            middle = int(self._large[0, 1])
            part = self._sums_of(
                scores[:middle], weight[:middle], scores[middle:], weight[middle:], with_second
            )
            # Each row has one role: nothing is added up over blocks.
            gradient = np.concatenate([part.upper, -part.lower])
            second = (part.second_upper, part.second_lower)
            return part.value, gradient, np.concatenate(second) if with_second else EMPTY
        sums = self.sums(scores, weight, weight, with_second)
        curvature = sums.second_upper + sums.second_lower if with_second else EMPTY
        return sums.value, sums.upper - sums.lower, curvature

    def sums(
        self, scores: Floats, above: Floats, below: Floats, with_second: bool = False
    ) -> PairSums:
        """Return the sums with separate weights for the two roles of a row."""
        value, rows = 0.0, np.zeros((4 if with_second else 2, self.preferences.n_rows))
        for first, middle, last in self._large:
            i, k = slice(first, middle), slice(middle, last)
            part = self._sums_of(scores[i], above[i], scores[k], below[k], with_second)
            value += part.value
            for out, block, sums in zip(rows, (i, k, i, k), part[1:], strict=False):
                out[block] += sums
        for batch in self._batches:
            for piece in batch.pieces():
                part = piece.sums(self.loss, scores, above, below, with_second)
                value += part.value
                for out, places, sums in zip(rows, piece.rows * 2, part[1:], strict=False):
                    np.add.at(out, places, sums)  # a row may be in several blocks
        return PairSums(value, *rows)

    def heights(
        self, scores: Floats, weight: Floats, side: str = "top", margin: float = 0.0
    ) -> Floats:
        """Return the loss of each row's pairs, of which each needs a `margin`."""
        out = np.zeros(self.preferences.n_rows)
        at_top = side == "top"
        if not at_top:
            scores = -scores  # a mirror image: inner rows are those below
        shifted = scores + margin if margin else scores
        for first, middle, last in self._large:
            inner, outer = slice(first, middle), slice(middle, last)
            if not at_top:
                inner, outer = outer, inner
            out[outer] += self._heights_of(scores[inner], weight[inner], shifted[outer])
        for batch in self._batches:
            for piece in (batch if at_top else batch.mirrored()).pieces():
                loss = self.loss.value(piece.margins(scores, shifted))
                sums = np.einsum("ri,rik->rk", weight[piece.upper] * piece.is_upper, loss)
                np.add.at(out, piece.lower, sums * piece.is_lower)
        return out

    def _sums_of(self, f: Floats, a: Floats, g: Floats, b: Floats, with_second: bool) -> PairSums:
        """Return the sums of one block."""
        if self._fast is not None:
            return self._fast.sums(f, a, g, b, *[True] * with_second)
        n_orders = 2 if with_second else 1
        value, upper, lower = 0.0, np.empty((n_orders, len(f))), np.zeros((n_orders, len(g)))
        for piece in _pieces(len(f), len(g)):
            loss, *slopes = _derivatives(self.loss, f[piece, np.newaxis] - g, with_second)
            value += float(a[piece] @ (loss @ b))
            for order, slope in enumerate(slopes):
                upper[order, piece] = slope @ b
                lower[order] += a[piece] @ slope
        return PairSums(value, upper[0], lower[0], *upper[1:], *lower[1:])

    def _heights_of(self, f: Floats, a: Floats, g: Floats) -> Floats:
        """Return the heights of the lower rows of one block."""
        if self._fast is not None:
            return self._fast.heights(f, a, g)
        pieces = _pieces(len(f), len(g))
        parts = (a[rows] @ self.loss.value(f[rows, np.newaxis] - g) for rows in pieces)
        return np.asarray(sum(parts, start=np.zeros_like(g)))


def _derivatives(loss: MarginLoss, margin: Floats, with_second: bool) -> list[Floats]:
    """Return phi, its derivative and, where asked for, its second derivative."""
    found = list(loss.value_and_derivative(margin))
    if with_second:
        found.append(require(loss, "second_derivative", "A sum of second derivatives")(margin))
    return found


@dataclass(frozen=True, eq=False)
class _Batch:
    """Blocks of about one size, filled up to one shape.

    Attributes
    ----------
    upper, lower : ndarray of shape (n_blocks, n_upper) and (n_blocks, n_lower)
        Rows; a place without a row repeats one.
    is_upper, is_lower : ndarray of bool
        Where there is a row.
    """

    upper: Indices
    lower: Indices
    is_upper: Mask
    is_lower: Mask

    @property
    def rows(self) -> tuple[Indices, Indices]:
        """Upper and lower rows."""
        return self.upper, self.lower

    def pieces(self) -> Iterator[_Batch]:
        """Yield some blocks at a time."""
        for some in _pieces(len(self.upper), self.upper.shape[1] * self.lower.shape[1]):
            yield _Batch(
                self.upper[some], self.lower[some], self.is_upper[some], self.is_lower[some]
            )

    def mirrored(self) -> _Batch:
        """Exchange the roles of the rows."""
        return _Batch(self.lower, self.upper, self.is_lower, self.is_upper)

    def margins(self, scores: Floats, lower_scores: Floats) -> Floats:
        """Return the margins of all pairs, shape (n_blocks, n_upper, n_lower)."""
        return scores[self.upper][:, :, np.newaxis] - lower_scores[self.lower][:, np.newaxis, :]

    def sums(
        self, loss: MarginLoss, scores: Floats, above: Floats, below: Floats, with_second: bool
    ) -> PairSums:
        """Return the sums, of the shapes of `upper` and `lower`."""
        a, b = above[self.upper] * self.is_upper, below[self.lower] * self.is_lower
        value, *slopes = _derivatives(loss, self.margins(scores, scores), with_second)
        rows = []
        for slope in slopes:
            rows.append(np.einsum("rik,rk->ri", slope, b) * self.is_upper)
            rows.append(np.einsum("ri,rik->rk", a, slope) * self.is_lower)
        return PairSums(float(np.einsum("ri,rik,rk", a, value, b, optimize=False)), *rows)


def _batches(blocks: Indices) -> Iterator[_Batch]:
    """Yield batches of blocks whose shapes round up to the same."""
    shape = np.column_stack([_rounded(np.diff(blocks, axis=1)[:, side]) for side in (0, 1)])
    shapes, which = np.unique(shape, axis=0, return_inverse=True)
    for number, (n_upper, n_lower) in enumerate(shapes):
        first, middle, last = blocks[which.ravel() == number].T[:, :, np.newaxis]
        upper, lower = first + np.arange(n_upper), middle + np.arange(n_lower)
        is_upper, is_lower = upper < middle, lower < last
        yield _Batch(np.minimum(upper, middle - 1), np.minimum(lower, last - 1), is_upper, is_lower)


def _rounded(size: Indices) -> Indices:
    """Round up to two binary digits: 1, 2, 3, 4, 6, 8, 12, ..."""
    unit = 2 ** np.maximum(np.frexp(size)[1].astype(np.intp) - 2, 0)
    return np.asarray(-(-size // unit) * unit)


def _pieces(n: int, each: int) -> Iterator[slice]:
    """Yield slices of `n` items that hold `each` pairs."""
    step = max(1, BLOCK_PAIRS // max(each, 1))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))
