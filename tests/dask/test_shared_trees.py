"""Trees that processes grow together with XGBoost, from rows that each has a part of."""

import multiprocessing
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
import started
from libraries import library
from shared_fits import run_together
from sklearn.base import clone

from sklearn_rank import BoostedTreesRanker
from sklearn_rank._bins.binned_features import MOST_ROWS
from sklearn_rank._core.rows import Rows
from sklearn_rank.dask._fit_task import fit_rows
from sklearn_rank.engines.posed_objective import PosedObjective
from sklearn_rank.estimators.boosted_trees import StoredBooster
from sklearn_rank.metrics import auc_score

xgboost = library("xgboost")
TIMEOUT = 120


class XGBoostProcesses:
    """The processes that have joined XGBoost's collective."""

    def __init__(self):
        self.rank = xgboost.collective.get_rank()
        self.size = xgboost.collective.get_world_size()

    def reduce(self, ufunc, values):
        operations = xgboost.collective.Op
        name = {np.add: "SUM", np.maximum: "MAX", np.minimum: "MIN"}[ufunc]
        array = np.array(values, dtype=np.float64, ndmin=1)
        total = xgboost.collective.allreduce(array.ravel(), getattr(operations, name))
        return total.reshape(np.shape(values)) if np.ndim(values) else float(total[0])

    def gather(self, values):
        counts = np.zeros(self.size)
        counts[self.rank] = len(values)
        bounds = np.cumsum(np.append(0, self.reduce(np.add, counts))).astype(int)
        together = np.zeros(bounds[-1])
        together[bounds[self.rank] : bounds[self.rank + 1]] = values
        return np.split(self.reduce(np.add, together), bounds[1:-1])

    def agree(self, value):
        return xgboost.collective.broadcast((value,), 0)[0]


def fit_here(arguments, jobs, results):
    """Fit a part of the rows of each job, in a process of its own."""
    with xgboost.collective.CommunicatorContext(**arguments):
        number = xgboost.collective.get_rank()
        found = [fit_rows(ranker, parts[number], XGBoostProcesses()) for ranker, parts in jobs]
        for fitted in found:
            fitted["_trees_"] = fitted["_trees_"].stored
        results.put(found)


def fit_in_processes(jobs):
    """Return, for each job, the fitted attributes of each of as many processes as it has parts."""
    n_processes = len(jobs[0][1])
    tracker = xgboost.tracker.RabitTracker(n_workers=n_processes, host_ip="127.0.0.1")
    tracker.start()
    context = multiprocessing.get_context(started.METHOD)
    started.preload()
    results = context.Queue()
    given = tracker.worker_args(), jobs, results
    processes = [context.Process(target=fit_here, args=given) for _ in range(n_processes)]
    for process in processes:
        process.start()
    try:
        found = [results.get(timeout=TIMEOUT) for _ in processes]
        for process in processes:
            process.join(TIMEOUT)
    finally:
        for process in processes:
            process.kill()
    for fitted in chain.from_iterable(found):
        fitted["_trees_"] = StoredBooster("xgboost", fitted["_trees_"])
    return list(zip(*found, strict=True))


def make_rows(n_queries=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    y = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=3000) > 1.0
    qid = None if n_queries is None else rng.integers(0, n_queries, 3000)
    return X, y, qid, rng.integers(1, 4, 3000).astype(float)


def divide(X, y, qid, weight, owner, size, classes):
    return [
        Rows(X[here], y[here], None if qid is None else qid[here], weight[here], classes)
        for here in (owner == rank for rank in range(size))
    ]


WHOLE = {"engine": "xgboost", "subsample": 1.0, "colsample": 1.0, "learning_rate": 0.1}
"""Each process would draw rows of its own."""

SHARED = [
    (None, {"loss": "logistic"}),
    (None, {"loss": "logistic", "p": 4}),
    (None, {"loss": "exponential"}),
    (None, {"loss": "least_squares"}),
    (60, {"loss": "logistic", "push": "both", "p": 2}),
    (60, {"loss": "hinge"}),
    (60, {"loss": "cross_entropy", "relevance": "graded"}),
]


