"""Numbers that a file holds as text: thousands separators, question marks, slips of the pen."""

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
"""Ways to write numbers that are not guessed at."""

_MOSTLY = 0.9
"""From this share of numbers on, text is taken to be a column of numbers with slips in it."""


def numbers_from_text(
    table: Table, names: Iterable[str], notes: list[str], *, required: bool
) -> Table:
    """Turn text columns that are numbers into numbers; a note says which.

    Parameters
    ----------
    table : Table
        The table as read.
    names : iterable of str
        The columns to look at; those that are not there, or hold no text, are left alone.
    notes : list of str
        What was done is added.
    required : bool
        Whether the columns must hold numbers. If not, text that is clearly none is left,
        and text that is mostly numbers is refused: it would become names of categories.
    """
    changed = {}
    for name in names:
        if name in table.frame.columns and _is_text(table.frame[name]):
            numbers = _converted(table.frame[name], notes, required)
            if numbers is not None:
                changed[name] = numbers
            else:
                _refuse_slips(table, name, required)
    return replace(table, frame=table.frame.assign(**changed)) if changed else table


def first_bad_cell(column: Any) -> tuple[int, Any] | None:
    """Return row (from 1, the header not counted) and value of the first cell that is no number."""
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


def _converted(column: Any, notes: list[str], required: bool) -> Any:
    """Return the column as numbers, or None if its cells are not all surely numbers."""
    values = list(column.dropna().unique())
    rest = [value for value in values if not _PLAIN.fullmatch(value)]
    grouped = [value for value in rest if _GROUPED.fullmatch(value)]
    unknown = [value for value in rest if value.strip() == _UNKNOWN]
    plain = [value for value in values if _PLAIN.fullmatch(value)]
    if not rest and not required:  # a Parquet file that holds numbers as text means it
        return None
    if len(grouped) + len(unknown) < len(rest) or not plain + grouped:
        return None
    # One 1,234 among many numbers without a comma may be anything.
    if grouped and (len(plain) >= _MOSTLY * len(values) or any(map(_FOUR_DIGITS.match, plain))):
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


def _refuse_slips(table: Table, name: str, required: bool) -> None:
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
    if len(values) > 1 and plain >= _MOSTLY * len(values):
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
