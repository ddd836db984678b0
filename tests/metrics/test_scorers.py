"""Scorers: names and their metrics, qid on its way to predict, and qid that is missing."""

import pickle
from functools import cache, partial

import numpy as np
import pytest
from rankers import RANKERS, cheap
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import RFE
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_rank import ListNetLinear, PNormPushRanker, RankBoost, metrics
from sklearn_rank.datasets import make_queries
from sklearn_rank.metrics import ranking_scorer
from sklearn_rank.model_selection import QueryKFold
from sklearn_rank.preprocessing import QueryMinMaxScaler

DATA = make_queries(n_queries=15, rows_per_query=8, n_features=4, random_state=0)
X, Y, QID = DATA.data, DATA.target, DATA.qid
LABELS = {"binary": np.where(Y > 0, "yes", "no"), "graded": Y}
GRADES = {"binary": (Y > 0).astype(int), "graded": Y}
SWITCH = r"sklearn\.set_config\(enable_metadata_routing=True\)"

# The metric that a name stands for, written out.
BY_NAME = {
    "auc": metrics.auc_score,
    "map": metrics.average_precision,
    "map@10": partial(metrics.average_precision, k=10),
    "map@2": partial(metrics.average_precision, k=2),
    "mrr": metrics.reciprocal_rank,
    "err": metrics.err_score,
    "mrr@2": partial(metrics.reciprocal_rank, k=2),
    "err@5": partial(metrics.err_score, k=5),
    "ndcg": metrics.ndcg_score,
    "ndcg@10": partial(metrics.ndcg_score, k=10),
    "ndcg@3": partial(metrics.ndcg_score, k=3),
    "ndcg_linear": partial(metrics.ndcg_score, gain="linear"),
    "ndcg_linear@10": partial(metrics.ndcg_score, gain="linear", k=10),
    "precision@5": partial(metrics.precision_at_k, k=5),
    "recall@5": partial(metrics.recall_at_k, k=5),
    "r_precision": metrics.r_precision,
    "pauc@0.05": partial(metrics.partial_auc_score, max_fpr=0.05),
    "pauc@1": partial(metrics.partial_auc_score, max_fpr=1),
    "tpr@.2": partial(metrics.tpr_at_fpr_score, max_fpr=0.2),
    f"pauc@{5e-05}": partial(metrics.partial_auc_score, max_fpr=5e-05),
    "push@1E+1": lambda *args, **more: 1 - metrics.p_norm_push_loss(*args, p=10, **more),
    "push@4": lambda *args, **more: 1 - metrics.p_norm_push_loss(*args, p=4, **more),
    "push@2.5": lambda *args, **more: 1 - metrics.p_norm_push_loss(*args, p=2.5, **more),
    "push@inf": lambda *args, **more: 1 - metrics.p_norm_push_loss(*args, p=np.inf, **more),
}

every_name = pytest.mark.parametrize("name", BY_NAME)
every_relevance = pytest.mark.parametrize("relevance", ["binary", "graded"])


def make(kind=ListNetLinear, relevance="graded", **parameters):
    return kind(relevance=relevance, **{**cheap(kind, 5), **parameters})


@cache
def fitted(relevance, with_qid=True):
    return make(relevance=relevance).fit(X, LABELS[relevance], qid=QID if with_qid else None)


def routed():
    return config_context(enable_metadata_routing=True)


def cross_validated(model, y, scoring, **params):
    """Return the scores of three folds of queries, with qid and more of the rows routed."""
    options = {"cv": QueryKFold(3), "scoring": scoring, "error_score": "raise"}
    with routed():
        return cross_validate(model, X, y, params={"qid": QID, **params}, **options)


# Names and values ---------------------------------------------------------------------------


@every_name
@every_relevance
@pytest.mark.parametrize("with_qid", [False, True])
def test_a_name_is_a_metric(name, relevance, with_qid):
    qid = QID if with_qid else None
    model = fitted(relevance, with_qid)
    order = model.predict(X) if relevance == "graded" else model.decision_function(X)
    expected = BY_NAME[name](GRADES[relevance], order, qid=qid)
    found = ranking_scorer(name)(model, X, LABELS[relevance], qid=qid)
    assert found == expected
    assert 0 <= found <= 1
    assert type(found) is float


WRONG = (
    "AUC, auc,auc@3,map@0,r_precision@5,precision,recall,recall@0,ndcg@,ndcg@0,ndcg@1.5,ndcg@-1,"
    "ndcg@x,ndcg@1_0,ndcg@1e1,ndcg@inf,ndcg@10\n,ndcg_linear@,ndcg_linear@0,ndcg_exponential,pauc,"
    "pauc@0,pauc@1.1,pauc@inf,pauc@e-5,tpr,tpr@0,tpr@2,tpr@-0.1,push,push@0.5,push@nan,push@1.2.3,"
    "push@1@2"
)


