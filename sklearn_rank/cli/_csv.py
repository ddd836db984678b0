"""Read a CSV file; errors name the line."""

from __future__ import annotations

import gzip
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from sklearn_rank.cli._errors import InputError, count, import_extra, listing

_RAGGED = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")
_OPEN_QUOTE = re.compile(r"EOF inside string starting at row (\d+)")


def read_csv(
    path: Path, is_typed: Callable[[str], bool], *, keep_text: bool
) -> tuple[Any, Any | None]:
    """Read a CSV file into a DataFrame.

    Parameters
    ----------
    path : Path
        The file, which may be compressed with gzip.
    is_typed : callable
        Whether the type of a column of this name is inferred; otherwise it stays text.
    keep_text : bool
        Whether to return the unparsed text of every cell as well.

    Returns
    -------
    frame, text : DataFrame, DataFrame or None
        The same rows and columns; `text` has the column names of the file, even empty ones.
    """
    pandas = import_extra("pandas")
    how = {"sep": _separator(path), "index_col": False, "low_memory": False}
    as_text = {"dtype": str, "keep_default_na": False}
    with _readable_errors(path, pandas):
        header = pandas.read_csv(path, header=None, nrows=1, **as_text, **how).iloc[0].tolist()
        _check_header(path, header)
        names = pandas.read_csv(path, nrows=0, **how).columns
        untyped = dict.fromkeys([name for name in names if not is_typed(name)], str)
        frame = pandas.read_csv(path, dtype=untyped, **how)
        if not keep_text:
            return frame, None
        text = pandas.read_csv(path, **as_text, **how)
    text.columns = header
    return frame, text


def _check_header(path: Path, header: list[str]) -> None:
    # pandas would silently rename the second of them.
    repeated = [name for name, times in Counter(header).items() if times > 1 and name]
    if repeated:
        raise InputError(
            f"{path}: the header names {count(len(repeated), 'column')} more than once: "
            f"{listing(map(repr, repeated), 10)}; rename all but one"
        )


@contextmanager
def _readable_errors(path: Path, pandas: Any) -> Iterator[None]:
    try:
        with warnings.catch_warnings():
            # Rows longer than the header lose their last cells with only a warning.
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            yield
    except pandas.errors.EmptyDataError:
        raise InputError(f"{path}: is empty") from None
    except pandas.errors.ParserWarning:
        raise InputError(
            f"{path}, line 2: rows have more cells than the header has names"
        ) from None
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise InputError(
            f"{path}: is not UTF-8 text (it has the byte 0x{byte:02x}); save it as UTF-8"
        ) from error
    except pandas.errors.ParserError as error:
        _explain_parser_error(path, error)


def _explain_parser_error(path: Path, error: Exception) -> NoReturn:
    ragged, quote = _RAGGED.search(str(error)), _OPEN_QUOTE.search(str(error))
    if ragged:
        expected, line, seen = (int(number) for number in ragged.groups())
        raise InputError(
            f"{path}, line {line}: has {count(seen, 'cell')}, the lines above have {expected}"
        ) from error
    if quote:
        raise InputError(
            f"{path}, line {int(quote[1]) + 1}: a quotation mark is opened and never closed"
        ) from error
    raise InputError(f"{path}: is not a table ({error})") from error


def _separator(path: Path) -> str:
    """Return the most frequent separator of the header, by default the comma."""
    with gzip.open(path) if path.suffix.lower() == ".gz" else open(path, "rb") as file:
        header = file.readline()
    if b"\0" in header:
        raise InputError(f"{path}: is not UTF-8 text (perhaps UTF-16); save it as UTF-8")
    if ".tsv" in path.suffixes:
        return "\t"
    return max(",;\t", key=lambda separator: header.count(separator.encode()))
