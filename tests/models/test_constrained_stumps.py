"""Constraints on stumps: what may be chosen, what is chosen, and what the model then is."""

import pickle
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from boosters import SHARED, stumps
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import definitions as oracles
from oracles import tables as oracles_tables
from shared_fits import unlabelled
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from strategies import Problem, one_list, problems
from test_boosting import fit, objective_of, training_part
from test_persistence import through_skops
from tiers import crossed

from sklearn_rank import PNormPushRanker, RankBoost, SmoothMarginRanker
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import RowGradient
from sklearn_rank._core.rows import FitRows
from sklearn_rank.models import StumpConstraints, Stumps
from sklearn_rank.models.stump_columns import smaller_side
from sklearn_rank.solvers.coordinate_descent import OptimalGain, QuadraticGain, steepest

N_ROUNDS = 6
pytestmark = pytest.mark.filterwarnings("ignore:.*no weak ranker", "ignore:.*smooth margin stayed")
BOOSTERS = [RankBoost, PNormPushRanker, SmoothMarginRanker]
every_booster = pytest.mark.parametrize("ranker", BOOSTERS)


@st.composite
def constraints(draw, n_features, categories=True):
    """Parameters that constrain stumps on `strategies.problems`."""
    found = {}
    columns = st.integers(0, n_features - 1)
    sign = draw(st.lists(st.sampled_from([0, 1, -1]), min_size=n_features, max_size=n_features))
    if categories and draw(st.booleans()):
        found["categorical_features"] = [draw(columns)]
        sign[found["categorical_features"][0]] = 0
    numeric = [j for j in range(n_features) if j not in found.get("categorical_features", ())]
    found["monotonic_cst"] = sign
    if numeric and draw(st.booleans()):
        codes = draw(st.sampled_from([[1.0], [0.0, 0.2], [40.0, 2.0], [-7.0]]))
        found["special_values"] = {draw(st.sampled_from(numeric)): codes}
    if numeric and draw(st.booleans()):
        given = draw(st.sampled_from([[0.15, 1.5], [0.0, 0.1, 1.0, 50.0], []]))
        found["thresholds"] = {draw(st.sampled_from(numeric)): given}
    found["max_thresholds"] = draw(st.sampled_from([99, 99, 1, 2]))
    found["max_features_used"] = draw(st.sampled_from([None, None, 1, 2]))
    found["min_bin_size"] = draw(st.sampled_from([0.0, 0.0, 0.2, 0.35]))
    found["max_bins"] = draw(st.sampled_from([64, 64, 2, 3]))
    return found


@st.composite
def constrained(draw, family=problems, **options):
    """A problem and constraints for it."""
    options = {"missing": draw(st.booleans()), **options}
    problem = draw(family(**options))
    found = draw(constraints(problem.X.shape[1]))
    present = slice(None) if problem.w is None else problem.w > 0
    if len(np.unique(problem.y[present])) == 2:  # what `fit` takes for classes
        found["min_bin_events"] = draw(st.sampled_from([0, 0, 1, 1.5]))
    return problem, found


def name_of(ranker, number):
    """Return the name of a fitted weak ranker, as `oracles_tables` has it."""
    rules = ranker.weak_rankers_
    j, first = int(rules.feature[number]), int(rules.first_bin[number])
    bins = rules.bins[j]
    if first < 0:
        codes = ranker.category_codes_
        encoder = codes.encoders[codes.positions.index(j)]
        group = np.append(rules.members(number), False)[bins.categories]
        group &= bins.categories >= 0
        return j, "subset", frozenset(encoder.categories_[0][: len(group)][group].tolist())
    if first < bins.n_values:
        return j, "above", bins.thresholds[first - 1]
    if first < bins.missing:
        return j, "code", bins.special[first - bins.n_values]
    return j, "missing", None


