"""Numbers that a file holds as text: thousands separators, question marks, typing errors."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sklearn_rank.cli._errors import InputError, count, import_extra
from sklearn_rank.cli._tables import Table

_PLAIN = re.compile(r"\s*([+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf(inity)?|nan)\s*", re.I)
_GROUPED = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?\s*")
_FOUR_DIGITS = re.compile(r"\s*[+-]?\d{4}")
_UNKNOWN = "?"

_HINTS = (
    (re.compile(r"\s*[+-]?\d+(\.\d+)?\s*%\s*"), "write 12% as 12"),
    (re.compile(r"\s*[+-]?\d+,\d+\s*"), "write decimals with a point, as in 1.5"),
)
"""Notations of numbers that are errors, with a hint for each."""

_MIN_NUMBER_SHARE = 0.9
"""Share of numbers from which on the other text of a column counts as typing errors."""


def numbers_from_text(
    table: Table, names: Iterable[str], notes: list[str], *, required: bool
) -> Table:
    """Convert text columns that hold numbers; a note names them.

    Parameters
    ----------
    table : Table
        The table as read.
    names : iterable of str
        Columns; missing ones, and those without text, are ignored.
    notes : list of str
        A list that the notes are appended to.
    required : bool
        Whether the columns must hold numbers. If not, other text is left unchanged, and text
        that is mostly numbers is an error, since it would become a category.
    """
    changed = {}
    for name in names:
        if name in table.frame.columns and _is_text(table.frame[name]):
            numbers = _to_numbers(table.frame[name], notes, required)
            if numbers is not None:
                changed[name] = numbers
            else:
                _refuse_mixed_text(table, name, required)
    return replace(table, frame=table.frame.assign(**changed)) if changed else table


def first_bad_cell(column: Any) -> tuple[int, Any] | None:
    """Return the row (from 1, without the header) and the value of the first non-number."""
    for row, (value, is_missing) in enumerate(zip(column, column.isna(), strict=True), start=1):
        if not is_missing and not _is_number(value):
            return row, value
    return None


def _is_text(column: Any) -> bool:
    return import_extra("pandas").api.types.infer_dtype(column, skipna=True) == "string"


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return _PLAIN.fullmatch(value) is not None
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    # NumPy's booleans have a type of their own.
    return type(value).__name__ not in {"bool", "bool_"}


def _to_numbers(column: Any, notes: list[str], required: bool) -> Any:
    """Return the column as numbers, or None if some cells may not be numbers."""
    values = list(column.dropna().unique())
    rest = [value for value in values if not _PLAIN.fullmatch(value)]
    grouped = [value for value in rest if _GROUPED.fullmatch(value)]
    unknown = [value for value in rest if value.strip() == _UNKNOWN]
    plain = [value for value in values if _PLAIN.fullmatch(value)]
    if not rest and not required:  # numbers as text in a Parquet file are intended
        return None
    if len(grouped) + len(unknown) < len(rest) or not plain + grouped:
        return None
    # A single 1,234 among many numbers without a comma is ambiguous.
    if grouped and (
        len(plain) >= _MIN_NUMBER_SHARE * len(values) or any(map(_FOUR_DIGITS.match, plain))
    ):
        return None
    if grouped:
        notes.append(
            f"column {column.name!r}: the commas, as in {grouped[0]!r}, are read as "
            "thousands separators"
        )
    if unknown:
        rows = int(column.isin(unknown).sum())
        notes.append(f"column {column.name!r}: '?' is read as missing in {count(rows, 'row')}")
    cleaned = column.astype(object).map(_number, na_action="ignore")
    return import_extra("pandas").to_numeric(cleaned)


def _number(text: str) -> float:
    return float("nan") if text.strip() == _UNKNOWN else float(text.replace(",", ""))


def _refuse_mixed_text(table: Table, name: str, required: bool) -> None:
    column = table.frame[name]
    values = list(column.dropna().unique())
    plain = sum(_PLAIN.fullmatch(value) is not None for value in values)
    bad = first_bad_cell(column)
    if bad is None:
        return
    row, cell = bad
    hint = next((hint for form, hint in _HINTS if form.fullmatch(cell)), None)
    if required:
        raise InputError(
            f"{table.path}: column {name!r} must hold numbers, as it did in training, but row "
            f"{row} holds {cell!r}{f'; {hint}' if hint else ''}"
        )
    if len(values) > 1 and plain >= _MIN_NUMBER_SHARE * len(values):
        raise InputError(
            f"{table.path}: {plain} of {len(values)} values of column {name!r} are numbers, but "
            f"row {row} holds {cell!r}: correct it or leave the column out with --drop"
        )
    form = next((form for form, found in _HINTS if found == hint), None)
    if form and all(form.fullmatch(value) or _PLAIN.fullmatch(value) for value in values):
        raise InputError(
            f"{table.path}: column {name!r} looks like numbers, but row {row} holds {cell!r}: "
            f"{hint}, or leave the column out with --drop"
        )
