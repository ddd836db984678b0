"""Sums over the pairs of small blocks, many at a time, against the explicit pairs."""

from contextlib import ExitStack
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import definitions as oracles
from tiers import crossed

from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.sums import Groups
from sklearn_rank._pair_sums._batches import SideBySide, batches
from sklearn_rank.objectives import MarginPush, PairLoss

WHERE = "sklearn_rank._pair_sums._batches"
NEVER, ALWAYS = 0, 10**9
LAYOUTS = {
    "as it comes": {},
    "one after the other": {"_FEW_PAIRS": NEVER},
    "side by side": {"_FEW_PAIRS": ALWAYS, "_PAIRS_PER_BLOCK": ALWAYS},
    "many batches": {"BATCH_PAIRS": 50, "_SPARE_PAIRS": 10},
}
WIDEST = 340.0
"""Queries with wider scores are summed pair by pair."""

SLOPES = (oracles.phi_derivative, oracles.phi_second)

every_layout = pytest.mark.parametrize("layout", LAYOUTS)


def laid_out(layout):
    """Return a context in which blocks are laid out in one way."""
    stack = ExitStack()
    for name, value in LAYOUTS[layout].items():
        stack.enter_context(patch(f"{WHERE}.{name}", value))
    return stack


class Case(NamedTuple):
    """Rows of several queries in preference order, and all their pairs."""

    preferences: Preferences
    f: np.ndarray
    i: np.ndarray
    k: np.ndarray


def case_of(y, qid, f, w=None):
    w = oracles.row_weights(y, w)
    preferences = Preferences.from_labels(np.asarray(y, dtype=float), qid, w)
    order = preferences.order
    i, k = np.nonzero(oracles.above(np.asarray(y)[order], qid[order]))
    return Case(preferences, f[order], i, k)


WEIGHTS = {
    "one": lambda rng, qid: np.ones(len(qid)),
    "integers": lambda rng, qid: rng.integers(1, 4, len(qid)).astype(float),
    "reals": lambda rng, qid: rng.uniform(0.1, 2, len(qid)),
    "of the query": lambda rng, qid: rng.uniform(0.1, 2, qid.max() + 1)[qid],
    "tiny": lambda rng, qid: 10.0 ** rng.integers(-100, 1, len(qid)),
}


