"""solver="corrective": each refit and each choice against the definition."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from oracles import corrective as oracles_corrective
from oracles import definitions as oracles
from sklearn.exceptions import ConvergenceWarning
from strategies import problems, take
from tiers import crossed

from sklearn_rank import PNormPushRanker
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import RowGradient
from sklearn_rank._core.rows import FitRows, Rows
from sklearn_rank._core.validation import check_qid
from sklearn_rank.models import Stumps
from sklearn_rank.objectives import PUSHES, make_push
from sklearn_rank.solvers._lbfgs import CoefficientObjective, minimise
from sklearn_rank.solvers.coordinate_descent import steepest
from sklearn_rank.solvers.corrective import ChosenColumns

FEWER = settings(max_examples=settings.default.max_examples * 2 // 5)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def data_of(n_rows=80, n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 8, (n_rows, n_features)).astype(float)
    return X, (X[:, 0] + X[:, 1] + 3 * rng.standard_normal(n_rows) > 7).astype(int)


def fit(problem, **options):
    options = {"solver": "corrective", "relevance": "graded", "n_estimators": 3} | options
    ranker = PNormPushRanker(**options)
    return ranker.fit(problem.X, problem.y, qid=problem.qid, sample_weight=problem.w)


def paired(problem):
    """Return a problem without rows that weigh nothing or are in no pair."""
    w = oracles.row_weights(problem.y, problem.w)
    is_pair = np.array(
        [
            [oracles.comparable(i, k, problem.y, problem.qid) for k in range(len(w))]
            for i in range(len(w))
        ]
    ) & (w[:, None] * w > 0)
    keep = is_pair.any(axis=0) | is_pair.any(axis=1)
    return take(problem, keep)


def columns_of(ranker, X):
    """The chosen stumps on some rows, one a column."""
    h = [ranker.weak_rankers_.values(X, t) for t in range(len(ranker.estimator_weights_))]
    return np.array(h, dtype=float).reshape(len(h), len(X)).T


def rows_of(problem):
    """Return the rows that weigh something."""
    w = oracles.row_weights(problem.y, problem.w)
    qid = None if problem.qid is None else check_qid(problem.qid, len(w))
    return Rows(problem.X, problem.y, qid, w).take(np.flatnonzero(w > 0))


def preferences_of(problem):
    """Return the preferences of the rows that weigh something, and these rows in their order."""
    rows = rows_of(problem)
    return rows.preferences, rows.position[rows.preferences.order]


def chosen_columns(preferences, h):
    """Return some columns of h, for a problem of which only the preferences are known."""
    chosen = ChosenColumns.none(SimpleNamespace(preferences=preferences))
    for column in h.T:
        chosen = chosen.with_column(column)
    return chosen


@crossed(push=list(PUSHES), p=[1, 4], loss=["exponential", "logistic"])
@FEWER
@given(problem=problems(missing=True))
def test_cells_have_the_objective_of_the_rows(push, p, loss, problem):
    if push == "ir" and loss != "exponential":
        return
    preferences, order = preferences_of(problem)
    h = np.nan_to_num(problem.X[order]) > 0.5
    chosen = chosen_columns(preferences, h)
    c = np.linspace(-1, 1, h.shape[1])
    np.testing.assert_array_equal(chosen.scores(c)[chosen.cell], h.astype(float) @ c)
    of_rows = make_push(preferences, loss, p, push)
    of_cells = make_push(chosen.preferences, loss, p, push)
    value, gradient = of_rows.value_and_gradient(h @ c)
    cell_value, cell_gradient = of_cells.value_and_gradient(chosen.scores(c))
    assert cell_value == pytest.approx(value, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(chosen.pull_back(cell_gradient), h.T @ gradient, atol=1e-9)
    found = chosen.to_rows(RowGradient.signed(cell_gradient))
    np.testing.assert_allclose(found.data, gradient, atol=1e-9)


@given(problem=problems())
def test_columns_are_left_out(problem):
    preferences, order = preferences_of(problem)
    h = problem.X[order] > 0.5
    chosen = chosen_columns(preferences, np.column_stack([h, h[:, 0]]))
    assert all(chosen.is_chosen(column) and chosen.is_chosen(~column) for column in h.T)
    fewer = chosen.keep(np.array([0]))
    np.testing.assert_array_equal(fewer.values[fewer.cell, 0], h[:, 0])
    assert len(np.unique(fewer.values, axis=0)) <= 2
    assert fewer.is_chosen(h[:, 0])
    parity = np.arange(len(order)) % 2 == 0
    is_new = (parity == h[:, 0]).any() and (parity != h[:, 0]).any()
    assert fewer.is_chosen(parity) != is_new


def test_large_matrices_of_columns_go_by_blocks(monkeypatch):
    preferences = Preferences.from_labels(np.arange(50) % 2 == 0, None, np.ones(50))
    rng = np.random.default_rng(0)
    chosen = chosen_columns(preferences, rng.random((50, 4)) < 0.5)
    c, gradient = rng.standard_normal(4), rng.standard_normal(len(chosen.values))
    at_once = chosen.scores(c), chosen.pull_back(gradient)
    monkeypatch.setattr("sklearn_rank.solvers.corrective._BLOCK", 17)
    np.testing.assert_allclose(chosen.scores(c), at_once[0], atol=1e-12)
    np.testing.assert_allclose(chosen.pull_back(gradient), at_once[1], atol=1e-12)


@pytest.mark.parametrize("longest", [0.5, 0.7, 0.95])
def test_a_near_bound_does_not_end_lbfgs(longest):
    """Its line search had no room left, and the decrease was taken for the last one."""
    X = np.array([0.0, 0, 0, 0, 1, 2, 2, 2])[:, None]
    y, w = np.array([0, 1, 1, 1, 1, 1, 0, 1]), np.array([1.0, 1, 1, 1, 1, 2, 1, 2])
    preferences, order = preferences_of(SimpleNamespace(X=X, y=y, qid=None, w=w))
    chosen = chosen_columns(preferences, X[order] > [[0.5, 1.5]])
    objective = make_push(chosen.preferences, "exponential", 4.0, "bottom")
    options = {"bounds": [(-longest, longest)] * 2, "max_iter": 200, "tol": 1e-10}
    found = minimise(CoefficientObjective(objective, chosen), np.zeros(2), **options)
    assert not found.message
    # Each slope is zero, or presses against a bound.
    slope = CoefficientObjective(objective, chosen)(found.x)[1]
    np.testing.assert_allclose(np.clip(found.x - slope, -longest, longest), found.x, atol=1e-4)


@given(problem=problems(missing=True))
def test_a_search_leaves_out_what_it_is_told(problem):
    order = preferences_of(problem)[1]
    stumps = Stumps().on_rows(FitRows(rows_of(problem), ThreadPool(1)))
    gradient = RowGradient.signed(np.sin(np.arange(len(order)) + 1.0))
    found, excluded = stumps.search(gradient, steepest), []
    while found is not None:
        assert found.index not in excluded
        excluded.append(found.index)
        edge = abs(found.edge)
        found = stumps.search(gradient, steepest, excluded)
        assert found is None or abs(found.edge) <= edge * (1 + 1e-9)
    assert len(excluded) <= stumps._is_valid.sum()


@crossed(push=list(PUSHES), p=[1, 4], loss=["exponential", "logistic"], alpha=[0.0, 0.1])
@FEWER
@given(problem=problems(spread=1.0))
def test_coefficients_are_at_the_minimum(push, p, loss, alpha, problem):
    if push == "ir" and loss != "exponential":
        return
    ranker = fit(problem, p=p, push=push, loss=loss, alpha=alpha)
    columns = columns_of(ranker, problem.X)
    posed = problem.y, problem.qid, problem.w, p, push, loss
    _, value = oracles_corrective.refit(columns, *posed, alpha)
    c = ranker.estimator_weights_
    at_c = oracles.posed(columns @ c, *posed)[0] + alpha / 2 * c @ c
    if len(c):
        assert ranker.objective_curve_[-1] == pytest.approx(at_c, rel=1e-8, abs=1e-8)
        assert at_c == pytest.approx(value, rel=1e-6, abs=1e-6)
    assert np.all(np.diff(ranker.objective_curve_) < 0)
    longest = oracles_corrective.longest_step(problem.y, problem.qid, problem.w, p, push)
    assert np.all(np.abs(c) <= longest * (1 + 1e-12))


@crossed(push=["top", "bottom", "ir"], p=[1, 4], selection=["steepest", "optimal"])
@FEWER
@given(problem=problems(spread=1.0, max_rows=12))
def test_each_round_chooses_the_largest_gain(push, p, selection, problem):
    problem = paired(problem)
    posed = problem.y, problem.qid, problem.w, p, push
    options = {"p": p, "push": push, "selection": selection}
    before = None
    for n_rounds in (1, 2, 3):
        ranker = fit(problem, n_estimators=n_rounds, **options)
        columns = columns_of(ranker, problem.X)
        if len(ranker.estimator_weights_) < n_rounds:
            return
        old = np.zeros((len(problem.y), 0)) if before is None else columns_of(before, problem.X)
        np.testing.assert_array_equal(columns[:, :-1], old)
        f = old @ before.estimator_weights_ if n_rounds > 1 else np.zeros(len(problem.y))
        candidates = oracles_corrective.others(problem.X, old, problem.w)
        best = oracles_corrective.best_of(candidates, f, *posed, selection=selection, slack=1e-4)
        assert any((one.h == columns[:, -1]).all() for one in best)
        before = ranker


@crossed(
    loss=["exponential", "logistic", "hinge", "least_squares"],
    push=list(PUSHES),
    with_queries=[False, True],
)
def test_every_push_and_loss(loss, push, with_queries):
    if push == "ir" and loss != "exponential":
        return
    X, y = data_of(60)
    qid = np.arange(60) % 4 if with_queries else None
    options = {"p": 2.0, "push": push, "loss": loss, "n_estimators": 4}
    steps = PNormPushRanker(**options).fit(X, y, qid=qid)
    ranker = PNormPushRanker(solver="corrective", **options).fit(X, y, qid=qid)
    assert np.all(np.diff(ranker.objective_curve_) <= 0)
    assert ranker.objective_curve_[0] <= steps.objective_curve_[0] + 1e-9
    assert ranker.objective_curve_[-1] <= steps.objective_curve_[-1] + 1e-9


def test_a_copied_feature_changes_nothing():
    X, y = data_of(150, 5)
    options = {"solver": "corrective", "n_estimators": 5}
    single = PNormPushRanker(**options).fit(X, y)
    double = PNormPushRanker(**options).fit(np.column_stack([X, X]), y)
    assert double.objective_curve_[-1] == pytest.approx(single.objective_curve_[-1], rel=1e-9)
    assert double.weak_rankers_.feature.max() < 5


def test_credits_add_up_to_the_decrease_of_the_objective():
    X, y = data_of(150, 5)
    ranker = PNormPushRanker(solver="corrective", n_estimators=5).fit(X, y)
    start = oracles.log_push(np.zeros(len(y)), y, p=4)
    credit = sum(ranker._history_["decreases"])
    assert credit == pytest.approx(start - ranker.objective_curve_[-1], rel=1e-6)
    assert ranker.feature_importances_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("has_categories", [False, True])
def test_warm_start_goes_on(has_categories):
    X, y = constrained_data() if has_categories else data_of()
    options = {"solver": "corrective", "warm_start": True}
    options |= {"categorical_features": [4]} if has_categories else {}
    ranker = PNormPushRanker(n_estimators=3, **options).fit(X, y)
    ranker.set_params(n_estimators=6).fit(X, y)
    cold = PNormPushRanker(n_estimators=6, **options).fit(X, y)
    np.testing.assert_allclose(ranker.objective_curve_, cold.objective_curve_, rtol=1e-9)
    np.testing.assert_allclose(ranker.estimator_weights_, cold.estimator_weights_, atol=1e-6)
    np.testing.assert_allclose(ranker.decision_function(X), cold.decision_function(X), atol=1e-6)
    assert ranker.n_iter_ == 6
    with pytest.raises(ValueError, match="continues with the same solver"):
        ranker.set_params(solver="coordinate").fit(X, y)


def test_data_ranked_without_error_have_bounded_coefficients():
    X, y = np.arange(10.0)[:, None], np.arange(10) > 4
    ranker = PNormPushRanker(solver="corrective", n_estimators=3).fit(X, y)
    assert ranker.score(X, y) == 1.0
    longest = oracles_corrective.longest_step(y, p=4)
    assert ranker.estimator_weights_[0] == pytest.approx(longest)
    ridge = PNormPushRanker(solver="corrective", n_estimators=3, alpha=10.0).fit(X, y)
    assert np.abs(ridge.estimator_weights_).max() < longest / 2


def test_nothing_to_choose_warns():
    X, y = np.zeros((6, 2)), np.arange(6) % 2
    ranker = PNormPushRanker(solver="corrective")
    with pytest.warns(ConvergenceWarning, match="found no weak ranker"):
        ranker.fit(X, y)
    assert ranker.n_iter_ == 0
    np.testing.assert_array_equal(ranker.predict(X), np.full(6, ranker.predict(X)[0]))


def constrained_data(seed=0, n_rows=200):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 8, (n_rows, 5)).astype(float)
    X[rng.random(n_rows) < 0.2, 0] = np.nan
    X[rng.random(n_rows) < 0.2, 1] = -9.0
    X[:, 4] = rng.integers(0, 6, n_rows)
    signal = np.nan_to_num(X[:, 0], nan=6.0) - X[:, 2] + 3 * np.isin(X[:, 4], [1, 4])
    return X, (signal + 3 * rng.standard_normal(n_rows) > 1).astype(int)


@pytest.mark.parametrize("seed", range(4))
def test_constraints_hold_after_every_refit(seed):
    X, y = constrained_data(seed)
    ranker = PNormPushRanker(
        solver="corrective",
        n_estimators=12,
        monotonic_cst=[1, 1, 1, 0, 0],
        categorical_features=[4],
        weak_ranker=Stumps(
            special_values={1: [-9.0]}, max_thresholds=6, max_features_used=3, min_bin_size=0.05
        ),
    ).fit(X, y)
    assert np.all(np.diff(ranker.objective_curve_) <= 0)
    functions = ranker.weak_rankers_.step_functions(ranker.estimator_weights_)
    assert 0 < len(ranker.estimator_weights_) <= 6
    assert len(functions) <= 3
    for one in functions:
        if one.feature in (0, 1, 2):
            assert np.all(np.diff(one.values[: one.bins.n_values]) >= 0)


def test_a_coefficient_that_ends_at_its_bound_frees_its_place():
    """The first choice, a noisy summary of the others, is worth less than nothing beside them."""
    rng = np.random.default_rng(0)
    parts = rng.random((500, 4)) < 0.5
    summary = (parts.sum(axis=1) >= 2) ^ (rng.random(500) < 0.1)
    y = (parts.sum(axis=1) - 0.3 * summary + 0.3 * rng.standard_normal(500) > 1.6).astype(int)
    X = np.column_stack([summary, parts]).astype(float)
    options = {"p": 1.0, "n_estimators": 5}
    free = PNormPushRanker(solver="corrective", **options).fit(X, y)
    assert free.weak_rankers_.feature[0] == 0
    assert free.estimator_weights_[0] < 0
    ranker = PNormPushRanker(solver="corrective", monotonic_cst=[1] * 5, **options).fit(X, y)
    functions = ranker.weak_rankers_.step_functions(ranker.estimator_weights_)
    assert [one.feature for one in functions] == [1, 2, 3, 4]
    assert np.all(ranker.estimator_weights_ > 0)
    assert ranker.n_iter_ == 5
