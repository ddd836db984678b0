"""Sums of the curvature by bin, of which a search computes those that may matter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sklearn_rank._core.protocols import CurvatureChange, Floats, Mask, RowGradient
from sklearn_rank.models.bin_sums import BinSums

_WORTHWHILE = 1_000_000
"""Values of a table below which all sums cost less than finding out which are needed."""

_ROUNDING = 1e-9
"""Relative slack of gains that are compared by bounds."""


class CurvatureSums:
    r"""Sums of the curvature over the bins of every feature, from which a search takes its gains.

    .. math:: e^{-S} C_b \le C'_b \le e^{S} C_b

    where C are the sums of some earlier round, C' those of now, and S is what
    `CurvatureChange` has grown by since. The gain of a stump falls with its curvature: a feature
    whose largest gain at the lower bounds is below another one's at the upper bounds is not the
    best, and its sums are not computed anew.

    Parameters
    ----------
    sums : BinSums
        The features by bin.
    change : CurvatureChange
        What the bounds go by.
    """

    def __init__(self, sums: BinSums, change: CurvatureChange) -> None:
        self.sums, self.change = sums, change
        self._matrix = sums.matrix_of_feature
        self._by_bin: Floats | None = None
        self._at = np.zeros(len(self._matrix))

    @staticmethod
    def pay(sums: BinSums, gradient: RowGradient) -> bool:
        """Whether bounds are known, and save more than they cost."""
        return gradient.change is not None and sums.codes.size >= _WORTHWHILE

    def at_least(self, curvature: Floats, gains: Callable[[Floats], Floats]) -> Floats:
        """Return sums that are exact for the features that may be the best, and else too large.

        `gains` maps sums to the largest gain of each feature. Shape (n_features, n_bins).
        """
        of_rows = RowGradient.signed(curvature)
        if self._by_bin is None:
            self._by_bin = self.sums.sum_by_bin(of_rows)[0].copy()
            self._at[:] = self.change.log_ratio
        for is_last in (False, True):
            growth = self._growth()
            if not (growth > 1).any():
                break
            most, least = gains(self._by_bin / growth), gains(self._by_bin * growth)
            is_needed = most * (1 + _ROUNDING) >= least.max()
            # The most promising ones first: their exact gain leaves fewer of the others.
            self._renew(of_rows, is_needed if is_last else most == most.max())
        return self._by_bin * self._growth()

    def _growth(self) -> Floats:
        """Return by how much the sums of each feature may have grown."""
        return np.exp(self.change.log_ratio - self._at)[:, np.newaxis]

    def _renew(self, of_rows: RowGradient, is_needed: Mask) -> None:
        """Compute the sums of some features anew, and of those that share their matrices."""
        assert self._by_bin is not None
        is_old = self._at < self.change.log_ratio
        matrices = np.unique(self._matrix[is_needed & is_old])
        if len(matrices):
            features = np.isin(self._matrix, matrices)
            self._by_bin[features] = self.sums.sum_by_bin(of_rows, matrices)[0][features]
            self._at[features] = self.change.log_ratio
