"""Features of categories, and the parameters of stumps, before `BaseRanker` among the bases."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from inspect import signature
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_array, check_X_y
from sklearn.utils.validation import validate_data

from sklearn_rank._protocols import Floats
from sklearn_rank._validation import Constraint, Number, refuse_dates
from sklearn_rank.bins.binned_features import Binning
from sklearn_rank.bins.categories import CategoryCodes, as_table
from sklearn_rank.models import StumpConstraints, Stumps, as_model
from sklearn_rank.models.feature_parameters import (
    CategoricalFeatures,
    Positions,
    find_categorical,
)

_SHARED = ("max_bins", "monotonic_cst", "categorical_features")
"""Parameters that boosters and `Stumps` have."""


class CategoricalMixin:
    """Categories of X as codes, before `BaseRanker` among the bases.

    `_category_codes_` is a `CategoryCodes`, or None where no feature is categorical.
    """

    @property
    def _wanted_categories(self: Any) -> Any:
        """`categorical_features`, or None where the ranker can't use them."""
        return self.categorical_features

    @property
    def category_codes(self) -> CategoryCodes | None:
        """The codes; None for models of versions that had none."""
        return getattr(self, "_category_codes_", None)

    @category_codes.setter
    def category_codes(self, codes: CategoryCodes | None) -> None:
        self._category_codes_ = codes

    def categorical_columns(self, X: Any) -> Positions:
        """Return the columns that hold categories.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_samples, n_features)
            Rows to learn from.

        Returns
        -------
        tuple of int
            Their positions.
        """
        return find_categorical(X, self._wanted_categories, type(self).__name__)

    @property
    def _categorical_positions(self) -> Positions:
        """The categorical features."""
        codes = self.category_codes
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
            found = self.categorical_columns(X)
            self._category_codes_ = CategoryCodes(as_table(X), found) if found else None
        codes = self.category_codes
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
            self.check_columns(X, reset=reset)
            raise

    def _validate_training(self: Any, X: Any, y: Any, qid: Any, sample_weight: Any) -> Any:
        """Return the rows; a category of rows of weight zero alone is unseen."""
        data, classes = super()._validate_training(X, y, qid, sample_weight)  # type: ignore[misc]
        codes = self.category_codes
        if codes is not None and sample_weight is not None:
            data = replace(data, X=codes.keep_used(data.X))
        return data, classes

    def set_fitted(self: Any, fitted: dict[str, Any]) -> None:
        super().set_fitted({**fitted, "_category_codes_": self.category_codes})  # type: ignore[misc]

    def _rows_as_given(self, X: Floats) -> Any:
        codes = self.category_codes
        return X if codes is None else codes.decode(X)


class ConstrainedMixin(CategoricalMixin):
    """Stumps and their parameters, before `BaseRanker` among the bases."""

    _constraints_allowed: ClassVar[dict[str, Constraint]] = {
        "max_bins": Number(2, 65_535, integer=True),
        "categorical_features": CategoricalFeatures(),
    }

    def _refused_by(self: Any) -> str:
        """Return the parameter with which stumps can't be constrained; empty when they can."""
        has_stumps = hasattr(as_model(self.weak_ranker), "constraints")
        return "" if has_stumps else f"weak_ranker={self.weak_ranker!r}"

    @property
    def _stumps(self: Any) -> Stumps | None:
        """The stumps, with the ranker's parameters where theirs are None; None without stumps."""
        model: Any = as_model(self.weak_ranker)
        if not hasattr(model, "constraints"):
            return None
        stumps: Stumps = copy(model)
        for name in _SHARED:
            if getattr(stumps, name) is None:
                setattr(stumps, name, getattr(self, name))
        return stumps

    @property
    def _most_bins(self: Any) -> int:
        """Maximum number of bins of a feature."""
        return self.max_bins if self._stumps is None else self._stumps.max_bins

    @property
    def _wanted_categories(self) -> Any:
        stumps = None if self._refused_by() else self._stumps
        return None if stumps is None else stumps.categorical_features

    def _check_combination(self: Any) -> None:
        super()._check_combination()  # type: ignore[misc]
        model: Any = as_model(self.weak_ranker)
        if self._stumps is not None:
            model.check()
            self._check_shared(model)
        refused, used = self._refused_by(), self.used_constraints()
        if refused and used:
            raise ValueError(
                f"{used[0]} is for stumps that are chosen one by one: it can't be used with "
                f"{refused}."
            )
        if getattr(model, "min_bin_events", 0) > 0 and self.relevance == "graded":
            raise ValueError(
                f"min_bin_events of {type(model).__name__} counts rows of the upper class: it "
                "needs relevance='binary'. Got relevance='graded'."
            )

    def _check_shared(self: Any, stumps: Stumps) -> None:
        """Raise ValueError for a parameter that the ranker and the stumps set differently."""
        defaults = signature(type(self)).parameters
        for name in _SHARED:
            own, given = getattr(self, name), getattr(stumps, name)
            is_set = given is not None and not _is_same(own, defaults[name].default)
            if is_set and not _is_same(own, given):
                owner = type(self).__name__
                raise ValueError(
                    f"{name} of {owner} and of its {type(stumps).__name__} must be the same, or "
                    f"only one of them set. Got {owner}({name}={own!r}) and "
                    f"{type(stumps).__name__}({name}={given!r})."
                )

    def used_constraints(self: Any) -> list[str]:
        """Return the parameters that constrain stumps, of the ranker or its `Stumps`.

        Returns
        -------
        list of str
            Such as "thresholds of Stumps".
        """
        model: Any = as_model(self.weak_ranker)
        return [
            f"{name} of {type(owner).__name__}"
            for owner in ((self, model) if hasattr(model, "constraints") else (self,))
            for name, unused in Stumps().get_params().items()
            if name != "max_bins" and _is_used(getattr(owner, name, unused), unused)
        ]

    def _constraints(self: Any) -> StumpConstraints | None:
        """Return the constraints on stumps of checked features; None without stumps."""
        stumps = None if self._refused_by() else self._stumps
        if stumps is None:
            return None
        codes = self.category_codes
        n_categories = () if codes is None else [len(one) for one in codes.known]
        has_signs = as_model(self.weak_ranker).monotonic_cst is not None  # type: ignore[attr-defined]
        return stumps.constraints(
            self.n_features_in_,
            getattr(self, "feature_names_in_", None),
            dict(zip(self._categorical_positions, n_categories, strict=True)),
            "" if has_signs else type(self).__name__,
        )

    def binning(self) -> Binning:
        """Return how the values of checked features become bins of stumps.

        Returns
        -------
        Binning
            With features by their positions.
        """
        return (self._constraints() or StumpConstraints()).binning(self._most_bins)

    def stump_settings(self) -> dict[str, Any]:
        """Return the most bins and the constraints of the stumps by parameter, as plain values.

        Returns
        -------
        dict of str to object
            Features by their positions.
        """
        constraints = self._constraints() or StumpConstraints()
        return {"max_bins": self._most_bins, **constraints.settings}


def _is_used(value: Any, unused: Any) -> bool:
    """Whether a value of a parameter constrains stumps; "from_dtype" waits for the features."""
    is_open = isinstance(value, str) and value == "from_dtype"
    return not is_open and np.size(value) > 0 and not _is_same(value, unused)


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values of a parameter are equal: numbers, names, dicts or lists."""
    return np.array_equal(np.array(one, dtype=object), np.array(other, dtype=object))
