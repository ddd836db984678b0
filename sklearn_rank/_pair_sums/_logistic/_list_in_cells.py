r"""Logistic loss of the pairs of one list, by the moments of its cells.

Let m be the margin of a pair, and d the index of its upper row's cell less that of its lower row's.
The loss is -m, and its derivative -1, where d < 0, summed exactly by running sums over the cells,
plus a remainder that decays with the distance, summed by convolutions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.fft import irfft, rfft
from scipy.special import expit

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Floats, Mask
from sklearn_rank._core.sums import ALL_HERE, Sums
from sklearn_rank._pair_sums._cells import RowsInCells, kernels, number_of_terms
from sklearn_rank._pair_sums._logistic._scan import REACH, SortedRows
from sklearn_rank._pair_sums.group_sums import KeptSums, PairSums, PartSums

_WIDTHS = 1 / 32, 1 / 8, 1 / 2, 1.0
"""Widths of cells: fewer, wider cells need more moments."""

# Nanoseconds on one machine: only their ratios matter, and only roughly.
_PER_ROW, _PER_ROW_AND_TERM = 6.0, 2.0
_PER_TERM, _PER_CELL, _PER_CELL_AND_TERM = 30e3, 30.0, 3.0
_PER_SCANNED_ROW, _SCAN = 250.0, 300e3

_LONGEST = 131072.0
"""Longest axis: the moments of its cells, in messages between processes, are 20 MB."""

_SHORTEST_PIECE = 960
"""Shortest transformed piece of a long axis, in cells: shorter ones would overlap too much."""

_LEAST_PART = 1 << 16
"""Least rows of a thread: with fewer, threads wait for each other between short calls of NumPy."""


def logistic_sums(
    f: Floats,
    g: Floats,
    error: float = 1e-12,
    threads: ThreadPool | None = None,
    rows: Sums | None = None,
) -> PartSums:
    """Return the sums over the pairs of upper rows with scores f and lower rows with scores g.

    `error` is the share of a row's pairs by which its sums may be wrong. `threads` share
    the rows of cells. With `rows` those here are a part of the upper and of the lower ones.
    """
    threads = threads or ThreadPool()
    if rows is not None:
        return ListInCells(f, g, _shared_axis(f, g, rows, error), threads, rows)
    low, high = float(min(f.min(), g.min())), float(max(f.max(), g.max()))
    n_rows = len(f) + len(g)
    if high - low < _LONGEST:
        axis = _cheapest_axis(low, high, n_rows, error)
        if axis.cost(n_rows) <= _SCAN + _PER_SCANNED_ROW * n_rows:
            return ListInCells(f, g, axis, threads)
    return SortedRows(f, g, error)


class CellAxis(NamedTuple):
    """An axis divided into cells of one width.

    Attributes
    ----------
    origin, width : float
        Lower end of the first cell, and width of each.
    n_cells, n_terms : int
        Number of cells, and of moments of each.
    """

    origin: float
    width: float
    n_cells: int
    n_terms: int

    def cost(self, n_rows: int) -> float:
        """Return the cost of the sums over some rows."""
        reach, size = self._lengths
        n_values = -(-self.n_cells // (size - 2 * reach)) * size
        per_term = _PER_TERM + (_PER_CELL + _PER_CELL_AND_TERM * self.n_terms) * n_values
        return _PER_ROW * n_rows + self.n_terms * (per_term + _PER_ROW_AND_TERM * n_rows)

    @property
    def _lengths(self) -> tuple[int, int]:
        """Reach of the remainder in cells, and the length of the transformed pieces."""
        reach = min(int(REACH / self.width), 1 << (self.n_cells - 1).bit_length())
        return reach, 3 * reach if self.n_cells <= reach else max(3 * reach, _SHORTEST_PIECE)

    def sums(self, orders: Sequence[int], moments: Floats) -> list[Floats]:
        """Return coefficients of the sums of derivatives of phi of some orders, for lower rows.

        `moments` are those of the upper rows.
        """
        coefficients = self._remainders(orders, moments)
        moments_behind = np.zeros((2, self.n_cells))
        np.cumsum(moments[:2, :-1], axis=1, out=moments_behind[:, 1:])
        # Over the upper rows behind: of phi' the sum of -1, of phi that of -m, linear in t.
        for order, terms in zip(orders, coefficients, strict=True):
            if order == 1:
                terms[0] -= moments_behind[0]
            elif order == 0:
                terms[0] += self.width * (np.cumsum(moments_behind[0]) - moments_behind[1] / 2.0)
                terms[1] += self.width / 2.0 * moments_behind[0]
        return coefficients

    def _remainders(self, orders: Sequence[int], moments: Floats) -> list[Floats]:
        """Return convolutions of the moments with the remainders, by pieces of the axis."""
        reach, size = self._lengths
        kernel = _transformed_kernels(self.width, self.n_terms, reach, size)
        length = size - 2 * reach
        n_pieces = -(-self.n_cells // length)
        padded = np.pad(moments, ((0, 0), (reach, n_pieces * length - self.n_cells + reach)))
        pieces = rfft(sliding_window_view(padded, size, axis=1)[:, ::length])
        products = [np.einsum("skf,kpf->spf", kernel[order], pieces) for order in orders]
        sums = [irfft(product, size)[..., 2 * reach :] for product in products]
        return [terms.reshape(self.n_terms, -1)[:, : self.n_cells] for terms in sums]


@cache
def _transformed_kernels(width: float, n_terms: int, reach: int, size: int) -> list[Floats]:
    """Return the transforms of the remainders by order, of a reach and of a length."""
    distances = np.arange(reach, -reach - 1, -1)
    by_distance = kernels(lambda m: _remainders(m, distances < 0), width, n_terms, distances)
    return [rfft(kernel.transpose(1, 2, 0), size) for kernel in by_distance]


def _remainders(margin: Floats, is_behind: Mask) -> list[Floats]:
    """Return phi, phi' and phi'', less -m and -1 where the upper row is in a cell behind."""
    sign = np.where(is_behind, -1.0, 1.0)[:, np.newaxis, np.newaxis]
    margin = sign * margin
    sigmoid, complement = expit(margin), expit(-margin)
    return [-np.log(sigmoid), -sign * complement, sigmoid * complement]


