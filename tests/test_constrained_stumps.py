"""Constraints on stumps: what may be chosen, what is chosen, and what the model then is."""

import numpy as np
import oracles
import oracles_tables
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import one_list, problems
from test_boosting import fit, training_part
from tiers import crossed

from sklearn_rank import PNormPushRanker, RankBoost, SmoothMarginRanker

N_ROUNDS = 6
pytestmark = pytest.mark.filterwarnings("ignore:.*no weak ranker", "ignore:.*smooth margin stayed")
BOOSTERS = [RankBoost, PNormPushRanker, SmoothMarginRanker]


@st.composite
def constraints(draw, n_features, categories=True):
    """Parameters that constrain stumps on `strategies.problems`."""
    found = {}
    columns = st.integers(0, n_features - 1)
    sign = draw(st.lists(st.sampled_from([0, 1, -1]), min_size=n_features, max_size=n_features))
    if categories and draw(st.booleans()):
        found["categorical_features"] = [draw(columns)]
        sign[found["categorical_features"][0]] = 0
    numeric = [j for j in range(n_features) if j not in found.get("categorical_features", ())]
    found["monotonic_cst"] = sign
    if numeric and draw(st.booleans()):
        codes = draw(st.sampled_from([[1.0], [0.0, 0.2], [40.0, 2.0], [-7.0]]))
        found["special_values"] = {draw(st.sampled_from(numeric)): codes}
    if numeric and draw(st.booleans()):
        given = draw(st.sampled_from([[0.15, 1.5], [0.0, 0.1, 1.0, 50.0], []]))
        found["thresholds"] = {draw(st.sampled_from(numeric)): given}
    found["max_thresholds"] = draw(st.sampled_from([99, 99, 1, 2]))
    found["max_features_used"] = draw(st.sampled_from([None, None, 1, 2]))
    found["min_bin_size"] = draw(st.sampled_from([0.0, 0.0, 0.2, 0.35]))
    return found


@st.composite
def constrained(draw, family=problems, **options):
    """A problem and constraints for it."""
    options = {"missing": draw(st.booleans()), **options}
    problem = draw(family(**options))
    return problem, draw(constraints(problem.X.shape[1]))


def name_of(ranker, number):
    """Return the name of a fitted weak ranker, as `oracles_tables` has it."""
    rules = ranker.weak_rankers_
    j, first = int(rules.feature[number]), int(rules.first_bin[number])
    bins = rules.bins[j]
    if first < 0:
        codes = ranker._category_codes_
        encoder = codes.encoders[codes.positions.index(j)]
        group = np.append(rules.members(number), False)[bins.categories]
        group &= bins.categories >= 0
        return j, "subset", frozenset(encoder.categories_[0][: len(group)][group].tolist())
    if first < bins.n_values:
        return j, "above", bins.thresholds[first - 1]
    if first < bins.missing:
        return j, "code", bins.special[first - bins.n_values]
    return j, "missing", None


def check_rounds(ranker, problem, limits, **options):
    """Replay the fitted rounds: each must have the gain of the oracle from where it stood."""
    fit(ranker.set_params(**limits), problem)
    part = training_part(problem, ranker)
    objective = (
        *(part.y, part.qid, part.w),
        *(options.get("p", 1.0), options.get("push", "top"), options.get("loss", "exponential")),
    )
    selection = options.get("selection", "steepest")
    upper = part.y == part.y.max() if ranker.relevance == "binary" else None
    found = oracles_tables.cells(part.X, part.w, upper, **limits)
    f, net = np.zeros(len(part.y)), {}
    for number, taken in enumerate(ranker.estimator_weights_):
        candidates = oracles_tables.allowed(found, net, **limits)
        gains = [
            oracles_tables.gain(c, net, f, *objective, selection=selection) for c in candidates
        ]
        name = name_of(ranker, number)
        place = [c.name for c in candidates].index(name)
        assert gains[place] == pytest.approx(max(gains), rel=1e-9, abs=1e-9)
        cell = candidates[place]
        codes_of_new_rows = ranker._validate_features(part.X, reset=False)
        np.testing.assert_array_equal(
            ranker.weak_rankers_.values(codes_of_new_rows, number), cell.h
        )
        expected = oracles_tables.step(cell, net, f, objective, ranker.learning_rate)
        before = oracles.objective_value(f, *objective) + oracles.ROUNDING
        while oracles.objective_value(f + expected * cell.h, *objective) > before:
            expected /= 2
        assert taken == pytest.approx(expected, rel=1e-9, abs=1e-9)
        net[name] = net.get(name, 0.0) + taken
        assert cell.sign * net[name] >= 0
        f = f + taken * cell.h
    if ranker.n_iter_ < N_ROUNDS:
        left = oracles_tables.allowed(found, net, **limits)
        gains = [oracles_tables.gain(c, net, f, *objective, selection=selection) for c in left]
        assert max(gains, default=0.0) < 1e-9


@crossed(push=["top", "bottom", "both"], p=[1, 4, 64])
@given(case=constrained())
def test_each_choice_of_the_steepest_is_the_oracles(push, p, case):
    ranker = PNormPushRanker(p=p, push=push, n_estimators=N_ROUNDS, tol=0)
    check_rounds(ranker, *case, p=p, push=push)


@crossed(push=["top", "bottom"], p=[1, 4, 64])
@given(case=constrained(one_list))
def test_each_optimal_choice_is_the_oracles(push, p, case):
    ranker = PNormPushRanker(p=p, push=push, selection="optimal", n_estimators=N_ROUNDS, tol=0)
    check_rounds(ranker, *case, p=p, push=push, selection="optimal")


@pytest.mark.parametrize(
    "loss", ["logistic", pytest.param("squared_hinge", marks=pytest.mark.slow)]
)
@given(case=constrained())
def test_each_choice_of_second_order_is_the_oracles(loss, case):
    ranker = PNormPushRanker(p=2, loss=loss, n_estimators=N_ROUNDS, tol=0)
    check_rounds(ranker, *case, p=2, loss=loss, selection="optimal")


@given(case=constrained())
def test_each_choice_of_the_ir_push_is_the_oracles(case):
    ranker = PNormPushRanker(push="ir", n_estimators=N_ROUNDS, tol=0)
    check_rounds(ranker, *case, p=4, push="ir", selection="optimal")


@given(case=constrained(), rate=st.sampled_from([0.1, 0.5]))
def test_a_learning_rate_shortens_the_steps(rate, case):
    ranker = RankBoost(learning_rate=rate, n_estimators=N_ROUNDS, tol=0)
    check_rounds(ranker, *case)
