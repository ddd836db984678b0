"""The terms of a card: bins with equal points merged, thresholds of few digits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices, Values
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.sums import ALL_HERE, Sums
from sklearn_rank.models import FeatureBins, PairFunction, StepFunction
from sklearn_rank.scorecard.fitting._scaling import nearest
from sklearn_rank.scorecard.terms import Axis, Pair, Variable

Worst = Callable[[Iterable[int]], int]
"""Returns the worst of some points: `min` or `max`."""

_EXACT = Context(prec=800)  # holds every float, from 5e-324 to 1.8e308


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of the training rows, as terms need them.

    Attributes
    ----------
    data : Rows
        The training rows.
    names : list of str
        Names of all columns.
    categories : dict
        The categories by code of each categorical column.
    given : sequence of int
        Columns whose thresholds the user has given: they stay as they are.
    ranks : dict of int to list
        The place of each code in the order of its feature, of ordered categories.
    worst : callable or None
        `min` or `max`, for the points of values that training has not seen; None: neutral ones.
    """

    data: Rows
    names: Sequence[str]
    categories: Mapping[int, Values]
    given: Sequence[int] = ()
    worst: Worst | None = None
    ranks: Mapping[int, Sequence[int]] = field(default_factory=dict)

    def levels(self, j: int, codes: Indices, group: Indices, n_groups: int) -> Any:
        """Return the categories of some codes by the number of their group, in their order."""
        values, rank = self.categories[j].tolist(), self.ranks.get(j)
        place = codes if rank is None else np.asarray(rank)[codes]
        order = np.argsort(place, kind="stable")
        codes, group = codes[order], group[order]
        return tuple(
            tuple(values[code] for code in codes[group == number]) for number in range(n_groups)
        )

    def finished(self, term: Variable | Pair, number: Indices) -> Any:
        """Return a term with its counts, given the bin of each row, and points of unseen values."""
        counts, events = _counts(number, term.n_bins, self.data)
        term = replace(term, counts=counts, events=events)
        return replace(term, points=points_with_unseen(term, self.worst))


def make_variables(
    steps: Sequence[StepFunction], tables: Sequence[Indices], columns: Columns
) -> tuple[Variable, ...]:
    """Return the variables with points other than zero, by column.

    Parameters
    ----------
    steps : list of StepFunction
        The step functions of the ranker.
    tables : list of ndarray of int
        Points of each of their bins.
    columns : Columns
        Of the training rows.
    """
    made = []
    for step, table in zip(steps, tables, strict=True):
        if not table.any():
            continue
        axis, lines, number = _axis_of(step.bins, table[:, np.newaxis], step.feature, columns)
        variable = Variable(**vars(axis), points=tuple(table[lines].tolist()))
        made.append(columns.finished(variable, number))
    return tuple(sorted(made, key=lambda one: one.column))


def _seen(x: Floats, n_codes: int, rows: Sums) -> Indices:
    """Return the codes of categories that some training row has."""
    here = np.bincount(x[~np.isnan(x)].astype(np.intp), minlength=n_codes)
    return np.flatnonzero(rows.total(here.astype(np.float64)) > 0)


def make_pairs(
    pairs: Sequence[PairFunction], tables: Sequence[Indices], columns: Columns
) -> tuple[Pair, ...]:
    """Return the pairs with points other than zero, by columns; arguments as `make_variables`."""
    made = []
    for one, table in zip(pairs, tables, strict=True):
        if not table.any():
            continue
        grid = table[one.bins.bin_of_cell].reshape(one.bins.shape)
        axes, numbers = [], []
        for bins, j in zip((one.bins.first, one.bins.second), one.bins.features, strict=True):
            axis, lines, number = _axis_of(bins, grid, j, columns)
            axes.append(axis)
            numbers.append(number)
            grid = grid[lines].T  # the other axis next
        pair = Pair(axes[0], axes[1], tuple(grid.ravel().tolist()))
        made.append(columns.finished(pair, numbers[0] * axes[1].n_bins + numbers[1]))
    return tuple(sorted(made, key=lambda one: one.columns))


