"""Checked rows with scores, from which metrics and displays are computed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices, Mask, Values
from sklearn_rank._core.validation import (
    check_column,
    check_floats,
    check_lengths,
    check_qid,
    check_relevance,
    check_weight,
)

_MODERATE = 100
"""Binary exponents up to which the largest weight is taken as it is."""


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
        """Check the arrays and drop the rows of weight zero; `name` is that of the scores."""
        y, score = check_column(y_true, "y_true"), check_floats(y_score, name)
        check_lengths(**{"y_true": y, name: score})
        if np.isnan(score).any():
            raise ValueError(f"{name} contains NaN: an order needs comparable scores.")
        weight = check_weight(sample_weight, len(y))
        codes = None if qid is None else check_qid(qid, len(y))
        n_queries = 1 if codes is None else int(codes.max()) + 1
        kept = weight > 0
        if not kept.all():
            y, score, weight = y[kept], score[kept], weight[kept]
            codes = None if codes is None else codes[kept]
        return cls(y, score, codes, weight, kept, n_queries)

    @classmethod
    def with_relevance(
        cls, y_true: Any, y_score: Any, qid: Any, sample_weight: Any = None, name: str = "y_score"
    ) -> ScoredRows:
        """Do the same for relevance, which must be finite numbers or booleans."""
        relevance = check_relevance(y_true, name="y_true")
        return cls.check(relevance, y_score, qid, sample_weight, name)

    @property
    def query(self) -> Indices:
        """Query codes; zeros for one list."""
        return np.zeros(len(self.score), dtype=np.intp) if self.qid is None else self.qid

    def with_moderate_weights(self) -> ScoredRows:
        """Return the rows with weights whose products neither underflow nor overflow.

        Very small or very large ones are multiplied by a power of two, so that the largest of a
        row in a pair is about one: for what depends on ratios alone.
        """
        heaviest = float(self.weight[self._is_paired].max(initial=0.0)) or self.weight.max()
        exponent = int(np.frexp(heaviest)[1])
        if abs(exponent) <= _MODERATE and self.weight.max() < 2.0**_MODERATE:
            return self
        with np.errstate(over="ignore", under="ignore"):
            weight = np.ldexp(self.weight, -exponent)
        # Rows that are far lighter, or in no pair and far heavier, stay positive and finite.
        return replace(self, weight=np.clip(weight, 2.0**-1000, 2.0**500))

    def with_moderate_weights_in(self, group: Indices) -> ScoredRows:
        """Do the same in each group of rows: for what depends on ratios inside a group alone."""
        heaviest = np.zeros(int(group.max()) + 1)
        np.maximum.at(heaviest, group, self.weight)
        exponent = np.frexp(heaviest)[1]
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
