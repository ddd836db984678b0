"""`fit(X, y, X_val=..., y_val=...)`: validation rows that the caller gives."""

import numpy as np
import pandas as pd
import pytest
from libraries import need
from rankers import BOOSTERS, RANKERS
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import QuantileTransformer

from sklearn_rank import BoostedTreesRanker, PNormPushRanker, RankBoost
from sklearn_rank.datasets import make_queries
from sklearn_rank.metrics import auc_score, ranking_scorer

# The smooth margin ranker says so when the pairs cannot all be ordered.
pytestmark = pytest.mark.filterwarnings("ignore:The smooth margin stayed negative")

DATA = make_queries(n_queries=30, rows_per_query=6, n_features=4, random_state=0)
IS_TRAIN = DATA.qid < 20
X, X_VAL = DATA.data[IS_TRAIN], DATA.data[~IS_TRAIN]
QID, QID_VAL = DATA.qid[IS_TRAIN], DATA.qid[~IS_TRAIN]
LABELS = {"binary": np.where(DATA.target > 0, "yes", "no"), "graded": DATA.target}
WEIGHT_VAL = np.random.default_rng(0).integers(0, 4, len(QID_VAL)).astype(float)
STOPPERS = [*BOOSTERS, BoostedTreesRanker]

every_ranker = pytest.mark.parametrize("ranker", STOPPERS)
every_mode = pytest.mark.parametrize(
    ("relevance", "with_qid"), [("binary", False), ("binary", True), ("graded", True)]
)


def make(ranker=RankBoost, relevance="graded", **parameters):
    if ranker is BoostedTreesRanker:
        need("lightgbm")
        parameters = {"engine": "lightgbm", "max_bins": 31, **parameters}
    elif "tol" not in parameters:
        parameters["tol"] = 0
    return ranker(relevance=relevance, **{"n_estimators": 12, "random_state": 0, **parameters})


def labels(model):
    y = LABELS[model.relevance]
    return y[IS_TRAIN], y[~IS_TRAIN]


def queries(with_qid=True):
    return {"qid": QID, "qid_val": QID_VAL} if with_qid else {}


def fit(model, with_qid=True, **options):
    y, y_val = labels(model)
    rows = {"X_val": X_VAL, "y_val": y_val, **queries(with_qid)}
    return model.fit(X, y, **{**rows, **options})


def stages(model, rows):
    """Return the scores after each round, without offset, which may round two to a tie."""
    return list(model._stages(rows))


# The curve and the rounds --------------------------------------------------------------------


@every_ranker
@every_mode
def test_all_rounds_are_made_and_the_curve_is_the_score_of_each(ranker, relevance, with_qid):
    model = fit(make(ranker, relevance), with_qid)
    plain = clone(model).fit(X, labels(model)[0], qid=QID if with_qid else None)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    assert model.n_iter_ == 12
    assert not hasattr(plain, "validation_scores_")
    grades, qid = DATA.target[~IS_TRAIN], QID_VAL if with_qid else None
    y_val = grades if relevance == "graded" else grades > 0
    expected = [auc_score(y_val, scores, qid=qid) for scores in stages(model, X_VAL)]
    np.testing.assert_allclose(model.validation_scores_, expected, rtol=0, atol=1e-12)
    assert len(set(expected)) > 1


@every_ranker
@every_mode
def test_the_given_rows_decide_when_to_stop(ranker, relevance, with_qid):
    whole = fit(make(ranker, relevance, n_estimators=20), with_qid)
    model = fit(clone(whole).set_params(n_iter_no_change=3), with_qid)
    curve = model.validation_scores_
    np.testing.assert_array_equal(curve, whole.validation_scores_[: len(curve)])
    assert model.n_iter_ == np.argmin(model.validation_losses_) + 1
    assert len(curve) >= min(model.n_iter_ + 3, 20)
    short = clone(model).set_params(n_iter_no_change=None, n_estimators=model.n_iter_)
    short.fit(X, labels(model)[0], qid=QID if with_qid else None)
    np.testing.assert_array_equal(model.predict(X), short.predict(X))


