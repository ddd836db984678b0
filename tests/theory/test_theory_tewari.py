"""Constants and bounds of Tewari2015: by arithmetic, and against what they bound."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import listwise as naive
from scipy.optimize import minimize_scalar
from scipy.special import comb, softmax

from sklearn_rank import theory

BALL = {"max_norm": 3.0, "row_norm": 2.0}
UNIT = {"max_norm": 1.0, "row_norm": 1.0}
SIGMA = 0.7


def query_loss(loss, scores, y):
    """Value of one of the three losses of one query, from its definition."""
    if loss != "rank_svm":
        return naive.listwise(scores, y, None, None, loss, SIGMA)[0]
    pairs = [(i, k) for i in range(len(y)) for k in range(len(y)) if y[i] > y[k]]
    return sum(max(0.0, 1 - scores[i] + scores[k]) for i, k in pairs)


def constant_of(loss, n_rows):
    return theory.lipschitz_constant(loss, sigma=SIGMA, max_relevance=3, n_rows=n_rows)


every_loss = pytest.mark.parametrize("loss", ["cross_entropy", "smoothed_dcg", "rank_svm"])


def test_lipschitz_constants_are_attained_or_bound():
    assert theory.lipschitz_constant("cross_entropy") == 2
    assert theory.lipschitz_constant("smoothed_dcg", max_relevance=3, sigma=0.5) == 2 * 7 / 0.5
    assert theory.lipschitz_constant("rank_svm", n_rows=10) == 50
    assert theory.lipschitz_constant("smoothed_dcg", max_relevance=1022) == 2.0**1023
    with pytest.raises(ValueError, match=r"'max_relevance' parameter .* \[0, 1022\]"):
        theory.lipschitz_constant("smoothed_dcg", max_relevance=1022.5)
    # The supremum of the cross-entropy's: all of P_y on one row, all of P_s on another.
    gradient = naive.listwise([-800.0, 0.0], [800.0, 0.0])[1]
    assert np.abs(gradient).sum() == pytest.approx(2)


def test_the_smoothed_dcg_as_printed_is_least_for_the_worst_order():
    y = np.array([0.0, 1.0, 3.0])
    printed = [softmax(f / SIGMA) @ (2**y - 1) for f in (y, -y)]
    assert printed[1] < printed[0] == pytest.approx(-query_loss("smoothed_dcg", y, y))


def test_a_quarter_of_the_constant_is_enough_for_the_smoothed_dcg():
    """The gradient has the l1 norm E|G - mean G|; two rows of equal probability attain it."""
    rng = np.random.default_rng(0)
    constant = theory.lipschitz_constant("smoothed_dcg", max_relevance=3, sigma=SIGMA) / 4
    steepest = naive.listwise([0.0, 0.0], [0, 3], None, None, "smoothed_dcg", SIGMA)[1]
    assert np.abs(steepest).sum() == pytest.approx(constant)
    for _ in range(50):
        m = int(rng.integers(2, 7))
        f, y = rng.normal(size=m) * 2, rng.integers(0, 4, m)
        gradient = naive.listwise(f, y, None, None, "smoothed_dcg", SIGMA)[1]
        assert np.abs(gradient).sum() <= constant * (1 + 1e-12)


@pytest.mark.parametrize("n_rows", [1, 2, 3, 6, 9])
def test_rank_svm_constant_is_the_largest_change_of_all_margins(n_rows):
    """Moves of +-1 are the worst; scores far in the wrong order make every pair active."""
    moves = np.array(list(itertools.product([-1, 1], repeat=n_rows)))
    worst = max(np.abs(move[:, None] - move).sum() / 2 for move in moves)
    assert theory.lipschitz_constant("rank_svm", n_rows=n_rows) == worst
    y = np.arange(n_rows)
    scores, move = -10.0 * y, np.where(y < n_rows // 2, 1.0, -1.0)
    change = query_loss("rank_svm", scores + move, y) - query_loss("rank_svm", scores, y)
    assert change == worst


@every_loss
@given(data=st.data(), y=st.lists(st.integers(0, 3), min_size=2, max_size=6))
def test_losses_are_lipschitz_in_the_maximum_norm(loss, data, y):
    """Prop. 1 and 2, and sec. 3.3."""
    scores = st.lists(st.floats(-4, 4), min_size=len(y), max_size=len(y))
    f, g = (np.array(data.draw(scores)) for _ in range(2))
    change = abs(query_loss(loss, f, y) - query_loss(loss, g, y))
    assert change <= constant_of(loss, len(y)) * np.abs(f - g).max() + 1e-9


def test_the_cross_entropy_is_smooth_with_1():
    """Prop. 1 has 2, which holds."""
    change = 1e-4 * np.array([1.0, -1.0])
    slopes = [naive.listwise(f, [0.0, 1.0])[1] for f in (-change / 2, change / 2)]
    assert np.abs(slopes[1] - slopes[0]).sum() / 1e-4 == pytest.approx(1)
    rng = np.random.default_rng(0)
    for _ in range(50):
        p = rng.dirichlet(np.ones(4) / 3)
        hessian = np.diag(p) - np.outer(p, p)
        moves = np.array(list(itertools.product([-1, 1], repeat=4)))
        assert np.abs(moves @ hessian).sum(axis=1).max() <= 1 + 1e-12


@pytest.mark.parametrize("loss", ["cross_entropy", "smoothed_dcg"])
def test_smoothness_bounds_the_change_of_the_gradient(loss):
    rng = np.random.default_rng(0)
    bound = theory.smoothness_constant(loss, sigma=0.7, max_relevance=3)
    sigma = 0.7 if loss == "smoothed_dcg" else 1.0
    worst = 0.0
    for _ in range(300):
        m = int(rng.integers(2, 6))
        y, f = rng.integers(0, 4, m), rng.normal(size=m) * rng.choice([0.1, 1, 5])
        step = rng.choice([-1.0, 1.0], m) * 1e-4
        slopes = [naive.listwise(g, y, None, None, loss, sigma)[1] for g in (f, f + step)]
        worst = max(worst, np.abs(slopes[1] - slopes[0]).sum() / 1e-4)
    assert bound / 20 < worst <= bound
    assert math.isinf(theory.smoothness_constant("rank_svm"))


def test_the_step_of_theorem_5_and_its_bound():
    step = theory.ogd_step(100, **BALL, lipschitz=4)
    assert step == pytest.approx(3 / (4 * 2 * math.sqrt(200)), rel=1e-15)
    bound = theory.ogd_bound(100, **BALL, lipschitz=4)
    assert bound == pytest.approx(4 * 3 * 2 * math.sqrt(2 / 100), rel=1e-15)
    regret = 3**2 / (2 * step * 100) + step / 2 * (4 * 2) ** 2
    assert regret == pytest.approx(0.75 * bound)


@pytest.mark.parametrize("best_loss", [0.0, 0.3, 5.0])
def test_the_smooth_step_minimises_its_bound(best_loss):
    options = {**BALL, "best_loss": best_loss, "smoothness": 1.5}
    b = 1.5 * 2**2

    def bound_at(step):
        return (best_loss + 3**2 / (2 * step * 50)) / (1 - step * b) - best_loss

    step = theory.smooth_ogd_step(50, **options)
    found = minimize_scalar(bound_at, bounds=(1e-9, 1 / b - 1e-9), method="bounded")
    assert step == pytest.approx(found.x, abs=1e-5)
    assert theory.smooth_ogd_bound(50, **options) == pytest.approx(bound_at(step), rel=1e-12)


def test_small_losses_are_learned_faster():
    few, many = (theory.smooth_ogd_bound(n, **BALL, best_loss=0.0) for n in (100, 10_000))
    assert few / many == pytest.approx(100)
    few, many = (theory.smooth_ogd_bound(n, **BALL, best_loss=1e6) for n in (100, 10_000))
    assert few / many == pytest.approx(10, rel=0.01)


def test_the_step_and_the_bound_of_8_3_have_four_times_the_smoothness():
    """Eq. (7) and (8) as printed."""
    n, w, h = 50, 3.0, 1.5 * 2**2
    for best_loss in (0.0, 0.3, 5.0, 1e6):
        root = math.sqrt(4 * h**2 * w**2 + 2 * h * best_loss * n)
        options = {**BALL, "best_loss": best_loss}
        step = theory.smooth_ogd_step(n, **options, smoothness=4 * 1.5)
        assert step == pytest.approx(w / (4 * h * w + 2 * root))
        printed = 2 * math.sqrt(2 * h * w**2 * best_loss / n) + 8 * h * w**2 / n
        assert theory.smooth_ogd_bound(n, **options, smoothness=4 * 1.5) <= printed * (1 + 1e-12)
        ours = 2 * math.sqrt(h * w**2 * best_loss / (2 * n)) + 2 * h * w**2 / n
        assert theory.smooth_ogd_bound(n, **options, smoothness=1.5) <= ours * (1 + 1e-12)
        assert 2 - 1e-9 <= printed / ours <= 4 + 1e-9


def test_a_smooth_loss_bounds_its_gradient_with_2_not_with_less():
    """Sec. 8.3 has 4; the square H s^2 / 2 has exactly 2."""
    s, h = 1.7, 3.0
    assert (h * s) ** 2 == pytest.approx(2 * h * (h * s**2 / 2))
    rng = np.random.default_rng(1)
    for _ in range(50):
        f, y = rng.normal(size=4) * 3, rng.integers(0, 4, 4)
        value, gradient = naive.listwise(f, y)
        assert np.abs(gradient).sum() ** 2 <= 2 * 1 * value * (1 + 1e-9)


@given(st.lists(st.floats(-5, 5), min_size=6, max_size=6), st.lists(st.integers(0, 3), min_size=3))
def test_lemma_14_holds_with_1_in_place_of_6(scores, y):
    y = np.array(y[:3])
    f, g = np.array(scores[:3]), np.array(scores[3:])
    first, second = (naive.listwise(s, y)[0] for s in (f, g))
    gap = np.abs(f - g).max()
    assert (first - second) ** 2 <= 1 * (first + second) * gap**2 + 1e-9


def test_lemma_14_does_not_hold_with_less_than_1():
    """f = H t^2 / 2 at two points close to each other."""
    f, g = 1.0, 1.001
    ratio = (f**2 / 2 - g**2 / 2) ** 2 / ((f**2 / 2 + g**2 / 2) * (f - g) ** 2)
    assert ratio == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize(("m", "d"), [(2, 1), (2, 3), (3, 2), (4, 1)])
def test_linear_scores_that_follow_permutations_have_dimension_2d(m, d):
    """Theorem 3: the maps L with pi L(X) = L(pi X) for the transpositions, by their null space."""
    equations = []
    for i in range(m - 1):
        swap = np.eye(m)
        swap[[i, i + 1]] = swap[[i + 1, i]]
        inputs = np.kron(swap, np.eye(d))  # X as a vector, row by row
        equations.append(np.kron(swap, np.eye(m * d)) - np.kron(np.eye(m), inputs.T))
    rank = np.linalg.matrix_rank(np.vstack(equations))
    assert m * m * d - rank == 2 * d


@given(st.integers(0, 10**6))
def test_the_norm_of_a_transposed_matrix_is_that_of_its_longest_row(seed):
    """Lemma 4 at p = 2: attained at a unit vector, exceeded nowhere on the l1 ball."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4, 3))
    longest = np.linalg.norm(X, axis=1).max()
    v = rng.normal(size=4)
    assert np.linalg.norm(X.T @ v) <= longest * np.abs(v).sum() + 1e-12
    assert max(np.linalg.norm(X.T @ e) for e in np.eye(4)) == pytest.approx(longest)
    w = rng.normal(size=3)
    assert np.abs(X @ w).max() <= longest * np.linalg.norm(w) + 1e-12


