"""Boosted trees: laws of the estimator with every engine, bad input, and what is stored."""

import copy
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from libraries import library
from oracles import definitions as oracles
from rankers import BOOSTERS
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score
from test_callbacks import Log, needs_callbacks
from test_persistence import COPIES
from tiers import crossed

from sklearn_rank import BoostedTreesRanker
from sklearn_rank.datasets import make_queries
from sklearn_rank.engines import _lightgbm, _xgboost, registry
from sklearn_rank.export.search_engines.tree_arrays import trees_of

LIBRARIES = ["xgboost", "lightgbm"]
ENGINES = [*LIBRARIES, "symmetric"]
lightgbm, xgboost = library("lightgbm"), library("xgboost")
every_engine = pytest.mark.parametrize("engine", ENGINES)
every_library = pytest.mark.parametrize("engine", LIBRARIES)

DATA = make_queries(n_queries=20, rows_per_query=6, n_features=4, random_state=0)
X, GRADES, QID = DATA.data, DATA.target, DATA.qid
RANDOM = np.random.default_rng(0)
Y = np.where(X[:, 0] * X[:, 1] + X[:, 2] + RANDOM.normal(size=len(X)) > 0, "yes", "no")
WEIGHT = RANDOM.integers(0, 3, len(X)).astype(float)
MISSING = np.where(RANDOM.random(X.shape) < 0.2, np.nan, X)
SPARSE = np.where(RANDOM.random(X.shape) < 0.6, 0.0, np.round(X, 1))
LETTERS = np.array(list("dacbe"))[RANDOM.integers(0, 5, len(X))]
FRAME = pd.DataFrame({"x": X[:, 0], "kind": pd.Categorical(LETTERS), "z": X[:, 2]})
"""With categories that are codes 0 to 4 when sorted."""

STOPPED = {"n_iter_no_change": 2, "validation_fraction": 0.3, "n_estimators": 12}
STOPPED |= {"refit_stopped": False}
DRAWN = {"subsample": 0.6, "colsample": 0.5}
WHOLE = {"subsample": 1.0, "colsample": 1.0}


def make(engine="auto", **parameters):
    few = {"n_estimators": 4, "max_depth": 3, "learning_rate": 0.1, "random_state": 0, **WHOLE}
    return BoostedTreesRanker(engine=engine, **{**few, **parameters})


def labels(relevance):
    return Y if relevance == "binary" else GRADES


def scores(model, rows):
    return model.decision_function(rows) if model.relevance == "binary" else model.predict(rows)


def assert_equal(model, other, rows):
    """Bit by bit: trees, offsets and curves."""
    np.testing.assert_array_equal(scores(model, rows), scores(other, rows))
    for name in ("objective_curve_", "staged_offsets_", "validation_scores_"):
        np.testing.assert_array_equal(vars(model).get(name, 0), vars(other).get(name, 0))


# Weights, order, threads -------------------------------------------------------------------

KINDS = {"dense": X, "missing": MISSING, "sparse": sparse.csr_array(SPARSE), "categories": FRAME}
OPTIONS = {"all": {}, "drawn": DRAWN, "stopped": STOPPED}


def copies_of_weights():
    """Every row as often as its weight says, in any order."""
    return RANDOM.permutation(np.repeat(np.arange(len(X)), WEIGHT.astype(int)))


def take(rows, chosen):
    return rows.iloc[chosen] if hasattr(rows, "iloc") else rows[chosen]


@crossed(kind=KINDS, engine=ENGINES, options=OPTIONS, tiers=("quick", "slow", "slow"))
def test_a_weight_is_a_number_of_copies(kind, engine, options):
    rows, model = kind, make(engine, **options)
    copies = copies_of_weights()
    weighted = clone(model).fit(rows, Y, sample_weight=WEIGHT)
    assert_equal(weighted, clone(model).fit(take(rows, copies), Y[copies]), rows)
    assert np.ptp(weighted.decision_function(rows)) > 0


@every_engine
@pytest.mark.parametrize("loss", ["exponential", "hinge", "cross_entropy"])
def test_a_weight_is_a_number_of_copies_in_a_query(engine, loss):
    model = make(engine, relevance="graded", loss=loss)
    copies = copies_of_weights()
    weighted = clone(model).fit(X, GRADES, qid=QID, sample_weight=WEIGHT)
    copied = clone(model).fit(X[copies], GRADES[copies], qid=QID[copies])
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), rtol=1e-7, atol=1e-9)


@crossed(options=OPTIONS, engine=ENGINES)
def test_the_order_of_the_rows_does_not_matter(options, engine):
    order, model = RANDOM.permutation(len(X)), make(engine, relevance="graded", **options)
    plain = clone(model).fit(MISSING, GRADES, qid=QID)
    other = clone(model).fit(MISSING[order], GRADES[order], qid=QID[order])
    assert_equal(plain, other, MISSING)


