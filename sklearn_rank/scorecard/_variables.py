"""The variables of a card: bins with equal points merged, thresholds of few digits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, Context, Decimal

import numpy as np

from sklearn_rank._protocols import Floats, Indices, Values
from sklearn_rank.models import StepFunction
from sklearn_rank.rows import ALL_HERE, Rows, Sums
from sklearn_rank.scorecard.card import Variable

_EXACT = Context(prec=800)  # holds every float, from 5e-324 to 1.8e308


def make_variables(
    steps: Sequence[StepFunction],
    tables: Sequence[Indices],
    data: Rows,
    names: Sequence[str],
    categories: dict[int, Values],
    given: Sequence[int] = (),
) -> tuple[Variable, ...]:
    """Return the variables with points other than zero, by column.

    Parameters
    ----------
    steps : list of StepFunction
        The step functions of the ranker.
    tables : list of ndarray of int
        Points of each of their bins.
    data : Rows
        The training rows.
    names : list of str
        Names of all columns.
    categories : dict
        The categories by code of each categorical column.
    given : sequence of int
        Columns whose thresholds the user has given: they stay as they are.
    """
    made = []
    for step, table in zip(steps, tables, strict=True):
        if not table.any():
            continue
        name, x = names[step.feature], data.X[:, step.feature]
        if step.bins.categories is None:
            variable = _of_numbers(step, table, x, name, step.feature in given, data)
            number = variable.bins(x)
        else:
            variable, merged = _of_categories(step, table, name, categories[step.feature])
            number = merged[step.bins(x)]
        counts, events = _counts(number, variable.n_bins, data)
        made.append(replace(variable, counts=counts, events=events))
    return tuple(sorted(made, key=lambda one: one.column))


def _of_numbers(
    step: StepFunction, table: Indices, x: Floats, name: str, is_given: bool, rows: Sums
) -> Variable:
    """Return a variable of numbers, without counts."""
    n_values = step.bins.n_values
    is_step = np.diff(table[:n_values]) != 0
    thresholds = step.bins.thresholds[is_step]
    if not is_given:
        ordinary = x[~np.isin(x, step.bins.special)]
        thresholds = short_thresholds(thresholds, ordinary, rows)
    kept = np.concatenate([[True], is_step, np.ones(len(table) - n_values, dtype=bool)])
    return Variable(
        name,
        step.feature,
        tuple(table[kept].tolist()),
        thresholds=tuple(thresholds.tolist()),
        special=tuple(step.bins.special.tolist()),
    )


def _of_categories(
    step: StepFunction, table: Indices, name: str, categories: Values
) -> tuple[Variable, Indices]:
    """Return a variable of categories, without counts, and its bin for each bin of the ranker.

    Groups with equal points are one.
    """
    bin_of = step.bins.categories
    assert bin_of is not None
    n_values = step.bins.n_values
    points, first, group = np.unique(table[:n_values], return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.argsort(order)[group.ravel()]
    values = categories.tolist()
    groups = [
        tuple(values[code] for code in np.flatnonzero(bin_of >= 0) if place[bin_of[code]] == number)
        for number in range(len(points))
    ]
    others = table[n_values:]
    variable = Variable(
        name,
        step.feature,
        (*points[order].tolist(), *others.tolist()),
        special=tuple(step.bins.special.tolist()),
        groups=tuple(groups),
    )
    return variable, np.concatenate([place, len(points) + np.arange(len(others))])


def _counts(
    number: Indices, n_bins: int, data: Rows
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the weight of the rows in each bin, and of those of the upper class."""
    upper = data.weight * np.asarray(data.y, dtype=bool)
    parts = (np.bincount(number, one, n_bins) for one in (data.weight, upper))
    counts, events = data.totals(*parts)
    return tuple(counts.tolist()), tuple(events.tolist())


def shortest_decimal(low: float, high: float) -> float:
    """Return the number in ``[low, high)`` with the fewest digits after rounding.

    It is the smallest multiple of a power of ten that is at least `low`, for the greatest
    power with one below `high`. `low` is finite and below `high`.
    """
    start = Decimal(repr(low))
    end = abs(start) if np.isinf(high) else max(abs(start), abs(Decimal(repr(high))))
    last = start.as_tuple().exponent
    assert isinstance(last, int)
    for exponent in range(max(end.adjusted() + 1, last), last, -1):
        unit = Decimal(1).scaleb(exponent)
        found = float(start.quantize(unit, rounding=ROUND_CEILING, context=_EXACT))
        if low <= found < high:
            return found + 0.0  # 0 for -0
    return low + 0.0


def short_thresholds(thresholds: Floats, values: Floats, sums: Sums = ALL_HERE) -> Floats:
    """Return increasing thresholds with few digits that divide the same training values.

    Each is between the threshold and the next greater value of training, or the next
    threshold where that is nearer.
    """
    known = np.unique(values[~np.isnan(values)])
    after = np.append(known, np.inf)[np.searchsorted(known, thresholds, side="right")]
    high = np.minimum(sums.smallest(after), np.append(thresholds[1:], np.inf))
    pairs = zip(thresholds.tolist(), high.tolist(), strict=True)
    return np.array([shortest_decimal(low, end) for low, end in pairs], dtype=np.float64)
