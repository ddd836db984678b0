"""BoostedTreesRanker(warm_start=True): more trees, on the same rows or on new ones."""

import pickle
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest

from sklearn_rank import BoostedTreesRanker
from sklearn_rank.export.search_engines.tree_arrays import trees_of
from sklearn_rank.objectives import pair_loss_and_gradient

RNG = np.random.default_rng(0)
N = 400
X = RNG.integers(0, 20, (N, 4)).astype(float)
Y = (X[:, 0] - X[:, 1] + 10 * RNG.normal(size=N) > 0).astype(int)
GRADES = np.clip(np.round((X[:, 0] + 5 * RNG.normal(size=N)) / 6), 0, 4)
QID = np.repeat(np.arange(20), 20)
NEW = RNG.integers(0, 20, (N, 4)).astype(float)
NEW_Y = (NEW[:, 2] - NEW[:, 3] + 5 * RNG.normal(size=N) > 0).astype(int)

LIBRARIES = ["lightgbm", "xgboost"]
every_engine = pytest.mark.parametrize("engine", [*LIBRARIES, "symmetric"])


def make(engine, **parameters):
    kept = {"subsample": 1.0, "colsample": 1.0, "learning_rate": 0.3, "loss": "logistic"}
    kept |= {"max_depth": 3} if engine == "symmetric" else {"max_leaf_nodes": 6}
    return BoostedTreesRanker(engine=engine, **{"n_estimators": 4, **kept, **parameters})


FORMS = {
    "binary": ({}, {"y": Y}),
    "weights": ({}, {"y": Y, "sample_weight": RNG.integers(1, 4, N)}),
    "exponential": ({"loss": "exponential", "p": 2}, {"y": Y}),
    "queries": ({"relevance": "graded"}, {"y": GRADES, "qid": QID}),
    "lists": ({"relevance": "graded", "loss": "cross_entropy"}, {"y": GRADES, "qid": QID}),
    "ndcg": ({"relevance": "graded", "loss": "ndcg"}, {"y": GRADES, "qid": QID}),
}


@pytest.mark.parametrize("engine", LIBRARIES)
@pytest.mark.parametrize(("parameters", "arrays"), FORMS.values(), ids=FORMS)
def test_on_the_same_rows_it_is_one_fit(engine, parameters, arrays):
    """Without random rows and features, and with as many bins as values."""
    whole = make(engine, n_estimators=9, **parameters).fit(X, **arrays)
    model = make(engine, warm_start=True, **parameters).fit(X, **arrays)
    first = model.predict(X) if parameters.get("relevance") else model.decision_function(X)
    model.set_params(n_estimators=9).fit(X, **arrays)
    assert model.n_iter_ == 9
    assert len(model.booster_.trees_to_dataframe().query("Tree == 8" if engine == "xgboost"
               else "tree_index == 8"))  # fmt: skip
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-4, atol=1e-6)
    for name in ("objective_curve_", "staged_offsets_", "feature_importances_"):
        if hasattr(whole, name):
            np.testing.assert_allclose(getattr(model, name), getattr(whole, name), rtol=1e-4)
    stages = list(model.staged_predict(X) if parameters.get("relevance") else
                  model.staged_decision_function(X))  # fmt: skip
    assert len(stages) == 9
    np.testing.assert_allclose(stages[3], first, rtol=1e-6, atol=1e-7)


@every_engine
@pytest.mark.parametrize("subsample", [0.7, 1.0])
def test_new_rows_move_the_model_and_leave_its_trees(engine, subsample):
    model = make(engine, n_estimators=20, subsample=subsample, warm_start=True).fit(X, Y)
    old = deepcopy(model)
    before = old.score(NEW, NEW_Y)
    model.set_params(n_estimators=50).fit(NEW, NEW_Y)
    assert before < 0.6
    assert model.score(NEW, NEW_Y) > 0.75
    stages = list(model.staged_decision_function(X))
    assert len(stages) == model.n_iter_ == len(model.objective_curve_) == 50
    kept = stages[19] - model.staged_offsets_[19]
    np.testing.assert_allclose(kept, old.decision_function(X) - old.offset_, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(model.objective_curve_[:20], old.objective_curve_)
    scores = model.decision_function(NEW)
    loss = pair_loss_and_gradient(NEW_Y, scores)[0] / (NEW_Y.sum() * (1 - NEW_Y).sum())
    assert model.objective_curve_[-1] == pytest.approx(loss, rel=1e-5)
    start = pair_loss_and_gradient(NEW_Y, old.decision_function(NEW))[0]
    start /= NEW_Y.sum() * (1 - NEW_Y).sum()
    assert model.objective_curve_[20] < start
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    more = loaded.set_params(n_estimators=55, learning_rate=0.05).fit(X, Y)
    assert more.n_iter_ == 55
    np.testing.assert_allclose(
        more.contributions(NEW).sum(axis=1), more.decision_function(NEW), rtol=1e-4, atol=1e-5
    )


FRAME = pd.DataFrame(X, columns=list("abcd"))
REFUSED = {
    "rounds": ({"n_estimators": 4}, {}, "n_estimators=4 must be more than the 4 rounds fitted"),
    "features": ({}, {"X": X[:, :2]}, "same number of features: it was fitted with 4. Got 2"),
    "classes": ({}, {"y": Y * 2}, r"same classes: it was fitted with \[0, 1\]. Got \[0, 2\]"),
    "relevance": ({"relevance": "graded"}, {}, "same classes: it was fitted with .* Got None"),
    "names": ({}, {"X": FRAME}, "same names of features: it was fitted with None"),
    "stopping": ({"n_iter_no_change": 3}, {}, "can't continue with held-out rows"),
    "categories": ({"categorical_features": [0]}, {}, "can't continue with categories"),
}


@every_engine
@pytest.mark.parametrize(("parameters", "arrays", "message"), REFUSED.values(), ids=REFUSED)
def test_what_it_refuses_changes_nothing(engine, parameters, arrays, message):
    model = make(engine, warm_start=True).fit(X, Y)
    expected = model.decision_function(X)
    good = model.get_params()
    with pytest.raises(ValueError, match=message):
        model.set_params(**{"n_estimators": 8, **parameters}).fit(**{"X": X, "y": Y, **arrays})
    model.set_params(**good)
    np.testing.assert_array_equal(model.decision_function(X), expected)
    assert model.n_iter_ == 4


@every_engine
@pytest.mark.parametrize("is_first", [True, False])
def test_sides_of_missing_values_stay_when_trees_are_added(engine, is_first):
    """Of trees that had none, and of trees that learned them."""
    holes = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
    first, then = (holes, X) if is_first else (X, holes)
    model = make(engine, warm_start=True).fit(first, Y)
    before = trees_of(model)
    model.set_params(n_estimators=8).fit(then, Y)
    for tree, old in zip(trees_of(model), before, strict=False):
        np.testing.assert_array_equal(tree.missing_left, old.missing_left)
        assert engine == "symmetric" or not tree.is_neutral.any()  # its levels know themselves
