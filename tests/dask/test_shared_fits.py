"""The same model from one process and from several that each hold a part of the rows."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from shared_fits import Observer, make_model, run_together, unlabelled
from sklearn.base import clone
from tiers import crossed

from sklearn_rank import (
    KernelPairwiseSGDRanker,
    ListNetLinear,
    PNormPushRanker,
    RankBoost,
    SmoothMarginRanker,
)
from sklearn_rank._bins.binned_features import Binning, encode
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.sums import ALL_HERE, Sums
from sklearn_rank.dask._fit_task import fit_rows
from sklearn_rank.dask._partitioned_matrix import BinnedX, PartitionedMatrix
from sklearn_rank.models import Stumps
from sklearn_rank.solvers import Corrective

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

BOUNDED = Stumps(
    special_values={2: [0.25]}, thresholds={1: [0.1, 0.6]}, max_thresholds=4, max_features_used=2
)
FOUR = {"n_estimators": 4}
BOOSTERS = {
    "RankBoost": RankBoost(**FOUR),
    "RankBoost, optimal": RankBoost(**FOUR, selection="optimal"),
    "top": PNormPushRanker(p=4, **FOUR),
    "bottom": PNormPushRanker(p=2, push="bottom", **FOUR),
    "both": PNormPushRanker(p=3, push="both", **FOUR),
    "ir": PNormPushRanker(push="ir", **FOUR),
    "margin": SmoothMarginRanker(**FOUR),
    "features": PNormPushRanker(p=2, weak_ranker="feature", **FOUR),
    "constraints": RankBoost(n_estimators=8, monotonic_cst=[1, -1, 0], weak_ranker=BOUNDED),
    "bins": PNormPushRanker(weak_ranker=Stumps(min_bin_size=0.2), max_bins=4, **FOUR),
    "least squares": PNormPushRanker(p=4, loss="least_squares", **FOUR),
    "logistic": PNormPushRanker(p=1, loss="logistic", **FOUR),
    "logistic, both": PNormPushRanker(p=2, loss="logistic", push="both", **FOUR),
    "logistic, features": PNormPushRanker(p=2, loss="logistic", weak_ranker="feature", **FOUR),
}
CORRECTIVE = {
    "exact": (PNormPushRanker(p=2, solver=Corrective()), None),
    "bounded": (PNormPushRanker(monotonic_cst=[1, -1, 0], weak_ranker=BOUNDED), None),
    "few pairs": (PNormPushRanker(p=4, loss="logistic", alpha=0.01), None),
    "losses that sort": (PNormPushRanker(p=2, loss="squared_hinge", alpha=0.01), 4),
    "queries": (PNormPushRanker(p=2, push="both", alpha=0.01), 12),
    "grades": (PNormPushRanker(p=2, relevance="graded", alpha=0.01), 12),
}
"""Rankers refitted after each choice, and the number of queries."""

LBFGS = {"tol": 0, "n_estimators": 200, "alpha": 0.1, "solver": "lbfgs", "weak_ranker": "feature"}
SGD = {"kernel": "linear", "alpha": 0.1, "tol": 1e-6}
DESCENT = {"kernel": "linear", "alpha": 0.1, "solver": "gd", "max_iter": 20}
LINEAR = {
    "lbfgs": (PNormPushRanker(p=2, **LBFGS), False),
    "lbfgs, logistic": (PNormPushRanker(p=2, loss="logistic", **LBFGS), False),
    "kernel": (KernelPairwiseSGDRanker(**SGD), False),
    "kernel, least squares": (KernelPairwiseSGDRanker(loss="least_squares", **SGD), False),
    "kernel, exponential": (KernelPairwiseSGDRanker(loss="exponential", **SGD), False),
    "kernel, descent": (KernelPairwiseSGDRanker(**DESCENT), False),
    "lists": (ListNetLinear(alpha=1e-2), True),
    "lists, l1": (ListNetLinear(alpha=1e-2, penalty="l1"), True),
    "lists, ball": (ListNetLinear(penalty=None, max_norm=1.5), True),
    "lists, dcg": (ListNetLinear(loss="smoothed_dcg", alpha=1.0), True),
}
"""Linear models, and whether they have queries."""

CLOSE = {"rtol": 1e-9, "atol": 1e-12}


def some_slow(names, *quick):
    """Return the names as parameters, of which all but some are slow."""
    return [pytest.param(one, marks=[] if one in quick else pytest.mark.slow) for one in names]


def fit_together(ranker, X, y, qid, weight, part, size, tell=make_model, earlier=None):
    """Return the fitted attributes of each of several processes."""
    graded = ranker.relevance == "graded"

    def fit(collective):
        here = np.flatnonzero(part == collective.rank)
        labels, classes = y[here].astype(float if graded else bool), np.array([0, 1])
        of_query = None if qid is None else qid[here]
        rows = Rows(X[here], labels, of_query, weight[here], None if graded else classes)
        return fit_rows(clone(ranker), rows, collective, Observer(collective, tell), earlier)

    return run_together(size, fit)


def assert_same_model(together, alone):
    for fitted in together:
        assert fitted["weak_rankers_"].equal(alone.weak_rankers_)
        for name in ("estimator_weights_", "objective_curve_", "_mean_contributions_"):
            np.testing.assert_allclose(fitted[name], getattr(alone, name), **CLOSE)
        if alone.relevance == "binary":
            assert fitted["offset_"] == pytest.approx(alone.offset_, rel=1e-9, abs=1e-12)
        if hasattr(alone, "staged_offsets_"):
            found, expected = fitted["staged_offsets_"], alone.staged_offsets_
            # One may be near zero, the difference of numbers as large as the others.
            atol = 1e-10 * np.abs(expected).max(initial=0.01)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=atol)
        if hasattr(alone, "margin_"):
            assert fitted["margin_"] == pytest.approx(alone.margin_, rel=1e-9, abs=1e-12)


def assert_same_line(together, alone, tol=1e-4):
    for fitted in together:
        close = {"rtol": tol, "atol": tol * (np.abs(alone.coef_).max() + 1e-3)}
        np.testing.assert_array_equal(fitted["coef_"], together[0]["coef_"])
        for name in ("coef_", "_mean_contributions_"):
            np.testing.assert_allclose(fitted[name], getattr(alone, name), **close)
        assert fitted["objective_curve_"][-1] == pytest.approx(alone.objective_curve_[-1], rel=1e-7)
        assert "offset_" not in fitted or np.isfinite(fitted["offset_"])


@st.composite
def divided_rows(draw, n_levels=2, with_queries=False, with_missing=True):
    """Rows with ties, weights and missing values, and the process of each."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, size = draw(st.integers(12, 60)), draw(st.sampled_from([2, 3, 5]))
    X = random.integers(0, draw(st.sampled_from([2, 5, 1000])), (n, 3)) / 4.0
    y = np.append(random.integers(0, n_levels, n - n_levels), np.arange(n_levels))
    X[:, 0] += y * draw(st.sampled_from([0.0, 0.5]))
    if with_missing and draw(st.booleans()):
        X[random.random(X.shape) < 0.2] = np.nan
    weight = random.integers(1, 4, n).astype(float) if draw(st.booleans()) else np.ones(n)
    if with_queries:
        qid = random.integers(0, 12, n)
        # One process takes a single query for one list, with exact steps.
        assume(sum(len(np.unique(y[qid == q])) > 1 for q in np.unique(qid)) > 1)
        assume(len(np.unique(qid % size)) == size)
        return X, y, qid, weight, qid % size, size
    part = random.integers(0, size, n)
    if draw(st.booleans()):  # the first process has one class only
        part[(part == 0) & (y == 0)] = 1
    part[:size] = np.arange(size)
    return X, y, None, weight, part, size


