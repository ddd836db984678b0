"""Query-level scaling against a loop, and in pipelines."""

import numpy as np
import oracles_listwise as naive
import pandas as pd
import pytest
from hypothesis import given
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from strategies import problems

from sklearn_rank import ListNetLinear
from sklearn_rank.datasets import make_queries
from sklearn_rank.preprocessing import QueryMinMaxScaler

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


def test_ranges_that_overflow():
    huge = np.array([[-1.7e308], [1.7e308], [0.0]])
    assert QueryMinMaxScaler().fit_transform(huge, qid=[1, 1, 1]).ravel().tolist() == [0, 1, 0.5]


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


def test_with_queries_where_there_were_none():
    with pytest.raises(ValueError, match="fitted without qid and can't transform with it"):
        QueryMinMaxScaler().fit(X).transform(X, qid=QID)


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
