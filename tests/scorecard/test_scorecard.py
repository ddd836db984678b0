"""The scorecard estimator: points, parameters, weights, queries, scaling, scikit-learn's tools."""

import pickle
import sys
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, LeaveOneOut, PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from test_check_estimator import assert_checks_pass

from sklearn_rank import ListNetLinear, PNormPushRanker, RankBoost, SmoothMarginRanker
from sklearn_rank.datasets import make_credit, make_queries
from sklearn_rank.metrics import auc_score, ranking_scorer
from sklearn_rank.model_selection import QueryKFold
from sklearn_rank.models import Stumps
from sklearn_rank.scorecard import Scorecard
from sklearn_rank.scorecard.scorecard import RIDGE

CANCER = load_breast_cancer(as_frame=True)
X, Y = CANCER.data.iloc[:, :8], CANCER.target
QUICK = {"cv": 2, "max_terms": 4, "random_state": 0}
PDO = {"pdo": 20, "score": 600, "odds": 50}


@pytest.fixture(scope="module")
def credit():
    return make_credit(600, random_state=0)


@pytest.fixture(scope="module")
def credit_card(credit):
    """A card with everything that a table can hold."""
    stumps = Stumps(special_values=credit.special_values)
    ranker = PNormPushRanker(n_estimators=12, p=2, weak_ranker=stumps)
    scorecard = Scorecard(
        ranker, monotonic_cst=credit.monotonic_cst, cv=2, max_terms=12, random_state=0
    )
    return scorecard.fit(credit.data, credit.target)


@pytest.fixture(scope="module")
def small():
    return Scorecard(**QUICK).fit(X, Y)


SLOW_TO_CHECK = [
    Scorecard(cv=2, max_terms=2),
    Scorecard(RankBoost(n_estimators=3), scaling=PDO, cv=2),
    Scorecard(SmoothMarginRanker(n_estimators=3), points=None, scaling="minmax", cv=2),
]


