"""Build a card from a fitted ranker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Context, Decimal
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.release import __version__
from sklearn_rank._core.rows import Rows, number_of_rows
from sklearn_rank.models import StepFunction, as_model
from sklearn_rank.scorecard._risk_curve import RiskCurve, moments, with_risk
from sklearn_rank.scorecard._rounding import (
    BinnedTraining,
    Rounded,
    minmax_points,
    nearest,
    round_steps,
    scaled_points,
    with_mean_points,
)
from sklearn_rank.scorecard.card import Card, Variable

_EXACT = Context(prec=800)  # holds every float, from 5e-324 to 1.8e308

_HALVINGS = 40
"""Bisections of a range of points, at most 2e6 wide: to 2e-6 of a point."""

_TOP = 0.05
"""Greatest false positive rate of the partial AUC."""


def build_card(
    ranker: Any, data: Rows, points: tuple[int, int] | None, scaling: Any, held_out: Rows | None
) -> Card:
    """Return the card of a fitted ranker.

    Parameters
    ----------
    ranker : ranker
        Of stumps, in binary mode.
    data : Rows
        The training rows, equal ones as one, categories as codes.
    points : (int, int) or None
        Least and greatest points of a bin.
    scaling : None, "minmax" or dict
        As in `Scorecard`.
    held_out : Rows or None
        Rows with standardised totals of cards made without them, for the curve of risk; None for
        the training rows.
    """
    training = BinnedTraining.of(ranker, data)
    # 1) Round the step functions of the ranker.
    unrounded = Rounded(
        training.centred, *training.best_multiplier(training.totals(training.centred), 1.0)
    )
    rounded = unrounded if points is None else round_steps(training, points)
    # 2) Bring the points to the scale of the card.
    tables, intercept, curve = list(rounded.tables), 0, None
    if isinstance(scaling, dict):
        curve = _curve(training, data, held_out, training.totals(tables), n_slopes=1)
        tables, intercept = scaled_points(tables, curve.line(), scaling)
        curve = curve.on_scale(scaling)
    elif scaling == "minmax":
        tables = minmax_points(tables)
    tables = with_mean_points(training, tables)
    totals = training.totals(tables) + intercept
    # The ratio of the summed ranges of points is near that of the multipliers.
    old_range, new_range = (float(sum(map(np.ptp, by_bin))) for by_bin in (rounded.tables, tables))
    start = rounded.multiplier * (old_range / new_range if old_range and new_range else 1.0)
    loss = training.best_multiplier(totals, start)[1]
    # 3) Find the probability at each total; with odds on the scale it is the one they are on.
    if curve is None:
        curve = _curve(training, data, held_out, totals)
    # 4) Write the card down, with points of values not seen that leave the mean risk as it is.
    names = getattr(ranker, "feature_names_in_", None)
    card = Card(
        make_variables(ranker, data, tables),
        intercept,
        cut=0,
        classes=tuple(ranker.classes_.tolist()),
        n_features=int(ranker.n_features_in_),
        feature_names=None if names is None else tuple(names.tolist()),
        details={
            **_settings(ranker, points, scaling),
            "training_loss_of_the_ranker": unrounded.loss,
            "training_loss_of_the_card": loss,
            **_rows(data, held_out),
        },
    )
    points_of_rows = {
        int(step.feature): np.asarray(table)[bins]
        for step, table, bins in zip(training.steps, tables, training.bins, strict=True)
    }
    card = with_neutral_points(card, curve, totals, training.weight, points_of_rows)
    return with_risk(card, curve, totals, keeps_points=scaling is not None)


def with_neutral_points(
    card: Card, curve: RiskCurve, totals: Floats, weight: Floats, points: dict[int, Indices]
) -> Card:
    r"""Return the card with neutral points in bins without training rows.

    If all training rows had them instead of their own points of the variable, the mean risk
    would stay:

    .. math:: \sum_i w_i \, r(T_i - s_i + v) = \sum_i w_i \, r(T_i)

    where T is the total of a row, s its points of the variable, w its weight, r the curve of risk
    and v the neutral points. The mean of the points would not do: risk is not linear in the total.
    The remainder of rounding is added to the next variable, by decreasing range of points, so that
    the errors of several missing values cancel out.

    Parameters
    ----------
    card : Card
        The points.
    curve : RiskCurve
        Of its totals.
    totals, weight : ndarray of shape (n_rows,)
        The training rows.
    points : dict of int to ndarray of shape (n_rows,)
        The points of each row by the column of the variable.

    References
    ----------
    Defined here.
    """
    variables = list(card.variables)
    mean_risk = float(np.average(curve.chance(totals), weights=weight))
    remainder = 0.0
    neg_ranges = [-int(np.ptp(points[variable.column])) for variable in variables]
    for index in np.argsort(neg_ranges, kind="stable"):
        variable = variables[index]
        unseen = variable.unseen_bins()
        if unseen:
            own_points = points[variable.column]
            exact = _neutral(curve, totals - own_points, weight, own_points, mean_risk)
            rounded = int(np.clip(nearest(exact + remainder), own_points.min(), own_points.max()))
            remainder += exact - rounded
            table = np.array(variable.points)
            table[unseen] = rounded
            variables[index] = replace(variable, points=tuple(table.tolist()))
    return replace(card, variables=tuple(variables))


def _neutral(
    curve: RiskCurve, other_totals: Floats, weight: Floats, own_points: Indices, mean_risk: float
) -> float:
    """Find, by bisection, the number of points that keeps the mean risk.

    Every row gets this number of points instead of those of its bin of the variable.
    """
    totals, index = np.unique(other_totals, return_inverse=True)  # equal totals have one risk
    share = np.bincount(index.ravel(), weight) / weight.sum()
    lowest, highest = float(own_points.min()), float(own_points.max())
    midpoint = float(np.average(own_points, weights=weight))
    for _ in range(_HALVINGS):
        excess = float(share @ curve.chance(totals + midpoint)) - mean_risk
        if abs(excess) <= 1e-12:  # rounding errors of the mean
            break
        lowest, highest = (lowest, midpoint) if excess > 0 else (midpoint, highest)
        midpoint = (lowest + highest) / 2
    return midpoint


def _curve(
    training: BinnedTraining,
    data: Rows,
    held_out: Rows | None,
    totals: Floats,
    n_slopes: int | None = None,
) -> RiskCurve:
    """Return the curve of probabilities at totals, calibrated on held-out rows."""
    mean, deviation = moments(totals, training.weight)
    if held_out is None:
        rows, weight = training.data, training.weight
        z, is_upper = (totals - mean) / deviation, rows.y[rows.preferences.order]
        weight_sum = float(weight.sum())
    else:
        z, is_upper, weight = held_out.X[:, 0], held_out.y, held_out.weight
        weight_sum = float(data.weight.sum())
    # Weights below one say nothing about the number of rows.
    weight = weight * (number_of_rows(data.weight) / weight_sum)
    return RiskCurve.fit(z, is_upper, weight, mean, deviation, n_slopes)


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
    variables = []
    for step, table in zip(ranker.step_functions_, tables, strict=True):
        j = int(step.feature)
        if not table.any():
            continue
        make_bins = _numeric_bins if step.bins.categories is None else _categorical_bins
        fields, bins = make_bins(ranker, step, table, data.X[:, j])
        event_weight = data.weight * np.asarray(data.y, dtype=bool)
        n_bins = len(fields["points"])
        variables.append(
            Variable(
                name=_feature_name(ranker, j),
                column=j,
                counts=tuple(np.bincount(bins, data.weight, n_bins).tolist()),
                events=tuple(np.bincount(bins, event_weight, n_bins).tolist()),
                **fields,
            )
        )
    return tuple(sorted(variables, key=lambda variable: variable.column))


def _feature_name(ranker: Any, j: int) -> str:
    """Return the name of a column, x0, x1, ... where the ranker has no names."""
    names = getattr(ranker, "feature_names_in_", None)
    return f"x{j}" if names is None else str(names[j])


def _numeric_bins(
    ranker: Any, step: StepFunction, table: Indices, x: Floats
) -> tuple[dict[str, Any], Indices]:
    """Return the bins of a numeric feature, their points, and the bin of each row.

    Neighbouring bins with equal points are merged. Thresholds of the user stay as they are.
    """
    bins = step.bins
    is_step = np.diff(table[: bins.n_values]) != 0
    thresholds = bins.thresholds[is_step]
    if int(step.feature) not in ranker.stump_settings()["thresholds"]:
        thresholds = short_thresholds(thresholds, x[~np.isin(x, bins.special)])
    is_kept = np.concatenate([[True], is_step, np.ones(bins.n_bins - bins.n_values, dtype=bool)])
    fields = {
        "points": tuple(table[is_kept].tolist()),
        "thresholds": tuple(thresholds.tolist()),
        "special": tuple(bins.special.tolist()),
    }
    return fields, Variable("", 0, **fields).bins(x)


def _categorical_bins(
    ranker: Any, step: StepFunction, table: Indices, x: Floats
) -> tuple[dict[str, Any], Indices]:
    """Return the category groups of a feature, their points, and the bin of each row.

    Groups with equal points are merged, and sorted by points; ordered levels are merged only with
    neighbours, and keep their order. Categories that were too rare for a bin of the ranker have the
    points of missing values.
    """
    bins, j = step.bins, int(step.feature)
    assert bins.categories is not None
    is_present = ~np.isnan(x)
    codes, code_of_row = np.unique(x[is_present].astype(np.intp), return_inverse=True)
    bin_of_code = np.where(bins.categories < 0, bins.missing, bins.categories)[codes]
    if bins.ordered:
        run_index = np.cumsum(np.concatenate([[True], np.diff(table) != 0]))
        _, first, group = np.unique(run_index[bin_of_code], return_index=True, return_inverse=True)
        points = table[bin_of_code[first]]
    else:
        points, group = np.unique(table[bin_of_code], return_inverse=True)
    group = group.ravel()
    code_rank = ranker.stump_settings()["category_order"].get(j)
    order = np.argsort(codes if code_rank is None else np.asarray(code_rank)[codes], kind="stable")
    values = ranker.category_codes_.categories[j].tolist()
    groups: list[list[Any]] = [[] for _ in points]
    for code, group_of_code in zip(codes[order], group[order], strict=True):
        groups[group_of_code].append(values[code])
    bin_of_row = np.full(len(x), len(points))
    bin_of_row[is_present] = group[code_of_row.ravel()]
    missing = int(table[bins.missing])
    fields = {"points": (*points.tolist(), missing, missing), "groups": tuple(map(tuple, groups))}
    return fields, bin_of_row


def shortest_decimal(low: float, high: float) -> float:
    """Return the number strictly between two numbers that has the fewest digits.

    It is the multiple of a power of ten nearest to the middle, for the greatest power that has a
    multiple between them. If no float is between them it is `low`.
    """
    decimals = [Decimal(repr(low)), Decimal(repr(high))]
    midpoint = _EXACT.divide(_EXACT.add(*decimals), Decimal(2))
    last = int(midpoint.as_tuple().exponent)
    for exponent in range(max(decimal.adjusted() for decimal in decimals) + 1, last - 1, -1):
        rounded = float(midpoint.quantize(Decimal(1).scaleb(exponent), context=_EXACT))
        if low < rounded < high:
            return rounded + 0.0  # 0 for -0
    return low + 0.0


def short_thresholds(thresholds: Floats, values: Floats) -> Floats:
    """Return short, increasing thresholds that divide the training values in the same way.

    If all values are integers, each is the greatest value below the threshold; else a number of
    few digits between its neighbours.
    """
    distinct = np.unique(values[~np.isnan(values)])
    upper_index = np.searchsorted(distinct, thresholds, side="right")
    lower, upper = distinct[upper_index - 1], distinct[upper_index]
    if np.array_equal(distinct, np.floor(distinct)):
        return lower
    intervals = zip(lower.tolist(), upper.tolist(), strict=True)
    return np.array([shortest_decimal(low, high) for low, high in intervals], dtype=np.float64)


def _settings(ranker: Any, points: tuple[int, int] | None, scaling: Any) -> dict[str, Any]:
    """Return the settings of the fit, for the details of the card."""
    low, high = points or (None, None)
    signs = ranker.stump_settings()["monotonic_cst"]
    directions = {1: "rising", -1: "falling"}
    monotone = [f"{_feature_name(ranker, j)} {directions[sign]}" for j, sign in signs.items()]
    stumps: Any = as_model(ranker.weak_ranker)
    alpha = getattr(ranker, "alpha", None)
    odds = scaling if isinstance(scaling, dict) else {}
    return {
        "made_by": f"sklearn_rank {__version__}",
        "made_on": datetime.now(UTC).date().isoformat(),
        "ranker": type(ranker).__name__,
        "p": float(ranker.p) if hasattr(ranker, "p") else None,
        "ridge": alpha if isinstance(alpha, str | None) else float(alpha),
        "most_terms": stumps.max_thresholds,
        "smallest_bin": float(stumps.min_bin_size),
        "monotone": ", ".join(monotone) or None,
        "lowest_points": low,
        "highest_points": high,
        "scaling": "pdo" if odds else scaling,
        **{name: float(odds[name]) for name in ("pdo", "score", "odds") if odds},
    }


def _rows(data: Rows, held_out: Rows | None) -> dict[str, Any]:
    """Return the numbers of rows and the held-out metrics, for the details of the card."""
    metrics = {}
    if held_out is not None and held_out.qid is None and len(np.unique(held_out.y)) == 2:
        y, totals = held_out.y, held_out.X[:, 0]
        auc = partial(roc_auc_score, y, totals, sample_weight=held_out.weight)
        # Undo the standardisation of McClish: 1/2 for chance, the lowest area, and 1 for the best.
        lowest, highest = _TOP**2 / 2, _TOP
        area = lowest + (highest - lowest) * (2 * auc(max_fpr=_TOP) - 1)
        metrics = {"held_out_auc": float(auc()), "held_out_pauc_5": float(area / _TOP)}
    return {
        "training_rows": float(data.weight.sum()),
        "training_rows_of_the_upper_class": float(data.weight[data.y].sum()),
        "base_rate": float(data.weight[data.y].sum() / data.weight.sum()),
        "queries": data.qid is not None,
        "risk_rows": "training rows" if held_out is None else "held-out rows",
        **metrics,
    }
