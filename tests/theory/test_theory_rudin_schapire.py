"""The theorems of RudinSchapire2009: by arithmetic, and against what they bound or say."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from oracles import definitions as oracles
from scipy.optimize import brentq
from scipy.stats import binom
from strategies import bipartite

from sklearn_rank import RankBoost, theory
from sklearn_rank.objectives import balancing_offset

FRACTION = st.floats(0.01, 0.99)


# Corollary 4 ----------------------------------------------------------------------------------


def log_failure(epsilon, n_rows, size, theta, pair_share):
    """Log of the union bound of the proof: |H|^N means, each wrong with McDiarmid's bound."""
    n_drawn = 8 / theta**2 * math.log(16 / epsilon)
    return n_drawn * math.log(size) + math.log(2) - n_rows * (epsilon * pair_share) ** 2 / 8


def test_corollary_4_by_arithmetic():
    found = theory.margin_bound(3 * 10**6, 50, 0.3, pair_share=0.2, delta=0.01)
    scale = 3e6 * 0.04
    inner = 8 * math.log(50) / 0.09 * math.log(4 * scale * 0.09 / math.log(50))
    assert found == pytest.approx(math.sqrt(4 / scale * (inner + 2 * math.log(200))), rel=1e-12)


@given(
    st.floats(1e3, 1e12),
    st.integers(2, 10**6),
    st.floats(0.01, 1.0),
    FRACTION,
    st.floats(1e-6, 0.5),
)
def test_corollary_4_follows_from_the_union_bound(n_rows, size, theta, twice_share, delta):
    """At the printed epsilon the failure probability is at most delta."""
    n_rows, share = int(n_rows), twice_share / 2
    epsilon = theory.margin_bound(n_rows, size, theta, pair_share=share, delta=delta)
    assume(epsilon < 1)
    assert log_failure(epsilon, n_rows, size, theta, share) <= math.log(delta) + 1e-6


@pytest.mark.parametrize("n_rows", [10**6, 10**9])
def test_corollary_4_is_close_to_the_union_bound(n_rows):
    """Only the logarithm is larger than the proof needs."""
    found = theory.margin_bound(n_rows, 100, 0.3, pair_share=0.5)
    options = (n_rows, 100, 0.3, 0.5)
    exact = brentq(lambda e: log_failure(e, *options) - math.log(0.05), 1e-6, 10.0)
    assert exact <= found <= 1.25 * exact


def test_corollary_4_says_nothing_on_few_rows():
    """Where its logarithm is below 2 the formula may give less than the proof does."""
    options = (13, 10**6, 1.0252, 0.5)
    ratio = 4 * 13 / 4 * 1.0252**2 / math.log(10**6)
    inner = 8 * math.log(10**6) / 1.0252**2 * math.log(ratio) + 2 * math.log(2 / 0.9)
    assert 0 < math.sqrt(4 * 4 / 13 * inner) < 1
    assert log_failure(1.0, *options) > math.log(0.9)
    assert theory.margin_bound(*options[:3], pair_share=0.5, delta=0.9) == 1
    assert theory.margin_bound(10**5, 100, 0.25) == 1  # the formula gives more


def test_the_deviation_of_one_ranker():
    """All rows differ, a ranker misplaces the pairs across two halves: exact, by the binomial."""
    m, share = 60, 0.5  # of m rows j are in the upper half; j (m - j) of the pairs are wrong
    upper = np.arange(m + 1)
    on_sample = upper * (m - upper) / (m * (m - 1) / 2)
    for epsilon in (0.5, 0.9):
        exact = binom.pmf(upper, m, 0.5)[0.5 - on_sample >= epsilon / 2].sum()
        assert exact <= 2 * math.exp(-m * (epsilon * share) ** 2 / 8)


