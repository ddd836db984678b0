"""The probability of the upper class at each total: a logistic curve with two slopes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from sklearn_rank._protocols import Floats, Mask

_Z = 1.959963984540054
"""The quantile of the normal distribution for intervals of 95 %."""


@dataclass(frozen=True, eq=False)
class RiskCurve:
    r"""The probability of the upper class as an increasing function of the total.

    .. math:: \log\frac{p}{1 - p} = a - b_1 \log(1 + e^{-z}) + b_2 \log(1 + e^{z}), \qquad
        z = \frac{T - m}{s}, \quad b_1, b_2 \ge 0

    where

    - T is the total, and m and s its mean and standard deviation over the training rows;
    - :math:`b_1` is the slope of the log odds far below the mean and :math:`b_2` far above it.
      They are equal in a plain logistic curve; a model that is pushed at the top is not on
      one scale everywhere.

    It is the maximum likelihood fit with the targets of Platt, :math:`(N_+ + 1) / (N_+ + 2)` and
    :math:`1 / (N_- + 2)` in place of 1 and 0, so that it is finite for separated classes.

    Attributes
    ----------
    mean, deviation : float
        m and s.
    coefficients : ndarray of shape (2,) or (3,)
        a and the slopes.
    covariance : ndarray
        Their covariance by the Fisher information; zero for a slope that is zero.

    References
    ----------
    Defined here.
    """

    mean: float
    deviation: float
    coefficients: Floats
    covariance: Floats

    @classmethod
    def fit(
        cls,
        standardised: Floats,
        positive: Mask,
        weight: Floats,
        mean: float,
        deviation: float,
        n_slopes: int = 2,
    ) -> RiskCurve:
        """Fit the curve to totals in units of z; with one slope both are equal."""
        basis = _basis(standardised, n_slopes)
        above, below = float(weight[positive].sum()), float(weight[~positive].sum())
        target = np.where(positive, (above + 1) / (above + 2), 1 / (below + 2))
        coefficients = _maximise(basis, target, weight)
        # A slope at its bound is taken as known: it has no part in the uncertainty.
        free = np.append(True, coefficients[1:] > 0)
        chance = expit(basis @ coefficients)
        used = basis[:, free]
        information = used.T @ (used * (weight * chance * (1 - chance))[:, None])
        covariance = np.zeros((len(free), len(free)))
        covariance[np.ix_(free, free)] = np.linalg.pinv(information)
        return cls(mean, deviation, coefficients, covariance)

    def line(self) -> tuple[float, float]:
        """Return a and b of the log odds a + b T of a curve with one slope."""
        constant, slope = self.coefficients / (1.0, self.deviation)
        return float(constant - slope * self.mean), float(slope)

    def at(self, totals: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the probability at some totals, and the ends of its interval of 95 %."""
        z = (totals - self.mean) / self.deviation
        basis = _basis(z, len(self.coefficients) - 1)
        log_odds = basis @ self.coefficients
        half = _Z * np.sqrt(np.einsum("ij,jk,ik->i", basis, self.covariance, basis).clip(0))
        return expit(log_odds), expit(log_odds - half), expit(log_odds + half)


def _basis(z: Floats, n_slopes: int) -> Floats:
    one = np.ones(len(z))
    if n_slopes == 1:
        return np.column_stack([one, z])
    return np.column_stack([one, -np.logaddexp(0, -z), np.logaddexp(0, z)])


def _maximise(basis: Floats, target: Floats, weight: Floats) -> Floats:
    """Return the coefficients of the greatest likelihood with slopes that are not negative."""
    size = weight.sum()

    def loss(coefficients: Floats) -> tuple[float, Floats]:
        log_odds = basis @ coefficients
        value = weight @ (np.logaddexp(0, log_odds) - target * log_odds)
        gradient = (weight * (expit(log_odds) - target)) @ basis
        return float(value / size), gradient / size

    start = np.zeros(basis.shape[1])
    start[1:] = 0.5
    bounds = [(None, None), *[(0.0, None)] * (len(start) - 1)]
    found = minimize(loss, start, jac=True, bounds=bounds, options={"ftol": 1e-13, "gtol": 1e-8})
    return np.asarray(found.x)
