"""The points of a card as a table: a data frame, CSV, a sheet of Excel."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from dataclasses import replace
from typing import Any, BinaryIO

from sklearn_rank._core.imports import import_extra
from sklearn_rank.scorecard._log import detail_name, edit_texts, other_details
from sklearn_rank.scorecard.card import Card
from sklearn_rank.scorecard.terms import Bin, Pair, Variable, number_text, plain

_PLACE = ("kind", "above", "up_to", "values")
COLUMNS = ("variable", "bin", "points", "count", "event_rate")

_WIDEST = 80
"""Characters of a column of Excel."""

_STARTS_OF_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


def tables_of(card: Card) -> list[tuple[str, list[Bin]]]:
    """Return the intercept and the bins of each term, in the order of the card."""
    count, events = math.nan, math.nan
    if card.terms:
        first = card.terms[0]
        count, events = float(sum(first.counts)) or math.nan, float(sum(first.events))
    intercept = Bin("", int(card.intercept), count, events, "intercept")
    return [
        ("intercept", [intercept]),
        *((card.term_name(one), marked_bins(card, one)) for one in card.terms),
    ]


def marked_bins(card: Card, term: Variable | Pair) -> list[Bin]:
    """Return the bins of a term, marked where rows in them are refused."""
    refused = set(card.refused_bins(term))
    return [replace(one, is_refused=number in refused) for number, one in enumerate(term.listed())]


def _lines(card: Card) -> list[tuple[str, Bin]]:
    """Return the lines of the whole table, each with the name of its term."""
    return [(name, one) for name, bins in tables_of(card) for one in bins]


def _columns(name: str, line: Bin) -> list[Any]:
    """Return a line as far as people read it; a bin that is refused has no points."""
    points = None if line.is_refused else line.points
    return [name, line.label, points, line.count, line.event_rate]


def to_frame(card: Card) -> Any:
    """Return the points as a pandas DataFrame.

    Columns are variable, bin, points, count (weight of the training rows) and event_rate
    (share of ``classes[1]`` among them). The first row is the intercept. A pair has a row for each
    of its cells. Points are int64; where ``unseen="refuse"`` refuses rows of a bin they are Int64,
    and missing there.

    Raises
    ------
    ImportError
        Without pandas, which the extra "cli" brings.

    Examples
    --------
    >>> from sklearn_rank.scorecard import Card, Variable, to_frame
    >>> age = Variable("age", 0, points=(-1, 2, 0), thresholds=(29.5,))
    >>> card = Card((age,), 1, 0, ("bad", "good"), 1, ("age",))
    >>> to_frame(card)["points"].tolist()
    [1, -1, 2, 0]
    """
    pandas = import_extra("pandas", "cli", "The table of a scorecard as a data frame")
    lines = _lines(card)
    frame = pandas.DataFrame([_columns(*line) for line in lines], columns=COLUMNS)
    is_whole = not any(one.is_refused for _, one in lines)
    return frame.astype({"points": "int64" if is_whole else "Int64"})


def to_csv(card: Card) -> str:
    """Return the points as CSV, from which rows can be scored.

    After the columns of `to_frame` follow those for programs:

    - ``features``, a JSON list of the name of the feature, or of both of a pair;
    - of the first feature: ``kind`` (intercept, range, categories, special, missing or other),
      ``above`` and ``up_to`` (a range has the values x with above < x <= up_to; an empty cell is
      no bound) and ``values`` (a JSON list of the categories or the special code);
    - of the second one of a pair: ``kind2``, ``above2``, ``up_to2`` and ``values2``.

    A value is in the line of kind special or categories that lists it; else in that of missing
    if it is missing; else in the range that holds it, or of categories in that of kind other.
    Infinity is a value like any other. The total of a row is the points of the intercept plus,
    for each term, those of the line that holds its value, or both values of a pair. Where points
    are empty the card refuses the row: it has no total.

    Spreadsheets take a cell that begins with = + - @, a tab or a line break for a formula: there,
    and where it begins with an apostrophe, the cell of variable and of bin has an apostrophe in
    front, which programs may remove. The columns for programs are never changed.

    Raises
    ------
    ValueError
        When the card has categories that are neither strings nor numbers, such as intervals.

    Examples
    --------
    >>> from sklearn_rank.scorecard import Card, Variable, to_csv
    >>> age = Variable("age", 0, points=(-1, 2, 0), thresholds=(29.5,))
    >>> card = Card((age,), 1, 0, ("bad", "good"), 1, ("age",))
    >>> print(to_csv(card))
    variable,bin,points,count,event_rate,features,kind,above,up_to,values,kind2,above2,up_to2,values2
    intercept,,1,,,[],intercept,,,,,,,
    age,<= 29.5,-1,,,"[""age""]",range,,29.5,,,,,
    age,> 29.5,2,,,"[""age""]",range,29.5,,,,,,
    age,missing,0,,,"[""age""]",missing,,,,,,,
    <BLANKLINE>
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    second = [f"{one}2" for one in _PLACE]
    writer.writerow([*COLUMNS, "features", *_PLACE, *second])
    features = [[], *([card.column_name(axis) for axis in term.axes] for term in card.terms)]
    for names, (title, bins) in zip(features, tables_of(card), strict=True):
        for line in bins:
            _, _, points, *numbers = _columns(title, line)
            texts = [no_formula(title), no_formula(line.label)]
            first, *others = line.parts or (line,)
            try:
                places = [*_place_cells(first), *(_place_cells(*others) if others else [""] * 4)]
            except TypeError as error:
                raise ValueError(
                    f"The categories of {title!r} must be strings and numbers in CSV. {error}."
                ) from None
            counted = [points, *map(_cell, numbers)]
            writer.writerow([*texts, *counted, json.dumps(names, ensure_ascii=False), *places])
    return out.getvalue()


