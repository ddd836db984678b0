"""The theorems of Rudin2009: by arithmetic, and against what they bound or say."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import metrics as naive
from scipy.optimize import approx_fprime, minimize
from scipy.special import logsumexp
from scipy.stats import binom
from sklearn.datasets import make_classification
from strategies import one_list

from sklearn_rank import PNormPushRanker, metrics, theory
from sklearn_rank._core.preferences import Preferences
from sklearn_rank.objectives import InformationRetrievalPush, SidePush

UNIT = st.floats(0.0, 1.0)
POWERS = st.sampled_from([1.0, 1.5, 2.0, 4.0, 16.0])
HEIGHTS = st.lists(st.integers(0, 6), min_size=1, max_size=6)
PRICES = {
    "power": lambda height: height**3,
    "exponential": math.exp,
    "shifted": lambda height: 1 + max(height - 1, 0),
}


# Theorem 1 and the limit of sec. 2 ------------------------------------------------------------


@pytest.mark.parametrize("price", PRICES.values(), ids=PRICES)
@given(heights=HEIGHTS)
def test_theorem_1_bounds_the_sum_of_any_price(price, heights):
    """Also with a price at height zero; both new ends are attained."""
    weakest, lower, upper = theory.price_bounds(price, max(heights), len(heights))
    total = sum(map(price, heights))
    slack = 1e-12 * upper
    assert weakest <= lower + slack
    assert lower <= total + slack
    assert total <= upper + slack
    assert weakest == pytest.approx(len(heights) * price(max(heights) / len(heights)))
    one, all_equal = [max(heights), *[0] * (len(heights) - 1)], [max(heights)] * len(heights)
    assert lower == pytest.approx(sum(map(price, one)))
    assert upper == pytest.approx(sum(map(price, all_equal)))


@given(one_list(weights=("none",)), POWERS)
def test_theorem_1_for_the_metrics(problem, p):
    high = metrics.heights(problem.y, problem.f)
    n_below = int(np.sum(~np.isnan(high)))
    worst = metrics.max_height_loss(problem.y, problem.f)
    weakest, lower, upper = theory.price_bounds(lambda h: h**p, worst, n_below)
    push = metrics.p_norm_push_loss(problem.y, problem.f, p=p, normalize=False)
    assert weakest <= lower * (1 + 1e-12)
    assert lower <= push * (1 + 1e-12)
    assert push <= upper * (1 + 1e-12)
    assert lower == pytest.approx(n_below ** (p - 1) * weakest)


def test_theorem_1_needs_a_price_that_increases():
    """A convex, decreasing price: the sum of heights 0 and 1 is above the upper bound."""
    _, _, upper = theory.price_bounds(lambda height: math.exp(-height), 1, 2)
    assert math.exp(0) + math.exp(-1) > upper


@pytest.mark.parametrize("loss", ["zero_one", "exponential", "logistic", "hinge"])
@given(problem=one_list(weights=("none",)), p=POWERS)
def test_the_limit_for_large_p(loss, problem, p):
    """R_p^(1/p) tends to the maximum: at most a factor of K^(1/p) is between them."""
    terms = naive.push_terms(problem.y, problem.f, loss=loss)
    shares = [inner / total for _, inner, total in terms]
    push = metrics.p_norm_push_loss(problem.y, problem.f, p=p, loss=loss)
    lower, upper = theory.max_height_bounds(push, len(shares), p)
    assert lower <= max(shares) * (1 + 1e-9) + 1e-12
    assert upper >= max(shares) * (1 - 1e-9) - 1e-12


@given(st.integers(1, 10**6), st.floats(1e-3, 1.0))
def test_the_power_that_makes_the_maximum_known_to_a_factor(n_below, epsilon):
    p = max(1.0, math.log(n_below) / math.log1p(epsilon))
    lower, upper = theory.max_height_bounds(0.3, n_below, p)
    assert upper <= lower * (1 + epsilon) * (1 + 1e-12)
    assert theory.max_height_bounds(0.3, n_below, math.inf) == (0.3, 0.3)


def test_the_limit_is_attained_by_one_bad_row():
    """A push loss of the mean over K rows of which one has a share of one."""
    shares = np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    for p in (1.0, 3.0):
        push = np.mean(shares**p) ** (1 / p)
        assert theory.max_height_bounds(push, 5, p)[1] == pytest.approx(1)


# Theorems 2 and 3 -----------------------------------------------------------------------------


def mcdiarmid(deviation, change, n):
    """Theorem 8 for n variables, both sides."""
    return 2 * math.exp(-2 * deviation**2 / (n * change**2))


def lemma_9(epsilon, p, n_above, n_below, risk):
    """The two terms: half of the deviation each, negatives first, then each positive mean."""
    half = epsilon / 2
    of_power = max(half * risk ** (p - 1), half**p)  # Lemma 7 turned around
    below = mcdiarmid(of_power, 1 / n_below, n_below)
    return below + n_below * mcdiarmid(half, 1 / n_above, n_above)


@pytest.mark.parametrize("p", [1.0, 1.7, 3.0])
@pytest.mark.parametrize("risk", [0.0, 0.2, 0.7])
def test_theorems_2_and_3_put_the_lemmas_together(p, risk):
    """Half of epsilon is lost in the discs, the rest is Lemma 9 at each centre."""
    rows = {"n_above": 700, "n_below": 900}
    bound = theory.push_tail_bound(0.6, p, **rows, log_cover=math.log(5), min_risk=risk)
    assert bound == pytest.approx(5 * lemma_9(0.3, p, **rows, risk=risk), rel=1e-12)


def test_the_bound_by_arithmetic():
    """Every constant of Theorem 2: 2, 8, 4, and the powers."""
    for p in (1.0, 2.0):
        expected = 2 * (math.exp(-2 * (0.8 / 4) ** (2 * p) * 90) + math.exp(-0.08 * 110) * 90)
        assert theory.push_tail_bound(0.8, p, 110, 90) == pytest.approx(expected, rel=1e-12)
    assert math.isinf(theory.push_tail_bound(0.8, 2.0, 110, 90, log_cover=1e4))


@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_the_bound_holds_on_a_small_distribution(share):
    """A share of the negatives is above all positives: exact, from the binomial distribution."""
    n_above, n_below = 400, 60
    for p, epsilon in ((1.0, 0.4), (1.0, 0.9), (1.5, 0.9), (3.0, 0.9)):
        # The sample's loss is (wrong / K)^(1/p), the population's share^(1/p).
        risk = share ** (1 / p)
        limit = max(0.0, risk - epsilon) ** p
        exact = binom.cdf(math.floor(n_below * limit), n_below, share)
        assert exact <= theory.push_tail_bound(epsilon, p, n_above, n_below, min_risk=risk)


def test_lemma_9_has_the_greatest_rate():
    """One negative in two is wrong, at p = 1: with 2.05 in place of 2 it would not hold."""
    n, deviation = 20_000, 0.1
    exact = binom.logcdf(math.floor(n * (0.5 - deviation)), n, 0.5)
    assert math.log(2) - 2 * n * deviation**2 > exact > math.log(2) - 2.05 * n * deviation**2


@given(UNIT, UNIT, POWERS)
def test_lemma_7(a, b, p):
    difference = abs(a ** (1 / p) - b ** (1 / p))
    assert difference <= abs(a - b) ** (1 / p) + 1e-12
    if a > 0:
        assert difference <= abs(a - b) * a ** (1 / p - 1) + 1e-9


def test_lemma_7_is_attained_at_zero():
    for p in (1.0, 2.5):
        assert 0.3 ** (1 / p) == pytest.approx(0.3 * 0.3 ** (1 / p - 1))


def test_lemma_5_needs_its_constant():
    """Moved by eta on the sample and by -eta elsewhere: L changes by nearly 4 eta."""
    eta, rare = 0.01, 1e-6  # the sample is the rare pair alone; the loss falls by one a unit
    first, second = 0.5 + np.array([-2, 2]) * eta, np.array([0.5, 0.5])
    population = np.array([rare**2, 1 - rare**2])

    def excess(margins):
        losses = np.clip(1 - margins, 0, 1)
        return population @ losses - losses[0]

    assert excess(second) - excess(first) == pytest.approx(4 * eta, rel=1e-5)


@given(st.floats(0.05, 1.0), st.integers(100, 10**6), st.integers(100, 10**6), st.floats(0.0, 0.99))
def test_the_largest_p_is_where_the_bound_equals_delta(epsilon, n_above, n_below, risk):
    options = {"log_cover": 3.0, "min_risk": risk}
    p = theory.largest_p(epsilon, n_above, n_below, delta=0.1, **options)
    if p == 0:
        assert theory.push_tail_bound(epsilon, 1, n_above, n_below, **options) > 0.1 * (1 - 1e-9)
        return
    assert theory.push_tail_bound(epsilon, p, n_above, n_below, **options) == pytest.approx(0.1)
    assert theory.push_tail_bound(epsilon, p + 0.01, n_above, n_below, **options) > 0.1


def test_a_risk_of_one_allows_every_p():
    assert math.isinf(theory.largest_p(0.5, 10_000, 10_000, min_risk=1.0))
    assert theory.push_tail_bound(0.5, 1e6, 10_000, 10_000, min_risk=1.0) < 0.05
    assert theory.largest_p(0.5, 10_000, 10, min_risk=1.0) == 0
    assert theory.largest_p(0.5, 10, 10_000) == 0


def test_a_small_risk_helps_where_it_is_more_than_a_quarter_of_epsilon():
    none, small, larger = (
        theory.largest_p(0.1, 10**6, 10**6, min_risk=risk) for risk in (0.0, 0.01, 0.05)
    )
    assert none == small < larger


def test_rows_that_just_suffice_for_p_1():
    assert theory.largest_p(1.0, 10**6, 29) == 0
    assert 1 <= theory.largest_p(1.0, 10**6, 30) < 1.01
    assert theory.push_tail_bound(1.0, 1, 47, 10**6) > 1
    assert theory.largest_p(1.0, 47, 10, delta=0.055) == 0


@pytest.mark.parametrize("n", [1, 2])
def test_the_cover_covers(n):
    """A maximal packing of the l1 ball is a cover, and no larger than the bound."""
    radius, rng = 0.4, np.random.default_rng(0)
    points = rng.uniform(-1, 1, (4000, n))
    points = points[np.abs(points).sum(axis=1) <= 1]
    centres = []
    for point in points:
        if all(np.abs(point - centre).sum() > radius for centre in centres):
            centres.append(point)
    assert len(centres) <= math.exp(theory.combination_cover(radius, n))
    h = rng.uniform(0, 1, (50, n))
    nearest = [min(np.abs(h @ (point - c)).max() for c in centres) for point in points[:200]]
    assert max(nearest) <= radius
    assert theory.combination_cover(radius, n) == pytest.approx(n * math.log(1 + 2 / radius))
    assert theory.combination_cover(2 * radius, n, max_norm=2.0) == pytest.approx(
        theory.combination_cover(radius, n)
    )
    assert theory.combination_cover(1.0, n) == 0


def test_the_illustration_of_section_10_1():
    """Rare rows decide at large p: the order of two rankers turns, and a sample misses it.

    Of each class a share of e lies on the wrong side. Increasing scores have an AUC of
    (1-e)^2; decreasing ones have the smaller maximum height.
    """
    e = 0.1
    # Rows of Rudin's density by place: positives, negatives, positives, negatives.
    places, labels = np.array([-1.5, -0.5, 0.5, 1.5]), np.array([1, 0, 1, 0])
    mass = np.array([e, 1 - e, 1 - e, e])
    risk = {
        sign: [
            metrics.p_norm_push_loss(labels, sign * places, p=p, sample_weight=mass)
            for p in (1, 20, 22, np.inf)
        ]
        for sign in (1, -1)
    }
    assert risk[1] == pytest.approx([*((e + (1 - e) * e**p) ** (1 / p) for p in (1, 20, 22)), 1.0])
    assert risk[-1] == pytest.approx([*((1 - e) ** ((p + 1) / p) for p in (1, 20, 22)), 1 - e])
    is_smaller = [up < down for up, down in zip(*risk.values(), strict=True)]
    assert is_smaller == [True, True, False, False]
    assert metrics.auc_score(labels, places, sample_weight=mass) == pytest.approx((1 - e) ** 2)
    common = slice(1, 3)  # a sample of m rows is this with probability (1 - e)^m
    assert metrics.max_height_loss(labels[common], places[common]) == 0


# Theorem 4 ------------------------------------------------------------------------------------


def pair_masses(margins, p):
    """q of sec. 11, from the margins (positives are rows)."""
    losses = np.exp(-margins)
    return losses * losses.sum(axis=0) ** (p - 1)


def minimised(M, p, start):
    """Minimise log(R_p), with the same minimisers, from a start: coefficients and R_p."""

    def value_and_gradient(coefficients):
        log_inner = logsumexp(-(M @ coefficients), axis=0)
        value = logsumexp(p * log_inner)
        shares = np.exp(p * log_inner - value) * np.exp(-(M @ coefficients) - log_inner)
        return value, -p * np.einsum("ik,ikj->j", shares, M)

    found = minimize(
        value_and_gradient, start, jac=True, method="BFGS", options={"gtol": 1e-8, "maxiter": 500}
    )
    return found.x, math.exp(found.fun)


@pytest.mark.parametrize("p", [1.0, 2.0, 4.0])
def test_theorem_4_one_minimum_from_two_starts(p):
    """Five weak rankers of rank three: other coefficients, but one vector of pair masses."""
    rng = np.random.default_rng(0)
    above, below = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    M = above[:, None] - below
    M = np.concatenate([M, M[..., :1] + M[..., 1:2], -M[..., 2:]], axis=2)
    (first, at_first), (second, at_second) = (
        minimised(M, p, start) for start in (np.zeros(5), rng.normal(size=5))
    )
    assert np.abs(first - second).max() > 0.1
    assert at_first == pytest.approx(at_second, rel=1e-9)
    np.testing.assert_allclose(M @ first, M @ second, atol=1e-4)
    best = pair_masses(M @ first, p)
    assert theory.push_distance(best, pair_masses(M @ second, p), p) < 1e-8 * best.sum()
    # The excess of any combination is its distance from the minimum, to every constant.
    for _ in range(5):
        margins = M @ rng.normal(size=5)
        excess = (np.exp(-margins).sum(axis=0) ** p).sum() - at_first
        distance = theory.push_distance(best, pair_masses(margins, p), p)
        assert distance == pytest.approx(excess / p, rel=1e-5)


def test_theorem_4_where_margins_run_away():
    """The second weak ranker is never wrong: its pairs lose their mass, the others are unique."""
    M = np.array([[[1.0, 0.0]], [[-1.0, 0.0]], [[0.0, 1.0]]])  # three positives, one negative
    ends = [minimised(M, 2.0, start)[0] for start in (np.zeros(2), np.array([1.0, 4.0]))]
    masses = [pair_masses(M @ end, 2.0) for end in ends]
    np.testing.assert_allclose(masses, [[[2.0], [2.0], [0.0]]] * 2, atol=1e-3)
    limit = np.array([[2.0], [2.0], [0.0]])
    any_other = np.array([0.7, 0.3])
    excess = np.exp(-(M @ any_other)).sum() ** 2 - 4
    distance = theory.push_distance(limit, pair_masses(M @ any_other, 2.0), 2)
    assert distance == pytest.approx(excess / 2)


@pytest.mark.slow
def test_theorem_4_two_solvers_of_the_ranker():
    """Coordinate descent and L-BFGS end at one vector of margins."""
    X, y = make_classification(60, 3, n_informative=2, n_redundant=0, flip_y=0.3, random_state=1)
    scores = []
    for options in ({"solver": "coordinate", "n_estimators": 400}, {"solver": "lbfgs"}):
        options |= {"weak_ranker": "feature", "learning_rate": 1, "alpha": 0, "tol": 1e-12}
        ranker = PNormPushRanker(p=2, **options).fit(X, y)
        scores.append(ranker.decision_function(X))
    margins = [np.subtract.outer(f[y == 1], f[y == 0]) for f in scores]
    np.testing.assert_allclose(*margins, atol=1e-3)


def test_theorem_4_ends_at_infinite_p():
    """The maximum alone leaves the other negatives free: p must be finite."""
    preferences = Preferences.from_labels(np.array([1, 0, 0]), None, np.ones(3))
    push = SidePush(preferences, np.inf)
    values = [push.value(np.array([0.0, 1.0, low])) for low in (0.0, -1.0)]
    assert values[0] == pytest.approx(values[1], rel=1e-14)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 10**6), POWERS)
def test_the_distance_is_zero_only_at_equality(n_above, n_below, seed, p):
    rng = np.random.default_rng(seed)
    a, b = rng.exponential(size=(2, n_above, n_below))
    a[rng.random(a.shape) < 0.3] = 0.0
    distance = theory.push_distance(a, b, p)
    assert distance >= -1e-12 * (a.sum() + b.sum())
    assert distance > 0 or np.allclose(a, b)
    assert theory.push_distance(a, a, p) == pytest.approx(0, abs=1e-12)
    assert theory.push_distance(0 * a, b, p) == pytest.approx(b.sum() / p)
    if p == 1:  # the relative entropy
        terms = [
            x * math.log(x / z) - x + z if x else z for x, z in zip(a.flat, b.flat, strict=True)
        ]
        assert distance == pytest.approx(sum(terms), abs=1e-9)


def test_the_distance_from_a_mass_that_is_lost():
    assert math.isinf(theory.push_distance([[1.0], [1.0]], [[0.0], [1.0]], 2))
    assert math.isinf(theory.push_distance([[0.01], [0.0]], [[0.0], [0.0]], 2))
    assert theory.push_distance([[0.0], [1.0]], [[0.0], [1.0]], 2) == 0


@given(st.integers(1, 5), st.integers(0, 10**6), POWERS)
def test_lemma_11_the_function_of_the_distance_is_strictly_convex(n_above, seed, p):
    """Its Hessian diag(1/q) - (1 - 1/p) / sum(q) has positive eigenvalues."""
    q = np.random.default_rng(seed).uniform(0.1, 2.0, n_above)
    hessian = np.diag(1 / q) - (1 - 1 / p) / q.sum()
    assert np.linalg.eigvalsh(hessian).min() > 0
    step, direction = 1e-3, np.eye(n_above)[0]
    near = theory.push_distance((q + step * direction)[:, None], q[:, None], p)
    assert 2 * near / step**2 == pytest.approx(hessian[0, 0], rel=0.02)


def test_the_sum_over_all_pairs_is_another_dual():
    """The pair masses are those of (10), grad phi(q) = grad phi(q0) - m: one sum a negative."""
    p, margins = 2.0, np.array([[0.3, -1.0], [0.0, 0.5]])
    q, first = pair_masses(margins, p), pair_masses(np.zeros((2, 2)), p)

    def gradient(masses, sums):  # eq. (11) without constants
        return np.log(masses / sums ** ((p - 1) / p))

    slopes = approx_fprime(
        q.ravel(), lambda flat: theory.push_distance(flat.reshape(2, 2), first, p), 1e-7
    )
    np.testing.assert_allclose(slopes, -margins.ravel(), atol=1e-5)
    of_negatives = gradient(q, q.sum(axis=0)) - gradient(first, first.sum(axis=0))
    np.testing.assert_allclose(of_negatives, -margins, atol=1e-12)
    of_all = gradient(q, q.sum()) - gradient(first, first.sum())
    assert np.abs(of_all + margins).max() > 0.1


def test_a_weak_ranker_may_enter_with_a_minus():
    """Sec. 5 speaks of the largest absolute derivative; without it feature 1 would be first."""
    X, y = np.array([[0.0, 0.6], [0.1, 0.5], [0.9, 0.5], [1.0, 0.5]]), [1, 1, 0, 0]
    ranker = PNormPushRanker(p=2, weak_ranker="feature", n_estimators=1).fit(X, y)
    assert ranker.coef_[0] < 0
    assert ranker.coef_[1] == 0


# Sec. 7 ---------------------------------------------------------------------------------------


def ir_push(y, f):
    preferences = Preferences.from_labels(np.asarray(y, dtype=float), None, np.ones(len(y)))
    return InformationRetrievalPush(preferences).value(np.asarray(f, float)[preferences.order])


@given(one_list(weights=("none",)))
def test_the_ir_push_bounds_aver_and_dcg(problem):
    y = (problem.y == problem.y.max()).astype(int)
    f, n_above = problem.f, int(y.sum())
    found = metrics.reciprocal_rank_sum(y, f), metrics.reciprocal_log_rank_sum(y, f)
    losses = np.log1p(metrics.reverse_heights(y, f)[y == 1]).sum()  # the zero-one loss
    objective = ir_push(y, f)
    assert losses <= objective * (1 + 1e-12)
    for push in (losses, objective):
        bounds = theory.ir_push_bounds(push, n_above)
        assert all(b <= value * (1 + 1e-12) for b, value in zip(bounds, found, strict=True))


def test_the_bounds_are_attained_by_one_positive():
    for n_before in (0, 3):
        y, f = [0] * n_before + [1], np.arange(n_before, -1.0, -1.0)
        bounds = theory.ir_push_bounds(math.log1p(n_before), 1)
        found = metrics.reciprocal_rank_sum(y, f), metrics.reciprocal_log_rank_sum(y, f)
        # rank = 1 + reverse height; 1 + rank is less than 2 rank unless that is 1.
        assert bounds[0] == pytest.approx(found[0])
        assert bounds[1] == pytest.approx(1 / (math.log(n_before + 1) + math.log(2)))
        assert bounds[1] <= found[1] * (1 + 1e-12)


def test_the_bounds_by_arithmetic():
    harmonic, logarithmic = theory.ir_push_bounds(2.5, 4)
    assert harmonic == pytest.approx(4 * math.exp(-(2.5 + math.log(24)) / 4))
    assert logarithmic == pytest.approx(16 / (2.5 + math.log(120)))


@given(one_list(weights=("none",)))
def test_aver_and_dcg_are_sums_of_discounts_of_the_rank(problem):
    """Rank = reverse height + positives at or above; without ties among positives."""
    y = (problem.y == problem.y.max()).astype(int)
    f = np.argsort(np.argsort(problem.f, kind="stable")).astype(float)
    rank = [
        sum(f[i] <= f[k] for k in range(len(y)) if y[k] == 0)
        + sum(f[i] <= f[j] for j in range(len(y)) if y[j] == 1)
        for i in range(len(y))
        if y[i] == 1
    ]
    assert metrics.reciprocal_rank_sum(y, f) == pytest.approx(sum(1 / r for r in rank))
    expected = sum(1 / math.log(1 + r) for r in rank)
    assert metrics.reciprocal_log_rank_sum(y, f) == pytest.approx(expected)


def test_tied_positives_share_the_last_rank_in_the_paper_only():
    """Both counted as above each other: 1/2 + 1/2, where the metric has 1/1 + 1/2."""
    assert metrics.reciprocal_rank_sum([1, 1, 0], [2.0, 2.0, 1.0]) == 1.5


def test_the_discounts_that_are_no_objective():
    """-1/ln(1 + e^z) is concave where the IR push's ln(1 + e^z) is convex."""
    z = np.linspace(-20, 20, 401)
    softplus = np.logaddexp(0, z)
    assert np.all(np.diff(softplus, 2) >= -1e-12)
    assert np.all(np.diff(-1 / softplus, 2) < 0)


