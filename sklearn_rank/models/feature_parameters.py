"""Parameters that speak of single features, by name or number, and as constraints on stumps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats, Values
from sklearn_rank._validation import is_data_frame
from sklearn_rank.bins.binned_features import Binning, BinSizes
from sklearn_rank.bins.categories import as_table
from sklearn_rank.rows import FitRows

Positions = tuple[int, ...]

ROUNDING = 1e-9
"""How much less than the smallest size of a bin, relatively, sums of weights may be."""


class FeatureDict:
    """Describes a dict of features, by name or number, or None."""

    def __init__(self, values: str) -> None:
        self.values = values

    def allows(self, value: object) -> bool:
        """Whether `value` is allowed."""
        return value is None or hasattr(value, "items")

    def __str__(self) -> str:
        """Return the text after "must be"."""
        return f"None or a dict from names or indices of features to {self.values}"


def by_position(
    owner: str, parameter: str, given: Mapping[Any, Any], names: Values | None, n_features: int
) -> dict[int, Any]:
    """Return a dict with features as keys with their positions as keys."""
    known: dict[Any, int] = {} if names is None else {one: j for j, one in enumerate(names)}
    known.update({j: j for j in range(n_features)})
    unknown = [one for one in given if _is_flag(one) or one not in known]
    if unknown:
        raise ValueError(
            f"{parameter} of {owner} has {unknown}, which are neither feature names nor indices "
            f"below {n_features}."
        )
    found = {known[one]: value for one, value in given.items()}
    if len(found) < len(given):
        raise ValueError(f"{parameter} of {owner} has a feature twice. Got {list(given)}.")
    return found


def _is_flag(value: object) -> bool:
    """Whether a value is True or False, which are equal to 1 and 0."""
    return np.asarray(value).dtype.kind == "b"


def check_monotonic(
    owner: str, given: Any, names: Values | None, n_features: int, categorical: Positions
) -> Positions | None:
    """Return the monotonic constraint of each feature, -1, 0 or 1; None for None."""
    if given is None:
        return None
    wanted = given
    if hasattr(given, "keys"):
        signs = by_position(owner, "monotonic_cst", given, names, n_features)
        wanted = [signs.get(j, 0) for j in range(n_features)]
    found = np.array(wanted, dtype=object)
    if found.shape != (n_features,) or not all(one in (-1, 0, 1) for one in found):
        raise ValueError(
            f"monotonic_cst of {owner} must be -1, 0 or 1 for each of the "
            f"{n_features} features. Got {given!r}."
        )
    if any(found[number] for number in categorical):
        raise ValueError(
            f"monotonic_cst of {owner} must be 0 for categories, which have "
            f"no order. Got {given!r}, and categorical features {list(categorical)}."
        )
    return tuple(found.astype(int).tolist())


class CategoricalFeatures:
    """Describes ``categorical_features``, as scikit-learn's HistGradientBoosting takes it."""

    def allows(self, value: object) -> bool:
        """Whether `value` is allowed."""
        if value is None or (isinstance(value, str) and value == "from_dtype"):
            return True
        given: Any = value
        if isinstance(value, str) or np.ndim(given) != 1:
            return False
        return not len(given) or np.asarray(given).dtype.kind in "biuUO"

    def __str__(self) -> str:
        """Return the text after "must be"."""
        return "'from_dtype', None, or an array of indices, names or True and False of features"


def find_categorical(X: Any, wanted: Any, owner: str) -> tuple[int, ...]:
    """Return the positions of the categorical features of X."""
    if wanted is None:
        return ()
    if isinstance(wanted, str):
        dtypes = X.dtypes if is_data_frame(X) else ()
        return tuple(number for number, dtype in enumerate(dtypes) if _is_category(dtype))
    given = np.asarray(wanted)
    if not given.size:
        return ()
    n_features = as_table(X).shape[1]
    if given.dtype.kind == "b":
        if len(given) != n_features:
            raise ValueError(
                f"categorical_features of {owner} must have one boolean for each of the "
                f"{n_features} features. Got {len(given)}."
            )
        return tuple(np.flatnonzero(given).tolist())
    names = {name: number for number, name in enumerate(getattr(X, "columns", ()))}
    positions = []
    for one in given.tolist():
        position = names.get(one, -1) if isinstance(one, str) else one
        is_index = np.asarray(position).dtype.kind in "iu"
        if not is_index or not 0 <= position < n_features:
            raise ValueError(
                f"categorical_features of {owner} must be names or indices of the {n_features} "
                f"features. Got {one!r}."
            )
        positions.append(position)
    return tuple(sorted(set(positions)))


def _is_category(dtype: Any) -> bool:
    """Whether a type of pandas or polars is one of categories."""
    return type(dtype).__name__ in ("CategoricalDtype", "Categorical", "Enum")


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
        weight = rows.weight
        events = weight * rows.rows.y[rows.order]
        least = self.min_bin_size
        if least > 0:
            least *= float(rows.total(float(weight.sum()))) * (1 - ROUNDING)
        return BinSizes(weight, events, least, self.min_bin_events * (1 - ROUNDING), rows)

    @property
    def is_free(self) -> bool:
        """Whether nothing is constrained."""
        return self.settings == StumpConstraints().settings
