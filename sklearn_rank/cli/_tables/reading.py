"""Read a table of any supported format into a pandas DataFrame."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import re
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sklearn_rank._core.files import open_binary
from sklearn_rank.cli._tables.inputs import InputError, count, import_extra, listing, noting
from sklearn_rank.cli._tables.notation import MISSING, NOT_WHOLE
from sklearn_rank.cli._tables.options import TableOptions

_OF_LETOR = (".letor", ".libsvm", ".svm", ".svmlight")
_ENDINGS = (
    *(".csv", ".dat", ".data", ".json", ".jsonl", ".ndjson", ".parquet", ".pq", ".tab", ".test"),
    *(".train", ".tsv", ".txt", ".xls", ".xlsx", ".xlsm", *_OF_LETOR),
)
_FAULTS = (ValueError, TypeError, KeyError, RuntimeError, zipfile.BadZipFile, SyntaxError)
"""What readers raise for other formats; the last is raised by XML parsers of workbooks."""

_BOMS = [(codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32")]
_BOMS += [(b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")]
_PACKED = r"BZh\d1AY|\xfd7zXZ|7z\xbc\xaf|Rar!\x1a|\x28\xb5\x2f\xfd|(?s:.{257})ustar"
_STORED = r"SQLite format 3|ARROW1|FEA1|Obj\x01|\x89HDF|\x93NUMPY|\$FL[23]|<stata_dta>|RDX\d\n"
_FOREIGN = (
    (r"\xd0\xcf\x11\xe0", "an Excel 97-2003 workbook; save it as .xlsx"),
    (r"%PDF|\x89PNG|\xff\xd8\xff", "a document or an image; copy its table into a .csv or .xlsx"),
    (r"\s*<(!doctype|html|head|body|table|div|\?xml)\b", "HTML or XML; save it as .csv or .xlsx"),
    (rf"{_PACKED}|{_STORED}", "an archive or a foreign file; unpack it, or save it as .csv"),
)
"""First bytes of files that cannot be read, and what these files are."""

_NAMED = {"tab": "\t", "\\t": "\t", "space": " ", "blank": " "}
_HEAD, _CHUNK, _START, _LEAST = 2**16, 20_000, 1000, 3
_OBJECTS = "JSON lines, nor a JSON list of objects"
_MOST_DIGITS = 308  # characters of integers that are floats as well
_DATA = re.compile(r"[+-]?[\d.,]*\d[\d.,]*(e[+-]?\d+)?%?|\d+[-/.]\d+[-/.]\d+\b.*", re.I)
_SEP = re.compile(r'"?sep=(.?)"?', re.I)
_MOST = 0.9  # minimum share of amounts in a column of amounts
_AMOUNT = re.compile(r"[^\w\[]*\d")  # how numbers and dates begin, in whatever notation
_SUMS = "tota(ls?|le|al|ux)|sum|summe|somme|suma|gesamt|итого|合計|average|mean|mittelwert|moyenne"
_TOTAL = re.compile(rf"((grand|sub)[ -]?)?({_SUMS})[\W\d]*", re.I)

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
    notes: list[str] = field(default_factory=list)  # on how it was read

    def error(self, name: str, text: str) -> InputError:
        """Return the error on a column."""
        return InputError(f"{self.path}: column {name!r} {text}")


def read_table(options: TableOptions, notes: list[str]) -> Table:
    """Read a CSV, Excel, JSON, Parquet or svmlight/LETOR file."""
    path, what = Path(options.data or ""), ""
    try:
        read, what = _reader_of(path, options.format)
        if options.no_header and read not in (_read_csv, _read_excel):
            raise InputError(f"{path}: --no-header is for CSV and Excel; this format names columns")
        table = read(path, options, notes)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: the gzip data is truncated or damaged ({error})") from error
    except _FAULTS as error:  # readers of our own name the file
        raise InputError(f"{path}: is not {what}: {error}" if what else str(error)) from error
    if len(table.frame) == 0:
        raise InputError(f"{path}: contains no rows")
    names = [unicodedata.normalize("NFC", str(name)) for name in table.frame.columns]
    names = [name or f"Unnamed: {j}" for j, name in enumerate(names)]
    table = replace(table, frame=table.frame.set_axis(names, axis=1))
    for column, cells in table.frame.loc[:, table.frame.dtypes == "object"].items():
        nested = cells.map(pd.api.types.is_list_like)
        if nested.any():
            row = int(nested.argmax())
            raise table.error(column, f"contains nested values (row {row + 1}: {cells[row]!s:.40})")
    return replace(table, missing=frozenset(options.missing), notes=notes)


def _reader_of(path: Path, form: str | None) -> tuple[Callable[..., Table], str]:
    """Return the reader for the format or the first line, and its name for such files.

    An Excel file may be called .csv.
    """
    ending = Path(path.name.lower().removesuffix(".gz")).suffix
    if form is None and ending not in _ENDINGS:
        what = f"unknown file type; the name must end in {', '.join(_ENDINGS)}, or these plus .gz"
        raise InputError(f"{path}: {what}; --format NAME sets the type")
    with open_binary(path) as file:
        encoding = _marked_encoding(file.peek(4)) or "latin-1"
        lines = io.TextIOWrapper(file, encoding, errors="replace", newline="\n")
        line = next((line for line in lines if line.partition("#")[0].strip()), "")
    foreign = next((what for start, what in _FOREIGN if re.match(start, line, re.I)), "")
    if "97-2003" in foreign and "EncryptedPackage".encode("utf-16-le") in path.read_bytes():
        foreign = "a password-protected workbook; remove the password"
    if foreign:
        raise InputError(f"{path}: is {foreign}")
    name = form or next(name for name, kind in FORMATS.items() if re.match(kind[0], line, re.ASCII))
    return FORMATS["letor" if form is None and name == "csv" and ending in _OF_LETOR else name][1:]


def _marked_encoding(start: bytes) -> str | None:
    """Return the encoding by the byte order mark of a text; None without a mark."""
    return next((name for mark, name in _BOMS if start.startswith(mark)), None)


def _read_excel(path: Path, options: TableOptions, notes: list[str]) -> Table:
    import_extra("openpyxl")
    with zipfile.ZipFile(path) as archive:
        parts = archive.namelist()
    if not any(part.startswith("xl/") for part in parts) or "xl/workbook.bin" in parts:
        what = "an archive, or a workbook of another kind"
        raise InputError(f"{path}: is {what} ({listing(parts, 3)}); unpack it, or save it as .xlsx")
    how = {"header": None, "dtype": object, "keep_default_na": False, "na_values": [""]}
    sheets = pd.read_excel(path, sheet_name=None, engine="openpyxl", **how)
    sheets = {name: cells.dropna(how="all") for name, cells in sheets.items()}
    sheet = next((name for name, cells in sheets.items() if len(cells)), None)
    if sheet is None:
        raise InputError(f"{path}: no sheet has data")
    others = [repr(name) for name in sheets if name != sheet]
    if others:
        notes.append(f"{path}: sheet {sheet!r} is read, not {listing(others, 5)}")
    cells = sheets[sheet].rename(index=lambda row: row + 1)
    names: list[str] = []
    if not options.no_header:
        names, cells = cells.iloc[0].fillna("").astype(str).tolist(), cells.iloc[1:]
    rows = _with_names(cells, names, options, "row", notes)
    return Table(_inferred(rows), str(path), SHEET)


def _read_json(path: Path, options: TableOptions, notes: list[str]) -> Table:
    # `pandas.read_json` makes floats of ids of 64 bits beside missing cells.
    with open_binary(path) as file:
        data = file.read()
    text = data.decode(_marked_encoding(data) or "utf-8", "surrogatepass").strip()

    def integer(text: str) -> float:
        return int(text) if len(text) <= _MOST_DIGITS else float(text)

    how: Any = {"parse_int": integer, "object_pairs_hook": _object}
    try:
        content = json.loads(text, **how)
    except json.JSONDecodeError as error:
        if not error.msg.startswith("Extra data"):
            raise
        # A cell may hold other ends of lines, which `splitlines` knows.
        lines = filter(str.strip, re.split(r"[\r\n]+", text))
        content = [json.loads(line, **how) for line in lines]
    return Table(_inferred(_frame_of_json(content)), str(path))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; `json` itself would keep the last value of a repeated key."""
    names = [name for name, _ in pairs]
    if len({*names}) < len(names):
        raise ValueError(f"an object has the key {max(names, key=names.count)!r} twice")
    return dict(pairs)


