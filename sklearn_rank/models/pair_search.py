"""The search for the pair of features whose grid of cells lowers the objective most."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from sklearn_rank._bins.binned_features import BinSizes, FeatureBins
from sklearn_rank._bins.pair_bins import PairBins
from sklearn_rank._core.protocols import Floats, Indices, RowGradient
from sklearn_rank._core.rows import FitRows
from sklearn_rank.models.cell_groups import group_cells
from sklearn_rank.models.cell_order import CellOrder
from sklearn_rank.models.grid_cuts import GridGain, MonotoneAxes, best_grid, equal_cuts, rounded

MOST_GROUPS = 4
"""Most bins of ordinary values on each axis of a grid."""

_MOST_PLACES = 16
"""Most places of a feature in the tables on which pairs are compared."""

_MOST_FINE = 64
"""Most places of a feature in the table on which the cuts of the best pair are found."""

_MOST_FEATURES, _N_SWEPT = 60, 8
"""Features whose pairs are compared; pairs whose cuts are found."""

LEAST_CELL = 0.01
"""Share of the weight of the rows that a cell must have."""

_LEAST_LINE = 0.02
"""Share of the weight of the rows that each bin of ordinary values on an axis must have."""

_SQUARED_ERRORS = 4.0
"""What a cell costs: a cell pays if its slope is more than two standard errors from 0."""

_LEAST_CURVATURE = 1e-3
"""Added to the curvature of a cell, as a share of that of all rows."""


@dataclass(frozen=True, eq=False)
class Slopes:
    """Derivatives of the objective by the scores of the training rows, in fit order.

    Attributes
    ----------
    first, second : ndarray of shape (n_rows,)
        The first derivatives, and bounds of the second ones.
    ridge : float
        What is added to the second derivative of a cell.
    noise : float
        What a cell costs, four times the gain to be expected where the cells tell nothing.
    """

    first: Floats
    second: Floats
    ridge: float
    noise: float

    @classmethod
    def of(
        cls, gradient: RowGradient, weight: Floats, rows: FitRows, power: float, ridge: float
    ) -> Slopes:
        """Return the derivatives that a gradient tells; without curvature that is by weight."""
        g = gradient.data
        if len(gradient.pointer) == 3:
            middle = gradient.pointer[1]
            parts = np.array([g[:middle].sum(), g[middle:].sum()])
            above, below = rows.total(parts)
            share: Floats = np.concatenate([g[:middle] / above, g[middle:] / below])
            signs = np.where(np.arange(len(g)) < middle, -1.0, 1.0)
            first, second = np.asarray(signs * share), np.asarray(power * share)
        elif gradient.curvature is None:
            sums = rows.total(np.array([np.abs(g).sum(), weight.sum()]))
            first, second = g, np.asarray(weight * (sums[0] / sums[1]))
        else:
            first, second = g, gradient.curvature
        squared, curvature = rows.total(np.array([(first**2 / weight).sum(), second.sum()]))
        noise = _SQUARED_ERRORS * float(squared / curvature) if curvature > 0 else 0.0
        return cls(first, second, ridge + _LEAST_CURVATURE * float(curvature), noise)

    def sums(self, number: Indices, n_bins: int) -> Floats:
        """Return the sums of both derivatives over the rows with each number."""
        parts = [np.bincount(number, one, n_bins) for one in (self.first, self.second)]
        return np.array(parts, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Places:
    """Bins of a feature in a line: those of ordinary values in order, then all others.

    Attributes
    ----------
    of_bin : ndarray of shape (n_bins,)
        The place of each bin.
    n_values, n_places : int
        Number of places of ordinary values, and of all.
    """

    of_bin: Indices
    n_values: int
    n_places: int

    @classmethod
    def divided(cls, order: Indices, weight: Floats, n_values: int, most: int) -> Places:
        """Return the bins of ordinary values, in an order, in at most so many equal places."""
        weight_in_order = weight[order]
        total = weight_in_order.sum()
        upto = np.cumsum(weight_in_order) - weight_in_order / 2
        place = np.zeros(n_values, dtype=np.intp)
        if n_values > most and total > 0:
            place = np.minimum((upto / total * most * (1 + 1e-9)).astype(np.intp), most - 1)
            place = np.unique(place, return_inverse=True)[1].ravel()
        elif n_values:
            place = np.arange(n_values)
        of_bin = np.empty(len(weight), dtype=np.intp)
        n_places = int(place.max(initial=-1)) + 1
        of_bin[order] = place
        n_others = len(weight) - n_values
        of_bin[n_values:] = n_places + np.arange(n_others)
        return cls(of_bin, n_places, n_places + n_others)


class PairSearch:
    """The bins of the training rows, and the pairs of features that may be grids.

    Parameters
    ----------
    bins : list of FeatureBins
        The bins of each feature.
    codes : ndarray of shape (n_features, n_rows)
        The bin of each value.
    sizes : BinSizes
        The least that a bin must weigh.
    rows : FitRows
        The training rows.
    monotonic : dict of int to int
        The constraints of features, 1 or -1.
    """

    def __init__(
        self,
        bins: Sequence[FeatureBins],
        codes: Indices,
        sizes: BinSizes,
        rows: FitRows,
        monotonic: Mapping[int, int],
    ) -> None:
        self._bins, self._codes, self._rows = bins, codes, rows
        self._monotonic = monotonic
        most = max(one.n_bins for one in bins)
        self._weight = rows.total(
            np.array([np.bincount(line, sizes.weight, most) for line in codes], dtype=np.float64)
        )
        total = float(self._weight[0].sum())
        self._least_line = max(sizes.least_weight, _LEAST_LINE * total)
        least = max(sizes.least_weight, LEAST_CELL * total)
        self._sizes = replace(sizes, least_weight=least, rows=rows)

    def find(
        self,
        slopes: Slopes,
        is_allowed: Callable[[tuple[int, int]], bool],
        levels: Floats | None = None,
    ) -> tuple[PairBins, Indices] | None:
        """Return the bins of the pair with the largest gain, and the bin of each row.

        `levels`, of shape (n_features, n_bins), is what the model adds for each bin: a pair may
        take over what constrained features add alone.
        """
        self._levels = levels
        by_bin = self._rows.total(
            np.array([slopes.sums(line, self._weight.shape[1]) for line in self._codes])
        )
        places = self._places(by_bin, _MOST_PLACES)
        candidates = [
            pair for pair in combinations(self._features(by_bin, slopes), 2) if is_allowed(pair)
        ]
        if not candidates:
            return None
        best = self._rows.agree(self._best(candidates, places, slopes))
        if best is None:
            return None
        cuts = self._cuts(best, self._places(by_bin, _MOST_FINE), slopes)
        return None if cuts is None else self._bins_of(best, self._rows.agree(cuts), slopes)

    def _features(self, by_bin: Floats, slopes: Slopes) -> list[int]:
        """Return the features whose pairs are compared: of many those with the largest gain."""
        if len(self._bins) <= _MOST_FEATURES:
            return list(range(len(self._bins)))
        gain = (by_bin[:, 0] ** 2 / (by_bin[:, 1] + slopes.ridge)).sum(axis=1)
        first = self._rows.agree(np.argsort(-gain, kind="stable")[:_MOST_FEATURES])
        return sorted(first.tolist())

    def _places(self, by_bin: Floats, most: int) -> list[Places]:
        """Return the bins of each feature in a line, those of categories by their ratio."""
        found = []
        for j, bins in enumerate(self._bins):
            n_values = bins.n_values
            order = np.arange(n_values)
            if not bins.has_order:
                first, second = by_bin[j, :, :n_values]
                ratio = np.divide(first, second, out=np.zeros(n_values), where=second > 0)
                order = np.argsort(ratio, kind="stable")
            found.append(Places.divided(order, self._weight[j, : bins.n_bins], n_values, most))
        return self._rows.agree(found)

    def _table(self, pair: tuple[int, int], places: Sequence[Places], slopes: Slopes) -> Floats:
        """Return the sums of the derivatives by both places, of the rows here."""
        one, other = pair
        first, second = places[one], places[other]
        number = first.of_bin[self._codes[one]] * second.n_places
        number += second.of_bin[self._codes[other]]
        sums = slopes.sums(number, first.n_places * second.n_places)
        return sums.reshape(2, first.n_places, second.n_places)

    def _weights(self, j: int, places: Places) -> Floats:
        """Return the weight of the rows at each place of a feature."""
        by_bin = self._weight[j, : len(places.of_bin)]
        return np.bincount(places.of_bin, by_bin, places.n_places).astype(np.float64)

    def _gain(self, pair: tuple[int, int], places: Sequence[Places], slopes: Slopes) -> GridGain:
        """Return the gain by which the cuts of a pair are judged."""
        sides = [(places[j].n_values, self._weights(j, places[j])) for j in pair]
        categories = [self._bins[j].n_values for j in pair if not self._bins[j].has_order]
        signs, levels = self._signs(pair), [self._level(j, places[j]) for j in pair]
        limits = None if not any(signs) else MonotoneAxes(signs, (levels[0], levels[1]))
        return GridGain(
            sides, self._least_line, slopes.ridge, slopes.noise, sum(categories), limits
        )

    def _level(self, j: int, places: Places) -> Floats:
        """Return the mean of what the model adds at each place of ordinary values; 0 at others."""
        found, n_values = np.zeros(places.n_places), self._bins[j].n_values
        if self._levels is not None:
            by_bin = self._weight[j, :n_values] * self._levels[j, :n_values]
            sums = np.bincount(places.of_bin[:n_values], by_bin, places.n_places)
            total = self._weights(j, places)
            np.divide(sums, total, out=found, where=total > 0)
        return found

    def _signs(self, pair: tuple[int, int]) -> tuple[int, int]:
        """Return the constraints of both features."""
        return self._monotonic.get(pair[0], 0), self._monotonic.get(pair[1], 0)

    def _best(
        self, candidates: list[tuple[int, int]], places: Sequence[Places], slopes: Slopes
    ) -> tuple[int, int] | None:
        """Return the pair with the largest gain: at cuts of its own for the best at equal ones."""
        here = [self._table(pair, places, slopes) for pair in candidates]
        tables = self._rows.totals(*here)
        gains = [self._gain(pair, places, slopes) for pair in candidates]
        at_equal = [
            gain(table, [equal_cuts(*side, MOST_GROUPS) for side in gain.sides])
            for gain, table in zip(gains, tables, strict=True)
        ]
        chosen = sorted(np.argsort(-rounded(np.array(at_equal)), kind="stable")[:_N_SWEPT].tolist())
        largest = rounded(np.array([_largest(tables[one], gains[one])[1] for one in chosen]))
        best = int(np.argmax(largest))
        return candidates[chosen[best]] if largest[best] > 0 else None

    def _cuts(
        self, pair: tuple[int, int], places: Sequence[Places], slopes: Slopes
    ) -> tuple[Indices, Indices] | None:
        """Return the group of each bin of both features of a pair; None without a gain."""
        table = np.asarray(self._rows.total(self._table(pair, places, slopes)))
        cuts, gain = _largest(table, self._gain(pair, places, slopes))
        if not gain > 0:
            return None
        one, other = (self._group(places[j], cut) for j, cut in zip(pair, cuts, strict=True))
        return one, other

    @staticmethod
    def _group(places: Places, cuts: Indices) -> Indices:
        """Return the bin on the axis of a pair of each bin of a feature."""
        of_place = np.searchsorted(cuts, np.arange(places.n_places), side="right")
        others = len(cuts) + 1 + np.arange(places.n_places - places.n_values)
        of_place[places.n_values :] = others
        return of_place[places.of_bin]

    def _bins_of(
        self, pair: tuple[int, int], groups: tuple[Indices, Indices], slopes: Slopes
    ) -> tuple[PairBins, Indices] | None:
        """Return the bins of a pair with these groups, and the bin of each row."""
        axes = [_merged(self._bins[j], group) for j, group in zip(pair, groups, strict=True)]
        width = axes[1].n_bins
        cell = groups[0][self._codes[pair[0]]] * width + groups[1][self._codes[pair[1]]]
        n_cells = axes[0].n_bins * width
        sizes = self._sizes.by_bin(cell[np.newaxis], n_cells)[0]
        sums = np.asarray(self._rows.total(slopes.sums(cell, n_cells)))
        n_values = axes[0].n_values, axes[1].n_values
        grid = (axes[0].n_bins, width)
        group = self._rows.agree(group_cells(sizes, sums, grid, n_values, self._sizes.are_enough))
        group = CellOrder.of_grid(grid, n_values, self._signs(pair)).without_circles(group)
        if group.max(initial=-1) < 1:
            return None
        bins = PairBins(axes[0], axes[1], pair, group)
        return bins, bins.bin_of_cell[cell]


def _largest(table: Floats, gain: GridGain) -> tuple[tuple[Indices, Indices], float]:
    """Return the cuts of the largest gain found, and what remains of it within constraints."""
    cuts, value = best_grid(table, gain, MOST_GROUPS)
    return cuts, value if gain.limits is None else gain.monotone(table, cuts)


def _merged(bins: FeatureBins, group: Indices) -> FeatureBins:
    """Return the bins of a feature in groups."""
    if bins.categories is None:
        last = np.flatnonzero(np.diff(group[: bins.n_values]))
        return FeatureBins(bins.thresholds[last], bins.special)
    n_values = int(group[: bins.n_values].max(initial=-1)) + 1
    known = np.append(group[: bins.n_values], -1)
    assert n_values == len(np.unique(group[: bins.n_values]))
    return replace(bins, categories=known[bins.categories])
