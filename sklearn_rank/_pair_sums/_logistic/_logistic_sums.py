"""Shared by all methods for the sums: the reach of the kernels, the error, the result."""

from __future__ import annotations

from typing import NamedTuple

from sklearn_rank._core.protocols import Floats

REACH = 40.0
"""Beyond it exp(-z) is below a rounding error of one."""

ERROR = 1e-12
"""Share of a row's pairs by which its sums may be wrong."""


class Sums(NamedTuple):
    """Sums over all pairs, with z = g_k - f_i.

    Attributes
    ----------
    value : float
        Of a * b * log(1 + exp(z)).
    heights : ndarray of shape (n_lower,)
        Of a * log(1 + exp(z)); empty when not asked for.
    upper_sums : ndarray of shape (n_orders, n_upper)
        Of b * sigmoid(z) and, with two orders, of b * sigmoid'(z); empty when only the
        heights are asked for, as is the next.
    lower_sums : ndarray of shape (n_orders, n_lower)
        Of a * sigmoid(z) and, with two orders, of a * sigmoid'(z).
    """

    value: float
    heights: Floats
    upper_sums: Floats
    lower_sums: Floats
