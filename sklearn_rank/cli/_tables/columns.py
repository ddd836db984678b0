"""Columns of a table: their kinds, and the forms in which their cells are read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pandas as pd

from sklearn_rank.cli._tables import notation
from sklearn_rank.cli._tables.errors import InputError, listing
from sklearn_rank.cli._tables.reading import Table

_OTHER_WAY = "if day and month are the other way round, write dates as 2024-12-31"

NUMBER, BOOLEAN, CATEGORY, DATE = "number", "boolean", "category", "date"
AS_WRITTEN = "as written"
_CONTENTS = {
    BOOLEAN: {"boolean"},
    NUMBER: {"decimal", "integer", "floating", "mixed-integer-float"},
    notation.SECONDS: {"timedelta", "timedelta64", "time"},
    DATE: {"datetime", "datetime64", "date"},
    CATEGORY: {"string", "mixed-integer", "mixed", "categorical"},
}
_MOST = 0.9  # share of a column's texts from which on the others count as typing errors


@dataclass(frozen=True)
class Schema:
    """The properties of a training table that are needed to read another table in the same way."""

    kinds: Mapping[str, str]  # of the features, in order: number, boolean, category or date
    target: str
    qid: str | None  # None when all rows are one list
    relevance: str  # binary or graded
    positive: str | None  # the class to rank first; None when graded
    is_letor: bool = False  # whether missing feature columns are zeros
    classes: list[str] | None = None  # of the target in training; None when graded or too many
    weight: str | None = None  # column of row weights in training
    decimal: str = "."
    categories: Mapping[str, list[str]] = field(default_factory=dict)  # values in training
    missing: Sequence[str] = ()  # texts that mean missing, beside the usual ones
    summaries: Mapping[str, Any] = field(default_factory=dict)  # of columns, to detect drift
    # How text is read, where the kind does not tell: "." or "," (the decimal mark, and "%" if there
    # were percent signs), "seconds", the form of dates, or "as written".
    formats: Mapping[str, str] = field(default_factory=dict)
    zero_based: bool | str = "auto"  # whether the indices of a LETOR file started at 0

    def columns_of(self, *kinds: str) -> list[str]:
        """Return the feature columns of some kinds."""
        return [name for name, kind in self.kinds.items() if kind in kinds]


def check_schema(schema: Schema) -> None:
    """Raise ValueError for a schema that no training gives; one of a file can hold anything."""
    mappings, texts = ("kinds", "categories", "summaries", "formats"), ("target", "relevance")
    parts = {**dict.fromkeys(mappings, Mapping), **dict.fromkeys(texts, str), "is_letor": bool}
    for name, kind in parts.items():
        if not isinstance(getattr(schema, name), kind):
            raise ValueError(f"{name} of its table must be {kind.__name__}")
    kinds, forms = set(schema.kinds.values()), {*schema.formats.values(), schema.decimal}
    is_known = kinds <= {NUMBER, BOOLEAN, CATEGORY, DATE} and forms <= {*notation.FORMS, AS_WRITTEN}
    names = [*schema.kinds, *(one for one in (schema.qid, schema.weight) if one is not None)]
    if not (kinds and is_known and all(isinstance(name, str) for name in names)):
        raise ValueError("the columns of its table are unknown")


def check_columns(table: Table, names: Sequence[str], role: str) -> None:
    """Raise InputError for names that are not columns of the table."""
    columns = list(table.frame.columns)
    missing = [name for name in names if name not in columns]
    if missing:
        by_form = {column.strip().casefold(): column for column in columns}
        close = difflib.get_close_matches(missing[0].strip().casefold(), by_form, n=1)
        guess = f"did you mean {by_form[close[0]]!r}? " if close else ""
        if len(columns) == 1:
            guess = "what separates cells was not found (--sep MARK says it): "
        elif any(name[:1].isdigit() for name in columns):
            guess = "is the line with the names missing? "
        what = f"no column {listing(map(repr, missing), 5)} for {role}"
        raise InputError(f"{table.path}: {what}; {guess}the columns are {listing(columns)}")


class Texts(NamedTuple):
    """The distinct texts of a column in the order of their first rows."""

    values: list[str]  # without blanks at their ends, and without missing ones
    codes: Any  # position of each row's text in `values`; -1 where it is missing
    unusual: list[str]  # texts that count as missing, but do not in pandas


class Column:
    """A column of a table, how it is read, and the list of notes on that."""

    def __init__(
        self, table: Table, name: str, notes: list[str], missing: frozenset[str] = notation.MISSING
    ) -> None:
        self.table, self.name, self.notes = table, name, notes
        self.missing = missing | table.missing
        self.cells = notation.without(table.cells(name), table.missing)
        found = pd.api.types.infer_dtype(self.cells, skipna=True)
        self.content = next((kind for kind, names in _CONTENTS.items() if found in names), found)
        self.is_text = self.content == CATEGORY
        self._read: dict[str, Any] = {}

    @cached_property
    def texts(self) -> Texts:
        """The distinct texts."""
        raw = self.table.frame[self.name] if self.table.is_text else self.cells
        codes, cells = pd.factorize(raw)
        texts = pd.Series(map(notation.written, np.asarray(cells, dtype=object)), dtype=object)
        is_missing = texts.isin(self.missing) | texts.str.casefold().isin(self.missing)
        places, values = pd.factorize(texts.mask(is_missing))
        unusual = texts[is_missing & ~texts.isin(notation.PANDAS_MISSING | self.table.missing)]
        return Texts(list(values), np.append(places, -1)[codes], list(unusual))

    def read(self, form: str) -> Any:
        """Return the values of distinct texts read in a form, NaN or NaT where they do not fit."""
        if form not in self._read:
            self._read[form] = notation.read_texts(self.texts.values, form)
        return self._read[form]

    def share(self, form: str) -> float:
        """Return the share of the distinct texts that have a form."""
        return float(self.read(form).notna().mean())

    def fits(self, form: str) -> bool:
        """Return whether all texts have a form."""
        return self.is_text and self.share(form) == 1

    def spread(self, values: Any) -> Any:
        """Return the value of each row for values of the distinct texts."""
        return values.reindex(self.texts.codes).reset_index(drop=True)

    def note(self, text: str) -> None:
        """Note something on the column, unless a note begins with it."""
        note = f"column {self.name!r}{text}"
        if not any(one.startswith(note) for one in self.notes):
            self.notes.append(note)

    def refuse(self, what: str, row: int, hint: str = "") -> NoReturn:
        """Raise InputError on the cell of a row."""
        cell = notation.written(self.table.frame[self.name].iloc[row])
        hint += "; --decimal , reads 1,5 and --decimal . reads 1.5" if "," in cell else ""
        raise self.table.error(self.name, f"{what} but row {row + 1} holds {cell!r}{hint}")

    def _refuse_text(self, what: str, bad: Any, hint: str = "") -> NoReturn:
        self.refuse(what, int(np.argmax(self.texts.codes == np.argmax(bad))), hint)

    @property
    def fault(self) -> str:
        """Why no ranker can use the column; "" if one can."""
        if self.cells.isna().all() or (self.is_text and not self.texts.values):
            return "it has no values"
        return "" if self.content in _CONTENTS else f"its type is {self.content}"

    def choose(self, mark: str, given: str | None, *, keeps: bool = False) -> tuple[str, str]:
        """Return kind and form, by the decimal mark of the table, and that of the options.

        Numbers with leading zeros are codes, unless `keeps`.
        """
        if not self.is_text:
            is_span = self.content == notation.SECONDS
            # Fractions beside decimal commas have points, also in a file whose cells fit both.
            is_written = mark == "," and self.content == NUMBER and self.table.is_text
            form = "." * bool(is_written and (self.cells.dropna() % 1 != 0).any())
            return (NUMBER, notation.SECONDS) if is_span else (self.content, form)
        values = self.texts.values
        is_boolean = {text.casefold() for text in values} <= {"true", "false"}
        is_code = not (keeps or self.table.is_typed) and notation.have_leading_zeros(values)
        if is_boolean or is_code:
            return BOOLEAN if is_boolean else CATEGORY, ""
        dates = notation.date_forms(values)
        best = max([".", ",", notation.SECONDS, *dates], key=self.share)
        kind = DATE if best in dates else NUMBER
        if not self.fits(best):
            good = self.read(best).notna()
            either = np.any([self.read(form).notna() for form in (".", ",", *dates)], axis=0)
            if (len(good) > 1 and good.mean() >= _MOST) or either.all():
                hint = ": correct it, or use --missing, --drop or --category"
                what = "durations" if best == notation.SECONDS else f"{kind}s"
                what = f"holds {what} in {good.sum()} of {len(good)} values,"
                self._refuse_text(what, ~good, hint)
            return CATEGORY, ""
        if kind == DATE:
            return DATE, self._date_form(dates)
        if self.table.is_typed and notation.is_plain(values):
            self.note(": its numbers are text, and taken as categories")
            return CATEGORY, AS_WRITTEN
        mark = mark if self.fits(mark) else best
        return NUMBER, best if best == notation.SECONDS else self._number_form(mark, given)

    def _number_form(self, mark: str, given: str | None) -> str:
        texts, other = self.texts.values, ",."[mark == ","]
        values, others = self.read(mark), self.read(other)
        if given is None and self.fits(other) and (values != others).any():
            at = int(np.argmax(values != others))
            way = f"--decimal {other} would read {notation.written(others[at])}"
            self.note(f": {texts[at]!r} is read as {notation.written(values[at])}; {way}")
        money = sorted(set(re.findall(notation.CURRENCY, " ".join(texts), re.I)))
        if len(money) > 1:
            what = f"holds amounts in {listing(money)}; convert them, or --drop it"
            raise self.table.error(self.name, what)
        return mark + "%" * any("%" in text for text in texts)

    def _date_form(self, forms: list[str]) -> str:
        """Return the form of dates; a note says how day and month were told apart."""
        dates = {form: self.read(form) for form in forms if self.fits(form)}
        best = next(iter(dates), notation.ISO)
        if any((other != dates[best]).any() for other in dates.values()):
            # Months are often written by their first day: the field that never changes is the day.
            best = min(dates, key=lambda form: dates[form].dt.day.nunique())
            self._note_date(0, dates[best], _OTHER_WAY)
        last = int(dates[best].argmax()) if best in dates else 0
        if "%y" in best and dates[best].iloc[last] > pd.Timestamp.now():  # 68 is 2068, 69 is 1969
            way = "if that is another century, write years with four digits"
            self._note_date(last, dates[best], way)
        return best

    def _note_date(self, at: int, dates: Any, way: str) -> None:
        self.note(f": {self.texts.values[at]!r} is read as {dates.iloc[at]:%d %B %Y}; {way}")

    def values(self, kind: str, form: str, when: str = ",") -> Any:
        """Return floats, or dates without zone; errors say `when` they must be of the kind."""
        if form[1:] == "%" and not (self.is_text and any("%" in t for t in self.texts.values)):
            self.note(" had percent signs in training, and has none here")
        try:
            if self.is_text:
                found = self._read_text(kind, form, when)
            elif self.content not in ([DATE] if kind == DATE else [NUMBER, notation.SECONDS]):
                if self.cells.notna().any():
                    self.refuse(f"must hold {kind}s{when}", int(self.cells.notna().argmax()))
                found = pd.Series(np.nan, self.cells.index)
            elif self.content == notation.SECONDS:
                text = self.cells.astype(str).where(self.cells.notna())
                found = pd.to_timedelta(text).dt.total_seconds()
            else:
                found = self.cells
            if kind == DATE:
                return notation.without_zone(pd.to_datetime(found, utc=True, errors="coerce"))
        except (pd.errors.OutOfBoundsTimedelta, pd.errors.OutOfBoundsDatetime) as error:
            what = "dates that microseconds in" if kind == DATE else "durations that"
            what = f"holds {what} 64 bits can't hold; correct it, or --drop it"
            raise self.table.error(self.name, what) from error
        numbers = found.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isinf(numbers).any():
            what = "holds infinite values; leave the cells empty if they are missing, or --drop it"
            raise self.table.error(self.name, what)
        return numbers

    def _read_text(self, kind: str, form: str, when: str) -> Any:
        """Return the numbers or dates that the texts mean, with a note on a notation."""
        texts = self.texts.values
        form = form or self._date_form(notation.date_forms(texts))
        values, what = self.read(form), f"must hold {kind}s{f' ({form})' * (kind == DATE)}{when}"
        if values.isna().any():
            self._refuse_text(what, values.isna())
        if (form[0] in ".," or form == notation.SECONDS) and not notation.is_plain(texts, form):
            if form[0] in ".," and not notation.is_plain(texts):
                self._check_marks(form[0], what)
            odd = next(i for i, text in enumerate(texts) if not notation.is_plain([text], form))
            unit = " seconds" if form == notation.SECONDS else ""
            self.note(f": {texts[odd]!r} is read as {notation.written(values[odd])}{unit}")
        if form[0] in ".,":  # -999,00 is a missing one where -999 is
            values = values.mask(values.isin(notation.numbers([*self.table.missing], ".")))
        return self.spread(values)

    def _check_marks(self, mark: str, what: str) -> None:
        """Raise InputError for a text whose thousands mark may be meant as decimal mark."""
        other, texts = ",."[mark == ","], self.texts.values
        unclear = self.read(other).notna() & (self.read(other) != self.read(mark))
        unclear &= np.array([other in text for text in texts])
        long = any(re.match(r"[-+]?\d{4}", text) for text in texts)
        if unclear.any() and (long or unclear.mean() <= 1 - _MOST):
            self._refuse_text(what, unclear)

    def categories(self, kind: str) -> Any:
        """Return the cells as categories, true and false if they are boolean."""
        values = self.texts.values
        if kind == BOOLEAN:
            values = [{"1": "true", "0": "false"}.get(text, text.casefold()) for text in values]
        return self.spread(pd.Series(values, dtype="category"))
