"""Bootstrap intervals of the share found at a false positive rate, beside the oracle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import metrics as naive
from pytest import approx

from sklearn_rank.metrics import _confidence as private
from sklearn_rank.metrics import (
    bootstrap_interval,
    compare_rankings,
    compare_tpr_at_fpr,
    tpr_at_fpr_interval,
    tpr_at_fpr_score,
)

RATES = st.sampled_from([0.05, 0.25, 0.5, 1.0])


@st.composite
def draws(draw):
    """Scores of relevant and of other rows, with ties, and how often a sample holds each."""
    parts = []
    for _ in range(2):
        n = draw(st.integers(1, 8))
        score = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
        rows = draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n))
        parts += [np.array(score, dtype=float), np.bincount(rows, minlength=n)]
    return parts


@given(draws(), RATES)
def test_a_bootstrap_sample_counts_rows_as_weights_do(drawn, max_fpr):
    found, found_counts, other, counts = drawn
    limit = max_fpr * len(other)
    y, f = np.repeat([1, 0], [len(found), len(other)]), np.append(found, other)
    drawn = np.append(found_counts, counts)
    (height,) = private._heights(f, len(found), drawn[None], limit)
    assert height == approx(naive.tpr_at_fpr(y, f, drawn, max_fpr))


def problem(n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    return y, np.round(y + rng.normal(size=n), 1), np.round(y + rng.normal(size=n), 1)


def naive_samples(y, scores, max_fpr, n_resamples):
    rng, samples = np.random.default_rng(1), []
    rows = [np.flatnonzero(y == value) for value in (0, 1)]
    for _ in range(n_resamples):
        drawn = np.concatenate([rng.choice(one, len(one)) for one in rows])
        one = [tpr_at_fpr_score(y[drawn], score[drawn], max_fpr=max_fpr) for score in scores]
        samples.append(one)
    return np.array(samples).T


@pytest.mark.slow
def test_the_ends_are_quantiles_of_a_bootstrap_within_classes():
    y, a, b = problem()
    samples = naive_samples(y, [a, b], 0.1, 2000)
    found = tpr_at_fpr_interval(y, a, max_fpr=0.1, n_resamples=20_000, random_state=0)
    assert found.mean == tpr_at_fpr_score(y, a, max_fpr=0.1)
    assert (found.low, found.high) == approx(np.quantile(samples[0], [0.025, 0.975]), abs=0.015)
    difference = samples[0] - samples[1]
    both = compare_tpr_at_fpr(y, a, b, max_fpr=0.1, n_resamples=20_000, random_state=0)
    assert both.difference == approx(found.mean - tpr_at_fpr_score(y, b, max_fpr=0.1))
    assert (both.low, both.high) == approx(np.quantile(difference, [0.025, 0.975]), abs=0.015)
    tail = min((difference <= 0).mean(), (difference >= 0).mean())
    assert both.p_value == approx(2 * tail, abs=0.04)


def test_only_the_negatives_near_the_top_are_drawn_one_by_one(monkeypatch):
    y, a, _ = problem(2000)
    rows = private._near_the_top(a[None, y == 0], 0.01 * (y == 0).sum())
    assert 0 < rows.sum() < (y == 0).sum() / 2
    few = tpr_at_fpr_interval(y, a, max_fpr=0.01, n_resamples=2000, random_state=0)
    monkeypatch.setattr(private, "_near_the_top", lambda other, _: other[0] == other[0])
    every = tpr_at_fpr_interval(y, a, max_fpr=0.01, n_resamples=2000, random_state=0)
    assert (few.low, few.high) == approx((every.low, every.high), abs=0.012)


def test_folds_are_measured_one_by_one():
    y, a, b = problem()
    fold = np.arange(len(y)) % 3
    y[fold == 2] = 0  # no share here
    shifted = a + 100 * fold
    found = tpr_at_fpr_interval(y, shifted, fold=fold, random_state=0)
    assert found == tpr_at_fpr_interval(y, a, fold=fold, random_state=0)
    shares = [tpr_at_fpr_score(y[fold == v], a[fold == v], max_fpr=0.05) for v in (0, 1)]
    assert found.mean == approx(np.mean(shares))
    both = compare_tpr_at_fpr(y, shifted, b, fold=fold, random_state=0)
    assert both.low < both.difference < both.high


def test_queries_are_drawn_as_a_whole():
    y, a, b = problem(400)
    qid = np.arange(400) % 20
    values = [tpr_at_fpr_score(y, s, max_fpr=0.2, qid=qid, average=None) for s in (a, b)]
    options = {"n_resamples": 99, "random_state": 0}
    found = tpr_at_fpr_interval(y, a, qid=qid, max_fpr=0.2, **options)
    assert found == bootstrap_interval(values[0], **options)
    both = compare_tpr_at_fpr(y, a, b, qid=qid, max_fpr=0.2, **options)
    assert both == compare_rankings(*values, **options)


def test_a_ranking_does_not_differ_from_itself():
    y, a, _ = problem()
    found = compare_tpr_at_fpr(y, a, 2 * a, random_state=0)
    assert (found.difference, found.low, found.high, found.p_value) == (0, 0, 0, 1)


def test_one_class_has_no_share():
    with pytest.raises(ValueError, match="No fold holds both relevant and other rows"):
        tpr_at_fpr_interval([0, 0, 1, 1], [1, 2, 3, 4], fold=[0, 0, 1, 1])
    with pytest.raises(ValueError, match="'max_fpr' parameter of compare_tpr_at_fpr"):
        compare_tpr_at_fpr([0, 1], [1, 2], [1, 2], max_fpr=0)


@pytest.mark.nightly
def test_the_interval_of_a_difference_covers_the_truth():
    """Two rankings whose shares are equal in truth: about 5 % of the intervals leave out 0."""
    rng, n_outside, p_values = np.random.default_rng(0), 0, []
    for _ in range(400):
        y = np.repeat([0, 1], [900, 100])
        common = y + 0.5 * rng.normal(size=1000)
        scores = common + rng.normal(size=(2, 1000))
        found = compare_tpr_at_fpr(y, *scores, random_state=rng.integers(1 << 30))
        n_outside += not found.low <= 0 <= found.high
        p_values.append(found.p_value)
    assert 0.02 < n_outside / 400 < 0.085
    assert np.mean(np.array(p_values) < 0.05) < 0.085
