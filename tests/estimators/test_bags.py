"""n_bags: the mean of fits to bootstrap samples, against fits to the same samples."""

import numpy as np
import pytest
from hypothesis import given, settings
from oracles import definitions as oracles
from sklearn.base import clone
from strategies import problems
from test_bad_input import refuses
from test_corrective import columns_of, constrained_data, data_of
from tiers import crossed

from sklearn_rank import PNormPushRanker, RankBoost, SmoothMarginRanker
from sklearn_rank.estimators._boosting.bags import draw_weights
from sklearn_rank.models import Stumps
from sklearn_rank.solvers import Corrective

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
FORMS = {
    "RankBoost": RankBoost(n_estimators=4),
    "push": PNormPushRanker(n_estimators=4),
    "corrective": PNormPushRanker(n_estimators=3, solver=Corrective()),
}
LIMITS = {
    "monotonic_cst": [1, 0, -1, 0, 0],
    "categorical_features": [4],
    "weak_ranker": Stumps(special_values={1: [-9.0]}),
}


def seen_samples(monkeypatch):
    """Return the list to which the weights of each bag are added, with the problem."""
    seen = []

    def spy(problem, rng):
        seen.append((problem, draw_weights(problem, rng)))
        return seen[-1][1]

    monkeypatch.setattr("sklearn_rank.estimators._boosting.bags.draw_weights", spy)
    return seen


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("with_queries", [False, True])
def test_a_bag_is_a_fit_to_its_sample(form, with_queries, monkeypatch):
    """Thresholds are those of all rows, which here are all of the sample, too."""
    X, y = data_of(200)
    qid = np.arange(200) % 12 if with_queries else None
    seen = seen_samples(monkeypatch)
    ranker = clone(FORMS[form]).set_params(n_bags=3, random_state=0).fit(X, y, qid=qid)
    assert len(seen) == 3
    curves = []
    for (problem, weight), coefficients in zip(seen, ranker.bag_weights_, strict=True):
        order = problem.preferences.order
        data, bag = problem.data, np.empty(len(order))
        bag[order] = weight
        np.testing.assert_array_equal(bag, np.round(bag))
        single = clone(FORMS[form]).set_params(max_bins=65_535)
        single.fit(data.X, data.y, qid=data.qid, sample_weight=bag)
        expected = single.decision_function(X) - single.offset_
        scores = columns_of(ranker, X) @ coefficients
        # A threshold that lies between the same rows of the sample may be another one.
        inside = bag > 0
        of_bag = columns_of(ranker, data.X[inside]) @ coefficients
        np.testing.assert_allclose(
            of_bag, single.decision_function(data.X[inside]) - single.offset_, atol=1e-6
        )
        assert np.mean(np.abs(scores - expected) > 1e-6) < 0.1
        curves.append(single.objective_curve_)
    if min(map(len, curves)) == max(map(len, curves)):
        np.testing.assert_allclose(ranker.objective_curve_, np.mean(curves, axis=0), rtol=1e-6)


@crossed(form=list(FORMS), relevance=["binary", "graded"])
@settings(max_examples=settings.default.max_examples // 4)
@given(problem=problems(missing=True))
def test_scores_are_the_mean_of_those_of_the_bags(form, relevance, problem):
    y = problem.y if relevance == "graded" else problem.y > np.median(problem.y)
    ranker = clone(FORMS[form]).set_params(n_bags=3, relevance=relevance, random_state=1)
    try:
        ranker.fit(problem.X, y, qid=problem.qid, sample_weight=problem.w)
    except ValueError:
        assert relevance == "binary"  # one class, or none above the other
        return
    columns = columns_of(ranker, problem.X)
    scores = ranker.weak_rankers_.scores(problem.X, ranker.estimator_weights_)
    by_bag = columns @ ranker.bag_weights_.T
    np.testing.assert_allclose(scores, by_bag.mean(axis=1), rtol=1e-12, atol=1e-12)
    assert np.all(np.any(ranker.bag_weights_ != 0, axis=0))
    assert len(ranker.bag_weights_) == 3
    assert np.all(np.diff(ranker.objective_curve_) <= 0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(3))
def test_the_union_stays_within_the_constraints(form, seed):
    X, y = constrained_data(seed)
    ranker = clone(FORMS[form]).set_params(n_bags=4, random_state=seed, **LIMITS).fit(X, y)
    rules, weights = ranker.weak_rankers_, ranker.estimator_weights_
    assert len(weights)
    for one in rules.step_functions(weights):
        steps = np.diff(one.values[: one.bins.n_values])
        assert np.all(steps >= 0) or one.feature != 0
        assert np.all(steps <= 0) or one.feature != 2


def test_the_cut_is_that_of_the_mean_scores():
    X, y = data_of()
    ranker = PNormPushRanker(n_bags=5, n_estimators=5, random_state=0).fit(X, y)
    f = ranker.decision_function(X)
    cuts = np.concatenate([[-np.inf], np.unique(f)])
    assert (ranker.predict(X) != y).sum() == min(((f > cut) != y).sum() for cut in cuts)
    ranker = RankBoost(n_bags=5, n_estimators=5, random_state=0).fit(X, y)
    scores = ranker.decision_function(X) - ranker.offset_
    assert ranker.offset_ == pytest.approx(oracles.f_skew_offset(scores, y))
    margin = (scores[y == 1].min() - scores[y == 0].max()) / abs(ranker.estimator_weights_).sum()
    assert ranker.margin_ == pytest.approx(margin)
    assert not hasattr(ranker, "margin_curve_")


def test_a_weight_of_two_is_the_row_twice():
    X, y = data_of()
    w = np.random.default_rng(0).integers(0, 3, len(y))
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), w))
    for qid in (None, np.arange(len(y)) % 9):
        ranker = RankBoost(n_bags=3, n_estimators=4, random_state=0)
        one = clone(ranker).fit(X, y, qid=qid, sample_weight=w)
        other = clone(ranker).fit(X[order], y[order], qid=None if qid is None else qid[order])
        np.testing.assert_allclose(
            one.decision_function(X), other.decision_function(X), rtol=1e-9, atol=1e-9
        )


