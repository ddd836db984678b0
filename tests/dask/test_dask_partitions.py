"""Partitions of dask collections, their checks, thresholds and pairs, without a cluster."""

import ctypes
import re
import sys
import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace
from unittest.mock import patch

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import psutil
import pytest
from dask import delayed
from dask.base import tokenize
from hypothesis import given
from hypothesis import strategies as st
from shared_fits import unlabelled
from sklearn.base import clone

from sklearn_rank import (
    BoostedTreesRanker,
    KernelPairwiseSGDRanker,
    ListNetLinear,
    PNormPushRanker,
    RankBoost,
)
from sklearn_rank._bins.binned_features import Binning, encode
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._pair_sums import margin_losses
from sklearn_rank.dask import DaskRanker, _fit_task
from sklearn_rank.dask._binning_tasks import bin_partitions
from sklearn_rank.dask._cluster_auc import choose_splitters, count_range, pooled_auc, score_pieces
from sklearn_rank.dask._cluster_fit import ClusterFit, assign_workers
from sklearn_rank.dask._mailbox import FitStoppedError
from sklearn_rank.dask._partitions import Partition, Partitions, RowChecks, divide, on_rows
from sklearn_rank.dask._summaries import find_queries, merge_queries, with_whole_queries
from sklearn_rank.dask._supported import check_supported
from sklearn_rank.dask._tasks import Tasks, wait_for_tasks
from sklearn_rank.metrics import auc_score


def parts_of(X, y, weight, cuts):
    parts = zip(*(np.split(one, cuts) for one in (X, y, weight)), strict=True)
    return [Partition(x, of_x, None, w) for x, of_x, w in parts]


