"""The number of thresholds below each value, by a table."""

from __future__ import annotations

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices

_SLOTS = 4096
"""Slots of a lookup table: small enough for the first-level cache."""

_FEW = 10
"""Thresholds up to which comparing each of them with every value takes less time."""


class Digitizer:
    """Exact ``np.searchsorted(thresholds, x)`` in a few nanoseconds per value.

    A table gives the number of thresholds before each slot of a uniform grid; one comparison with
    the only threshold inside the slot does the rest. A slot of many thresholds, as in the body of
    a heavy-tailed feature, has a digitizer of its own; values in other slots of several thresholds
    are searched for.

    Parameters
    ----------
    thresholds : ndarray of shape (n_thresholds,)
        Increasing.
    largest : int
        A number that the type of the results must hold, too.
    """

    def __init__(self, thresholds: Floats, max_code: int = 0) -> None:
        self.thresholds = thresholds
        # Two more codes than thresholds: the last bin and the unknown one.
        self.dtype = np.min_scalar_type(max(max_code, len(thresholds) + 1))
        with np.errstate(over="ignore", divide="ignore"):
            width = thresholds[-1] - thresholds[0] if len(thresholds) > 1 else 0.0
            self._slots_per_unit = _SLOTS / width if width > 0 else np.inf
        if np.isfinite(self._slots_per_unit) and self._slots_per_unit > 0:
            self._build()
        else:
            self._slots_per_unit = np.inf

    def __call__(self, x: Floats) -> Indices:
        """Return the number of thresholds below each value; any number for NaN."""
        if 0 < len(self.thresholds) <= _FEW:
            code = (x > self.thresholds[0]).view(np.uint8)
            for threshold in self.thresholds[1:]:
                code += (x > threshold).view(np.uint8)
            return code.astype(self.dtype, copy=False)
        if len(x) and np.isnan(x.min()):
            x = np.where(np.isnan(x), self.thresholds[0] if len(self.thresholds) else 0.0, x)
        return self._search(x)

    def _search(self, x: Floats) -> Indices:
        if np.isinf(self._slots_per_unit) or len(x) < _SLOTS:
            return np.searchsorted(self.thresholds, x).astype(self.dtype)
        slot = self._slot(x)
        code = np.asarray(self._n_below.take(slot))
        code += (x > self._slot_threshold.take(slot)).view(np.uint8)
        for crowded_slot, (n_below, finer) in self._finer.items():
            in_slot = np.flatnonzero(slot == crowded_slot)
            code[in_slot] = finer._search(x[in_slot]).astype(self.dtype) + n_below
        if self._is_crowded:
            unknown_rows = np.flatnonzero(code == self._unknown)
            code[unknown_rows] = np.searchsorted(self.thresholds, x[unknown_rows])
        return code

    def _slot(self, x: Floats) -> Indices:
        with np.errstate(over="ignore"):
            position = x - self.thresholds[0]
            position *= self._slots_per_unit
        # Slots 0 and _SLOTS + 1 hold all beyond. Truncation towards zero is monotone: slot 1 has
        # the interval (-1, 1).
        np.clip(position, -1, _SLOTS, out=position)
        slot = position.astype(np.intp)
        slot += 1
        return slot

    def _build(self) -> None:
        slot = self._slot(self.thresholds)
        counts = np.bincount(slot, minlength=_SLOTS + 2)
        self._n_below = (np.cumsum(counts) - counts).astype(self.dtype)
        self._slot_threshold = np.full(_SLOTS + 2, np.inf)
        self._slot_threshold[slot[::-1]] = self.thresholds[::-1]
        is_crowded = counts > 1
        self._finer = {}
        for crowded_slot in np.flatnonzero(counts >= max(4, len(slot) // 8)):
            finer = Digitizer(self.thresholds[slot == crowded_slot])
            self._finer[int(crowded_slot)] = self._n_below[crowded_slot], finer
        is_crowded[list(self._finer)] = False
        self._is_crowded = bool(is_crowded.any())
        self._unknown = len(self.thresholds) + 1  # more than any code
        self._n_below[is_crowded] = self._unknown
        self._slot_threshold[is_crowded] = np.inf
