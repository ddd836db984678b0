"""Parts of the scorecard: rounding, shares, the curve of risks, the choice of p, folds."""

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from sklearn.exceptions import ConvergenceWarning

from sklearn_rank import PNormPushRanker
from sklearn_rank._bins.binned_features import FeatureBins
from sklearn_rank._core.rows import Rows
from sklearn_rank.models import Stumps
from sklearn_rank.models.stump_rules import StepFunction
from sklearn_rank.scorecard import Variable
from sklearn_rank.scorecard.explaining._reasons import most_lost
from sklearn_rank.scorecard.fitting._build import told
from sklearn_rank.scorecard.fitting._scaling import minmax_points, round_steps, scaled_points
from sklearn_rank.scorecard.fitting._training import BinnedTraining
from sklearn_rank.scorecard.forms._test_rows import _inside
from sklearn_rank.scorecard.pages._pages import _percent, _verdict
from sklearn_rank.scorecard.risk._risk import RiskCurve
from sklearn_rank.scorecard.search._folds import FoldFits, make_folds
from sklearn_rank.scorecard.search._search import may_be_chosen, simplest_of_the_best

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
    return BinnedTraining.of(ranker, data), steps


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
    (found,) = told(training, [np.array([1, 3, 0])])
    assert found.tolist() == [1, 3, points]


@settings(max_examples=8)
@given(seeds, st.sampled_from([1.0, 4.0]), st.sampled_from([(-2, 2), (-5, 5), (0, 3)]))
def test_rounding_loses_least_of_all_scales(seed, p, points):
    """No scale tried has rounded tables that lose less on the objective of the ranker."""
    training, steps = small_problem(seed, p)
    found = round_steps(training, points)
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
    assert round_steps(training, (-5000, 5000)).loss == pytest.approx(exact, abs=1e-3)


def test_an_unseen_bin_moves_with_its_like():
    """The missing bin, without rows, keeps the points of the bin with the value of the ranker."""
    for seed in range(6):
        training, steps = small_problem(seed, 2.0, n_features=3)
        found = round_steps(training, (-5, 5))
        for table, step, weight in zip(found.tables, steps, training.weight_by_bin, strict=True):
            assert weight[-1] == 0
            assert table[-1] in table[:-1][step.values[:-1] == step.values[-1]]


@given(st.lists(st.lists(st.floats(-5, 5), min_size=2, max_size=4), min_size=1, max_size=5))
def test_minmax_ranges_sum_to_100(drawn):
    tables = [np.array(one) for one in drawn]
    found = minmax_points(tables)
    assert all(one.min() == 0 for one in found)
    spans = [np.ptp(one) for one in tables]
    assert sum(one.max() for one in found) == (100 if any(spans) else 0)
    for before, after in zip(tables, found, strict=True):
        assert (np.diff(after[np.argsort(before, kind="stable")]) >= 0).all()


def test_points_double_the_odds():
    """B = b pdo / ln 2, and the total at which the odds are those wanted is the score."""
    scaling = {"pdo": 20, "score": 600, "odds": 50}
    tables, intercept = scaled_points([np.array([0, 1, 3])], (np.log(50), 0.25), scaling)
    assert tables[0].tolist() == [0, round(0.25 * 20 / np.log(2)), round(0.75 * 20 / np.log(2))]
    assert intercept == 600


def test_scaled_points_that_all_bins_have_are_in_the_intercept():
    line, scaling = (0.0, np.log(2)), {"pdo": 0.3, "score": 5, "odds": 1}
    points, intercept = scaled_points([np.array([2, 3]), np.array([0, 9])], line, scaling)
    assert [one.tolist() for one in points] == [[0, 0], [0, 3]]
    assert intercept == 6


@pytest.mark.parametrize("slope", [0.0, 1.73e-4])
def test_odds_that_are_the_same_everywhere_leave_no_points(slope):
    scaling = {"pdo": 20, "score": 600, "odds": 50}
    with pytest.warns(ConvergenceWarning, match="hardly better than chance"):
        tables, intercept = scaled_points([np.array([0, 1, 3])], (0.0, slope), scaling)
    assert tables[0].tolist() == [0, 0, 0]
    assert intercept == round(600 - 20 * np.log2(50))


# Risk ----------------------------------------------------------------------------------


@settings(max_examples=20)
@given(seeds, st.sampled_from([1, 2]))
def test_the_curve_of_risks_meets_the_conditions_of_its_maximum(seed, n_slopes):
    """The gradient is zero for each coefficient, or points below zero for a slope of zero."""
    random = np.random.default_rng(seed)
    z = np.round(random.normal(0, 1, 50), 1)
    positive = random.random(50) < expit(random.normal(0, 2) + random.normal(1, 2) * z)
    weight = random.integers(1, 4, 50).astype(float)
    curve = RiskCurve.fit(z, positive, weight, 0.0, 1.0, n_slopes)
    above, below = weight[positive].sum(), weight[~positive].sum()
    target = np.where(positive, (above + 1) / (above + 2), 1 / (below + 2))
    chance, low, high = curve.at(z)
    error = weight * (target - chance)
    columns = [z] if n_slopes == 1 else [-np.logaddexp(0, -z), np.logaddexp(0, z)]
    gradient = np.array([(error * one).sum() for one in [np.ones(50), *columns]]) / weight.sum()
    is_zero = curve.coefficients == 0
    assert (curve.coefficients[1:] >= 0).all()
    assert np.abs(gradient[~is_zero]).max() < 1e-4
    assert (gradient[is_zero] < 1e-4).all()
    assert ((low >= 0) & (low <= chance) & (chance <= high) & (high <= 1)).all()