@crossed(
    options=list(OPTIONS),
    engine=ENGINES,
    loss=["exponential", "logistic"],
    tiers=("slow", "nightly", "nightly"),
)
def test_many_rows_on_two_threads_in_another_order(options, engine, loss):
    """More values than bins, and more rows than an engine gives to one thread."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6000, 6))
    rows[rng.random(rows.shape) < 0.1] = np.nan
    y = np.nan_to_num(rows[:, 0] * rows[:, 1] + rows[:, 2]) + rng.normal(size=6000) > 0
    model = make(engine, loss=loss, max_depth=5, **OPTIONS[options])
    alone, order = clone(model).fit(rows, y), rng.permutation(6000)
    assert_equal(alone, clone(model).set_params(n_jobs=2).fit(rows, y), rows)
    assert_equal(alone, clone(model).fit(rows[order], y[order]), rows)
    assert 0.6 < alone.score(rows, y) < 1
    seeded = clone(model).set_params(random_state=1).fit(rows, y)
    differs = not np.array_equal(seeded.decision_function(rows), alone.decision_function(rows))
    assert differs == (options != "all")


@every_engine
def test_sparse_is_dense(engine, monkeypatch):
    monkeypatch.setattr(_xgboost, "_BLOCK_VALUES", 50)  # blocks of twelve rows
    dense = make(engine, **DRAWN).fit(SPARSE, Y)
    for kind in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        model = make(engine, **DRAWN).fit(kind(SPARSE), Y)
        np.testing.assert_array_equal(scores(model, kind(SPARSE)), scores(dense, SPARSE))
        found, wanted = model.contributions(kind(SPARSE)), dense.contributions(SPARSE)
        np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_sparse_rows_whose_bins_xgboost_would_make_dense():
    """2e4 rows and features with 50 values a row; smaller or denser ones are taken."""
    n = 20_000
    rng = np.random.default_rng(0)
    places = (rng.random(50 * n), rng.integers(0, n, 50 * n), np.arange(0, 50 * n + 1, 50))
    rows = sparse.csr_array(places, shape=(n, n))
    y = rng.integers(0, 2, n)
    model = make("xgboost")
    with pytest.raises(ValueError, match=r"0\.4 GB .*20000 rows x 20000.*engine='lightgbm'"):
        model.fit(rows, y)
    assert not vars(model).get("n_iter_")
    model.fit(rows[:200, :500], np.arange(200) % 2)


# Memory ------------------------------------------------------------------------------------


def peak_above(X, fit):
    """The most memory that a call has at once, in sizes of X; that of the engine's own code
    is not counted."""
    fit()
    tracemalloc.start()
    try:
        fit()
        return tracemalloc.get_traced_memory()[1] / X.nbytes
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@every_library
@pytest.mark.parametrize(("options", "most"), [({}, 1.1), ({"n_iter_no_change": 5}, 1.4)])
def test_no_copy_of_the_features_beside_that_of_the_engine(engine, options, most, monkeypatch):
    """40 columns of 25,000 rows; index and sums of a row take about as much as 40 values."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(25_000, 40))
    y, qid = rng.integers(0, 3, 25_000), np.arange(25_000) // 50
    monkeypatch.setattr("sklearn_rank._core.selected._BLOCK_VALUES", 1 << 16)
    model = make(engine, relevance="graded", n_estimators=2, **options)
    if engine == "lightgbm":
        monkeypatch.setattr(_lightgbm, "_COPIES_OF_SAMPLE", 0)
        model.set_params(engine_params={"bin_construct_sample_cnt": 5000})
    assert peak_above(rows, lambda: model.fit(rows, y, qid=qid)) < most


# Kinds of input ----------------------------------------------------------------------------

INPUTS = {
    "fortran": np.asfortranarray,
    "list": lambda rows: rows.tolist(),
    "float32": lambda rows: rows.astype(np.float32),
    "int": lambda rows: rows.astype(np.int8),
    "object": lambda rows: rows.astype(object),
    "frame": lambda rows: pd.DataFrame(rows, index=range(7, 7 + len(rows))).rename(columns=str),
    "polars": lambda rows: pl.DataFrame(rows, schema=[f"n{j}" for j in range(rows.shape[1])]),
    "odd names": lambda rows: pd.DataFrame(rows, columns=["a[0]", "<b>", "x:y,\"'", "ü {é}"]),
}


@crossed(kind=INPUTS, engine=ENGINES)
def test_kinds_of_arrays(kind, engine):
    rows = np.round(4 * X)
    given = kind(rows)
    model, plain = make(engine).fit(given, Y), make(engine).fit(rows, Y)
    np.testing.assert_array_equal(scores(model, given), scores(plain, rows))
    np.testing.assert_array_equal(model.contributions(given), plain.contributions(rows))


SMALL = {
    "two rows": ([[0.0], [1.0]], [0, 1], None),
    "constant features": (np.ones((6, 2)), [0, 1, 0, 1, 1, 0], None),
    "a column of nothing": (np.column_stack([X[:6, 0], np.full(6, np.nan)]), [0, 1] * 3, None),
    "a query of one row": (X[:6], [0, 1, 0, 1, 1, 0], list("aabbbc")),
    "equal rows": (np.repeat(X[:2], 3, axis=0), [0, 0, 1, 1, 1, 0], None),
}


