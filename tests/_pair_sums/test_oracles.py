"""The oracles against arithmetic written out by hand, and against each other."""

from math import exp, inf, log, nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import definitions as oracles
from strategies import Problem, one_list, problems

PUSHES = ["top", "crucial_pairs", "bottom", "both", "ir"]

# One list: row 0 is positive, rows 1 and 2 are negatives; margins 1 and 3.
F, Y, W = [2.0, 1.0, -1.0], [1, 0, 0], [2.0, 3.0, 5.0]

# Rows a < b < c of one query, and a pair of another one.
GRADED_Y = [0, 1, 2, 0, 1]
GRADED_QID = ["s", "s", "s", "t", "t"]


def approx(expected, rel=1e-12, abs=1e-12):
    return pytest.approx(expected, rel=rel, abs=abs)


# Pairs --------------------------------------------------------------------------------------


def test_pairs_are_ordered_by_relevance_within_a_query():
    assert oracles.pairs(GRADED_Y, GRADED_QID) == [(1, 0), (2, 0), (2, 1), (4, 3)]
    assert oracles.pairs([1, 1, 0]) == [(0, 2), (1, 2)]
    assert oracles.pairs([0, 0]) == []
    assert oracles.comparable(1, 0, GRADED_Y, GRADED_QID)
    assert not oracles.comparable(0, 1, GRADED_Y, GRADED_QID)
    assert not oracles.comparable(4, 0, GRADED_Y, GRADED_QID)


def test_pair_weights_are_products_of_row_weights():
    assert oracles.total_pair_weight(Y, None, W) == 2 * 3 + 2 * 5
    assert oracles.total_pair_weight(GRADED_Y, GRADED_QID) == 4
    assert oracles.total_pair_weight([1, 0], None, [0, 4]) == 0


@given(problems())
def test_the_pair_matrix_is_the_pair_list(problem: Problem):
    matrix = oracles.above(problem.y, problem.qid, problem.w)
    w = oracles.row_weights(problem.y, problem.w)
    expected = {(i, k) for i, k in oracles.pairs(problem.y, problem.qid) if w[i] * w[k] > 0}
    assert {(int(i), int(k)) for i, k in np.argwhere(matrix)} == expected
    assert expected, "every generated problem has a pair of positive weight"


@pytest.mark.parametrize(
    ("y", "qid", "w", "expected"),
    [
        ([1, 0, 0], None, None, True),
        ([2, 1, 0], None, None, False),
        ([2, 1, 0], None, [1, 0, 1], True),
        ([1, 0, 1, 0], [1, 1, 2, 2], None, False),
        ([1, 0, 1, 1], [1, 1, 2, 2], None, True),
        ([1, 1], None, None, False),
    ],
)
def test_one_bipartite_list(y, qid, w, expected):
    assert oracles.is_one_bipartite_list(y, qid, w) is expected


# Objectives ---------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 2, 4, 2.5])
def test_pushes_written_out(p):
    top = 3 * (2 * exp(-1)) ** p + 5 * (2 * exp(-3)) ** p
    bottom = 2 * (3 * exp(-1) + 5 * exp(-3)) ** p
    for push, expected in (("top", top), ("bottom", bottom)):
        assert oracles.log_push(F, Y, None, W, p, push) == approx(log(expected) / p)


def test_both_push_written_out():
    top = 3 * (2 * exp(-1)) ** 2 + 5 * (2 * exp(-3)) ** 2
    bottom = 2 * (3 * exp(-1) + 5 * exp(-3)) ** 2
    value = oracles.log_push(F, Y, None, W, 2, "both", bottom_weight=0.25)
    assert value == approx(log(top + 0.25 * bottom))
    alone = oracles.log_push(F, Y, None, W, 2, "both", bottom_weight=0.0)
    assert alone == approx(log(top))


def test_ir_push_written_out():
    expected = 2 * log(1 + 3 * exp(-1) + 5 * exp(-3))
    assert oracles.log_push(F, Y, None, W, push="ir") == approx(expected)


def test_infinite_p_written_out():
    assert oracles.log_push(F, Y, None, W, inf) == approx(log(2 * exp(-1)))
    bottom = log(3 * exp(-1) + 5 * exp(-3))
    assert oracles.log_push(F, Y, None, W, inf, "bottom") == approx(bottom)
    only_the_last = oracles.log_push(F, Y, None, [2, 0, 5], inf)
    assert only_the_last == approx(log(2 * exp(-3)))


GRADED_F = [0.5, 0.0, 1.0, 2.0, -1.0]


def test_relative_pairs_written_out():
    assert oracles.relative_pairs(GRADED_Y, GRADED_QID).tolist() == [1, 1 / 2, 1, 1 / 2, 1]
    weighted = oracles.relative_pairs(GRADED_Y, GRADED_QID, [4, 1, 2, 6, 0], "bottom")
    assert weighted.tolist() == [1, 4 / 5, 1, 1, 1]


