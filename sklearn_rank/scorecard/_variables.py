"""The variables of a card: bins with equal points merged, thresholds of few digits."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.rows import Rows
from sklearn_rank.models import StepFunction
from sklearn_rank.scorecard.card import Variable

_EXACT = Context(prec=800)  # holds every float, from 5e-324 to 1.8e308


def make_variables(ranker: Any, data: Rows, tables: Sequence[Indices]) -> tuple[Variable, ...]:
    """Return the variables with points other than zero, by column.

    Parameters
    ----------
    ranker : ranker
        Fitted, of stumps.
    data : Rows
        The training rows, categories as codes.
    tables : list of ndarray of int
        Points of each bin of each step function of the ranker.
    """
    names = getattr(ranker, "feature_names_in_", None)
    variables = []
    for step, table in zip(ranker.step_functions_, tables, strict=True):
        j = int(step.feature)
        if not table.any():
            continue
        bins_of = _of_numbers if step.bins.categories is None else _of_categories
        fields, bins = bins_of(ranker, step, table, data.X[:, j])
        upper = data.weight * np.asarray(data.y, dtype=bool)
        n_bins = len(fields["points"])
        variables.append(
            Variable(
                name=f"x{j}" if names is None else str(names[j]),
                column=j,
                counts=tuple(np.bincount(bins, data.weight, n_bins).tolist()),
                events=tuple(np.bincount(bins, upper, n_bins).tolist()),
                **fields,
            )
        )
    return tuple(sorted(variables, key=lambda variable: variable.column))


def _of_numbers(
    ranker: Any, step: StepFunction, table: Indices, x: Floats
) -> tuple[dict[str, Any], Indices]:
    """Return points and bins of a feature of numbers, and the bin of each row.

    Neighbouring bins with equal points are one. Thresholds that the user has given stay.
    """
    bins = step.bins
    is_step = np.diff(table[: bins.n_values]) != 0
    thresholds = bins.thresholds[is_step]
    if int(step.feature) not in ranker.stump_settings()["thresholds"]:
        thresholds = short_thresholds(thresholds, x[~np.isin(x, bins.special)])
    kept = np.concatenate([[True], is_step, np.ones(bins.n_bins - bins.n_values, dtype=bool)])
    fields = {
        "points": tuple(table[kept].tolist()),
        "thresholds": tuple(thresholds.tolist()),
        "special": tuple(bins.special.tolist()),
    }
    return fields, Variable("", 0, **fields).bins(x)


def _of_categories(
    ranker: Any, step: StepFunction, table: Indices, x: Floats
) -> tuple[dict[str, Any], Indices]:
    """Return points and categories of a feature, and the bin of each row.

    Groups with equal points are one, and come in the order of their points; ordered levels are
    one if they are neighbours, and come in their order. Categories that were too few for a bin of
    the ranker have the points of missing values.
    """
    bins, j = step.bins, int(step.feature)
    assert bins.categories is not None
    is_missing = np.isnan(x)
    codes = np.unique(x[~is_missing].astype(np.intp))
    bin_of_code = np.where(bins.categories < 0, bins.missing, bins.categories)[codes]
    if bins.ordered:
        run = np.cumsum(np.concatenate([[True], np.diff(table) != 0]))
        _, first, group = np.unique(run[bin_of_code], return_index=True, return_inverse=True)
        points = table[bin_of_code[first]]
    else:
        points, group = np.unique(table[bin_of_code], return_inverse=True)
    group = group.ravel()
    rank = ranker.stump_settings()["category_order"].get(j)
    order = np.argsort(codes if rank is None else np.asarray(rank)[codes], kind="stable")
    values = ranker.category_codes_.categories[j].tolist()
    groups: list[list[Any]] = [[] for _ in points]
    for code, number in zip(codes[order], group[order], strict=True):
        groups[number].append(values[code])
    group_of_code = np.zeros(len(bins.categories), dtype=np.intp)
    group_of_code[codes] = group
    number = np.full(len(x), len(points))
    number[~is_missing] = group_of_code[x[~is_missing].astype(np.intp)]
    missing = int(table[bins.missing])
    fields = {
        "points": (*points.tolist(), missing, missing),
        "groups": tuple(map(tuple, groups)),
    }
    return fields, number


def shortest_decimal(low: float, high: float) -> float:
    """Return the number strictly between two with the fewest digits after rounding.

    It is the multiple of a power of ten that is nearest to the middle, for the greatest power with
    one between them. Where no number is between them it is `low`.
    """
    ends = [Decimal(repr(low)), Decimal(repr(high))]
    middle = _EXACT.divide(_EXACT.add(*ends), Decimal(2))
    last = middle.as_tuple().exponent
    assert isinstance(last, int)
    for exponent in range(max(end.adjusted() for end in ends) + 1, last - 1, -1):
        rounded = float(middle.quantize(Decimal(1).scaleb(exponent), context=_EXACT))
        if low < rounded < high:
            return rounded + 0.0  # 0 for -0
    return low + 0.0


def short_thresholds(thresholds: Floats, values: Floats) -> Floats:
    """Return increasing thresholds that divide the same training values and read well.

    Each is the value below the threshold where all are whole, else a number of few digits between
    that and the value above.
    """
    present = np.unique(values[~np.isnan(values)])
    place = np.searchsorted(present, thresholds, side="right")
    lower, upper = present[place - 1], present[place]
    if np.array_equal(present, np.floor(present)):
        return lower
    ends = zip(lower.tolist(), upper.tolist(), strict=True)
    return np.array([shortest_decimal(low, high) for low, high in ends], dtype=np.float64)
