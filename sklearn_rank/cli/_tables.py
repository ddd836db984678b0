"""Read a table of any supported format into a pandas DataFrame."""

from __future__ import annotations

import gzip
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sklearn_rank.cli._csv import read_csv
from sklearn_rank.cli._errors import InputError, import_extra
from sklearn_rank.datasets import load_letor
from sklearn_rank.datasets._letor import open_binary

STDIN = "-"
_STDIN_NAME = "standard input"
_CSV = (".csv", ".tsv")
_PARQUET = (".parquet", ".pq")
_LETOR = (".txt", ".svm", ".svmlight", ".libsvm", ".letor")
_LETOR_LINE = re.compile(rb"\s*[^\s:,]+(\s+qid:\S+)?(\s+\d+:\S+)*\s*(#.*)?\s*")
_LETOR_START = re.compile(rb"\s*(#|[+-]?[\d.]+(e[+-]?\d+)?\s)", re.I)
_MAX_DENSE_CELLS = 2**30
"""Maximum size of a sparse file as a dense table: 8 GiB of floats."""


@dataclass(frozen=True)
class Table:
    """A table as read from a file.

    Attributes
    ----------
    frame : DataFrame
        The rows; column names are strings.
    path : str
        Path of the file, for messages.
    is_letor : bool
        Whether missing columns are zeros.
    text : DataFrame or None
        The unparsed cells of a CSV file, if requested.
    """

    frame: Any
    path: str
    is_letor: bool = False
    text: Any = None


def read_table(
    name: str, is_typed: Callable[[str], bool] = lambda _: True, *, keep_text: bool = False
) -> Table:
    """Read a CSV, Parquet or svmlight/LETOR file.

    Parameters
    ----------
    name : str
        Path of the file; "-" is standard input, whose format is detected.
    is_typed : callable
        Whether the type of a column of a CSV file is inferred; all others stay text, so that
        an id 007 does not become the number 7. The default is all columns.
    keep_text : bool, default=False
        Whether to keep the unparsed cells of a CSV file as well.
    """
    if name != STDIN:
        return _read_file(Path(name), is_typed, keep_text)
    with _stdin_as_file() as path:
        try:
            table = _read_file(path, is_typed, keep_text)
        except InputError as error:
            raise InputError(str(error).replace(str(path), _STDIN_NAME)) from error
    return replace(table, path=_STDIN_NAME)


def _read_file(path: Path, is_typed: Callable[[str], bool], keep_text: bool) -> Table:
    try:
        read = _READERS[_format_of(path)]
        table = read(path, is_typed, keep_text)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder, not a file") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        if not _is_gzip(path):
            raise InputError(f"{path}: is named .gz, but is not gzip-compressed") from error
        raise InputError(f"{path}: the gzip data is truncated or damaged ({error})") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    if len(table.frame) == 0:
        raise InputError(f"{path}: holds no rows")
    return table


@contextmanager
def _stdin_as_file() -> Iterator[Path]:
    """Yield a temporary copy of standard input, which the readers read more than once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "input"
        with open(path, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        named = path.with_name(f"input{_suffix_by_content(path)}")
        yield path.rename(named)


def _suffix_by_content(path: Path) -> str:
    gzip_suffix = ".gz" if _is_gzip(path) else ""
    try:
        with open_binary(path) as file:
            start = file.read(4)
            line = start + file.readline()
    except (OSError, EOFError, zlib.error):  # damaged: the reader explains it
        return f".csv{gzip_suffix}"
    if start == b"PAR1":
        return ".parquet"
    is_letor = _LETOR_START.match(line) is not None and _looks_like_letor(path)
    return f"{'.txt' if is_letor else '.csv'}{gzip_suffix}"


def _format_of(path: Path) -> str:
    if not path.exists():
        raise FileNotFoundError(path)
    name = path.name.lower()
    suffix = Path(name.removesuffix(".gz")).suffix
    if suffix in _CSV:
        return "csv"
    if suffix in _PARQUET:
        return "parquet"
    # ".gz" and ".txt" do not determine the format: the content does.
    if (suffix in _LETOR or name.endswith(".gz")) and _looks_like_letor(path):
        return "letor"
    if suffix in _LETOR:
        raise InputError(
            f"{path}: line 1 is not svmlight/LETOR (relevance qid:query index:value ...); "
            "a table must be named .csv, .tsv or .parquet"
        )
    raise InputError(
        f"{path}: unknown kind of file; the name must end in "
        f"{', '.join(_CSV + _PARQUET + _LETOR)}, with or without .gz"
    )


def _looks_like_letor(path: Path) -> bool:
    with open_binary(path) as file:
        for line in file:
            if line.partition(b"#")[0].strip():
                # Only the start is checked: the reader explains a truncated row.
                start = b" ".join(line.split()[:2])
                return _LETOR_LINE.fullmatch(start) is not None
    return True  # empty: the reader reports it


def _is_gzip(path: Path) -> bool:
    with open(path, "rb") as raw:
        return raw.read(2) == b"\x1f\x8b"


def _read_csv(path: Path, is_typed: Callable[[str], bool], keep_text: bool) -> Table:
    frame, text = read_csv(path, is_typed, keep_text=keep_text)
    return Table(frame, str(path), text=text)


def _read_parquet(path: Path, is_typed: Callable[[str], bool], keep_text: bool) -> Table:
    pandas = import_extra("pandas")
    pyarrow = import_extra("pyarrow")
    try:
        frame = pandas.read_parquet(path, engine="pyarrow").reset_index(drop=True)
    except (pyarrow.ArrowException, ValueError) as error:
        raise InputError(f"{path}: is not a Parquet file ({error})") from error
    frame.columns = [str(column) for column in frame.columns]
    repeated = frame.columns[frame.columns.duplicated()]
    if len(repeated):
        raise InputError(f"{path}: has more than one column {repeated[0]!r}; rename all but one")
    return Table(frame, str(path))


def _read_letor(path: Path, is_typed: Callable[[str], bool], keep_text: bool) -> Table:
    pandas = import_extra("pandas")
    try:
        bunch = load_letor(path, return_comments=True)
    except ValueError as error:
        raise InputError(str(error)) from error
    n_rows, n_columns = bunch.data.shape
    if n_rows * n_columns > _MAX_DENSE_CELLS:
        raise InputError(f"{path}: {n_rows} rows x {n_columns} columns are too many for a table")
    dense = bunch.data if hasattr(bunch.data, "tolist") else bunch.data.toarray()
    frame = pandas.DataFrame(dense, columns=[f"f{j}" for j in range(1, n_columns + 1)])
    whole = (bunch.target == bunch.target.round()).all()
    frame.insert(0, "target", bunch.target.astype(int) if whole else bunch.target)
    if bunch.qid is not None:
        frame.insert(1, "qid", bunch.qid)
    if any(bunch.comments):
        frame["comment"] = bunch.comments
    return Table(frame, str(path), is_letor=True)


_READERS = {"csv": _read_csv, "parquet": _read_parquet, "letor": _read_letor}
