"""Constants and bounds of Tewari2015: by arithmetic, and against what they bound."""

import inspect
import math

import numpy as np
import oracles_listwise as naive
import pytest
from scipy.optimize import minimize_scalar

from sklearn_rank.theory import _tewari as theory

BALL = {"max_norm": 3.0, "row_norm": 2.0}


def test_lipschitz_constants_are_attained_or_bound():
    assert theory.lipschitz_constant("cross_entropy") == 2
    assert theory.lipschitz_constant("smoothed_dcg", max_relevance=3, sigma=0.5) == 2 * 7 / 0.5
    assert theory.lipschitz_constant("rank_svm", n_rows=10) == 90
    # The supremum of the cross-entropy's: all of P_y on one row, all of P_s on another.
    gradient = naive.listwise([-800.0, 0.0], [800.0, 0.0])[1]
    assert np.abs(gradient).sum() == pytest.approx(2)


@pytest.mark.parametrize("n_rows", [2, 5, 12])
def test_rank_svm_gradient_reaches_its_constant(n_rows):
    """All grades differ and all pairs are violated: rows lose and gain what they are in."""
    y = np.arange(n_rows)
    gradient = sum(
        np.eye(n_rows)[k] - np.eye(n_rows)[i]
        for i in range(n_rows)
        for k in range(n_rows)
        if y[i] > y[k]
    )
    assert np.abs(gradient).sum() <= theory.lipschitz_constant("rank_svm", n_rows=n_rows)
    assert theory.lipschitz_constant("rank_svm", n_rows=n_rows) == n_rows * (n_rows - 1)


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


def test_covering_numbers():
    c = 2 * 3 * 2 / 0.5
    expected = 36 * c**2 * math.log2(2 * math.ceil(4 * c + 2) * 7 * 11 + 1)
    assert theory.covering_number(0.5, 11, 7, **BALL) == pytest.approx(expected, rel=1e-15)
    assert theory.covering_number(12.0, 11, 7, **BALL) == 0


@pytest.mark.parametrize("n_queries", [1, 50, 10**6])
def test_the_rademacher_bound_is_above_dudleys_integral(n_queries):
    """The closed form takes the logarithm at the finest scale, where it is largest."""
    scale = 2 * 3 * 2
    epsilon = np.geomspace(scale / math.sqrt(n_queries), scale, 2000)
    nats = [math.log(2) * theory.covering_number(e, n_queries, 30, **BALL) for e in epsilon]
    roots = np.sqrt(nats)
    integral = float((roots[1:] + roots[:-1]) / 2 @ np.diff(epsilon))
    dudley = 4 * epsilon[0] + 12 / math.sqrt(n_queries) * integral
    bound = theory.rademacher_bound(n_queries, 30, **BALL)
    assert dudley * (1 - 1e-3) <= bound <= 2 * dudley


def test_the_smooth_rademacher_bound_is_that_of_a_smaller_constant():
    smooth = theory.smooth_rademacher_bound(100, 30, **BALL, largest_loss=0.01, smoothness=1.5)
    lipschitz = 2 * math.sqrt(12 * 1.5 * 0.01)
    assert smooth == pytest.approx(theory.rademacher_bound(100, 30, **BALL, lipschitz=lipschitz))


def test_long_lists_cost_a_logarithm():
    short, long = (theory.rademacher_bound(1000, m, **BALL) for m in (10, 10_000))
    assert short < long < 1.4 * short


FUNCTIONS = [getattr(theory, name) for name in dir(theory) if not name.startswith("_")]
FUNCTIONS = [f for f in FUNCTIONS if inspect.isfunction(f) and f.__module__ == theory.__name__]
VALID = {
    "loss": "smoothed_dcg",
    "sigma": 1.0,
    "max_relevance": 2,
    "n_rows": 10,
    "n_queries": 100,
    "max_norm": 1.0,
    "row_norm": 1.0,
    "lipschitz": 2.0,
    "smoothness": 2.0,
    "best_loss": 0.0,
    "largest_loss": 1.0,
    "epsilon": 0.1,
}
CASES = [(f, name) for f in FUNCTIONS for name in inspect.signature(f).parameters]


@pytest.mark.parametrize(("function", "name"), CASES, ids=lambda one: getattr(one, "__name__", one))
def test_values_out_of_range(function, name):
    values = {other: VALID[other] for other in inspect.signature(function).parameters}
    assert function(**values) > 0
    for wrong in ("no such thing", None, -1.0, float("nan")):
        with pytest.raises(ValueError) as caught:
            function(**(values | {name: wrong}))
        message = f"The '{name}' parameter of {function.__name__} must be"
        assert message in str(caught.value)
        assert f"Got {wrong!r} instead" in str(caught.value)


def test_there_are_nine_functions():
    assert len(FUNCTIONS) == 9
