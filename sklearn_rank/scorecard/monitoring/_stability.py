"""How far a table has moved from another: of scores (PSI) and of variables (CSI)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from sklearn_rank._core.protocols import Floats, Indices, Values
from sklearn_rank._core.validation import check_column, check_floats, check_weight
from sklearn_rank.scorecard._card_checks import check_weight_range
from sklearn_rank.scorecard.monitoring._bands import FiguresTable, band_of, band_sums, cuts_of

_LARGEST_POINTS = 1e300
_MIN_EXPECTED = 10.0
"""Rows of the smaller table in a bin, from which on its index is nearly chi-squared."""


@dataclass(frozen=True, eq=False)
class StabilityTable(FiguresTable):
    """Shares of two tables in bins, and how far they differ.

    Attributes
    ----------
    low, high : ndarray of shape (n_bins,)
        Limits: a bin holds the values above `low` up to `high`. Both are NaN in the bin of missing
        values, which is the last, where there are any.
    reference, current : ndarray of shape (n_bins,)
        Share of each table in the bins.
    index : ndarray of shape (n_bins,)
        Part of each bin in the index.
    psi : float
        Population stability index: their sum.
    expected : float
        Mean of the index in large tables without any change; with bins of few rows it is less.
    p_value : float
        Probability of an index at least as large in large tables without any change. For it
        neighbouring bins are put together, until at least 10 rows of the smaller table are
        expected in each; 1 where that leaves a single bin.

    Examples
    --------
    >>> from sklearn_rank.scorecard.monitoring import stability_table
    >>> found = stability_table([1, 2, 3, 4], [1, 3, 3, 4], bins=2)
    >>> found.reference, found.current
    (array([0.5, 0.5]), array([0.25, 0.75]))
    """

    low: Floats
    high: Floats
    reference: Floats
    current: Floats
    index: Floats
    psi: float
    expected: float
    p_value: float


def stability_table(
    reference: Any,
    current: Any,
    *,
    bins: Any = 10,
    reference_weight: Any = None,
    sample_weight: Any = None,
) -> StabilityTable:
    """Return the shares of two tables in bins, with each bin's part of the stability index.

    Parameters
    ----------
    reference : array-like of shape (n_reference,)
        Scores when the model was made. NaN is missing.
    current : array-like of shape (n_current,)
        Scores of the rows to compare.
    bins : int or array-like, default=10
        A number: bins of nearly equal share of the reference, tied values in one bin. An array: the
        increasing values that divide the bins, each belonging to the bin below it.
    reference_weight, sample_weight : float or array-like of shape (n_rows,), default=None
        Multiplicities of the rows of `reference` and of `current`, non-negative.

    Returns
    -------
    StabilityTable
        ``low``, ``high``, ``reference``, ``current``, ``index`` of each bin; ``psi``,
        ``expected``, ``p_value``; ``to_frame()``.

    Raises
    ------
    ValueError
        When the reference has a single value, so that it can't be divided, unless the bins are
        given.

    See Also
    --------
    population_stability_index : The index alone, with its formula.

    Examples
    --------
    >>> from sklearn_rank.scorecard.monitoring import stability_table
    >>> found = stability_table([1, 2, 3, 4], [1, 3, 3, 4], bins=2)
    >>> found.low, found.high
    (array([-inf,   2.]), array([ 2., inf]))
    >>> round(found.psi, 3)
    0.275
    """
    return _stability("stability_table", reference, current, bins, reference_weight, sample_weight)


def population_stability_index(
    reference: Any,
    current: Any,
    *,
    bins: Any = 10,
    reference_weight: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Compute the population stability index (PSI) of scores, or of any numbers.

    .. math:: \mathrm{PSI} = \sum_b (q_b - p_b) \ln \frac{q_b}{p_b}

    where :math:`p_b` and :math:`q_b` are the shares of the reference and of the current table in
    bin b. A bin without a row of one table gets the share of half a row, 1 / (2n), where n is the
    weight of that table, at least 1; the other shares are unchanged. A bin without a row of either
    table adds nothing. Missing values (NaN) have their own bin.

    Parameters
    ----------
    reference : array-like of shape (n_reference,)
        Scores when the model was made. NaN is missing.
    current : array-like of shape (n_current,)
        Scores of the rows to be compared.
    bins : int or array-like, default=10
        A number: bins of nearly equal share of the reference, tied values in one bin. An array: the
        increasing values that divide the bins, each belonging to the bin below it.
    reference_weight, sample_weight : float or array-like of shape (n_rows,), default=None
        Multiplicities of the rows of `reference` and of `current`, non-negative.

    Returns
    -------
    float
        0 for equal shares, else positive: lower is more stable.

    Raises
    ------
    ValueError
        When the reference has a single value, so that it can't be divided, unless the bins are
        given.

    Notes
    -----
    By a rule of thumb, less than 0.1 is no change and more than 0.25 a large one. The rule ignores
    the number of rows: without any change the index of B bins is about
    :math:`(1/n + 1/m)` times a chi-squared variable with B - 1 degrees of freedom, where n and m
    are the numbers of rows. That is so in large tables with several rows in each bin.
    `stability_table` has the mean of this distribution, and a p-value for which bins of few rows
    are put together: those of many rare categories would hide the change of the others.

    References
    ----------
    Siddiqi2006 (the index and the rule of thumb). Yurdakul2020 (its distribution). The treatment of
    empty bins is defined here.

    Examples
    --------
    >>> from sklearn_rank.scorecard.monitoring import population_stability_index
    >>> round(population_stability_index([1, 2, 3, 4], [1, 3, 3, 4], bins=2), 3)
    0.275
    >>> population_stability_index([1, 2, 3, 4], [4, 3, 2, 1])
    0.0
    """
    owner = "population_stability_index"
    return _stability(owner, reference, current, bins, reference_weight, sample_weight).psi


