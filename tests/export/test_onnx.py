"""ONNX graphs of the rankers give the scores of `decision_function`, for every float."""

import importlib
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_rank import (
    BoostedTreesRanker,
    KernelPairwiseSGDRanker,
    ListNetLinear,
    PNormPushRanker,
    RankBoost,
    SmoothMarginRanker,
)
from sklearn_rank.ensemble import RankingEnsemble
from sklearn_rank.ensemble.members import NumberScaler
from sklearn_rank.export.onnx import register_converters
from sklearn_rank.export.search_engines import tree_arrays
from sklearn_rank.models import Stumps

pytest.importorskip("skl2onnx")
runtime = pytest.importorskip("onnxruntime")
to_onnx = importlib.import_module("skl2onnx").to_onnx
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

FEW = {"n_estimators": 12, "random_state": 0}
TREES = {"random_state": 0, "n_estimators": 6, "max_depth": 3, "min_child_weight": 0.0}
CODE = -99.0
ENGINES = ["xgboost", "lightgbm", "symmetric"]

# Ranker and kind of data: "missing" has NaN and a special code, "categories" a feature of codes,
# "positive" neither missing nor negative values, "plain" no missing ones.
SPECIAL = Stumps(max_thresholds=6, special_values={1: [CODE]})
SUBSETS = {"weak_ranker": Stumps(max_thresholds=6), "categorical_features": [2]}
FORMS = {
    "stumps": (RankBoost(**FEW), "missing"),
    "graded": (RankBoost(**FEW, relevance="graded"), "missing"),
    "stopped": (RankBoost(**FEW, n_iter_no_change=2, validation_fraction=0.6), "missing"),
    "bags": (RankBoost(**FEW, n_bags=3), "missing"),
    "all stumps": (PNormPushRanker(solver="lbfgs", alpha=0.1), "missing"),
    "table": (PNormPushRanker(**FEW, weak_ranker=SPECIAL), "missing"),
    "subsets": (PNormPushRanker(**FEW, **SUBSETS), "categories"),
    "margin": (SmoothMarginRanker(**FEW), "plain"),
    "features": (PNormPushRanker(**FEW, weak_ranker="feature"), "plain"),
    **{
        f"{type(one).__name__} as weak ranker": (
            RankBoost(n_estimators=3, weak_ranker=one),
            "plain",
        )
        for one in (
            *(DecisionTreeRegressor(max_depth=3), DecisionTreeClassifier(max_depth=2)),
            *(Ridge(), LogisticRegression(), LinearSVC()),
        )
    },
    "lists": (ListNetLinear(), "plain"),
    "lists of two classes": (ListNetLinear(relevance="binary"), "plain"),
    **{
        f"kernel {name}": (KernelPairwiseSGDRanker(kernel=name, max_iter=5), "plain")
        for name in ("linear", "rbf", "poly", "polynomial", "sigmoid", "cosine", "laplacian")
    },
    **{
        f"kernel {name}": (KernelPairwiseSGDRanker(kernel=name, max_iter=5), "positive")
        for name in ("chi2", "additive_chi2")
    },
    **{
        f"{engine} {kind}": (BoostedTreesRanker(engine=engine, **TREES, **options), data)
        for engine in ENGINES
        for kind, options, data in (
            ("missing", {}, "missing"),
            ("plain", {}, "plain"),
            ("categories", {"categorical_features": [2]}, "categories"),
            ("graded", {"relevance": "graded"}, "missing"),
            ("stopped", {"n_iter_no_change": 2, "validation_fraction": 0.6}, "plain"),
        )
    },
}


