"""What a user can get wrong: a clear error, and nothing lost."""

from contextlib import contextmanager
from copy import copy, deepcopy
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from rankers import BOOSTERS, OTHERS, RANKERS, cheap, forms
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted
from tiers import crossed

from sklearn_rank import (
    BoostedTreesRanker,
    KernelPairwiseSGDRanker,
    ListNetLinear,
    PNormPushRanker,
    RankBoost,
)
from sklearn_rank._core.validation import check_names
from sklearn_rank.estimators._boosting.problem import History
from sklearn_rank.metrics import ndcg_score
from sklearn_rank.objectives import LISTWISE_LOSSES, MARGIN_LOSSES, PUSHES

RELEVANCES = ["binary", "graded"]

WEAK_RANKERS = ["stump", "feature", DecisionTreeRegressor(max_depth=1)]

every_ranker = pytest.mark.parametrize("ranker", RANKERS)
every_booster = pytest.mark.parametrize("ranker", BOOSTERS)
every_form = pytest.mark.parametrize(("ranker", "parameters"), forms(WEAK_RANKERS), ids=str)
every_relevance = pytest.mark.parametrize("relevance", RELEVANCES)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X = np.array([[0.0, 3.0], [1.0, 1.0], [2.0, 2.0], [3.0, 0.0], [1.5, 0.5], [2.5, 2.5]])
Y = np.array([0, 0, 1, 1, 1, 0])
QID = np.array([1, 1, 1, 2, 2, 2])


def make(ranker, relevance="binary", **parameters):
    return ranker(relevance=relevance, **{**cheap(ranker, 3), **parameters})


def refuses(model, *words, X=X, y=Y, error=ValueError, **options):
    """Assert that fit raises, with all the words in its message, and leaves nothing behind."""
    with pytest.raises(error) as caught:
        model.fit(X, y, **options)
        pytest.fail(f"{model} was fitted with {options}")
    for word in words:
        assert word in str(caught.value), (model, options)
    assert_unfitted(model)


@contextmanager
def keeps(model, rows=X):
    """Assert that what is done within leaves the fitted model as it was, to each object."""
    before, scores = dict(vars(model)), model.predict(rows)
    yield
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)
    np.testing.assert_array_equal(model.predict(rows), scores)


def assert_equals_a_fresh_fit(model, fresh):
    """Assert that nothing of an earlier fit is left."""
    fresh.fit(X, Y)
    assert set(vars(model)) == set(vars(fresh))
    np.testing.assert_array_equal(model.predict(X), fresh.predict(X))


def assert_unfitted(model):
    assert set(vars(model)) == set(model.get_params(deep=False))
    if "weak_ranker" in model.get_params(deep=False):
        model = copy(model).set_params(weak_ranker="stump")  # whose tags can be asked for
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    with pytest.raises(NotFittedError):
        model.predict(X)


# Labels -------------------------------------------------------------------------------


THREE_CLASSES = "Only binary classification is supported.", "3 classes", "relevance='graded'"
NUMBERS_AS_CLASSES = "Unknown label type: continuous", "relevance='graded'"
NO_NUMBERS = "y", "numbers"
BAD_LABELS = {
    "one class": ("binary", ["a"] * 6, ("two classes", "one class: 'a'")),
    "three classes": ("binary", [0, 1, 2, 0, 1, 2], THREE_CLASSES),
    "numbers as classes": ("binary", [0.5, 1.5, 0.25, 1, 2, 3], NUMBERS_AS_CLASSES),
    "texts as grades": ("graded", list("ababab"), NO_NUMBERS),
    "digits as grades": ("graded", np.array(list("010101"), object), NO_NUMBERS),
    "missing grade": ("graded", np.array([0, 1, None, 1, 0, 1], object), ("y",)),
    "equal grades": ("graded", np.ones(6), ("no comparable pair",)),
    **{
        f"{name}, {relevance}": (relevance, y, words)
        for relevance in RELEVANCES
        for name, y, words in [
            ("NaN", [0, 0, np.nan, 1, 1, 0], ("y contains", "NaN")),
            ("infinite", [0, 0, np.inf, 1, 1, 0], ("y contains", "infinity")),
        ]
    },
}


@every_ranker
def test_labels(ranker):
    for relevance, y, words in BAD_LABELS.values():
        refuses(make(ranker, relevance), *words, y=y)


