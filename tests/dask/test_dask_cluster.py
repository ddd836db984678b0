"""Fits on local clusters: the same model as in one process, faults and progress."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import started
from cluster_faults import end_second_in_round, hold_back_one, kill_tracker
from distributed import Client, LocalCluster, wait
from distributed.utils import get_mp_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from xgboost.core import XGBoostError

from sklearn_rank import (
    BoostedTreesRanker,
    KernelPairwiseSGDRanker,
    PNormPushRanker,
    RankBoost,
    SmoothMarginRanker,
)
from sklearn_rank.dask import DaskRanker, _cluster_fit, _mailbox, _tasks
from sklearn_rank.dask._cluster_fit import ClusterFit
from sklearn_rank.dask._mailbox import _BOXES
from sklearn_rank.dask._tasks import wait_for_tasks, wait_until
from sklearn_rank.dask._tracker import TrackerProcess
from sklearn_rank.dask._xgboost_collective import PeerLostError, peer_lost_in_trees
from sklearn_rank.models import Stumps
from sklearn_rank.objectives import MARGIN_LOSSES

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    # Sockets and loops of a cluster that is closed end in threads of its own.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


STARTED = "distributed.worker.multiprocessing-method"


@pytest.fixture(scope="module", autouse=True)
def quick_start():
    """Start workers that are processes by a fork of one that has imported what they need."""
    with dask.config.set({STARTED: started.METHOD}):
        get_mp_context()  # Dask's own list, which the next one replaces
        started.preload("distributed", "dask.dataframe")
        yield


@pytest.fixture(autouse=True)
def each_round_has_a_checkpoint(monkeypatch):
    """Let the first worker make the model of each round alone, as it does in longer fits."""
    monkeypatch.setattr(_mailbox, "_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(_mailbox, "_CHECKPOINT_SHARE", np.inf)


def local_cluster(n_workers, *, processes=False):
    where = {"host": "127.0.0.1"} if processes else {}
    where |= {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}
    return LocalCluster(n_workers=n_workers, processes=processes, **where)


@pytest.fixture(scope="module")
def client():
    with local_cluster(2) as cluster, Client(cluster) as client:
        yield client


def draw(n=600, seed=0, n_levels=2):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, 4)).round(2)
    y = np.digitize(X[:, 0] + X[:, 1] ** 2 + random.standard_normal(n), np.arange(n_levels - 1))
    X[random.random(X.shape) < 0.1] = np.nan
    weight = random.integers(0, 4, n).astype(float)
    return X, y, weight


def chunked(n_chunks, *arrays):
    """Dask arrays in partitions of different lengths, one of them empty."""
    n = len(arrays[0])
    cuts = np.unique(np.linspace(0, n, n_chunks + 1).astype(int) ** 2 // n)
    sizes = (*np.diff(cuts), 0) if n_chunks > 2 else tuple(np.diff(cuts))
    sizes = tuple(map(int, sizes))
    return [da.from_array(a, (sizes, *((s,) for s in a.shape[1:]))) for a in arrays]


def fit_on_chunks(estimator, client, n=200):
    """Return a cluster's ranker, fitted to a few unweighted rows, and these rows."""
    X, y, _ = draw(n)
    return DaskRanker(estimator, client=client).fit(*chunked(2, X, y)), X, y


def assert_same(found, alone, X):
    assert found.weak_rankers_.equal(alone.weak_rankers_)
    np.testing.assert_allclose(found.estimator_weights_, alone.estimator_weights_, rtol=1e-9)
    scores = [one._score_validated(X) for one in (found, alone)]
    np.testing.assert_allclose(*scores, rtol=1e-9, atol=1e-9)
    plain = [
        {name: value for name, value in one.get_params(deep=False).items() if np.isscalar(value)}
        for one in (found, alone)
    ]
    assert plain[0] == plain[1]
    assert found.n_features_in_ == alone.n_features_in_


