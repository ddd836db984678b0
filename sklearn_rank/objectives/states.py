"""An objective together with the current scores: what coordinate descent moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import (
    Candidate,
    Floats,
    Objective,
    PairShares,
    RowGradient,
    Values,
    require,
)
from sklearn_rank._core.tolerances import SHORTEST_STEP


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
    >>> from sklearn_rank._core.protocols import Candidate
    >>> from sklearn_rank.objectives import InformationRetrievalPush, Preferences, ScoreState
    >>> preferences = Preferences.from_labels(np.array([1, 1, 1, 0, 0]), None, np.ones(5))
    >>> push = InformationRetrievalPush(preferences)
    >>> state = ScoreState(push, preferences, np.zeros(5))
    >>> h = np.array([True, True, False, True, False])  # right about two pairs, wrong about one
    >>> step, before = brentq(state.slope(Candidate(0, 0.0), h), -5, 5), state.value
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
        self._evaluate()

    def pair_shares(self, candidate: Candidate, h: Values) -> PairShares | None:
        """Return d+, d-, d0 if the closed-form step applies to h, else None."""
        find_shares = getattr(self.objective, "pair_shares", None)
        if find_shares is None or h.dtype != np.bool_:
            return None
        return find_shares(self.scores, h, *self._sums)

    def curvature(self, candidate: Candidate, h: Values) -> float | None:
        """Return None: second derivatives are not computed."""
        return None

    def slope(self, candidate: Candidate, h: Values) -> Callable[[float], float]:
        """Return the derivative of the objective along h."""
        return require(self.objective, "slope", "A line search")(self.scores, h)

    def advance(self, candidate: Candidate, h: Values, step: float) -> float:
        """Move the scores by ``step * h``."""
        self._move(h, step)
        return step

    def _move(self, h: Values, step: float) -> None:
        self.scores += step * h
        self._evaluate()

    def smallest_margin(self) -> float:
        """Return the smallest margin over all pairs."""
        return self.preferences.smallest_difference(self.scores, self.scores)

    def _evaluate(self) -> None:
        # Sums over segments, from which objectives that have them get value, gradient and shares.
        objective: Any = self.objective
        has_sums = hasattr(objective, "segment_sums") and not self.preferences.is_bipartite_list
        self._sums = (objective.segment_sums(self.scores),) if has_sums else ()
        self._update()

    def _update(self) -> None:
        evaluate: Any = self.objective.value_and_gradient
        self.value, gradient = evaluate(self.scores, *self._sums)
        self.gradient = RowGradient.signed(gradient)


class SecondOrderState(ScoreState):
    r"""The state of an objective with second derivatives, computed in one pass over the rows.

    Along h the second derivative of the objective is at most

    .. math:: B = \min(c^\top h, \; c^\top (1 - h)) \text{ for } h \in [0, 1]^n, \qquad
        B = 2 \sum_n c_n (h_n - a)^2 \text{ for any } h \text{ and any number } a

    where c is the curvature of the rows, of `Objective.value_gradient_curvature`. The bound holds
    at the current scores, not along a step: a step that raises the objective is halved until it
    does not.

    Parameters
    ----------
    objective : Objective
        The objective, which must have `value_gradient_curvature`.
    preferences : Preferences
        The comparable pairs.
    scores : ndarray of shape (n_rows,)
        The first scores; not modified.

    References
    ----------
    Defined here.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank._core.protocols import Candidate
    >>> from sklearn_rank.objectives import MarginPush, Preferences, SecondOrderState
    >>> preferences = Preferences.from_labels(np.array([1, 1, 1, 0, 0]), None, np.ones(5))
    >>> state = SecondOrderState(MarginPush(preferences, "logistic", 1), preferences, np.zeros(5))
    >>> h = np.array([True, True, False, True, False])  # right about two pairs, wrong about one
    >>> candidate = Candidate(0, -float(state.gradient.data @ h))
    >>> round(candidate.edge, 3), round(state.curvature(candidate, h), 3), round(state.value, 3)
    (0.083, 0.208, 0.693)
    >>> state.advance(candidate, h, 8.0)  # too long: halved until the objective is lower
    1.0
    >>> round(state.value, 3)
    0.67
    """

    def curvature(self, candidate: Candidate, h: Values) -> float:
        """Return the bound B of the second derivative along h."""
        if candidate.curvature is not None:
            return candidate.curvature
        curvature, rows = self.gradient.curvature, self.preferences
        assert curvature is not None
        if h.dtype == np.bool_:
            return float(min(rows.totals(curvature[h].sum(), curvature[~h].sum())))
        low = float(rows.smallest(float(np.min(h, initial=np.inf))))
        width = float(rows.largest(float(np.max(h, initial=-np.inf)))) - low
        total, moment = rows.totals(float(curvature.sum()), float(curvature @ (h - low)))
        if total == 0 or width == 0:
            return 0.0
        # The second bound, with a the mean of h, where the sum of squares is smallest; and the
        # first for (h - low) / width, which is in [0, 1].
        deviation = h - (low + moment / total)
        sum_squares = float(rows.total(float(curvature @ (deviation * deviation))))
        return min(2.0 * sum_squares, width * min(moment, width * total - moment))

    def advance(self, candidate: Candidate, h: Values, step: float) -> float:
        """Move the scores by ``step * h``, halved until the objective does not rise."""
        old_value = self.value
        self._move(h, step)
        while step != 0 and not self.preferences.agree(self.value <= old_value):
            half_step = step / 2 if abs(step) > SHORTEST_STEP else step
            step -= half_step
            self._move(h, -half_step)
        return step

    def _update(self) -> None:
        evaluate: Any = require(self.objective, "value_gradient_curvature", "A second-order step")
        self.value, gradient, curvature = evaluate(self.scores, *self._sums)
        self.gradient = RowGradient.signed(gradient, curvature)
