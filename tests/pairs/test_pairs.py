"""Pairs of features as weak rankers: their bins, the search for them, and the models they make."""

import pickle
from itertools import combinations

import numpy as np
import pytest
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import pairs as oracles

from sklearn_rank import PNormPushRanker, RankBoost, SmoothMarginRanker
from sklearn_rank.models import FeatureBins, PairBins, Stumps
from sklearn_rank.models.cell_groups import group_cells
from sklearn_rank.models.grid_cuts import GridGain, MonotoneAxes, best_cuts, equal_cuts
from sklearn_rank.models.pair_search import Places

pytestmark = pytest.mark.filterwarnings("ignore:.*smooth margin stayed")
SMALL = {"loss": "logistic", "solver": "corrective", "p": 1.0, "n_estimators": 8}
BOOSTERS = [
    PNormPushRanker(**SMALL),
    PNormPushRanker(solver="corrective", n_estimators=8),
    PNormPushRanker(n_estimators=20),
    PNormPushRanker(loss="logistic", n_estimators=20),
    RankBoost(n_estimators=20),
    SmoothMarginRanker(n_estimators=20),
]
SIGNS = st.tuples(st.sampled_from([-1, 0, 1]), st.sampled_from([-1, 0, 1]))
every_booster = pytest.mark.parametrize("ranker", BOOSTERS, ids=repr)