def test_the_model_is_that_of_one_process(client):
    X, y, weight = draw()
    dX, dy, dw = chunked(3, X, y, weight)
    ranker = DaskRanker(RankBoost(n_estimators=15), client=client)
    ranker.fit(dX, dy, sample_weight=dw)
    alone = RankBoost(n_estimators=15).fit(X, y, sample_weight=weight)
    assert_same(ranker.estimator_, alone, X)
    scores = ranker.decision_function(dX)
    assert isinstance(scores, da.Array) and scores.chunks == dX.chunks[:1]
    np.testing.assert_allclose(scores, alone.decision_function(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(ranker.predict(dX), alone.predict(X))
    np.testing.assert_array_equal(ranker.predict(X), alone.predict(X))
    expected = alone.score(X, y, sample_weight=weight)
    assert ranker.score(dX, dy, sample_weight=dw) == pytest.approx(expected, abs=1e-12)
    assert not _BOXES


@pytest.mark.slow
def test_only_the_client_that_is_passed_is_used(client, monkeypatch):
    """Not the current one, which may be of another cluster, and need not be there at all."""
    used = []

    def look(futures, timeout):
        used.append(Client.current())
        return wait(futures, timeout)

    monkeypatch.setattr(_tasks, "wait", look)
    X, y, _ = draw(80)
    qid = np.arange(80) // 7
    rows = [da.from_array(one, (20, *one.shape[1:])) for one in (X, y, qid)]
    ranker = DaskRanker(RankBoost(n_estimators=3), client=client, shuffle_queries=True)
    with Client(client.cluster, set_as_default=False) as other, other.as_current():
        ranker.fit(*rows[:2], qid=rows[2])
        found = ranker.score(*rows[:2], qid=rows[2])
    assert set(used) == {client}
    assert found == pytest.approx(ranker.estimator_.score(X, y, qid=qid), abs=1e-12)


def test_a_stored_ranker_has_no_client(client):
    ranker, X, _ = fit_on_chunks(RankBoost(n_estimators=3), client)
    stored = pickle.loads(pickle.dumps(ranker))
    assert stored.client is None and ranker.client is client
    np.testing.assert_array_equal(stored.predict(X), ranker.predict(X))


@pytest.mark.slow
def test_the_fitted_ranker_needs_no_dask(client, tmp_path):
    ranker, *_ = fit_on_chunks(RankBoost(n_estimators=3), client)
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(ranker.estimator_))
    script = (
        "import pickle, sys; sys.modules['dask'] = sys.modules['distributed'] = None;"
        "print(pickle.load(open('model.pkl', 'rb')).n_iter_)"
    )
    found = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert found.stdout.strip() == "3"


def test_bad_rows_are_refused_and_the_model_is_kept(client):
    ranker, X, y = fit_on_chunks(RankBoost(n_estimators=3), client, 90)
    ranker.partial_estimator_ = partial = RankBoost()
    kept = ranker.estimator_
    for bad, message in [
        (y * 0, "RankBoost needs two classes .* y has one class: 0"),
        (np.arange(90) % 3, "Only binary classification is supported"),
        (y[:60], "line up|inconsistent|same rows"),
    ]:
        chunks = da.from_array(bad, -(-len(bad) // 3))
        with pytest.raises(ValueError, match=message):
            ranker.fit(da.from_array(X, (30, 4)), chunks)
        assert ranker.estimator_ is kept and ranker.partial_estimator_ is partial
    infinite = np.where(np.arange(90)[:, np.newaxis] == 89, np.inf, X)
    with pytest.raises(ValueError, match="infinity"):
        ranker.fit(*chunked(3, infinite, y))
    assert ranker.estimator_ is kept
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=2)
    short = dd.from_pandas(pd.Series(y), npartitions=2).partitions[[0, 0]]
    with pytest.raises(ValueError, match=r"must hold the same rows|X has 45"):
        ranker.fit(frame.partitions[[0, 1]], short.map_partitions(lambda s: s.iloc[:9]))
    assert not any(client.processing().values())


@pytest.mark.parametrize("relevance", ["binary", pytest.param("graded", marks=pytest.mark.slow)])
def test_queries(client, relevance):
    X, y, weight = draw(n_levels=2 if relevance == "binary" else 4)
    qid = np.sort(np.random.default_rng(1).integers(0, 40, len(y))).astype("U2")
    rows = chunked(4, X, y, qid, weight)
    est = RankBoost(n_estimators=8, relevance=relevance)
    with pytest.raises(ValueError, match=r"Query '.*' is in several partitions.*shuffle_queries"):
        DaskRanker(est, client=client).fit(*rows[:2], qid=rows[2], sample_weight=rows[3])
    ranker = DaskRanker(est, client=client, shuffle_queries=True)
    ranker.fit(*rows[:2], qid=rows[2], sample_weight=rows[3])
    alone = clone(est).fit(X, y, qid=qid, sample_weight=weight)
    assert_same(ranker.estimator_, alone, X)
    expected = alone.score(X, y, qid=qid, sample_weight=weight)
    found = ranker.score(*rows[:2], qid=rows[2], sample_weight=rows[3])
    assert found == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ValueError, match="fitted with qid and can't be scored without"):
        ranker.score(*rows[:2])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "sizes"), [(RankBoost, (11, 29)), (SmoothMarginRanker, (10, 10, 10, 10))]
)
def test_pieces_of_queries_that_have_no_pair_are_not_lost(client, kind, sizes):
    """Of a query that is cut after its first row, and of queries in partitions at random."""
    random = np.random.default_rng(0)
    X, y, qid = random.standard_normal((40, 3)), random.integers(0, 3, 40), np.arange(40) // 10
    order = random.permutation(40) if len(sizes) == 4 else slice(None)
    rows = [da.from_array(one[order], (sizes, *one.shape[1:])) for one in (X, y, qid)]
    ranker = kind(relevance="graded", n_estimators=5)
    with pytest.raises(ValueError, match=r"Query \d is in several partitions"):
        DaskRanker(ranker, client=client).fit(*rows[:2], qid=rows[2])
    found = DaskRanker(ranker, client=client, shuffle_queries=True).fit(*rows[:2], qid=rows[2])
    assert_same(found.estimator_, clone(ranker).fit(X, y, qid=qid), X)


