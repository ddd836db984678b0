"""The base class of pushes: objectives over the comparable pairs, with slopes along lines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from sklearn_rank._core.protocols import Floats, Values
from sklearn_rank._core.sums import ALL_HERE


def loss_has(method: str) -> Callable[[Any], bool]:
    """Return whether the loss of an objective has a method, for `available_if`."""
    return lambda objective: hasattr(objective.loss, method)


class Push(ABC):
    """A convex objective over the comparable pairs.

    A subclass defines `value_and_gradient`; its value and its slope follow, unless it has
    a shorter way to either. Rows of several processes need an attribute `preferences`: the value
    is then that of all processes, and the gradient that of the rows here.

    Examples
    --------
    The logarithm of the sum of the exponential losses of the pairs:

    >>> import numpy as np
    >>> from sklearn_rank.objectives import PairLoss, Preferences, Push
    >>> class LogPairLoss(Push):
    ...     def __init__(self, preferences):
    ...         self.loss = PairLoss(preferences, "exponential")
    ...
    ...     def value_and_gradient(self, scores):
    ...         value, gradient = self.loss.value_and_gradient(scores)
    ...         return np.log(value), gradient / value
    >>> preferences = Preferences.from_labels(np.array([1, 0]), None, np.ones(2))
    >>> push = LogPairLoss(preferences)
    >>> slope = push.slope(np.array([3.0, 1.0]), np.array([True, False]))
    >>> slope(0.0)
    -1.0
    """

    @abstractmethod
    def value_and_gradient(self, scores: Floats) -> tuple[float, Floats]:
        """Return the objective and its gradient by the scores."""

    def value(self, scores: Floats) -> float:
        """Return the objective."""
        return self.value_and_gradient(scores)[0]

    def slope(self, scores: Floats, h: Values) -> Callable[[float], float]:
        """Return the derivative of ``value(scores + a * h)`` as a function of a."""
        rows: Any = getattr(self, "preferences", ALL_HERE)

        def derivative(a: float) -> float:
            return float(rows.total(self.value_and_gradient(scores + a * h)[1] @ h))

        return derivative
