"""The selection of ensembles: greedy weights, maps of scores, gains and their standard errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import ensemble as oracles_ensemble
from scipy import stats
from strategies import one_list

from sklearn_rank import ensemble
from sklearn_rank.metrics import auc_interval, auc_score, ndcg_score, partial_auc_score

RNG = np.random.default_rng(0)
LARGEST = 1e300
SCORES = {
    "few values": st.sampled_from([0.0, 1.0, 2.0, -3.0]),
    "any": st.floats(-LARGEST, LARGEST),
    "moderate": st.integers(-1000, 1000).map(lambda n: n / 8),
}
PROBABILITIES = st.one_of(st.sampled_from([0.0, 1.0, 0.5, 5e-324, 1e-20]), st.floats(0, 1))


def rows_of(y, n_folds=2, weight=None, qid=None):
    fold = np.arange(len(y)) % n_folds if qid is None else qid % n_folds
    return ensemble.HeldOutLabels(y, fold, np.ones(len(y)) if weight is None else weight, qid)


# Greedy weights -------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(0, 3), min_size=6, max_size=6), min_size=1, max_size=4))
def test_weights_are_those_of_the_definition(scores):
    y = np.array([0, 1, 0, 1, 0, 1])

    def gain(mean):
        return auc_score(y, np.round(mean, 9))  # means of integers, whose ties are exact

    found = ensemble.greedy_weights(np.array(scores, float), gain, n_steps=4)
    assert found == pytest.approx(oracles_ensemble.greedy_weights(scores, gain, 4))


@given(st.integers(1, 6), st.integers(2, 9))
def test_no_more_steps_than_asked_for(n_steps, wanted):
    """Members are columns of the unit matrix, and the mean that is wanted needs many steps."""

    def gain(mean):
        return -np.abs(mean - np.linspace(0.1, 1, wanted) / np.linspace(0.1, 1, wanted).sum()).sum()

    weights = ensemble.greedy_weights(np.eye(wanted), gain, n_steps=n_steps)
    counts = [weights * n for n in range(1, n_steps + 1)]
    assert any(np.allclose(one, np.round(one)) for one in counts)


def test_of_equal_members_the_first_has_all_the_weight_and_a_useless_one_none():
    y = RNG.random(200) < 0.3
    good, noise = y + RNG.standard_normal(200), np.zeros(200)
    gain = rows_of(y).gain()
    assert ensemble.greedy_weights([good, good, noise], gain).tolist() == [1, 0, 0]


def test_bags_are_means_over_random_halves_of_the_members():
    y = RNG.random(200) < 0.3
    scores = y + RNG.standard_normal((4, 200))
    gain = rows_of(y).gain()
    bags = [ensemble.greedy_weights(scores, gain, n_bags=n, random_state=3) for n in (2, 3)]
    for n, weights in zip((2, 3), bags, strict=True):
        assert weights.sum() == pytest.approx(1)
        assert (weights > 0).sum() > 1, n
    # The third half is a selection of its own, from two of four members.
    third = 3 * bags[1] - 2 * bags[0]
    members = np.flatnonzero(third > 1e-9)
    assert len(members) <= 2
    assert third[members] == pytest.approx(ensemble.greedy_weights(scores[members], gain))


# Maps ---------------------------------------------------------------------------------


@given(one_list(weights=("none", "integers"), max_rows=9))
def test_normal_scores_and_points_are_those_of_the_definition(problem):
    fold = np.arange(len(problem.f)) % 2
    weight = np.ones(len(problem.f)) if problem.w is None else problem.w
    found = ensemble.normal_scores(problem.f, fold, weight)
    expected = oracles_ensemble.normal_scores(problem.f, fold, weight)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    if any(len(set(problem.f[fold == one])) > 1 for one in (0, 1)):
        score, value = oracles_ensemble.map_points(problem.f, fold, weight)
        to_normal = ensemble.ScoreMap.fit(problem.f, fold, weight=weight)
        np.testing.assert_allclose(to_normal(score), value, atol=1e-7)


@pytest.mark.parametrize("kind", SCORES)
@given(data=st.data())
def test_the_map_rises_and_makes_no_ties(kind, data):
    known = np.array(data.draw(st.lists(SCORES[kind], min_size=2, max_size=30)))
    new = np.unique(data.draw(st.lists(SCORES[kind], min_size=2, max_size=30)))
    with_queries = data.draw(st.booleans())
    qid = np.arange(len(known)) // 3 if with_queries else None
    found = ensemble.ScoreMap.fit(known, np.arange(len(known)) % 2, qid=qid)(new)
    assert (np.diff(found) >= 0).all()
    assert np.isfinite(found).all()
    if kind != "any":  # whose differences may be below a rounding error
        assert (np.diff(found) > 0).all()


def test_the_map_rises_where_one_score_is_far_from_all_others():
    """Rounding in the long piece from it is larger than what the other scores differ by."""
    scores = np.array([-(2.0**53) - 4, 0, 0, 0, 0, 0, -1, 0, -1])
    to_normal = ensemble.ScoreMap.fit(scores, np.arange(9) % 2)
    assert (np.diff(to_normal.value) > 0).all()
    assert (np.diff(to_normal([-2.0, -1.0, -0.5, 0.0, 1.0])) >= 0).all()


@given(st.lists(PROBABILITIES, min_size=2, max_size=20), st.lists(PROBABILITIES, max_size=20))
def test_probabilities_of_0_and_1_have_finite_places_of_their_own(known, new):
    fold = np.arange(len(known)) % 2
    to_normal = ensemble.ScoreMap.fit(known, fold, of_probability=True)
    new = np.unique([0.0, 1e-20, 1e-9, 0.2, 0.9, 1 - 1e-9, 1.0, *new])
    found = to_normal(new)
    assert np.isfinite(found).all()
    assert (np.diff(found) >= 0).all()
    is_apart = np.diff(new) > 1e-12
    assert (np.diff(found)[is_apart] > 0).all()
    assert found[0] < found[1]


def test_a_row_has_one_value_alone_and_among_many():
    to_normal = ensemble.ScoreMap.fit(RNG.standard_normal(500), np.arange(500) % 5)
    new = RNG.standard_normal(1000) * 3
    together = to_normal(new)
    assert [to_normal([one])[0] for one in new[:50]] == together[:50].tolist()


def test_the_map_continues_with_the_slope_of_the_outer_twentieth():
    fold, scores = np.repeat([0, 1], 1000), np.tile(np.sort(RNG.standard_cauchy(1000)), 2)
    to_normal = ensemble.ScoreMap.fit(scores, fold)
    for level, end, sign in [(0.05, 0.005, -1), (0.95, 0.995, 1)]:
        a, b = np.interp([level, end], (np.arange(1000) + 0.5) / 1000, scores[:1000])
        slope = (to_normal([b]) - to_normal([a])) / (b - a)
        beyond = to_normal([b + sign * 100.0]) - to_normal([b])
        assert beyond == pytest.approx(sign * 100 * slope, rel=1e-6)


def test_with_queries_scores_are_divided_by_their_deviation_within_queries():
    qid = np.arange(300) // 10
    scores = RNG.standard_normal(300)
    shifted = 7.0 * scores + 1000.0 * qid
    to_scale = ensemble.ScoreMap.fit(shifted, qid % 3, qid=qid)
    values = to_scale(shifted)
    within = values - (np.bincount(qid, values) / 10)[qid]
    assert np.mean(within**2) == pytest.approx(1)
    assert to_scale(2 * shifted) == pytest.approx(2 * values)


def test_weight_2_is_the_row_twice_in_maps():
    scores, fold = np.round(RNG.standard_normal(40), 1), np.arange(40) % 2
    weight = RNG.integers(1, 4, 40)
    for qid in (None, np.arange(40) // 4):
        one = ensemble.ScoreMap.fit(scores, fold, weight=weight, qid=qid)
        codes = None if qid is None else qid.repeat(weight)
        other = ensemble.ScoreMap.fit(scores.repeat(weight), fold.repeat(weight), qid=codes)
        np.testing.assert_allclose(one(scores), other(scores), rtol=1e-12)


# Gains and figures ----------------------------------------------------------------------


def test_the_default_gain_of_one_list_is_the_mean_over_folds():
    y, scores = RNG.random(60) < 0.4, RNG.standard_normal(60)
    rows = rows_of(y, 3, RNG.integers(1, 3, 60).astype(float))
    parts = [rows.fold == one for one in range(3)]
    given_to = [{"sample_weight": rows.weight[one]} for one in parts]
    expected = [
        partial_auc_score(y[one], scores[one], max_fpr=0.1, **options)
        + 0.2 * auc_score(y[one], scores[one], **options)
        for one, options in zip(parts, given_to, strict=True)
    ]
    assert rows.gain()(scores) == pytest.approx(np.mean(expected))
    tpr = rows.gain("tpr@0.2")(scores)
    shares = [rows.take(one).gain("tpr@0.2")(scores[one]) for one in parts]
    assert tpr == pytest.approx(np.mean(shares))


def test_the_default_gain_of_queries_and_grades():
    qid = np.arange(60) // 6
    y, scores = RNG.integers(0, 3, 60).astype(float), RNG.standard_normal(60)
    options = {"qid": qid, "average": "queries"}
    two = rows_of(y > 0, qid=qid)
    assert two.gain()(scores) == pytest.approx(auc_score(y > 0, scores, **options))
    assert rows_of(y, qid=qid).gain()(scores) == pytest.approx(ndcg_score(y, scores, k=10, qid=qid))
    high = y + 31 - y.max()  # a grade above 31 is too high for NDCG
    assert rows_of(high, qid=qid).gain()(scores) == ndcg_score(high, scores, k=10, qid=qid)
    assert rows_of(high + 1, qid=qid).gain()(scores) == auc_score(y, scores, **options)
    no_grades = rows_of(y - 1, qid=qid)
    assert no_grades.gain()(scores) == pytest.approx(auc_score(y, scores, **options))
    weight = RNG.integers(1, 3, 60).astype(float)
    weighted = rows_of(y, weight=weight, qid=qid)
    expected = auc_score(y, scores, sample_weight=weight, **options)
    assert weighted.gain()(scores) == pytest.approx(expected)


def projections(y, scores, max_fpr):
    """Derivative of the partial AUC with respect to the weight of each row, times its class.

    It has none where the curve has a corner at `max_fpr`: a product with the number of negatives
    that is an integer.
    """
    found = np.empty(len(y))
    for i in range(len(y)):
        values = []
        for step in (-1e-4, 1e-4):
            weight = np.ones(len(y))
            weight[i] += step
            values.append(partial_auc_score(y, scores, max_fpr=max_fpr, sample_weight=weight))
        found[i] = (values[1] - values[0]) / 2e-4 * np.count_nonzero(y == y[i])
    return found


@pytest.mark.parametrize("max_fpr", [0.05, 0.33, 1.0])
def test_the_standard_error_is_that_of_the_projections(max_fpr):
    y, scores = np.arange(90) % 10 < 3, np.round(RNG.standard_normal(90), 1)
    rows = rows_of(y, 1)
    found = rows._top_area(scores, max_fpr)
    parts = projections(y, scores, max_fpr)
    variance = sum(np.var(parts[y == one], ddof=1) / np.sum(y == one) for one in (True, False))
    assert found.value == pytest.approx(partial_auc_score(y, scores, max_fpr=max_fpr))
    assert found.standard_error == pytest.approx(np.sqrt(variance), rel=1e-5)


def test_the_interval_of_the_auc_is_delongs():
    y, scores = RNG.random(300) < 0.3, RNG.standard_normal(300)
    rows = rows_of(y, 3)
    found, known = rows.estimates(scores)["auc"], auc_interval(y, scores, fold=rows.fold)
    logit_width = np.log(known.high / (1 - known.high)) - np.log(known.low / (1 - known.low))
    expected = logit_width / 2 / 1.959964 * known.mean * (1 - known.mean)
    assert (found.value, found.standard_error) == pytest.approx((known.mean, expected), rel=1e-5)


def test_the_error_of_weights_that_are_no_counts_is_the_spread_over_samples():
    rng, values, errors = np.random.default_rng(0), [], []
    for _ in range(300):
        y, weight = np.arange(400) % 4 == 0, np.exp(1.5 * rng.standard_normal(400))
        rows = rows_of(y, 1, weight)
        scores = y + rng.standard_normal(400)
        found = rows.estimates(scores)["auc"]
        scaled = rows_of(y, 1, 371.9 * weight).estimates(scores)["auc"]
        assert scaled.standard_error == pytest.approx(found.standard_error)
        values.append(found.value)
        errors.append(found.standard_error)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(values), rel=0.15)


def test_figures_of_queries_are_means_over_them():
    qid = np.arange(150) // 15
    y, scores = RNG.integers(0, 3, 150).astype(float), RNG.standard_normal(150)
    found = rows_of(y, qid=qid).estimates(scores, "ndcg@3")
    assert list(found) == ["auc", "ndcg@10", "ndcg@3"]
    each = ndcg_score(y, scores, k=10, qid=qid, average=None)
    assert found["ndcg@10"].value == pytest.approx(each.mean())
    assert found["ndcg@10"].standard_error == pytest.approx(each.std(ddof=1) / np.sqrt(len(each)))
    assert found["ndcg@10"].low < found["ndcg@10"].value < found["ndcg@10"].high


def test_a_metric_of_queries_is_their_mean_also_where_folds_have_unequal_numbers_of_them():
    qid = np.arange(88) // 8  # four, four and three of eleven
    y, scores = RNG.integers(0, 3, 88).astype(float), RNG.standard_normal(88)
    rows = ensemble.HeldOutLabels(y, qid % 3, np.ones(88), qid)
    found = rows.estimates(scores, "ndcg@3")["ndcg@3"]
    each = ndcg_score(y, scores, k=3, qid=qid, average=None)
    assert found.value == pytest.approx(rows.gain("ndcg@3")(scores)) == pytest.approx(each.mean())
    assert (found.standard_error, found.freedom) == (pytest.approx(stats.sem(each)), 10)
    reach = stats.t(10).ppf(0.975) * stats.sem(each)
    assert (found.low, found.high) == pytest.approx((found.value - reach, found.value + reach))


@pytest.mark.parametrize("scoring, weight", [("push@2", 1), ("pauc@0.5", 2)])
def test_a_metric_that_has_no_values_of_queries_is_a_mean_over_folds(scoring, weight):
    qid = np.arange(88) // 8
    y, scores = RNG.random(88) < 0.5, RNG.standard_normal(88)
    rows = ensemble.HeldOutLabels(y, qid % 3, np.full(88, 1.0 * weight), qid)
    folds = [rows.take(rows.fold == one) for one in range(3)]
    each = [one.gain(scoring)(scores[rows.fold == k]) for k, one in enumerate(folds)]
    found = rows.estimates(scores, scoring)[scoring]
    assert (found.value, found.standard_error) == pytest.approx((np.mean(each), stats.sem(each)))
    assert found.freedom == 2


@pytest.mark.parametrize("qid", [None, np.arange(80) // 8])
@pytest.mark.parametrize("graded", [False, True])
def test_scoring_does_not_replace_a_figure_that_is_there_anyway(qid, graded):
    y, scores = RNG.integers(0, 3, 80).astype(float), RNG.standard_normal(80)
    rows = rows_of(y if graded else y > 1, 4, qid=qid)
    found = rows.estimates(scores)
    for scoring in found:
        assert rows.estimates(scores, scoring) == found

    def auc(y_true, y_score, qid=None):
        return 0.25

    own = rows.estimates(scores, auc)  # another metric, which happens to have this name
    assert list(own) == list(found)
    assert own["auc"].value == 0.25


@pytest.mark.slow
@pytest.mark.parametrize("n_folds", [2, 5])
def test_intervals_of_a_mean_over_few_folds_hold_the_truth(n_folds):
    def area(y_true, y_score, qid=None):
        return auc_score(y_true, y_score, qid=qid)

    rng, inside, n = np.random.default_rng(0), [], 80 * n_folds
    y, fold = np.arange(n) % 4 == 0, np.arange(n) // 4 % n_folds
    rows = ensemble.HeldOutLabels(y, fold, np.ones(n))
    for _ in range(200):
        found = rows.estimates(y + rng.standard_normal(n), area)["area"]
        inside.append(found.low <= stats.norm.cdf(np.sqrt(0.5)) <= found.high)
    assert 0.92 <= np.mean(inside) <= 0.98


def test_the_interval_of_a_figure_beyond_0_and_1_is_whole():
    """A metric of one's own may be a loss, of which greater is better with a minus."""
    found = ensemble.Estimate(-3.0, 0.1)
    assert (found.low, found.high) == pytest.approx((-3.196, -2.804), abs=1e-3)
    assert (ensemble.Estimate(0.99, 0.1).high, ensemble.Estimate(0.01, 0.1).low) == (1.0, 0.0)


