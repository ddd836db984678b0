"""The kernel ranker against eq. 1.5 of Chen2012, convex solvers, and scikit-learn's tools."""

import copy
import gc
import pickle
import re
import warnings

import numpy as np
import pytest
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import definitions as oracles
from scipy import sparse
from scipy.optimize import LinearConstraint, minimize
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from strategies import problems
from tiers import crossed

from sklearn_rank import KernelPairwiseSGDRanker
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank.models import KernelModel, LinearModel
from sklearn_rank.objectives import MARGIN_LOSSES, MarginLoss, error_cut
from sklearn_rank.solvers import _function_space_descent
from sklearn_rank.theory import chen_schedule

LOSSES = list(MARGIN_LOSSES)
WITH_SAFE_STEP = [loss for loss in LOSSES if loss != "exponential"]
SMOOTH = [loss for loss in WITH_SAFE_STEP if MARGIN_LOSSES[loss].is_smooth]
POLYNOMIAL = "polynomial"
GAMMA, DEGREE, COEF0 = 0.3, 2, 0.7

every_loss = pytest.mark.parametrize("loss", LOSSES)

# A fixed number of steps need not converge; the tests of warnings look for them themselves.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

few = settings(max_examples=settings.default.max_examples // 2)


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
    options = {
        "linear": {},
        POLYNOMIAL: {"gamma": gamma, "degree": DEGREE, "coef0": COEF0},
        "precomputed": {"gamma": gamma},
    }.get(kernel, {"gamma": gamma})
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
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
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


def test_a_step_of_the_oracle_by_hand():
    """Least squares: slope -2 at zero; then eta_2 = 0.1 / 4, slope -2 (1 - 0.4)."""
    K = np.eye(2)
    first, second = oracles.kernel_gd(K, [0, 1], None, [2, 3], "least_squares", 0.5, 0.1, 2, 2)
    np.testing.assert_allclose(first, [-0.2, 0.2])
    expected = (1 - 0.025 * 0.5) * 0.2 + 0.025 * 2 * (1 - 0.4)
    np.testing.assert_allclose(second, [-expected, expected])


@of_task
def test_the_closed_form_is_the_minimum(options):
    X, *labels = task(**options)
    K = gram("rbf", X)
    best = oracles.least_squares_closed_form(K, *labels, 0.3)

    def objective(c):
        return oracles.kernel_objective(c, K, *labels, "least_squares", 0.3)

    np.testing.assert_allclose(oracles.numeric_gradient(objective, best), 0, atol=1e-10)
    steps = oracles.kernel_gd(K, *labels, "least_squares", 0.3, 0.12, 0, 300)
    assert 0 <= objective(steps[-1]) - objective(best) < 1e-5


def test_cuts_by_hand():
    scores = [3.0, 1.0, 2.0, 2.0, 0.0]
    assert oracles.error_cut(scores, [1, 0, 1, 0, 0]) == (-1.5, 1)  # before -2.5, also 1
    assert oracles.error_cut(scores, [1, 0, 1, 0, 0], [1, 1, 1, 3, 1]) == (-2.5, 1)
    assert oracles.error_cut(scores, [1, 0, 1, 0, 0], [1, 1, 1, 0, 0]) == (-1.5, 0)
    assert oracles.error_cut([1.0, 1.0], [1, 0]) is None


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
    model = make(kernel, max_iter=5, eta0=0.01).fit(
        features_of(kernel, X), y, qid=qid, sample_weight=w
    )
    steps = oracles.kernel_gd(gram(kernel, X), y, qid, w, "logistic", 1e-3, 0.01, 0.5, 5)
    expected = gram(kernel, new, X) @ steps[-1]
    np.testing.assert_allclose(model.predict(features_of(kernel, new, X)), expected, atol=1e-12)
    if kernel not in ("linear", "precomputed"):
        np.testing.assert_array_equal(model.X_fit_, X[model.fit_rows_])


def test_a_sparse_row_is_scored_by_a_dense_model():
    X, y = load_breast_cancer(return_X_y=True)
    ranker = KernelPairwiseSGDRanker(max_iter=5).fit(X[:60], y[:60])
    found = ranker.decision_function(sparse.csr_array(X[:1]))
    np.testing.assert_allclose(found, ranker.decision_function(X[:1]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "cosine", "laplacian", "sigmoid", "chi2"])
def test_a_single_row_has_the_score_that_it_has_among_many(kernel):
    X, y = load_breast_cancer(return_X_y=True)
    X = X / X.max(axis=0)
    ranker = KernelPairwiseSGDRanker(kernel=kernel, max_iter=5).fit(X[:60], y[:60])
    one_by_one = [ranker.decision_function(row[None])[0] for row in X[:80]]
    np.testing.assert_allclose(one_by_one, ranker.decision_function(X[:80]), rtol=0, atol=1e-9)


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
    svm = LinearSVC(
        loss="hinge",
        fit_intercept=False,
        dual=True,
        C=1 / (alpha * len(i)),
        tol=1e-10,
        max_iter=10**6,
        random_state=0,
    ).fit(label[:, None] * differences, label)
    model = make("linear", loss="hinge", solver="lbfgs", alpha=alpha, tol=1e-7)
    fit(model, X, y, qid)

    def objective(u):
        return np.mean(np.maximum(1 - differences @ u, 0)) + alpha / 2 * u @ u

    assert objective(model.coef_) == pytest.approx(objective(svm.coef_[0]), rel=0, abs=1e-5)


def least_hinge(differences, alpha):
    """The minimum as a quadratic program, in features of at most one and slacks of pairs."""
    scale, (m, n) = np.abs(differences).max(), differences.shape
    ridge, conditions = alpha / scale**2, np.c_[differences / scale, np.eye(m)]
    found = minimize(
        lambda z: (ridge / 2 * z[:n] @ z[:n] + z[n:].mean(), np.r_[ridge * z[:n], np.ones(m) / m]),
        np.r_[np.zeros(n), np.ones(m)],
        jac=True,
        method="SLSQP",
        bounds=[(None, None)] * n + [(0, None)] * m,
        constraints=LinearConstraint(conditions, 1, np.inf),
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return found.x[:n] / scale


def of_one_line():
    """Rows at whose minimum kinks lie along a line that SciPy's search can't end on."""
    rows = [
        *([115, 159, 896, 2, 10], [199, 179, 581, 1, 10], [298, 453, 837, 1, 10]),
        *([315, 858, 786, 2, 11], [612, 250, 972, 0, 11], [946, 64, 189, 0, 11]),
        *([2, 472, 541, 2, 3], [349, 482, 230, 0, 3], [468, 740, 927, 2, 10]),
    ]
    *X, y, qid = np.array(rows).T
    return np.stack(X, axis=1) / 4, y, qid


@pytest.mark.parametrize("seed", [None, 34, 1])
def test_kinks_of_scores_in_hundreds(seed):
    if seed is None:
        X, y, qid = of_one_line()
    else:
        rng = np.random.default_rng(seed)
        X, y, qid = rng.integers(0, 1000, (11, 3)) / 4, rng.integers(0, 3, 11), np.arange(11) % 2
    i, k, _ = oracles.weighted_pairs(y, qid)
    differences = X[i] - X[k]
    model = fit(make("linear", loss="hinge", solver="lbfgs", alpha=0.1, tol=1e-4), X, y, qid)
    best, found = (
        np.mean(np.maximum(1 - differences @ u, 0)) + 0.05 * u @ u
        for u in (least_hinge(differences, 0.1), model.coef_)
    )
    assert found == pytest.approx(best, rel=2e-4)


@pytest.mark.parametrize("scale", [1, 1e4])
@pytest.mark.parametrize("seed", range(3))
def test_a_hinge_fit_without_errors_ends_at_its_minimum(scale, seed):
    rng = np.random.default_rng(seed)
    X, alpha = rng.normal(size=(16, 4)), 1e-9
    y = (X @ [1, 2, 0, -1] > 0.3).astype(int)
    differences = (X[y == 1][:, np.newaxis] - X[y == 0]).reshape(-1, 4)
    # The slacks are zero at the minimum of so small a ridge: the shortest vector with margins of 1.
    shortest = minimize(
        lambda u: (u @ u / 2, u),
        np.zeros(4),
        jac=True,
        method="SLSQP",
        constraints=LinearConstraint(differences, 1, np.inf),
        options={"ftol": 1e-12},
    ).x
    model = make("linear", loss="hinge", solver="lbfgs", alpha=alpha * scale**2)
    fit(model, X * scale, y)
    assert model.objective_curve_[-1] == pytest.approx(alpha / 2 * shortest @ shortest, rel=1e-3)


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


@pytest.mark.nightly
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_stochastic_steps_are_unbiased_after_a_warm_start(loss):
    X, *labels = task()
    K = gram("rbf", X)
    options = {"loss": loss, "alpha": 0.5, "eta0": 0.4, "theta": 0, "warm_start": True}
    start = fit(make(max_iter=10, **options), X, *labels)
    expected = oracle_step(coefficients(start, len(X)), K, labels, loss, 0.5, 0.4)
    samples = []
    for seed in range(400):
        model = copy.deepcopy(start).set_params(max_iter=1, batch_size=3, random_state=seed)
        samples.append(coefficients(fit(model, X, *labels), len(X)) - expected)
    assert_mean_is_zero(np.array(samples))


def test_a_batch_holds_pairs():
    """A step from zero moves B pairs, each by eta0 / B times the slope at zero."""
    X, *labels = task(n=30)
    for batch_size in (1, 4):
        options = {"batch_size": batch_size, "eta0": 0.5, "max_iter": 1, "random_state": 3}
        c = coefficients(fit(make(loss="least_squares", **options), X, *labels), len(X))
        moves = c / (0.5 * 2 / batch_size)
        np.testing.assert_allclose(moves, np.round(moves), atol=1e-12)
        assert moves.sum() == pytest.approx(0, abs=1e-12)
        assert 2 <= np.abs(moves).sum() <= 2 * batch_size + 1e-9


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


def refuses(model, *words, X=X, y=Y, **options):
    """Assert that fit raises with all the words in its message and leaves nothing behind."""
    with pytest.raises(ValueError) as caught:
        model.fit(X, y, **options)
        pytest.fail(f"{model} was fitted with {options}")
    for word in words:
        assert word in str(caught.value), model
    assert set(vars(model)) == set(model.get_params(deep=False))
    with pytest.raises(NotFittedError):
        model.predict(X)


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


def test_a_kernel_of_nan_at_predict():
    model = fit(make(own_kernel, max_iter=3), X, Y)
    with pytest.raises(ValueError, match="own_kernel"), np.errstate(all="ignore"):
        model.predict(np.full((1, 3), 1e200))


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
def test_a_tolerance_that_is_not_reached_is_warned_of(solver):
    model = make(solver=solver, tol=1e-12, max_iter=3)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.fit(X, Y)
    assert model.n_iter_ == 3


def test_averages_of_a_warm_start_count_gradient_steps_only():
    """Iterations of lbfgs in between are no part of the mean."""
    model = make(max_iter=3, warm_start=True, relevance="binary").fit(X, Y)
    model.set_params(solver="lbfgs", max_iter=2).fit(X, Y)
    model.set_params(solver="gd", max_iter=1, average=True).fit(X, Y)
    mean = model.dual_coef_
    model.set_params(average=False)  # the mean of a single step is that step
    np.testing.assert_allclose(mean, model._progress_["coefficients"], rtol=1e-12)


@pytest.mark.parametrize("solver", ["gd", "lbfgs"])
def test_a_tolerance_that_is_reached_ends_the_steps(solver):
    steps = {"theta": 0} if solver == "gd" else {}
    model = make(solver=solver, loss="least_squares", alpha=1.0, tol=1e-3, **steps)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, Y)
    assert 1 <= model.n_iter_ < 1000
    assert len(model.objective_curve_) == model.n_iter_


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"batch_size": 3}, ["batch_size=3"]),
        ({"average": True}, ["average=True"]),
        ({"eta0": 0.01}, ["eta0=0.01"]),
        ({"theta": 0}, ["theta=0"]),
    ],
)
def test_parameters_of_the_steps_need_the_solver_that_takes_them(parameters, words):
    refuses(make(solver="lbfgs", **parameters), *words, "solver='gd'", "solver='lbfgs'")