def stability_in_tenths(
    before: Floats, now: Floats, before_weight: Floats | None, weight: Floats | None
) -> StabilityTable:
    """Return how scores have moved, in ten bins of the former ones.

    Where those are all the same the bins are what is below them, they, and what is above.
    """
    only = np.unique(before)
    lower = min(only[0] - 1, np.nextafter(only[0], np.finfo(np.float64).min))
    below = now[now < only[0]].max(initial=lower)
    bins: Any = 10 if len(only) > 1 else np.unique([below, only[0]])
    weights = {"reference_weight": before_weight, "sample_weight": weight}
    return stability_table(before, now, bins=bins, **weights)


def _stability(
    owner: str, reference: Any, current: Any, bins: Any, reference_weight: Any, sample_weight: Any
) -> StabilityTable:
    old, old_weight = _numbers(reference, "reference", reference_weight, "reference_weight")
    new, new_weight = _numbers(current, "current", sample_weight, "sample_weight")
    cuts = cuts_of(owner, "bins", bins, old, old_weight)
    if not len(cuts):
        raise ValueError(
            f"reference of {owner} has a single value and can't be divided into bins of equal "
            "share. Pass the values that divide them as 'bins'."
        )
    low, high = np.append(-np.inf, cuts), np.append(cuts, np.inf)
    if np.isnan(old).any() or np.isnan(new).any():
        low, high = np.append(low, np.nan), np.append(high, np.nan)
    counts = [
        band_sums(band_of(values, cuts), weight, len(low))
        for values, weight in ((old, old_weight), (new, new_weight))
    ]
    index, expected, p_value = _index(*counts)
    p, q = (one / one.sum() for one in counts)
    return StabilityTable(low, high, p, q, index, float(index.sum()), expected, p_value)


def _numbers(values: Any, name: str, weight: Any, weight_name: str) -> tuple[Floats, Floats]:
    numbers = check_floats(values, name)
    if not len(numbers):
        raise ValueError(f"{name} is empty: there is no row.")
    checked = check_weight(weight, len(numbers), weight_name)
    check_weight_range("the stability of a distribution", checked, weight_name)
    return numbers[checked > 0], checked[checked > 0]


def _index(old: Floats, new: Floats) -> tuple[Floats, float, float]:
    """Return the parts of the bins of two tables, the expected sum, and the p-value of the sum."""
    _, index = log_ratios(old, new)
    n_filled = int(((old > 0) | (new > 0)).sum())
    unit, (old, new) = 1 / float(old.sum()) + 1 / float(new.sum()), _in_bins_of_enough(old, new)
    tested, freedom = log_ratios(old, new)[1].sum() / unit, len(old) - 1
    p_value = float(stats.chi2.sf(tested, freedom)) if freedom else 1.0
    return index, (n_filled - 1) * unit, p_value


