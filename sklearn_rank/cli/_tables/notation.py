"""Numbers, durations and dates that a file holds as text."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import cached_property
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd

from sklearn_rank._core.protocols import Floats
from sklearn_rank.cli._tables import dates

SECONDS, AS_WRITTEN = "seconds", "as written"
PANDAS_MISSING = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"}
    | {"<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"}
)
MISSING = frozenset({text.casefold() for text in PANDAS_MISSING} | {"?", "-", "--", "."})

# An amount: sign, currency, digits in groups, unit. Signs and currencies have several places.
_SYMBOL = "[$¢-¥฿\u20a0-\u20cf]"
_CODES = (
    "AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KES"
    "|KRW MXN MYR NGN NOK NZD PEN PHP PKR PLN RON RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR Bs Fr"
    "|KSh RM Rp Rs kr"
).replace(" ", "|")
_CURRENCY = rf"(?:[a-z]{{0,3}}{_SYMBOL}|(?:{_CODES})(?![^\W\d_])\.?)"
_IS_CURRENCY = re.compile(_CURRENCY, re.I)
_UNIT = r"[^\s\d.,'()+-](?:[^\d,()]{0,14}[^\s\d,()+-])?"
_GROUPS = r"[1-9]\d{{0,2}}(?P<g>[{}'_\s])\d{{3}}(?:(?P=g)\d{{3}})*"
_POINT = rf"(?:{_GROUPS.format(',')}|[1-9]\d?(?:,\d\d)+,\d{{3}}|\d+)(?:\.\d*)?|(?<![^\W\d_])\.\d+"
_COMMA = rf"(?:{_GROUPS.format('.')}|\d+)(?:,\d*)?|,\d+"
_AMOUNTS = {
    mark: re.compile(
        rf"(?P<open>\()?\s?([-+])?\s?(?P<before>{_CURRENCY})?\s?(?P<inner>\()?\s?([-+])?\s?"
        rf"(?P<core>{core})(?P<power>e[-+]?\d+)?\s?(-(?![^\W_]))?\s?(?(inner)\))\s?"
        rf"(?P<after>{_UNIT})?\s?(-)?\s?(?(open)\))",
        re.I,
    )
    for mark, core in ((".", _POINT), (",", _COMMA))
}
_DASHES, _QUOTES = "\u2010\u2011\u2012\u2013\u2014\u2212\ufe63", "\u2018\u2019\u02bc´`"
_WRITTEN = str.maketrans(f"{_DASHES}{_QUOTES}٫٬", f"{7 * '-'}{5 * chr(39)}.,")
_NO_CENTS = re.compile(r"(?<=\d)[.,/:]-+(?=\D*$)")  # 250,-
_ZERO = re.compile(rf"^({_CURRENCY})\s?-+$", re.I)  # $ -
_SCALES = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "mn": 1e6, "bn": 1e9, "mio": 1e6, "mrd": 1e9}
_SCALES |= {"tsd": 1e3, "thousand": 1e3, "million": 1e6, "billion": 1e9, "lakh": 1e5, "crore": 1e7}

# What most likely is an amount, though it isn't read: other groups and marks, limits.
_LIKE_AMOUNT = re.compile(
    rf"[<>≤≥~≈±=]*\s?[-+(]*\s?(?P<word>[^\W\d_]{{1,5}}[.\s]\s?)?{_SYMBOL}?\s?[-+]?"
    rf"(?:\d+(?P<group>[.,'])\d{{3,4}}(?:(?P=group)\d{{3,4}})*(?!\d)|\d+)(?:[.,·]\d+|\s\d/\d)?"
    rf"\s?(?P<unit>{_UNIT})?[-+)]*(?:\s[.,])?",
    re.I,
)
LIKE_CODE = re.compile(r"[-+]?0\d[\d.,].*|\+\d{7,}|.*\de\d+", re.I)
"""Numbers as few programs write them, such as 007, +491511234567 and 3E4: perhaps codes."""
_DURATION = re.compile(r"(-?\d+ days?,? ?)?-?\d{1,3}:\d\d(:\d\d(\.\d+)?)?|-?\d+ days?")
_CLOCK = re.compile(r"\d\d?(:\d\d){0,2}\s?[ap]\.?m\.?", re.I)
# Of years that 64 bits hold in nanoseconds, which older releases of pandas take.
_ISO = re.compile(r"(1[7-9]|20)\d\d(-\d\d){2}([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[-+][\d:]{5})?)?")
# 3.2024, and 2024.3 if there is a 2024.10, which is no 2024.1.
_MONTHS = re.compile(r"(\d\d?\.(19|20)\d\d ?)+|(?=.*\.1[0-2]\b)((19|20)\d\d\.\d\d? ?)+")
_SOME = 1000  # texts to look at for forms of dates
_ENOUGH = 50  # texts with a point, of which one shows that it is no mark of thousands
NOT_WHOLE = 2.0**53
"""From here on a float does not tell integers apart."""


class Cells:
    """The distinct texts of a column, and what they mean in each form.

    A form is a decimal mark with the unit of the column, "seconds", or that of dates.
    """

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self._values: dict[str, Any] = {}

    @cached_property
    def moments(self) -> list[tuple[str, int]]:
        """The texts as parts of dates."""
        return [dates.moment(text) for text in self.texts]

    @cached_property
    def amounts(self) -> dict[str, list[tuple[float, str | None]]]:
        """The texts as numbers with units, by the decimal mark; None is the unit of no number."""
        some = self.texts[:: len(self.texts) // _SOME + 1]
        is_any = {mark: any(_amount(t, mark)[1] is not None for t in some) for mark in ".,"}
        return {m: [_amount(t if is_any[m] else "", m) for t in self.texts] for m in ".,"}

    def units(self, mark: str) -> Counter[str]:
        """Return how many texts have each unit, beside a zero without one."""
        of_mark = self.amounts[mark]
        return Counter(unit for value, unit in of_mark if unit or (unit == "" and value != 0))

    def amount_form(self, mark: str) -> str:
        """Return the form of numbers with a decimal mark, in the unit of most texts."""
        units = self.units(mark)
        unit = max(units, key=units.__getitem__, default="")
        money = [unit for unit in units if _IS_CURRENCY.fullmatch(unit)]
        return mark + (unit or max(money, key=units.__getitem__, default=""))

    def read(self, form: str) -> Any:
        """Return the values of the texts read in a form; NaN or NaT where they do not fit."""
        if form not in self._values:
            self._values[form] = pd.Series(self._read(form))
        return self._values[form]

    def _read(self, form: str) -> Any:
        cells = pd.Series(self.texts, dtype=object)
        if form[0] in ".,":
            return self._numbers(form[0], form[1:])
        if form == SECONDS:
            return pd.to_timedelta(cells.map(_span), errors="coerce").dt.total_seconds()
        if form == "year-month-day" and all(map(_ISO.fullmatch, self.texts)):
            return without_zone(pd.to_datetime(cells, format="ISO8601", errors="coerce", utc=True))
        return dates.read_dates(self.moments, form)

    def _numbers(self, mark: str, wanted: str) -> Any:
        if not wanted and (mark == "." or "." not in "".join(self.texts)):
            plain = pd.to_numeric(pd.Series(self.texts, dtype=object), errors="coerce")
            if plain.notna().all():
                return plain.astype(np.float64)
        others = {wanted, "" if _IS_CURRENCY.fullmatch(wanted) else wanted}
        of_mark = self.amounts[mark]
        fits = [unit in others or (unit == "" and value == 0) for value, unit in of_mark]
        return np.where(fits, [value for value, _ in of_mark], math.nan).astype(np.float64)

    def date_forms(self) -> list[str]:
        """Return the forms of dates that fit some of the texts."""
        some = Cells(self.texts[:: len(self.texts) // _SOME + 1])
        return [form for form in dates.FORMS if some.texts and some.read(form).notna().any()]

    def like_amounts(self) -> Any:
        """Return which texts are digits and marks with one unit, in whatever form."""
        matches = [_LIKE_AMOUNT.fullmatch(text[:80].translate(_WRITTEN)) for text in self.texts]
        parts = [match.group("word", "unit", "group") for match in matches if match]
        words, units, groups = ({part[i] for part in parts} for i in range(3))
        is_pattern = len(words) == len(units) == 1 and (None in words or groups != {None})
        return np.array([match is not None and is_pattern for match in matches], dtype=bool)


def is_form(form: Any) -> bool:
    """Return whether something is a form in which texts are read."""
    is_named = form in {SECONDS, AS_WRITTEN, *dates.FORMS}
    return is_named or re.fullmatch(r"[.,][^\d\n]{0,32}", form) is not None


def without_zone(column: Any) -> Any:
    """Return dates of the zone UTC as pipelines take them."""
    return column.dt.tz_localize(None).astype("datetime64[us]")


def have_leading_zeros(texts: list[str]) -> bool:
    """Return whether all texts are digits, equally many, at least three, and some begin with 0.

    Letters may follow.
    """
    texts = [re.sub(r"[^\W\d_]+$", "", text) for text in texts]
    is_code = len({len(t) for t in texts}) == 1 and all(t.isdecimal() for t in texts)
    return is_code and any(map(LIKE_CODE.fullmatch, texts))


def is_plain(texts: list[str], form: str = ".") -> bool:
    """Return whether texts of numbers, read in a form, are written as Python writes them."""
    point = "[.]?" * (form[0] != ",")  # which is a mark of thousands where the comma is decimal
    pattern = re.compile(rf"[-+]?\d*{point}\d*(e[-+]?\d+)?", re.I)
    return all(map(pattern.fullmatch, texts))


def plain_numbers(column: Any, missing: frozenset[str]) -> Any:
    """Return a column of text as numbers if each is plain, and can't be misunderstood."""
    cells = column.mask(column.isin(missing))
    try:
        values = pd.to_numeric(cells.dropna())
    except (ValueError, TypeError):
        return column
    if values.dtype == object:  # integers beyond 64 bits: those larger than floats are infinite
        values = values.map(lambda value: value if abs(value) < 2**1024 else math.inf)
    elif values.dtype.kind in "iu" and cells.isna().any():  # whole numbers stay exact
        values = values.convert_dtypes()
    values = values.reindex(cells.index)
    some = cells[cells.str.contains(".", regex=False, na=False)].iloc[:_ENOUGH].tolist()
    are_months = _MONTHS.fullmatch(" ".join(some)) is not None
    is_clear = not some or (np.isnan(numbers(some, ",")).any() and not are_months)
    is_code = cells.str.fullmatch(LIKE_CODE.pattern, case=False, na=False)
    return column if not is_clear or is_code.any() else values


