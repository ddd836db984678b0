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
"""Rows scored at a time: their columns stay in the cache."""

_FEW_COMPARISONS = 2_048
"""Comparisons a feature (rows times thresholds) up to which all at once are fastest."""


@dataclass(frozen=True, eq=False)
class StumpRules:
    """Stumps, given by the bins of their features.

    h is one of:

    - ``1[x > t]`` with t between two bins of values: 0 where x is a special code, and 0 or 1
      where it is missing;
    - ``1[x is missing]`` or ``1[x == code]``, a single bin;
    - ``1[x in S]`` with S a subset of the categories.

    If training has too few missing values of a feature for a stump to separate them, h of a missing
    value is its mean over the other training rows: it changes no score on average.

    Attributes
    ----------
    feature : ndarray of shape (n_rules,)
        Column of each rule.
    first_bin : ndarray of shape (n_rules,)
        The first bin with h = 1: the one above a threshold, or the single bin; -1 for a subset.
    missing_right : ndarray of shape (n_rules,)
        Whether h = 1 where x is missing.
    subset : ndarray of shape (n_rules,)
        The row of `subsets`; -1 for other rules.
    subsets : ndarray of shape (n_subsets, n_groups)
        Which groups of categories belong to each subset, padded with False.
    subset_feature : ndarray of shape (n_subsets,)
        Their columns.
    bins : dict of int to FeatureBins
        The bins of each column, at least of those in `feature`.
    neutral : ndarray of shape (n_rules,)
        h where x is missing, if no stump can separate missing values; NaN if some can.

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
        """The value that x exceeds where h = 1; the code for a special code.

        Infinity for ``1[x is missing]``, and NaN for a subset or ordered levels.
        """
        threshold = np.full(len(self.feature), np.nan)
        for rule, (j, first_bin) in enumerate(zip(self.feature, self.first_bin, strict=True)):
            bins = self.bins[int(j)]
            lower_ends = [np.nan, *bins.thresholds, *bins.special, np.inf]  # of the bins
            if first_bin >= 0:
                skipped = 0 if bins.categories is None else bins.n_values - 1
                threshold[rule] = lower_ends[max(0, first_bin - skipped)]
        return threshold

    def members(self, rule: int) -> Mask:
        """Return h of a rule in each bin of its feature, in training."""
        bins, first_bin = self.bins[int(self.feature[rule])], int(self.first_bin[rule])
        h = np.zeros(bins.n_bins, dtype=bool)
        if first_bin < 0:
            h[: bins.n_values] = self.subsets[self.subset[rule], : bins.n_values]
        else:
            h[first_bin : bins.n_values if first_bin < bins.n_values else first_bin + 1] = True
            h[bins.missing] |= self.missing_right[rule]
        return h

    def _by_bin(self, rule: int) -> Floats:
        """Return h of a rule in each bin of its feature, for new rows."""
        h = self.members(rule).astype(np.float64)
        neutral = np.broadcast_to(self.neutral, self.feature.shape)[rule]
        h[-1] = h[-1] if np.isnan(neutral) else neutral
        return h

    def equal(self, other: object) -> bool:
        """Whether these are the same stumps in the same order."""
        return (
            isinstance(other, StumpRules)
            and np.array_equal(self.feature, other.feature)
            and all(self.bins[j].equal(other.bins[j]) for j in np.unique(self.feature).tolist())
            and all(
                np.array_equal(self.members(rule), other.members(rule))
                for rule in range(len(self.feature))
            )
        )

    def net_coefficients(self, weights: Floats) -> tuple[Indices, Floats]:
        """Return the first rule of each distinct stump, and the net coefficient of the stump.

        Steps are added in the order in which they were taken: a step taken back leaves exactly
        zero, and a coefficient of a constrained sign never changes its sign.
        """
        n_keys = 2 * (int(self.first_bin.max(initial=0)) + 1)
        range_keys = self.feature * n_keys + 2 * self.first_bin + self.missing_right
        keys = np.where(self.first_bin < 0, -1 - self.subset, range_keys)
        _, first_index, stump = np.unique(keys, return_index=True, return_inverse=True)
        return first_index, np.bincount(stump, weights, len(first_index)).astype(np.float64)

    def step_functions(self, weights: Floats) -> list[StepFunction]:
        """Return, for each feature that has rules, their sum, in the order of the features.

        Bins between which every coefficient is zero are merged. Values are running sums: they rise
        (fall) exactly where no coefficient is negative (positive).
        """
        rules, coefficients = self.net_coefficients(weights)
        in_use = np.flatnonzero(coefficients)
        # By feature, then by the first bin: the steps of a running sum.
        in_use = in_use[np.lexsort((self.first_bin[rules[in_use]], self.feature[rules[in_use]]))]
        rules, coefficients = rules[in_use], coefficients[in_use]
        features, start = np.unique(self.feature[rules], return_index=True)
        ends = [*start.tolist(), len(rules)]
        return [
            self._step_function(feature, rules[begin:end], coefficients[begin:end])
            for feature, (begin, end) in zip(features.tolist(), pairwise(ends), strict=True)
        ]

    def _subset_values(
        self, n_values: int, rules: Indices, coefficients: Floats
    ) -> tuple[Floats, Indices]:
        """Return the sum of some subset rules for each group of bins, and the group of each bin.

        One more bin is in group -1, for categories that count as missing.
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
        neutral = np.broadcast_to(self.neutral, self.feature.shape)[rules]
        # Rules of single bins come last: their values are those of special codes and NaN.
        n_ranges = int(np.searchsorted(first, n_values))
        single_values = np.zeros(len(bins.special) + 1)
        single_values[first[n_ranges:] - n_values] = coefficients[n_ranges:]
        single_values[-1] += coefficients @ np.nan_to_num(neutral)
        rules, first, coefficients = rules[:n_ranges], first[:n_ranges], coefficients[:n_ranges]
        if bins.has_order:
            is_last = np.append(first[1:] != first[:-1], True)[: len(first)]  # of its threshold
            values = np.append(0.0, np.cumsum(coefficients)[is_last])
            single_values[-1] += coefficients[self.missing_right[rules]].sum()
            merged_bins = _with_steps(bins, first[is_last])
        else:
            values, group = self._subset_values(n_values, rules, coefficients)
            merged_bins = FeatureBins(special=bins.special, categories=group[bins.categories])
        values = np.concatenate([values, single_values]) + 0.0  # no negative zero
        return StepFunction(feature, merged_bins, values, not np.isnan(neutral).any())

    def scores(self, X: Floats, weights: Floats, threads: ThreadPool | None = None) -> Floats:
        """Return ``sum_t weights[t] * h_t(x)`` for each row of X.

        The score of a row is the same to the last bit for any number of rows. Features are added
        one after the other: if no step function of a row is larger than that of another row,
        neither is the score, in spite of rounding.
        """
        table = self._table(weights)
        if X.shape[0] * len(table.thresholds) <= _FEW_COMPARISONS * len(table.steps):
            return table.score_few(X)
        scores = np.zeros(X.shape[0])

        def score_chunk(chunk: int) -> None:
            rows = slice(chunk * _CHUNK, (chunk + 1) * _CHUNK)
            by_feature = np.ascontiguousarray(X[rows].T[table.features])
            sums = scores[rows]
            values = np.empty(len(sums))  # for all features: new arrays cost more than the sums
            for x, step in zip(by_feature, table.steps, strict=True):
                sums += step.values.take(step.bins.encode(x), mode="clip", out=values)

        (ThreadPool(1) if threads is None else threads).map(score_chunk, -(-len(scores) // _CHUNK))
        return scores

    def _table(self, weights: Floats) -> StepTable:
        """Return the table of the step functions, cached until the weights change.

        It takes longer than the score of a single row.
        """
        cached: tuple[Floats, StepTable] | None = vars(self).get(_LAST)
        if cached is None or not np.array_equal(cached[0], weights):
            table = StepTable(self.step_functions(weights))
            cached = weights.copy(), table
            vars(self)[_LAST] = cached
        return cached[1]

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields."""
        return {name: value for name, value in vars(self).items() if name != _LAST}

    def contributions(self, X: Floats, weights: Floats, n_features: int) -> Floats:
        """Return the sum of the rules on each feature, for each row of X."""
        contributions, table = np.zeros((X.shape[0], n_features)), self._table(weights)
        for step in table.steps:
            contributions[:, step.feature] = step(np.ascontiguousarray(X[:, step.feature]))
        return contributions

    def values(self, X: Floats, rule: int) -> Floats:
        """Return h of a rule for each row of X."""
        feature = int(self.feature[rule])
        return self._by_bin(rule).take(self.bins[feature].of_rows(X, feature))

    def staged_scores(self, X: Floats, weights: Floats) -> Iterator[Floats]:
        """Yield the scores after each rule."""
        codes = {j: self.bins[j].of_rows(X, j) for j in np.unique(self.feature).tolist()}
        scores = np.zeros(X.shape[0])
        for rule, weight in enumerate(weights):
            scores = scores + weight * self._by_bin(rule).take(codes[int(self.feature[rule])])
            yield scores


def _with_steps(bins: FeatureBins, first_bins: Indices) -> FeatureBins:
    """Merge ordered bins into ranges that begin at given bins."""
    if bins.categories is None:
        return FeatureBins(bins.thresholds[first_bins - 1], bins.special)
    group = np.searchsorted(first_bins, np.arange(bins.n_values), side="right")
    categories = np.append(group, -1)[bins.categories]
    return FeatureBins(special=bins.special, categories=categories, ordered=True)


@dataclass(frozen=True, eq=False)
class StepFunction:
    """The amount that each bin of a feature adds to the score.

    Attributes
    ----------
    feature : int
        The column.
    bins : FeatureBins
        Its bins.
    values : ndarray of shape (n_bins,)
        The addition of each.
    is_neutral : bool
        Whether the last of them, that of missing values, is the mean over the other training rows
        because training has too few missing values.

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
        """Return the amount that each value adds to the score."""
        return self.values.take(self.bins.encode(x))

    def bins_of_rows(self, X: Floats) -> Indices:
        """Return the bin of each row of X."""
        return self.bins.of_rows(X, self.feature)


class StepTable:
    """Step functions; those of numbers without special codes are also stored as one table.

    Parameters
    ----------
    steps : sequence of StepFunction
        One for each feature with a rule.
    """

    def __init__(self, steps: Sequence[StepFunction]) -> None:
        self.steps = steps
        self.features = np.array([step.feature for step in steps], dtype=np.intp)
        is_plain = [step.bins.categories is None and not len(step.bins.special) for step in steps]
        self._plain = np.flatnonzero(is_plain)
        self._not_plain = np.flatnonzero(np.logical_not(is_plain)).tolist()
        plain_steps = [steps[index] for index in self._plain.tolist()]
        # A feature with a stump of missing values alone has a threshold that no value exceeds.
        tables = [
            (step.bins.thresholds, step.values)
            if len(step.bins.thresholds)
            else (np.array([np.inf]), np.insert(step.values, 1, 0.0))
            for step in plain_steps
        ]
        self.thresholds = np.concatenate([np.zeros(0), *(thresholds for thresholds, _ in tables)])
        self._values = np.concatenate([np.zeros(0), *(values for _, values in tables)])
        self._n_thresholds = np.array([len(thresholds) for thresholds, _ in tables], dtype=np.intp)
        self._start = np.cumsum(self._n_thresholds) - self._n_thresholds

    def score_few(self, X: Floats) -> Floats:
        """Return the scores of a few rows, with all comparisons at once."""
        values = np.zeros((X.shape[0], len(self.steps) + 1))
        values[:, self._plain] = self._look_up(X)
        for index in self._not_plain:
            values[:, index] = self.steps[index](X[:, self.steps[index].feature])
        # A running sum adds one after the other, as for many rows; `sum` would not.
        return np.asarray(np.cumsum(values, axis=1)[:, -1])

    def _look_up(self, X: Floats) -> Floats:
        """Return the value of each plain step function."""
        x, start = X[:, self.features[self._plain]], self._start
        is_above = np.repeat(x, self._n_thresholds, axis=1) > self.thresholds
        bins = np.add.reduceat(is_above, start, axis=1, dtype=np.intp)
        bins = np.where(np.isnan(x), self._n_thresholds + 1, bins)
        return self._values.take(bins + (start + 2 * np.arange(len(start))))
