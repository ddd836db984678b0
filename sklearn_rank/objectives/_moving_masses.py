"""Exponential pushes of one bipartite list, whose masses are moved in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Candidate, Floats, PairShares, RowGradient, Values

_BLOCK = 16_000
"""Rows updated at a time: what a block needs stays in the second-level cache, and its arrays are
small enough to be allocated without new pages, whatever the limits of the allocator are."""

_SMALLEST_EXPONENT = -690.0
"""Its exponential, 1e-300, is still a normal number."""

_SMALLEST_MASS = float(np.exp(_SMALLEST_EXPONENT))
"""Smaller masses are raised to this: arithmetic on subnormal numbers is slow."""


def _blocks_of(n_rows: int) -> list[slice]:
    return [slice(start, start + _BLOCK) for start in range(0, n_rows, _BLOCK)]


class _SideMass:
    """Masses ``w exp(c f)`` of one side of a list, updated in place.

    Their true values are ``data * exp(log_scale)``, and `total` is the sum of `data`.
    """

    def __init__(self, rows: slice, exponent: float, data: Floats, weight: Floats):
        self.rows = rows
        self.exponent = exponent
        self.data = data
        weight = weight[rows] if len(data) else np.ones(1)  # other processes may have the rows
        is_uniform = np.ptp(weight) == 0
        self.log_weight = np.log(weight[:1] if is_uniform else weight)
        self._inverse_weight: Floats | float = 1.0 / (float(weight[0]) if is_uniform else weight)

    def log_masses(self, scores: Floats) -> float:
        """Set the masses to their logarithms, and return the largest logarithm."""
        np.multiply(scores[self.rows], self.exponent, out=self.data)
        if len(self.data):
            self.data += self.log_weight
        return float(np.max(self.data, initial=-np.inf))

    def exponentiate(self, max_log: float) -> float:
        """Convert logarithms, the largest of which is `max_log`, to masses; return their sum."""
        data = self.data
        data -= max_log
        np.maximum(data, _SMALLEST_EXPONENT, out=data)
        np.exp(data, out=data)
        return float(data.sum())

    def normalise(self, max_log: float, total: float) -> None:
        """Divide the masses by their sum."""
        self.data /= total
        self.log_scale = max_log + float(np.log(total))
        self.total = 1.0

    def move(self, block: slice, h: Values, step: float) -> None:
        """Multiply a block by ``exp(c step h) / total``."""
        growth, h_block = float(np.exp(self.exponent * step)), h[self.rows][block]
        # The smaller of the factors 1 and growth, plus their difference for rows with the larger:
        # in the other direction the digits of the smaller would cancel.
        factor = (h_block if growth > 1 else ~h_block).astype(np.float64)
        factor *= abs(growth - 1.0) / self.total
        factor += min(growth, 1.0) / self.total
        data = self.data[block]
        data *= factor
        np.maximum(data, _SMALLEST_MASS, out=data)

    def finish_move(self, total: float) -> None:
        """Set the sum of the moved masses."""
        self.log_scale += float(np.log(self.total))
        self.total = total

    def max_mass(self, block: slice) -> float:
        """Return the largest ``data / w`` of a block."""
        if isinstance(self._inverse_weight, float):
            return float(self.data[block].max()) * self._inverse_weight
        return float((self.data[block] * self._inverse_weight[block]).max())

    @property
    def log_total(self) -> float:
        """Logarithm of the true sum."""
        return self.log_scale + float(np.log(self.total))

    def peak(self, threads: ThreadPool) -> float:
        """Return the largest ``data / w``, 0 without rows."""
        slices = _blocks_of(len(self.data))
        return max(threads.map(lambda i: self.max_mass(slices[i]), len(slices)), default=0.0)

    def extreme_score(self, peak: float) -> float:
        """Return the lowest score of the rows above, the highest of those below."""
        return (self.log_scale + float(np.log(peak))) / self.exponent


class _MassState:
    """Masses of one bipartite list, updated in place, and quantities computed from their sums.

    Parameters
    ----------
    preferences : Preferences
        One bipartite list.
    exponents : sequence of two sequences of float
        The exponents c of the masses of the rows above, and of those below. The first of all is
        -1 or the only one above, the last is 1 or the only one below.
    scores : ndarray of shape (n_rows,)
        The first scores.
    threads : ThreadPool
        Threads that share the rows.
    """

    needs_refresh = True

    def __init__(
        self,
        preferences: Preferences,
        exponents: Sequence[Sequence[float]],
        scores: Floats,
        threads: ThreadPool,
    ) -> None:
        self._pairs, self._threads = preferences, threads
        weight = preferences.weight
        pointer = np.array([0, int(preferences.segments.start[1]), len(weight)])
        self.gradient = RowGradient(np.empty(len(weight)), pointer)
        self._sides = []
        for first, last, side_exponents in zip(pointer, pointer[1:], exponents, strict=False):
            rows, data = slice(first, last), self.gradient.data[first:last]
            # A single mass of a side is its gradient; of several the gradient is a sum.
            is_gradient = len(side_exponents) == 1
            masses = [
                _SideMass(rows, exponent, data if is_gradient else data.copy(), weight)
                for exponent in side_exponents
            ]
            self._sides.append(masses)
        self._masses = [mass for side in self._sides for mass in side]
        self._blocks = [
            (index, block)
            for index, side in enumerate(self._sides)
            for block in _blocks_of(len(side[0].data))
        ]
        self.refresh(scores)

    def refresh(self, scores: Floats) -> None:
        """Restart from `scores` in the log domain, which removes accumulated rounding errors."""
        masses = self._masses
        # One largest logarithm and one sum for all processes.
        tops = self._pairs.largest(np.array([mass.log_masses(scores) for mass in masses])).tolist()
        sums = [mass.exponentiate(max_log) for mass, max_log in zip(masses, tops, strict=True)]
        totals = self._pairs.total(np.array(sums)).tolist()
        for mass, max_log, total in zip(masses, tops, totals, strict=True):
            mass.normalise(max_log, total)

    def curvature(self, candidate: Candidate, h: Values) -> None:
        """Return None: steps have a closed form, or a line search that visits no row."""

    def smallest_margin(self) -> float:
        """Return the smallest margin over all pairs."""
        above, below = self._masses[0], self._masses[-1]
        peaks = np.array([above.peak(self._threads), below.peak(self._threads)])
        high, low = self._pairs.largest(peaks).tolist()
        return above.extreme_score(high) - below.extreme_score(low)

    def balancing_offset(self) -> float:
        """Return the balancing offset of the scores; both exponents must be of size one."""
        return (self._masses[0].log_total - self._masses[-1].log_total) / 2


class ExponentialState(_MassState):
    r"""The state of a sum with one exponential term per side, updated in place.

    On one bipartite list the p-norm push of `SidePush` is such a sum,

    .. math:: J_p(f) = \frac1a \log \sum_i w_i e^{-a f_i} + \frac1b \log \sum_k w_k e^{b f_k}

    where f are scores, w row weights, i runs over the rows above and k over those below,
    and (a, b) = (1, p) for the push at the top and (p, 1) at the bottom. `gradient` has the masses
    :math:`w_i e^{-a f_i}` and :math:`w_k e^{b f_k}`, each divided by the sum of its side: they are
    the sums by row of :math:`\tilde d_{ik}` (Rudin2009, Figure 2), which is their product. A step
    along a 0/1 weak ranker multiplies each mass by one of two factors, so that no exponential of a
    row is computed between two calls of `refresh`.

    Parameters
    ----------
    objective : Objective
        Has `side_exponents`, (-a, b), and `preferences`, one bipartite list.
    scores : ndarray of shape (n_rows,)
        The first scores.
    threads : ThreadPool
        Threads that share the rows.

    References
    ----------
    Rudin2009, sec. 2 (the objective); the two terms are derived here.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank._core.parallel import ThreadPool
    >>> from sklearn_rank.objectives import ExponentialState, Preferences, SidePush
    >>> preferences = Preferences.from_labels(np.array([1, 1, 0, 0]), None, np.ones(4))
    >>> push, scores = SidePush(preferences, 4, "top"), np.array([4.0, 2.0, 1.0, 0.0])
    >>> state = ExponentialState(push, scores, ThreadPool())
    >>> round(state.value, 9) == round(push.value(scores), 9)
    True
    >>> round(state.smallest_margin(), 9)
    1.0
    """

    def __init__(self, objective: Any, scores: Floats, threads: ThreadPool) -> None:
        above, below = objective.side_exponents
        super().__init__(objective.preferences, [[above], [below]], scores, threads)

    @property
    def value(self) -> float:
        """The current objective."""
        return sum(mass.log_total / abs(mass.exponent) for mass in self._masses)

    def pair_shares(self, candidate: Candidate, h: Values) -> PairShares:
        """Return d+, d-, d0 of a 0/1 weak ranker, from its sums in the histogram."""
        assert candidate.one is not None
        assert candidate.zero is not None
        total = candidate.one + candidate.zero
        above_one, below_one = (candidate.one / total).tolist()
        above_zero, below_zero = (candidate.zero / total).tolist()
        # The mass of a pair is the product of those of its rows: shares of pairs are products too.
        tied = above_one * below_one + above_zero * below_zero
        return PairShares(above_one * below_zero, above_zero * below_one, tied)

    def slope(self, candidate: Candidate, h: Values) -> Callable[[float], float]:
        """Return the derivative of the objective along a 0/1 weak ranker h."""
        sums = [[mass.data[h[mass.rows]].sum(), mass.data.sum()] for mass in self._masses]
        one, total = self._pairs.total(np.array(sums)).T
        exponents = np.array([mass.exponent for mass in self._masses])

        def derivative(a: float) -> float:
            growth = np.exp(exponents * a)
            return float((np.sign(exponents) * one * growth / (total + one * (growth - 1))).sum())

        return derivative

    def advance(self, candidate: Candidate, h: Values, step: float) -> float:
        """Move the scores by ``step * h``."""
        assert candidate.one is not None
        assert candidate.zero is not None

        def move(index: int) -> None:
            side, block = self._blocks[index]
            self._masses[side].move(block, h, step)

        self._threads.map(move, len(self._blocks))
        for mass, one, zero in zip(self._masses, candidate.one, candidate.zero, strict=True):
            growth = np.exp(mass.exponent * step)
            mass.finish_move(float(one * growth + zero) / mass.total)
        return step


class BothState(_MassState):
    r"""The state of `BothPush` on one bipartite list, updated in place.

    .. math:: & J(f) = \log(R_\text{top} + b \, R_\text{bottom}),
        \\ & R_\text{top} = \Bigl(\sum_i w_i e^{-f_i}\Bigr)^p \sum_k w_k e^{p f_k}, \quad
        R_\text{bottom} = \sum_i w_i e^{-p f_i} \Bigl(\sum_k w_k e^{f_k}\Bigr)^p

    where i runs over the rows above, k over those below, and f, w and b are as in `BothPush`.
    Along a 0/1 weak ranker J depends on eight numbers, each of the four sums divided into
    the rows with h = 1 and those with h = 0: a line search visits no row. `gradient` and
    `slope` differ by a factor: the gradient in two groups, and so the edge of a candidate, is
    that of J / p.

    Parameters
    ----------
    objective : BothPush
        The push, of one bipartite list.
    scores : ndarray of shape (n_rows,)
        The first scores.
    threads : ThreadPool
        Threads that share the rows.

    References
    ----------
    Rudin2009, sec. 2 (the sum for the top), sec. 7 (that for the bottom, and for both).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank._core.parallel import ThreadPool
    >>> from sklearn_rank.objectives import BothPush, BothState, Preferences
    >>> preferences = Preferences.from_labels(np.array([1, 1, 0, 0]), None, np.ones(4))
    >>> push, scores = BothPush(preferences, 4.0), np.array([4.0, 2.0, 1.0, 0.0])
    >>> state = BothState(push, scores, ThreadPool())
    >>> round(state.value, 9) == round(push.value(scores), 9)
    True
    """

    def __init__(self, objective: Any, scores: Floats, threads: ThreadPool) -> None:
        p = objective.p
        self._p, self._log_bottom_weight = p, objective.log_bottom_weight
        # Above and below; of each the masses in the risk of the top and of the bottom.
        exponents = [[-1.0, -p], [p, 1.0]]
        self._exponents = np.array(exponents).ravel()
        super().__init__(objective.preferences, exponents, scores, threads)

    def refresh(self, scores: Floats) -> None:
        """Restart from `scores`, which removes accumulated rounding errors."""
        super().refresh(scores)
        self._move(np.zeros(len(scores), dtype=bool), 0.0, np.zeros(4), np.ones(4))

    @property
    def value(self) -> float:
        """The current objective."""
        return float(np.logaddexp(*self._log_risks([mass.log_total for mass in self._masses])))

    def pair_shares(self, candidate: Candidate, h: Values) -> None:
        """Return None: the step has no closed form."""

    def with_masses(self, candidate: Candidate, h: Values) -> Candidate:
        """Return the candidate with the sums of the four masses, one pass over the rows."""
        return replace(candidate, masses=self._sums_of(h))

    def slope(self, candidate: Candidate, h: Values) -> Callable[[float], float]:
        """Return the derivative of the objective along a 0/1 weak ranker h."""
        initial_one, zero = candidate.masses or self._sums_of(h)
        log_scale = np.array([mass.log_scale for mass in self._masses])

        def derivative(a: float) -> float:
            one = initial_one * np.exp(self._exponents * a)
            share = self._shares(log_scale + np.log(one + zero))
            mean = one / (one + zero)
            return float(self._p * (share @ (mean[2:] - mean[:2])))

        return derivative

    def advance(self, candidate: Candidate, h: Values, step: float) -> float:
        """Move the scores by ``step * h``."""
        self._move(h, step, *(candidate.masses or self._sums_of(h)))
        return step

    def _log_risks(self, log_total: Any) -> tuple[float, float]:
        """Return the logarithms of the risks at the top and at the bottom."""
        inner_top, outer_bottom, outer_top, inner_bottom = log_total
        top = self._p * inner_top + outer_top
        return top, self._p * inner_bottom + outer_bottom + self._log_bottom_weight

    def _shares(self, log_total: Floats) -> Floats:
        """Return the shares of the top and of the bottom in the sum of both risks."""
        risks = np.array(self._log_risks(log_total))
        return np.asarray(np.exp(risks - np.logaddexp(*risks)))

    def _sums_of(self, h: Values) -> tuple[Floats, Floats]:
        """Return the sums of the four masses where h is 1, and where it is 0."""

        def sums(index: int) -> tuple[int, list[list[float]]]:
            side, block = self._blocks[index]
            is_one = h[self._sides[side][0].rows][block].astype(np.float64)
            # Not by BLAS, whose own threads would wait for one another.
            return side, [
                [float(np.einsum("i,i->", mass.data[block], rows)) for mass in self._sides[side]]
                for rows in (is_one, 1.0 - is_one)
            ]

        total = np.zeros((2, 2, 2))
        for side, block_sums in self._threads.map(sums, len(self._blocks)):
            total[:, side] += block_sums
        total = self._pairs.total(total)
        return total[0].ravel(), total[1].ravel()

    def _move(self, h: Values, step: float, one: Floats, zero: Floats) -> None:
        """Update masses and gradient; `one`, `zero`: sums of masses where h is 1 and 0."""
        old_totals = np.array([mass.total for mass in self._masses])
        # Each mass is divided by its old sum as it moves: new sums stay near one.
        total = (one * np.exp(self._exponents * step) + zero) / old_totals
        log_total = np.log(old_totals) + np.log(total) + [mass.log_scale for mass in self._masses]
        # The gradient of a risk is its share times the normalised masses of its rows.
        factor = (np.tile(self._shares(log_total), 2) / total).reshape(2, 2)

        def move(index: int) -> None:
            side, block = self._blocks[index]
            top, bottom = self._sides[side]
            top.move(block, h, step)
            bottom.move(block, h, step)
            out = self.gradient.data[top.rows][block]
            np.multiply(top.data[block], factor[side, 0], out=out)
            out += bottom.data[block] * factor[side, 1]

        self._threads.map(move, len(self._blocks))
        for mass, new_total in zip(self._masses, total.tolist(), strict=True):
            mass.finish_move(new_total)