@st.composite
def cases(draw, weights=tuple(WEIGHTS), scales=(0.1, 1.0, 5.0, 40.0, 100.0, 1000.0)):
    """Queries of many shapes, with ties; each has scores of a size of its own."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    sizes = rng.integers(1, draw(st.sampled_from([3, 12, 24])), draw(st.integers(1, 6)))
    qid = np.repeat(np.arange(len(sizes)), sizes)
    scale = rng.choice(draw(st.lists(st.sampled_from(scales), min_size=1, max_size=2)), len(sizes))
    f = scale[qid] * rng.normal(size=len(qid)) + rng.choice([0, 1e3], len(sizes))[qid]
    f = np.where(rng.random(len(qid)) < 0.2, np.round(f), f)
    y = rng.integers(0, draw(st.sampled_from([2, 3, 5])), len(qid))
    w = WEIGHTS[draw(st.sampled_from(weights))](rng, qid)
    return case_of(y, qid, f, w)


def assert_sums(case, found, above, below):
    """Each sum to 1e-11 of itself: no pair is lost beside those with larger derivatives.

    In wide queries, which are summed pair by pair, less than 1e-140 of a pair may be.
    """
    _, f, i, k = case
    slope, second = (law("logistic", f[i] - f[k]) for law in SLOPES)
    roles = (
        (i, below[k], slope),
        (k, above[i], slope),
        (i, below[k], second),
        (k, above[i], second),
    )
    for sums, (role, weight, terms) in zip(found[1:], roles, strict=False):
        expected = np.bincount(role, weight * terms, len(f))
        mass = np.bincount(role, weight, len(f))
        assert np.all(np.abs(sums - expected) <= 1e-11 * np.abs(expected) + 1e-140 * mass)


@every_layout
@given(case=cases(), seed=st.integers(0, 100))
def test_sums_of_queries_of_every_shape(layout, case, seed):
    """Weights of both roles are those of the rows, or others with zeros."""
    preferences, f, i, k = case
    rng, weight = np.random.default_rng(seed), preferences.weight
    some = np.where(rng.random(len(f)) < 0.3, 0.0, rng.uniform(size=len(f)))
    with laid_out(layout):
        loss = PairLoss(preferences)
    for above, below in ((weight, weight), (some, weight), (weight, some), (some, np.ones(len(f)))):
        found = loss.sums(f, above, below, with_second=True)
        assert_sums(case, found, above, below)
        pair = above[i] * below[k]
        expected = np.sum(pair * oracles.phi("logistic", f[i] - f[k]))
        assert found.value == pytest.approx(expected, rel=1e-11, abs=1e-15 * pair.sum())
        same = loss.sums(f, above, below)
        assert same.value == found.value
        np.testing.assert_array_equal(same.upper, found.upper)
        np.testing.assert_array_equal(same.lower, found.lower)


@every_layout
@given(
    case=cases(), side=st.sampled_from(["top", "bottom"]), margin=st.sampled_from([0, 0.5, -300.0])
)
def test_heights_of_queries_of_every_shape(layout, case, side, margin):
    preferences, f, i, k = case
    with laid_out(layout):
        found = PairLoss(preferences).heights(f, preferences.weight, side, margin)
    inner, outer = (i, k) if side == "top" else (k, i)
    losses = preferences.weight[inner] * oracles.phi("logistic", f[i] - f[k] - margin)
    expected = np.bincount(outer, losses, len(f))
    mass = np.bincount(outer, preferences.weight[inner], len(f))
    assert np.all(np.abs(found - expected) <= 1e-11 * expected + 1e-14 * mass)


@crossed(layout=list(LAYOUTS), loss=["hinge", "squared_hinge", "least_squares", "logistic"])
@given(case=cases(weights=("one", "reals")))
def test_all_methods_agree(layout, loss, case):
    preferences, f, i, k = case
    weight = preferences.weight
    with laid_out(layout):
        found = PairLoss(preferences, loss).value_and_gradient(f)
    margin = f[i] - f[k]
    pair = weight[i] * weight[k]
    value = np.sum(pair * oracles.phi(loss, margin))
    assert found[0] == pytest.approx(value, rel=1e-10, abs=1e-10 * pair.sum())
    slope = pair * oracles.phi_derivative(loss, margin)
    gradient = np.bincount(i, slope, len(f)) - np.bincount(k, slope, len(f))
    size = np.bincount(i, abs(slope), len(f)) + np.bincount(k, abs(slope), len(f))
    # Floats below `tiny` have fewer digits.
    assert np.all(np.abs(found[1] - gradient) <= 1e-10 * size + np.finfo(float).tiny)
    assert abs(found[1].sum()) <= 1e-10 * size.sum()


@pytest.mark.parametrize(
    "margin", [1e-3, 1.0, 12.0, 50.0, 300.0, WIDEST - 1e-9, WIDEST + 1e-9, 690]
)
@pytest.mark.parametrize("n", [2, 9, 40])
def test_pairs_in_order_keep_their_digits(margin, n):
    """n rows above n rows: the sums are those of one pair, times n."""
    y, f = np.repeat([1, 0], n), np.repeat([margin, 0.0], n) + 1e3
    preferences = Preferences.from_labels(y, np.zeros(2 * n, dtype=int), np.ones(2 * n))
    loss = PairLoss(preferences)
    pair = [law("logistic", margin) for law in (oracles.phi, *SLOPES)]
    value, gradient, curvature = loss.value_gradient_curvature(f)
    tolerance = 1e-11  # scores of 1e3 know a margin to 1e-13
    assert value == pytest.approx(n * n * pair[0], rel=tolerance)
    np.testing.assert_allclose(np.abs(gradient), -n * pair[1], rtol=tolerance)
    np.testing.assert_allclose(curvature, n * pair[2], rtol=tolerance)
    for side, rows in (("top", slice(n, None)), ("bottom", slice(n))):
        heights = loss.heights(f, np.ones(2 * n), side)
        np.testing.assert_allclose(heights[rows], n * pair[0], rtol=tolerance)
    # All pairs the wrong way round.
    value, gradient, curvature = loss.value_gradient_curvature(-f)
    assert value == pytest.approx(n * n * oracles.phi("logistic", -margin), rel=tolerance)
    np.testing.assert_allclose(curvature, n * pair[2], rtol=tolerance)


@pytest.mark.parametrize("spread", [80.0, 87.0, 120.0, 200.0, WIDEST, 1e4, 1e300])
def test_products_of_large_factors_stay_finite(spread):
    """Every score of one side at one end: all factors are as large as they get."""
    y, qid = np.tile([1] * 20 + [0] * 20, 3), np.repeat(np.arange(3), 40)
    f = np.where(y > 0, -spread / 2, spread / 2)
    f[:40] = np.linspace(-1, 1, 40)
    case = case_of(y, qid, f)
    found = PairLoss(case.preferences).sums(case.f, np.ones(120), np.ones(120), True)
    expected = np.sum(oracles.phi("logistic", case.f[case.i] - case.f[case.k]))
    assert found.value == pytest.approx(expected, rel=1e-12)
    assert_sums(case, found, np.ones(120), np.ones(120))


def test_wide_queries_do_not_change_the_others():
    """Batches with both kinds: each query has the sums that it has alone."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(12), 11)
    y, wide = rng.integers(0, 3, len(qid)), np.arange(12)[qid] % 3 == 0
    f = rng.normal(size=len(qid)) * np.where(wide, 1e5, 1.0)
    preferences = Preferences.from_labels(y.astype(float), qid, np.ones(len(qid)))
    f, wide = f[preferences.order], wide[preferences.order]
    together = PairLoss(preferences).value_gradient_curvature(f)
    of_wide, of_others = (
        PairLoss(preferences).value_gradient_curvature(np.where(rows, f, 0.0))
        for rows in (wide, ~wide)
    )
    np.testing.assert_allclose(together[1], np.where(wide, of_wide[1], of_others[1]), rtol=1e-12)
    np.testing.assert_allclose(together[2], np.where(wide, of_wide[2], of_others[2]), rtol=1e-12)


