"""Rankers among scikit-learn's tools: routing, searches, data frames, storage, threads, stages."""

import threading
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from oracles import definitions as oracles
from oracles import metrics as oracles_metrics
from rankers import BOOSTERS, RANKERS, cheap
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, get_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import get_tags
from tiers import crossed

from sklearn_rank import (
    BoostedTreesRanker,
    KernelPairwiseSGDRanker,
    ListNetLinear,
    PNormPushRanker,
    RankBoost,
)
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank.datasets import make_queries
from sklearn_rank.estimators._boosting.problem import History
from sklearn_rank.metrics import auc_score

RELEVANCES = ["binary", "graded"]
TREE = DecisionTreeRegressor(max_depth=2)
WEAK_RANKERS = ["stump", "feature", TREE]
P_GRID = {"pnormpushranker__p": [1, 2, 4, 8]}

every_ranker = pytest.mark.parametrize("ranker", RANKERS)
every_booster = pytest.mark.parametrize("ranker", BOOSTERS)
every_relevance = pytest.mark.parametrize("relevance", RELEVANCES)
every_weak_ranker = pytest.mark.parametrize("weak_ranker", WEAK_RANKERS, ids=str)
MODES = [("binary", False), ("binary", True), ("graded", True)]
binary_and_queries = pytest.mark.parametrize(("relevance", "with_qid"), MODES)

# The smooth margin ranker says so when the pairs cannot all be ordered.
pytestmark = pytest.mark.filterwarnings("ignore:The smooth margin stayed negative")

QUERIES = make_queries(n_queries=15, rows_per_query=8, n_features=4, random_state=0)
X, QID = QUERIES.data, QUERIES.qid
LABELS = {"binary": np.where(QUERIES.target > 0, "yes", "no"), "graded": QUERIES.target}
GRADES = {"binary": (QUERIES.target > 0).astype(int), "graded": QUERIES.target}
WEIGHT = np.random.default_rng(0).integers(0, 4, len(QID)).astype(float)


def make(ranker=RankBoost, relevance="binary", **parameters):
    return ranker(relevance=relevance, **{**cheap(ranker, 10), **parameters})


def ids(with_qid):
    return QID if with_qid else None


def fitted(ranker=RankBoost, relevance="binary", with_qid=False, **parameters):
    model = make(ranker, relevance, **parameters)
    return model.fit(X, LABELS[relevance], qid=ids(with_qid))


def scores(model, X=X):
    """Scores of a ranker or of a pipeline that ends in one."""
    final = model[-1] if hasattr(model, "steps") else model
    return model.predict(X) if final.relevance == "graded" else model.decision_function(X)


def is_same(model, other, X=X):
    np.testing.assert_array_equal(scores(model, X), scores(other, X))


# Searches and routing -----------------------------------------------------------------


def auc_of_each_fold(model, relevance, splits, qid=None, weight=None):
    """Fit a clone on each training part and score the other part by the definition."""
    aucs = []
    for train, test in splits:
        part = clone(model)
        options = {
            f"{part.steps[-1][0]}__{name}": array[train]
            for name, array in [("qid", qid), ("sample_weight", weight)]
            if array is not None
        }
        with config_context(enable_metadata_routing=False):
            part.fit(X[train], LABELS[relevance][train], **options)
        test_qid, test_weight = (None if a is None else a[test] for a in (qid, weight))
        grades = GRADES[relevance][test]
        aucs.append(oracles.auc(scores(part, X[test]), grades, test_qid, test_weight))
    return aucs


def assert_cv_scores_are_aucs(search, pipe, relevance, splits, **options):
    for number, candidate in enumerate(search.cv_results_["params"]):
        model = clone(pipe).set_params(**candidate)
        expected = auc_of_each_fold(model, relevance, splits, **options)
        found = [search.cv_results_[f"split{k}_test_score"][number] for k in range(len(splits))]
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert len({tuple(c.values()) for c in search.cv_results_["params"]}) == 4


