"""solver="lbfgs": certificates at the optimum, p = inf, and what can't converge."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from oracles import definitions as oracles
from scipy.optimize import LinearConstraint, minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from strategies import problems
from tiers import crossed

from sklearn_rank import PNormPushRanker
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Candidate
from sklearn_rank._core.rows import FitRows, Rows
from sklearn_rank._core.validation import check_qid
from sklearn_rank.models import LinearModel, Stumps
from sklearn_rank.objectives import PUSHES, MarginLoss
from sklearn_rank.solvers._lbfgs import CoefficientObjective, minimise


def noisy_data(n_rows=30, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    return X, (X[:, 0] + X[:, 1] + 1.5 * rng.standard_normal(n_rows) > 0).astype(int)


@crossed(push=list(PUSHES), p=[1, 4, 64])
@settings(max_examples=settings.default.max_examples * 3 // 10)
@given(problem=problems(spread=1.0))
def test_gradient_vanishes_at_the_optimum(push, p, problem):
    """Certificate: alpha * coefficient equals the edge of every feature."""
    alpha = 0.3
    own = {"p": p, "push": push, "solver": "lbfgs", "alpha": alpha, "weak_ranker": "feature"}
    ranker = PNormPushRanker(**own, n_estimators=5000, tol=1e-14, relevance="graded")
    ranker.fit(problem.X, problem.y, qid=problem.qid, sample_weight=problem.w)
    f = ranker.predict(problem.X)
    masses = oracles.row_masses(f, problem.y, problem.qid, problem.w, p, push)
    scale = 1 + np.abs(problem.X).max() * np.abs(masses).sum()
    np.testing.assert_allclose(problem.X.T @ masses, alpha * ranker.coef_, atol=2e-5 * scale)
    expected = oracles.log_push(f, problem.y, problem.qid, problem.w, p, push)
    expected += alpha / 2 * ranker.coef_ @ ranker.coef_
    assert ranker.objective_curve_[-1] == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("weak_ranker", ["stump", "feature"])
def test_boosting_approaches_the_same_minimum(weak_ranker):
    """Without ridge on data that can't be separated, both solvers minimise one function."""
    X, y = noisy_data(60, 2)
    X = np.round(X)
    options = {"p": 2, "weak_ranker": weak_ranker, "tol": 1e-14, "learning_rate": 1, "alpha": 0}
    together = PNormPushRanker(solver="lbfgs", n_estimators=3000, **options).fit(X, y)
    rounds = PNormPushRanker(n_estimators=20_000, **options).fit(X, y)
    assert rounds.objective_curve_[-1] == pytest.approx(together.objective_curve_[-1], abs=1e-3)
    assert together.objective_curve_[-1] <= rounds.objective_curve_[-1] + 1e-7


