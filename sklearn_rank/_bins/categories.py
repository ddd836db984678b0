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
    """Return X with columns: a data frame, or an array of two dimensions, of objects for lists."""
    if issparse(X):
        raise ValueError("Categorical features need dense X. Got a sparse matrix.")
    if is_data_frame(X):
        return X
    X = np.asarray(X, dtype=None if hasattr(X, "dtype") else object)
    return check_array(X, dtype=None, ensure_all_finite=False)


class CategoryCodes:
    """Codes of the categories of some features.

    A category that was not among the training rows has no code: it is missing.

    Parameters
    ----------
    X : {array, data frame} of shape (n_samples, n_features)
        Rows with all categories that codes are wanted for.
    positions : tuple of int
        The categorical features.

    Attributes
    ----------
    orders : dict of int to list
        The levels from low to high of columns whose type is one of ordered categories of pandas.
    """

    def __init__(self, X: Any, positions: tuple[int, ...]) -> None:
        self.positions = positions
        self.encoders = [_encoder_of(column_of(X, number), number) for number in positions]
        self.known = [np.ones(len(one.categories_[0]), dtype=np.bool_) for one in self.encoders]
        self.orders = {
            number: order for number in positions if (order := _order_of(X, number)) is not None
        }

    @classmethod
    def merged(cls, parts: Sequence[CategoryCodes]) -> CategoryCodes:
        """Return the codes of the categories of several tables of the same columns."""
        both = copy(parts[0])
        both.encoders = [
            _encoder_of(_joined([part.encoders[place].categories_[0] for part in parts]), number)
            for place, number in enumerate(both.positions)
        ]
        both.known = [np.ones(len(one.categories_[0]), dtype=np.bool_) for one in both.encoders]
        return both

    @property
    def categories(self) -> dict[int, Values]:
        """The categories of each feature by their codes."""
        encoders = zip(self.positions, self.encoders, strict=True)
        return {number: encoder.categories_[0] for number, encoder in encoders}

    def encode(self, X: Any) -> Any:
        """Return the rows with codes in place of categories, NaN where there is none."""
        codes: dict[int, Floats] = {}
        for number, encoder, known in zip(self.positions, self.encoders, self.known, strict=True):
            with _named(number):
                column = _of_one_kind(column_of(X, number), encoder.categories_[0])
                codes[number] = encoder.transform(column).ravel()
            _forget(codes[number], known)
        return with_columns(X, codes)

    def decode(self, X: Floats) -> Values:
        """Return encoded rows, none with a code that is unknown, with their categories."""
        rows = X.astype(object)
        for number, categories in self.categories.items():
            there = ~np.isnan(X[:, number])
            rows[there, number] = categories[X[there, number].astype(np.intp)]
        return rows

    def learn(self, X: Floats) -> None:
        """Keep the codes that occur in encoded training rows."""
        for place, number in enumerate(self.positions):
            self.known[place] = np.isin(np.arange(len(self.known[place])), X[:, number])

    def keep_used(self, X: Floats) -> Floats:
        """Give codes to the categories of encoded rows alone; return the rows with these."""
        X = X.copy()
        for place, number in enumerate(self.positions):
            there = np.flatnonzero(~np.isnan(X[:, number]))
            used, code = np.unique(X[there, number], return_inverse=True)
            if not len(used):
                self.known[place][:] = False
                continue
            X[there, number] = code.ravel()
            kept = self.encoders[place].categories_[0][used.astype(np.intp)]
            self.encoders[place] = _encoder().fit(kept[:, np.newaxis])
            self.known[place] = np.ones(len(kept), dtype=np.bool_)
        return X

    def forget_unknown(self, X: Floats) -> Floats:
        """Return encoded rows with NaN for codes that training has not kept."""
        X = X.copy()
        for number, known in zip(self.positions, self.known, strict=True):
            _forget(X[:, number], known)
        return X


def _encoder() -> OrdinalEncoder:
    return OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        dtype=np.float64,
    )


def _joined(columns: Sequence[Values]) -> Values:
    """Return several columns as one, of objects where some are no numbers."""
    is_text = any(column.dtype.kind in "OSU" for column in columns)
    return np.concatenate(columns, dtype=object if is_text else None)[:, np.newaxis]


def _encoder_of(column: Values, number: int) -> OrdinalEncoder:
    """Return the encoder of the categories of a column."""
    with _named(number):
        return _encoder().fit(column)


@contextmanager
def _named(number: int) -> Iterator[None]:
    """Name the feature where its categories can't be compared."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Categorical feature {number} must have categories of one kind. {error}"
        ) from error


def _of_one_kind(column: Values, categories: Values) -> Values:
    """Return a column as what can be looked up among categories: objects, numbers or dates."""
    if categories.dtype.kind in "OSU":
        return column.astype(object)
    if column.dtype.kind not in "OSU":
        return column
    if categories.dtype.kind in "mM":  # dates and durations, of which None is missing
        return np.where(np.not_equal(column, column), np.array(None), column).astype(
            categories.dtype
        )
    return column.astype(np.float64)


def _forget(code: Floats, known: Mask) -> None:
    """Set codes that are not known to NaN, in place."""
    rows = np.flatnonzero(~np.isnan(code))
    code[rows[~known[code[rows].astype(np.intp)]]] = np.nan


def _order_of(X: Any, number: int) -> list[Any] | None:
    """Return the levels of an ordered categorical column of pandas; None for other columns."""
    dtype: Any = X.iloc[:, number].dtype if hasattr(X, "iloc") else None
    return dtype.categories.tolist() if getattr(dtype, "ordered", None) else None


def column_of(X: Any, number: int) -> Values:
    """Return a column as an array of shape (n_samples, 1)."""
    if hasattr(X, "iloc"):  # pandas
        series = X.iloc[:, number]
        column = series.to_numpy()
        if column.dtype.kind == "O":  # pandas' NA is missing too
            column = np.where(series.isna().to_numpy(), np.nan, column)
    elif hasattr(X, "to_series"):  # polars
        column = X.to_series(number).to_numpy()
    else:
        column = X[:, number]
    column = np.asarray(column)
    if column.dtype.kind == "O":  # None is missing, as NaN is
        column = np.where(column == np.array(None), np.nan, column)
    return column[:, np.newaxis]


def with_columns(X: Any, columns: dict[int, Floats]) -> Any:
    """Return X, of its own kind, with other columns."""
    if hasattr(X, "iloc"):
        X = X.copy(deep=False)
        for number, values in columns.items():
            X.isetitem(number, values)
        return X
    if hasattr(X, "to_series"):
        series = type(X.to_series(0))
        return X.with_columns([series(X.columns[k], values) for k, values in columns.items()])
    X = X.astype(object if X.dtype.kind in "OSU" else np.float64)
    for number, values in columns.items():
        X[:, number] = values
    return X
