"""The rules of stumps, from their definition: their values, step functions, scores and stages."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_rank.models import FeatureBins, StumpRules

CODES = np.array([-99.0, -98.0])
LEVELS = np.array([0, 1, -1, 2, 1])  # the third counts as missing
X = np.array([[x, z] for x in (-99, -98, -1, 0, 0.5, 1, 2, 7, np.nan) for z in (*range(6), np.nan)])


def value(rule, row):
    """h of a rule: (column, threshold, code, subset, missing), of which all but one are None."""
    column, threshold, code, subset, missing = rule
    x = row[column]
    if column == 1 and not np.isnan(x):
        group = LEVELS[int(x)] if x < len(LEVELS) else -1
        x = np.nan if group < 0 else group
    if np.isnan(x):
        return missing
    if threshold is not None:
        return x > threshold and x not in CODES
    return x == code if code is not None else subset is not None and int(x) in subset


THRESHOLD = st.tuples(
    st.just(0), st.sampled_from([-0.5, 0.5, 1.0]), st.none(), st.none(), st.booleans()
)
CODE = st.tuples(st.just(0), st.none(), st.sampled_from([-99.0, -98.0]), st.none(), st.just(False))
MISSING = st.tuples(st.sampled_from([0, 1]), st.none(), st.none(), st.none(), st.just(True))
SUBSETS = st.sampled_from([(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)])
SUBSET = st.tuples(st.just(1), st.none(), st.none(), SUBSETS, st.just(False))
RULES = st.lists(st.one_of(THRESHOLD, CODE, MISSING, SUBSET), min_size=1, max_size=8)


def stumps(rules):
    """The same rules as `StumpRules`."""
    bins = {0: FeatureBins(np.array([-0.5, 0.5, 1.0]), CODES), 1: FeatureBins(categories=LEVELS)}
    sets = [one[3] for one in rules if one[3] is not None]
    first, subset = [], []
    for column, threshold, code, members, _ in rules:
        n_values = bins[column].n_values
        subset.append(-1 if members is None else sets.index(members))
        if threshold is not None:
            first.append([-0.5, 0.5, 1.0].index(threshold) + 1)
        elif code is not None:
            first.append(n_values + CODES.tolist().index(code))
        else:
            first.append(bins[column].missing if members is None else -1)
    return StumpRules(
        feature=np.array([one[0] for one in rules]),
        first_bin=np.array(first),
        missing_right=np.array([one[1] is not None and one[4] for one in rules]),
        subset=np.array(subset),
        subsets=np.array([[k in one for k in range(3)] for one in sets], bool).reshape(-1, 3),
        subset_feature=np.ones(len(sets), dtype=np.intp),
        bins=bins,
    )


@given(RULES, st.integers(0, 10**6))
def test_they_are_those_of_the_definition(rules, seed):
    weights = np.random.default_rng(seed).normal(size=len(rules))
    h = np.array([[value(rule, row) for rule in rules] for row in X], dtype=float)
    found = stumps(rules)
    for number in range(len(rules)):
        np.testing.assert_array_equal(found.values(X, number), h[:, number])
    np.testing.assert_allclose(found.scores(X, weights), h @ weights, atol=1e-12)
    many = np.tile(X, (100, 1))  # few comparisons are made all at once
    np.testing.assert_allclose(found.scores(many, weights)[-len(X) :], h @ weights, atol=1e-12)
    stages = np.cumsum(h * weights, axis=1)
    for number, scores in enumerate(found.staged_scores(X, weights)):
        np.testing.assert_allclose(scores, stages[:, number], atol=1e-12)
    steps = found.step_functions(weights)
    assert [one.feature for one in steps] == sorted({one[0] for one in rules})
    total = sum(step(X[:, step.feature]) for step in steps)
    np.testing.assert_allclose(total, h @ weights, atol=1e-12)


@given(RULES)
def test_their_thresholds_are_the_numbers_of_the_rules(rules):
    for rule, found in zip(rules, stumps(rules).threshold.tolist(), strict=True):
        _, threshold, code, subset, _ = rule
        expected = next(one for one in (threshold, code, np.inf) if one is not None)
        assert found == pytest.approx(np.nan if subset is not None else expected, nan_ok=True)


@given(RULES, RULES)
def test_equal_rules_are_those_with_equal_values(one, other):
    first, second = stumps(one), stumps(other)
    assert first.equal(pickle.loads(pickle.dumps(first)))
    same = [value(rule, row) for rule in one for row in X] == [
        value(rule, row) for rule in other for row in X
    ]
    columns = [rule[0] for rule in one] == [rule[0] for rule in other]
    assert first.equal(second) == (same and columns)


def test_a_rule_that_is_taken_back_is_no_step():
    rules = stumps([(0, 0.5, None, None, True), (0, 1.0, None, None, False)] * 2)
    (step,) = rules.step_functions(np.array([0.3, 0.7, -0.3, 0.1]))
    assert step.bins.thresholds.tolist() == [1.0]
    np.testing.assert_allclose(step.values, [0, 0.8, 0, 0, 0])
    assert rules.step_functions(np.array([0.3, 0.7, -0.3, -0.7])) == []
    assert rules.scores(X, np.array([0.3, 0.7, -0.3, -0.7])).tolist() == [0.0] * len(X)