def check_rounds(ranker, problem, limits, **options):
    """Replay the fitted rounds: each must have the gain of the oracle from where it stood."""
    fit(ranker.set_params(**stumps(**limits), n_estimators=N_ROUNDS, tol=0), problem)
    part = training_part(problem, ranker)
    objective = objective_of(part, **options)
    selection = options.get("selection", "steepest")
    upper = part.y == part.y.max() if ranker.relevance == "binary" else None
    found = oracles_tables.cells(part.X, part.w, upper, **limits)
    f, net = np.zeros(len(part.y)), {}
    for number, taken in enumerate(ranker.estimator_weights_):
        candidates = oracles_tables.allowed(found, net, **limits)
        gains = [
            oracles_tables.gain(c, net, f, *objective, selection=selection) for c in candidates
        ]
        name = name_of(ranker, number)
        place = [c.name for c in candidates].index(name)
        assert gains[place] == pytest.approx(max(gains), rel=1e-9, abs=1e-9)
        cell = candidates[place]
        codes_of_new_rows = ranker._validate_features(part.X, reset=False)
        rules, j = ranker.weak_rankers_, name[0]
        h = rules.members(number)[rules.bins[j].of_rows(codes_of_new_rows, j)]
        np.testing.assert_array_equal(h, cell.h)
        expected = oracles_tables.step(cell, net, f, objective, ranker.learning_rate)
        before = oracles.objective_value(f, *objective) + oracles.ROUNDING
        while oracles.objective_value(f + expected * cell.h, *objective) > before:
            expected /= 2
        # Steps below 1e-7 change the objective by less than rounding: halvings of them are open.
        if 1e-8 <= abs(expected) < 1e-7:
            expected *= 2.0 ** np.rint(np.log2(taken / expected))
        least = 1e-8 if abs(expected) < 1e-8 else 1e-9
        assert taken == pytest.approx(expected, rel=1e-9, abs=least)
        net[name] = net.get(name, 0.0) + taken
        assert cell.sign * net[name] >= 0
        f = f + taken * cell.h
    if ranker.n_iter_ < N_ROUNDS:
        left = oracles_tables.allowed(found, net, **limits)
        gains = [oracles_tables.gain(c, net, f, *objective, selection=selection) for c in left]
        assert max(gains, default=0.0) < 1e-9


@crossed(tiers=("slow", "slow", "nightly"), push=["top", "bottom", "both"], p=[1, 4, 64])
@given(case=constrained())
def test_each_choice_of_the_steepest_is_the_oracles(push, p, case):
    check_rounds(PNormPushRanker(p=p, push=push, learning_rate=1), *case, p=p, push=push)


@crossed(tiers=("slow", "slow", "nightly"), push=["top", "bottom"], p=[1, 4, 64])
@given(case=constrained(one_list))
def test_each_optimal_choice_is_the_oracles(push, p, case):
    ranker = PNormPushRanker(p=p, push=push, selection="optimal", learning_rate=1)
    check_rounds(ranker, *case, p=p, push=push, selection="optimal")


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from(["steepest", "optimal"]))
def test_categories_of_less_than_a_fiftieth_are_one_or_count_as_missing(seed, missing, selection):
    random = np.random.default_rng(seed)
    x, y = random.integers(0, 6, 40).astype(float), np.append([0.0, 1.0], random.integers(0, 2, 38))
    w = random.choice([1.0, 2.0], 40) * np.where(x >= 3, random.choice([0.001, 0.1]), 1.0)
    x[random.random(40) < 0.2 * missing] = np.nan
    problem = Problem(x[:, np.newaxis], y, None, w, np.zeros(40))
    limits = {"categorical_features": [0]}
    ranker = PNormPushRanker(p=1, selection=selection, learning_rate=1)
    check_rounds(ranker, problem, limits, selection=selection)


@pytest.mark.parametrize(
    "objective",
    [
        {"p": 2, "loss": "logistic"},
        pytest.param({"p": 2, "loss": "squared_hinge"}, marks=pytest.mark.slow),
        {"p": 4, "push": "ir"},
    ],
    ids=str,
)
@given(case=constrained())
def test_each_choice_of_second_order_is_the_oracles(objective, case):
    ranker = PNormPushRanker(**objective, learning_rate=1)
    check_rounds(ranker, *case, **objective, selection="optimal")


@given(case=constrained(), rate=st.sampled_from([0.1, 0.5]))
def test_a_learning_rate_shortens_the_steps(rate, case):
    check_rounds(RankBoost(learning_rate=rate), *case)


