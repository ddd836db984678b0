"""Which cells of a grid may not add less than others, where features are constrained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices, Mask


@dataclass(frozen=True, eq=False)
class CellOrder:
    r"""A partial order of the cells of a grid, or of groups of them.

    A function f of the cells is monotone if :math:`f_a \le f_b` wherever a is below b. Up to a
    constant for each connected part of the order, the monotone functions are the sums of
    indicators of upper sets with coefficients that are not negative. An upper set holds, with
    each cell, all cells above it. Those of which neither the set nor the rest of its part
    falls apart are enough: others are sums of these, less a constant.

    Attributes
    ----------
    below : ndarray of shape (n_cells, n_cells)
        Whether a (row) is below b (column), or is b.

    References
    ----------
    RobertsonWrightDykstra1988, chapter 1.
    """

    below: Mask

    @classmethod
    def of_grid(
        cls, shape: tuple[int, int], n_values: tuple[int, int], signs: tuple[int, int]
    ) -> Self:
        """Return the order of the cells of a grid.

        Parameters
        ----------
        shape : (int, int)
            Number of bins of each feature.
        n_values : (int, int)
            Number of those of ordinary values, the only ones that have an order.
        signs : (int, int)
            For each feature 1 if f may not fall with it, -1 if it may not rise, 0 otherwise.
        """
        number = np.arange(shape[0] * shape[1]).reshape(shape)
        below = np.eye(number.size, dtype=bool)
        for axis, sign in enumerate(signs):
            if sign:
                lines = np.moveaxis(number, axis, 0)[: n_values[axis]][::sign]
                below[lines[:-1].ravel(), lines[1:].ravel()] = True
        return cls(_closure(below))

    def of_groups(self, group: Indices) -> CellOrder:
        """Return the order of groups of cells, given the group of each cell; -1 of no group."""
        n_groups = int(group.max(initial=-1)) + 1
        below = np.eye(n_groups, dtype=bool)
        one, other = np.nonzero(self.below & np.less.outer(-1, group) & (group >= 0)[:, None])
        below[group[one], group[other]] = True
        return CellOrder(_closure(below))

    def without_circles(self, group: Indices) -> Indices:
        """Return groups of cells of which no two are below each other: such are merged."""
        if (group < 0).all():
            return group
        below = self.of_groups(group).below
        first = (below & below.T).argmax(axis=1)
        label = np.unique(first, return_inverse=True)[1].ravel()
        return np.where(group >= 0, np.append(label, -1)[group], -1)

    def sets(self) -> tuple[Mask, Mask]:
        """Return the sets whose indicators make up all monotone functions.

        Returns
        -------
        members : ndarray of shape (n_sets, n_cells)
            The sets: first the connected parts of the order.
        is_part : ndarray of shape (n_sets,)
            Whether a set is such a part. Its coefficient may be any number; those of the others
            are not negative.
        """
        parts = self._parts()
        tops = [
            upper
            for part in parts
            for upper in self._upper_sets(part)
            if self._is_connected(upper) and self._is_connected(part & ~upper)
        ]
        is_part = np.arange(len(parts) + len(tops)) < len(parts)
        return np.array([*parts, *tops], dtype=bool).reshape(len(is_part), -1), is_part

    def nearest(self, values: Floats, weight: Floats) -> Floats:
        r"""Return the monotone function nearest to some values by weighted squares.

        .. math:: f_c = \max_{U \ni c} \min_{L \ni c} \bar v (U \cap L)

        over upper sets U and lower sets L, with :math:`\bar v` the weighted mean (max-min
        formula of isotonic regression, RobertsonWrightDykstra1988, chapter 1). Weights are
        positive.
        """
        found = np.array(values, dtype=np.float64)
        for part in self._parts():
            cells = np.flatnonzero(part)
            upper = np.array([*self._upper_sets(part), part])[:, cells]
            lower = np.array([*(~upper[:-1]), np.ones(len(cells), dtype=bool)])
            both = upper[:, np.newaxis] & lower
            mass, sums = both @ weight[cells], both @ (weight * values)[cells]
            means = np.divide(sums, mass, out=np.zeros_like(sums), where=mass > 0)
            for place, cell in enumerate(cells.tolist()):
                has = np.ix_(upper[:, place], lower[:, place])
                found[cell] = means[has].min(axis=1).max()
        return found

    def _parts(self) -> list[Mask]:
        """Return the connected parts of the order, by their first cells."""
        joined = _closure(self.below | self.below.T)
        return [line for cell, line in enumerate(joined) if line.argmax() == cell]

    def _is_connected(self, cells: Mask) -> bool:
        """Whether some cells do not fall apart in the order among them."""
        own = self.below[np.ix_(cells, cells)]
        return bool(_closure(own | own.T)[0].all())

    def _upper_sets(self, part: Mask) -> list[Mask]:
        """Return the upper sets of a part but itself and the empty one, larger ones later."""
        masks = {0}
        # From the top down: a cell may join where all cells above it are in.
        cells = np.flatnonzero(part)
        for cell in cells[np.argsort(self.below[cells].sum(axis=1), kind="stable")].tolist():
            above = sum(1 << int(one) for one in np.flatnonzero(self.below[cell]) if one != cell)
            masks |= {mask | 1 << cell for mask in masks if mask & above == above}
        full = sum(1 << int(one) for one in cells)
        found = sorted(masks - {0, full}, key=lambda mask: (mask.bit_count(), mask))
        number = range(len(part))
        return [np.array([mask >> one & 1 for one in number], dtype=bool) for mask in found]


def _closure(relation: Mask) -> Mask:
    """Return the transitive closure of a reflexive relation."""
    found = relation
    while True:
        further: Any = found @ found
        if np.array_equal(further, found):
            return found
        found = further