@crossed(
    name=list(BOOSTERS),
    n_levels=[2, 4],
    with_queries=[False, True],
    tiers=("quick", "slow", "slow"),
)
@given(data=st.data())
def test_divided_rows_give_the_same_model(name, n_levels, with_queries, data):
    ranker = clone(BOOSTERS[name]).set_params(relevance="binary" if n_levels == 2 else "graded")
    rows = data.draw(divided_rows(n_levels, with_queries, with_missing="features" not in name))
    alone = clone(ranker).fit(*rows[:2], qid=rows[2], sample_weight=rows[3])
    assert_same_model(fit_together(ranker, *rows)[0], alone)


@pytest.mark.parametrize("name", some_slow(CORRECTIVE, "exact", "queries"))
def test_refits_of_all_chosen_stumps_give_the_same_model(name):
    """The first process has rows of one class only, where there are no queries."""
    (ranker, n_queries), random, n = CORRECTIVE[name], np.random.default_rng(0), 160
    ranker = clone(ranker).set_params(n_estimators=5)
    if isinstance(ranker.solver, str):
        ranker.set_params(solver="corrective")
    X = random.random((n, 3)).round(2)
    y = np.digitize(X[:, 0] - X[:, 1] ** 2 + random.normal(size=n) / 2, [0.2, 0.8])
    y = y if ranker.relevance == "graded" else (y > 0).astype(int)
    qid = None if n_queries is None else random.integers(0, n_queries, n)
    part = random.integers(0, 3, n) if qid is None else qid % 3
    part[(part == 0) & (y == 0) & (qid is None)] = 1
    weight = random.integers(1, 4, n).astype(float)
    alone = clone(ranker).fit(X, y, qid=qid, sample_weight=weight)
    for fitted in fit_together(ranker, X, y, qid, weight, part, 3)[0]:
        assert fitted["weak_rankers_"].equal(alone.weak_rankers_)
        close = {"rtol": 1e-9 if qid is None else 1e-5}  # L-BFGS-B ends earlier than Newton does
        np.testing.assert_allclose(fitted["objective_curve_"], alone.objective_curve_, rtol=1e-9)
        np.testing.assert_allclose(fitted["estimator_weights_"], alone.estimator_weights_, **close)
        if ranker.relevance == "binary":
            assert fitted["offset_"] == pytest.approx(alone.offset_, rel=1e-5)


