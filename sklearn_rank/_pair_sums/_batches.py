"""Small blocks of pairs, many at a time: blocks of similar shapes, filled up to one shape."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices, require
from sklearn_rank._core.sums import Groups
from sklearn_rank._pair_sums.group_sums import PairSums, WeightedScores

if TYPE_CHECKING:
    from sklearn_rank._pair_sums.margin_losses import MarginLoss

BATCH_PAIRS = 1 << 16
"""Most pairs of a batch of several blocks: arrays over them stay in the second-level cache."""

_SPARE_PAIRS = 12_000
"""Filled-up pairs that cost as much as another batch."""

_FEW_PAIRS, _PAIRS_PER_BLOCK = 400, 10
"""Blocks lie side by side if each has fewer pairs than this, and than ten times their number."""

_Factors = tuple[Floats | float, Floats | float]


@dataclass(frozen=True, eq=False)
class Batch:
    """Blocks of pairs padded to one shape, one after the other.

    Arrays over rows have the shapes (n_blocks, n_upper) and (n_blocks, n_lower), and arrays
    over pairs the shape (n_blocks, n_upper, n_lower).

    Attributes
    ----------
    upper, lower : ndarray
        Rows; entries that fill up a block repeat its last row.
    pad_upper, pad_lower : ndarray
        Positions of these entries in the flattened arrays.
    query : ndarray of shape (n_blocks,)
        The query of each block.
    """

    upper: Indices
    lower: Indices
    pad_upper: Indices
    pad_lower: Indices
    query: Indices

    row_axis: ClassVar[int] = 1

    @property
    def rows(self) -> tuple[Indices, Indices]:
        """Upper and lower rows."""
        return self.upper, self.lower

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return self.upper.size * self.lower.shape[self.row_axis]

    def mirrored(self) -> Batch:
        """Exchange the roles of the rows."""
        return type(self)(self.lower, self.upper, self.pad_lower, self.pad_upper, self.query)

    def of_upper(self, values: Floats) -> Floats:
        """Return values of the upper rows, 0 in padded entries."""
        return _cleared(values[self.upper], self.pad_upper)

    def of_lower(self, values: Floats) -> Floats:
        """Return values of the lower rows, 0 in padded entries."""
        return _cleared(values[self.lower], self.pad_lower)

    def to_rows(self, values: Floats) -> Floats:
        """Return a view of values of blocks that broadcasts to rows."""
        return np.expand_dims(values, self.row_axis)

    def sum_lower(self, pairs: Floats, b: Floats) -> Floats:
        """Return, for each upper row, the sum over the lower rows with weights b."""
        return np.asarray(np.matmul(pairs, b[:, :, np.newaxis])[:, :, 0])

    def sum_upper(self, a: Floats, pairs: Floats) -> Floats:
        """Return, for each lower row, the sum over the upper rows with weights a."""
        return np.asarray(np.matmul(a[:, np.newaxis, :], pairs)[:, 0, :])

    def differences(self, upper: Floats, lower: Floats) -> Floats:
        """Return the difference between the values of the two rows, for all pairs."""
        return self._products((upper, 1.0), (1.0, -lower))

    def one_plus_products(self, upper: Floats, lower: Floats, out: Floats) -> Floats:
        """Return one plus the product of the values of both rows, at the start of `out`."""
        return self._products((upper, 1.0), (lower, 1.0), out[: self.n_pairs])

    def _products(self, upper: _Factors, lower: _Factors, out: Floats | None = None) -> Floats:
        """Return sums of two products.

        As a product of matrices: to broadcast over short rows takes longer.
        """
        left, right = (np.empty((len(rows), 2, rows.shape[1])) for rows in self.rows)
        left[:, 0], left[:, 1] = upper
        right[:, 0], right[:, 1] = lower
        if out is not None:
            out = out.reshape(*self.upper.shape, self.lower.shape[1])
        return np.asarray(np.matmul(left.transpose(0, 2, 1), right, out=out))

    def multiply_upper(self, pairs: Floats, max_factors: int) -> Floats:
        """Multiply groups of at most `max_factors` upper rows, to get pairs of fewer upper rows."""
        head, n_upper = pairs.shape[: self.row_axis], self.upper.shape[self.row_axis]
        tail = pairs.shape[self.row_axis + 1 :]
        # Rows r, r + n_left, r + 2 n_left, ... make one product: a reduction over whole arrays.
        n_left = -(-n_upper // max_factors)
        n_factors = n_upper // n_left
        rows = pairs.reshape(*head, n_upper, -1)
        factors = rows[..., : n_factors * n_left, :].reshape(*head, n_factors, -1)
        product = np.multiply.reduce(factors, axis=self.row_axis).reshape(*head, n_left, -1)
        product[..., : n_upper - n_factors * n_left, :] *= rows[..., n_factors * n_left :, :]
        return np.asarray(product.reshape(*head, n_left, *tail))


class SideBySide(Batch):
    """Blocks of few pairs padded to one shape, side by side.

    Arrays over rows have the shapes (n_upper, n_blocks) and (n_lower, n_blocks), and arrays
    over pairs the shape (n_upper, n_lower, n_blocks): only the last axis is long.
    """

    row_axis = 0

    def sum_lower(self, pairs: Floats, b: Floats) -> Floats:
        """Return, for each upper row, the sum over the lower rows with weights b."""
        return np.asarray(np.einsum("ikr,kr->ir", pairs, b))

    def sum_upper(self, a: Floats, pairs: Floats) -> Floats:
        """Return, for each lower row, the sum over the upper rows with weights a."""
        return np.asarray(np.einsum("ir,ikr->kr", a, pairs))

    def differences(self, upper: Floats, lower: Floats) -> Floats:
        """Return the difference between the values of the two rows, for all pairs."""
        return np.asarray(upper[:, np.newaxis] - lower)

    def one_plus_products(self, upper: Floats, lower: Floats, out: Floats) -> Floats:
        """Return one plus the product of the values of both rows, at the start of `out`."""
        out = out[: self.n_pairs].reshape(len(upper), *lower.shape)
        np.multiply(upper[:, np.newaxis], lower, out=out)
        return np.add(out, 1.0, out=out)


def batches(blocks: Indices, queries: Groups) -> Iterator[Batch]:
    """Yield batches of blocks (`Preferences.blocks`); the queries are over rows.

    A batch has blocks whose numbers of lower rows have the same number of binary digits, in the
    order of their numbers of upper rows.
    """
    n_upper, n_lower = np.diff(blocks, axis=1).T
    n_digits = np.frexp(n_lower - 1)[1]  # within a factor of two: less than half is filled up
    order = np.lexsort((n_upper, n_digits))
    blocks, n_digits = blocks[order], n_digits[order]
    query = np.searchsorted(queries.start, blocks[:, 0], side="right") - 1
    start = 0
    while start < len(blocks):
        n_blocks = max(BATCH_PAIRS // int(np.prod(np.diff(blocks[start]))), 1)
        digits = n_digits[start : start + n_blocks]
        end = start + int(np.searchsorted(digits, digits[0], "right"))
        stop = start + _batch_length(*np.diff(blocks[start:end], axis=1).T)
        yield _filled(blocks[start:stop], query[start:stop])
        start = stop


def _batch_length(n_upper: Indices, n_lower: Indices) -> int:
    """Return how many blocks, from the first on, make a batch; at least one."""
    n_pairs = np.arange(1, len(n_upper) + 1) * n_upper * np.maximum.accumulate(n_lower)
    n_spare = n_pairs - np.cumsum(n_upper * n_lower)
    is_full = (n_pairs > BATCH_PAIRS) | (n_spare > _SPARE_PAIRS)
    return max(int(np.argmax(is_full)), 1) if is_full.any() else len(is_full)


def _filled(blocks: Indices, query: Indices) -> Batch:
    """Return a batch of some blocks."""
    n_upper, n_lower = np.diff(blocks, axis=1).max(axis=0)
    is_small = n_upper * n_lower < min(_FEW_PAIRS, _PAIRS_PER_BLOCK * len(blocks))
    first, middle, last = blocks.T[:, np.newaxis] if is_small else blocks.T[:, :, np.newaxis]
    upper, lower = (
        np.arange(n)[:, np.newaxis] if is_small else np.arange(n) for n in (n_upper, n_lower)
    )
    upper, lower = first + upper, middle + lower
    # Entries beyond a block repeat its last row, so that each has a score; their sums are cleared.
    pad_upper, pad_lower = np.flatnonzero(upper >= middle), np.flatnonzero(lower >= last)
    np.minimum(upper, middle - 1, out=upper)
    np.minimum(lower, last - 1, out=lower)
    # Half the memory of `intp` for 4 % more time.
    dtype = np.int32 if blocks.max() <= np.iinfo(np.int32).max else np.intp
    upper, lower = upper.astype(dtype), lower.astype(dtype)
    return (SideBySide if is_small else Batch)(upper, lower, pad_upper, pad_lower, query)


def _cleared(values: Floats, padding: Indices) -> Floats:
    """Set the entries that fill up a block to 0; return the values."""
    if len(padding):
        np.put(values, padding, 0.0)
    return values


class EachPair:
    """Sums over the pairs of blocks, pair by pair.

    Parameters
    ----------
    loss : MarginLoss
        The loss of a margin.
    rows : WeightedScores
        Scores and weights.
    """

    def __init__(self, loss: MarginLoss, rows: WeightedScores) -> None:
        self.loss, self.rows = loss, rows

    def sums(self, batch: Batch, with_second: bool, with_value: bool) -> PairSums:
        """Return the sums, of the shapes of the batch; the value only with `with_value`."""
        a, b = batch.of_upper(self.rows.w_upper), batch.of_lower(self.rows.w_lower)
        value, *slopes = derivatives(self.loss, self._margins(batch), with_second)
        sums = []
        for slope in slopes:
            sums.append(_cleared(batch.sum_lower(slope, b), batch.pad_upper))
            sums.append(_cleared(batch.sum_upper(a, slope), batch.pad_lower))
        total = float(np.vdot(a, batch.sum_lower(value, b))) if with_value else 0.0
        return PairSums(total, *sums)

    def heights(self, batch: Batch) -> Floats:
        """Return the loss of each lower row's pairs."""
        w_upper = batch.of_upper(self.rows.w_upper)
        losses = self.loss.value(self._margins(batch))
        return _cleared(batch.sum_upper(w_upper, losses), batch.pad_lower)

    def _margins(self, batch: Batch) -> Floats:
        upper, lower = self.rows.scores[batch.upper], self.rows.scores[batch.lower]
        if self.rows.margin:
            lower += self.rows.margin
        return batch.differences(upper, lower)


def derivatives(loss: MarginLoss, margin: Floats, with_second: bool) -> list[Floats]:
    """Return phi, its derivative and, with `with_second`, its second derivative."""
    values = list(loss.value_and_derivative(margin))
    if with_second:
        values.append(require(loss, "second_derivative", "A sum of second derivatives")(margin))
    return values