def _axis_of(
    bins: FeatureBins, grid: Indices, j: int, columns: Columns
) -> tuple[Axis, Indices, Indices]:
    """Return the axis of a feature, the row of a grid of points for each bin, each row's bin.

    The grid has a row for each bin of the ranker; that of a variable has one column.
    """
    x, name = columns.data.X[:, j], (columns.names[j], j)
    if bins.categories is not None:
        axis, lines, place = _axis_of_categories(bins, grid, name, columns)
        return axis, lines, _with_missing(place, x, axis.missing)
    axis, lines = _axis_of_numbers(bins, grid, x, name, j in columns.given, columns.data)
    return axis, lines, axis.bins(x)


def _axis_of_numbers(
    bins: FeatureBins, grid: Indices, x: Floats, name: tuple[str, int], is_given: bool, rows: Sums
) -> tuple[Axis, Indices]:
    """Return an axis of numbers, and the row of a grid of points for each of its bins.

    Neighbouring bins with equal points in every cell are one.
    """
    n_values = bins.n_values
    is_step = (np.diff(grid[:n_values], axis=0) != 0).any(axis=1)
    thresholds = bins.thresholds[is_step]
    if not is_given:
        thresholds = short_thresholds(thresholds, x[~np.isin(x, bins.special)], rows)
    others = np.arange(n_values, len(grid))
    lines = np.concatenate([[0], 1 + np.flatnonzero(is_step), others]).astype(np.intp)
    special = tuple(bins.special.tolist())
    return Axis(*name, thresholds=tuple(thresholds.tolist()), special=special), lines


def _axis_of_categories(
    bins: FeatureBins, grid: Indices, name: tuple[str, int], columns: Columns
) -> tuple[Axis, Indices, Indices]:
    """Return an axis of categories, the row of a grid for each bin, and the bin of each code.

    Groups with equal points in every cell are one, and come in the order of their mean points;
    ordered levels are one if they are neighbours, and come in their order. Categories that were too
    few for a bin of the ranker have the points of missing values.
    """
    assert bins.categories is not None
    codes = _seen(columns.data.X[:, name[1]], len(bins.categories), columns.data)
    of_codes = np.where(bins.categories < 0, bins.missing, bins.categories)[codes]
    if bins.ordered:
        first, group = _runs(grid[: bins.n_values], of_codes)
    else:
        _, place, group = np.unique(grid[of_codes], axis=0, return_index=True, return_inverse=True)
        first = of_codes[place]
        order = np.argsort(grid[first].mean(axis=1), kind="stable")
        first, group = first[order], np.argsort(order)[group.ravel()]
    lines = np.concatenate([first, [bins.missing, bins.missing]])
    place = np.zeros(len(bins.categories), dtype=np.intp)
    place[codes] = group
    groups = columns.levels(name[1], codes, group, len(first))
    return Axis(*name, groups=groups), lines, place


def _runs(table: Indices, bins: Indices) -> tuple[Indices, Indices]:
    """Return the first bin of each run of equal rows of a table, and the run of some bins.

    Runs that hold none of these bins are left out.
    """
    is_new = np.concatenate([[True], (np.diff(table, axis=0) != 0).any(axis=1)])
    used, group = np.unique(np.cumsum(is_new)[bins] - 1, return_inverse=True)
    return np.flatnonzero(is_new)[used], group.ravel()


def _with_missing(group: Indices, x: Floats, missing: int) -> Indices:
    """Return the bin of each row, given the codes of its categories and the bin of each code."""
    number = np.full(len(x), missing)
    is_known = ~np.isnan(x)
    number[is_known] = group[x[is_known].astype(np.intp)]
    return number


def points_with_unseen(term: Variable | Pair, worst: Worst | None) -> tuple[int, ...]:
    """Return the points of a term, with those of bins that training has not seen.

    They are the mean over the training rows, rounded, or the worst of all others.
    """
    points, unseen = np.array(term.points), term.unseen_bins()
    seen = np.delete(points, unseen)
    if not unseen or not len(seen):
        return term.points
    mean = np.average(points, weights=term.counts)
    points[unseen] = nearest(mean) if worst is None else worst(seen.tolist())
    return tuple(points.tolist())


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
