"""Boosting round by round against the literal algorithm, and what each round must do."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracles import definitions as oracles
from sklearn.exceptions import ConvergenceWarning
from strategies import graded, one_list, problems, take, with_missing
from tiers import crossed

from sklearn_rank import PNormPushRanker, RankBoost, SmoothMarginRanker
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import PairShares
from sklearn_rank._core.validation import check_qid
from sklearn_rank.estimators._boosting.problem import BoostingProblem
from sklearn_rank.objectives import PUSHES
from sklearn_rank.solvers.coordinate_descent import closed_form_step

N_ROUNDS = 5
WHOLE_STEPS = {"n_estimators": N_ROUNDS, "tol": 0, "learning_rate": 1}
"""Rounds as in the papers: none is left out, and no step is shortened."""
GUIDE = Path(__file__).parents[2] / "docs" / "guide"
few = settings(max_examples=settings.default.max_examples // 2)
pytestmark = pytest.mark.filterwarnings("ignore:.*no weak ranker")
NEGLIGIBLE = 1e-9
"""Edges below are rounding: which weak ranker is best is then undefined."""


def fit(ranker, problem):
    """Fit in binary mode where there are two levels, else in graded mode."""
    levels = np.unique(problem.y if problem.w is None else problem.y[problem.w > 0])
    y = problem.y
    if len(levels) == 2:
        y = np.where(y == levels[1], "relevant", "other")
    ranker.set_params(relevance="binary" if len(levels) == 2 else "graded")
    return ranker.fit(problem.X, y, qid=problem.qid, sample_weight=problem.w)


def training_part(problem, ranker):
    """The rows whose features the ranker has seen."""
    keep = np.ones(len(problem.y), dtype=bool) if problem.w is None else problem.w > 0
    if ranker.relevance == "graded":
        pairs = oracles.above(problem.y, problem.qid, problem.w)
        keep &= pairs.any(axis=0) | pairs.any(axis=1)
    return take(problem, keep)


def objective_of(part, p=1.0, push="top", loss="exponential", **_):
    """What the definitions need to know of an objective."""
    return part.y, part.qid, part.w, p, push, loss


def check_rounds(ranker, problem, **options):
    """Replay the fitted rounds: each must be the oracle's choice from where it stood.

    The choice is compared by what it attains, so that a tie broken by rounding is no
    difference; the step and the objective are compared themselves.
    """
    fit(ranker, problem)
    part = training_part(problem, ranker)
    objective = objective_of(part, **options)
    is_exponential = objective[-1] == "exponential" and objective[-2] != "ir"
    selection = options.get("selection", "steepest" if is_exponential else "optimal")
    candidates = oracles.stumps(part.X, part.w, options.get("max_bins", 64))
    f, rules = np.zeros(len(part.y)), ranker.weak_rankers_
    for number, step in enumerate(ranker.estimator_weights_):
        scores = oracles.candidate_scores(candidates, f, *objective, selection=selection)
        h = rules.values(part.X, number).astype(float)
        chosen = oracles.Stump(
            rules.feature[number], rules.threshold[number], rules.missing_right[number], h
        )
        attained = oracles.candidate_scores([chosen], f, *objective, selection=selection)[0]
        assert attained == pytest.approx(max(scores), rel=1e-9, abs=1e-9)
        if max(scores) > 1e-6:
            tied = [
                c for c, s in zip(candidates, scores, strict=True) if s >= max(scores) * (1 - 1e-9)
            ]
            assert chosen[:3] in [c[:3] for c in tied]
        expected = oracles.step(h, f, *objective) * ranker.learning_rate
        before = oracles.objective_value(f, *objective) + oracles.ROUNDING
        while oracles.objective_value(f + expected * h, *objective) > before:
            expected /= 2
        assert step == pytest.approx(expected, rel=1e-9, abs=1e-9)
        f = f + step * h
        after = oracles.objective_value(f, *objective)
        assert ranker.objective_curve_[number] == pytest.approx(after, rel=1e-9, abs=1e-9)
    if len(ranker.estimator_weights_) < N_ROUNDS and candidates:
        assert max(oracles.candidate_scores(candidates, f, *objective)) < NEGLIGIBLE


@crossed(push=list(PUSHES), p=[1, 2, 4, 16, 64])
@few
@given(problem=problems())
def test_p_norm_push_rounds_equal_the_oracles(push, p, problem):
    ranker = PNormPushRanker(p=p, push=push, **WHOLE_STEPS)
    check_rounds(ranker, problem, p=p, push=push)


@given(problem=problems())
def test_the_p_norm_push_at_p_1_is_rank_boost(problem):
    """With queries and grades too."""
    push, plain = PNormPushRanker(p=1, **WHOLE_STEPS), RankBoost(**WHOLE_STEPS)
    curves = [fit(ranker, problem).objective_curve_ for ranker in (push, plain)]
    np.testing.assert_array_equal(*curves)
    np.testing.assert_array_equal(push.estimator_weights_, plain.estimator_weights_)


@few
@given(problem=with_missing())
def test_missing_values_go_to_the_better_side(problem):
    check_rounds(RankBoost(**WHOLE_STEPS), problem)


@few
@given(problem=problems(max_rows=16), max_bins=st.sampled_from([2, 3]))
def test_few_bins_take_weighted_quantiles(problem, max_bins):
    check_rounds(RankBoost(**WHOLE_STEPS, max_bins=max_bins), problem, max_bins=max_bins)


SLOW = [(1, "top"), (64, "top"), (4, "bottom")]
OPTIMAL = [(4, "top"), (4, "both"), *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)]


@pytest.mark.parametrize(("p", "push"), OPTIMAL)
@few
@given(problem=one_list(max_rows=12))
def test_optimal_selection_takes_the_largest_decrease(p, push, problem):
    ranker = PNormPushRanker(p=p, push=push, selection="optimal", **WHOLE_STEPS)
    check_rounds(ranker, problem, p=p, push=push, selection="optimal")


@few
@given(problem=problems(), rate=st.sampled_from([0.1, 0.5]))
def test_learning_rate_multiplies_the_step(problem, rate):
    check_rounds(RankBoost(n_estimators=N_ROUNDS, tol=0, learning_rate=rate), problem)


@pytest.mark.parametrize("p", [1, 4])
@given(problem=problems(), seed=st.integers(0, 10**6))
def test_a_feature_of_zeros_and_ones_is_a_stump(p, problem, seed):
    X = np.random.default_rng(seed).integers(0, 2, (len(problem.y), 3)).astype(float)
    options = {"p": p, "n_estimators": N_ROUNDS, "tol": 0, "selection": "steepest"}
    curves = [
        fit(PNormPushRanker(weak_ranker=name, **options), problem._replace(X=X)).objective_curve_
        for name in ("feature", "stump")
    ]
    np.testing.assert_allclose(*curves, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("p", [1, 4])
@few
@given(problem=problems())
def test_raw_features_equal_the_oracles(p, problem):
    ranker = fit(PNormPushRanker(p=p, weak_ranker="feature", **WHOLE_STEPS), problem)
    part = training_part(problem, ranker)
    objective = (part.y, part.qid, part.w)
    options = {"p": p, "weak_ranker": "feature", "selection": "steepest"}
    rounds = oracles.boost(part.X, *objective, n_rounds=N_ROUNDS, **options)
    curve = ranker.objective_curve_
    expected = [r.objective for r in rounds[: len(curve)]]
    np.testing.assert_allclose(curve, expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(
    "ranker",
    [
        RankBoost(learning_rate=1),
        RankBoost(),
        RankBoost(selection="optimal", learning_rate=1),
        PNormPushRanker(p=16, learning_rate=1),
        PNormPushRanker(p=4, push="both", learning_rate=1),
        PNormPushRanker(p=4, push="ir", learning_rate=1),
        PNormPushRanker(p=4, push="bottom", weak_ranker="feature", learning_rate=1),
    ],
    ids=str,
)
@few
@given(problem=one_list(max_rows=12), seed=st.integers(0, 3))
def test_each_round_lowers_the_objective(ranker, problem, seed):
    fit(ranker.set_params(n_estimators=30, tol=0), problem)
    if ranker.n_iter_ > 1:
        curve = ranker.objective_curve_
        p, push = getattr(ranker, "p", 1.0), getattr(ranker, "push", "top")
        start = oracles.log_push(np.zeros(len(problem.y)), problem.y, None, problem.w, p, push)
        assert np.all(np.diff(curve, prepend=start) <= 1e-12 * np.maximum(1, np.abs(curve)))


@given(
    problem=one_list(),
    h=st.lists(st.booleans(), min_size=9, max_size=9),
    p=st.sampled_from([1, 4, 64]),
)
def test_closed_form_is_the_minimiser_where_both_shares_are_positive(problem, h, p):
    """The smoothing aside, and within the bound of the numeric line search."""
    h = np.array(h[: len(problem.y)], dtype=float)
    arguments = (problem.y, problem.qid, problem.w)
    shares = oracles.pair_masses(h, problem.f, *arguments, p)
    if min(shares[:2]) < 1e-9:
        h[problem.y == problem.y.max()] = np.arange(np.sum(problem.y == problem.y.max())) % 2
        shares = oracles.pair_masses(h, problem.f, *arguments, p)
    assume(min(shares[:2]) > 1e-9)
    step = closed_form_step(PairShares(*shares), p, 0.0)
    cap = oracles.step_cap(h, *arguments, p)
    expected = oracles.line_search(h, problem.f, *arguments, p)
    assert np.clip(step, -cap, cap) == pytest.approx(expected, abs=1e-8)
    smoothed = closed_form_step(PairShares(*shares), p, oracles.smoothing(*arguments))
    assert abs(smoothed) <= abs(step) + 1e-15  # rounding, where both are nearly zero
    assert smoothed * step >= 0


@pytest.mark.parametrize(
    "ranker",
    [RankBoost(learning_rate=1), PNormPushRanker(p=64, learning_rate=1), SmoothMarginRanker()],
    ids=str,
)
def test_separating_weak_ranker_constant_feature_and_tiny_weights(ranker):
    X = np.column_stack([np.arange(20.0), np.ones(20)])
    y = (X[:, 0] > 9).astype(int)
    for weight in (None, np.full(20, 1e-2), np.full(20, 1e-4)):
        ranker.fit(X, y, sample_weight=weight)
        assert np.isfinite(ranker.decision_function(X)).all()
        assert ranker.score(X, y) == 1.0


def posed(problem, scale=1.0):
    """A boosting problem without the parts that `smoothing` does not ask."""
    w = np.ones(len(problem.y)) if problem.w is None else problem.w
    there = np.flatnonzero(w > 0)
    qid = None if problem.qid is None else check_qid(problem.qid[there], len(there))
    preferences = Preferences.from_labels(problem.y[there], qid, scale * w[there])
    return BoostingProblem(None, preferences, None, None, None, None)


@given(problem=problems())
def test_smoothing_equals_the_loop_over_pairs(problem):
    expected = oracles.smoothing(problem.y, problem.qid, problem.w)
    assert posed(problem).smoothing == pytest.approx(expected, rel=1e-12)


@given(problem=problems(), scale=st.sampled_from([1e-170, 1e-160, 1e-3]))
def test_weights_below_one_leave_the_smoothing(problem, scale):
    """What counts is how unequal they are: their sum is that of less than one row."""
    w = np.ones(len(problem.y)) if problem.w is None else problem.w
    below = problem._replace(w=w / w.max())
    assert posed(below, scale).smoothing == pytest.approx(posed(below).smoothing, rel=1e-11)


@pytest.mark.parametrize("estimator", [RankBoost, PNormPushRanker])
@pytest.mark.parametrize("weak_ranker", ["stump", "feature"])
def test_constant_features_give_constant_scores(estimator, weak_ranker):
    X, y = np.ones((6, 2)), [0, 1, 0, 1, 1, 1]
    with pytest.warns(ConvergenceWarning, match="no weak ranker"):
        ranker = estimator(weak_ranker=weak_ranker).fit(X, y)
    assert np.ptp(ranker.decision_function(X)) == 0
    assert ranker.score(X, y) == 0.5
    assert np.all(ranker.predict(X) == 1)  # the greater class has more mass


@given(problem=graded(queries=("integers",)))
def test_graded_rows_without_a_pair_change_nothing(problem):
    ranker = RankBoost(relevance="graded", n_estimators=3)
    before = ranker.fit(problem.X, problem.y, qid=problem.qid, sample_weight=problem.w)
    before = before.predict(problem.X)
    X = np.vstack([problem.X, problem.X[:1] + 17])
    y, qid = np.append(problem.y, 0.0), np.append(problem.qid, 99)
    w = None if problem.w is None else np.append(problem.w, 1.0)
    after = ranker.fit(X, y, qid=qid, sample_weight=w).predict(problem.X)
    np.testing.assert_array_equal(before, after)


@crossed(relevance=["binary", "graded"], constant=[0.0, 1e12, 1.6e18], scale=[1e-15, 1.0, 1e15])
def test_constant_and_tiny_features_hide_no_other(relevance, constant, scale):
    """The masses sum to zero only up to rounding: a constant column must not win by it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    y = (X[:, 0] + rng.standard_normal(200) > 0).astype(int)
    options = {"weak_ranker": "feature", "relevance": relevance}
    expected = RankBoost(**options).fit(X, y)
    found = RankBoost(**options).fit(np.column_stack([np.full(200, constant), scale * X]), y)
    assert found.n_iter_ == pytest.approx(expected.n_iter_, abs=2)
    assert found.objective_curve_[-1] == pytest.approx(expected.objective_curve_[-1], abs=1e-6)


