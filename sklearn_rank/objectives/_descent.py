"""An objective together with the current scores: what the boosting loop moves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sklearn_rank._parallel import ThreadPool
from sklearn_rank._protocols import Candidate, Floats, Mask, PairShares, RowMasses, Values
from sklearn_rank.objectives._exponential_pushes import Push, SidePush
from sklearn_rank.pair_sums import log_sum_exp
from sklearn_rank.preferences import Preferences

_BLOCK = 32_768
"""Rows updated at a time: the working set of a block stays in the second-level cache."""

_SMALLEST_EXPONENT = -690.0
_SMALLEST_MASS = float(np.exp(_SMALLEST_EXPONENT))
"""Masses below are raised to it: arithmetic on subnormal numbers is 20 times slower."""


def balancing_offset(scores: Floats, positive: Mask, log_weight: Floats) -> float:
    r"""Return the offset at which both classes have one exponential mass.

    .. math:: b = \tfrac12 \Bigl(\log \sum_{i \in +} w_i e^{-f_i}
        - \log \sum_{k \in -} w_k e^{f_k}\Bigr)

    where f are the scores and w the weights. With it the F-skew of f + b is zero, and
    RankBoost classifies as AdaBoost does.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Scores f.
    positive : ndarray of bool of shape (n_rows,)
        True for rows of the class that belongs above.
    log_weight : ndarray of shape (n_rows,)
        Logarithms of the weights w.

    Returns
    -------
    float
        The offset b; without rows of one class it is infinite.

    References
    ----------
    RudinSchapire2009, no number at hand (F-skew zero).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.objectives import balancing_offset
    >>> scores, positive = np.array([3.0, 1.0, 2.0]), np.array([True, False, False])
    >>> offset = balancing_offset(scores, positive, np.zeros(3))
    >>> round(offset, 3)
    -2.657
    >>> mass = np.exp(-np.where(positive, 1, -1) * (scores + offset))
    >>> [round(float(mass[rows].sum()), 3) for rows in (positive, ~positive)]
    [0.709, 0.709]
    """
    positives = log_sum_exp((log_weight - scores)[positive])
    negatives = log_sum_exp((log_weight + scores)[~positive])
    return (positives - negatives) / 2


class ScoredDescent:
    """Any objective: the scores are kept and the masses computed from them.

    Parameters
    ----------
    objective : Push
        The objective.
    preferences : Preferences
        The comparable pairs.
    scores : ndarray of shape (n_rows,)
        Where to begin; not modified.
    offset : callable or None
        Maps scores to the offset between two classes, where one is wanted.

    Examples
    --------
    A step along a 0/1 weak ranker h, up to where the slope is zero:

    >>> import numpy as np
    >>> from scipy.optimize import brentq
    >>> from sklearn_rank.objectives import InformationRetrievalPush, ScoredDescent
    >>> from sklearn_rank.preferences import Preferences
    >>> preferences = Preferences.from_labels(np.array([1, 1, 1, 0, 0]), None, np.ones(5))
    >>> push = InformationRetrievalPush(preferences)
    >>> descent = ScoredDescent(push, preferences, np.zeros(5))
    >>> h = np.array([True, True, False, True, False])  # right about two pairs, wrong about one
    >>> step, before = brentq(descent.slope(h), -5, 5), descent.value
    >>> descent.refresh(step * h)
    >>> round(step, 3), round(before, 3), round(descent.value, 3)
    (0.522, 3.296, 3.21)
    """

    drifts = False

    def __init__(
        self,
        objective: Push,
        preferences: Preferences,
        scores: Floats,
        offset: Callable[[Floats], float] | None = None,
    ) -> None:
        self.objective = objective
        self.preferences = preferences
        self._offset = offset
        self._pointer = np.array([0, preferences.n_rows])
        self.refresh(scores)

    def refresh(self, scores: Floats) -> None:
        """Restart from `scores`."""
        self.scores = scores.copy()
        self._update()

    def pair_shares(self, candidate: Candidate, h: Values) -> PairShares | None:
        """Return d+, d-, d0 when the closed-form step applies to h, else None."""
        if h.dtype != np.bool_:
            return None
        return self.objective.pair_shares(self.scores, h)

    def slope(self, h: Values) -> Callable[[float], float]:
        """Return the derivative of the objective along h."""
        return self.objective.slope(self.scores, h)

    def advance(self, candidate: Candidate, h: Values, step: float) -> None:
        """Move the scores by ``step * h``."""
        self.scores += step * h
        self._update()

    def smallest_margin(self) -> float:
        """Return the smallest margin over all pairs."""
        return self.preferences.smallest_difference(self.scores, self.scores)

    def skew(self) -> float:
        """Return the offset between the two classes."""
        assert self._offset is not None
        return self._offset(self.scores)

    def _update(self) -> None:
        self.value, masses = self.objective.value_and_masses(self.scores)
        self.masses = RowMasses(masses, self._pointer)


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
        """Take note of what the blocks have become."""
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
        """Lowest score above, highest score below."""
        return (self.log_scale + float(np.log(self.peak))) / self.exponent


class BipartiteDescent:
    r"""P-norm push on one bipartite list: the masses are kept and moved in place.

    There the objective of `SidePush` is a sum of one term for each side,

    .. math:: J_p(f) = \frac1a \log \sum_i w_i e^{-a f_i} + \frac1b \log \sum_k w_k e^{b f_k}

    where f are scores, w row weights, i runs over the rows above and k over those below,
    and (a, b) = (1, p) for the push at the top and (p, 1) at the bottom. A 0/1 weak
    ranker multiplies masses by one of two factors, so that no exponential of a row is
    taken between two calls of `refresh`.

    Parameters
    ----------
    objective : SidePush
        The objective, on one bipartite list.
    scores : ndarray of shape (n_rows,)
        Where to begin.
    threads : ThreadPool
        Threads that share the rows.
    with_skew, with_margin : bool
        Whether `skew` and `smallest_margin` will be asked for: each costs a pass.

    References
    ----------
    Rudin2009, sec. 2 (the objective); the two terms are derived here.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank._parallel import ThreadPool
    >>> from sklearn_rank.objectives import BipartiteDescent, SidePush
    >>> from sklearn_rank.preferences import Preferences
    >>> preferences = Preferences.from_labels(np.array([1, 1, 0, 0]), None, np.ones(4))
    >>> push, scores = SidePush(preferences, 4, "top"), np.array([4.0, 2.0, 1.0, 0.0])
    >>> descent = BipartiteDescent(push, scores, ThreadPool(), with_skew=True, with_margin=True)
    >>> round(descent.value, 9) == round(push.value(scores), 9)
    True
    >>> round(descent.smallest_margin(), 9)
    1.0
    """

    drifts = True

    def __init__(
        self,
        objective: SidePush,
        scores: Floats,
        threads: ThreadPool,
        *,
        with_skew: bool,
        with_margin: bool,
    ) -> None:
        weight = objective.preferences.weight
        n_rows, n_above = len(weight), int(objective.preferences.segments.start[1])
        above, below = slice(0, n_above), slice(n_above, n_rows)
        data = np.empty(n_rows)
        a, b = (1.0, objective.p) if objective.side == "top" else (objective.p, 1.0)
        self._sides = [
            _SideMass(above, -a, data[above], weight),
            _SideMass(below, b, data[below], weight),
        ]
        # The offset needs e^{-f} above and e^f below: at p = 1 both are there already.
        self._plain = [
            side
            if abs(side.exponent) == 1
            else _SideMass(side.rows, np.sign(side.exponent), side.data.copy(), weight)
            for side in self._sides
        ]
        self.masses = RowMasses(data, np.array([0, n_above, n_rows]))
        self._threads = threads
        self._with_margin = with_margin
        self._moving = list(self._sides)
        if with_skew:
            self._moving += [side for side in self._plain if side not in self._sides]
        self._blocks = [
            (side, slice(start, start + _BLOCK))
            for side in self._moving
            for start in range(0, len(side.data), _BLOCK)
        ]
        self.refresh(scores)

    def refresh(self, scores: Floats) -> None:
        """Restart from `scores`: rounding does not build up over the rounds."""
        for side in self._moving:
            side.restart(scores)

    @property
    def value(self) -> float:
        """The objective now."""
        return sum(side.log_total / abs(side.exponent) for side in self._sides)

    def pair_shares(self, candidate: Candidate, h: Values) -> PairShares:
        """Return d+, d-, d0 of a 0/1 weak ranker, from its masses in the histogram."""
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
        """Never asked for: the closed-form step always applies."""
        raise AssertionError

    def advance(self, candidate: Candidate, h: Values, step: float) -> None:
        """Move the scores by ``step * h``."""
        assert candidate.one is not None
        assert candidate.zero is not None

        def move(number: int) -> tuple[float, float]:
            side, block = self._blocks[number]
            side.move(block, h, step)
            total = 0.0 if side in self._sides else float(side.data[block].sum())
            return total, side.largest(block) if self._with_margin else 0.0

        moved = self._threads.map(move, len(self._blocks))
        for side in self._moving:
            parts = [m for m, (owner, _) in zip(moved, self._blocks, strict=True) if owner is side]
            total = sum(part[0] for part in parts)
            if side in self._sides:  # known from the histogram, without a pass
                group = self._sides.index(side)
                growth = np.exp(side.exponent * step)
                one, zero = candidate.one[group], candidate.zero[group]
                total = float(one * growth + zero) / side.total
            side.finish_move(total, max(part[1] for part in parts))

    def smallest_margin(self) -> float:
        """Return the smallest margin over all pairs."""
        above, below = self._sides
        return above.extreme_score - below.extreme_score

    def skew(self) -> float:
        """Return the balancing offset of the scores."""
        above, below = self._plain
        return (above.log_total - below.log_total) / 2
