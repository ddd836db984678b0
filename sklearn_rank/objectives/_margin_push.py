"""P-norm push with any margin loss but the exponential, which has a way of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_rank._protocols import Floats
from sklearn_rank._validation import Choice, check_parameters
from sklearn_rank.objectives._exponential_pushes import RowwiseLine
from sklearn_rank.pair_sums import MARGIN_LOSSES, PairLoss
from sklearn_rank.preferences import Preferences

MARGIN_PUSHES = ("top", "bottom", "both")


@dataclass(frozen=True, eq=False)
class _Side:
    """One side of the push: its price, and the weight of each row's pairs."""

    name: str
    weight: Floats
    pairs: Floats


class MarginPush(RowwiseLine):
    r"""P-norm push with a margin loss, relative to its pairs.

    .. math:: J_p(f) = \Bigl( \frac{\sum_k w_k H_k^p}{\sum_k w_k A_k^p} \Bigr)^{1/p},
        \qquad H_k = \sum_{i \text{ above } k} w_i \phi(f_i - f_k),
        \quad A_k = \sum_{i \text{ above } k} w_i

    where f are scores, w row weights and :math:`\phi` the loss of a margin: a norm of the
    *heights* H, hence convex, which is :math:`\phi(0)` when all scores are equal and the
    mean loss of a pair at p = 1. This is ``push="top"``; "bottom" is its mirror image,
    with sums over the rows below i; "both" adds the sums of both sides, the bottom one
    times `bottom_weight`, above and below the fraction line.

    Parameters
    ----------
    preferences : Preferences
        The comparable pairs.
    loss : {"least_squares", "hinge", "squared_hinge", "logistic"}
        The loss of a margin.
    p : float in [1, inf)
        How strongly the sum concentrates on the end of the list.
    push : {"top", "bottom", "both"}, default="top"
        Which end.
    bottom_weight : float in [0, inf), default=1.0
        Weight of the bottom side with ``push="both"``.

    Raises
    ------
    ValueError
        When `loss` or `push` is not one of these.

    References
    ----------
    Rudin2009, sec. 2 (the sum of the p-th powers; the quotient and its root are defined here).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.objectives import MarginPush
    >>> from sklearn_rank.preferences import Preferences
    >>> preferences = Preferences.from_labels(np.array([1, 1, 0, 0]), None, np.ones(4))
    >>> first_is_wrong = np.array([3.0, 2.0, 4.0, 1.0])
    >>> last_is_wrong = np.array([4.0, 1.0, 3.0, 2.0])
    >>> for p in (1, 8):
    ...     push = MarginPush(preferences, "hinge", p)
    ...     print(round(push.value(first_is_wrong), 2), round(push.value(last_is_wrong), 2))
    1.25 1.25
    2.29 1.38
    """

    def __init__(
        self,
        preferences: Preferences,
        loss: str,
        p: float,
        push: str = "top",
        bottom_weight: float = 1.0,
    ) -> None:
        losses = tuple(name for name in MARGIN_LOSSES if name != "exponential")
        allowed = {"loss": Choice(losses), "push": Choice(MARGIN_PUSHES)}
        check_parameters("MarginPush", {"loss": loss, "push": push}, allowed)
        self.p = p
        self._pair_loss = PairLoss(preferences, loss)
        self._sides: list[_Side] = []
        for name, price in (("top", 1.0), ("bottom", bottom_weight if push == "both" else 1.0)):
            if push in (name, "both") and price > 0:
                weight = price * preferences.weight
                self._sides.append(_Side(name, weight, preferences.paired_weight(name)))
        self._log_norm = self._log_sum([side.pairs for side in self._sides])

    def value_and_masses(self, scores: Floats) -> tuple[float, Floats]:
        """Return J_p and minus its gradient."""
        if self.p == 1:
            return self._mean_and_masses(scores)
        weight = self._pair_loss.preferences.weight
        heights = [self._pair_loss.heights(scores, weight, side.name) for side in self._sides]
        log_sum = self._log_sum(heights)
        masses = np.zeros(len(scores))
        if log_sum == -np.inf:  # no pair has any loss
            return 0.0, masses
        value = float(np.exp((log_sum - self._log_norm) / self.p))
        for side, height in zip(self._sides, heights, strict=True):
            # dJ/dH: the power p - 1 of the share of each height.
            with np.errstate(divide="ignore"):
                log_height = np.log(height)
            power = (self.p - 1) * log_height if self.p > 1 else np.zeros_like(log_height)
            outer = value * side.weight * np.exp(power - log_sum)
            inner, other = (weight, outer) if side.name == "top" else (outer, weight)
            sums = self._pair_loss.sums(scores, inner, other)
            masses += other * sums.lower - inner * sums.upper
        return value, masses

    def _mean_and_masses(self, scores: Floats) -> tuple[float, Floats]:
        """Return both at p = 1, where every side is one sum over the same pairs."""
        total = self._pair_loss.preferences.total_pair_weight
        value, gradient = self._pair_loss.value_and_gradient(scores)
        if value == 0:  # no pair has any loss, though some may be at a kink
            return 0.0, np.zeros(len(scores))
        return value / total, -gradient / total

    def _log_sum(self, heights: list[Floats]) -> float:
        """Return the logarithm of the weighted sum of the p-th powers."""
        top = max(float(np.max(height)) for height in heights)
        if top <= 0:
            return -np.inf
        total = sum(
            float(side.weight @ (height / top) ** self.p)
            for side, height in zip(self._sides, heights, strict=True)
        )
        return self.p * float(np.log(top)) + float(np.log(total))
