"""The parameters of the boosting rankers that constrain stumps: checked, and with positions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from sklearn_rank._protocols import Floats
from sklearn_rank._validation import Constraint, Number
from sklearn_rank.estimators._feature_parameters import (
    CategoricalMixin,
    FeatureDict,
    Positions,
    by_position,
    check_monotonic,
)
from sklearn_rank.estimators.categories import CategoricalFeatures
from sklearn_rank.models import StumpConstraints, as_model

_UNUSED: dict[str, Any] = {
    "monotonic_cst": None,
    "max_features_used": None,
    "max_thresholds": None,
    "thresholds": None,
    "min_bin_size": 0,
    "min_bin_events": 0,
    "special_values": None,
}


class ConstrainedMixin(CategoricalMixin):
    """Constraints on stumps, before `BaseRanker` among the bases."""

    _constraints_allowed: ClassVar[dict[str, Constraint]] = {
        "max_features_used": Number(1, integer=True, other=(None,)),
        "max_thresholds": Number(1, integer=True, other=(None,)),
        "thresholds": FeatureDict("increasing values"),
        "min_bin_size": Number(0, 0.5),
        "min_bin_events": Number(0, closed="left"),
        "categorical_features": CategoricalFeatures(),
        "special_values": FeatureDict("lists of codes"),
    }

    def _refused_by(self: Any) -> str:
        """Return the parameter with which stumps can't be constrained; empty when they can."""
        has_stumps = hasattr(as_model(self.weak_ranker), "constrained")
        return "" if has_stumps else f"weak_ranker={self.weak_ranker!r}"

    @property
    def _wanted_categories(self) -> Any:
        return None if self._refused_by() else super()._wanted_categories

    def _check_combination(self: Any) -> None:
        super()._check_combination()  # type: ignore[misc]
        name, refused = type(self).__name__, self._refused_by()
        used = [one for one, unused in _UNUSED.items() if _differs(getattr(self, one), unused)]
        if refused and used + self._names_categories():
            raise ValueError(
                f"{(used + self._names_categories())[0]} of {name} is for stumps that are chosen "
                f"one by one: it can't be used with {refused}."
            )
        if self.min_bin_events > 0 and self.relevance == "graded":
            raise ValueError(
                f"min_bin_events of {name} counts rows of the upper class: it needs "
                "relevance='binary'. Got relevance='graded'."
            )

    def _names_categories(self: Any) -> list[str]:
        """Return the name of `categorical_features` where it names features."""
        given = self.categorical_features
        is_open = given is None or isinstance(given, str) or not len(given)
        return [] if is_open else ["categorical_features"]

    def _constraints(self: Any) -> StumpConstraints | None:
        """Return what constrains the stumps of checked features; None without constraints."""
        if self._refused_by():
            return None
        name, n_features = type(self).__name__, self.n_features_in_
        names, codes = getattr(self, "feature_names_in_", None), self._known_codes
        categorical: Positions = self._categorical_positions
        signs = check_monotonic(name, self.monotonic_cst, names, n_features, categorical)

        def called(number: int) -> str:
            return str(number) if names is None else repr(str(names[number]))

        n_categories = {} if codes is None else [len(one) for one in codes.known]
        found = StumpConstraints(
            {j: sign for j, sign in enumerate(signs or ()) if sign},
            self.max_features_used,
            self.max_thresholds,
            {
                j: _check_thresholds(name, called(j), values, j in categorical)
                for j, values in by_position(
                    name, "thresholds", self.thresholds or {}, names, n_features
                ).items()
            },
            float(self.min_bin_size),
            float(self.min_bin_events),
            dict(zip(categorical, n_categories, strict=True)),
            {
                j: _check_special(name, called(j), values, j in categorical)
                for j, values in by_position(
                    name, "special_values", self.special_values or {}, names, n_features
                ).items()
            },
        )
        return None if _settings_of(found) == UNCONSTRAINED else found

    def _constraint_settings(self) -> dict[str, Any]:
        """Return the constraints by parameter, as plain values that can be compared."""
        found = self._constraints()
        return UNCONSTRAINED if found is None else _settings_of(found)


def _settings_of(constraints: StumpConstraints) -> dict[str, Any]:
    """Return constraints by parameter, as plain values that can be compared."""

    def plain(given: Mapping[int, Floats]) -> dict[int, list[float]]:
        return {j: values.tolist() for j, values in sorted(given.items())}

    return {
        "monotonic_cst": dict(constraints.monotonic),
        "max_features_used": constraints.max_features,
        "max_thresholds": constraints.max_thresholds,
        "thresholds": plain(constraints.thresholds),
        "min_bin_size": constraints.min_bin_size,
        "min_bin_events": constraints.min_bin_events,
        "categorical_features": sorted(constraints.n_categories),
        "special_values": plain(constraints.special),
    }


UNCONSTRAINED = _settings_of(StumpConstraints())
"""The settings of stumps without constraints."""


def _differs(value: Any, unused: Any) -> bool:
    """Whether a parameter is used."""
    return value is not None if unused is None else bool(value != unused)


def _check_thresholds(owner: str, feature: str, given: Any, is_categorical: bool) -> Floats:
    """Return the thresholds of a feature."""
    values = _check_numbers(owner, "thresholds", feature, given, is_categorical)
    if not (np.diff(values) > 0).all():
        raise ValueError(
            f"thresholds of {owner} must increase. Those of feature {feature} are "
            f"{values.tolist()}."
        )
    return values


def _check_special(owner: str, feature: str, given: Any, is_categorical: bool) -> Floats:
    """Return the special codes of a feature, sorted."""
    values = _check_numbers(owner, "special_values", feature, given, is_categorical)
    if len(np.unique(values)) < len(values):
        raise ValueError(
            f"special_values of {owner} must have each code once. Those of feature {feature} "
            f"are {values.tolist()}."
        )
    return np.sort(values)


def _check_numbers(
    owner: str, parameter: str, feature: str, given: Any, is_categorical: bool
) -> Floats:
    """Return finite numbers given for a feature that is not categorical."""
    if is_categorical:
        raise ValueError(
            f"{parameter} of {owner} are for numbers: feature {feature} is one of categories, "
            "whose values are no numbers."
        )
    values = np.asarray(given) if np.iterable(given) else np.array(None)
    is_empty = values.ndim == 1 and not len(values)
    if values.ndim != 1 or not (is_empty or values.dtype.kind in "iuf"):
        raise ValueError(
            f"{parameter} of {owner} must be lists of numbers. Feature {feature} has {given!r}."
        )
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError(
            f"{parameter} of {owner} must be finite: missing values (NaN) have their own bin "
            f"already. Those of feature {feature} are {values.tolist()}."
        )
    return values + 0.0  # no negative zero