def _frame_of_json(rows: Any) -> pd.DataFrame:
    """Return a frame of rows (objects, or lists after a list of names) or of columns."""
    if isinstance(rows, dict):
        kinds = {*map(type, rows.values())}
        if kinds in ({list}, {dict}):
            return pd.DataFrame(rows, dtype=object).reset_index(drop=True)
        rows = [rows] if kinds.isdisjoint({list, dict}) else rows
    kinds = {*map(type, rows)}
    if kinds <= {dict}:
        return pd.DataFrame(rows, dtype=object)
    if kinds == {list} and all(isinstance(name, str) for name in rows[0]):
        return pd.DataFrame(rows[1:], columns=rows[0], dtype=object)
    what = "rows must be objects, or lists after a list of column names"
    raise ValueError(f"{what}; pandas writes them with orient='records'")


def _inferred(frame: pd.DataFrame) -> pd.DataFrame:
    """Infer the types of columns of objects; integers in columns with missing cells stay exact."""

    def inferred(column: Any) -> Any:
        is_exact = column.hasnans and pd.api.types.infer_dtype(column) == "integer"
        return column if is_exact else column.infer_objects()

    return frame.apply(inferred)


def _read_parquet(path: Path, options: TableOptions, notes: list[str]) -> Table:
    pyarrow, parquet = map(import_extra, ("pyarrow", "pyarrow.parquet"))
    with noting([], f"{path}: is not a Parquet file", (pyarrow.ArrowException, OSError)):
        table = parquet.read_table(path)
        table.validate(full=True)
        # Floats, which integers beside missing cells would be, do not hold ids of 64 bits. Without
        # pandas's own notes what was an index is a column; one without a name says nothing.
        frame = table.to_pandas(integer_object_nulls=True, ignore_metadata=True)
    return Table(frame.loc[:, ~frame.columns.str.match(r"__index_level_\d+__$")], str(path))