@crossed(
    case=SMALL,
    loss=["exponential", "logistic", "hinge", "ndcg"],
    engine=ENGINES,
    tiers=("quick", "slow", "slow"),
)
def test_small_data(case, loss, engine, capfd):
    rows, y, qid = case
    if engine == "symmetric" and loss == "ndcg":  # which is the libraries' own
        loss = "cross_entropy"
    for relevance in ("binary", "graded"):
        model = make(engine, loss=loss, relevance=relevance, min_child_weight=0)
        model.fit(rows, y, qid=qid)
        assert np.isfinite(scores(model, rows)).all()
        assert model.contributions(rows).shape == (len(y), np.shape(rows)[1] + 1)
        assert np.isin(model.feature_importances_.sum().round(12), (0, 1))
        assert len(list(model.staged_predict(rows))) == model.n_iter_
    assert capfd.readouterr() == ("", "")


@every_library
def test_leaves_are_limited(engine):
    full = make(engine, max_depth=None, max_leaf_nodes=None, min_child_weight=0).fit(X, Y)
    few = make(engine, max_depth=None, max_leaf_nodes=3, n_estimators=1).fit(X, Y)
    assert len(np.unique(few.decision_function(X))) == 3
    assert full.objective_curve_[-1] < few.objective_curve_[-1]


@pytest.mark.parametrize(("given", "least"), [(None, 6), (1, 1), (30, 30)])  # None: a twentieth
def test_leaves_of_lightgbm_have_enough_rows(given, least):
    model = make("lightgbm", min_samples_leaf=given, min_child_weight=0, n_estimators=1)
    model.set_params(max_depth=None, reg_lambda=0).fit(X, Y)
    counts = np.unique(model.decision_function(X), return_counts=True)[1]
    assert len(counts) > 1
    assert counts.min() >= least
    assert (counts.min() < 6) == (given == 1)


def test_a_limit_on_rows_counts_equal_rows_once():
    often = np.concatenate([np.arange(len(X)), np.arange(0, len(X), 3)])
    weight = 1.0 + (np.arange(len(X)) % 3 == 0)
    twice = make("lightgbm", min_samples_leaf=9).fit(X[often], Y[often])
    weighted = make("lightgbm", min_samples_leaf=9).fit(X, Y, sample_weight=weight)
    np.testing.assert_array_equal(twice.decision_function(X), weighted.decision_function(X))


def test_xgboost_cannot_limit_the_rows_of_a_leaf():
    with pytest.raises(ValueError, match=r"engine='xgboost' must be None: .*Got 5"):
        make("xgboost", min_samples_leaf=5).fit(X, Y)


@every_engine
def test_values_beyond_single_precision(engine):
    huge = X.copy()
    huge[3, 1] = 1e39
    for rows in (huge, sparse.csr_array(huge)):
        with pytest.raises(ValueError, match=r"values as large as 1e\+39.* single\s+precision"):
            make(engine).fit(rows, Y)
    huge[3, 1] = 3e38
    model = make(engine).fit(huge, Y)
    beyond = np.array([[1e39] * 4, [-1e39] * 4])
    clipped = np.clip(beyond, -3.4e38, 3.4e38)
    np.testing.assert_array_equal(scores(model, beyond), scores(model, clipped))
    sums = model.contributions(beyond).sum(axis=1)
    np.testing.assert_allclose(sums, scores(model, beyond), atol=1e-5)


# Silence -----------------------------------------------------------------------------------


@crossed(options={**OPTIONS, "ndcg": {"loss": "ndcg"}}, engine=LIBRARIES)
def test_silent(options, engine, capfd):
    for rows in (MISSING, sparse.csr_array(SPARSE), FRAME):
        model = make(engine, **options).fit(rows, Y, qid=QID)
        model.contributions(rows), model.predict(rows), list(model.staged_predict(rows))
    assert capfd.readouterr() == ("", "")


# Rounds ------------------------------------------------------------------------------------


@crossed(rows={"dense": X, "categories": FRAME}, engine=ENGINES, relevance=["binary", "graded"])
def test_stages_are_shorter_fits(rows, engine, relevance):
    y = labels(relevance)
    model = make(engine, relevance=relevance, **DRAWN).fit(rows, y)
    binary = relevance == "binary"
    stages = list(model.staged_decision_function(rows) if binary else model.staged_predict(rows))
    assert len(stages) == model.n_iter_ == 4
    for number, stage in enumerate(stages, start=1):
        short = clone(model).set_params(n_estimators=number).fit(rows, y)
        np.testing.assert_array_equal(stage, scores(short, rows))
    np.testing.assert_array_equal(stages[-1], scores(model, rows))
    *_, last = model.staged_predict(rows)
    np.testing.assert_array_equal(last, model.predict(rows))


