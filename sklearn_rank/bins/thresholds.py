"""Thresholds of features: quantiles of the training rows, or of a sample of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats, Indices
from sklearn_rank.rows import ALL_HERE, Sums, priority_sample
from sklearn_rank.rows.distinct import hash_rows

MOST_ROWS = 1 << 17
"""Distinct rows from which quantiles are found at most."""


def rows_for_thresholds(
    X: Any, weight: Floats, sums: Sums = ALL_HERE
) -> tuple[Indices | slice, Floats]:
    r"""Return the rows that tell the quantiles of every feature, and the weights they stand for.

    These are all rows, or of more than 2^17 distinct rows a sample of m = 2^17 (see
    `priority_sample`), which is the same in any order and on several processes. The share of the
    weight up to a threshold is then off by an error whose standard deviation is at most about
    :math:`1 / (2 \sqrt m)`, .14 % of the weight; no row that weighs more than 1/m of all is left
    out, so that heavy rows make it smaller.
    """
    n_rows = sums.total(float(len(weight)))
    if n_rows <= MOST_ROWS:
        return slice(None), weight
    return priority_sample(hash_rows(X), weight, MOST_ROWS, sums)


def sorted_values(x: Floats, weight: Floats, sums: Sums = ALL_HERE) -> SortedValues:
    """Return the values of a feature in order, of the rows of all processes."""
    return SortedValues.of(sums.concat(x), sums.concat(weight))


def quantile_levels(max_bins: int) -> Floats:
    """Return the levels of the quantiles between bins of equal weight.

    They are a hair lower than that: sums of weights round differently from counts, and in
    another order of the rows.
    """
    return np.arange(1, max_bins) / max_bins * (1 - 1e-12)


@dataclass(frozen=True, eq=False)
class SortedValues:
    """Values of one feature in order, none missing, with their weights.

    Attributes
    ----------
    values : ndarray of shape (n,)
        Increasing.
    weight : ndarray of shape (n,) or None
        Multiplicities in the same order; None when all are equal.
    """

    values: Floats
    weight: Floats | None

    @classmethod
    def of(cls, x: Floats, weight: Floats) -> SortedValues:
        """Sort a feature, leaving missing values out."""
        missing = np.isnan(x)
        if missing.any():
            x, weight = x[~missing], weight[~missing]
        if np.all(weight == weight[:1]):
            return cls(np.sort(x), None)
        order = np.argsort(x)
        return cls(x[order], weight[order])

    @cached_property
    def distinct(self) -> Floats:
        """Distinct values, increasing."""
        is_new = np.ones(len(self.values), dtype=bool)
        np.not_equal(self.values[1:], self.values[:-1], out=is_new[1:])
        return self.values[is_new]

    def thresholds(self, max_bins: int) -> Floats:
        """Return increasing thresholds t, for weak rankers ``1[x > t]``.

        All distinct values but the largest when there are at most `max_bins`, else
        weighted quantiles by the inverted distribution function. Only observed values
        are thresholds, so that a monotone map of a feature changes no model.
        """
        if len(self.distinct) <= max_bins:
            return self.distinct[:-1]
        share = quantile_levels(max_bins)
        if self.weight is None:
            place = np.ceil(share * len(self.values)).astype(np.intp) - 1
        else:
            cumulative = np.cumsum(self.weight)
            place = np.searchsorted(cumulative, share * cumulative[-1])
        quantiles = np.unique(self.values[place])
        return quantiles[quantiles < self.values[-1]]