@pytest.mark.parametrize("p", [1, 3])
def test_graded_queries_written_out(p):
    # Two rows are above the first, the most; one is above each of the others.
    alone = 0.5 * (2 * exp(-1.0)) ** p + 0.5 * (2 * exp(3.0)) ** p
    expected = (exp(0.5) + exp(-0.5)) ** p + alone
    assert oracles.log_push(GRADED_F, GRADED_Y, GRADED_QID, None, p) == approx(log(expected) / p)


@given(problems(weights=("integers", "zeros")), st.sampled_from(PUSHES))
def test_a_weight_is_a_multiplicity(problem, push):
    X, y, qid, w, f = problem
    copies = np.repeat(np.arange(len(y)), w.astype(int))
    copied_qid = None if qid is None else qid[copies]
    repeated = oracles.log_push(f[copies], y[copies], copied_qid, None, 2, push)
    assert oracles.log_push(f, y, qid, w, 2, push) == approx(repeated)
    for column in range(X.shape[1]):
        once = oracles.thresholds(X[:, column], w, max_bins=3)
        assert once == oracles.thresholds(X[copies, column], None, max_bins=3)


# Pair masses and steps ----------------------------------------------------------------------


def test_closed_form_step_written_out():
    # Two positives, two negatives, all scores zero: each of the four pairs weighs 1/4.
    y, f, h = [1, 1, 0, 0], np.zeros(4), [1, 0, 1, 0]
    assert oracles.pair_masses(h, f, y) == approx((0.25, 0.25, 0.5))
    assert oracles.closed_form_step(h, f, y, p=1) == approx(0.0)
    perfect = [1, 1, 0, 0]
    e = 1 / 8
    assert oracles.closed_form_step(perfect, f, y, p=3) == approx(log((1 + e) / e) / 4)
    skewed = [1, 1, 1, 0]
    expected = log((0.5 + e) / (0 + e)) / 2
    assert oracles.closed_form_step(skewed, f, y) == approx(expected)
    assert oracles.step_cap(skewed, y) == approx(log((1 + e) / e) / 2)
    assert oracles.step_cap([4, 0, 0, 0], y, p=3) == approx(log(9) / 4 / 4)
    assert oracles.step_cap([2, 2, 2, 2], y) == inf


@pytest.mark.parametrize("push", PUSHES)
def test_line_search_minimises_and_respects_the_cap(push):
    y, f = [1, 1, 0, 0], np.array([0.3, -0.2, 0.1, -0.4])
    h = np.array([2.0, -1.0, 0.5, -1.5])
    cap = oracles.step_cap(h, y, p=1 if push == "ir" else 2)
    values = [
        oracles.log_push(f + alpha * h, y, None, None, 2, push)
        for alpha in np.linspace(-cap, cap, 201)
    ]
    alpha = oracles.line_search(h, f, y, None, None, 2, push)
    assert oracles.log_push(f + alpha * h, y, None, None, 2, push) <= min(values) + 1e-12
    assert abs(alpha) <= cap
    perfect = np.array([3.0, 3.0, 0.0, 0.0])
    cap = oracles.step_cap(perfect, y, p=1 if push == "ir" else 2)
    assert oracles.line_search(perfect, f, y, None, None, 2, push) == approx(cap)
    assert oracles.line_search(-perfect, f, y, None, None, 2, push) == approx(-cap)
    assert oracles.line_search(np.ones(4), f, y, None, None, 2, push) == 0


# Weak rankers -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "w", "max_bins", "expected"),
    [
        ([3, 1, 2, 2], None, 64, [1.5, 2.5]),
        ([1, 1], None, 64, []),
        ([nan, nan], None, 64, []),
        ([2, nan, 1], None, 64, [1.5, inf]),
        ([2, nan, 1], [1, 0, 1], 64, [1.5]),
        ([3, 1, 2], [1, 0, 1], 64, [2.5]),
        ([1, 2, 3, 4], None, 2, [2.5]),
        ([1, 2, 3, 4], None, 3, [2.5, 3.5]),
        ([1, 2, 3, 4], None, 4, [1.5, 2.5, 3.5]),
        ([1, 2, 3, 4], [5, 1, 1, 1], 2, [1.5]),
        ([1, 2, 3, 4], [1, 1, 1, 9], 3, []),
        ([1, 2, 3, 4, nan], [1, 1, 1, 9, 1], 3, [inf]),
        ([1, 2, 3, 4, 5, nan, nan], None, 2, [3.5, inf]),
        ([1, 1 + 2**-52, 2], None, 64, [1, 1.5 + 2**-53]),
    ],
)
def test_thresholds(x, w, max_bins, expected):
    assert oracles.thresholds(x, w, max_bins) == expected


def test_stumps_come_in_tie_order_and_are_not_constant():
    X = np.array([[1.0, 7.0, nan], [2.0, 7.0, 5.0], [3.0, 7.0, 4.0]])
    found = [(*c[:3], list(c.h)) for c in oracles.stumps(X)]
    assert found == [
        (0, 1.5, False, [0, 1, 1]),
        (0, 2.5, False, [0, 0, 1]),
        (2, 4.5, False, [0, 1, 0]),
        (2, 4.5, True, [1, 1, 0]),
        (2, np.inf, True, [1, 0, 0]),
    ]
    assert [c[:3] for c in oracles.stumps(X, [0, 1, 1])] == [(0, 2.5, False), (2, 4.5, False)]