def _read_letor(path: Path, options: TableOptions, notes: list[str]) -> Table:
    from sklearn_rank.datasets import load_letor

    bunch = load_letor(path, return_comments=True, zero_based=options.zero_based)
    dense = bunch.data
    columns: Sequence[int] = range(dense.shape[1])
    if not hasattr(dense, "tolist"):  # sparse: a column that is never written is zero
        written, places = np.unique(dense.indices, return_inverse=True)
        columns = written.tolist()
        shape = dense.shape[0], len(columns)  # an index may be too large to select columns by it
        if shape[0] * shape[1] > 2**28:  # 2 GiB of floats
            raise InputError(f"{path}: {shape[0]} rows x {shape[1]} columns are too many")
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
    lines, encoding, sep = _first_lines(path, options.encoding)
    layout = _layout(lines, options.sep or sep or ("tab" if ".tsv" in path.suffixes else ""))
    layout = (*layout[:2], None) if options.no_header else layout

    names: list[str] = []
    frames = []
    try:
        with open_binary(path) as file, io.TextIOWrapper(file, encoding, newline="") as text:
            rows = _rows(path, text, layout, notes)
            if not options.no_header:
                names = [cell.strip() for cell in next(rows, (0, []))[1]]
            while chunk := dict(islice(rows, _CHUNK)):
                frames.append(pd.DataFrame.from_dict(chunk, orient="index", dtype=str))
    except UnicodeDecodeError as error:
        byte, name = error.object[error.start], encoding.removesuffix("-sig").upper()
        what = f"is not {name} text (it has the byte 0x{byte:02x})"
        hint = "save it as UTF-8, or try --encoding cp1252, or latin-1"
        raise InputError(f"{path}: {what}; {hint}") from error
    frame = pd.concat(frames or [pd.DataFrame(columns=range(len(names)))])
    if names and not names[-1] and (frame.iloc[:, -1] == "").all():  # lines end with the separator
        names, frame = names[:-1], frame.iloc[:, :-1]
    return Table(_with_names(frame, names, options, "line", notes), str(path), TEXT)


