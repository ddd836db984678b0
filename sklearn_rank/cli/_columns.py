"""The feature columns: their kinds, and how their cells are read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from shlex import quote
from typing import Any, NoReturn

import numpy as np

from sklearn_rank._protocols import Floats, Indices
from sklearn_rank.cli._errors import InputError, count, import_extra, listing
from sklearn_rank.cli._numbers import CURRENCY, ISO, MOST, SECONDS, is_plain, written
from sklearn_rank.cli._tables import Table, content

NUMBER, BOOLEAN, CATEGORY, DATE = "number", "boolean", "category", "date"
AS_WRITTEN = "as written"
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


def check_columns(table: Table, names: Sequence[str], role: str) -> None:
    """Raise InputError for names that are not columns of the table."""
    columns = list(table.frame.columns)
    missing = [name for name in names if name not in columns]
    if missing:
        by_form = {column.strip().casefold(): column for column in columns}
        close = difflib.get_close_matches(missing[0].strip().casefold(), by_form, n=1)
        guess = f"did you mean {by_form[close[0]]!r}? " if close else ""
        raise InputError(
            f"{table.path}: no column {listing(map(repr, missing), 5)} for {role}; {guess}the "
            f"columns are {listing(columns)}"
        )


class Column:
    """A column of a table, how it is read, and the list of notes on that."""

    def __init__(self, table: Table, name: str, notes: list[str]) -> None:
        self.table, self.name, self.notes = table, name, notes
        self.cells, self.content = table.frame[name], content(table.frame[name])
        self.texts: Any = table.texts(name) if self.content == CATEGORY else None

    def note(self, text: str) -> None:
        self.notes.append(f"column {self.name!r}{text}")

    def error(self, text: str) -> InputError:
        return InputError(f"{self.table.path}: column {self.name!r} {text}")

    def refuse(self, what: str, row: int, hint: str = "") -> NoReturn:
        """Raise InputError on the cell of a row."""
        cell = written(self.cells.iloc[row])
        hint += "; --decimal , reads 1,5 and --decimal . reads 1.5" if "," in cell else ""
        raise self.error(f"{what} but row {row + 1} holds {cell!r}{hint}")

    def choose(self, mark: str, given: str | None) -> tuple[str, str]:
        """Return kind and format; a kind that is none of the four says why there is none.

        `mark` is the decimal mark of the table, `given` that of the options.
        """
        texts = self.texts
        if self.cells.isna().all() or (texts and not texts.values):
            return "it has no values", ""
        if not texts:
            known = {NUMBER: NUMBER, BOOLEAN: BOOLEAN, DATE: DATE, SECONDS: NUMBER}
            kind = known.get(self.content, f"its type is {self.content}")
            return kind, SECONDS if self.content == SECONDS else ""
        marks = texts.number_marks()
        found = CATEGORY, ""
        if {text.casefold() for text in texts.values} <= {"true", "false"}:
            found = BOOLEAN, ""
        elif self.table.is_typed and marks and is_plain(texts.values):
            self.note(": its numbers are text, and taken as categories")
            found = CATEGORY, AS_WRITTEN
        elif marks:
            found = NUMBER, self._number_format(mark if mark in marks else marks[0], given)
        elif texts.is_duration():
            found = NUMBER, SECONDS
        elif form := self._date_format():
            found = DATE, form
        else:
            self._check_no_numbers()
        return found

    def _number_format(self, mark: str, given: str | None) -> str:
        texts = self.texts.values
        other = ",."[mark == ","]
        values = self.texts.numbers(mark)
        if given is None and other in self.texts.number_marks():
            others = self.texts.numbers(other)
            at = int(np.argmax(values != others))
            if values[at] != others[at]:
                self.note(
                    f": {texts[at]!r} is read as {written(values[at])}; --decimal {other} would "
                    f"read {written(others[at])}"
                )
        if is_plain(texts):
            return mark
        money = sorted(set(re.findall(CURRENCY, " ".join(texts), re.I)))
        if len(money) > 1:
            raise self.error(f"holds amounts in {listing(money)}; convert them, or --drop it")
        return mark + ("%" if any("%" in text for text in texts) else "")

    def _date_format(self) -> str:
        """Return the form of dates or ""; a note says how day and month were told apart."""
        shares = self.texts.date_forms()
        best = max(shares, key=shares.__getitem__, default="")
        if not best or shares[best] < MOST:
            return ""
        if shares[best] < 1:
            self._refuse_rest("dates", self.texts.read(best).notna())
        dates = {form: self.texts.read(form) for form, share in shares.items() if share == 1}
        if any((other != dates[best]).any() for other in dates.values()):
            # Months are often written by their first day: the field that never changes is the day.
            best = min(dates, key=lambda form: dates[form].dt.day.nunique())
            self.note(
                f": {self.texts.values[0]!r} is read as {dates[best].iloc[0]:%d %B %Y}; if day and "
                "month are the other way round, write dates as 2024-12-31"
            )
        return best

    def _check_no_numbers(self) -> None:
        """Raise InputError for text that is nearly all numbers, which would become a category."""
        good = max((~np.isnan(self.texts.numbers(mark)) for mark in ".,"), key=np.mean)
        if (len(good) > 1 and np.mean(good) >= MOST) or self.texts.look_like_numbers():
            self._refuse_rest("numbers", good)

    def _refuse_rest(self, what: str, good: Any) -> NoReturn:
        row = self.texts.row_of(int(np.argmin(good)))
        hint = ": correct it, or use --drop or --category for the column"
        self.refuse(f"holds {what} in {np.sum(good)} of {len(good)} values,", row, hint)

    def id_reason(self, kind: str, form: str) -> str:
        """Return why the column looks like an id or like row numbers; "" if it does not."""
        n, way = len(self.cells), f" (--keep {quote(self.name)} uses it)"
        if self.name == self.table.frame.columns[0] == "Unnamed: 0":
            return f"it comes first and has no name, like row numbers{way}"
        if kind == CATEGORY and self.texts and n == len(self.texts.values) > 1:
            return f"its text differs in every row, like an id{way}"
        if kind == NUMBER and n >= _MIN_NUMBERED:
            values = Column(self.table, self.name, []).numbers(form)
            steps = np.diff(values)
            if (values == np.floor(values)).all() and ((steps > 0).all() or (steps < 0).all()):
                return f"its values are integers in the order of the rows, like row numbers{way}"
        return ""

    def numbers(self, form: str, what: str = "must hold numbers,") -> Floats:
        """Return the cells as floats, NaN where they are missing."""
        if form[1:] == "%" and not (self.texts and any("%" in text for text in self.texts.values)):
            self.note(" had percent signs in training, and has none here")
        if self.texts:
            values = self._read_text(form, what).to_numpy(np.float64)
        elif self.content == SECONDS:
            text = self.cells.astype(str).where(self.cells.notna())
            values = import_extra("pandas").to_timedelta(text).dt.total_seconds().to_numpy()
        elif self.content != NUMBER and self.cells.notna().any():
            self.refuse(what, int(self.cells.notna().argmax()))
        else:
            values = self.cells.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isinf(values).any():
            raise self.error(
                "holds infinite values; leave the cell empty for a missing value, or --drop the "
                "column"
            )
        return np.asarray(values, dtype=np.float64)

    def dates(self, form: str, what: str) -> Any:
        """Return the cells as dates without time zone, NaT where they are missing."""
        if self.texts:
            form = form or self._date_format() or ISO
            return self._read_text(form, what.replace(",", f" ({form}),", 1))
        if self.content != DATE and self.cells.notna().any():
            self.refuse(what, int(self.cells.notna().argmax()))
        dates = import_extra("pandas").to_datetime(self.cells, utc=True, errors="coerce")
        return dates.dt.tz_localize(None).astype("datetime64[us]")

    def categories(self, kind: str, form: str) -> Any:
        """Return the cells as categories, true and false if they are boolean."""
        pandas = import_extra("pandas")
        texts = self.table.texts(self.name, as_written=form == AS_WRITTEN)
        values = texts.values
        if kind == BOOLEAN:
            values = [{"1": "true", "0": "false"}.get(text, text.casefold()) for text in values]
        dtype = pandas.CategoricalDtype(sorted(set(values)))
        return texts.spread(pandas.Series(values, dtype=object)).astype(dtype)

    def _read_text(self, form: str, what: str) -> Any:
        """Return the numbers or dates that the texts mean."""
        texts, is_number = self.texts, form[0] in ".,"
        values = texts.read(form)
        bad = np.asarray(import_extra("pandas").isna(values))
        if bad.any():
            self.refuse(what, texts.row_of(int(bad.argmax())))
        if (is_number or form == SECONDS) and not is_plain(texts.values):
            unclear = texts.unclear_number(form[0]) if is_number else None
            if unclear is not None:
                self.refuse(what, texts.row_of(unclear))
            odd = next(i for i, text in enumerate(texts.values) if not is_plain([text]))
            self.note(f": {texts.values[odd]!r} is read as {written(np.asarray(values)[odd])}")
        return texts.spread(values)


def choose_features(
    table: Table, names: Sequence[str], notes: list[str], keep: Any, category: Any, given: Any
) -> tuple[dict[str, str], dict[str, str], str]:
    """Return kinds, formats and the decimal mark of a training table; notes name unused columns.

    `keep` and `category` are names of columns, `given` is the decimal mark of the options.
    """
    columns = [Column(table, name, notes) for name in names]
    free = [column.texts for column in columns if column.texts and column.name not in category]
    mark = given or (",."[all(texts.number_marks() != [","] for texts in free)])
    kinds: dict[str, str] = {}
    formats: dict[str, str] = {}
    for column in columns:
        name, reason = column.name, ""
        kind, form = (CATEGORY, AS_WRITTEN) if name in category else column.choose(mark, given)
        if kind not in {NUMBER, BOOLEAN, CATEGORY, DATE}:
            reason = kind
        elif name not in {*keep, *category} and not table.is_letor:
            reason = column.id_reason(kind, form or mark)
        if reason:
            column.note(f" is not used: {reason}")
        else:
            kinds[name] = kind
            formats |= {name: form} if form else {}
    if not kinds:
        raise InputError(f"{table.path}: no column is left to rank by")
    return kinds, formats, mark


def feature_frame(table: Table, schema: Schema, notes: list[str], when: str = "") -> Any:
    """Return the features as pipelines take them; errors say `when` a column held numbers."""
    lost = [name for name in schema.kinds if name not in table.frame.columns]
    absent = [name for name in lost if re.fullmatch(r"f\d+", name)]
    if absent and table.is_letor and schema.is_letor:
        notes.append(f"features that never occur and count as 0: {listing(absent, 10)}")
        table = table.with_columns(dict.fromkeys(absent, 0.0))
        lost = [name for name in lost if name not in absent]
    if lost:
        raise InputError(
            f"{table.path}: lacks {len(lost)} of the columns that the model needs: "
            f"{listing(lost, 10)}"
        )
    X = {}
    for name, kind in schema.kinds.items():
        column, form = Column(table, name, notes), schema.formats.get(name, "")
        if kind == NUMBER:
            X[name] = column.numbers(form or schema.decimal, f"must hold numbers,{when}")
        elif kind == DATE:
            X[name] = column.dates(form, f"must hold dates,{when}")
        else:
            X[name] = column.categories(kind, form)
        if column.texts and column.texts.unusual and form != AS_WRITTEN:
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
            raise InputError(
                f"{path}: no row of column {name!r} has a value that occurred in training; it "
                f"holds {column.iloc[0]!r}, in training {listing(map(repr, known), 5)}"
            )
        elif known and new.any():
            rows = count(int(new.sum()), "row")
            notes.append(f"column {name!r}: {rows} with values that training never saw")


def query_codes(table: Table, qid: str | None) -> Indices | None:
    """Return query codes in the order of first appearance; None for one list."""
    if qid is None:
        return None
    check_columns(table, [qid], "the query")
    codes: Indices = table.texts(qid, pandas_only=True).codes
    if (codes < 0).any():
        rows = count(int((codes < 0).sum()), "row")
        raise InputError(f"{table.path}: column {qid!r} is missing in {rows}")
    return codes


def row_weights(table: Table, weight: str | None, mark: str) -> Floats | None:
    """Return the weights of the training rows; None if all are one."""
    if weight is None:
        return None
    check_columns(table, [weight], "--weight")
    column = Column(table, weight, [])
    values = column.numbers(mark, "must hold numbers to be --weight,")
    wrong = np.flatnonzero(~(values >= 0))
    if len(wrong):
        column.refuse("must hold weights from 0 on,", int(wrong[0]))
    return values
