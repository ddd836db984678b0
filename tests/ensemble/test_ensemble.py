"""RankingEnsemble: definition, folds, members of all kinds, storage, and what it refuses."""

import pickle

import joblib
import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pytest
import skops.io
from scipy import sparse
from skl2onnx import to_onnx
from sklearn import config_context, model_selection
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier, is_regressor
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from sklearn_rank import KernelPairwiseSGDRanker, ListNetLinear, RankBoost
from sklearn_rank._core.rows import Rows
from sklearn_rank.datasets import make_queries
from sklearn_rank.ensemble import HeldOutLabels, RankingEnsemble, ScoreMap, select_members
from sklearn_rank.ensemble.members import (
    _FEWEST_ROWS,
    FrameRows,
    NumberScaler,
    _scaled,
    _suits_histograms,
    auto_members,
)
from sklearn_rank.export.onnx import register_converters
from sklearn_rank.metrics import auc_score, partial_auc_score
from sklearn_rank.model_selection import QueryKFold

RNG = np.random.default_rng(0)


def test_folds_may_be_read_only_once():
    X, y = make_rows()
    members = [("a", LogisticRegression()), ("b", GaussianNB())]
    once = RankingEnsemble(members, cv=model_selection.KFold(3).split(X)).fit(X, y)
    listed = RankingEnsemble(members, cv=list(model_selection.KFold(3).split(X))).fit(X, y)
    np.testing.assert_array_equal(once.decision_function(X), listed.decision_function(X))


def make_rows(n=160):
    X = RNG.standard_normal((n, 4))
    return X, (X[:, 0] + X[:, 1] ** 2 + RNG.standard_normal(n)) > 1.5


X, Y = make_rows()
SPLITS = list(model_selection.KFold(3, shuffle=True, random_state=0).split(X))
QUERIES = make_queries(n_queries=24, rows_per_query=8, n_features=4, random_state=0)
STUMPS = RankBoost(n_estimators=5)
LINEAR = make_pipeline(StandardScaler(), LogisticRegression())
MEMBERS = [("linear", LINEAR), ("stumps", STUMPS), ("bayes", GaussianNB())]


def made(estimators=tuple(MEMBERS), **parameters):
    members = estimators
    if estimators != "auto":
        members = [(name, one if isinstance(one, str) else clone(one)) for name, one in estimators]
    return RankingEnsemble(members, **{"cv": 3, "random_state": 0, **parameters})


def own_scores(name, model, X):
    """Scores of a member, of `MEMBERS` or fitted."""
    return model.predict_proba(X)[:, 1] if name == "bayes" else model.decision_function(X)


def out_of_fold(members=MEMBERS, y=Y):
    """Scores by clones that were fitted without the fold of a row, and the folds."""
    fold = np.empty(len(X), int)
    scores = {name: np.empty(len(X)) for name, _ in members}
    for number, (train, test) in enumerate(SPLITS):
        fold[test] = number
        for name, one in members:
            scores[name][test] = own_scores(name, clone(one).fit(X[train], y[train]), X[test])
    return scores, fold


class Counting(ClassifierMixin, BaseEstimator):
    """Naive Bayes that notes its fits in a list that clones share."""

    def __init__(self, notes=None, sign=1.0):
        self.notes, self.sign = notes, sign

    def __deepcopy__(self, memo):
        return Counting(self.notes, self.sign)

    def __sklearn_clone__(self):
        return Counting(self.notes, self.sign)

    def fit(self, X, y):
        self.notes.append(len(X))
        if self.sign == "stop":
            raise KeyboardInterrupt
        self.model_, self.classes_ = GaussianNB().fit(X, y), np.array([0, 1])
        return self

    def decision_function(self, X):
        return self.sign * self.model_.predict_log_proba(X)[:, 1]


# Definition --------------------------------------------------------------------------------


