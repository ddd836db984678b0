"""Numbers, durations and dates that a file holds as text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats
from sklearn_rank.cli._errors import import_extra

MOST = 0.9  # share of a column's texts from which on the others count as typing errors
ISO, SECONDS = "ISO8601", "seconds"

_PANDAS_MISSING = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"}
    | {"<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"}
)
_MISSING = frozenset({text.casefold() for text in _PANDAS_MISSING} | {"?", "-", "--", "."})
CURRENCY = "[$€£¥]|USD|EUR|GBP|CHF"
_NUMBER = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[-+]?)\s*(?P<before>{CURRENCY})?\s*(?P<inner>[-+]?)"
    r"(?P<core>[\d.,'\s]*\d[\d.,'\s]*?)(?P<power>e[-+]?\d+)?"
    rf"\s*(?P<percent>%)?(?P<after>{CURRENCY})?\s*(?(open)\))",
    re.I,
)
_CORES = {
    mark: re.compile(
        rf"[1-9]\d{{0,2}}(?P<s>[{other}'\s])\d{{3}}(?:(?P=s)\d{{3}})*(?:\{mark}\d*)?"
        rf"|\d+(?:\{mark}\d*)?|\{mark}\d+"
    )
    for mark, other in ((".", ","), (",", "."))
}
_DURATION = re.compile(r"(-?\d+ days?,? ?)?-?\d{1,3}:\d\d(:\d\d(\.\d+)?)?|-?\d+ days?")
_PARTS = re.compile(r"[-/.\s]|[a-z]{3}", re.I)
_ISO = re.compile(r"\d{4}-\d\d(-\d\d([T ].*)?)?")
_DAYS = ["%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%m.%d.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d"]
_DAYS += [form.replace("%Y", "%y") for form in _DAYS[:-1]]
_DAYS += ["%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d%b%Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y"]
_TIMES = ["", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p", " %H:%M:%S%z"]
_DATES = [ISO, *(day + time for time, day in product(_TIMES, _DAYS))]


@dataclass(frozen=True)
class Texts:
    """The distinct texts of a column, without blanks at their ends and without missing ones."""

    values: list[str]  # in the order of their first rows
    codes: Any  # position of each row's text in `values`; -1 where it is missing
    unusual: list[str]  # texts that count as missing, but do not in pandas
    _numbers: dict[str, Floats] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, column: Any, *, as_written: bool = False, pandas_only: bool = False) -> Texts:
        """Read a column; `as_written` takes only empty cells as missing."""
        codes, cells = import_extra("pandas").factorize(column)
        values: dict[str, int] = {}
        places, unusual = [], []
        for text in map(written, np.asarray(cells, dtype=object)):
            is_missing = text in ({""} if as_written else _PANDAS_MISSING)
            if not is_missing and not as_written and not pandas_only:
                is_missing = text.casefold() in _MISSING
                unusual += [text] if is_missing else []
            places.append(-1 if is_missing else values.setdefault(text, len(values)))
        return cls(list(values), np.array([*places, -1])[codes], unusual)

    def spread(self, values: Any) -> Any:
        """Return the value of each row for values of the distinct texts."""
        rows = import_extra("pandas").Series(values).reindex(self.codes)
        return rows.reset_index(drop=True)

    def row_of(self, position: int) -> int:
        """Return the first row of the text at a position in `values`."""
        return int(np.argmax(self.codes == position))

    def read(self, form: str) -> Any:
        """Return what the texts mean in a form: numbers, seconds or dates; NaN or NaT if none."""
        pandas = import_extra("pandas")
        if form[0] in ".,":
            return self.numbers(form[0])
        if form == SECONDS:
            long = [t + ":00" if t.count(":") == 1 else t for t in self.values]
            long = [t if _DURATION.fullmatch(t) else "" for t in long]
            spans = pandas.to_timedelta(pandas.Series(long, dtype=object), errors="coerce")
            return spans.dt.total_seconds()
        texts = [t if form != ISO or _ISO.fullmatch(t) else "" for t in self.values]
        cells = pandas.Series(texts, dtype=object)
        dates = pandas.to_datetime(cells, format=form, errors="coerce", utc=True)
        return dates.dt.tz_localize(None).astype("datetime64[us]")

    def numbers(self, mark: str) -> Floats:
        """Return the numbers of the texts, NaN where one is no number."""
        if mark not in self._numbers:
            self._numbers[mark] = numbers(self.values, mark)
        return self._numbers[mark]

    def number_marks(self) -> list[str]:
        """Return the decimal marks with which all texts are numbers."""
        some = self.values[:50]  # a quick no
        return [
            mark
            for mark in ".,"
            if some
            and not np.isnan(numbers(some, mark)).any()
            and not np.isnan(self.numbers(mark)).any()
        ]

    def date_forms(self) -> dict[str, float]:
        """Return the forms of dates that fit some texts, with the share of texts they fit."""
        some = Texts(self.values[:1] + self.values[-2:], None, [])
        some = Texts([t for t in some.values if 6 <= len(t) <= 40 and _has_parts(t)], None, [])
        likely = [form for form in _DATES if some.values and some.read(form).notna().any()]
        return {form: float(self.read(form).notna().mean()) for form in likely}

    def is_duration(self) -> bool:
        """Whether all texts are durations."""
        return bool(self.values) and all(map(_DURATION.fullmatch, self.values))

    def unclear_number(self, mark: str) -> int | None:
        """Return the position of a text whose thousands mark may be meant as decimal mark."""
        other = self.numbers(",."[mark == ","])
        unclear = other != self.numbers(mark)
        unclear &= ~np.isnan(other) & np.array([",."[mark == ","] in t for t in self.values])
        long = any(re.match(r"[-+]?\d{4}", text) for text in self.values)
        if unclear.any() and (long or unclear.mean() <= 1 - MOST):
            return int(np.argmax(unclear))
        return None

    def look_like_numbers(self) -> bool:
        """Return whether all texts consist of digits, marks, and signs of money or percent."""
        return all(map(_NUMBER.fullmatch, self.values))


def plain_numbers(column: Any) -> Any:
    """Return a column of text as numbers if each is plain, and its marks can't be misunderstood."""
    pandas = import_extra("pandas")
    cells = column.mask(column.isin(_PANDAS_MISSING))
    try:
        values = pandas.to_numeric(cells)
    except (ValueError, TypeError):
        return column
    some = cells.dropna().iloc[:50].tolist()
    is_clear = not some or np.isnan([_number(text, ",") for text in some]).any()
    return values if is_clear or not any("." in text for text in some) else column