def largest_height(X, y, w, alpha):
    """min over coefficients of J_inf by a general convex solver, in epigraph form."""
    d, above, below = X.shape[1], X[y == 1], X[y == 0]
    w_above = w[y == 1]

    def value(z):
        c, t = z[:d], z[d]
        return np.log(w_above @ np.exp(-(above @ c))) + t + alpha / 2 * c @ c

    def gradient(z):
        mass = w_above * np.exp(-(above @ z[:d]))
        return np.append(-(mass @ above) / mass.sum() + alpha * z[:d], 1.0)

    # t is at least every score below.
    rows = LinearConstraint(np.column_stack([-below, np.ones(len(below))]), 0, np.inf)
    start = np.append(np.zeros(d), 1.0)
    how = {"method": "SLSQP", "options": {"maxiter": 2000, "ftol": 1e-12}}
    result = minimize(value, start, jac=gradient, constraints=rows, **how)
    assert result.success
    return result.fun


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("alpha", [1e-3, 0.1])
def test_infinite_p_reaches_the_convex_solver(seed, alpha):
    X, y = noisy_data(seed=seed)
    w = np.random.default_rng(seed).integers(1, 4, len(y)).astype(float)
    options = {"solver": "lbfgs", "alpha": alpha, "weak_ranker": "feature", "n_estimators": 500}
    ranker = PNormPushRanker(p=np.inf, **options).fit(X, y, sample_weight=w)
    best = largest_height(X, y, w, alpha)
    value = ranker.objective_curve_[-1]
    scores = X @ ranker.coef_
    penalty = alpha / 2 * ranker.coef_ @ ranker.coef_
    assert value == pytest.approx(oracles.log_push(scores, y, None, w, np.inf) + penalty, rel=1e-9)
    assert best - 1e-6 <= value <= best + 1e-3
    at_64 = PNormPushRanker(p=64, **options).fit(X, y, sample_weight=w)
    penalty = alpha / 2 * at_64.coef_ @ at_64.coef_
    assert value <= oracles.log_push(X @ at_64.coef_, y, None, w, np.inf) + penalty + 1e-12


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("push", ["top", "bottom"])
def test_infinite_p_of_stumps_is_never_above_p_64(push):
    X, y = noisy_data(40, 3)
    options = {"solver": "lbfgs", "alpha": 0.01, "push": push, "n_estimators": 300}
    limit = PNormPushRanker(p=np.inf, **options).fit(X, y)
    finite = PNormPushRanker(p=64, **options).fit(X, y)

    def height(ranker):
        f = ranker.decision_function(X)
        penalty = 0.005 * ranker.estimator_weights_ @ ranker.estimator_weights_
        return oracles.log_push(f, y, p=np.inf, push=push) + penalty

    assert height(limit) == pytest.approx(limit.objective_curve_[-1], abs=1e-9)
    assert height(limit) <= height(finite) + 1e-9
    assert np.all(np.diff(limit.objective_curve_) <= 0)


@pytest.mark.parametrize(
    ("options", "curvature"),
    [
        ({"p": 1}, 2.0),
        ({"p": 4, "push": "bottom"}, 5.0),
        ({"p": 1, "loss": "logistic"}, 0.5),
        ({"p": 1, "loss": "least_squares"}, 4.0),
        ({"push": "ir"}, 12 * 48 / 49 * (1 + 1 / 49)),
    ],
    ids=str,
)
def test_auto_ridge_in_the_unit_of_the_objective(options, curvature):
    """Twelve positives and 48 negatives: 20 curvature / 12 for stumps; weight 2 is the row twice.

    The sums of the curvature are worked out by hand.
    """
    X, y = noisy_data(60, 2)
    y = np.arange(60) < 12
    ranker = PNormPushRanker(solver="lbfgs", **options)
    assert ranker.fit(X, y).alpha_ == pytest.approx(20 * curvature / 12)
    assert ranker.fit(X, y, sample_weight=np.full(60, 1 / 60)).alpha_ > 0
    ranker.set_params(weak_ranker="feature")
    assert ranker.fit(X, y).alpha_ == pytest.approx(curvature / 12)
    weight = np.arange(60) % 3
    weighted = ranker.fit(X, y, sample_weight=weight)
    coef, alpha = weighted.coef_, weighted.alpha_
    repeated = ranker.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert repeated.alpha_ == pytest.approx(alpha, rel=1e-12)
    np.testing.assert_allclose(repeated.coef_, coef, rtol=1e-4, atol=1e-6)


def test_auto_ridge_counts_rows_with_rows_on_the_other_side():
    """Weights that sum to one stand for as many rows; grades have rows on both sides."""
    X, _ = noisy_data(60, 2)
    grades = np.repeat([0, 1, 2], 20)
    ranker = PNormPushRanker(p=1, solver="lbfgs", weak_ranker="feature", relevance="graded")
    assert ranker.fit(X, grades).alpha_ == pytest.approx(2 / 40)
    weight = np.full(60, 1 / 60)
    assert ranker.fit(X, grades, sample_weight=weight).alpha_ == pytest.approx(2 / 40)
    qid = np.arange(60) % 2  # of the query of odd rows only one is left that has a pair
    pairs = (qid == 0) | (np.arange(60) == 59) | (np.arange(60) == 1)
    assert ranker.fit(X[pairs], grades[pairs], qid=qid[pairs]).alpha_ == pytest.approx(2 / 21)