def test_a_score_is_the_weighted_mean_of_mapped_scores():
    model = made(cv=SPLITS).fit(X, Y)
    scores, fold = out_of_fold()
    found = select_members(
        scores, HeldOutLabels(Y, fold, np.ones(len(X))), of_probability={"bayes": True}
    )
    assert model.weights_ == found.weights
    assert sum(model.weights_.values()) == pytest.approx(1)
    assert model.score_estimate_ == found.score_estimate
    assert model.member_scores_ == found.member_scores
    expected = np.full(len(X), model.offset_)
    for name, one in MEMBERS:
        part = own_scores(name, clone(one).fit(X, Y), X)
        expected += found.weights[name] * found.maps[name](part)
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-10, atol=1e-10)
    assert set(model.estimators_) == {name for name, w in found.weights.items() if w > 0}


def test_scores_that_exist_need_no_fits_of_folds():
    scores, fold = out_of_fold()
    model = made(cv=SPLITS).fit(X, Y)
    notes = []
    other = made().fit_selected(X, Y, out_of_fold=scores, fold=fold)
    assert other.weights_ == model.weights_
    np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))
    assert other.score_estimate_ == model.score_estimate_
    assert set(vars(other)) == set(vars(model))
    one = made([("a", Counting(notes))])
    one.fit_selected(X, Y, out_of_fold={"a": scores["linear"]}, fold=fold)
    assert notes == [len(X)]
    # Rows that were never held out: their scores don't count.
    fold[:20], scores["linear"][:20] = -1, np.nan
    late = made().fit_selected(X, Y, out_of_fold=scores, fold=fold)
    kept = {name: values[20:] for name, values in scores.items()}
    found = select_members(
        kept, HeldOutLabels(Y[20:], fold[20:], np.ones(140)), of_probability={"bayes": True}
    )
    assert late.weights_ == found.weights


def test_members_of_weight_zero_are_not_fitted_anew():
    good, bad = [], []
    model = made([("good", Counting(good)), ("bad", Counting(bad, -1.0))]).fit(X, Y)
    assert model.weights_ == {"good": 1.0, "bad": 0.0}
    assert (len(good), len(bad)) == (4, 3)
    assert list(model.estimators_) == ["good"]


@pytest.mark.slow
def test_the_map_of_the_folds_serves_the_member_that_was_fitted_to_all_rows():
    X, y = make_rows(3000)
    X, X_new, y, y_new = model_selection.train_test_split(X, y, random_state=0)
    members = [*MEMBERS[:2], ("forest", RandomForestClassifier(50, random_state=0))]
    model = made(members, cv=5).fit(X, y)
    stored, together = model.decision_function(X_new), np.zeros(len(X_new))
    for name, one in model.estimators_.items():
        method = one.predict_proba if name == "forest" else one.decision_function
        scores = method(X_new)[:, 1] if name == "forest" else method(X_new)
        of_new = ScoreMap.fit(scores, np.zeros(len(scores)), of_probability=name == "forest")
        together += model.weights_[name] * of_new(scores)
    for metric, tolerance in [(auc_score, 0.002), (partial_auc_score, 0.005)]:
        assert abs(metric(y_new, stored) - metric(y_new, together)) <= tolerance
    found = model.score_estimate_["auc"]
    of_new = HeldOutLabels(y_new, np.zeros(len(y_new), int), np.ones(len(y_new)))
    other = of_new.estimates(stored)["auc"]
    error = np.hypot(found.standard_error, other.standard_error)
    assert abs(other.value - found.value) < 3 * error


def test_grades_and_classifiers_among_the_members():
    data = QUERIES
    members = [("ridge", Ridge()), ("listnet", ListNetLinear()), ("relevant", LINEAR)]
    model = made(members, relevance="graded").fit(data.data, data.target, qid=data.qid)
    relevant = clone(LINEAR).fit(data.data, data.target > 0)
    if "relevant" in model.estimators_:
        np.testing.assert_allclose(
            model.estimators_["relevant"].decision_function(data.data),
            relevant.decision_function(data.data),
        )
    assert set(model.score_estimate_) == {"auc", "ndcg@10"}
    assert not hasattr(model, "decision_function")
    assert model.score(data.data, data.target, qid=data.qid) > 0.7
    with pytest.raises(ValueError, match="fitted with qid"):
        model.score(data.data, data.target)
    # Of grades that are all above 0 a classifier learns those above the lowest.
    made([("relevant", LINEAR)], relevance="graded").fit(data.data, data.target + 1.0)


