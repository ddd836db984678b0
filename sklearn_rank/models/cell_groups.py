"""The merging of cells of a grid that are too small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices, Mask


def group_cells(
    sizes: Floats,
    sums: Floats,
    shape: tuple[int, int],
    n_values: tuple[int, int],
    are_enough: Callable[[Floats], Any],
) -> Indices:
    """Return the group of each cell, -1 of those that are too few in all.

    A group that is too small, the smallest first, is merged with the neighbouring one whose
    ratio of the two sums is nearest. Cells of missing values and special codes have neighbours
    only in their own row or column of the grid, so that they never share a group with others.

    Parameters
    ----------
    sizes : ndarray of shape (2, n_cells)
        Weight of the rows, and of those of the upper class.
    sums : ndarray of shape (2, n_cells)
        Sums of first and second derivatives.
    shape : (int, int)
        Number of bins of each feature.
    n_values : (int, int)
        Number of those of ordinary values.
    are_enough : callable
        Which of sizes of shape (2, ...) are enough.
    """
    n_cells = sizes.shape[1]
    group, is_next = np.arange(n_cells), _neighbours(shape, n_values)
    sizes, sums = sizes.copy(), sums.copy()
    is_open = np.ones(n_cells, dtype=bool)
    while True:
        small = np.flatnonzero(is_open & ~np.asarray(are_enough(sizes) & (sizes[0] > 0)))
        if not len(small):
            break
        one = int(small[np.argmin(sizes[0, small])])
        others = np.flatnonzero(is_next[one])
        if not len(others):
            is_open[one] = False
            group[group == one] = -1
            continue
        ratio = np.divide(sums[0], sums[1], out=np.zeros(sums.shape[1]), where=sums[1] > 0)
        # An empty group has no ratio of its own: it goes to the heaviest.
        distance = -sizes[0, others] if sums[1, one] == 0 else np.abs(ratio[others] - ratio[one])
        into = int(others[np.argmin(distance)])
        group[group == one] = into
        sizes[:, into] += sizes[:, one]
        sums[:, into] += sums[:, one]
        is_open[one] = False
        is_next[into] |= is_next[one]
        is_next[:, into] |= is_next[:, one]
        is_next[one] = is_next[:, one] = False
        is_next[into, into] = False
    found, kept = np.full(n_cells, -1), group >= 0
    found[kept] = np.unique(group[kept], return_inverse=True)[1].ravel()
    return found


def _neighbours(shape: tuple[int, int], n_values: tuple[int, int]) -> Mask:
    """Return which cells are side by side, with ordinary values along the axis between them."""
    number = np.arange(shape[0] * shape[1]).reshape(shape)
    is_next = np.zeros((number.size, number.size), dtype=bool)
    along_first = (number[: n_values[0]][:-1], number[: n_values[0]][1:])
    along_second = (number[:, : n_values[1]][:, :-1], number[:, : n_values[1]][:, 1:])
    for one, other in (along_first, along_second):
        is_next[one.ravel(), other.ravel()] = is_next[other.ravel(), one.ravel()] = True
    return is_next
