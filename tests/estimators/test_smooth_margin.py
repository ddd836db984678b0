"""Margins: the smooth margin ranker, Theorems 6 and 7 of RudinSchapire2009."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from oracles import definitions as oracles
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
from strategies import problems

from sklearn_rank import RankBoost, SmoothMarginRanker

X_6, Y_6 = np.vstack([oracles.THEOREM_6, np.zeros(8)]), np.array([1] * 8 + [0])


ROUNDS = {"weak_ranker": "feature", "n_estimators": 3000, "tol": 0}


@cache
def after_3000_rounds():
    return SmoothMarginRanker(**ROUNDS).fit(X_6, Y_6)


def test_theorem_6_needs_the_smooth_margin():
    """RankBoost stays at 1/3 while the largest margin is 3/8."""
    margin_variables = np.column_stack([-oracles.THEOREM_6, np.ones(8)])
    of_weights = {"A_eq": [[1.0] * 8 + [0.0]], "b_eq": [1.0]}
    of_weights["bounds"] = [(0, None)] * 8 + [(None, None)]
    largest = linprog([0.0] * 8 + [-1.0], margin_variables, np.zeros(8), **of_weights)
    assert -largest.fun == pytest.approx(3 / 8, abs=1e-9)
    smooth = after_3000_rounds()
    boost = RankBoost(learning_rate=1, **ROUNDS).fit(X_6, Y_6)
    assert boost.margin_ == pytest.approx(1 / 3, abs=1e-3)
    assert smooth.margin_ == pytest.approx(0.3728, abs=1e-4)
    l1_norm = np.abs(smooth.coef_).sum()
    scores = X_6 @ smooth.coef_
    assert smooth.margin_ == pytest.approx(oracles.ranking_margin(scores, l1_norm, Y_6), rel=1e-9)
    last = oracles.smooth_margin(scores, l1_norm, Y_6)
    assert smooth.smooth_margin_curve_[-1] == pytest.approx(last, rel=1e-9)


def test_theorem_7_the_smooth_margin_never_falls():
    smooth = after_3000_rounds()
    curve = smooth.smooth_margin_curve_
    first = int(np.argmax(curve > 0))
    assert 0 < first < 10
    assert np.all(np.diff(curve[first:]) >= -1e-13)
    assert np.all(curve[first:] <= smooth.margin_curve_[first:] + 1e-13)


def test_theorem_7_progress():
    """g' - g >= alpha (r - g) / (2 s') when d0 < 2/3 (1 - r)(1 - r^2)."""
    rounds = oracles.smooth_margin_boost(X_6, Y_6, n_rounds=80, weak_ranker="feature")
    ranker = SmoothMarginRanker(weak_ranker="feature", n_estimators=80, tol=0).fit(X_6, Y_6)
    f, norm, n_checked = np.zeros(9), {}, 0
    for number, step in enumerate(ranker.estimator_weights_[:-1]):
        feature = int(ranker.weak_rankers_.feature[number])
        right, wrong, tied = oracles.pair_masses(X_6[:, feature], f, Y_6)
        edge = right - wrong
        norm[feature] = norm.get(feature, 0.0) + step
        f = f + step * X_6[:, feature]
        g = ranker.smooth_margin_curve_[number - 1] if number else -np.inf
        size = sum(map(abs, norm.values()))
        if 0 < g < edge and tied < 2 / 3 * (1 - edge) * (1 - edge**2) and step > 0:
            gained = ranker.smooth_margin_curve_[number] - g
            assert gained >= step * (edge - g) / (2 * size) - 1e-12
            n_checked += 1
    assert n_checked > 30
    assert rounds[-1].smooth_margin == pytest.approx(ranker.smooth_margin_curve_[-1], abs=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("weak_ranker", ["stump", "feature"])
@settings(max_examples=settings.default.max_examples // 2)
@given(problem=problems(relevances=[(0.0, 1.0)], queries=("none", "integers"), max_rows=6))
def test_rounds_equal_the_oracles(weak_ranker, problem):
    """As long as no tie is broken by rounding: the curves agree round by round."""
    arguments = (problem.y, problem.qid, problem.w)
    ranker = SmoothMarginRanker(weak_ranker=weak_ranker, n_estimators=8, tol=0)
    ranker.fit(problem.X, problem.y, qid=problem.qid, sample_weight=problem.w)
    keep = np.ones(len(problem.y), dtype=bool) if problem.w is None else problem.w > 0
    arguments = tuple(None if a is None else a[keep] for a in arguments)
    rounds = oracles.smooth_margin_boost(
        problem.X[keep], *arguments, n_rounds=8, weak_ranker=weak_ranker
    )
    n = ranker.n_iter_
    assert n == 8 or not rounds or abs(rounds[n].alpha if n < 8 else 0) < 1e-9
    same = [r.feature == f for r, f in zip(rounds, ranker.weak_rankers_.feature, strict=False)]
    n = same.index(False) if False in same else n
    np.testing.assert_allclose(
        ranker.estimator_weights_[:n], [r.alpha for r in rounds[:n]], rtol=1e-6, atol=1e-8
    )
    expected = [(r.smooth_margin, r.margin) for r in rounds[:n] if np.isfinite(r.margin)]
    if len(expected) == n and n:
        found = np.column_stack([ranker.smooth_margin_curve_, ranker.margin_curve_])[:n]
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_data_that_cannot_be_separated_leave_it_rankboost():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (80, 2)).astype(float), rng.integers(0, 2, 80)
    with pytest.warns(ConvergenceWarning, match="RankBoost") as record:
        smooth = SmoothMarginRanker(n_estimators=30).fit(X, y)
    assert len(record) == 1
    boost = RankBoost(n_estimators=30, learning_rate=1).fit(X, y)
    np.testing.assert_array_equal(smooth.estimator_weights_, boost.estimator_weights_)
    assert smooth.margin_ <= 0


def test_small_weights_are_scaled_up_for_the_smooth_margin():
    """Otherwise G would exceed the margin, and the steps would shrink."""
    X, y = np.arange(10.0)[:, None] + [[0.0, 3.0]], np.arange(10) > 4
    plain = SmoothMarginRanker(n_estimators=20).fit(X, y)
    small = SmoothMarginRanker(n_estimators=20).fit(X, y, sample_weight=np.full(10, 1e-3))
    np.testing.assert_allclose(small.smooth_margin_curve_, plain.smooth_margin_curve_, rtol=1e-9)
    assert np.all(small.smooth_margin_curve_ <= small.margin_curve_ + 1e-12)
