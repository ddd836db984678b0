"""The kernel ranker against eq. 1.5 of Chen2012, convex solvers, and scikit-learn's tools."""

import re
import warnings
from functools import partial

import numpy as np
import pytest
import test_bad_input
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import definitions as oracles
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from strategies import problems
from tiers import crossed

from sklearn_rank import KernelPairwiseSGDRanker
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank.models import KernelModel
from sklearn_rank.objectives import MARGIN_LOSSES, error_cut
from sklearn_rank.theory import chen_schedule

LOSSES = list(MARGIN_LOSSES)
WITH_SAFE_STEP = [loss for loss in LOSSES if loss != "exponential"]
SMOOTH = [loss for loss in WITH_SAFE_STEP if MARGIN_LOSSES[loss].is_smooth]
POLYNOMIAL = "polynomial"
GAMMA, DEGREE, COEF0 = 0.3, 2, 0.7

every_loss = pytest.mark.parametrize("loss", LOSSES)

# A fixed number of steps need not converge; the tests of warnings look for them themselves.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

few = settings(max_examples=settings.default.max_examples // 4)


def own_kernel(a, b):
    """(1 + a.b)^2 of two matrices, or of two rows."""
    return (1.0 + a @ b.T) ** 2


def bad_kernel(a, b):
    """Not a number."""
    return np.nan * own_kernel(a, b)


def negative_kernel(a, b):
    """No kernel: -a.b - 1."""
    return -1.0 - a @ b.T


KERNELS = ["rbf", "linear", POLYNOMIAL, "laplacian", own_kernel, "precomputed"]
NAMED = ["rbf", "linear", POLYNOMIAL]
KERNELS_BY_NAME = {k if isinstance(k, str) else "callable": k for k in KERNELS}
of_kernel = pytest.mark.parametrize("kernel", KERNELS_BY_NAME.values(), ids=KERNELS_BY_NAME)


def gram(kernel, a, b=None, gamma=GAMMA):
    """Kernel matrix by scikit-learn's functions; "precomputed" stands for an rbf kernel."""
    a, b = np.asarray(a, dtype=float), np.asarray(a if b is None else b, dtype=float)
    if kernel is own_kernel:
        return own_kernel(a, b)
    options = {} if kernel == "linear" else {"gamma": gamma}
    options |= {"degree": DEGREE, "coef0": COEF0} if kernel == POLYNOMIAL else {}
    return pairwise_kernels(a, b, "rbf" if kernel == "precomputed" else kernel, **options)


def features_of(kernel, X, train=None):
    """What `fit` and `predict` take: X, or kernel values with the training rows."""
    return gram(kernel, X, train) if kernel == "precomputed" else X


def make(kernel="rbf", relevance="graded", **parameters):
    defaults = {"gamma": GAMMA, "degree": DEGREE, "coef0": COEF0, "tol": 0, "solver": "gd"}
    parameters = defaults | parameters
    return KernelPairwiseSGDRanker(kernel=kernel, relevance=relevance, **parameters)


def fit(model, X, y, qid=None, w=None):
    """Fit without the warning about large steps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that of convergence, too
        return model.fit(X, y, qid=qid, sample_weight=w)


def raw_scores(model, X):
    """Scores without offset."""
    if model.relevance == "graded":
        return model.predict(X)
    return model.decision_function(X) - model.offset_


def coefficients(model, n):
    """Dual coefficients of all n rows, zero for those of weight zero."""
    c = np.zeros(n)
    c[model.fit_rows_] = model.dual_coef_
    return c


def norm_of(model, K):
    """Norm of the function in the space of the kernel."""
    if model.kernel == "linear":
        return np.linalg.norm(model.coef_)
    c = coefficients(model, len(K))
    return np.sqrt(max(0.0, c @ K @ c))


def task(seed=0, n=14, n_features=3, levels=3, queries=2, weights=True):
    """(X, y, qid, w): a small problem with queries, grades, weights and a weight of zero."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, n_features)), rng.integers(0, levels, n).astype(float)
    y[:2] = 0, levels - 1
    qid = rng.integers(0, queries, n) if queries > 1 else None
    if qid is not None:
        qid[:2] = 0
    w = None
    if weights:
        w = rng.choice([0.0, 0.5, 1.0, 2.0, 3.0], n)
        w[:2], w[2] = 1.5, 0.0
    return X, y, qid, w


TASKS = {
    "plain": {"levels": 2, "queries": 1, "weights": False},
    "weighted grades": {"queries": 1},
    "weights, queries and grades": {},
}
of_task = pytest.mark.parametrize("options", TASKS.values(), ids=TASKS)


# The oracles, against each other ------------------------------------------------------------


@every_loss
@of_task
def test_a_step_of_the_oracle_is_a_gradient_step(loss, options):
    """By f's own inner product: the gradient by c is K times minus the move of c."""
    X, *labels = task(**options)
    K = gram("rbf", X)
    eta, alpha = 1e-3, 0.5
    steps = oracles.kernel_gd(K, *labels, loss, alpha, eta, 0.0, 3)
    assert len(steps) == 3
    numeric = oracles.numeric_gradient(
        lambda c: oracles.kernel_objective(c, K, *labels, loss, alpha), steps[1], 1e-4
    )
    np.testing.assert_allclose(K @ (steps[1] - steps[2]) / eta, numeric, atol=1e-9)


# Eq. 1.5, step by step ----------------------------------------------------------------------


@crossed(loss=LOSSES, kernel=KERNELS_BY_NAME, options=TASKS, theta=[0, 0.5])
def test_iterates_are_those_of_equation_1_5(loss, kernel, options, theta):
    X, y, qid, w = task(**options)
    K = gram(kernel, X)
    alpha = 0.5
    eta0 = 0.5 / (8 * K.diagonal().max() + alpha)
    steps = oracles.kernel_gd(K, y, qid, w, loss, alpha, eta0, theta, 50)
    inputs = features_of(kernel, X)
    present = np.flatnonzero(oracles.row_weights(y, w) > 0)
    for n_steps in (1, 2, 3, 11, 50):
        model = make(kernel, loss=loss, alpha=alpha, eta0=eta0, theta=theta, max_iter=n_steps)
        fit(model, inputs, y, qid, w)
        expected = steps[n_steps - 1]
        np.testing.assert_allclose(model.predict(inputs), K @ expected, rtol=0, atol=1e-10)
        if kernel == "linear":
            assert not hasattr(model, "dual_coef_")
            assert model.coef_.shape == (X.shape[1],)
            np.testing.assert_allclose(model.coef_, X.T @ expected, rtol=0, atol=1e-10)
        else:
            np.testing.assert_array_equal(model.fit_rows_, present)
            assert model.dual_coef_.shape == present.shape
            np.testing.assert_allclose(model.dual_coef_, expected[present], rtol=0, atol=1e-10)
        assert model.n_iter_ == n_steps
        assert model.eta0_ == eta0
    values = [oracles.kernel_objective(c, K, y, qid, w, loss, alpha) for c in steps]
    np.testing.assert_allclose(model.objective_curve_, values, rtol=1e-10)


@of_kernel
def test_new_rows_are_scored_by_the_kernel(kernel):
    X, y, qid, w = task(n=20)
    new = np.random.default_rng(5).normal(size=(7, 3))
    model = fit(make(kernel, max_iter=5, eta0=0.01), features_of(kernel, X), y, qid, w)
    steps = oracles.kernel_gd(gram(kernel, X), y, qid, w, "logistic", 1e-3, 0.01, 0.5, 5)
    expected = gram(kernel, new, X) @ steps[-1]
    np.testing.assert_allclose(model.predict(features_of(kernel, new, X)), expected, atol=1e-12)
    if kernel not in ("linear", "precomputed"):
        np.testing.assert_array_equal(model.X_fit_, X[model.fit_rows_])


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
@pytest.mark.parametrize("theta", [0, 0.5])
def test_a_warm_start_continues_one_long_fit(kernel, theta):
    X, *labels = task(n=20)
    inputs = features_of(kernel, X)
    options = {"theta": theta, "eta0": 0.05, "alpha": 0.2}
    long = fit(make(kernel, max_iter=12, **options), inputs, *labels)
    model = make(kernel, max_iter=5, warm_start=True, **options)
    fit(model, inputs, *labels)
    fit(model.set_params(max_iter=7), inputs, *labels)
    np.testing.assert_allclose(model.predict(inputs), long.predict(inputs), rtol=0, atol=1e-12)
    cold = fit(model.set_params(warm_start=False, max_iter=12), inputs, *labels)
    np.testing.assert_array_equal(cold.predict(inputs), long.predict(inputs))


@crossed(loss=WITH_SAFE_STEP, kernel=["rbf", "linear"])
@few
@given(
    problem=problems(queries=("none",)),
    alpha=st.sampled_from([1e-3, 0.1, 1.0, 10.0]),
    theta=st.sampled_from([0, 0.5]),
    batch_size=st.sampled_from([None, None, 1, 3]),
)
def test_the_safe_step_bounds_every_iterate(loss, kernel, problem, alpha, theta, batch_size):
    """Lemma 3.4: ||f_t||_K <= 2 kappa |phi'(0)| / alpha with eta0="auto"."""
    X, *labels = problem[:4]
    K = gram(kernel, X)
    present = oracles.row_weights(problem.y, problem.w) > 0
    kappa2 = K.diagonal()[present].max()
    if kappa2 == 0:
        return
    bound = 2 * np.sqrt(kappa2) * abs(float(oracles.phi_derivative(loss, 0.0))) / alpha
    for n_steps in (1, 2, 3, 6, 15):
        options = {"loss": loss, "alpha": alpha, "theta": theta, "batch_size": batch_size}
        model = fit(make(kernel, max_iter=n_steps, random_state=0, **options), X, *labels)
        safe = oracles.chen_safe_step(kappa2, loss, alpha)
        assert model.eta0_ == pytest.approx(safe, rel=1e-12)
        assert norm_of(model, K) <= bound * (1 + 1e-9)


# The minimum --------------------------------------------------------------------------------


@crossed(
    tiers=("slow", "slow", "nightly"),
    loss=SMOOTH,
    kernel=["rbf", "linear", "precomputed"],
    alpha=[0.1, 1],
)
def test_both_solvers_reach_the_minimum(loss, kernel, alpha):
    X, *labels = task(n=30)
    K = gram(kernel, X)
    inputs = features_of(kernel, X)
    values, found = [], []
    for options in ({"max_iter": 3000, "theta": 0}, {"solver": "lbfgs", "tol": 1e-10}):
        model = fit(make(kernel, loss=loss, alpha=alpha, **options), inputs, *labels)
        scores = model.predict(inputs)
        penalty = alpha / 2 * norm_of(model, K) ** 2
        values.append(oracles.pair_mean(scores, *labels, loss) + penalty)
        assert model.objective_curve_[-1] == pytest.approx(values[-1], rel=1e-9)
        found.append(scores)
    assert values[0] == pytest.approx(values[1], rel=0, abs=1e-6)
    np.testing.assert_allclose(found[0], found[1], atol=1e-2)
    if loss == "least_squares":
        best = oracles.least_squares_closed_form(K, *labels, alpha)
        expected = oracles.kernel_objective(best, K, *labels, loss, alpha)
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-6)
        np.testing.assert_allclose(found[1], K @ best, atol=1e-4)


