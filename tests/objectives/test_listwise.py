"""Listwise losses against a loop over the queries, and the laws they obey."""

import math
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import definitions as oracles
from oracles import listwise as naive
from sklearn.base import clone
from strategies import problems
from test_objectives import UNIT_H, assert_bounds

from sklearn_rank._core.protocols import require
from sklearn_rank._core.sums import Queries
from sklearn_rank.objectives import (
    LISTWISE_LOSSES,
    CrossEntropy,
    ListLoss,
    ListwiseLoss,
    SmoothedDcg,
    _list_loss,
    error_cut,
    offsets,
)
from sklearn_rank.objectives.listwise import as_listwise_loss

every_loss = pytest.mark.parametrize("loss", LISTWISE_LOSSES)
SIGMA = {"cross_entropy": 1.0, "smoothed_dcg": 0.5}


def codes_of(qid):
    """Codes 0, 1, ... as the estimator makes them."""
    return None if qid is None else np.unique(qid, return_inverse=True)[1]


def in_lists(problem):
    """Return the queries of a problem, and its relevance, weights and scores in their order."""
    weight = np.ones(len(problem.y)) if problem.w is None else problem.w
    lists = Queries.from_codes(codes_of(problem.qid), len(weight))
    return lists, *map(lists.sort, (problem.y, weight, problem.f))


def pose(loss, rows, y, w):
    return ListLoss(rows, as_listwise_loss(loss, SIGMA[loss]), y, w)


def evaluate(loss, f, y, qid=None, w=None):
    """Value and gradient in the order of the arrays given; rows of weight zero left out."""
    f, y = np.asarray(f, dtype=float), np.asarray(y, dtype=float)
    w = np.ones(len(y)) if w is None else np.asarray(w, dtype=float)
    keep = np.flatnonzero(w > 0)
    codes = None if qid is None else codes_of(qid)[keep]
    lists = Queries.from_codes(codes, len(keep))
    rows = keep if lists.order is None else keep[lists.order]
    objective = pose(loss, lists, y[rows], w[rows])
    value, slopes = objective.value_and_gradient(f[rows])
    gradient = np.zeros(len(y))
    gradient[rows] = slopes
    return value, gradient


def expected(loss, f, y, qid=None, w=None):
    return naive.listwise(f, y, qid, w, loss, SIGMA[loss])


@pytest.mark.parametrize("block_rows", [1, 3, 20, _list_loss._BLOCK_ROWS])
@every_loss
@given(problem=problems())
def test_value_and_gradient_are_those_of_the_loop(loss, block_rows, problem):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_list_loss, "_BLOCK_ROWS", block_rows)
        value, gradient = evaluate(loss, problem.f, problem.y, problem.qid, problem.w)
    by_hand, slopes = expected(loss, problem.f, problem.y, problem.qid, problem.w)
    assert value == pytest.approx(by_hand, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-12, atol=1e-12)


def test_many_queries_are_walked_in_several_blocks():
    rng = np.random.default_rng(0)
    qid = rng.integers(0, 300, 60_000)
    y, f, w = rng.integers(0, 5, 60_000), rng.normal(size=60_000), rng.uniform(0.5, 2, 60_000)
    assert len(Queries.from_codes(np.sort(qid), 60_000).queries.blocks(16_384)) == 4
    for loss in LISTWISE_LOSSES:
        value, gradient = evaluate(loss, f, y, qid, w)
        by_hand, slopes = expected(loss, f, y, qid, w)
        assert value == pytest.approx(by_hand, rel=1e-12)
        np.testing.assert_allclose(gradient, slopes, rtol=1e-12, atol=1e-12 / 300)


def test_queries_keep_the_order_in_which_they_appear():
    lists = Queries.from_codes(np.array([4, 2, 4, 0, 2]), 5)
    assert lists.order.tolist() == [0, 2, 1, 4, 3]
    assert lists.queries.start.tolist() == [0, 2, 4]
    assert Queries.from_codes(np.array([4, 4, 2, 0, 0]), 5).order is None


@every_loss
@given(problem=problems())
def test_gradients_are_derivatives(loss, problem):
    y, qid, w = problem.y, problem.qid, problem.w
    numeric = oracles.numeric_gradient(lambda f: expected(loss, f, y, qid, w)[0], problem.f)
    gradient = evaluate(loss, problem.f, y, qid, w)[1]
    scale = max(1.0, 2.0 ** max(y)) if loss == "smoothed_dcg" else 1.0
    np.testing.assert_allclose(gradient, numeric, atol=1e-8 * scale)


