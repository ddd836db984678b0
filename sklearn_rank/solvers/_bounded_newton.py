"""Newton's method within bounds, for few coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sklearn_rank._protocols import Floats, Solution
from sklearn_rank.rows import Preferences
from sklearn_rank.solvers._lbfgs import credit_of

_JITTER = 1e-12
"""Added to the diagonal, relative to its largest entry: columns may depend on each other."""

_SUFFICIENT, _HALVINGS = 1e-4, 40
"""Share of the predicted decrease that a step must bring; how often it is halved at most."""


@dataclass(frozen=True, eq=False)
class SideFunction:
    r"""The p-norm push of one bipartite list as a function of coefficients, with a ridge.

    .. math:: F(c) = \sum_s \frac1{|a_s|} \log \sum_{n \in s} w_n e^{a_s (H c)_n}
        + \frac\alpha2 \|c\|^2, \qquad
        \nabla^2 F = \sum_s |a_s| \, \operatorname{Cov}_s(H) + \alpha I

    where the sides s are the rows above and those below, :math:`a_s` their exponents
    (`SidePush.side_exponents`) and the covariance of the columns is weighted by the shares of
    the rows in the sum of their side.

    Parameters
    ----------
    columns : list of ndarray of shape (n_side, n_chosen)
        H, of the rows above and of those below.
    log_weight : list of ndarray of shape (n_side,)
        Logarithms of the weights.
    exponents : tuple of float
        :math:`a_s`.
    alpha : float
        Ridge.
    """

    columns: list[Floats]
    log_weight: list[Floats]
    exponents: tuple[float, float]
    alpha: float

    @classmethod
    def of_cells(
        cls, cells: Preferences, columns: Floats, exponents: tuple[float, float], alpha: float
    ) -> SideFunction:
        """Return the push of one list of cells."""
        n_above = int(cells.segments.start[1])
        h, log_weight = ([one[:n_above], one[n_above:]] for one in (columns, cells.log_weight))
        return cls(h, log_weight, exponents, alpha)

    def value(self, c: Floats) -> tuple[float, list[Floats]]:
        """Return the value, and the shares of the rows in the sum of their side."""
        total, shares = self.alpha / 2 * float(c @ c), []
        for h, log_weight, a in zip(self.columns, self.log_weight, self.exponents, strict=True):
            share = h @ (a * c)
            share += log_weight
            top = share.max()
            share -= top
            np.exp(share, out=share)
            mass = share.sum()
            share /= mass
            total += float(top + np.log(mass)) / abs(a)
            shares.append(share)
        return total, shares

    def derivatives(self, c: Floats, found: list[Floats]) -> tuple[Floats, Floats]:
        """Return gradient and second derivatives."""
        gradient, hessian = self.alpha * c, self.alpha * np.eye(len(c))
        for h, share, a in zip(self.columns, found, self.exponents, strict=True):
            mean = share @ h
            gradient += np.sign(a) * mean
            hessian += abs(a) * ((h.T * share) @ h - np.outer(mean, mean))
        return gradient, hessian


class TwiceDifferentiable(Protocol):
    """A convex function of few coefficients with exact second derivatives."""

    def value(self, c: Floats) -> tuple[float, Any]:
        """Return the value, and what `derivatives` needs."""

    def derivatives(self, c: Floats, found: Any) -> tuple[Floats, Floats]:
        """Return gradient and second derivatives."""


def bounded_newton(
    function: TwiceDifferentiable,
    start: Floats,
    bounds: Sequence[tuple[float, float]],
    *,
    max_iter: int,
    tol: float,
) -> Solution:
    """Minimise a convex function within bounds by projected Newton steps.

    Coefficients at a bound that the gradient presses against stay there in a step; a step is
    halved until the decrease is a share of the predicted one. Ends when the predicted decrease
    is at most ``tol * max(|value|, 1)``.
    """
    low, high = np.array(bounds).reshape(-1, 2).T
    x = np.clip(start, low, high)
    value, shares = function.value(x)
    gradient, hessian = function.derivatives(x, shares)
    values, credit, message = [value], np.zeros_like(x), "no iterations left"
    for _ in range(max_iter):
        step = _newton_step(x, gradient, hessian, low, high)
        slope = float(gradient @ step)
        if -slope <= tol * max(abs(value), 1.0):
            message = ""
            break
        for _ in range(_HALVINGS):
            new = np.clip(x + step, low, high)
            new_value, shares = function.value(new)
            if new_value <= value + _SUFFICIENT * float(gradient @ (new - x)):
                break
            step /= 2
        else:
            message = ""  # nothing lower: rounding
            break
        new_gradient, hessian = function.derivatives(new, shares)
        credit += credit_of(gradient, new_gradient, new - x, value - new_value)
        x, value, gradient = new, new_value, new_gradient
        values.append(value)
    return Solution(x, values, len(values) - 1, message, credit=credit)


def _newton_step(x: Floats, gradient: Floats, hessian: Floats, low: Floats, high: Floats) -> Floats:
    """Return Newton's step of the coefficients that are free to move."""
    is_free = ~(((x <= low) & (gradient > 0)) | ((x >= high) & (gradient < 0)))
    free = np.flatnonzero(is_free)
    step = np.zeros_like(x)
    if len(free):
        matrix = hessian[np.ix_(free, free)]
        matrix[np.diag_indices_from(matrix)] += _JITTER * max(float(np.trace(matrix)), 1e-300)
        step[free] = np.linalg.solve(matrix, -gradient[free])
    return step
