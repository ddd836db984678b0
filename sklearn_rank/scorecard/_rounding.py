"""Integer points: a search over scales, and a descent by single points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sklearn_rank._protocols import Floats, Indices, Mask
from sklearn_rank.models import StepFunction
from sklearn_rank.scorecard._scaling import nearest
from sklearn_rank.scorecard._training import BinnedTraining

_N_SCALES, _N_CLIPPED = 36, 10
"""Scales up to the one at which the widest variable fills the range, and beyond it."""

_N_STARTS = 3
_MOST_SWEEPS = 8
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
        The objective is least at this multiple of the totals, from half to twice 1 / `scale`.
    loss : float
        The objective there.
    """

    tables: list[Indices]
    scale: float
    multiplier: float
    loss: float


def round_steps(
    training: BinnedTraining,
    steps: Sequence[StepFunction],
    points: tuple[int, int],
    signs: Sequence[int],
    target: float = -np.inf,
) -> Rounded:
    r"""Return integer points whose totals have the least objective that a search finds.

    Points are :math:`\lfloor c \, (v_b - v_r) + 1/2 \rfloor` with v the values of a step
    function, r its bin with most rows and c one scale for all, clipped to the range of points.
    The best three of many scales are improved by single points: one above a threshold, or one
    in a bin. Totals T are compared at their best multiplier, :math:`\min_s J(s T)` with J the
    objective of the ranker. By convexity a move can only lower J where the slope along it is
    negative, so that the others are not tried. Moves end at `target`: many steps that are moved
    below the loss of the ranker fit the training rows beyond what it has learned.

    Parameters
    ----------
    training : BinnedTraining
        The training rows.
    steps : list of StepFunction
        What is rounded.
    points : (int, int)
        Least and greatest points of a bin.
    signs : list of int
        1 or -1 for step functions that must stay increasing or decreasing, else 0.
    target : float
        The loss that is good enough: that of the ranker, or -inf to go on to a minimum.
    """
    span = max((float(np.ptp(step.values)) for step in steps), default=0.0)
    if span == 0:
        return exact_steps(training, steps, 1.0)
    widest = (points[1] - points[0] + 0.49) / span
    scales = np.concatenate([np.linspace(1, 0.25, _N_SCALES), np.linspace(1.05, 1.5, _N_CLIPPED)])
    starts = [_scaled(training, steps, scale, points) for scale in scales * widest]
    best = sorted(starts, key=lambda one: max(one.loss, target + _near(target)))
    chosen = _without_repeats(best)[:_N_STARTS]
    ends = [_Descent(training, steps, points, signs, target).run(one) for one in chosen]
    return _first_least(ends, target)


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


def exact_steps(training: BinnedTraining, steps: Sequence[StepFunction], scale: float) -> Rounded:
    """Return step functions times a scale that is given, rounded to integers of any size."""
    tables = _rounded_tables(training, steps, scale, None)
    return Rounded(tables, scale, *training.best_multiplier(training.totals(tables), 1 / scale))


def _rounded_tables(
    training: BinnedTraining,
    steps: Sequence[StepFunction],
    scale: float,
    points: tuple[int, int] | None,
) -> list[Indices]:
    return [
        centred(nearest(scale * (step.values - step.values[int(np.argmax(weight))])), 0, points)
        for step, weight in zip(steps, training.weight_by_bin, strict=True)
    ]


def centred(table: Indices, zero: int, points: tuple[int, int] | None) -> Indices:
    """Return points less `zero`, or as near to that as they fit in the range, then clipped."""
    table = table - zero
    if points is None:
        return table
    low, high = points
    shift = max(0, low - int(table.min())) + min(0, high - int(table.max()))
    return np.clip(table + shift, low, high)