# That a function is allowed is said.
@pytest.mark.parametrize(
    "name", ["", *WRONG.split(","), None, 3, ["auc"], partial(metrics.ndcg_score, k=3)]
)
def test_other_names_are_refused(name):
    message = (
        r"ranking_scorer must be one of auc, .*push@p, .*tpr@a, with an int k in \[1, inf\), "
        r"a float p in \[1, inf\] and a float a in \(0, 1\], or a function. Got "
    )
    with pytest.raises(ValueError, match=message):
        ranking_scorer(name)


@every_name
def test_scorers_are_stored_and_cloned(name):
    scorer = ranking_scorer(name)
    model = fitted("graded")
    expected = scorer(model, X, Y, qid=QID)
    for one in (pickle.loads(pickle.dumps(scorer)), clone(scorer)):
        assert repr(one) == repr(scorer) == f"RankingScorer(name={name!r})"
        assert one(model, X, Y, qid=QID) == expected


def test_any_estimator_can_be_scored():
    y = LABELS["binary"]
    linear = LinearRegression().fit(X, Y)
    logistic = LogisticRegression().fit(X, y)
    forest = RandomForestClassifier(5, random_state=0).fit(X[::2], y[::2])
    auc = ranking_scorer("auc")
    for model, labels, truth, order in [
        (linear, Y, Y, linear.predict(X)),
        (logistic, y, y == "yes", logistic.decision_function(X)),
        (forest, y, y == "yes", forest.predict_proba(X)[:, 1]),
    ]:
        assert auc(model, X, labels, qid=QID) == metrics.auc_score(truth, order, qid=QID)
    with routed():
        assert auc(linear, X, Y, qid=QID) == metrics.auc_score(Y, linear.predict(X), qid=QID)


def test_the_greater_class_is_relevant_whatever_the_numbers():
    y = np.where(Y > 0, 7, -7)
    model = make(relevance="binary").fit(X, y, qid=QID)
    expected = metrics.ndcg_score(Y > 0, model.decision_function(X), qid=QID)
    assert ranking_scorer("ndcg")(model, X, y, qid=QID) == expected
    with pytest.raises(ValueError, match=r"labels that ListNetLinear was not fitted with: \[9\]"):
        ranking_scorer("ndcg")(model, X, np.where(y == 7, 9, y), qid=QID)


def test_more_than_one_score_for_a_row_is_refused():
    model = LogisticRegression().fit(X, np.arange(120) % 3)
    with pytest.raises(ValueError, match=r"one score for each row.*LogisticRegression.*\(120, 3\)"):
        ranking_scorer("auc")(model, X, Y)
    model.decision_function = lambda X: 0.5
    with pytest.raises(ValueError, match=r"returned an array of shape \(\)"):
        ranking_scorer("auc")(model, X, Y)


# Routing ------------------------------------------------------------------------------------

PIPE = make_pipeline(QueryMinMaxScaler(), make())
GRID = {"listnetlinear__alpha": [1e-6, 1e-2, 1.0, 100.0]}


@pytest.mark.slow
@every_name
def test_a_search_is_a_loop(name):
    """Exactly: qid goes to the splitter, to fit of both steps, to transform and to the metric."""
    search = GridSearchCV(
        PIPE, GRID, cv=QueryKFold(3), scoring=ranking_scorer(name), error_score="raise"
    )
    with routed():
        search.fit(X, Y, qid=QID)
        assert search.score(X, Y, qid=QID) == BY_NAME[name](
            Y, search.best_estimator_.predict(X, qid=QID), qid=QID
        )
    for number, candidate in enumerate(search.cv_results_["params"]):
        alpha = candidate["listnetlinear__alpha"]
        for fold, (train, test) in enumerate(QueryKFold(3).split(X, Y, qid=QID)):
            scaled = QueryMinMaxScaler().fit_transform(X, qid=QID)
            model = make(alpha=alpha).fit(scaled[train], Y[train], qid=QID[train])
            expected = BY_NAME[name](Y[test], model.predict(scaled[test]), qid=QID[test])
            assert search.cv_results_[f"split{fold}_test_score"][number] == expected


