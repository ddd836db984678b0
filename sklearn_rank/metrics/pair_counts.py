"""Counts of the comparable pairs that scores put in the wrong order, in O(n log n)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_rank._core.protocols import Floats, Mask
from sklearn_rank._core.sums import nested_runs
from sklearn_rank.metrics.scored_rows import ScoredRows

NO_PAIR = (
    "There is no comparable pair: no query has rows of different relevance, so that no order "
    "is better than another."
)

TOO_LIGHT = (
    "sample_weight must be within a factor of 1e250: each pair has a row so much lighter than "
    "the heaviest one that products of weights underflow."
)
LIGHTEST_PAIRS = 1e-250
"""Weight of all pairs, that of the heaviest row being about one, below which it is rounding."""


@dataclass(frozen=True, eq=False)
class PairCounts:
    """For each row k, the weight of the rows above it: those of higher relevance in its query.

    Attributes
    ----------
    total : ndarray of shape (n_rows,)
        Weight of all rows above k.
    lower : ndarray of shape (n_rows,)
        Weight of those that are scored lower than k.
    tied : ndarray of shape (n_rows,)
        Weight of those that have the score of k.
    """

    total: Floats
    lower: Floats
    tied: Floats

    def pair_weight(self, weight: Floats) -> float:
        """Return the weight of all pairs; ValueError when there is none, or it underflows."""
        self.require_pairs()
        found = float(weight @ self.total)
        if found < LIGHTEST_PAIRS:
            raise ValueError(TOO_LIGHT)
        return found

    def require_pairs(self) -> None:
        """Raise ValueError when there is no pair; a product of weights could underflow."""
        if not self.total.any():
            raise ValueError(NO_PAIR)


def count_pairs(rows: ScoredRows, margin: float = 0.0) -> PairCounts:
    """Count the rows above each row k by their score, compared with that of k plus the margin.

    Let relevances be numbered by rank. Two of them differ first in one binary digit of their
    numbers. For each digit the rows of a query that agree in all higher digits form a group,
    with a 1 above each 0. Thus L levels cost log2(L) sorts, and each pair occurs exactly once.
    """
    counts = PairCounts(*(np.zeros(len(rows.score)) for _ in range(3)))
    level = np.unique(rows.y, return_inverse=True)[1].ravel()
    if level.max() == 1 and rows.query.max() == 0 and np.all(rows.weight == 1):
        return _of_two_classes(rows.score, level == 1, margin)
    by_key = np.argsort(rows.score, kind="stable")
    n_digits = max(1, int(level.max()).bit_length())
    for digit in range(n_digits):
        is_above, key = (level >> digit) & 1, rows.score
        if margin:
            key = np.where(is_above == 1, rows.score, rows.score + margin)
            by_key = np.argsort(key, kind="stable")
        group = (rows.query << (n_digits - digit - 1)) + (level >> (digit + 1))
        order = by_key[np.argsort(group[by_key], kind="stable")]
        above = is_above[order]
        ties, groups = nested_runs(group[order], key[order])
        # Sums over ties first: rows below need them, and there are fewer ties than rows.
        tied = ties.reduce(np.add, rows.weight[order] * above)
        not_higher = groups.cumsum(tied)
        total = groups.spread(not_higher[groups.end - 1])
        below = np.flatnonzero(above == 0)
        row, tie = order[below], ties.spread(np.arange(ties.n_groups))[below]
        counts.total[row] += total[tie]
        counts.lower[row] += groups.shift(not_higher, 0.0)[tie]
        counts.tied[row] += tied[tie]
    return counts


def _of_two_classes(score: Floats, is_above: Mask, margin: float) -> PairCounts:
    """Return the counts of one list of two classes without weights, by a sort of one of them."""
    below = np.flatnonzero(~is_above)
    below = below[np.argsort(score[below])]
    above = np.sort(score[is_above])
    lower, not_higher = np.zeros((2, len(score)))
    lower[below] = np.searchsorted(above, score[below] + margin, side="left")
    not_higher[below] = np.searchsorted(above, score[below] + margin, side="right")
    return PairCounts(np.where(is_above, 0.0, len(above)), lower, not_higher - lower)