@pytest.mark.slow
@given(data=st.data())
def test_all_stumps_at_once(data):
    rows = data.draw(divided_rows())
    ranker = PNormPushRanker(p=2, tol=1e-12, n_estimators=500, alpha="auto", solver="lbfgs")
    alone = clone(ranker).fit(rows[0], rows[1], sample_weight=rows[3])
    for fitted in fit_together(ranker, *rows)[0]:
        assert fitted["alpha_"] == pytest.approx(alone.alpha_, rel=1e-12)
        assert fitted["objective_curve_"][-1] == pytest.approx(alone.objective_curve_[-1], rel=1e-8)


@pytest.mark.parametrize("name", some_slow(LINEAR, "lbfgs", "kernel", "lists"))
@given(data=st.data())
def test_linear_models(name, data):
    ranker, with_queries = LINEAR[name]
    n_levels = 3 if with_queries else 2
    rows = data.draw(divided_rows(n_levels=n_levels, with_queries=with_queries, with_missing=False))
    alone = clone(ranker).fit(*rows[:2], qid=rows[2], sample_weight=rows[3])
    assert_same_line(fit_together(ranker, *rows)[0], alone)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@given(data=st.data())
def test_linear_kernels_of_queries(loss, data):
    ranker = KernelPairwiseSGDRanker(kernel="linear", loss=loss, alpha=0.1, max_iter=10_000)
    ranker.set_params(relevance="graded")
    rows = data.draw(divided_rows(n_levels=3, with_queries=True, with_missing=False))
    alone = clone(ranker).fit(rows[0], rows[1], qid=rows[2], sample_weight=rows[3])
    for fitted in fit_together(ranker, *rows)[0]:
        assert fitted["objective_curve_"][-1] == pytest.approx(alone.objective_curve_[-1], rel=1e-3)


@pytest.mark.parametrize(
    ("name", "with_queries"), [("kernel", True), ("lists", True), ("lbfgs", False)]
)
def test_partitions_are_never_put_together(name, with_queries):
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(200, 4)), np.sort(rng.integers(0, 20, 200))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    ranker = clone(LINEAR[name][0]).set_params(relevance="binary")
    alone = clone(ranker).fit(X, y, qid=qid if with_queries else None)
    bounds = [0, np.searchsorted(qid, qid[60]), np.searchsorted(qid, 9), len(y)]

    def fit(collective):
        here = slice(*bounds[collective.rank : collective.rank + 2])
        parts = PartitionedMatrix(np.array_split(X[here], [0, 17, 40]))
        of_query = qid[here] if with_queries else None
        rows = Rows(parts, y[here] == 1, of_query, np.ones(len(y[here])), np.array([0, 1]))
        return fit_rows(clone(ranker), rows, collective, Observer(collective))

    assert_same_line(run_together(3, fit)[0], alone)


def test_partitions_act_as_one_matrix():
    X = np.random.default_rng(0).normal(size=(20, 3))
    rows, some = PartitionedMatrix(np.array_split(X, [0, 4, 4, 15])), np.array([7, 3, 19, 3])
    left, right = np.arange(20.0), np.arange(3.0)
    np.testing.assert_allclose(rows @ right, X @ right, rtol=1e-13)
    np.testing.assert_allclose(left @ rows, left @ X, rtol=1e-13)
    for key in (slice(3, 16), slice(5, 9), slice(9, 9), some, left > 7, np.s_[:, [1]]):
        np.testing.assert_array_equal(rows[key], X[key])
    np.testing.assert_array_equal(rows[2:6, [1]], X[2:6, [1]])
    for axis in (0, None):
        np.testing.assert_array_equal(rows.min(axis=axis), X.min(axis=axis))
        np.testing.assert_array_equal(rows.max(axis=axis), X.max(axis=axis))
    assert (rows.shape, len(rows)) == (X.shape, len(X))
    assert np.shares_memory(rows[5:9], X)


