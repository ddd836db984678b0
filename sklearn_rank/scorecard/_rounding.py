"""Integer points: a search over scales."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_rank._protocols import Indices
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
    multiplier : float
        Factor that brings totals back to the scores of the ranker.
    loss : float
        The objective at that multiple of the totals.
    """

    tables: list[Indices]
    multiplier: float
    loss: float


def round_steps(training: BinnedTraining, points: tuple[int, int]) -> Rounded:
    r"""Return integer points whose totals have the least objective, of many scales.

    Points are :math:`\lfloor c \, (v_b - v_r) + 1/2 \rfloor` with v the values of a step
    function, r its bin with most rows and c one scale for all, clipped to the range of points.
    Totals T are compared at the multiplier that undoes the scale, by J(T / c) with J the
    objective of the ranker. So a table is judged as an approximation of the ranker's own: a
    search for integers with an even smaller J would undo the ranker's ridge.

    Parameters
    ----------
    training : BinnedTraining
        The training rows, and the step functions to round.
    points : (int, int)
        Least and greatest points of a bin.
    """
    span = max((float(np.ptp(step.values)) for step in training.steps), default=0.0)
    scales = np.ones(1)
    if span > 0:
        ends = np.linspace(1, 0.25, _N_SCALES), np.linspace(1.05, 1.5, _N_CLIPPED)
        scales = np.concatenate(ends) * ((points[1] - points[0] + 0.49) / span)
    found = [_scaled(training, scale, points) for scale in scales]
    # The first of those whose losses differ by no more than rounding errors.
    least = min(one.loss for one in found)
    return next(one for one in found if one.loss <= least + _TOLERANCE * max(1.0, abs(least)))


def _scaled(training: BinnedTraining, scale: float, points: tuple[int, int]) -> Rounded:
    """Return step functions times a scale, rounded, with the objective at 1 / scale."""
    tables = [_in_range(nearest(scale * one), points) for one in training.centred]
    return Rounded(tables, 1 / scale, training.objective(training.totals(tables), 1 / scale))


def _in_range(table: Indices, points: tuple[int, int]) -> Indices:
    """Return points shifted as little as makes them fit in the range, then clipped."""
    low, high = points
    shift = max(0, low - int(table.min())) + min(0, high - int(table.max()))
    return np.clip(table + shift, low, high)
