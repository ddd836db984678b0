"""Averaged online gradient descent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_rank._protocols import Floats
from sklearn_rank.solvers._regularisers import Regulariser


@dataclass(eq=False)
class OnlineDescent:
    r"""Averaged online gradient descent: one loss a step.

    .. math:: w_{t+1} = \operatorname{prox}_{\eta_t \Omega}(w_t - \eta_t \nabla \ell_t(w_t)),
        \qquad \bar w = \frac1T \sum_{t=1}^T w_t

    with :math:`\Omega` the penalty and the ball of a `Regulariser`.

    Attributes
    ----------
    coefficients : ndarray of shape (n_features,)
        :math:`w_{T+1}`, at which the next gradient is taken.
    total : ndarray of shape (n_features,)
        :math:`\sum_t w_t`.
    n_steps : int
        T.
    """

    coefficients: Floats
    total: Floats
    n_steps: int = 0

    @classmethod
    def from_zero(cls, n_features: int) -> OnlineDescent:
        """Start at zero."""
        return cls(np.zeros(n_features), np.zeros(n_features))

    @property
    def average(self) -> Floats:
        r"""The averaged iterate :math:`\bar w`."""
        return self.total / max(self.n_steps, 1)

    def step(self, gradient: Floats, rate: float, regulariser: Regulariser) -> None:
        """Take a step of size `rate`, given the gradient of the next loss at `coefficients`."""
        self.total = self.total + self.coefficients
        self.n_steps += 1
        moved = self.coefficients - rate * gradient
        self.coefficients = regulariser.proximal(moved, rate)
