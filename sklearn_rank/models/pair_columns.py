"""Pairs of features as features after the others, whose bins are found during the fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from sklearn_rank._bins.binned_features import BinnedFeatures, BinSizes, FeatureBins
from sklearn_rank._bins.pair_bins import PairBins
from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.rows import FitRows
from sklearn_rank.models.pair_search import MOST_GROUPS, PairSearch, Slopes


class PairColumns:
    """The pairs of a fit: at most so many, each with a number after those of the features.

    Parameters
    ----------
    binned : BinnedFeatures
        Bins of the training rows, without pairs.
    rows : FitRows
        The training rows.
    sizes : BinSizes
        The least that a bin must weigh.
    most : int
        Largest number of pairs.
    monotonic : dict of int to int
        The constraints of features: 1 where the score must not fall with it, -1 where it must not
        rise.

    Attributes
    ----------
    n_features : int
        Number of features without pairs, and the number of the first pair.
    n_left : int
        How many pairs may still be found.
    """

    n_left: int

    def __init__(
        self,
        binned: BinnedFeatures,
        rows: FitRows,
        sizes: BinSizes,
        most: int,
        monotonic: Mapping[int, int],
    ) -> None:
        self.n_features, self._most, self._rows = len(binned.bins), most, rows
        self._search = PairSearch(binned.bins, binned.codes, sizes, rows, monotonic)
        earlier = {} if rows.earlier is None else rows.earlier.pairs
        self._known = [earlier[number] for number in sorted(earlier)]
        self.n_left = max(0, most - len(self._known))

    def padded(self, binned: BinnedFeatures) -> BinnedFeatures:
        """Return the bins with room for those of pairs; those of an earlier fit are known."""
        widths = sorted(
            min(one.n_values, MOST_GROUPS) + one.n_bins - one.n_values for one in binned.bins
        )
        depth = max(binned.is_usable.shape[1], int(np.prod(widths[-2:])) + 1)
        usable = np.zeros((self.n_features + self._most, depth), dtype=bool)
        usable[: self.n_features, : binned.is_usable.shape[1]] = binned.is_usable
        type_ = np.promote_types(binned.codes.dtype, np.min_scalar_type(depth))
        codes = np.zeros((len(usable), binned.codes.shape[1]), dtype=type_)
        codes[: self.n_features] = binned.codes
        empty = [FeatureBins(categories=np.zeros(0, dtype=np.intp)) for _ in range(self._most)]
        return BinnedFeatures([*binned.bins, *empty], codes, usable)

    @property
    def known(self) -> dict[int, PairBins]:
        """The bins of the pairs found so far, by number."""
        return {self.n_features + number: bins for number, bins in enumerate(self._known)}

    def codes_of(self, bins: PairBins) -> Indices:
        """Return the bins of the training rows of a pair."""
        return bins.of_rows(self._rows.X[self._rows.order], 0)

    def find(
        self,
        slopes: Slopes,
        is_allowed: Callable[[tuple[int, int]], bool],
        levels: Floats | None = None,
    ) -> tuple[int, PairBins, Indices] | None:
        """Return the number, the bins and the bins of the rows of the pair with the largest gain.

        Without one, none may be found any more.
        """
        known = [one.features for one in self._known]
        found = self._search.find(slopes, lambda p: p not in known and is_allowed(p), levels)
        if found is None:
            self.n_left = 0
            return None
        self.n_left -= 1
        self._known.append(found[0])
        return self.n_features + len(self._known) - 1, *found
