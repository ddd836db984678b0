"""Stored models: those of version 0.1.0, stamps and warnings, copies without any."""

import copy
import io
import json
import pickle
import re
import subprocess
import sys
import warnings
import zipfile
from importlib.util import find_spec
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from rankers import RANKERS, cheap
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, InconsistentVersionWarning
from sklearn.linear_model import LinearRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.tree import DecisionTreeRegressor

import sklearn_rank
from sklearn_rank import (
    BoostedTreesRanker,
    KernelPairwiseSGDRanker,
    ListNetLinear,
    PNormPushRanker,
    RankBoost,
    SmoothMarginRanker,
    _versions,
)
from sklearn_rank._parallel import ThreadPool
from sklearn_rank._versions import InconsistentRankerVersionWarning
from sklearn_rank.cli import main
from sklearn_rank.metrics import ranking_scorer
from sklearn_rank.models import WEAK_RANKERS, EstimatorRules, FeatureRules, StumpRules, Stumps
from sklearn_rank.objectives import SmoothedDcg
from sklearn_rank.pair_sums import MARGIN_LOSSES
from sklearn_rank.preprocessing import QueryMinMaxScaler
from sklearn_rank.scorecard import Scorecard

OLD = zipfile.ZipFile(Path(__file__).parent / "data_0_1_0" / "old_files.zip")
EXPECTED = json.loads(OLD.read("expected.json"))
ROWS = pd.read_csv(io.BytesIO(OLD.read("rows.csv")))
X, QUERY = ROWS[["a", "b", "c"]].to_numpy(), ROWS["query"].to_numpy()
MODELS = [name for name, known in EXPECTED.items() if "continued" in known]
COMMANDS = [name for name, known in EXPECTED.items() if "ranked" in known]
PLAIN = ["scorer", "query_k_fold", "query_shuffle_split"]


def load_old(name):
    """Load a pickle of version 0.1.0; return the object and this package's warnings."""
    if find_spec("numpy._core") is None:
        pytest.skip("the pickles hold arrays of NumPy 2, which NumPy 1.26.0 can't load")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = pickle.loads(OLD.read(f"{name}.pickle"))
    return found, [one.message for one in caught if is_ours(one.message)]


def is_ours(warning):
    return isinstance(warning, InconsistentRankerVersionWarning)


def features(name):
    """Return the rows a model of `make_old_files.py` was fitted to."""
    if name == "kernel_precomputed":
        return rbf_kernel(X, gamma=0.3)
    if name == "rank_boost_missing":
        random = np.random.RandomState(0)
        random.normal(size=(30, 3)), random.normal(size=30)
        return np.where(random.random_sample(X.shape) < 0.1, np.nan, X)
    return X


def scores(ranker, rows):
    graded = ranker.relevance == "graded"
    return ranker.predict(rows) if graded else ranker.decision_function(rows)


def fit(ranker, rows):
    graded = ranker.relevance == "graded"
    y = ROWS["grade"] if graded else ROWS["upper"] == "y"
    return ranker.fit(rows, y.to_numpy(), qid=QUERY if graded else None)


# Version 0.1.0 ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_a_pickle_of_0_1_0_gives_the_same_scores(name):
    ranker, caught = load_old(name)
    expected = EXPECTED[name]["scores"]
    np.testing.assert_allclose(scores(ranker, features(name)), expected, rtol=1e-12, atol=1e-12)
    assert [str(one) for one in caught] == [
        f"This {type(ranker).__name__} was stored by sklearn_rank 0.1.0 and loaded by "
        f"{sklearn_rank.__version__}: check that it still gives the same scores, or train it anew."
    ]


OTHER_OBJECTIVE = "p_norm_push_feature_lbfgs"
"""p > 1 with queries and grades: 0.1.0 had another sum, so that it goes on to another minimum."""


def test_a_pickle_of_0_1_0_goes_on_to_the_minimum_of_this_version():
    old, _ = load_old(OTHER_OBJECTIVE)
    enough = {"n_estimators": 1000, "tol": 1e-12}
    new, rows = clone(old).set_params(**enough), features(OTHER_OBJECTIVE)
    old.set_params(warm_start=True, **enough)
    found, expected = (scores(fit(one, rows), rows) for one in (old, new))
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


