"""Linear models and boosters of other losses, of rows that several processes hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.listwise import listwise
from shared_fits import Observer, run_together
from sklearn.base import clone
from test_shared_fits import assert_same_model, divided_rows, fit_together

from sklearn_rank import KernelPairwiseSGDRanker, ListNetLinear, PNormPushRanker
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.rows import Rows
from sklearn_rank.dask._fit_task import fit_rows
from sklearn_rank.dask._partitioned_matrix import PartitionedMatrix
from sklearn_rank.objectives import PairLoss, make_push

BOOSTERS = {
    "least squares": PNormPushRanker(p=1, loss="least_squares", n_estimators=4),
    "least squares, top": PNormPushRanker(p=4, loss="least_squares", n_estimators=4),
    "logistic": PNormPushRanker(p=1, loss="logistic", n_estimators=4),
    "logistic, top": PNormPushRanker(p=4, loss="logistic", n_estimators=4),
    "logistic, both": PNormPushRanker(p=2, loss="logistic", push="both", n_estimators=4),
    "ir": PNormPushRanker(push="ir", n_estimators=4),
    "logistic, features": PNormPushRanker(
        p=2, loss="logistic", weak_ranker="feature", n_estimators=4
    ),
}
TIGHT = {"tol": 1e-12, "n_estimators": 500, "alpha": 0.1, "solver": "lbfgs"}
LBFGS = {
    "stumps": PNormPushRanker(p=2, **{**TIGHT, "alpha": "auto"}),
    "features": PNormPushRanker(p=2, weak_ranker="feature", **TIGHT),
    "logistic": PNormPushRanker(p=2, loss="logistic", weak_ranker="feature", **TIGHT),
    "largest height": PNormPushRanker(
        p=np.inf, weak_ranker="feature", **{**TIGHT, "n_estimators": 50}
    ),
}
LISTS = {
    "l2": ListNetLinear(alpha=1e-2),
    "l1": ListNetLinear(alpha=1e-2, penalty="l1"),
    "none": ListNetLinear(penalty=None, max_norm=1.5),
    "dcg": ListNetLinear(loss="smoothed_dcg", alpha=1.0),
}
KERNELS = {
    "lbfgs": KernelPairwiseSGDRanker(kernel="linear", alpha=0.1, tol=1e-6),
    "least squares": KernelPairwiseSGDRanker(
        kernel="linear", loss="least_squares", alpha=0.1, tol=1e-6
    ),
    "exponential": KernelPairwiseSGDRanker(
        kernel="linear", loss="exponential", alpha=0.1, tol=1e-6
    ),
    "descent": KernelPairwiseSGDRanker(kernel="linear", solver="gd", alpha=0.1, max_iter=20),
}


def some_slow(names, *quick):
    """Return the names as parameters, of which all but some are slow."""
    return [pytest.param(one, marks=[] if one in quick else pytest.mark.slow) for one in names]


quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("name", some_slow(BOOSTERS, "least squares", "logistic, top"))
@quiet
@given(data=st.data())
def test_boosters_of_one_list(name, data):
    rows = data.draw(divided_rows(with_missing="features" not in name))
    alone = clone(BOOSTERS[name]).fit(rows[0], rows[1], sample_weight=rows[3])
    assert_same_model(fit_together(BOOSTERS[name], *rows)[0], alone)


@pytest.mark.parametrize("name", some_slow(BOOSTERS, "logistic, top"))
@pytest.mark.parametrize("relevance", ["binary", "graded"])
@quiet
@given(data=st.data())
def test_boosters_of_queries(name, relevance, data):
    ranker = clone(BOOSTERS[name]).set_params(relevance=relevance)
    n_levels = 2 if relevance == "binary" else 4
    rows = data.draw(
        divided_rows(n_levels=n_levels, with_queries=True, with_missing="features" not in name)
    )
    X, y, qid, weight, *_ = rows
    if not is_paired(y, qid):
        return
    alone = clone(ranker).fit(X, y, qid=qid, sample_weight=weight)
    assert_same_model(fit_together(ranker, *rows)[0], alone)


def is_paired(y, qid):
    return sum(len(np.unique(y[qid == q])) > 1 for q in np.unique(qid)) > 1


def assert_same_line(together, alone, tol=1e-6):
    for fitted in together:
        scale = np.abs(alone.coef_).max() + 1e-3
        np.testing.assert_allclose(fitted["coef_"], alone.coef_, rtol=tol, atol=tol * scale)
        np.testing.assert_array_equal(fitted["coef_"], together[0]["coef_"])
        np.testing.assert_allclose(
            fitted["_mean_contributions_"], alone._mean_contributions_, rtol=tol, atol=tol * scale
        )
        assert fitted["objective_curve_"][-1] == pytest.approx(alone.objective_curve_[-1], rel=1e-7)
        assert "offset_" not in fitted or np.isfinite(fitted["offset_"])


@pytest.mark.parametrize("name", some_slow(list(LBFGS)[1:], "features"))
@quiet
@given(data=st.data())
def test_all_coefficients_at_once(name, data):
    rows = data.draw(divided_rows(with_missing=False))
    # As far as rounding lets it: the gradient at the end of a decrease of 1e-12 can be larger.
    ranker = clone(LBFGS[name]).set_params(tol=0)
    alone = clone(ranker).fit(rows[0], rows[1], sample_weight=rows[3])
    together, _ = fit_together(ranker, *rows)
    # The limit p = inf has kinks, at which the last digits of the solver show.
    assert_same_line(together, alone, 1e-4 if name != "largest height" else 1e-2)
    if name == "largest height":
        return
    preferences = Preferences.from_labels(rows[1], None, rows[3])
    push, Z = make_push(preferences, alone.loss, 2.0, "top", 1.0), rows[0][preferences.order]

    def gradient(w):
        return Z.T @ push.value_and_gradient(Z @ w)[1] + alone.alpha * w

    at_zero = np.linalg.norm(gradient(np.zeros(Z.shape[1])))
    # With the ridge the objective is strongly convex: from a gradient g it can fall by
    # |g|^2 / (2 alpha) at most, which floats must be able to show.
    visible = 4 * np.finfo(float).eps * abs(alone.objective_curve_[-1])
    limit = max(1e-6 * at_zero + 1e-12, np.sqrt(2 * alone.alpha * visible))
    for fitted in together:  # the certificate of the solver
        assert np.linalg.norm(gradient(fitted["coef_"])) <= limit


@quiet
@given(data=st.data())
def test_all_stumps_at_once(data):
    rows = data.draw(divided_rows())
    alone = clone(LBFGS["stumps"]).fit(rows[0], rows[1], sample_weight=rows[3])
    for fitted in fit_together(LBFGS["stumps"], *rows)[0]:
        assert fitted["alpha_"] == pytest.approx(alone.alpha_, rel=1e-12)
        assert fitted["objective_curve_"][-1] == pytest.approx(alone.objective_curve_[-1], rel=1e-8)


@pytest.mark.parametrize("name", some_slow(LISTS, "l2", "none"))
@quiet
@given(data=st.data())
def test_lists(name, data):
    rows = data.draw(divided_rows(n_levels=3, with_queries=True, with_missing=False))
    X, y, qid, weight, *_ = rows
    if not is_paired(y, qid):
        return
    alone = clone(LISTS[name]).fit(X, y, qid=qid, sample_weight=weight)
    together = fit_together(LISTS[name], *rows)[0]
    assert_same_line(together, alone, 1e-4)
    if name not in {"l2", "dcg"}:
        return

    def objective(coefficients):
        kind = "smoothed_dcg" if name == "dcg" else "cross_entropy"
        square = coefficients @ coefficients
        return listwise(X @ coefficients, y, qid, weight, kind)[0] + alone.alpha * square / 2

    def gradient_norm(at):
        step = 1e-5 / max(np.abs(X).max(), 1)
        moves = step * np.eye(X.shape[1])
        return np.linalg.norm([objective(at + e) - objective(at - e) for e in moves]) / (2 * step)

    at_zero = gradient_norm(np.zeros(X.shape[1]))
    for fitted in together:  # the certificate of the solver
        assert gradient_norm(fitted["coef_"]) <= 1.01 * alone.tol * at_zero + 1e-9


@pytest.mark.parametrize("name", some_slow(KERNELS, "lbfgs", "descent"))
@quiet
@given(data=st.data())
def test_linear_kernels(name, data):
    rows = data.draw(divided_rows(with_missing=False))
    X, y, _, weight, *_ = rows
    alone = clone(KERNELS[name]).fit(X, y, sample_weight=weight)
    together, _ = fit_together(KERNELS[name], *rows)
    assert_same_line(together, alone, 1e-4)
    if name == "descent":
        return
    pairs = Preferences.from_labels(y == 1, None, weight)
    loss, order = PairLoss(pairs, KERNELS[name].loss, mean=True), pairs.order

    def gradient(coefficients):
        slopes = loss.value_and_gradient(X[order] @ coefficients)[1]
        return X[order].T @ slopes + KERNELS[name].alpha * coefficients

    at_zero = np.linalg.norm(gradient(np.zeros(X.shape[1])))
    for fitted in together:  # the certificate of the solver
        assert np.linalg.norm(gradient(fitted["coef_"])) <= 1.01e-6 * at_zero + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@quiet
@given(data=st.data())
def test_linear_kernels_of_queries(loss, data):
    ranker = KernelPairwiseSGDRanker(
        kernel="linear", loss=loss, alpha=0.1, relevance="graded", max_iter=10_000
    )
    rows = data.draw(divided_rows(n_levels=3, with_queries=True, with_missing=False))
    if not is_paired(rows[1], rows[2]):
        return
    alone = clone(ranker).fit(rows[0], rows[1], qid=rows[2], sample_weight=rows[3])
    for fitted in fit_together(ranker, *rows)[0]:
        assert fitted["objective_curve_"][-1] == pytest.approx(alone.objective_curve_[-1], rel=1e-3)


@pytest.mark.parametrize(
    ("ranker", "with_queries"),
    [
        (KERNELS["lbfgs"], True),
        (KERNELS["lbfgs"], False),
        (LISTS["l2"], True),
        (LBFGS["features"], True),
        (LBFGS["features"], False),
    ],
)
def test_partitions_are_never_put_together(ranker, with_queries, monkeypatch):
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(200, 4)), np.sort(rng.integers(0, 20, 200))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    ranker = clone(ranker).set_params(relevance="binary")
    alone = clone(ranker).fit(X, y, qid=qid if with_queries else None)
    bounds = [0, 60, np.searchsorted(qid, 9), len(y)]

    def fit(collective):
        here = slice(*bounds[collective.rank : collective.rank + 2])
        parts = np.array_split(X[here], [0, 17, 40])
        rows = Rows(
            PartitionedMatrix(parts), y[here] == 1, None, np.ones(len(y[here])), np.array([0, 1])
        )
        if with_queries:
            rows = Rows(rows.X, rows.y, qid[here], rows.weight, rows.classes)
        return fit_rows(clone(ranker), rows, collective, Observer(collective))

    bounds[1] = np.searchsorted(qid, qid[60])
    together, _ = run_together(3, fit)
    assert_same_line(together, alone, 1e-4)


def test_a_listwise_loss_of_one_list_is_refused():
    rows = np.random.default_rng(0).normal(size=(8, 2)), np.arange(8) % 2, None, np.ones(8)
    with pytest.raises(ValueError, match="ListNetLinear on several processes needs qid"):
        fit_together(ListNetLinear(), *rows, np.arange(8) // 4, 2)


@pytest.mark.filterwarnings("ignore:eta0=1e")
@pytest.mark.parametrize(
    "ranker", [clone(KERNELS["descent"]).set_params(eta0=1e9), LBFGS["logistic"]]
)
def test_scores_too_wide_end_the_fit_of_every_process(ranker):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)) * 1e9, np.arange(40) % 2
    part = np.arange(40) % 3
    with pytest.raises(ValueError, match="needs scores that differ by at most"):
        fit_together(clone(ranker).set_params(alpha=1e-12), X, y, None, np.ones(40), part, 3)


@pytest.mark.parametrize(
    "ranker",
    [KERNELS["lbfgs"], LISTS["l2"], LBFGS["features"], BOOSTERS["logistic, top"]],
    ids=["kernel", "lists", "features", "stumps"],
)
@quiet
def test_a_fit_that_was_interrupted_goes_on(ranker):
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(120, 3)), np.repeat(np.arange(12), 10)
    y = (X[:, 0] + rng.normal(size=120) > 0).astype(int)
    ranker = clone(ranker).set_params(relevance="binary")
    alone = clone(ranker).fit(X, y, qid=qid)
    rows = X, y, qid, np.ones(120), qid % 3, 3
    known = {}

    def tell(number, objective, attributes):
        known[number] = attributes()
        return number == 3

    fit_together(ranker, *rows, tell=tell)
    assert len(known) == 3
    assert np.isfinite(known[3]["offset_"])
    together, _ = fit_together(ranker, *rows, earlier=known[3])
    before = known[3].get("objective_curve_", known[3].get("_progress_", {}).get("values", []))
    assert len(before) >= 3 or isinstance(ranker, ListNetLinear)
    np.testing.assert_array_equal(together[0]["objective_curve_"][: len(before)], before)
    if hasattr(alone, "coef_"):
        np.testing.assert_allclose(together[0]["coef_"], alone.coef_, rtol=1e-3, atol=1e-4)
    else:
        assert_same_model(together, alone)


def test_partitions_act_as_one_matrix():
    X = np.random.default_rng(0).normal(size=(20, 3))
    rows, some = PartitionedMatrix(np.array_split(X, [0, 4, 4, 15])), np.array([7, 3, 19, 3])
    left, right = np.arange(20.0), np.arange(3.0)
    pairs = [
        (rows @ right, X @ right),
        (left @ rows, left @ X),
        (rows[3:16], X[3:16]),
        (rows[5:9], X[5:9]),
        (rows[9:9], X[9:9]),
        (rows[some], X[some]),
        (rows[left > 7], X[left > 7]),
        (rows[:, [1]], X[:, [1]]),
        (rows[2:6, [1]], X[2:6, [1]]),
        (rows.min(axis=0), X.min(axis=0)),
        (rows.max(axis=0), X.max(axis=0)),
        (rows.max(), X.max()),
        (rows.shape, X.shape),
        (len(rows), len(X)),
    ]
    for found, wanted in pairs:
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
    assert np.shares_memory(rows[5:9], X)
