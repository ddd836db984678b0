"""What every way to sum over pairs returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sklearn_rank._protocols import Floats


class PairSums(NamedTuple):
    r"""Sums over the pairs of two groups of rows, every upper row with every lower row.

    With scores f, g and weights a, b of the upper and the lower rows:

    Attributes
    ----------
    value : float
        :math:`\sum_{ik} a_i b_k \phi(f_i - g_k)`.
    upper : ndarray of shape (n_upper,)
        :math:`\sum_k b_k \phi'(f_i - g_k)`.
    lower : ndarray of shape (n_lower,)
        :math:`\sum_i a_i \phi'(f_i - g_k)`.
    """

    value: float
    upper: Floats
    lower: Floats


class FastSums(NamedTuple):
    r"""How to sum a loss over the pairs of two groups without visiting each pair.

    Attributes
    ----------
    sums : callable
        Maps f, a, g, b to `PairSums`.
    heights : callable
        Maps f, a, g to :math:`\sum_i a_i \phi(f_i - g_k)`, shape (n_lower,).
    overhead, per_row : float
        Cost of a call and for each row, in nanoseconds on one machine.
    """

    sums: Callable[[Floats, Floats, Floats, Floats], PairSums]
    heights: Callable[[Floats, Floats, Floats], Floats]
    overhead: float
    per_row: float
