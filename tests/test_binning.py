"""Thresholds, lookup tables, histograms and the threads that share them."""

import threading

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_rank._parallel import ThreadPool
from sklearn_rank._protocols import RowGradient
from sklearn_rank.models._binning import _CELLS, Digitizer, SortedValues
from sklearn_rank.models._histogram import BinnedRows

FINITE = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.one_of(FINITE, st.integers(-3, 3).map(float), st.sampled_from([1e-300, 1e12, 5e-324]))


def assert_exact(thresholds, x):
    """As long as a lookup table is worth it, and with missing values in between."""
    x = np.resize(x, 2 * _CELLS)
    expected = np.searchsorted(thresholds, x)
    digitizer = Digitizer(thresholds)
    np.testing.assert_array_equal(digitizer(x, 999), expected)
    x[::3] = np.nan
    missing = len(thresholds) + 1
    expected[::3] = missing
    np.testing.assert_array_equal(digitizer(x, missing), expected)


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


@pytest.mark.parametrize("n_bins", [2, 3, 16, 64, 66, 300])
@pytest.mark.parametrize("n_features", [1, 2, 3, 7])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_joint_codes_give_every_histogram(n_bins, n_features, n_jobs):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, n_bins, (n_features, 9000)).astype(np.min_scalar_type(n_bins - 1))
    gradient = rng.standard_normal(9000)
    tables = rng.standard_normal((n_features, n_bins))
    with ThreadPool(n_jobs).running() as threads:
        rows = BinnedRows(codes, n_bins, threads)
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