def _shared_axis(f: Floats, g: Floats, rows: Sums, error: float) -> CellAxis:
    """Return the cheapest cells for rows of several processes.

    Raises
    ------
    ValueError
        If their scores are spread too widely.
    """
    low = min((float(x.min()) for x in (f, g) if len(x)), default=np.inf)
    high = max((float(x.max()) for x in (f, g) if len(x)), default=-np.inf)
    low, high, n_rows = rows.smallest(np.array([low, -high, -(len(f) + len(g))])) * [1, -1, -1]
    if not high - low <= _LONGEST:
        raise ValueError(
            "The logistic loss of one list on several processes needs scores that differ by at "
            f"most {_LONGEST:g}. Got scores from {low:g} to {high:g}: bring the features "
            "to similar ranges, or use another loss."
        )
    return _cheapest_axis(float(low), float(high), int(n_rows), error)


def _cheapest_axis(low: float, high: float, n_rows: int, error: float) -> CellAxis:
    """Return the cheapest cells; `error` is the share of a row's pairs by which sums may err."""

    def axis_of(width: float) -> CellAxis:
        n_terms = number_of_terms(width / np.pi, error / 8.0)  # 8: errors of many pairs add up
        return CellAxis(low, width, int((high - low) / width) + 1, n_terms)

    return min(map(axis_of, _WIDTHS), key=lambda axis: axis.cost(n_rows))