def test_data_frames(client):
    X, y, weight = draw()
    names = list("abcd")
    frame = pd.DataFrame(X, columns=names).assign(y=np.where(y, "yes", "no"), w=weight)
    rows = dd.from_pandas(frame, npartitions=3)
    X, dX = frame[names], rows[names]
    ranker = DaskRanker(RankBoost(n_estimators=5), client=client)
    ranker.fit(dX, rows["y"], sample_weight=rows["w"])
    alone = RankBoost(n_estimators=5).fit(X, frame["y"], sample_weight=weight)
    assert_same(ranker.estimator_, alone, X)
    assert ranker.estimator_.feature_names_in_.tolist() == names
    labels = ranker.predict(dX)
    assert isinstance(labels, dd.Series)
    assert labels.compute().tolist() == alone.predict(X).tolist()
    expected = alone.score(X, frame["y"])
    assert ranker.score(dX, rows["y"]) == pytest.approx(expected, abs=1e-12)


RULES = Stumps(special_values={"d": [-99]}, thresholds={"a": [-1, 0, 1]})
RULES.set_params(max_thresholds=6, min_bin_size=0.03)
CONSTRAINED = RankBoost(n_estimators=12, weak_ranker=RULES)
CONSTRAINED.set_params(categorical_features=["c"], monotonic_cst={"b": -1})
ALL_ROWS = {"subsample": 1.0, "colsample": 1.0}  # each worker draws rows of its own
OF_CATEGORIES = {
    "constraints, text": (CONSTRAINED, object, False),
    "by dtype, queries": (PNormPushRanker(p=2, n_estimators=8), "category", True),
    "trees": (BoostedTreesRanker(engine="xgboost", n_estimators=3, **ALL_ROWS), "category", False),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_CATEGORIES)
