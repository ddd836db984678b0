"""Fitted stumps: what `weak_rankers_` of a boosting ranker of stumps holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from sklearn_rank._bins.binned_features import FeatureBins
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Floats, Indices, Mask

__all__ = ["StepFunction", "StumpRules"]

_LAST = "_last"
_CHUNK = 32_768
"""Rows scored at a time, by all features: their columns stay in the cache meanwhile."""

_FEW_COMPARISONS = 2_048
"""Comparisons of a feature up to which it is fastest to make all of them at once."""


@dataclass(frozen=True, eq=False)
class StumpRules:
    """Stumps, given by the bins of their features.

    h is one of

    - ``1[x > t]`` with t between two bins of values: 0 where x is a special code, and 0 or 1
      where it is missing;
    - ``1[x is missing]`` or ``1[x == code]``, a single bin;
    - ``1[x in S]`` with S a subset of the categories.

    Where no stump can tell missing values from others, because training had none or too few, h is
    its mean over the other training rows there, so that such a value changes no score on average.

    Attributes
    ----------
    feature : ndarray of shape (n_rules,)
        Column that each looks at.
    first_bin : ndarray of shape (n_rules,)
        Number of the first bin with h = 1: of a threshold the bin above it, of a single bin
        that bin; -1 of a subset.
    missing_right : ndarray of shape (n_rules,)
        Whether h = 1 where x is missing.
    subset : ndarray of shape (n_rules,)
        The row of `subsets`; -1 of the others.
    subsets : ndarray of shape (n_subsets, n_groups)
        Which groups of categories belong to each subset, padded with False.
    subset_feature : ndarray of shape (n_subsets,)
        Their columns.
    bins : dict of int to FeatureBins
        The bins of each column, at least of those in `feature`.
    neutral : ndarray of shape (n_rules,)
        h where x is missing, if no stump can tell that; NaN if one can.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_rank import RankBoost
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> ranker = RankBoost(n_estimators=2, learning_rate=1).fit(X, y)
    >>> rules = ranker.weak_rankers_
    >>> rules.feature, rules.threshold.round(3)
    (array([22, 27]), array([106.1  ,   0.136]))
    >>> np.allclose(
    ...     rules.scores(X, ranker.estimator_weights_) + ranker.offset_, ranker.decision_function(X)
    ... )
    True
    """

    feature: Indices
    first_bin: Indices
    missing_right: Mask
    subset: Indices
    subsets: Mask
    subset_feature: Indices
    bins: dict[int, FeatureBins]
    neutral: Floats = field(default_factory=lambda: np.array(np.nan))

    @property
    def threshold(self) -> Floats:
        """The value that must be exceeded for h = 1; infinity where none is.

        NaN for a subset or levels in order, and the code itself for a special code.
        """
        found = np.full(len(self.feature), np.nan)
        for number, (j, first) in enumerate(zip(self.feature, self.first_bin, strict=True)):
            bins = self.bins[int(j)]
            known = [np.nan, *bins.thresholds, *bins.special, np.inf]
            if first >= 0:
                place = first if bins.categories is None else first + 1 - bins.n_values
                found[number] = known[max(0, place)]
        return found

    def members(self, number: int) -> Mask:
        """Return h of one rule in each bin of its feature, as the fit has it."""
        bins, first = self.bins[int(self.feature[number])], int(self.first_bin[number])
        h = np.zeros(bins.n_bins, dtype=bool)
        if first < 0:
            h[: bins.n_values] = self.subsets[self.subset[number], : bins.n_values]
        else:
            h[first : bins.n_values if first < bins.n_values else first + 1] = True
            h[bins.missing] |= self.missing_right[number]
        return h

    def _by_bin(self, number: int) -> Floats:
        """Return h of one rule in each bin of its feature, for new rows."""
        h = self.members(number).astype(np.float64)
        neutral = np.broadcast_to(self.neutral, self.feature.shape)[number]
        h[-1] = h[-1] if np.isnan(neutral) else neutral
        return h

    def equal(self, other: object) -> bool:
        """Whether these are the same stumps in the same order."""
        return (
            isinstance(other, StumpRules)
            and np.array_equal(self.feature, other.feature)
            and all(self.bins[j].equal(other.bins[j]) for j in np.unique(self.feature).tolist())
            and all(
                np.array_equal(self.members(number), other.members(number))
                for number in range(len(self.feature))
            )
        )

    def net_coefficients(self, weights: Floats) -> tuple[Indices, Floats]:
        """Return the numbers of the rules, one for each stump, and their net coefficients.

        A coefficient is the sum of its steps in the order in which they were taken, so that one
        that was taken back is exactly zero, and one of a constrained sign never crosses it.
        """
        width = 2 * (int(self.first_bin.max(initial=0)) + 1)
        fixed = self.feature * width + 2 * self.first_bin + self.missing_right
        names = np.where(self.first_bin < 0, -1 - self.subset, fixed)
        _, first, place = np.unique(names, return_index=True, return_inverse=True)
        return first, np.bincount(place, weights, len(first)).astype(np.float64)

    def step_functions(self, weights: Floats) -> list[StepFunction]:
        """Return the sum of the rules on each feature that has some, by feature.

        Bins between which no stump with a coefficient other than zero tells are one. Rising
        (falling) step functions are those of coefficients none of which is negative (positive),
        exactly: they are running sums.
        """
        rules, coefficients = self.net_coefficients(weights)
        used = np.flatnonzero(coefficients)
        used = used[np.lexsort((self.first_bin[rules[used]], self.feature[rules[used]]))]
        rules, coefficients = rules[used], coefficients[used]
        features, start = np.unique(self.feature[rules], return_index=True)
        ends = [*start.tolist(), len(rules)]
        return [
            self._step_function(feature, rules[begin:end], coefficients[begin:end])
            for feature, (begin, end) in zip(features.tolist(), pairwise(ends), strict=True)
        ]

    def _subset_values(
        self, n_values: int, rules: Indices, coefficients: Floats
    ) -> tuple[Floats, Indices]:
        """Return the sum of some rules of subsets by group of bins, and the group of each bin.

        The last group is -1, for categories that count as missing.
        """
        h = self.subsets[self.subset[rules], :n_values]
        groups, group = np.zeros((0, min(1, n_values))), np.zeros(n_values, dtype=np.intp)
        if h.size:
            groups, group = np.unique(h, axis=1, return_inverse=True)
        values = (coefficients[:, np.newaxis] * groups).sum(axis=0)
        return np.asarray(values), np.append(group.ravel(), -1)

    def _step_function(self, feature: int, rules: Indices, coefficients: Floats) -> StepFunction:
        """Return the sum of some rules on a feature, sorted by their first bins."""
        bins, first = self.bins[feature], self.first_bin[rules]
        n_values = bins.n_values
        n_others = int(np.searchsorted(first, n_values))  # thresholds or subsets, then single bins
        singles = np.zeros(len(bins.special) + 1)
        singles[first[n_others:] - n_values] = coefficients[n_others:]
        neutral = np.broadcast_to(self.neutral, self.feature.shape)[rules]
        singles[-1] += coefficients @ np.nan_to_num(neutral)
        rules, first, coefficients = rules[:n_others], first[:n_others], coefficients[:n_others]
        if bins.has_order:
            last = np.append(first[1:] != first[:-1], True)[: len(first)]
            values = np.append(0.0, np.cumsum(coefficients)[last])
            singles[-1] += coefficients[self.missing_right[rules]].sum()
            found = _with_steps(bins, first[last])
        else:
            values, group = self._subset_values(n_values, rules, coefficients)
            found = FeatureBins(special=bins.special, categories=group[bins.categories])
        values = np.concatenate([values, singles]) + 0.0
        return StepFunction(feature, found, values, not np.isnan(neutral).any())

    def scores(self, X: Floats, weights: Floats, threads: ThreadPool | None = None) -> Floats:
        """Return ``sum_t weights[t] * h_t(x)`` for each row of X.

        The score of a row is the same to the last bit, however many rows are scored: features
        are added one after the other, so that rounding keeps the order of two rows of which one
        has the larger value of every step function.
        """
        table = self._table(weights)
        if X.shape[0] * len(table.thresholds) <= _FEW_COMPARISONS * len(table.steps):
            return table.score_few(X)
        out = np.zeros(X.shape[0])

        def score(number: int) -> None:
            rows = slice(number * _CHUNK, (number + 1) * _CHUNK)
            by_feature = np.ascontiguousarray(X[rows].T[table.features])
            total = out[rows]
            part = np.empty(len(total))  # one array for all: new ones cost more than the sums
            for x, step in zip(by_feature, table.steps, strict=True):
                total += step.values.take(step.bins.encode(x), mode="clip", out=part)

        (ThreadPool(1) if threads is None else threads).map(score, -(-len(out) // _CHUNK))
        return out

    def _table(self, weights: Floats) -> StepTable:
        """Return the table of the step functions, made once for the same weights in a row.

        To make it takes longer than to score a single row.
        """
        last: tuple[Floats, StepTable] | None = vars(self).get(_LAST)
        if last is None or not np.array_equal(last[0], weights):
            table = StepTable(self.step_functions(weights))
            last = weights.copy(), table
            vars(self)[_LAST] = last
        return last[1]

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields."""
        return {name: value for name, value in vars(self).items() if name != _LAST}

    def contributions(self, X: Floats, weights: Floats, n_features: int) -> Floats:
        """Return the sum of the rules on each feature, for each row of X."""
        out, table = np.zeros((X.shape[0], n_features)), self._table(weights)
        for step in table.steps:
            out[:, step.feature] = step(np.ascontiguousarray(X[:, step.feature]))
        return out

    def values(self, X: Floats, number: int) -> Floats:
        """Return h of one rule for each row of X."""
        feature = int(self.feature[number])
        return self._by_bin(number).take(self.bins[feature].of_rows(X, feature))

    def staged_scores(self, X: Floats, weights: Floats) -> Iterator[Floats]:
        """Yield the scores after each rule."""
        codes = {j: self.bins[j].of_rows(X, j) for j in np.unique(self.feature).tolist()}
        out = np.zeros(X.shape[0])
        for number, weight in enumerate(weights):
            out = out + weight * self._by_bin(number).take(codes[int(self.feature[number])])
            yield out