@pytest.mark.parametrize("relevance", ["binary", "graded"])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_that_are_held_out_can_be_given_instead(relevance, weighted, seen):
    options = {"sample_weight": 0.5 + np.arange(len(QID)) % 3} if weighted else {}
    rounds = {"n_iter_no_change": 2, "n_estimators": 30, "validation_fraction": 0.3}
    split = make(relevance=relevance, refit_stopped=False, **rounds)
    split.fit(X, labels(split)[0], qid=QID, **options)
    train, held_out = seen.train, seen.held_out
    of_val = {"X_val": held_out.X, "y_val": held_out.y, "qid_val": held_out.qid}
    weights = {"sample_weight": train.weight, "sample_weight_val": held_out.weight}
    given = clone(split).fit(train.X, train.y, qid=train.qid, **of_val, **weights)
    np.testing.assert_array_equal(given.validation_scores_, split.validation_scores_)
    assert given.n_iter_ == split.n_iter_
    np.testing.assert_array_equal(stages(given, X_VAL)[-1], stages(split, X_VAL)[-1])


@every_ranker
def test_the_metric_is_that_of_scoring(ranker):
    model = fit(make(ranker, scoring="ndcg@3"))
    scorer = ranking_scorer("ndcg@3")
    expected = [
        scorer.measure(labels(model)[1], scores, qid=QID_VAL) for scores in stages(model, X_VAL)
    ]
    np.testing.assert_allclose(model.validation_scores_, expected, rtol=0, atol=1e-12)


@every_ranker
def test_weights_are_multiplicities(ranker):
    model = make(ranker, "binary")
    weighted = fit(model, sample_weight_val=WEIGHT_VAL)
    rows = np.repeat(np.arange(len(QID_VAL)), WEIGHT_VAL.astype(int))
    options = {"X_val": X_VAL[rows], "y_val": labels(model)[1][rows], "qid_val": QID_VAL[rows]}
    repeated = fit(clone(model), **options)
    np.testing.assert_allclose(weighted.validation_scores_, repeated.validation_scores_, atol=1e-12)
    assert np.abs(weighted.validation_scores_ - fit(clone(model)).validation_scores_).max() > 1e-3


# Kinds of rows -------------------------------------------------------------------------------


@every_ranker
def test_categories_have_the_codes_of_training(ranker):
    model = make(ranker, "binary")
    y, y_val = labels(model)
    kinds, kinds_val = np.tile(list("abc"), 40), np.tile(list("cdb"), 20)  # d is unseen
    frame = pd.DataFrame(X).assign(kind=pd.Categorical(kinds))
    frame_val = pd.DataFrame(X_VAL).assign(kind=pd.Categorical(kinds_val))
    frame.columns = frame_val.columns = [*"vwxy", "kind"]
    model.fit(frame, y, X_val=frame_val, y_val=y_val)
    is_good = y_val == "yes"
    expected = [auc_score(is_good, scores) for scores in stages(model, frame_val)]
    np.testing.assert_allclose(model.validation_scores_, expected, rtol=0, atol=1e-12)


# scikit-learn --------------------------------------------------------------------------------


@pytest.mark.parametrize("ranker", RANKERS)
def test_validation_rows_are_requested_by_default(ranker):
    with config_context(enable_metadata_routing=True):
        requests = ranker().get_metadata_routing().fit.requests
        assert requests["qid"] is True
        if ranker in STOPPERS:
            assert [requests[name] for name in ("X_val", "y_val", "qid_val")] == [True] * 3
            assert requests["sample_weight_val"] is None
            model = ranker().set_fit_request(X_val=False, y_val="labels")
            assert model.get_metadata_routing().fit.requests["y_val"] == "labels"
        else:
            assert "X_val" not in requests


