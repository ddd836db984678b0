"""The contributions of features to scores: Shapley values over the training rows."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.definitions import shapley_values
from rankers import BOOSTERS, cheap
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from strategies import problems
from tiers import crossed

from sklearn_rank import KernelPairwiseSGDRanker, ListNetLinear, PNormPushRanker, RankBoost
from sklearn_rank.models import FeatureRules, LinearModel, Stumps
from sklearn_rank.solvers import Corrective

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class Squares:
    """A model of one's own, h(x) = x_j^2, whose rules are functions of single features."""

    name, allow_nan, sparse = "squares", False, False

    def on_rows(self, rows):
        return SquareColumns(rows.X**2, rows.order)


class SquareColumns(LinearModel):
    def rules(self, indices):
        return SquareRules(FeatureRules(indices))


class SquareRules:
    def __init__(self, rules):
        self.rules, self.equal = rules, rules.equal

    def scores(self, X, weights, threads=None):
        return self.rules.scores(X**2, weights)

    def contributions(self, X, weights, n_features):
        return self.rules.contributions(X**2, weights, n_features)


LBFGS = {"solver": "lbfgs", "alpha": 0.1}
FORMS = {
    **{f"{booster.__name__}-stump": (booster, {}) for booster in BOOSTERS},
    **{
        f"{booster.__name__}-feature": (booster, {"weak_ranker": "feature"}) for booster in BOOSTERS
    },
    "few bins": (RankBoost, {"max_bins": 2}),
    "own model": (RankBoost, {"weak_ranker": Squares()}),
    "own model-lbfgs": (PNormPushRanker, {"weak_ranker": Squares(), **LBFGS}),
    "push-lbfgs": (PNormPushRanker, LBFGS),
    "push-corrective": (PNormPushRanker, {"solver": Corrective()}),
    "bags": (RankBoost, {"n_bags": 3, "random_state": 0}),
    "push-lbfgs-feature": (PNormPushRanker, {"weak_ranker": "feature", **LBFGS}),
    "push-inf": (PNormPushRanker, {"p": np.inf, **LBFGS}),
    "ListNetLinear": (ListNetLinear, {}),
    "ListNetLinear-l1": (ListNetLinear, {"penalty": "l1", "alpha": 0.05}),
    "ListNetLinear-ogd": (ListNetLinear, {"solver": "ogd", "eta0": 0.1, "max_iter": 3}),
    "kernel-gd": (KernelPairwiseSGDRanker, {"kernel": "linear", "solver": "gd", "max_iter": 9}),
    "kernel-lbfgs": (KernelPairwiseSGDRanker, {"kernel": "linear"}),
}
TAKES_NAN = [
    name
    for name, (ranker, known) in FORMS.items()
    if ranker in BOOSTERS and "weak_ranker" not in known
]
LINEAR = [name for name in FORMS if re.search("feature|ListNet|kernel", name)]
ONE_OF_EACH = ["RankBoost-stump", "RankBoost-feature", "own model", "ListNetLinear", "kernel-lbfgs"]
every_form = pytest.mark.parametrize("form", FORMS)
one_of_each = pytest.mark.parametrize("form", ONE_OF_EACH)


def make(form, relevance="graded", **parameters):
    ranker, known = FORMS[form]
    return ranker(**{**cheap(ranker, 6), **known, "relevance": relevance, **parameters})


def scores(ranker, X):
    return ranker.predict(X) if ranker.relevance == "graded" else ranker.decision_function(X)