def test_arguments_of_a_kernel_need_a_kernel_of_ones_own():
    refuses(make("rbf", kernel_params={"power": 2}), "kernel_params", "callable", "'rbf'")


def test_a_warm_start_refuses_another_problem():
    model = fit(make(warm_start=True, max_iter=3), X, Y)
    with pytest.raises(ValueError, match="warm_start"):
        fit(model, X[:10], Y[:10])
    with pytest.raises(ValueError):
        fit(model, X[:, :2], Y)


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
    tolerance = 1e-8 if solver == "gd" else 1e-4
    dense = fit(make(kernel, **options), X, *labels)
    model = fit(make(kernel, **options), container(X), *labels)
    for rows in (X, container(X)):
        np.testing.assert_allclose(
            model.predict(rows), dense.predict(X), rtol=tolerance, atol=tolerance
        )
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


@pytest.mark.parametrize("solver", ["gd", "lbfgs"])
def test_blocks_reach_the_minimum(solver):
    X, *labels = task(n=450, queries=3)
    options = {"solver": solver, "max_iter": 20, "alpha": 0.1}
    whole = fit(make(**options), X, *labels)
    with config_context(working_memory=1):
        model = fit(make(**options), X, *labels)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("batch_size", [None, 3])
@pytest.mark.parametrize("relevance", ["binary", "graded"])
def test_rows_of_weight_zero_are_not_there(batch_size, relevance):
    X, y, qid, w = task(n=20, levels=2)
    K = gram("rbf", X)
    hidden = w == 0
    assert hidden.sum() > 1
    options = {"max_iter": 20, "alpha": 0.1, "batch_size": batch_size, "random_state": 0}
    left = np.flatnonzero(~hidden)
    model = make("precomputed", relevance, **options)
    expected = fit(model, K[np.ix_(left, left)], y[left], qid[left], w[left])
    expected = raw_scores(expected, K[:, left])
    noisy = K.copy()
    noisy[hidden] = noisy[:, hidden] = 1e9
    model = fit(make("precomputed", relevance, **options), noisy, y, qid, w)
    np.testing.assert_allclose(raw_scores(model, noisy[left]), expected[left], atol=1e-12)
    np.testing.assert_array_equal(model.fit_rows_, left)
    X[hidden] = 1e9
    model = fit(make("rbf", relevance, **options), X, y, qid, w)
    np.testing.assert_allclose(raw_scores(model, X[left]), expected[left], atol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("loss", [*SMOOTH, "hinge"])
def test_a_weight_is_a_number_of_copies_at_the_minimum(kernel, loss):
    X, y, qid, w = task(n=20)
    w = np.ceil(w)
    copies = np.repeat(np.arange(20), w.astype(int))
    options = {"loss": loss, "alpha": 0.3, "solver": "lbfgs", "tol": 1e-9}
    model = fit(make(kernel, **options), X, y, qid, w)
    copied = fit(make(kernel, **options), X[copies], y[copies], qid[copies])
    tolerance = 1e-2 if loss == "hinge" else 1e-4
    np.testing.assert_allclose(model.predict(X), copied.predict(X), rtol=0, atol=tolerance)


@pytest.mark.nightly
def test_a_weight_is_a_number_of_copies_in_batches():
    """On average: a row of weight 2 is drawn as often as the row twice."""
    X, y, qid, _ = task(n=8)
    w = np.array([1.0, 2, 3, 1, 0, 2, 1, 2])
    copies = np.repeat(np.arange(8), w.astype(int))
    options = {"batch_size": 2, "max_iter": 3, "alpha": 0.3, "eta0": 0.5}
    differences = []
    for seed in range(500):
        model = fit(make(random_state=seed, **options), X, y, qid, w)
        other = make(random_state=10_000 + seed, **options)
        other = fit(other, X[copies], y[copies], qid[copies])
        differences.append(model.predict(X) - other.predict(X))
    assert_mean_is_zero(np.array(differences))


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", own_kernel])
@pytest.mark.parametrize("solver", ["gd", "lbfgs"])
def test_rows_without_pairs_change_nothing(kernel, solver):
    """A query of one class has coefficients of zero."""
    X, y, qid, w = task(n=20)
    more = np.random.default_rng(9).normal(size=(5, 3))
    options = {"alpha": 0.2, "solver": solver}
    options |= {"max_iter": 30, "eta0": 0.01} if solver == "gd" else {"tol": 1e-9}
    alone = fit(make(kernel, **options), X, y, qid, w)
    rows = np.concatenate([more, X])
    model = fit(
        make(kernel, **options),
        rows,
        np.concatenate([np.ones(5), y]),
        np.concatenate([np.full(5, 99), qid]),
        np.concatenate([np.ones(5), w]),
    )
    tolerance = 1e-10 if solver == "gd" else 1e-4
    np.testing.assert_allclose(
        model.predict(rows), alone.predict(rows), rtol=tolerance, atol=tolerance
    )
    if solver == "gd":
        np.testing.assert_array_equal(coefficients(model, 25)[:5], 0)
    predicted = gram(kernel, rows, rows[model.fit_rows_]) @ model.dual_coef_
    np.testing.assert_allclose(model.predict(rows), predicted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("relevance", ["binary", "graded"])
def test_single_precision_features(kernel, relevance):
    X, y, qid, w = task(n=30, levels=2)
    X = X.astype(np.float32)
    options = {"max_iter": 30, "gamma": "scale"}
    model = fit(make(kernel, relevance, **options), X, y, qid, w)
    other = fit(make(kernel, relevance, **options), X.astype(float), y, qid, w)
    np.testing.assert_allclose(raw_scores(model, X), raw_scores(other, X), rtol=1e-5, atol=1e-6)


def test_arguments_of_a_kernel_of_ones_own():
    def kernel(a, b, power):
        return (1.0 + a @ b.T) ** power

    X, *labels = task(n=15)
    options = {"max_iter": 10, "eta0": 0.001}
    model = fit(make(kernel, kernel_params={"power": 2}, **options), X, *labels)
    other = fit(make(own_kernel, **options), X, *labels)
    np.testing.assert_allclose(model.predict(X), other.predict(X), rtol=1e-10)


# The cut between two classes ----------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@given(problem=problems(relevances=[(0, 1)], max_rows=14))
def test_the_offset_has_the_smallest_training_error(kernel, problem):
    X, y, qid, w = problem[:4]
    positive = y == 1
    model = fit(make(kernel, "binary", max_iter=10, alpha=0.1), X, y, qid, w)
    decision = model.decision_function(X)
    np.testing.assert_array_equal(model.predict(X), model.classes_[(decision > 0).astype(int)])
    assert np.isfinite(model.offset_)
    # Equal rows have equal scores but for rounding, which is no place for a cut.
    best = oracles.error_cut(np.round(decision - model.offset_, 9), positive, w)
    if best is not None:
        assert oracles.cut_error(0.0, decision, positive, w) <= best[1] + 1e-9


@crossed(solver=["gd", "lbfgs"], kernel=["rbf", "linear"], seed=range(15))
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


def test_lbfgs_without_tol_ends_where_rounding_does():
    """There a gradient changes by less than its square can hold."""
    X = np.array([[0.1, 0.2, 0.0], [0.1, 40.0, 0.0], [-2.5, -2.5, 0.0]])
    model = fit(make(relevance="binary", solver="lbfgs", max_iter=10, alpha=0.1), X, [1, 0, 1])
    np.testing.assert_array_equal(model.predict(X), [1, 0, 1])


# The solver that "auto" stands for ----------------------------------------------------------


class KinkedLoss(MarginLoss):
    """The hinge loss without `rounded`."""

    is_smooth = False

    def value_and_derivative(self, margin):
        return np.maximum(1 - margin, 0), -(margin <= 1.0).astype(float)

    def local_lipschitz(self, radius):
        return 1.0


@pytest.mark.parametrize(
    ("parameters", "solver"),
    [
        ({}, "lbfgs"),
        ({"loss": "hinge", "kernel": "linear"}, "lbfgs"),
        ({"loss": "exponential"}, "lbfgs"),
        ({"eta0": 0.01}, "gd"),
        ({"loss": "exponential", "eta0": 0.01}, "gd"),
        ({"theta": 0.0}, "gd"),
        ({"batch_size": 5}, "gd"),
        ({"average": True}, "gd"),
        ({"loss": KinkedLoss()}, "gd"),
        ({"solver": "gd"}, "gd"),
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


def test_the_default_solver_is_chosen_by_each_fit():
    X, y, qid, w = task()
    model = KernelPairwiseSGDRanker(alpha=0.1, relevance="graded", warm_start=True)
    fit(model, X, y, qid, w)
    n_before, lowest = model.n_iter_, model.objective_curve_[-1]
    fit(model.set_params(eta0=0.1, max_iter=3, tol=0), X, y, qid, w)
    assert model.n_iter_ == n_before + 3
    assert model.objective_curve_[-1] == pytest.approx(lowest, rel=1e-6)


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_the_default_converges():
    X, y = load_breast_cancer(return_X_y=True)
    model = KernelPairwiseSGDRanker().fit(StandardScaler().fit_transform(X), y)
    assert model.n_iter_ < 30


# scikit-learn's tools -----------------------------------------------------------------------


def test_a_search_in_a_pipeline():
    """A number as first step means the descent, "auto" the minimum."""
    X, y, _, _ = task(n=60, levels=2, queries=1, weights=False)
    y[X[:, 0] > 0.3] = 1
    pipe = make_pipeline(StandardScaler(), KernelPairwiseSGDRanker(max_iter=20))
    grid = {"alpha": [1e-3, 1.0], "eta0": ["auto", 0.01], "loss": ["logistic", "hinge"]}
    grid = {f"kernelpairwisesgdranker__{name}": values for name, values in grid.items()}
    search = GridSearchCV(pipe, grid, cv=3, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 8
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert 0.5 < search.best_score_ <= 1


def test_a_precomputed_kernel_is_sliced_both_ways():
    X, y, _, _ = task(n=60, levels=2, queries=1, weights=False)
    options = {"relevance": "binary", "max_iter": 20, "alpha": 0.1}
    found = [
        cross_val_score(make(kernel, **options), features_of(kernel, X), y, error_score="raise")
        for kernel in ("rbf", "precomputed")
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def test_nystroem_features_stand_for_the_kernel():
    X, *labels = task(n=60, n_features=2)
    with_kernel = fit(make(alpha=0.1, max_iter=200), X, *labels)
    pipe = make_pipeline(
        Nystroem(gamma=GAMMA, n_components=60, random_state=0),
        make("linear", alpha=0.1, max_iter=200),
    )
    names = ("kernelpairwisesgdranker__qid", "kernelpairwisesgdranker__sample_weight")
    pipe.fit(X, labels[0], **dict(zip(names, labels[1:], strict=True)))
    # All rows are components, so that the features span the kernel's space.
    np.testing.assert_allclose(pipe.predict(X), with_kernel.predict(X), atol=5e-3)


@pytest.mark.parametrize("kernel", ["rbf", "linear", POLYNOMIAL, "precomputed"])
@pytest.mark.parametrize("relevance", ["binary", "graded"])
def test_pickle_and_skops(kernel, relevance):
    X, *labels = task(n=20, levels=2)
    inputs = features_of(kernel, X)
    model = fit(make(kernel, relevance, max_iter=5, warm_start=True), inputs, *labels)
    stored = skops.io.dumps(model)
    untrusted = skops.io.get_untrusted_types(data=stored)
    for loaded in (pickle.loads(pickle.dumps(model)), skops.io.loads(stored, trusted=untrusted)):
        np.testing.assert_array_equal(raw_scores(loaded, inputs), raw_scores(model, inputs))
        fit(loaded, inputs, *labels)  # goes on
    assert not np.array_equal(raw_scores(loaded, inputs), raw_scores(model, inputs))


def test_fit_changes_no_input():
    X, y, qid, w = task(n=20)
    arrays = [gram("rbf", X), y, qid, w]
    copies = [array.copy() for array in arrays]
    for array in arrays:
        array.setflags(write=False)
    model = fit(make("precomputed", max_iter=3, random_state=0), *arrays)
    model.predict(arrays[0])
    for array, original in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, original)


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


def test_gaussian_kernels_see_differences_far_from_the_origin():
    X, y, qid, w = task(n=25, n_features=2)
    model = fit(make("rbf", max_iter=20), X, y, qid, w)
    far = fit(make("rbf", max_iter=20), X + 1e8, y, qid, w)
    np.testing.assert_allclose(far.predict(X + 1e8), model.predict(X), rtol=1e-5, atol=1e-6)


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


def drawn_pairs(**parameters):
    """Descent on drawn pairs that are all alike: one step orders them with a large margin."""
    X, y = np.repeat([[1.0], [-1.0]], 5, axis=0) * 10, np.repeat([1, 0], 5)
    fixed = {"kernel": "linear", "loss": "hinge", "eta0": 0.5, "alpha": 0.1, "theta": 0.0}
    ranker = KernelPairwiseSGDRanker(**fixed, batch_size=4, random_state=0, **parameters)
    return ranker.fit(X, y)


@pytest.mark.filterwarnings("ignore:eta0=0.5 of KernelPairwiseSGDRanker is above")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_step_on_drawn_pairs_shrinks_the_function():
    first, second = (drawn_pairs(max_iter=n, tol=0, average=False).coef_ for n in (1, 2))
    assert first == pytest.approx(0.5 * 20)
    assert second == pytest.approx((1 - 0.5 * 0.1) * first)


@pytest.mark.filterwarnings("ignore:eta0=0.5 of KernelPairwiseSGDRanker is above")
def test_drawn_pairs_are_level_after_two_windows_at_the_earliest():
    assert drawn_pairs(max_iter=1000, tol=0.5).n_iter_ >= 200


@pytest.mark.parametrize("matrix", [np.asarray, sparse.csr_array])
def test_a_view_of_a_linear_model_has_its_rows_in_fit_order(matrix):
    """Batches of rows are drawn in fit order, whatever the order of the rows of X."""
    rng = np.random.default_rng(0)
    X, order, w = rng.normal(size=(12, 3)), rng.permutation(12), rng.normal(size=3)
    model = LinearModel(matrix(X), order)
    for some in (np.array([5, 0, 7]), slice(3, 9), slice(0, 12)):
        np.testing.assert_allclose(model.at_rows(some).scores(w), model.scores(w)[some])


def test_no_line_search_outlives_its_step():
    """Its scores are as long as the rows: in a circle they would wait for the collector."""
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    gc.collect()
    gc.disable()
    try:
        KernelPairwiseSGDRanker(kernel="linear", alpha=1e-4).fit(X, y)
        left = [one for one in gc.get_objects() if type(one).__name__ in ("_Line", "Iterate")]
    finally:
        gc.enable()
    assert left == []


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
def test_a_kernel_of_large_values_is_learned_from(loss):
    X, y = load_breast_cancer(return_X_y=True)
    ranker = KernelPairwiseSGDRanker(kernel="poly", gamma="auto", loss=loss, max_iter=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert ranker.fit(X, y).score(X, y) > 0.97


def test_a_descent_without_a_step_has_not_converged(monkeypatch):
    monkeypatch.setattr(_function_space_descent._Line, "search", lambda line, first: None)
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="no step lowers the objective.*scale the features"):
        KernelPairwiseSGDRanker().fit(X, y)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplacian"])
def test_entries_in_parts_are_their_sums_and_stay_as_they_are(kernel):
    random = np.random.default_rng(0)
    X = sparse.csr_array(random.integers(0, 4, (80, 4)) * (random.random((80, 4)) < 0.6) * 1.0)
    y = (X.toarray()[:, 0] + random.normal(size=80) > 1).astype(int)
    parts = X.data * 0.25, X.data * 0.75
    of_row = np.repeat(X.indices, 2), 2 * X.indptr
    split = sparse.csr_array((np.stack(parts, axis=1).ravel(), *of_row), shape=X.shape)
    ranker = KernelPairwiseSGDRanker(kernel=kernel)
    expected = clone(ranker).fit(X, y).decision_function(X)
    found = clone(ranker).fit(split, y).decision_function(split)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert split.nnz == 2 * X.nnz


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
