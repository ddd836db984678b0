"""The feature columns: their kinds, and how their cells are read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from shlex import quote
from typing import Any, NamedTuple, NoReturn

import numpy as np

from sklearn_rank.cli import _numbers as notation
from sklearn_rank.cli._errors import InputError, count, import_extra, listing
from sklearn_rank.cli._tables import Table

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
_MIN_NUMBERED = 10  # rows, from which on a column of row numbers is recognised
_FEW_CATEGORIES, _SOME_ROWS = 40, 20  # unseen ones among many are an error from some rows on


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
    # How text is read, where the kind does not tell: "." or "," (the decimal mark, and "%" if there
    # were percent signs), "seconds", the form of dates, or "as written".
    formats: Mapping[str, str] = field(default_factory=dict)

    def columns_of(self, *kinds: str) -> list[str]:
        """Return the feature columns of some kinds."""
        return [name for name, kind in self.kinds.items() if kind in kinds]


def check_schema(schema: Schema) -> None:
    """Raise ValueError for a schema that no training gives; one of a file can hold anything."""
    texts = (*schema.kinds, *(schema.classes or ()), schema.target)
    optional = [one for one in (schema.qid, schema.positive, schema.weight) if one is not None]
    if not all(isinstance(one, str) for one in (*texts, *optional)):
        raise ValueError("the names of columns and classes must be texts")
    if not schema.kinds or not set(schema.kinds.values()) <= {NUMBER, BOOLEAN, CATEGORY, DATE}:
        raise ValueError("the kinds of the columns are unknown")
    forms = {*notation.FORMS, AS_WRITTEN}
    if schema.decimal not in (".", ",") or not set(schema.formats.values()) <= forms:
        raise ValueError("the formats of the columns are unknown")
    if not all(isinstance(one, str) for known in schema.categories.values() for one in known):
        raise ValueError("the categories must be texts")


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
        raise InputError(
            f"{table.path}: no column {listing(map(repr, missing), 5)} for {role}; {guess}the "
            f"columns are {listing(columns)}"
        )


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
        self.table, self.name, self.notes, self.missing = table, name, notes, missing
        self.cells = table.frame[name]
        types = import_extra("pandas").api.types
        dtype, found = self.cells.dtype, NUMBER
        if types.is_bool_dtype(dtype) or not types.is_numeric_dtype(dtype):
            # pandas reads booleans with missing values as objects.
            found = types.infer_dtype(self.cells, skipna=True)
        self.content = next((kind for kind, names in _CONTENTS.items() if found in names), found)
        self.is_text = self.content == CATEGORY
        self._read: dict[str, Any] = {}

    @cached_property
    def texts(self) -> Texts:
        """The distinct texts."""
        cells = self.cells
        if self.table.text is not None:
            cells = self.table.text.iloc[:, self.table.frame.columns.get_loc(self.name)]
        codes, cells = import_extra("pandas").factorize(cells)
        values: dict[str, int] = {}
        places, unusual = [], []
        for text in map(notation.written, np.asarray(cells, dtype=object)):
            is_missing = text in self.missing or text.casefold() in self.missing
            unusual += [text] if is_missing and text not in notation.PANDAS_MISSING else []
            places.append(-1 if is_missing else values.setdefault(text, len(values)))
        return Texts(list(values), np.array([*places, -1])[codes], unusual)

    def read(self, form: str) -> Any:
        """Return what the distinct texts mean in a form, NaN or NaT where they do not fit."""
        if form not in self._read:
            self._read[form] = notation.read_texts(self.texts.values, form)
        return self._read[form]

    def fits(self, form: str) -> bool:
        """Return whether all texts have a form."""
        return self.is_text and len(self.read(form)) > 0 and bool(self.read(form).notna().all())

    def spread(self, values: Any) -> Any:
        """Return the value of each row for values of the distinct texts."""
        return values.reindex(self.texts.codes).reset_index(drop=True)

    def note(self, text: str) -> None:
        """Note something on the column."""
        self.notes.append(f"column {self.name!r}{text}")

    def refuse(self, what: str, row: int, hint: str = "") -> NoReturn:
        """Raise InputError on the cell of a row."""
        cell = notation.written(self.cells.iloc[row])
        hint += "; --decimal , reads 1,5 and --decimal . reads 1.5" if "," in cell else ""
        raise self.table.error(self.name, f"{what} but row {row + 1} holds {cell!r}{hint}")

    def _refuse_text(self, what: str, bad: Any, hint: str = "") -> NoReturn:
        self.refuse(what, int(np.argmax(self.texts.codes == np.argmax(bad))), hint)

    def choose(self, mark: str, given: str | None) -> tuple[str, str]:
        """Return kind and format; a kind that is none of the four says why there is none.

        `mark` is the decimal mark of the table, `given` that of the options.
        """
        if self.cells.isna().all() or (self.is_text and not self.texts.values):
            return "it has no values", ""
        if self.content == notation.SECONDS:
            return NUMBER, notation.SECONDS
        if not self.is_text:
            is_known = self.content in {NUMBER, BOOLEAN, DATE}
            return self.content if is_known else f"its type is {self.content}", ""
        if {text.casefold() for text in self.texts.values} <= {"true", "false"}:
            return BOOLEAN, ""
        return self._choose_form(mark, given)

    def _choose_form(self, mark: str, given: str | None) -> tuple[str, str]:
        values = self.texts.values
        dates = notation.date_forms(values)
        forms = [".", ",", notation.SECONDS, *dates]
        best = max(forms, key=lambda form: float(self.read(form).notna().mean()))
        kind = DATE if best in dates else NUMBER
        if self.fits(best):
            if kind == DATE:
                return DATE, self._date_form([form for form in dates if self.fits(form)])
            if best == notation.SECONDS:
                return NUMBER, notation.SECONDS
            if self.table.is_typed and notation.is_plain(values):
                self.note(": its numbers are text, and taken as categories")
                return CATEGORY, AS_WRITTEN
            return NUMBER, self._number_form(mark if self.fits(mark) else best, given)
        good = self.read(best).notna()
        if (len(good) > 1 and good.mean() >= _MOST) or notation.look_like_numbers(values):
            hint = ": correct it, or use --drop or --category for the column"
            what = "durations" if best == notation.SECONDS else f"{kind}s"
            self._refuse_text(f"holds {what} in {good.sum()} of {len(good)} values,", ~good, hint)
        return CATEGORY, ""

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
        best, dates = forms[0], {form: self.read(form) for form in forms}
        if any((other != dates[best]).any() for other in dates.values()):
            # Months are often written by their first day: the field that never changes is the day.
            best = min(dates, key=lambda form: dates[form].dt.day.nunique())
            read = f"{self.texts.values[0]!r} is read as {dates[best].iloc[0]:%d %B %Y}"
            way = "if day and month are the other way round, write dates as 2024-12-31"
            self.note(f": {read}; {way}")
        return best

    def id_reason(self, kind: str) -> str:
        """Return why the column looks like an id or like row numbers; "" if it does not."""
        n, way = len(self.cells), f" (--keep {quote(self.name)} uses it)"
        if self.name == self.table.frame.columns[0] == "Unnamed: 0":
            return f"it comes first and has no name, like row numbers{way}"
        if kind == CATEGORY and self.is_text and n == len(self.texts.values) > 1:
            return f"its text differs in every row, like an id{way}"
        if self.content == NUMBER and n >= _MIN_NUMBERED:
            try:
                values = self.cells.to_numpy(dtype=np.float64, na_value=np.nan)
            except OverflowError:  # an integer that is no float: refused where numbers are read
                return ""
            if not np.isfinite(values).all():
                return ""
            with np.errstate(over="ignore"):
                steps = np.diff(values)
            if (values == np.floor(values)).all() and ((steps > 0).all() or (steps < 0).all()):
                return f"its values are integers in the order of the rows, like row numbers{way}"
        return ""

    def values(self, kind: str, form: str, when: str = ",") -> Any:
        """Return floats, or dates without zone; errors say `when` they must be of the kind."""
        pandas = import_extra("pandas")
        if form[1:] == "%" and not (self.is_text and any("%" in t for t in self.texts.values)):
            self.note(" had percent signs in training, and has none here")
        if self.is_text:
            if not form:
                found, form = self.choose(".", None)
                form = form if found == DATE else notation.ISO
            shown = f" ({form})" if kind == DATE else ""
            values = self._read_text(form, f"must hold {kind}s{shown}{when}")
        elif self.content not in ([DATE] if kind == DATE else [NUMBER, notation.SECONDS]):
            if self.cells.notna().any():
                self.refuse(f"must hold {kind}s{when}", int(self.cells.notna().argmax()))
            values = pandas.Series(np.full(len(self.cells), np.nan))
        elif self.content == notation.SECONDS:
            text = self.cells.astype(str).where(self.cells.notna())
            try:
                values = pandas.to_timedelta(text).dt.total_seconds()
            except (pandas.errors.OutOfBoundsTimedelta, pandas.errors.OutOfBoundsDatetime) as error:
                what = "holds durations that 64 bits can't hold; correct it, or --drop it"
                raise self.table.error(self.name, what) from error
        else:
            values = self.cells
        if kind == DATE:
            try:
                dates = pandas.to_datetime(values, utc=True, errors="coerce")
                return notation.without_zone(dates)
            except pandas.errors.OutOfBoundsDatetime as error:
                what = (
                    "holds dates that microseconds in 64 bits can't hold; correct it, or --drop it"
                )
                raise self.table.error(self.name, what) from error
        values = values.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isinf(values).any():
            what = "holds infinite values; leave the cells empty if they are missing, or --drop it"
            raise self.table.error(self.name, what)
        return values

    def _read_text(self, form: str, what: str) -> Any:
        """Return the numbers or dates that the texts mean, with a note on a notation."""
        texts, values = self.texts.values, self.read(form)
        if values.isna().any():
            self._refuse_text(what, values.isna())
        if (form[0] in ".," or form == notation.SECONDS) and not notation.is_plain(texts):
            if form[0] in ".,":
                self._check_marks(form[0], what)
            odd = next(i for i, text in enumerate(texts) if not notation.is_plain([text]))
            self.note(f": {texts[odd]!r} is read as {notation.written(values[odd])}")
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
        pandas, values = import_extra("pandas"), self.texts.values
        if kind == BOOLEAN:
            values = [{"1": "true", "0": "false"}.get(text, text.casefold()) for text in values]
        dtype = pandas.CategoricalDtype(sorted(set(values)))
        return self.spread(pandas.Series(values, dtype=object)).astype(dtype)


def choose_features(
    table: Table, names: Sequence[str], notes: list[str], keep: Any, category: Any, given: Any
) -> tuple[dict[str, str], dict[str, str], str]:
    """Return kinds, formats and the decimal mark of a training table; notes name unused columns."""
    columns = [Column(table, name, notes) for name in names]
    free = [column for column in columns if column.name not in category]
    mark = given or (",."[all(c.fits(".") or not c.fits(",") for c in free)])
    kinds: dict[str, str] = {}
    formats: dict[str, str] = {}
    for column in columns:
        name, reason = column.name, ""
        kind, form = (CATEGORY, AS_WRITTEN) if name in category else column.choose(mark, given)
        if kind not in {NUMBER, BOOLEAN, CATEGORY, DATE}:
            reason = kind
        elif name not in {*keep, *category} and not table.is_letor:
            reason = column.id_reason(kind)
        if reason:
            column.note(f" is not used: {reason}")
        else:
            kinds[name] = kind
            formats |= {name: form} if form else {}
    if not kinds:
        raise InputError(f"{table.path}: no column is left to rank by")
    return kinds, formats, mark


def feature_frame(table: Table, schema: Schema, notes: list[str], when: str = ",") -> Any:
    """Return the features as pipelines take them; errors say `when` a column held numbers."""
    lost = [name for name in schema.kinds if name not in table.frame.columns]
    absent = [name for name in lost if re.fullmatch(r"f\d+", name)]
    if absent and table.is_letor and schema.is_letor:
        notes.append(f"features that never occur and count as 0: {listing(absent, 10)}")
        table = replace(table, frame=table.frame.assign(**dict.fromkeys(absent, 0.0)))
        lost = [name for name in lost if name not in absent]
    if lost:
        what = f"lacks {len(lost)} of the columns that the model needs: {listing(lost, 10)}"
        raise InputError(f"{table.path}: {what}")
    X = {}
    for name, kind in schema.kinds.items():
        form = schema.formats.get(name, "")
        column = Column(
            table, name, notes, frozenset({""}) if form == AS_WRITTEN else notation.MISSING
        )
        if kind == NUMBER:
            X[name] = column.values(kind, form or schema.decimal, when)
        else:
            X[name] = column.values(kind, form, when) if kind == DATE else column.categories(kind)
        if column.is_text and column.texts.unusual:
            texts = " and ".join(map(repr, column.texts.unusual))
            column.note(f": {texts} is read as missing; --category {quote(name)} keeps it")
    return import_extra("pandas").DataFrame(X)


def check_known(X: Any, schema: Schema, path: str, notes: list[str]) -> None:
    """Note values that did not occur in training; if no others occur, raise InputError."""
    for name in schema.kinds:
        column, known = X[name].dropna(), schema.categories.get(name, [])
        new = ~column.isin(known)
        if not len(column):
            notes.append(f"column {name!r} is missing in every row")
        elif known and new.all() and (len(known) <= _FEW_CATEGORIES or len(new) >= _SOME_ROWS):
            what = f"it holds {column.iloc[0]!r}, in training {listing(map(repr, known), 5)}"
            raise InputError(
                f"{path}: no row of column {name!r} has a value that occurred in training; {what}"
            )
        elif known and new.any():
            rows = count(int(new.sum()), "row")
            notes.append(f"column {name!r}: {rows} with values that training never saw")