def _with_steps(bins: FeatureBins, first: Indices) -> FeatureBins:
    """Return bins in order of which those up to the next first one are one."""
    if bins.categories is None:
        return FeatureBins(bins.thresholds[first - 1], bins.special)
    group = np.searchsorted(first, np.arange(bins.n_values), side="right")
    known = np.append(group, -1)[bins.categories]
    return FeatureBins(special=bins.special, categories=known, ordered=True)


@dataclass(frozen=True, eq=False)
class StepFunction:
    """What a model adds to the score for each bin of a feature.

    Attributes
    ----------
    feature : int
        The column.
    bins : FeatureBins
        Its bins.
    values : ndarray of shape (n_bins,)
        What each adds.
    is_neutral : bool
        Whether the last of them, that of missing values, is the mean over the other training rows
        because training taught none.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.models import FeatureBins, StepFunction
    >>> step = StepFunction(0, FeatureBins(np.array([1.5])), np.array([0.0, 0.7, -0.2]))
    >>> step(np.array([1.0, 2.0, np.nan]))
    array([ 0. ,  0.7, -0.2])
    """

    feature: int
    bins: FeatureBins
    values: Floats
    is_neutral: bool = False

    def __call__(self, x: Floats) -> Floats:
        """Return the addition to the score of each value."""
        return self.values.take(self.bins.encode(x))

    def bins_of_rows(self, X: Floats) -> Indices:
        """Return the bin of each row of X."""
        return self.bins.of_rows(X, self.feature)