@pytest.mark.parametrize("n", [1, 10, 200])
def test_online_descent_keeps_the_regret_and_needs_its_order(n):
    """Gradients orthogonal to the iterate: regret W G sqrt(n), 1 / sqrt(2) of Theorem 5's."""
    step = theory.ogd_step(n, **UNIT, lipschitz=1.0)
    gradients = np.eye(n)
    w, regret = np.zeros(n), 0.0
    for g in gradients:
        regret += g @ w
        w -= step * g
    regret += np.linalg.norm(gradients.sum(axis=0))  # that of the best w of norm 1
    bound = n * theory.ogd_bound(n, **UNIT, lipschitz=1.0)
    assert regret == pytest.approx(bound / math.sqrt(2))


@given(st.integers(0, 10**6), st.floats(0.2, 5))
def test_regret_of_descent_on_queries(seed, longer):
    """Sec. 5 with eta G^2 / 2, so with eta G^2, for any step and coefficients of norm W."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 3, 2))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    y, u = rng.integers(0, 3, (8, 3)), rng.normal(size=2)
    u *= 2 / np.linalg.norm(u)
    step = longer * theory.ogd_step(8, max_norm=2, row_norm=1)
    w, regret = np.zeros(2), 0.0
    for rows, grades in zip(X, y, strict=True):
        value, slopes = naive.listwise(rows @ w, grades)
        regret += value - naive.listwise(rows @ u, grades)[0]
        w -= step * rows.T @ slopes
    assert regret <= 2**2 / (2 * step) + step / 2 * 2**2 * 8 + 1e-9


def erm_excess(n, share, alpha):
    """Expected excess of Theorem 6 for the loss y s, y = 1 with probability `share`, else -1.

    One row of one feature, x = 1, and W = 1: everything is a sum over a binomial.
    """
    k = np.arange(n + 1)
    probability = comb(n, k) * share**k * (1 - share) ** (n - k)
    w = np.clip(-(2 * k - n) / n / alpha, -1, 1)
    drift = 2 * share - 1
    return float(probability @ w) * drift + abs(drift)


@pytest.mark.parametrize("n", [1, 4, 30, 200])
def test_the_regularised_minimiser_keeps_the_bound_of_theorem_6(n):
    alpha = theory.erm_alpha(n, **UNIT, lipschitz=1.0)
    bound = theory.erm_bound(n, **UNIT, lipschitz=1.0)
    worst = max(erm_excess(n, share, alpha) for share in np.linspace(0, 1, 201))
    assert bound / (4 if n >= 30 else 10) < worst <= bound
    printed = 2 * (8 / n + math.sqrt(2 / n))
    assert bound < printed


def test_the_alpha_of_theorem_6_minimises_its_bound():
    n, g, w, r = 70, 4.0, 3.0, 2.0

    def bound_at(alpha):
        return alpha * w**2 / 2 + 2 * g**2 * r**2 / (alpha * n)

    alpha = theory.erm_alpha(n, **BALL, lipschitz=g)
    found = minimize_scalar(bound_at, bounds=(1e-6, 10), method="bounded")
    assert alpha == pytest.approx(found.x, rel=1e-4)
    assert theory.erm_bound(n, **BALL, lipschitz=g) == pytest.approx(bound_at(alpha))


def test_one_query_moves_the_regularised_minimiser_by_2_g_r_over_alpha_n():
    """The stability under Theorem 6, attained by linear losses."""
    n, alpha = 9, 3.0
    before, after = (-(2 * k - n) / n / alpha for k in (4, 5))
    assert abs(before - after) == pytest.approx(2 / (alpha * n))


def greedy_centre(X, w, e):
    """The centre of the proof of Prop. 7 and the number of its steps."""
    v, steps = np.zeros_like(w), 0
    while np.abs(gaps := X @ (w - v)).max() > e:
        worst = np.abs(gaps).argmax()
        v = v + e * np.sign(gaps[worst]) * X[worst]
        steps += 1
    return v, steps


@every_loss
@given(seed=st.integers(0, 10**6), c=st.floats(1.01, 5))
def test_proposition_7_by_its_cover(loss, seed, c):
    """Fewer than c^2 steps of 2 m n kinds lead to a centre with all losses within epsilon."""
    rng = np.random.default_rng(seed)
    n_queries, n_rows = 3, 4
    X = rng.normal(size=(n_queries * n_rows, 5))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    w = rng.normal(size=5)
    w /= np.linalg.norm(w)
    lipschitz = constant_of(loss, n_rows)
    epsilon = lipschitz / c
    v, steps = greedy_centre(X, w, 1 / c)
    bits = theory.covering_number(epsilon, n_queries, n_rows, **UNIT, lipschitz=lipschitz)
    assert steps < c**2
    assert steps * math.log2(2 * n_queries * n_rows + 1) <= bits
    y = rng.integers(0, 4, (n_queries, n_rows))
    scores = [(X @ one).reshape(n_queries, n_rows) for one in (w, v)]
    for first, second, grades in zip(*scores, y, strict=True):
        change = query_loss(loss, first, grades) - query_loss(loss, second, grades)
        assert abs(change) <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("k", [1, 2, 5, 9])
def test_orthogonal_rows_need_all_steps_but_one(k):
    w = np.ones(k) / math.sqrt(k)
    _, steps = greedy_centre(np.eye(k), w, 0.999 / math.sqrt(k))
    assert steps == k == math.ceil(k / 0.999**2) - 1


def test_covering_numbers():
    c = 2 * 3 * 2 / 0.5
    expected = c**2 * math.log2(2 * 7 * 11 + 1)
    assert theory.covering_number(0.5, 11, 7, **BALL) == pytest.approx(expected, rel=1e-15)
    assert theory.covering_number(11.0, 11, 7, **BALL) == 2 * math.log2(2 * 7 * 11 + 1)
    assert theory.covering_number(12.0, 11, 7, **BALL) == 0


def test_covering_numbers_of_the_l1_ball():
    c = 2 * 3 * 2 / 0.5
    terms = math.floor(2 * c**2 * math.log(2 * 7 * 11)) + 1
    bits = theory.l1_covering_number(0.5, 11, 7, 5, **BALL)
    assert bits == pytest.approx(terms * math.log2(10), rel=1e-15)
    assert theory.l1_covering_number(12.0, 11, 7, 5, **BALL) == 0


@pytest.mark.parametrize("d", [1, 2, 100])
@pytest.mark.parametrize("c", [1.01, 3.0, 50.0])
@pytest.mark.parametrize("n_scores", [1, 10, 10**6])
def test_proposition_10_as_printed_is_a_hundred_times_larger(d, c, n_scores):
    bits = theory.l1_covering_number(1 / c, n_scores, 1, d, **UNIT, lipschitz=1.0)
    printed = math.ceil(288 * c**2 * (2 + math.log(d)))
    printed *= math.log2(2 * math.ceil(8 * c) * n_scores + 1)
    assert 100 * bits <= printed


@given(seed=st.integers(0, 10**6), c=st.floats(1.01, 1.6), d=st.integers(1, 2))
def test_proposition_10_by_its_cover(seed, c, d):
    """Some mean of k vectors +-e_j is close to w at every row."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(3, d))
    w = rng.dirichlet(np.ones(d)) * rng.choice([-1, 1], d)
    bits = theory.l1_covering_number(1 / c, 3, 1, d, **UNIT, lipschitz=1.0)
    k = round(bits / math.log2(2 * d))
    corners = np.vstack([np.eye(d), -np.eye(d)])
    means = [
        corners[list(chosen)].mean(axis=0)
        for chosen in itertools.combinations_with_replacement(range(2 * d), k)
    ]
    assert np.abs(X @ (np.array(means) - w).T).max(axis=0).min() <= 1 / c


