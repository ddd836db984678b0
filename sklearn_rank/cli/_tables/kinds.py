"""The kinds of the features, and which of these are no features: ids name rows, and say nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from shlex import quote

import numpy as np

from sklearn_rank._core.protocols import Values
from sklearn_rank.cli._tables.columns import AS_WRITTEN, CATEGORY, NUMBER, Column
from sklearn_rank.cli._tables.errors import InputError
from sklearn_rank.cli._tables.notation import NOT_WHOLE, have_leading_zeros
from sklearn_rank.cli._tables.options import TableOptions
from sklearn_rank.cli._tables.reading import Table

FEW_VALUES = 40
"""A text column of more values than this becomes numbers that follow its letters."""

NUMBERED = "its values are integers in the order of the rows, like row numbers"
_MIN_NUMBERED = 10  # rows, from which on a column of row numbers is recognised
_TIES = 8  # twice those among sorted draws, from which on it says something if there are none
_NEARLY_ALL = 0.9  # share of rows with a value of their own from which on a column names rows
_WORDS = 3  # that the values of free text have at least, on average

# Two letters of a script without blanks count as a word.
_WORD = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]{2}|(?<!\S)[^\s\d@_/]{2,}(?!\S)")
_MEASURE = re.compile(r"[-+]?(\d+\s|\d+[.,]\d+\s?)[^\W\d]{1,5}\.?")  # 12.5 kg
_OF_CODES = re.compile(r"\b(id|code|zip|plz|zipcode|postcode|postleitzahl)$|^id\b")
_OF_NUMBERS = re.compile(
    rf"{_OF_CODES.pattern}|(number|nummer|nr)$"
    r"|\b(no|num|key|uuid|acct|account|konto|iban|ssn|serial|phone|tel|mobile)$"
)
_MIN_DIGITS, _MIN_SPREAD = 6, 50  # of account numbers, and rows from which on they are recognised
_LARGEST = 1e300  # of integers, so that their differences are floats too
_KOLMOGOROV = 1.36  # 95 % quantile of sqrt(n) times the distance from a uniform distribution


def choose_kinds(
    table: Table, names: Sequence[str], roles: TableOptions, notes: list[str]
) -> tuple[dict[str, str], dict[str, str], str]:
    """Return kinds, forms and the decimal mark of a training table; notes name unused columns."""
    columns = [Column(table, name, notes) for name in names]
    free = [column for column in columns if column.name not in roles.category]
    given = roles.reading.decimal
    has_commas = any(column.fits(",") and not column.fits(".") for column in free)
    mark = given or ("," if has_commas else ".")
    kinds: dict[str, str] = {}
    forms: dict[str, str] = {}
    for column in columns:
        name, kind, form, reason = column.name, CATEGORY, AS_WRITTEN, ""
        keeps = name in roles.keep
        if column in free:
            reason = column.fault
            kind, form = (CATEGORY, "") if reason else column.choose(mark, given, keeps=keeps)
            if not (reason or keeps or table.is_letor):
                reason = _id_reason(column, kind)
                reason += f" (--keep {quote(name)} uses it)" if reason else ""
                _note_codes(column, "" if reason else kind)
        if reason:
            column.note(f" is not used: {reason}")
        else:
            kinds[name] = kind
            forms |= {name: form} if form else {}
    if not kinds:
        raise InputError(f"{table.path}: no column is left to rank by")
    return kinds, forms, mark


def _id_reason(column: Column, kind: str) -> str:
    """Return why a column looks like an id or like row numbers; "" if it does not."""
    if column.name == column.table.frame.columns[0] == "Unnamed: 0":
        return "it comes first and has no name, like row numbers"
    if kind == CATEGORY and column.is_text:
        texts = column.texts
        n_rows, n_values = int((texts.codes >= 0).sum()), len(texts.values)
        if n_values < max(2, _NEARLY_ALL * n_rows) or _is_free_text(texts.values):
            return ""
        rows = "every" if n_values == n_rows else "nearly every"
        return f"its text differs in {rows} row, like an id"
    if column.content != NUMBER:
        return ""
    if is_numbered(column):
        return NUMBERED
    is_id = _differ(_integers(column)) and _OF_NUMBERS.search(_words(column.name))
    return "it has the name of an id, and its integers differ in nearly every row" if is_id else ""


def _is_free_text(texts: list[str]) -> bool:
    """Return whether distinct texts are sentences, or measures with their unit."""
    n_words = sum(len(_WORD.findall(text)) for text in texts)
    return n_words >= _WORDS * len(texts) or all(map(_MEASURE.fullmatch, texts))


def is_numbered(column: Column) -> bool:
    """Return whether a column holds integers in the order of the rows.

    Their steps are equal, or they have fewer ties, or gaps, than sorted draws of a number would.
    """
    values = _integers(column)
    n, steps = len(values), np.diff(values)
    if n < _MIN_NUMBERED or not _are_sorted(values):
        return False
    span = abs(values[-1] - values[0]) + 1
    if steps.all():
        return bool((steps == steps[0]).all() or n**2 > _TIES * span)
    gaps, expected = span - 1 - np.count_nonzero(steps), span * np.exp(-n / span)
    return bool(gaps < expected - 2 * np.sqrt(expected))


def _note_codes(column: Column, kind: str) -> None:
    """Note a feature that may hold codes."""
    name, drop = quote(column.name), f"--drop {quote(column.name)} leaves it out"
    if kind == CATEGORY:
        texts = column.texts.values
        way = "is read by their letters" if len(texts) > FEW_VALUES else "they are categories"
        if not column.table.is_typed and have_leading_zeros(texts):
            what = f"numbers that begin with zeros, like codes, and {way}"
            column.note(f" holds {what}; --keep {name} makes them amounts, {drop}")
        elif len(texts) > FEW_VALUES:
            column.note(f" has {len(texts)} different texts, and {way}; {drop}")
    elif kind == column.content == NUMBER:
        values, what = _integers(column), ""
        if len(np.unique(values)) > 2 and _OF_CODES.search(_words(column.name)):
            what = "has the name of codes"
        elif len(values) >= _MIN_SPREAD and _differ(values):
            if _are_sorted(values):
                what = "holds integers that rise or fall with the rows, like ids or times"
            elif _are_evenly_spread(values):
                what = "holds integers that differ and are spread evenly, like account numbers"
        if what:
            codes = f"--category {name} makes them categories, {drop}"
            column.note(f" {what}, and is read as amounts; {codes}")


def _integers(column: Column) -> Values:
    """Return the values that are not missing, large ones exactly; none if one is no integer."""
    values = column.cells.dropna().to_numpy(dtype=np.float64)
    if not ((np.abs(values) < _LARGEST) & (values == np.round(values))).all():
        return np.empty(0)
    if (np.abs(values) < NOT_WHOLE).all():
        return values
    texts, codes = column.texts.values, column.texts.codes
    if not all(re.fullmatch(r"[-+]?\d+", text) for text in texts):
        return np.empty(0)
    return np.array([int(text) for text in texts], dtype=object)[codes[codes >= 0]]


def _differ(values: Values) -> bool:
    return len(np.unique(values)) >= max(2, _NEARLY_ALL * len(values))


def _are_sorted(values: Values) -> bool:
    steps = np.diff(values)
    return bool((steps >= 0).all() or (steps <= 0).all())


def _are_evenly_spread(values: Values) -> bool:
    """Return whether integers may be drawn from all those with their number of digits."""
    values = values.astype(np.float64)
    low = 10.0 ** np.floor(np.log10(max(values[0], 1)))
    if low < 10 ** (_MIN_DIGITS - 1) or values.min() < low or values.max() >= 10 * low:
        return False
    ideal = (np.arange(len(values)) + 0.5) / len(values)
    distance = np.abs((np.sort(values) - low) / (9 * low) - ideal).max()
    return bool(distance * np.sqrt(len(values)) < _KOLMOGOROV)


def _words(name: str) -> str:
    """Return a name as words: accountNo and ACCOUNT_NO are account no."""
    return re.sub(r"[\W_\d]+", " ", re.sub("(?<=[a-z])(?=[A-Z])", " ", name)).strip().casefold()