def _without_repeats(starts: Sequence[Rounded]) -> list[Rounded]:
    """Return the first of those with equal tables."""
    known: dict[bytes, Rounded] = {}
    for one in starts:
        key = b"".join(table.tobytes() for table in one.tables)
        known.setdefault(key, one)
    return list(known.values())


def _first_least(found: Sequence[Rounded], target: float) -> Rounded:
    """Return the first whose loss is that of the ranker or the least, but for rounding errors."""
    least = max(target, min(one.loss for one in found))
    return next(one for one in found if one.loss <= least + _near(least))


def _near(loss: float) -> float:
    """Return a difference that counts as none."""
    return _TOLERANCE * max(1.0, abs(loss)) if np.isfinite(loss) else 0.0


@dataclass(frozen=True, eq=False)
class _Descent:
    """Moves by single points that lower the objective."""

    training: BinnedTraining
    steps: Sequence[StepFunction]
    points: tuple[int, int]
    signs: Sequence[int]
    target: float

    def run(self, start: Rounded) -> Rounded:
        """Return tables that no single point improves, or those after the last sweep."""
        tables, multiplier, loss = list(start.tables), start.multiplier, start.loss
        for n_left in range(_MOST_SWEEPS, -1, -1):
            totals = self.training.totals(tables)
            multiplier, loss = self.training.best_multiplier(totals, 1 / start.scale)
            if n_left == 0 or loss <= self.target or not self._sweep(tables, multiplier):
                break
        return Rounded(tables, start.scale, multiplier, loss)

    def _sweep(self, tables: list[Indices], multiplier: float) -> bool:
        """Try the moves, the steepest first; change the tables; return whether one was made."""
        training = self.training
        scores = multiplier * training.totals(tables)
        value, gradient = training.problem.objective.value_and_gradient(scores)
        moves = sorted(self._moves_down(gradient), key=lambda move: move[0])
        is_better = False
        for _, number, change in moves:
            if value <= self.target:
                break
            table = self._within(tables[number] + change)
            if table is None or not self._is_monotone(number, table):
                continue
            changed = scores + multiplier * (table - tables[number])[training.bins[number]]
            now = float(training.problem.objective.value(changed))
            if now < value - _near(value):
                tables[number], scores, value, is_better = table, changed, now, True
        return is_better

    def _moves_down(self, gradient: Floats) -> Iterator[tuple[float, int, Indices]]:
        """Yield slope, variable and change of the moves along which the objective falls."""
        for number, (step, weight) in enumerate(
            zip(self.steps, self.training.weight_by_bin, strict=True)
        ):
            by_bin = np.bincount(self.training.bins[number], gradient, len(weight))
            for mask in _bins_moved(step, weight):
                slope = float(by_bin[mask].sum())
                if abs(slope) > _TOLERANCE * float(np.abs(by_bin).sum()):
                    yield -abs(slope), number, -int(np.sign(slope)) * mask.astype(np.intp)

    def _within(self, table: Indices) -> Indices | None:
        """Return a table shifted into the range of points, or None where it is too wide."""
        low, high = self.points
        return None if np.ptp(table) > high - low else centred(table, 0, self.points)

    def _is_monotone(self, number: int, table: Indices) -> bool:
        change = self.signs[number] * np.diff(table[: self.steps[number].bins.n_values])
        return bool((change >= 0).all())


def _bins_moved(step: StepFunction, weight: Floats) -> Iterator[Mask]:
    """Yield the sets of bins that move together: those above a threshold, and single ones.

    A bin without rows moves with the first one that has rows and the same value.
    """
    number, n_values = np.arange(len(weight)), step.bins.n_values
    used = np.flatnonzero(weight > 0)
    leader = number.copy()
    for one in np.flatnonzero(weight == 0):
        equal = used[step.values[used] == step.values[one]]
        leader[one] = equal[0] if len(equal) else one
    if step.bins.categories is None:
        for first in range(1, n_values):
            yield (leader >= first) & (leader < n_values)
    for one in used:
        yield leader == one
