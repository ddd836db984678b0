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
from sklearn_rank.objectives import PairLoss

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