@pytest.mark.slow
@every_relevance
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["queries", "weights besides"])
def test_a_search_takes_qid_once_and_weights_on_request(relevance, weight):
    ranker, options = make(PNormPushRanker, relevance), {"qid": QID}
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), ranker)
        if weight is not None:
            options["sample_weight"] = weight
            ranker.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
            pipe[0].set_fit_request(sample_weight=False)
        folds = GroupKFold(3).set_split_request(groups="qid")
        search = GridSearchCV(pipe, P_GRID, cv=folds, error_score="raise")
        search.fit(X, LABELS[relevance], **options)
        score = search.score(X, LABELS[relevance], **options)
    splits = list(GroupKFold(3).split(X, groups=QID))
    assert_cv_scores_are_aucs(search, pipe, relevance, splits, qid=QID, weight=weight)
    best = scores(search.best_estimator_)
    assert score == pytest.approx(oracles.auc(best, GRADES[relevance], QID, weight), rel=1e-12)


@pytest.mark.slow
@every_ranker
@every_relevance
def test_qid_is_requested_by_default(ranker, relevance):
    with config_context(enable_metadata_routing=True):
        requests = clone(ranker(relevance=relevance)).get_metadata_routing()
        model, folds = make(ranker, relevance), GroupKFold(3).set_split_request(groups="qid")
        options = {"params": {"qid": QID}, "cv": folds, "error_score": "raise"}
        found = cross_validate(model, X, LABELS[relevance], **options)
    assert requests.fit.requests["qid"] is True
    assert requests.score.requests["qid"] is True
    assert np.isfinite(found["test_score"]).all()


@every_ranker
@binary_and_queries
def test_score_is_the_auc_within_queries(ranker, relevance, with_qid):
    model, qid = fitted(ranker, relevance, with_qid), ids(with_qid)
    expected = oracles.auc(scores(model), GRADES[relevance], qid, WEIGHT)
    found = model.score(X, LABELS[relevance], qid=qid, sample_weight=WEIGHT)
    assert found == pytest.approx(expected, rel=1e-12)
    assert type(found) is float


@binary_and_queries
@pytest.mark.parametrize("score_p", [1, 4, np.inf])
def test_score_p_is_one_metric_for_every_p(relevance, with_qid, score_p):
    model = fitted(PNormPushRanker, relevance, with_qid, score_p=score_p, p=2)
    qid = ids(with_qid)
    loss = oracles_metrics.push_loss(GRADES[relevance], scores(model), score_p, qid, WEIGHT)
    found = model.score(X, LABELS[relevance], qid=qid, sample_weight=WEIGHT)
    assert found == pytest.approx(1 - loss, rel=1e-12)


@every_ranker
def test_tags_follow_relevance_before_fit(ranker):
    assert is_classifier(ranker(relevance="binary"))
    assert get_tags(ranker(relevance="binary")).classifier_tags.multi_class is False
    assert get_tags(ranker(relevance="graded")).estimator_type == "ranker"


@every_booster
def test_tags_follow_the_weak_ranker(ranker):
    assert get_tags(ranker(weak_ranker="stump")).input_tags.allow_nan
    assert get_tags(ranker(weak_ranker="feature")).input_tags.sparse


def test_tags_follow_the_kernel():
    tags = {
        kernel: get_tags(KernelPairwiseSGDRanker(kernel=kernel)).input_tags
        for kernel in ("rbf", "linear", "precomputed", "chi2", np.dot)
    }
    assert not any(one.allow_nan for one in tags.values())
    assert [kernel for kernel, one in tags.items() if one.sparse] == ["rbf", "linear"]
    assert [kernel for kernel, one in tags.items() if one.pairwise] == ["precomputed"]
    assert [kernel for kernel, one in tags.items() if one.positive_only] == ["chi2"]


# Storage, data frames, names ----------------------------------------------------------


FRAMES = {"pandas": (pd.DataFrame, pd.Series), "polars": (pl.DataFrame, pl.Series)}
NAMES = ["a", "b", "c", "d"]