def test_constraints_and_categories(client, name):
    """Categories that one partition lacks, missing ones, and those of rows of weight zero."""
    ranker, dtype, has_queries = OF_CATEGORIES[name]
    random, n = np.random.default_rng(0), 600
    kind = np.sort(random.choice(list("uvwxyz"), n))
    frame = pd.DataFrame(random.normal(size=(n, 3)), columns=list("abd")).round(1)
    y = (frame["a"] - frame["b"] + (kind > "w") + random.normal(size=n) > 0.5).astype(int)
    weight = np.where(kind == "u", 0.0, random.integers(0, 3, n))
    frame.loc[random.random(n) < 0.1, "d"] = -99
    frame.insert(2, "c", kind)
    frame.loc[::9, "c"] = None
    frame["c"] = frame["c"].astype(dtype)
    qid = random.integers(0, 30, n) if has_queries else None
    rows = dd.from_pandas(frame.assign(y=y, w=weight, q=0 if qid is None else qid), npartitions=4)
    X = rows[list("abcd")]
    found = DaskRanker(ranker, client=client, shuffle_queries=True)
    found.fit(X, rows["y"], qid=rows["q"] if has_queries else None, sample_weight=rows["w"])
    alone = clone(ranker).fit(frame, y, qid=qid, sample_weight=weight)
    np.testing.assert_allclose(
        found.estimator_.decision_function(frame), alone.decision_function(frame), atol=1e-9
    )
    assert found.predict(X).compute().tolist() == alone.predict(frame).tolist()
    if not has_queries:
        assert found.score(X, rows["y"]) == pytest.approx(alone.score(frame, y), abs=1e-12)


@pytest.mark.slow
def test_verbose(client, capsys):
    fit_on_chunks(RankBoost(n_estimators=5, verbose=2), client)
    lines = [line for line in capsys.readouterr().out.splitlines() if "RankBoost" in line]
    assert [line.split(":")[0] for line in lines] == [
        f"[RankBoost] round {k}/5" for k in range(1, 6)
    ]


SHORT = {
    "lbfgs": PNormPushRanker(solver="lbfgs", n_estimators=2),
    "margin": SmoothMarginRanker(n_estimators=2),
    "kernel": KernelPairwiseSGDRanker(kernel="linear", max_iter=2),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SHORT)
def test_warnings_of_workers_are_issued_once_and_point_at_the_call_of_fit(client, name):
    X, y, _ = draw(120)
    X = np.nan_to_num(X)

    def fitted_and_warned(fit, *rows):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            fit(*rows)
        found = [one for one in caught if one.category is ConvergenceWarning]
        assert {one.filename for one in found} == {__file__}
        return [str(one.message) for one in found]

    alone = fitted_and_warned(clone(SHORT[name]).fit, X, y)
    assert len(alone) == 1
    ranker = DaskRanker(SHORT[name], client=client)
    assert fitted_and_warned(ranker.fit, *chunked(3, X, y)) == alone


class Ender:
    """A callback that ends a fit, or breaks it."""

    def __init__(self, after, error=None):
        self.after, self.error, self.fitted = after, error, []

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.task_name != "round" or fitted_estimator is None:
            return False
        self.fitted.append(fitted_estimator)
        if len(self.fitted) == self.after and self.error is not None:
            raise self.error
        return len(self.fitted) == self.after

    def teardown(self, estimator, context):
        pass


def with_callback(callback):
    estimator = RankBoost(n_estimators=30, tol=0)
    if not hasattr(estimator, "set_callbacks"):
        pytest.skip("scikit-learn has no callbacks")
    return estimator.set_callbacks(callback)


def test_a_callback_ends_the_fit(client):
    ender = Ender(7)
    ranker, X, y = fit_on_chunks(with_callback(ender), client)
    assert ranker.estimator_.n_iter_ == 7
    assert [one.n_iter_ for one in ender.fitted] == list(range(1, 8))
    np.testing.assert_array_equal(ender.fitted[-1].predict(X), ranker.predict(X))
    assert_same(
        ranker.estimator_.set_params(n_estimators=7), RankBoost(n_estimators=7, tol=0).fit(X, y), X
    )


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), pytest.param(RuntimeError("mine"), marks=pytest.mark.slow)]
)
def test_an_interrupted_fit_keeps_what_it_has(client, error):
    X, y, _ = draw(200)
    ranker = DaskRanker(with_callback(Ender(7, error)), client=client)
    with pytest.raises(type(error)):
        ranker.fit(*chunked(2, X, y))
    assert not hasattr(ranker, "estimator_")
    assert ranker.partial_estimator_.n_iter_ == 7
    ranker.partial_estimator_.predict(X)
    assert not any(client.processing().values())
    assert not _BOXES