def make_data(n=24, relevance="graded", missing=False, seed=0):
    """Rows of four features, the last a constant."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 4)), 1)
    X[:, 3] = 2.0
    y = np.digitize(X[:, 0] - X[:, 1] ** 2 + rng.normal(size=n), [-1, 0.5]).astype(float)
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    return X, y if relevance == "graded" else y > 0


def training_rows(ranker, y, qid, weight):
    """Return what the model is fitted to: boosting leaves graded rows without a pair out."""
    there = weight > 0
    if type(ranker) in BOOSTERS and ranker.relevance == "graded":
        query = np.zeros(len(y)) if qid is None else np.unique(qid, return_inverse=True)[1]
        is_pair = (query[:, None] == query) & (y[:, None] != y) & there
        there &= is_pair.any(axis=1)
    return there


def assert_shapley(ranker, X, rows, weight):
    """Compare a few rows with the definition."""
    scale = 1 + np.abs(scores(ranker, X)).max()
    found = ranker.contributions(X)
    assert found.dtype == np.float64
    assert found.shape == (len(X), X.shape[1] + 1)
    np.testing.assert_allclose(found.sum(axis=1), scores(ranker, X), rtol=0, atol=1e-9 * scale)
    for x, parts in zip(X[:4], found, strict=False):
        expected = shapley_values(lambda mixed: scores(ranker, mixed), x, X[rows], weight[rows])
        np.testing.assert_allclose(parts, expected, rtol=0, atol=1e-9 * scale)


# The definition -----------------------------------------------------------------------------


@crossed(
    form=list(FORMS),
    relevance=["binary", "graded"],
    weights=["none", "integers", "reals"],
    queries=[False, True],
    missing=[False, True],
)
def test_they_are_shapley_values(form, relevance, weights, queries, missing):
    X, y = make_data(relevance=relevance, missing=missing and form in TAKES_NAN)
    rng = np.random.default_rng(1)
    kinds = {"integers": rng.integers(0, 3, len(y)), "reals": rng.uniform(0.2, 2, len(y))}
    weight = kinds.get(weights)
    # A query of one row has no pair.
    qid = np.append(rng.integers(0, 2, len(y) - 1), 7) if queries else None
    ranker = make(form, relevance).fit(X, y, qid=qid, sample_weight=weight)
    weight = np.ones(len(y)) if weight is None else weight
    assert_shapley(ranker, X, training_rows(ranker, y, qid, weight), weight)


@settings(max_examples=3 * settings.default.max_examples)
@given(problem=problems(), form=st.sampled_from(list(FORMS)))
def test_they_are_shapley_values_of_anything(problem, form):
    ranker = make(form).fit(problem.X, problem.y, qid=problem.qid, sample_weight=problem.w)
    weight = np.ones(len(problem.y)) if problem.w is None else problem.w
    rows = training_rows(ranker, problem.y, problem.qid, weight)
    assert_shapley(ranker, problem.X, rows, weight)


# Laws ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", LINEAR)
def test_sparse_rows(form):
    X, y = make_data()
    X[:, 3] = 0.0
    ranker = make(form).fit(csr_array(X), y)
    dense = make(form).fit(X, y)
    np.testing.assert_array_equal(ranker.contributions(csr_array(X)), ranker.contributions(X))
    np.testing.assert_allclose(ranker.contributions(X), dense.contributions(X), atol=1e-7)


# Fits that go on ----------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"weak_ranker": "feature"}, {"weak_ranker": Squares()}])
def test_rows_held_out_are_no_training_rows(options, seen):
    X, y = make_data(60)
    stopped = {"n_iter_no_change": 2, "validation_fraction": 0.5, "refit_stopped": False}
    ranker = RankBoost(n_estimators=8, random_state=0, relevance="graded", **stopped, **options)
    ranker.fit(X, y)
    found = ranker.contributions(seen.train.X)
    np.testing.assert_allclose(found[:, :-1].mean(axis=0), 0, atol=1e-12)
    assert_shapley(ranker, X, seen.train.position, np.ones(60))


@pytest.mark.parametrize("form", ["RankBoost-stump", "push-lbfgs", "RankBoost-feature"])
def test_a_warm_start(form):
    X, y = make_data()
    ranker = make(form, n_estimators=3, warm_start=True).fit(X, y)
    ranker.set_params(n_estimators=8).fit(X, y)
    assert_shapley(ranker, X, np.arange(len(y)), np.ones(len(y)))


def test_partial_fit_has_the_rows_of_all_calls():
    X, y = make_data(40)
    weight = np.random.default_rng(0).integers(0, 4, 40)
    first, second, third = slice(0, 11), slice(11, 30), slice(30, 40)
    ranker = make("ListNetLinear-ogd")
    for rows in (first, second):
        ranker.partial_fit(X[rows], y[rows], sample_weight=weight[rows])
    assert_shapley(ranker, X, np.arange(30), weight)
    ranker.fit(X[first], y[first]).partial_fit(X[third], y[third])
    assert_shapley(ranker, X, np.r_[first, third], np.ones(40))


# Input --------------------------------------------------------------------------------------


@one_of_each
def test_input_is_checked_as_that_of_scores(form):
    X, y = make_data()
    with pytest.raises(NotFittedError):
        make(form).contributions(X)
    frame = pd.DataFrame(X, columns=list("abcd"))
    ranker = make(form).fit(frame, y)
    plain = make(form).fit(X, y)
    np.testing.assert_allclose(ranker.contributions(frame), plain.contributions(X), atol=1e-12)
    with pytest.raises(ValueError, match="X has 3 features, but"):
        plain.contributions(X[:, :3])
    with pytest.raises(ValueError, match="feature names should match"):
        ranker.contributions(frame[["b", "a", "c", "d"]])
    if form not in TAKES_NAN:
        with pytest.raises(ValueError, match="NaN"):
            ranker.contributions(frame.where(X < 1))


# Rankers without them -----------------------------------------------------------------------


class OnlyScores(Squares):
    """A model whose rules may be functions of several features."""

    def __repr__(self):
        return "OnlyScores()"

    def on_rows(self, rows):
        columns = SquareColumns(rows.X**2, rows.order)
        columns.rules = lambda indices: WithoutParts(FeatureRules(indices))
        return columns


class WithoutParts:
    def __init__(self, rules):
        self.scores, self.equal = rules.scores, rules.equal


@pytest.mark.parametrize(
    ("ranker", "words"),
    [
        *(
            (booster(weak_ranker=weak_ranker, n_estimators=2), [booster.__name__, *words])
            for booster in BOOSTERS
            for weak_ranker, words in [
                (LinearRegression(), ["Got weak_ranker=LinearRegression()"]),
                (OnlyScores(), ["rules have contributions", "OnlyScores"]),
            ]
        ),
        (KernelPairwiseSGDRanker(), ["KernelPairwiseSGDRanker", "with kernel='linear'", "'rbf'"]),
    ],
    ids=str,
)
def test_what_is_no_sum_of_functions_of_single_features(ranker, words):
    X, y = make_data(relevance="binary")
    ranker.fit(X, y)
    assert not hasattr(ranker, "contributions")
    with pytest.raises(AttributeError, match="contributions") as caught:
        ranker.contributions(X)
    message = str(caught.value.__cause__)
    for word in ["has contributions only if its score is a sum of functions of", *words]:
        assert word in message


def test_parameters_tell_before_a_fit():
    assert hasattr(RankBoost(), "contributions")
    assert hasattr(RankBoost(weak_ranker=Squares()), "contributions")
    assert hasattr(KernelPairwiseSGDRanker(kernel="linear"), "contributions")
    assert not hasattr(RankBoost(weak_ranker=LinearRegression()), "contributions")
    assert not hasattr(RankBoost(weak_ranker=None), "contributions")  # which fit refuses


@pytest.mark.parametrize(
    ("ranker", "options"),
    [
        *((ranker, {}) for ranker in BOOSTERS),
        (RankBoost, {"n_bags": 2}),
        (PNormPushRanker, {"weak_ranker": Stumps(min_bin_size=0.1)}),
    ],
)
@pytest.mark.parametrize("relevance", ["binary", "graded"])
def test_what_training_did_not_teach_contributes_nothing(ranker, options, relevance):
    """No missing value, few of them; levels that are rare together or not; and in training rows."""
    random, n = np.random.default_rng(0), 600
    X = np.column_stack([random.normal(size=(n, 2)), random.integers(0, 3, (n, 2))])
    X[:3, 1], X[:20, 2], X[:3, 3] = np.nan, 3 + np.arange(20) % 5, [3, 4, 5]
    X, weight = X[random.permutation(n)], random.integers(1, 4, n).astype(float)
    y = np.minimum(2, np.nan_to_num(X).sum(axis=1) + random.normal(0, 2, n) > 2)
    task = {"qid": np.arange(n) % 4} if relevance == "graded" else {}
    model = ranker(n_estimators=30, categorical_features=[2, 3], relevance=relevance, **options)
    model.fit(X, y, sample_weight=weight, **task)
    rows = np.where(np.eye(4, dtype=bool), np.nan, np.tile(X[-1], (4, 1)))
    unseen = np.where(np.eye(4, dtype=bool)[2:], 99.0, np.tile(X[-1], (2, 1)))
    parts = model.contributions(np.vstack([rows, unseen]))[:, :4]
    assert np.abs(np.concatenate([np.diag(parts), parts[[4, 5], [2, 3]]])).max() < 1e-9
    of_training = model.contributions(X)[:, :4]
    np.testing.assert_allclose(weight @ of_training, 0.0, atol=1e-9 * weight.sum())
    assert np.ptp(of_training, axis=0).all()
    few = np.isnan(X[:, 1])
    assert few.sum() == 3
    np.testing.assert_allclose(of_training[few, 1], 0.0, atol=1e-9)
