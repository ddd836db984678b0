"""Sums over the pairs of many queries by the moments of cells, against the explicit pairs."""

from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import definitions as oracles
from test_batches import Case, case_of

from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._pair_sums._block_sums import BlockSums
from sklearn_rank._pair_sums._cell_sums import CellSums
from sklearn_rank._pair_sums._logistic._list_in_cells import ListInCells
from sklearn_rank._pair_sums.group_sums import Strip, by_role
from sklearn_rank.objectives import MARGIN_LOSSES, MarginLoss, MarginPush, PairLoss

WHERE = "sklearn_rank._pair_sums._cell_sums"
LOGISTIC = MARGIN_LOSSES["logistic"]
WIDEST = 20.0
"""Queries with scores spread by more are summed otherwise; a little less, to be safe."""


class LateLogistic(MarginLoss):
    """log(1 + exp(1 - m)), whose derivatives at m and -m have no constant sum."""

    strip = Strip(np.pi)

    def value_and_derivative(self, margin):
        return LOGISTIC.value_and_derivative(margin - 1.0)

    def second_derivative(self, margin):
        return LOGISTIC.second_derivative(margin - 1.0)


LOSSES = {"logistic": (LOGISTIC, 0.0), "late": (LateLogistic(), 1.0)}
every_loss = pytest.mark.parametrize("name", LOSSES)


class Refused:
    """Stands for the sums of scores that are spread too widely."""

    def derivatives(self, *arguments):
        raise AssertionError("not by cells")

    sums = heights = derivatives


def by_cells(case: Case, loss=LOGISTIC, rows_of_a_part=None):
    with patch(f"{WHERE}._PART_ROWS", rows_of_a_part or 16_000):
        return CellSums(case.preferences, loss, Refused())


