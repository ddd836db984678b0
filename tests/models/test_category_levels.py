"""Categories in an order, or in groups of the user's own: what they are, and the cards of them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from levels import GRADES, with_levels
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from test_persistence import through_skops

from sklearn_rank import PNormPushRanker, RankBoost, SmoothMarginRanker
from sklearn_rank.models import Stumps
from sklearn_rank.scorecard import Scorecard

pytestmark = pytest.mark.filterwarnings("ignore:.*smooth margin stayed")
BOOSTERS = [
    RankBoost(n_estimators=15),
    SmoothMarginRanker(n_estimators=15),
    PNormPushRanker(loss="logistic", n_estimators=15),
    PNormPushRanker(loss="logistic", solver="corrective", n_estimators=8),
]
every_booster = pytest.mark.parametrize("ranker", BOOSTERS, ids=repr)
QUICK = {"cv": 2}


def with_stumps(ranker, **options):
    parameters = ranker.get_params(deep=False) | {
        "monotonic_cst": options.pop("monotonic_cst", None)
    }
    return type(ranker)(**parameters | {"weak_ranker": Stumps(max_thresholds=99, **options)})


@every_booster
@settings(max_examples=5)
@given(
    st.integers(0, 10**6),
    st.permutations(GRADES),
    st.sampled_from([0.0, 0.1, 0.3]),
    st.sampled_from([0, 1, -1]),
)
def test_an_order_is_a_column_of_ranks(ranker, seed, order, smallest, sign):
    X, y = with_levels(300, seed)
    place = {one: float(n) for n, one in enumerate(order)}
    ranks = X.assign(grade=X["grade"].map(place).astype(float))
    options = {"min_bin_size": smallest, "monotonic_cst": {"grade": sign}}
    ordered = with_stumps(ranker, category_order={"grade": order}, **options).fit(X, y)
    numbers = with_stumps(ranker, **options).fit(ranks, y)
    np.testing.assert_array_equal(ordered.decision_function(X), numbers.decision_function(ranks))
    for step in ordered.step_functions_:
        if step.feature == 0:  # ranges of the order
            levels = ordered.category_codes_.categories[0].tolist()
            bins = [step.bins.categories[levels.index(one)] for one in order if one in levels]
            assert bins == sorted(bins)


@every_booster
@settings(max_examples=3)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1]))
def test_a_group_is_one_category(ranker, seed, smallest):
    X, y = with_levels(300, seed)
    groups = [["own", "other"], ["rent"], ["boat"]]
    other = X.assign(home=X["home"].astype(object).replace({"other": "own"}).astype("category"))
    options = {"min_bin_size": smallest}
    grouped = with_stumps(ranker, category_groups={"home": groups}, **options).fit(X, y)
    merged = with_stumps(ranker, **options).fit(other, y)
    np.testing.assert_allclose(
        grouped.decision_function(X), merged.decision_function(other), atol=1e-10
    )


@every_booster
def test_an_ordered_column_of_pandas_has_its_order(ranker):
    X, y = with_levels(300)
    typed = X.assign(grade=pd.Categorical(X["grade"], categories=GRADES, ordered=True))
    expected = with_stumps(ranker, category_order={"grade": GRADES}).fit(X, y)
    fitted = with_stumps(ranker).fit(typed, y)
    assert fitted.stump_settings()["category_order"] == {0: [3, 0, 1, 4, 2, -1]}
    np.testing.assert_array_equal(fitted.decision_function(typed), expected.decision_function(X))
    without = with_stumps(ranker, category_groups={"grade": []}).fit(typed, y)
    assert without.stump_settings()["category_order"] == {}
    for other in (pickle.loads(pickle.dumps(fitted)), through_skops(fitted)):
        np.testing.assert_array_equal(other.decision_function(X), fitted.decision_function(X))


def test_rows_of_weight_zero_have_no_levels():
    X, y = with_levels(300)
    weight = (X["grade"] != "middle").astype(float)
    order = {"category_order": {"grade": GRADES}}
    one = with_stumps(RankBoost(n_estimators=10), **order).fit(X, y, sample_weight=weight)
    rows = weight > 0
    other = with_stumps(RankBoost(n_estimators=10), **order).fit(X[rows], y[rows])
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


def with_many_levels(n_rows, n_levels, seed=0):
    """Return a number that tells the class, and levels of falling frequency that do not."""
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(1, n_levels + 1)
    shop = rng.choice(n_levels, n_rows, p=frequency / frequency.sum())
    X = pd.DataFrame({"amount": rng.normal(size=n_rows), "shop": shop.astype(str)})
    y = X["amount"] + 2 * rng.logistic(size=n_rows) > 2
    return X.assign(shop=X["shop"].astype("category")), y.to_numpy()


@pytest.mark.parametrize(
    "ranker", [RankBoost(), PNormPushRanker(), SmoothMarginRanker(n_estimators=50)], ids=repr
)
def test_many_levels_that_tell_nothing_cost_little(ranker):
    X, y = with_many_levels(4000, 2000)
    X, X_new, y, y_new = X[:1500], X[1500:], y[:1500], y[1500:]
    score = roc_auc_score(y_new, ranker.fit(X, y).decision_function(X_new))
    without = clone(ranker).fit(X[["amount"]], y).decision_function(X_new[["amount"]])
    assert score > roc_auc_score(y_new, without) - 0.025


@every_booster
@pytest.mark.parametrize("is_missing_told", [False, True])
def test_rare_levels_are_as_unseen_ones_unless_some_are_missing(ranker, is_missing_told):
    sizes = {"nine": 9, "ten": 10, "three": 3, "own": 278, "rent": 300}
    share = {"nine": 0.9, "ten": 0.1, "three": 0.0, "own": 0.3, "rent": 0.6}
    home = np.repeat(np.array([*sizes], dtype=object), [*sizes.values()])
    y = np.concatenate([np.arange(n) < share[one] * n for one, n in sizes.items()])
    if is_missing_told:
        home[22:82] = None  # of "own", of the upper class
    X = pd.DataFrame({"home": pd.Categorical(home), "amount": np.arange(len(y)) % 7})
    fitted = with_stumps(ranker).fit(X, y)
    levels = ["nine", "ten", "three", "own", "unseen", None]
    new = pd.DataFrame({"home": pd.Categorical(levels), "amount": 3})
    nine, ten, three, own, unseen, missing = fitted.decision_function(new)
    assert nine == three != own
    assert unseen == missing
    assert ten != nine
    assert (nine == missing) is not is_missing_told


@every_booster
def test_rows_of_a_level_are_counted_by_weight(ranker):
    X, y = with_many_levels(700, 60)
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    one = with_stumps(ranker).fit(X, y, sample_weight=weight).decision_function(X)
    other = with_stumps(ranker).fit(X.iloc[rows], y[rows]).decision_function(X)
    np.testing.assert_allclose(one, other, atol=1e-8)


def test_equal_weights_below_one_have_the_rare_levels_of_none():
    X, y = with_many_levels(700, 60)
    bins = [
        RankBoost(n_estimators=30).fit(X, y, sample_weight=weight).step_functions_[-1].bins
        for weight in (None, np.full(len(y), 1 / len(y)))
    ]
    assert bins[0].n_values > 1
    np.testing.assert_array_equal(*(one.categories < 0 for one in bins))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"category_order": {"grade": ["low", "high"]}}, r"must name all levels.*'middle'"),
        ({"category_order": {"grade": [*GRADES, "low"]}}, r"each level once.*'low' twice"),
        ({"category_order": {"grade": "low"}}, r"must have a list of levels"),
        ({"category_order": {"grade": [*GRADES, None]}}, r"single levels, none missing"),
        ({"category_order": {"grade": [[["low"]]]}}, r"single levels, none missing"),
        ({"category_groups": {"home": ["own"]}}, r"must have lists of levels.*'own'"),
        ({"category_order": {"amount": [1.0]}}, r"is for categorical features.*'amount'"),
        ({"category_groups": {"nothing": []}}, r"neither feature names nor indices"),
        ({"category_order": ["low"]}, r"category_order.* of Stumps must be None or a dict"),
        (
            {"category_order": {"grade": GRADES}, "category_groups": {0: []}},
            r"in both category_order and category_groups",
        ),
        ({"monotonic_cst": {"home": 1}}, r"must be 0 for categories, which have no order"),
    ],
)
def test_wrong_levels(options, message):
    X, y = with_levels(100)
    with pytest.raises(ValueError, match=message):
        with_stumps(RankBoost(), **options).fit(X, y)


def test_bins_of_a_card_are_ranges_of_the_order():
    X, y = with_levels(1500)
    stumps = Stumps(category_order={"grade": ["low", "middle", ["upper", "high"], "top"]})
    ranker = PNormPushRanker(loss="logistic", solver="corrective", weak_ranker=stumps)
    card = Scorecard(ranker, cv=2).fit(X, y).card_
    (grade,) = [variable for variable in card.variables if variable.name == "grade"]
    listed = [level for group in grade.groups for level in group]
    expected = ["low", "middle", {"upper", "high"}, ["top"]]
    assert [listed[0], listed[1], {*listed[2:4]}, listed[4:]] == expected
    assert any({"upper", "high"} <= {*group} for group in grade.groups)
    assert (np.diff(grade.points[: len(grade.groups)]) > 0).all()


def with_times(kind):
    """A column of dates or durations, some of them missing, and two classes."""
    rng = np.random.default_rng(0)
    days = pd.Series(pd.to_timedelta(rng.integers(0, 4, 120), "D"))
    y = (days.dt.days % 2 + rng.standard_normal(120) > 0.5).to_numpy()
    times = days if kind == "durations" else pd.Timestamp("2020-01-01") + days
    return pd.DataFrame({"when": times.mask(rng.random(120) < 0.1).astype("category")}), y


@pytest.mark.parametrize("kind", ["dates", "durations"])
def test_categories_that_are_times_are_found_in_a_column_of_objects(kind):
    X, y = with_times(kind)
    ranker = RankBoost(n_estimators=5).fit(X, y)
    expected = ranker.decision_function(X)
    assert np.ptp(expected) > 0
    objects = X.astype(object)
    np.testing.assert_array_equal(ranker.decision_function(objects), expected)
    of_python = [
        None if pd.isna(one) else getattr(one, f"to_py{TYPES[kind]}")() for one in X["when"]
    ]
    rows = pd.DataFrame({"when": pd.Series(of_python, dtype=object)})
    np.testing.assert_array_equal(ranker.decision_function(rows), expected)
    with pytest.raises(ValueError, match="Categorical feature 0 must have categories of one kind"):
        ranker.predict(pd.DataFrame({"when": ["soon", *objects["when"].iloc[1:]]}, dtype=object))


TYPES = {"dates": "datetime", "durations": "timedelta"}


def test_categories_that_can_not_be_looked_up_are_refused_by_name():
    pairs = pd.Series([("a", one % 3) for one in range(30)]).astype("category")
    with pytest.raises(ValueError, match="Categorical feature 0 must have categories of one kind"):
        RankBoost().fit(pd.DataFrame({"pair": pairs}), np.arange(30) % 2)


@every_booster
def test_an_ordered_column_has_subsets_where_it_is_said(ranker):
    rng = np.random.default_rng(0)
    grade = rng.integers(0, 6, 200)
    y = (grade % 3 == 1) + 0.3 * rng.logistic(size=200) > 0.5
    X = pd.DataFrame({"grade": pd.cut(grade, np.arange(-1, 6))})
    subsets = X.assign(grade=X["grade"].cat.as_unordered())
    expected = clone(ranker).fit(subsets, y).decision_function(subsets)
    grouped = with_stumps(ranker, category_groups={"grade": []}).fit(X, y)
    np.testing.assert_allclose(grouped.decision_function(X), expected)
    assert not grouped.step_functions_[0].bins.ordered
    assert clone(ranker).fit(X, y).step_functions_[0].bins.ordered
