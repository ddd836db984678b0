"""The best of several rankings: derivatives of metrics, the rule, and what the choice adds."""

import numpy as np
import pytest
from scipy.stats import t as student_t

from sklearn_rank.metrics import (
    auc_score,
    choose_ranking,
    compare_auc,
    ndcg_score,
    partial_auc_score,
    tpr_at_fpr_interval,
)
from sklearn_rank.metrics._choice import influence, strata
from sklearn_rank.metrics.intervals import RocSteps


def held_out(n=300, n_folds=3, seed=0):
    """Rows with ties, in folds: the scores come on different scales."""
    rng = np.random.default_rng(seed)
    y, fold = (rng.random(n) < 0.2).astype(float), rng.permutation(n) % n_folds
    return y, np.round(y + 1.5 * rng.normal(size=n), 1) + fold, fold


def pair_freedom(y, qid):
    """Return the number of queries with as many pairs each, minus 1."""
    above = np.bincount(qid, y)
    pairs = above * (np.bincount(qid) - above)
    return max(1.0, pairs.sum() ** 2 / (pairs @ pairs) - 1)


def mean_auc(y, score, fold, weight):
    parts = [fold == k for k in np.unique(fold)]
    return np.mean([auc_score(y[p], score[p], sample_weight=weight[p]) for p in parts])


def area(y, score, fold, weight):
    return partial_auc_score(y, score, max_fpr=0.1, qid=fold, sample_weight=weight)


@pytest.mark.parametrize(("name", "metric"), [("auc", mean_auc), ("pauc@0.1", area)])
def test_the_linear_term_is_the_derivative_by_the_weights(name, metric):
    y, score, fold = held_out(40, 2)
    step, stratum = 1e-5, strata(y, None, fold, None)
    value, found = influence(name, score, y, None, fold, None)
    assert value == pytest.approx(metric(y, score, fold, np.ones(40)), abs=1e-12)
    expected = np.empty(40)
    for i in range(40):
        up, down = np.ones((2, 40)) + step * np.outer([1, -1], np.arange(40) == i)
        expected[i] = (metric(y, score, fold, up) - metric(y, score, fold, down)) / (2 * step)
    for number in np.unique(stratum):  # constants of a stratum cancel: its counts are fixed
        rows = stratum == number
        np.testing.assert_allclose(
            found[rows] - found[rows].mean(), expected[rows] - expected[rows].mean(), atol=1e-9
        )


@pytest.mark.parametrize(("name", "metric"), [("auc", mean_auc), ("pauc@0.1", area)])
def test_of_groups_no_constant_is_added_to_the_derivative(name, metric):
    y, score, fold = held_out(40, 2)
    group = np.arange(40) // 3
    _, found = influence(name, score, y, None, fold, group)
    for k, one in enumerate(found):
        up, down = np.ones((2, 40)) + 1e-5 * np.outer([1, -1], group == k)
        change = metric(y, score, fold, up) - metric(y, score, fold, down)
        assert one == pytest.approx(change / 2e-5, abs=1e-9)


@pytest.mark.parametrize("name", ["auc", "pauc@0.1", "tpr@0.1"])
def test_groups_of_one_row_vary_as_rows(name):
    rng = np.random.default_rng(0)
    y = rng.random(1000) < 0.1
    score, options = 1.5 * y + rng.normal(size=1000), {"criterion": name, "random_state": 0}
    rows, groups = (
        choose_ranking(y, {"a": score}, group=one, **options).metric[1:].std()
        for one in (None, np.arange(1000))
    )
    assert groups == pytest.approx(rows, rel=0.1)


def test_the_share_found_varies_as_in_samples_of_rows():
    y, score, fold = held_out(1500, 5)
    choice = choose_ranking(y, {"a": score}, metric="tpr@0.05", fold=fold, random_state=0)
    found = tpr_at_fpr_interval(y, score, fold=fold)
    assert choice.metric[0, 0] == pytest.approx(found.mean, abs=1e-12)
    width = np.subtract(*np.quantile(choice.metric[1:, 0], [0.975, 0.025]))
    assert width == pytest.approx(found.high - found.low, rel=0.15)


