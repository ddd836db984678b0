"""Hypothesis strategies: scorecards, and rows at the boundaries of their bins."""

import math
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from sklearn_rank.scorecard import Axis, Card, Pair, Variable

AWKWARD = (0.1, 1 / 3, -2.7, 5e-324, 1e-300, 1.7e308, -1e23, 2.0**53 + 2, 1234567.891, 0.0, 7.0)
_TEXTS = st.text(st.sampled_from("aA ä'\"\\`[]%_,;<&>=\n\t😀0"), min_size=1, max_size=6)
_NUMBERS = st.one_of(
    st.sampled_from(AWKWARD), st.floats(allow_nan=False, allow_infinity=False)
).map(lambda x: x + 0.0)
_CATEGORIES = {
    "str": st.one_of(_TEXTS, st.sampled_from(["", "a", "A", "None", "nan", "007", " a", "a "])),
    "int": st.integers(-(2**53), 2**53),
    "bool": st.booleans(),
    "float": _NUMBERS,
}
_POINTS = st.integers(-1000, 1000)


@st.composite
def _weights(draw, n_bins):
    """Counts and events of bins, or none."""
    if draw(st.booleans()):
        return (), ()
    counts = draw(st.lists(st.integers(0, 10_000), min_size=n_bins, max_size=n_bins))
    return tuple(map(float, counts)), tuple(float(one // 3) for one in counts)


@st.composite
def axes(draw, name, column, kind):
    """The bins of a feature of one of the kinds "number", "str", "int", "bool" and "float"."""
    thresholds, special, groups = (), (), None
    if kind == "number":
        thresholds = tuple(sorted(draw(st.sets(_NUMBERS, max_size=5))))
        special = tuple(draw(st.lists(_NUMBERS, max_size=2, unique=True)))
    else:
        found = draw(st.lists(_CATEGORIES[kind], max_size=5, unique=True))
        cut = draw(st.integers(0, len(found)))
        groups = tuple(tuple(one) for one in (found[:cut], found[cut:]) if one)
        if kind == "float" and found:  # of a code alone nothing tells the kind
            codes = draw(st.lists(_NUMBERS, max_size=2, unique=True))
            special = tuple(one for one in codes if one not in found)
    return Axis(name, column, thresholds, special, groups)


@st.composite
def _table(draw, n_bins):
    """Points, counts and events of a term."""
    points = tuple(draw(st.lists(_POINTS, min_size=n_bins, max_size=n_bins)))
    return points, *draw(_weights(n_bins))


@st.composite
def variables(draw, name, column, kind):
    """A variable of a kind."""
    bins = draw(axes(name, column, kind))
    points, counts, events = draw(_table(bins.n_bins))
    return Variable(
        name, column, points, bins.thresholds, bins.special, bins.groups, counts, events
    )


@st.composite
def pairs(draw, called, columns, kind_of):
    """A pair of two columns."""
    first, second = (draw(axes(called[j], j, kind_of[j])) for j in columns)
    return Pair(first, second, *draw(_table(first.n_bins * second.n_bins)))


@st.composite
def cards(draw, kinds=("number", "str", "int", "bool", "float"), min_variables=0, with_pairs=False):
    """A card; its names are distinct in databases that ignore their case, too."""
    n_features = draw(st.integers(max(1, min_variables), 4))
    lower = {"unique_by": str.lower, "min_size": n_features, "max_size": n_features}
    names = draw(st.none() | st.lists(_TEXTS, **lower))
    called = names or [f"x{j}" for j in range(n_features)]
    used = draw(st.sets(st.integers(0, n_features - 1), min_size=min_variables))
    kind_of = [draw(st.sampled_from(kinds)) for _ in range(n_features)]
    possible = [(j, k) for j in range(n_features) for k in range(n_features) if j < k]
    chosen = draw(st.lists(st.sampled_from(possible), max_size=2, unique=True)) if possible else []
    return Card(
        variables=tuple(draw(variables(called[j], j, kind_of[j])) for j in sorted(used)),
        pairs=tuple(draw(pairs(called, one, kind_of)) for one in chosen if with_pairs),
        intercept=draw(_POINTS),
        cut=draw(_POINTS),
        classes=draw(st.sampled_from([(0, 1), (False, True), ("<no>", "yes"), (0.5, 1.5)])),
        n_features=n_features,
        feature_names=tuple(names) if names else None,
        risk=draw(st.sampled_from([(), ((-3, 0.1, 0.05, 0.2), (4, 0.5, 0.4, 0.6))])),
        details=draw(
            st.sampled_from([{}, {"p": math.inf, "loss": 0.1, "rows": 7, "note": "<i>", "x": None}])
        ),
    )


def values_of(variable):
    """Return values in each bin of a variable or an axis, at and beside its boundaries."""
    if variable.groups is None:
        ends = [*variable.thresholds, *variable.special, 0.0]
        beside = [math.nextafter(one, toward) for toward in (-math.inf, math.inf) for one in ends]
        return [*ends, *beside, math.inf, -math.inf, math.nan, -99.5]
    found = [*variable.special, *(one for group in variable.groups for one in group)]
    if any(isinstance(one, str) for one in found) or not found:
        return [*found, *map(str.swapcase, found), *(f"{one} " for one in found), "unseen", None]
    if all(isinstance(one, bool) for one in found):
        return [True, False, None]
    if all(isinstance(one, int) for one in found):
        return [*found, *(one + 1 for one in found), 77, None]
    return [*found, *(math.nextafter(one, math.inf) for one in found), math.nan]


def rows_of(card, seed=0):
    """Return an object array in which each value of `values_of` occurs in a row."""
    rng = np.random.default_rng(seed)
    values = {}
    for column in card.features:
        axes = card.axes_of(column)
        if axes[0].groups is not None:  # of one kind in all terms, also where a term names none
            groups = tuple(group for axis in axes for group in axis.groups)
            axes = [replace(axes[0], groups=groups)]
        values[column] = [value for axis in axes for value in values_of(axis)]
    n_rows = max(map(len, values.values()), default=3)
    X = np.zeros((n_rows, card.n_features), dtype=object)
    for column, found in values.items():
        order = rng.permutation(n_rows)
        for row in range(n_rows):
            X[order[row], column] = found[row % len(found)]
    return X


def refusing(card, seed=0):
    """Return the card with policy "refuse" and, of each feature, values that training lacks."""
    rng = np.random.default_rng(seed)

    def counted(term):
        seen = [
            np.concatenate([np.ones(one.n_values), rng.integers(0, 2, one.n_bins - one.n_values)])
            for one in term.axes
        ]
        counts = seen[0] if len(seen) == 1 else np.outer(*seen).ravel()
        return replace(term, counts=tuple(counts.tolist()), events=(0.0,) * len(counts))

    variables, pairs = (tuple(map(counted, one)) for one in (card.variables, card.pairs))
    return replace(card, variables=variables, pairs=pairs, unseen="refuse")


def totals_or_none(card, X):
    """Return the total of each row, None where the card refuses it."""
    lenient = replace(card, unseen="neutral")
    totals, bins = lenient.totals(X).tolist(), lenient.bins(X)
    for number, term in enumerate(card.terms if card.unseen == "refuse" else ()):
        for row in np.flatnonzero(np.isin(bins[:, number], term.unseen_bins())):
            totals[row] = None
    return totals


def column_names(card):
    """Return the names of all columns of tables to score."""
    return card.feature_names or [f"x{j}" for j in range(card.n_features)]