@every_ranker
def test_labels_that_were_never_seen_at_score(ranker):
    model = make(ranker).fit(X, Y)
    with pytest.raises(ValueError, match=r"labels that .* was not fitted with.*7"):
        model.score(X, Y + 7)


# Pairs, queries, weights --------------------------------------------------------------


@every_ranker
@every_relevance
def test_no_comparable_pair_in_any_query(ranker, relevance):
    words = ranker.__name__, "no comparable pair", "query"
    refuses(make(ranker, relevance), *words, qid=Y)
    refuses(make(ranker, relevance), *words, qid=np.arange(6))


@every_ranker
@every_relevance
def test_weights_of_zero_leave_no_pair(ranker, relevance):
    weight = [1, 0, 0, 1, 0, 0]
    refuses(make(ranker, relevance), "no comparable pair", qid=QID, sample_weight=weight)


NOT_QIDS = {
    "nan": ([1, 1, np.nan, 2, 2, 2], "missing values: row 2"),
    "None": (["a", "a", "a", None, "b", "b"], "missing values: row 3"),
    "nan in a list of strings": (["a", "a", float("nan"), "b", "b", "b"], "missing values: row 2"),
    "NaT": (np.array(["2026-01-01"] * 5 + ["NaT"], "datetime64[D]"), "missing values: row 5"),
    "pandas str": (pd.Series(["a", "a", "b", "b", "b", None]), "missing values: row 5"),
    "pandas Int64": (pd.Series([1, 1, None, 2, 2, 2], dtype="Int64"), "missing values: row 2"),
    "polars": (pl.Series(["a", None, "b", "b", "b", "b"]), "missing values: row 1"),
    "mixed": (np.array([1, 1, 1, "b", "b", "b"], object), "one kind"),
}


@every_ranker
@every_relevance
def test_query_ids(ranker, relevance):
    for qid, message in NOT_QIDS.values():
        refuses(make(ranker, relevance), "qid", message, qid=qid)


@pytest.mark.parametrize("dtype", ["int64", "Int64", "UInt64", "int64[pyarrow]"])
@pytest.mark.parametrize("container", [pd.Series, pd.Index])
def test_long_ids_are_told_apart(container, dtype):
    ids = container([2**60, 2**60, 2**60 + 1, 2**60 + 1], dtype=dtype)
    assert ndcg_score([1, 0, 0, 1], [0, 1, 0, 1], qid=ids, average=None).tolist() == [
        pytest.approx(1 / np.log2(3)),
        1.0,
    ]
    assert check_names(ids, "qid").tolist() == ids.tolist()
    weight = {2**60: 1.0, 2**60 + 1: 3.0}
    found = ndcg_score([1, 0, 0, 1], [0, 1, 0, 1], qid=ids, query_weight=weight)
    assert found == pytest.approx((1 / np.log2(3) + 3) / 4)


@every_ranker
@every_relevance
def test_fitted_with_queries_and_scored_without(ranker, relevance):
    model = make(ranker, relevance).fit(X, Y, qid=QID)
    words = "fitted with qid", "enable_metadata_routing=True", "error_score='raise'"
    with pytest.raises(ValueError) as caught:
        model.score(X, Y)
    assert all(word in str(caught.value) for word in (ranker.__name__, *words))
    assert 0 <= model.score(X, Y, qid=QID) <= 1
    assert 0 <= model.fit(X, Y).score(X, Y) <= 1


# Features -----------------------------------------------------------------------------


def with_value(value):
    out = X.copy()
    out[3, 1] = value
    return out


NOT_FEATURES = [
    *(
        (ranker, {"weak_ranker": weak_ranker}, value, word)
        for ranker in BOOSTERS
        for weak_ranker, value, word in [
            ("feature", np.nan, "NaN"),
            ("feature", np.inf, "infinity"),
            ("stump", np.inf, "infinity"),
            ("stump", -np.inf, "infinity"),
            (DecisionTreeRegressor(max_depth=1), np.inf, "infinity"),
        ]
    ),
    *(
        (ranker, {}, value, word)
        for ranker in OTHERS
        if not get_tags(ranker()).input_tags.allow_nan
        for value, word in [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "inf")]
    ),
]


@pytest.mark.parametrize(("ranker", "parameters", "value", "word"), NOT_FEATURES)
@every_relevance
def test_features_that_the_model_cannot_take(ranker, relevance, parameters, value, word):
    model = make(ranker, relevance, **parameters)
    refuses(model, "X contains", word, X=with_value(value))
    model.fit(X, Y)
    with pytest.raises(ValueError, match=f"X contains .*{word}"):
        model.predict(with_value(value))