def test_with_queries_whole_queries_are_drawn():
    y, score, _ = held_out(400)
    qid = np.arange(400) % 40
    options = {"criterion": "ndcg@10", "metric": "auc", "qid": qid, "random_state": 0}
    choice = choose_ranking(y, {"a": score, "b": -score}, n_resamples=4000, **options)
    assert (choice.names, choice.n_drawn) == (["a", "b"], 40)
    values = ndcg_score(y, score, k=10, qid=qid, average=None)
    assert choice.criterion[0, 0] == pytest.approx(np.nanmean(values))
    known = values[~np.isnan(values)]
    error = known.std() / np.sqrt(len(known))
    assert choice.criterion[1:, 0].std() == pytest.approx(error, rel=0.1)
    found = compare_auc(y, score, -score, qid=qid)
    assert choice.lead()[1].high == pytest.approx(found.high, abs=0.05)


def test_a_query_with_most_of_the_pairs_varies_as_when_rankings_are_compared():
    sizes = np.array([120, *[20] * 20])
    rng, qid = np.random.default_rng(0), np.repeat(np.arange(21), sizes)
    y = rng.random(len(qid)) < 0.25
    skill = np.where(np.arange(21) == 0, 2.0, 1.0)
    score, other = y * skill[qid] + rng.normal(size=len(qid)), rng.normal(size=len(qid))
    options = {"criterion": "auc", "qid": qid, "random_state": 0, "n_resamples": 4000}
    change = np.diff(choose_ranking(y, {"a": score, "b": other}, **options).metric).std()
    known = compare_auc(y, score, other, qid=qid)
    freedom = pair_freedom(y, qid)
    error = (known.high - known.low) / 2 / student_t(freedom).ppf(0.975)
    assert change == pytest.approx(error, rel=0.1)


def test_two_rankings_lead_as_when_they_are_compared():
    y, score, fold = held_out(800)
    other = np.random.default_rng(1).normal(size=800) + y / 2
    choice = choose_ranking(y, {"a": other, "b": score}, criterion="auc", fold=fold, random_state=0)
    assert choice.names == ["b", "a"]
    rival, found = choice.lead()
    expected = compare_auc(y, score, other, fold=fold)
    assert rival == "a"
    ends = [found.low - expected.low, found.high - expected.high]
    np.testing.assert_allclose(ends, 0, atol=0.02)


def test_noise_is_not_taken_for_skill():
    """Of eight rankings by chance the best looks good, and its interval holds the truth."""
    held, optimism = 0, []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y, scores = rng.random(400) < 0.2, {name: rng.normal(size=400) for name in "abcdefgh"}
        choice = choose_ranking(y, scores, criterion="auc", n_resamples=99, random_state=0)
        found = choice.interval()
        held += found.low <= 0.5 <= found.high
        assert choice.lead()[1].low <= 0
        optimism.append([choice.metric[0, 0] - 0.5, found.mean - 0.5])
    assert held >= 18
    before, after = np.mean(optimism, axis=0)
    assert before > 0.03
    assert after < before / 2


def test_the_preferred_ranking_is_chosen_within_one_standard_error():
    y, score, _ = held_out(500)
    rng = np.random.default_rng(2)
    near, far = score + 0.02 * rng.normal(size=500), rng.normal(size=500)
    scores = {"best": score, "near": near, "far": far}
    names = [choose_ranking(y, scores, preferred=one, random_state=0).names for one in scores]
    best = max(("best", "near"), key=lambda one: choose_ranking(y, {one: scores[one]}).criterion[0])
    assert [one[0] for one in names] == ["best", "near", best]
    assert names[2][-1] == "far"


def test_a_ranking_far_ahead_but_unsure_does_not_hide_one_that_is_surely_ahead():
    rng = np.random.default_rng(0)
    y = np.repeat([1, 0], [100, 300])
    base = y + rng.normal(size=400)
    near = base + 0.25 * rng.normal(size=400) + 0.1 * y
    scores = {"base": base, "near": near, "far": 1.07 * y + rng.normal(size=400)}
    found = choose_ranking(y, scores, criterion="auc", preferred="base", random_state=0)
    assert found.names == ["near", "far", "base"]
    ahead = found.criterion - found.criterion[:, [2]]
    assert ahead[0, 1] > ahead[0, 0]
    assert (ahead[0] > ahead[1:].std(axis=0)).tolist() == [True, False, False]