def checkerboard(n=600, seed=0, n_features=4):
    """Rows whose class is told by two features together, by none of them alone."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    y = (rng.random(n) < np.where(X[:, 1] * X[:, 2] > 0, 0.9, 0.1)).astype(int)
    return X, y


def with_pairs(ranker, max_pairs=1, **constraints):
    ranker = type(ranker)(**ranker.get_params())
    return ranker.set_params(weak_ranker=Stumps(max_pairs=max_pairs, **constraints))


# Bins ------------------------------------------------------------------------------------


@given(st.integers(0, 3), st.integers(0, 3), st.booleans(), st.integers(0, 10**6))
def test_the_bin_of_a_row_is_that_of_its_cell(n_first, n_second, has_code, seed):
    rng = np.random.default_rng(seed)
    first = FeatureBins(np.arange(n_first, dtype=float), np.array([-9.0] * has_code))
    second = FeatureBins(categories=rng.permutation(n_second + 1))
    n_cells = first.n_bins * second.n_bins
    bins = PairBins(first, second, (2, 0), rng.integers(-1, 3, n_cells))
    X = rng.choice([-9.0, -1.0, 0.5, 1.0, 9.0, np.nan], size=(20, 3))
    assert bins.of_rows(X, 7).tolist() == oracles.bins_of_rows(bins, X)
    assert bins.equal(pickle.loads(pickle.dumps(bins)))


# The search ------------------------------------------------------------------------------


@given(st.integers(2, 7), st.integers(1, 3), st.integers(1, 4), st.integers(0, 10**6))
def test_the_cuts_are_the_best_of_all(n_places, n_groups, most, seed):
    rng = np.random.default_rng(seed)
    sums = np.stack([rng.normal(size=(n_places, n_groups)), rng.random((n_places, n_groups))])
    weight = rng.integers(1, 5, n_places).astype(float)
    side = (n_places, weight)
    gain = GridGain([side, side], least=2.0, ridge=0.1, noise=float(rng.random()))
    found = best_cuts(sums, gain, side, most)
    best = oracles.best_cut_gain(sums, weight, most, gain)
    assert best is None or oracles.gain_of_cuts(sums, found, gain) == pytest.approx(best)
    assert best is not None or len(found) == 0


@given(st.integers(0, 9), st.integers(1, 5), st.integers(0, 10**6))
def test_equal_cuts_divide_the_weight_at_its_quantiles(n_values, most, seed):
    weight = np.random.default_rng(seed).integers(1, 9, n_values + 2).astype(float)
    total = weight[:n_values].sum()
    expected = {
        next(k + 1 for k in range(n_values) if weight[: k + 1].sum() >= total * j / most)
        for j in range(1, most if n_values else 1)
    }
    assert equal_cuts(n_values, weight, most).tolist() == sorted(expected - {n_values})


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2), st.integers(0, 10**6))
def test_groups_of_cells_are_large_enough_and_keep_missing_values_apart(rows, columns, more, seed):
    rng = np.random.default_rng(seed)
    shape = rows + more, columns + more
    sizes = rng.integers(0, 9, (2, shape[0] * shape[1])).astype(float)
    sums = np.stack([rng.normal(size=sizes.shape[1]), sizes[0]])
    group = group_cells(sizes, sums, shape, (rows, columns), lambda sums: sums[0] >= 5)
    weight = np.bincount(group[group >= 0], sizes[0][group >= 0], group.max(initial=-1) + 1)
    assert (weight >= 5).all()
    kind = oracles.kinds_of_cells(shape, (rows, columns))
    for number in range(len(weight)):
        assert len({kind[cell] for cell in np.flatnonzero(group == number)}) == 1


@given(st.integers(0, 6), st.integers(0, 3), st.integers(1, 9), st.integers(0, 10**6))
def test_bins_without_an_order_have_places_of_their_own(n_values, n_others, most, seed):
    """The others share places in their order, which come before."""
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 4, n_values + n_others).astype(float)
    order = rng.permutation(n_values)
    places = Places.divided(order, weight, n_values, most)
    in_order = places.of_bin[order]
    assert (np.diff(in_order) >= 0).all()
    assert sorted({*in_order.tolist()}) == list(range(places.n_values))
    assert places.n_values == n_values if n_values <= most else places.n_values <= most
    others = places.of_bin[n_values:].tolist()
    assert others == list(range(places.n_values, places.n_places)) and len(others) == n_others


def test_lines_of_a_grid_hold_two_hundredths_of_the_rows():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 100, (3000, 2)).astype(float)
    y = (X[:, 0] >= 99) & (X[:, 1] >= 50) | (rng.random(3000) < 0.3)  # a hundredth of the rows
    ranker = with_pairs(BOOSTERS[0], 1, max_thresholds=1).fit(X, y)
    (pair,) = ranker.pair_functions_
    for axis, j in zip((pair.bins.first, pair.bins.second), pair.features, strict=True):
        sizes = np.bincount(axis(X[:, j]), minlength=axis.n_bins)[: axis.n_values]
        assert sizes.min() >= 0.02 * len(X)


@pytest.mark.parametrize("ranker", BOOSTERS[:3], ids=repr)
def test_the_pair_found_is_the_one_that_tells(ranker):
    X, y = checkerboard()
    fitted = with_pairs(ranker).fit(X, y)
    (pair,) = fitted.pair_functions_
    assert pair.features == [1, 2]
    plain = type(ranker)(**ranker.get_params()).fit(X, y)
    X, y = checkerboard(seed=1)
    assert fitted.score(X, y) > plain.score(X, y) + 0.2


def test_the_gain_is_that_of_all_pairs():
    X, y = checkerboard(300, n_features=5)
    ranker = with_pairs(PNormPushRanker(**SMALL), max_thresholds=1, max_bins=4).fit(X, y)
    (pair,) = ranker.pair_functions_
    codes = [np.searchsorted(np.quantile(x, [0.25, 0.5, 0.75]), x) for x in X.T]
    gains = {
        (a, b): oracles.table_gain(codes[a], codes[b], y) for a, b in combinations(range(5), 2)
    }
    assert tuple(pair.features) == max(gains, key=gains.get)


@pytest.mark.parametrize("ranker", [BOOSTERS[0], BOOSTERS[2]], ids=repr)
def test_the_order_of_two_features_does_not_matter(ranker):
    """Not that of the axes of a pair, either, though one has fewer bins and a code."""
    X, y = mixed()
    X = X[:, [1, 2]]
    X[:, 0] = np.sign(X[:, 0])
    grids = []
    for columns, code in (([0, 1], 1), ([1, 0], 0)):
        fitted = with_pairs(ranker, special_values={code: [-99.0]}).fit(X[:, columns], y)
        (pair,) = fitted.pair_functions_
        grids.append(pair.grid)
    assert grids[0].shape[0] != grids[0].shape[1]
    np.testing.assert_allclose(grids[0], grids[1].T, rtol=1e-7, atol=1e-9)


def test_noise_has_no_pair():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    found = [
        len(with_pairs(PNormPushRanker(**SMALL)).fit(X, rng.permutation(y)).pair_functions_)
        for _ in range(5)
    ]
    assert sum(found) <= 2


# Models ----------------------------------------------------------------------------------


def mixed(n=500, seed=0):
    """Rows with missing values, a special code and a category, and two of which only pairs tell."""
    rng = np.random.default_rng(seed)
    X, y = checkerboard(n, seed)
    X[:, 3] = rng.integers(0, 5, n)
    X[rng.random(n) < 0.1, 1] = np.nan
    X[rng.random(n) < 0.1, 2] = -99.0
    return X, y


OF_MIXED = {"special_values": {2: [-99.0]}, "categorical_features": [3]}


@every_booster
def test_a_model_is_a_sum_of_tables(ranker):
    X, y = mixed()
    fitted = with_pairs(ranker, 3, **OF_MIXED).fit(X, y)
    assert fitted.pair_functions_
    scores = fitted.decision_function(X) - fitted.offset_
    np.testing.assert_allclose(scores, oracles.sum_of_tables(fitted, fitted.check_rows(X)))
    one_by_one = [fitted.decision_function(X[[row]])[0] for row in range(20)]
    np.testing.assert_array_equal(fitted.decision_function(X)[:20], one_by_one)
    for pair in fitted.pair_functions_:
        assert max(pair.bins.first.n_values, pair.bins.second.n_values) <= 4


def test_rules_of_pairs_have_no_threshold():
    rules = with_pairs(BOOSTERS[4], 3, **OF_MIXED).fit(*mixed()).weak_rankers_
    is_pair = np.isin(rules.feature, [*rules.pairs])
    assert is_pair.any() and np.isnan(rules.threshold[is_pair]).all()
    assert not np.isnan(rules.threshold[~is_pair & (rules.subset < 0)]).any()


@every_booster
def test_contributions_and_importances_sum_up(ranker):
    X, y = mixed()
    fitted = with_pairs(ranker, 2, **OF_MIXED).fit(X, y)
    parts, scores = fitted.contributions(X), fitted.decision_function(X)
    np.testing.assert_allclose(parts.sum(axis=1), scores, atol=1e-10)
    np.testing.assert_allclose(parts[:, :-1].mean(axis=0), 0, atol=1e-10)
    assert fitted.feature_importances_.shape == (4,)
    assert fitted.feature_importances_.sum() == pytest.approx(1)


@every_booster
def test_weights_are_repetitions(ranker):
    X, y = mixed(200)
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    pair = with_pairs(ranker, 2, **OF_MIXED)
    one = pair.fit(X, y, sample_weight=weight).decision_function(X)
    again = with_pairs(ranker, 2, **OF_MIXED).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    np.testing.assert_allclose(one, again.decision_function(X), rtol=1e-6, atol=1e-8)


@every_booster
def test_a_stored_model_scores_the_same(ranker):
    X, y = mixed(200)
    fitted = with_pairs(ranker, 2, **OF_MIXED).fit(X, y)
    data = skops.io.dumps(fitted)
    skopsed = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    for other in (pickle.loads(pickle.dumps(fitted)), skopsed):
        np.testing.assert_array_equal(fitted.decision_function(X), other.decision_function(X))


@pytest.mark.parametrize("ranker", BOOSTERS[2:], ids=repr)
def test_the_last_stage_is_the_model(ranker):
    X, y = mixed()
    fitted = with_pairs(ranker, 2, **OF_MIXED).fit(X, y)
    *_, last = fitted.staged_decision_function(X)
    np.testing.assert_allclose(last, fitted.decision_function(X), atol=1e-10)


@pytest.mark.parametrize("ranker", [BOOSTERS[0], BOOSTERS[2]], ids=repr)
def test_queries_and_grades(ranker):
    X, y = checkerboard(400)
    qid = np.arange(400) // 8
    fitted = with_pairs(ranker).set_params(relevance="graded").fit(X, y * 2, qid=qid)
    assert [pair.features for pair in fitted.pair_functions_] == [[1, 2]]


@pytest.mark.parametrize("ranker", [BOOSTERS[0], BOOSTERS[2], BOOSTERS[4]], ids=repr)
def test_a_warm_start_keeps_its_pairs(ranker):
    X, y = mixed()
    fitted = with_pairs(ranker, 1, **OF_MIXED).set_params(n_estimators=10, warm_start=True)
    pair = fitted.fit(X, y).pair_functions_[0]
    before = fitted.objective_curve_[-1]
    fitted.set_params(n_estimators=14).fit(X, y)
    assert fitted.pair_functions_[0].features == pair.features
    assert fitted.objective_curve_[-1] <= before


def test_early_stopping_and_validation_rows():
    X, y = checkerboard()
    ranker = with_pairs(RankBoost(n_estimators=20, n_iter_no_change=20, random_state=0))
    assert ranker.fit(X, y).pair_functions_
    assert with_pairs(RankBoost(n_estimators=20)).fit(X, y, X_val=X, y_val=y).pair_functions_


# Bounds ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ranker", BOOSTERS[:4], ids=repr)
@pytest.mark.parametrize("most", [1, 2, 5])
def test_a_pair_counts_as_one_term(ranker, most):
    X, y = mixed()
    y = y | (X[:, 0] > 1)
    fitted = with_pairs(ranker, 2, max_thresholds=most, **OF_MIXED).fit(X, y)
    singles = oracles.number_of_single_rules(fitted)
    assert singles + len(fitted.pair_functions_) <= most
    assert len(fitted.pair_functions_) == 0 or most >= 1


@pytest.mark.parametrize("ranker", BOOSTERS[:4], ids=repr)
def test_a_pair_uses_two_features(ranker):
    X, y = mixed()
    for most in (1, 2, 3):
        fitted = with_pairs(ranker, 2, max_features_used=most, **OF_MIXED).fit(X, y)
        used = {step.feature for step in fitted.step_functions_}
        used |= {j for pair in fitted.pair_functions_ for j in pair.features}
        assert len(used) <= most


@pytest.mark.parametrize("ranker", BOOSTERS[:4], ids=repr)
def test_cells_are_not_small(ranker):
    X, y = mixed()
    constraints = {"min_bin_size": 0.1, "min_bin_events": 10, **OF_MIXED}
    fitted = with_pairs(ranker, 2, **constraints).fit(X, y)
    assert fitted.pair_functions_
    for number, bins in fitted.weak_rankers_.pairs.items():
        codes = bins.of_rows(X, number)
        for one in range(bins.n_values):
            assert (codes == one).mean() >= 0.1
            assert y[codes == one].sum() >= 10


def test_cells_have_a_hundredth_of_the_rows():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (2000, 2)).astype(float)
    y = rng.random(2000) < np.where((X[:, 0] >= 2) == (X[:, 1] >= 2), 0.8, 0.2)
    X[rng.random(X.shape) < 0.05] = np.nan
    y |= np.isnan(X).all(axis=1)  # few rows, which would be worth a cell
    fitted = with_pairs(BOOSTERS[0], 2).fit(X, y)
    ((number, bins),) = fitted.weak_rankers_.pairs.items()
    sizes = np.bincount(bins.of_rows(X, number))[: bins.n_values] / len(X)
    assert 0.01 <= sizes.min() < 0.05


def monotone_together(n=400, seed=0):
    """Rows whose class rises with two features, the second only where the first is high."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(2)
    chance = np.where((X[:, 1] > 0) & (X[:, 2] > 0.2), 0.9, np.where(X[:, 1] > 1, 0.6, 0.2))
    y = (rng.random(n) < chance).astype(int)
    X[:, 3] = rng.integers(0, 4, n)
    X[rng.random(n) < 0.1, 1] = np.nan
    X[rng.random(n) < 0.1, 2] = -99.0
    return X, y