@pytest.mark.parametrize("least", [4.0, 6.0])
def test_rounds_without_a_split_are_no_stages(least):
    """LightGBM keeps no tree of such a round, and later ones must not take its place."""
    model = make("lightgbm", subsample=0.3, min_child_weight=least, n_estimators=30).fit(X, Y)
    assert 1 < model.n_iter_ < 30
    assert model.booster_.current_iteration() == model.n_iter_ == len(model.objective_curve_)
    stages = np.array(list(model.staged_decision_function(X))) - model.staged_offsets_[:, None]
    # The first round's tree is kept, even without a split.
    assert (np.abs(np.diff(stages, axis=0)).max(axis=1) > 0).all()
    value = oracles.pair_mean(stages[-1], Y == "yes")
    assert value == pytest.approx(model.objective_curve_[-1], rel=1e-6)


# Contributions and importances -------------------------------------------------------------


@crossed(rows=KINDS, engine=ENGINES, relevance=["binary", "graded"])
def test_contributions_sum_to_scores(rows, engine, relevance):
    model = make(engine, relevance=relevance, n_estimators=20).fit(rows, labels(relevance))
    parts = model.contributions(rows)
    assert parts.shape == (len(X), rows.shape[1] + 1)
    np.testing.assert_allclose(parts.sum(axis=1), scores(model, rows), atol=1e-5)
    assert np.ptp(parts[:, -1]) == 0
    assert (model.feature_importances_ > 0).any()
    assert model.feature_importances_.sum() == pytest.approx(1, rel=1e-12)


# The engine's own objective ----------------------------------------------------------------


@every_library
@pytest.mark.parametrize(
    ("parameters", "y", "weight", "message"),
    [
        ({"p": 2}, GRADES, None, r"loss='ndcg' .* needs p=1 and push='top'. Got p=2"),
        ({}, GRADES, WEIGHT + 1, "loss='ndcg' of BoostedTreesRanker needs one weight per query"),
        ({}, GRADES / 2, None, "whole number from 0 to 31"),
        ({}, GRADES + 31, None, "whole number from 0 to 31"),
    ],
)
def test_ndcg_refuses(engine, parameters, y, weight, message):
    model = make(engine, loss="ndcg", relevance="graded", **parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, qid=QID, sample_weight=weight)


ORDER = np.argsort(QID, kind="stable")
SIZES = np.unique(QID, return_counts=True)[1]
OF_QUERY = 1.0 + np.arange(len(SIZES)) % 3
LIGHT = {"objective": "lambdarank", "num_leaves": 8, "max_depth": 3, "min_data_in_leaf": 7}
LIGHT |= {"min_data_in_bin": 1, "verbosity": -1, "num_threads": 1, "feature_pre_filter": False}
EXTREME = {"objective": "rank:ndcg", "max_depth": 3, "max_bin": 255, "base_score": 0.0}
EXTREME |= {"learning_rate": 0.1, "nthread": 1, "max_leaves": 31, "grow_policy": "lossguide"}


def of_lightgbm(y, params, **columns):
    """Scores of LightGBM's own model, of rows in the order of their queries."""
    rows = lightgbm.Dataset(X[ORDER], y[ORDER], group=SIZES, **columns)
    return lightgbm.train({**LIGHT, **params}, rows, 8).predict(X, raw_score=True)


def of_xgboost(y, params, order=ORDER, weight=None):
    rows = xgboost.QuantileDMatrix(X[order], label=y[order], qid=QID[order], max_bin=255)
    if weight is not None:
        rows.set_info(weight=weight)
    model = xgboost.train({**EXTREME, **params}, rows, 8)
    return model.predict(xgboost.DMatrix(X), output_margin=True)


def ndcg_scores(engine, y, params=None, mixed=False, **arrays):
    """Scores of the ranker; its rows come in the order of their queries, or mixed."""
    at_least = {"min_samples_leaf": 7} if engine == "lightgbm" else {}
    model = make(engine, loss="ndcg", relevance="graded", n_estimators=8, **at_least)
    model.set_params(engine_params=params)
    place = np.random.default_rng(1).permutation(len(X)) if mixed else ORDER
    arrays = {name: array[place] for name, array in arrays.items()}
    return model.fit(X[place], y[place], qid=QID[place], **arrays).predict(X)


def test_weights_of_queries_are_those_of_the_engines():
    weight = np.repeat(OF_QUERY, SIZES)
    by_row = np.empty(len(X))
    by_row[ORDER] = weight
    found = ndcg_scores("lightgbm", GRADES, sample_weight=by_row)
    np.testing.assert_allclose(found, of_lightgbm(GRADES, {}, weight=weight), rtol=1e-9)
    assert np.abs(found - of_lightgbm(GRADES, {})).max() > 0.01
    found = ndcg_scores("xgboost", GRADES, sample_weight=by_row)
    np.testing.assert_array_equal(found, of_xgboost(GRADES, {}, weight=OF_QUERY))
    assert np.abs(found - of_xgboost(GRADES, {})).max() > 0.01


