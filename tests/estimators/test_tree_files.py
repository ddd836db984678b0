"""BoostedTreesRanker.fit_files: the model of `fit`, from Parquet files read block by block."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from libraries import need
from sklearn.base import clone
from test_boosted_trees import assert_equal, peak_above
from test_callbacks import Log, needs_callbacks

from sklearn_rank import BoostedTreesRanker
from sklearn_rank._bins import binned_features
from sklearn_rank._bins.stored_bins import StoredBins
from sklearn_rank._core import sample
from sklearn_rank.estimators import _parquet

RNG = np.random.default_rng(0)
N = 600
VALUES = np.round(RNG.normal(size=(N, 3)), 2)
VALUES[RNG.random((N, 3)) < 0.1] = np.nan
VALUES[100:150] = VALUES[400:450]  # equal rows, in different files
FRAME = pd.DataFrame(VALUES, columns=["a", "b", "c"]).assign(
    whole=RNG.integers(0, 5, N), flag=RNG.random(N) < 0.3, empty=np.nan
)
FRAME["b"] = FRAME["b"].astype(np.float32)
SIGNAL = np.nan_to_num(VALUES[:, 0] * VALUES[:, 1] + VALUES[:, 2]) + RNG.normal(size=N)
LABELS = {
    "label": np.where(SIGNAL > 0.5, "yes", "no"),
    "grade": np.clip(np.round(SIGNAL + 1), 0, 4),
    "query": RNG.choice(["p", "q", "r", "s"], N),
    "weight": RNG.integers(0, 4, N).astype(float),
}
QUERIES = {"target": "grade", "qid": "query"}
GRADED = {"relevance": "graded"}


def make(**parameters):
    few = {"engine": "xgboost", "n_estimators": 5, "learning_rate": 0.3}
    return BoostedTreesRanker(**{**few, **parameters})


@pytest.fixture
def folder(tmp_path):
    """Three files, the middle one without rows, and another one that is no Parquet file."""
    table = FRAME.assign(**LABELS)
    for name, rows in (("1", slice(0, 250)), ("2", slice(250, 250)), ("3", slice(250, N))):
        table.iloc[rows].to_parquet(tmp_path / f"{name}.parquet", row_group_size=90)
    (tmp_path / "notes.txt").write_text("none of the rows")
    return tmp_path


CASES = {
    "classes": ({}, {"target": "label"}),
    "weights": ({}, {"target": "label", "sample_weight": "weight"}),
    "whole": ({"subsample": 1.0, "colsample": 1.0}, {"target": "label"}),
    "push": ({"loss": "exponential", "p": 4}, {"target": "label"}),
    "few bins": ({"max_bins": 3}, {"target": "label"}),
    "bins of two bytes": ({"max_bins": 400}, {"target": "label"}),
    "monotonic": ({"monotonic_cst": {"a": 1}}, {"target": "label"}),
    "queries": (GRADED, QUERIES),
    "queries and weights": (GRADED, {**QUERIES, "sample_weight": "weight"}),
    "lists": ({**GRADED, "loss": "cross_entropy"}, QUERIES),
}


@pytest.mark.parametrize("is_sampled", [False, True], ids=["all rows", "a sample"])
@pytest.mark.parametrize(("parameters", "columns"), CASES.values(), ids=CASES)
def test_the_model_is_that_of_fit(parameters, columns, is_sampled, folder, monkeypatch):
    """Bit by bit, also where bins come from a sample of the rows; blocks divide row groups."""
    monkeypatch.setattr(_parquet, "_BLOCK_VALUES", 300)
    if is_sampled:
        monkeypatch.setattr(binned_features, "MOST_ROWS", 80)
    model = make(**parameters).fit_files(folder, features=list(FRAME), **columns)
    arrays = {"target": "y", "qid": "qid", "sample_weight": "sample_weight"}
    given_to_fit = {arrays[name]: LABELS[column] for name, column in columns.items()}
    other = make(**parameters).fit(FRAME, **given_to_fit)
    assert_equal(model, other, FRAME)
    assert model.feature_names_in_.tolist() == list(FRAME)
    assert (model.n_features_in_, model.n_iter_) == (6, 5)
    np.testing.assert_array_equal(model.feature_importances_, other.feature_importances_)


@pytest.mark.parametrize("columns", [{"target": "label"}, QUERIES], ids=["list", "queries"])
def test_rows_are_held_out(columns, folder):
    """The bins know them, too: here there is one for each value, so that nothing changes."""
    parameters = {"n_iter_no_change": 2, "n_estimators": 30, "validation_fraction": 0.3}
    parameters |= {"relevance": "graded" if "qid" in columns else "binary", "max_bins": 1000}
    model = make(**parameters).fit_files(folder, features=list(FRAME), **columns)
    other = make(**parameters).fit(FRAME, LABELS[columns["target"]], qid=LABELS.get(
        columns.get("qid")))  # fmt: skip
    assert 0 < model.n_iter_ < 30
    assert_equal(model, other, FRAME)


def test_features_are_all_other_columns(folder):
    table = FRAME.assign(y=LABELS["grade"])
    table.to_parquet(folder / "one.parquet")
    model = make(**GRADED).fit_files(folder / "one.parquet", target="y")
    assert model.feature_names_in_.tolist() == list(FRAME)
    twice = make(**GRADED).fit_files([str(folder / "one.parquet")] * 2, target="y")
    doubled = clone(model).fit(pd.concat([FRAME] * 2), np.tile(LABELS["grade"], 2))
    assert_equal(twice, doubled, FRAME)


@given(st.data())
def test_a_value_is_read_as_the_start_of_its_bin(data):
    """The largest start that it reaches; below all, the first."""
    numbers = st.integers(-5, 5).map(float)
    starts = data.draw(st.lists(st.lists(numbers, min_size=1, unique=True), min_size=1, max_size=3))
    starts = [sorted(column) for column in starts]
    n_bins, shape = max(map(len, starts)), (6, len(starts))
    table = np.full((n_bins, len(starts)), np.nan, np.float32)
    for j, column in enumerate(starts):
        table[: len(column), j] = column
    known = st.one_of(st.floats(-7, 7, width=32), st.just(np.nan))
    values = np.array([[data.draw(known) for _ in starts] for _ in range(6)])
    bins = StoredBins(np.arange(6, dtype=np.uint64), len(starts))
    bins.fill(table, [(0, values[:4]), (4, values[4:])])
    expected = np.empty(shape)
    for (i, j), value in np.ndenumerate(values):
        reached = [start for start in starts[j] if start <= value]
        expected[i, j] = value if np.isnan(value) else max(reached, default=starts[j][0])
    np.testing.assert_array_equal(bins[np.arange(6)], expected)
    np.testing.assert_array_equal(bins[np.array([5, 0]), 0], expected[[5, 0], 0])


@pytest.mark.slow
def test_what_is_held_is_a_byte_a_value(tmp_path, monkeypatch):
    """400 columns: what a row needs besides is little. The engine's own bins are not counted."""
    monkeypatch.setattr(_parquet, "_BLOCK_VALUES", 1 << 16)
    monkeypatch.setattr("sklearn_rank._core.selected._BLOCK_VALUES", 1 << 16)
    monkeypatch.setattr(binned_features, "MOST_ROWS", 200)
    monkeypatch.setattr(sample, "_N_SLOTS", 1024)
    X = np.random.default_rng(0).normal(size=(4000, 400))
    frame = pd.DataFrame(X).add_prefix("x").assign(y=X[:, 0] > 0)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=500)
    model = make(n_estimators=2)
    assert peak_above(X, lambda: model.fit_files(tmp_path, target="y")) < 0.45