def rises(scores_of, X, j, sign, special=()):
    """Whether no score falls (sign 1) or rises (-1) as one feature grows, to the last bit."""
    ends = np.unique(X[:, j][~np.isnan(X[:, j])])
    ends = ends[~np.isin(ends, special)]
    moved = np.repeat(X[np.newaxis, :25], len(ends) + 1, axis=0)
    moved[:, :, j] = np.append(ends, ends[-1] + 1)[:, np.newaxis]
    scores = scores_of(moved.reshape(-1, X.shape[1])).reshape(len(moved), -1)
    return bool((sign * np.diff(scores, axis=0) >= 0).all())


@every_booster
@settings(max_examples=8)
@given(st.integers(0, 10**6), st.sampled_from([(1, 0), (0, -1), (1, 1), (-1, 1)]))
def test_scores_are_monotone_whatever_the_other_features(ranker, seed, signs):
    X, y = monotone_together(300, seed)
    fitted = with_pairs(ranker, 3, monotonic_cst=[0, *signs, 0], **OF_MIXED).fit(X, y)
    for pair in fitted.pair_functions_:
        order = oracles.cells_below(
            pair.bins.shape,
            (pair.bins.first.n_values, pair.bins.second.n_values),
            tuple([0, *signs, 0][j] for j in pair.features),
        )
        values = pair.grid.ravel()
        assert (values[:, np.newaxis] <= values)[order].all()
    for j, sign in zip((1, 2), signs, strict=True):
        assert not sign or rises(fitted.decision_function, X, j, sign, [-99.0])


