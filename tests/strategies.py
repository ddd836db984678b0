"""Hypothesis strategies: small ranking problems, full of ties on purpose.

Every problem has at least one comparable pair of positive weight, by construction: two
anchor rows of one query, with the lowest and the highest relevance, join the drawn ones,
and the rows are shuffled.
"""

from functools import cache
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


def take(problem, rows):
    """Return some rows of a problem."""
    return Problem(*(None if array is None else array[rows] for array in problem))


# Strategies are made once: to make and check one takes longer than to draw from it.
_integers = cache(st.integers)


@cache
def _numbers_below(n, size):
    """Arrays of numbers below n <= 256, made of bytes: one draw instead of one for each element."""
    return st.binary(min_size=size, max_size=size).map(
        lambda drawn: np.array(list(drawn), dtype=int) % n
    )


def _one_of(draw, values):
    return values[draw(_integers(0, len(values) - 1))]


def _array(draw, values, size):
    """Draw an array of some values, of which the first is the simplest."""
    return np.array(values)[draw(_numbers_below(len(values), size))]


# Few distinct integers, or few distinct reals.
_FEATURES = [(0.0, 1.0, 2.0, 3.0), (0.1, 0.2, -2.5, 40.0)]


@cache
def _scores(spread):
    """Values of scores: a few integers with many ties, or quarters up to +-spread."""
    quarters = sorted(range(-int(4 * spread), int(4 * spread) + 1), key=lambda q: (abs(q), q < 0))
    return (0.0, 1.0, -1.0, 2.0, -2.0), tuple(q / 4 for q in quarters)


def _weights(draw, n, kinds):
    """Row weights of the drawn kind; the anchors (last two rows) weigh something."""
    kind = _one_of(draw, kinds)
    if kind == "none":
        return None
    positive = (1.0, 0.25, 0.5, 1.7, 4.0) if kind == "reals" else (1.0, 2.0, 3.0)
    elements = (0.0, 1.0, 2.0) if kind == "zeros" else positive
    return np.concatenate([_array(draw, elements, n - 2), _array(draw, positive, 2)])


def _query_ids(draw, n, kinds):
    """Query ids, unsorted and non-contiguous; the anchors share one."""
    kind = _one_of(draw, kinds)
    if kind == "none":
        return None
    ids = _array(draw, _QUERY_IDS[kind], n - 1)
    return np.append(ids, ids[-1])


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
    n = draw(_integers(2, max_rows))
    levels = _one_of(draw, relevances or _LABELS + _GRADES)
    n_features = draw(_integers(1, max_features))
    columns = [_array(draw, _one_of(draw, _FEATURES), n) for _ in range(n_features)]
    X = np.column_stack(columns)
    if missing:
        X[_array(draw, (False, True), X.size).reshape(X.shape)] = np.nan
        X.flat[draw(_integers(0, X.size - 1))] = np.nan
    others = _array(draw, levels, n - 2)
    y = np.array([*others, levels[0], levels[-1]])
    w = _weights(draw, n, weights)
    qid = _query_ids(draw, n, queries)
    f = _array(draw, _one_of(draw, _scores(spread)), n)
    order = np.argsort(draw(_numbers_below(256, n)), kind="stable")
    return take(Problem(X, y, qid, w, f), order)


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