@st.composite
def cases(draw):
    """Queries of many shapes and levels, with ties; a level, a query or a row weighs little."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    sizes = rng.integers(1, draw(st.sampled_from([3, 12, 60])), draw(st.integers(1, 8)))
    qid = np.repeat(np.arange(len(sizes)), sizes)
    spread = rng.choice([0.0, 0.5, 3.0, WIDEST], len(sizes))
    f = spread[qid] * rng.uniform(-0.499, 0.499, len(qid)) + rng.choice([0, 1e3], len(sizes))[qid]
    f = np.where(rng.random(len(qid)) < 0.2, np.round(f), f)
    y = rng.integers(0, draw(st.sampled_from([1, 2, 5, 40])), len(qid))
    of_what = draw(st.sampled_from(["one", "row", "level", "query"]))
    of_row = {"one": 0 * y, "row": np.arange(len(y)), "level": y, "query": qid}[of_what]
    weights = 10.0 ** rng.integers(-30, 3, max(len(y), 40))
    w = np.ones(len(y)) if of_what == "one" else weights[of_row]
    return case_of(y, qid, f, w)


def expected_sums(case, shift, above, below, margin=0.0):
    """(value, sums of phi', of phi'') over explicit pairs, and the weight of each row's pairs."""
    _, f, i, k = case
    m, n = f[i] - f[k] - shift - margin, len(f)
    found = [
        np.sum(above[i] * below[k] * oracles.phi("logistic", m)),
        *(
            np.bincount(role, weight * law("logistic", m), n)
            for law in (oracles.phi_derivative, oracles.phi_second)
            for role, weight in ((i, below[k]), (k, above[i]))
        ),
    ]
    return found, (np.bincount(i, below[k], n), np.bincount(k, above[i], n))


@every_loss
@given(case=cases(), seed=st.integers(0, 100), rows=st.sampled_from([1, 20, None]))
def test_sums_are_those_over_pairs(name, case, seed, rows):
    """Of every row to a share of the weight of its pairs, whatever the other rows weigh."""
    loss, shift = LOSSES[name]
    rng, weight = np.random.default_rng(seed), case.preferences.weight
    some = np.where(rng.random(len(case.f)) < 0.3, 0.0, rng.uniform(size=len(case.f)))
    for above, below in ((weight, weight), (some, weight), (weight, some)):
        found = by_cells(case, loss, rows).sums(case.f, above, below, True)
        expected, masses = expected_sums(case, shift, above, below)
        assert abs(found.value - expected[0]) <= 2e-11 * np.sum(above[case.i] * below[case.k]) * (
            1 + WIDEST
        )
        for number, (sums, exact) in enumerate(zip(found[1:], expected[1:], strict=True)):
            assert np.all(np.abs(sums - exact) <= 2e-11 * masses[number % 2])
        assert min(found.second_upper.min(), found.second_lower.min()) >= 0


@every_loss
@given(case=cases(), rows=st.sampled_from([1, 20, None]), scale=st.sampled_from([1.0, 7.0]))
def test_derivatives_put_both_roles_together(name, case, rows, scale):
    loss, shift = LOSSES[name]
    weight = case.preferences.weight
    value, gradient, curvature = by_cells(case, loss, rows).derivatives(case.f, scale, True)
    expected, masses = expected_sums(case, shift, weight, weight)
    pairs = weight * (masses[0] + masses[1]) / scale
    size = pairs.sum() * (1 + WIDEST)
    assert abs(value - expected[0] / scale) <= 2e-11 * size
    slope, second = expected[1] - expected[2], expected[3] + expected[4]
    assert np.all(np.abs(gradient - weight * slope / scale) <= 2e-11 * pairs)
    assert np.all(np.abs(curvature - weight * second / scale) <= 2e-11 * pairs)
    assert curvature.min() >= 0
    first_only = by_cells(case, loss, rows).derivatives(case.f, scale)
    assert first_only[0] == value
    np.testing.assert_array_equal(first_only[1], gradient)
    assert len(first_only[2]) == 0


@every_loss
@given(
    case=cases(), side=st.sampled_from(["top", "bottom"]), margin=st.sampled_from([0, 0.5, -3.0])
)
def test_heights_are_those_over_pairs(name, case, side, margin):
    loss, shift = LOSSES[name]
    _, f, i, k = case
    weight = case.preferences.weight
    found = by_cells(case, loss).heights(f, weight, side, margin)
    inner, outer = (i, k) if side == "top" else (k, i)
    losses = weight[inner] * oracles.phi("logistic", f[i] - f[k] - margin - shift)
    expected = np.bincount(outer, losses, len(f))
    mass = np.bincount(outer, weight[inner], len(f))
    assert np.all(np.abs(found - expected) <= 2e-11 * mass * (4 + WIDEST))
    assert found.min() >= 0


def many_queries(n_queries=40, n_rows=60, spread=4.0, seed=0):
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), n_rows)
    y = rng.integers(0, 4, len(qid))
    return case_of(y, qid, spread * rng.uniform(-0.5, 0.5, len(qid)), rng.uniform(0.5, 2, len(qid)))


def test_single_precision_needs_fewer_moments():
    case = many_queries()
    exact, rough = (by_cells(case, loss) for loss in (LOGISTIC, LOGISTIC.single_precision()))
    assert rough._n_terms < exact._n_terms
    found, expected = (one.derivatives(case.f, 1.0)[1] for one in (rough, exact))
    pairs = expected_sums(case, 0.0, *[case.preferences.weight] * 2)[1]
    error = np.max(np.abs(found - expected) / (pairs[0] + pairs[1]))
    assert 1e-12 < error < 1e-9


def test_threads_change_nothing():
    case = many_queries()
    alone = by_cells(case, rows_of_a_part=100)
    with ThreadPool(2).running() as threads:
        shared = by_cells(case, LOGISTIC.in_threads(threads), rows_of_a_part=100)
        assert shared._threads.size == 2
        found = [each.derivatives(case.f, 1.0, True) for each in (alone, shared)]
        for one, other in zip(*found, strict=True):
            np.testing.assert_array_equal(one, other)


def test_calls_at_the_same_time_do_not_meet():
    """One objective that a user's threads share: each call has memory of its own."""
    case = many_queries()
    cells = by_cells(case, rows_of_a_part=500)
    scores = [case.f * factor for factor in np.linspace(0.1, 1.0, 8)]
    alone = [cells.derivatives(f, 1.0, True) for f in scores]
    with ThreadPoolExecutor(4) as executor:
        for _ in range(2):
            together = executor.map(lambda f: cells.derivatives(f, 1.0, True), scores)
            for found, expected in zip(together, alone, strict=True):
                for one, other in zip(found, expected, strict=True):
                    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("scores", ["too wide", "infinite", "NaN"])
def test_other_scores_are_summed_otherwise(scores):
    case = many_queries()
    f = {"too wide": 10 * case.f, "infinite": case.f.copy(), "NaN": case.f.copy()}[scores]
    if scores != "too wide":
        f[7] = np.inf if scores == "infinite" else np.nan
    otherwise = BlockSums(case.preferences, LOGISTIC, "auto")
    cells = CellSums(case.preferences, LOGISTIC, otherwise)
    weight = case.preferences.weight
    with np.errstate(invalid="ignore"):
        sums, heights = ("sums", weight, weight, True), ("heights", weight, "top", 0.0)
        for method, *options in (("derivatives", 2.0), sums, heights):
            found, expected = (getattr(each, method)(f, *options) for each in (cells, otherwise))
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("n_queries", "n_rows", "method", "is_by_cells"),
    [
        (200, 100, "auto", True),
        (200, 100, "dense", False),
        (200, 100, "fast", False),
        (2000, 10, "auto", False),  # few pairs for each row
        (1, 100, "auto", False),
        (4, 10_000, "auto", True),
        (1, 100_000, "auto", False),  # the polynomials of a query must fit into the memory
    ],
)
def test_cells_are_taken_where_they_cost_less(n_queries, n_rows, method, is_by_cells):
    qid = np.repeat(np.arange(n_queries), n_rows)
    y = np.arange(len(qid)) % 4
    preferences = Preferences.from_labels(y, qid, np.ones(len(qid)))
    assert isinstance(PairLoss(preferences, method=method)._sums, CellSums) == is_by_cells


