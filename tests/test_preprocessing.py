"""Query-level scaling against a loop, and in pipelines."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import definitions as oracles
from oracles import listwise as naive
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from strategies import problems

from sklearn_rank import KernelPairwiseSGDRanker, ListNetLinear, PNormPushRanker, RankBoost
from sklearn_rank.datasets import make_queries
from sklearn_rank.metrics import auc_score
from sklearn_rank.preprocessing import QueryMinMaxScaler, query_sample_weight

DATA = make_queries(n_queries=12, rows_per_query=8, n_features=4, random_state=0)
ROWS = np.random.default_rng(0).permutation(96)
X, Y, QID = DATA.data[ROWS], DATA.target[ROWS], DATA.qid[ROWS]


@given(problem=problems(queries=("integers", "strings")))
def test_every_query_is_scaled_by_itself(problem):
    found = QueryMinMaxScaler().fit_transform(problem.X, qid=problem.qid)
    np.testing.assert_allclose(found, naive.query_min_max(problem.X, problem.qid), atol=1e-12)
    assert found.min() >= 0
    assert found.max() <= 1


@given(problem=problems(queries=("none",)))
def test_without_queries_it_is_scikit_learns(problem):
    scaler, plain = QueryMinMaxScaler().fit(problem.X), MinMaxScaler().fit(problem.X)
    other = 2 * problem.X - 1
    varies = np.ptp(problem.X, axis=0) > 0
    np.testing.assert_allclose(
        scaler.transform(other)[:, varies], plain.transform(other)[:, varies], atol=1e-9
    )
    assert not scaler.transform(other)[:, ~varies].any()
    np.testing.assert_array_equal(scaler.data_min_, plain.data_min_)
    np.testing.assert_array_equal(scaler.data_max_, plain.data_max_)


def test_new_queries_are_scaled_by_their_own_rows():
    scaler = QueryMinMaxScaler().fit(X, qid=QID)
    rows = 100 * X[:10] + 3
    found = scaler.transform(rows, qid=["new"] * 10)
    np.testing.assert_allclose(found, naive.query_min_max(X[:10]), atol=1e-12)


def test_a_pipeline_passes_qid_once():
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(QueryMinMaxScaler(), ListNetLinear())
        pipe.fit(X, Y, qid=QID)
        scores, score = pipe.predict(X, qid=QID), pipe.score(X, Y, qid=QID)
        assert clone(pipe).get_metadata_routing() is not None
    scaled = naive.query_min_max(X, QID)
    model = ListNetLinear().fit(scaled, Y, qid=QID)
    np.testing.assert_allclose(scores, model.predict(scaled), rtol=1e-9)
    assert score == pytest.approx(model.score(scaled, Y, qid=QID))


def test_without_routing_predict_says_what_to_do():
    pipe = make_pipeline(QueryMinMaxScaler(), ListNetLinear())
    pipe.fit(X, Y, queryminmaxscaler__qid=QID, listnetlinear__qid=QID)
    with pytest.raises(ValueError, match=r"fitted with qid .*enable_metadata_routing=True"):
        pipe.predict(X)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"qid": [1, 2]}, "one id for each of the 96 rows"),
        ({"qid": [None] * 96}, "missing values: row 0"),
        ({"X": np.full((96, 4), np.nan), "qid": QID}, "NaN"),
    ],
)
def test_bad_input_changes_nothing(arrays, message):
    scaler = QueryMinMaxScaler()
    with pytest.raises(ValueError, match=message):
        scaler.fit(**({"X": X} | arrays))
    assert not vars(scaler)
    scaler.fit(X, qid=QID)
    before = dict(vars(scaler))
    with pytest.raises(ValueError, match=message):
        scaler.fit(**({"X": X} | arrays))
    with pytest.raises(ValueError, match=message):
        scaler.transform(**({"X": X} | arrays))
    assert vars(scaler) == before


def test_frames_keep_their_names():
    table = pd.DataFrame(X, columns=list("abcd"))
    scaler = QueryMinMaxScaler().set_output(transform="pandas")
    found = scaler.fit_transform(table, qid=pd.Series(QID))
    assert list(found.columns) == list("abcd")
    assert scaler.get_feature_names_out().tolist() == list("abcd")
    np.testing.assert_allclose(found, naive.query_min_max(X, QID), atol=1e-12)


# Weights of queries --------------------------------------------------------------------------

QUERY_DATA = make_queries(n_queries=12, rows_per_query=7, n_features=3, random_state=0)
GRADES, IDS = QUERY_DATA.target, QUERY_DATA.qid
COARSE = np.round(QUERY_DATA.data)  # fewer values than bins, so that all weights have one bin each
TIMES = {one: 1 + one % 3 for one in range(12)}


def repeated(qid, times):
    """Rows in which each query is there so many times, and the ids of the copies."""
    copies = [
        (row, f"{one}-{number}") for row, one in enumerate(qid) for number in range(times[one])
    ]
    return np.array([row for row, _ in copies]), np.array([one for _, one in copies])


@given(problem=problems(queries=["integers"]), loss=st.sampled_from(["exponential", "hinge"]))
def test_a_query_of_weight_v_is_there_v_times(problem, loss):
    _, y, qid, w, f = problem
    w = oracles.row_weights(y, w)
    times = {one: 1 + int(one) % 3 for one in qid}
    rows, copies = repeated(qid, times)
    weight = query_sample_weight(y, qid, times, per="pair", sample_weight=w)
    expected = oracles.pair_sum(f[rows], y[rows], copies, w[rows], loss)
    assert oracles.pair_sum(f, y, qid, weight, loss) == pytest.approx(expected, rel=1e-9)
    if oracles.total_pair_weight(y, qid, w) > 0:
        expected = auc_score(y[rows], f[rows], qid=copies, sample_weight=w[rows])
        found = auc_score(y, f, qid=qid, sample_weight=weight)
        assert found == pytest.approx(expected, rel=1e-9)


@given(problem=problems(queries=["integers"]))
def test_every_query_counts_the_same(problem):
    _, y, qid, w, _ = problem
    weight = query_sample_weight(y, qid, sample_weight=w)
    for one in set(qid):
        rows = qid == one
        pairs = oracles.total_pair_weight(y[rows], None, None if w is None else w[rows])
        found = oracles.total_pair_weight(y[rows], None, weight[rows])
        assert found == pytest.approx(float(pairs > 0), rel=1e-9)
        if not pairs:
            assert not weight[rows].any()


RANKERS = [
    RankBoost(n_estimators=8),
    PNormPushRanker(n_estimators=8, p=4),
    PNormPushRanker(n_estimators=8, p=2, loss="logistic", push="bottom"),
    KernelPairwiseSGDRanker(kernel="linear", solver="lbfgs"),
]


@pytest.mark.parametrize("ranker", RANKERS, ids=str)
def test_a_ranker_takes_a_query_v_times(ranker):
    ranker = clone(ranker).set_params(relevance="graded")
    rows, copies = repeated(IDS, TIMES)
    expected = clone(ranker).fit(COARSE[rows], GRADES[rows], qid=copies).predict(COARSE)
    weight = query_sample_weight(GRADES, IDS, TIMES, per="pair")
    found = clone(ranker).fit(COARSE, GRADES, qid=IDS, sample_weight=weight).predict(COARSE)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    plain = clone(ranker).fit(COARSE, GRADES, qid=IDS).predict(COARSE)
    assert np.abs(plain - expected).max() > 1e-3


def test_query_weights_by_id_and_by_row_are_the_same():
    by_row = np.array([TIMES[one] for one in IDS])
    for per in ("pair", "query"):
        np.testing.assert_array_equal(
            query_sample_weight(GRADES, IDS, TIMES, per=per),
            query_sample_weight(GRADES, IDS, by_row, per=per),
        )
    names = np.array([f"q{one}" for one in IDS])
    named = query_sample_weight(GRADES, names, {f"q{one}": v for one, v in TIMES.items()})
    np.testing.assert_array_equal(named, query_sample_weight(GRADES, IDS, TIMES))


def test_what_is_wrong_is_named():
    with pytest.raises(ValueError, match=r"a weight for every query\. Not for \[1, 2"):
        query_sample_weight(GRADES, IDS, {0: 1.0})
    with pytest.raises(ValueError, match="query_weight must not be negative"):
        query_sample_weight(GRADES, IDS, -np.ones(84))
    with pytest.raises(ValueError, match="'per' parameter of query_sample_weight must be one of"):
        query_sample_weight(GRADES, IDS, per="row")
    with pytest.raises(ValueError, match="qid must hold one id for each of the 84 rows"):
        query_sample_weight(GRADES, IDS[:3])
    with pytest.raises(ValueError, match="y must hold values of one kind"):
        query_sample_weight(np.array([*"ab", 3], dtype=object), [1, 1, 1])
