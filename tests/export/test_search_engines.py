"""Models for search engines, read back by code that shares nothing with the writer."""

import json

import numpy as np
import pandas as pd
import pytest
import readers_search_engines as readers
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    PolynomialFeatures,
    StandardScaler,
)

from sklearn_rank import (
    BoostedTreesRanker,
    KernelPairwiseSGDRanker,
    ListNetLinear,
    PNormPushRanker,
    RankBoost,
    SmoothMarginRanker,
)
from sklearn_rank.ensemble import RankingEnsemble
from sklearn_rank.export.search_engines import to_linear_json, to_ranklib, to_xgboost_json
from sklearn_rank.export.search_engines._nodes import Leaf, Split, tree_node
from sklearn_rank.export.search_engines.tree_arrays import TreeArrays
from sklearn_rank.models import Stumps

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
NAMES = ["title score", "body", "year"]
FEW = {"n_estimators": 12}
TREES = {"n_estimators": 8, "max_depth": 3, "min_child_weight": 0.0, "min_samples_leaf": None}
GRADED = {"relevance": "graded"}
CODE = -99.0


def chosen(step, columns, **options):
    return ColumnTransformer([("a", step, columns)], **options)


FORESTS = {
    "stumps": RankBoost(**FEW),
    "graded stumps": RankBoost(**FEW, **GRADED),
    "bags": RankBoost(**FEW, n_bags=2),
    "margin": SmoothMarginRanker(**FEW),
    "all stumps": PNormPushRanker(solver="lbfgs", alpha=0.1),
    "codes": PNormPushRanker(**FEW, weak_ranker=Stumps(special_values={1: [CODE, 0.1]})),
    "lightgbm": BoostedTreesRanker(engine="lightgbm", **TREES),
    "graded lightgbm": BoostedTreesRanker(engine="lightgbm", **TREES, **GRADED),
    "xgboost": BoostedTreesRanker(engine="xgboost", **TREES),
    "symmetric": BoostedTreesRanker(engine="symmetric", **TREES),
    "chosen columns": make_pipeline(
        chosen(FunctionTransformer(), [2, 1], remainder="passthrough"), RankBoost(**FEW)
    ),
    "graded xgboost": BoostedTreesRanker(engine="xgboost", **TREES, **GRADED),
}
LINEAR = {
    "lists": ListNetLinear(),
    "lists of two classes": ListNetLinear(relevance="binary"),
    "kernel": KernelPairwiseSGDRanker(kernel="linear", max_iter=5),
    "features": PNormPushRanker(**FEW, weak_ranker="feature"),
    "scaled": make_pipeline(StandardScaler(), ListNetLinear()),
    "scaled twice": make_pipeline(
        MinMaxScaler((-1, 3)), "passthrough", StandardScaler(), ListNetLinear()
    ),
    "chosen columns": make_pipeline(
        ColumnTransformer([("a", "passthrough", [2, 0]), ("b", "passthrough", [])]),
        SimpleImputer(add_indicator=True),
        StandardScaler(),
        ListNetLinear(),
    ),
    "not centred": make_pipeline(StandardScaler(with_mean=False), ListNetLinear()),
    "not scaled": make_pipeline(StandardScaler(with_std=False), ListNetLinear()),
}


def make_rows(seed, size=60):
    """Return rows with ties, zeros, tiny values and a code, and grades that depend on them."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(size, 3)).round(1)
    X[:, 0] *= 10.0 ** random.integers(-8, 3)
    X[random.random(X.shape) < 0.1] = 0.0
    X[::7, 1] = CODE
    X[::11, 2] = 1e-36
    y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2] + random.normal(size=size) / 3, [0.0, 0.8])
    return X, y


def fitted(model, X, y):
    ranker = model[-1] if hasattr(model, "steps") else model
    y = y if ranker.relevance == "graded" else (y > 0).astype(int)
    return model.fit(X, y)


def expected_scores(model, X):
    ranker = model[-1] if hasattr(model, "steps") else model
    return (model.predict if ranker.relevance == "graded" else model.decision_function)(X)


def thresholds_of(ranker):
    """Return what the ranker compares features with, from the engine's own dump."""
    ranker = ranker[-1] if hasattr(ranker, "steps") else ranker
    if not hasattr(ranker, "engine_"):
        found = ranker.weak_rankers_.threshold
    elif ranker.engine_ == "symmetric":
        found = ranker.booster_.threshold
    elif ranker.engine_ == "xgboost":
        table = ranker.booster_.trees_to_dataframe()
        found = table["Split"].dropna().to_numpy()
    else:
        found = ranker.booster_.trees_to_dataframe()["threshold"].dropna().to_numpy()
    return found[np.isfinite(found)]