@pytest.mark.parametrize("ranker", [BOOSTERS[0], BOOSTERS[3], BOOSTERS[4]], ids=repr)
@pytest.mark.parametrize("signs", [[0, 1, 1, 0], [0, 0, 1, 0]])
def test_a_constrained_pair_is_found_and_helps(ranker, signs):
    X, y = monotone_together(2000)
    test, y_test = monotone_together(2000, seed=1)
    longer = with_pairs(ranker, 0, monotonic_cst=signs, **OF_MIXED).set_params(n_estimators=30)
    plain = longer.fit(X, y).score(test, y_test)
    longer.set_params(weak_ranker__max_pairs=1).fit(X, y)
    assert [pair.features for pair in longer.pair_functions_] == [[1, 2]]
    assert longer.score(test, y_test) > plain + 0.005
    against = with_pairs(ranker, 1, monotonic_cst=[0, -1, -1, 0], **OF_MIXED).fit(X, y)
    assert [1, 2] not in [pair.features for pair in against.pair_functions_]


@given(st.integers(1, 2), st.integers(0, 1), SIGNS, st.integers(0, 10**6))
def test_the_gain_within_constraints_is_that_of_the_projection(n_values, more, signs, seed):
    rng = np.random.default_rng(seed)
    n_places = n_values + more
    sums = np.stack([rng.normal(size=(n_places, n_places)), rng.random((n_places, n_places))])
    side = (n_values, np.ones(n_places))
    levels = np.sort(rng.random(n_places)), np.sort(rng.random(n_places))
    limits = MonotoneAxes(signs, levels)
    gain = GridGain([side, side], 0.0, ridge=0.1, noise=0.2, limits=limits)
    cuts = [np.arange(1, n_values)] * 2
    expected = oracles.monotone_gain(sums, (n_values, n_values), gain)
    assert gain.monotone(sums, cuts) == pytest.approx(expected, abs=1e-6)
    assert gain.monotone(sums, cuts) <= gain(sums, cuts) + 1e-9