def test_other_versions_are_named(client, monkeypatch):
    found = client.get_versions(packages=["scipy", "xgboost", "xgboost-cpu"])
    worker = next(iter(found["workers"]))
    found["workers"][worker]["packages"]["scipy"] = "0.1"
    found["workers"][worker]["packages"] |= {"xgboost": None, "xgboost-cpu": None}
    monkeypatch.setattr(Client, "get_versions", lambda self, packages: found)
    with pytest.raises(RuntimeError, match=r"On .*: scipy 0\.1 \(client: .*xgboost missing"):
        fit_on_chunks(RankBoost(), client)


OF_FOUR_ROUNDS = [
    RankBoost(n_estimators=4),
    PNormPushRanker(p=4, n_estimators=4),
    SmoothMarginRanker(n_estimators=4),
    PNormPushRanker(p=1, n_estimators=4, loss=MARGIN_LOSSES["logistic"]),
    RankBoost(
        n_estimators=4,
        monotonic_cst=[1, 0, -1, 0],
        weak_ranker=Stumps(max_thresholds=3, special_values={2: [0.0]}, min_bin_size=0.02),
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2, 5])
def test_any_number_of_workers_and_partitions(n_workers):
    X, y, weight = draw(900, seed=n_workers)
    y = np.where(np.arange(900) < 60, 1, y)  # the first partition has one class
    with local_cluster(n_workers) as cluster, Client(cluster) as client:
        for number, est in enumerate(OF_FOUR_ROUNDS):
            alone = clone(est).fit(X, y, sample_weight=weight)
            dX, dy, dw = chunked((1, 17)[(number + n_workers) % 2], X, y, weight)
            ranker = DaskRanker(est, client=client).fit(dX, dy, sample_weight=dw)
            assert_same(ranker.estimator_, alone, X)


@pytest.mark.slow
def test_a_killed_worker_changes_no_model(monkeypatch):
    """It is killed when the client first hears of a round."""
    X, y, _ = draw(20_000)
    est = RankBoost(n_estimators=200, tol=0)
    with local_cluster(2, processes=True) as cluster, Client(cluster) as client:
        process, take, seen = max(client.run(os.getpid).values()), ClusterFit._take, []

        def kill_first(fit, message):
            if not seen:
                os.kill(process, signal.SIGKILL)
            seen.append(message.round)
            return take(fit, message)

        monkeypatch.setattr(ClusterFit, "_take", kill_first)
        monkeypatch.setattr(_cluster_fit, "_PAUSE", 0.05)
        begin = time.monotonic()
        ranker = DaskRanker(est, client=client).fit(*chunked(4, X, y))
        assert time.monotonic() - begin < 300
    assert seen[0] < 150
    assert_same(ranker.estimator_, clone(est).fit(X, y), X)


def kill_workers(client, workers=None):
    for process in client.run(os.getpid, workers=workers).values():
        os.kill(process, signal.SIGKILL)


def kill_who_has(client, tasks):
    """Kill who has the model, whose task Dask would have run again there, and wait for it."""
    kill_workers(client, [next(iter(client.who_has([tasks[0]])[tasks[0].key]))])


LOST = {
    "the worker with the model": ("_model_of", kill_who_has, 2),
    # For a moment no worker runs: what it has read must not wait for its address.
    "the only worker": ("_follow", lambda client, *_: kill_workers(client), 1),
    # It may abort its own process where a worker is lost while it joins: not the scheduler's.
    "the tracker": ("_follow", lambda client, *_: client.run_on_scheduler(kill_tracker), 2),
}


@pytest.mark.slow
@pytest.mark.parametrize(("method", "kill", "n_workers"), LOST.values(), ids=LOST)
def test_what_is_lost_changes_no_model(method, kill, n_workers, monkeypatch):
    X, y, _ = draw(4_000)
    call, killed = getattr(ClusterFit, method), []
    with (
        dask.config.set({STARTED: "spawn" if n_workers == 1 else started.METHOD}),
        local_cluster(n_workers, processes=True) as cluster,
        Client(cluster) as client,
    ):

        def kill_first(fit, *arguments):
            if not killed:
                killed.append(kill(client, *arguments))
            return call(fit, *arguments)

        monkeypatch.setattr(ClusterFit, method, kill_first)
        ranker = DaskRanker(RankBoost(n_estimators=20), client=client).fit(*chunked(3, X, y))
    assert killed
    assert_same(ranker.estimator_, RankBoost(n_estimators=20).fit(X, y), X)