def around(ranker, X):
    """Return rows of single precision at all thresholds, and just above and below."""
    own = [*thresholds_of(ranker), 0.0, CODE, 0.1, 1e-35, -1e-35, 1e-45, 1e-6, -1e-6]
    middle = np.concatenate([X, np.resize(own, (len(own), 1)) * np.ones(3)]).astype(np.float32)
    up, down = np.float32(np.inf), np.float32(-np.inf)
    return np.concatenate([middle, np.nextafter(middle, up), np.nextafter(middle, down)])


def read(form, model, number=float, **options):
    """Write a model, and read it by the reader of the form."""
    if form == "ranklib":
        return readers.ranklib(to_ranklib(model), number)
    options["feature_names"] = NAMES
    if form == "xgboost":
        return readers.xgboost(to_xgboost_json(model, **options), NAMES, number)
    return readers.linear(to_linear_json(model, **options), NAMES, number)


def assert_same(terms, expected, X, tolerance):
    """Check scores; errors are relative to the sum of the sizes of the terms."""
    found = [terms(row) for row in X]
    size = np.array([np.abs(one).sum() for one in found])
    sums = np.array([np.sum(one) for one in found])
    error = np.abs(sums - expected)
    assert (error <= tolerance * size + 1e-300).all(), (error / size).max()


