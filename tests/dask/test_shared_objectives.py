"""Objectives of rows that several processes hold: as if one process held them all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_fits import run_together
from strategies import bipartite, problems
from test_objectives import prepare
from tiers import crossed

from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.sums import Sums
from sklearn_rank._core.validation import check_qid
from sklearn_rank.objectives import PUSHES, MarginPush, PairLoss, error_cut, offsets

ADDITIVE = ["exponential", "least_squares", "logistic"]
HINGES = ["hinge", "squared_hinge"]


def divided(problem, owner):
    """Return the rows of each process: those it is the owner of, of whole queries."""
    keep = np.ones(len(problem.y), dtype=bool) if problem.w is None else problem.w > 0
    if problem.qid is not None:
        owner = owner[check_qid(problem.qid, len(problem.y))]
    return [np.flatnonzero(keep & (owner == rank)) for rank in range(owner.max() + 1)]


owners = st.lists(st.integers(0, 2), min_size=9, max_size=9).map(np.array)


def shared(problem, owner, make, find):
    """Return what `find` does of the objective that `make` poses, by process and by row.

    `find` maps an objective and scores to a value and arrays over rows.
    """
    parts = divided(problem, owner[: len(problem.y)])
    codes = None if problem.qid is None else check_qid(problem.qid, len(problem.y))
    weight = np.ones(len(problem.y)) if problem.w is None else problem.w

    def task(collective):
        rows = parts[collective.rank]
        qid = None if codes is None else codes[rows]
        pairs = Preferences.from_labels(problem.y[rows], qid, weight[rows], Sums(collective))
        rows = rows[pairs.order]
        value, *arrays = find(make(pairs), problem.f[rows])
        return rows, value, arrays

    found, _ = run_together(len(parts), task)
    values = [value for _, value, _ in found]
    arrays = [np.zeros(len(problem.y)) for _ in found[0][2]]
    for rows, _, of_part in found:
        for array, part in zip(arrays, of_part, strict=True):
            array[rows] = part
    return values, arrays


def assert_as_one(problem, owner, make, find, tol=1e-10):
    values, arrays = shared(problem, owner, make, find)
    pairs, rows = prepare(problem)
    value, *expected = find(make(pairs), problem.f[rows])
    assert len(set(values)) == 1
    assert values[0] == pytest.approx(value, rel=tol, abs=tol)
    for array, part in zip(arrays, expected, strict=True):
        np.testing.assert_allclose(array[rows], part, rtol=tol, atol=tol)


def derivatives(objective, scores):
    return objective.value_gradient_curvature(scores)


@crossed(loss=ADDITIVE, mean=[True, False])
@given(problem=problems(), owner=owners)
def test_pair_losses(loss, mean, problem, owner):
    assert_as_one(problem, owner, lambda pairs: PairLoss(pairs, loss, mean=mean), derivatives)


@crossed(loss=ADDITIVE, side=["top", "bottom"])
@given(problem=problems(), owner=owners)
def test_heights(loss, side, problem, owner):
    def find(objective, scores):
        return 0.0, objective.heights(scores, objective.preferences.weight, side)

    assert_as_one(problem, owner, lambda pairs: PairLoss(pairs, loss), find)


@crossed(loss=ADDITIVE[1:], p=[1, 2, 4], push=["top", "bottom", "both"])
@given(problem=problems(), owner=owners)
def test_margin_pushes(loss, p, push, problem, owner):
    assert_as_one(problem, owner, lambda pairs: MarginPush(pairs, loss, p, push, 0.3), derivatives)


@crossed(loss=HINGES, p=[1, 4], push=["top", "both"])
@given(problem=problems(queries=("integers",)), owner=owners)
def test_hinges_of_whole_queries(loss, p, push, problem, owner):
    def find(objective, scores):
        return objective.value_gradient_slopes(scores)

    assert_as_one(problem, owner, lambda pairs: MarginPush(pairs, loss, p, push, 0.3), find)


@given(problem=problems(), owner=owners)
def test_information_retrieval_push(problem, owner):
    assert_as_one(problem, owner, lambda pairs: PUSHES["ir"](pairs, 1.0, 1.0), derivatives)


@crossed(loss=ADDITIVE, p=[1, 4])
@given(problem=bipartite(), owner=owners, h=st.lists(st.booleans(), min_size=9, max_size=9))
def test_slopes(loss, p, problem, owner, h):
    def make(pairs):
        is_exponential = loss == "exponential"
        return PairLoss(pairs, loss) if is_exponential else MarginPush(pairs, loss, p)

    def find(objective, scores):
        # h is a function of the row: of its score and its weight.
        code = np.round(4 * scores + 3 * objective.preferences.weight).astype(int)
        return objective.slope(scores, np.array(h)[code % len(h)])(0.25), scores

    assert_as_one(problem, owner, make, find)


@pytest.mark.parametrize("loss", ["least_squares", "logistic"])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_many_rows_far_from_zero(loss, shift):
    rng = np.random.default_rng(0)
    y, f, w = rng.random(20_000) < 0.2, rng.normal(size=20_000) * 30 + shift, rng.random(20_000)
    f[0] -= 1000.0
    whole = Preferences.from_labels(y, None, w)
    value, gradient = PairLoss(whole, loss, mean=True).value_and_gradient(f[whole.order])

    def task(collective):
        rows = np.arange(collective.rank, len(y), collective.size)
        pairs = Preferences.from_labels(y[rows], None, w[rows], Sums(collective))
        rows = rows[pairs.order]
        return rows, PairLoss(pairs, loss, mean=True).value_and_gradient(f[rows])

    for rows, (found, slopes) in run_together(3, task)[0]:
        assert found == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(slopes, gradient[np.argsort(whole.order)][rows], atol=1e-16)


NEEDS = dict.fromkeys(HINGES, "One list on several processes needs in_processes")
NEEDS["logistic"] = "needs scores that differ by at most 131072"


@pytest.mark.parametrize("width", [1e6, 1e300])
@pytest.mark.parametrize("loss", NEEDS)
def test_losses_that_sort_and_scores_too_wide_for_the_grid_are_refused(loss, width):
    def task(collective):
        pairs = Preferences.from_labels(np.array([0, 1]), None, np.ones(2), Sums(collective))
        return PairLoss(pairs, loss).value(np.array([-width, width]))

    with pytest.raises(ValueError, match=NEEDS[loss]):
        run_together(2, task)


def assert_cut_as_one(f, positive, weight, owner):
    def task(collective):
        rows = owner == collective.rank
        return error_cut(f[rows], positive[rows], weight[rows], Sums(collective))

    cuts, _ = run_together(3, task)
    assert len(set(cuts)) == 1
    assert cuts[0] == pytest.approx(error_cut(f, positive, weight), rel=1e-12, abs=1e-12)


@given(problem=bipartite(), owner=owners)
def test_error_cuts_of_few_rows(problem, owner):
    weight = np.ones(len(problem.y)) if problem.w is None else np.maximum(problem.w, 0.5)
    assert_cut_as_one(problem.f, problem.y > problem.y.min(), weight, owner[: len(problem.y)])


@pytest.mark.parametrize("share", [0.4, 0.0001, 0.9999])
@pytest.mark.parametrize("rounding", [None, 1, 1e-14])
def test_error_cuts_of_many_rows(share, rounding, monkeypatch):
    monkeypatch.setattr(offsets, "_BLOCK_ROWS", 10_000)
    rng = np.random.default_rng(3)
    positive = rng.random(60_000) < share
    f = rng.normal(size=60_000) + positive
    if rounding == 1:
        f = np.round(f, 1)
    elif rounding is not None:  # equal but for rounding
        f = np.round(f, 1) + rounding * rng.random(60_000)
    assert_cut_as_one(f, positive, rng.random(60_000), rng.integers(0, 2, 60_000))


def test_an_error_cut_in_the_lowest_bin():
    rng = np.random.default_rng(5)
    f = np.concatenate([rng.uniform(0, 1e-7, 500), 2e-7 + rng.exponential(size=60_000)])
    positive = np.arange(len(f)) >= 500
    assert_cut_as_one(f, positive, 1e-6 * rng.random(len(f)), rng.integers(0, 2, len(f)))
