r"""Rows in cells of one width, and a smooth loss between the rows of two cells.

A row has a place t in [-1, 1] in its cell. A loss that is analytic in a strip around the real axis
is, for the rows of two cells, a short sum of products of powers of their places,

.. math:: \phi(f_i - g_k) = \sum_{r, s < d} C^{ab}_{rs} \, t_i^r \, t_k^s
    + O(\varrho^{-d}), \qquad \varrho = z + \sqrt{1 + z^2}

where a and b are the cells, C depends on b - a alone, and z is the half-width of the strip over
that of a cell. So of the rows of a cell only d sums matter, its *moments*
:math:`\sum_i w_i t_i^r`: those of the other rows, times C, are the coefficients of a polynomial of
a row's place.

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
"""Rows handled at a time, at least: they stay in the cache between the powers of their places."""


def number_of_terms(relative_width: float, error: float) -> int:
    """Return how many powers are exact to an error, for cells as wide in half-widths of a strip."""
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
        Where the first of them begins.
    """

    def __init__(self, x: Floats, width: float, origin: float = 0.0) -> None:
        self.place, self.cell = np.empty(len(x)), np.empty(len(x), dtype=np.intp)
        for rows in blocks(len(x), _BLOCK):
            place, cell = self.place[rows], self.cell[rows]
            np.subtract(x[rows], origin, out=place)
            place /= width
            cell[:] = place  # rounded down
            place -= cell
            place *= 2.0
            place -= 1.0

    def moments(self, weight: Floats, n_cells: int, n_terms: int) -> Floats:
        """Return the moments of the cells, of shape (n_terms, n_cells)."""
        found = np.zeros((n_terms, n_cells))
        for rows in blocks(len(weight), max(_BLOCK, n_cells)):
            histogram = Histogram(self.cell[rows], n_cells)
            power, place = weight[rows], self.place[rows]
            for order in range(n_terms):
                if order:
                    power = np.multiply(power, place, out=power if order > 1 else None)
                found[order] += histogram(power)
        return found

    def powers(self, memory: Floats) -> Floats:
        """Return as many powers of the places as there are rows of `memory`, at their start."""
        found = memory[:, : len(self.place)]
        found[0] = 1.0
        for before, power in pairwise(found):
            np.multiply(before, self.place, out=power)
        return found

    def values(self, coefficients: Floats) -> Floats:
        """Return the polynomials at the rows; their coefficients are as the moments."""
        out = np.empty(len(self.place))
        memory = np.empty(min(_BLOCK, len(out)))
        for rows in blocks(len(out), _BLOCK):
            cell, place, value = self.cell[rows], self.place[rows], out[rows]
            term = memory[: len(value)]
            coefficients[-1].take(cell, out=value, mode="clip")  # the mode spares a buffer
            for each in coefficients[-2::-1]:  # Horner's rule
                value *= place
                value += each.take(cell, out=term, mode="clip")
        return out


def kernels(
    values: Callable[[Floats], Sequence[Floats]], width: float, n_terms: int, distances: Indices
) -> list[Floats]:
    """Return the coefficients C of functions of the margin, for distances of two cells.

    A distance is the number of the upper row's cell less that of the lower row's. Rows of the
    matrices are powers of the lower row's place, and columns of the upper row's.
    """
    nodes, to_powers = _nodes(n_terms)
    steps = (nodes - nodes[:, np.newaxis]) / 2.0
    margins = width * (distances[:, np.newaxis, np.newaxis] + steps)
    return [to_powers @ each @ to_powers.T for each in values(margins)]


@cache
def _nodes(n_terms: int) -> tuple[Floats, Floats]:
    """Return Chebyshev nodes, and the matrix from values there to coefficients of powers."""
    nodes = np.cos(np.pi * (np.arange(n_terms) + 0.5) / n_terms)
    return nodes, np.linalg.inv(np.vander(nodes, increasing=True))