def dudley(scale, bits, largest, n):
    """Eq. (5), minimised over its start, for log2 N = (scale / epsilon)^2 bits."""

    def at(a):
        return 4 * a + 10 * scale * math.sqrt(bits / n) * math.log(largest / a)

    found = minimize_scalar(at, bounds=(1e-9 * largest, largest), method="bounded")
    return found.fun


def test_dudleys_integral_with_binary_logarithms_has_10():
    """12 with natural logarithms."""
    assert 9.99 < 12 * math.sqrt(math.log(2)) < 10


@pytest.mark.parametrize("max_loss", [None, 1e-3, 0.5, 1.0, 100.0])
@pytest.mark.parametrize("n", [10**7, 10**10])
def test_corollary_8_is_dudleys_integral(n, max_loss):
    options = {"max_norm": 0.5, "row_norm": 0.5, "lipschitz": 4.0}
    bound = theory.rademacher_bound(n, 30, **options, max_loss=max_loss)
    largest = 1.0 if max_loss is None else min(max_loss, 1.0)
    integral = min(dudley(1.0, math.log2(2 * 30 * n + 1), largest, n), largest)
    assert 0.97 * bound <= integral <= bound * (1 + 1e-9)
    slack = math.sqrt(math.log2(3 * 30 * n) / n)
    printed = 10 * slack * math.log(6 * largest / (5 * slack))
    assert bound == pytest.approx(printed if 0 < printed < largest else largest, rel=1e-14)