@every_layout
@given(case=cases(weights=("one",)))
def test_batches_hold_each_pair_once(layout, case):
    preferences = case.preferences
    starts = preferences.segments.start[preferences.queries.start]
    queries = Groups(starts, preferences.n_rows)
    found = []
    with laid_out(layout):
        made = list(batches(preferences.blocks, queries))
    for batch in made:
        rows = []
        for places, empty in ((batch.upper, batch.no_upper), (batch.lower, batch.no_lower)):
            there = places.copy()
            np.put(there, empty, -1)
            rows.append(there.T if isinstance(batch, SideBySide) else there)
        for upper, lower, query in zip(*rows, batch.query, strict=True):
            pairs = [(i, k) for i in upper for k in lower if i >= 0 and k >= 0]
            assert all(queries.start[query] <= row < queries.end[query] for row in sum(pairs, ()))
            found += pairs
    assert sorted(found) == sorted(zip(case.i.tolist(), case.k.tolist(), strict=True))


def test_a_push_on_pairs_in_order():
    """Heights of e^-60: their powers and quotients are those of the definition."""
    y, qid = np.tile([2, 1, 1, 0, 0], 4), np.repeat(np.arange(4), 5)
    f = 30.0 * y + np.random.default_rng(1).normal(size=20)
    preferences = Preferences.from_labels(y.astype(float), qid, np.ones(20))
    for p in (2.0, 16.0):
        for push in ("top", "bottom"):
            found = MarginPush(preferences, "logistic", p, push).value_and_gradient(
                f[preferences.order]
            )
            value, gradient = oracles.margin_push(f, y, qid, None, "logistic", p, push)
            assert found[0] == pytest.approx(value, rel=1e-10)
            np.testing.assert_allclose(found[1], gradient[preferences.order], rtol=1e-8, atol=0)
