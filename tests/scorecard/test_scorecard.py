"""The scorecard estimator: points, rounding, p, scaling, risk, reasons, bad input."""

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
from sklearn.model_selection import GridSearchCV
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

CANCER = load_breast_cancer(as_frame=True)
X, Y = CANCER.data.iloc[:, :8], CANCER.target
QUICK = {"p": 2, "alpha": 0.005, "cv": 2, "max_terms": 4, "random_state": 0}
PDO = {"pdo": 20, "score": 600, "odds": 50}


def credit_ranker(data, **options):
    """Return a ranker with everything that a table can hold."""
    stumps = Stumps(special_values=data.special_values, monotonic_cst=data.monotonic_cst)
    return PNormPushRanker(n_estimators=12, p=2, weak_ranker=stumps, **options)


@pytest.fixture(scope="module")
def credit():
    return make_credit(600, random_state=0)


@pytest.fixture(scope="module")
def credit_card(credit):
    scorecard = Scorecard(credit_ranker(credit), p=None, cv=2, max_terms=12, random_state=0)
    return scorecard.fit(credit.data, credit.target)


@pytest.fixture(scope="module")
def small():
    return Scorecard(adverse="low", **QUICK).fit(X, Y)


@pytest.mark.parametrize(
    "scorecard",
    [
        Scorecard(PNormPushRanker(n_estimators=2), p=None, cv=2, max_terms=2),
        pytest.param(
            Scorecard(PNormPushRanker(n_estimators=2), n_repeats=1, cv=2, max_terms=2),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            Scorecard(RankBoost(n_estimators=3), scaling=PDO, cv=2), marks=pytest.mark.slow
        ),
        pytest.param(
            Scorecard(SmoothMarginRanker(n_estimators=3), points=None, scaling="minmax", cv=2),
            marks=pytest.mark.slow,
        ),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_checks_of_scikit_learn(scorecard):
    assert_checks_pass(scorecard)


# Points --------------------------------------------------------------------------------


def read_off(scorecard, rows):
    """Return the totals of rows by the labels of the table alone, as a person reads them."""
    table = scorecard.table_
    totals = np.full(len(rows), table["points"].iloc[0])
    for _, line in table.iloc[1:].iterrows():
        x = rows[line["variable"]]
        totals += line["points"] * np.array([fits(line["bin"], one) for one in x])
    return totals


def fits(label, value):
    """Whether a number is in a bin."""
    if label.startswith("missing") or np.isnan(value):
        return label.startswith("missing") and np.isnan(value)
    bounds = [part.split() for part in label.split(" and ")]
    return all(value <= float(end) if sign == "<=" else value > float(end) for sign, end in bounds)


def test_a_row_can_be_scored_by_hand(small):
    rows = X.copy()
    rows.iloc[::7, 2] = np.nan
    totals = read_off(small, rows)
    np.testing.assert_array_equal(small.decision_function(rows), totals)
    np.testing.assert_array_equal(
        small.points_of(rows).sum(axis=1) + small.table_["points"].iloc[0], totals
    )
    assert small.points_of(rows).dtype.kind == "i"
    assert small.points_of(rows).shape == (len(rows), len(small.variables_))
    np.testing.assert_array_equal(small.predict(rows), small.classes_[(totals > 0).astype(int)])


def test_the_table_counts_the_training_rows(small):
    table = small.table_
    assert list(table.columns) == ["variable", "bin", "points", "count", "event_rate"]
    assert table["variable"].iloc[0] == "intercept"
    for name, lines in table.iloc[1:].groupby("variable"):
        assert lines["count"].sum() == len(Y)
        assert np.nansum(lines["count"] * lines["event_rate"]) == pytest.approx(Y.sum())
        assert name in small.variables_


def test_a_parameter_is_the_object_passed(small):
    points = [0, 3]
    scorecard = Scorecard(points=points)
    assert scorecard.points is points
    assert scorecard.get_params()["points"] is points
    assert clone(small).set_params(points=points).points is points
    assert Scorecard(points=None).points is None
    assert "points=[0, 3]" in repr(scorecard)
    assert small.points_of(X).min() >= -5


@pytest.mark.parametrize("points", [(-5, 5), (0, 10), (-3, 0), (-1, 1), (-1000, 1000)])
def test_points_are_in_their_range(points):
    card = Scorecard(points=points, **QUICK).fit(X, Y).card_
    drawn = [one for variable in card.variables for one in variable.points]
    assert points[0] <= min(drawn)
    assert max(drawn) <= points[1]
    assert all(len(set(variable.points)) > 1 for variable in card.variables)


def ranker_rows(ranker, rows):
    """Return rows as the ranker sees them, categories as codes."""
    return ranker.check_rows(rows)


def test_bins_of_the_card_divide_the_rows_as_the_ranker_does(credit, credit_card):
    """Rows with equal values of a step function have equal points, whatever the bins' ends."""
    ranker = credit_card.ranker_
    steps = ranker.step_functions_
    by_column = {step.feature: step for step in steps}
    encoded = ranker_rows(ranker, credit.data)
    points = credit_card.points_of(credit.data)
    assert credit_card.variables_
    for number, variable in enumerate(credit_card.card_.variables):
        step = by_column[variable.column]
        bins = step.bins(encoded[:, variable.column])
        pairs = set(zip(bins.tolist(), points[:, number].tolist(), strict=True))
        assert len(pairs) == len(np.unique(bins))
        assert sum(variable.counts) == len(encoded)


def test_rounding_keeps_what_is_monotone(credit, credit_card):
    for variable in credit_card.card_.variables:
        sign = credit.monotonic_cst.get(variable.name, 0)
        steps = np.diff(variable.points[: variable.n_values])
        assert (sign * steps >= 0).all(), variable


def test_missing_special_and_unseen_values(credit, credit_card):
    rows = credit.data.astype(object).copy()
    for variable in credit_card.card_.variables:
        rows[variable.name] = "never seen" if variable.groups else np.nan
    expected = [variable.points[-1] for variable in credit_card.card_.variables]
    assert (credit_card.points_of(rows) == expected).all()
    assert any(variable.groups for variable in credit_card.card_.variables)
    assert any(variable.special for variable in credit_card.card_.variables)


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
    assert card.p_ == 3
    steps = ranker.step_functions_
    assert {one.column for one in card.card_.variables} <= {step.feature for step in steps}
    refitted = Scorecard(ranker, p=None, max_terms=None, cv=2).fit(X, Y)
    assert refitted.ranker_ is not ranker


def test_max_terms_bounds_the_steps(credit):
    card = Scorecard(credit_ranker(credit), p=None, cv=2, max_terms=3).fit(
        credit.data, credit.target
    )
    steps = 0
    for variable in card.card_.variables:
        if variable.groups is None:
            steps += np.count_nonzero(np.diff(variable.points[: variable.n_values]))
    assert 1 <= steps <= 3


def test_no_weak_ranker_no_variable():
    rows = np.zeros((6, 2))
    with pytest.warns(sklearn.exceptions.ConvergenceWarning):
        card = Scorecard(RankBoost(), p=None, cv=2, adverse="high").fit(rows, [0, 1, 0, 1, 0, 1])
    assert card.variables_ == []
    assert card.points_of(rows).shape == (6, 0)
    assert len(set(card.decision_function(rows))) == 1
    assert card.reasons(rows, k=2).tolist() == [[None, None]] * 6


# p -------------------------------------------------------------------------------------


def test_p_is_searched_set_or_kept():
    ranker = PNormPushRanker(p=3, n_estimators=3, learning_rate=1)
    options = {"cv": 2, "n_repeats": 2, "max_terms": 2, "random_state": 0}
    searched = Scorecard(ranker, **options).fit(X, Y)
    assert list(searched.p_scores_) == [4, 2, 1, 8, 16]
    assert searched.p_ in searched.p_scores_
    assert max(map(len, searched.p_scores_.values())) == 4
    assert Scorecard(ranker, p=None, **options).fit(X, Y).p_ == 3
    assert Scorecard(ranker, p=5.5, **options).fit(X, Y).p_ == 5.5
    without = Scorecard(RankBoost(n_estimators=3), **options).fit(X, Y)
    assert without.p_ is None
    assert without.p_scores_ == {}
    with pytest.raises(ValueError, match="needs a ranker with a p, which RankBoost lacks"):
        Scorecard(RankBoost(), p=4).fit(X, Y)
    with pytest.raises(ValueError, match="can't be set on a frozen ranker"):
        Scorecard(FrozenEstimator(RankBoost().fit(X, Y)), p=4).fit(X, Y)


@pytest.mark.slow
def test_parallel_folds_give_the_same_card():
    options = {"p": 2, "cv": 2, "n_repeats": 1, "max_terms": 2, "random_state": 0}
    one, two = (Scorecard(n_jobs=n, **options).fit(X, Y) for n in (1, 2))
    assert one.to_json() == two.to_json()


def test_folds_of_ones_own():
    folds = [(np.arange(0, 400), np.arange(400, 569)), (np.arange(200, 569), np.arange(0, 200))]
    card = Scorecard(cv=folds, max_terms=2).fit(X, Y)
    assert {len(scores) for scores in card.p_scores_.values()} == {2}


# Weights and queries -------------------------------------------------------------------


@settings(max_examples=min(4, settings.default.max_examples * 2 // 5))
@given(st.integers(0, 2**16))
def test_weight_2_is_the_row_twice(seed):
    """Also with the folds of the search, in which equal rows stay together."""
    random = np.random.default_rng(seed)
    rows = X.to_numpy()[::6]
    y = Y.to_numpy()[::6]
    weight = random.integers(0, 3, len(y))
    repeated = random.permutation(np.repeat(np.arange(len(y)), weight))
    ranker = PNormPushRanker(n_estimators=3)
    card = Scorecard(ranker, cv=2, n_repeats=1, random_state=0)
    weighted = clone(card).fit(rows, y, sample_weight=weight)
    twice = clone(card).fit(rows[repeated], y[repeated])
    assert weighted.p_ == twice.p_
    for one, other in zip(weighted.card_.variables, twice.card_.variables, strict=True):
        assert vars(one) == vars(other)
    np.testing.assert_array_equal(weighted.decision_function(rows), twice.decision_function(rows))
    np.testing.assert_allclose(weighted.predict_risk(rows), twice.predict_risk(rows), atol=1e-6)


@pytest.mark.parametrize("scale", [1 / 400, 1e-12])
@pytest.mark.parametrize("scaling", [None, PDO])
def test_weights_below_one_say_nothing_about_the_number_of_rows(scale, scaling):
    scorecard = Scorecard(p=1, cv=2, max_terms=3, scaling=scaling, random_state=0)
    cards = [
        clone(scorecard).fit(X[:400], Y[:400], sample_weight=np.full(400, weight)).card_
        for weight in (1.0, scale)
    ]
    assert cards[0].variables
    assert [one.points for one in cards[0].variables] == [one.points for one in cards[1].variables]
    np.testing.assert_allclose(cards[0].risk, cards[1].risk, rtol=1e-6)


def test_queries_reach_ranker_folds_and_score():
    data = make_queries(n_queries=20, random_state=0)
    y = data.target > 1
    card = Scorecard(**QUICK).fit(data.data, y, qid=data.qid)
    expected = auc_score(y, card.decision_function(data.data), qid=data.qid)
    assert card.score(data.data, y, qid=data.qid) == pytest.approx(expected)
    with pytest.raises(ValueError, match="was fitted with qid"):
        card.score(data.data, y)
    with pytest.raises(ValueError, match="was fitted with qid"):
        Scorecard.from_json(card.to_json()).score(data.data, y)
    search = GridSearchCV(Scorecard(**QUICK), {"max_terms": [2, 4]}, cv=QueryKFold(2))
    with sklearn.config_context(enable_metadata_routing=True):
        search.fit(data.data, y, qid=data.qid)
        assert ranking_scorer("auc")(search, data.data, y, qid=data.qid) > 0.5


# Scaling, risk, reasons ----------------------------------------------------------------


@pytest.mark.parametrize("points", [(-5, 5), None])
def test_minmax_totals_go_from_0_to_100(points, small):
    scorecard = Scorecard(points=points, scaling="minmax", **QUICK).fit(X, Y)
    card = scorecard.card_
    assert card.intercept + sum(min(one.points) for one in card.variables) == 0
    assert card.intercept + sum(max(one.points) for one in card.variables) == 100
    totals = scorecard.decision_function(X) + scorecard.cut_
    assert 0 <= totals.min() <= totals.max() <= 100
    assert scorecard.score(X, Y) == pytest.approx(small.score(X, Y), abs=0.01)


@pytest.mark.parametrize("points", [(-5, 5), None])
def test_points_double_the_odds(points, small):
    scorecard = Scorecard(points=points, scaling=PDO, **QUICK).fit(X, Y)
    totals = scorecard.decision_function(X) + scorecard.cut_
    np.testing.assert_array_equal(totals, scorecard.card_.totals(X))
    assert scorecard.score(X, Y) == pytest.approx(small.score(X, Y), abs=0.01)
    risk = scorecard.predict_risk(X)
    np.testing.assert_allclose(np.log2(risk / (1 - risk) / 50) * 20 + 600, totals)


@pytest.mark.parametrize("scaling", [None, "minmax", PDO])
def test_risk_is_a_rising_probability(scaling):
    scorecard = Scorecard(scaling=scaling, **QUICK).fit(X, Y)
    table = scorecard.risk_table_
    assert list(table.columns) == ["total", "risk", "low", "high"]
    values = table[["low", "risk", "high"]].to_numpy()
    assert ((values >= 0) & (values <= 1)).all()
    assert (np.diff(values, axis=1) >= 0).all()
    assert (np.diff(table["risk"]) >= 0).all()
    assert set(scorecard.card_.totals(X)) <= set(table["total"])
    by_total = dict(zip(table["total"], table["risk"], strict=True))
    expected = [by_total[total] for total in scorecard.card_.totals(X)]
    np.testing.assert_allclose(scorecard.predict_risk(X), expected)
    assert scorecard.predict_risk(X).mean() == pytest.approx(Y.mean(), abs=0.03)


def test_reasons(small):
    names, card = small.variables_, small.card_
    points, found = small.points_of(X), small.reasons(X, k=3)
    assert found.shape == (len(X), 3)
    best = [max(one.points) for one in card.variables]
    mean = [np.average(one.points, weights=one.counts) for one in card.variables]
    for against, reference in (("best", best), ("mean", mean), (0, [0] * len(names))):
        found = small.reasons(X, k=3, against=against)
        for row in range(0, len(X), 37):
            lost = [ref - one for ref, one in zip(reference, points[row], strict=True)]
            order = sorted(range(len(names)), key=lambda j: (-round(lost[j], 9), j))
            expected = [names[j] for j in order if lost[j] > 1e-9][:3]
            assert found[row].tolist() == expected + [None] * (3 - len(expected))
    with pytest.raises(ValueError, match="against must be"):
        small.reasons(X, against="worst")
    with pytest.raises(ValueError, match="'k' parameter of reasons"):
        small.reasons(X, k=0)


# As a part of scikit-learn -------------------------------------------------------------


def test_pipeline_search_clone_pickle(small):
    pipeline = make_pipeline(StandardScaler(), Scorecard(**QUICK)).set_output(transform="pandas")
    pipeline.fit(X, Y)
    assert pipeline[-1].card_.feature_names == tuple(X.columns)
    options = {"ranker": [PNormPushRanker(n_estimators=3)], "cv": [2], "n_repeats": [1]}
    grid = [
        {"points": [(-5, 5), (0, 2)], "max_terms": [2], "p": [1], **options},
        {"max_terms": [3], "p": [None, "auto"], **options},
    ]
    search = GridSearchCV(Scorecard(random_state=0), grid, cv=2, error_score="raise")
    assert search.fit(X, Y).best_score_ > 0.9
    calibrated = CalibratedClassifierCV(Scorecard(**QUICK), cv=2).fit(X, Y)
    assert auc_score(Y, calibrated.predict_proba(X)[:, 1]) > 0.9
    for copied in (pickle.loads(pickle.dumps(small)), Scorecard.from_json(small.to_json())):
        np.testing.assert_array_equal(copied.decision_function(X), small.decision_function(X))
        np.testing.assert_allclose(copied.predict_risk(X), small.predict_risk(X))
        assert copied.to_text(80) == small.to_text(80)
    assert clone(small).get_params() == small.get_params()


def test_without_pandas_tables_are_refused(monkeypatch):
    card = Scorecard(**QUICK).fit(X.to_numpy(), Y.to_numpy())
    monkeypatch.setitem(sys.modules, "pandas", None)
    for name in ("table_", "risk_table_"):
        with pytest.raises(ImportError, match=r"sklearn-rank\[cli\]"):
            getattr(card, name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"points": (1, 5)}, "'points' parameter of Scorecard must be a pair of ints"),
        ({"points": (-5.5, 5)}, "'points' parameter of Scorecard must be a pair of ints"),
        ({"points": (0, 0)}, "'points' parameter of Scorecard must be a pair of ints"),
        ({"points": 5}, "'points' parameter of Scorecard must be a pair of ints"),
        ({"points": None}, "points=None of Scorecard needs scaling"),
        ({"scaling": {"pdo": 20}}, "'scaling' parameter of Scorecard must be None, 'minmax' or"),
        ({"scaling": {**PDO, "odds": 0}}, "'scaling' parameter of Scorecard"),
        ({"scaling": {**PDO, "pdo": 1e-9}}, "leaves no points"),
        ({"p": 0.5}, "'p' parameter of Scorecard must be a float in"),
        ({"max_terms": 0}, "'max_terms' parameter of Scorecard"),
        ({"cv": 1}, "'cv' parameter of Scorecard"),
        ({"cv": "five"}, "'cv' parameter of Scorecard"),
        ({"scoring": "accuracy"}, "'scoring' parameter of Scorecard"),
        ({"ranker": ListNetLinear(relevance="binary")}, "Scorecard needs a ranker of stumps"),
        ({"ranker": RankBoost(weak_ranker="feature")}, "Scorecard needs a ranker of stumps"),
        ({"ranker": RankBoost(relevance="graded")}, "must have relevance='binary'"),
        ({"ranker": RankBoost}, "'ranker' parameter of Scorecard must be a ranker of stumps"),
    ],
)
def test_bad_parameters_get_a_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        Scorecard(**{"p": None, "cv": 2, "max_terms": 2, **options}).fit(X, Y)


def test_the_order_of_classes_is_said_once_in_the_name_of_the_card():
    y = np.array(["dull", "fine"])[Y]
    with pytest.warns(UserWarning, match="^Scorecard ranks 'fine' above 'dull'") as caught:
        card = Scorecard(p=None, cv=2, max_terms=2).fit(X, y)
    assert len(caught) == 1
    assert card.ranker_.classes_.tolist() == card.classes_.tolist() == ["dull", "fine"]


def test_classes_that_say_which_is_bad_need_no_warning():
    card = Scorecard(p=None, cv=2, max_terms=2).fit(X, np.array(["bad", "good"])[Y])
    assert card.card_.adverse == "low"


def test_bad_tables_get_a_sentence(small):
    with pytest.raises(ValueError, match="mean texture"):
        small.decision_function(X.drop(columns="mean texture"))
    with pytest.raises(ValueError, match="mean texture"):
        Scorecard.from_json(small.to_json()).decision_function(X.drop(columns="mean texture"))
    with pytest.raises(sklearn.exceptions.NotFittedError):
        Scorecard().predict(X)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        Scorecard().points_of(X)
    unfitted = Scorecard(FrozenEstimator(RankBoost()))
    with pytest.raises(sklearn.exceptions.NotFittedError):
        unfitted.fit(X, Y)
    with pytest.raises(ValueError, match="labels that Scorecard was not fitted with"):
        small.score(X, np.where(Y == 1, "good", "bad"))


@settings(max_examples=min(8, settings.default.max_examples))
@given(st.integers(0, 2**16))
def test_monotone_beyond_the_training_rows(seed):
    """For any data, over all values that are not missing."""
    random = np.random.default_rng(seed)
    rows = random.integers(-3, 4, (40, 2)).astype(float)
    rows[random.random(rows.shape) < 0.1] = np.nan
    y = np.append(random.random(38) < 0.5, [True, False])
    ranker = PNormPushRanker(n_estimators=8, monotonic_cst=[1, -1])
    card = Scorecard(ranker, p=None, cv=2, max_terms=6)
    with np.errstate(all="ignore"):
        fit_quietly(card, rows, y)
    grid = np.array([-np.inf, *np.arange(-4, 5, 0.5), np.inf])
    for variable in card.card_.variables:
        points = np.array(variable.points)[variable.bins(grid)]
        sign = 1 if variable.column == 0 else -1
        assert all(sign * (after - before) >= 0 for before, after in pairwise(points))


def fit_quietly(card, rows, y):
    """Fit without the warning that no weak ranker was found."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sklearn.exceptions.ConvergenceWarning)
        card.fit(rows, y)


def test_frames_of_categories_alone():
    frame = pd.DataFrame({"job": pd.Categorical(["a", "b", "c", "a", "b", "c"] * 5)})
    y = (frame["job"] == "a").to_numpy()
    card = Scorecard(p=2, cv=2).fit(frame, y)
    assert card.score(frame, y) == 1
    assert (card.predict(pd.DataFrame({"job": ["a", "b"]})) == [True, False]).all()


def test_it_is_a_classifier_of_two_classes():
    tags = get_tags(Scorecard())
    assert (tags.estimator_type, tags.classifier_tags.multi_class) == ("classifier", False)
    assert tags.target_tags.required and tags.input_tags.allow_nan