@pytest.mark.parametrize(
    "scorecard",
    [
        Scorecard(PNormPushRanker(n_estimators=2), cv=2, max_terms=2),
        *(pytest.param(one, marks=pytest.mark.slow) for one in SLOW_TO_CHECK),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_checks_of_scikit_learn(scorecard):
    assert_checks_pass(scorecard)


# Points --------------------------------------------------------------------------------


def test_points_and_the_table_of_the_training_rows(small):
    totals = small.decision_function(X)
    table = small.to_frame()
    points = small.points_of(X)
    assert points.dtype.kind == "i" and points.shape == (len(X), len(small.variables_))
    np.testing.assert_array_equal(points.sum(axis=1) + table["points"].iloc[0], totals)
    np.testing.assert_array_equal(small.predict(X), small.classes_[(totals > 0).astype(int)])
    for name, lines in table.iloc[1:].groupby("variable"):
        assert lines["count"].sum() == len(Y)
        assert np.nansum(lines["count"] * lines["event_rate"]) == pytest.approx(Y.sum())
        assert name in small.variables_


def test_a_parameter_is_the_object_passed(small):
    points = [0, 3]
    scorecard = Scorecard(points=points)
    assert scorecard.points is points
    assert clone(small).set_params(points=points).points is points
    assert "points=[0, 3]" in repr(scorecard)


@pytest.mark.parametrize("points", [(-5, 5), (0, 10), (-3, 0), (-1, 1), (-1000, 1000)])
def test_points_are_in_their_range(points):
    card = Scorecard(points=points, **QUICK).fit(X, Y).card_
    drawn = [one for variable in card.variables for one in variable.points]
    assert points[0] <= min(drawn)
    assert max(drawn) <= points[1]
    assert all(len(set(variable.points)) > 1 for variable in card.variables)


def test_bins_of_the_card_divide_the_rows_as_the_ranker_does(credit, credit_card):
    """Rows with equal values of a step function have equal points, whatever the bins' ends."""
    ranker = credit_card.ranker_
    by_column = {step.feature: step for step in ranker.step_functions_}
    encoded = ranker.check_rows(credit.data)
    points = credit_card.points_of(credit.data)
    assert credit_card.variables_
    for number, variable in enumerate(credit_card.card_.variables):
        bins = by_column[variable.column].bins(encoded[:, variable.column])
        pairs = set(zip(bins.tolist(), points[:, number].tolist(), strict=True))
        assert len(pairs) == len(np.unique(bins))
        assert sum(variable.counts) == len(encoded)


def test_constraints_special_codes_and_unseen_values(credit, credit_card):
    rows = credit.data.astype(object).copy()
    for variable in credit_card.card_.variables:
        sign = credit.monotonic_cst.get(variable.name, 0)
        steps = np.diff(variable.points[: variable.n_values])
        assert (sign * steps >= 0).all(), variable
        rows[variable.name] = "never seen" if variable.groups else np.nan
    expected = [variable.points[-1] for variable in credit_card.card_.variables]
    assert (credit_card.points_of(rows) == expected).all()
    assert any(variable.groups for variable in credit_card.card_.variables)
    assert any(variable.special for variable in credit_card.card_.variables)


def test_levels_that_no_row_has_are_other_categories(credit):
    """Neither a level of the column that is empty nor a missing one is in a group."""
    names = credit.data["purpose"].cat.categories
    rows = credit.data[["purpose"]].assign(
        purpose=credit.data["purpose"].cat.add_categories(["moon"])
    )
    rows.loc[rows.index[::11], "purpose"] = np.nan
    (purpose,) = Scorecard(cv=2).fit(rows, credit.target).card_.variables
    assert sorted(sum(purpose.groups, ())) == sorted(names)
    bins = purpose.bins(np.array(["moon", np.nan], dtype=object))
    assert bins.tolist() == [purpose.n_bins - 1, purpose.missing]


def test_fine_points_give_the_order_of_the_ranker():
    ranker = RankBoost(n_estimators=10).fit(X, Y)
    fine = Scorecard(FrozenEstimator(ranker), points=(-(10**6), 10**6)).fit(X, Y)
    before, after = ranker.decision_function(X), fine.decision_function(X)
    assert np.corrcoef(before, after)[0, 1] > 0.9999
    assert fine.score(X, Y) == pytest.approx(ranker.score(X, Y), abs=1e-3)
    loss = fine.card_.details["training_loss_of_the_card"]
    assert loss <= fine.card_.details["training_loss_of_the_ranker"] + 1e-6


@pytest.mark.filterwarnings("ignore:The smooth margin")
@pytest.mark.parametrize("ranker", [PNormPushRanker(p=4), RankBoost(), SmoothMarginRanker()])
def test_rounding_costs_little(ranker):
    ranker = ranker.set_params(weak_ranker=Stumps(max_thresholds=10)).fit(X, Y)
    card = Scorecard(FrozenEstimator(ranker)).fit(X, Y)
    assert card.score(X, Y) >= ranker.score(X, Y) - 0.004


def test_a_frozen_ranker_is_only_rounded():
    ranker = PNormPushRanker(p=3, n_estimators=7).fit(X, Y)
    before = pickle.dumps(ranker)
    card = Scorecard(FrozenEstimator(ranker), max_terms=2).fit(X, Y)
    assert card.ranker_ is ranker
    assert pickle.dumps(ranker) == before
    assert card.card_.details["p"] == 3
    assert card.card_.details["risk_rows"] == "training rows"
    columns = {variable.column for variable in card.card_.variables}
    assert columns <= {step.feature for step in ranker.step_functions_}
    with pytest.raises(ValueError, match="can't be set on a frozen ranker"):
        Scorecard(FrozenEstimator(ranker), monotonic_cst={}).fit(X, Y)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        Scorecard(FrozenEstimator(RankBoost())).fit(X, Y)


def test_no_weak_ranker_no_variable():
    rows = np.zeros((6, 2))
    with pytest.warns(sklearn.exceptions.ConvergenceWarning):
        card = Scorecard(RankBoost(), cv=2).fit(rows, [0, 1, 0, 1, 0, 1])
    assert card.variables_ == []
    assert card.points_of(rows).shape == (6, 0)
    assert len(set(card.decision_function(rows))) == 1


@settings(max_examples=min(8, settings.default.max_examples))
@given(st.integers(0, 2**16))
def test_monotone_beyond_the_training_rows(seed):
    """For any data, over all values that are not missing."""
    random = np.random.default_rng(seed)
    rows = random.integers(-3, 4, (40, 2)).astype(float)
    rows[random.random(rows.shape) < 0.1] = np.nan
    y = np.append(random.random(38) < 0.5, [True, False])
    card = Scorecard(PNormPushRanker(n_estimators=8), monotonic_cst=[1, -1], cv=2, max_terms=6)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", sklearn.exceptions.ConvergenceWarning)
        card.fit(rows, y)
    grid = np.array([-np.inf, *np.arange(-4, 5, 0.5), np.inf])
    for variable in card.card_.variables:
        points = np.array(variable.points)[variable.bins(grid)]
        sign = 1 if variable.column == 0 else -1
        assert all(sign * (after - before) >= 0 for before, after in pairwise(points))


# Defaults and the ranker's parameters ---------------------------------------------------


def test_small_cards_have_a_ridge_and_a_refit_after_each_choice():
    card = Scorecard(**QUICK).fit(X, Y)
    assert card.ranker_.alpha == RIDGE / len(Y)
    assert (card.ranker_.p, card.ranker_.solver) == (2, "corrective")
    stumps = card.ranker_.weak_ranker
    assert (stumps.max_thresholds, stumps.min_bin_size) == (4, 0.01)
    steps = sum(len(variable.thresholds) for variable in card.card_.variables)
    assert 1 <= steps <= 4
    solvers = [Scorecard(max_terms=n).default_ranker().solver for n in (1, 50, 51, None)]
    assert solvers == ["corrective", "corrective", "coordinate", "coordinate"]


def test_what_the_ranker_has_is_kept_where_the_card_says_nothing():
    stumps, signs = Stumps(min_bin_size=0.2, max_thresholds=3), [-1] * 8
    ranker = PNormPushRanker(
        solver="corrective", alpha=0.25, p=5.5, weak_ranker=stumps, monotonic_cst=signs
    )
    card = Scorecard(ranker, max_terms=None, min_bin_size=None, cv=2).fit(X, Y)
    assert (card.ranker_.alpha, card.ranker_.p) == (0.25, 5.5)
    assert card.ranker_.weak_ranker.get_params() == stumps.get_params()
    assert card.ranker_.monotonic_cst == signs
    own = Scorecard(ranker, max_terms=2, monotonic_cst=[0] * 8, cv=2).fit(X, Y).ranker_
    found = own.weak_ranker
    assert (found.max_thresholds, found.min_bin_size, own.monotonic_cst) == (2, 0.01, [0] * 8)


def test_a_grid_search_takes_parameters_of_the_ranker():
    ranker = PNormPushRanker(loss="logistic", solver="corrective")
    grid = {"ranker__p": [1, 8], "max_terms": [2, 3]}
    search = GridSearchCV(Scorecard(ranker, cv=2), grid, cv=2, error_score="raise").fit(X, Y)
    assert search.best_score_ > 0.9
    best = search.best_estimator_
    assert best.ranker_.p == search.best_params_["ranker__p"]
    assert best.ranker_.weak_ranker.max_thresholds == search.best_params_["max_terms"]


def test_bins_hold_one_per_cent_unless_told_otherwise():
    rows = np.repeat([0, 1, 2], [300, 196, 4])[:, np.newaxis]
    y = np.random.default_rng(0).random(500) < np.array([0.2, 0.4, 1.0])[rows[:, 0]]
    cards = [Scorecard(cv=2, **own).fit(rows, y) for own in ({"min_bin_size": 0}, {})]
    sizes = [min(one.card_.variables[0].counts[:-1]) for one in cards]
    assert sizes == [4, 200]


def test_a_category_of_noise_costs_little():
    random = np.random.default_rng(0)
    x = random.normal(size=6000)
    y = random.random(6000) < 1 / (1 + np.exp(-1.2 * x))
    frame = pd.DataFrame({"x": x})
    noisy = frame.assign(level=pd.Categorical(random.integers(0, 20, 6000)))
    figures = []
    for table in (frame, noisy):
        card = Scorecard(random_state=0, cv=2).fit(table[:1000], y[:1000])
        figures.append(auc_score(y[1000:], card.decision_function(table[1000:])))
    assert figures[0] - figures[1] <= 0.015


def test_a_later_fit_forgets_the_earlier_one():
    scorecard = Scorecard(RankBoost(n_estimators=5), **QUICK).fit(X, Y)
    assert hasattr(scorecard, "feature_names_in_")
    scorecard.fit(X.to_numpy(), Y)
    assert not hasattr(scorecard, "feature_names_in_")


# Folds, weights and queries ------------------------------------------------------------


@pytest.mark.parametrize("has_queries", [False, True])
def test_a_validation_split_makes_the_probabilities(credit, has_queries):
    qid = np.arange(600) // 10 if has_queries else None
    folds = [(np.arange(300), np.arange(300, 600))]
    folds = folds if has_queries else PredefinedSplit(np.repeat([-1, 0], [300, 300]))
    card = Scorecard(cv=folds, max_terms=3).fit(credit.data, credit.target, qid=qid)
    plain = Scorecard(max_terms=3, cv=2).fit(credit.data, credit.target, qid=qid)
    for one, other in zip(card.card_.variables, plain.card_.variables, strict=True):
        assert (one.thresholds, one.groups) == (other.thresholds, other.groups)
        assert one.points[: one.n_values] == other.points[: other.n_values]
    assert card.card_.details["risk_rows"] == "held-out rows"
    assert has_queries or "held_out_auc" in card.card_.details


@pytest.mark.parametrize("cv", [[], LeaveOneOut(), [(np.arange(90), np.arange(90, 100))]])
def test_folds_that_are_of_no_use_get_a_warning(cv):
    rows, y = np.random.default_rng(0).random((100, 2)), np.arange(100) < 60
    with pytest.warns(UserWarning, match="gives no fold with comparable rows both for training"):
        card = Scorecard(cv=cv).fit(rows, y)
    assert card.card_.details["risk_rows"] == "training rows"


@pytest.mark.slow
def test_parallel_folds_give_the_same_card():
    one, two = (Scorecard(n_jobs=n, **QUICK).fit(X, Y) for n in (1, 2))
    assert one.to_json() == two.to_json()


@settings(max_examples=min(4, settings.default.max_examples * 2 // 5))
@given(st.integers(0, 2**16))
def test_weight_2_is_the_row_twice(seed):
    """Also with folds, in which equal rows stay together."""
    random = np.random.default_rng(seed)
    rows, y = X.to_numpy()[::6], Y.to_numpy()[::6]
    weight = random.integers(0, 3, len(y))
    repeated = random.permutation(np.repeat(np.arange(len(y)), weight))
    card = Scorecard(PNormPushRanker(n_estimators=3), cv=2, random_state=0)
    weighted = clone(card).fit(rows, y, sample_weight=weight)
    twice = clone(card).fit(rows[repeated], y[repeated])
    for one, other in zip(weighted.card_.variables, twice.card_.variables, strict=True):
        assert vars(one) == vars(other)
    np.testing.assert_allclose(weighted.predict_proba(rows), twice.predict_proba(rows), atol=1e-6)


@pytest.mark.parametrize("scale", [1 / 400, 1e-12])
@pytest.mark.parametrize("scaling", [None, PDO])
def test_weights_below_one_say_nothing_about_the_number_of_rows(scale, scaling):
    scorecard = Scorecard(cv=2, max_terms=3, scaling=scaling, random_state=0)
    cards = [
        clone(scorecard).fit(X[:400], Y[:400], sample_weight=np.full(400, weight)).card_
        for weight in (1.0, scale)
    ]
    assert cards[0].variables
    assert [one.points for one in cards[0].variables] == [one.points for one in cards[1].variables]
    np.testing.assert_allclose(cards[0].risk, cards[1].risk, rtol=1e-6)


def test_weights_that_are_too_far_apart_are_refused():
    weight = np.where(np.arange(len(Y)) == 3, 1e-200, 1.0)
    with pytest.raises(ValueError, match=r"within a factor of 1e\+100.*from 1e-200 to 1"):
        Scorecard(**QUICK).fit(X, Y, sample_weight=weight)


def test_queries_reach_ranker_folds_and_score():
    data = make_queries(n_queries=20, random_state=0)
    y = data.target > 1
    card = Scorecard(**QUICK).fit(data.data, y, qid=data.qid)
    expected = auc_score(y, card.decision_function(data.data), qid=data.qid)
    assert card.score(data.data, y, qid=data.qid) == pytest.approx(expected)
    for one in (card, Scorecard.from_json(card.to_json())):
        with pytest.raises(ValueError, match="was fitted with qid"):
            one.score(data.data, y)
    search = GridSearchCV(Scorecard(**QUICK), {"max_terms": [2, 4]}, cv=QueryKFold(2))
    with sklearn.config_context(enable_metadata_routing=True):
        search.fit(data.data, y, qid=data.qid)
        assert ranking_scorer("auc")(search, data.data, y, qid=data.qid) > 0.5


# Scaling -------------------------------------------------------------------------------


@pytest.mark.parametrize("points", [(-5, 5), None])
def test_minmax_totals_go_from_0_to_100(points, small):
    scorecard = Scorecard(points=points, scaling="minmax", **QUICK).fit(X, Y)
    card = scorecard.card_
    assert card.intercept + sum(min(one.points) for one in card.variables) == 0
    assert card.intercept + sum(max(one.points) for one in card.variables) == 100
    assert scorecard.score(X, Y) == pytest.approx(small.score(X, Y), abs=0.01)


@pytest.mark.parametrize("points", [(-5, 5), None])
def test_points_double_the_odds(points, small):
    scorecard = Scorecard(points=points, scaling=PDO, **QUICK).fit(X, Y)
    totals = scorecard.decision_function(X) + scorecard.cut_
    np.testing.assert_array_equal(totals, scorecard.card_.totals(X))
    assert scorecard.score(X, Y) == pytest.approx(small.score(X, Y), abs=0.01)
    risk = scorecard.predict_proba(X)[:, 1]
    np.testing.assert_allclose(np.log2(risk / (1 - risk) / 50) * 20 + 600, totals)


# As a part of scikit-learn -------------------------------------------------------------


def test_pipeline_clone_pickle_and_json(small):
    pipeline = make_pipeline(StandardScaler(), Scorecard(**QUICK)).set_output(transform="pandas")
    pipeline.fit(X, Y)
    assert pipeline[-1].card_.feature_names == tuple(X.columns)
    calibrated = CalibratedClassifierCV(Scorecard(**QUICK), cv=2).fit(X, Y)
    assert auc_score(Y, calibrated.predict_proba(X)[:, 1]) > 0.9
    for copied in (pickle.loads(pickle.dumps(small)), Scorecard.from_json(small.to_json())):
        np.testing.assert_array_equal(copied.decision_function(X), small.decision_function(X))
        np.testing.assert_allclose(copied.predict_proba(X), small.predict_proba(X))
        assert copied.to_text(80) == small.to_text(80)
    assert clone(small).get_params() == small.get_params()


def test_it_is_a_classifier_of_two_classes():
    tags = get_tags(Scorecard())
    assert (tags.estimator_type, tags.classifier_tags.multi_class) == ("classifier", False)
    assert tags.target_tags.required and tags.input_tags.allow_nan


def test_without_pandas_tables_are_refused(monkeypatch):
    card = Scorecard(**QUICK).fit(X.to_numpy(), Y.to_numpy())
    monkeypatch.setitem(sys.modules, "pandas", None)
    for table in (card.to_frame, lambda: card.risk_table_):
        with pytest.raises(ImportError, match=r"sklearn-rank\[cli\]"):
            table()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"points": (1, 5)}, "'points' parameter of Scorecard must be a pair of ints"),
        ({"points": (-5.5, 5)}, "'points' parameter of Scorecard must be a pair of ints"),
        ({"points": (0, 0)}, "'points' parameter of Scorecard must be a pair of ints"),
        ({"points": 5}, "'points' parameter of Scorecard must be a pair of ints"),
        ({"points": (-(10**7), 1)}, "neither beyond 1000000"),
        ({"points": None}, "points=None of Scorecard needs scaling"),
        ({"scaling": {"pdo": 20}}, "'scaling' parameter of Scorecard must be None, 'minmax' or"),
        ({"scaling": {**PDO, "odds": 0}}, "'scaling' parameter of Scorecard"),
        ({"scaling": {**PDO, "score": 1e300}}, "1e6.*1e9.*1e\\+300"),
        ({"scaling": {**PDO, "pdo": 1e-9}}, "leaves no points"),
        ({"max_terms": 0}, "'max_terms' parameter of Scorecard"),
        ({"min_bin_size": 0.6}, "'min_bin_size' parameter of Scorecard"),
        ({"monotonic_cst": [2] * 8}, "must be -1, 0 or 1"),
        ({"cv": 1}, "'cv' parameter of Scorecard"),
        ({"cv": "five"}, "'cv' parameter of Scorecard"),
        ({"cv": [1, 2]}, r"cv of Scorecard must yield \(train, test\) arrays .* the 569 rows"),
        ({"ranker": ListNetLinear(relevance="binary")}, "Scorecard needs a ranker of stumps"),
        ({"ranker": RankBoost(weak_ranker="feature")}, "Scorecard needs a ranker of stumps"),
        ({"ranker": RankBoost(relevance="graded")}, "must have relevance='binary'"),
        ({"ranker": RankBoost}, "'ranker' parameter of Scorecard must be a ranker of stumps"),
        (
            {"ranker": RankBoost(weak_ranker=Stumps(thresholds=[1, 2]))},
            r"thresholds.*dict.*Got \[1, 2\]",
        ),
    ],
)
def test_bad_parameters_get_a_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        Scorecard(**{"cv": 2, "max_terms": 2, **options}).fit(X, Y)


def test_unfitted_and_other_labels(small):
    for method in ("predict", "points_of"):
        with pytest.raises(sklearn.exceptions.NotFittedError):
            getattr(Scorecard(), method)(X)
    with pytest.raises(ValueError, match="labels that Scorecard was not fitted with"):
        small.score(X, np.where(Y == 1, "good", "bad"))