@pytest.mark.slow
@every_ranker
@binary_and_queries
@pytest.mark.parametrize("frame", FRAMES)
def test_data_frames_are_arrays_with_names(ranker, relevance, with_qid, frame):
    DataFrame, Series = FRAMES[frame]
    table = DataFrame(dict(zip(NAMES, X.T, strict=True)))
    y, weight = Series(LABELS[relevance].tolist()), Series(WEIGHT.tolist())
    qid = Series([f"q{q}" for q in QID]) if with_qid else None
    model = make(ranker, relevance).fit(table, y, qid=qid, sample_weight=weight)
    assert model.feature_names_in_.tolist() == NAMES
    plain = make(ranker, relevance)
    plain.fit(X, LABELS[relevance], qid=ids(with_qid), sample_weight=WEIGHT)
    np.testing.assert_allclose(scores(model, table), scores(plain), rtol=1e-12)
    assert model.score(table, y, qid=qid, sample_weight=weight) == pytest.approx(
        plain.score(X, LABELS[relevance], qid=ids(with_qid), sample_weight=WEIGHT)
    )
    assert not hasattr(plain, "feature_names_in_")


@pytest.mark.slow
@every_ranker
def test_names_that_fit_did_not_see_are_warned_of(ranker):
    """Other names, and their order, are in scikit-learn's own checks."""
    with pytest.warns(UserWarning, match="fitted without feature names"):
        fitted(ranker).predict(pd.DataFrame(X, columns=NAMES))


# Consumers: what takes a classifier takes a ranker ------------------------------------

BINARY_Y = GRADES["binary"]


@pytest.mark.slow
@every_ranker
def test_scorers(ranker):
    model = make(ranker).fit(X, BINARY_Y)
    decision = model.decision_function(X)
    assert get_scorer("roc_auc")(model, X, BINARY_Y) == roc_auc_score(BINARY_Y, decision)
    assert model.score(X, BINARY_Y) == pytest.approx(roc_auc_score(BINARY_Y, decision))
    precision = get_scorer("average_precision")(model, X, BINARY_Y)
    assert precision == average_precision_score(BINARY_Y, decision)
    assert get_scorer("accuracy")(model, X, BINARY_Y) == np.mean((decision > 0) == BINARY_Y)
    assert cross_val_score(make(ranker), X, BINARY_Y, scoring="roc_auc", cv=3).min() > 0.5


@pytest.mark.slow
@every_ranker
def test_calibration(ranker):
    model = CalibratedClassifierCV(make(ranker), cv=3, ensemble=False).fit(X, BINARY_Y)
    probability = model.predict_proba(X)[:, 1]
    # A sigmoid of the scores: the same order, and the share of the upper class on average.
    np.testing.assert_array_equal(
        np.argsort(probability, kind="stable"), np.argsort(scores(fitted(ranker)), kind="stable")
    )
    assert probability.mean() == pytest.approx(BINARY_Y.mean(), abs=0.1)