# What is refused ---------------------------------------------------------------------------

REFUSED = {
    "LightGBM": ({"engine": "lightgbm"}, {}, "needs engine='xgboost'. Got engine='lightgbm'"),
    "auto": ({"engine": "auto"}, {}, "needs engine='xgboost'. Got engine='auto'"),
    "ndcg": ({"loss": "ndcg", **GRADED}, {"target": "grade"}, "needs a loss of this package"),
    "exact": ({"engine_params": {"tree_method": "exact"}}, {}, "needs tree_method='hist'"),
    "categories": ({"categorical_features": ["a"]}, {}, "needs features that are numbers"),
    "parameter": ({"n_estimators": 0}, {}, "'n_estimators' parameter"),
    "no column": ({}, {"target": "y"}, "1.parquet has no column 'y'. Its columns are"),
    "no feature": ({}, {"features": ["a", "x"]}, "has no column 'x'"),
    "text": ({}, {"features": ["a", "query"]}, "column 'query' of 1.parquet must hold numbers"),
    "twice": ({}, {"features": ["a", "label"]}, "'label' is named twice"),
    "none": ({}, {"features": []}, "there is none besides"),
    "three classes": ({}, {"target": "query"}, "Only binary classification"),
    "text as grades": (GRADED, {"target": "label"}, "y must hold numbers"),
    "weights": ({}, {"sample_weight": "a"}, "sample_weight"),
    "no files": ({}, {"paths": []}, "needs Parquet files, or a folder that has some"),
    "no file": ({}, {"paths": "nowhere.parquet"}, "'nowhere.parquet', which is none"),
}


