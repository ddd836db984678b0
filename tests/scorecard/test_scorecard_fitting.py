"""How a ranker becomes a card: rounding, scales, held-out rows, points of values not seen."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import risk as oracles
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator

from sklearn_rank import PNormPushRanker
from sklearn_rank._bins.binned_features import FeatureBins
from sklearn_rank._core.rows import Rows
from sklearn_rank.metrics import auc_score, partial_auc_score
from sklearn_rank.models import Stumps
from sklearn_rank.models.stump_rules import StepFunction
from sklearn_rank.scorecard import Card, Scorecard, Variable, _rounding
from sklearn_rank.scorecard._build import with_neutral_points
from sklearn_rank.scorecard._folds import held_out_totals, make_folds
from sklearn_rank.scorecard._risk_curve import RiskCurve

seeds = st.integers(0, 2**16)


def small_problem(seed, p, n_features=2):
    """Return rows by their bins and the step functions of a ranker fitted to them."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 3, (60, n_features)).astype(float)
    y = X.sum(axis=1) + random.normal(0, 1.5, 60) > 2
    y[:2] = [True, False]
    ranker = PNormPushRanker(p=p, n_estimators=6, weak_ranker=Stumps(max_thresholds=3)).fit(X, y)
    steps = ranker.step_functions_
    data = Rows(X, y, None, np.ones(60), np.array([False, True]))
    return _rounding.BinnedTraining.of(ranker, data), steps


@settings(max_examples=12)
@given(seeds, st.sampled_from([1.0, 4.0]))
def test_summed_rows_have_the_objective_of_all_rows(seed, p):
    training, steps = small_problem(seed, p)
    totals = training.totals([step.values for step in steps])
    assert len(totals) < 60
    assert training.data.weight.sum() == 60
    curve = training.ranker.objective_curve_
    assert training.objective(totals, 1.0) == pytest.approx(curve[-1], rel=1e-9)


@pytest.mark.parametrize(("n_missing", "points"), [(1, 2), (2, 0)])
def test_missing_values_without_a_rule_are_neutral_where_they_are_few(n_missing, points):
    """Of 100 rows; from 2 on the ranker could have told them apart."""
    step = StepFunction(0, FeatureBins(np.array([1.0])), np.array([-1.0, 3.0, 0.0]))
    weight = np.array([(100 - n_missing) / 2] * 2 + [n_missing])
    training = SimpleNamespace(steps=[step], weight_by_bin=[weight])
    (found,) = _rounding.with_mean_points(training, [np.array([1, 3, 0])])
    assert found.tolist() == [1, 3, points]


@settings(max_examples=8)
@given(seeds, st.sampled_from([1.0, 4.0]), st.sampled_from([(-2, 2), (-5, 5), (0, 3)]))
def test_rounding_loses_least_of_all_scales(seed, p, points):
    """No scale tried has rounded tables that lose less on the objective of the ranker."""
    training, steps = small_problem(seed, p)
    found = _rounding.round_steps(training, points)
    assert training.objective(training.totals(found.tables), found.multiplier) == found.loss
    for table, step in zip(found.tables, steps, strict=True):
        assert points[0] <= table.min() <= table.max() <= points[1]
        assert len(table) == step.bins.n_bins
        jumps = np.diff(table), np.diff(step.values)
        assert (jumps[0] * jumps[1] >= 0).all()  # no bin passes its neighbour
    for scale in np.linspace(0.1, 1.0, 7) / found.multiplier:
        tables = [
            np.floor(scale * (step.values - step.values[np.argmax(weight)]) + 0.5)
            for step, weight in zip(steps, training.weight_by_bin, strict=True)
        ]
        if all(points[0] <= t.min() and t.max() <= points[1] for t in tables):
            loss = training.objective(training.totals(tables), 1 / scale)
            assert found.loss <= loss + 0.02 * abs(loss)


