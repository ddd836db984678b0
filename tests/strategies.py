"""Hypothesis strategies: small ranking problems, full of ties on purpose.

Every problem has at least one comparable pair of positive weight, by construction: two
anchor rows of one query, with the lowest and the highest relevance, join the drawn ones,
and the rows are shuffled.
"""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

WEIGHT_KINDS = ("none", "integers", "reals", "zeros")
QUERY_KINDS = ("none", "integers", "strings")

_LABELS = [(0.0, 1.0), (-1.0, 1.0), (3.0, 7.5)]
_GRADES = [(0.0, 1.0, 2.0), (-1.5, 0.0, 2.0, 10.0), (1.0, 2.0, 3.0, 4.0, 5.0)]
_QUERY_IDS = {"integers": (7, -3, 1_000_000), "strings": ("b", "a10", "a9")}


class Problem(NamedTuple):
    """A ranking problem and scores f for its rows.

    X (n, features) floats; y (n,) floats; qid (n,) array or None; w (n,) or None.
    """

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray | None
    w: np.ndarray | None
    f: np.ndarray


def _arrays(elements, size):
    return st.lists(elements, min_size=size, max_size=size).map(np.array)


def _features():
    """Feature values: few distinct integers, or few distinct reals."""
    return st.sampled_from([st.integers(0, 3), st.sampled_from([-2.5, 0.1, 0.2, 40.0])])


def _scores(spread):
    """Scores: a few integers with many ties, or quarters up to +-spread."""
    grid = st.integers(-int(4 * spread), int(4 * spread)).map(lambda s: s / 4)
    return st.one_of(st.just(st.integers(-2, 2)), st.just(grid))


@st.composite
def _weights(draw, n, kinds):
    """Row weights of the drawn kind; the anchors (last two rows) weigh something."""
    kind = draw(st.sampled_from(kinds))
    if kind == "none":
        return None
    positive = st.integers(1, 3)
    if kind == "reals":
        positive = st.sampled_from([0.25, 0.5, 1.0, 1.7, 4.0])
    elements = st.integers(0, 2) if kind == "zeros" else positive
    w = np.concatenate([draw(_arrays(elements, n - 2)), draw(_arrays(positive, 2))])
    return w.astype(float)


@st.composite
def _query_ids(draw, n, kinds):
    """Query ids, unsorted and non-contiguous; the anchors share one."""
    kind = draw(st.sampled_from(kinds))
    if kind == "none":
        return None
    ids = st.sampled_from(_QUERY_IDS[kind])
    return np.array(draw(st.lists(ids, min_size=n - 2, max_size=n - 2)) + [draw(ids)] * 2)


@st.composite
def problems(
    draw,
    relevances=None,
    weights=WEIGHT_KINDS,
    queries=QUERY_KINDS,
    max_rows=9,
    max_features=3,
    spread=4.0,
    missing=False,
):
    """A `Problem`: relevances drawn from one of the given tuples of levels.

    ``weights`` and ``queries`` name the kinds allowed ("zeros": integers with zeros);
    ``spread`` bounds the scores; with ``missing`` at least one feature value is NaN.
    """
    n = draw(st.integers(2, max_rows))
    levels = draw(st.sampled_from(relevances or _LABELS + _GRADES))
    columns = [
        draw(_arrays(draw(_features()), n)).astype(float)
        for _ in range(draw(st.integers(1, max_features)))
    ]
    X = np.column_stack(columns)
    if missing:
        X[draw(_arrays(st.booleans(), X.size)).reshape(X.shape)] = np.nan
        X.flat[draw(st.integers(0, X.size - 1))] = np.nan
    others = draw(st.lists(st.sampled_from(levels), min_size=n - 2, max_size=n - 2))
    y = np.array([*others, levels[0], levels[-1]])
    w = draw(_weights(n, weights))
    qid = draw(_query_ids(n, queries))
    f = draw(_arrays(draw(_scores(spread)), n)).astype(float)
    order = np.array(draw(st.permutations(range(n))))
    return Problem(
        X[order],
        y[order],
        None if qid is None else qid[order],
        None if w is None else w[order],
        f[order],
    )


def bipartite(**options):
    """Problems of two relevances, by default with queries of any kind."""
    return problems(relevances=_LABELS, **options)


def one_list(**options):
    """Bipartite problems without queries."""
    return problems(relevances=_LABELS, queries=("none",), **options)


def graded(**options):
    """Problems of several relevances (three to five levels to draw from)."""
    return problems(relevances=_GRADES, **options)


def with_missing(**options):
    """Problems with missing feature values; a feature may be missing altogether."""
    return problems(missing=True, **options)
