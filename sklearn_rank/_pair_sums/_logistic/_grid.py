"""Sums by a uniform grid: rows become weights of its nodes, the kernels convolutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import expit

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.sums import Sums
from sklearn_rank._pair_sums._sorted_sides import Histogram
from sklearn_rank._pair_sums.group_sums import KeptSums, PairSums

if TYPE_CHECKING:
    from sklearn_rank._pair_sums._logistic._scan import SortedRows

REACH = 40.0
"""Beyond it exp(-z) is below a rounding error of one."""

_LEAST_PART = 1 << 16
"""Rows that are worth a thread: below, threads wait for each other between short calls of NumPy."""

_BLOCK = 1 << 17
"""Rows handled at a time. Half of them fit the second-level cache better, but threads wait for each
other between calls: longer ones are fewer."""


@dataclass(frozen=True)
class Grid:
    """Intervals of one width, in each of which a polynomial through nearby nodes is used.

    The polynomial of interval c goes through the nodes c, ..., c + degree - 1, of which half
    lie on either side of the interval's middle, at half-integer multiples of `step`.
    """

    origin: float
    step: float
    n_intervals: int
    degree: int

    def to_nodes(self, x: Floats, weight: Floats) -> Floats:
        """Return weights of the nodes that stand for the weights of rows."""
        # Interpolation transposed: a row's weights of its nodes are the Lagrange polynomials at
        # its place, sums of powers of it, so that powers are summed and then combined once.
        moments = np.zeros((self.degree, self.n_intervals))
        # Memory for a block, one for all, since new pages cost more than the sums.
        size = min(_BLOCK, len(x))
        memory = np.empty(size, dtype=np.int32), np.empty((2, size))
        for rows in blocks(len(x), _BLOCK):
            interval, (place, power) = self._locate(x[rows], *memory)
            histogram = Histogram(interval, self.n_intervals)
            power[:] = weight[rows]
            for moment in moments:
                np.add(moment, histogram(power), out=moment)
                power *= place
        nodal = np.zeros(self.n_intervals + self.degree - 1)
        for first, of_node in enumerate(lagrange_basis(self.degree).T @ moments):
            nodal[first : first + self.n_intervals] += of_node
        return nodal

    def interpolate(self, x: Floats, nodal: Floats, n_values: int = 1) -> Floats:
        """Return values at rows from values at the nodes.

        The second value of two is the derivative of the first, that of its polynomial.
        Shape (n_values, n_rows).
        """
        windows = np.lib.stride_tricks.sliding_window_view(nodal, self.n_intervals)
        # Column c: the polynomial through the values at the nodes c, ..., c + degree - 1.
        coefficient = lagrange_basis(self.degree) @ np.ascontiguousarray(windows)
        out, size = np.empty((n_values, len(x))), min(_BLOCK, len(x))
        # The type of integers that `take` would convert to each time.
        memory = np.empty(size, dtype=np.intp), np.empty((4, size))
        for rows in blocks(len(x), _BLOCK):
            interval, lines = self._locate(x[rows], *memory)
            out[:, rows] = _polynomials(coefficient, interval, n_values, lines)
        out[1:] /= self.step
        return out

    def sigmoid_sums(self, nodal: Floats) -> Floats:
        """Return, at each node, the sum of weight * sigmoid(z), z the height above it."""
        # The step as a running sum, exact over any distance; what is left decays.
        return np.cumsum(nodal) - nodal / 2 + self._convolved(nodal, _odd_rest)

    def softplus_sums(self, nodal: Floats) -> Floats:
        """Return, at each node, the sum of weight * log(1 + exp(z))."""
        ramp = np.concatenate([[0.0], np.cumsum(np.cumsum(nodal[:-1]))])
        return self.step * ramp + self._convolved(nodal, _even_rest)

    def _convolved(self, nodal: Floats, rest: Callable[[Floats], Floats]) -> Floats:
        reach = min(int(REACH / self.step), len(nodal))
        kernel = rest(self.step * np.arange(-reach, reach + 1))
        # Circular, and long enough for what wraps round to stay outside the part returned.
        size = next_fast_len(len(nodal) + reach, real=True)
        beyond = kernel[size:]
        kernel[: len(beyond)] += beyond
        product = rfft(nodal, size) * rfft(kernel, size)
        return np.asarray(irfft(product, size)[reach : reach + len(nodal)])

    def _locate(self, x: Floats, interval: Indices, lines: Floats) -> tuple[Indices, Floats]:
        """Return intervals, and places in them in [-1/2, 1/2], the first of some lines.

        They are written to memory for as many rows or more.
        """
        interval, lines = interval[: len(x)], lines[:, : len(x)]
        place = np.subtract(x, self.origin, out=lines[0])
        place /= self.step
        interval[:] = place  # rounded down
        place -= interval
        place -= 0.5
        return interval, lines


class ListOnGrid(KeptSums):
    """Sums over the pairs of one bipartite list by a grid.

    Parameters
    ----------
    f, g : ndarray of shape (n_upper,) and (n_lower,)
        Scores of the upper and of the lower rows.
    grid : Grid
        The grid.
    threads : ThreadPool
        Threads that share the rows.
    sums : Sums or None, default=None
        Sums over the rows of all processes, where these are a part.
    gaps : SortedRows or None, default=None
        The rows before gaps between the scores were shortened.
    """

    rows = slice(None)

    def __init__(
        self,
        f: Floats,
        g: Floats,
        grid: Grid,
        threads: ThreadPool,
        sums: Sums | None = None,
        gaps: SortedRows | None = None,
    ) -> None:
        self._scores, self.n_upper, self._grid = {"upper": f, "lower": g}, len(f), grid
        self._threads, self._sums, self._gaps = threads, sums, gaps
        self._forget()

    def sums(
        self, above: Floats, below: Floats, with_second: bool = False, with_value: bool = True
    ) -> PairSums:
        """Return the sums with separate weights for the two roles of a row."""
        if self._sums is not None:  # one message for both
            here = self._to_nodes("upper", above), self._to_nodes("lower", below)[::-1]
            upper, lower = self._sums.totals(*here)
            self._known["lower", -1, id(above)] = above, upper
            self._known["upper", -1, id(below)] = below, lower
        return super().sums(above, below, with_second, with_value)

    def _value(self, above: Floats, below: Floats) -> float:
        """Return the sum over all pairs: at the nodes, of which there are fewer than rows."""
        upper, lower = self._kept_moments("lower", above), self._kept_moments("upper", below)
        value = float(lower[::-1] @ self._grid.softplus_sums(upper))
        return (
            value if self._gaps is None else value + float(below @ self._gaps.lost("lower", above))
        )

    def _moments(self, role: str, weight: Floats) -> Floats:
        """Return the weights of the nodes; seen from an upper row, along the mirrored axis."""
        nodal = self._to_nodes("upper" if role == "lower" else "lower", weight)
        nodal = nodal if self._sums is None else self._sums.total(nodal)
        return nodal if role == "lower" else nodal[::-1]

    def _evaluate(
        self, role: str, orders: Sequence[int], moments: Floats, weight: Floats
    ) -> list[Floats]:
        """Return the sums of derivatives of phi of some orders, for rows in a role."""
        sign, found = (1 if role == "lower" else -1), {}
        if 0 in orders:
            found[0] = self._at_rows(role, self._grid.softplus_sums(moments)[::sign], 1)[0]
            if self._gaps is not None:
                found[0] += self._gaps.lost(role, weight)
        if 1 in orders or 2 in orders:
            sigmoids = self._grid.sigmoid_sums(moments)[::sign]
            slopes = self._at_rows(role, sigmoids, max(orders))
            np.negative(slopes[0], out=slopes[0])  # phi' is minus the sigmoid of z
            slopes[1:] *= sign  # z falls with the upper row's score
            found.update(enumerate(slopes, start=1))
        return [found[order] for order in orders]

    def _to_nodes(self, side: str, weight: Floats) -> Floats:
        x, parts = self._scores[side], self._parts(side)
        nodal = self._threads.map(
            lambda k: self._grid.to_nodes(x[parts[k]], weight[parts[k]]), len(parts)
        )
        return sum(nodal[1:], start=nodal[0])

    def _at_rows(self, side: str, nodal: Floats, n_values: int) -> Floats:
        x, parts = self._scores[side], self._parts(side)
        found = self._threads.map(
            lambda k: self._grid.interpolate(x[parts[k]], nodal, n_values), len(parts)
        )
        return found[0] if len(found) == 1 else np.concatenate(found, axis=1)

    def _parts(self, side: str) -> list[slice]:
        """Return the rows of a side, in as many parts as there are threads."""
        n_rows = len(self._scores[side])
        length = max(-(-n_rows // self._threads.size), _LEAST_PART)
        return list(blocks(n_rows, length)) or [slice(0)]  # without rows, one part that is empty


def _polynomials(coefficient: Floats, interval: Indices, n_values: int, lines: Floats) -> Floats:
    """Return the polynomials of intervals, by rows their coefficients, and their derivatives.

    The first of four lines is the places in the intervals; the others are written to.
    """
    place, value, slope, term = lines  # Horner's rule for both
    coefficient[-1].take(interval, out=value, mode="clip")  # the mode spares a buffer
    slope[:] = 0.0
    for each in coefficient[-2::-1]:
        if n_values > 1:
            slope *= place
            slope += value
        value *= place
        value += each.take(interval, out=term, mode="clip")
    return lines[1 : 1 + n_values]


@cache
def lagrange_basis(degree: int) -> Floats:
    """Return the Lagrange basis: column s holds the coefficients of node s by power."""
    nodes = np.arange(degree) - (degree - 1) / 2
    basis = np.empty((degree, degree))
    for s, node in enumerate(nodes):
        others = np.delete(nodes, s)
        basis[:, s] = np.poly(others)[::-1] / np.prod(node - others)
    basis.setflags(write=False)
    return basis


def _odd_rest(z: Floats) -> Floats:
    """Return sigmoid(z) - [z > 0]; the step counts one half at z = 0."""
    return -np.sign(z) * expit(-np.abs(z))


def _even_rest(z: Floats) -> Floats:
    """Return log(1 + exp(z)) - max(z, 0)."""
    return np.log1p(np.exp(-np.abs(z)))
