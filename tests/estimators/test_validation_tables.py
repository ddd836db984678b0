"""Stability, gains, calibration, groups, KS against definitions that visit every row."""

import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import definitions as oracles
from oracles import monitoring as naive
from scipy.stats import binomtest, chi2, ks_2samp
from scipy.stats.contingency import relative_risk
from strategies import one_list

from sklearn_rank import metrics
from sklearn_rank.scorecard import monitoring
from sklearn_rank.scorecard.monitoring._stability import _MIN_EXPECTED, _in_bins_of_enough


def approx(expected):
    return pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True)


def events(problem):
    return (problem.y == problem.y.max()).astype(int)


@st.composite
def tables(draw, missing=True):
    """Return values and weights (None, or with zeros) of a few rows, full of ties."""
    values = [0.0, 1.0, 2.0, 2.5, np.inf] + ([np.nan] if missing else [])
    n = draw(st.integers(1, 9))
    x = np.array(draw(st.lists(st.sampled_from(values), min_size=n, max_size=n)))
    w = draw(st.none() | st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=n, max_size=n))
    return x, None if w is None or not any(w) else np.array(w)


# Stability ----------------------------------------------------------------------------


@given(tables(), tables(), st.integers(2, 6), st.booleans())
def test_stability(old, new, n_bins, given_bins):
    (a, wa), (b, wb) = old, new
    ua, ub = naive.weights(a, wa), naive.weights(b, wb)
    options = {"reference_weight": wa, "sample_weight": wb}
    there = {v for v, u in zip(a, ua, strict=True) if u > 0 and not np.isnan(v)}
    limits = [0.0, 1.7, 2.0] if given_bins else naive.cuts(a, ua, n_bins) if there else []
    bins = limits if given_bins else n_bins
    if not limits:
        with pytest.raises(ValueError, match=r"reference of .* has a single value"):
            monitoring.population_stability_index(a, b, bins=bins, **options)
        return
    found = monitoring.stability_table(a, b, bins=bins, **options)
    expected = naive.index(naive.bins(a, limits), naive.bins(b, limits), ua, ub)
    assert found.psi == approx(expected)
    assert found.index.sum() == approx(expected)
    assert (found.index >= -1e-15).all()
    assert monitoring.population_stability_index(a, b, bins=bins, **options) == found.psi
    for share in (found.reference, found.current):
        assert share.sum() == approx(1)
    np.testing.assert_array_equal(found.high[: len(limits)], limits)
    if not given_bins:
        assert (found.reference[: len(limits) + 1] > 0).all()


def test_the_textbook_formula():
    old, new = np.repeat([0, 1, 2], [50, 30, 20]), np.repeat([0, 1, 2], [40, 30, 30])
    expected = (0.4 - 0.5) * np.log(0.4 / 0.5) + (0.3 - 0.2) * np.log(0.3 / 0.2)
    assert monitoring.population_stability_index(old, new, bins=[0, 1]) == approx(expected)
    # Nobody has 2 today: half a row of 70.
    expected = (4 / 7 - 0.5) * np.log(4 / 7 / 0.5) + (3 / 7 - 0.3) * np.log(3 / 7 / 0.3)
    expected += (0.5 / 70 - 0.2) * np.log(0.5 / 70 / 0.2)
    gone = np.repeat([0, 1], [40, 30])
    assert monitoring.population_stability_index(old, gone, bins=[0, 1]) == approx(expected)
    # A bin that is empty in both adds nothing.
    assert monitoring.population_stability_index(old, new, bins=[0, 1]) == approx(
        monitoring.population_stability_index(old, new, bins=[-1, 0, 0.5, 1, 7])
    )


def test_weights_of_stability_are_multiplicities():
    rng = np.random.default_rng(0)
    old, new = rng.integers(0, 9, 40), rng.integers(2, 9, 30)
    a, b = rng.integers(0, 4, 40), rng.integers(0, 4, 30)
    weighted = {"reference_weight": a, "sample_weight": b}
    for function in (
        partial(monitoring.population_stability_index, bins=5),
        lambda x, z, **w: monitoring.characteristic_stability(x[:, None], z[:, None], **w).csi[0],
    ):
        assert function(old, new, **weighted) == approx(
            function(np.repeat(old, a), np.repeat(new, b))
        )