# What the fitted model is ------------------------------------------------------------------


def rows_between(X):
    """Return values around and beyond all of X, each feature increasing in turn."""
    for j, x in enumerate(X.T):
        seen = np.unique(x[~np.isnan(x)])
        around = [np.nextafter(seen, -np.inf), seen, np.nextafter(seen, np.inf)]
        line = np.unique(np.concatenate([*around, [-1e300, -1e9, 0.0, 1e9, 1e300]]))
        for base in X[:4]:
            rows = np.tile(base, (len(line), 1))
            rows[:, j] = line
            yield j, rows


@every_booster
@given(
    problem=problems(missing=True, max_rows=14),
    sign=st.lists(st.sampled_from([1, -1]), min_size=3, max_size=3),
    rate=st.sampled_from([1.0, 0.3]),
)
def test_scores_are_monotone_in_floating_point(ranker, problem, sign, rate):
    sign = sign[: problem.X.shape[1]]
    model = ranker(monotonic_cst=sign, n_estimators=40, tol=0, learning_rate=rate)
    fit(model, problem)
    score = model.predict if model.relevance == "graded" else model.decision_function
    for j, rows in rows_between(problem.X):
        assert (np.diff(score(rows)) * sign[j] >= 0).all()


def make_data(n=400, seed=0):
    """Rows with a rising, a falling, a noisy feature with codes, and one of categories."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 3] = rng.integers(0, 6, n)
    y = X[:, 0] - X[:, 1] + np.sin(4 * X[:, 0]) + (X[:, 3] % 2) + rng.normal(size=n) > 0
    X[rng.random(n) < 0.1, 0] = np.nan
    X[rng.random(n) < np.where(y, 0.05, 0.2), 2] = -99.0
    return X, y.astype(int)


X, Y = make_data()
EVERYTHING = {
    "monotonic_cst": [1, -1, 0, 0],
    "max_thresholds": 12,
    "max_features_used": 4,
    "thresholds": {1: [-1.0, -0.5, 0.0, 0.5, 1.0]},
    "min_bin_size": 0.03,
    "min_bin_events": 5,
    "categorical_features": [3],
    "special_values": {2: [-99.0, -98.0]},
}


def pickled(model):
    return pickle.loads(pickle.dumps(model))


@every_booster
def test_all_constraints_hold_at_once(ranker):
    model = ranker(**stumps(n_estimators=60, **EVERYTHING)).fit(X, Y)
    _, coefficients = model.weak_rankers_.net_coefficients(model.estimator_weights_)
    assert np.count_nonzero(coefficients) <= 12
    steps = {s.feature: s for s in model.weak_rankers_.step_functions(model.estimator_weights_)}
    assert set(steps[1].bins.thresholds) <= set(EVERYTHING["thresholds"][1])
    for step in steps.values():
        bins = step.bins(X[:, step.feature])
        count = np.bincount(bins, minlength=step.bins.n_bins)[: step.bins.n_values]
        events = np.bincount(bins, Y, step.bins.n_bins)[: step.bins.n_values]
        assert count.min() >= 0.03 * len(X)
        assert events.min() >= 5
    total = sum(step(X[:, j]) for j, step in steps.items()) + model.offset_
    np.testing.assert_allclose(total, model.decision_function(X), atol=1e-12)
    for j, rows in rows_between(X):
        assert (np.diff(model.decision_function(rows)) * [1, -1, 0, 0][j] >= 0).all()
    stages = list(model.staged_decision_function(X))
    np.testing.assert_allclose(stages[-1], model.decision_function(X), atol=1e-12)
    parts = model.contributions(X)
    np.testing.assert_allclose(parts.sum(axis=1), model.decision_function(X), atol=1e-12)
    np.testing.assert_allclose(parts[:, :-1].mean(axis=0), 0, atol=1e-12)
    assert model.feature_importances_.sum() == pytest.approx(1)


@every_booster
def test_a_warm_start_goes_on_as_one_fit(ranker):
    expected = ranker(**stumps(n_estimators=30, tol=0, **EVERYTHING)).fit(X, Y)
    model = ranker(**stumps(n_estimators=11, tol=0, warm_start=True, **EVERYTHING)).fit(X, Y)
    model = pickled(model).set_params(n_estimators=30).fit(X, Y)
    assert model.weak_rankers_.equal(expected.weak_rankers_)
    np.testing.assert_allclose(model.estimator_weights_, expected.estimator_weights_, rtol=1e-9)
    for name, value in EVERYTHING.items():
        other = {"max_thresholds": 13, "max_features_used": 3}.get(name)
        if name in ("min_bin_size", "min_bin_events"):
            other = value / 2
        prefix = "" if name in SHARED else "weak_ranker__"
        with pytest.raises(ValueError, match=f"continues with the same {name}"):
            pickled(model).set_params(**{prefix + name: other}).fit(X, Y)


@every_booster
def test_early_stopping_and_queries(ranker):
    qid = np.arange(len(X)) % 20
    options = {"n_estimators": 60, "n_iter_no_change": 5, "random_state": 0}
    model = ranker(**stumps(**options, **EVERYTHING)).fit(X, Y, qid=qid)
    assert len(model.validation_scores_) >= model.n_iter_
    graded = {name: value for name, value in EVERYTHING.items() if name != "min_bin_events"}
    model = ranker(**stumps(**options, relevance="graded", **graded)).fit(
        X, Y + (X[:, 0] > 1), qid=qid
    )
    assert np.isfinite(model.predict(X)).all()


def test_missing_special_and_unseen_values():
    """Missing values and codes have weak rankers of their own; unseen categories are missing."""
    model = RankBoost(
        n_estimators=200, weak_ranker=Stumps(special_values={2: [-99]}), categorical_features=[3]
    )
    model.fit(X, Y)
    names = {name_of(model, number)[1] for number in range(model.n_iter_)}
    assert names == {"above", "missing", "code", "subset"}
    rows = np.tile(X[:1], (3, 1))
    rows[:, 3] = [np.nan, 17.0, -1.0]
    assert len(set(model.decision_function(rows))) == 1
    table = pd.DataFrame(X, columns=list("abcd"))
    table["d"] = pd.Categorical(np.array(list("uvwxyz"))[X[:, 3].astype(int)])
    named = RankBoost(n_estimators=200, weak_ranker=Stumps(special_values={"c": [-99]}))
    named.fit(table, Y)
    np.testing.assert_array_equal(named.decision_function(table), model.decision_function(X))
    assert named.category_codes_.positions == (3,)
    assert RankBoost().fit(X, Y).category_codes_ is None


@every_booster
def test_stored_tables_score_the_same(ranker):
    model = ranker(**stumps(n_estimators=20, **EVERYTHING)).fit(X, Y)
    for found in (pickled(model), through_skops(model)):
        np.testing.assert_array_equal(found.decision_function(X), model.decision_function(X))
        assert found.weak_rankers_.equal(model.weak_rankers_)


@every_booster
def test_unused_constraints_change_nothing(ranker):
    expected = ranker(n_estimators=20).fit(X, Y)
    unused = {"weak_ranker": Stumps(thresholds={}, special_values={}), "monotonic_cst": [0] * 4}
    model = ranker(n_estimators=20, **unused).fit(X, Y)
    assert model.weak_rankers_.equal(expected.weak_rankers_)


def test_values_beyond_the_training_range_are_not_missing():
    x = np.append(np.arange(20.0), np.full(10, np.nan))[:, None]
    model = RankBoost(n_estimators=1).fit(x, np.isnan(x[:, 0]))
    assert model.weak_rankers_.threshold.tolist() == [np.inf]
    found = model.decision_function([[1e9], [19.0], [np.nan]])
    assert found[0] == found[1] < found[2]
    many = np.tile([[1e9], [19.0], [np.nan]], (5000, 1))  # another way to the bins
    np.testing.assert_array_equal(model.decision_function(many), np.tile(found, 5000))


# The object --------------------------------------------------------------------------------


@every_booster
def test_stumps_are_an_object_with_parameters(ranker):
    """It equals the name without parameters."""
    plain, named = ranker(n_estimators=5, weak_ranker=Stumps()), ranker(n_estimators=5)
    assert plain.fit(X, Y).weak_rankers_.equal(named.fit(X, Y).weak_rankers_)
    model = ranker(**stumps(n_estimators=5, **EVERYTHING))
    before = model.weak_ranker.get_params()
    model = clone(model).fit(X, Y)
    assert model.weak_ranker.get_params() == before
    assert repr(through_skops(model).weak_ranker) == repr(model.weak_ranker)


def test_parameters_of_stumps_in_searches():
    assert repr(Stumps(max_thresholds=32)) == "Stumps(max_thresholds=32)"
    assert not hasattr(Stumps, "fit")
    model = RankBoost(n_estimators=3, weak_ranker=Stumps())
    search = GridSearchCV(model, {"weak_ranker__max_thresholds": [1, 32]}, cv=2).fit(X, Y)
    assert search.best_estimator_.get_params()["weak_ranker__max_thresholds"] == 32
    renewed = RankBoost().set_params(weak_ranker=Stumps(), weak_ranker__max_thresholds=16)
    assert renewed.weak_ranker.max_thresholds == 16


# Bad input ---------------------------------------------------------------------------------

WRONG = [
    ({"monotonic_cst": [1, 0]}, "monotonic_cst of RankBoost must be -1, 0 or 1 for each of the 4"),
    (
        {"monotonic_cst": {"zz": 1}},
        r"monotonic_cst of RankBoost has \['zz'\], which are neither feature names",
    ),
    ({"monotonic_cst": {3: 1}, "categorical_features": [3]}, "must be 0 for categories"),
    ({"thresholds": {0: [1.0, 1.0]}}, "thresholds of Stumps must increase.*feature 0"),
    ({"thresholds": {0: [2.0, 1.0]}}, "must increase"),
    ({"thresholds": {0: [0.0, np.inf]}}, "thresholds of Stumps must be finite"),
    ({"thresholds": {0: "ab"}}, "must be lists of numbers. Feature 0 has 'ab'"),
    ({"thresholds": {0: 3.0}}, "must be lists of numbers"),
    ({"thresholds": {9: [1.0]}}, r"has \[9\], which are neither feature names nor indices below 4"),
    ({"thresholds": {True: [1.0]}}, r"has \[True\]"),
    ({"thresholds": [1.0]}, "'thresholds' parameter of Stumps must be None or a dict"),
    (
        {"thresholds": {3: [1.0]}, "categorical_features": [3]},
        "requires numeric features. Feature 3 is categorical",
    ),
    (
        {"special_values": {3: [1.0]}, "categorical_features": [3]},
        "requires numeric features. Feature 3 is categorical",
    ),
    ({"special_values": {0: [np.nan]}}, "special_values of Stumps must be finite.*NaN"),
    ({"special_values": {0: ["a"]}}, "must be lists of numbers"),
    ({"special_values": {0: [True]}}, "must be lists of numbers"),
    ({"special_values": {0: [1.0, 1]}}, "must have each code once"),
    ({"special_values": {0: -99}}, "must be lists of numbers"),
    ({"max_thresholds": 0}, r"an int in \[1, inf\)"),
    ({"max_features_used": 1.5}, r"an int in \[1, inf\)"),
    ({"min_bin_size": 0.6}, r"a float in \[0, 0.5\]"),
    ({"min_bin_events": -1}, r"a float in \[0, inf\)"),
    ({"min_bin_events": 1, "relevance": "graded"}, "needs relevance='binary'"),
    (
        {"categorical_features": [4]},
        r"categorical_features of RankBoost has \[4\], which are neither feature names nor",
    ),
]


@pytest.mark.parametrize(("parameters", "message"), WRONG, ids=str)
def test_wrong_constraints(parameters, message):
    with pytest.raises(ValueError, match=message):
        RankBoost(**stumps(**parameters)).fit(X, Y)


def test_a_feature_named_twice():
    table = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ValueError, match="has a feature twice"):
        RankBoost(weak_ranker=Stumps(thresholds={"a": [0.0], 0: [1.0]})).fit(table, Y)


@pytest.mark.parametrize("name", EVERYTHING)
def test_constraints_are_for_stumps_chosen_one_by_one(name):
    given = {name: EVERYTHING[name]}
    rows = np.nan_to_num(X)
    if name in SHARED:
        message = f"{name} of RankBoost is for stumps.*weak_ranker='feat"
        with pytest.raises(ValueError, match=message):
            RankBoost(weak_ranker="feature", **given).fit(rows, Y)
    with pytest.raises(ValueError, match=f"{name} of .* is for stumps.*solver='lbfgs'"):
        PNormPushRanker(solver="lbfgs", **stumps(**given)).fit(rows, Y)


# The best subset of categories -------------------------------------------------------------


@st.composite
def masses(draw):
    """Sums of two positive groups, or of gradient and curvature, by category; last missing."""
    n = draw(st.integers(2, 8)) + 1
    numbers = st.sampled_from([0.0, 0.0, 0.1, 0.25, 1.0, 1.0, 2.0, 3.7])
    line = st.lists(numbers, min_size=n, max_size=n).filter(any)
    return np.array([draw(line), draw(line)])


GAINS = {
    "steepest": steepest,
    "optimal top": OptimalGain(-1.0, 4.0, 0.01),
    "optimal bottom": OptimalGain(-16.0, 1.0, 1e-6),
    "both ends": QuadraticGain(4.0, 1.5),
    "second order": QuadraticGain(2.0, 1.5),
    "steepest, one group": steepest,
}


def posed_columns(n, copies, is_missing_rare):
    """Return the weak rankers of n categories and a missing value, some rows of each."""
    codes = np.tile(np.append(np.arange(n), np.nan), copies)
    weight = np.tile(np.append(np.ones(n), 0.1 if is_missing_rare else 1.0), copies)
    size = 0.9 * copies / weight.sum() if is_missing_rare else 0.0
    constraints = StumpConstraints(n_categories={0: n}, min_bin_size=size)
    rows = unlabelled(codes[:, None], 1000 * weight)  # enough rows of each category
    return Stumps().on_rows(FitRows(rows, ThreadPool(1), constraints=constraints))


@pytest.mark.parametrize("is_missing_rare", [False, True])
@pytest.mark.parametrize("name", GAINS)
@given(sums=masses(), signs=st.lists(st.sampled_from([1.0, -1.0]), min_size=9, max_size=9))
def test_no_subset_of_categories_is_better(name, is_missing_rare, sums, signs):
    n, gain, curvature = sums.shape[1] - 1, GAINS[name], None
    if name in ("second order", "steepest, one group"):
        curvature = sums[1] if name == "second order" else None
        slopes = sums[0] * np.array(signs[: n + 1])
        slopes[-1] = -slopes[:-1].sum()  # as every gradient of differences of scores
        gradient = RowGradient.signed(slopes, curvature)
    else:
        gradient = RowGradient(sums.ravel(), np.array([0, n + 1, 2 * n + 2]))
    groups = gradient.data.reshape(-1, n + 1)
    columns = posed_columns(n, len(groups), is_missing_rare)
    tried = [set(one) for k in range(1, n + 1) for one in combinations(range(n), k)]
    tried = tried[:-1] if is_missing_rare else [*tried, {n}]
    h = np.array([[c in one for c in range(n + 1)] for one in tried])

    def gains(h):
        bound = None if curvature is None else smaller_side(h @ curvature, curvature.sum())
        return gain(groups @ h.T, groups.sum(axis=1), bound)

    found, best = columns.search(gradient, gain), gains(h).max()
    if found is None:
        assert best < 1e-12
    else:
        _, members = columns.feature_and_members(found.index)
        assert gains(members[np.newaxis])[0] == pytest.approx(best, rel=1e-9)


@every_booster
def test_categories_of_which_only_missing_tells(ranker):
    X = np.array([0.0, 1.0, np.nan, 0.0, 1.0, np.nan])[:, np.newaxis]
    y = np.array([1, 1, 0, 1, 1, 0])
    small = {"weak_ranker": Stumps(max_thresholds=1), "categorical_features": [0]}
    model = ranker(n_estimators=2, **small).fit(X, y)
    scores = model.decision_function(X)
    assert (model.weak_rankers_.subsets.size, len(np.unique(scores))) == (0, 2)
    assert scores[0] == scores[1] > scores[2]