@pytest.mark.parametrize("p", [1, 4])
@pytest.mark.parametrize("push", ["top", "bottom"])
@pytest.mark.parametrize("width", [0.5, 3.0])
def test_the_longest_step_of_a_line_search_is_the_documented_one(p, push, width):
    """Features that order every pair rightly have no minimum along them."""
    X = width * np.array([[0.0], [0.25], [0.5], [1.0]])
    options = {"weak_ranker": "feature", "n_estimators": 1, "learning_rate": 1}
    ranker = PNormPushRanker(p=p, push=push, **options)
    step = ranker.fit(X, [0, 0, 1, 1]).estimator_weights_[0]
    e = 1 / (2 * 4)
    assert step == pytest.approx(np.log((1 + e) / e) / (p + 1) / width, rel=1e-12)
    for page in ("p_norm_push", "rank_boost"):
        text = (GUIDE / f"{page}.md").read_text(encoding="utf-8")
        limit = "the closed form at $d_+ = 1$, $d_- = 0$ divided by the range of $h$ over pairs"
        assert f"at most as long as {limit}" in " ".join(text.split())


def test_a_warm_start_on_other_rows_is_refused():
    """The coefficients of the last fit would be those of other stumps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = X[:, 0] + rng.normal(size=30) > 0
    ranker = RankBoost(n_estimators=3, warm_start=True).fit(X, y)
    before = ranker.decision_function(X)
    ranker.set_params(n_estimators=6)
    few = np.round(X), y  # has fewer stumps
    for other in ((rng.normal(size=(30, 2)), y), few):
        with pytest.raises(ValueError, match="needs the same data as before: these rows do not"):
            ranker.fit(*other)
        np.testing.assert_array_equal(ranker.decision_function(X), before)
    assert ranker.fit(X, y).n_iter_ == 6
