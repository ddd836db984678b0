"""Lemmas, bounds and rates of Chen2012: by enumeration on small distributions, and as printed."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from sklearn_rank import theory
from sklearn_rank.objectives import MARGIN_LOSSES

GROWING = ["least_squares", "hinge", "squared_hinge", "logistic"]
SMOOTH = ["least_squares", "squared_hinge", "logistic"]
every_growing_loss = pytest.mark.parametrize("loss", GROWING)
every_smooth_loss = pytest.mark.parametrize("loss", SMOOTH)


def value(loss, margins):
    return MARGIN_LOSSES[loss].value(np.asarray(margins, dtype=float))


def slope(loss, margins):
    return MARGIN_LOSSES[loss].derivative(np.asarray(margins, dtype=float))


class Problem:
    """Positive and negative points of the plane with probabilities; f is a vector, K = X X'."""

    def __init__(self, seed, loss, alpha):
        rng = np.random.default_rng(seed)
        self.above, self.below = rng.normal(size=(2, 3, 2))
        self.above[0] += 1
        self.p, self.q = rng.dirichlet(np.ones(3), size=2)
        self.loss, self.alpha = loss, alpha
        both = np.vstack([self.above, self.below])
        self.kappa = float(np.linalg.norm(both, axis=1).max())
        self.sample = [rng.choice(3, 2, p=self.p), rng.choice(3, 2, p=self.q)]

    def mean_loss(self, f, weights=None):
        """E(f), or E_S(f) with the shares of a sample."""
        p, q = (self.p, self.q) if weights is None else weights
        margins = (self.above @ f)[:, None] - self.below @ f
        return float(p @ value(self.loss, margins) @ q)

    def gradient(self, f, weights):
        p, q = weights
        slopes = slope(self.loss, (self.above @ f)[:, None] - self.below @ f) * np.outer(p, q)
        return slopes.sum(axis=1) @ self.above - slopes.sum(axis=0) @ self.below + self.alpha * f

    def shares(self):
        return [np.bincount(rows, minlength=3) / 2 for rows in self.sample]

    def minimiser(self, ridge):
        """The minimiser of ``E(f) + ridge ||f||^2``."""
        found = minimize(
            lambda f: self.mean_loss(f) + ridge * f @ f, np.zeros(2), tol=1e-13, method="BFGS"
        )
        return found.x


def one_step_gap(problem, best, n_steps=12):
    """The largest left minus right side of (3.3) along the descent on a sample."""
    shares = problem.shares()
    eta0 = theory.safe_step(problem.loss, problem.kappa, problem.alpha)
    f, gaps = np.zeros(2), []
    for t in range(1, n_steps + 1):
        eta = eta0 * t**-0.25
        g = problem.gradient(f, shares)
        excess = problem.mean_loss(best, shares) - problem.mean_loss(best)
        excess += problem.mean_loss(f) - problem.mean_loss(f, shares)
        right = (1 - eta * problem.alpha) * np.sum((f - best) ** 2)
        right += eta**2 * g @ g + 2 * eta * excess
        f = f - eta * g
        gaps.append(np.sum((f - best) ** 2) - right)
    return max(gaps)