def _place_cells(line: Bin) -> list[str]:
    """Return which values of a feature a line is for."""
    listed = json.dumps(line.values, ensure_ascii=False) if line.values else ""
    return [line.kind, _cell(line.above), _cell(line.up_to), listed]


def no_formula(text: str) -> str:
    """Return a text that a spreadsheet shows as it is; the apostrophe can be removed again."""
    return f"'{text}" if text.startswith((*_STARTS_OF_FORMULAS, "'")) else text


def _cell(value: float | None) -> str:
    """Return a number that is read back exactly; nothing for None and NaN."""
    return "" if value is None or math.isnan(value) else number_text(value)


def to_excel(card: Card, path: str | os.PathLike[str] | BinaryIO) -> None:
    """Write the points, the risk table and the details to a workbook of Excel.

    Parameters
    ----------
    card : Card
        The scorecard.
    path : path-like or file
        Where to write; a file must be open for bytes.

    Raises
    ------
    ImportError
        Without openpyxl, which the extra "excel" brings.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn_rank.scorecard import Card, Variable, to_excel
    >>> age = Variable("age", 0, points=(-1, 2, 0), thresholds=(29.5,))
    >>> card = Card((age,), 1, 0, ("bad", "good"), 1, ("age",))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_excel(card, Path(folder) / "card.xlsx")
    """
    openpyxl = import_extra("openpyxl", "excel", "A scorecard as a workbook of Excel")
    book = openpyxl.Workbook()
    points = book.active
    points.title = "points"
    lines = [_columns(*line) for line in _lines(card)]
    is_refusing = any(line[2] is None for line in lines)
    for line in lines:
        line[2] = "none" if line[2] is None else line[2]
    texts = [line[:2] for line in lines]
    widths = [min(max(map(len, column)) + 2, _WIDEST) for column in zip(*texts, strict=True)]
    _fill(points, COLUMNS, lines, widths=(*(max(one, 28) for one in widths), 10, 12, 12))
    for cell in points["E"][1:]:
        cell.number_format = "0.0%"
    if card.risk and not card.is_edited:
        risk = book.create_sheet("risk")
        _fill(risk, ("total", "probability", "low", "high"), card.risk, widths=(12,) * 4)
    about = [
        ["a high total means", card.classes[1]],
        [f"a total above {card.cut} means", card.classes[1]],
        *([["a row whose points are 'none'", "is not scored"]] if is_refusing else []),
        *((detail_name(key), value) for key, value in other_details(card).items()),
        *(("edited", one) for one in edit_texts(card)),
    ]
    _fill(book.create_sheet("about"), ("what", "value"), about, widths=(56, 40))
    book.save(path)


def _fill(sheet: Any, header: Any, rows: Any, widths: tuple[int, ...]) -> None:
    """Write a table into a sheet."""
    for line, values in enumerate([header, *rows], start=1):
        for column, value in enumerate(values, start=1):
            _write(sheet.cell(line, column), plain(value))
    for letter, width in zip("ABCDE", widths, strict=False):
        sheet.column_dimensions[letter].width = width
    sheet.freeze_panes = "A2"


def _write(cell: Any, value: Any) -> None:
    """Write a value, NaN as nothing; a text that starts with = is no formula."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return
    if isinstance(value, int | float) and math.isfinite(value):
        cell.value = value
        return
    # Excel has no control characters, and no longer texts.
    clean = "".join(one if one.isprintable() else "\ufffd" for one in str(value))
    cell.value = clean[:32_767]
    cell.data_type = "s"
