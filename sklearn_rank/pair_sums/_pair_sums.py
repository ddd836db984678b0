"""What the sums over the pairs of two groups of rows are, however they are computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sklearn_rank._protocols import Floats

EMPTY: Floats = np.empty(0)
"""Stands for sums that were not asked for."""


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
    second_upper : ndarray of shape (n_upper,)
        :math:`\sum_k b_k \phi''(f_i - g_k)`; empty when not asked for, as is the next.
    second_lower : ndarray of shape (n_lower,)
        :math:`\sum_i a_i \phi''(f_i - g_k)`.
    """

    value: float
    upper: Floats
    lower: Floats
    second_upper: Floats = EMPTY
    second_lower: Floats = EMPTY


class FastSums(NamedTuple):
    r"""How to sum a loss over the pairs of two groups without visiting each pair.

    Attributes
    ----------
    sums : callable
        Maps f, a, g, b to `PairSums`. A loss with second derivatives takes True as fifth
        argument, which asks for their sums too.
    heights : callable
        Maps f, a, g to :math:`\sum_i a_i \phi(f_i - g_k)`, shape (n_lower,).
    overhead, per_row : float
        Cost of a call and for each row, in nanoseconds on one machine: only ratios matter.
    """

    sums: Callable[..., PairSums]
    heights: Callable[[Floats, Floats, Floats], Floats]
    overhead: float
    per_row: float
