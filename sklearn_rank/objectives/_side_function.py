"""An exponential push of one bipartite list as a function of few coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_rank._core.protocols import Floats


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

    def value(self, c: Floats) -> tuple[float, list[Floats]]:
        """Return the value, and the shares of the rows in the sum of their side."""
        total, shares = self.alpha / 2 * float(c @ c), []
        for h, log_weight, a in zip(self.columns, self.log_weight, self.exponents, strict=True):
            share = h @ (a * c)
            share += log_weight
            top = share.max()  # exponentials of at most 0
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