def test_the_risk_of_separated_classes_is_finite():
    z = np.linspace(-2, 2, 20)
    curve = RiskCurve.fit(z, z > 0, np.ones(20), 0.0, 1.0)
    chance, low, high = curve.at(np.array([-50.0, 0.0, 50.0]))
    assert (low <= chance).all()
    assert (chance <= high).all()
    assert curve.at(np.array([0.0]))[0][0] == pytest.approx(0.5, abs=0.01)


def test_the_line_is_the_curve_with_one_slope():
    random = np.random.default_rng(0)
    totals = random.integers(-20, 20, 300).astype(float)
    positive = random.random(300) < expit(0.2 * totals - 1)
    mean, deviation = totals.mean(), totals.std()
    curve = RiskCurve.fit((totals - mean) / deviation, positive, np.ones(300), mean, deviation, 1)
    constant, slope = curve.line()
    np.testing.assert_allclose(logit(curve.at(totals)[0]), constant + slope * totals, rtol=1e-9)
    assert slope == pytest.approx(0.2, abs=0.05)


# p, folds, reasons ---------------------------------------------------------------------


def test_the_smallest_p_within_one_standard_error():
    best = np.array([0.5, 0.6, 0.7, 0.8])
    # Mean .01 below, with variance .04 / 3 of the differences in hundredths squared: the standard
    # error is sqrt((1/4 + 1/3) * .04 / 3), or .0088; without shared rows, .0058.
    near = best - [0.0, 0.02, 0.0, 0.02]
    nearer = best - [0.0, 0.02, 0.0, 0.0]  # mean .005, standard error .0076
    assert simplest_of_the_best({1.0: near, 2.0: best}, 1 / 3) == 2
    assert simplest_of_the_best({1.0: near, 2.0: best}, 1 / 2) == 1  # standard error .01
    assert simplest_of_the_best({1.0: nearer, 2.0: best}, 1 / 3) == 1
    assert simplest_of_the_best({1.0: best, 2.0: best}, 1 / 3) == 1
    dropped = best[:2] + 1  # not tried in the second repeat
    assert simplest_of_the_best({1.0: dropped, 2.0: near, 4.0: best}, 1 / 3) == 4


def test_p_above_1_is_not_chosen_for_repeating_the_same_folds():
    """Scores of 600 rows in five repeats: p = 16 is .04 above p = 1 with a deviation of .16.

    As if all folds were independent that is 1.25 standard errors; more folds add no rows.
    """
    difference = 0.04 + 0.16 * np.tile([-1.0, 1.0, -0.5, 0.5, 0.0], 5) / np.sqrt(0.5)
    scores = {1.0: np.full(25, 0.3), 16.0: 0.3 + difference}
    assert difference.mean() > np.std(difference, ddof=1) / 5
    assert simplest_of_the_best(scores, 1 / 4) == 1


@given(seeds, st.integers(2, 30), st.floats(0.05, 1))
def test_what_may_be_chosen_is_near_the_best_and_no_less_simple(seed, n_folds, ratio):
    """By loops over candidates and folds."""
    random = np.random.default_rng(seed)
    scores = {p: random.normal(size=n_folds).round(2) for p in (1.0, 2.0, 4.0, 8.0)}
    means = {p: sum(of) / n_folds for p, of in scores.items()}
    best = min(p for p in scores if means[p] >= max(means.values()) - 1e-12)
    behind = {}
    for p, of in scores.items():
        apart = [a - b for a, b in zip(scores[best], of, strict=True)]
        mean = sum(apart) / n_folds
        variance = sum((one - mean) ** 2 for one in apart) / (n_folds - 1)
        error = np.sqrt(variance * (1 / n_folds + ratio))
        behind[p] = 0.0 if mean <= 1e-12 else mean / error if error else np.inf
    expected = [p for p in scores if behind[p] <= 2 and p <= best]
    assert may_be_chosen(scores, ratio) == expected
    assert simplest_of_the_best(scores, ratio) == min(p for p in scores if behind[p] <= 1)


def test_the_ratio_of_folds_counts_weights():
    data = Rows(np.zeros((4, 1)), np.zeros(4), None, np.array([1.0, 2.0, 3.0, 4.0]))
    folds = [(np.array([0, 1]), np.array([2])), (np.array([2, 3]), np.array([0]))]
    assert FoldFits(data, folds, None, None).ratio == (3 + 1) / (3 + 7)


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
    """Return the features, class and weight of the rows that each fold of each repeat tests."""
    repeats = make_folds(data.distinct(), n_folds, 2, np.random.RandomState(0))
    return [
        [
            list(zip(rows.X[test].tolist(), rows.y[test], rows.weight[test], strict=True))
            for _, test in folds
        ]
        for rows, folds in repeats
    ]