def _with_names(
    frame: Any, names: list[str], options: TableOptions, unit: str, notes: list[str]
) -> Any:
    """Return the rows with column names, or c1, c2, ..., without repeated header lines.

    The index of the frame numbers them, in lines or rows, the unit. Names that are a title, a row
    of units or types below them and one of totals are errors.
    """
    if not names:
        names = [f"c{j + 1}" for j in range(frame.shape[1])]
        return frame.set_axis(names, axis=1).reset_index(drop=True)
    if len(names) > 1 and list(filter(None, names)) == names[:1]:
        what = f"the first line ({names[0]}) looks like a title above the column names"
        raise InputError(f"{options.data}: {what}; remove it")
    rows = frame[frame.iloc[:, 0].astype(str).str.strip() == names[0]]
    again = rows.index[(rows.map(lambda cell: str(cell).strip()) == names).all(axis=1)]
    if len(again) and len(names) > 1:  # files put together
        frame = frame.drop(index=again)
        notes.append(f"{options.data}: dropped {count(len(again), 'repeated header line')}")
    columns = [set(c) for _, c in frame.drop(again, errors="ignore").iloc[:_START].items()]
    if all(_DATA.fullmatch(a) or (a and a in b) for a, b in zip(names, columns, strict=True)):
        what = f"the first line contains data ({listing(names, 4)}), not column names"
        raise InputError(f"{options.data}: {what}; add them above it, or use --no-header")
    named = frame.set_axis(names, axis=1).reset_index(drop=True)
    if len(frame) < _LEAST:
        return named
    missing = MISSING | {text.casefold() for text in options.missing}

    def texts(j: int, rows: slice) -> list[str]:
        cells = ["" if pd.isna(cell) else str(cell).strip() for cell in frame.iloc[rows, j]]
        return [cell for cell in cells if cell.casefold() not in missing]

    def row(i: int) -> dict[int, str]:
        return {j: cell for j in range(len(names)) for cell in texts(j, slice(i, i + 1))}

    first, last = row(0), row(len(frame) - 1)
    if not any(map(_DATA.fullmatch, first.values())):
        below = {j: texts(j, slice(1, _START)) for j in first}
        odd = [below[j] for j in first if below[j] and not _AMOUNT.match(first[j])]
        shares = [np.mean([*map(bool, map(_AMOUNT.match, cells))]) for cells in odd]
        if max(shares, default=0) >= _MOST and all(first[j] not in below[j] for j in first):
            what = f"({listing(first.values(), 4)}) looks like a second header line (or units)"
            raise InputError(f"{options.data}, {unit} {frame.index[0]} {what}; remove it")
    for j, cell in last.items():
        are_sums = all(i == j or _AMOUNT.match(other) for i, other in last.items())
        if are_sums and _TOTAL.fullmatch(cell) and cell not in texts(j, slice(len(frame) - 1)):
            what = f"({listing(last.values(), 4)}) looks like a line of totals; remove it"
            raise InputError(f"{options.data}, {unit} {frame.index[-1]} {what}")
    return named


def _first_lines(path: Path, encoding: str | None) -> tuple[list[str], str, str]:
    """Return up to 20 first lines without comments, the encoding, and the separator of `sep=`."""
    with open_binary(path) as file:
        head = file.read(_HEAD)
    encoding = _marked_encoding(head) or encoding or "utf-8"
    if encoding.startswith("utf-8") and b"\0" in head:
        ends = "le" if head[1::2].count(0) > head[::2].count(0) else "be"
        raise InputError(f"{path}: is not UTF-8 text (perhaps UTF-16: --encoding utf-16-{ends})")
    try:
        lines = re.split(r"\r\n?|\n", head.decode(encoding, "ignore"))  # as `csv` divides them
    except LookupError:
        raise InputError(f"--encoding {encoding}: unknown; try latin-1 or cp1252") from None
    lines = [line for line in lines if line.strip() and line[0] != "#"]
    marked = _SEP.fullmatch(lines[0]) if lines else None
    lines = lines[1:] if marked else lines
    if not lines:
        raise InputError(f"{path}: is empty")
    return lines[:20], encoding, marked[1] if marked else ""


