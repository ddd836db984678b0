"""Thresholds, lookup tables, histograms and the threads that share them."""

import threading
from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import definitions as oracles
from shared_fits import run_together, unlabelled

from sklearn_rank._bins.binned_features import Binning, FeatureBins, SortedValues, encode
from sklearn_rank._bins.digitizer import _SLOTS, Digitizer
from sklearn_rank._bins.starts import bin_starts
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import RowGradient
from sklearn_rank.models.bin_sums import BinSums

FINITE = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.one_of(FINITE, st.integers(-3, 3).map(float), st.sampled_from([1e-300, 1e12, 5e-324]))


def assert_exact(thresholds, x):
    """As long as a lookup table is worth it, and with missing values in between."""
    x = np.resize(x, 2 * _SLOTS)
    expected = np.searchsorted(thresholds, x)
    np.testing.assert_array_equal(Digitizer(thresholds)(x), expected)
    x[::3] = np.nan
    expected[::3] = len(thresholds) + 1
    np.testing.assert_array_equal(FeatureBins(thresholds)(x), expected)


@given(thresholds=st.lists(VALUES, min_size=1, max_size=80, unique=True), x=st.lists(VALUES))
def test_digitizer_equals_search(thresholds, x):
    thresholds = np.unique(thresholds)
    with np.errstate(over="ignore"):
        beside = [np.nextafter(thresholds, side) for side in (-np.inf, np.inf)]
    x = np.concatenate([x, thresholds, *beside])
    assert_exact(thresholds, x[np.isfinite(x)])


@pytest.mark.parametrize("n_thresholds", [63, 255, 300, 5000])
@pytest.mark.parametrize("draw", ["pareto", "lognormal", "normal", "standard_cauchy"])
def test_digitizer_of_heavy_tails(draw, n_thresholds):
    rng = np.random.default_rng(0)
    sample = rng.pareto(0.2, 20_000) if draw == "pareto" else getattr(rng, draw)(size=20_000)
    thresholds = np.unique(np.quantile(sample, np.linspace(0, 1, n_thresholds), method="lower"))
    assert_exact(thresholds, sample)
    assert_exact(-thresholds[::-1], -sample)


@given(
    x=st.lists(st.integers(0, 9).map(float), min_size=1, max_size=30),
    weights=st.lists(st.sampled_from([1.0, 2.0, 3.0]), min_size=30, max_size=30),
    max_bins=st.integers(2, 8),
)
def test_thresholds_are_weighted_quantiles(x, weights, max_bins):
    x, weights = np.array(x), np.array(weights[: len(x)])
    found = SortedValues.of(x, weights).thresholds(max_bins)
    np.testing.assert_array_equal(found, oracles.thresholds(x, weights, max_bins))
    repeated = SortedValues.of(np.repeat(x, weights.astype(int)), np.ones(int(weights.sum())))
    np.testing.assert_array_equal(repeated.thresholds(max_bins), found)


@given(x=st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1))
def test_bins_of_engines_begin_between_values_of_single_precision(x):
    values = np.unique(np.array(x, dtype=np.float32))
    starts = bin_starts(unlabelled(np.array(x)[:, None], np.ones(len(x))), 64, ())[:, 0]
    assert starts[0] == values[0]
    for start, (low, high) in zip(starts[1:], pairwise(values), strict=True):
        middle = np.float32((float(low) + float(high)) / 2)
        assert start == (middle if low < middle <= high else high)


def stumps(X, weight, max_bins, order=None, n_jobs=1):
    """Return the thresholds of each feature, and the bins of the rows in their order."""
    order = np.arange(len(X)) if order is None else order
    pool = ThreadPool(n_jobs)
    with pool.running():
        bins = Binning(max_bins).find(unlabelled(X, weight), pool)
        return [one.thresholds for one in bins], encode(X, order, bins, pool)


def assert_exact_bins(X, weight, max_bins, order=None, n_jobs=1):
    """By the definition of the thresholds, and a search for every value."""
    thresholds, codes = stumps(X, weight, max_bins, order, n_jobs)
    rows = slice(None) if order is None else order
    for x, found, code in zip(X.T, thresholds, codes, strict=True):
        known = ~np.isnan(x)
        expected = np.array(oracles.thresholds(x[known], weight[known], max_bins))
        np.testing.assert_array_equal(found, expected)
        bins = np.where(np.isnan(x), len(expected) + 1, np.searchsorted(expected, x))
        np.testing.assert_array_equal(code, bins[rows])