def test_without_any_change_the_index_has_its_expected_value():
    rng = np.random.default_rng(0)
    unit = 1 / 1500 + 1 / 500
    found = [monitoring.stability_table(rng.random(1500), rng.random(500)) for _ in range(300)]
    assert found[0].expected == approx(9 * unit)
    assert found[0].p_value == approx(chi2(9).sf(found[0].psi / unit))
    assert np.mean([one.psi for one in found]) == pytest.approx(9 * unit, rel=0.1)
    assert np.mean([one.p_value < 0.05 for one in found]) == pytest.approx(0.05, abs=0.04)
    column = rng.integers(0, 3, (50, 1))
    by_column = monitoring.characteristic_stability(column[:30], column[30:])
    table = monitoring.stability_table(column[:30, 0], column[30:, 0], bins=[0, 1])
    assert by_column.p_value == approx(np.array([table.p_value]))
    assert by_column.expected == approx(np.array([table.expected]))


def test_rare_categories_do_not_hide_a_change_of_frequent_ones():
    """Their bins added degrees of freedom, and nothing to the index."""
    shares = 1 / np.arange(1, 201) ** 1.5
    shares /= shares.sum()
    moved = shares + 0.1 * ((np.arange(200) == 1) * 1.0 - (np.arange(200) == 0))
    rng, p_values, no_change = np.random.default_rng(0), [], []
    for _ in range(100):
        then, now, same = (rng.choice(200, 1000, p=one) for one in (shares, moved, shares))
        for current, found in ((now, p_values), (same, no_change)):
            table = monitoring.characteristic_stability(then[:, None], current[:, None])
            found.append(table.p_value[0])
    assert np.mean(np.array(p_values) < 0.05) > 0.9
    assert 0.01 < np.mean(np.array(no_change) < 0.05) < 0.12


def test_bins_of_few_rows_are_tested_together():
    """The index itself is that of all bins."""
    then = np.repeat(np.arange(5), [3, 9, 40, 2, 46])
    now = np.repeat(np.arange(5), [7, 11, 20, 3, 9])
    found = monitoring.stability_table(then, now, bins=[0, 1, 2, 3])
    together = monitoring.stability_table(then, now, bins=[1, 2])
    assert found.p_value == approx(together.p_value)
    assert found.psi > together.psi
    assert found.expected == approx(2 * together.expected)
    unit = 1 / 100 + 1 / 50
    assert together.p_value == approx(chi2(2).sf(together.psi / unit))
    few = monitoring.stability_table([1, 2, 3], [1, 1, 3], bins=[1, 2])
    assert (few.p_value, few.psi > 0) == (1, True)


def test_missing_values_have_a_bin_of_their_own():
    found = monitoring.stability_table([1, 2, 3, np.nan], [1, 2, 3, 3], bins=[2])
    assert found.reference == approx(np.array([0.5, 0.25, 0.25]))
    assert np.isnan(found.low[-1])
    assert np.isnan(found.high[-1])
    assert len(monitoring.stability_table([1, 2], [1, 2], bins=[1]).low) == 2


@pytest.mark.parametrize("bins", [1, 0, 2.5, None, "10", [2, 1], [1, 1], [1, np.nan]])
def test_bins_that_are_none(bins):
    with pytest.raises(ValueError, match="bins"):
        monitoring.population_stability_index([1, 2, 3], [1, 2, 3], bins=bins)


@given(tables(missing=False), tables(missing=False))
def test_characteristics(old, new):
    (a, wa), (b, wb) = old, new
    a, b = (np.where(np.isinf(x), 7, x) for x in (a, b))
    ua, ub = naive.weights(a, wa), naive.weights(b, wb)
    options = {"reference_weight": wa, "sample_weight": wb}
    both = [np.column_stack([x, -x, np.ones(len(x))]) for x in (a, b)]
    found = monitoring.characteristic_stability(*both, **options)
    expected = naive.index(list(a), list(b), ua, ub)
    assert found.csi == approx(np.array([expected, expected, 0.0]))
    shift = np.average(b, weights=wb) - np.average(a, weights=wa)
    assert found.shift == approx(np.array([shift, -shift, 0.0]))
    assert list(found.name) == ["x0", "x1", "x2"]