def _in_bins_of_enough(old: Floats, new: Floats) -> Floats:
    """Return the weights in neighbouring bins put together, with enough rows expected in each."""
    both = old + new
    starts, held = [0], 0.0
    for place, expected in enumerate(both / both.sum() * min(old.sum(), new.sum())):
        if held >= _MIN_EXPECTED:
            starts, held = [*starts, place], 0.0
        held += expected
    # The last bins have nothing behind them, and join those before.
    n_bins = max(1, len(starts) - (held < _MIN_EXPECTED))
    return np.add.reduceat([old, new], starts[:n_bins], axis=1)


def log_ratios(old: Floats, new: Floats) -> tuple[Floats, Floats]:
    """Return the logarithms of the ratios of shares, new to old, and the parts of their index.

    A bin without a row of one table has the share of half a row; without a row of either it adds
    nothing.
    """
    # An empty bin has the weight of half a row: 1/2, or that of half of all where they weigh less.
    tables = [(np.where(x > 0, x, 0.5 * min(1.0, float(x.sum()))), x.sum()) for x in (old, new)]
    p, q = (mass / total for mass, total in tables)
    # Shares too small for a float still have a logarithm.
    log_p, log_q = (np.log(mass) - np.log(total) for mass, total in tables)
    filled = (old > 0) | (new > 0)
    return log_q - log_p, np.where(filled, (q - p) * (log_q - log_p), 0.0)


@dataclass(frozen=True, eq=False)
class CharacteristicStability(FiguresTable):
    """Change in the distribution of each variable of a card between two tables.

    Attributes
    ----------
    name : ndarray of shape (n_variables,)
        Names of the variables.
    csi : ndarray of shape (n_variables,)
        Characteristic stability index, computed from the shares in the variable's bins.
    shift : ndarray of shape (n_variables,)
        Change in the mean points: what the variable adds to the change in the mean total.
    expected : ndarray of shape (n_variables,)
        Mean of the index in large tables without any change; with bins of few rows it is less.
    p_value : ndarray of shape (n_variables,)
        Probability of an index at least as large without any change, as of `StabilityTable`.

    Examples
    --------
    >>> from sklearn_rank.scorecard.monitoring import characteristic_stability
    >>> characteristic_stability([[0], [2]], [[2], [2]]).shift
    array([1.])
    """

    name: Values
    csi: Floats
    shift: Floats
    expected: Floats
    p_value: Floats