@settings(max_examples=8)
@given(seeds, st.sampled_from([1.0, 4.0]))
def test_many_points_lose_nothing(seed, p):
    training, steps = small_problem(seed, p)
    exact = training.objective(training.totals([step.values for step in steps]), 1.0)
    assert _rounding.round_steps(training, (-5000, 5000)).loss == pytest.approx(exact, abs=1e-3)


def test_an_unseen_bin_moves_with_its_like():
    """The missing bin, without rows, keeps the points of the bin with the value of the ranker."""
    for seed in range(6):
        training = small_problem(seed, 2.0, n_features=3)[0]
        found, steps = _rounding.round_steps(training, (-5, 5)), training.steps
        for table, step, weight in zip(found.tables, steps, training.weight_by_bin, strict=True):
            assert weight[-1] == 0
            assert table[-1] in table[:-1][step.values[:-1] == step.values[-1]]


@given(st.lists(st.lists(st.floats(-5, 5), min_size=2, max_size=4), min_size=1, max_size=5))
def test_minmax_ranges_sum_to_100(drawn):
    tables = [np.array(one) for one in drawn]
    found = _rounding.minmax_points(tables)
    assert all(one.min() == 0 for one in found)
    spans = [np.ptp(one) for one in tables]
    assert sum(one.max() for one in found) == (100 if any(spans) else 0)
    for before, after in zip(tables, found, strict=True):
        assert (np.diff(after[np.argsort(before, kind="stable")]) >= 0).all()


def test_points_double_the_odds():
    """B = b pdo / ln 2, and the total at which the odds are those wanted is the score."""
    scaling = {"pdo": 20, "score": 600, "odds": 50}
    tables, intercept = _rounding.scaled_points([np.array([0, 1, 3])], (np.log(50), 0.25), scaling)
    assert tables[0].tolist() == [0, round(0.25 * 20 / np.log(2)), round(0.75 * 20 / np.log(2))]
    assert intercept == 600


def test_scaled_points_that_all_bins_have_are_in_the_intercept():
    line, scaling = (0.0, np.log(2)), {"pdo": 0.3, "score": 5, "odds": 1}
    points, intercept = _rounding.scaled_points([np.array([2, 3]), np.array([0, 9])], line, scaling)
    assert [one.tolist() for one in points] == [[0, 0], [0, 3]]
    assert intercept == 6


@pytest.mark.parametrize("slope", [0.0, 1.73e-4])
def test_odds_that_are_the_same_everywhere_leave_no_points(slope):
    scaling = {"pdo": 20, "score": 600, "odds": 50}
    with pytest.warns(ConvergenceWarning, match="hardly better than chance"):
        tables, intercept = _rounding.scaled_points([np.array([0, 1, 3])], (0.0, slope), scaling)
    assert tables[0].tolist() == [0, 0, 0]
    assert intercept == round(600 - 20 * np.log2(50))


