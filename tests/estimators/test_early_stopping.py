"""Early stopping by a metric: it is the scorer's, at every round, and it decides the rounds."""

import pickle
from functools import partial

import numpy as np
import pytest
from oracles import metrics as oracles_metrics
from rankers import BOOSTERS
from sklearn.base import clone
from tiers import crossed

from sklearn_rank import BoostedTreesRanker, PNormPushRanker, RankBoost
from sklearn_rank._core.rows import Rows
from sklearn_rank.datasets import make_queries
from sklearn_rank.estimators._boosting.early_stopping import split_validation
from sklearn_rank.metrics import auc_score, ranking_scorer

# The smooth margin ranker says so when the pairs cannot all be ordered.
pytestmark = pytest.mark.filterwarnings("ignore:The smooth margin stayed negative")

DATA = make_queries(n_queries=25, rows_per_query=6, n_features=4, random_state=0)
X, QID = DATA.data, DATA.qid
LABELS = {"binary": np.where(DATA.target > 0, "yes", "no"), "graded": DATA.target}
WEIGHT = np.random.default_rng(0).integers(0, 4, len(QID)).astype(float)
NAMES = ["auc", "map", "mrr", "err", "ndcg", "ndcg@10", "ndcg@3", "precision@2", "recall@2"]
NAMES += ["r_precision", "push@1", "push@4", "pauc@0.3", "tpr@0.3"]
ROUNDS = 12

every_booster = pytest.mark.parametrize("ranker", BOOSTERS)
every_name = pytest.mark.parametrize("name", NAMES)
MODES = [("binary", False), ("binary", True), ("graded", True)]
every_relevance = pytest.mark.parametrize("relevance", ["binary", "graded"])


def make(ranker=RankBoost, relevance="graded", **parameters):
    options = {"n_estimators": ROUNDS, "n_iter_no_change": ROUNDS, "validation_fraction": 0.4}
    options |= {"tol": 0, "random_state": 0, "refit_stopped": False}
    return ranker(relevance=relevance, **{**options, **parameters})


def fit(model, with_qid=True, **options):
    y = LABELS[model.relevance]
    return model.fit(X, y, qid=QID if with_qid else None, **options)


def models_by_round(model, seen):
    """Fit models of 1, 2, ... rounds to the rows that early stopping has learned from."""
    plain, train = clone(model).set_params(n_iter_no_change=None, scoring=None), seen.train
    models = [clone(plain).set_params(n_estimators=number) for number in range(1, ROUNDS + 1)]
    for one in models:
        one.fit(train.X, train.y, qid=train.qid, sample_weight=train.weight)
    assert [one.n_iter_ for one in models] == list(range(1, ROUNDS + 1))
    return models


def curve_of_the_scorer(name, models, rows, **weight):
    scorer = ranking_scorer(name)
    return [scorer(one, rows.X, rows.y, qid=rows.qid, **weight) for one in models]


# One definition -----------------------------------------------------------------------------


@crossed(ranker=BOOSTERS, mode=MODES, tiers=("slow", "nightly", "nightly"))
def test_the_curve_is_that_of_the_scorer(ranker, mode, seen):
    relevance, with_qid = mode
    plain = make(ranker, relevance)
    models = models_by_round(fit(plain, with_qid), seen)
    for name in NAMES:
        model = fit(clone(plain).set_params(scoring=name), with_qid)
        expected = curve_of_the_scorer(name, models, seen.held_out)
        np.testing.assert_allclose(model.validation_scores_, expected, rtol=0, atol=1e-12)
        assert len(set(expected)) > 1
        assert model.n_iter_ == np.argmax(expected) + 1


METRICS = {
    "ndcg@3": partial(oracles_metrics.ndcg, k=3),
    "map": oracles_metrics.average_precision,
    "precision@2": partial(oracles_metrics.precision, k=2),
}


@pytest.mark.parametrize("name", METRICS)
@every_relevance
def test_the_curve_is_the_mean_of_the_metric_over_queries(name, relevance, seen):
    model = fit(make(relevance=relevance, scoring=name))
    held_out = seen.held_out
    graded = relevance == "graded"
    stages = model.staged_predict if graded else model.staged_decision_function
    for stage, found in zip(stages(held_out.X), model.validation_scores_, strict=False):
        values = oracles_metrics.per_query(METRICS[name], held_out.y, stage, held_out.qid)
        assert found == pytest.approx(np.nanmean(values), rel=1e-12)


@every_name
@every_relevance
def test_weights_of_zero_and_one_are_rows_that_are_there_or_not(name, relevance, seen):
    there = np.random.default_rng(1).random(len(X)) < 0.8
    weighted = fit(make(relevance=relevance, scoring=name), sample_weight=there.astype(float))
    chosen = clone(weighted).fit(X[there], LABELS[relevance][there], qid=QID[there])
    np.testing.assert_array_equal(weighted.validation_scores_, chosen.validation_scores_)
    np.testing.assert_array_equal(weighted.predict(X), chosen.predict(X))


