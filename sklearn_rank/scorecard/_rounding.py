"""Integer points: a search over scales."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sklearn_rank._protocols import Indices
from sklearn_rank.models import StepFunction
from sklearn_rank.scorecard._scaling import nearest
from sklearn_rank.scorecard._training import BinnedTraining

_N_SCALES, _N_CLIPPED = 36, 10
"""Scales up to the one at which the widest variable fills the range, and beyond it."""

_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Rounded:
    """Integer tables in place of step functions.

    Attributes
    ----------
    tables : list of ndarray of int
        Points by bin, for each step function.
    scale : float
        What the step functions were multiplied with.
    multiplier : float
        What brings totals back to the scores of the ranker.
    loss : float
        The objective at that multiple of the totals.
    """

    tables: list[Indices]
    scale: float
    multiplier: float
    loss: float


def round_steps(
    training: BinnedTraining, steps: Sequence[StepFunction], points: tuple[int, int]
) -> Rounded:
    r"""Return integer points whose totals have the least objective, of many scales.

    Points are :math:`\lfloor c \, (v_b - v_r) + 1/2 \rfloor` with v the values of a step
    function, r its bin with most rows and c one scale for all, clipped to the range of points.
    Totals T are compared at the multiplier that undoes the scale, by J(T / c) with J the
    objective of the ranker. So a table is judged as an approximation of the ranker's own: a
    search for integers with an even smaller J would undo the ranker's ridge.

    Parameters
    ----------
    training : BinnedTraining
        The training rows.
    steps : list of StepFunction
        What is rounded.
    points : (int, int)
        Least and greatest points of a bin.
    """
    span = max((float(np.ptp(step.values)) for step in steps), default=0.0)
    if span == 0:
        return _scaled(training, steps, 1.0, points)
    widest = (points[1] - points[0] + 0.49) / span
    scales = np.concatenate([np.linspace(1, 0.25, _N_SCALES), np.linspace(1.05, 1.5, _N_CLIPPED)])
    return _first_least([_scaled(training, steps, scale, points) for scale in scales * widest])


def _scaled(
    training: BinnedTraining,
    steps: Sequence[StepFunction],
    scale: float,
    points: tuple[int, int],
) -> Rounded:
    """Return step functions times a scale, rounded, with the objective at 1 / scale."""
    tables = _rounded_tables(training, steps, scale, points)
    loss = training.objective(training.totals(tables), 1 / scale)
    return Rounded(tables, scale, 1 / scale, loss)


def _rounded_tables(
    training: BinnedTraining,
    steps: Sequence[StepFunction],
    scale: float,
    points: tuple[int, int],
) -> list[Indices]:
    return [
        _in_range(nearest(scale * (step.values - step.values[int(np.argmax(weight))])), points)
        for step, weight in zip(steps, training.weight_by_bin, strict=True)
    ]


def _in_range(table: Indices, points: tuple[int, int]) -> Indices:
    """Return points shifted as little as makes them fit in the range, then clipped."""
    low, high = points
    shift = max(0, low - int(table.min())) + min(0, high - int(table.max()))
    return np.clip(table + shift, low, high)


def _first_least(found: Sequence[Rounded]) -> Rounded:
    """Return the first whose loss is the least but for rounding errors."""
    least = min(one.loss for one in found)
    return next(one for one in found if one.loss <= least + _TOLERANCE * max(1.0, abs(least)))