def shared_job(n_queries, parameters):
    """Return a ranker and the rows of three processes."""
    X, y, qid, weight = make_rows(n_queries)
    ranker = BoostedTreesRanker(**WHOLE, n_estimators=20, max_leaf_nodes=8, **parameters)
    # The second process has one class only, or few queries, and the last one no rows.
    owner = np.where(y, 1, np.arange(3000) % 2) if qid is None else np.where(qid < 5, 1, 0)
    graded = ranker.relevance == "graded"
    labels, classes = (y.astype(float), None) if graded else (y, np.array([0, 1]))
    return ranker, divide(X, labels, qid, weight, owner, 3, classes)


def many_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(MOST_ROWS + 10_000, 3))  # bins come from a sample
    return X, X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=len(X)) > 1.0


def job_of_many_rows():
    X, y = many_rows()
    owner = (np.arange(len(X)) > 50_000).astype(int)
    ranker = BoostedTreesRanker(**WHOLE, n_estimators=10)
    return ranker, divide(X, y, None, np.ones(len(X)), owner, 3, np.array([0, 1]))


@pytest.mark.slow
def test_the_trees_of_processes_rank_as_those_of_one():
    """One test, as each group of processes takes seconds to start."""
    jobs = [*(shared_job(*setting) for setting in SHARED), job_of_many_rows()]
    *shared, of_many_rows = fit_in_processes(jobs)
    for setting, (ranker, _), found in zip(SHARED, jobs, shared, strict=False):
        assert_ranks_alike(setting[0], ranker, found)
    assert_many_rows_rank_alike(jobs[-1][0], of_many_rows[0])


def assert_ranks_alike(n_queries, ranker, found):
    X, y, qid, weight = make_rows(n_queries)
    alone = clone(ranker).fit(X, y.astype(int), qid=qid, sample_weight=weight)
    assert len({fitted["_trees_"].stored for fitted in found}) == 1
    for fitted in found:
        together = clone(ranker).fit(X[:50], y[:50].astype(int))
        together.set_fitted(fitted)
        scores = together.score_rows(X)
        wanted = auc_score(y, alone.score_rows(X), qid=qid, sample_weight=weight)
        auc = auc_score(y, scores, qid=qid, sample_weight=weight)
        assert auc == pytest.approx(wanted, abs=0.002), ranker
        assert np.corrcoef(scores, alone.score_rows(X))[0, 1] > 0.999, ranker
        np.testing.assert_allclose(fitted["objective_curve_"], alone.objective_curve_, rtol=1e-3)
        if ranker.relevance == "binary":
            assert fitted["offset_"] == pytest.approx(alone.offset_, abs=0.01), ranker


def assert_many_rows_rank_alike(ranker, fitted):
    X, y = many_rows()
    together = clone(ranker).fit(X[:50], y[:50].astype(int))
    together.set_fitted(fitted)
    wanted = clone(ranker).fit(X, y.astype(int)).score(X, y.astype(int))
    assert together.score(X, y.astype(int)) == pytest.approx(wanted, abs=0.002)


@pytest.mark.parametrize("loss", ["logistic", "exponential", "least_squares"])
@pytest.mark.parametrize("n_queries", [None, 60])
def test_the_scale_of_the_objective_is_that_of_all_rows(loss, n_queries):
    X, y, qid, weight = make_rows(n_queries)
    owner = np.where(X[:, 0] > 0, 0, 1) if qid is None else qid % 2
    given = Rows(X, y, qid, weight)
    alone = PosedObjective.pose(loss, 2.0, "top", given).evaluate(X[:, 2])

    def task(collective):
        here = owner == collective.rank
        part = replace(given.take(here), collective=collective)
        posed = PosedObjective.pose(loss, 2.0, "top", part)
        return posed.evaluate(X[here, 2])

    for rank, (value, *rows) in enumerate(run_together(3, task)[0]):
        assert value == pytest.approx(alone[0], rel=1e-9)
        for found, wanted in zip(rows, alone[1:], strict=True):
            # Sums for engines that keep 32 bits.
            np.testing.assert_allclose(found, wanted[owner == rank], rtol=1e-5, atol=1e-8)
