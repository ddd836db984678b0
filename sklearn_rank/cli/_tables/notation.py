"""Numbers, durations and dates that a file holds as text."""

from __future__ import annotations

import math
import re
from itertools import product
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd

from sklearn_rank._core.protocols import Floats

ISO, SECONDS, AS_WRITTEN = "ISO8601", "seconds", "as written"
PANDAS_MISSING = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"}
    | {"<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"}
)
MISSING = frozenset({text.casefold() for text in PANDAS_MISSING} | {"?", "-", "--", "."})
CURRENCY = "[$€£¥]|USD|EUR|GBP|CHF"
_NUMBERS = {
    mark: re.compile(
        rf"(?P<open>\()?\s*[-+]?\s*(?:{CURRENCY})?\s*[-+]?\s*"
        rf"(?P<core>[1-9]\d{{0,2}}(?P<s>[{other}'\s])\d{{3}}(?:(?P=s)\d{{3}})*(?:\{mark}\d*)?"
        rf"|\d+(?:\{mark}\d*)?|\{mark}\d+)"
        rf"(?P<power>e[-+]?\d+)?\s*%?\s*(?:{CURRENCY})?\s*(?(open)\))",
        re.I,
    )
    for mark, other in ((".", ","), (",", "."))
}
_LEADING_ZERO = re.compile(r"0\d\d+")
_DURATION = re.compile(r"(-?\d+ days?,? ?)?-?\d{1,3}:\d\d(:\d\d(\.\d+)?)?|-?\d+ days?")
_LIKE_DATE = re.compile(r"(?=.*\d)(?=.*([-/.\s]|[a-z]{3})).{6,40}", re.I)
_ISO = re.compile(r"\d{4}-\d\d(-\d\d([T ].*)?)?")
_DAYS = ["%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%m.%d.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d"]
_DAYS += [form.replace("%Y", "%y") for form in _DAYS[:-1]]
_DAYS += ["%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d%b%Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y"]
_TIMES = ["", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p", " %H:%M:%S%z"]
_DATES = {day + time: re.sub(r"%.|\s", "", day + time) for time, day in product(_TIMES, _DAYS)}
_SOME = 1000  # texts to look at for forms of dates
_ENOUGH = 50  # texts with a point, of which one shows that it is no mark of thousands
NOT_WHOLE = 2.0**53
"""From here on a float does not tell integers apart."""

FORMS = frozenset({".", ",", ISO, SECONDS, AS_WRITTEN, *_DATES})
"""How texts are read."""


def read_texts(texts: list[str], form: str) -> Any:
    """Return the values of texts read in a form; NaN or NaT where they do not fit."""
    if form[0] in ".,":
        return pd.Series(numbers(texts, form[0]))
    if form == SECONDS:
        long = [t + ":00" if t.count(":") == 1 else t for t in texts]
        long = [t if _DURATION.fullmatch(t) else "" for t in long]
        spans = pd.to_timedelta(pd.Series(long, dtype=object), errors="coerce")
        return spans.dt.total_seconds()
    cells = [t if form != ISO or _ISO.fullmatch(t) else "" for t in texts]
    dates = pd.Series(cells, dtype=object)
    found = pd.to_datetime(dates, format=form, errors="coerce", utc=True)
    day = next((form.removesuffix(time) for time in _TIMES[1:] if form.endswith(time)), form)
    if day != form:  # spreadsheets leave out the time of midnight
        found = found.fillna(pd.to_datetime(dates, format=day, errors="coerce", utc=True))
    return without_zone(found)


def without_zone(dates: Any) -> Any:
    """Return dates of the zone UTC as pipelines take them."""
    return dates.dt.tz_localize(None).astype("datetime64[us]")


def date_forms(texts: list[str]) -> list[str]:
    """Return the forms of dates that fit some of the texts."""
    some = [t for t in texts[:: len(texts) // _SOME + 1] if _LIKE_DATE.fullmatch(t)]
    marks = {re.sub(r"[\w\s]", "", t) for t in some}
    likely = [f for f, of_form in _DATES.items() if any(m.startswith(of_form) for m in marks)]
    return [form for form in [ISO, *likely] if some and read_texts(some, form).notna().any()]


def have_leading_zeros(texts: list[str]) -> bool:
    """Return whether all texts are digits, equally many, at least three, and some begin with 0."""
    is_code = len({len(t) for t in texts}) == 1 and all(t.isdecimal() for t in texts)
    return is_code and any(map(_LEADING_ZERO.fullmatch, texts))


def is_plain(texts: list[str], form: str = ".") -> bool:
    """Return whether texts of numbers, read in a form, are written as Python writes them."""
    point = "." * (form[0] != ",")  # which is a mark of thousands where the comma is decimal
    return re.search(rf"[^\d{point}e+-]", "".join(texts), re.I) is None


def plain_numbers(column: Any, missing: frozenset[str]) -> Any:
    """Return a column of text as numbers if each is plain, and can't be misunderstood."""
    cells = column.mask(column.isin(missing))
    try:
        values = pd.to_numeric(cells.dropna())
    except (ValueError, TypeError):
        return column
    if values.dtype == object:  # integers beyond 64 bits: those larger than floats are infinite
        values = values.map(lambda one: one if abs(one) < 2**1024 else math.inf)
    elif values.dtype.kind in "iu" and cells.isna().any():  # whole numbers stay exact
        values = values.convert_dtypes()
    values = values.reindex(cells.index)
    some = cells[cells.str.contains(".", regex=False, na=False)].iloc[:_ENOUGH].tolist()
    is_clear = not some or np.isnan(numbers(some, ",")).any()
    is_code = cells.str.startswith("0", na=False) & (cells.str.len() > 2) & (values % 1 == 0)
    return column if not is_clear or is_code.any() else values


def without(column: Any, missing: frozenset[str]) -> Any:
    """Return a column without the cells that mean missing, of which True is not 1."""
    if not missing:
        return column
    values = numbers(sorted(missing), ".")
    if column.dtype.kind == "f":  # 0.1 of 32 bits is not that of 64
        with np.errstate(over="ignore"):
            values = values.astype(f"f{column.dtype.itemsize}")
        return column.mask(np.isin(column.to_numpy(np.float64, na_value=np.nan), values))
    codes, cells = pd.factorize(column)

    def is_missing(cell: Any) -> bool:
        if isinstance(cell, bool | np.bool_):
            return False
        text = re.sub(r"( 00:00:00)?(\+00:00)?$", "", written(cell))
        return text in missing or (isinstance(cell, Number) and cell in values)

    found = np.array([*map(is_missing, cells), False])
    return column.mask(found[codes]) if found.any() else column


def written(value: Any) -> str:
    """Return a cell as text, 1 for 1.0: files differ in what they take as a float."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return "nan" if value is pd.NA else str(value).strip()


def numbers(texts: list[str], mark: str) -> Floats:
    """Return the numbers of texts, NaN where one is no number."""
    if mark == "." or "." not in "".join(texts):
        plain = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce")
        if plain.notna().all():
            return np.asarray(plain, dtype=np.float64)
    return np.array([_number(text, mark) for text in texts], dtype=np.float64)


def _number(text: str, mark: str) -> float:
    text = text.replace("\N{MINUS SIGN}", "-").replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    match = _NUMBERS[mark].fullmatch(text)
    if match is None:
        return np.nan
    digits = re.sub(rf"[^\d{mark}]", "", match["core"]).replace(mark, ".")
    is_negative = len(re.findall(r"[-(]", text[: match.start("core")])) % 2
    return float(f"{'-' * is_negative}{digits}{match['power'] or ''}")