def test_the_interval_of_a_single_value_is_everything():
    y, scores = RNG.random(40) < 0.5, RNG.standard_normal(40)
    found = rows_of(y, 1).estimates(scores, "tpr@0.2")["tpr@0.2"]
    assert np.isnan(found.standard_error)
    assert (found.low, found.high) == (0, 1)


def test_the_ndcg_which_has_no_weights_is_left_out_where_they_differ():
    qid = np.arange(80) // 8
    y, scores = RNG.integers(0, 3, 80).astype(float), RNG.standard_normal(80)
    weight = RNG.integers(1, 3, 80)
    assert list(rows_of(y, weight=1.0 * weight, qid=qid).estimates(scores)) == ["auc"]
    twice = rows_of(y, weight=np.full(80, 2.0), qid=qid).estimates(scores)
    assert twice == rows_of(y, qid=qid).estimates(scores)


# Selection ------------------------------------------------------------------------------


def example(n=240, n_folds=4):
    y = RNG.random(n) < 0.3
    scores = {name: 3.0 * size * (y + size * RNG.standard_normal(n)) for name, size in SIZES}
    return scores, rows_of(y, n_folds)


SIZES = (("a", 1.0), ("b", 1.2), ("c", 1.5), ("noise", 30.0))


def test_a_fold_is_judged_by_weights_that_have_not_seen_it():
    scores, rows = example()
    found = ensemble.select_members(scores, rows, n_steps=6)
    for one in range(4):
        others = rows.fold != one
        ranked = [ensemble.normal_scores(s, rows.fold, rows.weight) for s in scores.values()]
        ranked = np.array(ranked)
        weights = ensemble.greedy_weights(ranked[:, others], rows.take(others).gain(), n_steps=6)
        expected = weights @ ranked[:, ~others]
        np.testing.assert_allclose(found.nearly_honest_scores[~others], expected)
    expected = rows.estimates(found.nearly_honest_scores)
    assert found.score_estimate == expected
    assert found.member_scores["a"]["auc"].value > found.member_scores["noise"]["auc"].value
    assert sum(found.weights.values()) == pytest.approx(1)