@st.composite
def divided_columns(draw):
    """Columns of many kinds, weights, and the places where partitions end."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(2, 300))
    kinds = {
        "normal": random.standard_normal(n),
        "heavy tails": np.exp(30 * random.standard_normal(n)),
        "ties": random.integers(0, draw(st.integers(1, 80)), n).astype(float),
        "mostly zero": np.where(random.random(n) < 0.8, 0, random.standard_normal(n)),
        "extreme": random.choice([1e308, -1e308, 5e-324, 0.0, -0.0, 1.0, np.nextafter(1, 2)], n),
        "adjacent": 1 + random.integers(0, 100, n) * 2.0**-52,
    }
    X = np.column_stack(list(kinds.values()))
    X[random.random(X.shape) < draw(st.sampled_from([0.0, 0.1, 0.9]))] = np.nan
    weights = [np.ones(n), np.full(n, 0.1), random.integers(1, 5, n) * 1.0, 0.1 + random.random(n)]
    cuts = np.sort(random.integers(0, n + 1, draw(st.integers(0, 8))))
    return X, draw(st.sampled_from(weights)), cuts


class Here:
    """Runs the tasks of a cluster in this process, as they come."""

    def start(self, items):
        return [delayed(dask.compute(item)[0], traverse=False) for item in items]

    def keep(self, value):
        return self.start([value])[0]

    def result(self, function, *arguments):
        return function(*dask.compute(*arguments))

    def results(self, items):
        return list(dask.compute(*items))

    tree = Tasks.tree


@given(
    divided_columns(),
    st.sampled_from([2, 3, 10, 64, 300]),
    st.sampled_from([20, 1000]),
    st.sampled_from([1, 4]),
)
def test_thresholds_are_those_of_one_process(columns, max_bins, most, spare):
    """Of all rows, and of a sample of them, some of which may have to be read again."""
    X, weight, cuts = columns
    with (
        patch("sklearn_rank.dask._binning_tasks.MOST_ROWS", most),
        patch("sklearn_rank.dask._binning_tasks._SPARE", spare),
        patch("sklearn_rank._bins.binned_features.MOST_ROWS", most),
        patch("sklearn_rank.dask._binning_tasks.release", lambda futures: None),
    ):
        binning = Binning(max_bins, special={3: np.array([0.0])})
        expected = binning.find(unlabelled(X, weight))
        arrays = zip(np.split(X, cuts), np.split(weight, cuts), strict=True)
        chunks = [(x, np.zeros(len(x)), None, w) for x, w in arrays if len(x)]
        partitions = Partitions(chunks, RowChecks("Ranker", True, True, X.shape[1]))
        parts, bins = bin_partitions(Here(), partitions, binning)
    assert all(one.equal(other) for one, other in zip(bins, expected, strict=True))
    codes = np.concatenate([part.X for part in dask.compute(*parts)], axis=1)
    np.testing.assert_array_equal(codes, encode(X, np.arange(len(X)), bins, ThreadPool(1)))


class ScoredByFirst:
    """A fitted ranker whose score is the first feature."""

    def relevance_of(self, y, weight):
        return y

    def score_rows(self, X):
        return X[:, 0]


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.sampled_from([2, 4]))
def test_auc_of_pieces_is_that_of_all_rows(seed, n_ranges, n_levels):
    random = np.random.default_rng(seed)
    n = random.integers(2, 80)
    X = random.integers(0, random.choice([3, 1000]), (n, 1)) / 7.0
    y = np.append(random.integers(0, n_levels, n - 2), [0, 1]).astype(float)
    weight = random.choice([1.0, 2.0, 0.3], n)
    parts = parts_of(X, y, weight, np.sort(random.integers(0, n + 1, 3)))
    splitters = choose_splitters(X[::3, 0], n_ranges)
    pieces = [score_pieces(part, ScoredByFirst(), splitters, 2.0) for part in parts]
    found = pooled_auc([count_range([one[k] for one in pieces]) for k in range(len(splitters) + 1)])
    assert found == pytest.approx(auc_score(y, X[:, 0], sample_weight=weight), abs=1e-12)
    assert choose_splitters(X[:0, 0], n_ranges).tolist() == []


def checks(**options):
    known = {"owner": "RankBoost", "graded": False, "allow_nan": True, "n_features": 2}
    return RowChecks(**{**known, **options})


X, Y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 1, 0])


def test_a_worker_fits_with_its_threads_unless_there_is_a_number():
    for number, used in ((None, 3), (2, 2), (-1, -1)):
        ranker = RankBoost(n_jobs=number)
        assert _fit_task.estimator_on(ranker, 3).n_jobs == used
        assert ranker.n_jobs == number


def test_numbers_of_partitions_line_up():
    with pytest.raises(ValueError, match="line up: X has 2, y has 3, qid has 2"):
        divide("RankBoost", da.from_array(X, (3, 2)), da.from_array(Y, 2), None, None, checks())


@pytest.mark.parametrize("bad", [X, da.from_array(Y, 3), "X"])
def test_X_is_a_dask_collection(bad):
    with pytest.raises(TypeError, match="X of RankBoost must be a dask array of two dimensions"):
        DaskRanker(RankBoost()).fit(bad, da.from_array(Y, 3))


@pytest.mark.parametrize("name", ["y", "qid", "sample_weight"])
def test_columns_are_dask_collections(name):
    arrays = {"y": da.from_array(Y, 3), name: Y}
    others = ", a number or None" if name == "sample_weight" else ""
    what = f"{name} of RankBoost must be a dask array of one dimension or a dask series{others}. G"
    with pytest.raises(TypeError, match=re.escape(what)):
        DaskRanker(RankBoost()).fit(da.from_array(X, (3, 2)), **arrays)


def test_columns_of_features_in_chunks_are_one():
    parts = divide("RankBoost", da.from_array(X, (3, 1)), da.from_array(Y, 3), None, 2.0, checks())
    rows = []
    for chunk in parts.chunks:
        values = [p.compute(scheduler="sync") if hasattr(p, "compute") else p for p in chunk]
        rows.append(on_rows(lambda rows: rows, parts.checks, 0, values))
    np.testing.assert_array_equal(np.concatenate([one.X for one in rows]), X)
    assert (np.concatenate([one.weight for one in rows]) == 2).all()


def test_text_is_refused_before_work_starts():
    frame = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), npartitions=1)
    with pytest.raises(ValueError, match="Column 'b' of X must hold numbers for RankBoost"):
        DaskRanker(RankBoost()).fit(frame, da.from_array(Y[:2], 2))


def read(chunks, **options):
    return on_rows(lambda rows: rows, checks(**options), 3, chunks)


@pytest.mark.parametrize(
    ("chunks", "options", "message"),
    [
        ((X, Y[:4], None, None), {}, r"X has 6, y has 4\. \(partition 3"),
        ((X, Y, None, -Y), {}, r"must not be negative.*\(partition 3"),
        ((X[:, :1], Y, None, None), {}, "2 features according to its metadata. Got 1"),
        ((X / [np.inf, 0.5] + np.array([np.inf, 0]), Y, None, None), {}, "infinity"),
        ((X * np.nan, Y, None, None), {"allow_nan": False}, "NaN"),
        ((X, Y, Y * np.nan, None), {}, "qid must not have missing values: row 0 of the partition"),
        ((X, Y * np.nan, None, None), {"graded": True}, "y contains NaN"),
        ((X, Y, None, None), {"classes": np.array([0, 2])}, "y changed while RankBoost"),
    ],
)
def test_rows_of_a_partition_are_checked(chunks, options, message):
    with pytest.raises(ValueError, match=message):
        read(chunks, **options)


def test_rows_of_weight_zero_leave_and_partitions_may_be_empty():
    rows = read((X, Y, Y.astype(str), Y.astype(float)))
    assert rows.n_rows == 3 and set(rows.y) == {1} and set(rows.qid) == {"1"}
    assert read((X[:0], Y[:0], None, None)).n_rows == 0
    assert read((X, Y, None, 0.0)).n_rows == 0


def test_queries_without_a_pair_leave():
    chunks = X, [0, 1, 2, 2, 5, 5], list("aabbac"), None
    rows = read(chunks, graded=True, only_paired=True)
    assert rows.qid.tolist() == ["a", "a", "a"]


@given(st.lists(st.lists(st.integers(0, 20), max_size=6), min_size=1, max_size=6))
def test_a_split_query_is_found(ids):
    parts = [Partition(None, None, np.array(some, dtype=int), None) for some in ids]
    _, split = merge_queries([merge_queries([find_queries(one)]) for one in parts])
    count = np.bincount([one for some in ids for one in set(some)], minlength=1)
    assert bool(split) == (count > 1).any()
    if split:
        assert count[split[0]] > 1


def in_queries(qid, cuts):
    """Return partitions of rows of some queries."""
    columns = X, Y, np.array(qid), np.ones(len(X))
    chunks = list(zip(*(np.split(one, cuts) for one in columns), strict=True))
    return Partitions(chunks, checks())


@pytest.mark.parametrize("cuts", [[2, 4], [3], []])
def test_queries_in_several_partitions_are_refused_or_brought_together(cuts):
    partitions = in_queries(list("aabbcc"), cuts)
    if cuts != [3]:
        assert with_whole_queries(Here(), partitions, "RankBoost", shuffles=False) is partitions
    else:
        with pytest.raises(ValueError, match="Query 'b' is in several partitions, and RankBoost"):
            with_whole_queries(Here(), partitions, "RankBoost", shuffles=False)
    found = with_whole_queries(Here(), partitions, "RankBoost", shuffles=True)
    parts = dask.compute(*found.map(lambda rows: rows))
    assert len(parts) == len(cuts) + 1
    assert sorted(np.concatenate([part.X[:, 0] for part in parts])) == X[:, 0].tolist()
    for query in "abc":
        assert sum(query in part.qid for part in parts if part.n_rows) == 1


def test_rows_of_a_worker_are_those_of_its_partitions():
    parts = dask.compute(*in_queries(list("babbcc"), [3]).map(lambda rows: rows))
    plan = SimpleNamespace(bins=None, is_whole=True, classes=np.array([0, 1]))
    rows = _fit_task.worker_rows(parts, plan)
    np.testing.assert_array_equal(rows.X, X)
    np.testing.assert_array_equal(rows.qid, [1, 0, 1, 1, 2, 2])


def test_weights_that_dask_holds_as_one_number_keep_their_value():
    one, five = (d.compute() for w in (1.0, 5.0) for d in da.full(4, w, chunks=2).to_delayed()[:1])
    parts = [read((X[:2], Y[:2], None, weight)).weight for weight in (one, five)]
    assert all(part.strides == (0,) for part in parts)
    assert _fit_task.joined_weights(parts).tolist() == [1, 1, 5, 5]
    ones = _fit_task.joined_weights([parts[0], parts[0], np.ones(0)])
    assert ones.tolist() == [1] * 4 and ones.strides == (0,)


def test_a_fit_goes_on_with_the_workers_that_are_left():
    with patch("sklearn_rank.dask._cluster_fit._RETURN", 0.0):
        for threads in ({}, {"tcp://a": 1}):
            fit = SimpleNamespace(client=SimpleNamespace(nthreads=lambda known=threads: known))
            if threads:
                ClusterFit._wait_for_workers(fit, 2)
                continue
            with pytest.raises(RuntimeError, match="All workers were lost"):
                ClusterFit._wait_for_workers(fit, 2)


@pytest.mark.parametrize("moment", ["joins", "waits", "fails"])
def test_a_fit_that_is_left_raises_why(moment):
    """Whether its thread joins, waits in a message, or fails when its rows are taken away."""
    goes_on = threading.Event()

    @contextmanager
    def joined(tracker, rank):
        if moment == "joins":
            goes_on.wait()
        yield

    def fit(parts, rank):
        goes_on.wait()
        raise ValueError("of the thread")

    def check():
        if moment == "fails":
            goes_on.set()
        raise FitStoppedError("left")

    box = SimpleNamespace(check=check, is_stopped=False)
    changed = {"joined": joined, "_LOOK": 0.05, "_GRACE": 60.0 if moment == "fails" else 0.05}
    with patch.multiple("sklearn_rank.dask._fit_task", **changed):
        with pytest.raises(FitStoppedError, match="left"):
            _fit_task.run_in_thread({}, 0, box, fit, [X])
        goes_on.set()
    assert box.is_stopped


@pytest.mark.parametrize("is_busy", [True, False])
def test_tasks_are_waited_for_as_long_as_a_worker_is_busy(is_busy):
    future, looks = SimpleNamespace(status="pending"), []

    def look(futures, timeout):
        time.sleep(0.02)
        looks.append(timeout)
        future.status = "finished" if len(looks) == 10 else "pending"

    client = SimpleNamespace(processing=lambda: {"tcp://a": ["key"] if is_busy else []})
    with patch("sklearn_rank.dask._tasks.wait", look):
        if is_busy:
            wait_for_tasks(client, [future], 0.1)
            return
        with pytest.raises(RuntimeError, match=r"can't be read: for 0\.1 seconds"):
            wait_for_tasks(client, [future], 0.1)


@given(st.lists(st.integers(1, 100), min_size=1, max_size=30), st.integers(1, 5))
def test_partitions_are_placed_evenly(sizes, n_workers):
    workers = [f"w{k}" for k in range(n_workers)]
    places = assign_workers(sizes, [workers[:1]] * len(sizes), workers)
    load = [sum(s for s, p in zip(sizes, places, strict=True) if p == w) for w in workers]
    assert max(load) <= 1.05 * sum(sizes) / n_workers + max(sizes)
    spread = [workers[k % n_workers] for k in range(len(sizes))]
    if len(set(sizes)) == 1:  # what is evenly held stays where it is
        found = assign_workers(sizes, [[one] for one in spread], workers)
        assert found == spread or len(sizes) < n_workers * 4


REFUSED = {
    "n_iter_no_change=5": RankBoost(n_iter_no_change=5),
    "warm_start=True": RankBoost(warm_start=True),
    "n_bags=3": RankBoost(n_bags=3),
    "solver='ogd'": ListNetLinear(solver="ogd", max_norm=1.0),
    "qid=None": ListNetLinear(),
    "p=inf": PNormPushRanker(p=np.inf, solver="lbfgs"),
    "kernel='rbf'": KernelPairwiseSGDRanker(kernel="rbf"),
    "batch_size=10": KernelPairwiseSGDRanker(kernel="linear", solver="gd", batch_size=10),
    "loss='hinge' in one list": KernelPairwiseSGDRanker(kernel="linear", loss="hinge"),
    "engine='lightgbm'": BoostedTreesRanker(engine="lightgbm"),
    "engine='symmetric'": BoostedTreesRanker(engine="symmetric"),
    "loss='ndcg'": BoostedTreesRanker(engine="xgboost", loss="ndcg", relevance="graded"),
    "loss='cross_entropy' in one list": BoostedTreesRanker(
        engine="xgboost", loss="cross_entropy", relevance="graded"
    ),
}


@pytest.mark.parametrize("setting", REFUSED)
def test_what_can_not_be_fitted_is_refused_by_name(setting):
    with pytest.raises(ValueError, match=f"DaskRanker can't fit .* with {setting}"):
        check_supported(REFUSED[setting], has_queries=False)


class Steeper(margin_losses.MarginLoss):
    """A loss of one's own."""

    def value_and_derivative(self, margin):
        return 2 * (1 - margin) ** 2, -4 * (1 - margin)