def test_characteristics_by_bins():
    """Two bins with the same points are two bins by number, one by points."""
    then, now = np.array([[0], [1], [2], [2]]), np.array([[1], [1], [0], [2]])
    points = np.array([3, 3, -1])
    by_bin = monitoring.characteristic_stability(then, now, points=[points], names=["age"])
    by_points = monitoring.characteristic_stability(points[then], points[now], names=["age"])
    assert by_bin.shift == by_points.shift == approx(np.array([1.0]))
    assert by_bin.csi[0] > by_points.csi[0]
    total = points[now].sum(axis=1).mean() - points[then].sum(axis=1).mean()
    assert by_bin.shift.sum() == approx(total)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"current": [[1]]}, "current has 1 variables, but reference has 2 columns"),
        ({"names": ["a"]}, "names has 1 variables"),
        ({"points": [[1]]}, "points has 1 variables"),
        ({"points": [[1, 2], [1, 2]]}, r"x1 has 2 bins, from 0, and values from 1 to 2"),
    ],
)
def test_characteristics_that_do_not_fit(options, message):
    tables = {"reference": [[0, 1], [1, 2]], "current": [[0, 1]], **options}
    with pytest.raises(ValueError, match=message):
        monitoring.characteristic_stability(**tables)


def test_characteristics_of_frames_are_of_the_same_columns():
    """Columns in another order were compared by position."""
    then = pd.DataFrame({"a": [0, 1, 0, 1], "b": [5, 5, 5, 6]})
    assert monitoring.characteristic_stability(then, then).csi.tolist() == [0, 0]
    assert monitoring.characteristic_stability(then, then.to_numpy()).csi.tolist() == [0, 0]
    for one in (then[["b", "a"]], then.rename(columns={"a": "c"})):
        with pytest.raises(ValueError, match=r"same columns in the same order.* \['a', 'b'\] and"):
            monitoring.characteristic_stability(then, one)


# KS -----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:ks_2samp. Exact")  # its p-value, which is not used
@given(one_list(max_rows=12))
def test_ks(problem):
    y = events(problem)
    assert metrics.ks_score(y, problem.f, sample_weight=problem.w) == approx(
        naive.ks(y, problem.f, problem.w)
    )
    sides = [metrics.ks_score(y, sign * problem.f) for sign in (1, -1)]
    assert max(sides) == approx(ks_2samp(problem.f[y > 0], problem.f[y == 0], method="exact")[0])


def test_ks_of_queries():
    y, f = [1, 0, 1, 0, 1, 1], [2, 1, 1, 2, 1, 0]
    found = metrics.ks_score(y, f, qid=list("aabbcc"), average=None)
    assert found == approx(np.array([1, 0, np.nan]))
    assert metrics.ks_score(y, f, qid=list("aabbcc"), empty=1) == approx(2 / 3)


@given(one_list(max_rows=12, weights=("none",)), st.sampled_from([0.5, 0.9, 0.99]))
def test_the_interval_of_ks(problem, confidence):
    y = events(problem)
    found = metrics.ks_interval(y, problem.f, confidence=confidence)
    shares = {1: np.mean(problem.f[y > 0] >= found.cut), 0: np.mean(problem.f[y == 0] >= found.cut)}
    assert found.ks == approx(shares[1] - shares[0])
    # Where all cuts are harmful the distance at the last one, which takes all rows, is 0.
    assert found.ks == approx(metrics.ks_score(y, problem.f))
    ends = {
        c: binomtest(round(shares[c] * (y == c).sum()), int((y == c).sum())).proportion_ci(
            confidence, method="wilson"
        )
        for c in (0, 1)
    }
    down = np.hypot(shares[1] - ends[1].low, ends[0].high - shares[0])
    up = np.hypot(ends[1].high - shares[1], shares[0] - ends[0].low)
    assert (found.low, found.high) == approx((found.ks - down, found.ks + up))
    assert -1 - 1e-12 <= found.low <= found.ks <= found.high <= 1 + 1e-12