TWO_LUMPS = st.sampled_from([0.0, 1e-9, 2e-9, 3e-9, 1.0, 1 + 1e-9, 1 + 2e-9])
CLUSTERED = st.one_of(TWO_LUMPS, FINITE, st.just(np.nan))


@given(
    x=st.lists(st.one_of(VALUES, st.just(np.nan)), min_size=1, max_size=60)
    | st.lists(CLUSTERED, min_size=1, max_size=60),
    weights=st.lists(st.sampled_from([1.0, 2.0, 0.1, 0.7]), min_size=60, max_size=60),
    max_bins=st.integers(2, 8),
    equal=st.booleans(),
)
def test_bins_are_exact(x, weights, max_bins, equal):
    weight = np.ones(len(x)) if equal else np.array(weights[: len(x)])
    order = np.argsort(np.sin(np.arange(len(x))))
    assert_exact_bins(np.array(x)[:, None], weight, max_bins, order)


def feature(kind, n):
    rng = np.random.default_rng(0)
    return {
        "normal": lambda: rng.normal(size=n),
        "far": lambda: 1e8 + rng.normal(size=n),
        "heavy tail": lambda: rng.pareto(0.2, n),
        "two lumps": lambda: 1000.0 * rng.integers(0, 2, n) + 1e-3 * rng.normal(size=n),
        "zeros": lambda: np.where(rng.random(n) < 0.9, 0.0, rng.normal(size=n)),
        "counts": lambda: rng.poisson(20, n).astype(float),
        "huge": lambda: 1e300 * rng.normal(size=n),
        "tiny": lambda: 1e-310 * rng.normal(size=n),
        "missing": lambda: np.where(rng.random(n) < 0.5, np.nan, rng.normal(size=n)),
        "all missing": lambda: np.full(n, np.nan),
        "constant": lambda: np.full(n, 0.1),
    }[kind]()


KINDS = ["normal", "far", "heavy tail", "two lumps", "zeros", "counts", "huge", "tiny"]
KINDS += ["missing", "all missing", "constant"]


@pytest.mark.parametrize("max_bins", [2, 64])
@pytest.mark.parametrize("weighted", [False, True])
def test_bins_are_exact_for_features_of_every_kind(max_bins, weighted):
    X = np.column_stack([feature(kind, 400) for kind in KINDS])
    rng = np.random.default_rng(1)
    weight = rng.random(400) + 0.01 if weighted else np.ones(400)
    assert_exact_bins(X, weight, max_bins, rng.permutation(400), n_jobs=2)


@pytest.mark.parametrize("weights", ["none", "integers", "tenths", "reals"])
@patch("sklearn_rank._bins.binned_features.MOST_ROWS", 2000)
def test_bins_are_a_function_of_values_and_weights_alone(weights):
    """Above the number of rows of a sample, in any order, and for any split of a weight."""
    n = 6000
    X = np.column_stack([feature(kind, n) for kind in ("normal", "zeros", "heavy tail")])
    rng = np.random.default_rng(2)
    weight = {
        "none": np.ones(n),
        "integers": rng.integers(1, 4, n).astype(float),
        "tenths": 0.1 * rng.integers(1, 10, n),
        "reals": rng.random(n) + 0.01,
    }[weights]
    thresholds = stumps(X, weight, 64)[0]
    shuffled = rng.permutation(n)
    orders = [shuffled, np.argsort(X[:, 0]), np.argsort(-weight)]
    if weights == "integers":
        orders.append(np.repeat(np.arange(n), weight.astype(int)))
    for rows in orders:
        part = np.ones(len(rows)) if len(rows) > n else weight[rows]
        for found, expected in zip(stumps(X[rows], part, 64)[0], thresholds, strict=True):
            np.testing.assert_array_equal(found, expected)


def weights_of(kind, n):
    rng = np.random.default_rng(5)
    return {
        "none": lambda: np.ones(n),
        "reals": lambda: rng.random(n) + 0.01,
        "pareto": lambda: rng.pareto(1.05, n) + 0.1,
    }[kind]()