@given(seeds, st.booleans())
def test_the_order_of_the_rows_has_no_part_in_folds(seed, has_queries):
    data = replace(few_values(seed, 1), qid=np.arange(40) // 4 if has_queries else None)
    assert rows_tested(data) == rows_tested(data.take(np.random.default_rng(seed).permutation(40)))


@given(seeds)
def test_folds_take_equal_rows_apart_where_both_classes_have_them(seed):
    """Else the other folds would hold the class that the fold does not test, and learn it."""
    data = few_values(seed, 1)
    of_cell = Counter(zip(map(tuple, data.X), data.y, strict=True))
    for folds in rows_tested(data):
        weights = {cell: [0.0] * 3 for cell in of_cell}
        for number, rows in enumerate(folds):
            for x, y, weight in rows:
                weights[tuple(x), y][number] += weight
        for (x, y), found in weights.items():
            assert sum(found) == of_cell[x, y]
            if (x, not y) not in of_cell:
                assert sorted(found) == [0, 0, of_cell[x, y]]
        # The copies of a class are dealt in turn: no fold has two more rows than another.
        for y in (False, True):
            units = [
                sum(
                    weight if (tuple(x), not y) in of_cell else 1
                    for x, of_class, weight in rows
                    if of_class == y
                )
                for rows in folds
            ]
            assert max(units) - min(units) <= 1


@given(seeds)
def test_a_weight_of_two_is_the_row_twice_in_folds(seed):
    data = few_values(seed, 1)
    assert rows_tested(few_values(seed, 2)) == rows_tested(data.take(np.repeat(np.arange(40), 2)))


def test_fits_without_a_fold_see_the_rest_of_its_copies():
    data = few_values(0, 1).distinct()
    for rows, folds in make_folds(data, 3, 2, np.random.RandomState(0)):
        for train, test in folds:
            assert sorted([*train, *test]) == list(range(len(rows.y)))
        merged = rows.distinct()
        np.testing.assert_array_equal(merged.X, data.X)
        np.testing.assert_array_equal(merged.weight, data.weight)


def test_too_few_rows_have_no_folds():
    data = Rows(
        np.arange(4.0)[:, None],
        np.array([True, False, False, False]),
        None,
        np.ones(4),
        np.array([False, True]),
    )
    assert make_folds(data, 5, 2, np.random.RandomState(0)) == []


def test_most_lost():
    lost = np.array([[3.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    assert most_lost(lost, 2).tolist() == [[0, 1], [2, -1]]
    assert most_lost(-lost, 4).tolist() == [[-1] * 4] * 2
    ties = np.array([[1.0, 2.0, 1.0 + 1e-12]])
    assert most_lost(ties, 3).tolist() == [[1, 0, 2]]


# Small parts -----------------------------------------------------------------------------

ENDS = st.none() | st.sampled_from([-1.7e308, -1e300, -2.5, -0.0, 5e-324, 1.0, 7.0, 1e300, 1.7e308])


@given(ENDS, ENDS, st.integers(0, 3))
def test_a_test_row_has_a_number_inside_of_its_range(above, up_to, n_special):
    assume(above is None or up_to is None or above < up_to)
    special = ()
    for _ in range(n_special):  # codes in the way
        special += (_inside(above, up_to, special),)
    found = _inside(above, up_to, special)
    assert found not in special
    assert above is None or found > above
    assert up_to is None or found <= up_to
    ends = [0.0 if one is None else one for one in (above, up_to)]
    assert found != up_to or abs(ends[1]) > 1e300 or np.nextafter(ends[0], np.inf) == up_to


@pytest.mark.parametrize(
    ("psi", "p_value", "verdict"),
    [
        *((0.09, 0.0, "no"), (0.1, 0.01, "some"), (0.25, 0.01, "some"), (0.26, 0.01, "large")),
        *((0.3, 0.05, "no"), (0.3, 0.049, "large")),
    ],
)
def test_how_large_a_change_is(psi, p_value, verdict):
    assert _verdict(SimpleNamespace(psi=psi, p_value=p_value)) == verdict


def test_shares_are_per_cent():
    assert [_percent(one) for one in (0.1234, 1.0, np.nan)] == ["12.3 %", "100.0 %", "-"]
    assert _percent(0.1234, digits=0) == "12 %"


@pytest.mark.parametrize(
    ("groups", "kind"),
    [
        *((None, "number"), ((("a",), ("b",)), "str"), (((True,), (False,)), "bool")),
        *((((True,), (3,)), "int"), (((1,), (2,)), "int"), (((1,), (2.5,)), "float")),
    ],
)
def test_the_kind_of_the_values_of_a_variable(groups, kind):
    bins = {"thresholds": (1.5,)} if groups is None else {"groups": groups}
    assert Variable("x", 0, points=(1, 2, 0), **bins).kind == kind