@crossed(
    alpha=[0.01, 0.1, 1.0],
    options=[
        {"levels": 2, "queries": 1, "weights": False},
        {"levels": 2, "queries": 3, "weights": False},
        {"levels": 4, "queries": 1, "weights": False, "n_features": 5},
        {"levels": 4, "queries": 2, "weights": False},
    ],
    seed=[0, 1],
)
def test_the_linear_hinge_is_the_ranking_svm(alpha, options, seed):
    X, y, qid, _ = task(seed, n=24, **options)
    i, k, _ = oracles.weighted_pairs(y, qid)
    differences = X[i] - X[k]
    label = np.where(np.arange(len(i)) % 2, 1, -1)
    exact = {"fit_intercept": False, "dual": True, "tol": 1e-10, "max_iter": 10**6}
    svm = LinearSVC(loss="hinge", C=1 / (alpha * len(i)), random_state=0, **exact)
    svm.fit(label[:, None] * differences, label)
    model = make("linear", loss="hinge", solver="lbfgs", alpha=alpha, tol=1e-7)
    fit(model, X, y, qid)

    def objective(u):
        return np.mean(np.maximum(1 - differences @ u, 0)) + alpha / 2 * u @ u

    assert objective(model.coef_) == pytest.approx(objective(svm.coef_[0]), rel=0, abs=1e-5)