@pytest.mark.parametrize("form", ["ranklib", "xgboost"])
@pytest.mark.parametrize("name", FORESTS)
@settings(max_examples=settings.default.max_examples // 5)
@given(seed=st.integers(0, 10_000))
def test_forests_are_read_back(name, form, seed):
    X, y = make_rows(seed)
    model = fitted(FORESTS[name], X, y)
    rows = around(model, X)
    tolerance = 1e-6 if "xgboost" in name else 1e-12  # XGBoost adds in single precision
    assert_same(read(form, model), expected_scores(model, rows), rows, tolerance)


@pytest.mark.parametrize("name", LINEAR)
@settings(max_examples=settings.default.max_examples // 5)
@given(seed=st.integers(0, 10_000))
def test_linear_models_are_read_back(name, seed):
    X, y = make_rows(seed)
    model = fitted(LINEAR[name], X, y)
    rows = X.astype(np.float32)
    # Scalers round rows of single precision themselves, before the ranker sees them.
    expected = expected_scores(model, rows.astype(np.float64))
    terms = read("linear", model, drop_constant=True)
    constant = float(expected_scores(model, np.zeros((1, 3)))[0])
    assert_same(lambda row: [*terms(row), constant], expected, rows, 1e-12)
    if abs(constant) > 1e-9:
        with pytest.raises(ValueError, match=r"adds the constant .* drop_constant=True"):
            read("linear", model)


@pytest.mark.parametrize("name", ["stumps", "lightgbm", "xgboost", "symmetric"])
def test_in_single_precision_scores_round_by_little(name):
    X, y = make_rows(3, 400)
    model = fitted(FORESTS[name].__class__(n_estimators=200), X, y)
    rows = X[:150].astype(np.float32)
    for form in ("ranklib", "xgboost"):
        terms = read(form, model, np.float32)
        of_rows = np.array([terms(row) for row in rows])
        found = np.cumsum(of_rows, axis=1, dtype=np.float32)[:, -1]
        size = np.abs(of_rows).sum(axis=1)
        error = np.abs(found.astype(float) - expected_scores(model, rows)) / size
        assert error.max() < 2e-6  # many trees; each addition rounds by 6e-8


# Missing values ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["stumps", "lightgbm", "xgboost", "symmetric"])
def test_an_absent_feature_counts_as_zero(name):
    X, y = make_rows(5)
    model = fitted(FORESTS[name], X, y)
    text = to_xgboost_json(model, feature_names=NAMES)
    terms = readers.xgboost(text, NAMES)
    rows = X.astype(np.float32)
    absent = rows.copy()
    absent[::2, 0], absent[1::2, 2] = np.nan, np.nan
    zeros = np.nan_to_num(absent, nan=0.0)
    for row, zero in zip(absent, zeros, strict=True):
        assert terms(row) == terms(zero)


@pytest.mark.parametrize("name", ["stumps", "all stumps", "lightgbm", "xgboost", "symmetric"])
@pytest.mark.parametrize("write", [to_ranklib, to_xgboost_json])
def test_learned_branches_of_missing_values_are_refused(name, write):
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 300)
    # Missing values are like large ones, and 0 like small ones; for XGBoost the other way round.
    x = np.where(y > 0, 2.0, 1.0) + random.normal(size=300) / 9
    x[(random.random(300) < 0.3) & (y > 0)] = np.nan
    table = pd.DataFrame({"a": -x if name == "xgboost" else x, "b": random.normal(size=300)})
    model = fitted(FORESTS[name], table, y)
    message = r"learned from missing values of column 0.* fit the ranker to rows with 0 instead"
    with pytest.raises(ValueError, match=message):
        write(model)


# Thresholds of trees -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("threshold", "goes_left", "goes_right"),
    [
        (0.5, [0.5, -1.0], [0.50000006]),
        (0.1, [0.099999994], [0.1]),  # 0.1 of single precision is above that of double
        (1e-36, [0.0, 1e-36, 1e-35], [1.1e-35]),  # all of these are zero for LightGBM
        (0.0, [-1.0, 1e-35], [1.1e-35]),
        (-1e-36, [-1.1e-35], [-1e-35, 0.0]),
        (1e300, [3.4028235e38, -1.0], []),
        (-1e300, [], [-3.4028235e38, 1.0]),
    ],
)
def test_features_go_where_lightgbm_sends_them(threshold, goes_left, goes_right):
    numbers = [0, -1, -1], [threshold, 0.0, 0.0], [1, 0, 0], [2, 0, 0], [False] * 3, [0.0, 7.0, 9.0]
    tree = TreeArrays(*map(np.array, numbers))
    root = tree_node(tree, "lightgbm")
    is_leaf = not (goes_left and goes_right)
    assert isinstance(root, Leaf if is_leaf else Split)
    for values, leaf in ((goes_left, 7.0), (goes_right, 9.0)):
        for x in np.array(values, dtype=np.float32).tolist():
            found = root if is_leaf else root.left if x <= root.limit else root.right
            assert found == Leaf(leaf)


# Names -------------------------------------------------------------------------------------------


def test_names_are_those_of_the_table():
    X, y = make_rows(0)
    model = fitted(LINEAR["scaled"], pd.DataFrame(X, columns=NAMES), y)
    assert list(json.loads(to_linear_json(model, drop_constant=True))) == NAMES


# What is refused ---------------------------------------------------------------------------------

X, Y = make_rows(1)
WRITERS = [
    to_ranklib,
    lambda model: to_xgboost_json(model, feature_names=NAMES),
    lambda model: to_linear_json(model, feature_names=NAMES),
]
LISTS, STUMPS, OF_CATEGORIES = ListNetLinear(), RankBoost(**FEW), "split of categories, on column 2"
CATEGORIES = np.column_stack([X[:, :2], np.arange(len(X)) % 4])
LEVELS = (np.arange(len(X)) % 4 < 2).astype(int)

