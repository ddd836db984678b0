r"""Logistic loss of the pairs of small blocks, by two exponentials a row.

With :math:`P_i = e^{c - f_i}` and :math:`Q_k = e^{g_k - c}`, where c is the middle of the
scores of a query, a pair has :math:`x = e^{-(f_i - g_k)} = P_i Q_k` and

.. math:: \phi = \log(1 + x), \qquad -\phi' = \frac{x}{1 + x}, \qquad
    \phi'' = \frac{x}{(1 + x)^2}

A pair costs a product, a sum and a division: P and Q are factors of sums over k and i. The terms of
the sums of derivatives have products and quotients but no differences: small ones keep their
digits.
"""

from __future__ import annotations

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.sums import Groups
from sklearn_rank._pair_sums._batches import Batch
from sklearn_rank._pair_sums.group_sums import BatchSums, PairSums, WeightedScores

_LARGEST = 700.0
"""Largest exponent of a float, rounded down."""

_WIDEST = 340.0
"""Largest difference of the scores of a query: (1 + x)^2 is finite."""

_MOST_FACTORS = 8
"""Factors of a product; more save little: a logarithm costs about four products."""

_SMALL = 1e-4
"""For smaller x log(1 + x) loses digits, but three terms of its series do not."""


class RowExponentials:
    """Sums of the logistic loss over the pairs of batches.

    Parameters
    ----------
    rows : WeightedScores
        Scores and weights.
    queries : Groups
        The queries, over rows.
    n_pairs : int
        Most pairs of a batch.
    pair_by_pair : BatchSums
        Sums for batches with a query whose scores differ too much for exponentials.
    """

    def __init__(
        self, rows: WeightedScores, queries: Groups, n_pairs: int, pair_by_pair: BatchSums
    ) -> None:
        low, high = (queries.reduce(ufunc, rows.scores) for ufunc in (np.minimum, np.maximum))
        with np.errstate(over="ignore"):
            self._score_range = high - low + abs(rows.margin)
            centred = rows.scores - queries.spread(low + (high - low) / 2)
        self._pair_by_pair = pair_by_pair
        np.clip(centred, -_WIDEST, _WIDEST, out=centred)  # wide queries go pair by pair
        self._exp_score = np.exp(centred, out=centred)
        self._exp_minus_score = 1.0 / self._exp_score
        self._exp_margin = float(np.exp(min(rows.margin, _WIDEST)))
        self._w_upper, self._w_lower = _unless_one(rows.w_upper), _unless_one(rows.w_lower)
        self._max_weight = queries.reduce(np.maximum, rows.w_upper)
        self._has_equal_weights = queries.reduce(np.minimum, rows.w_upper) == self._max_weight
        self._buffers = np.empty((2, n_pairs))

    def sums(self, batch: Batch, with_second: bool, with_value: bool) -> PairSums:
        """Return the sums, of the shapes of the batch; the value only with `with_value`."""
        score_range = self._score_range_of(batch)
        if score_range > _WIDEST:
            return self._pair_by_pair.sums(batch, with_second, with_value)
        upper, lower, denom = self._exponentials(batch)
        value = 0.0
        if with_value:
            heights = self._heights(batch, upper, lower, denom, score_range)
            value = float(_weighted(heights, self._w_lower, batch.lower).sum())
        above = _weighted(upper, self._w_upper, batch.upper)
        below = _weighted(lower, self._w_lower, batch.lower)
        # x / (1 + x) = P Q / (1 + P Q): the factor of a row stands before the sum over the others.
        share = np.reciprocal(denom, out=denom)
        sums = [-upper * batch.sum_lower(share, below), -lower * batch.sum_upper(above, share)]
        if with_second:
            np.square(share, out=share)
            sums += [upper * batch.sum_lower(share, below), lower * batch.sum_upper(above, share)]
        return PairSums(value, *sums)

    def heights(self, batch: Batch) -> Floats:
        """Return the loss of each lower row's pairs."""
        score_range = self._score_range_of(batch)
        if score_range > _WIDEST:
            return self._pair_by_pair.heights(batch)
        return self._heights(batch, *self._exponentials(batch), score_range)

    def _score_range_of(self, batch: Batch) -> float:
        """Return the largest difference of the scores of a query of a batch."""
        return float(self._score_range[batch.query].max())

    def _exponentials(self, batch: Batch) -> tuple[Floats, Floats, Floats]:
        """Return P, Q and 1 + P Q; P and Q are 0 in padded entries."""
        upper, lower = batch.of_upper(self._exp_minus_score), batch.of_lower(self._exp_score)
        if self._exp_margin != 1:
            lower *= self._exp_margin
        return upper, lower, batch.one_plus_products(upper, lower, out=self._buffers[0])

    def _heights(
        self, batch: Batch, upper: Floats, lower: Floats, denom: Floats, score_range: float
    ) -> Floats:
        """Return the weighted sums of log(1 + x) over the upper rows."""
        max_weight: Floats = np.ones((1, 1))
        if self._w_upper is not None:
            max_weight = batch.to_rows(self._max_weight[batch.query])
        if self._w_upper is None or self._has_equal_weights[batch.query].all():
            # One logarithm of a product of many pairs, whose factors 1 + x do not overflow.
            n_factors = max(1, min(int(_LARGEST / (score_range + 1)), _MOST_FACTORS))
            logs = batch.multiply_upper(denom, n_factors)
            heights = np.add.reduce(np.log(logs, out=logs), axis=batch.row_axis) * max_weight
        else:
            logs = np.log(denom, out=self._buffers[1, : denom.size].reshape(denom.shape))
            heights = batch.sum_upper(self._w_upper[batch.upper], logs)
        # Heights that small x may have; entries that fill up have height 0, too.
        is_low = heights <= max_weight * (_SMALL * upper.shape[batch.row_axis])
        if np.count_nonzero(is_low) > len(batch.pad_lower):
            above = _weighted(upper, self._w_upper, batch.upper)
            _sum_series(heights, upper, lower, above, batch.row_axis)
        return heights


def _unless_one(weight: Floats) -> Floats | None:
    """Return the weights, or None if they are all one and need no multiplication."""
    return None if (weight == 1).all() else weight


def _weighted(values: Floats, weight: Floats | None, rows: Indices) -> Floats:
    """Return values of rows times their weights."""
    return values if weight is None else values * weight[rows]


def _sum_series(heights: Floats, upper: Floats, lower: Floats, above: Floats, axis: int) -> None:
    """Replace heights by sums of x - x^2 / 2 + x^3 / 3 where all x of a lower row are small."""
    largest = np.where(above > 0, upper, 0.0).max(axis=axis, keepdims=True)
    is_small = largest * lower < _SMALL
    if not is_small.any():
        return
    x = np.where(is_small, lower, 0.0)
    series = np.zeros_like(x)
    # Horner's rule in Q; powers of P are in the weights of the sums over the upper rows.
    for terms in (above * upper * upper / 3, above * upper / -2, above):
        series += np.add.reduce(terms, axis=axis, keepdims=True)
        series *= x
    np.copyto(heights, series, where=is_small)
