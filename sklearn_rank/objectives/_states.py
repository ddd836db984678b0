"""An objective together with the current scores: what coordinate descent moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_rank._parallel import ThreadPool
from sklearn_rank._protocols import (
    Candidate,
    Floats,
    Objective,
    ObjectiveState,
    PairShares,
    RowGradient,
    Values,
    require,
)
from sklearn_rank.preferences import Preferences

_BLOCK = 32_768
"""Rows updated at a time: what a block needs stays in the second-level cache."""

_SMALLEST_EXPONENT = -690.0
_SMALLEST_MASS = float(np.exp(_SMALLEST_EXPONENT))
"""Smaller masses are raised to this: arithmetic on subnormal numbers is 20 times slower."""


class ScoreState:
    """The state of any objective: the scores, from which value and gradient are computed.

    Parameters
    ----------
    objective : Objective
        The objective. `pair_shares` gives closed-form steps where it has them; others
        need its `slope`.
    preferences : Preferences
        The comparable pairs.
    scores : ndarray of shape (n_rows,)
        The first scores; not modified.

    Examples
    --------
    A step along a 0/1 weak ranker h, up to where the slope is zero:

    >>> import numpy as np
    >>> from scipy.optimize import brentq
    >>> from sklearn_rank.objectives import InformationRetrievalPush, ScoreState
    >>> from sklearn_rank.preferences import Preferences
    >>> preferences = Preferences.from_labels(np.array([1, 1, 1, 0, 0]), None, np.ones(5))
    >>> push = InformationRetrievalPush(preferences)
    >>> state = ScoreState(push, preferences, np.zeros(5))
    >>> h = np.array([True, True, False, True, False])  # right about two pairs, wrong about one
    >>> step, before = brentq(state.slope(h), -5, 5), state.value
    >>> state.refresh(step * h)
    >>> round(step, 3), round(before, 3), round(state.value, 3)
    (0.522, 3.296, 3.21)
    """

    needs_refresh = False

    def __init__(self, objective: Objective, preferences: Preferences, scores: Floats) -> None:
        self.objective = objective
        self.preferences = preferences
        self.refresh(scores)

    def refresh(self, scores: Floats) -> None:
        """Restart from `scores`."""
        self.scores = scores.copy()
        self._update()

    def pair_shares(self, candidate: Candidate, h: Values) -> PairShares | None:
        """Return d+, d-, d0 when the closed-form step applies to h, else None."""
        find_shares = getattr(self.objective, "pair_shares", None)
        if find_shares is None or h.dtype != np.bool_:
            return None
        shares: PairShares | None = find_shares(self.scores, h)
        return shares

    def slope(self, h: Values) -> Callable[[float], float]:
        """Return the derivative of the objective along h."""
        slope: Callable[[float], float] = require(self.objective, "slope", "A line search")(
            self.scores, h
        )
        return slope

    def advance(self, candidate: Candidate, h: Values, step: float) -> None:
        """Move the scores by ``step * h``."""
        self.scores += step * h
        self._update()

    def smallest_margin(self) -> float:
        """Return the smallest margin over all pairs."""
        return self.preferences.smallest_difference(self.scores, self.scores)

    def _update(self) -> None:
        self.value, gradient = self.objective.value_and_gradient(self.scores)
        self.gradient = RowGradient.signed(gradient)


class _SideMass:
    """Masses ``w exp(c f)`` of one side of a list, moved in place.

    Their true values are ``data * exp(log_scale)``, `total` is the sum of `data` and
    `peak` the largest of ``data / w``.
    """

    def __init__(self, rows: slice, exponent: float, data: Floats, weight: Floats):
        self.rows = rows
        self.exponent = exponent
        self.data = data
        is_uniform = np.ptp(weight[rows]) == 0
        known = weight[rows][:1] if is_uniform else weight[rows]
        self.log_weight = np.log(known)
        self._per_weight: Floats | float = 1.0 / (float(known[0]) if is_uniform else known)

    def restart(self, scores: Floats) -> None:
        """Compute the masses in the log domain."""
        data = self.data
        np.multiply(scores[self.rows], self.exponent, out=data)
        data += self.log_weight
        top = float(data.max())
        data -= top
        np.maximum(data, _SMALLEST_EXPONENT, out=data)
        np.exp(data, out=data)
        total = float(data.sum())
        data /= total
        self.log_scale = top + float(np.log(total))
        self.total = 1.0
        self.peak = self.largest(slice(None))

    def move(self, block: slice, h: Values, step: float) -> None:
        """Multiply a block by ``exp(c step h) / total``."""
        factor = h[self.rows][block].astype(np.float64)
        factor *= np.expm1(self.exponent * step) / self.total
        factor += 1.0 / self.total
        data = self.data[block]
        data *= factor
        np.maximum(data, _SMALLEST_MASS, out=data)

    def finish_move(self, total: float, peak: float) -> None:
        """Set the sums of the moved masses."""
        self.log_scale += float(np.log(self.total))
        self.total, self.peak = total, peak

    def largest(self, block: slice) -> float:
        """Return the largest ``data / w`` of a block."""
        if isinstance(self._per_weight, float):
            return float(self.data[block].max()) * self._per_weight
        return float((self.data[block] * self._per_weight[block]).max())

    @property
    def log_total(self) -> float:
        """Logarithm of the true sum."""
        return self.log_scale + float(np.log(self.total))

    @property
    def extreme_score(self) -> float:
        """The lowest score of the rows above, the highest of those below."""
        return (self.log_scale + float(np.log(self.peak))) / self.exponent


class ExponentialState:
    r"""The state of a sum of one exponential term for each side, moved in place.

    On one bipartite list the p-norm push of `SidePush` is such a sum,

    .. math:: J_p(f) = \frac1a \log \sum_i w_i e^{-a f_i} + \frac1b \log \sum_k w_k e^{b f_k}

    where f are scores, w row weights, i runs over the rows above and k over those below,
    and (a, b) = (1, p) for the push at the top and (p, 1) at the bottom. A step along a
    0/1 weak ranker multiplies the masses :math:`w e^{\mp f}` by one of two factors, so that
    no exponential of a row is computed between two calls of `refresh`.

    Parameters
    ----------
    objective : Objective
        Has `side_exponents`, (-a, b), and `preferences`, one bipartite list.
    scores : ndarray of shape (n_rows,)
        The first scores.
    threads : ThreadPool
        Threads that share the rows.
    with_margin : bool
        Whether `smallest_margin` will be called: it needs a pass a round.

    References
    ----------
    Rudin2009, sec. 2 (the objective); the two terms are derived here.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank._parallel import ThreadPool
    >>> from sklearn_rank.objectives import ExponentialState, SidePush
    >>> from sklearn_rank.preferences import Preferences
    >>> preferences = Preferences.from_labels(np.array([1, 1, 0, 0]), None, np.ones(4))
    >>> push, scores = SidePush(preferences, 4, "top"), np.array([4.0, 2.0, 1.0, 0.0])
    >>> state = ExponentialState(push, scores, ThreadPool(), with_margin=True)
    >>> round(state.value, 9) == round(push.value(scores), 9)
    True
    >>> round(state.smallest_margin(), 9)
    1.0
    """

    needs_refresh = True

    def __init__(
        self,
        objective: Any,
        scores: Floats,
        threads: ThreadPool,
        *,
        with_margin: bool,
    ) -> None:
        weight = objective.preferences.weight
        n_rows, n_above = len(weight), int(objective.preferences.segments.start[1])
        above, below = slice(0, n_above), slice(n_above, n_rows)
        data = np.empty(n_rows)
        self._sides = [
            _SideMass(rows, exponent, data[rows], weight)
            for rows, exponent in zip((above, below), objective.side_exponents, strict=True)
        ]
        self.gradient = RowGradient(data, np.array([0, n_above, n_rows]))
        self._threads = threads
        self._with_margin = with_margin
        self._blocks = [
            (side, slice(start, start + _BLOCK))
            for side in self._sides
            for start in range(0, len(side.data), _BLOCK)
        ]
        self.refresh(scores)

    def refresh(self, scores: Floats) -> None:
        """Restart from `scores`, without the rounding errors of the rounds so far."""
        for side in self._sides:
            side.restart(scores)

    @property
    def value(self) -> float:
        """The objective now."""
        return sum(side.log_total / abs(side.exponent) for side in self._sides)

    def pair_shares(self, candidate: Candidate, h: Values) -> PairShares:
        """Return d+, d-, d0 of a 0/1 weak ranker, from its sums in the histogram."""
        assert candidate.one is not None
        assert candidate.zero is not None
        total = candidate.one + candidate.zero
        (above_one, below_one), (above_zero, below_zero) = (
            (candidate.one / total).tolist(),
            (candidate.zero / total).tolist(),
        )
        tied = above_one * below_one + above_zero * below_zero
        return PairShares(above_one * below_zero, above_zero * below_one, tied)

    def slope(self, h: Values) -> Callable[[float], float]:
        """Return the derivative of the objective along a 0/1 weak ranker h."""
        parts = [
            (side.exponent, float(side.data[h[side.rows]].sum()), float(side.data.sum()))
            for side in self._sides
        ]

        def derivative(a: float) -> float:
            slope = 0.0
            for exponent, one, total in parts:
                growth = np.exp(exponent * a)
                slope += np.sign(exponent) * one * growth / (total + one * (growth - 1))
            return float(slope)

        return derivative

    def advance(self, candidate: Candidate, h: Values, step: float) -> None:
        """Move the scores by ``step * h``."""
        assert candidate.one is not None
        assert candidate.zero is not None

        def move(number: int) -> float:
            side, block = self._blocks[number]
            side.move(block, h, step)
            return side.largest(block) if self._with_margin else 0.0

        peaks = self._threads.map(move, len(self._blocks))
        for side, one, zero in zip(self._sides, candidate.one, candidate.zero, strict=True):
            peak = max(
                peak for peak, (owner, _) in zip(peaks, self._blocks, strict=True) if owner is side
            )
            growth = np.exp(side.exponent * step)
            side.finish_move(float(one * growth + zero) / side.total, peak)

    def smallest_margin(self) -> float:
        """Return the smallest margin over all pairs."""
        above, below = self._sides
        return above.extreme_score - below.extreme_score

    def balancing_offset(self) -> float:
        """Return the balancing offset of the scores, at p = 1."""
        above, below = self._sides
        return (above.log_total - below.log_total) / 2


def make_state(
    objective: Objective,
    preferences: Preferences,
    scores: Floats,
    *,
    threads: ThreadPool,
    is_two_sided: bool,
    with_margin: bool,
) -> ObjectiveState:
    """Return the state that is cheapest to move.

    Parameters
    ----------
    objective, preferences, scores, threads, with_margin
        As in `ScoreState` and `ExponentialState`.
    is_two_sided : bool
        Whether the weak rankers are 0/1 and searched on a gradient in two groups.
    """
    if is_two_sided and getattr(objective, "side_exponents", None) is not None:
        return ExponentialState(objective, scores, threads, with_margin=with_margin)
    return ScoreState(objective, preferences, scores)