WITH_ANOTHER_OFFSET = ["p_norm_push", "p_norm_push_lbfgs"]
"""Models at p > 1: their order is that of 0.1.0, their cut has fewer training errors."""


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", [name for name in MODELS if name != OTHER_OBJECTIVE])
def test_a_pickle_of_0_1_0_goes_on_as_0_1_0_would_have(name):
    ranker, _ = load_old(name)
    size = {"n_estimators": 12} if hasattr(ranker, "n_estimators") else {}
    ranker.set_params(warm_start=True, **size)
    expected = EXPECTED[name]["continued"]
    found = scores(fit(ranker, features(name)), features(name))
    if name in WITH_ANOTHER_OFFSET:
        expected = expected - np.mean(expected - found)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_0_1_0_stored_again_is_one_of_this_version(name):
    ranker, _ = load_old(name)
    again = pickle.dumps(ranker)
    for old_name in (b"weak_rankers._", b"_fitting"):
        assert old_name not in again
    with warnings.catch_warnings():
        warnings.simplefilter("error", InconsistentRankerVersionWarning)
        np.testing.assert_array_equal(
            scores(pickle.loads(again), features(name)), scores(ranker, features(name))
        )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_0_1_0_has_contributions_after_another_fit(name):
    ranker, _ = load_old(name)
    is_additive = not re.search("ridge|tree|kernel_(?!linear)", name)
    assert hasattr(ranker, "contributions") == is_additive
    if is_additive:
        with pytest.raises(ValueError, match=r"earlier version of sklearn_rank.* fit it again"):
            ranker.contributions(features(name))
        found = fit(ranker, features(name)).contributions(features(name))
        np.testing.assert_allclose(found.sum(axis=1), scores(ranker, features(name)), atol=1e-12)


def test_private_records_of_0_1_0_become_dicts():
    booster, _ = load_old("rank_boost_stump")
    assert set(booster._history_) >= {"shape", "seed", "settings", "coordinates", "steps"}
    assert booster._history_["steps"] == booster.estimator_weights_.tolist()
    kernel, _ = load_old("kernel_rbf")
    assert set(kernel._progress_) == {"settings", "coefficients", "average", "n_averaged", "values"}


def test_a_scaler_and_a_pipeline_of_0_1_0_give_the_same_numbers():
    scaler, caught = load_old("scaler")
    np.testing.assert_allclose(scaler.transform(X), EXPECTED["scaler"]["scores"], rtol=1e-12)
    assert len(caught) == 1
    pipeline, caught = load_old("pipeline")
    found = pipeline.decision_function(X)
    np.testing.assert_allclose(found, EXPECTED["pipeline"]["scores"], rtol=1e-12, atol=1e-12)
    assert len(caught) == 2


def test_scorers_and_splitters_of_0_1_0_do_the_same():
    scorer, *splitters = (load_old(name)[0] for name in PLAIN)
    ranker, _ = load_old("rank_boost_graded")
    value = scorer(ranker, X, ROWS["grade"], qid=QUERY)
    assert value == sklearn_rank.metrics.ranking_scorer("ndcg@10")(
        ranker, X, ROWS["grade"], qid=QUERY
    )
    for splitter in splitters:
        for old, new in zip(
            splitter.split(X, qid=QUERY), clone_of(splitter).split(X, qid=QUERY), strict=True
        ):
            np.testing.assert_array_equal(old[1], new[1])