def make_rows(kind, seed):
    """Return rows with ties, and grades that depend on them."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(60, 3)).round(1)
    y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2] + random.normal(size=60) / 3, [0.0, 0.8])
    if kind == "positive":
        return np.abs(X), y
    if kind == "categories":
        X[:, 2] = random.integers(0, 6, 60) * 0.5
    if kind in ("missing", "categories"):
        X = np.where(random.random(X.shape) < 0.1, np.nan, X)
        X[::7, 1] = CODE if kind == "missing" else X[::7, 1]
    return X, y


def fit(ranker, X, y):
    graded = getattr(ranker, "relevance", "binary") == "graded"
    return ranker.fit(X, y if graded else np.array(["no", "yes"])[(y > 0).astype(int)])


def thresholds_of(ranker):
    """Return every number that the ranker compares features with."""
    if hasattr(ranker, "engine_"):
        read = getattr(tree_arrays, f"trees_of_{ranker.engine_}")
        return np.concatenate([tree.threshold for tree in read(ranker.booster_)])
    rules = getattr(ranker, "weak_rankers_", None)
    found = getattr(rules, "estimators", [])
    if found and hasattr(found[0], "tree_"):
        return np.concatenate([one.tree_.threshold for one in found])
    return np.concatenate(
        [np.zeros(0), *(b.thresholds for b in getattr(rules, "bins", {}).values())]
    )


def around(ranker, X, dtype):
    """Return rows with all values of X and all thresholds, and those just above and below."""
    middle = np.concatenate([X, np.resize(thresholds_of(ranker), (400, X.shape[1]))])
    largest = np.finfo(dtype).max / 2
    middle = np.clip(middle, -largest, largest).astype(dtype)
    rows = np.concatenate([middle, np.nextafter(middle, dtype(np.inf)), np.nextafter(middle, -1)])
    return np.abs(rows) if np.nanmin(X) >= 0 else rows


def run(model, X):
    """Return the outputs of a graph by name."""
    session = runtime.InferenceSession(model.SerializeToString())
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(names, {session.get_inputs()[0].name: X}), strict=True))


def assert_same(ranker, X, tolerance, model=None):
    """Check the graph for rows against the ranker itself."""
    found = run(model or to_onnx(ranker, X[:1]), X)
    if getattr(ranker, "relevance", "binary") == "graded":
        assert list(found) == ["scores"]
        assert_allclose(found["scores"], ranker.predict(X), rtol=0, atol=tolerance)
        return
    assert list(found) == ["label", "scores"]
    expected = ranker.decision_function(X)
    assert found["scores"].shape == expected.shape
    assert_allclose(found["scores"], expected, rtol=0, atol=tolerance)
    clear = np.abs(expected) > tolerance
    assert_array_equal(found["label"][clear], ranker.predict(X)[clear])


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=settings.default.max_examples // 5)
@given(seed=st.integers(0, 10_000))
def test_scores_are_those_of_the_ranker(form, seed):
    ranker, kind = FORMS[form]
    X, y = make_rows(kind, seed)
    fit(ranker, X, y)
    for dtype in (np.float64, np.float32):
        assert_same(ranker, around(ranker, X, dtype), 1e-9)


@pytest.mark.parametrize(
    "ranker",
    [
        RankBoost(n_estimators=20),
        *(BoostedTreesRanker(engine=one) for one in ("lightgbm", "xgboost", "symmetric")),
    ],
)
def test_values_that_only_new_rows_lack(ranker):
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    fit(ranker, X, (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int))
    assert_same(ranker, np.where(random.random(X.shape) < 0.4, np.nan, X), 1e-9)


@pytest.mark.parametrize("engine", ["lightgbm", "symmetric"])
def test_a_split_of_missing_values_alone_holds_for_the_largest_floats(engine):
    x = np.where(np.arange(60) % 3, np.arange(60) % 5, np.nan)
    ranker = BoostedTreesRanker(engine=engine, n_estimators=5, min_child_weight=0.0)
    ranker = fit(ranker, x[:, None], np.isnan(x).astype(int))
    assert thresholds_of(ranker).max() >= 1e300
    assert_same(ranker, np.array([[0.0], [np.nan], [1e300], [1.7e308], [-1.7e308]]), 1e-9)


@pytest.mark.parametrize("n_levels", [1, 4, 70])
def test_levels_of_symmetric_trees_go_alone_or_in_an_order(n_levels):
    level = np.where(np.arange(300) % 4, np.arange(300) % n_levels, np.nan)[:, None]
    ranker = BoostedTreesRanker(engine="symmetric", categorical_features=[0], n_estimators=5)
    fit(ranker, level, np.isnan(level[:, 0]) | (level[:, 0] % 3 == 1))
    assert_same(ranker, np.append(np.arange(72.0), np.nan)[:, None], 0)


@pytest.mark.parametrize("kind", ["missing", "plain"])  # in training: rows to score have both
@pytest.mark.parametrize("engine", ENGINES)
def test_a_sum_of_many_trees_is_that_of_the_engine_bit_by_bit(engine, kind):
    X, y = make_rows(kind, 0)
    shallow = BoostedTreesRanker(engine=engine, n_estimators=20, max_depth=2, warm_start=True)
    ranker = fit(fit(shallow, X, y).set_params(n_estimators=150, max_depth=5), X, y)
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    for rows in (X, X[:1]):
        expected = ranker.decision_function(rows)
        assert_array_equal(run(to_onnx(ranker, rows[:1]), rows)["scores"], expected)


@pytest.mark.parametrize("classes", [(0, 1), (False, True), (0.0, 1.0), ("no", "yes")])
def test_labels_keep_their_kind(classes):
    X, y = make_rows("plain", 1)
    labels = np.array(classes)[(y > 0).astype(int)]
    ranker = RankBoost(n_estimators=3).fit(X, labels)
    found = run(to_onnx(ranker, X[:1]), X)["label"]
    assert found.tolist() == ranker.predict(X).tolist()


def test_a_model_without_rules_is_a_constant():
    X = np.ones((6, 2))
    ranker = fit(RankBoost(), X, np.array([0, 1] * 3))
    assert len(ranker.estimator_weights_) == 0
    assert_same(ranker, X, 0)


def test_an_ensemble_of_trees_is_as_exact_as_skl2onnx():
    X, y = make_rows("plain", 2)
    forest = RandomForestRegressor(3, max_depth=3)
    ranker = fit(RankBoost(n_estimators=2, weak_ranker=forest, random_state=0), X, y)
    assert_same(ranker, X, 1e-5)


# Pipelines and data frames -----------------------------------------------------------------


@pytest.fixture
def imputer_of_doubles():
    """Let skl2onnx convert imputers of doubles in one test."""
    skl2onnx = importlib.import_module("skl2onnx")
    alias = skl2onnx.get_model_alias(SimpleImputer)
    shapes = importlib.import_module("skl2onnx.shape_calculators.imputer")
    theirs = importlib.import_module("skl2onnx.operator_converters.imputer_op")
    register_converters(imputer=True)
    yield
    skl2onnx.update_registered_converter(
        SimpleImputer,
        alias,
        shapes.calculate_sklearn_imputer_output_shapes,
        theirs.convert_sklearn_imputer,
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_pipeline_that_fills_and_scales(dtype, imputer_of_doubles):
    X, y = make_rows("missing", 3)
    X = X.astype(dtype)
    ranker = KernelPairwiseSGDRanker(max_iter=20)
    pipeline = fit(make_pipeline(SimpleImputer(), StandardScaler(), ranker), X, y)
    assert_same(pipeline, X, 1e-9 if dtype is np.float64 else 1e-5)


def test_an_ensemble_of_default_members(imputer_of_doubles):
    X, y = make_rows("missing", 14)
    ensemble = fit(RankingEnsemble(cv=2, n_steps=3, random_state=0), X, y)
    assert_same(ensemble, X, 1e-6)


def frame():
    """Return a data frame with a column of texts, and classes."""
    X, y = make_rows("missing", 5)
    X = pd.DataFrame(X, columns=list("abc"))
    return X.assign(job=pd.Categorical(np.array(["x", "y", "z"])[np.arange(60) % 3])), y


def run_frame(model, X):
    session = runtime.InferenceSession(model.SerializeToString())
    rows = {
        name: X[[name]].astype(object if name == "job" else float).to_numpy() for name in X.columns
    }
    return session.run(["label", "scores"], rows)


def typed_columns(X):
    """Return the types of the columns of a data frame, as skl2onnx takes them."""
    types = importlib.import_module("skl2onnx.common.data_types")
    return [
        (name, (types.StringTensorType if name == "job" else types.DoubleTensorType)([None, 1]))
        for name in X.columns
    ]


@pytest.mark.parametrize(
    "ranker",
    [PNormPushRanker(**FEW), *(BoostedTreesRanker(engine=one, **TREES) for one in ENGINES)],
    ids=["stumps", *ENGINES],
)
def test_categories_that_are_texts(ranker):
    X, y = frame()
    fit(ranker, X, y)
    unseen = X.assign(job=np.array(["x", "y", "z", "new"])[np.arange(60) % 4])
    for rows in (X, unseen):
        label, scores = run_frame(to_onnx(ranker, initial_types=typed_columns(X)), rows)
        assert_allclose(scores, ranker.decision_function(rows), rtol=0, atol=1e-9)
        assert_array_equal(label, ranker.predict(rows))


@pytest.mark.parametrize("scaler", [[], [NumberScaler()]])
def test_a_column_transformer(scaler, imputer_of_doubles):
    X, y = frame()
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = ColumnTransformer([("n", numbers, list("abc")), ("job", encoder, ["job"])])
    pipeline = fit(make_pipeline(columns, *scaler, ListNetLinear(relevance="binary")), X, y)
    label, scores = run_frame(to_onnx(pipeline, initial_types=typed_columns(X)), X)
    assert_allclose(scores, pipeline.decision_function(X), rtol=0, atol=1e-9)
    assert_array_equal(label, pipeline.predict(X))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["ranker", "pipeline", "search", "search of a pipeline"])
def test_a_calibrated_ranker_pipeline_or_search(kind, dtype):
    """skl2onnx asks for columns from the estimator itself alone, not from the ranker in it."""
    X, y = make_rows("missing" if kind == "ranker" else "plain", 12)
    X = X.astype(dtype)
    model = RankBoost(**FEW) if kind == "ranker" else ListNetLinear(relevance="binary")
    if "pipeline" in kind:
        model = make_pipeline(StandardScaler(), model)
    if "search" in kind:
        name = "listnetlinear__alpha" if "pipeline" in kind else "alpha"
        model = GridSearchCV(model, {name: [0.1, 1.0]}, cv=2)
    model = CalibratedClassifierCV(model, cv=2).fit(X, y > 0)
    found = run(to_onnx(model, X[:1], options={"zipmap": False}), X)
    tolerance = 1e-9 if dtype is np.float64 else 1e-6
    assert_allclose(found["probabilities"], model.predict_proba(X), atol=tolerance)
    assert_array_equal(found["label"], model.predict(X))


# What is refused ------------------------------------------------------------------------------


class Line:
    """Weak rankers of the user's own."""

    name, allow_nan, sparse = "line", False, False

    def on_rows(self, rows):
        from sklearn_rank.models import WEAK_RANKERS

        model = WEAK_RANKERS["feature"].on_rows(rows)
        known = model.rules
        model.rules = lambda indices: OwnRules(known(indices))
        return model