@pytest.mark.parametrize("kind", ["none", "reals"])
def test_thresholds_of_a_sample_are_off_by_little(kind):
    """By five times the stated deviation, at most, of the share of the weight."""
    n, m, max_bins = 40_000, 4096, 32
    X = np.random.default_rng(3).normal(size=(n, 2))
    weight = weights_of(kind, n)
    with patch("sklearn_rank._bins.binned_features.MOST_ROWS", m):
        thresholds = [one.thresholds for one in Binning(max_bins).find(unlabelled(X, weight))]
    levels, most = np.arange(1, max_bins) / max_bins, 5 / (2 * np.sqrt(m))
    for x, found in zip(X.T, thresholds, strict=True):
        upto = np.array([weight[x <= t].sum() for t in found]) / weight.sum()
        below = np.array([weight[x < t].sum() for t in found]) / weight.sum()
        for level in levels:  # a threshold has less than this below it, and as much up to it
            assert np.any((below <= level + most) & (level - most <= upto))
        assert len(found) == max_bins - 1 or kind != "none"
    exact = [one.thresholds for one in Binning(max_bins).find(unlabelled(X, weight))]
    assert any(not np.array_equal(one, other) for one, other in zip(exact, thresholds, strict=True))


@pytest.mark.parametrize("kind", ["none", "pareto"])
def test_a_sample_is_the_same_in_any_order_and_on_several_processes(kind):
    n, rng = 9000, np.random.default_rng(4)
    X, weight = rng.normal(size=(n, 2)), weights_of(kind, n)
    again, order = rng.integers(0, n, 2000), rng.permutation(n + 2000)
    X, weight = np.concatenate([X, X[again]]), np.concatenate([weight, weight[again]])
    with patch("sklearn_rank._bins.binned_features.MOST_ROWS", 1000):
        expected = Binning(20).find(unlabelled(X, weight))
        shuffled = Binning(20).find(unlabelled(X[order], weight[order]))
        apart, _ = run_together(
            3, lambda c: Binning(20).find(unlabelled(X[c.rank :: 3], weight[c.rank :: 3], c))
        )
    for found in (shuffled, *apart):
        assert all(one.equal(other) for one, other in zip(found, expected, strict=True))


def test_fewer_distinct_rows_than_a_sample_give_the_quantiles_of_all():
    X = np.random.default_rng(0).integers(0, 12, (5000, 2)) / 3.0
    weight = weights_of("reals", 5000)
    with patch("sklearn_rank._bins.binned_features.MOST_ROWS", 200):
        assert_exact_bins(X, weight, 5)


@pytest.mark.parametrize("n_bins", [2, 3, 16, 64, 66, 300])
@pytest.mark.parametrize("n_features", [1, 2, 3, 7])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_joint_codes_give_every_histogram(n_bins, n_features, n_jobs):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, n_bins, (n_features, 9000)).astype(np.min_scalar_type(n_bins - 1))
    gradient = rng.standard_normal(9000)
    tables = rng.standard_normal((n_features, n_bins))
    with ThreadPool(n_jobs).running() as threads:
        rows = BinSums(codes, n_bins, threads)
        for pointer in ([0, 9000], [0, 4000, 9000], [0, 9000]):
            found = rows.sum_by_bin(RowGradient(gradient, np.array(pointer)))
            for group in range(len(pointer) - 1):
                part = slice(pointer[group], pointer[group + 1])
                for feature in range(n_features):
                    expected = np.bincount(codes[feature, part], gradient[part], n_bins)
                    np.testing.assert_allclose(found[group, feature], expected, atol=1e-10)
        expected = sum(table[code] for table, code in zip(tables, codes, strict=True))
        np.testing.assert_allclose(rows.look_up(tables), expected, atol=1e-12)


def test_the_crew_shares_tasks_in_order():
    seen = set()

    def task(number):
        seen.add(threading.get_ident())
        barrier.wait(timeout=20)  # passes only when two threads work at the same time
        return number**2

    barrier = threading.Barrier(2)
    with ThreadPool(2).running() as threads:
        assert threads.map(task, 40) == [number**2 for number in range(40)]
    assert len(seen) == 2
    assert ThreadPool(2).map(lambda number: -number, 3) == [0, -1, -2]  # no helpers: alone


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_in_a_task_reaches_the_leader(error, n_jobs):
    def task(number):
        if number == 3:
            raise error("from task 3")
        return number

    before = threading.active_count()
    with ThreadPool(n_jobs).running() as threads:
        with pytest.raises(error, match="from task 3"):
            threads.map(task, 8)
        assert threads.map(lambda number: number, 4) == [0, 1, 2, 3]  # the threads goes on
    assert threading.active_count() <= before + 1  # joblib may keep one idle thread