class ListInCells(KeptSums):
    """Sums over the pairs of one bipartite list by cells.

    Parameters
    ----------
    f, g : ndarray of shape (n_upper,) and (n_lower,)
        Scores of the upper and of the lower rows.
    axis : CellAxis
        The cells.
    threads : ThreadPool
        Threads that share the rows.
    sums : Sums
        Sums over the rows of all processes.
    """

    rows = slice(None)

    def __init__(
        self, f: Floats, g: Floats, axis: CellAxis, threads: ThreadPool, sums: Sums = ALL_HERE
    ) -> None:
        self.n_upper, self._axis = len(f), axis
        self._threads, self._sums = threads, sums
        self._sides = {"upper": self._divide_in_cells(f), "lower": self._divide_in_cells(g)}
        self._forget()

    def _divide_in_cells(self, x: Floats) -> list[tuple[slice, RowsInCells]]:
        """Return the rows of a side in cells, a part for each thread."""
        length = max(-(-len(x) // self._threads.size), _LEAST_PART)
        slices = list(blocks(len(x), length)) or [slice(0)]  # without rows an empty part
        width, origin = self._axis.width, self._axis.origin
        cells = self._threads.map(lambda k: RowsInCells(x[slices[k]], width, origin), len(slices))
        return list(zip(slices, cells, strict=True))

    def sums(
        self, w_upper: Floats, w_lower: Floats, with_second: bool = False, with_value: bool = True
    ) -> PairSums:
        """Return the sums with separate weights for the two roles of a row."""
        if self._sums.collective is not None:  # one message for both
            sides = self._moments_here("upper", w_upper), self._moments_here("lower", w_lower)
            upper, lower = self._sums.totals(*sides)
            self._kept_sums["lower", -1, id(w_upper)] = w_upper, upper
            self._kept_sums["upper", -1, id(w_lower)] = w_lower, _mirrored(lower)
        return super().sums(w_upper, w_lower, with_second, with_value)

    def _value(self, w_upper: Floats, w_lower: Floats) -> float:
        """Return the sum over all pairs: by cells, of which there are fewer than rows."""
        upper, lower = self._kept_moments("lower", w_upper), self._kept_moments("upper", w_lower)
        return float(np.vdot(_mirrored(lower), self._axis.sums([0], upper)[0]))

    def _moments(self, role: str, weight: Floats) -> Floats:
        """Return the moments of the other side; for upper rows along the mirrored axis."""
        side = "upper" if role == "lower" else "lower"
        (moments,) = self._sums.totals(self._moments_here(side, weight))
        return moments if role == "lower" else _mirrored(moments)

    def _moments_here(self, side: str, weight: Floats) -> Floats:
        """Return the moments of a side, of the rows of this process."""
        parts, shape = self._sides[side], (self._axis.n_cells, self._axis.n_terms)

        def moments(k: int) -> Floats:
            rows, cells = parts[k]
            return cells.moments(weight[rows], *shape)

        first_part, *other_parts = self._threads.map(moments, len(parts))
        return sum(other_parts, start=first_part)

    def _evaluate(
        self, role: str, orders: Sequence[int], moments: Floats, weight: Floats
    ) -> list[Floats]:
        """Return sums of derivatives of phi, of these orders, for rows on one side of the pairs."""
        cells = [cells for _, cells in self._sides[role]]

        def values_at_rows(coefficients: Floats) -> Floats:
            terms = _mirrored(coefficients) if role == "upper" else coefficients
            values = self._threads.map(lambda k: cells[k].values(terms), len(cells))
            return values[0] if len(values) == 1 else np.concatenate(values)

        return list(map(values_at_rows, self._axis.sums(orders, moments)))


def _mirrored(terms: Floats) -> Floats:
    """Return moments or coefficients along the axis in the other direction."""
    mirrored = terms[:, ::-1].copy()
    np.negative(mirrored[1::2], out=mirrored[1::2])  # odd powers of -t
    return mirrored