@pytest.mark.parametrize("solver", ["corrective", "coordinate"])
def test_bags_and_warm_starts_of_constrained_pairs_are_monotone(solver):
    X, y = monotone_together(1000)
    options = {"monotonic_cst": [0, 1, 1, 0], "max_thresholds": 6, **OF_MIXED}
    base = PNormPushRanker(loss="logistic", solver=solver, n_estimators=8)
    bagged = with_pairs(base.set_params(n_bags=3), 1, **options).fit(X, y)
    further = with_pairs(base.set_params(n_bags=1, warm_start=True), 1, **options).fit(X, y)
    further.set_params(n_estimators=12).fit(X, y)
    for fitted in (bagged, further):
        assert fitted.pair_functions_
        assert rises(fitted.decision_function, X, 1, 1)
        assert rises(fitted.decision_function, X, 2, 1, [-99.0])


@pytest.mark.parametrize("solver", ["corrective", "coordinate"])
@pytest.mark.parametrize("most", [None, 6])
def test_bags_share_their_pairs(solver, most):
    X, y = checkerboard()
    ranker = PNormPushRanker(loss="logistic", solver=solver, n_bags=3, n_estimators=8)
    fitted = with_pairs(ranker, 1, max_thresholds=most).fit(X, y)
    assert [pair.features for pair in fitted.pair_functions_] == [[1, 2]]
    scores = fitted.decision_function(X) - fitted.offset_
    np.testing.assert_allclose(scores, oracles.sum_of_tables(fitted, X), atol=1e-10)


def test_other_solvers_refuse_pairs():
    X, y = checkerboard(50)
    with pytest.raises(ValueError, match=r"max_pairs of Stumps .* solver='lbfgs'"):
        with_pairs(PNormPushRanker(solver="lbfgs", loss="logistic")).fit(X, y)
    with pytest.raises(ValueError, match="max_pairs"):
        with_pairs(RankBoost(), -1).fit(X, y)