def test_rivals_are_the_best_of_those_named():
    y, score, _ = held_out(500)
    noise = np.random.default_rng(3).normal(size=(2, 500))
    choice = choose_ranking(y, {"a": noise[0], "b": score, "c": noise[1] + y / 2}, random_state=0)
    assert [choice.lead(over)[0] for over in (None, ["a"], ["a", "b", "c"])] == ["c", "a", "c"]
    alone = choose_ranking(y, {"a": score}, random_state=0)
    for over in (None, [], ["x"]):
        with pytest.raises(ValueError, match="'over' must name others"):
            alone.lead(over)


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        ({}, {}, "'scores' must name a ranking"),
        ({"a": [1, 2, 3, 4]}, {"preferred": "b"}, "'preferred' must be one of the names"),
        ({"a": [1, 2, 3, 4]}, {"metric": "ndcg@3"}, "ndcg@3 of one list can't be resampled"),
        ({"a": [1, 2, 3, 4]}, {"criterion": auc_score}, "auc_score of one list can't be resampled"),
        ({"a": [1, 2, 3, 4]}, {"criterion": {}}, "'criterion' must name a metric. Got none"),
        ({"a": [1, 2, 3]}, {}, "4"),
        ({"a": [1, 2, 3, np.nan]}, {}, "NaN"),
        ({"a": [1, 2, 3, 4]}, {"n_resamples": 0}, "n_resamples"),
    ],
)
def test_what_is_refused(scores, options, message):
    with pytest.raises(ValueError, match=message):
        choose_ranking([0, 1, 0, 1], scores, **options)


@pytest.mark.parametrize("rate", [0.07, 0.29, 0.57])
def test_a_step_at_the_rate_stands_before_it_however_shares_are_rounded(rate):
    n_before = round(100 * rate)
    is_relevant = np.zeros(101, dtype=bool)
    is_relevant[n_before] = True  # just behind as many others as the rate allows
    steps = RocSteps.of(is_relevant, -np.arange(101.0))
    expected = (np.arange(101) <= n_before).astype(float)
    np.testing.assert_allclose(steps.before(rate), expected, atol=1e-9)
    _, loss = steps.area_terms(rate)
    np.testing.assert_allclose(loss[:n_before], 1 / rate)  # the relevant row is below them


def test_a_metric_without_a_value_is_refused():
    rankings = {"a": range(6), "b": range(6, 0, -1)}
    with pytest.raises(ValueError, match="no query to average over"):
        choose_ranking([0] * 6, rankings, criterion="map", qid=[0, 0, 1, 1, 2, 2], n_resamples=5)


@pytest.mark.parametrize("criterion", ["auc", "tpr@0.5", "ndcg"])
def test_a_query_in_several_folds_is_refused(criterion):
    options = {"qid": [0, 0, 1, 1], "fold": [0, 0, 0, 1], "criterion": criterion}
    with pytest.raises(ValueError, match="Got 1 queries in several folds"):
        choose_ranking([0, 1, 0, 1], {"a": range(4)}, **options)


def test_folds_of_whole_queries_change_no_metric_of_queries():
    y, score, _ = held_out(400)
    qid = np.arange(400) % 40
    options = {"criterion": "ndcg@10", "qid": qid, "n_resamples": 4000, "random_state": 0}
    plain, folds = (
        choose_ranking(y, {"a": score}, fold=one, **options).criterion for one in (None, qid % 2)
    )
    assert plain[0] == folds[0]
    assert plain[1:].std() == pytest.approx(folds[1:].std(), rel=0.1)


def test_an_interval_is_of_the_metric_or_the_criterion():
    found = choose_ranking([0, 1, 0, 1], {"a": [1, 2, 3, 4], "b": [4, 3, 2, 1]}, n_resamples=5)
    for interval in (found.interval, found.lead):
        with pytest.raises(ValueError, match=r"'of' parameter of RankingChoice .*Got 'auc'"):
            interval(of="auc")
    with pytest.raises(ValueError, match=r"'over' must name others\. Got \['b', 'typo'\]"):
        found.lead(["b", "typo"])
