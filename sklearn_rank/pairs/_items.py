"""The rows of a fit to listed pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from sklearn_rank._core.arrays import Floats, Indices
from sklearn_rank._core.given_pairs import GivenPairs
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.sums import shared_property

_SMALLEST_WEIGHT, _LARGEST_WEIGHT = -200, 80
"""Binary exponents between which weights of pairs are taken as they are."""


@dataclass(frozen=True, eq=False)
class PairedItems(Rows):
    """Rows to learn from that pairs compare, in place of relevance.

    Attributes
    ----------
    above, below : ndarray of shape (n_pairs,)
        Rows of each pair: the first belongs above the second.
    pair_weight : ndarray of shape (n_pairs,)
        Positive multiplicities of the pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.pairs._items import PairedItems
    >>> X = np.array([[1.0], [2.0], [1.0]])
    >>> rows = PairedItems.from_pairs(X, np.array([[0, 1], [2, 1]]), np.ones(2))
    >>> rows.weight
    array([1., 2., 1.])
    >>> rows.distinct().weight
    array([2., 2.])
    """

    above: Any = None
    below: Any = None
    pair_weight: Any = None

    @classmethod
    def from_pairs(cls, X: Any, pairs: Indices, pair_weight: Floats) -> PairedItems:
        """Return the rows of X with their pairs, of shape (n_pairs, 2), of positive weight."""
        # Contiguous columns: each is read on its own, again and again.
        above, below = (np.ascontiguousarray(pairs[:, side], dtype=np.intp) for side in (0, 1))
        n_rows = X.shape[0]
        known = GivenPairs(n_rows, above, below, pair_weight)
        rows = cls(X, np.zeros(n_rows), None, known.weight, None, None, None, None)
        return replace(rows, above=above, below=below, pair_weight=pair_weight)

    @shared_property
    def preferences(self) -> GivenPairs:
        """The pairs."""
        return GivenPairs(len(self.y), self.above, self.below, self.pair_weight)

    def take(self, rows: Indices, weight: Floats | None = None) -> PairedItems:
        """Return some of the rows, with the pairs of which both rows are among them."""
        place = np.full(len(self.y), -1)
        place[rows] = np.arange(len(rows))
        above, below = place[self.above], place[self.below]
        kept = (above >= 0) & (below >= 0)
        return self._at(rows, weight, above[kept], below[kept], self.pair_weight[kept])

    def distinct(self) -> PairedItems:
        """Return equal rows as one, in an order of their own: that of a hash of the features."""
        _, first, place = np.unique(self.code, return_index=True, return_inverse=True)
        weight = np.bincount(place, self.weight).astype(np.float64, copy=False)
        return self._at(first, weight, place[self.above], place[self.below], self.pair_weight)

    def _at(
        self, rows: Indices, weight: Floats | None, above: Indices, below: Indices, pairs: Floats
    ) -> PairedItems:
        """Return some of the rows with pairs of their own, of these weights."""
        taken = cast("PairedItems", super().take(rows, weight))
        return replace(taken, above=above, below=below, pair_weight=pairs)

    def with_moderate_weights(self) -> PairedItems:
        """Return rows whose sums of weights neither underflow nor overflow.

        Where the largest weight of a pair lies outside [2^-200, 2^80] all are multiplied by one
        power of two: very small ones so that it is about one, very large ones so that it is about
        2^80.
        """
        exponent = int(np.frexp(self.pair_weight.max())[1])
        if _SMALLEST_WEIGHT <= exponent <= _LARGEST_WEIGHT:
            return self
        target = 0 if exponent < 0 else _LARGEST_WEIGHT
        with np.errstate(under="ignore"):
            weight = np.ldexp(self.pair_weight, target - exponent)
        known = np.clip(weight, 2.0**-1000, None)
        pairs = GivenPairs(len(self.y), self.above, self.below, known)
        return replace(self, weight=pairs.weight, pair_weight=known)
