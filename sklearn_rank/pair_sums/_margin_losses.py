r"""Losses of one margin: phi and its derivative, and what Chen2012 needs to know of them.

The margin of a pair is ``m = f_i - f_k`` for i above k. Every loss is convex and
decreasing at zero; ``MARGIN_LOSSES`` collects them by the name users pass as ``loss``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from sklearn_rank._protocols import Floats
from sklearn_rank._validation import Choice, check_parameters


class MarginLoss(ABC):
    r"""A convex loss phi of the margin of a pair.

    A new loss is a subclass with `value_and_derivative` and, in ``MARGIN_LOSSES``, a
    line. Sums over pairs then work, pair by pair; `pair_sums` has faster ways for the
    losses that allow one.

    Attributes
    ----------
    slope_at_zero : float
        :math:`|\phi'(0)|`.
    is_smooth : bool
        Whether phi has a derivative everywhere.

    References
    ----------
    Chen2012, eq. (3.7) (the constant of `local_lipschitz`).

    Examples
    --------
    A hinge loss that wants a margin of 2:

    >>> import numpy as np
    >>> from sklearn_rank.objectives import MarginLoss, pair_loss_and_gradient
    >>> class WideHinge(MarginLoss):
    ...     slope_at_zero, is_smooth = 1.0, False
    ...
    ...     def value_and_derivative(self, margin):
    ...         return np.maximum(2 - margin, 0), np.where(margin <= 2, -1.0, 0.0)
    ...
    ...     def local_lipschitz(self, radius):
    ...         return 1.0
    >>> pair_loss_and_gradient([0, 1, 1], [2.0, 2.5, 4.5], loss=WideHinge())
    (1.5, array([ 1., -1.,  0.]))
    """

    slope_at_zero: ClassVar[float]
    is_smooth: ClassVar[bool] = True
    factorises: ClassVar[bool] = False

    @abstractmethod
    def value_and_derivative(self, margin: Floats) -> tuple[Floats, Floats]:
        """Return phi and its left derivative."""

    @abstractmethod
    def local_lipschitz(self, radius: float) -> float:
        r"""Return M with :math:`|\phi'(t) - \phi'(0)| \le M |t|` for t within `radius` of 0.

        Chen2012, eq. (3.7).
        """

    def value(self, margin: Floats) -> Floats:
        """Return phi."""
        return self.value_and_derivative(margin)[0]

    def derivative(self, margin: Floats) -> Floats:
        """Return the left derivative of phi."""
        return self.value_and_derivative(margin)[1]


class Exponential(MarginLoss):
    r"""Exponential loss, :math:`e^{-m}`: that of boosting. Above the largest float, inf."""

    slope_at_zero = 1.0
    factorises = True

    def value_and_derivative(self, margin: Floats) -> tuple[Floats, Floats]:
        """Return phi and its derivative."""
        with np.errstate(over="ignore"):
            value = np.exp(-margin)
        return value, -value

    def local_lipschitz(self, radius: float) -> float:
        """Return (e^R - 1) / R."""
        with np.errstate(over="ignore"):
            return float(np.expm1(radius) / radius) if radius > 0 else 1.0


class LeastSquares(MarginLoss):
    r"""Least squares, :math:`(1 - m)^2`; Chen2012 writes :math:`t^2`, which ties minimise."""

    slope_at_zero = 2.0
    self_bound = 2.0

    def value_and_derivative(self, margin: Floats) -> tuple[Floats, Floats]:
        """Return phi and its derivative."""
        lack = 1.0 - margin
        return lack * lack, -2.0 * lack

    def local_lipschitz(self, radius: float) -> float:
        """Return 2."""
        return 2.0

    def second_derivative(self, margin: Floats) -> Floats:
        """Return 2."""
        return np.full_like(margin, 2.0)


class Hinge(MarginLoss):
    r"""Hinge loss, :math:`(1 - m)_+`, that of RankSVM; active up to m = 1, included."""

    slope_at_zero = 1.0
    is_smooth = False

    def value_and_derivative(self, margin: Floats) -> tuple[Floats, Floats]:
        """Return phi and its left derivative."""
        return np.maximum(1.0 - margin, 0.0), np.where(margin <= 1.0, -1.0, 0.0)

    def local_lipschitz(self, radius: float) -> float:
        """Return 1: the derivative jumps by one at t = 1."""
        return 1.0


class SquaredHinge(MarginLoss):
    r"""Squared hinge loss, :math:`(1 - m)_+^2`."""

    slope_at_zero = 2.0

    def value_and_derivative(self, margin: Floats) -> tuple[Floats, Floats]:
        """Return phi and its derivative."""
        lack = np.maximum(1.0 - margin, 0.0)
        return lack * lack, -2.0 * lack

    def local_lipschitz(self, radius: float) -> float:
        """Return 2."""
        return 2.0

    def second_derivative(self, margin: Floats) -> Floats:
        """Return 2."""
        return np.full_like(margin, 2.0)


class Logistic(MarginLoss):
    r"""Logistic loss, :math:`\ln(1 + e^{-m})`."""

    slope_at_zero = 0.5

    def value_and_derivative(self, margin: Floats) -> tuple[Floats, Floats]:
        """Return phi and its derivative."""
        decay = np.exp(-np.abs(margin))
        value = np.maximum(-margin, 0.0) + np.log1p(decay)
        return value, -np.where(margin > 0, decay, 1.0) / (1.0 + decay)

    def local_lipschitz(self, radius: float) -> float:
        """Return 1/4."""
        return 0.25

    def second_derivative(self, margin: Floats) -> Floats:
        """Return phi''."""
        decay = np.exp(-np.abs(margin))
        return decay / (1.0 + decay) ** 2


MARGIN_LOSSES: dict[str, MarginLoss] = {
    "exponential": Exponential(),
    "least_squares": LeastSquares(),
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "logistic": Logistic(),
}
"""Each `MarginLoss` of the package by the name that users pass as ``loss``."""


def as_margin_loss(loss: str | MarginLoss, user: str = "as_margin_loss") -> MarginLoss:
    """Return the loss with a name, or the loss itself."""
    if not isinstance(loss, MarginLoss):
        check_parameters(user, {"loss": loss}, {"loss": Choice(tuple(MARGIN_LOSSES))})
        return MARGIN_LOSSES[loss]
    return loss
