"""What stumps may be: signs, sizes of bins and of models, categories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sklearn_rank._bins.binned_features import Binning, BinSizes, FeatureBins
from sklearn_rank._core.distinct import number_of_rows
from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.rows import FitRows

ROWS_BY_LEVEL = 3.0
"""Rows that a category needs for each category of its feature, where bins have a smallest size."""

ROWS_OF_LEVEL, SHARE_OF_LEVEL = 10.0, 0.02
"""Rows that a category needs where bins have none, or that share of all rows if it is less."""

SIZE_ROUNDING = 1e-9
"""How much less, relatively, sums of weights and shares of a size may be than they should."""


@dataclass(frozen=True, eq=False)
class StumpConstraints:
    """What stumps may be; features are column numbers.

    Attributes
    ----------
    monotonic : dict of int to int
        1 where the score must not fall with a feature, -1 where it must not rise.
    max_features, max_thresholds : int or None
        Largest number of features, and of weak rankers with a net coefficient other than zero.
    thresholds : dict of int to ndarray
        The only thresholds of some features, increasing.
    min_bin_size : float
        Share of the weight of the training rows that every bin must have.
    min_bin_events : float
        Weight of the rows of the upper class that every bin must have.
    n_categories : dict of int to int
        Number of codes 0, 1, ... of each categorical feature.
    special : dict of int to ndarray
        Special codes of some features, increasing.
    category_bins : dict of int to FeatureBins
        First bins of categorical features whose levels have an order, or are in groups.
    """

    monotonic: Mapping[int, int] = field(default_factory=dict)
    max_features: int | None = None
    max_thresholds: int | None = None
    thresholds: Mapping[int, Floats] = field(default_factory=dict)
    min_bin_size: float = 0.0
    min_bin_events: float = 0.0
    n_categories: Mapping[int, int] = field(default_factory=dict)
    special: Mapping[int, Floats] = field(default_factory=dict)
    category_bins: Mapping[int, FeatureBins] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Any]:
        """The constraints by parameter of `Stumps`, as plain values that can be compared."""

        def plain(given: Mapping[int, Floats]) -> dict[int, list[float]]:
            return {j: values.tolist() for j, values in sorted(given.items())}

        return {
            "monotonic_cst": dict(self.monotonic),
            "max_features_used": self.max_features,
            "max_thresholds": self.max_thresholds,
            "thresholds": plain(self.thresholds),
            "min_bin_size": self.min_bin_size,
            "min_bin_events": self.min_bin_events,
            "categorical_features": sorted(self.n_categories),
            "special_values": plain(self.special),
            **{
                name: {
                    j: bins.categories.tolist()
                    for j, bins in sorted(self.category_bins.items())
                    if bins.ordered == is_ordered and bins.categories is not None
                }
                for name, is_ordered in (("category_order", True), ("category_groups", False))
            },
        }

    def binning(self, max_bins: int) -> Binning:
        """Return how values become bins, before small ones are merged."""
        return Binning(
            max_bins, self.thresholds, self.special, self.n_categories, self.category_bins
        )

    def bin_sizes(self, rows: FitRows) -> BinSizes:
        """Return the least that a bin must weigh, of these training rows."""
        weight = rows.weight
        events = weight * rows.rows.y[rows.order]
        least, of_level = self.min_bin_size, 0.0
        if least > 0 or self.n_categories:
            total = float(rows.total(float(weight.sum()))) * (1 - SIZE_ROUNDING)
            one_row = total / number_of_rows(weight, rows)
            of_level = ROWS_BY_LEVEL * one_row
            if least == 0:
                of_level = min(ROWS_OF_LEVEL * one_row, SHARE_OF_LEVEL * total)
            least *= total
        least_events = self.min_bin_events * (1 - SIZE_ROUNDING)
        return BinSizes(weight, events, least, least_events, rows, of_level)