SIZES = [
    *((ranker, scale) for ranker in BOOSTERS for scale in (1e-308, 1e20, 1e200, 5.9e307)),
    # The variance of the features, which sets the width of the kernel, has to be a number.
    *((KernelPairwiseSGDRanker, scale) for scale in (1e-150, 1e20, 1e150)),
]


@pytest.mark.parametrize(("ranker", "scale"), SIZES)
@every_relevance
def test_features_of_any_size(ranker, relevance, scale):
    expected = make(ranker, relevance).fit(X, Y).predict(X)
    found = make(ranker, relevance).fit(scale * X, Y).predict(scale * X)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


# Parameters ---------------------------------------------------------------------------

OUT_OF_RANGE = {
    "random_state": [-1, 1.5, "seed", 2**32],
    "n_jobs": [1.5, "all"],
    "verbose": [-1, 0.5, None],
}
BOOSTING_OUT_OF_RANGE = {
    "n_estimators": [0, -1, 1.5, "10", None, True],
    "learning_rate": [0, -0.1, 1.01, np.nan, "1"],
    "max_bins": [1, 2.5, 65_536, None],
    "tol": [-1e-9, np.inf, np.nan, None],
    "warm_start": [1, "yes", None],
    "validation_fraction": [0, 1, 1.5, -0.1, np.nan],
    "n_iter_no_change": [0, -3, 2.5],
    "scoring": ["", "NDCG", "ndcg@0", "precision", "push", "roc_auc", 3, ["map"], RankBoost],
}
PUSH_OUT_OF_RANGE = {
    "p": [0.999, 0, -1, -np.inf, np.nan, None, "4", True],
    "bottom_weight": [-0.1, np.inf, np.nan],
    "alpha": [-1e-3, np.inf, np.nan, None, "lbfgs"],
    "score_p": [0.5, -1, np.nan, "auc"],
}
OPTIONS = {
    "relevance": ("binary", "graded"),
    "weak_ranker": ("stump", "feature"),
    "selection": ("steepest", "optimal"),
    "push": PUSHES,
    "loss": MARGIN_LOSSES,
    "solver": ("coordinate", "corrective", "lbfgs"),
}
OTHER_OPTIONS = {
    (KernelPairwiseSGDRanker, "solver"): ("gd", "lbfgs"),
    (ListNetLinear, "solver"): ("lbfgs", "ogd"),
    (ListNetLinear, "loss"): LISTWISE_LOSSES,
}


@pytest.mark.parametrize(
    ("rankers", "table"),
    [
        (RANKERS, OUT_OF_RANGE),
        (BOOSTERS, BOOSTING_OUT_OF_RANGE),
        ([PNormPushRanker], PUSH_OUT_OF_RANGE),
        ([BoostedTreesRanker], {"score_p": PUSH_OUT_OF_RANGE["score_p"]}),
    ],
)
def test_parameters_out_of_range(rankers, table):
    for ranker, name in product(rankers, table):
        for value in table[name]:
            words = f"The '{name}' parameter of {ranker.__name__} must be", f"Got {value!r} instead"
            refuses(ranker(**{name: value}), *words)


@every_ranker
def test_unknown_options(ranker):
    for name, value in product(OPTIONS, ["no such thing", None, 3, ["top"]]):
        if name not in ranker().get_params():
            with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
                ranker(**{name: value})
            continue
        choices = (repr(option) for option in OTHER_OPTIONS.get((ranker, name), OPTIONS[name]))
        refuses(ranker(**{name: value}), f"'{name}'", ranker.__name__, *choices, repr(value))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"p": np.inf}, ["p=inf", "solver='lbfgs'", "solver='coordinate'"]),
        ({"alpha": 0.1}, ["alpha=0.1", "'corrective' or 'lbfgs'", "'coordinate'"]),
        ({"solver": "lbfgs", "p": np.inf, "push": "ir"}, ["p=inf", "push='ir'", "'bottom'"]),
        ({"solver": "lbfgs", "selection": "optimal"}, ["selection='optimal'", "'coordinate'"]),
        ({"solver": "corrective", "weak_ranker": "feature"}, ["weak_ranker='feature'", "'lbfgs'"]),
        ({"solver": "lbfgs", "learning_rate": 0.5}, ["learning_rate=0.5", "'coordinate'"]),
        ({"solver": "lbfgs", "n_iter_no_change": 3}, ["n_iter_no_change=3", "'coordinate'"]),
        (
            {"solver": "lbfgs", "weak_ranker": DecisionTreeRegressor()},
            ["weak_ranker=DecisionTreeRegressor()", "'coordinate'"],
        ),
    ],
)
def test_parameters_that_do_not_go_together(parameters, words):
    refuses(PNormPushRanker(**parameters), "PNormPushRanker", *words)