WITH_IMPORTANCES = [
    *(
        (ranker, {"weak_ranker": one, "n_estimators": 30})
        for ranker in BOOSTERS
        for one in ("stump", "feature")
    ),
    (KernelPairwiseSGDRanker, {"kernel": "linear"}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("ranker", "parameters"), WITH_IMPORTANCES, ids=str)
def test_feature_selection(ranker, parameters):
    model = make(ranker, **parameters)
    wide = np.random.default_rng(0).normal(size=(len(X), 4))
    wide[:, 1] += 3 * BINARY_Y
    assert SelectFromModel(model, max_features=1).fit(wide, BINARY_Y).get_support()[1]
    assert RFE(model, n_features_to_select=1).fit(wide, BINARY_Y).get_support()[1]


# Threads ------------------------------------------------------------------------------


def large(n_rows=80_000, n_features=3, relevance="binary", with_missing=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    y = np.digitize(X[:, 0] + rng.normal(size=n_rows), [0, 1] if relevance == "graded" else [0])
    if with_missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return SimpleNamespace(X=X, y=y, qid=rng.integers(0, 100, n_rows))


def assert_bitwise_equal(model, other, X):
    np.testing.assert_array_equal(model.estimator_weights_, other.estimator_weights_)
    np.testing.assert_array_equal(model.objective_curve_, other.objective_curve_)
    is_same(model, other, X)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_errors_of_helpers_reach_the_caller(error):
    meeting = threading.Barrier(2, timeout=30)

    def task(number):
        meeting.wait()
        if threading.current_thread() is not threading.main_thread():
            raise error("from a helper")

    with pytest.raises(error, match="from a helper"), ThreadPool(2).running() as threads:
        threads.map(task, 2)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failed_fit_leaves_no_thread_behind(error, monkeypatch):
    def fail(*_):
        raise error("in the first round")

    monkeypatch.setattr(History, "add", fail)
    before = set(threading.enumerate())
    with pytest.raises(error, match="in the first round"):
        make(n_jobs=3).fit(X, BINARY_Y)
    for helper in set(threading.enumerate()) - before:
        helper.join(timeout=30)
        assert not helper.is_alive()


@pytest.mark.slow
@every_booster
@binary_and_queries
def test_threads_change_nothing(ranker, relevance, with_qid):
    data = large(relevance=relevance, with_missing=True)
    options = {"n_estimators": 6, "random_state": 0}
    qid = data.qid if with_qid else None
    models = [make(ranker, relevance, n_jobs=n, **options) for n in (1, 2)]
    assert_bitwise_equal(*(one.fit(data.X, data.y, qid=qid) for one in models), data.X)


# Stages, curves, importances, offset --------------------------------------------------


@pytest.mark.slow
@every_booster
@every_weak_ranker
@every_relevance
def test_stages(ranker, weak_ranker, relevance):
    model = fitted(ranker, relevance, weak_ranker=weak_ranker)
    predictions = list(model.staged_predict(X))
    assert len(predictions) == model.n_iter_ == len(model.estimator_weights_) > 1
    assert len(model.objective_curve_) == model.n_iter_
    for rounds, prediction in enumerate(predictions, start=1):
        shorter = fitted(ranker, relevance, weak_ranker=weak_ranker, n_estimators=rounds)
        if relevance == "binary":
            np.testing.assert_array_equal(prediction, shorter.predict(X))
        else:
            np.testing.assert_allclose(prediction, shorter.predict(X), rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@every_booster
@every_weak_ranker
@pytest.mark.parametrize("with_qid", [False, True])
def test_staged_decision_functions(ranker, weak_ranker, with_qid):
    model = fitted(ranker, with_qid=with_qid, weak_ranker=weak_ranker)
    stages = list(model.staged_decision_function(X))
    assert len(stages) == len(model.staged_offsets_) == model.n_iter_
    np.testing.assert_allclose(stages[-1], model.decision_function(X), rtol=1e-9, atol=1e-12)
    assert model.staged_offsets_[-1] == model.offset_
    for decision, offset, labels in zip(
        stages, model.staged_offsets_, model.staged_predict(X), strict=True
    ):
        if ranker is PNormPushRanker:  # at p > 1 the error cut
            best = oracles.error_cut(np.round(decision - offset, 9), BINARY_Y)[1]
            fewest = min(best, BINARY_Y.sum(), (1 - BINARY_Y).sum())
            assert oracles.cut_error(0.0, decision, BINARY_Y) == fewest
        else:
            assert offset == pytest.approx(oracles.f_skew_offset(decision - offset, BINARY_Y))
        np.testing.assert_array_equal(labels == "yes", decision > 0)


@every_booster
def test_stages_are_checked_like_predictions(ranker):
    with pytest.raises(NotFittedError):
        next(make(ranker).staged_predict(X))
    with pytest.raises(ValueError, match="features"):
        next(fitted(ranker).staged_predict(X[:, :2]))
    assert not hasattr(make(ranker, "graded"), "staged_decision_function")


@pytest.mark.slow
@every_booster
@every_weak_ranker
@binary_and_queries
def test_importances_sum_to_one(ranker, weak_ranker, relevance, with_qid):
    model = fitted(ranker, relevance, with_qid, weak_ranker=weak_ranker)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.feature_importances_.min() >= 0
    assert hasattr(model, "coef_") == (weak_ranker == "feature")


# Warm start ---------------------------------------------------------------------------

CURVES = ["objective_curve_", "staged_offsets_", "margin_curve_", "smooth_margin_curve_"]
RANDOM_TREE = DecisionTreeRegressor(max_depth=2, splitter="random")


def assert_continues(model, X, y, **options):
    """Assert that 10 rounds and 10 more are 20 rounds."""
    once = clone(model).set_params(n_estimators=20).fit(X, y, **options)
    twice = clone(model).set_params(n_estimators=10, warm_start=True).fit(X, y, **options)
    assert twice.n_iter_ == 10
    twice.set_params(n_estimators=20).fit(X, y, **options)
    assert twice.n_iter_ == once.n_iter_ == 20
    for name in ["estimator_weights_", "feature_importances_", *CURVES]:
        if hasattr(once, name):
            expected = getattr(once, name)
            np.testing.assert_allclose(getattr(twice, name), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(scores(twice, X), scores(once, X), rtol=1e-9, atol=1e-9)


@crossed(
    ranker=BOOSTERS,
    weak_ranker=[*WEAK_RANKERS, RANDOM_TREE],
    mode=MODES,
    tiers=("slow", "slow", "nightly"),
)
def test_warm_start_continues(ranker, weak_ranker, mode):
    relevance, with_qid = mode
    model = make(ranker, relevance, weak_ranker=weak_ranker, random_state=0, tol=0)
    assert_continues(model, X, LABELS[relevance], qid=ids(with_qid), sample_weight=WEIGHT)


@pytest.mark.slow
@pytest.mark.parametrize("p", [1, 8, np.inf])
def test_warm_start_of_lbfgs_goes_on_from_the_last_fit(p):
    model = make(PNormPushRanker, solver="lbfgs", alpha=1.0, p=p, n_estimators=200)
    model.set_params(warm_start=True).fit(X, BINARY_Y)
    before, decision = model.objective_curve_[-1], model.decision_function(X)
    model.fit(X, BINARY_Y)
    assert model.objective_curve_[-1] <= before + 1e-12
    np.testing.assert_allclose(model.decision_function(X), decision, atol=0.1)


@every_booster
@every_relevance
def test_warm_start_refuses_another_problem(ranker, relevance):
    y = LABELS[relevance]
    model = fitted(ranker, relevance, warm_start=True)
    before = scores(model)
    with pytest.raises(ValueError, match=r"shape of X: .*with \(120, 4\). Got \(119, 4"):
        model.fit(X[1:], y[1:])
    with pytest.raises(ValueError, match=r"shape of X: .*with \(120, 4\). Got \(120, 3"):
        model.fit(X[:, 1:], y)
    with pytest.raises(ValueError, match=r"only add rounds: n_estimators=5 is less than the 10"):
        model.set_params(n_estimators=5).fit(X, y)
    np.testing.assert_array_equal(scores(model), before)
    is_same(model.set_params(n_estimators=10).fit(X, y), fitted(ranker, relevance))


@every_weak_ranker
@every_booster
def test_warm_start_refuses_columns_in_another_order(ranker, weak_ranker):
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = ranker(weak_ranker=weak_ranker, n_estimators=3, warm_start=True)
    model.fit(frame, BINARY_Y)
    before = scores(model, frame)
    with pytest.raises(ValueError, match=r"same names of features: .*'a', 'b'.* Got \['d', 'c'"):
        model.set_params(n_estimators=4).fit(frame[list("dcba")], BINARY_Y)
    np.testing.assert_array_equal(scores(model, frame), before)
    model.fit(frame, BINARY_Y)


# Early stopping -----------------------------------------------------------------------


def stopped(ranker, relevance, with_qid, **parameters):
    options = {"n_iter_no_change": 3, "validation_fraction": 0.3, "random_state": 0, "tol": 1e-9}
    options |= {"n_estimators": 200, "learning_rate": 0.5, "refit_stopped": False, **parameters}
    return fitted(ranker, relevance, with_qid, **options)


def row_set(data):
    return {row.tobytes() for row in data.X}


@pytest.mark.slow
@every_booster
@every_relevance
def test_early_stopping_holds_out_whole_queries(ranker, relevance, seen):
    stopped(ranker, relevance, with_qid=True)
    assert not set(seen.train.qid) & set(seen.held_out.qid)
    assert row_set(seen.train) | row_set(seen.held_out) == row_set(seen.all)
    assert len(seen.train.y) + len(seen.held_out.y) == len(X)
    assert len(set(seen.held_out.qid)) == round(0.3 * len(set(QID)) + 0.5)


@pytest.mark.slow
@every_booster
@every_relevance
def test_early_stopping_holds_out_rows_of_every_class(ranker, relevance, seen):
    stopped(ranker, relevance, with_qid=False)
    assert not row_set(seen.train) & row_set(seen.held_out)
    assert len(seen.held_out.y) == 36
    for level in np.unique(seen.all.y):
        share = np.mean(seen.all.y == level)
        assert np.mean(seen.held_out.y == level) == pytest.approx(share, abs=1 / 36)


# Messages -----------------------------------------------------------------------------


MANY = {"n_estimators": 40, "tol": 0}
SAYS_STEPS = [
    *((ranker, MANY, "round 40/40") for ranker in BOOSTERS),
    (BoostedTreesRanker, {"n_estimators": 40}, "round 40/40"),
    (PNormPushRanker, {**MANY, "solver": "corrective", "alpha": 0.1}, "round 40/40"),
    (PNormPushRanker, {**MANY, "solver": "lbfgs", "alpha": 0.1}, "round 40/40"),
    (KernelPairwiseSGDRanker, {"tol": 0, "max_iter": 20, "solver": "gd"}, "iteration 20/20"),
    (KernelPairwiseSGDRanker, {"tol": 0, "max_iter": 20, "solver": "lbfgs"}, "iteration 20/20"),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("ranker", "parameters", "last"), SAYS_STEPS)
@pytest.mark.parametrize("verbose", [0, False, 1, 2])
def test_verbose(ranker, parameters, last, verbose, capsys):
    model = fitted(ranker, **parameters, verbose=verbose)
    lines = capsys.readouterr().out.splitlines()
    step, number = last.split()
    assert len(lines) == {0: 0, 1: 11, 2: int(number.split("/")[0])}[int(verbose)]
    assert all(line.startswith(f"[{ranker.__name__}] {step} ") for line in lines)
    if lines:
        assert f"{last}: objective {model.objective_curve_[-1]:.6g}" in lines[-1]


# Sparse and missing -------------------------------------------------------------------

SPARSE = [sparse.csr_array, sparse.csc_matrix, sparse.coo_array]


@pytest.mark.slow
@every_booster
@binary_and_queries
@pytest.mark.parametrize("container", SPARSE)
def test_sparse_features_are_dense_features(ranker, relevance, with_qid, container):
    holes, qid = np.where(X > 0.3, X, 0.0), ids(with_qid)
    dense, thin = (make(ranker, relevance, weak_ranker="feature") for _ in range(2))
    dense.fit(holes, LABELS[relevance], qid=qid, sample_weight=WEIGHT)
    thin.fit(container(holes), LABELS[relevance], qid=qid, sample_weight=WEIGHT)
    np.testing.assert_allclose(thin.coef_, dense.coef_, rtol=1e-9)
    np.testing.assert_allclose(scores(thin, container(holes)), scores(dense, holes), rtol=1e-9)
    last = list(thin.staged_predict(container(holes)))[-1]
    assert len(last) == len(X)


@every_booster
@binary_and_queries
@pytest.mark.parametrize("max_bins", [3, 64])
def test_missing_values_follow_the_rules(ranker, relevance, with_qid, max_bins):
    """Scores are the sums of the rules, with NaN on the side that the rule says."""
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X)
    model = make(ranker, relevance, max_bins=max_bins, n_estimators=20)
    model.fit(holes, LABELS[relevance], qid=ids(with_qid))
    rules = model.weak_rankers_
    assert rules.missing_right.any()
    assert not rules.missing_right.all()
    unseen = np.random.default_rng(1).permuted(holes, axis=0)
    expected = model.offset_ if relevance == "binary" else 0.0
    by_round = zip(rules.feature, rules.threshold, rules.missing_right, strict=True)
    for weight, rule in zip(model.estimator_weights_, by_round, strict=True):
        expected = expected + weight * oracles.apply_stump(unseen, *rule)
    np.testing.assert_allclose(scores(model, unseen), expected, rtol=1e-9, atol=1e-9)


@every_booster
@every_relevance
def test_missing_values_that_fit_never_saw_contribute_nothing(ranker, relevance):
    model = fitted(ranker, relevance)
    holes = np.where(np.eye(4, dtype=bool), np.nan, X[:4])
    parts = model.contributions(np.vstack([holes, np.full(4, np.nan)]))
    np.testing.assert_allclose(np.diag(parts[:4]), 0.0, atol=1e-12)
    np.testing.assert_allclose(parts[-1, :-1], 0.0, atol=1e-12)
    for rows in (holes, X):  # the rules, their sums and single features agree
        steps = list(model.weak_rankers_.staged_scores(rows, model.estimator_weights_))[-1]
        offset = model.offset_ if relevance == "binary" else 0.0
        np.testing.assert_allclose(steps + offset, scores(model, rows), rtol=1e-9, atol=1e-9)


# Estimators as weak rankers -----------------------------------------------------------

LEARNERS = [
    DecisionTreeRegressor(max_depth=2, max_features=1),
    DecisionTreeClassifier(max_depth=2, max_features=1),
    LogisticRegression(),
]


@crossed(ranker=BOOSTERS, learner=LEARNERS, mode=MODES, tiers=("slow", "nightly", "nightly"))
def test_estimators_as_weak_rankers(ranker, learner, mode):
    relevance, with_qid = mode
    models = [
        fitted(ranker, relevance, with_qid, weak_ranker=learner, random_state=seed)
        for seed in (0, 0, 1)
    ]
    is_same(models[0], models[1])
    if "random_state" in learner.get_params() and hasattr(learner, "max_features"):
        assert np.any(scores(models[0]) != scores(models[2]))
    curve = models[0].objective_curve_
    assert np.all(np.diff(curve) < 0)
    assert auc_score(GRADES[relevance], scores(models[0]), qid=ids(with_qid)) > 0.65


def test_tree_weak_rankers_see_what_stumps_cannot():
    """Exclusive or: no sum of functions of one feature orders the four corners."""
    corners = np.tile([[0.0, 0], [0, 1], [1, 0], [1, 1]], (10, 1))
    y = (corners.sum(axis=1) == 1).astype(int)
    with pytest.warns(ConvergenceWarning, match="no weak ranker"):
        assert make(weak_ranker="stump").fit(corners, y).score(corners, y) == 0.5
    y[0] = 1  # exactly balanced corners give a greedy tree no first split
    tree = make(weak_ranker=DecisionTreeRegressor(max_depth=2), random_state=0).fit(corners, y)
    assert tree.score(corners, y) > 0.95


# What early stopping holds out --------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["none", "integers", "reals", "one light row"])
def test_held_out_rows_are_not_learned_from(weights, seen):
    """Labels are noise: a held-out score far above one half would be a leak."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1000, 20)), rng.integers(0, 2, 1000)
    weight = {
        "none": None,
        "integers": rng.integers(1, 51, 1000),
        "reals": rng.exponential(size=1000),
        "one light row": np.append(1e-3, np.ones(999)),
    }[weights]
    X[500:700] = X[:200]  # the same row twice, also of the other class
    model = RankBoost(n_estimators=200, n_iter_no_change=5, random_state=0)
    model.fit(X, y, sample_weight=weight)
    assert model.validation_scores_.max() < 0.65
    train = {(*row, label) for row, label in zip(seen.train.X, seen.train.y, strict=True)}
    held_out = {(*row, label) for row, label in zip(seen.held_out.X, seen.held_out.y, strict=True)}
    assert not train & held_out
    assert 0.05 < len(seen.held_out.y) / 1000 < 0.15


@pytest.mark.slow
@every_relevance
def test_early_stopping_takes_weights_as_multiplicities(relevance):
    rng = np.random.default_rng(1)
    y, times = LABELS[relevance], rng.integers(1, 4, len(X))
    order = rng.permutation(times.sum())
    model = make(RankBoost, relevance, n_estimators=60, n_iter_no_change=3, random_state=0)
    weighted = clone(model).fit(X, y, sample_weight=times)
    repeated = clone(model).fit(np.repeat(X, times, 0)[order], np.repeat(y, times)[order])
    np.testing.assert_allclose(scores(repeated), scores(weighted), rtol=1e-9)
    assert weighted.n_iter_ < 60


# Categories without one-hot encoding --------------------------------------------------

LETTERS = np.tile(list("abcdef"), 20)
HAS_LETTER = np.isin(LETTERS, ["b", "e"])
LETTER_FRAME = pd.DataFrame({"number": X[:, 0], "letter": pd.Categorical(LETTERS)})
TAKE_CATEGORIES = [*BOOSTERS, BoostedTreesRanker]
one_of_a_kind = pytest.mark.parametrize("ranker", TAKE_CATEGORIES)


def scaled(ranker, output="pandas"):
    columns = make_column_transformer(
        (StandardScaler(), ["number"]), remainder="passthrough", verbose_feature_names_out=False
    )
    return make_pipeline(columns.set_output(transform=output), make(ranker))


@one_of_a_kind
def test_categories_go_through_pipelines_and_searches(ranker):
    frame, pipe = LETTER_FRAME, scaled(ranker)
    step = ranker.__name__.lower()
    search = GridSearchCV(pipe, {f"{step}__n_estimators": [2, 4]}, cv=2, error_score="raise")
    search.fit(frame, HAS_LETTER)
    assert search.best_score_ == 1.0
    as_polars = pl.DataFrame(
        {"number": X[:, 0], "letter": pl.Series(LETTERS, dtype=pl.Categorical)}
    )
    found = make(ranker).fit(as_polars, HAS_LETTER).decision_function(as_polars)
    expected = make(ranker).fit(frame, HAS_LETTER).decision_function(frame)
    np.testing.assert_array_equal(found, expected)


@one_of_a_kind
def test_a_category_that_is_unseen_is_missing(ranker):
    pipe = scaled(ranker).fit(LETTER_FRAME, HAS_LETTER)
    new = LETTER_FRAME.iloc[:2].assign(letter=pd.Categorical(["unseen", None]), number=0.0)
    unseen, missing = pipe.decision_function(new)
    assert unseen == missing


@one_of_a_kind
def test_text_in_an_array_says_how_it_becomes_a_category(ranker):
    message = r"could not convert string .*categorical_features.*set_output\(transform='pandas'\)"
    with pytest.raises(ValueError, match=message):
        scaled(ranker, "default").fit(LETTER_FRAME, HAS_LETTER)


NUMBERS_ONLY = [ListNetLinear(relevance="binary"), KernelPairwiseSGDRanker()]
NUMBERS_ONLY += [RankBoost(weak_ranker="feature"), PNormPushRanker(solver="lbfgs")]


@pytest.mark.parametrize("model", NUMBERS_ONLY, ids=str)
def test_who_takes_no_categories_names_the_encoder(model):
    message = r"Column 'letter' of X must hold numbers .*OneHotEncoder in a ColumnTransformer"
    for kind in ("category", "str"):
        with pytest.raises(ValueError, match=message):
            clone(model).fit(LETTER_FRAME.astype({"letter": kind}), HAS_LETTER)
    with pytest.raises(ValueError, match=r"could not convert string .*OneHotEncoder in a Column"):
        clone(model).fit(LETTER_FRAME.to_numpy(), HAS_LETTER)


# --- rows to score -------------------------------------------------------------------------------


@pytest.mark.parametrize("ranker", RANKERS)
def test_rows_to_score_may_have_any_form(ranker):
    """Plain arrays take a shorter way than others; what they refuse is the same."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 2
    fitted = ranker(relevance="graded", **cheap(ranker, 3)).fit(X, y, qid=np.arange(60) // 10)
    expected = fitted.predict(X)
    for form in (X.tolist(), np.asfortranarray(X), X.astype(object), X.view(np.recarray)):
        np.testing.assert_allclose(fitted.predict(form), expected, rtol=1e-12, atol=1e-12)
    wrong = [X[0], X[:, :3], X[:0], np.where(X > 2, np.inf, X), X * 1j]
    for form in wrong:
        with pytest.raises(ValueError, match=r"1D|3 features|0 sample|infinity|Complex"):
            fitted.predict(form)
