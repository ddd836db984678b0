"""Sums over the pairs of sorted rows that are near to each other."""

from __future__ import annotations

import numpy as np

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.protocols import Floats, Indices, Mask

_BLOCK = 1 << 13
"""Rows handled at a time: all that is known of them stays in the second-level cache."""

_FEW = 0.15
"""Share of the pairs of a block below which they are picked out."""

_FACTORS = 1000
"""So many numbers of at most 2 have a product."""


class NearPairs:
    """Sums of the kernels' remainders over pairs of sorted rows.

    With d the distance of a pair, they are s(-d), s the sigmoid, and s'(d), and
    log(1 + exp(-d)) for values and heights.

    Parameters
    ----------
    x, weight, is_upper : ndarray of shape (n_rows,)
        Scores, rising, weights and sides of the rows.
    in_grid : ndarray of shape (n_rows,) or None
        The pairs of two of these rows are left out.
    n_orders : int
        How many of the sums of s(-d) and s'(d) are wanted; 0 for the heights.

    Attributes
    ----------
    value : float
        The sum of the product of both weights and log(1 + exp(-d)), unless `n_orders` is 0.
    sums : ndarray of shape (max(n_orders, 1), n_rows)
        Of each row, the sums of the other row's weight and the kernels. Those of s(-d) have
        a minus sign where the pair is out of order.
    """

    def __init__(
        self, x: Floats, weight: Floats, is_upper: Mask, in_grid: Mask | None, n_orders: int
    ) -> None:
        self.value, self.sums = 0.0, np.zeros((max(n_orders, 1), len(x)))
        self._x, self._weight, self._is_upper, self._in_grid = x, weight, is_upper, in_grid
        self._signed, self._n_orders = np.where(is_upper, weight, -weight), n_orders
        self._has_equal_weights = bool((weight == weight[:1]).all())
        self._product, self._n_factors = np.ones(_BLOCK), 0
        # Allocated once: the pages of fresh arrays cost more than what is done with them.
        self._scratch, self._masks = np.empty((3, _BLOCK)), np.empty((2, _BLOCK), dtype=np.bool_)

    def visit(self, reach: float) -> None:
        """Visit all pairs within reach."""
        left: list[Indices] = [np.empty((2, 0), dtype=np.intp)]
        for some in blocks(len(self._x), _BLOCK):
            left.append(self._visit_block(some.start, some.stop, reach))
        rows, shift = np.concatenate(left, axis=1)
        for some in blocks(len(rows), _BLOCK):
            self._pick(rows[some], shift[some], reach)
        self._take_logarithms()

    def _visit_block(self, start: int, stop: int, reach: float) -> Indices:
        """Visit the pairs whose lower score is that of a row of a block, by rising shifts.

        Returns rows with more pairs, when these have become few, and the shift to go on with.
        """
        x, shift = self._x, 1
        while (stop := min(stop, len(x) - shift)) > start:
            rows, others = slice(start, stop), slice(start + shift, stop + shift)
            n = stop - start
            margin = np.subtract(x[rows], x[others], out=self._scratch[0, :n])  # minus distance
            is_near = np.greater(margin, -reach, out=self._masks[0, :n])
            if np.count_nonzero(is_near) < _FEW * n:
                left = start + np.flatnonzero(is_near)
                return np.stack([left, np.full(len(left), shift)])
            is_pair = self._are_pairs(rows, others, out=self._masks[1, :n])
            if np.count_nonzero(is_pair) < _FEW * n:
                is_pair &= is_near
                picked = np.flatnonzero(is_pair)
                self._add(start + picked, start + shift + picked, np.exp(margin[picked]))
            else:
                odds = np.exp(margin, out=margin)
                odds *= is_pair
                self._add(rows, others, odds)
            shift += 1
        return np.empty((2, 0), dtype=np.intp)

    def _pick(self, rows: Indices, shift: Indices, reach: float) -> None:
        """Visit the pairs of some rows with those `shift` and more places on."""
        others = rows + shift
        while len(rows):
            margin = self._x[rows] - self._x[others]
            is_near = margin > -reach
            is_pair = is_near & self._are_pairs(rows, others)
            self._add(rows[is_pair], others[is_pair], np.exp(margin[is_pair]))
            is_near &= others < len(self._x) - 1
            rows, others = rows[is_near], others[is_near] + 1

    def _are_pairs(
        self, rows: slice | Indices, others: slice | Indices, out: Mask | None = None
    ) -> Mask:
        """Return which pairs have one row of either side, and are not left to the grid."""
        is_pair = np.not_equal(self._is_upper[rows], self._is_upper[others], out=out)
        if self._in_grid is not None:
            is_pair &= ~(self._in_grid[rows] & self._in_grid[others])
        return is_pair

    def _add(self, rows: slice | Indices, others: slice | Indices, odds: Floats) -> None:
        """Add some pairs, in which each row occurs once on either side, given exp(-d).

        An exp(-d) of 0 stands for no pair.
        """
        total = odds + 1.0
        if not self._n_orders:
            loss = np.log(total, out=total)
            self.sums[0, rows] += loss * self._weight[others]
            self.sums[0, others] += loss * self._weight[rows]
            return
        odds /= total
        self.sums[0, rows] += odds * self._signed[others]
        self.sums[0, others] -= odds * self._signed[rows]
        if self._n_orders > 1:
            odds /= total
            self.sums[1, rows] += odds * self._weight[others]
            self.sums[1, others] += odds * self._weight[rows]
        self._add_value(rows, others, total)

    def _add_value(self, rows: slice | Indices, others: slice | Indices, total: Floats) -> None:
        """Add to the value; of equal weights, the logarithm of many factors is taken at once."""
        if self._has_equal_weights:
            product = self._product[: len(total)]
            product *= total
            self._n_factors += 1
            if self._n_factors == _FACTORS:
                self._take_logarithms()
        else:
            loss = np.log(total, out=total)
            loss *= self._weight[others]
            self.value += float(loss @ self._weight[rows])

    def _take_logarithms(self) -> None:
        """Add the factors gathered so far to the value."""
        if self._n_factors:
            self.value += float(np.log(self._product).sum() * self._weight[0] ** 2)
            self._product[:], self._n_factors = 1.0, 0