@pytest.mark.parametrize("relevance", ["binary", "graded"])
def test_automatic_members_learn_what_the_relevance_is(relevance):
    n_rows = 2 * _FEWEST_ROWS
    rows = Rows(RNG.standard_normal((n_rows, 2)), np.arange(n_rows) % 2.0, None, np.ones(n_rows))
    member = auto_members(rows, 0, relevance)["hist_gradient_boosting"]
    assert is_regressor(member) == (relevance == "graded")
    assert is_classifier(member) == (relevance == "binary")


def names_of_auto(n_rows, *, qid=None, highest=1.0, relevance="binary"):
    X, y = np.zeros((n_rows, 1)), np.where(np.arange(n_rows) % 2, highest, 0.0)
    members = auto_members(Rows(X, y, qid, np.ones(n_rows)), 0, relevance)
    return set(members) - {"hist_gradient_boosting"}


def test_automatic_members_depend_on_the_number_of_rows_and_on_queries():
    """A kernel up to 5,000 rows; with queries NDCG, up to the highest grade of the engines."""
    simple = {"logistic_regression", "stumps", "extra_trees", "trees"}
    assert names_of_auto(5000) == simple | {"rbf_kernel"}
    assert names_of_auto(5001) == simple
    qid = np.arange(60) // 6
    graded = {"qid": qid, "relevance": "graded"}
    with_queries = simple | {"linear"}
    assert names_of_auto(60, highest=31.0, **graded) == with_queries | {"trees_ndcg"}
    assert names_of_auto(60, highest=32.0, **graded) == with_queries
    assert names_of_auto(60, highest=0.5, **graded) == with_queries


def test_metadata_goes_to_each_member():
    members = [("linear", LogisticRegression()), ("stumps", STUMPS)]
    with config_context(enable_metadata_routing=True):
        members[0][1].set_fit_request(sample_weight=True)
        routed = made(members).get_metadata_routing()
        assert routed.consumes("fit", ["sample_weight", "qid"]) == {"sample_weight", "qid"}
        assert {"linear", "stumps"} <= set(routed._serialize())
        assert made("auto").get_metadata_routing() is not None


def test_classifiers_learn_0_and_1_whatever_the_labels():
    members = [("weighted", LogisticRegression(class_weight={1: 5})), MEMBERS[1]]
    expected, labels = made(members).fit(X, Y).decision_function(X), np.where(Y, "yes", "no")
    model = made(members).fit(X, labels)
    np.testing.assert_array_equal(model.decision_function(X), expected)
    assert model.classes_.tolist() == ["no", "yes"]
    assert np.mean(model.predict(X) == labels) > 0.7


# Folds -------------------------------------------------------------------------------------


def test_weight_2_is_the_row_twice_and_the_order_has_no_part():
    weight = RNG.integers(0, 4, len(X))
    some = RNG.permutation(np.arange(len(X)).repeat(weight))
    members = MEMBERS[1:]  # a product of matrices may round equal rows differently
    weighted = made(members).fit(X, Y, sample_weight=weight.astype(float))
    repeated = made(members).fit(X[some], Y[some])
    assert weighted.weights_ == pytest.approx(repeated.weights_)
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), rtol=1e-6
    )


def test_few_values_are_held_out_as_new_rows_are():
    """Most rows have equals in the other class: those of a class are not held out all at once."""
    random = np.random.default_rng(0)
    answers = random.integers(0, 3, (3000, 3)).astype(float)
    y = random.random(3000) < 1 / (1 + np.exp(1.5 - (answers - 1) @ [0.9, 0.6, 0.3]))
    trees = HistGradientBoostingClassifier(max_iter=20, early_stopping=False, min_samples_leaf=1)
    model = made([("trees", trees), MEMBERS[0]], cv=3).fit(answers[:800], y[:800])
    for name, scores in (
        ("trees", model.estimators_["trees"].predict_proba(answers[800:])[:, 1]),
        (None, model.decision_function(answers[800:])),
    ):
        estimates = model.score_estimate_ if name is None else model.member_scores_[name]
        assert estimates["auc"].value == pytest.approx(auc_score(y[800:], scores), abs=0.06)


