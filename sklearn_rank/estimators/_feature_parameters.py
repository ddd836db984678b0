"""Parameters that speak of single features, by name or number, and features of categories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_X_y
from sklearn.utils.validation import validate_data

from sklearn_rank._protocols import Floats, Values
from sklearn_rank._validation import refuse_dates
from sklearn_rank.estimators.categories import CategoryCodes, as_table, find_categorical

Positions = tuple[int, ...]


class FeatureDict:
    """Describes a dict of features, by name or number, or None."""

    def __init__(self, values: str) -> None:
        self.values = values

    def allows(self, value: object) -> bool:
        """Whether `value` is allowed."""
        return value is None or hasattr(value, "items")

    def __str__(self) -> str:
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


class CategoricalMixin:
    """Categories of X as codes, before `BaseRanker` among the bases.

    `_category_codes_` is a `CategoryCodes`, or None where no feature is categorical.
    """

    @property
    def _wanted_categories(self: Any) -> Any:
        """`categorical_features`, or None where the ranker can't use them."""
        return self.categorical_features

    @property
    def _known_codes(self) -> CategoryCodes | None:
        """The codes; None for models of versions that had none."""
        return getattr(self, "_category_codes_", None)

    @property
    def _categorical_positions(self) -> Positions:
        """The categorical features."""
        codes = self._known_codes
        return () if codes is None else codes.positions

    @property
    def _other_columns(self: Any) -> str:
        if self._wanted_categories is None:
            advice: str = super()._other_columns  # type: ignore[misc]
            return advice
        return (
            ", or be one of categories, of dtype 'category' with categorical_features='from_dtype' "
            "or named in categorical_features"
        )

    @property
    def _other_arrays(self: Any) -> str:
        if self._wanted_categories is None:
            advice: str = super()._other_arrays  # type: ignore[misc]
            return advice
        return (
            f"X must hold numbers for {type(self).__name__}, or categories: name these columns in "
            "categorical_features, or pass a data frame with dtype 'category', in a pipeline by "
            "set_output(transform='pandas')."
        )

    def _validate_features(self: Any, X: Any, *, reset: bool = True, **options: Any) -> Any:
        if reset:
            found = find_categorical(X, self._wanted_categories, type(self).__name__)
            self._category_codes_ = CategoryCodes(as_table(X), found) if found else None
        codes = self._known_codes
        if codes is None:
            return super()._validate_features(X, reset=reset, **options)  # type: ignore[misc]
        X = as_table(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        refuse_dates(type(self).__name__, X, codes.positions)
        coded = codes.encode(X)
        checks: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # as in `BaseRanker`
                if "y" in options:
                    return check_X_y(coded, options.pop("y"), estimator=self, **checks, **options)
                return check_array(coded, estimator=self, **checks)
        except (TypeError, ValueError):
            self._explain_columns(X, reset=reset)
            raise

    def _validate_training(self: Any, X: Any, y: Any, qid: Any, sample_weight: Any) -> Any:
        """Return the rows; a category of rows of weight zero alone is unseen."""
        data, classes = super()._validate_training(X, y, qid, sample_weight)  # type: ignore[misc]
        codes = self._known_codes
        if codes is not None and sample_weight is not None:
            data = replace(data, X=codes.keep_used(data.X))
        return data, classes

    def _set_fitted(self: Any, fitted: dict[str, Any]) -> None:
        super()._set_fitted({**fitted, "_category_codes_": self._known_codes})  # type: ignore[misc]

    def _rows_as_given(self, X: Floats) -> Any:
        codes = self._known_codes
        return X if codes is None else codes.decode(X)