class SteeperOfAll(Steeper):
    def in_processes(self, rows):
        raise NotImplementedError


@pytest.mark.parametrize(
    "ranker",
    [
        PNormPushRanker(loss=margin_losses.MARGIN_LOSSES["logistic"], p=1),
        PNormPushRanker(loss=margin_losses.Exponential()),
        KernelPairwiseSGDRanker(kernel="linear", loss=margin_losses.LeastSquares()),
        PNormPushRanker(loss=SteeperOfAll(), p=1),
    ],
    ids=["logistic", "exponential", "least squares", "own"],
)
def test_loss_objects_are_asked_for_what_they_can(ranker):
    check_supported(ranker, has_queries=False)


def test_losses_that_sort_are_allowed_with_queries():
    for loss in ("hinge", margin_losses.MARGIN_LOSSES["hinge"], Steeper()):
        ranker = KernelPairwiseSGDRanker(kernel="linear", loss=loss)
        check_supported(ranker, has_queries=True)
        with pytest.raises(ValueError, match="in one list: its sum over pairs sorts"):
            check_supported(ranker, has_queries=False)


def test_other_estimators_are_refused():
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(TypeError, match=r"DaskRanker fits one of .*RankBoost.* Got LogisticRegr"):
        DaskRanker(LogisticRegression()).fit(da.from_array(X, (3, 2)), da.from_array(Y, 3))