def test_fewer_rows_of_a_class_than_folds():
    y = np.arange(len(X)) < 3
    with pytest.warns(UserWarning, match="uses 3 folds, not cv=5"):
        assert made(MEMBERS[2:], cv=5).fit(X, y).n_folds_ == 3
    with pytest.raises(ValueError, match="at least two distinct rows"):
        made().fit(X, np.arange(len(X)) < 1)


def test_queries_are_held_out_whole():
    data = QUERIES
    y = data.target > 0
    y[data.qid == data.qid[0]] = False  # a query without a pair is never held out
    options = {"X": data.data, "y": y, "qid": data.qid}
    model = made(MEMBERS[:2]).fit(**options)
    assert model.has_queries_
    with pytest.raises(ValueError, match="a fold must hold whole queries"):
        made(MEMBERS[:2], cv=list(model_selection.KFold(3, shuffle=True).split(y))).fit(**options)
    by_hand = made(MEMBERS[:2], cv=QueryKFold(3)).fit(**options)
    splits = list(QueryKFold(3).split(data.data, y, qid=data.qid))
    other = made(MEMBERS[:2], cv=splits).fit(**options)
    np.testing.assert_array_equal(
        by_hand.decision_function(data.data), other.decision_function(data.data)
    )
    few = np.where(data.qid < 3, data.qid, 0)
    with pytest.warns(UserWarning, match="uses 3 folds, not cv=5: .* queries with a pair"):
        made([("listnet", ListNetLinear(relevance="binary"))], cv=5).fit(
            data.data, data.target > 0, qid=few
        )


FOLD = np.arange(len(X)) % 3
GIVEN = {
    "numbers": [(np.flatnonzero(one != FOLD), np.flatnonzero(one == FOLD)) for one in range(3)],
    "masks": [(one != FOLD, one == FOLD) for one in range(3)],
    "predefined": model_selection.PredefinedSplit(FOLD),
}


@pytest.mark.parametrize("zeros", [slice(40), slice(-40, None)], ids=["first", "last"])
@pytest.mark.parametrize("kind", GIVEN)
def test_given_folds_are_of_the_rows_as_they_are_passed(kind, zeros):
    weight = np.ones(len(X))
    weight[zeros] = 0
    kept = np.flatnonzero(weight)
    model = made(MEMBERS[:2], cv=GIVEN[kind]).fit(X, Y, sample_weight=weight)
    other = made(MEMBERS[:2], cv=model_selection.PredefinedSplit(FOLD[kept])).fit(X[kept], Y[kept])
    assert model.score_estimate_ == other.score_estimate_
    np.testing.assert_array_equal(model.decision_function(X), other.decision_function(X))


def test_weights_of_a_period_come_from_earlier_rows():
    rng, time = np.random.default_rng(0), np.arange(600)
    rows = rng.standard_normal((600, 2))
    told = np.where(time < 360, rows[:, 0], rows[:, 1])  # by another column later
    y = 2 * told + rng.logistic(size=600) > 0
    members = [
        (f"column {j}", make_pipeline(make_column_transformer(("passthrough", [j])), GaussianNB()))
        for j in range(2)
    ]
    cv = model_selection.TimeSeriesSplit(4)
    model = made(members, cv=cv).fit(rows, y)
    fold, fitted = np.full(600, -1), {}
    scores = {name: np.empty(600) for name, _ in members}
    for number, (train, test) in enumerate(cv.split(rows)):
        fold[test], fitted[number] = number, np.isin(time, train)
        for name, one in members:
            scores[name][test] = one.fit(rows[train], y[train]).predict_proba(rows[test])[:, 1]
    kept = fold >= 0
    known = {name: one[kept] for name, one in scores.items()}
    labels = HeldOutLabels(y[kept], fold[kept], np.ones(kept.sum()))
    how = {"of_probability": dict.fromkeys(scores, True)}
    earlier = {number: one[kept] for number, one in fitted.items()}
    found = select_members(known, labels, fitted_to=earlier, **how)
    assert model.score_estimate_ == found.score_estimate
    of_any = select_members(known, labels, **how)
    assert found.score_estimate != of_any.score_estimate
    assert model.weights_ == of_any.weights