def test_the_interval_of_ks_needs_both_classes():
    with pytest.raises(ValueError, match=r"ks_interval needs rows .* Got 2 and 0"):
        metrics.ks_interval([1, 1], [1, 2])


# Gains and calibration ----------------------------------------------------------------


@given(one_list(max_rows=12), st.integers(2, 6), st.booleans())
def test_gains(problem, n_bands, given_bands):
    y, f, w = events(problem), problem.f, problem.w
    limits = [-1.0, 0.0, 0.7] if given_bands else naive.cuts(f, naive.weights(y, w), n_bands)
    found = monitoring.gains_table(y, f, bands=limits if given_bands else n_bands, sample_weight=w)
    expected = naive.gains(y, f, w, limits)
    for name, column in found.to_dict().items():
        assert column == approx(np.array([line[name] for line in expected])), name
    assert found.ks.max() <= metrics.ks_score(y, f, sample_weight=w) + 1e-12
    assert found.rate_of_all == approx(np.average(y, weights=w))


@given(one_list(max_rows=12), st.sampled_from([0.5, 0.95]))
def test_calibration(problem, confidence):
    y, w = events(problem), problem.w
    probability = (problem.f + 4) / 8
    found = monitoring.calibration_table(
        y, probability, bands=[0.3, 0.5, 0.6], sample_weight=w, confidence=confidence
    )
    expected = naive.gains(y, probability, w, [0.3, 0.5, 0.6])[::-1]
    for name in ("low", "high", "count", "events"):
        assert getattr(found, name) == approx(np.array([line[name] for line in expected]))
    assert found.observed == approx(np.array([line["rate"] for line in expected]))
    weight = np.ones(len(y)) if w is None else w
    assert np.nansum(found.predicted * found.count) == approx(weight @ probability)
    for n, k, low, high in zip(
        found.count, found.events, found.observed_low, found.observed_high, strict=True
    ):
        if n == 0:
            assert np.isnan([low, high]).all()
        elif n == round(n) and k == round(k):
            interval = binomtest(int(k), int(n)).proportion_ci(confidence, method="wilson")
            assert (low, high) == approx((interval.low, interval.high))


def test_bands_keep_ties_together():
    found = monitoring.gains_table([1, 0, 1, 0, 0], [3, 3, 3, 3, 1], bands=4)
    np.testing.assert_array_equal(found.count, [4, 1])
    alone = monitoring.gains_table([1, 0], [3, 3])
    np.testing.assert_array_equal(alone.count, [2])
    np.testing.assert_array_equal(alone.lift, [1])


@pytest.mark.parametrize("y", [[0, 0], [1, 1]])
def test_gains_of_one_class(y):
    with pytest.raises(ValueError, match=r"gains_table needs rows with an event .* of 2 rows"):
        monitoring.gains_table(y, [1, 2])


def test_calibration_of_what_is_no_probability():
    with pytest.raises(ValueError, match=r"y_prob .* between 0 and 1. Got values from 0.5 to 1.5"):
        monitoring.calibration_table([0, 1], [0.5, 1.5])
    one = monitoring.calibration_table([0, 0], [0.5, 0.5])
    assert (one.observed, one.predicted, len(one.low)) == (0, 0.5, 1)


# Groups -------------------------------------------------------------------------------


