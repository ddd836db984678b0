"""Constants and schedule of Chen2012 against the definitions and the descent itself."""

import inspect
import math
import pkgutil
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_rank import theory
from sklearn_rank.objectives import MARGIN_LOSSES

GROWING = [loss for loss in MARGIN_LOSSES if loss != "exponential"]
KAPPAS = [0.3, 1.0, 2.5]


def slope(loss, margins):
    return MARGIN_LOSSES[loss].derivative(np.asarray(margins, dtype=float))


LEAST_SQUARES = partial(slope, "least_squares")


def norms_of_descent(K, n_above, slope_of, alpha, eta0, theta, n_steps):
    """Norms of the iterates of eq. (1.5), pair by pair, from ``f_1 = 0``."""
    coefficients = np.zeros(len(K))
    norms = []
    for t in range(1, n_steps + 1):
        scores = K @ coefficients
        slopes = slope_of(scores[:n_above, None] - scores[None, n_above:]) / (
            n_above * (len(K) - n_above)
        )
        gradient = np.concatenate([slopes.sum(axis=1), -slopes.sum(axis=0)])
        eta = eta0 * t**-theta
        coefficients = (1 - eta * alpha) * coefficients - eta * gradient
        norms.append(math.sqrt(max(coefficients @ K @ coefficients, 0.0)))
    return np.array(norms)


@pytest.mark.parametrize("loss", GROWING)
def test_the_slope_grows_with_the_exponent_and_not_with_a_smaller_one(loss):
    far = -np.array([1e3, 1e5, 1e7])
    power = theory.growth_exponent(loss) - 1
    ratio = np.abs(slope(loss, far)) / (1 + np.abs(far) ** power)
    assert ratio.max() <= 2
    assert ratio[-1] >= 0.4
    if power:  # one power less is no bound
        assert np.abs(slope(loss, far))[-1] > 1e6


def test_no_power_bounds_the_slope_of_the_exponential_loss():
    far = -np.array([100.0, 300.0, 500.0])
    ratio = np.abs(slope("exponential", far)) / np.abs(far) ** 10
    assert (np.diff(ratio) > 0).all()
    assert ratio[-1] > 1e100
    with pytest.raises(ValueError, match="'exponential' instead"):
        theory.growth_exponent("exponential")


def test_every_loss_but_the_exponential_has_an_exponent():
    quadratic = {"least_squares", "squared_hinge"}
    exponents = {loss: theory.growth_exponent(loss) for loss in GROWING}
    assert exponents == {loss: 2 if loss in quadratic else 1 for loss in GROWING}


@pytest.mark.parametrize("loss", MARGIN_LOSSES)
@pytest.mark.parametrize("kappa", KAPPAS)
@pytest.mark.parametrize("alpha", [0.3, 2.0])
def test_lipschitz_constant_is_the_supremum_over_the_margins_in_reach(loss, kappa, alpha):
    radius = 4 * kappa**2 * abs(slope(loss, [0.0])[0]) / alpha
    if loss == "exponential" and radius > 600:
        pytest.skip("beyond the floats")
    # Close to 0 the difference of two slopes is rounding: the limit there is phi''(0).
    positive = np.concatenate([np.geomspace(1e-4 * radius, radius, 4001), 1 + 1e-9 * np.arange(9)])
    margins = np.concatenate([positive, -positive])
    margins = margins[np.abs(margins) <= radius]
    quotient = np.abs(slope(loss, margins) - slope(loss, [0.0])) / np.abs(margins)
    constant = theory.slope_lipschitz_constant(loss, kappa, alpha)
    assert quotient.max() <= constant * (1 + 1e-9)
    if loss != "hinge" or radius > 1:  # before its kink the hinge has slope 0 only
        assert quotient.max() >= constant * (1 - 1e-3)


def test_constants_by_arithmetic():
    assert theory.norm_bound("least_squares", 3.0, 0.5) == 2 * 3.0 * 2 / 0.5
    assert theory.norm_bound("hinge", 3.0, 0.5) == 2 * 3.0 * 1 / 0.5
    assert theory.norm_bound("logistic", 3.0, 0.5) == 2 * 3.0 * 0.5 / 0.5
    assert theory.safe_step("least_squares", 3.0, 0.5) == 1 / (4 * 9 * 2 + 0.5)
    assert theory.safe_step("squared_hinge", 3.0, 0.5) == 1 / (4 * 9 * 2 + 0.5)
    assert theory.safe_step("logistic", 3.0, 0.5) == 1 / (4 * 9 / 4 + 0.5)
    assert theory.safe_step("hinge", 3.0, 0.5) == 1 / (4 * 9 + 0.5)
    radius = 4 * 0.25 * 1 / 0.5
    constant = (math.exp(radius) - 1) / radius
    assert theory.safe_step("exponential", 0.5, 0.5) == pytest.approx(1 / (constant + 0.5))