def test_a_fold_that_holds_out_nothing_is_left_out():
    nothing = [(np.arange(100), np.zeros(0, int))]
    model = made(MEMBERS[:2], cv=[*nothing, *SPLITS]).fit(X, Y)
    assert model.n_folds_ == 3
    assert model.score_estimate_ == made(MEMBERS[:2], cv=SPLITS).fit(X, Y).score_estimate_
    # So is one that holds out rows of weight zero alone.
    weight = np.where(SPLITS[0][1][:, np.newaxis] == np.arange(len(X)), 0.0, 1.0).min(axis=0)
    assert made(MEMBERS[:2], cv=SPLITS).fit(X, Y, sample_weight=weight).n_folds_ == 2


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([(np.arange(80, 161), np.arange(80)), SPLITS[0]], "indices of the 160 rows.* index 160"),
        ([(np.ones(161, bool), np.ones(161, bool))], "or masks of them"),
        (model_selection.PredefinedSplit(FOLD[:-1]), "or masks of them"),
        (model_selection.PredefinedSplit(np.append(FOLD, 0)), "or masks of them"),
        ([3, 4], r"yield \(train, test\) arrays"),
        ([], r"at least two folds.* Got \[\]"),
        (SPLITS[:1], r"at least two folds.* Got \[\(106, 54\)\]"),
        ([(np.arange(80), np.arange(80, 160)), (np.zeros(0, int), np.arange(80))], r"\(0, 80\)"),
    ],
    ids=range(8),
)
def test_given_folds_that_do_not_fit_the_rows(cv, message):
    with pytest.raises(ValueError, match=f"cv of RankingEnsemble must .*{message}"):
        made(MEMBERS[:2], cv=cv).fit(X, Y)


def test_a_row_is_held_out_at_most_once():
    with pytest.raises(ValueError, match="hold out a row at most once"):
        made(cv=model_selection.RepeatedKFold(n_splits=2, n_repeats=2)).fit(X, Y)


# Members -------------------------------------------------------------------------------------


def test_members_are_parameters_by_name():
    model = made()
    assert model.get_params()["stumps__n_estimators"] == 5
    assert "stumps" not in model.get_params(deep=False)
    model.set_params(stumps__n_estimators=2, bayes="drop", cv=2)
    assert dict(model.estimators)["stumps"].n_estimators == 2
    assert set(model.fit(X, Y).weights_) == {"linear", "stumps"}
    copy = clone(model.set_params(bayes=GaussianNB(), linear__logisticregression__C=0.5))
    assert copy.get_params()["linear__logisticregression__C"] == 0.5
    assert isinstance(copy.get_params()["bayes"], GaussianNB)
    assert RankingEnsemble().get_params()["estimators"] == "auto"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"estimators": "all"}, "'estimators' parameter .* must be 'auto' or a list"),
        ({"estimators": 5}, "'estimators' parameter .* must be 'auto' or a list"),
        ({"estimators": [("a", "drop")]}, "'estimators' parameter"),
        ({"estimators": [("cv", STUMPS)]}, "'estimators' parameter"),
        ({"estimators": [("a", STUMPS), ("a", STUMPS)]}, "'estimators' parameter"),
        ({"estimators": [("a__b", STUMPS)]}, "'estimators' parameter"),
        ({"estimators": [("a", RankBoost)]}, "'estimators' parameter"),
        ({"cv": 1}, "'cv' parameter"),
        ({"cv": "five"}, "'cv' parameter"),
        ({"scoring": "auc@3"}, "'scoring' parameter"),
        ({"n_steps": 0}, "'n_steps' parameter"),
    ],
    ids=str,
)
def test_parameters_that_are_not_allowed(parameters, message):
    with pytest.raises(ValueError, match=message):
        made().set_params(**parameters).fit(X, Y)