@pytest.mark.slow
def test_workers_that_xgboost_has_wait_for_ever_are_left_behind(monkeypatch):
    """As it does where another one is lost while they join, or in the middle of a message."""
    X, y, _ = draw(4_000)
    monkeypatch.setattr(_cluster_fit, "_FOLLOW", 1.0)
    alone = RankBoost(n_estimators=20).fit(X, y)
    with local_cluster(2, processes=True) as cluster, Client(cluster) as client:
        for n_left, call in enumerate(["init", "allreduce"], start=1):
            client.run(hold_back_one, call)
            begin = time.monotonic()
            ranker = DaskRanker(clone(alone), client=client).fit(*chunked(4, X, y))
            assert time.monotonic() - begin < 120
            assert_same(ranker.estimator_, alone, X)
            left = client.run(lambda: [one.name for one in threading.enumerate()])
            assert sum(names.count("sklearn_rank-fit-0") for names in left.values()) == n_left


@pytest.mark.slow
def test_a_cluster_without_workers_is_not_waited_for_for_ever():
    with local_cluster(0) as cluster, Client(cluster) as client:
        task = client.submit(sum, [1, 2])
        with pytest.raises(RuntimeError, match=r"for 0\.5 seconds the cluster has had no workers"):
            wait_for_tasks(client, [task], patience=0.5)
        cluster.scale(1)
        wait_for_tasks(client, [task])
        assert task.result() == 3


# Calls, replies and clients that are lost -----------------------------------------------------


def result_in(seconds, function):
    """Return what the function returns, in a thread; fail where it takes longer."""
    results = []
    thread = threading.Thread(target=lambda: results.append(function()), daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), "it waits for ever"
    return results[0]


@pytest.mark.slow
@pytest.mark.parametrize("has_callback", [True, False])
def test_lost_calls_and_replies_are_repeated(client, monkeypatch, has_callback):
    est = with_callback(Ender(7)) if has_callback else RankBoost(n_estimators=30, tol=0, verbose=2)
    run, calls = Client.run, []

    def run_badly(client, function, *arguments, **options):
        if "workers" not in options:  # not a call for news
            return run(client, function, *arguments, **options)
        calls.append(function)
        if len(calls) % 3 == 0:  # the call does not arrive
            raise OSError
        found = run(client, function, *arguments, **options)
        return found if len(calls) % 3 == 1 else {}  # the reply does not

    monkeypatch.setattr(Client, "run", run_badly)
    ranker, *_ = result_in(60.0, lambda: fit_on_chunks(est, client))
    assert ranker.estimator_.n_iter_ == (7 if has_callback else 30)
    assert len(calls) > 3 * has_callback


@pytest.mark.slow
def test_two_fits_at_once_take_turns(client, monkeypatch):
    """The second would have a worker before the first has both: each would wait for the other."""
    submit, rows, begun = Client.submit, chunked(2, *draw(300)[:2]), threading.Event()
    ranker = DaskRanker(RankBoost(n_estimators=5), client=client)

    def submit_slowly(client, function, *arguments, **options):
        if "fit_RankBoost" in options.get("key", "") and not begun.is_set():
            begun.set()
            found = submit(client, function, *arguments, **options)
            time.sleep(1.5)
            return found
        return submit(client, function, *arguments, **options)

    def fit_both():
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(clone(ranker).fit, *rows)
            assert begun.wait(30.0)
            second = pool.submit(clone(ranker).fit, *rows)
            return [fit.result().estimator_.n_iter_ for fit in (first, second)]

    monkeypatch.setattr(Client, "submit", submit_slowly)
    assert result_in(60.0, fit_both) == [5, 5]


_ORPHAN = """
import sys
import dask.array as da, numpy as np
from distributed import Client
from sklearn_rank import RankBoost
from sklearn_rank.dask import DaskRanker
X = np.random.default_rng(0).standard_normal((400, 4))
rows = da.from_array(X, (200, 4)), da.from_array(X[:, 0] > 0, 200)
DaskRanker(RankBoost(n_estimators=10**5, tol=0), client=Client(sys.argv[1])).fit(*rows)
"""


