"""The target column: relevance of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats, Indices, Values
from sklearn_rank.cli._errors import InputError, count, import_extra, listing
from sklearn_rank.cli._numbers import first_bad_cell

_OBVIOUS = frozenset(
    {"yes", "y", "true", "t", "1", "positive", "pos", "success"}
    | {"bad", "fraud", "default", "malignant", "sick", "spam", "churn"}
)
"""Classes that are ranked first without a note."""


def as_written(value: Any) -> str:
    """Return a class as text, 1 for 1.0.

    Classes are compared in this form, because the same column can be read as integers
    from one file and as floats or text from another.
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def choose_positive(column: Any, positive: str | None, path: str, notes: list[str]) -> str:
    """Return the class to rank first, in the form of `as_written`."""
    _check_no_missing(column, path)
    classes = distinct_classes(column)
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
        if isinstance(column.dropna().iloc[0], str) and classes[-1].casefold() not in _OBVIOUS:
            notes.append(
                f"class {classes[-1]!r} is on top (the later in the alphabet); --positive chooses"
            )
        return classes[-1]
    alike = [name for name in classes if name.casefold() == positive.casefold()]
    if positive not in classes and len(alike) == 1:
        positive = alike[0]
    if positive not in classes and _number_as_written(positive) in classes:
        positive = _number_as_written(positive)
    if positive not in classes:
        raise InputError(
            f"{path}: --positive {positive} is no class of column {column.name!r}; "
            f"the classes are {listing(classes, 10)}"
        )
    return positive


def binary_target(column: Any, positive: str, path: str) -> Indices:
    """Return 1 for the rows of the positive class and 0 for all others."""
    _check_no_missing(column, path)
    belongs = {value: name == positive for value, name in written_classes(column, positive).items()}
    y: Indices = column.map(belongs).to_numpy(dtype=np.int64)
    return y


def written_classes(column: Any, positive: str) -> dict[Any, str]:
    """Return the classes as written in training, where True is also 1 and False also 0."""
    written = {value: as_written(value) for value in column.unique()}
    if positive in written.values():
        return written
    if positive in {"0", "1"}:
        other = {"true": "1", "false": "0"}
    elif positive in {"True", "False"}:
        other = {"1": "True", "0": "False", "true": "True", "false": "False"}
    else:
        return written
    return {value: other.get(name.casefold(), name) for value, name in written.items()}


def note_new_classes(column: Any, positive: str, known: list[str] | None, notes: list[str]) -> None:
    """Note which classes did not occur in training."""
    found = dict.fromkeys(written_classes(column, positive).values())
    new = [] if known is None else [name for name in found if name not in known]
    if new:
        notes.append(
            f"column {column.name!r}: the model never saw {listing(map(repr, new), 5)}; "
            f"all but {positive!r} count as not on top"
        )


def graded_target(column: Any, path: str) -> Floats:
    """Return the relevance of each row."""
    is_numeric = import_extra("pandas").api.types.is_numeric_dtype
    if not is_numeric(column.dtype):
        row, value = first_bad_cell(column) or (1, column.iloc[0])
        raise InputError(
            f"{path}: graded relevance needs numbers, but row {row} of column {column.name!r} "
            f"holds {as_written(value)!r}"
        )
    _check_no_missing(column, path)
    y: Floats = column.to_numpy(dtype=np.float64)
    if not np.isfinite(y).all():
        raise InputError(f"{path}: column {column.name!r} holds infinite values")
    return y


def check_comparable(
    y: Values, qid: Values | None, target: str, query: str | None, path: str
) -> None:
    """Raise InputError if no query has rows of different relevance."""
    codes = np.zeros(len(y), dtype=np.intp) if qid is None else qid
    lowest = np.full(codes.max() + 1, np.inf)
    np.minimum.at(lowest, codes, y)
    if (y > lowest[codes]).any():
        return
    where = "" if qid is None else f" within any query of {query!r}"
    raise InputError(f"{path}: {target!r} has no two different values{where}: nothing to rank")


def _check_no_missing(column: Any, path: str) -> None:
    missing = int(column.isna().sum())
    if missing:
        raise InputError(f"{path}: column {column.name!r} is missing in {count(missing, 'row')}")


def distinct_classes(column: Any) -> list[str]:
    """Return the distinct values in ascending order."""
    values = list(column.unique())
    try:
        values.sort()
    except TypeError:  # numbers and text in one column
        values.sort(key=str)
    if all(isinstance(value, str) for value in values):
        values.sort(key=str.casefold)
    return list(dict.fromkeys(as_written(value) for value in values))


def _number_as_written(text: str) -> str:
    try:
        return as_written(float(text))
    except ValueError:
        return text