@given(one_list(weights=("none",)), st.floats(-50, 50))
def test_the_ir_push_is_a_function_of_the_margins(problem, shift):
    """A constant added to all scores changes nothing, as it would with e^(-f_i - f_k)."""
    assert ir_push(problem.y, problem.f + shift) == pytest.approx(
        ir_push(problem.y, problem.f), rel=1e-9, abs=1e-9
    )


# Parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "arguments", "name"),
    [
        (theory.price_bounds, (4, 1.0, 2), "price"),
        (theory.push_distance, ([1.0], [[1.0]], 2), "a"),
        (theory.push_distance, ([[1.0]], [[-1.0]], 2), "b"),
        (theory.push_distance, ([[1.0]], [[1.0, 2.0]], 2), "b"),
        (theory.smooth_margin_step, (0.6, 0.41, 0.05), "wrong"),
        (theory.smooth_margin_step, (0.6, 0.5, 0.2), "wrong"),
        (theory.smooth_margin_step, (0.6, 0.4, 0.2), "smooth_margin"),
        (theory.smooth_margin_gain, (0.1, 0.2, 0.3, 1.0), "smooth_margin"),
        (theory.rankboost_loss, (1.0, -2.0), "f_skew"),
        (theory.f_skew_bound, (1.0, 2.0), "best_loss"),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
def test_values_that_do_not_fit_together(function, arguments, name):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of {function.__name__} must"):
        function(*arguments)