class StepTable:
    """Step functions, and those of numbers without special codes also as one table.

    Parameters
    ----------
    steps : sequence of StepFunction
        One for each feature with a rule.
    """

    def __init__(self, steps: Sequence[StepFunction]) -> None:
        self.steps = steps
        self.features = np.array([step.feature for step in steps], dtype=np.intp)
        is_plain = [one.bins.categories is None and not len(one.bins.special) for one in steps]
        self._plain = np.flatnonzero(is_plain)
        self._others = np.flatnonzero(np.logical_not(is_plain)).tolist()
        plain = [steps[number] for number in self._plain.tolist()]
        # A feature of which only missing values tell has a threshold that none exceeds.
        tables = [
            (one.bins.thresholds, one.values)
            if len(one.bins.thresholds)
            else (np.array([np.inf]), np.insert(one.values, 1, 0.0))
            for one in plain
        ]
        self.thresholds = np.concatenate([np.zeros(0), *(one for one, _ in tables)])
        self._values = np.concatenate([np.zeros(0), *(one for _, one in tables)])
        self._width = np.array([len(one) for one, _ in tables], dtype=np.intp)
        self._start = np.cumsum(self._width) - self._width

    def score_few(self, X: Floats) -> Floats:
        """Return the scores of few rows, from all comparisons at once."""
        found = np.zeros((X.shape[0], len(self.steps) + 1))
        found[:, self._plain] = self._look_up(X)
        for number in self._others:
            found[:, number] = self.steps[number](X[:, self.steps[number].feature])
        # A running sum adds one after the other, as for many rows; `sum` would not.
        return np.asarray(np.cumsum(found, axis=1)[:, -1])

    def _look_up(self, X: Floats) -> Floats:
        """Return the value of each plain step function."""
        x, start = X[:, self.features[self._plain]], self._start
        above = np.repeat(x, self._width, axis=1) > self.thresholds
        bins = np.add.reduceat(above, start, axis=1, dtype=np.intp)
        bins = np.where(np.isnan(x), self._width + 1, bins)
        return self._values.take(bins + (start + 2 * np.arange(len(start))))
