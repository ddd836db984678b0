"""Large linear fits begin at the minimum over drawn pairs: draws, guide, and where fits end."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.definitions import numeric_gradient, pairs
from scipy import sparse

from sklearn_rank import KernelPairwiseSGDRanker
from sklearn_rank._core.given_pairs import GivenPairs
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._pair_sums.margin_losses import MARGIN_LOSSES
from sklearn_rank.models import KernelModel, LinearModel
from sklearn_rank.objectives import MarginLoss, pair_loss_and_gradient
from sklearn_rank.pairs import PairRanker
from sklearn_rank.solvers._drawn_guide import _newton, drawn_guide

N, ALPHA = 24_000, 1e-3


def correlated(n=N, n_features=6, seed=0):
    """Features of very different scales, correlated at .9, and labels that follow them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    X[:, 1:] = 0.9 * X[:, :1] + 0.4 * X[:, 1:]
    y = X @ rng.normal(size=n_features) + rng.logistic(size=n) > 0.5
    return X * np.logspace(-1, 1, n_features), y


def problem_of(X, y, loss="logistic", qid=None, weight=None):
    rows = Preferences.from_labels(y, qid, np.ones(len(y)) if weight is None else weight)
    loss = MARGIN_LOSSES[loss] if isinstance(loss, str) else loss
    model = LinearModel(X, rows.order)
    return SimpleNamespace(model=model, preferences=rows, loss=loss, alpha=ALPHA)


@given(st.data())
def test_pairs_are_drawn_by_their_weight(data):
    n = data.draw(st.integers(2, 8))
    levels = st.lists(st.integers(-1, 2), min_size=n, max_size=n)
    y, qid = np.array(data.draw(levels), dtype=float), np.array(data.draw(levels)) + 1
    weight = np.array(data.draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n, max_size=n)))
    expected = np.zeros((n, n))
    for i, k in pairs(y, qid):
        expected[i, k] = weight[i] * weight[k]
    if not expected.any():
        return
    rows = Preferences.from_labels(y, qid, weight)
    upper, lower = rows.draws()(20_000, np.random.RandomState(1))
    found = np.zeros((n, n))
    np.add.at(found, (rows.order[upper], rows.order[lower]), 1 / 20_000)
    assert not found[expected == 0].any()
    np.testing.assert_allclose(found, expected / expected.sum(), atol=5 * 0.5 / 20_000**0.5)


def test_listed_pairs_are_drawn_by_their_weight():
    listed = GivenPairs(3, np.array([0, 2, 0]), np.array([1, 1, 2]), np.array([1.0, 3.0, 4.0]))
    upper, lower = listed.draws()(20_000, np.random.RandomState(1))
    found = np.zeros((3, 3))
    np.add.at(found, (upper, lower), 1 / 20_000)
    expected = np.array([[0, 1, 4], [0, 0, 0], [0, 3, 0]]) / 8
    np.testing.assert_allclose(found, expected, atol=5 * 0.5 / 20_000**0.5)


@pytest.mark.parametrize("loss", ["logistic", "exponential", "least_squares"])
def test_the_guide_is_the_minimum_over_the_drawn_pairs(loss):
    """Its gradient is zero, and the factor is that of the second derivatives there."""
    differences = np.random.default_rng(0).normal(0.3, 1, size=(200, 3))
    guide = _newton(differences, MARGIN_LOSSES[loss], 0.01)

    def objective(w):
        return MARGIN_LOSSES[loss].value(differences @ w).mean() + 0.005 * w @ w

    gradient = numeric_gradient(objective, guide.minimum)
    start = numeric_gradient(objective, np.zeros(3))
    np.testing.assert_allclose(gradient, 0, atol=1e-2 * np.abs(start).max())
    hessian = np.array(
        [
            numeric_gradient(lambda w, j=j: numeric_gradient(objective, w)[j], guide.minimum)
            for j in range(3)
        ]
    )
    # The factor is that of the last step's start, which is near the minimum.
    np.testing.assert_allclose(guide.solve(hessian), np.eye(3), atol=0.02)