@every_booster
@every_relevance
def test_estimators_without_sample_weight_are_no_weak_rankers(ranker, relevance):
    model = make(ranker, relevance, weak_ranker=KNeighborsRegressor())
    refuses(model, "weak_ranker=KNeighborsRegressor()", ranker.__name__, "sample_weight")


@every_booster
@pytest.mark.parametrize("weak_ranker", [DecisionTreeRegressor, object(), 5, None])
def test_things_that_are_no_weak_rankers(ranker, weak_ranker):
    words = "'weak_ranker'", ranker.__name__, "'stump', 'feature'", "regressor or classifier"
    refuses(make(ranker, weak_ranker=weak_ranker), *words)


@every_ranker
def test_graded_rankers_have_no_decision_function(ranker):
    model = make(ranker, "graded").fit(X, Y)
    assert not hasattr(model, "decision_function")
    with pytest.raises(AttributeError, match="decision_function") as caught:
        model.decision_function(X)
    assert "predict returns the scores" in str(caught.value.__cause__)


# What a failure leaves behind ---------------------------------------------------------


@every_ranker
@every_relevance
def test_failures_of_a_first_fit_in_training_leave_nothing(ranker, relevance, monkeypatch):
    for error in (RuntimeError, KeyboardInterrupt, MemoryError):
        model = make(ranker, relevance)
        break_training(monkeypatch, ranker, error)
        refuses(model, error=error)
        monkeypatch.undo()
        assert model.fit(X, Y).n_features_in_ == 2


def break_training(monkeypatch, ranker, error, owner=None):
    """Let the second round of boosting fail, or the end of any other training of `owner`."""
    noted = []

    def add(self, done, *options):
        noted.append(done)
        if len(noted) == 2:
            raise error
        return original(self, done, *options)

    def fit(self, data):
        original(self, data)
        raise error

    is_by_rounds = ranker in BOOSTERS
    owner, name, broken = (History, "add", add) if is_by_rounds else (ranker or owner, "_fit", fit)
    original = getattr(owner, name)
    monkeypatch.setattr(owner, name, broken)


@every_ranker
@every_relevance
def test_interrupting_a_later_fit_keeps_the_earlier_model(ranker, relevance, monkeypatch):
    table = pd.DataFrame(X, columns=["a", "b"])
    model = make(ranker, relevance).fit(table, Y)
    break_training(monkeypatch, ranker, KeyboardInterrupt)
    with keeps(model, table), pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :1], 1 - Y)


WARM = [ranker for ranker in RANKERS if "warm_start" in ranker._get_param_names()]
TREE = DecisionTreeRegressor(max_depth=1)
WARM_FORMS = [
    *((ranker, {}) for ranker in WARM),
    *((ranker, {"weak_ranker": TREE}) for ranker in BOOSTERS),
    (ListNetLinear, {"solver": "ogd", "eta0": 0.5}),
    (KernelPairwiseSGDRanker, {"solver": "gd", "average": True, "max_iter": 20}),
    (PNormPushRanker, {"solver": "lbfgs", "alpha": 0.1}),
]


def longer(model):
    """Let a model with rounds go on for more of them."""
    return model.set_params(n_estimators=8) if "n_estimators" in model.get_params() else model


@crossed(
    form={str(form): form for form in WARM_FORMS},
    error={error.__name__: error for error in (RuntimeError, KeyboardInterrupt, MemoryError)},
)
def test_a_warm_start_that_fails_keeps_the_earlier_model(form, error, monkeypatch):
    ranker, parameters = form
    model = longer(make(ranker, warm_start=True, **parameters).fit(X, Y))
    twin = deepcopy(model)
    break_training(monkeypatch, "solver" not in parameters and ranker, error, ranker)
    with keeps(model), pytest.raises(error):
        model.fit(X, Y)
    monkeypatch.undo()
    # Nothing inside has changed, either: the next fit goes on from the same place.
    np.testing.assert_array_equal(model.fit(X, Y).predict(X), twin.fit(X, Y).predict(X))