@given(one_list(max_rows=12), st.data())
def test_groups(problem, data):
    y, f, w = events(problem), problem.f, problem.w
    size = {"min_size": len(y), "max_size": len(y)}
    g = np.array(data.draw(st.lists(st.sampled_from("abc"), **size)))
    expected = naive.groups(y, f, g, w, 0.5)
    for selected in ("above", "below"):
        found = monitoring.group_report(y, f, g, cut=0.5, selected=selected, sample_weight=w)
        assert list(found.group) == list(expected)
        rates = np.array([one["rows"] for one in expected.values()])
        rates = rates if selected == "above" else 1 - rates
        assert found.selection_rate == approx(rates)
        assert found.reference == found.group[np.argmax(found.selection_rate)]
        assert found.tpr == approx(np.array([one["events"] for one in expected.values()]))
        assert found.fpr == approx(np.array([one["others"] for one in expected.values()]))
        if rates.max() > 0:
            assert found.impact_ratio == approx(rates / rates.max())
    weight = np.ones(len(y)) if w is None else w
    count, positive = ([one[g == name].sum() for name in expected] for one in (weight, weight * y))
    assert found.count == approx(np.array(count))
    assert found.events == approx(np.array(positive))
    assert found.rate == approx(np.divide(positive, count))
    for name, auc, low, high in zip(
        found.group, found.auc, found.auc_low, found.auc_high, strict=True
    ):
        own = (g == name) & (weight > 0)
        if len(set(y[own])) == 1:
            assert np.isnan([auc, low, high]).all()
            continue
        assert auc == approx(oracles.auc(f[own], y[own], None, weight[own]))
        if (weight[own] == 1).all() and min(y[own].sum(), (1 - y[own]).sum()) > 1:
            interval = metrics.auc_interval(y[own], f[own])
            if interval.low == interval.high:
                assert np.isnan([low, high]).all()
            else:
                assert (low, high) == (interval.low, interval.high)
        else:
            assert np.isnan([low, high]).all()


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_the_interval_of_the_impact_ratio(confidence):
    g = np.repeat(["a", "b", "c", "d"], [30, 20, 10, 5])
    f = np.concatenate([np.arange(n) < k for n, k in ((30, 20), (20, 9), (10, 10), (5, 0))])
    y = np.arange(len(g)) % 2
    found = monitoring.group_report(y, f, g, cut=0.5, reference="a", confidence=confidence)
    for place, (n, k) in {1: (20, 9), 2: (10, 10)}.items():
        expected = relative_risk(k, n, 20, 30)
        assert found.impact_ratio[place] == approx(expected.relative_risk)
        ends = expected.confidence_interval(confidence)
        assert (found.impact_low[place], found.impact_high[place]) == approx((ends.low, ends.high))
    for place, value in ((0, 1), (3, 0)):  # the reference, and a group without anybody selected
        assert found.impact_ratio[place] == value
        assert np.isnan([found.impact_low[place], found.impact_high[place]]).all()


@pytest.mark.parametrize("n_groups", [2, 5])
def test_the_group_with_the_highest_rate_is_not_taken_as_given(n_groups):
    """Equal groups were found at a disadvantage far more often than the confidence says."""
    rng, g = np.random.default_rng(0), np.repeat(np.arange(n_groups), 200)
    n_found = 0
    for _ in range(100):
        f = rng.random(len(g)) < 0.5
        found = monitoring.group_report(f, f, g, cut=0.5)
        n_found += (found.impact_high < 1).any()
    assert n_found <= 10
    given = monitoring.group_report(f, f, g, cut=0.5, reference=found.reference)
    level = 1 - 0.05 / (n_groups * (n_groups - 1) / 2)
    wide = monitoring.group_report(f, f, g, cut=0.5, reference=found.reference, confidence=level)
    assert found.impact_low == approx(wide.impact_low)
    assert found.impact_high == approx(wide.impact_high)
    assert (found.impact_ratio == given.impact_ratio).all()


def test_the_interval_is_unknown_where_all_rows_of_both_groups_are_selected():
    found = monitoring.group_report([0, 1] * 4, [1] * 7 + [-1], list("aaabbbcc"), reference="a")
    assert found.impact_ratio == approx(np.array([1.0, 1.0, 0.5]))
    assert np.isnan([*found.impact_low[:2], *found.impact_high[:2]]).all()
    assert found.impact_low[2] < 0.5 < found.impact_high[2]