@pytest.mark.parametrize("loss", MARGIN_LOSSES)
@pytest.mark.parametrize("kind", ["list", "queries"])
def test_fits_with_a_guide_end_at_the_minimum(loss, kind):
    """The gradient, by another route, is a small share of that at zero."""
    X, y = correlated()
    rng = np.random.default_rng(1)
    given = {"sample_weight": rng.integers(1, 4, N).astype(float)}
    if kind == "queries":
        given["qid"] = np.arange(N) // 50
    tol = 1e-6 if loss != "hinge" else 1e-3
    X /= 10  # the exponential loss
    ranker = KernelPairwiseSGDRanker(kernel="linear", loss=loss, alpha=ALPHA, tol=tol)
    ranker.fit(X, y, **given)
    scale = pair_loss_and_gradient(y, np.zeros(N), loss="least_squares", **given)[0]

    def gradient(w):
        return X.T @ pair_loss_and_gradient(y, X @ w, loss=loss, **given)[1] / scale + ALPHA * w

    start = np.linalg.norm(gradient(0 * ranker.coef_))
    if loss != "hinge":
        assert np.linalg.norm(gradient(ranker.coef_)) <= 2e-6 * start
    assert ranker.n_iter_ <= 12


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_sparse_and_dense_features_have_the_same_minimum(n_jobs):
    X, y = correlated()
    X[np.random.default_rng(2).random(X.shape) < 0.7] = 0
    ranker = KernelPairwiseSGDRanker(kernel="linear", alpha=ALPHA, tol=1e-8, n_jobs=n_jobs)
    dense = ranker.fit(X, y).coef_.copy()
    for matrix in (sparse.csr_array, sparse.csc_array):
        np.testing.assert_allclose(ranker.fit(matrix(X), y).coef_, dense, rtol=1e-6, atol=1e-8)


def test_correlated_features_of_all_scales_take_few_iterations():
    """Without a guide hundreds: the inner product of the coefficients knows no scale."""
    X, y = correlated()
    X *= np.logspace(-2, 2, 6)
    assert KernelPairwiseSGDRanker(kernel="linear", tol=1e-6).fit(X, y).n_iter_ <= 8
    X, y = X[:8000], y[:8000]  # too few rows
    assert KernelPairwiseSGDRanker(kernel="linear", tol=1e-6).fit(X, y).n_iter_ > 40


def test_many_features_have_the_diagonal():
    X, y = correlated(n_features=210)
    guide = drawn_guide(problem_of(X, y))
    # Of the pairs of two independent rows, a difference has twice the variance, at least.
    expected = np.square(X[y].mean(axis=0) - X[~y].mean(axis=0)) + X[y].var(0) + X[~y].var(0)
    assert guide.minimum is None
    np.testing.assert_allclose(
        guide.solve(np.ones((2, 210))) * (expected / 4 + ALPHA), 1, rtol=0.15
    )


class Absolute(MarginLoss):
    """Smooth enough for L-BFGS, without a second derivative."""

    def value_and_derivative(self, margin):
        root = np.sqrt(1 + margin**2)
        return root - margin, margin / root - 1


def test_where_there_is_no_guide():
    X, y = correlated()
    assert drawn_guide(problem_of(X, y)) is not None
    assert drawn_guide(problem_of(X, y, Absolute())) is None
    assert drawn_guide(problem_of(X[:16_000], y[:16_000])) is None  # few rows
    assert drawn_guide(problem_of(X * 1e160, y)) is None  # squares overflow
    wide = np.tile(X, 40) * 1e160
    assert drawn_guide(problem_of(wide, y)) is None
    kernel = problem_of(X, y)
    kernel.model = KernelModel(None, X, np.eye(2))
    assert drawn_guide(kernel) is None


def test_a_warm_start_goes_on_from_its_coefficients():
    X, y = correlated()
    ranker = KernelPairwiseSGDRanker(kernel="linear", tol=1e-7, warm_start=True).fit(X, y)
    first, n_iter = ranker.coef_.copy(), ranker.n_iter_
    ranker.fit(X, y)
    np.testing.assert_allclose(ranker.coef_, first, rtol=1e-5)
    assert ranker.n_iter_ <= n_iter + 1


def test_listed_pairs_take_few_iterations():
    X, _ = correlated()
    rng = np.random.default_rng(3)
    duels = rng.integers(0, N, (40_000, 2))
    duels = duels[duels[:, 0] != duels[:, 1]]
    wins = X[duels[:, 0], 0] > X[duels[:, 1], 0] + rng.logistic(size=len(duels)) / 20
    duels = np.where(wins[:, None], duels, duels[:, ::-1])
    ranker = PairRanker(KernelPairwiseSGDRanker(kernel="linear", tol=1e-6)).fit(X, duels).ranker_
    assert ranker.n_iter_ <= 8


@given(st.integers(0, 2**32 - 1))
def test_stripes_of_a_sparse_matrix_are_the_matrix(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    values = rng.integers(1, 4, (n, 5)) * (rng.random((n, 5)) < 0.4)
    X = sparse.csr_array(values.astype(float))  # of integers, so that sums are exact
    order, w, g = rng.permutation(n), np.arange(5.0), rng.integers(0, 5, n).astype(float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sklearn_rank.models.linear._STRIPE", max(1, X.nnz // 3))
        with ThreadPool(2).running() as threads:
            model = LinearModel(X, order, threads=threads)
            scores, slopes = model.scores(w), model.pull_back(g)
    np.testing.assert_array_equal(scores, (X.toarray() @ w)[order])
    np.testing.assert_array_equal(slopes, g @ X.toarray()[order])