@pytest.mark.parametrize("loss", MARGIN_LOSSES)
@pytest.mark.parametrize("theta", [0.0, 0.5])
@settings(max_examples=settings.default.max_examples * 3 // 10)
@given(seed=st.integers(0, 10**6), alpha=st.floats(0.5, 3.0), scale=st.floats(0.1, 1.0))
def test_safe_steps_stay_within_the_norm_bound(loss, theta, seed, alpha, scale):
    """Lemma 3.4."""
    X = np.random.default_rng(seed).normal(size=(7, 2))
    K = scale * X @ X.T / np.max(np.sum(X * X, axis=1))
    kappa = math.sqrt(K.diagonal().max())
    eta0 = theory.safe_step(loss, kappa, alpha)
    norms = norms_of_descent(K, 3, partial(slope, loss), alpha, eta0, theta, n_steps=60)
    assert norms.max() <= theory.norm_bound(loss, kappa, alpha) * (1 + 1e-12)


@pytest.mark.parametrize("kappa", KAPPAS)
def test_longer_steps_leave_the_norm_bound(kappa):
    """Two opposite rows: one step multiplies the error by ``1 - eta (8 kappa^2 + alpha)``."""
    K = kappa**2 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    alpha = 0.1
    bound = theory.norm_bound("least_squares", kappa, alpha)
    step = theory.safe_step("least_squares", kappa, alpha)
    assert norms_of_descent(K, 1, LEAST_SQUARES, alpha, step, 0.0, 300).max() <= bound
    assert norms_of_descent(K, 1, LEAST_SQUARES, alpha, 2.1 * step, 0.0, 300).max() > bound


def test_the_step_of_proposition_3_8_needs_kappa_squared():
    """Its condition is printed ``eta (4 M + alpha) <= 1``; Lemma 3.4 has ``4 kappa^2 M``."""
    kappa, alpha = 3.0, 0.1
    K = kappa**2 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    bound = theory.norm_bound("least_squares", kappa, alpha)
    printed = 1 / (4 * 2 + alpha)  # M = 2
    assert norms_of_descent(K, 1, LEAST_SQUARES, alpha, printed, 0.0, 60).max() > bound
    corrected = 1 / (4 * kappa**2 * 2 + alpha)
    assert norms_of_descent(K, 1, LEAST_SQUARES, alpha, corrected, 0.0, 60).max() <= bound


def test_the_least_squares_loss_as_printed_never_moves():
    """The slope of ``t^2`` at 0 is 0; that of ``(1 - t)^2`` is -2."""
    K = np.array([[1.0, -1.0], [-1.0, 1.0]])
    printed = norms_of_descent(K, 1, lambda margin: 2 * margin, 0.1, 0.1, 0.0, 20)
    assert (printed == 0).all()
    ranking = norms_of_descent(K, 1, LEAST_SQUARES, 0.1, 0.1, 0.0, 20)
    assert (ranking > 0).all()


@pytest.mark.parametrize("loss", GROWING)
@pytest.mark.parametrize("kappa", KAPPAS)
def test_step_divisor_is_safe_for_every_alpha_up_to_one_and_no_smaller_one_is(loss, kappa):
    first_step = 1 / theory.step_divisor(loss, kappa)
    safe = [theory.safe_step(loss, kappa, alpha) for alpha in np.geomspace(1e-9, 1, 50)]
    assert first_step <= min(safe) * (1 + 1e-15)
    assert first_step == pytest.approx(min(safe), rel=1e-14)


def test_step_divisor_by_arithmetic():
    divisors = {loss: theory.step_divisor(loss, 3.0) for loss in GROWING}
    assert divisors == {
        "least_squares": 8 * 9 + 1,
        "squared_hinge": 8 * 9 + 1,
        "hinge": 4 * 9 + 1,
        "logistic": 9 + 1,
    }


def test_schedule_by_arithmetic():
    # 1000 * 1000 / 2000^(3/2) = sqrt(125)
    schedule = theory.chen_schedule(
        1000, 1000, "least_squares", 0.5, s=2, gamma=0.3, theta=np.float64(0.25)
    )
    assert schedule == {
        "loss": "least_squares",
        "max_iter": 125,
        "alpha": pytest.approx(math.exp(-0.3 * math.log(125))),
        "eta0": pytest.approx(1 / (8 * 0.25 + 1)),
        "theta": 0.25,
        "tol": 0,
        "solver": "gd",
    }
    assert isinstance(schedule["max_iter"], int)


@pytest.mark.parametrize(
    "n_pos, n_neg, s, steps",
    [
        (32, 32, 1, 2),  # 1024 / 512
        (32, 32, 3, 8),
        (1000, 1000, 2, 125),
        (300, 700, 1.5, math.ceil((210_000 / 1000**1.5) ** 1.5)),
        (1, 1, 2, 1),  # 1 / 8, rounded up
        (0.5, 1e-300, 5, 1),
        (1e300, 1e300, 0.01, math.ceil(math.exp(0.01 * (150 * math.log(10) - math.log(2**1.5))))),
        (250_000, 750_000, 2, math.ceil(0.1875**2 * 1e6)),
    ],
)
def test_number_of_steps(n_pos, n_neg, s, steps):
    for classes in [(n_pos, n_neg), (n_neg, n_pos)]:
        schedule = theory.chen_schedule(*classes, "logistic", 1.0, s=s, gamma=0.2)
        assert schedule["max_iter"] == steps
        assert schedule["alpha"] == steps**-0.2


@pytest.mark.parametrize("loss", GROWING)
@given(
    n_pos=st.floats(1, 1e6),
    n_neg=st.floats(1, 1e6),
    s=st.floats(0.1, 4),
    share=st.floats(0.01, 0.99),
    theta=st.floats(0, 0.9),
    kappa=st.floats(0.1, 10),
)
def test_schedules_start_with_a_safe_step(loss, n_pos, n_neg, s, share, theta, kappa):
    gamma = share * theory.gamma_limit(loss, theta)
    schedule = theory.chen_schedule(n_pos, n_neg, loss, kappa, s=s, gamma=gamma, theta=theta)
    assert 0 < schedule["alpha"] <= 1 <= schedule["max_iter"]
    assert 0 < schedule["eta0"] <= theory.safe_step(loss, kappa, schedule["alpha"]) * (1 + 1e-12)


@pytest.mark.parametrize("loss", GROWING)
@pytest.mark.parametrize("theta", [0.0, 0.5])
def test_the_start_is_forgotten_only_below_the_limit_of_gamma(loss, theta):
    """With ``min(q - 1, 1)``, 0 at q = 1, both would be allowed for hinge and logistic."""
    eta0 = 1 / theory.step_divisor(loss, 0.3)

    def remainder(gamma, n_steps):
        steps = eta0 * np.arange(1, n_steps + 1.0) ** -theta
        return float(np.exp(np.log1p(-steps * n_steps**-gamma).sum()))

    limit = theory.gamma_limit(loss, theta)
    assert limit == 1 - theta
    below = [remainder(0.5 * limit, n_steps) for n_steps in (10**2, 10**4, 10**6)]
    above = [remainder(1.5 * limit, n_steps) for n_steps in (10**2, 10**4, 10**6)]
    assert below[0] > below[1] > below[2]
    assert below[2] < 1e-10
    assert above[0] < above[1] < above[2]
    assert above[2] > 0.9


def test_gamma_limit_belongs_to_the_forbidden_values():
    options = {"loss": "hinge", "kappa": 1.0, "s": 1, "theta": 0.75}
    assert theory.gamma_limit("hinge", 0.75) == 0.25
    theory.chen_schedule(100, 100, **options, gamma=0.2499)
    with pytest.raises(ValueError, match=r"'gamma' parameter of chen_schedule .* \(0, 0\.25\)"):
        theory.chen_schedule(100, 100, **options, gamma=0.25)


POSITIVE = "a float in (0, inf)"
OF_GROWTH = f"one of {', '.join(map(repr, GROWING))}, or a MarginLoss with growth"


@pytest.mark.parametrize(
    "name, allowed, wrong",
    [
        ("n_pos", POSITIVE, [0]),
        ("n_neg", POSITIVE, [math.inf, True]),
        ("loss", OF_GROWTH, ["exponential"]),
        ("kappa", POSITIVE, [0.0, "1"]),
        ("s", POSITIVE, [0]),
        ("gamma", "a float in (0, 0.5)", [0.5, 0.0]),
        ("theta", "a float in [0, 1)", [1.0]),
    ],
)
def test_schedule_refuses(name, allowed, wrong):
    good = {key: VALID[key] for key in inspect.signature(theory.chen_schedule).parameters}
    theory.chen_schedule(**good)
    for value in wrong:
        with pytest.raises(ValueError) as error:
            theory.chen_schedule(**good | {name: value})
        assert str(error.value) == (
            f"The {name!r} parameter of chen_schedule must be {allowed}. Got {value!r} instead."
        )


def test_too_many_steps_are_refused():
    with pytest.raises(ValueError, match=r"'s' parameter of chen_schedule must be smaller .* 500"):
        theory.chen_schedule(1e6, 1e6, "hinge", 1.0, s=500, gamma=0.1)


def test_exponential_loss_has_no_safe_step_when_its_constant_overflows():
    assert theory.safe_step("exponential", 1.0, 1.0) > 0
    assert theory.slope_lipschitz_constant("exponential", 1.0, 1e-3) == math.inf
    with pytest.raises(ValueError, match=r"'alpha' parameter of safe_step .* Got 0\.001 instead"):
        theory.safe_step("exponential", 1.0, 1e-3)


VALID = {
    "loss": "logistic",
    "price": math.exp,
    "a": [[1.0]],
    "b": [[1.0]],
    **dict.fromkeys(("n_above", "n_below", "n_features", "n_weak_rankers"), 10),
    **dict.fromkeys(("n_neg", "n_pos", "n_queries", "n_rows"), 100),
    **dict.fromkeys(("max_height", "max_iter", "max_relevance"), 3),
    **dict.fromkeys(("exponential_loss", "ir_push", "lipschitz", "smoothness"), 2.0),
    **dict.fromkeys(("exponent", "p"), 2.0),
    **dict.fromkeys(("best_loss", "l1_norm", "largest_loss", "max_loss", "max_norm"), 1.0),
    **dict.fromkeys(("constant", "kappa", "log_cover", "row_norm", "s", "sigma"), 1.0),
    **dict.fromkeys(("near_zero", "slope_at_zero"), 1.0),
    **dict.fromkeys(("alpha", "beta", "edge", "epsilon", "f_skew", "push_loss", "theta"), 0.5),
    **{"right": 0.6, "wrong": 0.2, "pair_share": 0.2, "delta": 0.05},
    **dict.fromkeys(("complexity", "eta0", "gamma", "min_risk", "radius"), 0.1),
    **dict.fromkeys(("smooth_margin", "step"), 0.1),
}
OF_LISTS = [theory.lipschitz_constant, theory.smoothness_constant]
FUNCTIONS = [getattr(theory, name) for name in theory.__all__ if name != "f_skew"]
CASES = [
    (one, name)
    for one in FUNCTIONS
    for name in inspect.signature(one).parameters
    if name not in ("a", "b", "price")
]


@pytest.mark.parametrize(("function", "name"), CASES, ids=lambda one: getattr(one, "__name__", one))
def test_values_out_of_range(function, name):
    valid = VALID | ({"loss": "smoothed_dcg"} if function in OF_LISTS else {})
    parameters = inspect.signature(function).parameters
    values = {other: valid[other] for other in parameters}
    function(**values)
    allowed = [None] if parameters[name].default is None else [-1.0] if name == "f_skew" else []
    for wrong in ("no such thing", None, math.nan, -1.0):
        if wrong in allowed:
            continue
        with pytest.raises(ValueError) as caught:
            function(**(values | {name: wrong}))
        message = f"The '{name}' parameter of {function.__name__} must be"
        assert message in str(caught.value)
        assert f"Got {wrong!r} instead" in str(caught.value)


TESTS = Path(__file__).parents[1]


PAGE = (TESTS.parent / "docs" / "guide" / "theory.md").read_text(encoding="utf-8")


def theorems():
    """Return the cells of each row of the table of theorems."""
    table = PAGE.partition("\n## Every theorem\n")[2].partition("\n## ")[0]
    return [
        re.split(r" \| ", line.strip().removeprefix("| ").removesuffix(" |"))
        for line in table.splitlines()
        if line.startswith("| ") and not line.startswith(("| theorem |", "| --- |"))
    ]


def test_the_functions_and_tests_that_the_page_names_exist():
    sources = "\n".join(file.read_text(encoding="utf-8") for file in TESTS.rglob("test_*.py"))
    defined = set(re.findall(r"^def (test_\w+)", sources, re.M))
    named, rows = set(re.findall(r"`(test_\w+)`", PAGE)), theorems()
    assert named <= defined
    assert len(named) > 100
    assert len(rows) > 50
    for theorem, _statement, function, test, verdict in rows:
        names = re.findall(r"\{\w+\}`~?([\w.]+)`", function)
        assert names or function in ("–", "-"), theorem
        for name in names:
            place = name if "." in name else f"sklearn_rank.theory.{name}"
            assert pkgutil.resolve_name(place) is not None
        assert all((TESTS / file).is_file() for file in re.findall(r"`tests/([\w/]+\.py)`", test))
        assert "`test" in test or "not computable" in verdict, theorem
        assert re.search(r"\bholds?\b|not computable", verdict), theorem


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32])
def test_narrow_integers_do_not_overflow(dtype):
    largest, given = np.iinfo(dtype).max, {"max_norm": 1.0, "row_norm": 1.0}
    for bound in (partial(theory.covering_number, 0.5), theory.rademacher_bound):
        found = bound(dtype(largest), dtype(largest), **given)
        assert found == bound(int(largest), int(largest), **given)