def test_corollary_8_as_printed_is_negative_for_few_queries():
    n, m = 10, 30
    slack = math.sqrt(math.log2(3 * m * n) / n)
    assert 10 * slack * math.log(6 * 0.5 / (5 * slack)) < 0
    assert theory.rademacher_bound(n, m, **UNIT, lipschitz=1.0, max_loss=0.5) == 0.5


def test_corollary_11_as_printed_vanishes_for_one_feature():
    """The losses y w, y = +-1, |w| <= 1 have the complexity E|sum of signs| / n."""

    def printed(d, scale, largest, m, n):
        size = 24 * m * n * scale
        root = math.sqrt(math.log(d) * math.log2(size))
        inner = (largest + size) / (40 * math.sqrt(2) * scale * root)
        return 120 * math.sqrt(2) * scale * root / math.sqrt(n) * math.log(inner) ** 2

    n = 12
    signs = np.array(list(itertools.product([-1, 1], repeat=n)))
    complexity = np.abs(signs.sum(axis=1)).mean() / n
    assert printed(1 + 1e-12, 1.0, 1.0, 1, n) < complexity / 5
    bound = theory.l1_rademacher_bound(n, 1, 1, **UNIT, lipschitz=1.0)
    assert complexity <= bound == 1.0
    # The unit of the loss matters, where both sides should be multiplied by it.
    ratio = printed(10, 1e-3, 1e-3, 5, 100) / printed(10, 1.0, 1.0, 5, 100)
    assert abs(math.log(ratio / 1e-3)) > 0.1
    with pytest.raises(ValueError):
        printed(10, 1e-5, 1e-5, 5, 100)