def clone_of(splitter):
    return type(splitter)(**vars(splitter))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_model_file_of_0_1_0_ranks_the_same(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for member in (f"{name}.skops", "rows.csv"):
        OLD.extract(member)
    assert main(["rank", f"{name}.skops", "rows.csv", "-o", "ranked.csv"]) == 0
    assert "was stored by sklearn_rank 0.1.0" in " ".join(capsys.readouterr().err.split())
    expected = pd.read_csv(io.StringIO(EXPECTED[name]["ranked"]))
    found = pd.read_csv("ranked.csv")
    pd.testing.assert_frame_equal(found, expected, check_exact=False, rtol=1e-12)


@pytest.mark.slow
def test_old_names_are_imported_with_old_files_only():
    script = """
import sys, sklearn_rank.models, sklearn_rank.cli
for name in sklearn_rank.__all__:
    getattr(sklearn_rank, name)
old = (
    "weak_rankers",
    "estimators._fitting",
    "estimators._kernel_fitting",
    "metrics._scorers",
)
print([name for name in old if f"sklearn_rank.{name}" in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


# Stamps ----------------------------------------------------------------------------------


@pytest.fixture(params=[*RANKERS, QueryMinMaxScaler], ids=lambda one: one.__name__)
def fitted(request):
    """One of every estimator."""
    if request.param is QueryMinMaxScaler:
        return QueryMinMaxScaler().fit(X)
    ranker = request.param(relevance="graded", **cheap(request.param, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(ranker, X)


def results(estimator):
    names = ("transform", "predict", "contributions")
    methods = [getattr(estimator, name) for name in names if hasattr(estimator, name)]
    return np.column_stack([method(X) for method in methods])


def through_joblib(estimator):
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    return joblib.load(file)


def through_skops(estimator):
    data = skops.io.dumps(estimator)
    return skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))


COPIES = {
    "pickle": lambda one: pickle.loads(pickle.dumps(one)),
    "joblib": through_joblib,
    "skops": through_skops,
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


@pytest.mark.parametrize("kind", COPIES)
def test_copies_within_a_version_are_silent_and_equal(fitted, kind):
    found = COPIES[kind](fitted)
    np.testing.assert_array_equal(results(found), results(fitted))
    assert vars(found).keys() == vars(fitted).keys()
    assert not [name for name in vars(found) if "version" in name]


def test_clones_are_silent(fitted):
    assert vars(clone(fitted)) == fitted.get_params()
    assert vars(copy.deepcopy(clone(fitted))) == fitted.get_params()


@pytest.mark.parametrize("kind", ["pickle", "joblib", "skops"])
def test_a_file_of_another_version_warns(fitted, kind, monkeypatch):
    def stored_by_another(one):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_versions, "__version__", "9.9.9")
            return one.__getstate__()

    class Stored(type(fitted)):
        def __getstate__(self):
            return stored_by_another(super())

    Stored.__name__ = Stored.__qualname__ = "Stored"
    Stored.__module__ = __name__
    monkeypatch.setitem(globals(), "Stored", Stored)
    other = Stored(**fitted.get_params())
    vars(other).update(vars(fitted))
    with pytest.warns(
        InconsistentVersionWarning, match=r"Stored was stored by sklearn_rank 9\.9"
    ) as w:
        found = COPIES[kind](other)
    warning = w[0].message
    assert warning.estimator_name == "Stored"
    assert warning.original_sklearn_version == "9.9.9"
    assert warning.current_sklearn_version == sklearn_rank.__version__
    np.testing.assert_array_equal(results(found), results(fitted))


def test_restoring_changes_nothing_that_was_stored(fitted):
    state = fitted.__getstate__()
    before = dict(state)
    type(fitted).__new__(type(fitted)).__setstate__(state)
    assert state == before or all(state[name] is before[name] for name in before)


def test_pickles_name_public_modules_only():
    for options in ({}, {"weak_ranker": "feature"}, {"weak_ranker": LinearRegression()}):
        stored = pickle.dumps(fit(RankBoost(n_estimators=3, **options), X), protocol=4)
        names = set(re.findall(rb"sklearn_rank[\w.]*", stored)) - {b"sklearn_rank_version"}
        assert names <= {b"sklearn_rank.estimators.rank_boost", b"sklearn_rank.models.rules"}


FEW = {"n_estimators": 3, "random_state": 0}
CODES = X.copy()
CODES[:, 2] = np.arange(len(X)) % 4
STORED = {
    "stumps": RankBoost(**FEW),
    "features": RankBoost(**FEW, weak_ranker="feature"),
    "estimators": RankBoost(**FEW, weak_ranker=LinearRegression()),
    "table": PNormPushRanker(**FEW, categorical_features=[2], weak_ranker=Stumps(max_thresholds=4)),
    "bags": RankBoost(**FEW, n_bags=2),
    "stopped": RankBoost(**FEW, n_iter_no_change=2, scoring=ranking_scorer("ndcg@5")),
    "margin": SmoothMarginRanker(**FEW),
    "own weak ranker": RankBoost(**FEW, weak_ranker=WEAK_RANKERS["stump"]),
    "kernel": KernelPairwiseSGDRanker(max_iter=3),
    "linear kernel": KernelPairwiseSGDRanker(kernel="linear", loss=MARGIN_LOSSES["logistic"]),
    "lists": ListNetLinear(relevance="binary", loss=SmoothedDcg(sigma=2.0), max_iter=3),
    "scorecard": Scorecard(RankBoost(**FEW, categorical_features=[2]), cv=2),
    **{
        f"trees {engine}": BoostedTreesRanker(**FEW, engine=engine, categorical_features=[2])
        for engine in ("xgboost", "lightgbm")
        if find_spec(engine)
    },
}


@pytest.mark.parametrize("name", STORED)
def test_skops_files_name_public_types_only(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ranker = clone(STORED[name]).fit(CODES, ROWS["upper"] == "y")
    data = skops.io.dumps(ranker)
    types = skops.io.get_untrusted_types(data=data)
    assert types
    private = [one for one in types if any(part.startswith("_") for part in one.split("."))]
    assert private == []
    # Which the page "To production" tells to trust.
    trusted = [one for one in types if one.startswith("sklearn_rank.")]
    again = skops.io.loads(data, trusted=trusted)
    np.testing.assert_array_equal(again.decision_function(CODES), ranker.decision_function(CODES))


# Rules -----------------------------------------------------------------------------------

POOL = ThreadPool(1)


def random_stumps(n_rules, n_features, seed=0):
    random = np.random.default_rng(seed)
    grid = np.sort(random.normal(size=(n_features, 9)), axis=1)
    feature = random.integers(0, n_features, n_rules)
    threshold = grid[feature, random.integers(0, 9, n_rules)]
    return StumpRules(feature, threshold, random.random(n_rules) < 0.4), grid


@pytest.mark.parametrize(("n_rules", "n_features"), [(0, 3), (1, 1), (40, 6), (300, 100)])
@pytest.mark.parametrize("n_rows", [1, 7, 3000, 9000])
def test_a_score_is_the_same_sum_however_many_rows(n_rules, n_features, n_rows):
    """Against the definition; and to the last bit against the same rows one by one."""
    rules, grid = random_stumps(n_rules, n_features)
    random = np.random.default_rng(1)
    rows = grid.T[random.integers(0, 9, (n_rows, n_features)), np.arange(n_features)]
    rows[random.random(rows.shape) < 0.2] = np.nan
    weights = random.normal(size=n_rules)
    h = [rules.values(rows, number) for number in range(n_rules)]
    expected = np.sum([w * one for w, one in zip(weights, h, strict=True)], axis=0)
    found = rules.scores(rows, weights, POOL)
    np.testing.assert_allclose(found, expected * np.ones(n_rows), rtol=1e-12, atol=1e-12)
    for row in range(0, n_rows, 1 + n_rows // 20):
        assert rules.scores(rows[row : row + 1], weights, POOL)[0] == found[row]


@pytest.mark.parametrize("special_values", [None, {1: [0.0]}, {0: [1.0], 1: [0.0, 2.0]}])
def test_a_score_of_a_table_is_the_same_sum_however_many_rows(special_values):
    random = np.random.default_rng(0)
    rows = random.integers(0, 5, (80, 4)).astype(float)
    rows[random.random(rows.shape) < 0.2] = np.nan
    y = np.nan_to_num(rows).sum(axis=1) + random.normal(size=80) > 8
    options = {"weak_ranker": Stumps(special_values=special_values), "categorical_features": [2]}
    ranker = PNormPushRanker(n_estimators=40, monotonic_cst=[1, 0, 0, 0], **options).fit(rows, y)
    rules, weights = ranker.weak_rankers_, ranker.estimator_weights_
    h = [rules.values(rows, number) for number in range(len(weights))]
    expected = rules.scores(np.tile(rows, (60, 1)), weights)[:80]
    np.testing.assert_allclose(expected, weights @ h, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(rules.scores(rows[:30], weights), expected[:30])
    for row in range(80):
        assert rules.scores(rows[row : row + 1], weights)[0] == expected[row]
    np.testing.assert_array_equal(rules.scores(rows[:0], weights), [])


@pytest.mark.parametrize("options", [{}, {"weak_ranker": Stumps(max_thresholds=5)}])
def test_what_is_kept_for_the_next_row_is_of_these_weights_and_not_stored(options):
    ranker = fit(PNormPushRanker(n_estimators=5, **options), X)
    stored = pickle.dumps(fit(clone(ranker), X))
    rules, weights = ranker.weak_rankers_, ranker.estimator_weights_.copy()
    before = rules.scores(X, weights)
    assert len(pickle.dumps(ranker)) == len(stored)
    np.testing.assert_array_equal(rules.scores(X, 2 * weights), 2 * before)
    weights *= 4  # in place
    np.testing.assert_array_equal(rules.scores(X, weights), 4 * before)
    np.testing.assert_array_equal(copy.deepcopy(rules).scores(X, weights), 4 * before)


def test_one_feature_with_most_of_the_thresholds():
    """Tables of very different lengths are not padded to one."""
    feature = np.append(np.zeros(5000, dtype=int), np.arange(1, 60))
    threshold = np.append(np.linspace(-1, 1, 5000), np.zeros(59))
    rules = StumpRules(feature, threshold, np.zeros(5059, dtype=bool))
    rows = np.random.default_rng(0).normal(size=(40, 60))
    weights = np.ones(5059)
    expected = (rows[:, feature] > threshold).sum(axis=1)
    np.testing.assert_array_equal(rules.scores(rows, weights), expected)
    np.testing.assert_array_equal(rules.scores(rows[:1], weights), expected[:1])


def test_rules_are_never_changed():
    """Fitted attributes may be read-only: memory-mapped by joblib, for example."""
    rules, grid = random_stumps(30, 4)
    for array in vars(rules).values():
        array.setflags(write=False)
    weights = np.ones(30)
    weights.setflags(write=False)
    for n_rows in (1, 200, 9000):
        rows = np.resize(grid.T, (n_rows, 4))
        rows.setflags(write=False)
        rules.scores(rows, weights, POOL)
    rules.importances(weights, 4)


def test_importances_are_the_credit_of_each_feature():
    credit = np.array([0.5, 0.25, 1.0])
    stumps = StumpRules(np.array([2, 0, 2]), np.zeros(3), np.zeros(3, dtype=bool))
    features = FeatureRules(np.array([2, 0, 2]))
    for rules in (stumps, features):
        np.testing.assert_array_equal(rules.importances(credit, 4), [0.25, 0, 1.5, 0])
        np.testing.assert_array_equal(rules.importances(credit.astype(int), 3).dtype, np.float64)


def test_importances_of_estimators_are_shared_by_theirs():
    y = ROWS["grade"]
    trees = [DecisionTreeRegressor(max_depth=d, random_state=0).fit(X, y) for d in (1, 3)]
    rules = EstimatorRules(trees, [0.0, 0.0], [1.0, 1.0])
    expected = 2.0 * trees[0].feature_importances_ + 3.0 * trees[1].feature_importances_
    np.testing.assert_allclose(rules.importances(np.array([2.0, 3.0]), 3), expected, rtol=1e-15)
    mixed = EstimatorRules([*trees, LinearRegression().fit(X, y)], [0.0] * 3, [1.0] * 3)
    assert mixed.importances(np.ones(3), 3) is None
    np.testing.assert_array_equal(EstimatorRules([], [], []).importances(np.zeros(0), 2), [0, 0])
