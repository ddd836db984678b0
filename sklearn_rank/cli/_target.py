"""The target column: which rows belong on top."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_rank.cli._errors import InputError, import_extra, listing


def as_written(value: Any) -> str:
    """Write a class as the user would: 1 for 1.0.

    Classes are compared in this form, because the same column can be read as integers
    from one file and as floats or text from another.
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def choose_positive(column: Any, positive: str | None, path: str) -> str:
    """Return the class that belongs on top, in the form of `as_written`."""
    _refuse_missing(column, path)
    classes = _classes(column)
    if len(classes) == 1:
        raise InputError(
            f"{path}: column {column.name!r} has one class only ({classes[0]}); "
            "two are needed to rank one above the other"
        )
    if positive is None:
        if len(classes) > 2:
            raise InputError(
                f"{path}: column {column.name!r} has {len(classes)} classes "
                f"({listing(classes, 5)}), binary relevance needs two; choose "
                "--relevance graded, or --positive VALUE for one class against the rest"
            )
        return classes[-1]
    if positive not in classes and _number_as_written(positive) in classes:
        positive = _number_as_written(positive)
    if positive not in classes:
        raise InputError(
            f"{path}: --positive {positive} is no class of column {column.name!r}; "
            f"the classes are {listing(classes, 10)}"
        )
    return positive


def binary_target(column: Any, positive: str, path: str) -> NDArray[np.int64]:
    """Return 1 for the rows of the positive class and 0 for all others."""
    _refuse_missing(column, path)
    belongs = {value: as_written(value) == positive for value in column.unique()}
    y: NDArray[np.int64] = column.map(belongs).to_numpy(dtype=np.int64)
    return y


def graded_target(column: Any, path: str) -> NDArray[np.float64]:
    """Return the relevance of each row."""
    is_numeric = import_extra("pandas").api.types.is_numeric_dtype
    if not is_numeric(column.dtype):
        raise InputError(
            f"{path}: graded relevance needs numbers, but column {column.name!r} holds "
            f"{as_written(column.iloc[0])!r}"
        )
    _refuse_missing(column, path)
    y: NDArray[np.float64] = column.to_numpy(dtype=np.float64)
    if not np.isfinite(y).all():
        raise InputError(f"{path}: column {column.name!r} holds infinite values")
    return y


def check_comparable(
    y: NDArray[Any], qid: NDArray[Any] | None, target: str, query: str | None, path: str
) -> None:
    """Refuse a target that puts no row above another row of its query."""
    codes = np.zeros(len(y), dtype=np.intp) if qid is None else qid
    lowest = np.full(codes.max() + 1, np.inf)
    np.minimum.at(lowest, codes, y)
    if (y > lowest[codes]).any():
        return
    where = "" if qid is None else f" within any query of {query!r}"
    raise InputError(f"{path}: {target!r} has no two different values{where}: nothing to rank")


def _refuse_missing(column: Any, path: str) -> None:
    missing = int(column.isna().sum())
    if missing:
        raise InputError(f"{path}: column {column.name!r} is missing in {missing} rows")


def _classes(column: Any) -> list[str]:
    """Return the distinct values, least first."""
    values = list(column.unique())
    try:
        values.sort()
    except TypeError:  # numbers and text in one column
        values.sort(key=str)
    return list(dict.fromkeys(as_written(value) for value in values))


def _number_as_written(text: str) -> str:
    try:
        return as_written(float(text))
    except ValueError:
        return text