def test_grades_and_gains_beyond_those_of_the_engines():
    gains = {"label_gain": list(range(60))}
    found = ndcg_scores("lightgbm", GRADES * 14, gains)
    np.testing.assert_allclose(found, of_lightgbm(GRADES * 14, gains), rtol=1e-9)
    as_text = {"label_gain": ",".join(map(str, range(60)))}
    np.testing.assert_array_equal(found, ndcg_scores("lightgbm", GRADES * 14, as_text))
    real = {"ndcg_exp_gain": False}
    found = ndcg_scores("xgboost", GRADES * 9.7, real)
    np.testing.assert_array_equal(found, of_xgboost(GRADES * 9.7, real))
    with pytest.raises(ValueError, match=r"BoostedTreesRanker.*less than the number of label map"):
        ndcg_scores("lightgbm", GRADES * 30, gains)
    for engine in ("xgboost", "lightgbm"):
        with pytest.raises(ValueError, match=r"whole number from 0 to 31.*'ndcg_exp_gain': False"):
            ndcg_scores(engine, GRADES * 9.7)
        with pytest.raises(ValueError, match=r"from -0\.5 to"):
            ndcg_scores(engine, GRADES - 0.5, real if engine == "xgboost" else gains)


SHOWN = np.empty(len(X), dtype=int)
SHOWN[ORDER] = np.concatenate([np.random.default_rng(n).permutation(n) + 1 for n in SIZES])


def test_positions_are_those_of_lightgbm():
    order = np.lexsort((SHOWN, QID))
    rows = lightgbm.Dataset(X[order], GRADES[order], group=SIZES, position=SHOWN[order])
    wanted = lightgbm.train(LIGHT, rows, 8).predict(X, raw_score=True)
    found = ndcg_scores("lightgbm", GRADES, position=SHOWN)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    assert np.abs(found - of_lightgbm(GRADES, {})).max() > 0.001


def test_positions_are_requested_by_default():
    with config_context(enable_metadata_routing=True):
        requests = BoostedTreesRanker().get_metadata_routing().fit.requests
    assert requests["position"] is requests["qid"] is True


def test_positions_are_the_order_of_rows_in_xgboost():
    unbiased = {"lambdarank_unbiased": True}
    wanted = of_xgboost(GRADES, unbiased, np.lexsort((SHOWN, QID)))
    np.testing.assert_array_equal(ndcg_scores("xgboost", GRADES, unbiased, position=SHOWN), wanted)
    assert np.abs(wanted - of_xgboost(GRADES, unbiased)).max() > 0.001


@every_library
def test_rows_that_come_mixed_keep_their_positions(engine):
    params = {"lambdarank_unbiased": True} if engine == "xgboost" else None
    model = make(engine, loss="ndcg", relevance="graded", engine_params=params)
    kept = np.arange(len(X)) % 7 > 0
    place = np.random.default_rng(1).permutation(len(X))
    columns = {"qid": QID[place], "position": SHOWN[place], "sample_weight": 1.0 * kept[place]}
    found = model.fit(X[place], GRADES[place], **columns).predict(X)
    rows = place[kept[place]]
    rows = rows[np.lexsort((SHOWN[rows], np.unique(QID[place], return_index=True)[1][QID[rows]]))]
    columns = {"qid": QID[rows], "position": SHOWN[rows]}
    wanted = model.fit(X[rows], GRADES[rows], **columns).predict(X)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize(
    ("engine", "loss", "position", "message"),
    [
        ("lightgbm", "logistic", SHOWN, "position of BoostedTreesRanker needs loss='ndcg'"),
        ("lightgbm", "ndcg", SHOWN - 1, r"whole number from 1.* Got 0\.0"),
        ("lightgbm", "ndcg", SHOWN[1:], "each of the 120 rows. Got 119 places"),
        ("xgboost", "ndcg", SHOWN, "only with engine_params={'lambdarank_unbiased': True}"),
    ],
)
def test_wrong_positions(engine, loss, position, message):
    model = make(engine, loss=loss, relevance="graded").fit(X, GRADES, qid=QID)
    before = model.predict(X)
    with pytest.raises(ValueError, match=message):
        model.fit(X, GRADES, qid=QID, position=position)
    np.testing.assert_array_equal(model.predict(X), before)


def root_counts(model):
    trees = model.booster_.dump_model()["tree_info"]
    return np.array([tree["tree_structure"]["internal_count"] for tree in trees])


def test_whole_queries_are_drawn_with_ndcg_or_refused():
    """The rows of a tree are whole queries of six rows."""
    drawn = {"subsample": 0.5, "engine_params": {"bagging_by_query": True}, "min_samples_leaf": 1}
    model = make("lightgbm", loss="ndcg", relevance="graded", **drawn).fit(X, GRADES, qid=QID)
    assert set(root_counts(model) % 6) == {0}
    assert root_counts(model).max() < len(X)
    model.set_params(loss="logistic")
    with pytest.raises(ValueError, match=r"'bagging_by_query': True} of .* needs loss='ndcg'"):
        model.fit(X, GRADES, qid=QID)
    model.set_params(engine_params={"bagging_by_query": False}).fit(X, GRADES, qid=QID)
    assert root_counts(model).max() < len(X)


