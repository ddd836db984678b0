"""Stability, gains, calibration, groups, KS against definitions that visit every row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import monitoring as naive
from scipy.stats import binomtest, ks_2samp
from strategies import one_list

from sklearn_rank import metrics


def approx(expected):
    return pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True)


def events(problem):
    return (problem.y == problem.y.max()).astype(int)


@st.composite
def tables(draw, missing=True):
    """Return values and weights (None, or with zeros) of a few rows, full of ties."""
    values = [0.0, 1.0, 2.0, 2.5, np.inf] + ([np.nan] if missing else [])
    n = draw(st.integers(1, 9))
    x = np.array(draw(st.lists(st.sampled_from(values), min_size=n, max_size=n)))
    w = draw(st.none() | st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=n, max_size=n))
    return x, None if w is None or not any(w) else np.array(w)


# Stability ----------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:ks_2samp. Exact")  # its p-value, which is not used
@given(one_list(max_rows=12))
def test_ks(problem):
    y = events(problem)
    assert metrics.ks_score(y, problem.f, sample_weight=problem.w) == approx(
        naive.ks(y, problem.f, problem.w)
    )
    sides = [metrics.ks_score(y, sign * problem.f) for sign in (1, -1)]
    assert max(sides) == approx(ks_2samp(problem.f[y > 0], problem.f[y == 0], method="exact")[0])


def test_ks_of_queries():
    y, f = [1, 0, 1, 0, 1, 1], [2, 1, 1, 2, 1, 0]
    found = metrics.ks_score(y, f, qid=list("aabbcc"), average=None)
    assert found == approx(np.array([1, 0, np.nan]))
    assert metrics.ks_score(y, f, qid=list("aabbcc"), empty=1) == approx(2 / 3)


@given(one_list(max_rows=12, weights=("none",)), st.sampled_from([0.5, 0.9, 0.99]))
def test_the_interval_of_ks(problem, confidence):
    y = events(problem)
    found = metrics.ks_interval(y, problem.f, confidence=confidence)
    shares = {1: np.mean(problem.f[y > 0] >= found.cut), 0: np.mean(problem.f[y == 0] >= found.cut)}
    assert found.ks == approx(shares[1] - shares[0])
    # Where all cuts are harmful the distance at the last one, which takes all rows, is 0.
    assert found.ks == approx(metrics.ks_score(y, problem.f))
    ends = {
        c: binomtest(round(shares[c] * (y == c).sum()), int((y == c).sum())).proportion_ci(
            confidence, method="wilson"
        )
        for c in (0, 1)
    }
    down = np.hypot(shares[1] - ends[1].low, ends[0].high - shares[0])
    up = np.hypot(ends[1].high - shares[1], shares[0] - ends[0].low)
    assert (found.low, found.high) == approx((found.ks - down, found.ks + up))
    assert -1 - 1e-12 <= found.low <= found.ks <= found.high <= 1 + 1e-12


def test_the_interval_of_ks_needs_both_classes():
    with pytest.raises(ValueError, match=r"ks_interval needs rows .* Got 2 and 0"):
        metrics.ks_interval([1, 1], [1, 2])
