"""Intervals of the share found at a false positive rate."""

import numpy as np
import pytest
from pytest import approx
from scipy.stats import norm, ttest_rel

from sklearn_rank.metrics import compare_tpr_at_fpr, tpr_at_fpr_interval, tpr_at_fpr_score


def problem(n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    return y, np.round(y + rng.normal(size=n), 1), np.round(y + rng.normal(size=n), 1)


def test_the_widths_are_those_of_new_rows():
    """Intervals of 95 % have 3.92 standard deviations of the shares in new rows."""
    found, both = [], []
    for seed in range(200):
        y, a, b = problem(1000, seed)
        found.append(tpr_at_fpr_interval(y, a, max_fpr=0.1))
        both.append(compare_tpr_at_fpr(y, a, b, max_fpr=0.1))
    assert found[0].mean == tpr_at_fpr_score(*problem(1000)[:2], max_fpr=0.1)
    widths = [one.high - one.low for one in found]
    assert np.mean(widths) / 3.92 == approx(np.std([one.mean for one in found]), rel=0.15)
    difference = np.array([one.difference for one in both])
    assert np.mean([one.high - one.low for one in both]) / 3.92 == approx(
        difference.std(), rel=0.15
    )
    expected = 2 * norm.sf(abs(difference) / difference.std())
    assert np.corrcoef(expected, [one.p_value for one in both])[0, 1] > 0.98


def test_folds_are_measured_one_by_one():
    y, a, b = problem()
    fold = np.arange(len(y)) % 3
    y[fold == 2] = 0  # no share here
    shifted = a + 100 * fold
    found = tpr_at_fpr_interval(y, shifted, fold=fold)
    assert found == tpr_at_fpr_interval(y, a, fold=fold)
    shares = [tpr_at_fpr_score(y[fold == v], a[fold == v], max_fpr=0.05) for v in (0, 1)]
    assert found.mean == approx(np.mean(shares))
    both = compare_tpr_at_fpr(y, shifted, b, fold=fold)
    assert both.low < both.difference < both.high


def test_queries_are_drawn_as_a_whole():
    y, a, b = problem(400)
    qid = np.arange(400) % 20
    values = [tpr_at_fpr_score(y, s, max_fpr=0.2, qid=qid, average=None) for s in (a, b)]
    found = tpr_at_fpr_interval(y, a, qid=qid, max_fpr=0.2)
    assert (found.mean, found.n_queries) == (approx(np.nanmean(values[0])), 20)
    both = compare_tpr_at_fpr(y, a, b, qid=qid, max_fpr=0.2)
    expected = ttest_rel(*values)
    assert both.p_value == approx(expected.pvalue)
    assert (both.low, both.high) == approx(tuple(expected.confidence_interval()))


def test_a_ranking_does_not_differ_from_itself():
    y, a, _ = problem()
    found = compare_tpr_at_fpr(y, a, 2 * a)
    assert (found.difference, found.low, found.high, found.p_value) == (0, 0, 0, 1)


def test_one_class_has_no_share():
    with pytest.raises(ValueError, match="No fold holds both relevant and irrelevant rows"):
        tpr_at_fpr_interval([0, 0, 1, 1], [1, 2, 3, 4], fold=[0, 0, 1, 1])
    with pytest.raises(ValueError, match="'max_fpr' parameter of compare_tpr_at_fpr"):
        compare_tpr_at_fpr([0, 1], [1, 2], [1, 2], max_fpr=0)


def test_the_interval_of_a_difference_covers_the_truth():
    """Two rankings whose shares are equal in truth: about 5 % of the intervals leave out 0."""
    rng, n_outside, p_values = np.random.default_rng(0), 0, []
    for _ in range(400):
        y = np.repeat([0, 1], [900, 100])
        common = y + 0.5 * rng.normal(size=1000)
        scores = common + rng.normal(size=(2, 1000))
        found = compare_tpr_at_fpr(y, *scores)
        n_outside += not found.low <= 0 <= found.high
        p_values.append(found.p_value)
    assert 0.02 < n_outside / 400 < 0.085
    assert np.mean(np.array(p_values) < 0.05) < 0.085