@every_ranker
@pytest.mark.parametrize("with_qid", [False, True])
def test_a_pipeline_transforms_them(ranker, with_qid):
    model = make(ranker)
    y, y_val = labels(model)
    steps = [("scale", QuantileTransformer(n_quantiles=9)), ("rank", model)]
    with config_context(enable_metadata_routing=True):
        pipe = Pipeline(steps, transform_input=["X_val"])
        pipe.fit(X, y, X_val=X_VAL, y_val=y_val, **queries(with_qid))
    scale = QuantileTransformer(n_quantiles=9).fit(X)
    direct = clone(model).fit(
        scale.transform(X), y, X_val=scale.transform(X_VAL), y_val=y_val, **queries(with_qid)
    )
    np.testing.assert_array_equal(model.validation_scores_, direct.validation_scores_)


# Warm start ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ranker", BOOSTERS)
@pytest.mark.parametrize("patience", [None, 12])
def test_a_warm_start_goes_on_with_the_curve(ranker, patience):
    whole = fit(make(ranker, n_iter_no_change=patience))
    half = fit(clone(whole).set_params(n_estimators=5, warm_start=True))
    assert len(half.validation_scores_) == 5
    fit(half.set_params(n_estimators=12))
    np.testing.assert_allclose(half.validation_scores_, whole.validation_scores_, atol=1e-12)
    assert half.n_iter_ == whole.n_iter_


def test_a_warm_start_refuses_other_validation_rows():
    model = fit(make(warm_start=True, n_estimators=3))
    y, y_val = labels(model)
    message = r"same shape of X_val .*fitted with \(60, 4\)\. Got "
    with pytest.raises(ValueError, match=message + "None"):
        model.fit(X, y, qid=QID)
    with pytest.raises(ValueError, match=message + r"\(30, 4\)"):
        fit(model, X_val=X_VAL[:30], y_val=y_val[:30], qid_val=QID_VAL[:30])
    with pytest.raises(ValueError, match=r"same scoring: it was fitted with None. Got 'ndcg'"):
        fit(model.set_params(scoring="ndcg"))
    plain = make(warm_start=True, n_estimators=3).fit(X, y, qid=QID)
    with pytest.raises(ValueError, match=r"same shape of X_val .*fitted with None"):
        fit(plain)


# Errors --------------------------------------------------------------------------------------

BAD = {
    "y_val alone": (
        {"X_val": None},
        r"needs both X_val and y_val .*Got y_val and qid_val without X",
    ),
    "X_val alone": ({"y_val": None}, r"Got X_val and qid_val without y_val"),
    "columns": ({"X_val": X_VAL[:, :3]}, r"X_val of \w+ must match X. X has 3 features"),
    "rows": ({"X_val": X_VAL[:9]}, r"X_val has 9, y_val has 60"),
    "classes": ({"y_val": np.full(60, "great")}, r"y_val has labels .*\['great'\].*'no', 'yes'"),
    "no qid": ({"qid": None}, r"Got qid_val without qid\."),
    "no qid_val": ({"qid_val": None}, r"Got qid without qid_val\."),
    "no pair": ({"y_val": np.full(60, "no")}, r"X_val and y_val of \w+ have no comparable pair"),
    "negative": ({"sample_weight_val": -WEIGHT_VAL}, "sample_weight_val must not be negative"),
}


@every_ranker
def test_what_is_wrong_is_named(ranker):
    for options, message in BAD.values():
        model = make(ranker, "binary")
        with pytest.raises(ValueError, match=message):
            fit(model, **options)
        assert not hasattr(model, "n_features_in_")


def test_what_has_no_rounds_refuses_them():
    with pytest.raises(ValueError, match=r"X_val of PNormPushRanker needs solver='coordinate'"):
        fit(make(PNormPushRanker, solver="lbfgs"))
    with pytest.raises(ValueError, match=r"n_bags=2 of RankBoost .*can't be used with X_val"):
        fit(make(n_bags=2))


def test_a_metric_without_weights_refuses_weights():
    with pytest.raises(
        ValueError, match=r"scoring='ndcg' of RankBoost can't be computed for early"
    ):
        fit(make(scoring="ndcg"), sample_weight_val=WEIGHT_VAL)
    fit(make(scoring="ndcg"), sample_weight=2 + np.arange(len(QID)) % 2)
