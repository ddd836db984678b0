"""The objectives for the engines: pair by pair, through each interface, and as objects."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from libraries import library
from oracles import definitions as oracles
from oracles import listwise as oracles_listwise
from sklearn.base import clone
from strategies import problems
from tiers import crossed

from sklearn_rank.engines import RankingObjective
from sklearn_rank.engines.engine import as_exact_sums
from sklearn_rank.objectives import SmoothedDcg

lightgbm, xgboost = library("lightgbm"), library("xgboost")

OBJECTIVES = {
    f"{loss}-{p:g}-{push}": {"loss": loss, "p": p, "push": push}
    for loss, p, push in [
        *(("exponential", p, push) for p in (1.0, 3.5) for push in ("top", "bottom", "both")),
        ("exponential", 1.0, "ir"),
        *((loss, 1.0, "top") for loss in ("least_squares", "squared_hinge", "hinge", "logistic")),
        *(("logistic", 3.5, push) for push in ("top", "crucial_pairs", "bottom", "both")),
        *((loss, 3.5, "both") for loss in ("least_squares", "squared_hinge", "hinge")),
        ("cross_entropy", 1.0, "top"),
        ("smoothed_dcg", 1.0, "top"),
    ]
}


QUICK = ["exponential-1-top", "hinge-3.5-both", "logistic-1-top", "cross_entropy-1-top"]


def slow(name):
    return pytest.param(name, marks=pytest.mark.slow)


# The oracle --------------------------------------------------------------------------------


def derivatives(f, y, qid, w, loss, p, push):
    """Gradient and curvature of the objective, as its class states them, unscaled."""
    if loss in ("cross_entropy", "smoothed_dcg"):
        gradient = oracles_listwise.listwise(f, y, qid, w, loss)[1]
        return gradient, oracles_listwise.listwise_curvature(f, y, qid, w, loss)
    if loss == "exponential":
        gradient = -oracles.row_masses(f, y, qid, w, p, push)
        return gradient, oracles.curvature(f, y, qid, w, p, push)
    gradient = oracles.margin_push(f, y, qid, w, loss, p, push)[1]
    if loss == "hinge":
        return gradient, oracles.margin_push_slopes(f, y, qid, w, loss, p, push)
    return gradient, oracles.margin_push_curvature(f, y, qid, w, loss, p, push)


def expected(f, y, qid, w, **objective):
    """The same on the scale of the log-loss: the mean curvature is 1/4 at equal scores."""
    gradient, curvature = derivatives(f, y, qid, w, **objective)
    at_equal = derivatives(np.zeros(len(y)), y, qid, w, **objective)[1]
    weight, is_pair = oracles.row_weights(y, w), oracles.above(y, qid, w)
    counts = is_pair.any(axis=0) | is_pair.any(axis=1)
    if objective["loss"] == "cross_entropy":  # rows with others beside them
        counts = at_equal > 0
    kappa = weight[counts].sum() / (4 * at_equal.sum())
    return kappa * gradient, kappa * curvature


def assert_equal(found, wanted):
    """To the digits of single precision, relative to the largest where summands cancel."""
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7 * np.abs(other).max())


def grouped(problem):
    """The problem with the rows of each query together, and the sizes of the queries."""
    codes = np.unique(problem.qid, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    rows = type(problem)(*(None if one is None else one[order] for one in problem))
    return rows, np.unique(codes, return_counts=True)[1]


def assert_is_pair_by_pair(name, problem, *sizes):
    objective, (_, y, qid, w, f) = OBJECTIVES[name], problem
    assume(oracles.margin_push(f, y, qid, w, "hinge")[0] > 0 or "hinge" not in name)
    found = RankingObjective(**objective)(y, f, w, *sizes)
    assert_equal(found, expected(f, y, qid, w, **objective))


@pytest.mark.parametrize("name", OBJECTIVES)
@given(problem=problems(queries=("none",)))
def test_one_list_pair_by_pair(name, problem):
    assert_is_pair_by_pair(name, problem)


@pytest.mark.parametrize("name", [name if name in QUICK else slow(name) for name in OBJECTIVES])
@given(problem=problems(queries=("integers",)))
def test_queries_pair_by_pair(name, problem):
    assert_is_pair_by_pair(name, *grouped(problem))


@pytest.mark.parametrize("name", [name for name in OBJECTIVES if not name.endswith("ir")])
def test_the_weight_of_a_query_is_a_number_of_copies(name):
    """Each term of a query counts so many times; a query of weight zero is not there."""
    y, f, sizes, copies = GRADES, SCORES, SIZES, np.array([3, 0, 1, 2])
    starts = np.cumsum([0, *sizes])
    blocks = [np.arange(*starts[[q, q + 1]]) for q, n in enumerate(copies) for _ in range(n)]
    rows = np.concatenate(blocks)
    objective = RankingObjective(**OBJECTIVES[name])
    copied = objective(y[rows], f[rows], None, [len(block) for block in blocks])
    summed = [np.bincount(rows, one, len(y)) for one in copied]
    found = objective(y, f, copies.astype(float), sizes)
    for one, other in zip(found, summed, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-6, atol=1e-6 * np.abs(other).max())


# Interfaces --------------------------------------------------------------------------------

RANDOM = np.random.default_rng(0)
SIZES = np.array([5, 1, 9, 15])
X = RANDOM.normal(size=(30, 2))
GRADES = RANDOM.integers(0, 3, 30).astype(float)
SCORES = RANDOM.integers(-4, 5, 30) / 4
QID = np.repeat([0, 1, 2, 3], SIZES)
WEIGHT = RANDOM.integers(0, 4, 30) / 2
HANDED = []


class Spy(RankingObjective):
    """Keeps what it is called with and what it returns, through copies of it too."""

    def __call__(self, y_true, y_pred, sample_weight=None, group=None):
        found = super().__call__(y_true, y_pred, sample_weight, group)
        HANDED.append((np.array(y_true if hasattr(y_pred, "get_label") else y_pred), found))
        return found


XGB = {"max_depth": 2, "nthread": 1}
LGB = {"num_threads": 1, "verbosity": -1, "min_data_in_leaf": 1}


def xgboost_train(objective, qid, w):
    rows = xgboost.DMatrix(X, label=GRADES, weight=w, qid=qid, base_margin=SCORES)
    xgboost.train(XGB, rows, 1, obj=objective)


def xgb_regressor(objective, qid, w):
    model = xgboost.XGBRegressor(objective=objective, n_estimators=1, n_jobs=1)
    model.fit(X, GRADES, sample_weight=w, base_margin=SCORES)


def lightgbm_train(objective, qid, w):
    sizes = None if qid is None else SIZES
    rows = lightgbm.Dataset(X, GRADES, weight=w, group=sizes, init_score=SCORES)
    lightgbm.train({"objective": objective, **LGB}, rows, 1)


def lgbm_regressor(objective, qid, w):
    model = lightgbm.LGBMRegressor(objective=objective, n_estimators=1, **LGB)
    model.fit(X, GRADES, sample_weight=w, init_score=SCORES)


def lgbm_ranker(objective, qid, w):
    model = lightgbm.LGBMRanker(objective=objective, n_estimators=1, **LGB)
    model.fit(X, GRADES, sample_weight=w, init_score=SCORES, group=SIZES)


INTERFACES = {
    "xgboost.train, one list": (xgboost_train, False),
    "xgboost.train, queries": (xgboost_train, True),
    "XGBRegressor": (xgb_regressor, False),
    "lightgbm.train, one list": (lightgbm_train, False),
    "lightgbm.train, queries": (lightgbm_train, True),
    "LGBMRegressor": (lgbm_regressor, False),
    "LGBMRanker": (lgbm_ranker, True),
}


@crossed(interface=INTERFACES, name=list(OBJECTIVES), weighted={"plain": False, "weighted": True})
def test_what_the_engine_is_handed(interface, name, weighted):
    fit, has_queries = interface
    HANDED.clear()
    objective, qid = OBJECTIVES[name], QID if has_queries else None
    # XGBoost has weights of queries, where there are any: those are tested above.
    given = weighted and not (has_queries and fit is xgboost_train)
    fit(Spy(**objective), qid, WEIGHT if given else None)
    scores, found = HANDED[0]
    np.testing.assert_array_equal(scores, SCORES)
    weight = WEIGHT if given else None
    assert_equal(found, expected(SCORES, GRADES, qid, weight, **objective))


@pytest.mark.parametrize("name", ["exponential-1-top", "logistic-3.5-both", "cross_entropy-1-top"])
def test_weights_of_queries_reach_xgboost(name):
    HANDED.clear()
    copies = np.array([3.0, 0.0, 1.0, 2.0])
    xgboost_train(Spy(**OBJECTIVES[name]), QID, copies)
    alone = RankingObjective(**OBJECTIVES[name])(GRADES, SCORES, copies, SIZES)
    for one, other in zip(HANDED[0][1], alone, strict=True):
        np.testing.assert_array_equal(one, other)


# The object --------------------------------------------------------------------------------

COPIES = {
    "pickle": lambda one: pickle.loads(pickle.dumps(one)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("kind", COPIES)
def test_copies_are_equal_and_hold_parameters_only(kind):
    objective = RankingObjective(SmoothedDcg(0.5))
    wanted = objective(GRADES, SCORES)
    found = COPIES[kind](objective)
    assert found == objective
    assert repr(found) == repr(objective)
    assert vars(found) == {"loss": SmoothedDcg(0.5), "p": 1.0, "push": "top"}
    np.testing.assert_array_equal(found(GRADES, SCORES), wanted)


@pytest.mark.parametrize(
    "make",
    [lambda: xgboost.XGBRegressor(n_jobs=1), lambda: lightgbm.LGBMRegressor(**LGB)],
    ids=["xgb", "lgb"],
)
def test_a_clone_of_a_model_has_the_objective(make):
    objective = RankingObjective("exponential", p=4)
    first = clone(make()).set_params(objective=objective, n_estimators=2).fit(X, GRADES)
    assert np.ptp(first.predict(X)) > 0
    second = clone(first)
    assert second.get_params()["objective"] == objective
    np.testing.assert_array_equal(second.fit(X, GRADES).predict(X), first.predict(X))


CHANGES = {
    "labels": lambda y, w, sizes: (y[::-1].copy(), w, sizes),
    "weights": lambda y, w, sizes: (y, w + 1, sizes),
    "no weights": lambda y, w, sizes: (y, None, sizes),
    "queries": lambda y, w, sizes: (y, w, sizes[::-1].copy()),
    "no queries": lambda y, w, sizes: (y, w, None),
}


@pytest.mark.parametrize("change", CHANGES)
def test_other_arrays_are_noticed(change):
    objective = RankingObjective()
    objective(GRADES, SCORES, WEIGHT, SIZES)
    y, w, sizes = CHANGES[change](GRADES, WEIGHT, SIZES)
    found = objective(y, SCORES, w, sizes)
    np.testing.assert_array_equal(found, RankingObjective()(y, SCORES, w, sizes))
    assert np.abs(found[0] - objective(GRADES, SCORES, WEIGHT, SIZES)[0]).max() > 1e-3


def test_a_caller_that_writes_into_its_arrays_is_noticed():
    y, w, sizes, objective = GRADES.copy(), WEIGHT + 1, SIZES.copy(), RankingObjective()
    before = objective(y, SCORES, w, sizes)
    y[:] = y[::-1]
    w[:3] += 5
    found = objective(y, SCORES, w, sizes)
    np.testing.assert_array_equal(found, RankingObjective()(y, SCORES, w, sizes))
    assert np.abs(found[0] - before[0]).max() > 1e-3


# Bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"loss": "ndcg"}, ["'loss' parameter of RankingObjective", "'ndcg'"]),
        ({"p": 0.5}, ["'p' parameter", "[1, inf]", "0.5"]),
        ({"p": np.inf}, ["'p' parameter of RankingObjective must be finite"]),
        ({"push": "ir"}, ["push='ir' of RankingObjective needs loss='exponential'"]),
        ({"loss": "cross_entropy", "p": 2}, ["p=1 and push='top'", "p=2"]),
        ({"loss": "smoothed_dcg", "push": "both"}, ["p=1 and push='top'", "push='both'"]),
    ],
    ids=str,
)
def test_bad_parameters(parameters, words):
    with pytest.raises(ValueError, match="RankingObjective") as caught:
        RankingObjective(**parameters)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 0, 0], np.zeros(3), None, [2, 2]), "group .* sum to the number of rows, 3. Got 4"),
        (([1, 0, 0], np.zeros(3), [1.0, 2.0]), "weight for each of the 3 rows.* Got 2 weights"),
        (([1, 0, 0], np.zeros((3, 2))), r"score for each of the 3 rows.*\(3, 2\)"),
        (([1, 0, 0], np.array([0, np.nan, np.inf])), "finite score .* 2 of them .* learning rate"),
        (([1, 0, 0], np.zeros(3), [1.0, -1.0, 1.0]), "must not be negative"),
        (([1, 1, 1], np.zeros(3)), "no row is comparable to another"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_bad_arrays(arguments, message):
    with pytest.raises(ValueError, match=message):
        RankingObjective()(*arguments)


@pytest.mark.parametrize("name", [name for name in OBJECTIVES if "entropy" not in name])
def test_no_comparable_pair(name):
    with pytest.raises(ValueError, match="no row is comparable to another"):
        RankingObjective(**OBJECTIVES[name])([1, 1, 0], np.zeros(3), None, [2, 1])


def test_grades_at_which_gains_overflow():
    with pytest.raises(ValueError, match=r"squares overflow.* Got y = 300"):
        RankingObjective("smoothed_dcg")(np.array([300.0, 0.0]), np.zeros(2))


def test_weights_of_queries_are_refused_where_they_have_no_meaning():
    objective = RankingObjective("exponential", push="ir")
    with pytest.raises(ValueError, match="push='ir' does not support query weights"):
        objective(GRADES, SCORES, np.ones(4), SIZES)


# Sums without rounding ---------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-300, 1e-20, 1.0, 1e20])
def test_sums_of_rounded_values_do_not_depend_on_the_order(scale):
    values = scale * np.random.default_rng(0).standard_cauchy(5000)
    rounded = as_exact_sums(values)
    assert rounded.dtype == np.float32
    sums = {float(np.add.accumulate(rounded[order].astype(float))[-1]) for order in orders(5000)}
    assert len(sums) == 1
    if scale > 1e-300:  # all below single precision, where nothing is left
        np.testing.assert_allclose(rounded, values, rtol=1e-6)


def orders(n):
    rng = np.random.default_rng(1)
    return [np.arange(n), np.arange(n)[::-1], *(rng.permutation(n) for _ in range(5))]
