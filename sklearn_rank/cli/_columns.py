"""The feature columns and their kinds, and the conversion of tables to features."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats, Indices
from sklearn_rank.cli._errors import InputError, count, import_extra, listing
from sklearn_rank.cli._numbers import first_bad_cell
from sklearn_rank.cli._tables import Table

NUMBER, BOOLEAN, CATEGORY, DATE = "number", "boolean", "category", "date"

MAX_CATEGORIES = 64
"""A text column becomes at most this many 0/1 columns; its rare values share one."""


@dataclass(frozen=True)
class Schema:
    """The properties of a training table that are needed to apply a model to another table.

    Attributes
    ----------
    kinds : dict of str to str
        Kind of each feature column, in order: number, boolean or category.
    target, qid : str
        Names of these columns; `qid` is None when all rows are one list.
    relevance : {"binary", "graded"}
        Type of the target.
    positive : str or None
        The class to rank first, in the form of `as_written`; None when graded.
    is_letor : bool
        Whether missing feature columns are zeros.
    classes : list of str or None
        The classes of a binary target in training; None when graded or too many.
    weight : str or None
        Name of the column of row weights in training.
    decimal : str
        Decimal mark of numbers in text.
    categories : dict of str to list of str
        The values in training of each category and boolean column.
    formats : dict of str to str
        How the text of a column is read.
    """

    kinds: Mapping[str, str]
    target: str
    qid: str | None
    relevance: str
    positive: str | None
    is_letor: bool = False
    classes: list[str] | None = None
    weight: str | None = None
    decimal: str = "."
    categories: Mapping[str, list[str]] = field(default_factory=dict)
    formats: Mapping[str, str] = field(default_factory=dict)

    def columns_of(self, *kinds: str) -> list[str]:
        """Return the feature columns of some kinds."""
        return [name for name, kind in self.kinds.items() if kind in kinds]


def check_columns(table: Table, names: Sequence[str], role: str) -> None:
    """Raise InputError for names that are not columns of the table."""
    missing = [name for name in names if name not in table.frame.columns]
    if missing:
        raise InputError(
            f"{table.path}: no column {listing(map(repr, missing), 5)} for {role}; "
            f"{_did_you_mean(missing[0], list(table.frame.columns))}"
            f"the columns are {listing(table.frame.columns)}"
        )


def _did_you_mean(name: str, columns: list[str]) -> str:
    by_form = {column.strip().casefold(): column for column in columns}
    close = difflib.get_close_matches(name.strip().casefold(), by_form, n=1)
    return f"did you mean {by_form[close[0]]!r}? " if close else ""


def choose_features(
    table: Table, reserved: set[str], notes: list[str], categories: Collection[str] = ()
) -> dict[str, str]:
    """Return the kinds of the columns that are not `reserved`; a note names unused columns.

    Those in `categories` are categories whatever their content.
    """
    kinds = {}
    for name in table.frame.columns:
        if name not in reserved:
            is_declared = name in categories
            kind, reason = (CATEGORY, "") if is_declared else _kind_of(table.frame[name])
            if kind is None:
                notes.append(f"column {name!r} is not used: {reason}")
            else:
                kinds[name] = kind
                if kind == CATEGORY and table.frame[name].nunique() > MAX_CATEGORIES:
                    notes.append(
                        f"column {name!r} has {table.frame[name].nunique()} values; all but "
                        f"the {MAX_CATEGORIES - 1} most frequent are treated as one"
                    )
    if not kinds:
        raise InputError(f"{table.path}: no column is left to rank by")
    _check_finite(table, [name for name, kind in kinds.items() if kind == NUMBER])
    return kinds


def _kind_of(column: Any) -> tuple[str | None, str]:
    """Return the kind of a column, or None and why it is not used."""
    types = import_extra("pandas").api.types
    # The content, not the type: pandas reads booleans with missing values as objects.
    content = types.infer_dtype(column, skipna=True)
    if types.is_bool_dtype(column.dtype) or content == "boolean":
        return BOOLEAN, ""
    if types.is_numeric_dtype(column.dtype) or content == "decimal":
        return NUMBER, ""
    if content not in {"string", "categorical", "mixed-integer"}:
        return None, "it has no values" if content == "empty" else f"its type is {content}"
    if len(column) > 1 and column.nunique() == len(column):
        return None, "its text differs in every row, like an id"
    return CATEGORY, ""


def feature_frame(table: Table, schema: Schema) -> Any:
    """Return the feature columns in the form that the pipelines are fitted on.

    Numbers become floats with NaN for missing values. Booleans and categories become text of
    dtype "category".
    """
    pandas = import_extra("pandas")
    numbers = schema.columns_of(NUMBER)
    frame = table.frame
    if table.is_letor and schema.is_letor:
        frame = frame.reindex(columns=[*frame.columns, *_absent(frame, numbers)], fill_value=0.0)
    _check_present(table, frame, schema)
    _check_numeric(table, frame, numbers)
    features = {name: frame[name].astype(np.float64) for name in numbers}
    for name in schema.columns_of(BOOLEAN, CATEGORY):
        text = frame[name].astype(object).map(str, na_action="ignore")
        text = text.str.lower() if schema.kinds[name] == BOOLEAN else text
        features[name] = text.astype("category")
    return pandas.DataFrame({name: features[name] for name in schema.kinds})


def note_unseen(X: Any, schema: Schema, notes: list[str]) -> None:
    """Note which columns hold categories that did not occur in training."""
    for name, known in schema.categories.items():
        unknown = int((X[name].notna() & ~X[name].isin(known)).sum())
        if unknown:
            notes.append(
                f"column {name!r}: {count(unknown, 'row')} with values that training never saw"
            )


def note_absent_features(table: Table, schema: Schema, notes: list[str]) -> None:
    """Note which features of a LETOR model do not occur in a LETOR file."""
    if table.is_letor and schema.is_letor:
        absent = _absent(table.frame, schema.columns_of(NUMBER))
        if absent:
            notes.append(f"features that never occur and count as 0: {listing(absent, 10)}")


def query_codes(table: Table, qid: str | None) -> Indices | None:
    """Return query codes in the order of first appearance; None for one list."""
    if qid is None:
        return None
    check_columns(table, [qid], "the query")
    column = table.frame[qid]
    if column.isna().any():
        raise InputError(
            f"{table.path}: column {qid!r} is missing in {count(column.isna().sum(), 'row')}"
        )
    codes: Indices = import_extra("pandas").factorize(column)[0]
    return codes


def row_weights(table: Table, weight: str | None) -> Floats | None:
    """Return the weights of the training rows; None if all are one."""
    if weight is None:
        return None
    column = table.frame[weight]
    bad = first_bad_cell(column) if _kind_of(column)[0] != NUMBER else None
    if bad is not None:
        raise InputError(
            f"{table.path}: column {weight!r} must hold numbers to be --weight, but row {bad[0]} "
            f"holds {bad[1]!r}"
        )
    values: Floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
    wrong = np.flatnonzero(~((values >= 0) & np.isfinite(values)))
    if len(wrong):
        raise InputError(
            f"{table.path}: column {weight!r} must hold finite weights from 0 on, but row "
            f"{wrong[0] + 1} holds {values[wrong[0]]:g}"
        )
    return values


def _absent(frame: Any, names: list[str]) -> list[str]:
    return [name for name in names if name not in frame.columns and re.fullmatch(r"f\d+", name)]


def _check_present(table: Table, frame: Any, schema: Schema) -> None:
    missing = [name for name in schema.kinds if name not in frame.columns]
    if missing:
        raise InputError(
            f"{table.path}: lacks {len(missing)} of the columns that the model needs: "
            f"{listing(missing, 10)}"
        )


def _check_numeric(table: Table, frame: Any, numbers: list[str]) -> None:
    for name in numbers:
        kind, _ = _kind_of(frame[name])
        bad = first_bad_cell(frame[name]) if kind != NUMBER else None
        if bad is not None:
            raise InputError(
                f"{table.path}: column {name!r} must hold numbers, as it did in training, but "
                f"row {bad[0]} holds {bad[1]!r}"
            )
    _check_finite(table, [name for name in numbers if name in table.frame.columns])


def _check_finite(table: Table, numbers: list[str]) -> None:
    for name in numbers:
        values = table.frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isinf(values).any():
            raise InputError(
                f"{table.path}: column {name!r} holds infinite values; "
                "leave the cell empty for a missing value, or --drop the column"
            )
