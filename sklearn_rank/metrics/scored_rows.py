"""Checked rows with scores, and counts of the pairs that they put in the wrong order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices, Mask, Values
from sklearn_rank._core.sums import nested_runs
from sklearn_rank._core.validation import (
    check_column,
    check_floats,
    check_lengths,
    check_qid,
    check_relevance,
    check_weight,
)

_MODERATE = 100
"""Binary exponents up to which the largest weight stays as it is: products are far from 1e308."""

NO_PAIR = (
    "There is no comparable pair: y_true has one value only (with qid: one in each query), so "
    "no order is better than another."
)

TOO_LIGHT = (
    "sample_weight must be within a factor of 1e250: each pair has a row so much lighter than "
    "the heaviest one that products of weights underflow."
)
LIGHTEST_PAIRS = 1e-250
"""Weight of all pairs, for a heaviest row of about 1, below which products underflow."""


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """The rows of positive weight.

    Attributes
    ----------
    y : ndarray of shape (n_rows,)
        Relevance or class.
    score : ndarray of shape (n_rows,)
        Scores, greater is better; infinite ones are allowed.
    qid : ndarray of shape (n_rows,) or None
        Query codes; None for one list.
    weight : ndarray of shape (n_rows,)
        Positive multiplicities.
    is_kept : ndarray of shape (n_samples,)
        Mask of these rows among the caller's rows.
    n_queries : int
        Number of the caller's queries.
    """

    y: Values
    score: Floats
    qid: Indices | None
    weight: Floats
    is_kept: Mask
    n_queries: int

    @classmethod
    def check(
        cls, y_true: Any, y_score: Any, qid: Any, sample_weight: Any, name: str = "y_score"
    ) -> ScoredRows:
        """Check the arrays and drop rows of weight zero; errors call the scores `name`."""
        y, score = check_column(y_true, "y_true"), check_floats(y_score, name)
        check_lengths(**{"y_true": y, name: score})
        if np.isnan(score).any():
            raise ValueError(f"{name} contains NaN: an order needs comparable scores.")
        weight = check_weight(sample_weight, len(y))
        codes = None if qid is None else check_qid(qid, len(y))
        n_queries = 1 if codes is None else int(codes.max()) + 1
        is_kept = weight > 0
        if not is_kept.all():
            y, score, weight = y[is_kept], score[is_kept], weight[is_kept]
            codes = None if codes is None else codes[is_kept]
        return cls(y, score, codes, weight, is_kept, n_queries)

    @classmethod
    def with_relevance(
        cls, y_true: Any, y_score: Any, qid: Any, sample_weight: Any = None, name: str = "y_score"
    ) -> ScoredRows:
        """Check the arrays as `check` does; relevance must be finite numbers or booleans."""
        relevance = check_relevance(y_true, name="y_true")
        return cls.check(relevance, y_score, qid, sample_weight, name)

    @property
    def query(self) -> Indices:
        """Query codes; zeros for one list."""
        return np.zeros(len(self.score), dtype=np.intp) if self.qid is None else self.qid

    def with_moderate_weights(self) -> ScoredRows:
        """Return the rows with weights whose products neither underflow nor overflow.

        For measures of ratios of weights: very small or large weights are scaled by a power of
        two that makes the largest weight of a row in a pair about one.
        """
        max_weight = float(self.weight[self._is_paired].max(initial=0.0)) or self.weight.max()
        exponent = int(np.frexp(max_weight)[1])
        if abs(exponent) <= _MODERATE and self.weight.max() < 2.0**_MODERATE:
            return self
        with np.errstate(over="ignore", under="ignore"):
            weight = np.ldexp(self.weight, -exponent)
        # The clip keeps far lighter rows positive, and heavier ones, in no pair, finite.
        return replace(self, weight=np.clip(weight, 2.0**-1000, 2.0**500))

    def with_moderate_weights_in(self, group: Indices) -> ScoredRows:
        """Scale the weights in each group, for measures of ratios of weights within groups."""
        max_weight = np.zeros(int(group.max()) + 1)
        np.maximum.at(max_weight, group, self.weight)
        exponent = np.frexp(max_weight)[1]
        if (np.abs(exponent) <= _MODERATE).all():
            return self
        with np.errstate(under="ignore"):
            return replace(self, weight=np.ldexp(self.weight, -exponent[group]))

    @property
    def _is_paired(self) -> Mask:
        """Mask of the rows of queries with several relevances."""
        low, high = np.full((2, self.n_queries), [[np.inf], [-np.inf]])
        np.minimum.at(low, self.query, self.y)
        np.maximum.at(high, self.query, self.y)
        return np.asarray((low < high)[self.query])

    def reversed(self) -> ScoredRows:
        """Return the rows with both orders reversed, by relevance and by score."""
        return replace(self, y=-self.y, score=-self.score)


# Counts of pairs, in O(n log n) -------------------------------------------------


@dataclass(frozen=True, eq=False)
class PairCounts:
    """For each row k, weights of the rows above it, that is, of higher relevance in its query.

    Attributes
    ----------
    total : ndarray of shape (n_rows,)
        Weight of all rows above k.
    outscored : ndarray of shape (n_rows,)
        Weight of those with a lower score than k.
    tied : ndarray of shape (n_rows,)
        Weight of those with the score of k.
    """

    total: Floats
    outscored: Floats
    tied: Floats

    def pair_weight(self, weight: Floats) -> float:
        """Return the weight of all pairs; raise ValueError if there are none or it underflows."""
        self.require_pairs()
        total = float(weight @ self.total)
        if total < LIGHTEST_PAIRS:
            raise ValueError(TOO_LIGHT)
        return total

    def require_pairs(self) -> None:
        """Raise ValueError without a pair. Sums are checked, as products could underflow."""
        if not self.total.any():
            raise ValueError(NO_PAIR)


def count_pairs(rows: ScoredRows, margin: float = 0.0) -> PairCounts:
    """Count the rows above each row k by their scores, compared with that of k plus the margin.

    The L levels of relevance have numbers 0, 1, ... in increasing order. Of two numbers, the
    highest binary digit that differs says which is larger. So for each digit the rows of a query
    that agree in all higher digits form a group, in which each 1 is above each 0. Each pair occurs
    in exactly one group, and log2(L) sorts count all pairs.
    """
    counts = PairCounts(*(np.zeros(len(rows.score)) for _ in range(3)))
    # 1) Number the levels of relevance.
    level = np.unique(rows.y, return_inverse=True)[1].ravel()
    if level.max() == 1 and rows.query.max() == 0 and np.all(rows.weight == 1):
        return _of_two_classes(rows.score, level == 1, margin)
    key_order = np.argsort(rows.score, kind="stable")
    n_digits = max(1, int(level.max()).bit_length())
    for digit in range(n_digits):
        # 2) Groups of rows that agree in all higher digits, each in ascending order of scores.
        is_above, key = (level >> digit) & 1, rows.score
        if margin:
            key = np.where(is_above == 1, rows.score, rows.score + margin)
            key_order = np.argsort(key, kind="stable")
        group = (rows.query << (n_digits - digit - 1)) + (level >> (digit + 1))
        order = key_order[np.argsort(group[key_order], kind="stable")]
        above = is_above[order]
        ties, groups = nested_runs(group[order], key[order])
        # 3) The weight of ones with a score up to that of each tie group. Sums over tie groups come
        # first: there are fewer of them than rows.
        tied = ties.reduce(np.add, rows.weight[order] * above)
        not_higher = groups.cumsum(tied)
        total = groups.spread(not_higher[groups.end - 1])
        # 4) Each zero counts the ones of its group.
        zeros = np.flatnonzero(above == 0)
        row, tie_group = order[zeros], ties.spread(np.arange(ties.n_groups))[zeros]
        counts.total[row] += total[tie_group]
        counts.outscored[row] += groups.shift(not_higher, 0.0)[tie_group]
        counts.tied[row] += tied[tie_group]
    return counts


def _of_two_classes(score: Floats, is_above: Mask, margin: float) -> PairCounts:
    """Return the counts of an unweighted list of two classes by sorting each class (faster)."""
    lower_rows = np.flatnonzero(~is_above)
    lower_rows = lower_rows[np.argsort(score[lower_rows])]
    upper_scores = np.sort(score[is_above])
    outscored, not_higher = np.zeros((2, len(score)))
    outscored[lower_rows] = np.searchsorted(upper_scores, score[lower_rows] + margin, side="left")
    not_higher[lower_rows] = np.searchsorted(upper_scores, score[lower_rows] + margin, side="right")
    return PairCounts(np.where(is_above, 0.0, len(upper_scores)), outscored, not_higher - outscored)