def test_a_member_without_weights_is_an_error_where_they_differ():
    model = made([("near", KNeighborsClassifier()), *MEMBERS])
    model.fit(X, Y, sample_weight=np.full(len(X), 2.0))
    with pytest.raises(ValueError, match=r"Member 'near' .* does not support sample_weight"):
        model.fit(X, Y, sample_weight=1.0 + Y)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    ("n_categories", "n_filled", "suits"), [(255, 20, True), (256, 20, False), (3, 19, False)]
)
def test_columns_that_histograms_can_not_take(kind, n_categories, n_filled, suits):
    numbers = np.where(np.arange(600) < n_filled, 1.0, np.nan)
    names = [f"{one:03}" for one in np.arange(600) % n_categories]
    frame = kind({"filled": numbers, "name": names})
    if kind is pd.DataFrame:
        frame["name"] = frame["name"].astype("category")
    else:
        frame = frame.with_columns(pl.col("name").cast(pl.Categorical))
    assert _suits_histograms(FrameRows(frame)) == suits
    assert _suits_histograms(np.column_stack([numbers, np.ones(600)])) == (n_filled >= 20)


def shops(n, rng):
    """Return rows with a category of many levels that tells nothing, some of them rare."""
    levels = np.minimum(rng.geometric(0.02, n), 200)
    frame = pd.DataFrame({"a": 40 + 10 * rng.standard_normal(n), "b": rng.standard_normal(n)})
    y = (frame["a"] - 45) / 10 + rng.standard_normal(n) > 0
    return frame.assign(shop=pd.Categorical(levels, categories=range(1, 201))), y.to_numpy()


@pytest.mark.parametrize("model", [LogisticRegression(), KernelPairwiseSGDRanker()], ids=repr)
def test_the_columns_of_rare_categories_are_not_blown_up(model):
    rng = np.random.default_rng(0)
    (frame, y), (new, y_new) = shops(400, rng), shops(2000, rng)
    pipeline = _scaled(FrameRows(frame), model).fit(frame, y)
    columns = pipeline[:-1].transform(frame)
    assert set(np.unique(columns[:, :-2])) == {0.0, 1.0}
    np.testing.assert_allclose(columns[:, -2:].std(axis=0), 1)
    assert auc_score(y_new, pipeline.decision_function(new)) > auc_score(y_new, new["a"]) - 0.02