class OwnRules:
    def __init__(self, rules):
        self._rules = rules

    def scores(self, X, weights, threads=None):
        return self._rules.scores(X, weights, threads)


def dot(x, y):
    return float(x @ y)


class Unknown(Ridge):
    """An estimator that skl2onnx does not know."""


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        (KernelPairwiseSGDRanker(kernel=dot), r"kernel=a function cannot be exported to"),
        (KernelPairwiseSGDRanker(kernel="precomputed"), r"kernel='precomputed' cannot be exported"),
        (RankBoost(weak_ranker=Line()), r"weak_ranker=.*Line.* cannot be exported to"),
        (RankBoost(weak_ranker=Unknown()), r"weak_ranker=Unknown\(\.\.\.\).*no working converter"),
        (
            BoostedTreesRanker(engine="lightgbm", engine_params={"linear_tree": True}),
            r"linear functions in the leaves",
        ),
        (
            BoostedTreesRanker(
                engine="lightgbm", engine_params={"zero_as_missing": True}, min_child_weight=0.0
            ),
            r"zeros as missing values \(zero_as_missing\)",
        ),
    ],
    ids=["function", "precomputed", "own", "unknown", "linear leaves", "zeros"],
)
def test_what_no_graph_can_say_is_refused(ranker, message):
    X, y = make_rows("plain", 6)
    X = X @ X.T if getattr(ranker, "kernel", "") == "precomputed" else X
    fit(ranker, X, y)
    with pytest.raises(ValueError, match=message):
        to_onnx(ranker, X[:1])


