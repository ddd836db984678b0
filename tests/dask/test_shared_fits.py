"""The same model from one process and from several that each hold a part of the rows."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from shared_fits import Observer, make_model, run_together, unlabelled
from sklearn.base import clone
from tiers import crossed

from sklearn_rank import PNormPushRanker, RankBoost, SmoothMarginRanker
from sklearn_rank._bins.binned_features import Binning, encode
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.sums import ALL_HERE, Sums
from sklearn_rank.dask._fit_task import fit_rows
from sklearn_rank.dask._partitioned_matrix import BinnedX
from sklearn_rank.models import Stumps
from sklearn_rank.solvers import Corrective

BOUNDED = Stumps(
    special_values={2: [0.25]}, thresholds={1: [0.1, 0.6]}, max_thresholds=4, max_features_used=2
)
RANKERS = {
    "RankBoost": RankBoost(n_estimators=5),
    "RankBoost, optimal": RankBoost(n_estimators=5, selection="optimal"),
    "top": PNormPushRanker(p=4, n_estimators=5),
    "bottom": PNormPushRanker(p=2, push="bottom", n_estimators=5),
    "both": PNormPushRanker(p=3, push="both", n_estimators=6),
    "features": RankBoost(n_estimators=5, weak_ranker="feature"),
    "features, top": PNormPushRanker(p=4, n_estimators=5, weak_ranker="feature"),
    "margin": SmoothMarginRanker(n_estimators=5),
    "constraints": RankBoost(n_estimators=8, monotonic_cst=[1, -1, 0], weak_ranker=BOUNDED),
    "bins": PNormPushRanker(n_estimators=5, weak_ranker=Stumps(min_bin_size=0.2, max_bins=4)),
}
CORRECTIVE = {
    "exact": (PNormPushRanker(p=2, solver=Corrective(n_swaps=2)), None),
    "bounded": (PNormPushRanker(monotonic_cst=[1, -1, 0], weak_ranker=BOUNDED), None),
    "few pairs": (PNormPushRanker(p=4, loss="logistic", alpha=0.01), None),
    "losses that sort": (PNormPushRanker(p=2, loss="squared_hinge", alpha=0.01), 4),
    "queries": (PNormPushRanker(p=2, push="both", alpha=0.01), 12),
    "grades": (PNormPushRanker(p=2, relevance="graded", alpha=0.01), 12),
}
"""Rankers refitted after each choice, and the number of queries."""

CLOSE = {"rtol": 1e-9, "atol": 1e-12}


def fit_together(ranker, X, y, qid, weight, part, size, tell=make_model, earlier=None):
    """Return the fitted attributes of each of several processes."""
    graded = ranker.relevance == "graded"

    def fit(collective):
        here = np.flatnonzero(part == collective.rank)
        rows = Rows(
            X[here],
            y[here].astype(float) if graded else y[here].astype(bool),
            None if qid is None else qid[here],
            weight[here],
            None if graded else np.array([0, 1]),
        )
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


@st.composite
def divided_rows(draw, *, n_levels=2, with_queries=False, with_missing=True):
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
        return X, y, qid, weight, qid % size, size
    part = random.integers(0, size, n)
    if draw(st.booleans()):  # the first process has one class only
        part[(part == 0) & (y == 0)] = 1
    part[:size] = np.arange(size)
    return X, y, None, weight, part, size


@pytest.mark.parametrize("name", RANKERS)
@given(data=st.data())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_one_list_gives_the_same_model(name, data):
    rows = data.draw(divided_rows(with_missing="features" not in name))
    alone = clone(RANKERS[name]).fit(rows[0], rows[1], sample_weight=rows[3])
    together, _ = fit_together(RANKERS[name], *rows)
    assert_same_model(together, alone)


@pytest.mark.parametrize("name", CORRECTIVE)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
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


@crossed(
    tiers=("quick", "slow", "slow"),
    name=[name for name in RANKERS if "optimal" not in name],
    relevance=["binary", "graded"],
)
@given(data=st.data())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_queries_give_the_same_model(name, relevance, data):
    ranker = clone(RANKERS[name]).set_params(relevance=relevance)
    n_levels = 2 if relevance == "binary" else 4
    rows = data.draw(
        divided_rows(n_levels=n_levels, with_queries=True, with_missing="features" not in name)
    )
    X, y, qid, weight, part, size = rows
    n_paired = sum(len(np.unique(y[qid == q])) > 1 for q in np.unique(qid))
    assume(n_paired > 1)  # one process takes a single query for one list, with exact steps
    assume(len(np.unique(part)) == size)
    alone = clone(ranker).fit(X, y, qid=qid, sample_weight=weight)
    together, _ = fit_together(ranker, *rows)
    assert_same_model(together, alone)


@pytest.mark.parametrize("name", ["RankBoost", "top", "both", "margin"])
@given(data=st.data())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_grades_of_one_list_give_the_same_model(name, data):
    ranker = clone(RANKERS[name]).set_params(relevance="graded")
    rows = data.draw(divided_rows(n_levels=4))
    alone = clone(ranker).fit(rows[0], rows[1], sample_weight=rows[3])
    together, _ = fit_together(ranker, *rows)
    assert_same_model(together, alone)


def test_a_round_needs_few_messages():
    """RankBoost: histogram, weak ranker, step, margin, the end of the fit, the observer."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(400, 3)), random.random(400) < 0.3
    rows = X, y, None, np.ones(400), np.arange(400) % 2, 2
    counts = [fit_together(RankBoost(n_estimators=n, tol=1e-12), *rows)[1] for n in (10, 40)]
    assert (counts[1] - counts[0]) / 30 <= 6


def test_many_rows_have_the_offset_of_all():
    """More rows than those from which the offsets of stages are found."""
    random = np.random.default_rng(0)
    X = random.normal(size=(20_000, 2))
    y = X[:, 0] + random.normal(size=20_000) > 1
    ranker = PNormPushRanker(p=4, n_estimators=5)
    alone = clone(ranker).fit(X, y)
    together, _ = fit_together(ranker, X, y, None, np.ones(20_000), np.arange(20_000) % 3, 3)
    assert together[0]["offset_"] == pytest.approx(alone.offset_, rel=1e-9)
    # Those of stages come from a sample, which has other rows here.
    np.testing.assert_allclose(
        together[0]["staged_offsets_"], alone.staged_offsets_, rtol=0, atol=0.2
    )


def test_a_fit_goes_on_where_it_was_interrupted():
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
