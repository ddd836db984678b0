"""Read a table of any supported format into a pandas DataFrame."""

from __future__ import annotations

import gzip
import json
import re
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_rank.cli._csv import read_csv
from sklearn_rank.cli._errors import InputError, count, import_extra, listing
from sklearn_rank.cli._numbers import plain_numbers
from sklearn_rank.cli._settings import Reading
from sklearn_rank.datasets import load_letor
from sklearn_rank.datasets.files import open_binary

_KINDS = {
    "csv": (".csv", ".tsv"),
    "parquet": (".parquet", ".pq"),
    "excel": (".xlsx", ".xlsm"),
    "json": (".jsonl", ".ndjson", ".json"),
    "letor": (".svm", ".svmlight", ".libsvm", ".letor"),
    "by content": (".txt", ".dat", ".data", ".tab"),
}
_SUFFIXES = {suffix: kind for kind, suffixes in _KINDS.items() for suffix in suffixes}
_NOT_WHOLE = 2.0**53
"""From here on a float does not tell integers apart."""

_MOST_DIGITS = 308
"""Characters of integers that are floats as well."""

_STARTS = {
    "parquet": rb"PAR1",
    "excel": rb"PK\x03\x04",
    "json": rb'\s*(\[\s*)?\{\s*"',
    "letor": rb"\s*[+-]?[\d.]+(e[+-]?\d+)?\s*(\s(qid|\d+):\S|#|$)",
}
_WHAT = {
    "parquet": "a Parquet file",
    "excel": "an Excel workbook",
    "json": "JSON of one object a line, nor a list of objects",
}
_QUERIES = (".query", ".group")
_MAX_DENSE_CELLS = 2**30  # 8 GiB of floats
_MAX_EMPTY_CELLS, _LEAST_WRITTEN = 2**22, 0.001
"""Cells from which on a sparse file must have written a least share of them."""


@dataclass(frozen=True)
class Table:
    """A table as read from a file."""

    frame: Any  # column names are strings
    path: str  # for messages
    is_letor: bool = False  # whether missing columns are zeros
    text: Any = None  # the cells of a CSV file as they are written
    is_typed: bool = True  # whether text that looks like a number is meant as text

    def error(self, name: str, text: str) -> InputError:
        """Return the error on a column."""
        return InputError(f"{self.path}: column {name!r} {text}")

    def rows(self, mask: Any) -> Table:
        """Return the table with some of its rows."""
        text = None if self.text is None else self.text[mask].reset_index(drop=True)
        return replace(self, frame=self.frame[mask].reset_index(drop=True), text=text)


def read_table(name: str, reading: Reading, notes: list[str]) -> Table:
    """Read a CSV, Excel, JSON, Parquet or svmlight/LETOR file, or standard input ("-")."""
    if name != "-":
        return _read_file(Path(name), reading, notes)
    with tempfile.TemporaryDirectory() as folder:  # the readers read more than once
        path = Path(folder, "input.data")
        path.write_bytes(sys.stdin.buffer.read())
        try:
            table = _read_file(path, reading, notes)
        except InputError as error:
            raise InputError(str(error).replace(str(path), "standard input")) from error
    notes[:] = [note.replace(str(path), "standard input") for note in notes]
    return replace(table, path="standard input")


def _read_file(path: Path, reading: Reading, notes: list[str]) -> Table:
    readers = {"parquet": _read_parquet, "excel": _read_excel, "json": _read_json}
    kind = "csv"
    try:
        kind = _kind_of(path)
        if kind == "csv":
            table = _read_csv(path, reading, notes)
        else:
            table = readers.get(kind, _read_letor)(path, notes)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: the gzip data is truncated or damaged ({error})") from error
    except OSError as error:
        reason = f"cannot be read ({error.strerror or error})"
        reason = "is a folder, not a file" if isinstance(error, IsADirectoryError) else reason
        raise InputError(f"{path}: {reason}") from error
    except RecursionError as error:
        raise InputError(f"{path}: its objects are nested too deeply") from error
    except (ValueError, TypeError, KeyError, NotImplementedError, zipfile.BadZipFile) as error:
        # Readers of our own name the file.
        start = f"{path}: is not {_WHAT[kind]}: " if kind in _WHAT else ""
        raise InputError(f"{start}{error}") from error
    if len(table.frame) == 0:
        raise InputError(f"{path}: holds no rows")
    return table


def _kind_of(path: Path) -> str:
    kind = _SUFFIXES.get(Path(path.name.lower().removesuffix(".gz")).suffix)
    if kind in {"csv", "parquet", "excel", "json"}:
        return kind
    with open_binary(path) as file:
        line = next((line for line in file if line.partition(b"#")[0].strip()), b"")
    found = next((kind for kind, start in _STARTS.items() if re.match(start, line)), "csv")
    if kind == "by content":
        return found
    if found == "letor" or not line:
        return "letor"
    if kind == "letor":
        what = "svmlight/LETOR (relevance qid:query index:value ...); name a table .csv"
        raise InputError(f"{path}: line 1 is not {what}")
    endings = ", ".join(_SUFFIXES)
    raise InputError(f"{path}: unknown kind of file; the name must end in {endings}, or these .gz")


def _read_csv(path: Path, reading: Reading, notes: list[str]) -> Table:
    is_tsv = path.name.lower().removesuffix(".gz").endswith(".tsv")
    sep = "tab" if is_tsv and reading.sep is None else reading.sep
    text = read_csv(path, sep, reading.encoding, notes)
    columns = [plain_numbers(text.iloc[:, j]) for j in range(text.shape[1])]
    frame = import_extra("pandas").concat(columns, axis=1).set_axis(_filled(text.columns), axis=1)
    return Table(frame, str(path), text=text, is_typed=False)