@every_smooth_loss
@settings(max_examples=settings.default.max_examples * 3 // 10)
@given(seed=st.integers(0, 10**6), alpha=st.floats(0.05, 2))
def test_one_step_of_lemma_3_2(loss, seed, alpha):
    problem = Problem(seed, loss, alpha)
    assert one_step_gap(problem, problem.minimiser(alpha / 2)) <= 1e-5


def test_lemma_3_2_does_not_hold_for_the_minimiser_as_printed():
    """(1.4) prints lambda for lambda / 2: with all pairs as the sample, descent ends elsewhere."""
    problem = Problem(3, "least_squares", 0.5)
    end, printed = problem.minimiser(0.25), problem.minimiser(0.5)
    eta = theory.safe_step("least_squares", problem.kappa, 0.5)
    g = problem.gradient(end, (problem.p, problem.q))
    assert np.linalg.norm(g) < 1e-5
    distance = np.sum((end - printed) ** 2)
    assert np.sum((end - eta * g - printed) ** 2) > (1 - eta * 0.5 / 2) * distance


@every_smooth_loss
def test_the_descent_converges_to_the_minimiser_with_half_of_lambda(loss):
    problem = Problem(3, loss, 0.5)
    shares = problem.p, problem.q
    f, eta = np.zeros(2), theory.safe_step(loss, problem.kappa, 0.5)
    for _ in range(1500):
        f = f - eta * problem.gradient(f, shares)
    assert np.linalg.norm(f - problem.minimiser(0.25)) < 1e-4
    assert np.linalg.norm(f - problem.minimiser(0.5)) > 0.01


@every_smooth_loss
@settings(max_examples=settings.default.max_examples * 3 // 10)
@given(seed=st.integers(0, 10**6), alpha=st.floats(0.05, 2), scale=st.floats(1e-3, 3))
def test_lemma_3_1_with_the_square(loss, seed, alpha, scale):
    problem = Problem(seed, loss, alpha)
    best = problem.minimiser(alpha / 2)
    f = best + scale * np.random.default_rng(seed).normal(size=2)
    excess = problem.mean_loss(f) + alpha / 2 * f @ f
    excess -= problem.mean_loss(best) + alpha / 2 * best @ best
    assert alpha / 2 * np.sum((f - best) ** 2) <= excess + 1e-5


def test_lemma_3_1_does_not_hold_as_printed_without_the_square():
    problem = Problem(0, "logistic", 0.5)
    best = problem.minimiser(0.25)
    f = best + 0.01
    excess = problem.mean_loss(f) + 0.25 * f @ f - problem.mean_loss(best) - 0.25 * best @ best
    assert 0.25 * np.linalg.norm(f - best) > 2 * excess


def deviations(loss, p, m, n, radius):
    """Probability, sup (E - E_S) and sup (E_S - E) of every sample; one feature with values -1, 1.

    Positive and negative rows are 1 with probabilities `p`; f(x) = a x with |a| <= radius.
    """
    a = np.linspace(-radius, radius, 401)
    losses = np.array([[value(loss, a * (x - z)) for z in (-1, 1)] for x in (-1, 1)])
    expected = np.einsum("i,j,ija->a", [1 - p[0], p[0]], [1 - p[1], p[1]], losses)
    found = []
    for above in itertools.product([0, 1], repeat=m):
        for below in itertools.product([0, 1], repeat=n):
            mean = np.mean([losses[i, j] for i in above for j in below], axis=0)
            chance = math.prod(p[0] if i else 1 - p[0] for i in above)
            chance *= math.prod(p[1] if j else 1 - p[1] for j in below)
            found.append((chance, np.max(expected - mean), np.max(mean - expected)))
    return np.array(found).T


def extremes(loss, radius):
    """L, M and phi(0) at kappa = 1."""
    ends = [-2 * radius, 2 * radius]
    return np.abs(slope(loss, ends)).max(), value(loss, ends).max(), float(value(loss, 0.0))


@every_growing_loss
@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 2), (3, 1), (4, 3)])
@pytest.mark.parametrize("p", [(0.5, 0.5), (0.8, 0.3)])
def test_lemma_3_5_on_all_samples(loss, m, n, p):
    radius = 1.5
    chance, too_low, too_high = deviations(loss, p, m, n, radius)
    slopes, largest, start = extremes(loss, radius)
    sizes = m**-0.5 + n**-0.5
    assert chance @ too_low <= 4 * slopes * radius * sizes
    assert chance @ too_high <= 4 * slopes * radius * sizes
    both = np.maximum(too_low, too_high)
    assert chance @ both <= (4 * slopes * radius + 2 * start) * sizes  # as printed
    for epsilon in np.linspace(0.01, 1, 20) * largest:
        tail = math.exp(-2 * (m * n * epsilon) ** 2 / ((m + n) ** 3 * largest**2))
        assert chance[np.abs(both - chance @ both) > epsilon].sum() <= 2 * tail


def test_the_tail_of_lemma_3_5_needs_the_factor_2():
    """One sample of two rows is never within epsilon of the mean: probability 1."""
    radius = 1.5
    chance, too_low, too_high = deviations("logistic", (0.8, 0.999999), 1, 1, radius)
    both = np.maximum(too_low, too_high)
    far = np.abs(both - chance @ both)
    epsilon = 0.25
    assert chance[far > epsilon].sum() > 0.999
    assert math.exp(-2 * epsilon**2 / (8 * extremes("logistic", radius)[1] ** 2)) < 0.9995