def test_no_client():
    with pytest.raises(ValueError, match="DaskRanker has no client, and none can be found"):
        DaskRanker(RankBoost()).fit(da.from_array(X, (3, 2)), da.from_array(Y, 3))


def test_clones_share_the_client():
    client = object()
    ranker = DaskRanker(RankBoost(n_estimators=3), client=client)
    copy = clone(ranker)
    assert copy.client is client and copy.estimator is not ranker.estimator
    assert copy.get_params()["estimator__n_estimators"] == 3


def test_columns_of_small_files_keep_the_partitions_of_the_table(tmp_path):
    """Dask would read several files at once for a table of one column."""
    frame = pd.DataFrame(np.arange(480.0).reshape(40, 12), columns=[f"x{j}" for j in range(12)])
    for number in range(8):
        rows = frame.iloc[5 * number : 5 * number + 5]
        rows.to_parquet(tmp_path / f"part-{number}.parquet")
    table = dd.read_parquet(tmp_path)
    checks = RowChecks("RankBoost", True, False, 11)
    divided = divide("RankBoost", table[list(table.columns[:-1])], table["x11"], None, None, checks)
    assert len(divided.chunks) == 8


def test_a_refused_fit_changes_nothing():
    rows = da.from_array(np.zeros((4, 2)), (2, 2)), da.from_array(np.array([0, 1, 0, 1]), 2)
    ranker = DaskRanker(RankBoost(n_bags=2))
    ranker.estimator_ = fitted = RankBoost().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="n_bags=2"):
        ranker.fit(*rows)
    assert ranker.estimator_ is fitted


def test_two_fitted_models_are_two_things_to_dask():
    """Dask knows a dataclass by its fields alone, so that estimators must not be dataclasses."""
    X = [[0.0], [1.0]]
    models = [RankBoost(n_estimators=1).fit(X, y) for y in ([0, 1], [1, 0])]
    assert len({tokenize(model) for model in models}) == 2


def test_freed_memory_is_returned_to_the_system():
    """Small blocks between others that stay: the C library keeps their pages by itself."""
    if sys.platform == "win32" or not hasattr(ctypes.CDLL(None), "malloc_trim"):
        pytest.skip("only glibc has malloc_trim")
    process = psutil.Process()
    blocks = [np.zeros(600) for _ in range(50_000)]
    kept = blocks[::50]
    del blocks
    before = process.memory_info().rss
    _fit_task.release_unused_memory()
    assert process.memory_info().rss < before - 100e6
    assert len(kept) == 1000