@pytest.mark.slow
def test_a_fit_ends_with_its_client(monkeypatch):
    """It leaves nothing on the workers and beside the scheduler, and the next fit runs."""
    tcp = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(**tcp, protocol="tcp://", host="127.0.0.1") as cluster:
        path = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(
            [sys.executable, "-c", _ORPHAN, cluster.scheduler_address], env=path
        ) as orphan:
            try:
                assert wait_until(lambda: len(_BOXES) == 2, 60.0)
                time.sleep(0.3)
            finally:
                orphan.kill()
        with monkeypatch.context() as patch:  # not while a slow client lives
            patch.setattr(_mailbox, "_CLIENT_SILENCE", 0.5)
            assert wait_until(lambda: not _BOXES, 60.0)
        with Client(cluster) as client:
            ranker = DaskRanker(RankBoost(n_estimators=3), client=client)
            rows = chunked(2, *draw(200)[:2])
            assert result_in(60.0, lambda: ranker.fit(*rows)).estimator_.n_iter_ == 3
        assert not any("sklearn_rank" in name for name in cluster.scheduler.plugins)


@pytest.mark.slow
def test_a_worker_is_lost_while_xgboost_sends_messages_of_its_own(monkeypatch):
    """The task of the other one fails before the client hears that the first has left."""
    X, y, _ = draw(4_000)
    options = {"n_estimators": 10, "n_jobs": 1, "subsample": 1, "colsample": 1}
    alone = BoostedTreesRanker(engine="xgboost", **options).fit(X, y)
    with local_cluster(2, processes=True) as cluster, Client(cluster) as client:
        before, follow = client.nthreads(), ClusterFit._follow
        client.run(end_second_in_round, 3)

        def follow_in_the_past(fit, *arguments):
            monkeypatch.setattr(ClusterFit, "_follow", follow)  # once
            with monkeypatch.context() as patch:
                patch.setattr(Client, "nthreads", lambda client: before)
                follow(fit, *arguments)

        monkeypatch.setattr(ClusterFit, "_follow", follow_in_the_past)
        ranker = DaskRanker(clone(alone), client=client).fit(*chunked(4, X, y))
        assert not set(before) <= set(client.nthreads())
    scores = ranker.estimator_.decision_function(X)
    np.testing.assert_allclose(scores, alone.decision_function(X), rtol=1e-6, atol=1e-6)


def test_losses_of_xgboosts_own_messages_are_told_from_other_errors():
    for text, expected in (
        ("[02:40:28] /src/collective/result.cc:83: Ring allgather failed.", PeerLostError),
        (r"[02:40:28] C:\src\collective\loop.cc:102: Encountered EOF.", PeerLostError),
        ("[02:40:28] /src/tree/param.h:10: max_depth must be positive", ValueError),
    ):
        with pytest.raises(expected) as raised, peer_lost_in_trees():
            raise ValueError("BoostedTreesRanker: xgboost says") from XGBoostError(text)
        assert type(raised.value) is expected
    with pytest.raises(ValueError, match="no cause"), peer_lost_in_trees():
        raise ValueError("no cause")


@pytest.mark.slow
def test_a_tracker_ends_with_the_process_that_started_it():
    tracker = TrackerProcess()
    with pytest.raises(RuntimeError, match="tracker does not start: gaierror"):
        tracker.start(2, "no such host", 30)
    tracker.stop()
    with pytest.raises(RuntimeError, match="does not start: its process has ended"):
        tracker.start(2, "127.0.0.1", 30)
    tracker = TrackerProcess()
    joins = (
        f"collective.init(**{tracker.start(2, '127.0.0.1', 30)}, dmlc_task_id='0', dmlc_retry=1)"
    )
    command = [sys.executable, "-c", f"from xgboost import collective; {joins}"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as waits:
        time.sleep(1.0)
        tracker._process.stdin.close()  # as when the scheduler dies
        assert tracker._process.wait(timeout=20) == 0
        assert waits.wait(timeout=60) == 1
    tracker.stop()
    tracker.stop(patience=1)  # more than once