@pytest.mark.filterwarnings("ignore:eta0=1e")
@pytest.mark.parametrize(
    "ranker",
    [clone(LINEAR["kernel, descent"][0]).set_params(eta0=1e9), LINEAR["lbfgs, logistic"][0]],
)
def test_scores_too_wide_end_the_fit_of_every_process(ranker):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)) * 1e9, np.arange(40) % 2
    part = np.arange(40) % 3
    with pytest.raises(ValueError, match="needs scores that differ by at most"):
        fit_together(clone(ranker).set_params(alpha=1e-12), X, y, None, np.ones(40), part, 3)


def test_a_round_needs_few_messages():
    """RankBoost: histogram, weak ranker, step, margin, the end of the fit, the observer."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(400, 3)), random.random(400) < 0.3
    rows = X, y, None, np.ones(400), np.arange(400) % 2, 2
    counts = [fit_together(RankBoost(n_estimators=n, tol=1e-12), *rows)[1] for n in (10, 40)]
    assert (counts[1] - counts[0]) / 30 <= 6


def test_many_rows_have_the_offsets_of_all():
    """More rows than those from which the offsets of stages are found."""
    random = np.random.default_rng(0)
    X = random.normal(size=(20_000, 2))
    y = X[:, 0] + random.normal(size=20_000) > 1
    ranker = PNormPushRanker(p=4, n_estimators=5)
    alone = clone(ranker).fit(X, y)
    together, _ = fit_together(ranker, X, y, None, np.ones(20_000), np.arange(20_000) % 3, 3)
    for name in ("offset_", "staged_offsets_"):
        np.testing.assert_allclose(together[0][name], getattr(alone, name), rtol=1e-9)


@pytest.mark.parametrize("name", ["kernel", "lists", "lbfgs", "logistic"])
def test_a_fit_that_was_interrupted_goes_on(name):
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(120, 3)), np.repeat(np.arange(12), 10)
    y = (X[:, 0] + rng.normal(size=120) > 0).astype(int)
    ranker = clone(BOOSTERS[name] if name in BOOSTERS else LINEAR[name][0])
    ranker.set_params(relevance="binary")
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


def test_a_fit_of_bins_goes_on_where_it_was_interrupted():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 3)), random.random(300) < 0.4
    bins = Binning(64).find(unlabelled(X, np.ones(300)))
    codes = encode(X, np.arange(300), bins, ThreadPool())
    ranker, so_far = RankBoost(n_estimators=20), {}

    def fit(collective, earlier=None, tell=make_model):
        here = np.arange(300) % 2 == collective.rank
        x = BinnedX([codes[:, here]], bins)
        rows = Rows(x, y[here], None, np.ones(here.sum()), np.array([0, 1]))
        return fit_rows(clone(ranker), rows, collective, Observer(collective, tell), earlier)

    def tell(number, objective, attributes):
        so_far[number] = attributes()
        return number == 7

    first, _ = run_together(2, lambda collective: fit(collective, tell=tell))
    assert first[0]["n_iter_"] == first[1]["n_iter_"] == 7 == len(so_far)
    rest, _ = run_together(2, lambda collective: fit(collective, earlier=so_far[7]))
    whole, _ = run_together(2, fit)
    assert rest[0]["weak_rankers_"].equal(whole[0]["weak_rankers_"])
    np.testing.assert_allclose(rest[0]["estimator_weights_"], whole[0]["estimator_weights_"])


def test_the_first_process_leads():
    calls = []

    def task(collective):
        def function(x):
            calls.append((collective.rank, x))
            return collective.reduce(np.add, float(x))

        return Sums(collective).lead(lambda f: [f["sum"](x) for x in (1, 2)], {"sum": function})

    results, _ = run_together(3, task)
    assert results == [[3.0, 6.0]] * 3
    assert sorted(calls) == [(rank, x) for rank in range(3) for x in (1, 2)]


def test_an_error_of_the_first_process_is_that_of_all():
    def solve(functions):
        raise ValueError("no solution")

    def task(collective):
        with pytest.raises(ValueError, match="no solution"):
            Sums(collective).lead(solve, {"f": abs})
        return collective.rank

    assert run_together(3, task)[0] == [0, 1, 2]


@given(st.lists(st.floats(-700, 700), min_size=1, max_size=4))
def test_log_add_exp(values):
    expected = np.logaddexp.reduce(values)
    found, _ = run_together(len(values), lambda c: Sums(c).log_total(values[c.rank]))
    np.testing.assert_allclose(found, expected)
    assert ALL_HERE.log_total(values[0]) == values[0]