def _layout(lines: list[str], option: str) -> tuple[str, int, bool | None]:
    """Return the separator by which most first lines agree in width, and the number of names.

    The third says whether row names come first, of which the names have none, as in R.
    """
    sep = _NAMED.get(option.lower(), option)
    if len(sep) > 1:
        raise InputError(f"--sep {option}: must be one character, tab or blank")

    def agreement(mark: str) -> tuple[bool, float, int]:
        widths = Counter(len(cells) for cells in _cells(lines, mark, strict=False))
        width, n_lines = widths.most_common(1)[0]
        return width > 1, n_lines / widths.total(), width

    best = max(sep or ",;\t|", key=agreement)
    usual, (names, *rows) = agreement(best)[-1], _cells(lines, best, strict=False)
    if len(rows) < _LEAST or any(len(row) != len(names) + 1 for row in rows):
        return best, usual, False
    first, ends = [row[0] for row in rows], not any(row[-1] for row in rows)
    # Not 1,5 with a decimal comma: texts, in quotes, or the numbers of the rows.
    are_names = all(line.startswith('"') for line in lines[1:]) or not any(map(_DATA.match, first))
    are_names |= first in [[str(i + k) for i in range(len(first))] for k in (0, 1)]
    is_unnamed = not ends and are_names and len({*first}) == len(first)
    return best, usual - (ends or is_unnamed), is_unnamed


def _cells(lines: Iterable[str], sep: str, *, strict: bool) -> Any:
    """Return the cells of the lines; if blanks separate cells, several blanks count as one."""
    # Not `split`, which takes the blank within 1 234 that keeps a number whole for a separator.
    tidy = (re.sub("[ \t]+", " ", line.strip()) + "\n" if sep == " " else line for line in lines)
    return csv.reader(tidy, delimiter=sep, skipinitialspace=True, strict=strict)


def _rows(
    path: Path, text: Iterable[str], layout: tuple[str, int, bool | None], notes: list[str]
) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of each row, header first; notes count the skipped lines.

    A comment begins with #, and has not as many cells as the names, before them as most lines.
    """
    (sep, usual, is_unnamed), left_out = layout, Counter[str]()
    reader, start, width, n_rows = _cells(text, sep, strict=True), 1, 0, 0
    try:
        for cells in reader:
            line, start = start, reader.line_num + 1
            if len(cells) == width + 1 and not cells[-1]:  # ends with the separator
                cells.pop()
            if not any(cells):
                left_out["empty row"] += len(cells) > 0
            elif cells[0].startswith("#") and len(cells) != (width or usual):
                left_out["comment"] += 1
            elif not width and _SEP.fullmatch(cells[0]):
                continue
            elif len(cells) != width and (width or (len(cells) < usual and is_unnamed is not None)):
                what = f"has {count(len(cells), 'cell')}, "
                what += f"the header has {width}" if width else f"most lines have {usual}"
                hint = f"cells are separated by {sep!r} (--sep MARK changes this)"
                raise InputError(f"{path}, line {line}: {what}; {hint}; remove titles and footers")
            else:
                if is_unnamed and not n_rows:
                    cells.insert(0, "")
                    what = "rows have one cell more than the header: the first is a row name"
                    notes.append(f"{path}: {what}")
                width, n_rows = len(cells), n_rows + 1
                yield line, cells
    except csv.Error as error:
        reason = f"a quotation mark is misplaced or never closed ({error})"
        raise InputError(f"{path}, line {start}: {reason}") from error
    notes += [f"{path}: skipped {count(n, what)}" for what, n in left_out.items() if n]


FORMATS: dict[str, tuple[str, Callable[..., Table], str]] = {
    "parquet": (r"PAR1", _read_parquet, "a Parquet file"),
    "excel": (r"PK\x03\x04", _read_excel, "an Excel workbook"),
    "json": (r'\s*([\[{]\s*$|\[\s*[\[{]|\{\s*["}])', _read_json, _OBJECTS),
    "letor": (r"\s*[+-]?[\d.]+(e[+-]?\d+)?\s*(\s(qid|\d+):\S|#|$)", _read_letor, ""),
    "csv": ("", _read_csv, ""),
}
"""Patterns of the first line, readers, and names of the formats for their errors."""
