"""Parameters that speak of single features, by name or number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sklearn_rank._protocols import Values

Positions = tuple[int, ...]


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