@pytest.mark.parametrize(
    ("kind", "relevance"),
    [(ListNetLinear, "graded"), (PNormPushRanker, "binary")]
    + [pytest.param(k, r, marks=pytest.mark.slow) for k in RANKERS for r in LABELS],
)
@pytest.mark.filterwarnings("ignore:The smooth margin stayed negative")
def test_several_scorers_at_once(kind, relevance):
    y = LABELS[relevance]
    scoring = {name: ranking_scorer(name) for name in BY_NAME}
    scoring |= {"roc_auc": "roc_auc"} if relevance == "binary" else {}  # scikit-learn's own
    found = cross_validated(make(kind, relevance), y, scoring)
    assert np.isfinite([found[f"test_{name}"] for name in scoring]).all()
    for fold, (train, test) in enumerate(QueryKFold(3).split(X, y, qid=QID)):
        model = make(kind, relevance).fit(X[train], y[train], qid=QID[train])
        method = model.predict if relevance == "graded" else model.decision_function
        for name, metric in BY_NAME.items():
            expected = metric(GRADES[relevance][test], method(X[test]), qid=QID[test])
            assert found[f"test_{name}"][fold] == expected


@pytest.mark.parametrize("wrap", [FrozenEstimator, lambda fitted: fitted])
def test_queries_reach_the_steps_of_what_is_wrapped(wrap):
    scorer = ranking_scorer("ndcg")
    with routed():
        plain = clone(PIPE).set_params(listnetlinear__alpha=1.0).fit(X, Y, qid=QID)
        grid = {"listnetlinear__alpha": [1.0]}
        search = GridSearchCV(PIPE, grid, cv=QueryKFold(2), scoring=scorer, error_score="raise")
        search.fit(X, Y, qid=QID)
        expected = scorer(plain, X, Y, qid=QID)
        assert scorer(wrap(search), X, Y, qid=QID) == expected
        assert scorer(wrap(plain), X, Y, qid=QID) == expected


def test_a_scorer_may_be_made_before_routing_is_switched_on():
    scorer = ranking_scorer("auc")
    with routed():
        assert scorer.get_metadata_routing().score.requests == {"qid": True, "sample_weight": None}


def test_qid_can_have_another_name():
    with routed():
        scaler = QueryMinMaxScaler().set_fit_request(qid="query").set_transform_request(qid="query")
        pipe = make_pipeline(scaler, make().set_fit_request(qid="query"))
        folds = QueryKFold(5).set_split_request(qid="query")
        scorer = ranking_scorer("ndcg").set_score_request(qid="query")
        search = GridSearchCV(pipe, GRID, cv=folds, scoring=scorer, error_score="raise")
        search.fit(X, Y, query=QID)
        plain = GridSearchCV(PIPE, GRID, cv=QueryKFold(5), scoring=ranking_scorer("ndcg"))
        plain.fit(X, Y, qid=QID)
    expected = plain.cv_results_["mean_test_score"]
    assert len(set(expected)) > 1  # the search compares something
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], expected)


def test_weights_on_request():
    weight = np.random.default_rng(0).integers(1, 4, len(Y)).astype(float)
    with routed():
        scorer = ranking_scorer("auc").set_score_request(sample_weight=True)
        assert scorer.get_metadata_routing().score.requests["qid"] is True
        model = make().set_fit_request(sample_weight=True)
    found = cross_validated(model, Y, clone(scorer), sample_weight=weight)
    for fold, (train, test) in enumerate(QueryKFold(3).split(X, Y, qid=QID)):
        model = make().fit(X[train], Y[train], qid=QID[train], sample_weight=weight[train])
        order = model.predict(X[test])
        expected = metrics.auc_score(Y[test], order, qid=QID[test], sample_weight=weight[test])
        assert found["test_score"][fold] == expected


# Without routing ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", RANKERS)
@pytest.mark.filterwarnings("ignore:The smooth margin stayed negative")
def test_qid_in_fit_only_names_the_switch(kind, relevance="binary"):
    y = LABELS[relevance]
    message = rf"{kind.__name__} was fitted with qid .* to ranking_scorer\('auc'\).*{SWITCH}"
    model = make(kind, relevance).fit(X, y, qid=QID)
    pipe = make_pipeline(StandardScaler(), make(kind, relevance))
    pipe.fit(X, y, **{f"{kind.__name__.lower()}__qid": QID})
    for one in (model, pipe, make_pipeline(pipe)):
        with pytest.raises(ValueError, match=message):
            ranking_scorer("auc")(one, X, y)