def numbers_of(objective, f):
    """Return the value, the gradient and the bounds of curvature of a push."""
    both = objective.value_gradient_curvature(f)[1:], objective.value_gradient_slopes(f)[1:]
    return [*objective.value_and_gradient(f), *both[0], *both[1]]


@pytest.mark.parametrize("push", ["top", "bottom", "both"])
@pytest.mark.parametrize("name", LOSSES)
def test_a_push_in_parts_is_the_push(name, push):
    """Values, gradients and bounds of curvature, part by part and all rows at once."""
    case = many_queries(n_queries=30)
    loss, _ = LOSSES[name]
    found = []
    blocks = BlockSums(case.preferences, loss, "dense")
    for sums in (by_cells(case, loss, rows_of_a_part=200), blocks):
        objective = MarginPush(case.preferences, loss, 4.0, push)
        objective._pair_loss._sums = sums
        found.append(numbers_of(objective, case.f))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11 * np.abs(other).max())


def test_a_push_without_any_loss_is_zero():
    """Parts without pairs among others, and none that has any."""
    case = case_of([1, 1, 1, 0], np.array([0, 0, 1, 1]), np.array([1.0, 2.0, 0.5, 0.0]))
    objective = MarginPush(case.preferences, LOGISTIC, 4.0)
    objective._pair_loss._sums = by_cells(case, rows_of_a_part=2)
    value, gradient = objective.value_and_gradient(case.f)
    assert value == pytest.approx(np.log1p(np.exp(-0.5)))
    np.testing.assert_allclose(gradient, [0, 0, -1 / (1 + np.exp(0.5)), 1 / (1 + np.exp(0.5))])


def one_list(spread=4.0, n_rows=3000, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n_rows) < 0.3
    preferences = Preferences.from_labels(y, None, rng.uniform(0.5, 2, n_rows))
    return preferences, spread * rng.normal(size=n_rows)


@pytest.mark.parametrize("spread", [1.0, 1e5], ids=["cells", "no cells"])
@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge"])
def test_the_part_of_a_list_has_the_sums_of_its_roles(loss, spread):
    preferences, f = one_list(spread)
    pair_loss = PairLoss(preferences, loss, method="fast")
    rng = np.random.default_rng(1)
    above, below = rng.uniform(size=(2, len(f)))

    def check(part):
        assert isinstance(part, ListInCells) == (loss == "logistic" and spread == 1.0)
        n, (_, lower) = part.n_upper, by_role(below, part.n_upper)
        upper = above[:n]
        for _ in range(2):  # at first, and from what is kept
            for side, weight, rows in (("top", upper, slice(n, None)), ("bottom", lower, slice(n))):
                expected = pair_loss.heights(f, above if side == "top" else below, side)
                found = part.heights(weight, side)
                np.testing.assert_allclose(found, expected[rows], rtol=1e-10, atol=1e-9)
            with_second = loss == "logistic"
            found = part.sums(upper, lower, with_second)
            expected = pair_loss.sums(f, above, below, with_second)
            assert found.value == pytest.approx(expected.value, rel=1e-10)
            for number, (one, other) in enumerate(zip(found[1:], expected[1:], strict=True)):
                if len(other):
                    rows = slice(n) if number % 2 == 0 else slice(n, None)
                    np.testing.assert_allclose(one, other[rows], rtol=1e-9, atol=1e-9)
        return "called"

    assert pair_loss.in_parts(f, check) == ["called"]


@pytest.mark.parametrize("push", ["top", "bottom", "both"])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_a_push_of_a_long_list_is_that_over_pairs(loss, push):
    """Lists in cells or by one sort: values, gradients and bounds, beside those pair by pair."""
    preferences, f = one_list()
    found = []
    for method in ("fast", "dense"):
        objective = MarginPush(preferences, loss, 4.0, push)
        objective._pair_loss = PairLoss(preferences, loss, method=method, mean=True)
        found.append(numbers_of(objective, f))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10 * np.abs(other).max())


@pytest.mark.parametrize("margin", [-200.0, 200.0, 800.0])
def test_a_push_of_extreme_heights_neither_overflows_nor_vanishes(margin):
    """All heights are about e^-margin, or margin: their ratios to p - 1 are of moderate size."""
    y, f = np.repeat([1, 0], 300), np.repeat([margin, 0.0], 300)
    f += np.random.default_rng(0).normal(size=600)
    preferences = Preferences.from_labels(y, None, np.ones(600))
    objective = MarginPush(preferences, "logistic", 4.0)
    value, gradient, curvature = objective.value_gradient_curvature(f)
    assert np.isfinite([value, *gradient, *curvature]).all()
    if margin < 700:
        assert abs(gradient[:300].sum() + gradient[300:].sum()) <= 1e-9 * np.abs(gradient).sum()
        step = 1e-6 * max(1.0, abs(margin)) * np.sign(gradient)
        slope = (objective.value(f + step) - objective.value(f - step)) / 2
        assert slope == pytest.approx(step @ gradient, rel=1e-5)