def test_what_is_missing_is_a_column_of_a_linear_member():
    """Where a feature is missing the score may be of any height."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 1))
    X[:100] = np.nan
    pipeline = _scaled(X, LogisticRegression()).fit(X, (np.arange(300) < 100).astype(int))
    assert pipeline[:-1].transform(X).shape == (300, 2)
    assert pipeline.decision_function(X[:1]) > pipeline.decision_function(X[100:]).max()


def test_a_column_of_0_and_1_is_known_by_its_moments():
    rng = np.random.default_rng(0)
    x, weight = rng.standard_normal(300), rng.integers(1, 4, 300)
    rows = np.column_stack([x, 1e-9 * (x - x.mean()), x > 2, np.zeros(300), x > -9, 0.3 + 0 * x])
    scaler = NumberScaler().fit(rows, sample_weight=weight)
    assert scaler.scale_[2:].tolist() == [1.0] * 4
    assert scaler.mean_[2:4].tolist() == [0.0, 0.0]
    usual = StandardScaler().fit(rows, sample_weight=weight)
    np.testing.assert_array_equal(scaler.transform(rows)[:, :2], usual.transform(rows)[:, :2])
    repeated = NumberScaler().fit(np.repeat(rows, weight, axis=0))
    np.testing.assert_allclose(scaler.transform(rows), repeated.transform(rows), atol=1e-9)


def test_a_member_that_gives_no_number_is_named():
    class Lost(Ridge):
        def predict(self, X):
            return np.full(len(X), np.nan)

    shape = r"an array of shape \((\d+),\) for \1 rows, \1 of them NaN"
    with pytest.raises(ValueError, match=rf"Member 'lost' .* one finite score.* {shape}"):
        made([("lost", Lost())]).fit(X, Y)


def test_what_fit_selected_refuses_changes_nothing():
    scores, fold = out_of_fold()
    model = made().fit_selected(X, Y, out_of_fold=scores, fold=fold)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="needs estimators="):
        RankingEnsemble().fit_selected(X, Y, out_of_fold=scores, fold=fold)
    longer = np.append(fold, 0)
    with pytest.raises(ValueError, match=r"y has 160, fold has 161"):
        model.fit_selected(X, Y, out_of_fold=scores, fold=longer)
    with pytest.raises(ValueError, match=r"y has 160.* bayes has 161"):
        other = {**scores, "bayes": np.append(scores["bayes"], 0.0)}
        model.fit_selected(X, Y, out_of_fold=other, fold=fold)
    assert vars(model) == before
    scores["bayes"][3] = np.nan
    with pytest.raises(ValueError, match=r"bayes contains NaN"):
        model.fit_selected(X, Y, out_of_fold=scores, fold=fold)


def test_ctrl_c_leaves_nothing():
    model = made().set_params(bayes=Counting([], "stop"))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    # An earlier fit stays as it was.
    expected = model.set_params(bayes="drop").fit(X, Y).decision_function(X)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(bayes=Counting([], "stop")).fit(X[:100], Y[:100])
    np.testing.assert_array_equal(model.decision_function(X), expected)


@pytest.mark.skipif(joblib.__version__.startswith("1.3."), reason="joblib 1.3 prints no short runs")
def test_the_progress_of_the_fits_is_printed(capsys):
    made(MEMBERS[:2], verbose=1).fit(X, Y)
    assert "6 out of" in capsys.readouterr().err  # two members, three folds


def test_scoring_is_what_the_weights_maximise():
    model = made(scoring="tpr@0.2", cv=SPLITS, n_steps=3).fit(X, Y)
    scores, fold = out_of_fold()
    rows = HeldOutLabels(Y, fold, np.ones(len(X)))
    found = select_members(
        scores, rows, of_probability={"bayes": True}, scoring="tpr@0.2", n_steps=3
    )
    assert model.weights_ == found.weights
    assert "tpr@0.2" in model.score_estimate_


# Routing -------------------------------------------------------------------------------------


def test_metadata_is_routed():
    data, y = QUERIES, QUERIES.target > 0
    weight = RNG.integers(1, 4, len(y)).astype(float)
    members = [("listnet", ListNetLinear(relevance="binary")), ("stumps", STUMPS)]
    with config_context(enable_metadata_routing=True):
        linear = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=True),
            LogisticRegression().set_fit_request(sample_weight=True),
        )
        members = [
            *((name, clone(one).set_fit_request(sample_weight=True)) for name, one in members),
            ("linear", linear),
        ]
        model = made(members).fit(data.data, y, qid=data.qid, sample_weight=weight)
        search = model_selection.GridSearchCV(
            made(members[:2]), {"n_steps": [1, 2]}, cv=QueryKFold(2)
        )
        search.fit(data.data, y, qid=data.qid)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    plain = made(members).fit(data.data, y, qid=data.qid, sample_weight=weight)
    expected = plain.decision_function(data.data)
    np.testing.assert_allclose(model.decision_function(data.data), expected)


# Rows --------------------------------------------------------------------------------------


def test_sparse_rows_and_missing_values_are_as_the_members_take_them():
    dense = made([("linear", LogisticRegression())]).fit(X, Y)
    for kind in (sparse.csr_array, sparse.csc_matrix):
        other = made([("linear", LogisticRegression())]).fit(kind(X), Y)
        np.testing.assert_allclose(
            other.decision_function(kind(X)), dense.decision_function(X), atol=1e-5
        )
    with pytest.raises(TypeError, match="Sparse data"):
        made().fit(sparse.csr_array(X), Y)
    holes = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
    assert made([("stumps", STUMPS)]).fit(holes, Y).score(holes, Y) > 0.6
    with pytest.raises(ValueError, match="NaN"):
        made().fit(holes, Y)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_members_see_the_columns_of_a_frame(kind):
    frame = kind({f"x{j}": X[:, j] for j in range(4)})
    model = made().fit(frame, Y)
    expected = made().fit(X, Y).decision_function(X)
    np.testing.assert_allclose(model.decision_function(frame), expected)
    if not hasattr(LogisticRegression().fit(frame, Y), "feature_names_in_"):
        return  # scikit-learn 1.8 does not see the names of polars 2
    assert model.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["x1", "x0", "x2", "x3"]])


@pytest.mark.parametrize("relevance", ["binary", pytest.param("graded", marks=pytest.mark.slow)])
def test_auto_takes_categories_and_missing_values_and_sparse_rows(relevance):
    X, y = make_rows(300)
    X[::7, 2] = np.nan
    y = y.astype(float) if relevance == "binary" else np.digitize(X[:, 0], [0, 1]).astype(float)
    frame = pd.DataFrame(X).add_prefix("x")
    frame["empty"] = np.nan
    frame["kind"] = pd.Categorical(np.where(X[:, 0] > 0, "a", "b"))
    model = RankingEnsemble(relevance=relevance, cv=2, n_steps=5, random_state=0)
    assert model.fit(frame, y).score(frame, y) > 0.85
    assert model.fit(sparse.csr_array(np.nan_to_num(X)), y).score(np.nan_to_num(X), y) > 0.8
    frame["text"] = "abc"
    with pytest.raises(ValueError, match="Column 'text' of X must hold numbers"):
        model.fit(frame, y)


# Storage ----------------------------------------------------------------------


def test_pickle_and_skops():
    model = made().fit(X, Y)
    stored = skops.io.dumps(model)
    types = skops.io.get_untrusted_types(data=stored)
    assert all(one.startswith("sklearn_rank.") and "._" not in one for one in types)
    for other in (pickle.loads(pickle.dumps(model)), skops.io.loads(stored, trusted=types)):
        np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))
        assert other.score_estimate_ == model.score_estimate_


@pytest.mark.parametrize("relevance", ["binary", pytest.param("graded", marks=pytest.mark.slow)])
def test_an_onnx_graph_has_the_same_scores(relevance):
    register_converters()
    graded = relevance == "graded"
    members = [("ridge", Ridge()), ("linear", LINEAR), ("bayes", GaussianNB())]
    members += [("stumps", RankBoost(n_estimators=5, relevance=relevance))]
    model = made(members, relevance=relevance, n_bags=8).fit(X, Y * 1.0)
    assert len(model.estimators_) == 4
    session = onnxruntime.InferenceSession(to_onnx(model, X[:1]).SerializeToString())
    rows = np.vstack([X, 3 * X])  # beyond, log-odds of probabilities near 1 have few digits
    found = session.run(None, {session.get_inputs()[0].name: rows})
    expected = model.predict(rows) if graded else model.decision_function(rows)
    np.testing.assert_allclose(found[-1], expected, rtol=1e-6, atol=1e-8)


OF_GRAPHS = {
    "without probabilities": LinearSVC(),
    "ensemble": made([("line", LINEAR), ("stumps", STUMPS)]),
    "search of a pipeline": model_selection.GridSearchCV(
        LINEAR, {"logisticregression__C": [0.1, 1.0]}, cv=2
    ),
    "search in a pipeline": make_pipeline(
        StandardScaler(), model_selection.GridSearchCV(STUMPS, {"n_estimators": [2]})
    ),
    "search of a pipeline with a ranker": model_selection.GridSearchCV(
        make_pipeline(StandardScaler(), STUMPS), {"rankboost__n_estimators": [2, 3]}, cv=2
    ),
}


@pytest.mark.parametrize("name", OF_GRAPHS)
def test_an_onnx_graph_of_a_member(name):
    register_converters()
    model = made([("bayes", GaussianNB()), ("member", OF_GRAPHS[name])]).fit(X, Y * 1.0)
    assert len(model.estimators_) == 2
    session = onnxruntime.InferenceSession(to_onnx(model, X[:1]).SerializeToString())
    label, scores = session.run(None, {session.get_inputs()[0].name: X})
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(label, model.predict(X))


def test_an_onnx_graph_needs_scores_that_skl2onnx_can_write():
    register_converters()
    members = [("stumps", STUMPS), ("squares", QuadraticDiscriminantAnalysis())]
    model = made(members).fit(X, Y * 1.0)
    with pytest.raises(ValueError, match=r"'squares', Quadratic.* needs the values of decision_fu"):
        to_onnx(model, X[:1])


@pytest.mark.slow
def test_processes_change_nothing():
    expected = made().fit(X, Y).decision_function(X)
    found = made(n_jobs=2).fit(X, Y).decision_function(X)
    np.testing.assert_allclose(found, expected)