@given(st.integers(1, 400), FRACTION)
def test_the_mean_of_weak_rankers_drawn(n_drawn, value):
    """Within theta / 4 of f except with probability 2 exp(-N theta^2 / 8)."""
    theta = 0.8
    low = binom.cdf(math.floor(n_drawn * (value - theta / 4) - 1e-9), n_drawn, value)
    high = binom.sf(math.ceil(n_drawn * (value + theta / 4) + 1e-9) - 1, n_drawn, value)
    assert low + high <= 2 * math.exp(-n_drawn * theta**2 / 8) + 1e-12


# Eq. 12, Theorem 7 ----------------------------------------------------------------------------


@st.composite
def shares(draw, below_limit=False):
    """d+, d-, d0 and a smooth margin below the edge."""
    if below_limit:
        edge = draw(st.floats(0.01, 0.9))
        tied = draw(st.floats(0.0, 0.999)) * theory.tied_limit(edge)
    else:
        tied = draw(st.floats(0.0, 0.95))
        edge = draw(st.floats(0.01, 0.99)) * (1 - tied)
    right, wrong = (1 - tied + edge) / 2, (1 - tied - edge) / 2
    assume(wrong >= 0)
    return right, wrong, tied, draw(st.floats(0.01, 0.99)) * edge


def tau(step, right, wrong, tied):
    return right * math.exp(-step) + wrong * math.exp(step) + tied


@given(shares())
def test_equation_12_is_the_root_and_the_printed_form(given_shares):
    right, wrong, tied, g = given_shares
    step = theory.smooth_margin_step(right, wrong, g)
    slope = right * math.exp(-step) - wrong * math.exp(step)
    assert slope == pytest.approx(g * tau(step, right, wrong, tied), rel=1e-9, abs=1e-12)
    printed = oracles.smooth_margin_closed_form(right, wrong, max(0.0, 1 - right - wrong), g)
    assert step == pytest.approx(printed, rel=1e-6, abs=1e-9)
    assert 0 < step <= math.log(right / wrong) / 2 * (1 + 1e-9)  # RankBoost's step is longer


def test_equation_12_without_wrong_pairs():
    assert theory.smooth_margin_step(0.6, 0.0, 0.1) == pytest.approx(
        math.log(0.9 * 0.6 / (0.1 * 0.4))
    )
    assert math.isinf(theory.smooth_margin_step(1.0, 0.0, 0.1))


@given(shares(), st.floats(0.1, 100.0))
def test_the_smooth_margin_does_not_decrease(given_shares, l1_norm):
    """Eq. 9: the increase is (-g alpha - ln tau) / s'; the proof of Lemma 9 bounds ln tau."""
    right, wrong, tied, g = given_shares
    step = theory.smooth_margin_step(right, wrong, g)
    decrease_of_loss = -math.log(tau(step, right, wrong, tied))
    assert decrease_of_loss >= g * step - 1e-12
    assert step - decrease_of_loss <= -math.log(g) + 1e-9


@given(shares(below_limit=True), st.floats(0.1, 100.0))
def test_theorem_7(given_shares, norm_before):
    """Below the limit of d0 the smooth margin gains at least what is stated."""
    right, wrong, tied, g = given_shares
    step = theory.smooth_margin_step(right, wrong, g)
    norm = norm_before + step
    gained = (-g * step - math.log(tau(step, right, wrong, tied))) / norm
    edge = right - wrong
    assert gained >= theory.smooth_margin_gain(step, edge, g, norm) * (1 - 1e-6) - 1e-14


def share_of_gain(edge, tied, g):
    """The increase over alpha (r - g) / s': one half is the theorem's."""
    right, wrong = (1 - tied + edge) / 2, (1 - tied - edge) / 2
    step = theory.smooth_margin_step(right, wrong, g)
    return (-g * step - math.log(tau(step, right, wrong, tied))) / (step * (edge - g))


