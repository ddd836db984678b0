"""Early stopping that costs nothing: the loss of held-out pairs, its error, the rule, the refit."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from libraries import need
from oracles import stopping as oracles_stopping
from rankers import BOOSTERS
from sklearn.base import clone

from sklearn_rank import BoostedTreesRanker, PNormPushRanker, RankBoost
from sklearn_rank._core.rows import Rows
from sklearn_rank.estimators._boosting.early_stopping import (
    MIN_ROWS,
    EarlyStopping,
    HeldOutLoss,
    HeldOutMetric,
    n_of_rarer_class,
)
from sklearn_rank.metrics import auc_score, compare_auc

pytestmark = pytest.mark.filterwarnings("ignore:The smooth margin stayed negative")
RNG = np.random.default_rng(0)
N = 400
X = RNG.normal(size=(N, 4))
Y = X[:, 0] + RNG.normal(size=N) > 0.8
QUERY = np.arange(N) % 25
STOPPERS = [*BOOSTERS, BoostedTreesRanker]
every_ranker = pytest.mark.parametrize("ranker", STOPPERS)


def held_out(y, qid=None, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    return Rows(np.arange(len(y))[:, None] * 1.0, y, qid, weight)


def standard_error(watched, before, after):
    return np.linalg.norm(watched.deviation(after) - watched.deviation(before))


def make(ranker, **parameters):
    if ranker is BoostedTreesRanker:
        need("lightgbm")
        parameters = {"engine": "lightgbm", "max_bins": 31, **parameters}
    options = {"n_estimators": 60, "learning_rate": 0.5, "n_iter_no_change": 4}
    return ranker(**{**options, "validation_fraction": 0.3, "random_state": 0, **parameters})


# The loss and its error ---------------------------------------------------------------------


@given(
    levels=st.lists(st.integers(0, 2), min_size=6, max_size=14),
    seed=st.integers(0, 99),
    n_queries=st.integers(1, 3),
)
def test_the_loss_and_its_error_are_those_of_the_pairs(levels, seed, n_queries):
    y, rng = np.array([0, 0, 1, 1, *levels]), np.random.default_rng(seed)
    y, n = (y > 0 if seed % 2 else y), len(levels) + 4
    qid = np.append([0, 1, 0, 1], rng.integers(n_queries, size=n - 4)) if n_queries > 1 else None
    before, after = rng.normal(size=(2, n)) * rng.choice([0.1, 1, 10])
    watched = HeldOutLoss(held_out(y, qid), lambda f: 7.0)
    query = np.zeros(n) if qid is None else qid
    wanted = oracles_stopping.pair_losses(y, before, query, np.ones(n))[-1]
    assert watched.measure(before) == (pytest.approx(wanted, rel=1e-9), 7.0)
    found = standard_error(watched, before, after)
    if qid is None:
        wanted = oracles_stopping.standard_error_of_rows(y, before, after)
    else:
        wanted = oracles_stopping.standard_error_of_queries(y, before, after, qid, np.ones(n))
    assert found == pytest.approx(wanted, rel=1e-6, abs=1e-10)


@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize("qid", [None, np.arange(40) % 5])
def test_a_weight_is_a_number_of_rows(graded, qid):
    y = RNG.integers(0, 3, 40)
    y, times = (y if graded else y > 1), RNG.integers(1, 4, 40)
    scores = RNG.normal(size=(2, 40))
    weighted = HeldOutLoss(held_out(y, qid, times * 1.0), len)
    again = None if qid is None else np.repeat(qid, times)
    repeated = HeldOutLoss(held_out(np.repeat(y, times), again), len)
    more = np.repeat(scores, times, axis=1)
    assert weighted.measure(scores[0])[0] == pytest.approx(repeated.measure(more[0])[0])
    found = standard_error(weighted, *scores)
    assert found == pytest.approx(standard_error(repeated, *more), rel=1e-9)
    if qid is not None:
        wanted = oracles_stopping.standard_error_of_queries(y, *scores, qid, times)
        assert found == pytest.approx(wanted, rel=1e-9)


def test_equal_weights_of_any_size_say_nothing_of_the_rows():
    scores = RNG.normal(size=(2, 40))
    found = [
        standard_error(HeldOutLoss(held_out(Y[:40], None, np.full(40, one)), len), *scores)
        for one in (1.0, 1 / 40, 1e-20)
    ]
    np.testing.assert_allclose(found, found[0], rtol=1e-9)


def test_weights_that_are_no_counts_have_no_unit_and_few_rows():
    """Importance weights over orders of magnitude: their sum says nothing of the rows."""
    rng = np.random.default_rng(1)
    weight, scores = np.exp(3 * rng.normal(size=N)), rng.normal(size=(2, N))
    found = [held_out(Y, None, unit * weight) for unit in (1.0, 1e-3, 371.9)]
    errors = [standard_error(HeldOutLoss(one, len), *scores) for one in found]
    np.testing.assert_allclose(errors, errors[0], rtol=1e-9)
    fewest = min(w.sum() ** 2 / (w @ w) for w in (weight[Y], weight[~Y]))
    assert [n_of_rarer_class(one) for one in found] == pytest.approx([fewest] * 3)
    assert fewest < MIN_ROWS < weight[Y].sum()


@pytest.mark.slow
@pytest.mark.parametrize("longest", [20, 200])
def test_the_error_is_the_spread_over_samples_of_queries(longest):
    """A change helps in half the queries; the longest of them may have most of the pairs."""
    qid = np.repeat(np.arange(30), [longest, *[20] * 29])
    differences, errors, rng = [], [], np.random.default_rng(0)
    for _ in range(200):
        y = rng.random(len(qid)) < 0.3
        before = y + rng.normal(size=len(qid))
        after = before + 0.3 * (rng.normal(size=len(qid)) + rng.normal(size=30)[qid] * y)
        watched = HeldOutLoss(held_out(y, qid), len)
        differences.append(watched.measure(after)[0] - watched.measure(before)[0])
        errors.append(standard_error(watched, before, after))
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(differences), rel=0.15)


def test_one_query_may_have_all_the_weight():
    """The others weigh nothing beside it, so that leaving it out tells nothing; but no warning."""
    y, weight = np.arange(40) % 2 == 0, np.repeat([1e9, 1e-9], 20)
    watched = HeldOutLoss(held_out(y, np.repeat([0, 1], 20), weight), len)
    assert np.isfinite(standard_error(watched, *RNG.normal(size=(2, 40))))
    alone = HeldOutLoss(held_out(y, np.zeros(40)), len)
    assert np.isnan(standard_error(alone, *RNG.normal(size=(2, 40))))


def test_the_jackknife_of_the_auc_is_near_its_known_error():
    y = np.repeat([True, False], [60, 240])
    before, after = RNG.normal(size=(2, 300)) + y
    watched = HeldOutMetric("RankBoost", "auc", held_out(y))
    assert watched.measure(before) == (-auc_score(y, before), auc_score(y, before))
    known = compare_auc(y, after, before)
    wanted = (known.high - known.low) / 2 / 1.959964
    assert standard_error(watched, before, after) == pytest.approx(wanted, rel=0.4)
    few = HeldOutMetric("RankBoost", "ndcg@5", held_out(y[:8], np.arange(8) % 2))
    assert len(few.deviation(before[:8])) == 2  # queries


def test_rows_of_the_rarer_class_are_those_with_a_pair():
    y = np.array([True] * 3 + [False] * 9)
    assert n_of_rarer_class(held_out(y)) == n_of_rarer_class(held_out(~y)) == 3
    assert n_of_rarer_class(held_out(y, None, np.full(12, 2.0))) == 6
    assert n_of_rarer_class(held_out(y, np.arange(12) // 2)) == 1  # one query has a pair
    assert n_of_rarer_class(held_out(np.arange(5))) == 4


# The rule -----------------------------------------------------------------------------------


class Given:
    """A loss and errors that are given round by round; scores are the number of the round."""

    def __init__(self, losses, noise):
        self.losses, self.noise = losses, noise

    def measure(self, scores):
        return self.losses[int(scores[0])], 0.0

    def deviation(self, scores):
        return self.noise[int(scores[0])]


@given(seed=st.integers(0, 999), patience=st.integers(1, 6), size=st.sampled_from([0.1, 1, 9]))
def test_it_stops_at_the_first_round_that_is_surely_worse(seed, patience, size):
    rng = np.random.default_rng(seed)
    losses, noise = np.abs(np.arange(30) - 9) / 9 + 0.2 * rng.random(30), rng.normal(size=(30, 3))
    noise *= size / 9
    errors = np.linalg.norm(noise[:, None] - noise, axis=2)
    stopping = EarlyStopping(np.zeros(1), Given(losses, noise), [], [], patience, 0.0)
    for number in range(30):
        stopping.measure(np.array([float(number)]))
        if stopping.is_over:
            break
    wanted = oracles_stopping.rounds(losses, errors, patience)
    assert (stopping.best_round, len(stopping.losses)) == wanted


@every_ranker
@pytest.mark.parametrize("scoring", [None, pytest.param("auc", marks=pytest.mark.slow)])
def test_a_fit_stops_by_the_rule(ranker, scoring):
    """The rounds, from the scores of the held-out rows after each round of a fit to its end."""
    model = make(ranker, scoring=scoring, n_iter_no_change=2, learning_rate=1.0, n_estimators=40)
    model.fit(X[:250], Y[:250], X_val=X[250:], y_val=Y[250:])
    whole = clone(model).set_params(n_iter_no_change=None)
    whole.fit(X[:250], Y[:250], X_val=X[250:], y_val=Y[250:])
    stages = list(whole._stages(X[250:]))
    watched = whole.stopping_on(Rows(X[250:], Y[250:], None, np.ones(N - 250)), [], []).val_measure
    losses = [watched.measure(stage)[0] for stage in stages]
    deviations = np.array([watched.deviation(stage) for stage in stages])
    errors = np.linalg.norm(deviations[:, None] - deviations, axis=2)
    best, last = oracles_stopping.rounds(losses, errors, 2)
    assert (model.n_iter_, len(model.validation_scores_)) == (best, last)
    assert last < len(stages)
    assert hasattr(model, "validation_losses_") == (scoring is None)
    np.testing.assert_array_equal(model.predict(X), list(whole.staged_predict(X))[best - 1])


# The refit ----------------------------------------------------------------------------------


@every_ranker
@pytest.mark.parametrize("with_qid", [False, True])
def test_all_rows_are_fitted_for_the_best_number_of_rounds(ranker, with_qid):
    given_to_fit = {"qid": QUERY} if with_qid else {}
    make_one = partial(make, ranker, validation_fraction=0.4)
    model = make_one().fit(X, Y, **given_to_fit)
    search = make_one(refit_stopped=False).fit(X, Y, **given_to_fit)
    assert model.n_iter_ == search.n_iter_ < 60
    np.testing.assert_array_equal(model.validation_scores_, search.validation_scores_)
    np.testing.assert_array_equal(model.validation_losses_, search.validation_losses_)
    wanted = make_one(n_iter_no_change=None, n_estimators=model.n_iter_).fit(X, Y, **given_to_fit)
    np.testing.assert_array_equal(model.decision_function(X), wanted.decision_function(X))
    assert np.any(model.decision_function(X) != search.decision_function(X))
    assert len(list(model.staged_predict(X))) == model.n_iter_


@every_ranker
def test_rows_that_are_given_are_not_fitted(ranker):
    fits = [
        make(ranker, refit_stopped=refit).fit(X[:250], Y[:250], X_val=X[250:], y_val=Y[250:])
        for refit in (True, False)
    ]
    np.testing.assert_array_equal(*(model.decision_function(X) for model in fits))


def test_a_warm_start_is_not_refitted_and_does_not_go_on_from_a_refit():
    warm = make(RankBoost, warm_start=True).fit(X, Y)
    plain = make(RankBoost, refit_stopped=False).fit(X, Y)
    np.testing.assert_array_equal(warm.decision_function(X), plain.decision_function(X))
    with pytest.raises(ValueError, match="same refit after early stopping"):
        make(RankBoost).fit(X, Y).set_params(warm_start=True).fit(X, Y)


def test_a_warm_start_compares_with_the_best_round_so_far():
    """The best round may lie before the last one: all rounds were kept."""
    rows = {"X_val": X[250:], "y_val": Y[250:]}
    options = {"n_iter_no_change": 2, "learning_rate": 1.0}
    whole = make(RankBoost, **options).fit(X[:250], Y[:250], **rows)
    late = min(whole.n_iter_ + 1, len(whole.validation_scores_) - 1)
    half = make(RankBoost, **{**options, "n_iter_no_change": None}, warm_start=True)
    half.set_params(n_estimators=late).fit(X[:250], Y[:250], **rows)
    half.set_params(n_estimators=60, n_iter_no_change=2).fit(X[:250], Y[:250], **rows)
    assert half.n_iter_ == whole.n_iter_
    np.testing.assert_allclose(half.validation_losses_, whole.validation_losses_, atol=1e-12)


@every_ranker
def test_too_few_rows_stop_nothing(ranker):
    few = np.flatnonzero(Y)[: 3 * MIN_ROWS]
    rows = np.concatenate([few, np.flatnonzero(~Y)[:200]])
    model = make(ranker, n_estimators=8)
    with pytest.warns(
        UserWarning, match=r"runs all rounds, without early .* at least 10 .* There are 9: "
    ):
        model.fit(X[rows], Y[rows])
    plain = make(ranker, n_estimators=8, n_iter_no_change=None).fit(X[rows], Y[rows])
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))
    assert not hasattr(model, "validation_scores_")
    with pytest.warns(UserWarning, match="There are 9: "):
        model.fit(X, Y, X_val=X[rows[-209:]], y_val=Y[rows[-209:]])
    assert model.n_iter_ == len(model.validation_scores_) == 8


def test_the_phases_are_told_apart(capsys):
    model = make(PNormPushRanker, verbose=2).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    n_search = len(model.validation_scores_)
    assert lines[0].startswith("[PNormPushRanker] round 1/60: ")
    assert lines[n_search].startswith(f"[PNormPushRanker] refit round 1/{model.n_iter_}: ")
    assert len(lines) == n_search + model.n_iter_