@every_growing_loss
def test_another_row_changes_the_supremum_by_less_than_printed(loss):
    """(3.14) has (1/m + 1/n) M; one positive row changes it by at most M / m."""
    radius, m, n = 1.5, 1, 4
    _, too_low, too_high = deviations(loss, (0.5, 0.5), m, n, radius)
    both = np.maximum(too_low, too_high).reshape(2, 2, -1)
    largest = extremes(loss, radius)[1]
    assert np.abs(both[:, 0] - both[:, 1]).max() <= largest / n
    assert np.abs(both[0] - both[1]).max() <= largest / m


@every_growing_loss
@pytest.mark.parametrize("delta", [0.02, 0.5])
def test_sample_error_bound(loss, delta):
    alpha = 2 * abs(float(slope(loss, 0.0))) / 1.5  # the radius is 1.5
    slopes, largest, _ = extremes(loss, 1.5)
    m, n = 4, 3
    bound = theory.sample_error_bound(m, n, loss, 1.0, alpha, delta=delta)
    expected = 8 * slopes * 1.5 * (1 / 2 + 1 / math.sqrt(3))
    expected += largest * math.sqrt(2 * (1 / 4 + 1 / 3) * math.log(1 / delta))
    assert bound == pytest.approx(expected)
    chance, too_low, too_high = deviations(loss, (0.7, 0.4), m, n, 1.5)
    assert chance[too_low + too_high > bound].sum() <= delta


def test_the_first_terms_of_3_19_are_too_small_for_3_20():
    """Twice (3.20) at m = n has sqrt(2) times the printed factor."""
    m = n = 50
    twice = 2 * (math.sqrt(m) + math.sqrt(n)) / math.sqrt(m * n)
    printed = (m + n) ** 1.5 / (m * n)
    assert twice == pytest.approx(math.sqrt(2) * printed)


def test_the_sample_error_does_not_grow_with_one_class():
    bounds = [theory.sample_error_bound(100, n, "logistic", 1.0, 0.1) for n in (10**4, 10**8)]
    assert bounds[1] < bounds[0]
    printed = [(100 + n) ** 1.5 / (100 * n) for n in (10**4, 10**8)]
    assert printed[1] > 90 * printed[0]