def _filled(names: Iterable[Any]) -> list[str]:
    """Return names with text for columns without one."""
    return [str(name) or f"Unnamed: {j}" for j, name in enumerate(names)]


def _read_excel(path: Path, notes: list[str]) -> Table:
    pandas = import_extra("pandas")
    import_extra("openpyxl")
    with pandas.ExcelFile(path, engine="openpyxl") as book:
        sheet, *others = book.sheet_names
        how = {"header": None, "dtype": object, "keep_default_na": False, "na_values": [""]}
        cells = pandas.read_excel(book, sheet_name=sheet, **how)
    if others:
        notes.append(f"{path}: sheet {sheet!r} is read, not {listing(map(repr, others), 5)}")
    if cells.empty:
        raise InputError(f"{path}: sheet {sheet!r} is empty")
    rows = cells.iloc[1:].dropna(how="all").reset_index(drop=True)
    frame = rows.set_axis(_filled(cells.iloc[0].fillna("")), axis=1).infer_objects()
    return replace(_checked(frame, path), is_typed=False)


def _read_json(path: Path, notes: list[str]) -> Table:
    with open_binary(path) as file:
        content = file.read().strip()
    decode = partial(json.loads, parse_int=_json_integer)
    if content.startswith(b"["):
        rows = decode(content)
    else:
        rows = [decode(line) for line in content.splitlines() if line.strip()]
    frame = import_extra("pandas").DataFrame.from_records([dict(row) for row in rows])
    return _checked(frame, path)


def _json_integer(text: str) -> int | float:
    """Return an integer, infinite where it is beyond the range of floats."""
    return int(text) if len(text) <= _MOST_DIGITS else float(text)


def _read_parquet(path: Path, notes: list[str]) -> Table:
    pyarrow = import_extra("pyarrow")
    try:
        frame = import_extra("pandas").read_parquet(path, engine="pyarrow")
    except pyarrow.ArrowException as error:  # not always a ValueError
        raise ValueError(str(error)) from error
    for _, column in frame.items():
        texts = column.cat.categories if str(column.dtype) == "category" else column
        if getattr(texts.dtype, "storage", None) == "pyarrow":  # which is taken as it is
            pyarrow.array(texts).validate(full=True)
    return _checked(frame.reset_index(drop=True), path)


def _checked(frame: Any, path: Path) -> Table:
    table = Table(frame.set_axis([str(column) for column in frame.columns], axis=1), str(path))
    frame = table.frame
    repeated = frame.columns[frame.columns.duplicated()]
    if len(repeated):
        raise InputError(f"{path}: has more than one column {repeated[0]!r}; rename all but one")
    for name in frame.columns[[str(dtype) == "object" for dtype in frame.dtypes]]:
        nested = frame[name].map(lambda cell: isinstance(cell, list | dict | tuple | np.ndarray))
        if nested.any():
            row = int(nested.argmax())
            raise table.error(
                name, f"holds nested values (row {row + 1}: {str(frame[name][row])[:40]})"
            )
    return table


def _read_letor(path: Path, notes: list[str]) -> Table:
    bunch = load_letor(path, return_comments=True)
    n_rows, n_columns = bunch.data.shape
    columns: Sequence[int] = range(n_columns)
    dense = bunch.data
    if not hasattr(dense, "tolist"):
        # A column that is never written is zero: without a column for it, a single large index
        # costs nothing.
        written, places = np.unique(dense.indices, return_inverse=True)
        columns = written.tolist()
        _check_size(path, n_rows, len(columns), dense.nnz)
        shape = (n_rows, len(columns))
        dense = type(dense)((dense.data, places, dense.indptr), shape=shape).toarray()
    names = [f"f{j + 1}" for j in columns]
    frame = import_extra("pandas").DataFrame(dense, columns=names)
    target = bunch.target
    whole = ((target == target.round()) & (np.abs(target) < _NOT_WHOLE)).all()
    frame.insert(0, "target", target.astype(int) if whole else target)
    qid = _queries_beside(path, n_rows, notes) if bunch.qid is None else bunch.qid
    if qid is not None:
        frame.insert(1, "qid", qid)
    if any(bunch.comments):
        frame["comment"] = bunch.comments
    return Table(frame, str(path), is_letor=True)


def _check_size(path: Path, n_rows: int, n_columns: int, n_written: int) -> None:
    """Raise InputError if a sparse file is too large for a table, or its table mostly zeros."""
    n_cells = n_rows * n_columns
    if n_cells > min(_MAX_DENSE_CELLS, max(_MAX_EMPTY_CELLS, n_written / _LEAST_WRITTEN)):
        raise InputError(
            f"{path}: {n_rows} rows x {n_columns} columns, of which {count(n_written, 'cell')} "
            "are written, are too many for a table"
        )


def _queries_beside(path: Path, n_rows: int, notes: list[str]) -> Any:
    """Return the queries by the sizes in a file beside, as LightGBM and XGBoost read them."""
    stem = path.name.removesuffix(".gz")
    beside = [path.with_name(name + end) for name in (path.name, stem) for end in _QUERIES]
    file = next((one for one in beside if one.is_file()), None)
    if file is None:
        return None
    words = file.read_text(encoding="utf-8", errors="replace").split()
    if not all(word.isdecimal() and word.isascii() for word in words):
        raise InputError(f"{file}: must hold the number of rows of each query, one a line")
    sizes = np.array(words, dtype=np.int64)
    if sizes.sum() != n_rows:
        raise InputError(f"{file}: its queries have {sizes.sum()} rows, but {path} has {n_rows}")
    notes.append(f"{count(len(sizes), 'query')} as in {file}")
    return np.repeat(np.arange(1, len(sizes) + 1), sizes)