def test_ndcg_of_a_list_too_long_for_lightgbm():
    rows = np.arange(10_001.0)[:, None]
    with pytest.raises(ValueError, match="10000"):
        make("lightgbm", loss="ndcg").fit(rows, rows[:, 0] > 5)


# Constraints -------------------------------------------------------------------------------


@crossed(engine=ENGINES, sign=[1, -1], given=["array", "dict"])
def test_monotonic_constraints(engine, sign, given):
    names = list("abcd")
    rows = pd.DataFrame(X, columns=names)
    constraint = {"c": sign} if given == "dict" else [0, 0, sign, 0]
    y = X[:, 2] + 2 * np.sin(4 * X[:, 2]) > 0
    parameters = {"n_estimators": 20, "min_child_weight": 0}
    free = make(engine, **parameters).fit(rows, y)
    model = make(engine, **parameters, monotonic_cst=constraint).fit(rows, y)
    line = pd.DataFrame(np.tile(X.mean(axis=0), (200, 1)), columns=names)
    line["c"] = np.linspace(-3, 3, 200)
    assert (np.diff(sign * model.decision_function(line)) >= 0).all()
    assert (np.diff(sign * free.decision_function(line)) < 0).any()


@every_engine
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1, 0], "must be -1, 0 or 1 for each of the 3 features"),
        ({"w": 1}, r"\['w'\], which are neither feature names"),
        ({"kind": 1}, r"must be 0 for categories.* categorical features \[1\]"),
    ],
    ids=str,
)
def test_wrong_constraints(engine, given, message):
    with pytest.raises(ValueError, match=f"monotonic_cst of BoostedTreesRanker.*{message}"):
        make(engine, monotonic_cst=given).fit(FRAME, Y)


# Categories --------------------------------------------------------------------------------

CODES = np.unique(LETTERS, return_inverse=True)[1]
TABLE = np.column_stack([X[:, 0], CODES, X[:, 2]])
OBJECTS = np.column_stack([X[:, 0].astype(object), LETTERS, X[:, 2].astype(object)])
POLARS = pl.DataFrame({"x": X[:, 0], "kind": LETTERS, "z": X[:, 2]})
ENUM = pl.Enum(sorted(set(LETTERS)))
CATEGORIES = {
    "pandas": (FRAME, "from_dtype"),
    "polars": (POLARS.with_columns(pl.col("kind").cast(pl.Categorical)), "from_dtype"),
    "polars enum": (POLARS.with_columns(pl.col("kind").cast(ENUM)), "from_dtype"),
    "names": (FRAME.astype({"kind": object}), ["kind"]),
    "index": (OBJECTS, [1]),
    "mask": (OBJECTS, [False, True, False]),
    "a list": (OBJECTS.tolist(), [1]),
    "codes": (TABLE, [1]),
    "single precision": (TABLE.astype(np.float32).astype(float), np.array([1])),
}


@every_engine
@pytest.mark.parametrize("kind", CATEGORIES)
def test_ways_to_say_categories(kind, engine):
    rows, given = CATEGORIES[kind]
    wanted = make(engine, n_estimators=10).fit(FRAME, Y)
    model = make(engine, n_estimators=10, categorical_features=given).fit(rows, Y)
    tolerance = 1e-6 if kind == "single precision" else 0
    np.testing.assert_allclose(scores(model, rows), scores(wanted, FRAME), rtol=0, atol=tolerance)
    numbers = make(engine, n_estimators=10, categorical_features=None).fit(TABLE, Y)
    assert not np.array_equal(scores(numbers, TABLE), scores(model, rows))


@every_engine
def test_categories_in_arrays_of_strings_and_of_whole_numbers(engine):
    letters = np.array(list("abcdefghijklmnop"))[RANDOM.integers(0, 16, (len(X), 2))]
    codes = np.unique(letters, return_inverse=True)[1].reshape(letters.shape)
    model = make(engine, categorical_features=[0, 1])
    wanted = scores(clone(model).fit(codes.astype(float), Y), codes.astype(float))
    for rows in (letters, letters.astype(object), codes, codes.astype(np.int8)):
        fitted = clone(model).fit(rows, Y)
        np.testing.assert_array_equal(scores(fitted, rows), wanted)
    unseen = np.full((1, 2), 99)
    missing = scores(fitted, np.full((1, 2), np.nan))
    np.testing.assert_array_equal(scores(fitted, unseen), missing)


def one_row(kind):
    """A row of FRAME with another category; None is missing."""
    return pd.DataFrame({"x": [0.1], "kind": pd.Categorical([kind], ["a", "new"]), "z": [0.2]})