def test_the_bound_of_the_l1_ball_is_dudleys_integral():
    n, m, d = 10**12, 30, 20
    epsilon = np.geomspace(1e-6, 1, 200_001)
    bits = (2 / epsilon**2 * math.log(2 * m * n) + 1) * math.log2(2 * d)
    roots = np.sqrt(bits / n)
    widths = np.diff(epsilon)
    tails = 4 * epsilon[:-1] + 10 * np.cumsum(((roots[1:] + roots[:-1]) / 2 * widths)[::-1])[::-1]
    bound = theory.l1_rademacher_bound(n, m, d, **UNIT, lipschitz=1.0)
    assert 0.9 * bound <= tails.min() <= bound
    assert bound < 0.1


def test_complexities_hold_on_small_samples():
    """The losses <x, w> of n rows have W E|sum of signed rows| / n."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 3))
    signs = np.array(list(itertools.product([-1, 1], repeat=8)))
    l2, l1 = np.linalg.norm(X, axis=1).max(), np.abs(X).max()
    sums = signs @ X / 8
    l2_complexity = np.linalg.norm(sums, axis=1).mean()
    assert l2_complexity <= theory.rademacher_bound(8, 1, max_norm=1, row_norm=l2, lipschitz=1)
    l1_complexity = np.abs(sums).max(axis=1).mean()
    assert l1_complexity <= theory.l1_rademacher_bound(
        8, 1, 3, max_norm=1, row_norm=l1, lipschitz=1
    )


@pytest.mark.parametrize("max_loss", [1.0, 3.0])
def test_corollary_16_is_dudleys_integral(max_loss):
    """Prop. 15: log2 N is 12 H W^2 R^2 r log2(2 m n + 1) / epsilon^2."""
    n, m, r = 10**11, 30, 0.01
    scale = math.sqrt(12 * 1.5 * r) * 3 * 2
    bound = theory.smooth_rademacher_bound(
        n, m, **BALL, largest_loss=r, smoothness=1.5, max_loss=max_loss
    )
    integral = dudley(scale, math.log2(2 * m * n + 1), math.sqrt(max_loss * r), n)
    assert 0.95 * bound <= integral <= bound < r
    c = 5 * math.sqrt(3) * 6 * math.sqrt(1.5 * math.log2(3 * m * n) / n)
    assert bound == pytest.approx(4 * math.sqrt(r) * c * math.log(3 * math.sqrt(max_loss) / c))
    few = theory.smooth_rademacher_bound(100, m, **BALL, largest_loss=r, max_loss=max_loss)
    assert few == r
    default = theory.smooth_rademacher_bound(n, m, **BALL, largest_loss=r)
    assert default == theory.smooth_rademacher_bound(n, m, **BALL, largest_loss=r, max_loss=n * r)


def test_the_generalization_bound_of_a_coin():
    """One ranker: the mean of n coins of probability 1/2 against its expectation."""
    n, delta = 60, 0.3
    bound = theory.generalization_bound(0.0, n, max_loss=2.0, delta=delta)
    assert bound == pytest.approx(3 * 2 * math.sqrt(math.log(2 / delta) / (2 * n)), rel=1e-15)
    k = np.arange(n + 1)
    failures = comb(n, k)[1.0 - 2 * k / n > bound].sum() / 2.0**n
    assert failures <= delta
    assert theory.generalization_bound(0.25, n, max_loss=2.0, delta=delta) == bound + 0.5


def test_long_lists_cost_a_logarithm():
    short, long = (theory.rademacher_bound(10**8, m, **BALL) for m in (10, 10_000))
    assert short < long < 1.4 * short
