"""Contributions of RankingEnsemble: slopes of maps, paths of trees, columns, samples."""

import pickle
from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from test_persistence import through_skops

from sklearn_rank import KernelPairwiseSGDRanker, ListNetLinear, RankBoost
from sklearn_rank.datasets import make_queries
from sklearn_rank.ensemble import RankingEnsemble, ScoreMap
from sklearn_rank.ensemble import contributions as module

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 4))
Y = X[:, 0] + X[:, 1] ** 2 + RNG.standard_normal(200) > 1
FRAME = pd.DataFrame(X.round(1), columns=["a", "b", "c", "d"])
FRAME["kind"] = pd.Categorical(np.where(X[:, 0] > 1, None, np.where(X[:, 1] > 0, "u", "v")))
FOREST = {"n_estimators": 10, "max_depth": 4, "random_state": 0}
LINEAR = make_pipeline(StandardScaler(), LogisticRegression())


def fitted(*members, X=X, y=Y, **options):
    """An ensemble in which each member has weight: bags have half of the members."""
    named = [(f"m{i}", one) for i, one in enumerate(members)]
    model = RankingEnsemble(named, cv=2, n_bags=12, random_state=0, **options).fit(X, y)
    assert len(model.estimators_) == len(members)
    return model


def assert_sums_to_the_score(model, X):
    parts = model.contributions(X)
    assert parts.shape == (X.shape[0], X.shape[1] + 1)
    assert np.unique(parts[:, -1]).size == 1
    scores = model.predict(X) if model.relevance == "graded" else model.decision_function(X)
    np.testing.assert_allclose(parts.sum(axis=1), scores, rtol=1e-9, atol=1e-9)
    return parts


# The slope of a map ------------------------------------------------------------------------


@given(st.lists(st.floats(-50, 50), min_size=3, max_size=12), st.booleans(), st.data())
def test_the_secant_is_the_slope_between_two_scores(scores, of_probability, data):
    scores = np.array(scores)
    if of_probability:
        scores = 1 / (1 + np.exp(-scores))
    made = ScoreMap.fit(scores, np.arange(len(scores)) % 2, of_probability=of_probability)
    constant = data.draw(st.sampled_from(scores))
    slopes = made.secant(constant, scores)
    assert (slopes >= 0).all() and np.isfinite(slopes).all()
    change = made(scores) - made(constant)
    np.testing.assert_allclose(slopes * (scores - constant), change, rtol=1e-9, atol=1e-9)
    assert slopes[scores == constant] == pytest.approx(made.secant(constant, [constant])[0])


@pytest.mark.parametrize("of_probability", [False, True])
def test_the_slope_at_the_constant_is_the_limit_of_secants(of_probability):
    scores = RNG.random(300)
    made = ScoreMap.fit(scores, np.arange(300) % 3, of_probability=of_probability)
    for constant in (0.2, 0.5, 0.93):
        expected = (made(constant + 1e-8) - made(constant)) / 1e-8
        assert made.secant(constant, [constant]) == pytest.approx(expected, rel=1e-5)
    assert np.isfinite(ScoreMap(made.score, made.value, True).secant(1.0, [1.0, 0.0])).all()


# Sums --------------------------------------------------------------------------------------

PREPARED = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), ["kind"]),
    (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["d", "a"]),
    remainder="passthrough",
)
KINDS = {
    "rankers and forests": (RankBoost(n_estimators=5), ExtraTreesClassifier(**FOREST)),
    "trees": (DecisionTreeClassifier(max_depth=3), RandomForestClassifier(**FOREST)),
    "sure trees": (ExtraTreesClassifier(random_state=0), RankBoost(n_estimators=5)),
    "sampled": (GaussianNB(), KernelPairwiseSGDRanker(), LINEAR),
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_sum_to_the_score(kind):
    model = fitted(*KINDS[kind])
    assert hasattr(model, "background_") == (kind == "sampled")
    parts = assert_sums_to_the_score(model, X[:9])  # training rows: sure trees give 0 and 1
    np.testing.assert_allclose(model.contributions(X[3:5]), parts[3:5], rtol=1e-9, atol=1e-12)
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(other.contributions(X[:9]), parts)


def test_grades_and_queries():
    data = make_queries(n_queries=24, rows_per_query=8, n_features=4, random_state=0)
    members = ListNetLinear(), ExtraTreesRegressor(**FOREST), Ridge()
    model = RankingEnsemble([(f"{one}", one) for one in members], relevance="graded", n_bags=12)
    model.fit(data.data, data.target, qid=data.qid)
    assert_sums_to_the_score(model, data.data[:20])
    # Maps of queries multiply: contributions are the weighted ones of the members.
    name = f"{members[0]}"
    alone = RankingEnsemble([(name, members[0])], relevance="graded")
    alone.fit(data.data, data.target, qid=data.qid)
    expected = alone.maps_[name](alone.estimators_[name].contributions(data.data))
    np.testing.assert_allclose(alone.contributions(data.data), expected)


@pytest.mark.parametrize("frame_of", [lambda frame: frame, pl.from_pandas])
def test_categories_of_a_data_frame(frame_of):
    frame = frame_of(FRAME)
    if frame is not FRAME and sklearn.__version__.startswith("1.8."):
        pytest.skip("scikit-learn 1.8 passes no columns of polars through")
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False), [4]), remainder="passthrough"
    )
    members = [make_pipeline(encoder, last) for last in (ExtraTreesClassifier(**FOREST), Ridge())]
    native = HistGradientBoostingClassifier(max_iter=5) if frame is FRAME else GaussianNB()
    members += [native] if frame is FRAME else []
    model = fitted(*members, X=frame)
    assert_sums_to_the_score(model, frame[:12])
    other = through_skops(model)
    np.testing.assert_array_equal(other.contributions(frame[:3]), model.contributions(frame[:3]))