def test_a_period_is_judged_by_weights_of_earlier_ones_and_the_first_by_equal_ones():
    scores, rows = example()
    rows.y[rows.fold == 0] = False  # no pair, so that the second has equal weights, too
    earlier = {one: rows.fold < one for one in range(4)}
    found = ensemble.select_members(scores, rows, n_steps=6, fitted_to=earlier)
    ranked = np.array([ensemble.normal_scores(s, rows.fold, rows.weight) for s in scores.values()])
    for one, part in earlier.items():
        weights = np.full(4, 0.25)
        if one > 1:
            weights = ensemble.greedy_weights(ranked[:, part], rows.take(part).gain(), n_steps=6)
        now = rows.fold == one
        np.testing.assert_allclose(found.nearly_honest_scores[now], weights @ ranked[:, now])
    assert found.weights == ensemble.select_members(scores, rows, n_steps=6).weights


@pytest.mark.parametrize("scoring", [None, "auc", "tpr@0.2"])
def test_an_embargo_may_leave_one_class_of_a_fold(scoring):
    scores, rows = example()
    earlier = {one: rows.fold < one for one in range(4)}
    cut = np.flatnonzero((rows.fold == 1) & rows.y)
    without = earlier[2] & (rows.fold != 1)
    earlier[2] = earlier[2] & ~np.isin(np.arange(240), cut)
    found = ensemble.select_members(scores, rows, n_steps=6, scoring=scoring, fitted_to=earlier)
    other = ensemble.select_members(
        scores, rows, n_steps=6, scoring=scoring, fitted_to={**earlier, 2: without}
    )
    assert found.score_estimate == other.score_estimate


