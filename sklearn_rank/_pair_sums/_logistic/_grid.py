"""Sums by a uniform grid: rows become weights of its nodes, the kernels convolutions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import expit

from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.sums import ALL_HERE
from sklearn_rank._core.sums import Sums as RowSums
from sklearn_rank._pair_sums._logistic._logistic_sums import REACH, Sums
from sklearn_rank._pair_sums._logistic._sorted_rows import Memory, RowsByPanel
from sklearn_rank._pair_sums._row_histogram import Histogram
from sklearn_rank._pair_sums.group_sums import EMPTY, KeptSums

TILE = 1 << 14
"""Intervals handled at a time: their tables stay in the second-level cache."""

_LEAST_PART = 1 << 16
"""Rows that are worth a thread: below, threads wait for each other between short calls of NumPy."""

_MANY_REACHES = 32
"""A kernel this much shorter than the grid is convolved block by block."""

_REACHES_OF_BLOCK = 8
"""Length of such a block, in lengths of the kernel."""


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

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.n_intervals + self.degree - 1

    def _tiles(self) -> Iterator[slice]:
        """Yield stretches of intervals whose tables fit into the cache."""
        for start in range(0, self.n_intervals, TILE):
            yield slice(start, min(start + TILE, self.n_intervals))

    def arrange(self, x: Floats, weight: Floats) -> RowsByPanel:
        """Sort rows by tile."""
        return RowsByPanel(x, weight, self.origin, self.step * TILE, -(-self.n_intervals // TILE))

    def to_nodes(self, rows: RowsByPanel) -> Floats:
        """Return weights of the nodes that stand for the weights of the rows."""
        basis, nodal = lagrange_basis(self.degree), np.zeros(self.n_nodes)
        memory = rows.memory(2, np.int32)
        for number, tile in enumerate(self._tiles()):
            # Interpolation transposed: a row's weights of its nodes are the Lagrange polynomials at
            # its place, sums of powers of it, so that powers are summed and then combined once.
            moments = np.zeros((self.degree, tile.stop - tile.start))
            for block in rows.blocks(number):
                interval, (place, power) = self._locate(rows.x[block], tile.start, memory)
                histogram = Histogram(interval, moments.shape[1])
                power[:] = rows.weight[block]
                for k in range(self.degree):
                    moments[k] += histogram(power)
                    power *= place
            by_node = basis.T @ moments
            for s in range(self.degree):
                nodal[tile.start + s : tile.stop + s] += by_node[s]
        return nodal

    def interpolate(self, rows: RowsByPanel, nodal: Floats, n_values: int = 1) -> Floats:
        """Return values at the rows, in the caller's order, from values at the nodes.

        The second value of two is the derivative of the first, that of its polynomial.
        Shape (n_values, n_rows).
        """
        basis, out = lagrange_basis(self.degree), np.empty((n_values, len(rows.x)))
        memory = rows.memory(4, np.intp)  # the type that `take` would convert to each time
        for number, tile in enumerate(self._tiles()):
            near = nodal[tile.start : tile.stop + self.degree - 1]
            windows = np.lib.stride_tricks.sliding_window_view(near, tile.stop - tile.start)
            # Column c: the polynomial through the values at the nodes c, ..., c + degree - 1.
            coefficient = basis @ np.ascontiguousarray(windows)
            for block in rows.blocks(number):
                interval, lines = self._locate(rows.x[block], tile.start, memory)
                out[:, block] = _polynomials(coefficient, interval, n_values, lines)
        if n_values > 1:
            out[1] /= self.step
        return rows.restored(out)

    def sigmoid_sums(self, nodal: Floats) -> Floats:
        """Return, at each node, the sum of weight * sigmoid(z), z the height above it."""
        # The step as a running sum, exact over any distance; what is left decays.
        return np.cumsum(nodal) - nodal / 2 + self._convolved(nodal, odd_rest)

    def softplus_sums(self, nodal: Floats) -> Floats:
        """Return, at each node, the sum of weight * log(1 + exp(z))."""
        ramp = np.concatenate([[0.0], np.cumsum(np.cumsum(nodal[:-1]))])
        return self.step * ramp + self._convolved(nodal, even_rest)

    def _convolved(self, nodal: Floats, rest: Callable[[Floats], Floats]) -> Floats:
        reach = min(int(REACH / self.step), self.n_nodes)
        kernel = rest(self.step * np.arange(-reach, reach + 1))
        if self.n_nodes > _MANY_REACHES * reach:
            return _convolved_in_blocks(nodal, kernel)
        # Circular, and long enough for what wraps round to stay outside the part returned.
        size = next_fast_len(self.n_nodes + reach, real=True)
        beyond = kernel[size:]
        kernel[: len(beyond)] += beyond
        product = rfft(nodal, size) * rfft(kernel, size)
        return np.asarray(irfft(product, size)[reach : reach + self.n_nodes])

    def _locate(self, x: Floats, first: int, memory: Memory) -> Memory:
        """Return intervals counted from `first`, and places in them in [-1/2, 1/2].

        They are written to memory for as many rows or more; the places are its first line.
        """
        interval, lines = memory[0][: len(x)], memory[1][:, : len(x)]
        place = np.subtract(x, self.origin, out=lines[0])
        place /= self.step
        interval[:] = place  # rounded down
        place -= interval
        place -= 0.5
        interval -= first
        return interval, lines


@dataclass(frozen=True, eq=False)
class _SideOnGrid:
    """The rows of one side, in as many parts as there are threads.

    Attributes
    ----------
    grid : Grid
        The grid.
    parts : list of RowsByPanel
        Some rows each, sorted by tile.
    threads : ThreadPool
        Threads that share the parts.
    """

    grid: Grid
    parts: list[RowsByPanel]
    threads: ThreadPool

    @classmethod
    def of(cls, grid: Grid, x: Floats, weight: Floats, threads: ThreadPool) -> _SideOnGrid:
        """Divide and sort the rows."""
        length = max(-(-len(x) // threads.size), _LEAST_PART)
        starts = range(0, max(len(x), 1), length)  # without rows, one part that is empty

        def arrange(number: int) -> RowsByPanel:
            part = slice(starts[number], starts[number] + length)
            return grid.arrange(x[part], weight[part])

        return cls(grid, threads.map(arrange, len(starts)), threads)

    def weighted(self, weight: Floats) -> _SideOnGrid:
        """Return the rows with other weights."""
        ends = np.cumsum([len(part.x) for part in self.parts])[:-1]
        pairs = zip(self.parts, np.split(weight, ends), strict=True)
        return replace(self, parts=[part.weighted(some) for part, some in pairs])

    def to_nodes(self) -> Floats:
        """Return the weights of the nodes that stand for the rows."""
        nodal = self.threads.map(lambda k: self.grid.to_nodes(self.parts[k]), len(self.parts))
        return sum(nodal[1:], start=nodal[0])

    def interpolate(self, nodal: Floats, n_values: int = 1) -> Floats:
        """Return values at the rows from values at the nodes, as `Grid.interpolate` does."""
        found = self.threads.map(
            lambda k: self.grid.interpolate(self.parts[k], nodal, n_values), len(self.parts)
        )
        return found[0] if len(found) == 1 else np.concatenate(found, axis=1)


def grid_sums(
    f: Floats,
    a: Floats,
    g: Floats,
    b: Floats,
    grid: Grid,
    n_orders: int,
    threads: ThreadPool,
    rows: RowSums = ALL_HERE,
) -> Sums:
    """Return the sums by a grid, over the rows of all processes."""
    above = _SideOnGrid.of(grid, f, a, threads)
    below = _SideOnGrid.of(grid, g, b, threads)
    upper = above.to_nodes()
    if not n_orders:
        upper = rows.total(upper)
        heights = below.interpolate(grid.softplus_sums(upper))[0]
        np.maximum(heights, 0.0, out=heights)  # rounding where all is in order
        return Sums(float(b @ heights), heights, EMPTY, EMPTY)
    lower = below.to_nodes()
    upper, lower = rows.totals(upper, lower)
    # Seen from an upper row, the lower rows out of order lie above: mirror the axis.
    upper_sums = above.interpolate(grid.sigmoid_sums(lower[::-1])[::-1], n_orders)
    lower_sums = below.interpolate(grid.sigmoid_sums(upper), n_orders)
    upper_sums[1:] *= -1.0  # z falls with the upper row's score
    for slopes in (upper_sums[1:], lower_sums[1:]):
        np.maximum(slopes, 0.0, out=slopes)  # rounding where no row is near
    return Sums(float(lower @ grid.softplus_sums(upper)), EMPTY, upper_sums, lower_sums)


class ListOnGrid(KeptSums):
    """Sums over the pairs of one bipartite list, the upper rows first, by a grid."""

    rows = slice(None)

    def __init__(self, f: Floats, g: Floats, grid: Grid, threads: ThreadPool) -> None:
        self._grid, self.n_upper = grid, len(f)
        self._above, self._below = (
            _SideOnGrid.of(grid, x, np.ones(len(x)), threads) for x in (f, g)
        )
        self._forget()

    def _moments(self, role: str, weight: Floats) -> Floats:
        """Return the weights of the nodes; seen from an upper row, along the mirrored axis."""
        if role == "lower":
            return self._above.weighted(weight).to_nodes()
        return self._below.weighted(weight).to_nodes()[::-1]

    def _evaluate(self, role: str, orders: Sequence[int], moments: Floats) -> list[Floats]:
        """Return the sums of derivatives of phi of some orders, for rows in a role."""
        side, sign = (self._below, 1) if role == "lower" else (self._above, -1)
        found = {}
        if 0 in orders:
            heights = self._grid.softplus_sums(moments)[::sign]
            found[0] = side.interpolate(heights)[0]
        if 1 in orders or 2 in orders:
            slopes = side.interpolate(self._grid.sigmoid_sums(moments)[::sign], max(orders))
            np.negative(slopes[0], out=slopes[0])  # phi' is minus the sigmoid of z
            slopes[1:] *= sign  # z falls with the upper row's score
            found.update(enumerate(slopes, start=1))
        return [found[order] for order in orders]


def _convolved_in_blocks(values: Floats, kernel: Floats) -> Floats:
    """Return a convolution with a short kernel about zero, by transforms that stay in the cache.

    Blocks overlap by the length of the kernel: what wraps round in one is right in another.
    """
    overlap = len(kernel) - 1
    size = next_fast_len(_REACHES_OF_BLOCK * len(kernel), real=True)
    hop = size - overlap
    n_blocks = -(-len(values) // hop)
    padded = np.zeros(n_blocks * hop + overlap)
    padded[overlap // 2 : overlap // 2 + len(values)] = values
    blocks = np.lib.stride_tricks.sliding_window_view(padded, size)[::hop]
    product = rfft(blocks, axis=1)
    product *= rfft(kernel, size)
    return np.asarray(irfft(product, size, axis=1)[:, overlap:].ravel()[: len(values)])


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


def odd_rest(z: Floats) -> Floats:
    """Return sigmoid(z) - [z > 0]; the step counts one half at z = 0."""
    return -np.sign(z) * expit(-np.abs(z))


def even_rest(z: Floats) -> Floats:
    """Return log(1 + exp(z)) - max(z, 0)."""
    return np.log1p(np.exp(-np.abs(z)))