@every_loss
@given(problem=problems(queries=("none",), weights=("none", "reals")))
def test_second_derivatives_are_derivatives_of_the_gradient(loss, problem):
    n = len(problem.y)
    weight = np.ones(n) if problem.w is None else problem.w
    lists = Queries.from_codes(None, n)
    objective = pose(loss, lists, problem.y, weight)
    c, b, p = objective.second_derivatives(lists.queries.block(0, 1), problem.f)
    matrix = np.diag(c) - np.outer(b, p) - np.outer(p, b)
    numeric = [
        oracles.numeric_gradient(
            lambda f, i=i: expected(loss, f, problem.y, None, problem.w)[1][i], problem.f
        )
        for i in range(n)
    ]
    scale = max(1.0, 2.0 ** max(problem.y)) if loss == "smoothed_dcg" else 1.0
    np.testing.assert_allclose(matrix, numeric, atol=1e-7 * scale)


@every_loss
@given(problem=problems(weights=("none", "reals")), h=UNIT_H)
def test_curvature_bounds_the_second_derivatives(loss, problem, h):
    lists, y, w, f = in_lists(problem)
    objective = pose(loss, lists, y, w)
    value, gradient, curvature = objective.value_gradient_curvature(f)
    assert value == objective.value(f)
    np.testing.assert_array_equal(gradient, objective.value_and_gradient(f)[1])
    matrix = np.zeros((len(f), len(f)))
    for query in range(objective.n_queries):
        block = lists.queries.block(query, query + 1)
        c, b, p = objective.second_derivatives(block, f[block.items])
        matrix[block.items, block.items] = np.diag(c) - np.outer(b, p) - np.outer(p, b)
    scale = max(1.0, 2.0 ** max(problem.y)) if loss == "smoothed_dcg" else 1.0
    assert (curvature >= 0).all()
    assert_bounds(curvature, matrix, h, 1e-13 * scale)
    if loss == "cross_entropy":  # the diagonal itself
        np.testing.assert_allclose(curvature, np.diag(matrix), atol=1e-15)


# A loss of one's own ------------------------------------------------------------------------


class SquaredLoss(ListwiseLoss):
    """Half the squared errors of relevance on a scale of its own."""

    def __init__(self, unit=1.0):
        self.unit = unit

    def target(self, block, relevance, weight):
        return self.unit * relevance

    def value_and_gradient(self, block, scores, target, weight):
        error = scores - target
        gradient = error if weight is None else weight * error
        return gradient @ error / 2, gradient


@given(problem=problems(weights=("none", "reals")))
def test_a_loss_of_ones_own_gets_the_rows_of_its_block(problem):
    lists, y, w, f = in_lists(problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_list_loss, "_BLOCK_ROWS", 3)
        objective = ListLoss(lists, SquaredLoss(unit=2.0), y, w)
    value, gradient = objective.value_and_gradient(f)
    assert value == pytest.approx(w @ (f - 2 * y) ** 2 / 2 / objective.n_queries, rel=1e-12)
    np.testing.assert_allclose(gradient, w * (f - 2 * y) / objective.n_queries, rtol=1e-12)


def test_what_a_loss_of_ones_own_does_not_have():
    objective = ListLoss(Queries.from_codes(None, 2), SquaredLoss(), np.ones(2), np.ones(2))
    for method in ("value_gradient_curvature", "second_derivatives"):
        assert not hasattr(objective, method)
        with pytest.raises(ValueError, match=f"Newton needs {method}, which ListLoss lacks"):
            require(objective, method, "Newton")


def test_the_gradient_that_a_loss_returns_is_left_alone():
    class SameSlope(SquaredLoss):
        gradient = np.array([3.0, -3.0])

        def value_and_gradient(self, block, scores, target, weight):
            return 0.0, self.gradient

    rows = Queries.from_codes(np.array([0, 1, 1]), 3)
    ListLoss(rows, SameSlope(), np.ones(3), np.ones(3)).by_block(
        rows.queries.block(1, 2), np.ones(2)
    )
    assert SameSlope.gradient.tolist() == [3.0, -3.0]


def test_names_and_objects_of_listwise_losses():
    assert as_listwise_loss("cross_entropy", sigma=0.5) == CrossEntropy()
    assert as_listwise_loss("smoothed_dcg", sigma=0.5) == SmoothedDcg(0.5) != SmoothedDcg()
    own = SquaredLoss()
    assert as_listwise_loss(own, sigma=0.5) is own
    assert clone(SmoothedDcg(0.5), safe=False) == SmoothedDcg(0.5)
    for wrong in ("nope", None, CrossEntropy):
        with pytest.raises(ValueError, match="'loss' parameter") as caught:
            as_listwise_loss(wrong)
        assert all(repr(name) in str(caught.value) for name in LISTWISE_LOSSES)
    with pytest.raises(ValueError, match="'sigma' parameter of SmoothedDcg"):
        SmoothedDcg(0.0)


# Laws ---------------------------------------------------------------------------------------


@every_loss
@given(problem=problems(), shift=st.sampled_from([-1e3, -0.3, 5.0, 1e6]))
def test_a_shift_of_a_query_changes_nothing(loss, problem, shift):
    qid = np.zeros(len(problem.y)) if problem.qid is None else problem.qid
    moved = problem.f + shift * (qid == qid[0])
    value, gradient = evaluate(loss, problem.f, problem.y, qid, problem.w)
    again, slopes = evaluate(loss, moved, problem.y, qid, problem.w)
    largest = 2.0 ** max(problem.y) if loss == "smoothed_dcg" else 1.0
    assert again == pytest.approx(value, abs=1e-9 * largest)
    np.testing.assert_allclose(slopes, gradient, atol=1e-9 * largest)