def test_the_group_to_compare_with():
    y, f, g = [0, 1, 0, 1], [1, 2, -1, 2], [7, 7, 8, 8]
    found = monitoring.group_report(y, f, g, reference=8)
    assert found.impact_ratio == approx(np.array([2.0, 1.0]))
    assert found.reference == 8
    with pytest.raises(ValueError, match=r"'reference' .* one of the groups, \[7, 8\]. Got 9"):
        monitoring.group_report(y, f, g, reference=9)
    of_objects = monitoring.group_report(y, f, np.array(["a", "a", "b", "b"], dtype=object))
    assert of_objects.reference == "a"
    nobody = monitoring.group_report(y, f, g, cut=5)
    assert np.isnan(nobody.impact_ratio).all()


def test_the_interval_is_unknown_where_nobody_of_the_reference_is_selected():
    found = monitoring.group_report([0, 1, 0, 1], [1, 2, 3, 4], list("aabb"), cut=2, reference="a")
    assert np.isnan(found.impact_ratio[0]) and found.impact_ratio[1] == np.inf
    assert np.isnan([*found.impact_low, *found.impact_high]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cut": np.inf}, "'cut' parameter of group_report"),
        ({"cut": "0"}, "'cut' parameter of group_report"),
        ({"selected": "high"}, r"'selected' parameter .* one of 'above', 'below'"),
        ({"confidence": 1}, "'confidence' parameter of group_report"),
    ],
)
def test_options_of_groups(options, message):
    with pytest.raises(ValueError, match=message):
        monitoring.group_report([0, 1], [1, 2], [1, 1], **options)


# Frames -------------------------------------------------------------------------------

TABLES = {
    "gains": monitoring.gains_table([0, 1, 1], [1, 2, 3], bands=2),
    "calibration": monitoring.calibration_table([0, 1, 1], [0.1, 0.2, 0.3], bands=2),
    "stability": monitoring.stability_table([1, 2, 3], [1, 2, 3], bins=2),
    "characteristic": monitoring.characteristic_stability([[1], [2]], [[1], [2]]),
    "group": monitoring.group_report([0, 1, 1], [1, 2, 3], list("aab")),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_a_frame(name, monkeypatch):
    table = TABLES[name]
    frame = table.to_frame()
    assert list(frame.columns) == list(table.to_dict())
    for column, values in table.to_dict().items():
        np.testing.assert_array_equal(frame[column], values)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=rf"{type(table).__name__}\.to_frame, .* needs pandas"):
        table.to_frame()


def test_weights_from_the_least_to_the_largest():
    """Quotients of such weights overflow and shares underflow: no warning, and finite figures."""
    y, f = np.tile([0, 1, 1], 8), np.arange(24) * 7 % 24 / 24
    table = monitoring.calibration_table(y, f, bands=3, sample_weight=np.full(24, 1e-300))
    assert (table.observed_low < table.observed).all()
    assert (table.observed < table.observed_high).all()
    light_first = {"max_fpr": 0.3, "sample_weight": [1e-162, 1.0, 1e160]}
    assert metrics.tpr_at_fpr_score([0, 1, 0], [3, 2, 1], **light_first) == 1
    bins, heavy = np.tile([[1], [2], [3]], (8, 1)), np.where(np.arange(24) == 11, 1e300, 1e-300)
    found = monitoring.characteristic_stability(bins, bins, reference_weight=heavy)
    assert np.isfinite(found.csi).all()


def test_points_whose_means_are_not_finite_are_refused():
    table = np.zeros((3, 2))
    table[1, 0] = -2e300
    for tables in ((table, np.zeros((3, 2))), (np.zeros((3, 2)), table)):
        with pytest.raises(ValueError, match=r"between -1e\+300 and 1e\+300.*Got -2e\+300"):
            monitoring.characteristic_stability(*tables)


def test_a_last_bin_of_just_enough_rows_stands_alone():
    for least, n_bins in ((_MIN_EXPECTED, 2), (_MIN_EXPECTED - 0.5, 1)):
        counts = np.array([_MIN_EXPECTED, least])
        assert _in_bins_of_enough(counts, counts).shape == (2, n_bins)
