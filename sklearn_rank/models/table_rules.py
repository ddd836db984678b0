"""Fitted weak rankers given by the bins of their features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from sklearn_rank._parallel import ThreadPool
from sklearn_rank._protocols import Floats, Indices, Mask, Values
from sklearn_rank.models.feature_bins import FeatureBins, StepFunction
from sklearn_rank.models.rules import StepTables, fields_only, remembered

__all__ = ["TableRules"]

_CHUNK = 65_536
_FEW_COMPARISONS = 4_096
"""Comparisons up to which it is fastest to make all of them at once."""


@dataclass(frozen=True, eq=False)
class TableRules:
    """Weak rankers of a table of points: thresholds, subsets of categories, single bins.

    h is one of

    - ``1[x > t]`` with t between two bins of values: 0 where x is missing or a special code;
    - ``1[x is missing]`` or ``1[x == code]``, a single bin;
    - ``1[x in S]`` with S a subset of the categories.

    Attributes
    ----------
    feature : ndarray of shape (n_rules,)
        Column that each looks at.
    first_bin : ndarray of shape (n_rules,)
        Number of the first bin with h = 1: of a threshold the bin above it, of a single bin
        that bin; -1 of a subset.
    subset : ndarray of shape (n_rules,)
        The row of `subsets`; -1 of the others.
    subsets : ndarray of shape (n_subsets, n_groups)
        Which groups of categories belong to each subset, padded with False.
    subset_feature : ndarray of shape (n_subsets,)
        Their columns.
    bins : dict of int to FeatureBins
        The bins of each column, at least of those in `feature`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.models import FeatureBins, TableRules
    >>> bins = {0: FeatureBins(np.array([1.5, 3.0]), special=np.array([-99.0]))}
    >>> none = np.full(2, -1)  # x > 1.5, and x == -99
    >>> first_bin, no_subsets = np.array([1, 3]), (np.zeros((0, 0), bool), np.zeros(0, int))
    >>> rules = TableRules(np.zeros(2, int), first_bin, none, *no_subsets, bins)
    >>> rules.scores(np.array([[2.0], [-99.0], [np.nan]]), np.array([10.0, 1.0]))
    array([10.,  1.,  0.])
    """

    feature: Indices
    first_bin: Indices
    subset: Indices
    subsets: Mask
    subset_feature: Indices
    bins: dict[int, FeatureBins]

    def members(self, number: int) -> Mask:
        """Return h of one rule in each bin of its feature."""
        bins, first = self.bins[int(self.feature[number])], int(self.first_bin[number])
        h = np.zeros(bins.n_bins, dtype=bool)
        if first < 0:
            h[: bins.n_values] = self.subsets[self.subset[number], : bins.n_values]
        else:
            h[first : bins.n_values if first < bins.n_values else first + 1] = True
        return h

    def equal(self, other: object) -> bool:
        """Whether these are the same weak rankers in the same order."""
        return (
            isinstance(other, TableRules)
            and np.array_equal(self.feature, other.feature)
            and np.array_equal(self.first_bin, other.first_bin)
            and all(_same(self.bins[j], other.bins[j]) for j in np.unique(self.feature).tolist())
            and all(
                np.array_equal(self.members(number), other.members(number))
                for number in np.flatnonzero(self.first_bin < 0).tolist()
            )
        )

    def importances(self, credit: Floats, n_features: int) -> Floats:
        """Return the credit of each feature, given that of each rule."""
        return np.bincount(self.feature, credit, n_features).astype(np.float64)

    def distinct(self) -> tuple[Indices, Indices]:
        """Return the numbers of the first rule of each weak ranker, and each rule's place there."""
        width = int(self.first_bin.max(initial=0)) + 1
        is_subset = self.first_bin < 0
        names = np.where(is_subset, -1 - self.subset, self.feature * width + self.first_bin)
        _, first, place = np.unique(names, return_index=True, return_inverse=True)
        return first, place

    def net_coefficients(self, weights: Floats) -> tuple[Indices, Floats]:
        """Return the numbers of the rules, one for each weak ranker, and their net coefficients.

        A coefficient is the sum of its steps in the order in which they were taken, so that one
        that was taken back is exactly zero, and one of a constrained sign never crosses it.
        """
        first, place = self.distinct()
        return first, np.bincount(place, weights, len(first)).astype(np.float64)

    def step_functions(self, weights: Floats) -> list[StepFunction]:
        """Return the sum of the rules on each feature that has some, by feature.

        Bins between which no weak ranker with a coefficient other than zero tells are one.
        Rising (falling) step functions are those of coefficients none of which is negative
        (positive), exactly: they are running sums.
        """
        rules, coefficients = self.net_coefficients(weights)
        used = np.flatnonzero(coefficients)
        feature, first = self.feature[rules[used]], self.first_bin[rules[used]]
        used = used[np.lexsort((first, feature))]
        rules, coefficients = rules[used], coefficients[used]
        features, start = np.unique(self.feature[rules], return_index=True)
        ends = [*start.tolist(), len(rules)]
        return [
            self._step_function(feature, rules[begin:end], coefficients[begin:end])
            for feature, (begin, end) in zip(features.tolist(), pairwise(ends), strict=True)
        ]

    def _step_function(self, feature: int, rules: Indices, coefficients: Floats) -> StepFunction:
        """Return the sum of some rules on a feature, sorted by their first bins."""
        bins, first = self.bins[feature], self.first_bin[rules]
        n_values = bins.n_values
        n_others = int(np.searchsorted(first, n_values))  # thresholds or subsets, then single bins
        singles = np.zeros(len(bins.special) + 1)
        singles[first[n_others:] - n_values] = coefficients[n_others:]
        rules, first, coefficients = rules[:n_others], first[:n_others], coefficients[:n_others]
        if bins.categories is None:
            values = np.concatenate([[0.0], np.cumsum(coefficients)])
            found = FeatureBins(bins.thresholds[first - 1], bins.special)
        else:
            h = self.subsets[self.subset[rules], :n_values]
            groups, group = np.zeros((0, min(1, n_values))), np.zeros(n_values, dtype=np.intp)
            if h.size:
                groups, group = np.unique(h, axis=1, return_inverse=True)
            values = (coefficients[:, np.newaxis] * groups).sum(axis=0)
            group = np.append(group.ravel(), -1)  # of categories that count as missing
            found = FeatureBins(special=bins.special, categories=group[bins.categories])
        return StepFunction(feature, found, np.concatenate([values, singles]) + 0.0)

    def scores(self, X: Floats, weights: Floats, threads: ThreadPool | None = None) -> Floats:
        """Return ``sum_t weights[t] * h_t(x)`` for each row of X.

        Features are added one after the other, so that rounding keeps the order of two rows
        of which one has the larger value of every step function.
        """
        steps, tables = remembered(self, weights, lambda: self._steps_and_tables(weights))
        if 0 < X.shape[0] * len(tables.thresholds) <= _FEW_COMPARISONS:
            return _score_few(X, steps, tables)
        out = np.zeros(X.shape[0])

        def score(number: int) -> None:
            rows = slice(number * _CHUNK, (number + 1) * _CHUNK)
            for step in steps:
                out[rows] += step(np.ascontiguousarray(X[rows, step.feature]))

        (ThreadPool(1) if threads is None else threads).map(score, -(-len(out) // _CHUNK))
        return out

    def _steps_and_tables(self, weights: Floats) -> tuple[list[StepFunction], StepTables]:
        steps = self.step_functions(weights)
        return steps, _as_tables([one for one in steps if _is_plain(one)])

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields."""
        return fields_only(self)

    def contributions(self, X: Floats, weights: Floats, n_features: int) -> Floats:
        """Return the sum of the rules on each feature, for each row of X."""
        out = np.zeros((X.shape[0], n_features))
        for step in self.step_functions(weights):
            out[:, step.feature] = step(X[:, step.feature])
        return out

    def values(self, X: Floats, number: int) -> Mask:
        """Return h of one rule for each row of X."""
        feature = int(self.feature[number])
        return self.members(number).take(self.bins[feature](X[:, feature]))

    def staged_scores(self, X: Floats, weights: Floats) -> Iterator[Floats]:
        """Yield the scores after each rule."""
        codes = {j: self.bins[j](X[:, j]) for j in np.unique(self.feature).tolist()}
        out = np.zeros(X.shape[0])
        for number, weight in enumerate(weights):
            out = out + weight * self.members(number).take(codes[int(self.feature[number])])
            yield out


def _is_plain(step: StepFunction) -> bool:
    """Whether a step function has ranges and missing values only."""
    return step.bins.categories is None and not len(step.bins.special)


def _as_tables(steps: Sequence[StepFunction]) -> StepTables:
    """Return plain step functions as tables; one without thresholds gets infinity."""
    thresholds: list[Floats] = [np.zeros(0)]
    values: list[Floats] = [np.zeros(0)]
    for step in steps:
        is_empty = not len(step.bins.thresholds)
        thresholds.append(np.array([np.inf]) if is_empty else step.bins.thresholds)
        values.append(np.insert(step.values, 1, 0.0) if is_empty else step.values)
    lengths = [len(one) for one in thresholds[1:]]
    features = np.array([step.feature for step in steps], dtype=np.intp)
    start = np.concatenate([[0], np.cumsum(lengths, dtype=np.intp)]).astype(np.intp)
    return StepTables(features, np.concatenate(thresholds), start, np.concatenate(values))


def _score_few(X: Floats, steps: Sequence[StepFunction], tables: StepTables) -> Floats:
    """Return the scores of few rows, the features added in the same order as for many."""
    found, is_plain = np.empty((X.shape[0], len(steps))), np.array([_is_plain(s) for s in steps])
    found[:, is_plain] = tables.look_up(X)
    for number in np.flatnonzero(~is_plain).tolist():
        found[:, number] = steps[number](X[:, steps[number].feature])
    return np.cumsum(found, axis=1)[:, -1] + 0.0


def _same(one: FeatureBins, other: FeatureBins) -> bool:
    """Whether two maps are equal."""

    def parts(bins: FeatureBins) -> list[Values]:
        none = np.zeros(0) if bins.categories is None else bins.categories
        return [bins.thresholds, bins.special, none]

    return (one.categories is None) == (other.categories is None) and all(
        np.array_equal(a, b) for a, b in zip(parts(one), parts(other), strict=True)
    )
