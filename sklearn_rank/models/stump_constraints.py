"""What stumps may be: thresholds, codes, signs and numbers, by column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

import numpy as np

from sklearn_rank._protocols import FitRows, Floats
from sklearn_rank.bins.binned_features import Binning, BinSizes
from sklearn_rank.rows.processes import ONE_PROCESS

ROUNDING = 1e-9
"""How much less than the smallest size of a bin, relatively, sums of weights may be."""


@dataclass(frozen=True)
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
    """

    monotonic: Mapping[int, int] = field(default_factory=dict)
    max_features: int | None = None
    max_thresholds: int | None = None
    thresholds: Mapping[int, Floats] = field(default_factory=dict)
    min_bin_size: float = 0.0
    min_bin_events: float = 0.0
    n_categories: Mapping[int, int] = field(default_factory=dict)
    special: Mapping[int, Floats] = field(default_factory=dict)

    def shared(self, share: float) -> StumpConstraints:
        """Return the constraints of a model of a share of the largest size, rounded up."""

        def part(most: int | None) -> int | None:
            return None if most is None else ceil(most * share * (1 - ROUNDING))

        most = part(self.max_features), part(self.max_thresholds)
        return replace(self, max_features=most[0], max_thresholds=most[1])

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
        }

    @property
    def is_bounded(self) -> bool:
        """Whether the coefficients or the size of a model have bounds."""
        sizes = self.max_features, self.max_thresholds
        return bool(self.monotonic) or sizes != (None, None)

    def binning(self, max_bins: int) -> Binning:
        """Return how values become bins, before small ones are merged."""
        return Binning(max_bins, self.thresholds, self.special, self.n_categories)

    def bin_sizes(self, rows: FitRows) -> BinSizes:
        """Return the least that a bin must weigh, of these training rows."""
        collective, weight = rows.collective or ONE_PROCESS, rows.weight
        events = weight if rows.upper is None else weight * rows.upper
        least = self.min_bin_size
        if least > 0:
            least *= float(collective.reduce(np.add, float(weight.sum()))) * (1 - ROUNDING)
        return BinSizes(weight, events, least, self.min_bin_events * (1 - ROUNDING), collective)

    @property
    def is_free(self) -> bool:
        """Whether nothing is constrained."""
        return self.settings == StumpConstraints().settings