@given(one_list(), st.sampled_from([1, 2, 4, 16]), st.sampled_from(["top", "bottom"]))
def test_optimal_decrease_is_the_decrease(problem, p, push):
    f, y, qid, w = _objective(problem)
    for stump in oracles.stumps(problem.X, w):
        alpha = oracles.closed_form_step(stump.h, f, y, qid, w, p, push)
        before = oracles.log_push(f, y, qid, w, p, push)
        after = oracles.log_push(f + alpha * stump.h, y, qid, w, p, push)
        decrease = oracles.optimal_decrease(stump.h, f, y, qid, w, p, push)
        assert decrease == approx(before - after, 1e-9, 1e-11)
        assert decrease >= -1e-12


# Boosting -----------------------------------------------------------------------------------


def test_one_round_of_rankboost_written_out():
    X, y = np.array([[1.0], [2.0], [3.0]]), [0, 1, 0]
    # Thresholds 1.5 and 2.5 both have |edge| 1/2: the first is taken.
    e = 1 / 4
    alpha = log((0.5 + e) / (0 + e)) / 2
    assert oracles.boost(X, y, n_rounds=1) == [
        (0, 1.5, False, approx(alpha), approx(log(exp(-alpha) + 1)))
    ]
    halved = oracles.boost(X, y, n_rounds=1, learning_rate=0.5)
    assert halved[0].alpha == approx(alpha / 2)


# Smooth margin ------------------------------------------------------------------------------


def test_margins_written_out():
    assert oracles.ranking_margin(F, 4.0, Y, None, W) == approx(1 / 4)
    assert oracles.ranking_margin(F, 4.0, Y, None, [1, 0, 1]) == approx(3 / 4)
    loss = 2 * 3 * exp(-1) + 2 * 5 * exp(-3)
    assert oracles.smooth_margin(F, 4.0, Y, None, W) == approx(-log(loss) / 4)


def test_unit_pair_weights():
    scaled = oracles.unit_pair_weights([1, 0, 0], None, [0.1, 0.2, 4.0])
    assert scaled == approx(np.array([0.1, 0.2, 4.0]) / sqrt(0.02))
    assert scaled[0] * scaled[1] == approx(1.0)
    assert oracles.unit_pair_weights(Y, None, W) == approx(W)


def test_smooth_margin_step_of_a_separating_weak_ranker_is_the_cap():
    y, h = [1, 1, 0, 0], np.array([1.0, 1.0, 0.0, 0.0])
    assert oracles.smooth_margin_step(h, 0.3, np.zeros(4), y) == approx(log(9) / 2)
    partly = np.array([1.0, 0.0, 0.0, 0.0])
    root = oracles.smooth_margin_step(partly, 1e-3, np.zeros(4), y)
    assert root == approx(log((1 - 1e-3) / 1e-3))


# Scores, offsets, AdaBoost ------------------------------------------------------------------


def test_auc_written_out():
    assert oracles.auc([2, 1, 3], [1, 0, 0]) == 1 / 2
    assert oracles.auc([2, 2, 3], [1, 0, 0]) == 1 / 4
    assert oracles.auc([2, 2, 3], [1, 0, 0], None, [1, 3, 1]) == approx(1.5 / 4)
    pooled = oracles.auc([0, 1, 2, 2, 1], GRADED_Y, GRADED_QID)
    assert pooled == 3 / 4
    with pytest.raises(ValueError, match="pair"):
        oracles.auc([1, 2], [1, 0], [0, 1])


def test_adaboost_written_out():
    # h is right on 3 of 4 rows: edge 1/2, alpha = ln(3)/2. Then the wrong row weighs
    # 1/2 and the others 1/6: the constant has edge (1/6 + 1/6) - (1/6 + 1/2) = -1/3.
    y, h = [1, 1, 0, 0], np.array([[1], [1], [0], [1]])
    scores, coefficients = oracles.adaboost(h, y, 1)
    assert coefficients == approx([log(3) / 2, 0])
    scores, coefficients = oracles.adaboost(h, y, 2)
    assert coefficients == approx([log(3) / 2, -log(2) / 2])
    signs = np.array([1, 1, -1, 1])
    assert scores == approx(signs * log(3) / 2 - log(2) / 2)
    assert oracles.adaboost(2 * h - 1, y, 2)[0] == approx(scores)
    repeated = oracles.adaboost(h[[0, 0, 1, 2, 3]], [1, 1, 1, 0, 0], 3)[1]
    assert oracles.adaboost(h, y, 3, [2, 1, 1, 1])[1] == approx(repeated)


def _objective(problem):
    """The arguments (f, y, qid, w) of every objective."""
    return problem.f, problem.y, problem.qid, problem.w