def test_dates_of_a_data_frame():
    frame = FRAME.assign(when=pd.date_range("2020-01-01", periods=200))
    chosen = make_column_transformer(("passthrough", ["a", "b"]), ("drop", ["when"]))
    model = fitted(make_pipeline(chosen, LogisticRegression()), X=frame)
    assert (assert_sums_to_the_score(model, frame[:5])[:, 2:-1] == 0).all()


def test_sparse_rows():
    members = ExtraTreesClassifier(**FOREST), make_pipeline(MaxAbsScaler(), LogisticRegression())
    rows = sparse.csr_array(np.where(X > 0.5, X, 0))
    model = fitted(*members, X=rows)
    parts = assert_sums_to_the_score(model, rows[:9])
    np.testing.assert_allclose(model.contributions(rows[:9].toarray()), parts, atol=1e-12)


# Differences along the path ----------------------------------------------------------------


def along_the_path(forest, row, probability):
    """By definition: each split on the way of a row counts for its feature."""
    parts = np.zeros(len(row))
    for one in forest.estimators_:
        tree, node = one.tree_, 0
        while tree.children_left[node] >= 0:
            feature, left = tree.feature[node], np.float32(row[tree.feature[node]])
            is_left = left <= tree.threshold[node]
            after = (tree.children_left if is_left else tree.children_right)[node]
            parts[feature] += probability(tree.value[after]) - probability(tree.value[node])
            node = after
    return parts / len(forest.estimators_)


def test_forests_are_divided_along_the_path():
    forest = RandomForestClassifier(**FOREST).fit(X, Y)
    found = module.own_contributions(forest, X)
    for row, parts in zip(X[:20], found, strict=False):
        expected = along_the_path(forest, row, lambda value: value[0, 1] / value[0].sum())
        np.testing.assert_allclose(parts, expected, atol=1e-12)
    roots = [one.tree_.value[0, 0, 1] for one in forest.estimators_]
    constant = forest.predict_proba(X)[:, 1] - found.sum(axis=1)
    np.testing.assert_allclose(constant, np.mean(roots))


def test_features_of_a_pipeline_are_summed_to_its_columns():
    forest = make_pipeline(PREPARED, ExtraTreesClassifier(**FOREST)).fit(FRAME, Y)
    columns = module.columns_of_features([("prepared", PREPARED)], np.arange(5))
    assert columns.tolist() == [4, 4, 4, 3, 0, 1, 2]
    found = module.own_contributions(forest, module.FrameRows(FRAME))
    features = module.own_contributions(forest[-1], PREPARED.transform(FRAME))
    np.testing.assert_allclose(found[:, 4], features[:, :3].sum(axis=1))
    np.testing.assert_allclose(found[:, [3, 0, 1, 2]], features[:, 3:])


@pytest.mark.parametrize(
    "step",
    [
        PolynomialFeatures(2),
        OneHotEncoder(drop="first", handle_unknown="ignore"),
        make_column_transformer((StandardScaler(), slice(0, 2)), remainder="passthrough"),
    ],
)
def test_other_steps_are_sampled(step):
    values = np.round(X)
    model = make_pipeline(step, DecisionTreeClassifier(max_depth=3)).fit(values, Y)
    assert module.own_contributions(model, values) is None


# Samples -----------------------------------------------------------------------------------


class OfFeatures(RegressorMixin, BaseEstimator):
    """A sum of functions of single features, and a product of some."""

    def __init__(self, n_factors=0):
        self.n_factors = n_factors

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return np.sin(X).sum(axis=1) + np.cos(X[:, : self.n_factors]).prod(axis=1)


def by_all_orders(model, row, background):
    """Shapley values by definition: the mean over the background and over all orders."""
    parts, orders = np.zeros(len(row)), list(permutations(range(len(row))))
    for order in orders:
        mixed = background.copy()
        for feature in order:
            before = model.predict(mixed).mean()
            mixed[:, feature] = row[feature]
            parts[feature] += (model.predict(mixed).mean() - before) / len(orders)
    return parts


@pytest.mark.parametrize(("n_factors", "tolerance"), [(0, 1e-12), (2, 1e-12), (4, 0.1)])
def test_samples_are_shapley_values(n_factors, tolerance):
    member, background = OfFeatures(n_factors).fit(X, Y), X[:50]
    found, constant = module.sampled_shapley("a", member, X[60:64], list(background.T))
    assert constant == pytest.approx(member.predict(background).mean())
    expected = [by_all_orders(member, row, background) for row in X[60:64]]
    np.testing.assert_allclose(found, expected, atol=tolerance)


def test_background_rows_are_drawn_by_weight_whatever_the_order():
    weight, order = RNG.integers(0, 3, 200), RNG.permutation(200)
    options = {"cv": 2, "random_state": 3}
    one = RankingEnsemble([("a", LINEAR)], **options).fit(X, Y, sample_weight=weight)
    rows = order.repeat(weight[order])
    other = RankingEnsemble([("a", LINEAR)], **options).fit(X[rows], Y[rows])
    np.testing.assert_array_equal(one.background_, other.background_)


def test_many_rows_are_sampled_for_no_member():
    model = fitted(LINEAR, ExtraTreesClassifier(**FOREST))
    with pytest.raises(ValueError, match=r"member 'm0', for up to 1000 .*\(1001, 4\): pass few"):
        model.contributions(np.ones((1001, 4)))
    quick = fitted(RankBoost(n_estimators=5), ExtraTreesClassifier(**FOREST))
    assert quick.contributions(np.ones((1001, 4))).shape == (1001, 5)