def characteristic_stability(
    reference: Any,
    current: Any,
    *,
    points: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
    reference_weight: Any = None,
    sample_weight: Any = None,
) -> CharacteristicStability:
    r"""Compute the stability of each variable of a card (CSI).

    .. math:: \mathrm{CSI}_v = \sum_b (q_{vb} - p_{vb}) \ln \frac{q_{vb}}{p_{vb}}, \qquad
        \mathrm{shift}_v = \sum_b (q_{vb} - p_{vb}) \, s_{vb}

    where :math:`p_{vb}` and :math:`q_{vb}` are the shares of the reference and of the current table
    in bin b of variable v, and :math:`s_{vb}` its points. The index tells whether the distribution
    has changed, the shift how much this changes the total; the shifts add up to the change in the
    mean total. Empty bins are treated as in `population_stability_index`.

    Parameters
    ----------
    reference : array-like of shape (n_reference, n_variables)
        Points of each row and variable, such as ``Scorecard.points_of(X)``, or with `points` the
        numbers of the bins. Each value of a column is a bin.
    current : array-like of shape (n_current, n_variables)
        Those of the rows to be compared. Of two data frames the columns must be the same.
    points : list of array-like, default=None
        Points of the bins of each variable: the value of a row is a place in its list. None: the
        values are points, and bins with the same points count as one.
    names : list of str, default=None
        Names of the variables. None: "x0", "x1", ...
    reference_weight, sample_weight : float or array-like of shape (n_rows,), default=None
        Multiplicities of the rows of `reference` and of `current`, non-negative.

    Returns
    -------
    CharacteristicStability
        ``name``, ``csi``, ``shift``, ``expected``, ``p_value`` of each variable; ``to_frame()``.

    Raises
    ------
    ValueError
        When the tables have other columns, hold no finite numbers, or a bin has no
        place in `points`.

    References
    ----------
    Siddiqi2006 (characteristic analysis: both figures). Yurdakul2020 (expected value and p-value).

    Examples
    --------
    Points of four rows and two variables, then and now:

    >>> from sklearn_rank.scorecard.monitoring import characteristic_stability
    >>> then = [[0, 3], [0, 5], [2, 3], [2, 5]]
    >>> now = [[0, 5], [2, 3], [2, 3], [2, 5]]
    >>> found = characteristic_stability(then, now, names=["income", "age"])
    >>> found.csi.round(3), found.shift
    (array([0.275, 0.   ]), array([0.5, 0. ]))
    """
    old = _columns(reference, "reference")
    new = _columns(current, "current")
    n_variables = old.shape[1]
    names = [f"x{number}" for number in range(n_variables)] if names is None else names
    for what, given in (("current", new.T), ("names", names), ("points", points)):
        if given is not None and len(given) != n_variables:
            raise ValueError(
                f"{what} has {len(given)} variables, but reference has {n_variables} columns."
            )
    columns = [list(one.columns) for one in (reference, current) if hasattr(one, "columns")]
    if len(columns) == 2 and columns[0] != columns[1]:
        raise ValueError(
            "reference and current must have the same columns in the same order. "
            f"Got {columns[0]} and {columns[1]}."
        )
    weights = (
        check_weight(reference_weight, len(old), "reference_weight"),
        check_weight(sample_weight, len(new)),
    )
    figures = np.empty((n_variables, 4))
    for number, name in enumerate(names):
        worth = None if points is None else check_column(points[number], "points")
        figures[number] = _variable(name, (old[:, number], new[:, number]), weights, worth)
    csi, shift, expected, p_value = figures.T
    return CharacteristicStability(np.array(names, dtype=object), csi, shift, expected, p_value)


def _variable(
    name: str, columns: tuple[Floats, Floats], weights: tuple[Floats, Floats], points: Values | None
) -> tuple[float, float, float, float]:
    """Return the index of a variable, the change of its mean points, expected index, p-value."""
    values, places = np.unique(np.concatenate(columns), return_inverse=True)
    worth = values if points is None else _points_at(points, values, name)
    of_tables = np.split(places.ravel(), [len(columns[0])])
    counts = [band_sums(p, w, len(values)) for p, w in zip(of_tables, weights, strict=True)]
    index, expected, p_value = _index(counts[0], counts[1])
    before, after = (float(count @ worth) / float(count.sum()) for count in counts)
    return float(index.sum()), after - before, expected, p_value


def _columns(values: Any, name: str) -> Floats:
    try:
        with np.errstate(over="ignore"):
            table = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must hold numbers: points, or numbers of bins. {error}"
        ) from error
    if table.ndim != 2 or not len(table):
        raise ValueError(
            f"{name} must have shape (n_rows, n_variables), with a row at least. Got an array of "
            f"shape {table.shape}."
        )
    if not np.isfinite(table).all():
        raise ValueError(f"{name} contains NaN or infinity: a missing value has a bin, too.")
    if np.abs(table).max(initial=0.0) > _LARGEST_POINTS:
        raise ValueError(
            f"{name} must hold points between -{_LARGEST_POINTS:g} and {_LARGEST_POINTS:g}, whose "
            f"means are finite. Got {table.flat[np.abs(table).argmax()]:g}."
        )
    return table


def _points_at(points: Values, values: Floats, name: str) -> Floats:
    """Return the points of the bins whose numbers are the values."""
    places: Indices = values.astype(np.intp)
    if (places != values).any() or places.min() < 0 or places.max() >= len(points):
        raise ValueError(
            f"With points the values must be numbers of bins. {name} has {len(points)} bins, from "
            f"0, and values from {values.min():g} to {values.max():g}."
        )
    return np.asarray(points[places], dtype=np.float64)