@every_engine
def test_categories_unseen_or_missing(engine):
    y = np.where(LETTERS == "a", Y, "yes")
    model = make(engine, min_child_weight=0, n_estimators=20).fit(FRAME, y)
    missing = scores(model, one_row(None))
    rows = [one_row("new"), pd.DataFrame({"x": [0.1], "kind": [np.nan], "z": [0.2]})]
    rows += [pd.DataFrame({"x": [0.1], "kind": [7], "z": [0.2]})]
    rows += [pl.DataFrame({"x": [0.1], "kind": pl.Series([None], dtype=pl.String), "z": [0.2]})]
    for row in rows:
        np.testing.assert_array_equal(scores(model, row), missing)
    assert scores(model, one_row("a")) != missing


@every_engine
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_what_training_never_missed_goes_where_its_median_goes(engine, weight):
    rows = np.column_stack([X, MISSING[:, :1]])
    model = make(engine, max_depth=4, n_estimators=20)
    model.fit(rows, Y, sample_weight=weight)
    copies = rows if weight is None else np.repeat(rows, weight.astype(int), axis=0)
    medians = np.quantile(copies, 0.5, axis=0, method="inverted_cdf")
    for j in range(5):
        holes, filled = rows.copy(), rows.copy()
        holes[:, j], filled[:, j] = np.nan, medians[j]
        if j < 4:
            np.testing.assert_array_equal(scores(model, holes), scores(model, filled))
        parts = model.contributions(holes)
        np.testing.assert_allclose(parts.sum(axis=1), scores(model, holes), rtol=1e-4, atol=1e-5)
    for tree in trees_of(model):
        is_split = tree.feature >= 0
        np.testing.assert_array_equal(tree.is_neutral[is_split], tree.feature[is_split] < 4)


@pytest.mark.filterwarnings("ignore:The smooth margin stayed negative")
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("ranker", [*BOOSTERS, *ENGINES])
def test_a_new_missing_value_is_no_end_of_the_list(ranker, sign):
    random = np.random.default_rng(0)
    x = random.uniform(20, 80, 1000)
    y = random.random(1000) < 1 / (1 + np.exp((x - 45) / 6))
    rows = np.column_stack([sign * x, random.normal(size=1000)])
    model = BoostedTreesRanker(engine=ranker) if ranker in ENGINES else ranker()
    score = model.fit(rows, y).decision_function([[np.nan, 0.0]])
    share = np.mean(model.decision_function(rows) < score)
    assert share == pytest.approx(0.5, abs=0.25 if ranker in ENGINES else 0.2)


@every_engine
def test_missing_categories_in_training(engine):
    """None of polars is what NaN is in pandas: not a category of its own."""
    kinds = np.where(RANDOM.random(len(X)) < 0.3, None, LETTERS)
    frame = FRAME.assign(kind=pd.Categorical(kinds))
    polar = pl.DataFrame({"x": X[:, 0], "kind": pl.Series(kinds, dtype=pl.Categorical)})
    polar = polar.with_columns(z=X[:, 2])
    model, other = make(engine).fit(frame, Y), make(engine).fit(polar, Y)
    np.testing.assert_array_equal(scores(model, frame), scores(other, polar))
    np.testing.assert_array_equal(scores(model, one_row(None)), scores(model, one_row("new")))


@every_engine
@pytest.mark.parametrize(
    ("given", "rows", "message"),
    [
        ("kind", FRAME, "'categorical_features' parameter of BoostedTreesRanker must be"),
        ([3], TABLE, r"has \[3\], which are neither feature names nor"),
        (["w"], FRAME, r"has \['w'\], which are"),
        ([True], TABLE, "one boolean for each of the 3 features. Got 1"),
        ([1], sparse.csr_array(SPARSE), "need dense X. Got a sparse"),
        ([0], np.array([[1], ["a"]] * 60, dtype=object), "categories of one kind"),
    ],
    ids=str,
)
def test_wrong_categories(engine, given, rows, message):
    with pytest.raises(ValueError, match=message):
        make(engine, categorical_features=given).fit(rows, Y)


# Parameters of the engine ------------------------------------------------------------------


DECIDED = [(one, *pair) for one in LIBRARIES for pair in registry.ENGINES[one].own_names.items()]


@pytest.mark.parametrize(("engine", "name", "ours"), DECIDED)
def test_what_a_parameter_decides_is_refused_by_name(engine, name, ours):
    message = f"parameter '{ours}': set that" if ours else "can't be set"
    with pytest.raises(ValueError, match=f"engine_params .*'{name}'.*{message}"):
        make(engine, engine_params={name: 3}).fit(X, Y)


