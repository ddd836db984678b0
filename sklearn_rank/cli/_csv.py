"""Delimited text, read as it is written; errors name the line.

`pandas.read_csv` fills short rows, and its errors count rows: the rows are those of `csv`, which
knows the line.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pandas as pd

from sklearn_rank.cli._errors import InputError, count, listing
from sklearn_rank.datasets.files import open_binary

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_NAMED = {"tab": "\t", "\\t": "\t", "space": " ", "blank": " "}
_HEAD, _CHUNK, _START = 2**16, 20_000, 1000
_DATA = re.compile(r"[+-]?[\d.,]*\d[\d.,]*(e[+-]?\d+)?%?|\d+[-/.]\d+[-/.]\d+\b.*", re.I)


def read_csv(path: Path, sep: str | None, encoding: str | None, notes: list[str]) -> Any:
    """Return the cells as text, in a frame with the names of the header, and append to `notes`."""
    with open_binary(path) as file:
        lines, encoding = _first_lines(path, file.read(_HEAD), encoding)
    try:
        with open_binary(path) as file, io.TextIOWrapper(file, encoding, newline="") as text:
            rows = _rows(path, text, _separator(lines, sep), notes)
            start = list(islice(rows, _START))
            if len(start) < 2:
                raise InputError(f"{path}: holds no rows")
            names = [name.strip() for name in start[0]]
            _check_header(path, names, start[1:])
            others = iter(lambda: list(islice(rows, _CHUNK)), [])
            frames = [pd.DataFrame(part, dtype=str) for part in chain([start[1:]], others)]
    except UnicodeDecodeError as error:
        byte, name = error.object[error.start], encoding.removesuffix("-sig").upper()
        raise InputError(
            f"{path}: is not {name} text (it has the byte 0x{byte:02x}); save it as UTF-8, or try "
            "--encoding cp1252, or latin-1"
        ) from error
    frame = pd.concat(frames, ignore_index=True).set_axis(names, axis=1)
    has_trailing_separators = not names[-1] and (frame.iloc[:, -1] == "").all()
    return frame.iloc[:, :-1] if has_trailing_separators else frame


def _first_lines(path: Path, head: bytes, encoding: str | None) -> tuple[list[str], str]:
    """Return up to 20 lines, and the encoding: by byte order mark, as given, or UTF-8."""
    encoding = next((name for bom, name in _BOMS if head.startswith(bom)), encoding)
    if encoding is None and b"\0" in head:
        raise InputError(f"{path}: is not UTF-8 text (perhaps UTF-16: --encoding utf-16-le)")
    encoding = encoding or "utf-8"
    try:
        text = head.decode(encoding, errors="ignore")
    except LookupError:
        raise InputError(f"--encoding {encoding}: unknown; try latin-1 or cp1252") from None
    lines = [line for line in text.splitlines() if line.strip() and line[0] != "#"]
    if not lines:
        raise InputError(f"{path}: is empty")
    is_cut = len(head) == _HEAD and len(lines) > 1
    return lines[: min(20, len(lines) - is_cut)], encoding


def _separator(lines: list[str], given: str | None) -> str:
    """Return the separator by which the first lines have the most cells, equally many in each."""
    if given is not None:
        sep = _NAMED.get(given.lower(), given)
        if len(sep) != 1:
            raise InputError(f"--sep {given}: must be one character, tab or blank")
        return sep
    best, most = ",", (0.0, 1)
    for sep in ",;\t| ":
        widths = [len(cells) for cells in _reader(lines, sep, strict=False)]
        agreeing = widths.count(widths[0]) / len(widths)
        # Blanks also stand between words: they count where nothing else does.
        is_possible = sep != " " or (agreeing == 1 and most[0] < 1)
        if is_possible and widths[0] > 1 and (agreeing, widths[0]) > most:
            best, most = sep, (agreeing, widths[0])
    return best


def _reader(lines: Iterable[str], sep: str, *, strict: bool) -> Any:
    """Return the cells of the lines; several blanks count as one where blanks separate cells."""
    tidy = (" ".join(line.split()) + "\n" if sep == " " else line for line in lines)
    return csv.reader(tidy, delimiter=sep, skipinitialspace=True, strict=strict)


def _rows(path: Path, text: Iterable[str], sep: str, notes: list[str]) -> Iterator[list[str]]:
    """Yield the rows, the header first; notes count the lines that are left out."""
    width, start, left_out = 0, 1, Counter[str]()

    def without_comments() -> Iterator[str]:
        for line in text:
            is_comment = line.startswith("#") and line.count(sep) + 1 != width
            left_out["comment"] += is_comment
            yield "\n" if is_comment else line

    reader = _reader(without_comments(), sep, strict=True)
    try:
        for cells in reader:
            start = reader.line_num + 1
            if len(cells) == width + 1 and not cells[-1]:  # ends with the separator
                cells.pop()
            if not any(cells):
                left_out["row of empty cells"] += len(cells) > 0
            elif width and len(cells) != width:
                what = f"has {count(len(cells), 'cell')}, the header has {width}"
                raise InputError(f"{path}, line {reader.line_num}: {what}")
            else:
                width = len(cells)
                yield cells
    except csv.Error as error:
        reason = f"wrong quotation marks ({error})"
        if "end of data" in str(error):
            reason = "a quotation mark is opened and never closed"
        elif "field limit" in str(error):
            most = csv.field_size_limit()
            reason = f"a cell has more than {most} characters; is a quotation mark missing?"
        raise InputError(f"{path}, line {start}: {reason}") from error
    notes += [f"{path}: {n} x {what} left out" for what, n in left_out.items() if n]


def _check_header(path: Path, names: list[str], rows: list[list[str]]) -> None:
    """Raise InputError if the names of the columns look like data."""
    recurs = [name in cells for name, cells in zip(names, zip(*rows, strict=True), strict=True)]
    if all(_DATA.fullmatch(n) or (n and r) for n, r in zip(names, recurs, strict=True)):
        raise InputError(
            f"{path}: the first line holds data ({listing(names, 4)}) where the names of the "
            "columns must be; add a line with the names above it"
        )