def test_an_old_opset_is_refused():
    X, y = make_rows("plain", 8)
    ranker = fit(RankBoost(n_estimators=2), X, y)
    with pytest.raises(ValueError, match=r"RankBoost needs opset 15"):
        to_onnx(ranker, X[:1], target_opset=12)


# Registration ---------------------------------------------------------------------------------


def test_the_converter_of_imputers_is_replaced_on_request_only(request):
    X, _ = make_rows("missing", 9)
    imputer = SimpleImputer().fit(X)
    assert [node.op_type for node in to_onnx(imputer, X[:1]).graph.node] == ["Imputer"]
    request.getfixturevalue("imputer_of_doubles")
    assert_array_equal(run(to_onnx(imputer, X[:1]), X)["variable"], imputer.transform(X))
    with pytest.raises(ValueError, match=r"SimpleImputer with missing_values=-99\.0"):
        to_onnx(SimpleImputer(missing_values=CODE).fit(np.ones((2, 1))), np.ones((1, 1)))


def test_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r'requires skl2onnx. .*"sklearn-rank\[onnx\]"'):
        register_converters()


@pytest.mark.slow
def test_the_module_can_be_imported_without_skl2onnx():
    script = """
import sys
sys.modules["skl2onnx"] = None
import sklearn_rank.export.onnx
try:
    sklearn_rank.export.onnx.register_converters()
except ImportError as error:
    print("sklearn-rank[onnx]" in str(error))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "True"
