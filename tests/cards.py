"""Hypothesis strategies: scorecards, and rows at the boundaries of their bins."""

import math

import numpy as np
from hypothesis import strategies as st

from sklearn_rank.scorecard import Card, Variable

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
def variables(draw, name, column, kind):
    """A variable of one of the kinds "number", "str", "int", "bool" and "float"."""
    thresholds, special, groups = (), (), None
    if kind == "number":
        thresholds = tuple(sorted(draw(st.sets(_NUMBERS, max_size=5))))
        special = tuple(draw(st.lists(_NUMBERS, max_size=2, unique=True)))
    else:
        values = draw(st.lists(_CATEGORIES[kind], max_size=5, unique=True))
        cut = draw(st.integers(0, len(values)))
        groups = tuple(tuple(group) for group in (values[:cut], values[cut:]) if group)
        if kind == "float" and values:  # of a code alone nothing tells the kind
            codes = draw(st.lists(_NUMBERS, max_size=2, unique=True))
            special = tuple(code for code in codes if code not in values)
    n_bins = Variable(name, column, (), thresholds, special, groups and (*groups,)).n_bins
    points = tuple(draw(st.lists(_POINTS, min_size=n_bins, max_size=n_bins)))
    counts = ()
    if draw(st.booleans()):
        counts = draw(st.lists(st.integers(0, 10_000), min_size=n_bins, max_size=n_bins))
    events = tuple(float(count // 3) for count in counts)
    counts = tuple(map(float, counts))
    return Variable(name, column, points, thresholds, special, groups, counts, events)


@st.composite
def cards(draw, kinds=("number", "str", "int", "bool", "float"), min_variables=0):
    """A card; its names are distinct in databases that ignore their case, too."""
    n_features = draw(st.integers(max(1, min_variables), 4))
    lower = {"unique_by": str.lower, "min_size": n_features, "max_size": n_features}
    names = draw(st.none() | st.lists(_TEXTS, **lower))
    called = names or [f"x{j}" for j in range(n_features)]
    used = draw(st.sets(st.integers(0, n_features - 1), min_size=min_variables))
    return Card(
        variables=tuple(
            draw(variables(called[j], j, draw(st.sampled_from(kinds)))) for j in sorted(used)
        ),
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
    """Return values in each bin of a variable, at and beside its boundaries."""
    if variable.groups is None:
        ends = [*variable.thresholds, *variable.special, 0.0]
        beside = [math.nextafter(end, toward) for toward in (-math.inf, math.inf) for end in ends]
        return [*ends, *beside, math.inf, -math.inf, math.nan, -99.5]
    values = [*variable.special, *(value for group in variable.groups for value in group)]
    if any(isinstance(value, str) for value in values) or not values:
        return [*values, *map(str.swapcase, values), *(f"{one} " for one in values), "unseen", None]
    if all(isinstance(value, bool) for value in values):
        return [True, False, None]
    if all(isinstance(value, int) for value in values):
        return [*values, *(value + 1 for value in values), 77, None]
    return [*values, *(math.nextafter(value, math.inf) for value in values), math.nan]


def rows_of(card, seed=0):
    """Return an object array in which each value of `values_of` occurs in a row."""
    rng = np.random.default_rng(seed)
    values = {variable.column: values_of(variable) for variable in card.variables}
    n_rows = max(map(len, values.values()), default=3)
    X = np.zeros((n_rows, card.n_features), dtype=object)
    for column, of_column in values.items():
        order = rng.permutation(n_rows)
        for row in range(n_rows):
            X[order[row], column] = of_column[row % len(of_column)]
    return X


def column_names(card):
    """Return the names of all columns of tables to score."""
    return card.feature_names or [f"x{j}" for j in range(card.n_features)]
