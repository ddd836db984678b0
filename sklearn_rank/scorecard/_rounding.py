"""Integer points: rounded at the best of many scales, to double the odds, or from 0 to 100."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning

from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.validation import Described, Number
from sklearn_rank._core.warnings import warn
from sklearn_rank.models import StepFunction

_TOLERANCE = 1e-9
"""Rounding errors of points before they are rounded, and relative ones of an objective."""

_N_SCALES, _N_CLIPPED = 36, 10
"""Number of scales up to the one at which the widest variable fills the range, and beyond it."""

_LARGEST = 100
"""Greatest total of a card with ``scaling="minmax"``."""

_KEYS = {
    "pdo": Number(0, 1e6, closed="right"),
    "score": Number(-1e9, 1e9),
    "odds": Number(0, closed="neither"),
}

_FEW = 0.02
"""Share of the rows below which missing values and special codes get mean points."""


def _is_scaling(value: Any) -> bool:
    if isinstance(value, dict):
        return set(value) == set(_KEYS) and all(_KEYS[key].allows(value[key]) for key in _KEYS)
    return value is None or (isinstance(value, str) and value == "minmax")


SCALING = Described(
    "None, 'minmax' or a dict with the keys 'pdo', a float in (0, 1e6], 'score', a float in "
    "[-1e9, 1e9], and 'odds', a float in (0, inf)",
    _is_scaling,
)


@dataclass(frozen=True, eq=False)
class BinnedTraining:
    """Training rows, merged where bins, class and query are equal.

    Attributes
    ----------
    ranker : ranker
        The fitted ranker, whose objective is used.
    data : Rows
        One row for each set of equal ones, with their summed weight. `X` holds the bins, one
        column for each step function.
    """

    ranker: Any
    data: Rows

    @classmethod
    def of(cls, ranker: Any, data: Rows) -> BinnedTraining:
        """Merge the training rows that have equal bins."""
        steps = ranker.step_functions_
        bins = np.zeros((len(data.y), len(steps)))
        for column, step in enumerate(steps):
            bins[:, column] = step.bins_of_rows(data.X)
        merged = replace(data, X=bins).distinct().with_moderate_weights()
        return cls(ranker, replace(merged, X=merged.X.astype(np.intp)))

    @cached_property
    def steps(self) -> list[StepFunction]:
        """The step functions of the ranker, 0 for missing values that training has not seen."""
        return [
            replace(step, values=np.append(step.values[:-1], 0.0)) if step.is_neutral else step
            for step in self.ranker.step_functions_
        ]

    @cached_property
    def weight(self) -> Floats:
        """Weight of the rows, in fit order."""
        return self.data.preferences.weight

    @cached_property
    def bins(self) -> Indices:
        """The bins in fit order, shape (n_steps, n_rows)."""
        return np.ascontiguousarray(self.data.X[self.data.preferences.order].T)

    @cached_property
    def weight_by_bin(self) -> list[Floats]:
        """Weight of the rows in each bin of each step function."""
        return [
            np.bincount(bins, self.weight, step.bins.n_bins).astype(np.float64)
            for bins, step in zip(self.bins, self.steps, strict=True)
        ]

    @cached_property
    def centred(self) -> list[Floats]:
        """The values of each step function by bin, shifted to be 0 in the bin with most rows."""
        return [
            step.values - step.values[int(np.argmax(weight))]
            for step, weight in zip(self.steps, self.weight_by_bin, strict=True)
        ]

    @cached_property
    def _objective(self) -> Any:
        return self.ranker.objective_of(self.data)

    def totals(self, tables: Sequence[Floats | Indices]) -> Floats:
        """Return the total of each row in fit order: the sum of its entries in the tables."""
        totals = np.zeros(len(self.data.y))
        for bins, table in zip(self.bins, tables, strict=True):
            totals += np.asarray(table)[bins]
        return totals

    def objective(self, totals: Floats, multiplier: float) -> float:
        """Return the objective of the ranker at the totals times a multiplier."""
        return float(self._objective.value(multiplier * totals))

    def best_multiplier(self, totals: Floats, start: float) -> tuple[float, float]:
        """Return the best multiplier between start / 2 and 2 start, and its objective."""
        # Logarithms make the search symmetric: start / 2 and 2 start are equally far.
        result = minimize_scalar(
            lambda log: self.objective(totals, float(np.exp(log))),
            bounds=(np.log(start / 2), np.log(start * 2)),
            method="bounded",
            options={"xatol": 1e-3},
        )
        return float(np.exp(result.x)), float(result.fun)


@dataclass(frozen=True, eq=False)
class Rounded:
    """Tables of points that replace step functions.

    Attributes
    ----------
    tables : list of ndarray
        Points by bin, for each step function: integers, but for ``points=None``.
    multiplier : float
        Factor that brings totals back to the scores of the ranker.
    loss : float
        The objective at that multiple of the totals.
    """

    tables: list[Any]
    multiplier: float
    loss: float


def round_steps(training: BinnedTraining, points: tuple[int, int]) -> Rounded:
    r"""Return integer points at the scale with the smallest objective.

    Points are :math:`\lfloor c \, (v_b - v_r) + 1/2 \rfloor` with v the values of a step
    function, r its bin with most rows and c one scale for all, clipped to the range of points.
    Totals T are compared at the multiplier that undoes the scale, by J(T / c) with J the
    objective of the ranker. A table is thus compared with the ranker's own: a search for integers
    with an even smaller J would undo the ridge of the ranker.

    Parameters
    ----------
    training : BinnedTraining
        The training rows, and the step functions to round.
    points : (int, int)
        Least and greatest points of a bin.
    """
    # 1) Choose scales c: up to the one at which the widest variable fills the range, and beyond.
    widest = max((float(np.ptp(step.values)) for step in training.steps), default=0.0)
    scales = np.ones(1)
    if widest > 0:
        factors = np.linspace(1, 0.25, _N_SCALES), np.linspace(1.05, 1.5, _N_CLIPPED)
        # 0.49 more than the range still rounds into it.
        scales = np.concatenate(factors) * ((points[1] - points[0] + 0.49) / widest)
    # 2) Round c (v_b - v_r) at each scale, and evaluate J(T / c).
    candidates = []
    for scale in scales:
        tables = [_in_range(nearest(scale * table), points) for table in training.centred]
        loss = training.objective(training.totals(tables), 1 / scale)
        candidates.append(Rounded(tables, 1 / scale, loss))
    # 3) Take the first scale whose loss exceeds the least by no more than rounding errors.
    min_loss = min(candidate.loss for candidate in candidates)
    limit = min_loss + _TOLERANCE * max(1.0, abs(min_loss))
    return next(candidate for candidate in candidates if candidate.loss <= limit)


def _in_range(table: Indices, points: tuple[int, int]) -> Indices:
    """Shift points by the least amount that brings them into the range, then clip them."""
    shift = max(0, points[0] - int(table.min())) + min(0, points[1] - int(table.max()))
    return np.clip(table + shift, *points)


def scaled_points(
    tables: Sequence[Floats | Indices], line: tuple[float, float], scaling: dict[str, Any]
) -> tuple[list[Indices], int]:
    r"""Return points and an intercept for which "pdo" points double the odds.

    Points v become the nearest integer to B v with :math:`B = b \, \text{pdo} / \ln 2`, where
    the log odds are a + b T of the totals T of the former points.

    Parameters
    ----------
    tables : list of ndarray
        Points by bin.
    line : (float, float)
        a and b.
    scaling : dict
        "pdo" points double the odds, which are "odds" at the total "score".
    """
    constant, slope = line
    factor = scaling["pdo"] / np.log(2)
    ranges = [slope * float(np.ptp(table)) for table in tables]
    leaves_points = any(nearest(factor * width) for width in ranges)
    # If the odds do not double over the whole range of totals, the cause is not pdo.
    if not leaves_points and sum(ranges) < np.log(2):
        warn(
            "scaling of Scorecard leaves no points: the ranker orders held-out rows hardly better "
            "than chance, so the odds are the same everywhere.",
            ConvergenceWarning,
        )
    elif not leaves_points:
        raise ValueError(
            f"scaling={scaling!r} of Scorecard leaves no points: by the calibration on held-out "
            f"folds the log odds change by {slope:.3g} for each point of the unscaled card. Use a "
            "larger pdo."
        )
    offset = scaling["score"] + factor * (constant - np.log(scaling["odds"]))
    points, intercept = [nearest(factor * slope * table) for table in tables], nearest(offset)
    # Points that all bins of a variable share move to the intercept.
    shared = [int(table[0]) if np.ptp(table) == 0 else 0 for table in points]
    points = [table - shift for table, shift in zip(points, shared, strict=True)]
    return points, int(intercept) + sum(shared)


def minmax_points(tables: Sequence[Floats | Indices]) -> list[Indices]:
    """Return points for which the smallest possible total is 0 and the largest is 100.

    The least points of each variable are 0. Its greatest are its share of the sum of all
    ranges, rounded so that they sum to 100 (by the method of largest remainders).
    """
    widths = np.array([float(np.ptp(table)) for table in tables])
    if not widths.any():
        return [np.zeros(len(table), dtype=np.intp) for table in tables]
    # The variables with the largest remainders get the points that rounding down leaves over.
    exact_ranges = widths / widths.sum() * _LARGEST
    int_ranges = np.floor(exact_ranges + _TOLERANCE)
    order = np.argsort(-np.round(exact_ranges - int_ranges, 9), kind="stable")
    int_ranges[order[: _LARGEST - int(int_ranges.sum())]] += 1
    return [
        nearest(int(int_range) * (table - table.min()) / (width or 1.0))
        for table, width, int_range in zip(tables, widths, int_ranges, strict=True)
    ]


def nearest(values: Any) -> Indices:
    """Return the nearest integers; halves, up to rounding errors, are rounded up."""
    return np.asarray(np.floor(values + (0.5 + _TOLERANCE))).astype(np.intp)


def with_mean_points(training: BinnedTraining, tables: Sequence[Any]) -> list[Any]:
    """Return tables with the variable's mean points in special and missing bins without a rule.

    Bins of more rows keep 0: the ranker had enough rows to learn a rule, and learnt none.
    """
    completed = []
    for step, weight, table in zip(training.steps, training.weight_by_bin, tables, strict=True):
        has_rule = (step.values != 0) | (weight >= _FEW * weight.sum())
        has_rule[: step.bins.n_values] = True
        if not has_rule.all() and weight[has_rule].any():
            mean = np.average(table[has_rule], weights=weight[has_rule])
            mean_points = nearest(mean) if np.issubdtype(table.dtype, np.integer) else mean
            completed.append(np.where(has_rule, table, mean_points))
        else:
            completed.append(table)
    return completed