FAULTY = {
    "parameter": ({"verbose": -1}, {}),
    "features": ({}, {"X": np.full((6, 5), np.inf)}),
    "labels": ({}, {"y": [np.nan] * 6}),
    "qid": ({}, {"qid": [1, 2]}),
    "weight": ({}, {"sample_weight": -np.ones(6)}),
    "pairs": ({}, {"X": np.ones((6, 3)), "qid": np.arange(6)}),
}
BOOSTING_FAULTY = {
    "combination": ({"weak_ranker": KNeighborsRegressor()}, {}),
    "warm start": ({"warm_start": True, "n_estimators": 1}, {}),
}
KERNEL_FAULTY = {
    "combination": ({"average": True, "solver": "lbfgs"}, {}),
    "shape": ({"kernel": "precomputed"}, {}),
    "warm start": ({"warm_start": True, "kernel": "linear"}, {}),
}
FAULTS = [
    pytest.param(ranker, *fault, id=f"{ranker.__name__}-{name}")
    for rankers, faults in [
        (RANKERS, FAULTY),
        (BOOSTERS, BOOSTING_FAULTY),
        ([KernelPairwiseSGDRanker], KERNEL_FAULTY),
    ]
    for ranker in rankers
    for name, fault in faults.items()
]


@pytest.mark.slow
@every_relevance
@pytest.mark.parametrize(("ranker", "parameters", "arrays"), FAULTS)
def test_failures_in_validation_keep_the_last_fit(ranker, relevance, parameters, arrays):
    table = pd.DataFrame(X, columns=["a", "b"])
    model = make(ranker, relevance).fit(table, Y, qid=QID)
    good = model.get_params()
    with keeps(model, table):
        with pytest.raises(ValueError):  # the cases above
            model.set_params(**parameters).fit(**{"X": X, "y": Y, "qid": QID} | arrays)
        model.set_params(**good)


@every_booster
@every_relevance
def test_a_new_fit_forgets_the_last_one(ranker, relevance):
    table = pd.DataFrame(X, columns=["a", "b"])
    model = make(ranker, relevance, n_iter_no_change=2, validation_fraction=0.5, random_state=0)
    big = pd.concat([table + i / 100 for i in range(10)])
    model.fit(big, np.tile(Y, 10)).set_params(n_iter_no_change=None).fit(X, Y)
    assert_equals_a_fresh_fit(model, make(ranker, relevance))


@every_form
@every_relevance
def test_fit_changes_neither_parameters_nor_inputs(ranker, parameters, relevance):
    arrays = [X.copy(), Y.copy(), QID.copy(), np.array([1.0, 0, 2, 1, 3, 1])]
    for array in arrays:
        array.setflags(write=False)
    model = make(ranker, relevance, **parameters, random_state=np.random.RandomState(0))
    before = model.get_params(deep=False)
    state = clone(model)  # equal parameters, frozen in time
    model.fit(arrays[0], arrays[1], qid=arrays[2], sample_weight=arrays[3])
    model.predict(arrays[0])
    model.score(arrays[0], arrays[1], qid=arrays[2], sample_weight=arrays[3])
    after = model.get_params(deep=False)
    assert all(after[name] is before[name] for name in before)
    weak_ranker = after.get("weak_ranker", "")
    assert repr(weak_ranker) == repr(state.get_params().get("weak_ranker", ""))
    if not isinstance(weak_ranker, str):
        with pytest.raises(NotFittedError):
            check_is_fitted(weak_ranker)
    for array, original in zip(arrays, (X, Y, QID), strict=False):
        np.testing.assert_array_equal(array, original)


@every_booster
def test_a_training_part_without_pairs_is_refused(ranker):
    """Only one query has a pair, and early stopping may hold it out."""
    qid = np.repeat(np.arange(4), 3)
    y = np.array([0, 1, 1, *[0] * 3, *[1] * 3, *[0] * 3])
    features = np.arange(24.0).reshape(12, 2)
    for seed in range(12):
        model = make(ranker, n_iter_no_change=2, validation_fraction=0.25, random_state=seed)
        refuses(model, "n_iter_no_change", "no comparable pair", X=features, y=y, qid=qid)


def test_classes_in_graded_mode_name_the_mode_for_them():
    with pytest.raises(ValueError, match="Two classes need relevance='binary'"):
        ListNetLinear().fit([[0.0], [1.0]], ["no", "yes"])
    model = ListNetLinear(relevance="binary").fit([[0.0], [1.0]], ["no", "yes"])
    assert model.decision_function([[0.0], [1.0]]).argmax() == 1
