"""Clicks: weights, rows, propensities and the simulator."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import clicks as oracles
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression

from sklearn_rank import RankBoost
from sklearn_rank.clicks import PositionPropensity, click_pairs, click_weights, make_clicks
from sklearn_rank.clicks._harvesting import all_pairs, pair_counts
from sklearn_rank.datasets import make_queries
from sklearn_rank.objectives import pair_loss_and_gradient

PROPENSITY = [1.0, 0.7, 0.4, 0.2]
INVERSE = 1 / np.arange(1, 11)


@st.composite
def logs(draw):
    """Impressions of two to four rows, with as many clicks as there are, and scores."""
    lists = draw(st.lists(st.lists(st.booleans(), min_size=2, max_size=4), min_size=1, max_size=4))
    clicks = [clicked for one in lists for clicked in one]
    impression = [number for number, one in enumerate(lists) for _ in one]
    position = [place + 1 for one in lists for place in range(len(one))]
    scores = draw(
        st.lists(st.floats(-3, 3), min_size=len(clicks), max_size=len(clicks)).map(np.array)
    )
    order = draw(st.permutations(range(len(clicks))))
    return [np.array(one)[order] for one in (clicks, position, impression, scores)]


@given(logs(), st.integers(0, 3))
def test_pairs_of_a_log_give_the_sum_of_the_paper(log, n_repeated):
    clicks, position, impression, _ = log
    scores = np.linspace(-1, 1, 4) ** 3
    row = position - 1  # the same four rows in all impressions
    again = np.concatenate([np.arange(len(clicks)), np.flatnonzero(impression < n_repeated)])
    several = np.where(np.arange(len(again)) < len(clicks), 0, 100) + impression[again]
    columns = clicks[again], position[again], row[again], several
    try:
        found = click_pairs(*columns, PROPENSITY, pool="click")
    except ValueError as error:
        assert "no click in a list" in str(error) and not clicks.any()
        return
    assert len(np.unique(found.pairs, axis=0)) == len(found.pairs) and (found.weight > 0).all()
    margin = scores[found.pairs[:, 0]] - scores[found.pairs[:, 1]]
    expected = oracles.unbiased_loss(
        columns[0], columns[1], several, scores[row[again]], PROPENSITY
    )
    assert found.weight @ np.logaddexp(0, -margin) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("clip", [None, 0.5])
def test_pairs_pooled_by_item_are_those_of_the_definition(clip):
    rng = np.random.default_rng(0)
    impression = np.repeat(np.arange(60), 3)
    row = np.concatenate([rng.permutation(4)[:3] for _ in range(60)]) + 10
    position, clicks = np.tile([1, 2, 4], 60), rng.integers(0, 2, 180)
    found = click_pairs(clicks, position, row, impression, PROPENSITY, clip=clip)
    log = list(zip(impression, row, position, clicks, strict=True))
    expected = oracles.pooled_pairs(log, PROPENSITY, clip or 0.0)
    assert {tuple(pair) for pair in found.pairs.tolist()} == set(expected)
    for pair, weight in zip(found.pairs.tolist(), found.weight, strict=True):
        assert weight == pytest.approx(expected[tuple(pair)], rel=1e-12)


def test_pooled_pairs_have_the_mean_of_the_paper_and_less_variance():
    y, qid = np.array([2, 1, 0, 0, 1]), np.zeros(5)
    scores = np.array([[5.0, 4, 3, 2, 1], [1.0, 2, 3, 4, 5]])
    found = {"click": [], "item": []}
    for seed in range(200):
        log = make_clicks(y, scores, qid, n_impressions=200, n_shown=5, random_state=seed)
        columns = log.click, log.position, log.row, log.impression
        for pool, weights in found.items():
            pairs = click_pairs(*columns, INVERSE, pool=pool)
            weights.append(pairs.weight[(pairs.pairs == (0, 4)).all(axis=1)].sum())
    expected = 200 * log.attraction[0]
    for weights in found.values():
        assert abs(np.mean(weights) - expected) < 4 * np.std(weights) / np.sqrt(200)
    assert np.std(found["item"]) < 0.9 * np.std(found["click"])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"row": [0, 0]}, "must show each row once"),
        ({"row": [0, -1]}, "row of click_pairs must hold whole numbers from 0.*Got -1"),
        ({"row": [0, 0.5]}, "row of click_pairs must hold whole numbers from 0.*Got 0.5"),
        ({"clicks": [0, 0]}, "no click in a list with another row"),
        ({"impression": [0, 1]}, "no click in a list with another row"),
        ({"position": [0, 1]}, "position of click_pairs must hold a whole number"),
        ({"clicks": [2, 0]}, "clicks of click_pairs must be 0 or 1"),
        ({"pool": "query"}, "'pool' parameter of click_pairs"),
        ({"clip": 0.0}, "'clip' parameter of click_pairs"),
    ],
)
def test_what_gives_no_pairs_is_refused(changed, message):
    given = {"clicks": [1, 0], "position": [1, 2], "row": [0, 1], "impression": [0, 0]}
    with pytest.raises(ValueError, match=message):
        click_pairs(**{**given, "propensity": PROPENSITY, **changed})


def test_a_pair_of_rows_has_the_weight_of_the_paper():
    """Where each list has one click, the loss of weighted rows is the sum of the paper."""
    clicks, position = np.tile([0, 1, 0, 0], 3), np.array([1, 2, 3, 4, 2, 1, 4, 3, 4, 3, 2, 1])
    impression, scores = np.repeat([0, 1, 2], 4), np.linspace(-1, 1, 12) ** 3
    weight = click_weights(clicks, position, PROPENSITY)
    assert weight.tolist() == [1, 1 / 0.7, 1, 1, 1, 1, 1, 1, 1, 2.5, 1, 1]
    found = pair_loss_and_gradient(
        clicks, scores, loss="logistic", qid=impression, sample_weight=weight
    )[0]
    expected = oracles.unbiased_loss(clicks, position, impression, scores, PROPENSITY)
    assert found == pytest.approx(expected, rel=1e-10)
    assert click_weights(clicks, position, PROPENSITY, clip=0.5).max() == 2


@pytest.mark.parametrize(
    ("clicks", "position", "propensity", "message"),
    [
        ([2, 0], [1, 2], [1, 0.5], "clicks of click_weights must be 0 or 1"),
        ([-1, 0], [1, 2], [1, 0.5], "clicks of click_weights must be 0 or 1"),
        ([1, 0], None, [1, 0.5], "click_weights requires row positions, counted from 1"),
        ([1, 0], [0, 1], [1, 0.5], "position of click_weights must hold a whole number"),
        ([1, 0], [1.5, 1], [1, 0.5], "position of click_weights must hold a whole number"),
        ([1, 0], [np.nan, 1], [1, 0.5], "position of click_weights must hold a whole number"),
        ([1, 0], [1, 3], [1, 0.5], r"one dimension and 3 numbers.*Got shape \(2,\)"),
        ([1, 0], [1, 2], [1, 0], "above 0 and at most 1. Got 0"),
        ([1, 0], [1, 2], [1.5, 1], "at most 1. Got 1.5"),
        ([1, 0], [1, 2], [[1, 1]], "must have one dimension"),
        ([1, 0], [1, 2, 3], [1, 1, 1], "for each of the 2 rows. Got 3 places"),
    ],
)
def test_what_is_no_click_log_is_refused(clicks, position, propensity, message):
    with pytest.raises(ValueError, match=message):
        click_weights(clicks, position, propensity)


def small_log(seed, n=400, n_positions=3, n_groups=5):
    rng = np.random.default_rng(seed)
    group, place = rng.integers(n_groups, size=n), rng.integers(n_positions, size=n)
    rate = np.array([0.9, 0.6, 0.4])[place] * np.linspace(0.2, 0.9, n_groups)[group]
    return rng.random(n) < rate, place, group


def lowest(loss, start, **options):
    """Return where a loss is least, by a search that needs no derivative."""
    limits = {"maxiter": 50_000, "maxfev": 50_000, "xatol": 1e-9, "fatol": 1e-12, "adaptive": True}
    return minimize(loss, start, method="Nelder-Mead", options={**limits, **options}).x


@pytest.mark.parametrize("seed", range(3))
def test_pairs_of_positions_are_counted_and_their_likelihood_is_largest(seed):
    clicks, place, group = small_log(seed)
    rows = list(zip(group.tolist(), place.tolist(), clicks.tolist(), strict=True))
    shown, clicked = (np.zeros((5, 3)) for _ in range(2))
    np.add.at(shown, (group, place), 1)
    np.add.at(clicked, (group, place), clicks)
    found, expected = pair_counts(shown, clicked), oracles.pair_counts(rows, 3)
    found = [one[0] for one in found]
    np.testing.assert_allclose(found, expected, rtol=1e-12)

    pairs = [(0, 1), (0, 2), (1, 2)]

    def loss(logs):
        theta = [1, *np.exp(logs[:2])]
        gamma = dict(zip(pairs, np.exp(logs[2:]), strict=True))
        if max(theta) * max(gamma.values()) >= 1:
            return 1e9
        return -oracles.pairs_likelihood(theta, gamma, expected[0], np.add(expected[1], 0.5))

    best = lowest(loss, np.full(5, -0.9), adaptive=False)
    np.testing.assert_allclose(all_pairs(*found)[1:], np.exp(best[:2]), rtol=1e-4)


def test_impressions_at_a_position_are_those_of_groups_that_were_also_shown_at_the_other():
    clicks, place, group = small_log(0, n=60)
    kept = (group > 1) | (place > 0)  # groups 0 and 1 never come first
    clicks, place, group = clicks[kept], place[kept], group[kept]
    found = PositionPropensity("em", n_bootstrap=0).fit(clicks, place + 1, group).n_impressions_
    at = [set(group[place == k].tolist()) for k in range(3)]
    expected = [
        [sum(place[i] == k and k != m and group[i] in at[m] for i in range(len(place)))
         for m in range(3)]
        for k in range(3)
    ]  # fmt: skip
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("seed", range(3))
def test_expectation_maximisation_finds_the_largest_likelihood(seed):
    clicks, place, group = small_log(seed)
    rows = list(zip(group.tolist(), place.tolist(), clicks.tolist(), strict=True))
    model = PositionPropensity("em", n_bootstrap=0, tol=1e-12, max_iter=100_000)
    found = model.fit(clicks, place + 1, group).propensity_

    def loss(free):
        theta = [1.0, free[0], free[1]]  # the scale is that of gamma
        gamma = free[2:]
        if max(theta) * max(gamma) >= 1 or min(free) <= 0:
            return 1e9
        return -oracles.log_likelihood(rows, theta, gamma)

    np.testing.assert_allclose(found[1:], lowest(loss, [0.5] * 7)[:2], rtol=1e-3)


@pytest.mark.parametrize("method", ["em", "harvesting"])
@pytest.mark.parametrize("crossing", [False, True])
def test_the_bootstrap_counts_as_a_log_with_rows_repeated(method, crossing):
    """Groups may span queries, as in a swap experiment."""
    clicks, place, group = small_log(0)
    query = np.arange(len(group)) % 3 if crossing else group // 2
    weight = np.array([2, 1, 3])
    again = np.repeat(np.arange(len(clicks)), weight[query])
    model = PositionPropensity(method, n_bootstrap=0, tol=1e-10, max_iter=10_000)
    (found,) = model.by_weight(clicks, place + 1, group, query, weight[np.newaxis] * 1.0)
    repeated = model.fit(clicks[again], place[again] + 1, group[again], query[again])
    np.testing.assert_allclose(found, repeated.propensity_, rtol=1e-8)


def test_samples_of_equal_weights_have_the_estimate_of_the_fit():
    # Each row is shown at one place only, so that the likelihood is flat.
    data = make_queries(60, 10, random_state=0)
    scores, options = data.data[:, 1], {"n_impressions": 5000, "n_shown": 5, "random_state": 0}
    log = make_clicks(data.target, scores, data.qid, **options)
    columns = log.click, log.position, log.row, log.qid
    model = PositionPropensity("em", n_bootstrap=0, tol=1e-3)
    found = model.by_weight(*columns, np.ones((10, 60)))
    np.testing.assert_array_equal(found, [model.fit(*columns).propensity_] * 10)


@pytest.mark.parametrize("method", ["em", "harvesting"])
def test_samples_that_do_not_tell_a_propensity_have_none(method):
    # Only query 2 has a row at position 3; nothing was clicked in query 0.
    clicks, place = [0, 0, 1, 1, 1, 0, 1, 1, 1, 0], [1, 2, 1, 2, 1, 2, 2, 3, 3, 2]
    group, qid = [0, 0, 1, 1, 1, 1, 2, 2, 2, 2], [0, 0, 1, 1, 1, 1, 2, 2, 2, 2]
    weights = np.array([[1.0, 1, 1], [1, 1, 0], [1, 0, 0]])
    model = PositionPropensity(method, n_bootstrap=0, tol=1e-3)
    whole, without, clickless = model.by_weight(clicks, place, group, qid, weights)
    assert (whole > 0).all() and (without[:2] > 0).all() and np.isnan(without[2])
    assert np.isnan(clickless[1:]).all()
    model.set_params(n_bootstrap=30, random_state=0).fit(clicks, place, group, qid)
    low, high = model.interval_.T
    assert (low > 0).all() and (low <= high).all() and (high[1:] != 1).all()
    # Neither of two samples has the only query.
    seed = next(s for s in range(99) if not np.random.RandomState(s).poisson(1.0, (2, 1)).any())
    model.set_params(n_bootstrap=2, random_state=seed).fit(clicks, place, group, np.zeros(10))
    assert np.isnan(model.interval_[1:]).all() and np.isfinite(model.propensity_).all()


def test_one_position_has_the_propensity_1():
    model = PositionPropensity(n_bootstrap=5).fit([1, 0, 1], [1, 1, 1], [0, 1, 2])
    assert model.propensity_.tolist() == [1.0] and model.interval_.tolist() == [[1.0, 1.0]]


def simulated(seed, **options):
    data = make_queries(60, 25, random_state=seed)
    rng = np.random.default_rng(seed)
    scores = data.target + 2 * rng.normal(size=(2, len(data.target)))
    return data, make_clicks(data.target, scores, data.qid, random_state=seed, **options)


def errors_and_coverage(seeds, swap, n_bootstrap):
    """Return relative errors of propensities by seed, and the share of intervals with the truth."""
    off, held = [], []
    for seed in seeds:
        _, log = simulated(seed, n_impressions=100_000, swap=swap)
        model = PositionPropensity(n_bootstrap=n_bootstrap, random_state=0)
        model.fit(log.click, log.position, log.group, log.qid)
        assert model.method_ == "harvesting"
        off.append(model.propensity_ / INVERSE - 1)
        low, high = model.interval_.T
        held += ((low <= INVERSE) & (high >= INVERSE))[1:].tolist()
    return np.array(off), np.mean(held)


@pytest.mark.slow
@pytest.mark.parametrize("swap", [False, True])
def test_propensities_are_those_of_the_simulator(swap):
    off, held = errors_and_coverage(range(5), swap, n_bootstrap=60)
    assert np.abs(np.median(off, axis=0)).max() <= 0.1
    assert held >= 0.8  # 45 intervals of 95 %


@pytest.mark.nightly
@pytest.mark.parametrize("swap", [False, True])
def test_intervals_of_propensities_hold_the_truth(swap):
    assert errors_and_coverage(range(100, 108), swap, n_bootstrap=200)[1] >= 0.9


@pytest.mark.slow
def test_expectation_maximisation_alone_finds_propensities_of_two_rankers():
    off = []
    for seed in range(5):
        _, log = simulated(seed, n_impressions=100_000)
        model = PositionPropensity("em", n_bootstrap=0, tol=1e-5, max_iter=5000)
        off.append(model.fit(log.click, log.position, log.row).propensity_ / INVERSE - 1)
    assert np.abs(np.median(off, axis=0)).max() <= 0.25


def log_of_one_ranker(seed, **options):
    """A log of one ranker that sorts by features, which are relative to those of the query."""
    data = make_queries(60, 25, random_state=seed)
    X = data.data - np.repeat(data.data.reshape(60, 25, -1).mean(axis=1), 25, axis=0)
    scores = X[:, 0] + X[:, 1] + np.random.default_rng(seed).normal(size=len(X))
    return X, make_clicks(data.target, scores, data.qid, random_state=seed, **options)


@pytest.mark.slow
def test_features_tell_positions_from_relevance_in_the_log_of_one_ranker():
    off, without = [], []
    for seed in range(3):
        X, log = log_of_one_ranker(seed, n_impressions=100_000)
        model = PositionPropensity("em", n_bootstrap=0, tol=1e-4)
        off.append(model.fit(log.click, log.position, log.row, X=X).propensity_ / INVERSE - 1)
        without.append(model.fit(log.click, log.position, log.row).propensity_ / INVERSE - 1)
    assert np.abs(np.median(off, axis=0)).max() <= 0.25
    assert np.abs(np.median(without, axis=0)).max() > 0.5  # nothing else tells them apart


@pytest.mark.slow
def test_the_likelihood_of_a_regression_is_largest():
    clicks, place, group = small_log(0, n=3000)
    X = np.column_stack([np.linspace(-1, 1, 5), [0.5, -1, 0.3, 1, -0.8]])
    regression = LogisticRegression(C=1e6, tol=1e-10, max_iter=1000)
    model = PositionPropensity("em", regression=regression, n_bootstrap=0, tol=1e-8, max_iter=5000)
    found = model.fit(clicks, place + 1, group, X=X).propensity_

    def loss(free):
        theta, gamma = free[:3], 1 / (1 + np.exp(-(free[3] + X @ free[4:])))
        if min(theta) <= 0 or max(theta) * max(gamma) >= 1:
            return 1e9
        return -sum(n * oracles.log_likelihood([row], theta, gamma) for row, n in seen.items())

    seen = Counter(zip(group.tolist(), place.tolist(), clicks.tolist(), strict=True))
    best = lowest(loss, [0.8, 0.5, 0.3, 0, 0, 0], xatol=1e-6, fatol=1e-8)
    np.testing.assert_allclose(found, best[:3] / best[0], rtol=5e-3)


def test_missing_features_are_left_to_the_regression():
    clicks, place, group = small_log(0)
    X = np.array([[0.0], [np.nan], [1.0], [2.0], [3.0]])
    trees = HistGradientBoostingClassifier(max_iter=2, early_stopping=False, min_samples_leaf=1)
    model = PositionPropensity("em", regression=trees, n_bootstrap=0, tol=1e-2)
    found = model.fit(clicks, place + 1, group, X=X).propensity_
    assert found[0] == 1 and (found > 0).all()
    with pytest.raises(ValueError, match="LogisticRegression does not accept missing values"):
        model.set_params(regression=None).fit(clicks, place + 1, group, X=X)
    with pytest.raises(ValueError, match="contains infinity"):
        model.fit(clicks, place + 1, group, X=np.where(np.isnan(X), np.inf, X))


@pytest.mark.parametrize(
    ("parameters", "options", "message"),
    [
        ({"method": "em", "regression": LogisticRegression()}, {}, "needs X, the features of the"),
        ({}, {"X": np.ones((5, 2))}, "takes X only with method='em'"),
        ({"method": "em"}, {"X": np.ones((4, 2))}, "row numbers of X, 0 to 3.*Got 4"),
        ({"method": "em", "regression": LinearRegression()}, {"X": np.ones((5, 2))}, "classifier"),
        ({"method": "em", "regression": 1}, {"X": np.ones((5, 2))}, "None or a classifier"),
    ],
)
def test_a_regression_without_its_features_is_refused(parameters, options, message):
    clicks, place, group = small_log(0)
    with pytest.raises(ValueError, match=message):
        PositionPropensity(n_bootstrap=0, **parameters).fit(clicks, place + 1, group, **options)


def test_one_ranker_alone_needs_expectation_maximisation():
    data = make_queries(40, 12, random_state=0)
    log = make_clicks(data.target, data.data[:, 0], data.qid, n_impressions=4000, random_state=0)
    for method in ("auto", "harvesting"):
        with pytest.raises(ValueError, match=r"connect all positions. Got 10 parts.*'em' with X"):
            PositionPropensity(method).fit(log.click, log.position, log.row)
    with pytest.warns(ConvergenceWarning, match="stopped after 2 iterations"):
        PositionPropensity("em", n_bootstrap=0, max_iter=2).fit(log.click, log.position, log.row)


def test_positions_that_groups_connect_without_clicks_at_both_are_left_to_em():
    # Group 0 was shown at positions 2 and 3, but never clicked at 3; group 1 connects 1 and 2.
    clicks, place = [1, 0, 0, 1, 1, 1], [2, 2, 3, 1, 2, 3]
    columns = clicks, place, [0, 0, 0, 1, 1, 2]
    assert PositionPropensity(n_bootstrap=0, tol=1e-3).fit(*columns).method_ == "em"
    with pytest.raises(ValueError, match=r"connect all positions. Got 2 parts"):
        PositionPropensity("harvesting").fit(*columns)
    with pytest.raises(ValueError, match=r"connect all positions. Got 2 parts"):
        PositionPropensity().fit(clicks, place, [0, 0, 3, 1, 1, 2])


def test_a_failed_fit_changes_nothing():
    _, log = simulated(0, n_impressions=3000)
    model = PositionPropensity(n_bootstrap=0).fit(log.click, log.position, log.row)
    before = model.propensity_
    assert model.interval_ is None
    with pytest.raises(ValueError, match="Nothing was clicked at position 3"):
        model.fit([1, 1, 0], [1, 2, 3], [0, 0, 0])
    with pytest.raises(ValueError, match="Nothing was shown at position 2"):
        model.fit([1, 1, 0], [1, 3, 3], [0, 0, 0])
    with pytest.raises(ValueError, match="The 'n_bootstrap' parameter of PositionPropensity"):
        clone(model).set_params(n_bootstrap=1).fit(log.click, log.position, log.row)
    for most in (0, 1.5):
        with pytest.raises(ValueError, match="The 'max_iter' parameter of PositionPropensity"):
            clone(model).set_params(max_iter=most).fit(log.click, log.position, log.row)
    with pytest.raises(ValueError, match="The 'tol' parameter of PositionPropensity"):
        clone(model).set_params(tol=0).fit(log.click, log.position, log.row)
    assert model.propensity_ is before


def test_clicks_have_the_probabilities_of_their_definition():
    y, scores, qid = np.array([0, 2, 1, 0]), np.array([4.0, 3.0, 2.0, 1.0]), np.zeros(4)
    n = 40_000
    log = make_clicks(
        y, scores, qid, n_impressions=n, n_shown=3, noise=0.2, trust=0.3, random_state=0
    )
    assert log.row[:3].tolist() == [0, 1, 2] and log.impression[-1] == n - 1
    np.testing.assert_allclose(log.attraction, [0.2, 1.0, 0.2 + 0.8 / 3, 0.2])
    for k in (1, 2, 3):
        a = log.attraction[k - 1]
        expected = (a + (1 - a) * 0.3 / k) / k
        error = math.sqrt(expected * (1 - expected) / n)
        assert abs(log.click[log.position == k].mean() - expected) < 4 * error


def test_a_user_of_the_cascade_ends_after_a_click():
    _, log = simulated(0, n_impressions=2000, model="cascade", stop=1.0)
    assert log.examination is None
    assert np.bincount(log.impression, log.click).max() == 1
    _, log = simulated(0, n_impressions=2000, model="cascade", stop=0.0)
    assert np.bincount(log.impression, log.click).max() > 2


def test_swaps_show_both_orders_alike():
    _, log = simulated(1, n_impressions=5000, n_shown=3, swap=True)
    first = log.position == 1
    assert abs((log.group[first] % 3 == 0).mean() - 0.5) < 0.05
    shown = {(g, p) for g, p in zip(log.group, log.position, strict=True)}
    # In the experiment with place 1 (positions 1 and 2), third rows stay third.
    assert {(3, 1), (3, 2), (4, 1), (4, 2), (5, 3)} <= shown and (5, 1) not in shown


def test_short_queries_are_shown_whole():
    log = make_clicks([0, 1, 2], [1.0, 2.0, 3.0], [7, 7, 8], n_shown=2, swap=True, random_state=0)
    assert set(log.qid) == {0, 1}
    assert (log.position[log.qid == 1] == 1).all()
    assert (np.bincount(log.impression) == np.where(log.qid[log.position == 1] == 0, 2, 1)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": 1.0}, "'noise' parameter of make_clicks"),
        ({"model": "user"}, "'model' parameter of make_clicks"),
        ({"examination": [1.0, 0.0]}, "make_clicks must have one dimension and 10 numbers"),
        ({"n_shown": 0}, "'n_shown' parameter of make_clicks"),
    ],
)
def test_the_simulator_refuses_what_it_can_not_do(options, message):
    with pytest.raises(ValueError, match=message):
        make_clicks([0, 1], [1.0, 2.0], [0, 0], **options)
    with pytest.raises(ValueError, match="grades of at least 0"):
        make_clicks([-1, 1], [1.0, 2.0], [0, 0])


def test_weights_make_a_better_ranker_than_raw_clicks():
    from sklearn_rank.metrics import ndcg_score

    data, log = simulated(0, n_impressions=3000)
    test = make_queries(60, 25, random_state=9)
    X = data.data[log.row]
    weight = click_weights(log.click, log.position, INVERSE)
    scores = {}
    for name, of_rows in {"raw": None, "weighted": weight}.items():
        ranker = RankBoost(relevance="graded", n_estimators=40)
        ranker.fit(X, log.click, qid=log.impression, sample_weight=of_rows)
        scores[name] = ndcg_score(test.target, ranker.predict(test.data), k=10, qid=test.qid)
    assert scores["weighted"] > scores["raw"]


def test_row_numbers_may_be_texts():
    data = make_queries(random_state=0)
    options = {"n_impressions": 500, "n_shown": 3, "random_state": 0}
    log = make_clicks(data.target, data.data[:, 0], data.qid, **options)
    found = [
        PositionPropensity("em", n_bootstrap=0).fit(log.click, log.position, row, X=data.data)
        for row in (log.row, log.row.astype(str))
    ]
    np.testing.assert_array_equal(found[0].propensity_, found[1].propensity_)


def test_a_cascade_has_no_examination():
    with pytest.raises(ValueError, match="examination of make_clicks requires model='position'"):
        make_clicks([0, 1], [1.0, 2.0], [0, 0], n_shown=2, model="cascade", examination=[1, 0.5])