REFUSED = {
    "kernel": (KernelPairwiseSGDRanker(max_iter=5), r"kernel='rbf' cannot be exported to"),
    "estimators": (RankBoost(n_estimators=2, weak_ranker=Ridge()), r"weak_ranker=Ridge\(\)"),
    "stump categories": (RankBoost(n_estimators=5, categorical_features=[2]), OF_CATEGORIES),
    **{
        f"{engine} categories": (
            BoostedTreesRanker(engine=engine, categorical_features=[2], **TREES),
            OF_CATEGORIES,
        )
        for engine in ("xgboost", "lightgbm", "symmetric")
    },
    "a step": (
        [PolynomialFeatures(), LISTS],
        "step 'polynomialfeatures', PolynomialFeatures, before ListNetLinear",
    ),
    "an encoder": ([chosen(PolynomialFeatures(), [0]), STUMPS], "step 'columntransformer'"),
    "a mask of columns": (
        [chosen("passthrough", [False, True, True]), STUMPS],
        r"step 'columntransformer'.* lists of columns",
    ),
    "an imputer": ([SimpleImputer(add_indicator=True), STUMPS], "step 'simpleimputer'"),
    "no holes": ([SimpleImputer(), STUMPS], "SimpleImputer with add_indicator that has met no"),
    "a clip": (
        [MinMaxScaler(clip=True), LISTS],
        r"step 'minmaxscaler'.* Only .* MinMaxScaler \(without clip\)",
    ),
    "scaled trees": (
        [StandardScaler(), STUMPS],
        "step 'standardscaler', StandardScaler, before RankBoost .* before a linear model",
    ),
}
HOLES = np.where(np.arange(180).reshape(60, 3) % 17 == 0, np.nan, X)


def rows_of_case(name):
    return (CATEGORIES, LEVELS) if "categories" in name else (HOLES if "an imp" in name else X, Y)


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("name", REFUSED)
def test_what_no_form_holds_is_named(name, write):
    model, message = REFUSED[name]
    model = make_pipeline(*model) if isinstance(model, list) else model
    with pytest.raises(ValueError, match=message):
        write(fitted(model, *rows_of_case(name)))


@pytest.mark.parametrize("write", WRITERS)
def test_other_models_are_refused(write):
    model = LogisticRegression().fit(X, Y > 0)
    members = [("a", RankBoost(**FEW)), ("b", ListNetLinear(relevance="binary"))]
    ensemble = RankingEnsemble(members, cv=2).fit(X, Y > 0)
    with pytest.raises(TypeError, match=r"LogisticRegression cannot be exported to .* RankBoost"):
        write(model)
    with pytest.raises(TypeError, match="RankingEnsemble cannot be exported to"):
        write(ensemble)
    with pytest.raises(NotFittedError):
        write(RankBoost())


def test_linear_models_are_no_trees_nor_trees_linear():
    line, trees = fitted(LINEAR["lists"], X, Y), fitted(FORESTS["stumps"], X, Y)
    with pytest.raises(ValueError, match=r"ListNetLinear is linear with .*; use to_linear_json"):
        to_ranklib(line)
    with pytest.raises(ValueError, match="use to_linear_json, not"):
        to_xgboost_json(line, feature_names=NAMES)
    with pytest.raises(ValueError, match="RankBoost is not linear"):
        to_linear_json(trees, feature_names=NAMES)


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        (None, ValueError, "3 features without names. Pass feature_names"),
        (["a", "b"], ValueError, "each of the 3 features of ListNetLinear once"),
        (["a", "b", "b"], ValueError, "once"),
        (["a", "b", 3], ValueError, "strings"),
        (["a", "b", ""], ValueError, "non-empty strings"),
        ("abc", ValueError, "Got 'abc'"),
    ],
)
def test_names_that_do_not_fit(names, error, message):
    with pytest.raises(error, match=message):
        to_linear_json(fitted(LINEAR["lists"], X, Y), feature_names=names)


def test_columns_may_be_counted_from_the_end():
    last = chosen("passthrough", [-2, -1])
    model = make_pipeline(last, RankBoost(**FEW)).fit(X, Y > 0)
    rows = X.astype(np.float32)
    assert_same(read("xgboost", model), expected_scores(model, rows), rows, 1e-12)
    line = make_pipeline(last, ListNetLinear(**GRADED)).fit(X, Y)
    weights = json.loads(to_linear_json(line, feature_names=NAMES))
    assert list(weights.values()) == [0.0, *line[-1].coef_]