# Stochastic steps and averages --------------------------------------------------------------


def assert_mean_is_zero(samples):
    """Each column's mean is zero within four standard errors."""
    mean, error = samples.mean(axis=0), samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    assert samples.std() > 0
    assert np.all(np.abs(mean) <= 4 * error + 1e-14)


def oracle_step(c, K, labels, loss, alpha, eta):
    """One step of eq. 1.5 from coefficients c."""
    gradient = oracles.pair_sum_gradient(K @ c, *labels, loss)
    return (1 - eta * alpha) * c - eta * gradient / oracles.total_pair_weight(*labels)


@crossed(tiers=("slow", "nightly", "nightly"), loss=LOSSES, kernel=["rbf", "linear"], options=TASKS)
def test_stochastic_steps_are_unbiased(loss, kernel, options, request):
    """The first step, and the second one from wherever the first has led."""
    X, *labels = task(**options)
    K = gram(kernel, X)
    options = {"loss": loss, "alpha": 0.5, "eta0": 0.3, "theta": 0, "batch_size": 2}
    first, second = [], []
    for seed in range(500 if request.config.getoption("nightly") else 200):
        models = [
            fit(make(kernel, max_iter=n, random_state=seed, **options), X, *labels) for n in (1, 2)
        ]
        if kernel == "linear":
            one, two = (X @ model.coef_ for model in models)
            gradient = K @ oracles.pair_sum_gradient(one, *labels, loss)
            mean_gradient = gradient / oracles.total_pair_weight(*labels)
            first.append(one - K @ oracle_step(np.zeros(len(X)), K, labels, loss, 0.5, 0.3))
            second.append(two - (1 - 0.3 * 0.5) * one + 0.3 * mean_gradient)
        else:
            one, two = (coefficients(model, len(X)) for model in models)
            first.append(one - oracle_step(np.zeros(len(X)), K, labels, loss, 0.5, 0.3))
            second.append(two - oracle_step(one, K, labels, loss, 0.5, 0.3))
    assert_mean_is_zero(np.array(first))
    assert_mean_is_zero(np.array(second))


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_the_seed_draws_the_batches(kernel):
    X, *labels = task()
    runs = [
        fit(make(kernel, batch_size=2, max_iter=10, random_state=seed), X, *labels).predict(X)
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.allclose(runs[0], runs[2])


@crossed(kernel=["rbf", "linear", "precomputed"], batch_size=[None, 3], options=TASKS)
def test_the_average_is_that_of_the_iterates(kernel, batch_size, options):
    X, *labels = task(**options)
    inputs = features_of(kernel, X)
    options = {"eta0": 0.2, "theta": 0.5, "alpha": 0.3, "batch_size": batch_size}
    iterates = [
        fit(make(kernel, max_iter=n, random_state=0, **options), inputs, *labels).predict(inputs)
        for n in range(1, 9)
    ]
    model = make(kernel, max_iter=8, random_state=0, average=True, **options)
    scores = fit(model, inputs, *labels).predict(inputs)
    np.testing.assert_allclose(scores, np.mean(iterates, axis=0), rtol=0, atol=1e-12)


# What a user can get wrong ------------------------------------------------------------------

X, Y, _, _ = task(n=12, levels=2, queries=1, weights=False)
K = gram("rbf", X)


refuses = partial(test_bad_input.refuses, X=X, y=Y)


OUT_OF_RANGE = {
    "alpha": [-1e-3, np.inf, np.nan, None, "1"],
    "eta0": [0, -0.1, np.inf, np.nan, None, "fast"],
    "theta": [-0.1, 1.5, np.nan, None, "0"],
    "gamma": [-1, np.inf, np.nan, "big"],
    "degree": [-1, np.nan, None, "3"],
    "coef0": [np.nan, np.inf, None, "1"],
    "kernel_params": ["gamma", 3],
    "max_iter": [-1, 2.5, None, "many"],
    "tol": [-1e-9, np.inf, np.nan, None],
    "batch_size": [0, -1, 2.5, "all"],
    "average": [1, "yes", None],
    "warm_start": [1, "yes", None],
    "kernel": ["no such thing", None, 3, ["rbf"]],
}


def test_parameters_out_of_range():
    for name, values in OUT_OF_RANGE.items():
        for value in values:
            model = KernelPairwiseSGDRanker(**{name: value})
            refuses(model, f"'{name}'", "KernelPairwiseSGDRanker", repr(value))
    refuses(KernelPairwiseSGDRanker(kernel="no such thing"), "'rbf'", "'linear'", "'precomputed'")


def test_a_precomputed_kernel_that_is_not_square():
    refuses(make("precomputed"), "square", "(12, 11)", X=K[:, :11])


@pytest.mark.parametrize("n_columns", [11, 13])
def test_rows_of_a_precomputed_kernel_with_other_columns(n_columns):
    model = fit(make("precomputed", max_iter=3), K, Y)
    with pytest.raises(ValueError, match=r"12"):
        model.predict(np.ones((2, n_columns)))


def test_a_kernel_of_nan():
    refuses(make(bad_kernel), "bad_kernel", "NaN")
    broken = K.copy()
    broken[1, 2] = np.nan
    refuses(make("precomputed"), "NaN", X=broken)


@pytest.mark.parametrize("solver", ["gd", "lbfgs"])
def test_kernels_that_are_not_positive(solver):
    """No error: a matrix may be indefinite by rounding alone, and still be of use."""
    for model, X_fit in ((make(negative_kernel, solver=solver), X), (make("precomputed"), -K)):
        with pytest.warns(ConvergenceWarning, match="positive semi-definite"):
            model.fit(X_fit, Y)
        assert np.isfinite(model.predict(X_fit)).all()


def numbers_in(text):
    return [float(one) for one in re.findall(r"\d+\.?\d*(?:e[-+]?\d+)?", text)]


@pytest.mark.parametrize("loss", WITH_SAFE_STEP)
def test_steps_above_the_safe_bound_are_warned_of(loss):
    safe = oracles.chen_safe_step(1.0, loss, 0.2)
    model = make(loss=loss, alpha=0.2, eta0=1.01 * safe, max_iter=2)
    with pytest.warns(UserWarning, match="eta0") as caught:
        model.fit(X, Y)
    texts = [str(one.message) for one in caught if "eta0" in str(one.message)]
    assert any(abs(number / safe - 1) < 5e-3 for number in numbers_in(texts[0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.set_params(eta0=0.99 * safe).fit(X, Y)
        model.set_params(eta0="auto").fit(X, Y)


def test_the_exponential_loss_needs_a_number():
    refuses(make(loss="exponential"), "eta0", "'auto'", "'exponential'", "number")
    fit(make(loss="exponential", eta0=0.01, max_iter=3), X, Y)
    fit(make(loss="exponential", solver="lbfgs", alpha=0.1, tol=1e-5), X, Y)  # takes no steps


@crossed(
    loss=["least_squares", "squared_hinge", "exponential"],
    kernel=["rbf", "linear"],
    relevance=["binary", "graded"],
    average=[False, True],
)
def test_divergence_keeps_the_last_finite_iterate(loss, kernel, relevance, average):
    model = make(kernel, relevance, loss=loss, eta0=1e8, theta=0, average=average, max_iter=300)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*eta0.*", category=UserWarning)
        warnings.simplefilter("always", ConvergenceWarning)
        with pytest.warns(ConvergenceWarning, match="diverge"):
            model.fit(X, Y)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(raw_scores(model, X)).all()
    assert model.n_iter_ < 300


@pytest.mark.parametrize("solver", ["gd", "lbfgs"])
def test_a_tolerance_that_is_reached_ends_the_steps(solver):
    steps = {"theta": 0} if solver == "gd" else {}
    model = make(solver=solver, loss="least_squares", alpha=1.0, tol=1e-3, **steps)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, Y)
    assert 1 <= model.n_iter_ < 1000
    assert len(model.objective_curve_) == model.n_iter_


OF_STEPS = {"batch_size": 3, "average": True, "eta0": 0.01, "theta": 0}


@pytest.mark.parametrize("name", OF_STEPS)
def test_parameters_of_the_steps_need_the_solver_that_takes_them(name):
    words = f"{name}={OF_STEPS[name]}", "solver='gd'", "solver='lbfgs'"
    refuses(make(solver="lbfgs", **{name: OF_STEPS[name]}), *words)


# Features, kernels and rows -----------------------------------------------------------------


@crossed(
    kernel=NAMED,
    container={"csr_array": sparse.csr_array, "csc_matrix": sparse.csc_matrix},
    solver=["gd", "lbfgs"],
    gamma=["scale", "auto", 0.3],
)
def test_sparse_features_are_dense_features(kernel, container, solver, gamma):
    X, *labels = task(n=25, n_features=4)
    X[np.abs(X) < 0.8] = 0
    options = {"gamma": gamma, "solver": solver, "alpha": 0.1}
    options |= {"max_iter": 30} if solver == "gd" else {"tol": 1e-9}
    close = dict.fromkeys(("rtol", "atol"), 1e-8 if solver == "gd" else 1e-4)
    dense = fit(make(kernel, **options), X, *labels)
    model = fit(make(kernel, **options), container(X), *labels)
    for rows in (X, container(X)):
        np.testing.assert_allclose(model.predict(rows), dense.predict(X), **close)
    if kernel != "linear":
        assert model.gamma_ == pytest.approx(dense.gamma_, rel=1e-12)


@few
@given(problem=problems())
def test_the_scale_of_gamma(problem):
    X, y, qid, w = problem[:4]
    weight = oracles.row_weights(y, w)
    mean = np.average(X.mean(axis=1), weights=weight)
    variance = np.average(((X - mean) ** 2).mean(axis=1), weights=weight)
    model = fit(make(gamma="scale", max_iter=1), X, y, qid, w)
    expected = 1 / (X.shape[1] * variance) if variance > 1e-20 else model.gamma_
    assert model.gamma_ == pytest.approx(expected, rel=1e-9)
    assert 0 < model.gamma_ < np.inf
    assert fit(make(gamma="auto", max_iter=1), X, y, qid, w).gamma_ == 1 / X.shape[1]
    assert fit(make(gamma=0.25, max_iter=1), X, y, qid, w).gamma_ == 0.25


@pytest.mark.slow
@of_kernel
@pytest.mark.parametrize("batch_size", [None, 5])
def test_blocks_equal_the_full_matrix(kernel, batch_size):
    X, *labels = task(n=500, queries=3)
    inputs = features_of(kernel, X)
    options = {"max_iter": 5, "alpha": 0.1, "eta0": 0.05, "batch_size": batch_size}
    whole = fit(make(kernel, random_state=0, **options), inputs, *labels)
    with config_context(working_memory=1):  # of the 2 MiB that the matrix takes
        model = fit(make(kernel, random_state=0, **options), inputs, *labels)
        scores = model.predict(inputs)
    np.testing.assert_allclose(scores, whole.predict(inputs), rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.objective_curve_, whole.objective_curve_, rtol=1e-11)


def test_arguments_of_a_kernel_of_ones_own():
    def kernel(a, b, power):
        return (1.0 + a @ b.T) ** power

    X, *labels = task(n=15)
    options = {"max_iter": 10, "eta0": 0.001}
    model = fit(make(kernel, kernel_params={"power": 2}, **options), X, *labels)
    other = fit(make(own_kernel, **options), X, *labels)
    np.testing.assert_allclose(model.predict(X), other.predict(X), rtol=1e-10)


# The cut between two classes ----------------------------------------------------------------


@crossed(solver=["gd", "lbfgs"], kernel=["rbf", "linear"], seed=range(0, 15, 3))
def test_the_offset_is_the_best_cut(solver, kernel, seed):
    """Halfway between two scores; the lowest of equal ones."""
    X, y, qid, w = task(seed, n=6 + 3 * seed, levels=2, queries=1 + seed % 3)
    X[y == 1] += 0.8
    model = fit(make(kernel, "binary", solver=solver, max_iter=50, alpha=0.1), X, y, qid, w)
    offset, error = oracles.error_cut(raw_scores(model, X), y == 1, w)
    decision = model.decision_function(X)
    assert oracles.cut_error(0.0, decision, y == 1, w) <= error + 1e-9
    outside = min(w[y == 1].sum(), w[y == 0].sum())  # all rows on one side
    if error < outside - 1e-9:
        assert model.offset_ == pytest.approx(offset, abs=1e-9)
    np.testing.assert_array_equal(model.predict(X) == 1, decision > 0)


@pytest.mark.parametrize("n", [1_000, 50_000])
@pytest.mark.parametrize("far", [0.0, 1e5, -1e5])
def test_the_cut_lies_between_scores_that_differ_beside_their_range(n, far):
    """Not beside their size: scores far from zero, with small differences, are cut as well."""
    scores = far + np.linspace(0, 1, n)
    positive = np.arange(n) >= n // 3
    cut = error_cut(scores, positive, np.ones(n))
    assert scores[n // 3 - 1] < cut < scores[n // 3]
    # What a solver leaves of equal scores is no place for a cut, though the classes differ there.
    positive = np.arange(n) % 4 == 0
    near = np.where(scores < far + 0.9, far + 1e-11 * positive, scores)
    assert error_cut(near, positive | (near == scores), np.ones(n)) > far + 0.4


# The solver that "auto" stands for ----------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "solver"),
    [
        ({}, "lbfgs"),
        ({"loss": "hinge", "kernel": "linear"}, "lbfgs"),
        ({"loss": "exponential"}, "lbfgs"),
        *(({name: value}, "gd") for name, value in OF_STEPS.items()),
        (chen_schedule(7, 7, "logistic", kappa=1.0, s=1.0, gamma=0.3, theta=0.5), "gd"),
    ],
    ids=lambda value: str(value).split(" object")[0],
)
def test_the_default_solver(parameters, solver):
    X, y, qid, w = task()
    common = {"max_iter": 30, "alpha": 0.1, "random_state": 0, "relevance": "graded"}
    parameters = common | parameters
    model = fit(KernelPairwiseSGDRanker(**parameters), X, y, qid, w)
    named = fit(KernelPairwiseSGDRanker(**parameters | {"solver": solver}), X, y, qid, w)
    assert hasattr(model, "eta0_") == (solver == "gd")
    np.testing.assert_array_equal(model.predict(X), named.predict(X))
    np.testing.assert_array_equal(model.objective_curve_, named.objective_curve_)
    assert model.n_iter_ == len(model.objective_curve_)


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_the_default_converges():
    X, y = load_breast_cancer(return_X_y=True)
    model = KernelPairwiseSGDRanker().fit(StandardScaler().fit_transform(X), y)
    assert model.n_iter_ < 30


# scikit-learn's tools -----------------------------------------------------------------------


def test_a_precomputed_kernel_is_sliced_both_ways():
    X, y, _, _ = task(n=60, levels=2, queries=1, weights=False)
    options = {"relevance": "binary", "max_iter": 20, "alpha": 0.1}
    found = [
        cross_val_score(make(kernel, **options), features_of(kernel, X), y, error_score="raise")
        for kernel in ("rbf", "precomputed")
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_the_scale_of_gamma_does_not_cancel(container, weighted):
    rng = np.random.default_rng(0)
    X, y = 1e8 + rng.normal(size=(40, 1)), np.arange(40) % 2
    w = rng.random(40) + 0.5 if weighted else None
    expected = 1 / np.average((X[:, 0] - np.average(X[:, 0], weights=w)) ** 2, weights=w)
    model = fit(make(gamma="scale", max_iter=1), container(X), y, None, w)
    assert model.gamma_ == pytest.approx(expected, rel=1e-6)


def test_the_scale_of_gamma_counts_zeros_that_are_not_stored():
    X = sparse.csr_matrix(([2.0, 1.0, 3.0], [0, 0, 1], [0, 2, 2, 3]), shape=(3, 2))  # one twice
    model = fit(make(gamma="scale", max_iter=1), X, [0, 1, 1], None, [1.0, 2.0, 1.0])
    assert model.gamma_ == pytest.approx(1 / (2 * np.var([3, 0, 0, 0, 0, 0, 0, 3])), rel=1e-12)


@crossed(
    kernel=["rbf", "laplacian", "cosine", "sigmoid", "poly", "linear"],
    solver=["gd", "lbfgs"],
    loss=["logistic", "hinge"],
)
def test_a_constant_X_has_nothing_to_learn_and_nothing_to_warn_of(kernel, solver, loss):
    y, weight = np.arange(30) % 2, np.linspace(0.1, 1.3, 30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for value in (0.0, 0.1, 1 / 3, 1e8):
            for w in (None, weight):
                model = KernelPairwiseSGDRanker(kernel=kernel, solver=solver, loss=loss)
                model.fit(np.full((30, 3), value), y, sample_weight=w)
                assert np.ptp(model.decision_function(np.full((2, 3), value))) == 0


def test_a_step_on_drawn_pairs_shrinks_the_function():
    """The pairs are all alike: one step orders them with a large margin."""
    X, y = np.repeat([[1.0], [-1.0]], 5, axis=0) * 10, np.repeat([1, 0], 5)
    fixed = {"loss": "hinge", "eta0": 0.5, "alpha": 0.1, "theta": 0.0}
    fixed |= {"batch_size": 4, "random_state": 0}
    first, second = (fit(make("linear", **fixed, max_iter=n), X, y).coef_ for n in (1, 2))
    assert first == pytest.approx(0.5 * 20)
    assert second == pytest.approx((1 - 0.5 * 0.1) * first)


@pytest.mark.parametrize("n", [1, 5, 40])
def test_the_kernel_matrix_in_stripes_is_the_matrix(n):
    """The lower triangle is computed, by any number of threads, and mirrored."""
    X = np.random.default_rng(n).normal(size=(n, 3))

    def kernel(some, others):
        return np.asarray(some @ others.T)

    with ThreadPool(2).running() as threads:
        for working_memory in (1024, 1e-4, 1e-6):  # whole, and in blocks of which few are kept
            with config_context(working_memory=working_memory):
                model = KernelModel(kernel, X, threads=threads)
                np.testing.assert_allclose(model.element(X[:, 0])[1], X @ (X.T @ X[:, 0]))
                np.testing.assert_allclose(model.square_norms(), (X**2).sum(axis=1))


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
def test_n_jobs_does_not_change_a_kernel_fit(kernel):
    X = np.random.default_rng(0).normal(size=(400, 6000))  # enough values for two threads
    y = X[:, 0] > 0
    first, second = (
        KernelPairwiseSGDRanker(kernel=kernel, n_jobs=n_jobs).fit(X, y).dual_coef_
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("loss", MARGIN_LOSSES)
@pytest.mark.parametrize("scale", [1e8, 1e150])
def test_a_feature_of_any_scale_is_learned_from(loss, scale):
    """A step of length 1 in the space moves the scores by the root of the largest kernel value."""
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    y = (X[:, 0] + random.normal(size=200) > 0).astype(int)
    ranker = KernelPairwiseSGDRanker(kernel="linear", loss=loss)
    assert ranker.fit(X * [scale, 1, 1], y).score(X * [scale, 1, 1], y) > 0.75


@pytest.mark.parametrize("loss", MARGIN_LOSSES)
@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_a_column_far_from_zero_hides_no_other(loss, spread):
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 2))
    y = (X.sum(axis=1) + random.normal(size=300) > 1).astype(int)
    far = 1e8 + spread * random.normal(size=300)
    ranker = KernelPairwiseSGDRanker(kernel="linear", loss=loss)
    alone, both = clone(ranker).fit(X, y).score(X, y), np.column_stack([X, far])
    assert ranker.fit(both, y).score(both, y) > alone - 0.02
    constant = np.full((300, 2), 0.1)
    assert not ranker.fit(constant, y).coef_.any()  # which rounding does not hide
