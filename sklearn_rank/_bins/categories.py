"""Categorical features as codes that trees can split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils import check_array

from sklearn_rank._core.protocols import Floats, Mask, Values
from sklearn_rank._core.validation import is_data_frame


def as_table(X: Any) -> Any:
    """Return X as a data frame or a two-dimensional array; lists become arrays of objects."""
    if issparse(X):
        raise ValueError("Categorical features need dense X. Got a sparse matrix.")
    if is_data_frame(X):
        return X
    X = np.asarray(X, dtype=None if hasattr(X, "dtype") else object)
    return check_array(X, dtype=None, ensure_all_finite=False)


class CategoryCodes:
    """Codes of the categories of some features.

    A category that no training row has is missing: it has no code.

    Parameters
    ----------
    X : {array, data frame} of shape (n_samples, n_features)
        Rows with all categories that codes are wanted for.
    positions : tuple of int
        The categorical features.

    Attributes
    ----------
    orders : dict of int to list
        The levels from low to high of columns of ordered categories of pandas.
    is_learned : list of ndarray of bool
        Which codes of each categorical feature occur in training; others are missing.
    """

    def __init__(self, X: Any, positions: tuple[int, ...]) -> None:
        self.positions = positions
        self._set_encoders([_encoder_of(column_of(X, j), j) for j in positions])
        self.orders = {j: order for j in positions if (order := _order_of(X, j)) is not None}

    def _set_encoders(self, encoders: list[OrdinalEncoder]) -> None:
        self.encoders = encoders
        self.is_learned = [np.ones(len(e.categories_[0]), dtype=np.bool_) for e in encoders]

    @classmethod
    def merged(cls, tables: Sequence[CategoryCodes]) -> CategoryCodes:
        """Merge the category codes of several tables with the same columns."""
        merged = copy(tables[0])
        categories = zip(*(codes.categories.values() for codes in tables), strict=True)
        columns = zip(merged.positions, categories, strict=True)
        merged._set_encoders([_encoder_of(_joined(levels), j) for j, levels in columns])
        return merged

    @property
    def categories(self) -> dict[int, Values]:
        """The categories of each feature, in the order of their codes."""
        encoders = zip(self.positions, self.encoders, strict=True)
        return {j: encoder.categories_[0] for j, encoder in encoders}

    def encode(self, X: Any) -> Any:
        """Return the rows with codes instead of categories, NaN for missing and unknown ones."""
        codes: dict[int, Floats] = {}
        for j, encoder, is_learned in zip(
            self.positions, self.encoders, self.is_learned, strict=True
        ):
            with _named(j):
                column = _of_one_kind(column_of(X, j), encoder.categories_[0])
                codes[j] = encoder.transform(column).ravel()
            _forget(codes[j], is_learned)
        return with_columns(X, codes)

    def decode(self, X: Floats) -> Values:
        """Return encoded rows with categories instead of codes; all codes must be known."""
        rows = X.astype(object)
        for j, categories in self.categories.items():
            has_code = ~np.isnan(X[:, j])
            rows[has_code, j] = categories[X[has_code, j].astype(np.intp)]
        return rows

    def learn(self, X: Floats) -> None:
        """Keep the codes that occur in encoded training rows."""
        for index, j in enumerate(self.positions):
            self.is_learned[index] = np.isin(np.arange(len(self.is_learned[index])), X[:, j])

    def keep_used(self, X: Floats) -> Floats:
        """Give codes to the categories of encoded rows alone; return the rows with these codes."""
        X = X.copy()
        for index, j in enumerate(self.positions):
            rows = np.flatnonzero(~np.isnan(X[:, j]))
            used_codes, code = np.unique(X[rows, j], return_inverse=True)
            if not len(used_codes):  # an encoder has one category at least
                self.is_learned[index][:] = False
                continue
            X[rows, j] = code.ravel()
            categories = self.encoders[index].categories_[0][used_codes.astype(np.intp)]
            self.encoders[index] = _encoder_of(categories[:, np.newaxis], j)
            self.is_learned[index] = np.ones(len(categories), dtype=np.bool_)
        return X

    def forget_unknown(self, X: Floats) -> Floats:
        """Return encoded rows with NaN for codes that did not occur in training."""
        X = X.copy()
        for j, is_learned in zip(self.positions, self.is_learned, strict=True):
            _forget(X[:, j], is_learned)
        return X


def _joined(columns: Sequence[Values]) -> Values:
    """Concatenate several columns; as objects if some contain text."""
    is_text = any(column.dtype.kind in "OSU" for column in columns)
    return np.concatenate(columns, dtype=object if is_text else None)[:, np.newaxis]


def _encoder_of(column: Values, j: int) -> OrdinalEncoder:
    """Return the encoder of the categories of column j."""
    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        dtype=np.float64,
    )
    with _named(j):
        return encoder.fit(column)


@contextmanager
def _named(j: int) -> Iterator[None]:
    """Name feature j in the error if its categories cannot be compared."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Categorical feature {j} must have categories of one kind. {error}"
        ) from error


def _of_one_kind(column: Values, categories: Values) -> Values:
    """Return a column converted to the type of the categories, to look it up among them."""
    if categories.dtype.kind in "OSU":
        return column.astype(object)
    if column.dtype.kind not in "OSU":
        return column
    if categories.dtype.kind in "mM":  # dates and durations, of which None is missing
        return np.where(np.not_equal(column, column), np.array(None), column).astype(
            categories.dtype
        )
    return column.astype(np.float64)


def _forget(code: Floats, is_learned: Mask) -> None:
    """Set codes that did not occur in training to NaN, in place."""
    rows = np.flatnonzero(~np.isnan(code))
    code[rows[~is_learned[code[rows].astype(np.intp)]]] = np.nan


def _order_of(X: Any, j: int) -> list[Any] | None:
    """Return the levels of an ordered categorical column of pandas; None for other columns."""
    dtype: Any = X.iloc[:, j].dtype if hasattr(X, "iloc") else None
    return dtype.categories.tolist() if getattr(dtype, "ordered", None) else None


def column_of(X: Any, j: int) -> Values:
    """Return column j as an array of shape (n_samples, 1)."""
    if hasattr(X, "iloc"):  # pandas
        series = X.iloc[:, j]
        column = series.to_numpy()
        if column.dtype.kind == "O":  # pandas' NA is missing too
            column = np.where(series.isna().to_numpy(), np.nan, column)
    elif hasattr(X, "to_series"):  # polars
        column = X.to_series(j).to_numpy()
    else:
        column = X[:, j]
    column = np.asarray(column)
    if column.dtype.kind == "O":  # None is missing, as NaN is
        column = np.where(column == np.array(None), np.nan, column)
    return column[:, np.newaxis]


def with_columns(X: Any, columns: dict[int, Floats]) -> Any:
    """Return X with other columns, as the same kind of object."""
    if hasattr(X, "iloc"):
        X = X.copy(deep=False)
        for j, values in columns.items():
            X.isetitem(j, values)
        return X
    if hasattr(X, "to_series"):
        series = type(X.to_series(0))
        return X.with_columns([series(X.columns[j], values) for j, values in columns.items()])
    X = X.astype(object if X.dtype.kind in "OSU" else np.float64)
    for j, values in columns.items():
        X[:, j] = values
    return X
