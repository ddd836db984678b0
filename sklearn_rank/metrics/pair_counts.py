"""Counts of the comparable pairs that scores put in the wrong order, in O(n log n)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sklearn_rank._protocols import Floats, Indices
from sklearn_rank.metrics.scored_rows import ScoredRows
from sklearn_rank.rows.groups import nested_runs

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


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class BipartiteGroups:
    """Rows sorted by group and key; the pairs are the 1s and the 0s of each group.

    Attributes
    ----------
    order : ndarray of shape (n_rows,)
        The rows in sorted order; the other arrays follow it.
    group : ndarray of shape (n_rows,)
        Number of the group.
    is_above : ndarray of shape (n_rows,)
        1 for the rows above, 0 for the rows below.
    key : ndarray of shape (n_rows,)
        The score of a row above, score + margin of a row below.
    """

    order: Indices
    group: Indices
    is_above: Indices
    key: Floats


def bipartite_groups(rows: ScoredRows, margin: float = 0.0) -> Iterator[BipartiteGroups]:
    """Split the comparable pairs into bipartite ones.

    Let relevances be numbered by rank. Two of them differ first in one binary digit of their
    numbers. For each digit the rows of a query that agree in all higher digits form a group,
    with a 1 above each 0. Thus L levels cost log2(L) sorts, and each pair occurs exactly once.
    """
    level = np.unique(rows.y, return_inverse=True)[1].ravel()
    by_key = np.argsort(rows.score, kind="stable")
    n_digits = max(1, int(level.max()).bit_length())
    for digit in range(n_digits):
        is_above, key = (level >> digit) & 1, rows.score
        if margin:
            key = np.where(is_above == 1, rows.score, rows.score + margin)
            by_key = np.argsort(key, kind="stable")
        group = (rows.query << (n_digits - digit - 1)) + (level >> (digit + 1))
        order = by_key[np.argsort(group[by_key], kind="stable")]
        yield BipartiteGroups(order, group[order], is_above[order], key[order])


def count_pairs(rows: ScoredRows, margin: float = 0.0) -> PairCounts:
    """Count the rows above each row k by their score, compared with that of k plus the margin."""
    counts = PairCounts(*(np.zeros(len(rows.score)) for _ in range(3)))
    for groups in bipartite_groups(rows, margin):
        _add_counts(counts, groups, rows.weight)
    return counts


def _add_counts(counts: PairCounts, pairs: BipartiteGroups, weight: Floats) -> None:
    """Add the counts of some pairs."""
    runs, groups = nested_runs(pairs.group, pairs.key)
    tied = runs.reduce(np.add, weight[pairs.order] * pairs.is_above)
    not_higher = groups.cumsum(tied)
    lower = groups.shift(not_higher, 0.0)
    total = groups.spread(not_higher[groups.end - 1])
    below = np.flatnonzero(pairs.is_above == 0)
    rows, run = pairs.order[below], runs.spread(np.arange(runs.n_groups))[below]
    counts.total[rows] += total[run]
    counts.lower[rows] += lower[run]
    counts.tied[rows] += tied[run]