@pytest.mark.parametrize(("parameters", "columns", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(parameters, columns, message, folder):
    if parameters.get("engine") == "auto":
        need("lightgbm")  # without it "auto" is XGBoost
    model = make(**parameters)
    before = dict(vars(model))
    options = {"paths": folder, "target": "label", "features": ["b", "c"], **columns}
    with pytest.raises(ValueError, match=r".") as error:
        model.fit_files(options.pop("paths"), **options)
    assert message in str(error.value)
    assert vars(model) == before


def test_a_failed_call_keeps_the_model(folder):
    model = make().fit_files(folder, target="label", features=["a"])
    scores = model.decision_function(FRAME[["a"]])
    with pytest.raises(ValueError, match="y contains NaN"):
        model.set_params(**GRADED).fit_files(folder, target="empty", features=["a"])
    np.testing.assert_array_equal(model.set_params(relevance="binary").decision_function(
        FRAME[["a"]]), scores)  # fmt: skip
    with pytest.raises(ValueError, match="needs a ranker that is not fitted, or warm_start=False"):
        model.set_params(warm_start=True).fit_files(folder, target="label", features=["a"])


@pytest.mark.parametrize("value", [np.inf, 1e200])
def test_values_that_no_tree_takes(value, tmp_path):
    frame = FRAME.assign(a=np.where(np.arange(N) == 7, value, 1.0), y=LABELS["grade"])
    frame.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match=r"fit_files of BoostedTreesRanker, rows from 0 on: .*X"):
        make(**GRADED).fit_files(tmp_path, target="y")


def test_files_that_change_are_noticed(folder, monkeypatch):
    monkeypatch.setattr(_parquet.ParquetTable, "take", lambda self, rows: _cut(self, folder))

    def _cut(files, folder):
        FRAME.assign(**LABELS).iloc[:5].to_parquet(folder / "3.parquet")
        return np.zeros((N, 2), np.float32)

    with pytest.raises(ValueError, match="the files changed while they were read"):
        make().fit_files(folder, target="label", features=["a", "b"])


@needs_callbacks
def test_callbacks_are_refused(folder):
    model = make().set_callbacks(Log())
    with pytest.raises(ValueError, match="needs a ranker without callbacks"):
        model.fit_files(folder, target="label", features=["a"])


def test_without_pyarrow_the_error_names_the_extra(folder, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'pip install "sklearn-rank\[parquet\]"'):
        make().fit_files(folder, target="label")