def few_values(seed, weight):
    """Return 40 rows of few different values, of which eight are of a class by their features."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 3, (40, 2)).astype(float)
    y = random.random(40) < 0.5
    y[:4] = [True, False, True, False]
    X[:8] = np.repeat([[5, 5], [6, 6], [7, 7], [8, 8]], 2, axis=0)
    y[:8] = np.repeat([True, False, True, False], 2)
    return Rows(X, y, None, weight * np.ones(40), np.array([False, True]))


def rows_tested(data, n_folds=3):
    """Return the features, class and weight of the rows that each fold tests."""
    rows, folds = make_folds(data.distinct(), n_folds, 0)
    return [
        list(zip(rows.X[test].tolist(), rows.y[test], rows.weight[test], strict=True))
        for _, test in folds
    ]


@given(seeds, st.booleans())
def test_the_order_of_the_rows_has_no_part_in_folds(seed, has_queries):
    data = replace(few_values(seed, 1), qid=np.arange(40) // 4 if has_queries else None)
    assert rows_tested(data) == rows_tested(data.take(np.random.default_rng(seed).permutation(40)))


@given(seeds)
def test_a_weight_of_two_is_the_row_twice_in_folds(seed):
    data = few_values(seed, 1)
    assert rows_tested(few_values(seed, 2)) == rows_tested(data.take(np.repeat(np.arange(40), 2)))


def test_fits_without_a_fold_see_the_rest_of_its_copies():
    data = few_values(0, 1).distinct()
    rows, folds = make_folds(data, 3, 0)
    for train, test in folds:
        assert sorted([*train, *test]) == list(range(len(rows.y)))
    merged = rows.distinct()
    np.testing.assert_array_equal(merged.X, data.X)
    np.testing.assert_array_equal(merged.weight, data.weight)


def test_too_few_rows_have_no_folds():
    data = Rows(np.arange(4.0)[:, None], np.arange(4) == 0, None, np.ones(4), np.arange(2) == 1)
    assert make_folds(data, 5, 0)[1] == []
    with pytest.warns(UserWarning, match="gives no fold with comparable rows"):
        assert held_out_totals(None, data, [], (-5, 5), None) is None


def test_rows_held_out_have_the_totals_of_cards_made_without_them():
    """The card states their AUC, and its curve is theirs."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :8]
    rows = np.random.RandomState(0).permutation(len(y))
    folds = [(np.setdiff1d(rows, test), np.sort(test)) for test in np.array_split(rows, 3)]
    whole = Scorecard(cv=folds, max_terms=4).fit(X, y)
    totals = np.zeros(len(y))
    for train, test in folds:
        ranker = clone(whole.ranker_).fit(X.iloc[train], y.iloc[train])
        card = Scorecard(FrozenEstimator(ranker)).fit(X.iloc[train], y.iloc[train])
        own = card.decision_function(X)
        totals[test] = (own[test] - own[train].mean()) / own[train].std()
    details = whole.card_.details
    assert details["held_out_auc"] == pytest.approx(auc_score(y, totals))
    expected = partial_auc_score(y, totals, max_fpr=0.05)
    assert details["held_out_pauc_5"] == pytest.approx(expected)
    own = whole.card_.totals(X)
    curve = RiskCurve.fit(totals, y.to_numpy() == 1, np.ones(len(y)), own.mean(), own.std())
    np.testing.assert_allclose(whole.predict_proba(X)[:, 1], curve.chance(own), atol=1e-9)


# Values that training has not seen -----------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(seeds, st.integers(1, 5))
def test_neutral_points_leave_the_mean_risk_as_it_is(seed, n_variables):
    """What rounding leaves over goes to the next variable: the sum is off by one half."""
    random = np.random.default_rng(seed)
    own = random.integers(-5, 6, (60, n_variables))
    totals = own.sum(axis=1).astype(float)
    weight = random.integers(1, 4, 60).astype(float)
    curve = RiskCurve.fit(totals / 5, random.random(60) < 0.4, weight, 0.0, 5.0)
    variables = tuple(
        Variable(f"x{j}", j, (-5, 5, 0), (0.0,), counts=(1.0, 1.0, 0.0), events=(0.0,) * 3)
        for j in range(n_variables)
    )
    card = Card(variables, 0, 0, (0, 1), n_variables)
    columns = {j: own[:, j] for j in range(n_variables)}
    card = with_neutral_points(card, curve, totals, weight, columns)
    assert all(variable.points[:2] == (-5, 5) for variable in card.variables)
    found = np.array([variable.points[2] for variable in card.variables])
    assert ((own.min(axis=0) <= found) & (found <= own.max(axis=0))).all()
    if np.ptp(curve.chance(totals)) > 1e-6:
        exact = [
            oracles.neutral(curve.chance, totals, own[:, j], weight) for j in range(n_variables)
        ]
        assert abs(sum(found) - sum(exact)) <= 0.5 + 1e-6
        assert np.abs(found - exact).max() <= 1 + 1e-6
