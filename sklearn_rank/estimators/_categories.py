"""Categorical features as codes that trees can split."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import OrdinalEncoder

from sklearn_rank._protocols import Floats, Mask, Values


class CategoricalFeatures:
    """Describes ``categorical_features``, as scikit-learn's HistGradientBoosting takes it."""

    def allows(self, value: object) -> bool:
        """Whether `value` is allowed."""
        if value is None or (isinstance(value, str) and value == "from_dtype"):
            return True
        return not isinstance(value, str) and np.asarray(value).dtype.kind in "biuUO"

    def __str__(self) -> str:
        return "'from_dtype', None, or an array of indices, names or True and False of features"


def find_categorical(X: Any, wanted: Any, owner: str) -> tuple[int, ...]:
    """Return the positions of the categorical features of X."""
    if wanted is None:
        return ()
    if isinstance(wanted, str):
        dtypes = getattr(X, "dtypes", ())  # of data frames
        return tuple(number for number, dtype in enumerate(dtypes) if _is_category(dtype))
    given = np.asarray(wanted)
    n_features = X.shape[1]
    if given.dtype.kind == "b":
        if len(given) != n_features:
            raise ValueError(
                f"categorical_features of {owner} must have one truth value for each of the "
                f"{n_features} features. Got {len(given)}."
            )
        return tuple(np.flatnonzero(given).tolist())
    names = {name: number for number, name in enumerate(getattr(X, "columns", ()))}
    positions = []
    for one in given.tolist():
        position = names.get(one, -1) if isinstance(one, str) else one
        if not 0 <= position < n_features:
            raise ValueError(
                f"categorical_features of {owner} must be names or indices of the {n_features} "
                f"features. Got {one!r}."
            )
        positions.append(position)
    return tuple(sorted(set(positions)))


def _is_category(dtype: Any) -> bool:
    """Whether a type of pandas or polars is one of categories."""
    return type(dtype).__name__ in ("CategoricalDtype", "Categorical", "Enum")


class CategoryCodes:
    """Codes of the categories of some features.

    A category that was not among the training rows has no code: it is missing.

    Parameters
    ----------
    X : {array, data frame} of shape (n_samples, n_features)
        Rows with all categories that codes are wanted for.
    positions : tuple of int
        The categorical features.
    """

    def __init__(self, X: Any, positions: tuple[int, ...]) -> None:
        self.positions = positions
        self.encoders = [_encoder().fit(_column(X, number)) for number in positions]
        self.known = [np.ones(len(one.categories_[0]), dtype=np.bool_) for one in self.encoders]

    def encode(self, X: Any) -> Any:
        """Return the rows with codes in place of categories, NaN where there is none."""
        codes = [
            encoder.transform(_column(X, number)).ravel()
            for number, encoder in zip(self.positions, self.encoders, strict=True)
        ]
        for code, known in zip(codes, self.known, strict=True):
            _forget(code, known)
        return _replaced(X, dict(zip(self.positions, codes, strict=True)))

    def learn(self, X: Floats) -> None:
        """Keep the codes that occur in encoded training rows."""
        for place, number in enumerate(self.positions):
            code = X[:, number]
            present = np.unique(code[~np.isnan(code)]).astype(np.intp)
            self.known[place] = np.isin(np.arange(len(self.known[place])), present)

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


def _forget(code: Floats, known: Mask) -> None:
    """Set codes that are not known to NaN, in place."""
    rows = np.flatnonzero(~np.isnan(code))
    code[rows[~known[code[rows].astype(np.intp)]]] = np.nan


def _column(X: Any, number: int) -> Values:
    """Return a column as an array of shape (n_samples, 1)."""
    if hasattr(X, "iloc"):  # pandas
        column = X.iloc[:, number].to_numpy()
    elif hasattr(X, "to_series"):  # polars
        column = X.to_series(number).to_numpy()
    else:
        column = np.asarray(X)[:, number]
    return np.asarray(column)[:, np.newaxis]


def _replaced(X: Any, columns: dict[int, Floats]) -> Any:
    """Return X, of its own kind, with other columns."""
    if hasattr(X, "iloc"):
        X = X.copy(deep=False)
        for number, values in columns.items():
            X.isetitem(number, values)
        return X
    if hasattr(X, "to_series"):
        series = {number: X.to_series(number) for number in columns}
        return X.with_columns(
            [type(one)(one.name, columns[number]) for number, one in series.items()]
        )
    X = np.array(X, copy=True)
    for number, values in columns.items():
        X[:, number] = values
    return X
