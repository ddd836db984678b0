r"""Rows in cells of one width, and a smooth loss between the rows of two cells.

A row has a position t in [-1, 1] in its cell. A loss that is analytic in a strip around the real
axis is, for the rows of two cells, a short sum of products of powers of their positions,

.. math:: \phi(f_i - g_k) = \sum_{r, s < d} C^{ab}_{rs} \, t_i^r \, t_k^s
    + O(\varrho^{-d}), \qquad \varrho = z + \sqrt{1 + z^2}

where a and b are the cells, C depends on b - a alone, and z is the half-width of the strip over
that of a cell. So a cell enters only by d sums over its rows, its *moments*
:math:`\sum_i w_i t_i^r`: moments of the other rows times C are the coefficients of a polynomial in
the position of a row.

References
----------
L. N. Trefethen, *Approximation Theory and Approximation Practice*, SIAM 2013, theorem 8.2 (the
error of Chebyshev series of analytic functions).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise

import numpy as np

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._pair_sums._sorted_sides import Histogram

_BLOCK = 1 << 17
"""Rows at a time, at least: they stay in the cache between the powers of their positions."""


def number_of_terms(relative_width: float, error: float) -> int:
    """Return the number of powers needed for an error, given the cell width in half-widths."""
    return int(np.ceil(-np.log(error) / np.arcsinh(2.0 / relative_width)))


class RowsInCells:
    """Rows in cells.

    Parameters
    ----------
    x : ndarray of shape (n_rows,)
        Scores.
    width : float
        Width of the cells.
    origin : float, default=0.0
        Lower end of the first cell.
    """

    def __init__(self, x: Floats, width: float, origin: float = 0.0) -> None:
        self.position, self.cell = np.empty(len(x)), np.empty(len(x), dtype=np.intp)
        for rows in blocks(len(x), _BLOCK):
            position, cell = self.position[rows], self.cell[rows]
            np.subtract(x[rows], origin, out=position)
            position /= width
            cell[:] = position  # rounded down
            position -= cell
            position *= 2.0
            position -= 1.0

    def moments(self, weight: Floats, n_cells: int, n_terms: int) -> Floats:
        """Return the moments of the cells, of shape (n_terms, n_cells)."""
        moments = np.zeros((n_terms, n_cells))
        for rows in blocks(len(weight), max(_BLOCK, n_cells)):
            histogram = Histogram(self.cell[rows], n_cells)
            power, position = weight[rows], self.position[rows]
            for order in range(n_terms):
                if order:  # not in place at first: that would change the weights
                    power = np.multiply(power, position, out=power if order > 1 else None)
                moments[order] += histogram(power)
        return moments

    def powers(self, memory: Floats) -> Floats:
        """Write successive powers of the positions into the rows of `memory`, and return them."""
        powers = memory[:, : len(self.position)]
        powers[0] = 1.0
        for lower, power in pairwise(powers):
            np.multiply(lower, self.position, out=power)
        return powers

    def values(self, coefficients: Floats) -> Floats:
        """Return the polynomials of cells at their rows; coefficients have the shape of moments."""
        out = np.empty(len(self.position))
        memory = np.empty(min(_BLOCK, len(out)))
        for rows in blocks(len(out), _BLOCK):
            cell, position, value = self.cell[rows], self.position[rows], out[rows]
            term = memory[: len(value)]
            coefficients[-1].take(cell, out=value, mode="clip")  # the mode spares a buffer
            for coefficient in coefficients[-2::-1]:  # Horner's rule
                value *= position
                value += coefficient.take(cell, out=term, mode="clip")
        return out


def kernels(
    functions: Callable[[Floats], Sequence[Floats]], width: float, n_terms: int, distances: Indices
) -> list[Floats]:
    """Return the coefficients C of functions of the margin, for distances of two cells.

    A distance is the index of the upper row's cell less that of the lower row's. Rows of the
    matrices are powers of the lower row's position, columns powers of the upper row's.
    """
    nodes, to_powers = _nodes(n_terms)
    steps = (nodes - nodes[:, np.newaxis]) / 2.0
    margins = width * (distances[:, np.newaxis, np.newaxis] + steps)
    return [to_powers @ value @ to_powers.T for value in functions(margins)]


@cache
def _nodes(n_terms: int) -> tuple[Floats, Floats]:
    """Return Chebyshev nodes, and the matrix from values there to coefficients of powers."""
    nodes = np.cos(np.pi * (np.arange(n_terms) + 0.5) / n_terms)
    return nodes, np.linalg.inv(np.vander(nodes, increasing=True))
