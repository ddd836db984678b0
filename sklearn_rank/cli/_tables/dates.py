"""Dates and times that a file holds as text.

A text is split into a time of day, with its zone, and the words and numbers of the day. A form says
what these are, in order: "day-month-year" reads 31.01.2024, 31/1/24, 31-Jan-2024 and Wed, 31
January 2024 10:20:30 GMT.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

_NAMES = (
    "january januar janvier enero janeiro gennaio januari jänner|february februar février fevrier "
    "febrero fevereiro febbraio februari|march märz maerz mrz mars marzo março maart mrt|april "
    "avril abril aprile|may mai mayo maio maggio mei|june juni juin junio junho giugno|july juli "
    "juillet julio julho luglio|august août aout agosto augustus|september septembre septiembre "
    "setembro settembre|october oktober octobre octubre outubro ottobre|november novembre "
    "noviembre novembro|december dezember décembre decembre diciembre dezembro dicembre"
)
_MONTHS = {
    name[:n]: month
    for month, names in enumerate(_NAMES.split("|"), 1)
    for name in names.split()
    for n in range(3, len(name) + 1)
    if name[:n] != "jui"  # June and July in French
}
_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_IGNORED = {name[:n] for name in _WEEKDAYS for n in range(3, len(name) + 1)}
_IGNORED |= {"st", "nd", "rd", "th", "of", "de", "年", "月", "日"}
_SHORT = r"\d\d?|(?:19|20)\d\d"
_MOST_WORDS = 14  # names of months, and words such as CET

_OTHER_TIME = re.compile(  # T102030, :10:20:30 and 10.20.30 behind a day
    r"(?<=\d)(?:T(\d\d):?(\d\d)(?::?(\d\d))?|:(\d\d):(\d\d):(\d\d)"
    r"|\s(\d\d?)\.(\d\d)(?:\.(\d\d))?)(?!\d)",
    re.I,
)
_TIME = re.compile(
    r"(?<!\d)(?=\d\d?(:\d\d|\s?[ap]\.?m\b))(?P<hour>\d\d?)(:(?P<minute>\d\d))?"
    r"(:(?P<second>\d\d([.,]\d+)?))?(?!\d)(\s?(?P<half>[ap])\.?m\b\.?)?"
    r"(\s?(Z|UTC|GMT)\b)?(\s?(?P<zone>[-+]\d\d(:?\d\d)?)(?!\d))?(\s?[\[(].*[\])])?",
    re.I,
)
_PARTS = re.compile(r"\d+|[^\W\d_]+")
_MARKS = frozenset("-/., ':\u00a0\u202f")
_YEAR, _SURE_YEAR = r"(?P<y>\d{4}|\d\d)", r"(?P<y>(?:19|20|21)\d\d)"
_MONTH, _DAY, _QUARTER = r"(?P<m>\d\d?|[^\W\d]{3,})", r"(?P<d>\d\d?)", "(?P<q>[1-4])"
FORMS = {  # of the parts of a day, of which the marks are left out
    "year-month-day": f"{_YEAR}-{_MONTH}-{_DAY}",
    "month-day-year": f"{_MONTH}-{_DAY}-{_YEAR}",
    "day-month-year": f"{_DAY}-{_MONTH}-{_YEAR}",
    "year-month": f"{_SURE_YEAR}-{_MONTH}",
    "month-year": rf"(?!\d+-\d\d$|.*-(?!19|20|21)\d{{4}}){_MONTH}-{_YEAR}",
    "year-quarter": f"{_YEAR}-[qt]-{_QUARTER}",
    "quarter-year": f"(?=.*[qt])(?:[qt]-)?{_QUARTER}-(?:[qt]-)?{_YEAR}",  # t: trimestre
}


def moment(text: str) -> tuple[str, int]:
    """Return the words and numbers of the day ("" if invalid), and the time in microseconds.

    The time is that of UTC where a zone is written.
    """
    text, time = _OTHER_TIME.sub(lambda t: " " + ":".join(filter(None, t.groups())), text[:99]), 0
    match = _TIME.search(text)
    if match:
        hour, minute = int(match["hour"]), int(match["minute"] or 0)
        second = float((match["second"] or "0").replace(",", "."))
        if match["half"]:
            hour = hour % 12 + (12 if match["half"] in "pP" else 0) if 1 <= hour <= 12 else 24
        if hour > 23 or minute > 59 or second >= 60:
            return "", 0
        zone = (match["zone"] or "+0000").replace(":", "").ljust(5, "0")
        minute -= int(f"{zone[0]}1") * (60 * int(zone[1:3]) + int(zone[3:]))
        time = round(1e6 * (60 * (60 * hour + minute) + second))
        text = f"{text[: match.start()].rstrip(', ')} {text[match.end() :]}"
    words, marks = _PARTS.findall(text.casefold()), set(_PARTS.sub("", text))
    kept = [word for word in words if word not in _IGNORED]
    day = "-".join(kept if len(kept) > 1 else words)
    if marks - _MARKS or ("," in marks and day.replace("-", "").isdecimal()):  # a list
        return "", 0
    return re.sub(r"^(\d{4})(\d\d)(\d\d)$", r"\1-\2-\3" if match else day, day), time


def has_zone(text: str) -> bool:
    """Return whether a text has the zone of its time."""
    match = _TIME.search(text)
    return match is not None and re.search(r"Z|[a-z]{3}|[-+]\d", match[0], re.I) is not None


def read_dates(moments: list[tuple[str, int]], form: str) -> Any:
    """Return the dates of moments in a form, NaT for others."""
    pattern = re.compile(FORMS[form])

    def numbers(day: str) -> tuple[int, int, int]:
        match = pattern.fullmatch(day)
        if match is None:
            return 0, 0, 0
        parts = match.groupdict()
        year, month = int(parts["y"]), parts.get("m") or str(3 * int(parts.get("q", 1)) - 2)
        if len(parts["y"]) == 2:
            year += 2000 if year < 69 else 1900
        month_number = _MONTHS.get(month, 0) if month.isalpha() else int(month)
        return year, month_number, int(parts.get("d", 1))

    year, month, day = np.array([numbers(day) for day, _ in moments]).reshape(-1, 3).T
    months = (12 * (year - 1970) + month - 1).astype("datetime64[M]")
    dates = months.astype("datetime64[D]") + (day - 1)
    is_date = (month >= 1) & (month <= 12) & (dates.astype("datetime64[M]") == months)
    times = np.array([time for _, time in moments], dtype="timedelta64[us]")
    return np.where(is_date, dates.astype("datetime64[us]") + times, np.datetime64("NaT"))


def read_numbers(values: Any) -> Any:
    """Return the dates of numbers that spell dates, or count seconds (or fractions) since 1970."""
    texts = [f"{value:.0f}" for value in values]
    days = [(text + "01" * (len(text) == 6))[:8] + f"T{text[8:] or '0000'}" for text in texts]
    dates = read_dates([moment(day) for day in days], "year-month-day")
    for scale in (1e6, 1e3, 1, 1e-3):  # from seconds to nanoseconds
        is_time = np.isnat(dates) & (values * scale >= 1e15) & (values * scale < 2**31 * 1e6)
        dates[is_time] = (values[is_time] * scale).astype("datetime64[us]")
    return dates


def look_like_dates(moments: list[tuple[str, int]]) -> Any:
    """Return which moments have the parts of a date, in whatever form.

    These are a year and other short parts, or a month and a day. Words that name no month here must
    be as few as months are, and without a day as many: else they may be seasons or makes.
    """
    split = (day.replace("-w-", "-*-").split("-") for day, _ in moments)  # weeks, of a year
    days = [["*" if part in _MONTHS else part for part in parts] for parts in split]
    words = {part for parts in days for part in parts if part.isalpha()}
    least = 2 if len(words) > 5 else 3 if len(words) > 1 else 8
    allowed = {"*", *(words if len(words) <= _MOST_WORDS else ())}

    def is_date(parts: list[str]) -> bool:
        has_word = not words.isdisjoint(parts)
        is_long = "*" in parts or len(parts) >= (least if has_word else 3)
        is_short = all(part in allowed or re.fullmatch(_SHORT, part) for part in parts)
        has_year = "*" in parts or any(len(part) == 4 and part.isdecimal() for part in parts)
        has_figure = any(map(str.isdecimal, parts))
        return is_short and is_long and has_year and has_figure and 1 < len(parts) < 8

    return np.array([is_date(parts) for parts in days], dtype=bool)