def test_the_constants_of_theorem_7_are_the_best_possible():
    """One half as g tends to r; the factor 2/3 as r tends to 0."""
    assert share_of_gain(0.3, 0.0, 0.3 * 0.999) == pytest.approx(0.5, abs=1e-3)
    edge = 0.02
    at_limit = theory.tied_limit(edge)
    assert at_limit == pytest.approx(2 / 3 * 0.98 * (1 - 0.0004))
    assert share_of_gain(edge, at_limit * 0.999, edge / 10) > 0.5
    assert share_of_gain(edge, at_limit * 1.04, edge / 10) < 0.5
    assert theory.smooth_margin_gain(0.5, 0.4, 0.1, 2.0) == pytest.approx(0.5 * 0.3 / 4)


# F-skew ---------------------------------------------------------------------------------------


@given(bipartite(queries=("none",)))
def test_rankboosts_loss_is_adaboosts_and_the_skew(problem):
    weight = oracles.row_weights(problem.y, problem.w)
    sign = np.where(problem.y == problem.y.max(), 1.0, -1.0)
    total = float(weight @ np.exp(-sign * problem.f))
    skew = theory.f_skew(problem.y, problem.f, sample_weight=problem.w)
    pairs = math.exp(oracles.log_push(problem.f, problem.y, None, problem.w))
    assert theory.rankboost_loss(total, skew) == pytest.approx(pairs, rel=1e-9)
    offset = balancing_offset(
        problem.f, sign > 0, np.log(weight, where=weight > 0, out=np.full(len(weight), -np.inf))
    )
    balanced = problem.f + offset
    best = float(weight @ np.exp(-sign * balanced))
    assert theory.f_skew(problem.y, balanced, sample_weight=problem.w) == pytest.approx(
        0, abs=1e-9 * best
    )
    assert best == pytest.approx(2 * math.sqrt(pairs), rel=1e-9)
    # With any constant added: the bound is attained.
    assert theory.f_skew_bound(total, min(best, total)) == pytest.approx(
        abs(skew), rel=1e-6, abs=1e-6 * total
    )


def test_theorem_10_adaboost_minimises_rankboosts_loss():
    """AdaBoost's rounds: the skew stays within its bound and vanishes, both losses converge."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (60, 3)), rng.integers(0, 2, 60)
    h = np.column_stack([stump.h for stump in oracles.stumps(X.astype(float))])
    sign = np.where(y == 1, 1.0, -1.0)
    losses, skews = [], []
    for n_rounds in (1, 5, 25, 600):
        scores = oracles.adaboost(h, y, n_rounds)[0]
        losses.append(float(np.exp(-sign * scores).sum()))
        skews.append(theory.f_skew(y, scores))
    best = losses[-1]
    for loss, skew in zip(losses[:-1], skews, strict=False):
        assert abs(skew) <= theory.f_skew_bound(loss, best) + 1e-6
    assert abs(skews[-1]) < 1e-3 * best
    ranker = RankBoost(n_estimators=600, tol=0, learning_rate=1).fit(X, y)
    least = math.exp(oracles.log_push(ranker.decision_function(X), y))
    assert theory.rankboost_loss(best, skews[-1]) == pytest.approx(least, rel=1e-4)
    assert best == pytest.approx(2 * math.sqrt(least), rel=1e-4)


def test_a_row_without_weight_is_not_in_the_skew():
    y, f, w = [1, 0, 1, 0], [0.5, -0.5, -1000.0, 1000.0], [1, 2, 0, 0]
    with np.errstate(over="raise"):
        found = theory.f_skew(y, f, sample_weight=w)
    assert found == theory.f_skew(y[:2], f[:2], sample_weight=w[:2])


@pytest.mark.parametrize(
    ("y", "f", "message"),
    [
        ([0, 1, 2], [0.0, 1.0, 2.0], "two different values. Got 3"),
        ([1, 1], [0.0, 1.0], "two different values. Got 1"),
        ([0, 1], [0.0, np.inf], "f_skew needs finite scores"),
        ([0, 1], [0.0], "inconsistent numbers"),
    ],
)
def test_what_the_skew_refuses(y, f, message):
    with pytest.raises(ValueError, match=message):
        theory.f_skew(y, f)
