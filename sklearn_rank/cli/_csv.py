"""Delimited text, read as it is written; errors name the line."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sklearn_rank.cli._errors import InputError, count, import_extra, listing
from sklearn_rank.datasets._letor import open_binary

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_NAMED = {"tab": "\t", "\\t": "\t", "space": " ", "blank": " "}
_HEAD, _CHUNK = 2**16, 20_000
_DATA = re.compile(r"[+-]?[\d.,]*\d[\d.,]*(e[+-]?\d+)?%?|\d+[-/.]\d+[-/.]\d+\b.*", re.I)


def read_csv(path: Path, sep: str | None, encoding: str | None, notes: list[str]) -> Any:
    """Return the cells as text, in a frame with the names of the header, and append to `notes`."""
    pandas = import_extra("pandas")
    lines, encoding = _first_lines(path, encoding)
    sep = _separator(lines, sep)
    names = _names(path, [_split(line, sep) for line in lines])
    try:
        with open_binary(path) as file, io.TextIOWrapper(file, encoding, newline="") as text:
            chunks = _chunks(path, text, sep, names, notes)
            frames = [pandas.DataFrame(rows, dtype=str) for rows in chunks]
    except UnicodeDecodeError as error:
        byte, name = error.object[error.start], encoding.removesuffix("-sig").upper()
        raise InputError(
            f"{path}: is not {name} text (it has the byte 0x{byte:02x}); save it as UTF-8, or name "
            "its encoding: --encoding cp1252, or latin-1"
        ) from error
    if not frames:
        raise InputError(f"{path}: holds no rows")
    return pandas.concat(frames, ignore_index=True).set_axis(names, axis=1)


def _first_lines(path: Path, encoding: str | None) -> tuple[list[str], str]:
    """Return up to 1000 lines, and the encoding: by byte order mark, as given, or UTF-8."""
    with open_binary(path) as file:
        head = file.read(_HEAD)
    encoding = next((name for bom, name in _BOMS if head.startswith(bom)), encoding)
    if encoding is None and b"\0" in head:
        raise InputError(f"{path}: is not UTF-8 text (perhaps UTF-16: --encoding utf-16-le)")
    encoding = encoding or "utf-8"
    try:
        text = head.decode(encoding, errors="ignore")
    except LookupError:
        raise InputError(
            f"--encoding {encoding}: unknown; try utf-8, latin-1, cp1252 or utf-16"
        ) from None
    lines = [line for line in re.split("\r\n|\r|\n", text) if line.strip() and line[0] != "#"]
    if not lines:
        raise InputError(f"{path}: is empty")
    return lines[:1000] if len(head) < _HEAD else lines[:-1][:1000] or lines, encoding


def _separator(lines: Sequence[str], given: str | None) -> str:
    """Return the separator by which the first lines have the most cells, equally many in each."""
    if given is not None:
        sep = _NAMED.get(given.lower(), given)
        if len(sep) != 1:
            raise InputError(f"--sep {given}: must be one character, tab or blank")
        return sep
    best, most = ",", (0.0, 1)
    for sep in ",;\t| ":
        widths = [len(_split(line, sep)) for line in lines[:20]]
        agreeing = widths.count(widths[0]) / len(widths)
        # Blanks also stand between words: they count where nothing else does.
        is_possible = sep != " " or (agreeing == 1 and most[0] < 1)
        if is_possible and widths[0] > 1 and (agreeing, widths[0]) > most:
            best, most = sep, (agreeing, widths[0])
    return best


def _split(line: str, sep: str) -> list[str]:
    line = " ".join(line.split()) if sep == " " else line
    cells = next(csv.reader([line], delimiter=sep, skipinitialspace=True), [])
    return [cell.strip() for cell in cells]


def _names(path: Path, start: list[list[str]]) -> list[str]:
    """Return the column names, which must not look like data."""
    names, body = start[0], [row for row in start[1:] if len(row) == len(start[0])]
    columns = [set(column) for column in zip(*body, strict=True)] or [set[str]() for _ in names]
    recurs = [name in column for name, column in zip(names, columns, strict=True)]
    if all(_DATA.fullmatch(n) or (n and r) for n, r in zip(names, recurs, strict=True)):
        raise InputError(
            f"{path}: the first line holds data ({listing(names, 4)}) where the names of the "
            "columns must be; add a line with the names above it"
        )
    repeated = [name for name, times in Counter(names).items() if times > 1 and name]
    if repeated:
        raise InputError(
            f"{path}: the header names {count(len(repeated), 'column')} more than once: "
            f"{listing(map(repr, repeated), 10)}; rename all but one"
        )
    ends_with_separator = len(names) > 1 and not names[-1] and columns[-1] <= {""}
    return names[:-1] if ends_with_separator else names


def _chunks(
    path: Path, text: Any, sep: str, names: list[str], notes: list[str]
) -> Iterator[list[list[str]]]:
    """Yield lists of rows below the header; notes count the lines that are left out."""
    line, rows, left_out, width = 0, [], Counter[str](), len(names)

    def lines() -> Iterator[str]:
        nonlocal line
        is_start = True
        for content in text:
            line += 1
            if content.startswith("#") and (is_start or content.count(sep) + 1 != width):
                left_out["comment"] += 1
            else:
                is_start = is_start and not content.strip()
                yield " ".join(content.split()) + "\n" if sep == " " else content

    reader = csv.reader(lines(), delimiter=sep, skipinitialspace=True, strict=True)
    start, is_header = 1, True
    try:
        for cells in reader:
            start = line + 1
            if len(cells) == width + 1 and not cells[-1]:  # ends with the separator
                cells.pop()
            if not any(cells):
                left_out["row of empty cells"] += len(cells) > 0
            elif len(cells) != width:
                raise InputError(
                    f"{path}, line {line}: has {count(len(cells), 'cell')}, the header has {width}"
                )
            elif is_header:
                is_header = False
            else:
                rows.append(cells)
                if len(rows) == _CHUNK:
                    yield rows
                    rows = []
    except csv.Error as error:
        reason = f"wrong quotation marks ({error})"
        if "end of data" in str(error):
            reason = "a quotation mark is opened and never closed"
        raise InputError(f"{path}, line {start}: {reason}") from error
    if rows:
        yield rows
    notes += [f"{path}: {n} x {what} left out" for what, n in left_out.items() if n]