@given(problem=problems())
def test_every_bag_has_a_pair(problem):
    ranker = RankBoost(n_bags=2, n_estimators=1, relevance="graded")
    with pytest.MonkeyPatch.context() as patch:
        seen = seen_samples(patch)
        ranker.fit(problem.X, problem.y, qid=problem.qid, sample_weight=problem.w)
    for posed, weight in seen:
        pairs = posed.preferences
        rows, y = np.flatnonzero(weight), posed.data.y[pairs.order]
        qid = None if posed.data.qid is None else posed.data.qid[pairs.order]
        assert oracles.total_pair_weight(y, qid, weight) > 0
        if qid is None:
            is_lowest = y == y.min()
            for part in (is_lowest, ~is_lowest):
                assert weight[part].sum() == pytest.approx(pairs.weight[part].sum())
        else:
            for query in np.unique(qid[rows]):  # whole queries
                assert np.ptp((weight / pairs.weight)[qid == query]) < 1e-12


def test_bags_depend_on_the_seed_alone():
    X, y = data_of()
    ranker = PNormPushRanker(n_bags=3, n_estimators=4, random_state=3).fit(X, y)
    shuffled = np.random.default_rng(0).permutation(len(y))
    again = clone(ranker).set_params(n_jobs=2).fit(X[shuffled], y[shuffled])
    np.testing.assert_allclose(
        ranker.decision_function(X), again.decision_function(X), rtol=1e-9, atol=1e-9
    )
    other = clone(ranker).set_params(random_state=4).fit(X, y)
    assert np.abs(other.decision_function(X) - ranker.decision_function(X)).max() > 0.01


def test_there_are_no_stages():
    """Nor where all coefficients change after each choice."""
    X, y = data_of()
    for options in ({"n_bags": 2}, {"solver": "corrective"}):
        ranker = PNormPushRanker(n_estimators=3, random_state=0, **options).fit(X, y)
        for name in ("staged_predict", "staged_decision_function", "staged_offsets_"):
            assert not hasattr(ranker, name)


def test_what_does_not_go_with_bags():
    for ranker in (RankBoost, PNormPushRanker):
        refuses(ranker(n_bags=2, weak_ranker="feature"), "n_bags=2", "weak_ranker='feature'")
        refuses(ranker(n_bags=2, warm_start=True), "n_bags=2", "warm_start=True")
        refuses(ranker(n_bags=2, n_iter_no_change=3), "n_bags=2", "n_iter_no_change=3")
        for limit in ("max_thresholds", "max_features_used"):
            refuses(ranker(n_bags=2, weak_ranker=Stumps(**{limit: 3})), "n_bags=2", f"{limit}=3")
        refuses(ranker(n_bags=0), "'n_bags'", "Got 0 instead")
        refuses(ranker(n_bags=1.5), "'n_bags'", "Got 1.5 instead")
    refuses(PNormPushRanker(n_bags=2, solver="lbfgs", alpha=1.0), "n_bags=2", "solver='lbfgs'")
    assert "n_bags" not in SmoothMarginRanker().get_params()