@pytest.mark.parametrize("theta", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("v", [0.05, 0.5, 1.0])
@pytest.mark.parametrize("n_steps", [1, 10, 300])
def test_sums_of_lemma_3_7(theta, v, n_steps):
    """(3.22) holds with 1 / alpha in place of 3 / alpha; (3.23) as printed; (3.24) with >=."""
    t = np.arange(1, n_steps + 1.0)
    remaining = np.append(np.cumprod((1 - v * t**-theta)[::-1])[::-1][1:], 1.0)
    assert t**-theta @ remaining <= 1 / v * (1 + 1e-12)
    tails = np.append(np.cumsum((t**-theta)[::-1])[::-1][1:], 0.0)
    below = (
        ((n_steps + 1) ** (1 - theta) - (t + 1) ** (1 - theta)) / (1 - theta)
        if theta < 1
        else np.log((n_steps + 1) / (t + 1))
    )
    assert (tails >= below - 1e-12).all()
    if theta > 0 and (theta < 1 or v < 1):
        total = (t ** (-2 * theta) * np.exp(-v * tails))[:-1].sum()
        if theta < 1:
            decay = v * (1 - 2 ** (theta - 1)) / (1 - theta) * (n_steps + 1) ** (1 - theta)
            factor = 9 * n_steps ** (1 - theta) / ((1 - theta) * 2 ** (1 - theta))
            assert total <= 18 / (v * n_steps**theta) + factor * math.exp(-decay)
        else:
            assert total <= 8 / (1 - v) * (n_steps + 1) ** -v


def test_3_24_is_printed_the_wrong_way_round():
    assert sum(j**-0.5 for j in range(2, 6)) > 2 * (math.sqrt(6) - math.sqrt(2)) + 0.1


def test_the_first_term_of_3_29_is_over_t_to_the_theta():
    """As printed, over t, it is soon too small."""
    theta, v, n_steps = 0.5, 1.0, 2000
    t = np.arange(1, n_steps + 1.0)
    remaining = np.append(np.cumprod((1 - v * t**-theta)[::-1])[::-1][1:], 1.0)
    total = t ** (-2 * theta) @ remaining
    decay = v * (1 - 2 ** (theta - 1)) / (1 - theta) * (n_steps + 2) ** (1 - theta)
    rest = 9 * (n_steps + 1) ** 0.5 / (0.5 * 2**0.5) * math.exp(-decay)
    assert 18 / (v * (n_steps + 1)) + rest < total < 18 / (v * (n_steps + 1) ** theta) + rest


@every_smooth_loss
def test_iterates_keep_their_bound(loss):
    problem = Problem(1, loss, 0.5)
    best, shares = problem.minimiser(0.25), problem.shares()
    eta0 = theory.safe_step(loss, problem.kappa, 0.5)
    options = {"alpha": 0.5, "eta0": eta0, "theta": 0.5}
    f = np.zeros(2)
    for t in range(1, 9):
        f = f - eta0 * t**-0.5 * problem.gradient(f, shares)
        bound = theory.iterate_error_bound(2, 2, loss, problem.kappa, max_iter=t, **options)
        assert np.sum((f - best) ** 2) <= bound


def test_the_gradient_of_proposition_3_8_needs_2_kappa():
    """Hinge, two opposite rows, f of the norm of Lemma 3.4 that ranks them wrongly: 4 kappa."""
    kappa, alpha = 1.5, 0.2
    radius = theory.norm_bound("hinge", kappa, alpha)
    f = -radius
    g = float(slope("hinge", 2 * kappa * f)) * 2 * kappa + alpha * f
    steepest = extremes("hinge", kappa * radius)[0]
    assert abs(g) == pytest.approx(2 * kappa * steepest + 2 * kappa * 1)
    assert abs(g) > 2 * kappa * steepest + kappa * 1


def test_iterate_error_bound_by_arithmetic():
    """Two steps with the hinge loss: r = 2 / alpha = 4, L = 1, phi(0) = 1, kappa = 1."""
    alpha, eta = 0.5, 0.2
    error = theory.sample_error_bound(100, 50, "hinge", 1.0, alpha, delta=0.1)
    start = min(2 * 1 / alpha, (2 / alpha) ** 2)
    once = (1 - eta * alpha) * start + (eta * (2 * 1 + 2 * 1)) ** 2 + 2 * eta * error
    second = eta / 2**0.5
    twice = (1 - second * alpha) * once + (second * 4) ** 2 + 2 * second * error
    options = {"alpha": alpha, "eta0": eta, "theta": 0.5, "delta": 0.1}
    for n_steps, expected in ((1, once), (2, twice)):
        bound = theory.iterate_error_bound(100, 50, "hinge", 1.0, max_iter=n_steps, **options)
        assert bound == pytest.approx(expected)


@every_growing_loss
@pytest.mark.parametrize("gamma", [0.02, 0.1])
@pytest.mark.parametrize(("s", "theta"), [(0.8, 0.3), (2.0, 0.6), (1.0, 0.5)])
def test_the_bound_has_the_rate_of_2_5(loss, s, gamma, theta):
    """The recursion tends to eta G^2 / alpha + 2 B / alpha; here for samples beyond all bounds."""
    terms = []
    for log_size in (100, 200):
        m = 2.0 * 10.0**log_size
        n_steps = (m / 2**1.5 / math.sqrt(m)) ** s
        alpha, kappa = n_steps**-gamma, 1.0
        eta = n_steps**-theta / theory.step_divisor(loss, kappa)
        reach = 2 * kappa * theory.norm_bound(loss, kappa, alpha)
        gradient = 2 * kappa * (abs(float(slope(loss, -reach))) + abs(float(slope(loss, 0.0))))
        error = theory.sample_error_bound(m, m, loss, kappa, alpha)
        terms.append(math.log(eta * gradient**2 / alpha + 2 * error / alpha))
    rate = (terms[0] - terms[1]) / (50 * math.log(10))  # N is a multiple of sqrt(m)
    expected = theory.rate_exponent(loss, s=s, gamma=gamma, theta=theta)
    assert rate == pytest.approx(expected, abs=0.01)


def test_the_recursion_tends_to_its_limit():
    """Both terms of the test above, from the function."""
    options = {"alpha": 0.2, "eta0": 0.4, "theta": 0.3}
    bound = theory.iterate_error_bound(10**8, 10**8, "hinge", 0.5, max_iter=20_000, **options)
    eta = 0.4 * 20_000**-0.3
    error = theory.sample_error_bound(10**8, 10**8, "hinge", 0.5, 0.2)
    assert bound == pytest.approx(eta * (2 * 0.5 * 2) ** 2 / 0.2 + 2 * error / 0.2, rel=0.01)


def test_rates_by_arithmetic():
    options = {"s": 1.2, "gamma": 0.1, "theta": 0.5}
    hinge = min(1.2 * 0.5 - 1.2 * 0.1 * 1, 1 - 1.2 * 0.1 * 2)
    assert theory.rate_exponent("hinge", **options) == pytest.approx(hinge)
    least_squares = min(1.2 * 0.5 - 1.2 * 0.1 * 3, 1 - 1.2 * 0.1 * 3)
    assert theory.rate_exponent("least_squares", **options) == pytest.approx(least_squares)
    assert theory.rate_exponent("hinge", **options, beta=0.5) == pytest.approx(1.2 * 0.1 * 0.5)
    # m = n: N is sqrt(m) / 2^1.5, so that a rate a is m^(-a/2).
    slow = theory.rate_exponent("least_squares", s=1 / 0.99, gamma=1e-6, theta=0.99)
    assert slow == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("gamma", [0.05, 0.1])
@pytest.mark.parametrize("beta", [0.2, 0.9])
@pytest.mark.parametrize("theta", [0.5, 0.8])
def test_the_remark_after_corollary_2_2(gamma, beta, theta):
    """Least squares with s = 1 / (gamma (3 + beta)): the order in m is half of the exponent."""
    s = 1 / (gamma * (3 + beta))
    rate = theory.rate_exponent("least_squares", s=s, gamma=gamma, theta=theta, beta=beta)
    printed = min(theta - 3 * gamma, gamma * beta) / (gamma * (6 + 2 * beta))
    assert rate / 2 == pytest.approx(printed)
    if beta < (theta - 3 * gamma) / gamma:
        assert rate / 2 == pytest.approx(beta / (6 + 2 * beta))


@pytest.mark.parametrize("gamma", [0.05, 0.2])
@pytest.mark.parametrize("beta", [0.2, 0.9])
@pytest.mark.parametrize("theta", [0.5, 0.7])
def test_the_rates_of_table_1(gamma, beta, theta):
    """Logistic: s = theta + gamma and gamma beta for gamma - beta. Least squares: s = theta."""
    options = {"gamma": gamma, "theta": theta, "beta": beta}
    corrected = (gamma + theta) * min(theta - gamma, gamma * beta)
    printed = (gamma + theta) * min(theta - gamma, gamma - beta)
    for loss in ("logistic", "hinge"):
        rate = theory.rate_exponent(loss, s=theta + gamma, **options)
        assert rate == pytest.approx(corrected)
        assert rate > printed
    rate = theory.rate_exponent("least_squares", s=theta, **options)
    assert rate == pytest.approx(theta * min(theta - 3 * gamma, gamma * beta))


def test_no_s_gives_the_rate_of_least_squares_in_table_1():
    """A small beta asks for s = theta, with which the printed 1/2 of the other term is too much."""
    theta, gamma = 0.5, 0.14

    def printed(beta):
        return theta * min((theta - 3 * gamma) / 2, gamma * beta)

    def rates(beta):
        s = np.linspace(0.01, 3, 300)
        options = {"gamma": gamma, "theta": theta, "beta": beta}
        return np.array([theory.rate_exponent("least_squares", s=one, **options) for one in s])

    fits = [np.abs(rates(beta) - printed(beta)) < 1e-9 for beta in (0.1, 0.9)]
    assert fits[0].any()
    assert fits[1].any()
    assert not (fits[0] & fits[1]).any()


TABLE_1 = {  # q, C_0, |phi'(0)|, the supremum near 0, the divisor as a multiple of kappa^2
    "t^2": (2, 1, 0.0, 2.0, 12),
    "logistic": (1, 2, 0.5, 0.25, 11),
    "hinge": (1, 1, 1.0, 0.0, 8),
}
NEEDED = {"t^2": 8, "logistic": 1, "hinge": 4}


@pytest.mark.parametrize("loss", TABLE_1)
@pytest.mark.parametrize("kappa", [0.3, 1.0, 2.5])
def test_the_divisors_of_2_2_and_3_37_and_table_1(loss, kappa):
    q, constant, start, near, printed = TABLE_1[loss]
    two_two = near + constant * start + (8 * kappa**2 * start) ** (q - 1)
    three_37 = near + start + 2 ** (q - 1) * constant * (4 * kappa**2 * start) ** (q - 1)
    assert 4 * two_two == {"t^2": 8, "logistic": 9, "hinge": 8}[loss]
    assert 4 * three_37 == {"t^2": 8, "logistic": 11, "hinge": 8}[loss]
    assert (4 * three_37 == printed) == (loss != "t^2")
    if loss != "t^2":
        assert theory.step_divisor(loss, kappa) == pytest.approx(1 + NEEDED[loss] * kappa**2)
    assert printed >= NEEDED[loss]
    corrected = theory.slope_lipschitz_bound(
        kappa, 1.0, exponent=q, constant=constant, slope_at_zero=start, near_zero=near
    )
    assert corrected >= NEEDED[loss] / 4


@every_growing_loss
def test_growth_constants(loss):
    """(2.1) holds with C_0 and with no smaller number."""
    q, constant = theory.growth_exponent(loss), theory.growth_constant(loss)
    t = np.concatenate([-np.geomspace(1e-3, 1e8, 400), [0.0], np.geomspace(1e-3, 1e8, 400)])
    sizes = 1 + np.abs(t)
    ratio = max(
        (value(loss, t) / sizes**q).max(), (np.abs(slope(loss, t)) / sizes ** (q - 1)).max()
    )
    assert constant * (1 - 1e-3) <= ratio <= constant * (1 + 1e-12)


def test_the_constant_of_least_squares_in_table_1_is_too_small():
    """With C_0 = 1 the derivative 2 u of u^2 is above 1 + |u| from u = 1 on."""
    assert 2 * 3.0 > 1 * (1 + 3.0)
    assert 2 * 1e9 <= 2 * (1 + 1e9)


class Bent:
    """Slope -c, from -1 on downwards steeper by a (-1 - t)^(q - 1)."""

    def __init__(self, c, a, q):
        self.c, self.a, self.q = c, a, q
        self.constant = c + a  # |slope| <= c + a |t|^(q-1)

    def largest_quotient(self, kappa, alpha):
        """M of (3.7), on a grid."""
        reach = 4 * kappa**2 * self.c / alpha
        u = np.geomspace(1e-3, reach, 2000)
        return float((self.a * np.maximum(u - 1, 0) ** (self.q - 1) / u).max())


def test_3_37_as_printed_fails_where_its_base_is_below_1():
    loss, kappa, alpha = Bent(0.1, 1.0, 2), 0.5, 1e-3
    needed = loss.largest_quotient(kappa, alpha)
    base = 4 * kappa**2 * loss.c
    printed = 0 + loss.c + 2 * loss.constant * base
    assert base < 1
    assert printed < 0.5 * needed


@given(
    c=st.floats(0.01, 3),
    a=st.floats(0.01, 3),
    q=st.floats(1.01, 4),
    kappa=st.floats(0.1, 3),
    alpha=st.floats(1e-4, 1),
)
def test_3_37_corrected(c, a, q, kappa, alpha):
    loss = Bent(c, a, q)
    options = {"exponent": q, "constant": loss.constant, "slope_at_zero": c, "near_zero": 0.0}
    needed = loss.largest_quotient(kappa, alpha)
    assert needed <= theory.slope_lipschitz_bound(kappa, alpha, **options) * (1 + 1e-9)
    divisor = 1 + 4 * kappa**2 * theory.slope_lipschitz_bound(kappa, 1.0, **options)
    step = alpha ** max(q - 2, 0) / divisor
    assert step * (4 * kappa**2 * needed + alpha) <= 1 + 1e-9


def test_slope_lipschitz_bound_by_arithmetic():
    bound = theory.slope_lipschitz_bound(
        0.5, 0.1, exponent=3.5, constant=0.7, slope_at_zero=2.0, near_zero=0.25
    )
    assert bound == pytest.approx(0.25 + 2 + 2**2.5 * 0.7 * (4 * 0.25 * 2 / 0.1) ** 1.5)


def test_a_step_that_is_too_long_has_no_bound():
    safe = theory.safe_step("hinge", 1.0, 0.5)
    options = {"alpha": 0.5, "theta": 0.5, "max_iter": 2}
    assert theory.iterate_error_bound(10, 10, "hinge", 1.0, eta0=safe, **options) > 0
    with pytest.raises(ValueError, match="'eta0' parameter of iterate_error_bound must be"):
        theory.iterate_error_bound(10, 10, "hinge", 1.0, eta0=1.01 * safe, **options)
