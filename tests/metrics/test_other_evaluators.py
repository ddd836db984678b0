"""Metrics of ranked lists against trec_eval and gdeval, what TREC is evaluated with.

Scores are distinct: those programs break ties by the name of a document, where the package
takes the mean over the orders. Queries without a relevant row, which they count 0, too.
"""

import shutil
from functools import partial

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from libraries import library

from sklearn_rank import metrics

pytrec_eval = pytest.importorskip("pytrec_eval", reason="no wheel for this platform")
ir_measures = pytest.importorskip("ir_measures", reason="no wheel for this platform")

CUT_OFFS = (1, 3, 5, 10)
LINEAR = partial(metrics.ndcg_score, gain="linear")
METRICS = {
    "ndcg": LINEAR,
    "map": metrics.average_precision,
    "recip_rank": metrics.reciprocal_rank,
    "Rprec": metrics.r_precision,
}
MAP = partial(metrics.average_precision, divide_by="relevant")
for k in CUT_OFFS:
    METRICS[f"ndcg_cut_{k}"] = partial(LINEAR, k=k)
    METRICS[f"P_{k}"] = partial(metrics.precision_at_k, k=k, divide_by="k")
    METRICS[f"map_cut_{k}"] = partial(MAP, k=k)
    METRICS[f"recall_{k}"] = partial(metrics.recall_at_k, k=k)


@st.composite
def rankings(draw):
    """Return grades, distinct scores and unsorted string ids of up to three queries."""
    ids = draw(st.lists(st.sampled_from(["b", "a10", "a9"]), min_size=1, max_size=40))
    y = draw(st.lists(st.sampled_from([0, 0, 0, 1, 2, 4]), min_size=len(ids), max_size=len(ids)))
    f = draw(st.permutations(range(len(ids))))
    return np.array(y), np.array(f) / 4 - 3, np.array(ids)


def as_dicts(y, f, qid):
    """Return qrels and run: query -> document -> relevance, or score."""
    qrels = {q: {} for q in np.unique(qid).tolist()}
    run = {q: {} for q in qrels}
    for document, (q, relevance, score) in enumerate(zip(qid.tolist(), y, f, strict=True)):
        qrels[q][f"d{document}"] = int(relevance)
        run[q][f"d{document}"] = float(score)
    return qrels, run


@given(rankings())
@example((np.array([1]), np.array([0.5]), np.array(["a9"])))
@example((np.array([0, 0, 2]), np.array([2.0, 1.0, 0.0]), np.array(["b", "b", "a9"])))
def test_trec_eval(problem):
    qrels, run = as_dicts(*problem)
    cut_offs = ",".join(map(str, CUT_OFFS))
    names = {"ndcg", "map", "recip_rank", "Rprec"}
    names |= {f"{name}.{cut_offs}" for name in ("ndcg_cut", "P", "recall", "map_cut")}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
    y, f, qid = problem
    for name, metric in METRICS.items():
        found = metric(y, f, qid=qid, average=None, empty=0)
        expected = np.array([theirs[q][name] for q in qrels])
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12), name


@pytest.mark.parametrize("k", CUT_OFFS)
def test_mean_average_precision_of_xgboost(k):
    """At a cut-off XGBoost and LightGBM divide by the relevant rows that k ranks can hold."""
    xgboost = library("xgboost")
    rng = np.random.default_rng(k)
    size = rng.integers(1, 15, 50)
    qid = np.repeat(np.arange(50), size)
    y, f = rng.choice([0, 0, 1], len(qid)), rng.permutation(len(qid)) / 8
    rows = xgboost.DMatrix(np.zeros((len(y), 1)), label=y, base_margin=f, group=size)
    options = {"objective": "rank:map", "eval_metric": f"map@{k}", "learning_rate": 0}
    booster = xgboost.train({**options, "base_score": 0.0}, rows, 1)
    theirs = float(booster.eval(rows).partition(":")[2])
    found = metrics.average_precision(y, f, k=k, qid=qid, empty=1)  # as XGBoost counts none
    assert found == pytest.approx(theirs, abs=1e-6)


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval is a Perl script")
@pytest.mark.parametrize("k", CUT_OFFS)
def test_gdeval(k):
    """Exponential gains, and ERR with the highest grade that gdeval has built in, 4.

    One call for many queries, as each starts Perl. It prints five digits.
    """
    rng = np.random.default_rng(k)
    qid = rng.permutation(np.repeat(np.arange(1, 201), rng.integers(1, 25, 200))).astype(str)
    y = rng.choice([0, 0, 0, 1, 2, 3, 4], len(qid))
    f = rng.permutation(len(qid)) / 8
    qrels, run = as_dicts(y, f, qid)
    err, ndcg = ir_measures.ERR @ k, ir_measures.nDCG(dcg="exp-log2") @ k
    values = ir_measures.iter_calc([err, ndcg], qrels, run)
    theirs = {(one.measure, one.query_id): one.value for one in values}
    for measure, metric in (
        (err, partial(metrics.err_score, max_relevance=4)),
        (ndcg, metrics.ndcg_score),
    ):
        found = metric(y, f, k=k, qid=qid, average=None, empty=0)
        expected = np.array([theirs[measure, q] for q in qrels])
        assert found == pytest.approx(expected, abs=5.1e-6, rel=0)