def without(column: Any, missing: frozenset[str]) -> Any:
    """Return a column with missing-value codes removed; True is not the code 1."""
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

    are_missing = np.array([*map(is_missing, cells), False])  # the last for the code -1
    return column.mask(are_missing[codes]) if are_missing.any() else column


def written(value: Any) -> str:
    """Return a cell as text, 1 for 1.0: files differ in what they take as a float."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return "nan" if value is pd.NA else str(value).strip()


def numbers(texts: list[str], mark: str) -> Floats:
    """Return the numbers of texts, NaN where one is no number or has a unit."""
    values: Floats = Cells(texts).read(mark).to_numpy(np.float64)
    return values


def _span(text: str) -> str:
    """Return a duration or a time of day in the format of pandas, "" for other text."""
    if _CLOCK.fullmatch(text):
        return f"{dates.moment(text)[1]} us"
    return text + ":00" * (text.count(":") == 1) if _DURATION.fullmatch(text) else ""


def _amount(text: str, mark: str) -> tuple[float, str | None]:
    """Return number and unit of a text, given the decimal mark; the unit is None if invalid."""
    plain = " ".join(text[:999].translate(_WRITTEN).split())
    match = _AMOUNTS[mark].fullmatch(_ZERO.sub(r"\g<1>0", _NO_CENTS.sub("", plain)))
    if match is None:
        return math.nan, None
    core, before, after = match["core"], match["before"] or "", match["after"] or ""
    signs = {part for part in match.groups() if part in {"+", "-", "("}}
    n_signs = sum(part in signs for part in match.groups())
    is_code = (before or after) and re.match(r"0\d", core)
    is_phone = "+" in signs and " " in core[:-6] and not (before or after or mark in core)
    if is_code or n_signs > 1 or is_phone or (match["g"] and match["power"]):  # 1,234E5
        return math.nan, None
    digits = re.sub(rf"[^\d{mark}]", "", core).replace(mark, ".")
    value = float(f"{'-' * bool(signs - {'+'})}{digits}{match['power'] or ''}")
    word, _, rest = after.partition(" ")
    scale = _SCALES.get(word if len(word) == 1 else word.rstrip(".s").casefold())
    unit = f"{before} {rest if scale else after}".strip()
    if _IS_CURRENCY.fullmatch(unit):
        unit = unit.rstrip(".").casefold()
    return value * (scale or 1), re.sub(r"(?<=[a-z]{2})s$", "", unit)  # years, 1 year
