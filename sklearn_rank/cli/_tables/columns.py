"""Columns of a table: their kinds, the formats of cells, and which columns are ids."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from shlex import quote
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from sklearn_rank._core.arrays import are_dates
from sklearn_rank.cli._tables import dates, notation
from sklearn_rank.cli._tables.inputs import InputError, choices, listing
from sklearn_rank.cli._tables.options import TableOptions
from sklearn_rank.cli._tables.reading import LETOR, TEXT, TYPED, Table

NUMBER, BOOLEAN, CATEGORY, DATE = "number", "boolean", "category", "date"
_OTHER = {".": ",", ",": "."}
_CONTENTS = {
    BOOLEAN: {"boolean"},
    NUMBER: {"decimal", "integer", "floating", "mixed-integer-float"},
    notation.SECONDS: {"timedelta", "timedelta64", "time"},
    DATE: {"datetime", "datetime64", "date"},
    CATEGORY: {"string", "mixed-integer", "mixed", "categorical"},
}
FEW_VALUES = 40
"""A text column with more distinct values than this is encoded by its character n-grams."""

# Minimum share of a column's texts for the others to count as typing errors, and of rows with a
# value of their own for the column to look like an id.
_MOST = 0.9
_MIN_NUMBERED = 10  # minimum number of rows for a column to look like row numbers
_WORDS = 3  # minimum mean number of words in free text
_MIN_DIFFERENT, _LONG = 50, 10**5  # minimum number of rows, and minimum value, of account numbers
# Minimum number of texts for three digits behind a mark in all to be no coincidence; a reading of
# dates is rejected if it has more than this many times the years of another.
_MANY, _MORE_DAYS = 12, 6
_CODE = re.compile(r"(?=.*\d)[\d\W]+|(.*[\d¼-¾]){2}.*", re.S)  # no letters, or several digits
_HOUSE_NUMBER = re.compile(r"\d+[^\W\d_]?")

# Two letters of a script without blanks count as a word.
_WORD = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]{2}|(?<!\S)[^\s\d@_/]{2,}(?!\S)")
# An id is often written as one word, after what it is of; other words end in "id", too.
_OF = (
    "acc(oun)?t|app|bill|card|case|client[ea]?|contra(c)?t|cust(omer)?|doc|emp(loyee)?|inv(oice)?|item"
    "|loan|member|order|part|passenger|patient|policy|product|reg|ref|serial|student|ticket|txn|user"
)
_NO_IDS = (
    ".*(paid|valid|covid|humid|fluid|solid|liquid|void|[hlrt]oid|opioid|medicaid|hybrid)|[a-z]?id"
    "|(max|min|high|highest|low|last|first|best|current|open|opening|winning|total|out|over|re)bid"
    "|(financial|first|legal)?aid|(amino|fatty|uric)?acid|said|laid|raid|grid|rapid|lipid|arid|amid|skid"
)
_OF_CODES = re.compile(
    rf"\b(id|code|zip|plz|zipcode|postcode|postleitzahl|[cegopstuv]id)$|(?<![a-z])id\b|^id({_OF})"
    rf"|\b(?!({_NO_IDS})\b)[a-z]+id\b"
)
_OF_NUMBERS = re.compile(
    rf"{_OF_CODES.pattern}|(number|nummer|numero|nr|nbr|编号|番号|номер)$|({_OF})(no|key|ref)$"
    rf"|^(num(ero)?|numéro|número|n|no|nr|codigo|código)( d[eu])? ({_OF})$"
    r"|(?<!plati)(?<!alumi)(?<!mag)num$|\b(no|key|pk|ref(erence)?|uuid|acct|account|konto|iban|ssn"
    r"|serial|passport|folio|matricule|phone|tel|mobile|msisdn|ean|gtin|upc|isbn|imei|sku|vin)$"
)


@dataclass(frozen=True)
class Schema:
    """The properties of a training table that are needed to read another table in the same way."""

    kinds: Mapping[str, str]  # of the features, in order: number, boolean, category or date
    target: str
    qid: str | None  # None when all rows are one list
    relevance: str  # binary or graded
    positive: str | None  # the class to rank first; None when graded
    classes: list[str] | None = None  # of the target in training; None when graded
    weight: str | None = None  # column of row weights in training
    decimal: str = "."
    categories: Mapping[str, list[str]] = field(default_factory=dict)  # values in training
    missing: Sequence[str] = ()  # texts that mean missing, beside the usual ones
    summaries: Mapping[str, Any] = field(default_factory=dict)  # of columns, to detect drift
    # How text is read, where the kind does not tell: the decimal mark and the unit of all numbers,
    # "seconds", the form of dates, or "as written".
    formats: Mapping[str, str] = field(default_factory=dict)
    zero_based: bool | str = "auto"  # whether indices of a LETOR file, of no other, started at 0

    def __post_init__(self) -> None:
        """Raise ValueError for a schema that training cannot produce, as in a damaged file."""
        for mapping in (self.kinds, self.categories, self.summaries, self.formats):
            if not isinstance(mapping, Mapping) or not all(isinstance(k, str) for k in mapping):
                raise ValueError("parts of its table must map the names of columns")
        kinds, forms = set(self.kinds.values()), [*self.formats.values(), self.decimal]
        is_read = all(map(notation.is_form, forms)) and self.decimal in (".", ",")
        if not kinds or not kinds <= {NUMBER, BOOLEAN, CATEGORY, DATE} or not is_read:
            raise ValueError("the columns of its table are unknown")

    def columns_of(self, *kinds: str) -> list[str]:
        """Return the feature columns of some kinds."""
        return [name for name, kind in self.kinds.items() if kind in kinds]


def check_columns(table: Table, names: Sequence[str], role: str) -> None:
    """Raise InputError for names that are not columns of the table."""
    columns = list(table.frame.columns)
    missing = [name for name in names if name not in columns]
    if missing:
        what = f"no column {listing(map(repr, missing), 5)} for {role}"
        raise InputError(f"{table.path}: {what}; {choices('columns', missing[0], columns)}")


class Column:
    """A column of a table, and how it is read."""

    def __init__(self, table: Table, name: str, missing: frozenset[str] = notation.MISSING) -> None:
        check_columns(table, [name], "the model")
        self.table, self.name = table, name
        self.missing, cells = missing | table.missing, table.frame[name]
        if cells.ndim > 1:
            what = f"occurs {cells.shape[1]} times; rename all but one, or --drop them"
            raise table.error(name, what)
        if table.kind == TEXT:  # numbers if all of it is plain numbers
            cells = notation.plain_numbers(cells, notation.PANDAS_MISSING | table.missing)
        self.cells = notation.without(cells, table.missing)
        inferred = pd.api.types.infer_dtype(self.cells, skipna=True)
        kinds = (kind for kind, names in _CONTENTS.items() if inferred in names)
        self.content = next(kinds, inferred)
        self.is_text = self.content == CATEGORY

    @cached_property
    def texts(self) -> tuple[list[str], Any, list[str]]:
        """The distinct texts, the place of each row's text among them, and those that mean missing.

        They have no blanks at their ends. The place of a missing one is -1.
        """
        raw = self.table.frame[self.name] if self.table.kind == TEXT else self.cells
        codes, cells = pd.factorize(raw)
        written = map(notation.written, np.asarray(cells, dtype=object))
        texts = pd.Series([unicodedata.normalize("NFC", text) for text in written], dtype=object)
        is_missing = texts.isin(self.missing) | texts.str.casefold().isin(self.missing)
        places, values = pd.factorize(texts.mask(is_missing))
        others = texts[is_missing & ~texts.isin({"", *self.table.missing})]
        return list(values), np.append(places, -1)[codes], list(others)

    @cached_property
    def integers(self) -> Any:
        """The values that are not missing if all of them are integers, otherwise no values."""
        values = self.cells.dropna()
        if self.content == NUMBER:
            floats = values.to_numpy(dtype=np.float64)
            is_exact = values.dtype.kind != "f" or (np.abs(floats) < notation.NOT_WHOLE).all()
            if is_exact and (np.isfinite(floats) & (floats == np.round(floats))).all():
                return values
        return values.iloc[:0]

    @cached_property
    def parsed(self) -> notation.Cells:
        """The distinct texts, parsed."""
        return notation.Cells(self.texts[0])

    def fits(self, form: str) -> bool:
        """Return whether all texts have a form."""
        return self.is_text and bool(self.parsed.read(form).notna().all())

    def has_only(self, mark: str) -> bool:
        """Return whether all cells are numbers with one decimal mark, but not with the other."""
        if not self.is_text:  # plain numbers, of which fractions have points
            of_text = self.content == NUMBER and self.table.kind == TEXT
            return of_text and mark == "." and bool((self.cells.dropna() % 1 != 0).any())
        form, other = map(self.parsed.amount_form, (mark, _OTHER[mark]))
        return self.fits(form) and not self.fits(other)

    def _spread(self, values: Any) -> Any:
        """Return the value of each row for values of the distinct texts."""
        return values.reindex(self.texts[1]).reset_index(drop=True)

    def note(self, text: str) -> None:
        """Add a note on the column, unless a note begins with the same text."""
        note = f"column {self.name!r}{text}"
        if not any(earlier.startswith(note) for earlier in self.table.notes):
            self.table.notes.append(note)

    def refuse(self, what: str, row: int, hint: str = "") -> NoReturn:
        """Raise InputError on the cell of a row."""
        cell = notation.written(self.table.frame[self.name].iloc[row])
        if "," in cell and "--decimal" not in hint:
            hint += "; --decimal , reads 1,5 and --decimal . reads 1.5"
        raise self.table.error(self.name, f"{what} but row {row + 1} holds {cell!r}{hint}")

    def _refuse_text(self, what: str, bad: Any, hint: str = "") -> NoReturn:
        self.refuse(what, int(np.argmax(self.texts[1] == np.argmax(bad))), hint)

    def choose(
        self, mark: str, option: str | None, *, is_sure: bool, keeps: bool = False
    ) -> tuple[str, str]:
        """Return kind and form, given the decimal marks of the table and of the options.

        Numbers with leading zeros are codes, unless `keeps`.
        """
        if not self.is_text:
            # Fractions beside decimal commas have points, also in a file whose cells fit both.
            form, is_span = "." if self.has_only(".") else "", self.content == notation.SECONDS
            return (NUMBER, notation.SECONDS) if is_span else (self.content, form)
        texts, is_typed = self.texts[0], self.table.kind == TYPED
        if {t.casefold() for t in texts} - {"0", "1"} in ({"true"}, {"false"}, {"true", "false"}):
            return BOOLEAN, ""
        amounts, days = [*map(self.parsed.amount_form, ".,")], self.parsed.date_forms()
        forms = [*days, *amounts, notation.SECONDS]
        best = max(forms, key=lambda form: self.parsed.read(form).notna().mean())
        is_code = not (keeps or is_typed) and notation.have_leading_zeros(texts)
        if is_code or not self.fits(best):
            if not is_code:
                self._check_slips(best, amounts, days)
                self._check_patterns(best)
            return CATEGORY, ""
        if best in days:
            return DATE, self._date_form(days)
        if is_typed and notation.is_plain(texts):
            self.note(": its numbers are stored as text, and treated as categories")
            return CATEGORY, notation.AS_WRITTEN
        if all(map(self.fits, amounts)):
            best = amounts[".,".index(option or self._decimal(amounts, mark, is_sure))]
        return NUMBER, best

    def _check_slips(self, best: str, amounts: list[str], days: list[str]) -> None:
        """Raise InputError if most texts, or all texts in several forms, are numbers or dates."""
        good = self.parsed.read(best).notna()
        either = np.any([self.parsed.read(form).notna() for form in (*amounts, *days)], axis=0)
        if (len(good) > 1 and good.mean() >= _MOST) or either.all():
            hint = ": correct it, or use --missing, --drop or --category"
            names = {notation.SECONDS: "durations"} | dict.fromkeys(days, "dates")
            what = names.get(best, "numbers")
            self._refuse_text(f"holds {what} in {good.sum()} of {len(good)} values,", ~good, hint)

    def _check_patterns(self, best: str) -> None:
        """Raise InputError if the texts are amounts in several units, or in a form not read."""
        texts, n_most = self.texts[0], _MOST * len(self.texts[0])
        bad, ways = self.parsed.read(best).isna(), "or use --drop or --category"
        for units in map(self.parsed.units, ".,"):
            are_codes = all(map(_HOUSE_NUMBER.fullmatch, texts))
            n_least = max(n_most, 2 * len(units))  # 1st and 2nd are two categories
            if 1 < len(units) < 4 and units.total() >= n_least and not are_codes:
                of_units = listing(unit or "no unit" for unit in sorted(units))
                self._refuse_text(f"holds amounts in {of_units},", bad, f": convert them, {ways}")
        like_dates = dates.look_like_dates(self.parsed.moments)
        for what, alike in (("dates", like_dates), ("amounts", self.parsed.like_amounts())):
            if len(texts) > 1 and alike.sum() >= n_most:
                hint = f", an unsupported format: convert it, {ways}"
                self._refuse_text(f"seems to hold {what},", bad, hint)

    def _decimal(self, forms: list[str], mark: str, is_sure: bool) -> str:
        """Return the decimal mark if both fit; if numbers depend on it, add a note or raise.

        A mark is one of thousands if many cells have it, each with three digits behind it, and no
        number of 1000 or more lacks it. Where that may be chance, the other columns decide.
        """
        values = {form[0]: self.parsed.read(form) for form in forms}
        differ = values["."] != values[","]
        if not differ.any():
            return mark
        first, bare = int(differ.argmax()), values["."][~differ].abs()
        marks = {*".,"} & {*"".join(np.array(self.texts[0], dtype=object)[differ])}
        numbers = {decimal: notation.written(values[decimal][first]) for decimal in ".,"}
        if len(marks) < 2 and len(bare) and differ.sum() >= _MANY and (bare < 1000).all():
            mark = "." if "," in marks else ","
        elif (len(bare) or len(marks) > 1) and not is_sure:
            hint = f", {numbers['.']} by --decimal . and {numbers[',']} by --decimal ,"
            self._refuse_text("holds numbers whose decimal mark is not clear,", differ, hint)
        way = f"--decimal {_OTHER[mark]} would read {numbers[_OTHER[mark]]}"
        self.note(f": {self.texts[0][first]!r} is read as {numbers[mark]}; {way}")
        return mark

    def _date_form(self, forms: list[str]) -> str:
        """Return the form of dates; a note says how day, month and year were told apart.

        Days differ more than years do. Months are often written by their first day: the field that
        never changes is the day. With slashes the month is first, else the day.
        """
        days = {form: self.parsed.read(form) for form in forms if self.fits(form)}
        if not days:
            return "year-month-day"
        has_zone = np.array([*map(dates.has_zone, self.texts[0])])
        if 0 < has_zone.sum() < len(has_zone):
            hint = ", without one: write them alike, or use --drop"
            self._refuse_text("holds times with a zone,", ~has_zone, hint)
        texts, n_years = self.texts[0], {form: days[form].dt.year.nunique() for form in days}
        few = _MORE_DAYS * min(n_years.values())
        is_short, way = re.search(r"\d{4}", self.parsed.moments[0][0]) is None, ""
        is_last = is_short and not re.match(r"\d\d-\d\d-", texts[0])  # the year of two digits

        def order(form: str) -> tuple[bool, bool, int]:
            is_odd = is_last and form == "year-month-day"
            return n_years[form] > few, is_odd, days[form].dt.day.nunique()

        best = min(days if "/" in texts[0] else reversed(days), key=order)
        if any((days[form] != days[best]).any() for form in days):
            way = "; if day and month are the other way round, write dates as 2024-12-31"
        is_far = not days[best].dt.year.between(1900, 2100).all()  # or of another calendar
        if way or is_short or is_far or "day" not in best:
            example = int(days[best].argmax()) if is_short or is_far else 0
            text, day = texts[example], days[best][example]
            # Not `strftime`, which does not take the year 10000 that 9999 is in another zone.
            self.note(f": {text!r} is read as {day.day:02} {day.month_name()} {day.year}{way}")
        return best

    def values(self, kind: str, form: str, when: str = ",") -> Any:
        """Return floats, or dates without zone; errors say `when` they must be of the kind."""
        cells = self.cells
        try:
            if self.is_text:
                cells = self._read_text(kind, form, when)
            elif self.content == notation.SECONDS and kind == NUMBER:
                texts = cells.astype(str).where(cells.notna())
                cells = pd.to_timedelta(texts).dt.total_seconds()
            elif self.content != kind and cells.notna().any():
                self.refuse(f"must hold {kind}s{when}", int(cells.notna().argmax()))
            if kind == DATE:
                return notation.without_zone(pd.to_datetime(cells, utc=True, errors="coerce"))
        except (pd.errors.OutOfBoundsTimedelta, pd.errors.OutOfBoundsDatetime) as error:
            what = "holds dates or durations too long for 64 bits; correct it, or --drop it"
            raise self.table.error(self.name, what) from error
        numbers = cells.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isinf(numbers).any():
            hint = "; leave the cell empty if it is missing, or --drop the column"
            self.refuse("must hold finite numbers,", int(np.isinf(numbers).argmax()), hint)
        return numbers

    def _read_text(self, kind: str, form: str, when: str) -> Any:
        """Return the numbers or dates that the texts mean, with a note on a notation."""
        form = form or self._date_form(self.parsed.date_forms())
        what, values = f"dates ({form})" if kind == DATE else "numbers", self.parsed.read(form)
        if values.isna().any():
            self._refuse_text(f"must hold {what}{when}", values.isna())
        if kind != DATE:
            odd = [text for text in self.texts[0] if not notation.is_plain([text], form)]
            if odd:
                text = max(odd, key=len)  # with all marks
                value = notation.written(values[self.texts[0].index(text)])
                self.note(f": {text!r} is read as {value}{' seconds' * (form == notation.SECONDS)}")
            if form != notation.SECONDS:  # -999,00 is a missing one where -999 is
                values = values.mask(values.isin(notation.numbers([*self.table.missing], ".")))
        return self._spread(values)

    def categories(self, kind: str, trained: Sequence[str] = ()) -> Any:
        """Return the cells as categories, true and false if they are boolean.

        Text that can only mean one category of the training table is replaced by that category.
        """
        known = trained or (("false", "true") if kind == BOOLEAN else ())
        return self._spread(pd.Series(matched(self.texts[0], known), dtype="category"))


def matched(texts: list[str], trained: Sequence[str]) -> list[str]:
    """Replace texts by the training text that they must mean: 1 for 1.0, True for TRUE or 1.

    01 is 1 where neither file has two texts that differ by such zeros.
    """
    plain, kept = {text: plain_text(text) for text in (*trained, *texts)}, frozenset(trained)
    truth = {"0": "False", "1": "True"}
    known = {plain[text] for text in trained} & {*truth, *truth.values()}
    if known in ({*truth}, {*truth.values()}):
        plain = {text: truth.get(form, form) for text, form in plain.items()}
    for zeros in ("", "0*"):
        forms = {text: re.sub(rf"^{zeros}(?=\d+$)", "", form) for text, form in plain.items()}
        n_trained = Counter(forms[text] for text in trained)
        n_here = Counter(forms[text] for text in {plain[text]: text for text in texts}.values())
        same = {forms[text]: text for text in trained if n_trained[forms[text]] == 1}
        same = {text: same.get(forms[text], text) for text in texts if n_here[forms[text]] == 1}
        texts = [text if text in kept else same.get(text, text) for text in texts]
    return texts


def plain_text(text: str) -> str:
    """Return a text with single blanks, True for TRUE, and 1 without the point of 1.0."""
    text = " ".join(text.split())
    if text.casefold() in {"true", "false"}:
        return text.capitalize()
    return re.sub(r"^([+-]?\d+)(\.0*|,00?)$", r"\1", text)


# Which columns are features: ids name rows, and say nothing --------------------------------------


def choose_kinds(
    table: Table, names: Sequence[str], roles: TableOptions
) -> tuple[dict[str, str], dict[str, str], str]:
    """Return kinds, forms and the decimal mark of a training table; notes name unused columns."""
    columns = [Column(table, name) for name in names]
    free = [column for column in columns if column.name not in roles.category]
    points, commas = (any(column.has_only(mark) for column in free) for mark in ".,")
    mark, is_sure = roles.decimal or ("," if commas else "."), points != commas
    kinds: dict[str, str] = {}
    forms: dict[str, str] = {}
    for column in columns:
        name, keeps = column.name, column.name in roles.keep
        kind, form, reason = CATEGORY, notation.AS_WRITTEN, ""
        if column in free:
            if column.cells.isna().all() or (column.is_text and not column.texts[0]):
                reason = "it has no values"
            elif column.content not in _CONTENTS:
                reason = f"its type is {column.content}"
            else:
                kind, form = column.choose(mark, roles.decimal, is_sure=is_sure, keeps=keeps)
                if not (keeps or table.kind == LETOR):
                    reason = _id_reason(column, kind)
                    _note_codes(column, kind if not reason else "")
        if reason:
            column.note(f" is not used: {reason}")
        else:
            kinds[name] = kind
            forms |= {name: form} if form else {}
    if not kinds:
        raise InputError("; ".join([f"{table.path}: no column is left to rank by", *table.notes]))
    return kinds, forms, mark


def _id_reason(column: Column, kind: str) -> str:
    """Return why a column looks like an id or like row numbers; "" if it does not."""
    values, reason = column.integers, ""
    if column.name == column.table.frame.columns[0] == "Unnamed: 0":
        reason = "it comes first and has no name, like row numbers"
    elif kind == CATEGORY and column.is_text:
        texts, codes, _ = column.texts
        is_free = sum(len(_WORD.findall(text)) for text in texts) >= _WORDS * len(texts)
        if not is_free and _nearly_differ(len(texts), (codes >= 0).sum()):
            reason = f"its text, such as {texts[0][:40]!r}, differs in nearly every row, like an id"
    elif len(values) >= _MIN_NUMBERED and values.diff().iloc[1:].nunique() == 1 < values.nunique():
        reason = "its values are integers in the order of the rows, like row numbers"
    elif _nearly_differ(values.nunique(), len(values)) and _OF_NUMBERS.search(_words(column.name)):
        reason = "its name is typical of ids, and its integers differ in nearly every row"
    return reason and f"{reason} (--keep {quote(column.name)} uses it)"


def _note_codes(column: Column, kind: str) -> None:
    """Add a note on a feature that may contain codes."""
    name, drop = quote(column.name), f"--drop {quote(column.name)} leaves it out"
    values, texts = column.integers, column.texts[0] if column.is_text else []
    if kind == CATEGORY:
        are_amounts = column.parsed.read(column.parsed.amount_form(".")).notna()
        pairs = zip(texts, are_amounts, strict=True)
        codes = [text for text, is_amount in pairs if is_amount or _CODE.fullmatch(text)]
        example = f"such as {(codes or texts)[0][:40]!r}"
        way = "encoded by character n-grams" if len(texts) > FEW_VALUES else "treated as categories"
        if column.table.kind != TYPED and notation.have_leading_zeros(texts):
            what = f"numbers with leading zeros, {example}, {way}"
            column.note(f" contains {what}; --keep {name} makes them amounts, {drop}")
        elif len(texts) > FEW_VALUES:
            column.note(f" has {len(texts)} distinct texts, {example}, {way}; {drop}")
        elif len(codes) > len(texts) / 2:
            column.note(f" contains codes {example}, {way}; {drop}")
    elif kind == NUMBER:
        odd = next(filter(notation.LIKE_CODE.fullmatch, texts), "")
        is_long = len(values) >= _MIN_DIFFERENT and values.min() >= _LONG
        is_long |= len(values) > 2 and (np.abs(values) >= 10**8).mean() >= _MOST
        is_code = values.nunique() > 2 and _OF_CODES.search(_words(column.name))
        is_date = are_dates(values.to_numpy(np.float64))
        if odd or is_date or is_code or (is_long and _nearly_differ(values.nunique(), len(values))):
            what = f"contains {odd!r}, like a code" if odd else "contains long integers, like ids"
            what = "has a name typical of codes" if is_code else what
            what = "looks like dates without separators" if is_date else what
            ways = f"--category {name} makes them categories, {drop}"
            column.note(f" {what}, but is read as numbers; {ways}")


def _nearly_differ(n_values: int, n_rows: int) -> bool:
    return n_values >= max(2, _MOST * n_rows)


def _words(name: str) -> str:
    """Return a name as words: accountNo and ACCOUNT_NO are account no."""
    return re.sub(r"[\W_\d]+", " ", re.sub("(?<=[a-z])(?=[A-Z])", " ", name)).strip().casefold()