def test_the_scores_of_a_selection_are_weighted_means_of_mapped_scores():
    scores, rows = example()
    scores["p"] = 1 / (1 + np.exp(-scores["b"]))
    found = ensemble.select_members(scores, rows, of_probability={"p": True}, n_steps=5)
    assert found.maps["p"](scores["p"]) == pytest.approx(found.maps["b"](scores["b"]), abs=1e-6)
    expected = sum(w * found.maps[name](scores[name]) for name, w in found.weights.items())
    np.testing.assert_allclose(found.scores, expected)


def test_a_single_fold_is_refused():
    scores, rows = example(n_folds=1)
    with pytest.raises(ValueError, match="at least two folds"):
        ensemble.select_members(scores, rows)


def test_all_selections_draw_the_same_bags_of_the_seed(monkeypatch):
    seen = []

    def spy(scores, gain, *, random_state, **options):
        seen.append(random_state)
        return np.full(len(scores), 1 / len(scores))

    monkeypatch.setattr(ensemble.selection, "greedy_weights", spy)
    y = np.arange(60) % 2 == 0
    scores = {"a": np.linspace(0, 1, 60), "b": y + 0.0}
    labels = ensemble.HeldOutLabels(y, np.arange(60) // 20, np.ones(60))
    for seed in (0, 0, 1, 2):
        ensemble.select_members(scores, labels, random_state=seed)
    drawn = [set(seen[start : start + 4]) for start in range(0, 16, 4)]
    assert [len(one) for one in drawn] == [1, 1, 1, 1]
    assert drawn[0] == drawn[1]
    assert len(set.union(*drawn)) == 3
    assert max(seen) > 1e6