def test_a_search_without_routing_names_the_switch():
    scoring = {"auc": ranking_scorer("auc"), "ndcg": ranking_scorer("ndcg")}
    qid = {"queryminmaxscaler__qid": QID, "listnetlinear__qid": QID}
    cv = list(QueryKFold(5).split(X, Y, qid=QID))
    for one in (ranking_scorer("ndcg@10"), scoring):
        search = GridSearchCV(PIPE, GRID, cv=cv, scoring=one, refit=False, error_score="raise")
        with pytest.raises(ValueError, match=rf"ListNetLinear was fitted with qid.*{SWITCH}"):
            search.fit(X, Y, **qid)


def test_by_default_scikit_learn_warns_with_the_message():
    cv = list(QueryKFold(2).split(X, Y, qid=QID))
    search = GridSearchCV(
        make(), {"alpha": [1.0]}, cv=cv, scoring=ranking_scorer("auc"), refit=False
    )
    with pytest.warns(UserWarning) as caught:
        search.fit(X, Y, qid=QID)
    assert any("fitted with qid" in str(one.message) for one in caught)
    assert np.isnan(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("scoring", [None, ranking_scorer("ndcg@5")])
def test_a_warning_where_queries_are_divided(scoring):
    data = make_queries(n_queries=12, rows_per_query=6, n_features=2, random_state=0)
    ids = np.array([f"q{i}" for i in data.qid], dtype=object)
    by_query = {"cv": QueryKFold(3), "return_train_score": True}
    how = {"params": {"qid": ids}, "scoring": scoring, "error_score": "raise"}
    with config_context(enable_metadata_routing=True):
        model = RankBoost(relevance="graded", n_estimators=2)
        cross_validate(model, data.data, data.target, **how, **by_query)
        for halves in ([(np.arange(0, 72, 2), np.arange(1, 72, 2))], 5):
            with pytest.warns(
                UserWarning, match=r"queries scored have ids that RankBoost was fitted"
            ):
                cross_validate(model, data.data, data.target, cv=halves, **how)
        model.fit(data.data, data.target, qid=ids)
        assert model.score(data.data, data.target, qid=ids) > 0.5  # the very same rows
        with pytest.raises(ValueError, match="row 0 has no id"):
            model.score(data.data, data.target, qid=[None, *ids[1:]])
        assert "q1" in model._trace_[0]
        assert not hasattr(pickle.loads(pickle.dumps(model)), "_trace_")


@pytest.mark.parametrize("ranker", RANKERS)
def test_an_argument_that_fit_does_not_have(ranker):
    where, X, y = rf"{ranker.__name__}\.fit\(\): ", [[0.0], [1.0]], [0, 1]
    with pytest.raises(TypeError, match=rf"{where}got an unexpected .*'group'; queries are qid="):
        ranker().fit(X, y, group=[2])
    with pytest.raises(TypeError, match=rf"{where}too many positional .*; queries are qid="):
        ranker().fit(X, y, [0, 0])


def test_wrappers_and_searches_are_looked_into():
    search = GridSearchCV(make(), {"alpha": [1.0]}, cv=2).fit(X, Y)
    assert 0 < ranking_scorer("auc")(search, X, Y) <= 1  # fitted without qid
    search = GridSearchCV(make(), {"alpha": [1.0]}, cv=2, scoring="r2")
    search.fit(X, Y, qid=QID)
    with pytest.raises(ValueError, match=SWITCH):
        ranking_scorer("auc")(search, X, Y)
    selected = RFE(make()).fit(X, Y, qid=QID)
    with pytest.raises(ValueError, match=SWITCH):
        ranking_scorer("auc")(selected, X, Y)
    frozen = FrozenEstimator(make().fit(X, Y, qid=QID))
    with routed():
        changed = TransformedTargetRegressor(make()).fit(X, Y, qid=QID)
    for wrapped in (frozen, changed):
        with pytest.raises(ValueError, match=SWITCH):
            ranking_scorer("auc")(wrapped, X, Y)
        assert 0 < ranking_scorer("auc")(wrapped, X, Y, qid=QID) <= 1


def test_one_list_needs_no_routing():
    model = make(RankBoost, "binary")
    y = LABELS["binary"]
    found = cross_validate(model, X, y, cv=3, scoring=ranking_scorer("push@inf"))
    assert np.isfinite(found["test_score"]).all()


def test_weights_without_routing():
    """scikit-learn hands sample_weight of a search to every scorer that takes it."""
    weight = np.random.default_rng(0).integers(1, 4, len(Y)).astype(float)
    scoring = {"auc": ranking_scorer("auc"), "push": ranking_scorer("push@4")}
    search = GridSearchCV(
        make(PNormPushRanker), {"p": [2]}, cv=3, scoring=scoring, refit=False, error_score="raise"
    )
    search.fit(X, Y, sample_weight=weight)
    assert np.isfinite(search.cv_results_["mean_test_auc"]).all()
