"""Features of categories, before `BaseRanker` among the bases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_X_y
from sklearn.utils.validation import validate_data

from sklearn_rank._protocols import Floats
from sklearn_rank._validation import refuse_dates
from sklearn_rank.bins.categories import CategoryCodes, as_table
from sklearn_rank.models.feature_parameters import (
    Positions,
    find_categorical,
)


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
