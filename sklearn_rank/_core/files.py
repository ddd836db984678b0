"""Files that may be compressed."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

_GZIP_MAGIC = b"\x1f\x8b"


@contextmanager
def open_binary(path: Path) -> Iterator[BufferedReader | gzip.GzipFile]:
    """Open for reading, also a file whose first bytes show that gzip has compressed it."""
    with open(path, "rb") as file:
        if file.peek(2)[:2] != _GZIP_MAGIC:
            yield file
            return
        with gzip.open(file, "rb") as unpacked:
            yield unpacked