@every_loss
@pytest.mark.parametrize("scale", [1e3, 1e20])
def test_huge_scores_are_finite(loss, scale):
    value, gradient = evaluate(loss, np.array([-1.0, 0, 1, 1]) * scale, [3, 2, 1, 0])
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    assert abs(gradient.sum()) < 1e-12
    if loss == "cross_entropy":
        # log Z is scale + log 2, the target (e^3, e^2, e, 1) / Z.
        z = math.e**3 + math.e**2 + math.e + 1
        by_hand = (math.e**3 * 2 * scale + math.e**2 * scale) / z + math.log(2)
        assert value == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("top", [1e3, 1e300, 1.7e308])
def test_relevance_may_take_the_whole_of_the_probability(top):
    value, gradient = evaluate("cross_entropy", [0.0, 0.0, 0.0], [top, -top, 0.0])
    assert value == pytest.approx(math.log(3), rel=1e-14)
    np.testing.assert_allclose(gradient, [1 / 3 - 1, 1 / 3, 1 / 3], rtol=1e-14)


# Cuts ---------------------------------------------------------------------------------------


@given(problem=problems(relevances=[(0.0, 1.0)], queries=("none",), weights=("none", "integers")))
def test_the_cut_makes_the_fewest_errors_and_is_the_lowest_of_these(problem):
    f, positive = problem.f, problem.y == 1
    weight = np.ones(len(f)) if problem.w is None else problem.w
    cut = error_cut(f, positive, weight)
    errors = {c: naive.weighted_error(c, f, positive, weight) for c in naive.error_cuts(f)}
    fewest = min(errors.values())
    assert naive.weighted_error(cut, f, positive, weight) == fewest
    lowest = next(c for c in naive.error_cuts(f) if errors[c] == fewest)
    if math.isinf(lowest):
        assert (f > cut).all() if lowest < 0 else (f < cut).all()
    else:
        assert cut == lowest


@given(
    seed=st.integers(0, 10**6),
    digits=st.sampled_from([0, 1, 3, 12]),
    spread=st.sampled_from([0.0, 1.0, 4.0]),
    share=st.sampled_from([0.02, 0.4, 0.98]),
    scale=st.sampled_from([1e-300, 1.0, 1e300]),
    weighted=st.booleans(),
)
def test_the_cut_of_many_rows_needs_no_sort(seed, digits, spread, share, scale, weighted):
    """Summed into bins first: the same cut, with ties and scores that differ by rounding."""
    rng = np.random.default_rng(seed)
    positive = rng.random(400) < share
    f = scale * np.round(rng.normal(size=400) + spread * positive, digits)
    f *= 1 + 1e-15 * rng.integers(0, 3, 400)
    weight = rng.integers(1, 4, 400) / 8.0 if weighted else np.ones(400)
    expected = error_cut(f, positive, weight)
    with patch.multiple(offsets, _MANY_ROWS=100, _N_BINS=64):
        assert error_cut(f, positive, weight) == expected


def test_the_cut_of_many_rows_is_found_in_bins():
    rng = np.random.default_rng(0)
    positive = np.arange(2000) % 2 == 0
    f = rng.normal(size=2000) + 2 * positive
    expected, found, by_bins = error_cut(f, positive, np.ones(2000)), [], offsets._cut_by_bins

    def noted(*arguments):
        found.append(by_bins(*arguments))
        return found[-1]

    with patch.multiple(offsets, _MANY_ROWS=1000, _N_BINS=256, _cut_by_bins=noted):
        assert error_cut(f, positive, np.ones(2000)) == expected
    assert found == [expected]


def test_many_scores_of_zero_have_a_cut_without_a_warning():
    positive = np.arange(200) < 80
    with patch.multiple(offsets, _MANY_ROWS=100):
        assert error_cut(np.zeros(200), positive, np.ones(200)) == 1.0


def test_a_cut_does_not_part_scores_that_differ_by_rounding():
    f = np.array([1.0, 1.0 + 2e-16, 2.0])
    positive = np.array([False, True, True])
    assert error_cut(f, positive, np.array([3.0, 1.0, 1.0])) == pytest.approx(1.5)
    assert error_cut(f, positive, np.array([1.0, 3.0, 1.0])) == pytest.approx(0.5)


@pytest.mark.parametrize("scale", [1e-300, 1e20, 1e300])
def test_cuts_of_scores_of_any_size(scale):
    f = np.array([1.0, 2.0, 3.0, 4.0]) * scale
    cut = error_cut(f, np.array([False, False, True, True]), np.ones(4))
    assert cut == pytest.approx(2.5 * scale, rel=1e-15, abs=0)