def test_scoring_comes_before_score_p():
    model = fit(make(PNormPushRanker, scoring="ndcg@3", score_p=8))
    same = fit(make(PNormPushRanker, scoring="ndcg@3"))
    np.testing.assert_array_equal(model.validation_scores_, same.validation_scores_)
    push = fit(make(PNormPushRanker, score_p=8))
    named = fit(make(PNormPushRanker, scoring="push@8"))
    np.testing.assert_array_equal(push.validation_scores_, named.validation_scores_)
    loss = oracles_metrics.push_loss(DATA.target, model.predict(X), 8, qid=QID)
    assert model.score(X, DATA.target, qid=QID) == 1 - loss


# A parameter like any other -----------------------------------------------------------------


@every_booster
@every_relevance
def test_without_early_stopping_scoring_is_not_used(ranker, relevance):
    options = {"n_iter_no_change": None, "n_estimators": 5}
    plain = fit(make(ranker, relevance, **options), sample_weight=WEIGHT)
    named = fit(make(ranker, relevance, **options, scoring="ndcg@10"), sample_weight=WEIGHT)
    assert not hasattr(named, "validation_scores_")
    np.testing.assert_array_equal(plain.predict(X), named.predict(X))


@every_booster
def test_a_scorer_is_its_name(ranker):
    scorer = ranking_scorer("ndcg@3")
    model = make(ranker, scoring=scorer)
    assert model.scoring is scorer
    assert fit(model).scoring is scorer
    expected = fit(make(ranker, scoring="ndcg@3")).validation_scores_
    for one in (model, fit(clone(model)), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(one.validation_scores_, expected)
    assert clone(model).get_params()["scoring__name"] == "ndcg@3"
    other = fit(clone(model).set_params(scoring__name="map"))
    expected = fit(make(ranker, scoring="map")).validation_scores_
    np.testing.assert_array_equal(other.validation_scores_, expected)
    assert scorer.name == "ndcg@3"


# Warm start ---------------------------------------------------------------------------------


@every_booster
@every_relevance
def test_a_warm_start_goes_on_with_the_curve(ranker, relevance, name="ndcg@3"):
    whole = fit(make(ranker, relevance, scoring=name, n_estimators=20, n_iter_no_change=20))
    first = whole.validation_scores_[:6]
    half = fit(clone(whole).set_params(n_estimators=6, warm_start=True))
    np.testing.assert_array_equal(half.validation_scores_, first)
    fit(half.set_params(n_estimators=20, scoring=ranking_scorer(name)))
    np.testing.assert_allclose(half.validation_scores_, whole.validation_scores_, atol=1e-12)
    assert half.n_iter_ == whole.n_iter_


@every_booster
def test_a_warm_start_refuses_another_metric(ranker):
    model = fit(make(ranker, scoring="ndcg@3", warm_start=True, n_estimators=3))
    before = model.predict(X)
    for other in (None, "ndcg", ranking_scorer("map")):
        with pytest.raises(ValueError, match=r"same scoring: it was fitted with 'ndcg@3'. Got"):
            fit(model.set_params(scoring=other))
        np.testing.assert_array_equal(model.predict(X), before)


def test_a_warm_start_refuses_another_power_of_the_score():
    """The curve would have scores of two kinds, and the best round would be the wrong one."""
    model = fit(make(PNormPushRanker, score_p=2, warm_start=True, n_estimators=3))
    with pytest.raises(ValueError, match=r"same score_p: it was fitted with 2. Got None"):
        fit(model.set_params(score_p=None))
    for unwatched in ({"n_iter_no_change": None}, {"scoring": "map"}):
        model = fit(make(PNormPushRanker, score_p=2, warm_start=True).set_params(**unwatched))
        fit(model.set_params(score_p=None))


@pytest.mark.parametrize("engine", ["xgboost", "lightgbm", "symmetric"])
def test_early_stopping_of_trees_warns_of_nothing(engine):
    X = np.random.default_rng(0).normal(size=(300, 2))
    ranker = BoostedTreesRanker(engine=engine, n_estimators=3, n_iter_no_change=2, max_bins=9)
    assert len(ranker.fit(X, X[:, 0] > 0).validation_scores_) > 0


def answers(n, seed):
    """Return two questions with two answers each, of which the first tells."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 2, (n, 2)).astype(float)
    return X, random.random(n) < np.where(X[:, 0] > 0, 0.5, 0.2)


@pytest.mark.parametrize(
    "ranker", [RankBoost(), BoostedTreesRanker(), BoostedTreesRanker(relevance="graded")], ids=repr
)
def test_few_values_are_held_out_as_new_rows_are(ranker):
    """If all rows of a class with the same features were, the others would teach the opposite."""
    (X, y), (X_new, y_new) = answers(600, 0), answers(4000, 1)
    ranker = clone(ranker).set_params(n_iter_no_change=5, n_estimators=30, random_state=0)
    ranker.fit(X, y.astype(int))
    assert ranker.n_iter_ > 1
    assert auc_score(y_new, ranker.predict(X_new)) > 0.62


@pytest.mark.parametrize("rare", [False, True])
def test_few_rows_of_a_class_are_held_out_though_others_have_their_features(rare):
    X = np.random.default_rng(0).standard_normal((2000, 2))
    y = np.full(2000, not rare)
    y[:20], X[20:40] = rare, X[:20]
    for seed in range(20):
        _, held_out = split_validation(Rows(X, y, None, np.ones(2000)), 0.1, seed)
        assert np.count_nonzero(held_out.y == rare) == 2
