"""Sums of a smooth loss over the pairs of many queries, in time linear in the rows.

The scores of a query are divided into cells (`_cells`). A cell has moments of the rows of each
level; those of the levels above or below a row give the coefficients of a polynomial.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.sparse import csc_matrix

from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.sums import Block, Groups
from sklearn_rank._pair_sums._batches import derivatives
from sklearn_rank._pair_sums._block_sums import BlockSums
from sklearn_rank._pair_sums._cells import RowsInCells, kernels, number_of_terms
from sklearn_rank._pair_sums.group_sums import EMPTY, KeptSums, PairSums, PartSums
from sklearn_rank._pair_sums.margin_losses import MarginLoss

Result = TypeVar("Result")

_WIDTH = 0.48
"""Width of a cell in half-widths of the strip; fewer, wider cells need more moments."""

_MOST_CELLS = 14
"""Most cells of a query. With more of them pair by pair costs less."""

_PART_ROWS, _MOST_ROWS = 16_000, 32_000
"""Rows whose polynomials are in memory together, about; most rows of a query, which is whole."""

_PER_ROW, _PER_SEGMENT, _OVERHEAD = 50.0, 500.0, 300e3
"""Cost of a row, of a level of a query and of a call, in the nanoseconds of `FastSums`."""


class CellSums:
    """Sums of a margin loss over all comparable pairs, computed from the moments of cells.

    Parameters
    ----------
    preferences : Preferences
        The comparable pairs.
    loss : MarginLoss
        The loss of a margin, analytic in a strip (``loss.strip``).
    otherwise : BlockSums
        Sums for scores that are spread too widely.
    """

    def __init__(self, preferences: Preferences, loss: MarginLoss, fallback: BlockSums) -> None:
        assert loss.strip is not None
        self.preferences, self.loss, self._fallback = preferences, loss, fallback
        self._width = _WIDTH * loss.strip.half_width
        self._n_terms = number_of_terms(_WIDTH, loss.strip.error)
        slopes = loss.derivative(self._width * np.linspace(-1.0, 1.0, 15))
        is_mirrored = np.ptp(slopes + slopes[::-1]) < loss.strip.error
        self._slope_sum = 2.0 * float(slopes[7]) if is_mirrored else None
        first_rows = preferences.segments.start[preferences.queries.start]
        self._queries = Groups(first_rows, preferences.n_rows)
        blocks = self._queries.blocks(_PART_ROWS)
        self._parts = [QueryCells(preferences, rows) for rows in blocks]
        self._threads = loss.strip.threads or ThreadPool(1)
        self._most_rows = max(block.n_items for block in blocks)
        # Kept: new pages from the system would take longer than the writing. A call takes what it
        # needs, so that other calls may run at the same time.
        self._unused_memory: list[_Memory] = []

    @staticmethod
    def cost(preferences: Preferences) -> float:
        """Return the cost of a call, in the nanoseconds of `FastSums`."""
        segments, queries = preferences.segments, preferences.queries
        longest = np.diff(segments.start[queries.start], append=preferences.n_rows)
        if np.max(longest, initial=0) > _MOST_ROWS:
            return float("inf")
        return _OVERHEAD + _PER_ROW * preferences.n_rows + _PER_SEGMENT * segments.n_groups

    def derivatives(
        self, scores: Floats, scale: float, with_second: bool = False
    ) -> tuple[float, Floats, Floats]:
        """Return the sum over all pairs, its gradient and curvature, divided by `scale`.

        The value is that of all processes; gradient and curvature are those of the rows here.
        """
        weight = self.preferences.weight
        sums = np.empty((1 + with_second, len(scores)))

        def sum_part(part: PartSums) -> float:
            assert isinstance(part, QueryCells)
            return part.sums_of_both_roles(weight[part.rows], sums[:, part.rows])

        values = self.in_parts(scores, sum_part)
        if values is None:
            return self._fallback.derivatives(scores, scale, with_second)
        sums *= weight / scale
        gradient, *second = sums
        value = self.preferences.lists.total(sum(values)) / scale
        return value, gradient, np.maximum(second[0], 0.0) if second else EMPTY

    def sums(self, scores: Floats, w_upper: Floats, w_lower: Floats, *options: bool) -> PairSums:
        """Return the sums with separate weights for the two roles of a row."""
        parts = self.in_parts(
            scores, lambda part: part.sums(w_upper[part.rows], w_lower[part.rows], *options)
        )
        if parts is None:
            return self._fallback.sums(scores, w_upper, w_lower, *options)
        values, *sums = zip(*parts, strict=True)
        value = self.preferences.lists.total(sum(values))
        return PairSums(value, *map(np.concatenate, sums))

    def heights(self, scores: Floats, weight: Floats, side: str, margin: float) -> Floats:
        """Return the loss of each row's pairs, each with the required `margin`."""
        parts = self.in_parts(scores, lambda part: part.heights(weight[part.rows], side), margin)
        if parts is None:
            return self._fallback.heights(scores, weight, side, margin)
        return np.concatenate(parts)

    def in_parts(
        self, scores: Floats, sum_part: Callable[[PartSums], Result], margin: float = 0.0
    ) -> list[Result] | None:
        """Call a function with each part of the rows, and return its results in their order.

        Parts are whole queries. None where scores are spread too widely.
        """
        cells = self._find_cells(scores, margin)
        if cells is None:
            return None
        n_threads = min(self._threads.size, len(self._parts))

        def run(thread: int) -> list[Result]:
            try:
                memory = self._unused_memory.pop()
            except IndexError:
                memory = _Memory(self._most_rows, self._n_terms)
            results = [sum_part(part.at(cells, memory)) for part in self._parts[thread::n_threads]]
            self._unused_memory.append(memory)
            return results

        by_thread = self._threads.map(run, n_threads)
        return [by_thread[k % n_threads][k // n_threads] for k in range(len(self._parts))]

    def _find_cells(self, scores: Floats, margin: float) -> _ScoredCells | None:
        """Return the cells of the rows, or None where scores are spread too widely."""
        low, high = (self._queries.reduce(ufunc, scores) for ufunc in (np.minimum, np.maximum))
        with np.errstate(over="ignore", invalid="ignore"):
            n_cells = (high - low) / self._width + 1.0
        if not n_cells.max() < _MOST_CELLS + 1:  # NaN, too
            return None
        matrices = _kernels(self.loss, self._width, self._n_terms, int(n_cells.max()), margin)
        counts = n_cells.astype(np.intp)
        return _ScoredCells(scores, low, counts, self._width, matrices, self._slope_sum)


@lru_cache(maxsize=4)  # most calls need the matrices of the last call
def _kernels(
    loss: MarginLoss, width: float, n_terms: int, n_cells: int, margin: float
) -> list[Floats]:
    """Return the coefficients C of phi, of its derivative and, if there is one, of the second.

    Rows of the matrices are the moments of lower rows, and columns the coefficients for upper
    ones; transposed, those of upper rows and for lower ones.
    """
    size, cells = n_cells * n_terms, np.arange(n_cells)
    with_second, distances = hasattr(loss, "second_derivative"), np.arange(1 - n_cells, n_cells)
    by_distance = kernels(
        lambda m: derivatives(loss, m - margin, with_second), width, n_terms, distances
    )
    distance = cells - cells[:, np.newaxis] + n_cells - 1
    return [c[distance].transpose(0, 2, 1, 3).reshape(size, size) for c in by_distance]


class _ScoredCells(NamedTuple):
    """The cells of the queries at some scores, and the functions to sum there.

    Attributes
    ----------
    scores : ndarray of shape (n_rows,)
        The scores.
    low : ndarray of shape (n_queries,)
        Lowest score of each query: the lower end of its first cell.
    n_cells : ndarray of shape (n_queries,)
        Number of cells of each query.
    width : float
        Width of a cell.
    kernels : list of ndarray
        Coefficients of phi and its derivatives.
    slope_sum : float or None
        phi'(m) + phi'(-m) if it is the same for all m: then one sum serves both roles of a row.
    """

    scores: Floats
    low: Floats
    n_cells: Indices
    width: float
    kernels: list[Floats]
    slope_sum: float | None


class _Memory:
    """Memory for blocks of rows, one after the other.

    Attributes
    ----------
    terms : ndarray of shape (n_terms, n)
        Powers of the positions of the rows of a block.
    powers, values : ndarray of shape (n, n_terms)
        The same by row, and their products with coefficients.
    """

    def __init__(self, n_rows: int, n_terms: int) -> None:
        self.powers, self.values = np.empty((2, n_rows, n_terms))
        # Rows that are a power of two apart would share few lines of the cache.
        self.terms = np.empty((n_terms, n_rows - n_rows % 16 + 24))


class QueryCells(KeptSums):
    """The cells of some queries, one after the other.

    Moments and coefficients have the shape (n_segments, n_cells * n_terms).

    Parameters
    ----------
    preferences : Preferences
        The comparable pairs.
    block : Block
        The rows of the queries, by query.
    """

    _cell: Indices
    _powers: Floats
    _values: Floats
    _matrix: csc_matrix
    _kernels: list[Floats]
    _slope_sum: float | None

    def __init__(self, preferences: Preferences, block: Block) -> None:
        self._block, self.rows = block, block.items
        self._queries = preferences.queries.block(block.groups.start, block.groups.stop)
        first = self._queries.offset
        self._segments = preferences.segments.block(first, first + self._queries.n_items)

    def at(self, scored_cells: _ScoredCells, memory: _Memory) -> QueryCells:
        """Return the cells at some scores; they are valid until the memory is used again."""
        block, segments = self._block, self._segments
        cells = copy(self)
        n_cells = int(scored_cells.n_cells[block.groups].max())
        distance = scored_cells.scores[self.rows] - block.spread(scored_cells.low[block.groups])
        rows_in_cells = RowsInCells(distance, scored_cells.width)
        n_rows = block.n_items
        cells._powers, cells._values = memory.powers[:n_rows], memory.values[:n_rows]
        np.copyto(cells._powers, rows_in_cells.powers(memory.terms).T)
        cells._cell = rows_in_cells.cell + segments.spread(np.arange(segments.n_groups) * n_cells)
        # One product sums the powers of all rows by cell: all moments at once.
        cells._matrix = csc_matrix((segments.n_groups * n_cells, n_rows))
        cells._matrix.indices, cells._matrix.indptr = cells._cell, np.arange(n_rows + 1)
        size = n_cells * len(memory.terms)
        cells._kernels = [kernel[:size, :size] for kernel in scored_cells.kernels]
        cells._slope_sum = scored_cells.slope_sum
        cells._forget()
        return cells

    def sums_of_both_roles(self, weight: Floats, out: Floats) -> float:
        """Return the sum over all pairs; write that of phi' and, in a second row, of phi''.

        Of phi' it is the sum of a row as the upper one less that as the lower one, of phi'' both
        sums together.
        """
        moments = self._segment_moments(weight)
        moments_above, moments_below = (self._scan("lower", moments), self._scan("upper", moments))
        for order, rows in enumerate(out, start=1):
            kernel = self._kernels[order]
            if self._slope_sum is None:
                coefficients = moments_below @ kernel + (-1) ** order * (moments_above @ kernel.T)
            else:
                coefficients = (moments_above + moments_below) @ kernel
                if order == 1:  # phi'(m) = slope_sum - phi'(-m) for a lower row
                    constants = slice(None, None, self._powers.shape[1])
                    mass = moments_above[:, constants].sum(axis=1, keepdims=True)
                    coefficients[:, constants] -= self._slope_sum * mass
            self._evaluate_at_rows(coefficients, rows)
        return float(np.vdot(moments_above @ self._kernels[0].T, moments))

    def _moments(self, role: str, weight: Floats) -> Floats:
        """Return the moments of the rows above each segment, or below it."""
        return self._scan(role, self._segment_moments(weight))

    def _evaluate(
        self, role: str, orders: Sequence[int], moments: Floats, weight: Floats
    ) -> Sequence[Floats]:
        """Return sums of derivatives of phi, of these orders, for rows on one side of the pairs."""
        sums = np.empty((len(orders), self._block.n_items))
        for order, out in zip(orders, sums, strict=True):
            kernel = self._kernels[order]
            self._evaluate_at_rows(moments @ (kernel if role == "upper" else kernel.T), out)
        return list(sums)

    def _segment_moments(self, weight: Floats) -> Floats:
        """Return the moments of the rows of each segment."""
        self._matrix.data = weight
        return np.asarray(self._matrix @ self._powers).reshape(self._segments.n_groups, -1)

    def _scan(self, role: str, moments: Floats) -> Floats:
        """Return the moments of the rows with which rows in a given role are compared."""
        return self._queries.scan(np.add, moments, 0.0, reverse=role == "upper")

    def _evaluate_at_rows(self, coefficients: Floats, out: Floats) -> None:
        """Write the polynomials with these coefficients, at the positions of the rows."""
        n_terms = self._powers.shape[1]
        coefficients.reshape(-1, n_terms).take(self._cell, axis=0, out=self._values, mode="clip")
        np.multiply(self._values, self._powers, out=self._values)
        np.dot(self._values, np.ones(n_terms), out=out)
