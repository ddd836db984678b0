"""Read a table of any supported format into a pandas DataFrame."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sklearn_rank._core.files import open_binary
from sklearn_rank.cli._tables.inputs import InputError, TableOptions, count, import_extra, listing
from sklearn_rank.cli._tables.notation import NOT_WHOLE

_OF_LETOR = (".letor", ".libsvm", ".svm", ".svmlight")
_ENDINGS = (
    *(".csv", ".dat", ".data", ".json", ".jsonl", ".ndjson", ".parquet", ".pq", ".tab", ".tsv"),
    *(".txt", ".xls", ".xlsx", ".xlsm", *_OF_LETOR),
)
_FAULTS = (ValueError, TypeError, KeyError, RuntimeError, zipfile.BadZipFile, SyntaxError)
"""What readers raise for a file of another kind; parsers of XML, which workbooks are, the last."""

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_NAMED = {"tab": "\t", "\\t": "\t", "space": " ", "blank": " "}
_HEAD, _CHUNK, _START = 2**16, 20_000, 1000
_MOST_DIGITS = 308  # characters of integers that are floats as well
_MAX_CELLS = 2**28  # of a sparse file: 2 GiB of floats
_DATA = re.compile(r"[+-]?[\d.,]*\d[\d.,]*(e[+-]?\d+)?%?|\d+[-/.]\d+[-/.]\d+\b.*", re.I)

TEXT, SHEET, TYPED, LETOR = "text", "sheet", "typed", "letor"


@dataclass(frozen=True)
class Table:
    """A table as read from a file."""

    frame: Any  # column names are strings; cells of CSV are texts as they are written
    path: str  # for messages
    # Cells are texts in CSV and may be in a sheet; text of typed files that looks like a number is
    # meant as text; columns that a LETOR file lacks are zeros.
    kind: str = TYPED
    zero_based: bool | str = "auto"  # whether the indices of a LETOR file start at 0
    missing: frozenset[str] = frozenset()  # texts that the user says are missing

    def error(self, name: str, text: str) -> InputError:
        """Return the error on a column."""
        return InputError(f"{self.path}: column {name!r} {text}")


def read_table(options: TableOptions, notes: list[str]) -> Table:
    """Read a CSV, Excel, JSON, Parquet or svmlight/LETOR file."""
    path, what = Path(options.data or ""), ""
    try:
        read, what = _reader_of(path)
        if options.no_header and read not in (_read_csv, _read_excel):
            raise InputError(f"{path}: --no-header is for CSV and Excel; this file has names")
        table = read(path, options, notes)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: the gzip data is truncated or damaged ({error})") from error
    except _FAULTS as error:  # readers of our own name the file
        raise InputError(f"{path}: is not {what}: {error}" if what else str(error)) from error
    if len(table.frame) == 0:
        raise InputError(f"{path}: holds no rows")
    names = [str(name) or f"Unnamed: {j}" for j, name in enumerate(table.frame.columns)]
    table = replace(table, frame=table.frame.set_axis(names, axis=1))
    for column, cells in table.frame.loc[:, table.frame.dtypes == "object"].items():
        nested = cells.map(pd.api.types.is_list_like)
        if nested.any():
            row = int(nested.argmax())
            what = f"holds nested values (row {row + 1}: {str(cells[row])[:40]})"
            raise table.error(column, what)
    return replace(table, missing=frozenset(options.missing))


def _reader_of(path: Path) -> tuple[Callable[..., Table], str]:
    """Return the reader by the first line, since an Excel file may be called .csv, and its kind."""
    ending = Path(path.name.lower().removesuffix(".gz")).suffix
    if ending not in _ENDINGS:
        what = f"unknown kind of file; the name must end in {', '.join(_ENDINGS)}, or these .gz"
        raise InputError(f"{path}: {what}")
    with open_binary(path) as file:
        encoding = _marked_encoding(file.peek(4)) or "latin-1"
        lines = io.TextIOWrapper(file, encoding, errors="replace", newline="\n")
        line = next((line for line in lines if line.partition("#")[0].strip()), "")
    start, read, what = next(one for one in _KINDS if re.match(one[0], line, re.ASCII))
    return (_read_letor, "") if not start and ending in _OF_LETOR else (read, what)


def _marked_encoding(start: bytes) -> str | None:
    """Return the encoding by the byte order mark of a text; None without a mark."""
    return next((name for mark, name in _BOMS if start.startswith(mark)), None)


def _numbered(frame: pd.DataFrame) -> list[str]:
    """Return names of columns that have none: c1, c2, and so on."""
    return [f"c{j}" for j in range(1, frame.shape[1] + 1)]


def _read_excel(path: Path, options: TableOptions, notes: list[str]) -> Table:
    import_extra("openpyxl")
    how = {"header": None, "dtype": object, "keep_default_na": False, "na_values": [""]}
    sheets = pd.read_excel(path, sheet_name=None, engine="openpyxl", **how)
    sheets = {name: cells.dropna(how="all") for name, cells in sheets.items()}
    sheet = next((name for name, cells in sheets.items() if len(cells)), None)
    if sheet is None:
        raise InputError(f"{path}: no sheet has data")
    others = [repr(name) for name in sheets if name != sheet]
    if others:
        notes.append(f"{path}: sheet {sheet!r} is read, not {listing(others, 5)}")
    cells = sheets[sheet]
    names = _numbered(cells) if options.no_header else cells.iloc[0].fillna("")
    rows = cells.iloc[int(not options.no_header) :].reset_index(drop=True)
    return Table(_inferred(rows.set_axis(names, axis=1)), str(path), SHEET)


def _read_json(path: Path, options: TableOptions, notes: list[str]) -> Table:
    # `pandas.read_json` makes floats of ids of 64 bits beside missing cells.
    def integer(text: str) -> float:
        return int(text) if len(text) <= _MOST_DIGITS else float(text)

    with open_binary(path) as file:
        content = file.read()
    text = content.decode(_marked_encoding(content) or "utf-8", "surrogatepass").strip()
    # A cell may hold other ends of lines, which `splitlines` knows.
    parts = [text] if text.startswith("[") else filter(str.strip, re.split(r"[\r\n]+", text))
    read = [json.loads(part, parse_int=integer) for part in parts]
    rows = read[0] if text.startswith("[") else read
    return Table(_inferred(pd.DataFrame([dict(row) for row in rows], dtype=object)), str(path))


def _inferred(frame: pd.DataFrame) -> pd.DataFrame:
    """Return columns of objects with their types; integers beside missing cells stay exact."""
    infer = pd.api.types.infer_dtype
    return frame.apply(
        lambda one: one if one.hasnans and infer(one) == "integer" else one.infer_objects()
    )


def _read_parquet(path: Path, options: TableOptions, notes: list[str]) -> Table:
    pyarrow, parquet = map(import_extra, ("pyarrow", "pyarrow.parquet"))
    try:
        table = parquet.read_table(path)
        table.validate(full=True)
        # Floats, which integers beside missing cells would be, do not hold ids of 64 bits. Without
        # pandas's own notes what was an index is a column; one without a name says nothing.
        frame = table.to_pandas(integer_object_nulls=True, ignore_metadata=True)
    except (pyarrow.ArrowException, OSError) as error:  # not always a ValueError
        raise ValueError(str(error)) from error
    return Table(frame.loc[:, ~frame.columns.str.match(r"__index_level_\d+__$")], str(path))


def _read_letor(path: Path, options: TableOptions, notes: list[str]) -> Table:
    from sklearn_rank.datasets import load_letor

    bunch = load_letor(path, return_comments=True, zero_based=options.zero_based)
    dense, n_rows = bunch.data, len(bunch.target)
    columns: Sequence[int] = range(dense.shape[1])
    if not hasattr(dense, "tolist"):  # sparse: a column that is never written is zero
        written, places = np.unique(dense.indices, return_inverse=True)
        columns = written.tolist()
        if n_rows * len(columns) > _MAX_CELLS:
            size = f"{n_rows} rows x {len(columns)} columns"
            raise InputError(f"{path}: {size} are too many for a table")
        shape = (n_rows, len(columns))  # an index may be too large to select columns by it
        dense = type(dense)((dense.data, places, dense.indptr), shape=shape).toarray()
    frame, target = pd.DataFrame(dense, columns=[f"f{j + 1}" for j in columns]), bunch.target
    whole = ((target == target.round()) & (np.abs(target) < NOT_WHOLE)).all()
    frame.insert(0, "target", target.astype(int) if whole else target)
    if bunch.qid is not None:
        frame.insert(1, "qid", bunch.qid)
    if any(bunch.comments):
        frame["comment"] = bunch.comments
    return Table(frame, str(path), LETOR, bunch.zero_based)


# Delimited text ----------------------------------------------------------------------------------

# `pandas.read_csv` fills short rows, and its errors count rows: `csv` knows cells and lines.


def _read_csv(path: Path, options: TableOptions, notes: list[str]) -> Table:
    lines, encoding = _first_lines(path, options.encoding)
    sep, usual = _separator(lines, options.sep or "tab" * (".tsv" in path.suffixes))
    try:
        with open_binary(path) as file, io.TextIOWrapper(file, encoding, newline="") as text:
            rows = _rows(path, text, sep, usual, notes)
            names = [] if options.no_header else [cell.strip() for cell in next(rows, [])]
            chunks = iter(lambda: list(islice(rows, _CHUNK)), [])
            parts = [pd.DataFrame(chunk, dtype=str) for chunk in chunks]
    except UnicodeDecodeError as error:
        byte, name = error.object[error.start], encoding.removesuffix("-sig").upper()
        what = f"is not {name} text (it has the byte 0x{byte:02x})"
        hint = "save it as UTF-8, or try --encoding cp1252, or latin-1"
        raise InputError(f"{path}: {what}; {hint}") from error
    if not parts:
        raise InputError(f"{path}: holds no rows")
    frame = pd.concat(parts, ignore_index=True)
    if names:
        columns = [set(column) for _, column in frame.iloc[:_START].items()]
        if all(_DATA.fullmatch(a) or (a and a in b) for a, b in zip(names, columns, strict=True)):
            what = f"the first line holds data ({listing(names, 4)}) where the names of the "
            what += "columns must be; add a line with the names above it, or --no-header"
            raise InputError(f"{path}: {what} calls them c1, c2")
        if not names[-1] and (frame.iloc[:, -1] == "").all():  # all lines end with the separator
            names, frame = names[:-1], frame.iloc[:, :-1]
    return Table(frame.set_axis(names or _numbered(frame), axis=1), str(path), TEXT)


def _first_lines(path: Path, encoding: str | None) -> tuple[list[str], str]:
    """Return the first lines, up to 20 that are no comments, and the encoding."""
    with open_binary(path) as file:
        head = file.read(_HEAD)
    encoding = _marked_encoding(head) or encoding or "utf-8"
    if encoding == "utf-8" and b"\0" in head:
        raise InputError(f"{path}: is not UTF-8 text (perhaps UTF-16: --encoding utf-16-le)")
    try:
        lines = head.decode(encoding, "ignore").splitlines()
    except LookupError:
        raise InputError(f"--encoding {encoding}: unknown; try latin-1 or cp1252") from None
    lines = [line for line in lines if line.strip() and line[0] != "#"]
    if not lines:
        raise InputError(f"{path}: is empty")
    return lines[:20], encoding


def _separator(lines: list[str], given: str) -> tuple[str, int]:
    """Return the mark by which most of the first lines have equally many cells, and how many."""
    sep = _NAMED.get(given.lower(), given)
    if len(sep) > 1:
        raise InputError(f"--sep {given}: must be one character, tab or blank")

    def agreement(mark: str) -> tuple[bool, float, int]:
        widths = Counter(len(cells) for cells in _cells(lines, mark, strict=False))
        width, n_lines = widths.most_common(1)[0]
        return width > 1, n_lines / widths.total(), width

    best = max(sep or ",;\t|", key=agreement)
    return best, agreement(best)[-1]


def _cells(lines: Iterable[str], sep: str, *, strict: bool) -> Any:
    """Return the cells of the lines; several blanks count as one where blanks separate cells."""
    tidy = (" ".join(line.split()) + "\n" if sep == " " else line for line in lines)
    return csv.reader(tidy, delimiter=sep, skipinitialspace=True, strict=strict)


def _rows(
    path: Path, text: Iterable[str], sep: str, usual: int, notes: list[str]
) -> Iterator[list[str]]:
    """Yield the rows, the header first; notes count the lines that are left out.

    A comment begins with #, and has not as many cells as the header, before it as most lines.
    """
    reader, start, width, left_out = _cells(text, sep, strict=True), 1, 0, Counter[str]()
    try:
        for cells in reader:
            start = reader.line_num + 1
            if len(cells) == width + 1 and not cells[-1]:  # ends with the separator
                cells.pop()
            if not any(cells):
                left_out["row of empty cells"] += len(cells) > 0
            elif cells[0].startswith("#") and len(cells) != (width or usual):
                left_out["comment"] += 1
            elif width and len(cells) != width:
                what = f"has {count(len(cells), 'cell')}, the header has {width}"
                hint = f"cells are separated by {sep!r} (--sep MARK changes it)"
                hint += "; a title above the names must begin with #" * (len(cells) > width)
                raise InputError(f"{path}, line {reader.line_num}: {what}; {hint}")
            else:
                width = len(cells)
                yield cells
    except csv.Error as error:
        reason = f"a quotation mark is misplaced or never closed ({error})"
        raise InputError(f"{path}, line {start}: {reason}") from error
    notes += [f"{path}: {n} x {what} left out" for what, n in left_out.items() if n]


_KINDS: list[tuple[str, Callable[..., Table], str]] = [
    (r"PAR1", _read_parquet, "a Parquet file"),
    (r"PK\x03\x04|\xd0\xcf\x11\xe0", _read_excel, "an Excel workbook"),
    (r'\s*(\[\s*$|(\[\s*)?\{\s*")', _read_json, "JSON of one object a line, nor a list of objects"),
    (r"\s*[+-]?[\d.]+(e[+-]?\d+)?\s*(\s(qid|\d+):\S|#|$)", _read_letor, ""),
    ("", _read_csv, ""),
]
"""Patterns of the first line, readers, and what files are to those that don't name them."""
