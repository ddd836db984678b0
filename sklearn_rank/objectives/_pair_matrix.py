"""A push of one short list as a function of few coefficients, pair by pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats
from sklearn_rank._pair_sums import log_sum_exp, safe_log

MOST_PAIRS = 2**15
"""Pairs up to which all of them at once cost less than sums that avoid them."""


@dataclass(frozen=True, eq=False)
class PairMatrix:
    r"""`MarginPush` of one bipartite list as a function of coefficients, with a ridge.

    .. math:: F(c) = J_p(H c) + \frac\alpha2 \|c\|^2, \qquad
        \nabla^2 J = J \Bigl( \sum_k u_k \nabla^2 H_k
        + (p - 1) \sum_k \frac{u_k}{H_k} \nabla H_k \nabla H_k^\top
        + (1 - p) \, g g^\top \Bigr), \quad g = \sum_k u_k \nabla H_k

    where :math:`u_k = \omega_k H_k^{p-1} / \sum_l \omega_l H_l^p` with :math:`\omega` the weights
    of the heights in the sum of the push (of both sides, where there are two).

    Parameters
    ----------
    loss : MarginLoss
        With ``second_derivative``.
    p : float
        Power of the push.
    columns : list of ndarray of shape (n_side, n_columns)
        The columns, of the rows above and of those below.
    weight : list of ndarray of shape (n_side,)
        Their weights.
    log_weight : dict of str to ndarray of shape (n_outer,)
        Of each side of the push, "top" or "bottom", the logarithms of the weights of its heights.
    log_norm : float
        Logarithm of what the sum of the push is where every pair has the loss one.
    alpha : float
        Ridge.
    """

    loss: Any
    p: float
    columns: list[Floats]
    weight: list[Floats]
    log_weight: dict[str, Floats]
    log_norm: float
    alpha: float

    def value(self, c: Floats) -> tuple[float, Any]:
        """Return the value, and what `derivatives` needs."""
        above, below = (columns @ c for columns in self.columns)
        margin = above[:, None] - below
        phi, slope = self.loss.value_and_derivative(margin)
        heights = [self._heights(phi, side) for side in self.log_weight]
        logs = [safe_log(height) for height in heights]
        weights = self.log_weight.values()
        powers = [weight + self.p * log for weight, log in zip(weights, logs, strict=True)]
        # In logarithms: p-th powers of large or small heights are no floats.
        log_sum = log_sum_exp(np.concatenate(powers))
        value = float(np.exp((log_sum - self.log_norm) / self.p))
        outer = [
            np.divide(np.exp(power - log_sum), height, out=np.zeros_like(height), where=height > 0)
            for power, height in zip(powers, heights, strict=True)
        ]
        found = value, margin, slope, heights, outer
        return value + self.alpha / 2 * float(c @ c), found

    def derivatives(self, c: Floats, found: Any) -> tuple[Floats, Floats]:
        """Return gradient and second derivatives."""
        value, margin, slope, heights, outer = found
        second = self.loss.second_derivative(margin)
        g, hessian = np.zeros_like(c), np.zeros((len(c), len(c)))
        for side, height, u in zip(self.log_weight, heights, outer, strict=True):
            gradients = self._gradients(slope, side)
            g += u @ gradients
            ratio = np.divide(u, height, out=np.zeros_like(u), where=height > 0)
            hessian += (self.p - 1) * (gradients.T * ratio) @ gradients
            hessian += self._curvature(second, side, u)
        # That of the p-th root of a sum: the outer product is what the root takes away again.
        hessian = value * (hessian + (1 - self.p) * np.outer(g, g))
        return value * g + self.alpha * c, hessian + self.alpha * np.eye(len(c))

    def _heights(self, phi: Floats, side: str) -> Floats:
        above, below = self.weight
        return np.asarray(above @ phi if side == "top" else phi @ below)

    def _gradients(self, slope: Floats, side: str) -> Floats:
        """Return the gradient of each height, shape (n_outer, n_columns)."""
        (above, below), (upper, lower) = self.weight, self.columns
        if side == "top":
            inner = above[:, None] * slope
            return np.asarray(inner.T @ upper - inner.sum(axis=0)[:, None] * lower)
        inner = slope * below
        return np.asarray(inner.sum(axis=1)[:, None] * upper - inner @ lower)

    def _curvature(self, second: Floats, side: str, u: Floats) -> Floats:
        """Return the sum of the second derivatives of the heights, times `u`."""
        (above, below), (upper, lower) = self.weight, self.columns
        pairs = second * (np.outer(above, u) if side == "top" else np.outer(u, below))
        # A pair depends on the difference of two rows: four products of their columns.
        crossed = upper.T @ pairs @ lower
        both = (upper.T * pairs.sum(axis=1)) @ upper + (lower.T * pairs.sum(axis=0)) @ lower
        return np.asarray(both - crossed - crossed.T)