def is_plain(texts: list[str]) -> bool:
    """Return whether texts of numbers are written as Python writes them."""
    return re.search(r"[^\d.e+-]", "".join(texts), re.I) is None


def written(value: Any) -> str:
    """Return a cell as text, 1 for 1.0: files differ in what they take as a float."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def numbers(texts: list[str], mark: str) -> Floats:
    """Return the numbers of texts, NaN where one is no number."""
    pandas = import_extra("pandas")
    if mark == "." or "." not in "".join(texts):
        plain = pandas.to_numeric(pandas.Series(texts, dtype=object), errors="coerce")
        if plain.notna().all():
            return np.asarray(plain, dtype=np.float64)
    return np.array([_number(text, mark) for text in texts], dtype=np.float64)


def _number(text: str, mark: str) -> float:
    match = _NUMBER.fullmatch(
        text.replace("\N{MINUS SIGN}", "-").replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    )
    if match is None or not _CORES[mark].fullmatch(match["core"]):
        return np.nan
    digits = re.sub(rf"[^\d{mark}]", "", match["core"]).replace(mark, ".")
    is_negative = (match["sign"] + match["inner"]).count("-") + (match["open"] is not None)
    return float(f"{'-' * (is_negative % 2)}{digits}{match['power'] or ''}")


def _has_parts(text: str) -> bool:
    return re.search(r"\d", text) is not None and _PARTS.search(text) is not None