def test_auto_ridge_keeps_scores_of_separable_data_small():
    """Without a ridge they reached 1e15, and the solver warned."""
    X = np.random.default_rng(0).standard_normal((600, 6))
    y = X @ np.arange(6) > 0
    ranker = PNormPushRanker(p=2, solver="lbfgs").fit(X, y)
    assert np.abs(ranker.decision_function(X)).max() < 100
    assert ranker.score(X, y) > 0.99


@pytest.mark.parametrize(
    "options",
    [{}, {"solver": "corrective"}, {"p": np.inf, "solver": "lbfgs"}, {"n_bags": 2}],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_auto_ridge_is_zero_elsewhere(options):
    X, y = noisy_data()
    assert PNormPushRanker(n_estimators=2, **options).fit(X, y).alpha_ == 0
    if "solver" in options:
        assert PNormPushRanker(n_estimators=2, alpha=0.5, **options).fit(X, y).alpha_ == 0.5


def test_the_default_learning_rate_is_for_boosting_alone():
    X, y = noisy_data()
    steps = PNormPushRanker(solver="corrective", n_estimators=3)
    curve = steps.fit(X, y).objective_curve_
    whole = steps.set_params(learning_rate=1).fit(X, y)
    np.testing.assert_array_equal(whole.objective_curve_, curve)
    with pytest.raises(ValueError, match=r"learning_rate=0\.2 .* needs solver='coordinate'"):
        steps.set_params(learning_rate=0.2).fit(X, y)


def test_auto_ridge_needs_a_second_derivative():
    class OnlyFirst(MarginLoss):
        is_smooth = True

        def value_and_derivative(self, margin):
            return np.exp(-margin), -np.exp(-margin)

    X, y = noisy_data()
    ranker = PNormPushRanker(loss=OnlyFirst(), solver="lbfgs")
    with pytest.raises(ValueError, match=r"alpha='auto' .* second_derivative, which OnlyFirst"):
        ranker.fit(X, y)
    assert ranker.set_params(alpha=0.1).fit(X, y).alpha_ == 0.1


def test_separable_data_without_ridge_warn():
    X, y = np.arange(10.0)[:, None], np.arange(10) > 4
    with pytest.warns(ConvergenceWarning, match="is unbounded below.* need alpha > 0"):
        ranker = PNormPushRanker(solver="lbfgs", alpha=0).fit(X, y)
    assert np.isfinite(ranker.decision_function(X)).all()
    assert ranker.score(X, y) == 1.0


def test_warm_start_goes_on():
    X, y = noisy_data(50, 4)
    ranker = PNormPushRanker(solver="lbfgs", alpha=0.01, tol=1e-11, n_estimators=3)
    cold = clone(ranker).set_params(n_estimators=400).fit(X, y)
    with pytest.warns(ConvergenceWarning):
        first = ranker.set_params(warm_start=True).fit(X, y).objective_curve_.copy()
    ranker.set_params(n_estimators=400).fit(X, y)
    np.testing.assert_array_equal(ranker.objective_curve_[:3], first)
    assert ranker.objective_curve_[-1] == pytest.approx(cold.objective_curve_[-1], abs=1e-6)
    assert ranker.n_iter_ == len(ranker.objective_curve_) <= 400


def test_credits_of_the_features_add_up_to_the_decrease():
    """Feature importances are a path integral of the gradient."""
    X, y = noisy_data(50, 4)
    preferences = Preferences.from_labels(y == 1, None, np.ones(50))
    model = LinearModel(X, preferences.order)
    function = CoefficientObjective(PUSHES["top"](preferences, 4.0, 1.0), model, alpha=0.1)
    minimum = minimise(function, np.zeros(4), max_iter=200, tol=1e-12)
    start = oracles.log_push(np.zeros(50), y, p=4)
    assert minimum.credit.sum() == pytest.approx(start - minimum.values[-1], rel=1e-9)
    ranker = PNormPushRanker(solver="lbfgs", alpha=0.1, n_estimators=200, weak_ranker="feature")
    importances = ranker.fit(X, y).feature_importances_
    np.testing.assert_allclose(importances, minimum.credit / minimum.credit.sum(), atol=1e-3)


@pytest.mark.parametrize("categories", [{}, {0: np.arange(5.0)}], ids=["numbers", "categories"])
def test_stumps_are_a_linear_operator(categories):
    """H.T @ gradient and H @ coefficients, against the columns one by one."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 5, (40, 3)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:, 1] = np.nan_to_num(X[:, 1])
    rows = Rows(X, rng.permutation(40), None, np.ones(40))
    order = rows.preferences.order
    known = Stumps().constraints(3, categories=categories)
    family = Stumps().on_rows(FitRows(rows, ThreadPool(1), max_bins=8, constraints=known))
    # Sets of categories follow the comparisons of numbers.
    is_used = family._is_valid & ~family._is_subset[..., np.newaxis]
    is_used = np.append(is_used.ravel(), np.ones(family.n_coordinates - is_used.size, dtype=bool))
    gradient, coefficients = rng.standard_normal(40), rng.standard_normal(family.n_coordinates)
    columns = np.array(
        [
            family.values(Candidate(j, 0.0)) if is_used[j] else np.zeros(40)
            for j in range(family.n_coordinates)
        ]
    ).T
    coefficients[~is_used] = 0
    np.testing.assert_allclose(family.pull_back(gradient), columns.T @ gradient, atol=1e-12)
    np.testing.assert_allclose(family.scores(coefficients), columns @ coefficients, atol=1e-12)
    used = np.flatnonzero(coefficients)
    scores = family.rules(used).scores(X, coefficients[used], ThreadPool(1))
    np.testing.assert_allclose(scores[order], columns @ coefficients, atol=1e-12)


def test_objectives_know_no_features():
    """The same objective serves any model of scores."""
    X, y = noisy_data()
    preferences = Preferences.from_labels(y.astype(float), check_qid(y * 0, 30), np.ones(30))
    model = LinearModel(X, preferences.order)
    objective = PUSHES["top"](preferences, 2.0, 1.0)
    value, gradient = objective.value_and_gradient(model.scores(np.ones(3)))
    assert value == pytest.approx(oracles.log_push(X.sum(axis=1), y, p=2))
    np.testing.assert_allclose(
        model.pull_back(gradient), -X.T @ oracles.row_masses(X.sum(axis=1), y, p=2), atol=1e-12
    )


def test_a_line_search_that_fails_at_a_bend_is_begun_anew():
    """With p=64 the slope changes its sign within a thousandth; SciPy gives up at -5.4967."""
    X = np.array([[0.1, 0], [-2.5, 2], [0.1, 0], [0.1, 0], [0.1, 0], [40, 2]])
    y, qid, weight = [0, 1, 0, 0, 0, 1], [7, -3, 7, -3, 7, 7], [1, 2, 1, 3, 1, 1]
    options = {"weak_ranker": "feature", "solver": "lbfgs", "relevance": "graded"}
    ranker = PNormPushRanker(p=64, alpha=0.3, n_estimators=500, **options)
    ranker.fit(X, y, qid=qid, sample_weight=weight)
    assert ranker.objective_curve_[-1] == pytest.approx(-5.953419395, abs=1e-6)


@pytest.mark.parametrize("n_estimators", [500, 20, 17, 16])
def test_a_failed_line_search_leaves_its_lowest_point(n_estimators):
    """After 16 iterations SciPy gives up in a narrow valley, once more from the same point."""
    X = np.array([[0, 0.2, 0.1], [3, -2.5, -2.5], [1, 0.1, 40], [2, 0.1, -2.5]])
    y, weight = [10, 0, -1.5, 10], [1, 2, 2, 2]
    options = {"weak_ranker": "feature", "solver": "lbfgs", "relevance": "graded"}
    ranker = PNormPushRanker(p=64, push="bottom", alpha=0.3, n_estimators=n_estimators, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error" if n_estimators == 500 else "ignore")
        ranker.fit(X, y, sample_weight=weight)
    f, curve = ranker.predict(X), ranker.objective_curve_
    end = oracles.log_push(f, y, None, weight, 64, "bottom") + 0.15 * ranker.coef_ @ ranker.coef_
    assert curve[-1] == pytest.approx(end, rel=1e-9)
    assert len(curve) == ranker.n_iter_ <= n_estimators
    assert np.all(np.diff(curve) < 0)
    lowest = {500: -11.97549669, 16: -11.93110342}.get(n_estimators)
    assert lowest is None or end == pytest.approx(lowest, abs=1e-6)