@pytest.mark.parametrize("name", ["bogus", "learning_rates"])
def test_the_engine_warns_of_parameters_that_it_does_not_know(name, capfd):
    with pytest.warns(UserWarning, match=rf'Parameters: {{ "{name}" }} are not used'):
        make("xgboost", engine_params={name: 1}).fit(X, Y)
    make("lightgbm", engine_params={name: 1}).fit(X, Y)
    assert f"Unknown parameter: {name}" in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("engine", "given"),
    [("xgboost", {"gamma": -1}), ("xgboost", {"alpha": "much"}), ("lightgbm", {"lambda_l1": -1})],
)
def test_errors_of_the_engine_name_the_parameter(engine, given):
    with pytest.raises(ValueError, match=f"engine_params=.*{next(iter(given))}.*{engine} says"):
        make(engine, engine_params=given).fit(X, Y)


@pytest.mark.parametrize(
    ("engine", "given"),
    [
        ("xgboost", {"reg_alpha": 5.0}),
        ("xgboost", {"num_parallel_tree": 2, "colsample_bynode": 0.5}),
        ("lightgbm", {"reg_alpha": 5.0}),
        ("lightgbm", {"extra_trees": True}),
        ("lightgbm", {"force_row_wise": True, "min_data_in_bin": 30}),
    ],
)
def test_other_parameters_reach_the_engine(engine, given):
    before = copy.deepcopy(given)
    model = make(engine, engine_params=given).fit(SPARSE, Y)
    assert given == before
    plain = make(engine).fit(SPARSE, Y)
    assert not np.array_equal(scores(model, SPARSE), scores(plain, SPARSE))
    *_, last = model.staged_decision_function(SPARSE)
    np.testing.assert_allclose(last, scores(model, SPARSE), rtol=1e-6, atol=1e-6)


def has_device(engine):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            make(engine, engine_params={"device": "cuda"}).fit(X, Y)
        except ValueError:
            return False
    return not told


@every_library
def test_the_user_hears_of_a_device_that_is_not_there(engine):
    if has_device(engine):
        pytest.skip("there is one")
    hears = {
        "lightgbm": pytest.raises(ValueError, match=r"params=\{'device': 'cuda'\} of Boosted"),
        # The build for GPUs and the small one say it in different words.
        "xgboost": pytest.warns(
            UserWarning, match="No visible GPU|from GPU to CPU|not compiled with CUDA"
        ),
    }
    with hears[engine]:
        make(engine, engine_params={"device": "cuda"}).fit(X, Y)


@every_library
def test_a_device_gives_the_same_scores(engine):
    """Random rows and features would be others."""
    if not has_device(engine):
        pytest.skip("needs a CUDA device, and an engine that is built for it")
    rows, y = make_classification(5000, flip_y=0.2, random_state=0)
    model = make(engine, n_estimators=50, subsample=1.0, colsample=1.0).fit(rows, y)
    other = clone(model).set_params(engine_params={"device": "cuda"}).fit(rows, y)
    np.testing.assert_allclose(scores(other, rows), scores(model, rows), rtol=0, atol=1e-4)


# Copies and state --------------------------------------------------------------------------


@crossed(kind=[kind for kind in COPIES if kind != "copy"], engine=ENGINES)
def test_copies_of_a_model_with_categories(kind, engine):
    model = make(engine).fit(FRAME, Y)
    model.predict(FRAME)  # the engine's object is there, and must not be copied
    found = COPIES[kind](model)
    np.testing.assert_array_equal(scores(found, FRAME), scores(model, FRAME))
    np.testing.assert_array_equal(scores(found, one_row("new")), scores(model, one_row("new")))
    np.testing.assert_array_equal(found.contributions(FRAME), model.contributions(FRAME))
    assert type(found.booster_) is type(model.booster_)
    assert found.booster_ is not model.booster_


@every_library
def test_the_booster_is_an_object_of_the_engine(engine):
    model = make(engine).fit(X, Y)
    kind = {"xgboost": xgboost, "lightgbm": lightgbm}[engine]
    assert isinstance(model.booster_, kind.Booster)
    assert model.booster_ is model.booster_


@every_library
def test_a_fitted_model_without_its_engine(engine, monkeypatch):
    model = COPIES["pickle"](make(engine).fit(X, Y))
    monkeypatch.setattr(registry, "_loaded", lambda name: (None, f"{name} is not there"))
    with pytest.raises(ImportError, match=f"of a fitted BoostedTreesRanker .*{engine} is not"):
        model.predict(X)


# Callbacks ---------------------------------------------------------------------------------


@needs_callbacks
@crossed(kind=list(KINDS), engine=ENGINES)
def test_a_callback_gets_rows_that_its_ranker_takes(kind, engine):
    rows, log = KINDS[kind], Log()
    model = make(engine).set_callbacks(log).fit(rows, Y)
    assert len(log.fitted) == 4
    stages = model.staged_decision_function(rows)
    for (so_far, seen, y, metadata), stage in zip(log.fitted, stages, strict=True):
        named = pd.DataFrame(seen, columns=FRAME.columns) if kind == "categories" else seen
        score = accuracy_score(y, so_far.predict(named), **metadata)
        assert score == np.mean((stage > 0) == (Y == "yes"))


# Searches ----------------------------------------------------------------------------------
